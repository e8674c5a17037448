/* Texture fetching as arithmetic, after "Texture Fetching" of the CUDA C++ programming guide: which texels a fetch
   reads, by which weights, and what comes of them. No memory of the device is touched here. */
#ifndef EMU_SAMPLE_H
#define EMU_SAMPLE_H

#include "emu/texture.h"

enum { EMU_TAPS = 8 };

/* A texel that a fetch reads. */
struct emu_tap {
    uint8_t inside;  /* 0: the border's colour, nothing is read */
    uint32_t weight; /* of 256 to the power of the dimensions that are filtered; 0: not read */
    uint64_t offset; /* bytes from the first texel */
};

struct emu_taps {
    unsigned count;
    uint32_t whole; /* sum of the weights */
    struct emu_tap at[EMU_TAPS];
};

/* Coordinates of a fetch. */
struct emu_fetch {
    unsigned dims;  /* 1 to 3 */
    int integer;    /* x in place of f: texels, nothing is filtered */
    int gather;     /* the four texels that a linear filter would read, each for itself */
    uint32_t layer; /* clamped to those that there are */
    float f[3];
    int32_t x[3];
};

/* The texels of a fetch, those without weight among them. A gather's stand in the order in which tld4 gives them. */
void emu_sample_taps(const struct emu_texture *texture, const struct emu_fetch *fetch, struct emu_taps *taps);

/* One channel of a texel in memory, as a register has it: bits of a float, or of an integer of 32 bits. Channels that
   the texel has not are 0: CUDA says nothing of them. */
uint32_t emu_sample_channel(const struct emu_texture *texture, const unsigned char *texel, unsigned channel);

/* What lies outside, of one channel, the same way. */
uint32_t emu_sample_border(const struct emu_texture *texture, unsigned channel);

/* One channel of a fetch whose taps have these values (of tap i at value[i]; without weight it is not looked at). */
uint32_t emu_sample_combine(const struct emu_taps *taps, const uint32_t *value);

#endif
