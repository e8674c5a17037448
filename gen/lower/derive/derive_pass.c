/* What arithmetic becomes: shared nodes get places, expressions are said in places, and a pass over registers stands
 * behind the waits that it needs. See derive.h. */
#include "lower/derive/derive_turns.h"

#include <math.h>
#include <string.h>

#include "lower/derive/derive_early.h"
#include "lower/derive/derive_ops.h"
#include "lower/derive/linear.h"
#include "lower/family.h"

enum {
    WARP_ROWS = 16,     /* of an mma.sync */
    BESIDE_PLACES = 48, /* registers of a consumer behind its loops: addresses, columns that are read ahead, results */
    BESIDE_STORES = 44, /* and more where stores of one dot's sums read a copy too: none of them is a loop then */
};

/* Why derivation puts a step where it stands, for who reads the Plan. */
static const char *reason(const struct plan_step *s)
{
    switch (s->op) {
    case PLAN_WAIT_EMPTY:
        return "who reads the stage may not be through";
    case PLAN_WAIT_FULL:
        return "the next step is the first to read the stage";
    case PLAN_MMA_FENCE:
        return "threads touched registers that the next instruction takes";
    case PLAN_MMA_WAIT:
        return s->count ? "what follows takes registers or a stage of older groups, not of the newest"
                        : "what follows takes registers or a stage of the groups in flight";
    case PLAN_RELEASE:
        return s->back ? "behind the wait that covers the last read of the stage of the turn before"
                       : "behind the wait that covers the last read of the stage";
    case PLAN_CP_WAIT:
        return s->count ? "the next step reads what older groups bring, not the newest" : "the next step reads it";
    case PLAN_FENCE_ASYNC:
        return "bulk copies take or overwrite next what threads wrote or read";
    case PLAN_STORE_WAIT:
        return "a bulk store may still read the buffer";
    case PLAN_DRAIN:
        return "blocks of the cluster may still arrive here";
    default:
        return NULL;
    }
}

int derive_emit(struct derive *d, struct plan_role *role, struct plan_step step)
{
    if (!step.why)
        step.why = reason(&step);
    return d->dry ? 0 : family_add_step(d->work.l->plan, role, step);
}

int derive_refuse(struct derive *d, int op, const char *text)
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
int derive_own(struct derive *d, int place, int node)
{
    d->owner = grown(d, d->owner, &d->owner_count, place);
    if (!d->owner)
        return 3;
    d->owner[plan_number(place)] = node;
    return 0;
}

/* plan_some(place) that holds the node's value now; 0: none. */
int derive_place_of(const struct derive *d, int node)
{
    for (int i = 0; i < d->work.l->plan->place_count && i < d->owner_count; i++)
        if (d->owner[i] == node)
            return plan_some(i);
    return 0;
}

int derive_home_of(const struct derive *d, int node)
{
    return node < d->home_count && d->home[node] > 0 ? d->home[node] : 0;
}

int derive_home(struct derive *d, int node, int place)
{
    d->home = grown(d, d->home, &d->home_count, node + 1);
    if (!d->home)
        return 3;
    d->home[node] = place;
    return 0;
}

static struct plan_place *place_at(const struct derive *d, int place)
{
    return &d->work.l->plan->place[plan_number(place)];
}

static bool reads_whole(const struct expr_graph *g, int node, bool *seen)
{
    if (node < 0 || seen[node])
        return false;
    seen[node] = true;
    const struct expr_node *n = &g->node[node];
    if (n->type == EXPR_REAL || n->op == EXPR_TILE)
        return n->op == EXPR_TILE && n->type == EXPR_INT;
    return reads_whole(g, n->arg[0], seen) || reads_whole(g, n->arg[1], seen) || reads_whole(g, n->arg[2], seen);
}

int derive_refuse_whole(struct derive *d, int op, int node)
{
    bool *seen = plan_alloc(d->work.l->plan, sizeof *seen * (size_t)(d->work.graph.count + 1));
    if (!seen)
        return 3;
    if (d->work.graph.node[node].type != EXPR_INT || !reads_whole(&d->work.graph, node, seen))
        return 0;
    return program_refuse(d->work.l, d->work.program->op[op].loc, "PROGRAM-LOWER",
                          "a tile that is computed from integer sums and kept, or reduced, is held in fp32, which "
                          "holds no integer beyond 2^24; write cast(x, \"fp32\")");
}

/* A new place for a node: rows, or a fragment as wide as `columns`. */
int derive_new_place(struct derive *d, int node, const char *name, int columns)
{
    struct plan *p = d->work.l->plan;
    bool rows = columns == 1;
    struct plan_place place = {.name = plan_text(p, "%s%d", name, p->place_count),
                               .kind = rows ? PLAN_PLACE_ROWS : PLAN_PLACE_FRAGMENT,
                               .dtype = TW_FP32,
                               .rows = d->rows / d->abreast,
                               .cols = columns,
                               .registers = rows ? 2 * d->blocks : d->blocks * columns / 2 / d->warps_n,
                               .shared = -1};
    int number = place.name ? plan_add_place(p, place) : 0;
    return number && derive_home(d, node, number) == 0 ? number : 0;
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

/* A row's divisor becomes a factor: its reciprocal is computed once a row. */
static int build_quotient(struct build *b, const struct expr_node *n)
{
    struct expr_graph *g = &b->d->work.l->plan->fused;
    int dividend = build(b, n->arg[0]), divisor = build(b, n->arg[1]);
    if (b->status)
        return -1;
    return expr_binary(g, EXPR_MUL, dividend, expr_binary(g, EXPR_DIV, expr_real(g, 1.0), divisor));
}

/* A real sum, difference or product one of whose operands is an integer that goes by the column: what is the row's is
 * converted once a row, and the element adds a constant. The product is left as it is: of its two parts one would be
 * NaN where a factor is infinite. -1: it is none. */
static int build_with_column(struct build *b, const struct expr_node *n)
{
    struct work *w = &b->d->work;
    struct expr_graph *g = &w->l->plan->fused;
    if (n->type != EXPR_REAL || (n->op != EXPR_ADD && n->op != EXPR_SUB && n->op != EXPR_MUL) || b->d->placing)
        return -1;
    for (int i = 0; i < 2; i++) {
        int steps, other = n->arg[1 - i];
        int first = w->graph.node[other].type == EXPR_REAL
                        ? derive_column_sum(b->d, b->op, n->arg[i], b->shift - b->d->shift, &steps, &b->status)
                        : 0;
        if (!first)
            continue;
        const int beside = build(b, other), at = plan_number(first);
        if (b->status)
            return -1;
        const int sum = expr_binary(g, EXPR_ADD, at, steps);
        return i == 0 ? expr_binary(g, n->op, sum, beside) : expr_binary(g, n->op, beside, sum);
    }
    return -1;
}

/* A condition that holds in the turns that are walked. Of a list's turns it is known between two ends. */
static bool is_known(const struct derive *d, int node)
{
    if (d->inside[node] && d->behind_low[node])
        return d->unmasked && d->unmasked_low;
    return (d->unmasked && d->inside[node]) || (d->unmasked_low && d->behind_low[node]);
}

static int build(struct build *b, int node);

/* The element's column is below a bound, or `rises`: not below. */
static int compared(struct build *b, int bound, bool rises)
{
    struct expr_graph *g = &b->d->work.l->plan->fused;
    /* Within the tile, so that elements compare in 32 bits. */
    const int least = expr_binary(g, EXPR_MAX, bound, expr_int(g, 0));
    const int within = expr_binary(g, EXPR_MIN, least, expr_int(g, DERIVE_MOST_COLUMN));
    return expr_binary(g, rises ? EXPR_GE : EXPR_LT, expr_leaf(g, EXPR_INDEX, EXPR_INT, PLAN_INDEX_COLUMN), within);
}

/* Conditions that hold together: those on the column with one bound below and one above, plan_some(node), and `rest`,
 * plan_some(node) of the others. */
struct together {
    int bound[2], rest;
};

static void gather(struct build *b, int node, struct together *all)
{
    struct derive *d = b->d;
    struct expr_graph *g = &d->work.l->plan->fused;
    const struct expr_node n = d->work.graph.node[node];
    if (n.op == EXPR_AND && !derive_place_of(d, node) && !is_known(d, node)) {
        gather(b, n.arg[0], all);
        gather(b, n.arg[1], all);
        return;
    }
    for (int rises = 0; rises < 2 && !b->status && !is_known(d, node); rises++) {
        const int bound = derive_column_bound(d, b->op, node, rises, b->shift - d->shift, &b->status);
        int *whole = &all->bound[rises];
        if (bound && *whole)
            *whole = plan_some(expr_binary(g, rises ? EXPR_MAX : EXPR_MIN, plan_number(*whole), plan_number(bound)));
        else if (bound)
            *whole = bound;
        if (bound)
            return;
    }
    const int other = build(b, node);
    if (b->status)
        return;
    all->rest = plan_some(all->rest ? expr_binary(g, EXPR_AND, plan_number(all->rest), other) : other);
}

/* Of conditions that hold together some bound the column so. */
static bool bounds(const struct build *b, int node, bool rises)
{
    struct derive *d = b->d;
    const struct expr_node *n = &d->work.graph.node[node];
    if (n->op == EXPR_AND)
        return bounds(b, n->arg[0], rises) || bounds(b, n->arg[1], rises);
    return derive_is_bounded(d, node, rises);
}

/* A condition on the element's column, as one with a bound; -1: it is none. */
static int build_bound(struct build *b, int node)
{
    struct derive *d = b->d;
    struct expr_graph *g = &d->work.l->plan->fused;
    if (d->placing || !(work_scope(&d->work, node) & WORK_COLUMN))
        return -1;
    /* In turns without the masks of the last ones those of the first may be left. */
    for (int rises = d->unmasked; rises < 2 && !b->status; rises++) {
        const int bound = derive_column_bound(d, b->op, node, rises, b->shift - d->shift, &b->status);
        if (bound)
            return compared(b, plan_number(bound), rises);
    }
    struct together all = {{0}, 0};
    if (d->unmasked || d->work.graph.node[node].op != EXPR_AND || !bounds(b, node, false) || !bounds(b, node, true) ||
        b->status)
        return -1;
    gather(b, node, &all);
    if (b->status || !all.bound[0] || !all.bound[1])
        return -1;
    const int both = expr_binary(g, EXPR_AND, compared(b, plan_number(all.bound[0]), false),
                                 compared(b, plan_number(all.bound[1]), true));
    return all.rest ? expr_binary(g, EXPR_AND, plan_number(all.rest), both) : both;
}

/* A quotient of the row that is the same in all rows of a warp, where each has rows of its own: as one of the warp's
 * number, which is found once and not for each row. -1: it is none, or a row of what a load brings, which any thread
 * may copy. */
static int build_of_warp(struct build *b, const struct expr_node *n)
{
    struct derive *d = b->d;
    struct expr_graph *g = &d->work.l->plan->fused;
    const int rows = WARP_ROWS * d->blocks;
    int64_t by;
    if (!d->synchronous || work_is_load(&d->work.program->op[b->op]) || n->op != EXPR_FLOORDIV ||
        d->work.graph.node[n->arg[0]].op != EXPR_ROW || !expr_is_int(&d->work.graph, n->arg[1], &by) || by < rows ||
        by % rows)
        return -1;
    if (d->rows == rows)
        return expr_int(g, 0);
    return expr_binary(g, EXPR_FLOORDIV, expr_leaf(g, EXPR_INDEX, EXPR_INT, PLAN_INDEX_WARP), expr_int(g, by / rows));
}

/* plan_some(node) of the last place of an integer in memory that goes by both row and column; 0: as it stands. */
static int build_place(struct build *b, int node)
{
    struct work *w = &b->d->work;
    const struct expr_node *n = &w->graph.node[node];
    const int both = WORK_ROW | WORK_COLUMN;
    if (n->type != EXPR_INT || n->rank < 1 || b->d->placing || (work_scope(w, node) & both) != both)
        return 0;
    const int last = w->graph.index[n->first_index + n->rank - 1];
    const struct plan *p = w->l->plan;
    const struct expr_node *extent = &p->graph.node[p->tensor[n->integer].dim[n->rank - 1]];
    if (extent->op != EXPR_SYMBOL && (extent->op != EXPR_CONST_INT || extent->integer > INT32_MAX - DERIVE_MOST_COLUMN))
        return 0; /* as a product of sizes it may have more elements than places of 32 bits reach */
    return derive_column_place(b->d, b->op, last, b->shift - b->d->shift, &b->status);
}

/* The part that remains of a choice or a conjunction whose condition is known to hold; -1: it is no such node. */
static int without_condition(const struct expr_graph *g, const struct expr_node *n)
{
    for (int i = 0; i < 2; i++) {
        const struct expr_node *c = n->arg[i] >= 0 ? &g->node[n->arg[i]] : NULL;
        bool holds = c && c->op == EXPR_CONST_INT && c->type == EXPR_PRED && c->integer;
        if (holds && n->op == EXPR_SELECT && i == 0)
            return n->arg[1];
        if (holds && n->op == EXPR_AND)
            return n->arg[1 - i];
    }
    return -1;
}

/* What the dot that is issued ahead gave is needed behind the next turn's, which has its registers. */
static int refuse_gone(const struct derive *d)
{
    const struct spec_kernel *k = d->work.l->kernel;
    const char *name = d->work.program->op[d->ahead].name;
    int i = 0;
    while (i + 1 < k->ahead_count && strcmp(k->ahead[i].name, name) != 0)
        i++;
    return program_refuse(d->work.l, k->ahead[i].loc, "PROGRAM-AHEAD",
                          "what %s gives is needed behind the next turn's, which has its registers by then; "
                          "leave ahead out",
                          name);
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
    bool placed = n.op == EXPR_TILE || n.op == EXPR_TENSOR || expr_ops[n.op].arity;
    int place = placed ? derive_place_of(d, node) : 0, result;
    if (place) {
        bool whole = place_at(d, place)->dtype == TW_INT32;
        result = expr_leaf(g, EXPR_TILE, whole ? EXPR_INT : EXPR_REAL, plan_number(place));
    } else if (n.op == EXPR_TILE && d->ahead >= 0 && node == w->op[d->ahead].leaf) {
        b->status = refuse_gone(d);
        return -1;
    } else if (n.op == EXPR_TILE) {
        b->status = derive_refuse(d, b->op,
                                  "it needs a tile whose registers were given to another by then; use the tile before");
        return -1;
    } else if ((d->unmasked || d->unmasked_low) && is_known(d, node)) {
        const struct expr_node yes = {.op = EXPR_CONST_INT, .type = EXPR_PRED, .arg = {-1, -1, -1}, .integer = 1};
        result = expr_add(g, &yes);
    } else if (n.op == EXPR_SELECT && d->columns &&
               (result = linear_holds_in(w, n.arg[0], d->column, d->column + d->columns - 1)) >= 0) {
        result = build(b, n.arg[result ? 1 : 2]);
    } else if (n.type == EXPR_PRED && (result = build_bound(b, node)) >= 0) {
        /* An element's column is compared with a number of its row's. */
    } else if (n.op == EXPR_LOOP) {
        bool shifted = b->shift && n.integer == d->around;
        n.integer = d->loop[n.integer];
        result = expr_binary(g, EXPR_ADD, expr_add(g, &n), expr_int(g, shifted ? b->shift : 0));
    } else if (n.op == EXPR_EXP2_DIFF && (work_scope(w, n.arg[0]) & WORK_COLUMN) &&
               !(work_scope(w, n.arg[1]) & WORK_COLUMN)) {
        result = build_difference(b, &n);
    } else if (n.op == EXPR_DIV && n.type == EXPR_REAL && (work_scope(w, n.arg[0]) & WORK_COLUMN) &&
               !(work_scope(w, n.arg[1]) & WORK_COLUMN) && w->graph.node[n.arg[1]].type == EXPR_REAL) {
        result = build_quotient(b, &n);
    } else if (n.op == EXPR_TENSOR) {
        int index[SPEC_MAX_RANK];
        const int narrow = build_place(b, node);
        for (int i = 0; i < n.rank; i++)
            index[i] = narrow && i == n.rank - 1 ? plan_number(narrow) : build(b, w->graph.index[n.first_index + i]);
        result = b->status ? -1 : expr_tensor(g, (int)n.integer, n.type, n.rank, index);
    } else if ((result = build_of_warp(b, &n)) >= 0) {
        /* A warp's rows have it in common. */
    } else if ((result = build_with_column(b, &n)) < 0 && !b->status) {
        for (int i = 0; i < 3; i++)
            n.arg[i] = build(b, n.arg[i]);
        result = b->status ? -1 : without_condition(g, &n);
        result = b->status || result >= 0 ? result : expr_add(g, &n);
    }
    if (result < 0 && !b->status)
        b->status = 3;
    b->memo[node] = result + 1;
    return result;
}

/* plan_some(node of plan.fused) for a node of the work graph with what is in places now. 0: *status says why. */
int derive_built(struct derive *d, int op, int node, int shift, int *status)
{
    struct build b = {.d = d, .shift = shift + d->shift, .op = op, .status = *status};
    b.memo = plan_alloc(d->work.l->plan, sizeof *b.memo * (size_t)(d->work.graph.count + 1));
    if (!b.memo)
        b.status = 3;
    int result = build(&b, node);
    *status = b.status;
    return b.status ? 0 : plan_some(result);
}

/* ---- in flight --------------------------------------------------------------------------------------------------- */

static bool in_flight(const struct derive *d, int group)
{
    for (int i = 0; i < d->flights; i++)
        if (d->flight[i].group == group)
            return true;
    return false;
}

/* Releases stages that no dot reads or will read any more, the oldest of each ring first. */
int derive_release(struct derive *d)
{
    struct plan *p = d->work.l->plan;
    int status = 0;
    for (int r = 0; r < d->ring_count && !status; r++) {
        int unreleased = 0;
        for (int i = 0; i < d->helds; i++)
            unreleased += d->held[i].ring == r;
        for (int i = 0; i < d->helds && !status; i++) {
            const struct derive_held held = d->held[i];
            if (held.ring != r)
                continue;
            if (held.uses > 0 || held.group < 0 || in_flight(d, held.group))
                break; /* of this ring the oldest goes first */
            memmove(&d->held[i], &d->held[i + 1], sizeof *d->held * (size_t)(d->helds - i - 1));
            d->helds--;
            i--;
            if (d->synchronous) /* threads have read it themselves, and the next bulk copy would overtake them */
                status = derive_emit(d, d->consumer,
                                     (struct plan_step){.op = PLAN_FENCE_ASYNC,
                                                        .ring = d->ring[r].number,
                                                        .tensor = -1,
                                                        .call = plan_text(p, "%s_read", d->ring[r].name)});
            if (status)
                break;
            status = derive_emit(d, d->consumer,
                                 (struct plan_step){.op = PLAN_RELEASE,
                                                    .ring = d->ring[r].number,
                                                    .tensor = -1,
                                                    .count = --unreleased,
                                                    .arrivals = d->consumer->warps / d->consumer->instances,
                                                    .back = held.old,
                                                    .loop = held.old ? plan_some(d->loop[d->ring[r].parent]) : 0,
                                                    .call = plan_text(p, "%s_release", d->ring[r].name)});
        }
    }
    return status;
}

/* The stages whose resident operands are in registers by now, behind the fence that keeps the next copy back. */
int derive_give_back(struct derive *d)
{
    struct plan *p = d->work.l->plan;
    int status = 0;
    for (int i = 0; i < d->helds && !status; i++) {
        struct derive_held *held = &d->held[i];
        if (!(d->read >> held->ring & 1))
            continue;
        const struct derive_ring *ring = &d->ring[held->ring];
        const char *name = p->tensor[d->work.program->op[ring->load[0]].tensor].name;
        held->uses = 0;
        held->group = d->groups++; /* a group that is over */
        if (!d->synchronous)       /* else the release of every stage sees to that */
            status = derive_emit(
                d, d->consumer,
                (struct plan_step){
                    .op = PLAN_FENCE_ASYNC, .ring = ring->number, .tensor = -1, .call = plan_text(p, "%s_read", name)});
    }
    bool any = d->read != 0;
    d->read = 0;
    return status || !any ? status : derive_release(d);
}

/* Waits until the flight at `index` and all before it are over. */
int derive_wait(struct derive *d, int index)
{
    int left = d->flights - 1 - index;
    int status = derive_emit(d, d->consumer,
                             (struct plan_step){.op = PLAN_MMA_WAIT,
                                                .ring = -1,
                                                .tensor = -1,
                                                .count = left,
                                                .call = plan_text(d->work.l->plan, "mma_wait_%d", left)});
    memmove(d->flight, d->flight + index + 1, sizeof *d->flight * (size_t)left);
    d->flights = left;
    status = status || d->later ? status : derive_release(d);
    return status ? status : derive_give_back(d);
}

/* Nothing in flight writes or reads the registers. */
int derive_land(struct derive *d, int place)
{
    for (int i = d->flights - 1; i >= 0; i--)
        if (d->flight[i].dot >= 0 &&
            (d->dot[d->flight[i].dot].place == place || d->dot[d->flight[i].dot].operand == place))
            return derive_wait(d, i);
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

/* The touches of a pass: of what it reads, then of what it writes, which carries the expression. Before them the waits.
 */
int derive_pass(struct derive *d, struct plan_step step)
{
    struct plan *p = d->work.l->plan;
    bool *read = plan_alloc(p, sizeof *read * (size_t)(p->place_count + 1));
    bool *seen = plan_alloc(p, sizeof *seen * (size_t)(p->fused.count + 1));
    if (!read || !seen)
        return 3;
    places_read(&p->fused, plan_number(step.node), read, seen);
    int status = step.place ? derive_land(d, step.place) : 0;
    for (int i = 0; i < p->place_count && !status; i++)
        if (read[i])
            status = derive_land(d, plan_some(i));
    for (int i = 0; i < p->place_count && !status; i++)
        if (read[i] && plan_some(i) != step.place && p->place[i].kind != PLAN_PLACE_ROWS &&
            p->place[i].kind != PLAN_PLACE_COLUMNS)
            status = derive_emit(d, d->consumer,
                                 (struct plan_step){.op = PLAN_TOUCH, .ring = -1, .tensor = -1, .place = plan_some(i)});
    step.ring = -1;
    if (step.op != PLAN_TOUCH)
        return status;
    step.tensor = -1;
    return status ? status : derive_emit(d, d->consumer, step);
}

/* True where the node is the value that lies in the place already. */
static bool is_there(const struct derive *d, int node, int place)
{
    const struct expr_node *n = &d->work.l->plan->fused.node[plan_number(node)];
    return n->op == EXPR_TILE && n->integer == plan_number(place);
}

/* The turn that is walked may need no masks, and then the node is what lies in the place already. */
static bool may_be_there(struct derive *d, int op, int node, int place, int *status)
{
    bool *without = d->cut_low ? &d->unmasked_low : &d->unmasked;
    if (!d->cut || *without)
        return false;
    *without = true;
    int plain = derive_built(d, op, node, 0, status);
    *without = false;
    return !*status && is_there(d, plain, place);
}

int derive_release_late(struct derive *d)
{
    const bool later = d->later;
    d->later = false;
    return later ? derive_release(d) : 0;
}

/* What masks alone choose of, in turns with and without them. */
static int evaluate_apart(struct derive *d, int op, int node, int place)
{
    const struct expr_node n = d->work.graph.node[node];
    int status = 0;
    if (!d->apart || n.op != EXPR_SELECT || derive_place_of(d, n.arg[1]))
        return 0;
    d->unmasked = true;
    const int asked = derive_built(d, op, n.arg[0], 0, &status);
    d->unmasked = false;
    int64_t holds = 0;
    if (status || !expr_is_int(&d->work.l->plan->fused, plan_number(asked), &holds) || !holds)
        return status;
    return derive_evaluate(d, op, n.arg[1], place);
}

/* Computes `node` of the work graph into the place. */
int derive_evaluate(struct derive *d, int op, int node, int place)
{
    int status = evaluate_apart(d, op, node, place), expression = derive_built(d, op, node, 0, &status);
    d->later = d->later || (node < d->shared_count && d->part[node] && !d->synchronous);
    if (status)
        return status;
    bool cut = !is_there(d, expression, place) && may_be_there(d, op, node, place, &status);
    if (cut && !status)
        status = derive_land(d, place);
    if (cut && !status)
        status = derive_emit(
            d, d->consumer,
            (struct plan_step){
                .op = PLAN_WHEN, .ring = -1, .tensor = -1, .node = d->cut, .call = d->cut_low ? "mask_low" : "mask"});
    if (!status && !is_there(d, expression, place))
        status = derive_pass(
            d, (struct plan_step){.op = PLAN_TOUCH, .place = place, .node = expression, .call = "evaluate"});
    if (cut && !status)
        status = derive_emit(d, d->consumer, (struct plan_step){.op = PLAN_END, .ring = -1, .tensor = -1});
    status = status ? status : derive_release_late(d);
    return status ? status : derive_own(d, place, node);
}

/* True where `root`, as far as it is not in places yet, needs the value `what` other than through `via`. */
static bool needs(const struct derive *d, int root, int what, int via, bool *seen)
{
    if (root < 0 || root == via || seen[root])
        return false;
    if (root == what)
        return true;
    seen[root] = true;
    if (derive_place_of(d, root))
        return false;
    for (int i = 0; i < 3; i++)
        if (needs(d, d->work.graph.node[root].arg[i], what, via, seen))
            return true;
    return false;
}

bool derive_needs(struct derive *d, int root, int what, int via, int *status)
{
    bool *seen = plan_alloc(d->work.l->plan, sizeof *seen * (size_t)(d->work.graph.count + 1));
    if (!seen)
        *status = 3;
    return !seen || needs(d, root, what, via, seen);
}

/* Operations from `op` on take the value `what` other than through `via`. */
static bool is_needed(struct derive *d, int op, int what, int via, int *status)
{
    for (int u = 0; u < d->use_count; u++)
        if (d->use[u].op >= op && !d->done[d->use[u].op] && derive_needs(d, d->use[u].root, what, via, status))
            return true;
    return false;
}

/* An accumulator that `node` is computed from and that nobody needs any more; 0: none. Carried ones stay. */
static int free_accumulator(struct derive *d, int op, int root, int node, bool *seen, int *status)
{
    if (node < 0 || seen[node] || *status)
        return 0;
    seen[node] = true;
    int place = derive_place_of(d, node);
    if (place && node != root) {
        const struct plan_place *q = place_at(d, place);
        if (q->kind != PLAN_PLACE_ACCUMULATOR && q->kind != PLAN_PLACE_FRAGMENT)
            return 0;
        if ((q->dtype == TW_INT32) != (d->work.graph.node[root].type == EXPR_INT))
            return 0;
        for (int i = 0; i < d->work.program->op_count; i++) {
            const struct program_op *o = &d->work.program->op[i];
            if (o->kind == PROGRAM_PARAM && derive_home_of(d, d->work.op[i].leaf) == place)
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
    int most = 1, place = derive_place_of(d, node);
    if (place) {
        enum plan_place_kind kind = place_at(d, place)->kind;
        return kind == PLAN_PLACE_ROWS || kind == PLAN_PLACE_COLUMNS ? 1 : place_at(d, place)->cols;
    }
    for (int i = 0; i < 3; i++) {
        int columns = columns_of(d, d->work.graph.node[node].arg[i], seen);
        most = columns > most ? columns : most;
    }
    return most;
}

/* There are registers for another fragment beside the places that are there, and for what computes with it. Where a
 * loop keeps its value it has no choice. */
static bool has_room(const struct derive *d, int op, int columns)
{
    const struct plan *p = d->work.l->plan;
    int stores = 0;
    for (int i = 0; i < d->work.program->op_count; i++)
        stores += work_is_store(&d->work.program->op[i]);
    int taken = BESIDE_PLACES + d->blocks * columns / 2 / d->warps_n + d->stored;
    taken += p->mma_count == 1 && stores > 1 ? BESIDE_STORES : 0;
    for (int i = 0; i < p->place_count; i++)
        taken += p->place[i].kind == PLAN_PLACE_ROWS ? 0 : p->place[i].registers;
    return d->work.op[op].parent >= 0 || taken <= d->registers;
}

/* Gives a shared node its place; none where it would not fit: each operation then computes it again. */
static int keep(struct derive *d, int op, int node)
{
    struct plan *p = d->work.l->plan;
    int place = derive_home_of(d, node), status = 0;
    if (!place && d->in_memory && (work_scope(&d->work, node) & WORK_COLUMN)) {
        d->shared[node] = false;
        return 0;
    }
    if (!place && (work_scope(&d->work, node) & WORK_COLUMN)) {
        bool *seen = plan_alloc(p, sizeof *seen * (size_t)(d->work.graph.count + 1));
        bool *again = plan_alloc(p, sizeof *seen * (size_t)(d->work.graph.count + 1));
        if (!seen || !again)
            return 3;
        place = free_accumulator(d, op, node, node, seen, &status);
        int columns = place || status ? 0 : columns_of(d, node, again);
        bool of_columns = columns == 1; /* of no fragment: the same in all rows, there is no place for it */
        if (of_columns || (columns && !has_room(d, op, columns))) {
            d->shared[node] = false;
            return 0;
        }
        if (columns && !status)
            status = derive_refuse_whole(d, op, node);
        if (columns && !status)
            place = derive_new_place(d, node, "copy", columns);
        else if (place && !status)
            status = derive_home(d, node, place);
    } else if (!place) {
        place = derive_new_place(d, node, "row", 1);
    }
    if (status || !place)
        return status ? status : 3;
    return derive_evaluate(d, op, node, place);
}

/* Computes every shared node of `root` that is in no place yet, operands first. */
int derive_prepare(struct derive *d, int op, int root)
{
    int count = d->work.graph.count, status = derive_early_make(d, op);
    bool *reached = plan_alloc(d->work.l->plan, sizeof *reached * (size_t)(count + 1));
    if (!reached)
        return 3;
    if (root >= 0)
        reached[root] = true;
    for (int node = root; node >= 0; node--)
        for (int a = 0; a < 3 && reached[node] && !derive_place_of(d, node); a++)
            if (d->work.graph.node[node].arg[a] >= 0)
                reached[d->work.graph.node[node].arg[a]] = true;
    for (int node = 0; node <= root && !status; node++)
        if (reached[node] && node < d->shared_count && d->shared[node] && !derive_place_of(d, node))
            status = keep(d, op, node);
    return status;
}
