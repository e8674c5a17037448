//@ -- What most launches run of a kernel: of the kernel `name`, or, where kernels share it, of KERNEL (body.c).
//@ param host table
//@ local NAME, T = host.name, host.types
/* In a copy of variant v's launch, where `slot` has it loaded. 0, or why it is none. */
INLINE int fill_launch(const struct ${T}_state *k, const struct ${T}_slot *slot, int shape, int v, int patched, const struct ${NAME}_args *args, const struct tensor *t, struct ${NAME}_params *p, struct ${T}_error *error)
{
    const int status = patch(k, shape, v, patched, args, t, p->word, error);
    p->function = slot->function;
//@ if host.body then
#ifdef KERNEL_LISTS
//@ end
//@ if host.body or host.lists then
    p->list = slot->list;
//@ end
//@ if host.body then
#endif
//@ end
    return status ? status : count_work(args, v, slot->resident, p, error);
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
