//@ -- The order in which blocks take work items. order: "row", the last axis fastest; "column", the first fastest;
//@ -- "grouped", of two axes: bands of `group` items along the first, its items fastest within a band. Items of which some are
//@ -- longer than others: in order "row" the items that a block takes are spread evenly over the last axis.
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
};

__device__ __forceinline__ item_order items_begin()
{
//@ local clusters = blocks > 1 and "(gridDim.x / " .. blocks .. ")" or "gridDim.x"
//@ local own = blocks > 1 and "(blockIdx.x / " .. blocks .. ")" or "blockIdx.x"
    item_order s = {(int)${own}};
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
    s.next += (int)${clusters};
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
