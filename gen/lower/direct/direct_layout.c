/* Vectors, threads and layouts. */
#include "lower/direct/direct.h"

#include <stdlib.h>
#include <string.h>

/* ---- uses -------------------------------------------------------------------------------------------------------- */

/* Marks the node; the least of those that are. */
static int reach(bool *reached, int node, int least)
{
    reached[node] = true;
    return node < least ? node : least;
}

/* Marks the nodes that the root needs, and counts it as a use of each operation whose tile is among them. */
static void use(const struct program *p, struct direct_op *op, bool *reached, int root, bool turned)
{
    const struct expr_graph *g = p->graph;
    if (root < 0)
        return;
    memset(reached, 0, (size_t)root);
    reached[root] = true;
    for (int i = root, least = root; i >= least; i--) {
        const struct expr_node *n = &g->node[i];
        if (!reached[i])
            continue;
        for (int a = 0; a < 3; a++)
            if (n->arg[a] >= 0)
                least = reach(reached, n->arg[a], least);
        for (int a = 0; n->op == EXPR_TENSOR && a < n->rank; a++)
            least = reach(reached, g->index[n->first_index + a], least);
        if (n->op == EXPR_TILE) {
            op[n->integer].uses++;
            op[n->integer].turned += turned;
        }
    }
}

static bool reaches_column(const struct program *p, const struct direct_op *op, const bool *reached, int root)
{
    for (int i = 0; i <= root; i++)
        if (reached[i] && p->graph->node[i].op == EXPR_TILE && op[p->graph->node[i].integer].vector)
            return true;
    return false;
}

static void use_tile(const struct program *p, struct direct_op *op, bool *reached, const struct program_tile *tile,
                     bool turned)
{
    use(p, op, reached, tile->valid_row, turned);
    use(p, op, reached, tile->valid_column, turned);
    use(p, op, reached, tile->node, turned);
}

/* What threads of a row tell each other about all of its elements. */
static bool tells(const struct program_op *o)
{
    return o->kind == PROGRAM_RANK || o->kind == PROGRAM_SEGMENT;
}

void direct_survey(const struct program *p, struct direct_op *op, bool *reached)
{
    for (int i = 0; i < p->op_count; i++) {
        const struct program_op *o = &p->op[i];
        op[i].vector = o->kind == PROGRAM_TRANSPOSE && (o->arg[0].rows == 1 || o->arg[0].columns == 1);
    }
    for (int i = 0; i < p->op_count; i++) {
        const struct program_op *o = &p->op[i];
        bool takes = o->kind == PROGRAM_DOT || o->kind == PROGRAM_GATHER || o->kind == PROGRAM_STORE ||
                     o->kind == PROGRAM_STORE_ADD || o->kind == PROGRAM_SCATTER_ADD || o->kind == PROGRAM_REDUCE ||
                     o->kind == PROGRAM_TRANSPOSE || o->kind == PROGRAM_STAGE || tells(o);
        for (int a = 0; takes && a < program_kinds[o->kind].arguments && a < 3; a++)
            if (o->arg[a].node >= 0)
                use_tile(p, op, reached, &o->arg[a], op[i].vector);
        if ((o->kind == PROGRAM_STORE || o->kind == PROGRAM_STORE_ADD) && o->arg[0].rows == 1 && o->arg[0].columns > 1)
            op[i].aside = reaches_column(p, op, reached, o->arg[0].node);
        bool moves = o->kind == PROGRAM_LOAD || o->kind == PROGRAM_GATHER || o->kind == PROGRAM_STORE ||
                     o->kind == PROGRAM_STORE_ADD || o->kind == PROGRAM_SCATTER_ADD;
        for (int d = 0; moves && d < SPEC_MAX_RANK; d++) {
            use(p, op, reached, o->at[d].start, false);
            if (o->at[d].length)
                use(p, op, reached, o->at[d].limit, false);
        }
        if (o->kind == PROGRAM_LOOP) {
            use(p, op, reached, o->from, false);
            use(p, op, reached, o->to, false);
        }
        bool carries = o->kind == PROGRAM_LOOP || o->kind == PROGRAM_END;
        int carried = carries ? p->op[o->kind == PROGRAM_END ? o->loop : i].carried : 0;
        for (int k = 0; k < carried; k++)
            use_tile(p, op, reached, &o->value[k], false);
    }
    for (int i = 0; i < p->op_count; i++)
        if (p->op[i].kind == PROGRAM_PICK)
            op[p->graph->node[p->op[i].arg[0].node].integer].picks++;
    for (int i = 0; i < p->op_count; i++)
        if (p->op[i].kind == PROGRAM_LOAD && p->op[i].tile.rows == 1 && p->op[i].tile.columns > 1)
            op[i].aside = op[i].uses > 0 && op[i].uses == op[i].turned;
}

/* ---- vectors ----------------------------------------------------------------------------------------------------- */

struct multiples {
    const struct spec *spec;
    const struct program *program;
    const bool *whole;
    int vector, column; /* column: the remainder of COLUMN where a vector in memory begins */
};

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a < 0 ? -a : a;
}

/* What divides the integer whatever the sizes are; 0 divides nothing but 0. */
static int64_t multiple(const struct multiples *m, int node)
{
    const struct expr_node *n = &m->program->graph->node[node];
    int64_t a = n->arg[0] >= 0 ? multiple(m, n->arg[0]) : 1, b = n->arg[1] >= 0 ? multiple(m, n->arg[1]) : 1;
    switch (n->op) {
    case EXPR_CONST_INT:
        return n->integer < 0 ? -n->integer : n->integer;
    case EXPR_SYMBOL: {
        int64_t own = m->spec ? m->spec->dim[n->integer].multiple : 1;
        return m->whole && m->whole[n->integer] && own % m->vector ? m->vector : own;
    }
    case EXPR_AT: {
        int tile = m->program->axis[n->integer].tile;
        return tile ? tile : 1;
    }
    case EXPR_LOOP: {
        const struct program_op *loop = &m->program->op[n->integer];
        return loop->list >= 0 ? 1 : gcd(multiple(m, loop->from), multiple(m, loop->step));
    }
    case EXPR_ADD:
    case EXPR_SUB:
    case EXPR_MIN:
    case EXPR_MAX:
        return gcd(a, b);
    case EXPR_MUL:
        return a * b;
    default:
        return 1;
    }
}

static bool has_column(const struct expr_graph *g, int node)
{
    const struct expr_node *n = &g->node[node];
    bool has = n->op == EXPR_COLUMN;
    for (int i = 0; i < 3 && !has; i++)
        has = n->arg[i] >= 0 && has_column(g, n->arg[i]);
    for (int i = 0; n->op == EXPR_TENSOR && i < n->rank && !has; i++)
        has = has_column(g, g->index[n->first_index + i]);
    return has;
}

/* The integer's remainder by the vector's elements, at a column with remainder m->column; -1: not known. */
static int remainder_of(const struct multiples *m, int node)
{
    const struct expr_node *n = &m->program->graph->node[node];
    if (n->op == EXPR_CONST_INT)
        return (int)(((n->integer % m->vector) + m->vector) % m->vector);
    if (n->op == EXPR_COLUMN)
        return m->column;
    if (n->op == EXPR_ADD || n->op == EXPR_SUB) {
        int a = remainder_of(m, n->arg[0]), b = remainder_of(m, n->arg[1]);
        bool grows = n->op == EXPR_ADD || !has_column(m->program->graph, n->arg[1]);
        return a < 0 || b < 0 || !grows ? -1 : (n->op == EXPR_ADD ? a + b : a - b + m->vector) % m->vector;
    }
    return !has_column(m->program->graph, node) && multiple(m, node) % m->vector == 0 ? 0 : -1;
}

/* The condition is the same for all elements of a vector. */
static bool whole_condition(const struct multiples *m, int node)
{
    if (node < 0 || !has_column(m->program->graph, node))
        return true;
    const struct expr_node *n = &m->program->graph->node[node];
    if (n->op == EXPR_LT || n->op == EXPR_GE)
        return !has_column(m->program->graph, n->arg[1]) && remainder_of(m, n->arg[0]) == 0 &&
               remainder_of(m, n->arg[1]) == 0;
    if (n->op == EXPR_AND || n->op == EXPR_OR)
        return whole_condition(m, n->arg[0]) && whole_condition(m, n->arg[1]);
    return n->op == EXPR_NOT && whole_condition(m, n->arg[0]);
}

/* A conjunction of comparisons of a column with what all threads share: true for neighbouring columns alone. */
static bool is_interval(const struct program *p, int node)
{
    if (node < 0 || !has_column(p->graph, node))
        return true;
    const struct expr_node *n = &p->graph->node[node];
    if (n->op == EXPR_AND)
        return is_interval(p, n->arg[0]) && is_interval(p, n->arg[1]);
    const struct multiples one = {.program = p, .vector = 1};
    bool compares = n->op == EXPR_LT || n->op == EXPR_LE || n->op == EXPR_GT || n->op == EXPR_GE;
    return compares && !has_column(p->graph, n->arg[1]) && p->graph->node[n->arg[0]].type == EXPR_INT &&
           remainder_of(&one, n->arg[0]) == 0;
}

bool direct_is_whole(const struct direct *d, const struct program_tile *tile)
{
    const struct multiples m = {d->l->spec, d->program, d->whole, d->vector, 0};
    return d->vector == 1 || (whole_condition(&m, tile->valid_column) && whole_condition(&m, tile->valid_row));
}

static bool writes(const struct program_op *o)
{
    return o->kind == PROGRAM_STORE || o->kind == PROGRAM_STORE_ADD || o->kind == PROGRAM_SCATTER_ADD;
}

static bool moves_columns(const struct program *p, const struct direct_op *op, int i)
{
    const struct program_op *o = &p->op[i];
    bool loads = o->kind == PROGRAM_LOAD || o->kind == PROGRAM_GATHER, stores = writes(o);
    return (loads ? o->tile.columns > 1 : stores && o->arg[0].columns > 1) && !op[i].aside;
}

/* Whether the operation's accesses are whole vectors. A load's may begin within one: two of them make each of the
 * threads' own, *shift elements apart. */
static bool accesses_vectors(struct multiples *m, const struct spec_kernel *kernel, const struct direct_op *op, int i,
                             int *shift)
{
    const struct program_op *o = &m->program->op[i];
    const struct program_tile *tile = writes(o) ? &o->arg[0] : &o->tile;
    int inner = kernel->tensor[o->tensor].rank - 1;
    m->column = 0;
    if (tile->columns % m->vector || !o->at[inner].length || !o->at[inner].column)
        return false;
    *shift = remainder_of(m, o->at[inner].start);
    if (*shift < 0 || (*shift && direct_is_picked(&op[i])) ||
        (*shift && (o->kind != PROGRAM_LOAD || tile->columns == m->vector)))
        return false;
    m->column = *shift ? m->vector - *shift : 0;
    bool whole = whole_condition(m, tile->valid_column) && whole_condition(m, tile->valid_row);
    if (o->kind == PROGRAM_STORE)
        whole = is_interval(m->program, tile->valid_column) && is_interval(m->program, tile->valid_row);
    m->column = 0;
    return whole;
}

int direct_vector(const struct spec *spec, const struct spec_kernel *kernel, struct direct_op *op, bool *whole)
{
    const struct program *p = kernel->program;
    int bytes = 16;
    for (int i = 0; i < p->op_count; i++)
        if (moves_columns(p, op, i)) {
            const struct spec_tensor *t = &kernel->tensor[p->op[i].tensor];
            const struct expr_node *inner = &kernel->shape.node[t->dim[t->rank - 1]];
            int size = (int)tw_dtype_bytes(t->dtype);
            bytes = size < bytes ? size : bytes;
            if (inner->op == EXPR_SYMBOL)
                whole[inner->integer] = true;
        }
    for (int vector = 16 / bytes; vector > 1; vector /= 2) {
        struct multiples m = {spec, p, whole, vector, 0};
        bool fits = true;
        for (int i = 0; i < p->op_count && fits; i++) {
            const struct program_op *o = &p->op[i];
            if (moves_columns(p, op, i))
                fits = accesses_vectors(&m, kernel, op, i, &op[i].shift);
            else if (o->kind == PROGRAM_REDUCE || tells(o) || (o->kind == PROGRAM_TRANSPOSE && !op[i].vector))
                fits = (o->arg[0].columns == 1 || o->arg[0].columns % vector == 0) &&
                       (o->kind != PROGRAM_TRANSPOSE || o->arg[0].rows % vector == 0);
        }
        if (fits)
            return vector;
    }
    for (int i = 0; i < p->op_count; i++)
        op[i].shift = 0;
    return 1;
}

/* ---- layouts ----------------------------------------------------------------------------------------------------- */

static void add_shape(int shape[][2], int *count, int rows, int cols)
{
    for (int i = 0; i < *count; i++)
        if ((rows == 1 || rows == shape[i][0]) && (cols == 1 || cols == shape[i][1]))
            return;
    for (int i = 0; i < *count; i++) /* those that the new one covers go */
        if ((shape[i][0] == 1 || shape[i][0] == rows) && (shape[i][1] == 1 || shape[i][1] == cols)) {
            shape[i][0] = shape[*count - 1][0];
            shape[i][1] = shape[*count - 1][1];
            --*count;
            i--;
        }
    shape[*count][0] = rows;
    shape[*count][1] = cols;
    ++*count;
}

static int round_up(int n, int unit)
{
    return (n + unit - 1) / unit * unit;
}

/* The threads' places on a tile: with the least of it outside, and of equals the one whose rows lie in one warp,
 * or, with few_rows, that whose threads have the fewest. */
static struct plan_layout place_threads(struct direct_shape tile, int vector, int threads, bool few_rows)
{
    struct plan_layout best = {0};
    vector = tile.cols > 1 ? vector : 1;
    for (int across = 1; across <= threads; across *= 2) {
        int down = threads / across;
        if ((tile.rows == 1 && down > 1) || (tile.rows > 1 && tile.cols == 1 && across > 1))
            continue; /* of one element the first thread's columns begin with it */
        struct plan_layout l = {
            round_up(tile.rows, down), round_up(tile.cols, across * vector), down, across, vector, down, 0};
        int64_t size = (int64_t)l.rows * l.cols, least = (int64_t)best.rows * best.cols;
        if (!best.rows || size < least || (size == least && across <= 32 && !few_rows))
            best = l;
    }
    return best;
}

static int power_below(int n)
{
    int power = 1;
    while (2 * power <= n)
        power *= 2;
    return power;
}

/* ---- rows that threads have whole -------------------------------------------------------------------------------- */

bool direct_is_picked(const struct direct_op *op)
{
    return op->picks && !op->uses;
}

int direct_whole_row(const struct direct *d, int rows, int cols)
{
    for (int i = d->shapes; i < d->plan->layout_count; i++)
        if (d->extent[i].rows == rows && d->extent[i].cols == cols)
            return i;
    return -1;
}

/* Rows lie as those of the tiles beside them, whose threads of a row have the same. */
static int add_whole_rows(struct direct *d)
{
    for (int i = 0; i < d->program->op_count; i++) {
        const struct program_op *o = &d->program->op[i];
        int beside = direct_is_picked(&d->op[i]) ? direct_layout_of(d, o->tile.rows, 1) : -1;
        if (beside < 0 || direct_whole_row(d, o->tile.rows, o->tile.columns) >= 0)
            continue;
        if (d->plan->layout_count == d->shapes + DIRECT_MAX_WHOLE)
            return program_refuse(d->l, o->loc, "PROGRAM-LOWER",
                                  "tiles that columns are picked from have more than %d shapes; load them alike",
                                  DIRECT_MAX_WHOLE);
        const struct plan_layout *l = &d->plan->layout[beside];
        d->extent[d->plan->layout_count] = (struct direct_shape){o->tile.rows, o->tile.columns};
        d->plan->layout[d->plan->layout_count++] = (struct plan_layout){
            l->rows, o->tile.columns, l->down, 1, o->tile.columns > 1 ? d->vector : 1, l->apart, l->across};
    }
    return 0;
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

enum { BYTES_OF_THREAD = 64, FEW_THREADS = 128, MANY_THREADS = 256, MOST_VECTORS = 8 };

/* Several rows by numbers for each row: what a thread computes for them is by row. */
bool direct_is_scattered(const struct program *p)
{
    int count = 0;
    for (int i = 0; i < p->op_count; i++)
        count += p->op[i].kind == PROGRAM_GATHER;
    return count >= 4;
}

int direct_layouts(struct direct *d)
{
    const struct program *p = d->program;
    d->scattered = direct_is_scattered(p);
    int(*shape)[2] = plan_alloc(d->plan, sizeof *shape * (size_t)(2 * p->op_count + 1));
    int count = 0, largest = 0, bytes = 16;
    if (!shape)
        return 3;
    for (int i = 0; i < p->op_count; i++) {
        const struct program_op *o = &p->op[i];
        bool stores = writes(o) || o->kind == PROGRAM_REDUCE || o->kind == PROGRAM_TRANSPOSE || tells(o);
        const struct program_tile *tile[2] = {&o->tile, stores ? &o->arg[0] : NULL};
        for (int t = 0; t < 2; t++)
            if (tile[t] && tile[t]->rows > 0 && !d->op[i].vector && !direct_is_picked(&d->op[i]) &&
                o->kind != PROGRAM_LOOP && o->kind != PROGRAM_END)
                add_shape(shape, &count, d->op[i].aside ? tile[t]->columns : tile[t]->rows,
                          d->op[i].aside ? tile[t]->rows : tile[t]->columns);
        if (moves_columns(p, d->op, i)) {
            int size = (int)tw_dtype_bytes(d->plan->tensor[o->tensor].dtype);
            bytes = size < bytes ? size : bytes;
        }
    }
    if (count > DIRECT_MAX_LAYOUTS) {
        return program_refuse(d->l, p->loc, "PROGRAM-LOWER",
                              "its tiles have %d shapes, %d x %d, %d x %d, %d x %d and more, of which none covers the "
                              "others, but threads hold %d; write tiles of the same rows and columns, or 1",
                              count, shape[0][0], shape[0][1], shape[1][0], shape[1][1], shape[2][0], shape[2][1],
                              DIRECT_MAX_LAYOUTS);
    }
    for (int i = 0; i < count; i++)
        largest = shape[i][0] * shape[i][1] > shape[largest][0] * shape[largest][1] ? i : largest;
    int wide = shape[largest][1] > 1 ? d->vector : 1, vectors = shape[largest][0] * shape[largest][1] / wide;
    /* Of a row that loops take by turns a vector a turn: the turns that stay make up for it. */
    bool turns = shape[largest][0] == 1 && wide > 1 && program_holds(p, PROGRAM_LOOP);
    int each = turns || d->scattered ? 1 : BYTES_OF_THREAD / (wide * bytes),
        threads = power_below(vectors / (each ? each : 1));
    int most_threads = turns ? 2 * MANY_THREADS : MANY_THREADS;
    int few = power_below(vectors < FEW_THREADS ? vectors : FEW_THREADS);
    threads = threads > most_threads ? most_threads : threads < few ? few : threads;
    while (threads < d->l->arch->max_threads && vectors / threads > MOST_VECTORS * (each > 4 ? each / 4 : 1))
        threads *= 2;
    threads = threads < 32 ? 32 : threads;
    d->plan->layout = plan_alloc(d->plan, sizeof *d->plan->layout * (DIRECT_MAX_LAYOUTS + DIRECT_MAX_WHOLE));
    if (!d->plan->layout)
        return 3;
    for (int i = 0; i < count; i++) {
        d->extent[i] = (struct direct_shape){shape[i][0], shape[i][1]};
        struct plan_layout *l = &d->plan->layout[i];
        *l = place_threads(d->extent[i], d->vector, threads, d->scattered || program_holds(p, PROGRAM_PICK));
        l->apart = direct_has_windows(d) ? 1 : l->down;
    }
    d->threads = threads;
    d->plan->layout_count = d->shapes = count;
    return add_whole_rows(d);
}

int direct_layout_of(const struct direct *d, int rows, int cols)
{
    int best = -1;
    if (d->whole_row && cols > 1)
        return plan_number(d->whole_row);
    for (int i = 0; i < d->shapes; i++) {
        const struct direct_shape *l = &d->extent[i];
        bool covers = (rows == 1 || rows == l->rows) && (cols == 1 || cols == l->cols);
        bool exact = rows == l->rows && cols == l->cols;
        if (covers && (best < 0 || exact))
            best = i;
    }
    return best;
}

struct direct_shape direct_held(const struct direct *d, int rows, int cols)
{
    int n = direct_layout_of(d, rows, cols);
    const struct plan_layout *l = n < 0 ? NULL : &d->plan->layout[n];
    return (struct direct_shape){l && rows > 1 ? l->rows : rows, l && cols > 1 ? l->cols : cols};
}
