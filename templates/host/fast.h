//@ -- What launches run of the launcher: functions that are expanded where a kernel's own code names its tensors.
//@ param host table
/* ---- what every launch runs ------------------------------------------------------------------------------------ */

/* CUlaunchAttribute and CUlaunchConfig of cuda.h. */
struct launch_attribute {
    uint64_t id; /* a CUlaunchAttributeID, an int, and what pads it: machines with a GPU store low bits first */
    uint32_t value[16];
};
struct launch_config {
    uint32_t grid[3], block[3], shared_bytes;
    void *stream;
    const struct launch_attribute *attributes;
    uint32_t attribute_count;
};

/* How the driver is to launch: one block of `threads` in each place of the grid. */
//@ local more = host.part.clusters and ", const uint32_t *cluster" or ""
//@ if host.part.programmatic then more = more .. ", int programmatic" end
INLINE struct launch_config configure(struct launch_attribute *attribute, const uint32_t *grid, uint32_t threads, uint32_t shared_bytes, void *stream${more})
{
    struct launch_config config = {{grid[0], grid[1], grid[2]}, {threads, 1, 1}, shared_bytes, stream, attribute, 0};
//@ if host.part.clusters then
    if (cluster[0] * cluster[1] * cluster[2] > 1) {
        attribute->id = 4; /* CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION */
        memcpy(attribute->value, cluster, 3 * sizeof *cluster);
        config.attribute_count = 1;
    }
//@ end
//@ if host.part.programmatic then
    if (programmatic) {
        attribute[config.attribute_count].id = 6; /* CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION */
        attribute[config.attribute_count++].value[0] = 1;
    }
//@ end
    return config;
}

INLINE int64_t stride_of(int dense, int64_t given, int64_t otherwise) { return dense || !given ? otherwise : given; }

/* What lies below the alignment mask + 1 of a tensor's address, pitches and, with whole_rows, rows. */
INLINE uint64_t unaligned(const struct tensor *t, int rank, uint64_t bytes, uint64_t mask, int whole_rows)
{
    uint64_t low = t->address;
    if (mask >= bytes) {
//@ for d = 1, host.rank - 1 do
//@     local before = d - 1
        low |= rank > ${d} && t->dim[${before}] > 1 ? (uint64_t)t->stride[${before}] * bytes : 0;
//@ end
        low |= whole_rows ? (uint64_t)t->dim[rank - 1] * bytes : 0;
    }
    return low & mask;
}

//@ if host.part.pointers then
/* The same of slices with addresses of their own. */
INLINE uint64_t unaligned_slices(const struct tensor *t, int rank, uint64_t bytes, uint64_t mask, int whole_rows)
{
    struct tensor slices = *t;
    slices.address = t->align;
    return unaligned(&slices, rank, bytes, mask, whole_rows);
}

//@ end
//@ if host.part.arrays then
/* Slices that lie where the array says: as their address one that asks for what any of them does, 0 where one is NULL;
 * as their stride one that nothing refuses. */
INLINE void lie_anywhere(struct tensor *t, const void *const *slice, int count)
{
    int i, missing = 0;
    t->slice = slice;
    if (!slice)
        return;
    for (i = 0, t->address = 0; i < count; i++) {
        t->address |= (uint64_t)(uintptr_t)slice[i];
        missing |= !slice[i];
    }
    t->address = missing ? 0 : t->address;
    t->stride[0] = (int64_t)1 << 32;
}

//@ end
//@ if host.part.maps then

/* ---- tensor maps ------------------------------------------------------------------------------------------------
 *
 * A tensor map is 16 words of 64 bits. Its image holds the bits that a kernel's maps always have: type, rank, box,
 * swizzle, promotion. These are patched in for each launch, where constants have been already with what they are:
 *
 *   word      63                              32 31                               0
 *     0     |                              address                                  |
 *     1     |           stride[0] / 16          |              (image)              |
//@ if host.rank > 2 then
 *     2     |           stride[2] / 16          |           stride[1] / 16          |
//@ end
 *     3     |    (0)     | h3 | h2 | h1 | h0 |  |           stride[3] / 16          |   h: bits 32-35 of stride / 16
 *     4     |             dim[1] - 1            |             dim[0] - 1            |
//@ if host.rank > 2 then
 *     5     |             dim[3] - 1            |             dim[2] - 1            |
//@ end
//@ if host.rank > 4 then
 *     6     |              (image)              |             dim[4] - 1            |
//@ end
 *
 * dim[0] is the innermost extent, in elements; stride[i] the bytes from one index of dimension i + 1 to the next. load
 * compares the result with the driver's encoder; where they differ, every map is the driver's. */

INLINE void put_half(uint64_t *map, int h, uint64_t value)
{
    const uint32_t half = (uint32_t)value;
    memcpy((unsigned char *)map + 4 * h, &half, sizeof half);
}

/* Address, extents and strides as maps take them: those of an empty tensor, and the stride of a dimension of one index,
 * are never used, but must be valid. d counts from the innermost dimension. */
INLINE uint64_t map_address(const struct tensor *t) { return t->address ? t->address : 16; }
INLINE uint64_t map_dim(const struct tensor *t, int rank, int d)
{
    return d < rank && t->dim[rank - 1 - d] > 0 ? (uint64_t)t->dim[rank - 1 - d] : 1;
}
INLINE uint64_t map_stride(const struct tensor *t, int rank, int d, uint64_t bytes)
{
    return d < rank - 1 && t->dim[rank - 2 - d] > 1 ? (uint64_t)t->stride[rank - 2 - d] * bytes : 16;
}

INLINE void patch_map(uint64_t *map, const struct tensor *t, int rank, uint64_t bytes)
{
    map[0] = map_address(t);
//@ if host.rank < 2 then
    (void)bytes;
//@ end
//@     -- By how many dimensions there must be: the halves, each with what is shifted into it.
//@     local above, at = { [0] = {}, {}, {}, {}, {} }, {}
//@     for _, p in ipairs(host.patch) do
//@         if p.above < host.rank then
//@             local value = p.from > 0 and p.value .. " >> " .. p.from or p.value
//@             if p.at > 0 then value = "(" .. value .. ") << " .. p.at end
//@             if not at[p.half] then
//@                 at[p.half] = {}
//@                 above[p.above][#above[p.above] + 1] = { half = p.half, value = at[p.half] }
//@             end
//@             local list = at[p.half]
//@             list[#list + 1] = #list > 0 and "(rank > " .. p.above .. " ? " .. value .. " : 0)" or value
//@         end
//@     end
//@     for rank = 0, 4 do
//@         if rank > 0 and #above[rank] > 0 then
    if (rank > ${rank}) {
//@             deeper()
//@         end
//@         for _, h in ipairs(above[rank]) do
//@             local value = table.concat(h.value, " | ")
    put_half(map, ${h.half}, ${value});
//@         end
//@         if rank > 0 and #above[rank] > 0 then
//@             shallower()
    }
//@         end
//@     end
}
//@ end
