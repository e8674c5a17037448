/* The library: its state, its lock, what every entry point does first, and how entry points are found by name. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

struct cu_library cu;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock;
static _Thread_local struct cu_call *under_way;

/* Entry points call each other. */
static void lock_open(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

int cu_enter(struct cu_call *call, enum cu_need need)
{
    pthread_once(&once, lock_open);
    pthread_mutex_lock(&lock);
    call->outer = under_way;
    under_way = call;
    if (need >= CU_NEEDS_INIT && !cu.device)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (need < CU_NEEDS_CONTEXT)
        return CUDA_SUCCESS;
    const struct cu_context *context = cu_context_current();
    return !context ? CUDA_ERROR_INVALID_CONTEXT : context->destroyed ? CUDA_ERROR_CONTEXT_IS_DESTROYED : cu.broken;
}

void cu_leave(struct cu_call *call)
{
    under_way = call->outer;
    pthread_mutex_unlock(&lock);
}

struct cu_call *cu_let_go(void)
{
    struct cu_call *held = under_way;
    under_way = NULL;
    for (const struct cu_call *c = held; c; c = c->outer)
        pthread_mutex_unlock(&lock);
    return held;
}

void cu_go_on(struct cu_call *held)
{
    for (const struct cu_call *c = held; c; c = c->outer)
        pthread_mutex_lock(&lock);
    under_way = held;
}

int cu_refuse(int result, const char *format, ...)
{
    va_list arguments;
    fflush(stdout);
    fprintf(stderr, "tilewright: %s: ", under_way ? under_way->name : "libcuda.so.1");
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    putc('\n', stderr);
    return result;
}

int cu_result(int status, const struct tw_error *error)
{
    switch (status) {
    case TW_OK:
        return CUDA_SUCCESS;
    case TW_ERROR_MEMORY:
        return cu_refuse(CUDA_ERROR_OUT_OF_MEMORY, "%s", error->text);
    case TW_ERROR_NOT_FOUND:
        return cu_refuse(CUDA_ERROR_NOT_FOUND, "%s", error->text);
    case TW_ERROR_UNSUPPORTED:
        return cu_refuse(CUDA_ERROR_NOT_SUPPORTED, "%s", error->text);
    case TW_ERROR_INVALID:
        return cu_refuse(CUDA_ERROR_INVALID_VALUE, "%s", error->text);
    default:
        return cu_refuse(CUDA_ERROR_UNKNOWN, "%s", error->text);
    }
}

/* ---- Results ----------------------------------------------------------------------------------------------------- */

static const struct {
    int number;
    const char *name;
} results[] = {
#define RESULT(name, number) {number, #name},
#include "results.def"
#undef RESULT
};

static const char *result_name(int result)
{
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        if (results[i].number == result)
            return results[i].name;
    return NULL;
}

int cuGetErrorName(int result, const char **text)
{
    *text = result_name(result);
    return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* The words of a result are its name: what is wrong was said when it was. */
int cuGetErrorString(int result, const char **text)
{
    return cuGetErrorName(result, text);
}

/* ---- Entry points that are missing ------------------------------------------------------------------------------- */

static int missing(const char *entry)
{
    fflush(stdout);
    fprintf(stderr, "tilewright: %s: the emulated driver has no such entry point\n", entry);
    return CUDA_ERROR_NOT_SUPPORTED;
}

#define CALL(entry, base, since, arguments)
#define CALL_AS(entry, base, since)
#define MISSING(entry)                                                                                                 \
    __attribute__((visibility("default"))) int entry(void);                                                            \
    int entry(void)                                                                                                    \
    {                                                                                                                  \
        return missing(#entry);                                                                                        \
    }
#include "calls.def"
#undef CALL
#undef CALL_AS
#undef MISSING

/* ---- Entry points by name ---------------------------------------------------------------------------------------- */

typedef void (*entry_point)(void);

static const struct {
    const char *entry, *base;
    int since;
    entry_point at;
} entries[] = {
#define CALL(entry, base, since, arguments) {#entry, #base, since, (entry_point)entry},
#define CALL_AS(entry, base, since) {#entry, #base, since, (entry_point)entry},
#define MISSING(entry) {#entry, #entry, 0, (entry_point)entry},
#include "calls.def"
#undef CALL
#undef CALL_AS
#undef MISSING
};

/* Whether an entry point is asked for by name: the base, or for what is missing the base and a version. */
static int is_called(size_t i, const char *name)
{
    size_t length = strlen(name);
    if (strncmp(entries[i].base, name, length) != 0)
        return 0;
    const char *rest = entries[i].base + length;
    return !*rest || (!entries[i].since && strncmp(rest, "_v", 2) == 0);
}

/* status: of CUdriverProcAddressQueryResult, 0 found, 1 no such name, 2 newer than the program. */
static int find_entry(const char *name, void **entry, int version, int *status)
{
    int best = -1, newer = 0;
    if (!name || !entry)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        if (!is_called(i, name))
            continue;
        if (entries[i].since > version)
            newer = 1;
        else if (best < 0 || entries[i].since >= entries[best].since)
            best = (int)i;
    }
    if (status)
        *status = best >= 0 ? 0 : newer ? 2 : 1;
    *entry = NULL;
    if (best >= 0)
        memcpy(entry, &entries[best].at, sizeof *entry);
    return best >= 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

int cuGetProcAddress(const char *name, void **entry, int version, uint64_t flags)
{
    (void)flags; /* streams run in order, so that per-thread default streams need no other entry points */
    return find_entry(name, entry, version, NULL);
}

/* Who asks for what is not there gets CUDA_ERROR_NOT_FOUND with a status that says why. */
int cuGetProcAddress_v2(const char *name, void **entry, int version, uint64_t flags, int *status)
{
    (void)flags;
    return find_entry(name, entry, version, status);
}

/* Tables without documentation, by which a cudart that stands in the program makes sure of NVIDIA's own driver. There
   are none here: such a cudart goes no further. */
int cuGetExportTable(const void **table, const cu_uuid *number)
{
    ENTER_FIRST(cuGetExportTable);
    static int said;
    (void)number;
    *table = NULL;
    if (!said++)
        cu_refuse(0, "%s",
                  "the program holds a CUDA runtime of its own, which works with NVIDIA's driver alone; link it "
                  "with nvcc -cudart shared, and run-program has one for it");
    return CUDA_ERROR_NOT_FOUND;
}
