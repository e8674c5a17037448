/* Texture and surface objects: the driver's, made of the runtime's descriptions. */
#include <string.h>

#include "cudart.h"

enum { OF_ARRAY, OF_MIPMAPS, OF_LINE, OF_PITCH };                                     /* both interfaces' types */
enum { AS_INTEGER = 1, NORMALIZED = 2, SRGB = 16, NO_TRILINEAR = 32, SEAMLESS = 64 }; /* CU_TRSF_* */

/* ---- Resources --------------------------------------------------------------------------------------------------- */

static int to_driver(const struct resource *resource, struct cu_resource *driver)
{
    memset(driver, 0, sizeof *driver);
    driver->type = resource->type;
    driver->flags = resource->flags;
    switch (resource->type) {
    case OF_LINE:
        driver->of.line.address = (uint64_t)(uintptr_t)resource->of.line.memory;
        driver->of.line.bytes = resource->of.line.bytes;
        return rt_format_of(&resource->of.line.channels, &driver->of.line.format, &driver->of.line.channels);
    case OF_PITCH:
        driver->of.pitched.address = (uint64_t)(uintptr_t)resource->of.pitched.memory;
        driver->of.pitched.width = resource->of.pitched.width;
        driver->of.pitched.height = resource->of.pitched.height;
        driver->of.pitched.pitch = resource->of.pitched.pitch;
        return rt_format_of(&resource->of.pitched.channels, &driver->of.pitched.format, &driver->of.pitched.channels);
    default: /* the driver refuses mipmaps, and what there is none of */
        driver->of.array = resource->of.array;
        return cudaSuccess;
    }
}

static void from_driver(const struct cu_resource *driver, struct resource *resource)
{
    memset(resource, 0, sizeof *resource);
    resource->type = driver->type;
    resource->flags = driver->flags;
    switch (driver->type) {
    case OF_LINE:
        resource->of.line.memory = (void *)(uintptr_t)driver->of.line.address;
        resource->of.line.bytes = driver->of.line.bytes;
        resource->of.line.channels = rt_channels_of(driver->of.line.format, driver->of.line.channels);
        break;
    case OF_PITCH:
        resource->of.pitched.memory = (void *)(uintptr_t)driver->of.pitched.address;
        resource->of.pitched.width = driver->of.pitched.width;
        resource->of.pitched.height = driver->of.pitched.height;
        resource->of.pitched.pitch = driver->of.pitched.pitch;
        resource->of.pitched.channels = rt_channels_of(driver->of.pitched.format, driver->of.pitched.channels);
        break;
    default:
        resource->of.array = driver->of.array;
        break;
    }
}

/* ---- Textures ---------------------------------------------------------------------------------------------------- */

int cudaCreateTextureObject(uint64_t *object, const struct resource *resource, const struct texture_desc *texture,
                            const void *view)
{
    BEGIN;
    struct cu_resource of;
    if (!object || !resource || !texture)
        return rt_last(cudaErrorInvalidValue);
    struct cu_texture_desc driver = {.filter = texture->filter,
                                     .anisotropy = texture->anisotropy,
                                     .mipmap_filter = texture->mipmap_filter,
                                     .bias = texture->bias,
                                     .least_level = texture->least_level,
                                     .most_level = texture->most_level};
    memcpy(driver.addressing, texture->addressing, sizeof driver.addressing);
    memcpy(driver.border, texture->border, sizeof driver.border);
    driver.flags = (texture->as_float ? 0u : AS_INTEGER) | (texture->normalized ? NORMALIZED : 0u) |
                   (texture->srgb ? SRGB : 0u) | (texture->no_trilinear ? NO_TRILINEAR : 0u) |
                   (texture->seamless ? SEAMLESS : 0u);
    int result = to_driver(resource, &of);
    return rt_last(result ? result : cuTexObjectCreate(object, &of, &driver, view));
}

int cudaDestroyTextureObject(uint64_t object)
{
    BEGIN;
    return rt_last(object ? cuTexObjectDestroy(object) : cudaSuccess);
}

int cudaGetTextureObjectResourceDesc(struct resource *resource, uint64_t object)
{
    BEGIN;
    struct cu_resource driver;
    int result = cuTexObjectGetResourceDesc(&driver, object);
    if (!result)
        from_driver(&driver, resource);
    return rt_last(result);
}

int cudaGetTextureObjectTextureDesc(struct texture_desc *texture, uint64_t object)
{
    BEGIN;
    struct cu_texture_desc driver;
    int result = cuTexObjectGetTextureDesc(&driver, object);
    if (result)
        return rt_last(result);
    *texture = (struct texture_desc){.filter = driver.filter,
                                     .as_float = !(driver.flags & AS_INTEGER),
                                     .srgb = (driver.flags & SRGB) != 0,
                                     .normalized = (driver.flags & NORMALIZED) != 0,
                                     .anisotropy = driver.anisotropy,
                                     .mipmap_filter = driver.mipmap_filter,
                                     .bias = driver.bias,
                                     .least_level = driver.least_level,
                                     .most_level = driver.most_level,
                                     .no_trilinear = (driver.flags & NO_TRILINEAR) != 0,
                                     .seamless = (driver.flags & SEAMLESS) != 0};
    memcpy(texture->addressing, driver.addressing, sizeof texture->addressing);
    memcpy(texture->border, driver.border, sizeof texture->border);
    return cudaSuccess;
}

/* ---- Surfaces ---------------------------------------------------------------------------------------------------- */

int cudaCreateSurfaceObject(uint64_t *object, const struct resource *resource)
{
    BEGIN;
    struct cu_resource of;
    if (!object || !resource)
        return rt_last(cudaErrorInvalidValue);
    int result = to_driver(resource, &of);
    return rt_last(result ? result : cuSurfObjectCreate(object, &of));
}

int cudaDestroySurfaceObject(uint64_t object)
{
    BEGIN;
    return rt_last(object ? cuSurfObjectDestroy(object) : cudaSuccess);
}

int cudaGetSurfaceObjectResourceDesc(struct resource *resource, uint64_t object)
{
    BEGIN;
    struct cu_resource driver;
    int result = cuSurfObjectGetResourceDesc(&driver, object);
    if (!result)
        from_driver(&driver, resource);
    return rt_last(result);
}
