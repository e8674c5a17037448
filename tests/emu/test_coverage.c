/* What the emulator says was executed (emu/coverage.h), against counters that random programs keep themselves: each of
   their blocks, guarded instructions and ways out of a branch adds one to a word of its own. */
#include "execute.h"

#include "emu/coverage.h"

enum { BLOCKS_MOST = 12, WORDS = 8 * BLOCKS_MOST, LINES = 4096, PROGRAMS = 300 };

/* The text of a program, and what its lines should be found to be. */
struct program {
    char text[65536];
    size_t length;
    uint32_t line; /* of what is appended next, from 1 */
    int words;
    int ran[LINES], away[LINES], on[LINES]; /* by line: the word that counts it, -1: none does */
};

static void put(struct program *p, const char *format, ...) TW_PRINTF(2, 3);
static void put(struct program *p, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsnprintf(p->text + p->length, sizeof p->text - p->length, format, list);
    va_end(list);
    assert_true(n >= 0 && p->length + (size_t)n < sizeof p->text);
    for (int i = 0; i < n; i++)
        p->line += p->text[p->length + (size_t)i] == '\n';
    assert_true(p->line < LINES);
    p->length += (size_t)n;
}

/* An instruction that counts itself. */
static int count(struct program *p, const char *guard)
{
    int word = p->words++;
    assert_true(word < WORDS);
    p->ran[p->line] = word;
    put(p, "  %sred.global.add.u32 [%%rd1+%d], 1;\n", guard, 4 * word);
    return word;
}

static unsigned below(unsigned n)
{
    return (unsigned)(lab_draw() % n);
}

/* %p1: by the lane, or the same for all; sometimes always or never true. */
static void put_condition(struct program *p)
{
    static const unsigned limit[] = {0, 1, 40, 128, 250, 256};
    put(p, "  mad.lo.u32 %%r1, %%r1, 1664525, %u;\n  shr.u32 %%r2, %%r1, 24;\n", below(1u << 30) | 1);
    put(p, "  setp.lt.u32 %%p1, %%r2, %u;\n", limit[below(sizeof limit / sizeof *limit)]);
}

static void put_block(struct program *p, int number, int blocks)
{
    put(p, "B%d:\n", number);
    count(p, "");
    put(p, "  sub.u32 %%r3, %%r3, 1;\n  setp.eq.u32 %%p2, %%r3, 0;\n");
    put(p, "  @%%p2 %s;\n", below(2) ? "ret" : "exit");
    count(p, "");
    put_condition(p);
    if (below(3) == 0)
        count(p, below(2) ? "@%p1 " : "@!%p1 ");
    if (below(5) == 0)
        put(p, "  call helper, (%%rd1, %%r1);\n");
    switch (below(5)) {
    case 0:
        put(p, "  bra B%u;\n", below((unsigned)blocks));
        break;
    case 1:
        put(p, "  rem.u32 %%r2, %%r2, 3;\n  T%d: .branchtargets B%u, B%u, B%u;\n  brx.idx %%r2, T%d;\n", number,
            below((unsigned)blocks), below((unsigned)blocks), below((unsigned)blocks), number);
        break;
    default: {
        int away = count(p, "@%p1 ");
        uint32_t line = p->line;
        p->away[line] = away;
        put(p, "  @%%p1 bra B%u;\n", below((unsigned)blocks));
        p->on[line] = count(p, "");
    }
    }
}

static void put_program(struct program *p)
{
    int blocks = 3 + (int)below(BLOCKS_MOST - 3);
    p->length = 0, p->line = 1, p->words = 0;
    memset(p->ran, 0xff, sizeof p->ran);
    memset(p->away, 0xff, sizeof p->away);
    memset(p->on, 0xff, sizeof p->on);
    put(p, ".version 8.0\n.target sm_90a\n.address_size 64\n");
    put(p, ".func helper(.param .u64 a, .param .u32 b)\n{\n  .reg .pred %%p<3>;\n  .reg .b32 %%r<4>;\n"
           "  .reg .b64 %%rd<2>;\n  ld.param.u64 %%rd1, [a];\n  ld.param.u32 %%r1, [b];\n");
    count(p, "");
    put_condition(p);
    count(p, "@%p1 ");
    put(p, "  ret;\n}\n");
    put(p, ".visible .entry k(.param .u64 words, .param .u32 seed, .param .u32 fuel)\n{\n  .reg .pred %%p<3>;\n"
           "  .reg .b32 %%r<5>;\n  .reg .b64 %%rd<2>;\n  ld.param.u64 %%rd1, [words];\n  ld.param.u32 %%r1, [seed];\n"
           "  ld.param.u32 %%r3, [fuel];\n");
    if (below(2))
        put(p, "  mov.u32 %%r4, %%tid.x;\n  mad.lo.u32 %%r1, %%r4, 40503, %%r1;\n");
    for (int b = 0; b < blocks; b++)
        put_block(p, b, blocks);
    put(p, "  ret;\n}\n");
}

/* What is compared while the emulator tells. */
struct comparison {
    const struct program *program;
    const uint32_t *words;
    int checked;
};

static void compare(void *context, const struct emu_covered *c)
{
    struct comparison *with = context;
    const struct program *p = with->program;
    int ran = p->ran[c->ptx_line], away = p->away[c->ptx_line], on = p->on[c->ptx_line];
    if (ran >= 0 && c->ran != (with->words[ran] > 0))
        fail_msg("line %u: ran %d, counted %u in\n%s", c->ptx_line, c->ran, with->words[ran], p->text);
    if (away >= 0 && c->away != (with->words[away] > 0))
        fail_msg("line %u: away %d, counted %u in\n%s", c->ptx_line, c->away, with->words[away], p->text);
    if (on >= 0 && c->on != (with->words[on] > 0))
        fail_msg("line %u: on %d, counted %u in\n%s", c->ptx_line, c->on, with->words[on], p->text);
    with->checked += (ran >= 0) + (away >= 0) + (on >= 0);
}

static void random_programs(void **state)
{
    static struct program p;
    int ran = 0, checked = 0;
    (void)state;
    for (int i = 0; i < PROGRAMS; i++) {
        struct lab lab;
        uint32_t words[WORDS] = {0};
        struct emu_options options = {.hazards = i % 2 ? EMU_HAZARDS_ON : EMU_HAZARDS_OFF, .slice = i % 3 ? 0 : 1};
        put_program(&p);
        lab_open_with(&lab, "sm_90a", &options);
        struct tw_kernel *kernel = lab_load_ptx(&lab, p.text, "k");
        uint64_t at = lab_alloc(&lab, words, sizeof words);
        /* Coverage is of all launches: two, with what the second one adds. */
        for (int launch = 0; launch < 2; launch++) {
            struct {
                uint64_t words;
                uint32_t seed, fuel;
            } arguments = {at, (uint32_t)lab_draw(), 1 + below(12)};
            const uint32_t offsets[] = {0, 8, 12};
            struct tw_launch l = {.kernel = kernel,
                                  .grid = {1, 1, 1},
                                  .block = {1 + below(70), 1, 1},
                                  .params = &arguments,
                                  .params_bytes = sizeof arguments,
                                  .offsets = offsets,
                                  .offset_count = 3};
            struct tw_error error;
            if (tw_device_launch(lab.device, &l, &error))
                fail_msg("%s in\n%s", error.text, p.text);
            lab_read(&lab, words, at, sizeof words);
            struct comparison with = {&p, words, 0};
            assert_int_equal(emu_kernel_coverage(kernel, compare, &with), TW_OK);
            checked += with.checked;
        }
        for (int w = 0; w < p.words; w++)
            ran += words[w] > 0;
        tw_device_unload(lab.device, kernel);
        lab_close(&lab);
    }
    /* Neither side of the question is rare. */
    assert_true(checked > 20 * PROGRAMS);
    assert_in_range(ran, 3 * PROGRAMS, 30 * PROGRAMS);
}

/* Places through inlining, doomed ways, loops. */
static const char places[] = ".version 8.0\n"
                             ".target sm_90a\n"
                             ".address_size 64\n"
                             ".visible .entry k(.param .u32 n)\n"
                             "{\n"
                             "  .reg .pred %p<4>;\n"
                             "  .reg .b32 %r<4>;\n"
                             "  .loc 1 10 1\n"
                             "  ld.param.u32 %r1, [n];\n"
                             "LOOP:\n"
                             "  .loc 1 20 1, function_name $S, inlined_at 1 10 1\n"
                             "  sub.u32 %r1, %r1, 1;\n"
                             "  setp.gt.u32 %p1, %r1, 1000;\n"
                             "  @%p1 bra TRAP;\n"
                             "  .loc 1 11 1\n"
                             "  setp.ne.u32 %p2, %r1, 0;\n"
                             "  @%p2 bra LOOP;\n"
                             "  bra.uni DONE;\n"
                             "TRAP:\n"
                             "  .loc 1 12 1\n"
                             "  mov.u32 %r2, 7;\n"
                             "  trap;\n"
                             "DONE:\n"
                             "  .loc 1 13 1\n"
                             "  ret;\n"
                             "}\n"
                             ".file 1 \"/folder/text.cu\"\n"
                             ".section .debug_str\n"
                             "{\n"
                             "$S:\n"
                             ".b8 102\n"
                             ".b8 0\n"
                             "}\n";

static void keep(void *context, const struct emu_covered *c)
{
    struct emu_covered *by_line = context;
    assert_true(c->ptx_line < 40);
    by_line[c->ptx_line] = *c;
}

static void flow_and_places(void **state)
{
    (void)state;
    for (uint32_t n = 1; n < 3; n++) {
        struct lab lab;
        struct emu_covered by_line[40];
        memset(by_line, 0, sizeof by_line);
        lab_open(&lab, "sm_90a");
        struct tw_kernel *kernel = lab_load_ptx(&lab, places, "k");
        assert_int_equal(emu_kernel_coverage(kernel, keep, by_line), TW_OK);
        assert_false(by_line[9].ran);
        lab_launch(&lab, kernel, 1, 32, 0, 1, &n, sizeof n);
        assert_int_equal(emu_kernel_coverage(kernel, keep, by_line), TW_OK);
        assert_true(by_line[9].ran && !by_line[9].doomed && !by_line[9].chooses);
        assert_int_equal(by_line[12].place_count, 2);
        assert_int_equal(by_line[12].place[0].line, 20);
        assert_int_equal(by_line[12].place[1].line, 10);
        assert_string_equal(by_line[12].place[1].file, "/folder/text.cu");
        assert_true(by_line[14].ran && !by_line[14].chooses); /* one way is doomed */
        assert_true(by_line[17].chooses && by_line[17].closes && by_line[17].on);
        assert_int_equal(by_line[17].repeated, n > 1);
        assert_true(by_line[21].doomed && by_line[22].doomed && !by_line[21].ran);
        assert_true(by_line[25].ran && !by_line[25].doomed);
        tw_device_unload(lab.device, kernel);
        lab_close(&lab);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs),
        cmocka_unit_test(flow_and_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
