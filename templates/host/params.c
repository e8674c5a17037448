//@ -- A launch's parameter from its arguments: straight lines over the kernel's own names, as this is what each launch
//@ -- runs.
//@ param host table
//@ param shape table
//@ local NAME, T = host.name, host.types
//@ if not host.shared then
/* ---- patch: the parameter ---------------------------------------------------------------------------------------- */

//@     if host.part.maps then
//@         include "host/put.h" host = host

//@     end
//@ end

/* Launches by variant, but for their tensors, sizes and grid. */
static const struct { struct ${NAME}_params p ALIGNED; } launches[] = {
//@ for n, i in ipairs(host.image) do
//@     local rows, at = {}, 0
//@     local function zeros(to)
//@         while at < to do rows[#rows + 1], at = "0", at + 1 end
//@     end
//@     for _, q in ipairs(i.param) do
//@         if q.kind == "map" then
//@             zeros(q.word)
//@             for m = 1, math.max(q.maps, 1) do rows[#rows + 1] = "MAP_" .. q.map .. "()" end
//@             at = q.word + q.bytes // 8
//@         end
//@     end
//@     if #rows == 0 then rows[1] = "0" end
//@     local words, programmatic = csv(rows), i.programmatic and 1 or 0
//@     local list = host.lists and ", NULL, 0, " .. (has(i, "list") and i.list_threads or 0) or ""
    {{{${words}}, ${i.param_bytes}, NULL, ${i.variant_index}, ${i.threads}, {${i.cluster.x}, ${i.cluster.y}, ${i.cluster.z}}, ${programmatic}, ${i.shared_bytes}, {0, 0, 0}${list}}},
//@ end
};

/* The tensors in the order of ${NAME}_args, with defaults in place of strides of 0; dense: all are. */
INLINE void resolve(const struct ${NAME}_args *args, int dense, struct tensor *t)
{
//@ for _, t in ipairs(host.tensor) do
//@     local name, text, line = "t[at_" .. t.name .. "].", {}, ""
//@     local function set(field, value) -- several stand in a line
//@         local one = name .. field .. " = " .. value .. ";"
//@         local joins = line ~= "" and #line + #one < 116
//@         if not joins and line ~= "" then text[#text + 1] = line end
//@         line = joins and line .. " " .. one or one
//@     end
//@     set("address", "(uint64_t)(uintptr_t)args->" .. t.name)
//@     for _, d in ipairs(t.dim) do set("dim[" .. d.index .. "]", d.c) end
//@     if t.pointers then
//@         set("align", "args->" .. t.name .. "_align")
//@         set("stride[0]", "(int64_t)1 << 32") -- of addresses: one that nothing refuses
//@     end
//@     for _, s in ipairs(t.stride) do
//@         local given = "args->" .. t.name .. "_stride[" .. s.index .. "]"
//@         set("stride[" .. s.index .. "]", "stride_of(dense, " .. given .. ", " .. s.c .. ")")
//@     end
//@     text[#text + 1] = line
//@     if t.maps > 0 then
//@         local given = "(const void *const *)args->" .. t.name .. "_slices"
//@         text[#text + 1] = "lie_anywhere(t + at_" .. t.name .. ", " .. given .. ", " .. t.maps .. ");"
//@     end
//@     local lines = table.concat(text, "\n")
    ${lines}
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
        return REFUSE("the sizes make %s overflow 64-bit arithmetic; split the work", "${g.what}");
//@     end
//@     for _, g in ipairs(host.divisor) do
    if ((${g.c}) == 0)
        return REFUSE("the sizes make %s divide by zero", "${g.what}");
//@     end
    return ${NAME}_OK;
}

//@ end
static int check_arguments(const struct ${NAME}_args *args, struct ${T}_error *error)
{
//@ local first = "int status = "
//@ for _, d in ipairs(host.symbol) do
    ${first}check_size("${d.name}", args->${d.name}, ${d.limit}, ${d.multiple}, error);
//@     first = "status = status ? status : "
//@ end
//@ if #host.symbol > 0 and plain then
    return status;
//@ elseif #host.symbol > 0 then
    return status ? status : check_formulas(args, error);
//@ elseif not plain then
    return check_formulas(args, error);
//@ else
    (void)args, (void)error;
    return ${NAME}_OK;
//@ end
}

//@ if host.shared then
//@     local clusters, programmatic = 0, 0
//@     for _, i in ipairs(host.image) do
//@         if i.cluster.x * i.cluster.y * i.cluster.z > 1 then clusters = 1 end
//@         if i.programmatic then programmatic = 1 end
//@     end
enum { clusters = ${clusters}, programmatic = ${programmatic} }; /* whether any variant has them */

//@ end
/* What a variant has, into its launch: blocks along x, y and z, where an extent of 0 anywhere stores zeros, items that
 * they count and lists of turns. */
INLINE int count_work(const struct ${NAME}_args *args, int v, int64_t sm_count, struct ${NAME}_params *p, struct ${T}_error *error)
{
    int64_t n[5] = {1, 1, 1, 0, 0};
//@ if #shape.counts == 1 then
//@     local only = shape.counts[1].text
    ${only}
//@ else
    switch (v) {
//@     for _, c in ipairs(shape.counts) do
//@         if c.one_line and #c.cases < 32 then
    ${c.cases} ${c.text} break;
//@         else
    ${c.cases}
        ${c.text}
        break;
//@         end
//@     end
    }
//@ end
//@ local unused = {}
//@ if not shape.sizes then unused[1] = "(void)args" end
//@ if not shape.resident then unused[#unused + 1] = "(void)sm_count" end
//@ if #shape.counts == 1 then unused[#unused + 1] = "(void)v" end
//@ if #unused > 0 then
//@     local words = csv(unused)
    ${words};
//@ end
//@ if host.lists then
    p->list_grid = (uint32_t)n[4];
//@ end
//@ if host.shared then
    return put_grid(n, p->grid, error);
//@ else
    //@ include "host/grid.c" host = host, grid = "p->grid"
//@ end
}

/* Whether the tensors are aligned as variants of that shape ask. */
INLINE int fits(int shape, const struct tensor *t)
{
//@ if not shape.aligned then
    (void)t;
//@ end
    switch (shape) {
//@ for _, s in ipairs(shape.fits) do
    ${s.cases} /* ${s.what} */
        return ${s.text};
//@ end
    }
    return 0;
}

/* In a copy of variant v's launch, where `slot` has it loaded. encoder: where the driver encodes maps, what is loaded;
 * NULL: images are patched. 0, or why it is none. */
INLINE int fill_launch(const struct ${T}_state *encoder, const struct ${T}_slot *slot, int shape, int v, const struct ${NAME}_args *args, const struct tensor *t, struct ${NAME}_params *p, struct ${T}_error *error)
{
//@ if shape.words then
    unsigned char *to = (unsigned char *)p->word;
//@ end
//@ if shape.maps then
    int status = ${NAME}_OK;
//@ else
    (void)encoder;
//@ end
//@ if not shape.tensors then
    (void)t;
//@ end
    p->function = slot->function;
//@ if host.lists then
    p->list = slot->list;
//@ end
    switch (shape) {
//@ for _, s in ipairs(shape.patches) do
    ${s.cases} /* ${s.what} */
        ${s.text}
        break;
//@ end
    }
//@ if shape.maps then
    return status ? status : count_work(args, v, slot->resident, p, error);
//@ else
    return count_work(args, v, slot->resident, p, error);
//@ end
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
/* What most launches are: sizes, extents and strides in their range and above 1, addresses that are there, so that
 * nothing has to be put in the place of what is never used. */
INLINE int is_ordinary(const struct ${NAME}_args *args, const struct tensor *t, int dense)
{
//@ local facts, seen, any, strided = {}, {}, {}, {}
//@ local function fact(text) facts[#facts + 1] = text end
//@ for _, d in ipairs(host.symbol) do
//@     local size = "args->" .. d.name
//@     fact(size .. " > 1 && " .. size .. " <= " .. d.limit)
//@     if d.multiple > 1 then fact(size .. " % " .. d.multiple .. " == 0") end
//@     seen[size] = true
//@ end
//@ for n, t in ipairs(host.tensor) do
//@     local name = "t[at_" .. t.name .. "]"
//@     any[n] = name .. ".address"
//@     fact(name .. ".address != 0")
//@     if t.pointers then fact("(" .. name .. ".address & 7) == 0") end
//@     for _, d in ipairs(t.dim) do
//@         local extent = name .. ".dim[" .. d.index .. "]"
//@         if not seen[d.c] then fact(extent .. " > 1 && " .. extent .. " <= " .. host.map_rule.most_extent) end
//@         seen[d.c] = true
//@     end
//@     for _, s in ipairs(t.stride) do
//@         local stride = name .. ".stride[" .. s.index .. "]"
//@         local within = "(uint64_t)" .. stride .. " < " .. (1 << host.map_rule.stride_bits) // t.bytes .. "u"
//@         if s.bounded then strided[#strided + 1] = within else fact(within) end
//@         if t.out > 0 then fact(stride .. " >= " .. name .. ".dim[" .. t.rank - 1 .. "]") end
//@     end
//@ end
//@ fact("(" .. table.concat(any, " | ") .. ") >> " .. host.map_rule.address_bits .. " == 0")
//@ if #strided > 0 then fact("(dense || (" .. table.concat(strided, " && ") .. "))") end
//@ local all = table.concat(facts, " && ")
//@ local unused = {}
//@ if #host.symbol == 0 then unused[1] = "(void)args" end
//@ if #strided == 0 then unused[#unused + 1] = "(void)dense" end
//@ if #unused > 0 then
//@     local words = csv(unused)
    ${words};
//@ end
    return ${all};
}

//@ local given = {}
//@ for _, t in ipairs(host.tensor) do
//@     for _, s in ipairs(t.stride) do given[#given + 1] = "args->" .. t.name .. "_stride[" .. s.index .. "]" end
//@ end
//@ shape.dense = #given > 0 and "(" .. table.concat(given, " | ") .. ") == 0" or "1"
//@ if host.shared then
/* Whether all strides are the default ones. */
INLINE int all_dense(const struct ${NAME}_args *args)
{
//@     local dense = shape.dense
//@     if #given == 0 then
    (void)args;
//@     end
    return ${dense};
}
//@ end
