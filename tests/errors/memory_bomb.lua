local kernels = {}
for i = 1, 1000000000 do
  kernels[i] = "gemm_" .. i
end
