#include "nvrtc.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "architecture.h"
#include "find_cuda.h"

/* nvrtcResult */
enum {
    NVRTC_OUT_OF_MEMORY = 1,
    NVRTC_INVALID_OPTION = 5,
    NVRTC_COMPILATION = 6,
    NVRTC_BUILTIN_FAILURE = 7,
};

static int no_compile_memory(struct tw_error *error)
{
    return tw_fail(error, TW_ERROR_MEMORY, "no memory to compile");
}

static bool too_old(int major, int minor)
{
    return major < TW_NVRTC_MAJOR || (major == TW_NVRTC_MAJOR && minor >= 0 && minor < TW_NVRTC_MINOR);
}

/* Finding. */

/* NVRTC in one folder, if it is there. The file's name has the major version only (libnvrtc.so.13); the minor one
   stands in the name of libnvrtc-builtins.so.13.0, and -1 stays where neither says it. */
static int look_into(struct tw_runtime *rt, const struct tw_place *place, struct tw_nvrtc *nvrtc)
{
    int builtins_major, builtins_minor;

    if (tw_find_library(rt, place->folder, "nvrtc", 0, nvrtc->path, sizeof nvrtc->path, &nvrtc->major, &nvrtc->minor))
        return TW_ERROR_NOT_FOUND;
    snprintf(nvrtc->where, sizeof nvrtc->where, "%s", place->where);
    if (tw_find_library(rt, place->folder, "nvrtc-builtins", nvrtc->major, nvrtc->builtins, sizeof nvrtc->builtins,
                        &builtins_major, &builtins_minor)) {
        nvrtc->builtins[0] = '\0';
        return TW_OK;
    }
    if (!nvrtc->major)
        nvrtc->major = builtins_major;
    if (nvrtc->minor < 0)
        nvrtc->minor = builtins_minor;
    return TW_OK;
}

static int find_locked(struct tw_runtime *rt, struct tw_error *error)
{
    struct tw_places places = {NULL, 0};
    struct tw_nvrtc *nvrtc;
    char old_path[512] = "";
    int old_major = 0, old_minor = 0, status;
    unsigned step;
    size_t done = 0;

    if (rt->nvrtc)
        return TW_OK;
    nvrtc = tw_alloc_zeroed(rt, sizeof *nvrtc);
    if (!nvrtc)
        return no_compile_memory(error);
    for (step = 0;; step++) {
        status = tw_find_places(rt, TW_PLACE_LIBRARIES, step, &places, error);
        if (status != TW_OK)
            break;
        for (; done < places.count; done++) {
            if (look_into(rt, &places.items[done], nvrtc))
                continue;
            if (!too_old(nvrtc->major, nvrtc->minor)) {
                status = tw_build_id(rt, nvrtc->path, nvrtc->build_id, error);
                if (status != TW_OK)
                    goto fail;
                tw_places_free(rt, &places);
                rt->nvrtc = rt->own_nvrtc = nvrtc;
                return TW_OK;
            }
            if (!old_path[0]) {
                snprintf(old_path, sizeof old_path, "%.511s", nvrtc->path);
                old_major = nvrtc->major;
                old_minor = nvrtc->minor;
            }
        }
    }
    if (status == TW_ERROR_NOT_FOUND && old_path[0])
        status = tw_fail(error, TW_ERROR_OLD_NVRTC, "NVRTC %d.%d (%s) is too old: %d.%d or newer is needed; "
                         "`python3 -m pip install --target build/cuda nvidia-cuda-nvrtc` brings one",
                         old_major, old_minor < 0 ? 0 : old_minor, old_path, TW_NVRTC_MAJOR, TW_NVRTC_MINOR);
    else if (status == TW_ERROR_NOT_FOUND)
        status = tw_fail(error, TW_ERROR_NO_NVRTC, "NVRTC (libnvrtc.so, %d.%d or newer) not found: looked in "
                         "$CUDA_HOME, $CUDA_PATH, /usr/local/cuda*, /opt/cuda, the loader's folders, Python's nvidia "
                         "folders and build/cuda; `python3 -m pip install --target build/cuda nvidia-cuda-nvrtc` "
                         "brings one", TW_NVRTC_MAJOR, TW_NVRTC_MINOR);

fail:
    tw_places_free(rt, &places);
    tw_free(rt, nvrtc);
    return status;
}

/* Opening. */

static void close_libraries(struct tw_runtime *rt, struct tw_nvrtc *nvrtc)
{
    if (nvrtc->library)
        rt->loader.close(rt->loader.self, nvrtc->library);
    if (nvrtc->builtins_library)
        rt->loader.close(rt->loader.self, nvrtc->builtins_library);
    nvrtc->library = nvrtc->builtins_library = NULL;
    memset(&nvrtc->api, 0, sizeof nvrtc->api);
}

static int open_library_locked(struct tw_runtime *rt, struct tw_error *error)
{
    struct tw_nvrtc *nvrtc = rt->nvrtc;
    const char *why = NULL, *missing = NULL;
    int status;

    if (nvrtc->opened)
        return TW_OK;
    if (!nvrtc->path[0]) /* handed over with its table */
        goto opened;
    if (nvrtc->builtins[0]) {
        nvrtc->builtins_library = rt->loader.open(rt->loader.self, nvrtc->builtins, 1, &why);
        if (!nvrtc->builtins_library)
            return tw_fail(error, TW_ERROR_NO_NVRTC, "%s cannot be opened: %s", nvrtc->builtins, why ? why : "?");
    }
    nvrtc->library = rt->loader.open(rt->loader.self, nvrtc->path, 0, &why);
    if (!nvrtc->library) {
        status = tw_fail(error, TW_ERROR_NO_NVRTC, "%s cannot be opened: %s", nvrtc->path, why ? why : "?");
        goto fail;
    }
#define NVRTC_CALL(field, symbol, result, arguments)                                                                   \
    if (!tw_resolve(rt, nvrtc->library, symbol, &nvrtc->api.field) && !missing)                                        \
        missing = symbol;
#include "nvrtc_calls.def"
#undef NVRTC_CALL
    if (missing) {
        status = tw_fail(error, TW_ERROR_OLD_NVRTC, "%s has no %s", nvrtc->path, missing);
        goto fail;
    }
opened:
    if (nvrtc->api.version(&nvrtc->major, &nvrtc->minor)) {
        status = tw_fail(error, TW_ERROR_NVRTC, "nvrtcVersion failed (%s)", nvrtc->path);
        goto fail;
    }
    if (too_old(nvrtc->major, nvrtc->minor)) {
        status = tw_fail(error, TW_ERROR_OLD_NVRTC, "NVRTC %d.%d (%s) is too old: %d.%d or newer is needed",
                         nvrtc->major, nvrtc->minor, nvrtc->path, TW_NVRTC_MAJOR, TW_NVRTC_MINOR);
        goto fail;
    }
    nvrtc->opened = 1;
    return TW_OK;

fail:
    if (nvrtc->path[0])
        close_libraries(rt, nvrtc);
    return status;
}

int tw_nvrtc_find(struct tw_runtime *rt, struct tw_error *error)
{
    int status;

    pthread_mutex_lock(&rt->mutex);
    status = find_locked(rt, error);
    pthread_mutex_unlock(&rt->mutex);
    return status;
}

int tw_nvrtc_open(struct tw_runtime *rt, struct tw_error *error)
{
    int status;

    pthread_mutex_lock(&rt->mutex);
    status = find_locked(rt, error);
    if (status == TW_OK)
        status = open_library_locked(rt, error);
    pthread_mutex_unlock(&rt->mutex);
    return status;
}

void tw_nvrtc_close(struct tw_runtime *rt)
{
    if (!rt->own_nvrtc)
        return;
    close_libraries(rt, rt->own_nvrtc);
    tw_free(rt, rt->own_nvrtc);
    rt->nvrtc = rt->own_nvrtc = NULL;
}

/* Messages. */

int tw_next_message(const char **cursor, struct tw_message *message)
{
    static const struct {
        const char *pattern;
        int is_error;
    } rows[] = {
#define PTXAS_MESSAGE(pattern, is_error, meaning) {pattern, is_error},
#include "ptxas_messages.def"
#undef PTXAS_MESSAGE
    };
    const char *line, *end, *code;
    size_t i, digits;

    while (*cursor && **cursor) {
        line = *cursor;
        end = line + strcspn(line, "\n");
        *cursor = *end ? end + 1 : end;
        if (strncmp(line, "ptxas", 5))
            continue;
        for (i = 0; i < sizeof rows / sizeof *rows; i++)
            if (memmem(line, (size_t)(end - line), rows[i].pattern, strlen(rows[i].pattern)))
                break;
        if (i == sizeof rows / sizeof *rows)
            continue;
        message->is_error = rows[i].is_error;
        message->line = line;
        message->line_bytes = (size_t)(end - line);
        message->code[0] = '\0';
        code = memmem(line, message->line_bytes, "(C", 2);
        digits = code ? strspn(code + 2, "0123456789") : 0;
        if (digits && digits < sizeof message->code - 1 && code[2 + digits] == ')') {
            memcpy(message->code, code + 1, digits + 1);
            message->code[digits + 1] = '\0';
        }
        return 1;
    }
    return 0;
}

static bool is_allowed(const struct tw_compile_request *request, const char *code)
{
    size_t i;

    for (i = 0; i < request->allow_count; i++)
        if (!strcmp(request->allow[i], "all") || (*code && !strcmp(request->allow[i], code)))
            return true;
    return false;
}

/* The first message of ptxas that is an error here. */
static int check_messages(const struct tw_compile_request *request, const char *log, struct tw_error *error)
{
    struct tw_message message;

    while (tw_next_message(&log, &message))
        if (message.is_error && !is_allowed(request, message.code))
            return tw_fail(error, TW_ERROR_COMPILE, "%s: %.*s", request->name, (int)message.line_bytes, message.line);
    return TW_OK;
}

/* Compiling. */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char **tw_sorted_options(struct tw_runtime *rt, const struct tw_compile_request *request)
{
    const char **sorted = tw_alloc(rt, (request->option_count + 1) * sizeof *sorted);

    if (!sorted)
        return NULL;
    if (request->option_count) {
        memcpy(sorted, request->options, request->option_count * sizeof *sorted);
        qsort(sorted, request->option_count, sizeof *sorted, by_text);
    }
    sorted[request->option_count] = NULL;
    return sorted;
}

void tw_compiled_free(struct tw_runtime *rt, struct tw_compiled *out)
{
    tw_free(rt, out->cubin);
    tw_free(rt, out->ptx);
    tw_free(rt, out->log);
    memset(out, 0, sizeof *out);
}

static int check_request(const struct tw_compile_request *request, struct tw_error *error)
{
    const char *arch = request->arch;

    if (!request->source || !request->name || !request->entry || !arch)
        return tw_fail(error, TW_ERROR_INVALID, "a compile needs source, name, entry and architecture");
    if (memchr(request->source, 0, request->source_bytes))
        return tw_fail(error, TW_ERROR_INVALID, "%s: the source holds a zero byte", request->name);
    struct tw_architecture_name parsed;
    if (tw_architecture_parse(arch, &parsed) != 0)
        return tw_fail(error, TW_ERROR_INVALID, "%s: '%s' is no architecture; one is written sm_90a", request->name,
                       arch);
    return TW_OK;
}

/* One result of NVRTC: its size, then its bytes. *bytes counts what NVRTC counts, with the zero of texts. */
static int fetch(struct tw_runtime *rt, int (*size)(void *, size_t *), int (*get)(void *, char *), void *program,
                 char **out, size_t *bytes, int *result)
{
    *out = NULL;
    *bytes = 0;
    *result = size(program, bytes);
    if (*result)
        return TW_ERROR_NVRTC;
    *out = tw_alloc_zeroed(rt, *bytes + 1);
    if (!*out)
        return TW_ERROR_MEMORY;
    *result = get(program, *out);
    return *result ? TW_ERROR_NVRTC : TW_OK;
}

static int nvrtc_failed(struct tw_runtime *rt, int result, const char *name, const char *what, struct tw_error *error)
{
    const char *text = rt->nvrtc->api.error_string(result);

    return tw_fail(error, result == NVRTC_OUT_OF_MEMORY ? TW_ERROR_MEMORY : TW_ERROR_NVRTC, "%s: %s: %s", name, what,
                   text ? text : "unknown error");
}

/* The part of the log that says what is wrong: from the first error on. */
static const char *first_error(const char *log)
{
    const char *line, *end;

    for (line = log; *line; line = *end ? end + 1 : end) {
        end = line + strcspn(line, "\n");
        if (memmem(line, (size_t)(end - line), "error", 5) || memmem(line, (size_t)(end - line), "fatal", 5))
            return line;
    }
    return log;
}

/* Is `.entry NAME` in the PTX? */
static bool ptx_has(const char *ptx, const char *entry)
{
    size_t length = strlen(entry);
    const char *at = ptx;

    while ((at = strstr(at, ".entry "))) {
        at += 7;
        if (!strncmp(at, entry, length) && strchr("( \t\r\n", at[length]))
            return true;
    }
    return false;
}

/* Run the compiler on a program and take what it gives. */
static int run_compiler(struct tw_runtime *rt, const struct tw_compile_request *request, void *program,
                        const char *const *options, size_t option_count, unsigned outputs, struct tw_compiled *out,
                        struct tw_error *error)
{
    const struct tw_nvrtc_api *api = &rt->nvrtc->api;
    double begin = rt->process.now(rt->process.self);
    int compiled, result, status;
    char *cubin = NULL;
    size_t bytes;

    compiled = api->compile(program, (int)option_count, options);
    out->seconds += rt->process.now(rt->process.self) - begin;
    status = fetch(rt, api->log_size, api->log, program, &out->log, &bytes, &result);
    if (status == TW_ERROR_MEMORY)
        return no_compile_memory(error);
    if (status != TW_OK)
        return nvrtc_failed(rt, result, request->name, "the compiler's messages cannot be read", error);
    if (compiled == NVRTC_COMPILATION)
        return tw_fail(error, TW_ERROR_COMPILE, "%s", first_error(out->log));
    if (compiled == NVRTC_INVALID_OPTION)
        return tw_fail(error, TW_ERROR_INVALID, "%s: %s", request->name, out->log);
    if (compiled == NVRTC_BUILTIN_FAILURE)
        return tw_fail(error, TW_ERROR_NVRTC, "%s: NVRTC found no libnvrtc-builtins beside %s", request->name,
                       rt->nvrtc->path);
    if (compiled)
        return nvrtc_failed(rt, compiled, request->name, "NVRTC failed", error);
    if (outputs & TW_OUTPUT_CUBIN) {
        status = fetch(rt, api->cubin_size, api->cubin, program, &cubin, &out->cubin_bytes, &result);
        out->cubin = (unsigned char *)cubin;
        if (status == TW_ERROR_MEMORY)
            return no_compile_memory(error);
        if (status != TW_OK)
            return nvrtc_failed(rt, result, request->name, "the cubin cannot be read", error);
    }
    if (outputs & TW_OUTPUT_PTX) {
        status = fetch(rt, api->ptx_size, api->ptx, program, &out->ptx, &bytes, &result);
        if (status == TW_ERROR_MEMORY)
            return no_compile_memory(error);
        if (status != TW_OK)
            return nvrtc_failed(rt, result, request->name, "the PTX cannot be read", error);
        out->ptx_bytes = strlen(out->ptx);
    }
    return TW_OK;
}

int tw_compile(struct tw_runtime *rt, const struct tw_compile_request *request, struct tw_compiled *out,
               struct tw_error *error)
{
    unsigned outputs = request->outputs ? request->outputs : TW_OUTPUT_CUBIN;
    const char **options = NULL, **sorted = NULL;
    char *source = NULL, *arch_option = NULL;
    void *program = NULL;
    double begin;
    size_t n = 0, i;
    int status, result;

    status = check_request(request, error);
    if (status != TW_OK)
        return status;
    begin = rt->process.now(rt->process.self);
    status = tw_nvrtc_open(rt, error);
    if (status != TW_OK)
        return status;
    out->open_seconds += rt->process.now(rt->process.self) - begin;

    source = tw_alloc(rt, request->source_bytes + 1);
    arch_option = tw_format(rt, "--gpu-architecture=%s_%s", outputs & TW_OUTPUT_CUBIN ? "sm" : "compute",
                            request->arch + 3);
    sorted = tw_sorted_options(rt, request);
    options = tw_alloc(rt, (request->option_count + 2) * sizeof *options);
    if (!source || !arch_option || !sorted || !options) {
        status = no_compile_memory(error);
        goto done;
    }
    memcpy(source, request->source, request->source_bytes);
    source[request->source_bytes] = '\0';
    options[n++] = arch_option;
    options[n++] = "--std=c++17";
    for (i = 0; i < request->option_count; i++) {
        if (!strncmp(sorted[i], "--std", 5) || !strncmp(sorted[i], "-std", 4))
            options[1] = sorted[i];
        else if (strncmp(sorted[i], "-I", 2))
            options[n++] = sorted[i];
    }
    for (i = 0; i < request->option_count; i++) /* the order of these is where a header is looked for first */
        if (!strncmp(request->options[i], "-I", 2))
            options[n++] = request->options[i];
    result = rt->nvrtc->api.create(&program, source, request->name, (int)request->header_count, request->header_texts,
                                   request->header_names);
    if (result) {
        program = NULL;
        status = nvrtc_failed(rt, result, request->name, "no program could be made", error);
        goto done;
    }
    status = run_compiler(rt, request, program, options, n, outputs, out, error);
    if (status == TW_OK)
        status = check_messages(request, out->log, error);
    if (status == TW_OK && !*request->entry)
        ; /* whichever kernels there are */
    else if (status == TW_OK && (outputs & TW_OUTPUT_CUBIN))
        status = tw_cubin_info(out->cubin, out->cubin_bytes, request->entry, &out->info, error);
    else if (status == TW_OK && !ptx_has(out->ptx, request->entry))
        status = tw_fail(error, TW_ERROR_NOT_FOUND, "the PTX has no kernel '%s'", request->entry);
    if (status == TW_ERROR_NOT_FOUND)
        status = tw_fail(error, TW_ERROR_COMPILE, "%s: no kernel '%s': is it extern \"C\" __global__?", request->name,
                         request->entry);

done:
    if (program)
        rt->nvrtc->api.destroy(&program);
    tw_free(rt, source);
    tw_free(rt, arch_option);
    tw_free(rt, sorted);
    tw_free(rt, options);
    return status;
}
