//@ -- What goes into a launch's parameters by functions that refuse or call the driver where they must.
//@ param host table
//@ local T, map = host.types, host.map_rule
/* The grid of a launch into its parameters; an extent of 0 anywhere stores zeros. n: blocks along x, y and z, items
 * that blocks count and lists of turns, or 0. */
INLINE int put_grid(const int64_t *n, uint32_t *grid, struct ${T}_error *error)
{
    const int nothing = n[0] <= 0 || n[1] <= 0 || n[2] <= 0;
//@ if host.part.lists then
    if ((uint64_t)n[4] > 2147483647)
        return REFUSE("the sizes ask for %lld lists of turns, and a grid has 2147483647 blocks at most", (long long)n[4]);
//@ end
//@ if host.part.counted then
    if (n[3] > 2147483647)
        return REFUSE("the sizes ask for %lld tiles, and blocks count up to 2147483647 of them; split the work", (long long)n[3]);
//@ end
    if (n[0] > 2147483647 || n[1] > 65535 || n[2] > 65535)
        return REFUSE("the sizes ask for a grid of %lld x %lld x %lld blocks, more than 2147483647 x 65535 x 65535; "
                      "split the work", (long long)n[0], (long long)n[1], (long long)n[2]);
    grid[0] = nothing ? 0 : (uint32_t)n[0];
    grid[1] = nothing ? 0 : (uint32_t)n[1];
    grid[2] = nothing ? 0 : (uint32_t)n[2];
    return ${T}_OK;
}
//@ if host.part.maps then

/* A tensor's map in a copy of its image; where the driver encodes maps, by it. */
INLINE int put_map(const struct ${T}_state *encoder, const struct map *m, uint64_t *map, const struct tensor *t, int rank, uint64_t bytes, struct ${T}_error *error)
{
    if (encoder)
        return encode_map(encoder, m, map, t, error);
    patch_map(map, t, rank, bytes);
    return ${T}_OK;
}
//@     if host.part.pointers then

/* The same of slices with addresses of their own: to the map's address, ${map.base}, the kernel adds a slice's by two
 * coordinates, of which the low one has ${map.low_bits} bits and counts ${map.unit} bytes. They are in the place of dimension 0. */
INLINE int put_map_of_slices(const struct ${T}_state *encoder, const struct map *m, uint64_t *map, const struct tensor *t, int rank, uint64_t bytes, struct ${T}_error *error)
{
    struct tensor all;
    int d;
    all.address = ${map.base};
    all.align = 0;
    all.dim[0] = (int64_t)1 << ${map.high_bits};
    all.dim[1] = (int64_t)1 << ${map.low_bits};
    all.stride[0] = (int64_t)(((uint64_t)${map.unit} << ${map.low_bits}) / bytes);
    all.stride[1] = (int64_t)(${map.unit} / bytes);
    for (d = 1; d < rank; d++) {
        all.dim[d + 1] = t->dim[d];
        all.stride[d + 1] = d + 1 < rank ? t->stride[d] : 1;
    }
    return put_map(encoder, m, map, &all, rank + 1, bytes, error);
}
//@     end
//@ end
