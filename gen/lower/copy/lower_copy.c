/* Programs that load tiles and store them as they are, on architectures with tensor maps: bulk copies bring a tile into
 * a stage, and others take it from there into the output, so that no thread touches an element.
 *
 * COPY. A program is one where every operation is a load, or a store of a loaded tile in its own dtype, and where `via`
 * says "bulk" of a load. Stores and their loads name the same spans of equal extents: what lies outside of the one lies
 * outside of the other, which bulk copies fill with zeros and leave unwritten.
 *
 * ROLES. Two warps, of each of which one lane does all. The producer fills a ring, a tile of each load in each stage.
 * The consumer starts the stores of a stage, which are a group of its own, and gives back the stage of the group that
 * is `depth` older once that one has been read. So stages - depth loads are under way, and depth stores.
 *
 * CLUSTERS. Blocks along one axis share tiles that do not depend on it, each loads a slice of rows for all. Items along
 * that axis vary fastest and are as many as whole clusters take: those behind the last have stores that lie outside, as
 * is asked of the stores.
 *
 * UNALIGNED. What tensor maps cannot reach, the other variant copies by threads (lower_direct.c), where these can hold
 * a tile.
 */
#include "lower/copy/copy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct program_op *loaded(const struct copy *c, const struct program_op *store)
{
    return &c->program->op[c->program->graph->node[store->arg[0].node].integer];
}

static bool is_store(const struct program_op *o)
{
    return o->kind == PROGRAM_STORE || o->kind == PROGRAM_STORE_ADD;
}

/* ---- the kernels that it takes ----------------------------------------------------------------------------------- */

static bool takes(const struct spec_kernel *kernel, const struct program *program, const struct arch *arch)
{
    bool asked = false;
    for (int i = 0; i < kernel->tensor_count; i++)
        if (kernel->tensor[i].pointers)
            return false; /* threads do: what is moved is a tile of a slice */
    for (int i = 0; i < program->op_count; i++) {
        const struct program_op *o = &program->op[i];
        const struct spec_via *via = program_via(kernel, o);
        if (o->kind == PROGRAM_LOAD)
            asked = asked || (via && strcmp(via->word, "bulk") == 0);
        else if (!is_store(o) || program->graph->node[o->arg[0].node].op != EXPR_TILE)
            return false;
    }
    return asked && arch->tma;
}

/* Two, but where threads would not have the registers for a tile. */
static int variants(const struct spec *spec, const struct spec_kernel *kernel, const struct arch *arch)
{
    int most = 0;
    (void)spec, (void)arch;
    for (int i = 0; i < kernel->program->op_count; i++) {
        const struct program_op *o = &kernel->program->op[i];
        if (o->kind == PROGRAM_LOAD && o->tile.rows * o->tile.columns > most)
            most = o->tile.rows * o->tile.columns;
    }
    return most > COPY_MOST_HELD ? 1 : 2;
}

/* ---- tiles ------------------------------------------------------------------------------------------------------- */

/* How the tile of a load or store lies in a stage, of this swizzle. 0 or 1. */
static int layout(struct copy *c, const struct program_op *o, enum tw_swizzle swizzle)
{
    struct plan_tensor *t = &c->plan->tensor[o->tensor];
    const struct tw_swizzle_info *s = &tw_swizzles[swizzle];
    const int size = (int)tw_dtype_bytes(t->dtype), last = t->rank - 1, columns = o->at[last].length;
    int width = columns, elements = 1;
    t->access = PLAN_ACCESS_TMA;
    t->maps = c->l->kernel->tensor[o->tensor].maps;
    field_reads_add(&c->plan->reads, FIELD_MAPS, o->tensor);
    t->align = 16;
    t->swizzle = swizzle;
    t->multicast = 1;
    for (int d = 0; d < t->rank; d++) {
        t->tile[d] = t->box[d] = o->at[d].length > 0 ? o->at[d].length : 1;
        elements *= t->tile[d];
        if (d < last && t->tile[d] > COPY_MOST_BOX)
            return program_refuse(c->l, o->loc, "TMA-BOX",
                                  "%d places of %s along dim %d in one box, which takes up to %d; write a smaller tile",
                                  t->tile[d], t->name, d + 1, COPY_MOST_BOX);
    }
    if (s->span)
        width = (int)s->span / size;
    while (width > COPY_MOST_BOX || columns % width || (!s->span && width * size % 16)) {
        if (s->span || width <= 1)
            return program_refuse(
                c->l, o->loc, "TMA-SPAN",
                "%d %s of %s are %d bytes, no multiple of the %d that a box of swizzle %s is made of; "
                "write another tile",
                columns, tw_dtype_name(t->dtype), t->name, columns * size, s->span ? (int)s->span : 16, s->name);
        width--;
    }
    t->box[last] = width;
    t->boxes = columns / width;
    t->tile_bytes = elements * size;
    t->box_bytes = t->tile_bytes / t->boxes;
    if (t->box_bytes % (int)s->align)
        return program_refuse(c->l, o->loc, "SMEM-ALIGN",
                              "a box of %s is %d bytes, and in shared memory boxes of swizzle %s begin at multiples of "
                              "%d; write a larger tile, or another swizzle",
                              t->name, t->box_bytes, s->name, (int)s->align);
    return 0;
}

/* The largest number that is known to divide an integer; 0 divides by all. */
static int64_t divisor(const struct copy *c, int node)
{
    const struct expr_node *n = &c->program->graph->node[node];
    int64_t a, b;
    switch (n->op) {
    case EXPR_CONST_INT:
        return n->integer < 0 ? -n->integer : n->integer;
    case EXPR_SYMBOL:
        return c->l->spec->dim[n->integer].multiple;
    case EXPR_AT:
        a = c->program->axis[n->integer].tile;
        return a > 0 ? a : 1;
    case EXPR_MUL:
        a = divisor(c, n->arg[0]);
        return __builtin_mul_overflow(a, divisor(c, n->arg[1]), &b) ? a : b;
    case EXPR_ADD:
    case EXPR_SUB:
        return expr_common_divisor(divisor(c, n->arg[0]), divisor(c, n->arg[1]));
    default:
        return 1;
    }
}

/* A place that items and sizes alone decide. */
static bool is_plain(const struct expr_graph *g, int node)
{
    const struct expr_node *n = &g->node[node];
    if (n->op == EXPR_TENSOR || n->op == EXPR_TILE || n->op == EXPR_LOOP)
        return false;
    for (int i = 0; i < 3; i++)
        if (n->arg[i] >= 0 && !is_plain(g, n->arg[i]))
            return false;
    return true;
}

/* Coordinates that bulk copies can take. 0 or 1. */
static int check_coordinates(const struct copy *c, const struct program_op *o)
{
    const struct plan_tensor *t = &c->plan->tensor[o->tensor];
    const int last = t->rank - 1, size = (int)tw_dtype_bytes(t->dtype);
    for (int d = 0; d < t->rank; d++)
        if (o->at[d].limit >= 0 || !is_plain(c->program->graph, o->at[d].start))
            return program_refuse(c->l, o->loc, "PROGRAM-LOWER",
                                  "data decide where the tile of %s lies or ends, and a tile that is stored as it was "
                                  "loaded has a place that items alone decide; write via = { NAME = \"direct\" }",
                                  t->name);
    if (!o->at[last].column || o->at[last].length < 1)
        return program_refuse(c->l, o->loc, "PROGRAM-LOWER",
                              "columns of %s's tile do not run along its innermost dim, which bulk copies ask for; "
                              "write a span there",
                              t->name);
    if (divisor(c, o->at[last].start) * size % 16 && o->at[last].length * size % 16 == 0)
        return program_refuse(c->l, o->loc, "TMA-INNER",
                              "the tile of %s may begin at any of its columns, and a bulk copy begins at a multiple of "
                              "16 bytes, %d %s; write via = { NAME = \"direct\" }",
                              t->name, 16 / size ? 16 / size : 1, tw_dtype_name(t->dtype));
    return 0;
}

/* The store's spans are those of its load, of tensors that are as large there. 0 or 1. */
static int check_pair(const struct copy *c, const struct program_op *store)
{
    const struct program_op *load = loaded(c, store);
    const struct plan_tensor *to = &c->plan->tensor[store->tensor], *from = &c->plan->tensor[load->tensor];
    int a = 0, b = 0;
    bool same = true;
    if (to->dtype != from->dtype)
        return program_refuse(c->l, store->loc, "PROGRAM-LOWER",
                              "%s is %s and %s is %s, which no bulk copy converts; write via = { NAME = \"direct\" }",
                              from->name, tw_dtype_name(from->dtype), to->name, tw_dtype_name(to->dtype));
    for (; same && (a < from->rank || b < to->rank); a++, b++) {
        while (a < from->rank && load->at[a].length == 0)
            a++;
        while (b < to->rank && store->at[b].length == 0)
            b++;
        if (a >= from->rank && b >= to->rank)
            break;
        same = a < from->rank && b < to->rank && load->at[a].length == store->at[b].length &&
               load->at[a].start == store->at[b].start && from->dim[a] == to->dim[b];
    }
    if (same)
        return 0;
    return program_refuse(c->l, store->loc, "PROGRAM-LOWER",
                          "the tile of %s is another part of it than that of %s, and at their edges a bulk copy would "
                          "write zeros or leave elements out; write the same spans over equal extents, or via = { NAME "
                          "= \"direct\" }",
                          to->name, from->name);
}

/* The swizzle of a store and its load: what one of them says. 0 or 1. */
static int choose_swizzle(const struct copy *c, const struct program_op *store, enum tw_swizzle *swizzle)
{
    const struct program_op *load = loaded(c, store);
    const struct spec_tensor *to = &c->l->kernel->tensor[store->tensor], *from = &c->l->kernel->tensor[load->tensor];
    field_reads_add(&c->plan->reads, FIELD_SWIZZLE, store->tensor);
    field_reads_add(&c->plan->reads, FIELD_SWIZZLE, load->tensor);
    if (to->swizzle_set && from->swizzle_set && to->swizzle != from->swizzle)
        return program_refuse(c->l, store->loc, "SWIZZLE",
                              "the tile of %s lies in shared memory with swizzle %s and is stored to %s with %s, whose "
                              "chunks stand elsewhere; write one",
                              c->plan->tensor[load->tensor].name, tw_swizzles[from->swizzle].name,
                              c->plan->tensor[store->tensor].name, tw_swizzles[to->swizzle].name);
    *swizzle = to->swizzle_set ? to->swizzle : from->swizzle_set ? from->swizzle : TW_SWIZZLE_NONE;
    return 0;
}

/* What becomes of the tensor in the L2, where the kernel says so. 0 or 3. */
static int cached(const struct copy *c, int tensor)
{
    struct plan_tensor *t = &c->plan->tensor[tensor];
    for (int i = 0; i < c->l->kernel->cache_count; i++)
        if (c->l->kernel->cache[i].tensor == tensor) {
            t->cache = c->l->kernel->cache[i].word;
            field_reads_add(&c->plan->reads, FIELD_CACHE, i);
            return family_reason(c->plan, plan_text(c->plan, "cache.%s", t->name), t->cache, "the spec says so");
        }
    return 0;
}

static int store_tile(struct copy *c, const struct program_op *o)
{
    const struct program_op *load = loaded(c, o);
    struct plan_tensor *t = &c->plan->tensor[o->tensor];
    enum tw_swizzle swizzle = TW_SWIZZLE_NONE;
    const bool adds = o->kind == PROGRAM_STORE_ADD;
    if (t->access == PLAN_ACCESS_TMA)
        return program_refuse(c->l, o->loc, "PROGRAM-LOWER",
                              "%s is moved twice in an item; write one load and one store "
                              "of a tensor",
                              t->name);
    t->out = true;
    int status = check_coordinates(c, load) | check_coordinates(c, o);
    status = status ? status : check_pair(c, o);
    status = status ? status : choose_swizzle(c, o, &swizzle);
    if (!status && c->plan->tensor[load->tensor].access == PLAN_ACCESS_TMA &&
        c->plan->tensor[load->tensor].swizzle != swizzle)
        status = program_refuse(c->l, o->loc, "SWIZZLE", "a loaded tile has one swizzle for all its stores; write one");
    status = status ? status : layout(c, load, swizzle) | layout(c, o, swizzle);
    t->whole_rows = true; /* bulk stores write whole chunks of 16 bytes where a row ends */
    return status
               ? status
               : cached(c, o->tensor) | family_add_value(c->plan, plan_text(c->plan, "sent.%s", t->name), adds ? 2 : 1);
}

/* Tiles of all loads and stores. 0, 1 or 3. */
static int tiles(struct copy *c)
{
    int status = 0;
    for (int i = 0; i < c->program->op_count; i++)
        if (is_store(&c->program->op[i]))
            status |= store_tile(c, &c->program->op[i]);
    for (int i = 0; i < c->program->op_count && !status; i++) {
        const struct program_op *o = &c->program->op[i];
        if (o->kind != PROGRAM_LOAD)
            continue;
        if (c->plan->tensor[o->tensor].access != PLAN_ACCESS_TMA)
            return program_refuse(c->l, o->loc, "PROGRAM-LOWER", "nothing is made of the tile of %s; take the load out",
                                  c->plan->tensor[o->tensor].name);
        for (int k = 0; k < c->loads; k++)
            if (c->program->op[c->load[k]].tensor == o->tensor)
                return program_refuse(c->l, o->loc, "PROGRAM-LOWER",
                                      "%s is moved twice in an item; write one load and one store of a tensor",
                                      c->plan->tensor[o->tensor].name);
        if (c->loads == COPY_MOST_TILES)
            return program_refuse(c->l, o->loc, "PROGRAM-LOWER", "an item loads more than %d tiles; write less",
                                  COPY_MOST_TILES);
        c->load[c->loads++] = i;
        program_comes(c->l, o, "bulk");
        status = cached(c, o->tensor);
    }
    return status;
}

/* ---- items and clusters ------------------------------------------------------------------------------------------ */

static bool reads_axis(const struct expr_graph *g, int node, int axis)
{
    const struct expr_node *n = &g->node[node];
    bool reads = n->op == EXPR_AT && n->integer == axis;
    for (int i = 0; i < 3 && !reads; i++)
        reads = n->arg[i] >= 0 && reads_axis(g, n->arg[i], axis);
    return reads;
}

static bool depends_on(const struct copy *c, const struct program_op *o, int axis)
{
    bool depends = false;
    for (int d = 0; d < c->plan->tensor[o->tensor].rank; d++)
        depends = depends || reads_axis(c->program->graph, o->at[d].start, axis);
    return depends;
}

/* Slices of a tile that the cluster's blocks share. 0, 1 or 3. */
static int share(struct copy *c, const struct program_op *o)
{
    struct plan_tensor *t = &c->plan->tensor[o->tensor];
    const int axis = c->cluster_axis, rows = 8;
    int spans = 0, dim = 0;
    if (axis >= 0 && !depends_on(c, o, axis)) {
        for (int d = 0; d + 1 < t->rank; d++)
            if (t->tile[d] > 1) {
                spans++;
                dim = d;
            }
        if (spans != 1 || t->tile[dim] % (rows * c->blocks))
            return program_refuse(c->l, o->loc, "CLUSTER",
                                  "%d blocks share the tile of %s, each loads a slice of its rows, which are along one "
                                  "dim and a multiple of %d; write such a tile, or cluster = { %s = 1 }",
                                  c->blocks, t->name, rows * c->blocks, c->program->axis[axis].name);
        t->multicast = c->blocks;
        t->box[dim] /= c->blocks;
        c->shared = true;
    }
    return family_add_value(c->plan, plan_text(c->plan, "share.%s", t->name), 1);
}

/* The last cluster may have blocks behind the axis' extent. What they store lies outside where the tile begins at the
 * axis' place, along a dim of that extent. 0, 1 or 3. */
static int check_behind(struct copy *c, const struct program_op *store)
{
    const struct program_axis *a = &c->program->axis[c->cluster_axis];
    const struct plan_tensor *t = &c->plan->tensor[store->tensor];
    const int64_t whole = (int64_t)(a->tile ? a->tile : 1) * c->blocks;
    bool outside = divisor(c, a->extent) % whole == 0; /* no cluster has such blocks */
    const int extent = expr_import(&c->plan->graph, c->program->graph, a->extent);
    for (int d = 0; d < t->rank; d++) {
        const struct expr_node *start = &c->program->graph->node[store->at[d].start];
        outside = outside || (start->op == EXPR_AT && start->integer == c->cluster_axis && t->dim[d] == extent);
    }
    if (extent < 0 || outside)
        return extent < 0 ? 3 : 0;
    return program_refuse(c->l, store->loc, "CLUSTER-EXTENT",
                          "the last cluster may have blocks behind the extent of %s, and what they store would lie in "
                          "%s; begin it at at.%s, along a dim as long as grid.%s, write an extent that %" PRId64
                          " divides, or cluster = { %s = 1 }",
                          a->name, t->name, a->name, a->name, whole, a->name);
}

/* The axis whose items make a cluster. 0, 1 or 3. */
static int choose_cluster(struct copy *c)
{
    c->cluster_axis = -1;
    c->blocks = 1;
    for (int i = 0; i < c->program->axis_count; i++) {
        const struct program_axis *a = &c->program->axis[i];
        if (a->extent < 0)
            continue;
        field_reads_add(&c->plan->reads, FIELD_CLUSTER, i);
        if (a->cluster <= 1)
            continue;
        if (c->cluster_axis >= 0 || a->cluster > c->l->arch->max_cluster)
            return program_refuse(c->l, a->cluster_loc, "CLUSTER",
                                  "blocks share tiles along one axis, of up to %d of them; write such a cluster",
                                  c->l->arch->max_cluster);
        c->cluster_axis = i;
        c->blocks = a->cluster;
    }
    int status = 0;
    for (int i = 0; i < c->program->op_count && c->blocks > 1 && !status; i++) {
        const struct program_op *o = &c->program->op[i];
        if (is_store(o) && !depends_on(c, o, c->cluster_axis))
            return program_refuse(
                c->l, o->loc, "CLUSTER",
                "the blocks of a cluster along %s would store the same tile; write cluster = { %s = 1 "
                "}",
                c->program->axis[c->cluster_axis].name, c->program->axis[c->cluster_axis].name);
        status = is_store(o) ? check_behind(c, o) : 0;
    }
    return status;
}

/* An item's place along an axis without a tile is one that a store must have: behind the extent there is none, and a
 * map's box lies outside then, as it does behind tiles. */
static int add_item(struct copy *c, int axis)
{
    struct plan *p = c->plan;
    const struct program_axis *a = &c->program->axis[axis];
    const int tile = a->tile ? a->tile : 1, blocks = axis == c->cluster_axis ? c->blocks : 1;
    const int extent = expr_from_zero(&p->graph, expr_import(&p->graph, c->program->graph, a->extent));
    const int fused = expr_import(&p->fused, c->program->graph, a->extent);
    if (extent < 0 || fused < 0)
        return 3;
    int tiles = expr_ceil_div(&p->graph, extent, expr_int(&p->graph, tile * blocks));
    int each = expr_ceil_div(&p->fused, fused, expr_int(&p->fused, tile * blocks));
    if (blocks > 1) {
        tiles = expr_binary(&p->graph, EXPR_MUL, tiles, expr_int(&p->graph, blocks));
        each = expr_binary(&p->fused, EXPR_MUL, each, expr_int(&p->fused, blocks));
    }
    c->items = tiles < 0 ? -1 : expr_binary(&p->graph, EXPR_MUL, c->items, tiles);
    p->item[p->item_count++] = (struct plan_item){.axis = axis, .tile = tile, .extent = each, .counted = true};
    return c->items < 0 || each < 0 || family_add_value(p, plan_text(p, "cluster.%s", a->name), blocks) ? 3 : 0;
}

/* Items along each axis, those that a cluster takes together last. 0 or 3. */
static int items(struct copy *c)
{
    struct plan *p = c->plan;
    int status = 0;
    c->items = expr_int(&p->graph, 1);
    p->item = plan_alloc(p, sizeof *p->item * SPEC_MAX_AXES);
    if (!p->item || c->items < 0)
        return 3;
    for (int a = 0; a < c->program->axis_count && !status; a++)
        if (c->program->axis[a].extent >= 0 && a != c->cluster_axis)
            status = add_item(c, a);
    return status || c->cluster_axis < 0 ? status : add_item(c, c->cluster_axis);
}

static bool persistent(const struct copy *c)
{
    const struct spec_value *asked = program_field(c->l, FIELD_PERSISTENT);
    return !asked->set || asked->integer;
}

/* ---- shared memory, ring, steps ---------------------------------------------------------------------------------- */

static int stage_bytes(const struct copy *c)
{
    int bytes = 0;
    for (int i = 0; i < c->loads; i++)
        bytes += c->plan->tensor[c->program->op[c->load[i]].tensor].tile_bytes;
    return bytes;
}

static int ring(struct copy *c)
{
    struct plan *p = c->plan;
    const struct spec_value *asked = program_field(c->l, FIELD_STAGES);
    const int each = stage_bytes(c), fit = (c->l->arch->shared_limit - COPY_PADDING) / (each + COPY_BARRIERS);
    char value[16];
    const int most = fit < COPY_MOST_STAGES ? fit : COPY_MOST_STAGES;
    const int stages = asked->set ? (int)asked->integer : persistent(c) ? most : 2;
    if (fit < 2)
        return program_refuse(c->l, c->program->loc, "SMEM",
                              "a copy takes at least 2 stages of its tiles, here of %d bytes, and a block of %s has %d "
                              "of shared memory; write a smaller tile",
                              each, c->l->arch->name, c->l->arch->shared_limit);
    if (stages > fit || stages < 2)
        return program_refuse(
            c->l, asked->loc, "SMEM",
            "%d stage%s of %d bytes, where a copy takes 2 or more and a block of %s holds %d; write 2 "
            "to %d",
            stages, stages > 1 ? "s" : "", each, c->l->arch->name, fit, most);
    snprintf(value, sizeof value, "%d", stages);
    if (family_reason(p, "pipeline.stages", value, "%s",
                      asked->set                   ? spec_reason(asked)
                      : !persistent(c)             ? "a block has one item: room for more is room for more blocks"
                      : stages == COPY_MOST_STAGES ? "as many as a ring has at most"
                                                   : "as many as shared memory holds"))
        return 3;
    struct plan_ring *r = family_add_ring(p, "tile", stages, PLAN_FILL_BULK);
    if (!r)
        return 3;
    r->full_arrivals = 1;
    r->tx_bytes = each;
    r->empty_arrivals = c->shared ? c->blocks : 1;
    for (int i = 0; i < c->loads; i++) {
        const int tensor = c->program->op[c->load[i]].tensor;
        const struct plan_tensor *t = &p->tensor[tensor];
        r->tensor[r->tensor_count++] = tensor;
        if (!family_add_shared(p, plan_text(p, "tile.%s", t->name), stages * t->tile_bytes,
                               (int)tw_swizzles[t->swizzle].align, stages))
            return 3;
    }
    r->full_shared = p->shared_count;
    r->empty_shared = p->shared_count + 1;
    c->depth = stages / 2;
    return family_add_shared(p, "tile.full", 8 * stages, 8, stages) &&
                   family_add_shared(p, "tile.empty", 8 * stages, 8, stages)
               ? 0
               : 3;
}

/* The coordinates of a load or store, in leaves of the Plan. 0 or 3. */
static int place(struct copy *c, const struct program_op *o, int at[SPEC_MAX_RANK])
{
    for (int d = 0; d < c->plan->tensor[o->tensor].rank; d++) {
        const int node = expr_import(&c->plan->fused, c->program->graph, o->at[d].start);
        if (node < 0)
            return 3;
        at[d] = plan_some(node);
    }
    return 0;
}

static int add_step(struct copy *c, struct plan_role *role, struct plan_step step)
{
    return step.why ? family_add_step(c->plan, role, step) : 3;
}

static int producer(struct copy *c, struct plan_role *role)
{
    struct plan *p = c->plan;
    const struct plan_step none = {.ring = 0, .tensor = -1};
    struct plan_step step = {.op = PLAN_LOOP, .ring = -1, .tensor = -1, .call = "items"};
    step.why = "a resident block takes every item that is as many blocks behind its last";
    int status = add_step(c, role, step);
    step = none;
    step.op = PLAN_WAIT_EMPTY, step.phase = 1, step.call = "tile_wait_empty";
    step.why = "stores may still read the stage";
    status = status ? status : add_step(c, role, step);
    step = none;
    step.op = PLAN_EXPECT, step.count = stage_bytes(c), step.call = "tile_expect", step.why = "all tiles of the item";
    status = status ? status : add_step(c, role, step);
    for (int i = 0; i < c->loads && !status; i++) {
        const struct program_op *o = &c->program->op[c->load[i]];
        const struct plan_tensor *t = &p->tensor[o->tensor];
        step = none;
        step.op = PLAN_FILL, step.tensor = o->tensor, step.count = t->tile_bytes / t->multicast;
        step.call = plan_text(p, "%s_load", t->name), step.why = "its tile, zeros outside of the tensor";
        status = place(c, o, step.at);
        status = status ? status : add_step(c, role, step);
    }
    step = (struct plan_step){.op = PLAN_END, .ring = -1, .tensor = -1, .why = ""};
    status = status ? status : add_step(c, role, step);
    if (!c->shared || status)
        return status;
    step = none;
    step.op = PLAN_DRAIN, step.call = "tile_drain", step.why = "no other block arrives here after this one's exit";
    return add_step(c, role, step);
}

static int consumer(struct copy *c, struct plan_role *role)
{
    struct plan *p = c->plan;
    const struct plan_step none = {.ring = 0, .tensor = -1};
    const struct plan_step off = {.ring = -1, .tensor = -1};
    struct plan_step step = {.op = PLAN_LOOP, .ring = -1, .tensor = -1, .call = "items"};
    step.why = "as the producer's";
    int status = add_step(c, role, step);
    step = none;
    step.op = PLAN_WAIT_FULL, step.call = "tile_wait_full", step.why = "all tiles have come";
    status = status ? status : add_step(c, role, step);
    for (int i = 0; i < c->program->op_count && !status; i++) {
        const struct program_op *o = &c->program->op[i];
        if (!is_store(o))
            continue;
        step = none;
        step.op = PLAN_READ, step.tensor = loaded(c, o)->tensor, step.count = 1, step.to = plan_some(o->tensor);
        step.call = plan_text(p, "%s_send", p->tensor[o->tensor].name);
        step.adds = o->kind == PROGRAM_STORE_ADD;
        step.why = step.adds ? "a bulk store adds the stage's tile" : "a bulk store reads the stage";
        status = place(c, o, step.at);
        status = status ? status : add_step(c, role, step);
    }
    for (int tail = 0; tail < 2 && !status; tail++) {
        if (tail) {
            step = off;
            step.op = PLAN_END, step.why = "";
            status = add_step(c, role, step);
        } else {
            step = off;
            step.op = PLAN_MMA_COMMIT, step.call = "sends_commit", step.why = "the item's stores are a group";
            status = add_step(c, role, step);
        }
        step = off;
        step.op = PLAN_MMA_WAIT, step.call = "sends_wait", step.count = tail ? 0 : c->depth;
        step.why = tail ? "the block may end once its stages have been read" : "the oldest group has been read";
        status = status ? status : add_step(c, role, step);
        step = none;
        step.op = PLAN_RELEASE, step.call = "tile_release", step.count = tail ? 0 : c->depth, step.arrivals = 1;
        step.why = tail ? "the last stages" : "its stage may be filled again";
        status = status ? status : add_step(c, role, step);
    }
    return status;
}

/* ---- the Plan ---------------------------------------------------------------------------------------------------- */

static int maps(struct copy *c)
{
    const struct spec_value *promotion = program_field(c->l, FIELD_PROMOTION);
    for (int i = 0; i < c->plan->tensor_count; i++)
        if (c->plan->tensor[i].access == PLAN_ACCESS_TMA && !family_add_map(c->plan, i,
                                                                            c->plan->tensor[i].out ? 0
                                                                            : promotion->set ? (int)promotion->integer
                                                                                             : 2))
            return 3;
    return 0;
}

/* Boxes that a launch loads. 0 or 3. */
static int work(struct copy *c)
{
    struct plan *p = c->plan;
    int each = 0;
    for (int i = 0; i < c->loads; i++)
        each += p->tensor[c->program->op[c->load[i]].tensor].boxes;
    p->boxes = plan_some(expr_binary(&p->graph, EXPR_MUL, c->items, expr_int(&p->graph, each)));
    return p->boxes ? family_bytes_moved(p) : 3;
}

/* Blocks: as many as are resident at once, in whole clusters, or one an item. 0 or 3. */
static int grid(struct copy *c)
{
    struct plan *p = c->plan;
    struct expr_graph *g = &p->graph;
    p->blocks_per_sm = arch_resident_blocks(c->l->arch, COPY_THREADS, COPY_REGISTERS, p->launch.shared_bytes);
    p->launch.grid[0] = c->items;
    p->launch.cluster[0] = c->blocks;
    if (family_reason(p, "schedule.persistent", persistent(c) ? "true" : "false", "%s",
                      program_field(c->l, FIELD_PERSISTENT)->set
                          ? spec_reason(program_field(c->l, FIELD_PERSISTENT))
                          : "loads of the next items run under an item's stores"))
        return 3;
    if (!persistent(c))
        return 0;
    int resident = expr_binary(g, EXPR_MUL, expr_symbol(g, p->symbol_count - 1), expr_int(g, p->blocks_per_sm));
    if (c->blocks > 1)
        resident = expr_binary(g, EXPR_MUL, expr_binary(g, EXPR_FLOORDIV, resident, expr_int(g, c->blocks)),
                               expr_int(g, c->blocks));
    p->launch.grid[0] = resident < 0 ? -1 : expr_binary(g, EXPR_MIN, c->items, resident);
    p->items = plan_some(c->items);
    return p->launch.grid[0] < 0 ? 3 : 0;
}

static int lower(const struct program_lowering *l)
{
    if (l->variant)
        return program_lower_direct.lower(l);
    struct copy c = {.l = l, .program = l->kernel->program, .plan = l->plan};
    struct plan *p = l->plan;
    const struct spec_value *most = program_field(l, FIELD_REGISTERS), *spills = program_field(l, FIELD_SPILLS);
    expr_free(&p->fused); /* rebuilt in leaves of the Plan */
    p->variant = "";
    p->entry = p->kernel;
    p->template_name = "program.copy.cu";
    p->derived = true;
    p->register_limit = most->set ? (int)most->integer : 0;
    p->allow_spills = spills->set && spills->integer;
    p->registers_estimate = COPY_REGISTERS;
    p->launch.block = COPY_THREADS;
    int status = choose_cluster(&c) | tiles(&c);
    for (int i = 0; i < c.loads && !status; i++)
        status = share(&c, &c.program->op[c.load[i]]);
    status = status ? status : maps(&c);
    status = status ? status : items(&c);
    status = status ? status : ring(&c);
    if (status)
        return status;
    family_place_shared(p);
    if (!family_add_role(p, "producer", 1, 0, 1, 0) || !family_add_role(p, "consumer", 1, 1, 1, 0))
        return 3;
    p->role[0].one_thread = p->role[1].one_thread = true;
    status = producer(&c, &p->role[0]);
    status = status ? status : consumer(&c, &p->role[1]);
    status = status ? status : program_goes_up(l, "no turn runs on under another, whichever is the first");
    status = status ? status : work(&c);
    status = status ? status : grid(&c);
    return status ? status : family_pack_params(p);
}

const struct program_lowerer program_lower_copy = {"copy", takes, variants, lower};
