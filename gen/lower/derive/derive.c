/* What a derivation knows before it writes steps: rings, dots, and the nodes that are computed once. */
#include "lower/derive/derive.h"

#include <ctype.h>
#include <string.h>

/* ---- rings and dots ---------------------------------------------------------------------------------------------- */

static bool reads(const struct derive_dot *dot, int load)
{
    return dot->load[0] == load || dot->load[1] == load;
}

/* The same dots read both loads. */
static bool read_together(const struct derive *d, int one, int other)
{
    for (int i = 0; i < d->work.program->op_count; i++)
        if (d->work.program->op[i].kind == PROGRAM_DOT && reads(&d->dot[i], one) != reads(&d->dot[i], other))
            return false;
    return true;
}

/* Names of one meaning each: rings before this one, that of the results, that of items, that of sums. */
static bool is_ring(const struct derive *d, const struct derive_ring *ring, const char *name)
{
    for (const struct derive_ring *other = d->ring; other < ring; other++)
        if (strcmp(other->name, name) == 0)
            return true;
    return strcmp(name, "d") == 0 || strcmp(name, "item") == 0 || strcmp(name, "parts") == 0;
}

/* The ring's name: its tensors' names in small letters, and a number where there is another of that name. */
static const char *ring_name(struct derive *d, const struct derive_ring *ring)
{
    char name[96] = "";
    size_t length = 0;
    bool letters = true;
    for (int i = 0; i < ring->load_count; i++) {
        const char *tensor = d->work.l->plan->tensor[d->work.program->op[ring->load[i]].tensor].name;
        letters = letters && !tensor[1];
    }
    for (int i = 0; i < ring->load_count; i++) {
        const char *tensor = d->work.l->plan->tensor[d->work.program->op[ring->load[i]].tensor].name;
        if (i && !letters && length + 1 < sizeof name)
            name[length++] = '_';
        for (const char *c = tensor; *c && length + 1 < sizeof name; c++)
            name[length++] = (char)tolower((unsigned char)*c);
    }
    const char *text = plan_text(d->work.l->plan, "%.*s", (int)length, name);
    for (int number = 2; text && is_ring(d, ring, text); number++)
        text = plan_text(d->work.l->plan, "%.*s%d", (int)length, name, number);
    return text;
}

/* The LOOP right inside of `parent` in which the operation stands; -1: none. */
static int loop_below(const struct derive *d, int parent, int op)
{
    int below = -1;
    for (int at = d->work.op[op].parent; at >= 0 && at != parent; at = d->work.op[at].parent)
        below = at;
    return below;
}

/* Rows by number come as bulk copies of single rows, where these are whole spans of 128 bytes; else 16 bytes a thread
 * of the producer. Where there is none every tile comes so. */
static bool is_copied(const struct derive *d, int op)
{
    const struct program_op *o = &d->work.program->op[op];
    const struct spec_kernel *k = d->work.l->kernel;
    if (o->kind != PROGRAM_GATHER || !d->work.l->arch->wgmma)
        return false;
    const struct spec_via *said = program_via(k, o);
    if (said)
        return strcmp(said->word, "bulk") != 0;
    const struct spec_tensor *t = &k->tensor[o->tensor];
    return o->tile.columns * (int)tw_dtype_bytes(t->dtype) % 128 != 0 ||
           (t->swizzle_set && t->swizzle != TW_SWIZZLE_128B);
}

static int find_rings(struct derive *d)
{
    const struct program *p = d->work.program;
    for (int i = 0; i < p->op_count; i++) {
        bool read = false;
        for (int o = 0; o < p->op_count && work_is_load(&p->op[i]); o++)
            read = read || (p->op[o].kind == PROGRAM_DOT && reads(&d->dot[o], i));
        if (!read)
            continue;
        struct derive_ring *ring = NULL;
        bool copied = is_copied(d, i);
        for (int r = 0; r < d->ring_count && !ring; r++)
            if (d->ring[r].parent == d->work.op[i].parent && d->ring[r].load_count < 8 && d->ring[r].copied == copied &&
                read_together(d, d->ring[r].load[0], i))
                ring = &d->ring[r];
        if (!ring && d->ring_count == DERIVE_MAX_RINGS)
            return program_refuse(d->work.l, p->op[i].loc, "PROGRAM-LOWER",
                                  "more than %d rings of loads; let dots share loads", DERIVE_MAX_RINGS);
        if (!ring) {
            ring = &d->ring[d->ring_count++];
            *ring = (struct derive_ring){.copied = copied, .parent = d->work.op[i].parent, .inner = -1, .number = -1};
        }
        ring->load[ring->load_count++] = i;
    }
    for (int r = 0; r < d->ring_count; r++) {
        struct derive_ring *ring = &d->ring[r];
        if (!(ring->name = ring_name(d, ring)))
            return 3;
        for (int o = 0; o < p->op_count; o++) {
            if (p->op[o].kind != PROGRAM_DOT || !reads(&d->dot[o], ring->load[0]))
                continue;
            int inner = loop_below(d, ring->parent, o);
            if (ring->users && inner != ring->inner)
                return program_refuse(d->work.l, p->op[ring->load[0]].loc, "PROGRAM-LOWER",
                                      "dots inside and outside of a loop read the tile; load it once for each");
            ring->inner = inner;
            ring->users++;
        }
    }
    return 0;
}

static int find_dots(struct derive *d)
{
    const struct program_lowering *l = d->work.l;
    const struct program *p = d->work.program;
    int status = 0;
    for (int i = 0; i < p->op_count; i++) {
        const struct program_op *op = &p->op[i];
        if (op->kind != PROGRAM_DOT)
            continue;
        struct derive_dot *dot = &d->dot[i];
        for (int o = 0; o < 2; o++) {
            dot->load[o] = work_view(&d->work, &op->arg[o], &dot->transposed[o]);
            if (o == 0 && dot->load[o] < 0)
                dot->converted =
                    (dot->load[o] = work_converted(&d->work, &op->arg[o], &dot->transposed[o], &dot->conversion)) >= 0;
            const int slice = program_slice(d->work.program, &op->arg[o]);
            dot->slice = slice >= 0 ? plan_some(slice) : dot->slice;
            struct work_op *load = dot->load[o] >= 0 ? &d->work.op[dot->load[o]] : NULL;
            if (load && load->end >= 0 && (slice >= 0 || (o == 0) == dot->transposed[o]))
                load->summed = true;
        }
        if (d->rows && op->tile.rows != d->rows)
            status |= program_refuse(l, op->loc, "PROGRAM-LOWER",
                                     "this dot has %d rows and another %d, but consumers split all dots of an item by "
                                     "the same rows; write tiles of one height",
                                     op->tile.rows, d->rows);
        d->rows = op->tile.rows;
    }
    return status;
}

/* ---- what is computed once --------------------------------------------------------------------------------------- */

static bool add_use(struct derive *d, int op, int root)
{
    if (root < 0)
        return true;
    d->use = arena_grow(d->work.l->plan->arena, d->use, d->use_count, sizeof *d->use);
    if (!d->use)
        return false;
    d->use[d->use_count].op = op;
    d->use[d->use_count++].root = root;
    return true;
}

static bool find_uses(struct derive *d)
{
    const struct program *p = d->work.program;
    bool fine = true;
    for (int i = 0; i < p->op_count; i++) {
        const struct work_op *k = &d->work.op[i];
        for (int a = 0; a < 3; a++)
            fine = fine && add_use(d, i, k->arg[a]);
        for (int v = 0; p->op[i].kind == PROGRAM_END && v < p->op[p->op[i].loop].carried; v++)
            fine = fine && add_use(d, i, k->value[v]);
    }
    return fine;
}

/* Cheaper computed again than kept. */
static bool is_cheap(const struct expr_graph *g, int node)
{
    const struct expr_node *n = &g->node[node];
    if (n->type != EXPR_REAL || expr_ops[n->op].arity == 0)
        return true;
    if (n->op != EXPR_MUL && n->op != EXPR_ADD && n->op != EXPR_SUB && n->op != EXPR_NEG && n->op != EXPR_CAST)
        return false;
    for (int i = 0; i < expr_ops[n->op].arity; i++)
        if (expr_ops[g->node[n->arg[i]].op].arity != 0)
            return false;
    return true;
}

/* A node that several operations take, and not merely as a part of one that they all take. */
static int find_shared(struct derive *d)
{
    struct work *w = &d->work;
    int count = w->graph.count, most = d->use_count < 64 ? d->use_count : 64;
    uint64_t *users = plan_alloc(w->l->plan, sizeof *users * (size_t)(count + 1));
    d->shared = plan_alloc(w->l->plan, sizeof *d->shared * (size_t)(count + 1));
    if (!users || !d->shared)
        return 3;
    d->shared_count = count;
    for (int u = 0; u < most; u++) {
        users[d->use[u].root] |= (uint64_t)1 << u;
        for (int node = d->use[u].root; node >= 0; node--)
            for (int a = 0; a < 3 && users[node] >> u & 1; a++)
                if (w->graph.node[node].arg[a] >= 0)
                    users[w->graph.node[node].arg[a]] |= (uint64_t)1 << u;
    }
    for (int u = 0; u < most; u++) {
        int root = d->use[u].root;
        bool several = (users[root] & (users[root] - 1)) != 0;
        bool carried = w->program->op[d->use[u].op].kind == PROGRAM_END && !(work_scope(w, root) & WORK_COLUMN) &&
                       expr_ops[w->graph.node[root].op].arity != 0;
        d->shared[root] = d->shared[root] || carried || (several && !is_cheap(&w->graph, root));
    }
    for (int node = 0; node < count; node++)
        for (int a = 0; a < 3; a++) {
            int arg = w->graph.node[node].arg[a];
            if (arg >= 0 && users[node] && users[arg] != users[node] && (users[arg] & (users[arg] - 1)) != 0 &&
                !is_cheap(&w->graph, arg) && work_scope(w, arg) != WORK_UNIFORM)
                d->shared[arg] = true;
        }
    return 0;
}

/* What of a node's value comes last, and what it takes. */
struct part {
    int dot;       /* the last dot of the loop that it takes, -1 */
    bool function; /* it takes a function of numbers */
};

static struct part part_of(const struct work *w, int loop, int node, struct part *memo, bool *seen)
{
    const struct expr_node *n = &w->graph.node[node];
    if (seen[node])
        return memo[node];
    seen[node] = true;
    struct part part = {-1, expr_ops[n->op].rule == EXPR_REALS};
    if (n->op == EXPR_TILE && w->program->op[n->integer].kind == PROGRAM_DOT && w->op[n->integer].parent == loop)
        part.dot = (int)n->integer;
    for (int a = 0; a < 3; a++) {
        if (n->arg[a] < 0)
            continue;
        struct part under = part_of(w, loop, n->arg[a], memo, seen);
        part.dot = under.dot > part.dot ? under.dot : part.dot;
        part.function = part.function || under.function;
    }
    return memo[node] = part;
}

/* Below a node that takes the loop's dot `last`, what takes earlier ones alone, and a function of them. */
static void share_parts(struct derive *d, int node, int last, const struct part *part, bool *seen)
{
    const struct expr_node *n = &d->work.graph.node[node];
    if (seen[node])
        return;
    seen[node] = true;
    for (int a = 0; a < 3; a++) {
        if (n->arg[a] < 0)
            continue;
        const struct part *under = &part[n->arg[a]];
        if (under->dot == last)
            share_parts(d, n->arg[a], last, part, seen);
        else if (under->dot >= 0 && under->function && d->work.graph.node[n->arg[a]].type == EXPR_REAL)
            d->shared[n->arg[a]] = d->part[n->arg[a]] = true;
    }
}

/* derive.h, OVERLAP: what is computed early has a place, as if several operations took it. */
static int find_parts(struct derive *d)
{
    const struct work *w = &d->work;
    const size_t count = (size_t)w->graph.count + 1;
    struct part *part = plan_alloc(w->l->plan, sizeof *part * count);
    bool *seen = plan_alloc(w->l->plan, sizeof *seen * count);
    d->part = plan_alloc(w->l->plan, sizeof *d->part * count);
    if (!part || !seen || !d->part)
        return 3;
    for (int i = 0; i < w->program->op_count; i++) {
        const int root = w->op[i].arg[0];
        if (w->program->op[i].kind != PROGRAM_DOT || w->op[i].parent < 0 || d->dot[i].load[0] >= 0 || root < 0)
            continue;
        memset(seen, 0, sizeof *seen * count);
        const int last = part_of(w, w->op[i].parent, root, part, seen).dot;
        memset(seen, 0, sizeof *seen * count);
        if (last >= 0)
            share_parts(d, root, last, part, seen);
    }
    return 0;
}

/* ---- sums by lane ------------------------------------------------------------------------------------------------ */

static bool reaches(const struct work *w, int node, int leaf)
{
    if (node == leaf)
        return true;
    for (int i = 0; node >= 0 && i < 3; i++)
        if (w->graph.node[node].arg[i] >= 0 && reaches(w, w->graph.node[node].arg[i], leaf))
            return true;
    return false;
}

/* A sum of multiples of the two leaves by what holds neither. */
static bool is_linear(const struct work *w, int node, int one, int other)
{
    const struct expr_node *n = &w->graph.node[node];
    if (node == one || node == other)
        return true;
    if (n->op == EXPR_ADD)
        return is_linear(w, n->arg[0], one, other) && is_linear(w, n->arg[1], one, other);
    for (int i = 0; i < 2 && n->op == EXPR_MUL; i++)
        if (!reaches(w, n->arg[1 - i], one) && !reaches(w, n->arg[1 - i], other))
            return is_linear(w, n->arg[i], one, other);
    return false;
}

int derive_uses_of(const struct derive *d, int leaf)
{
    int uses = 0;
    for (int i = 0; i < d->use_count; i++)
        uses += reaches(&d->work, d->use[i].root, leaf);
    return uses;
}

int derive_summed_by(const struct derive *d, int op)
{
    const struct program *p = d->work.program;
    const int loop = d->work.op[op].parent, leaf = d->work.op[op].leaf;
    if (p->op[op].kind != PROGRAM_DOT || loop < 0 || d->work.op[op].arg[2] >= 0 || derive_uses_of(d, leaf) != 1)
        return 0;
    for (int i = loop + 1; i < p->op[loop].end; i++) {
        const struct program_op *o = &p->op[i];
        const int sum = d->work.op[i].leaf;
        const int value =
            o->kind == PROGRAM_PARAM && o->loop == loop ? d->work.op[p->op[loop].end].value[o->which] : -1;
        bool alone = value >= 0 && o->tile.columns == p->op[op].tile.columns && derive_uses_of(d, sum) == 1 &&
                     reaches(&d->work, value, leaf) && reaches(&d->work, value, sum);
        for (int k = loop + 1; k < p->op[loop].end && alone; k++)
            alone = k == op || k == i || d->work.op[k].leaf < 0 || !reaches(&d->work, value, d->work.op[k].leaf);
        if (alone)
            return plan_some(o->which);
    }
    return 0;
}

static void find_partial(struct derive *d)
{
    const struct program *p = d->work.program;
    for (int i = 0; i < p->op_count; i++) {
        if (p->op[i].kind != PROGRAM_PARAM)
            continue;
        int loop = p->op[i].loop, leaf = d->work.op[i].leaf, first = d->work.op[loop].value[p->op[i].which];
        int root = d->work.op[p->op[loop].end].value[p->op[i].which];
        const struct expr_node *zero = &d->work.graph.node[first];
        bool from_zero =
            (zero->op == EXPR_CONST_REAL && zero->real == 0.0) || (zero->op == EXPR_CONST_INT && zero->integer == 0);
        for (int r = loop; r < p->op[loop].end && from_zero && derive_uses_of(d, leaf) == 1; r++) {
            int sum = d->work.op[r].leaf;
            if (p->op[r].kind == PROGRAM_REDUCE && p->op[r].reduction == PROGRAM_SUM && d->work.op[r].parent == loop &&
                derive_uses_of(d, sum) == 1 && reaches(&d->work, root, sum) && is_linear(&d->work, root, leaf, sum))
                d->partial[i] = d->partial[r] = true;
        }
    }
}

int derive_open(struct derive *d, const struct program_lowering *l)
{
    memset(d, 0, sizeof *d);
    int status = work_open(&d->work, l);
    if (status)
        return status;
    d->dot = plan_alloc(l->plan, sizeof *d->dot * (size_t)(l->kernel->program->op_count + 1));
    d->done = plan_alloc(l->plan, sizeof *d->done * (size_t)(l->kernel->program->op_count + 1));
    d->partial = plan_alloc(l->plan, sizeof *d->partial * (size_t)(l->kernel->program->op_count + 1));
    if (!d->dot || !d->done || !d->partial)
        return 3;
    for (int i = 0; i < l->kernel->program->op_count; i++)
        d->dot[i] = (struct derive_dot){.load = {-1, -1}, .mma = -1};
    status = find_dots(d);
    if (!status)
        status = find_rings(d);
    if (!status && !find_uses(d))
        status = 3;
    if (!status)
        find_partial(d);
    status = status ? status : find_shared(d);
    return status ? status : find_parts(d);
}

void derive_close(struct derive *d)
{
    work_close(&d->work);
}
