// The table of rules as a whole: each has its edges, where tensormap_edges.def puts them, and a message that names
// argument, value, bound and fix. Then the table of work-arounds.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "unit/check.h"
#include "tensormap_calls.h"
#include "tensormap/tensormap_args.h"

struct edge {
    enum tw_tensormap_rule rule;
    int line;
    uint64_t step;
    call_t good, bad;
    int good_cc, bad_cc;
};

enum { EDGES = 0
#define EDGE(ID, base, setup, argument, good_value, bad_value, step) + 1
#include "tensormap_edges.def"
#undef EDGE
};

static struct edge edges[EDGES];

static const struct {
    const char *id, *broken, *text;
    enum tmap_arg arg;
    int always_refused; // the row's level is no expression, and no warning
} rules[TW_TENSORMAP_RULE_COUNT] = {
#define RULE(ID, name, level, funcs, arg, broken, nearest, bound, text)                                                \
    {#ID, #broken, text, TMAP_##arg, sizeof #level == sizeof "REFUSED" && #level[0] == 'R'},
#include "tensormap/tensormap_rules.def"
#undef RULE
};

static int fill(void **state)
{
    int n = 0;
    (void)state;
#define EDGE(ID, base, setup, argument, good_value, bad_value, distance)                                               \
    {                                                                                                                  \
        call_t c = base();                                                                                             \
        int cc = 90;                                                                                                   \
        (void)(setup);                                                                                                 \
        struct edge *e = &edges[n++];                                                                                  \
        e->rule = TW_TENSORMAP_RULE_##ID;                                                                              \
        e->line = n;                                                                                                   \
        e->step = distance;                                                                                            \
        argument = good_value;                                                                                         \
        e->good = c;                                                                                                   \
        e->good_cc = cc;                                                                                               \
        argument = bad_value;                                                                                          \
        e->bad = c;                                                                                                    \
        e->bad_cc = cc;                                                                                                \
    }
#include "tensormap_edges.def"
#undef EDGE
    return n != EDGES;
}

static void wrong(const struct edge *e, const char *what)
{
    char words[512];
    fail_msg("row %d of tensormap_edges.def, %s: %s\nbad: %s", e->line, rules[e->rule].id, what,
             tw_tensormap_format(&e->bad, words, sizeof words));
}

// What the two sides differ in: places and how far. Entries past the rank count too.
static int differences(const struct edge *e, uint64_t *distance, int *larger)
{
    int places = 0;
    int64_t by = 0;
    for (int a = TMAP_NONE + 1; a < TMAP_ARG_COUNT; a++)
        for (unsigned i = 0; i < tmap_args[a].room; i++) {
            uint64_t good = tmap_get(&e->good, (enum tmap_arg)a, i), bad = tmap_get(&e->bad, (enum tmap_arg)a, i);
            places += good != bad;
            by += (int64_t)(bad - good);
        }
    places += e->good.func != e->bad.func;
    by += (int)e->bad.func - (int)e->good.func;
    places += e->good_cc != e->bad_cc;
    by += e->bad_cc - e->good_cc;
    *distance = (uint64_t)(by < 0 ? -by : by);
    *larger = by > 0;
    return places;
}

// The verdict on one side of an edge. That the tensor overlaps itself is left out, but for the rule that says so: most
// rows change an extent or a stride alone.
static int check_side(const struct edge *e, const call_t *call, int cc, struct tw_tensormap_verdict *verdict)
{
    int status = tw_tensormap_check(call, cc, verdict), kept = 0;
    for (int i = 0; i < verdict->count; i++)
        if (e->rule == TW_TENSORMAP_RULE_STR_OVERLAP || verdict->finding[i].rule != TW_TENSORMAP_RULE_STR_OVERLAP)
            verdict->finding[kept++] = verdict->finding[i];
    verdict->warned -= verdict->count - kept;
    verdict->count = kept;
    return status;
}

// Every row holds: one step, and the rule, nothing else, answers to it.
static void test_edges(void **state)
{
    (void)state;
    for (int n = 0; n < EDGES; n++) {
        const struct edge *e = &edges[n];
        struct tw_tensormap_verdict good, bad;
        uint64_t distance, map[16];
        int larger;
        if (differences(e, &distance, &larger) != 1 || distance != e->step)
            wrong(e, "the two sides are not one step of one argument apart");
        int good_status = check_side(e, &e->good, e->good_cc, &good);
        int bad_status = check_side(e, &e->bad, e->bad_cc, &bad);
        for (int i = 0; i < good.count; i++)
            if (good.finding[i].rule == e->rule)
                wrong(e, "the good side breaks it");
        if (bad.count != 1 || bad.finding[0].rule != e->rule)
            wrong(e, bad.count ? "the bad side breaks another rule, or others too" : "the bad side breaks nothing");
        if (rules[e->rule].always_refused && bad.finding[0].warning)
            wrong(e, "it is a warning");
        if ((bad_status == TW_OK) != (bad.finding[0].warning == 1) || (good_status == TW_OK) != (good.refused == 0))
            wrong(e, "status and verdict differ");
        // The quick check, without a verdict, and the encoder have the same edge.
        if (tw_tensormap_check(&e->good, e->good_cc, NULL) != good_status ||
            tw_tensormap_check(&e->bad, e->bad_cc, NULL) != bad_status)
            wrong(e, "the check without a verdict answers differently");
        if ((tw_tensormap_encode(&e->good, e->good_cc, map) == TW_ERROR_INVALID) != (good_status != TW_OK) ||
            (tw_tensormap_encode(&e->bad, e->bad_cc, map) == TW_ERROR_INVALID) != (bad_status != TW_OK))
            wrong(e, "the encoder answers differently");
    }
}

// Every rule has an edge with an accepted side; one with a least and a most has both.
static void test_all_rules_have_edges(void **state)
{
    (void)state;
    for (int r = 0; r < TW_TENSORMAP_RULE_COUNT; r++) {
        int rows = 0, accepted = 0, sides[2] = {0, 0};
        for (int n = 0; n < EDGES; n++) {
            const struct edge *e = &edges[n];
            struct tw_tensormap_verdict good;
            uint64_t distance;
            int larger;
            if ((int)e->rule != r)
                continue;
            check_side(e, &e->good, e->good_cc, &good);
            differences(e, &distance, &larger);
            rows++;
            accepted += rules[r].always_refused ? good.refused == 0 : good.count == 0;
            sides[larger]++;
        }
        if (!rows)
            fail_msg("rule %s has no row in tensormap_edges.def", rules[r].id);
        if (!accepted)
            fail_msg("no row of rule %s has a good side that is accepted", rules[r].id);
        int two_sided = strstr(rules[r].broken, " || v > ") || strstr(rules[r].broken, "tmap_clamp(v,");
        if (two_sided && !(sides[0] && sides[1]))
            fail_msg("rule %s has a least and a most, and rows in tensormap_edges.def for one of them", rules[r].id);
    }
}

// Whether a number stands in a text, as the messages write numbers.
static int names_number(const char *text, enum tmap_arg arg, uint64_t number)
{
    char word[5][48];
    const char *name = tw_tmap_value_name(arg, number);
    snprintf(word[0], sizeof word[0], "%" PRIu64, number);
    snprintf(word[1], sizeof word[1], "%" PRId64, (int64_t)number);
    snprintf(word[2], sizeof word[2], "0x%" PRIx64, number);
    snprintf(word[3], sizeof word[3], "%" PRIu64 ".%" PRIu64, number / 10, number % 10);
    word[4][0] = 0;
    for (int bit = 30; bit < 64; bit++)
        if (number == UINT64_C(1) << bit)
            snprintf(word[4], sizeof word[4], "2^%d", bit);
    for (int i = 0; i < 5; i++)
        if (word[i][0] && strstr(text, word[i]))
            return 1;
    return name && strcasestr(text, name) != NULL;
}

// A message says which argument, what it is, what it is held against and, behind a semicolon, what to do; and the
// nearest value keeps the rule.
static void test_messages(void **state)
{
    static const char *const verbs[] = {"leave ", "write ", "pad ", "take ", "move ", "carry ", "pass "};
    (void)state;
    for (int n = 0; n < EDGES; n++) {
        const struct edge *e = &edges[n];
        const enum tmap_arg arg = rules[e->rule].arg;
        struct tw_tensormap_verdict verdict;
        char text[TW_TENSORMAP_MESSAGE], argument[64] = "";
        check_side(e, &e->bad, e->bad_cc, &verdict);
        const struct tw_tensormap_finding *f = &verdict.finding[0];
        tw_tensormap_message(&e->bad, e->bad_cc, f, text, sizeof text);
        if (arg != TMAP_NONE) {
            if (tmap_args[arg].entries == TMAP_ENTRIES_ONE)
                snprintf(argument, sizeof argument, "%s is ", tmap_args[arg].name);
            else
                snprintf(argument, sizeof argument, "%s[%u] is ", tmap_args[arg].name, f->entry);
            if (strncmp(text, argument, strlen(argument)) != 0)
                wrong(e, "the message does not begin with its argument");
            if (f->value != tmap_get(&e->bad, arg, f->entry) || !names_number(text, arg, f->value))
                wrong(e, "the message does not name the value");
        }
        if (e->rule != TW_TENSORMAP_RULE_FUNC && !names_number(text, arg, f->bound))
            wrong(e, "the message does not name the bound");
        const char *fix = strstr(text, "; ");
        int says = 0;
        for (size_t i = 0; fix && i < sizeof verbs / sizeof *verbs; i++)
            says |= strncmp(fix + 2, verbs[i], strlen(verbs[i])) == 0;
        if (!says)
            wrong(e, "the message does not say what to do");
        if (arg == TMAP_NONE || (f->warning && f->nearest == f->value))
            continue;
        call_t mended = e->bad;
        tmap_set(&mended, arg, f->entry, f->nearest);
        tw_tensormap_check(&mended, e->bad_cc, &verdict);
        for (int i = 0; i < verdict.count; i++)
            if (verdict.finding[i].rule == e->rule && verdict.finding[i].entry == f->entry)
                wrong(e, "the nearest value breaks the rule too");
    }
}

// ---- work-arounds

static void test_work_arounds(void **state)
{
    static const struct {
        int capability, driver_version;
        unsigned bit;
    } rows[] = {
#define WORKAROUND(ID, capability, driver_version, bit, text) {capability, driver_version, bit},
#include "tensormap/tensormap_workarounds.def"
#undef WORKAROUND
    };
    (void)state;
    assert_int_equal(sizeof rows / sizeof *rows, TW_TENSORMAP_WORKAROUND_COUNT);
    for (unsigned i = 0; i < TW_TENSORMAP_WORKAROUND_COUNT; i++)
        for (int kind = 0; kind < 3; kind++) {
            call_t c = kind == 0 ? tiled() : kind == 1 ? im2col() : wide();
            uint64_t clean[16], map[16];
            const uint64_t bit = UINT64_C(1) << rows[i].bit % 64;
            assert_int_equal(tw_tensormap_encode(&c, 90, clean), TW_OK);
            assert_true((clean[rows[i].bit / 64] & bit) == 0);
            for (int newer = 0; newer < 2; newer++)
                for (int older_device = 0; older_device < 2; older_device++) {
                    int cc = rows[i].capability - older_device, version = rows[i].driver_version + newer;
                    memcpy(map, clean, sizeof map);
                    assert_int_equal(tw_tensormap_work_around(map, cc, version), 0);
                    assert_memory_equal(map, clean, sizeof map);
                    map[rows[i].bit / 64] |= bit;
                    unsigned cleared = tw_tensormap_work_around(map, cc, version);
                    if (newer || older_device) {
                        assert_int_equal(cleared, 0);
                        assert_true(map[rows[i].bit / 64] == (clean[rows[i].bit / 64] | bit));
                    } else {
                        assert_int_equal(cleared, 1u << i);
                        assert_memory_equal(map, clean, sizeof map);
                    }
                }
        }
    assert_true(strncmp(tw_tensormap_workaround_text(TW_TENSORMAP_WORKAROUND_BIT_85), "bit 85, Blackwell", 17) == 0);
    assert_string_equal(tw_tensormap_workaround_text(TW_TENSORMAP_WORKAROUND_COUNT), "?");
    // The row that is known, as the release notes have it.
    uint64_t all[16];
    memset(all, 0xff, sizeof all);
    assert_int_equal(tw_tensormap_work_around(all, 103, 12080), 1u << TW_TENSORMAP_WORKAROUND_BIT_85);
    for (int word = 0; word < 16; word++)
        assert_true(all[word] == (word == 1 ? ~(UINT64_C(1) << 21) : UINT64_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_all_rules_have_edges),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_work_arounds),
    };
    return cmocka_run_group_tests(tests, fill, NULL);
}
