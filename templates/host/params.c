//@ -- A variant's fit, grid and parameter buffer, one after the other: straight lines, as this is what each launch
//@ -- runs.
//@ param host table
//@ local NAME = host.name
/* ---- patch: the parameter ---------------------------------------------------------------------------------------- */

//@ local puts, wide = false, 24 -- words of 0 in a line
//@ for _, i in ipairs(host.image) do
//@     for _, q in ipairs(i.param) do puts = puts or q.kind ~= "map" end
//@ end
//@ if puts then
INLINE void put(uint64_t *word, size_t offset, const void *value, size_t bytes)
{
    memcpy((unsigned char *)word + offset, value, bytes);
}

//@ end
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

static void choose_copy(struct ${NAME} *k)
{
    k->copy = memcpy;
#if defined(__GNUC__) && defined(__x86_64__)
    if (__builtin_cpu_supports("avx"))
        k->copy = copy_avx;
#endif
}

/* Stores the grid; an extent of 0 anywhere stores zeros. */
INLINE int put_grid(struct ${NAME}_params *p, int64_t x, int64_t y, int64_t z, struct ${NAME}_error *error)
{
    if (x <= 0 || y <= 0 || z <= 0)
        x = y = z = 0;
    if (x > 2147483647 || y > 65535 || z > 65535)
        return fail(error, ${NAME}_INVALID, 0, "the sizes ask for a grid of %lld x %lld x %lld blocks, more than "
                    "2147483647 x 65535 x 65535; split the work", (long long)x, (long long)y, (long long)z);
    p->grid[0] = (uint32_t)x;
    p->grid[1] = (uint32_t)y;
    p->grid[2] = (uint32_t)z;
    return ${NAME}_OK;
}
//@ local counted, pictured = false, false
//@ for _, i in ipairs(host.image) do
//@     counted, pictured = counted or has(i, "items"), pictured or #i.picture > 0
//@ end
//@ if counted then

APART static int refuse_items(struct ${NAME}_error *error, int64_t items)
{
    return fail(error, ${NAME}_INVALID, 0, "the sizes ask for %lld tiles, and blocks count up to 2147483647 of them; "
                "split the work", (long long)items);
}
//@ end
//@ if pictured then

/* An image along which no window lies, or one that is too long for the walk. */
APART static int refuse_picture(struct ${NAME}_error *error, const char *tensor, int dim, int64_t pixels, int takes)
{
    return fail(error, ${NAME}_INVALID, 0, "dim %d of %s is %lld pixels; with its padding a window takes %d, and up to "
                "2147483647 can be", dim + 1, tensor, (long long)pixels, takes);
}
//@ end
//@ for _, i in ipairs(host.image) do

/* ${i.entry} for ${i.arch}. */
INLINE int fits_${i.id}(const struct tensor *t)
{
    uint64_t low = 0; /* what lies below the alignment that this variant asks for */
//@     for _, r in ipairs(i.rule) do
//@         for _, f in ipairs(r.fixed) do
    low |= (uint64_t)t[tensor_${r.tensor}].stride[${f.dim}] ^ ${f.stride}u;
//@         end
//@         if r.mask > 0 then
    low |= t[tensor_${r.tensor}].address & ${r.mask};
//@             for _, d in ipairs(r.pitch) do
    low |= pitch(t[tensor_${r.tensor}].dim[${d}], t[tensor_${r.tensor}].stride[${d}], ${r.bytes}) & ${r.mask};
//@             end
//@             if r.whole_rows > 0 then
    low |= (uint64_t)t[tensor_${r.tensor}].dim[${r.last}] * ${r.bytes} & ${r.mask};
//@             end
//@         end
//@     end
//@     if not i.asks then
    (void)t;
//@     end
    return low == 0;
}

INLINE int grid_${i.id}(const struct ${NAME} *k, const struct ${NAME}_args *args, struct ${NAME}_params *p,
                        struct ${NAME}_error *error)
{
//@     if i.uses_sm_count then
    const int64_t sm_count = k->resident[${i.variant_index}];
//@     else
    (void)k;
//@     end
//@     if not i.uses_args then
    (void)args;
//@     end
//@     if has(i, "items") then
    if (${i.items} > 2147483647)
        return refuse_items(error, ${i.items});
//@     end
    return put_grid(p, ${i.grid.x}, ${i.grid.y}, ${i.grid.z}, error);
}

//@     -- The parameter's words: maps' images where they lie, zeros elsewhere.
//@     local rows, at = {}, 0
//@     local function zeros(to)
//@         local list = {}
//@         for n = at, to - 1 do list[#list + 1] = "0" end
//@         for n = 1, #list, wide do
//@             rows[#rows + 1] = table.concat(list, ", ", n, math.min(n + wide - 1, #list)) .. ","
//@         end
//@         at = to
//@     end
//@     for _, q in ipairs(i.param) do
//@         if q.kind == "map" then
//@             zeros(q.word)
//@             rows[#rows + 1] = q.map .. "_image,"
//@             at = q.word + 16
//@         end
//@     end
//@     zeros(host.param_words)
//@     local programmatic = i.programmatic and 1 or 0
/* A launch of ${i.entry} for ${i.arch}, but for its tensors, sizes and grid. */
static const struct ${NAME}_params launch_${i.id} ALIGNED = {
    {
//@     for _, row in ipairs(rows) do
        ${row}
//@     end
    },
    ${i.param_bytes}, NULL, ${i.variant_index}, ${i.threads}, {${i.cluster.x}, ${i.cluster.y}, ${i.cluster.z}},
    ${programmatic}, ${i.shared_bytes}, {0, 0, 0},
//@     if host.lists then
//@         local list_threads = has(i, "list") and i.list_threads or 0
    NULL, 0, ${list_threads},
//@     end
};

/* In a copy of that launch. patched: whether maps are patched images; else the driver encodes them. dense: whether all
 * strides are the default ones. */
INLINE int patch_${i.id}(const struct ${NAME} *k, int patched, int dense, const struct ${NAME}_args *args,
                          const struct tensor *t, struct ${NAME}_params *p, struct ${NAME}_error *error)
{
//@     if i.map_count > 0 then
    int status;
//@     end
    p->function = k->function[${i.variant_index}];
//@     for _, w in ipairs(i.picture) do
    if (t[tensor_${w.tensor}].dim[${w.dim}] < ${w.takes} || t[tensor_${w.tensor}].dim[${w.dim}] > ${w.longest})
        return refuse_picture(error, "${w.tensor}", ${w.dim}, t[tensor_${w.tensor}].dim[${w.dim}], ${w.takes});
//@     end
//@     for _, q in ipairs(i.param) do
//@         if q.kind == "map" then
    status = ${q.map}(k, patched, dense, &t[tensor_${q.tensor}], p->word + ${q.word}, error);
    if (status)
        return status;
//@         elseif q.kind == "pointer" then
    put(p->word, ${q.offset}, &t[tensor_${q.tensor}].address, 8);
//@         elseif q.kind == "stride" then
    put(p->word, ${q.offset}, &t[tensor_${q.tensor}].stride[${q.index}], 8);
//@         elseif q.kind == "dim" and q.bytes == 4 then
    {
        const int32_t value = (int32_t)args->${q.symbol};
        put(p->word, ${q.offset}, &value, 4);
    }
//@         elseif q.kind == "dim" then
    put(p->word, ${q.offset}, &args->${q.symbol}, 8);
//@         elseif q.kind == "scalar" then
    put(p->word, ${q.offset}, &args->${q.scalar}, ${q.bytes});
//@         elseif q.kind == "workspace" then
    if (!args->workspace || (uintptr_t)args->workspace % 16)
        return refuse_workspace(error, args->workspace);
    put(p->word, ${q.offset}, &args->workspace, ${q.bytes});
//@         end
//@     end
//@     if not i.params_use_tensors then
    (void)t;
//@     end
//@     if i.map_count == 0 then
    (void)patched;
//@     end
    (void)dense;
//@     if has(i, "list") then
    {
        const int64_t records = ${i.list};
        if (records < 0 || records > 2147483647)
            return fail(error, ${NAME}_INVALID, 0, "the sizes ask for %lld lists of turns, and a grid has 2147483647 "
                        "blocks at most", (long long)records);
        p->list = k->list[${i.variant_index}];
        p->list_grid = (uint32_t)records;
    }
//@     end
    return grid_${i.id}(k, args, p, error);
}
//@ end
//@ for _, g in ipairs(host.target) do

/* What the variant that asks least asks, on ${g.arch}. */
static const struct rule rules_${g.id}[] = {
//@     for _, r in ipairs(g.rule) do
    {tensor_${r.tensor}, ${r.rank}, ${r.bytes}, ${r.align}, ${r.whole_rows}, ${r.map}},
//@     end
};
//@ end

//@ if host.tuned then
/* The set-up for the sizes, where the tensors fit it; else the first variant that they fit. */
//@ else
/* The first variant that the tensors fit. */
//@ end
INLINE int choose(const struct ${NAME} *k, const struct ${NAME}_args *args, const struct tensor *t,
                         struct ${NAME}_params *p, struct ${NAME}_error *error)
{
    switch (k->target) {
//@ for _, g in ipairs(host.target) do
    case ${g.number}: /* ${g.arch} */
//@     if #g.setup > 0 then
        switch (setup_of(k, args)) {
//@         for n, i in ipairs(g.setup) do
        case ${n}:
            if (!is_loaded_${i}(k) || !fits_${i}(t))
                break;
            k->copy(p, &launch_${i}, sizeof *p);
            return patch_${i}(k, k->static_images, 0, args, t, p, error);
//@         end
        default:
            break;
        }
//@     end
//@     for _, i in ipairs(g.image) do
        if (fits_${i}(t)) {
            k->copy(p, &launch_${i}, sizeof *p);
            return patch_${i}(k, k->static_images, 0, args, t, p, error);
        }
//@     end
        return refuse_alignment(args, rules_${g.id}, sizeof rules_${g.id} / sizeof *rules_${g.id}, error);
//@ end
    default:
        return fail(error, ${NAME}_INVALID, 0, "the kernel is not loaded");
    }
}

/* Whether these sizes leave nothing to compute; what their tensors are then does not matter. */
APART static int launches_nothing(const struct ${NAME} *k, const struct ${NAME}_args *args)
{
    struct ${NAME}_params p;
    memset(&p, 0, sizeof p);
    switch (k->target) {
//@ for _, g in ipairs(host.target) do
    case ${g.number}:
        return !grid_${g.last}(k, args, &p, NULL) && p.grid[0] == 0;
//@ end
    default:
        return 0;
    }
}

/* Any arguments: those that are refused, empty tensors, maps that the driver encodes. */
APART static int params_of_any(const struct ${NAME} *k, const struct ${NAME}_args *args, struct ${NAME}_params *params,
                              struct ${NAME}_error *error)
{
    struct tensor t[tensors_in_all];
    int status = check_sizes(args, error);
    if (status)
        return status;
    resolve(args, 0, t);
    status = check_tensors(t, error);
    if (!status)
        status = choose(k, args, t, params, error);
    if (status == ${NAME}_INVALID && launches_nothing(k, args)) {
        memset(params, 0, sizeof *params);
        return ${NAME}_OK;
    }
    return status;
}

//@ local plain = host.guard_count + host.divisor_count == 0
//@ if plain then
//@ if host.tuned then
/* Arguments that need no substitute, in the set-up for the sizes or the variant that asks most. Returns whether *params
 * is filled. The copy comes first: nothing but pointers must be kept across it. */
//@ else
/* Arguments that need no substitute, in the variant that asks most. Returns whether *params is filled. The copy comes
 * first: nothing but pointers must be kept across it. */
//@ end
INLINE int params_of_ordinary(const struct ${NAME} *k, const struct ${NAME}_args *args, int dense,
                              struct ${NAME}_params *params)
{
    struct tensor t[tensors_in_all];
    switch (k->target) {
//@     for _, g in ipairs(host.target) do
//@         local first
//@         local maps = 0
//@         for _, i in ipairs(host.image) do
//@             if i.id == g.image[1] then first = i end
//@             if i.id == g.image[1] or #g.setup > 0 and i.arch == g.arch then maps = maps + i.map_count end
//@         end
    case ${g.number}: /* ${g.arch} */
//@         if maps > 0 then
        if (!LIKELY(k->static_images))
            return 0;
//@         end
//@         if #g.setup > 0 then
        switch (setup_of(k, args)) {
//@             for n, i in ipairs(g.setup) do
        case ${n}:
            if (!LIKELY(is_loaded_${i}(k)))
                break;
            k->copy(params, &launch_${i}, sizeof *params);
            resolve(args, dense, t);
            if (!LIKELY(ordinary_tensors(t, dense)))
                return 0;
            assume_ordinary(args, t);
            return LIKELY(fits_${i}(t)) && !patch_${i}(k, 1, dense, args, t, params, NULL);
//@             end
        default:
            break;
        }
//@         end
        k->copy(params, &launch_${first.id}, sizeof *params);
        resolve(args, dense, t);
        if (!LIKELY(ordinary_tensors(t, dense)))
            return 0;
        assume_ordinary(args, t);
        return LIKELY(fits_${first.id}(t)) && !patch_${first.id}(k, 1, dense, args, t, params, NULL);
//@     end
    default:
        return 0;
    }
}

APART static int params_of_strided(const struct ${NAME} *k, const struct ${NAME}_args *args, struct ${NAME}_params *params)
{
    return params_of_ordinary(k, args, 0, params);
}

//@ end
/* ${NAME}_params; launch calls it without a detour through the linker's table. */
TOGETHER APART static int prepare(const struct ${NAME} *k, const struct ${NAME}_args *args, struct ${NAME}_params *params,
                                  struct ${NAME}_error *error)
{
//@ if plain then
    if (LIKELY(ordinary_sizes(args))) {
        if (all_dense(args) ? params_of_ordinary(k, args, 1, params) : params_of_strided(k, args, params))
            return ${NAME}_OK;
    }
//@ end
    return params_of_any(k, args, params, error);
}

int ${NAME}_params(const struct ${NAME} *kernel, const struct ${NAME}_args *args, struct ${NAME}_params *params,
                   struct ${NAME}_error *error)
{
    return prepare(kernel, args, params, error);
}
