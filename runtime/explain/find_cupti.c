#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"

enum { TRIED = 32 };

enum verdict { GO_ON, DONE, STOP };

// A search under way.
struct search {
    cupti_callback *callback;
    int recorded;
    char *why;          // why the first library that was found does not serve; "" while none was found
    void *tried[TRIED]; // libraries
    unsigned count;
};

static const uint32_t watched[] = {
#define WATCHED(FUNC, name, id, type, read) id,
#include "watched.def"
};
static const uint32_t recorded[] = {
#define RECORDED(name, id, type, take) id,
#include "recorded.def"
};

// Notes the first reason.
static void refuse(struct search *s, const char *path, const char *format, ...) TW_PRINTF(3, 4);
static void refuse(struct search *s, const char *path, const char *format, ...)
{
    size_t used = 0;
    va_list list;
    if (s->why[0])
        return;
    tw_tmap_append(s->why, EXPLAIN_WHY, &used, "%s: ", path);
    va_start(list, format);
    vsnprintf(s->why + used, EXPLAIN_WHY - used, format, list);
    va_end(list);
}

static void refuse_result(struct search *s, const struct cupti_calls *cupti, const char *path, const char *call,
                          int result)
{
    const char *name = NULL;
    if (cupti->result_name)
        cupti->result_name(result, &name);
    refuse(s, path, "%s: %s (%d)", call, name ? name : "error", result);
}

// Subscribes to one library. It stays loaded: CUPTI is not made to be unloaded.
static enum verdict use(struct search *s, void *library, const char *path)
{
    struct cupti_calls cupti;
    void *address, *subscriber = NULL;
#define CUPTI_CALL(member, symbol, required, arguments)                                                                \
    address = dlsym(library, symbol);                                                                                  \
    memcpy(&cupti.member, &address, sizeof address);                                                                   \
    if (required && !address) {                                                                                        \
        refuse(s, path, "no %s", symbol);                                                                              \
        return GO_ON;                                                                                                  \
    }
#include "cupti_calls.def"
#undef CUPTI_CALL
    int result = cupti.subscribe(&subscriber, s->callback, NULL);
    if (result == CUPTI_MULTIPLE_SUBSCRIBERS) {
        s->why[0] = 0;
        refuse(s, path, "CUPTI serves one tool at a time, and a profiler or debugger uses it already");
        return STOP;
    }
    if (result) {
        refuse_result(s, &cupti, path, "cuptiSubscribe", result);
        return GO_ON;
    }
    // The tiled call must be known; an older CUPTI does without the others.
    for (size_t i = 0; i < sizeof watched / sizeof *watched; i++) {
        result = cupti.enable(1, subscriber, CUPTI_DOMAIN_DRIVER_API, watched[i]);
        if (result && i == 0) {
            refuse_result(s, &cupti, path, "cuptiEnableCallback", result);
            cupti.unsubscribe(subscriber);
            return GO_ON;
        }
    }
    for (size_t i = 0; i < sizeof recorded / sizeof *recorded && s->recorded; i++) {
        result = cupti.enable(1, subscriber, CUPTI_DOMAIN_DRIVER_API, recorded[i]);
        if (result)
            fprintf(stderr,
                    "tilewright record: CUPTI does not tell of driver call %d (cuptiEnableCallback gave %d): what it "
                    "launches or loads is not recorded\n",
                    (int)recorded[i], result);
    }
    return DONE;
}

static enum verdict try_path(struct search *s, const char *path, int flags)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | flags);
    if (!library) {
        const char *text = dlerror();
        // A name that the loader knows nothing of is no library that was found.
        if (strchr(path, '/') && !(flags & RTLD_NOLOAD))
            refuse(s, path, "%s", text ? text : "not loaded");
        return GO_ON;
    }
    for (unsigned i = 0; i < s->count; i++)
        if (s->tried[i] == library)
            return GO_ON;
    if (s->count < TRIED)
        s->tried[s->count++] = library;
    return use(s, library, path);
}

// All libraries that a pattern names, the newest version first.
static enum verdict try_pattern(struct search *s, const char *pattern)
{
    glob_t found;
    enum verdict verdict = GO_ON;
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = found.gl_pathc; i-- > 0 && verdict == GO_ON;)
            verdict = try_path(s, found.gl_pathv[i], 0);
    globfree(&found);
    return verdict;
}

// What the process has loaded: paths of libraries, gathered first, since nothing may be loaded meanwhile.
struct loaded {
    char **paths;
    size_t count;
};

static int gather(struct dl_phdr_info *info, size_t bytes, void *user)
{
    struct loaded *loaded = user;
    (void)bytes;
    if (!info->dlpi_name || info->dlpi_name[0] != '/')
        return 0;
    char **bigger = realloc(loaded->paths, (loaded->count + 1) * sizeof *bigger);
    if (!bigger)
        return 1;
    loaded->paths = bigger;
    loaded->paths[loaded->count] = strdup(info->dlpi_name);
    if (!loaded->paths[loaded->count])
        return 1;
    loaded->count++;
    return 0;
}

// The root that place `i` asks for of a loaded library: its folder, or the packages folder above it. 0 where it has
// none.
static int root_of(const char *path, int packages, char *root, size_t size)
{
    const char *end = strrchr(path, '/');
    if (packages) {
        const char *site = strstr(path, "/site-packages/"), *dist = strstr(path, "/dist-packages/");
        end = site ? site + 14 : dist ? dist + 14 : NULL;
    } else if (strncmp(path, "/lib", 4) == 0 || strncmp(path, "/usr/lib", 8) == 0) {
        return 0;
    }
    return end && (size_t)snprintf(root, size, "%.*s", (int)(end - path), path) < size;
}

static enum verdict try_loaded(struct search *s, const struct loaded *loaded, int packages, const char *below)
{
    char root[4096], last[4096] = "", pattern[4200];
    enum verdict verdict = GO_ON;
    for (size_t i = 0; i < loaded->count && verdict == GO_ON; i++) {
        // Neighbours come one after the other often: a root is looked into once for them.
        if (!root_of(loaded->paths[i], packages, root, sizeof root) || strcmp(root, last) == 0)
            continue;
        strcpy(last, root);
        snprintf(pattern, sizeof pattern, "%s%s", root, below);
        verdict = try_pattern(s, pattern);
    }
    return verdict;
}

static enum verdict try_place(struct search *s, const struct loaded *loaded, const char *root, const char *below)
{
    char pattern[4096];
    if (root[0] >= 'A')
        return try_loaded(s, loaded, strcmp(root, "PACKAGES") == 0, below);
    const char *folder = root[0] == '$' ? getenv(root + 1) : root;
    if (!folder || (root[0] && !folder[0]) ||
        (size_t)snprintf(pattern, sizeof pattern, "%s%s", folder, below) >= sizeof pattern)
        return GO_ON;
    return try_pattern(s, pattern);
}

static enum verdict search(struct search *s, const struct loaded *loaded)
{
    static const struct {
        const char *root, *below;
    } places[] = {
#define PLACE(root, below) {root, below},
#include "places.def"
#undef PLACE
    };
    static const char *const names[] = {"libcupti.so.14", "libcupti.so.13", "libcupti.so.12", "libcupti.so"};
    enum verdict verdict = GO_ON;
    const char *own = getenv("TILEWRIGHT_CUPTI");
    if (own && own[0])
        return try_path(s, own, 0);
    for (size_t i = 0; i < loaded->count && verdict == GO_ON; i++)
        if (strstr(loaded->paths[i], "/libcupti.so"))
            verdict = try_path(s, loaded->paths[i], RTLD_NOLOAD);
    for (size_t i = 0; i < sizeof places / sizeof *places && verdict == GO_ON; i++)
        verdict = try_place(s, loaded, places[i].root, places[i].below);
    for (size_t i = 0; i < sizeof names / sizeof *names && verdict == GO_ON; i++)
        verdict = try_path(s, names[i], 0);
    return verdict;
}

int explain_subscribe(cupti_callback *callback, int recorded_too, char *why)
{
    struct search s = {.callback = callback, .recorded = recorded_too, .why = why};
    struct loaded loaded = {NULL, 0};
    why[0] = 0;
    dl_iterate_phdr(gather, &loaded);
    enum verdict verdict = search(&s, &loaded);
    while (loaded.count)
        free(loaded.paths[--loaded.count]);
    free(loaded.paths);
    if (verdict != DONE && !why[0])
        snprintf(why, EXPLAIN_WHY,
                 "no libcupti.so beside the program's libraries, in $CUDA_HOME, /usr/local/cuda or Python's nvidia "
                 "folders: install it (Debian's or NVIDIA's package cuda-cupti, pip's nvidia-cuda-cupti), or set "
                 "TILEWRIGHT_CUPTI to its path");
    return verdict == DONE;
}
