/* The protocol check against the brute-force exploration of protocol_naive.h, on random step lists: programs as a
 * derivation would make them, with random stages, instances, orders and places, most of them with random damage.
 *
 *     test_protocol_random [ROUNDS [SEED [numbers | FILE.json]]]
 *
 * numbers: the last of these alone. FILE.json receives what was found; a run of many lists is
 * tests/bench/results/protocol_random.json.
 * Each list is run with random numbers of its loops by both. They must agree at the very numbers, but that the check
 * may refuse what goes wrong at other numbers only: then longer loops must show it. And what the whole check passes
 * must be clean at random numbers beyond those that it explores. */
#include "unit/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "emu/damage/result_file.h"
#include "protocol_programs.h"
#include "unit/rounds.h"
#include "protocol_naive.h"

static uint32_t seed;

static int draw(int below)
{
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 12) % (uint32_t)below);
}

/* ---- programs --------------------------------------------------------------------------------------------------- */

static bool attention(struct plan *p)
{
    struct attention a = {.k_stages = 1 + draw(3), .v_stages = 1 + draw(3), .consumers = 1 + (draw(3) == 0)};
    a.q_stages = draw(3) == 0 ? 1 + draw(2) : 0;
    a.ahead = draw(2);
    a.masked = draw(4) == 0;
    a.tiles = draw(2);
    a.turns = a.consumers > 1 && draw(2);
    a.guarded = draw(4) == 0;
    a.heads = draw(5) == 0;
    a.filled_ahead = a.ahead && draw(2);
    a.known = draw(5) == 0;
    a.o_buffers = a.q_stages == 0 && draw(3) == 0 ? 1 + draw(2) : 0;
    return program_attention(p, a);
}

static bool together(struct plan *p)
{
    return program_together(p, (struct together){2 + draw(2), 1 + (draw(4) == 0), draw(2), draw(2)});
}

static bool handoff(struct plan *p)
{
    return program_handoff(p, 1 + draw(2), draw(2));
}

static bool two_readers(struct plan *p)
{
    return program_readers(p, (struct readers){1 + draw(3), draw(2), 1 + draw(2), draw(2)});
}

static bool norm(struct plan *p)
{
    return program_norm(p, (struct norm){1 + draw(3), 1 + draw(2), 1 + (draw(4) == 0), draw(2)});
}

static bool convert(struct plan *p)
{
    if (draw(3) == 0)
        return program_through_scratch(p, 1 + draw(3), draw(2));
    struct convert a = {1 + draw(3), 1 + draw(3), 1 + (draw(4) == 0), 1 + (draw(4) == 0), draw(2), draw(2)};
    return program_convert(p, a);
}

static bool parts(struct plan *p)
{
    return program_parts(p, (struct parts){1 + draw(2), draw(4) > 0, draw(3) == 0});
}

static bool in_turn(struct plan *p)
{
    return program_in_turn(p, (struct in_turn){1 + draw(3), 2 + (draw(4) == 0), draw(4) > 0, draw(2), false});
}

static bool in_turn_awaited(struct plan *p)
{
    return program_in_turn(p, (struct in_turn){1 + draw(3), 2 + (draw(4) == 0), true, draw(2), true});
}

static bool copies(struct plan *p)
{
    sample_gemm_sm80(p, 2 + draw(2), 1, draw(2));
    return true;
}

static bool copied(struct plan *p)
{
    return program_copied(p, (struct copied){2 + draw(2), draw(3), draw(2), draw(3) == 0, draw(4) == 0});
}

static bool late(struct plan *p)
{
    return program_late(p, (struct late){2 + draw(2), 1 + (draw(4) == 0), 1 + draw(3), 1 + draw(2), draw(2), draw(3)});
}

static bool source(struct plan *p)
{
    return program_source(p, (struct source){1, 1 + draw(3), draw(2)});
}

static bool stores(struct plan *p)
{
    struct sample_gemm g = {.stages = 1 + draw(2), .consumers = 1, .d_stages = draw(3), .d_tiles = 2};
    sample_gemm_sm90(p, g);
    return true;
}

static const struct {
    const char *name;
    bool (*make)(struct plan *p); /* true where the program is right */
} kinds[] = {{"attention", attention},
             {"together", together},
             {"two readers", two_readers},
             {"norm", norm},
             {"convert", convert},
             {"in turn", in_turn},
             {"handoff", handoff},
             {"copies", copies},
             {"stores", stores},
             {"copied", copied},
             {"parts", parts},
             {"in turn, awaited", in_turn_awaited},
             {"late", late},
             {"source", source}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- damage ------------------------------------------------------------------------------------------------------ */

static void move(struct plan_role *r, int from, int to)
{
    struct plan_step step = r->step[from];
    memmove(r->step + from, r->step + from + 1, (size_t)(r->step_count - from - 1) * sizeof step);
    memmove(r->step + to + 1, r->step + to, (size_t)(r->step_count - 1 - to) * sizeof step);
    r->step[to] = step;
}

static const char *damage(struct plan *p)
{
    int role = draw(p->role_count);
    struct plan_role *r = &p->role[role];
    int at = draw(r->step_count), other = draw(r->step_count), kind = draw(18);
    struct plan_step *s = &r->step[at];
    if (protocol_is_flow(s->op) && kind < 6)
        kind = 6 + draw(12);
    switch (kind) {
    case 0:
    case 1:
        sample_drop(p, role, at);
        return "dropped";
    case 2:
        move(r, at, other);
        return "moved";
    case 3:
    case 4:
        if (at + 1 < r->step_count)
            sample_swap(p, role, at, at + 1);
        return "swapped";
    case 5:
        sample_insert(p, role, other, *s);
        return "repeated";
    case 6:
    case 7:
        s->count = s->count > 0 && draw(2) ? s->count - 1 : s->count + 1;
        return "count";
    case 8:
        s->phase ^= 1;
        return "phase";
    case 9:
        s->less = s->less > 0 && draw(2) ? s->less - 1 : s->less + 1;
        return "less";
    case 10:
        s->back = s->back > 0 && draw(2) ? s->back - 1 : s->back + 1;
        return "back";
    case 11:
        s->op = s->op == PLAN_BARRIER          ? PLAN_BARRIER_ARRIVE
                : s->op == PLAN_BARRIER_ARRIVE ? PLAN_BARRIER
                : s->op == PLAN_MMA_WAIT       ? PLAN_MMA_COMMIT
                : s->op == PLAN_SKIP           ? PLAN_WAIT_FULL
                                               : s->op;
        return "operation";
    case 12:
        if (p->ring_count)
            p->ring[draw(p->ring_count)].stages = 1 + draw(3);
        return "stages";
    case 13:
        if (s->call && (s->op == PLAN_LOOP || s->op == PLAN_WHEN))
            s->call = strcmp(s->call, "kv") == 0 ? "masked" : draw(2) ? "kv" : "k";
        return "class";
    case 14:
        s->ring = p->ring_count ? draw(p->ring_count) : s->ring;
        if ((s->op == PLAN_FILL || s->op == PLAN_READ || s->op == PLAN_WRITE) && s->tensor >= 0)
            s->tensor = s->ring;
        return "ring";
    case 15: /* a loop ends, or begins, elsewhere */
        for (int i = 0; i < r->step_count; i++)
            if (protocol_is_flow(r->step[(at + i) % r->step_count].op)) {
                move(r, (at + i) % r->step_count, other);
                break;
            }
        return "loop moved";
    case 16:
        s->share = s->share ? 0 : s->share;
        s->least = s->op == PLAN_LOOP ? draw(2) : 0;
        return "share";
    default:
        s->place = s->place ? 1 + draw(p->place_count) : 0;
        s->only = s->only ? 3 - s->only : 0;
        return "place";
    }
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

static struct protocol_trips random_trips(const struct protocol_code *code, int most, int outer)
{
    struct protocol_trips trips = {.turns = 1 + draw(3)};
    for (int n = 0; n < code->classes; n++)
        for (int i = 0; i < trips.turns; i++)
            trips.trip[n][i] = code->class[n].outer ? draw(outer + 1) : draw(most + 1);
    return trips;
}

static void print_plan(const struct plan *p, const struct protocol_code *code, const struct protocol_trips *trips)
{
    plan_print_tables(p, false, stderr);
    for (int n = 0; trips && n < code->classes; n++) {
        fprintf(stderr, "%s:", code->class[n].name);
        for (int i = 0; i < trips->turns; i++)
            fprintf(stderr, " %d", trips->trip[n][i]);
        fprintf(stderr, "\n");
    }
}

static struct {
    int rounds, damaged, by_text, clean, faulty, too_large, cut, harmless, elsewhere, missed, alarms, holes, refused;
    int agreed, disagreed; /* lists: those refused by their text are neither, unless they are right */
    size_t states, most;
} tally;

enum { MOST_STATES = 6000000 };

static bool shown(void)
{
    return tally.missed + tally.alarms + tally.holes <= 3 || getenv("TW_TEST_VERBOSE");
}

/* Longer loops show what the check refuses. */
static bool goes_wrong_elsewhere(const struct plan *p, const struct protocol_code *code)
{
    for (int i = 0; i < 12; i++) {
        struct protocol_trips trips = random_trips(code, i < 6 ? 4 : 6, 3);
        size_t states;
        if (naive_explore_some(p, &trips, false, 60000, &states))
            return true;
    }
    return false;
}

static void compare(const struct plan *p, const struct protocol_code *code, const char *what, bool good)
{
    for (int i = 0; i < 3; i++) {
        struct protocol_trips trips;
        struct diag_set diags = {0};
        size_t states;
        const char *naive;
        bool large;
        for (int most = 1 + i, outer = 2;; most -= most > 0, outer -= outer > 0) {
            trips = random_trips(code, most, outer);
            naive = naive_explore_some(p, &trips, false, MOST_STATES, &states);
            large = !naive && states > MOST_STATES;
            if (!large || most + outer == 0)
                break;
            tally.cut++; /* decided at smaller numbers */
        }
        bool fast = protocol_run(p, code, &trips, &diags) > 0;
        tally.states += states;
        tally.most = states > tally.most ? states : tally.most;
        if (large) {
            tally.too_large++;
        } else if (fast == (naive != NULL)) {
            tally.clean += !fast;
            tally.faulty += fast;
        } else if (fast && !good && naive_explore_some(p, &trips, true, MOST_STATES, &states)) {
            tally.harmless++;
        } else if (!fast || good || !goes_wrong_elsewhere(p, code)) {
            tally.missed += !fast;
            tally.alarms += fast;
            if (shown()) {
                print_error("%s: explored: %s; checked:\n", what, naive ? naive : "clean");
                diag_print(&diags, stderr);
                print_plan(p, code, &trips);
            }
        } else {
            tally.elsewhere++;
        }
        diag_free(&diags);
    }
}

static bool is_limit(const struct diag_set *diags)
{
    return diags->count && strcmp(diags->item[diags->count - 1].rule, "PROTOCOL-LIMIT") == 0;
}

/* What the whole check passes is clean at any numbers. */
static void compare_cut_off(struct plan *p, const struct protocol_code *code, const char *what, bool good)
{
    struct diag_set diags = {0};
    bool passes = plan_check_protocol(p, &diags) == 0;
    tally.refused += !passes;
    if (good && !passes) {
        print_error("%s is refused:\n", what);
        diag_print(&diags, stderr);
        print_plan(p, code, NULL);
        tally.alarms++;
    }
    for (int i = 0; i < 20 && passes; i++) {
        static const int most[] = {1, 2, 6, 20}, outer[] = {12, 3, 7};
        struct protocol_trips trips = random_trips(code, most[i % 4], outer[i % 3]);
        if (protocol_run(p, code, &trips, &diags) == 0)
            continue;
        if (is_limit(&diags)) { /* more steps than are explored, which it says: the other numbers decide */
            diag_free(&diags);
            diags = (struct diag_set){0};
            tally.cut++;
            continue;
        }
        tally.holes++;
        if (shown()) {
            print_error("%s: passes, but at other numbers:\n", what);
            diag_print(&diags, stderr);
            print_plan(p, code, &trips);
        }
        break;
    }
    diag_free(&diags);
}

static int lists;
static uint32_t first_seed;
static bool numbers_alone;
static const char *path; /* of the record, NULL: none */

static void record_lists(void)
{
    char command[200];
    struct json_object *lists_by = json_object_new_object(), *runs = json_object_new_object();
    snprintf(command, sizeof command, "build/tests/unit/plan/test_protocol_random %d %lu %s", lists,
             (unsigned long)first_seed, path);
    struct json_object *all = result_begin(
        "tests/unit/plan/test_protocol_random.c",
        "random step lists, most of them damaged: the proof's verdict and its exploration at random numbers of turns, "
        "against an exploration by brute force; and what the proof passes at numbers beyond those that it explores",
        command);
    result_number(lists_by, "refused by their text, not compared", tally.by_text);
    result_number(lists_by, "refused by the exploration", tally.refused);
    result_number(lists_by, "passed", tally.rounds - tally.by_text - tally.refused);
    result_number(runs, "clean by both", tally.clean);
    result_number(runs, "faulty by both", tally.faulty);
    result_number(runs, "refused, and shown at other numbers", tally.elsewhere);
    result_number(runs, "refused: arrivals for another turn that do no harm", tally.harmless);
    result_number(runs, "too large for brute force", tally.too_large);
    result_number(runs, "missed by the proof", tally.missed);
    result_number(runs, "false alarms", tally.alarms);
    result_number(runs, "passed, and wrong beyond the numbers explored", tally.holes);
    result_number(all, "lists", tally.rounds);
    result_number(all, "lists damaged", tally.damaged);
    result_number(all, "agreed", tally.agreed);
    result_number(all, "disagreed", tally.disagreed);
    json_object_object_add(all, "lists by verdict", lists_by);
    json_object_object_add(all, "comparisons at the same numbers", runs);
    result_number(all, "states by brute force", (int64_t)tally.states);
    result_number(all, "states of one list at most", (int64_t)tally.most);
    result_number(all, "processor seconds", (int64_t)(clock() / CLOCKS_PER_SEC));
    result_end(all, path);
}

/* The list by its text, by the exploration, by brute force. */
static void hold(struct plan *p, const char *what, bool good)
{
    struct diag_set diags = {0};
    struct protocol_code code = {0};
    if (protocol_check_program(p, &diags) > 0 || protocol_check_counts(p, &diags) > 0) {
        tally.by_text++;
        if (good) {
            print_error("%s:\n", what);
            diag_print(&diags, stderr);
            tally.alarms++;
        }
    } else {
        assert_int_equal(protocol_code(p, &code), 0);
        compare_cut_off(p, &code, what, good);
        if (!numbers_alone)
            compare(p, &code, what, good);
        protocol_code_free(&code);
    }
    diag_free(&diags);
}

static void test_random(void **state)
{
    (void)state;
    for (int round = 0; round < lists; round++) {
        struct plan p;
        char what[160];
        int before = tally.missed + tally.alarms + tally.holes, by_text = tally.by_text;
        uint32_t begun = seed;
        int kind = draw(KINDS);
        bool good = kinds[kind].make(&p);
        int wounds = draw(5) == 0 ? 0 : 1 + (draw(4) == 0);
        const char *last = good ? "good" : "bad";
        good = good && wounds == 0;
        for (int i = 0; i < wounds; i++)
            last = damage(&p);
        snprintf(what, sizeof what, "round %d, seed %u, %s, %s", round, begun, kinds[kind].name, last);
        tally.rounds++;
        tally.damaged += wounds > 0;
        hold(&p, what, good);
        bool disagrees = tally.missed + tally.alarms + tally.holes > before;
        tally.disagreed += disagrees;
        tally.agreed += !disagrees && tally.by_text == by_text;
        plan_free(&p);
    }
    print_message(
        "%d lists: %d refused by their text, %d by the exploration; at the same numbers %d clean and %d faulty "
        "by both, %d faulty for the check and shown at other numbers, %d with arrivals for another turn that do "
        "no harm, %d decided at smaller numbers than drawn, %d too large; %zu states, %zu at most\n",
        tally.rounds, tally.by_text, tally.refused, tally.clean, tally.faulty, tally.elsewhere, tally.harmless,
        tally.cut, tally.too_large, tally.states, tally.most);
    print_message("missed by the check: %d, false alarms: %d, wrong beyond the cut-off: %d\n", tally.missed,
                  tally.alarms, tally.holes);
    if (path)
        record_lists();
    assert_int_equal(tally.missed + tally.alarms + tally.holes, 0);
    assert_int_equal(tally.too_large, 0);
}

int main(int count, char **argument)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    lists = count > 1 ? atoi(argument[1]) : rounds_compared(300);
    first_seed = seed = count > 2 ? (uint32_t)strtoul(argument[2], NULL, 10) : 1;
    numbers_alone = count > 3 && strcmp(argument[3], "numbers") == 0;
    path = count > 3 && !numbers_alone ? argument[3] : NULL;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
