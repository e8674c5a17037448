//@ -- Load and unload: variants for the device, and what launches ask of the driver.
//@ param host table
//@ local T, of = host.types, host.shared and "l->of->" or ""
//@ local slots = host.shared and "slots" or "kernel->slot"
//@ local its = host.shared and "of->" or ""
//@ local name = host.shared and "of->name" or '"' .. host.name .. '"'
/* The target for the device, whose blocks must have the shared memory for it: that of its compute capability, else the
 * nearest of the same major version, else the newest whose PTX may run on later devices. */
static int choose_target(struct loader *l)
{
    static const int asked[] = {75, 76, 16, 97}; /* CUdevice_attributes */
    int *const value[] = {&l->major, &l->minor, &l->sm_count, &l->shared_bytes};
    struct ${T}_state *k = l->k;
    char wanted[700];
    size_t at = 0;
    int i, best = 0, result = k->driver.version(&k->driver_version);
    if (result)
        return driver_fault(l->error, result, "cuDriverGetVersion", "the driver");
    result = k->driver.context_device(&l->device);
    if (result)
        return driver_fault(l->error, result, "cuCtxGetDevice", "the current context");
    for (i = 0; i < 4 && !result; i++)
        result = k->driver.device_attribute(value[i], asked[i], l->device);
    if (result)
        return driver_fault(l->error, result, "cuDeviceGetAttribute", "the current device");
    k->capability = 10 * l->major + l->minor;
    for (i = 0; i < ${of}target_count; i++) {
        const struct target *t = &${of}targets[i];
        const int own = 10 * t->major + t->minor;
        const int score = t->shared_bytes > l->shared_bytes                                 ? 0
                          : own == k->capability                                            ? 3000 + t->exact
                          : t->major == l->major && own < k->capability && !t->exact        ? 2000 + own
                          : t->newer && own < k->capability                                 ? 1000 + own : 0;
        const char *later = t->exact ? "" : t->newer ? " or newer" : " or newer of that major version";
        if (score > best) {
            best = score;
            l->target = t;
            k->target = 1 + i;
        }
        if (at < sizeof wanted)
            at += (size_t)snprintf(wanted + at, sizeof wanted - at, "%s%s (%d.%d%s, %d bytes)", i ? ", " : "", t->arch,
                                   t->major, t->minor, later, t->shared_bytes);
    }
//@ if host.part.text then
    l->as_ptx = best && l->target->major != l->major;
//@ end
    return best ? ${T}_OK
           : fail(l->error, ${T}_UNSUPPORTED, 0, "the current device has compute capability %d.%d and %d bytes of shared "
                  "memory for a block; the kernel was made for %s", l->major, l->minor, l->shared_bytes, wanted);
}

//@ if host.part.clusters then
/* Persistent grids take one block for each multiprocessor that can hold one: where clusters do not fill every GPC, that
 * is fewer than there are. Only a number of blocks depends on it, so a driver that cannot say is no fault. */
static void count_resident(struct loader *l, struct ${T}_slot *slot, int variant)
{
//@ local programmatic = host.part.programmatic and ", v->programmatic" or ""
    const struct ${T}_variant *v = &${of}variants[variant];
    const int blocks = (int)(v->cluster[0] * v->cluster[1] * v->cluster[2]), per_sm = ${of}images[variant].blocks_per_sm;
    struct launch_attribute attribute[2];
    const struct launch_config config = configure(attribute, v->cluster, v->threads, v->shared_bytes, NULL, v->cluster${programmatic});
    int clusters = 0;
    slot->resident = l->sm_count > blocks ? l->sm_count : blocks; /* a persistent grid is one cluster at least */
    if (blocks > 1 && l->k->driver.max_active_clusters &&
        !l->k->driver.max_active_clusters(&clusters, slot->function, &config) && clusters > 0 &&
        (int64_t)clusters * blocks < (int64_t)l->sm_count * per_sm)
        slot->resident = (int32_t)((int64_t)clusters * blocks / per_sm);
}

//@ end
//@ if host.part.debug then
/* Memory for the records of every variant, which the device writes and a dead context leaves. */
static int debug_memory(struct loader *l)
{
    enum { portable_mapped = 1 | 2 }; /* CU_MEMHOSTALLOC_PORTABLE, _DEVICEMAP: one address for host and devices */
    /* The last: whether they were told. */
    size_t bytes = ((size_t)${of}slot_count * debug_room + 1) * sizeof(struct debug_record);
    int result = l->k->driver.host_alloc(&l->k->debug, bytes, portable_mapped);
    if (result) {
        l->k->debug = NULL;
        return driver_fault(l->error, result, "cuMemHostAlloc", "the debug records");
    }
    memset(l->k->debug, 0, bytes);
    return ${T}_OK;
}

static struct debug_record *debug_records(const struct ${T}_state *k, int v)
{
    return (struct debug_record *)k->debug + (size_t)v * debug_room;
}

/* Tells the variant where its records go. */
static int debug_attach(struct loader *l, const struct ${T}_slot *slot)
{
    enum { not_found = 500 };
    uint64_t at = 0;
    size_t bytes = 0;
    struct debug_state state;
    int result = l->k->driver.module_global(&at, &bytes, slot->module, "tilewright_debug");
    if (result == not_found)
        return ${T}_OK; /* nothing in it waits on an mbarrier */
    if (result)
        return driver_fault(l->error, result, "cuModuleGetGlobal", "tilewright_debug");
    memset(&state, 0, sizeof state);
    state.record = (uint64_t)(uintptr_t)debug_records(l->k, (int)(slot - l->slots));
    state.room = debug_room;
    state.hardware = 1;
    result = l->k->driver.copy_to_device(at, &state, sizeof state);
    return result ? driver_fault(l->error, result, "cuMemcpyHtoD", "tilewright_debug") : ${T}_OK;
}

//@ end
/* Loads a variant into a slot. What is text is made here, and freed when it is loaded. */
static int load_variant(struct loader *l, struct ${T}_slot *slot, int variant)
{
//@ local codes = host.part.text and "no_binary_for_gpu = 209, shared_bytes = 8" or "shared_bytes = 8"
//@ if host.part.clusters then codes = codes .. ", any_cluster = 14, portable_cluster = 8" end
    enum { ${codes} }; /* as in cuda.h */
    const struct ${T}_driver *driver = &l->k->driver;
    const struct ${T}_variant *v = &${of}variants[variant];
//@ if host.part.cubin or host.part.ptx or host.part.lists then
    const struct image *image = &${of}images[variant];
//@ end
    void *module = NULL;
//@ if host.part.large then
    if (v->param_bytes > 4096 && l->k->driver_version < 12010)
        return fail(l->error, ${T}_OLD_DRIVER, 0, "%s has %u bytes of parameters, and drivers before that of CUDA 12.1 "
                    "take 4096", v->entry, (unsigned)v->param_bytes);
//@ end
//@ if host.part.text then
    int result, status = ${T}_OK;
    do {
        char *code = NULL;
//@     -- Where there is nothing but sources, each variant has one.
//@     local sources = host.part.source and not host.part.cubin and not host.part.ptx
//@     local code = host.part.cubin and "code ? code : image->cubin" or "code"
//@     local any = "image->source"
//@     if host.part.ptx then
        if (l->as_ptx && image->ptx)
            status = join(image->ptx, &code, l->error);
//@         any = host.part.source and "(image->source || image->ptx)" or "image->ptx"
//@     end
//@     if host.part.source then
//@         local otherwise = host.part.ptx and "else " or ""
//@         if host.part.cubin then
        ${otherwise}if (image->source && (l->as_ptx || !image->cubin))
            status = compile(l, variant, &code);
//@         else
        status = compile(l, variant, &code);
//@         end
//@     end
        result = status ? 0 : driver->module_load(&module, ${code});
        free(code);
//@     local again = sources and "!l->as_ptx++" or any .. " && !l->as_ptx++"
    } while (result == no_binary_for_gpu && ${again});
    if (status)
        return status;
//@ else
    int result = driver->module_load(&module, image->cubin);
//@ end
    if (result)
        return driver_fault(l->error, result, "cuModuleLoadData", v->entry);
    slot->module = module;
    result = driver->module_function(&slot->function, slot->module, v->entry);
//@ if host.part.lists then
    slot->list = NULL;
    if (!result && image->lists) {
        char list[512];
        snprintf(list, sizeof list, "%s_list", v->entry);
        result = driver->module_function(&slot->list, slot->module, list);
    }
//@ end
    if (result)
        return driver_fault(l->error, result, "cuModuleGetFunction", v->entry);
    if (v->shared_bytes > 0)
        result = driver->function_set(slot->function, shared_bytes, (int)v->shared_bytes);
//@ if host.part.clusters then
    if (!result && v->cluster[0] * v->cluster[1] * v->cluster[2] > portable_cluster)
        result = driver->function_set(slot->function, any_cluster, 1);
//@ end
    if (result)
        return driver_fault(l->error, result, "cuFuncSetAttribute", v->entry);
//@ if host.part.clusters then
    count_resident(l, slot, variant);
//@ else
    slot->resident = l->sm_count;
//@ end
//@ if host.part.debug then
    return debug_attach(l, slot);
//@ else
    return ${T}_OK;
//@ end
}

//@ if host.part.tuned then
/* One that asks for more shared memory than the device has is left out, as one for other sizes is. */
static int is_wanted(const struct loader *l, int variant)
{
    const int setup = ${of}images[variant].setup;
    return ${of}variants[variant].shared_bytes <= (uint32_t)l->shared_bytes &&
           (!setup || !l->wanted->takes || l->wanted->takes(l->k, l->wanted->args, l->wanted->count, setup));
}

/* The GPU's own choice among set-ups, else the first of its architecture. */
static void choose_table(struct loader *l)
{
    char name[256] = "";
    int i, found = 0;
    if (l->k->driver.device_name && l->k->driver.device_name(name, (int)sizeof name - 1, l->device))
        name[0] = '\0';
    l->k->choice = ~0;
    for (i = 0; i < ${of}choice_count; i++) {
        if (${of}choices[i].target != l->k->target || (found && strcmp(${of}choices[i].gpu, name) != 0))
            continue;
        l->k->choice = ${of}choices[i].begin;
        found = 1;
    }
}

//@ end
//@ -- Kernels that share the launcher call these; that of a lone one are what its header declares.
//@ if host.shared then
int unload_kernel(struct ${T}_state *k, struct ${T}_slot *slots, const struct tables *of, struct ${T}_error *error)
{
//@ else
int ${T}_unload(struct ${T} *kernel, struct ${T}_error *error)
{
    struct ${T}_state *k = &kernel->state;
//@ end
    int status = ${T}_OK;
//@ if host.part.debug then
    if (k->debug && !debug_records(k, slot_count)->kind)
        ${T}_debug_report(kernel, NULL, NULL);
//@ end
    for (int v = 0; v < ${its}slot_count; v++) {
        int result = ${slots}[v].module ? k->driver.module_unload(${slots}[v].module) : 0;
        if (result && !status)
            status = driver_fault(error, result, "cuModuleUnload", ${name});
    }
//@ if host.part.debug then
    if (k->debug) {
        int result = k->driver.host_free(k->debug);
        if (result && !status)
            status = driver_fault(error, result, "cuMemFreeHost", "the debug records");
    }
//@ end
    if (k->library)
        dlclose(k->library);
//@ if host.shared then
    memset(slots, 0, (size_t)of->slot_count * sizeof *slots);
    memset(k, 0, sizeof *k);
//@ else
    memset(kernel, 0, sizeof *kernel);
//@ end
    return status;
}

//@ if host.shared then
int load_kernel(struct ${T}_state *k, struct ${T}_slot *slots, const struct tables *of, const struct ${T}_driver *driver, const struct wanted *wanted, struct ${T}_error *error)
{
//@ else
//@     local function_name = host.tuned and "static int load_wanted" or "int " .. T .. "_load"
//@     local WANTED = host.tuned and "const struct wanted *wanted, " or ""
${function_name}(struct ${T} *kernel, const struct ${T}_driver *driver, ${WANTED}struct ${T}_error *error)
{
    struct ${T}_state *k = &kernel->state;
//@ end
    struct ${T}_driver table; /* the caller's may lie in what is loaded */
    struct loader l;
    if (driver)
        table = *driver;
//@ if host.shared then
    memset(slots, 0, (size_t)of->slot_count * sizeof *slots);
    memset(k, 0, sizeof *k);
//@ else
    memset(kernel, 0, sizeof *kernel);
//@ end
    memset(&l, 0, sizeof l);
    l.k = k;
//@ if host.part.debug then
    l.slots = ${slots};
//@ end
//@ if host.shared then
    l.of = of;
//@ end
//@ if host.part.tuned then
    l.wanted = wanted;
//@ end
    l.error = error;
    int status = open_driver(&l, driver ? &table : NULL);
    status = status ? status : choose_target(&l);
//@ if host.part.tuned then
    if (!status)
        choose_table(&l);
//@ end
//@ if host.part.debug then
    status = status ? status : debug_memory(&l);
//@ end
    for (int v = 0; !status && v < l.target->count; v++)
//@ if host.part.tuned then
        if (is_wanted(&l, l.target->first + v))
//@     deeper()
//@ end
        status = load_variant(&l, &${slots}[v], l.target->first + v);
//@ if host.part.tuned then
//@     shallower()
//@ end
//@ if host.part.source then
    close_compiler(&l);
//@ end
//@ if host.part.maps then
    status = status ? status : check_images(&l);
//@ end
//@ if host.shared then
    if (status)
        unload_kernel(k, slots, of, NULL);
//@ else
    k->copy = COPY;
    if (status)
        ${T}_unload(kernel, NULL);
//@ end
    return status;
}
