//@ -- How `tilewright run` calls a pair: by arrays in the Plan's order, where a program of one's own writes names. This
//@ -- text includes NAME.c and is compiled with it; gen/verify/launcher.c declares the same structs.
//@ local NAME = host.name
#include "${NAME}.c"

struct caller_arguments {
    const uint64_t *address, *align; /* by tensor; what slices divide by, or NULL */
    const int64_t *const *stride; /* by tensor: NULL for the default, or all but the innermost */
    const int64_t *symbol;        /* by symbol of the Plan */
    const void *const *scalar;    /* by scalar: its bytes */
    uint64_t workspace;
    void *stream;
};

struct caller_outcome {
    int status, driver_result, variant;
    uint32_t grid[3];
    uint64_t workspace; /* bytes that a launch wants */
    char text[1000];
};

size_t caller_bytes(void)
{
    return sizeof(struct ${NAME});
}

static int take(struct caller_outcome *outcome, int status, const struct ${NAME}_error *error)
{
    outcome->status = status;
    outcome->driver_result = status ? error->driver_result : 0;
    snprintf(outcome->text, sizeof outcome->text, "%s", status ? error->text : "");
    return status;
}

int caller_load(void *kernel, const void *entry_points, struct caller_outcome *outcome)
{
    struct ${NAME}_driver driver;
    struct ${NAME}_error error;
    int status;
    memcpy(&driver, entry_points, sizeof driver);
    status = ${NAME}_load((struct ${NAME} *)kernel, &driver, &error);
    return take(outcome, status, &error);
}

int caller_unload(void *kernel, struct caller_outcome *outcome)
{
    struct ${NAME}_error error;
    int status = ${NAME}_unload((struct ${NAME} *)kernel, &error);
    return take(outcome, status, &error);
}

static void fill(struct ${NAME}_args *args, const struct caller_arguments *from)
{
    (void)from;
    memset(args, 0, sizeof *args);
//@ for i, t in ipairs(host.tensor) do
//@     local number = i - 1
//@     if t.pointers then
    args->${t.name} = (void *const *)(uintptr_t)from->address[${number}];
    args->${t.name}_align = from->align ? (uint32_t)from->align[${number}] : 0;
//@     else
    args->${t.name} = (void *)(uintptr_t)from->address[${number}];
//@     end
//@     if t.rank > 1 then
    if (from->stride[${number}])
        memcpy(args->${t.name}_stride, from->stride[${number}], sizeof args->${t.name}_stride);
//@     end
//@ end
//@ for _, d in ipairs(host.symbol) do
    args->${d.name} = from->symbol[${d.index}];
//@ end
//@ for i, s in ipairs(host.scalar) do
//@     local number = i - 1
    memcpy(&args->${s.name}, from->scalar[${number}], sizeof args->${s.name});
//@ end
//@ if host.workspace > 0 then
    args->workspace = (void *)(uintptr_t)from->workspace;
//@ end
}

int caller_workspace(const void *kernel, const struct caller_arguments *from, struct caller_outcome *outcome)
{
    struct ${NAME}_args args;
    struct ${NAME}_error error;
    fill(&args, from);
    return take(outcome, ${NAME}_workspace((const struct ${NAME} *)kernel, &args, &outcome->workspace, &error), &error);
}

/* What a launch would do: the variant and its grid. */
int caller_ask(const void *kernel, const struct caller_arguments *from, struct caller_outcome *outcome)
{
    const struct ${NAME} *k = (const struct ${NAME} *)kernel;
    struct ${NAME}_params params ALIGNED;
    struct ${NAME}_args args;
    struct ${NAME}_error error;
    int status;
    fill(&args, from);
    status = ${NAME}_params(k, &args, &params, &error);
    if (!status) {
        outcome->variant = params.variant;
        memcpy(outcome->grid, params.grid, sizeof outcome->grid);
    }
    return take(outcome, status, &error);
}

int caller_launch(const void *kernel, const struct caller_arguments *from, struct caller_outcome *outcome)
{
    struct ${NAME}_args args;
    struct ${NAME}_error error;
    int status;
    fill(&args, from);
    status = ${NAME}_launch((const struct ${NAME} *)kernel, &args, from->stream, &error);
    return take(outcome, status, &error);
}
//@ if host.tuned then

/* Where the choice among set-ups begins from now on, ~n: at set-up n. Returns where it began. */
int32_t caller_choose(void *kernel, int32_t choice)
{
    struct ${NAME} *k = (struct ${NAME} *)kernel;
    int32_t before = k->state.choice;
    k->state.choice = choice;
    return before;
}
//@ end
