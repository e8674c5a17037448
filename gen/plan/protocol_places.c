/* Places: what matrix instructions and threads do to registers and to shared scratch, and what must lie between.
 *
 * REGISTERS. A group of matrix instructions writes its accumulator and reads its register operand until an MMA_WAIT
 * covers it; threads that touch either before that get or leave anything. Only instructions of one shape may follow
 * each other on an accumulator without a wait. Before the first instruction, and after threads touched its registers,
 * MMA_FENCE orders the two (PTX ISA, wgmma.fence and wgmma.mma_async). An executor's threads do the same at the same
 * step, and no other thread sees their registers: the first stands for all.
 *
 * The text of a fence names no registers. A compiler keeps arithmetic before it where fence and instruction end up in
 * one basic block; where the text branches between them, it may sink what the instruction alone uses into the block
 * behind the branch, and so behind the fence (NVRTC 13.0 does). So derived text has the fence once more where other
 * steps stand between the two, and a derived fence counts for no instruction beyond the begin or end of a body.
 *
 * SCRATCH. Each thread writes its part and reads all of it. So a read must know of the newest write of every thread of
 * the instance, and a write of every read before it: the n-th step of one kind is the same in all threads. What a
 * matrix instruction reads was fenced for the asynchronous proxy between the write and the barrier, and is read until
 * an MMA_WAIT covers it. */
#include "plan/protocol_run.h"

static struct held *held_of(const struct thread *t)
{
    return &t->place[plan_number(step_of(t)->place)];
}

static const char *name_of(const struct run *x, int field)
{
    return x->p->place[plan_number(field)].name;
}

/* ---- registers --------------------------------------------------------------------------------------------------- */

void protocol_touch(struct run *x, struct thread *t)
{
    struct held *h = held_of(t);
    if (h->write_group >= 0 || h->read_group >= 0) {
        FAULT(x, t, -1, "REG-IN-FLIGHT",
              "touches %s while a matrix instruction may still %s it; write mma_wait %d or less before it",
              name_of(x, step_of(t)->place), h->write_group >= 0 ? "write" : "read",
              t->mma_groups - 1 - (h->write_group > h->read_group ? h->write_group : h->read_group) > 0
                  ? t->mma_groups - 1 - (h->write_group > h->read_group ? h->write_group : h->read_group)
                  : 0);
        return;
    }
    h->touched = true;
    h->loose = true;
}

bool protocol_hold_late(struct run *x, struct thread *t)
{
    const struct plan_step *s = step_of(t);
    const struct protocol_late before = t->flow.late[protocol_late_place(x->p, s)];
    switch (protocol_hold(x->p, s, &t->flow)) {
    case LATE_NONE_HELD:
        FAULT(x, t, -1, "PROTOCOL-LATE",
              "takes a chunk of %s, which holds none: its last one would go out a second time; write it in a when or a "
              "loop of the place",
              name_of(x, s->place));
        return false;
    case LATE_LOST:
        FAULT(x, t, -1, "PROTOCOL-LATE",
              "packs results into %s while %d chunk%s of earlier ones are held there, which would never go out; write "
              "a loop of the place before it",
              name_of(x, s->place), before.left, before.left == 1 ? "" : "s");
        return false;
    case LATE_NOT_PACKED:
        FAULT(x, t, -1, "PROTOCOL-LATE", "holds %d chunks of %s, of which %d were packed; pack and hold as many",
              s->count, name_of(x, s->place), before.packed);
        return false;
    default:
        return true;
    }
}

static bool same_shape(const struct plan *p, int a, int b)
{
    const struct plan_mma *one = &p->mma[a], *other = &p->mma[b];
    return a == b || (one->m == other->m && one->n == other->n && one->k == other->k);
}

/* The step between t's instruction and the fence before it by which a body begins or ends, -1: there is none. */
static int body_between(const struct run *x, const struct thread *t)
{
    const struct plan_step *program = x->p->role[t->role].step;
    for (int at = t->flow.step - 1; at >= 0 && program[at].op != PLAN_MMA_FENCE; at--)
        if (protocol_is_flow(program[at].op))
            return at;
    return -1;
}

/* Threads' work on the registers is done when t's instruction takes them. False after a fault. */
static bool is_fenced(struct run *x, struct thread *t, int field)
{
    const struct held *h = &t->place[plan_number(field)];
    if (h->touched) {
        FAULT(x, t, -1, "WGMMA-FENCE",
              "uses %s, which threads touched since the last fence; write mma_fence between that and this step",
              name_of(x, field));
        return false;
    }
    int between = x->p->derived && h->loose ? body_between(x, t) : -1;
    if (between < 0)
        return true;
    FAULT(x, t, -1, "WGMMA-FENCE",
          "uses %s, which threads touched before a fence that does not hold so far: step %d %s stands behind it, and a "
          "compiler may move that work past a branch; write mma_fence in the body of this step",
          name_of(x, field), between + 1, protocol_step_name(&x->p->role[t->role].step[between]));
    return false;
}

void protocol_mma(struct run *x, struct thread *t)
{
    const struct plan_step *s = step_of(t);
    struct held *h = held_of(t), *operand = s->place2 ? &t->place[plan_number(s->place2)] : NULL;
    if (protocol_is_synchronous(x->p, s)) {
        protocol_touch(x, t);
        return;
    }
    if (h->write_group >= 0 && !same_shape(x->p, h->shape, s->count)) {
        FAULT(x, t, -1, "REG-IN-FLIGHT",
              "writes %s while an instruction of another shape may still write it; write mma_wait %d or less before it",
              name_of(x, s->place), t->mma_groups - 1 - h->write_group > 0 ? t->mma_groups - 1 - h->write_group : 0);
        return;
    }
    if (!is_fenced(x, t, s->place) || (operand && !is_fenced(x, t, s->place2)))
        return;
    h->write_group = t->mma_groups;
    h->shape = s->count;
    h->loose = false;
    if (operand) {
        operand->read_group = t->mma_groups;
        operand->loose = false;
    }
}

void protocol_mma_fence(struct run *x, struct thread *t)
{
    for (int i = 0; i < x->p->place_count; i++)
        t->place[i].touched = false;
}

/* ---- scratch ----------------------------------------------------------------------------------------------------- */

void protocol_write_scratch(struct run *x, struct thread *t)
{
    const struct plan_step *s = step_of(t);
    struct held *h = held_of(t);
    for (int i = 0; i < t->lanes; i++) {
        struct thread *o = &first_lane(x, t)[i];
        const struct held *u = &o->place[plan_number(s->place)];
        if (u->read_group >= 0 || !knows(t, o, u->read_over)) {
            FAULT(x, t, -1, "SCRATCH-RACE",
                  "writes scratch %s that a matrix instruction may still read; write mma_wait%s before it",
                  name_of(x, s->place), o == t ? "" : " and a barrier");
            return;
        }
        if (u->reads < h->reads || !knows(t, o, u->read)) {
            FAULT(x, t, -1, "SCRATCH-RACE",
                  "writes scratch %s that other threads may still read; a barrier must stand between their reads and "
                  "this step",
                  name_of(x, s->place));
            return;
        }
    }
    h->writes++;
    h->written = now(t);
    h->fenced = NEVER;
}

void protocol_read_scratch(struct run *x, struct thread *t)
{
    const struct plan_step *s = step_of(t);
    struct held *h = held_of(t);
    h->reads++;
    if (s->count != 0 && t->lane > 0)
        return;
    if (h->writes == 0) {
        FAULT(x, t, -1, "SCRATCH-RACE", "reads scratch %s before it is written; write scratch_write before it",
              name_of(x, s->place));
        return;
    }
    for (int i = 0; i < t->lanes; i++) {
        struct thread *o = &first_lane(x, t)[i];
        const struct held *u = &o->place[plan_number(s->place)];
        if (u->writes != h->writes || !knows(t, o, u->written)) {
            FAULT(x, t, -1, "SCRATCH-RACE",
                  "reads scratch %s that other threads may %s; a barrier must stand between their writes and this step",
                  name_of(x, s->place), u->writes > h->writes ? "have written again" : "still write");
            return;
        }
        if (s->count != 0 && (u->fenced == NEVER || !knows(t, o, u->fenced))) {
            FAULT(x, t, -1, "PROXY",
                  "reads scratch %s asynchronously, whose writes the asynchronous proxy may not see; write fence_async "
                  "between the writes and the barrier",
                  name_of(x, s->place));
            return;
        }
    }
    if (s->count != 0) {
        h->read_group = t->mma_groups;
        h->read_over = NEVER;
    } else {
        h->read = now(t);
    }
}

void protocol_fence_places(struct run *x, struct thread *t)
{
    for (int i = 0; i < x->p->place_count; i++)
        if (t->place[i].writes > 0 && t->place[i].fenced == NEVER)
            t->place[i].fenced = now(t);
}

/* ---- groups and the end ------------------------------------------------------------------------------------------ */

void protocol_finish_places(struct run *x, struct thread *t, int groups)
{
    for (int i = 0; i < x->p->place_count; i++) {
        struct held *h = &t->place[i];
        if (h->write_group >= 0 && h->write_group < groups)
            h->write_group = -1;
        if (h->read_group >= 0 && h->read_group < groups) {
            h->read_group = -1;
            h->read_over = now(t);
        }
    }
}

void protocol_check_places_end(struct run *x, struct thread *t)
{
    for (int i = 0; i < x->p->role[t->role].step_count; i++) {
        const int late = protocol_late_place(x->p, &x->p->role[t->role].step[i]);
        const int packed = late < 0 ? 0 : t->flow.late[late].packed, left = late < 0 ? 0 : t->flow.late[late].left;
        if (packed + left == 0)
            continue;
        t->flow.step = i;
        FAULT(x, t, -1, "PROTOCOL-LATE", "the role ends with %d chunk%s %s in %s, which never go out; write a %s",
              packed + left, packed + left == 1 ? "" : "s", left ? "held" : "packed and not held",
              name_of(x, step_of(t)->place), left ? "loop of the place at the end" : "touch that holds them");
        return;
    }
    for (int i = 0; i < x->p->place_count && !x->failed; i++) {
        const struct held *h = &t->place[i];
        if (h->write_group < 0 && h->read_group < 0)
            continue;
        const struct plan_role *role = &x->p->role[t->role];
        for (int n = 0; n < role->step_count; n++)
            if (role->step[n].place == plan_some(i) || role->step[n].place2 == plan_some(i))
                t->flow.step = n;
        FAULT(x, t, -1, "PROTOCOL-EXIT",
              "the role ends while a matrix instruction may still %s %s; commit it and write mma_wait 0 at the end",
              h->write_group >= 0 ? "write" : "read", x->p->place[i].name);
    }
}
