//@ -- RING_NAME_load: a tensor's tile into a stage of its ring, by all threads of the block, 16 bytes at a time. What
//@ -- lies outside of the tensor arrives as zeros. A tensor of access cp_async has rows that begin at multiples of 16
//@ -- bytes and is copied behind the threads' back; of others, any alignment and any row, elements are read one by one.
//@ -- begins: by dim, whether tiles never begin below 0 in it. wide: whether they begin at numbers of 64 bits. limited:
//@ -- rows from some one on arrive as zeros.
//@ param tensor table
//@ param ring table
//@ param offset int
//@ param threads int
//@ param extent table
//@ param begins table
//@ param wide table
//@ param limited bool
//@ local t, rank = tensor, tensor.rank
//@ local name, size, columns = t.name, bytes(t.dtype), t.tile[t.rank]
//@ local height, spans, types, nodes = 1, {}, "", {}
//@ for d = 1, rank do
//@     types = types .. (wide[d] and begins[d] and ", i64 i" or ", int i") .. d - 1
//@     if d < rank then
//@         height = height * t.tile[d]
//@         if t.tile[d] > 1 then spans[#spans + 1] = d end
//@     end
//@ end
//@ for i, d in ipairs(spans) do nodes[i] = extent["d" .. d - 1] end
//@ nodes[#nodes + 1] = extent["d" .. rank - 1]
//@ local elements = 16 // size
//@ local width = columns // elements
//@ local total = height * width
//@ local passes, group = ceil_div(total, threads), total > threads and 2 or 1
//@ local found, ends = fragment_uniform("x", table.unpack(nodes)), {}
//@ for i, d in ipairs(spans) do ends[d] = found[i] end
//@ local statements, column_end, last = found.at, found[#nodes], rank - 1
//@ -- Rows of the tile that are inside: of a single span a number of them, from the first on.
//@ local span = #spans == 1 and spans[1] or 0
//@ if limited then types = types .. ", int there" end
//@ local simple = span > 0 and begins[span] and begins[rank]
//@ local source, inside, parts = {}, {}, {}
//@ local rest = "row"
//@ for i = #spans, 1, -1 do
//@     local d = spans[i]
//@     parts[d] = i == 1 and rest or rest .. " % " .. t.tile[d]
//@     rest = rest .. " / " .. t.tile[d]
//@ end
//@ local base, from = slice(t, "i0")
//@ for d = from, rank do
//@     local own = has(parts, d) and parts[d] or ""
//@     local stride = d < rank and " * args." .. name .. "_stride" .. d - 1 or ""
//@     if t.access == "cp_async" and own ~= "" then stride = " * stride" .. d - 1 end
//@     local n = #source + 1
//@     source[n] = own ~= "" and "(i" .. d - 1 .. " + (i64)(" .. own .. "))" .. stride or "(i64)i" .. d - 1 .. stride
//@     if own == "row" then source[n] = "(i" .. d - 1 .. " + (i64)row)" .. stride end
//@     if own ~= "" then
//@         inside[#inside + 1] = "(u64)(i" .. d - 1 .. " + (i64)(" .. own .. ")) < (u64)" .. ends[d]
//@     end
//@ end
//@ if limited then inside[#inside + 1] = "(int)row < there" end
//@ -- Elements of other than two bytes by their bits.
//@ local unsigned = size == 4 and "u32" or "unsigned char"
//@ local function is_inside(element)
//@     if simple then return element .. " < count" end
//@     return "in_row && (u64)(at + " .. element .. ") < (u64)" .. column_end
//@ end
//@ local held_word, held_byte = is_inside("w"), is_inside("4 * w + e")
//@ local place, all = table.concat(source, " + "), #inside > 0 and table.concat(inside, " && ") or "true"

// The ${height} x ${columns} tile of ${name} at these coordinates into the stage: ${width} chunks a row.
__device__ __forceinline__ void ${ring.name}_${name}_load(const arguments &args, u32 stage${types})
{
    ${statements}
    const u32 tile = shared_address(${offset} + stage * ${t.tile_bytes});
//@ if simple then
//@     local row_end, first = ends[span], span - 1
//@     local most = limited and "(i64)min(there, " .. height .. ")" or "(i64)" .. height
//@     if wide[span] then
    const u32 rows = (u32)max(min((i64)${row_end} - i${first}, ${most}), (i64)0);
//@     else
    const u32 rows = (u32)max((int)min((i64)${row_end} - i${first}, ${most}), 0);
//@     end
//@     if wide[rank] then
    const u32 columns = (u32)max(min((i64)${column_end} - i${last}, (i64)${columns}), (i64)0);
//@     else
    const u32 columns = (u32)max((int)min((i64)${column_end} - i${last}, (i64)${columns}), 0);
//@     end
//@ end
//@ -- Of a dim of one element any stride is taken at launch: what lies behind its one row must not be misaligned.
//@ for _, d in ipairs(spans) do
//@     local n, dim_end = d - 1, ends[d]
//@     if t.access == "cp_async" then
    const i64 stride${n} = ${dim_end} == 1 ? 0 : args.${name}_stride${n};
//@     end
//@ end
//@ local function count()
//@     if simple then
    const u32 count = row < rows && column < columns ? min(columns - column, ${elements}) : 0;
//@     else
    // An element is outside on either side: the chunk that one edge cuts is made of what is inside.
    const i64 at = i${last} + (i64)column, left = (i64)${column_end} - at;
    const u32 count = ${all} && at >= 0 && left > 0 ? (u32)min(left, (i64)${elements}) : 0;
//@     end
//@ end
//@ if t.access == "cp_async" then
    #pragma unroll
    for (u32 pass = 0; pass < ${passes}; ++pass) {
//@     if threads % width == 0 then
//@         local step = threads // width
        const u32 row = pass * ${step} + threadIdx.x / ${width}, chunk = threadIdx.x % ${width};
//@     else
        const u32 i = pass * ${threads} + threadIdx.x, row = i / ${width}, chunk = i % ${width};
//@     end
        const u32 column = chunk * ${elements};
//@     deeper()
//@     count()
//@     shallower()
        const ${ctype(t.dtype)} *source = ${base} + ${place} + column;
//@     if total % threads ~= 0 then
        if (row < ${height})
            copy_async(tile + ${name}_chunk(row, chunk), source, count * ${size});
//@     else
        copy_async(tile + ${name}_chunk(row, chunk), source, count * ${size});
//@     end
    }
//@ else
    #pragma unroll 1
    for (u32 pass = 0; pass < ${passes}; pass += ${group}) {
        u32 word[${group}][4];
        #pragma unroll
        for (u32 g = 0; g < ${group}; ++g) {
            const u32 i = (pass + g) * ${threads} + threadIdx.x;
            const u32 row = i / ${width}, column = i % ${width} * ${elements};
//@     if simple then
            const u32 count = row < rows && column < columns ? columns - column : 0;
//@     else
            const i64 at = i${last} + (i64)column;
            const bool in_row = row < ${height} && ${all};
//@     end
//@     if size == 2 then
            const ${ctype(t.dtype)} *source = ${base} + ${place} + column;
            #pragma unroll
            for (u32 w = 0; w < 4; ++w) {
//@     if simple then
                const u32 low = 2 * w < count ? source[2 * w] : 0;
                const u32 high = 2 * w + 1 < count ? source[2 * w + 1] : 0;
//@     else
                const u32 low = in_row && (u64)(at + 2 * w) < (u64)${column_end} ? source[2 * w] : 0;
                const u32 high = in_row && (u64)(at + 2 * w + 1) < (u64)${column_end} ? source[2 * w + 1] : 0;
//@     end
                word[g][w] = low | high << 16;
            }
//@     else
            const ${unsigned} *source = (const ${unsigned} *)${base} + ${place} + column;
            #pragma unroll
            for (u32 w = 0; w < 4; ++w)
//@         if size == 4 then
                word[g][w] = ${held_word} ? source[w] : 0;
//@         else
            {
                word[g][w] = 0;
                #pragma unroll
                for (u32 e = 0; e < 4; ++e)
                    word[g][w] |= (u32)(${held_byte} ? source[4 * w + e] : 0) << 8 * e;
            }
//@         end
//@     end
        }
        #pragma unroll
        for (u32 g = 0; g < ${group}; ++g) {
            const u32 i = (pass + g) * ${threads} + threadIdx.x;
//@     if total % (threads * group) ~= 0 then
            if (i < ${total})
                store_shared(tile + ${name}_chunk(i / ${width}, i % ${width}), word[g]);
//@     else
            store_shared(tile + ${name}_chunk(i / ${width}, i % ${width}), word[g]);
//@     end
        }
    }
//@ end
}
