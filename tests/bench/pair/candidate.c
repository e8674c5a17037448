/* One emitted GEMM kernel as a shared object that pair.c opens. Of each kernel's C file:
 *
 *     gcc -O2 -shared -fPIC -DNAME=gemm_bf16 -DHEADER='"gemm_bf16.h"' -IDIR candidate.c DIR/gemm_bf16.c -o gemm_bf16.so
 *
 * Arguments that the kernel lacks (C, bias) are not passed: kernels with other tensors than A, B and D define EXTRA. */
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

/* D[m][n] = A[m][k] B[n][k]; other[i] is what tensor i beside them points to, of m x n elements each. */
int candidate_launch(const void *a, const void *b, void *d, void *const *other, int64_t m, int64_t n, int64_t k,
                     void *stream)
{
    struct OF(NAME, _args) args = {0};
    args.A = a;
    args.B = b;
    args.D = d;
    args.M = m;
    args.N = n;
    args.K = k;
    (void)other;
#ifdef EXTRA
    EXTRA;
#endif
    return OF(NAME, _launch)(&kernel, &args, stream, NULL);
}
