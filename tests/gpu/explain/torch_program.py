# A torch program that makes tensor maps of its tensors, two of them bad ones, through cuda.bindings and through ctypes.
# It prints what each call answers and what torch computes.
import ctypes

import torch
from cuda.bindings import driver

torch.manual_seed(0)
a = torch.randint(-4, 5, (100, 100), device="cuda").to(torch.bfloat16)
print("torch", torch.__version__, "product", float((a.float() @ a.float()).sum()))


def say(result, rule):
    print("accepted" if result == 0 else "refused " + rule)


def by_bindings(tensor, stride, box, rule):
    wide, narrow = driver.cuuint64_t, driver.cuuint32_t
    result = driver.cuTensorMapEncodeTiled(
        driver.CUtensorMapDataType.CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, tensor.data_ptr(),
        [wide(tensor.shape[1]), wide(tensor.shape[0])], [wide(stride)], [narrow(box), narrow(64)],
        [narrow(1), narrow(1)], driver.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
        driver.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_128B,
        driver.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_NONE,
        driver.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
    say(int(result[0]), rule)


def by_ctypes(tensor, swizzle, rule):
    room = (ctypes.c_uint64 * 32)()
    start = (ctypes.addressof(room) + 127) // 128 * 128
    result = ctypes.CDLL("libcuda.so.1").cuTensorMapEncodeTiled(
        ctypes.c_void_p(start), 9, 2, ctypes.c_void_p(tensor.data_ptr()),
        (ctypes.c_uint64 * 2)(tensor.shape[1], tensor.shape[0]), (ctypes.c_uint64 * 1)(tensor.stride(0) * 2),
        (ctypes.c_uint32 * 2)(64, 64), (ctypes.c_uint32 * 2)(1, 1), 0, swizzle, 0, 0)
    say(result, rule)


good = torch.zeros((64, 128), dtype=torch.bfloat16, device="cuda")
by_bindings(good, 256, 64, "-")
by_bindings(a, a.stride(0) * a.element_size(), 64, "TMA-STR16")  # rows of 200 bytes
by_bindings(good, 256, 128, "TMA-SPAN")
by_ctypes(good, 3, "-")
by_ctypes(good, 9, "TMA-SWZ")
by_ctypes(good[:, 1:], 3, "TMA-ADDR16")  # a view that begins at the second element
print("the end", float(good.sum()), torch.cuda.get_device_capability())
