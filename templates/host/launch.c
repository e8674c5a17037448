//@ -- What the header declares for a kernel: load, workspace, launch, info, strerror.
//@ param host table
//@ local NAME, T = host.name, host.types
/* ---- what the header declares ----------------------------------------------------------------------------------- */

//@ if host.part.tuned then
static int load_wanted(struct ${NAME} *kernel, const struct ${NAME}_driver *driver, const struct wanted *wanted,
                       struct ${NAME}_error *error)
{
    int status = load_kernel(&kernel->state, kernel->slot, &tables, driver, wanted, error);
    if (!status)
        choose_copy(&kernel->state);
    return status;
}

int ${NAME}_load(struct ${NAME} *kernel, const struct ${NAME}_driver *driver, struct ${NAME}_error *error)
{
    static const struct wanted all = {NULL, NULL, 0};
    return load_wanted(kernel, driver, &all, error);
}

//@     if host.tuned then
int ${NAME}_load_for(struct ${NAME} *kernel, const struct ${NAME}_driver *driver, const struct ${NAME}_args *args,
                     int count, struct ${NAME}_error *error)
{
    struct wanted wanted;
    wanted.takes = takes;
    wanted.args = args;
    wanted.count = count;
    return load_wanted(kernel, driver, &wanted, error);
}

//@     end
//@ else
int ${NAME}_load(struct ${NAME} *kernel, const struct ${NAME}_driver *driver, struct ${NAME}_error *error)
{
    int status = load_kernel(&kernel->state, kernel->slot, &tables, driver, error);
    if (!status)
        choose_copy(&kernel->state);
    return status;
}

//@ end
//@ if host.debug then
static void debug_print(void *context, const char *line)
{
    fprintf((FILE *)context, "%s\n", line);
}

/* What ${NAME}_error has room for. */
static void debug_append(void *context, const char *line)
{
    struct ${NAME}_error *error = (struct ${NAME}_error *)context;
    size_t length = strlen(error->text);
    snprintf(error->text + length, sizeof error->text - length, "\n%s", line);
}

int ${NAME}_debug_report(const struct ${NAME} *kernel, void (*tell)(void *context, const char *line), void *context)
{
    const struct ${NAME}_state *k = &kernel->state;
    char file[256];
    int v, count = 0;
    for (v = 0; k->debug && k->target && v < targets[k->target - 1].count; v++) {
        const struct ${NAME}_variant *row = &variants[targets[k->target - 1].first + v];
        snprintf(file, sizeof file, "%s.%s.cu", row->entry, row->arch);
        count += debug_tell(debug_records(k, v), row->entry, file, &debug_hardware, tell ? tell : debug_print,
                            tell ? context : (void *)stderr);
    }
    if (count)
        debug_records(k, ${host.variants})->kind = 1; /* told */
    return count;
}

//@ end
int ${NAME}_unload(struct ${NAME} *kernel, struct ${NAME}_error *error)
{
//@ if host.debug then
    if (kernel->state.debug && !debug_records(&kernel->state, ${host.variants})->kind)
        ${NAME}_debug_report(kernel, NULL, NULL);
//@ end
    return unload_kernel(&kernel->state, kernel->slot, &tables, error);
}

int ${NAME}_workspace(const struct ${NAME} *kernel, const struct ${NAME}_args *args, uint64_t *bytes,
                      struct ${NAME}_error *error)
{
    int status = check_arguments(args, error);
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
            sm_count = kernel->slot[v].resident > sm_count ? kernel->slot[v].resident : sm_count;
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

//@ local clusters, programmatic = "alone", "0"
//@ for _, i in ipairs(host.image) do
//@     if i.cluster.x * i.cluster.y * i.cluster.z > 1 then clusters = "p.cluster" end
//@     if i.programmatic then programmatic = "p.programmatic" end
//@ end
TOGETHER int ${NAME}_launch(const struct ${NAME} *kernel, const struct ${NAME}_args *args, void *stream,
                            struct ${NAME}_error *error)
{
    struct ${NAME}_params p ALIGNED;
    struct launch_attribute attribute[2];
    struct launch_config config;
//@ if host.lists or clusters == "alone" then
    static const uint32_t alone[3] = {1, 1, 1}; /* a block without a cluster */
//@ end
    void *arguments[1];
    int result, status = prepare(kernel, args, &p, error);
    if (status || p.grid[0] == 0)
        return status;
    arguments[0] = p.word; /* one struct is the kernel's only parameter; the driver copies it */
//@ if host.lists then
    if (p.list) {
        uint32_t grid[3] = {1, 1, 1};
        grid[0] = p.list_grid;
        configure(&config, attribute, grid, p.list_threads, 0, alone, 0, stream);
        result = kernel->state.driver.launch(&config, p.list, arguments, NULL);
        if (result)
            return driver_fault(error, result, "cuLaunchKernelEx", "${NAME}, its list of turns");
    }
//@ end
    configure(&config, attribute, p.grid, p.threads, p.shared_bytes, ${clusters}, ${programmatic}, stream);
    result = kernel->state.driver.launch(&config, p.function, arguments, NULL);
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
    const struct target *t = kernel->state.target == 0 ? NULL : &targets[kernel->state.target - 1];
    info->name = "${NAME}";
    info->generator = ${host.generator};
    info->arch = t ? t->arch : "";
    info->capability = kernel->state.capability;
    info->driver_version = kernel->state.driver_version;
    info->tensor = tensors;
    info->tensor_count = tensors_in_all;
    info->variant = t ? &variants[t->first] : variants;
    info->variant_count = t ? t->count : 0;
    info->static_images = kernel->state.static_images;
    info->images = kernel->state.images;
}

const char *${NAME}_strerror(int status)
{
    return status_words(status);
}
