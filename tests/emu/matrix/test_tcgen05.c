/* tcgen05 and tensor memory (sm_100a): descriptors and places one by one, and kernels on the emulator.

   Products of integers are exact whatever the order of additions, so that results are compared bit by bit: every
   swizzle, both majors, M 64 and 128, several N and types, A from both memories, in three completion modes. Kernels of
   tcgen05/bugs.def have their hazard under its name where BUG is 1 and none where it is 0. With names as arguments,
   these kernels alone. */
#include "emu/async/tcgen05.h"
#include "tensormap/tensormap.h"

#include "emu/execute.h"

/* ---- Descriptors and places -------------------------------------------------------------------------------------- */

static uint32_t descriptor_of(unsigned d, unsigned a, unsigned b, unsigned m, unsigned n)
{
    return d << 4 | a << 7 | b << 10 | n / 8 << 17 | m / 16 << 24;
}

static void descriptors(void **state)
{
    (void)state;
    struct emu_tcgen05_mma mma;
    struct emu_fault fault;
    /* Words that CUTLASS's make_instr_desc gives for bf16 x bf16 -> f32, 128 x 256, and for e4m3 with B transposed. */
    assert_int_equal(emu_tcgen05_decode(EMU_TCGEN05_F16, 0x08400490, &mma, &fault), EMU_FAULT_NONE);
    assert_int_equal(mma.m, 128);
    assert_int_equal(mma.n, 256);
    assert_int_equal(mma.k, 16);
    assert_string_equal(emu_tc_rows[mma.kind].name, "WGMMA_F32_BF16");
    assert_int_equal(emu_tcgen05_decode(EMU_TCGEN05_F8F6F4, 0x04110010 | 1u << 13, &mma, &fault), EMU_FAULT_NONE);
    assert_int_equal(mma.m, 64);
    assert_int_equal(mma.n, 64);
    assert_int_equal(mma.k, 32);
    assert_true(mma.trans_b && !mma.trans_a && mma.negate_a && !mma.negate_b && mma.bytes == 1);
    static const struct {
        enum emu_tcgen05_kind kind;
        unsigned d, a, b, m, n;
        uint32_t more;
        const char *text; /* what is wrong; NULL: nothing */
    } cases[] = {
        {EMU_TCGEN05_F16, 1, 0, 0, 128, 8, 0, NULL},
        {EMU_TCGEN05_F16, 0, 0, 0, 64, 248, 0, NULL},
        {EMU_TCGEN05_F16, 0, 1, 1, 64, 248, 0, "type 0 for D"},
        {EMU_TCGEN05_F16, 1, 0, 1, 64, 8, 0, "type 1 for D, which A and B do not go with"},
        {EMU_TCGEN05_F16, 1, 2, 2, 64, 8, 0, "type 2 for A or B"},
        {EMU_TCGEN05_F16, 1, 0, 0, 256, 8, 0, "M = 256"},
        {EMU_TCGEN05_F16, 1, 0, 0, 128, 264, 0, "N = 264"},
        {EMU_TCGEN05_F16, 1, 0, 0, 128, 0, 0, "N = 0"},
        {EMU_TCGEN05_F16, 1, 0, 0, 128, 64, 1u << 2, "sparse"},
        {EMU_TCGEN05_F16, 1, 0, 0, 128, 64, 1u << 3, "saturates"},
        {EMU_TCGEN05_TF32, 1, 2, 2, 128, 64, 0, NULL},
        {EMU_TCGEN05_TF32, 1, 2, 2, 128, 64, 1u << 15, "transposes"},
        {EMU_TCGEN05_TF32, 0, 2, 2, 128, 64, 0, "type 0 for D"},
        {EMU_TCGEN05_F8F6F4, 0, 0, 1, 128, 24, 0, NULL},
        {EMU_TCGEN05_F8F6F4, 1, 0, 1, 128, 24, 1u << 16, "N = 24"},
        {EMU_TCGEN05_F8F6F4, 1, 3, 0, 128, 64, 0, "type 3 for A or B"},
        {EMU_TCGEN05_F8F6F4, 1, 0, 5, 128, 64, 0, "type 5 for A or B"},
        {EMU_TCGEN05_I8, 2, 1, 0, 128, 48, 1u << 3, NULL},
        {EMU_TCGEN05_I8, 2, 1, 1, 128, 40, 0, "N = 40"},
        {EMU_TCGEN05_I8, 2, 1, 1, 128, 32, 1u << 14, "negates"},
        {EMU_TCGEN05_I8, 1, 1, 1, 128, 32, 0, "type 1 for D"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t bits = descriptor_of(cases[i].d, cases[i].a, cases[i].b, cases[i].m, cases[i].n) | cases[i].more;
        enum emu_fault_kind kind = emu_tcgen05_decode(cases[i].kind, bits, &mma, &fault);
        assert_int_equal(kind, cases[i].text ? EMU_FAULT_ILLEGAL : EMU_FAULT_NONE);
        if (cases[i].text && !strstr(fault.text, cases[i].text))
            fail_msg("case %zu: '%s' does not say '%s'", i, fault.text, cases[i].text);
        if (!kind)
            assert_true(mma.m == cases[i].m && mma.n == cases[i].n && mma.k * mma.bytes == 32);
    }
}

static void matrix_descriptors(void **state)
{
    (void)state;
    struct emu_fault fault;
    static const struct {
        uint64_t bits;
        const char *text;
    } cases[] = {
        {UINT64_C(1) << 46, NULL},
        {UINT64_C(1) << 46 | UINT64_C(2) << 61, NULL},
        {UINT64_C(1) << 46 | UINT64_C(4) << 61, NULL},
        {UINT64_C(1) << 46 | UINT64_C(6) << 61, NULL},
        {0, "bits 46 to 48"},
        {UINT64_C(1) << 46 | UINT64_C(1) << 61, "swizzle mode 1"},
        {UINT64_C(1) << 46 | UINT64_C(7) << 61, "swizzle mode 7"},
        {UINT64_C(1) << 46 | UINT64_C(1) << 52, "leading offset"},
    };
    static const uint32_t spans[] = {0, 128, 64, 32};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        enum emu_fault_kind kind = emu_tcgen05_check(cases[i].bits, "A", &fault);
        assert_int_equal(kind, cases[i].text ? EMU_FAULT_ILLEGAL : EMU_FAULT_NONE);
        if (cases[i].text)
            assert_non_null(strstr(fault.text, cases[i].text));
        struct emu_descriptor d;
        emu_descriptor_decode(cases[i].bits, &d);
        if (!kind)
            assert_int_equal(d.span, spans[i]);
    }
}

/* Each shape's registers fill their lanes and columns once, and 16x256b is mma.sync's accumulator. */
static void places(void **state)
{
    (void)state;
    for (int s = EMU_TENSOR_32X32B; s <= EMU_TENSOR_16X256B; s++) {
        enum emu_tensor_shape shape = (enum emu_tensor_shape)s;
        unsigned each = emu_tensor_registers(shape), rows = emu_tensor_rows(shape), columns = 4 * each * 32 / rows;
        uint8_t seen[32][64] = {{0}};
        for (unsigned t = 0; t < 32; t++)
            for (unsigned i = 0; i < 4 * each; i++) {
                struct emu_place p = emu_tensor_place(shape, t, i), c = emu_fragment_place_c(32, t, i, 0);
                assert_true(p.row < rows && p.column < columns && !seen[p.row][p.column]++);
                assert_int_equal(p.column / (columns / 4), i / each); /* repetitions follow each other */
                if (shape == EMU_TENSOR_16X256B)
                    assert_true(p.row == c.row && p.column == c.column);
            }
    }
    /* As CUTLASS's Copy_Traits<SM100_TMEM_LOAD_16dp64b1x, 16dp128b1x> have them. */
    assert_int_equal(emu_tensor_place(EMU_TENSOR_16X64B, 1, 0).row, 8);
    assert_int_equal(emu_tensor_place(EMU_TENSOR_16X64B, 2, 0).column, 1);
    assert_int_equal(emu_tensor_place(EMU_TENSOR_16X64B, 4, 1).row, 1);
    assert_int_equal(emu_tensor_place(EMU_TENSOR_16X64B, 4, 1).column, 2);
    assert_int_equal(emu_tensor_place(EMU_TENSOR_16X128B, 5, 1).row, 9);
    assert_int_equal(emu_tensor_place(EMU_TENSOR_16X128B, 5, 2).column, 5);
}

static void columns(void **state)
{
    (void)state;
    static struct emu_tensor_memory memory;
    memset(&memory, 0, sizeof memory);
    assert_int_equal(emu_tensor_alloc(&memory, 1, 256), 0);
    assert_int_equal(emu_tensor_alloc(&memory, 2, 128), 256);
    assert_int_equal(emu_tensor_alloc(&memory, 1, 32), 384);
    assert_int_equal(emu_tensor_alloc(&memory, 3, 128), -1);
    assert_int_equal(memory.word[127][511], 0);
    assert_int_equal(memory.word[127][0], 0xffffffff);
    assert_true(emu_tensor_owns(&memory, 1, 0, 256) && !emu_tensor_owns(&memory, 1, 0, 257));
    assert_true(!emu_tensor_owns(&memory, 1, 256, 1) && !emu_tensor_owns(&memory, 3, 500, 12));
    assert_true(!emu_tensor_owns(&memory, 1, 511, 2) && !emu_tensor_owns(&memory, 1, 0xffff, 8));
    assert_int_equal(emu_tensor_owned(&memory, 1), 288);
    assert_int_equal(emu_tensor_free(&memory, 2, 0, 256), -1);
    assert_int_equal(emu_tensor_free(&memory, 1, 0, 128), -1); /* a part */
    assert_int_equal(emu_tensor_free(&memory, 1, 128, 128), -1);
    assert_int_equal(emu_tensor_free(&memory, 1, 0, 256), 0);
    assert_int_equal(emu_tensor_free(&memory, 1, 0, 256), -1); /* again */
    assert_int_equal(emu_tensor_alloc(&memory, 3, 128), 0);
    assert_int_equal(emu_tensor_alloc(&memory, 3, 128), 128);
    emu_tensor_drop(&memory, 3);
    assert_int_equal(emu_tensor_alloc(&memory, 4, 256), 0);
}

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */

static char common[24576], ring[8192]; /* tcgen05/common.cuh, tcgen05/ring.cuh */

static void read_text(const char *path, char *to, size_t room)
{
    FILE *file = fopen(path, "r");
    size_t bytes = file ? fread(to, 1, room - 1, file) : 0;
    assert_in_range(bytes, 1, room - 2);
    fclose(file);
}

static const struct emu_options modes[] = {
    {.completion = EMU_EAGER, .hazards = EMU_HAZARDS_STRICT},
    {.completion = EMU_LATE, .hazards = EMU_HAZARDS_STRICT},
    {.completion = EMU_RANDOM, .hazards = EMU_HAZARDS_STRICT, .seed = 3},
};
enum { MODES = sizeof modes / sizeof modes[0] };

static char **asked; /* names; NULL: all */

static int wanted(const char *id)
{
    for (char **name = asked; name && *name; name++)
        if (!strcmp(*name, id))
            return 1;
    return !asked;
}

struct type {
    const char *name;
    enum tw_dtype dtype;
    unsigned bytes, code;
    const char *kind;
};
static const struct type types[] = {
    {"f16", TW_FP16, 2, 0, "kind::f16"},         {"bf16", TW_BF16, 2, 1, "kind::f16"},
    {"tf32", TW_FP32, 4, 2, "kind::tf32"},       {"e4m3", TW_FP8_E4M3, 1, 0, "kind::f8f6f4"},
    {"e5m2", TW_FP8_E5M2, 1, 1, "kind::f8f6f4"}, {"s8", TW_INT8, 1, 1, "kind::i8"},
};

/* One product. d: 0 f16, 1 f32, 2 s32. swizzles: span in bytes, 0 none. flags: what GEMM's text asks of them. */
struct product {
    const char *type;
    unsigned d, m, n, k, span_a, span_b, trans_a, trans_b;
    const char *flags;
};

static const struct product products[] = {
#define PRODUCT(type, d, m, n, k, span_a, span_b, trans_a, trans_b, flags)                                             \
    {#type, d, m, n, k, span_a, span_b, trans_a, trans_b, flags},
#include "tcgen05/products.def"
#undef PRODUCT
};

static const struct type *type_of(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (!strcmp(types[i].name, name))
            return &types[i];
    fail_msg("no type %s", name);
    return NULL;
}

static void fill(const struct type *type, unsigned char *bytes, int *value, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        value[i] = (int)(lab_draw() % 7) - 3;
        tw_dtype_store(type->dtype, bytes + i * type->bytes, (double)value[i]);
    }
}

/* What was found, as "NAME NAME ". */
static void reports_of(struct lab *lab, char *found, size_t room)
{
    const struct emu_report *report;
    size_t n = 0;
    *found = 0;
    for (size_t i = 0; (report = emu_device_report(lab->device, i)) && n < room; i++)
        n += (size_t)snprintf(found + n, room - n, "%s ", report->name);
}

enum { MOST = 256 * 256 };

static void check_product(const struct product *p, const struct emu_options *options)
{
    static int a[MOST], b[MOST];
    static unsigned char a_bytes[4 * MOST], b_bytes[4 * MOST];
    static uint32_t d[MOST];
    static char source[32768];
    const struct type *type = type_of(p->type);
    struct lab lab;
    struct tw_error error;
    fill(type, a_bytes, a, (size_t)p->m * p->k);
    fill(type, b_bytes, b, (size_t)p->n * p->k);
    uint32_t descriptor = descriptor_of(p->d, type->code, type->code, p->m, p->n) | p->trans_a << 15 | p->trans_b << 16;
    int bytes =
        snprintf(source, sizeof source,
                 "#define BUG 0\n#define M %u\n#define N %u\n#define K %u\n#define BYTES %u\n#define SPAN_A %u\n"
                 "#define SPAN_B %u\n#define TRANS_A %u\n#define TRANS_B %u\n#define KIND \"%s\"\n"
                 "#define IDESC 0x%xu\n%s\n%s",
                 p->m, p->n, p->k, type->bytes, p->span_a, p->span_b, p->trans_a, p->trans_b, type->kind, descriptor,
                 p->flags, common);
    assert_in_range(bytes, 1, sizeof source - 1);
    lab_open_with(&lab, "sm_100a", options);
    struct {
        uint64_t a, b, d;
    } args = {lab_alloc(&lab, a_bytes, (size_t)p->m * p->k * type->bytes),
              lab_alloc(&lab, b_bytes, (size_t)p->n * p->k * type->bytes), lab_alloc(&lab, NULL, sizeof d)};
    struct tw_kernel *kernel = lab_load(&lab, source, "gemm");
    if (lab_try(&lab, kernel, 1, 128, 160 * 1024, 1, &args, sizeof args, &error))
        fail_msg("%s %ux%ux%u: %s", p->type, p->m, p->n, p->k, error.text);
    assert_null(emu_device_report(lab.device, 0));
    lab_read(&lab, d, args.d, (size_t)p->m * p->n * 4);
    int negated = strstr(p->flags, "NEGATE") != NULL, bias = strstr(p->flags, "BIAS") != NULL;
    for (unsigned row = 0; row < p->m; row++)
        for (unsigned n = 0; n < p->n; n++) {
            int sum = 0;
            for (unsigned k = 0; k < p->k; k++)
                sum += a[row * p->k + k] * b[n * p->k + k];
            sum = (negated ? -sum : sum) + (bias ? (int)(row + n) % 5 : 0);
            uint32_t got = d[row * p->n + n], want = (uint32_t)sum;
            float f = (float)sum;
            if (p->d == 1)
                memcpy(&want, &f, 4);
            if (p->d == 0)
                got &= 0xffff, want = 0, tw_dtype_store(TW_FP16, (unsigned char *)&want, (double)sum);
            if (got != want && !(sum == 0 && (got & 0x7fffffff) == 0))
                fail_msg("%s %ux%ux%u, spans %u %u, transposed %u %u, %s: D(%u, %u) is 0x%x, not 0x%x", p->type, p->m,
                         p->n, p->k, p->span_a, p->span_b, p->trans_a, p->trans_b, p->flags, row, n, got, want);
        }
    tw_device_unload(lab.device, kernel);
    lab_close(&lab);
}

static void products_are_exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++)
        for (size_t mode = 0; mode < MODES && wanted("products"); mode++)
            check_product(&products[i], &modes[mode]);
}

struct bug {
    const char *id, *hazard, *text, *message;
    unsigned threads;
};
static const struct bug bugs[] = {
#define BUG(id, hazard, threads, message, ...) {#id, hazard, #__VA_ARGS__, message, threads},
#include "tcgen05/bugs.def"
#undef BUG
};

/* Runs a kernel of bugs.def: a is zero, d fresh memory. 1: it is not as it should be. */
static int check_bug(const struct bug *bug, int planted, const struct emu_options *options)
{
    static char source[32768];
    char found[400], name[40];
    struct lab lab;
    struct tw_error error;
    snprintf(source, sizeof source,
             "#define BUG %d\n#define M 128\n#define N 32\n#define K 32\n#define BYTES 2\n#define SPAN_A 64\n"
             "#define SPAN_B 64\n#define TRANS_A 0\n#define TRANS_B 0\n#define KIND \"kind::f16\"\n"
             "#define IDESC 0x%xu\n%s\nextern \"C\" __global__ void k(const unsigned char *a, unsigned *d)\n"
             "{ BEGIN\n%s\n}\n",
             planted, descriptor_of(1, 0, 0, 128, 32), common, bug->text);
    lab_open_with(&lab, "sm_100a", options);
    static unsigned char zero[65536];
    uint64_t args[2] = {lab_alloc(&lab, zero, sizeof zero), lab_alloc(&lab, NULL, sizeof zero)};
    struct tw_kernel *kernel = lab_load(&lab, source, "k");
    int status = lab_try(&lab, kernel, 1, bug->threads, 64 * 1024, 1, args, sizeof args, &error);
    reports_of(&lab, found, sizeof found);
    snprintf(name, sizeof name, "%s ", bug->hazard);
    int wrong = planted ? !strstr(found, name) || !status : *found || status;
    if (wrong)
        print_error("%s%s: '%s' found, %s: %s\n", bug->id, planted ? "" : " without its bug", found,
                    planted ? bug->hazard : "nothing expected", error.text);
    int said = !*bug->message || !planted;
    for (size_t i = 0; !said && emu_device_report(lab.device, i); i++)
        said = strstr(emu_device_report(lab.device, i)->text, bug->message) != NULL;
    if (!said)
        print_error("%s: no report says '%s'; one says: %s\n", bug->id, bug->message, error.text);
    tw_device_unload(lab.device, kernel);
    lab_close(&lab);
    return wrong || !said;
}

static void all_modes(int planted)
{
    int wrong = 0;
    for (size_t i = 0; i < sizeof bugs / sizeof bugs[0]; i++)
        for (size_t mode = 0; mode < MODES && wanted(bugs[i].id); mode++)
            wrong += check_bug(&bugs[i], planted, &modes[mode]);
    assert_int_equal(wrong, 0);
}

static void bugs_are_found(void **state)
{
    (void)state;
    all_modes(1);
}

static void twins_are_clean(void **state)
{
    (void)state;
    all_modes(0);
}

/* ---- A ring of stages -------------------------------------------------------------------------------------------- */

enum { RING_M = 128, RING_N = 64, RING_K = 5 * 64, RING_TILES = 2 };

static void encode(uint64_t *map, uint64_t address, uint64_t rows, uint32_t box)
{
    struct tw_tensormap_call call = {.func = TW_TENSORMAP_TILED,
                                     .dtype = (uint32_t)tw_dtype_info(TW_BF16)->tensormap,
                                     .rank = 2,
                                     .addr = address,
                                     .dim = {RING_K, rows},
                                     .stride = {RING_K * 2},
                                     .box = {64, box},
                                     .estride = {1, 1},
                                     .swizzle = 3};
    assert_int_equal(tw_tensormap_encode(&call, 100, map), TW_OK);
}

/* The ring's kernel with this bug, 0: none. What was found, into found; D is compared where there is no bug. */
static void run_ring(int bug, const struct emu_options *options, char *found, size_t room)
{
    static int a[RING_TILES * RING_M * RING_K], b[RING_N * RING_K];
    static unsigned char a_bytes[2 * RING_TILES * RING_M * RING_K], b_bytes[2 * RING_N * RING_K];
    static float d[RING_TILES * RING_M * RING_N];
    static char source[40960];
    struct {
        _Alignas(128) uint64_t map_a[16];
        uint64_t map_b[16], d, pad[15];
    } args = {.d = 0};
    struct lab lab;
    struct tw_error error;
    fill(type_of("bf16"), a_bytes, a, sizeof a / sizeof a[0]);
    fill(type_of("bf16"), b_bytes, b, sizeof b / sizeof b[0]);
    int bytes =
        snprintf(source, sizeof source,
                 "#define BUG %d\n#define M 128\n#define N 64\n#define K 64\n#define BYTES 2\n#define SPAN_A 128\n"
                 "#define SPAN_B 128\n#define TRANS_A 0\n#define TRANS_B 0\n#define KIND \"kind::f16\"\n"
                 "#define IDESC 0x%xu\n%s%s",
                 bug, descriptor_of(1, 1, 1, RING_M, RING_N), common, ring);
    assert_in_range(bytes, 1, sizeof source - 1);
    lab_open_with(&lab, "sm_100a", options);
    encode(args.map_a, lab_alloc(&lab, a_bytes, sizeof a_bytes), RING_TILES * RING_M, RING_M);
    encode(args.map_b, lab_alloc(&lab, b_bytes, sizeof b_bytes), RING_N, RING_N);
    args.d = lab_alloc(&lab, NULL, sizeof d);
    struct tw_kernel *kernel = lab_load(&lab, source, "k");
    int status = lab_try(&lab, kernel, 1, 192, 64 * 1024, 1, &args, sizeof args, &error);
    reports_of(&lab, found, room);
    if (!bug && (status || *found))
        fail_msg("ring: '%s' found: %s", found, error.text);
    lab_read(&lab, d, args.d, sizeof d);
    for (int i = 0; !bug && i < RING_TILES * RING_M * RING_N; i++) {
        int sum = 0;
        for (int k = 0; k < RING_K; k++)
            sum += a[i / RING_N * RING_K + k] * b[i % RING_N * RING_K + k];
        assert_true(d[i] == (float)sum);
    }
    tw_device_unload(lab.device, kernel);
    lab_close(&lab);
}

static void ring_of_stages(void **state)
{
    (void)state;
    static const char *const hazards[] = {
        "",         "UNORDERED-WRITE", "UNORDERED",      "UNORDERED-WRITE", "UNORDERED-READ", "SWIZZLE",
        "DEADLOCK", "UNORDERED-READ",  "UNORDERED-READ", "REG-IN-FLIGHT",   "UNORDERED-WRITE"};
    for (int bug = 0; bug < (int)(sizeof hazards / sizeof hazards[0]); bug++)
        for (size_t mode = 0; mode < MODES && wanted("ring"); mode++) {
            char found[400];
            run_ring(bug, &modes[mode], found, sizeof found);
            if (!strstr(found, hazards[bug]))
                fail_msg("ring with bug %d, mode %zu: '%s' found, %s expected", bug, mode, found, hazards[bug]);
        }
}

/* The memory of a launch runs out behind `left` allocations. */
static void *failing_alloc(void *left, size_t bytes)
{
    return (*(long *)left)-- > 0 ? malloc(bytes) : NULL;
}

static void *failing_realloc(void *left, void *memory, size_t bytes)
{
    return (*(long *)left)-- > 0 ? realloc(memory, bytes) : NULL;
}

static void plain_free(void *left, void *memory)
{
    (void)left;
    free(memory);
}

/* A launch that has tensor memory, stores and products on their way says that there is no memory, or runs. */
static void no_memory(void **state)
{
    (void)state;
    static const char text[] = "\nextern \"C\" __global__ void k(const unsigned char *a, unsigned *d) { BEGIN\n"
                               "  proxy_fence(); const unsigned tensor = alloc(64); unsigned r[8] = {t};\n"
                               "  st8(lanes(tensor) + 32, r); wait_st(); fence_before(); __syncthreads();\n"
                               "  fence_after(); if (t == 0) { mma_tensor(tensor, tensor + 32, B_STEP(0), 0);\n"
                               "    commit(bar); } wait(bar, 0); fence_after(); ld8(lanes(tensor), r); wait_ld();\n"
                               "  d[t] = r[0]; __syncthreads(); dealloc(tensor, 64); }\n";
    static char source[32768];
    snprintf(source, sizeof source,
             "#define BUG 0\n#define M 128\n#define N 32\n#define K 16\n#define BYTES 2\n#define SPAN_A 0\n"
             "#define SPAN_B 0\n#define TRANS_A 0\n#define TRANS_B 0\n#define KIND \"kind::f16\"\n"
             "#define IDESC 0x%xu\n%s%s",
             descriptor_of(1, 0, 0, 128, 32), common, text);
    int failed = 0, ran = 0;
    for (long allowed = 0; !ran; allowed += 1 + allowed / 32) {
        struct lab lab;
        struct tw_error error;
        static unsigned char zero[65536];
        long left = allowed;
        lab_open_with(&lab, "sm_100a", &modes[1]);
        uint64_t args[2] = {lab_alloc(&lab, zero, sizeof zero), lab_alloc(&lab, NULL, sizeof zero)};
        struct tw_kernel *kernel = lab_load(&lab, source, "k");
        struct tw_memory memory = lab.rt.memory;
        lab.rt.memory = (struct tw_memory){&left, failing_alloc, failing_realloc, plain_free};
        int status = lab_try(&lab, kernel, 1, 128, 64 * 1024, 1, args, sizeof args, &error);
        lab.rt.memory = memory;
        if (status && !strstr(error.text, "no memory"))
            fail_msg("%ld allocations: %s", allowed, error.text);
        failed += status != TW_OK;
        ran = left >= 0 && status == TW_OK;
        tw_device_unload(lab.device, kernel);
        lab_close(&lab);
    }
    assert_true(failed > 20);
}

/* Hazards that are on, not strict, know that reading a register of tcgen05.ld waits for it (9.7.16.6.4.5). */
static void registers_wait_for_themselves(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bugs / sizeof bugs[0]; i++) {
        struct emu_options options = {.completion = EMU_LATE, .hazards = EMU_HAZARDS_ON};
        struct bug quiet = bugs[i];
        if (strcmp(quiet.hazard, "REG-IN-FLIGHT"))
            continue;
        assert_int_equal(check_bug(&bugs[i], 0, &options), 0);
        quiet.text = bugs[i].text;
        static char source[4096];
        snprintf(source, sizeof source, "\n#undef BUG\n#define BUG 1\n%s", quiet.text);
        quiet.text = source;
        assert_int_equal(check_bug(&quiet, 0, &options), 0);
    }
}

/* What the parser refuses, by name. */
static void refusals(void **state)
{
    (void)state;
    static const struct {
        const char *line, *text;
    } cases[] = {
        {"tcgen05.mma.cta_group::2.kind::f16 [%r1], %rd1, %rd1, %r1, %p1;", "cta_group::2"},
        {"tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%r1], 32;", "cta_group::2"},
        {"tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%r1], %rd1, %rd1, %r1, [%r1], [%r1], %p1;",
         "block scaling"},
        {"tcgen05.mma.sp.cta_group::1.kind::f16 [%r1], %rd1, %rd1, [%r1], %r1, %p1;", "sparse"},
        {"tcgen05.mma.ws.cta_group::1.kind::f16 [%r1], %rd1, %rd1, %r1, %p1;", "tcgen05.mma.ws"},
        {"tcgen05.cp.cta_group::1.128x256b [%r1], %rd1;", "tcgen05.cp"},
        {"tcgen05.shift.cta_group::1.down [%r1];", "tcgen05.shift"},
        {"tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd1, %r1, %p1, 2;", "scale-input-d is not emulated"},
        {"tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%r1], 1;",
         "multicast::cluster is not supported"},
        {"tcgen05.ld.sync.aligned.16x256b.x64.b32 {%r1, %r1}, [%r1];", "256 registers, 128 are the most"},
        {"tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [%rd1];", "an address in tensor memory has 32 bits"},
        {"tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [4194304];", NULL}, /* as a constant */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char ptx[600];
        struct lab lab;
        struct tw_error error = {""};
        struct tw_kernel *kernel;
        snprintf(ptx, sizeof ptx,
                 ".version 8.8\n.target sm_100a\n.address_size 64\n.visible .entry k()\n{ .reg .b32 %%r<4>; "
                 ".reg .b64 %%rd<4>; .reg .pred %%p<4>;\n%s\nret; }\n",
                 cases[i].line);
        lab_open(&lab, "sm_100a");
        struct tw_load load = {.ptx = ptx, .ptx_bytes = strlen(ptx), .entry = "k"};
        int status = tw_device_load(lab.device, &load, &kernel, &error);
        if (cases[i].text ? !status || !strstr(error.text, cases[i].text) : status)
            fail_msg("'%s' is refused by: %s", cases[i].line, error.text);
        if (!status)
            tw_device_unload(lab.device, kernel);
        lab_close(&lab);
    }
}

/* Two blocks of one multiprocessor: the second waits for the columns of the first. */
static void blocks_take_turns(void **state)
{
    (void)state;
    static const char text[] = "\nextern \"C\" __global__ void k(unsigned *d) {\n"
                               "  const unsigned tensor = alloc(512); unsigned r[1];\n"
                               "  st1(lanes(tensor), blockIdx.x); wait_st(); ld1(lanes(tensor), r); wait_ld();\n"
                               "  d[128 * blockIdx.x + threadIdx.x] = r[0]; __syncthreads(); dealloc(tensor, 512); }\n";
    static char source[32768];
    snprintf(source, sizeof source,
             "#define BUG 0\n#define M 128\n#define N 8\n#define K 16\n#define BYTES 2\n#define SPAN_A 0\n"
             "#define SPAN_B 0\n#define TRANS_A 0\n#define TRANS_B 0\n#define KIND \"kind::f16\"\n#define IDESC 0u\n"
             "%s%s",
             common, text);
    for (size_t mode = 0; mode < MODES; mode++) {
        struct lab lab;
        struct emu_options options = modes[mode];
        uint32_t d[6 * 128];
        options.sm_count = 1;
        lab_open_with(&lab, "sm_100a", &options);
        uint64_t address = lab_alloc(&lab, NULL, sizeof d);
        struct tw_kernel *kernel = lab_load(&lab, source, "k");
        lab_launch(&lab, kernel, 6, 128, 1024, 1, &address, sizeof address);
        lab_read(&lab, d, address, sizeof d);
        for (unsigned i = 0; i < 6 * 128; i++)
            assert_int_equal(d[i], i / 128);
        tw_device_unload(lab.device, kernel);
        lab_close(&lab);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptors),
        cmocka_unit_test(matrix_descriptors),
        cmocka_unit_test(places),
        cmocka_unit_test(columns),
        cmocka_unit_test(products_are_exact),
        cmocka_unit_test(bugs_are_found),
        cmocka_unit_test(twins_are_clean),
        cmocka_unit_test(ring_of_stages),
        cmocka_unit_test(registers_wait_for_themselves),
        cmocka_unit_test(no_memory),
        cmocka_unit_test(refusals),
        cmocka_unit_test(blocks_take_turns),
    };
    read_text("tests/emu/matrix/tcgen05/common.cuh", common, sizeof common);
    read_text("tests/emu/matrix/tcgen05/ring.cuh", ring, sizeof ring);
    asked = argc > 1 ? argv + 1 : NULL;
    return cmocka_run_group_tests_name("emu tcgen05", tests, NULL, NULL);
}
