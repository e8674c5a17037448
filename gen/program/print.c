/* The program as text, one operation a line. */
#include "program/program.h"

#include <stdlib.h>
#include <string.h>

struct printer {
    const struct program *p;
    const struct spec_kernel *kernel;
    struct expr_names names;
    FILE *out;
};

static void put_node(const struct printer *w, int node)
{
    char text[2000];
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

static const char *reduction_name(const struct program_op *op)
{
    static const char *const name[2][PROGRAM_REDUCTIONS] = {{"row_sum", "row_max", "row_min"},
                                                            {"column_sum", "column_max", "column_min"}};
    return name[op->over_rows][op->reduction];
}

static void put_call(const struct printer *w, const struct program_op *op)
{
    const struct program_kind_info *info = &program_kinds[op->kind];
    bool access = op->tensor >= 0;
    fprintf(w->out, "%s(", op->kind == PROGRAM_REDUCE ? reduction_name(op) : info->name);
    if (access)
        put_access(w, op);
    for (int i = 0; i < info->arguments; i++) {
        bool numbers = access && op->gathered >= 0 && i == (op->kind == PROGRAM_SCATTER_ADD);
        if (op->arg[i].node < 0 || numbers)
            continue;
        fputs(access || i ? ", " : "", w->out);
        put_node(w, op->arg[i].node);
    }
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

static void put_op(const struct printer *w, int index)
{
    const struct program_op *op = &w->p->op[index];
    const struct program_op *loop = op->loop >= 0 ? &w->p->op[op->loop] : NULL;
    const struct program_tile *last = loop ? w->p->op[loop->end].value : NULL;
    if (op->kind == PROGRAM_END && op->carried == 0)
        return;
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
    if (name && operation) {
        struct printer w = {p, kernel, {name, name + dims, name + dims + tensors, kernel->axis, operation}, out};
        put_items(&w);
        for (int i = 0; i < p->op_count; i++)
            put_op(&w, i);
    }
    free(name);
    free(operation);
}
