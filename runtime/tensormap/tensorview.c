#include "tensorview.h"

#include <stdio.h>
#include <string.h>

#include "tensormap_args.h"

// The structs of dlpack.h; a C ABI that does not change within a major version.
struct dl_tensor {
    void *data;
    struct {
        int32_t type, id;
    } device;
    int32_t ndim;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    const int64_t *shape;
    const int64_t *strides;
    uint64_t byte_offset;
};

struct dl_managed {
    struct dl_tensor tensor;
    void *manager;
    void (*deleter)(struct dl_managed *);
};

struct dl_managed_versioned {
    struct {
        uint32_t major, minor;
    } version;
    void *manager;
    void (*deleter)(struct dl_managed_versioned *);
    uint64_t flags; // bit 0: read-only
    struct dl_tensor tensor;
};

// What memory that nobody filled, or a rank of another library's, would make of the loops here.
static int check_ranges(const struct tw_tensor *t, struct tw_error *error)
{
    if (t->rank > TW_TENSOR_RANK)
        return tw_fail(error, TW_ERROR_INVALID, "the tensor has %u dimensions, at most %d are known here; merge some",
                       t->rank, TW_TENSOR_RANK);
    if ((unsigned)t->dtype >= TW_DTYPE_COUNT)
        return tw_fail(error, TW_ERROR_INVALID, "the tensor's dtype is %d, which is no tw_dtype", (int)t->dtype);
    return TW_OK;
}

int tw_tensor_dense(struct tw_tensor *tensor, struct tw_error *error)
{
    int64_t step = 1;
    int status = check_ranges(tensor, error);
    if (status != TW_OK)
        return status;
    for (unsigned i = tensor->rank; i-- > 0;) {
        int64_t extent = tensor->shape[i];
        if (extent < 0)
            return tw_fail(error, TW_ERROR_INVALID, "shape[%u] is %lld, which is no extent; write 0 or more", i,
                           (long long)extent);
        tensor->stride[i] = step;
        if (extent > 1 && step > INT64_MAX / extent)
            return tw_fail(error, TW_ERROR_INVALID, "the shape has more than 2^63 elements from dimension %u on", i);
        step *= extent > 1 ? extent : 1;
    }
    return TW_OK;
}

// strict: strides must be given.
static int from_dl_tensor(const struct dl_tensor *from, int strict, struct tw_tensor *tensor, struct tw_error *error)
{
    memset(tensor, 0, sizeof *tensor);
    if (from->ndim < 0 || from->ndim > TW_TENSOR_RANK)
        return tw_fail(error, TW_ERROR_INVALID, "the tensor has %d dimensions, at most %d are known here; merge some",
                       (int)from->ndim, TW_TENSOR_RANK);
    // kDLFloat8_e3m4 to kDLFloat4_e2m1fn, in bytes, two fp4 to one: what has no name here is carried as its bytes.
    const int small = from->dtype.code >= 7 && from->dtype.code <= 17 && from->dtype.bits * from->dtype.lanes == 8;
    if (from->dtype.lanes != 1 && !small)
        return tw_fail(error, TW_ERROR_UNSUPPORTED,
                       "the tensor's elements are vectors of %u lanes; view it with 1 lane",
                       (unsigned)from->dtype.lanes);
    tensor->dtype = from->dtype.lanes == 1 ? tw_dtype_from_dlpack(from->dtype.code, from->dtype.bits) : TW_DTYPE_COUNT;
    if (tensor->dtype == TW_DTYPE_COUNT && small)
        tensor->dtype = TW_UINT8;
    if (tensor->dtype == TW_DTYPE_COUNT)
        return tw_fail(error, TW_ERROR_UNSUPPORTED,
                       "DLPack type code %u with %u bits is no element type here; view the tensor as uint of %u bits",
                       (unsigned)from->dtype.code, (unsigned)from->dtype.bits, (unsigned)from->dtype.bits);
    if (from->device.type != TW_DEVICE_CUDA && from->device.type != TW_DEVICE_CUDA_HOST &&
        from->device.type != TW_DEVICE_CUDA_MANAGED)
        return tw_fail(error, TW_ERROR_INVALID,
                       "the tensor is in memory of DLPack device type %d, which no kernel reaches; copy it to a GPU",
                       (int)from->device.type);
    tensor->rank = (unsigned)from->ndim;
    if (tensor->rank && !from->shape)
        return tw_fail(error, TW_ERROR_INVALID, "the tensor has %u dimensions and no shape", tensor->rank);
    if (tensor->rank && !from->strides && strict)
        return tw_fail(error, TW_ERROR_INVALID, "the tensor has no strides, which DLPack 1.2 and newer ask for");
    tensor->address = (uint64_t)(uintptr_t)from->data + from->byte_offset;
    tensor->device_type = (int)from->device.type;
    tensor->device = (int)from->device.id;
    for (unsigned i = 0; i < tensor->rank; i++) {
        tensor->shape[i] = from->shape[i];
        if (tensor->shape[i] < 0)
            return tw_fail(error, TW_ERROR_INVALID, "shape[%u] is %lld, which is no extent", i,
                           (long long)tensor->shape[i]);
        if (from->strides)
            tensor->stride[i] = from->strides[i];
    }
    return from->strides ? TW_OK : tw_tensor_dense(tensor, error);
}

int tw_tensor_from_dlpack_versioned(const void *managed, struct tw_tensor *tensor, struct tw_error *error)
{
    const struct dl_managed_versioned *from = managed;
    if (!from)
        return tw_fail(error, TW_ERROR_INVALID, "the capsule holds no tensor: it was consumed, or is none");
    if (from->version.major != 1)
        return tw_fail(error, TW_ERROR_UNSUPPORTED, "the tensor has DLPack version %u.%u; version 1 is known here",
                       (unsigned)from->version.major, (unsigned)from->version.minor);
    int status = from_dl_tensor(&from->tensor, from->version.minor >= 2, tensor, error);
    tensor->read_only = (int)(from->flags & 1);
    return status;
}

int tw_tensor_from_dlpack(const void *managed, struct tw_tensor *tensor, struct tw_error *error)
{
    const struct dl_managed *from = managed;
    if (!from)
        return tw_fail(error, TW_ERROR_INVALID, "the capsule holds no tensor: it was consumed, or is none");
    return from_dl_tensor(&from->tensor, 0, tensor, error);
}

// ---- maps

static int check_innermost(const struct tw_tensor *t, struct tw_error *error)
{
    unsigned last = t->rank - 1;
    if (t->shape[last] == 1 || t->stride[last] == 1)
        return TW_OK;
    for (unsigned i = 0; i < last; i++)
        if (t->stride[i] == 1 && t->shape[i] > 1)
            return tw_fail(
                error, TW_ERROR_INVALID,
                "stride[%u], of the last dimension, is %lld elements, and a map's innermost dimension has 1; "
                "dimension %u has it: pass the view with that dimension last, and its box too",
                last, (long long)t->stride[last], i);
    return tw_fail(
        error, TW_ERROR_INVALID,
        "stride[%u], of the last dimension, is %lld elements, and a map's innermost dimension has 1; make the "
        "tensor contiguous along it",
        last, (long long)t->stride[last]);
}

static int choose_dtype(const struct tw_tensor *t, const struct tw_tensor_box *box, uint32_t *dtype,
                        struct tw_error *error)
{
    const struct tw_dtype_info *info = tw_dtype_info(t->dtype);
    if (!box->override) {
        if (info->tensormap < 0)
            return tw_fail(error, TW_ERROR_INVALID,
                           "no tensor map holds %s; view the tensor as another type of %u bits", info->name,
                           info->bits);
        *dtype = (uint32_t)info->tensormap;
        return TW_OK;
    }
    const struct tmap_dtype *wanted = tw_tmap_dtype(box->map_dtype);
    if (!wanted)
        return tw_fail(error, TW_ERROR_INVALID, "map_dtype is %u, which is no CUtensorMapDataType", box->map_dtype);
    if (wanted->bits != info->bits)
        return tw_fail(
            error, TW_ERROR_INVALID,
            "map_dtype is %s, of %u bits, and the tensor's elements are %s, of %u; an override keeps the size",
            wanted->name, wanted->bits, info->name, info->bits);
    *dtype = box->map_dtype;
    return TW_OK;
}

int tw_tensor_call(const struct tw_tensor *tensor, const struct tw_tensor_box *box, struct tw_tensormap_call *call,
                   struct tw_error *error)
{
    const struct tw_tensor *t = tensor;
    memset(call, 0, sizeof *call);
    int ranges = check_ranges(t, error);
    if (ranges != TW_OK)
        return ranges;
    if (t->rank < 1 || t->rank > 5)
        return tw_fail(error, TW_ERROR_INVALID, "the tensor has %u dimensions, a tiled map has 1 to 5; %s", t->rank,
                       t->rank ? "merge some" : "view it as one of 1");
    uint64_t bytes = tw_dtype_bytes(t->dtype);
    call->func = TW_TENSORMAP_TILED;
    call->rank = t->rank;
    call->addr = t->address;
    call->interleave = box->interleave;
    call->swizzle = box->swizzle;
    call->l2 = box->l2;
    call->oob = box->oob;
    for (unsigned i = 0; i < t->rank; i++)
        if (t->shape[i] < 1)
            return tw_fail(error, TW_ERROR_INVALID, "shape[%u] is %lld; an empty tensor has no map: launch nothing", i,
                           (long long)t->shape[i]);
    int status = check_innermost(t, error);
    if (status == TW_OK)
        status = choose_dtype(t, box, &call->dtype, error);
    if (status != TW_OK)
        return status;
    for (unsigned i = 0; i < t->rank; i++) {
        unsigned from = t->rank - 1 - i; // the map's dimension i
        call->dim[i] = (uint64_t)t->shape[from];
        call->box[i] = box->box[from];
        call->estride[i] = box->step[from] ? box->step[from] : 1;
        if (i == 0)
            continue;
        if (t->shape[from] == 1) { // never stepped along: what dense rows would have, in whole 32 bytes
            uint64_t inside = i == 1 ? call->dim[0] * bytes : call->stride[i - 2] * call->dim[i - 1];
            call->stride[i - 1] = inside < TMAP_STRIDE_END / 2 ? (inside + 31) / 32 * 32 : 32;
            continue;
        }
        if (t->stride[from] < 0 || (uint64_t)t->stride[from] > UINT64_MAX / bytes)
            return tw_fail(error, TW_ERROR_INVALID,
                           "stride[%u] is %lld elements; a map's strides are 0 or more and below 2^%d bytes", from,
                           (long long)t->stride[from], TW_TENSORMAP_STRIDE_BITS);
        call->stride[i - 1] = (uint64_t)t->stride[from] * bytes;
    }
    return TW_OK;
}

// The tensor's words for what a finding is about: the call turns dimensions around and counts bytes.
static void in_tensor_terms(const struct tw_tensor *t, const struct tw_tensormap_finding *f, char *text, size_t size)
{
    const enum tmap_arg arg = tw_tmap_rule_arg(f->rule);
    const unsigned last = t->rank - 1;
    text[0] = 0;
    if (arg == TMAP_STRIDE && f->entry < last)
        snprintf(text, size, "dimension %u of the tensor, stride %lld elements: ", last - 1 - f->entry,
                 (long long)t->stride[last - 1 - f->entry]);
    else if ((arg == TMAP_DIM || arg == TMAP_BOX || arg == TMAP_ESTRIDE) && f->entry <= last)
        snprintf(text, size, "dimension %u of the tensor: ", last - f->entry);
}

int tw_tensor_refuse(const struct tw_tensor *tensor, const struct tw_tensormap_call *call, int cc,
                     struct tw_error *error)
{
    struct tw_tensormap_verdict verdict;
    char text[TW_TENSORMAP_MESSAGE], where[96];
    tw_tensormap_check(call, cc, &verdict);
    for (int i = 0; i < verdict.count; i++) {
        const struct tw_tensormap_finding *f = &verdict.finding[i];
        if (f->warning)
            continue;
        in_tensor_terms(tensor, f, where, sizeof where);
        return tw_fail(error, TW_ERROR_INVALID, "%s%s [%s]", where,
                       tw_tensormap_message(call, cc, f, text, sizeof text), tw_tensormap_rule_name(f->rule));
    }
    return tw_fail(error, TW_ERROR_INVALID, "the map is refused");
}

int tw_tensor_encode(const struct tw_tensor *tensor, const struct tw_tensor_box *box, int cc, struct tw_tensor_map *map,
                     struct tw_error *error)
{
    struct tw_tensormap_call call;
    memset(map, 0, sizeof *map);
    int status = tw_tensor_call(tensor, box, &call, error);
    if (status != TW_OK)
        return status;
    status = tw_tensormap_encode(&call, cc, map->word);
    if (status == TW_ERROR_INVALID)
        return tw_tensor_refuse(tensor, &call, cc, error);
    if (status != TW_OK)
        return tw_fail(error, status, "the bytes of such a map are not known on compute capability %d.%d", cc / 10,
                       cc % 10);
    map->call = call;
    map->dtype = tensor->dtype;
    map->device_type = tensor->device_type;
    map->device = tensor->device;
    map->context = tensor->context;
    map->read_only = tensor->read_only;
    return TW_OK;
}

int tw_tensor_map_check(const struct tw_tensor_map *map, int device, const void *context, int store,
                        struct tw_error *error)
{
    if (map->call.rank < 1 || map->call.rank > 5)
        return tw_fail(error, TW_ERROR_INVALID, "the map holds nothing; encode one");
    if (map->device_type == TW_DEVICE_CUDA && map->device != device)
        return tw_fail(error, TW_ERROR_INVALID,
                       "the map is of a tensor on device %d and the kernel runs on device %d; encode one there",
                       map->device, device);
    if (map->context && context && map->context != context)
        return tw_fail(error, TW_ERROR_INVALID,
                       "the map is of a tensor in another CUDA context than the kernel's; encode one there");
    if (store && map->read_only)
        return tw_fail(error, TW_ERROR_INVALID, "the map is of a read-only tensor, and the kernel stores through it");
    return TW_OK;
}

int tw_tensor_map_replace(struct tw_tensor_map *map, const struct tw_tensor *tensor, struct tw_error *error)
{
    struct tw_tensormap_call call;
    struct tw_tensor_box box = {.interleave = map->call.interleave, .swizzle = map->call.swizzle, .l2 = map->call.l2,
                                .oob = map->call.oob, .override = 1, .map_dtype = map->call.dtype};
    int status = tw_tensor_map_check(map, map->device, NULL, 0, error);
    if (status != TW_OK)
        return status;
    for (unsigned i = 0; i < map->call.rank; i++) {
        box.box[i] = map->call.box[map->call.rank - 1 - i];
        box.step[i] = map->call.estride[map->call.rank - 1 - i];
    }
    if (tensor->dtype != map->dtype || tensor->rank != map->call.rank)
        return tw_fail(error, TW_ERROR_INVALID,
                       "the tensor is %s of rank %u and the map's is %s of rank %u; encode anew",
                       tw_dtype_name(tensor->dtype), tensor->rank, tw_dtype_name(map->dtype), map->call.rank);
    status = tw_tensor_call(tensor, &box, &call, error);
    if (status != TW_OK)
        return status;
    for (unsigned i = 0; i < call.rank; i++)
        if (call.dim[i] != map->call.dim[i] || (i > 0 && call.stride[i - 1] != map->call.stride[i - 1]))
            return tw_fail(error, TW_ERROR_INVALID,
                           "dimension %u of the tensor has another extent or stride than the map's; encode anew",
                           call.rank - 1 - i);
    if (tensor->device_type != map->device_type || tensor->device != map->device)
        return tw_fail(
            error, TW_ERROR_INVALID,
            "the tensor is on device %d (DLPack type %d) and the map's is on device %d (type %d); encode anew",
            tensor->device, tensor->device_type, map->device, map->device_type);
    if (map->context && tensor->context && map->context != tensor->context)
        return tw_fail(error, TW_ERROR_INVALID, "the tensor is in another CUDA context than the map's; encode anew");
    if (tw_tensormap_replace_address(map->word, tensor->address) != TW_OK)
        return tw_fail(error, TW_ERROR_INVALID,
                       "the tensor's address is 0x%llx, no multiple of %d bytes below 2^%d; move its start",
                       (unsigned long long)tensor->address, map->call.interleave == 2 ? 32 : 16,
                       TW_TENSORMAP_ADDRESS_BITS);
    map->call.addr = tensor->address;
    map->context = tensor->context;
    map->read_only = tensor->read_only;
    return TW_OK;
}
