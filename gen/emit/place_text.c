#include "emit/place_text.h"

#include <stdint.h>

#include <lua5.4/lauxlib.h>

#include "emit/expr_cuda.h"
#include "plan/reads.h"

enum { LEVELS = 4, ROOTS = SPEC_MAX_RANK + 4 };

/* The largest values that a dim and a tile's coordinate have: see the limits of emit/host/host_facts.c. */
static const double most_dim = INT32_MAX - 1023, unbounded = 0x1p1000;

/* Exact up to 2^53, far beyond the 32 bits that they are compared with; 0 times unbounded is no matter there. */
struct place_range {
    double low, high;
};

struct step_text {
    const struct plan *plan;
    const struct plan_step *step;
    const struct place_range *range; /* place_context's */
    bool row, column;    /* the leaves were spelled */
};

/* ---- ranges of integers: what fits 32 bits ----------------------------------------------------------------------- */

static struct place_range product(struct place_range a, struct place_range b)
{
    double low = a.low * b.low, high = low;
    const double corner[3] = {a.low * b.high, a.high * b.low, a.high * b.high};
    for (int i = 0; i < 3; i++) {
        low = corner[i] < low ? corner[i] : low;
        high = corner[i] > high ? corner[i] : high;
    }
    return (struct place_range){low, high};
}

static int most_extent(const struct plan *p, bool rows)
{
    int most = 1;
    for (int i = 0; i < p->layout_count; i++) {
        int extent = rows ? p->layout[i].rows : p->layout[i].cols;
        most = extent > most ? extent : most;
    }
    int more = 0;
    for (int i = 0; i < p->place_count && rows; i++)
        more = p->place[i].more > more ? p->place[i].more : more;
    return most + more;
}

static struct place_range range_of(const struct plan *p, const struct place_range *range, const struct expr_node *n)
{
    const struct place_range all = {-unbounded, unbounded};
    struct place_range a = n->arg[0] >= 0 ? range[n->arg[0]] : all, b = n->arg[1] >= 0 ? range[n->arg[1]] : all;
    switch (n->op) {
    case EXPR_CONST_INT:
        return (struct place_range){(double)n->integer, (double)n->integer};
    case EXPR_SYMBOL:
    case EXPR_AT:
        return (struct place_range){0, most_dim};
    case EXPR_LOOP: {
        const struct plan_loop *loop = &p->loop[n->integer];
        int number = (int)(n - p->fused.node);
        bool known = loop->from < number && loop->to < number;
        return known ? (struct place_range){range[loop->from].low, range[loop->to].high - 1} : all;
    }
    case EXPR_ROW:
        return (struct place_range){0, most_extent(p, true) - 1};
    case EXPR_COLUMN:
        return (struct place_range){0, most_extent(p, false) - 1};
    case EXPR_ADD:
        return (struct place_range){a.low + b.low, a.high + b.high};
    case EXPR_SUB:
        return (struct place_range){a.low - b.high, a.high - b.low};
    case EXPR_NEG:
        return (struct place_range){-a.high, -a.low};
    case EXPR_MUL:
        return product(a, b);
    case EXPR_MIN:
        return (struct place_range){a.low < b.low ? a.low : b.low, a.high < b.high ? a.high : b.high};
    case EXPR_MAX:
        return (struct place_range){a.low > b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
    case EXPR_MOD:
        return b.low > 0 ? (struct place_range){0, b.high - 1} : all;
    case EXPR_FLOORDIV:
        return a.low >= 0 && b.low > 0 ? (struct place_range){0, a.high} : all;
    case EXPR_TILE:
        return p->place[n->integer].narrow ? (struct place_range){INT32_MIN, INT32_MAX} : all;
    case EXPR_WHOLE: {
        int64_t low, high;
        expr_range(&p->fused, (int)(n - p->fused.node), &low, &high);
        return (struct place_range){(double)low, (double)high};
    }
    case EXPR_SELECT: {
        struct place_range c = range[n->arg[2]];
        return (struct place_range){b.low < c.low ? b.low : c.low, b.high > c.high ? b.high : c.high};
    }
    default:
        return all;
    }
}

static bool narrow(void *context, int node)
{
    const struct step_text *s = context;
    return s->range[node].low >= INT32_MIN && s->range[node].high <= INT32_MAX;
}

/* ---- leaves ------------------------------------------------------------------------------------------------------ */

static int place_level(const struct plan_place *place)
{
    return place->cols > 1 ? 3 : place->rows > 1 ? 1 : 0;
}

static int leaf_level(void *context, const struct expr_node *n)
{
    const struct step_text *s = context;
    switch (n->op) {
    case EXPR_ROW:
        return 1;
    case EXPR_COLUMN:
        return 3;
    case EXPR_TILE:
        return place_level(&s->plan->place[n->integer]);
    default:
        return 0;
    }
}

/* Conditions that hold for whole vectors are asked of the first element. */
static int vector_level(void *context, const struct expr_node *n)
{
    return n->op == EXPR_COLUMN ? 2 : leaf_level(context, n);
}

/* An index only where a thread holds several. */
static void add_vector(const struct plan *p, const struct plan_place *place, struct emit_text *out)
{
    const struct plan_layout *l = &p->layout[plan_number(place->layout)];
    bool rows = place->rows > l->down, vectors = place->cols > l->across * l->vector;
    text_format(out, "%s%s%s%s", place->name, place->turns ? "[turn]" : "", rows ? "[i]" : "", vectors ? "[j]" : "");
}

static void add_tile(const struct plan *p, const struct plan_place *place, struct emit_text *out)
{
    const struct plan_layout *l = &p->layout[plan_number(place->layout)];
    if (place->packed)
        text_format(out, "%s_element(", tw_dtype_name(place->dtype));
    add_vector(p, place, out);
    if (place->packed)
        text_string(out, l->vector > 1 ? ", e)" : ", 0)");
    else if (place->cols > 1 && l->vector > 1)
        text_string(out, "[e]");
}

/* Whether the coordinate is inside of an extent: those of items and loops are, which run over the tensor; a number is
 * where the extent is one that holds it. */
static bool is_place(const struct plan *p, int node, int extent)
{
    const struct expr_node *n = &p->fused.node[node], *e = &p->graph.node[extent];
    if (n->op == EXPR_CONST_INT)
        return e->op == EXPR_CONST_INT && n->integer >= 0 && n->integer < e->integer;
    return n->op == EXPR_AT || n->op == EXPR_LOOP;
}

void emit_scalar(const struct plan *p, int scalar, struct emit_text *out)
{
    const struct spec_scalar *s = &p->scalar[scalar];
    const bool word = tw_dtype_info(s->dtype)->kind == TW_KIND_FLOAT && tw_dtype_bytes(s->dtype) < 4;
    if (word)
        text_format(out, "from_%s(args.%s)", tw_dtype_name(s->dtype), s->name);
    else
        text_format(out, "args.%s", s->name);
}

const char *symbol_text(const struct plan *p, int symbol, struct arena *arena)
{
    if (p->symbol_fixed && p->symbol_fixed[symbol] >= 0)
        return arena_format(arena, "%lld", (long long)p->symbol_fixed[symbol]);
    return arena_format(arena, "args.%s", p->symbol[symbol]);
}

/* An element that an expression reads: 0 outside, where the expression's value is of no matter. */
static void add_tensor(const struct plan *p, const struct expr_node *n, const char *const *at, struct emit_text *out)
{
    const struct plan_tensor *t = &p->tensor[n->integer];
    bool first = true;
    for (int d = 0; d < n->rank; d++) {
        int index = p->fused.index[n->first_index + d];
        if (is_place(p, index, t->dim[d]))
            continue;
        const char **name = arena_alloc(out->arena, sizeof *name * (size_t)(p->symbol_count + 1));
        for (int i = 0; name && i < p->symbol_count; i++)
            name[i] = symbol_text(p, i, out->arena);
        size_t length = name ? expr_print_c(&p->graph, t->dim[d], name, NULL, 0) : 0;
        char *extent = arena_alloc(out->arena, length + 1);
        if (!name || !extent) {
            out->failed = true;
            return;
        }
        expr_print_c(&p->graph, t->dim[d], name, extent, length + 1);
        text_string(out, first ? "" : " && ");
        if (p->fused.node[index].op != EXPR_CONST_INT || p->fused.node[index].integer < 0)
            text_format(out, "%s >= 0 && ", at[d]);
        text_format(out, "%s < %s", at[d], extent);
        first = false;
    }
    text_format(out, "%selement_%s(args.%s[", first ? "" : " ? ", tw_dtype_name(t->dtype), t->name);
    if (t->pointers)
        text_format(out, "%s][", at[0]);
    for (int d = t->pointers; d < n->rank; d++) {
        text_format(out, "%s%s", d > t->pointers ? " + " : "", at[d]);
        if (d + 1 < n->rank)
            text_format(out, " * args.%s_stride%d", t->name, d);
    }
    text_string(out, first ? "])" : "]) : 0");
}

static void leaf(void *context, const struct expr_node *n, const char *const *at, struct emit_text *out)
{
    struct step_text *s = context;
    const struct plan *p = s->plan;
    const struct plan_layout *l = s->step->layout ? &p->layout[plan_number(s->step->layout)] : NULL;
    if ((n->op == EXPR_ROW && l && l->rows == 1) || (n->op == EXPR_COLUMN && l && l->cols == 1)) {
        text_string(out, "0"); /* the only one: the thread has no variable of it */
        return;
    }
    s->row = s->row || n->op == EXPR_ROW;
    s->column = s->column || n->op == EXPR_COLUMN;
    switch (n->op) {
    case EXPR_ROW:
        text_string(out, "row");
        return;
    case EXPR_COLUMN:
        text_string(out, l && l->vector > 1 ? "(column + e)" : "column");
        return;
    case EXPR_AT:
        text_format(out, "at_%s", p->axis[n->integer]);
        return;
    case EXPR_LOOP:
        text_string(out, p->loop[n->integer].name);
        return;
    case EXPR_SYMBOL:
        text_format(out, "%s", symbol_text(p, (int)n->integer, out->arena));
        return;
    case EXPR_SCALAR:
        emit_scalar(p, (int)n->integer, out);
        return;
    case EXPR_TILE:
        add_tile(p, &p->place[n->integer], out);
        return;
    default:
        add_tensor(p, n, at, out);
        return;
    }
}

static void vector_leaf(void *context, const struct expr_node *n, const char *const *at, struct emit_text *out)
{
    struct step_text *s = context;
    s->column = s->column || n->op == EXPR_COLUMN;
    if (n->op == EXPR_COLUMN)
        text_string(out, "column");
    else
        leaf(context, n, at, out);
}

/* Where the step's value is a tile that is held in whole vectors. */
static const struct plan_place *whole_place(const struct plan *p, const struct plan_step *step)
{
    const struct expr_node *n = step->node ? &p->fused.node[plan_number(step->node)] : NULL;
    const struct plan_place *place = n && n->op == EXPR_TILE ? &p->place[n->integer] : NULL;
    return place && place->packed && place->layout == step->layout && place->rows == step->rows ? place : NULL;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static void set_text(lua_State *L, const char *key, const char *text)
{
    lua_pushstring(L, text);
    lua_setfield(L, -2, key);
}

static void set_integer(lua_State *L, const char *key, int value)
{
    lua_pushinteger(L, value);
    lua_setfield(L, -2, key);
}

static void set_bool(lua_State *L, const char *key, bool value)
{
    lua_pushboolean(L, value);
    lua_setfield(L, -2, key);
}

/* The ranges of all nodes, each behind those of what it is made of; NULL out of memory. */
static const struct place_range *find_ranges(const struct plan *p, struct arena *arena)
{
    struct place_range *range = arena_alloc(arena, ((size_t)p->fused.count + 1) * sizeof *range);
    for (int i = 0; range && i < p->fused.count; i++)
        range[i] = range_of(p, range, &p->fused.node[i]);
    return range;
}

static const struct plan *begin(lua_State *L, struct step_text *s)
{
    struct place_context *c = emit_helper_context(L);
    if (!c->range)
        c->range = find_ranges(c->plan, emit_helper_arena(L));
    if (!c->range)
        luaL_error(L, "out of memory");
    s->plan = c->plan;
    s->range = c->range;
    return c->plan;
}

/* One coordinate: `base` is what remains without the thread's row or column. */
struct coordinate {
    int base; /* node; -1: nothing */
    bool row, column;
    int more; /* of a dim with a fixed stride: a number to add; a wider one stays in base */
};

static struct coordinate take_apart(const struct expr_graph *g, int node, bool fixed)
{
    const struct expr_node *n = &g->node[node];
    int64_t more = 0, number;
    if (n->op == EXPR_ROW || n->op == EXPR_COLUMN)
        return (struct coordinate){-1, n->op == EXPR_ROW, n->op == EXPR_COLUMN, 0};
    for (int i = 0; n->op == EXPR_ADD && i < 2; i++) {
        enum expr_op op = g->node[n->arg[i]].op;
        if (op == EXPR_ROW || op == EXPR_COLUMN)
            return (struct coordinate){n->arg[1 - i], op == EXPR_ROW, op == EXPR_COLUMN, 0};
    }
    for (int i = 0; fixed && n->op == EXPR_ADD && n->type == EXPR_INT && i < 2; i++)
        if (expr_is_int(g, n->arg[i], &number) && !__builtin_add_overflow(more, number, &number) &&
            number >= INT32_MIN && number <= INT32_MAX) {
            more = number;
            node = n->arg[1 - i];
            n = &g->node[node];
            i = -1;
        }
    return (struct coordinate){node, false, false, (int)more};
}

/* What is asked of a step: nodes, and the texts that they become. */
struct question {
    struct step_text *s;
    const struct plan *plan;
    struct emit_text out[LEVELS]; /* statements */
    int rank;
    struct coordinate at[SPEC_MAX_RANK];
    int root[ROOTS], level[ROOTS], count;
    const char *result[ROOTS];
    int inside, first, value; /* which of root these are; -1: it has none */
};

/* Asks for the last `count` roots. True after a failure. */
static bool answer(struct question *q, int count, const struct expr_cuda_names *names)
{
    int from = q->count - count;
    const struct expr_cuda_levels levels = {q->out, LEVELS, q->level + from};
    return count && expr_print_cuda_levels(&q->plan->fused, q->root + from, count, names, &levels, q->result + from);
}

/* Coordinates and the condition are asked of vectors, the value of elements. True after a failure. */
static bool ask(struct question *q)
{
    const struct plan_step *step = q->s->step;
    bool each = step->partial && step->op != PLAN_GLOBAL; /* asked of each element alone */
    for (int d = 0; d < q->rank; d++) {
        q->at[d] = take_apart(&q->plan->fused, plan_number(step->at[d]), q->plan->tensor[step->tensor].fixed[d]);
        if (q->at[d].base >= 0)
            q->root[q->count++] = q->at[d].base;
    }
    q->inside = q->first = q->value = -1;
    if (step->inside && !each) {
        q->inside = q->count;
        q->root[q->count++] = plan_number(step->inside);
    }
    if (step->first) {
        q->first = q->count;
        q->root[q->count++] = plan_number(step->first);
        q->root[q->count++] = plan_number(step->end);
    }
    struct expr_cuda_names names = {
        .context = q->s, .leaf = vector_leaf, .prefix = "k", .level = vector_level, .narrow = narrow};
    if (answer(q, q->count, &names))
        return true;
    names.leaf = leaf;
    names.level = leaf_level;
    if (each && step->inside) {
        names.prefix = "m";
        q->inside = q->count;
        q->root[q->count++] = plan_number(step->inside);
        if (answer(q, 1, &names))
            return true;
    }
    if (step->node) {
        names.prefix = "v";
        q->value = q->count;
        q->root[q->count++] = plan_number(step->node);
        if (answer(q, 1, &names))
            return true;
    }
    return false;
}

static void push_levels(lua_State *L, const struct question *q)
{
    lua_createtable(L, LEVELS, 0);
    for (int i = 0; i < LEVELS; i++) {
        lua_pushstring(L, q->out[i].data ? q->out[i].data : "");
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "at");
}

static void push_coordinates(lua_State *L, const struct question *q)
{
    lua_createtable(L, q->rank, 0);
    for (int d = 0, taken = 0; d < q->rank; d++) {
        const struct coordinate *at = &q->at[d];
        bool has = at->base >= 0;
        lua_newtable(L);
        set_text(L, "base", has ? q->result[taken] : "0");
        set_integer(L, "base_level", has ? q->level[taken] : 0);
        set_integer(L, "more", at->more);
        set_bool(L, "row", at->row);
        set_bool(L, "column", at->column);
        q->s->row = q->s->row || at->row;
        q->s->column = q->s->column || at->column;
        taken += has;
        lua_rawseti(L, -2, d + 1);
    }
    lua_setfield(L, -2, "coordinate");
}

int emit_place_step(lua_State *L)
{
    struct step_text s = {0};
    const struct plan *p = begin(L, &s);
    lua_Integer number = luaL_checkinteger(L, 1);
    luaL_argcheck(L, p->role_count && number >= 1 && number <= p->role[0].step_count, 1, "no such step");
    s.step = &p->role[0].step[number - 1];
    struct question q = {.s = &s, .plan = p};
    q.rank = s.step->tensor >= 0 && s.step->at[0] ? p->tensor[s.step->tensor].rank : 0;
    for (int i = 0; i < LEVELS; i++)
        q.out[i].arena = emit_helper_arena(L);
    if (ask(&q))
        return luaL_error(L, "out of memory");

    lua_newtable(L);
    push_levels(L, &q);
    push_coordinates(L, &q);
    set_bool(L, "row", s.row);
    set_bool(L, "column", s.column);
    if (q.first >= 0) {
        set_text(L, "first", q.result[q.first]);
        set_text(L, "last", q.result[q.first + 1]);
    }
    if (q.inside >= 0) {
        set_text(L, "inside", q.result[q.inside]);
        set_integer(L, "inside_level", q.level[q.inside]);
    }
    const struct plan_place *whole = whole_place(p, s.step);
    if (whole) {
        struct emit_text vector = {.arena = emit_helper_arena(L)};
        add_vector(p, whole, &vector);
        set_text(L, "whole", vector.data ? vector.data : "");
        set_text(L, "whole_dtype", tw_dtype_name(whole->dtype));
    }
    if (q.value >= 0) {
        set_text(L, "value", q.result[q.value]);
        set_integer(L, "value_level", q.level[q.value]);
    }
    return 1;
}

/* ---- pairs of fp16 ----------------------------------------------------------------------------------------------- */

enum { MOST_ROW_PAIRS = 256 };

/* Statements over pairs: what they need of rows alone are the roots. */
struct pairs {
    const struct plan *p;
    int layout;
    bool *needed;                    /* by node */
    unsigned char *known;            /* reads_pair's */
    int root[MOST_ROW_PAIRS], count; /* what pairs of rows are rounded from */
    int of[MOST_ROW_PAIRS];          /* the nodes that those pairs are */
};

/* False: too many. */
static bool find_pairs(struct pairs *q, int root)
{
    q->needed[root] = true;
    for (int node = root; node >= 0; node--) {
        int operand[3] = {-1, -1, -1};
        if (!q->needed[node])
            continue;
        enum reads_pair kind = reads_pair(q->p, node, q->layout, operand, q->known);
        if (kind == READS_PAIR_ROW) {
            if (q->count == MOST_ROW_PAIRS)
                return false;
            q->of[q->count] = node;
            q->root[q->count++] = operand[0];
            continue;
        }
        for (int i = 0; i < (kind == READS_PAIR_FMA ? 3 : kind == READS_PAIR_TILE ? 0 : 2); i++)
            q->needed[operand[i]] = true;
    }
    return true;
}

static const char *pair_of(const struct pairs *q, int node, struct arena *arena)
{
    struct emit_text text = {.arena = arena};
    for (int i = 0; i < q->count; i++)
        if (q->of[i] == node)
            return arena_format(arena, "h%d", i);
    if (q->p->fused.node[node].op != EXPR_TILE)
        return arena_format(arena, "p%d", node);
    add_vector(q->p, &q->p->place[q->p->fused.node[node].integer], &text);
    text_string(&text, ".word[word]");
    return text.data;
}

static void print_pairs(const struct pairs *q, int root, struct emit_text *out)
{
    static const char *const word[] = {
        [READS_PAIR_MUL] = "pair_mul", [READS_PAIR_ADD] = "pair_add", [READS_PAIR_FMA] = "pair_fma"};
    for (int node = 0; node <= root; node++) {
        int operand[3];
        enum reads_pair kind =
            q->needed[node] ? reads_pair(q->p, node, q->layout, operand, q->known) : READS_PAIR_NONE;
        if (kind < READS_PAIR_MUL)
            continue;
        text_format(out, "%sconst u32 p%d = %s(", out->length ? "\n" : "", node, word[kind]);
        for (int i = 0; i < (kind == READS_PAIR_FMA ? 3 : 2); i++)
            text_format(out, "%s%s", i ? ", " : "", pair_of(q, operand[i], out->arena));
        text_string(out, ");");
    }
}

int emit_place_pairs(lua_State *L)
{
    struct step_text s = {0};
    const struct plan *p = begin(L, &s);
    struct arena *arena = emit_helper_arena(L);
    lua_Integer number = luaL_checkinteger(L, 1);
    luaL_argcheck(L, p->role_count && number >= 1 && number <= p->role[0].step_count, 1, "no such step");
    s.step = &p->role[0].step[number - 1];
    luaL_argcheck(L, s.step->node && s.step->layout, 1, "the step has no value in a layout");
    int root = plan_number(s.step->node), level[MOST_ROW_PAIRS];
    const char *result[MOST_ROW_PAIRS];
    struct pairs q = {.p = p, .layout = s.step->layout};
    q.needed = arena_alloc(arena, (size_t)root + 1);
    q.known = arena_alloc(arena, (size_t)root + 1);
    if (!q.needed || !q.known)
        return luaL_error(L, "out of memory");
    if (!find_pairs(&q, root))
        return luaL_error(L, "more than %d numbers of a row are rounded to fp16 in a step", MOST_ROW_PAIRS);
    struct emit_text out[LEVELS] = {{.arena = arena}, {.arena = arena}, {.arena = arena}, {.arena = arena}};
    struct emit_text pairs = {.arena = arena};
    const struct expr_cuda_names names = {
        .context = &s, .leaf = leaf, .prefix = "v", .level = leaf_level, .narrow = narrow};
    const struct expr_cuda_levels levels = {out, LEVELS, level};
    if (q.count && expr_print_cuda_levels(&p->fused, q.root, q.count, &names, &levels, result))
        return luaL_error(L, "out of memory");
    for (int i = 0; i < q.count; i++)
        text_format(&out[1], "%sconst u32 h%d = pack_fp16(%s, %s);", out[1].length ? "\n" : "", i, result[i],
                    result[i]);
    print_pairs(&q, root, &pairs);
    lua_newtable(L);
    struct question none = {.s = &s, .plan = p};
    for (int i = 0; i < LEVELS; i++)
        none.out[i] = out[i];
    push_levels(L, &none);
    set_text(L, "pairs", pairs.data ? pairs.data : "");
    set_text(L, "value", pair_of(&q, root, arena));
    set_bool(L, "row", s.row);
    return 1;
}

int emit_place_uniform(lua_State *L)
{
    struct step_text s = {0};
    const struct plan *p = begin(L, &s);
    const struct plan_step none = {0};
    s.step = &none;
    int root[ROOTS], level[ROOTS], count = lua_gettop(L) - 1;
    const char *result[ROOTS] = {NULL}, *prefix = luaL_checkstring(L, 1);
    luaL_argcheck(L, count >= 1 && count <= ROOTS, 2, "one to nine nodes");
    for (int i = 0; i < count; i++) {
        lua_Integer node = luaL_checkinteger(L, i + 2);
        luaL_argcheck(L, node >= 0 && node < p->fused.count, i + 2, "no such node");
        root[i] = (int)node;
    }
    struct emit_text out = {.arena = emit_helper_arena(L)};
    const struct expr_cuda_names names = {
        .context = &s, .leaf = leaf, .prefix = prefix, .level = leaf_level, .narrow = narrow};
    struct expr_cuda_levels levels = {&out, 1, level};
    if (expr_print_cuda_levels(&p->fused, root, count, &names, &levels, result))
        return luaL_error(L, "out of memory");
    lua_createtable(L, count, 1);
    set_text(L, "at", out.data ? out.data : "");
    for (int i = 0; i < count; i++) {
        lua_pushstring(L, result[i]);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}
