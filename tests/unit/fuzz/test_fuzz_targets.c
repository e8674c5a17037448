/* Specs, templates, command lines and files that are read: the seeds of their fuzz targets, and what these once found,
   through the same entry points. Needs no libFuzzer. tests/emu/test_fuzz.c has the other targets. */
#include "unit/check.h"

#include <dirent.h>

#define LLVMFuzzerTestOneInput fuzz_spec
#include "fuzz/fuzz_spec.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_template
#include "fuzz/fuzz_template.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_file
#include "fuzz/fuzz_file.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_command
#include "fuzz/fuzz_command.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_program
#include "fuzz/fuzz_program.c"
#undef LLVMFuzzerTestOneInput

typedef int target(const uint8_t *data, size_t size);

/* The file in memory of just its size. */
static uint8_t *read_all(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    *size = (size_t)ftell(f);
    rewind(f);
    uint8_t *bytes = malloc(*size + (*size == 0));
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, f), *size);
    fclose(f);
    return bytes;
}

static bool ends_in(const char *name, const char *end)
{
    size_t length = strlen(name), wanted = strlen(end);
    return length > wanted && strcmp(name + length - wanted, end) == 0;
}

/* The folder's files whose names end so, through a target; each whole, and cut to each of `cuts` shorter lengths. How
 * many there were. */
static int run_folder(const char *folder, const char *end, target *run, size_t cuts)
{
    DIR *list = opendir(folder);
    int count = 0;
    assert_non_null(list);
    for (struct dirent *e; (e = readdir(list));) {
        char path[512];
        if (e->d_name[0] == '.' || !ends_in(e->d_name, end) || e->d_type == DT_DIR)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        print_message("%s\n", path); /* where it crashes, this is the last line */
        size_t size;
        uint8_t *bytes = read_all(path, &size);
        run(bytes, size);
        for (size_t i = 0; i < cuts; i++)
            run(bytes, size * i / cuts);
        free(bytes);
        count++;
    }
    closedir(list);
    return count;
}

static void specs(void **state)
{
    (void)state;
    assert_true(run_folder("tests/fuzz/seeds", ".lua", fuzz_spec, 20) >= 1);
    run_folder("tests/fuzz/found", ".lua", fuzz_spec, 0);
}

static void templates(void **state)
{
    (void)state;
    assert_int_equal(LLVMFuzzerInitialize(NULL, NULL), 0);
    assert_true(run_folder("tests/fuzz/seeds", ".cu", fuzz_template, 20) >= 2);
    run_folder("tests/fuzz/found", ".cu", fuzz_template, 0);
    spec_free(&template_spec);
    diag_free(&template_read);
}

static void files(void **state)
{
    (void)state;
    assert_true(run_folder("tests/fuzz/seeds/file", "", fuzz_file, 200) >= 16);
    run_folder("tests/fuzz/found", ".file", fuzz_file, 0);
}

/* Before command lines, which have a stand-in for what is underneath. */
static void programs(void **state)
{
    (void)state;
    assert_true(run_folder("tests/fuzz/seeds/program", "", fuzz_program, 0) >= 7);
    run_folder("tests/fuzz/found", ".program", fuzz_program, 0);
}

/* What a line of commands.txt stands for. Its length. */
static size_t line_of(const char *line, char *out)
{
    size_t n = 0;
    for (; *line && *line != '\n'; line++) {
        out[n] = *line == '~' ? 1 : *line;
        if (line[0] == '\\' && line[1] == 'n') {
            out[n] = '\n';
            line++;
        }
        n++;
    }
    return n;
}

static void command_lines(void **state)
{
    char line[4096], bytes[4096];
    int count = 0;
    FILE *f = fopen("tests/fuzz/seeds/commands.txt", "r");
    (void)state;
    assert_non_null(f);
    for (; fgets(line, sizeof line, f); count++) {
        size_t size = line_of(line, bytes);
        print_message("%s", line);
        fuzz_command((const uint8_t *)bytes, size);
        for (size_t i = 1; i < 4; i++)
            fuzz_command((const uint8_t *)bytes, size * i / 4);
    }
    fclose(f);
    assert_true(count >= 70);
    run_folder("tests/fuzz/found", ".command", fuzz_command, 0);
}

/* What the target says of command lines is what the program says of them. */
static void commands_run(void **state)
{
    static const struct {
        const char *words;
        int status;
        const char *says;
    } cases[] = {
        {"--version", 0, "tilewright "},
        {"check layer.lua", 0, "ok: 1 kernel, 4 entry points"},
        {"check odd\1name.lua", 1, "odd name.lua:1: error: "},
        {"check missing.lua", 1, "there is no such file"},
        {"plan sum.lua --arch sm_80", 0, "sum"},
        {"gen layer.lua -o out/deep", 0, ""},
        {"check out/deep/layer.lua", 1, "there is no such file"},
        {"emu add.ptx --grid 1 --block 32 --args add.args", 0, "completed: 1 block, "},
        {"emu add.ptx --grid 1 --block 1 --arg buf:4,fill=file:given,dump=back --arg 1\n1234", 0, "completed"},
        {"build sum.lua -o out", 1, "this compiler compiles nothing"},
        {"run sum.lua --device emu", 1, "this compiler compiles nothing"},
        {"doctor", 0, "nvcc     not usable"},
        {"bench --host", 3, ""},
        {"gen layer.lua -o /tilewright_elsewhere", 3, "/tilewright_elsewhere"},
        {"gen layer.lua -o ../elsewhere", 3, "cannot make the folder"},
        {"cache verify", 1, "0123456789abcdef"},
        {"emu add.ptx --grid x --block 1 --json", 2, "{\"command\":\"emu\",\"status\":2"},
        {"run missing.lua --json", 1, "no such file"}, /* what was told before is another command's */
        {"no_command", 2, "unknown command"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *said = NULL;
        size_t bytes = 0;
        int status = command_answer((const uint8_t *)cases[i].words, strlen(cases[i].words), &said, &bytes);
        if (status != cases[i].status || !strstr(said, cases[i].says))
            fail_msg("%s: status %d, not %d with '%s': %s", cases[i].words, status, cases[i].status, cases[i].says,
                     said);
        free(said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(specs),    cmocka_unit_test(templates),     cmocka_unit_test(files),
        cmocka_unit_test(programs), cmocka_unit_test(command_lines), cmocka_unit_test(commands_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
