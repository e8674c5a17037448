/* An operand of a result's arithmetic that is a tile like the result, as a residual is: bulk copies bring it into the
 * very buffers that the result's chunks leave by, which are free from the item's first turns on. So its loads run under
 * the item's products, chunk by chunk in the first half of its turns, and take no shared memory; threads read a chunk
 * where they write one.
 *
 * Every chunk of an item has a buffer of its own then: the next item's tile may come as soon as this one has left. What
 * it takes is room: of 64 rows by 256 columns of 16 bits, 32 KB a consumer.
 */
#include <stdio.h>
#include <string.h>

#include "lower/pipeline/pipeline.h"

enum { BUFFERS = 2 /* of results, a consumer; 1 where tiles leave no more room */ };

/* What the spec says of the tensor: by its name, or by that of a load that no dot reads. NULL: nothing. */
static const struct spec_via *said_of(const struct pipeline *x, int tensor)
{
    const struct spec_via *via = program_via_tensor(x->l->kernel, tensor);
    for (int i = 0; i < x->program->op_count && !via; i++) {
        const struct program_op *o = &x->program->op[i];
        if (o->kind == PROGRAM_LOAD && o->tensor == tensor && derive_ring_of(&x->d, i) < 0)
            via = program_via(x->l->kernel, o);
    }
    return via;
}

static int refuse(const struct pipeline *x, int tensor, const char *why)
{
    const char *name = said_of(x, tensor)->name;
    return program_refuse(
        x->l, said_of(x, tensor)->loc, "PROGRAM-VIA",
        "bulk copies bring %s into the buffers that the result leaves by where %s; write via = { %s = "
        "\"direct\" }",
        name, why, name);
}

/* ---- what the arithmetic asks of it ------------------------------------------------------------------------------ */

/* How a node needs the tensor, as bits. */
enum { AS_TILE = 1, OTHERWISE = 2 };

struct walk {
    struct pipeline *x;
    int tensor, store;
    size_t room;
    unsigned char *seen; /* by node, bits: 1 was looked at, 2 as what a choice may leave out */
};

/* The element of the store's own tile that is in hand. */
static bool is_as_stored(struct walk *w, const struct expr_node *n)
{
    struct work *k = &w->x->d.work;
    const struct program_op *o = &w->x->program->op[w->store];
    bool turned;
    if (!work_is_store(o))
        return false;
    work_stored(k, o, &turned);
    for (int d = 0; d < n->rank; d++) {
        int place = k->op[w->store].at[d];
        if (o->at[d].length > 1)
            place = expr_binary(&k->graph, EXPR_ADD, place, work_within(k, &k->graph, o, d, turned));
        if (k->graph.index[n->first_index + d] != place)
            return false;
    }
    return n->rank == w->x->plan->tensor[o->tensor].rank;
}

/* Of a choice's arms one alone is needed, and what is read may not be there where it is not. */
static int look(struct walk *w, int node, bool chosen)
{
    const struct expr_node n = w->x->d.work.graph.node[node];
    int found = 0;
    const unsigned char bit = chosen ? 2 : 1;
    if (w->seen[node] & bit)
        return 0;
    w->seen[node] |= bit;
    if (n.op == EXPR_TENSOR && n.integer == w->tensor)
        found = !chosen && is_as_stored(w, &n) ? AS_TILE : OTHERWISE;
    for (int i = 0; i < 3; i++)
        if (n.arg[i] >= 0)
            found |= look(w, n.arg[i], chosen || (n.op == EXPR_SELECT && i > 0));
    for (int i = 0; n.op == EXPR_TENSOR && i < n.rank; i++)
        found |= look(w, w->x->d.work.graph.index[n.first_index + i], true);
    return found;
}

/* The nodes that an operation takes or gives. */
static int needs_of(struct walk *w, int op)
{
    const struct work_op *k = &w->x->d.work.op[op];
    const int root[] = {k->arg[0], k->arg[1], k->arg[2], k->end, k->from, k->to, k->inside, k->beyond};
    int found = 0;
    w->store = op;
    memset(w->seen, 0, w->room);
    for (size_t i = 0; i < sizeof root / sizeof *root; i++)
        if (root[i] >= 0)
            found |= look(w, root[i], i > 0);
    for (int d = 0; d < SPEC_MAX_RANK && work_is_store(&w->x->program->op[op]); d++)
        if (d < w->x->plan->tensor[w->x->program->op[op].tensor].rank)
            found |= look(w, k->at[d], true);
    return found;
}

/* ---- which tensor ------------------------------------------------------------------------------------------------ */

/* What keeps the tensor from coming so for the store; NULL: nothing. */
static const char *against(const struct pipeline *x, int tensor, int store)
{
    const struct plan_tensor *t = &x->plan->tensor[tensor], *out = &x->plan->tensor[x->program->op[store].tensor];
    const struct spec_value *said = pipeline_field(x, "pipeline.store");
    bool turned;
    if (work_stored(&x->d.work, &x->program->op[store], &turned)->columns == 1 || turned)
        return "both lie with the tile's rows one below the other";
    if (tw_dtype_bytes(t->dtype) != 2 || tw_dtype_bytes(out->dtype) != 2)
        return "both have elements of 16 bits";
    if (t->pointers || out->pointers)
        return "no slices have addresses of their own";
    for (int d = 0; d < t->rank; d++)
        if (t->dim[d] != out->dim[d])
            return "both have the same extents";
    for (int d = 0; d < out->rank; d++)
        if (x->program->op[store].at[d].length <= 1)
            return "both have rows and columns alone, and no dim of which an item has one place";
    for (int i = 0; i < x->program->op_count; i++)
        for (int o = 0; o < 2 && x->program->op[i].kind == PROGRAM_DOT; o++)
            if (x->d.dot[i].load[o] >= 0 && x->program->op[x->d.dot[i].load[o]].tensor == tensor)
                return "no dot multiplies it";
    if (said->set && strcmp(said->text, "chunks") != 0)
        return "results go out by chunks, pipeline.store = \"chunks\"";
    if (x->d.abreast < x->d.consumers)
        return "consumers share an item's rows, pipeline.mode = \"cooperative\"";
    if (x->plan->mma_count > 1 || x->l->kernel->ahead_count)
        return "the item has one dot, which is not issued ahead";
    for (int i = 0; i < x->program->op_count; i++)
        if (x->program->op[i].kind == PROGRAM_LOOP && x->program->op[i].parts)
            return "no blocks share a loop's turns";
    for (int i = 0; i < x->program->op_count; i++)
        if (i != store && work_is_store(&x->program->op[i]) && x->program->op[i].arg[0].columns > 1)
            return "the item has one result";
    if (x->d.work.op[store].parent >= 0 || x->d.work.op[store].beyond >= 0)
        return "the result is stored once an item, and all of it";
    return NULL;
}

int pipeline_source(struct pipeline *x)
{
    struct walk w = {.x = x};
    for (int t = 0; t < x->plan->tensor_count && !x->l->arch->tensor_columns; t++) {
        const struct spec_via *via = said_of(x, t);
        int store = -1, others = 0, count = x->program->op_count;
        if (!via || strcmp(via->word, "bulk") != 0)
            continue;
        if (x->l->variant == 1) /* its elements are read where they are; the first variant answers for the word */
            continue;
        /* With the nodes that is_as_stored makes: up to six for each dim of a STORE. */
        w.room = (size_t)x->d.work.graph.count + (size_t)(6 * SPEC_MAX_RANK * (count + 1));
        w.seen = plan_alloc(x->plan, w.room);
        if (!w.seen)
            return 3;
        w.tensor = t;
        for (int i = 0; i < count; i++) {
            int found = needs_of(&w, i);
            if (found == AS_TILE && x->program->op[i].kind == PROGRAM_STORE && store < 0)
                store = i;
            else
                others += found != 0;
        }
        if (!via->of_tensor && (store < 0 || others)) /* a load of another kind: the word has no effect */
            continue;
        field_reads_add(&x->plan->reads, FIELD_VIA, (int)(via - x->l->kernel->via));
        if (x->d.source)
            return refuse(x, t, "no other tensor comes so");
        if (store < 0 || others)
            return refuse(
                x, t,
                "the arithmetic of one result alone takes its elements, each at its own place and under no condition");
        const char *why = against(x, t, store);
        if (why)
            return refuse(x, t, why);
        x->d.source = plan_some(t);
        x->d.source_of = store;
    }
    return 0;
}

/* ---- how it lies ------------------------------------------------------------------------------------------------- */

int pipeline_source_tile(struct pipeline *x, int op)
{
    if (!x->d.source || op != x->d.source_of)
        return 0;
    struct plan_tensor *t = &x->plan->tensor[plan_number(x->d.source)];
    const struct plan_tensor *out = &x->plan->tensor[x->program->op[op].tensor];
    bool turned;
    const int columns = work_stored(&x->d.work, &x->program->op[op], &turned)->columns;
    t->access = PLAN_ACCESS_TMA;
    t->align = out->align;
    t->whole_rows = true;
    t->swizzle = out->swizzle;
    memcpy(t->tile, out->tile, sizeof t->tile);
    memcpy(t->box, out->box, sizeof t->box);
    t->boxes = out->boxes;
    t->box_bytes = out->box_bytes;
    t->tile_bytes = out->tile_bytes;
    t->multicast = 1;
    x->chunks = x->d.blocks * columns / out->tile[out->rank - 1];
    if (pipeline_cached(x, plan_number(x->d.source), false) ||
        family_add_value(x->plan, plan_text(x->plan, "share.%s", t->name), 1))
        return 3;
    return family_reason(x->plan, plan_text(x->plan, "via.%s", t->name), "bulk",
                         "the spec says so: it comes into the buffers of the result, while the item's products run");
}

int pipeline_source_direct(struct pipeline *x)
{
    const int tensor = plan_number(x->d.source);
    if (!x->d.source || x->chunks)
        return 0;
    x->d.source = 0;
    return family_reason(x->plan, plan_text(x->plan, "via.%s", x->plan->tensor[tensor].name), "direct",
                         "the result does not go out by boxes of 32 bytes or more a row");
}

int pipeline_buffers(const struct pipeline *x)
{
    return x->chunks ? x->chunks : x->whole ? 1 : BUFFERS;
}

int pipeline_source_ring(struct pipeline *x)
{
    if (!x->chunks)
        return 0;
    struct plan *p = x->plan;
    const int number = p->ring_count, tensor = plan_number(x->d.source);
    struct plan_ring *r = family_add_ring(p, "source", x->chunks, PLAN_FILL_OWN);
    if (!r)
        return 3;
    r->tensor[r->tensor_count++] = tensor;
    r->full_arrivals = 1;
    r->tx_bytes = p->tensor[tensor].tile_bytes;
    r->into = plan_some(number + 1);
    x->d.source_ring = number;
    return 0;
}

int pipeline_source_barriers(struct pipeline *x)
{
    const int all = x->chunks * x->d.consumers;
    if (!all)
        return 0;
    x->plan->ring[x->d.source_ring].full_shared = x->plan->shared_count;
    return family_add_shared(x->plan, "source.full", 8 * all, 8, all) ? 0 : 3;
}
