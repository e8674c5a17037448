//@ -- Bulk tensor copies of windows, by im2col maps. copies: by kind of copy, rank and whether it says what becomes of
//@ -- its bytes in the L2, { rank = 4, shared = false, hinted = false }; shared ones are for several blocks.
//@ param copies table
//@ for n, copy in ipairs(copies) do
//@     local rank, from, taps, types, bindings, at = copy.rank, "", "", "", "", 3
//@     for d = rank - 1, 0, -1 do -- innermost first
//@         from, at = from .. (from ~= "" and ", " or "") .. "%" .. at, at + 1
//@         bindings = bindings .. (bindings ~= "" and ", " or "") .. '"r"(i' .. d .. ")"
//@     end
//@     for d = rank - 2, 1, -1 do
//@         taps, at = taps .. (taps ~= "" and ", " or "") .. "%" .. at, at + 1
//@         bindings = bindings .. ', "h"(tap' .. d .. ")"
//@     end
//@     for d = 0, rank - 1 do types = types .. ", int i" .. d end
//@     for d = 1, rank - 2 do types = types .. ", u16 tap" .. d end
//@     local several, mask, hint, policy = "", "", "", ""
//@     local space = copy.shared and "shared::cluster" or copy_space()
//@     if copy.shared then
//@         several, mask, at = ".multicast::cluster", ", %" .. at, at + 1
//@         types, bindings = types .. ", u16 blocks", bindings .. ', "h"(blocks)'
//@     end
//@     if copy.hinted then
//@         hint, policy = ".L2::cache_hint", ", %" .. at
//@         types, bindings = types .. ", u64 policy", bindings .. ', "l"(policy)'
//@     end
//@     local name = (copy.shared and "multicast" or "load") .. (copy.hinted and "_hinted" or "")
//@     if n > 1 then

//@     end
// Starts the copy of windows into shared memory, of taps so many pixels behind their first: the walk begins at these
//@     if copy.shared then
// coordinates. Every block of the cluster whose bit is set in blocks receives them.
//@     else
// coordinates. Its bytes are counted on the barrier.
//@     end
__device__ __forceinline__ void tma_windows_${name}_${rank}d(u32 destination, const tensor_map *map, u32 barrier${types})
{
//@ if several == "" then
    asm volatile("cp.async.bulk.tensor.${rank}d.${space}.global.im2col.mbarrier::complete_tx::bytes${hint} "
//@ else
    asm volatile("cp.async.bulk.tensor.${rank}d.${space}.global.im2col.mbarrier::complete_tx::bytes"
                 "${several}${hint} "
//@ end
                 "[%0], [%1, {${from}}], [%2], {${taps}}${mask}${policy};" ::"r"(destination),
                 "l"(map), "r"(barrier), ${bindings}
                 : "memory");
}
//@ end
