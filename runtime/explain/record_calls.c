// What CUPTI shows of the driver's calls, for the recorder (record/recorder.h).
#include <string.h>

#include "device.h"
#include "driver.h"
#include "explain.h"
#include "record/recorder.h"

// One call as CUPTI shows it.
struct shown {
    const struct cupti_callback_data *data;
    int entered; // it begins; else it has ended, and succeeded unless it is a launch
    int result;
};

// The launch under way of this thread.
static _Thread_local struct recording *under_way;

static void take_file(const struct shown *s, const struct cupti_load *p)
{
    if (!s->entered && p->module && p->from)
        recorder_module_file(*p->module, p->from);
}

static void take_image(const struct shown *s, const struct cupti_load *p)
{
    if (!s->entered && p->module && p->from)
        recorder_module(*p->module, p->from);
}

static void take_unload(const struct shown *s, const struct cupti_unload *p)
{
    if (!s->entered)
        recorder_module_gone(p->module);
}

static void take_function(const struct shown *s, const struct cupti_get *p)
{
    if (!s->entered && p->to)
        recorder_function(*p->to, p->from, p->name, 0);
}

static void take_kernel(const struct shown *s, const struct cupti_get *p)
{
    if (!s->entered && p->to)
        recorder_function(*p->to, p->from, p->name, 1);
}

static void take_module(const struct shown *s, const struct cupti_get *p)
{
    if (!s->entered && p->to)
        recorder_module_same(*p->to, p->from);
}

static void take_function_of(const struct shown *s, const struct cupti_get *p)
{
    if (!s->entered && p->to)
        recorder_function_same(*p->to, p->from);
}

static void begin_or_end(const struct shown *s, const struct recorder_launch *launch)
{
    if (!s->entered)
        recorder_after(under_way, s->result);
    under_way = s->entered ? recorder_before(launch) : NULL;
}

static struct recorder_launch launch_of(const struct shown *s, const struct cupti_launch *p, void **extra)
{
    struct recorder_launch launch = {.function = p->function,
                                     .name = s->data->symbol_name,
                                     .shared_bytes = p->shared_bytes,
                                     .stream = p->stream,
                                     .arguments = p->arguments,
                                     .extra = extra};
    memcpy(launch.grid, p->grid, sizeof launch.grid);
    memcpy(launch.block, p->block, sizeof launch.block);
    return launch;
}

static void take_launch(const struct shown *s, const struct cupti_launch *p)
{
    struct recorder_launch launch = launch_of(s, p, p->extra);
    begin_or_end(s, &launch);
}

static void take_cooperative(const struct shown *s, const struct cupti_launch *p)
{
    struct recorder_launch launch = launch_of(s, p, NULL);
    launch.flags = TW_LAUNCH_COOPERATIVE;
    begin_or_end(s, &launch);
}

static void take_launch_ex(const struct shown *s, const struct cupti_launch_ex *p)
{
    const struct tw_launch_config *c = p->config;
    if (!c)
        return;
    struct recorder_launch launch = {.function = p->function,
                                     .name = s->data->symbol_name,
                                     .shared_bytes = c->shared_bytes,
                                     .stream = c->stream,
                                     .arguments = p->arguments,
                                     .extra = p->extra,
                                     .attributes = c->attributes,
                                     .attribute_count = c->attributes ? c->attribute_count : 0};
    memcpy(launch.grid, c->grid, sizeof launch.grid);
    memcpy(launch.block, c->block, sizeof launch.block);
    for (uint32_t i = 0; i < launch.attribute_count; i++) {
        const struct tw_launch_attribute *a = &c->attributes[i];
        if (a->id == TW_CUDA_LAUNCH_CLUSTER)
            memcpy(launch.cluster, a->value.cluster, sizeof launch.cluster);
        else if (a->id == TW_CUDA_LAUNCH_COOPERATIVE)
            launch.flags |= a->value.flag ? TW_LAUNCH_COOPERATIVE : 0u;
        else if (a->id == TW_CUDA_LAUNCH_PROGRAMMATIC)
            launch.flags |= a->value.flag ? TW_LAUNCH_PROGRAMMATIC : 0u;
    }
    begin_or_end(s, &launch);
}

void explain_record(uint32_t cbid, const struct cupti_callback_data *data)
{
    struct shown s = {data, data->site == CUPTI_SITE_ENTER, 0};
    struct explain_call call;
    // At entry nobody knows a result.
    if (!s.entered && data->result)
        s.result = *(const int *)data->result;
    if (!s.entered && s.result && !under_way)
        return;
    switch (cbid) {
#define RECORDED(name, id, type, take)                                                                                 \
    case id:                                                                                                           \
        take(&s, (const type *)data->parameters);                                                                      \
        return;
#include "recorded.def"
    }
    if (!s.entered && explain_read(cbid, data->parameters, &call) && !call.missing && call.map)
        recorder_map((const void *)(uintptr_t)call.map, &call.call);
}
