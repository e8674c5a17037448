/* What both ways to a tensor map from Python do, by ctypes (library.c) and by the extension (maps.c): from a tensor
 * that DLPack describes, and a map's words, to 128 bytes. Each returns 0, or 1 with a sentence in `text`. */
#ifndef TW_PYTHON_TENSOR_MAP_H
#define TW_PYTHON_TENSOR_MAP_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tensormap/tensormap.h"
#include "tensormap/tensorview.h"

enum { TEXT = 1024 }; /* bytes of `text` */

/* What a map adds to its tensor: boxes and steps in the tensor's order, outermost first, corners with W first. */
struct map_words {
    uint32_t func; /* enum tw_tensormap_func */
    uint32_t box[5], step[5];
    int32_t lower[3], upper[3];
    uint32_t channels, pixels, interleave, swizzle, l2, oob, mode, capability;
};

static int tell(char *text, const char *sentence)
{
    snprintf(text, TEXT, "%s", sentence);
    return 1;
}

/* From the pointer in a capsule of DLPack's. */
static inline int tensor_of(const void *managed, int versioned, struct tw_tensor *tensor, char *text)
{
    struct tw_error error;
    int status = versioned ? tw_tensor_from_dlpack_versioned(managed, tensor, &error)
                           : tw_tensor_from_dlpack(managed, tensor, &error);
    return status ? tell(text, error.text) : 0;
}

static inline int encode_map(const struct tw_tensor *tensor, const struct map_words *words, uint64_t map[16],
                             char *text)
{
    struct tw_tensor_box box = {
        .interleave = words->interleave, .swizzle = words->swizzle, .l2 = words->l2, .oob = words->oob};
    const int capability = (int)words->capability;
    struct tw_tensormap_call call;
    struct tw_error error;
    int status;
    memcpy(box.box, words->box, sizeof box.box);
    memcpy(box.step, words->step, sizeof box.step);
    if (tw_tensor_call(tensor, &box, &call, &error))
        return tell(text, error.text);
    if (words->func != TW_TENSORMAP_TILED) {
        call.func = (enum tw_tensormap_func)words->func;
        call.mode = words->mode;
        memset(call.box, 0, sizeof call.box);
        memcpy(call.lower, words->lower, sizeof call.lower);
        memcpy(call.upper, words->upper, sizeof call.upper);
        call.channels = words->channels;
        call.pixels = words->pixels;
    }
    status = tw_tensormap_encode(&call, capability, map);
    if (status == TW_ERROR_INVALID) {
        (void)tw_tensor_refuse(tensor, &call, capability, &error);
        return tell(text, error.text);
    }
    return status ? tell(text, "such maps of this compute capability are not known here") : 0;
}

static inline int replace_address(uint64_t map[16], uint64_t address, char *text)
{
    if (tw_tensormap_replace_address(map, address) == TW_OK)
        return 0;
    return tell(text, "the address is no multiple of 16 bytes, or none of a device");
}

#endif
