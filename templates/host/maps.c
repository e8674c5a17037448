//@ -- Tensor maps by the driver's encoder, and the comparison of images with it.
//@ param host table
//@ local T, STATIC = host.types, host.linkage
/* ---- load: tensor maps ------------------------------------------------------------------------------------------- */

/* Driver-version work-arounds: bits of a map that drivers up to a version set wrongly, on devices from a compute
 * capability on. They are cleared in images and in what the driver writes alike; no image here has one set. */
static void work_around(const struct ${T}_state *k, uint64_t *map)
{
//@ for _, w in ipairs(host.workaround) do
    if (k->capability >= ${w.capability} && k->driver_version <= ${w.driver_version}) /* ${w.text} */
        map[${w.word}] &= ~((uint64_t)1 << ${w.bit});
//@ end
}

/* The driver's encoder; map is written only on success. */
static int encode(const struct ${T}_state *k, const struct map *m, uint64_t address, const uint64_t *dim, const uint64_t *stride, uint64_t *map)
{
    static const uint32_t element_stride[5] = {1, 1, 1, 1, 1};
    unsigned char room[128 + 63]; /* the driver wants a multiple of 64 */
    unsigned char *aligned = room + (64 - (uintptr_t)room % 64) % 64;
    void *at = (void *)(uintptr_t)address;
//@ if host.part.windows then
    const int result =
        m->windows ? k->driver.encode_im2col(aligned, m->dtype, m->rank, at, dim, stride, m->lower, m->upper, m->box[0],
                                             m->box[m->rank - 1], m->step, 0, m->swizzle, m->promotion, 0)
                   : k->driver.encode_tiled(aligned, m->dtype, m->rank, at, dim, stride, m->box, element_stride, 0,
                                            m->swizzle, m->promotion, 0);
//@ else
    const int result = k->driver.encode_tiled(aligned, m->dtype, m->rank, at, dim, stride, m->box, element_stride, 0,
                                              m->swizzle, m->promotion, 0);
//@ end
    if (!result) {
        memcpy(map, aligned, 128);
        work_around(k, map);
    }
    return result;
}

APART ${STATIC}int encode_map(const struct ${T}_state *k, const struct map *m, uint64_t *map, const struct tensor *t, struct ${T}_error *error)
{
    uint64_t dim[5], stride[4];
    const uint64_t address = map_view(t, (int)m->rank, m->element_bytes, dim, stride);
    int result = encode(k, m, address, dim, stride, map);
//@ if host.part.windows then
    return result ? driver_fault(error, result, m->windows ? "cuTensorMapEncodeIm2col" : "cuTensorMapEncodeTiled",
                                 m->name) : ${T}_OK;
//@ else
    return result ? driver_fault(error, result, "cuTensorMapEncodeTiled", m->name) : ${T}_OK;
//@ end
}

/* What is patched into a map: the address, five extents, four strides; of each values that cross every bit of it,
 * `base` and `plus` with each bit alone, and all of them. Images of windows are as long as the walk over them takes. */
struct field {
    uint64_t base, plus, all;
    int low, bits;
};
enum { fields = 10 };

static struct field field_of(const struct map *m, int field)
{
    static const struct field address = {(uint64_t)1 << 32, 0, (((uint64_t)1 << 53) - 1) << 4, 4, 53};
    static const struct field extent = {1, 1, (uint64_t)1 << 32, 0, 32};
    static const struct field stride = {16, 0, (((uint64_t)1 << 36) - 1) << 4, 4, 36};
    struct field f = field == 0 ? address : field < 6 ? extent : stride;
    const int d = field < 6 ? field - 1 : field - 5; /* the map must have more dimensions */
//@ if host.part.windows then
    if (field > 1 && field < 6 && !m->dim[d] && d <= (int)m->windows) {
        f.base = f.plus = ((uint64_t)1 << 20) + 1;
        f.all = ((uint64_t)1 << 31) - ((uint64_t)1 << 20);
        f.bits = 31;
    }
//@ end
    if (field > 0 && field < 6 && m->dim[d])
        f.base = f.all = m->dim[d];
    if (d >= (int)m->rank || (field > 0 && field < 6 && m->dim[d]))
        f.bits = 0;
    return f;
}

/* Compares one map's image with the driver, each bit of each field alone, then all; says what differs in k->images. */
static int image_agrees(struct ${T}_state *k, const struct map *m)
{
    uint64_t value[fields], ours[16], theirs[16];
    int field, bit, bits, i, result = 0, word = 16;
    unsigned call = 0;
    for (field = 0; field <= fields && !result && word == 16; field++) {
        bits = field < fields ? field_of(m, field).bits : 1;
        for (bit = 0; bit < bits && !result && word == 16; bit++, call++) {
            for (i = 0; i < fields; i++) {
                const struct field f = field_of(m, i);
                value[i] = field == fields ? f.all : i == field ? ((uint64_t)1 << (f.low + bit)) + f.plus : f.base;
            }
            memcpy(ours, m->image, sizeof ours);
            patch_map(ours, m->rank, value[0], value + 1, value + 6);
            work_around(k, ours);
            result = encode(k, m, value[0], value + 1, value + 6, theirs);
            for (word = 0; !result && word < 16 && ours[word] == theirs[word];)
                word++;
        }
    }
    if (result)
        snprintf(k->images, sizeof k->images, "%s: the driver's encoder refuses call %u of the check with CUresult %d "
                 "(%s)", m->name, call - 1, result, result_name(result));
    else if (word < 16)
        snprintf(k->images, sizeof k->images, "%s: in call %u of the check, word %d of the driver's map is 0x%llx, not "
                 "0x%llx", m->name, call - 1, word, (unsigned long long)theirs[word], (unsigned long long)ours[word]);
    return !result && word == 16;
}

/* Where the variants have maps, their images are used if they are what the driver encodes. */
static int check_images(struct ${T}_state *k, const struct tables *of, struct ${T}_error *error)
{
    int i, uses = 0;
    for (i = 0; i < of->map_count; i++) {
        if (!(of->map[i].targets >> (k->target - 1) & 1u))
            continue;
        if (!k->driver.encode_tiled)
            return fail(error, ${T}_OLD_DRIVER, 0, "the CUDA driver has no cuTensorMapEncodeTiled");
//@ if host.part.windows then
        if (of->map[i].windows && !k->driver.encode_im2col)
            return fail(error, ${T}_OLD_DRIVER, 0, "the CUDA driver has no cuTensorMapEncodeIm2col");
//@ end
        k->static_images = (!uses++ || k->static_images) && image_agrees(k, &of->map[i]);
    }
    return ${T}_OK;
}
