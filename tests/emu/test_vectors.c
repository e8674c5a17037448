/* One instruction at a time against answers of an H200: the rows of tests/emu/vectors.def on the same inputs.

   tests/golden/vectors.bin, a record a row, in their order: 4 bytes of checksum of the row's text, then the answers of
   N threads, as wide as the result (of predicates one byte: p + 2 q). The answers are taken anew where a GPU is:
       test_vectors --record ANSWERS && mv ANSWERS tests/golden/vectors.bin
   --ptx FILE writes the kernel, for ptxas and for people. */
#include <math.h>

#include "execute.h"
#include "emu/alu/vectors.h"

enum { N = 192, INPUTS = 3 };
static const char flavours[] = "hrlfdsxymqQ"; /* of inputs; the first five are the types of registers too */
enum { FLAVOURS = sizeof flavours - 1 };

enum measure { MEASURE_EXACT, MEASURE_ULPS, MEASURE_RELATIVE, MEASURE_BRAIN, MEASURE_ABSOLUTE, MEASURE_FLOORED };

struct vector {
    char out;
    const char *in;
    enum measure measure;
    double bound;
    const char *text;
};

#define EXACT MEASURE_EXACT, 0
#define ULPS(n) MEASURE_ULPS, n
#define RELATIVE(e) MEASURE_RELATIVE, e
#define BRAIN(e) MEASURE_BRAIN, e /* relative, of bf16 */
#define ABSOLUTE(e) MEASURE_ABSOLUTE, e
#define FLOORED(e) MEASURE_FLOORED, e /* relative, of results below 1 absolute */
static const struct vector vectors[] = {
#define VECTOR(out, in, ...) {#out[0], in, __VA_ARGS__}, /* a bound is a measure and a number */
#include "vectors.def"
#undef VECTOR
};
enum { VECTORS = sizeof vectors / sizeof vectors[0] };

/* ---- Inputs --------------------------------------------------------------------------------------------------- */

static uint64_t draw(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* How the three inputs of a thread are drawn: alike, so that sums cancel, products underflow and edges meet. */
enum manner { EDGES, NEAR, SMALL, TINY, ANY, MIXED, MANNERS };

static enum manner manner_of(unsigned thread)
{
    static const unsigned first[MANNERS] = {0, 56, 96, 120, 136, 168};
    enum manner m = MANNERS - 1;
    while (thread < first[m])
        m--;
    return m;
}

static uint64_t edge(char flavour, uint64_t x)
{
    static const uint64_t h[] = {0,      0x8000, 1,      0x7fff, 0xffff, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00,
                                 0x0400, 0x83ff, 0x3f80, 0x7f80, 0xff80, 0x7bff, 0x0080, 0x007f, 0x7f7f, 0x8001};
    static const uint64_t r[] = {0,     0x80000000, 1,      0x7fffffff, 0xffffffff, 31, 32,  33,      8,
                                 0x100, 0xffff8000, 0x7fff, 0x80,       0xffffff7f, 5,  255, 0x10000, 0xffff};
    static const uint64_t l[] = {0,
                                 UINT64_C(1) << 63,
                                 1,
                                 INT64_MAX,
                                 UINT64_MAX,
                                 31,
                                 32,
                                 63,
                                 64,
                                 65,
                                 0xffffffff,
                                 UINT64_C(1) << 32,
                                 UINT64_C(0xffffffff80000000),
                                 0x7fffffff,
                                 UINT64_C(0x20000000000001),
                                 7};
    static const uint64_t f[] = {0,          0x80000000, 1,          0x807fffff, 0x800000,   0x7f7fffff, 0x7f800000,
                                 0xff800000, 0x7fc00000, 0xffc12345, 0x7f800001, 0x3f800000, 0xbf000000, 0x4f000000,
                                 0xcf000000, 0x477fe000, 0xff7fffff, 0x3fc00000, 0x43e00000, 0x3e800000};
    static const uint64_t d[] = {0,
                                 UINT64_C(1) << 63,
                                 1,
                                 UINT64_C(0x000fffffffffffff),
                                 UINT64_C(0x0010000000000000),
                                 UINT64_C(0x7fefffffffffffff),
                                 UINT64_C(0x7ff0000000000000),
                                 UINT64_C(0xfff0000000000000),
                                 UINT64_C(0x7ff8000000000000),
                                 UINT64_C(0xfff8000012345678),
                                 UINT64_C(0x7ff0000000000001),
                                 UINT64_C(0x3ff0000000000000),
                                 UINT64_C(0xbfe0000000000000),
                                 UINT64_C(0x41dfffffffc00000),
                                 UINT64_C(0xc3e0000000000000),
                                 UINT64_C(0x40f0000010000000)};
    static const uint64_t s[] = {0, 1, 7, 8, 15, 16, 17, 31, 32, 33, 40, 63, 64, 65, 255, 256, 288, 0xffffffff};
#define OF(list) list[x % (sizeof list / sizeof list[0])]
    switch (flavour) {
    case 'h':
        return OF(h);
    case 'r':
        return OF(r);
    case 'l':
        return OF(l);
    case 'd':
        return OF(d);
    case 's':
        return OF(s);
    case 'x':
        return OF(h) | h[x / 64 % 20] << 16;
    case 'y':
        return x & 0x80ff807f;
    default:
        return OF(f);
    }
#undef OF
}

static uint64_t single(double x)
{
    float f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, 4);
    return bits;
}

static uint64_t half(enum manner manner, uint64_t x)
{
    switch (manner) {
    case NEAR: /* of f16 or of bf16 */
        return x >> 32 & 1 ? 0x3000 + (x & 0x8fff) : 0x3e00 + (x & 0x81ff);
    case SMALL:
        return x >> 32 & 1 ? 0x3c00 + (x & 0x8380) : 0x3f00 + (x & 0x80c0);
    case TINY:
        return x & 0x87ff;
    default:
        return x & 0xffff;
    }
}

static uint64_t input(char flavour, enum manner manner, uint64_t *state)
{
    uint64_t x = draw(state), more = draw(state);
    double d = (double)(int64_t)(x % 4096 - 2048) * 0.25;
    if (manner == MIXED)
        manner = (enum manner)(more % MIXED);
    more >>= 8;
    switch (flavour) {
    case 's':
        return manner == EDGES ? edge('s', x) : manner == ANY ? (uint32_t)x : x % 72;
    case 'm':
        return manner == EDGES ? (x % 2 - 1) & UINT32_MAX : x % 4;
    case 'q':
        return single(((double)(x >> 11) * 0x1p-53 * 2 - 1) * 6.2831853);
    case 'Q':
        return single(((double)(x >> 11) * 0x1p-53 * 2 - 1) * 314.159);
    }
    if (manner == EDGES)
        return edge(flavour, x);
    switch (flavour) {
    case 'h':
        return half(manner, x);
    case 'x':
        return half(manner, x) | half(manner, more) << 16;
    case 'r':
        return manner == SMALL ? x % 64 : manner == TINY ? (x % 64 - 32) & UINT32_MAX : (uint32_t)x;
    case 'l':
        return manner == SMALL ? x % 128 : manner == TINY ? x % 64 - 32 : manner == NEAR ? (uint64_t)(int32_t)x : x;
    case 'f': {
        static const unsigned low[] = {[NEAR] = 122, [SMALL] = 0, [TINY] = 52},
                              span[] = {[NEAR] = 10, [SMALL] = 1, [TINY] = 24};
        if (manner == SMALL)
            return single(d);
        return manner == ANY ? (uint32_t)x : (x & 0x807fffff) | (uint64_t)(low[manner] + more % span[manner]) << 23;
    }
    case 'd':
        if (manner == SMALL) {
            memcpy(&x, &d, 8);
            return x;
        }
        return manner == ANY ? x
                             : (x & UINT64_C(0x800fffffffffffff)) |
                                   ((manner == NEAR ? 1018 : 486) + more % (manner == NEAR ? 10 : 48)) << 52;
    default:
        return (uint32_t)x;
    }
}

static uint64_t inputs[FLAVOURS][INPUTS][N];

static void make_inputs(void)
{
    uint64_t state = 12345;
    for (unsigned t = 0; t < FLAVOURS; t++)
        for (unsigned k = 0; k < INPUTS; k++)
            for (unsigned i = 0; i < N; i++)
                inputs[t][k][i] = input(flavours[t], manner_of(i), &state);
}

static unsigned flavour_of(char letter)
{
    return (unsigned)(strchr(flavours, letter) - flavours);
}

/* ---- Kernel --------------------------------------------------------------------------------------------------- */

static char register_of(char flavour)
{
    return strchr("sxym", flavour) ? 'r' : strchr("qQ", flavour) ? 'f' : flavour;
}

static const char *type_of(char flavour)
{
    char letter = register_of(flavour);
    return letter == 'h' ? "b16" : letter == 'l' ? "b64" : letter == 'f' ? "f32" : letter == 'd' ? "f64" : "b32";
}

static unsigned width_of(char out)
{
    return out == 'p' ? 1 : out == 'h' ? 2 : out == 'l' || out == 'd' ? 8 : 4;
}

struct text {
    char *at;
    size_t length, room;
};

static void put(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct text *t, const char *format, ...)
{
    va_list list;
    if (t->room - t->length < 4096) {
        t->room = t->room ? 2 * t->room : 1 << 16;
        t->at = realloc(t->at, t->room);
        if (!t->at)
            abort();
    }
    va_start(list, format);
    t->length += (size_t)vsnprintf(t->at + t->length, t->room - t->length, format, list);
    va_end(list);
}

/* All rows as one kernel; the caller frees the text. */
static char *make_ptx(void)
{
    struct text t = {0};
    put(&t,
        ".version 8.6\n.target sm_90a\n.address_size 64\n\n.shared .align 16 .b8 scratch[%u];\n"
        ".visible .entry k(.param .align 8 .b8 buffers[24])\n{\n"
        ".reg .b64 in, out, g, s;\n.reg .b32 thread, lane;\n"
        "ld.param.u64 in, [buffers];\nld.param.u64 out, [buffers+8];\nld.param.u64 g, [buffers+16];\n"
        "cvta.to.global.u64 in, in;\ncvta.to.global.u64 out, out;\ncvta.to.global.u64 g, g;\n"
        "mov.u32 thread, %%tid.x;\nmov.u32 lane, %%laneid;\nmov.u64 s, scratch;\n"
        "mad.wide.u32 in, thread, 8, in;\nmad.wide.u32 out, thread, 8, out;\n"
        "mad.wide.u32 g, thread, 16, g;\nmad.wide.u32 s, thread, 16, s;\n",
        16 * N);
    for (unsigned v = 0; v < VECTORS; v++) {
        const struct vector *row = &vectors[v];
        put(&t, "{\n.reg .pred p, q, w;\n.reg .b16 a;\n.reg .b32 t, u;\n.reg .b64 v;\n");
        if (row->out == 'p')
            put(&t, "setp.ne.u32 q, thread, thread;\n");
        else
            put(&t, ".reg .%s o;\n", type_of(row->out));
        for (unsigned k = 0; row->in[k]; k++)
            put(&t, ".reg .%s x%u;\nld.global.%s x%u, [in+%u];\n", type_of(row->in[k]), k + 1, type_of(row->in[k]),
                k + 1, (flavour_of(row->in[k]) * INPUTS + k) * N * 8);
        for (const char *c = row->text; *c; c++) {
            if (*c == '$')
                c++, put(&t, *c == '0' ? "o" : "x%c", *c);
            else
                put(&t, "%c", *c);
        }
        if (row->out == 'p')
            put(&t, "\nselp.u32 t, 1, 0, p;\nselp.u32 u, 2, 0, q;\nor.b32 t, t, u;\nst.global.b32 [out+%u], t;\n}\n",
                v * N * 8);
        else
            put(&t, "\nst.global.%s [out+%u], o;\n}\n", type_of(row->out), v * N * 8);
    }
    put(&t, "ret;\n}\n");
    return t.at;
}

static int run_on(struct tw_device *device, uint64_t (*out)[N])
{
    struct tw_error error = {""};
    struct tw_kernel *kernel = NULL;
    char *ptx = make_ptx();
    struct tw_load load = {.ptx = ptx, .ptx_bytes = strlen(ptx), .entry = "k"};
    struct {
        uint64_t in, out, scratch;
    } p;
    make_inputs();
    int status = tw_device_load(device, &load, &kernel, &error);
    if (!status)
        status = tw_device_alloc(device, sizeof inputs, &p.in, &error);
    if (!status)
        status = tw_device_alloc(device, VECTORS * sizeof *out, &p.out, &error);
    if (!status)
        status = tw_device_alloc(device, 16 * N, &p.scratch, &error);
    if (!status)
        status = tw_device_upload(device, p.in, inputs, sizeof inputs, &error);
    if (!status)
        status = tw_device_fill(device, p.scratch, 0, 16 * N, &error);
    if (!status)
        status = tw_device_fill(device, p.out, 0, VECTORS * sizeof *out, &error);
    struct tw_launch launch = {
        .kernel = kernel, .grid = {1, 1, 1}, .block = {N, 1, 1}, .params = &p, .params_bytes = sizeof p};
    if (!status)
        status = tw_device_launch(device, &launch, &error);
    if (!status)
        status = tw_device_synchronize(device, &error);
    if (!status)
        status = tw_device_download(device, out, p.out, VECTORS * sizeof *out, &error);
    if (status)
        fprintf(stderr, "%s\n", error.text);
    if (kernel)
        tw_device_unload(device, kernel);
    free(ptx);
    return status;
}

static uint32_t checksum(const struct vector *row)
{
    uint32_t h = 2166136261u;
    h = (h ^ (unsigned char)row->out) * 16777619u;
    for (const char *c = row->in; *c; c++)
        h = (h ^ (unsigned char)*c) * 16777619u;
    for (const char *c = row->text; *c; c++)
        h = (h ^ (unsigned char)*c) * 16777619u;
    return h;
}

/* ---- Comparison ----------------------------------------------------------------------------------------------- */

static double small_float(uint32_t x, int exponent, int mantissa)
{
    int e = (int)(x >> mantissa) & ((1 << exponent) - 1), m = (int)x & ((1 << mantissa) - 1),
        bias = (1 << (exponent - 1)) - 1;
    double sign = x >> 15 & 1 ? -1.0 : 1.0;
    if (e == (1 << exponent) - 1)
        return m ? (double)NAN : sign * (double)INFINITY;
    return sign * ldexp(e ? m + (1 << mantissa) : m, (e ? e : 1) - bias - mantissa);
}

/* The number that a result holds; index 1: the high half of a pair. */
static double number(const struct vector *row, uint64_t bits, unsigned index)
{
    float f;
    double d;
    uint32_t word = (uint32_t)bits;
    switch (row->out) {
    case 'f':
        memcpy(&f, &word, 4);
        return (double)f;
    case 'd':
        memcpy(&d, &bits, 8);
        return d;
    default:
        word = word >> 16 * index & 0xffff;
        return row->measure == MEASURE_BRAIN ? small_float(word, 8, 7) : small_float(word, 5, 10);
    }
}

static int close_enough(const struct vector *row, uint64_t got, uint64_t want)
{
    if (row->measure == MEASURE_EXACT || got == want)
        return got == want;
    for (unsigned i = 0; i < (row->out == 'r' ? 2u : 1u); i++) {
        double x = number(row, got, i), y = number(row, want, i), allowed = row->bound;
        if ((isnan(x) && isnan(y)) || x == y)
            continue;
        if (!isfinite(x) || !isfinite(y))
            return 0;
        if (row->measure == MEASURE_ULPS)
            allowed *= ldexp(1, ilogb(fabs(y) < 0x1p-126 ? 0x1p-126 : y) - 23);
        else if (row->measure == MEASURE_FLOORED)
            allowed *= fmax(1, fabs(y));
        else if (row->measure != MEASURE_ABSOLUTE)
            allowed *= fabs(y);
        if (fabs(x - y) > allowed)
            return 0;
    }
    return 1;
}

static void vectors_equal(void **state)
{
    (void)state;
    static uint64_t got[VECTORS][N];
    struct tw_runtime rt;
    struct tw_error error;
    struct tw_device *device;
    int bad = 0;
    unsigned approximate = 0, equal = 0;
    FILE *file = fopen("tests/golden/vectors.bin", "rb");
    assert_non_null(file);
    assert_int_equal(tw_runtime_init(&rt, &error), TW_OK);
    assert_int_equal(tw_device_open_emu(&rt, NULL, &device, &error), TW_OK);
    assert_int_equal(run_on(device, got), TW_OK);
    for (unsigned v = 0; v < VECTORS; v++) {
        const struct vector *row = &vectors[v];
        unsigned wrong = 0;
        uint32_t sum;
        assert_int_equal(fread(&sum, sizeof sum, 1, file), 1);
        if (sum != checksum(row))
            fail_msg("%s: the answers are of another row; take them anew", row->text);
        for (unsigned i = 0; i < N; i++) {
            uint64_t want = 0;
            assert_int_equal(fread(&want, width_of(row->out), 1, file), 1);
            approximate += row->measure != MEASURE_EXACT;
            equal += row->measure != MEASURE_EXACT && got[v][i] == want;
            if (close_enough(row, got[v][i], want))
                continue;
            if (!wrong++) {
                print_error("%s:", row->text);
                for (unsigned k = 0; row->in[k]; k++)
                    print_error(" %llx", (unsigned long long)inputs[flavour_of(row->in[k])][k][i]);
                print_error(" -> %llx, an H200 gives %llx", (unsigned long long)got[v][i], (unsigned long long)want);
            }
        }
        if (wrong)
            print_error(" (%u of %d)\n", wrong, N);
        bad += wrong != 0;
    }
    assert_int_equal(fgetc(file), EOF);
    fclose(file);
    print_message("# %d rows, %d answers; of %u approximations %u are equal\n", (int)VECTORS, (int)VECTORS * N,
                  approximate, equal);
    if (bad)
        fail_msg("%d of %d instructions differ", bad, (int)VECTORS);
    tw_device_close(device);
    tw_runtime_close(&rt);
}

/* The comparison itself: every measure lets its bound through and no more. */
static void comparison_refuses(void **state)
{
    (void)state;
    struct vector row = {'f', "f", MEASURE_ULPS, 2, ""};
    assert_true(close_enough(&row, 0x3f800002, 0x3f800000));
    assert_false(close_enough(&row, 0x3f800003, 0x3f800000));
    assert_true(close_enough(&row, 0x7fffffff, 0x7fc00000));
    assert_false(close_enough(&row, 0x7fffffff, 0x3f800000));
    assert_false(close_enough(&row, 0x7f800000, 0x7f7fffff));
    assert_false(close_enough(&row, 0x80000004, 0x00000000));
    row = (struct vector){'r', "x", MEASURE_RELATIVE, 0x1p-9, ""};
    assert_true(close_enough(&row, 0x3c013c02, 0x3c003c00));
    assert_false(close_enough(&row, 0x3c033c00, 0x3c003c00));
    row = (struct vector){'r', "x", MEASURE_BRAIN, 0x1p-6, ""};
    assert_true(close_enough(&row, 0x3f823f80, 0x3f803f80));
    assert_false(close_enough(&row, 0x3f803f83, 0x3f803f80));
    row = (struct vector){'f', "q", MEASURE_ABSOLUTE, 0x1p-20, ""};
    assert_true(close_enough(&row, 0x35800000, 0));
    assert_false(close_enough(&row, 0x35800001, 0));
    row = (struct vector){'r', "r", MEASURE_EXACT, 0, ""};
    assert_false(close_enough(&row, 1, 0));
}

/* The same with the handlers for any processor. */
static void vectors_equal_without_avx2(void **state)
{
    emu_vectors_limit(EMU_VECTORS_ANY);
    vectors_equal(state);
    emu_vectors_limit(EMU_VECTORS_AVX512);
}

static int record(const char *path)
{
    static uint64_t got[VECTORS][N];
    struct tw_runtime rt;
    struct tw_error error;
    struct tw_device *device;
    if (tw_runtime_init(&rt, &error) || tw_device_open_cuda(&rt, 0, &device, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return 3;
    }
    FILE *out = fopen(path, "wb");
    if (!out || run_on(device, got))
        return 1;
    for (unsigned v = 0; v < VECTORS; v++) {
        uint32_t sum = checksum(&vectors[v]);
        if (fwrite(&sum, sizeof sum, 1, out) != 1)
            return 1;
        for (unsigned i = 0; i < N; i++)
            if (fwrite(&got[v][i], width_of(vectors[v].out), 1, out) != 1)
                return 1;
    }
    return fclose(out) != 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "--record"))
        return record(argv[2]);
    if (argc == 3 && !strcmp(argv[1], "--ptx")) {
        char *ptx = make_ptx();
        FILE *out = fopen(argv[2], "w");
        return !out || fputs(ptx, out) < 0 || fclose(out) != 0;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(comparison_refuses), cmocka_unit_test(vectors_equal),
                                       cmocka_unit_test(vectors_equal_without_avx2)};
    return cmocka_run_group_tests_name("emu vectors", tests, NULL, NULL);
}
