-- Every layout and dtype of the family gemm, for tests/gpu/gemm_grid.c.
local M, N, K = dims "M N K"
for _, input in ipairs { "bf16", "fp16" } do
  for _, output in ipairs { input, "fp32" } do
    for layout = 0, 7 do
      local a_km, b_kn, d_nm = layout % 2 == 1, layout // 2 % 2 == 1, layout // 4 == 1
      kernel("gemm_" .. input .. "_" .. output .. "_" .. (a_km and "km" or "mk") .. "_" .. (b_kn and "kn" or "nk")
             .. "_" .. (d_nm and "nm" or "mn")) {
        family = "gemm",
        A = a_km and tensor { K, M, axes = "k m", dtype = input } or tensor { M, K, dtype = input },
        B = b_kn and tensor { K, N, axes = "k n", dtype = input } or tensor { N, K, dtype = input },
        D = d_nm and tensor { N, M, axes = "n m", dtype = output } or tensor { M, N, dtype = output },
      }
    end
  end
end
