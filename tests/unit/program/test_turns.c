/* Loops whose turns go the other way, or in two halves: drawn bodies that the rule for directions takes come to the
 * same up and down, within bounds that hold whatever casts round; bounds without that are those of one way alone. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "program/any_order.h"
#include "program/program.h"
#include "unit/check.h"
#include "unit/rounds.h"
#include "unit/spec/spec_samples.h"

enum { ROWS = 4, COLUMNS = 16, TURNS = 5, CELLS = ROWS * COLUMNS * TURNS, CARRIED = 3, OUTPUTS = CARRIED + 1 };

/* ---- one program ------------------------------------------------------------------------------------------------- */

struct sample {
    struct spec spec;
    struct diag_set diags;
    const struct program *p;
    int loop;
};

/* What the loop carries is m, s and c, which begin as `first` says; y is made of them behind it. */
static bool begin(struct sample *s, const char *first, const char *body, const char *combine, const char *y)
{
    char text[6000];
    *s = (struct sample){0};
    snprintf(text, sizeof text,
             "local R, C = dims \"R C\"\n"
             "kernel \"k\" {\n"
             "  x = tensor { R, C, dtype = \"fp32\" },\n"
             "  y0 = tensor { R, dtype = \"fp32\", out = true }, y1 = tensor { R, dtype = \"fp32\", out = true },\n"
             "  y2 = tensor { R, dtype = \"fp32\", out = true }, y3 = tensor { R, dtype = \"fp32\", out = true },\n"
             "  axes = \"r c\", tile = { r = %d, c = %d }, grid = { r = R },\n"
             "  program = function(t, at, tile)\n"
             "    local here = span(at.r, tile.r)\n"
             "    local m, s, c = loop(\"c\", range(0, C, tile.c), { %s }, function(j, m, s, c)\n"
             "      local x = load(t.x, here, span(j, tile.c))\n"
             "      %s\n"
             "    end%s)\n"
             "    store(t.y0, here, m) store(t.y1, here, s) store(t.y2, here, c) store(t.y3, here, %s)\n"
             "  end,\n"
             "}\n",
             ROWS, COLUMNS, first, body, combine, y);
    if (spec_read(sample_write("turns.lua", text), &sample_options, &s->spec, &s->diags))
        return false;
    s->p = s->spec.kernel[0].program;
    while (s->p->op[s->loop].kind != PROGRAM_LOOP)
        s->loop++;
    return true;
}

static void end(struct sample *s)
{
    spec_free(&s->spec);
    diag_free(&s->diags);
}

struct result {
    double value[OUTPUTS][ROWS], bound[OUTPUTS][ROWS];
};

static void evaluate(const struct sample *s, double *x, struct program_run run, struct result *to)
{
    const int64_t symbol[3] = {ROWS, COLUMNS * TURNS, 1};
    const int64_t extent[1 + OUTPUTS][SPEC_MAX_RANK] = {{ROWS, COLUMNS * TURNS}, {ROWS}, {ROWS}, {ROWS}, {ROWS}};
    double *tensor[1 + OUTPUTS] = {x}, *bound[1 + OUTPUTS] = {0};
    struct program_error error = {{0}, ""};
    int64_t items;
    for (int i = 0; i < OUTPUTS; i++) {
        tensor[1 + i] = to->value[i];
        bound[1 + i] = to->bound[i];
    }
    struct program_data data = {symbol, tensor, extent, NULL, bound};
    run.count = -1;
    if (program_evaluate(s->p, &s->spec.kernel[0], &data, &run, &items, &error))
        fail_msg("%s", error.text);
}

static bool near(double a, double b, double bound)
{
    return isinf(bound) || a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= bound;
}

/* The first output in which both are apart, -1; *element where. */
static int apart(const struct result *a, const struct result *b, int *element)
{
    for (int i = 0; i < OUTPUTS; i++)
        for (*element = 0; *element < ROWS; ++*element)
            if (!near(a->value[i][*element], b->value[i][*element], a->bound[i][*element] + b->bound[i][*element]))
                return i;
    return -1;
}

/* Up, and down; returns as apart. */
static int up_and_down(const struct sample *s, double *x, bool free_casts, struct result *up, struct result *down,
                       int *element)
{
    bool is_down[64] = {false};
    assert_true(s->loop < 64);
    evaluate(s, x, (struct program_run){.free_casts = free_casts}, up);
    is_down[s->loop] = true;
    evaluate(s, x, (struct program_run){.free_casts = free_casts, .down = is_down}, down);
    return apart(up, down, element);
}

/* ---- drawn bodies ------------------------------------------------------------------------------------------------ */

static uint64_t seed;

static int drawn(int below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((seed >> 33) % (uint64_t)below);
}

static void draw_rows(FILE *out, int depth);

/* A tile of the turn. */
static void draw_tile(FILE *out, int depth)
{
    int form = depth > 0 ? drawn(6) : 0;
    static const char *const before[] = {"x", "exp2_diff(x, ", "cast(", "(", "where(lt(x, ", "exp2_diff(x, n"};
    fputs(before[form], out);
    if (form == 1 || form == 4)
        draw_rows(out, depth - 1);
    else if (form == 2 || form == 3)
        draw_tile(out, depth - 1);
    if (form == 3) {
        fputs(drawn(2) ? " * " : " - ", out);
        draw_rows(out, depth - 1);
    }
    if (form == 4) {
        fputs("), ", out);
        draw_tile(out, depth - 1);
    }
    static const char *const behind[] = {"", ")", ", \"bf16\")", ")", ", 0)", ")"};
    fputs(behind[form], out);
}

/* A number for each row. n is this turn's extreme. */
static void draw_rows(FILE *out, int depth)
{
    static const char *const leaf[] = {"m", "s", "c", "n", "row_max(x)", "row_sum(x)", "0.5", "0"};
    static const char *const call[] = {"max", "min", "exp2_diff"}, *const between[] = {"+", "-", "*"};
    int form = depth > 0 ? drawn(8) : 0;
    if (form <= 1) {
        fputs(leaf[drawn(sizeof leaf / sizeof *leaf)], out);
    } else if (form <= 3) {
        fputs("row_sum(", out);
        draw_tile(out, depth - 1);
        fputs(")", out);
    } else if (form == 4) {
        fputs("where(lt(", out);
        draw_rows(out, depth - 1);
        fputs(", 0), ", out);
        draw_rows(out, depth - 1);
        fputs(", ", out);
        draw_rows(out, depth - 1);
        fputs(")", out);
    } else if (form == 5) {
        fprintf(out, "%s(", call[drawn(3)]);
        draw_rows(out, depth - 1);
        fputs(", ", out);
        draw_rows(out, depth - 1);
        fputs(")", out);
    } else {
        fputs("(", out);
        draw_rows(out, depth - 1);
        fprintf(out, " %s ", between[drawn(3)]);
        draw_rows(out, depth - 1);
        fputs(")", out);
    }
}

/* What a value goes on as: mostly of the forms that may be taken, with anything in a part of them. */
static void draw_next(FILE *out, const char *own)
{
    int form = drawn(8);
    if (form == 0) {
        draw_rows(out, 2);
    } else if (form == 1) {
        fputs(own, out);
    } else if (form == 2) {
        fprintf(out, "%s(%s, ", drawn(2) ? "max" : "min", own);
        draw_rows(out, 2);
        fputs(")", out);
    } else if (form == 3) {
        fprintf(out, "%s + ", own);
        draw_rows(out, 2);
    } else {
        fprintf(out, "%s * exp2_diff(m, n) %s ", own, drawn(3) ? "+" : "-");
        if (drawn(2))
            fputs("row_sum(cast(exp2_diff(x, n), \"bf16\"))", out);
        else
            draw_rows(out, 3);
    }
}

static void draw_body(char *body, size_t size)
{
    FILE *out = fmemopen(body, size, "w");
    assert_non_null(out);
    if (drawn(4))
        fprintf(out, "local n = %s(m, row_%s(x)) ", drawn(5) ? "max" : "min", drawn(5) ? "max" : "min");
    else
        fputs("local n = max(m, row_sum(x)) ", out);
    fputs(drawn(8) ? "return n, " : "return s, ", out);
    draw_next(out, "s");
    fputs(", ", out);
    draw_next(out, "c");
    fclose(out);
}

/* Ordinary numbers; integers; with elements and whole turns that are masked. */
static void draw_inputs(double *x, int kind)
{
    for (int i = 0; i < CELLS; i++) {
        double value = (double)(drawn(4001) - 2000) / 500;
        x[i] = (double)(float)(kind == 1 ? rint(value) : value);
        bool turn = kind == 3 && i / COLUMNS % TURNS == i / COLUMNS / TURNS;
        if ((kind >= 2 && drawn(3) == 0) || turn)
            x[i] = -(double)INFINITY;
    }
}

static void test_drawn(void **state)
{
    static const char *const first[] = {"rows(-inf), rows(0), rows(0)", "rows(0), rows(1), rows(-2)"};
    int taken = 0, casts = 0, bodies = rounds_compared(1600);
    int64_t bounded = 0, unbounded = 0;
    (void)state;
    for (int i = 0; i < bodies; i++) {
        struct sample s;
        char body[3000];
        seed = (uint64_t)i * 977 + 1;
        draw_body(body, sizeof body);
        if (begin(&s, first[drawn(4) == 0], body, "", "cast(s, \"bf16\") - s") &&
            program_any_order(s.p, s.loop, &s.p->graph->memory, NULL) == ANY_ORDER) {
            taken++;
            for (int kind = 0; kind < 4; kind++) {
                double x[CELLS];
                struct result up, down;
                int element;
                draw_inputs(x, kind);
                casts += up_and_down(&s, x, false, &up, &down, &element) >= 0;
                int output = up_and_down(&s, x, true, &up, &down, &element);
                if (output >= 0)
                    fail_msg("%d: %s: with inputs %d, output %d is %.9g within %.3g up and %.9g within %.3g down", i,
                             body, kind, output, up.value[output][element], up.bound[output][element],
                             down.value[output][element], down.bound[output][element]);
                for (int o = 0; o < OUTPUTS; o++)
                    for (int e = 0; e < ROWS; e++)
                        *(isinf(up.bound[o][e]) ? &unbounded : &bounded) += 1;
            }
        }
        end(&s);
    }
    print_message("# %d bodies, %d taken; %d times a cast rounded other numbers; %lld elements bounded, %lld not\n",
                  bodies, taken, casts, (long long)bounded, (long long)unbounded);
    assert_true(taken >= bodies / 20 && casts > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, sample_remove);
}
