/* Integer expressions as text, with as few parentheses as the precedences need. */
#include "spec/expr.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Binding strength; a node is put in parentheses where its surroundings bind more. */
enum { LOOSE, SUM, PRODUCT, PREFIX, ATOM };

struct printer {
    const struct expr_graph *g;
    const char *const *name;
    char *out;
    size_t size, length;
    bool lua;
    int depth;
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

static void put_int(struct printer *p, int64_t value, int around)
{
    char text[40];
    if (value == INT64_MIN)
        snprintf(text, sizeof text, "(-%" PRId64 " - 1)", INT64_MAX);
    else
        snprintf(text, sizeof text, value < 0 && around > SUM ? "(%" PRId64 ")" : "%" PRId64, value);
    put(p, text);
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
    char text[40];
    if (b->op != EXPR_CONST_INT || b->integer >= 0 || b->integer == INT64_MIN) {
        infix(p, n, " + ", SUM, around);
        return;
    }
    put(p, around > SUM ? "(" : "");
    print(p, n->arg[0], SUM);
    snprintf(text, sizeof text, " - %" PRId64, -b->integer);
    put(p, text);
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

static void print_node(struct printer *p, int node, int around)
{
    const struct expr_node *n = &p->g->node[node];
    switch (n->op) {
    case EXPR_CONST_INT:
        put_int(p, n->integer, around);
        return;
    case EXPR_SYMBOL:
        put(p, p->name[n->integer]);
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
    p->depth++;
    print_node(p, node, around);
    p->depth--;
}

static size_t print_as(const struct expr_graph *g, int node, const char *const *name, char *out, size_t size, bool lua)
{
    struct printer p = {g, name, out, size, 0, lua, 0};
    if (size)
        out[0] = 0;
    if (node >= 0 && node < g->count)
        print(&p, node, LOOSE);
    return p.length;
}

size_t expr_print_c(const struct expr_graph *g, int node, const char *const *name, char *out, size_t size)
{
    return print_as(g, node, name, out, size, false);
}

size_t expr_print_lua(const struct expr_graph *g, int node, const char *const *name, char *out, size_t size)
{
    return print_as(g, node, name, out, size, true);
}
