/* Tiles that an item leaves in the ring for the block's next (schedule.reuse).
 *
 * As an item ends, the ring's stages hold the last tiles of its rows. Where the next item has the same rows, its loop's
 * turns go round: they begin as many before where the last item's began as there are stages, so that the first of them
 * read what is there, and bring the second operand alone (plan_step.reuse). Blocks take the items of a wave so that
 * rows stay the same (blocks/items.cuh). A sum is added up in an order that differs from item to item.
 *
 * At 4096 x 24576 x 1536 (24 turns, four stages, rows in 16 pairs) a sixth of A's tiles need not come: 0.6 % in bursts
 * and 1.1 % sustained, where joules decide (tests/bench/notes.md). */
#include <string.h>

#include "lower/family.h"
#include "lower/pipeline/pipeline.h"
#include "program/any_order.h"

static int refuse(const struct pipeline *x, const char *text)
{
    return pipeline_report(x, pipeline_field(x, "schedule.reuse")->loc, "schedule.reuse", "SCHEDULE-REUSE", text);
}

/* The node is the same in all items. */
static bool is_of_all_items(const struct pipeline *x, int node)
{
    bool same = node < 0 || !pipeline_reads_data(x->program->graph, node);
    for (int k = 0; k < x->plan->item_count && same && node >= 0; k++)
        same = !pipeline_reads_axis(x->program->graph, node, x->plan->item[k].axis);
    return same;
}

static bool reads(const struct pipeline *x, const struct program_op *load, int axis)
{
    bool any = false;
    for (int d = 0; d < x->plan->tensor[load->tensor].rank; d++)
        any = any || (load->at[d].start >= 0 && pipeline_reads_axis(x->program->graph, load->at[d].start, axis));
    return any;
}

/* The load's tile of a turn is known by where the item begins along the axis, and no other. */
static bool stays(const struct pipeline *x, const struct program_op *load, int axis)
{
    bool known = load->kind == PROGRAM_LOAD && !load->window.dims;
    for (int d = 0; d < x->plan->tensor[load->tensor].rank && known; d++) {
        const struct program_coordinate *c = &load->at[d];
        const struct expr_node *n = c->start < 0 ? NULL : &x->program->graph->node[c->start];
        known = c->limit < 0 && (!n || (n->op == EXPR_AT && n->integer == axis) || is_of_all_items(x, c->start));
    }
    return known;
}

static bool is_operand(const struct pipeline *x, int load)
{
    bool is = false;
    for (int i = 0; i < x->program->op_count; i++)
        is = is ||
             (x->program->op[i].kind == PROGRAM_DOT && (x->d.dot[i].load[0] == load || x->d.dot[i].load[1] == load));
    return is;
}

/* One loop, of as many turns in all items and in any order, of which no turn asks which it is but for what it loads for
 * its products. */
static bool is_plain(const struct pipeline *x)
{
    const struct program *p = x->program;
    int loops = 0;
    bool plain = pipeline_only_multiplies(x) && x->d.along_count == 0;
    for (int i = 0; i < p->op_count && plain; i++) {
        const struct program_op *o = &p->op[i];
        if (o->kind == PROGRAM_LOOP)
            plain = ++loops == 1 && o->list < 0 && !o->parts && is_of_all_items(x, o->from) &&
                    is_of_all_items(x, o->to) && program_any_order(p, i, &p->graph->memory, NULL) == ANY_ORDER;
        for (int v = 0; o->kind == PROGRAM_END && v < p->op[o->loop].carried && plain; v++)
            plain = !pipeline_holds(p->graph, o->value[v].node, EXPR_LOOP);
        if (o->depth > 0)
            plain = plain && ((o->kind == PROGRAM_LOAD && is_operand(x, i)) || o->kind == PROGRAM_DOT ||
                              o->kind == PROGRAM_TRANSPOSE || o->kind == PROGRAM_PARAM || o->kind == PROGRAM_END);
    }
    return plain && loops == 1;
}

/* The FILL of the tensor by the producer, in turns of a loop right within that of items, as it is derived; NULL: there
 * is no such one. *expect: what announces its stage; *others: FILLs of it beside. */
static struct plan_step *fill_of(const struct pipeline *x, int tensor, struct plan_step **expect, int *others)
{
    struct plan_role *role = x->d.producer;
    struct plan_step *found = NULL, *announced = NULL;
    int depth = 0, count = 0;
    for (int i = 0; role && role->one_thread && i < role->step_count; i++) {
        struct plan_step *s = &role->step[i];
        depth += s->op == PLAN_LOOP || s->op == PLAN_WHEN;
        depth -= s->op == PLAN_END;
        announced = s->op == PLAN_EXPECT ? s : announced;
        if (s->op != PLAN_FILL || s->tensor != tensor)
            continue;
        const bool plain = depth == 2 && !s->node && !s->end && announced && announced->ring == s->ring;
        count++;
        found = plain && x->plan->ring[s->ring].filler == PLAN_FILL_BULK ? s : NULL;
        *expect = announced;
    }
    *others = count > 1 ? count - 1 : 0;
    return found;
}

static const char no_such_loop[] =
    "tiles stay in the ring of a loop of as many turns in every item, in any order, that does nothing but multiply "
    "tiles which bulk copies bring to wgmma, of which those of the item's rows begin where it does; write reuse = "
    "\"none\"";

/* Where blocks of the cluster share a tile, each gives stages back to both, and knows that the other's last turn with a
 * stage is over by what that one sent it: nothing, where the tile stays. */
static const char *shared(const struct pipeline *x, int axis)
{
    const struct plan *p = x->plan;
    for (int other = 0; other < p->axis_count; other++)
        if (other != axis && x->cluster[other] > 1) {
            const char *text = plan_text(x->plan,
                                         "tiles of rows stay where no blocks of a cluster share them, and here those "
                                         "along %s do; write cluster = { %s = 1 }, or reuse = \"none\"",
                                         p->axis[other], p->axis[other]);
            return text ? text : no_such_loop;
        }
    return no_such_loop;
}

/* All loads of the loop that lie along the axis. NULL; or why some of them cannot stay. */
static const char *mark(struct pipeline *x, int axis)
{
    int count = 0, stages = 0;
    for (int i = 0; i < x->program->op_count; i++) {
        const struct program_op *o = &x->program->op[i];
        struct plan_step *expect = NULL;
        int others = 0;
        if (o->kind != PROGRAM_LOAD || o->depth == 0 || !reads(x, o, axis))
            continue;
        struct plan_step *fill = stays(x, o, axis) ? fill_of(x, o->tensor, &expect, &others) : NULL;
        if (x->plan->tensor[o->tensor].multicast > 1)
            return shared(x, axis);
        if (others)
            return "an item loads such a tile more than once, and none stays past that: in turns of another loop, as "
                   "where bulk copies bring what its result takes in (via), or by another load of the tensor; write "
                   "one load that all dots take, leave via out, or write reuse = \"none\"";
        if (!fill || (stages && x->plan->ring[fill->ring].stages != stages))
            return no_such_loop;
        stages = x->plan->ring[fill->ring].stages;
        fill->reuse = 1;
        expect->reuse += x->plan->tensor[o->tensor].tile_bytes;
        count++;
    }
    return count > 0 ? NULL : no_such_loop;
}

/* Items that a block takes one after the other, among which some have the rows of the one before. NULL; or why not. */
static const char *among_items(const struct pipeline *x, bool persistent)
{
    const struct spec_value *order = pipeline_field(x, "schedule.order");
    if (!persistent)
        return "a block takes one item alone where persistent = false, and there is none before it; leave persistent "
               "out, or write reuse = \"none\"";
    if (x->dynamic)
        return "of a counter nobody knows which item comes next, and items that differ in length are taken from one "
               "where nothing is said; write dynamic = false, or reuse = \"none\"";
    if (x->plan->item_count != 2)
        return "rows stay among items of two axes, and these run along one, or along more than two (the parts of a "
               "split are one); write reuse = \"none\"";
    if (order->set && strcmp(order->text, "hilbert") == 0)
        return "neighbours along a Hilbert curve have other rows; write order = \"grouped\", or reuse = \"none\"";
    return NULL;
}

int pipeline_reuse(struct pipeline *x, bool persistent)
{
    const struct spec_value *set = pipeline_field(x, "schedule.reuse");
    struct plan *p = x->plan;
    if (!set->set || strcmp(set->text, "rows") != 0)
        return 0;
    const char *why = among_items(x, persistent);
    if (why)
        return refuse(x, why);
    bool fine = !x->l->arch->tensor_columns && !p->list && !x->d.parts && is_plain(x);
    for (int i = 0; i < p->item_count; i++)
        fine = fine && !p->item[i].share && !p->item[i].filled;
    const int rows = fine ? pipeline_axis_of_rows(x) : -1;
    why = rows < 0 ? no_such_loop : mark(x, p->item[rows].axis);
    if (why)
        return refuse(x, why);
    return family_reason(p, "schedule.reuse", "rows", "%s", spec_reason(set)) ||
                   family_add_word(p, "schedule.reuse", p->axis[p->item[rows].axis])
               ? 3
               : 0;
}
