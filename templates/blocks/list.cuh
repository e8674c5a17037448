//@ -- Turns by a list (plan/list.h): the kernel that finds, for each record, into which turns of the loop the masks let
//@ -- anything. A block has a record, a warp 32 turns at a time: its lanes find the least and the largest element that
//@ -- a turn's tile has of each tensor, and each keeps one turn.
//@ param model table
//@ param entry text
//@ local list, reads = model.list, {}
//@ local threads, head, offset, step, loop = list.threads, list.head, list.offset // 4, list.step, list.loop
//@ local warps = threads // 32
//@ local range = fragment_uniform("range", list.from, list.turns, list.words)
//@ local first, turns, words = range[1], range[2], range[3]
//@ local asked = fragment_uniform("asked", list.possible, list.certain)
//@ local possible, certain = asked[1], asked[2]
//@ for i, r in ipairs(list.read) do
//@     reads[i] = fragment_uniform("of" .. i - 1 .. "_", r.element, r.inside)
//@ end
// The records, a word each. Each block finds the turns of one.
extern "C" __global__ void __launch_bounds__(${threads}) ${entry}_list(const __grid_constant__ arguments args)
{
    __shared__ u32 seen[${warps}], whole[${warps}]; // of a warp's turns: something is let in; all is
    [[maybe_unused]] int rest = (int)blockIdx.x;
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
//@ for i = #list.axis, 1, -1 do
//@     local item
//@     for _, other in ipairs(model.item) do if other.axis == list.axis[i] then item = other end end
//@     local axis, tile = item.axis, item.tile
//@     local extent = fragment_uniform("along_" .. axis, item.extent)
//@     local statements, all = extent.at, extent[1]
    ${statements}
    const int many_${axis} = (int)((${all} + ${tile} - 1) / ${tile}), at_${axis} = rest % many_${axis} * ${tile};
    rest /= many_${axis};
//@ end
    ${range.at}
    int *const record = (int *)args.workspace + ${offset} + (i64)blockIdx.x * ${words};
//@ for _, by_turn in ipairs { false, true } do
//@     if by_turn then
    int count = 0, run = 0, longest = 0, until = 0;
    #pragma unroll 1
    for (int from = 0; from < ${turns}; from += ${threads}) {
        u32 visible = 0, inside = 0;
        #pragma unroll 4
        for (int i = 0; i < 32; ++i) {
            const int turn = from + warp * 32 + i;
            [[maybe_unused]] const int ${loop} = (int)${first} + turn * ${step};
//@         deeper()
//@         deeper()
//@     end
//@     for i, r in ipairs(list.read) do
//@         if r.by_turn == by_turn then
//@             local text, name, elements = reads[i], i - 1, r.count
//@             local once, each, element, there = text.at, text.rows, text[1], text[2]
    int least${name} = 2147483647, most${name} = -2147483647 - 1;
    #pragma unroll
    for (int row = lane; row < ${elements}; row += 32) {
        ${once}
        ${each}
        if (${there}) {
            least${name} = min(least${name}, (int)${element});
            most${name} = max(most${name}, (int)${element});
        }
    }
    least${name} = __reduce_min_sync(~0u, least${name});
    most${name} = __reduce_max_sync(~0u, most${name});
    if (least${name} > most${name}) { // of nothing anything may be said
        least${name} = -2147483647 - 1;
        most${name} = 2147483647;
    }
//@         end
//@     end
//@     if by_turn then
//@         shallower()
//@         shallower()
            ${asked.at}
            const bool some = turn < ${turns} && ${possible};
            visible |= (u32)some << i;
            inside |= (u32)(some && ${certain}) << i;
        }
        if (lane == 0) {
            seen[warp] = visible;
            whole[warp] = inside;
        }
        __syncthreads();
        int before = count;
        for (int w = 0; w < warp; ++w)
            before += __popc(seen[w]);
        if (visible >> lane & 1)
            record[${head} + before + __popc(visible & ((1u << lane) - 1))] =
                (int)${first} + (from + warp * 32 + lane) * ${step};
        for (int w = 0; w < ${warps}; ++w) // the longest run of turns that need no masks
            for (u32 left = seen[w]; left; left &= left - 1) {
                run = whole[w] & left & (0u - left) ? run + 1 : 0;
                ++count;
                if (run > longest) {
                    longest = run;
                    until = count;
                }
            }
        __syncthreads();
    }
//@     end
//@ end
    if (threadIdx.x == 0) {
        record[0] = count;
        record[1] = until - longest;
        record[2] = until;
    }
}
