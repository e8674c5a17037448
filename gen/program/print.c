/* The program as text, one operation a line. What several lines or terms share, and is more than a few terms long, has
 * a line of its own before its first use: $1 = ... */
#include "program/program.h"

#include <stdlib.h>
#include <string.h>

/* By node of the graph. */
struct shared {
    int uses;   /* terms and lines that have it as an operand */
    int weight; /* operators of its text, up to WEIGHT_MOST */
    bool reached;
    char name[16];
};

enum { WEIGHT_LEAST = 3, WEIGHT_MOST = 1000 };

struct printer {
    const struct program *p;
    struct shared *node;
    const char **shared; /* names.shared, filled line by line */
    int *named;          /* how many names were given */
    const struct spec_kernel *kernel;
    struct expr_names names;
    FILE *out;
};

static void put_node(const struct printer *w, int node)
{
    char text[2000];
    if (w->names.shared && w->names.shared[node]) {
        fputs(w->names.shared[node], w->out);
        return;
    }
    size_t length = expr_print_named(w->p->graph, node, &w->names, text, sizeof text);
    fputs(text, w->out);
    if (length >= sizeof text)
        fputs("...", w->out);
}

static void put_tile(const struct printer *w, const struct program_tile *t)
{
    fprintf(w->out, "%d x %d %s", t->rows, t->columns,
            t->dtype == TW_DTYPE_COUNT ? "condition" : tw_dtype_name(t->dtype));
}

/* "  where rows (...), columns (...)" */
static void put_edges(const struct printer *w, const struct program_tile *t)
{
    if (t->valid_row >= 0) {
        fputs("  rows where ", w->out);
        put_node(w, t->valid_row);
    }
    if (t->valid_column >= 0) {
        fputs(t->valid_row >= 0 ? ", columns where " : "  columns where ", w->out);
        put_node(w, t->valid_column);
    }
}

static void put_access(const struct printer *w, const struct program_op *op)
{
    const struct spec_tensor *t = &w->kernel->tensor[op->tensor];
    fprintf(w->out, "t.%s", t->name);
    for (int d = 0; d < t->rank; d++) {
        const struct program_coordinate *c = &op->at[d];
        fputs(", ", w->out);
        if (d == op->gathered) {
            put_node(w, op->arg[op->kind == PROGRAM_SCATTER_ADD].node);
            continue;
        }
        if (c->length)
            fputs("span(", w->out);
        put_node(w, c->start);
        if (c->length)
            fprintf(w->out, ", %d", c->length);
        if (c->length && c->limit >= 0) {
            fputs(", ", w->out);
            put_node(w, c->limit);
        }
        if (c->length)
            fputs(")", w->out);
    }
}

static void put_window(const struct printer *w, const char *name, const int *value, int dims)
{
    fprintf(w->out, "%s = { ", name);
    for (int i = 0; i < dims; i++)
        fprintf(w->out, "%s%d", i ? ", " : "", value[i]);
    fputs(" }, ", w->out);
}

/* ", { taps = { 3, 3 }, ... }" */
static void put_windows(const struct printer *w, const struct spec_window *x)
{
    fputs(", { ", w->out);
    put_window(w, "taps", x->taps, x->dims);
    put_window(w, "stride", x->step, x->dims);
    put_window(w, "dilation", x->dilation, x->dims);
    fputs("padding = { ", w->out);
    for (int i = 0; i < x->dims; i++)
        fprintf(w->out, "%s{ %d, %d }", i ? ", " : "", x->before[i], x->after[i]);
    fputs(" } }", w->out);
}

static const char *reduction_name(const struct program_op *op)
{
    static const char *const name[2][PROGRAM_REDUCTIONS] = {{"row_sum", "row_max", "row_min"},
                                                            {"column_sum", "column_max", "column_min"}};
    return name[op->over_rows][op->reduction];
}

static const char *name_of(const struct program_op *op)
{
    static const char *const segment[PROGRAM_REDUCTIONS] = {"row_segment_sum", "row_segment_max", "row_segment_min"};
    return op->kind == PROGRAM_REDUCE    ? reduction_name(op)
           : op->kind == PROGRAM_SEGMENT ? segment[op->reduction]
           : op->window.dims             ? "im2col"
                                         : program_kinds[op->kind].name;
}

static void put_call(const struct printer *w, const struct program_op *op)
{
    const struct program_kind_info *info = &program_kinds[op->kind];
    bool access = op->tensor >= 0;
    fprintf(w->out, "%s(", name_of(op));
    if (access)
        put_access(w, op);
    if (op->window.dims)
        put_windows(w, &op->window);
    for (int i = 0; i < info->arguments; i++) {
        bool numbers = access && op->gathered >= 0 && i == (op->kind == PROGRAM_SCATTER_ADD);
        if (op->arg[i].node < 0 || numbers)
            continue;
        fputs(access || i ? ", " : "", w->out);
        put_node(w, op->arg[i].node);
    }
    if (op->kind == PROGRAM_PICK)
        fprintf(w->out, ", %d", op->which);
    if (op->kind == PROGRAM_SLICE)
        fprintf(w->out, ", %d", op->tile.rows);
    fputs(")", w->out);
}

static void put_loop(const struct printer *w, const struct program_op *op)
{
    fprintf(w->out, "for %s ", op->name);
    if (op->list >= 0) {
        const struct spec_tensor *t = &w->kernel->tensor[op->list];
        fprintf(w->out, "in t.%s", t->name);
        for (int d = 0; d + 1 < t->rank; d++) {
            fputs("[", w->out);
            put_node(w, op->at[d].start);
            fputs("]", w->out);
        }
        fputs(" from ", w->out);
    } else {
        fputs("= ", w->out);
    }
    put_node(w, op->from);
    fputs(" to ", w->out);
    put_node(w, op->to);
    if (op->list < 0) {
        fputs(" by ", w->out);
        put_node(w, op->step);
    }
}

/* Two parts of a loop's turns: the second one's values are those behind the loop. */
static void put_combine(const struct printer *w, const struct program_op *loop)
{
    if (!loop->combine)
        return;
    fprintf(w->out, "%*sparts of it combine to ", 2 + 2 * loop->depth, "");
    for (int i = 0; i < loop->carried; i++) {
        fputs(i ? ", " : "", w->out);
        put_node(w, loop->combine[i]);
    }
    fputc('\n', w->out);
}

/* ---- what lines share ------------------------------------------------------------------------------------------ */

enum { MOST_ROOTS = 2 * SPEC_MAX_RANK + PROGRAM_MAX_CARRIED + 8 };

/* The expressions on the line of an operation. */
static int roots_of(const struct program *p, const struct spec_kernel *k, const struct program_op *op, int *root)
{
    const struct program_tile *edge = op->tile.rows ? &op->tile : &op->arg[0];
    int all[MOST_ROOTS], count = 0, used = 0, rank = op->tensor >= 0 ? k->tensor[op->tensor].rank : 0;
    for (int i = 0; i < 3; i++)
        all[count++] = op->arg[i].node;
    for (int d = 0; d < rank; d++) {
        all[count++] = op->at[d].start;
        all[count++] = op->at[d].length ? op->at[d].limit : -1;
    }
    for (int i = 0; op->kind == PROGRAM_END && i < op->carried; i++)
        all[count++] = op->value[i].node;
    if (op->kind == PROGRAM_PARAM)
        all[count++] = p->op[op->loop].value[op->which].node;
    if (op->kind == PROGRAM_LOOP) {
        all[count++] = op->from;
        all[count++] = op->to;
    }
    all[count++] = edge->valid_row;
    all[count++] = edge->valid_column;
    for (int i = 0; i < count; i++)
        if (all[i] >= 0)
            root[used++] = all[i];
    return used;
}

static int operand(const struct expr_graph *g, const struct expr_node *n, int i)
{
    return i < 3 ? n->arg[i] : g->index[n->first_index + i - 3];
}

/* Uses and weights of all nodes; operands are earlier nodes. */
static void weigh(const struct printer *w)
{
    const struct expr_graph *g = w->p->graph;
    struct shared *s = w->node;
    int root[MOST_ROOTS];
    for (int i = 0; i < w->p->op_count; i++) {
        int count = roots_of(w->p, w->kernel, &w->p->op[i], root);
        for (int n = 0; n < count; n++) {
            s[root[n]].uses++;
            s[root[n]].reached = true;
        }
    }
    for (int i = g->count - 1; i >= 0; i--)
        for (int k = 0; s[i].reached && k < 3 + g->node[i].rank; k++) {
            int a = operand(g, &g->node[i], k);
            if (a >= 0) {
                s[a].uses++;
                s[a].reached = true;
            }
        }
    for (int i = 0; i < g->count; i++) {
        s[i].weight = expr_ops[g->node[i].op].arity > 0 || g->node[i].rank > 0;
        for (int k = 0; k < 3 + g->node[i].rank; k++) {
            int a = operand(g, &g->node[i], k);
            s[i].weight += a >= 0 ? s[a].weight : 0;
        }
        s[i].weight = s[i].weight < WEIGHT_MOST ? s[i].weight : WEIGHT_MOST;
    }
}

/* Names and prints what the line needs, others need too and has no name yet, in the order of the graph. */
static void put_shared(const struct printer *w, const struct program_op *op)
{
    const struct expr_graph *g = w->p->graph;
    struct shared *s = w->node;
    int root[MOST_ROOTS], count = roots_of(w->p, w->kernel, op, root);
    char text[2000];
    for (int i = 0; i < g->count; i++)
        s[i].reached = false;
    for (int n = 0; n < count; n++)
        s[root[n]].reached = true;
    for (int i = g->count - 1; i >= 0; i--)
        for (int k = 0; s[i].reached && k < 3 + g->node[i].rank; k++) {
            int a = operand(g, &g->node[i], k);
            if (a >= 0)
                s[a].reached = true;
        }
    for (int i = 0; i < g->count; i++) {
        if (!s[i].reached || w->shared[i] || s[i].uses < 2 || s[i].weight < WEIGHT_LEAST)
            continue;
        size_t length = expr_print_named(g, i, &w->names, text, sizeof text);
        snprintf(s[i].name, sizeof s[i].name, "$%d", ++*w->named);
        w->shared[i] = s[i].name;
        fprintf(w->out, "%*s%s = %s%s\n", 2 + 2 * op->depth, "", s[i].name, text, length < sizeof text ? "" : "...");
    }
}

static void put_op(const struct printer *w, int index)
{
    const struct program_op *op = &w->p->op[index];
    const struct program_op *loop = op->loop >= 0 ? &w->p->op[op->loop] : NULL;
    const struct program_tile *last = loop ? w->p->op[loop->end].value : NULL;
    if (op->kind == PROGRAM_END && op->carried == 0)
        return;
    put_shared(w, op);
    fprintf(w->out, "%*s", 2 + 2 * op->depth, "");
    if (op->tile.rows) {
        fprintf(w->out, "%s: ", w->names.operation[index]);
        put_tile(w, &op->tile);
        fputs(" = ", w->out);
    }
    switch (op->kind) {
    case PROGRAM_LOOP:
        put_loop(w, op);
        break;
    case PROGRAM_PARAM:
        fputs("carried, first ", w->out);
        put_node(w, loop->value[op->which].node);
        break;
    case PROGRAM_END:
        fputs("carry on ", w->out);
        for (int i = 0; i < op->carried; i++) {
            fputs(i ? ", " : "", w->out);
            put_node(w, last[i].node);
        }
        break;
    case PROGRAM_RESULT:
        fprintf(w->out, "%s behind %s", w->names.operation[op->loop + 1 + op->which], loop->name);
        break;
    default:
        put_call(w, op);
    }
    put_edges(w, op->tile.rows ? &op->tile : &op->arg[0]);
    fputc('\n', w->out);
    if (op->kind == PROGRAM_RESULT && op->which == loop->carried - 1)
        put_combine(w, loop);
}

static void put_items(const struct printer *w)
{
    fprintf(w->out, "program of %s, for each", w->kernel->name);
    bool first = true;
    for (int i = 0; i < w->p->axis_count; i++) {
        const struct program_axis *a = &w->p->axis[i];
        if (a->extent < 0)
            continue;
        fprintf(w->out, "%s at.%s = 0 to ", first ? "" : ",", a->name);
        put_node(w, a->extent);
        fprintf(w->out, " by %d", a->tile ? a->tile : 1);
        first = false;
    }
    fputs(":\n", w->out);
}

/* "%7", or the name of the operation: text of the array's own behind it. NULL out of memory. */
static const char **operation_names(const struct program *p)
{
    enum { LENGTH = 24 };
    size_t count = (size_t)p->op_count;
    const char **name = malloc(count * (sizeof *name + LENGTH) + 1);
    for (size_t i = 0; name && i < count; i++) {
        char *text = (char *)(name + count) + i * LENGTH;
        snprintf(text, LENGTH, "%%%zu", i);
        name[i] = p->op[i].name ? p->op[i].name : text;
    }
    return name;
}

void program_print(const struct program *p, const struct spec *spec, const struct spec_kernel *kernel, FILE *out)
{
    size_t dims = (size_t)spec->dim_count, tensors = (size_t)kernel->tensor_count,
           scalars = (size_t)kernel->scalar_count;
    const char **name = malloc((dims + tensors + scalars + 1) * sizeof *name), **operation = operation_names(p);
    for (size_t i = 0; name && i < dims; i++)
        name[i] = spec->dim[i].name;
    for (size_t i = 0; name && i < tensors; i++)
        name[dims + i] = kernel->tensor[i].name;
    for (size_t i = 0; name && i < scalars; i++)
        name[dims + tensors + i] = kernel->scalar[i].name;
    size_t nodes = (size_t)p->graph->count;
    struct shared *node = calloc(nodes + 1, sizeof *node);
    const char **shared = calloc(nodes + 1, sizeof *shared);
    int named = 0;
    if (name && operation && node && shared) {
        struct printer w = {.p = p,
                            .node = node,
                            .shared = shared,
                            .named = &named,
                            .kernel = kernel,
                            .names = {name, name + dims, name + dims + tensors, kernel->axis, operation, shared},
                            .out = out};
        weigh(&w);
        put_items(&w);
        for (int i = 0; i < p->op_count; i++)
            put_op(&w, i);
    }
    free(shared);
    free(node);
    free(name);
    free(operation);
}
