#include "tune/model.h"

#include <math.h>
#include <string.h>

#include "arch/arch.h"

const char *const model_limit_word[MODEL_LIMITS] = {"tensor cores", "shared memory", "L2",
                                                    "latency",      "memory",        "launch"};

static const struct rates {
    const char *arch;
    double fma16, shared, l2, memory, latency, launch;
} rates[] = {
#define RATES(arch, fma16, shared, l2, memory, latency, launch) {arch, fma16, shared, l2, memory, latency, launch},
#include "tune/rates.def"
#undef RATES
};

static const struct rates *rates_of(const char *arch)
{
    const struct rates *newest = &rates[sizeof rates / sizeof *rates - 1];
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        if (strcmp(rates[i].arch, arch) == 0)
            return &rates[i];
    return newest;
}

struct model_device model_device_of(const char *arch)
{
    static const struct {
        const char *name;
        int sms, khz;
    } device[] = {
#define ARCHITECTURE(name, major, minor, shared_per_sm, shared_limit, registers_per_sm, threads_per_sm, blocks_per_sm, \
                     cluster, multiprocessors, khz, l2)                                                                \
    {#name, multiprocessors, khz},
#include "architectures.def"
#undef ARCHITECTURE
    };
    const size_t count = sizeof device / sizeof *device;
    size_t at = count - 1;
    for (size_t i = 0; i < count; i++)
        if (strcmp(device[i].name, arch) == 0)
            at = i;
    return (struct model_device){device[at].sms, 1e3 * device[at].khz};
}

/* ---- an item ----------------------------------------------------------------------------------------------------- */

/* Cycles and bytes of one item of a block. */
struct cost {
    double tensor, shared; /* cycles */
    double copied;         /* bytes that the block asks the L2 for, or that take as long */
    double turns;          /* of its innermost loop with copies */
    double stored;         /* bytes */
    int stages;
};

enum { DEEPEST = 16 };

/* The place of an item that says how many of its turns a block has; NULL: the node says something else. */
static const struct plan_item *share_of(const struct plan *p, int node)
{
    const struct expr_node *n = node >= 0 ? &p->fused.node[node] : NULL;
    for (int i = 0; i < p->item_count && n && n->op == EXPR_AT; i++)
        if (p->item[i].axis == n->integer && p->item[i].share)
            return &p->item[i];
    return NULL;
}

/* What is left for a LOOP behind one of the same variable that takes a part of the turns, in trips of a loop around. */
static double rest(const struct plan_role *role, const struct plan_step *s)
{
    for (const struct plan_step *q = role->step + 1; q < s; q++)
        if (q->op == PLAN_LOOP && q->part && q->loop == s->loop)
            return 1.0 - (double)q[-1].count / q->part;
    return 1.0;
}

/* How often the body of a LOOP is run; what data or the item's place decide counts as the most that it can be, or as
 * some. */
static double trips(const struct plan *p, const struct plan_role *role, const struct plan_step *s,
                    const int64_t *symbol)
{
    enum { UNKNOWN = 16, MOST_KNOWN = 1024 };
    int64_t value, low, high;
    const struct plan_item *share = share_of(p, plan_number(s->node));
    const int node = share ? share->extent : plan_number(s->node); /* of a whole item */
    if (s->count > 0)
        return s->count;
    if (node < 0)
        return 1.0; /* of items */
    if (!expr_eval_int(&p->fused, node, symbol, &value)) {
        expr_range(&p->fused, node, &low, &high);
        return high >= 0 && high <= MOST_KNOWN ? (double)high : UNKNOWN;
    }
    value -= s->less;
    return value <= 0 ? 0.0 : (double)value * (s->part ? 1.0 / s->part : rest(role, s));
}

/* What a FILL asks the L2 for, in one turn. A bulk copy takes a row of fewer bytes as long as one of 128. */
static double filled(const struct plan *p, const struct plan_step *s)
{
    const double bytes = s->count * (s->count < 64 ? 1024.0 : 1.0);
    const bool bulk = s->ring >= 0 && p->ring[s->ring].filler == PLAN_FILL_BULK;
    for (int i = 0; i < p->map_count && bulk; i++)
        if (p->map[i].tensor == s->tensor && p->map[i].rank > 0) {
            const double row = p->map[i].box[0] * (double)tw_dtype_bytes(p->tensor[s->tensor].dtype);
            return row > 0.0 && row < 128.0 ? bytes * 128.0 / row : bytes;
        }
    return bytes;
}

/* A matrix instruction of one instance. */
static void add_mma(struct cost *cost, const struct plan *p, const struct plan_mma *m, const struct rates *r,
                    double times)
{
    const double bits = 8.0 * (double)tw_dtype_bytes(m->operand[1].dtype);
    const double each = (double)m->blocks_m * m->blocks_n * m->k_steps * times;
    const double bytes = bits / 8.0 * m->k;
    double read = m->n * bytes; /* B, which only shared memory holds */
    (void)p;
    if (m->operand[0].tensor >= 0)
        read += m->m * bytes;
    cost->tensor += each * m->m * m->n * m->k / (r->fma16 * 16.0 / bits);
    cost->shared += strcmp(m->kind, "wgmma") == 0 ? each * read / r->shared : 0.0;
}

static struct cost cost_of(const struct plan *p, const int64_t *symbol, const struct rates *r)
{
    struct cost cost = {.stages = 16};
    for (int i = 0; i < p->role_count; i++) {
        const struct plan_role *role = &p->role[i];
        double times[DEEPEST + 1] = {1.0};
        int depth = 0;
        for (int n = 0; n < role->step_count; n++) {
            const struct plan_step *s = &role->step[n];
            const double here = times[depth];
            switch (s->op) {
            case PLAN_LOOP:
            case PLAN_WHEN:
                if (depth < DEEPEST)
                    times[++depth] = here * (s->op == PLAN_LOOP ? trips(p, role, s, symbol) : 1.0);
                break;
            case PLAN_END:
                depth -= depth > 0;
                break;
            case PLAN_FILL:
                /* What stands `ahead` in a loop has come for the first turns in front of it. */
                cost.copied += (here - (s->ahead && depth ? s->ahead * times[depth - 1] : 0.0)) * filled(p, s);
                cost.turns = here > cost.turns ? here : cost.turns;
                if (s->ring >= 0 && p->ring[s->ring].stages < cost.stages)
                    cost.stages = p->ring[s->ring].stages;
                break;
            case PLAN_MMA:
                if (s->count >= 0 && s->count < p->mma_count)
                    add_mma(&cost, p, &p->mma[s->count], r,
                            here * role->instances /
                                (s->block ? p->mma[s->count].blocks_m * p->mma[s->count].blocks_n : 1));
                break;
            default:
                break;
            }
        }
    }
    return cost;
}

/* ---- the launch -------------------------------------------------------------------------------------------------- */

static double evaluate(const struct expr_graph *g, int node, const int64_t *symbol)
{
    int64_t value;
    return node >= 0 && expr_eval_int(g, node, symbol, &value) ? (double)value : -1.0;
}

/* A number among the values that the templates see, by both parts of its name; 0: there is none. */
static double value_of(const struct plan *p, const char *name, const char *of)
{
    const size_t length = strlen(name);
    for (int i = 0; i < p->value_count; i++)
        if (strncmp(p->value[i].name, name, length) == 0 && strcmp(p->value[i].name + length, of) == 0)
            return (double)p->value[i].integer;
    return 0.0;
}

/* Items of a block's own: those of the Plan, or the blocks of its grid. *whole: with those that have nothing to do,
 * where an axis' tiles do not fill its last cluster. */
static double items_of(const struct plan *p, const int64_t *symbol, double *whole)
{
    double items = 1.0;
    *whole = 1.0;
    for (int i = 0; i < p->item_count && !p->item[i].share; i++) {
        const double extent = evaluate(&p->fused, p->item[i].extent, symbol);
        const double cluster = p->item[i].axis >= 0 ? value_of(p, "cluster.", p->axis[p->item[i].axis]) : 1.0;
        const double tiles = extent < 0 ? 1.0 : p->item[i].counted ? extent : ceil(extent / p->item[i].tile);
        items *= tiles;
        *whole *= cluster > 1.0 ? ceil(tiles / cluster) * cluster : tiles;
    }
    for (int i = 0; i < 3 && p->item_count == 0; i++) {
        const double blocks = evaluate(&p->graph, p->launch.grid[i], symbol);
        items *= blocks < 0 ? 1.0 : blocks;
        *whole = items;
    }
    return items;
}

static double outputs_of(const struct plan *p, const int64_t *symbol)
{
    double bytes = 0.0;
    for (int i = 0; i < p->tensor_count; i++) {
        double own = (double)tw_dtype_bytes(p->tensor[i].dtype);
        for (int d = 0; d < p->tensor[i].rank; d++)
            own *= evaluate(&p->graph, p->tensor[i].dim[d], symbol);
        bytes += p->tensor[i].out ? own : 0.0;
    }
    return bytes;
}

/* Where blocks have shares of all turns: cycles by which the items that are cut cost more than their turns, on the
 * fullest multiprocessor. Its block writes a part, and of another item, which it ends, takes those of the others and
 * leaves zeros. No item is cut where they fill whole waves. */
static double cut_of(const struct plan *p, double waves, const struct rates *r)
{
    const double bytes = value_of(p, "parts.", "bytes");
    const double others = waves < 1.0 ? ceil(1.0 / waves) - 1.0 : 1.0;
    return bytes * (1.0 + 2.0 * others) / r->l2 + 2.0 * r->latency;
}

/* Of a last wave that is at most half full half is left where its items are taken by halves. */
static double whole_waves(const struct plan *p, double filled)
{
    const double last = filled - floor(filled);
    return ceil(filled) - (plan_rests(p) && filled > 1.0 && last > 0.0 && last <= 0.5 ? 0.5 : 0.0);
}

struct model_time model_time(const struct plan *p, const int64_t *symbol, const struct model_device *device)
{
    const struct rates *r = rates_of(p->arch);
    struct cost cost = cost_of(p, symbol, r);
    struct model_time t = {.us = -1.0};
    int cluster = 1;
    for (int i = 0; i < 3; i++)
        cluster *= p->launch.cluster[i] > 1 ? p->launch.cluster[i] : 1;
    const double blocks = p->blocks_per_sm > 0 ? p->blocks_per_sm : 1;
    double whole;
    const double items = items_of(p, symbol, &whole), slots = floor((double)device->sms / cluster) * cluster * blocks;
    if (items <= 0 || slots <= 0)
        return t;
    t.items = (int64_t)items;
    const double filled = ceil(whole / cluster) * cluster / slots;
    const bool shares = p->item_count > 0 && p->item[p->item_count - 1].share && filled < ceil(filled);
    t.waves = shares ? filled : whole_waves(p, filled);
    const double on_one = fmin(blocks, ceil(items / device->sms)); /* blocks that share a multiprocessor */
    cost.stored = outputs_of(p, symbol) / items;
    const double turn_latency = cost.turns > 0 ? r->latency / cost.stages : 0.0;
    const double turn_edge = 12.0; /* waits and releases that nothing hides */
    double part[MODEL_LIMITS] = {0.0};
    part[MODEL_TENSOR] = on_one * cost.tensor;
    part[MODEL_SHARED] = on_one * cost.shared;
    part[MODEL_L2] = on_one * cost.copied / r->l2;
    part[MODEL_LATENCY] = cost.turns * turn_latency;
    /* What does not limit costs some too: power, and turns that do not overlap to the end. */
    double item = 0.0, others = 0.0;
    for (int i = 0; i < MODEL_MEMORY; i++) {
        others += i == MODEL_LATENCY ? 0.0 : part[i];
        if (part[i] > item) {
            item = part[i];
            t.limit = (enum model_limit)i;
        }
    }
    item += 0.1 * (others - (t.limit == MODEL_LATENCY ? 0.0 : item)) + cost.turns * turn_edge;
    /* Two blocks hide each other's beginnings and ends. */
    const double edges = (cost.turns > 0 ? 0.3 * r->latency : 0.0) + on_one * cost.stored / (0.5 * r->l2) + 300.0;
    const double together = 1.0 + 0.02 * (cluster - 1);             /* blocks of a cluster wait for each other */
    const double cut = shares ? cut_of(p, filled, r) + edges : 0.0; /* it begins and ends within items */
    const double work = t.waves * (item + edges / on_one) * together + cut + r->latency;
    const double moved = evaluate(&p->graph, p->bytes_moved, symbol);
    /* Few multiprocessors do not fill the memory's pipes. */
    const double reach = shares ? 1.0 : fmin(1.0, items * 1.3 / device->sms);
    const double memory = moved > 0 ? moved / (r->memory * reach) : 0.0;
    t.limit = memory > work ? MODEL_MEMORY : t.limit;
    const double cycles = fmax(work, memory);
    t.limit = r->launch > cycles ? MODEL_LAUNCH : t.limit;
    t.us = 1e6 * (cycles + r->launch) / device->hz;
    return t;
}
