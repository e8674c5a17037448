/* Launches, and tensor maps. */
#include <stdlib.h>
#include <string.h>

#include "architecture.h"
#include "internal.h"
#include "record/recorder.h"
#include "tensormap/tensormap.h"

enum { PARAMETER_BYTES = 32764 };

/* `extra` of a launch: the parameters as one buffer. */
static int pack_buffer(struct cu_launch *launch, void **extra)
{
    enum { END, POINTER, SIZE };
    const void *buffer = NULL;
    const size_t *bytes = NULL;
    for (; (uintptr_t)extra[0] != END; extra += 2) {
        if ((uintptr_t)extra[0] == POINTER)
            buffer = extra[1];
        else if ((uintptr_t)extra[0] == SIZE)
            bytes = extra[1];
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    if (!buffer || !bytes || *bytes > launch->params_bytes + 64)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(launch->params, buffer, *bytes < launch->params_bytes ? *bytes : launch->params_bytes);
    return CUDA_SUCCESS;
}

unsigned char *cu_launch_room(size_t bytes)
{
    size_t room = (bytes + 127) / 64 * 64;
    unsigned char *params = aligned_alloc(64, room);
    return params ? memset(params, 0, room) : NULL;
}

int cu_launch_pack(struct cu_launch *launch, void **arguments, void **extra)
{
    uint32_t offset, bytes;
    size_t count = 0;
    int result = cu_function_load(launch->function);
    if (result)
        return result;
    const struct tw_kernel *kernel = launch->function->kernel;
    launch->params_bytes = 0;
    for (; !emu_kernel_parameter(kernel, count, &offset, &bytes); count++)
        launch->params_bytes = offset + bytes;
    if (launch->params_bytes > PARAMETER_BYTES || count > TW_LAUNCH_OFFSETS)
        return cu_refuse(CUDA_ERROR_INVALID_VALUE, "kernel %s has too many parameters", launch->function->name);
    if (count && !arguments && !extra)
        return cu_refuse(CUDA_ERROR_INVALID_VALUE, "kernel %s has %zu parameters, and the launch gives none",
                         launch->function->name, count);
    if (!(launch->params = cu_launch_room(launch->params_bytes)))
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; arguments && i < count; i++) {
        emu_kernel_parameter(kernel, i, &offset, &bytes);
        memcpy(launch->params + offset, arguments[i], bytes);
    }
    result = !arguments && extra ? pack_buffer(launch, extra) : CUDA_SUCCESS;
    if (result) {
        free(launch->params);
        launch->params = NULL;
    }
    return result;
}

/* The result of a launch that failed: what a GPU answers to the like. */
static int failure(const char *text)
{
    static const struct {
        const char *word;
        int result;
    } words[] = {{"hazard BOUNDS", CUDA_ERROR_ILLEGAL_ADDRESS},
                 {"hazard ALIGN", CUDA_ERROR_MISALIGNED_ADDRESS},
                 {"hazard ILLEGAL", CUDA_ERROR_ILLEGAL_INSTRUCTION},
                 {"hazard TMA-INNER", CUDA_ERROR_ILLEGAL_INSTRUCTION},
                 {"hazard DEADLOCK", CUDA_ERROR_LAUNCH_TIMEOUT},
                 {"assertion", CUDA_ERROR_ASSERT}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(text, words[i].word))
            return words[i].result;
    return CUDA_ERROR_LAUNCH_FAILED;
}

static int run_launch(const struct cu_launch *work)
{
    uint32_t offsets[TW_LAUNCH_OFFSETS], bytes;
    struct emu_statistics before, after;
    struct tw_error error;
    struct tw_launch launch = {.kernel = work->function->kernel,
                               .shared_bytes = work->shared_bytes,
                               .flags = work->flags,
                               .params = work->params,
                               .params_bytes = work->params_bytes,
                               .offsets = offsets};
    memcpy(launch.grid, work->grid, sizeof launch.grid);
    memcpy(launch.block, work->block, sizeof launch.block);
    memcpy(launch.cluster, work->cluster, sizeof launch.cluster);
    while (!emu_kernel_parameter(launch.kernel, launch.offset_count, &offsets[launch.offset_count], &bytes))
        launch.offset_count++;
    cu_tell_launch(work->function->name);
    emu_device_statistics(cu.device, &before);
    int status = tw_device_launch(cu.device, &launch, &error);
    emu_device_statistics(cu.device, &after);
    cu_tell_launch(NULL);
    if (status == TW_OK)
        return CUDA_SUCCESS;
    if (status == TW_ERROR_UNSUPPORTED)
        cu_tell_failure(); /* of a function that it came to */
    if (status != TW_ERROR_LAUNCH)
        return cu_result(status, &error);
    uint64_t blocks = (uint64_t)work->grid[0] * work->grid[1] * work->grid[2];
    if (cu.hazards_go_on && after.blocks - before.blocks == blocks)
        return CUDA_SUCCESS;
    cu_tell_failure();
    cu.broken = failure(error.text);
    return strncmp(error.text, "hazard ", 7) == 0
               ? cu.broken
               : cu_refuse(cu.broken, "kernel %s: %s", work->function->name, error.text);
}

int cu_run_launch(const struct cu_launch *work)
{
    void *arguments[TW_LAUNCH_OFFSETS];
    uint32_t offset, bytes;
    struct recorder_launch launch = {.function = work->function,
                                     .name = work->function->name,
                                     .shared_bytes = work->shared_bytes,
                                     .flags = work->flags,
                                     .arguments = arguments};
    if (!recorder_is_on())
        return run_launch(work);
    memcpy(launch.grid, work->grid, sizeof launch.grid);
    memcpy(launch.block, work->block, sizeof launch.block);
    memcpy(launch.cluster, work->cluster, sizeof launch.cluster);
    for (size_t i = 0; !emu_kernel_parameter(work->function->kernel, i, &offset, &bytes); i++)
        arguments[i] = work->params + offset;
    struct recording *recording = recorder_before(&launch);
    int result = run_launch(work);
    recorder_after(recording, result);
    return result;
}

/* ---- The calls --------------------------------------------------------------------------------------------------- */

/* CUlaunchAttributeID, of which those without a line here say how fast, or what is so here anyway. */
enum {
    CLUSTER = TW_CUDA_LAUNCH_CLUSTER,
    COOPERATIVE = TW_CUDA_LAUNCH_COOPERATIVE,
    PROGRAMMATIC = TW_CUDA_LAUNCH_PROGRAMMATIC,
    PROGRAMMATIC_EVENT = 7,
    COMPLETION_EVENT = 12,
    UPDATABLE = 13
};

static int take_attribute(struct cu_launch *launch, const struct tw_launch_attribute *a, struct cu_stream *stream)
{
    struct cu_event *event;
    switch (a->id) {
    case CLUSTER:
        memcpy(launch->cluster, a->value.cluster, sizeof launch->cluster);
        return CUDA_SUCCESS;
    case COOPERATIVE:
        launch->flags |= a->value.flag ? TW_LAUNCH_COOPERATIVE : 0u;
        return CUDA_SUCCESS;
    case PROGRAMMATIC:
        launch->flags |= a->value.flag ? TW_LAUNCH_PROGRAMMATIC : 0u;
        return CUDA_SUCCESS;
    case PROGRAMMATIC_EVENT:
    case COMPLETION_EVENT: /* the launch has ended before anybody may look */
        memcpy(&event, a->value.bytes, sizeof event);
        return event ? cuEventRecord(event, stream) : CUDA_SUCCESS;
    case UPDATABLE:
        return cu_refuse(CUDA_ERROR_NOT_SUPPORTED, "kernel nodes that kernels update are not emulated");
    default:
        return CUDA_SUCCESS;
    }
}

int cu_launch_check(const struct cu_launch *launch)
{
    const struct cu_function *f = launch->function;
    uint32_t cluster = 1;
    int allowed = f->dynamic_shared >= 0 ? f->dynamic_shared : CU_WITHOUT_OPT_IN - (int)f->kernel->static_shared;
    for (int i = 0; i < 3; i++) {
        cluster *= launch->cluster[i] ? launch->cluster[i] : 1;
        if (!launch->grid[i] || !launch->block[i])
            return cu_refuse(CUDA_ERROR_INVALID_VALUE,
                             "kernel %s: a grid of %u x %u x %u blocks of %u x %u x %u "
                             "threads",
                             f->name, launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0],
                             launch->block[1], launch->block[2]);
    }
    if ((int64_t)launch->shared_bytes > allowed && launch->shared_bytes > CU_WITHOUT_OPT_IN - f->kernel->static_shared)
        return cu_refuse(CUDA_ERROR_INVALID_VALUE,
                         "kernel %s: %u bytes of dynamic shared memory, %d are allowed: see "
                         "cudaFuncAttributeMaxDynamicSharedMemorySize",
                         f->name, launch->shared_bytes, allowed);
    if (cluster > TW_ARCH_PORTABLE_CLUSTER && !f->nonportable)
        return cu_refuse(CUDA_ERROR_INVALID_CLUSTER_SIZE,
                         "kernel %s: a cluster of %u blocks: more than %d need "
                         "cudaFuncAttributeNonPortableClusterSizeAllowed",
                         f->name, cluster, TW_ARCH_PORTABLE_CLUSTER);
    return CUDA_SUCCESS;
}

static int submit(struct cu_stream *stream, struct cu_launch launch, void **arguments, void **extra)
{
    struct cu_work work = {.kind = CU_KERNEL};
    int result = cu_launch_pack(&launch, arguments, extra);
    work.of.launch = launch;
    if (!result)
        result = cu_launch_check(&launch);
    if (!result)
        result = cu_submit(stream, &work);
    cu_work_free(&work);
    return result;
}

int cuLaunchKernelEx(const struct tw_launch_config *config, struct cu_function *function, void **arguments,
                     void **extra)
{
    ENTER(cuLaunchKernelEx);
    struct cu_launch launch = {.function = function, .shared_bytes = config->shared_bytes};
    int result = CUDA_SUCCESS;
    memcpy(launch.grid, config->grid, sizeof launch.grid);
    memcpy(launch.block, config->block, sizeof launch.block);
    for (uint32_t i = 0; i < config->attribute_count && !result; i++)
        result = take_attribute(&launch, &config->attributes[i], config->stream);
    return result ? result : submit(config->stream, launch, arguments, extra);
}

int cuLaunchKernel(struct cu_function *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared_bytes, struct cu_stream *stream,
                   void **arguments, void **extra)
{
    ENTER(cuLaunchKernel);
    return submit(stream,
                  (struct cu_launch){.function = function,
                                     .grid = {grid_x, grid_y, grid_z},
                                     .block = {block_x, block_y, block_z},
                                     .shared_bytes = shared_bytes},
                  arguments, extra);
}

int cuLaunchCooperativeKernel(struct cu_function *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                              unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                              struct cu_stream *stream, void **arguments)
{
    ENTER(cuLaunchCooperativeKernel);
    return submit(stream,
                  (struct cu_launch){.function = function,
                                     .grid = {grid_x, grid_y, grid_z},
                                     .block = {block_x, block_y, block_z},
                                     .shared_bytes = shared_bytes,
                                     .flags = TW_LAUNCH_COOPERATIVE},
                  arguments, NULL);
}

/* ---- Tensor maps ------------------------------------------------------------------------------------------------- */

/* The emulator's own entry points, for the device of this thread. */
static const struct tw_driver *table(void)
{
    struct tw_error error;
    tw_device_enter(cu.device, &error);
    return cu.device->driver;
}

/* Tells the recorder of a map. The bytes of the emulator's encoder say all of its call. */
static int watched(const void *map, int result)
{
    struct tw_tensormap_call call;
    uint64_t words[16];
    if (result || !recorder_is_on())
        return result;
    memcpy(words, map, sizeof words);
    if (tw_tensormap_decode(words, &call, NULL) == TW_OK)
        recorder_map(words, &call);
    return result;
}

int cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, void *address, const uint64_t *extents,
                           const uint64_t *strides, const uint32_t *box, const uint32_t *element_strides,
                           int interleave, int swizzle, int promotion, int fill)
{
    ENTER_ANY(cuTensorMapEncodeTiled);
    return watched(map, table()->encode_tiled(map, type, rank, address, extents, strides, box, element_strides,
                                              interleave, swizzle, promotion, fill));
}

int cuTensorMapEncodeIm2col(void *map, int type, uint32_t rank, void *address, const uint64_t *extents,
                            const uint64_t *strides, const int *lower, const int *upper, uint32_t channels,
                            uint32_t pixels, const uint32_t *element_strides, int interleave, int swizzle,
                            int promotion, int fill)
{
    ENTER_ANY(cuTensorMapEncodeIm2col);
    return watched(map, table()->encode_im2col(map, type, rank, address, extents, strides, lower, upper, channels,
                                               pixels, element_strides, interleave, swizzle, promotion, fill));
}

int cuTensorMapReplaceAddress(void *map, void *address)
{
    ENTER_ANY(cuTensorMapReplaceAddress);
    uint64_t words[16];
    memcpy(words, map, sizeof words);
    if (tw_tensormap_replace_address(words, (uint64_t)(uintptr_t)address))
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(map, words, sizeof words);
    return CUDA_SUCCESS;
}
