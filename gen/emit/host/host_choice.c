#include "emit/host/host_choice.h"

#include <math.h>
#include <string.h>

/* ---- deciding -------------------------------------------------------------------------------------------------- */

/* Some rows of a GPU, at different sizes. */
struct points {
    const struct host_tuned **row;
    int count;
};

struct cut {
    int symbol;
    int64_t below, from; /* the sizes on both sides of it */
    double impurity;
};

/* What the points of one GPU come to. n, room: memory for all of them. */
struct growing {
    struct host_facts *f;
    int *n, setups;
    const struct host_tuned **room;
    bool no_memory;
};

static int most_setups(const struct points *p)
{
    int most = 0;
    for (int i = 0; i < p->count; i++)
        most = p->row[i]->setup > most ? p->row[i]->setup : most;
    return most;
}

/* Of points that are parted by size s of the symbol: how many of each set-up lie on both sides. n: room for both. */
static double impurity(const struct points *p, int symbol, int64_t from, int *n, int setups)
{
    double sum = 0.0;
    memset(n, 0, 2 * sizeof *n * (size_t)setups);
    int side[2] = {0, 0};
    for (int i = 0; i < p->count; i++) {
        const int more = p->row[i]->size[symbol] >= from;
        n[more * setups + p->row[i]->setup]++;
        side[more]++;
    }
    for (int more = 0; more < 2; more++) {
        double squares = 0.0;
        for (int k = 0; k < setups; k++)
            squares += (double)n[more * setups + k] * n[more * setups + k];
        sum += side[more] ? side[more] - squares / side[more] : 0.0;
    }
    return sum;
}

/* The least size of the symbol above `size` that a point has; -1: none. */
static int64_t next_size(const struct points *p, int symbol, int64_t size)
{
    int64_t next = -1;
    for (int i = 0; i < p->count; i++) {
        const int64_t s = p->row[i]->size[symbol];
        if (s > size && (next < 0 || s < next))
            next = s;
    }
    return next;
}

static bool is_better(const struct cut *a, const struct cut *b)
{
    const double close = 1e-9;
    if (a->impurity < b->impurity - close || a->impurity > b->impurity + close)
        return a->impurity < b->impurity;
    return (double)a->from / (double)a->below > (double)b->from / (double)b->below * (1.0 + close);
}

/* The best cut; false: there is none, as the points do not differ. */
static bool find_cut(const struct growing *g, const struct points *p, struct cut *best)
{
    bool found = false;
    for (int s = 0; s + 1 < g->f->plan->symbol_count; s++) {
        int64_t below = host_is_argument(g->f->plan, s) ? next_size(p, s, 0) : -1, from;
        for (; below > 0 && (from = next_size(p, s, below)) > 0; below = from) {
            const struct cut cut = {s, below, from, impurity(p, s, from, g->n, g->setups)};
            if (!found || is_better(&cut, best))
                *best = cut;
            found = true;
        }
    }
    return found;
}

/* Half-way by ratio, above the one and not above the other. */
static int64_t middle(int64_t below, int64_t from)
{
    const int64_t half = (int64_t)(sqrt((double)below) * sqrt((double)from)) + 1;
    return half <= below ? below + 1 : half > from ? from : half;
}

/* Moves the points below `from` to the front; returns how many they are. Both keep their order. */
static int part(struct points *p, int symbol, int64_t from, const struct host_tuned **room)
{
    int below = 0, others = 0;
    for (int i = 0; i < p->count; i++) {
        if (p->row[i]->size[symbol] < from)
            p->row[below++] = p->row[i];
        else
            room[others++] = p->row[i];
    }
    memcpy(p->row + below, room, sizeof *room * (size_t)others);
    return below;
}

static bool is_one(const struct points *p)
{
    for (int i = 1; i < p->count; i++)
        if (p->row[i]->setup != p->row[0]->setup)
            return false;
    return true;
}

/* The number of a new split; -1: out of memory. */
static int add_split(struct host_facts *f, struct host_split split)
{
    const int at = f->split_count;
    struct host_split *grown = arena_grow(f->arena, f->split, at, sizeof *grown);
    if (!grown)
        return -1;
    f->split = grown;
    f->split[f->split_count++] = split;
    return at;
}

/* Returns the root of the splits for these points. They end, as each part has fewer points than the whole. */
static int grow(struct growing *g, struct points p)
{
    struct host_facts *f = g->f;
    struct cut cut;
    if (g->no_memory || is_one(&p) || !find_cut(g, &p, &cut))
        return ~p.row[0]->setup;
    const int at = f->split_count;
    if (add_split(f, (struct host_split){0, 0, ~0, ~0}) < 0) {
        g->no_memory = true;
        return ~0;
    }
    const int below = part(&p, cut.symbol, cut.from, g->room);
    const int less = grow(g, (struct points){p.row, below});
    const int more = grow(g, (struct points){p.row + below, p.count - below});
    f->split[at] = (struct host_split){cut.symbol, middle(cut.below, cut.from), less, more};
    return at;
}

/* Where the row's sizes lead, a chain of splits that parts just these from all others: they have its exact set-up.
 * 0 or 3. */
static int part_exact(struct host_facts *f, struct host_choice *c, const struct host_tuned *row)
{
    int at = c->root, from = -1, side = 0;
    while (at >= 0) {
        from = at;
        side = row->size[f->split[at].symbol] >= f->split[at].from;
        at = side ? f->split[at].more : f->split[at].less;
    }
    const int others = at;
    for (int s = 0, to = ~row->exact; s + 1 < f->plan->symbol_count; s++) {
        if (!host_is_argument(f->plan, s) || row->size[s] < 0)
            continue;
        to = add_split(f, (struct host_split){s, row->size[s] + 1, to, others});
        to = to < 0 ? to : add_split(f, (struct host_split){s, row->size[s], others, to});
        if (to < 0)
            return 3;
        at = to;
    }
    if (from < 0)
        c->root = at;
    else if (side)
        f->split[from].more = at;
    else
        f->split[from].less = at;
    return 0;
}

/* A row of the same sizes that says more: what is sustained counts. */
static bool is_outdone(const struct host_facts *f, const struct host_choice *c, int row)
{
    const struct host_tuned *all = f->model->tuned;
    const size_t bytes = sizeof *all->size * (size_t)(f->plan->symbol_count - 1);
    for (int i = c->first; i < c->first + c->count; i++)
        if (i != row && memcmp(all[i].size, all[row].size, bytes) == 0 &&
            (all[i].burst < all[row].burst || (all[i].burst == all[row].burst && i < row)))
            return true;
    return false;
}

static int decide_gpu(struct host_facts *f, struct host_choice *c)
{
    const struct host_tuned *all = f->model->tuned;
    struct points p = {.row = arena_alloc(f->arena, sizeof *p.row * ((size_t)c->count + 1))};
    struct growing g = {.f = f, .room = arena_alloc(f->arena, sizeof *g.room * ((size_t)c->count + 1))};
    if (!p.row || !g.room)
        return 3;
    for (int i = c->first; i < c->first + c->count; i++)
        if (!is_outdone(f, c, i))
            p.row[p.count++] = &all[i];
    g.setups = most_setups(&p) + 1;
    g.n = arena_alloc(f->arena, 2 * sizeof *g.n * (size_t)g.setups);
    if (!g.n)
        return 3;
    c->split = f->split_count;
    c->root = grow(&g, p);
    int status = g.no_memory ? 3 : 0;
    for (int i = 0; i < p.count && !status; i++)
        status = p.row[i]->exact > 0 ? part_exact(f, c, p.row[i]) : 0;
    c->splits = f->split_count - c->split;
    return status;
}

static int find_target(const struct host_facts *f, const char *arch)
{
    for (int i = 0; i < f->target_count; i++)
        if (strcmp(f->target[i].id, arch) == 0)
            return i;
    return -1;
}

int host_decide_choice(struct host_facts *f)
{
    const struct host_model *m = f->model;
    int status = 0;
    for (int i = 0, next; i < m->tuned_count && !status; i = next) {
        const struct host_tuned *row = &m->tuned[i];
        const int target = find_target(f, row->arch);
        for (next = i + 1; next < m->tuned_count; next++)
            if (strcmp(m->tuned[next].arch, row->arch) != 0 || strcmp(m->tuned[next].gpu, row->gpu) != 0)
                break;
        if (target < 0)
            continue;
        struct host_choice *grown = arena_grow(f->arena, f->choice, f->choice_count, sizeof *grown);
        if (!grown)
            return 3;
        f->choice = grown;
        grown[f->choice_count] = (struct host_choice){row->gpu, target, ~0, i, next - i, 0, 0};
        status = decide_gpu(f, &grown[f->choice_count++]);
    }
    return status;
}

/* As templates/host/choice.c: the GPU's own choice, else the first of its architecture. */
int host_setup_of(const struct host_model *model, const char *arch, const char *gpu, const int64_t *symbol)
{
    struct arena arena = {{NULL, NULL}, NULL};
    struct host_target target = {.id = arch};
    struct host_facts f = {.model = model, .plan = model->image[0].plan, .target = &target, .target_count = 1};
    const struct host_choice *taken = NULL;
    f.arena = &arena;
    const int status = host_decide_choice(&f);
    for (int i = 0; i < f.choice_count; i++)
        if (!taken || strcmp(f.choice[i].gpu, gpu) == 0)
            taken = &f.choice[i];
    int at = taken ? taken->root : ~0;
    while (at >= 0)
        at = symbol[f.split[at].symbol] < f.split[at].from ? f.split[at].less : f.split[at].more;
    arena_free(&arena);
    return status ? -1 : ~at;
}

/* ---- the facts as the templates see them ------------------------------------------------------------------------ */

/* Whether any choice looks at the symbol, or any row names it: it is a column of what people read. */
static bool is_named(const struct host_facts *f, int symbol)
{
    for (int i = 0; i < f->model->tuned_count; i++)
        if (f->model->tuned[i].size[symbol] >= 0)
            return host_is_argument(f->plan, symbol);
    return false;
}

static void rows(const struct host_facts *f, const struct sink *s, const struct host_choice *c)
{
    sink_array(s, "row");
    for (int i = c->first; i < c->first + c->count; i++) {
        const struct host_tuned *row = &f->model->tuned[i];
        sink_object(s, NULL);
        sink_array(s, "size");
        for (int n = 0; n + 1 < f->plan->symbol_count; n++)
            if (is_named(f, n))
                sink_integer(s, NULL, row->size[n]);
        sink_end(s);
        sink_integer(s, "setup", row->exact ? row->exact : row->setup);
        sink_text(s, "use", arena_format(f->arena, "%s%s", *row->use ? row->use : "the spec's own",
                                         row->exact ? ", with these sizes as numbers" : ""));
        sink_text(s, "mode", row->burst ? "burst" : "sustained");
        sink_integer(s, "ns", (int64_t)(1e3 * row->us + 0.5));
        sink_integer(s, "ratio", (int64_t)(1e3 * row->ratio + 0.5));
        sink_end(s);
    }
    sink_end(s);
}

void host_choice(const struct host_facts *f, const struct sink *s)
{
    int column[256] = {0}, columns = 0; /* symbols that are asked for, and their places in `size` */
    sink_boolean(s, "tuned", f->choice_count > 0);
    sink_array(s, "size");
    for (int n = 0; n + 1 < f->plan->symbol_count && columns < 256; n++)
        if (is_named(f, n)) {
            sink_text(s, NULL, f->plan->symbol[n]);
            column[columns++] = n;
        }
    sink_end(s);
    sink_array(s, "choice");
    for (int i = 0; i < f->choice_count; i++) {
        const struct host_choice *c = &f->choice[i];
        sink_object(s, NULL);
        sink_text(s, "gpu", c->gpu);
        sink_text(s, "arch", f->target[c->target].id);
        sink_integer(s, "target", c->target + 1);
        sink_integer(s, "root", c->root);
        sink_integer(s, "first", c->split);
        sink_integer(s, "count", c->splits);
        rows(f, s, c);
        sink_end(s);
    }
    sink_end(s);
    sink_array(s, "split");
    for (int i = 0; i < f->split_count; i++) {
        int at = 0;
        while (at + 1 < columns && column[at] != f->split[i].symbol)
            at++;
        sink_object(s, NULL);
        sink_text(s, "symbol", f->plan->symbol[f->split[i].symbol]);
        sink_integer(s, "size", at);
        sink_integer(s, "from", f->split[i].from);
        sink_integer(s, "less", f->split[i].less);
        sink_integer(s, "more", f->split[i].more);
        sink_end(s);
    }
    sink_end(s);
    sink_integer(s, "split_count", f->split_count);
}
