//@ -- The arguments as tensors, and why some are refused. Nothing here knows a variant but by its table of rules.
//@ param host table
//@ local NAME, map = host.name, host.map_rule
/* ---- check: the arguments ---------------------------------------------------------------------------------------- */

/* A tensor as one call has it: extents and strides in elements, in memory order, the innermost last. */
struct tensor {
    uint64_t address;
    int64_t dim[${host.rank}], stride[${host.rank}];
};

/* Tensors by number. */
enum {
//@ for _, t in ipairs(host.tensor) do
    tensor_${t.name},
//@ end
    tensors_in_all
};

/* What a variant asks of a tensor. */
struct rule {
    int tensor, rank;
    uint64_t bytes;       /* of an element */
    uint64_t align;       /* of address, pitches and, with whole_rows, of the rows; bytes */
    int whole_rows, map;
};

INLINE uint64_t pitch(int64_t extent, int64_t stride, uint64_t element_bytes)
{
    return extent > 1 ? (uint64_t)stride * element_bytes : 0;
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
    t[tensor_${t.name}].stride[${s.index}] =
        dense || !args->${t.name}_stride[${s.index}] ? ${s.c} : args->${t.name}_stride[${s.index}];
//@     end
//@ end
//@ if not host.has_stride then
    (void)dense;
//@ end
}

//@ if host.symbol_count > 0 then
APART static int refuse_size(struct ${NAME}_error *error, const char *name, int64_t value, int64_t limit, int64_t multiple)
{
    long long v = (long long)value;
    if (value < 0)
        return fail(error, ${NAME}_INVALID, 0, "%s is %lld, which is no size; write 0 or more", name, v);
    if (value > limit)
        return fail(error, ${NAME}_INVALID, 0, "%s is %lld, past %lld, the most that the kernel counts to; split the work",
                    name, v, (long long)limit);
    return fail(error, ${NAME}_INVALID, 0, "%s is %lld, no multiple of %lld; pad it to %lld", name, v,
                (long long)multiple, (long long)((value / multiple + 1) * multiple));
}

//@ end
//@ if host.guard_count > 0 then
APART static int refuse_overflow(struct ${NAME}_error *error, const char *what)
{
    return fail(error, ${NAME}_INVALID, 0, "the sizes make %s overflow 64-bit arithmetic; split the work", what);
}

//@ end
//@ if host.divisor_count > 0 then
APART static int refuse_division(struct ${NAME}_error *error, const char *what)
{
    return fail(error, ${NAME}_INVALID, 0, "the sizes make %s divide by zero", what);
}

//@ end
/* The sizes, before any formula over them is computed. */
INLINE int check_sizes(const struct ${NAME}_args *args, struct ${NAME}_error *error)
{
//@ for _, d in ipairs(host.symbol) do
//@     if d.multiple > 1 then
    if (args->${d.name} < 0 || args->${d.name} > ${d.limit} || args->${d.name} % ${d.multiple} != 0)
        return refuse_size(error, "${d.name}", args->${d.name}, ${d.limit}, ${d.multiple});
//@     else
    if (args->${d.name} < 0 || args->${d.name} > ${d.limit})
        return refuse_size(error, "${d.name}", args->${d.name}, ${d.limit}, ${d.multiple});
//@     end
//@ end
//@ for _, g in ipairs(host.guard) do
    if (${g.c} >= 4611686018427387904.0)
        return refuse_overflow(error, "${g.what}");
//@ end
//@ for _, g in ipairs(host.divisor) do
    if ((${g.c}) == 0)
        return refuse_division(error, "${g.what}");
//@ end
//@ if host.symbol_count == 0 then
    (void)args;
    (void)error;
//@ end
    return ${NAME}_OK;
}

//@ if host.checks_extents then
APART static int refuse_extent(struct ${NAME}_error *error, const char *name, int dim, int64_t extent)
{
    if (extent < 0)
        return fail(error, ${NAME}_INVALID, 0, "extent %d of %s is %lld; the sizes must not make it negative", dim, name,
                    (long long)extent);
    return fail(error, ${NAME}_INVALID, 0, "extent %d of %s is %lld, past 2^${map.extent_bits}, the most of a tensor map; split the work "
                "[${map.extent}]", dim, name, (long long)extent);
}

//@ end
APART static int refuse_address(struct ${NAME}_error *error, const char *name, uint64_t address)
{
    if (address == 0)
        return fail(error, ${NAME}_INVALID, 0, "%s is NULL; pass the tensor's device address", name);
    return fail(error, ${NAME}_INVALID, 0, "%s is 0x%llx, at or past 2^${map.address_bits}, so no device address [${map.address}]", name,
                (unsigned long long)address);
}

//@ if host.workspace > 0 then
//@     local of_sizes = false
//@     for _, i in ipairs(host.image) do of_sizes = of_sizes or has(i, "workspace") end
APART static int refuse_workspace(struct ${NAME}_error *error, const void *workspace)
{
    if (!workspace)
//@     if of_sizes then
        return fail(error, ${NAME}_INVALID, 0, "workspace is NULL; pass the device address of "
                    "as many bytes as ${NAME}_workspace says, zero "
                    "before the first launch");
//@     else
        return fail(error, ${NAME}_INVALID, 0, "workspace is NULL; pass the device address of ${host.workspace} bytes, zero "
                    "before the first launch");
//@     end
    return fail(error, ${NAME}_INVALID, 0, "workspace is 0x%llx, no multiple of 16 bytes",
                (unsigned long long)(uintptr_t)workspace);
}

//@ end
//@ if host.has_stride then
APART static int refuse_stride(struct ${NAME}_error *error, const char *name, int dim, int64_t stride, uint64_t bytes)
{
    return fail(error, ${NAME}_INVALID, 0, "%s_stride[%d] is %lld elements of %llu bytes; strides are 0 or more and below "
                "2^${map.stride_bits} bytes, %llu elements [${map.stride}]", name, dim, (long long)stride, (unsigned long long)bytes,
                (unsigned long long)(((uint64_t)1 << ${map.stride_bits}) / bytes));
}

//@ end
//@ local lies = {}
//@ for _, t in ipairs(host.tensor) do
//@     if t.out > 0 and t.rank > 1 then lies[#lies + 1] = t.name end
//@ end
//@ if #lies > 0 then
APART static int refuse_overlap(struct ${NAME}_error *error, const char *name, int dim, int64_t stride, int64_t row)
{
    return fail(error, ${NAME}_INVALID, 0, "%s_stride[%d] is %lld elements, and the tensor, which is written, would overlap "
                "itself: its rows have %lld; write %lld or more", name, dim, (long long)stride, (long long)row,
                (long long)row);
}

//@ end
/* What holds for every variant: no extent below 0 or past a map's, addresses, strides below 2^${map.stride_bits} bytes, none of a
 * tensor that is written below its row. */
INLINE int check_tensors(const struct tensor *t, struct ${NAME}_error *error)
{
//@ for _, t in ipairs(host.tensor) do
//@     for _, d in ipairs(t.dim) do
//@         if d.may_be_negative then
    if (t[tensor_${t.name}].dim[${d.index}] < 0)
        return refuse_extent(error, "${t.name}", ${d.index}, t[tensor_${t.name}].dim[${d.index}]);
//@         end
//@         if d.may_be_large then
    if (t[tensor_${t.name}].dim[${d.index}] > ${map.most_extent})
        return refuse_extent(error, "${t.name}", ${d.index}, t[tensor_${t.name}].dim[${d.index}]);
//@         end
//@     end
//@     local not_empty = ""
//@     for _, d in ipairs(t.dim) do
//@         not_empty = not_empty .. " && t[tensor_" .. t.name .. "].dim[" .. d.index .. "] > 0"
//@     end
//@     if t.may_be_null then
    if (t[tensor_${t.name}].address >> ${map.address_bits} != 0)
        return refuse_address(error, "${t.name}", t[tensor_${t.name}].address);
//@     else
    if (t[tensor_${t.name}].address >> ${map.address_bits} != 0 || (t[tensor_${t.name}].address == 0${not_empty}))
        return refuse_address(error, "${t.name}", t[tensor_${t.name}].address);
//@     end
//@     for _, s in ipairs(t.stride) do
    if ((uint64_t)t[tensor_${t.name}].stride[${s.index}] >= ((uint64_t)1 << ${map.stride_bits}) / ${t.bytes} &&
        t[tensor_${t.name}].dim[${s.index}] > 1)
        return refuse_stride(error, "${t.name}", ${s.index}, t[tensor_${t.name}].stride[${s.index}], ${t.bytes});
//@         local last = t.rank - 1
//@         if t.out > 0 then
    if (t[tensor_${t.name}].stride[${s.index}] < t[tensor_${t.name}].dim[${last}] &&
        t[tensor_${t.name}].dim[${s.index}] > 1)
        return refuse_overlap(error, "${t.name}", ${s.index}, t[tensor_${t.name}].stride[${s.index}],
                              t[tensor_${t.name}].dim[${last}]);
//@         end
//@     end
//@ end
    return ${NAME}_OK;
}

//@ local plain = host.guard_count + host.divisor_count == 0
//@ if plain then
/* Whether every size is in its range, and above 1. Sums of signs with one branch, here and below, for this is what most
 * launches are: nothing has to be put in the place of an extent, stride or address that is never used. */
INLINE int ordinary_sizes(const struct ${NAME}_args *args)
{
    uint64_t wrong = 0; /* its highest bit */
//@ local seen = {}
//@ for _, d in ipairs(host.symbol) do
    wrong |= ((uint64_t)args->${d.name} - 2) | ((uint64_t)${d.limit} - (uint64_t)args->${d.name});
//@     if d.multiple > 1 then
    wrong |= (uint64_t)(args->${d.name} % ${d.multiple} != 0) << 63;
//@     end
//@     seen["args->" .. d.name] = true
//@ end
//@ if host.symbol_count == 0 then
    (void)args;
//@ end
    return wrong >> 63 == 0;
}

/* Whether all strides are the default ones. */
INLINE int all_dense(const struct ${NAME}_args *args)
{
    int64_t given = 0;
//@ if not host.has_stride then
    (void)args;
//@ end
//@ for _, t in ipairs(host.tensor) do
//@     for _, s in ipairs(t.stride) do
    given |= args->${t.name}_stride[${s.index}];
//@     end
//@ end
    return given == 0;
}

/* Whether every tensor has an address, extents above 1 and strides in their range. */
INLINE int ordinary_tensors(const struct tensor *t, int dense)
{
    uint64_t wrong = 0, any = 0;
//@ local bounded = false
//@ for _, t in ipairs(host.tensor) do
//@     for _, s in ipairs(t.stride) do bounded = bounded or s.bounded end
//@ end
//@ for _, t in ipairs(host.tensor) do
    any |= t[tensor_${t.name}].address;
    wrong |= t[tensor_${t.name}].address - 1;
//@     for _, d in ipairs(t.dim) do
//@         if not seen[d.c] then
    wrong |= ((uint64_t)t[tensor_${t.name}].dim[${d.index}] - 2) |
             (((uint64_t)1 << ${map.extent_bits}) - (uint64_t)t[tensor_${t.name}].dim[${d.index}]);
//@             seen[d.c] = true
//@         end
//@     end
//@     for _, s in ipairs(t.stride) do
//@         local last = t.rank - 1
//@         if t.out > 0 then
    wrong |= (uint64_t)t[tensor_${t.name}].stride[${s.index}] - (uint64_t)t[tensor_${t.name}].dim[${last}];
//@         end
//@         if s.bounded then
    if (!dense)
        wrong |= (uint64_t)t[tensor_${t.name}].stride[${s.index}] |
                 (((uint64_t)1 << ${map.stride_bits}) / ${t.bytes} - 1 - (uint64_t)t[tensor_${t.name}].stride[${s.index}]);
//@         else
    wrong |= (uint64_t)t[tensor_${t.name}].stride[${s.index}] |
             (((uint64_t)1 << ${map.stride_bits}) / ${t.bytes} - 1 - (uint64_t)t[tensor_${t.name}].stride[${s.index}]);
//@         end
//@     end
//@ end
    wrong |= (((uint64_t)1 << ${map.address_bits}) - 1 - any) | any;
//@ if not bounded then
    (void)dense;
//@ end
    return wrong >> 63 == 0;
}

/* What the two have found, for the compiler. */
INLINE void assume_ordinary(const struct ${NAME}_args *args, const struct tensor *t)
{
//@ for _, d in ipairs(host.symbol) do
    ASSUME(args->${d.name} >= 2 && args->${d.name} <= ${d.limit});
//@ end
//@ for _, t in ipairs(host.tensor) do
    ASSUME(t[tensor_${t.name}].address != 0);
//@     for _, d in ipairs(t.dim) do
    ASSUME(t[tensor_${t.name}].dim[${d.index}] > 1);
//@     end
//@ end
//@ if host.symbol_count == 0 then
    (void)args;
//@ end
}

//@ end
/* Says which tensor keeps the variant that asks least from being taken, and what would do. */
APART static int refuse_alignment(const struct ${NAME}_args *args, const struct rule *rule, int rules,
                                  struct ${NAME}_error *error)
{
    struct tensor tensor[tensors_in_all];
    int i, d;
    resolve(args, 0, tensor);
    for (i = 0; i < rules; i++) {
        const struct rule *r = &rule[i];
        const struct tensor *t = &tensor[r->tensor];
        const char *name = tensors[r->tensor].name;
        unsigned long long align = (unsigned long long)r->align;
        if (t->address % r->align != 0)
            return fail(error, ${NAME}_INVALID, 0,
                        "%s is 0x%llx, no multiple of %llu bytes; move the tensor's start, to 0x%llx for example [%s]",
                        name, (unsigned long long)t->address, align,
                        (unsigned long long)(t->address - t->address % r->align), r->map ? "${map.address_align}" : "ALIGN");
        for (d = 0; d + 1 < r->rank; d++) {
            uint64_t bytes = pitch(t->dim[d], t->stride[d], r->bytes);
            if (bytes % r->align != 0)
                return fail(error, ${NAME}_INVALID, 0,
                            "the stride of dimension %d of %s is %lld elements of %s, %llu bytes, no multiple of %llu; "
                            "pad it to %llu elements and pass that as %s_stride[%d] [%s]",
                            d, name, (long long)t->stride[d], tensors[r->tensor].dtype,
                            (unsigned long long)bytes, align,
                            (unsigned long long)((bytes / r->align + 1) * r->align / r->bytes), name, d,
                            r->map ? "${map.stride_align}" : "ALIGN");
        }
        if (r->whole_rows && (uint64_t)t->dim[r->rank - 1] * r->bytes % r->align != 0)
            return fail(error, ${NAME}_INVALID, 0,
                        "rows of %s hold %lld elements of %s, which are no multiple of %llu bytes; pad them to %llu "
                        "elements", name, (long long)t->dim[r->rank - 1], tensors[r->tensor].dtype, align,
                        (unsigned long long)(((uint64_t)t->dim[r->rank - 1] * r->bytes / r->align + 1) * r->align /
                                             r->bytes));
    }
//@ for _, g in ipairs(host.target) do
//@     for _, r in ipairs(g.rule) do
//@         for _, f in ipairs(r.fixed) do
    if (tensor[tensor_${r.tensor}].stride[${f.dim}] != ${f.stride})
        return fail(error, ${NAME}_INVALID, 0,
                    "the stride of dimension ${f.dim} of ${r.tensor} is %lld elements, and the kernel is made for "
                    "${f.stride}; pass 0 for a tensor that lies densely, or copy it [STRIDE]",
                    (long long)tensor[tensor_${r.tensor}].stride[${f.dim}]);
//@         end
//@     end
//@ end
    return fail(error, ${NAME}_INVALID, 0, "no variant takes these arguments");
}
