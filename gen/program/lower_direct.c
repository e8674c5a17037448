/* Programs without dots: the operations in their order, as steps of one role whose threads hold tiles in registers. */
#include "program/direct.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "family/family.h"

static bool takes(const struct program *program)
{
    return !program_holds(program, PROGRAM_DOT);
}

/* ---- steps and places ---------------------------------------------------------------------------------------------- */

static int refuse(struct direct *d, int op, const char *text)
{
    return program_refuse(d->l, d->program->op[op].loc, "PROGRAM-LOWER", "%s", text);
}

static int add_step(struct direct *d, struct plan_step step)
{
    if (step.ring == 0)
        step.ring = -1;
    if (d->role->step_count >= DIRECT_MAX_STEPS)
        return program_refuse(d->l, d->program->loc, "PROGRAM-LOWER",
                              "it becomes more than %d steps; write loops in place of repeated operations",
                              DIRECT_MAX_STEPS);
    return family_add_step(d->plan, d->role, step);
}

/* Names that the template's own variables have. */
static bool is_taken(const struct plan *p, const char *name)
{
    static const char *const own[] = {"i",      "j",      "e",       "row",   "column",        "row0", "row1",
                                      "turn",   "from",   "inside",  "args",  "column0",       "lane", "column1",
                                      "vector", "item",   "entry",   "arguments", "shared_memory", "part", "group",
                                      "auto",   "bool",   "break",   "case",  "char",          "class", "const",
                                      "do",     "double", "else",    "enum",  "float",         "for",  "if",
                                      "int",    "long",   "new",     "short", "signed",        "sizeof", "static",
                                      "struct", "switch", "this",    "union", "unsigned",      "void", "while",
                                      "u16",    "u32",    "u64",     "i64",   "u8",            "min",  "max"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(own[i], name) == 0)
            return true;
    size_t digits = strspn(name + 1, "0123456789");
    if ((name[0] == 'k' || name[0] == 'v') && digits && !name[1 + digits]) /* as values are called */
        return true;
    for (int i = 0; i < p->axis_count; i++)
        if (strncmp(name, "at_", 3) == 0 && strcmp(p->axis[i], name + 3) == 0)
            return true;
    for (int i = 0; i < p->place_count; i++)
        if (strcmp(p->place[i].name, name) == 0)
            return true;
    for (int i = 0; i < p->loop_count; i++)
        if (strcmp(p->loop[i].name, name) == 0)
            return true;
    return false;
}

/* The word, or with a number behind it that makes it another name than all before. */
static const char *new_name(struct direct *d, const char *word)
{
    const char *name = plan_text(d->plan, "%s", word);
    for (int n = 2; name && is_taken(d->plan, name); n++)
        name = plan_text(d->plan, "%s_%d", word, n);
    return name;
}

/* A place for a tile; the number that steps name it by, 0 out of memory. */
static int new_place(struct direct *d, const char *word, struct direct_shape shape, enum tw_dtype dtype, bool packed, int turns)
{
    int layout = direct_layout_of(d, shape.rows, shape.cols);
    shape = direct_held(d, shape.rows, shape.cols);
    const struct plan_layout *l = &d->plan->layout[layout];
    int each = (shape.rows > 1 ? shape.rows / l->down : 1) * (shape.cols > 1 ? shape.cols / l->across : 1);
    int bytes = (int)tw_dtype_bytes(dtype);
    struct plan_place place = {
        .name = new_name(d, word),
        .kind = shape.cols > 1 && shape.rows > 1 ? PLAN_PLACE_LINEAR
                : shape.cols > 1                 ? PLAN_PLACE_COLUMNS
                                                 : PLAN_PLACE_ROWS,
        .dtype = dtype,
        .rows = shape.rows,
        .cols = shape.cols,
        .registers = (turns ? turns : 1) * (packed && l->vector > 1 ? (each * bytes + 3) / 4 : each * (bytes > 4 ? 2 : 1)),
        .shared = -1,
        .layout = plan_some(layout),
        .turns = turns,
        .packed = packed,
    };
    if (l->rows == shape.rows && l->cols == shape.cols && shape.cols > 1)
        place.kind = PLAN_PLACE_LINEAR;
    return place.name ? plan_add_place(d->plan, place) : 0;
}

/* Shared memory that the threads exchange values through. */
static int new_scratch(struct direct *d, const char *word, struct direct_shape shape, enum tw_dtype dtype, int bytes)
{
    struct plan_place place = {.name = new_name(d, word),
                               .kind = PLAN_PLACE_SHARED,
                               .dtype = dtype,
                               .rows = shape.rows,
                               .cols = shape.cols,
                               .bytes = bytes,
                               .shared = d->plan->shared_count};
    if (!place.name || !family_add_shared(d->plan, place.name, bytes, 16, 1))
        return 0;
    return plan_add_place(d->plan, place);
}

static int meet(struct direct *d)
{
    if (!d->barrier) {
        d->barrier = plan_some(d->plan->barrier_count);
        if (family_add_barrier(d->plan, "block", 0, d->threads))
            return 3;
    }
    return add_step(d, (struct plan_step){
                           .op = PLAN_BARRIER, .ring = -1, .tensor = -1, .count = plan_number(d->barrier), .call = "meet"});
}

/* An import that failed: out of memory, or a tile that its reader's threads do not hold. */
static int failed(struct direct *d, int op)
{
    if (!d->misfit)
        return 3;
    int other = plan_number(d->misfit);
    return program_refuse(d->l, d->program->op[op].loc, "PROGRAM-LOWER",
                          "a tile of %d x %d of line %d lies in other threads than its rows and columns here; transpose "
                          "it, or write tiles of the same shape",
                          d->program->op[other].tile.rows, d->program->op[other].tile.columns,
                          d->program->op[other].loc.line);
}

/* The node of the Plan for the tile's value. */
static int value_of(struct direct *d, const struct program_tile *tile)
{
    d->tile = tile;
    return direct_value(d, tile->node);
}

/* Where the tile holds: a condition, -1 everywhere, -2 out of memory. Rows and columns as `which` asks. */
enum { VALID_ROWS = 1, VALID_COLUMNS = 2 };

/* And where threads have more rows or columns than the tile. */
static int within(struct direct *d, const struct program_tile *tile, int which, int both)
{
    struct expr_graph *g = &d->plan->fused;
    int extent[2] = {tile->rows, tile->columns};
    for (int i = 0; i < 2; i++) {
        bool columns = d->swapped ? i == 0 : i == 1;
        struct direct_shape held = direct_held(d, d->swapped ? extent[1] : extent[0], d->swapped ? extent[0] : extent[1]);
        if (!(which & (i ? VALID_COLUMNS : VALID_ROWS)) || (columns ? held.cols : held.rows) == extent[i])
            continue;
        int at = expr_leaf(g, columns ? EXPR_COLUMN : EXPR_ROW, EXPR_INT, 0), end = expr_int(g, extent[i]);
        int below = at < 0 || end < 0 ? -1 : expr_binary(g, EXPR_LT, at, end);
        both = below < 0 ? -2 : both < 0 ? below : expr_binary(g, EXPR_AND, both, below);
        if (both < 0)
            return -2;
    }
    struct direct_bounds bounds;
    return direct_bounds(d, both, &bounds) ? -2 : direct_within(d, &bounds);
}

static int validity(struct direct *d, const struct program_tile *tile, int which)
{
    struct expr_graph *g = &d->plan->fused;
    const int node[2] = {which & VALID_ROWS ? tile->valid_row : -1, which & VALID_COLUMNS ? tile->valid_column : -1};
    int both = -1;
    d->tile = tile;
    for (int i = 0; i < 2; i++) {
        int64_t always;
        int made = node[i] < 0 ? -1 : direct_condition(d, node[i]);
        if (node[i] < 0)
            continue;
        if (made < 0)
            return -2;
        if (g->node[made].op == EXPR_CONST_INT && (always = g->node[made].integer) != 0)
            continue;
        both = both < 0 ? made : expr_binary(g, EXPR_AND, both, made);
        if (both < 0)
            return -2;
    }
    return within(d, tile, which, both);
}

/* ---- loads and stores ------------------------------------------------------------------------------------------------ */

/* Coordinates of the element at ROW and COLUMN, into step->at. 0, 1 or 3. */
static int address(struct direct *d, int number, struct plan_step *step, int rows)
{
    const struct program_op *o = &d->program->op[number];
    struct expr_graph *g = &d->plan->fused;
    int inner = rows;
    for (int i = 0; i < d->plan->tensor[o->tensor].rank; i++) {
        const struct program_coordinate *c = &o->at[i];
        bool gathers = o->kind == PROGRAM_GATHER, scatters = o->kind == PROGRAM_SCATTER_ADD;
        bool gathered = (gathers || scatters) && i == o->gathered;
        int node = gathered ? value_of(d, &o->arg[scatters]) : direct_value(d, c->start);
        if (node < 0)
            return failed(d, number);
        if (c->length > 1 && !gathered) {
            enum expr_op op = c->column != d->swapped ? EXPR_COLUMN : EXPR_ROW;
            int at = expr_leaf(g, op, EXPR_INT, 0);
            if (!c->column) {
                bool outermost = inner == rows;
                inner /= c->length;
                at = at < 0 ? -1 : expr_binary(g, EXPR_FLOORDIV, at, expr_int(g, inner));
                at = at < 0 || outermost ? at : expr_binary(g, EXPR_MOD, at, expr_int(g, c->length));
            }
            node = at < 0 ? -1 : expr_binary(g, EXPR_ADD, node, at);
        }
        node = node < 0 ? -1 : direct_last(d, node);
        if (node < 0)
            return 3;
        step->at[i] = plan_some(node);
    }
    return 0;
}

/* Whether each element is loaded by one item in one turn alone: its coordinates tell all of them apart. */
static bool is_told_apart(const struct direct *d, const struct plan_step *step)
{
    bool apart = true;
    for (int i = 0; i < d->plan->item_count + d->depth; i++) {
        bool item = i < d->plan->item_count, read = false;
        int which = item ? d->plan->item[i].axis : d->around[i - d->plan->item_count];
        for (int r = 0; r < SPEC_MAX_RANK && step->at[r]; r++)
            read = read || direct_reads(d, plan_number(step->at[r]), item ? EXPR_AT : EXPR_LOOP, which);
        apart = apart && read;
    }
    return apart;
}

/* Whether no other operation loads of the tensor. */
static bool is_alone(const struct direct *d, int number)
{
    bool alone = d->program->op[number].kind == PROGRAM_LOAD;
    for (int i = 0; i < d->program->op_count; i++) {
        const struct program_op *o = &d->program->op[i];
        bool loads = o->kind == PROGRAM_LOAD || o->kind == PROGRAM_GATHER;
        alone = alone && (i == number || !loads || o->tensor != d->program->op[number].tensor);
    }
    return alone;
}

/* Loads the operation's tile into the place, where the condition `guard` (-1: none) holds too. */
static int load_guarded(struct direct *d, int number, int place, int guard)
{
    const struct program_op *o = &d->program->op[number];
    d->swapped = d->op[number].aside;
    struct direct_shape shape = {d->swapped ? o->tile.columns : o->tile.rows, d->swapped ? o->tile.rows : o->tile.columns};
    d->layout = direct_layout_of(d, shape.rows, shape.cols);
    struct direct_shape held = direct_held(d, shape.rows, shape.cols);
    struct plan_step step = {.op = PLAN_GLOBAL,
                             .ring = -1,
                             .tensor = o->tensor,
                             .place = place,
                             .layout = plan_some(d->layout),
                             .shift = d->op[number].shift,
                             .rows = held.rows,
                             .cols = held.cols,
                             .call = "load"};
    int status = address(d, number, &step, o->tile.rows), inside = validity(d, &o->tile, VALID_ROWS | VALID_COLUMNS);
    d->swapped = false;
    if (status || inside == -2)
        return status ? status : failed(d, number);
    if (guard >= 0) {
        inside = inside < 0 ? guard : expr_binary(&d->plan->fused, EXPR_AND, inside, guard);
        if (inside < 0)
            return 3;
    }
    step.inside = plan_some(inside);
    bool kept = d->plan->place[plan_number(place)].turns > 0;
    step.once = is_told_apart(d, &step) && (kept || is_alone(d, number));
    return d->misfit ? failed(d, number) : add_step(d, step);
}

static int load_into(struct direct *d, int number, int place)
{
    return load_guarded(d, number, place, -1);
}

static const char *word_of(const struct direct *d, int number, const char *other)
{
    const struct program_op *o = &d->program->op[number];
    return o->name ? o->name : other;
}

static int load(struct direct *d, int number)
{
    const struct program_op *o = &d->program->op[number];
    struct direct_shape shape = {o->tile.rows, o->tile.columns};
    if (d->op[number].aside)
        shape = (struct direct_shape){o->tile.columns, o->tile.rows};
    int place = new_place(d, word_of(d, number, d->plan->tensor[o->tensor].name), shape, o->tile.dtype,
                          shape.cols > 1, 0);
    d->op[number].place = place;
    if (!place)
        return 3;
    int loaded = 0;
    d->loaded[d->depth] += d->plan->place[plan_number(place)].registers;
    for (int i = 0; i <= d->depth; i++)
        loaded += d->loaded[i];
    d->most_loaded = loaded > d->most_loaded ? loaded : d->most_loaded;
    return load_into(d, number, place);
}

static int store(struct direct *d, int number)
{
    const struct program_op *o = &d->program->op[number];
    const struct program_tile *tile = &o->arg[0];
    d->swapped = d->op[number].aside;
    struct direct_shape shape = {d->swapped ? tile->columns : tile->rows, d->swapped ? tile->rows : tile->columns};
    d->layout = direct_layout_of(d, shape.rows, shape.cols);
    struct direct_shape held = direct_held(d, shape.rows, shape.cols);
    struct plan_step step = {.op = PLAN_GLOBAL,
                             .ring = -1,
                             .tensor = o->tensor,
                             .layout = plan_some(d->layout),
                             .rows = held.rows,
                             .cols = held.cols,
                             .adds = o->kind != PROGRAM_STORE,
                             .call = o->kind == PROGRAM_STORE ? "store" : "add"};
    bool scatters = o->kind == PROGRAM_SCATTER_ADD;
    if (step.adds && d->plan->tensor[o->tensor].dtype != TW_FP32)
        return refuse(d, number, "elements are added in fp32 alone; write dtype = \"fp32\"");
    if (scatters && o->arg[2].node >= 0)
        return refuse(d, number, "rows are not added in the order of a key yet; leave the key out");
    int status = address(d, number, &step, tile->rows), inside = validity(d, tile, VALID_ROWS | VALID_COLUMNS);
    if (scatters && inside != -2 && o->arg[1].valid_row >= 0) {
        int numbered = direct_condition(d, o->arg[1].valid_row);
        inside = numbered < 0 ? -2 : inside < 0 ? numbered : expr_binary(&d->plan->fused, EXPR_AND, inside, numbered);
    }
    int node = inside == -2 ? -1 : value_of(d, tile);
    d->swapped = false;
    if (status || node < 0 || d->misfit)
        return status ? status : failed(d, number);
    step.inside = plan_some(inside);
    step.node = plan_some(node);
    struct direct_bounds bounds;
    if (shape.cols > 1 && !direct_is_whole(d, tile)) { /* then the columns apart */
        struct expr_graph *g = &d->plan->fused;
        if (direct_bounds(d, inside, &bounds))
            return 3;
        int first = bounds.column_first < 0 ? expr_int(g, 0) : bounds.column_first;
        int end = bounds.column_end < 0 ? expr_int(g, held.cols) : bounds.column_end;
        bounds.column_first = bounds.column_end = -1;
        inside = direct_within(d, &bounds);
        if (first < 0 || end < 0 || inside == -2)
            return 3;
        step.partial = true;
        step.inside = plan_some(inside);
        step.first = plan_some(first);
        step.end = plan_some(end);
    }
    return add_step(d, step);
}

/* ---- reductions ---------------------------------------------------------------------------------------------------- */

static enum plan_reduction reduction_of(const struct program_op *o)
{
    static const enum plan_reduction of[PROGRAM_REDUCTIONS] = {
        [PROGRAM_SUM] = PLAN_SUM, [PROGRAM_MAX] = PLAN_MAX, [PROGRAM_MIN] = PLAN_MIN};
    return of[o->reduction];
}

static int identity(struct direct *d, const struct program_op *o)
{
    bool real = d->program->graph->node[o->arg[0].node].type == EXPR_REAL;
    if (o->reduction == PROGRAM_SUM)
        return real ? expr_real(&d->plan->fused, 0.0) : expr_int(&d->plan->fused, 0);
    double sign = o->reduction == PROGRAM_MAX ? -1.0 : 1.0;
    return real ? expr_real(&d->plan->fused, sign * (double)INFINITY)
                : expr_int(&d->plan->fused, o->reduction == PROGRAM_MAX ? INT64_MIN + 1 : INT64_MAX);
}

static enum tw_dtype value_dtype(enum expr_type type)
{
    return type == EXPR_INT ? TW_INT64 : TW_FP32;
}

/* Sets every element of the place to the node's value there. */
static int set(struct direct *d, int place, int node)
{
    const struct plan_place *p = &d->plan->place[plan_number(place)];
    return node < 0 ? 3
                    : add_step(d, (struct plan_step){.op = PLAN_TOUCH,
                                                     .ring = -1,
                                                     .tensor = -1,
                                                     .place = place,
                                                     .node = plan_some(node),
                                                     .layout = p->layout,
                                                     .rows = p->rows,
                                                     .cols = p->cols,
                                                     .call = "set"});
}

/* A place of what each thread has of the reduction, set to its identity. */
static int begin_reduction(struct direct *d, int number)
{
    const struct program_op *o = &d->program->op[number];
    enum expr_type type = d->program->graph->node[o->arg[0].node].type;
    struct direct_shape shape = {o->over_rows ? 1 : o->arg[0].rows, o->over_rows ? o->arg[0].columns : 1};
    static const char *const word[PLAN_REDUCTION_COUNT] = {"", "sum", "most", "least"};
    int place = new_place(d, word_of(d, number, word[reduction_of(o)]), shape, value_dtype(type), false, 0);
    if (!place)
        return 3;
    /* What a row or column is reduced to lies with the tile it is reduced from. */
    int layout = direct_layout_of(d, o->arg[0].rows, o->arg[0].columns);
    struct plan_place *made = &d->plan->place[plan_number(place)];
    made->layout = plan_some(layout);
    made->rows = shape.rows > 1 ? d->plan->layout[layout].rows : 1;
    made->cols = shape.cols > 1 ? d->plan->layout[layout].cols : 1;
    d->op[number].part = place;
    return set(d, place, identity(d, o));
}

/* Adds the thread's own elements of the operand. */
static int fold(struct direct *d, int number)
{
    const struct program_op *o = &d->program->op[number];
    d->layout = direct_layout_of(d, o->arg[0].rows, o->arg[0].columns);
    struct direct_shape held = direct_held(d, o->arg[0].rows, o->arg[0].columns);
    struct plan_step step = {.op = PLAN_TOUCH,
                             .ring = -1,
                             .tensor = -1,
                             .place = d->op[number].part,
                             .layout = plan_some(d->layout),
                             .rows = held.rows,
                             .cols = held.cols,
                             .reduction = reduction_of(o),
                             .over_rows = o->over_rows,
                             .call = "fold"};
    bool zero = o->reduction == PROGRAM_SUM && direct_zero_outside(d, o->arg[0].node, &o->arg[0]);
    int inside = zero ? -1 : validity(d, &o->arg[0], o->over_rows ? VALID_ROWS : VALID_COLUMNS);
    int node = inside == -2 ? -1 : value_of(d, &o->arg[0]);
    if (node < 0 || d->misfit)
        return failed(d, number);
    step.inside = plan_some(inside);
    step.node = plan_some(node);
    step.partial = held.cols > 1 && inside >= 0 && !direct_is_whole(d, &o->arg[0]);
    return add_step(d, step);
}

/* Threads that hold parts of one row or column: those of a warp, and the groups of them that meet. */
struct partners {
    int lanes, groups;
};
static struct partners partners_of(const struct plan_layout *l, const struct program_op *o)
{
    if (!o->over_rows)
        return (struct partners){l->across < 32 ? l->across : 32, l->across > 32 ? l->across / 32 : 1};
    if (o->arg[0].rows == 1)
        return (struct partners){1, 1};
    int lanes = l->across < 32 ? 32 / l->across : 1;
    return (struct partners){lanes < l->down ? lanes : l->down, l->down > lanes ? l->down / lanes : 1};
}

/* Makes whole results of the parts, of several operations at once: lanes first, then one meeting for all. */
static int complete(struct direct *d, const int *number, int count)
{
    int scratch[PROGRAM_MAX_CARRIED] = {0}, status = 0;
    bool any = false;
    for (int pass = 0; pass < 3 && !status; pass++) {
        for (int i = 0; i < count && !status; i++) {
            const struct program_op *o = &d->program->op[number[i]];
            const struct plan_place place = d->plan->place[plan_number(d->op[number[i]].part)];
            const struct plan_layout *l = &d->plan->layout[plan_number(place.layout)];
            struct partners with = partners_of(l, o);
            struct plan_step step = {.op = PLAN_TOUCH,
                                     .ring = -1,
                                     .tensor = -1,
                                     .place = d->op[number[i]].part,
                                     .layout = place.layout,
                                     .rows = place.rows,
                                     .cols = place.cols,
                                     .reduction = reduction_of(o),
                                     .over_rows = o->over_rows,
                                     .call = "lanes"};
            if (pass == 0 && with.lanes > 1)
                status = add_step(d, step);
            if (with.groups == 1 || pass == 0)
                continue;
            any = true;
            if (pass == 1) {
                int size = place.dtype == TW_INT64 ? 8 : 4;
                const char *name = plan_text(d->plan, "%s_parts", place.name);
                struct direct_shape shape = {with.groups, place.rows * place.cols};
                scratch[i] = name ? new_scratch(d, name, shape, place.dtype, size * shape.rows * shape.cols) : 0;
                if (!scratch[i])
                    return 3;
            }
            step.op = pass == 1 ? PLAN_SCRATCH_WRITE : PLAN_SCRATCH_READ;
            step.place2 = step.place;
            step.place = scratch[i];
            step.count = 0;
            step.call = pass == 1 ? "share" : "gather";
            status = add_step(d, step);
        }
        if (any && !status && (pass == 1 || (pass == 2 && d->depth)))
            status = meet(d);
    }
    return status;
}

static int reduce(struct direct *d, int number)
{
    if (d->op[number].part) /* its loop's end completes it */
        return fold(d, number);
    int status = begin_reduction(d, number);
    if (!status)
        status = fold(d, number);
    if (!status)
        status = complete(d, &number, 1);
    d->op[number].place = d->op[number].part;
    d->op[number].part = 0;
    return status;
}

/* ---- transposes ------------------------------------------------------------------------------------------------------ */

static int transpose(struct direct *d, int number)
{
    const struct program_op *o = &d->program->op[number];
    if (d->op[number].vector)
        return 0; /* who reads it reads its operand, rows for columns */
    const struct program_tile *tile = &o->arg[0];
    enum tw_dtype dtype = d->program->graph->node[tile->node].type == EXPR_INT ? TW_INT64 : tile->dtype;
    int size = (int)tw_dtype_bytes(dtype);
    d->layout = direct_layout_of(d, tile->rows, tile->columns);
    struct direct_shape from = direct_held(d, tile->rows, tile->columns);
    struct direct_shape to = direct_held(d, tile->columns, tile->rows);
    int scratch = new_scratch(d, "turned", from, dtype, size * from.rows * (from.cols + (d->vector == 1)));
    int place = new_place(d, word_of(d, number, "across"), (struct direct_shape){tile->columns, tile->rows}, dtype, true, 0);
    int node = value_of(d, tile);
    if (!scratch || !place || node < 0 || d->misfit)
        return failed(d, number);
    /* Read where the tile is: threads that have more than it find nothing written. */
    struct program_tile turned = program_no_tile;
    turned.rows = tile->columns;
    turned.columns = tile->rows;
    int inside = within(d, &turned, VALID_ROWS | VALID_COLUMNS, -1);
    if (inside == -2)
        return 3;
    struct plan_step write = {.op = PLAN_SCRATCH_WRITE,
                              .ring = -1,
                              .tensor = -1,
                              .place = scratch,
                              .node = plan_some(node),
                              .layout = plan_some(d->layout),
                              .rows = from.rows,
                              .cols = from.cols,
                              .call = "turn"};
    struct plan_step read = {.op = PLAN_SCRATCH_READ,
                             .ring = -1,
                             .tensor = -1,
                             .place = scratch,
                             .place2 = place,
                             .layout = d->plan->place[plan_number(place)].layout,
                             .rows = to.rows,
                             .cols = to.cols,
                             .inside = plan_some(inside),
                             .call = "turn"};
    int status = add_step(d, write);
    status = status ? status : meet(d);
    status = status ? status : add_step(d, read);
    d->op[number].place = place;
    return status || !d->depth ? status : meet(d);
}

/* ---- loops ----------------------------------------------------------------------------------------------------------- */

static int lower_body(struct direct *d, int first, int end);

/* The loop's variable; loops over the same range have one. */
static int loop_variable(struct direct *d, int number)
{
    const struct program_op *o = &d->program->op[number];
    struct plan *p = d->plan;
    int from = direct_value(d, o->from), to = direct_value(d, o->to);
    int64_t by = 1;
    if (from < 0 || to < 0)
        return failed(d, number);
    if (!expr_is_int(d->program->graph, o->step, &by) || by < 1 || by > INT32_MAX)
        return refuse(d, number, "the step of a loop is a constant; write range(from, to, 64)");
    for (int i = 0; i < p->loop_count; i++)
        if (p->loop[i].from == from && p->loop[i].to == to && p->loop[i].step == by && !o->depth) {
            d->op[number].loop = plan_some(i);
            return 0;
        }
    struct plan_loop *grown = plan_alloc(p, sizeof *grown * (size_t)(p->loop_count + 1));
    const char *word = plan_text(p, "at_%s", o->name ? o->name : "loop");
    const char *name = word ? new_name(d, word) : NULL;
    if (!grown || !name)
        return 3;
    if (p->loop_count)
        memcpy(grown, p->loop, sizeof *grown * (size_t)p->loop_count);
    grown[p->loop_count] = (struct plan_loop){name, from, to, (int)by};
    p->loop = grown;
    d->op[number].loop = plan_some(p->loop_count++);
    return 0;
}

static int begin_loop(struct direct *d, int number, int turns, bool kept, int less)
{
    int loop = d->op[number].loop;
    d->around[d->depth++] = plan_number(loop);
    d->loaded[d->depth] = 0;
    return add_step(d, (struct plan_step){.op = PLAN_LOOP,
                                          .ring = -1,
                                          .tensor = -1,
                                          .count = turns,
                                          .less = less,
                                          .loop = loop,
                                          .kept = kept,
                                          .call = d->plan->loop[plan_number(loop)].name});
}

static int end_loop(struct direct *d)
{
    d->depth--;
    return add_step(d, (struct plan_step){.op = PLAN_END, .ring = -1, .tensor = -1});
}

/* The reduction of the loop's body that value k is the running total of, read by nobody within: -1 where it is none. */
static int running_total(const struct direct *d, int loop, int k)
{
    const struct program *p = d->program;
    const struct expr_graph *g = p->graph;
    const struct expr_node *n = &g->node[p->op[p->op[loop].end].value[k].node];
    for (int i = 0; i < 2 && (n->op == EXPR_ADD || n->op == EXPR_MAX || n->op == EXPR_MIN); i++) {
        const struct expr_node *a = &g->node[n->arg[i]], *b = &g->node[n->arg[1 - i]];
        if (a->op != EXPR_TILE || b->op != EXPR_TILE)
            continue;
        const struct program_op *before = &p->op[a->integer], *o = &p->op[b->integer];
        bool fits = before->kind == PROGRAM_PARAM && before->loop == loop && before->which == k &&
                    o->kind == PROGRAM_REDUCE && o->depth == p->op[loop].depth + 1 && b->integer > loop &&
                    b->integer < p->op[loop].end;
        enum expr_op op = o->reduction == PROGRAM_SUM ? EXPR_ADD : o->reduction == PROGRAM_MAX ? EXPR_MAX : EXPR_MIN;
        if (fits && n->op == op && d->op[a->integer].uses == 1 && d->op[b->integer].uses == 1)
            return (int)b->integer;
    }
    return -1;
}

/* PARAM or RESULT k of the loop. */
static int carried_op(const struct direct *d, int loop, enum program_kind kind, int k)
{
    for (int i = loop; i < d->program->op_count; i++)
        if (d->program->op[i].kind == kind && d->program->op[i].loop == loop && d->program->op[i].which == k)
            return i;
    return -1;
}

static bool reads_place(const struct expr_graph *g, int node, int place)
{
    const struct expr_node *n = &g->node[node];
    if (n->op == EXPR_TILE)
        return n->integer == place;
    for (int i = 0; i < 3; i++)
        if (n->arg[i] >= 0 && reads_place(g, n->arg[i], place))
            return true;
    for (int i = 0; n->op == EXPR_TENSOR && i < n->rank; i++)
        if (reads_place(g, g->index[n->first_index + i], place))
            return true;
    return false;
}

/* What a turn carries on. All values are those of before: one that another still reads goes by a place between. */
static int carry_on(struct direct *d, int loop, const int *total)
{
    const struct program_op *end = &d->program->op[d->program->op[loop].end];
    int count = d->program->op[loop].carried, node[PROGRAM_MAX_CARRIED], place[PROGRAM_MAX_CARRIED];
    int between[PROGRAM_MAX_CARRIED] = {0}, status = 0;
    for (int k = 0; k < count; k++) {
        if (total[k] >= 0)
            continue;
        place[k] = d->op[carried_op(d, loop, PROGRAM_PARAM, k)].place;
        d->layout = plan_number(d->plan->place[plan_number(place[k])].layout);
        node[k] = value_of(d, &end->value[k]);
        if (node[k] < 0 || d->misfit)
            return failed(d, d->program->op[loop].end);
    }
    for (int k = 0; k < count && !status; k++) {
        bool later = false;
        if (total[k] >= 0)
            continue;
        for (int o = k + 1; o < count; o++)
            later = later || (total[o] < 0 && reads_place(&d->plan->fused, node[o], plan_number(place[k])));
        if (later) {
            const struct plan_place at = d->plan->place[plan_number(place[k])];
            const char *name = plan_text(d->plan, "%s_next", at.name);
            struct plan_place next = at;
            next.name = name ? new_name(d, name) : NULL;
            between[k] = next.name ? plan_add_place(d->plan, next) : 0;
            if (!between[k])
                return 3;
        }
        status = set(d, later ? between[k] : place[k], node[k]);
    }
    for (int k = 0; k < count && !status; k++)
        if (total[k] < 0 && between[k]) {
            enum expr_type type = d->plan->place[plan_number(place[k])].dtype == TW_INT64 ? EXPR_INT : EXPR_REAL;
            status = set(d, place[k], expr_leaf(&d->plan->fused, EXPR_TILE, type, plan_number(between[k])));
        }
    return status;
}

/* Loads of a turn that are issued in the turn before, so that they are on their way while that is computed. */
enum { AHEAD_REGISTERS = 40 };
struct ahead {
    int load[8], now[8], next[8], count; /* operations, places */
};

static void find_ahead(struct direct *d, int loop, struct ahead *a)
{
    int registers = 0;
    a->count = 0;
    for (int i = loop + 1; i < d->program->op[loop].end; i++) {
        const struct program_op *o = &d->program->op[i];
        int bytes = (int)tw_dtype_bytes(o->tile.dtype) * o->tile.rows * o->tile.columns / d->threads;
        bool fits = o->kind == PROGRAM_LOAD && o->depth == d->program->op[loop].depth + 1 && o->tile.columns > 1 &&
                    !d->op[i].place && !d->op[i].aside && direct_is_free(d, i) && a->count < 8;
        if (!fits || (registers += (bytes + 3) / 4) > AHEAD_REGISTERS)
            continue;
        a->load[a->count++] = i;
    }
    if (registers > AHEAD_REGISTERS || d->vector == 1)
        a->count = 0;
}

/* Loads the turn whose variable is `at` into the places of the next turn, if there is such a turn. */
static int load_ahead(struct direct *d, int loop, const struct ahead *a, int at)
{
    struct expr_graph *g = &d->plan->fused;
    int guard = expr_binary(g, EXPR_LT, at, d->plan->loop[plan_number(d->op[loop].loop)].to), status = guard < 0 ? 3 : 0;
    int64_t always;
    if (!status && g->node[guard].op == EXPR_CONST_INT && (always = g->node[guard].integer) != 0)
        guard = -1;
    d->op[loop].ahead = plan_some(at);
    for (int i = 0; i < a->count && !status; i++)
        status = load_guarded(d, a->load[i], a->next[i], guard);
    d->op[loop].ahead = 0;
    return status;
}

static int begin_ahead(struct direct *d, int loop, struct ahead *a, int less)
{
    const struct plan_loop *l = &d->plan->loop[plan_number(d->op[loop].loop)];
    struct expr_graph *g = &d->plan->fused;
    int first = expr_binary(g, EXPR_ADD, l->from, expr_int(g, (int64_t)less * l->step));
    for (int i = 0; i < a->count; i++) {
        const struct program_op *o = &d->program->op[a->load[i]];
        const char *word = word_of(d, a->load[i], d->plan->tensor[o->tensor].name);
        const char *next = plan_text(d->plan, "%s_next", word);
        struct direct_shape shape = {o->tile.rows, o->tile.columns};
        a->now[i] = new_place(d, word, shape, o->tile.dtype, true, 0);
        a->next[i] = next ? new_place(d, next, shape, o->tile.dtype, true, 0) : 0;
        if (!a->now[i] || !a->next[i])
            return 3;
    }
    return first < 0 ? 3 : a->count ? load_ahead(d, loop, a, first) : 0;
}

/* At the head of a turn: its own tiles are there, those of the next are asked for. */
static int turn_ahead(struct direct *d, int loop, const struct ahead *a)
{
    const struct plan_loop *l = &d->plan->loop[plan_number(d->op[loop].loop)];
    struct expr_graph *g = &d->plan->fused;
    int at = expr_leaf(g, EXPR_LOOP, EXPR_INT, plan_number(d->op[loop].loop));
    int next = at < 0 ? -1 : expr_binary(g, EXPR_ADD, at, expr_int(g, l->step)), status = next < 0 ? 3 : 0;
    for (int i = 0; i < a->count && !status; i++) {
        enum expr_type type = d->program->graph->node[d->program->op[a->load[i]].tile.node].type;
        d->op[a->load[i]].place = a->now[i];
        status = set(d, a->now[i], expr_leaf(g, EXPR_TILE, type, plan_number(a->next[i])));
    }
    return status || !a->count ? status : load_ahead(d, loop, a, next);
}

/* One loop of the plan over the body. */
static int turns_of(struct direct *d, int loop, const int *total, struct plan_step how)
{
    struct ahead ahead = {.count = 0};
    if (!how.kept)
        find_ahead(d, loop, &ahead);
    int status = begin_ahead(d, loop, &ahead, how.less);
    if (!status)
        status = begin_loop(d, loop, how.count, how.kept, how.less);
    if (!status)
        status = turn_ahead(d, loop, &ahead);
    if (!status)
        status = lower_body(d, loop + 1, d->program->op[loop].end);
    if (!status)
        status = carry_on(d, loop, total);
    for (int i = 0; i < ahead.count; i++)
        d->op[ahead.load[i]].place = 0;
    return status ? status : end_loop(d);
}

/* The tiles that stay get places with turns; the first loop of the group fills them. */
static int load_kept(struct direct *d, int loop, const struct direct_keep *keep)
{
    int status = 0, *kept = d->kept;
    for (int i = 0; i < keep->load_count && loop == keep->first; i++) {
        const struct program_op *o = &d->program->op[keep->load[i]];
        const char *name = plan_text(d->plan, "%s_kept", word_of(d, keep->load[i], d->plan->tensor[o->tensor].name));
        struct direct_shape shape = {o->tile.rows, o->tile.columns};
        kept[keep->load[i]] = name ? new_place(d, name, shape, o->tile.dtype, true, keep->turns) : 0;
        if (!kept[keep->load[i]])
            return 3;
    }
    if (loop == keep->first) {
        status = begin_loop(d, loop, keep->turns, true, 0);
        for (int i = 0; i < keep->load_count && !status; i++)
            status = load_into(d, keep->load[i], kept[keep->load[i]]);
        if (!status)
            status = end_loop(d);
    }
    return status;
}

static int begin_carried(struct direct *d, int loop, int *total)
{
    const struct program_op *o = &d->program->op[loop];
    int status = 0;
    for (int k = 0; k < o->carried && !status; k++) {
        total[k] = running_total(d, loop, k);
        if (total[k] >= 0) {
            status = begin_reduction(d, total[k]);
            continue;
        }
        int param = carried_op(d, loop, PROGRAM_PARAM, k), result = carried_op(d, loop, PROGRAM_RESULT, k);
        const struct program_op *p = &d->program->op[param];
        const char *name = plan_text(d->plan, "%s_%d", o->name ? o->name : "carried", k + 1);
        enum expr_type type = p->tile.dtype == TW_INT64 ? EXPR_INT : EXPR_REAL;
        int place = name ? new_place(d, name, (struct direct_shape){p->tile.rows, p->tile.columns}, value_dtype(type), false, 0)
                         : 0;
        if (!place)
            return 3;
        d->layout = plan_number(d->plan->place[plan_number(place)].layout);
        int node = value_of(d, &o->value[k]);
        if (node < 0 || d->misfit)
            return failed(d, loop);
        d->op[param].place = place;
        if (result >= 0)
            d->op[result].place = place;
        status = set(d, place, node);
    }
    return status;
}

/* Totals are made whole and added to what the loop began with. */
static int end_carried(struct direct *d, int loop, const int *total)
{
    static const enum expr_op op[PROGRAM_REDUCTIONS] = {
        [PROGRAM_SUM] = EXPR_ADD, [PROGRAM_MAX] = EXPR_MAX, [PROGRAM_MIN] = EXPR_MIN};
    const struct program_op *o = &d->program->op[loop];
    struct expr_graph *g = &d->plan->fused;
    int number[PROGRAM_MAX_CARRIED], count = 0, status = 0;
    for (int k = 0; k < o->carried; k++)
        if (total[k] >= 0)
            number[count++] = total[k];
    status = count ? complete(d, number, count) : 0;
    for (int k = 0; k < o->carried && !status; k++) {
        if (total[k] < 0)
            continue;
        int place = d->op[total[k]].part, result = carried_op(d, loop, PROGRAM_RESULT, k);
        const struct program_op *r = &d->program->op[total[k]];
        enum expr_type type = d->plan->place[plan_number(place)].dtype == TW_INT64 ? EXPR_INT : EXPR_REAL;
        d->layout = plan_number(d->plan->place[plan_number(place)].layout);
        int first = value_of(d, &o->value[k]), none = identity(d, r);
        int part = expr_leaf(g, EXPR_TILE, type, plan_number(place));
        if (first < 0 || none < 0 || part < 0 || d->misfit)
            return failed(d, loop);
        if (first != none) {
            int sum = expr_binary(g, op[r->reduction], first, part);
            status = set(d, place, sum);
        }
        if (result >= 0)
            d->op[result].place = place;
        d->op[total[k]].part = 0;
    }
    return status;
}

static int lower_loop(struct direct *d, int loop)
{
    const struct program_op *o = &d->program->op[loop];
    int total[PROGRAM_MAX_CARRIED];
    struct direct_keep keep;
    int status = begin_carried(d, loop, total);
    d->op[loop].plain = direct_is_plain(d, loop);
    if (!status)
        direct_keep(d, loop, &keep);
    if (!status && keep.turns) {
        status = load_kept(d, loop, &keep);
        for (int i = loop + 1; i < o->end; i++)
            d->op[i].place = d->program->op[i].kind == PROGRAM_LOAD ? direct_kept(d, &keep, d->kept, i) : d->op[i].place;
        if (!status)
            status = turns_of(d, loop, total, (struct plan_step){.count = keep.turns, .kept = true});
        for (int i = loop + 1; i < o->end; i++)
            if (d->program->op[i].kind == PROGRAM_LOAD)
                d->op[i].place = 0;
        if (!status && !keep.all)
            status = turns_of(d, loop, total, (struct plan_step){.less = keep.turns});
    } else if (!status) {
        status = turns_of(d, loop, total, (struct plan_step){0});
    }
    return status ? status : end_carried(d, loop, total);
}

/* ---- the walk ---------------------------------------------------------------------------------------------------------- */

static int lower_op(struct direct *d, int i)
{
    switch (d->program->op[i].kind) {
    case PROGRAM_LOAD:
        return d->op[i].place ? 0 : load(d, i); /* kept from an earlier loop */
    case PROGRAM_GATHER:
        return load(d, i);
    case PROGRAM_STORE:
    case PROGRAM_STORE_ADD:
    case PROGRAM_SCATTER_ADD:
        return store(d, i);
    case PROGRAM_REDUCE:
        return reduce(d, i);
    case PROGRAM_TRANSPOSE:
        return transpose(d, i);
    case PROGRAM_STAGE:
    case PROGRAM_PARAM:
    case PROGRAM_RESULT:
        return 0;
    default:
        return program_refuse(d->l, d->program->op[i].loc, "PROGRAM-LOWER",
                              "%s is not lowered in programs without dots; write it with load, gather and store",
                              program_kinds[d->program->op[i].kind].name);
    }
}

static int lower_body(struct direct *d, int first, int end)
{
    int status = 0;
    for (int i = first; i < end && !status; i++) {
        if (d->program->op[i].kind == PROGRAM_LOOP) {
            status = lower_loop(d, i);
            i = d->program->op[i].end;
        } else {
            status = lower_op(d, i);
        }
    }
    return status;
}

/* Blocks: one an item. */
static int decide_items(struct direct *d)
{
    struct plan *p = d->plan;
    const struct program *from = d->program;
    int blocks = expr_int(&p->graph, 1), count = 0;
    p->item = plan_alloc(p, sizeof *p->item * SPEC_MAX_AXES);
    if (!p->item || blocks < 0)
        return 3;
    for (int a = 0; a < from->axis_count && a < SPEC_MAX_AXES; a++) {
        int tile = from->axis[a].tile ? from->axis[a].tile : 1;
        if (from->axis[a].extent < 0)
            continue;
        int size = expr_int(&p->graph, tile), extent = expr_import(&p->graph, from->graph, from->axis[a].extent);
        int fused = direct_value(d, from->axis[a].extent);
        int tiles = size < 0 || extent < 0 || fused < 0 ? -1 : expr_ceil_div(&p->graph, extent, size);
        blocks = tiles < 0 ? -1 : expr_binary(&p->graph, EXPR_MUL, blocks, tiles);
        int each = tiles < 0 ? -1 : expr_ceil_div(&p->fused, fused, expr_int(&p->fused, tile));
        if (blocks < 0 || each < 0)
            return 3;
        p->item[count++] = (struct plan_item){a, tile, each};
    }
    p->item_count = count;
    p->launch.grid[0] = blocks;
    return 0;
}

/* The element types that loads and stores convert. */
static bool is_moved(enum tw_dtype dtype)
{
    static const bool moved[TW_DTYPE_COUNT] = {
        [TW_BF16] = true,  [TW_FP16] = true,   [TW_FP32] = true,  [TW_INT8] = true,   [TW_UINT8] = true, [TW_INT16] = true,
        [TW_UINT16] = true, [TW_INT32] = true, [TW_UINT32] = true, [TW_INT64] = true, [TW_UINT64] = true, [TW_BOOL] = true,
    };
    return moved[dtype];
}

static int decide_tensors(struct direct *d)
{
    struct plan *p = d->plan;
    for (int i = 0; i < p->tensor_count; i++)
        if (!is_moved(p->tensor[i].dtype))
            return program_refuse(d->l, p->tensor[i].loc, "PROGRAM-LOWER",
                                  "tensor %s is %s, which programs without dots do not move yet; write bf16, fp16, fp32 "
                                  "or an integer type",
                                  p->tensor[i].name, tw_dtype_name(p->tensor[i].dtype));
    int moved = expr_int(&p->graph, 0);
    for (int i = 0; i < p->tensor_count; i++) {
        struct plan_tensor *t = &p->tensor[i];
        int elements = expr_int(&p->graph, (int64_t)tw_dtype_bytes(t->dtype));
        for (int r = 0; r < t->rank && elements >= 0; r++)
            elements = expr_binary(&p->graph, EXPR_MUL, elements, t->dim[r]);
        moved = elements < 0 || moved < 0 ? -1 : expr_binary(&p->graph, EXPR_ADD, moved, elements);
    }
    p->bytes_moved = moved;
    for (int i = 0; d->vector > 1 && i < d->program->op_count; i++) {
        const struct program_op *o = &d->program->op[i];
        bool stores = o->kind == PROGRAM_STORE || o->kind == PROGRAM_STORE_ADD || o->kind == PROGRAM_SCATTER_ADD;
        bool vectors = ((o->kind == PROGRAM_LOAD || o->kind == PROGRAM_GATHER) && o->tile.columns > 1) ||
                       (stores && o->arg[0].columns > 1);
        if (!vectors || d->op[i].aside)
            continue;
        struct plan_tensor *t = &p->tensor[o->tensor];
        t->align = d->vector * (int)tw_dtype_bytes(t->dtype);
        t->whole_rows = true;
    }
    return moved < 0 ? 3 : 0;
}

static int reasons(struct direct *d)
{
    struct plan *p = d->plan;
    char value[32];
    snprintf(value, sizeof value, "%d", d->vector);
    int status = d->l->variant == 0 && d->vector > 1
                     ? family_reason(p, "vector", value, "elements that every load and store moves at once: rows, tiles "
                                                         "and coordinates are multiples of it")
                     : family_reason(p, "vector", value, "rows of any length at any address");
    snprintf(value, sizeof value, "%d", d->threads);
    status = status ? status
                    : family_reason(p, "threads", value, "each holds %d elements of a tile of %d x %d",
                                    p->layout[0].rows * p->layout[0].cols / d->threads, p->layout[0].rows,
                                    p->layout[0].cols);
    return status ? 3 : 0;
}

static int finish(struct direct *d)
{
    struct plan *p = d->plan;
    /* Tiles that stay and values live on, tiles of other bodies do not; the rest is addresses and conditions. */
    int registers = 24 + d->most_loaded;
    for (int i = 0; i < p->place_count; i++)
        registers += p->place[i].turns || !p->place[i].packed ? p->place[i].registers : 0;
    const struct spec_value *most = &d->l->fields.value[FIELD_REGISTERS];
    p->registers_estimate = registers;
    p->register_limit = most->set ? (int)most->integer : 0;
    p->allow_spills = d->l->fields.value[FIELD_SPILLS].set && d->l->fields.value[FIELD_SPILLS].integer;
    p->launch.block = d->threads;
    family_place_shared(p);
    p->blocks_per_sm = arch_resident_blocks(d->l->arch, d->threads, registers < 255 ? registers : 255,
                                            p->launch.shared_bytes);
    if (p->launch.shared_bytes > d->l->arch->shared_limit)
        return program_refuse(d->l, d->program->loc, "SMEM",
                              "its tiles take %d bytes of shared memory, but a block of %s has %d; write smaller tiles",
                              p->launch.shared_bytes, d->l->arch->name, d->l->arch->shared_limit);
    int limit = d->l->arch->registers_per_block / d->threads / 8 * 8;
    limit = limit < d->l->arch->registers_per_thread ? limit : d->l->arch->registers_per_thread;
    if (registers > limit)
        return program_refuse(d->l, d->program->loc, "REGS",
                              "each of %d threads would hold about %d registers, but has %d; write smaller tiles",
                              d->threads, registers, limit);
    return family_pack_params(p);
}

static int begin(struct direct *d)
{
    const struct program_lowering *l = d->l;
    struct plan *p = d->plan;
    size_t nodes = (size_t)d->program->graph->count + 1, ops = (size_t)d->program->op_count + 1;
    d->op = plan_alloc(p, sizeof *d->op * ops);
    d->kept = plan_alloc(p, sizeof *d->kept * ops);
    d->memo = plan_alloc(p, sizeof *d->memo * nodes);
    d->stamp = plan_alloc(p, sizeof *d->stamp * nodes);
    bool *reached = plan_alloc(p, nodes), *whole = plan_alloc(p, (size_t)l->spec->dim_count + 1);
    if (!d->op || !d->kept || !d->memo || !d->stamp || !reached || !whole)
        return 3;
    direct_survey(d->program, d->op, reached);
    d->whole = whole;
    d->vector = l->variant == 0 ? direct_vector(l->spec, l->kernel, d->op, whole) : 1;
    d->layout = -1;
    expr_free(&p->fused); /* rebuilt in leaves of the Plan */
    p->variant = l->variant ? "unaligned" : "";
    p->entry = l->variant ? plan_text(p, "%s__unaligned", p->kernel) : p->kernel;
    p->template_name = "program.direct.cu";
    p->derived = true;
    return p->entry ? 0 : 3;
}

static int lower(const struct program_lowering *l)
{
    struct direct d = {.l = l, .program = l->kernel->program, .plan = l->plan};
    int status = begin(&d);
    status = status ? status : direct_layouts(&d);
    if (status)
        return status;
    d.role = family_add_role(l->plan, "block", 1, 0, d.threads / 32, 0);
    status = d.role ? decide_items(&d) : 3;
    status = status ? status : decide_tensors(&d);
    for (int i = 0; i < d.program->op_count && !status; i++) /* first, as equal ranges are looked for */
        status = d.program->op[i].kind == PROGRAM_LOOP ? loop_variable(&d, i) : 0;
    status = status ? status : lower_body(&d, 0, d.program->op_count);
    status = status ? status : reasons(&d);
    return status ? status : finish(&d);
}

/* Two where vectors ask for more than any address and any rows. */
static int variants(const struct spec *spec, const struct spec_kernel *kernel, const struct arch *arch)
{
    (void)arch;
    const struct program *p = kernel->program;
    struct plan scratch = {0};
    struct direct_op *op = plan_alloc(&scratch, sizeof *op * ((size_t)p->op_count + 1));
    bool *reached = plan_alloc(&scratch, (size_t)p->graph->count + 1);
    bool *whole = plan_alloc(&scratch, (size_t)spec->dim_count + 1);
    int count = 1;
    if (op && reached && whole) {
        direct_survey(p, op, reached);
        count = direct_vector(spec, kernel, op, whole) > 1 ? 2 : 1;
    }
    plan_free(&scratch);
    return count;
}

const struct program_lowerer program_lower_direct = {"direct", takes, variants, lower};
