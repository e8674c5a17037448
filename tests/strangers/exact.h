/* For programs around the headers of others: small integers as inputs, so that a product is exact in any order of sums,
 * and one line that says whether it is right. */
#pragma once
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

#define CHECK(call) exact_check((int)(call), #call, __LINE__)

static void exact_check(int status, const char *call, int line)
{
    if (status != 0) {
        printf("line %d: %s: status %d\n", line, call, status);
        exit(1);
    }
}

/* -2 to 2, another sequence for each seed. */
static std::vector<float> integers(size_t count, unsigned seed)
{
    std::vector<float> all(count);
    for (float &x : all)
        x = (float)((int)((seed = seed * 1664525u + 1013904223u) >> 16) % 5 - 2);
    return all;
}

template <class T> static T *on_device(const std::vector<float> &values)
{
    std::vector<T> all(values.begin(), values.end());
    T *place;
    CHECK(cudaMalloc(&place, all.size() * sizeof(T)));
    CHECK(cudaMemcpy(place, all.data(), all.size() * sizeof(T), cudaMemcpyHostToDevice));
    return place;
}

/* A matrix of dense rows with boxes of `high` rows and `wide` elements of `bytes` each. */
static CUtensorMap matrix_map(const void *place, CUtensorMapDataType type, int bytes, int rows, int columns, int high,
                              int wide, CUtensorMapSwizzle swizzle)
{
    CUtensorMap map;
    cuuint64_t extents[2] = {(cuuint64_t)columns, (cuuint64_t)rows}, strides[1] = {(cuuint64_t)columns * bytes};
    cuuint32_t box[2] = {(cuuint32_t)wide, (cuuint32_t)high}, steps[2] = {1, 1};
    CHECK(cuTensorMapEncodeTiled(&map, type, 2, (void *)place, extents, strides, box, steps,
                                 CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                 CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    return map;
}

/* Compares `count` results with what they should be; status 0 or 1 for main. */
static int judged(const char *name, const __nv_bfloat16 *results, const std::vector<float> &expected)
{
    CHECK(cudaDeviceSynchronize());
    std::vector<__nv_bfloat16> got(expected.size());
    CHECK(cudaMemcpy(got.data(), results, got.size() * sizeof got[0], cudaMemcpyDeviceToHost));
    size_t wrong = 0;
    for (size_t i = 0; i < got.size(); i++)
        wrong += __bfloat162float(got[i]) != __bfloat162float(__float2bfloat16(expected[i]));
    printf("%s: %zu of %zu wrong\n", name, wrong, got.size());
    return wrong != 0;
}
