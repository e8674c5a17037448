/* Clusters: tiles that do not depend on where items begin along an axis are shared along it by multicast. */
#include <stdio.h>

#include "lower/derive/filled.h"
#include "lower/pipeline/pipeline.h"

bool pipeline_reads_axis(const struct expr_graph *g, int node, int axis)
{
    return derive_tells_apart(g, node, axis, 0);
}

/* Places along the axis that the items of a cluster take, one of two blocks where it is still to be chosen. */
static int span_of(const struct pipeline *x, int axis)
{
    const struct program_axis *a = &x->program->axis[axis];
    return (a->tile > 0 ? a->tile : 1) * (a->cluster > 1 ? a->cluster : 2);
}

bool pipeline_reads_data(const struct expr_graph *g, int node)
{
    const struct expr_node *n = &g->node[node];
    if (n->op == EXPR_TENSOR)
        return true;
    for (int i = 0; i < 3; i++)
        if (n->arg[i] >= 0 && pipeline_reads_data(g, n->arg[i]))
            return true;
    return false;
}

/* Items along the axis load the same tile, at once. */
static bool is_shared_along(const struct pipeline *x, const struct program_op *load, int axis)
{
    if (x->d.work.op[load - x->program->op].summed)
        return false;
    for (int k = 0; k < x->plan->tensor[load->tensor].rank; k++)
        if (derive_tells_apart(x->program->graph, load->at[k].start, axis, span_of(x, axis)))
            return false;
    return true;
}

/* A loop makes other turns for items along the axis. */
static const struct program_op *uneven_loop(const struct pipeline *x, int axis)
{
    const struct expr_graph *g = x->program->graph;
    const int span = span_of(x, axis);
    for (int i = 0; i < x->program->op_count; i++) {
        const struct program_op *o = &x->program->op[i];
        if (o->kind != PROGRAM_LOOP)
            continue;
        bool uneven = derive_tells_apart(g, o->from, axis, span) || derive_tells_apart(g, o->to, axis, span);
        for (int d = 0; o->list >= 0 && d + 1 < x->plan->tensor[o->list].rank; d++)
            uneven = uneven || derive_tells_apart(g, o->at[d].start, axis, span);
        if (uneven)
            return o;
    }
    return NULL;
}

/* A dot reads the load from a ring, in rows along one dim. */
static bool is_ring(const struct pipeline *x, int op)
{
    const struct program_op *o = &x->program->op[op];
    bool ring = false;
    int spans = 0;
    for (int i = 0; i < x->program->op_count; i++)
        ring =
            ring || (x->program->op[i].kind == PROGRAM_DOT && (x->d.dot[i].load[0] == op || x->d.dot[i].load[1] == op));
    for (int k = 0; ring && k + 1 < x->plan->tensor[o->tensor].rank; k++)
        spans += o->at[k].length > 1;
    return ring && spans == 1;
}

/* The operation is a load of a ring, in tiles that `blocks` can load in slices of whole groups of 8 rows. */
static bool is_sliced(const struct pipeline *x, int op, int blocks)
{
    return is_ring(x, op) && x->program->op[op].tile.rows % (8 * blocks) == 0;
}

/* The largest number that is known to divide an extent. */
static int64_t known_divisor(const struct pipeline *x, int node)
{
    const struct expr_node *n = &x->program->graph->node[node];
    int64_t a, b;
    switch (n->op) {
    case EXPR_CONST_INT:
        return n->integer;
    case EXPR_SYMBOL:
        return x->l->spec->dim[n->integer].multiple;
    case EXPR_MUL:
        a = known_divisor(x, n->arg[0]);
        b = known_divisor(x, n->arg[1]);
        return __builtin_mul_overflow(a, b, &a) ? 0 : a;
    case EXPR_ADD:
    case EXPR_SUB:
    case EXPR_MIN:
    case EXPR_MAX:
        a = known_divisor(x, n->arg[0]);
        b = known_divisor(x, n->arg[1]);
        for (int64_t rest; b; b = rest) {
            rest = a % b;
            a = b;
        }
        return a;
    default:
        return 1;
    }
}

/* One tile has all of the extent, or tiles divide it, so that no condition keeps them inside, and pairs of them do not:
 * the second block of a cluster that nobody asked for would take one behind the last. */
static bool may_pass_extent(const struct pipeline *x, const struct program_axis *a)
{
    int64_t divisor = known_divisor(x, a->extent), extent;
    if (expr_is_int(x->program->graph, a->extent, &extent) && extent <= a->tile)
        return true;
    return a->tile > 0 && divisor % a->tile == 0 && divisor % (2 * (int64_t)a->tile) != 0;
}

/* What an item has of an axis without a tile is one place, which no condition keeps inside: the last cluster must have
 * no blocks behind the extent. 0 or 1. */
static int check_places(const struct pipeline *x, const struct program_axis *a)
{
    if (a->extent < 0 || a->tile > 0 || a->cluster <= 1 || known_divisor(x, a->extent) % a->cluster == 0)
        return 0;
    const struct expr_node *n = &x->program->graph->node[a->extent];
    char text[400], field[80], known[80] = "an extent that it divides";
    if (n->op == EXPR_SYMBOL)
        snprintf(known, sizeof known, "dims \"%.40s%%%d\"", x->l->spec->dim[n->integer].name, a->cluster);
    snprintf(field, sizeof field, "cluster.%.60s", a->name);
    snprintf(text, sizeof text,
             "each item has one place along %.60s, and the last cluster would have blocks behind the last of them "
             "where %d does not divide their number; write 1, or %s",
             a->name, a->cluster, known);
    return pipeline_report(x, a->cluster_loc, field, "CLUSTER-EXTENT", text);
}

/* Blocks that share each tile by multicast: where the spec says so; else two along the first of two axes with tiles. */
int pipeline_cluster(struct pipeline *x)
{
    int tiled = 0, first = -1, status = 0;
    x->blocks = 1;
    for (int i = 0; i < SPEC_MAX_AXES; i++)
        x->cluster[i] = 1;
    for (int i = 0; i < x->program->axis_count; i++) {
        const struct program_axis *a = &x->program->axis[i];
        if (a->extent < 0 || a->share)
            continue;
        first = first < 0 ? i : first;
        tiled += a->tile > 0 ? 1 : 3;
    }
    for (int i = 0; i < x->program->axis_count; i++) {
        const struct program_axis *a = &x->program->axis[i];
        const struct program_op *uneven = uneven_loop(x, i);
        bool shares = false;
        status |= check_places(x, a);
        for (int o = 0; o < x->program->op_count && a->extent >= 0 && a->cluster > 1; o++)
            if (x->program->op[o].kind == PROGRAM_LOAD && is_ring(x, o) && is_shared_along(x, &x->program->op[o], i))
                status |= pipeline_check_slices(x, i, o);
        for (int o = 0; o < x->program->op_count && a->extent >= 0; o++)
            shares =
                shares || (x->program->op[o].kind == PROGRAM_LOAD && is_sliced(x, o, a->cluster > 1 ? a->cluster : 2) &&
                           is_shared_along(x, &x->program->op[o], i));
        if (a->extent >= 0)
            field_reads_add(&x->plan->reads, FIELD_CLUSTER, i);
        if (a->extent >= 0 && a->cluster > 1 && uneven)
            status |= program_refuse(x->l, uneven->loc, "CLUSTER",
                                     "blocks of a cluster along %s make different numbers of turns of this loop, and "
                                     "wait for each other's tiles; write cluster = { %s = 1 }",
                                     a->name, a->name);
        bool chosen = a->cluster == 0 && tiled == 2 && i == first && shares && !uneven && !x->l->swapped &&
                      !may_pass_extent(x, a);
        x->cluster[i] = a->extent < 0 ? 1 : chosen ? 2 : a->cluster > 1 ? a->cluster : 1;
        x->blocks *= x->cluster[i];
        if (chosen || a->cluster > 1)
            family_reason(x->plan, plan_text(x->plan, "cluster.%s", a->name), plan_text(x->plan, "%d", x->cluster[i]),
                          chosen ? "two blocks share a tile by multicast" : "the spec says so");
    }
    return status | pipeline_check_cluster(x);
}

/* How far apart the ranks of neighbours along the axis are. */
static int stride_of(const struct pipeline *x, int axis)
{
    int stride = 1;
    for (int i = 0; i < axis; i++)
        stride *= x->cluster[i];
    return stride;
}

/* Each block loads its slice of a tile that its neighbours along an axis of the cluster share. 0 or 3. */
int pipeline_share(struct pipeline *x, int op, bool first)
{
    int apart = 1;
    const struct program_op *o = &x->program->op[op];
    struct plan_tensor *t = &x->plan->tensor[o->tensor];
    for (int i = 0; i < x->program->axis_count; i++) {
        if (x->cluster[i] == 1 || t->multicast > 1 || o->kind != PROGRAM_LOAD || !is_shared_along(x, o, i) ||
            !is_sliced(x, op, x->cluster[i]))
            continue;
        t->multicast = x->cluster[i];
        for (int k = 0; k + 1 < t->rank; k++)
            if (t->box[k] > 1)
                t->box[k] /= t->multicast;
        apart = stride_of(x, i);
    }
    return !first ? 0 : family_add_value(x->plan, plan_text(x->plan, "share.%s", t->name), apart);
}

/* Blocks that read what a block loads into the ring: its neighbours along the axes that tiles are shared along. */
int pipeline_readers(const struct pipeline *x, const struct derive_ring *ring)
{
    int blocks = 1, known[2] = {0}, count = 0;
    for (int i = 0; i < ring->load_count; i++) {
        const struct program_op *o = &x->program->op[ring->load[i]];
        const struct plan_tensor *t = &x->plan->tensor[o->tensor];
        for (int a = 0; a < x->program->axis_count && t->multicast > 1; a++) {
            if (x->cluster[a] == 1 || !is_shared_along(x, o, a))
                continue;
            bool seen = (count > 0 && known[0] == a) || (count > 1 && known[1] == a);
            if (!seen && count < 2) {
                known[count++] = a;
                blocks += x->cluster[a] - 1;
            }
            break;
        }
    }
    return blocks;
}
