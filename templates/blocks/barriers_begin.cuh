//@ -- One thread sets up the barriers of the block's rings; tensor maps are fetched meanwhile. model: the Plan;
//@ -- alone: a warp that fills rings of its own block alone sets them up, by one of its threads, `fills`; fetcher: the
//@ -- thread of another warp that fetches the maps.
//@ param model table
//@ param alone bool
//@ param fetcher int
//@ param fills text
//@ if alone then
if (threadIdx.x == ${fetcher}) {
//@     for _, m in ipairs(model.map) do
    tma_prefetch(&args.${m.name});
//@     end
}
if (${fills} && elect_one()) {
//@ else
if (threadIdx.x == 32) { // the first warp finds the block's first item meanwhile
//@     for _, m in ipairs(model.map) do
    tma_prefetch(&args.${m.name});
//@     end
//@ end
//@ for _, r in ipairs(model.ring) do
//@     if r.filler ~= "threads" and #r.tensor > 0 then
    ${r.name}_init();
//@     end
//@ end
//@ if has(model, "item_ring") then
    ${model.item_ring}_init();
//@ end
//@ for _, r in ipairs(model.ring) do
//@     if r.filler == "peers" then
    ${r.name}_init();
//@     end
//@ end
//@ if has(model, "memory") then
    products_init();
//@ end
    barrier_init_fence();
}
