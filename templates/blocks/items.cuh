//@ -- The order in which blocks take work items. order: "row", the last axis fastest; "column", the first fastest;
//@ -- "grouped", of two axes: bands of `group` items along the first, its items fastest within a band; "longest": along
//@ -- one axis from the far end on, where items are longest, in bands of as many others as share what the L2 holds.
//@ param model table
//@ param schedule table
//@ param cluster table
//@ local order, blocks = schedule.order, 1
//@ local items, names, places = model.item, {}, ""
//@ for i, item in ipairs(items) do
//@     names[i] = "across_" .. item.axis
//@     places = places .. ", int &at_" .. item.axis
//@     blocks = blocks * cluster[item.axis]
//@ end
struct item_order {
    int next; // what else there is to know is computed again for each item: registers are dear in between
//@ if order == "longest" then
    int step; // rounds go back and forth: who had the longest item of one has the shortest of the next
//@ end
};

__device__ __forceinline__ item_order items_begin()
{
//@ local clusters = blocks > 1 and "(gridDim.x / " .. blocks .. ")" or "gridDim.x"
//@ local own = blocks > 1 and "(blockIdx.x / " .. blocks .. ")" or "blockIdx.x"
//@ if order == "longest" then
    item_order s = {(int)${own}, 2 * (int)${clusters} - 1 - 2 * (int)${own}};
//@ else
    item_order s = {(int)${own}};
//@ end
    return s;
}

// The next item of this block: false when there is none. at_AXIS is where it begins.
__device__ __forceinline__ bool items_next(const arguments &args, item_order &s${places})
{
//@ for i, item in ipairs(items) do
//@     local extent = fragment_uniform("x" .. i .. "_", item.extent)
//@     local span = item.tile * cluster[item.axis]
//@     local up, value, statements = span - 1, extent[1], extent.at
    ${statements}
//@     if span == 1 then
    const int across_${item.axis} = (int)(${value});
//@     else
    const int across_${item.axis} = (int)(((i64)${value} + ${up}) / ${span});
//@     end
//@ end
//@ local total = table.concat(names, " * ")
    const int number = s.next;
    if (number >= ${total})
        return false;
//@ if order == "grouped" and #items == 2 then
//@     local m, n = items[1], items[2]
    int band = number / (${schedule.group} * across_${n.axis});
    int height = min(${schedule.group}, across_${m.axis} - band * ${schedule.group});
    int within = number - band * ${schedule.group} * across_${n.axis};
    at_${m.axis} = (band * ${schedule.group} + within % height) * ${m.tile};
    at_${n.axis} = within / height * ${n.tile};
//@ elseif order == "longest" then
//@     local far, others, count = schedule.longest, {}, {}
//@     for i, item in ipairs(items) do
//@         if item.axis ~= far then
//@             others[#others + 1] = item
//@             count[#count + 1] = "across_" .. item.axis
//@         end
//@     end
//@     local length = fragment_uniform("l", schedule.length)
//@     local statements, most, all = length.at, length[1], #count > 0 and table.concat(count, " * ") or "1"
    ${statements}
    const int all = ${all}, group = max(1, min(all, ${schedule.cached} / max(1, (int)(${most}))));
    const int band = number / (group * across_${far}), height = min(group, all - band * group);
    const int within = number - band * group * across_${far};
//@     for _, item in ipairs(items) do
//@         if item.axis == far then
    at_${far} = (across_${far} - 1 - within / height) * ${item.tile};
//@         end
//@     end
    int rest = band * group + within % height;
//@     for i = #others, 1, -1 do
//@         local item = others[i]
    at_${item.axis} = rest % across_${item.axis} * ${item.tile};
//@         if i > 1 then
    rest /= across_${item.axis};
//@         end
//@     end
//@ else
    int rest = number;
//@     local from, to, by = #items, 1, -1
//@     if order == "column" then from, to, by = 1, #items, 1 end
//@     for i = from, to, by do
//@         local item = items[i]
//@         if i == to then
    at_${item.axis} = rest * ${item.tile};
//@         else
    at_${item.axis} = rest % across_${item.axis} * ${item.tile};
    rest /= across_${item.axis};
//@         end
//@     end
//@ end
//@ if order == "longest" then
    s.next += s.step;
    s.step = 2 * (int)${clusters} - s.step;
//@ else
    s.next += (int)${clusters};
//@ end
//@ if blocks > 1 then
    u32 rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
//@     local stride = 1
//@     for i, item in ipairs(items) do
//@         local size = cluster[item.axis]
//@         if size > 1 then
    at_${item.axis} = at_${item.axis} * ${size} + (int)(rank / ${stride} % ${size}) * ${item.tile};
//@             stride = stride * size
//@         end
//@     end
//@ end
    return true;
}
