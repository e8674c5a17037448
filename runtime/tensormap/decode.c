// From the 1024 bits back to the call (tensormap_encode.c draws them), and a call as words.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tensormap_args.h"

static uint64_t get(const uint64_t map[16], unsigned bit, unsigned width)
{
    uint64_t value = map[bit / 64] >> bit % 64;
    if (bit % 64 + width > 64)
        value |= map[bit / 64 + 1] << (64 - bit % 64);
    return value & (UINT64_MAX >> (64 - width));
}

static uint32_t get32(const uint64_t map[16], unsigned bit, unsigned width)
{
    return (uint32_t)get(map, bit, width);
}

static int32_t get_signed(const uint64_t map[16], unsigned bit, unsigned width)
{
    int32_t value = (int32_t)get(map, bit, width);
    return value >> (width - 1) & 1 ? value - (INT32_C(1) << width) : value;
}

int tw_tensormap_decode(const uint64_t map[16], struct tw_tensormap_call *call, struct tw_tensormap_extra *extra)
{
    struct tw_tensormap_call *c = call;
    memset(c, 0, sizeof *c);
    c->func = get(map, 64, 1) ? TW_TENSORMAP_IM2COL : TW_TENSORMAP_TILED;
    c->rank = get32(map, 68, 3) + 1;
    c->addr = map[0];
    c->interleave = get32(map, 75, 2);
    c->swizzle = get32(map, 77, 2);
    c->oob = get32(map, 79, 1);
    c->l2 = get32(map, 81, 2);
    const struct tmap_dtype *dtype;
    while ((dtype = tw_tmap_dtype(c->dtype)) &&
           (dtype->hardware != (int)get(map, 71, 4) || dtype->tf32 != get(map, 80, 1)))
        c->dtype++;
    for (unsigned i = 0; i < 5 && i < c->rank; i++) {
        c->dim[i] = get(map, 256 + 32 * i, 32) + 1;
        c->estride[i] = get32(map, 416 + 3 * i, 3) + 1;
        if (i < 4 && i + 1 < c->rank)
            c->stride[i] = get(map, 96 + 32 * i, 32) << 4 | get(map, 224 + 4 * i, 4) << 36;
        if (c->func == TW_TENSORMAP_TILED)
            c->box[i] = get32(map, 440 + 8 * i, 8) + 1;
    }
    if (c->func == TW_TENSORMAP_IM2COL) {
        unsigned width = tw_tmap_corner_bits(c->rank);
        c->channels = get32(map, 440, 8) + 1;
        c->pixels = get32(map, 480, 10) + 1;
        for (unsigned i = 0; i < tmap_entries(c, TMAP_LOWER); i++) {
            c->lower[i] = get_signed(map, 448 + width * i, width);
            c->upper[i] = get_signed(map, 464 + width * i, width);
        }
    }

    uint64_t again[16] = {0}, stray = 0;
    int known = tw_tensormap_encode(c, 90, again) == TW_OK;
    for (int i = 0; i < 16; i++)
        stray |= known ? map[i] ^ again[i] : 0;
    if (extra) {
        extra->smem_bytes = get32(map, 512, 32);
        extra->smem_align = get32(map, 576, 32);
        for (int i = 0; i < 16; i++)
            extra->unknown[i] = known ? map[i] ^ again[i] : 0;
    }
    return known && !stray ? TW_OK : TW_ERROR_INVALID;
}

const char *tw_tensormap_format(const struct tw_tensormap_call *call, char *text, size_t size)
{
    size_t used = 0;
    if (size == 0)
        return text;
    tw_tmap_append(text, size, &used, "f=%s", tw_tmap_func_name(call->func));
    for (int a = TMAP_NONE + 1; a < TMAP_ARG_COUNT; a++) {
        enum tmap_arg arg = (enum tmap_arg)a;
        unsigned entries = tmap_entries(call, arg);
        uint64_t usual = arg == TMAP_ESTRIDE, differs = 0;
        for (unsigned i = 0; i < entries; i++)
            differs |= tmap_get(call, arg, i) ^ usual;
        int has_default = arg == TMAP_ESTRIDE || arg >= TMAP_INTERLEAVE || arg == TMAP_MODE;
        if ((has_default && !differs) || (arg == TMAP_RANK && tmap_rank(call)))
            continue;
        for (unsigned i = 0; i < entries; i++) {
            uint64_t value = tmap_get(call, arg, i);
            const char *name = tw_tmap_value_name(arg, value);
            if (i == 0)
                tw_tmap_append(text, size, &used, " %s=", tmap_args[arg].name);
            else
                tw_tmap_append(text, size, &used, ",");
            if (name)
                tw_tmap_append(text, size, &used, "%s", name);
            else if (arg == TMAP_ADDR)
                tw_tmap_append(text, size, &used, "0x%" PRIx64, value);
            else if (tmap_args[arg].is_signed)
                tw_tmap_append(text, size, &used, "%" PRId64, (int64_t)value);
            else
                tw_tmap_append(text, size, &used, "%" PRIu64, value);
        }
    }
    return text;
}
