//@ -- Which variant a launch takes whose arguments need no substitute.
//@ param host table
//@ param shape table
//@ local NAME, T = host.name, host.types
//@ if host.shared then
INLINE int ordinary(const struct ${T}_state *k, const struct ${T}_slot *slot, const struct ${NAME}_args *args, int dense, int shape, int v, struct ${NAME}_params *p);

//@ end
/* In the variant that asks most of those for the sizes. */
INLINE int params_of_ordinary(const struct ${NAME} *kernel, const struct ${NAME}_args *args, int dense, struct ${NAME}_params *p)
{
//@ if host.guard_count + host.divisor_count > 0 then
    (void)kernel, (void)args, (void)dense, (void)p; /* formulas over the sizes may overflow */
//@ else
//@ if host.tuned then
    int v;
//@ end
    switch (kernel->state.target) {
//@     for _, g in ipairs(host.target) do
//@         local maps, shapes = 0, {}
//@         for n, i in ipairs(host.image) do
//@             local own = n - 1 == g.first or n > g.first + #g.image and n <= g.first + g.count
//@             if own then maps = maps + i.map_count end
//@             if own then shapes[#shapes + 1] = shape.of[n] end
//@         end
//@         local still = maps > 0 and "LIKELY(kernel->state.static_images) && " or ""
//@         if #g.setup > 0 then
    case ${g.number}: /* ${g.arch} */
//@             local own = #g.image - 1
//@             if maps > 0 then
        if (!LIKELY(kernel->state.static_images))
            return 0;
//@             end
        v = setup_of(&kernel->state, args);
        v = v && LIKELY(kernel->slot[${own} + v].function != NULL) ? ${g.first} + ${own} + v : ${g.first};
//@             local done = {}
        switch (images[v].shape) {
//@             for _, s in ipairs(shapes) do
//@                 if not done[s] then
        case ${s}:
            return ordinary(&kernel->state, &kernel->slot[v - ${g.first}], args, dense, ${s}, v, p);
//@                 end
//@                 done[s] = true
//@             end
        default:
            return 0;
        }
//@         else
//@             local only = shapes[1]
    case ${g.number}: /* ${g.arch} */
        return ${still}ordinary(&kernel->state, kernel->slot, args, dense, ${only}, ${g.first}, p);
//@         end
//@     end
    }
//@ end
    return 0;
}
