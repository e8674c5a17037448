//@ -- Ring source: an operand of a result's arithmetic in the buffers that the result's chunks leave by, as the
//@ -- result lies there. By each consumer for itself: NAME_fetch brings a chunk, NAME_take reads it as NAME_write of
//@ -- the output will write (store_tile.cuh), so that each warp takes what it writes over. NAME_split makes two numbers
//@ -- of a word. ring: the source; into: that of the buffers; output: the tensor that is stored from them.
//@ param ring table
//@ param into text
//@ param tensor table
//@ param output text
//@ param full_offset int
//@ param consumers int
//@ local t, rank, dtype, width = tensor.name, tensor.rank, tensor.dtype, tensor.tile[tensor.rank]
//@ local lines, pairs = tensor.box_bytes // (tensor.box[rank] * bytes(dtype)), width // 8
//@ local span = tensor.box_bytes // lines
//@ local groups = pairs % 2 == 0 and 2 or 1
//@ local types, places, copy, policy = "", "", map_rank(tensor) .. "d", ""
//@ for d = 0, rank - 1 do types, places = types .. ", int i" .. d, places .. ", i" .. d end
//@ if has(tensor, "cache") then copy, policy = "hinted_" .. copy, ", cache_" .. tensor.cache .. "()" end
//@ local line, site = "", ""
//@ if debug_ms() > 0 then
//@     line, site = ", int line = __builtin_LINE()", ", \"" .. ring.name .. "\", 1, p.stage, p.step, line"
//@ end

// Ring ${ring.name}: ${ring.stages} stages of ${ring.tx_bytes} bytes, a consumer, in the buffers of ring ${into}.
struct ${ring.name}_position {
    u32 stage; // below ${ring.stages}
    u32 phase; // flips when the ring wraps
//@ if debug_ms() > 0 then
    u32 step;  // stages gone past
//@ end
};

__device__ __forceinline__ void ${ring.name}_advance(${ring.name}_position &p)
{
//@ if debug_ms() > 0 then
    ++p.step;
//@ end
    if (++p.stage == ${ring.stages}) {
        p.stage = 0;
        p.phase ^= 1;
    }
}

__device__ __forceinline__ u32 ${ring.name}_full(u32 consumer, u32 stage)
{
    return shared_address(${full_offset} + 8 * (consumer * ${ring.stages} + stage));
}

// By one thread, before anybody waits.
__device__ __forceinline__ void ${ring.name}_init()
{
    for (u32 stage = 0; stage < ${ring.stages}; ++stage)
        for (u32 consumer = 0; consumer < ${consumers}; ++consumer)
            barrier_init(${ring.name}_full(consumer, stage), ${ring.full_arrivals});
}

// The warp whose first thread stores the buffers, behind that thread's wait: one of its lanes asks for an item's
// chunks. Its number comes through a shuffle, so that the compiler knows it to be the same in all lanes: behind a
// comparison of threadIdx.x each bulk copy would stand in a loop over the lanes that may be.
__device__ __forceinline__ bool ${ring.name}_issues()
{
    __syncwarp();
    return __shfl_sync(~0u, threadIdx.x / 32 % 4, 0) == 0;
}

// That lane: announces the bytes of a chunk.
__device__ __forceinline__ void ${ring.name}_expect(u32 consumer, u32 stage)
{
    barrier_arrive_expect(${ring.name}_full(consumer, stage), ${ring.tx_bytes});
}

// The chunk has come.
__device__ __forceinline__ void ${ring.name}_wait_full(${ring.name}_position p, u32 consumer${line})
{
    barrier_wait(${ring.name}_full(consumer, p.stage), p.phase${site});
}

// That lane: the chunk of ${t} at these coordinates, into the buffer of that number.
__device__ __forceinline__ void ${t}_fetch(const arguments &args, u32 consumer, u32 stage${types})
{
    const u32 buffer = ${into}_buffer(consumer, stage), full = ${ring.name}_full(consumer, stage);
//@ for box = 0, tensor.boxes - 1 do
//@     local at, more = box * tensor.box_bytes, box > 0 and " + " .. box * tensor.box[rank] or ""
    tma_load_${copy}(buffer + ${at}, &args.${t}_map, full${places}${more}${policy});
//@ end
}

typedef u32 ${t}_two; // a pair, as it lies in memory

// Pairs of a chunk, by half of the thread's rows.
__device__ __forceinline__ void ${t}_take(${t}_two (&held)[2][${pairs}], ${ring.name}_position p, u32 consumer)
{
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4, base = ${into}_buffer(consumer, p.stage);
    #pragma unroll
    for (int j = 0; j < ${pairs}; j += ${groups}) {
//@ if tensor.boxes > 1 then
//@     local within = span // 16
        const u32 chunk = j + lane / 16;
        const u32 at =
            chunk / ${within} * ${tensor.box_bytes} + (warp * 16 + lane % 16) * ${span} + chunk % ${within} * 16;
//@ else
        const u32 at = (warp * 16 + lane % 16) * ${span} + (j + lane / 16) * 16;
//@ end
//@ if groups == 2 then
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(held[0][j]), "=r"(held[1][j]), "=r"(held[0][j + 1]), "=r"(held[1][j + 1])
                     : "r"(${output}_place(base, at))
                     : "memory");
//@ else
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                     : "=r"(held[0][j]), "=r"(held[1][j])
                     : "r"(${output}_place(base, at))
                     : "memory");
//@ end
    }
}

__device__ __forceinline__ void ${t}_split(${t}_two both, float (&x)[2])
{
    x[0] = from_${dtype}((u16)both);
    x[1] = from_${dtype}((u16)(both >> 16));
}
