/* The order of items: static, or from a counter. */
#include <stdio.h>
#include <string.h>

#include "lower/derive/filled.h"
#include "lower/pipeline/pipeline.h"

enum {
    STAGES = 2,      /* of the ring of items: one is read while the next is known */
    STAGE_UNIT = 16, /* bytes */
    COUNTERS = 8,    /* bytes of workspace: items that were taken, blocks that are through */
    SQUARE = 16,     /* items along a side of a Hilbert curve's squares */
    L2_PARTS = 3,    /* of which two are for what items that run together read again and again */
};

static int refuse(const struct pipeline *x, const struct spec_value *field, const char *text)
{
    return program_refuse(x->l, field->loc, "PROGRAM-DYNAMIC", "%s", text);
}

/* The axis along which items are walked, because what each of its places leaves to others is known there; -1: none. */
static int walked(const struct plan *p)
{
    for (int i = 0; i < p->item_count; i++)
        if (p->item[i].filled && p->item[i].along >= 0 && p->item[i].along != p->item[i].axis)
            return p->item[i].along;
    return -1;
}

/* Axes among whose items there is an order: not the one that is walked, nor shares of an item's turns. */
static int ordered(const struct plan *p)
{
    int count = 0;
    for (int i = 0; i < p->item_count; i++)
        count += !p->item[i].share && p->item[i].axis != walked(p);
    return count;
}

/* How many items along the first of two axes make a band of the order `way`, or a side of its squares; plain: the order
 * is not that of items of different length. 0, 1. */
static int choose_group(struct pipeline *x, const char *way, bool plain, int *group)
{
    const struct spec_value *set = pipeline_field(x, "schedule.group");
    const bool curve = strcmp(way, "hilbert") == 0, banded = curve || strcmp(way, "grouped") == 0;
    const int items = ordered(x->plan);
    if (!banded || items != 2)
        program_field_idle(x->l, FIELD_GROUP);
    if (plain && (items == 1 || (banded && items != 2)))
        program_field_idle(x->l, FIELD_ORDER);
    *group = pipeline_choose(x, "schedule.group", curve ? SQUARE : (int)spec_field_value(&x->l->fields, FIELD_GROUP),
                             curve ? "squares of a wave of blocks and more: neighbours follow each other"
                                   : "bands of some items keep their tiles in the L2");
    int below = 1;
    while (2 * below <= *group)
        below *= 2;
    if (!curve || items != 2 || (*group == below && below > 1))
        return 0;
    char text[160];
    snprintf(text, sizeof text, "a Hilbert curve fills squares of 2, 4, 8 or more items a side, not of %d; write %d",
             *group, below > 1 ? below : 2);
    return pipeline_report(x, set->loc, "schedule.group", "SCHEDULE-GROUP", text);
}

/* The outermost loop in whose turns tiles are loaded, and their bytes. 0: there is none. */
static int bytes_of_turn(const struct pipeline *x, int *loop)
{
    int bytes = 0;
    *loop = -1;
    for (int r = 0; r < x->d.ring_count; r++) {
        const struct derive_ring *ring = &x->d.ring[r];
        if (ring->parent < 0 || x->program->op[ring->parent].depth > 0 || (*loop >= 0 && ring->parent != *loop))
            continue;
        *loop = ring->parent;
        for (int i = 0; i < ring->load_count; i++)
            bytes += x->plan->tensor[x->program->op[ring->load[i]].tensor].tile_bytes;
    }
    return bytes;
}

/* The spec asks for a counter, on an architecture where a role has a hand free for it. */
static bool is_asked(const struct pipeline *x)
{
    const struct spec_value *set = pipeline_field(x, "schedule.dynamic");
    return set->set && set->integer && x->l->arch->wgmma;
}

int pipeline_check_dynamic(const struct pipeline *x, bool persistent)
{
    const struct spec_value *set = pipeline_field(x, "schedule.dynamic");
    const bool asked = is_asked(x);
    if (asked && x->d.abreast < x->d.consumers)
        return refuse(x, set,
                      "a counter tells each consumer of each item, and those that take items in turn go past the "
                      "others'; write dynamic = false, or mode = \"cooperative\"");
    for (int i = 0; i < x->program->op_count; i++)
        if (asked && x->program->op[i].kind == PROGRAM_LOOP && x->program->op[i].parts && !x->program->op[i].by_last)
            return refuse(x, set,
                          "the blocks of a cluster that share a loop take an item together, and a counter gives each "
                          "its own; write over = \"blocks\" with its parts, or dynamic = false");
    for (int i = 0; i < x->program->op_count; i++)
        if (asked && x->program->op[i].kind == PROGRAM_LOOP && x->program->op[i].stream)
            return refuse(x, set,
                          "by stream each block has its share of all items' turns, and a counter gives it whole items; "
                          "write dynamic = false, or take stream out");
    if (asked && x->blocks > 1)
        return refuse(x, set,
                      "blocks of a cluster take neighbouring items together, and a counter gives each its own; "
                      "write cluster extents of 1, or dynamic = false");
    if (asked && pipeline_by_rows(x))
        return refuse(x, set,
                      "all threads of the producer bring rows by their numbers, and one of them takes items; write "
                      "dynamic = false");
    if (asked && !persistent)
        return refuse(x, set,
                      "a block takes one item alone where persistent = false; write dynamic = false, or leave "
                      "persistent out");
    return 0;
}

int pipeline_dynamic(struct pipeline *x, bool unlike, bool persistent)
{
    struct plan *p = x->plan;
    const struct spec_value *set = pipeline_field(x, "schedule.dynamic");
    bool asked = is_asked(x), gathers = pipeline_by_rows(x);
    bool in_turn = x->d.abreast < x->d.consumers;
    if (pipeline_check_dynamic(x, persistent))
        return 1;
    x->dynamic = set->set ? asked : unlike && persistent && x->blocks == 1 && x->l->arch->wgmma && !gathers && !in_turn;
    if (!x->dynamic && !set->set && !unlike)
        return 0;
    int status = family_reason(p, "schedule.dynamic", x->dynamic ? "true" : "false", "%s",
                               set->set        ? spec_reason(set)
                               : x->dynamic    ? "items differ in length: a block that is through takes the next"
                               : in_turn       ? "consumers take the block's items in turn"
                               : x->blocks > 1 ? "blocks of a cluster take their items together"
                               : gathers       ? "all threads of the producer bring rows by their numbers"
                                               : "a block takes one item alone");
    int loop, bytes = bytes_of_turn(x, &loop);
    if (status || !x->dynamic)
        return status;
    p->workspace_bytes = COUNTERS;
    status = family_add_value(p, "schedule.dynamic", 1);
    status = status ? status : family_add_value(p, "schedule.turn_bytes", bytes);
    status = status ? status : family_add_value(p, "schedule.loop", loop < 0 ? -1 : x->d.loop[loop]);
    return status ? status : family_add_value(p, "schedule.cache_bytes", x->l->arch->l2_bytes / L2_PARTS * 2);
}

/* A word for where the item begins along each axis, as a whole vector. */
static int stage_bytes(const struct pipeline *x)
{
    return (4 * x->plan->item_count + STAGE_UNIT - 1) / STAGE_UNIT * STAGE_UNIT;
}

int pipeline_item_bytes(const struct pipeline *x)
{
    return x->dynamic ? STAGES * (stage_bytes(x) + STAGE_UNIT) : 0;
}

int pipeline_item_ring(struct pipeline *x)
{
    struct plan *p = x->plan;
    const char *name = "item";
    for (int i = 0; i < p->ring_count; i++)
        if (strcmp(p->ring[i].name, name) == 0)
            name = "item_order";
    struct plan_ring *r = x->dynamic ? family_add_ring(p, name, STAGES, PLAN_FILL_ARRIVE) : NULL;
    if (!r)
        return x->dynamic ? 3 : 0;
    p->item_ring = p->ring_count;
    r->full_arrivals = 1;
    r->empty_arrivals = 4 * x->d.consumers;
    return 0;
}

int pipeline_item_memory(struct pipeline *x)
{
    struct plan *p = x->plan;
    if (!p->item_ring)
        return 0;
    const char *name = plan_text(p, "%s.item", p->ring[plan_number(p->item_ring)].name);
    return name && family_add_shared(p, name, STAGES * stage_bytes(x), STAGE_UNIT, STAGES) ? 0 : 3;
}

/* Items whose loop is longer the further they stand along an axis: the longest first. 0, 1: there is no such axis, 3.
 */
static int longest_first(struct pipeline *x)
{
    const struct expr_graph *g = x->program->graph;
    for (int i = 0; i < x->program->op_count; i++) {
        const struct program_op *o = &x->program->op[i];
        if (o->kind != PROGRAM_LOOP || o->depth > 0)
            continue;
        for (int k = 0; k < x->plan->item_count; k++) {
            const struct plan_item *item = &x->plan->item[k];
            int status = 0;
            if (item->share)
                continue;
            bool grows = !pipeline_reads_data(g, o->to) && pipeline_reads_axis(g, o->to, item->axis) &&
                         !pipeline_reads_axis(g, o->from, item->axis); /* else both may move along */
            grows = grows || derive_masks_grow(&x->d, i, item->axis, &status);
            if (!grows && !status)
                continue;
            if (status)
                return status;
            return family_add_word(x->plan, "schedule.longest", x->plan->axis[item->axis]);
        }
    }
    return 1;
}

/* A loop of the program is split among blocks, or blocks have shares of its turns. */
static bool has_parts(const struct pipeline *x)
{
    bool parts = false;
    for (int i = 0; i < x->program->op_count; i++)
        parts =
            parts || (x->program->op[i].kind == PROGRAM_LOOP && (x->program->op[i].parts || x->program->op[i].stream));
    return parts;
}

/* Items that data leave nothing to store are gone past where items are found, without a load and without a step. Those
 * behind the end of an axis, where that is known by one other axis, are not even counted: the blocks walk along that
 * axis, and what is left is dealt out evenly. */
static int leave_out(struct pipeline *x, int longest)
{
    struct derive_filled filled;
    if (longest != 1 || is_asked(x) || has_parts(x))
        return 0;
    int status = derive_filled(&x->d, x->cluster, &filled);
    for (int i = 0; i < x->plan->item_count && !status; i++) {
        struct plan_item *item = &x->plan->item[i];
        if (item->axis != filled.axis)
            continue;
        item->filled = filled.end;
        item->along = filled.along;
        status = family_reason(x->plan, plan_text(x->plan, "grid.%s", x->plan->axis[item->axis]), "by data",
                               item->along == item->axis ? "items of which nothing is stored are gone past"
                                                         : "items behind the end have nothing to store");
    }
    return status;
}

static bool divides(const struct expr_graph *g, int node)
{
    const struct expr_node *n = &g->node[node];
    bool found = n->op == EXPR_FLOORDIV || n->op == EXPR_MOD;
    for (int i = 0; i < 3 && !found; i++)
        found = n->arg[i] >= 0 && divides(g, n->arg[i]);
    return found;
}

/* Where the items' number takes Lua's division, what spells it comes before them. 0 or 3. */
static int items_divide(struct plan *p)
{
    for (int i = 0; i < p->item_count; i++)
        if (divides(&p->fused, p->item[i].extent))
            return family_add_value(p, "items_divide", 1);
    return 0;
}

int pipeline_items(struct pipeline *x, bool persistent)
{
    struct plan *p = x->plan;
    struct expr_graph *g = &p->graph;
    int total = expr_int(g, 1), two = 0;
    p->item = plan_alloc(p, sizeof *p->item * (size_t)(x->program->axis_count + 1));
    if (!p->item)
        return 3;
    for (int i = 0; i < x->program->axis_count; i++) {
        const struct program_axis *a = &x->program->axis[i];
        if (a->extent < 0)
            continue;
        struct plan_item *item = &p->item[p->item_count++];
        *item = (struct plan_item){.axis = i, .tile = a->tile > 0 ? a->tile : 1, .share = a->share};
        item->extent = expr_import(&p->fused, x->program->graph, a->extent);
        if (item->extent < 0 || family_add_value(p, plan_text(p, "cluster.%s", a->name), x->cluster[i]))
            return 3;
        if (a->share && p->item_count > 1 && item[-1].share) /* how many turns: no more places of blocks */
            continue;
        int extent = expr_from_zero(g, expr_import(g, x->program->graph, a->extent));
        total = expr_binary(g, EXPR_MUL, total, expr_ceil_div(g, extent, expr_int(g, item->tile * x->cluster[i])));
        if (total < 0)
            return 3;
    }
    int longest = longest_first(x);
    if (longest == 3 || leave_out(x, longest) || items_divide(p))
        return 3;
    for (int i = 0; i < p->item_count; i++)
        if (!p->item[i].share && p->item[i].axis != walked(p))
            two += x->program->axis[p->item[i].axis].tile > 0 ? 1 : 3;
    const struct spec_value *order = pipeline_field(x, "schedule.order");
    const char *way = order->set ? order->text
                      : two == 2 ? "grouped"
                                 : "row",
               *why = "neighbours share tiles in the L2";
    if (x->l->swapped && !order->set && two == 2)
        way = pipeline_streamed_order(x, &why);
    if (longest == 0 && !order->set) {
        way = "longest";
        why = "items differ in length, and those that begin last are the shortest";
    }
    int group, fault = choose_group(x, way, longest == 1, &group);
    if (fault)
        return fault;
    if (family_reason(p, "schedule.order", way, "%s", order->set ? spec_reason(order) : why) ||
        family_add_word(p, "schedule.order", way) || family_add_value(p, "schedule.group", group))
        return 3;
    int dynamic = pipeline_dynamic(x, longest == 0 || x->plain, persistent);
    if (dynamic)
        return dynamic;
    if (persistent) {
        int slots = expr_binary(g, EXPR_MUL, expr_symbol(g, p->symbol_count - 1), expr_int(g, p->blocks_per_sm));
        total = expr_binary(g, EXPR_MIN, total, expr_binary(g, EXPR_FLOORDIV, slots, expr_int(g, x->blocks)));
    }
    p->launch.grid[0] = total = expr_binary(g, EXPR_MUL, total, expr_int(g, x->blocks));
    p->launch.cluster[0] = x->blocks;
    return total < 0 ? 3 : 0;
}
