//@ -- What most launches run of a kernel: of the kernel `name`, or, where kernels share it, of KERNEL (body.c).
//@ param host table
//@ local NAME, T = host.name, host.types
/* Arguments that need no substitute, in a variant whose tensors they fit. Returns whether *p is filled. The copy comes
 * first: nothing but pointers must be kept across it. */
INLINE int ordinary(const struct ${T}_state *k, const struct ${T}_slot *slot, const struct ${NAME}_args *args, int dense, int shape, int v, struct ${NAME}_params *p)
{
    struct tensor t[tensor_count];
    k->copy(p, &launches[v].p, sizeof *p);
    resolve(args, dense, t);
    return LIKELY(is_ordinary(args, t, dense) && fits(shape, t)) &&
           !fill_launch(NULL, slot, shape, v, args, t, p, NULL);
}
