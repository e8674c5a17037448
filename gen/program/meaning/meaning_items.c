/* Work items: how many there are, which a sample takes, and which operations make sums of what others give. */
#include "program/meaning/meaning.h"

#include <string.h>

int64_t meaning_steps(const struct program *p, int axis, const int64_t *symbol)
{
    const struct program_axis *a = &p->axis[axis];
    int64_t extent, tile = a->tile > 0 ? a->tile : 1;
    if (a->extent < 0)
        return 1;
    struct expr_graph g = *p->graph;
    g.memory = (struct memory){0}; /* some bytes from malloc: where the answer is no, a size overflows */
    if (!expr_eval_int(&g, a->extent, symbol, &extent) || extent > INT64_MAX - tile)
        return -1;
    return extent <= 0 ? 0 : (extent + tile - 1) / tile;
}

int64_t program_items(const struct program *p, const int64_t *symbol)
{
    int64_t items = 1;
    bool none = false;
    for (int i = 0; i < p->axis_count; i++) {
        int64_t steps = meaning_steps(p, i, symbol);
        if (steps < 0 || __builtin_mul_overflow(items, steps ? steps : 1, &items))
            return -1;
        none = none || steps == 0;
    }
    return none ? 0 : items;
}

uint64_t meaning_scrambled(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Steps of the axes, of which each has one at least. */
struct sampled {
    int64_t step[SPEC_MAX_AXES], items, whole; /* the item before the last one on each axis */
    int axes;
};

/* The item at the first or, by the bits of `ends`, last step of each axis; -1 where another `ends` gives it. */
static int64_t corner(const struct sampled *s, uint64_t ends)
{
    int64_t item = 0;
    for (int a = 0; a < s->axes; a++) {
        const bool last = ends >> a & 1;
        if (last && s->step[a] == 1)
            return -1;
        item = item * s->step[a] + (last ? s->step[a] - 1 : 0);
    }
    return item;
}

static bool is_corner(const struct sampled *s, int64_t item)
{
    bool at_end = true;
    for (int a = s->axes - 1; a >= 0; a--) {
        const int64_t step = item % s->step[a];
        at_end = at_end && (step == 0 || step == s->step[a] - 1);
        item /= s->step[a];
    }
    return at_end;
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    return b ? common_divisor(b, a % b) : a;
}

/* Corners and others take turns. Of the others, a stride that shares no divisor with the number of items comes by each
 * once. */
void program_sample(const struct program *p, const int64_t *symbol, int64_t count, uint64_t seed, int64_t *item)
{
    struct sampled s = {.items = 1, .axes = p->axis_count};
    for (int a = 0; a < s.axes; a++) {
        s.step[a] = meaning_steps(p, a, symbol);
        s.whole = s.whole * s.step[a] + (s.step[a] > 1 ? s.step[a] - 2 : 0);
        s.items *= s.step[a];
    }
    if (s.items == 0) /* sizes leave none */
        return;
    const uint64_t corners = UINT64_C(1) << s.axes;
    const int64_t last = s.items - 1;
    int64_t stride = (int64_t)(meaning_scrambled(seed) % (uint64_t)s.items) + 1, taken = 0, passed = 0;
    int64_t at = (int64_t)(meaning_scrambled(~seed) % (uint64_t)s.items);
    while (common_divisor(s.items, stride) > 1)
        stride++;
    const int64_t wanted[3] = {0, last, is_corner(&s, s.whole) ? -1 : s.whole};
    for (int i = 0; i < 3 && taken < count; i++)
        if (wanted[i] >= 0 && (i == 0 || wanted[i] > 0))
            item[taken++] = wanted[i];
    for (uint64_t ends = 1; taken < count;) {
        while (passed < s.items && (is_corner(&s, at) || at == s.whole)) {
            at = (at + stride) % s.items;
            passed++;
        }
        if (passed < s.items) {
            item[taken++] = at;
            at = (at + stride) % s.items;
            passed++;
        }
        for (bool more = taken < count; more && ends < corners; ends++) {
            const int64_t one = corner(&s, ends);
            if (one < 0 || one == last)
                continue;
            item[taken++] = one;
            more = false;
        }
    }
}

int meaning_added(const struct program *p, int param)
{
    const struct program_op *op = &p->op[param], *end = &p->op[p->op[op->loop].end];
    const struct expr_node *n = &p->graph->node[end->value[op->which].node];
    for (int i = 0; i < 2 && n->op == EXPR_ADD && n->type == EXPR_REAL; i++)
        if (n->arg[i] == op->tile.node)
            return n->arg[1 - i];
    return -1;
}

bool meaning_is_sum(const struct program *p, int number)
{
    const struct program_op *op = &p->op[number];
    return op->kind == PROGRAM_REDUCE ? op->reduction == PROGRAM_SUM
                                      : op->kind == PROGRAM_PARAM && meaning_added(p, number) >= 0;
}

void meaning_count_turns(struct meaning_turns *c, int64_t to, bool down)
{
    c->turns = to > c->first ? (to - c->first + c->by - 1) / c->by : 0;
    if (down) {
        c->first += (c->turns - 1) * c->by;
        c->by = -c->by;
    }
}

struct meaning_turns meaning_part_of(const struct meaning_turns *c, int i, int parts)
{
    struct meaning_turns part = *c;
    const int64_t half = c->turns / 2;
    if (parts <= 1) {
        part.first += i * half * c->by;
        part.turns = i ? c->turns - half : half;
        return part;
    }
    part.turns = c->turns > i ? (c->turns - i + parts - 1) / parts : 0;
    /* Down, the part begins with its last. */
    const int64_t lowest_last = i + (part.turns - 1) * parts;
    part.first += (c->by > 0 || !part.turns ? i : c->turns - 1 - lowest_last) * c->by;
    part.by *= parts;
    return part;
}
