#include "emit/fragment_text.h"

#include <stdint.h>
#include <string.h>

#include <lua5.4/lauxlib.h>

#include "emit/expr_cuda.h"
#include "emit/fragment_reads.h"
#include "emit/place_text.h"
#include "plan/reads.h"

enum {
    LEVELS = 3,
    MOST_READS = 16,
    MOST_TILE = 1 << 16,                    /* rows or columns of a tile */
    MOST_PLACE = INT32_MAX - 2 * MOST_TILE, /* of a dim: beside it, places in a tile still fit 32 bits */
};

/* An element of a fragment of all blocks of rows, and of one that holds a block at a time. */
static const char whole_element[] = "[block][pair * 4 + half * 2 + lane]";
static const char block_element[] = "[0][pair * 4 + half * 2 + lane]";

struct fragment {
    const struct plan *plan;
    const bool *narrow; /* fragment_context's */
    const char **item;  /* fragment_context's */
    bool row, column;
    bool lanes;          /* the value is of columns, of which each lane computes its own */
    bool shuffled;       /* columns' values that other lanes hold were spelled */
    const char *element; /* text behind the name of a fragment's place, NULL: a name for the element itself */
    int columns;         /* of the block of columns that the step is of; 0: it is of all */
    bool pairs;          /* elements are read beside their neighbours, where that can be */
    int *guard;          /* by node: the condition under which it is read; NULL */
    bool lines;          /* integers that go by the column are read from a line: see fragment_is_line */
    int line_count;
    struct emit_text line[2]; /* statements that find those, by level: once, and for each row */
};

/* ---- which integers fit 32 bits ---------------------------------------------------------------------------------- */

static int64_t bounded(int64_t value)
{
    const int64_t most = (int64_t)1 << 40;
    return value > most ? most : value < -most ? -most : value;
}

/* What an integer may be. */
struct range {
    int64_t low, high;
};

/* Elements of 32 bits stay so where they are read in every turn: masks stand beside bodies without, or the rows that a
 * dot begins at are elements. */
static bool reads_in_turns(const struct plan *p)
{
    for (int r = 0; r < p->role_count; r++)
        for (int i = 0; i < p->role[r].step_count; i++)
            if (p->role[r].step[i].op == PLAN_MMA && p->role[r].step[i].at[0])
                return true;
    return p->list != NULL;
}

/* range: of the nodes before it. Returns whether it fits 32 bits. */
static bool bound(const struct plan *p, int node, struct range *range)
{
    const int64_t most = (int64_t)1 << 40;
    const struct expr_node *n = &p->fused.node[node];
    int64_t low = -most, high = most;
    int64_t a = n->arg[0] >= 0 ? range[n->arg[0]].low : 0, b = n->arg[0] >= 0 ? range[n->arg[0]].high : 0;
    int64_t c = n->arg[1] >= 0 ? range[n->arg[1]].low : 0, e = n->arg[1] >= 0 ? range[n->arg[1]].high : 0;
    switch (n->op) {
    case EXPR_CONST_INT:
        low = high = n->integer;
        break;
    case EXPR_SYMBOL:
    case EXPR_AT:
    case EXPR_LOOP:
        low = 0, high = MOST_PLACE;
        break;
    case EXPR_ROW:
    case EXPR_COLUMN:
    case EXPR_ACC:
    case EXPR_INDEX:
        low = 0, high = MOST_TILE;
        break;
    case EXPR_LISTED:
        low = 0, high = MOST_PLACE;
        break;
    case EXPR_TENSOR:
        if (n->type == EXPR_INT && p->tensor[n->integer].dtype == TW_INT32 && reads_in_turns(p))
            low = INT32_MIN, high = INT32_MAX;
        break;
    case EXPR_BOUND:
    case EXPR_TILE: /* sums of integers are int */
        low = INT32_MIN, high = INT32_MAX;
        break;
    case EXPR_ADD:
        low = a + c, high = b + e;
        break;
    case EXPR_SUB:
        low = a - e, high = b - c;
        break;
    case EXPR_NEG:
        low = -b, high = -a;
        break;
    case EXPR_MIN:
        low = a < c ? a : c, high = b < e ? b : e;
        break;
    case EXPR_MAX:
        low = a > c ? a : c, high = b > e ? b : e;
        break;
    case EXPR_FLOORDIV:
        if (a >= 0 && c >= 0) /* by 0 there is no value */
            low = 0, high = b;
        break;
    case EXPR_MOD:
        if (c >= 0)
            low = 0, high = e;
        break;
    case EXPR_MUL:
        if (a >= 0 && c >= 0 && (b == 0 || e <= most / (b ? b : 1)))
            low = 0, high = b * e;
        break;
    default:
        break;
    }
    range[node] = (struct range){bounded(low), bounded(high)};
    return n->type == EXPR_INT && low >= INT32_MIN && high <= INT32_MAX;
}

const bool *fragment_narrow(const struct plan *p, struct arena *arena)
{
    const size_t count = (size_t)p->fused.count + 1;
    bool *fits = arena_alloc(arena, count * sizeof *fits);
    struct range *range = arena_alloc(arena, count * sizeof *range);
    for (int i = 0; fits && range && i < p->fused.count; i++)
        fits[i] = bound(p, i, range);
    return range ? fits : NULL;
}

static bool narrow(void *context, int node)
{
    const struct fragment *f = context;
    return f->narrow[node];
}

/* ---- leaves ------------------------------------------------------------------------------------------------------ */

/* The node goes by the row or, where `column` says so, by the column of an element. */
static bool goes_by(const struct plan *p, int node, bool row, bool column)
{
    const struct expr_node *n = &p->fused.node[node];
    bool goes =
        (column && (n->op == EXPR_COLUMN || n->op == EXPR_ACC)) || (row && n->op == EXPR_ROW) ||
        (n->op == EXPR_INDEX && n->integer != PLAN_INDEX_WARP && (n->integer == PLAN_INDEX_ROW ? row : column)) ||
        (n->op == EXPR_TILE && (row || column));
    for (int i = 0; i < expr_ops[n->op].arity && !goes; i++)
        goes = goes_by(p, n->arg[i], row, column);
    for (int d = 0; n->op == EXPR_TENSOR && d < n->rank && !goes; d++)
        goes = goes_by(p, p->fused.index[n->first_index + d], row, column);
    return goes;
}

bool fragment_is_line(const struct plan *p, int node, const bool *fits)
{
    const struct expr_node *n = &p->fused.node[node];
    if (n->op != EXPR_TENSOR || n->type != EXPR_INT || n->rank < 1)
        return false;
    const struct plan_tensor *t = &p->tensor[n->integer];
    const int last = p->fused.index[n->first_index + n->rank - 1];
    bool line = t->dtype == TW_INT32 && !t->pointers && !t->out && fits[last] && goes_by(p, last, false, true);
    for (int d = 0; d < n->rank - 1 && line; d++)
        line = !goes_by(p, p->fused.index[n->first_index + d], false, true);
    return line;
}

bool fragment_takes_lines(const struct plan_step *step)
{
    return step->op == PLAN_TOUCH;
}

/* A line is found once for all of its elements. */
static void add_line(struct fragment *f, const struct expr_node *n, const char *const *at, struct emit_text *out)
{
    const char *name = f->plan->tensor[n->integer].name;
    bool by_row = false;
    for (int d = 0; d < n->rank - 1; d++)
        by_row = by_row || goes_by(f->plan, f->plan->fused.index[n->first_index + d], true, false);
    struct emit_text *line = &f->line[by_row];
    text_format(line, "%sconst %s_line %s_line%d = %s_line_begin(args", line->length ? "\n" : "", name, name,
                f->line_count, name);
    for (int d = 0; d < n->rank - 1; d++)
        text_format(line, ", %s", at[d]);
    text_string(line, ");");
    text_format(out, "%s_line_at(%s_line%d, %s)", name, name, f->line_count++, at[n->rank - 1]);
}

static bool is_read(void *context, int node)
{
    const struct fragment *f = context;
    return f->pairs && reads_columns(f->plan, node) >= 0;
}

static int guard(void *context, int node)
{
    const struct fragment *f = context;
    return f->guard ? f->guard[node] : -1;
}

/* See fragment_item. */
static const char *item_name(void *context, int node)
{
    const struct fragment *f = context;
    return f->item ? f->item[node] : NULL;
}

static int level(void *context, const struct expr_node *n)
{
    const struct fragment *f = context;
    if (n->op == EXPR_TILE)
        return f->plan->place[n->integer].kind == PLAN_PLACE_ROWS ? 1 : 2;
    if (n->op == EXPR_TENSOR)
        return is_read(context, (int)(n - f->plan->fused.node)) ? 2 : 0;
    if (n->op == EXPR_INDEX)
        return n->integer == PLAN_INDEX_WARP ? 0 : n->integer == PLAN_INDEX_ROW ? 1 : 2;
    return n->op == EXPR_COLUMN ? 2 : n->op == EXPR_ROW ? 1 : 0;
}

static void leaf(void *context, const struct expr_node *n, const char *const *at, struct emit_text *out)
{
    struct fragment *f = context;
    const struct plan *p = f->plan;
    switch (n->op) {
    case EXPR_ROW:
        f->row = true;
        text_string(out, "row");
        break;
    case EXPR_COLUMN:
        f->column = true;
        text_string(out, "column");
        break;
    case EXPR_ACC:
        text_string(out, "first_column");
        break;
    case EXPR_INDEX:
        text_string(out, n->integer == PLAN_INDEX_WARP  ? "(int)warp_m"
                         : n->integer == PLAN_INDEX_ROW ? "(half * 8)"
                                                        : "(pair * 8 + lane)");
        break;
    case EXPR_AT:
        text_format(out, "at_%s", p->axis[n->integer]);
        break;
    case EXPR_LOOP:
        text_string(out, p->loop[n->integer].name);
        break;
    case EXPR_SYMBOL:
        text_format(out, "%s", symbol_text(p, (int)n->integer, out->arena));
        break;
    case EXPR_BOUND:
        text_format(out, n->integer % 2 ? "most%d" : "least%d", (int)(n->integer / 2));
        break;
    case EXPR_SCALAR:
        emit_scalar(p, (int)n->integer, out);
        break;
    case EXPR_TILE:
        if (p->place[n->integer].kind == PLAN_PLACE_ROWS)
            text_format(out, "%s[block][half]", p->place[n->integer].name);
        else if (p->place[n->integer].kind == PLAN_PLACE_COLUMNS) {
            f->shuffled = f->shuffled || !f->lanes;
            text_format(out, f->lanes ? "%s[i]" : "__shfl_sync(~0u, %s[pair / 4], pair %% 4 * 8 + first_column + lane)",
                        p->place[n->integer].name);
        } else if (p->place[n->integer].block && f->element == whole_element && f->columns) {
            text_format(out, "%s[0][pair %% %d * 4 + half * 2 + lane]", p->place[n->integer].name, f->columns / 8);
        } else if (p->place[n->integer].block && f->element == whole_element)
            text_format(out, "%s%s", p->place[n->integer].name, block_element);
        else
            text_format(out, "%s%s", f->element ? p->place[n->integer].name : "held", f->element ? f->element : "");
        break;
    default: {
        const int node = (int)(n - p->fused.node);
        if (is_read(context, node)) {
            text_format(out, "%s_pair[lane]", p->tensor[n->integer].name);
            break;
        }
        if (f->lines && fragment_is_line(p, node, f->narrow)) {
            add_line(f, n, at, out);
            break;
        }
        bool pair = p->tensor[n->integer].whole_rows && !p->tensor[n->integer].out;
        text_format(out, "%s_at(args", p->tensor[n->integer].name);
        for (int i = 0; i < n->rank; i++)
            text_format(out, ", %s", at[i]);
        text_string(out, !pair ? ")" : f->element && !f->lanes ? ", lane)" : ", column % 2)");
        break;
    }
    }
}

/* ---- the helpers ------------------------------------------------------------------------------------------------- */

static void begin(lua_State *L, struct fragment *f)
{
    struct fragment_context *c = emit_helper_context(L);
    if (!c->narrow)
        c->narrow = fragment_narrow(c->plan, emit_helper_arena(L));
    if (!c->narrow)
        luaL_error(L, "out of memory");
    *f = (struct fragment){.plan = c->plan, .narrow = c->narrow, .item = c->item, .element = whole_element};
}

static const struct plan_step *find_step(lua_State *L, const struct plan *p)
{
    const char *role = luaL_checkstring(L, 1);
    lua_Integer number = luaL_checkinteger(L, 2);
    for (int i = 0; i < p->role_count; i++)
        if (strcmp(p->role[i].name, role) == 0 && number >= 1 && number <= p->role[i].step_count)
            return &p->role[i].step[number - 1];
    luaL_argerror(L, 2, "no such step");
    return NULL;
}

/* Pushes a list of the elements that the step reads beside their neighbours: { tensor, at by dim: the first of a row,
 * columns, by_row, guard }. `text` are the texts of their guards. */
static void push_reads(lua_State *L, struct fragment *f, const int *read, int count, const char *const *text)
{
    const struct plan *p = f->plan;
    lua_createtable(L, count, 0);
    for (int i = 0; i < count; i++) {
        const struct expr_node *n = &p->fused.node[read[i]];
        int columns = reads_columns(p, read[i]);
        lua_createtable(L, 0, 3);
        bool by_row = false;
        lua_pushstring(L, p->tensor[n->integer].name);
        lua_setfield(L, -2, "tensor");
        lua_createtable(L, n->rank, 0);
        for (int d = 0; d < n->rank; d++) {
            const struct expr_node *index = &p->fused.node[p->fused.index[n->first_index + d]];
            const struct expr_node *from = &p->fused.node[index->arg[p->fused.node[index->arg[0]].op != EXPR_AT]];
            lua_pushfstring(L, d == columns ? "at_%s" : "at_%s + row", p->axis[from->integer]);
            lua_rawseti(L, -2, d + 1);
            by_row = by_row || d != columns;
        }
        lua_setfield(L, -2, "at");
        lua_pushinteger(L, columns + 1);
        lua_setfield(L, -2, "columns");
        f->row = f->row || by_row;
        lua_pushboolean(L, by_row);
        lua_setfield(L, -2, "by_row");
        if (text[i]) {
            lua_pushstring(L, text[i]);
            lua_setfield(L, -2, "guard");
        }
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "reads");
}

/* What is asked of a step: nodes, and the texts that they become. */
enum { MOST_ROOTS = SPEC_MAX_RANK + 2 + MOST_READS };
struct question {
    const struct plan_step *step;
    bool place, value; /* where it goes; what it is */
    bool whole;        /* all of it is asked for, not a chunk or a part */
    int root[MOST_ROOTS];
    int count, rank;
    int guards; /* first of root that is the guard of a read */
    int read[MOST_READS], reads;
    const char *result[MOST_ROOTS]; /* by root: value, coordinates, inside, guards */
};

/* The elements that the value reads beside their neighbours, and their guards. */
static void ask_reads(lua_State *L, struct fragment *f, struct question *q)
{
    const struct plan *p = f->plan;
    for (int i = 0; i < p->fused.count && q->value; i++) {
        if (f->guard[i] == READS_NEVER || !is_read(f, i))
            continue;
        luaL_argcheck(L, q->reads < MOST_READS, 2, "the step reads too many tensors");
        q->read[q->reads++] = i;
        if (f->guard[i] >= 0)
            q->root[q->count++] = f->guard[i];
    }
}

/* part: "place", "chunk", "part", "held", or "" for all. */
static void ask(lua_State *L, struct fragment *f, const char *part, struct question *q)
{
    const struct plan *p = f->plan;
    const struct plan_step *step = q->step;
    q->place = step->op == PLAN_GLOBAL && (!*part || strcmp(part, "place") == 0);
    q->value = strcmp(part, "place") != 0;
    q->whole = !*part;
    if (strcmp(part, "chunk") == 0)
        f->element = "_chunk[i * 4 + half * 2 + lane]";
    if (strcmp(part, "part") == 0)
        f->element = "_part[pair * 2 + lane]";
    if (strcmp(part, "held") == 0)
        f->element = NULL;
    f->lines = fragment_takes_lines(step);
    f->columns = step->op == PLAN_TOUCH && step->block ? step->cols : 0;
    f->line[0].arena = f->line[1].arena = emit_helper_arena(L);
    f->lanes = step->place && p->place[plan_number(step->place)].kind == PLAN_PLACE_COLUMNS;
    f->pairs = step->op == PLAN_WRITE || fragment_packs(p, step) || fragment_reads_ahead(step) ||
               (q->value && fragment_stores_pairs(p, step));
    f->guard = arena_alloc(emit_helper_arena(L), ((size_t)p->fused.count + 1) * sizeof *f->guard);
    if (!f->guard)
        luaL_error(L, "out of memory");
    reads_guards(p, plan_number(step->node), f->guard);
    if (q->value)
        q->root[q->count++] = plan_number(step->node);
    for (; q->rank < SPEC_MAX_RANK && q->place && step->at[q->rank]; q->rank++)
        q->root[q->count++] = plan_number(step->at[q->rank]);
    if (q->place && step->inside)
        q->root[q->count++] = plan_number(step->inside);
    q->guards = q->count;
    ask_reads(L, f, q);
}

/* pipeline.polynomial, of what threads compute from elements that lie in pairs. */
static int polynomial(const struct fragment *f, const struct question *q)
{
    if (q->step->op != PLAN_TOUCH || f->lanes || !q->whole)
        return 0;
    for (int i = 0; i < f->plan->value_count; i++)
        if (strcmp(f->plan->value[i].name, "pipeline.polynomial") == 0)
            return (int)f->plan->value[i].integer;
    return 0;
}

/* Fills result; pushes the table of the answer with the statements by level in it. */
static void print(lua_State *L, struct fragment *f, struct question *q)
{
    struct emit_text out[LEVELS] = {{0}};
    for (int i = 0; i < LEVELS; i++)
        out[i].arena = emit_helper_arena(L);
    int at[MOST_ROOTS];
    const struct expr_cuda_names names = {.context = f,
                                          .leaf = leaf,
                                          .prefix = q->value ? "e" : "p",
                                          .level = level,
                                          .narrow = narrow,
                                          .known = item_name,
                                          .whole = is_read,
                                          .guard = guard,
                                          .polynomial = polynomial(f, q)};
    const struct expr_cuda_levels levels = {out, LEVELS, at};
    if (expr_print_cuda_levels(&f->plan->fused, q->root, q->count, &names, &levels, q->result))
        luaL_error(L, "out of memory");
    for (int i = 0; i < 2; i++) {
        if (f->line[i].length)
            text_format(&out[i], "%s%s", out[i].length ? "\n" : "", f->line[i].data);
        if (out[i].failed || f->line[i].failed)
            luaL_error(L, "out of memory");
    }
    lua_newtable(L);
    lua_createtable(L, LEVELS, 0);
    for (int i = 0; i < LEVELS; i++) {
        lua_pushstring(L, out[i].data ? out[i].data : "");
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "at");
}

/* Pushes the names of the tiles that the node reads, of places of fragments. */
static void push_tiles(lua_State *L, const struct plan *p, int root)
{
    bool *reached = arena_alloc(emit_helper_arena(L), (size_t)p->fused.count + 1);
    int count = 0;
    if (!reached)
        luaL_error(L, "out of memory");
    memset(reached, 0, (size_t)p->fused.count + 1);
    reached[root] = true;
    lua_newtable(L);
    for (int node = root; node >= 0; node--) {
        const struct expr_node *n = &p->fused.node[node];
        for (int a = 0; a < 3 && reached[node]; a++)
            if (n->arg[a] >= 0)
                reached[n->arg[a]] = true;
        if (!reached[node] || n->op != EXPR_TILE || p->place[n->integer].kind != PLAN_PLACE_ACCUMULATOR)
            continue;
        bool known = false;
        for (int other = node + 1; other <= root; other++)
            known = known || (reached[other] && p->fused.node[other].op == EXPR_TILE &&
                              p->fused.node[other].integer == n->integer);
        if (known)
            continue;
        lua_pushstring(L, p->place[n->integer].name);
        lua_rawseti(L, -2, ++count);
    }
    lua_setfield(L, -2, "sums");
}

int emit_fragment_step(lua_State *L)
{
    struct fragment f;
    begin(L, &f);
    const struct plan *p = f.plan;
    struct question q = {.step = find_step(L, p)};
    luaL_argcheck(L, q.step->node, 2, "the step computes nothing");
    ask(L, &f, luaL_optstring(L, 3, ""), &q);
    print(L, &f, &q);
    if (q.value) {
        lua_pushstring(L, q.result[0]);
        lua_setfield(L, -2, "value");
    }
    lua_createtable(L, q.rank, 0);
    for (int d = 0; d < q.rank; d++) {
        lua_pushstring(L, q.result[q.value + d]);
        lua_rawseti(L, -2, d + 1);
    }
    lua_setfield(L, -2, "coordinate");
    if (q.place && q.step->inside) {
        lua_pushstring(L, q.result[q.value + q.rank]);
        lua_setfield(L, -2, "inside");
    }
    const char *condition[MOST_READS] = {NULL};
    for (int i = 0, next = q.guards; i < q.reads; i++)
        condition[i] = f.guard[q.read[i]] >= 0 ? q.result[next++] : NULL;
    push_reads(L, &f, q.read, q.reads, condition);
    push_tiles(L, p, plan_number(q.step->node));
    int node = plan_number(q.step->node), only = reads_only_place(p, node);
    if (only >= 0) {
        lua_pushstring(L, p->place[only].name);
        lua_setfield(L, -2, "place");
    }
    lua_pushboolean(L, only >= 0 && !fragment_packs(p, q.step) &&
                           (reads_is_long(p, node) || (q.step->op == PLAN_WRITE && q.step->once)));
    lua_setfield(L, -2, "long");
    const struct expr_node *whole = &p->fused.node[node];
    lua_pushboolean(L, q.value && whole->op == EXPR_TILE && p->place[whole->integer].kind != PLAN_PLACE_ROWS &&
                           p->place[whole->integer].kind != PLAN_PLACE_COLUMNS);
    lua_setfield(L, -2, "copy");
    lua_pushboolean(L, f.row);
    lua_setfield(L, -2, "row");
    lua_pushboolean(L, f.column);
    lua_setfield(L, -2, "column");
    lua_pushboolean(L, f.shuffled);
    lua_setfield(L, -2, "shuffled");
    return 1;
}

/* The value is the same in every item. */
static bool is_fixed(const struct expr_graph *g, int node)
{
    const struct expr_node *n = &g->node[node];
    bool fixed = n->op != EXPR_AT && n->op != EXPR_LOOP && n->op != EXPR_TENSOR;
    for (int i = 0; i < 3 && fixed; i++)
        fixed = n->arg[i] < 0 || is_fixed(g, n->arg[i]);
    return fixed;
}

int emit_fragment_uniform(lua_State *L)
{
    struct fragment f;
    begin(L, &f);
    const char *prefix = luaL_checkstring(L, 1), *result[SPEC_MAX_RANK + 1] = {NULL};
    int root[SPEC_MAX_RANK + 1], at[SPEC_MAX_RANK + 1], count = lua_gettop(L) - 1;
    luaL_argcheck(L, count >= 1 && count <= SPEC_MAX_RANK + 1, 2, "one to six nodes");
    for (int i = 0; i < count; i++) {
        lua_Integer node = luaL_checkinteger(L, i + 2);
        luaL_argcheck(L, node >= 0 && node < f.plan->fused.count, i + 2, "no such node");
        root[i] = (int)node;
    }
    struct emit_text out[LEVELS] = {{0}};
    for (int i = 0; i < LEVELS; i++)
        out[i].arena = emit_helper_arena(L);
    const struct expr_cuda_names names = {
        .context = &f, .leaf = leaf, .prefix = prefix, .level = level, .narrow = narrow, .known = item_name};
    const struct expr_cuda_levels levels = {out, LEVELS, at};
    if (expr_print_cuda_levels(&f.plan->fused, root, count, &names, &levels, result))
        return luaL_error(L, "out of memory");
    bool fixed = true;
    lua_createtable(L, count, 3);
    lua_pushstring(L, out[0].data ? out[0].data : "");
    lua_setfield(L, -2, "at");
    lua_pushstring(L, out[1].data ? out[1].data : "");
    lua_setfield(L, -2, "rows");
    for (int i = 0; i < count; i++) {
        fixed = fixed && is_fixed(&f.plan->fused, root[i]);
        lua_pushstring(L, result[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_pushboolean(L, fixed);
    lua_setfield(L, -2, "fixed");
    return 1;
}

/* ---- integers of an item ----------------------------------------------------------------------------------------- */

/* Integers are the same in all turns of an item, and take no element of a tensor to know. */
static bool is_of_item(const struct expr_graph *g, int node)
{
    const struct expr_node *n = &g->node[node];
    bool leaf = n->op == EXPR_AT || n->op == EXPR_SYMBOL || n->op == EXPR_CONST_INT;
    for (int i = 0; i < expr_ops[n->op].arity; i++)
        if (!is_of_item(g, n->arg[i]))
            return false;
    return leaf || expr_ops[n->op].arity > 0;
}

bool fragment_sends_line(const struct plan *p, const struct plan_step *step, const bool *narrow)
{
    const int nodes[] = {step->node, step->node2};
    bool line = step->op == PLAN_FILL && step->node;
    for (int i = 0; i < 2 && line; i++) {
        const struct expr_node *n = &p->fused.node[nodes[i] ? plan_number(nodes[i]) : plan_number(step->node)];
        const struct plan_tensor *t = n->op == EXPR_TENSOR ? &p->tensor[n->integer] : NULL;
        line = t && t->dtype == TW_FP32 && n->rank > 0 && !t->pointers && !t->out &&
               narrow[p->fused.index[n->first_index + n->rank - 1]];
        for (int d = 0; line && d < n->rank - 1; d++)
            line = is_of_item(&p->fused, p->fused.index[n->first_index + d]);
    }
    return line;
}

int emit_fragment_sends_line(lua_State *L)
{
    struct fragment f;
    begin(L, &f);
    lua_pushboolean(L, fragment_sends_line(f.plan, find_step(L, f.plan), f.narrow));
    return 1;
}

/* An element of 32 bits of a tensor, or a word of the list of turns. */
static bool is_item_element(const struct plan *p, int node)
{
    const struct expr_graph *g = &p->fused;
    const struct expr_node *n = &g->node[node];
    if (n->op == EXPR_LISTED)
        return is_of_item(g, n->arg[0]);
    bool all = n->op == EXPR_TENSOR && n->type == EXPR_INT && p->tensor[n->integer].dtype == TW_INT32;
    for (int d = 0; d < n->rank && all; d++)
        all = is_of_item(g, g->index[n->first_index + d]);
    return all;
}

/* Marks what the root, plan_some(node), is made of. */
static void reach(const struct expr_graph *g, int root, bool *reached)
{
    if (!root)
        return;
    reached[plan_number(root)] = true;
    for (int node = plan_number(root); node >= 0; node--) {
        const struct expr_node *n = &g->node[node];
        for (int i = 0; i < expr_ops[n->op].arity && reached[node]; i++)
            reached[n->arg[i]] = true;
        for (int d = 0; n->op == EXPR_TENSOR && d < n->rank && reached[node]; d++)
            reached[g->index[n->first_index + d]] = true;
    }
}

static void reach_step(const struct plan *p, const struct plan_step *step, bool *reached)
{
    memset(reached, 0, (size_t)p->fused.count + 1);
    reach(&p->fused, step->node, reached);
    reach(&p->fused, step->inside, reached);
    reach(&p->fused, step->end, reached);
    for (int d = 0; d < SPEC_MAX_RANK; d++)
        reach(&p->fused, step->at[d], reached);
    if (step->op == PLAN_LOOP && step->loop)
        reach(&p->fused, plan_some(p->loop[plan_number(step->loop)].from), reached);
}

/* Fills node with the elements of an item that at least three steps of the role ask for, a loop among them, and the
 * words of its list of turns. Their number; -1 out of memory. */
enum { MOST_ITEM = 16, OFTEN = 3 };
static int find_item_elements(const struct plan *p, const struct plan_role *role, struct arena *arena, int *node)
{
    int found[MOST_ITEM], asked[MOST_ITEM] = {0}, count = 0, taken = 0;
    bool loop[MOST_ITEM] = {false};
    bool *reached = arena_alloc(arena, (size_t)p->fused.count + 1);
    for (int i = 0; i < p->fused.count && count < MOST_ITEM; i++)
        if (is_item_element(p, i))
            found[count++] = i;
    for (int i = 0; i < role->step_count && count && reached; i++) {
        reach_step(p, &role->step[i], reached);
        for (int k = 0; k < count; k++) {
            asked[k] += reached[found[k]];
            loop[k] = loop[k] || (reached[found[k]] && role->step[i].op == PLAN_LOOP);
        }
    }
    for (int k = 0; k < count; k++)
        if (p->fused.node[found[k]].op == EXPR_LISTED ? asked[k] > 0 : asked[k] >= OFTEN && loop[k])
            node[taken++] = found[k];
    return reached ? taken : -1;
}

int emit_fragment_item(lua_State *L)
{
    struct fragment_context *c = emit_helper_context(L);
    struct arena *arena = emit_helper_arena(L);
    const struct plan *p = c->plan;
    c->item = NULL;
    if (lua_gettop(L) == 0)
        return 0;
    struct fragment f;
    begin(L, &f);
    const char *name = luaL_checkstring(L, 1), *result[MOST_ITEM] = {NULL};
    int role = 0, node[MOST_ITEM], level_of[MOST_ITEM];
    while (role < p->role_count && strcmp(p->role[role].name, name) != 0)
        role++;
    luaL_argcheck(L, role < p->role_count, 1, "no such role");
    const int count = find_item_elements(p, &p->role[role], arena, node);
    const char **item = arena_alloc(arena, ((size_t)p->fused.count + 1) * sizeof *item);
    struct emit_text out[LEVELS] = {{.arena = arena}, {.arena = arena}, {.arena = arena}};
    const struct expr_cuda_names names = {.context = &f, .leaf = leaf, .prefix = "n", .level = level, .narrow = narrow};
    const struct expr_cuda_levels levels = {out, LEVELS, level_of};
    if (count < 0 || !item || (count && expr_print_cuda_levels(&p->fused, node, count, &names, &levels, result)))
        return luaL_error(L, "out of memory");
    memset(item, 0, ((size_t)p->fused.count + 1) * sizeof *item);
    lua_createtable(L, count, 1);
    lua_pushstring(L, out[0].data ? out[0].data : "");
    lua_setfield(L, -2, "at");
    for (int i = 0; i < count; i++) {
        const struct expr_node *n = &p->fused.node[node[i]];
        const char *of = n->op == EXPR_LISTED ? "listed" : p->tensor[n->integer].name;
        item[node[i]] = arena_format(arena, "%s_item%d", of, i);
        lua_createtable(L, 0, 2);
        lua_pushstring(L, item[node[i]]);
        lua_setfield(L, -2, "name");
        lua_pushfstring(L, narrow(&f, node[i]) ? "%s" : "(int)%s", result[i]);
        lua_setfield(L, -2, "value");
        lua_rawseti(L, -2, i + 1);
    }
    c->item = item;
    return 1;
}

/* ---- what a compiler can foretell -------------------------------------------------------------------------------- */

enum { OF_COLUMN = 1, OF_LAUNCH = 2 };

/* What the node's value comes from: the element's column, what only a launch knows, or constants. */
static int origin(const struct expr_graph *g, int node, unsigned char *memo)
{
    const struct expr_node *n = &g->node[node];
    if (memo[node])
        return memo[node] - 1;
    const bool index = n->op == EXPR_INDEX && n->integer != PLAN_INDEX_WARP;
    int of = n->op == EXPR_COLUMN || index || n->op == EXPR_ACC    ? OF_COLUMN
             : n->op == EXPR_CONST_INT || n->op == EXPR_CONST_REAL ? 0
             : expr_ops[n->op].arity == 0                          ? OF_LAUNCH
                                                                   : 0;
    for (int i = 0; i < expr_ops[n->op].arity; i++)
        of |= origin(g, n->arg[i], memo);
    memo[node] = (unsigned char)(of + 1);
    return of;
}

int emit_fragment_foretold(lua_State *L)
{
    struct fragment f;
    begin(L, &f);
    const struct expr_graph *g = &f.plan->fused;
    unsigned char *memo = arena_alloc(emit_helper_arena(L), (size_t)g->count + 1);
    bool any = false;
    if (!memo)
        return luaL_error(L, "out of memory");
    for (int i = 0; i < g->count && !any; i++)
        any = g->node[i].op >= EXPR_LT && g->node[i].op <= EXPR_NE && origin(g, i, memo) == OF_COLUMN;
    lua_pushboolean(L, any);
    return 1;
}
