/* Tiles that stay in registers from one loop to the next.
 *
 * Loops that follow each other over the same range, and load the same tile in the same turn, need it from memory once:
 * the tiles of the first turns get places of their own, and the turns behind them load again. The first loop loads all
 * that it keeps before it reads any of it. Only loads that depend on nothing but the loop's variable, of tensors that
 * the program does not write, in loops whose threads do not wait for each other within a turn. */
#include "lower/direct/direct.h"

/* Registers of a thread for tiles that stay. Elements that move alone need conditions of their own: fewer of them. */
enum { KEEP_VECTORS = 64, KEEP_ELEMENTS = 32, KEEP_SEVERAL = 32, KEEP_TURNS = 8 };

static bool same_range(const struct direct *d, int a, int b)
{
    return d->op[a].loop && d->op[a].loop == d->op[b].loop;
}

bool direct_is_plain(const struct direct *d, int loop)
{
    for (int i = loop + 1; i < d->program->op[loop].end; i++) {
        enum program_kind kind = d->program->op[i].kind;
        if (kind == PROGRAM_LOOP || (kind == PROGRAM_TRANSPOSE && !d->op[i].vector) || kind == PROGRAM_GATHER ||
            kind == PROGRAM_RANK || kind == PROGRAM_SEGMENT || (kind == PROGRAM_REDUCE && !d->op[i].part))
            return false;
    }
    return true;
}

static bool is_written(const struct direct *d, int tensor)
{
    for (int i = 0; i < d->program->op_count; i++) {
        enum program_kind kind = d->program->op[i].kind;
        if (d->program->op[i].tensor == tensor &&
            (kind == PROGRAM_STORE || kind == PROGRAM_STORE_ADD || kind == PROGRAM_SCATTER_ADD))
            return true;
    }
    return false;
}

static bool same_tile(struct direct *d, int a, int b)
{
    const struct program_op *x = &d->program->op[a], *y = &d->program->op[b];
    if (y->kind != PROGRAM_LOAD || x->tensor != y->tensor || x->tile.rows != y->tile.rows ||
        x->tile.columns != y->tile.columns || d->op[a].aside || d->op[b].aside || x->tile.columns == 1)
        return false;
    for (int i = 0; i < d->plan->tensor[x->tensor].rank; i++) {
        const struct program_coordinate *p = &x->at[i], *q = &y->at[i];
        if (p->length != q->length || p->column != q->column || (p->limit < 0) != (q->limit < 0) ||
            direct_value(d, p->start) != direct_value(d, q->start) ||
            (p->length && p->limit >= 0 && direct_value(d, p->limit) != direct_value(d, q->limit)))
            return false;
    }
    return true;
}

static bool reads_tiles(const struct expr_graph *g, int node)
{
    const struct expr_node *n = &g->node[node];
    bool reads = n->op == EXPR_TILE;
    for (int i = 0; i < 3 && !reads; i++)
        reads = n->arg[i] >= 0 && reads_tiles(g, n->arg[i]);
    for (int i = 0; n->op == EXPR_TENSOR && i < n->rank && !reads; i++)
        reads = reads_tiles(g, g->index[n->first_index + i]);
    return reads;
}

bool direct_is_free(const struct direct *d, int load)
{
    const struct program_op *o = &d->program->op[load];
    bool fine = true;
    for (int i = 0; i < d->plan->tensor[o->tensor].rank; i++)
        fine = fine && !reads_tiles(d->program->graph, o->at[i].start);
    return fine;
}

static int registers_of(const struct direct *d, int load)
{
    const struct program_tile *tile = &d->program->op[load].tile;
    int bytes = tile->rows * tile->columns * (int)tw_dtype_bytes(tile->dtype) / d->threads;
    return d->vector > 1 ? (bytes + 3) / 4 : tile->rows * tile->columns / d->threads;
}

/* The first loop before this one with its range, in the same body, that could keep tiles; -1: none. */
static int first_of(const struct direct *d, int loop)
{
    for (int i = 0; i < loop; i++)
        if (d->program->op[i].kind == PROGRAM_LOOP && d->program->op[i].end < loop && same_range(d, i, loop) &&
            d->program->op[i].depth == d->program->op[loop].depth)
            return i;
    return -1;
}

void direct_keep(struct direct *d, int loop, struct direct_keep *keep)
{
    const struct program *p = d->program;
    int before = first_of(d, loop), first = before < 0 ? loop : before;
    *keep = (struct direct_keep){.first = first};
    if (p->op[loop].depth || p->op[loop].list >= 0 || !d->op[loop].plain || !d->op[first].plain)
        return;
    int registers = 0;
    for (int i = first + 1; i < p->op[first].end; i++) {
        bool again = false;
        if (p->op[i].kind != PROGRAM_LOAD || is_written(d, p->op[i].tensor) || !direct_is_free(d, i) || d->op[i].picks)
            continue;
        for (int l = first + 1; l < p->op_count; l++)
            for (int o = l + 1; p->op[l].kind == PROGRAM_LOOP && same_range(d, first, l) && o < p->op[l].end; o++)
                again = again || (same_tile(d, i, o));
        if (again && keep->load_count < 8) {
            keep->load[keep->load_count++] = i;
            registers += registers_of(d, i);
        }
    }
    if (!keep->load_count || !registers)
        return;
    /* Tiles of several rows are for rows that are short. */
    bool several = p->op[keep->load[0]].tile.rows > 1;
    int most = (d->vector == 1 ? KEEP_ELEMENTS : several ? KEEP_SEVERAL : KEEP_VECTORS) / registers;
    keep->turns = most < KEEP_TURNS ? most : KEEP_TURNS;
    const struct plan_loop *l = &d->plan->loop[plan_number(d->op[loop].loop)];
    int64_t from, to;
    if (expr_is_int(&d->plan->fused, l->from, &from) && expr_is_int(&d->plan->fused, l->to, &to)) {
        int64_t trips = to > from ? (to - from + l->step - 1) / l->step : 0;
        keep->all = trips <= keep->turns;
        keep->turns = keep->all ? (int)trips : keep->turns;
    }
    if (keep->turns < 2 && !keep->all) /* one turn of many is not worth a body of its own */
        keep->turns = 0;
}

int direct_kept(struct direct *d, const struct direct_keep *keep, const int *kept, int load)
{
    for (int i = 0; i < keep->load_count; i++)
        if (kept[keep->load[i]] && same_tile(d, keep->load[i], load))
            return kept[keep->load[i]];
    return 0;
}
