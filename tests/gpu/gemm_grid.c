/* Every kernel of tests/gpu/gemm_grid.lua on every size, on a GPU, against one fp64 reference computed there.
 *
 *     gemm_grid [--arch sm_90a,sm_80] [--kernel NAME]
 *
 * M, N in {0, 1, 17, 64, 100, 128, 257, 512, 1000, 4096}, K in {0, 8, 17, 64, 72, 4096}; random normal inputs: relative
 * Frobenius error; integer inputs: equality. D is poisoned first, and its padding must stay poisoned. Each size runs
 * the variant that a launch would choose and every further one. Architectures that the GPU is not of run through their
 * PTX. At the end one D of more than 2^31 elements, K = 64, integers, from the first bf16 kernel with plain layouts.
 * Ends with "N passed, N failed"; exit status 0, 1, or 3 without a GPU.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/compile.h"
#include "unit/plan/plan_launch.h"

enum { SIZE = 4096, PAD = 64 };
static const int64_t extents[] = {0, 1, 17, 64, 100, 128, 257, 512, 1000, 4096};
static const int64_t depths[] = {0, 8, 17, 64, 72, 4096};
#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

struct test {
    struct compile c;
    struct tw_device *device;
    struct tw_compiled checks;
    struct tw_kernel *fill, *sums, *compare, *large;
    uint64_t a, b, d, out, reference_a, reference_b;
    uint64_t sum[COUNT(depths)]; /* of the current dtype and kind */
    struct tw_error error;
    double worst;                /* error of the current kernel */
    long passed, failed;
};

static void stop(const struct test *t, const char *what)
{
    fprintf(stderr, "gemm_grid: %s: %s\n", what, t->error.text);
    exit(3);
}

#define CHECK(call)                \
    do {                           \
        if ((call) != TW_OK)       \
            stop(t, #call);        \
    } while (0)

static void launch(struct test *t, struct tw_kernel *kernel, uint32_t x, uint32_t y, const void *params, size_t bytes)
{
    struct tw_launch l = {
        .kernel = kernel, .grid = {x, y, 1}, .block = {256, 1, 1}, .params = params, .params_bytes = bytes};
    CHECK(tw_device_launch(t->device, &l, &t->error));
}

static struct tw_kernel *load(struct test *t, const struct tw_compiled *from, const char *entry)
{
    struct tw_kernel *kernel;
    struct tw_load l = {.cubin = from->cubin,
                        .cubin_bytes = from->cubin_bytes,
                        .ptx = from->ptx,
                        .ptx_bytes = from->ptx_bytes,
                        .entry = entry};
    CHECK(tw_device_load(t->device, &l, &kernel, &t->error));
    return kernel;
}

static void compile_checks(struct test *t)
{
    static char source[1 << 16];
    FILE *f = fopen("tests/gpu/gemm_grid.cu", "rb");
    size_t length = f ? fread(source, 1, sizeof source, f) : 0;
    if (f)
        fclose(f);
    struct tw_compile_request request = {.source = source, .source_bytes = length, .name = "/tilewright/gemm_grid.cu",
                                         .entry = "fill", .arch = t->device->arch, .outputs = TW_OUTPUT_CUBIN};
    CHECK(tw_compile_cached(&t->c.rt, &request, &t->checks, &t->error));
    t->fill = load(t, &t->checks, "fill");
    t->sums = load(t, &t->checks, "sums");
    t->compare = load(t, &t->checks, "compare");
    t->large = load(t, &t->checks, "large");
}

static void fill(struct test *t, uint64_t to, int64_t rows, int64_t k, int64_t row_stride, int64_t k_stride,
                 uint64_t seed, int kind, int bf16)
{
    struct {
        uint64_t to;
        int64_t rows, k, row_stride, k_stride;
        uint64_t seed;
        int kind, bf16;
    } params = {to, rows, k, row_stride, k_stride, seed, kind, bf16};
    if (rows > 0 && k > 0)
        launch(t, t->fill, 1024, 1, &params, sizeof params);
}

/* The sums over k of SIZE x SIZE elements for every depth. */
static void make_references(struct test *t, int kind, int bf16)
{
    for (int i = 0; i < COUNT(depths); i++) {
        fill(t, t->reference_a, SIZE, depths[i], depths[i], 1, 1, kind, bf16);
        fill(t, t->reference_b, SIZE, depths[i], depths[i], 1, 2, kind, bf16);
        struct {
            uint64_t a, b, sum;
            int64_t size, k;
            int bf16, unused;
        } params = {t->reference_a, t->reference_b, t->sum[i], SIZE, depths[i], bf16, 0};
        launch(t, t->sums, SIZE / 16, SIZE / 16, &params, sizeof params);
    }
    CHECK(tw_device_synchronize(t->device, &t->error));
}

static int tensor_number(const struct plan *p, const char *name)
{
    for (int i = 0; i < p->tensor_count; i++)
        if (strcmp(p->tensor[i].name, name) == 0)
            return i;
    return -1;
}

/* True where the outer dim of the tensor is the axis that its layout names last by default. */
static bool swapped(const struct plan *p, const char *tensor, const char *first)
{
    return strcmp(p->tensor[tensor_number(p, tensor)].axis[0], first) != 0;
}

static void run_case(struct test *t, const struct compile_unit *unit, struct tw_kernel *kernel, int64_t m, int64_t n,
                     int depth, int kind)
{
    const struct plan *p = &unit->plan;
    const int64_t symbol[4] = {m, n, depths[depth], t->device->sm_count};
    int a = tensor_number(p, "A"), b = tensor_number(p, "B"), d = tensor_number(p, "D");
    struct shape shape[3];
    for (int i = 0; i < 3; i++) {
        CHECK(layout_shape(p, i, symbol, &shape[i], &t->error));
        /* Padded rows: of 16-byte multiples where the variant asks for them, odd ones where it does not. */
        int64_t inner = shape[i].extent[1];
        shape[i].stride[0] = p->tensor[i].align < 16 ? (inner + inner % 3) | 1 : (inner + 7) / 8 * 8 + 8;
    }
    const double scalar[1] = {0};
    const uint64_t address[3] = {a == 0 ? t->a : b == 0 ? t->b : t->d, a == 1 ? t->a : b == 1 ? t->b : t->d,
                                 a == 2 ? t->a : b == 2 ? t->b : t->d};
    struct launch_arguments arguments = {.symbol = symbol, .address = address, .shape = shape, .scalar = scalar};
    if (!launch_fits(p, &arguments))
        return; /* the other variant's case */
    const int bf16 = p->tensor[a].dtype == TW_BF16;
    const bool a_km = swapped(p, "A", "m"), b_kn = swapped(p, "B", "n"), d_nm = swapped(p, "D", "m");
    fill(t, t->a, m, depths[depth], a_km ? 1 : shape[a].stride[0], a_km ? shape[a].stride[0] : 1, 1, kind, bf16);
    fill(t, t->b, n, depths[depth], b_kn ? 1 : shape[b].stride[0], b_kn ? shape[b].stride[0] : 1, 2, kind, bf16);
    const size_t size = tw_dtype_bytes(p->tensor[d].dtype);
    const int64_t memory = shape[d].extent[0] * shape[d].stride[0] + PAD;
    CHECK(tw_device_fill(t->device, t->d, 0xffffffffu, (size_t)memory * size, &t->error));
    CHECK(tw_device_fill(t->device, t->out, 0, 32, &t->error));
    CHECK(launch_plan(t->device, kernel, p, &arguments, NULL, &t->error));
    struct {
        uint64_t d, sum, out;
        int64_t m, n, size, m_stride, n_stride, memory;
        int dtype, unused;
    } params = {t->d,
                t->sum[depth],
                t->out,
                m,
                n,
                SIZE,
                d_nm ? 1 : shape[d].stride[0],
                d_nm ? shape[d].stride[0] : 1,
                memory,
                p->tensor[d].dtype == TW_FP32   ? 0
                : p->tensor[d].dtype == TW_BF16 ? 1
                                                : 2,
                0};
    if (shape[d].stride[0])
        launch(t, t->compare, 1024, 1, &params, sizeof params);
    double out[4];
    CHECK(tw_device_download(t->device, out, t->out, sizeof out, &t->error));
    const double error = out[1] > 0 ? sqrt(out[0] / out[1]) : sqrt(out[0]);
    const double bound = params.dtype == 0 ? 1e-5 : params.dtype == 1 ? 3e-3 : 5e-4;
    const bool good = out[3] == 0 && (kind == 1 ? out[2] == 0 : error <= bound);
    if (kind == 0 && error > t->worst)
        t->worst = error;
    t->passed += good;
    t->failed += !good;
    if (!good && t->failed < 200)
        printf("FAILED %s %s M=%lld,N=%lld,K=%lld %s error %.3g unequal %.0f padding touched %.0f\n", p->entry, p->arch,
               (long long)m, (long long)n, (long long)depths[depth], kind ? "integer" : "normal", error, out[2],
               out[3]);
}

static void run_unit(struct test *t, const struct compile_unit *unit, int kind)
{
    struct tw_kernel *kernel = load(t, &unit->compiled[COMPILE_NVRTC], unit->plan.entry);
    t->worst = 0;
    long failed = t->failed, passed = t->passed;
    for (int m = 0; m < COUNT(extents); m++)
        for (int n = 0; n < COUNT(extents); n++)
            for (int k = 0; k < COUNT(depths); k++)
                run_case(t, unit, kernel, extents[m], extents[n], k, kind);
    CHECK(tw_device_synchronize(t->device, &t->error));
    /* The variant that asks least takes every size. */
    if (unit->plan.variant[0] &&
        t->passed - passed + t->failed - failed != COUNT(extents) * COUNT(extents) * COUNT(depths)) {
        printf("FAILED %s %s: not every size was run\n", unit->plan.entry, unit->plan.arch);
        t->failed++;
    }
    printf("%s %s %s: %ld cases, %ld failed, worst error %.2e\n", unit->plan.entry, unit->plan.arch,
           kind ? "integer" : "normal", t->passed - passed + t->failed - failed, t->failed - failed, t->worst);
    fflush(stdout);
    tw_device_unload(t->device, kernel);
}

/* M x N = 65552 x 32768 elements of D, 2^31 + 2^19. */
static void run_large(struct test *t, const struct compile_unit *unit)
{
    const struct plan *p = &unit->plan;
    const int64_t m = 65552, n = 32768, k = 64, symbol[4] = {m, n, k, t->device->sm_count};
    struct tw_kernel *kernel = load(t, &unit->compiled[COMPILE_NVRTC], p->entry);
    uint64_t address[3];
    struct shape shape[3];
    for (int i = 0; i < 3; i++) {
        CHECK(layout_shape(p, i, symbol, &shape[i], &t->error));
        CHECK(tw_device_alloc(t->device, (size_t)shape_span(&shape[i]) * 2, &address[i], &t->error));
    }
    fill(t, address[0], m, k, k, 1, 1, 1, 1);
    fill(t, address[1], n, k, k, 1, 2, 1, 1);
    CHECK(tw_device_fill(t->device, address[2], 0xffffffffu, (size_t)m * (size_t)n * 2, &t->error));
    CHECK(tw_device_fill(t->device, t->out, 0, 8, &t->error));
    const double scalar[1] = {0};
    struct launch_arguments arguments = {.symbol = symbol, .address = address, .shape = shape, .scalar = scalar};
    CHECK(launch_plan(t->device, kernel, p, &arguments, NULL, &t->error));
    struct {
        uint64_t a, b, d, out;
        int64_t m, n, k;
    } params = {address[0], address[1], address[2], t->out, m, n, k};
    launch(t, t->large, 4096, 1, &params, sizeof params);
    double unequal;
    CHECK(tw_device_download(t->device, &unequal, t->out, sizeof unequal, &t->error));
    printf("%s %s M=%lld,N=%lld,K=%lld: %lld elements, %.0f unequal\n", p->entry, p->arch, (long long)m, (long long)n,
           (long long)k, (long long)(m * n), unequal);
    t->passed += unequal == 0;
    t->failed += unequal != 0;
    for (int i = 0; i < 3; i++)
        tw_device_free(t->device, address[i]);
    tw_device_unload(t->device, kernel);
}

int main(int argc, char **argv)
{
    static struct test test;
    struct test *t = &test;
    struct compile_choice choice = {0};
    const char *spec = "tests/gpu/gemm_grid.lua";
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--arch") == 0)
            choice.arch = argv[i + 1];
        else if (strcmp(argv[i], "--kernel") == 0)
            choice.kernel = argv[i + 1];
        else if (strcmp(argv[i], "--spec") == 0)
            spec = argv[i + 1];
    }
    if (compile_open(&t->c, "gemm_grid", spec) || compile_units(&t->c, &choice)) {
        compile_report(&t->c);
        return 1;
    }
    if (tw_device_open_cuda(&t->c.rt, 0, &t->device, &t->error) != TW_OK)
        stop(t, "no GPU");
    for (int i = 0; i < t->c.unit_count; i++) {
        t->c.unit[i].wanted = t->c.unit[i].emitted;
        t->c.unit[i].outputs = strcmp(t->c.unit[i].arch->name, t->device->arch) == 0 ? TW_OUTPUT_CUBIN : TW_OUTPUT_PTX;
    }
    double before = compile_clock();
    if (compile_cubins(&t->c, COMPILE_NVRTC)) {
        compile_report(&t->c);
        return 1;
    }
    printf("%d kernels compiled in %.1f s\n", t->c.unit_count, compile_clock() - before);
    compile_checks(t);
    const size_t half = (size_t)(SIZE + PAD) * (SIZE + PAD) * 2;
    CHECK(tw_device_alloc(t->device, half, &t->a, &t->error));
    CHECK(tw_device_alloc(t->device, half, &t->b, &t->error));
    CHECK(tw_device_alloc(t->device, half, &t->reference_a, &t->error));
    CHECK(tw_device_alloc(t->device, half, &t->reference_b, &t->error));
    CHECK(tw_device_alloc(t->device, 2 * half, &t->d, &t->error));
    CHECK(tw_device_alloc(t->device, 256, &t->out, &t->error));
    for (int i = 0; i < COUNT(depths); i++)
        CHECK(tw_device_alloc(t->device, (size_t)SIZE * SIZE * 8, &t->sum[i], &t->error));
    for (int bf16 = 0; bf16 < 2; bf16++)
        for (int kind = 0; kind < 2; kind++) {
            make_references(t, kind, bf16);
            for (int i = 0; i < t->c.unit_count; i++) {
                const struct compile_unit *unit = &t->c.unit[i];
                if (unit->wanted && (unit->plan.tensor[tensor_number(&unit->plan, "A")].dtype == TW_BF16) == bf16)
                    run_unit(t, unit, kind);
            }
        }
    for (int i = 0; i < t->c.unit_count; i++)
        if (strncmp(t->c.unit[i].plan.entry, "gemm_bf16_bf16_mk_nk_mn", 23) == 0)
            run_large(t, &t->c.unit[i]);
    printf("%ld passed, %ld failed\n", t->passed, t->failed);
    return t->failed != 0;
}
