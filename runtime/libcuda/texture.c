/* Texture and surface objects. */
#include <stdlib.h>

#include "internal.h"

enum { OF_ARRAY, OF_MIPMAPS, OF_LINE, OF_PITCH };                                     /* CUresourcetype */
enum { AS_INTEGER = 1, NORMALIZED = 2, SRGB = 16, NO_TRILINEAR = 32, SEAMLESS = 64 }; /* CU_TRSF_* */
enum { SURFACES = 2 };                                                                /* CUDA_ARRAY3D_SURFACE_LDST */
enum { ADDRESS_UNIT = 512, PITCH_UNIT = 32 }; /* attributes.def: alignment of textures, and of their pitch */

/* One that was made: its handle is the device's. */
struct object {
    struct object *next;
    uint64_t handle;
    int surface;
    struct cu_resource resource;
    struct cu_texture_desc texture;
};
static struct object *all_objects;

static struct object **find_object(uint64_t handle, int surface)
{
    for (struct object **at = &all_objects; *at; at = &(*at)->next)
        if ((*at)->handle == handle && (*at)->surface == surface)
            return at;
    return NULL;
}

/* Linear memory is a row of texels, as many as fit whole; pitched memory rows of them. */
static int memory_texels(const struct cu_resource *resource, struct emu_texels *texels)
{
    const struct cu_pitched_texels *of = &resource->of.pitched;
    int result = cu_texel_of(of->format, of->channels, texels);
    if (result)
        return result;
    texels->address = of->address;
    if (of->address % ADDRESS_UNIT)
        return cu_refuse(CUDA_ERROR_INVALID_VALUE, "a texture of memory at 0x%llx, which is no multiple of %d",
                         (unsigned long long)of->address, ADDRESS_UNIT);
    if (resource->type == OF_LINE) {
        size_t width = resource->of.line.bytes / emu_texel_bytes(texels);
        texels->width = width < 1u << 30 ? (uint32_t)width : 1u << 30;
        return CUDA_SUCCESS;
    }
    if (of->pitch % PITCH_UNIT || of->width > of->pitch / emu_texel_bytes(texels) || of->height > UINT32_MAX ||
        !of->height)
        return cu_refuse(CUDA_ERROR_INVALID_VALUE,
                         "a texture of %zu rows of %zu texels of %u bytes, a row in %zu bytes: these are to hold the "
                         "row and be a multiple of %d",
                         of->height, of->width, emu_texel_bytes(texels), of->pitch, PITCH_UNIT);
    texels->width = (uint32_t)of->width;
    texels->height = (uint32_t)of->height;
    texels->pitch = of->pitch;
    return CUDA_SUCCESS;
}

static int texels_of(const struct cu_resource *resource, struct emu_texels *texels)
{
    switch (resource->type) {
    case OF_ARRAY:
        if (!cu_array_known(resource->of.array))
            return cu_refuse(CUDA_ERROR_INVALID_HANDLE, "an object of an array that is none, or was destroyed");
        *texels = cu_array_texels(resource->of.array);
        return CUDA_SUCCESS;
    case OF_LINE:
    case OF_PITCH:
        return memory_texels(resource, texels);
    case OF_MIPMAPS:
        return cu_refuse(CUDA_ERROR_NOT_SUPPORTED, "mipmaps are not emulated: make the texture of an array");
    default:
        return cu_refuse(CUDA_ERROR_INVALID_VALUE, "there is no resource of type %d", resource->type);
    }
}

/* The handle's description; where there is no memory for it the handle goes back. */
static int keep(uint64_t handle, int surface, const struct cu_resource *resource, const struct cu_texture_desc *texture)
{
    struct object *object = calloc(1, sizeof *object);
    if (!object) {
        surface ? emu_device_surface_free(cu.device, handle) : emu_device_texture_free(cu.device, handle);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *object = (struct object){.next = all_objects, .handle = handle, .surface = surface, .resource = *resource};
    if (texture)
        object->texture = *texture;
    all_objects = object;
    return CUDA_SUCCESS;
}

/* ---- Textures ---------------------------------------------------------------------------------------------------- */

static int refuse_texture(const struct cu_texture_desc *texture, const void *view)
{
    if (view)
        return cu_refuse(CUDA_ERROR_NOT_SUPPORTED, "views of resources are not emulated: pass none");
    if (texture->flags & SRGB)
        return cu_refuse(CUDA_ERROR_NOT_SUPPORTED, "sRGB textures are not emulated");
    if (texture->flags & ~(unsigned)(AS_INTEGER | NORMALIZED | NO_TRILINEAR | SEAMLESS))
        return cu_refuse(CUDA_ERROR_INVALID_VALUE, "a texture of flags 0x%x", texture->flags);
    if (texture->anisotropy > 1)
        return cu_refuse(CUDA_ERROR_NOT_SUPPORTED, "anisotropic filters are not emulated");
    if (texture->filter < 0 || texture->filter > 1)
        return cu_refuse(CUDA_ERROR_INVALID_VALUE, "there is no filter %d", texture->filter);
    for (int d = 0; d < 3; d++)
        if (texture->addressing[d] < EMU_WRAP || texture->addressing[d] > EMU_BORDER)
            return cu_refuse(CUDA_ERROR_INVALID_VALUE, "there is no addressing mode %d", texture->addressing[d]);
    return CUDA_SUCCESS;
}

int cuTexObjectCreate(uint64_t *object, const struct cu_resource *resource, const struct cu_texture_desc *texture,
                      const void *view)
{
    ENTER(cuTexObjectCreate);
    struct tw_error error;
    struct emu_texture is = {.line = 0};
    if (!object || !resource || !texture)
        return CUDA_ERROR_INVALID_VALUE;
    int result = refuse_texture(texture, view);
    if (!result)
        result = texels_of(resource, &is.texels);
    if (result)
        return result;
    is.line = resource->type == OF_LINE;
    is.linear = texture->filter == 1 && !is.line;
    is.normalized = (texture->flags & NORMALIZED) != 0;
    is.as_float = !(texture->flags & AS_INTEGER) && is.texels.kind != EMU_TEXEL_FLOAT && is.texels.bits < 32;
    for (int i = 0; i < 4; i++)
        is.border[i] = texture->border[i];
    for (int d = 0; d < 3; d++)
        is.addressing[d] = (uint8_t)texture->addressing[d];
    if (is.texels.kind != EMU_TEXEL_FLOAT && !is.as_float)
        for (int i = 0; i < is.texels.channels; i++)
            if (is.border[i] != 0)
                return cu_refuse(CUDA_ERROR_NOT_SUPPORTED, "a border of integers that is not 0 is not emulated");
    result = cu_result(emu_device_texture(cu.device, &is, object, &error), &error);
    return result ? result : keep(*object, 0, resource, texture);
}

int cuTexObjectDestroy(uint64_t object)
{
    ENTER(cuTexObjectDestroy);
    struct object **at = find_object(object, 0);
    if (!at || emu_device_texture_free(cu.device, object))
        return CUDA_ERROR_INVALID_VALUE;
    struct object *gone = *at;
    *at = gone->next;
    free(gone);
    return CUDA_SUCCESS;
}

int cuTexObjectGetResourceDesc(struct cu_resource *resource, uint64_t object)
{
    ENTER(cuTexObjectGetResourceDesc);
    struct object **at = find_object(object, 0);
    if (!at)
        return CUDA_ERROR_INVALID_VALUE;
    *resource = (*at)->resource;
    return CUDA_SUCCESS;
}

int cuTexObjectGetTextureDesc(struct cu_texture_desc *texture, uint64_t object)
{
    ENTER(cuTexObjectGetTextureDesc);
    struct object **at = find_object(object, 0);
    if (!at)
        return CUDA_ERROR_INVALID_VALUE;
    *texture = (*at)->texture;
    return CUDA_SUCCESS;
}

/* ---- Surfaces ---------------------------------------------------------------------------------------------------- */

int cuSurfObjectCreate(uint64_t *object, const struct cu_resource *resource)
{
    ENTER(cuSurfObjectCreate);
    struct tw_error error;
    struct emu_texels texels = {.kind = 0};
    if (!object || !resource)
        return CUDA_ERROR_INVALID_VALUE;
    if (resource->type != OF_ARRAY)
        return cu_refuse(CUDA_ERROR_INVALID_VALUE, "a surface object is of an array");
    int result = texels_of(resource, &texels);
    if (!result && !(resource->of.array->is.flags & SURFACES))
        result = cu_refuse(CUDA_ERROR_INVALID_VALUE, "the array was not made for surfaces (cudaArraySurfaceLoadStore, "
                                                     "CUDA_ARRAY3D_SURFACE_LDST)");
    if (!result)
        result = cu_result(emu_device_surface(cu.device, &texels, object, &error), &error);
    return result ? result : keep(*object, 1, resource, NULL);
}

int cuSurfObjectDestroy(uint64_t object)
{
    ENTER(cuSurfObjectDestroy);
    struct object **at = find_object(object, 1);
    if (!at || emu_device_surface_free(cu.device, object))
        return CUDA_ERROR_INVALID_VALUE;
    struct object *gone = *at;
    *at = gone->next;
    free(gone);
    return CUDA_SUCCESS;
}

int cuSurfObjectGetResourceDesc(struct cu_resource *resource, uint64_t object)
{
    ENTER(cuSurfObjectGetResourceDesc);
    struct object **at = find_object(object, 1);
    if (!at)
        return CUDA_ERROR_INVALID_VALUE;
    *resource = (*at)->resource;
    return CUDA_SUCCESS;
}
