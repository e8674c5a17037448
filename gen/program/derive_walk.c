/* The walk: the program's operations in order, as steps of the producer and of the consumers. See derive.h. */
#include "program/derive.h"

#include <math.h>
#include <string.h>

#include "family/family.h"

enum { ARRIVALS = 4 /* every warp of a consumer releases for itself */ };

static const char *const reduced[PROGRAM_REDUCTIONS] = {
    [PROGRAM_SUM] = "row_sum", [PROGRAM_MAX] = "row_max", [PROGRAM_MIN] = "row_min"};

static int body(struct derive *d, int first, int end);

static int emit(struct derive *d, struct plan_role *role, struct plan_step step)
{
    return d->dry ? 0 : family_add_step(d->work.l->plan, role, step);
}

static int refuse(struct derive *d, int op, const char *text)
{
    return program_refuse(d->work.l, d->work.program->op[op].loc, "PROGRAM-LOWER", "%s", text);
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

static int *grown(struct derive *d, int *array, int *count, int least)
{
    if (least <= *count)
        return array;
    int more = least + 64;
    int *room = plan_alloc(d->work.l->plan, sizeof *room * (size_t)more);
    if (!room)
        return NULL;
    if (*count)
        memcpy(room, array, sizeof *room * (size_t)*count);
    for (int i = *count; i < more; i++)
        room[i] = -1;
    *count = more;
    return room;
}

/* The value of `node` is in the place, and no other is. */
static int own(struct derive *d, int place, int node)
{
    d->owner = grown(d, d->owner, &d->owner_count, place);
    if (!d->owner)
        return 3;
    d->owner[plan_number(place)] = node;
    return 0;
}

/* plan_some(place) that holds the node's value now; 0: none. */
static int place_of(const struct derive *d, int node)
{
    for (int i = 0; i < d->work.l->plan->place_count && i < d->owner_count; i++)
        if (d->owner[i] == node)
            return plan_some(i);
    return 0;
}

static int home_of(const struct derive *d, int node)
{
    return node < d->home_count && d->home[node] > 0 ? d->home[node] : 0;
}

static int set_home(struct derive *d, int node, int place)
{
    d->home = grown(d, d->home, &d->home_count, node + 1);
    if (!d->home)
        return 3;
    d->home[node] = place;
    return 0;
}

int derive_home(struct derive *d, int node, int place)
{
    return set_home(d, node, place);
}

static struct plan_place *place_at(const struct derive *d, int place)
{
    return &d->work.l->plan->place[plan_number(place)];
}

/* A new place for a node: rows, or a fragment as wide as `columns`. */
static int new_place(struct derive *d, int node, const char *name, int columns)
{
    struct plan *p = d->work.l->plan;
    bool rows = columns == 1;
    struct plan_place place = {.name = plan_text(p, "%s%d", name, p->place_count),
                               .kind = rows ? PLAN_PLACE_ROWS : PLAN_PLACE_FRAGMENT,
                               .dtype = TW_FP32,
                               .rows = 64 * d->blocks,
                               .cols = columns,
                               .registers = rows ? 2 * d->blocks : d->blocks * columns / 2,
                               .shared = -1};
    int number = place.name ? plan_add_place(p, place) : 0;
    return number && set_home(d, node, number) == 0 ? number : 0;
}

/* ---- expressions of places --------------------------------------------------------------------------------------- */

struct build {
    struct derive *d;
    int *memo; /* by node of the work graph: node of plan.fused + 1 */
    int shift; /* added to the variable of the loop that is walked */
    int op;    /* for messages */
    int status;
};

static int build(struct build *b, int node);

/* 2^(a - b) of an element a and a row's b: the row's part is computed once a row, so that one multiplication and
 * addition remains for the element. */
static int build_difference(struct build *b, const struct expr_node *n)
{
    struct expr_graph *g = &b->d->work.l->plan->fused;
    int minuend = build(b, n->arg[0]), row = build(b, n->arg[1]);
    if (b->status)
        return -1;
    int least = expr_binary(g, EXPR_EQ, row, expr_real(g, -INFINITY));
    int guard = expr_select(g, least, expr_real(g, 0.0), expr_unary(g, EXPR_NEG, row));
    return expr_binary(g, EXPR_EXP2_DIFF, expr_binary(g, EXPR_ADD, minuend, guard), expr_real(g, 0.0));
}

static int build(struct build *b, int node)
{
    struct derive *d = b->d;
    struct work *w = &d->work;
    struct expr_graph *g = &w->l->plan->fused;
    if (node < 0 || b->status)
        return -1;
    if (b->memo[node])
        return b->memo[node] - 1;
    struct expr_node n = w->graph.node[node];
    int place = n.op == EXPR_TILE || expr_ops[n.op].arity ? place_of(d, node) : 0, result;
    if (place) {
        result = expr_leaf(g, EXPR_TILE, EXPR_REAL, plan_number(place));
    } else if (n.op == EXPR_TILE) {
        b->status = refuse(d, b->op,
                           "it needs a tile whose registers were given to another by then; use the tile before");
        return -1;
    } else if (n.op == EXPR_LOOP && b->shift && n.integer == d->around) {
        result = expr_binary(g, EXPR_ADD, expr_add(g, &n), expr_int(g, b->shift));
    } else if (n.op == EXPR_EXP2_DIFF && (work_scope(w, n.arg[0]) & WORK_COLUMN) &&
               !(work_scope(w, n.arg[1]) & WORK_COLUMN)) {
        result = build_difference(b, &n);
    } else if (n.op == EXPR_TENSOR) {
        int index[SPEC_MAX_RANK];
        for (int i = 0; i < n.rank; i++)
            index[i] = build(b, w->graph.index[n.first_index + i]);
        result = b->status ? -1 : expr_tensor(g, (int)n.integer, n.type, n.rank, index);
    } else {
        for (int i = 0; i < 3; i++)
            n.arg[i] = build(b, n.arg[i]);
        result = b->status ? -1 : expr_add(g, &n);
    }
    if (result < 0 && !b->status)
        b->status = 3;
    b->memo[node] = result + 1;
    return result;
}

/* plan_some(node of plan.fused) for a node of the work graph with what is in places now. 0: *status says why. */
static int built(struct derive *d, int op, int node, int shift, int *status)
{
    struct build b = {.d = d, .shift = shift, .op = op, .status = *status};
    b.memo = plan_alloc(d->work.l->plan, sizeof *b.memo * (size_t)(d->work.graph.count + 1));
    if (!b.memo)
        b.status = 3;
    int result = build(&b, node);
    *status = b.status;
    return b.status ? 0 : plan_some(result);
}

/* ---- in flight --------------------------------------------------------------------------------------------------- */

static bool in_flight(const struct derive *d, int dot)
{
    for (int i = 0; i < d->flights; i++)
        if (d->flight[i].dot == dot)
            return true;
    return false;
}

/* Releases stages that no dot reads or will read any more, the oldest of each ring first. */
static int release(struct derive *d)
{
    int status = 0;
    for (int r = 0; r < d->ring_count && !status; r++) {
        int unreleased = 0;
        for (int i = 0; i < d->helds; i++)
            unreleased += d->held[i].ring == r;
        for (int i = 0; i < d->helds && !status; i++) {
            const struct derive_held held = d->held[i];
            if (held.ring != r)
                continue;
            if (held.uses > 0 || held.dot < 0 || in_flight(d, held.dot))
                break; /* of this ring the oldest goes first */
            memmove(&d->held[i], &d->held[i + 1], sizeof *d->held * (size_t)(d->helds - i - 1));
            d->helds--;
            i--;
            status = emit(d, d->consumer,
                          (struct plan_step){.op = PLAN_RELEASE,
                                             .ring = d->ring[r].number,
                                             .tensor = -1,
                                             .count = --unreleased,
                                             .arrivals = ARRIVALS,
                                             .back = held.old,
                                             .call = plan_text(d->work.l->plan, "%s_release", d->ring[r].name)});
        }
    }
    return status;
}

/* Waits until the flight at `index` and all before it are over. */
static int wait_for(struct derive *d, int index)
{
    int left = d->flights - 1 - index;
    int status = emit(d, d->consumer,
                      (struct plan_step){.op = PLAN_MMA_WAIT,
                                         .ring = -1,
                                         .tensor = -1,
                                         .count = left,
                                         .call = plan_text(d->work.l->plan, "mma_wait_%d", left)});
    memmove(d->flight, d->flight + index + 1, sizeof *d->flight * (size_t)left);
    d->flights = left;
    return status ? status : release(d);
}

/* Nothing in flight writes or reads the registers. */
static int land(struct derive *d, int place)
{
    for (int i = d->flights - 1; i >= 0; i--)
        if (d->flight[i].dot >= 0 &&
            (d->dot[d->flight[i].dot].place == place || d->dot[d->flight[i].dot].operand == place))
            return wait_for(d, i);
    return 0;
}

/* ---- arithmetic -------------------------------------------------------------------------------------------------- */

/* Collects the register places that an expression reads, each once. */
static void places_read(const struct expr_graph *g, int node, bool *read, bool *seen)
{
    const struct expr_node *n = &g->node[node];
    if (seen[node])
        return;
    seen[node] = true;
    if (n->op == EXPR_TILE)
        read[n->integer] = true;
    for (int i = 0; i < 3; i++)
        if (n->arg[i] >= 0)
            places_read(g, n->arg[i], read, seen);
}

/* The touches of a pass: of what it reads, then of what it writes, which carries the expression. Before them the waits. */
static int pass(struct derive *d, struct plan_step step)
{
    struct plan *p = d->work.l->plan;
    bool *read = plan_alloc(p, sizeof *read * (size_t)(p->place_count + 1));
    bool *seen = plan_alloc(p, sizeof *seen * (size_t)(p->fused.count + 1));
    if (!read || !seen)
        return 3;
    places_read(&p->fused, plan_number(step.node), read, seen);
    int status = step.place ? land(d, step.place) : 0;
    for (int i = 0; i < p->place_count && !status; i++)
        if (read[i])
            status = land(d, plan_some(i));
    for (int i = 0; i < p->place_count && !status; i++)
        if (read[i] && plan_some(i) != step.place && p->place[i].kind != PLAN_PLACE_ROWS)
            status = emit(d, d->consumer,
                          (struct plan_step){.op = PLAN_TOUCH, .ring = -1, .tensor = -1, .place = plan_some(i)});
    step.ring = -1;
    if (step.op != PLAN_TOUCH)
        return status;
    step.tensor = -1;
    return status ? status : emit(d, d->consumer, step);
}

/* True where the node is the value that lies in the place already. */
static bool is_there(const struct derive *d, int node, int place)
{
    const struct expr_node *n = &d->work.l->plan->fused.node[plan_number(node)];
    return n->op == EXPR_TILE && n->integer == plan_number(place);
}

/* Computes `node` of the work graph into the place. */
static int evaluate(struct derive *d, int op, int node, int place)
{
    int status = 0, expression = built(d, op, node, 0, &status);
    if (status)
        return status;
    if (!is_there(d, expression, place))
        status = pass(d, (struct plan_step){
                             .op = PLAN_TOUCH, .place = place, .node = expression, .call = "evaluate"});
    return status ? status : own(d, place, node);
}

/* True where `root`, as far as it is not in places yet, needs the value `what` other than through `via`. */
static bool needs(const struct derive *d, int root, int what, int via, bool *seen)
{
    if (root < 0 || root == via || seen[root])
        return false;
    if (root == what)
        return true;
    seen[root] = true;
    if (place_of(d, root))
        return false;
    for (int i = 0; i < 3; i++)
        if (needs(d, d->work.graph.node[root].arg[i], what, via, seen))
            return true;
    return false;
}

/* Operations from `op` on, in its body, take the value `what` other than through `via`. */
static bool is_needed(struct derive *d, int op, int what, int via, int *status)
{
    for (int u = 0; u < d->use_count; u++) {
        if (d->use[u].op < op)
            continue;
        bool *seen = plan_alloc(d->work.l->plan, sizeof *seen * (size_t)(d->work.graph.count + 1));
        if (!seen) {
            *status = 3;
            return true;
        }
        if (needs(d, d->use[u].root, what, via, seen))
            return true;
    }
    return false;
}

/* An accumulator that `node` is computed from and that nobody needs any more; 0: none. Carried ones stay. */
static int free_accumulator(struct derive *d, int op, int root, int node, bool *seen, int *status)
{
    if (node < 0 || seen[node] || *status)
        return 0;
    seen[node] = true;
    int place = place_of(d, node);
    if (place && node != root) {
        const struct plan_place *q = place_at(d, place);
        if (q->kind != PLAN_PLACE_ACCUMULATOR && q->kind != PLAN_PLACE_FRAGMENT)
            return 0;
        for (int i = 0; i < d->work.program->op_count; i++) {
            const struct program_op *o = &d->work.program->op[i];
            if (o->kind == PROGRAM_PARAM && home_of(d, d->work.op[i].leaf) == place)
                return 0;
        }
        return is_needed(d, op, node, root, status) ? 0 : place;
    }
    for (int i = 0; i < 3; i++) {
        int found = free_accumulator(d, op, root, d->work.graph.node[node].arg[i], seen, status);
        if (found)
            return found;
    }
    return 0;
}

static int columns_of(const struct derive *d, int node, bool *seen)
{
    if (node < 0 || seen[node])
        return 1;
    seen[node] = true;
    int most = 1, place = place_of(d, node);
    if (place)
        return place_at(d, place)->kind == PLAN_PLACE_ROWS ? 1 : place_at(d, place)->cols;
    for (int i = 0; i < 3; i++) {
        int columns = columns_of(d, d->work.graph.node[node].arg[i], seen);
        most = columns > most ? columns : most;
    }
    return most;
}

/* Gives a shared node its place. */
static int keep(struct derive *d, int op, int node)
{
    struct plan *p = d->work.l->plan;
    int place = home_of(d, node), status = 0;
    if (!place && (work_scope(&d->work, node) & WORK_COLUMN)) {
        bool *seen = plan_alloc(p, sizeof *seen * (size_t)(d->work.graph.count + 1));
        bool *again = plan_alloc(p, sizeof *seen * (size_t)(d->work.graph.count + 1));
        if (!seen || !again)
            return 3;
        place = free_accumulator(d, op, node, node, seen, &status);
        if (!place && !status)
            place = new_place(d, node, "copy", columns_of(d, node, again));
        else if (place && !status)
            status = set_home(d, node, place);
    } else if (!place) {
        place = new_place(d, node, "row", 1);
    }
    if (status || !place)
        return status ? status : 3;
    return evaluate(d, op, node, place);
}

/* Computes every shared node of `root` that is in no place yet, operands first. */
static int prepare(struct derive *d, int op, int root)
{
    int count = d->work.graph.count, status = 0;
    bool *reached = plan_alloc(d->work.l->plan, sizeof *reached * (size_t)(count + 1));
    if (!reached)
        return 3;
    if (root >= 0)
        reached[root] = true;
    for (int node = root; node >= 0; node--)
        for (int a = 0; a < 3 && reached[node] && !place_of(d, node); a++)
            if (d->work.graph.node[node].arg[a] >= 0)
                reached[d->work.graph.node[node].arg[a]] = true;
    for (int node = 0; node <= root && !status; node++)
        if (reached[node] && node < d->shared_count && d->shared[node] && !place_of(d, node))
            status = keep(d, op, node);
    return status;
}

/* ---- rings ------------------------------------------------------------------------------------------------------- */

/* The producer fills the ring's next stage, the consumers wait for it. */
static int take(struct derive *d, int number, int shift)
{
    struct plan *p = d->work.l->plan;
    const struct derive_ring *ring = &d->ring[number];
    const struct plan_ring *r = &p->ring[ring->number];
    int status = 0;
    if (d->helds == DERIVE_MAX_HELD)
        return refuse(d, ring->load[0], "too many stages are held at once");
    status = emit(d, d->producer,
                  (struct plan_step){.op = PLAN_WAIT_EMPTY,
                                     .ring = ring->number,
                                     .tensor = -1,
                                     .phase = 1,
                                     .call = plan_text(p, "%s_wait_empty", ring->name)});
    status = status ? status
                    : emit(d, d->producer,
                           (struct plan_step){.op = PLAN_EXPECT,
                                              .ring = ring->number,
                                              .tensor = -1,
                                              .count = r->tx_bytes,
                                              .call = plan_text(p, "%s_expect", ring->name)});
    for (int i = 0; i < ring->load_count && !status; i++) {
        int op = ring->load[i], tensor = d->work.program->op[op].tensor;
        const struct plan_tensor *t = &p->tensor[tensor];
        struct plan_step fill = {.op = PLAN_FILL,
                                 .ring = ring->number,
                                 .tensor = tensor,
                                 .count = t->tile_bytes / t->multicast,
                                 .call = plan_text(p, "%s_load", t->name)};
        for (int k = 0; k < t->rank && !status; k++)
            fill.at[k] = built(d, op, d->work.op[op].at[k], shift, &status);
        status = status ? status : emit(d, d->producer, fill);
    }
    d->held[d->helds++] =
        (struct derive_held){.ring = number, .uses = ring->inner < 0 ? ring->users : 1, .dot = -1};
    d->taken |= 1u << number;
    return status ? status
                  : emit(d, d->consumer,
                         (struct plan_step){.op = PLAN_WAIT_FULL,
                                            .ring = ring->number,
                                            .tensor = -1,
                                            .call = plan_text(p, "%s_wait_full", ring->name)});
}

static int ring_of(const struct derive *d, int load)
{
    for (int r = 0; r < d->ring_count; r++)
        for (int i = 0; i < d->ring[r].load_count; i++)
            if (d->ring[r].load[i] == load)
                return r;
    return -1;
}

/* Stages of the rings that dots of an inner loop read. */
static int take_for(struct derive *d, int loop)
{
    int status = 0;
    for (int r = 0; r < d->ring_count && !status; r++)
        if (d->ring[r].inner == loop && d->ring[r].parent == d->work.op[loop].parent && !(d->taken >> r & 1))
            status = take(d, r, 0);
    return status;
}

/* ---- dots -------------------------------------------------------------------------------------------------------- */

/* The reads and the instruction, as one group. `again`: turns before which it starts from zero; -1: it always does. */
static int issue(struct derive *d, int op, int again, int shift)
{
    struct plan *p = d->work.l->plan;
    struct derive_dot *dot = &d->dot[op];
    int status = 0;
    for (int o = 0; o < 2 && !status; o++) {
        int r = dot->load[o] >= 0 ? ring_of(d, dot->load[o]) : -1;
        if (r >= 0 && d->ring[r].inner < 0 && !(d->taken >> r & 1))
            status = take(d, r, shift);
    }
    status = status ? status
                    : emit(d, d->consumer,
                           (struct plan_step){.op = PLAN_MMA_FENCE, .ring = -1, .tensor = -1, .call = "mma_fence"});
    unsigned counted = 0;
    for (int o = 0; o < 2 && !status; o++) {
        int r = dot->load[o] >= 0 ? ring_of(d, dot->load[o]) : -1, newest = -1;
        if (r < 0)
            continue;
        for (int i = 0; i < d->helds; i++)
            newest = d->held[i].ring == r ? i : newest;
        if (newest >= 0 && !(counted >> r & 1)) {
            d->held[newest].dot = op;
            d->held[newest].uses -= d->ring[r].inner < 0;
            counted |= 1u << r;
        }
        status = emit(d, d->consumer,
                      (struct plan_step){.op = PLAN_READ,
                                         .ring = d->ring[r].number,
                                         .tensor = d->work.program->op[dot->load[o]].tensor,
                                         .count = 1});
    }
    if (d->flights == DERIVE_MAX_FLIGHTS)
        return refuse(d, op, "too many dots are in flight at once");
    d->flight[d->flights++] = (struct derive_flight){.dot = op};
    status = status ? status
                    : emit(d, d->consumer,
                           (struct plan_step){.op = PLAN_MMA,
                                              .ring = -1,
                                              .tensor = -1,
                                              .count = dot->mma,
                                              .place = dot->place,
                                              .place2 = dot->operand,
                                              .least = again,
                                              .call = p->mma[dot->mma].name});
    status = status ? status
                    : emit(d, d->consumer,
                           (struct plan_step){.op = PLAN_MMA_COMMIT, .ring = -1, .tensor = -1, .call = "mma_commit"});
    return status ? status : own(d, dot->place, d->work.op[op].leaf);
}

/* Its computed first operand, rounded, into registers. */
static int pack(struct derive *d, int op)
{
    struct derive_dot *dot = &d->dot[op];
    int root = d->work.op[op].arg[0], status = prepare(d, op, root);
    while (!status && d->work.graph.node[root].op == EXPR_CAST && !place_of(d, root))
        root = d->work.graph.node[root].arg[0]; /* packing rounds */
    int expression = built(d, op, root, 0, &status);
    return status ? status
                  : pass(d, (struct plan_step){
                                .op = PLAN_TOUCH, .place = dot->operand, .node = expression, .call = "pack"});
}

/* The carried value that the operation's result becomes; -1: none. */
static int carried_as(const struct derive *d, int op)
{
    int loop = d->work.op[op].parent;
    const struct program_op *l = loop >= 0 ? &d->work.program->op[loop] : NULL;
    for (int i = 0; l && i < l->carried; i++)
        if (d->work.op[l->end].value[i] == d->work.op[op].leaf)
            return i;
    return -1;
}

static bool is_zero(const struct work *w, int node)
{
    const struct expr_node *n = &w->graph.node[node];
    return (n->op == EXPR_CONST_REAL && n->real == 0.0) || (n->op == EXPR_CONST_INT && n->integer == 0);
}

/* The dot adds to what it carried on, as it is, and began from zero. */
static bool starts_from_zero(const struct derive *d, int op)
{
    int which = carried_as(d, op), loop = d->work.op[op].parent, c = d->work.op[op].arg[2];
    if (which < 0 || c < 0 || !is_zero(&d->work, d->work.op[loop].value[which]))
        return false;
    for (int i = loop + 1; i <= loop + d->work.program->op[loop].carried; i++)
        if (d->work.program->op[i].which == which)
            return d->work.op[i].leaf == c;
    return false;
}

static int dot(struct derive *d, int op)
{
    struct derive_dot *k = &d->dot[op];
    int c = d->work.op[op].arg[2], again = -1;
    int status = k->load[0] < 0 ? pack(d, op) : 0;
    if (!status && d->before == op) {
        unsigned taken = d->taken;
        d->taken &= ~d->ahead_rings;
        d->around = d->work.op[op].parent;
        status = issue(d, d->ahead, -1, d->ahead_shift);
        d->taken = taken;
    }
    if (!status && c >= 0) {
        again = starts_from_zero(d, op) ? 1 : 0;
        status = prepare(d, op, c);
        status = status ? status : evaluate(d, op, c, k->place);
    } else if (!status) {
        /* The result replaces what an earlier group still writes or others still read. */
        status = land(d, k->place);
    }
    return status ? status : issue(d, op, again, 0);
}

/* ---- other operations -------------------------------------------------------------------------------------------- */

static int reduce(struct derive *d, int op)
{
    const struct work_op *k = &d->work.op[op];
    int status = prepare(d, op, k->arg[0]), place = home_of(d, k->leaf);
    if (!place)
        place = new_place(d, k->leaf, reduced[d->work.program->op[op].reduction], 1);
    if (!place)
        return 3;
    int expression = built(d, op, k->arg[0], 0, &status);
    status = status ? status
                    : pass(d, (struct plan_step){.op = PLAN_TOUCH,
                                                 .place = place,
                                                 .node = expression,
                                                 .count = (int)d->work.program->op[op].reduction,
                                                 .call = "reduce"});
    return status ? status : own(d, place, k->leaf);
}

/* The part of a store behind its arithmetic: 64 rows and a box's columns at a time. */
static int store_staged(struct derive *d, int op, int expression)
{
    struct plan *p = d->work.l->plan;
    const struct program_op *o = &d->work.program->op[op];
    const struct plan_tensor *t = &p->tensor[o->tensor];
    int ring = p->ring_count - 1, width = t->tile[t->rank - 1], status = 0;
    struct plan_step write = {.op = PLAN_WRITE,
                              .ring = ring,
                              .tensor = o->tensor,
                              .node = expression,
                              .call = plan_text(p, "%s_write", t->name)};
    struct plan_step store = {
        .op = PLAN_STORE, .ring = ring, .tensor = o->tensor, .call = plan_text(p, "%s_store", t->name)};
    for (int k = 0; k < t->rank && !status; k++)
        store.at[k] = built(d, op, d->work.op[op].at[k], 0, &status);
    const struct plan_step chunk[] = {
        {.op = PLAN_LOOP, .ring = -1, .tensor = -1, .count = d->blocks * o->arg[0].columns / width, .call = t->name},
        {.op = PLAN_STORE_WAIT, .ring = ring, .tensor = -1, .count = p->ring[ring].stages - 1, .call = "d_wait"},
        {.op = PLAN_BARRIER, .ring = -1, .tensor = -1, .call = "d_barrier"},
        write,
        {.op = PLAN_FENCE_ASYNC, .ring = ring, .tensor = -1, .call = "d_fence"},
        {.op = PLAN_BARRIER, .ring = -1, .tensor = -1, .call = "d_barrier"},
        store,
        {.op = PLAN_END, .ring = -1, .tensor = -1},
    };
    for (size_t i = 0; i < sizeof chunk / sizeof *chunk && !status; i++)
        status = emit(d, d->consumer, chunk[i]);
    return status;
}

static int store(struct derive *d, int op)
{
    struct plan *p = d->work.l->plan;
    const struct program_op *o = &d->work.program->op[op];
    int root = d->work.op[op].arg[0], status = prepare(d, op, root);
    while (!status && d->work.graph.node[root].op == EXPR_CAST && !place_of(d, root) &&
           d->work.graph.node[root].dtype == p->tensor[o->tensor].dtype)
        root = d->work.graph.node[root].arg[0]; /* storing rounds */
    int expression = built(d, op, root, 0, &status);
    if (status)
        return status;
    struct plan_step step = {.op = PLAN_GLOBAL,
                             .ring = -1,
                             .tensor = o->tensor,
                             .node = expression,
                             .call = plan_text(p, "%s_store_global", p->tensor[o->tensor].name)};
    status = pass(d, step);
    if (status || p->tensor[o->tensor].access == PLAN_ACCESS_TMA)
        return status ? status : store_staged(d, op, expression);
    for (int k = 0; k < p->tensor[o->tensor].rank && !status; k++)
        step.at[k] = built(d, op, d->work.op[op].at[k], 0, &status);
    return status ? status : emit(d, d->consumer, step);
}

/* What a turn carries on becomes what the next one finds. */
static int carry_on(struct derive *d, int end)
{
    const struct program_op *loop = &d->work.program->op[d->work.program->op[end].loop];
    const struct work_op *k = &d->work.op[end];
    int status = 0, leaves[PROGRAM_MAX_CARRIED];
    for (int i = 0; i < loop->carried && !status; i++)
        status = prepare(d, end, k->value[i]);
    for (int i = 0; i < loop->carried && !status; i++) {
        int leaf = -1;
        for (int o = d->work.program->op[end].loop + 1; o < end; o++)
            if (d->work.program->op[o].kind == PROGRAM_PARAM && d->work.program->op[o].which == i &&
                d->work.program->op[o].loop == d->work.program->op[end].loop)
                leaf = d->work.op[o].leaf;
        int place = home_of(d, leaf);
        for (int j = 0; j < i; j++)
            if (k->value[i] == leaves[j])
                return refuse(d, end, "carried values that change places are not lowered; carry them on as they are");
        leaves[i] = leaf;
        if (place_of(d, k->value[i]) != place)
            status = evaluate(d, end, k->value[i], place);
        status = status ? status : own(d, place, leaf);
    }
    return status;
}

/* A value lives in its place for one turn; what the next turn finds are the carried ones. */
static void forget(struct derive *d, int loop)
{
    for (int i = 0; i < d->owner_count; i++) {
        if (d->owner[i] < 0)
            continue;
        bool kept = false;
        for (int o = 0; o < d->work.program->op_count; o++) {
            const struct program_op *op = &d->work.program->op[o];
            bool within = o > loop && o < d->work.program->op[loop].end;
            if (d->work.op[o].leaf == d->owner[i] &&
                (!within || (op->kind == PROGRAM_PARAM && op->loop == loop)))
                kept = true;
        }
        if (!kept)
            d->owner[i] = -1;
    }
}

/* ---- loops ------------------------------------------------------------------------------------------------------- */

/* One turn of the loop, up to and with its END. What is old by then is waited for. */
static int turn(struct derive *d, int loop)
{
    int end = d->work.program->op[loop].end;
    unsigned outer = d->taken;
    d->taken = d->ahead >= 0 ? outer | d->ahead_rings : outer;
    for (int r = 0; r < d->ring_count; r++)
        if (d->ring[r].parent == loop && !(d->ahead >= 0 && d->ahead_rings >> r & 1))
            d->taken &= ~(1u << r);
    d->around = loop;
    int status = body(d, loop + 1, end);
    status = status ? status : carry_on(d, end);
    for (int i = d->flights - 1; i >= 0 && !status; i--)
        if (d->flight[i].old) {
            status = wait_for(d, i);
            break;
        }
    forget(d, loop);
    d->taken = outer;
    return status;
}

static void grow_old(struct derive *d)
{
    for (int i = 0; i < d->flights; i++)
        d->flight[i].old = true;
    for (int i = 0; i < d->helds; i++)
        d->held[i].old = true;
}

/* The loop runs as often for every item. */
static bool is_uniform(const struct work *w, int node)
{
    const struct expr_node *n = &w->graph.node[node];
    if (n->op == EXPR_AT || n->op == EXPR_LOOP || n->op == EXPR_TENSOR)
        return false;
    for (int i = 0; i < 3; i++)
        if (n->arg[i] >= 0 && !is_uniform(w, n->arg[i]))
            return false;
    return true;
}

/* The carried sum needs no zeros in each item: its dot starts from zero by itself, and where a loop makes no turn it
 * makes none for any item, so that zeros before the first item do. */
static bool stays_zero(const struct derive *d, int loop, int which)
{
    int end = d->work.program->op[loop].end;
    if (d->work.op[loop].parent >= 0 || !is_uniform(&d->work, d->work.op[loop].from) ||
        !is_uniform(&d->work, d->work.op[loop].to))
        return false;
    for (int o = loop + 1; o < end; o++)
        if (d->work.program->op[o].kind == PROGRAM_DOT && carried_as(d, o) == which && d->work.op[o].parent == loop)
            return starts_from_zero(d, o);
    return false;
}

static int zeros_before_items(struct derive *d)
{
    const struct program *p = d->work.program;
    struct expr_graph *g = &d->work.l->plan->fused;
    int status = 0;
    for (int o = 0; o < p->op_count && !status; o++)
        if (p->op[o].kind == PROGRAM_PARAM && stays_zero(d, p->op[o].loop, p->op[o].which))
            status = emit(d, d->consumer,
                          (struct plan_step){.op = PLAN_TOUCH,
                                             .ring = -1,
                                             .tensor = -1,
                                             .place = home_of(d, d->work.op[o].leaf),
                                             .node = plan_some(expr_real(g, 0.0)),
                                             .call = "evaluate"});
    return status;
}

/* First values into their places. */
static int first_values(struct derive *d, int loop)
{
    const struct program_op *l = &d->work.program->op[loop];
    int status = 0;
    for (int o = loop + 1; o < l->end && !status; o++) {
        const struct program_op *op = &d->work.program->op[o];
        if (op->kind != PROGRAM_PARAM || op->loop != loop)
            continue;
        int place = home_of(d, d->work.op[o].leaf), value = d->work.op[loop].value[op->which];
        if (!stays_zero(d, loop, op->which)) {
            status = prepare(d, loop, value);
            status = status ? status : evaluate(d, loop, value, place);
        }
        status = status ? status : own(d, place, d->work.op[o].leaf);
    }
    return status;
}

static int both(struct derive *d, struct plan_step step)
{
    int status = emit(d, d->producer, step);
    return status ? status : emit(d, d->consumer, step);
}

static int loop_step(struct derive *d, int loop, int peeled)
{
    struct plan *p = d->work.l->plan;
    struct expr_graph *g = &p->fused;
    const struct program_op *l = &d->work.program->op[loop];
    int64_t step = 1;
    int status = 0, from = built(d, loop, d->work.op[loop].from, 0, &status),
        to = built(d, loop, d->work.op[loop].to, 0, &status);
    if (status)
        return status;
    expr_is_int(d->work.program->graph, l->step, &step);
    int span = expr_binary(g, EXPR_SUB, plan_number(to), plan_number(from));
    if (span >= 0 && !expr_is_natural(g, span))
        span = expr_binary(g, EXPR_MAX, span, expr_int(g, 0));
    int turns = expr_ceil_div(g, span, expr_int(g, step));
    if (peeled && turns >= 0) {
        turns = expr_binary(g, EXPR_SUB, turns, expr_int(g, peeled));
    }
    int by = expr_int(g, step);
    if (turns < 0 || by < 0)
        return 3;
    return both(d, (struct plan_step){.op = PLAN_LOOP,
                                      .ring = -1,
                                      .tensor = -1,
                                      .node = plan_some(turns),
                                      .at = {from, plan_some(by), plan_some(expr_int(g, loop))},
                                      .call = l->name ? l->name : plan_text(p, "loop%d", loop)});
}

static int loop(struct derive *d, int number)
{
    int status = take_for(d, number), around = d->around;
    status = status ? status : first_values(d, number);
    if (status)
        return status;
    int known = d->owner_count;
    bool dry = d->dry;
    int *owner = plan_alloc(d->work.l->plan, sizeof *owner * (size_t)(d->owner_count + 1));
    if (!owner)
        return 3;
    if (known)
        memcpy(owner, d->owner, sizeof *owner * (size_t)known);

    d->dry = true;
    for (int i = 0; i < 2 && !status; i++) { /* the second time with what the first leaves in flight */
        status = turn(d, number);
        grow_old(d);
    }
    d->dry = dry;
    int flights = d->flights, helds = d->helds;
    if (status)
        return status;

    status = loop_step(d, number, 0);
    for (int i = 0; i < d->owner_count; i++)
        d->owner[i] = i < known ? owner[i] : -1;
    d->around = number;
    status = status ? status : turn(d, number);
    grow_old(d);
    if (!status && (d->flights != flights || d->helds != helds))
        status = refuse(d, number, "what is in flight at the end of a turn differs from turn to turn");
    status = status ? status : both(d, (struct plan_step){.op = PLAN_END, .ring = -1, .tensor = -1});
    d->around = around;
    for (int i = 0; i < d->helds; i++)
        if (d->ring[d->held[i].ring].inner == number)
            d->held[i].uses = 0;
    return status ? status : release(d);
}

static int body(struct derive *d, int first, int end)
{
    int status = 0;
    for (int i = first; i < end && !status; i++) {
        const struct program_op *op = &d->work.program->op[i];
        switch (op->kind) {
        case PROGRAM_DOT:
            status = d->ahead == i ? 0 : dot(d, i);
            break;
        case PROGRAM_REDUCE:
            status = reduce(d, i);
            break;
        case PROGRAM_STORE:
            status = store(d, i);
            break;
        case PROGRAM_LOOP:
            status = loop(d, i);
            i = op->end;
            break;
        case PROGRAM_RESULT:
            status = own(d, home_of(d, d->work.op[i].leaf), d->work.op[i].leaf);
            break;
        default:
            break;
        }
    }
    return status;
}

int derive_steps(struct derive *d)
{
    struct plan *p = d->work.l->plan;
    d->around = d->ahead = d->before = -1;
    int status = zeros_before_items(d);
    status = status ? status
                    : both(d, (struct plan_step){.op = PLAN_LOOP, .ring = -1, .tensor = -1, .call = "tiles"});
    status = status ? status : body(d, 0, d->work.program->op_count);
    if (!status && d->flights)
        status = wait_for(d, d->flights - 1);
    status = status ? status : both(d, (struct plan_step){.op = PLAN_END, .ring = -1, .tensor = -1});
    int ring = p->ring_count - 1;
    if (!status && ring >= 0 && p->ring[ring].filler == PLAN_FILL_THREADS)
        status = emit(d, d->consumer,
                      (struct plan_step){.op = PLAN_STORE_WAIT, .ring = ring, .tensor = -1, .call = "d_wait_0"});
    return status;
}
