//@ -- A block's first item. early: while barriers are set up, of which nothing is needed to find it; the compiler would
//@ -- find it behind them.
//@ param item table
//@ param next_item text
//@ param early bool
//@ local firsts, held = {}, {}
//@ for i, a in ipairs(item) do
//@     firsts[i], held[i] = "at_" .. a.axis .. " = 0", '"+r"(at_' .. a.axis .. ")"
//@ end
//@ local first_list, held_list = csv(firsts), csv(held)
item_order items = items_begin(args);
int ${first_list};
bool more = items_next(args, items${next_item});
//@ if early then
asm volatile("" : ${held_list}); // found now, beside what the barriers wait for
//@ end
