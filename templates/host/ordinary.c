//@ -- What most launches run of a kernel: of the kernel `name`, or, where kernels share it, of KERNEL (body.c).
//@ param host table
//@ local NAME, T = host.name, host.types
/* A launch's bytes are copied by a function that load chooses, as what a compiler puts in the place of memcpy takes
 * registers that every machine has. Where a machine has AVX, straight lines of it are faster than libc's memcpy, which
 * finds out the size each time; the last 32 bytes overlap those before. */
#if defined(__x86_64__) && (defined(__clang__) || defined(__GNUC__) && __GNUC__ >= 8)
typedef uint64_t lanes __attribute__((vector_size(32), aligned(8), may_alias));
TOGETHER MARK(target("avx")) static void *copy_avx(void *to, const void *from, size_t bytes)
{
    enum { turns = sizeof(struct ${NAME}_params) / sizeof(lanes) };
    const size_t last = sizeof(struct ${NAME}_params) - sizeof(lanes);
    int i;
#pragma GCC unroll 256
    for (i = 0; i < turns; i++)
        ((lanes *)to)[i] = ((const lanes *)from)[i];
    *(lanes *)((unsigned char *)to + last) = *(const lanes *)((const unsigned char *)from + last);
    __builtin_ia32_vzeroupper(); /* compilers add it by themselves only where they optimise */
    (void)bytes;
    return to;
}
#define COPY (__builtin_cpu_supports("avx") ? copy_avx : memcpy)
#else
#define COPY memcpy
#endif

/* In a copy of variant v's launch, where `slot` has it loaded. 0, or why it is none. */
INLINE int fill_launch(const struct ${T}_state *k, const struct ${T}_slot *slot, int shape, int v, int patched, const struct ${NAME}_args *args, const struct tensor *t, struct ${NAME}_params *p, struct ${T}_error *error)
{
    int64_t n[5];
    int status = patch(k, shape, v, patched, args, t, p->word, error);
    p->function = slot->function;
    count_work(args, v, slot->resident, n);
//@ if host.body then
#ifdef KERNEL_LISTS
//@ end
//@ if host.body or host.lists then
    p->list = slot->list;
    p->list_grid = (uint32_t)n[4];
//@ end
//@ if host.body then
#endif
//@ end
    return status ? status : put_grid(n, p->grid, error);
}

/* Arguments that need no substitute, in a variant whose tensors they fit. Returns whether *p is filled. The copy comes
 * first: nothing but pointers must be kept across it. */
INLINE int ordinary(const struct ${T}_state *k, const struct ${T}_slot *slot, const struct ${NAME}_args *args, int dense, int shape, int v, struct ${NAME}_params *p)
{
    struct tensor t[tensor_count];
    k->copy(p, &launches[v].p, sizeof *p);
    resolve(args, dense, t);
    return LIKELY(is_ordinary(args, t, dense) && fits(shape, t)) &&
           !fill_launch(k, slot, shape, v, 1, args, t, p, NULL);
}
