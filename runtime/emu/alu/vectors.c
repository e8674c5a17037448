#include "vectors.h"

static enum emu_vectors limit = EMU_VECTORS_AVX512;

void emu_vectors_limit(enum emu_vectors most)
{
    limit = most;
}

enum emu_vectors emu_vectors(void)
{
    enum emu_vectors has = EMU_VECTORS_ANY;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
        __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt"))
        has = EMU_VECTORS_AVX2;
    if (has == EMU_VECTORS_AVX2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        has = EMU_VECTORS_AVX512;
#endif
    return has < limit ? has : limit;
}
