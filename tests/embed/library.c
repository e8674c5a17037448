/* The tensor-map library by itself, as somebody uses it who uses nothing else here: C11 and C++11, with tensormap.h and
 * tensorview.h alone. tests/unit/runtime/test_library.c compiles it both ways. Says what is wrong, and exits with 1. */
#include "tensormap/tensormap.h"
#include "tensormap/tensorview.h"

#include <stdio.h>
#include <string.h>

#define EXPECT(condition)                                                        \
    do {                                                                         \
        if (!(condition)) {                                                      \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);      \
            return 1;                                                            \
        }                                                                        \
    } while (0)

static int calls(void)
{
    struct tw_tensormap_call call, nearest, back;
    struct tw_tensormap_verdict verdict;
    struct tw_tensormap_extra extra;
    uint64_t map[16];
    char text[TW_TENSORMAP_MESSAGE];
    memset(&call, 0, sizeof call);
    call.func = TW_TENSORMAP_TILED;
    call.dtype = (uint32_t)tw_dtype_info(TW_BF16)->tensormap;
    call.rank = 2;
    call.addr = 0x7f0000000000;
    call.dim[0] = 100;
    call.dim[1] = 64;
    call.stride[0] = 200;
    call.box[0] = call.box[1] = 64;
    call.estride[0] = call.estride[1] = 1;
    call.swizzle = 3;
    EXPECT(tw_tensormap_check(&call, 90, &verdict) == TW_ERROR_INVALID && verdict.refused == 1);
    EXPECT(strcmp(tw_tensormap_rule_name(verdict.finding[0].rule), "TMA-STR16") == 0);
    EXPECT(strcmp(tw_tensormap_message(&call, 90, &verdict.finding[0], text, sizeof text),
                  "stride[0] is 200 bytes, no multiple of 16; pad the rows to a stride of 208") == 0);
    EXPECT(tw_tensormap_encode(&call, 90, map) == TW_ERROR_INVALID);
    EXPECT(tw_tensormap_nearest(&call, 90, &nearest) == TW_OK && nearest.stride[0] == 208);
    EXPECT(tw_tensormap_encode(&nearest, 90, map) == TW_OK && map[0] == nearest.addr);
    EXPECT(tw_tensormap_replace_address(map, 0x7f0000001000) == TW_OK);
    EXPECT(tw_tensormap_replace_address(map, 8) == TW_ERROR_INVALID);
    EXPECT(tw_tensormap_decode(map, &back, &extra) == TW_OK && back.addr == 0x7f0000001000 && back.dim[0] == 100);
    EXPECT(extra.smem_bytes == 64 * 64 * 2 && extra.smem_align == 1024);
    EXPECT(strcmp(tw_tensormap_format(&back, text, sizeof text),
                  "f=tiled dtype=BFLOAT16 addr=0x7f0000001000 dim=100,64 stride=208 box=64,64 swizzle=128B") == 0);
    map[1] |= 1u << 21;
    EXPECT(tw_tensormap_work_around(map, 100, 13010) == 1u << TW_TENSORMAP_WORKAROUND_BIT_85);
    EXPECT(tw_tensormap_decode(map, &back, NULL) == TW_OK);
    EXPECT(strlen(tw_tensormap_workaround_text(TW_TENSORMAP_WORKAROUND_BIT_85)) > 20);
    EXPECT(strcmp(tw_status_name(TW_ERROR_INVALID), "TW_ERROR_INVALID") == 0);
    return 0;
}

static int tensors(void)
{
    struct tw_tensor tensor;
    struct tw_tensor_box box;
    struct tw_tensor_map map;
    struct tw_error error;
    memset(&tensor, 0, sizeof tensor);
    memset(&box, 0, sizeof box);
    tensor.address = 0x7f0000000000;
    tensor.dtype = TW_FP16;
    tensor.rank = 2;
    tensor.shape[0] = 512;
    tensor.shape[1] = 500;
    tensor.device_type = TW_DEVICE_CUDA;
    EXPECT(tw_tensor_dense(&tensor, &error) == TW_OK && tensor.stride[0] == 500 && tensor.stride[1] == 1);
    box.box[0] = box.box[1] = 64;
    box.swizzle = 3;
    EXPECT(tw_tensor_encode(&tensor, &box, 90, &map, &error) == TW_ERROR_INVALID && strstr(error.text, "1008"));
    tensor.stride[0] = 504;
    EXPECT(tw_tensor_encode(&tensor, &box, 90, &map, &error) == TW_OK && (uintptr_t)&map.word % 64 == 0);
    EXPECT(tw_tensor_map_check(&map, 0, NULL, 1, &error) == TW_OK);
    EXPECT(tw_tensor_map_check(&map, 1, NULL, 1, &error) == TW_ERROR_INVALID && strstr(error.text, "device"));
    tensor.address += 4096;
    EXPECT(tw_tensor_map_replace(&map, &tensor, &error) == TW_OK && map.word[0] == tensor.address);
    return 0;
}

int main(void)
{
    return calls() || tensors();
}
