#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "architecture.h"
#include "device.h"
#include "driver.h"

/* Without asking, a block may have this much dynamic shared memory (CUDA C programming guide, "Shared Memory" of
   compute capabilities 8.x to 12.x). */
enum { PLAIN_SHARED = 48 * 1024 };

/* CUstreamCaptureMode: calls of this thread only */
enum { CAPTURE_THREAD_LOCAL = 1 };

struct cuda_device {
    struct tw_device base;
    int device;    /* CUdevice */
    void *context; /* the primary one */
};

struct cuda_kernel {
    struct tw_kernel base;
    void *module;
    void *function;
    uint32_t shared_granted; /* dynamic, by function_set */
    bool nonportable;        /* clusters over 8 blocks were asked for */
};

static int cuda_enter(struct tw_device *device, struct tw_error *error)
{
    struct cuda_device *cuda = (struct cuda_device *)device;

    return tw_driver_check(device->driver, device->driver->context_set(cuda->context), error,
                           "%s: making its context current", device->name);
}

/* Memory. */

static int cuda_alloc(struct tw_device *device, size_t bytes, uint64_t *address, struct tw_error *error)
{
    int status = cuda_enter(device, error);

    if (status != TW_OK)
        return status;
    return tw_driver_check(device->driver, device->driver->memory_alloc(address, bytes), error,
                           "allocating %zu bytes on %s", bytes, device->name);
}

static void cuda_free(struct tw_device *device, uint64_t address)
{
    cuda_enter(device, NULL); /* releasing is tried in any case, here and below */
    device->driver->memory_free(address);
}

static int cuda_host_alloc(struct tw_device *device, size_t bytes, uint64_t *address, void **memory,
                           struct tw_error *error)
{
    enum { PORTABLE = 1, DEVICE_MAP = 2 }; /* CU_MEMHOSTALLOC_*; with unified addresses both sides use the same one */
    int status = cuda_enter(device, error);

    if (status == TW_OK)
        status = tw_driver_check(device->driver, device->driver->host_alloc(memory, bytes, PORTABLE | DEVICE_MAP),
                                 error, "allocating %zu bytes of the host's memory for %s", bytes, device->name);
    if (status != TW_OK) {
        *memory = NULL;
        return status;
    }
    memset(*memory, 0, bytes);
    *address = (uint64_t)(uintptr_t)*memory;
    return TW_OK;
}

static void cuda_host_free(struct tw_device *device, uint64_t address, void *memory)
{
    (void)address;
    cuda_enter(device, NULL);
    device->driver->host_free(memory);
}

static int cuda_upload(struct tw_device *device, uint64_t to, const void *from, size_t bytes, struct tw_error *error)
{
    int status = cuda_enter(device, error);

    if (status != TW_OK)
        return status;
    return tw_driver_check(device->driver, device->driver->copy_to_device(to, from, bytes), error,
                           "copying %zu bytes to %s", bytes, device->name);
}

static int cuda_download(struct tw_device *device, void *to, uint64_t from, size_t bytes, struct tw_error *error)
{
    int status = cuda_enter(device, error);

    if (status != TW_OK)
        return status;
    return tw_driver_check(device->driver, device->driver->copy_from_device(to, from, bytes), error,
                           "copying %zu bytes from %s", bytes, device->name);
}

static int cuda_fill(struct tw_device *device, uint64_t to, uint32_t pattern, size_t bytes, struct tw_error *error)
{
    unsigned char tail[4] = {(unsigned char)pattern, (unsigned char)(pattern >> 8), (unsigned char)(pattern >> 16),
                             (unsigned char)(pattern >> 24)};
    const struct tw_driver *driver = device->driver;
    int status = cuda_enter(device, error);

    if (status == TW_OK && bytes >= 4)
        status = tw_driver_check(driver, driver->fill_32(to, pattern, bytes / 4), error, "filling %zu bytes on %s",
                                 bytes, device->name);
    if (status == TW_OK && bytes % 4)
        status = tw_driver_check(driver, driver->copy_to_device(to + bytes / 4 * 4, tail, bytes % 4), error,
                                 "filling the last of %zu bytes on %s", bytes, device->name);
    return status;
}

/* Kernels. */

static int read_function_attributes(struct cuda_kernel *kernel, struct tw_error *error)
{
    const struct {
        uint32_t *out;
        int attribute;
    } rows[] = {
        {&kernel->base.registers, TW_CUDA_FUNCTION_REGISTERS},
        {&kernel->base.static_shared, TW_CUDA_FUNCTION_STATIC_SHARED},
        {&kernel->base.local_bytes, TW_CUDA_FUNCTION_LOCAL_BYTES},
        {&kernel->base.max_threads, TW_CUDA_FUNCTION_MAX_THREADS},
    };
    const struct tw_driver *driver = kernel->base.device->driver;
    int value, status;
    size_t i;

    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        status = tw_driver_check(driver, driver->function_get(&value, rows[i].attribute, kernel->function), error,
                                 "reading attribute %d of kernel %s", rows[i].attribute, kernel->base.entry);
        if (status != TW_OK)
            return status;
        *rows[i].out = (uint32_t)value;
    }
    return TW_OK;
}

static void cuda_unload(struct tw_device *device, struct tw_kernel *base)
{
    struct cuda_kernel *kernel = (struct cuda_kernel *)base;

    if (kernel->module) {
        cuda_enter(device, NULL);
        device->driver->module_unload(kernel->module);
    }
    tw_free(device->rt, kernel);
}

static int cuda_symbol(struct tw_device *device, struct tw_kernel *base, const char *name, uint64_t *address,
                       size_t *bytes, struct tw_error *error)
{
    struct cuda_kernel *kernel = (struct cuda_kernel *)base;
    int status = cuda_enter(device, error), result;

    if (status != TW_OK)
        return status;
    result = device->driver->module_global(address, bytes, kernel->module, name);
    if (result == TW_CUDA_NOT_FOUND)
        return tw_fail(error, TW_ERROR_NOT_FOUND, "kernel %s has no variable '%s'", base->entry, name);
    return tw_driver_check(device->driver, result, error, "looking up '%s' in the module of kernel %s", name,
                           base->entry);
}

static int cuda_load(struct tw_device *device, const struct tw_load *load, struct tw_kernel **out,
                     struct tw_error *error)
{
    enum { ERROR_LOG = 5, ERROR_LOG_BYTES = 6 }; /* CUjit_option */
    const struct tw_driver *driver = device->driver;
    const char *name = load->name ? load->name : load->entry;
    int options[2] = {ERROR_LOG, ERROR_LOG_BYTES};
    unsigned char *bytes = NULL;
    struct cuda_kernel *kernel;
    const void *image = load->cubin ? load->cubin : load->ptx;
    char log[512] = "";
    void *values[2] = {log, NULL};
    size_t count, log_bytes = sizeof log - 1;
    int status, result;

    kernel = tw_alloc_zeroed(device->rt, sizeof *kernel);
    if (!kernel)
        return tw_fail(error, TW_ERROR_MEMORY, "no memory to load kernel %s", name);
    kernel->base.device = device;
    snprintf(kernel->base.entry, sizeof kernel->base.entry, "%s", load->entry);
    status = cuda_enter(device, error);
    if (status == TW_OK && !image) {
        status = tw_read_file(device->rt, load->path, 0, &bytes, &count, error);
        image = bytes;
    }
    if (status != TW_OK)
        goto fail;
    memcpy(&values[1], &log_bytes, sizeof log_bytes); /* a number that travels as a pointer */
    result = driver->module_load_ex(&kernel->module, image, 2, options, values);
    if (result)
        kernel->module = NULL;
    status = tw_driver_check(driver, result, error, "loading kernel %s on %s (%s)%s%s", name, device->name,
                             device->arch, log[0] ? ": " : "", log);
    if (result == TW_CUDA_NO_BINARY_FOR_GPU)
        status = TW_ERROR_UNSUPPORTED;
    if (status != TW_OK)
        goto fail;
    status = tw_driver_check(driver, driver->module_function(&kernel->function, kernel->module, load->entry), error,
                             "looking up '%s' in the module of kernel %s", load->entry, name);
    if (status != TW_OK)
        goto fail;
    status = read_function_attributes(kernel, error);
    if (status != TW_OK)
        goto fail;
    tw_free(device->rt, bytes);
    *out = &kernel->base;
    return TW_OK;

fail:
    tw_free(device->rt, bytes);
    cuda_unload(device, &kernel->base);
    return status;
}

/* Launching. */

static int check_launch(const struct tw_device *device, const struct tw_launch *launch, struct tw_error *error)
{
    const struct tw_kernel *kernel = launch->kernel;
    uint64_t threads = 1, shared = (uint64_t)launch->shared_bytes + kernel->static_shared;
    int d;

    for (d = 0; d < 3; d++) {
        threads *= launch->block[d] ? launch->block[d] : 1;
        if (threads > kernel->max_threads)
            return tw_fail(error, TW_ERROR_INVALID, "kernel %s: %u x %u x %u threads; a block of it may have %u",
                           kernel->entry, launch->block[0], launch->block[1], launch->block[2], kernel->max_threads);
        if (launch->cluster[d] > 1 && launch->grid[d] % launch->cluster[d])
            return tw_fail(error, TW_ERROR_INVALID, "kernel %s: the grid's %u blocks along %c are no multiple of the "
                           "cluster's %u", kernel->entry, launch->grid[d], "xyz"[d], launch->cluster[d]);
    }
    if (shared > device->shared_optin)
        return tw_fail(error, TW_ERROR_UNSUPPORTED, "kernel %s: %llu bytes of shared memory; a block on %s may have "
                       "%zu", kernel->entry, (unsigned long long)shared, device->name, device->shared_optin);
    return TW_OK;
}

static int cuda_launch(struct tw_device *device, const struct tw_launch *launch, struct tw_error *error)
{
    const struct tw_driver *driver = device->driver;
    struct cuda_kernel *kernel = (struct cuda_kernel *)launch->kernel;
    struct tw_launch_attribute attributes[3];
    struct tw_launch_config config;
    uint64_t blocks = 1;
    unsigned n = 0;
    void *params[TW_LAUNCH_OFFSETS] = {NULL};
    const char *each;
    int status, d;

    if (launch->offset_count > TW_LAUNCH_OFFSETS)
        return tw_fail(error, TW_ERROR_INVALID, "kernel %s: %zu parameters, %d are possible", kernel->base.entry,
                       launch->offset_count, TW_LAUNCH_OFFSETS);
    status = check_launch(device, launch, error);
    if (status == TW_OK)
        status = cuda_enter(device, error);
    if (status != TW_OK)
        return status;
    memset(attributes, 0, sizeof attributes);
    memset(&config, 0, sizeof config);
    for (d = 0; d < 3; d++) {
        config.grid[d] = launch->grid[d];
        config.block[d] = launch->block[d] ? launch->block[d] : 1;
        attributes[0].value.cluster[d] = launch->cluster[d] ? launch->cluster[d] : 1;
        blocks *= attributes[0].value.cluster[d];
    }
    if (blocks > 1)
        attributes[n++].id = TW_CUDA_LAUNCH_CLUSTER;
    else
        memset(attributes, 0, sizeof attributes);
    if (launch->flags & TW_LAUNCH_PROGRAMMATIC) {
        attributes[n].id = TW_CUDA_LAUNCH_PROGRAMMATIC;
        attributes[n++].value.flag = 1;
    }
    if (launch->flags & TW_LAUNCH_COOPERATIVE) {
        attributes[n].id = TW_CUDA_LAUNCH_COOPERATIVE;
        attributes[n++].value.flag = 1;
    }
    if (launch->shared_bytes > PLAIN_SHARED && launch->shared_bytes > kernel->shared_granted) {
        status = tw_driver_check(driver, driver->function_set(kernel->function, TW_CUDA_FUNCTION_DYNAMIC_SHARED,
                                                              (int)launch->shared_bytes), error,
                                 "kernel %s: asking for %u bytes of shared memory", kernel->base.entry,
                                 launch->shared_bytes);
        if (status != TW_OK)
            return status;
        kernel->shared_granted = launch->shared_bytes;
    }
    if (blocks > TW_ARCH_PORTABLE_CLUSTER && !kernel->nonportable) {
        status = tw_driver_check(driver, driver->function_set(kernel->function, TW_CUDA_FUNCTION_NONPORTABLE_CLUSTER,
                                                              1), error,
                                 "kernel %s: asking for a cluster of %llu blocks", kernel->base.entry,
                                 (unsigned long long)blocks);
        if (status != TW_OK)
            return status;
        kernel->nonportable = true;
    }
    config.shared_bytes = launch->shared_bytes;
    config.stream = device->stream;
    config.attributes = attributes;
    config.attribute_count = n;
    /* One struct is the kernel's only parameter. A packed buffer (a packed buffer) would have to begin
       where the parameter does, which for a 64-byte aligned struct is not the start of the parameter space: byte 0x30
       of it on sm_90 (EIATTR_KPARAM_INFO). The driver knows the place; its type for the pointer is not const. */
    memcpy(params, &launch->params, sizeof launch->params);
    for (size_t i = 0; i < launch->offset_count; i++) {
        each = (const char *)launch->params + launch->offsets[i];
        memcpy(&params[i], &each, sizeof each);
    }
    int result = driver->launch(&config, kernel->function, launch->params_bytes ? params : NULL, NULL);
    return tw_driver_check(driver, result, error,
                           "launching kernel %s: grid %u x %u x %u, block %u x %u x %u, cluster of %llu, %u bytes of "
                           "shared memory", kernel->base.entry, config.grid[0], config.grid[1], config.grid[2],
                           config.block[0], config.block[1], config.block[2], (unsigned long long)blocks,
                           config.shared_bytes);
}

static int cuda_synchronize(struct tw_device *device, struct tw_error *error)
{
    int status = cuda_enter(device, error);

    if (status != TW_OK)
        return status;
    status = tw_driver_check(device->driver, device->driver->stream_synchronize(device->stream), error,
                             "waiting for %s", device->name);
    return status == TW_ERROR_DRIVER ? TW_ERROR_LAUNCH : status;
}

/* Timing. */

/* Capture the launches into a graph that can be replayed. */
static int capture(struct tw_device *device, const struct tw_launch *launches, size_t count, void **executable,
                   struct tw_error *error)
{
    const struct tw_driver *driver = device->driver;
    void *graph = NULL;
    int status, ended;
    size_t i;

    *executable = NULL;
    status = tw_driver_check(driver, driver->capture_begin(device->stream, CAPTURE_THREAD_LOCAL), error,
                             "beginning the capture of %zu launches", count);
    if (status != TW_OK)
        return status;
    for (i = 0; i < count && status == TW_OK; i++)
        status = tw_device_launch(device, &launches[i], error);
    ended = driver->capture_end(device->stream, &graph);
    if (ended)
        graph = NULL;
    if (status == TW_OK)
        status = tw_driver_check(driver, ended, error, "ending the capture of %zu launches", count);
    if (status == TW_OK) {
        status = tw_driver_check(driver, driver->graph_instantiate(executable, graph, 0), error,
                                 "making a graph of %zu launches", count);
        if (status != TW_OK)
            *executable = NULL;
    }
    if (graph)
        driver->graph_destroy(graph);
    return status;
}

/* All replays are queued at once, each between two events, so that the device never waits for the host. */
static int replay(struct tw_device *device, void *executable, void **events, size_t warmups, size_t samples,
                  double *seconds, struct tw_error *error)
{
    const struct tw_driver *driver = device->driver;
    int status = TW_OK;
    float milliseconds = 0;
    size_t i;

    for (i = 0; i < warmups + samples && status == TW_OK; i++) {
        if (i == warmups)
            status = tw_driver_check(driver, driver->event_record(events[0], device->stream), error,
                                     "recording an event");
        if (status == TW_OK)
            status = tw_driver_check(driver, driver->graph_launch(executable, device->stream), error,
                                     "replaying the launches");
        if (status == TW_OK && i >= warmups)
            status = tw_driver_check(driver, driver->event_record(events[i - warmups + 1], device->stream), error,
                                     "recording an event");
    }
    if (status == TW_OK)
        status = cuda_synchronize(device, error);
    for (i = 0; i < samples && status == TW_OK; i++) {
        status = tw_driver_check(driver, driver->event_elapsed(&milliseconds, events[i], events[i + 1]), error,
                                 "reading the time of replay %zu", i);
        seconds[i] = 1e-3 * (double)milliseconds;
    }
    return status;
}

static int cuda_time(struct tw_device *device, const struct tw_launch *launches, size_t count, size_t warmups,
                     size_t samples, double *seconds, struct tw_error *error)
{
    const struct tw_driver *driver = device->driver;
    void *executable = NULL, **events;
    size_t i, made = 0;
    int status;

    events = tw_alloc_zeroed(device->rt, (samples + 1) * sizeof *events);
    if (!events)
        return tw_fail(error, TW_ERROR_MEMORY, "no memory to time %zu samples", samples);
    status = cuda_enter(device, error);
    /* Once without the graph: the shared memory is asked for, and a fault shows before the capture. */
    for (i = 0; i < count && status == TW_OK; i++)
        status = tw_device_launch(device, &launches[i], error);
    if (status == TW_OK)
        status = cuda_synchronize(device, error);
    if (status == TW_OK)
        status = capture(device, launches, count, &executable, error);
    while (status == TW_OK && made <= samples) {
        status = tw_driver_check(driver, driver->event_create(&events[made], 0), error, "making an event");
        if (status == TW_OK)
            made++;
    }
    if (status == TW_OK)
        status = replay(device, executable, events, warmups, samples, seconds, error);
    while (made)
        driver->event_destroy(events[--made]);
    if (executable)
        driver->graph_executable_destroy(executable);
    tw_free(device->rt, events);
    return status;
}

/* Opening. */

static void cuda_close(struct tw_device *device)
{
    struct cuda_device *cuda = (struct cuda_device *)device;

    if (cuda->context) {
        cuda_enter(device, NULL);
        if (device->stream)
            device->driver->stream_destroy(device->stream);
        device->driver->context_set(NULL);
        device->driver->primary_release(cuda->device);
    }
    tw_free(device->rt, cuda);
}

static const struct tw_device_ops cuda_ops = {
    .kind = "cuda",
    .close = cuda_close,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .host_alloc = cuda_host_alloc,
    .host_free = cuda_host_free,
    .symbol = cuda_symbol,
    .upload = cuda_upload,
    .download = cuda_download,
    .fill = cuda_fill,
    .load = cuda_load,
    .unload = cuda_unload,
    .launch = cuda_launch,
    .synchronize = cuda_synchronize,
    .time = cuda_time,
};

static int read_properties(struct cuda_device *cuda, struct tw_error *error)
{
    const struct tw_driver *driver = cuda->base.driver;
    int shared = 0, l2 = 0, status;
    const struct {
        int *out;
        int attribute;
    } rows[] = {
        {&cuda->base.major, TW_CUDA_MAJOR},
        {&cuda->base.minor, TW_CUDA_MINOR},
        {&cuda->base.sm_count, TW_CUDA_SM_COUNT},
        {&cuda->base.clock_khz, TW_CUDA_CLOCK_KHZ},
        {&shared, TW_CUDA_SHARED_OPTIN},
        {&l2, TW_CUDA_L2_BYTES},
    };
    size_t i;

    status = tw_driver_check(driver, driver->device_name(cuda->base.name, (int)sizeof cuda->base.name, cuda->device),
                             error, "reading the name of GPU %d", cuda->base.ordinal);
    if (status == TW_OK)
        status = tw_driver_check(driver, driver->device_memory(&cuda->base.memory_bytes, cuda->device), error,
                                 "reading the memory size of GPU %d", cuda->base.ordinal);
    if (status == TW_OK)
        status = tw_driver_check(driver, driver->version(&cuda->base.driver_version), error,
                                 "reading the driver's version");
    for (i = 0; i < sizeof rows / sizeof *rows && status == TW_OK; i++)
        status = tw_driver_check(driver, driver->device_attribute(rows[i].out, rows[i].attribute, cuda->device), error,
                                 "reading attribute %d of GPU %d", rows[i].attribute, cuda->base.ordinal);
    cuda->base.shared_optin = (size_t)shared;
    cuda->base.l2_bytes = (size_t)l2;
    tw_arch_name(cuda->base.major, cuda->base.minor, cuda->base.arch);
    return status;
}

int tw_device_open_cuda(struct tw_runtime *rt, int ordinal, struct tw_device **device, struct tw_error *error)
{
    const struct tw_driver *driver;
    struct cuda_device *cuda;
    int count = 0, result, status;

    *device = NULL;
    status = tw_driver_open(rt, error);
    if (status != TW_OK)
        return status;
    driver = rt->driver;
    status = tw_driver_check(driver, driver->device_count(&count), error, "counting GPUs");
    if (status != TW_OK)
        return status;
    if (ordinal < 0 || ordinal >= count)
        return tw_fail(error, TW_ERROR_NO_DEVICE, count ? "there is no GPU %d; the driver lists %d" :
                       "there is no GPU %d: the driver lists %d", ordinal, count);
    cuda = tw_alloc_zeroed(rt, sizeof *cuda);
    if (!cuda)
        return tw_fail(error, TW_ERROR_MEMORY, "no memory to open GPU %d", ordinal);
    cuda->base.ops = &cuda_ops;
    cuda->base.rt = rt;
    cuda->base.driver = driver;
    cuda->base.ordinal = ordinal;
    cuda->base.enter = cuda_enter;
    status = tw_driver_check(driver, driver->device_get(&cuda->device, ordinal), error, "opening GPU %d", ordinal);
    if (status == TW_OK)
        status = read_properties(cuda, error);
    if (status != TW_OK)
        goto fail;
    result = driver->primary_retain(&cuda->context, cuda->device);
    if (result)
        cuda->context = NULL;
    status = tw_driver_check(driver, result, error, "making a context on %s", cuda->base.name);
    if (status == TW_OK)
        status = cuda_enter(&cuda->base, error);
    if (status != TW_OK)
        goto fail;
    /* No CU_STREAM_NON_BLOCKING: launches keep their order with the synchronous copies on the legacy default stream. */
    result = driver->stream_create(&cuda->base.stream, 0);
    if (result)
        cuda->base.stream = NULL;
    status = tw_driver_check(driver, result, error, "making a stream on %s", cuda->base.name);
    if (status != TW_OK)
        goto fail;
    *device = &cuda->base;
    return TW_OK;

fail:
    cuda_close(&cuda->base);
    return status;
}
