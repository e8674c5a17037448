/* What the arithmetic of a store reads beside its sums is under way a chunk ahead: of the first chunk before the wait
 * for the last products, of each other one before the chunk in front of it is stored. Nothing else orders such reads:
 * no step of the kernel writes what they read. */
#include "lower/derive/derive_reads.h"

#include <string.h>

#include "plan/reads.h"

enum { BESIDE = 24 /* registers of a thread beside its places and a chunk's results */ };

static bool is_by_row(const struct plan *p, int node)
{
    return p->tensor[p->fused.node[node].integer].rank > 1;
}

/* Registers of one thread that hold what it reads of `width` columns, in one row or in two rows. Pairs of
 * 16-bit neighbours are one word, but for those of a tensor that is read in other ways, too. */
static int registers_of(const struct plan *p, int node, int width)
{
    const struct plan_tensor *t = &p->tensor[p->fused.node[node].integer];
    bool words = reads_columns(p, node) == t->rank - 1 && tw_dtype_bytes(t->dtype) == 2;
    return (is_by_row(p, node) ? 2 : 1) * width / 8 * (words ? 1 : 2);
}

/* Columns that one step reads. A late result's chunks are unrolled: what all rows have in common is read for all of
 * them at once. */
static int columns_of(const struct plan *p, int node, int width, int late)
{
    return late && !is_by_row(p, node) ? p->place[plan_number(late)].cols : width;
}

/* The places hold no more than the role's registers, beside a chunk and half a chunk packed. What is read for another
 * store is in use before or after. Where results are packed late, all of that place is free until they are. */
static bool fits(const struct derive *d, int more, int width, int late)
{
    const struct plan *p = d->work.l->plan;
    int sum = BESIDE + more + width / 2 + width / 4;
    for (int i = 0; i < p->place_count; i++)
        sum += p->place[i].kind == PLAN_PLACE_READ || plan_some(i) == late ? 0 : p->place[i].registers;
    return sum <= d->consumer->registers;
}

/* Whether a place of that name is another tensor's: b_for_c for D, and b for c_for_D. */
static bool is_taken(const struct derive *d, const struct plan_tensor *t, const char *store)
{
    const struct plan *p = d->work.l->plan;
    const char *name = plan_text(d->work.l->plan, "%s_for_%s", t->name, store);
    for (int i = 0; i < d->consumer->step_count && name; i++) {
        const struct plan_step *s = &d->consumer->step[i];
        const char *held = s->place ? p->place[plan_number(s->place)].name : NULL;
        if (held && strcmp(held, name) == 0 && s->tensor != (int)(t - p->tensor))
            return true;
    }
    return !name;
}

/* plan_some(place) for what is read, a new one or that of another store of the tensor; 0: there is no memory. */
static int place_of(struct plan *p, const char *store, int node, int registers, int rows, int width)
{
    const struct plan_tensor *t = &p->tensor[p->fused.node[node].integer];
    struct plan_place place = {.name = plan_text(p, "%s_for_%s", t->name, store),
                               .kind = PLAN_PLACE_READ,
                               .dtype = t->dtype,
                               .rows = rows,
                               .cols = width,
                               .registers = registers,
                               .shared = -1};
    for (int i = 0; i < p->place_count && place.name; i++)
        if (p->place[i].name && strcmp(p->place[i].name, place.name) == 0)
            return plan_some(i);
    return place.name ? plan_add_place(p, place) : 0;
}

/* Where the first chunk's reads go: before the wait for products that was written last, where nothing but releases and
 * touches stand behind it; else the end. */
static int before_wait(const struct plan_role *role)
{
    int at = role->step_count;
    while (at > 0 &&
           ((role->step[at - 1].op == PLAN_TOUCH && !role->step[at - 1].call) || role->step[at - 1].op == PLAN_RELEASE))
        at--;
    return at > 0 && role->step[at - 1].op == PLAN_MMA_WAIT ? at - 1 : role->step_count;
}

/* Writes the step, then moves it up to `at`. */
static int insert(struct derive *d, struct plan_step step, int at)
{
    struct plan_role *role = d->consumer;
    int status = derive_emit(d, role, step), last = role->step_count - 1;
    if (status || d->dry)
        return status;
    struct plan_step moved = role->step[last];
    memmove(role->step + at + 1, role->step + at, sizeof *role->step * (size_t)(last - at));
    role->step[at] = moved;
    return 0;
}

int derive_reads(struct derive *d, const struct plan_step *write, int width, int late, struct plan_step *next,
                 int *count)
{
    struct plan *p = d->work.l->plan;
    int expression = plan_number(write->node), node[DERIVE_MAX_READS], nodes = 0, sum = 0, status = 0;
    int *guard = plan_alloc(p, sizeof *guard * (size_t)(p->fused.count + 1));
    bool twice = false;
    *count = 0;
    if (!guard)
        return 3;
    reads_guards(p, expression, guard);
    for (int i = 0; i < p->fused.count; i++) {
        if (guard[i] == READS_NEVER || reads_columns(p, i) < 0 ||
            p->fused.node[i].integer == plan_number(d->source)) /* it comes otherwise */
            continue;
        for (int k = 0; k < nodes && k < DERIVE_MAX_READS; k++)
            twice = twice || p->fused.node[node[k]].integer == p->fused.node[i].integer;
        twice = twice || is_taken(d, &p->tensor[p->fused.node[i].integer], p->tensor[write->tensor].name);
        if (nodes < DERIVE_MAX_READS)
            node[nodes] = i;
        nodes++;
        sum += registers_of(p, i, columns_of(p, i, width, late));
    }
    bool stands_once = reads_is_long(p, expression) && reads_only_place(p, expression) >= 0;
    if (!(stands_once || late) || twice || nodes > DERIVE_MAX_READS || !fits(d, sum, width, late))
        return 0;
    int at = before_wait(d->consumer);
    const bool runs = at < d->consumer->step_count;
    for (int i = 0; i < nodes && !status; i++) {
        const struct plan_tensor *t = &p->tensor[p->fused.node[node[i]].integer];
        const int columns = columns_of(p, node[i], width, late), rows = is_by_row(p, node[i]) ? p->mma[0].m : 1;
        const int registers = registers_of(p, node[i], columns);
        struct plan_step step = {.op = PLAN_GLOBAL,
                                 .ring = -1,
                                 .tensor = (int)(t - p->tensor),
                                 .place = place_of(p, p->tensor[write->tensor].name, node[i], registers, rows, columns),
                                 .node = write->node,
                                 .call = plan_text(p, "%s_ahead", t->name),
                                 .why = columns > width ? "of all chunks, while the last products run"
                                        : runs          ? "of the first chunk, while the last products run"
                                                        : "of the first chunk: all reads are under way together"};
        if (!step.place || !step.call)
            return 3;
        status = insert(d, step, at + i);
        step.ahead = 1;
        step.why = "of the next chunk, while this one is stored";
        if (columns == width)
            next[(*count)++] = step;
    }
    return status;
}

/* ---- what comes into the buffers of a store ---------------------------------------------------------------------- */

/* An operand of a result's arithmetic that bulk copies bring into the buffers that the result leaves by.
 *
 * The consumer's thread that stores the buffers asks for it: it knows when its stores have read them. That wait, and
 * the copies' issue, stand behind shares of the turns of the item's main loop, whose products run meanwhile; the tile
 * is there before the last ones are over. Who has waited until a chunk is full may write its buffer, too: it has come
 * behind the wait for the store. A thread reads of a chunk what it, or its warp by the same exchange, writes there, so
 * that nothing stands between the two; what it has read is read, for the asynchronous proxy, as what it wrote is
 * written: by the fence in front of the store. */

/* The item's first loop with dots, where it stands in no other. */
static int main_loop(const struct derive *d)
{
    for (int i = 0; i < d->work.program->op_count; i++)
        if (d->work.program->op[i].kind == PROGRAM_DOT) {
            const int loop = d->work.op[i].parent;
            return loop >= 0 && d->work.op[loop].parent < 0 ? loop : -1;
        }
    return -1;
}

bool derive_brings_source(const struct derive *d, int loop)
{
    return d->source && main_loop(d) >= 0 && (loop < 0 || main_loop(d) == loop);
}

/* Into the buffer of the chunk in hand. */
static int bring(struct derive *d)
{
    struct plan *p = d->work.l->plan;
    const struct plan_ring *ring = &p->ring[d->source_ring];
    const struct plan_tensor *t = &p->tensor[plan_number(d->source)];
    int status = 0;
    struct plan_step fill = {.op = PLAN_FILL,
                             .ring = d->source_ring,
                             .tensor = plan_number(d->source),
                             .count = t->tile_bytes,
                             .call = plan_text(p, "%s_fetch", t->name),
                             .why = "under the item's products"};
    for (int k = 0; k < t->rank && !status; k++)
        fill.at[k] = derive_built(d, d->source_of, d->work.op[d->source_of].at[k], 0, &status);
    const struct plan_step expect = {
        .op = PLAN_EXPECT, .ring = d->source_ring, .tensor = -1, .count = ring->tx_bytes, .call = "source_expect"};
    status = status ? status : derive_emit(d, d->consumer, expect);
    return status ? status : derive_emit(d, d->consumer, fill);
}

static int wait_for_stores(struct derive *d)
{
    const struct plan_ring *ring = &d->work.l->plan->ring[d->source_ring];
    return derive_emit(d, d->consumer,
                       (struct plan_step){.op = PLAN_STORE_WAIT,
                                          .ring = plan_number(ring->into),
                                          .tensor = -1,
                                          .call = "d_wait_0",
                                          .why = "bulk stores of the item before may still read the buffers"});
}

int derive_bring_chunk(struct derive *d)
{
    int status = wait_for_stores(d);
    return status ? status : bring(d);
}

int derive_bring_source(struct derive *d)
{
    const struct plan *p = d->work.l->plan;
    const struct plan_step loop = {.op = PLAN_LOOP,
                                   .ring = -1,
                                   .tensor = -1,
                                   .count = p->ring[d->source_ring].stages,
                                   .call = p->tensor[d->work.program->op[d->source_of].tensor].name};
    int status = wait_for_stores(d);
    status = status ? status : derive_emit(d, d->consumer, loop);
    status = status ? status : bring(d);
    return status ? status : derive_emit(d, d->consumer, (struct plan_step){.op = PLAN_END, .ring = -1, .tensor = -1});
}

int derive_take_source(struct derive *d, int op, int width)
{
    struct plan *p = d->work.l->plan;
    if (!d->source || op != d->source_of)
        return 0;
    const struct plan_tensor *t = &p->tensor[plan_number(d->source)];
    const struct plan_place held = {.name = plan_text(p, "%s_source", t->name),
                                    .kind = PLAN_PLACE_READ,
                                    .dtype = t->dtype,
                                    .rows = p->mma[0].m,
                                    .cols = width,
                                    .registers = width / 4,
                                    .shared = -1};
    const int place = held.name ? plan_add_place(p, held) : 0;
    const struct plan_step step[] = {
        {.op = PLAN_WAIT_FULL,
         .ring = d->source_ring,
         .tensor = -1,
         .call = "source_wait_full",
         .why = "the chunk has come, and so the buffer's last store has read it"},
        {.op = PLAN_READ,
         .ring = d->source_ring,
         .tensor = plan_number(d->source),
         .place = place,
         .call = plan_text(p, "%s_take", t->name)},
    };
    int status = place && step[1].call ? 0 : 3;
    for (size_t i = 0; i < sizeof step / sizeof *step && !status; i++)
        status = derive_emit(d, d->consumer, step[i]);
    return status;
}
