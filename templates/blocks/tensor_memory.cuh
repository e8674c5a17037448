//@ -- Tensor memory: 128 lanes of so many columns of 32 bits. A block allocates once; each consumer has columns of its
//@ -- own, and in them the sums of 64 rows: row r of a block of rows in lane 32 (r / 16) + r % 16, which is of the warp
//@ -- that has these rows; or of 128 rows (wide), row r in lane r. A warp loads and stores 16 lanes of 8 columns as
//@ -- four registers a thread, which lie as the results of a wgmma do: rows lane / 4 and 8 more, two neighbouring
//@ -- columns of each.
//@ -- model: the Plan.
//@ param model table
//@ local consumers, all = model.role.consumer.instances, model.barrier.all_barrier
//@ local number = model.memory.groups * consumers
//@ local last = all.id + 1 -- where they meet at the end
//@ local warp = model.role.producer.first_warp + model.role.producer.warps - 1
//@ local wide = model.memory.wide == 1
//@ local heights = model.mma[1].blocks_m * (wide and 2 or 1)
//@ local upper = 16 << 16 -- of an address: a warp's upper 16 lanes
//@ local done, place = model.shared["memory.done"].offset, model.shared["memory.place"].offset
// A consumer's columns, how many groups of products it has issued, and of how many it has seen the end.
struct products {
    u32 columns;
//@ if model.memory.crossed == 1 then
    u32 upper; // of what is in a warp's upper 16 lanes, or of the second consumer in its lower ones
//@ end
    u32 groups;
    u32 seen;
};

// The barrier that one of a consumer's groups arrives on when it has ended.
__device__ __forceinline__ u32 products_done(u32 consumer, u32 number)
{
    return shared_address(${done} + 8 * (consumer * ${model.memory.groups} + number));
}

// By one thread, before anybody waits.
__device__ __forceinline__ void products_init()
{
    for (u32 i = 0; i < ${number}; ++i)
        barrier_init(products_done(0, i), 1);
}

//@ -- By the last of the producer's warps, which else has the least to do, before anything: ptxas (13.0.88) makes a
//@ -- call of it in case that it fails, for which what is known there would be spilled.
// The warp allocates for all consumers, and gives back what they have left.
__device__ __forceinline__ void products_allocate()
{
    if (threadIdx.x / 32 == ${warp}) {
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], ${model.memory.columns};" ::"r"(
                         shared_address(${place}))
                     : "memory");
        asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::: "memory");
        asm volatile("bar.arrive ${all.id}, ${all.threads};" ::: "memory");
    }
}

__device__ __forceinline__ void products_free()
{
    if (threadIdx.x / 32 == ${warp}) {
        u32 columns;
//@ if model.role.producer.warps == 1 then
        __syncwarp(); // one lane has filled rings
//@ end
        asm volatile("bar.sync ${last}, ${all.threads};" ::: "memory");
        asm volatile("ld.shared.b32 %0, [%1];" : "=r"(columns) : "r"(shared_address(${place})) : "memory");
        asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, ${model.memory.columns};" ::"r"(columns)
                     : "memory");
    }
}

//@ local consumer = consumers > 1 and "u32 consumer" or ""
// All warps of the consumers: their columns are there.
__device__ __forceinline__ products products_begin(${consumer})
{
    products p = {};
    asm volatile("bar.sync ${all.id}, ${all.threads};" ::: "memory");
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(p.columns) : "r"(shared_address(${place})) : "memory");
//@ if model.memory.crossed == 1 then
    p.upper = p.columns + (consumer ? 0 : ${upper});
    p.columns += consumer * ${upper};
//@ elseif consumers > 1 then
    p.columns += consumer * ${model.memory.each};
//@ end
    return p;
}

// The same: behind the last access of any of them.
__device__ __forceinline__ void products_end()
{
    asm volatile("bar.arrive ${last}, ${all.threads};" ::: "memory");
}
//@ -- Pieces of n columns: powers of two of 8 columns each.
//@ local function pieces(n)
//@     local list, at, size = {}, 0, 8
//@     while at < n // 8 do
//@         while size > n // 8 - at do size = size // 2 end
//@         list[#list + 1] = { at = at, size = size }
//@         at = at + size
//@     end
//@     return list
//@ end
//@ -- Where a place's columns begin.
//@ local function columns_of(place)
//@     local column = model.column[place]
//@     if model.memory.crossed == 1 and column >= upper then return "p.upper + " .. column - upper end
//@     return "p.columns + " .. column
//@ end
//@ -- Columns of the chunks of a store.
//@ local function width_of(t)
//@     local width = t.access == "tma" and t.tile[t.rank] or model.store_columns
//@     for d = 1, t.rank - 1 do
//@         if t.access == "tma" and model.turned[t.name] == 1 and t.tile[d] > 1 then width = t.tile[d] end
//@     end
//@     return width
//@ end
//@ -- Columns of what is taken of a place at once: chunks of all stores; of one whose sums threads change where they
//@ -- are, chunks of its own, and pieces.
//@ local function widths(place)
//@     local list, known, stays = {}, {}, model.memory.stays == 1
//@     local function add(width)
//@         if not known[width] then list[#list + 1], known[width] = width, true end
//@     end
//@     for _, t in ipairs(stays and model.tensor or {}) do
//@         if t.out and has(model, "turned") and has(model.turned, t.name) then add(width_of(t)) end
//@     end
//@     local piece = has(model, "pieces") and has(model.pieces, place) and model.pieces[place]
//@     for i, step in ipairs(piece and model.role.consumer.step or {}) do
//@         local stores = step.op == "write" or step.op == "global" and not has(step, "place") and step.cols > 1
//@         if (stores or step.op == "touch") and has(step, "node") then
//@             for _, name in ipairs(fragment_step("consumer", i).sums) do
//@                 local t = stores and model.tensor[step.tensor]
//@                 local chunks = t and not (has(model, "direct") and has(model.direct, t.name))
//@                 if name == place then add(chunks and width_of(t) or piece) end
//@             end
//@         end
//@     end
//@     return list
//@ end
//@ -- Threads change a place's sums where they are.
//@ local function changed(place)
//@     for _, step in ipairs(model.role.consumer.step) do
//@         if step.op == "touch" and step.call and has(step, "place") and step.place == place then return true end
//@     end
//@ end
//@ local gives = false
//@ local function lines(count, text, between)
//@     local all = {}
//@     for i = 0, count - 1 do
//@         all[i + 1] = text(i) .. (i == count - 1 and "" or i % 8 == 7 and between or ", ")
//@     end
//@     return table.concat(all)
//@ end
//@ for _, p in ipairs(model.place) do
//@     if p.kind == "operand" then
//@         local blocks = heights
//@         local each, first = p.registers // blocks, columns_of(p.name)

// An operand that threads made, before the products that read it: of 16 lanes and 4 words two a thread.
__device__ __forceinline__ void ${p.name}_put(products p, const u32 (&a)[${blocks}][${each}])
{
    const u32 at = ${first} + (threadIdx.x % 128 / 32 << 21); // this warp's lanes
//@         for block = 0, blocks - 1 do
//@             for _, piece in ipairs(pieces(each * 4)) do
//@                 local count, from = piece.size * 2, piece.at * 2
//@                 local holes = lines(count, function(i) return "%" .. i + 1 end, ', "\n                 "')
//@                 local bindings = lines(count, function(i)
//@                     return '"r"(a[' .. block .. "][" .. from + i .. "])"
//@                 end, ",\n                   ")
//@                 local column = block * each * 2 + piece.at * 4
    asm volatile("tcgen05.st.sync.aligned.16x128b.x${piece.size}.b32 [%0], {${holes}};" ::"r"(at + ${column}),
                 ${bindings}
                 : "memory");
//@             end
//@         end
    asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
}
//@     end
//@     if p.kind == "accumulator" then
//@         local blocks = heights
//@         local each, n = p.cols // 2, p.cols
//@         local type, bound = ctype(p.dtype), ctype(p.dtype) == "int" and "r" or "f"
//@         local first, below = columns_of(p.name), wide and "(block << 20)" or "block * " .. n
//@         for _, taken in ipairs(widths(p.name)) do
//@             local count = taken // 2

//@             local stays = model.memory.stays == 1
//@             local there, zeros = stays and "bool there, " or "", stays and "; zeros where no product was made" or ""
// ${taken} columns of a warp's 16 rows${zeros}.
__device__ __forceinline__ void ${p.name}_take(products p, ${there}int block, int first_pair, ${type} (&d)[${count}])
{
    const u32 at = ${first} + ${below} + first_pair * 8 + (threadIdx.x % 128 / 32 << 21);
//@             if stays then
    #pragma unroll
    for (int i = 0; i < ${count}; ++i)
        d[i] = 0;
    if (there) {
//@                 deeper()
//@             end
//@             for _, piece in ipairs(pieces(taken)) do
//@                 local count, from = piece.size * 4, piece.at * 4
//@                 local holes = lines(count, function(i) return "%" .. i end, ', "\n                 "')
//@                 local bindings = lines(count, function(i) return '"=' .. bound .. '"(d[' .. from + i .. "])" end,
//@                     ",\n                   ")
//@                 local column = piece.at * 8
    asm volatile("tcgen05.ld.sync.aligned.16x256b.x${piece.size}.b32 {${holes}}, [%${count}];"
                 : ${bindings}
                 : "r"(at + ${column})
                 : "memory");
//@             end
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
    #pragma unroll
    for (int i = 0; i < ${count}; ++i)
        asm volatile("" : "+${bound}"(d[i])); // no use of a register before the wait for it
//@             if stays then
//@                 shallower()
    }
//@             end
}
//@         end
//@         local piece = has(model, "pieces") and has(model.pieces, p.name) and model.pieces[p.name]
//@         if piece and changed(p.name) then
//@             local count = piece // 2
//@             gives = true

// ${piece} columns of a warp's 16 rows go back; see sums_given.
__device__ __forceinline__ void ${p.name}_give(products p, int block, int first_pair, const ${type} (&d)[${count}])
{
    const u32 at = ${first} + ${below} + first_pair * 8 + (threadIdx.x % 128 / 32 << 21);
//@             for _, part in ipairs(pieces(piece)) do
//@                 local count, from = part.size * 4, part.at * 4
//@                 local holes = lines(count, function(i) return "%" .. i + 1 end, ', "\n                 "')
//@                 local bindings = lines(count, function(i) return '"' .. bound .. '"(d[' .. from + i .. "])" end,
//@                     ",\n                   ")
//@                 local column = part.at * 8
    asm volatile("tcgen05.st.sync.aligned.16x256b.x${part.size}.b32 [%0], {${holes}};" ::"r"(at + ${column}),
                 ${bindings}
                 : "memory");
//@             end
}
//@         end
//@         if model.memory.stays == 0 and not piece then

// The sums, once their products have ended.
__device__ __forceinline__ void ${p.name}_land(products p, ${type} (&d)[${blocks}][${each}])
{
    const u32 at = ${first} + (threadIdx.x % 128 / 32 << 21); // this warp's lanes
//@         for block = 0, blocks - 1 do
//@             for _, piece in ipairs(pieces(n)) do
//@                 local count, from = piece.size * 4, piece.at * 4
//@                 local holes = lines(count, function(i) return "%" .. i end, ', "\n                 "')
//@                 local bindings = lines(count, function(i)
//@                     return '"=' .. bound .. '"(d[' .. block .. "][" .. from + i .. "])"
//@                 end, ",\n                   ")
//@                 local column = block * n + piece.at * 8
    asm volatile("tcgen05.ld.sync.aligned.16x256b.x${piece.size}.b32 {${holes}}, [%${count}];"
                 : ${bindings}
                 : "r"(at + ${column})
                 : "memory");
//@             end
//@         end
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
//@         -- No use of a register before the wait for it.
    #pragma unroll
    for (int block = 0; block < ${blocks}; ++block)
        #pragma unroll
        for (int i = 0; i < ${each}; ++i)
            asm volatile("" : "+${bound}"(d[block][i]));
}
//@         end
//@         if has(model, "kept") and has(model.kept, p.name) then

// Sums that threads computed on, before the products that add to them.
__device__ __forceinline__ void ${p.name}_put(products p, const ${type} (&d)[${blocks}][${each}])
{
    const u32 at = ${first} + (threadIdx.x % 128 / 32 << 21); // this warp's lanes
//@             for block = 0, blocks - 1 do
//@                 for _, piece in ipairs(pieces(n)) do
//@                     local count, from = piece.size * 4, piece.at * 4
//@                     local holes = lines(count, function(i) return "%" .. i + 1 end, ', "\n                 "')
//@                     local bindings = lines(count, function(i)
//@                         return '"' .. bound .. '"(d[' .. block .. "][" .. from + i .. "])"
//@                     end, ",\n                   ")
//@                     local column = block * n + piece.at * 8
    asm volatile("tcgen05.st.sync.aligned.16x256b.x${piece.size}.b32 [%0], {${holes}};" ::"r"(at + ${column}),
                 ${bindings}
                 : "memory");
//@                 end
//@             end
    asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
}
//@         end
//@     end
//@ end
//@ if gives then

// What went back is there: for this warp's loads, and for products behind a fence.
__device__ __forceinline__ void sums_given()
{
    asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
}
//@ end
