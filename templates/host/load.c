//@ -- What the header declares: load, unload, workspace, launch, info, strerror.
//@ param host table
//@ local NAME = host.name
/* ---- load ------------------------------------------------------------------------------------------------------ */

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
    function_shared_bytes = 8,
    function_any_cluster = 14,
    cluster_attribute = 4
};

/* By variant, in the order of `variants`. */
static const struct launch_attribute attributes[][1] = {
//@ for _, i in ipairs(host.image) do
    {{cluster_attribute, 0, {{${i.cluster.x}u, ${i.cluster.y}u, ${i.cluster.z}u}}}},
//@ end
};

static uint32_t cluster_blocks(const struct ${NAME}_variant *v)
{
    return v->cluster[0] * v->cluster[1] * v->cluster[2];
}

/* What the driver takes, from here on to the end of the launch. */
static void configure(struct launch_config *config, int variant, const uint32_t *grid, void *stream)
{
    const struct ${NAME}_variant *v = &variants[variant];
    memset(config, 0, sizeof *config);
    config->grid[0] = grid[0];
    config->grid[1] = grid[1];
    config->grid[2] = grid[2];
    config->block[0] = v->threads;
    config->block[1] = 1;
    config->block[2] = 1;
    config->shared_bytes = v->shared_bytes;
    config->stream = stream;
    config->attributes = attributes[variant];
    config->attribute_count = cluster_blocks(v) > 1;
}

/* The target for a compute capability: its own, else the nearest of the same major version, else the newest whose PTX
 * may run on later devices. -1: none. */
static int choose_target(int major, int minor)
{
    int i, best = -1, best_score = 0;
    for (i = 0; i < target_count; i++) {
        const struct target *t = &targets[i];
        int own = 10 * t->major + t->minor, score = 0;
        if (t->major == major && t->minor == minor)
            score = 3000 + t->exact;
        else if (t->major == major && t->minor < minor && !t->exact)
            score = 2000 + own;
        else if (t->newer && own < 10 * major + minor)
            score = 1000 + own;
        if (score > best_score) {
            best_score = score;
            best = i;
        }
    }
    return best;
}

/* Persistent grids take one block for each multiprocessor that can hold one: where clusters do not fill every GPC, that
 * is fewer than there are. Only a number of blocks depends on it, so a driver that cannot say is no fault. */
static void count_resident(struct ${NAME} *k, int v, int variant, int sm_count)
{
    static const uint32_t one[3] = {1, 1, 1};
    struct launch_config config;
    uint32_t blocks = cluster_blocks(&variants[variant]);
    int clusters = 0;
    k->resident[v] = sm_count;
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

static int load_image(struct ${NAME} *k, int v, const void *bytes, struct ${NAME}_error *error)
{
    enum { portable_cluster = 8 };
    int variant = targets[k->target - 1].first + v, result;
    const struct ${NAME}_variant *row = &variants[variant];
    result = k->driver.module_load(&k->module[v], bytes);
    if (result) {
        k->module[v] = NULL;
        return driver_fault(error, result, "cuModuleLoadData", row->entry);
    }
    result = k->driver.module_function(&k->function[v], k->module[v], row->entry);
    if (result)
        return driver_fault(error, result, "cuModuleGetFunction", row->entry);
    if (row->shared_bytes > 0) {
        result = k->driver.function_set(k->function[v], function_shared_bytes, (int)row->shared_bytes);
        if (result)
            return driver_fault(error, result, "cuFuncSetAttribute", row->entry);
    }
    if (cluster_blocks(row) > portable_cluster) {
        result = k->driver.function_set(k->function[v], function_any_cluster, 1);
        if (result)
            return driver_fault(error, result, "cuFuncSetAttribute", row->entry);
    }
    return ${NAME}_OK;
}

static int load_variants(struct ${NAME} *k, int newer, int sm_count, struct ${NAME}_error *error)
{
    const struct target *t = &targets[k->target - 1];
    int status = ${NAME}_OK, v;
//@ if host.has_source then
    struct compiler compiler;
    memset(&compiler, 0, sizeof compiler);
//@ end
    for (v = 0; v < t->count && !status; v++) {
        const struct image *image = &images[t->first + v];
//@ if host.has_text then
        char *text = NULL;
        if (newer && image->ptx) {
            text = join(image->ptx, image->ptx_lines);
            if (!text)
                status = fail(error, ${NAME}_NO_MEMORY, 0, "no memory for the kernel's PTX");
        }
//@     if host.has_source then
        if (image->source && !text && !status && (newer || !image->cubin)) {
            if (!compiler.library)
                status = open_compiler(&compiler, error);
            if (!status)
                status = compile(&compiler, image, newer ? t->text : t->binary, newer, &text, error);
        }
//@     end
        if (!status)
            status = load_image(k, v, text ? text : image->cubin, error);
        free(text);
//@ else
        status = load_image(k, v, image->cubin, error);
//@ end
        if (!status)
            count_resident(k, v, t->first + v, sm_count);
    }
//@ if host.has_source then
    close_compiler(&compiler);
//@ end
//@ if not host.has_text then
    (void)newer;
//@ end
    return status;
}

static int attribute(struct ${NAME} *k, int *value, int which, int device, struct ${NAME}_error *error)
{
    int result = k->driver.device_attribute(value, which, device);
    return result ? driver_fault(error, result, "cuDeviceGetAttribute", "the current device") : 0;
}

int ${NAME}_load(struct ${NAME} *kernel, const struct ${NAME}_driver *driver, struct ${NAME}_error *error)
{
    struct ${NAME} *k = kernel;
    int status, result, device = 0, major = 0, minor = 0, sm_count = 0;
    memset(k, 0, sizeof *k);
    status = driver ? take_driver(k, driver, error) : open_driver(k, error);
    if (status)
        goto fail;
    result = k->driver.version(&k->driver_version);
    if (result) {
        status = driver_fault(error, result, "cuDriverGetVersion", "the driver");
        goto fail;
    }
    result = k->driver.context_device(&device);
    if (result) {
        status = driver_fault(error, result, "cuCtxGetDevice", "the current context");
        goto fail;
    }
    status = attribute(k, &major, major_attribute, device, error);
    if (!status)
        status = attribute(k, &minor, minor_attribute, device, error);
    if (!status)
        status = attribute(k, &sm_count, sm_count_attribute, device, error);
    if (status)
        goto fail;
    k->capability = 10 * major + minor;
    k->target = 1 + choose_target(major, minor);
    if (k->target == 0) {
        status = fail(error, ${NAME}_UNSUPPORTED, 0, "the current device has compute capability %d.%d; the kernel was made "
                      "for ${host.arch_list}", major, minor);
        goto fail;
    }
    status = load_variants(k, targets[k->target - 1].major != major, sm_count, error);
    if (status)
        goto fail;
//@ if host.map_count > 0 then
    if (uses_maps(k->target) && !k->driver.encode_tiled) {
        status = fail(error, ${NAME}_OLD_DRIVER, 0, "the CUDA driver has no cuTensorMapEncodeTiled");
        goto fail;
    }
    if (uses_maps(k->target))
        check_images(k);
//@ end
    return ${NAME}_OK;

fail:
    ${NAME}_unload(k, NULL);
    return status;
}

int ${NAME}_unload(struct ${NAME} *kernel, struct ${NAME}_error *error)
{
    int status = ${NAME}_OK, v;
    for (v = 0; v < (int)(sizeof kernel->module / sizeof *kernel->module); v++) {
        int result = kernel->module[v] ? kernel->driver.module_unload(kernel->module[v]) : 0;
        if (result && !status)
            status = driver_fault(error, result, "cuModuleUnload", "${NAME}");
    }
    if (kernel->library)
        dlclose(kernel->library);
    memset(kernel, 0, sizeof *kernel);
    return status;
}

/* ---- launch ---------------------------------------------------------------------------------------------------- */

int ${NAME}_workspace(const struct ${NAME} *kernel, const struct ${NAME}_args *args, uint64_t *bytes,
                      struct ${NAME}_error *error)
{
    int status = check_sizes(args, error);
    (void)kernel;
    *bytes = status ? 0 : ${host.workspace};
    return status;
}

int ${NAME}_launch(const struct ${NAME} *kernel, const struct ${NAME}_args *args, void *stream,
                   struct ${NAME}_error *error)
{
    struct ${NAME}_params p;
    struct launch_config config;
    void *arguments[1];
    int result, status = ${NAME}_params(kernel, args, &p, error);
    if (status || p.grid[0] == 0)
        return status;
    configure(&config, targets[kernel->target - 1].first + p.variant, p.grid, stream);
    arguments[0] = p.word; /* one struct is the kernel's only parameter; the driver copies it */
    result = kernel->driver.launch(&config, p.function, arguments, NULL);
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
