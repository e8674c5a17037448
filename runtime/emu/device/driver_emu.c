/* The driver's entry points over the device interface. */
#include "emu/driver_emu.h"

#include <stdio.h>
#include <string.h>

#include "driver.h"
#include "tensormap/tensormap.h"
#include "emu/exec/exec.h"

/* CUresult */
enum {
    RESULT_INVALID_VALUE = 1,
    RESULT_INVALID_CONTEXT = 201,
    RESULT_INVALID_PTX = 218,
    RESULT_NOT_SUPPORTED = 801,
    RESULT_LAUNCH_FAILED = 719
};

enum { VERSION = 13000, PARAMETER_BYTES = 32764 };

struct function {
    struct function *next;
    struct tw_kernel *kernel;
};

struct module {
    struct tw_device *device;
    char *ptx;
    size_t bytes;
    struct function *functions;
};

static _Thread_local struct tw_device *current;
static _Thread_local struct tw_error fault;
static _Thread_local int fault_status;
static _Thread_local const struct tw_shared_range *ranges;
static _Thread_local size_t range_count;

const char *emu_driver_fault(void)
{
    return fault.text;
}

int emu_driver_status(void)
{
    return fault_status;
}

void emu_driver_name_shared(const struct tw_shared_range *range, size_t count)
{
    ranges = range;
    range_count = count;
}

struct tw_kernel *emu_driver_kernel(void *function)
{
    return ((struct function *)function)->kernel;
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

/* The result of a status whose words are in `fault`. */
static int result_of(int status)
{
    if (status == TW_OK)
        return 0;
    fault_status = status;
    switch (status) {
    case TW_ERROR_MEMORY:
        return TW_CUDA_OUT_OF_MEMORY;
    case TW_ERROR_INVALID:
        return RESULT_INVALID_VALUE;
    case TW_ERROR_NOT_FOUND:
        return TW_CUDA_NOT_FOUND;
    case TW_ERROR_UNSUPPORTED:
        return RESULT_NOT_SUPPORTED;
    default:
        return RESULT_LAUNCH_FAILED;
    }
}

static int refuse(int result, const char *why)
{
    fault_status = TW_ERROR_DRIVER;
    snprintf(fault.text, sizeof fault.text, "%s", why);
    return result;
}

static int no_device(void)
{
    return refuse(RESULT_INVALID_CONTEXT, "no emulated device is current in this thread");
}

static int drv_error_name(int result, const char **text)
{
    static const struct {
        int result;
        const char *name;
    } names[] = {{0, "CUDA_SUCCESS"},
                 {RESULT_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
                 {TW_CUDA_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
                 {RESULT_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT"},
                 {TW_CUDA_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
                 {RESULT_INVALID_PTX, "CUDA_ERROR_INVALID_PTX"},
                 {TW_CUDA_NOT_FOUND, "CUDA_ERROR_NOT_FOUND"},
                 {RESULT_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED"},
                 {RESULT_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].result == result) {
            *text = names[i].name;
            return 0;
        }
    *text = NULL;
    return RESULT_INVALID_VALUE;
}

static int drv_error_string(int result, const char **text)
{
    (void)result;
    *text = fault.text;
    return 0;
}

/* ---- the device -------------------------------------------------------------------------------------------------- */

static int drv_init(unsigned flags)
{
    (void)flags;
    return 0;
}

static int drv_version(int *version)
{
    *version = VERSION;
    return 0;
}

static int drv_device_count(int *count)
{
    *count = current != NULL;
    return 0;
}

static int drv_device_get(int *device, int ordinal)
{
    *device = 0;
    return current && ordinal == 0 ? 0 : no_device();
}

static int drv_device_name(char *name, int bytes, int device)
{
    (void)device;
    if (!current)
        return no_device();
    snprintf(name, (size_t)bytes, "%s", current->name);
    return 0;
}

static int drv_device_attribute(int *value, int attribute, int device)
{
    (void)device;
    if (!current)
        return no_device();
    switch (attribute) {
    case TW_CUDA_MAJOR:
        *value = current->major;
        return 0;
    case TW_CUDA_MINOR:
        *value = current->minor;
        return 0;
    case TW_CUDA_SM_COUNT:
        *value = current->sm_count;
        return 0;
    case TW_CUDA_SHARED_OPTIN:
        *value = (int)current->shared_optin;
        return 0;
    case TW_CUDA_L2_BYTES:
        *value = (int)current->l2_bytes;
        return 0;
    case TW_CUDA_CLOCK_KHZ:
        *value = current->clock_khz;
        return 0;
    default:
        return refuse(RESULT_INVALID_VALUE, "the emulator has no such attribute of a device");
    }
}

static int drv_device_memory(size_t *bytes, int device)
{
    (void)device;
    if (!current)
        return no_device();
    *bytes = current->memory_bytes;
    return 0;
}

static int drv_context_get(void **context)
{
    *context = current;
    return 0;
}

static int drv_context_set(void *context)
{
    current = context;
    return 0;
}

static int drv_context_device(int *device)
{
    *device = 0;
    return current ? 0 : no_device();
}

static int drv_synchronize(void)
{
    return current ? 0 : no_device();
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static int drv_memory_alloc(uint64_t *address, size_t bytes)
{
    return current ? result_of(tw_device_alloc(current, bytes, address, &fault)) : no_device();
}

static int drv_memory_free(uint64_t address)
{
    if (!current)
        return no_device();
    tw_device_free(current, address);
    return 0;
}

static int drv_copy_to_device(uint64_t to, const void *from, size_t bytes)
{
    return current ? result_of(tw_device_upload(current, to, from, bytes, &fault)) : no_device();
}

static int drv_copy_from_device(void *to, uint64_t from, size_t bytes)
{
    return current ? result_of(tw_device_download(current, to, from, bytes, &fault)) : no_device();
}

static int drv_fill_32(uint64_t to, unsigned value, size_t count)
{
    return current ? result_of(tw_device_fill(current, to, value, 4 * count, &fault)) : no_device();
}

static int drv_fill_8(uint64_t to, unsigned char value, size_t count)
{
    return current ? result_of(tw_device_fill(current, to, 0x01010101u * value, count, &fault)) : no_device();
}

static int drv_fill_8_async(uint64_t to, unsigned char value, size_t count, void *stream)
{
    (void)stream;
    return drv_fill_8(to, value, count);
}

/* ---- modules ----------------------------------------------------------------------------------------------------- */

static int drv_module_load(void **module, const void *image)
{
    if (!current)
        return no_device();
    if (memcmp(image, "\177ELF", 4) == 0)
        return refuse(TW_CUDA_NO_BINARY_FOR_GPU, "the emulator executes PTX, not cubins");
    struct tw_runtime *rt = current->rt;
    struct module *made = tw_alloc_zeroed(rt, sizeof *made);
    size_t bytes = strlen(image);
    if (!made || !(made->ptx = tw_alloc(rt, bytes + 1))) {
        tw_free(rt, made);
        return refuse(TW_CUDA_OUT_OF_MEMORY, "no memory");
    }
    memcpy(made->ptx, image, bytes + 1);
    made->bytes = bytes;
    made->device = current;
    *module = made;
    return 0;
}

static int drv_module_unload(void *module)
{
    struct module *m = module;
    struct tw_device *device = m->device;
    for (struct function *f = m->functions, *next; f; f = next) {
        next = f->next;
        tw_device_unload(device, f->kernel);
        tw_free(device->rt, f);
    }
    tw_free(device->rt, m->ptx);
    tw_free(device->rt, m);
    return 0;
}

/* Each kernel of a module is loaded by itself, and has the module's variables for its own: who asks for one gets that
 * of the first that was looked up. */
static int drv_module_function(void **function, void *module, const char *name)
{
    struct module *m = module;
    const struct tw_load load = {.ptx = m->ptx, .ptx_bytes = m->bytes, .entry = name};
    for (struct function *f = m->functions; f; f = f->next)
        if (strcmp(f->kernel->entry, name) == 0) {
            *function = f;
            return 0;
        }
    struct function *made = tw_alloc_zeroed(m->device->rt, sizeof *made);
    if (!made)
        return refuse(TW_CUDA_OUT_OF_MEMORY, "no memory");
    int status = tw_device_load(m->device, &load, &made->kernel, &fault);
    if (status != TW_OK) {
        tw_free(m->device->rt, made);
        result_of(status);
        return status == TW_ERROR_NOT_FOUND ? TW_CUDA_NOT_FOUND : RESULT_INVALID_PTX;
    }
    struct function **end = &m->functions;
    while (*end)
        end = &(*end)->next;
    *end = made;
    *function = made;
    return 0;
}

static int drv_module_global(uint64_t *address, size_t *bytes, void *module, const char *name)
{
    struct module *m = module;
    if (!m->functions)
        return refuse(TW_CUDA_NOT_FOUND, "the module has no function yet, and its variables are theirs");
    return result_of(tw_device_symbol(m->device, m->functions->kernel, name, address, bytes, &fault));
}

static int drv_function_get(int *value, int attribute, void *function)
{
    const struct tw_kernel *kernel = emu_driver_kernel(function);
    switch (attribute) {
    case TW_CUDA_FUNCTION_MAX_THREADS:
        *value = (int)kernel->max_threads;
        return 0;
    case TW_CUDA_FUNCTION_STATIC_SHARED:
        *value = (int)kernel->static_shared;
        return 0;
    case TW_CUDA_FUNCTION_LOCAL_BYTES:
        *value = (int)kernel->local_bytes;
        return 0;
    case TW_CUDA_FUNCTION_REGISTERS:
        *value = (int)kernel->registers;
        return 0;
    default:
        return refuse(RESULT_INVALID_VALUE, "the emulator has no such attribute of a function");
    }
}

/* What a launch may take is checked at the launch. */
static int drv_function_set(void *function, int attribute, int value)
{
    const struct tw_kernel *kernel = emu_driver_kernel(function);
    if (attribute == TW_CUDA_FUNCTION_DYNAMIC_SHARED &&
        (value < 0 || (size_t)value + kernel->static_shared > kernel->device->shared_optin))
        return refuse(RESULT_INVALID_VALUE, "more shared memory than a block may have");
    return 0;
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

/* Lays the arguments out as the kernel's parameters are. */
static int pack(const struct emu_kernel *kernel, void **arguments, unsigned char *params, uint32_t *offsets,
                struct tw_launch *launch)
{
    const struct ptx_module *ptx = kernel->module->ptx;
    const struct ptx_function *f = ptx_find_function(ptx, kernel->kernel.entry);
    if (f->param_bytes > PARAMETER_BYTES || f->param_count > TW_LAUNCH_OFFSETS)
        return refuse(RESULT_INVALID_VALUE, "too many parameters");
    for (uint32_t i = 0; i < f->param_count; i++) {
        const struct ptx_variable *v = &ptx->variables[f->params[i].variable];
        offsets[i] = (uint32_t)v->offset;
        memcpy(params + v->offset, arguments[i], v->bytes);
    }
    launch->params = params;
    launch->params_bytes = (size_t)f->param_bytes;
    launch->offsets = f->param_count == 1 ? NULL : offsets;
    launch->offset_count = f->param_count;
    return 0;
}

static int drv_launch(const struct tw_launch_config *config, void *function, void **arguments, void **extra)
{
    _Alignas(128) unsigned char params[PARAMETER_BYTES + 4];
    uint32_t offsets[TW_LAUNCH_OFFSETS];
    struct tw_kernel *kernel = emu_driver_kernel(function);
    struct tw_launch launch = {.kernel = kernel, .shared_bytes = config->shared_bytes, .ranges = ranges,
                               .range_count = range_count};
    if (extra)
        return refuse(RESULT_NOT_SUPPORTED, "the emulator takes parameters by kernelParams alone");
    for (int i = 0; i < 3; i++) {
        launch.grid[i] = config->grid[i];
        launch.block[i] = config->block[i];
    }
    for (uint32_t i = 0; i < config->attribute_count; i++) {
        const struct tw_launch_attribute *a = &config->attributes[i];
        if (a->id == TW_CUDA_LAUNCH_CLUSTER)
            memcpy(launch.cluster, a->value.cluster, sizeof launch.cluster);
        else if (a->id == TW_CUDA_LAUNCH_PROGRAMMATIC)
            launch.flags |= a->value.flag ? TW_LAUNCH_PROGRAMMATIC : 0u;
        else if (a->id == TW_CUDA_LAUNCH_COOPERATIVE)
            launch.flags |= a->value.flag ? TW_LAUNCH_COOPERATIVE : 0u;
        else
            return refuse(RESULT_NOT_SUPPORTED, "the emulator has no such attribute of a launch");
    }
    int result = pack((const struct emu_kernel *)kernel, arguments, params, offsets, &launch);
    return result ? result : result_of(tw_device_launch(kernel->device, &launch, &fault));
}

static int drv_launch_plain(void *function, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z, uint32_t block_x,
                            uint32_t block_y, uint32_t block_z, uint32_t shared_bytes, void *stream, void **arguments,
                            void **extra)
{
    const struct tw_launch_config config = {.grid = {grid_x, grid_y, grid_z},
                                            .block = {block_x, block_y, block_z},
                                            .shared_bytes = shared_bytes,
                                            .stream = stream};
    return drv_launch(&config, function, arguments, extra);
}

/* ---- streams ----------------------------------------------------------------------------------------------------- */

static int drv_stream_create(void **stream, unsigned flags)
{
    (void)flags;
    *stream = current;
    return current ? 0 : no_device();
}

static int drv_stream(void *stream)
{
    (void)stream;
    return 0;
}

/* ---- tensor maps ------------------------------------------------------------------------------------------------- */

static int encode(const struct tw_tensormap_call *call, void *map)
{
    uint64_t words[16];
    if (!current)
        return no_device();
    if (tw_tensormap_encode(call, 10 * current->major + current->minor, words) != TW_OK)
        return refuse(RESULT_INVALID_VALUE, "the tensor map is none: see tilewright tensormap explain");
    memcpy(map, words, sizeof words);
    return 0;
}

static int drv_encode_tiled(void *map, int type, uint32_t rank, void *address, const uint64_t *extents,
                            const uint64_t *strides, const uint32_t *box, const uint32_t *element_strides,
                            int interleave, int swizzle, int promotion, int fill)
{
    struct tw_tensormap_call call = {.func = TW_TENSORMAP_TILED,
                                     .dtype = (uint32_t)type,
                                     .rank = rank,
                                     .addr = (uint64_t)(uintptr_t)address,
                                     .interleave = (uint32_t)interleave,
                                     .swizzle = (uint32_t)swizzle,
                                     .l2 = (uint32_t)promotion,
                                     .oob = (uint32_t)fill};
    for (uint32_t i = 0; i < rank && i < sizeof call.dim / sizeof *call.dim; i++) {
        call.dim[i] = extents[i];
        call.box[i] = box[i];
        call.estride[i] = element_strides[i];
        if (i + 1 < rank)
            call.stride[i] = strides[i];
    }
    return encode(&call, map);
}

static int drv_encode_im2col(void *map, int type, uint32_t rank, void *address, const uint64_t *extents,
                             const uint64_t *strides, const int *lower, const int *upper, uint32_t channels,
                             uint32_t pixels, const uint32_t *element_strides, int interleave, int swizzle,
                             int promotion, int fill)
{
    struct tw_tensormap_call call = {.func = TW_TENSORMAP_IM2COL,
                                     .dtype = (uint32_t)type,
                                     .rank = rank,
                                     .addr = (uint64_t)(uintptr_t)address,
                                     .channels = channels,
                                     .pixels = pixels,
                                     .interleave = (uint32_t)interleave,
                                     .swizzle = (uint32_t)swizzle,
                                     .l2 = (uint32_t)promotion,
                                     .oob = (uint32_t)fill};
    for (uint32_t i = 0; i < rank && i < sizeof call.dim / sizeof *call.dim; i++) {
        call.dim[i] = extents[i];
        call.estride[i] = element_strides[i];
        if (i + 1 < rank)
            call.stride[i] = strides[i];
        if (i + 2 < rank) {
            call.lower[i] = lower[i];
            call.upper[i] = upper[i];
        }
    }
    return encode(&call, map);
}

const struct tw_driver emu_driver_table = {
    .init = drv_init,
    .version = drv_version,
    .error_name = drv_error_name,
    .error_string = drv_error_string,
    .device_count = drv_device_count,
    .device_get = drv_device_get,
    .device_name = drv_device_name,
    .device_attribute = drv_device_attribute,
    .device_memory = drv_device_memory,
    .context_set = drv_context_set,
    .context_get = drv_context_get,
    .context_device = drv_context_device,
    .context_synchronize = drv_synchronize,
    .memory_alloc = drv_memory_alloc,
    .memory_free = drv_memory_free,
    .copy_to_device = drv_copy_to_device,
    .copy_from_device = drv_copy_from_device,
    .fill_8 = drv_fill_8,
    .fill_32 = drv_fill_32,
    .fill_8_async = drv_fill_8_async,
    .module_load = drv_module_load,
    .module_unload = drv_module_unload,
    .module_function = drv_module_function,
    .module_global = drv_module_global,
    .function_get = drv_function_get,
    .function_set = drv_function_set,
    .launch = drv_launch,
    .launch_plain = drv_launch_plain,
    .stream_create = drv_stream_create,
    .stream_destroy = drv_stream,
    .stream_synchronize = drv_stream,
    .encode_tiled = drv_encode_tiled,
    .encode_im2col = drv_encode_im2col,
};

int emu_driver_enter(struct tw_device *device, struct tw_error *error)
{
    (void)error;
    current = device;
    return TW_OK;
}

void emu_driver_leave(const struct tw_device *device)
{
    if (current == device)
        current = NULL;
}
