//@ -- A kernel's functions but for what its own names stand in: of the kernel `name`, or, where kernels share them, of
//@ -- KERNEL, a macro that each defines.
//@ param host table
//@ local NAME, T = host.name, host.types
/* A launch's bytes are copied by a function that load chooses, as what a compiler puts in the place of memcpy takes
 * registers that every machine has. Where a machine has AVX, straight lines of it are faster than libc's memcpy, which
 * finds out the size each time. */
#if defined(__GNUC__) && defined(__x86_64__)
typedef uint64_t lanes __attribute__((vector_size(32), aligned(8), may_alias));

/* memcpy of a launch's parameters; the last 32 bytes overlap those before. */
__attribute__((target("avx"))) TOGETHER static void *copy_avx(void *to, const void *from, size_t bytes)
{
    enum { turns = sizeof(struct ${NAME}_params) / sizeof(lanes) };
    const size_t last = sizeof(struct ${NAME}_params) - sizeof(lanes);
    lanes *t = (lanes *)to;
    const lanes *f = (const lanes *)from;
    int i;
#if defined(__clang__) || __GNUC__ >= 8
#pragma GCC unroll 256
#endif
    for (i = 0; i < turns; i++)
        t[i] = f[i];
    *(lanes *)((unsigned char *)to + last) = *(const lanes *)((const unsigned char *)from + last);
    __builtin_ia32_vzeroupper(); /* compilers add it by themselves only where they optimise */
    (void)bytes;
    return to;
}
#endif

static void choose_copy(struct ${T}_state *k)
{
    k->copy = memcpy;
#if defined(__GNUC__) && defined(__x86_64__)
    if (__builtin_cpu_supports("avx"))
        k->copy = copy_avx;
#endif
}

/* In a copy of variant v's launch, where `slot` has it loaded. 0, or why it is none. */
INLINE int fill_launch(const struct ${T}_state *k, const struct ${T}_slot *slot, int shape, int v, int patched,
                const struct ${NAME}_args *args, const struct tensor *t, struct ${NAME}_params *p, struct ${T}_error *error)
{
    int64_t n[5];
    int status = patch(k, shape, v, patched, args, t, p->word, error);
    p->function = slot->function;
    count_work(args, v, slot->resident, n);
//@ if host.body then
#ifdef KERNEL_LISTS
//@ end
//@ if host.body or host.lists then
    p->list = slot->list;
    p->list_grid = (uint32_t)n[4];
//@ end
//@ if host.body then
#endif
//@ end
    return status ? status : put_grid(n, p->grid, error);
}

/* Any arguments: those that are refused, empty tensors, maps that the driver encodes. */
APART static int params_of_any(const struct ${NAME} *kernel, const struct ${NAME}_args *args, struct ${NAME}_params *p,
                               struct ${T}_error *error)
{
    const struct target *target = kernel->state.target ? &targets[kernel->state.target - 1] : NULL;
    struct tensor t[tensors_in_all];
    int64_t n[5];
    int v, last, status = check_arguments(args, error);
    if (status)
        return status;
    resolve(args, 0, t);
    status = check_tensors(&tables, t, error);
//@ if host.body or host.part.maps then
    if (!status)
        place_empty(&tables, t);
//@ end
    if (!target)
        return status ? status : fail(error, ${T}_INVALID, 0, "the kernel is not loaded");
    last = target->first + target->own - 1;
    v = target->first;
//@ if host.body then
#ifdef KERNEL_TUNED
//@ end
//@ if host.body or host.tuned then
    /* The set-up for the sizes, where it is loaded and the tensors fit it. */
    if (setup_of(&kernel->state, args))
        v = last + setup_of(&kernel->state, args);
    if (!kernel->slot[v - target->first].function || !fits(images[v].shape, t))
        v = target->first;
//@ end
//@ if host.body then
#endif
//@ end
    while (v < last && !fits(images[v].shape, t))
        v++;
    if (!status && !fits(images[v].shape, t))
        status = refuse_alignment(&tables, kernel->state.target, t, error);
    if (!status) {
        memcpy(p, &launches[v].p, sizeof *p);
        status = fill_launch(&kernel->state, &kernel->slot[v - target->first], images[v].shape, v,
                      kernel->state.static_images, args, t, p, error);
    }
    if (status != ${T}_INVALID)
        return status;
    /* Where the sizes leave nothing to compute, it does not matter what their tensors are. */
    count_work(args, last, kernel->slot[target->own - 1].resident, n);
    if (put_grid(n, p->grid, NULL) || p->grid[0])
        return status;
    memset(p, 0, sizeof *p);
    return ${T}_OK;
}

/* Arguments that need no substitute, in a variant whose tensors they fit. Returns whether *p is filled. The copy comes
 * first: nothing but pointers must be kept across it. */
INLINE int ordinary(const struct ${T}_state *k, const struct ${T}_slot *slot, const struct ${NAME}_args *args, int dense,
                    int shape, int v, struct ${NAME}_params *p)
{
    struct tensor t[tensors_in_all];
    k->copy(p, &launches[v].p, sizeof *p);
    resolve(args, dense, t);
    if (!LIKELY(odd_tensors(t, dense) >> 63 == 0))
        return 0;
    assume_ordinary(args, t);
    return LIKELY(fits(shape, t)) && !fill_launch(k, slot, shape, v, 1, args, t, p, NULL);
}

APART static int params_of_strided(const struct ${NAME} *kernel, const struct ${NAME}_args *args, struct ${NAME}_params *p)
{
    return params_of_ordinary(kernel, args, 0, p);
}

/* What follows it; launch calls it without a detour through the linker's table. */
TOGETHER APART static int prepare(const struct ${NAME} *kernel, const struct ${NAME}_args *args, struct ${NAME}_params *p,
                                  struct ${T}_error *error)
{
    if (LIKELY(odd_sizes(args) >> 63 == 0) &&
        (all_dense(args) ? params_of_ordinary(kernel, args, 1, p) : params_of_strided(kernel, args, p)))
        return ${T}_OK;
    return params_of_any(kernel, args, p, error);
}

int ${NAME}_params(const struct ${NAME} *kernel, const struct ${NAME}_args *args, struct ${NAME}_params *params,
                   struct ${T}_error *error)
{
    return prepare(kernel, args, params, error);
}

/* ---- what the header declares ----------------------------------------------------------------------------------- */

//@ if host.part.tuned then
static int load_wanted(struct ${NAME} *kernel, const struct ${T}_driver *driver, const struct wanted *wanted,
                       struct ${T}_error *error)
{
    int status = load_kernel(&kernel->state, kernel->slot, &tables, driver, wanted, error);
    if (!status)
        choose_copy(&kernel->state);
    return status;
}

int ${NAME}_load(struct ${NAME} *kernel, const struct ${T}_driver *driver, struct ${T}_error *error)
{
    static const struct wanted all = {NULL, NULL, 0};
    return load_wanted(kernel, driver, &all, error);
}

//@ else
int ${NAME}_load(struct ${NAME} *kernel, const struct ${T}_driver *driver, struct ${T}_error *error)
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

/* What the error has room for. */
static void debug_append(void *context, const char *line)
{
    struct ${T}_error *error = (struct ${T}_error *)context;
    size_t length = strlen(error->text);
    snprintf(error->text + length, sizeof error->text - length, "\n%s", line);
}

int ${NAME}_debug_report(const struct ${NAME} *kernel, void (*tell)(void *context, const char *line), void *context)
{
    const struct ${NAME}_state *k = &kernel->state;
    char file[256];
    int v, count = 0;
    for (v = 0; k->debug && k->target && v < targets[k->target - 1].count; v++) {
        const struct ${T}_variant *row = &variants[targets[k->target - 1].first + v];
        snprintf(file, sizeof file, "%s.%s.cu", row->entry, row->arch);
        count += debug_tell(debug_records(k, v), row->entry, file, &debug_hardware, tell ? tell : debug_print,
                            tell ? context : (void *)stderr);
    }
    if (count)
        debug_records(k, ${host.variants})->kind = 1; /* told */
    return count;
}

//@ end
//@ if host.body then
#ifndef KERNEL_WORKSPACE
//@ end
//@ if host.body or host.workspace == 0 then
int ${NAME}_workspace(const struct ${NAME} *kernel, const struct ${NAME}_args *args, uint64_t *bytes,
                      struct ${T}_error *error)
{
    (void)kernel;
    *bytes = 0;
    return check_arguments(args, error);
}
//@ end
//@ if host.body then
#endif
//@ end

int ${NAME}_unload(struct ${NAME} *kernel, struct ${T}_error *error)
{
//@ if host.debug then
    if (kernel->state.debug && !debug_records(&kernel->state, ${host.variants})->kind)
        ${NAME}_debug_report(kernel, NULL, NULL);
//@ end
    return unload_kernel(&kernel->state, kernel->slot, &tables, error);
}

TOGETHER int ${NAME}_launch(const struct ${NAME} *kernel, const struct ${NAME}_args *args, void *stream,
                            struct ${T}_error *error)
{
    struct ${NAME}_params p ALIGNED;
    struct launch_attribute attribute[2];
    struct launch_config config;
    static const uint32_t alone[3] = {1, 1, 1}; /* a block without a cluster */
    void *arguments[1];
    int result, status = prepare(kernel, args, &p, error);
    if (status || p.grid[0] == 0)
        return status;
    arguments[0] = p.word; /* one struct is the kernel's only parameter; the driver copies it */
//@ if host.body then
#ifdef KERNEL_LISTS
//@ end
//@ if host.body or host.lists then
    if (p.list) {
        uint32_t grid[3] = {1, 1, 1};
        grid[0] = p.list_grid;
        configure(&config, attribute, grid, p.list_threads, 0, alone, 0, stream);
        result = kernel->state.driver.launch(&config, p.list, arguments, NULL);
        if (result)
            return driver_fault(error, result, "cuLaunchKernelEx of its list of turns", tables.name);
    }
//@ end
//@ if host.body then
#endif
//@ end
    configure(&config, attribute, p.grid, p.threads, p.shared_bytes, clusters ? p.cluster : alone,
              programmatic ? p.programmatic : 0, stream);
    result = kernel->state.driver.launch(&config, p.function, arguments, NULL);
//@ if host.debug then
    if (result && error) {
        status = driver_fault(error, result, "cuLaunchKernelEx", tables.name);
        ${NAME}_debug_report(kernel, debug_append, error);
        return status;
    }
//@ end
    return result ? driver_fault(error, result, "cuLaunchKernelEx", tables.name) : 0;
}

void ${NAME}_info(const struct ${NAME} *kernel, struct ${NAME}_info *info)
{
    const struct target *t = kernel->state.target == 0 ? NULL : &targets[kernel->state.target - 1];
    info->name = tables.name;
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
