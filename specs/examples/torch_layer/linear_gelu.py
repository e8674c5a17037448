"""torch.nn.Linear and gelu as one kernel, for inference in bf16.

    layer = LinearGelu.from_linear(linear, "build/torch_layer/liblinear_gelu.so")
    y = layer(x)            # [..., in_features] to [..., out_features], on torch's current stream
"""

import torch

from kernel import Kernel


class LinearGelu(torch.nn.Module):
    _kernels = {}  # by device: a kernel is loaded into a device's context

    def __init__(self, weight, bias, path):
        super().__init__()
        self.register_buffer("weight", weight.detach().to(torch.bfloat16).contiguous())
        self.register_buffer("bias", bias.detach().to(torch.bfloat16).contiguous())
        self.path = path

    @classmethod
    def from_linear(cls, linear, path):
        return cls(linear.weight, linear.bias, path)

    def _kernel(self, device):
        if (self.path, device) not in self._kernels:
            with torch.cuda.device(device):
                torch.cuda.current_stream().synchronize()  # makes the device's context the current one
                self._kernels[self.path, device] = Kernel(self.path)
        return self._kernels[self.path, device]

    def forward(self, x):
        out, inside = self.weight.shape
        if x.dtype != torch.bfloat16 or not x.is_cuda or x.shape[-1] != inside:
            raise ValueError(f"a bf16 tensor [..., {inside}] on a GPU is wanted, not {x.dtype} {tuple(x.shape)}")
        if self.weight.device != x.device:
            raise ValueError(f"x is on {x.device}, the weights are on {self.weight.device}")
        rows = x.reshape(-1, inside)
        if rows.stride(-1) != 1:
            rows = rows.contiguous()
        y = torch.empty(rows.shape[0], out, dtype=x.dtype, device=x.device)
        with torch.cuda.device(x.device):
            stream = torch.cuda.current_stream().cuda_stream
            self._kernel(x.device).run(
                rows.data_ptr(), rows.stride(0), self.weight.data_ptr(), self.bias.data_ptr(), y.data_ptr(), out,
                rows.shape[0], out, inside, stream)
        return y.reshape(*x.shape[:-1], out)


def main(path):
    """Compares with torch's own."""
    torch.manual_seed(0)
    linear = torch.nn.Linear(1024, 4096, dtype=torch.bfloat16, device="cuda")
    layer = LinearGelu.from_linear(linear, path)
    for rows in 1, 77, 512:
        x = torch.randn(rows, 1024, dtype=torch.bfloat16, device="cuda")
        want = torch.nn.functional.linear(x.double(), linear.weight.double(), linear.bias.double())
        want = torch.nn.functional.gelu(want)
        error = (layer(x).double() - want).norm() / want.norm()
        print(f"{rows:4} rows: error {error:.5f}")
        assert error < 1 / 256


if __name__ == "__main__":
    import sys

    main(sys.argv[1])
