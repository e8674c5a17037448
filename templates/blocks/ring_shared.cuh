//@ -- Release of a ring whose tiles are shared along some of the cluster's axes. shares: of each of them `stride` and
//@ -- `size`, so many blocks that many ranks apart; blocks: of the cluster.
//@ param ring table
//@ param shares table
//@ param blocks int
//@ local condition = ""
//@ for i, along in ipairs(shares) do
//@     local stride, whole = along.stride, along.stride * along.size
//@     local inner = stride > 1 and "lane % " .. stride .. " == own % " .. stride or ""
//@     local outer = whole < blocks and "lane / " .. whole .. " == own / " .. whole or ""
//@     local both = #inner > 0 and #outer > 0
//@     local same = inner .. (both and " && " or "") .. outer
//@     condition = condition .. (i > 1 and " || " or "") .. (both and #shares > 1 and "(" .. same .. ")" or same)
//@ end
//@ if #shares > 1 then condition = "(" .. condition .. ")" end

// Drainer, every warp: nobody here reads the stage any more. Tells every block that fills it, and advances.
//@ op release ring = ring.name
__device__ __forceinline__ void ${ring.name}_release(${ring.name}_position &p)
{
    const u32 lane = threadIdx.x % 32;
    u32 own;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(own));
    if (lane < ${blocks} && ${condition})
        barrier_arrive_remote(${ring.name}_empty(p.stage), lane);
    ${ring.name}_advance(p);
}
