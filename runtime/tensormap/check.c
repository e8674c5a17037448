// Validation, messages and repair of tensor-map calls: all three run over tensormap_rules.def.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tensormap_args.h"

// The most shared memory that the driver lets one box take, bytes: 228 KiB. On an H200 232,960 were accepted and
// 233,856 refused.
#define TMAP_SMEM 233472

// What the conditions of the rules need, derived from a call once. A field is 0 where the call gives no sensible value
// for it, and then the rules that rest on it stay silent: another rule names the cause.
struct tmap_facts {
    int cc;
    unsigned rank;       // valid rank
    unsigned bits;       // of an element
    unsigned is_float;   // dtype
    uint64_t inner;      // elements of the innermost box dimension: box[0] or channels
    uint64_t inner_bits; // the same in bits
    unsigned span;       // of the swizzle, bytes
    uint64_t smem;       // bytes of the box as the driver reckons them
    uint64_t loaded;     // bytes of the box as they are loaded: per dimension box / estride rounded up
    unsigned largest;    // entry of the box to make smaller: the largest one past the innermost
    uint64_t block_smem; // shared memory that a block can have, bytes
    uint64_t corner;     // corners are in [-corner, corner)
};

static int tmap_packed(const struct tw_tensormap_call *c)
{
    return c->dtype >= 13 && c->dtype <= 15;
}

// 16U4_ALIGN16B and 16U6_ALIGN16B.
static int tmap_align16(const struct tw_tensormap_call *c)
{
    return c->dtype == 14 || c->dtype == 15;
}

static uint64_t tmap_up(uint64_t v, uint64_t multiple)
{
    uint64_t rest = v % multiple;
    if (rest == 0)
        return v;
    return v > UINT64_MAX - multiple ? v - rest : v + multiple - rest;
}

// The stride nearest to v that is a multiple: upwards, and of the innermost dimension not below its row.
static uint64_t tmap_fit_stride(const struct tw_tensormap_call *c, const struct tmap_facts *d, unsigned i, uint64_t v,
                                uint64_t multiple)
{
    const uint64_t most = TMAP_STRIDE_END - 32;
    const uint64_t row = i == 0 && c->dim[0] <= TMAP_DIM_MOST ? (c->dim[0] * d->bits + 7) / 8 : 0;
    const uint64_t up = tmap_up(v < row ? row : v, multiple);
    return up <= most ? up : most;
}

// Whether nothing lies a stride away: its dimension has extent 1.
static int tmap_unused(const struct tw_tensormap_call *c, unsigned i)
{
    return c->dim[i + 1] == 1;
}

// The stride of dimension i + 1 where the dimensions below it lie without gaps; 32 where that cannot be a stride.
static uint64_t tmap_dense_stride(const struct tw_tensormap_call *c, const struct tmap_facts *d, unsigned i)
{
    const uint64_t below = i ? c->stride[i - 1] * 8 : d->bits; // bits
    if (c->dim[i] > UINT32_MAX || below >> 31 > 0 || below * c->dim[i] / 8 >> 39 > 0 || below * c->dim[i] == 0)
        return 32;
    return tmap_up((below * c->dim[i] + 7) / 8, 32);
}

// The bytes that another dimension spans around a stride v of dimension i + 1, which then leads into its elements: v is
// not below that dimension's step and not past its end. 0: there is none. A stride of 0 repeats one place on purpose.
static uint64_t tmap_span_inside(const struct tw_tensormap_call *c, const struct tmap_facts *d, unsigned i, uint64_t v)
{
    if (!d->rank || !d->bits || v == 0 || v >= TMAP_STRIDE_END || c->dim[i + 1] <= 1)
        return 0;
    for (unsigned k = 0; k < d->rank; k++) {
        const uint64_t step = k ? c->stride[k - 1] * 8 : d->bits; // bits
        if (k == i + 1 || c->dim[k] <= 1 || c->dim[k] > UINT32_MAX || step == 0 || step >> 43 > 0 || step > v * 8)
            continue;
        // Of two equal strides the outer one is told. The product stays below 2^64 where it is no more than v.
        if (c->dim[k] > v * 8 / step && !(step == v * 8 && k > i + 1))
            return c->dim[k] > TMAP_STRIDE_END * 8 / step ? TMAP_STRIDE_END : (step * c->dim[k] + 7) / 8;
    }
    return 0;
}

// The least stride from v on that leads into no other dimension, where there is one below 2^40; else v.
static uint64_t tmap_clear_stride(const struct tw_tensormap_call *c, const struct tmap_facts *d, unsigned i, uint64_t v)
{
    uint64_t clear = v;
    for (unsigned times = 0; times < 8; times++) {
        const uint64_t span = tmap_span_inside(c, d, i, clear);
        if (!span)
            return clear;
        clear = tmap_up(span, c->interleave == 2 ? 32 : 16);
        if (clear >= TMAP_STRIDE_END)
            return v;
    }
    return v;
}

static int tmap_past_span(const struct tw_tensormap_call *c, const struct tmap_facts *d)
{
    return c->interleave == 0 && d->span && d->inner_bits > d->span * 8;
}

// The innermost box dimension nearest to a multiple of 16 bytes: upwards, unless that breaks the span or 256.
static uint64_t tmap_inner16(const struct tw_tensormap_call *c, const struct tmap_facts *d)
{
    uint64_t step = 128 / (d->bits & -d->bits); // least count of elements that fills whole 16 bytes
    uint64_t up = tmap_up(d->inner, step), most = 256;
    if (c->interleave == 0 && d->span && d->span * 8 / d->bits < most)
        most = d->span * 8 / d->bits;
    return up <= most ? up : most / step * step;
}

static uint64_t tmap_fit_box(const struct tw_tensormap_call *c, const struct tmap_facts *d)
{
    uint64_t rest = d->bits;
    for (unsigned i = 0; i < d->rank; i++)
        if (i != d->largest)
            rest *= c->box[i] / c->estride[i] ? c->box[i] / c->estride[i] : 1;
    uint64_t fits = rest ? (uint64_t)TMAP_SMEM * 8 / rest * c->estride[d->largest] : 1;
    return fits < 1 ? 1 : fits > 256 ? 256 : fits;
}

static uint64_t tmap_fit_pixels(const struct tw_tensormap_call *c, const struct tmap_facts *d)
{
    uint64_t fits = c->channels ? (uint64_t)TMAP_SMEM * 8 / ((uint64_t)c->channels * d->bits) : 1;
    return fits < 1 ? 1 : fits > 1024 ? 1024 : fits;
}

// A sign-extended corner moved into [-limit, limit).
static uint64_t tmap_clamp(uint64_t v, uint64_t limit)
{
    int64_t s = (int64_t)v, l = (int64_t)limit;
    return (uint64_t)(limit == 0 ? s : s < -l ? -l : s >= l ? l - 1 : s);
}

// The corner of spatial dimension `pixel` (0 W, 1 H, 2 D); im2col_wide has one in W alone.
static int64_t tmap_corner(const struct tw_tensormap_call *c, const int32_t corner[3], unsigned pixel)
{
    return c->func == TW_TENSORMAP_IM2COL_WIDE && pixel > 0 ? 0 : corner[pixel];
}

// The tensor dimension that the driver holds against the corners of a spatial dimension, and back (3: none).
static unsigned tmap_pixel_dim(const struct tw_tensormap_call *c, unsigned pixel)
{
    return c->interleave ? pixel : pixel + 1;
}

static unsigned tmap_dim_pixel(const struct tw_tensormap_call *c, unsigned dim)
{
    return c->interleave ? dim : dim - 1;
}

// Width of the bounding box of a spatial dimension, in pixels, with the tensor's extent taken from dim[dim].
static int64_t tmap_extent(const struct tw_tensormap_call *c, unsigned dim, unsigned pixel)
{
    int64_t extent = c->dim[dim] > INT64_MAX / 2 ? INT64_MAX / 2 : (int64_t)c->dim[dim];
    return extent + tmap_corner(c, c->upper, pixel) - tmap_corner(c, c->lower, pixel);
}

static int64_t as_int32(uint64_t v)
{
    uint32_t low = (uint32_t)v;
    return low >> 31 ? (int64_t)low - (INT64_C(1) << 32) : (int64_t)low;
}

// Whether a column has 128 pixels, whatever the call says: mode W128, from compute capability 10.0 on.
static int tmap_no_pixels(const struct tw_tensormap_call *c, const struct tmap_facts *d)
{
    return c->func == TW_TENSORMAP_IM2COL_WIDE && c->mode == 1 && d->cc >= 100;
}

// Whether the driver finds the bounding box of a spatial dimension empty: its end, dim + upper in 32-bit signed
// arithmetic, is no further than its first pixel, lower.
static int tmap_flat(const struct tw_tensormap_call *c, const struct tmap_facts *d, unsigned pixel)
{
    if (d->rank < 3 || pixel >= d->rank - 2)
        return 0;
    uint64_t dim = c->dim[tmap_pixel_dim(c, pixel)];
    if (dim < 1 || dim > TMAP_DIM_MOST)
        return 0;
    return as_int32(dim + (uint64_t)tmap_corner(c, c->upper, pixel)) <= tmap_corner(c, c->lower, pixel);
}

// tmap_flat because of the dimension: it is past 2^31 - 1 by itself.
static int tmap_flat_dim(const struct tw_tensormap_call *c, const struct tmap_facts *d, unsigned pixel)
{
    return tmap_flat(c, d, pixel) && c->dim[tmap_pixel_dim(c, pixel)] > INT32_MAX;
}

// tmap_flat because of the upper corner, with which the end is past 2^31 - 1.
static int tmap_flat_end(const struct tw_tensormap_call *c, const struct tmap_facts *d, unsigned pixel)
{
    return tmap_flat(c, d, pixel) && !tmap_flat_dim(c, d, pixel) &&
           (int64_t)c->dim[tmap_pixel_dim(c, pixel)] + tmap_corner(c, c->upper, pixel) > INT32_MAX;
}

// The largest dimension, and the largest upper corner, whose end is 2^31 - 1; the smallest corner that leaves a pixel.
static uint64_t tmap_dim_fix(const struct tw_tensormap_call *c, const struct tmap_facts *d, unsigned pixel)
{
    return d->rank < 3 || pixel > 2 ? 0 : (uint64_t)(INT32_MAX - tmap_corner(c, c->upper, pixel));
}

static uint64_t tmap_end_fix(const struct tw_tensormap_call *c, const struct tmap_facts *d, unsigned pixel)
{
    return d->rank < 3 ? 0 : (uint64_t)(INT32_MAX - (int64_t)c->dim[tmap_pixel_dim(c, pixel)]);
}

static uint64_t tmap_flat_fix(const struct tw_tensormap_call *c, const struct tmap_facts *d, unsigned pixel)
{
    return d->rank < 3 ? 0 : (uint64_t)((int64_t)c->lower[pixel] + 1 - (int64_t)c->dim[tmap_pixel_dim(c, pixel)]);
}

// Bytes of shared memory that a block can opt in to. What has no row in the table has as much as one that does:
// compute capability 12.x as 8.9, 10.x and 11.x as 9.0 (CUDA programming guide, "Compute capabilities").
enum {
#define ARCHITECTURE(name, major, minor, shared_per_sm, shared_limit, registers_per_sm, threads_per_sm, blocks_per_sm, \
                     cluster, multiprocessors, khz, l2)                                                                \
    shared_limit_##name = shared_limit,
#include "architectures.def"
#undef ARCHITECTURE
};

static struct tmap_facts derive(const struct tw_tensormap_call *c, int cc)
{
    static const unsigned spans[8] = {0, 32, 64, 128, 128, 128, 128, 0};
    struct tmap_facts d = {.cc = cc, .rank = tmap_rank(c), .span = spans[c->swizzle < 7 ? c->swizzle : 7]};
    const struct tmap_dtype *dtype = tw_tmap_dtype(c->dtype);
    d.block_smem = cc >= 120 ? shared_limit_sm_120a : shared_limit_sm_90;
    const int wide = c->func == TW_TENSORMAP_IM2COL_WIDE && cc >= 100;
    d.corner = d.rank >= 3 ? UINT64_C(1) << (wide ? 15 : tw_tmap_corner_bits(d.rank) - 1) : 0;
    if (!dtype || (c->func == TW_TENSORMAP_TILED && d.rank == 0))
        return d;
    d.bits = dtype->bits;
    d.is_float = dtype->is_float;
    d.inner = c->func == TW_TENSORMAP_TILED ? c->box[0] : c->channels;
    d.inner_bits = d.inner * d.bits;
    d.smem = tw_tmap_smem_bytes(c);
    d.loaded = d.smem;
    if (c->func != TW_TENSORMAP_TILED)
        return d;

    d.loaded = d.bits;
    d.largest = d.rank > 1;
    for (unsigned i = 0; i < d.rank; i++) {
        uint32_t step = c->estride[i];
        if (step == 0 || c->box[i] > 256 || step > 8) {
            d.loaded = 0;
            break;
        }
        if (i == 0 && c->interleave == 0)
            step = 1;
        d.loaded *= (c->box[i] + step - 1) / step;
    }
    d.loaded /= 8;
    for (unsigned i = 1; i < d.rank; i++)
        if (c->box[i] > c->box[d.largest])
            d.largest = i;
    // Only the innermost is left where every other one is 1 already.
    if (d.largest && c->box[d.largest] <= 1)
        d.largest = 0;
    return d;
}

// Whether what every call has breaks no rule of those that most calls could break: no interleave, no NaN fill.
static inline int tmap_plain_head(const struct tw_tensormap_call *c, int cc)
{
    return cc >= 90 && c->dtype <= 12 && c->rank - 1 <= 4 && !c->interleave && c->swizzle <= 3 && c->l2 <= 3 &&
           !c->oob && c->addr % 16 == 0 && c->addr < TMAP_ADDRESS_END;
}

// Dimension i, its stride and element stride: not 0 where they break a rule, or are no common ones.
static inline uint64_t tmap_plain_dim(const struct tw_tensormap_call *c, unsigned i)
{
    return (c->dim[i] - 1) >> 32 | (uint64_t)(c->estride[i] ^ 1);
}

static inline uint64_t tmap_plain_stride(const struct tw_tensormap_call *c, unsigned i)
{
    return (c->stride[i] & 15) | c->stride[i] >> TW_TENSORMAP_STRIDE_BITS;
}

// inner, box: elements of the innermost dimension of the box, and of all of it.
static inline int tmap_plain_box(const struct tw_tensormap_call *c, uint64_t inner, uint64_t box)
{
    const unsigned bits = tw_tmap_dtype(c->dtype)->bits;
    return inner * bits % 128 == 0 && (c->swizzle == 0 || inner * bits <= 128u << c->swizzle) &&
           box * bits <= (uint64_t)TMAP_SMEM * 8;
}

static int tmap_plain_tiled(const struct tw_tensormap_call *c)
{
    uint64_t wrong = 0, box = 1;
    for (unsigned i = 0; i < c->rank; i++) {
        wrong |= tmap_plain_dim(c, i) | (uint64_t)((c->box[i] - 1) >> 8);
        box *= c->box[i];
    }
    for (unsigned i = 0; i + 1 < c->rank; i++)
        wrong |= tmap_plain_stride(c, i);
    return !wrong && tmap_plain_box(c, c->box[0], box);
}

// Dimensions of pixels are held to 2^30, so that no sum leaves 32 bits.
static int tmap_plain_im2col(const struct tw_tensormap_call *c, int cc)
{
    const int64_t most = INT64_C(1) << 30;
    if (c->rank < 3 || (c->channels - 1) >> 8 || (c->pixels - 1) >> 10 ||
        (c->func == TW_TENSORMAP_IM2COL_WIDE && (c->mode > 1 || cc >= 100)))
        return 0;
    const int64_t corner = INT64_C(1) << (tw_tmap_corner_bits(c->rank) - 1);
    uint64_t wrong = 0;
    int64_t below = 0; // negative where something is out of its bounds
    for (unsigned i = 0; i < c->rank; i++)
        wrong |= tmap_plain_dim(c, i);
    for (unsigned i = 0; i + 1 < c->rank; i++)
        wrong |= tmap_plain_stride(c, i);
    if (wrong)
        return 0;
    for (unsigned i = 0; i + 2 < c->rank; i++) {
        const int64_t lower = tmap_corner(c, c->lower, i), upper = tmap_corner(c, c->upper, i);
        const int64_t dim = (int64_t)c->dim[i + 1];
        below |= (lower + corner) | (corner - 1 - lower) | (upper + corner) | (corner - 1 - upper) | (most - dim) |
                 (dim - 1 + upper - lower);
    }
    return below >= 0 && tmap_plain_box(c, c->channels, (uint64_t)c->channels * c->pixels);
}

// Whether a call is of the kind that most are, and breaks no rule that would refuse it: without interleave, element
// strides and NaN fill. What it says no to may be accepted all the same; the table decides.
static int tmap_plain(const struct tw_tensormap_call *c, int cc)
{
    if (!tmap_plain_head(c, cc))
        return 0;
    if (c->func == TW_TENSORMAP_TILED)
        return tmap_plain_tiled(c);
    return (unsigned)c->func <= TW_TENSORMAP_IM2COL_WIDE && tmap_plain_im2col(c, cc);
}

int tw_tensormap_check(const struct tw_tensormap_call *call, int cc, struct tw_tensormap_verdict *verdict)
{
    if (!verdict && tmap_plain(call, cc))
        return TW_OK;

    enum { TILED = 1, IM2COL = 2, WIDE = 4, PIXELS = 6, ALL = 7, UNKNOWN = 8 };
    enum { REFUSED, WARNED };
    const struct tw_tensormap_call *c = call;
    const struct tmap_facts facts = derive(call, cc), *d = &facts;
    const unsigned func = (unsigned)call->func < 3 ? 1u << call->func : UNKNOWN;
    int refused = 0, warned = 0, count = 0;

#define RULE(ID, name, level, funcs, arg, broken, nearest_value, bound_value, text)                                    \
    if ((funcs)&func) {                                                                                                \
        unsigned entries = tmap_entries(c, TMAP_##arg);                                                                \
        for (unsigned i = 0; i < entries; i++) {                                                                       \
            const uint64_t v = tmap_get(c, TMAP_##arg, i);                                                             \
            (void)v;                                                                                                   \
            if (!(broken))                                                                                             \
                continue;                                                                                              \
            int warning = (level) == WARNED;                                                                           \
            if (!verdict && !warning)                                                                                  \
                return TW_ERROR_INVALID;                                                                               \
            *(warning ? &warned : &refused) += 1;                                                                      \
            if (verdict && count < TW_TENSORMAP_FINDINGS)                                                              \
                verdict->finding[count++] = (struct tw_tensormap_finding){                                             \
                    TW_TENSORMAP_RULE_##ID, warning, i, v, bound_value, nearest_value,                                 \
                };                                                                                                     \
        }                                                                                                              \
    }
#include "tensormap_rules.def"
#undef RULE

    if (verdict) {
        verdict->refused = refused;
        verdict->warned = warned;
        verdict->count = count;
    }
    return refused ? TW_ERROR_INVALID : TW_OK;
}

static const struct {
    const char *name;
    enum tmap_arg arg;
    const char *text;
} rules[TW_TENSORMAP_RULE_COUNT] = {
#define RULE(ID, name, level, funcs, arg, broken, nearest, bound, text) {name, TMAP_##arg, text},
#include "tensormap_rules.def"
#undef RULE
};

enum tmap_arg tw_tmap_rule_arg(enum tw_tensormap_rule rule)
{
    return (unsigned)rule < TW_TENSORMAP_RULE_COUNT ? rules[rule].arg : TMAP_NONE;
}

const char *tw_tensormap_rule_name(enum tw_tensormap_rule rule)
{
    return (unsigned)rule < TW_TENSORMAP_RULE_COUNT ? rules[rule].name : "?";
}

const char *tw_tensormap_message(const struct tw_tensormap_call *call, int cc,
                                 const struct tw_tensormap_finding *finding, char *text, size_t size)
{
    const struct tmap_facts d = derive(call, cc);
    size_t used = 0;
    if (size == 0)
        return text;
    text[0] = 0;
    if ((unsigned)finding->rule >= TW_TENSORMAP_RULE_COUNT)
        return text;
    const enum tmap_arg arg = rules[finding->rule].arg;
    const char *name = NULL;
    for (const char *p = rules[finding->rule].text; *p; p++) {
        char piece[48] = {*p, 0};
        if (*p == '%')
            switch (*++p) {
            case 'a':
                if (tmap_args[arg].entries == TMAP_ENTRIES_ONE)
                    snprintf(piece, sizeof piece, "%s", tmap_args[arg].name);
                else
                    snprintf(piece, sizeof piece, "%s[%u]", tmap_args[arg].name, finding->entry);
                break;
            case 'v':
            case 'b':
            case 'n': {
                uint64_t number = *p == 'v' ? finding->value : *p == 'b' ? finding->bound : finding->nearest;
                if (tmap_args[arg].is_signed)
                    snprintf(piece, sizeof piece, "%" PRId64, (int64_t)number);
                else
                    snprintf(piece, sizeof piece, "%" PRIu64, number);
                break;
            }
            case 'x':
            case 'm':
                snprintf(piece, sizeof piece, "0x%" PRIx64, *p == 'x' ? finding->value : finding->nearest);
                break;
            case 't':
                name = tw_tmap_value_name(TMAP_DTYPE, call->dtype);
                snprintf(piece, sizeof piece, "%s", name ? name : "?");
                break;
            case 's':
                name = tw_tmap_value_name(TMAP_SWIZZLE, call->swizzle);
                snprintf(piece, sizeof piece, "%s", name ? name : "?");
                break;
            case 'y':
                if (d.inner_bits % 8)
                    snprintf(piece, sizeof piece, "%" PRIu64 "/8", d.inner_bits);
                else
                    snprintf(piece, sizeof piece, "%" PRIu64, d.inner_bits / 8);
                break;
            case 'k':
                snprintf(piece, sizeof piece, "%" PRIu64, d.smem);
                break;
            case 'c':
                snprintf(piece, sizeof piece, "%d.%d", cc / 10, cc % 10);
                break;
            default:
                break;
            }
        size_t length = strlen(piece);
        if (used + length >= size)
            break;
        memcpy(text + used, piece, length + 1);
        used += length;
    }
    return text;
}

// What goes with an argument that was mended. A wider stride moves the strides outside it that were past its rows.
static void carry_stride(struct tw_tensormap_call *c, const struct tw_tensormap_call *before, unsigned i)
{
    const uint64_t multiple = c->interleave == 2 || tmap_align16(c) ? 32 : 16;
    for (; i + 2 < c->rank && i + 1 < 4; i++) {
        const uint64_t count = c->dim[i + 1], most = TMAP_STRIDE_END;
        if (count < 1 || count > most || before->stride[i] >= most || c->stride[i] >= most ||
            before->stride[i] > UINT64_MAX / 2 / count || c->stride[i] > UINT64_MAX / 2 / count)
            return;
        if (c->stride[i + 1] < before->stride[i] * count || c->stride[i + 1] >= c->stride[i] * count)
            return;
        const uint64_t wider = tmap_up(c->stride[i] * count, multiple);
        if (wider >= most)
            return;
        c->stride[i + 1] = wider;
    }
}

// Elements of another size: as many bytes as before.
static void carry_bytes(struct tw_tensormap_call *c, const struct tw_tensormap_call *before)
{
    const struct tmap_dtype *from = tw_tmap_dtype(before->dtype), *to = tw_tmap_dtype(c->dtype);
    if (!from || !to || from->bits == to->bits)
        return;
    if (c->dim[0] <= TMAP_DIM_MOST)
        c->dim[0] = (c->dim[0] * from->bits + to->bits - 1) / to->bits;
    c->box[0] = (uint32_t)(((uint64_t)c->box[0] * from->bits + to->bits - 1) / to->bits);
    c->channels = (uint32_t)(((uint64_t)c->channels * from->bits + to->bits - 1) / to->bits);
}

int tw_tensormap_nearest(const struct tw_tensormap_call *call, int cc, struct tw_tensormap_call *nearest)
{
    struct tw_tensormap_verdict verdict;
    *nearest = *call;
    // Each step mends one entry for good, but for the few arguments that two rules pull at; the bound ends a quarrel.
    for (int step = 0; step < 256; step++) {
        if (tw_tensormap_check(nearest, cc, &verdict) == TW_OK)
            return TW_OK;
        int i = 0;
        while (verdict.finding[i].warning)
            i++;
        const struct tw_tensormap_finding *f = &verdict.finding[i];
        if (rules[f->rule].arg == TMAP_NONE)
            return TW_ERROR_INVALID;
        const struct tw_tensormap_call before = *nearest;
        tmap_set(nearest, rules[f->rule].arg, f->entry, f->nearest);
        if (rules[f->rule].arg == TMAP_STRIDE)
            carry_stride(nearest, &before, f->entry);
        if (rules[f->rule].arg == TMAP_DTYPE)
            carry_bytes(nearest, &before);
    }
    return TW_ERROR_INVALID;
}
