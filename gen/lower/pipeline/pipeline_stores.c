/* Registers that a store's arithmetic takes beside the sums that it begins with, where warpgroups hold them, and so how
 * many columns it takes at a time.
 *
 * Of a chunk the compiler hoists what it can: all loads, and what both of a thread's rows need of a column, are under
 * way together, up to the last register and then beyond it, and nothing in the text holds it back but a chunk of fewer
 * columns. The weights below say what is live then, for a chunk of so many columns. Of seeds 1 to 178 of the random
 * specs (tests/emu/random/random_gemm.c) ptxas 13.0 spilled 19 on sm_90a, all of whose chunks had 128 bytes: 18 of the
 * 39 that were above the budget by what they read and hold of columns, and one for what its outputs have in common.
 * tests/bench/results/random_specs.json has what is left of that.
 */
#include <stdint.h>
#include <stdio.h>

#include "lower/pipeline/pipeline.h"

/* Registers of a thread for each 8 columns: what there is of a column, and of a place. */
enum { OF_PAIR = 1, OF_COLUMN = 2, OF_ADDRESS = 4, OF_PLACE = 4 };

enum {
    OTHER_REGISTERS = 24, /* addresses, descriptors, places of the item */
    SPARE = 8,            /* left by a chunk that is smaller for the sake of registers */
    LOOSE = 32,        /* so many more are no reason to refuse a chunk that cannot be smaller: few of these spill, but
                          for those that read integers, and those of three consumers, who have few registers */
    OF_INTEGERS = 24,  /* of a store that reads integers: they are widened, and converted, all of a chunk together */
    OF_UNROLLED = 32,  /* of one that is unrolled and makes something of rows or columns: of all chunks together */
    OF_STORES = 8,     /* of each store beyond the second */
    OF_SHARES = 32,    /* of blocks that have shares of items: where a part of one begins, with what is spare */
    STORES = 31,       /* of a program; what further ones share is not looked at */
    NARROW_BYTES = 32, /* of a row of a chunk: the narrowest that the Plan chooses by itself */
};

/* ---- what is held ------------------------------------------------------------------------------------------------ */

/* What the arithmetic of one store holds. */
struct pipeline_store {
    int each;         /* registers for each 8 columns, of two rows */
    int column;       /* of them those that rows have in common */
    int places;       /* and those of integers that depend on both, which only unrolled chunks hold */
    int rows;         /* for what depends on the row alone */
    int tensors;      /* that it reads by row */
    int functions;    /* of what differs between elements */
    bool stands_once; /* its chunks are a loop; else they are unrolled */
    bool rows_too;    /* it takes values of rows beside sums */
    bool integers;    /* it reads a tensor of integers */
    bool bare;        /* it stores what the dot gives, at most rounded */
    uint32_t shares;  /* of which stores, as bits, it has arithmetic on sums */
};

struct walk {
    struct work *work;
    const struct plan *plan;
    bool aligned; /* neighbours come as words: not in mma.sync's variant for rows of any alignment */
    struct pipeline_store *store;
    uint32_t *seen, bit; /* by node: the stores that came to it, this one being `bit` */
};

/* Bit of work_scope that the index counts along, beside an item's first place; 0: it is another one. */
static int counts(const struct expr_graph *g, int node)
{
    const struct expr_node *n = &g->node[node];
    for (int i = 0; n->op == EXPR_ADD && i < 2; i++) {
        const struct expr_node *from = &g->node[n->arg[i]], *within = &g->node[n->arg[1 - i]];
        if (from->op == EXPR_AT && (within->op == EXPR_ROW || within->op == EXPR_COLUMN))
            return within->op == EXPR_ROW ? WORK_ROW : WORK_COLUMN;
    }
    return 0;
}

/* Words of a pair where the element is read with its neighbour (plan/reads.h): one of 16-bit neighbours in memory, else
 * two; 0: it is read alone. */
static int words_of_pair(const struct walk *w, const struct expr_node *n)
{
    const struct expr_graph *g = &w->work->graph;
    int columns = 0, along = 0;
    for (int d = 0; d < n->rank; d++) {
        along = counts(g, g->index[n->first_index + d]);
        if (!along)
            return 0;
        columns += along == WORK_COLUMN;
    }
    if (n->type != EXPR_REAL || columns != 1)
        return 0;
    return w->aligned && along == WORK_COLUMN && tw_dtype_bytes(w->plan->tensor[n->integer].dtype) == 2 ? 1 : 2;
}

/* Registers for places in memory: each column has an address of its own where columns do not run along the last index;
 * else a place, where that index is computed. */
static int of_addresses(const struct walk *w, const struct expr_node *n)
{
    const struct expr_graph *g = &w->work->graph;
    int registers = 0;
    for (int d = 0; d < n->rank; d++) {
        int index = g->index[n->first_index + d];
        bool column = (work_scope(w->work, index) & WORK_COLUMN) != 0, last = d + 1 == n->rank;
        if (column && !last)
            registers = OF_ADDRESS;
        else if (column && counts(g, index) != WORK_COLUMN && !registers)
            registers = OF_COLUMN / 2;
    }
    return registers;
}

/* A function of what differs between elements. By what does not differ a quotient is a product. */
static bool is_function(const struct walk *w, const struct expr_node *n, int scope)
{
    int by = n->op == EXPR_DIV ? work_scope(w->work, n->arg[1]) : scope;
    return expr_ops[n->op].rule == EXPR_REALS && scope != WORK_UNIFORM && by != WORK_UNIFORM;
}

/* An integer of columns that is divided by another: the way there is long, and is gone for all columns at once. */
static bool divides(const struct walk *w, const struct expr_node *n, int scope)
{
    bool whole = n->op == EXPR_FLOORDIV || n->op == EXPR_MOD;
    return whole && scope == WORK_COLUMN && work_scope(w->work, n->arg[1]) != WORK_UNIFORM;
}

static bool made_of_both(const struct expr_node *n, int scope)
{
    return n->type == EXPR_INT && n->arg[0] >= 0 && scope == (WORK_ROW | WORK_COLUMN);
}

/* `above`: the scope of what takes the node. What depends on the column alone, or the row alone, is made once for both
 * rows, or for all columns, and held. */
static void visit(struct walk *w, int node, int above)
{
    const struct expr_node *n = &w->work->graph.node[node];
    int scope = work_scope(w->work, node), element = n->op == EXPR_TENSOR;
    bool made = scope != above && (element || n->arg[0] >= 0) && !counts(&w->work->graph, node);
    if (w->seen[node] & w->bit)
        return;
    if (scope == (WORK_ROW | WORK_COLUMN) && n->arg[0] >= 0)
        w->store->shares |= w->seen[node];
    w->seen[node] |= w->bit;
    w->store->functions += is_function(w, n, scope);
    w->store->stands_once = w->store->stands_once || element || is_function(w, n, scope);
    if (n->op == EXPR_TILE)
        w->store->rows_too = w->store->rows_too || w->work->program->op[n->integer].tile.columns == 1;
    if (divides(w, n, scope))
        w->store->column += OF_COLUMN;
    int words = element ? words_of_pair(w, n) : 0;
    if (element) {
        w->store->column += of_addresses(w, n);
        w->store->tensors += (scope & WORK_ROW) != 0;
        w->store->integers = w->store->integers || n->type == EXPR_INT;
    }
    if (words)
        *(scope & WORK_ROW ? &w->store->each : &w->store->column) += words * OF_PAIR * (scope & WORK_ROW ? 2 : 1);
    else if (element && scope == (WORK_ROW | WORK_COLUMN)) /* integers have 64 bits until they are used */
        w->store->each += n->type == EXPR_INT ? 2 * OF_PLACE : OF_PLACE;
    else if (made && scope == WORK_COLUMN)
        w->store->column += n->type == EXPR_PRED             ? OF_COLUMN / 2
                            : element && n->type == EXPR_INT ? 2 * OF_COLUMN
                                                             : OF_COLUMN;
    else if (made && scope == WORK_ROW)
        w->store->rows += 2;
    else if (made_of_both(n, scope))
        w->store->places += 2 * OF_PLACE;
    for (int i = 0; i < 3; i++)
        if (n->arg[i] >= 0)
            visit(w, n->arg[i], scope);
    for (int d = 0; element && !words && d < n->rank; d++)
        visit(w, w->work->graph.index[n->first_index + d], WORK_ROW | WORK_COLUMN);
}

/* What the arithmetic holds beside places where it stands there for all rows and columns that a thread has. Warps of
 * mma.sync read and write a row at a time, and have addresses of all rows. */
static int of_whole_rows(const struct pipeline *x, int op)
{
    const struct pipeline_store *s = &x->store[op];
    bool turned;
    int columns = work_stored(&x->d.work, &x->program->op[op], &turned)->columns / x->d.warps_n;
    if (x->d.synchronous)
        return (s->column + (turned ? OF_ADDRESS : 0)) * columns / 8 +
               (s->rows + OF_ADDRESS * (s->tensors + 1)) * x->d.blocks;
    return (s->each + s->column + s->places) * columns / 8 + s->rows;
}

int pipeline_stores(struct pipeline *x)
{
    struct plan *p = x->plan;
    int stores = 0, count = x->program->op_count;
    uint32_t *seen = plan_alloc(p, sizeof *seen * ((size_t)x->d.work.graph.count + 1));
    x->store = plan_alloc(p, sizeof *x->store * ((size_t)count + 1)); /* the last: of all of them together */
    x->d.once = plan_alloc(p, sizeof *x->d.once * ((size_t)count + 1));
    if (!seen || !x->store || !x->d.once)
        return 3;
    for (int i = 0; i < count && stores < STORES; i++) {
        if (!work_is_store(&x->program->op[i]) || x->program->op[i].arg[0].columns == 1)
            continue;
        struct walk w = {&x->d.work,   p,    x->l->variant == 0 || !x->d.synchronous,
                         &x->store[i], seen, (uint32_t)1 << stores++};
        visit(&w, x->d.work.op[i].arg[0], WORK_ROW | WORK_COLUMN);
        int root = x->d.work.op[i].arg[0];
        while (x->d.work.graph.node[root].op == EXPR_CAST)
            root = x->d.work.graph.node[root].arg[0];
        x->store[i].bare = x->d.work.graph.node[root].op == EXPR_TILE;
        w.store = &x->store[count];
        w.bit = (uint32_t)1 << STORES;
        visit(&w, x->d.work.op[i].arg[0], WORK_ROW | WORK_COLUMN);
        int whole = p->mma_count == 1 ? of_whole_rows(x, i) : 0;
        if (x->d.synchronous) /* one after the other, all of them unrolled */
            x->d.stored += whole;
        else if (whole > x->d.stored)
            x->d.stored = whole;
    }
    return 0;
}

/* ---- chunks ------------------------------------------------------------------------------------------------------ */

/* Registers of accumulators that hold nothing behind their loop: nobody carries on what the dot gives as it is. */
static int gone(const struct pipeline *x, int store)
{
    int sum = 0;
    for (int i = 0; i < x->program->op_count; i++) {
        if (x->program->op[i].kind != PROGRAM_DOT || x->d.work.op[i].parent < 0 || x->d.work.op[store].parent >= 0)
            continue;
        bool carried = false;
        for (int k = 0; k < x->program->op_count; k++) {
            const enum program_kind kind = x->program->op[k].kind;
            carried = carried || ((kind == PROGRAM_PARAM || kind == PROGRAM_RESULT) &&
                                  derive_home_of(&x->d, x->d.work.op[k].leaf) == x->d.dot[i].place);
        }
        sum += carried ? 0 : x->plan->place[plan_number(x->d.dot[i].place)].registers;
    }
    return sum;
}

/* Beside what all places hold: a chunk of what the arithmetic reads, a copy of its sums where chunks are a loop, half
 * of it packed. Chunks that are unrolled have values in common with those of another store. only: the item's only
 * chunk; once: its chunks are a loop, whatever it takes. */
static int held(const struct pipeline *x, int op, int columns, bool only, bool once)
{
    const struct pipeline_store *s = &x->store[op];
    if (x->d.in_memory) { /* a chunk of each sum comes into registers */
        int sums = 0;
        for (int i = 0; i < x->plan->place_count; i++)
            sums += x->plan->place[i].kind == PLAN_PLACE_ACCUMULATOR;
        return OTHER_REGISTERS + (s->integers ? OF_INTEGERS : 0) + columns / 4 + sums * columns / 2 +
               (s->each + s->column) * columns / 8 + s->rows;
    }
    bool loop = (s->stands_once || once) && !only;
    int sum = pipeline_registers_taken(x) - gone(x, op) + OTHER_REGISTERS + columns / 4;
    int one = (s->each + s->column) * columns / 8;
    sum += s->integers ? OF_INTEGERS : 0;
    for (int i = 0, stores = 0; i < x->program->op_count; i++)
        if (work_is_store(&x->program->op[i]) && x->program->op[i].arg[0].columns > 1 && ++stores > 2)
            sum += OF_STORES;
    if (loop || only)
        return sum + one + s->rows + (loop ? columns / 2 : 0);
    for (uint32_t shares = s->shares; shares; shares &= shares - 1)
        sum += x->plan->place[0].registers;
    return sum + of_whole_rows(x, op) + (s->column + s->rows + s->places > 0 ? OF_UNROLLED : 0);
}

int pipeline_beside_late(const struct pipeline *x, int op, int width)
{
    const struct pipeline_store *s = &x->store[op];
    const bool makes = s->column + s->rows + s->places + s->each > 0;
    /* A sum that is packed is free, and its results take half of it: no more is held of both than behind them. */
    const int packing = width / 4 + of_whole_rows(x, op) + (makes ? OF_UNROLLED : 0) - x->plan->place[0].registers / 2;
    /* Of several functions ptxas 13.0 has those of many elements under way together, and spills: of 60 random specs one
     * that had two. */
    return PIPELINE_BESIDE_LATE + (packing > 0 ? packing : 0) + (s->functions > 1 ? OF_UNROLLED : 0);
}

static int budget_of(const struct pipeline *x)
{
    return x->d.in_memory ? pipeline_even_share(x) : pipeline_consumer_registers(x);
}

static int columns_of_all(const struct pipeline *x, int op)
{
    bool turned;
    return work_stored(&x->d.work, &x->program->op[op], &turned)->columns * x->d.blocks;
}

bool pipeline_chunk_fits(const struct pipeline *x, int op, int columns)
{
    const bool only = columns == columns_of_all(x, op), may_loop = !x->d.in_memory && !only;
    if (x->plan->mma_count > 1 && !x->d.in_memory) /* what of several sums is there at the end is not known */
        return true;
    return held(x, op, columns, only, false) <= budget_of(x) ||
           (may_loop && held(x, op, columns, only, true) <= budget_of(x));
}

/* A sum that is stored as it is is free once it is packed. Where all of a thread's places are one address and constants
 * (plain: no swizzle), no more is held than behind their loop; under a swizzle ptxas 13.0 spilled what it holds of the
 * item, of 2 x 192 columns. Of two blocks of rows it spilled with any arithmetic from 2 x 160 on. */
bool pipeline_whole_fits(struct pipeline *x, int op, int columns, bool plain)
{
    const struct pipeline_store *s = &x->store[op];
    const bool packed = plain && s->bare && !x->d.in_memory && x->plan->mma_count == 1;
    if (!packed && x->d.blocks == 1)
        return pipeline_chunk(x, op, columns, columns / 2) == columns;
    if (!s->bare || x->d.in_memory || x->plan->mma_count > 1)
        return false;
    bool shares = false;
    for (int i = 0; i < x->program->op_count; i++)
        shares =
            shares || (x->program->op[i].kind == PROGRAM_LOOP && (x->program->op[i].stream || x->program->op[i].parts));
    const int taken = packed ? pipeline_registers_taken(x) + OTHER_REGISTERS + (shares ? OF_SHARES : SPARE)
                             : held(x, op, columns, false, false);
    if (taken > budget_of(x))
        return false;
    x->held = taken > x->held ? taken : x->held;
    return true;
}

int pipeline_chunk(struct pipeline *x, int op, int columns, int least)
{
    const struct plan_tensor *t = &x->plan->tensor[x->program->op[op].tensor];
    int all = columns_of_all(x, op), chunk = columns, budget = budget_of(x), natural;
    const bool *once = &x->d.once[op];
    /* Of narrower chunks, which the spec's swizzle asks for, the compiler has two and more on their way. */
    const int narrow = NARROW_BYTES / (int)tw_dtype_bytes(t->dtype), wide = columns < narrow ? narrow / columns : 1;
    if (x->plan->mma_count > 1 && !x->d.in_memory) /* what of several sums is there at the end is not known */
        return columns;
    natural = held(x, op, columns * wide, columns == all, *once);
    if (natural > budget && !x->store[op].stands_once && !x->d.in_memory && columns < all) {
        x->d.once[op] = true;
        family_reason(x->plan, plan_text(x->plan, "%s.chunks", t->name), "a loop",
                      "unrolled, they would hold about %d registers, of what all columns have and other stores have in "
                      "common, and a thread has %d",
                      natural, budget);
        natural = held(x, op, columns * wide, columns == all, *once);
    }
    while (held(x, op, chunk, chunk == all, *once) > budget - (chunk < columns ? SPARE : 0) && chunk % 2 == 0 &&
           chunk / 2 >= least)
        chunk /= 2;
    int taken = held(x, op, chunk * wide, chunk == all, *once);
    bool loose = x->d.consumers < 3 && !x->store[op].integers;
    if (loose && taken > budget && taken <= budget + LOOSE)
        taken = budget;
    x->held = taken > x->held ? taken : x->held;
    if (chunk < columns) {
        char value[40];
        snprintf(value, sizeof value, "%d columns", chunk);
        family_reason(x->plan, plan_text(x->plan, "%s.chunk", t->name), value,
                      "with %d its arithmetic would hold about %d registers, and a thread has %d", columns, natural,
                      budget);
    }
    return chunk;
}

/* ---- slabs ------------------------------------------------------------------------------------------------------- */

/* A warp of mma.sync stores a row's columns at a time, of all outputs, in a loop over its rows: what depends on the
 * column alone is made before that loop. A place in memory that columns do not run along is an address for each column.
 */
int pipeline_slab(const struct pipeline *x, bool *whole)
{
    const struct pipeline_store *all = &x->store[x->program->op_count];
    int addresses = 0;
    *whole = all->rows_too;
    for (int i = 0; i < x->program->op_count && x->plan->mma_count == 1; i++) {
        bool turned;
        if (!work_is_store(&x->program->op[i]) || x->program->op[i].arg[0].columns == 1)
            continue;
        work_stored(&x->d.work, &x->program->op[i], &turned);
        addresses += turned ? OF_ADDRESS : 0;
    }
    if ((!all->stands_once && !addresses) || x->plan->mma_count > 1) /* nothing is on its way, or it is not known */
        return 0;
    return OF_COLUMN + all->each / 2 + all->column + addresses;
}
