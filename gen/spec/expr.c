#include "spec/expr.h"

#include <string.h>

const struct expr_op_info expr_ops[EXPR_OP_COUNT] = {
#define RULE_LEAF EXPR_LEAF
#define RULE_ARITH EXPR_ARITH
#define RULE_INTS EXPR_INTS
#define RULE_REALS EXPR_REALS
#define RULE_COMPARE EXPR_COMPARE
#define RULE_LOGIC EXPR_LOGIC
#define RULE_SELECT EXPR_SELECTION
#define RULE_CAST EXPR_ROUND
#define RULE_WHOLES EXPR_WHOLES
#define EXPR_OP(id, name, arity, rule, spelling) {name, spelling, arity, RULE_##rule},
#include "spec/expr_ops.def"
#undef EXPR_OP
};

/* ---- the store of nodes ---------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t h, uint64_t v)
{
    h ^= v + 0x9e3779b97f4a7c15u + (h << 6) + (h >> 2);
    return h * 0xff51afd7ed558ccdu;
}

static uint64_t hash_of(const struct expr_graph *g, const struct expr_node *n)
{
    uint64_t real = 0, h = (uint64_t)n->op * 8 + (uint64_t)n->type;
    memcpy(&real, &n->real, sizeof real);
    for (int i = 0; i < 3; i++)
        h = mix(h, (uint64_t)n->arg[i]);
    h = mix(mix(mix(h, (uint64_t)n->integer), real), (uint64_t)n->dtype);
    for (int i = 0; i < n->rank; i++)
        h = mix(h, (uint64_t)g->index[n->first_index + i]);
    return h ^ h >> 29;
}

static bool equal(const struct expr_graph *g, const struct expr_node *a, const struct expr_node *b)
{
    return a->op == b->op && a->type == b->type && memcmp(a->arg, b->arg, sizeof a->arg) == 0 &&
           a->integer == b->integer && memcmp(&a->real, &b->real, sizeof a->real) == 0 && a->dtype == b->dtype &&
           a->rank == b->rank &&
           (a->rank == 0 ||
            memcmp(g->index + a->first_index, g->index + b->first_index, (size_t)a->rank * sizeof *g->index) == 0);
}

/* The slot of the equal node, or the free one where it would go. */
static int *slot_of(const struct expr_graph *g, const struct expr_node *n)
{
    size_t mask = (size_t)g->capacity * 2 - 1, at = (size_t)hash_of(g, n) & mask;
    while (g->hash[at] >= 0 && !equal(g, &g->node[g->hash[at]], n))
        at = (at + 1) & mask;
    return &g->hash[at];
}

/* Makes room for one node; the capacity is a power of two. */
static bool reserve(struct expr_graph *g)
{
    if (g->count < g->capacity)
        return true;
    if (g->count >= EXPR_MAX_NODES)
        return false;
    int capacity = g->capacity ? g->capacity * 2 : 16;
    int *hash = memory_resize(&g->memory, NULL, 0, (size_t)capacity * 2 * sizeof *hash);
    if (!hash)
        return false;
    struct expr_node *node =
        memory_resize(&g->memory, g->node, (size_t)g->capacity * sizeof *node, (size_t)capacity * sizeof *node);
    if (!node) {
        memory_resize(&g->memory, hash, (size_t)capacity * 2 * sizeof *hash, 0);
        return false;
    }
    if (g->hash)
        memory_resize(&g->memory, g->hash, (size_t)g->capacity * 2 * sizeof *hash, 0);
    g->node = node;
    g->hash = hash;
    g->capacity = capacity;
    memset(hash, 0xff, (size_t)capacity * 2 * sizeof *hash);
    for (int i = 0; i < g->count; i++)
        *slot_of(g, &node[i]) = i;
    return true;
}

int64_t expr_common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

bool expr_stays_natural(const struct expr_node *n, bool a, bool b)
{
    switch (n->op) {
    case EXPR_ADD:
    case EXPR_MUL:
    case EXPR_FLOORDIV:
    case EXPR_MIN:
        return n->type == EXPR_INT && a && b;
    case EXPR_MAX:
        return n->type == EXPR_INT && (a || b);
    case EXPR_MOD:
        return b; /* the sign of the divisor, as in Lua */
    default:
        return false;
    }
}

static bool is_natural(const struct expr_graph *g, const struct expr_node *n)
{
    bool a = n->arg[0] >= 0 && g->node[n->arg[0]].natural, b = n->arg[1] >= 0 && g->node[n->arg[1]].natural;
    switch (n->op) {
    case EXPR_CONST_INT:
        return n->integer >= 0;
    case EXPR_SYMBOL:
    case EXPR_INDEX:
    case EXPR_AT:
    case EXPR_ABS:
        return n->type == EXPR_INT;
    default:
        return expr_stays_natural(n, a, b);
    }
}

/* Stores the node, or finds the equal one. */
static int store(struct expr_graph *g, const struct expr_node *n)
{
    if (!reserve(g))
        return -1;
    int *slot = slot_of(g, n);
    if (*slot < 0) {
        g->node[g->count] = *n;
        g->node[g->count].natural = is_natural(g, n);
        *slot = g->count++;
    }
    return *slot;
}

void expr_free(struct expr_graph *g)
{
    struct memory memory = g->memory;
    if (g->node)
        memory_resize(&memory, g->node, (size_t)g->capacity * sizeof *g->node, 0);
    if (g->hash)
        memory_resize(&memory, g->hash, (size_t)g->capacity * 2 * sizeof *g->hash, 0);
    if (g->index)
        memory_resize(&memory, g->index, (size_t)g->index_capacity * sizeof *g->index, 0);
    *g = (struct expr_graph){.memory = memory};
}

/* ---- folding --------------------------------------------------------------------------------------------------- */

static bool floor_div(int64_t a, int64_t b, int64_t *r)
{
    if (b == 0 || (a == INT64_MIN && b == -1))
        return false;
    *r = a / b - (a % b != 0 && (a % b < 0) != (b < 0));
    return true;
}

static bool floor_mod(int64_t a, int64_t b, int64_t *r)
{
    if (b == 0)
        return false;
    *r = b == -1 ? 0 : a % b;
    if (*r != 0 && (*r < 0) != (b < 0))
        *r += b;
    return true;
}

/* One integer operator; false on overflow, division by zero and what is no integer arithmetic. */
static bool int_op(enum expr_op op, int64_t a, int64_t b, int64_t *r)
{
    switch (op) {
    case EXPR_ADD:
        return !__builtin_add_overflow(a, b, r);
    case EXPR_SUB:
        return !__builtin_sub_overflow(a, b, r);
    case EXPR_MUL:
        return !__builtin_mul_overflow(a, b, r);
    case EXPR_NEG:
        return !__builtin_sub_overflow((int64_t)0, a, r);
    case EXPR_ABS:
        return a < 0 ? !__builtin_sub_overflow((int64_t)0, a, r) : (*r = a, true);
    case EXPR_FLOORDIV:
        return floor_div(a, b, r);
    case EXPR_MOD:
        return floor_mod(a, b, r);
    case EXPR_MIN:
        *r = a < b ? a : b;
        return true;
    case EXPR_MAX:
        *r = a > b ? a : b;
        return true;
    default:
        return false;
    }
}

static bool is_real(const struct expr_graph *g, int node, double value)
{
    return g->node[node].op == EXPR_CONST_REAL && g->node[node].real == value;
}

static int fold_int(struct expr_graph *g, struct expr_node *n)
{
    int a = n->arg[0], b = n->arg[1];
    int64_t x = 0, y = 0, z = 0;
    bool ca = expr_is_int(g, a, &x), cb = b >= 0 ? expr_is_int(g, b, &y) : true;
    if (ca && cb && int_op(n->op, x, y, &z))
        return expr_int(g, z);
    bool commutes = n->op == EXPR_ADD || n->op == EXPR_MUL || n->op == EXPR_MIN || n->op == EXPR_MAX;
    if (commutes && (ca || (!cb && b < a))) { /* one order: constants last, else the older node first */
        n->arg[0] = b, n->arg[1] = a;
        bool swap = ca;
        ca = cb, cb = swap, y = x, a = n->arg[0], b = n->arg[1];
    }
    if (cb && b >= 0) {
        const struct expr_node l = g->node[a]; /* a copy: adding nodes moves them */
        if ((n->op == EXPR_ADD || n->op == EXPR_MUL) && l.op == n->op && expr_is_int(g, l.arg[1], &x) &&
            int_op(n->op, x, y, &z))
            return expr_binary(g, n->op, l.arg[0], expr_int(g, z)); /* (e + 2) + 3 is e + 5 */
        if (n->op == EXPR_SUB && y != INT64_MIN)
            return expr_binary(g, EXPR_ADD, a, expr_int(g, -y)); /* one form for e - 3 and e + -3 */
        if ((n->op == EXPR_ADD && y == 0) || ((n->op == EXPR_MUL || n->op == EXPR_FLOORDIV) && y == 1))
            return a;
        if ((n->op == EXPR_MUL && y == 0) || (n->op == EXPR_MOD && y == 1))
            return expr_int(g, 0);
    }
    if (n->op == EXPR_SUB && a == b)
        return expr_int(g, 0);
    if (n->op == EXPR_FLOORDIV && a == b && g->node[a].op == EXPR_SYMBOL) /* of 0, whose tensors are empty, too */
        return expr_int(g, 1);
    if ((n->op == EXPR_MIN || n->op == EXPR_MAX) && a == b)
        return a;
    if (n->op == EXPR_MAX && cb && y <= 0 && g->node[a].natural)
        return a;
    for (int i = 0; i < 2 && (n->op == EXPR_MIN || n->op == EXPR_MAX); i++) {
        const struct expr_node *o = &g->node[n->arg[i]]; /* min(x, min(x, y)) is min(x, y) */
        if (o->op == n->op && (o->arg[0] == n->arg[1 - i] || o->arg[1] == n->arg[1 - i]))
            return n->arg[i];
    }
    return -2;
}

static int fold_real(struct expr_graph *g, const struct expr_node *n)
{
    int a = n->arg[0], b = n->arg[1];
    bool ca = g->node[a].op == EXPR_CONST_REAL;
    double x = g->node[a].real, y = b >= 0 ? g->node[b].real : 0;
    if (ca && (b < 0 || g->node[b].op == EXPR_CONST_REAL)) {
        switch (n->op) {
        case EXPR_ADD:
            return expr_real(g, x + y);
        case EXPR_SUB:
            return expr_real(g, x - y);
        case EXPR_MUL:
            return expr_real(g, x * y);
        case EXPR_DIV:
            return expr_real(g, x / y);
        case EXPR_NEG:
            return expr_real(g, -x);
        case EXPR_MIN:
            return expr_real(g, x < y ? x : y);
        case EXPR_MAX:
            return expr_real(g, x > y ? x : y);
        case EXPR_ABS:
            return expr_real(g, x < 0 ? -x : x);
        default:
            break;
        }
        if (b < 0)
            return expr_real(g, expr_apply(n->op, x));
    }
    /* Only what is exact for every value, -0 and NaN included. */
    if (n->op == EXPR_MUL && is_real(g, b, 1))
        return a;
    if (n->op == EXPR_MUL && is_real(g, a, 1))
        return b;
    if (n->op == EXPR_DIV && is_real(g, b, 1))
        return a;
    return -2;
}

/* A predicate's value where it is known: 0, 1; else -1. Predicates have no constants, so x == x stands for true. */
static int known(const struct expr_graph *g, int node)
{
    const struct expr_node *n = &g->node[node];
    int64_t x, y;
    if (expr_ops[n->op].rule != EXPR_COMPARE || !expr_is_int(g, n->arg[0], &x) || !expr_is_int(g, n->arg[1], &y))
        return -1;
    switch (n->op) {
    case EXPR_LT:
        return x < y;
    case EXPR_LE:
        return x <= y;
    case EXPR_GT:
        return x > y;
    case EXPR_GE:
        return x >= y;
    case EXPR_EQ:
        return x == y;
    default:
        return x != y;
    }
}

bool expr_result_type(const struct expr_graph *g, enum expr_op op, const int arg[3], enum expr_type *type)
{
    const struct expr_op_info *info = &expr_ops[op];
    enum expr_type t[3] = {EXPR_INT, EXPR_INT, EXPR_INT};
    for (int i = 0; i < info->arity; i++) {
        if (arg[i] < 0 || arg[i] >= g->count)
            return false;
        t[i] = g->node[arg[i]].type;
    }
    int first = info->rule == EXPR_SELECTION;
    bool real = false, predicate = false, number = false;
    for (int i = first; i < info->arity; i++) {
        real |= t[i] == EXPR_REAL;
        predicate |= t[i] == EXPR_PRED;
        number |= t[i] != EXPR_PRED;
    }
    switch (info->rule) {
    case EXPR_ARITH:
        *type = real ? EXPR_REAL : EXPR_INT;
        return !predicate;
    case EXPR_INTS:
        *type = EXPR_INT;
        return !predicate && !real;
    case EXPR_REALS:
    case EXPR_ROUND:
        *type = EXPR_REAL;
        return !predicate;
    case EXPR_WHOLES:
        *type = EXPR_INT;
        return !predicate;
    case EXPR_COMPARE:
        *type = EXPR_PRED;
        return !predicate;
    case EXPR_LOGIC:
        *type = EXPR_PRED;
        return !number;
    case EXPR_SELECTION:
        *type = real ? EXPR_REAL : EXPR_INT;
        return t[0] == EXPR_PRED && !predicate;
    default:
        return false;
    }
}

/* Integer constants among the operands of a real operator become real constants. */
static bool convert_constants(struct expr_graph *g, struct expr_node *n, int first)
{
    for (int i = first; i < expr_ops[n->op].arity; i++) {
        int64_t value;
        if (expr_is_int(g, n->arg[i], &value))
            n->arg[i] = expr_real(g, (double)value);
        if (n->arg[i] < 0)
            return false;
    }
    return true;
}

int expr_add(struct expr_graph *g, const struct expr_node *node)
{
    struct expr_node n = *node;
    const struct expr_op_info *info = &expr_ops[n.op];
    for (int i = info->arity; i < 3; i++)
        n.arg[i] = -1;
    if (n.op != EXPR_TENSOR)
        n.first_index = n.rank = 0;
    if (info->rule == EXPR_LEAF)
        return store(g, &n);
    if (!expr_result_type(g, n.op, n.arg, &n.type))
        return -1;
    bool mixed =
        info->rule == EXPR_COMPARE && (g->node[n.arg[0]].type == EXPR_REAL || g->node[n.arg[1]].type == EXPR_REAL);
    if ((n.type == EXPR_REAL || mixed) && !convert_constants(g, &n, info->rule == EXPR_SELECTION))
        return -1;
    int folded = -2;
    if (info->rule == EXPR_SELECTION) {
        int condition = known(g, n.arg[0]);
        if (n.arg[1] == n.arg[2] || condition == 1)
            folded = n.arg[1];
        else if (condition == 0)
            folded = n.arg[2];
    } else if (n.op == EXPR_NOT && g->node[n.arg[0]].op == EXPR_NOT) {
        folded = g->node[n.arg[0]].arg[0];
    } else if ((n.op == EXPR_AND || n.op == EXPR_OR) && n.arg[0] == n.arg[1]) {
        folded = n.arg[0];
    } else if (n.op == EXPR_NEG && g->node[n.arg[0]].op == EXPR_NEG) {
        folded = g->node[n.arg[0]].arg[0];
    } else if (n.op == EXPR_WHOLE) {
        folded = g->node[n.arg[0]].type == EXPR_INT ? n.arg[0] : -2;
    } else if (n.op != EXPR_CAST && n.op != EXPR_LISTED && n.type == EXPR_INT) {
        folded = fold_int(g, &n);
    } else if (n.op != EXPR_CAST && n.type == EXPR_REAL) {
        folded = fold_real(g, &n);
    }
    return folded != -2 ? folded : store(g, &n);
}

/* ---- shorthands ------------------------------------------------------------------------------------------------ */

static const struct expr_node empty = {.arg = {-1, -1, -1}};

int expr_int(struct expr_graph *g, int64_t value)
{
    struct expr_node n = empty;
    n.op = EXPR_CONST_INT;
    n.integer = value;
    return store(g, &n);
}

int expr_real(struct expr_graph *g, double value)
{
    struct expr_node n = empty;
    n.op = EXPR_CONST_REAL;
    n.type = EXPR_REAL;
    n.real = value;
    return store(g, &n);
}

int expr_leaf(struct expr_graph *g, enum expr_op op, enum expr_type type, int64_t integer)
{
    struct expr_node n = empty;
    n.op = op;
    n.type = type;
    n.integer = integer;
    return store(g, &n);
}

int expr_symbol(struct expr_graph *g, int dim)
{
    return expr_leaf(g, EXPR_SYMBOL, EXPR_INT, dim);
}

int expr_tensor(struct expr_graph *g, int tensor, enum expr_type type, int rank, const int *index)
{
    if (g->index_count + rank > g->index_capacity) {
        int capacity = g->index_capacity ? g->index_capacity * 2 + rank : 16 + rank;
        int *grown = memory_resize(&g->memory, g->index, (size_t)g->index_capacity * sizeof *grown,
                                   (size_t)capacity * sizeof *grown);
        if (!grown)
            return -1;
        g->index = grown;
        g->index_capacity = capacity;
    }
    struct expr_node n = empty;
    n.op = EXPR_TENSOR;
    n.type = type;
    n.integer = tensor;
    n.rank = rank;
    n.first_index = g->index_count;
    for (int i = 0; i < rank; i++)
        g->index[g->index_count++] = index[i];
    int before = g->count, made = store(g, &n);
    if (g->count == before)
        g->index_count = n.first_index; /* an equal node was there */
    return made;
}

int expr_unary(struct expr_graph *g, enum expr_op op, int a)
{
    struct expr_node n = empty;
    n.op = op;
    n.arg[0] = a;
    return a < 0 ? -1 : expr_add(g, &n);
}

int expr_binary(struct expr_graph *g, enum expr_op op, int a, int b)
{
    struct expr_node n = empty;
    n.op = op;
    n.arg[0] = a;
    n.arg[1] = b;
    return a < 0 || b < 0 ? -1 : expr_add(g, &n);
}

int expr_select(struct expr_graph *g, int condition, int yes, int no)
{
    struct expr_node n = empty;
    n.op = EXPR_SELECT;
    n.arg[0] = condition;
    n.arg[1] = yes;
    n.arg[2] = no;
    return condition < 0 || yes < 0 || no < 0 ? -1 : expr_add(g, &n);
}

int expr_cast(struct expr_graph *g, int a, enum tw_dtype dtype)
{
    struct expr_node n = empty;
    n.op = EXPR_CAST;
    n.arg[0] = a;
    n.dtype = dtype;
    return a < 0 ? -1 : expr_add(g, &n);
}

int expr_from_zero(struct expr_graph *g, int node)
{
    return node < 0 || expr_is_natural(g, node) ? node : expr_binary(g, EXPR_MAX, node, expr_int(g, 0));
}

int expr_ceil_div(struct expr_graph *g, int a, int b)
{
    int64_t value;
    if (b >= 0 && expr_is_int(g, b, &value) && value > 0)
        return expr_binary(g, EXPR_FLOORDIV, expr_binary(g, EXPR_ADD, a, expr_int(g, value - 1)), b);
    int sum = expr_binary(g, EXPR_ADD, expr_binary(g, EXPR_ADD, a, b), expr_int(g, -1));
    return expr_binary(g, EXPR_FLOORDIV, sum, b);
}

bool expr_is_int(const struct expr_graph *g, int node, int64_t *value)
{
    if (node < 0 || g->node[node].op != EXPR_CONST_INT)
        return false;
    *value = g->node[node].integer;
    return true;
}

/* ---- walks ----------------------------------------------------------------------------------------------------- */

/* Marks what `node` needs, itself included. */
static void mark(const struct expr_graph *g, int node, unsigned char *needed)
{
    memset(needed, 0, (size_t)g->count);
    needed[node] = 1;
    for (int i = node; i >= 0; i--) {
        const struct expr_node *n = &g->node[i];
        if (!needed[i])
            continue;
        for (int k = 0; k < 3; k++)
            if (n->arg[k] >= 0)
                needed[n->arg[k]] = 1;
        for (int k = 0; k < n->rank; k++)
            needed[g->index[n->first_index + k]] = 1;
    }
}

/* A copy of `count` elements in the memory of `to`; NULL for none or out of memory. */
static void *duplicate(const struct expr_graph *to, const void *from, int count, size_t size)
{
    void *copy = count ? memory_resize(&to->memory, NULL, 0, (size_t)count * size) : NULL;
    return copy ? memcpy(copy, from, (size_t)count * size) : NULL;
}

bool expr_copy(struct expr_graph *to, const struct expr_graph *from)
{
    expr_free(to);
    to->node = duplicate(to, from->node, from->capacity, sizeof *to->node);
    to->capacity = to->node ? from->capacity : 0;
    to->hash = to->node ? duplicate(to, from->hash, from->capacity * 2, sizeof *to->hash) : NULL;
    to->index = duplicate(to, from->index, from->index_capacity, sizeof *to->index);
    to->index_capacity = to->index ? from->index_capacity : 0;
    if ((from->capacity && !to->hash) || (from->index_capacity && !to->index)) {
        expr_free(to);
        return false;
    }
    to->count = from->count;
    to->index_count = from->index_count;
    return true;
}

int expr_import(struct expr_graph *to, const struct expr_graph *from, int node)
{
    if (node < 0)
        return -1;
    size_t bytes = (size_t)from->count * (sizeof(int) + 1);
    int *map = memory_resize(&to->memory, NULL, 0, bytes);
    if (!map)
        return -1;
    unsigned char *needed = (unsigned char *)(map + from->count);
    mark(from, node, needed);
    int result = 0;
    for (int i = 0; i <= node && result >= 0; i++) {
        if (!needed[i])
            continue;
        struct expr_node n = from->node[i];
        for (int k = 0; k < 3; k++)
            n.arg[k] = n.arg[k] >= 0 ? map[n.arg[k]] : -1;
        if (n.op == EXPR_TENSOR) {
            int index[8] = {0};
            for (int k = 0; k < n.rank && k < 8; k++)
                index[k] = map[from->index[n.first_index + k]];
            result = expr_tensor(to, (int)n.integer, n.type, n.rank, index);
        } else {
            result = expr_add(to, &n);
        }
        map[i] = result;
    }
    memory_resize(&to->memory, map, bytes, 0);
    return result;
}

bool expr_eval_int(const struct expr_graph *g, int node, const int64_t *symbol, int64_t *value)
{
    if (node < 0 || node >= g->count)
        return false;
    enum { FEW = 64 };
    int64_t few[FEW];
    unsigned char few_needed[FEW];
    size_t bytes = (size_t)(node + 1) * sizeof *few + (size_t)g->count;
    bool small = g->count <= FEW;
    int64_t *v = small ? few : memory_resize(&g->memory, NULL, 0, bytes);
    if (!v)
        return false;
    unsigned char *needed = small ? few_needed : (unsigned char *)(v + node + 1);
    mark(g, node, needed);
    bool good = true;
    for (int i = 0; i <= node && good; i++) {
        const struct expr_node *n = &g->node[i];
        if (!needed[i])
            continue;
        if (n->op == EXPR_CONST_INT)
            v[i] = n->integer;
        else if (n->op == EXPR_SYMBOL && symbol)
            v[i] = symbol[n->integer];
        else
            good = n->type == EXPR_INT && expr_ops[n->op].arity > 0 && n->op != EXPR_SELECT &&
                   int_op(n->op, v[n->arg[0]], n->arg[1] >= 0 ? v[n->arg[1]] : 0, &v[i]);
    }
    if (good)
        *value = v[node];
    if (!small)
        memory_resize(&g->memory, v, bytes, 0);
    return good;
}

bool expr_is_natural(const struct expr_graph *g, int node)
{
    return node >= 0 && g->node[node].natural;
}
