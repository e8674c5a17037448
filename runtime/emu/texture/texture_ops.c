/* tex, tld4, suld, sust, txq and suq. A fetch finds the texels of its lanes first; the hazard engine is told of every
   one of them that counts, texel by texel, as of a read that does not see what the kernel writes. */
#include "texture_ops.h"

#include <string.h>

#include "emu/exec/memory.h"
#include "emu/exec/report.h"
#include "emu/exec/watch.h"
#include "sample.h"

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

static const char *kind_of(int surface)
{
    return surface ? "surface" : "texture";
}

/* The object of a handle, and its first texel; NULL after a report. */
static const struct emu_object *find(struct emu_warp *warp, const struct emu_op *op, uint64_t handle, int surface,
                                     unsigned char **texels)
{
    struct emu_device *device = warp->launch->device;
    const char *what = kind_of(surface);
    const struct emu_object *object = handle - 1 < device->objects.count ? &device->objects.items[handle - 1] : NULL;
    if (!object || object->destroyed || object->surface != surface) {
        emu_report_at(warp, op, "BOUNDS", handle, 1, "no %s object has the handle 0x%llx%s", what,
                      (unsigned long long)handle,
                      object ? object->destroyed ? ": it was destroyed"
                               : surface         ? ", which is a texture's"
                                                 : ", which is a surface's"
                             : "");
        return NULL;
    }
    uint64_t address = object->texture.texels.address;
    const struct emu_region *region = emu_region_find(device, address);
    if (!region || region->id != object->region) {
        emu_report_at(warp, op, "BOUNDS", address, 1, "the memory of %s object 0x%llx was freed", what,
                      (unsigned long long)handle);
        return NULL;
    }
    *texels = region->data + (address - region->base);
    return object;
}

/* Whether the instruction's geometry is the object's: dimensions that it does not name are 1. 0 after a report. */
static int fits(struct emu_warp *warp, const struct emu_op *op, const struct emu_texture_op *how,
                const struct emu_object *object)
{
    const struct emu_texels *t = &object->texture.texels;
    if (!how->layered == !t->layers && (how->dims > 1 || t->height <= 1) && (how->dims > 2 || t->depth <= 1))
        return 1;
    emu_report_at(warp, op, "BOUNDS", t->address, 1, "a %s of %u x %u x %u texels%s is accessed with %u dimension%s%s",
                  kind_of(object->surface), t->width, t->height ? t->height : 1, t->depth ? t->depth : 1,
                  t->layers ? " with layers" : "", how->dims, how->dims == 1 ? "" : "s",
                  how->layered ? " and a layer" : "");
    return 0;
}

/* ---- Fetches ----------------------------------------------------------------------------------------------------- */

/* The texels of a warp's fetch. */
struct footprint {
    const struct emu_object *object[EMU_LANES];
    unsigned char *texels[EMU_LANES];
    struct emu_taps taps[EMU_LANES];
};

static float real(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

static int find_texels(struct emu_warp *warp, const struct emu_op *op, const struct emu_texture_op *how,
                       struct footprint *print)
{
    const uint64_t *handle = EMU_L(how->object);
    int last = -1;
    for (uint32_t m = warp->lanes.mask; m; m &= m - 1) {
        unsigned lane = emu_first(m);
        if (last < 0 || handle[lane] != handle[last]) {
            print->object[lane] = find(warp, op, handle[lane], 0, &print->texels[lane]);
            if (!print->object[lane] || !fits(warp, op, how, print->object[lane]))
                return 1;
        } else {
            print->object[lane] = print->object[last];
            print->texels[lane] = print->texels[last];
        }
        last = (int)lane;
        const struct emu_texture *texture = &print->object[lane]->texture;
        if (texture->line && !how->integer) {
            emu_report_at(warp, op, "BOUNDS", texture->texels.address, 1,
                          "a texture of linear memory takes integer coordinates (tex1Dfetch)");
            return 1;
        }
        struct emu_fetch fetch = {.dims = how->dims,
                                  .integer = how->integer,
                                  .gather = how->gather != 0,
                                  .layer = how->layered ? EMU_W(how->layer)[lane] : 0};
        for (unsigned d = 0; d < how->dims; d++) {
            uint32_t bits = EMU_W(how->at[d])[lane];
            fetch.x[d] = (int32_t)bits;
            fetch.f[d] = real(bits);
        }
        emu_sample_taps(texture, &fetch, &print->taps[lane]);
    }
    return 0;
}

/* Lanes whose texels have unlike sizes are told apart. */
static void tell(struct emu_warp *warp, const struct emu_op *op, const struct footprint *print)
{
    for (unsigned i = 0; i < EMU_TAPS; i++) {
        uint64_t address[EMU_LANES] = {0};
        uint32_t left = 0;
        for (uint32_t m = warp->lanes.mask; m; m &= m - 1) {
            unsigned lane = emu_first(m);
            const struct emu_tap *tap = &print->taps[lane].at[i];
            if (i >= print->taps[lane].count || !tap->inside || !tap->weight)
                continue;
            address[lane] = print->object[lane]->texture.texels.address + tap->offset;
            left |= 1u << lane;
        }
        while (left) {
            uint32_t bytes = emu_texel_bytes(&print->object[emu_first(left)]->texture.texels), alike = 0;
            for (uint32_t m = left; m; m &= m - 1)
                if (emu_texel_bytes(&print->object[emu_first(m)]->texture.texels) == bytes)
                    alike |= m & (0u - m);
            emu_hazard_generic(warp->hazard, alike, address, 0, bytes, EMU_ACCESS_READ | EMU_ACCESS_NC,
                               emu_position(warp, op));
            left &= ~alike;
        }
    }
}

/* One channel of tap i of a lane. */
static uint32_t tap_value(const struct footprint *print, unsigned lane, unsigned i, unsigned channel)
{
    const struct emu_texture *texture = &print->object[lane]->texture;
    const struct emu_tap *tap = &print->taps[lane].at[i];
    return tap->inside ? emu_sample_channel(texture, print->texels[lane] + tap->offset, channel)
                       : emu_sample_border(texture, channel);
}

static uint32_t fetched(const struct footprint *print, const struct emu_texture_op *how, unsigned lane, unsigned result)
{
    const struct emu_taps *taps = &print->taps[lane];
    uint32_t value[EMU_TAPS] = {0};
    if (how->gather)
        return tap_value(print, lane, result, how->gather - 1u);
    for (unsigned i = 0; i < taps->count; i++)
        value[i] = taps->at[i].weight ? tap_value(print, lane, i, result) : 0;
    return emu_sample_combine(taps, value);
}

const struct emu_op *emu_op_tex(struct emu_warp *warp, const struct emu_op *op)
{
    const struct emu_texture_op *how = op->extra;
    struct footprint print;
    uint32_t result[4][EMU_LANES] = {{0}};
    if (find_texels(warp, op, how, &print))
        return NULL;
    if (EMU_UNLIKELY(warp->hazard != NULL))
        tell(warp, op, &print);
    for (unsigned c = 0; c < 4; c++)
        for (uint32_t m = warp->lanes.mask; m; m &= m - 1)
            result[c][emu_first(m)] = fetched(&print, how, emu_first(m), c);
    for (unsigned c = 0; c < 4; c++)
        emu_put32(warp, how->data[c], result[c]);
    return op + 1;
}

/* ---- Surfaces ---------------------------------------------------------------------------------------------------- */

/* Where the lanes of an access to surfaces lie. */
struct places {
    unsigned char *at[EMU_LANES];
    uint64_t address[EMU_LANES];
    uint32_t inside; /* lanes; the others read zero and write nothing */
};

/* A coordinate into its extent: 0, or 1 where it lies outside and that is not mended. */
static int mend(int64_t *x, int64_t last, unsigned outside)
{
    if (*x >= 0 && *x <= last)
        return 0;
    if (outside != PTX_MOD_CLAMP || last < 0)
        return 1;
    *x = *x < 0 ? 0 : last;
    return 0;
}

static int find_place(struct emu_warp *warp, const struct emu_op *op, unsigned lane, struct places *places)
{
    const struct emu_texture_op *how = op->extra;
    unsigned char *texels;
    const struct emu_object *object = find(warp, op, EMU_L(how->object)[lane], 1, &texels);
    if (!object || !fits(warp, op, how, object))
        return 1;
    const struct emu_texels *t = &object->texture.texels;
    const int64_t bytes = (int64_t)how->bytes * how->count;
    const int64_t last[3] = {(int64_t)t->width * emu_texel_bytes(t) - bytes, (t->height ? t->height : 1) - 1,
                             (t->layers  ? t->layers
                              : t->depth ? t->depth
                                         : 1) -
                                 1};
    int64_t at[3] = {0, 0, 0};
    for (unsigned d = 0; d < how->dims; d++)
        at[d] = (int32_t)EMU_W(how->at[d])[lane];
    if (how->layered)
        at[2] = (int32_t)EMU_W(how->layer)[lane];
    const int64_t asked[3] = {at[0], at[1], at[2]};
    int out =
        mend(&at[0], last[0], how->outside) | mend(&at[1], last[1], how->outside) | mend(&at[2], last[2], how->outside);
    if (out && how->outside != PTX_MOD_ZERO) {
        emu_report_at(
            warp, op, "BOUNDS", t->address, 1,
            "%lld bytes at x %lld (in bytes), y %lld, %s %lld of a surface of %u x %u x %u texels of %u bytes",
            (long long)bytes, (long long)asked[0], (long long)asked[1], t->layers ? "layer" : "z", (long long)asked[2],
            t->width, (unsigned)last[1] + 1, (unsigned)last[2] + 1, emu_texel_bytes(t));
        return 1;
    }
    if (out)
        return 0;
    if (at[0] % bytes) {
        emu_report_at(warp, op, "ALIGN", t->address + (uint64_t)at[0], 1,
                      "access of %lld bytes to a surface at x %lld, which counts bytes", (long long)bytes,
                      (long long)at[0]);
        return 1;
    }
    uint64_t offset = (uint64_t)at[0] + (uint64_t)at[1] * t->pitch + (uint64_t)at[2] * t->slice;
    places->at[lane] = texels + offset;
    places->address[lane] = t->address + offset;
    places->inside |= 1u << lane;
    return 0;
}

static int find_places(struct emu_warp *warp, const struct emu_op *op, struct places *places)
{
    memset(places, 0, sizeof *places);
    for (uint32_t m = warp->lanes.mask; m; m &= m - 1)
        if (find_place(warp, op, emu_first(m), places))
            return 1;
    return 0;
}

/* A read of a surface does not see what the kernel writes, either: "Surface Memory" and "Read/Write Coherency" of the
   programming guide. */
const struct emu_op *emu_op_suld(struct emu_warp *warp, const struct emu_op *op)
{
    const struct emu_texture_op *how = op->extra;
    struct places places;
    if (find_places(warp, op, &places))
        return NULL;
    if (EMU_UNLIKELY(warp->hazard != NULL) && places.inside)
        emu_hazard_generic(warp->hazard, places.inside, places.address, 0, (uint32_t)how->bytes * how->count,
                           EMU_ACCESS_READ | EMU_ACCESS_NC, emu_position(warp, op));
    for (unsigned e = 0; e < how->count; e++) {
        uint64_t wide[EMU_LANES] = {0};
        uint32_t word[EMU_LANES];
        for (uint32_t m = places.inside; m; m &= m - 1)
            memcpy(&wide[emu_first(m)], places.at[emu_first(m)] + e * how->bytes, how->bytes);
        for (int i = 0; i < EMU_LANES; i++)
            word[i] = (uint32_t)wide[i];
        if (how->bytes == 8)
            emu_put64(warp, how->data[e], wide);
        else
            emu_put32(warp, how->data[e], word);
    }
    return op + 1;
}

/* What a lane writes. */
static void gather_element(struct emu_warp *warp, const struct emu_texture_op *how, unsigned lane,
                           unsigned char element[32])
{
    for (unsigned e = 0; e < how->count; e++) {
        uint64_t x = how->bytes == 8 ? EMU_L(how->data[e])[lane] : EMU_W(how->data[e])[lane];
        memcpy(element + e * how->bytes, &x, how->bytes);
    }
}

const struct emu_op *emu_op_sust(struct emu_warp *warp, const struct emu_op *op)
{
    const struct emu_texture_op *how = op->extra;
    const uint32_t bytes = (uint32_t)how->bytes * how->count;
    struct places places;
    unsigned char element[EMU_LANES][32];
    uint32_t same = 0, lost = 0;
    if (find_places(warp, op, &places))
        return NULL;
    emu_changed(warp);
    for (uint32_t m = places.inside; m; m &= m - 1) {
        unsigned lane = emu_first(m);
        gather_element(warp, how, lane, element[lane]);
        same |= memcmp(places.at[lane], element[lane], bytes) ? 0 : m & (0u - m);
    }
    for (uint32_t m = places.inside; m; m &= m - 1)
        memcpy(places.at[emu_first(m)], element[emu_first(m)], bytes);
    if (EMU_LIKELY(!warp->hazard))
        return op + 1;
    for (int part = 0; part < 2; part++) {
        uint32_t lanes = places.inside & (part ? same : ~same);
        if (lanes)
            emu_hazard_generic(warp->hazard, lanes, places.address, 0, bytes,
                               EMU_ACCESS_WRITE | (part ? EMU_ACCESS_SAME : 0u), emu_position(warp, op));
    }
    for (uint32_t m = places.inside; m; m &= m - 1)
        lost |= memcmp(places.at[emu_first(m)], element[emu_first(m)], bytes) ? m & (0u - m) : 0;
    if (lost)
        emu_report_at(warp, op, "UNORDERED-WRITE", places.address[emu_first(lost)], 0,
                      "lanes of one store write different values to the same bytes of a surface: which one stays is "
                      "chance (not that of lanes 0x%x here)",
                      lost);
    return op + 1;
}

/* ---- Queries ----------------------------------------------------------------------------------------------------- */

const struct emu_op *emu_op_txq(struct emu_warp *warp, const struct emu_op *op)
{
    uint32_t result[EMU_LANES] = {0};
    for (uint32_t m = warp->lanes.mask; m; m &= m - 1) {
        unsigned char *texels;
        const struct emu_object *object = find(warp, op, EMU_L(op->a)[emu_first(m)], op->c != 0, &texels);
        if (!object)
            return NULL;
        const struct emu_texels *t = &object->texture.texels;
        result[emu_first(m)] = op->b == PTX_MOD_WIDTH ? t->width : op->b == PTX_MOD_HEIGHT ? t->height : t->depth;
    }
    emu_put32(warp, op->d, result);
    return op + 1;
}
