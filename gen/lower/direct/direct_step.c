/* Steps and places, loads and stores. */
#include "lower/direct/direct.h"

#include <stdio.h>
#include <string.h>

#include "lower/family.h"

/* ---- steps and places -------------------------------------------------------------------------------------------- */

int direct_refuse(struct direct *d, int op, const char *text)
{
    return program_refuse(d->l, d->program->op[op].loc, "PROGRAM-LOWER", "%s", text);
}

int direct_add_step(struct direct *d, struct plan_step step)
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
    static const char *const own[] = {
        "i",      "j",       "e",      "row",     "column", "row0", "row1",  "turn",     "from",      "inside",
        "args",   "column0", "lane",   "column1", "vector", "word", "item",  "entry",    "arguments", "shared_memory",
        "part",   "group",   "auto",   "bool",    "break",  "case", "char",  "class",    "const",     "do",
        "double", "else",    "enum",   "float",   "for",    "if",   "int",   "long",     "new",       "short",
        "signed", "sizeof",  "static", "struct",  "switch", "this", "union", "unsigned", "void",      "while",
        "row2",   "row3",    "row4",   "row5",    "u16",    "u32",  "u64",   "i64",      "u8",        "min",
        "max",    "values",  "chunk",  "bits",    "below"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(own[i], name) == 0)
            return true;
    size_t digits = strspn(name + 1, "0123456789");
    if (strchr("kvhp", name[0]) && name[0] && digits && !name[1 + digits]) /* as values are called */
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

/* The word's entry, a new one where there is none yet; NULL where there is no room. */
static struct direct_word *find_word(struct direct *d, const char *word)
{
    for (int i = 0; i < d->word_count; i++)
        if (strcmp(d->word[i].word, word) == 0)
            return &d->word[i];
    const char *own = d->word_count < DIRECT_MAX_WORDS ? plan_text(d->plan, "%s", word) : NULL;
    if (!own)
        return NULL;
    d->word[d->word_count] = (struct direct_word){own, 0};
    return &d->word[d->word_count++];
}

/* The word, or with a number behind it that makes it another name than all before. */
const char *direct_new_name(struct direct *d, const char *word)
{
    struct direct_word *known = find_word(d, word);
    int n = known ? known->number : 0; /* what was taken stays taken */
    const char *name;
    do {
        n++;
        name = n == 1 ? plan_text(d->plan, "%s", word) : plan_text(d->plan, "%s_%d", word, n);
    } while (name && is_taken(d->plan, name));
    if (known)
        known->number = n;
    return name;
}

/* A place for a tile; the number that steps name it by, 0 out of memory. */
int direct_new_place(struct direct *d, const char *word, struct direct_shape shape, enum tw_dtype dtype, bool packed,
                     int turns)
{
    int layout = direct_layout_of(d, shape.rows, shape.cols);
    shape = direct_held(d, shape.rows, shape.cols);
    const struct plan_layout *l = &d->plan->layout[layout];
    int each = (shape.rows > 1 ? shape.rows / l->down : 1) * (shape.cols > 1 ? shape.cols / l->across : 1);
    int bytes = (int)tw_dtype_bytes(dtype);
    struct plan_place place = {
        .name = direct_new_name(d, word),
        .kind = shape.cols > 1 && shape.rows > 1 ? PLAN_PLACE_LINEAR
                : shape.cols > 1                 ? PLAN_PLACE_COLUMNS
                                                 : PLAN_PLACE_ROWS,
        .dtype = dtype,
        .rows = shape.rows,
        .cols = shape.cols,
        .registers =
            (turns ? turns : 1) * (packed && l->vector > 1 ? (each * bytes + 3) / 4 : each * (bytes > 4 ? 2 : 1)),
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
int direct_new_scratch(struct direct *d, const char *word, struct direct_shape shape, enum tw_dtype dtype, int bytes)
{
    struct plan_place place = {.name = direct_new_name(d, word),
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

int direct_meet(struct direct *d, const char *why)
{
    if (!d->barrier) {
        d->barrier = plan_some(d->plan->barrier_count);
        if (family_add_barrier(d->plan, "block", 0, d->threads))
            return 3;
    }
    return direct_add_step(d, (struct plan_step){.op = PLAN_BARRIER,
                                                 .ring = -1,
                                                 .tensor = -1,
                                                 .count = plan_number(d->barrier),
                                                 .call = "meet",
                                                 .why = why});
}

/* An import that failed: out of memory, or a tile that its reader's threads do not hold. */
int direct_failed(struct direct *d, int op)
{
    if (!d->misfit)
        return 3;
    int other = plan_number(d->misfit);
    return program_refuse(
        d->l, d->program->op[op].loc, "PROGRAM-LOWER",
        "a tile of %d x %d of line %d lies in other threads than its rows and columns here; transpose "
        "it, or write tiles of the same shape",
        d->program->op[other].tile.rows, d->program->op[other].tile.columns, d->program->op[other].loc.line);
}

/* The node of the Plan for the tile's value. */
int direct_value_of(struct direct *d, const struct program_tile *tile)
{
    d->tile = tile;
    return direct_value(d, tile->node);
}

/* And where threads have more rows or columns than the tile. */
int direct_beyond(struct direct *d, const struct program_tile *tile, int which, int both)
{
    struct expr_graph *g = &d->plan->fused;
    int extent[2] = {tile->rows, tile->columns};
    for (int i = 0; i < 2; i++) {
        bool columns = d->swapped ? i == 0 : i == 1;
        struct direct_shape held =
            direct_held(d, d->swapped ? extent[1] : extent[0], d->swapped ? extent[0] : extent[1]);
        if (!(which & (i ? DIRECT_COLUMNS : DIRECT_ROWS)) || (columns ? held.cols : held.rows) == extent[i])
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

int direct_validity(struct direct *d, const struct program_tile *tile, int which)
{
    struct expr_graph *g = &d->plan->fused;
    const int node[2] = {which & DIRECT_ROWS ? tile->valid_row : -1, which & DIRECT_COLUMNS ? tile->valid_column : -1};
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
    return direct_beyond(d, tile, which, both);
}

/* ---- loads and stores -------------------------------------------------------------------------------------------- */

/* Rows by numbers that are so many apart: what they have in common is computed once, into a place. Returns the number
 * with that; the node where it is too simple, or wider than 32 bits; -1 out of memory. */
static int common_number(struct direct *d, int node)
{
    struct expr_graph *g = &d->plan->fused;
    int64_t more = 0, number, low, high;
    int base = node, place = 0;
    for (int i = 0; g->node[base].op == EXPR_ADD && i < 2; i++)
        if (expr_is_int(g, g->node[base].arg[i], &number)) {
            more += number;
            base = g->node[base].arg[1 - i];
            i = -1;
        }
    expr_range(g, base, &low, &high);
    if (!d->scattered || g->node[base].op == EXPR_TILE || low < INT32_MIN || high > INT32_MAX)
        return node;
    for (int i = 0; i < d->number_count; i++)
        place = d->number[i].node == base ? d->number[i].place : place;
    if (!place) {
        int rows = d->plan->layout[d->layout].rows;
        if (!d->number)
            d->number = plan_alloc(d->plan, sizeof *d->number * DIRECT_MAX_STEPS);
        place = d->number ? direct_new_place(d, "number", (struct direct_shape){rows, 1}, TW_INT32, false, 0) : 0;
        if (!place)
            return -1;
        d->plan->place[plan_number(place)].narrow = true;
        if (direct_set(d, place, base))
            return -1;
        if (d->number_count < DIRECT_MAX_STEPS)
            d->number[d->number_count++] = (struct direct_number){base, place};
    }
    int leaf = expr_leaf(g, EXPR_TILE, EXPR_INT, plan_number(place));
    return leaf < 0 ? -1 : more ? expr_binary(g, EXPR_ADD, leaf, expr_int(g, more)) : leaf;
}

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
        int node = gathered ? direct_value_of(d, &o->arg[scatters]) : direct_value(d, c->start);
        if (node < 0)
            return direct_failed(d, number);
        if (gathers && gathered && (node = common_number(d, node)) < 0)
            return 3;
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
int direct_load_guarded(struct direct *d, int number, int place, int guard)
{
    const struct program_op *o = &d->program->op[number];
    d->swapped = d->op[number].aside;
    struct direct_shape shape = {d->swapped ? o->tile.columns : o->tile.rows,
                                 d->swapped ? o->tile.rows : o->tile.columns};
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
    int status = address(d, number, &step, o->tile.rows),
        inside = direct_within_tensor(d, o) ? direct_beyond(d, &o->tile, DIRECT_COLUMNS, -1)
                                            : direct_validity(d, &o->tile, DIRECT_ROWS | DIRECT_COLUMNS);
    d->swapped = false;
    if (status || inside == -2)
        return status ? status : direct_failed(d, number);
    if (guard >= 0) {
        inside = inside < 0 ? guard : expr_binary(&d->plan->fused, EXPR_AND, inside, guard);
        if (inside < 0)
            return 3;
    }
    step.inside = plan_some(inside);
    bool kept = d->plan->place[plan_number(place)].turns > 0;
    step.why = d->op_ahead ? "of the next turn: on its way while this one is computed" : NULL;
    step.once = is_told_apart(d, &step) && (kept || is_alone(d, number));
    return d->misfit ? direct_failed(d, number) : direct_add_step(d, step);
}

int direct_load_into(struct direct *d, int number, int place)
{
    return direct_load_guarded(d, number, place, -1);
}

const char *direct_word_of(const struct direct *d, int number, const char *other)
{
    const struct program_op *o = &d->program->op[number];
    return o->name ? o->name : other;
}

/* The tile's registers among those of windows: no instruction. */
static int of_windows(struct direct *d, int number, int place)
{
    struct direct_op *op = &d->op[number];
    const struct plan_place *at = &d->plan->place[plan_number(place)];
    struct plan_step step = {.op = PLAN_TOUCH,
                             .ring = -1,
                             .tensor = -1,
                             .place = place,
                             .window = op->window,
                             .window2 = op->window2,
                             .skip = op->skip,
                             .skip2 = op->skip2,
                             .shift = op->shift,
                             .layout = at->layout,
                             .rows = at->rows,
                             .cols = at->cols,
                             .call = "window"};
    op->window = op->window2 = 0;
    op->beside = true;
    return direct_add_step(d, step);
}

/* Rows by numbers that are on their way at once, as many as compilers leave it at: registers of a thread. */
enum { SCATTERED_REGISTERS = 64 };

void direct_hold(struct direct *d, int place, bool gathered)
{
    int loaded = 0, more = d->plan->place[plan_number(place)].registers;
    if (gathered && d->scattered) {
        int room = SCATTERED_REGISTERS - d->gathered;
        more = more < room ? more : room > 0 ? room : 0;
        d->gathered += more;
    }
    d->loaded[d->depth] += more;
    for (int i = 0; i <= d->depth; i++)
        loaded += d->loaded[i];
    d->most_loaded = loaded > d->most_loaded ? loaded : d->most_loaded;
}

int direct_load(struct direct *d, int number)
{
    const struct program_op *o = &d->program->op[number];
    struct direct_shape shape = {o->tile.rows, o->tile.columns};
    bool alone = d->op[number].window || o->kind != PROGRAM_LOAD || direct_is_picked(&d->op[number]);
    int status = alone ? 0 : direct_windows(d, number);
    if (status)
        return status;
    if (d->op[number].aside)
        shape = (struct direct_shape){o->tile.columns, o->tile.rows};
    if (direct_is_picked(&d->op[number]) && shape.cols > 1)
        d->whole_row = plan_some(direct_whole_row(d, shape.rows, shape.cols));
    int place = direct_new_place(d, direct_word_of(d, number, d->plan->tensor[o->tensor].name), shape, o->tile.dtype,
                                 shape.cols > 1, 0);
    d->op[number].place = place;
    if (!place)
        return 3;
    if (d->op[number].window)
        return of_windows(d, number, place);
    direct_hold(d, place, o->kind == PROGRAM_GATHER);
    status = direct_load_into(d, number, place);
    d->whole_row = 0;
    return status;
}

/* A column of what was loaded: no instruction, or the conversion of its elements. */
int direct_pick(struct direct *d, int number)
{
    const struct program_op *o = &d->program->op[number];
    int load = (int)d->program->graph->node[o->arg[0].node].integer;
    if (!direct_is_picked(&d->op[load]))
        return direct_refuse(d, number,
                             "columns are picked of a tile that is computed with, too; load it once more for that");
    enum tw_dtype dtype = direct_value_dtype(d->program->graph->node[o->tile.node].type);
    struct direct_shape shape = {o->tile.rows, 1};
    const char *name = plan_text(d->plan, "%s_%d", d->plan->place[plan_number(d->op[load].place)].name, o->which);
    int place = name ? direct_new_place(d, name, shape, dtype, false, 0) : 0;
    if (!place)
        return 3;
    d->op[number].place = place;
    const struct plan_place *at = &d->plan->place[plan_number(place)];
    struct plan_step step = {.op = PLAN_TOUCH,
                             .ring = -1,
                             .tensor = -1,
                             .place = place,
                             .window = d->op[load].place,
                             .skip = o->which,
                             .layout = at->layout,
                             .rows = at->rows,
                             .cols = 1,
                             .call = "pick"};
    return direct_add_step(d, step);
}

int direct_store(struct direct *d, int number)
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
        return direct_refuse(d, number, "elements are added in fp32 alone; write dtype = \"fp32\"");
    if (scatters && o->arg[2].node >= 0)
        return direct_refuse(d, number, "rows are not added in the order of a key yet; leave the key out");
    int status = address(d, number, &step, tile->rows), inside = direct_validity(d, tile, DIRECT_ROWS | DIRECT_COLUMNS);
    if (scatters && inside != -2 && o->arg[1].valid_row >= 0) {
        int numbered = direct_condition(d, o->arg[1].valid_row);
        inside = numbered < 0 ? -2 : inside < 0 ? numbered : expr_binary(&d->plan->fused, EXPR_AND, inside, numbered);
    }
    int node = inside == -2 ? -1 : direct_value_of(d, tile);
    d->swapped = false;
    if (status || node < 0 || d->misfit)
        return status ? status : direct_failed(d, number);
    if (!scatters && (node = direct_pairs(d, node, d->layout)) < 0)
        return 3;
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
    return direct_add_step(d, step);
}
