/* The driver of fake_cuda.h. */
#include "fake_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The driver. Handles are small allocations, device memory is host memory. */

enum { FAILURE = 999 };

static int make(void **object)
{
    if (fake_fails(FAKE_DRIVER))
        return FAILURE;
    *object = malloc(1);
    fake.objects_live++;
    return 0;
}

static int drop(void *object)
{
    bool failing = fake_fails(FAKE_DRIVER);

    free(object);
    fake.objects_live--;
    return failing ? FAILURE : 0;
}

static int plain(void)
{
    return fake_fails(FAKE_DRIVER) ? FAILURE : 0;
}

static void *context_object;

static int driver_init(unsigned flags)
{
    (void)flags;
    return plain();
}

static int driver_version(int *version)
{
    *version = 13000;
    return plain();
}

static int driver_error_name(int result, const char **text)
{
    *text = result == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_UNKNOWN";
    return 0;
}

static int driver_error_string(int result, const char **text)
{
    *text = result == 2 ? "out of memory" : "unknown error";
    return 0;
}

static int driver_device_count(int *count)
{
    *count = fake.gpus;
    return plain();
}

static int driver_device_get(int *device, int ordinal)
{
    *device = ordinal;
    return plain();
}

static int driver_device_name(char *name, int bytes, int device)
{
    (void)device;
    snprintf(name, (size_t)bytes, "Fake GPU");
    return plain();
}

static int driver_device_attribute(int *value, int attribute, int device)
{
    (void)device;
    *value = attribute == TW_CUDA_MAJOR ? 9 : attribute == TW_CUDA_MINOR ? 0 : attribute == TW_CUDA_SM_COUNT ? 132 :
             attribute == TW_CUDA_SHARED_OPTIN ? 232448 : 1;
    return plain();
}

static int driver_device_memory(size_t *bytes, int device)
{
    (void)device;
    *bytes = (size_t)1 << 30;
    return plain();
}

static int driver_primary_retain(void **context, int device)
{
    int result = make(&context_object);

    (void)device;
    *context = context_object;
    return result;
}

static int driver_primary_release(int device)
{
    (void)device;
    return drop(context_object);
}

static int driver_context_set(void *context)
{
    (void)context;
    return plain();
}

static int driver_context_get(void **context)
{
    *context = context_object;
    return plain();
}

static int driver_context_device(int *device)
{
    *device = 0;
    return plain();
}

static int driver_context_synchronize(void)
{
    return plain();
}

static int driver_memory_alloc(uint64_t *address, size_t bytes)
{
    void *memory;

    if (bytes > (size_t)1 << 30)
        return TW_CUDA_OUT_OF_MEMORY;
    if (fake_fails(FAKE_DRIVER))
        return FAILURE;
    memory = malloc(bytes);
    *address = (uint64_t)(uintptr_t)memory;
    fake.objects_live++;
    return 0;
}

static int driver_memory_free(uint64_t address)
{
    return drop((void *)(uintptr_t)address);
}

static int driver_memory_info(size_t *free_bytes, size_t *total_bytes)
{
    *free_bytes = *total_bytes = (size_t)1 << 30;
    return plain();
}

static int driver_copy_to_device(uint64_t to, const void *from, size_t bytes)
{
    memcpy((void *)(uintptr_t)to, from, bytes);
    return plain();
}

static int driver_copy_from_device(void *to, uint64_t from, size_t bytes)
{
    memcpy(to, (void *)(uintptr_t)from, bytes);
    return plain();
}

static int driver_copy_on_device(uint64_t to, uint64_t from, size_t bytes)
{
    memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes);
    return plain();
}

static int driver_fill_8(uint64_t to, unsigned char value, size_t count)
{
    memset((void *)(uintptr_t)to, value, count);
    return plain();
}

static int driver_fill_32(uint64_t to, unsigned value, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        memcpy((char *)(uintptr_t)to + 4 * i, &value, 4);
    return plain();
}

static int driver_fill_8_async(uint64_t to, unsigned char value, size_t count, void *stream)
{
    (void)stream;
    return driver_fill_8(to, value, count);
}

static int driver_module_load(void **module, const void *image)
{
    (void)image;
    return make(module);
}

static int driver_module_load_ex(void **module, const void *image, unsigned count, int *options, void **values)
{
    (void)image, (void)count, (void)options, (void)values;
    return make(module);
}

static int driver_module_unload(void *module)
{
    return drop(module);
}

static int driver_module_function(void **function, void *module, const char *name)
{
    (void)module;
    *function = &fake;
    return strcmp(name, "kern") ? 500 : plain();
}

static int driver_host_alloc(void **memory, size_t bytes, unsigned flags)
{
    uint64_t address = 0;
    int result = driver_memory_alloc(&address, bytes);

    (void)flags;
    *memory = (void *)(uintptr_t)address;
    return result;
}

static int driver_host_free(void *memory)
{
    return driver_memory_free((uint64_t)(uintptr_t)memory);
}

static int driver_module_global(uint64_t *address, size_t *bytes, void *module, const char *name)
{
    (void)address, (void)bytes, (void)module, (void)name;
    return 500;
}

static int driver_function_get(int *value, int attribute, void *function)
{
    (void)function;
    *value = attribute == TW_CUDA_FUNCTION_MAX_THREADS ? 256 : attribute == TW_CUDA_FUNCTION_REGISTERS ? 40 :
             attribute == TW_CUDA_FUNCTION_STATIC_SHARED ? 512 : 0;
    return plain();
}

static int driver_function_set(void *function, int attribute, int value)
{
    (void)function;
    if (attribute == TW_CUDA_FUNCTION_DYNAMIC_SHARED)
        fake.dynamic_shared = value;
    return plain();
}

static int driver_launch(const struct tw_launch_config *config, void *function, void **arguments, void **extra)
{
    (void)function, (void)extra;
    fake.launches++;
    fake.config = *config;
    memcpy(fake.attributes, config->attributes, config->attribute_count * sizeof *fake.attributes);
    fake.params_bytes = 0;
    if (arguments) { /* the made-up kernel's parameter */
        fake.params_bytes = FAKE_PARAMETER_BYTES;
        memcpy(fake.params, arguments[0], fake.params_bytes);
    }
    return fake_fails(FAKE_DRIVER) ? FAILURE : fake.driver_result;
}

static int driver_max_active_clusters(int *clusters, void *function, const struct tw_launch_config *config)
{
    (void)function, (void)config;
    *clusters = 66;
    return plain();
}

static int driver_max_active_blocks(int *blocks, void *function, int threads, size_t shared_bytes)
{
    (void)function, (void)threads, (void)shared_bytes;
    *blocks = 1;
    return plain();
}

static int driver_stream_create(void **stream, unsigned flags)
{
    (void)flags;
    return make(stream);
}

static int driver_stream_destroy(void *stream)
{
    return drop(stream);
}

static int driver_stream_synchronize(void *stream)
{
    (void)stream;
    return plain();
}

static int driver_capture_begin(void *stream, int mode)
{
    (void)stream, (void)mode;
    return plain();
}

static int driver_capture_end(void *stream, void **graph)
{
    (void)stream;
    return make(graph);
}

static int driver_graph_instantiate(void **executable, void *graph, uint64_t flags)
{
    (void)graph, (void)flags;
    return make(executable);
}

static int driver_graph_launch(void *executable, void *stream)
{
    (void)executable, (void)stream;
    return plain();
}

static int driver_graph_executable_destroy(void *executable)
{
    return drop(executable);
}

static int driver_graph_destroy(void *graph)
{
    return drop(graph);
}

static int driver_event_create(void **event, unsigned flags)
{
    (void)flags;
    return make(event);
}

static int driver_event_record(void *event, void *stream)
{
    (void)event, (void)stream;
    return plain();
}

static int driver_event_synchronize(void *event)
{
    (void)event;
    return plain();
}

static int driver_event_elapsed(float *milliseconds, void *from, void *to)
{
    (void)from, (void)to;
    *milliseconds = 0.5f;
    return plain();
}

static int driver_event_destroy(void *event)
{
    return drop(event);
}

/* Encoding tensor maps and updating graphs is optional, and so are addresses of boards; this driver has none of it. */
#define driver_launch_plain NULL
#define driver_copy_on_device_async NULL
#define driver_device_pci NULL
#define driver_graph_nodes NULL
#define driver_graph_set_kernel NULL
#define driver_encode_tiled NULL
#define driver_encode_im2col NULL
#define driver_encode_im2col_wide NULL
#define driver_replace_address NULL

const struct tw_driver fake_driver = {
#define DRIVER_CALL(field, symbol, required, arguments) .field = driver_##field,
#include "driver_calls.def"
#undef DRIVER_CALL
};
