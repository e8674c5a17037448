//@ -- Load and unload: variants for the device, and what launches ask of the driver.
//@ param host table
//@ local T, STATIC = host.types, host.linkage
/* ---- load ------------------------------------------------------------------------------------------------------ */

struct device { int major, minor, sm_count, shared_bytes; }; /* the current one; bytes that a block can opt in to */

/* The target for a device whose blocks have the shared memory for it: that of its compute capability, else the nearest
 * of the same major version, else the newest whose PTX may run on later devices. -1: none. */
static int choose_target(const struct tables *of, const struct device *d)
{
    int i, best = -1, best_score = 0;
    for (i = 0; i < of->target_count; i++) {
        const struct target *t = &of->target[i];
        const int own = 10 * t->major + t->minor, wanted = 10 * d->major + d->minor;
        const int score = own == wanted                                              ? 3000 + t->exact
                          : t->major == d->major && t->minor < d->minor && !t->exact ? 2000 + own
                          : t->newer && own < wanted                                 ? 1000 + own : 0;
        if (t->shared_bytes > d->shared_bytes || score <= best_score)
            continue;
        best = i;
        best_score = score;
    }
    return best;
}

/* Why there is none: what the device is, and what each target wants. */
static int refuse_device(const struct tables *of, const struct device *d, struct ${T}_error *error)
{
    char wanted[700];
    size_t at = 0;
    int i;
    for (i = 0; i < of->target_count && at < sizeof wanted; i++) {
        const struct target *t = &of->target[i];
        const char *later = t->exact ? "" : t->newer ? " or newer" : " or newer of that major version";
        int length = snprintf(wanted + at, sizeof wanted - at, "%s%s (%d.%d%s, %d bytes)", i ? ", " : "", t->arch,
                              t->major, t->minor, later, t->shared_bytes);
        at += length > 0 ? (size_t)length : 0;
    }
    return fail(error, ${T}_UNSUPPORTED, 0,
                "the current device has compute capability %d.%d and %d bytes of shared memory for a block; the kernel "
                "was made for %s", d->major, d->minor, d->shared_bytes, wanted);
}

//@ if host.part.clusters then
/* Persistent grids take one block for each multiprocessor that can hold one: where clusters do not fill every GPC, that
 * is fewer than there are. Only a number of blocks depends on it, so a driver that cannot say is no fault. */
static void count_resident(struct ${T}_state *k, struct ${T}_slot *slot, const struct ${T}_variant *v, const struct image *image, int sm_count)
{
//@ local programmatic = host.part.programmatic and ", v->programmatic" or ""
    struct launch_attribute attribute[2];
    struct launch_config config;
    const int blocks = (int)(v->cluster[0] * v->cluster[1] * v->cluster[2]);
    int clusters = 0;
    slot->resident = sm_count > blocks ? sm_count : blocks; /* a persistent grid is one cluster at least */
    if (blocks < 2 || !k->driver.max_active_clusters)
        return;
    config = configure(attribute, v->cluster, v->threads, v->shared_bytes, NULL, v->cluster${programmatic});
    if (!k->driver.max_active_clusters(&clusters, slot->function, &config) && clusters > 0 &&
        (int64_t)clusters * blocks < (int64_t)sm_count * image->blocks_per_sm)
        slot->resident = (int32_t)((int64_t)clusters * blocks / image->blocks_per_sm);
}

//@ end
//@ if host.part.debug then
/* Memory for the records of every variant, which the device writes and a dead context leaves. */
static int debug_memory(struct ${T}_state *k, const struct tables *of, struct ${T}_error *error)
{
    enum { portable_mapped = 1 | 2 }; /* CU_MEMHOSTALLOC_PORTABLE, _DEVICEMAP: one address for host and devices */
    /* The last: whether they were told. */
    size_t bytes = ((size_t)of->slots * debug_room + 1) * sizeof(struct debug_record);
    int result = k->driver.host_alloc(&k->debug, bytes, portable_mapped);
    if (result) {
        k->debug = NULL;
        return driver_fault(error, result, "cuMemHostAlloc", "the debug records");
    }
    memset(k->debug, 0, bytes);
    return ${T}_OK;
}

static struct debug_record *debug_records(const struct ${T}_state *k, int v)
{
    return (struct debug_record *)k->debug + (size_t)v * debug_room;
}

/* Tells the variant where its records go. */
static int debug_attach(struct ${T}_state *k, const struct ${T}_slot *slot, int v, struct ${T}_error *error)
{
    enum { not_found = 500 };
    uint64_t at = 0;
    size_t bytes = 0;
    struct debug_state state;
    int result = k->driver.module_global(&at, &bytes, slot->module, "tilewright_debug");
    if (result == not_found)
        return ${T}_OK; /* nothing in it waits on an mbarrier */
    if (result)
        return driver_fault(error, result, "cuModuleGetGlobal", "tilewright_debug");
    memset(&state, 0, sizeof state);
    state.record = (uint64_t)(uintptr_t)debug_records(k, v);
    state.room = debug_room;
    state.hardware = 1;
    result = k->driver.copy_to_device(at, &state, sizeof state);
    return result ? driver_fault(error, result, "cuMemcpyHtoD", "tilewright_debug") : ${T}_OK;
}

//@ end
/* *result: what cuModuleLoadData gave. */
static int load_image(struct ${T}_state *k, struct ${T}_slot *slot, const struct tables *of, int variant, const void *bytes, int *result, struct ${T}_error *error)
{
//@ local any = host.part.clusters and ", any_cluster = 14, portable_cluster = 8" or ""
    enum { shared_bytes = 8${any} }; /* of CUfunction_attribute */
    const struct ${T}_variant *v = &of->variant[variant];
    int other;
    *result = k->driver.module_load(&slot->module, bytes);
    if (*result) {
        slot->module = NULL;
        return driver_fault(error, *result, "cuModuleLoadData", v->entry);
    }
    other = k->driver.module_function(&slot->function, slot->module, v->entry);
//@ if host.part.lists then
    slot->list = NULL;
    if (!other && of->image[variant].lists) {
        char list[512];
        snprintf(list, sizeof list, "%s_list", v->entry);
        other = k->driver.module_function(&slot->list, slot->module, list);
    }
//@ end
    if (other)
        return driver_fault(error, other, "cuModuleGetFunction", v->entry);
    if (v->shared_bytes > 0)
        other = k->driver.function_set(slot->function, shared_bytes, (int)v->shared_bytes);
//@ if host.part.clusters then
    if (!other && v->cluster[0] * v->cluster[1] * v->cluster[2] > portable_cluster)
        other = k->driver.function_set(slot->function, any_cluster, 1);
//@ end
//@ if host.part.debug then
    if (!other)
        return debug_attach(k, slot, variant - of->target[k->target - 1].first, error);
//@ end
    return other ? driver_fault(error, other, "cuFuncSetAttribute", v->entry) : ${T}_OK;
}

//@ if host.part.tuned then
/* One that asks for more shared memory than the device has is left out, as one for other sizes is. */
static int is_wanted(const struct ${T}_state *k, const struct tables *of, int variant, const struct device *device,
                     const struct wanted *wanted)
{
    const int setup = of->image[variant].setup;
    return of->variant[variant].shared_bytes <= (uint32_t)device->shared_bytes &&
           (!setup || !wanted->takes || wanted->takes(k, wanted->args, wanted->count, setup));
}

/* The GPU's own choice among set-ups, else the first of its architecture. */
static void choose_table(struct ${T}_state *k, const struct tables *of, int device)
{
    char name[256] = "";
    int i, found = 0;
    if (k->driver.device_name && k->driver.device_name(name, (int)sizeof name - 1, device))
        name[0] = '\0';
    k->choice = ~0;
    for (i = 0; i < of->choice_count; i++) {
        if (of->choice[i].target != k->target || (found && strcmp(of->choice[i].gpu, name) != 0))
            continue;
        k->choice = of->choice[i].begin;
        found = 1;
    }
}

//@ end
/* PTX for a device that is newer than the target, and for one that takes no binaries at all, an emulated one. What is
 * text is made here, and freed when it is loaded. */
//@ if host.part.tuned then
static int load_variants(struct ${T}_state *k, struct ${T}_slot *slots, const struct tables *of, const struct device *device, const struct wanted *wanted, struct ${T}_error *error)
//@ else
static int load_variants(struct ${T}_state *k, struct ${T}_slot *slots, const struct tables *of, const struct device *device, struct ${T}_error *error)
//@ end
{
    const struct target *t = &of->target[k->target - 1];
    int status = ${T}_OK, v, result;
//@ if host.part.text then
    enum { no_binary_for_gpu = 209 };
    int as_ptx = t->major != device->major;
//@ end
//@ if host.part.source then
    struct compiler compiler;
    memset(&compiler, 0, sizeof compiler);
//@ end
    for (v = t->first; v < t->first + t->count && !status; v++) {
        struct ${T}_slot *slot = &slots[v - t->first];
        const struct image *image = &of->image[v];
//@ if host.part.tuned then
        if (!is_wanted(k, of, v, device, wanted))
            continue;
//@ end
//@ if host.part.text then
        do {
            char *text = NULL;
            result = 0;
            if (as_ptx && image->ptx)
                status = (text = join(image->ptx, error)) ? ${T}_OK : ${T}_NO_MEMORY;
//@     if host.part.source then
            else if (image->source && (as_ptx || !image->cubin)) {
                status = compiler.library ? ${T}_OK : open_compiler(&compiler, error);
                status = status ? status : compile(&compiler, of, v, as_ptx, &text, error);
            }
//@     end
            if (!status)
                status = load_image(k, slot, of, v, text ? text : image->cubin, &result, error);
            free(text);
        } while (result == no_binary_for_gpu && (image->source || image->ptx) && !as_ptx++);
//@ else
        status = load_image(k, slot, of, v, image->cubin, &result, error);
//@ end
//@ if host.part.clusters then
        if (!status)
            count_resident(k, slot, &of->variant[v], image, device->sm_count);
//@ else
        slot->resident = device->sm_count;
//@ end
    }
//@ if host.part.source then
    close_compiler(&compiler);
//@ end
    return status;
}

${STATIC}int unload_kernel(struct ${T}_state *k, struct ${T}_slot *slots, const struct tables *of, struct ${T}_error *error)
{
    int status = ${T}_OK, v;
    for (v = 0; v < of->slots; v++) {
        int result = slots[v].module ? k->driver.module_unload(slots[v].module) : 0;
        if (result && !status)
            status = driver_fault(error, result, "cuModuleUnload", of->name);
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
    memset(slots, 0, (size_t)of->slots * sizeof *slots);
    memset(k, 0, sizeof *k);
    return status;
}

/* Looks at the device. 0, or a status. */
static int find_device(struct ${T}_state *k, struct device *device, int *ordinal, struct ${T}_error *error)
{
    static const int asked[] = {75, 76, 16, 97}; /* CUdevice_attributes */
    int *const value[] = {&device->major, &device->minor, &device->sm_count, &device->shared_bytes};
    int i, result = k->driver.version(&k->driver_version);
    if (result)
        return driver_fault(error, result, "cuDriverGetVersion", "the driver");
    result = k->driver.context_device(ordinal);
    if (result)
        return driver_fault(error, result, "cuCtxGetDevice", "the current context");
    for (i = 0; i < 4 && !result; i++)
        result = k->driver.device_attribute(value[i], asked[i], *ordinal);
    k->capability = 10 * device->major + device->minor;
    return result ? driver_fault(error, result, "cuDeviceGetAttribute", "the current device") : ${T}_OK;
}

//@ if host.part.tuned then
${STATIC}int load_kernel(struct ${T}_state *k, struct ${T}_slot *slots, const struct tables *of, const struct ${T}_driver *driver, const struct wanted *wanted, struct ${T}_error *error)
//@ else
${STATIC}int load_kernel(struct ${T}_state *k, struct ${T}_slot *slots, const struct tables *of, const struct ${T}_driver *driver, struct ${T}_error *error)
//@ end
{
    struct ${T}_driver table; /* the caller's may lie in what is loaded */
    struct device device = {0, 0, 0, 0};
    int status, ordinal = 0;
    if (driver)
        table = *driver;
    memset(k, 0, sizeof *k);
    memset(slots, 0, (size_t)of->slots * sizeof *slots);
    status = open_driver(k, driver ? &table : NULL, error);
    status = status ? status : find_device(k, &device, &ordinal, error);
    if (!status && !(k->target = 1 + choose_target(of, &device)))
        status = refuse_device(of, &device, error);
//@ if host.part.tuned then
    if (!status)
        choose_table(k, of, ordinal);
//@ end
//@ if host.part.debug then
    status = status ? status : debug_memory(k, of, error);
//@ end
//@ if host.part.tuned then
    status = status ? status : load_variants(k, slots, of, &device, wanted, error);
//@ else
    status = status ? status : load_variants(k, slots, of, &device, error);
//@ end
//@ if host.part.maps then
    status = status ? status : check_images(k, of, error);
//@ end
    if (status)
        unload_kernel(k, slots, of, NULL);
    return status;
}
