/* Loads that come along in a ring: what a loop's turn takes of a tensor for each row of its item, scales for one.
 *
 * Read from global memory by the threads that take it, such a value has to be under way from one turn to the next, for
 * a turn is no longer than the way to memory; and what the next turn computes of it waits for it in front of that
 * turn's first dot, where the compiler puts it. In the stage of the tiles it is there when they are, is read while the
 * dots run, and no turn hands it to the next.
 *
 * It comes so where a bulk copy can bring it: the rows' elements are neighbours in memory, a box of them, from a place
 * that the producer knows, and nothing else of the tensor is read. What a bulk copy asks of rows in memory (16 bytes) a
 * launch may not have: then it takes the variant of rows of any alignment, in which threads read elements. So nothing
 * comes along in that one, nor in a kernel without one.
 */
#include "lower/derive/derive.h"

enum { MOST_BOX = 256 /* elements of a box along a dim */, BOX_UNIT = 16 /* bytes */ };

/* True where a leaf of that kind is below the node, with that number or (-1) any. */
static bool holds(const struct expr_graph *g, int node, enum expr_op op, int number)
{
    const struct expr_node *n = &g->node[node];
    if (n->op == op && (number < 0 || n->integer == number))
        return true;
    for (int i = 0; i < 3; i++)
        if (n->arg[i] >= 0 && holds(g, n->arg[i], op, number))
            return true;
    for (int i = 0; n->op == EXPR_TENSOR && i < n->rank; i++)
        if (holds(g, g->index[n->first_index + i], op, number))
            return true;
    return false;
}

/* The ring of tiles that the loop's own dots read, filled by bulk copies in each of its turns; -1: there is none. */
static int ring_of_turns(const struct derive *d, int loop)
{
    for (int r = 0; r < d->ring_count; r++)
        if (d->ring[r].parent == loop && d->ring[r].inner < 0 && !d->ring[r].copied && d->ring[r].load_count < 8)
            return r;
    return -1;
}

/* A number for each row of the item, neighbours in memory, from a place that is the same for all of them and another in
 * each turn. */
static bool is_row_of_memory(struct derive *d, int load)
{
    const struct program_op *o = &d->work.program->op[load];
    const struct work_op *k = &d->work.op[load];
    const struct plan_tensor *t = &d->work.l->plan->tensor[o->tensor];
    int last = t->rank - 1, bytes = (int)tw_dtype_bytes(t->dtype);
    bool turns = false;
    if (o->kind != PROGRAM_LOAD || t->out || k->element < 0 || o->at[last].length != d->rows || o->at[last].limit >= 0)
        return false;
    if ((t->dtype != TW_FP32 && t->dtype != TW_BF16 && t->dtype != TW_FP16) || d->rows > MOST_BOX ||
        d->rows * bytes % BOX_UNIT != 0 || work_scope(&d->work, k->element) != WORK_ROW)
        return false;
    for (int i = 0; i < t->rank; i++) {
        if ((i < last && o->at[i].length > 1) || work_scope(&d->work, k->at[i]) != WORK_UNIFORM ||
            holds(&d->work.graph, k->at[i], EXPR_TILE, -1))
            return false;
        turns = turns || holds(&d->work.graph, k->at[i], EXPR_LOOP, k->parent);
    }
    return turns;
}

/* Nothing reads the tensor but this load's elements, which the loop's own operations take. */
static bool is_only_read(const struct derive *d, int load)
{
    const struct program *p = d->work.program;
    const struct expr_graph *g = &d->work.graph;
    int node = d->work.op[load].element, loop = d->work.op[load].parent;
    for (int i = 0; i < p->op_count; i++)
        if (i != load && (work_is_load(&p->op[i]) || p->op[i].kind == PROGRAM_LOOP) &&
            (p->op[i].tensor == p->op[load].tensor ||
             (p->op[i].kind == PROGRAM_LOOP && p->op[i].list == p->op[load].tensor)))
            return false;
    for (int i = 0; i < g->count; i++)
        if (i != node && g->node[i].op == EXPR_TENSOR && g->node[i].integer == p->op[load].tensor)
            return false;
    for (int u = 0; u < d->use_count; u++) {
        const int op = d->use[u].op;
        const int own = p->op[op].kind == PROGRAM_END ? p->op[op].loop : d->work.op[op].parent;
        if (own != loop && holds(g, d->use[u].root, EXPR_TENSOR, p->op[load].tensor))
            return false;
    }
    return true;
}

int derive_find_along(struct derive *d)
{
    struct plan *p = d->work.l->plan;
    const struct program *program = d->work.program;
    for (int i = 0; i < program->op_count && d->work.l->kernel->ahead_count == 0; i++) {
        const int loop = d->work.op[i].parent, ring = loop < 0 ? -1 : ring_of_turns(d, loop);
        if (ring < 0 || !is_row_of_memory(d, i) || !is_only_read(d, i) || d->along_count == DERIVE_MAX_ALONG)
            continue;
        const struct plan_place place = {.name = plan_text(p, "%s_row", p->tensor[program->op[i].tensor].name),
                                         .kind = PLAN_PLACE_ROWS,
                                         .dtype = TW_FP32,
                                         .rows = d->rows / d->abreast,
                                         .cols = 1,
                                         .registers = 2 * d->blocks,
                                         .shared = -1};
        const int number = place.name ? plan_add_place(p, place) : 0;
        if (!number)
            return 3;
        d->along[d->along_count++] =
            (struct derive_along){.load = i, .ring = ring, .node = d->work.op[i].element, .place = number};
        d->ring[ring].load[d->ring[ring].load_count++] = i;
    }
    return 0;
}

bool derive_comes_along(const struct derive *d, int node)
{
    for (int i = 0; i < d->along_count; i++)
        if (holds(&d->work.graph, node, EXPR_TENSOR, d->work.program->op[d->along[i].load].tensor))
            return true;
    return false;
}

int derive_read_along(struct derive *d, int loop)
{
    struct plan *p = d->work.l->plan;
    int status = 0;
    for (int i = 0; i < d->along_count && !status; i++) {
        const struct derive_along *a = &d->along[i];
        if (d->ring[a->ring].parent != loop)
            continue;
        const int ring = d->ring[a->ring].number, tensor = d->work.program->op[a->load].tensor;
        const struct plan_step step[] = {
            {.op = PLAN_READ,
             .ring = ring,
             .tensor = tensor,
             .place = a->place,
             .call = plan_text(p, "%s_rows", p->tensor[tensor].name),
             .why = "it came with the tiles: dots run meanwhile"},
            {.op = PLAN_FENCE_ASYNC,
             .ring = ring,
             .tensor = -1,
             .call = plan_text(p, "%s_read", p->tensor[tensor].name)},
        };
        if (!(d->taken >> a->ring & 1))
            status = derive_take(d, a->ring, 0);
        for (size_t k = 0; k < sizeof step / sizeof *step && !status; k++)
            status = derive_emit(d, d->consumer, step[k]);
        status = status ? status : derive_own(d, a->place, a->node);
    }
    return status;
}
