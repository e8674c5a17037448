#include "unit/runtime/libcuda_calls.h"

#include <stdio.h>
#include <unistd.h>

#include "unit/check.h"

const char libcuda_ptx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .global .align 4 .u32 runs = 5;\n"
    ".visible .const .align 4 .u32 table[2] = {7, 8};\n"
    ".visible .entry scale(.param .u64 x, .param .u32 by)\n"
    "{\n"
    "    .reg .b64 %rd<4>; .reg .b32 %r<5>; .reg .pred %p;\n"
    "    ld.param.u64 %rd0, [x];\n    ld.param.u32 %r0, [by];\n"
    "    mov.u32 %r1, %tid.x;\n    mul.wide.u32 %rd1, %r1, 4;\n    add.s64 %rd2, %rd0, %rd1;\n"
    "    ld.global.u32 %r2, [%rd2];\n    mul.lo.u32 %r3, %r2, %r0;\n    st.global.u32 [%rd2], %r3;\n"
    "    setp.ne.u32 %p, %r1, 0;\n    @%p bra done;\n"
    "    ld.global.u32 %r4, [runs];\n    add.u32 %r4, %r4, 1;\n    st.global.u32 [runs], %r4;\n"
    "done:\n    ret;\n"
    "}\n"
    ".visible .entry runs_of(.param .u64 x)\n"
    "{\n"
    "    .reg .b64 %rd0; .reg .b32 %r<2>;\n"
    "    ld.param.u64 %rd0, [x];\n    ld.global.u32 %r0, [runs];\n    st.global.u32 [%rd0], %r0;\n"
    "    ld.const.u32 %r1, [table+4];\n    st.global.u32 [%rd0+4], %r1;\n    ret;\n"
    "}\n"
    ".visible .entry race(.param .u64 x)\n"
    "{\n"
    "    .shared .align 4 .b8 held[256];\n"
    "    .reg .b32 %r<6>;\n"
    "    mov.u32 %r0, %tid.x;\n    mov.u32 %r1, held;\n    shl.b32 %r2, %r0, 2;\n    add.u32 %r3, %r1, %r2;\n"
    "    st.shared.u32 [%r3], %r0;\n    xor.b32 %r4, %r2, 252;\n    add.u32 %r4, %r1, %r4;\n"
    "    ld.shared.u32 %r5, [%r4];\n    st.shared.u32 [%r3], %r5;\n    ret;\n"
    "}\n";

struct cu_module *module;
struct cu_function *scale, *runs_of, *race;

char said[8192];
int quiet(int (*run)(void))
{
    FILE *file = tmpfile();
    int before = dup(2);
    assert_non_null(file);
    dup2(fileno(file), 2);
    int result = run();
    fflush(stderr);
    dup2(before, 2);
    close(before);
    rewind(file);
    said[fread(said, 1, sizeof said - 1, file)] = '\0';
    fclose(file);
    return result;
}

int libcuda_opens(void **state)
{
    struct cu_context *context;
    (void)state;
    assert_int_equal(cuMemFree_v2(1), CUDA_ERROR_NOT_INITIALIZED);
    assert_int_equal(cuInit(0), CUDA_SUCCESS);
    assert_int_equal(cuMemFree_v2(1), CUDA_ERROR_INVALID_CONTEXT);
    assert_int_equal(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    assert_int_equal(cuCtxSetCurrent(context), CUDA_SUCCESS);
    assert_int_equal(cuModuleLoadData(&module, libcuda_ptx), CUDA_SUCCESS);
    assert_int_equal(cuModuleGetFunction(&scale, module, "scale"), CUDA_SUCCESS);
    assert_int_equal(cuModuleGetFunction(&runs_of, module, "runs_of"), CUDA_SUCCESS);
    assert_int_equal(cuModuleGetFunction(&race, module, "race"), CUDA_SUCCESS);
    assert_int_equal(cuModuleGetFunction(&race, module, "rice"), CUDA_ERROR_NOT_FOUND);
    return 0;
}

int libcuda_closes(void **state)
{
    (void)state;
    assert_int_equal(cuModuleUnload(module), CUDA_SUCCESS);
    assert_int_equal(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
    tw_device_close(cu.device);
    tw_runtime_close(&cu.rt);
    return 0;
}

int launch(struct cu_function *function, struct cu_stream *stream, void **arguments)
{
    return cuLaunchKernel(function, 1, 1, 1, N, 1, 1, 0, stream, arguments, NULL);
}

void add_one(void *data)
{
    ++*(int *)data;
}
