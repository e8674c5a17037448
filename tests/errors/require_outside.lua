local shapes = require "../../specs/gemm"
