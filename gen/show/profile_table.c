/* Where the time of a block goes, in numbers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "dtype.h"
#include "show/profile.h"

/* ---- tensor cores ------------------------------------------------------------------------------------------------ */

/* Products that are waited for together: from the stamp before the first to the wait that covers them. */
struct group {
    uint64_t from, to;
    double clocks; /* that tensor cores take for them, as rated; 0: not known */
};

struct groups {
    struct tw_runtime *rt;
    struct group *group;
    size_t count, room;
    bool failed;
};

static void add_group(struct groups *s, struct group group)
{
    if (group.to <= group.from || s->failed)
        return;
    if (s->count == s->room) {
        size_t room = s->room ? 2 * s->room : 1024;
        struct group *grown = tw_realloc(s->rt, s->group, room * sizeof *grown);
        if (!grown) {
            s->failed = true;
            return;
        }
        s->group = grown;
        s->room = room;
    }
    s->group[s->count++] = group;
}

static bool has_step(const struct plan_role *role, enum plan_op op)
{
    for (int i = 0; i < role->step_count; i++)
        if (role->step[i].op == op)
            return true;
    return false;
}

/* Whether a commit follows the product before another one does. */
static bool closes_group(const struct plan_role *role, int step)
{
    for (int i = step + 1; i < role->step_count; i++)
        if (role->step[i].op == PLAN_MMA || role->step[i].op == PLAN_MMA_COMMIT)
            return role->step[i].op == PLAN_MMA_COMMIT;
    return true;
}

static double rated_clocks(const struct plan *plan, const struct plan_step *step)
{
    const struct arch *arch = arch_find(plan->arch);
    if (!arch || !arch->tensor_flops || step->count < 0 || step->count >= plan->mma_count)
        return 0;
    const struct plan_mma *mma = &plan->mma[step->count];
    const int blocks = step->block ? 1 : mma->blocks_m * mma->blocks_n;
    double flops = 2.0 * mma->m * mma->n * mma->k * blocks * mma->k_steps;
    return flops * tw_dtype_info(mma->operand[0].dtype)->bits / 16 / arch->tensor_flops;
}

/* Products that are done at once take as long as their step. */
static void find_groups(const struct plan *plan, const struct profile_instance *in, bool rated, struct groups *out)
{
    enum { GROUPS_MOST = 64 };
    const struct plan_role *role = &plan->role[in->role];
    struct group group[GROUPS_MOST], open = {0, 0, 0};
    uint64_t before = in->began;
    bool is_open = false, commits = has_step(role, PLAN_MMA_COMMIT);
    int groups = 0;
    for (size_t i = 0; i < in->count; i++) {
        const struct plan_step *step = &role->step[in->stamp[i].step];
        uint64_t now = in->stamp[i].clock;
        double clocks = rated && step->op == PLAN_MMA ? rated_clocks(plan, step) : 0;
        if (step->op == PLAN_MMA && !commits)
            add_group(out, (struct group){before, now, clocks});
        if (step->op == PLAN_MMA && commits) {
            open.from = is_open ? open.from : before;
            open.clocks = is_open ? open.clocks + clocks : clocks;
            is_open = !(closes_group(role, in->stamp[i].step) && groups < GROUPS_MOST);
            if (!is_open)
                group[groups++] = open;
        }
        if (step->op == PLAN_MMA_WAIT && groups > step->count) {
            int done = groups - step->count;
            for (int g = 0; g < done; g++) {
                group[g].to = now;
                add_group(out, group[g]);
            }
            memmove(group, group + done, (size_t)step->count * sizeof *group);
            groups = step->count;
        }
        before = now;
    }
}

static int by_begin(const void *a, const void *b)
{
    const struct group *p = a, *q = b;
    return p->from != q->from ? (p->from < q->from ? -1 : 1) : (p->to > q->to) - (p->to < q->to);
}

/* When tensor cores are busy: they take the groups of all instances in turn, each for its clocks, or where these are
 * not known, until somebody knew that it was done. Spans that meet become one. */
static void find_busy(struct groups *s)
{
    size_t kept = 0;
    double until = 0;
    if (s->count)
        qsort(s->group, s->count, sizeof *s->group, by_begin);
    for (size_t i = 0; i < s->count; i++) {
        struct group g = s->group[i];
        double begin = until > (double)g.from && g.clocks > 0 ? until : (double)g.from;
        if (g.clocks > 0 && begin + g.clocks < (double)g.to)
            g.to = (uint64_t)(begin + g.clocks);
        until = (double)g.to;
        if (kept && g.from <= s->group[kept - 1].to)
            s->group[kept - 1].to = g.to > s->group[kept - 1].to ? g.to : s->group[kept - 1].to;
        else
            s->group[kept++] = g;
    }
    s->count = kept;
}

/* Whether the step stands in a loop that has products in it, beside that of the items. */
static bool in_main_loop(const struct plan_role *role, int step)
{
    int depth = 0;
    for (int i = step; i >= 0; i--) {
        const struct plan_step *s = &role->step[i];
        bool begins = s->op == PLAN_LOOP || s->op == PLAN_WHEN;
        depth += s->op == PLAN_END && i != step;
        if (!begins || (i == step && s->op == PLAN_LOOP))
            continue;
        if (depth) {
            depth--;
            continue;
        }
        if (s->op == PLAN_WHEN || (s->call && (strcmp(s->call, "tiles") == 0 || strcmp(s->call, "items") == 0)))
            continue;
        for (int k = i + 1, open = 1; k < role->step_count && open; k++) {
            if (role->step[k].op == PLAN_MMA)
                return true;
            open += role->step[k].op == PLAN_LOOP || role->step[k].op == PLAN_WHEN;
            open -= role->step[k].op == PLAN_END;
        }
    }
    return false;
}

static enum profile_idle reason_of(const struct plan_role *role, int step)
{
    enum plan_op op = role->step[step].op;
    if (op == PLAN_WAIT_FULL || op == PLAN_CP_WAIT)
        return PROFILE_LOADS;
    if (op == PLAN_MMA || op == PLAN_MMA_WAIT)
        return PROFILE_SLOW;
    return in_main_loop(role, step) ? PROFILE_LOOP : PROFILE_EPILOGUE;
}

/* Adds what an instance does between the groups. */
static void attribute(const struct plan *plan, const struct profile_instance *in, const struct groups *busy,
                      double part, struct profile_tensor *t)
{
    uint64_t before = in->began;
    size_t at = 0;
    for (size_t i = 0; i < in->count; i++) {
        uint64_t now = in->stamp[i].clock, from = before;
        enum profile_idle why = reason_of(&plan->role[in->role], in->stamp[i].step);
        before = now;
        while (at > 0 && busy->group[at].from > from)
            at--;
        for (; at + 1 < busy->count && busy->group[at].to < now; at++) {
            uint64_t gap = busy->group[at].to > from ? busy->group[at].to : from;
            uint64_t end = busy->group[at + 1].from < now ? busy->group[at + 1].from : now;
            if (end > gap)
                t->idle[why] += part * (double)(end - gap);
        }
    }
}

int profile_tensor(const struct profile *profile, int block, struct profile_tensor *t, struct tw_error *error)
{
    const struct plan *plan = profile->plan;
    const struct profile_block *b = &profile->block[block];
    struct groups busy = {.rt = profile->rt};
    int instances = 0;
    memset(t, 0, sizeof *t);
    for (int i = 0; i < profile->instances; i++)
        if (has_step(&plan->role[b->instance[i].role], PLAN_MMA)) {
            find_groups(plan, &b->instance[i], b->nanoseconds > 0, &busy);
            instances++;
        }
    find_busy(&busy);
    t->any = busy.count > 0;
    for (size_t i = 0; i < busy.count; i++)
        t->busy += (double)(busy.group[i].to - busy.group[i].from);
    for (int i = 0; i < profile->instances && t->any; i++)
        if (has_step(&plan->role[b->instance[i].role], PLAN_MMA))
            attribute(plan, &b->instance[i], &busy, 1.0 / instances, t);
    if (t->any) {
        t->idle[PROFILE_BEFORE] = (double)busy.group[0].from;
        t->idle[PROFILE_AFTER] = (double)(b->clocks - busy.group[busy.count - 1].to);
    }
    tw_free(profile->rt, busy.group);
    return busy.failed ? tw_fail(error, TW_ERROR_MEMORY, "out of memory") : TW_OK;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static void put_share(const struct profile *profile, const double *clocks)
{
    for (int n = 0; n < profile->blocks; n++)
        printf("  %12.0f %5.1f %%", clocks[n], 100 * clocks[n] / (double)profile->block[n].clocks);
    putchar('\n');
}

static int print_tensor(const struct profile *profile, struct tw_error *error)
{
    static const char *const why[PROFILE_IDLES] = {
        "before the first product",     "waits for a full stage",          "products, longer than rated",
        "in the loop, beside products", "between loops: exposed epilogue", "tail: behind the last product",
    };
    struct profile_tensor tensor[PROFILE_BLOCKS];
    double clocks[PROFILE_BLOCKS];
    for (int n = 0; n < profile->blocks; n++) {
        int status = profile_tensor(profile, n, &tensor[n], error);
        if (status != TW_OK)
            return status;
    }
    if (!tensor[0].any)
        return TW_OK;
    printf("%-40s", "tensor cores, clocks");
    for (int n = 0; n < profile->blocks; n++) {
        char title[32];
        snprintf(title, sizeof title, "block %llu", (unsigned long long)profile->block[n].number);
        printf("  %20s", title);
    }
    putchar('\n');
    for (int n = 0; n < profile->blocks; n++)
        clocks[n] = tensor[n].busy;
    printf("  %-38s", profile->block[0].nanoseconds > 0 ? "busy, as rated" : "products in flight");
    put_share(profile, clocks);
    for (int i = 0; i < PROFILE_IDLES; i++) {
        for (int n = 0; n < profile->blocks; n++)
            clocks[n] = tensor[n].idle[i];
        if (i == PROFILE_SLOW && profile->block[0].nanoseconds <= 0)
            continue; /* only rates tell */
        printf("  %-38s", why[i]);
        put_share(profile, clocks);
    }
    putchar('\n');
    return TW_OK;
}

/* How often a loop's items were begun. */
static size_t items_of(const struct profile *profile, const struct profile_block *b)
{
    size_t items = 0;
    for (size_t i = 0; i < b->instance[profile->instances - 1].count; i++) {
        const struct profile_instance *in = &b->instance[profile->instances - 1];
        const struct plan_step *step = &profile->plan->role[in->role].step[in->stamp[i].step];
        items += step->op == PLAN_LOOP && step->call &&
                 (strcmp(step->call, "tiles") == 0 || strcmp(step->call, "items") == 0);
    }
    return items;
}

static void print_blocks(const struct profile *profile, const struct timeline *timeline)
{
    const struct plan *plan = profile->plan;
    for (int n = 0; n < profile->blocks; n++) {
        const struct profile_block *b = &profile->block[n];
        size_t items = items_of(profile, b), stamps = 0;
        bool full = false;
        for (int i = 0; i < profile->instances; i++) {
            stamps += b->instance[i].count;
            full = full || b->instance[i].full;
        }
        printf("block %llu on multiprocessor %u: %llu clocks", (unsigned long long)b->number, b->multiprocessor,
               (unsigned long long)b->clocks);
        if (b->nanoseconds > 0)
            printf(", %.2f us at %.0f MHz", (double)b->clocks * b->nanoseconds / 1e3, 1e3 / b->nanoseconds);
        if (items)
            printf(", %zu item%s", items, items == 1 ? "" : "s");
        printf(", %zu stamps%s\n", stamps, full ? "; there was no room for more: --stamps" : "");
        for (int g = 0; g < plan->ring_count; g++)
            if (timeline_has_filled(&timeline[n], g))
                printf("  ring %s: %.2f of %d stages are %s\n", plan->ring[g].name, timeline[n].filled[g],
                       plan->ring[g].stages, timeline_filled_word(&timeline[n]));
    }
    putchar('\n');
}

/* One step of a role in all its instances. */
static void print_step(const struct profile *profile, const struct profile_block *b, int role, int step)
{
    uint64_t sum = 0, most = 0, lives = 0, times = 0;
    for (int i = 0; i < profile->instances; i++) {
        const struct profile_instance *in = &b->instance[i];
        uint64_t before = in->began;
        if (in->role != role)
            continue;
        lives += in->ended - in->began;
        for (size_t k = 0; k < in->count; k++) {
            uint64_t took = in->stamp[k].clock - before;
            before = in->stamp[k].clock;
            if (in->stamp[k].step != step)
                continue;
            sum += took;
            most = took > most ? took : most;
            times++;
        }
    }
    if (!times)
        return;
    const struct plan_step *s = &profile->plan->role[role].step[step];
    printf("  %4d  %-18s %-14s %8llu %12llu %6.1f %% %9.1f %9llu\n", step + 1, s->call ? s->call : "",
           plan_op_word[s->op], (unsigned long long)times, (unsigned long long)sum,
           lives ? 100.0 * (double)sum / (double)lives : 0, (double)sum / (double)times, (unsigned long long)most);
}

int profile_print(const struct profile *profile, const struct timeline *timeline, int block, struct tw_error *error)
{
    const struct plan *plan = profile->plan;
    print_blocks(profile, timeline);
    int status = print_tensor(profile, error);
    if (status != TW_OK)
        return status;
    printf("steps of block %llu, clocks\n", (unsigned long long)profile->block[block].number);
    for (int r = 0; r < plan->role_count; r++) {
        char title[96];
        snprintf(title, sizeof title, "%.40s%s", plan->role[r].name, plan->role[r].instances > 1 ? ", all" : "");
        printf("  %-39s %8s %12s %8s %9s %9s\n", title, "times", "in all", "of life", "mean", "most");
        for (int i = 0; i < plan->role[r].step_count; i++)
            print_step(profile, &profile->block[block], r, i);
    }
    putchar('\n');
    return TW_OK;
}
