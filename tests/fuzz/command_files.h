/* The files that the command lines of fuzz_command.c can name. */
#ifndef TW_TESTS_FUZZ_COMMAND_FILES_H
#define TW_TESTS_FUZZ_COMMAND_FILES_H

static const struct {
    const char *name, *text;
} command_files[] = {
    {"layer.lua", "local M, N, K = dims \"M N K\"\n"
                  "kernel \"layer\" {\n"
                  "  family = \"gemm\",\n"
                  "  A = tensor { M, K, dtype = \"bf16\", swizzle = \"128B\" },\n"
                  "  B = tensor { N, K, dtype = \"bf16\", swizzle = \"128B\" },\n"
                  "  D = tensor { M, N, dtype = \"bf16\" },\n"
                  "  bias = tensor { N, dtype = \"bf16\", axes = \"n\" },\n"
                  "  epilogue = function(acc, t) return gelu(acc + t.bias) end,\n"
                  "  tile = { m = 128, n = 64, k = 64 },\n"
                  "  arch = { sm_90a = {}, sm_80 = {} },\n"
                  "  run = { { M = 264, N = 128, K = 192 } },\n"
                  "}\n"},
    {"sum.lua", "local R, C = dims \"R C\"\n"
                "kernel \"sum\" {\n"
                "  x = tensor { R, C, dtype = \"fp32\" }, y = tensor { R, dtype = \"fp32\", out = true },\n"
                "  scale = scalar(\"fp32\", 1.0),\n"
                "  axes = \"r c\", tile = { r = 1, c = 1024 }, grid = { r = R },\n"
                "  program = function(t, at, tile)\n"
                "    local s = loop(\"sum\", range(0, C, tile.c), { rows(0) }, function(c, s)\n"
                "      return s + row_sum(load(t.x, span(at.r, tile.r), span(c, tile.c)))\n"
                "    end)\n"
                "    store(t.y, span(at.r, tile.r), s * t.scale)\n"
                "  end,\n"
                "  run = { { R = 3, C = 40 } },\n"
                "}\n"},
    {"own.lua", "local R, C = dims \"R C%8\"\n"
                "kernel \"own\" { template = \"own.cu\", x = tensor { R, C, dtype = \"bf16\", tile = { 1, 1024 } },\n"
                "  y = tensor { R, C, dtype = \"bf16\", out = true }, rings = { { \"x\", stages = 2 } },\n"
                "  grid = { R }, threads = 256, shared = 64, arch = { sm_90a = {} } }\n"},
    {"own.cu", "${banner}\n"
               "//@ role \"producer\"\n"
               "//@ endrole\n"},
    {"wrong.lua", "kernel \"wrong\" { family = \"gem\", A = tensor { 1, dtype = \"bf17\" } }\n"},
    {"odd name.lua", "local x = undefined_name\n"},
    {"add.ptx", ".version 8.0\n"
                ".target sm_70\n"
                ".address_size 64\n"
                ".visible .entry add(.param .u64 x, .param .u32 by)\n"
                "{\n"
                "    .reg .b32 %r<4>;\n"
                "    .reg .b64 %rd<4>;\n"
                "    ld.param.u64 %rd1, [x];\n"
                "    ld.param.u32 %r1, [by];\n"
                "    cvta.to.global.u64 %rd2, %rd1;\n"
                "    mov.u32 %r2, %tid.x;\n"
                "    mad.wide.u32 %rd3, %r2, 4, %rd2;\n"
                "    ld.global.u32 %r3, [%rd3];\n"
                "    add.u32 %r3, %r3, %r1;\n"
                "    st.global.u32 [%rd3], %r3;\n"
                "    ret;\n"
                "}\n"},
    {"map.ptx", ".version 8.0\n"
                ".target sm_90a\n"
                ".address_size 64\n"
                ".visible .entry first(.param .align 64 .b8 map[128], .param .u64 y)\n"
                "{\n"
                "    .reg .b64 %rd<4>;\n"
                "    ld.param.u64 %rd1, [y];\n"
                "    ld.param.u64 %rd2, [map];\n"
                "    st.global.u64 [%rd1], %rd2;\n"
                "    ret;\n"
                "}\n"
                ".visible .entry second()\n"
                "{\n"
                "    ret;\n"
                "}\n"},
    {"add.args", "# one a line\n"
                 "buf:128,fill=iota:i32,name=x\n"
                 "u32:7\n"},
    {"maps.args", "buffer:8K,name=A,fill=iota:u8\n"
                  "map:buffer=A dtype=bf16 dim=64,64 box=64,64 swizzle=128B\n"
                  "buf:64\n"},
    {"rows.json",
     "{\"rows\": [{\"kernel\": \"layer\", \"arch\": \"sm_90a\", \"gpu_model\": \"G\", \"problem_size\": {\"M\": 4},\n"
     "  \"backend\": \"tilewright\", \"mode\": \"burst\", \"latency_ms\": 2.0, \"run\": \"a\"},\n"
     " {\"kernel\": \"layer\", \"arch\": \"sm_90a\", \"gpu_model\": \"G\", \"problem_size\": {\"M\": 4},\n"
     "  \"backend\": \"peer\", \"mode\": \"burst\", \"latency_ms\": 1.5, \"run\": \"a\"}]}\n"},
    {"cache/0123456789abcdef0123456789abcdef.twc", "TWCACHE1"},
    {"cache/0123456789abcdef0123456789abcdef.lock", ""},
};

enum { COMMAND_FILES = sizeof command_files / sizeof *command_files };

#endif
