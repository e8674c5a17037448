/* The device's interface: memory, loading, launching. */
#include <stdio.h>
#include <string.h>

#include "emu/driver_emu.h"
#include "emu/exec/exec.h"
#include "emu/exec/memory.h"
#include "emu/hazard/hazard.h"
#include "emu/lower/lower.h"
#include "emu/texture/texture_ops.h"

static struct emu_device *self(struct tw_device *device)
{
    return (struct emu_device *)(void *)device;
}

static void device_close(struct tw_device *device)
{
    struct emu_device *emu = self(device);
    struct tw_runtime *rt = device->rt;
    while (emu->region_count)
        emu_region_free(emu, emu->regions[emu->region_count - 1]);
    emu_driver_leave(device);
    emu_hazard_memory_close(emu->hazard_memory);
    tw_free(rt, emu->regions);
    emu_reports_free(emu);
    emu_objects_free(emu);
    tw_free(rt, emu);
}

static int device_alloc(struct tw_device *device, size_t bytes, uint64_t *address, struct tw_error *error)
{
    struct emu_region *region;
    int status = emu_region_new(self(device), bytes, 512, &region, error);
    if (!status)
        *address = region->base;
    return status;
}

static void device_free(struct tw_device *device, uint64_t address)
{
    struct emu_region *region = emu_region_allocated(self(device), address);
    if (region && region->whole_base == address && !region->internal)
        emu_region_free(self(device), region);
}

static int device_limit(struct tw_device *device, uint64_t address, size_t bytes, struct tw_error *error)
{
    struct emu_region *region = emu_region_allocated(self(device), address);
    if (!region || region->internal || emu_region_limit(region, address, bytes))
        return tw_fail(error, TW_ERROR_INVALID, "a limit of %zu bytes at 0x%llx, which is not all allocated", bytes,
                       (unsigned long long)address);
    return TW_OK;
}

static int device_host_alloc(struct tw_device *device, size_t bytes, uint64_t *address, void **memory,
                             struct tw_error *error)
{
    struct emu_region *region;
    int status = emu_region_new(self(device), bytes, 512, &region, error);
    if (status)
        return status;
    memset(region->data, 0, bytes);
    if (self(device)->hazard_memory)
        emu_hazard_memory_written(self(device)->hazard_memory, region->base, bytes);
    *address = region->base;
    *memory = region->data;
    return TW_OK;
}

static void device_host_free(struct tw_device *device, uint64_t address, void *memory)
{
    (void)memory;
    device_free(device, address);
}

static int device_symbol(struct tw_device *device, struct tw_kernel *kernel, const char *name, uint64_t *address,
                         size_t *bytes, struct tw_error *error)
{
    const struct emu_module *module = ((const struct emu_kernel *)kernel)->module;
    const struct ptx_module *ptx = module->ptx;
    (void)device;
    for (uint32_t i = 0; i < ptx->variable_count; i++) {
        const struct ptx_variable *v = &ptx->variables[i];
        if (!module->variables[i] || v->function != PTX_NONE || strcmp(ptx->names + v->name, name) != 0)
            continue;
        *address = module->variables[i]->base;
        *bytes = v->bytes;
        return TW_OK;
    }
    return tw_fail(error, TW_ERROR_NOT_FOUND, "kernel %s has no variable '%s'", kernel->entry, name);
}

static int find(struct emu_device *device, uint64_t address, size_t bytes, const char *what, unsigned char **at,
                struct tw_error *error)
{
    struct emu_region *region = emu_region_allocated(device, address);
    if (!region || bytes > region->whole_bytes - (address - region->whole_base))
        return tw_fail(error, TW_ERROR_INVALID, "%s of %zu bytes at 0x%llx, which is not all allocated", what, bytes,
                       (unsigned long long)address);
    *at = region->whole + (address - region->whole_base);
    return TW_OK;
}

static int device_upload(struct tw_device *device, uint64_t to, const void *from, size_t bytes, struct tw_error *error)
{
    unsigned char *at = NULL;
    int status = find(self(device), to, bytes, "upload", &at, error);
    if (status)
        return status;
    memcpy(at, from, bytes);
    if (self(device)->hazard_memory)
        emu_hazard_memory_written(self(device)->hazard_memory, to, bytes);
    return status;
}

static int device_download(struct tw_device *device, void *to, uint64_t from, size_t bytes, struct tw_error *error)
{
    unsigned char *at = NULL;
    int status = find(self(device), from, bytes, "download", &at, error);
    if (!status)
        memcpy(to, at, bytes);
    return status;
}

static int device_fill(struct tw_device *device, uint64_t to, uint32_t pattern, size_t bytes, struct tw_error *error)
{
    unsigned char *at = NULL;
    int status = find(self(device), to, bytes, "fill", &at, error);
    for (size_t i = 0; !status && i < bytes; i++)
        at[i] = (unsigned char)(pattern >> (8 * (i % 4)));
    if (!status && self(device)->hazard_memory)
        emu_hazard_memory_written(self(device)->hazard_memory, to, bytes);
    return status;
}

static void device_unload(struct tw_device *device, struct tw_kernel *kernel)
{
    struct emu_kernel *emu = (struct emu_kernel *)kernel;
    emu_module_free(emu->module);
    tw_free(device->rt, emu);
}

static int load_module(struct emu_device *device, const struct tw_load *load, struct emu_module **module,
                       struct tw_error *error)
{
    if (load->ptx)
        return emu_module_load(device, load->ptx, load->ptx_bytes, load->entry, module, error);
    if (!load->path)
        return tw_fail(error, TW_ERROR_UNSUPPORTED, "%s: the emulator executes PTX, not cubins",
                       load->name ? load->name : load->entry);
    unsigned char *text;
    size_t bytes;
    int status = tw_read_file(device->device.rt, load->path, 0, &text, &bytes, error);
    if (status)
        return status;
    if (bytes >= 4 && !memcmp(text, "\177ELF", 4))
        status = tw_fail(error, TW_ERROR_UNSUPPORTED, "%s: the emulator executes PTX, not cubins", load->path);
    else
        status = emu_module_load(device, (const char *)text, bytes, load->entry, module, error);
    tw_free(device->device.rt, text);
    return status;
}

int emu_kernel_open(struct emu_module *module, const char *entry, struct tw_kernel **out, struct tw_error *error)
{
    struct tw_device *device = &module->device->device;
    const struct ptx_module *ptx = module->ptx;
    const struct ptx_function *f = ptx_find_function(ptx, entry);
    struct emu_kernel *kernel = tw_alloc_zeroed(device->rt, sizeof *kernel);
    int status;
    if (!kernel)
        status = tw_fail(error, TW_ERROR_MEMORY, "no memory");
    else if (!f || !f->is_kernel || !f->has_body)
        status = tw_fail(error, TW_ERROR_NOT_FOUND, "the PTX has no kernel %s", entry);
    else
        status = emu_lower(module, (uint32_t)(f - ptx->functions), &kernel->entry, error);
    if (status) {
        tw_free(device->rt, kernel);
        emu_module_free(module);
        return status;
    }
    kernel->module = module;
    kernel->kernel.device = device;
    snprintf(kernel->kernel.entry, sizeof kernel->kernel.entry, "%s", entry);
    kernel->kernel.registers = kernel->entry->registers > TW_ARCH_REGISTERS_PER_THREAD ? TW_ARCH_REGISTERS_PER_THREAD
                                                                                       : kernel->entry->registers;
    kernel->kernel.static_shared = kernel->module->shared_bytes;
    kernel->kernel.local_bytes = kernel->entry->local_bytes;
    uint64_t threads = TW_ARCH_THREADS;
    if (f->reqntid[0] || f->maxntid[0]) {
        const uint32_t *n = f->reqntid[0] ? f->reqntid : f->maxntid;
        threads = (uint64_t)n[0] * (n[1] ? n[1] : 1) * (n[2] ? n[2] : 1);
    }
    kernel->kernel.max_threads = threads > TW_ARCH_THREADS ? TW_ARCH_THREADS : (uint32_t)threads;
    *out = &kernel->kernel;
    return TW_OK;
}

static int device_load(struct tw_device *device, const struct tw_load *load, struct tw_kernel **out,
                       struct tw_error *error)
{
    struct emu_module *module;
    int status = load_module(self(device), load, &module, error);
    return status ? status : emu_kernel_open(module, load->entry, out, error);
}

static int device_launch(struct tw_device *device, const struct tw_launch *launch, struct tw_error *error)
{
    return emu_launch_run(self(device), launch, error);
}

static int device_synchronize(struct tw_device *device, struct tw_error *error)
{
    (void)device, (void)error; /* a launch has ended when it returns */
    return TW_OK;
}

static int device_time(struct tw_device *device, const struct tw_launch *launches, size_t count, size_t warmups,
                       size_t samples, double *seconds, struct tw_error *error)
{
    struct tw_process *process = &device->rt->process;
    for (size_t s = 0; s < warmups + samples; s++) {
        double start = process->now(process->self);
        for (size_t i = 0; i < count; i++) {
            int status = tw_device_launch(device, &launches[i], error);
            if (status)
                return status;
        }
        if (s >= warmups)
            seconds[s - warmups] = process->now(process->self) - start;
    }
    return TW_OK;
}

static const struct tw_device_ops ops = {
    .kind = "emu",
    .close = device_close,
    .alloc = device_alloc,
    .free = device_free,
    .limit = device_limit,
    .host_alloc = device_host_alloc,
    .host_free = device_host_free,
    .symbol = device_symbol,
    .upload = device_upload,
    .download = device_download,
    .fill = device_fill,
    .load = device_load,
    .unload = device_unload,
    .launch = device_launch,
    .synchronize = device_synchronize,
    .time = device_time,
};

int tw_device_open_emu(struct tw_runtime *rt, const struct emu_options *options, struct tw_device **device,
                       struct tw_error *error)
{
    static const struct emu_options none = {0};
    const char *name = options && options->arch ? options->arch : "sm_90a";
    const struct tw_architecture *arch = tw_architecture_find(name);
    char names[160];
    *device = NULL;
    if (!arch)
        return tw_fail(error, TW_ERROR_INVALID, "the emulator has no architecture %s: it has %s", name,
                       tw_architecture_names(names, sizeof names));
    struct emu_device *emu = tw_alloc_zeroed(rt, sizeof *emu);
    if (!emu)
        return tw_fail(error, TW_ERROR_MEMORY, "no memory");
    emu->options = options ? *options : none;
    emu->options.arch = arch->name;
    if (!emu->options.stack_bytes)
        emu->options.stack_bytes = 512 * 1024;
    if (!emu->options.heap_bytes)
        emu->options.heap_bytes = 8 << 20;
    emu->arch = arch;
    emu->next_address = EMU_GLOBAL_START;
    if (emu->options.hazards != EMU_HAZARDS_OFF) {
        int status = emu_hazard_memory_open(rt, &emu->hazard_memory, error);
        if (status) {
            tw_free(rt, emu);
            return status;
        }
    }
    struct tw_device *d = &emu->device;
    d->ops = &ops;
    d->rt = rt;
    snprintf(d->name, sizeof d->name, "emulator of %s", arch->name);
    snprintf(d->arch, sizeof d->arch, "%s", arch->name);
    d->major = arch->major;
    d->minor = arch->minor;
    d->sm_count = emu->options.sm_count > 0 ? emu->options.sm_count : arch->multiprocessors;
    d->shared_optin = arch->shared_limit;
    d->memory_bytes = emu->options.memory_bytes ? emu->options.memory_bytes : (size_t)16 << 30;
    d->l2_bytes = arch->l2;
    d->clock_khz = arch->khz;
    d->driver = &emu_driver_table;
    d->enter = emu_driver_enter;
    *device = d;
    return TW_OK;
}

void emu_device_statistics(const struct tw_device *device, struct emu_statistics *statistics)
{
    *statistics = ((const struct emu_device *)(const void *)device)->statistics;
}

void emu_device_set_sms(struct tw_device *device, int count)
{
    device->sm_count = count > 0 ? count : 1;
}

void emu_device_set_completion(struct tw_device *device, enum emu_completion completion)
{
    self(device)->options.completion = completion;
}

void emu_device_set_heap(struct tw_device *device, size_t bytes)
{
    self(device)->options.heap_bytes = bytes;
}

const struct emu_report *emu_device_report(const struct tw_device *device, size_t index)
{
    const struct emu_device *emu = (const struct emu_device *)(const void *)device;
    return index < emu->reports.count ? &emu->reports.items[index].report : NULL;
}

void emu_device_clear_reports(struct tw_device *device)
{
    emu_reports_free(self(device));
    self(device)->statistics.reports = 0;
}
