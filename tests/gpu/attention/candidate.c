/* One emitted kernel of specs/attention.lua as a shared object that derived.py opens. Of each kernel's C file:
 *
 *     gcc -O2 -shared -fPIC -DNAME=attention_fwd -DHEADER='"attention_fwd.h"' -IDIR candidate.c DIR/attention_fwd.c
 *         -o attention_fwd.so -ldl
 *
 * and -DWORKSPACE where the kernel's arguments have one.
 */
#include HEADER

#include <stddef.h>

#define JOIN(a, b) a##b
#define OF(name, what) JOIN(name, what)

static struct NAME kernel;

/* 0, or 1 with the reason in text[1000]. The caller's context is current. */
int candidate_load(char *text)
{
    struct OF(NAME, _error) error = {0};
    int status = OF(NAME, _load)(&kernel, NULL, &error);
    for (size_t i = 0; i < sizeof error.text && text; i++)
        text[i] = error.text[i];
    return status != 0;
}

/* Tensors dense as [b, s, h, 128], lse [b, h, s], a workspace of zeros; the kernel's status. */
int candidate_launch(const void *q, const void *k, const void *v, void *o, void *lse, int64_t b, int64_t h, int64_t s,
                     void *workspace, void *stream)
{
    struct OF(NAME, _args) args = {0};
    args.Q = q;
    args.K = k;
    args.V = v;
    args.O = o;
    args.LSE = lse;
    args.B = b;
    args.H = h;
    args.R = s;
    args.S = s;
#ifdef WORKSPACE
    args.workspace = workspace;
#else
    (void)workspace;
#endif
    return OF(NAME, _launch)(&kernel, &args, stream, NULL);
}
