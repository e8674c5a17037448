/* Kernels of one image, and memory of the host's. */
#include "emu/image.h"

#include <string.h>

#include "emu/exec/exec.h"
#include "emu/exec/memory.h"
#include "emu/hazard/hazard.h"
#include "emu/lower/lower.h"

/* An image is a module without a kernel. */
static struct emu_module *module_of(struct emu_image *image)
{
    return (struct emu_module *)(void *)image;
}

static const struct emu_module *read_module(const struct emu_image *image)
{
    return (const struct emu_module *)(const void *)image;
}

static struct emu_device *self(struct tw_device *device)
{
    return (struct emu_device *)(void *)device;
}

int emu_image_load(struct tw_device *device, const char *ptx, size_t bytes, struct emu_image **image,
                   struct tw_error *error)
{
    struct emu_module *module;
    int status = emu_module_load(self(device), ptx, bytes, "", &module, error);
    *image = (struct emu_image *)(void *)module;
    return status;
}

void emu_image_unload(struct emu_image *image)
{
    emu_module_free(module_of(image));
}

int emu_image_kernel(struct emu_image *image, const char *name, struct tw_kernel **kernel, struct tw_error *error)
{
    const struct ptx_function *f = ptx_find_function(module_of(image)->ptx, name);
    struct emu_module *module;
    if (!f || !f->is_kernel || !f->has_body)
        return tw_fail(error, TW_ERROR_NOT_FOUND, "the PTX has no kernel %s", name);
    int status = emu_module_of(module_of(image), name, &module, error);
    return status ? status : emu_kernel_open(module, name, kernel, error);
}

const char *emu_image_kernel_name(const struct emu_image *image, size_t index)
{
    const struct ptx_module *ptx = read_module(image)->ptx;
    for (uint32_t i = 0; i < ptx->function_count; i++)
        if (ptx->functions[i].is_kernel && ptx->functions[i].has_body && index-- == 0)
            return ptx_name(ptx, ptx->functions[i].name);
    return NULL;
}

int emu_image_symbol(const struct emu_image *image, const char *name, uint64_t *address, size_t *bytes,
                     struct tw_error *error)
{
    const struct emu_module *module = read_module(image);
    const struct ptx_variable *v = ptx_find_variable(module->ptx, name);
    const struct emu_region *region = v ? module->variables[v - module->ptx->variables] : NULL;
    if (!region)
        return tw_fail(error, TW_ERROR_NOT_FOUND, "the PTX has no variable %s in global or constant memory", name);
    *address = region->base;
    *bytes = v->bytes;
    return TW_OK;
}

int emu_kernel_parameter(const struct tw_kernel *kernel, size_t index, uint32_t *offset, uint32_t *bytes)
{
    const struct emu_kernel *k = (const struct emu_kernel *)kernel;
    const struct ptx_function *f = k->entry->ptx;
    if (index >= f->param_count)
        return 1;
    const struct ptx_variable *v = &k->module->ptx->variables[f->params[index].variable];
    *offset = (uint32_t)v->offset;
    *bytes = (uint32_t)v->bytes;
    return 0;
}

uint32_t emu_kernel_occupancy(const struct tw_kernel *kernel, uint32_t threads, size_t dynamic_shared)
{
    const struct emu_kernel *k = (const struct emu_kernel *)kernel;
    const struct tw_architecture *arch = k->module->device->arch;
    size_t shared = kernel->static_shared + dynamic_shared;
    if (!threads || threads > kernel->max_threads || shared > arch->shared_limit)
        return 0;
    uint32_t registers = emu_launch_registers(arch, k->entry, (threads + EMU_LANES - 1) / EMU_LANES);
    return tw_resident_blocks(arch, threads, registers, (uint32_t)shared);
}

int emu_device_map(struct tw_device *device, void *memory, size_t bytes, uint64_t *address, struct tw_error *error)
{
    struct emu_region *region;
    int status = emu_region_map(self(device), memory, bytes, &region, error);
    if (!status)
        *address = region->base;
    return status;
}

int emu_device_place(struct tw_device *device, uint64_t address, size_t bytes, struct tw_error *error)
{
    struct emu_region *region;
    return emu_region_place(self(device), address, bytes, &region, error);
}

const unsigned char *emu_device_keep_written(struct tw_device *device, uint64_t address)
{
    struct emu_region *region = emu_region_allocated(self(device), address);
    if (!region || region->whole_base != address)
        return NULL;
    if (!region->written)
        region->written = tw_alloc_zeroed(device->rt, region->whole_bytes / 8 + 1);
    return region->written;
}

void *emu_device_memory(struct tw_device *device, uint64_t address, size_t bytes)
{
    const struct emu_region *region = emu_region_allocated(self(device), address);
    if (!region || bytes > region->whole_bytes - (address - region->whole_base))
        return NULL;
    return region->whole + (address - region->whole_base);
}

void emu_device_written(struct tw_device *device, uint64_t address, size_t bytes)
{
    if (self(device)->hazard_memory)
        emu_hazard_memory_written(self(device)->hazard_memory, address, bytes);
}

size_t emu_device_allocated(const struct tw_device *device)
{
    return ((const struct emu_device *)(const void *)device)->allocated;
}

int emu_device_range(struct tw_device *device, uint64_t address, uint64_t *base, size_t *bytes)
{
    const struct emu_region *region = emu_region_allocated(self(device), address);
    if (!region)
        return 1;
    *base = region->whole_base;
    *bytes = region->whole_bytes;
    return 0;
}
