/* The order of items: static, or from a counter. */
#include <stdio.h>
#include <string.h>

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

int pipeline_group(struct pipeline *x, const char *way, bool plain, int *group)
{
    const struct spec_value *set = pipeline_field(x, "schedule.group");
    const bool curve = strcmp(way, "hilbert") == 0, banded = curve || strcmp(way, "grouped") == 0;
    int items = 0;
    for (int i = 0; i < x->plan->item_count; i++)
        items += !x->plan->item[i].share;
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
    if (asked && program_holds(x->program, PROGRAM_GATHER))
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
    bool asked = is_asked(x), gathers = program_holds(x->program, PROGRAM_GATHER);
    bool in_turn = x->d.abreast < x->d.consumers;
    if (pipeline_check_dynamic(x, persistent))
        return 1;
    x->dynamic = set->set ? asked : unlike && persistent && x->blocks == 1 && x->l->arch->wgmma && !gathers && !in_turn;
    if (!x->dynamic && !set->set && !unlike)
        return 0;
    int status = family_reason(p, "schedule.dynamic", x->dynamic ? "true" : "false", "%s",
                               set->set        ? "the spec says so"
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
