/* The files that units become: texts, Plans and each kernel's C pair. */
#include "compile/compile_host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "common/parallel.h"
#include "common/tool.h"
#include "emit/embed.h"
#include "program/meaning/reference.h"
#include "version.h"

/* A Plan as it is written. */
struct plan_json {
    char *text; /* NULL: out of memory */
    size_t length;
};

/* ENTRY.ARCH.cu and ENTRY.ARCH.plan.json. */
static int add_texts(struct compile *c, const struct compile_unit *unit, const struct plan_json *json,
                     const char *folder, struct file_set *files, struct tw_error *error)
{
    char name[420];
    snprintf(name, sizeof name, "%s.%s.cu", unit->plan.entry, unit->arch->name);
    int status = files_add(files, folder, name, unit->source, unit->source_bytes, false, error);
    if (status != TW_OK)
        return status;
    char *copy = json->text ? tw_alloc(&c->rt, json->length) : NULL;
    if (!copy)
        return tw_fail(error, TW_ERROR_MEMORY, "out of memory");
    memcpy(copy, json->text, json->length);
    snprintf(name, sizeof name, "%s.%s.plan.json", unit->plan.entry, unit->arch->name);
    return files_add(files, folder, name, copy, json->length, true, error);
}

/* A text of emit_host as memory of the runtime. */
static int add_host_text(struct compile *c, const char *kernel, const char *suffix, const char *text,
                         const char *folder, struct file_set *files, struct tw_error *error)
{
    char name[420];
    char *copy = tw_strdup(&c->rt, text);
    if (!copy)
        return tw_fail(error, TW_ERROR_MEMORY, "out of memory");
    snprintf(name, sizeof name, "%s%s", kernel, suffix);
    return files_add(files, folder, name, copy, strlen(text), true, error);
}

/* NAME.h and NAME.c of the units first..first+count-1, which are one kernel's. Exit status. */
/* The pair NAME.c, NAME.h of one kernel. */
struct host_pair {
    int first, count; /* its units */
    char *header, *source;
    struct host_python_texts python;
    bool again; /* as in struct emission */
};

struct host_emission {
    struct compile *c;
    enum compile_with with;
    struct host_pair *pair; /* by kernel */
    int pairs;
    struct plan_json *json; /* by unit */
};

static int emit_pair(struct compile *c, struct host_pair *pair, enum compile_with with, struct diag_set *diags)
{
    static const char *const options[] = {"--std=c++17"};
    const struct emit_options emit_options = {
        .line_directives = true, .debug_ms = c->debug_ms, .generator_version = TW_GENERATOR, .shelf = c->shelf};
    struct host_image *image = tw_alloc_zeroed(&c->rt, sizeof *image * (size_t)pair->count);
    int *all = tw_alloc(&c->rt, sizeof *all * (size_t)pair->count), tuned_count = 0, status = image && all ? 0 : 3;
    struct host_tuned *tuned = NULL;
    for (int i = 0; i < pair->count && !status; i++)
        all[i] = pair->first + i;
    if (!status)
        status = compile_tuned(c, all, pair->count, &tuned, &tuned_count);
    tw_free(&c->rt, all);
    if (status) {
        tw_free(&c->rt, image);
        return status;
    }
    for (int i = 0; i < pair->count; i++) {
        const struct compile_unit *unit = &c->unit[pair->first + i];
        image[i] = (struct host_image){.plan = &unit->plan, .registers = -1, .setup = unit->setup};
        if (with == COMPILE_WITH_COUNT) {
            image[i].source = unit->source;
            image[i].source_bytes = unit->source_bytes;
            continue;
        }
        image[i].cubin = unit->compiled[with].cubin;
        image[i].cubin_bytes = unit->compiled[with].cubin_bytes;
        image[i].registers = (int)unit->compiled[with].info.registers;
        if (unit->newer) {
            image[i].ptx = unit->compiled[with].ptx;
            image[i].ptx_bytes = unit->compiled[with].ptx_bytes;
        }
    }
    bool *added = c->python ? tw_alloc_zeroed(&c->rt, (size_t)image[0].plan->tensor_count + 1) : NULL;
    const struct program *program = c->unit[pair->first].as->program;
    for (int i = 0; added && program && i < image[0].plan->tensor_count; i++)
        added[i] = program_adds_to(program, i);
    const struct host_model model = {.name = c->unit[pair->first].kernel->name,
                                     .image = image,
                                     .shared = c->share,
                                     .added = added,
                                     .image_count = pair->count,
                                     .newer = true,
                                     .option = options,
                                     .option_count = 1,
                                     .tuned = tuned,
                                     .tuned_count = tuned_count};
    status = c->python && !added ? 3 : emit_host(&model, &emit_options, &pair->header, &pair->source, diags);
    if (!status && c->python)
        status = emit_host_python(&model, &emit_options, (c->python & COMPILE_TORCH) != 0, &pair->python, diags);
    tw_free(&c->rt, added);
    tw_free(&c->rt, tuned);
    tw_free(&c->rt, image);
    return status;
}

static void free_text(char **text)
{
    struct memory memory = {NULL, NULL};
    if (*text)
        memory_resize(&memory, *text, strlen(*text) + 1, 0);
    *text = NULL;
}

static void free_pair(struct host_pair *pair)
{
    free_text(&pair->header);
    free_text(&pair->source);
    free_text(&pair->python.module);
    free_text(&pair->python.stub);
    free_text(&pair->python.torch);
    free_text(&pair->python.in_place);
}

/* The pairs, which take longest, then the Plans. */
static void write_one(void *context, int64_t i)
{
    struct host_emission *e = context;
    if (i >= e->pairs) {
        struct plan_json *json = &e->json[i - e->pairs];
        if (plan_print_json(&e->c->unit[i - e->pairs].plan, &json->text, &json->length) != 0)
            json->text = NULL;
        return;
    }
    struct diag_set diags = {0};
    e->pair[i].again = emit_pair(e->c, &e->pair[i], e->with, &diags) != 0 || diags.count > 0;
    diag_free(&diags);
}

static int add_host(struct compile *c, struct host_pair *pair, enum compile_with with, const char *folder,
                    struct file_set *files)
{
    const char *kernel = c->unit[pair->first].kernel->name;
    struct tw_error error = {""};
    if (pair->again) {
        free_pair(pair);
        int status = emit_pair(c, pair, with, &c->diags);
        if (status)
            return status;
    }
    const struct {
        const char *suffix, *text;
    } file[] = {{".h", pair->header},
                {".c", pair->source},
                {"_python.c", pair->python.module},
                {".pyi", pair->python.stub},
                {"_torch.py", pair->python.torch},
                {"_torch.cpp", pair->python.in_place}};
    int result = TW_OK;
    for (size_t i = 0; i < sizeof file / sizeof *file && result == TW_OK; i++)
        if (file[i].text)
            result = add_host_text(c, kernel, file[i].suffix, file[i].text, folder, files, &error);
    return result == TW_OK ? 0 : compile_fail(c, result, &error);
}

/* The version of the generator that wrote the launcher in that file; 0: there is none. */
static int launcher_version(struct compile *c, const char *path)
{
    static const char line[] = "#define TILEWRIGHT_HOST ";
    enum { LIMIT = 1 << 20 };
    unsigned char *bytes;
    size_t count;
    int version = 0;
    if (tw_read_regular_file(&c->rt, path, LIMIT, &bytes, &count, NULL) != TW_OK)
        return 0;
    const char *found = memmem(bytes, count, line, sizeof line - 1);
    for (const char *digit = found ? found + sizeof line - 1 : NULL; digit && *digit >= '0' && *digit <= '9'; digit++)
        version = version < 1000000 ? 10 * version + (*digit - '0') : version;
    tw_free(&c->rt, bytes);
    return version;
}

/* What the kernels of a folder share. Exit status. */
static int add_shared(struct compile *c, const char *folder, struct file_set *files)
{
    const struct emit_options options = {.generator_version = TW_GENERATOR};
    struct tw_error error = {""};
    char *header, *source, *path = tw_format(&c->rt, "%s/" SHARED_LAUNCHER ".h", folder);
    if (!path)
        return 3;
    const int before = launcher_version(c, path);
    if (before && before != TW_GENERATOR)
        compile_say(c, DIAG_NOTE,
                    "%s is of version %d and becomes of %d; kernels that stay in the folder from before do not "
                    "compile until they are generated again",
                    path, before, TW_GENERATOR);
    tw_free(&c->rt, path);
    int status = emit_host_shared(&options, &header, &source, &c->diags);
    if (status)
        return status;
    int result = add_host_text(c, SHARED_LAUNCHER, ".h", header, folder, files, &error);
    if (result == TW_OK)
        result = add_host_text(c, SHARED_LAUNCHER, ".c", source, folder, files, &error);
    free_text(&header);
    free_text(&source);
    return result == TW_OK ? 0 : compile_fail(c, result, &error);
}

/* Those after a failure for memory are left out. */
int compile_outputs(struct compile *c, enum compile_with with, const char *folder, struct file_set *files)
{
    int count = 0, result = 0;
    struct host_emission e = {.c = c, .with = with};
    struct tw_error error = {""};
    e.pair = tw_alloc_zeroed(&c->rt, sizeof *e.pair * ((size_t)c->unit_count + 1));
    e.json = tw_alloc_zeroed(&c->rt, sizeof *e.json * ((size_t)c->unit_count + 1));
    if (!e.pair || !e.json) {
        tw_free(&c->rt, e.pair);
        tw_free(&c->rt, e.json);
        return 3;
    }
    for (int first = 0; first < c->unit_count; first += e.pair[count++].count) {
        e.pair[count].first = first;
        for (e.pair[count].count = 1; first + e.pair[count].count < c->unit_count; e.pair[count].count++)
            if (c->unit[first + e.pair[count].count].kernel != c->unit[first].kernel)
                break;
    }
    e.pairs = count;
    parallel_for(count + c->unit_count, parallel_cores(), write_one, &e);
    for (int i = 0; i < c->unit_count && result == 0; i++) {
        int status = add_texts(c, &c->unit[i], &e.json[i], folder, files, &error);
        result = status == TW_OK ? 0 : compile_fail(c, status, &error);
    }
    const bool texts = result == 0;
    for (int i = 0; i < count && texts && result != 3; i++) {
        int status = add_host(c, &e.pair[i], with, folder, files);
        result = status == 3 ? 3 : result ? result : status;
    }
    if (c->share && count && result == 0)
        result = add_shared(c, folder, files);
    for (int i = 0; i < count; i++)
        free_pair(&e.pair[i]);
    for (int i = 0; i < c->unit_count; i++)
        free(e.json[i].text);
    tw_free(&c->rt, e.json);
    tw_free(&c->rt, e.pair);
    return result;
}
