/* The device's texture and surface objects. */
#include <string.h>

#include "emu/exec/memory.h"
#include "texture_ops.h"

static struct emu_device *self(struct tw_device *device)
{
    return (struct emu_device *)(void *)device;
}

/* Extents, and bytes from row to row and slice to slice: so that sums of their products fit 62 bits. */
#define MOST (1u << 30)
#define MOST_SLICES (1u << 20)
#define ROW (UINT64_C(1) << 31)
#define SLICE (UINT64_C(1) << 41)

/* Bytes from the first texel to the end of the last one. */
static uint64_t extent_bytes(const struct emu_texels *t)
{
    uint64_t rows = t->height ? t->height : 1, slices = t->layers ? t->layers : t->depth ? t->depth : 1;
    return (slices - 1) * t->slice + (rows - 1) * t->pitch + (uint64_t)t->width * emu_texel_bytes(t);
}

static int is_format(const struct emu_texels *t)
{
    int channels = t->channels == 1 || t->channels == 2 || t->channels == 4;
    int bits = t->bits == 16 || t->bits == 32 || (t->bits == 8 && t->kind != EMU_TEXEL_FLOAT);
    return channels && bits && t->kind <= EMU_TEXEL_FLOAT;
}

static int add(struct emu_device *device, const struct emu_object *object, uint64_t *handle, struct tw_error *error)
{
    const struct emu_texels *t = &object->texture.texels;
    struct emu_objects *all = &device->objects;
    if (!is_format(t))
        return tw_fail(error, TW_ERROR_INVALID,
                       "texels of %u channels of %u bits: 1, 2 or 4 channels of 8, 16 or 32 "
                       "bits are there, floats of 16 or 32",
                       t->channels, t->bits);
    uint32_t slices = t->layers ? t->layers : t->depth;
    if (!t->width || (t->depth && (t->layers || !t->height)) || t->width > MOST || t->height > MOST ||
        slices > MOST_SLICES || t->pitch > ROW || t->slice > SLICE)
        return tw_fail(error, TW_ERROR_INVALID, "an extent of %u x %u x %u texels, %u layers, rows %llu bytes apart",
                       t->width, t->height, t->depth, t->layers, (unsigned long long)t->pitch);
    const struct emu_region *region = emu_region_find(device, t->address);
    uint64_t bytes = extent_bytes(t);
    if (!region || bytes > region->bytes - (t->address - region->base))
        return tw_fail(error, TW_ERROR_INVALID, "%llu bytes of texels at 0x%llx, which are not all allocated",
                       (unsigned long long)bytes, (unsigned long long)t->address);
    if (all->count == all->room) {
        size_t room = all->room ? 2 * all->room : 16;
        struct emu_object *items = tw_realloc(device->device.rt, all->items, room * sizeof *items);
        if (!items)
            return tw_fail(error, TW_ERROR_MEMORY, "no memory");
        all->items = items;
        all->room = room;
    }
    all->items[all->count] = *object;
    all->items[all->count].region = region->id;
    *handle = ++all->count;
    return TW_OK;
}

int emu_device_texture(struct tw_device *device, const struct emu_texture *texture, uint64_t *object,
                       struct tw_error *error)
{
    const struct emu_texels *t = &texture->texels;
    int floats = t->kind == EMU_TEXEL_FLOAT || texture->as_float;
    for (int d = 0; d < 3; d++)
        if (texture->addressing[d] > EMU_BORDER)
            return tw_fail(error, TW_ERROR_INVALID, "addressing mode %u: wrap, clamp, mirror and border are 0 to 3",
                           texture->addressing[d]);
    if (texture->as_float && (t->kind == EMU_TEXEL_FLOAT || t->bits == 32))
        return tw_fail(error, TW_ERROR_INVALID, "only integers of 8 and 16 bits are read as normalized floats");
    if (texture->linear && !floats)
        return tw_fail(error, TW_ERROR_INVALID,
                       "a linear filter of integers: they are to be read as normalized floats");
    const struct emu_object of = {.texture = *texture};
    return add(self(device), &of, object, error);
}

int emu_device_surface(struct tw_device *device, const struct emu_texels *texels, uint64_t *object,
                       struct tw_error *error)
{
    const struct emu_object of = {.texture = {.texels = *texels}, .surface = 1};
    return add(self(device), &of, object, error);
}

static int destroy(struct emu_device *device, uint64_t handle, int surface)
{
    struct emu_object *object = handle - 1 < device->objects.count ? &device->objects.items[handle - 1] : NULL;
    if (!object || object->destroyed || object->surface != surface)
        return 1;
    object->destroyed = 1;
    return 0;
}

int emu_device_texture_free(struct tw_device *device, uint64_t object)
{
    return destroy(self(device), object, 0);
}

int emu_device_surface_free(struct tw_device *device, uint64_t object)
{
    return destroy(self(device), object, 1);
}

void emu_objects_free(struct emu_device *device)
{
    tw_free(device->device.rt, device->objects.items);
    memset(&device->objects, 0, sizeof device->objects);
}
