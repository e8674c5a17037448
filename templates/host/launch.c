//@ -- What the header declares for a kernel that is loaded: workspace, launch, info, strerror.
//@ param host table
//@ local NAME = host.name
/* ---- launch ---------------------------------------------------------------------------------------------------- */

int ${NAME}_workspace(const struct ${NAME} *kernel, const struct ${NAME}_args *args, uint64_t *bytes,
                      struct ${NAME}_error *error)
{
    int status = check_sizes(args, error);
//@ local by_grid = false
//@ for _, i in ipairs(host.image) do by_grid = by_grid or i.workspace_by_grid end
//@ if not by_grid then
    (void)kernel;
//@ end
//@ if host.workspace == 0 then
    *bytes = 0;
//@ else
    *bytes = status ? 0 : ${host.workspace};
//@ end
//@ local several = {}
//@ for _, i in ipairs(host.image) do
//@     if has(i, "workspace") and not has(several, i.workspace) then
//@         several[#several + 1], several[i.workspace] = i.workspace, true
//@     end
//@ end
//@ if #several > 0 then
    if (!status) {
        int64_t most = 0, wanted; /* of any architecture */
//@     if by_grid then
        int64_t sm_count = 0; /* as the largest grid has it */
        int v;
        for (v = 0; v < ${host.variants}; v++)
            sm_count = kernel->resident[v] > sm_count ? kernel->resident[v] : sm_count;
//@     end
//@     for _, formula in ipairs(several) do
        wanted = ${formula};
        most = wanted > most ? wanted : most;
//@     end
        *bytes += (uint64_t)most;
    }
//@ end
    return status;
}

TOGETHER int ${NAME}_launch(const struct ${NAME} *kernel, const struct ${NAME}_args *args, void *stream,
                            struct ${NAME}_error *error)
{
    struct ${NAME}_params p ALIGNED;
    struct launch_config config;
    void *arguments[1];
    int result, status = prepare(kernel, args, &p, error);
    if (status || p.grid[0] == 0)
        return status;
    configure(&config, targets[kernel->target - 1].first + p.variant, p.grid, stream);
    arguments[0] = p.word; /* one struct is the kernel's only parameter; the driver copies it */
//@ if host.lists then
    if (p.list) {
        struct launch_config before = {{0, 1, 1}, {0, 1, 1}, 0, NULL, NULL, 0};
        before.grid[0] = p.list_grid;
        before.block[0] = p.list_threads;
        before.stream = stream;
        result = kernel->driver.launch(&before, p.list, arguments, NULL);
        if (result)
            return driver_fault(error, result, "cuLaunchKernelEx", "${NAME}, its list of turns");
    }
//@ end
    result = kernel->driver.launch(&config, p.function, arguments, NULL);
//@ if host.debug then
    if (result && error) {
        status = driver_fault(error, result, "cuLaunchKernelEx", "${NAME}");
        ${NAME}_debug_report(kernel, debug_append, error);
        return status;
    }
//@ end
    return result ? driver_fault(error, result, "cuLaunchKernelEx", "${NAME}") : 0;
}

void ${NAME}_info(const struct ${NAME} *kernel, struct ${NAME}_info *info)
{
    const struct target *t = kernel->target == 0 ? NULL : &targets[kernel->target - 1];
    info->name = "${NAME}";
    info->generator = ${host.generator};
    info->arch = t ? t->arch : "";
    info->capability = kernel->capability;
    info->driver_version = kernel->driver_version;
    info->tensor = tensors;
    info->tensor_count = tensors_in_all;
    info->variant = t ? &variants[t->first] : variants;
    info->variant_count = t ? t->count : 0;
    info->static_images = kernel->static_images;
    info->images = kernel->images;
}

const char *${NAME}_strerror(int status)
{
    switch (status) {
    case ${NAME}_OK:
        return "done";
    case ${NAME}_INVALID:
        return "an argument is refused";
    case ${NAME}_NO_DRIVER:
        return "CUDA driver not found";
    case ${NAME}_OLD_DRIVER:
        return "CUDA driver is too old";
    case ${NAME}_NO_CONTEXT:
        return "no current CUDA context";
    case ${NAME}_UNSUPPORTED:
        return "no variant for this device";
    case ${NAME}_NO_COMPILER:
        return "NVRTC not found, or too old";
    case ${NAME}_COMPILE:
        return "compilation failed";
    case ${NAME}_NO_MEMORY:
        return "out of memory";
    case ${NAME}_DRIVER:
        return "CUDA driver call failed";
    default:
        return "unknown status";
    }
}
