#include "verify/run/run_coverage.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "common/json.h"
#include "emu/coverage.h"
#include "emu/emu.h"
#include "verify/run/ring_fills.h"
#include "verify/run/run.h"
#include "verify/run/run_lines.h"

enum {
    ENOUGH = 2,   /* fills of a stage in one block */
    TOLD_MOST = 3 /* things that the note of an entry point names */
};

struct coverage_unit {
    bool launched;
    struct ring_fills rings;
};

/* ---- gathering --------------------------------------------------------------------------------------------------- */

uint32_t run_coverage_events(void)
{
    return ring_fills_events();
}

void run_coverage_event(void *context, const struct emu_event *event)
{
    struct run_coverage *coverage = &((struct run *)context)->coverage;
    if (coverage->current >= 0)
        ring_fills_event(&coverage->unit[coverage->current].rings, coverage->block, event);
}

int run_coverage_open(struct run *run)
{
    struct run_coverage *coverage = &run->coverage;
    struct compile *c = &run->compile;
    coverage->current = -1;
    coverage->block = tw_alloc_zeroed(&c->rt, sizeof *coverage->block * RING_FILLS_BLOCKS);
    coverage->unit = tw_alloc_zeroed(&c->rt, sizeof *coverage->unit * (size_t)(c->unit_count + 1));
    if (!coverage->block || !coverage->unit)
        return 3;
    for (int i = 0; i < c->unit_count; i++)
        if (run->kernel[i])
            ring_fills_open(&coverage->unit[i].rings, &c->unit[i].plan);
    return 0;
}

void run_coverage_begin(struct run *run, int unit)
{
    run->coverage.current = run->coverage.unit && run_is_emulator(run->device) ? unit : -1;
}

void run_coverage_end(struct run *run, bool launched)
{
    struct run_coverage *coverage = &run->coverage;
    if (coverage->current >= 0)
        coverage->unit[coverage->current].launched |= launched;
    coverage->current = -1;
}

void run_coverage_close(struct run *run)
{
    struct run_coverage *coverage = &run->coverage;
    struct tw_runtime *rt = &run->compile.rt;
    for (int i = 0; i < coverage->left_count; i++) {
        tw_free(rt, coverage->left[i].what);
        tw_free(rt, coverage->left[i].write);
        tw_free(rt, coverage->left[i].file);
    }
    tw_free(rt, coverage->left);
    tw_free(rt, coverage->block);
    tw_free(rt, coverage->unit);
    memset(coverage, 0, sizeof *coverage);
}

/* ---- what is left out -------------------------------------------------------------------------------------------- */

/* Adds one; what is handed over, and NULL where there was no memory for it. Exit status. */
static int add(struct run *run, struct run_left left)
{
    struct run_coverage *coverage = &run->coverage;
    struct tw_runtime *rt = &run->compile.rt;
    if (left.what && coverage->left_count == coverage->left_room) {
        int room = coverage->left_room ? 2 * coverage->left_room : 16;
        struct run_left *grown = tw_realloc(rt, coverage->left, sizeof *grown * (size_t)room);
        if (grown) {
            coverage->left = grown;
            coverage->left_room = room;
        }
    }
    if (!left.what || coverage->left_count == coverage->left_room) {
        tw_free(rt, left.what);
        tw_free(rt, left.write);
        tw_free(rt, left.file);
        return 3;
    }
    coverage->left[coverage->left_count++] = left;
    return 0;
}

/* A size with which each block fills every stage twice, whatever else it does: where the ring is filled once a turn of
 * a loop up to a dim. NULL: none is known, or no memory. */
static char *size_for_ring(struct run *run, const struct plan *p, int number)
{
    const struct plan_ring *ring = &p->ring[number];
    for (int r = 0; r < p->role_count; r++) {
        int loop[16], depth = 0;
        for (int s = 0; s < p->role[r].step_count; s++) {
            const struct plan_step *step = &p->role[r].step[s];
            if (step->op == PLAN_LOOP && depth < 16)
                loop[depth++] = plan_number(step->loop);
            else if (step->op == PLAN_END && depth > 0)
                depth--;
            if ((step->op != PLAN_FILL && step->op != PLAN_WRITE) || step->ring != number || depth == 0)
                continue;
            const struct plan_loop *around = loop[depth - 1] < 0 ? NULL : &p->loop[loop[depth - 1]];
            const struct expr_node *to = around ? &p->fused.node[around->to] : NULL;
            int64_t from;
            if (!to || to->op != EXPR_SYMBOL || !expr_is_int(&p->fused, around->from, &from))
                continue;
            int dim = (int)to->integer;
            int64_t multiple = p->symbol_multiple && p->symbol_multiple[dim] > 1 ? p->symbol_multiple[dim] : 1;
            int64_t least = from + (ENOUGH * ring->stages - 1) * around->step + 1;
            return tw_format(&run->compile.rt, "%s >= %" PRId64, p->symbol[dim],
                             (least + multiple - 1) / multiple * multiple);
        }
    }
    return NULL;
}

static bool uses_symbol(const struct expr_graph *g, int node, int symbol)
{
    const struct expr_node *n = &g->node[node];
    if (n->op == EXPR_SYMBOL)
        return n->integer == symbol;
    for (int i = 0; i < 3; i++)
        if (n->arg[i] >= 0 && uses_symbol(g, n->arg[i], symbol))
            return true;
    return false;
}

/* The grid has a block for each item. */
static bool is_block_an_item(const struct plan *p)
{
    for (int i = 0; i < 3; i++)
        if (uses_symbol(&p->graph, p->launch.grid[i], p->symbol_count - 1))
            return false;
    return true;
}

/* A block fills the ring once: no size can wrap it. No fill stands in a loop but that over items. */
static bool is_filled_once(const struct plan *p, int ring)
{
    bool looped = false;
    for (int r = 0; r < p->role_count; r++) {
        bool turns[32] = {false}; /* of what is open: a loop that is none over items */
        int depth = 0;
        for (int s = 0; s < p->role[r].step_count; s++) {
            const struct plan_step *step = &p->role[r].step[s];
            if ((step->op == PLAN_LOOP || step->op == PLAN_WHEN) && depth < 32)
                turns[depth++] = step->op == PLAN_LOOP && step->loop;
            else if (step->op == PLAN_END && depth > 0)
                turns[--depth] = false;
            for (int d = 0; step->op == PLAN_FILL && step->ring == ring && d < 32; d++)
                looped = looped || step->loop || turns[d];
        }
    }
    return p->derived && !looped && is_block_an_item(p);
}

static int report_rings(struct run *run, int number)
{
    const struct ring_fills *unit = &run->coverage.unit[number].rings;
    const struct plan *p = &run->compile.unit[number].plan;
    int status = 0;
    for (int i = 0; i < unit->ring_count && status == 0; i++) {
        const struct ring_seen *ring = &unit->ring[i];
        int once = 0, twice = 0;
        for (int s = 0; s < ring->stages; s++) {
            once += unit->fills[ring->first + s] > 0;
            twice += unit->fills[ring->first + s] >= ENOUGH;
        }
        if (twice == ring->stages || is_filled_once(p, i))
            continue;
        char *what = twice ? tw_format(&run->compile.rt, "ring %s unwrapped (%d of %d stages filled twice)",
                                       p->ring[i].name, twice, ring->stages)
                           : tw_format(&run->compile.rt, "ring %s unwrapped (%d of %d stages filled)", p->ring[i].name,
                                       once, ring->stages);
        status = add(
            run, (struct run_left){.unit = number, .kind = LEFT_RING, .what = what, .write = size_for_ring(run, p, i)});
    }
    return status;
}

/* Whether the word stands in the text. */
static bool has_word(struct line_text text, const char *word, char behind)
{
    static const char letters[] = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    size_t length = strlen(word);
    for (size_t at = 0; length && at + length < text.length; at++)
        if (memcmp(text.begin + at, word, length) == 0 && (at == 0 || !strchr(letters, text.begin[at - 1])) &&
            (behind ? text.begin[at + length] == behind : !strchr(letters, text.begin[at + length])))
            return true;
    return false;
}

/* The role whose step is a call that stands in this line, or NULL. */
static const char *role_of(const struct plan *p, struct line_text text)
{
    for (int r = 0; r < p->role_count; r++)
        for (int s = 0; s < p->role[r].step_count; s++) {
            const struct plan_step *step = &p->role[r].step[s];
            if (step->op != PLAN_LOOP && step->call && has_word(text, step->call, '('))
                return p->role[r].name;
        }
    return NULL;
}

/* Whether the line is of a loop over the items of a block where there is one to each: the grid has as many blocks. */
static bool is_single_round(const struct plan *p, struct line_text text)
{
    if (!is_block_an_item(p))
        return false;
    if (p->derived && (has_word(text, "items_next", '(') || has_word(text, "more", ')')))
        return true; /* templates/blocks/steps.cuh: the loop has no name in the text */
    for (int r = 0; r < p->role_count; r++) {
        const struct plan_step *first = p->role[r].step;
        if (p->role[r].step_count && first->op == PLAN_LOOP && !first->count && has_word(text, first->call, 0))
            return true;
    }
    return false;
}

/* Whether the line gives back what an earlier item of the block held (templates/blocks/copy_steps.cuh), where there is
 * none. */
static bool is_of_later_items(const struct plan *p, struct line_text text)
{
    for (int r = 0; r < p->role_count && is_block_an_item(p); r++)
        for (int s = 0; s < p->role[r].step_count; s++) {
            const struct plan_step *step = &p->role[r].step[s];
            if (step->op == PLAN_RELEASE && step->count > 0 && is_filled_once(p, step->ring) &&
                has_word(text, step->call, '('))
                return true;
        }
    return false;
}

/* Whether the line asks if a turn is the first, of a loop whose turns stand in several loops of the text, whose masks
 * differ: by the tiles alone, turns of one may never be it. */
static bool is_later_turn(const struct plan *p, struct line_text text)
{
    for (int l = 0; l < p->loop_count; l++) {
        char turn[80];
        snprintf(turn, sizeof turn, "%s_turn > 0", p->loop[l].name);
        for (int r = 0; r < p->role_count && has_word(text, turn, ')'); r++) {
            int loops = 0;
            for (int s = 0; s < p->role[r].step_count; s++)
                loops += p->role[r].step[s].op == PLAN_LOOP && p->role[r].step[s].loop == plan_some(l);
            if (loops > 1)
                return true;
        }
    }
    return false;
}

/* Whether the line asks if a stage that was asked for has come (templates/blocks/ring.cuh): a matter of time, not of
 * sizes. */
static bool is_of_time(const struct plan *p, struct line_text text)
{
    bool asks = false;
    for (int r = 0; r < p->role_count; r++)
        for (int s = 0; s < p->role[r].step_count; s++)
            asks = asks || p->role[r].step[s].op == PLAN_ASK;
    return asks && has_word(text, "!came", ')');
}

static int report_code(struct run *run, int number)
{
    static const enum left_kind kind[] = {[LINE_LEFT] = LEFT_LINES, [LINE_IF] = LEFT_IF, [LINE_LOOP] = LEFT_LOOP};
    static const char *const fate[] = {
        [LINE_LEFT] = "not executed", [LINE_IF] = "going one way only", [LINE_LOOP] = "without a second round"};
    struct compile *c = &run->compile;
    const struct compile_unit *unit = &c->unit[number];
    struct line_verdict *verdict;
    int count, status = 0;
    if (lines_judge(&c->rt, run->kernel[number], unit->source, &verdict, &count) != TW_OK)
        return 3;
    for (int i = 0; i < count && status == 0; i++) {
        const struct line_verdict *v = &verdict[i];
        enum { SHOWN = 60 };
        if (v->kind == LINE_LOOP && is_single_round(&unit->plan, v->text))
            continue;
        if (v->kind == LINE_IF && (is_later_turn(&unit->plan, v->text) || is_of_time(&unit->plan, v->text)))
            continue;
        if (v->kind == LINE_LEFT && is_of_later_items(&unit->plan, v->text))
            continue;
        int shown = v->text.length > SHOWN ? SHOWN : (int)v->text.length;
        const char *role = v->kind == LINE_LEFT ? role_of(&unit->plan, v->text) : NULL;
        char last[24] = "", in_role[80] = "";
        if (v->last > v->line)
            snprintf(last, sizeof last, "-%" PRIu32, v->last);
        if (role)
            snprintf(in_role, sizeof in_role, " of role %.60s", role);
        char *what = tw_format(&c->rt, "%s:%" PRIu32 "%s '%.*s%s'%s %s", v->file, v->line, last, shown, v->text.begin,
                               v->text.length > SHOWN ? "..." : "", in_role, fate[v->kind]);
        status = add(run, (struct run_left){.unit = number,
                                            .kind = kind[v->kind],
                                            .what = what,
                                            .file = tw_strdup(&c->rt, v->file),
                                            .line = v->line,
                                            .last = v->last});
    }
    tw_free(&c->rt, verdict);
    return status;
}

/* The note of the things from `first` on, all of one entry point. */
static void print(const struct run *run, int first)
{
    const struct run_coverage *coverage = &run->coverage;
    const struct compile_unit *unit = &run->compile.unit[coverage->left[first].unit];
    int count = coverage->left_count - first;
    fprintf(stderr, "tilewright run: note: %s %s: run's sizes leave ", unit->plan.entry, unit->arch->name);
    for (int kind = LEFT_VARIANT, told = 0; kind <= LEFT_LOOP; kind++) /* what was not reached before what was once */
        for (int i = 0; i < count; i++)
            if (coverage->left[first + i].kind == (enum left_kind)kind && told++ < TOLD_MOST)
                fprintf(stderr, "%s%s", told > 1 ? ", " : "", coverage->left[first + i].what);
    if (count > TOLD_MOST)
        fprintf(stderr, ", and %d more (--json has all)", count - TOLD_MOST);
    for (int i = 0; i < count; i++)
        if (coverage->left[first + i].write) {
            fprintf(stderr, "; write a run size with %s", coverage->left[first + i].write);
            break;
        }
    fputs(" [RUN-COVERAGE]\n", stderr);
}

int run_coverage_report(struct run *run)
{
    struct run_coverage *coverage = &run->coverage;
    const struct compile *c = &run->compile;
    int status = 0;
    for (int i = 0; i < c->unit_count && status == 0 && coverage->unit && run_is_emulator(run->device); i++) {
        bool failed = false, any = false;
        int first = coverage->left_count;
        for (int k = 0; k < run->case_count; k++) {
            failed = failed || (run->cases[k].unit == &c->unit[i] && !run->cases[k].passed);
            any = any || run->cases[k].unit->kernel == c->unit[i].kernel;
        }
        if (!run->kernel[i] || failed || !any || run_is_debug_text(&c->unit[i]))
            continue;
        if (coverage->unit[i].launched) {
            status = report_rings(run, i);
            status = status ? status : report_code(run, i);
        } else if (!run->options.set.count) {
            char *what = tw_format(&run->compile.rt, "it unlaunched: none fits its alignment");
            status = add(run, (struct run_left){.unit = i, .kind = LEFT_VARIANT, .what = what});
        }
        if (coverage->left_count > first && !run->options.json)
            print(run, first);
    }
    return status;
}

void run_coverage_json(const struct run *run, json_object *list)
{
    static const char *const kind[] = {[LEFT_VARIANT] = "variant",
                                       [LEFT_RING] = "ring",
                                       [LEFT_LINES] = "lines",
                                       [LEFT_IF] = "if",
                                       [LEFT_LOOP] = "loop"};
    const struct run_coverage *coverage = &run->coverage;
    for (int i = 0; i < coverage->left_count && list; i++) {
        const struct run_left *left = &coverage->left[i];
        const struct compile_unit *unit = &run->compile.unit[left->unit];
        json_object *o = json_object_new_object();
        json_add_text(o, "entry", unit->plan.entry);
        json_add_text(o, "arch", unit->arch->name);
        json_add_text(o, "kind", kind[left->kind]);
        json_add_text(o, "what", left->what);
        json_add_text(o, "write", left->write);
        json_add_text(o, "file", left->file ? left->file : "");
        json_add_number(o, "line", left->line);
        json_add_number(o, "last", left->last);
        json_object_array_add(list, o);
    }
}
