//@ -- The kernels themselves, as arrays: sources and PTX in chunks that any compiler takes as a literal, cubins as
//@ -- bytes; and what is known of them.
//@ param host table
//@ param shape table
//@ local NAME, T = host.name, host.types
//@ for n, i in ipairs(host.image) do
//@     local number = n - 1
//@     if i.source_chunks > 0 then
static const char *const source_${number}[] = {
    /* ${i.entry} for ${i.arch}: CUDA, compiled by load */
    ${i.source}
    NULL
};
//@     end
//@     if i.cubin_bytes > 0 then
static const union {
    /* ${i.entry} for ${i.arch}: a cubin */
    unsigned char bytes[${i.cubin_bytes}];
    uint64_t align;
} cubin_${number} = {{
//@         for _, line in ipairs(i.cubin) do
    ${line}
//@         end
}};
//@     end
//@     if i.ptx_chunks > 0 then
static const char *const ptx_${number}[] = {
    /* ${i.entry} for ${i.arch}: PTX, for devices newer than that */
    ${i.ptx}
    NULL
};
//@     end
//@ end

//@ local rows = {}
//@ for n, i in ipairs(host.image) do
//@     local number = n - 1
//@     local row = {}
//@     if host.part.cubin then row[1] = i.cubin_bytes > 0 and "cubin_" .. number .. ".bytes" or "NULL" end
//@     if host.part.source then row[#row + 1] = i.source_chunks > 0 and "source_" .. number or "NULL" end
//@     if host.part.ptx then row[#row + 1] = i.ptx_chunks > 0 and "ptx_" .. number or "NULL" end
//@     row[#row + 1] = i.blocks_per_sm
//@     row[#row + 1] = shape.of[n]
//@     if host.part.tuned then row[#row + 1] = i.setup end
//@     if host.part.lists then row[#row + 1] = has(i, "list") and 1 or 0 end
//@     rows[n] = "{" .. csv(row) .. "}"
//@ end
//@ local all = csv(rows)
static const struct image images[] = {${all}};
static const struct ${T}_variant variants[] = {
//@ for _, i in ipairs(host.image) do
//@     local programmatic = i.programmatic and 1 or 0
    {"${i.variant}", "${i.entry}", "${i.arch}", ${i.threads}, ${i.shared_bytes}, {${i.cluster.x}, ${i.cluster.y}, ${i.cluster.z}}, ${programmatic}, ${i.param_bytes}, ${i.registers}},
//@ end
};
//@ rows = {}
//@ for n, t in ipairs(host.target) do
//@     local what = csv { t.major, t.minor, t.exact, t.newer, t.first, #t.image, t.count, t.shared_bytes }
//@     rows[n] = '{"' .. t.arch .. '", ' .. what .. "}"
//@ end
//@ all = csv(rows)
static const struct target targets[] = {${all}};
//@ local names = {}
//@ rows = {}
//@ for n, t in ipairs(host.tensor) do
//@     local what = csv { t.bytes, t.rank, t.align, t.best_align, t.out }
//@     rows[n] = '{"' .. t.name .. '", "' .. t.dtype .. '", "' .. t.shape .. '", ' .. what .. "}"
//@     names[n] = "at_" .. t.name
//@ end
//@ names[#names + 1] = "tensor_count"
//@ all = csv(rows)
//@ local numbers = csv(names)
enum { ${numbers} }; /* by number */
static const struct ${T}_tensor tensors[] = {${all}};
//@ if host.part.operands then
//@     rows = {}
//@     for n, t in ipairs(host.tensor) do
//@         local signs, large = 0, 0
//@         for _, d in ipairs(t.dim) do
//@             signs = signs + (d.may_be_negative and 1 << d.index or 0)
//@             large = large + (d.may_be_large and 1 << d.index or 0)
//@         end
//@         local row = { t.may_be_null and 1 or 0, signs, large }
//@         if host.part.pointers then row[4] = t.pointers and 1 or 0 end
//@         if host.part.arrays then row[#row + 1] = t.maps end
//@         rows[n] = "{" .. csv(row) .. "}"
//@     end
//@     all = csv(rows)
static const struct operand operands[] = {${all}};
//@ end
//@ rows = {}
//@ for _, g in ipairs(host.target) do
//@     for _, r in ipairs(g.rule) do
//@         local row = { r.align, r.whole_rows, r.map }
//@         if host.part.fixed then
//@             local fixed = {}
//@             for _, f in ipairs(r.fixed) do
//@                 while #fixed < f.dim do fixed[#fixed + 1] = 0 end
//@                 fixed[f.dim + 1] = f.stride
//@             end
//@             if #fixed == 0 then fixed[1] = 0 end
//@             row[4] = "{" .. csv(fixed) .. "}"
//@         end
//@         rows[#rows + 1] = "{" .. csv(row) .. "}"
//@     end
//@ end
//@ all = csv(rows)
static const struct rule rules[] = {${all}};
//@ if host.map_count > 0 then

/* Images of tensor maps; with parentheses, as a size may have any name. */
//@     for n, m in ipairs(host.map) do
//@         local number, image = n - 1, csv(m.image)
//@         if #image > 100 then
//@             image = table.concat(m.image, ", ", 1, 8) .. ", \\\n    " .. table.concat(m.image, ", ", 9)
//@         end
#define MAP_${number}() ${image}
//@     end
//@     local rows = {}
//@     for n, m in ipairs(host.map) do
//@         local number = n - 1
//@         local row = m.targets .. ", " .. csv { m.dtype, m.swizzle, m.promotion, m.rank, m.element_bytes }
//@         row = row .. ", {" .. csv(m.box) .. "}, {" .. csv(m.dim) .. "}, {MAP_" .. number .. "()}"
//@         if host.part.windows then
//@             local lower, upper, step = csv(m.lower), csv(m.upper), csv(m.step)
//@             if m.window_dims == 0 then lower, upper, step = "0", "0", "0" end
//@             row = row .. ", " .. m.window_dims .. ", {" .. lower .. "}, {" .. upper .. "}, {" .. step .. "}"
//@         end
//@         rows[n] = '{"' .. m.name .. '", ' .. row .. "}"
//@     end
//@     local all = csv(rows)
static const struct map maps[] = {${all}};
//@     if host.tuned then
/* By variant: those that its parameter holds, in order. */
//@         local rows = {}
//@         for n, i in ipairs(host.image) do
//@             local list = {}
//@             for _, q in ipairs(i.param) do
//@                 if q.kind == "map" then list[#list + 1] = q.map end
//@             end
//@             if #list == 0 then list[1] = 0 end
//@             rows[n] = "{" .. csv(list) .. "}"
//@         end
//@         local all = csv(rows)
static const unsigned char maps_of[][${host.most_maps}] = {${all}};
//@     end
//@ end
//@ if host.has_source then
//@     local all = csv(host.option)
static const char *const options[] = {${all}};
//@ end
//@ if host.tuned then

//@ include "host/choice.c" host = host
//@ end
//@ if host.shared then
//@     local row = { '"' .. NAME .. '"', "tensors", "operands", "rules", host.map_count > 0 and "maps" or "NULL" }
//@     row[6] = "targets, images, variants"
//@     row[7] = host.has_source and "options" or "NULL"
//@     row[8] = host.tuned and "choices" or "NULL"
//@     row[9] = host.variants
//@     row[10] = "tensor_count"
//@     row[11], row[12], row[13] = #host.target, host.map_count, host.has_source and #host.option or 0
//@     row[14] = host.tuned and #host.choice or 0
//@     local list = csv(row)
static const struct tables tables = {${list}};
//@ else
//@     local counts = "slot_count = " .. host.variants .. ", target_count = " .. #host.target
//@     if host.part.maps then counts = counts .. ", map_count = " .. host.map_count end
//@     if host.part.source then counts = counts .. ", option_count = " .. #host.option end
//@     if host.part.tuned then counts = counts .. ", choice_count = " .. #host.choice end
enum { ${counts} };
//@ end
