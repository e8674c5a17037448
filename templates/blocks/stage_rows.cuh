//@ -- NAME_rows: a number for each row of an item's tiles, which came in a stage, into registers: a thread's are those
//@ -- of the two rows that it has of each block of an accumulator. Eight neighbours of a warp, four lanes each.
//@ -- Or the same number, or two, for all rows, which the producer sent. A warp meets before it reads: else ptxas reads
//@ -- between the products that stand in front, and has the later ones wait for what it computes of that.
//@ param tensor table
//@ param offset int
//@ param blocks int
//@ param height int
//@ param fenced bool
//@ local t, dtype, size = tensor.name, tensor.dtype, bytes(tensor.dtype)
//@ local type, load, bound, value = "float", "ld.shared.f32", "=f", "element"
//@ if size == 2 then type, load, bound, value = "u16", "ld.shared.u16", "=h", "from_" .. dtype .. "(element)" end
//@ if tensor.access == "global" and tensor.tile_bytes == 8 then
__device__ __forceinline__ void ${t}_rows(float (&rows)[${blocks}][2], float (&others)[${blocks}][2], u32 stage)
{
    __syncwarp();
    float element, other;
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
                 : "=f"(element), "=f"(other)
                 : "r"(shared_address(${offset} + stage * 8))
                 : "memory");
    #pragma unroll
    for (int block = 0; block < ${blocks}; ++block) {
        rows[block][0] = rows[block][1] = element;
        others[block][0] = others[block][1] = other;
    }
}
//@ elseif tensor.access == "global" then
__device__ __forceinline__ void ${t}_rows(float (&rows)[${blocks}][2], u32 stage)
{
    __syncwarp();
    float element;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(element) : "r"(shared_address(${offset} + stage * 4)) : "memory");
    #pragma unroll
    for (int block = 0; block < ${blocks}; ++block)
        rows[block][0] = rows[block][1] = element;
}
//@ else
__device__ __forceinline__ void ${t}_rows(float (&rows)[${blocks}][2], u32 stage, int first_row)
{
    __syncwarp();
    const u32 base = shared_address(${offset} + stage * ${tensor.tile_bytes}) + first_row * ${size};
    #pragma unroll
    for (int block = 0; block < ${blocks}; ++block)
        #pragma unroll
        for (int half = 0; half < 2; ++half) {
            ${type} element;
            asm volatile("${load} %0, [%1];"
                         : "${bound}"(element)
                         : "r"(base + (block * ${height} + half * 8) * ${size})
                         : "memory");
            rows[block][half] = ${value};
        }
}
//@ end
//@ if fenced then

// What this warp has read of a stage is read before the stage is released: the next bulk copy would overtake it.
__device__ __forceinline__ void ${t}_read()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncwarp();
}
//@ end
