//@ -- The order in which blocks take work items. order: "row", the last axis fastest; "column", the first fastest;
//@ -- "grouped", of two axes: bands of `group` items along the first, its items fastest within a band; "hilbert", of
//@ -- two axes: such bands as squares, each along a Hilbert curve, every other band backwards, and what is left of a
//@ -- band as in the grouped order; "longest": along one axis from the far end on, where items are longest, in bands of
//@ -- as many others as share what the L2 holds.
//@ --
//@ -- Where data say how far along an axis items have anything to store (`filled`, plan/steps.h), the others are gone
//@ -- past here, without a load of theirs: one that is known by the place along another axis is the extent of what is
//@ -- dealt out at that place, so that items behind it are not counted, and every block has as many of the rest. The
//@ -- order is that of the remaining axes then.
//@ --
//@ -- shares: where blocks have some of an item's turns, how many an item has (at least one), and as many as there
//@ -- are. The turns of the first items, as many as there are in the wave that is not full and in one more, stand in
//@ -- one line, of which each block (or cluster) has a contiguous share: all waves are full then. With a wave more
//@ -- than the one that is not full a share is no shorter than an item, which so is cut once at most; the items
//@ -- behind are taken whole, and last, while what is left of the others is added up.
//@ --
//@ -- tail: the axis along which the items of the last wave are halved, where they are at most half as many as blocks
//@ -- (or clusters): twice as many have one then, each the last of its block, and of its consumers the first half have
//@ -- its rows (`resting`, plan/steps.h).
//@ --
//@ -- reuse: the axis along which a block's (or cluster's) items stay where they are, as far as can be: where it is the
//@ -- order's fastest, of which `side` items lie beside each other, the first of a wave's items, a multiple of side,
//@ -- are turned within each side of them, so that block i has place i % side in every wave. Others stay as they are.
//@ param model table
//@ param schedule table
//@ param cluster table
//@ if has(model, "items_divide") then
//@ include "blocks/math.cuh" fused = model.fused

//@ end
//@ local order, blocks, dynamic = schedule.order, 1, has(schedule, "dynamic")
//@ local items, names, places, filled, walked, shares = {}, {}, "", nil, nil, {}
//@ for _, item in ipairs(model.item) do
//@     if has(item, "filled") then filled = item end
//@ end
//@ local along = filled and has(filled, "along") and filled.along
//@ for _, item in ipairs(model.item) do
//@     places = places .. ", int &at_" .. item.axis
//@     blocks = blocks * cluster[item.axis]
//@     if has(item, "share") then
//@         shares[#shares + 1] = item
//@     elseif along == item.axis and not has(item, "filled") then
//@         walked = item
//@     else
//@         items[#items + 1] = item
//@         names[#items] = "across_" .. item.axis
//@     end
//@ end
//@ local asked = along and not walked
struct item_order {
//@ if #shares > 0 then
    int next; // below 0: the turn so far before the line's end; else the number of a whole item
//@ else
    int next; // what else there is to know is computed again for each item: registers are dear in between
//@ end
//@ if order == "longest" and not dynamic then
    int step;  // rounds go back and forth: who had the longest item of one has the shortest of the next
//@ end
//@ if order == "longest" then
    int group; // others that are taken together
//@ end
//@ if walked then
    int walked; // the place along ${walked.axis} of the item that was taken last
    int before; // items at places before it
//@ end
//@ if has(schedule, "tail") then
    bool halved; // the item that was taken last is half of one
//@ end
};

//@ local curve = order == "hilbert" and #items == 2
//@ local grouped = curve or order == "grouped" and #items == 2
//@ -- Items are fewer than 2^31 along each axis (the launcher asks) and in all (so many tiles fill no memory), and so
//@ -- places among them divide as unsigned numbers of 32 bits do, in half the instructions of others. A producer's
//@ -- first loads wait for that; so do those of a block that takes one item and is gone. Where all threads compute and
//@ -- load, and bands of two axes are asked for, the registers of their loops are what counts: they are fewer as it is.
//@ local producer = has(model.role, "producer")
//@ local plain = not (curve or grouped or walked or asked or #shares > 0)
//@ local alone = plain and not producer and (order == "row" or order == "column") and #items > 1
//@ plain = plain and producer
//@ local unsigned = curve or grouped and producer or plain or alone
//@ local each = has(model.launch, "once") and not filled -- there is one for each block
//@ local declares = each and "[[maybe_unused]] const " or "const "
//@ if unsigned and not plain then
// a / b. Few rows or columns of items need none of the 40 instructions that divide.
__device__ __forceinline__ u32 items_quotient(u32 a, u32 b)
{
    if (a < b)
        return 0;
    return b == 1 ? a : a / b;
}

//@ end
//@ if curve then
// Where a Hilbert curve is in a square of ${schedule.group} a side after so many steps. It ends at the far end of `along`.
__device__ __forceinline__ void hilbert(u32 step, u32 &across, u32 &along)
{
    across = along = 0;
    #pragma unroll
    for (u32 side = 1; side < ${schedule.group}; side *= 2, step /= 4) {
        // Which quarter of the next larger square this one is; the first and the last are turned.
        const u32 right = step / 2 & 1, up = (step ^ right) & 1;
        const u32 x = up ? along : right ? side - 1 - across : across;
        const u32 y = up ? across : right ? side - 1 - along : along;
        along = x + side * right;
        across = y + side * up;
    }
}

//@ end
//@ local function across(item, value, declared)
//@     local span = item.tile * cluster[item.axis]
//@     local up, type = span - 1, declared and "" or declares .. (unsigned and "u32 " or "int ")
//@     if unsigned and span == 1 then
    ${type}across_${item.axis} = (u32)${value};
//@     elseif unsigned then
    ${type}across_${item.axis} = ((u32)${value} + ${up}) / ${span};
//@     elseif span == 1 then
    ${type}across_${item.axis} = (int)(${value});
//@     else
    ${type}across_${item.axis} = (int)(((i64)${value} + ${up}) / ${span});
//@     end
//@ end
//@ local function filled_extent()
//@     local extent = fragment_uniform("g", filled.filled, filled.extent)
//@     local statements, last, value = extent.at, extent[1], extent[2]
    ${statements}
    const int filled = of_warp((int)max((i64)0, min((i64)(${last}), (i64)(${value}))));
//@ end
//@ local function extents()
//@     for i, item in ipairs(items) do
//@         if item ~= filled or asked then
//@             local extent = fragment_uniform("x" .. i .. "_", item.extent)
//@             local statements = extent.at
    ${statements}
//@             across(item, extent[1])
//@         elseif not walked then
//@             filled_extent()
//@             across(item, "filled")
//@         end
//@     end
//@ end
//@ local clusters = blocks > 1 and "(gridDim.x / " .. blocks .. ")" or "gridDim.x"
//@ local own = blocks > 1 and "(blockIdx.x / " .. blocks .. ")" or "blockIdx.x"
//@ local total = table.concat(names, " * ")
//@ if #shares > 0 then
//@     local unit = blocks > 1 and "cluster" or "block"
// The line of turns that all ${unit}s share. Of 2^31 and more there is none: items without tiles of their own could
// have so many in little memory, and are taken whole.
struct turn_line {
    u32 items, turns; // those that it has, and the turns of each
    u32 each, longer; // turns of a ${unit}'s share; of so many, the first ones, one more
};

__device__ __forceinline__ turn_line line_of(const arguments &args)
{
//@     extents()
//@     local extent = fragment_uniform("t_", shares[1].extent)
//@     local statements, turns = extent.at, extent[1]
    ${statements}
    const u32 all = (u32)(${total}), takers = ${clusters}, last = all % takers;
    const u32 turns = (u32)(${turns}), shared = last ? min(all, takers + last) : 0;
    turn_line line = {(u64)shared * turns >> 31 ? 0 : shared, turns, 0, 0};
    line.each = line.items * line.turns / takers;
    line.longer = line.items * line.turns - line.each * takers;
    return line;
}

// The first turn of a ${unit}'s share.
__device__ __forceinline__ u32 line_begin(const turn_line &line, u32 taker)
{
    return taker * line.each + min(taker, line.longer);
}

// In whose share the turn is.
__device__ __forceinline__ u32 line_taker(const turn_line &line, u32 turn)
{
    const u32 longer = line.longer * (line.each + 1);
    return turn < longer ? turn / (line.each + 1) : line.longer + (turn - longer) / line.each;
}

//@ end
//@ local others, count = {}, {}
//@ for i, item in ipairs(items) do
//@     if order == "longest" and item.axis ~= schedule.longest then
//@         others[#others + 1] = item
//@         count[#count + 1] = "across_" .. item.axis
//@     end
//@ end
//@ local all = #count > 0 and table.concat(count, " * ") or "1"
//@ local seen = {}
//@ local function declare(node) -- what is read where an item is found, and is defined further down
//@     local n = model.fused[node + 1]
//@     if n.op == "TENSOR" and not has(seen, n.tensor) then
//@         local t, indices = model.tensor[n.tensor], {}
//@         for i = 1, t.rank do indices[i] = "i64" end
//@         local list = csv(indices)
//@         seen[n.tensor] = true
__device__ __forceinline__ i64 ${t.name}_at(const arguments &args, ${list});
//@     end
//@     for _, key in ipairs { "arg", "index" } do
//@         if has(n, key) then
//@             for _, a in ipairs(n[key]) do declare(a) end
//@         end
//@     end
//@ end
//@ if order == "longest" and dynamic then
//@     local far = schedule.longest
//@     if schedule.loop >= 0 then
//@         declare(model.loop[schedule.loop + 1].from)
//@         declare(model.loop[schedule.loop + 1].to)
//@     end
// A band is as many of the others as have what the longest of them reads in the L2 together.
__device__ __forceinline__ item_order items_begin(const arguments &args)
{
//@     if schedule.loop >= 0 then
//@         extents()
//@         for _, item in ipairs(items) do
//@             if item.axis == far then
    [[maybe_unused]] const int at_${item.axis} = (across_${item.axis} - 1) * ${item.tile};
//@             else
    [[maybe_unused]] const int at_${item.axis} = 0;
//@             end
//@         end
//@         local loop = model.loop[schedule.loop + 1]
//@         local range = fragment_uniform("l", loop.from, loop.to)
//@         local statements, from, to, by, up = range.at, range[1], range[2], loop.step, loop.step - 1
    ${statements}
    const i64 turns = ((i64)(${to}) - (i64)(${from}) + ${up}) / ${by};
//@         local most = schedule.cache_bytes // schedule.turn_bytes
//@         local beyond = most + 1
    const u32 fit = ${most} / (u32)max((i64)1, min(turns, (i64)${beyond})); // of the L2's ${most} turns
    item_order s = {(int)${own}, (int)max(1u, min(fit, (u32)(${all})))};
//@     else
    item_order s = {(int)${own}, 1};
//@     end
    return s;
}
//@ elseif order == "longest" then
//@     local far = schedule.longest
// A band is as many of the others as half the blocks, so that several blocks read the same tiles at a time, and in all
// a multiple of two rounds, so that each band gives every block as much.
__device__ __forceinline__ item_order items_begin(const arguments &args)
{
//@     extents()
    const int all = ${all}, most = max(1, (int)${clusters} / 2);
    int group = all;
    if (all > most) {
        int common = 2 * (int)${clusters}, rest = across_${far};
        #pragma unroll 1
        while (rest > 0) {
            const int next = common % rest;
            common = rest;
            rest = next;
        }
        const int unit = 2 * (int)${clusters} / max(1, common);
        group = min(all, max(unit, most / unit * unit));
    }
    item_order s = {(int)${own}, 2 * (int)${clusters} - 1 - 2 * (int)${own}, group};
    return s;
}
//@ elseif #shares > 0 then
// A share without turns has whole items alone.
__device__ __forceinline__ item_order items_begin(const arguments &args)
{
    const turn_line line = line_of(args);
    const u32 own = ${own}, turn = line_begin(line, own);
    const bool any = turn < line_begin(line, own + 1);
    item_order s = {(int)(any ? turn - line.items * line.turns : line.items + own)};
    return s;
}
//@ else
__device__ __forceinline__ item_order items_begin(const arguments &args)
{
//@     local start = walked and ", 0, 0" or ""
    item_order s = {(int)${own}${start}};
    return s;
}
//@ end
//@ if filled then

//@     declare(filled.filled)

// What all lanes that are here have alike. Of a number that was read from memory the compiler does not know that, and
// what turns by it, a ring's stage and phase too, it would keep for each thread.
__device__ __forceinline__ int of_warp(int value)
{
    return __reduce_max_sync(__activemask(), value);
}
//@ end

//@ -- How many items the order has beside each other along the axis that stays; nil: it is not the order's fastest.
//@ local side = nil
//@ if has(schedule, "reuse") then
//@     local fastest = order == "row" and items[#items] or items[1]
//@     side = fastest.axis == schedule.reuse and "across_" .. schedule.reuse
//@     side = side and grouped and "min(" .. schedule.group .. "u, " .. side .. ")" or side or nil
//@ end
//@ local u32 = side and "u32" or "const u32"
//@ local function stay(number, takers, all)
//@     if not side then return end
    const u32 side = ${side}, own = (u32)${own}, wave = ${number} - own;
    const u32 here = min(${takers}, ${all} - wave); // items of this wave
    if (own < here / side * side)
        ${number} = wave + (own % side + side - wave % side) % side + own / side * side;
//@ end
//@ if dynamic then
// The item whose number was taken last: false when there is none. at_AXIS is where it begins.
__device__ __forceinline__ bool items_at(const arguments &args, const item_order &s${places})
{
//@ elseif #shares > 0 then
//@     local first, many = shares[1].axis, shares[2].axis
// The next item of this block: false when there is none. at_AXIS is where it begins; of its turns from number
// at_${first} on at_${many} are the block's.
__device__ __forceinline__ bool items_next(const arguments &args, item_order &s${places})
{
//@ else
// The next item of this block: false when there is none. at_AXIS is where it begins.
__device__ __forceinline__ bool items_next(const arguments &args, item_order &s${places})
{
//@ end
//@ if asked then
    for (;;) {
//@     deeper()
//@ end
//@ extents()
//@ local count = unsigned and "u32" or "int"
//@ if #shares > 0 then
//@     local extent = fragment_uniform("t_", shares[2].extent)
//@     local statements, turns = extent.at, extent[1]
//@     local first, many, type = shares[1].axis, shares[2].axis, unsigned and "u32" or "int"
    ${statements}
    const turn_line line = line_of(args);
    u32 number_of = (u32)s.next;
    at_${first} = 0;
    at_${many} = (int)(${turns});
    if (s.next < 0) {
        const u32 turn = line.items * line.turns + (u32)s.next, end = line_begin(line, ${own} + 1);
        number_of = turn / line.turns;
        at_${first} = (int)(turn - number_of * line.turns);
        const u32 left = min(line.turns - (u32)at_${first}, end - turn);
        at_${many} = min(at_${many}, (int)left);
        s.next = (int)(turn + left < end ? (u32)s.next + left : line.items + ${own});
    } else {
        s.next += (int)${clusters};
    }
    const ${type} number = (${type})number_of;
//@ elseif walked then
//@     local extent = fragment_uniform("y", walked.extent)
//@     local statements, value = extent.at, extent[1]
    ${statements}
    const i64 end_${walked.axis} = ${value};
    ${count} across_${filled.axis};
    for (;; s.walked += ${walked.tile}) {
        at_${walked.axis} = s.walked;
        if (at_${walked.axis} >= end_${walked.axis})
            return false;
//@     deeper()
//@     filled_extent()
//@     across(filled, "filled", true)
//@     shallower()
        if (s.next - s.before < (int)(${total}))
            break;
        s.before += (int)(${total});
    }
    const ${count} number = (${count})(s.next - s.before);
//@ elseif unsigned and has(schedule, "tail") then
    const u32 all = ${total}, takers = (u32)${clusters}, last = all % takers;
    const u32 whole = 2 * last <= takers ? all - last : all; // from here on each counts as two
    ${u32} taken = (u32)s.next;
//@     stay("taken", "takers", "whole")
    const u32 behind = taken - whole;
    s.halved = taken >= whole;
    const u32 number = s.halved ? whole + behind / 2 : taken, half = s.halved ? behind % 2 : 0;
//@ elseif unsigned then
    ${u32} number = (u32)s.next;
//@     stay("number", "(u32)" .. clusters, total)
//@ else
    const int number = s.next;
//@ end
//@ if not walked and not each then
    if (number >= ${total})
        return false;
//@ end
//@ if unsigned and not plain and not alone then
//@     local m, n = items[1], items[2]
    const u32 band = items_quotient(number, ${schedule.group} * across_${n.axis});
    const u32 height = min(${schedule.group}u, across_${m.axis} - band * ${schedule.group});
    const u32 within = number - band * ${schedule.group} * across_${n.axis};
//@     if curve then
//@         local square = schedule.group * schedule.group
    u32 across, along;
    if (height == ${schedule.group} && within / ${square} < across_${n.axis} / ${schedule.group}) {
        hilbert(within % ${square}, across, along);
        along += within / ${square} * ${schedule.group};
    } else {
        along = items_quotient(within, height);
        across = within - along * height;
    }
    at_${m.axis} = (int)((band * ${schedule.group} + across) * ${m.tile});
    at_${n.axis} = (int)((band % 2 ? across_${n.axis} - 1 - along : along) * ${n.tile});
//@     else
    const u32 along = items_quotient(within, height), across = within - along * height;
    at_${m.axis} = (int)((band * ${schedule.group} + across) * ${m.tile});
    at_${n.axis} = (int)(along * ${n.tile});
//@     end
//@ elseif grouped then
//@     local m, n = items[1], items[2]
    int band = number / (${schedule.group} * across_${n.axis});
    int height = min(${schedule.group}, across_${m.axis} - band * ${schedule.group});
    int within = number - band * ${schedule.group} * across_${n.axis};
    at_${m.axis} = (band * ${schedule.group} + within % height) * ${m.tile};
    at_${n.axis} = within / height * ${n.tile};
//@ elseif order == "longest" then
//@     local far = schedule.longest
//@     local type = unsigned and "u32" or "int"
    const ${type} all = ${all}, group = s.group;
    const ${type} band = number / (group * across_${far}), height = min(group, all - band * group);
    const ${type} within = number - band * group * across_${far};
//@     for _, item in ipairs(items) do
//@         if item.axis == far then
    at_${far} = (across_${far} - 1 - within / height) * ${item.tile};
//@         end
//@     end
    ${type} rest = band * group + within % height;
//@     for i = #others, 1, -1 do
//@         local item = others[i]
    at_${item.axis} = rest % across_${item.axis} * ${item.tile};
//@         if i > 1 then
    rest /= across_${item.axis};
//@         end
//@     end
//@ elseif alone then
    u32 rest = number, next;
//@     local from, to, by = #items, 1, -1
//@     if order == "column" then from, to, by = 1, #items, 1 end
//@     for i = from, to, by do
//@         local item = items[i]
//@         if i == to then
    at_${item.axis} = (int)(rest * ${item.tile});
//@         else
    next = items_quotient(rest, across_${item.axis});
    at_${item.axis} = (int)((rest - next * across_${item.axis}) * ${item.tile});
    rest = next;
//@         end
//@     end
//@ else
//@     local type = unsigned and "u32" or "int"
    ${type} rest = number;
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
//@ if dynamic then
    return true;
}
//@ else
//@ if order == "longest" then
    s.next += s.step;
    s.step = 2 * (int)${clusters} - s.step;
//@ elseif #shares == 0 then
    s.next += (int)${clusters};
//@ end
//@ if asked then
//@     for _, item in ipairs(items) do
//@         local size = cluster[item.axis]
//@         if size > 1 then
    at_${item.axis} *= ${size};
//@         end
//@     end
//@     local last = fragment_uniform("g", filled.filled)
//@     local statements, value = last.at, last[1]
    ${statements}
    if (of_warp(${value} > at_${filled.axis}))
        break;
//@     shallower()
    }
//@ end
//@ if blocks > 1 then
    u32 rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
//@     local stride = 1
//@     for i, item in ipairs(items) do
//@         local size = cluster[item.axis]
//@         local times = asked and "" or " * " .. size
//@         if size > 1 then
    at_${item.axis} = at_${item.axis}${times} + (int)(rank / ${stride} % ${size}) * ${item.tile};
//@             stride = stride * size
//@         end
//@     end
//@ end
//@ for _, item in ipairs(items) do
//@     if has(schedule, "tail") and item.axis == schedule.tail then
//@         local lower = item.tile // 2
    at_${item.axis} += (int)half * ${lower};
//@     end
//@ end
    return true;
}
//@ end
