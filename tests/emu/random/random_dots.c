/* Programs with dots: products however operands lie, with what follows the sum; chains of dots over a loop, in the way
 * of attention and of a hidden layer; loops behind each other and in each other. What only wgmma and TMA have, as
 * clusters, says nothing on sm_80. */
#include <string.h>

#include "random_spec.h"

enum { CHOSEN = 8 /* stages that a kernel has at most where the spec leaves them out */ };

/* How one kernel runs. */
struct how {
    int stages, consumers, blocks; /* stages 0: left out; 64 rows of each consumer */
    int cluster_m, cluster_n;
    bool ahead, passing, sm_80;
    int via;          /* of the first operand: 0 left out, 1 resident, 2 bulk */
    int order, items; /* 0 left out; of `order`; 1 persistent, 2 one to a block */
    int direction;    /* of the main loop's turns: 0 left out, 1 up, 2 down */
};

struct dots {
    struct random_spec *g;
    const char *dtype, *out;
    struct how how[RANDOM_KERNELS];
    int kernels;
    int m, n, k;        /* a product's tile; m: rows of any item */
    int tile;           /* what the loop of a chain steps by */
    int depth, width;   /* of a chain's first and second dot */
    int turns[4], runs; /* of the loop, by run size; the last is one in which rings wrap */
};

/* ---- how a kernel runs ------------------------------------------------------------------------------------------- */

static bool has_chain(const struct dots *d)
{
    return d->g->family != 'P';
}

/* Of 64 rows: so many for each of the consumers, which all fit. */
static void share_rows(struct dots *d, struct how *h)
{
    static const char *const word[] = {"consumers.1", "consumers.2", "consumers.3"};
    struct random_spec *g = d->g;
    const char *fits[3];
    int count = 0, of[3];
    for (int c = 1; c <= 3; c++)
        if (d->m % (64 * c) == 0 && d->m / 64 / c <= 2) {
            of[count] = c;
            fits[count++] = word[c - 1];
        }
    h->consumers = of[random_choose(g, fits, count)];
    h->blocks = d->m / 64 / h->consumers;
    if (h->blocks == 2)
        random_feature(g, "blocks.2");
}

/* What wgmma, TMA and clusters have: of kernels for sm_90a. */
static void draw_warpgroups(struct dots *d, int number)
{
    static const char *const consumers[] = {"consumers.1", "consumers.2", "consumers.3"};
    static const char *const via[] = {NULL, "resident", "bulk"};
    static const char *const direction[] = {NULL, "up", "down", NULL};
    struct random_spec *g = d->g;
    struct how *h = &d->how[number];
    const struct how *like = &d->how[0];
    bool first = number == 0;
    int slices = has_chain(d) ? d->tile : random_has(g, "b.turned") ? d->k : d->n;
    if (first) {
        h->consumers = random_choose(g, consumers, 3) + 1;
        h->blocks = random_option(g, "blocks.2", 20) ? 2 : 1;
        d->m = 64 * h->consumers * h->blocks;
    } else {
        share_rows(d, h);
    }
    h->ahead = has_chain(d) && random_option(g, "ahead", like->ahead ? 100 : 45);
    h->passing = h->ahead && random_option(g, "passing", 50);
    h->direction =
        first || !like->direction ? random_choose(g, direction, 4) % 3 : random_choose(g, direction + 1, 2) + 1;
    /* What is shared is loaded in slices of 8 rows and more: by four blocks only where tiles allow it. */
    const char *const clusters[] = {NULL,          "cluster.2", !first && slices % 32 ? NULL : "cluster.4",
                                    "cluster.2x2", NULL,        NULL};
    int chosen = random_choose(g, clusters, 6);
    if (clusters[chosen]) {
        h->cluster_m = chosen == 2 ? 4 : 2;
        h->cluster_n = chosen == 3 ? 2 : 1;
        if (chosen == 1 && !has_chain(d) && random_chance(g, 50)) {
            h->cluster_m = 1;
            h->cluster_n = 2;
        }
    } else if (!first || random_chance(g, 50)) {
        h->cluster_m = h->cluster_n = 1;
    }
    h->via = !has_chain(d) ? 0 : first || !like->via ? random_choose(g, via, 3) : random_choose(g, via + 1, 2) + 1;
}

/* What kernel `number` has beside the program: 0 before the tiles are known, which then are made for it. Others begin
 * with what kernel 0 says, as `like` gives it to them. */
static void draw_how(struct dots *d, int number)
{
    static const char *const stages[] = {"stages.chosen", "stages.2", "stages.3", "stages.4", "stages.5"};
    static const char *const orders[] = {NULL, "order.grouped", "order.row", "order.column"};
    static const char *const items[] = {NULL, "persistent", "one.item"};
    struct random_spec *g = d->g;
    struct how *h = &d->how[number];
    const struct how *like = &d->how[0];
    bool first = number == 0;
    int chosen;
    g->at = number;
    h->sm_80 = random_wants(g, "sm_80") || (!first && !random_wants(g, "sm_90a") && random_chance(g, 25));
    random_feature(g, h->sm_80 ? "sm_80" : "sm_90a");
    chosen = random_choose(g, first || !like->stages ? stages : stages + 1, first || !like->stages ? 5 : 4);
    h->stages = first || !like->stages ? (chosen ? chosen + 1 : 0) : chosen + 2;
    chosen = random_choose(g, first || !like->order ? orders : orders + 1, first || !like->order ? 4 : 3);
    h->order = first || !like->order ? chosen : chosen + 1;
    chosen = random_choose(g, first || !like->items ? items : items + 1, first || !like->items ? 3 : 2);
    h->items = first || !like->items ? chosen : chosen + 1;
    h->ahead = h->passing = false;
    h->cluster_m = h->cluster_n = h->via = h->direction = 0;
    h->blocks = 1;
    h->consumers = first ? 1 + random_below(g, 2) : like->consumers;
    if (h->sm_80 && first)
        d->m = 64 * h->consumers;
    if (!h->sm_80)
        draw_warpgroups(d, number);
    g->at = -1;
}

/* A name for the loop of most turns: the inner one of two. */
static const char *main_loop(const struct random_spec *g)
{
    return g->family == 'H' ? "s" : g->family == 'N' ? "h" : random_has(g, "loop.nested") ? "i" : "k";
}

static bool any_down(const struct dots *d)
{
    for (int i = 0; i < d->kernels; i++)
        if (d->how[i].direction == 2)
            return true;
    return false;
}

static void write_how(struct dots *d, int number)
{
    struct random_spec *g = d->g;
    const struct how *h = &d->how[number];
    static const char *const order[] = {"", "grouped", "row", "column"};
    const char *rows = g->family == 'H' ? "q" : "m";
    random_write(g, "  pipeline = { ");
    if (h->stages)
        random_write(g, "stages = %d, ", h->stages);
    random_write(g, "consumers = %d%s },\n", h->consumers,
                 h->passing                    ? ", turns = true"
                 : number && d->how[0].passing ? ", turns = false"
                                               : "");
    if (h->order || h->items) {
        random_write(g, "  schedule = { ");
        if (h->order)
            random_write(g, "order = \"%s\", group = %d%s", order[h->order], 1 + random_below(g, 4),
                         h->items ? ", " : "");
        if (h->items)
            random_write(g, "persistent = %s", h->items == 1 ? "true" : "false");
        random_write(g, " },\n");
    }
    if (h->cluster_m && has_chain(d))
        random_write(g, "  cluster = { %s = %d },\n", rows, h->cluster_m);
    else if (h->cluster_m)
        random_write(g, "  cluster = { m = %d, n = %d },\n", h->cluster_m, h->cluster_n);
    if (h->ahead && !(number && d->how[0].ahead))
        random_write(g, "  ahead = { x = { turns = 1%s } },\n", g->state % 3 ? ", before = \"o\"" : "");
    if (h->direction)
        random_write(g, "  direction = { %s = \"%s\" },\n", main_loop(g), h->direction == 2 ? "down" : "up");
    if (h->via)
        random_write(g, "  via = { held = \"%s\" },\n", h->via == 1 ? "resident" : "bulk");
}

/* Kernels that differ in how they run alone. */
static void draw_others(struct dots *d)
{
    d->kernels = random_chance(d->g, 30) ? 3 : 2;
    for (int i = 1; i < d->kernels; i++)
        draw_how(d, i);
}

static void write_others(struct dots *d)
{
    for (int i = 1; i < d->kernels; i++) {
        random_write(d->g, "kernel \"p_how%d\" { like = p,\n", i);
        write_how(d, i);
        random_write(d->g, "}\n");
    }
}

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

static int most_stages(const struct dots *d)
{
    int most = 0;
    for (int i = 0; i < d->kernels; i++) {
        int stages = d->how[i].stages ? d->how[i].stages : CHOSEN;
        most = stages > most ? stages : most;
    }
    return most;
}

/* Turns of the loops: none, one, one less than the ring has stages, as many, one more, many; and in the last size as
 * many as wrap rings: within an item where a kernel's blocks have one each, else over ITEMS of them. */
enum { ITEMS = 5 };

static void draw_turns(struct dots *d)
{
    static const char *const name[] = {"turns.0",      "turns.1",        "turns.stages-1",
                                       "turns.stages", "turns.stages+1", "turns.many"};
    struct random_spec *g = d->g;
    int stages = d->how[0].stages ? d->how[0].stages : CHOSEN;
    const int of[] = {0, 1, stages - 1, stages, stages + 1, 2 * stages + 3};
    d->runs = 0;
    g->at = 0;
    for (int i = 0; i < 6; i++)
        if (random_wants(g, name[i]) && d->runs < 3)
            d->turns[d->runs++] = of[i];
    g->at = -1;
    if (d->runs < 2)
        d->turns[d->runs++] = of[random_below(g, 3)];
    if (d->runs < 2)
        d->turns[d->runs++] = of[2 + random_below(g, 4)];
    bool one_item = false;
    for (int i = 0; i < d->kernels; i++)
        one_item = one_item || d->how[i].items == 2 || d->how[i].sm_80;
    d->turns[d->runs++] = one_item ? 2 * most_stages(d) + 1 : 2 * most_stages(d) / ITEMS + 2;
    for (int i = 0; i < d->kernels; i++) {
        g->at = i;
        for (int r = 0; r < d->runs; r++) {
            int s = d->how[i].stages, turns = d->turns[r];
            if (turns == 0)
                random_feature(g, "turns.0");
            if (turns == 1)
                random_feature(g, "turns.1");
            if (s && turns == s - 1)
                random_feature(g, "turns.stages-1");
            if (s && turns == s)
                random_feature(g, "turns.stages");
            if (s && turns == s + 1)
                random_feature(g, "turns.stages+1");
            if (turns > (s ? s : CHOSEN) + 1)
                random_feature(g, "turns.many");
        }
    }
    g->at = -1;
}

/* That many tiles, the last perhaps cut: in the last size, where all variants are to run, by whole 16 bytes. */
static int extent_of(struct dots *d, int run, int count, int tile)
{
    struct random_spec *g = d->g;
    int extent = count * tile;
    bool whole = run == d->runs - 1 || random_has(g, "multiple");
    if (extent > 0 && random_option(g, "ragged", 50))
        extent -= whole || random_chance(g, 60) ? 8 : random_below(g, tile);
    return extent;
}

/* Items of the last size in a block: the emulator has one cluster then. */
static int blocks_along(const struct dots *d, bool along_n)
{
    int most = 1;
    for (int i = 0; i < d->kernels; i++) {
        int blocks = along_n ? d->how[i].cluster_n : d->how[i].cluster_m;
        most = blocks > most ? blocks : most;
    }
    return most;
}

/* ---- what follows the sum ---------------------------------------------------------------------------------------- */

struct beside {
    bool columns, rows, tile, scalar, epilogue;
};

static struct beside draw_beside(struct dots *d)
{
    struct random_spec *g = d->g;
    struct beside b = {.scalar = random_option(g, "scalar", 25), .epilogue = random_option(g, "epilogue", 55)};
    b.columns = b.epilogue && random_option(g, "beside.columns", 40);
    b.rows = b.epilogue && random_option(g, "beside.rows", 30);
    b.tile = b.epilogue && random_option(g, "beside.tile", 35);
    return b;
}

/* True where operations on values are wanted that are not there yet. */
static bool wants_values(const struct random_spec *g)
{
    static const char *const word[] = {"function", "minmax",    "cast",         "exp",
                                       "mask",     "mask.rows", "mask.modulus", "mask.both"};
    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        if (random_wants(g, word[i]) && !random_has(g, word[i]))
            return true;
    return false;
}

/* local v = a value of `sum` and what lies beside; `load_*`: Lua that gives it. */
static void epilogue(struct dots *d, const struct beside *b, const char *sum, const char *const load[3])
{
    struct random_spec *g = d->g;
    g->terms = 0;
    random_term(g, true, "sum");
    random_term(g, false, "0.5");
    random_term(g, false, "2");
    random_write(g, "    local sum = %s\n", sum);
    if (b->columns) {
        random_write(g, "    local bias = %s\n", load[0]);
        random_term(g, false, "bias");
    }
    if (b->rows) {
        random_write(g, "    local along = %s\n", load[1]);
        random_term(g, false, "along");
    }
    if (b->tile) {
        random_write(g, "    local c = %s\n", load[2]);
        random_term(g, true, "c");
    }
    if (b->scalar)
        random_term(g, false, "t.scale");
    random_write(g, "    local v = ");
    size_t from = g->length - 1;
    if (b->epilogue || wants_values(g)) {
        random_feature(g, "epilogue");
        random_value(g, 3);
        random_use(g, from, "sum", "");
    } else {
        random_write(g, "sum");
    }
    if (b->columns)
        random_use(g, from, "bias", "");
    if (b->rows)
        random_use(g, from, "along", " * 0.5");
    if (b->tile)
        random_use(g, from, "c", " * 0.5");
    if (b->scalar)
        random_use(g, from, "t.scale", "");
    random_write(g, "\n");
}

/* ---- one product ------------------------------------------------------------------------------------------------- */

static void operand(struct random_spec *g, const char *tensor, const char *rows, const char *columns, bool turned)
{
    if (turned)
        random_write(g, "load(t.%s, %s, %s):t()", tensor, columns, rows);
    else
        random_write(g, "load(t.%s, %s, %s)", tensor, rows, columns);
}

/* Tiles that fit registers and shared memory: of two loads of a turn and five stages, or eight. */
static void product_tiles(struct dots *d, bool loops)
{
    static const int ns[] = {16, 32, 32, 64, 64, 96, 128}, ks[] = {16, 16, 32, 32, 64};
    struct random_spec *g = d->g;
    const struct how *h = &d->how[0];
    bool four = h->cluster_m == 4, bt = random_has(g, "b.turned");
    do {
        d->n = ns[random_below(g, h->cluster_n > 1 ? 5 : random_chance(g, 20) ? 7 : 5)];
        d->k = ks[random_below(g, 5)];
    } while ((h->consumers == 3 && h->blocks == 2 && d->n > 96) || (h->blocks == 2 && d->n > 128) ||
             (four && (bt ? d->k : d->n) % 32));
    while (d->k > (four && bt ? 32 : 16) && (d->m + d->n) * d->k * 2 * (loops ? 2 : 1) * 5 > 160000)
        d->k /= 2;
    while (d->n > 32 && (d->m + d->n) * d->k * 2 * (loops ? 2 : 1) * 5 > 160000)
        d->n /= 2;
}

/* One product, or two loops behind each other, or a loop in a loop, and what follows. */
static void product(struct dots *d)
{
    struct random_spec *g = d->g;
    bool at = random_option(g, "a.turned", 30), bt = random_option(g, "b.turned", 40);
    bool turned = random_option(g, "out.turned", 20), multiple = random_option(g, "multiple", 25);
    bool nested = random_option(g, "loop.nested", 20), second = random_option(g, "loops", 20);
    bool swizzle = random_option(g, "swizzle", 20), two = random_option(g, "outputs", 25);
    bool from = random_option(g, "first.tile", 25);
    struct beside b = draw_beside(d);
    bool c = b.tile || from;
    draw_how(d, 0);
    product_tiles(d, second);
    draw_others(d);
    draw_turns(d);
    random_write(g,
                 "local M, N, K = dims \"M%s N%s K\"\n\nlocal p = kernel \"p\" {\n"
                 "  axes = \"m n k\", tile = { m = %d, n = %d, k = %d }, grid = { m = M, n = N }, "
                 "arch = { sm_90a = {}, sm_80 = {} },\n",
                 multiple && turned ? "%8" : "", multiple && !turned ? "%8" : "", d->m, d->n, d->k);
    write_how(d, 0);
    random_write(g, "  A = tensor { %s, dtype = \"%s\", axes = \"%s\"%s },\n", at ? "K, M" : "M, K", d->dtype,
                 at ? "k m" : "m k", swizzle ? ", swizzle = \"32B\"" : "");
    random_write(g, "  B = tensor { %s, dtype = \"%s\", axes = \"%s\" },\n", bt ? "K, N" : "N, K", d->dtype,
                 bt ? "k n" : "n k");
    random_write(g, "  D = tensor { %s, dtype = \"%s\", axes = \"%s\", out = true },\n", turned ? "N, M" : "M, N",
                 d->out, turned ? "n m" : "m n");
    if (second)
        random_write(g, "  E = tensor { M, K, dtype = \"%s\", axes = \"m k\" },\n", d->dtype);
    if (b.columns)
        random_write(g, "  bias = tensor { N, dtype = \"%s\", axes = \"n\" },\n", d->dtype);
    if (b.rows)
        random_write(g, "  along = tensor { M, dtype = \"fp32\", axes = \"m\" },\n");
    if (c)
        random_write(g, "  C = tensor { M, N, dtype = \"%s\", axes = \"m n\" },\n", d->dtype);
    if (b.scalar)
        random_write(g, "  scale = scalar(\"fp32\", 0.75),\n");
    if (two)
        random_write(g, "  F = tensor { M, N, dtype = \"%s\", axes = \"m n\", out = true },\n",
                     random_chance(g, 50) ? "fp32" : d->dtype);
    random_write(g, "  program = function(t, at, tile)\n    local m, n = span(at.m, tile.m), span(at.n, tile.n)\n"
                    "    local function turn(k, sum)\n      local along = span(k, tile.k)\n      return dot(");
    operand(g, "A", "m", "along", at);
    random_write(g, ", ");
    operand(g, "B", "along", "n", !bt);
    random_write(g, ", sum)\n    end\n");
    const char *first = from ? "load(t.C, m, n) * 0.5" : "zeros()";
    if (nested)
        random_write(g,
                     "    local sum = loop(\"o\", range(0, K, 2 * tile.k), { %s }, function(o, sum)\n"
                     "      return loop(\"i\", range(o, min(o + 2 * tile.k, K), tile.k), { sum%s }, turn)\n    end)\n",
                     first, random_chance(g, 50) ? " * 1.0" : "");
    else
        random_write(g, "    local sum = loop(\"k\", range(0, K, tile.k), { %s }, turn)\n", first);
    if (second) {
        random_write(g, "    sum = loop(\"k2\", range(0, K, tile.k), { sum }, function(k, sum)\n"
                        "      local along = span(k, tile.k)\n      return dot(load(t.E, m, along), ");
        operand(g, "B", "along", "n", !bt);
        random_write(g, ", sum)\n    end)\n");
    }
    g->index = "n";
    g->row_index = "m";
    g->place = "N";
    epilogue(d, &b, "sum", (const char *const[3]){"load(t.bias, n)", "t.along", "load(t.C, m, n)"});
    random_write(g, turned ? "    store(t.D, n, m, v:t())\n" : "    store(t.D, m, n, v)\n");
    if (two)
        random_write(g, "    store(t.F, m, n, %s)\n", random_chance(g, 50) ? "sum * 0.5" : "v");
    random_write(g, "  end,\n  run = {");
    for (int i = 0; i < d->runs; i++) {
        bool wraps = i == d->runs - 1;
        int k = extent_of(d, i, d->turns[i], d->k);
        int m = wraps ? extent_of(d, i, blocks_along(d, false), d->m) : 1 + random_below(g, d->m + 40);
        int n = wraps                  ? extent_of(d, i, blocks_along(d, true) * ITEMS, d->n)
                : random_chance(g, 60) ? 8 * (1 + random_below(g, d->n / 4))
                                       : 1 + random_below(g, 2 * d->n);
        if (multiple && !turned)
            n = (n + 7) / 8 * 8;
        if (multiple && turned)
            m = (m + 7) / 8 * 8;
        random_write(g, "%s{ M = %d, N = %d, K = %d }", i ? ", " : " ", m, n, k);
    }
    random_write(g, " },\n}\n");
    write_others(d);
}

/* ---- chains ------------------------------------------------------------------------------------------------------ */

/* Tiles of a chain, smaller where a consumer has more rows. */
static void chain_tiles(struct dots *d)
{
    static const int of[] = {16, 32, 64};
    struct random_spec *g = d->g;
    const struct how *h = &d->how[0];
    int most = h->blocks == 2 || !random_chance(g, 25) ? 2 : 3;
    d->depth = of[random_below(g, most)];
    d->width = of[random_below(g, most)];
    d->tile = h->cluster_m == 4 ? of[1 + random_below(g, most - 1)] : of[random_below(g, most)];
}

/* The loop over the first dot's columns: one, or one within another of twice its step. */
static void open_loop(struct random_spec *g, const char *name, const char *last, const char *first, const char *carried,
                      bool nested)
{
    if (nested) {
        random_write(g, "    local %s = loop(\"outer\", range(0, %s, 2 * tile.%s), { %s }, function(outer, %s)\n",
                     carried, last, name, first, carried);
        random_write(g, "      return loop(\"%s\", range(outer, min(outer + 2 * tile.%s, %s), tile.%s), { %s }, ", name,
                     name, last, name, carried);
    } else {
        random_write(g, "    local %s = loop(\"%s\", range(0, %s, tile.%s), { %s }, ", carried, name, last, name,
                     first);
    }
    random_write(g, "function(%s, %s)\n", name, carried);
}

/* dot, arithmetic, dot into what is carried: with a running maximum or without. */
static void chain(struct dots *d)
{
    struct random_spec *g = d->g;
    bool online = random_option(g, "online", 60), lse = online && random_option(g, "lse", 40);
    bool nested = random_option(g, "loop.nested", 15), second = random_option(g, "loops", 15);
    bool masked = random_option(g, "mask", 60), causal = masked && random_option(g, "causal", 50);
    bool range = causal && random_option(g, "range.causal", 60);
    bool mask = masked && random_option(g, "mask.loop", causal ? 20 : 60);
    bool swizzle = random_option(g, "swizzle", 15), batch = random_option(g, "batch", 40);
    bool two = random_option(g, "outputs", 20);
    struct beside b = draw_beside(d);
    draw_how(d, 0);
    chain_tiles(d);
    draw_others(d);
    draw_turns(d);
    random_write(g,
                 "local B, R, S = dims \"B R S\"\n\nlocal p = kernel \"p\" {\n"
                 "  axes = \"b q s d e\", tile = { q = %d, s = %d }, grid = { b = B, q = R }, arch = { sm_90a = {}, "
                 "sm_80 = {} },\n",
                 d->m, d->tile);
    write_how(d, 0);
    random_write(g, "  Q = tensor { B, R, %d, dtype = \"%s\", axes = \"b q d\" },\n", d->depth, d->dtype);
    random_write(g, "  K = tensor { B, S, %d, dtype = \"%s\", axes = \"b s d\"%s },\n", d->depth, d->dtype,
                 swizzle ? ", swizzle = \"32B\"" : "");
    random_write(g, "  V = tensor { B, S, %d, dtype = \"%s\", axes = \"b s e\" },\n", d->width, d->dtype);
    random_write(g, "  O = tensor { B, R, %d, dtype = \"%s\", axes = \"b q e\", out = true },\n", d->width, d->out);
    if (two)
        random_write(g, "  F = tensor { B, R, %d, dtype = \"fp32\", axes = \"b q e\", out = true },\n", d->width);
    if (second)
        random_write(g, "  P = tensor { B, R, S, dtype = \"%s\", axes = \"b q s\" },\n", d->dtype);
    if (lse)
        random_write(g, "  lse = tensor { B, R, dtype = \"fp32\", axes = \"b q\", out = true },\n");
    if (b.columns)
        random_write(g, "  bias = tensor { %d, dtype = \"%s\", axes = \"e\" },\n", d->width, d->dtype);
    if (b.rows)
        random_write(g, "  along = tensor { B, R, dtype = \"fp32\", axes = \"b q\" },\n");
    if (b.tile)
        random_write(g, "  C = tensor { B, R, %d, dtype = \"%s\", axes = \"b q e\" },\n", d->width, d->dtype);
    if (b.scalar)
        random_write(g, "  scale = scalar(\"fp32\", 0.75),\n");
    random_write(g, "  program = function(t, at, tile)\n    local here = span(at.q, tile.q)\n"
                    "    local held = load(t.Q, at.b, here, all):as \"held\"\n");
    const char *last = range ? "min(S, at.q + tile.q + (S - R))" : "S";
    open_loop(g, "s", last, online ? "zeros(), rows(-inf), rows(0)" : "zeros()", online ? "o, most, sum" : "o", nested);
    random_write(g,
                 "      local k, v = load(t.K, at.b, span(s, tile.s), all), load(t.V, at.b, span(s, tile.s), all)\n");
    random_write(g, "      local x = dot(held, k:t()):as \"x\" * %.3f\n", 1.0 / (double)d->depth);
    g->terms = 0;
    g->index = "s";
    g->row_index = "q";
    g->place = "S";
    random_term(g, true, "x");
    random_term(g, false, "0.5");
    if (!online || random_chance(g, 30)) {
        random_write(g, "      x = ");
        size_t from = g->length - 1;
        random_value(g, 2);
        random_use(g, from, "x", "");
        random_write(g, "\n");
    }
    if (causal)
        random_write(g, "      x = where(le(index().s, index().q + (S - R)), x, %s)\n", online ? "-inf" : "0");
    if (mask)
        random_write(g, "      x = where(ne(index().s %% 3, 1), x, %s)\n", online ? "-inf" : "0");
    if (online)
        random_write(g,
                     "      local m = max(most, row_max(x))\n"
                     "      local p, r = exp2_diff(x, m), exp2_diff(most, m)\n"
                     "      return dot(cast(p, \"%s\"), v, o * r):as \"o\", m, sum * r + row_sum(p)\n",
                     d->dtype);
    else
        random_write(g, "      return dot(cast(x, \"%s\"), v, o%s):as \"o\"\n", d->dtype,
                     random_chance(g, 30) && !any_down(d) ? " * 0.5" : "");
    random_write(g, nested ? "    end) end)\n" : "    end)\n");
    const char *result = online ? "ratio(o, sum, 0)" : "o";
    if (lse)
        random_write(g, "    store(t.lse, at.b, here, max(most + log2(sum), -1000))\n");
    if (second) {
        random_write(
            g,
            "    local z = loop(\"s2\", range(0, S, tile.s), { %s }, function(s, z)\n"
            "      return dot(load(t.P, at.b, here, span(s, tile.s)), load(t.V, at.b, span(s, tile.s), all), z)\n"
            "    end)\n",
            result);
        result = "z";
    }
    g->index = "e";
    g->place = "8";
    epilogue(
        d, &b, result,
        (const char *const[3]){"load(t.bias, all)", "load(t.along, at.b, here):t()", "load(t.C, at.b, here, all)"});
    random_write(g, "    store(t.O, at.b, here, all, v)\n");
    if (two)
        random_write(g, "    store(t.F, at.b, here, all, %s)\n", random_chance(g, 50) ? "sum * 0.5" : "v");
    random_write(g, "  end,\n  run = {");
    for (int i = 0; i < d->runs; i++) {
        bool wraps = i == d->runs - 1;
        int extent = extent_of(d, i, d->turns[i], d->tile);
        /* More queries than keys: items without a turn between others. */
        int rows = wraps ? extent_of(d, i, blocks_along(d, false), d->m) : 1 + random_below(g, d->m + 40);
        if (!wraps && range && random_chance(g, 50))
            rows = d->m + extent + 1 + random_below(g, 40);
        random_write(g, "%s{ B = %d, R = %d, S = %d }", i ? ", " : " ", wraps ? ITEMS : batch ? 2 : 1, rows, extent);
    }
    random_write(g, " },\n}\n");
    write_others(d);
}

/* A hidden layer that is never in memory, or a product whose rows are summed. */
static void hidden(struct dots *d)
{
    struct random_spec *g = d->g;
    bool reduced = random_option(g, "row_sum", 40), nested = random_option(g, "loop.nested", 15);
    bool second = random_option(g, "loops", 15), swizzle = random_option(g, "swizzle", 15);
    bool two = random_option(g, "outputs", 20), mask;
    if (random_chance(g, 30) || random_wants(g, "mask"))
        random_feature(g, "mask");
    mask = random_has(g, "mask") && random_option(g, "mask.loop", 60);
    struct beside b = draw_beside(d);
    draw_how(d, 0);
    chain_tiles(d);
    draw_others(d);
    draw_turns(d);
    random_write(
        g,
        "local M, H = dims \"M H\"\n\nlocal p = kernel \"p\" {\n"
        "  axes = \"m k h e\", tile = { m = %d, h = %d }, grid = { m = M }, arch = { sm_90a = {}, sm_80 = {} },\n",
        d->m, d->tile);
    write_how(d, 0);
    random_write(g,
                 "  X = tensor { M, %d, dtype = \"%s\", axes = \"m k\" },\n"
                 "  W = tensor { H, %d, dtype = \"%s\", axes = \"h k\"%s },\n",
                 d->depth, d->dtype, d->depth, d->dtype, swizzle ? ", swizzle = \"32B\"" : "");
    random_write(g, "  U = tensor { H, %d, dtype = \"%s\", axes = \"h e\" },\n", d->width, d->dtype);
    random_write(g, "  Y = tensor { M, %d, dtype = \"%s\", axes = \"m e\", out = true },\n", d->width, d->out);
    if (two)
        random_write(g, "  F = tensor { M, %d, dtype = \"fp32\", axes = \"m e\", out = true },\n", d->width);
    if (second)
        random_write(g, "  E = tensor { M, H, dtype = \"%s\", axes = \"m h\" },\n", d->dtype);
    if (reduced)
        random_write(g, "  S = tensor { M, dtype = \"fp32\", axes = \"m\", out = true },\n");
    if (b.columns)
        random_write(g, "  bias = tensor { %d, dtype = \"%s\", axes = \"e\" },\n", d->width, d->dtype);
    if (b.rows)
        random_write(g, "  along = tensor { M, dtype = \"fp32\", axes = \"m\" },\n");
    if (b.tile)
        random_write(g, "  C = tensor { M, %d, dtype = \"%s\", axes = \"m e\" },\n", d->width, d->dtype);
    if (b.scalar)
        random_write(g, "  scale = scalar(\"fp32\", 0.75),\n");
    random_write(g, "  program = function(t, at, tile)\n    local here = span(at.m, tile.m)\n"
                    "    local held = load(t.X, here, all):as \"held\"\n");
    open_loop(g, "h", "H", reduced ? "zeros(), rows(0)" : "zeros()", reduced ? "y, s" : "y", nested);
    random_write(g, "      local v = dot(held, load(t.W, span(h, tile.h), all):t()):as \"x\"\n      local z = ");
    g->terms = 0;
    g->index = "h";
    g->row_index = "m";
    g->place = "H";
    random_term(g, true, "v");
    random_term(g, true, "v");
    random_term(g, false, "0.25");
    size_t from = g->length - 1;
    random_value(g, 2);
    random_use(g, from, "v", "");
    random_write(g, "\n");
    if (mask)
        random_write(g, "      z = where(ne(index().h %% 3, 1), z, 0)\n");
    random_write(g, "      return dot(cast(z, \"%s\"), load(t.U, span(h, tile.h), all), y):as \"o\"%s\n%s", d->dtype,
                 reduced ? ", s + row_sum(z)" : "", nested ? "    end) end)\n" : "    end)\n");
    if (second)
        random_write(g, "    y = loop(\"h2\", range(0, H, tile.h), { y }, function(h, y)\n"
                        "      return dot(load(t.E, here, span(h, tile.h)), load(t.U, span(h, tile.h), all), y)\n"
                        "    end)\n");
    g->index = "e";
    g->place = "8";
    epilogue(d, &b, "y", (const char *const[3]){"load(t.bias, all)", "t.along", "load(t.C, here, all)"});
    random_write(g, "    store(t.Y, here, all, v)\n");
    if (two)
        random_write(g, "    store(t.F, here, all, %s)\n", random_chance(g, 50) ? "sum * 0.5" : "v");
    if (reduced)
        random_write(g, "    store(t.S, here, s)\n");
    random_write(g, "  end,\n  run = {");
    for (int i = 0; i < d->runs; i++) {
        int extent = extent_of(d, i, d->turns[i], d->tile);
        int rows =
            i == d->runs - 1 ? extent_of(d, i, ITEMS * blocks_along(d, false), d->m) : 1 + random_below(g, 2 * d->m);
        random_write(g, "%s{ M = %d, H = %d }", i ? ", " : " ", rows, extent);
    }
    random_write(g, " },\n}\n");
    write_others(d);
}

void random_dots(struct random_spec *g)
{
    static const char *const types[] = {"dot.bf16", "dot.fp16"};
    struct dots d = {.g = g};
    random_feature(g, g->family == 'P' ? "product" : g->family == 'H' ? "chain" : "hidden");
    d.dtype = random_choose(g, types, 2) ? "fp16" : "bf16";
    d.out = random_option(g, "out.fp32", 30) ? "fp32" : d.dtype;
    if (g->family == 'P')
        product(&d);
    else if (g->family == 'H')
        chain(&d);
    else
        hidden(&d);
}
