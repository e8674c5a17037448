/* Kernels that people write, tests/emu/kernels, on the emulator against what an H200 answered to the same inputs
   (tests/golden/kernels.bin). Each file is compiled by NVRTC for several architectures and ways; PTX of other compilers
   is beside it.

     test_kernels                     all of it, as a test; KERNELS=FILE or FILE/ENTRY: only these
     test_kernels --ptx FOLDER        here: PTX of each file
     test_kernels --record FOLDER FILE   where a GPU is: the answers; FILE becomes tests/golden/kernels.bin */
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <unistd.h>

#include "execute.h"
#include "find_cuda.h"
#include "unit/rounds.h"

enum { JOBS = 256, BUFFERS = 16, PARAMETERS = 24 };

enum row_kind { ROW_FILE, ROW_KERNEL, ROW_FAILS, ROW_FOREIGN };

struct row {
    int kind;
    const char *name, *grid, *block;
    unsigned shared; /* of ROW_FILE and ROW_FOREIGN: since which architecture */
    const char *flags, *arguments, *text;
};

static const struct row rows[] = {
#define SOURCE(name, since, flags) {ROW_FILE, name, "", "", since, flags, "", ""},
#define KERNEL(entry, grid, block, shared, flags, arguments)                                                          \
    {ROW_KERNEL, entry, grid, block, shared, flags, arguments, ""},
#define FAILS(entry, grid, block, shared, arguments, text) {ROW_FAILS, entry, grid, block, shared, "", arguments, text},
#define FOREIGN(text, file, since) {ROW_FOREIGN, text, file, "", since, "", "", ""},
#include "kernels/list.def"
#undef SOURCE
#undef KERNEL
#undef FAILS
#undef FOREIGN
};
enum { ROWS = sizeof rows / sizeof rows[0] };

/* ---- Types, fills ------------------------------------------------------------------------------------------------ */

struct type {
    const char *name;
    enum tw_dtype dtype;
    double relative; /* what near allows */
};
static const struct type types[] = {
    {"u8", TW_UINT8, 0},       {"s8", TW_INT8, 0},     {"u16", TW_UINT16, 0},   {"u32", TW_UINT32, 0},
    {"s32", TW_INT32, 0},      {"u64", TW_UINT64, 0},  {"s64", TW_INT64, 0},    {"f16", TW_FP16, 2e-3},
    {"bf16", TW_BF16, 1.6e-2}, {"f32", TW_FP32, 8e-6}, {"f32h", TW_FP32, 2e-3}, {"f64", TW_FP64, 1e-13},
};

static const struct type *type_of(const char *name)
{
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
        if (!strcmp(types[t].name, name))
            return &types[t];
    fail_msg("type %s is not known", name);
    return NULL;
}

static uint64_t draw(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void fill(const struct type *type, const char *how, unsigned char *to, size_t count, uint64_t seed)
{
    static const uint32_t edges[] = {0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x00800000,
                                     0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001,
                                     0x3f800000, 0xbf800000, 0x4f000000, 0xcf000000, 0x4f800000, 0x5f000000,
                                     0xdf000000, 0x4effffff, 0x3f000000, 0xbf000000, 0x3fc00000, 0x40200000};
    uint64_t state = seed;
    double sum = 0;
    size_t bytes = tw_dtype_bytes(type->dtype);
    memset(to, 0, count * bytes);
    for (size_t i = 0; i < count; i++, to += bytes) {
        uint64_t x = draw(&state);
        double unit = (double)(x >> 40) / 16777216.0;
        if (!strcmp(how, "bits"))
            memcpy(to, &x, bytes);
        else if (!strcmp(how, "edges"))
            memcpy(to, x & 3 ? (void *)&edges[(x >> 8) % 24] : (void *)&x, 4);
        else if (!strcmp(how, "iota"))
            tw_dtype_store(type->dtype, to, (double)i);
        else if (!strcmp(how, "small"))
            tw_dtype_store(type->dtype, to, (double)(int64_t)(x % 17) - 8);
        else if (!strcmp(how, "pos"))
            tw_dtype_store(type->dtype, to, (double)(x % 1000));
        else if (!strcmp(how, "unit"))
            tw_dtype_store(type->dtype, to, unit);
        else if (!strcmp(how, "sorted"))
            tw_dtype_store(type->dtype, to, sum), sum += (double)(x % 8);
        else if (!strcmp(how, "normal"))
            tw_dtype_store(type->dtype, to,
                           (unit + (double)(x & 0xffff) / 65536 + (double)(x >> 20 & 0xffff) / 65536 - 1.5) * 2);
        else if (how[0] == '=' || (how[0] == '^' && i == 0))
            tw_dtype_store(type->dtype, to, atof(how + 1));
        else if (strcmp(how, "zero") && how[0] != '^')
            fail_msg("fill '%s' is not known", how);
    }
}

/* ---- Arguments --------------------------------------------------------------------------------------------------- */

struct buffer {
    size_t bytes;
    uint64_t address;
    char how[8];
};

struct arguments {
    struct buffer buffers[BUFFERS];
    unsigned buffer_count;
    unsigned char params[4096];
    uint32_t params_bytes;
    uint32_t offsets[PARAMETERS];
    unsigned parameter_count;
    uint32_t struct_align; /* of the struct that is open; 0: none */
};

static void place(struct arguments *a, const void *value, uint32_t bytes)
{
    uint32_t at = (a->params_bytes + bytes - 1) / bytes * bytes;
    if (!a->struct_align)
        a->offsets[a->parameter_count++] = at;
    else if (bytes > a->struct_align)
        a->struct_align = bytes;
    memcpy(a->params + at, value, bytes);
    a->params_bytes = at + bytes;
}

static int scalar(struct arguments *a, const char *word)
{
    const char *equals = strchr(word, '=');
    unsigned many = word[1] == '*' ? (unsigned)atoi(word + 2) : 1;
    if (!equals)
        return 0;
    for (unsigned i = 0; i < many; i++) {
        int64_t whole = strtoll(equals + 1, NULL, 0) + i;
        double wide = atof(equals + 1);
        float single = (float)wide;
        switch (word[0]) {
        case 'i':
        case 'u':
            place(a, &whole, 4);
            break;
        case 'l':
            place(a, &whole, 8);
            break;
        case 'c':
            place(a, &whole, 1);
            break;
        case 'f':
            place(a, &single, 4);
            break;
        default:
            place(a, &wide, 8);
            break;
        }
    }
    return 1;
}

/* Parameters and filled buffers of a row, on a device. */
static int make_arguments(struct tw_device *device, const struct row *row, struct arguments *a, struct tw_error *error)
{
    char text[512], *save = NULL;
    memset(a, 0, sizeof *a);
    snprintf(text, sizeof text, "%s", row->arguments);
    for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        char how[8], name[8], with[16] = "zero";
        size_t count;
        if (word[0] == '{') { /* structs of the list hold an int first, or a pointer: 8 is enough */
            a->params_bytes = (a->params_bytes + 7) / 8 * 8;
            a->offsets[a->parameter_count++] = a->params_bytes;
            a->struct_align = 1;
        } else if (word[0] == '}') {
            a->params_bytes = (a->params_bytes + a->struct_align - 1) / a->struct_align * a->struct_align;
            a->struct_align = 0;
        } else if (sscanf(word, "%7[a-z]:%7[a-z0-9]:%zu:%15s", how, name, &count, with) >= 3) {
            struct buffer *b = &a->buffers[a->buffer_count];
            b->bytes = count * tw_dtype_bytes(type_of(name)->dtype);
            memcpy(b->how, how, sizeof how);
            unsigned char *from = malloc(b->bytes);
            fill(type_of(name), with, from, count, 1000 + a->buffer_count++);
            int status = tw_device_alloc(device, b->bytes, &b->address, error);
            if (!status)
                status = tw_device_upload(device, b->address, from, b->bytes, error);
            free(from);
            if (status)
                return status;
            place(a, &b->address, 8);
        } else if (!scalar(a, word)) {
            fail_msg("%s: argument '%s'", row->name, word);
        }
    }
    return TW_OK;
}

static int compared(const struct buffer *b)
{
    return strcmp(b->how, "in") != 0;
}

static void axes(const char *text, uint32_t *out)
{
    out[0] = out[1] = out[2] = 1;
    sscanf(text, "%u,%u,%u", &out[0], &out[1], &out[2]);
}

/* What a row's launch left: all compared buffers, then what it printed. */
struct answer {
    unsigned char *bytes;
    size_t count;
};

static int launch_row(struct tw_device *device, const struct row *row, struct tw_kernel *kernel, struct arguments *a,
                      struct tw_error *error)
{
    struct tw_launch launch = {.kernel = kernel,
                               .shared_bytes = row->shared,
                               .flags = strchr(row->flags, 'C') ? TW_LAUNCH_COOPERATIVE : 0,
                               .params = a->params,
                               .params_bytes = a->params_bytes,
                               .offsets = a->offsets,
                               .offset_count = a->parameter_count};
    axes(row->grid, launch.grid);
    axes(row->block, launch.block);
    int status = tw_device_launch(device, &launch, error);
    return status ? status : tw_device_synchronize(device, error);
}

static int run_row(struct tw_device *device, const struct row *row, const char *ptx, struct answer *answer,
                   struct tw_error *error)
{
    struct tw_kernel *kernel = NULL;
    struct arguments a;
    struct tw_load load = {.ptx = ptx, .ptx_bytes = strlen(ptx), .entry = row->name};
    memset(answer, 0, sizeof *answer);
    int status = tw_device_load(device, &load, &kernel, error);
    if (status)
        return status;
    status = make_arguments(device, row, &a, error);
    if (!status)
        status = launch_row(device, row, kernel, &a, error);
    for (unsigned i = 0; i < a.buffer_count; i++) {
        struct buffer *b = &a.buffers[i];
        if (compared(b) && !status) {
            answer->bytes = realloc(answer->bytes, answer->count + b->bytes + 1);
            status = tw_device_download(device, answer->bytes + answer->count, b->address, b->bytes, error);
            answer->count += b->bytes;
        }
        tw_device_free(device, b->address);
    }
    tw_device_unload(device, kernel);
    return status;
}

/* ---- Golden answers: "FILE/ENTRY\n", 4 bytes of length, the bytes ------------------------------------------------ */

static unsigned char *golden;
static size_t golden_bytes;

static const unsigned char *golden_of(const char *file, const char *entry, size_t *count)
{
    char name[128];
    size_t length = (size_t)snprintf(name, sizeof name, "%s/%s\n", file, entry);
    for (size_t at = 0; at < golden_bytes;) {
        const unsigned char *end = memchr(golden + at, '\n', golden_bytes - at);
        uint32_t bytes;
        if (!end || (size_t)(golden + golden_bytes - end) < 5)
            return NULL;
        size_t data = (size_t)(end - golden) + 5;
        memcpy(&bytes, end + 1, 4);
        if (data - 4 - at == length && !memcmp(golden + at, name, length)) {
            *count = bytes;
            return golden + data;
        }
        at = data + bytes;
    }
    return NULL;
}

/* ---- Compiling --------------------------------------------------------------------------------------------------- */

/* A file compiled one way, with its rows behind it. */
struct job {
    const struct row *file; /* whose kernels */
    const struct row *text; /* ROW_FOREIGN: the PTX comes from there */
    const char *arch;
    int debug, completion;
    char name[96];
    char *ptx;
    char why[256]; /* it was not compiled */
    int missing;   /* CUDA's headers are not there */
    int ready;
};

static struct job jobs[JOBS];
static unsigned job_count;
static struct tw_runtime compiler;
static struct tw_places headers;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void compile_job(struct job *job)
{
    struct tw_error error = {""};
    struct tw_compiled compiled = {0};
    char path[160], name[96], include[8][1024];
    const char *options[12];
    unsigned char *source;
    size_t bytes, n = 0;
    int given = job->text || strchr(job->file->flags, 'X');
    snprintf(path, sizeof path, "tests/emu/kernels/%s.%s", job->text ? job->text->name : job->file->name,
             given ? "ptx" : "cu");
    if (tw_read_file(&compiler, path, 0, &source, &bytes, &error)) {
        snprintf(job->why, sizeof job->why, "%.200s", error.text);
        return;
    }
    if (given) {
        job->ptx = (char *)source;
        return;
    }
    if (strchr(job->file->flags, 'H')) {
        job->missing = !headers.count;
        for (size_t i = 0; i < headers.count && i < 8; i++) {
            snprintf(include[i], sizeof include[i], "-I%s", headers.items[i].folder);
            options[n++] = include[i];
        }
    }
    options[n++] = "--device-int128";
    options[n++] = "-lineinfo";
    if (job->debug)
        options[n - 1] = "--device-debug";
    snprintf(name, sizeof name, "/kernels/%s.cu", job->file->name);
    struct tw_compile_request request = {.source = (char *)source,
                                         .source_bytes = bytes,
                                         .name = name,
                                         .entry = job->file[1].name,
                                         .arch = job->arch,
                                         .options = options,
                                         .option_count = n,
                                         .outputs = TW_OUTPUT_PTX};
    if (job->missing)
        snprintf(job->why, sizeof job->why, "there are no CUDA headers");
    else if (tw_compile_cached(&compiler, &request, &compiled, &error))
        snprintf(job->why, sizeof job->why, "%.240s", error.text);
    job->ptx = compiled.ptx ? strdup(compiled.ptx) : NULL;
    tw_compiled_free(&compiler, &compiled);
    tw_free(&compiler, source);
}

static void *compile_all(void *unused)
{
    for (unsigned i = 0; i < job_count; i++) {
        if (i && jobs[i].file == jobs[i - 1].file && jobs[i].arch == jobs[i - 1].arch &&
            jobs[i].debug == jobs[i - 1].debug && jobs[i].text == jobs[i - 1].text) {
            memcpy(jobs[i].why, jobs[i - 1].why, sizeof jobs[i].why);
            jobs[i].ptx = jobs[i - 1].ptx ? strdup(jobs[i - 1].ptx) : NULL;
            jobs[i].missing = jobs[i - 1].missing;
        } else {
            compile_job(&jobs[i]);
        }
        pthread_mutex_lock(&mutex);
        jobs[i].ready = 1;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&mutex);
    }
    return unused;
}

static const char *completions[] = {"eager", "late", "random"};

static void add_job(const struct row *file, const struct row *text, const char *arch, int debug, int completion)
{
    const char *only = getenv("KERNELS");
    if (only && strncmp(file->name, only, strcspn(only, "/")))
        return;
    struct job *job = &jobs[job_count++];
    *job = (struct job){.file = file, .text = text, .arch = arch, .debug = debug, .completion = completion};
    snprintf(job->name, sizeof job->name, "%s for %s%s, %s", text ? text->name : file->name, arch,
             debug ? " without optimisation" : "", completions[completion]);
}

/* With every: all ways of all files; else a selection of ways, all files. */
static void add_jobs(int every)
{
    for (unsigned r = 0, files = 0; r < ROWS; r++) {
        const struct row *row = &rows[r];
        int old = row->shared == 80 && !strchr(row->flags, 'X'), async = strchr(row->flags, 'A') != NULL,
            debug = strchr(row->flags, 'D') != NULL;
        if (row->kind == ROW_FOREIGN) {
            old = row->shared == 80;
            for (unsigned f = 0; f < ROWS; f++)
                if (rows[f].kind == ROW_FILE && !strcmp(rows[f].name, row->grid))
                    add_job(&rows[f], row, old ? "sm_80" : "sm_90a", 0, EMU_EAGER);
        }
        if (row->kind != ROW_FILE)
            continue;
        if (TW_TESTS_SANITIZED && !every && (files % 4 == 3 || !strcmp(row->name, "headers"))) {
            files++;
            continue;
        }
        for (int completion = 0; completion < (async ? 3 : 1); completion++) {
            add_job(row, NULL, "sm_90a", 0, completion);
            if (TW_TESTS_SANITIZED && !every)
                break;
        }
        if (old && (every || (!TW_TESTS_SANITIZED && (async || files % 3 == 0))))
            add_job(row, NULL, "sm_80", 0, async ? EMU_LATE : EMU_EAGER);
        if (debug && (every || (!TW_TESTS_SANITIZED && files % 2 == 0)))
            add_job(row, NULL, "sm_90a", 1, async ? EMU_RANDOM : EMU_EAGER);
        files++;
    }
}

/* ---- Running ----------------------------------------------------------------------------------------------------- */

static char printed[65536];
static size_t printed_bytes;

static void print(void *context, const char *text, size_t bytes)
{
    (void)context;
    if (printed_bytes + bytes < sizeof printed) {
        memcpy(printed + printed_bytes, text, bytes);
        printed_bytes += bytes;
    }
}

static char reported[8192];

static void report(void *context, const struct emu_report *found)
{
    size_t n = strlen(reported);
    (void)context;
    snprintf(reported + n, sizeof reported - n, "%s\n", found->text);
}

/* Elements that differ from the GPU's. loose: floats may differ in their last bits, for another compiler contracts
   products and sums in another way. */
static unsigned differences(const struct row *row, const unsigned char *got, const unsigned char *want, int loose,
                            char *first, size_t room)
{
    char text[512], *save = NULL;
    unsigned wrong = 0, index = 0;
    snprintf(text, sizeof text, "%s", row->arguments);
    for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        char how[8], name[8];
        size_t count;
        if (sscanf(word, "%7[a-z]:%7[a-z0-9]:%zu", how, name, &count) != 3)
            continue;
        index++;
        if (!strcmp(how, "in"))
            continue;
        const struct type *type = type_of(name);
        size_t bytes = tw_dtype_bytes(type->dtype);
        int near = how[0] == 'n' || (loose && type->relative > 0);
        for (size_t i = 0; i < count; i++, got += bytes, want += bytes) {
            uint64_t g = 0, w = 0;
            memcpy(&g, got, bytes);
            memcpy(&w, want, bytes);
            if (g == w)
                continue;
            if (near) {
                double x = tw_dtype_load(type->dtype, got), y = tw_dtype_load(type->dtype, want);
                if ((isnan(x) && isnan(y)) || fabs(x - y) <= type->relative * (fabs(y) + 1))
                    continue;
            }
            if (!wrong++)
                snprintf(first, room, "parameter buffer %u, element %zu: 0x%llx, a GPU gives 0x%llx", index, i,
                         (unsigned long long)g, (unsigned long long)w);
        }
    }
    return wrong;
}

static int check_row(struct job *job, struct tw_device *device, const struct row *row)
{
    struct tw_error error = {""};
    struct answer answer;
    char first[160] = "";
    printed_bytes = 0;
    reported[0] = 0;
    emu_device_clear_reports(device);
    int status = run_row(device, row, job->ptx, &answer, &error), bad = 0;
    if (row->kind == ROW_FAILS) {
        if (!status || (!strstr(error.text, row->text) && !strstr(reported, row->text)))
            bad = 1,
            print_error("%s: status %d, '%s', %s, not '%s'\n", row->name, status, error.text, reported, row->text);
    } else if (status || reported[0]) {
        bad = 1, print_error("%s: %s\n%s", row->name, error.text, reported);
    } else {
        size_t count = 0;
        unsigned char *zeros = strchr(row->flags, 'Z') ? calloc(1, answer.count) : NULL;
        const unsigned char *want = zeros ? zeros : golden_of(job->file->name, row->name, &count);
        count = zeros ? answer.count : count;
        size_t text = strchr(row->flags, 'P') ? printed_bytes : 0;
        if (!want || count != answer.count + text)
            bad = 1, print_error("%s: %zu bytes, the golden answer has %zu\n", row->name, answer.count + text, count);
        else if (text && memcmp(printed, want + answer.count, text))
            bad = 1, print_error("%s: printed\n%.*sa GPU prints\n%.*s", row->name, (int)text, printed, (int)text,
                                 (const char *)want + answer.count);
        unsigned wrong = bad ? 0 : differences(row, answer.bytes, want, job->debug || job->text, first, sizeof first);
        if (wrong)
            bad = 1, print_error("%s: %u wrong: %s\n", row->name, wrong, first);
        free(zeros);
    }
    free(answer.bytes);
    return bad;
}

static void kernels_right(void **state)
{
    struct job *job = *state;
    pthread_mutex_lock(&mutex);
    while (!job->ready)
        pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
    if (job->missing) {
        print_message("%s: %s\n", job->name, job->why);
        skip();
    }
    if (!job->ptx)
        fail_msg("%s: %s", job->name, job->why);
    struct emu_options options = {.arch = job->arch,
                                  .completion = (enum emu_completion)job->completion,
                                  .hazards = strchr(job->file->flags, 'N') ? EMU_HAZARDS_OFF : EMU_HAZARDS_ON,
                                  .seed = 7,
                                  .instruction_limit = 20000000,
                                  .report = report,
                                  .print = print};
    struct tw_runtime rt;
    struct tw_error error = {""};
    struct tw_device *device;
    const char *only = getenv("KERNELS"), *entry = only ? strchr(only, '/') : NULL;
    int bad = 0;
    assert_int_equal(tw_runtime_init(&rt, &error), TW_OK);
    assert_int_equal(tw_device_open_emu(&rt, &options, &device, &error), TW_OK);
    for (const struct row *row = job->file + 1; row < rows + ROWS && row->kind != ROW_FILE; row++)
        if ((row->kind == ROW_KERNEL || row->kind == ROW_FAILS) && (!entry || !strcmp(entry + 1, row->name))) {
            double start = rt.process.now(rt.process.self);
            bad += check_row(job, device, row);
            if (getenv("KERNELS_TIME"))
                print_message("%s/%s: %.3f s\n", job->name, row->name, rt.process.now(rt.process.self) - start);
        }
    tw_device_close(device);
    tw_runtime_close(&rt);
    if (bad)
        fail_msg("%d kernels", bad);
}

/* ---- Recording --------------------------------------------------------------------------------------------------- */

static int write_ptx(const char *folder)
{
    int bad = 0;
    for (unsigned i = 0; i < job_count; i++) {
        char path[512];
        if (!jobs[i].ptx) {
            fprintf(stderr, "%s: %s\n", jobs[i].name, jobs[i].why);
            bad = 1;
            continue;
        }
        if (jobs[i].text || jobs[i].completion || strcmp(jobs[i].arch, "sm_90a"))
            continue;
        snprintf(path, sizeof path, "%s/%s%s.ptx", folder, jobs[i].file->name, jobs[i].debug ? ".debug" : "");
        FILE *out = fopen(path, "w");
        bad |= !out || fputs(jobs[i].ptx, out) < 0 || fclose(out);
    }
    return bad;
}

/* Runs a row with what the driver prints going to a file, which is added to the answer. */
static int record_row(struct tw_device *device, const struct row *row, const char *ptx, struct answer *answer,
                      struct tw_error *error)
{
    char path[] = "/tmp/printed-XXXXXX", text[8192];
    int file = mkstemp(path), out;
    fflush(stdout);
    out = dup(1);
    if (file < 0 || out < 0 || dup2(file, 1) < 0)
        return TW_ERROR_FILE;
    int status = run_row(device, row, ptx, answer, error);
    fflush(stdout);
    dup2(out, 1);
    close(out);
    if (!status && strchr(row->flags, 'P')) {
        ssize_t n = pread(file, text, sizeof text, 0);
        answer->bytes = realloc(answer->bytes, answer->count + (size_t)(n > 0 ? n : 0) + 1);
        memcpy(answer->bytes + answer->count, text, (size_t)(n > 0 ? n : 0));
        answer->count += (size_t)(n > 0 ? n : 0);
    }
    close(file);
    unlink(path);
    return status;
}

static int record(const char *folder, const char *to)
{
    struct tw_runtime rt;
    struct tw_error error = {""};
    struct tw_device *device;
    const struct row *file = rows;
    unsigned char *ptx = NULL;
    int bad = 0;
    size_t bytes;
    FILE *out = fopen(to, "wb");
    tw_runtime_init(&rt, &error);
    if (!out || tw_device_open_cuda(&rt, 0, &device, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    for (unsigned r = 0; r < ROWS; r++) {
        char path[512];
        if (rows[r].kind == ROW_FILE) {
            file = &rows[r];
            snprintf(path, sizeof path, "%s/%s.ptx", folder, file->name);
            if (tw_read_file(&rt, path, 0, &ptx, &bytes, &error))
                return fprintf(stderr, "%s\n", error.text), 1;
        }
        if (rows[r].kind != ROW_KERNEL)
            continue;
        struct answer answer, again;
        if (record_row(device, &rows[r], (char *)ptx, &answer, &error) ||
            record_row(device, &rows[r], (char *)ptx, &again, &error)) {
            fprintf(stderr, "%s/%s: %s\n", file->name, rows[r].name, error.text);
            bad = 1;
            continue;
        }
        if (answer.count != again.count || memcmp(answer.bytes, again.bytes, answer.count))
            fprintf(stderr, "%s/%s: differs from launch to launch\n", file->name, rows[r].name);
        uint32_t count = (uint32_t)answer.count;
        fprintf(out, "%s/%s\n", file->name, rows[r].name);
        fwrite(&count, 4, 1, out);
        fwrite(answer.bytes, 1, answer.count, out);
        fflush(out); /* a later kernel may hang */
    }
    return fclose(out) | bad;
}

int main(int argc, char **argv)
{
    struct tw_error error;
    static struct CMUnitTest tests[JOBS];
    pthread_t thread;
    if (argc == 4 && !strcmp(argv[1], "--record"))
        return record(argv[2], argv[3]);
    int ptx = argc == 3 && !strcmp(argv[1], "--ptx");
    if (tw_runtime_init(&compiler, &error) || (tw_find_headers(&compiler, &headers, &error) && ptx))
        return fprintf(stderr, "%s\n", error.text), 1;
    add_jobs(ptx || getenv("KERNELS_ALL") != NULL);
    if (ptx)
        return compile_all(NULL), write_ptx(argv[2]);
    if (tw_read_file(&compiler, "tests/golden/kernels.bin", 0, &golden, &golden_bytes, &error))
        fprintf(stderr, "%s\n", error.text);
    if (pthread_create(&thread, NULL, compile_all, NULL))
        return 1;
    for (unsigned i = 0; i < job_count; i++)
        tests[i] = (struct CMUnitTest){.name = jobs[i].name, .test_func = kernels_right, .initial_state = &jobs[i]};
    int failed = _cmocka_run_group_tests("emu kernels", tests, job_count, NULL, NULL);
    pthread_join(thread, NULL);
    for (unsigned i = 0; i < job_count; i++)
        free(jobs[i].ptx);
    tw_free(&compiler, golden);
    tw_places_free(&compiler, &headers);
    tw_runtime_close(&compiler);
    return failed;
}
