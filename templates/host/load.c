//@ -- Load and unload: variants for the device, and what launches ask of the driver.
//@ param host table
//@ local NAME = host.name
/* ---- load ------------------------------------------------------------------------------------------------------ */

/* What load settles for those below. */
static void choose_copy(struct ${NAME} *k);
//@ if host.tuned then
static void choose_table(struct ${NAME} *k, int device);
static int setup_for(const struct ${NAME} *k, const struct ${NAME}_args *args);
//@ end
//@ if host.map_count > 0 then
static int uses_maps(int target);
static void check_images(struct ${NAME} *k);
//@ end

/* CUlaunchAttribute and CUlaunchConfig of cuda.h. */
struct launch_attribute {
    int id, pad;
    union {
        uint32_t cluster[3];
        uint64_t word[8];
    } value;
};

struct launch_config {
    uint32_t grid[3], block[3];
    uint32_t shared_bytes;
    void *stream;
    const struct launch_attribute *attributes;
    uint32_t attribute_count;
};

/* CUdevice_attribute, CUfunction_attribute, CUlaunchAttributeID */
enum {
    sm_count_attribute = 16,
    major_attribute = 75,
    minor_attribute = 76,
    shared_attribute = 97, /* CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
    function_shared_bytes = 8,
    function_any_cluster = 14,
    cluster_attribute = 4,
    programmatic_attribute = 6
};

/* By variant, in the order of `variants`. */
static const struct launch_attribute attributes[][2] = {
//@ for _, i in ipairs(host.image) do
//@     local cluster = "{cluster_attribute, 0, {{" .. csv { i.cluster.x, i.cluster.y, i.cluster.z } .. "}}}"
//@     local programmatic = "{programmatic_attribute, 0, {{1, 0, 0}}}"
//@     local list = {}
//@     if i.cluster.x * i.cluster.y * i.cluster.z > 1 then list[1] = cluster end
//@     if i.programmatic then list[#list + 1] = programmatic end
//@     while #list < 2 do list[#list + 1] = "{0, 0, {{0, 0, 0}}}" end
//@     local both = table.concat(list, ", ")
    {${both}},
//@ end
};

static uint32_t cluster_blocks(const struct ${NAME}_variant *v)
{
    return v->cluster[0] * v->cluster[1] * v->cluster[2];
}

//@ if host.lists then
/* By variant: the kernel that finds which turns there are; NULL: it has none. */
static const char *const lists[] = {
//@     for _, i in ipairs(host.image) do
//@         local name = has(i, "list") and '"' .. i.entry .. '_list"' or "NULL"
    ${name},
//@     end
};

//@ end
/* What the driver takes; the grid and the stream are a launch's. */
static const struct launch_config configs[] = {
//@ for n, i in ipairs(host.image) do
//@     local number = n - 1
//@     local count = (i.cluster.x * i.cluster.y * i.cluster.z > 1 and 1 or 0) + (i.programmatic and 1 or 0)
    {{0, 0, 0}, {${i.threads}, 1, 1}, ${i.shared_bytes}, NULL, attributes[${number}], ${count}},
//@ end
};

static inline void configure(struct launch_config *config, int variant, const uint32_t *grid, void *stream)
{
    *config = configs[variant];
    config->grid[0] = grid[0];
    config->grid[1] = grid[1];
    config->grid[2] = grid[2];
    config->stream = stream;
}

/* The current device, as the driver has it. */
struct device {
    int major, minor;
    int shared_bytes; /* most that a block can opt in to */
    int sm_count;
};

/* The target for a device whose blocks have the shared memory for it: that of its compute capability, else the nearest
 * of the same major version, else the newest whose PTX may run on later devices. -1: none. */
static int choose_target(const struct device *d)
{
    int i, best = -1, best_score = 0;
    for (i = 0; i < target_count; i++) {
        const struct target *t = &targets[i];
        int own = 10 * t->major + t->minor, score = 0;
        if (t->shared_bytes > d->shared_bytes)
            continue;
        if (t->major == d->major && t->minor == d->minor)
            score = 3000 + t->exact;
        else if (t->major == d->major && t->minor < d->minor && !t->exact)
            score = 2000 + own;
        else if (t->newer && own < 10 * d->major + d->minor)
            score = 1000 + own;
        if (score > best_score) {
            best_score = score;
            best = i;
        }
    }
    return best;
}

/* Why there is none: what the device is, and what each target wants. */
static int refuse_device(const struct device *d, struct ${NAME}_error *error)
{
    char wanted[700];
    size_t at = 0;
    int i;
    for (i = 0; i < target_count && at < sizeof wanted; i++) {
        const struct target *t = &targets[i];
        const char *before = i ? ", " : "";
        const char *later = t->exact ? "" : t->newer ? " or newer" : " or newer of that major version";
        int length = snprintf(wanted + at, sizeof wanted - at, "%s%s (%d.%d%s, %d bytes)", before, t->arch, t->major,
                              t->minor, later, t->shared_bytes);
        at += length > 0 ? (size_t)length : 0;
    }
    return fail(error, ${NAME}_UNSUPPORTED, 0, "the current device has compute capability %d.%d and %d bytes of shared "
                "memory for a block; the kernel was made for %s", d->major, d->minor, d->shared_bytes, wanted);
}

/* Persistent grids take one block for each multiprocessor that can hold one: where clusters do not fill every GPC, that
 * is fewer than there are. Only a number of blocks depends on it, so a driver that cannot say is no fault. */
static void count_resident(struct ${NAME} *k, int v, int variant, int sm_count)
{
    static const uint32_t one[3] = {1, 1, 1};
    struct launch_config config;
    uint32_t blocks = cluster_blocks(&variants[variant]);
    int clusters = 0;
    k->resident[v] = sm_count > (int)blocks ? sm_count : (int)blocks; /* a persistent grid is one cluster at least */
    if (blocks < 2 || !k->driver.max_active_clusters)
        return;
    configure(&config, variant, one, NULL);
    config.grid[0] = variants[variant].cluster[0];
    config.grid[1] = variants[variant].cluster[1];
    config.grid[2] = variants[variant].cluster[2];
    if (k->driver.max_active_clusters(&clusters, k->function[v], &config) == 0 && clusters > 0 &&
        (int64_t)clusters * (int64_t)blocks < (int64_t)sm_count * images[variant].blocks_per_sm)
        k->resident[v] = (int32_t)((int64_t)clusters * (int64_t)blocks / images[variant].blocks_per_sm);
}

//@ if host.debug then
/* Memory for the records of every variant, which the device writes and a dead context leaves. */
static int debug_memory(struct ${NAME} *k, struct ${NAME}_error *error)
{
    enum { portable_mapped = 1 | 2 }; /* CU_MEMHOSTALLOC_PORTABLE, _DEVICEMAP: one address for host and devices */
    size_t variants_here = sizeof k->module / sizeof *k->module;
    /* The last: whether they were told. */
    size_t bytes = (variants_here * debug_room + 1) * sizeof(struct debug_record);
    int result = k->driver.host_alloc(&k->debug, bytes, portable_mapped);
    if (result) {
        k->debug = NULL;
        return driver_fault(error, result, "cuMemHostAlloc", "the debug records");
    }
    memset(k->debug, 0, bytes);
    return ${NAME}_OK;
}

static struct debug_record *debug_records(const struct ${NAME} *k, int v)
{
    return (struct debug_record *)k->debug + (size_t)v * debug_room;
}

/* Tells the variant where its records go. */
static int debug_attach(struct ${NAME} *k, int v, struct ${NAME}_error *error)
{
    enum { not_found = 500 };
    uint64_t at = 0;
    size_t bytes = 0;
    struct debug_state state;
    int result = k->driver.module_global(&at, &bytes, k->module[v], "tilewright_debug");
    if (result == not_found)
        return ${NAME}_OK; /* nothing in it waits on an mbarrier */
    if (result)
        return driver_fault(error, result, "cuModuleGetGlobal", "tilewright_debug");
    memset(&state, 0, sizeof state);
    state.record = (uint64_t)(uintptr_t)debug_records(k, v);
    state.room = debug_room;
    state.hardware = 1;
    result = k->driver.copy_to_device(at, &state, sizeof state);
    return result ? driver_fault(error, result, "cuMemcpyHtoD", "tilewright_debug") : ${NAME}_OK;
}

//@ end
/* *result: what cuModuleLoadData gave. */
static int load_image(struct ${NAME} *k, int v, const void *bytes, int *result, struct ${NAME}_error *error)
{
    enum { portable_cluster = 8 };
    int variant = targets[k->target - 1].first + v, other;
    const struct ${NAME}_variant *row = &variants[variant];
    *result = k->driver.module_load(&k->module[v], bytes);
    if (*result) {
        k->module[v] = NULL;
        return driver_fault(error, *result, "cuModuleLoadData", row->entry);
    }
    other = k->driver.module_function(&k->function[v], k->module[v], row->entry);
    if (other)
        return driver_fault(error, other, "cuModuleGetFunction", row->entry);
//@ if host.lists then
    k->list[v] = NULL;
    if (lists[variant]) {
        other = k->driver.module_function(&k->list[v], k->module[v], lists[variant]);
        if (other)
            return driver_fault(error, other, "cuModuleGetFunction", lists[variant]);
    }
//@ end
    if (row->shared_bytes > 0) {
        other = k->driver.function_set(k->function[v], function_shared_bytes, (int)row->shared_bytes);
        if (other)
            return driver_fault(error, other, "cuFuncSetAttribute", row->entry);
    }
    if (cluster_blocks(row) > portable_cluster) {
        other = k->driver.function_set(k->function[v], function_any_cluster, 1);
        if (other)
            return driver_fault(error, other, "cuFuncSetAttribute", row->entry);
    }
//@ if host.debug then
    return debug_attach(k, v, error);
//@ else
    return ${NAME}_OK;
//@ end
}

//@ if host.has_text then
/* What of a variant is made here, for the caller to free: PTX where as_ptx wants it, its source compiled. *text is NULL
 * where it is loaded as the cubin that it is. */
//@     if host.has_source then
static int make_text(struct compiler *compiler, const struct target *t, const struct image *image, int as_ptx,
                     char **text, struct ${NAME}_error *error)
{
    int status = ${NAME}_OK;
    *text = NULL;
    if (as_ptx && image->ptx) {
        *text = join(image->ptx, image->ptx_chunks);
        return *text ? ${NAME}_OK : fail(error, ${NAME}_NO_MEMORY, 0, "no memory for the kernel's PTX");
    }
    if (!image->source || (image->cubin && !as_ptx))
        return ${NAME}_OK;
    if (!compiler->library)
        status = open_compiler(compiler, error);
    return status ? status : compile(compiler, image, as_ptx ? t->text : t->binary, as_ptx, text, error);
}
//@     else
static int make_text(const struct image *image, int as_ptx, char **text, struct ${NAME}_error *error)
{
    *text = NULL;
    if (!as_ptx || !image->ptx)
        return ${NAME}_OK;
    *text = join(image->ptx, image->ptx_chunks);
    return *text ? ${NAME}_OK : fail(error, ${NAME}_NO_MEMORY, 0, "no memory for the kernel's PTX");
}
//@     end

//@ end
//@ if host.tuned then
/* Which set-up a variant is, in the order of `variants`; 0: none. */
static const int setups[] = {
//@     for _, g in ipairs(host.target) do
//@         local list = {}
//@         for _ = 1, #g.image do list[#list + 1] = 0 end
//@         for n = 1, #g.setup do list[#list + 1] = n end
//@         local row = csv(list)
    ${row}, /* ${g.arch} */
//@     end
};

/* Which set-ups: all, or those that these sizes choose. */
struct wanted {
    int all;
    const struct ${NAME}_args *args;
    int count;
};

/* One that asks for more shared memory than the device has is left out, as one for other sizes is. */
static int is_wanted(const struct ${NAME} *k, int v, const struct device *device, const struct wanted *wanted)
{
    const int variant = targets[k->target - 1].first + v, setup = setups[variant];
    int i, found = wanted->all || setup == 0;
    for (i = 0; i < wanted->count && !found; i++)
        found = setup_for(k, &wanted->args[i]) == setup;
    return found && variants[variant].shared_bytes <= (uint32_t)device->shared_bytes;
}

//@ end
/* PTX for a device that is newer than the target, and for one that takes no binaries at all, an emulated one. */
//@ if host.tuned then
static int load_variants(struct ${NAME} *k, const struct device *device, const struct wanted *wanted,
                         struct ${NAME}_error *error)
//@ else
static int load_variants(struct ${NAME} *k, const struct device *device, struct ${NAME}_error *error)
//@ end
{
//@ if host.has_text then
    enum { no_binary_for_gpu = 209 };
//@ end
    const struct target *t = &targets[k->target - 1];
    int status = ${NAME}_OK, v = 0;
//@ if host.has_text then
    int as_ptx = t->major != device->major;
//@ end
//@ if host.has_source then
    struct compiler compiler;
    memset(&compiler, 0, sizeof compiler);
//@ end
    while (v < t->count && !status) {
        const struct image *image = &images[t->first + v];
        int result = 0;
//@ if host.has_text then
        char *text = NULL;
//@ end
//@ if host.tuned then
        if (!is_wanted(k, v, device, wanted)) {
            v++;
            continue;
        }
//@ end
//@ if host.has_text then
//@     if host.has_source then
        status = make_text(&compiler, t, image, as_ptx, &text, error);
//@     else
        status = make_text(image, as_ptx, &text, error);
//@     end
        if (!status)
            status = load_image(k, v, text ? text : image->cubin, &result, error);
        free(text);
        if (result == no_binary_for_gpu && !as_ptx && (image->source || image->ptx)) {
            status = ${NAME}_OK;
            as_ptx = 1;
            continue;
        }
//@ else
        status = load_image(k, v, image->cubin, &result, error);
//@ end
        if (!status)
            count_resident(k, v, t->first + v, device->sm_count);
        v++;
    }
//@ if host.has_source then
    close_compiler(&compiler);
//@ end
    return status;
}

static int attribute(struct ${NAME} *k, int *value, int which, int device, struct ${NAME}_error *error)
{
    int result = k->driver.device_attribute(value, which, device);
    return result ? driver_fault(error, result, "cuDeviceGetAttribute", "the current device") : 0;
}

//@ if host.tuned then
static int load(struct ${NAME} *kernel, const struct ${NAME}_driver *driver, const struct wanted *wanted,
                struct ${NAME}_error *error)
//@ else
int ${NAME}_load(struct ${NAME} *kernel, const struct ${NAME}_driver *driver, struct ${NAME}_error *error)
//@ end
{
    struct ${NAME} *k = kernel;
    struct ${NAME}_driver table; /* the caller's may lie in *kernel */
    struct device device = {0, 0, 0, 0};
    int status, result, ordinal = 0;
    if (driver)
        table = *driver;
    memset(k, 0, sizeof *k);
    choose_copy(k);
    status = driver ? take_driver(k, &table, error) : open_driver(k, error);
    if (status)
        goto fail;
    result = k->driver.version(&k->driver_version);
    if (result) {
        status = driver_fault(error, result, "cuDriverGetVersion", "the driver");
        goto fail;
    }
    result = k->driver.context_device(&ordinal);
    if (result) {
        status = driver_fault(error, result, "cuCtxGetDevice", "the current context");
        goto fail;
    }
    status = attribute(k, &device.major, major_attribute, ordinal, error);
    if (!status)
        status = attribute(k, &device.minor, minor_attribute, ordinal, error);
    if (!status)
        status = attribute(k, &device.shared_bytes, shared_attribute, ordinal, error);
    if (!status)
        status = attribute(k, &device.sm_count, sm_count_attribute, ordinal, error);
    if (status)
        goto fail;
    k->capability = 10 * device.major + device.minor;
    k->target = 1 + choose_target(&device);
    if (k->target == 0) {
        status = refuse_device(&device, error);
        goto fail;
    }
//@ if host.tuned then
    choose_table(k, ordinal);
//@ end
//@ if host.debug then
    status = debug_memory(k, error);
    if (status)
        goto fail;
//@ end
//@ if host.tuned then
    status = load_variants(k, &device, wanted, error);
//@ else
    status = load_variants(k, &device, error);
//@ end
    if (status)
        goto fail;
//@ if host.map_count > 0 then
    if (uses_maps(k->target) && !k->driver.encode_tiled) {
        status = fail(error, ${NAME}_OLD_DRIVER, 0, "the CUDA driver has no cuTensorMapEncodeTiled");
        goto fail;
    }
//@ if host.windows then
    if (uses_maps(k->target) && !k->driver.encode_im2col) {
        status = fail(error, ${NAME}_OLD_DRIVER, 0, "the CUDA driver has no cuTensorMapEncodeIm2col");
        goto fail;
    }
//@ end
    if (uses_maps(k->target))
        check_images(k);
//@ end
    return ${NAME}_OK;

fail:
    ${NAME}_unload(k, NULL);
    return status;
}

//@ if host.tuned then
int ${NAME}_load(struct ${NAME} *kernel, const struct ${NAME}_driver *driver, struct ${NAME}_error *error)
{
    static const struct wanted all = {1, NULL, 0};
    return load(kernel, driver, &all, error);
}

int ${NAME}_load_for(struct ${NAME} *kernel, const struct ${NAME}_driver *driver, const struct ${NAME}_args *args,
                     int count, struct ${NAME}_error *error)
{
    struct wanted wanted;
    wanted.all = 0;
    wanted.args = args;
    wanted.count = count;
    return load(kernel, driver, &wanted, error);
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
    char file[256];
    int v, count = 0;
    for (v = 0; kernel->debug && kernel->target && v < targets[kernel->target - 1].count; v++) {
        const struct ${NAME}_variant *row = &variants[targets[kernel->target - 1].first + v];
        snprintf(file, sizeof file, "%s.%s.cu", row->entry, row->arch);
        count += debug_tell(debug_records(kernel, v), row->entry, file, &debug_hardware, tell ? tell : debug_print,
                            tell ? context : (void *)stderr);
    }
    if (count)
        debug_records(kernel, (int)(sizeof kernel->module / sizeof *kernel->module))->kind = 1; /* told */
    return count;
}

//@ end
int ${NAME}_unload(struct ${NAME} *kernel, struct ${NAME}_error *error)
{
    int status = ${NAME}_OK, v;
//@ if host.debug then
    if (kernel->debug && !debug_records(kernel, (int)(sizeof kernel->module / sizeof *kernel->module))->kind)
        ${NAME}_debug_report(kernel, NULL, NULL);
//@ end
    for (v = 0; v < (int)(sizeof kernel->module / sizeof *kernel->module); v++) {
        int result = kernel->module[v] ? kernel->driver.module_unload(kernel->module[v]) : 0;
        if (result && !status)
            status = driver_fault(error, result, "cuModuleUnload", "${NAME}");
    }
//@ if host.debug then
    if (kernel->debug) {
        int result = kernel->driver.host_free(kernel->debug);
        if (result && !status)
            status = driver_fault(error, result, "cuMemFreeHost", "the debug records");
    }
//@ end
    if (kernel->library)
        dlclose(kernel->library);
    memset(kernel, 0, sizeof *kernel);
    return status;
}
