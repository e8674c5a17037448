/* What programs round to fp16 on their way, of tiles that lie as in memory: computed two elements at a time, into a
 * place of its own. */
#include "lower/direct/direct.h"

#include "plan/reads.h"

/* By node of plan.fused. */
struct known {
    int *made;           /* plan_some(what it became) */
    unsigned char *kind; /* reads_pair's */
};

static int made_of(struct direct *d, int node, int layout, struct known *k);

/* The place that a step sets to the node's value, as a leaf. -1: no memory, or too many steps. */
static int set_pairs(struct direct *d, int node, int layout)
{
    struct direct_shape shape = d->extent[plan_number(layout)];
    int place = direct_new_place(d, "pairs", shape, TW_FP16, true, 0);
    if (!place)
        return -1;
    const struct plan_place *at = &d->plan->place[plan_number(place)];
    struct plan_step step = {.op = PLAN_TOUCH,
                             .ring = -1,
                             .tensor = -1,
                             .place = place,
                             .node = plan_some(node),
                             .layout = layout,
                             .rows = at->rows,
                             .cols = at->cols,
                             .call = "pairs",
                             .why = "rounded to fp16 all the way: two elements an instruction"};
    return direct_add_step(d, step) ? -1 : expr_leaf(&d->plan->fused, EXPR_TILE, EXPR_REAL, plan_number(place));
}

static int copied(struct direct *d, int node, int layout, struct known *k)
{
    struct expr_node copy = d->plan->fused.node[node];
    bool same = true;
    for (int i = 0; i < 3; i++) {
        int was = copy.arg[i];
        if (was >= 0 && (copy.arg[i] = made_of(d, was, layout, k)) < 0)
            return -1;
        same = same && copy.arg[i] == was;
    }
    return same ? node : expr_add(&d->plan->fused, &copy);
}

static int made_of(struct direct *d, int node, int layout, struct known *k)
{
    int operand[3];
    if (k->made[node])
        return plan_number(k->made[node]);
    enum reads_pair kind = reads_pair(d->plan, node, layout, operand, k->kind);
    bool computed = kind == READS_PAIR_MUL || kind == READS_PAIR_ADD || kind == READS_PAIR_FMA;
    int to = computed ? set_pairs(d, node, layout) : copied(d, node, layout, k);
    k->made[node] = plan_some(to);
    return to;
}

int direct_pairs(struct direct *d, int node, int layout)
{
    struct known k = {.made = plan_alloc(d->plan, sizeof *k.made * ((size_t)node + 1)),
                      .kind = plan_alloc(d->plan, (size_t)node + 1)};
    return k.made && k.kind ? made_of(d, node, plan_some(layout), &k) : -1;
}
