//@ -- What goes into a launch's parameters by functions that refuse or call the driver where they must.
//@ param host table
//@ local T, map = host.types, host.map_rule
//@ if host.shared then
/* The grid of a launch into its parameters; an extent of 0 anywhere stores zeros. n: blocks along x, y and z, items
 * that blocks count and lists of turns, or 0. */
INLINE int put_grid(const int64_t *n, uint32_t *grid, struct ${T}_error *error)
{
    //@ include "host/grid.c" host = host, grid = "grid"
}

//@ end
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
//@     if host.part.arrays then

/* Those of its slices along dimension 0, behind each other: alike but for their addresses. */
INLINE int put_maps(const struct ${T}_state *encoder, const struct map *m, uint64_t *map, const struct tensor *t, int count, int rank, uint64_t bytes, struct ${T}_error *error)
{
    struct tensor slice = *t;
    int d, i, empty = 0, status = ${T}_OK;
    for (d = 1; d < rank; d++) {
        slice.dim[d - 1] = t->dim[d];
        slice.stride[d - 1] = d + 1 < rank ? t->stride[d] : 1;
        empty |= t->dim[d] <= 0; /* all lie where one may then */
    }
    for (i = 0; i < count && !status; i++) {
        if (t->slice && !empty)
            slice.address = (uint64_t)(uintptr_t)t->slice[i];
        status = put_map(encoder, m, map + 16 * i, &slice, rank - 1, bytes, error);
        slice.address += empty ? 0 : (uint64_t)t->stride[0] * bytes;
    }
    return status;
}
//@     end
//@ end
