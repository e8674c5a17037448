/* wgmma.mma_async.sp: every type, A from registers and from shared memory, several N and layouts of the operands, each
   result equal to that of the decompressed product, which the host computes in integers; metadata that is no pattern,
   selectors that are none, and a wait that is missing. With ON_GPU=1 what computes is asked of a GPU instead: it gives
   the same. */
#include <stdarg.h>

#include "emu/execute.h"

enum { THREADS = 128, M = 64, B_AT = 8192, IMAGE = 49152, MOST_N = 256, MOST_K = 64 };

enum element { F16, BF16, TF32, E4M3, E5M2, S8, U8 };
static const char *const names[] = {"f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8"};
static const unsigned sizes[] = {2, 2, 4, 1, 1, 1, 1};

struct kind {
    enum element a, b;
    const char *d; /* "f32", "f16", "s32" */
    int saturate;
};

static const struct kind kinds[] = {
    {F16, F16, "f32", 0},   {F16, F16, "f16", 0},   {BF16, BF16, "f32", 0}, {TF32, TF32, "f32", 0},
    {E4M3, E4M3, "f32", 0}, {E4M3, E5M2, "f32", 0}, {E5M2, E4M3, "f32", 0}, {E5M2, E5M2, "f32", 0},
    {E4M3, E4M3, "f16", 0}, {E4M3, E5M2, "f16", 0}, {E5M2, E4M3, "f16", 0}, {E5M2, E5M2, "f16", 0},
    {S8, S8, "s32", 0},     {S8, U8, "s32", 0},     {U8, S8, "s32", 0},     {U8, U8, "s32", 0},
    {S8, S8, "s32", 1},     {S8, U8, "s32", 1},     {U8, S8, "s32", 1},     {U8, U8, "s32", 1},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

enum layout { PLAIN, SWIZZLED, WIDE, TURNED, NARROW }; /* A 32B and B 64B; both 128B; along M and N, of 16 bits */

struct trial {
    const struct kind *kind;
    unsigned n, selector;
    enum layout layout;
    int in_registers, negate_a, negate_b, fresh; /* fresh: scale-d is 0 */
    int aside;                                   /* what no row chooses is no number */
    int no_wait;
    uint32_t spoilt; /* metadata of lane `spoilt_by` of warp 2 where that is not -1 */
    int spoilt_by;
};

/* What a trial gives to the kernel, and its result. */
struct content {
    uint8_t image[IMAGE];
    uint32_t metadata[THREADS], fragments[THREADS][4], d[THREADS][128], expected[THREADS][128];
};

static struct content content;
static int32_t dense[M][MOST_K], given[M][MOST_K / 2], right[MOST_N][MOST_K], sums[M][MOST_N];

static uint32_t float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* A small integer as an element. */
static uint32_t encode(enum element type, int32_t value)
{
    uint32_t magnitude = (uint32_t)(value < 0 ? -value : value), sign = value < 0, exponent = 0;
    if (type == S8 || type == U8)
        return (uint32_t)value & 0xff;
    if (type == TF32)
        return float_bits((float)value);
    if (type == BF16)
        return float_bits((float)value) >> 16;
    if (!magnitude)
        return 0;
    while (magnitude >> (exponent + 1))
        exponent++;
    unsigned mantissa = type == F16 ? 10 : type == E4M3 ? 3 : 2, bias = type == E4M3 ? 7 : 15;
    uint32_t fraction = (magnitude << mantissa >> exponent) & ((1u << mantissa) - 1);
    return sign << (8 * sizes[type] - 1) | (exponent + bias) << mantissa | fraction;
}

static uint32_t encode_sum(const char *type, int32_t value)
{
    return !strcmp(type, "s32")   ? (uint32_t)value
           : !strcmp(type, "f16") ? encode(F16, value)
                                  : float_bits((float)value);
}

static uint32_t no_number(enum element type)
{
    return type == F16 ? 0x7e00 : type == BF16 ? 0x7fc0 : type == TF32 ? 0x7fc00000 : 0x7f;
}

/* Where the element at byte x of line `row` stands (turned: row runs along k, x along M or N). */
static unsigned place(enum layout layout, int is_a, unsigned row, unsigned x)
{
    unsigned span = layout == WIDE ? 128 : is_a ? 32 : 64, chunks = is_a ? 2 : 4, at;
    if (layout == TURNED) /* LBO 128 from 8 k to 8 k, SBO from 16 bytes to 16 bytes */
        return x / 16 * chunks * 128 + row / 8 * 128 + row % 8 * 16 + x % 16;
    if (layout == PLAIN)
        return row / 8 * chunks * 128 + x / 16 * 128 + row % 8 * 16 + x % 16;
    at = row / 8 * 8 * span + row % 8 * span + x;
    return at ^ ((at >> 3) & (span - 16) & 0x70);
}

static uint64_t descriptor(enum layout layout, int is_a)
{
    unsigned span = layout == WIDE ? 128 : is_a || layout == NARROW ? 32 : 64, chunks = is_a ? 2 : 4;
    if (layout == PLAIN || layout == TURNED)
        return UINT64_C(8) << 16 | (uint64_t)chunks * 8 << 32;
    return UINT64_C(1) << 16 | (uint64_t)(8 * span / 16) << 32 | (uint64_t)(span == 128 ? 1 : span == 64 ? 2 : 3) << 62;
}

static void put(const struct trial *t, int is_a, unsigned row, unsigned k, uint32_t bits)
{
    unsigned size = sizes[is_a ? t->kind->a : t->kind->b];
    unsigned at = t->layout == TURNED ? place(TURNED, is_a, k, row * size) : place(t->layout, is_a, row, k * size);
    memcpy(content.image + (is_a ? 0 : B_AT) + at, &bits, size);
}

static int32_t draw(enum element type)
{
    return (int32_t)(lab_draw() % 7) - (type == U8 ? 0 : 3);
}

/* A chunk's metadata and what it gives, at (row, chunk). Returns its 4 bits. */
static uint32_t chunk(const struct trial *t, unsigned row, unsigned number)
{
    int of_two = t->kind->a == TF32;
    unsigned first, second, begin = number * (of_two ? 2 : 4);
    if (of_two) {
        first = t->aside ? 0 : (unsigned)(lab_draw() % 2);
        dense[row][begin + first] = given[row][number] = draw(TF32);
        return first ? 0xe : 0x4;
    }
    first = t->aside ? 0 : (unsigned)(lab_draw() % 4);
    second = t->aside ? 1 : (first + 1 + (unsigned)(lab_draw() % 3)) % 4;
    dense[row][begin + first] = given[row][2 * number] = draw(t->kind->a);
    dense[row][begin + second] = given[row][2 * number + 1] = draw(t->kind->a);
    return first | second << 2;
}

static void make_metadata(const struct trial *t, unsigned k)
{
    unsigned chunks = t->kind->a == TF32 ? k / 2 : k / 4;
    memset(content.metadata, 0xff, sizeof content.metadata); /* no pattern, where nobody looks */
    memset(dense, 0, sizeof dense);
    for (unsigned row = 0; row < M; row++)
        for (unsigned c = 0; c < chunks; c++) {
            unsigned lane = row % 8 * 4, at = c;
            if (sizes[t->kind->a] == 1)
                lane += row % 16 / 8 + 2 * (c / 8), at = c % 8;
            else
                lane += 2 * t->selector + c / 4, at = c % 4 + row % 16 / 8 * 4;
            uint32_t *word = &content.metadata[row / 16 * 32 + lane];
            *word = (*word & ~(15u << 4 * at)) | chunk(t, row, c) << 4 * at;
        }
    if (t->spoilt_by >= 0)
        content.metadata[64 + t->spoilt_by] = t->spoilt;
}

static unsigned registers_of(const struct trial *t)
{
    return strcmp(t->kind->d, "f16") ? t->n / 2 : t->n / 4;
}

/* Element e of register i of a thread: its row and column of D. */
static uint32_t result(const struct trial *t, unsigned thread, unsigned i, int32_t from[M][MOST_N])
{
    unsigned lane = thread % 32, row = thread / 32 * 16 + lane / 4;
    if (strcmp(t->kind->d, "f16"))
        return encode_sum(t->kind->d, from[row + 8 * (i / 2 % 2)][2 * (lane % 4) + i % 2 + 8 * (i / 4)]);
    const int32_t *two = &from[row + 8 * (i % 2)][2 * (lane % 4) + 8 * (i / 2)];
    return encode(F16, two[0]) | encode(F16, two[1]) << 16;
}

static void make(const struct trial *t)
{
    const struct kind *kind = t->kind;
    unsigned k = 64 / sizes[kind->a], each = 4 / sizes[kind->a];
    memset(&content, 0, sizeof content);
    make_metadata(t, k);
    for (unsigned row = 0; row < M; row++)
        for (unsigned i = 0; i < k / 2; i++) {
            uint32_t bits = encode(kind->a, given[row][i]);
            unsigned reg = row % 16 / 8 + i / (4 * each) * 2, lane = row % 8 * 4 + i / each % 4;
            put(t, 1, row, i, bits);
            content.fragments[row / 16 * 32 + lane][reg] |= bits << 8 * sizes[kind->a] * (i % each);
        }
    for (unsigned j = 0; j < t->n; j++)
        for (unsigned i = 0; i < k; i++) {
            int other = t->aside && (kind->a == TF32 ? i % 2 : i % 4 / 2);
            right[j][i] = other ? 0 : draw(kind->b);
            put(t, 0, j, i, other ? no_number(kind->b) : encode(kind->b, right[j][i]));
        }
    for (unsigned row = 0; row < M; row++)
        for (unsigned j = 0; j < t->n; j++) {
            sums[row][j] = (int32_t)(lab_draw() % 101) - 50;
            if (!strcmp(kind->d, "s32") && lab_draw() % 4 == 0)
                sums[row][j] = lab_draw() % 2 ? INT32_MAX - sums[row][j] - 50 : INT32_MIN + sums[row][j] + 50;
        }
    for (unsigned thread = 0; thread < THREADS; thread++)
        for (unsigned i = 0; i < registers_of(t); i++)
            content.d[thread][i] = result(t, thread, i, sums);
    for (unsigned row = 0; row < M; row++)
        for (unsigned j = 0; j < t->n; j++) {
            int64_t sum = t->fresh ? 0 : sums[row][j];
            for (unsigned i = 0; i < k; i++)
                sum += (t->negate_a != t->negate_b ? -1 : 1) * dense[row][i] * right[j][i];
            if (kind->saturate)
                sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
            sums[row][j] = (int32_t)(uint32_t)(uint64_t)sum;
        }
    for (unsigned thread = 0; thread < THREADS; thread++)
        for (unsigned i = 0; i < registers_of(t); i++)
            content.expected[thread][i] = result(t, thread, i, sums);
}

/* ---- The kernel -------------------------------------------------------------------------------------------------- */

static char ptx[65536];
static size_t ptx_length;

static void say(const char *format, ...) TW_PRINTF(1, 2);
static void say(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    ptx_length += (size_t)vsnprintf(ptx + ptx_length, sizeof ptx - ptx_length, format, list);
    va_end(list);
    assert_true(ptx_length < sizeof ptx);
}

static void say_instruction(const struct trial *t)
{
    const struct kind *kind = t->kind;
    int integer = !strcmp(kind->d, "s32"), halves = sizes[kind->a] == 2;
    say("wgmma.mma_async.sp.sync.aligned.m64n%uk%u.%s.%s.%s%s {", t->n, 64 / sizes[kind->a], kind->d, names[kind->a],
        names[kind->b], kind->saturate ? ".satfinite" : "");
    for (unsigned i = 0; i < registers_of(t); i++)
        say("%s%%d%u", i ? "," : "", i);
    say("}, %s, %%b, %%meta, %u, %%p", t->in_registers ? "{%f0,%f1,%f2,%f3}" : "%a", t->selector);
    if (!integer)
        say(", %d, %d", t->negate_a ? -1 : 1, t->negate_b ? -1 : 1);
    if (halves && !t->in_registers)
        say(", %d", t->layout == TURNED);
    if (halves)
        say(", %d", t->layout == TURNED);
    say(";\n");
}

static void write_kernel(const struct trial *t)
{
    unsigned registers = registers_of(t);
    ptx_length = 0;
    say(".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p)\n.maxntid 128, 1, 1\n{\n"
        ".reg .pred %%p, %%q;\n.reg .b32 %%t, %%i, %%v, %%meta, %%f<4>, %%d<%u>, %%s;\n"
        ".reg .b64 %%base, %%at, %%x, %%a, %%b;\n.shared .align 1024 .b8 image[%d];\n"
        "ld.param.u64 %%base, [p];\ncvta.to.global.u64 %%base, %%base;\nmov.u32 %%t, %%tid.x;\n"
        "shl.b32 %%i, %%t, 2;\nmov.u32 %%s, image;\n",
        registers, IMAGE);
    say("copy:\ncvt.u64.u32 %%x, %%i;\nadd.s64 %%at, %%base, %%x;\nld.global.u32 %%v, [%%at];\nadd.s32 %%f0, %%s, "
        "%%i;\n"
        "st.shared.u32 [%%f0], %%v;\nadd.s32 %%i, %%i, 512;\nsetp.lt.u32 %%q, %%i, %d;\n@%%q bra copy;\n",
        IMAGE);
    say("fence.proxy.async.shared::cta;\nbar.sync 0;\nmul.wide.u32 %%x, %%t, 4;\nadd.s64 %%at, %%base, %%x;\n"
        "ld.global.u32 %%meta, [%%at+%zu];\nmul.wide.u32 %%x, %%t, 16;\nadd.s64 %%at, %%base, %%x;\n",
        offsetof(struct content, metadata));
    for (unsigned i = 0; i < 4; i++)
        say("ld.global.u32 %%f%u, [%%at+%zu];\n", i, offsetof(struct content, fragments) + 4 * i);
    say("mul.wide.u32 %%x, %%t, 512;\nadd.s64 %%at, %%base, %%x;\n");
    for (unsigned i = 0; i < registers; i++)
        say("ld.global.u32 %%d%u, [%%at+%zu];\n", i, offsetof(struct content, d) + 4 * i);
    say("cvt.u64.u32 %%x, %%s;\nshr.u64 %%x, %%x, 4;\nadd.s64 %%a, %%x, %lld;\nadd.s64 %%b, %%x, %lld;\n"
        "setp.%s.u32 %%p, %%t, %%t;\nwgmma.fence.sync.aligned;\n",
        (long long)descriptor(t->layout, 1), (long long)(descriptor(t->layout, 0) + B_AT / 16), t->fresh ? "ne" : "eq");
    say_instruction(t);
    say("wgmma.commit_group.sync.aligned;\n%s", t->no_wait ? "" : "wgmma.wait_group.sync.aligned 0;\n");
    for (unsigned i = 0; i < registers; i++)
        say("st.global.u32 [%%at+%zu], %%d%u;\n", offsetof(struct content, d) + 4 * i, i);
    say("%sret;\n}\n", t->no_wait ? "wgmma.wait_group.sync.aligned 0;\n" : "");
}

static void open_lab(struct lab *lab)
{
    static const struct emu_options options = {.hazards = EMU_HAZARDS_STRICT};
    struct tw_error error = {""};
    if (!getenv("ON_GPU")) {
        lab_open_with(lab, "sm_90a", &options);
        return;
    }
    memset(lab, 0, sizeof *lab);
    assert_int_equal(tw_runtime_init(&lab->rt, &error), TW_OK);
    if (tw_device_open_cuda(&lab->rt, 0, &lab->device, &error))
        fail_msg("%s", error.text);
}

/* Status of the launch; the content that it leaves. */
static int launch(struct lab *lab, const struct trial *t, struct tw_error *error)
{
    make(t);
    write_kernel(t);
    struct tw_kernel *kernel = lab_load_ptx(lab, ptx, "k");
    uint64_t address = lab_alloc(lab, &content, sizeof content);
    int status = lab_try(lab, kernel, 1, THREADS, 0, 1, &address, sizeof address, error);
    if (!status)
        lab_read(lab, &content, address, sizeof content);
    tw_device_unload(lab->device, kernel);
    return status;
}

static void compare(const struct trial *t)
{
    struct lab lab;
    struct tw_error error;
    char what[160];
    snprintf(what, sizeof what, "%s of %s and %s, n %u, selector %u, layout %d, A in %s%s", t->kind->d,
             names[t->kind->a], names[t->kind->b], t->n, t->selector, (int)t->layout,
             t->in_registers ? "registers" : "shared memory", t->aside ? ", no numbers aside" : "");
    open_lab(&lab);
    if (launch(&lab, t, &error))
        fail_msg("%s: %s", what, error.text);
    for (unsigned thread = 0; thread < THREADS; thread++)
        for (unsigned i = 0; i < registers_of(t); i++)
            if (content.d[thread][i] != content.expected[thread][i])
                fail_msg("%s: register %u of thread %u is 0x%x, not 0x%x", what, i, thread, content.d[thread][i],
                         content.expected[thread][i]);
    lab_close(&lab);
}

static struct trial trial_of(unsigned kind)
{
    return (struct trial){.kind = &kinds[kind], .n = 8, .spoilt_by = -1};
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

static void every_type(void **state)
{
    (void)state;
    static const unsigned n[] = {8, 24, 64};
    for (unsigned kind = 0; kind < KINDS; kind++)
        for (unsigned i = 0; i < 12; i++) {
            struct trial t = trial_of(kind);
            int integer = !strcmp(t.kind->d, "s32");
            t.n = n[i % 3];
            t.in_registers = i % 2;
            t.layout = (enum layout)(i / 2 % 4);
            if (t.layout == TURNED && sizes[t.kind->a] != 2)
                t.layout = PLAIN;
            if (t.layout == TURNED && t.n == 24)
                t.n = 32;
            t.selector = sizes[t.kind->a] == 1 ? 0 : i / 3 % 2;
            t.fresh = i % 5 == 4;
            t.negate_a = !integer && i % 4 == 3;
            t.negate_b = !integer && i % 3 == 2;
            compare(&t);
        }
}

static void wide_ones(void **state)
{
    (void)state;
    static const unsigned of[] = {0, 1, 3, 4, 12};
    for (unsigned i = 0; i < sizeof of / sizeof of[0]; i++) {
        struct trial t = trial_of(of[i]);
        t.n = i % 2 ? 128 : 256;
        t.layout = SWIZZLED;
        t.in_registers = i % 2;
        compare(&t);
    }
}

/* The elements of B that no row chooses are not looked at. */
static void no_numbers_aside(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 12; kind++) {
        struct trial t = trial_of(kind);
        t.aside = 1;
        compare(&t);
    }
}

static void no_pattern(void **state)
{
    (void)state;
    static const struct {
        unsigned kind, selector;
        uint32_t metadata;
        int lane, wrong;
        const char *text;
    } cases[] = {
        {0, 0, 0x44444044, 5, 1, "sparsity metadata 0x44444044 of lane 5: bits 8 to 11 are 0x0, which is no pattern"},
        {2, 1, 0x5e4e4e4e, 31, 1, "lane 31: bits 28 to 31 are 0x5, which is no pattern: two places of four"},
        {12, 0, 0xa4444444, 3, 1, "lane 3: bits 28 to 31 are 0xa"},
        {4, 0, 0x4444444f, 2, 1, "lane 2: bits 0 to 3 are 0xf"},
        {3, 0, 0x4e4e4e94, 1, 1, "lane 1: bits 4 to 7 are 0x9, which is no pattern: tf32 has 0x4"},
        {0, 0, 0x00000000, 6, 0, NULL}, /* of the pair that is not selected */
        {3, 1, 0x00000000, 4, 0, NULL},
        {0, 0, 0x1111eeee, 5, 0, NULL}, /* in falling order: allowed */
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trial t = trial_of(cases[i].kind);
        struct lab lab;
        struct tw_error error;
        t.selector = cases[i].selector;
        t.spoilt = cases[i].metadata;
        t.spoilt_by = cases[i].lane;
        open_lab(&lab);
        int status = launch(&lab, &t, &error);
        assert_int_equal(status != 0, cases[i].wrong);
        if (cases[i].wrong) {
            const struct emu_report *report = emu_device_report(lab.device, 0);
            assert_true(report && !strcmp(report->name, "ILLEGAL"));
            if (!strstr(report->text, cases[i].text))
                fail_msg("%s", report->text);
        }
        lab_close(&lab);
    }
}

static void other_selectors_and_shapes(void **state)
{
    (void)state;
    static const struct {
        unsigned kind, selector, n;
        const char *text;
    } cases[] = {
        {4, 1, 8, "the sparsity selector is 0 or 1 of types of 16 and 32 bits, and 0 of types of 8"},
        {0, 2, 8, "the sparsity selector is 0 or 1"},
        {12, 0, 40, "m64n40k64"},
        {0, 0, 12, "m64n12k32"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trial t = trial_of(cases[i].kind);
        struct lab lab;
        struct tw_error error = {""};
        struct tw_kernel *kernel;
        t.selector = cases[i].selector;
        t.n = cases[i].n;
        open_lab(&lab);
        write_kernel(&t);
        struct tw_load load = {.ptx = ptx, .ptx_bytes = strlen(ptx), .entry = "k"};
        assert_true(tw_device_load(lab.device, &load, &kernel, &error) != TW_OK);
        if (!strstr(error.text, cases[i].text))
            fail_msg("%s", error.text);
        lab_close(&lab);
    }
}

/* Rows of B are 64 bytes long along K: a swizzle of 32 has no place for them. */
static void a_narrow_swizzle(void **state)
{
    (void)state;
    struct trial t = trial_of(2);
    struct lab lab;
    struct tw_error error;
    t.layout = NARROW;
    open_lab(&lab);
    assert_true(launch(&lab, &t, &error) != TW_OK);
    const struct emu_report *report = emu_device_report(lab.device, 0);
    assert_true(report && !strcmp(report->name, "ILLEGAL"));
    if (!strstr(report->text, "rows of 64 bytes along K, more than its swizzle of 32B: give it 64B or 128B"))
        fail_msg("%s", report->text);
    lab_close(&lab);
}

/* A result that is read before a wait covers it. */
static void a_missing_wait(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < KINDS; kind += 3) {
        struct trial t = trial_of(kind);
        struct lab lab;
        struct tw_error error;
        t.no_wait = 1;
        open_lab(&lab);
        assert_true(launch(&lab, &t, &error) != TW_OK);
        const struct emu_report *report = emu_device_report(lab.device, 0);
        assert_true(report && !strcmp(report->name, "REG-IN-FLIGHT"));
        lab_close(&lab);
    }
}

int main(void)
{
    const struct CMUnitTest computing[] = {
        cmocka_unit_test(every_type),
        cmocka_unit_test(wide_ones),
        cmocka_unit_test(no_numbers_aside),
    };
    const struct CMUnitTest refusing[] = {
        cmocka_unit_test(no_pattern),
        cmocka_unit_test(other_selectors_and_shapes),
        cmocka_unit_test(a_narrow_swizzle),
        cmocka_unit_test(a_missing_wait),
    };
    int failed = cmocka_run_group_tests_name("emu sparse", computing, NULL, NULL);
    if (!getenv("ON_GPU"))
        failed += cmocka_run_group_tests_name("emu sparse refusals", refusing, NULL, NULL);
    return failed;
}
