/* Streams and events. What is submitted has happened when the call returns; a stream that captures passes it to a
   graph. */
#include <stdlib.h>

#include "internal.h"

struct cu_stream *cu_stream_of(struct cu_stream *handle)
{
    uintptr_t number = (uintptr_t)handle; /* CU_STREAM_LEGACY is 1, CU_STREAM_PER_THREAD 2 */
    return number <= 1 ? &cu.legacy : number == 2 ? &cu.per_thread : handle;
}

/* ---- Streams of a capture ---------------------------------------------------------------------------------------- */

/* Streams one after another: those that the program made, and the two that are always there. NULL: no more. */
static struct cu_stream *next_stream(const struct cu_stream *stream)
{
    if (stream == &cu.legacy)
        return &cu.per_thread;
    return stream == &cu.per_thread ? cu.streams : stream->next;
}

/* The graph of a capture; NULL: it has ended. */
static struct cu_graph *graph_of(uint64_t capture)
{
    for (const struct cu_stream *s = &cu.legacy; s; s = next_stream(s))
        if (s->capturing == capture)
            return s->capture;
    return NULL;
}

/* All streams that take part in a capture run again what they are given. */
static void end(uint64_t capture)
{
    for (struct cu_stream *s = &cu.legacy; s; s = next_stream(s))
        if (s->capturing == capture) {
            s->capture = NULL;
            s->capturing = 0;
            s->captures = s->made_graph = 0;
        }
}

void cu_capture_end_into(const struct cu_graph *graph)
{
    for (struct cu_stream *s = &cu.legacy; s; s = next_stream(s))
        if (s->capture && s->capture == graph)
            end(s->capturing);
}

int cu_submit(struct cu_stream *handle, const struct cu_work *work)
{
    struct cu_stream *stream = cu_stream_of(handle);
    struct cu_graph *graph = stream->capture;
    if (!graph)
        return cu_run(work);
    struct cu_node *node = cu_graph_add(graph, &graph->last, graph->last != NULL, work);
    if (!node)
        return CUDA_ERROR_OUT_OF_MEMORY;
    graph->last = node;
    return CUDA_SUCCESS;
}

/* ---- Streams ----------------------------------------------------------------------------------------------------- */

int cuStreamCreateWithPriority(struct cu_stream **stream, unsigned flags, int priority)
{
    ENTER(cuStreamCreateWithPriority);
    struct cu_stream *made = calloc(1, sizeof *made);
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    made->flags = flags;
    made->priority = priority;
    made->number = ++cu.numbers + 2;
    made->next = cu.streams;
    cu.streams = made;
    *stream = made;
    return CUDA_SUCCESS;
}

int cuStreamCreate(struct cu_stream **stream, unsigned flags)
{
    return cuStreamCreateWithPriority(stream, flags, 0);
}

int cuStreamDestroy_v2(struct cu_stream *stream)
{
    ENTER(cuStreamDestroy_v2);
    for (struct cu_stream **at = &cu.streams; *at; at = &(*at)->next) {
        if (*at != stream)
            continue;
        struct cu_graph *unfinished = stream->captures && stream->made_graph ? stream->capture : NULL;
        if (stream->captures)
            end(stream->capturing);
        cu_graph_free(unfinished);
        *at = stream->next;
        free(stream);
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_HANDLE;
}

/* To wait for what is captured is an error. */
static int waited_for(struct cu_stream *stream)
{
    return cu_stream_of(stream)->capture ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

int cuStreamSynchronize(struct cu_stream *stream)
{
    ENTER(cuStreamSynchronize);
    return waited_for(stream);
}

int cuStreamQuery(struct cu_stream *stream)
{
    ENTER(cuStreamQuery);
    return waited_for(stream);
}

/* Behind an event that was recorded in a capture the stream takes part in it. */
int cuStreamWaitEvent(struct cu_stream *stream, struct cu_event *event, unsigned flags)
{
    ENTER(cuStreamWaitEvent);
    struct cu_stream *s = cu_stream_of(stream);
    (void)flags;
    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!event->capturing)
        return CUDA_SUCCESS;
    struct cu_graph *graph = graph_of(event->capturing);
    if (!graph)
        return CUDA_ERROR_CAPTURED_EVENT;
    if (s == &cu.legacy)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (s->capture && s->capturing != event->capturing)
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    s->capture = graph;
    s->capturing = event->capturing;
    return CUDA_SUCCESS;
}

int cuStreamAddCallback(struct cu_stream *stream, cu_stream_callback callback, void *data, unsigned flags)
{
    ENTER(cuStreamAddCallback);
    (void)flags;
    if (cu_stream_of(stream)->capture)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    struct cu_call *held = cu_let_go();
    callback(stream, CUDA_SUCCESS, data);
    cu_go_on(held);
    return CUDA_SUCCESS;
}

int cuLaunchHostFunc(struct cu_stream *stream, cu_host_function function, void *data)
{
    ENTER(cuLaunchHostFunc);
    const struct cu_work work = {.kind = CU_HOST, .of = {.host = {function, data}}};
    return function ? cu_submit(stream, &work) : CUDA_ERROR_INVALID_VALUE;
}

int cuStreamGetPriority(struct cu_stream *stream, int *priority)
{
    ENTER(cuStreamGetPriority);
    *priority = cu_stream_of(stream)->priority;
    return CUDA_SUCCESS;
}

int cuStreamGetFlags(struct cu_stream *stream, unsigned *flags)
{
    ENTER(cuStreamGetFlags);
    *flags = cu_stream_of(stream)->flags;
    return CUDA_SUCCESS;
}

int cuStreamGetId(struct cu_stream *stream, uint64_t *number)
{
    ENTER(cuStreamGetId);
    const struct cu_stream *s = cu_stream_of(stream);
    *number = s == &cu.legacy ? 1 : s == &cu.per_thread ? 2 : s->number;
    return CUDA_SUCCESS;
}

int cuStreamGetCtx(struct cu_stream *stream, struct cu_context **context)
{
    ENTER(cuStreamGetCtx);
    (void)stream;
    *context = cu_context_current();
    return CUDA_SUCCESS;
}

int cuStreamGetDevice(struct cu_stream *stream, int *device)
{
    ENTER(cuStreamGetDevice);
    (void)stream;
    *device = 0;
    return CUDA_SUCCESS;
}

/* Attributes of streams (windows of L2, priorities) say how fast, not what. */
int cuStreamSetAttribute(struct cu_stream *stream, int attribute, const void *value)
{
    ENTER(cuStreamSetAttribute);
    (void)stream, (void)attribute, (void)value;
    return CUDA_SUCCESS;
}

int cuStreamCopyAttributes(struct cu_stream *to, struct cu_stream *from)
{
    ENTER(cuStreamCopyAttributes);
    (void)to, (void)from;
    return CUDA_SUCCESS;
}

/* ---- Capture ----------------------------------------------------------------------------------------------------- */

/* graph: NULL for a new one. Modes say which calls of the program's threads are refused meanwhile: none are here. */
static int begin(struct cu_stream *stream, struct cu_graph *graph)
{
    if (stream == &cu.legacy)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (stream->capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (!(stream->capture = graph ? graph : cu_graph_new()))
        return CUDA_ERROR_OUT_OF_MEMORY;
    stream->capturing = ++cu.numbers;
    stream->captures = 1;
    stream->made_graph = !graph;
    return CUDA_SUCCESS;
}

int cuStreamBeginCapture_v2(struct cu_stream *stream, int mode)
{
    ENTER(cuStreamBeginCapture_v2);
    (void)mode;
    return begin(cu_stream_of(stream), NULL);
}

int cuStreamBeginCaptureToGraph(struct cu_stream *stream, struct cu_graph *graph, struct cu_node *const *needs,
                                const void *edges, size_t count, int mode)
{
    ENTER(cuStreamBeginCaptureToGraph);
    (void)needs, (void)edges, (void)count, (void)mode; /* what is in the graph goes before what is captured */
    return graph ? begin(cu_stream_of(stream), graph) : CUDA_ERROR_INVALID_VALUE;
}

/* The graph is in the order of submission, which is one of those that the streams and events allow. */
int cuStreamEndCapture(struct cu_stream *stream, struct cu_graph **graph)
{
    ENTER(cuStreamEndCapture);
    struct cu_stream *s = cu_stream_of(stream);
    *graph = NULL;
    if (!s->capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (!s->captures)
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    *graph = s->capture;
    end(s->capturing);
    return CUDA_SUCCESS;
}

int cuStreamIsCapturing(struct cu_stream *stream, int *status)
{
    ENTER(cuStreamIsCapturing);
    *status = cu_stream_of(stream)->capture != NULL;
    return CUDA_SUCCESS;
}

int cuStreamGetCaptureInfo_v3(struct cu_stream *stream, int *status, uint64_t *number, struct cu_graph **graph,
                              struct cu_node *const **needs, const void **edges, size_t *count)
{
    ENTER(cuStreamGetCaptureInfo_v3);
    const struct cu_stream *s = cu_stream_of(stream);
    struct cu_graph *g = s->capture;
    *status = g != NULL;
    if (g && number)
        *number = s->capturing;
    if (g && graph)
        *graph = g;
    if (g && needs)
        *needs = &g->last;
    if (g && edges)
        *edges = NULL;
    if (g && count)
        *count = g->last != NULL;
    return CUDA_SUCCESS;
}

int cuStreamGetCaptureInfo_v2(struct cu_stream *stream, int *status, uint64_t *number, struct cu_graph **graph,
                              struct cu_node *const **needs, size_t *count)
{
    return cuStreamGetCaptureInfo_v3(stream, status, number, graph, needs, NULL, count);
}

int cuStreamGetCaptureInfo(struct cu_stream *stream, int *status, uint64_t *number)
{
    return cuStreamGetCaptureInfo_v3(stream, status, number, NULL, NULL, NULL, NULL);
}

int cuThreadExchangeStreamCaptureMode(int *mode)
{
    ENTER(cuThreadExchangeStreamCaptureMode);
    static _Thread_local int own;
    int before = own;
    own = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}

/* ---- Events: times are those of the host, for what takes time here is emulation ---------------------------------- */

enum { WITHOUT_TIME = 2 }; /* CU_EVENT_DISABLE_TIMING */

static double now(void)
{
    return cu.rt.process.now(cu.rt.process.self);
}

int cuEventCreate(struct cu_event **event, unsigned flags)
{
    ENTER(cuEventCreate);
    if (!(*event = calloc(1, sizeof **event)))
        return CUDA_ERROR_OUT_OF_MEMORY;
    (*event)->flags = flags;
    return CUDA_SUCCESS;
}

int cuEventDestroy_v2(struct cu_event *event)
{
    ENTER(cuEventDestroy_v2);
    free(event);
    return event ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

int cuEventRecordWithFlags(struct cu_event *event, struct cu_stream *stream, unsigned flags)
{
    ENTER(cuEventRecordWithFlags);
    enum { EXTERNAL = 1 }; /* CU_EVENT_RECORD_EXTERNAL: a node of the graph records it */
    const struct cu_work work = {.kind = CU_RECORD, .of = {.event = event}};
    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    if (flags & EXTERNAL)
        return cu_submit(stream, &work);
    event->capturing = cu_stream_of(stream)->capturing;
    event->recorded = 1;
    event->seconds = now();
    return CUDA_SUCCESS;
}

int cuEventRecord(struct cu_event *event, struct cu_stream *stream)
{
    return cuEventRecordWithFlags(event, stream, 0);
}

int cuEventQuery(struct cu_event *event)
{
    ENTER(cuEventQuery);
    return !event ? CUDA_ERROR_INVALID_HANDLE : event->capturing ? CUDA_ERROR_CAPTURED_EVENT : CUDA_SUCCESS;
}

int cuEventSynchronize(struct cu_event *event)
{
    return cuEventQuery(event);
}

int cuEventElapsedTime_v2(float *milliseconds, struct cu_event *from, struct cu_event *to)
{
    ENTER(cuEventElapsedTime_v2);
    if (!from || !to || !from->recorded || !to->recorded || ((from->flags | to->flags) & WITHOUT_TIME))
        return CUDA_ERROR_INVALID_HANDLE;
    *milliseconds = (float)(1000 * (to->seconds - from->seconds));
    return CUDA_SUCCESS;
}

int cuEventElapsedTime(float *milliseconds, struct cu_event *from, struct cu_event *to)
{
    return cuEventElapsedTime_v2(milliseconds, from, to);
}

static void call_host(const struct cu_host_call *host)
{
    const struct cu_host_call own = *host;
    struct cu_call *held = cu_let_go();
    own.call(own.data);
    cu_go_on(held);
}

int cu_run(const struct cu_work *work)
{
    switch (work->kind) {
    case CU_KERNEL:
        return cu_run_launch(&work->of.launch);
    case CU_COPY:
        return cu_run_copy(&work->of.copy);
    case CU_FILL:
        return cu_run_fill(&work->of.fill);
    case CU_HOST:
        call_host(&work->of.host);
        return CUDA_SUCCESS;
    case CU_CHILD:
        return cu_run_graph(work->of.child);
    case CU_RECORD:
        work->of.event->recorded = 1;
        work->of.event->seconds = now();
        return CUDA_SUCCESS;
    case CU_EMPTY:
        break;
    }
    return CUDA_SUCCESS;
}
