//@ -- Tensor maps by the driver's encoder, and the comparison of images with it.
//@ param host table
//@ local T, STATIC, of = host.types, host.linkage, host.shared and "l->of->" or ""
//@ -- Work-arounds for devices that a variant with maps can run on.
//@ local workarounds = {}
//@ for _, w in ipairs(host.workaround) do
//@     local reached = host.shared
//@     for _, m in ipairs(host.shared and {} or host.map) do
//@         for n, g in ipairs(host.target) do
//@             local there = 10 * g.major + g.minor >= w.capability or g.newer > 0
//@             there = there or g.exact == 0 and g.major == w.capability // 10
//@             if m.targets >> n - 1 & 1 > 0 and there then reached = true end
//@         end
//@     end
//@     if reached then workarounds[#workarounds + 1] = w end
//@ end
//@ if #workarounds > 0 then
/* Driver-version work-arounds: bits of a map that drivers up to a version set wrongly, on devices from a compute
 * capability on. They are cleared in images and in what the driver writes alike; no image here has one set. */
static void work_around(const struct ${T}_state *k, uint64_t *map)
{
//@ for _, w in ipairs(workarounds) do
    if (k->capability >= ${w.capability} && k->driver_version <= ${w.driver_version}) /* ${w.text} */
        map[${w.word}] &= ~((uint64_t)1 << ${w.bit});
//@ end
}

//@ end
/* A tensor's map by the driver's encoder; `map` is written only on success. */
${STATIC}int encode_map(const struct ${T}_state *k, const struct map *m, uint64_t *map, const struct tensor *t, struct ${T}_error *error)
{
    static const uint32_t element_stride[5] = {1, 1, 1, 1, 1};
    unsigned char room[128 + 63]; /* the driver wants a multiple of 64 */
    unsigned char *aligned = room + (64 - (uintptr_t)room % 64) % 64;
    void *at = (void *)(uintptr_t)map_address(t);
    uint64_t dim[5], stride[5];
    for (int d = 0; d < 5; d++) {
        dim[d] = map_dim(t, (int)m->rank, d);
        stride[d] = map_stride(t, (int)m->rank, d, m->element_bytes);
    }
//@ local call = '"cuTensorMapEncodeTiled"'
//@ if host.part.windows then
//@     call = 'm->windows ? "cuTensorMapEncodeIm2col" : "cuTensorMapEncodeTiled"'
    const int result =
        m->windows ? k->driver.encode_im2col(aligned, m->dtype, m->rank, at, dim, stride, m->lower, m->upper, m->box[0],
                                             m->box[m->rank - 1], m->step, 0, m->swizzle, m->promotion, 0)
                   : k->driver.encode_tiled(aligned, m->dtype, m->rank, at, dim, stride, m->box, element_stride, 0,
                                            m->swizzle, m->promotion, 0);
//@ else
    const int result = k->driver.encode_tiled(aligned, m->dtype, m->rank, at, dim, stride, m->box, element_stride, 0,
                                              m->swizzle, m->promotion, 0);
//@ end
    if (result)
        return driver_fault(error, result, ${call}, m->name);
    memcpy(map, aligned, 128);
//@ if #workarounds > 0 then
    work_around(k, map);
//@ end
    return ${T}_OK;
}

/* Where the variants have maps, their images are used if, patched, they are what the driver encodes: for tensors whose
 * every field is random, the same in each run, so that a bit which is wrong, missing or elsewhere shows. */
static int check_images(struct loader *l)
{
    struct ${T}_state *k = l->k;
    uint64_t random[11] = {0}, ours[16], theirs[16];
    struct ${T}_error error;
    struct tensor t;
    memset(&t, 0, sizeof t);
    for (const struct map *m = ${of}maps; m < ${of}maps + ${of}map_count; m++) {
        const int rank = (int)m->rank;
        int call, i, differs = 0;
        if (!(m->targets >> (k->target - 1) & 1u))
            continue;
        if (!k->driver.encode_tiled)
            return fail(l->error, ${T}_OLD_DRIVER, 0, "the CUDA driver has no cuTensorMapEncodeTiled");
//@ if host.part.windows then
        if (m->windows && !k->driver.encode_im2col)
            return fail(l->error, ${T}_OLD_DRIVER, 0, "the CUDA driver has no cuTensorMapEncodeIm2col");
//@ end
        for (call = 0; call < 64 && !differs && !k->images[0]; call++) {
            for (i = 0; i < 11; i++)
                random[i] = random[(i + 10) % 11] * 6364136223846793005u + 1442695040888963407u;
            t.address = random[10] >> 11 << 4;
            for (i = 0; i < rank; i++) {
                const uint64_t constant = m->dim[rank - 1 - i];
                t.dim[i] = (int64_t)(constant ? constant : 1 + (random[i] >> 32));
//@ if host.part.windows then
                if (!constant && i < rank - 1 && i >= rank - 1 - (int)m->windows) /* as long as a walk over it is */
                    t.dim[i] = ((int64_t)1 << 20) + t.dim[i] % (((int64_t)1 << 31) - ((int64_t)1 << 21));
//@ end
                t.stride[i] = (int64_t)((random[5 + i] >> 28 << 4) / m->element_bytes);
            }
            memcpy(ours, m->image, sizeof ours);
            patch_map(ours, &t, rank, m->element_bytes);
//@ if #workarounds > 0 then
            work_around(k, ours);
//@ end
            differs = encode_map(k, m, theirs, &t, &error);
            for (i = 0; i < 16 && !differs; i++)
                if (ours[i] != theirs[i])
                    differs = fail(&error, 1, 0, "word %d of the driver's map is 0x%llx, not 0x%llx", i,
                                   (unsigned long long)theirs[i], (unsigned long long)ours[i]);
        }
        if (differs)
            snprintf(k->images, sizeof k->images, "%.30s: in call %d of the check, %.130s", m->name, call, error.text);
        k->static_images = !k->images[0];
    }
    return ${T}_OK;
}
