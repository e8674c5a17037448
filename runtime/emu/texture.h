/* Texture and surface objects of the device emu: what a kernel's tex, tld4, suld and sust read and write through a
   handle. Whoever emulates the driver (runtime/libcuda) makes them. A device is used by one thread at a time.

   Texels lie in an allocation of the device's, row behind row, slice behind slice: arrays have no layout of their own
   here. The allocation may be freed before the object: a fetch is a fault then. */
#ifndef EMU_TEXTURE_H
#define EMU_TEXTURE_H

#include "device.h"

enum emu_texel_kind { EMU_TEXEL_UNSIGNED, EMU_TEXEL_SIGNED, EMU_TEXEL_FLOAT };

struct emu_texels {
    uint64_t address;
    uint64_t pitch, slice;         /* bytes from row to row, from slice (or layer) to slice */
    uint32_t width, height, depth; /* texels; height and depth 0: it has not that many dimensions */
    uint32_t layers;               /* 0: it has none. depth is 0 where there are layers */
    uint8_t kind;                  /* emu_texel_kind */
    uint8_t bits;                  /* of a channel: 8, 16, 32; floats: 16, 32 */
    uint8_t channels;              /* 1, 2, 4 */
};

static inline uint32_t emu_texel_bytes(const struct emu_texels *texels)
{
    return (uint32_t)texels->bits / 8 * texels->channels;
}

enum emu_addressing { EMU_WRAP, EMU_CLAMP, EMU_MIRROR, EMU_BORDER }; /* as CUaddress_mode counts them */

struct emu_texture {
    struct emu_texels texels;
    uint8_t addressing[3]; /* emu_addressing of x, y, z; wrap and mirror of coordinates in texels clamp */
    uint8_t linear;        /* filter: between texels, else the nearest one */
    uint8_t normalized;    /* coordinates go from 0 to 1, else to the extent */
    uint8_t as_float;      /* 8- and 16-bit integers are read as [0, 1] or [-1, 1] */
    uint8_t line;          /* linear memory: integer coordinates alone, and 0 outside */
    float border[4];       /* EMU_BORDER: what lies outside */
};

/* A handle that no other object of the device has had, nor will have. TW_ERROR_INVALID: the texels are not all of one
   allocation, or something does not go together; TW_ERROR_MEMORY. */
int emu_device_texture(struct tw_device *device, const struct emu_texture *texture, uint64_t *object,
                       struct tw_error *error);
int emu_device_surface(struct tw_device *device, const struct emu_texels *texels, uint64_t *object,
                       struct tw_error *error);

/* 1: there is no such texture (surface) object. */
int emu_device_texture_free(struct tw_device *device, uint64_t object);
int emu_device_surface_free(struct tw_device *device, uint64_t object);

#endif
