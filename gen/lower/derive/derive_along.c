/* What comes along in a ring: what a loop's turn takes of a tensor for each row of its item, or one number for all
 * rows; scales, for one.
 *
 * Read from global memory by the threads that take it, such a value has to be under way from one turn to the next, for
 * a turn is no longer than the way to memory; and what the next turn computes of it waits for it in front of that
 * turn's first dot, where the compiler puts it. In the stage of the tiles it is there when they are, is read while the
 * dots run, and no turn hands it to the next.
 *
 * Rows come so where a bulk copy can bring them: their elements are neighbours in memory, a box of them, from a place
 * that the producer knows. What a bulk copy asks of rows in memory (16 bytes) a launch may not have: then it takes the
 * variant of rows of any alignment, in which threads read elements. So no rows come along in that one, nor in a kernel
 * without one. A single element, or two of a tensor, the producer's thread reads while it waits for the stage, and
 * sends: their bytes count on the full barrier, as those of copies do. In either case nothing else reads the tensor,
 * and the turn reads it always: what a condition may leave out for a whole launch is read at its use.
 */
#include "lower/derive/derive.h"

enum {
    MOST_BOX = 256,   /* elements of a box along a dim */
    BOX_UNIT = 16,    /* bytes */
    MOST_TENSORS = 8, /* of a ring */
};

/* By node of the work graph: what the root is computed from, itself too; `always`: but for what a condition may leave
 * out that is the same for a whole launch. NULL out of memory. */
static bool *below(struct derive *d, int root, bool always)
{
    const struct expr_graph *g = &d->work.graph;
    bool *marked = plan_alloc(d->work.l->plan, sizeof *marked * (size_t)(g->count + 1));
    if (marked)
        marked[root] = true;
    for (int node = root; node >= 0 && marked; node--) { /* operands are earlier nodes */
        const struct expr_node *n = &g->node[node];
        const bool choice = n->op == EXPR_SELECT && always && work_scope(&d->work, n->arg[0]) == WORK_UNIFORM;
        for (int i = 0; i < (choice ? 1 : 3) && marked[node]; i++)
            if (n->arg[i] >= 0)
                marked[n->arg[i]] = true;
        for (int i = 0; n->op == EXPR_TENSOR && marked[node] && i < n->rank; i++)
            marked[g->index[n->first_index + i]] = true;
    }
    return marked;
}

/* True where a leaf of that kind is below the node, with that number or (-1) any. */
static bool holds(struct derive *d, int node, enum expr_op op, int number)
{
    const bool *marked = below(d, node, false);
    for (int i = 0; i <= node && marked; i++)
        if (marked[i] && d->work.graph.node[i].op == op && (number < 0 || d->work.graph.node[i].integer == number))
            return true;
    return !marked;
}

/* The ring of tiles that the loop's own dots read, filled by bulk copies in each of its turns; -1: there is none. */
static int ring_of_turns(const struct derive *d, int loop)
{
    for (int r = 0; r < d->ring_count; r++) {
        int tensors = d->ring[r].load_count;
        for (int i = 0; i < d->along_count; i++)
            tensors += d->along[i].ring == r && d->along[i].load < 0;
        if (d->ring[r].parent == loop && d->ring[r].inner < 0 && !d->ring[r].copied && tensors < MOST_TENSORS)
            return r;
    }
    return -1;
}

/* A number for each row of the item, neighbours in memory, from a place that is the same for all of them and another in
 * each turn. */
static bool is_row_of_memory(struct derive *d, int load)
{
    const struct program_op *o = &d->work.program->op[load];
    const struct work_op *k = &d->work.op[load];
    if (o->kind != PROGRAM_LOAD)
        return false;
    const struct plan_tensor *t = &d->work.l->plan->tensor[o->tensor];
    int last = t->rank - 1, bytes = (int)tw_dtype_bytes(t->dtype);
    bool turns = false;
    if (t->out || k->element < 0 || o->at[last].length != d->rows || o->at[last].limit >= 0)
        return false;
    if ((t->dtype != TW_FP32 && t->dtype != TW_BF16 && t->dtype != TW_FP16) || d->rows > MOST_BOX ||
        d->rows * bytes % BOX_UNIT != 0 || work_scope(&d->work, k->element) != WORK_ROW)
        return false;
    for (int i = 0; i < t->rank; i++) {
        if ((i < last && o->at[i].length > 1) || work_scope(&d->work, k->at[i]) != WORK_UNIFORM ||
            holds(d, k->at[i], EXPR_TILE, -1))
            return false;
        turns = turns || holds(d, k->at[i], EXPR_LOOP, k->parent);
    }
    return turns;
}

/* A float that is the same for the whole item, and another in each turn of a loop with such a ring: that loop; -1:
 * it is none. */
static int loop_of_element(struct derive *d, int node)
{
    const struct expr_graph *g = &d->work.graph;
    const struct expr_node *n = &g->node[node];
    const struct plan_tensor *t = n->op == EXPR_TENSOR ? &d->work.l->plan->tensor[n->integer] : NULL;
    if (!t || t->out || n->type != EXPR_REAL || work_scope(&d->work, node) != WORK_UNIFORM ||
        holds(d, node, EXPR_TILE, -1) || t->dtype != TW_FP32)
        return -1;
    for (int i = 0; i < d->work.program->op_count; i++) {
        const struct program_op *o = &d->work.program->op[i];
        if (o->kind == PROGRAM_GATHER)
            return -1; /* all threads of the producer fill */
        if (o->kind == PROGRAM_LOOP && holds(d, node, EXPR_LOOP, i) && ring_of_turns(d, i) >= 0)
            return i;
    }
    return -1;
}

/* Nothing but such elements reads the node's tensor, and the loop's own operations take the node, one of them always.
 * load: its LOAD, which alone reads it; -1: none. */
static bool is_only_read(struct derive *d, int load, int node, int loop)
{
    const struct program *p = d->work.program;
    const struct expr_graph *g = &d->work.graph;
    const int tensor = (int)g->node[node].integer;
    bool always = false;
    for (int i = 0; i < p->op_count; i++) {
        const bool loads = i != load && work_is_load(&p->op[i]) && p->op[i].tensor == tensor;
        if (loads || (p->op[i].kind == PROGRAM_LOOP && p->op[i].list == tensor))
            return false;
    }
    for (int i = 0; i < g->count; i++)
        if (i != node && g->node[i].op == EXPR_TENSOR && g->node[i].integer == tensor &&
            (load >= 0 || loop_of_element(d, i) != loop))
            return false;
    for (int u = 0; u < d->use_count; u++) {
        const int op = d->use[u].op, root = d->use[u].root;
        const int own = p->op[op].kind == PROGRAM_END ? p->op[op].loop : d->work.op[op].parent;
        if (holds(d, root, EXPR_TENSOR, tensor) && own != loop)
            return false;
        const bool *read = below(d, root, true);
        if (!read)
            return false;
        always = always || read[node];
    }
    return always;
}

static int add(struct derive *d, int load, const int node[2], int loop)
{
    struct plan *p = d->work.l->plan;
    struct derive_along a = {.load = load,
                             .ring = ring_of_turns(d, loop),
                             .tensor = (int)d->work.graph.node[node[0]].integer,
                             .node = {node[0], node[1]}};
    for (int i = 0; i < 2 && node[i] >= 0; i++) {
        const struct plan_place place = {.name = plan_text(p, i ? "%s_other" : "%s_row", p->tensor[a.tensor].name),
                                         .kind = PLAN_PLACE_ROWS,
                                         .dtype = TW_FP32,
                                         .rows = d->rows / d->abreast,
                                         .cols = 1,
                                         .registers = 2 * d->blocks,
                                         .shared = -1};
        if (!place.name || !(a.place[i] = plan_add_place(p, place)))
            return 3;
    }
    d->along[d->along_count++] = a;
    if (load >= 0)
        d->ring[a.ring].load[d->ring[a.ring].load_count++] = load;
    return 0;
}

/* The elements of the node's tensor that come along, if it is the first of them: one or two. */
static bool find_elements(struct derive *d, int first, int loop, int node[2])
{
    const struct expr_graph *g = &d->work.graph;
    int count = 0;
    for (int i = 0; i < g->count; i++) {
        if (g->node[i].op != EXPR_TENSOR || g->node[i].integer != g->node[first].integer)
            continue;
        if (i < first || count == 2 || !is_only_read(d, -1, i, loop))
            return false;
        node[count++] = i;
    }
    return count > 0;
}

int derive_find_along(struct derive *d, bool rows, bool elements)
{
    const struct program *p = d->work.program;
    const int nodes = d->work.graph.count;
    int status = 0;
    if (d->work.l->kernel->ahead_count > 0) /* their turns begin under others */
        return 0;
    for (int i = 0; i < p->op_count && rows && !status; i++) {
        const int loop = d->work.op[i].parent, node[2] = {d->work.op[i].element, -1};
        if (loop >= 0 && d->along_count < DERIVE_MAX_ALONG && ring_of_turns(d, loop) >= 0 && is_row_of_memory(d, i) &&
            is_only_read(d, i, node[0], loop))
            status = add(d, i, node, loop);
    }
    for (int i = 0; i < nodes && elements && !status; i++) {
        const int loop = loop_of_element(d, i);
        int node[2] = {-1, -1};
        if (loop >= 0 && d->along_count < DERIVE_MAX_ALONG && find_elements(d, i, loop, node))
            status = add(d, -1, node, loop);
    }
    return status;
}

bool derive_comes_along(struct derive *d, int node)
{
    for (int i = 0; i < d->along_count; i++)
        if (holds(d, node, EXPR_TENSOR, d->along[i].tensor))
            return true;
    return false;
}

int derive_send_along(struct derive *d, int ring, int shift)
{
    struct plan *p = d->work.l->plan;
    int status = 0;
    for (int i = 0; i < d->along_count && !status; i++) {
        const struct derive_along *a = &d->along[i];
        const int owners = d->owner_count;
        if (a->load >= 0 || a->ring != ring)
            continue;
        struct plan_step step = {.op = PLAN_FILL,
                                 .ring = d->ring[ring].number,
                                 .tensor = a->tensor,
                                 .count = p->tensor[a->tensor].tile_bytes,
                                 .call = plan_text(p, "%s_send", p->tensor[a->tensor].name)};
        d->owner_count = 0; /* in places are values of the consumer's turn */
        step.node = derive_built(d, d->ring[ring].load[0], a->node[0], shift, &status);
        if (!status && a->node[1] >= 0)
            step.node2 = derive_built(d, d->ring[ring].load[0], a->node[1], shift, &status);
        d->owner_count = owners;
        status = status ? status : derive_emit(d, d->producer, step);
    }
    return status;
}

/* What comes along with the turn's stages, but what is in its place already. */
static int read(struct derive *d, const struct derive_along *a)
{
    struct plan *p = d->work.l->plan;
    const struct plan_step step = {.op = PLAN_READ,
                                   .ring = d->ring[a->ring].number,
                                   .tensor = a->tensor,
                                   .place = a->place[0],
                                   .place2 = a->place[1],
                                   .call = plan_text(p, "%s_rows", p->tensor[a->tensor].name),
                                   .why = "it came with the tiles, and memory is busy with those while dots run"};
    int status = d->taken >> a->ring & 1 ? 0 : derive_take(d, a->ring, 0);
    status = status ? status : derive_emit(d, d->consumer, step);
    for (int i = 0; i < 2 && a->place[i] && !status; i++)
        status = derive_own(d, a->place[i], a->node[i]);
    return status;
}

int derive_read_before(struct derive *d, int op)
{
    const int loop = plan_number(d->due);
    int status = 0;
    for (int i = 0; i < d->along_count && loop >= 0 && loop == d->work.op[op].parent && !status; i++)
        if (d->ring[d->along[i].ring].parent == loop && d->taken >> d->along[i].ring & 1)
            status = read(d, &d->along[i]);
    return status;
}

int derive_read_along(struct derive *d, int loop)
{
    struct plan *p = d->work.l->plan;
    int status = 0, last = -1;
    for (int i = 0; i < d->along_count && !status; i++) {
        const struct derive_along *a = &d->along[i];
        if (d->ring[a->ring].parent != loop)
            continue;
        last = i;
        if (derive_place_of(d, a->node[0]) != a->place[0])
            status = read(d, a);
    }
    if (status || last < 0)
        return status;
    return derive_emit(d, d->consumer,
                       (struct plan_step){.op = PLAN_FENCE_ASYNC,
                                          .ring = d->ring[d->along[last].ring].number,
                                          .tensor = -1,
                                          .call = plan_text(p, "%s_read", p->tensor[d->along[last].tensor].name)});
}
