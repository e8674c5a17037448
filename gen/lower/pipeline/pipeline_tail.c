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

/* ---- halves give what whole items give ---------------------------------------------------------------------------
 *
 * Half an item is the tile that begins at its rows, so what is right of every item at every place is right of a half,
 * too; but the program has items at multiples of a tile alone, and its row() counts from there. What follows takes the
 * programs of which that makes no difference: a tile's rows are those of loads and stores that begin at the item, or
 * come of such; row() stands beside the item's place, and that place beside row(), or divided by tiles. */

/* How an operation's tile lies to the item's rows: its rows are along them; its columns are; neither. */
enum frame { UNFIT, ROWS, TURNED, OTHER };

struct question {
    const struct pipeline *x;
    const struct expr_graph *g;
    enum frame *frame;     /* by operation */
    unsigned char *fitted; /* by node: a bit for each frame that it fits in */
    int axis, tile;
};

/* The value is the same for both halves, but for the rows that it is of, where it is a tile's in the frame. */
static bool fits(struct question *q, int node, enum frame frame)
{
    if (node < 0 || (q->fitted[node] >> frame & 1))
        return true;
    const struct expr_node *n = &q->g->node[node];
    const enum expr_op own = frame == ROWS ? EXPR_ROW : frame == TURNED ? EXPR_COLUMN : EXPR_AT;
    bool fine = true;
    if (n->op == EXPR_TILE) {
        const struct program_tile *tile = &q->x->program->op[n->integer].tile;
        const enum frame of = q->frame[n->integer];
        return of == frame || (of == OTHER && (frame == ROWS ? tile->rows : tile->columns) == 1);
    }
    if (is_of(n, q->axis) || (n->op == own && frame != OTHER))
        return false;
    for (int i = 0; n->op == EXPR_ADD && frame != OTHER && i < 2; i++)
        if (is_of(&q->g->node[n->arg[i]], q->axis) && q->g->node[n->arg[1 - i]].op == own)
            return true;
    if (n->op == EXPR_FLOORDIV && is_of(&q->g->node[n->arg[0]], q->axis) &&
        !derive_tells_apart(q->g, node, q->axis, q->tile))
        return true;
    for (int a = 0; a < 3 && fine; a++)
        fine = fits(q, n->arg[a], frame);
    for (int d = 0; n->op == EXPR_TENSOR && d < n->rank && fine; d++)
        fine = fits(q, q->g->index[n->first_index + d], frame);
    q->fitted[node] |= (unsigned char)(fine << frame);
    return fine;
}

/* The frame that coordinates give a load's or store's tile. */
static enum frame of_places(struct question *q, const struct program_op *o)
{
    enum frame frame = OTHER;
    for (int d = 0; d < q->x->plan->tensor[o->tensor].rank; d++) {
        const struct program_coordinate *c = &o->at[d];
        if (!fits(q, c->limit, OTHER))
            return UNFIT;
        if (c->start < 0 || !derive_tells_apart(q->g, c->start, q->axis, c->length ? 0 : q->tile))
            continue;
        if (!is_of(&q->g->node[c->start], q->axis) || c->length != q->tile || c->limit >= 0 || frame != OTHER)
            return UNFIT;
        frame = c->column ? TURNED : ROWS;
    }
    return frame;
}

static enum frame of_turned(struct question *q, int node)
{
    return fits(q, node, OTHER) ? OTHER : fits(q, node, ROWS) ? TURNED : fits(q, node, TURNED) ? ROWS : UNFIT;
}

/* Threads hold what is stored by the item's rows: as it is, or as it was before it was turned for a place by columns.
 */
static enum frame of_stored(struct question *q, const struct program_op *o)
{
    const struct expr_node *n = &q->g->node[o->arg[0].node];
    const struct program_op *from = n->op == EXPR_TILE ? &q->x->program->op[n->integer] : NULL;
    const bool turned = from && from->kind == PROGRAM_TRANSPOSE;
    const int value = turned ? from->arg[0].node : o->arg[0].node;
    return of_places(q, o) == (turned ? TURNED : ROWS) && fits(q, value, ROWS) ? ROWS : UNFIT;
}

/* The frame of what an operation gives, or of what it stores; UNFIT: halves would not give the same. */
static enum frame of_operation(struct question *q, int number)
{
    const struct program_op *o = &q->x->program->op[number];
    bool fine = true;
    switch (o->kind) {
    case PROGRAM_LOAD:
        return of_places(q, o);
    case PROGRAM_TRANSPOSE:
        return of_turned(q, o->arg[0].node);
    case PROGRAM_DOT:
        fine = fits(q, o->arg[0].node, ROWS) && fits(q, o->arg[1].node, OTHER) && fits(q, o->arg[2].node, ROWS);
        break;
    case PROGRAM_REDUCE:
        fine = !o->over_rows && fits(q, o->arg[0].node, ROWS);
        break;
    case PROGRAM_STORE:
        fine = of_stored(q, o) == ROWS;
        break;
    case PROGRAM_LOOP: /* of as many turns in all items */
        for (int k = 0; k < q->x->plan->item_count; k++)
            fine = fine && !pipeline_reads_axis(q->g, o->from, q->x->plan->item[k].axis) &&
                   !pipeline_reads_axis(q->g, o->to, q->x->plan->item[k].axis);
        fine = fine && !pipeline_reads_data(q->g, o->from) && !pipeline_reads_data(q->g, o->to) && o->list < 0;
        for (int v = 0; v < o->carried; v++)
            fine = fine && fits(q, o->value[v].node, ROWS);
        break;
    case PROGRAM_END:
        for (int v = 0; v < q->x->program->op[o->loop].carried; v++)
            fine = fine && fits(q, o->value[v].node, ROWS);
        break;
    case PROGRAM_PARAM:
    case PROGRAM_RESULT:
        fine = o->tile.rows == q->x->d.rows;
        break;
    default:
        fine = false;
    }
    return fine ? ROWS : UNFIT;
}

static bool is_alike_by_halves(struct pipeline *x, int axis, int tile)
{
    struct question q = {.x = x, .g = x->program->graph, .axis = axis, .tile = tile};
    q.fitted = plan_alloc(x->plan, sizeof *q.fitted * ((size_t)q.g->count + 1));
    q.frame = plan_alloc(x->plan, sizeof *q.frame * ((size_t)x->program->op_count + 1));
    bool alike = q.fitted && q.frame;
    for (int i = 0; i < x->plan->tensor_count; i++)
        alike = alike && !x->plan->tensor[i].pointers; /* a half may begin outside of a slice */
    for (int i = 0; i < x->program->op_count && alike; i++)
        alike = (q.frame[i] = of_operation(&q, i)) != UNFIT;
    return alike;
}

/* ---- consumers can go past an item ---------------------------------------------------------------------------------
 */

int pipeline_axis_of_rows(const struct pipeline *x)
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

/* One loop by boxes, in which all that is waited for is, and nothing that consumers do together. */
static bool can_rest(const struct pipeline *x)
{
    const struct plan *p = x->plan;
    const struct plan_role *role = x->d.consumer;
    const int threads = 32 * role->warps / role->instances;
    int loops = 0, others = 0, open[16], depth = 0;
    bool fine = !p->item_ring && !p->list && !x->d.parts && x->d.along_count == 0;
    for (int i = 0; i < role->step_count && fine; i++) {
        const struct plan_step *s = &role->step[i];
        const bool opens = s->op == PLAN_LOOP || s->op == PLAN_WHEN, turns = s->op == PLAN_LOOP && s->loop > 0;
        const bool together = s->op == PLAN_BARRIER || s->op == PLAN_BARRIER_ARRIVE;
        const bool stages = s->op == PLAN_WAIT_FULL || s->op == PLAN_ASK || s->op == PLAN_RELEASE;
        if (s->op == PLAN_END && depth > 0)
            others -= open[--depth];
        if (opens && depth < 16) { /* within items, one that the text of who rests does not have */
            open[depth] = !turns && depth > 0;
            others += open[depth++];
        }
        loops += turns;
        fine = s->op != PLAN_SKIP && s->op != PLAN_TAKE && !s->kept && !s->share && !(turns && s->part) && depth < 16 &&
               (!together || (p->barrier[s->count].threads == threads && !p->barrier[s->count].turns)) &&
               (s->op != PLAN_WAIT_FULL || p->ring[plan_step_ring(s)].filler == PLAN_FILL_BULK) && !(stages && others);
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
    const int rows = alike ? pipeline_axis_of_rows(x) : -1;
    if (!alike)
        return refuse(x,
                      "items are halved that are alike and whose tiles come by bulk copies in one loop of their turns, "
                      "where wgmma gives each consumer 64 rows or 128, and no two consumers meet; write tail = "
                      "\"whole\"");
    if (rows < 0 || !is_alike_by_halves(x, p->item[rows].axis, p->item[rows].tile))
        return refuse(x,
                      "halves of an item give the same where all items have as many turns, the rows of all tiles but "
                      "second operands are the item's, row() stands beside where the item begins, and no tensor has "
                      "pointers; write tail = \"whole\"");
    x->d.consumer->resting = x->d.consumers / 2;
    return family_reason(p, "schedule.tail", "halves", "%s", spec_reason(set)) ||
                   family_add_word(p, "schedule.tail", p->axis[p->item[rows].axis])
               ? 3
               : 0;
}
