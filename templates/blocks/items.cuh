//@ -- The order in which blocks take work items. order: "row", the last axis fastest; "column", the first fastest;
//@ -- "grouped", of two axes: bands of `group` items along the first, its items fastest within a band.
//@ param model table
//@ param order text
//@ param group int
//@ local items, names, counts, places = model.item, {}, {}, ""
//@ for i, item in ipairs(items) do
//@     names[i] = "across_" .. item.axis
//@     counts[i] = "s." .. names[i]
//@     places = places .. ", int &at_" .. item.axis
//@ end
//@ local list, total = csv(names), table.concat(counts, " * ")
struct item_order {
    int ${list}; // items along each axis
    int next, step, count;
};

__device__ __forceinline__ item_order items_begin(const arguments &args)
{
    item_order s;
//@ for i, item in ipairs(items) do
//@     local extent = fragment_uniform("x" .. i .. "_", item.extent)
//@     local up, value, statements = item.tile - 1, extent[1], extent.at
    ${statements}
//@     if item.tile == 1 then
    s.across_${item.axis} = (int)(${value});
//@     else
    s.across_${item.axis} = (int)(((i64)${value} + ${up}) / ${item.tile});
//@     end
//@ end
    s.count = ${total};
    s.next = (int)blockIdx.x;
    s.step = (int)gridDim.x;
    return s;
}

// The next item of this block: false when there is none. at_AXIS is where it begins.
__device__ __forceinline__ bool items_next(item_order &s${places})
{
    if (s.next >= s.count)
        return false;
//@ if order == "grouped" and #items == 2 then
//@     local m, n = items[1], items[2]
    int band = s.next / (${group} * s.across_${n.axis});
    int height = min(${group}, s.across_${m.axis} - band * ${group});
    int within = s.next - band * ${group} * s.across_${n.axis};
    at_${m.axis} = (band * ${group} + within % height) * ${m.tile};
    at_${n.axis} = within / height * ${n.tile};
//@ else
    int rest = s.next;
//@     local from, to, by = #items, 1, -1
//@     if order == "column" then from, to, by = 1, #items, 1 end
//@     for i = from, to, by do
//@         local item = items[i]
//@         if i == to then
    at_${item.axis} = rest * ${item.tile};
//@         else
    at_${item.axis} = rest % s.across_${item.axis} * ${item.tile};
    rest /= s.across_${item.axis};
//@         end
//@     end
//@ end
    s.next += s.step;
    return true;
}
