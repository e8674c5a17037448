/* Expressions as text, with as few parentheses as the precedences need. */
#include "spec/expr.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Binding strength, as in Lua; a node is put in parentheses where its surroundings bind more. */
enum { LOOSE, EITHER, BOTH, SUM, PRODUCT, PREFIX, ATOM };

struct printer {
    const struct expr_graph *g;
    const char *const *name;
    char *out;
    size_t size, length;
    bool lua;
    int depth;
    const struct expr_names *names; /* NULL: integer expressions over `name` */
};

enum { MAX_DEPTH = 1000 };

static void put(struct printer *p, const char *text)
{
    size_t n = strlen(text);
    if (p->length < p->size) {
        size_t room = p->size - p->length - 1, part = n < room ? n : room;
        memcpy(p->out + p->length, text, part);
        p->out[p->length + part] = 0;
    }
    p->length += n;
}

static void print(struct printer *p, int node, int around);

/* Adds the number in digits. */
static void put_digits(struct printer *p, int64_t value)
{
    char digit[24], *first = digit + sizeof digit - 1;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    *first = '\0';
    do
        *--first = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0)
        *--first = '-';
    put(p, first);
}

static void put_int(struct printer *p, int64_t value, int around)
{
    const bool parted = value < 0 && around > SUM;
    if (value == INT64_MIN) {
        put(p, "(");
        put_digits(p, -INT64_MAX);
        put(p, " - 1)");
        return;
    }
    put(p, parted ? "(" : "");
    put_digits(p, value);
    put(p, parted ? ")" : "");
}

static void infix(struct printer *p, const struct expr_node *n, const char *text, int own, int around)
{
    bool enclosed = around > own;
    put(p, enclosed ? "(" : "");
    print(p, n->arg[0], own);
    put(p, text);
    print(p, n->arg[1], own + 1);
    put(p, enclosed ? ")" : "");
}

/* e + -3 and e + -f read better as differences. */
static void sum(struct printer *p, const struct expr_node *n, int around)
{
    const struct expr_node *b = &p->g->node[n->arg[1]];
    if (b->op != EXPR_CONST_INT || b->integer >= 0 || b->integer == INT64_MIN) {
        infix(p, n, " + ", SUM, around);
        return;
    }
    put(p, around > SUM ? "(" : "");
    print(p, n->arg[0], SUM);
    put(p, " - ");
    put_digits(p, -b->integer);
    put(p, around > SUM ? ")" : "");
}

static void call(struct printer *p, const struct expr_node *n, const char *name)
{
    put(p, name);
    put(p, "(");
    for (int i = 0; i < 3 && n->arg[i] >= 0; i++) {
        put(p, i ? ", " : "");
        print(p, n->arg[i], LOOSE);
    }
    put(p, ")");
}

/* a OP b ? a : b, the only form of min, max and abs that needs no helper in C. */
static void choose(struct printer *p, const struct expr_node *n, const char *compare)
{
    put(p, "(");
    print(p, n->arg[0], SUM);
    put(p, compare);
    if (n->op == EXPR_ABS) {
        put(p, "0 ? -");
        print(p, n->arg[0], ATOM);
        put(p, " : ");
        print(p, n->arg[0], SUM);
    } else {
        print(p, n->arg[1], SUM);
        put(p, " ? ");
        print(p, n->arg[0], SUM);
        put(p, " : ");
        print(p, n->arg[1], SUM);
    }
    put(p, ")");
}

/* C rounds towards zero: where a sign is unknown, floor division and remainder take a correction. */
static void floor_c(struct printer *p, const struct expr_node *n, int around)
{
    bool division = n->op == EXPR_FLOORDIV;
    if (expr_is_natural(p->g, n->arg[0]) && expr_is_natural(p->g, n->arg[1])) {
        infix(p, n, division ? " / " : " % ", PRODUCT, around);
        return;
    }
    put(p, "(");
    infix(p, n, division ? " / " : " % ", PRODUCT, SUM);
    put(p, division ? " - (" : " + (");
    infix(p, n, " % ", PRODUCT, PRODUCT);
    put(p, " != 0 && (");
    print(p, n->arg[0], SUM);
    put(p, " < 0) != (");
    print(p, n->arg[1], SUM);
    put(p, " < 0)");
    if (!division) {
        put(p, " ? ");
        print(p, n->arg[1], SUM);
        put(p, " : 0");
    }
    put(p, "))");
}

/* A real constant: whole ones with .0, so that they are none of Lua's integers. */
static void put_real(struct printer *p, double value, int around)
{
    char text[40];
    if (isinf(value) || isnan(value))
        snprintf(text, sizeof text, "%s", isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
    else
        for (int digits = 1; digits <= 17; digits++) {
            snprintf(text, sizeof text, "%.*g", digits, value);
            if (strtod(text, NULL) == value)
                break;
        }
    if (!strpbrk(text, ".enif"))
        memcpy(text + strlen(text), ".0", 3);
    bool enclosed = text[0] == '-' && around > SUM;
    put(p, enclosed ? "(" : "");
    put(p, text);
    put(p, enclosed ? ")" : "");
}

static void put_name(struct printer *p, const char *const *name, const char *before, int64_t number)
{
    put(p, before);
    if (name)
        put(p, name[number]);
    else
        put_digits(p, number);
}

/* Leaves and operators of fused functions and programs; false: the node is none of them. */
static bool print_value(struct printer *p, const struct expr_node *n, int around)
{
    const struct expr_names *names = p->names;
    switch (n->op) {
    case EXPR_CONST_REAL:
        put_real(p, n->real, around);
        return true;
    case EXPR_INDEX:
        put_name(p, names->axis, "i.", n->integer);
        return true;
    case EXPR_AT:
        put_name(p, names->axis, "at.", n->integer);
        return true;
    case EXPR_ACC:
        put(p, "acc");
        return true;
    case EXPR_SCALAR:
        put_name(p, names->scalar, "t.", n->integer);
        return true;
    case EXPR_ROW:
        put(p, "row()");
        return true;
    case EXPR_COLUMN:
        put(p, "column()");
        return true;
    case EXPR_LOOP:
    case EXPR_TILE:
        put_name(p, names->operation, "", n->integer);
        return true;
    case EXPR_TENSOR:
        put_name(p, names->tensor, "t.", n->integer);
        for (int i = 0; i < n->rank; i++) {
            put(p, "[");
            print(p, p->g->index[n->first_index + i], LOOSE);
            put(p, "]");
        }
        return true;
    case EXPR_DIV:
        infix(p, n, " / ", PRODUCT, around);
        return true;
    case EXPR_AND:
        infix(p, n, " & ", BOTH, around);
        return true;
    case EXPR_OR:
        infix(p, n, " | ", EITHER, around);
        return true;
    case EXPR_NOT:
        put(p, "~");
        print(p, n->arg[0], ATOM);
        return true;
    case EXPR_CAST:
        put(p, "cast(");
        print(p, n->arg[0], LOOSE);
        put(p, ", \"");
        put(p, tw_dtype_name(n->dtype));
        put(p, "\")");
        return true;
    default:
        if (expr_ops[n->op].arity > 0 && expr_ops[n->op].name[0] >= 'a' && expr_ops[n->op].name[0] <= 'z') {
            call(p, n, expr_ops[n->op].name);
            return true;
        }
        return false;
    }
}

static void print_node(struct printer *p, int node, int around)
{
    const struct expr_node *n = &p->g->node[node];
    if (p->names && print_value(p, n, around))
        return;
    switch (n->op) {
    case EXPR_CONST_INT:
        put_int(p, n->integer, around);
        return;
    case EXPR_SYMBOL:
        put_name(p, p->names ? p->names->dim : p->name, "", n->integer);
        return;
    case EXPR_ADD:
        sum(p, n, around);
        return;
    case EXPR_SUB:
        infix(p, n, " - ", SUM, around);
        return;
    case EXPR_MUL:
        infix(p, n, " * ", PRODUCT, around);
        return;
    case EXPR_NEG:
        put(p, around > PREFIX ? "(-" : "-");
        print(p, n->arg[0], ATOM);
        put(p, around > PREFIX ? ")" : "");
        return;
    case EXPR_FLOORDIV:
        if (p->lua)
            infix(p, n, " // ", PRODUCT, around);
        else
            floor_c(p, n, around);
        return;
    case EXPR_MOD:
        if (p->lua)
            infix(p, n, " % ", PRODUCT, around);
        else
            floor_c(p, n, around);
        return;
    case EXPR_MIN:
        if (p->lua)
            call(p, n, "min");
        else
            choose(p, n, " < ");
        return;
    case EXPR_MAX:
        if (p->lua)
            call(p, n, "max");
        else
            choose(p, n, " > ");
        return;
    case EXPR_ABS:
        if (p->lua)
            call(p, n, "abs");
        else
            choose(p, n, " < ");
        return;
    default:
        put(p, "?");
        return; /* no integer arithmetic */
    }
}

/* Shared nodes are printed at each use, so a small graph may be a huge text, and a chain may be deep: both end here. */
static void print(struct printer *p, int node, int around)
{
    if (p->length > EXPR_MAX_TEXT)
        return;
    if (p->depth == MAX_DEPTH) {
        p->length = EXPR_MAX_TEXT + 1;
        return;
    }
    const char *const *shared = p->names && p->depth ? p->names->shared : NULL;
    p->depth++;
    if (shared && shared[node])
        put(p, shared[node]);
    else
        print_node(p, node, around);
    p->depth--;
}

static size_t print_all(struct printer *p, int node)
{
    if (p->size)
        p->out[0] = 0;
    if (node >= 0 && node < p->g->count)
        print(p, node, LOOSE);
    return p->length;
}

size_t expr_print_c(const struct expr_graph *g, int node, const char *const *name, char *out, size_t size)
{
    struct printer p = {.g = g, .name = name, .out = out, .size = size};
    return print_all(&p, node);
}

size_t expr_print_lua(const struct expr_graph *g, int node, const char *const *name, char *out, size_t size)
{
    struct printer p = {.g = g, .name = name, .out = out, .size = size, .lua = true};
    return print_all(&p, node);
}

size_t expr_print_named(const struct expr_graph *g, int node, const struct expr_names *names, char *out, size_t size)
{
    struct printer p = {.g = g, .out = out, .size = size, .lua = true, .names = names};
    return print_all(&p, node);
}
