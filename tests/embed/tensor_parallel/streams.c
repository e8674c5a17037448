/* libcuda.so.1 over another libcuda.so.1, which is the next one of that name in LD_LIBRARY_PATH: work on streams
 * happens as late as it may, when it is waited for, and of two streams that could go on one always goes first. So what
 * nothing orders happens in the order that is least expected, over an emulator on which everything else happens at
 * once.
 *
 *   STREAMS_ORDER  first: the stream that was created first; last: the other one
 *   STREAMS_LOG    a file, NAME.PID: a line a wait of the host, a letter for what was done: k a kernel, h a call of the
 *                  host
 *
 * Streams do not block, copies and fills without a stream are passed on at once, and nothing is captured. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INVALID = 1, OUT_OF_MEMORY = 2, NOT_SUPPORTED = 801 }; /* CUresult */
enum { STREAMS = 8, EVENTS = 256, PARAMETERS = 4096, ATTRIBUTES = 4 };

struct config { /* CUlaunchConfig */
    unsigned grid[3], block[3], shared_bytes;
    void *stream;
    void *attributes;
    unsigned attribute_count;
};
enum { ATTRIBUTE_BYTES = 72 }; /* of CUlaunchAttribute: a number, padding, 64 bytes */

enum kind { KERNEL, HOST, DOWN, UP, RECORD, WAIT };
struct work {
    struct work *next;
    enum kind kind;
    struct config config;
    char attributes[ATTRIBUTES * ATTRIBUTE_BYTES];
    void *function, *data, *to;
    uint64_t address;
    size_t bytes;
    int event;
    unsigned turn; /* of the event: how often it has been recorded, this time included */
    _Alignas(64) char parameters[PARAMETERS];
};

static struct stream {
    void *handle;
    struct work *first, **last;
} stream[STREAMS];
static int streams;

static struct event {
    void *handle;
    unsigned asked, done; /* how often it was recorded: submitted, and happened */
} event[EVENTS];
static int events;

/* ---- What lies behind -------------------------------------------------------------------------------------------- */

static void *behind(const char *name)
{
    static void *library;
    const char *path = getenv("LD_LIBRARY_PATH");
    Dl_info self;
    char file[4096];
    if (!dladdr((void *)(uintptr_t)&behind, &self))
        return NULL;
    while (!library && path && *path) {
        const size_t length = strcspn(path, ":");
        snprintf(file, sizeof file, "%.*s/libcuda.so.1", (int)length, path);
        char *mine = realpath(self.dli_fname, NULL), *other = realpath(file, NULL);
        if (mine && other && strcmp(mine, other) != 0)
            library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
        free(mine);
        free(other);
        path += length + (path[length] == ':');
    }
    void *entry = library ? dlsym(library, name) : NULL;
    if (!entry) {
        fprintf(stderr, "streams: no libcuda.so.1 behind this one has %s\n", name);
        abort();
    }
    return entry;
}

/* name(arguments), with which the one behind is called. */
#define FORWARD(name, arguments, values)                                                                               \
    int name arguments;                                                                                                \
    int name arguments                                                                                                 \
    {                                                                                                                  \
        static int(*next) arguments;                                                                                   \
        if (!next)                                                                                                     \
            *(void **)&next = behind(#name);                                                                           \
        return next values;                                                                                            \
    }
FORWARD(cuInit, (unsigned a), (a))
FORWARD(cuGetExportTable, (const void **a, const void *b), (a, b)) /* NVRTC asks for one, and goes on without */
FORWARD(cuDriverGetVersion, (int *a), (a))
FORWARD(cuDeviceGetCount, (int *a), (a))
FORWARD(cuDeviceGetName, (char *a, int b, int c), (a, b, c))
FORWARD(cuDeviceGetPCIBusId, (char *a, int b, int c), (a, b, c))
FORWARD(cuDeviceGetAttribute, (int *a, int b, int c), (a, b, c))
FORWARD(cuDevicePrimaryCtxRetain, (void **a, int b), (a, b))
FORWARD(cuCtxSetCurrent, (void *a), (a))
FORWARD(cuCtxGetDevice, (int *a), (a))
FORWARD(cuCtxGetStreamPriorityRange, (int *a, int *b), (a, b))
FORWARD(cuModuleLoadData, (void **a, const void *b), (a, b))
FORWARD(cuModuleUnload, (void *a), (a))
FORWARD(cuModuleGetFunction, (void **a, void *b, const char *c), (a, b, c))
FORWARD(cuFuncSetAttribute, (void *a, int b, int c), (a, b, c))
FORWARD(cuOccupancyMaxActiveClusters, (int *a, void *b, const void *c), (a, b, c))
FORWARD(cuTensorMapEncodeTiled,
        (void *a, int b, uint32_t c, void *d, const uint64_t *e, const uint64_t *f, const uint32_t *g,
         const uint32_t *h, int i, int j, int k, int l),
        (a, b, c, d, e, f, g, h, i, j, k, l))
FORWARD(cuMemAlloc_v2, (uint64_t * a, size_t b), (a, b))
FORWARD(cuMemFree_v2, (uint64_t a), (a))
FORWARD(cuMemcpyHtoD_v2, (uint64_t a, const void *b, size_t c), (a, b, c))
FORWARD(cuMemcpyDtoH_v2, (void *a, uint64_t b, size_t c), (a, b, c))
FORWARD(cuMemsetD16_v2, (uint64_t a, unsigned short b, size_t c), (a, b, c))
FORWARD(cuEventElapsedTime, (float *a, void *b, void *c), (a, b, c))
FORWARD(cuStreamEndCapture, (void *a, void **b), (a, b))
FORWARD(cuGraphInstantiateWithFlags, (void **a, void *b, unsigned long long c), (a, b, c))
FORWARD(cuGraphLaunch, (void *a, void *b), (a, b))
FORWARD(cuGraphExecDestroy, (void *a), (a))
FORWARD(cuGraphDestroy, (void *a), (a))

/* ---- Work happens ------------------------------------------------------------------------------------------------ */

static FILE *log_file;

static void note(char letter)
{
    const char *name = getenv("STREAMS_LOG");
    char path[4096];
    if (name && !log_file) {
        snprintf(path, sizeof path, "%s.%d", name, (int)getpid());
        log_file = fopen(path, "w");
    }
    if (log_file) {
        fputc(letter, log_file);
        fflush(log_file);
    }
}

static int happen(struct stream *s, struct work *w)
{
    static int (*launch)(const void *config, void *function, void **arguments, void **extra);
    static int (*copy_down)(void *to, uint64_t from, size_t bytes),
        (*copy_up)(uint64_t to, const void *from, size_t bytes);
    static int (*record)(void *event, void *stream);
    void *arguments[1] = {w->parameters};
    if (!launch) {
        *(void **)&launch = behind("cuLaunchKernelEx");
        *(void **)&copy_down = behind("cuMemcpyDtoH_v2");
        *(void **)&copy_up = behind("cuMemcpyHtoD_v2");
        *(void **)&record = behind("cuEventRecord");
    }
    switch (w->kind) {
    case KERNEL:
        note('k');
        w->config.attributes = w->attributes;
        return launch(&w->config, w->function, arguments, NULL);
    case HOST:
        note('h');
        ((void (*)(void *))(uintptr_t)w->function)(w->data);
        return 0;
    case DOWN:
        return copy_down(w->to, w->address, w->bytes);
    case UP:
        return copy_up(w->address, w->data, w->bytes);
    case RECORD:
        event[w->event].done = w->turn;
        return record(event[w->event].handle, s->handle);
    default:
        return 0;
    }
}

static bool may_go_on(const struct stream *s)
{
    const struct work *w = s->first;
    return w && (w->kind != WAIT || event[w->event].done >= w->turn);
}

/* Streams go on until there is nothing left in this one; NULL: in any. */
static int wait_for(const struct stream *until)
{
    const char *order = getenv("STREAMS_ORDER");
    const bool last = order && strcmp(order, "last") == 0;
    int result = 0;
    while (!result) {
        struct stream *next = NULL;
        bool left = until ? until->first != NULL : false;
        for (int i = 0; i < streams; i++) {
            left |= !until && stream[i].first;
            if (may_go_on(&stream[i]) && (last || !next))
                next = &stream[i];
        }
        if (!left)
            break;
        if (!next)
            return fprintf(stderr, "streams: all of them wait\n"), INVALID;
        struct work *w = next->first;
        next->first = w->next;
        if (!next->first)
            next->last = &next->first;
        result = happen(next, w);
        free(w);
    }
    if (log_file)
        note('\n');
    return result;
}

/* ---- Work is submitted ------------------------------------------------------------------------------------------- */

static struct stream *stream_of(void *handle)
{
    for (int i = 0; i < streams; i++)
        if (stream[i].handle == handle)
            return &stream[i];
    return NULL;
}

static int event_of(void *handle)
{
    for (int i = 0; i < events; i++)
        if (event[i].handle == handle)
            return i;
    return -1;
}

static struct work *submit(void *handle, enum kind kind)
{
    struct stream *s = stream_of(handle);
    struct work *w = s ? aligned_alloc(64, (sizeof *w + 63) / 64 * 64) : NULL;
    if (!w)
        return NULL;
    memset(w, 0, sizeof *w);
    w->kind = kind;
    *s->last = w;
    s->last = &w->next;
    return w;
}

int cuStreamCreateWithPriority(void **made, unsigned flags, int priority);
int cuStreamCreateWithPriority(void **made, unsigned flags, int priority)
{
    static int (*next)(void **made, unsigned flags, int priority);
    if (!next)
        *(void **)&next = behind("cuStreamCreateWithPriority");
    if (streams == STREAMS || next(made, flags, priority))
        return INVALID;
    stream[streams].handle = *made;
    stream[streams].last = &stream[streams].first;
    streams++;
    return 0;
}

int cuEventCreate(void **made, unsigned flags);
int cuEventCreate(void **made, unsigned flags)
{
    static int (*next)(void **made, unsigned flags);
    if (!next)
        *(void **)&next = behind("cuEventCreate");
    if (events == EVENTS || next(made, flags))
        return INVALID;
    event[events++].handle = *made;
    return 0;
}

int cuLaunchKernelEx(const struct config *config, void *function, void **arguments, void **extra);
int cuLaunchKernelEx(const struct config *config, void *function, void **arguments, void **extra)
{
    static int (*parameter)(void *function, size_t index, size_t *offset, size_t *bytes);
    size_t offset = 0, bytes = 0;
    if (!parameter)
        *(void **)&parameter = behind("cuFuncGetParamInfo");
    if (extra || config->attribute_count > ATTRIBUTES || parameter(function, 0, &offset, &bytes) || bytes > PARAMETERS)
        return INVALID;
    struct work *w = submit(config->stream, KERNEL);
    if (!w)
        return OUT_OF_MEMORY;
    w->config = *config;
    w->function = function;
    memcpy(w->parameters, arguments[0], bytes);
    if (config->attribute_count)
        memcpy(w->attributes, config->attributes, config->attribute_count * (size_t)ATTRIBUTE_BYTES);
    return 0;
}

int cuLaunchHostFunc(void *handle, void (*function)(void *), void *data);
int cuLaunchHostFunc(void *handle, void (*function)(void *), void *data)
{
    struct work *w = submit(handle, HOST);
    if (!w)
        return OUT_OF_MEMORY;
    w->function = (void *)(uintptr_t)function;
    w->data = data;
    return 0;
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *handle);
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *handle)
{
    struct work *w = submit(handle, DOWN);
    if (!w)
        return OUT_OF_MEMORY;
    w->to = to;
    w->address = from;
    w->bytes = bytes;
    return 0;
}

int cuMemcpyHtoDAsync_v2(uint64_t to, void *from, size_t bytes, void *handle);
int cuMemcpyHtoDAsync_v2(uint64_t to, void *from, size_t bytes, void *handle)
{
    struct work *w = submit(handle, UP);
    if (!w)
        return OUT_OF_MEMORY;
    w->address = to;
    w->data = from;
    w->bytes = bytes;
    return 0;
}

int cuEventRecord(void *recorded, void *handle);
int cuEventRecord(void *recorded, void *handle)
{
    const int e = event_of(recorded);
    struct work *w = e < 0 ? NULL : submit(handle, RECORD);
    if (!w)
        return INVALID;
    w->event = e;
    w->turn = ++event[e].asked;
    return 0;
}

/* Waits for the last time that it was recorded; for one that never was, not at all. */
int cuStreamWaitEvent(void *handle, void *recorded, unsigned flags);
int cuStreamWaitEvent(void *handle, void *recorded, unsigned flags)
{
    const int e = event_of(recorded);
    struct work *w = e < 0 || flags ? NULL : submit(handle, WAIT);
    if (!w)
        return INVALID;
    w->event = e;
    w->turn = event[e].asked;
    return 0;
}

int cuStreamSynchronize(void *handle);
int cuStreamSynchronize(void *handle)
{
    const struct stream *s = stream_of(handle);
    return s ? wait_for(s) : INVALID;
}

int cuCtxSynchronize(void);
int cuCtxSynchronize(void)
{
    return wait_for(NULL);
}

int cuStreamBeginCapture_v2(void *handle, int mode);
int cuStreamBeginCapture_v2(void *handle, int mode)
{
    (void)handle, (void)mode;
    return NOT_SUPPORTED;
}
