/* The program with the values that `tune` names for tiles and clusters, for what plans make of them. */
#include "read/trace.h"

#include <string.h>

enum { MOST_TRACES = 256 };

/* Traces with one value or two, on the architecture. */
static void trace_values(struct reader *r, struct spec_tune_program with)
{
    struct spec_kernel *k = reader_kernel(r);
    const struct program *on = spec_program(k, with.arch);
    struct program *p = arena_alloc(r->arena, sizeof *p);
    reader_check(r, p);
    *p = (struct program){on->loc, &k->graph, {{0}}, on->axis_count, NULL, 0};
    memcpy(p->axis, on->axis, sizeof p->axis);
    for (int i = 0; i < p->axis_count; i++)
        p->axis[i].tile = p->axis[i].chosen ? 0 : p->axis[i].tile;
    for (int i = 0; i < 2 && with.tune[i] >= 0; i++) {
        const struct spec_axis_tune *tune = &k->axis_tune[with.tune[i]];
        struct program_axis *axis = &p->axis[tune->axis];
        if (tune->field == SPEC_TILE) {
            axis->tile = tune->value[with.value[i]];
            axis->chosen = false;
        } else {
            axis->cluster = tune->value[with.value[i]];
        }
    }
    module_sizes(r, with.arch, p, &with.choices);
    with.program = p;
    if (!trace_quietly(r, p))
        return;
    struct spec_tune_program *grown = arena_grow(r->arena, k->tune_program, k->tune_program_count, sizeof *grown);
    reader_check(r, grown);
    k->tune_program = grown;
    k->tune_program[k->tune_program_count++] = with;
}

static void trace_all(struct reader *r, const char *arch)
{
    struct spec_kernel *k = reader_kernel(r);
    int values = 0, pairs = 0;
    for (int i = 0; i < k->axis_tune_count; i++) {
        pairs += values * k->axis_tune[i].count;
        values += k->axis_tune[i].count;
    }
    k->tune_alone = values + pairs > MOST_TRACES;
    for (int i = 0; i < k->axis_tune_count && values <= MOST_TRACES; i++)
        for (int a = 0; a < k->axis_tune[i].count; a++) {
            trace_values(r, (struct spec_tune_program){.arch = arch, .tune = {i, -1}, .value = {a, 0}});
            for (int j = 0; j < i && !k->tune_alone; j++)
                for (int b = 0; b < k->axis_tune[j].count; b++)
                    trace_values(r, (struct spec_tune_program){.arch = arch, .tune = {i, j}, .value = {a, b}});
        }
}

void trace_tunes(struct reader *r)
{
    const struct spec_kernel *k = reader_kernel(r);
    luaL_checkstack(r->L, 8, "tune");
    for (const char *const *arch = r->options->arch; arch && *arch; arch++) {
        bool listed = k->arch_count == 0;
        for (int i = 0; i < k->arch_count; i++)
            listed |= strcmp(k->arch[i].name, *arch) == 0;
        if (listed)
            trace_all(r, *arch);
    }
}
