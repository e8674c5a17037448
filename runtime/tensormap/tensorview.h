// Tensors of a framework, and tensor maps of them: pointer, shape, strides, element type and device in one struct,
// filled by hand or from DLPack; from it the arguments of an encode call, with the checks that the encoder cannot make.
//
// Nothing here needs a GPU, a driver or memory of its own. All functions are thread-safe: they touch their arguments
// and nothing else. Errors are statuses of status.h with a sentence in struct tw_error: which argument, its value, what
// would do.
//
// Sources: [DLPack] dlpack.h 1.1 and its C ABI; [cuda.h] the comments above cuTensorMapEncodeTiled, CUDA 13.0.
#ifndef TW_TENSORVIEW_H
#define TW_TENSORVIEW_H

#include <stdint.h>

#include "dtype.h"
#include "status.h"
#include "tensormap.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TW_TENSOR_RANK = 8 }; // most dimensions that a tensor may have here; a map has 5

// DLDeviceType of dlpack.h: memory that a kernel can reach.
enum { TW_DEVICE_CUDA = 2, TW_DEVICE_CUDA_HOST = 3, TW_DEVICE_CUDA_MANAGED = 13 };

// A strided tensor. Dimensions are in the framework's order, the outermost first.
struct tw_tensor {
    uint64_t address;                // of element (0, 0, ...)
    enum tw_dtype dtype;
    unsigned rank;                   // 0 to TW_TENSOR_RANK; 0: one element
    int64_t shape[TW_TENSOR_RANK];   // elements
    int64_t stride[TW_TENSOR_RANK];  // elements from one index to the next
    int device_type;                 // TW_DEVICE_CUDA, ...
    int device;                      // ordinal of the driver's
    void *context;                   // CUcontext, or NULL: not known, as DLPack, which has none, leaves it
    int read_only;                   // DLPack's flag: a map of it must not be stored through
};

// Row-major strides for rank and shape. TW_ERROR_INVALID where an extent is negative or the product overflows.
int tw_tensor_dense(struct tw_tensor *tensor, struct tw_error *error);

// From DLPack: the pointer in a capsule named "dltensor_versioned" (DLManagedTensorVersioned, major version 1), or in
// one named "dltensor" (DLManagedTensor, older producers). Nothing is consumed: the capsule stays the caller's, who
// keeps it alive as long as the address is used. Strides that are NULL mean row-major; from version 1.2 on they are
// refused, as the standard does. byte_offset is added to the address. The small floating-point types without a
// row in dtypes.def are carried as uint8 where they fill whole bytes: fp8 in all its kinds, fp4 in twos.
// TW_ERROR_UNSUPPORTED: another major version, another dtype without a row, other lanes than 1; TW_ERROR_INVALID: more
// dimensions than TW_TENSOR_RANK, memory that no kernel reaches, a shape that is none.
int tw_tensor_from_dlpack_versioned(const void *managed, struct tw_tensor *tensor, struct tw_error *error);
int tw_tensor_from_dlpack(const void *managed, struct tw_tensor *tensor, struct tw_error *error);

// What a map adds to its tensor. Zeroed: no swizzle, no interleave, no promotion, zero fill, the tensor's own dtype.
struct tw_tensor_box {
    uint32_t box[5];        // [rank] elements, in the tensor's order: the outermost first
    uint32_t step[5];       // [rank] elements from one that is loaded to the next; 0 stands for 1
    uint32_t interleave, swizzle, l2, oob; // values of cuda.h
    int override;           // 1: the map has map_dtype
    uint32_t map_dtype;     // CUtensorMapDataType instead of the tensor's own (int8 data as UINT8, fp32 as TFLOAT32);
                            // its elements must have the same size
};

// The encode call of a tiled map: dimensions turned innermost first, strides in bytes. A dimension of extent 1 may have
// any stride: it gets one that is always valid. TW_ERROR_INVALID: rank 0 or past 5, an empty extent, an innermost
// stride other than 1 (the message names the dimension whose stride is 1, if one has), a negative stride, a dtype
// without a map, an override of another size. The rules of the encoder itself are tw_tensormap_check's: an accepted
// tensor may still be refused there.
int tw_tensor_call(const struct tw_tensor *tensor, const struct tw_tensor_box *box, struct tw_tensormap_call *call,
                   struct tw_error *error);

// A map that knows where it may be used.
struct tw_tensor_map {
    uint64_t word[16] __attribute__((aligned(64))); // the driver's 128 opaque bytes
    struct tw_tensormap_call call;                  // that made it
    enum tw_dtype dtype;                            // of the tensor
    int device_type, device;
    void *context;
    int read_only;
};

// Why tw_tensormap_encode does not take a call that tw_tensor_call made of the tensor, changed or not:
// TW_ERROR_INVALID, with the first broken rule and its fix in the call's words behind the tensor's.
int tw_tensor_refuse(const struct tw_tensor *tensor, const struct tw_tensormap_call *call, int cc,
                     struct tw_error *error);

// Call, check and encode for compute capability cc in one. TW_ERROR_INVALID with the first broken rule and its fix, in
// the call's words behind the tensor's; TW_ERROR_UNSUPPORTED as tw_tensormap_encode. The map of a failure holds
// nothing, and tw_tensor_map_check says so. Warnings, what the documentation forbids and the driver takes, are for
// those who ask: tw_tensormap_check(&map->call, cc, &verdict).
int tw_tensor_encode(const struct tw_tensor *tensor, const struct tw_tensor_box *box, int cc, struct tw_tensor_map *map,
                     struct tw_error *error);

// Whether a kernel on that device and context (NULL: any) may use the map; store: it writes through it.
// TW_ERROR_INVALID says what the map belongs to.
int tw_tensor_map_check(const struct tw_tensor_map *map, int device, const void *context, int store,
                        struct tw_error *error);

// The same map for another tensor of the same shape, strides and dtype, on the same device and, where both are known,
// in the same context: it gets the tensor's address, context and read-only flag. TW_ERROR_INVALID where one of them
// differs; the map is then as it was.
int tw_tensor_map_replace(struct tw_tensor_map *map, const struct tw_tensor *tensor, struct tw_error *error);

#ifdef __cplusplus
}
#endif

#endif
