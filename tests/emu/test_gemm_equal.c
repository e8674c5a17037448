/* Whole GEMMs on the emulator against an H200, bit for bit: every layout and type of tests/gpu/gemm_grid.lua and every
   kernel of specs/gemm.lua, both architectures (those of sm_80 ran there as PTX), both variants, on ragged sizes and at
   K = 4096, on integers, on numbers of one magnitude and on numbers of many.

   tests/golden/gemm_equal.txt holds a line for each output tensor: entry, architecture, sizes, inputs, tensor, and the
   XXH3 of its memory, poisoned padding included. Where the epilogue has approximations (.approx functions), the line
   ends in `at OFFSET` instead: its dense elements stand in gemm_equal.bin, and may differ by what the approximations
   allow. Taken anew where a GPU is:
       test_gemm_equal --record DIRECTORY        writes both files there
   A selection is run, with sanitizers of each kernel one kind of inputs; TW_TEST_ALL=1 runs every line. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/check.h"
#include "unit/rounds.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "compile/compile.h"
#include "unit/plan/plan_launch.h"
#include "emu/emu.h"

enum inputs { INTEGERS, NORMAL, WIDE, INPUT_KINDS };
static const char *const input_word[] = {"integers", "normal", "wide"};

static const struct {
    int64_t m, n, k;
    int approximate; /* of kernels with approximations only: kept as they are; 0: of the others */
    unsigned inputs; /* bits */
} sizes[] = {{131, 259, 197, 0, 7}, {128, 136, 4096, 0, 3}, {67, 75, 104, 1, 3}};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static const char *const specs[] = {"tests/gpu/gemm_grid.lua", "specs/gemm.lua"};

struct golden {
    char *line; /* "ENTRY ARCH SIZES INPUTS TENSOR" */
    uint64_t hash, offset;
    int raw;
};

struct run {
    struct compile c;
    struct tw_device *device;
    FILE *lines, *raw;     /* recording */
    struct golden *golden; /* comparing */
    size_t golden_count;
    unsigned char *golden_raw;
    size_t golden_raw_bytes;
    uint64_t tensors, elements, approximate, unlike, failed;
    double worst; /* of the approximations: difference over what is allowed */
    struct tw_error error;
};

/* ---- Inputs: by integer arithmetic alone, so that they are the same on every machine -------------------------- */

static uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static double draw(enum inputs kind, uint64_t tensor, uint64_t element)
{
    uint64_t x = mix(mix((tensor + 1) * UINT64_C(0x9e3779b97f4a7c15)) + element * UINT64_C(0xd1b54a32d192ed03));
    if (kind == INTEGERS)
        return (double)(int)(x % 17) - 8.0;
    if (kind == NORMAL) /* the sum of four */
        return (double)((int64_t)(x & 0xffff) + (int64_t)(x >> 16 & 0xffff) + (int64_t)(x >> 32 & 0xffff) +
                        (int64_t)(x >> 48) - 131070) /
               32768.0;
    return ldexp((double)(int64_t)(1024 + (x & 0x3ff)), (int)(x >> 10 & 15) - 23) * (x >> 14 & 1 ? -1.0 : 1.0);
}

/* ---- One case ------------------------------------------------------------------------------------------------- */

static int is_approximate(const struct plan *p)
{
    return strstr(p->kernel, "silu") || strstr(p->kernel, "gelu") || strstr(p->kernel, "two_outputs");
}

static int is_kept_raw(const struct plan *p, int tensor)
{
    return is_approximate(p) && strcmp(p->tensor[tensor].name, "E") != 0;
}

/* One unit in the last place of bf16, and what cancellation leaves of an approximation near 0. */
static double allowed(double want)
{
    return fabs(want) * 0x1p-7 + 0x1p-24;
}

static void told(struct run *r, const char *key, const char *what)
{
    if (r->failed++ < 20)
        fprintf(stderr, "%s: %s\n", key, what);
}

static void judge_raw(struct run *r, const char *key, const struct golden *g, enum tw_dtype dtype,
                      const unsigned char *got, size_t count)
{
    size_t size = tw_dtype_bytes(dtype);
    if (!g->raw || g->offset + count * size > r->golden_raw_bytes) {
        told(r, key, "no elements in tests/golden/gemm_equal.bin");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const unsigned char *want = r->golden_raw + g->offset + i * size;
        double x = tw_dtype_load(dtype, got + i * size), y = tw_dtype_load(dtype, want);
        r->unlike += memcmp(got + i * size, want, size) != 0;
        double ratio = fabs(x - y) / allowed(y);
        if (!(ratio <= 1)) {
            char text[128];
            snprintf(text, sizeof text, "element %zu is %g, an H200 gives %g", i, x, y);
            told(r, key, text);
            return;
        }
        if (ratio > r->worst)
            r->worst = ratio;
    }
    r->approximate += count;
}

static const struct golden *find(const struct run *r, const char *key)
{
    for (size_t i = 0; i < r->golden_count; i++)
        if (!strcmp(r->golden[i].line, key))
            return &r->golden[i];
    return NULL;
}

/* Records or compares one output; `memory` is all of it, `shape` where elements stand. */
static void finish(struct run *r, const char *key, const struct plan *p, int tensor, const struct shape *shape,
                   const unsigned char *memory, size_t bytes)
{
    enum tw_dtype dtype = p->tensor[tensor].dtype;
    size_t size = tw_dtype_bytes(dtype), count = (size_t)shape_count(shape);
    int raw = is_kept_raw(p, tensor);
    unsigned char *dense = malloc(count * size);
    assert_non_null(dense);
    struct shape_walk walk;
    shape_seek(&walk, shape, 0);
    for (size_t i = 0; i < count; i++, shape_next(&walk))
        memcpy(dense + i * size, memory + (size_t)walk.offset * size, size);
    uint64_t hash = XXH3_64bits(memory, bytes);
    if (r->lines && raw) {
        fprintf(r->lines, "%s at %ld\n", key, ftell(r->raw));
        fwrite(dense, size, count, r->raw);
    } else if (r->lines) {
        fprintf(r->lines, "%s %016llx\n", key, (unsigned long long)hash);
    } else {
        const struct golden *g = find(r, key);
        if (!g)
            told(r, key, "no such line in tests/golden/gemm_equal.txt");
        else if (raw)
            judge_raw(r, key, g, dtype, dense, count);
        else if (g->raw || g->hash != hash)
            told(r, key, "the results are not an H200's");
        else
            r->elements += count;
    }
    r->tensors++;
    free(dense);
}

static int run_case(struct run *r, const struct compile_unit *unit, struct tw_kernel *kernel, int size,
                    enum inputs kind)
{
    enum { TENSORS = 8 };
    const struct plan *p = &unit->plan;
    int64_t up = p->variant[0] ? 0 : 7; /* the first variant wants rows of whole 16 bytes */
    const int64_t symbol[4] = {(sizes[size].m + up) & ~up, (sizes[size].n + up) & ~up, sizes[size].k,
                               r->device->sm_count};
    struct shape shape[TENSORS];
    uint64_t address[TENSORS] = {0};
    size_t bytes[TENSORS];
    unsigned char *host[TENSORS] = {0};
    double scalar[TENSORS] = {0};
    int status = TW_OK;
    assert_true(p->tensor_count <= TENSORS && p->scalar_count <= TENSORS);
    for (int i = 0; i < p->scalar_count; i++)
        scalar[i] = p->scalar[i].value;
    for (int i = 0; i < p->tensor_count && !status; i++) {
        size_t element = tw_dtype_bytes(p->tensor[i].dtype);
        status = layout_shape(p, i, symbol, &shape[i], &r->error);
        if (status)
            break;
        int64_t inner = shape[i].extent[shape[i].rank - 1], step = (int64_t)p->tensor[i].align / (int64_t)element;
        step = step > 0 ? step : 1;
        if (shape[i].rank == 2)
            shape[i].stride[0] = (inner + step - 1) / step * step + step;
        bytes[i] = ((size_t)shape[i].extent[0] * (size_t)shape[i].stride[0] * element + 64 + 3) / 4 * 4;
        host[i] = malloc(bytes[i]);
        assert_non_null(host[i]);
        memset(host[i], 0xff, bytes[i]);
        struct shape_walk walk;
        shape_seek(&walk, &shape[i], 0);
        for (int64_t e = 0; !p->tensor[i].out && e < shape_count(&shape[i]); e++, shape_next(&walk))
            tw_dtype_store(p->tensor[i].dtype, host[i] + (size_t)walk.offset * element,
                           draw(kind, (uint64_t)i, (uint64_t)e));
        status = tw_device_alloc(r->device, bytes[i], &address[i], &r->error);
        if (!status)
            status = tw_device_upload(r->device, address[i], host[i], bytes[i], &r->error);
    }
    struct launch_arguments arguments = {.symbol = symbol, .address = address, .shape = shape, .scalar = scalar};
    int fits = !status && launch_fits(p, &arguments);
    if (fits)
        status = launch_plan(r->device, kernel, p, &arguments, NULL, &r->error);
    if (fits && !status)
        status = tw_device_synchronize(r->device, &r->error);
    for (int i = 0; i < p->tensor_count; i++) {
        if (fits && !status && p->tensor[i].out) {
            char key[256];
            snprintf(key, sizeof key, "%s %s M=%lld,N=%lld,K=%lld %s %s", p->entry, p->arch, (long long)symbol[0],
                     (long long)symbol[1], (long long)symbol[2], input_word[kind], p->tensor[i].name);
            status = tw_device_download(r->device, host[i], address[i], bytes[i], &r->error);
            if (!status)
                finish(r, key, p, i, &shape[i], host[i], bytes[i]);
        }
        tw_device_free(r->device, address[i]);
        free(host[i]);
    }
    if (!status && !fits)
        told(r, p->entry, "its variant does not take the arguments");
    if (status)
        fprintf(stderr, "%s %s: %s\n", p->entry, p->arch, r->error.text);
    return status;
}

/* ---- All cases of a spec -------------------------------------------------------------------------------------- */

/* Whether a unit is of the selection: of the grid, whose units are 4 pairs of types x 8 layouts x 2 variants, one in
   eight, each type and each layout; of specs/gemm.lua what has a word behind the type, on one architecture each. */
static int selected(int spec, int index, const struct compile_unit *unit)
{
    int variant = index % 2, layout = index / 2 % 8, type = index / 16, old = !strcmp(unit->arch->name, "sm_80");
    if (spec == 0)
        return (layout + type) % 4 == 0 && variant == (layout / 4 + old) % 2;
    return !variant && (is_approximate(&unit->plan) || index / 2 % 2 == old);
}

/* Whether a kernel of the selection runs at that size on those inputs. */
static int takes(int spec, int index, int size, enum inputs kind)
{
    if (TW_TESTS_SANITIZED)
        return sizes[size].k < 4096 && (int)kind == index / 2 % (sizes[size].approximate ? 2 : 3);
    return sizes[size].k < 4096 || (spec == 0 && kind == NORMAL && index % 3 == 0);
}

static int run_spec(struct run *r, int spec, const char *arch, int all)
{
    struct compile_choice choice = {.arch = arch, .own = true};
    int failed = compile_open(&r->c, "test_gemm_equal", specs[spec]) || compile_units(&r->c, &choice);
    if (!failed) {
        int cuda = r->lines != NULL;
        for (int i = 0; i < r->c.unit_count; i++) {
            struct compile_unit *u = &r->c.unit[i];
            u->wanted = u->emitted && (all || selected(spec, i, u));
            u->outputs = cuda && !strcmp(arch, r->device->arch) ? TW_OUTPUT_CUBIN : TW_OUTPUT_PTX;
        }
        failed = compile_cubins(&r->c, COMPILE_NVRTC);
    }
    compile_report(&r->c);
    for (int i = 0; !failed && i < r->c.unit_count; i++) {
        const struct compile_unit *u = &r->c.unit[i];
        const struct tw_compiled *from = &u->compiled[COMPILE_NVRTC];
        struct tw_kernel *kernel = NULL;
        struct tw_load load = {.cubin = from->cubin,
                               .cubin_bytes = from->cubin_bytes,
                               .ptx = from->ptx,
                               .ptx_bytes = from->ptx_bytes,
                               .entry = u->plan.entry};
        if (!u->wanted)
            continue;
        failed = tw_device_load(r->device, &load, &kernel, &r->error);
        if (failed)
            fprintf(stderr, "%s %s: %s\n", u->plan.entry, u->plan.arch, r->error.text);
        for (int s = 0; !failed && s < SIZES; s++)
            for (int kind = 0; !failed && kind < INPUT_KINDS; kind++)
                if ((sizes[s].inputs >> kind & 1) && sizes[s].approximate == is_approximate(&u->plan) &&
                    (all || takes(spec, i, s, (enum inputs)kind)))
                    failed = run_case(r, u, kernel, s, (enum inputs)kind);
        if (kernel)
            tw_device_unload(r->device, kernel);
    }
    compile_close(&r->c);
    return failed;
}

static void read_golden(struct run *r)
{
    char line[512];
    FILE *f = fopen("tests/golden/gemm_equal.txt", "r"), *raw = fopen("tests/golden/gemm_equal.bin", "rb");
    assert_non_null(f);
    assert_non_null(raw);
    while (fgets(line, sizeof line, f)) {
        r->golden = realloc(r->golden, (r->golden_count + 1) * sizeof *r->golden);
        assert_non_null(r->golden);
        struct golden *g = &r->golden[r->golden_count++];
        char *last = strrchr(line, ' ');
        assert_non_null(last);
        *last = 0;
        *g = (struct golden){.hash = strtoull(last + 1, NULL, 16), .offset = strtoull(last + 1, NULL, 10)};
        g->raw = strlen(line) > 3 && !strcmp(line + strlen(line) - 3, " at");
        if (g->raw)
            line[strlen(line) - 3] = 0;
        g->line = strdup(line);
        assert_non_null(g->line);
    }
    fclose(f);
    fseek(raw, 0, SEEK_END);
    r->golden_raw_bytes = (size_t)ftell(raw);
    rewind(raw);
    r->golden_raw = malloc(r->golden_raw_bytes + 1);
    assert_non_null(r->golden_raw);
    assert_int_equal(fread(r->golden_raw, 1, r->golden_raw_bytes, raw), r->golden_raw_bytes);
    fclose(raw);
}

static void forget_golden(struct run *r)
{
    for (size_t i = 0; i < r->golden_count; i++)
        free(r->golden[i].line);
    free(r->golden);
    free(r->golden_raw);
}

/* What the comparison of approximations lets through: nothing beyond its bound, and no NaN. */
static void differences_are_told(void **state)
{
    (void)state;
    enum { COUNT = 64 };
    struct run r = {0};
    uint16_t got[COUNT];
    size_t first = 0, at = 0;
    read_golden(&r);
    while (first < r.golden_count && !r.golden[first].raw)
        first++;
    assert_true(first < r.golden_count);
    const struct golden *g = &r.golden[first];
    assert_ptr_equal(find(&r, g->line), g);
    assert_null(find(&r, "gemm_bf16 sm_90a"));
    memcpy(got, r.golden_raw + g->offset, sizeof got);
    while (at + 1 < COUNT && (got[at] & 0x7fff) < 0x3f80) /* an element of magnitude 1 and more */
        at++;
    judge_raw(&r, "the same", g, TW_BF16, (const unsigned char *)got, COUNT);
    assert_true(r.failed == 0 && r.unlike == 0);
    got[at] ^= 1;
    judge_raw(&r, "a unit in the last place", g, TW_BF16, (const unsigned char *)got, COUNT);
    assert_true(r.failed == 0 && r.unlike == 1);
    got[at] ^= 4;
    judge_raw(&r, "planted: some units", g, TW_BF16, (const unsigned char *)got, COUNT);
    assert_true(r.failed == 1);
    got[at] = 0x7fff;
    judge_raw(&r, "planted: NaN", g, TW_BF16, (const unsigned char *)got, COUNT);
    assert_true(r.failed == 2);
    forget_golden(&r);
}

static void equal_on(const char *arch)
{
    struct run r = {0};
    struct tw_runtime rt;
    const char *every = getenv("TW_TEST_ALL");
    int all = every && *every == '1';
    struct emu_options options = {.arch = arch};
    assert_int_equal(tw_runtime_init(&rt, &r.error), TW_OK);
    assert_int_equal(tw_device_open_emu(&rt, &options, &r.device, &r.error), TW_OK);
    read_golden(&r);
    for (int spec = 0; spec < 2; spec++)
        assert_int_equal(run_spec(&r, spec, arch, all), 0);
    print_message(
        "# %s: %llu tensors, %llu results equal; of %llu with approximations %llu differ, by %.3g of the bound\n", arch,
        (unsigned long long)r.tensors, (unsigned long long)r.elements, (unsigned long long)r.approximate,
        (unsigned long long)r.unlike, r.worst);
    assert_int_equal(r.failed, 0);
    assert_true(r.elements > 0 && r.approximate > 0);
    forget_golden(&r);
    tw_device_close(r.device);
    tw_runtime_close(&rt);
}

static void equal_sm_90a(void **state)
{
    (void)state;
    equal_on("sm_90a");
}

static void equal_sm_80(void **state)
{
    (void)state;
    equal_on("sm_80");
}

static int record(const char *directory)
{
    struct run r = {0};
    struct tw_runtime rt;
    char path[4096];
    if (tw_runtime_init(&rt, &r.error) || tw_device_open_cuda(&rt, 0, &r.device, &r.error)) {
        fprintf(stderr, "%s\n", r.error.text);
        return 3;
    }
    snprintf(path, sizeof path, "%s/gemm_equal.txt", directory);
    r.lines = fopen(path, "w");
    snprintf(path, sizeof path, "%s/gemm_equal.bin", directory);
    r.raw = fopen(path, "wb");
    if (!r.lines || !r.raw)
        return 1;
    for (int spec = 0; spec < 2; spec++)
        if (run_spec(&r, spec, "sm_90a", 1) || run_spec(&r, spec, "sm_80", 1))
            return 1;
    return (fclose(r.lines) | fclose(r.raw)) != 0 || r.failed != 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "--record"))
        return record(argv[2]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(differences_are_told), cmocka_unit_test(equal_sm_90a),
                                       cmocka_unit_test(equal_sm_80)};
    return cmocka_run_group_tests_name("emu gemm equal", tests, NULL, NULL);
}
