#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L // open_memstream
#endif
#include "cmd/bench/bench_lab.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/files.h"
#include "common/json.h"

enum { TRACED = 40, TRIES = 64 };

/* One launch: the host's clock around the call, and events around the kernel. */
struct launched {
    double began, ended;  /* ns of the host's clock */
    void *before, *after; /* events */
    double from, to;      /* ns after the origin's event */
};

/* An event, and where it lies on the host's clock: at `at`, give or take `uncertainty` nanoseconds. */
struct origin {
    void *event;
    double at, uncertainty;
};

static const char measured[] =
    "host track: the host's clock (CLOCK_MONOTONIC) around each call. device track: from the event before a kernel to "
    "the event after it, both of the same stream, so the events' own cost is inside, and events tick in about half a "
    "microsecond; where the stream had run dry, the kernel is drawn from the beginning of its launch call, and what "
    "passed until the device began is inside. Not measured: a kernel's own first and last instruction. The tracks are "
    "joined by an event bracketed by the host's clock: the device track as a whole may lie clock_uncertainty_ns "
    "earlier or later.";

/* The device passes an event after the call that records it began and before the call that waits for it returns: its
 * place is the middle of the tightest such bracket. The stream is dry before. */
static int find_origin(const struct lab *lab, struct origin *best)
{
    const struct tw_driver *d = lab->driver;
    void *spare = NULL;
    int result = d->event_create(&best->event, 0);
    if (!result)
        result = d->event_create(&spare, 0);
    for (int i = 0; i < TRIES && !result; i++) {
        double from = lab_now();
        result = d->event_record(spare, lab->stream);
        if (!result)
            result = d->event_synchronize(spare);
        double half = (lab_now() - from) / 2;
        if (!result && (i == 0 || half < best->uncertainty)) {
            void *kept = best->event;
            *best = (struct origin){.event = spare, .at = from + half, .uncertainty = half};
            spare = kept;
        }
    }
    if (spare)
        d->event_destroy(spare);
    return result;
}

/* A CUresult. */
static int record(const struct lab *lab, const struct origin *origin, struct launched *launch)
{
    const struct tw_driver *d = lab->driver;
    int result = 0;
    for (int i = 0; i < TRACED && !result; i++) {
        struct launched *l = &launch[i];
        result = d->event_record(l->before, lab->stream);
        l->began = lab_now();
        if (!result)
            result = lab->emitted->launch(lab->stream, 1);
        l->ended = lab_now();
        if (!result)
            result = d->event_record(l->after, lab->stream);
    }
    if (!result)
        result = d->stream_synchronize(lab->stream);
    for (int i = 0; i < TRACED && !result; i++) {
        float from = 0, to = 0; /* milliseconds */
        result = d->event_elapsed(&from, origin->event, launch[i].before);
        if (!result)
            result = d->event_elapsed(&to, origin->event, launch[i].after);
        launch[i].from = 1e6 * (double)from;
        launch[i].to = 1e6 * (double)to;
    }
    return result;
}

/* Time 0 is the origin's event; "ts" and "dur" are microseconds. */
static void print(FILE *out, const struct bench_host *host, const struct origin *origin, const struct launched *launch)
{
    fputs("{\"displayTimeUnit\": \"ns\",\n \"otherData\": {\"gpu_model\": ", out);
    json_text(out, host->device->name);
    fprintf(out, ", \"driver\": \"%d.%d\", \"clock_uncertainty_ns\": %.0f,\n  \"clock\": ",
            host->device->driver_version / 1000, host->device->driver_version % 1000 / 10, origin->uncertainty);
    json_text(out, measured);
    fputs("},\n \"traceEvents\": [\n"
          " {\"ph\": \"M\", \"pid\": 1, \"tid\": 1, \"name\": \"thread_name\", \"args\": {\"name\": \"host\"}},\n"
          " {\"ph\": \"M\", \"pid\": 1, \"tid\": 2, \"name\": \"thread_name\", \"args\": {\"name\": \"device\"}}",
          out);
    for (int i = 0; i < TRACED; i++) {
        const struct launched *l = &launch[i];
        double call = l->began - origin->at;
        int dry = l->from < call; /* the event passed on an idle device, before there was a kernel */
        double from = dry ? call : l->from, to = l->to > from ? l->to : from;
        fprintf(
            out,
            ",\n {\"ph\": \"X\", \"pid\": 1, \"tid\": 1, \"name\": \"case_001_launch\", \"ts\": %.3f, \"dur\": %.3f, "
            "\"args\": {\"measured\": \"the host's clock around the call\"}}"
            ",\n {\"ph\": \"X\", \"pid\": 1, \"tid\": 2, \"name\": \"case_001\", \"ts\": %.3f, \"dur\": %.3f, "
            "\"args\": {\"measured\": \"%s; the events' own cost is inside\", \"event_to_event_ns\": %.0f, "
            "\"clock_uncertainty_ns\": %.0f}}",
            call / 1e3, (l->ended - l->began) / 1e3, from / 1e3, (to - from) / 1e3,
            dry ? "from the beginning of the launch call to the event after" : "event to event", l->to - l->from,
            origin->uncertainty);
    }
    fputs("\n]}\n", out);
}

static int write_trace(const struct bench_host *host, const struct origin *origin, const struct launched *launch,
                       const char *path, struct tw_error *error)
{
    struct file_set files = {.rt = host->device->rt};
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (out)
        print(out, host, origin, launch);
    int failed = !out || ferror(out), status = TW_ERROR_MEMORY;
    if ((out && fclose(out) != 0) || failed)
        tw_fail(error, TW_ERROR_MEMORY, "out of memory");
    else
        status = files_add(&files, NULL, path, text, length, false, error);
    if (status == TW_OK)
        status = files_commit(&files, error);
    files_free(&files);
    free(text);
    return status;
}

int bench_host_trace(struct bench_host *host, const char *path)
{
    struct origin origin = {0};
    struct launched launch[TRACED] = {0};
    struct lab *lab = lab_open(host, &host->error);
    if (!lab)
        return 3;
    const struct tw_driver *d = lab->driver;
    int result = lab->emitted->launch(lab->stream, 10); /* warms up */
    for (int i = 0; i < TRACED && !result; i++) {
        result = d->event_create(&launch[i].before, 0);
        if (!result)
            result = d->event_create(&launch[i].after, 0);
    }
    if (!result)
        result = d->stream_synchronize(lab->stream);
    if (!result)
        result = find_origin(lab, &origin);
    if (!result)
        result = record(lab, &origin, launch);
    int status = result ? tw_fail(&host->error, TW_ERROR_DRIVER, "a call of the driver failed")
                        : write_trace(host, &origin, launch, path, &host->error);
    for (int i = 0; i < TRACED; i++) {
        if (launch[i].before)
            d->event_destroy(launch[i].before);
        if (launch[i].after)
            d->event_destroy(launch[i].after);
    }
    if (origin.event)
        d->event_destroy(origin.event);
    lab_close(lab);
    return status == TW_OK ? 0 : 3;
}
