//@ -- How a launch's bytes are copied: of the kernel `name`, or, where kernels share it, of KERNEL (body.c).
//@ param host table
//@ local NAME = host.name
/* A launch's bytes are copied by a function that load chooses, as what a compiler puts in the place of memcpy takes
 * registers that every machine has. Where a machine has AVX, straight lines of it are faster than libc's memcpy, which
 * finds out the size each time; the last 32 bytes overlap those before. */
#if defined(__x86_64__) && (defined(__clang__) || defined(__GNUC__) && __GNUC__ >= 8)
typedef uint64_t lanes __attribute__((vector_size(32), aligned(8), may_alias));
TOGETHER MARK(target("avx")) static void *copy_avx(void *to, const void *from, size_t bytes)
{
    enum { all = sizeof(struct ${NAME}_params), step = sizeof(lanes) };
    (void)bytes;
#pragma GCC unroll 256
    for (int i = 0; i < all / step; i++)
        ((lanes *)to)[i] = ((const lanes *)from)[i];
    *(lanes *)((unsigned char *)to + all - step) = *(const lanes *)((const unsigned char *)from + all - step);
    __builtin_ia32_vzeroupper(); /* compilers add it by themselves only where they optimise */
    return to;
}
#define COPY (__builtin_cpu_supports("avx") ? copy_avx : memcpy)
#else
#define COPY memcpy
#endif
