/* Sampling. Point: texel floor(x). Linear: x_B = x - 0.5, i = floor(x_B), alpha = x_B - i with 8 bits of fraction, and
   (1 - alpha) T[i] + alpha T[i + 1], the same along y and z: "Linear Filtering" of the programming guide. The 8 bits
   are the nearest to x_B, whose i may so be the next one: "Texture Gather" there, with 2.49805 as an example. */
#include "sample.h"

#include <math.h>
#include <string.h>

#include "emu/alu/floats.h"

enum { ONE = 256 }; /* weight */

struct axis {
    unsigned count;
    int64_t index[2]; /* -1: outside, with EMU_BORDER */
    uint32_t weight[2];
};

/* A texel's index by the addressing mode ("Texture Object API": cudaAddressModeClamp and so on). */
static int64_t address(int64_t i, int64_t extent, unsigned mode)
{
    switch (mode) {
    case EMU_BORDER:
        return i < 0 || i >= extent ? -1 : i;
    case EMU_WRAP:
        return ((i % extent) + extent) % extent;
    case EMU_MIRROR: {
        int64_t m = ((i % (2 * extent)) + 2 * extent) % (2 * extent);
        return m < extent ? m : 2 * extent - 1 - m;
    }
    default:
        return i < 0 ? 0 : i >= extent ? extent - 1 : i;
    }
}

/* A coordinate in texels, a float as the coordinate was: so i / (float)n is texel i of n. Wrap takes the fraction of x,
   mirror of x or, where floor(x) is odd, 1 minus it. What is no number is 0, and what is far outside stays outside. */
static double in_texels(float coordinate, int64_t extent, unsigned mode, int normalized)
{
    const double far = 1 << 30;
    double x = isnan(coordinate) ? 0 : coordinate;
    if (normalized && (mode == EMU_WRAP || mode == EMU_MIRROR)) {
        double whole = floor(x);
        x = isinf(x) ? 0 : x - whole;
        if (mode == EMU_MIRROR && fmod(whole, 2) != 0)
            x = 1 - x;
    }
    x = normalized ? (float)(x * (double)extent) : x;
    return x < -far ? -far : x > far ? far : x;
}

static struct axis axis_of(double x, int64_t extent, unsigned mode, int between)
{
    struct axis axis = {.count = 1, .weight = {ONE, 0}};
    double at = between ? floor((x - 0.5) * ONE + 0.5) / ONE : x, low = floor(at);
    axis.index[0] = address((int64_t)low, extent, mode);
    if (!between)
        return axis;
    axis.count = 2;
    axis.index[1] = address((int64_t)low + 1, extent, mode);
    axis.weight[1] = (uint32_t)((at - low) * ONE);
    axis.weight[0] = ONE - axis.weight[1];
    return axis;
}

void emu_sample_taps(const struct emu_texture *texture, const struct emu_fetch *fetch, struct emu_taps *taps)
{
    const struct emu_texels *t = &texture->texels;
    const int64_t extent[3] = {t->width, t->height ? t->height : 1, t->depth ? t->depth : 1};
    struct axis axis[3] = {
        {.count = 1, .weight = {ONE, 0}}, {.count = 1, .weight = {ONE, 0}}, {.count = 1, .weight = {ONE, 0}}};
    uint64_t layer = 0;
    int between = (texture->linear && !fetch->integer) || fetch->gather;
    if (t->layers)
        layer = fetch->layer < t->layers ? fetch->layer : t->layers - 1;
    for (unsigned d = 0; d < fetch->dims; d++) {
        unsigned mode = texture->addressing[d];
        int normalized = texture->normalized && !fetch->integer;
        if (!normalized && mode != EMU_BORDER)
            mode = EMU_CLAMP;
        if (texture->line)
            mode = EMU_BORDER;
        double x = fetch->integer ? fetch->x[d] : in_texels(fetch->f[d], extent[d], mode, normalized);
        axis[d] = axis_of(x, extent[d], mode, between);
    }
    *taps = (struct emu_taps){.whole = 1};
    for (unsigned d = 0; d < fetch->dims && between; d++)
        taps->whole *= ONE;
    for (unsigned z = 0; z < axis[2].count; z++)
        for (unsigned y = 0; y < axis[1].count; y++)
            for (unsigned x = 0; x < axis[0].count; x++) {
                struct emu_tap *tap = &taps->at[taps->count++];
                int64_t at[3] = {axis[0].index[x], axis[1].index[y], axis[2].index[z]};
                tap->inside = at[0] >= 0 && at[1] >= 0 && at[2] >= 0;
                tap->weight = between ? axis[0].weight[x] * (fetch->dims > 1 ? axis[1].weight[y] : 1) *
                                            (fetch->dims > 2 ? axis[2].weight[z] : 1)
                                      : 1;
                if (tap->inside)
                    tap->offset = (uint64_t)at[0] * emu_texel_bytes(t) + (uint64_t)at[1] * t->pitch +
                                  ((uint64_t)at[2] + layer) * t->slice;
            }
    if (fetch->gather) { /* (x, y + 1), (x + 1, y + 1), (x + 1, y), (x, y): "tld4" of the PTX ISA, from the lower left
                            on */
        const struct emu_taps all = *taps;
        static const uint8_t order[] = {2, 3, 1, 0};
        for (unsigned i = 0; i < 4; i++) {
            taps->at[i] = all.at[order[i]];
            taps->at[i].weight = 1;
        }
    }
}

/* An integer, or what it stands for with cudaReadModeNormalizedFloat: all of the unsigned range to [0, 1], of the
   signed one to [-1, 1], the two lowest values being -1. */
static uint32_t integer(const struct emu_texture *texture, uint32_t raw)
{
    const struct emu_texels *t = &texture->texels;
    uint32_t away = 32 - t->bits;
    int32_t extended = (int32_t)(raw << away) >> away;
    int is_signed = t->kind == EMU_TEXEL_SIGNED;
    if (!texture->as_float)
        return is_signed ? (uint32_t)extended : raw;
    if (!is_signed)
        return emu_bits((float)raw / (float)((1u << t->bits) - 1));
    float most = (float)((1u << (t->bits - 1)) - 1), x = (float)extended / most;
    return emu_bits(x < -1 ? -1 : x);
}

uint32_t emu_sample_channel(const struct emu_texture *texture, const unsigned char *texel, unsigned channel)
{
    const struct emu_texels *t = &texture->texels;
    uint32_t raw = 0, bytes = t->bits / 8;
    if (channel >= t->channels)
        return 0;
    memcpy(&raw, texel + channel * bytes, bytes);
    if (t->kind != EMU_TEXEL_FLOAT)
        return integer(texture, raw);
    return t->bits == 16 ? emu_bits(emu_f16(raw)) : raw;
}

uint32_t emu_sample_border(const struct emu_texture *texture, unsigned channel)
{
    const struct emu_texels *t = &texture->texels;
    if (channel >= t->channels || texture->line)
        return 0;
    return t->kind == EMU_TEXEL_FLOAT || texture->as_float ? emu_bits(texture->border[channel]) : 0;
}

uint32_t emu_sample_combine(const struct emu_taps *taps, const uint32_t *value)
{
    double sum = 0;
    for (unsigned i = 0; i < taps->count; i++) {
        if (taps->at[i].weight == taps->whole)
            return value[i];
        if (taps->at[i].weight)
            sum += (double)emu_float(value[i]) * taps->at[i].weight;
    }
    return emu_bits((float)(sum / taps->whole));
}
