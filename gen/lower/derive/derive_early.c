/* What the arithmetic of a turn reads from tensors and no dot of it gives: scales of rows, of blocks, of the item. Read
 * at its use, the way to memory would stand open behind every turn's products. So it is read into registers while those
 * of the turn before run, and what follows from it alone (the product of two scales) is computed while this turn's run:
 * behind the wait only what needs a dot is left. What the first turn takes is read in front of the loop.
 *
 * A READ is what is held from one turn to the next: an element, or a choice whole, so that nothing is read that its
 * condition leaves out. TAKEN is what turns take: the largest node of reads alone. Both are values of rows, two
 * registers a thread for each 64 rows, or of columns: these lie in a warp's lanes, 32 to a register, and come from
 * there by a shuffle. What is the same in all turns is read and computed in front of the loop.
 *
 * Behind the loop's last turn a read gives what is in the tensor there, or zero outside of it, and nobody takes it:
 * every read asks for the tensor's own extents. It is built with its masks, for the next turn may be the first that
 * needs them. What comes in the turn's own stage (derive_along.c) is read out of it, and a choice that needs it is made
 * then. Of a loop that looks ahead, whose turns begin under others, only what is the same in all turns is read early.
 * Reads of a tensor that the kernel writes stay where they are, and so do those of dots that are done when they are
 * issued.
 */
#include "lower/derive/derive_early.h"

#include <string.h>

#include "lower/derive/derive_ops.h"

enum {
    MOST = 6,    /* values of a loop, of either kind */
    BESIDE = 32, /* registers of a thread beside its places: addresses, descriptors, what is under way */
    LANES = 32,
};

struct early_value {
    int node;   /* of the work graph */
    int place;  /* plan_some(place) */
    int columns; /* of the tile whose columns it is of; 0: it is of rows */
    bool fixed; /* the same in all turns */
    int along;  /* plan_some(dim) of the element's tensor in which turns differ, where they do in no other and there are
                   others: it is found once an item where the elements of a row begin; 0: in each turn */
};

struct derive_early {
    struct derive_early *next; /* of another loop */
    int loop;
    struct early_value read[MOST + 1], taken[MOST + 1];
    int reads, takes;
    bool by_item;                 /* what the first turn takes is read behind the item before */
    struct plan_step first[MOST]; /* by_item: the steps that do */
};

/* The LOOP whose turns make the operation; of an END the one that it ends. */
static int loop_of(const struct derive *d, int op)
{
    const struct program_op *o = &d->work.program->op[op];
    return o->kind == PROGRAM_END ? o->loop : d->work.op[op].parent;
}

/* ---- what a loop takes ------------------------------------------------------------------------------------------- */

/* What a node needs, as bits. */
enum {
    AN_ELEMENT = 1, /* of a tensor */
    A_TURN = 2,     /* the loop's variable */
    ANOTHER = 4,    /* a value of an operation, or of a tensor that is written */
};

/* By node of the work graph; NULL out of memory. */
static const unsigned char *find_needs(struct derive *d, int loop)
{
    const struct expr_graph *g = &d->work.graph;
    unsigned char *needs = plan_alloc(d->work.l->plan, (size_t)g->count + 1);
    for (int i = 0; needs && i < g->count; i++) { /* operands are earlier nodes */
        const struct expr_node *n = &g->node[i];
        int own = n->op == EXPR_TILE ? ANOTHER : n->op == EXPR_LOOP && n->integer == loop ? A_TURN : 0;
        if (n->op == EXPR_TENSOR)
            own = d->work.l->plan->tensor[n->integer].out ? AN_ELEMENT | ANOTHER : AN_ELEMENT;
        for (int a = 0; a < 3; a++)
            own |= n->arg[a] >= 0 ? needs[n->arg[a]] : 0;
        for (int a = 0; n->op == EXPR_TENSOR && a < n->rank; a++)
            own |= needs[g->index[n->first_index + a]];
        needs[i] = (unsigned char)own;
    }
    return needs;
}

/* Columns of the tile that the operation takes from the node; 0: it takes no tile of which it is told. */
static int columns_taken(const struct derive *d, int op, int root)
{
    const struct program_op *o = &d->work.program->op[op];
    const struct work_op *k = &d->work.op[op];
    if (o->kind == PROGRAM_DOT && root == k->arg[2])
        return o->tile.columns;
    bool taken = o->kind == PROGRAM_REDUCE || (o->kind == PROGRAM_DOT && root == k->arg[0]);
    return taken ? o->arg[0].columns : 0;
}

/* A whole number of 32 bits, as masks compare: of columns, or of rows and the same in all turns. */
static bool is_number(struct derive *d, const unsigned char *needs, int node)
{
    const struct expr_node *n = &d->work.graph.node[node];
    if (n->op != EXPR_TENSOR || n->type != EXPR_INT)
        return false;
    const enum tw_dtype dtype = d->work.l->plan->tensor[n->integer].dtype;
    const int scope = work_scope(&d->work, node);
    return (dtype == TW_INT32 || tw_dtype_bytes(dtype) < 4) &&
           (scope == WORK_COLUMN || (scope == WORK_ROW && !(needs[node] & A_TURN)));
}

/* A value of rows, or of as many columns, that elements give, and nothing else. */
static bool is_early(struct derive *d, const unsigned char *needs, int node, int columns)
{
    int scope = work_scope(&d->work, node);
    return (needs[node] & (AN_ELEMENT | ANOTHER)) == AN_ELEMENT &&
           (d->work.graph.node[node].type == EXPR_REAL || is_number(d, needs, node)) &&
           (!(scope & WORK_COLUMN) || (scope == WORK_COLUMN && columns > 1));
}

/* Whether a value of columns is what lanes choose by themselves: an arm of a select, or behind the first of a
 * condition's parts. A column that another lane holds is asked of all lanes at once, which are not there then. What is
 * computed of one is a statement of its own in the text, in front of the choice. seen: bits, of nodes that were looked
 * at: 1 not chosen, 2 chosen. */
static bool is_chosen(struct derive *d, const unsigned char *needs, int node, bool chosen, unsigned char *seen)
{
    const struct expr_node *n = &d->work.graph.node[node];
    if (seen[node] & (chosen ? 2 : 1))
        return false;
    seen[node] |= chosen ? 2 : 1;
    if (is_early(d, needs, node, 2)) /* by rows it is in each thread; by columns all of it is made by its lane */
        return chosen && (work_scope(&d->work, node) & WORK_COLUMN);
    const bool choice = n->op == EXPR_SELECT || n->op == EXPR_AND || n->op == EXPR_OR;
    bool found = false;
    for (int i = 0; i < 3 && !found; i++)
        found = n->arg[i] >= 0 && is_chosen(d, needs, n->arg[i], choice && i > 0, seen);
    return found;
}

/* One more than MOST says that they are too many. columns: as in early_value. */
static void note(struct derive *d, struct early_value *list, int *count, int node, int columns)
{
    if (!(work_scope(&d->work, node) & WORK_COLUMN))
        columns = 0;
    for (int i = 0; i < *count; i++)
        if (list[i].node == node) {
            list[i].columns = columns > list[i].columns ? columns : list[i].columns;
            return;
        }
    if (*count <= MOST)
        list[(*count)++] = (struct early_value){.node = node, .columns = columns};
}

/* See early_value.along. All elements of a tensor that are found so differ in the same dim. */
static int find_along(const struct derive *d, const struct derive_early *e, const unsigned char *needs, int node)
{
    const struct expr_graph *g = &d->work.graph;
    const struct expr_node *n = &g->node[node];
    int along = 0;
    for (int k = 0; n->op == EXPR_TENSOR && n->rank > 1 && k < n->rank; k++) {
        if (!(needs[g->index[n->first_index + k]] & A_TURN))
            continue;
        if (along || (k == 0 && d->work.l->plan->tensor[n->integer].pointers))
            return 0;
        along = plan_some(k);
    }
    for (int i = 0; i < e->reads; i++)
        if (e->read[i].along && g->node[e->read[i].node].integer == n->integer && e->read[i].along != along)
            return 0;
    return along;
}

/* The parts of a taken node that are read ahead: those of real numbers that are no elements and no choices fall apart
 * further. */
static void find_reads(struct derive *d, struct derive_early *e, const unsigned char *needs, int node, int columns)
{
    const struct expr_graph *g = &d->work.graph;
    const struct expr_node *n = &g->node[node];
    bool whole = n->op == EXPR_TENSOR || n->op == EXPR_SELECT;
    for (int i = 0; i < 3; i++)
        whole = whole || (n->arg[i] >= 0 && (needs[n->arg[i]] & AN_ELEMENT) && g->node[n->arg[i]].type != EXPR_REAL);
    if (whole && !derive_comes_along(d, node))
        note(d, e->read, &e->reads, node, columns);
    for (int i = 0; i < 3 && !whole; i++)
        if (n->arg[i] >= 0 && (needs[n->arg[i]] & AN_ELEMENT))
            find_reads(d, e, needs, n->arg[i], columns);
}

/* Goes down from what an operation takes, but not into what a launch may leave out: there nothing is read then.
 * columns: of the operation's tile. */
static void find_taken(struct derive *d, struct derive_early *e, const unsigned char *needs, int node, int columns,
                       bool *seen)
{
    const struct expr_node *n = &d->work.graph.node[node];
    if (seen[node])
        return;
    seen[node] = true;
    if (is_early(d, needs, node, columns)) {
        note(d, e->taken, &e->takes, node, columns);
        return;
    }
    bool left_out = n->op == EXPR_SELECT && work_scope(&d->work, n->arg[0]) == WORK_UNIFORM;
    for (int i = 0; i < 3; i++)
        if (n->arg[i] >= 0 && !(left_out && i > 0))
            find_taken(d, e, needs, n->arg[i], columns, seen);
}

static bool holds_dot(const struct derive *d, int loop)
{
    for (int i = loop + 1; i < d->work.program->op[loop].end; i++)
        if (d->work.program->op[i].kind == PROGRAM_DOT && d->work.op[i].parent == loop)
            return true;
    return false;
}

/* Registers of a thread: for each 64 rows a value of two, and where these begin; or a column for each lane. */
static int registers_of(const struct derive *d, const struct early_value *v)
{
    return v->columns ? (v->columns + LANES - 1) / LANES : (v->along ? 6 : 2) * d->blocks;
}

/* Registers of computed operands, which in crowded turns take the room of accumulators: derive.h, CROWDED. */
static int within_others(const struct derive *d)
{
    int sum = 0;
    for (int i = 0; i < d->work.program->op_count && d->crowded; i++)
        if (d->work.program->op[i].kind == PROGRAM_DOT && d->dot[i].operand && !d->dot[i].resident)
            sum += d->work.l->plan->place[plan_number(d->dot[i].operand)].registers;
    return sum;
}

/* The role's registers hold them beside the places that there are. */
static bool fits(const struct derive *d, const struct derive_early *e)
{
    const struct plan *p = d->work.l->plan;
    int sum = BESIDE - within_others(d);
    for (int i = 0; i < e->reads; i++)
        sum += registers_of(d, &e->read[i]);
    for (int i = 0; i < e->takes; i++)
        sum += registers_of(d, &e->taken[i]);
    for (int i = 0; i < p->place_count; i++)
        sum += p->place[i].registers;
    return sum <= d->registers;
}

/* plan_some(place) of a value; 0: there is no memory. */
static int value_place(struct derive *d, const struct early_value *v, const char *name)
{
    struct plan *p = d->work.l->plan;
    const bool rows = v->columns == 0;
    struct plan_place place = {.name = plan_text(p, "%s%d", name, p->place_count),
                               .kind = rows ? PLAN_PLACE_ROWS : PLAN_PLACE_COLUMNS,
                               .dtype = d->work.graph.node[v->node].type == EXPR_INT ? TW_INT32 : TW_FP32,
                               .rows = rows ? d->rows / d->abreast : 1,
                               .cols = rows ? 1 : v->columns,
                               .registers = rows ? 2 * d->blocks : registers_of(d, v),
                               .shared = -1};
    return name && place.name ? plan_add_place(p, place) : 0;
}

/* Of what is read ahead. */
static int read_place(struct derive *d, const struct early_value *v)
{
    struct plan *p = d->work.l->plan;
    const struct expr_node *n = &d->work.graph.node[v->node];
    const char *name = n->op == EXPR_TENSOR ? p->tensor[n->integer].name : "choice";
    return value_place(d, v, plan_text(p, "%s_next", name));
}

/* Of what turns take: its home from then on. */
static int taken_place(struct derive *d, const struct early_value *v)
{
    int home = derive_home_of(d, v->node);
    if (home)
        return home;
    home = value_place(d, v, v->columns ? "column" : "row");
    return home && derive_home(d, v->node, home) == 0 ? home : 0;
}

static int give_places(struct derive *d, struct derive_early *e)
{
    bool fine = true;
    for (int i = 0; i < e->reads && fine; i++)
        fine = (e->read[i].place = read_place(d, &e->read[i])) != 0;
    for (int i = 0; i < e->takes && fine; i++)
        fine = (e->taken[i].place = taken_place(d, &e->taken[i])) != 0;
    return fine ? 0 : 3;
}

/* Where registers do not hold what would be read a turn ahead, it is read while the turn's own products run. 0 or 3. */
static int find(struct derive *d, struct derive_early *e)
{
    const unsigned char *needs = find_needs(d, e->loop);
    bool *seen = plan_alloc(d->work.l->plan, sizeof *seen * (size_t)(d->work.graph.count + 1));
    unsigned char *looked = plan_alloc(d->work.l->plan, (size_t)d->work.graph.count + 1);
    bool chosen = false;
    if (!needs || !seen || !looked)
        return 3;
    for (int u = 0; u < d->use_count && !chosen; u++)
        chosen = loop_of(d, d->use[u].op) == e->loop && is_chosen(d, needs, d->use[u].root, false, looked);
    for (int u = 0; u < d->use_count; u++) {
        int op = d->use[u].op, root = d->use[u].root;
        memset(seen, 0, sizeof *seen * (size_t)(d->work.graph.count + 1));
        if (loop_of(d, op) == e->loop)
            find_taken(d, e, needs, root, chosen ? 0 : columns_taken(d, op, root), seen);
    }
    int kept = 0;
    for (int i = 0; i < e->takes; i++) {
        e->taken[i].fixed = !(needs[e->taken[i].node] & A_TURN);
        if (d->ahead < 0 || (e->taken[i].fixed && e->taken[i].columns == 0 && e->takes <= MOST))
            e->taken[kept++] = e->taken[i];
    }
    e->takes = d->ahead < 0 ? e->takes : kept;
    for (int i = 0; i < e->takes; i++) {
        if (!e->taken[i].fixed)
            find_reads(d, e, needs, e->taken[i].node, e->taken[i].columns);
    }
    e->takes = e->takes > MOST ? 0 : e->takes;
    for (int i = 0; i < e->reads; i++)
        e->read[i].along = e->read[i].columns ? 0 : find_along(d, e, needs, e->read[i].node);
    if (e->takes == 0 || e->reads > MOST || !fits(d, e))
        e->reads = 0;
    return give_places(d, e);
}

static struct derive_early *early_of(const struct derive *d, int loop)
{
    for (struct derive_early *e = d->early; e; e = e->next)
        if (e->loop == loop)
            return e;
    return NULL;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* The step that reads the element into its place; call: "first", which finds where its row begins, or "next". */
static int read_element(struct derive *d, const struct early_value *v, struct plan_step step, const char *call)
{
    struct plan *p = d->work.l->plan;
    const struct expr_node *n = &p->fused.node[plan_number(step.node)];
    step.op = PLAN_GLOBAL;
    step.ring = -1;
    step.tensor = (int)n->integer;
    step.count = v->along;
    for (int k = 0; k < n->rank; k++)
        step.at[k] = plan_some(p->fused.index[n->first_index + k]);
    step.call = plan_text(p, "%s_%s", p->tensor[step.tensor].name, call);
    return step.call ? derive_emit(d, d->consumer, step) : 3;
}

/* The node's value `shift` further in the loop, into the place: from nothing that is in places now, which is of this
 * turn. */
static int read_into(struct derive *d, int op, const struct early_value *v, int shift, const char *why)
{
    int owners = d->owner_count, status = 0;
    bool unmasked = d->unmasked;
    d->owner_count = 0;
    d->unmasked = false;
    struct plan_step step = {.op = PLAN_TOUCH, .place = v->place, .call = "evaluate", .why = why};
    step.node = derive_built(d, op, v->node, shift, &status);
    d->owner_count = owners;
    d->unmasked = unmasked;
    if (status)
        return status;
    return v->along ? read_element(d, v, step, shift ? "next" : "first") : derive_pass(d, step);
}

/* Each item makes the loop before any other, and where one ends the next one's place can be told (`foretells` of
 * blocks/steps.cuh). */
static bool is_by_item(const struct derive *d, const struct derive_early *e)
{
    const struct plan *p = d->work.l->plan;
    const struct program *program = d->work.program;
    bool may = d->producer && !d->synchronous && !p->item_ring && d->abreast == d->consumers &&
               d->work.op[e->loop].parent < 0 && !program->op[e->loop].parts && e->reads > 0;
    for (int i = 0; i < e->reads; i++)
        may = may && e->read[i].along;
    for (int i = 0; i < e->loop; i++)
        may = may && program->op[i].kind != PROGRAM_LOOP;
    for (int i = 0; i < p->value_count; i++)
        may = may && !(strcmp(p->value[i].name, "schedule.order") == 0 && strcmp(p->value[i].text, "longest") == 0);
    return may;
}

/* Of the step that was written last, which reads for the first turn: it goes in front of all items, and will stand
 * behind the loop once more. */
static void read_by_item(struct derive *d, struct derive_early *e, int read)
{
    struct plan_role *role = d->consumer;
    int last = role->step_count - 1, at = 0;
    struct plan_step moved = role->step[last];
    moved.ahead = 1;
    moved.loop = plan_some(d->loop[e->loop]);
    moved.why = "the next item's first turn takes it: what is left of this one covers the way to memory";
    e->first[read] = moved;
    moved.why = "the first item's first turn takes it";
    while (at < last && !(role->step[at].op == PLAN_LOOP && strcmp(role->step[at].call, "tiles") == 0))
        at++;
    memmove(role->step + at + 1, role->step + at, sizeof *role->step * (size_t)(last - at));
    role->step[at] = moved;
}

int derive_early_begin(struct derive *d, int loop)
{
    struct derive_early *e = early_of(d, loop);
    int status = 0;
    if (!e && !d->synchronous && holds_dot(d, loop)) {
        if (!(e = plan_alloc(d->work.l->plan, sizeof *e)))
            return 3;
        *e = (struct derive_early){.next = d->early, .loop = loop};
        d->early = e;
        status = find(d, e);
        e->by_item = !status && !d->dry && is_by_item(d, e);
    }
    for (int i = 0; e && i < e->reads && !status; i++) {
        status = read_into(d, loop, &e->read[i], 0, "the first turn takes it: its products cover the way to memory");
        if (e->by_item && !status)
            read_by_item(d, e, i);
    }
    for (int i = 0; e && i < e->takes && !status; i++) {
        if (!e->taken[i].fixed)
            continue;
        status = read_into(d, loop, &e->taken[i], 0, "all turns take it");
        status = status ? status : derive_own(d, e->taken[i].place, e->taken[i].node);
    }
    return status;
}

int derive_early_turn(struct derive *d, int loop)
{
    int due = d->due;
    d->due = early_of(d, loop) ? plan_some(loop) : 0;
    return due;
}

void derive_early_end(struct derive *d, int due)
{
    d->due = due;
}

int derive_early_make(struct derive *d, int op)
{
    int loop = plan_number(d->due), status = 0;
    if (loop < 0 || loop_of(d, op) != loop)
        return 0;
    const struct derive_early *e = early_of(d, loop);
    const struct plan_loop *known = &d->work.l->plan->loop[d->loop[loop]];
    d->due = 0;
    status = derive_read_along(d, loop);
    for (int i = 0; i < e->reads && !status; i++)
        status = derive_own(d, e->read[i].place, e->read[i].node);
    for (int i = 0; i < e->takes && !status; i++)
        if (!e->taken[i].fixed)
            status = derive_evaluate(d, op, e->taken[i].node, e->taken[i].place);
    for (int i = 0; i < e->reads && !status; i++)
        status = derive_own(d, e->read[i].place, -1);
    for (int i = 0; i < e->reads && !status; i++)
        status = read_into(d, op, &e->read[i], known->first ? -known->step : known->step,
                           "the next turn takes it: this one's products cover the way to memory");
    return status;
}

bool derive_early_stays(const struct derive *d, int loop, int node)
{
    const struct derive_early *e = early_of(d, loop);
    for (int i = 0; e && i < e->takes; i++)
        if (e->taken[i].fixed && e->taken[i].node == node)
            return true;
    return false;
}

int derive_early_leave(struct derive *d, int loop)
{
    const struct derive_early *e = early_of(d, loop);
    int status = 0;
    for (int i = 0; e && i < e->takes; i++) {
        int place = plan_number(e->taken[i].place);
        if (place < d->owner_count && d->owner[place] == e->taken[i].node)
            d->owner[place] = -1;
    }
    for (int i = 0; e && e->by_item && i < e->reads && !status; i++)
        status = derive_emit(d, d->consumer, e->first[i]);
    return status;
}
