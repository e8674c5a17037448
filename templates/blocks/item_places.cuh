//@ -- Where the work item begins along each axis: the last varies fastest.
//@ param axes table
//@ param first text
//@ local items = #axes
//@ for n = items, 1, -1 do
//@     local item, number = axes[n], n == items and first or "item"
//@     local scale = item.tile > 1 and " * " .. item.tile or ""
//@     if n == 1 then
const i64 at_${item.axis} = (i64)${number}${scale};
//@     else
//@         local count = place_uniform("tiles_" .. item.axis .. "_", item.extent)
//@         local before, tiles = count.at, count[1]
${before}
const i64 at_${item.axis} = (i64)(${number} % (u32)${tiles})${scale};
//@         if n == items then
u32 item = ${first} / (u32)${tiles};
//@         else
item /= (u32)${tiles};
//@         end
//@     end
//@ end
