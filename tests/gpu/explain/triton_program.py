# A Triton program that copies through host-made tensor descriptors, two of them spoiled after Triton has checked them.
# Triton raises "invalid argument" for those and says no more.
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def copy(source, target, BLOCK: tl.constexpr):
    row, column = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    target.store([row, column], source.load([row, column]))


def run(what, spoil):
    source = torch.arange(128 * 256, device="cuda").reshape(128, 256).to(torch.bfloat16)
    target = torch.zeros_like(source)
    descriptor = TensorDescriptor.from_tensor(source, [64, 64])
    spoil(descriptor, source)
    try:
        copy[(2, 4)](descriptor, TensorDescriptor.from_tensor(target, [64, 64]), BLOCK=64)
        torch.cuda.synchronize()
        print("accepted", bool(torch.equal(source, target)))
    except RuntimeError as error:
        print("refused", what)
        print(type(error).__name__, error)


def stride(descriptor, source):
    descriptor.strides = [260, 1]  # 520 bytes


def base(descriptor, source):
    descriptor.base = source.view(-1)[4:]  # 8 bytes past a multiple of 16


run("-", lambda descriptor, source: None)
run("TMA-STR16", stride)
run("TMA-ADDR16", base)
run("-", lambda descriptor, source: None)
