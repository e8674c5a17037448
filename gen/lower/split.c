/* A loop whose turns are shared: the program is written once more, as one block of several runs it.
 *
 * The blocks are items along an axis more, of as many places as there are parts, which a cluster takes together. Part i
 * takes turns i, i + parts, ... of the loop, and all parts make equally many: those beyond the range load zeros. So the
 * loop steps by as many of its steps as there are parts, and its variable is further on by the part's own. The sums
 * that it carries are then parts of the whole ones, which the lowering adds up behind it (derive/derive_parts.c), each
 * block its share of the columns: what stands behind the loop is of these alone. A column there is that of the item
 * beyond those of the parts before it, and so begin the spans that run along columns.
 *
 * What is turned there, t(), has those columns as its rows.
 *
 * Over blocks of no cluster the parts are items that stand side by side, and nothing behind the loop changes: whichever
 * block comes last adds up the parts of all, and does what stands there.
 *
 * A loop that has a combine says itself what two parts of its turns make together, so that they need be no sums: over
 * blocks, part i takes turns i, i + parts, ... as far as there are any, and who has none leaves the first values.
 *
 * As a stream (schedule.stream) the turns of many items are one line, of which each block has its share: of one item
 * the last turns, some items whole, of another the first turns. So an item says which of its turns are meant, along two
 * axes that no items run along: the number of the first, and how many. Which they are, one function finds for all roles
 * (templates/blocks/items.cuh). Behind the loop things are as over blocks, where a block has not all of the turns.
 */
#include "lower/lower.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum frame { OF_NOTHING, OF_TURN, STRAIGHT, TURNED, FRAMES };

enum { COLUMNS_UNIT = 8 }; /* of an accumulator: what a thread's neighbours hold of a row */

struct split {
    const struct program_lowering *l;
    const struct spec_split *said; /* of a stream made up, of one part over blocks */
    bool stream;
    struct program *p;
    const struct program_op *was; /* operations as they were */
    struct expr_graph *g;
    int loop, parts, columns; /* of its sums */
    int by, shift;            /* nodes: how far the part's turns, and its columns, are from the first part's */
    enum frame *frame;        /* by operation behind the loop */
    int *memo[FRAMES];        /* by node: what it became + 1 */
    int nodes;                /* that there were */
};

/* A fault of the field, for what the program has at that line. Ends in what to write. */
static int __attribute__((format(printf, 2, 3))) refuse(const struct split *s, const char *format, ...)
{
    char text[512], field[128];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    snprintf(field, sizeof field, "split.%.100s", s->said->name);
    diag_report(s->l->diags, DIAG_ERROR, s->said->loc, s->l->kernel->name, s->stream ? "schedule.stream" : field,
                s->stream ? "PROGRAM-STREAM" : "PROGRAM-SPLIT", "%s", text);
    return 1;
}

/* What the field says of a loop that nobody shares. */
static const char *none(const struct split *s)
{
    return s->stream ? "false" : "1";
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static int become(struct split *s, int node, enum frame frame);

/* Operands in their new form. The column stays the last of a sum, as spans and conditions on them have it. */
static int rebuilt(struct split *s, struct expr_node n, enum frame frame)
{
    struct expr_graph *g = s->g;
    const enum expr_op along = frame == STRAIGHT ? EXPR_COLUMN : EXPR_ROW;
    for (int i = 0; i < 2 && frame != OF_TURN && n.op == EXPR_ADD && n.type == EXPR_INT; i++)
        if (g->node[n.arg[i]].op == along) {
            const int own = n.arg[i], other = become(s, n.arg[1 - i], frame);
            return expr_binary(g, EXPR_ADD, expr_binary(g, EXPR_ADD, other, s->shift), own);
        }
    if (n.op == EXPR_TENSOR) {
        int index[SPEC_MAX_RANK];
        for (int d = 0; d < n.rank; d++)
            index[d] = become(s, g->index[n.first_index + d], frame);
        return expr_tensor(g, (int)n.integer, n.type, n.rank, index);
    }
    for (int i = 0; i < 3; i++)
        n.arg[i] = n.arg[i] < 0 ? -1 : become(s, n.arg[i], frame);
    return expr_add(g, &n);
}

/* The node as the part has it; -1: there is none, or no memory. */
static int become(struct split *s, int node, enum frame frame)
{
    if (node < 0 || node >= s->nodes)
        return -1;
    if (s->memo[frame][node])
        return s->memo[frame][node] - 1;
    const struct expr_node n = s->g->node[node];
    int now;
    if (frame == OF_TURN && n.op == EXPR_LOOP && n.integer == s->loop)
        now = expr_binary(s->g, EXPR_ADD, node, s->by);
    else if ((frame == STRAIGHT && n.op == EXPR_COLUMN) || (frame == TURNED && n.op == EXPR_ROW))
        now = expr_binary(s->g, EXPR_ADD, s->shift, node);
    else
        now = rebuilt(s, n, frame);
    s->memo[frame][node] = now + 1;
    return now;
}

static void become_tile(struct split *s, struct program_tile *t, enum frame frame)
{
    int *extent = frame == STRAIGHT ? &t->columns : &t->rows;
    t->node = become(s, t->node, frame);
    t->valid_row = become(s, t->valid_row, frame);
    t->valid_column = become(s, t->valid_column, frame);
    for (int a = 0; a < SPEC_MAX_AXES; a++)
        if (t->index[a] >= 0)
            t->index[a] = become(s, t->index[a], frame);
    if (frame != OF_TURN && *extent == s->columns)
        *extent /= s->parts;
}

/* Spans of a LOAD or STORE behind the loop. */
static int become_spans(struct split *s, struct program_op *o, enum frame frame)
{
    const int rank = s->l->kernel->tensor[o->tensor].rank;
    for (int d = 0; d < rank; d++) {
        struct program_coordinate *c = &o->at[d];
        if (c->length <= 1 || c->column != (frame == STRAIGHT))
            continue;
        if (c->length != s->columns)
            return refuse(s,
                          "the columns behind the loop run along several dims of %s, and blocks share one span of "
                          "them; write 1, or one span",
                          s->l->kernel->tensor[o->tensor].name);
        c->start = expr_binary(s->g, EXPR_ADD, c->start, s->shift);
        c->length /= s->parts;
    }
    return 0;
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

/* The operation whose result the node is; -1. */
static int leaf_of(const struct split *s, int node)
{
    return node >= 0 && s->g->node[node].op == EXPR_TILE ? (int)s->g->node[node].integer : -1;
}

static bool is_inside(const struct split *s, int op)
{
    return op > s->loop && op < s->was[s->loop].end;
}

/* The operand is a tile that the turn loads, or that one turned, or converted from bytes: zeros where it ends. */
static bool is_loaded(const struct split *s, const struct program_tile *operand)
{
    const struct expr_node *n = &s->g->node[operand->node];
    const bool cast = n->op == EXPR_CAST;
    int node = cast ? n->arg[0] : operand->node;
    int64_t half = 0;
    n = &s->g->node[node];
    if (cast && (n->op == EXPR_MOD || n->op == EXPR_FLOORDIV) && expr_is_int(s->g, n->arg[1], &half) && half == 16)
        node = n->arg[0];
    int op = leaf_of(s, node);
    if (op >= 0 && s->was[op].kind == PROGRAM_TRANSPOSE)
        op = leaf_of(s, s->was[op].arg[0].node);
    if (op >= 0 && cast && s->was[op].tile.dtype != TW_INT8 && s->was[op].tile.dtype != TW_UINT8)
        return false;
    return op >= 0 && is_inside(s, op) && s->was[op].kind == PROGRAM_LOAD;
}

static bool is_zero(const struct split *s, int node)
{
    const struct expr_node *n = &s->g->node[node];
    return (n->op == EXPR_CONST_REAL && n->real == 0.0) || (n->op == EXPR_CONST_INT && n->integer == 0);
}

/* The carried value begins at zero, and a turn adds products to it. */
static bool is_sum(const struct split *s, int which)
{
    const struct program_op *loop = &s->was[s->loop];
    int op = leaf_of(s, s->was[loop->end].value[which].node);
    if (!is_zero(s, loop->value[which].node) || op < 0)
        return false;
    for (; is_inside(s, op) && s->was[op].kind == PROGRAM_DOT; op = leaf_of(s, s->was[op].arg[2].node))
        if (s->was[op].arg[2].node < 0 || leaf_of(s, s->was[op].arg[2].node) < 0)
            return false;
    return is_inside(s, op) && s->was[op].kind == PROGRAM_PARAM && s->was[op].which == which;
}

static int check_turn(struct split *s)
{
    const struct program_op *loop = &s->was[s->loop];
    if (loop->depth > 0 || loop->list >= 0)
        return refuse(s,
                      "the loop stands in another, or turns over a list; write %s, or split an outermost one over a "
                      "range",
                      none(s));
    for (int i = 0; i < loop->carried; i++)
        if (!is_sum(s, i))
            return refuse(s,
                          "value %d that the loop carries is no sum of products from zero on, and what its parts come "
                          "to is not known to add up; write %s, or dot(a, b, sum) on zeros()",
                          i + 1, none(s));
    for (int i = s->loop + 1; i < loop->end; i++) {
        const struct program_op *o = &s->was[i];
        bool fine = o->kind == PROGRAM_LOAD || o->kind == PROGRAM_TRANSPOSE || o->kind == PROGRAM_PARAM;
        if (o->kind == PROGRAM_DOT) {
            fine = is_loaded(s, &o->arg[0]) && is_loaded(s, &o->arg[1]);
            if (s->columns && o->tile.columns != s->columns)
                return refuse(s,
                              "dots of the loop have %d and %d columns, which blocks share alike; write %s, or tiles "
                              "of one width",
                              s->columns, o->tile.columns, none(s));
            s->columns = o->tile.columns;
        }
        for (int d = 0; o->kind == PROGRAM_LOAD && d < s->l->kernel->tensor[o->tensor].rank; d++)
            fine = fine && o->at[d].limit < 0;
        if (!fine)
            return refuse(s,
                          "the loop has a %s that does more than multiply tiles as they are loaded, up to the tensors' "
                          "ends, and %s; write %s, or dots of loads",
                          program_kinds[o->kind].name,
                          s->stream ? "blocks have shares of plain products alone"
                                    : "a turn beyond its range may add something",
                          none(s));
    }
    int fit = s->said->blocks ? 1 : s->parts;
    while (fit > 1 && s->columns % (COLUMNS_UNIT * fit))
        fit /= 2;
    if (fit < s->parts && !s->said->blocks)
        return refuse(s, "%d columns of a dot are not %d times as many, a multiple of %d; write %d", s->columns,
                      s->parts, COLUMNS_UNIT, fit);
    return 0;
}

/* Of a loop with a combine: the part's own turns, each as it was. */
static int share_combined(struct split *s)
{
    struct program_op *loop = &s->p->op[s->loop];
    int64_t step = 0;
    if (loop->depth > 0 || loop->list >= 0)
        return refuse(s,
                      "the loop stands in another, or turns over a list; write 1, or split an outermost one over a "
                      "range");
    if (!s->said->blocks)
        return refuse(s,
                      "what combine puts together comes by the workspace; write { parts = %d, over = \"blocks\" }",
                      s->parts);
    expr_is_int(s->g, loop->step, &step);
    loop->from = expr_binary(s->g, EXPR_ADD, loop->from, s->by);
    loop->step = expr_int(s->g, step * s->parts);
    return loop->from < 0 || loop->step < 0 ? 3 : 0;
}

/* ---- behind it --------------------------------------------------------------------------------------------------- */

static enum frame turned(enum frame frame)
{
    return frame == STRAIGHT ? TURNED : frame == TURNED ? STRAIGHT : OF_NOTHING;
}

/* Which way a value lies that is computed from what the loop gives. */
static enum frame frame_of(const struct split *s, int node)
{
    const struct expr_node *n = &s->g->node[node];
    enum frame frame = n->op == EXPR_TILE ? s->frame[n->integer] : OF_NOTHING;
    for (int i = 0; i < 3 && frame == OF_NOTHING; i++)
        frame = n->arg[i] >= 0 ? frame_of(s, n->arg[i]) : OF_NOTHING;
    return frame;
}

/* What the value is computed from lies as it does. False: something lies the other way, too. */
static bool lay(struct split *s, int node, enum frame frame)
{
    const struct expr_node n = s->g->node[node];
    if (n.op == EXPR_TILE && !is_inside(s, (int)n.integer)) {
        const struct program_op *o = &s->was[n.integer];
        enum frame *own = &s->frame[n.integer];
        if (*own == frame && o->kind != PROGRAM_TRANSPOSE)
            return true;
        if (*own != OF_NOTHING && *own != frame)
            return false;
        *own = frame;
        return o->kind != PROGRAM_TRANSPOSE || lay(s, o->arg[0].node, turned(frame));
    }
    for (int i = 0; i < 3; i++)
        if (n.arg[i] >= 0 && !lay(s, n.arg[i], frame))
            return false;
    return true;
}

/* The last block alone does what stands behind the loop, where it brings nothing that the producer would. */
static int check_last(struct split *s)
{
    for (int i = 0; i < s->p->op_count; i++) {
        const struct program_op *o = &s->was[i];
        const bool store = o->kind == PROGRAM_STORE || o->kind == PROGRAM_STORE_ADD;
        if (i == s->loop || is_inside(s, i) || i == s->was[s->loop].end)
            continue;
        if (store && i < s->loop)
            return refuse(s,
                          "what %s receives is stored before the loop, by all of its blocks; write %s, or store it "
                          "behind the loop",
                          s->l->kernel->tensor[o->tensor].name, none(s));
        if (!store && o->kind != PROGRAM_RESULT && o->kind != PROGRAM_TRANSPOSE && o->kind != PROGRAM_LOAD &&
            o->kind != PROGRAM_REDUCE)
            return refuse(s, "there is a %s beside the loop, for which every block would load; write %s",
                          program_kinds[o->kind].name, none(s));
    }
    return 0;
}

static int check_behind(struct split *s)
{
    int status = 0;
    for (int i = 0; i < s->p->op_count && !status; i++) {
        const struct program_op *o = &s->was[i];
        if (i == s->loop || is_inside(s, i) || i == s->was[s->loop].end)
            continue;
        switch (o->kind) {
        case PROGRAM_RESULT:
            s->frame[i] = STRAIGHT;
            break;
        case PROGRAM_TRANSPOSE:
            s->frame[i] = turned(frame_of(s, o->arg[0].node));
            break;
        case PROGRAM_STORE:
        case PROGRAM_STORE_ADD:
            s->frame[i] = frame_of(s, o->arg[0].node);
            if (s->frame[i] == OF_NOTHING || !lay(s, o->arg[0].node, s->frame[i]))
                status = refuse(s,
                                "what %s receives does not follow from the loop's sums, or from them both turned and "
                                "not, and blocks share it by their columns; write 1, or two kernels",
                                s->l->kernel->tensor[o->tensor].name);
            break;
        case PROGRAM_LOAD:
            break;
        default:
            status = refuse(s,
                            "blocks share what stands beside the loop by columns, elementwise arithmetic and stores, "
                            "and there is a %s; write 1",
                            o->kind == PROGRAM_REDUCE ? "reduction" : program_kinds[o->kind].name);
        }
    }
    return status;
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static int write_again(struct split *s)
{
    const struct program_op *end = &s->was[s->was[s->loop].end];
    struct program_op *loop = &s->p->op[s->loop];
    int64_t step = 0;
    int status = 0;
    expr_is_int(s->g, loop->step, &step);
    loop->step = expr_int(s->g, step * s->parts);
    for (int i = 0; i < s->p->op_count && !status; i++) {
        struct program_op *o = &s->p->op[i];
        const enum frame frame = is_inside(s, i) ? OF_TURN : s->frame[i];
        if (o == loop || &s->was[i] == end || frame == OF_NOTHING)
            continue;
        become_tile(s, &o->tile, frame);
        for (int a = 0; a < 3; a++)
            become_tile(s, &o->arg[a], o->kind == PROGRAM_TRANSPOSE && frame != OF_TURN ? turned(frame) : frame);
        const bool places = o->kind == PROGRAM_LOAD || o->kind == PROGRAM_STORE || o->kind == PROGRAM_STORE_ADD;
        for (int d = 0; places && d < s->l->kernel->tensor[o->tensor].rank; d++) {
            o->at[d].start = become(s, o->at[d].start, frame);
            o->at[d].limit = become(s, o->at[d].limit, frame);
        }
        if (places && frame != OF_TURN)
            status = become_spans(s, o, frame);
    }
    return status;
}

/* A copy of the program, with `more` axes to come, and the room that all of it takes. 0, 1, 3. */
static int open(struct split *s, const struct program *was, int more)
{
    struct plan *plan = s->l->plan;
    if (was->axis_count + more > SPEC_MAX_AXES)
        return refuse(s, "its parts are %s more than the %d that there may be; write %s",
                      more == 1 ? "an axis" : "two axes", SPEC_MAX_AXES, none(s));
    s->p = plan_alloc(plan, sizeof *s->p);
    struct program_op *op = plan_alloc(plan, sizeof *op * (size_t)(was->op_count + 1));
    s->frame = plan_alloc(plan, sizeof *s->frame * (size_t)(was->op_count + 1));
    bool fine = s->p && op && s->frame && expr_copy(s->g, was->graph);
    s->nodes = s->g->count;
    for (int f = 0; f < FRAMES && fine; f++)
        fine = (s->memo[f] = plan_alloc(plan, sizeof **s->memo * (size_t)(s->nodes + 1))) != NULL;
    if (!fine)
        return 3;
    memcpy(op, was->op, sizeof *op * (size_t)was->op_count);
    *s->p = *was;
    s->p->op = op;
    s->p->graph = s->g;
    return 0;
}

/* An axis more of the name; 3 out of memory. */
static int add_axis(struct split *s, struct spec_kernel *own, const char *name, struct program_axis axis)
{
    for (int i = 0; i < s->p->axis_count && name; i++)
        if (strcmp(s->p->axis[i].name, name) == 0)
            name = plan_text(s->l->plan, "%s_%d", name, s->parts);
    if (!name)
        return 3;
    axis.name = name;
    s->p->axis[s->p->axis_count++] = axis;
    own->axis[own->axis_count++] = name;
    return 0;
}

/* The axis of the parts. 0 or 3. */
static int open_parts(struct split *s, struct spec_kernel *own)
{
    struct program_op *loop = &s->p->op[s->loop];
    int64_t step = 0;
    const int axis = s->p->axis_count;
    const struct program_axis parts = {.extent = expr_int(s->g, s->parts),
                                       .cluster = s->said->blocks ? 0 : s->parts,
                                       .tile_loc = s->said->loc,
                                       .cluster_loc = s->said->loc};
    loop->parts = s->parts;
    loop->part_axis = axis;
    loop->by_last = s->said->blocks;
    expr_is_int(s->g, loop->step, &step);
    const int part = expr_leaf(s->g, EXPR_AT, EXPR_INT, axis);
    s->by = expr_binary(s->g, EXPR_MUL, part, expr_int(s->g, step));
    return add_axis(s, own, plan_text(s->l->plan, "%s_part", loop->name), parts);
}

/* ---- as a stream ------------------------------------------------------------------------------------------------- */

/* The loop of products: the first of the outermost ones; -1: products stand in none. */
static int loop_of_dots(const struct program *p)
{
    for (int i = 0; i < p->op_count; i++)
        for (int o = i; p->op[i].kind == PROGRAM_LOOP && p->op[i].depth == 0 && o < p->op[i].end; o++)
            if (p->op[o].kind == PROGRAM_DOT)
                return i;
    return -1;
}

/* The node is the same for every item. */
static bool is_uniform(const struct expr_graph *g, int node)
{
    const struct expr_node *n = &g->node[node];
    bool uniform = n->op != EXPR_AT && n->op != EXPR_LOOP && n->op != EXPR_TENSOR && n->op != EXPR_TILE;
    for (int i = 0; i < 3 && uniform; i++)
        uniform = n->arg[i] < 0 || is_uniform(g, n->arg[i]);
    return uniform;
}

/* The axes that say which turns, and the loop over these. 0, 1, 3. */
static int open_stream(struct split *s, struct spec_kernel *own)
{
    struct program_op *loop = &s->p->op[s->loop];
    struct expr_graph *g = s->g;
    if (!is_uniform(g, loop->from) || !is_uniform(g, loop->to))
        return refuse(s,
                      "items make different numbers of turns of the loop, and blocks share one line of turns in which "
                      "all items are as long; write false, or a range that only sizes decide");
    const char *name = loop->name ? loop->name : "loop";
    const int span = expr_binary(g, EXPR_MAX, expr_binary(g, EXPR_SUB, loop->to, loop->from), expr_int(g, 0));
    const int turns = expr_ceil_div(g, span, loop->step), axis = s->p->axis_count;
    const struct program_axis count = {
        .extent = turns, .share = true, .tile_loc = s->said->loc, .cluster_loc = s->said->loc};
    struct program_axis first = count;
    first.extent = expr_binary(g, EXPR_MAX, turns, expr_int(g, 1));
    loop->parts = 1;
    loop->part_axis = axis;
    loop->by_last = loop->stream = true;
    const int at = expr_leaf(g, EXPR_AT, EXPR_INT, axis), many = expr_leaf(g, EXPR_AT, EXPR_INT, axis + 1);
    loop->from = expr_binary(g, EXPR_ADD, loop->from, expr_binary(g, EXPR_MUL, at, loop->step));
    loop->to = expr_binary(g, EXPR_ADD, loop->from, expr_binary(g, EXPR_MUL, many, loop->step));
    int status = add_axis(s, own, plan_text(s->l->plan, "%s_from", name), first);
    status = status ? status : add_axis(s, own, plan_text(s->l->plan, "%s_count", name), count);
    return status ? status : turns < 0 || first.extent < 0 || loop->from < 0 || loop->to < 0 ? 3 : 0;
}

static int stream(const struct program_lowering *l, struct spec_kernel *own, struct expr_graph *graph,
                  const struct spec_split *split, struct diag_loc loc)
{
    const struct program *p = own->program;
    const struct spec_split said = {.name = "", .parts = 1, .blocks = true, .loc = loc};
    struct split s = {
        .l = l, .said = &said, .stream = true, .was = p->op, .g = graph, .loop = loop_of_dots(p), .parts = 2};
    if (split)
        return refuse(&s, "loop '%s' is split already, as the kernel's split says; write false, or take split out",
                      split->name);
    if (s.loop < 0)
        return refuse(&s, "products stand in no loop, and items have no turns to share; write false");
    int status = open(&s, p, 2);
    status = status ? status : check_turn(&s);
    status = status ? status : check_last(&s);
    status = status ? status : open_stream(&s, own);
    own->program = s.p;
    return status;
}

int program_split(const struct program_lowering *l, struct spec_kernel *own, struct expr_graph *graph)
{
    const struct program *p = own->program;
    const struct spec_split *said = NULL;
    int loop = -1;
    for (int i = 0; i < own->split_count && program_holds(p, PROGRAM_DOT); i++) {
        if (own->split[i].parts == 1 || (!own->split[i].blocks && !l->arch->clusters))
            continue;
        if (said)
            return refuse(&(struct split){.l = l, .said = &own->split[i]},
                          "loop '%s' is split already, and one loop of a program is; write 1", said->name);
        field_reads_add(&l->plan->reads, FIELD_SPLIT, i);
        said = &own->split[i];
        for (int o = 0; o < p->op_count && loop < 0; o++)
            if (p->op[o].kind == PROGRAM_LOOP && p->op[o].name && strcmp(p->op[o].name, said->name) == 0)
                loop = o;
    }
    const struct spec_value *streams = l->arch->wgmma ? program_field(l, FIELD_STREAM) : NULL;
    if (streams && streams->set && streams->integer)
        return stream(l, own, graph, said, streams->loc);
    if (loop < 0)
        return 0;
    struct split s = {.l = l, .said = said, .was = p->op, .g = graph, .loop = loop, .parts = said->parts};
    int status = open(&s, p, 1);
    status = status ? status : open_parts(&s, own);
    if (p->op[loop].combine) {
        status = status ? status : share_combined(&s);
        status = status ? status : check_last(&s);
        own->program = s.p;
        return status;
    }
    status = status ? status : check_turn(&s);
    if (status)
        return status;
    const int part = expr_leaf(s.g, EXPR_AT, EXPR_INT, p->axis_count);
    s.shift = expr_binary(s.g, EXPR_MUL, part, expr_int(s.g, s.columns / s.parts));
    status = said->blocks ? check_last(&s) : check_behind(&s);
    status = status ? status : write_again(&s);
    own->program = s.p;
    return status ? status : s.g->count == 0 || s.shift < 0 ? 3 : 0;
}
