// How far attention in a dump of `tilewright run --dump` lies from double precision, and how far the same computation
// at the same dtype does: its largest and mean error, of which the kernel's may be 1.5 times as large. What stands for
// torch where nothing is known of it are its rounding steps, here:
//   bf16, fp16  the scaled queries, the scores, the weights divided by their sum, and O are rounded; sums are exact
//   fp8         weights, 256 times themselves relative to the largest, to e4m3; O, divided by their exact sum, to bf16
// No error is asked to be below half a step of O's dtype at the largest element: few elements may be lucky.
//   usage: attention_errors FOLDER SIZES DTYPE LAYOUT VISIBLE D E SHARED [MAX MEAN]
// MAX and MEAN: errors of torch, in the place of those of its steps. SIZES: "B=1,H=2,R=3,S=4". Prints
// "kernel MAX MEAN same MAX MEAN". Status 0 where the kernel's are small enough, 1 where not, 2 what is asked is wrong,
// 3 a file is short.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A float of so many bits: of exponent, of mantissa, in all; the largest, 0 where larger ones become infinite.
struct format {
    int exponent, mantissa, bytes;
    double most;
};
static const struct format bf16 = {8, 7, 2, 0.0}, fp16 = {5, 10, 2, 0.0}, e4m3 = {4, 3, 1, 448.0};

static double decoded(const struct format *f, unsigned bits)
{
    int bias = (1 << (f->exponent - 1)) - 1, exponent = (int)(bits >> f->mantissa) & ((1 << f->exponent) - 1);
    int mantissa = (int)bits & ((1 << f->mantissa) - 1);
    double value = exponent ? ldexp((1 << f->mantissa) + mantissa, exponent - bias - f->mantissa)
                            : ldexp(mantissa, 1 - bias - f->mantissa);
    return bits >> (f->exponent + f->mantissa) ? -value : value;
}

// Half of what two neighbours of the dtype are apart at x.
static double half_step(const struct format *f, double x)
{
    int exponent, least = 2 - (1 << (f->exponent - 1));
    frexp(x, &exponent);
    return ldexp(0.5, (exponent - 1 > least ? exponent - 1 : least) - f->mantissa);
}

static double rounded(const struct format *f, double x)
{
    double step = 2.0 * half_step(f, x), value = nearbyint(x / step) * step;
    return f->most > 0.0 ? fmax(-f->most, fmin(value, f->most)) : value;
}

struct attention {
    size_t b, h, r, s, d, e, shared;
    int turned, latent, bhsd, causal, end, is_fp8;
    const struct format *in, *out;
    double *q, *k, *v, *o;
};

// `count` elements of FOLDER/NAME as doubles, or NULL.
static double *contents(const char *folder, const char *name, size_t count, const struct format *f)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    double *value = malloc((count + 1) * sizeof *value);
    for (size_t i = 0; file && value && i < count; ++i) {
        unsigned char byte[2] = {0, 0};
        if (fread(byte, 1, (size_t)f->bytes, file) != (size_t)f->bytes) {
            free(value);
            value = NULL;
            break;
        }
        value[i] = decoded(f, byte[0] | (unsigned)byte[1] << 8);
    }
    if (!file) {
        free(value);
        value = NULL;
    } else
        fclose(file);
    return value;
}

static size_t at(const struct attention *a, size_t length, size_t heads, size_t width, size_t b, size_t s, size_t h,
                 size_t c)
{
    return a->bhsd ? ((b * heads + h) * length + s) * width + c : ((b * length + s) * heads + h) * width + c;
}

// The row of a key.
static const double *key(const struct attention *a, size_t b, size_t kv, size_t h)
{
    return a->k + (a->latent ? (b * a->s + kv) * a->d : at(a, a->s, a->h / a->shared, a->d, b, kv, h / a->shared, 0));
}

// The first number of a value, and how far apart they are.
static const double *value(const struct attention *a, size_t b, size_t kv, size_t h, size_t *step)
{
    *step = a->turned ? a->s : 1;
    if (a->latent)
        return a->v + (b * a->s + kv) * a->e;
    if (a->turned)
        return a->v + (b * a->h + h) * a->e * a->s + kv;
    return a->v + at(a, a->s, a->h / a->shared, a->e, b, kv, h / a->shared, 0);
}

// A row of O in double precision, or by steps. p: room for a->s weights, x: for a->d numbers of a query.
static void row(const struct attention *a, size_t b, size_t h, size_t q, int steps, double *p, double *x, double *o)
{
    const struct format *work = steps && !a->is_fp8 ? a->in : NULL;
    double most = -INFINITY, sum = 0.0, scale = 1.0 / sqrt((double)a->d);
    for (size_t c = 0; c < a->d; ++c) {
        x[c] = a->q[at(a, a->r, a->h, a->d, b, q, h, c)] * scale;
        if (work)
            x[c] = rounded(work, x[c]);
    }
    for (size_t kv = 0; kv < a->s; ++kv) {
        const double *k = key(a, b, kv, h);
        double s = 0.0;
        for (size_t c = 0; c < a->d; ++c)
            s += x[c] * k[c];
        int seen = a->causal ? kv <= q : a->end ? kv + a->r <= q + a->s : 1;
        p[kv] = seen ? work ? rounded(work, s) : s : -INFINITY;
        most = fmax(most, p[kv]);
    }
    for (size_t kv = 0; kv < a->s; ++kv)
        sum += p[kv] = isinf(p[kv]) ? 0.0 : exp(p[kv] - most);
    for (size_t kv = 0; kv < a->s; ++kv) {
        if (work)
            p[kv] = rounded(work, p[kv] / sum);
        else if (steps)
            p[kv] = rounded(&e4m3, 256.0 * p[kv]) / 256.0 / sum;
        else if (sum > 0.0)
            p[kv] /= sum;
    }
    for (size_t c = 0; c < a->e; ++c)
        o[c] = 0.0;
    for (size_t kv = 0; kv < a->s && sum > 0.0; ++kv) {
        size_t step;
        const double *v = value(a, b, kv, h, &step);
        for (size_t c = 0; c < a->e; ++c)
            o[c] += p[kv] * v[c * step];
    }
    for (size_t c = 0; c < a->e && steps; ++c)
        o[c] = rounded(a->out, o[c]);
}

int main(int argc, char **argv)
{
    struct attention a = {0};
    if ((argc != 9 && argc != 11) || sscanf(argv[2], "B=%zu,H=%zu,R=%zu,S=%zu", &a.b, &a.h, &a.r, &a.s) != 4)
        return 2;
    a.d = strtoul(argv[6], NULL, 10), a.e = strtoul(argv[7], NULL, 10), a.shared = strtoul(argv[8], NULL, 10);
    a.is_fp8 = strcmp(argv[3], "fp8") == 0;
    a.in = a.is_fp8 ? &e4m3 : strcmp(argv[3], "fp16") == 0 ? &fp16 : &bf16;
    a.out = a.is_fp8 ? &bf16 : a.in;
    a.turned = strcmp(argv[4], "turned") == 0, a.latent = strcmp(argv[4], "latent") == 0;
    a.bhsd = strcmp(argv[4], "bhsd") == 0;
    a.causal = strcmp(argv[5], "causal") == 0, a.end = strcmp(argv[5], "end") == 0;
    size_t heads = a.latent ? 1 : a.h / a.shared;
    a.q = contents(argv[1], "Q", a.b * a.r * a.h * a.d, a.in);
    a.k = contents(argv[1], "K", a.b * a.s * heads * a.d, a.in);
    a.v = contents(argv[1], "V", a.b * a.s * heads * a.e, a.in);
    a.o = contents(argv[1], "O", a.b * a.r * a.h * a.e, a.out);
    double *p = malloc((a.s + a.d + 1) * sizeof *p);
    double *exact = malloc(2 * (a.e + 1) * sizeof *exact), *same = exact + a.e;
    double most[2] = {0.0, 0.0}, mean[2] = {0.0, 0.0}, largest = 0.0;
    int status = 3;
    if (!a.q || !a.k || !a.v || !a.o || !p || !exact)
        goto end;
    for (size_t i = 0; i < a.b * a.h * a.r; ++i) {
        size_t b = i / (a.h * a.r), h = i / a.r % a.h, q = i % a.r;
        row(&a, b, h, q, 0, p, p + a.s, exact);
        if (argc == 11)
            memcpy(same, exact, a.e * sizeof *same); // not asked for
        else
            row(&a, b, h, q, 1, p, p + a.s, same);
        for (size_t c = 0; c < a.e; ++c) {
            double error[2] = {fabs(a.o[at(&a, a.r, a.h, a.e, b, q, h, c)] - exact[c]), fabs(same[c] - exact[c])};
            for (int k = 0; k < 2; ++k) {
                most[k] = error[k] <= most[k] ? most[k] : error[k]; // NaN stays
                mean[k] += error[k] / (double)(a.b * a.h * a.r * a.e);
            }
            largest = fmax(largest, fabs(exact[c]));
        }
    }
    if (argc == 11)
        most[1] = strtod(argv[9], NULL), mean[1] = strtod(argv[10], NULL);
    double least = largest > 0.0 ? half_step(a.out, largest) : 0.0;
    printf("kernel %.3g %.3g same %.3g %.3g\n", most[0], mean[0], most[1], mean[1]);
    status = !(most[0] <= fmax(1.5 * most[1], least) && mean[0] <= fmax(1.5 * mean[1], least / 4));
end:
    free(a.q), free(a.k), free(a.v), free(a.o), free(p), free(exact);
    return status;
}
