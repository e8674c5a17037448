/* What a whole program must fulfil: every value and every tensor is used, and an accumulator has one owner. */
#include "read/trace.h"

#include <string.h>

struct check {
    struct trace *t;
    const struct program *p;
    bool *live;    /* by operation: something that is stored comes of it */
    bool *wanted;  /* by operation: another one takes it, stored or not */
    int *consumer; /* by operation: the one that adds to it in place; -1 */
    int *body;     /* by operation: the LOOP around it, -1 */
};

/* What is done with each operation that an operand needs. */
typedef void leaf_visitor(struct check *c, int leaf, int by);

static void visit(struct check *c, int node, int by, leaf_visitor *f)
{
    int *leaf = NULL, count = node < 0 ? 0 : trace_leaf_operations(c->t, node, &leaf);
    for (int i = 0; i < count; i++)
        f(c, leaf[i], by);
    if (node >= 0)
        lua_pop(c->t->r->L, 1);
}

static void fault(struct check *c, const struct program_op *at, const char *rule, const char *format, const char *a,
                  int line)
{
    diag_report(c->t->r->diags, DIAG_ERROR, at->loc, reader_kernel(c->t->r)->name, "program", rule, format, a, line);
}

/* ---- use ------------------------------------------------------------------------------------------------------- */

static void mark_live(struct check *c, int leaf, int by)
{
    (void)by;
    c->live[leaf] = true;
}

static void mark_wanted(struct check *c, int leaf, int by)
{
    (void)by;
    c->wanted[leaf] = true;
}

/* A carried value is one thing, whether a turn finds it or what follows the loop. */
static void visit_carried(struct check *c, const struct program_op *op, leaf_visitor *f)
{
    const struct program_op *loop = &c->p->op[op->loop], *end = &c->p->op[loop->end];
    visit(c, loop->value[op->which].node, op->loop, f);
    visit(c, end->value[op->which].node, loop->end, f);
}

static void visit_operands(struct check *c, int op, leaf_visitor *f)
{
    const struct program_op *o = &c->p->op[op];
    for (int i = 0; i < 3; i++)
        visit(c, o->arg[i].node, op, f);
    if (o->kind == PROGRAM_PARAM || o->kind == PROGRAM_RESULT)
        visit_carried(c, o, f);
}

static bool is_effect(enum program_kind kind)
{
    return kind == PROGRAM_STORE || kind == PROGRAM_STORE_ADD || kind == PROGRAM_SCATTER_ADD;
}

static int count_live(const struct check *c)
{
    int count = 0;
    for (int i = 0; i < c->p->op_count; i++)
        count += c->live[i];
    return count;
}

static void find_live(struct check *c)
{
    for (int i = 0; i < c->p->op_count; i++)
        c->live[i] = is_effect(c->p->op[i].kind);
    for (int before = -1, now = count_live(c); before != now; before = now, now = count_live(c))
        for (int i = c->p->op_count - 1; i >= 0; i--)
            if (c->live[i])
                visit_operands(c, i, mark_live);
    for (int i = 0; i < c->p->op_count; i++)
        visit_operands(c, i, mark_wanted);
}

static bool gives_tile(enum program_kind kind)
{
    return kind == PROGRAM_LOAD || kind == PROGRAM_GATHER || kind == PROGRAM_DOT || kind == PROGRAM_REDUCE ||
           kind == PROGRAM_TRANSPOSE || kind == PROGRAM_STAGE || kind == PROGRAM_PICK || kind == PROGRAM_RANK ||
           kind == PROGRAM_SEGMENT || kind == PROGRAM_SLICE;
}

/* The PARAM or RESULT of carried value i. */
static int carried_op(const struct program_op *loop, int at, int i, bool behind)
{
    return (behind ? loop->end : at) + 1 + i;
}

static void check_loop_use(struct check *c, int at)
{
    const struct program_op *loop = &c->p->op[at];
    bool does = loop->carried > 0;
    for (int i = at + 1; i < loop->end; i++)
        does |= is_effect(c->p->op[i].kind);
    if (!does)
        fault(c, loop, "PROGRAM-UNUSED", "loop '%s' carries nothing and stores nothing; take it out", loop->name, 0);
    for (int i = 0; i < loop->carried; i++)
        if (!c->live[carried_op(loop, at, i, false)] && !c->live[carried_op(loop, at, i, true)])
            fault(c, loop, "PROGRAM-UNUSED",
                  "nothing that is stored comes of a value that loop '%s' carries, number %d; take it out", loop->name,
                  i + 1);
}

static void check_use(struct check *c)
{
    for (int i = 0; i < c->p->op_count; i++) {
        const struct program_op *op = &c->p->op[i];
        if (gives_tile(op->kind) && !c->live[i] && !c->wanted[i])
            fault(c, op, "PROGRAM-UNUSED", "nothing uses what this %s gives; store what comes of it, or take it out",
                  op->kind == PROGRAM_REDUCE ? "reduction" : program_kinds[op->kind].name, 0);
        if (op->kind == PROGRAM_LOOP)
            check_loop_use(c, i);
    }
}

/* The scalar is the family's own: an optional tensor of the family that the kernel lacks; else NULL. */
static const char *missing_tensor(const struct reader *r, const char *scalar)
{
    const struct spec_kernel *k = &r->spec->kernel[r->now];
    const struct spec_family *f = module_family(r, k->family);
    bool own = false;
    for (const char *const *s = f ? f->scalar : NULL; s && *s; s++)
        own |= strcmp(*s, scalar) == 0;
    for (const struct spec_family_tensor *row = own ? f->tensor : NULL; row && row->name; row++) {
        bool given = row->required;
        for (int i = 0; i < k->tensor_count; i++)
            given |= strcmp(k->tensor[i].name, row->name) == 0;
        if (!given)
            return row->name;
    }
    return NULL;
}

static void check_tensor_use(struct check *c)
{
    struct reader *r = c->t->r;
    const struct spec_kernel *k = reader_kernel(r);
    const char *function = module_function(r, k->family);
    for (int i = 0; i < k->tensor_count; i++) {
        const struct spec_tensor *t = &k->tensor[i];
        bool stored = false;
        for (int n = 0; n < c->p->op_count; n++)
            stored |= is_effect(c->p->op[n].kind) && c->p->op[n].tensor == i;
        if (t->out && !stored && function)
            reader_fault(r, t->name, AT_KEY, "TENSOR-UNWRITTEN",
                         "nothing writes this tensor; return it from the %s: { D = ..., %s = ... }", function, t->name);
        else if (t->out && !stored)
            reader_fault(r, t->name, AT_KEY, "TENSOR-UNWRITTEN",
                         "nothing writes this tensor; write store(t.%s, span(...), value) in the program", t->name);
        else if (!t->out && !t->read)
            reader_fault(r, t->name, AT_KEY, "TENSOR-UNREAD",
                         "nothing reads this tensor; use t.%s in the %s or take it out", t->name,
                         function ? function : "program");
    }
    for (int i = 0; i < k->scalar_count; i++) {
        const char *scalar = k->scalar[i].name, *with = k->scalar[i].read ? NULL : missing_tensor(r, scalar);
        if (with)
            reader_fault(r, scalar, AT_KEY, "SCALAR-UNREAD",
                         "nothing reads this scalar: the family reads it where there is a tensor %s; write %s or take "
                         "%s out",
                         with, with, scalar);
        else if (!k->scalar[i].read)
            reader_fault(r, scalar, AT_KEY, "SCALAR-UNREAD",
                         "nothing reads this scalar; use t.%s in the %s or take it out", scalar,
                         function ? function : "program");
    }
}

/* ---- slices ----------------------------------------------------------------------------------------------------- */

static void refuse_slice(struct check *c, int leaf, int by)
{
    const struct program_op *op = &c->p->op[leaf];
    (void)by;
    if (program_slice(c->p, &op->tile) >= 0)
        fault(c, op, "PROGRAM-SLICE",
              "a %s of a tile is the second operand of dots, as it is or turned; write dot(a, slice(...):t())",
              program_kinds[PROGRAM_SLICE].name, 0);
}

/* Nothing but dots takes slices, and as second operands. */
static void check_slices(struct check *c)
{
    for (int i = 0; i < c->p->op_count; i++) {
        const struct program_op *op = &c->p->op[i];
        for (int n = 0; n < 3; n++)
            if (op->arg[n].node >= 0 && !((op->kind == PROGRAM_DOT && n == 1) || op->kind == PROGRAM_TRANSPOSE) &&
                !(op->kind == PROGRAM_SLICE && n == 0))
                visit(c, op->arg[n].node, i, refuse_slice);
        for (int n = 0; op->value && n < op->carried; n++)
            visit(c, op->value[n].node, i, refuse_slice);
    }
}

/* ---- accumulators ---------------------------------------------------------------------------------------------- */

static const char linear[] = "PROGRAM-LINEAR";

/* The one that holds the sum: a tile of the extents of `as` that a dot gave or a loop carries. */
static bool is_accumulator(const struct program_op *op, const struct program_tile *as)
{
    bool owned = op->kind == PROGRAM_DOT || op->kind == PROGRAM_PARAM || op->kind == PROGRAM_RESULT;
    return owned && op->tile.rows == as->rows && op->tile.columns == as->columns;
}

/* `by` adds to the leaf in place. */
static void consume(struct check *c, int leaf, int by)
{
    const struct program_op *op = &c->p->op[leaf], *user = &c->p->op[by];
    const struct program_tile *as = user->kind == PROGRAM_DOT ? &user->tile : &op->tile;
    if (!is_accumulator(op, as))
        return;
    if (c->consumer[leaf] >= 0)
        fault(c, user, linear,
              "%s adds to a tile to which line %d adds in place already; add to what that one gave, or make two sums",
              user->kind == PROGRAM_DOT ? "this dot" : "this loop", c->p->op[c->consumer[leaf]].loc.line);
    else if (c->body[leaf] != c->body[by])
        fault(c, user, linear,
              "%s adds in place, in every turn anew, to a tile that was made outside of its loop in line %d; carry it",
              user->kind == PROGRAM_DOT ? "this dot" : "this loop", op->loc.line);
    else
        c->consumer[leaf] = by;
}

static void check_alive(struct check *c, int leaf, int by)
{
    int consumer = c->consumer[leaf];
    const struct program_op *user = &c->p->op[by];
    if (consumer < 0 || by < consumer || (by == consumer && user->kind == PROGRAM_LOOP))
        return;
    fault(c, user, linear,
          "this %s what line %d has added to in place by then; use it before, or use what that sum gave",
          user->kind == PROGRAM_END ? "carries on" : "reads", c->p->op[consumer].loc.line);
}

static void check_accumulators(struct check *c)
{
    const struct program *p = c->p;
    int around = -1;
    for (int i = 0; i < p->op_count; i++) { /* RESULTs and LOOPs stand outside of their body, END and PARAMs in it */
        c->consumer[i] = -1;
        c->body[i] = around;
        if (p->op[i].kind == PROGRAM_LOOP)
            around = i;
        if (p->op[i].kind == PROGRAM_END)
            around = c->body[p->op[i].loop];
    }
    for (int i = 0; i < p->op_count; i++)
        if (p->op[i].kind == PROGRAM_DOT)
            visit(c, p->op[i].arg[2].node, i, consume);
    for (int i = p->op_count - 1; i >= 0; i--) /* an inner loop before the outer one that hands it the sum */
        for (int n = 0; p->op[i].kind == PROGRAM_LOOP && n < p->op[i].carried; n++)
            if (c->consumer[carried_op(&p->op[i], i, n, false)] >= 0)
                visit(c, p->op[i].value[n].node, i, consume);
    for (int i = 0; i < p->op_count; i++) {
        const struct program_op *op = &p->op[i];
        for (int n = 0; n < (op->kind == PROGRAM_DOT ? 2 : 3); n++)
            visit(c, op->arg[n].node, i, check_alive);
        for (int n = 0; op->value && n < op->carried; n++)
            visit(c, op->value[n].node, i, check_alive);
    }
}

void trace_check(struct trace *t)
{
    struct reader *r = t->r;
    size_t count = (size_t)t->p->op_count + 1;
    struct check c = {.t = t, .p = t->p};
    c.live = arena_alloc(r->arena, count * sizeof *c.live);
    c.wanted = arena_alloc(r->arena, count * sizeof *c.wanted);
    c.consumer = arena_alloc(r->arena, count * sizeof *c.consumer);
    c.body = arena_alloc(r->arena, count * sizeof *c.body);
    reader_check(r, c.live);
    reader_check(r, c.wanted);
    reader_check(r, c.consumer);
    reader_check(r, c.body);
    find_live(&c);
    check_use(&c);
    int aside = reader_aside(r), effects = 0;
    check_tensor_use(&c);
    for (int i = 0; i < t->p->op_count; i++)
        effects += is_effect(t->p->op[i].kind);
    if (effects) /* else there is nothing to plan */
        reader_aside_end(r, aside, false);
    check_slices(&c);
    check_accumulators(&c);
}
