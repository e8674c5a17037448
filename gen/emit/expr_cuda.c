#include "emit/expr_cuda.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum rule { LEAF, ARITH, INTS, REALS, COMPARE, LOGIC, SELECT, CAST, WHOLES };

static const struct operator
{
    const char *spelling;
    enum rule rule;
    int arity;
}
operators[EXPR_OP_COUNT] = {
#define EXPR_OP(id, name, arity, rule, spelling) {spelling, rule, arity},
#include "spec/expr_ops.def"
#undef EXPR_OP
};

static const char *const type_text[] = {[EXPR_INT] = "long long", [EXPR_REAL] = "float", [EXPR_PRED] = "bool"};

void expr_cuda_real(double value, struct emit_text *out)
{
    float f = (float)value;
    if (isnan(f) || isinf(f)) {
        text_string(out, isnan(f) ? "__int_as_float(0x7fffffff)"
                         : f > 0  ? "__int_as_float(0x7f800000)"
                                  : "__int_as_float(0xff800000)");
        return;
    }
    char digits[32];
    int precision = 1; /* nine digits give every float back */
    do
        snprintf(digits, sizeof digits, "%.*g", precision, (double)f);
    while (strtof(digits, NULL) != f && ++precision <= 9);
    bool negative = signbit(f);
    text_format(out, "%s%s%sf%s", negative ? "(" : "", digits, strpbrk(digits, ".e") ? "" : ".0", negative ? ")" : "");
}

static void add_int(int64_t value, struct emit_text *out)
{
    if (value == INT64_MIN)
        text_string(out, "(-9223372036854775807ll - 1)");
    else
        text_format(out, value < 0 ? "(%" PRId64 "ll)" : "%" PRId64 "ll", value);
}

struct printer {
    const struct expr_graph *g;
    const struct expr_cuda_names *names;
    struct emit_text *out; /* of the node's level */
    const struct expr_cuda_levels *levels;
    const char **text; /* by node: its value, once it is printed */
    int *level;        /* by node */
    bool *halved;      /* by node: its statement has half of the value */
    int statements;
};

/* Whether the integer node is computed in 32 bits. */
static bool is_narrow(const struct printer *p, int node)
{
    return p->names->narrow && p->g->node[node].type == EXPR_INT && p->names->narrow(p->names->context, node);
}

/* A constant in 32 bits stands without a suffix: C's conversions make of it what the other operand is. */
static const char *plain_constant(const struct printer *p, const struct expr_node *n, struct arena *arena)
{
    bool plain = p->names->narrow && n->op == EXPR_CONST_INT && n->type == EXPR_INT && n->integer > INT32_MIN &&
                 n->integer <= INT32_MAX;
    return plain ? arena_format(arena, n->integer < 0 ? "(%" PRId64 ")" : "%" PRId64, n->integer) : NULL;
}

/* The operand as the operator takes it: reals where it computes in reals. */
static const char *operand(struct printer *p, const struct expr_node *n, int which)
{
    const struct expr_node *a = &p->g->node[n->arg[which]];
    const char *text = p->text[n->arg[which]];
    bool real = false, wide = false;
    switch (operators[n->op].rule) {
    case ARITH:
    case REALS:
    case CAST:
        real = n->type == EXPR_REAL;
        break;
    case WHOLES: /* of a real: integers stay */
        break;
    case SELECT:
        real = n->type == EXPR_REAL && which > 0;
        break;
    case COMPARE:
        real = p->g->node[n->arg[0]].type == EXPR_REAL || p->g->node[n->arg[1]].type == EXPR_REAL;
        break;
    case LEAF:
    case INTS:
    case LOGIC:
        break;
    }
    /* Narrow operands of a wide result are widened before the operator. */
    if (n->type == EXPR_INT && p->names->narrow && !is_narrow(p, (int)(n - p->g->node)))
        wide = a->op != EXPR_CONST_INT && is_narrow(p, n->arg[which]);
    if ((!real && !wide) || a->type != EXPR_INT)
        return text;
    char *cast = arena_format(p->out->arena, real ? "(float)%s" : "(long long)%s", text);
    p->out->failed = p->out->failed || !cast;
    return cast ? cast : text;
}

/* Its statement stands in the innermost loop. */
static bool is_inner(const struct printer *p, const struct expr_node *n)
{
    return p->levels && p->level[n - p->g->node] == p->levels->levels - 1;
}

/* The right side of a node's statement, without parentheses around the whole. */
static void add_operation(struct printer *p, const struct expr_node *n)
{
    const struct operator* op = & operators[n->op];
    const char *s = op->spelling;
    if (p->halved[n - p->g->node]) {
        const bool read = p->g->node[n->arg[0]].op == EXPR_TENSOR; /* often one value for several sums */
        text_format(p->out, "fmaf(0.5f, %s, 0.5f * %s)", operand(p, n, read), operand(p, n, !read));
    } else if (n->op == EXPR_GELU_TANH_APPROX && p->halved[n->arg[0]]) {
        text_format(p->out, "ew_gelu_tanh_approx_doubled(%s)", operand(p, n, 0));
    } else if (n->op == EXPR_CAST) {
        text_format(p->out, "ew_cast_%s(%s)", tw_dtype_name(n->dtype), operand(p, n, 0));
    } else if (p->names->narrow && (n->op == EXPR_FLOORDIV || n->op == EXPR_MOD) && expr_is_natural(p->g, n->arg[0]) &&
               expr_is_natural(p->g, n->arg[1])) {
        text_format(p->out, "%s %c %s", operand(p, n, 0), n->op == EXPR_MOD ? '%' : '/', operand(p, n, 1));
    } else if (n->op == EXPR_DIV && p->g->node[n->arg[0]].op == EXPR_CONST_REAL && p->g->node[n->arg[0]].real == 1.0) {
        text_format(p->out, "ew_reciprocal(%s)", operand(p, n, 1));
    } else if (p->names->narrow && n->type == EXPR_INT && (n->op == EXPR_MIN || n->op == EXPR_MAX)) {
        bool narrow = is_narrow(p, n->arg[0]) && is_narrow(p, n->arg[1]);
        text_string(p->out, n->op == EXPR_MIN ? "min(" : "max(");
        for (int i = 0; i < 2; i++) {
            const struct expr_node *a = &p->g->node[n->arg[i]];
            bool constant = a->op == EXPR_CONST_INT && a->integer >= 0, wide = !is_narrow(p, n->arg[i]);
            /* Of an item's place some templates have a variable of 64 bits. */
            const char *cast = narrow && a->op == EXPR_AT ? "(int)" : narrow || constant || wide ? "" : "(long long)";
            text_format(p->out, "%s%s%s", cast, p->text[n->arg[i]], !narrow && constant && !wide ? "ll" : "");
            text_string(p->out, i == 0 ? ", " : ")");
        }
    } else if (*s == '@') {
        const int every = n->op == EXPR_EXP2_DIFF && is_inner(p, n) ? p->names->polynomial : 0;
        if (every)
            text_format(p->out, "(pair * 2 + lane) %% %d == %d ? ew_exp2_diff_polynomial(%s, %s) : ", every, every - 1,
                        operand(p, n, 0), operand(p, n, 1));
        text_format(p->out, "ew_%s(", s + 1);
        for (int i = 0; i < op->arity; i++)
            text_format(p->out, "%s%s", i ? ", " : "", operand(p, n, i));
        text_string(p->out, ")");
    } else {
        size_t length = strlen(s), from = 0;
        if (length >= 2 && s[0] == '(' && s[length - 1] == ')')
            from = 1, length--;
        for (size_t i = from; i < length; i++) {
            if (s[i] == '%' && s[i + 1] >= '1' && s[i + 1] <= '3')
                text_string(p->out, operand(p, n, s[++i] - '1'));
            else
                text_add(p->out, s + i, 1);
        }
    }
}

static bool is_whole(const struct printer *p, const struct expr_node *n)
{
    return n->op == EXPR_TENSOR && p->names->whole && p->names->whole(p->names->context, (int)(n - p->g->node));
}

/* The condition under which the element is read, and else 0; -1: it always is. */
static int guard_of(const struct printer *p, int node)
{
    bool guarded = p->g->node[node].op == EXPR_TENSOR && p->names->guard;
    int guard = guarded ? p->names->guard(p->names->context, node) : -1;
    return guard >= 0 && guard < node ? guard : -1; /* its text is there */
}

/* select(condition, element, 0) of an element that is 0 without the condition. */
static bool is_element(const struct printer *p, const struct expr_node *n)
{
    const struct expr_node *no = n->op == EXPR_SELECT ? &p->g->node[n->arg[2]] : NULL;
    bool zero =
        no && ((no->op == EXPR_CONST_REAL && no->real == 0.0) || (no->op == EXPR_CONST_INT && no->integer == 0));
    return zero && n->type == EXPR_REAL && guard_of(p, n->arg[1]) == n->arg[0];
}

/* A variable that has the node's value; NULL: it is computed here. */
static const char *known_name(const struct printer *p, int node)
{
    return p->names->known ? p->names->known(p->names->context, node) : NULL;
}

/* The text of a leaf that is no statement. */
static void add_leaf(struct printer *p, const struct expr_node *n, struct emit_text *out)
{
    if (n->op == EXPR_CONST_REAL) {
        expr_cuda_real(n->real, out);
    } else if (n->op == EXPR_CONST_INT) {
        const char *plain = plain_constant(p, n, out->arena);
        if (n->type == EXPR_PRED)
            text_string(out, n->integer ? "true" : "false");
        else if (plain)
            text_string(out, plain);
        else
            add_int(n->integer, out);
    } else {
        const char **at = arena_alloc(out->arena, ((size_t)n->rank + 1) * sizeof *at);
        if (!at) {
            out->failed = true;
            return;
        }
        for (int i = 0; i < n->rank; i++)
            at[i] = p->text[p->g->index[n->first_index + i]];
        p->names->leaf(p->names->context, n, at, out);
    }
}

/* A variable: reading it again costs nothing. */
static bool is_name(const struct emit_text *text)
{
    size_t i = 0;
    while (i < text->length && (isalnum((unsigned char)text->data[i]) || text->data[i] == '_'))
        i++;
    return i == text->length;
}

static void print_node(struct printer *p, int node)
{
    const struct expr_node *n = &p->g->node[node];
    if (p->levels)
        p->out = &p->levels->out[p->level[node]];
    struct emit_text text = {.arena = p->out->arena}, leaf = {.arena = p->out->arena};
    const char *known = known_name(p, node);
    if (operators[n->op].rule == LEAF && !known)
        add_leaf(p, n, &leaf);
    p->out->failed = p->out->failed || leaf.failed;
    if (known) {
        text_format(&text, is_narrow(p, node) ? "%s" : "(long long)%s", known);
    } else if (operators[n->op].rule == LEAF && (n->op != EXPR_TENSOR || is_name(&leaf))) {
        text = leaf;
    } else if (is_element(p, n)) {
        text_string(&text, p->text[n->arg[1]]);
    } else if (n->op == EXPR_CAST && (n->dtype == TW_FP32 || n->dtype == TW_FP64)) {
        text_string(&text, operand(p, n, 0)); /* a float already */
    } else {
        text_format(&text, "%s%d", p->names->prefix, p->statements);
        bool first = p->levels ? p->out->length == 0 : p->statements == 0;
        text_format(p->out, "%s%s%s %s%d = ", first ? "" : "\n", p->levels ? "const " : "",
                    is_narrow(p, node) ? "int" : type_text[n->type], p->names->prefix, p->statements);
        p->statements++;
        int guard = is_whole(p, n) ? -1 : guard_of(p, node);
        const char *condition = guard >= 0 ? p->text[guard] : NULL;
        if (condition)
            text_format(p->out, "%s ? ", condition);
        if (n->op == EXPR_TENSOR)
            text_add(p->out, leaf.data, leaf.length);
        else
            add_operation(p, n);
        text_string(p->out, !condition ? ";" : n->type == EXPR_REAL ? " : 0.0f;" : " : 0;");
    }
    p->out->failed = p->out->failed || text.failed;
    p->text[node] = text.data ? text.data : "";
}

/* The outermost level where all of the node's operands can be read. */
static int level_of(const struct printer *p, const struct expr_node *n)
{
    int level = 0;
    if (known_name(p, (int)(n - p->g->node)))
        return 0;
    if (operators[n->op].rule == LEAF && n->op != EXPR_CONST_INT && n->op != EXPR_CONST_REAL)
        level = p->names->level(p->names->context, n);
    for (int i = 0; i < operators[n->op].arity; i++)
        level = p->level[n->arg[i]] > level ? p->level[n->arg[i]] : level;
    for (int i = 0; n->op == EXPR_TENSOR && i < n->rank && !is_whole(p, n); i++) {
        int at = p->level[p->g->index[n->first_index + i]];
        level = at > level ? at : level;
    }
    return level;
}

/* gelu_tanh_approx(a + b) is made of half of the sum, which is one instruction beside b / 2: as many as the sum where
 * that serves several. Rounded once, it is half of the rounded sum. Of a sum that nothing else takes. */
static void halve(struct printer *p, const int *root, int count, const bool *needed, int nodes, int *uses)
{
    for (int i = 0; i < count; i++)
        uses[root[i]]++;
    for (int node = 0; node < nodes; node++)
        for (int i = 0; needed[node] && i < operators[p->g->node[node].op].arity; i++)
            uses[p->g->node[node].arg[i]]++;
    for (int node = 0; node < nodes; node++) {
        const int sum = p->g->node[node].op == EXPR_GELU_TANH_APPROX ? p->g->node[node].arg[0] : -1;
        if (needed[node] && sum >= 0 && p->g->node[sum].op == EXPR_ADD && p->g->node[sum].type == EXPR_REAL)
            p->halved[sum] = uses[sum] == 1 && !known_name(p, sum) && !known_name(p, node);
    }
}

static int print(struct printer *p, const int *root, int count, const char **result)
{
    const struct expr_graph *g = p->g;
    struct arena *arena = p->out->arena;
    int nodes = 0; /* operands are earlier nodes, and guards */
    for (int i = 0; i < count; i++)
        nodes = root[i] >= nodes ? root[i] + 1 : nodes;
    p->text = arena_alloc(arena, ((size_t)nodes + 1) * sizeof *p->text);
    p->level = arena_alloc(arena, ((size_t)nodes + 1) * sizeof *p->level);
    p->halved = arena_alloc(arena, ((size_t)nodes + 1) * sizeof *p->halved);
    bool *needed = arena_alloc(arena, ((size_t)nodes + 1) * sizeof *needed);
    int *uses = arena_alloc(arena, ((size_t)nodes + 1) * sizeof *uses);
    if (!p->text || !p->level || !p->halved || !needed || !uses)
        return 3;
    for (int i = 0; i < count; i++)
        needed[root[i]] = true;
    for (int node = nodes - 1; node >= 0; node--) {
        const struct expr_node *n = &g->node[node];
        if (!needed[node] || known_name(p, node))
            continue;
        for (int i = 0; i < operators[n->op].arity; i++)
            needed[n->arg[i]] = true;
        for (int i = 0; n->op == EXPR_TENSOR && i < n->rank && !is_whole(p, n); i++)
            needed[g->index[n->first_index + i]] = true;
    }
    halve(p, root, count, needed, nodes, uses);
    for (int node = 0; node < nodes && !p->out->failed; node++)
        if (needed[node]) {
            if (p->levels)
                p->level[node] = level_of(p, &g->node[node]);
            print_node(p, node);
        }
    for (int i = 0; i < count; i++)
        result[i] = p->text[root[i]];
    return p->out->failed ? 3 : 0;
}

int expr_print_cuda(const struct expr_graph *g, const int *root, int count, const struct expr_cuda_names *names,
                    struct emit_text *out, const char **result)
{
    struct printer p = {.g = g, .names = names, .out = out};
    return print(&p, root, count, result);
}

int expr_print_cuda_levels(const struct expr_graph *g, const int *root, int count, const struct expr_cuda_names *names,
                           const struct expr_cuda_levels *levels, const char **result)
{
    struct printer p = {.g = g, .names = names, .out = levels->out, .levels = levels};
    int status = print(&p, root, count, result);
    for (int i = 0; i < count && !status; i++)
        levels->at[i] = p.level[root[i]];
    for (int i = 0; i < levels->levels; i++)
        status = levels->out[i].failed ? 3 : status;
    return status;
}
