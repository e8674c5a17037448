/* The last wave by halves (schedule.tail).
 *
 * A wave that is a quarter full takes as long as a full one. Where the items that are left are at most half as many as
 * blocks that take items, each is given to two, which have half of its rows each: the consumers that have the first
 * half of a tile's rows multiply, the others go past the item (`resting`, plan/steps.h). The second half is the tile
 * that begins as many rows further on, so the text is the same for both but for where an item begins. Half an item is
 * always a block's last one.
 *
 * At 4096 x 24576 x 1536 by 128 x 256 (23.3 waves of an H200) that gave 0.8 % in bursts (tests/bench/notes.md). */
#include <stdio.h>
#include <string.h>

#include "lower/derive/filled.h"
#include "lower/family.h"
#include "lower/pipeline/pipeline.h"

static int refuse(const struct pipeline *x, const char *text)
{
    return pipeline_report(x, pipeline_field(x, "schedule.tail")->loc, "schedule.tail", "SCHEDULE-TAIL", text);
}

static bool is_of(const struct expr_node *n, int axis)
{
    return n->op == EXPR_AT && n->integer == axis;
}

/* What is asked of where an item begins. */
struct question {
    const struct expr_graph *g;
    bool *seen; /* by node */
    int axis, tile;
    bool edges; /* of where tiles end, some of which lie along the axis by their columns */
};

/* at + row(), the row being one of the tile. */
static bool is_own_row(const struct question *q, const struct expr_node *n)
{
    for (int i = 0; n->op == EXPR_ADD && i < 2; i++) {
        const enum expr_op within = q->g->node[n->arg[1 - i]].op;
        if (is_of(&q->g->node[n->arg[i]], q->axis))
            return within == EXPR_ROW || (q->edges && within == EXPR_COLUMN);
    }
    return false;
}

/* The value is the same for both halves of an item, but for the rows that it is of. */
static bool is_alike(struct question *q, int node)
{
    if (node < 0 || q->seen[node])
        return true;
    const struct expr_node *n = &q->g->node[node];
    q->seen[node] = true;
    if (is_own_row(q, n) || !derive_tells_apart(q->g, node, q->axis, q->tile))
        return true;
    bool alike = !is_of(n, q->axis);
    for (int a = 0; a < 3 && alike; a++)
        alike = is_alike(q, n->arg[a]);
    for (int d = 0; n->op == EXPR_TENSOR && d < n->rank && alike; d++)
        alike = is_alike(q, q->g->index[n->first_index + d]);
    return alike;
}

static bool are_values_alike(struct question *q, const struct pipeline *x, const struct program_op *o)
{
    bool alike = is_alike(q, o->tile.node);
    for (int a = 0; a < 3; a++)
        alike = alike && is_alike(q, o->arg[a].node);
    for (int d = 0; o->tensor >= 0 && d < x->plan->tensor[o->tensor].rank; d++) {
        const int start = o->at[d].start;
        const bool rows = start >= 0 && is_of(&q->g->node[start], q->axis) && o->at[d].length == q->tile;
        alike = alike && (rows || is_alike(q, start));
    }
    for (int v = 0; v < o->carried && o->value; v++)
        alike = alike && is_alike(q, o->value[v].node);
    return alike && (o->kind != PROGRAM_LOOP || (is_alike(q, o->from) && is_alike(q, o->to)));
}

/* Of where an item begins the program asks nothing but where its rows are, and which multiple of a tile's that is:
 * elsewhere half an item would give other numbers. */
static bool is_place_of_rows(struct pipeline *x, int axis, int tile)
{
    struct question q = {.g = x->program->graph, .axis = axis, .tile = tile};
    q.seen = plan_alloc(x->plan, sizeof *q.seen * ((size_t)q.g->count + 1));
    bool alike = q.seen != NULL;
    for (int i = 0; i < x->program->op_count && alike; i++)
        alike = are_values_alike(&q, x, &x->program->op[i]);
    q.edges = true;
    for (int i = 0; i < x->program->op_count && alike; i++)
        alike = is_alike(&q, x->program->op[i].tile.valid_row) && is_alike(&q, x->program->op[i].tile.valid_column);
    return alike;
}

/* The item's axis that a tile's rows are along: the first operand of the dots lies there, the second does not. -1: not
 * one alone. */
static int axis_of_rows(const struct pipeline *x)
{
    const struct expr_graph *g = x->program->graph;
    int found = -1, count = 0;
    for (int k = 0; k < x->plan->item_count; k++) {
        const struct plan_item *item = &x->plan->item[k];
        bool rows = item->tile == x->d.rows;
        for (int i = 0; i < x->program->op_count && rows; i++) {
            if (x->program->op[i].kind != PROGRAM_DOT)
                continue;
            bool along[2] = {false, false};
            for (int o = 0; o < 2; o++) {
                const int load = x->d.dot[i].load[o];
                for (int d = 0; load >= 0 && d < x->plan->tensor[x->program->op[load].tensor].rank; d++)
                    along[o] = along[o] || (x->program->op[load].at[d].start >= 0 &&
                                            pipeline_reads_axis(g, x->program->op[load].at[d].start, item->axis));
            }
            rows = along[0] && !along[1];
        }
        if (!rows)
            continue;
        found = k;
        count++;
    }
    return count == 1 ? found : -1;
}

/* One loop by boxes, and nothing that consumers do together. */
static bool can_rest(const struct pipeline *x)
{
    const struct plan *p = x->plan;
    const struct plan_role *role = x->d.consumer;
    int loops = 0;
    bool fine = !p->item_ring && !p->list && !x->d.parts && x->d.along_count == 0;
    for (int i = 0; i < role->step_count && fine; i++) {
        const struct plan_step *s = &role->step[i];
        const int ring = plan_step_ring(s);
        const bool together = s->op == PLAN_BARRIER || s->op == PLAN_BARRIER_ARRIVE;
        loops += s->op == PLAN_LOOP && s->loop > 0;
        fine = s->op != PLAN_SKIP && s->op != PLAN_TAKE && !s->kept && !s->share && !(s->op == PLAN_LOOP && s->part) &&
               (!together || (p->barrier[s->count].threads == 128 && !p->barrier[s->count].turns)) &&
               (s->op != PLAN_WAIT_FULL || p->ring[ring].filler == PLAN_FILL_BULK);
    }
    return fine && loops == 1;
}

int pipeline_tail(struct pipeline *x, bool persistent)
{
    const struct spec_value *set = pipeline_field(x, "schedule.tail");
    struct plan *p = x->plan;
    if (!set->set || strcmp(set->text, "halves") != 0)
        return 0;
    if (!persistent)
        return refuse(x, "a block takes one item alone where persistent = false, and no wave is the last; write tail = "
                         "\"whole\", or leave persistent out");
    if (x->d.abreast < x->d.consumers || x->d.consumers % 2)
        return refuse(x,
                      x->d.abreast < x->d.consumers
                          ? "half of an item's rows are those of half the consumers, and here each takes items of its "
                            "own; write mode = \"cooperative\", or tail = \"whole\""
                          : "half of an item's rows are those of half the consumers, which are 1 or 3 here; write "
                            "consumers = 2 and a tile of 128 rows or 256, or tail = \"whole\"");
    bool alike = !x->l->arch->tensor_columns && can_rest(x);
    for (int i = 0; i < p->item_count; i++)
        alike = alike && !p->item[i].share && !p->item[i].filled;
    const int rows = alike ? axis_of_rows(x) : -1;
    if (rows < 0 || !is_place_of_rows(x, p->item[rows].axis, p->item[rows].tile))
        return refuse(x, "items are halved that are alike, whose tiles come by bulk copies in one loop, and whose rows "
                         "are told by at.m + row() alone, on Hopper; write tail = \"whole\"");
    x->d.consumer->resting = x->d.consumers / 2;
    return family_reason(p, "schedule.tail", "halves", "%s", spec_reason(set)) ||
                   family_add_word(p, "schedule.tail", p->axis[p->item[rows].axis])
               ? 3
               : 0;
}
