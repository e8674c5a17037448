//@ -- A launch's parameter from its arguments: straight lines over the kernel's own names, as this is what each launch
//@ -- runs.
//@ param host table
//@ param shape table
//@ local NAME, T = host.name, host.types
/* ---- patch: the parameter ---------------------------------------------------------------------------------------- */

/* Launches by variant, but for their tensors, sizes and grid. */
static const struct {
    struct ${NAME}_params p ALIGNED;
} launches[] = {
//@ for n, i in ipairs(host.image) do
//@     local rows, at = {}, 0
//@     local function zeros(to)
//@         while at < to do rows[#rows + 1], at = "0", at + 1 end
//@     end
//@     for _, q in ipairs(i.param) do
//@         if q.kind == "map" then
//@             zeros(q.word)
//@             rows[#rows + 1], at = "MAP_" .. q.map, q.word + 16
//@         end
//@     end
//@     zeros(host.param_words)
//@     local words, programmatic = csv(rows), i.programmatic and 1 or 0
//@     local list = host.lists and ", NULL, 0, " .. (has(i, "list") and i.list_threads or 0) or ""
    {{{${words}}, ${i.param_bytes}, NULL, ${i.variant_index}, ${i.threads}, {${i.cluster.x}, ${i.cluster.y}, ${i.cluster.z}}, ${programmatic}, ${i.shared_bytes}, {0, 0, 0}${list}}},
//@ end
};

/* A launch's bytes are copied by a function that load chooses, as what a compiler puts in the place of memcpy takes
 * registers that every machine has. Where a machine has AVX, straight lines of it are faster than libc's memcpy, which
 * finds out the size each time. */
#if defined(__GNUC__) && defined(__x86_64__)
typedef uint64_t lanes __attribute__((vector_size(32), aligned(8), may_alias));

/* memcpy of a struct ${NAME}_params; the last 32 bytes overlap those before. */
__attribute__((target("avx"))) TOGETHER static void *copy_avx(void *to, const void *from, size_t bytes)
{
    enum { count = sizeof(struct ${NAME}_params) / sizeof(lanes) };
    const size_t last = sizeof(struct ${NAME}_params) - sizeof(lanes);
    lanes *t = (lanes *)to;
    const lanes *f = (const lanes *)from;
    int i;
#if defined(__clang__) || __GNUC__ >= 8
#pragma GCC unroll 256
#endif
    for (i = 0; i < count; i++)
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

/* The tensors in the order of ${NAME}_args, with defaults in place of strides of 0; dense: all are. */
INLINE void resolve(const struct ${NAME}_args *args, int dense, struct tensor *t)
{
//@ for _, t in ipairs(host.tensor) do
    t[tensor_${t.name}].address = (uint64_t)(uintptr_t)args->${t.name};
//@     for _, d in ipairs(t.dim) do
    t[tensor_${t.name}].dim[${d.index}] = ${d.c};
//@     end
//@     for _, s in ipairs(t.stride) do
    t[tensor_${t.name}].stride[${s.index}] = stride_of(dense, args->${t.name}_stride[${s.index}], ${s.c});
//@     end
//@ end
//@ if not host.has_stride then
    (void)dense;
//@ end
}

//@ local plain = host.guard_count + host.divisor_count == 0
//@ if not plain then
/* Sizes with which a formula over them cannot be computed. */
APART static int check_formulas(const struct ${NAME}_args *args, struct ${T}_error *error)
{
//@     for _, g in ipairs(host.guard) do
    if (${g.c} >= 4611686018427387904.0)
        return fail(error, ${NAME}_INVALID, 0, "the sizes make %s overflow 64-bit arithmetic; split the work", "${g.what}");
//@     end
//@     for _, g in ipairs(host.divisor) do
    if ((${g.c}) == 0)
        return fail(error, ${NAME}_INVALID, 0, "the sizes make %s divide by zero", "${g.what}");
//@     end
    return ${NAME}_OK;
}

//@ end
static int check_arguments(const struct ${NAME}_args *args, struct ${T}_error *error)
{
    int status = ${NAME}_OK;
//@ if host.symbol_count > 0 then
    status = check_sizes(&tables, args, error);
//@ end
//@ if not plain then
    status = status ? status : check_formulas(args, error);
//@ end
//@ if host.symbol_count == 0 and plain then
    (void)args;
    (void)error;
//@ end
    return status;
}

/* What a variant has: blocks along x, y and z, items that they count and lists of turns. */
INLINE void count(const struct ${NAME}_args *args, int v, int64_t sm_count, int64_t *n)
{
    n[0] = n[1] = n[2] = 1;
    n[3] = n[4] = 0;
//@ if #shape.count == 1 then
//@     local only = shape.count[1].text
    ${only}
//@ else
    switch (v) {
//@     for _, c in ipairs(shape.count) do
    ${c.cases}
        ${c.text}
        break;
//@     end
    default:
        break;
    }
//@ end
    (void)args;
    (void)v;
    (void)sm_count;
}

/* Whether the tensors are aligned as variants of that shape ask. */
INLINE int fits(int shape, const struct tensor *t)
{
//@ if #shape.list == 1 then
    (void)shape;
    (void)t;
//@     local only = shape.list[1].fit
    return ${only};
//@ else
    switch (shape) {
//@     for n, s in ipairs(shape.list) do
//@         local number = n - 1
    case ${number}: /* ${s.first} */
        return ${s.fit};
//@     end
    default:
        return 0;
    }
//@ end
}

/* In a copy of variant v's launch. patched: whether maps are patched images; else the driver encodes them. */
INLINE int patch(const struct ${T}_state *k, int shape, int v, int patched, const struct ${NAME}_args *args,
                 const struct tensor *t, uint64_t *word, struct ${T}_error *error)
{
    int status = ${NAME}_OK;
    switch (shape) {
//@ for n, s in ipairs(shape.list) do
//@     local number = n - 1
    case ${number}: /* ${s.first} */
        ${s.patch}
        break;
//@ end
    default:
        break;
    }
    (void)k;
    (void)v;
    (void)patched;
    (void)args;
    (void)t;
    (void)word;
    (void)error;
    return status;
}

//@ if host.tuned then
/* The set-up for these sizes; 0: the spec's own. */
INLINE int setup_of(const struct ${T}_state *k, const struct ${NAME}_args *args)
{
    int32_t at = k->choice;
//@     if host.split_count > 0 then
//@         local sizes = {}
//@         for n, name in ipairs(host.size) do sizes[n] = "args->" .. name end
//@         local list = csv(sizes)
    const int64_t size[] = {${list}};
    while (at >= 0)
        at = splits[at].next[size[splits[at].size] >= splits[at].from];
//@     end
    (void)args;
    return ~at;
}

static int takes(const struct ${T}_state *k, const void *args, int count, int setup)
{
    const struct ${NAME}_args *a = (const struct ${NAME}_args *)args;
    int i;
    for (i = 0; i < count; i++)
        if (setup_of(k, &a[i]) == setup)
            return 1;
    return 0;
}

//@ end
/* In a copy of variant v's launch, where `slot` has it loaded. 0, or why it is none. */
INLINE int fill(const struct ${T}_state *k, const struct ${T}_slot *slot, int shape, int v, int patched,
                const struct ${NAME}_args *args, const struct tensor *t, struct ${NAME}_params *p, struct ${T}_error *error)
{
    int64_t n[5];
    int status = patch(k, shape, v, patched, args, t, p->word, error);
    p->function = slot->function;
    count(args, v, slot->resident, n);
//@ if host.lists then
    p->list = slot->list;
    p->list_grid = (uint32_t)n[4];
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
    int v = 0, last, status = check_arguments(args, error);
    if (status)
        return status;
    resolve(args, 0, t);
    status = check_tensors(&tables, t, error);
    if (!target)
        return status ? status : fail(error, ${NAME}_INVALID, 0, "the kernel is not loaded");
    last = target->first + target->own - 1;
//@ if host.tuned then
    v = setup_of(&kernel->state, args);
    v = v ? last + v : target->first; /* the set-up, where it is loaded and the tensors fit it */
    if (v > last && (!kernel->slot[v - target->first].function || !fits(images[v].shape, t)))
        v = target->first;
//@ else
    v = target->first;
//@ end
    while (v < last && !fits(images[v].shape, t))
        v++;
    if (!status && !fits(images[v].shape, t))
        status = refuse_alignment(&tables, kernel->state.target, t, error);
    if (!status) {
        memcpy(p, &launches[v].p, sizeof *p);
        status = fill(&kernel->state, &kernel->slot[v - target->first], images[v].shape, v,
                      kernel->state.static_images, args, t, p, error);
    }
    if (status != ${NAME}_INVALID)
        return status;
    /* Where the sizes leave nothing to compute, it does not matter what their tensors are. */
    count(args, last, kernel->slot[target->own - 1].resident, n);
    if (put_grid(n, p->grid, NULL) || p->grid[0])
        return status;
    memset(p, 0, sizeof *p);
    return ${NAME}_OK;
}

//@ if plain then
/* Arguments that need no substitute, in a variant whose tensors they fit. Returns whether *p is filled. The copy comes
 * first: nothing but pointers must be kept across it. */
INLINE int ordinary(const struct ${T}_state *k, const struct ${T}_slot *slot, const struct ${NAME}_args *args, int dense,
                    int shape, int v, struct ${NAME}_params *p)
{
    struct tensor t[tensors_in_all];
    uint64_t odd = 0;
    k->copy(p, &launches[v].p, sizeof *p);
    resolve(args, dense, t);
//@     local one, any, seen = {}, {}, {}
//@     for _, d in ipairs(host.symbol) do seen["args->" .. d.name] = true end
//@     for _, t in ipairs(host.tensor) do
//@         one[#one + 1] = "(t[tensor_" .. t.name .. "].address - 1)"
//@         any[#any + 1] = "t[tensor_" .. t.name .. "].address"
//@     end
//@     local each, all = table.concat(one, " | "), table.concat(any, " | ")
    odd |= ${each} | odd_address(${all});
//@     for _, t in ipairs(host.tensor) do
//@         for _, d in ipairs(t.dim) do
//@             if not seen[d.c] then
    odd |= odd_extent(t[tensor_${t.name}].dim[${d.index}]);
//@             end
//@             seen[d.c] = true
//@         end
//@         local last = t.rank - 1
//@         for _, s in ipairs(t.stride) do
//@             if s.bounded then
    odd |= dense ? 0 : odd_stride(t[tensor_${t.name}].stride[${s.index}], ${t.bytes});
//@             else
    odd |= odd_stride(t[tensor_${t.name}].stride[${s.index}], ${t.bytes});
//@             end
//@             if t.out > 0 then
    odd |= (uint64_t)t[tensor_${t.name}].stride[${s.index}] - (uint64_t)t[tensor_${t.name}].dim[${last}];
//@             end
//@         end
//@     end
    if (!LIKELY(odd >> 63 == 0))
        return 0;
//@     for _, t in ipairs(host.tensor) do
//@         local facts = { "t[tensor_" .. t.name .. "].address != 0" }
//@         for _, d in ipairs(t.dim) do facts[#facts + 1] = "t[tensor_" .. t.name .. "].dim[" .. d.index .. "] > 1" end
//@         local fact = table.concat(facts, " && ")
    ASSUME(${fact});
//@     end
    return LIKELY(fits(shape, t)) && !fill(k, slot, shape, v, 1, args, t, p, NULL);
}

INLINE int params_of_ordinary(const struct ${NAME} *kernel, const struct ${NAME}_args *args, int dense,
                              struct ${NAME}_params *p)
{
//@     if host.tuned then
    int v;
//@     end
//@     for _, d in ipairs(host.symbol) do
    ASSUME(args->${d.name} >= 2 && args->${d.name} <= ${d.limit});
//@     end
    switch (kernel->state.target) {
//@     for _, g in ipairs(host.target) do
    case ${g.number}: /* ${g.arch} */
//@         local maps, shapes = 0, {}
//@         for n, i in ipairs(host.image) do
//@             local own = n - 1 == g.first or n > g.first + #g.image and n <= g.first + g.count
//@             if own then maps = maps + i.map_count end
//@             if own then shapes[#shapes + 1] = shape.of[n] end
//@         end
//@         if maps > 0 then
        if (!LIKELY(kernel->state.static_images))
            return 0;
//@         end
//@         if #g.setup > 0 then
//@             local own = #g.image - 1
        v = setup_of(&kernel->state, args);
        v = v && LIKELY(kernel->slot[${own} + v].function != NULL) ? ${g.first} + ${own} + v : ${g.first};
//@             local done = {}
        switch (images[v].shape) {
//@             for _, s in ipairs(shapes) do
//@                 if not done[s] then
        case ${s}:
            return ordinary(&kernel->state, &kernel->slot[v - ${g.first}], args, dense, ${s}, v, p);
//@                 end
//@                 done[s] = true
//@             end
        default:
            return 0;
        }
//@         else
//@             local only = shapes[1]
        return ordinary(&kernel->state, kernel->slot, args, dense, ${only}, ${g.first}, p);
//@         end
//@     end
    default:
        return 0;
    }
}

APART static int params_of_strided(const struct ${NAME} *kernel, const struct ${NAME}_args *args, struct ${NAME}_params *p)
{
    return params_of_ordinary(kernel, args, 0, p);
}

//@ end
/* ${NAME}_params; launch calls it without a detour through the linker's table. */
TOGETHER APART static int prepare(const struct ${NAME} *kernel, const struct ${NAME}_args *args, struct ${NAME}_params *p,
                                  struct ${T}_error *error)
{
//@ if plain then
//@     local given = {}
//@     for _, t in ipairs(host.tensor) do
//@         for _, s in ipairs(t.stride) do given[#given + 1] = "args->" .. t.name .. "_stride[" .. s.index .. "]" end
//@     end
//@     if #given == 0 then given[1] = "0" end
//@     local strides = table.concat(given, " | ")
//@     local sizes = {}
//@     for n, d in ipairs(host.symbol) do
//@         sizes[n] = "odd_size(args->" .. d.name .. ", " .. d.limit .. ", " .. d.multiple .. ")"
//@     end
//@     if #sizes == 0 then sizes[1] = "(uint64_t)0" end
//@     local odd = table.concat(sizes, " | ")
    const int dense = (${strides}) == 0;
    if (LIKELY((${odd}) >> 63 == 0) &&
        (dense ? params_of_ordinary(kernel, args, 1, p) : params_of_strided(kernel, args, p)))
        return ${NAME}_OK;
//@ end
    return params_of_any(kernel, args, p, error);
}

int ${NAME}_params(const struct ${NAME} *kernel, const struct ${NAME}_args *args, struct ${NAME}_params *params,
                   struct ${NAME}_error *error)
{
    return prepare(kernel, args, params, error);
}
