/* Where a dot's operands lie in a stage is known before the stage is full. A turn that waits for its own dot has
 * nothing on the tensor cores while it computes that, behind the wait for the stage and in front of the dot: a dozen
 * dependent instructions. So such a turn finds it for the next one, behind its own dot. Others, whose dots run on into
 * the next turn, lose nothing, and keep their registers.
 */
#include "lower/pipeline/pipeline.h"

/* The one step of the role that issues the matrix instruction, or the last of those that do so block by block; -1:
 * there are more. */
static int issued_at(const struct plan_role *role, int mma)
{
    int at = -1;
    for (int i = 0; i < role->step_count; i++) {
        if (role->step[i].op != PLAN_MMA || role->step[i].count != mma)
            continue;
        if (at >= 0 && role->step[i].block != role->step[at].block + 1)
            return -1;
        at = i;
    }
    return at;
}

/* Begins from zero in each turn of a loop, of a stage that the same turn waits for, and is waited for in that turn. */
static bool is_waited_for(const struct plan_role *role, int at)
{
    const struct plan_step *s = &role->step[at];
    if (at < 4 || s->least != PLAN_FROM_ZERO || s->place2)
        return false;
    const struct plan_step *a = &s[-2], *b = &s[-1];
    bool one = a->op == PLAN_READ && b->op == PLAN_READ && a->ring == b->ring && a->tensor != b->tensor && !a->call &&
               !b->call && !a->back && !b->back;
    if (!one || plan_count_steps(role, PLAN_WAIT_FULL, a->ring) != 1 || plan_count_steps(role, PLAN_SKIP, a->ring) != 0)
        return false;
    int first = at, last = at;
    while (first > 0 && role->step[first].op != PLAN_LOOP && role->step[first].op != PLAN_WAIT_FULL)
        first--;
    while (last < role->step_count && role->step[last].op != PLAN_MMA_WAIT && role->step[last].op != PLAN_END &&
           role->step[last].op != PLAN_LOOP && role->step[last].op != PLAN_WHEN)
        last++;
    return role->step[first].op == PLAN_WAIT_FULL && role->step[first].ring == a->ring && last < role->step_count &&
           role->step[last].op == PLAN_MMA_WAIT && role->step[last].count == 0 && s[1].op == PLAN_MMA_COMMIT;
}

int pipeline_early_operands(struct pipeline *x)
{
    /* One thread alone needs them where tensor memory takes the sums. */
    for (int i = 0; i < x->plan->mma_count && !x->l->arch->tensor_columns; i++) {
        const int at = issued_at(x->d.consumer, i);
        if (at >= 0 && is_waited_for(x->d.consumer, at) &&
            family_add_value(x->plan, plan_text(x->plan, "early.%s", x->plan->mma[i].name), 1))
            return 3;
    }
    return 0;
}
