#include "unit/time/clocked.h"

#include <stdlib.h>
#include <string.h>

enum { NODES = 8192, NVML_FAILURE = 999, DRIVER_FAILURE = 999 };

struct clocked_state clocked;

struct graph {
    struct clocked_work node[NODES];
    int count;
};

static struct graph recorded;
static struct tw_loader before;

static const double heating = 0.05, cooling = 0.02, launch_delay = 10e-6, call_time = 1e-6;

/* ---- the stream -------------------------------------------------------------------------------------------------- */

static bool is_hot(void)
{
    return clocked.heat > 0.5 && !clocked.cold;
}

/* What was enqueued is drawn as it runs. */
static void draw(double from, double to, double watts)
{
    double *last = clocked.spans ? clocked.drawn[clocked.spans - 1] : NULL;
    if (last && !(last[1] < from) && !(last[2] < watts) && !(last[2] > watts)) {
        last[1] = to;
    } else if (clocked.spans < CLOCKED_SPANS) {
        double *span = clocked.drawn[clocked.spans++];
        span[0] = from, span[1] = to, span[2] = watts;
    }
}

static double joules_so_far(void)
{
    double joules = 0.0;
    for (int i = 0; i < clocked.spans; i++) {
        const double *span = clocked.drawn[i], to = span[1] < clocked.host ? span[1] : clocked.host;
        joules += to > span[0] ? (to - span[0]) * span[2] : 0.0;
    }
    return joules;
}

static void work(const struct clocked_work *w)
{
    double seconds = !is_hot() ? w->cool : clocked.busy < clocked.swing ? 1.2 * w->hot : w->hot;
    clocked.busy += seconds;
    clocked.random = clocked.random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    seconds *= 1.0 + clocked.jitter * ((double)(clocked.random >> 32) / 0x1p31 - 1.0);
    clocked.heat += seconds / heating;
    clocked.heat = clocked.heat > 1.0 ? 1.0 : clocked.heat;
    draw(clocked.gpu, clocked.gpu + seconds, w->watts);
    clocked.gpu += seconds;
}

/* The stream has nothing to do until the host's call comes to it. */
static void wait_for_host(double delay)
{
    double idle = clocked.host + delay - clocked.gpu;
    clocked.host += call_time;
    if (idle <= 0)
        return;
    clocked.heat -= idle / cooling;
    clocked.heat = clocked.heat < 0.0 ? 0.0 : clocked.heat;
    clocked.busy = clocked.heat > 0.0 ? clocked.busy : 0.0;
    clocked.gpu += idle;
}

void clocked_launch(const struct clocked_work *w)
{
    if (clocked.capturing && recorded.count < NODES) {
        recorded.node[recorded.count++] = *w;
        return;
    }
    wait_for_host(launch_delay);
    work(w);
}

static bool fails(void)
{
    return ++clocked.calls == clocked.fail_at;
}

static int make(void **object, size_t bytes)
{
    if (fails())
        return DRIVER_FAILURE;
    *object = calloc(1, bytes);
    clocked.live++;
    return 0;
}

static int drop(void *object)
{
    free(object);
    clocked.live--;
    return 0;
}

static int capture_begin(void *stream, int mode)
{
    (void)stream, (void)mode;
    if (fails())
        return DRIVER_FAILURE;
    clocked.capturing = true;
    recorded.count = 0;
    return 0;
}

static int capture_end(void *stream, void **graph)
{
    (void)stream;
    clocked.capturing = false;
    int result = make(graph, sizeof recorded);
    if (!result)
        memcpy(*graph, &recorded, sizeof recorded);
    return result;
}

static int graph_instantiate(void **executable, void *graph, uint64_t flags)
{
    (void)flags;
    int result = make(executable, sizeof recorded);
    if (!result)
        memcpy(*executable, graph, sizeof recorded);
    return result;
}

static int graph_launch(void *executable, void *stream)
{
    const struct graph *graph = executable;
    (void)stream;
    if (fails())
        return DRIVER_FAILURE;
    wait_for_host(launch_delay);
    for (int i = 0; i < graph->count; i++)
        work(&graph->node[i]);
    if (clocked.launches < CLOCKED_LAUNCHES)
        clocked.of[clocked.launches] = graph->count ? graph->node[0].cool : 0.0;
    clocked.launches++;
    return 0;
}

static int event_create(void **event, unsigned flags)
{
    (void)flags;
    return make(event, sizeof(double));
}

static int event_record(void *event, void *stream)
{
    (void)stream;
    if (fails())
        return DRIVER_FAILURE;
    wait_for_host(0);
    memcpy(event, &clocked.gpu, sizeof clocked.gpu);
    return 0;
}

static int event_synchronize(void *event)
{
    double at;
    if (fails())
        return DRIVER_FAILURE;
    memcpy(&at, event, sizeof at);
    clocked.host = at > clocked.host ? at : clocked.host;
    return 0;
}

static int event_elapsed(float *milliseconds, void *from, void *to)
{
    double at[2];
    memcpy(&at[0], from, sizeof at[0]);
    memcpy(&at[1], to, sizeof at[1]);
    if (fails())
        return DRIVER_FAILURE;
    *milliseconds = (float)(1e3 * (at[1] - at[0]));
    return 0;
}

static int stream_synchronize(void *stream)
{
    (void)stream;
    clocked.host = clocked.gpu > clocked.host ? clocked.gpu : clocked.host;
    return 0;
}

/* ---- the host's time --------------------------------------------------------------------------------------------- */

static double now(void *self)
{
    (void)self;
    return clocked.host += call_time;
}

static void sleep_for(void *self, double seconds)
{
    (void)self;
    clocked.host += seconds;
    clocked.slept += seconds;
}

/* ---- NVML -------------------------------------------------------------------------------------------------------- */

static int board, nvml_is_open;

static int nvml_init(void)
{
    nvml_is_open++;
    return clocked.no_nvml ? NVML_FAILURE : 0;
}

static int nvml_close(void)
{
    nvml_is_open--;
    return 0;
}

static int nvml_by_pci(const char *address, void **device)
{
    (void)address;
    *device = &board;
    return 0;
}

static int nvml_by_number(unsigned number, void **device)
{
    *device = &board;
    return number == 0 ? 0 : NVML_FAILURE;
}

static int nvml_energy(void *device, unsigned long long *millijoules)
{
    clocked.host += clocked.asking;
    *millijoules = (unsigned long long)(1e3 * joules_so_far());
    return device == &board ? 0 : NVML_FAILURE;
}

static int nvml_power(void *device, unsigned *milliwatts)
{
    *milliwatts = 700000;
    return device == &board ? 0 : NVML_FAILURE;
}

static int nvml_clock(void *device, int domain, unsigned *mhz)
{
    *mhz = is_hot() ? 1400 : 1980;
    return device == &board && domain == 1 ? 0 : NVML_FAILURE;
}

static int nvml_temperature(void *device, int sensor, unsigned *celsius)
{
    *celsius = 55;
    return device == &board && sensor == 0 ? 0 : NVML_FAILURE;
}

static int nvml_reasons(void *device, unsigned long long *bits)
{
    *bits = is_hot() ? 4 : 0; /* SwPowerCap */
    return device == &board ? 0 : NVML_FAILURE;
}

static void *open_library(void *self, const char *name, int global, const char **why)
{
    (void)self;
    return strcmp(name, "libnvidia-ml.so.1") == 0 ? &board : before.open(before.self, name, global, why);
}

static void *find_symbol(void *self, void *library, const char *name)
{
    void *address = NULL;
    (void)self;
    if (library != &board)
        return before.symbol(before.self, library, name);
#define NVML_CALL(field, symbol, arguments)                                                                            \
    if (strcmp(name, symbol) == 0) {                                                                                   \
        int(*call) arguments = nvml_##field;                                                                           \
        memcpy(&address, &call, sizeof address);                                                                       \
    }
#include "time/nvml_calls.def"
#undef NVML_CALL
    return address;
}

static void close_library(void *self, void *library)
{
    (void)self;
    if (library != &board)
        before.close(before.self, library);
}

void clocked_begin(struct tw_driver *driver, struct tw_runtime *rt)
{
    memset(&clocked, 0, sizeof clocked);
    driver->capture_begin = capture_begin;
    driver->capture_end = capture_end;
    driver->graph_instantiate = graph_instantiate;
    driver->graph_launch = graph_launch;
    driver->graph_destroy = drop;
    driver->graph_executable_destroy = drop;
    driver->event_create = event_create;
    driver->event_record = event_record;
    driver->event_synchronize = event_synchronize;
    driver->event_elapsed = event_elapsed;
    driver->event_destroy = drop;
    driver->stream_synchronize = stream_synchronize;
    before = rt->loader;
    rt->loader = (struct tw_loader){NULL, open_library, find_symbol, before.path, close_library};
    rt->process.now = now;
    rt->process.sleep = sleep_for;
}
