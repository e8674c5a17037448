//@ -- Tensor maps: images with the constants folded in, what is patched at launch, and the comparison with the driver.
//@ param host table
//@ local NAME = host.name
/* ---- patch: tensor maps -----------------------------------------------------------------------------------------
 *
 * A tensor map is 16 words of 64 bits. The image, the numbers below, holds the bits that this kernel's maps always
 * have: type, rank, box, swizzle, promotion, and extents that are constants. These are patched in for each launch:
 *
 *   word      63                              32 31                               0
 *     0     |                              address                                  |
 *     1     |           stride[0] / 16          |              (image)              |
 *     2     |           stride[2] / 16          |           stride[1] / 16          |
 *     3     |    (0)     | h3 | h2 | h1 | h0 |  |           stride[3] / 16          |   h: bits 32-35 of stride / 16
 *     4     |             dim[1] - 1            |             dim[0] - 1            |
 *     5     |             dim[3] - 1            |             dim[2] - 1            |
 *     6     |              (image)              |             dim[4] - 1            |
 *
 * dim[0] is the innermost extent, in elements; stride[i] the bytes from one index of dimension i + 1 to the next. load
 * compares the result with the driver's encoder; where they differ, every map is the driver's. */

//@ if host.windows then
/* The constant arguments of one cuTensorMapEncodeTiled call, or of cuTensorMapEncodeIm2col where there are windows. */
//@ else
/* The constant arguments of one cuTensorMapEncodeTiled call. */
//@ end
struct map_call {
    const char *name;
    int dtype, swizzle, promotion; /* as in cuda.h */
    uint32_t rank;
    uint32_t box[5];
    uint64_t dim[5];               /* 0: not constant */
    uint64_t stride[4];            /* bytes, of a dense tensor, which stand in the image; 0: not constant */
//@ if host.windows then
    uint32_t windows;              /* spatial dims; 0: tiled */
    int lower[3], upper[3];        /* corners of the walk over an image: from its first pixel, and from its last */
    uint32_t step[5];              /* elements from one that is loaded to the next */
//@ end
};

/* Address, extent and pitch as maps take them: those of an empty tensor, and the stride of a dimension of one index,
 * are never used, but must be valid. */
INLINE uint64_t map_address(uint64_t address)
{
    return address ? address : 16;
}

INLINE uint64_t map_dim(int64_t extent)
{
    return extent > 0 ? (uint64_t)extent : 1;
}

//@ if host.map_strides then
INLINE uint64_t map_pitch(int64_t extent, int64_t stride, uint64_t element_bytes)
{
    return extent > 1 ? (uint64_t)stride * element_bytes : 16;
}
//@ end

/* Driver-version work-arounds: bits of a map that drivers up to a version set wrongly, on devices from a compute
 * capability on. They are cleared in images and in what the driver writes alike; no image here has one set.
//@ for n, w in ipairs(host.workaround) do
//@     local line = w.text .. (n == #host.workaround and " */" or "")
 *   ${line}
//@ end
struct workaround {
    int capability, driver_version, word;
    uint64_t clear;
};

static const struct workaround workarounds[] = {
//@ for _, w in ipairs(host.workaround) do
    {${w.capability}, ${w.driver_version}, ${w.word}, (uint64_t)1 << ${w.bit}},
//@ end
};

static void work_around(const struct ${NAME} *k, uint64_t *map)
{
    size_t i;
    for (i = 0; i < sizeof workarounds / sizeof *workarounds; i++)
        if (k->capability >= workarounds[i].capability && k->driver_version <= workarounds[i].driver_version)
            map[workarounds[i].word] &= ~workarounds[i].clear;
}

/* The driver's encoder; map is written only on success. */
static int encode(const struct ${NAME} *k, const struct map_call *call, uint64_t address, const uint64_t *dim,
                  const uint64_t *stride, uint64_t *map)
{
    static const uint32_t element_stride[5] = {1, 1, 1, 1, 1};
    unsigned char room[128 + 63]; /* the driver wants a multiple of 64 */
    unsigned char *aligned = room + (64 - (uintptr_t)room % 64) % 64;
//@ if host.windows then
    int result = call->windows
                     ? k->driver.encode_im2col(aligned, call->dtype, call->rank, (void *)(uintptr_t)address, dim,
                                               stride, call->lower, call->upper, call->box[0],
                                               call->box[call->rank - 1], call->step, 0, call->swizzle,
                                               call->promotion, 0)
                     : k->driver.encode_tiled(aligned, call->dtype, call->rank, (void *)(uintptr_t)address, dim, stride,
                                              call->box, element_stride, 0, call->swizzle, call->promotion, 0);
//@ else
    int result = k->driver.encode_tiled(aligned, call->dtype, call->rank, (void *)(uintptr_t)address, dim, stride,
                                        call->box, element_stride, 0, call->swizzle, call->promotion, 0);
//@ end
    if (result)
        return result;
    memcpy(map, aligned, 128);
    work_around(k, map);
    return 0;
}

APART static int map_fault(const struct map_call *call, int result, struct ${NAME}_error *error)
{
//@ if host.windows then
    return driver_fault(error, result, call->windows ? "cuTensorMapEncodeIm2col" : "cuTensorMapEncodeTiled",
                        call->name);
//@ else
    return driver_fault(error, result, "cuTensorMapEncodeTiled", call->name);
//@ end
}
//@ if host.windows then

/* The first dimension of an image along which no window lies, as no driver takes it, or one that is too long for the
 * walk; 0: there is none. */
INLINE uint32_t image_fault(const struct map_call *call, const uint64_t *dim)
{
    uint32_t i;
    for (i = 0; i < call->windows; i++)
        if ((int64_t)dim[i + 1] + call->upper[i] - call->lower[i] < 1 ||
            (int64_t)dim[i + 1] + call->upper[i] > 2147483647)
            return i + 1;
    return 0;
}

APART static int window_fault(const struct map_call *call, const char *tensor, const uint64_t *dim, uint32_t at,
                              struct ${NAME}_error *error)
{
    return fail(error, ${NAME}_INVALID, 0, "dim %u of %s is %llu pixels; with its padding a window takes %d, and up to "
                "2147483647 can be", (unsigned)(call->rank - at), tensor, (unsigned long long)dim[at],
                call->lower[at - 1] - call->upper[at - 1] + 1);
}
//@ end

//@ for _, m in ipairs(host.map) do
//@     local words, lines = {}, {}
//@     for row = 0, 3 do words[row + 1] = table.concat(m.image, ", ", 4 * row + 1, 4 * row + 4) end
//@     local image = table.concat(words, ", \\\n")
//@     for n, w in ipairs(m.patch) do
//@         local bits = {}
//@         if w.constant ~= "" then bits[1] = w.constant end
//@         for _, p in ipairs(w.part) do
//@             local value = p.source == "dim" and "(dim[" .. p.index .. "] - 1)"
//@                 or "stride[" .. p.index .. "] >> " .. p.from
//@             if p.low then value = "(" .. value .. " & 0xffffffff)" end
//@             bits[#bits + 1] = p.at > 0 and value .. " << " .. p.at or value
//@         end
//@         lines[n] = "map[" .. w.word .. "] = " .. table.concat(bits, " | ") .. ";"
//@     end
//@     local function patches(strided)
//@         for n, w in ipairs(m.patch) do
//@             local line = lines[n]
//@             if w.strided == strided then
    ${line}
//@             end
//@         end
//@     end
/* ${m.name}: ${m.dtype_name}, rank ${m.rank}, box ${csv(m.box)}, swizzle ${m.swizzle_name}, innermost first. */
static const struct map_call ${m.id}_call = {
    "${m.name}", ${m.dtype}, ${m.swizzle}, ${m.promotion}, ${m.rank}, {${csv(m.box)}}, {${csv(m.dim)}},
    {${csv(m.dense)}},
//@ if host.windows then
    ${m.window_dims}, {${csv(m.lower)}}, {${csv(m.upper)}}, {${csv(m.step)}},
//@ end
};

#define ${m.id}_image \
    ${image}

/* In a copy of the image. dense: strides are the default ones. */
INLINE void ${m.id}_patch(uint64_t *map, int dense, uint64_t address, const uint64_t *dim, const uint64_t *stride)
{
    map[0] = address;
//@     patches(false)
//@     if m.strided and m.in_image then
    if (!dense) {
//@         deeper()
//@         patches(true)
//@         shallower()
    }
//@     else
//@         patches(true)
    (void)dense;
//@     end
//@     if not m.sized then
    (void)dim;
//@     end
//@     if not m.strided then
    (void)stride;
//@     end
}

static void ${m.id}_whole(uint64_t *map, int dense, uint64_t address, const uint64_t *dim, const uint64_t *stride)
{
    static const uint64_t image[16] = {${m.id}_image};
    memcpy(map, image, sizeof image);
    ${m.id}_patch(map, dense, address, dim, stride);
}

/* The map of ${m.name} for a tensor. */
INLINE int ${m.id}(const struct ${NAME} *k, int patched, int dense, const struct tensor *t, uint64_t *map,
                   struct ${NAME}_error *error)
{
    const uint64_t address = map_address(t->address);
    uint64_t dim[5], stride[4];
    int result;
//@     for i = 0, m.rank - 1 do
//@         local at = m.rank - 1 - i
    dim[${i}] = map_dim(t->dim[${at}]);
//@     end
//@     for i = 0, m.rank - 2 do
//@         local at = m.rank - 2 - i
    stride[${i}] = map_pitch(t->dim[${at}], t->stride[${at}], ${m.element_bytes});
//@     end
//@     if m.rank == 1 then
    stride[0] = 0;
//@     end
//@     if m.window_dims > 0 then
    if (image_fault(&${m.id}_call, dim))
        return window_fault(&${m.id}_call, "${m.tensor}", dim, image_fault(&${m.id}_call, dim), error);
//@     end
    if (patched) {
        ${m.id}_patch(map, dense, address, dim, stride);
        return ${NAME}_OK;
    }
    result = encode(k, &${m.id}_call, address, dim, stride, map);
    return result ? map_fault(&${m.id}_call, result, error) : 0;
}

//@ end
/* ---- load: images against the driver ----------------------------------------------------------------------------- */

struct map {
    const struct map_call *call;
    void (*patch)(uint64_t *map, int dense, uint64_t address, const uint64_t *dim, const uint64_t *stride);
    unsigned targets; /* bit i: targets[i] has it */
};

static const struct map maps[] = {
//@ for _, m in ipairs(host.map) do
    {&${m.id}_call, ${m.id}_whole, ${m.targets}u},
//@ end
};
enum { map_count = sizeof maps / sizeof *maps };

static int uses_maps(int target)
{
    int i, uses = 0;
    for (i = 0; i < map_count; i++)
        uses |= (int)(maps[i].targets >> (target - 1) & 1u);
    return uses;
}

/* Call number n of a fixed list that crosses every bit of every patched field: each bit alone, then all of them; before
 * that a dense tensor, whose strides the image has by itself where they are constants. Returns 0 past the end. */
static int sample(const struct map_call *call, unsigned n, int *dense, uint64_t *address, uint64_t *dim,
                  uint64_t *stride)
{
    enum { address_low = 4, address_bits = 53, dim_bits = 32, stride_low = 4, stride_bits = 36 };
    uint32_t i;
//@ if host.windows then
    /* Images are as long as the walk over them takes: 2^20 pixels and 2^n, and 2^31 less 2^20. */
    const uint64_t image = (uint64_t)1 << 20;
//@ end
    *dense = n == 0 && call->stride[0] != 0;
    *address = (uint64_t)1 << 32;
    for (i = 0; i < call->rank; i++)
        dim[i] = call->dim[i] ? call->dim[i] : 1;
//@ if host.windows then
    for (i = 1; i <= call->windows; i++)
        dim[i] = call->dim[i] ? call->dim[i] : image + 1;
//@ end
    for (i = 0; i + 1 < call->rank; i++)
        stride[i] = *dense ? call->stride[i] : 16;
    if (n == 0)
        return 1;
    n--;
    if (n < address_bits) {
        *address = (uint64_t)1 << (address_low + n);
        return 1;
    }
    n -= address_bits;
    for (i = 0; i < call->rank; i++) {
        if (call->dim[i])
            continue;
//@ if host.windows then
        if (i > 0 && i <= call->windows) {
            if (n < dim_bits - 1) {
                dim[i] = image + ((uint64_t)1 << n) + 1;
                return 1;
            }
            n -= dim_bits - 1;
            continue;
        }
//@ end
        if (n < dim_bits) {
            dim[i] = ((uint64_t)1 << n) + 1;
            return 1;
        }
        n -= dim_bits;
    }
    for (i = 0; i + 1 < call->rank; i++) {
        if (n < stride_bits) {
            stride[i] = (uint64_t)1 << (stride_low + n);
            return 1;
        }
        n -= stride_bits;
    }
    *address = (((uint64_t)1 << address_bits) - 1) << address_low;
    for (i = 0; i < call->rank; i++)
        if (!call->dim[i])
            dim[i] = (uint64_t)1 << dim_bits;
//@ if host.windows then
    for (i = 1; i <= call->windows; i++)
        if (!call->dim[i])
            dim[i] = ((uint64_t)1 << (dim_bits - 1)) - image;
//@ end
    for (i = 0; i + 1 < call->rank; i++)
        stride[i] = (((uint64_t)1 << stride_bits) - 1) << stride_low;
    return n == 0;
}

/* Compares one map's image with the driver; says what differs in k->images. */
static int image_agrees(struct ${NAME} *k, const struct map *m)
{
    uint64_t ours[16], theirs[16], address, dim[5], stride[4];
    unsigned n;
    int dense, word, result;
    for (n = 0; sample(m->call, n, &dense, &address, dim, stride); n++) {
        m->patch(ours, dense, address, dim, stride);
        work_around(k, ours);
        result = encode(k, m->call, address, dim, stride, theirs);
        if (result) {
            snprintf(k->images, sizeof k->images, "%s: the driver's encoder refuses call %u of the check with CUresult "
                     "%d (%s)", m->call->name, n, result, result_name(result));
            return 0;
        }
        for (word = 0; word < 16; word++) {
            if (ours[word] == theirs[word])
                continue;
            snprintf(k->images, sizeof k->images,
                     "%s: in call %u of the check, word %d of the driver's map is 0x%llx, not 0x%llx", m->call->name, n,
                     word, (unsigned long long)theirs[word], (unsigned long long)ours[word]);
            return 0;
        }
    }
    return 1;
}

static void check_images(struct ${NAME} *k)
{
    int i;
    k->static_images = 1;
    for (i = 0; i < map_count && k->static_images; i++)
        if (maps[i].targets >> (k->target - 1) & 1u)
            k->static_images = image_agrees(k, &maps[i]);
}
