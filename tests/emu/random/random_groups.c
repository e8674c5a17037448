/* A product for each group, of which data say how much is multiplied: how many rows a group has, in memory of its own,
 * behind the group before it, or by numbers; and which blocks along k, by a list. */
#include <string.h>

#include "random_dots.h"

enum { NUMBERS = 40 /* rows that numbers choose from */, BLOCKS = 4 /* that lists choose from */ };

enum form { COUNTED, BEHIND, NUMBERED };

struct groups {
    struct dots *d;
    enum form form;
    bool list, cut;    /* k by a list; which data cut short */
    bool turned, bt;   /* D as n m, B as k n */
    bool copied;       /* numbered rows by threads */
    int pitch, stages; /* rows of a group behind another; turns that wrap rings */
};

static void tensors(const struct groups *x, const struct beside *b)
{
    struct random_spec *g = x->d->g;
    const char *type = x->d->dtype, *rows[] = {"E, M", "T", "E, M"}, *axes[] = {"e m", "t", "e m"};
    bool flat = x->form != COUNTED;
    random_write(g, "  data = tensor { %s, dtype = \"%s\", axes = \"%s k\" },\n", flat ? "T, K" : "E, M, K", type,
                 flat ? "t" : "e m");
    random_write(g, "  weight = tensor { E, %s, dtype = \"%s\", axes = \"e %s\" },\n", x->bt ? "K, N" : "N, K", type,
                 x->bt ? "k n" : "n k");
    random_write(g, "  count = tensor { E, dtype = \"int32\", fill = \"integers 0 %d\" },\n",
                 x->form == BEHIND ? x->pitch : 2 * x->d->m);
    if (x->form == BEHIND)
        random_write(g, "  first = tensor { E, dtype = \"int32\", fill = \"iota\" },\n");
    if (x->form == NUMBERED)
        random_write(g, "  token = tensor { E, M, dtype = \"int32\", axes = \"e m\", fill = \"integers 0 %d\" },\n",
                     NUMBERS - 1);
    if (x->list)
        random_write(g, "  blocks = tensor { E, L, dtype = \"int32\", fill = \"integers 0 %d\" },\n", BLOCKS);
    if (x->cut)
        random_write(g, "  turns = tensor { E, dtype = \"int32\", fill = \"integers 0 %d\" },\n", 4 * x->stages);
    if (x->turned)
        random_write(g, "  D = tensor { N, T, dtype = \"%s\", axes = \"n t\", out = true },\n", x->d->out);
    else
        random_write(g, "  D = tensor { %s, N, dtype = \"%s\", axes = \"%s n\", out = true },\n", rows[x->form],
                     x->d->out, axes[x->form]);
    if (b->columns)
        random_write(g, "  bias = tensor { N, dtype = \"%s\", axes = \"n\" },\n", type);
    if (b->rows)
        random_write(g, "  along = tensor { %s, dtype = \"fp32\", axes = \"%s\" },\n", rows[x->form], axes[x->form]);
    if (b->tile)
        random_write(g, "  C = tensor { %s, N, dtype = \"%s\", axes = \"%s n\" },\n", rows[x->form], type,
                     axes[x->form]);
    if (b->scalar)
        random_write(g, "  scale = scalar(\"fp32\", 0.75),\n");
}

/* Up to what stands in memory of the group's rows. */
static void multiply(const struct groups *x)
{
    struct random_spec *g = x->d->g;
    random_write(g, "  program = function(t, at, tile)\n"
                    "    local count, n = t.count[at.e], span(at.n, tile.n)\n");
    if (x->form == BEHIND)
        random_write(g,
                     "    local from = t.first[at.e] * %d\n"
                     "    local m, some = span(from + at.m, tile.m, from + count), lt(at.m, count)\n",
                     x->pitch);
    else
        random_write(g, "    local m, some = span(at.m, tile.m, count), lt(at.m, count)\n");
    if (x->form == NUMBERED)
        random_write(g, "    local token = load(t.token, at.e, m):t()\n");
    if (x->list)
        random_write(g,
                     "    local sum = loop(\"k\", list(t.blocks, at.e, 0, %s), { zeros() }, function(block, sum)\n"
                     "      local along = span(block * tile.k, tile.k)\n",
                     x->cut ? "min(t.turns[at.e], L)" : "L");
    else
        random_write(g,
                     "    local sum = loop(\"k\", range(0, where(some, K, 0), tile.k), { zeros() }, function(k, sum)\n"
                     "      local along = span(k, tile.k)\n");
    random_write(g, "      return dot(%s, load(t.weight, at.e, %s, sum)\n    end)\n",
                 x->form == NUMBERED ? "gather(t.data, token, along):as \"rows\""
                 : x->form == BEHIND ? "load(t.data, m, along)"
                                     : "load(t.data, at.e, m, along)",
                 x->bt ? "along, n)" : "n, along):t()");
}

void random_groups(struct dots *d)
{
    static const char *const forms[] = {"rows.counted", "rows.behind", "rows.numbered"};
    struct random_spec *g = d->g;
    struct groups x = {.d = d};
    x.form = (enum form)random_choose(g, forms, 3);
    x.list = random_option(g, "range.list", 35);
    x.cut = x.list && random_option(g, "range.data", 50);
    x.turned = x.form == BEHIND && random_option(g, "out.turned", 30);
    x.bt = random_option(g, "b.turned", 30);
    x.copied = x.form == NUMBERED && random_option(g, "rows.copied", 40);
    struct beside b = random_dots_beside(d);
    random_dots_how(d, 0);
    random_dots_tiles(d, false);
    if (x.form == NUMBERED && (!x.copied || random_chance(g, 50)))
        d->k = 64; /* whole spans */
    random_dots_others(d);
    random_dots_turns(d, true);
    x.pitch = d->m + 8 * (1 + random_below(g, 5)); /* whole words: all variants run */
    x.stages = d->turns[d->runs - 1];
    random_write(g,
                 "local E, M, N, K%s%s = dims \"E M N K%s%s\"\n\nlocal p = kernel \"p\" {\n"
                 "  axes = \"e m n k%s\", tile = { m = %d, n = %d, k = %d }, grid = { e = E, m = M, n = N },\n"
                 "  arch = { sm_90a = {}, sm_80 = {} },\n",
                 x.form == COUNTED ? "" : ", T", x.list ? ", L" : "", x.form == COUNTED ? "" : " T", x.list ? " L" : "",
                 x.form == COUNTED ? "" : " t", d->m, d->n, d->k);
    random_dots_write_how(d, 0);
    if (x.form == NUMBERED && (x.copied || d->k < 64))
        random_write(g, "  via = { rows = \"cp_async\" },\n");
    tensors(&x, &b);
    multiply(&x);
    g->index = "n";
    g->row_index = x.form == BEHIND ? "t" : "m";
    g->place = "N";
    random_dots_epilogue(
        d, &b, "sum",
        x.form == BEHIND
            ? (const char *const[3]){"load(t.bias, n)", "load(t.along, m):t()", "load(t.C, m, n)"}
            : (const char *const[3]){"load(t.bias, n)", "load(t.along, at.e, m):t()", "load(t.C, at.e, m, n)"});
    random_write(g, "    store(t.D, %s)\n  end,\n  run = {",
                 x.turned           ? "n, m, v:t()"
                 : x.form == BEHIND ? "m, n, v"
                                    : "at.e, m, n, v");
    for (int i = 0; i < d->runs; i++) {
        bool wraps = i == d->runs - 1;
        int more = !wraps ? 0 : x.cut ? 3 : 1;
        int k = random_dots_extent(d, i, d->turns[i], d->k), groups = 2 + random_below(g, wraps ? 2 : 4) + more;
        int m = x.form == BEHIND ? x.pitch : wraps ? d->m : 1 + random_below(g, d->m + 40);
        /* ITEMS of them, and more, for a group may have no row. */
        int tiles = 2 * (groups - 1) >= ITEMS ? 2 : 3;
        int n = wraps ? random_dots_extent(d, i, tiles * random_dots_blocks(d, true), d->n)
                      : 8 * (1 + random_below(g, d->n / 4));
        random_write(g, "%s{ E = %d, M = %d, N = %d, K = %d", i ? ", " : " ", groups, m, n,
                     x.list ? BLOCKS * d->k + 8 : k);
        if (x.form != COUNTED)
            random_write(g, ", T = %d", x.form == BEHIND ? groups * x.pitch : NUMBERS + random_below(g, 20));
        if (x.list)
            random_write(g, ", L = %d", d->turns[i] + (wraps ? x.stages : 0));
        random_write(g, " }");
    }
    random_write(g, " },\n}\n");
    random_dots_write_others(d);
}
