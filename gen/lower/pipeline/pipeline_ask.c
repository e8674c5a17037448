/* A thread that waits for a stage stood there for 79 clocks a turn of an H200 (ncu; tests/bench/notes.md), where most
 * stages had come before. A turn that waits for its own dot, computes, and then waits for the next stage has nothing on
 * the tensor cores meanwhile. So such a turn asks while its dot still runs, and the wait is left out where the answer
 * was yes.
 */
#include "lower/family.h"
#include "lower/pipeline/pipeline.h"

#include <string.h>

static bool computes(const struct plan_step *s)
{
    return s->op == PLAN_TOUCH && s->call;
}

/* The wait of the same turn, or of the one before, in front of arithmetic behind which the stage is taken, with no dot
 * in between; -1: there is none. `wait` takes the stage, in the body of the loop that steps first and end enclose. */
static int asked_in_front_of(const struct plan_role *role, int first, int end, int wait)
{
    bool computed = false;
    int at = wait, inner = 0;
    for (int i = 0; i < end - first - 2; i++) {
        at = at - 1 > first ? at - 1 : end - 1;
        const struct plan_step *s = &role->step[at];
        inner += s->op == PLAN_END ? 1 : s->op == PLAN_LOOP || s->op == PLAN_WHEN ? -1 : 0;
        if (s->op == PLAN_LOOP || s->op == PLAN_MMA || (s->op == PLAN_WAIT_FULL && s->ring == role->step[wait].ring))
            return -1;
        computed = computed || computes(s);
        if (s->op == PLAN_MMA_WAIT && inner == 0)
            return computed && s->count == 0 ? at : -1;
    }
    return -1;
}

/* Dots behind the wait, up to the next one, begin from zero, on operands that no turn computes. The text has a branch
 * around the wait. NVRTC 13.0 moved into the block behind it what scaled the sum of a dot there, past that dot's fence:
 * the emulator says WGMMA-FENCE of the PTX. ptxas was not seen to. */
static bool is_of_tiles(const struct plan_role *role, int first, int end, int wait)
{
    int dots = 0;
    for (int at = wait + 1; at < end && role->step[at].op != PLAN_LOOP; at++) {
        const struct plan_step *s = &role->step[at];
        if ((s->op == PLAN_WAIT_FULL || computes(s)) && dots)
            break;
        if (computes(s))
            return false;
        if (s->op != PLAN_MMA)
            continue;
        for (int i = first; i < end && s->place2; i++)
            if (computes(&role->step[i]) && role->step[i].place == s->place2)
                return false;
        if (s->least != PLAN_FROM_ZERO)
            return false;
        dots++;
    }
    return dots > 0;
}

/* The loop right around the step, where its turns are all of one kind; -1: there is none. */
static int loop_around(const struct plan_role *role, int step)
{
    int inner = 0, at = step - 1;
    for (; at >= 0; at--) {
        const enum plan_op op = role->step[at].op;
        if (op == PLAN_END)
            inner++;
        else if ((op == PLAN_LOOP || op == PLAN_WHEN) && inner-- == 0)
            break;
    }
    return at >= 0 && role->step[at].op == PLAN_LOOP && !role->step[at].share && !role->step[at].kept ? at : -1;
}

int pipeline_ask(struct pipeline *x)
{
    struct plan_role *role = x->d.consumer;
    /* Where lanes wait for numbers of their own they do not all wait for the same. */
    for (int wait = 0; wait < role->step_count && !x->l->arch->tensor_columns && !x->d.lane; wait++) {
        const int ring = role->step[wait].ring, loop = loop_around(role, wait);
        if (role->step[wait].op != PLAN_WAIT_FULL || x->plan->ring[ring].filler != PLAN_FILL_BULK || loop < 0 ||
            plan_count_steps(role, PLAN_SKIP, ring))
            continue;
        const int end = plan_body_end(role, loop), at = asked_in_front_of(role, loop, end, wait);
        if (at < 0 || !is_of_tiles(role, loop, end, wait))
            continue;
        struct plan_step ask = {.op = PLAN_ASK,
                                .ring = ring,
                                .tensor = -1,
                                .phase = role->step[wait].phase,
                                .call = plan_text(x->plan, "%s_ask", x->plan->ring[ring].name),
                                .why = "the answer takes as long as some arithmetic: in front of the wait, not behind"};
        if (!ask.call || family_add_step(x->plan, role, ask))
            return 3;
        memmove(role->step + at + 1, role->step + at, sizeof *role->step * (size_t)(role->step_count - 1 - at));
        role->step[at] = ask;
        wait += at <= wait;
    }
    return 0;
}
