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

int64_t meaning_sample(int64_t steps, int64_t sample, uint64_t seed, int64_t *chosen)
{
    int64_t count = 0;
    if (sample >= steps) {
        for (int64_t i = 0; i < steps; i++)
            chosen[i] = i;
        return steps;
    }
    const int64_t wanted[3] = {0, steps - 1, steps - 2};
    for (uint64_t draw = 0; count < sample; draw++) {
        int64_t step = draw < 3 ? wanted[draw]
                                : (int64_t)(meaning_scrambled(seed ^ meaning_scrambled(draw)) % (uint64_t)steps),
                at = 0;
        while (at < count && chosen[at] < step)
            at++;
        if (at < count && chosen[at] == step)
            continue;
        memmove(chosen + at + 1, chosen + at, sizeof *chosen * (size_t)(count - at));
        chosen[at] = step;
        count++;
    }
    return count;
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
