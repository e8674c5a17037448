// Tensors and DLPack: what becomes of shapes and strides, what is refused, and in which words.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tensormap/tensorview.h"

// dlpack.h's structs by offset, as a producer lays them out on a 64-bit machine: the reader's own must agree.
enum { DATA = 0, DEVICE_TYPE = 8, DEVICE_ID = 12, NDIM = 16, CODE = 20, BITS = 21, LANES = 22, SHAPE = 24, STRIDES = 32,
       BYTE_OFFSET = 40, UNVERSIONED = 0, VERSIONED = 32 };

struct capsule {
    _Alignas(8) unsigned char bytes[96];
    int64_t shape[8], strides[8];
};

static void put(struct capsule *c, size_t at, const void *value, size_t bytes)
{
    memcpy(c->bytes + at, value, bytes);
}

static void put32(struct capsule *c, size_t at, int32_t value)
{
    put(c, at, &value, 4);
}

static void put64(struct capsule *c, size_t at, uint64_t value)
{
    put(c, at, &value, 8);
}

static void put_pointer(struct capsule *c, size_t at, const void *value)
{
    put(c, at, &value, sizeof value);
}

// bf16 [3, 5, 64] with rows padded to 72 on device 2, at 0x7f0000000000 + 256.
static void fill(struct capsule *c, size_t tensor)
{
    static const uint16_t lanes = 1;
    memset(c, 0, sizeof *c);
    put64(c, tensor + DATA, UINT64_C(0x7f0000000000));
    put32(c, tensor + DEVICE_TYPE, TW_DEVICE_CUDA);
    put32(c, tensor + DEVICE_ID, 2);
    put32(c, tensor + NDIM, 3);
    c->bytes[tensor + CODE] = 4;
    c->bytes[tensor + BITS] = 16;
    put(c, tensor + LANES, &lanes, 2);
    memcpy(c->shape, (int64_t[]){3, 5, 64}, 3 * sizeof(int64_t));
    memcpy(c->strides, (int64_t[]){5 * 72, 72, 1}, 3 * sizeof(int64_t));
    put_pointer(c, tensor + SHAPE, c->shape);
    put_pointer(c, tensor + STRIDES, c->strides);
    put64(c, tensor + BYTE_OFFSET, 256);
    if (tensor == VERSIONED) {
        put32(c, 0, 1);
        put32(c, 4, 1);
    }
}

static void assert_text(const struct tw_error *error, const char *part)
{
    if (!strstr(error->text, part))
        fail_msg("'%s' is not in '%s'", part, error->text);
}

static int from(const struct capsule *c, size_t tensor, struct tw_tensor *t, struct tw_error *error)
{
    return tensor == VERSIONED ? tw_tensor_from_dlpack_versioned(c->bytes, t, error)
                               : tw_tensor_from_dlpack(c->bytes, t, error);
}

static void test_dlpack(void **state)
{
    (void)state;
    for (int n = 0; n < 2; n++) {
        size_t at = n ? VERSIONED : UNVERSIONED;
        struct capsule c;
        struct tw_tensor t;
        struct tw_error error;
        fill(&c, at);
        assert_int_equal(from(&c, at, &t, &error), TW_OK);
        assert_true(t.address == UINT64_C(0x7f0000000100) && t.dtype == TW_BF16 && t.rank == 3);
        assert_true(t.shape[0] == 3 && t.shape[2] == 64 && t.stride[0] == 360 && t.stride[1] == 72 && t.stride[2] == 1);
        assert_true(t.device_type == TW_DEVICE_CUDA && t.device == 2 && !t.read_only && !t.context);

        put_pointer(&c, at + STRIDES, NULL); // row-major
        assert_int_equal(from(&c, at, &t, &error), TW_OK);
        assert_true(t.stride[0] == 320 && t.stride[1] == 64 && t.stride[2] == 1);
        put32(&c, at + NDIM, 0);
        put_pointer(&c, at + SHAPE, NULL);
        assert_int_equal(from(&c, at, &t, &error), TW_OK);
        assert_int_equal(t.rank, 0);

        fill(&c, at);
        put32(&c, at + NDIM, 9);
        assert_int_equal(from(&c, at, &t, &error), TW_ERROR_INVALID);
        assert_text(&error, "9 dimensions");
        put32(&c, at + NDIM, -1);
        assert_int_equal(from(&c, at, &t, &error), TW_ERROR_INVALID);
        fill(&c, at);
        c.bytes[at + LANES] = 4;
        assert_int_equal(from(&c, at, &t, &error), TW_ERROR_UNSUPPORTED);
        assert_text(&error, "4 lanes");
        fill(&c, at);
        c.bytes[at + BITS] = 4;
        assert_int_equal(from(&c, at, &t, &error), TW_ERROR_UNSUPPORTED);
        fill(&c, at);
        put32(&c, at + DEVICE_TYPE, 1);
        assert_int_equal(from(&c, at, &t, &error), TW_ERROR_INVALID);
        assert_text(&error, "no kernel reaches");
        fill(&c, at);
        c.shape[1] = -5;
        assert_int_equal(from(&c, at, &t, &error), TW_ERROR_INVALID);
        assert_text(&error, "shape[1] is -5");
        fill(&c, at);
        put_pointer(&c, at + SHAPE, NULL);
        assert_int_equal(from(&c, at, &t, &error), TW_ERROR_INVALID);
        assert_int_equal(from(&c, at, &t, NULL), TW_ERROR_INVALID);
    }
    struct tw_tensor t;
    struct tw_error error;
    assert_int_equal(tw_tensor_from_dlpack(NULL, &t, &error), TW_ERROR_INVALID);
    assert_int_equal(tw_tensor_from_dlpack_versioned(NULL, &t, &error), TW_ERROR_INVALID);
}

static void test_dlpack_versions(void **state)
{
    (void)state;
    struct capsule c;
    struct tw_tensor t;
    struct tw_error error;
    fill(&c, VERSIONED);
    put64(&c, 24, 1); // flags
    assert_int_equal(from(&c, VERSIONED, &t, &error), TW_OK);
    assert_true(t.read_only);
    put_pointer(&c, VERSIONED + STRIDES, NULL);
    put32(&c, 4, 2);
    assert_int_equal(from(&c, VERSIONED, &t, &error), TW_ERROR_INVALID);
    assert_text(&error, "no strides");
    fill(&c, VERSIONED);
    put32(&c, 0, 2);
    assert_int_equal(from(&c, VERSIONED, &t, &error), TW_ERROR_UNSUPPORTED);
    assert_text(&error, "version 2.1");
}

// Every type of the table comes back from its own code and width, tf32 as fp32.
static void test_dlpack_types(void **state)
{
    (void)state;
    for (int i = 0; i < TW_DTYPE_COUNT; i++) {
        const struct tw_dtype_info *info = tw_dtype_info((enum tw_dtype)i);
        struct capsule c;
        struct tw_tensor t;
        fill(&c, UNVERSIONED);
        c.bytes[CODE] = (unsigned char)info->dlpack_code;
        c.bytes[BITS] = (unsigned char)info->bits;
        assert_int_equal(from(&c, UNVERSIONED, &t, NULL), TW_OK);
        assert_int_equal(t.dtype, i == TW_TF32 ? TW_FP32 : i);
    }
    static const struct {
        unsigned char code, bits;
        uint16_t lanes;
        int dtype; // -1: refused
    } small[] = {{7, 8, 1, TW_UINT8},  {10, 8, 1, TW_FP8_E4M3}, {13, 8, 1, TW_UINT8}, {14, 8, 1, TW_UINT8},
                 {17, 4, 2, TW_UINT8}, {17, 4, 1, -1},          {15, 6, 1, -1},       {0, 4, 2, -1},
                 {10, 8, 4, -1},       {4, 16, 2, -1}};
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        struct capsule c;
        struct tw_tensor t;
        fill(&c, UNVERSIONED);
        c.bytes[CODE] = small[i].code;
        c.bytes[BITS] = small[i].bits;
        put(&c, LANES, &small[i].lanes, 2);
        assert_int_equal(from(&c, UNVERSIONED, &t, NULL), small[i].dtype < 0 ? TW_ERROR_UNSUPPORTED : TW_OK);
        if (small[i].dtype >= 0)
            assert_int_equal(t.dtype, small[i].dtype);
    }
}

static struct tw_tensor matrix(int64_t rows, int64_t columns, enum tw_dtype dtype)
{
    struct tw_tensor t = {.address = UINT64_C(0x7f0000000000), .dtype = dtype, .rank = 2, .shape = {rows, columns},
                          .device_type = TW_DEVICE_CUDA};
    assert_int_equal(tw_tensor_dense(&t, NULL), TW_OK);
    return t;
}

static void test_calls(void **state)
{
    (void)state;
    struct tw_tensormap_call call;
    struct tw_error error;
    struct tw_tensor t = matrix(100, 64, TW_BF16);
    struct tw_tensor_box box = {.box = {32, 64}, .swizzle = 3, .l2 = 2};
    assert_int_equal(tw_tensor_call(&t, &box, &call, &error), TW_OK);
    assert_true(call.dtype == 9 && call.rank == 2 && call.dim[0] == 64 && call.dim[1] == 100 && call.stride[0] == 128);
    assert_true(call.box[0] == 64 && call.box[1] == 32 && call.estride[0] == 1 && call.swizzle == 3 && call.l2 == 2);
    assert_int_equal(tw_tensormap_check(&call, 90, NULL), TW_OK);

    // A dimension of one index: whatever its stride is, the map's is valid.
    t = (struct tw_tensor){.address = 4096, .dtype = TW_BF16, .rank = 4, .shape = {1, 7, 1, 20},
                           .stride = {3, 24, -9, 1}};
    box = (struct tw_tensor_box){.box = {1, 7, 1, 16}};
    assert_int_equal(tw_tensor_call(&t, &box, &call, &error), TW_OK);
    assert_true(call.dim[0] == 20 && call.dim[1] == 1 && call.dim[2] == 7 && call.dim[3] == 1);
    assert_true(call.stride[0] == 64 && call.stride[1] == 48 && call.stride[2] == 352);
    assert_int_equal(tw_tensormap_check(&call, 90, NULL), TW_OK);
    t.shape[3] = 1, t.stride[3] = 77; // the innermost one too
    box.box[3] = 8;
    assert_int_equal(tw_tensor_call(&t, &box, &call, &error), TW_OK);

    t = matrix(64, 128, TW_FP16);
    t.stride[0] = 1, t.stride[1] = 64; // a transposed view
    assert_int_equal(tw_tensor_call(&t, &box, &call, &error), TW_ERROR_INVALID);
    assert_text(&error, "dimension 0 has it");
    t.stride[0] = 3;
    assert_int_equal(tw_tensor_call(&t, &box, &call, &error), TW_ERROR_INVALID);
    assert_text(&error, "contiguous along it");
    t = matrix(64, 128, TW_FP16);
    t.stride[0] = -128;
    assert_int_equal(tw_tensor_call(&t, &box, &call, &error), TW_ERROR_INVALID);
    assert_text(&error, "stride[0] is -128");
    t = matrix(0, 128, TW_FP16);
    assert_int_equal(tw_tensor_call(&t, &box, &call, &error), TW_ERROR_INVALID);
    assert_text(&error, "empty tensor");
    t.rank = 0;
    assert_int_equal(tw_tensor_call(&t, &box, &call, &error), TW_ERROR_INVALID);
    t.rank = 6;
    assert_int_equal(tw_tensor_call(&t, &box, &call, &error), TW_ERROR_INVALID);
    assert_text(&error, "6 dimensions");
    t = (struct tw_tensor){.rank = 3, .shape = {INT64_MAX, INT64_MAX, 2}};
    assert_int_equal(tw_tensor_dense(&t, &error), TW_ERROR_INVALID);
}

static void test_types(void **state)
{
    (void)state;
    static const struct {
        enum tw_dtype dtype;
        uint32_t map;
    } inferred[] = {{TW_INT8, 0},   {TW_BOOL, 0},  {TW_FP8_E4M3, 0}, {TW_FP8_E5M2, 0}, {TW_INT16, 1},
                    {TW_UINT32, 2}, {TW_INT32, 3}, {TW_UINT64, 4},   {TW_INT64, 5},    {TW_FP16, 6},
                    {TW_FP32, 7},   {TW_FP64, 8},  {TW_BF16, 9}};
    struct tw_tensormap_call call;
    struct tw_error error;
    struct tw_tensor_box box = {.box = {8, 16}};
    for (size_t i = 0; i < sizeof inferred / sizeof *inferred; i++) {
        struct tw_tensor t = matrix(32, 64, inferred[i].dtype);
        assert_int_equal(tw_tensor_call(&t, &box, &call, &error), TW_OK);
        assert_int_equal(call.dtype, inferred[i].map);
    }
    struct tw_tensor t = matrix(32, 64, TW_FP32);
    box.override = 1;
    box.map_dtype = 11; // TFLOAT32
    assert_int_equal(tw_tensor_call(&t, &box, &call, &error), TW_OK);
    assert_int_equal(call.dtype, 11);
    box.map_dtype = 9;
    assert_int_equal(tw_tensor_call(&t, &box, &call, &error), TW_ERROR_INVALID);
    assert_text(&error, "keeps the size");
    box.map_dtype = 99;
    assert_int_equal(tw_tensor_call(&t, &box, &call, &error), TW_ERROR_INVALID);
}

static void test_maps(void **state)
{
    (void)state;
    struct tw_error error;
    struct tw_tensor_map map, before;
    struct tw_tensor t = matrix(128, 64, TW_BF16), other;
    struct tw_tensor_box box = {.box = {32, 64}, .swizzle = 3};
    int contexts[2];
    uint64_t word[16];
    t.context = &contexts[0];
    t.device = 1;
    assert_int_equal(tw_tensor_encode(&t, &box, 90, &map, &error), TW_OK);
    assert_int_equal(tw_tensormap_encode(&map.call, 90, word), TW_OK);
    assert_memory_equal(map.word, word, sizeof word);
    assert_int_equal((uintptr_t)map.word % 64, 0);
    assert_int_equal(tw_tensor_map_check(&map, 1, &contexts[0], 1, &error), TW_OK);
    assert_int_equal(tw_tensor_map_check(&map, 1, NULL, 1, &error), TW_OK);
    assert_int_equal(tw_tensor_map_check(&map, 0, &contexts[0], 0, &error), TW_ERROR_INVALID);
    assert_text(&error, "device 1");
    assert_int_equal(tw_tensor_map_check(&map, 1, &contexts[1], 0, &error), TW_ERROR_INVALID);
    assert_text(&error, "context");

    other = t;
    other.address += 4096;
    assert_int_equal(tw_tensor_map_replace(&map, &other, &error), TW_OK);
    assert_true(map.word[0] == other.address && map.call.addr == other.address);
    before = map;
    other.address += 8;
    assert_int_equal(tw_tensor_map_replace(&map, &other, &error), TW_ERROR_INVALID);
    other = t, other.device = 0;
    assert_int_equal(tw_tensor_map_replace(&map, &other, &error), TW_ERROR_INVALID);
    other = t, other.stride[0] = 72;
    assert_int_equal(tw_tensor_map_replace(&map, &other, &error), TW_ERROR_INVALID);
    assert_text(&error, "dimension 0");
    other = t, other.dtype = TW_FP16;
    assert_int_equal(tw_tensor_map_replace(&map, &other, &error), TW_ERROR_INVALID);
    other = matrix(64, 64, TW_BF16);
    assert_int_equal(tw_tensor_map_replace(&map, &other, &error), TW_ERROR_INVALID);
    assert_memory_equal(&map, &before, sizeof map);

    t.read_only = 1;
    assert_int_equal(tw_tensor_encode(&t, &box, 90, &map, &error), TW_OK);
    assert_int_equal(tw_tensor_map_check(&map, 1, NULL, 0, &error), TW_OK);
    assert_int_equal(tw_tensor_map_check(&map, 1, NULL, 1, &error), TW_ERROR_INVALID);
    assert_text(&error, "read-only");

    t = matrix(128, 100, TW_BF16); // rows of 200 bytes
    assert_int_equal(tw_tensor_encode(&t, &box, 90, &map, &error), TW_ERROR_INVALID);
    assert_text(&error, "dimension 0 of the tensor, stride 100 elements: stride[0] is 200 bytes");
    assert_text(&error, "TMA-STR16");
    assert_int_equal(tw_tensor_map_check(&map, 0, NULL, 0, &error), TW_ERROR_INVALID); // it holds nothing
    assert_int_equal(tw_tensor_map_replace(&map, &t, &error), TW_ERROR_INVALID);
    t = matrix(128, 128, TW_BF16);
    box.box[1] = 128;
    assert_int_equal(tw_tensor_encode(&t, &box, 90, &map, &error), TW_ERROR_INVALID);
    assert_text(&error, "dimension 1 of the tensor: box[0] is 128");
}

// Another tensor's memory, device and context are the map's from then on, or it is refused.
static void test_replaced_owner(void **state)
{
    (void)state;
    struct tw_error error;
    struct tw_tensor_map map;
    struct tw_tensor_box box = {.box = {32, 64}};
    struct tw_tensor t = matrix(128, 64, TW_BF16), other;
    int contexts[2];
    t.device_type = TW_DEVICE_CUDA_HOST;
    assert_int_equal(tw_tensor_encode(&t, &box, 90, &map, &error), TW_OK);
    other = t, other.device_type = TW_DEVICE_CUDA, other.device = 3;
    assert_int_equal(tw_tensor_map_replace(&map, &other, &error), TW_ERROR_INVALID);
    assert_text(&error, "encode anew");
    other = t, other.device_type = TW_DEVICE_CUDA_MANAGED;
    assert_int_equal(tw_tensor_map_replace(&map, &other, &error), TW_ERROR_INVALID);
    other = t, other.context = &contexts[0], other.read_only = 1;
    assert_int_equal(tw_tensor_map_replace(&map, &other, &error), TW_OK);
    assert_true(map.context == &contexts[0] && map.read_only);
    assert_int_equal(tw_tensor_map_check(&map, 0, &contexts[1], 0, &error), TW_ERROR_INVALID);
    other.context = &contexts[1];
    assert_int_equal(tw_tensor_map_replace(&map, &other, &error), TW_ERROR_INVALID);
    assert_text(&error, "another CUDA context");
    other.context = &contexts[0], other.read_only = 0;
    assert_int_equal(tw_tensor_map_replace(&map, &other, &error), TW_OK);
    assert_int_equal(tw_tensor_map_check(&map, 0, &contexts[0], 1, &error), TW_OK);
}

// Structs that nobody filled.
static void test_odd_structs(void **state)
{
    (void)state;
    static const int dtypes[] = {TW_DTYPE_COUNT, 1000, -1};
    struct tw_error error;
    struct tw_tensormap_call call;
    struct tw_tensor_box box = {.box = {32, 64}};
    struct tw_tensor t = matrix(128, 64, TW_BF16);
    struct tw_tensor_map map;
    assert_int_equal(tw_tensor_encode(&t, &box, 90, &map, &error), TW_OK);
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        t.dtype = (enum tw_dtype)dtypes[i];
        assert_int_equal(tw_tensor_call(&t, &box, &call, &error), TW_ERROR_INVALID);
        assert_text(&error, "no tw_dtype");
        assert_int_equal(tw_tensor_map_replace(&map, &t, &error), TW_ERROR_INVALID);
    }
    t = matrix(128, 64, TW_BF16);
    t.rank = TW_TENSOR_RANK + 1;
    assert_int_equal(tw_tensor_dense(&t, &error), TW_ERROR_INVALID);
    t.rank = UINT32_MAX;
    assert_int_equal(tw_tensor_dense(&t, &error), TW_ERROR_INVALID);
    assert_int_equal(tw_tensor_call(&t, &box, &call, &error), TW_ERROR_INVALID);
    t.rank = map.call.rank = 77;
    assert_int_equal(tw_tensor_map_replace(&map, &t, &error), TW_ERROR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dlpack), cmocka_unit_test(test_dlpack_versions), cmocka_unit_test(test_dlpack_types),
        cmocka_unit_test(test_calls),  cmocka_unit_test(test_types),           cmocka_unit_test(test_maps),
        cmocka_unit_test(test_replaced_owner), cmocka_unit_test(test_odd_structs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
