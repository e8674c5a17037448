/* Streams and events: the driver's. */
#include "cudart.h"

int cudaStreamCreate(struct cu_stream **stream)
{
    return cudaStreamCreateWithFlags(stream, 0);
}

int cudaStreamAttachMemAsync(struct cu_stream *stream, void *address, size_t bytes, unsigned flags)
{
    BEGIN;
    return rt_last(cuStreamAttachMemAsync(stream, (uint64_t)(uintptr_t)address, bytes, flags));
}

int cudaEventCreate(struct cu_event **event)
{
    return cudaEventCreateWithFlags(event, 0);
}

int cudaStreamCreateWithFlags(struct cu_stream **stream, unsigned flags)
{
    BEGIN;
    return rt_last(cuStreamCreate(stream, flags));
}

int cudaStreamCreateWithPriority(struct cu_stream **stream, unsigned flags, int priority)
{
    BEGIN;
    return rt_last(cuStreamCreateWithPriority(stream, flags, priority));
}

int cudaStreamDestroy(struct cu_stream *stream)
{
    BEGIN;
    return rt_last(cuStreamDestroy_v2(stream));
}

int cudaStreamSynchronize(struct cu_stream *stream)
{
    BEGIN;
    return rt_last(cuStreamSynchronize(stream));
}

int cudaStreamQuery(struct cu_stream *stream)
{
    BEGIN;
    return rt_last(cuStreamQuery(stream));
}

int cudaStreamWaitEvent(struct cu_stream *stream, struct cu_event *event, unsigned flags)
{
    BEGIN;
    return rt_last(cuStreamWaitEvent(stream, event, flags));
}

int cudaStreamAddCallback(struct cu_stream *stream, cu_stream_callback callback, void *data, unsigned flags)
{
    BEGIN;
    return rt_last(cuStreamAddCallback(stream, callback, data, flags));
}

int cudaStreamGetPriority(struct cu_stream *stream, int *priority)
{
    BEGIN;
    return rt_last(cuStreamGetPriority(stream, priority));
}

int cudaStreamGetFlags(struct cu_stream *stream, unsigned *flags)
{
    BEGIN;
    return rt_last(cuStreamGetFlags(stream, flags));
}

int cudaStreamGetId(struct cu_stream *stream, uint64_t *number)
{
    BEGIN;
    return rt_last(cuStreamGetId(stream, number));
}

int cudaStreamSetAttribute(struct cu_stream *stream, int attribute, const void *value)
{
    BEGIN;
    return rt_last(cuStreamSetAttribute(stream, attribute, value));
}

int cudaStreamBeginCapture(struct cu_stream *stream, int mode)
{
    BEGIN;
    return rt_last(cuStreamBeginCapture_v2(stream, mode));
}

int cudaStreamEndCapture(struct cu_stream *stream, struct cu_graph **graph)
{
    BEGIN;
    return rt_last(cuStreamEndCapture(stream, graph));
}

int cudaStreamIsCapturing(struct cu_stream *stream, int *status)
{
    BEGIN;
    return rt_last(cuStreamIsCapturing(stream, status));
}

int cudaStreamGetCaptureInfo(struct cu_stream *stream, int *status, uint64_t *number, struct cu_graph **graph,
                             struct cu_node *const **needs, const void **edges, size_t *count)
{
    BEGIN;
    return rt_last(cuStreamGetCaptureInfo_v3(stream, status, number, graph, needs, edges, count));
}

int cudaThreadExchangeStreamCaptureMode(int *mode)
{
    BEGIN;
    return rt_last(cuThreadExchangeStreamCaptureMode(mode));
}

int cudaEventCreateWithFlags(struct cu_event **event, unsigned flags)
{
    BEGIN;
    return rt_last(cuEventCreate(event, flags));
}

int cudaEventDestroy(struct cu_event *event)
{
    BEGIN;
    return rt_last(cuEventDestroy_v2(event));
}

int cudaEventRecord(struct cu_event *event, struct cu_stream *stream)
{
    BEGIN;
    return rt_last(cuEventRecord(event, stream));
}

int cudaEventRecordWithFlags(struct cu_event *event, struct cu_stream *stream, unsigned flags)
{
    BEGIN;
    return rt_last(cuEventRecordWithFlags(event, stream, flags));
}

int cudaEventQuery(struct cu_event *event)
{
    BEGIN;
    return rt_last(cuEventQuery(event));
}

int cudaEventSynchronize(struct cu_event *event)
{
    BEGIN;
    return rt_last(cuEventSynchronize(event));
}

int cudaEventElapsedTime(float *milliseconds, struct cu_event *from, struct cu_event *to)
{
    BEGIN;
    return rt_last(cuEventElapsedTime_v2(milliseconds, from, to));
}
