//@ -- A kernel's functions but for what its own names stand in: of the kernel `name`, or, where kernels share them, of
//@ -- KERNEL, a macro that each defines.
//@ param host table
//@ param dense text
//@ local NAME, T = host.name, host.types
//@ local of = host.shared and "&tables, " or ""
//@ local title = host.body and "tables.name" or '"' .. NAME .. '"'
/* Any arguments: those that are refused, empty tensors, maps that the driver encodes. */
APART static int params_of_any(const struct ${NAME} *kernel, const struct ${NAME}_args *args, struct ${NAME}_params *p, struct ${T}_error *error)
{
    struct tensor t[tensor_count];
    int status = check_arguments(args, error);
    if (status)
        return status;
    resolve(args, 0, t);
    status = check_tensors(${of}t, 0, error);
    if (!kernel->state.target)
        return status ? status : REFUSE("the kernel is not loaded");
    const struct target *target = &targets[kernel->state.target - 1];
    const int last = target->first + target->own - 1;
    int v = target->first;
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
        status = check_tensors(${of}t, kernel->state.target, error);
    if (!status) {
        memcpy(p, &launches[v].p, sizeof *p);
        status = fill_launch(kernel->state.static_images ? NULL : &kernel->state, &kernel->slot[v - target->first],
                             images[v].shape, v, args, t, p, error);
    }
    if (status != ${T}_INVALID)
        return status;
    /* Where the sizes leave nothing to compute, it does not matter what their tensors are. */
    if (count_work(args, last, kernel->slot[target->own - 1].resident, p, NULL) || p->grid[0])
        return status;
    memset(p, 0, sizeof *p);
    return ${T}_OK;
}

/* What follows it; launch calls it without a detour through the linker's table. */
TOGETHER static int prepare(const struct ${NAME} *kernel, const struct ${NAME}_args *args, struct ${NAME}_params *p, struct ${T}_error *error)
{
    if (LIKELY(${dense}) ? params_of_ordinary(kernel, args, 1, p) : params_of_ordinary(kernel, args, 0, p))
        return ${T}_OK;
    return params_of_any(kernel, args, p, error);
}

int ${NAME}_params(const struct ${NAME} *kernel, const struct ${NAME}_args *args, struct ${NAME}_params *params, struct ${T}_error *error)
{
    return prepare(kernel, args, params, error);
}

/* ---- what the header declares ----------------------------------------------------------------------------------- */

//@ if host.body then
static int load_wanted(struct ${NAME} *kernel, const struct ${T}_driver *driver, const struct wanted *wanted, struct ${T}_error *error)
{
    int status = load_kernel(&kernel->state, kernel->slot, &tables, driver, wanted, error);
    kernel->state.copy = status ? NULL : COPY;
    return status;
}

//@ end
//@ if host.part.tuned then
int ${NAME}_load(struct ${NAME} *kernel, const struct ${T}_driver *driver, struct ${T}_error *error)
{
    static const struct wanted all = {NULL, NULL, 0};
    return load_wanted(kernel, driver, &all, error);
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
int ${NAME}_workspace(const struct ${NAME} *kernel, const struct ${NAME}_args *args, uint64_t *bytes, struct ${T}_error *error)
{
    (void)kernel;
    *bytes = 0;
    return check_arguments(args, error);
}
//@ end
//@ if host.body then
#endif
//@ end
//@ if host.body or host.workspace == 0 then

//@ end
//@ if host.body then
int ${NAME}_unload(struct ${NAME} *kernel, struct ${T}_error *error)
{
    return unload_kernel(&kernel->state, kernel->slot, &tables, error);
}

//@ end
TOGETHER int ${NAME}_launch(const struct ${NAME} *kernel, const struct ${NAME}_args *args, void *stream, struct ${T}_error *error)
{
//@ local list, more = "", ""
//@ if host.part.clusters then more = host.body and ", clusters ? p.cluster : alone" or ", p.cluster" end
//@ if host.part.clusters then list = ", alone" end
//@ if host.part.programmatic then
//@     more = more .. (host.body and ", programmatic ? p.programmatic : 0" or ", p.programmatic")
//@ end
//@ if host.part.programmatic then list = list .. ", 0" end
//@ if host.body or host.lists and host.part.clusters then
    static const uint32_t alone[3] = {1, 1, 1}; /* a block without a cluster */
//@ end
    struct ${NAME}_params p ALIGNED;
    struct launch_attribute attribute[2];
    void *arguments[] = {p.word}; /* one struct is the kernel's only parameter; the driver copies it */
    int result, status = prepare(kernel, args, &p, error);
    if (status || p.grid[0] == 0)
        return status;
//@ if host.body then
#ifdef KERNEL_LISTS
//@ end
//@ if host.body or host.lists then
    if (p.list) {
        const uint32_t grid[3] = {p.list_grid, 1, 1};
        const struct launch_config before = configure(attribute, grid, p.list_threads, 0, stream${list});
        result = kernel->state.driver.launch(&before, p.list, arguments, NULL);
        if (result)
            return driver_fault(error, result, "cuLaunchKernelEx of its list of turns", ${title});
    }
//@ end
//@ if host.body then
#endif
//@ end
    const struct launch_config config = configure(attribute, p.grid, p.threads, p.shared_bytes, stream${more});
    result = kernel->state.driver.launch(&config, p.function, arguments, NULL);
//@ if host.debug then
    if (result && error) {
        status = driver_fault(error, result, "cuLaunchKernelEx", ${title});
        ${NAME}_debug_report(kernel, debug_append, error);
        return status;
    }
//@ end
    return result ? driver_fault(error, result, "cuLaunchKernelEx", ${title}) : 0;
}

void ${NAME}_info(const struct ${NAME} *kernel, struct ${NAME}_info *info)
{
    const struct target *t = kernel->state.target ? &targets[kernel->state.target - 1] : NULL;
    const struct ${NAME}_info told = {
        ${title}, ${host.generator}, t ? t->arch : "", kernel->state.capability, kernel->state.driver_version, tensors,
        tensor_count, t ? &variants[t->first] : variants, t ? t->count : 0, kernel->state.static_images,
        kernel->state.images};
    *info = told;
}

//@ if host.body then
const char *${NAME}_strerror(int status) { return status_words(status); }
//@ else
//@     include "host/words.c" host = host
//@ end
