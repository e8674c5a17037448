//@ -- NAME_load: a tensor's tile into a stage of its ring. A tile wider than the swizzle's span lies as several boxes
//@ -- beside each other. With multicast the blocks that share the tile each load a slice of its rows for all of them;
//@ -- block (rm, rn) of the cluster, rank rm + cluster_m rn, shares A with its row, over n, B with its column, over m.
//@ param tensor table
//@ param ring table
//@ param offset int
//@ param over text
//@ param cluster_m int
//@ assert(tensor.rank == 2, "tma_load.cuh is for tensors of two dims; include blocks/tma_box.cuh")
//@ local rows, width = tensor.box[1], tensor.box[2]
//@ local row_bytes = tensor.box_bytes // tensor.tile[1]
//@ local slice_bytes, all_rows = rows * row_bytes, tensor.tile[1]
//@ local t = tensor.name
//@ local stride = over == "n" and cluster_m or 1
//@ local mask = 0
//@ for i = 0, tensor.multicast - 1 do mask = mask | (1 << (i * stride)) end

//@ if tensor.multicast > 1 then
// The tile of ${t} at (outer, inner): this block's ${rows} of its ${all_rows} rows, for ${tensor.multicast} blocks.
//@ op fill tensor = t, ring = ring.name, count = tensor.tile_bytes // tensor.multicast, by = "one"
__device__ __forceinline__ void ${t}_load(const arguments &args, ${ring.name}_position p, int outer, int inner)
{
    u32 rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
//@     if over == "m" then
    u32 share = rank % ${cluster_m};
//@     else
    u32 share = rank / ${cluster_m};
//@     end
    u16 blocks = (u16)(${hex(mask)} << (rank - share * ${stride}));
    u32 stage = shared_address(${offset} + p.stage * ${tensor.tile_bytes} + share * ${slice_bytes});
//@     for i = 0, tensor.boxes - 1 do
//@         local at, column = i * tensor.box_bytes, i * width
    tma_load_multicast(stage + ${at}, &args.${t}_map, ${ring.name}_full(p.stage), inner + ${column}, outer + (int)share * ${rows}, blocks);
//@     end
}
//@ else
// The tile of ${t} at (outer, inner).
//@ op fill tensor = t, ring = ring.name, count = tensor.tile_bytes // tensor.multicast, by = "one"
__device__ __forceinline__ void ${t}_load(const arguments &args, ${ring.name}_position p, int outer, int inner)
{
    u32 stage = shared_address(${offset} + p.stage * ${tensor.tile_bytes});
//@     for i = 0, tensor.boxes - 1 do
//@         local at, column = i * tensor.box_bytes, i * width
    tma_load(stage + ${at}, &args.${t}_map, ${ring.name}_full(p.stage), inner + ${column}, outer);
//@     end
}
//@ end
