/* Programs with dots: products however operands lie, with what follows the sum; chains of dots over a loop, in the way
 * of attention and of a hidden layer; loops behind each other and in each other. What only wgmma and TMA have, as
 * clusters, says nothing on sm_80. */
#include <string.h>

#include "random_dots.h"

/* ---- one product ------------------------------------------------------------------------------------------------- */

/* to: what becomes of it, as the end of a cast; NULL: it is as it is loaded. */
static void operand(struct random_spec *g, const char *to, const char *tensor, const char *rows, const char *columns,
                    bool turned)
{
    if (to)
        random_write(g, "cast(load(t.%s, %s, %s)%s", tensor, rows, columns, to);
    else if (turned)
        random_write(g, "load(t.%s, %s, %s):t()", tensor, columns, rows);
    else
        random_write(g, "load(t.%s, %s, %s)", tensor, rows, columns);
}

/* Tiles for which registers are few: on sm_80 of an odd number of blocks, whose second step is read ahead in part; of
 * two blocks of rows, beside three outputs. */
static void rare_tiles(struct dots *d, bool turned, bool three)
{
    const struct how *h = &d->how[0];
    if (turned || h->cluster_m > 1 || h->cluster_n > 1)
        return;
    if (d->m == 64 * h->consumers && h->consumers < 3 && !three && random_rare(d->g, "odd blocks", h->sm_80 ? 1 : 4)) {
        d->n = 216;
        d->k = 16;
    } else if (d->m == 128 && h->consumers == 1 && three) {
        d->n = 192;
        d->k = 16;
    }
}

/* A product's sizes; multiple: of 8 along what is stored. */
static void write_sizes(struct dots *d, bool multiple, bool turned)
{
    struct random_spec *g = d->g;
    random_write(g, "  end,\n  run = {");
    for (int i = 0; i < d->runs; i++) {
        bool wraps = i == d->runs - 1;
        int k = random_dots_extent(d, i, d->turns[i], d->k);
        int m = wraps ? random_dots_extent(d, i, random_dots_blocks(d, false), d->m) : 1 + random_below(g, d->m + 40);
        int n = wraps                  ? random_dots_extent(d, i, random_dots_blocks(d, true) * ITEMS, d->n)
                : random_chance(g, 60) ? 8 * (1 + random_below(g, d->n / 4))
                                       : 1 + random_below(g, 2 * d->n);
        if (multiple && !turned)
            n = (n + 7) / 8 * 8;
        if (multiple && turned)
            m = (m + 7) / 8 * 8;
        if (wraps && random_has(g, "a.bytes")) /* rows of bytes that a tensor map takes */
            k = (k + 15) / 16 * 16;
        random_write(g, "%s{ M = %d, N = %d, K = %d }", i ? ", " : " ", m, n, k);
    }
}

/* What the first operand is converted from; NULL: it is loaded as it is multiplied. Drawn aside. Of uint8 all of it, or
 * half of its bits, from which nothing is taken: a tile's bytes may lie outside. cast: what becomes of it. */
static const char *bytes_of(struct dots *d, char cast[40])
{
    static const char *const bits[] = {"", " % 16", " // 16"};
    struct random_spec *g = d->g;
    if (!random_wants(g, "a.bytes") && (!random_allowed(g, "a.bytes") || !random_rare(g, "bytes", 6)))
        return NULL;
    random_feature(g, "a.bytes");
    const bool sign = random_aside(g, "sign", 0, 2) != 0;
    snprintf(cast, 40, "%s, \"%s\")", sign ? "" : bits[random_aside(g, "bits", 0, 3)], d->dtype);
    return sign ? "int8" : "uint8";
}

/* What each turn's dot is multiplied by, from its end on: of tensors `by` and `of`, elements of rows and of the item,
 * of the turn or of all turns, some under a condition. Drawn aside. NULL: nothing. */
static const char *turn_scale(struct dots *d)
{
    static const char *const scale[] = {
        ") * (load(t.by, m, k // 16):t() * t.of[at.n // 8][k // 16])",
        ") * load(t.by, m, k // 16):t()",
        ") * (load(t.by, m, 0):t() * t.of[at.n // 8][k // 16] + load(t.by, m, k // 16):t())",
        ") * where(ne(index().m % 3, 1), load(t.by, m, k // 16):t(), 0.5)",
        ") * load(t.by, m, 0):t() * where(lt(k, K // 2), t.of[0][k // 16], 2)",
        ") * load(t.by, k // 16, n)",
        ") * where(lt(k, K // 2), t.of[at.n // 8][(k + 8) // 16], t.of[0][0] - 1)",
    };
    struct random_spec *g = d->g;
    if (!random_wants(g, "turn.scaled") && (!random_allowed(g, "turn.scaled") || !random_rare(g, "scaled", 4)))
        return NULL;
    random_feature(g, "turn.scaled");
    g->by_tile = true;
    return scale[random_aside(g, "scale", 0, sizeof scale / sizeof *scale)];
}

static void write_turn_scale(struct dots *d, const char *scale)
{
    const char *dtype = random_aside(d->g, "scale type", 0, 2) ? "fp32" : d->dtype;
    if (strstr(scale, "t.by"))
        random_write(d->g, "  by = tensor { %s, dtype = \"%s\" },\n",
                     strstr(scale, "16, n)") ? "K // 16 + 1, N" : "M, K // 16 + 1", dtype);
    if (strstr(scale, "t.of"))
        random_write(d->g, "  of = tensor { N // 8 + 1, K // 16 + 1, dtype = \"fp32\" },\n");
}

/* What stands beside a product's sum; tile: `C` does. */
static void write_beside(struct dots *d, const struct beside *b, bool tile)
{
    if (b->columns)
        random_write(d->g, "  bias = tensor { N, dtype = \"%s\", axes = \"n\" },\n", d->dtype);
    if (b->rows)
        random_write(d->g, "  along = tensor { M, dtype = \"fp32\", axes = \"m\" },\n");
    if (tile)
        random_write(d->g, "  C = tensor { M, N, dtype = \"%s\", axes = \"m n\" },\n", d->dtype);
    if (b->scalar)
        random_write(d->g, "  scale = scalar(\"fp32\", 0.75),\n");
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
    char cast[40];
    /* ptxas serialises dots of a nested loop whose sum threads add to, and of one behind it (C7515). */
    const char *bytes = at ? NULL : bytes_of(d, cast), *scale = nested && second ? NULL : turn_scale(d);
    struct beside b = random_dots_beside(d);
    bool c = b.tile || from, three = two && random_rare(g, "three outputs", 3);
    random_dots_how(d, 0);
    random_dots_tiles(d, second);
    rare_tiles(d, at || bt || turned || second, three);
    random_dots_others(d);
    random_dots_turns(d, false);
    random_write(g,
                 "local M, N, K = dims \"M%s N%s K\"\n\nlocal p = kernel \"p\" {\n"
                 "  axes = \"m n k\", tile = { m = %d, n = %d, k = %d }, grid = { m = M, n = N }, "
                 "arch = { sm_90a = {}, sm_80 = {} },\n",
                 multiple && turned ? "%8" : "", multiple && !turned ? "%8" : "", d->m, d->n, d->k);
    random_dots_write_how(d, 0);
    random_dots_swizzled(d, swizzle && !bytes, at ? 128 : (bytes ? 1 : 2) * d->k,
                         "A = tensor { %s, dtype = \"%s\", axes = \"%s\"", at ? "K, M" : "M, K",
                         bytes ? bytes : d->dtype, at ? "k m" : "m k");
    random_write(g, "  B = tensor { %s, dtype = \"%s\", axes = \"%s\" },\n", bt ? "K, N" : "N, K", d->dtype,
                 bt ? "k n" : "n k");
    random_write(g, "  D = tensor { %s, dtype = \"%s\", axes = \"%s\", out = true },\n", turned ? "N, M" : "M, N",
                 d->out, turned ? "n m" : "m n");
    if (second)
        random_write(g, "  E = tensor { M, K, dtype = \"%s\", axes = \"m k\" },\n", d->dtype);
    write_beside(d, &b, c);
    if (two)
        random_write(g, "  F = tensor { M, N, dtype = \"%s\", axes = \"m n\", out = true },\n",
                     random_chance(g, 50) ? "fp32" : d->dtype);
    if (three)
        random_write(g, "  G = tensor { M, N, dtype = \"fp32\", axes = \"m n\", out = true },\n");
    if (scale)
        write_turn_scale(d, scale);
    random_write(g, "  program = function(t, at, tile)\n    local m, n = span(at.m, tile.m), span(at.n, tile.n)\n"
                    "    local function turn(k, sum)\n      local along = span(k, tile.k)\n      return ");
    /* The sum is the dot's, or a tile that a turn computes from it. */
    static const char *const before[] = {"dot(", "dot(", "dot(", "dot(", "sum + dot(", "sum - dot("};
    static const char *const behind[] = {", sum)", ", sum)", ", sum)", ", sum)", ") * 0.5", ")"};
    const int carried = scale ? 4 : random_aside(g, "carried", 0, 6);
    random_write(g, "%s", before[carried]);
    operand(g, bytes ? cast : NULL, "A", "m", "along", at);
    random_write(g, ", ");
    operand(g, NULL, "B", "along", "n", !bt);
    random_write(g, "%s\n    end\n", scale ? scale : behind[carried]);
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
        operand(g, NULL, "B", "along", "n", !bt);
        random_write(g, ", sum)\n    end)\n");
    }
    g->index = "n";
    g->row_index = "m";
    g->place = "N";
    random_dots_epilogue(d, &b, "sum", (const char *const[3]){"load(t.bias, n)", "t.along", "load(t.C, m, n)"});
    random_write(g, turned ? "    store(t.D, n, m, v:t())\n" : "    store(t.D, m, n, v)\n");
    if (two)
        random_write(g, "    store(t.F, m, n, %s)\n", random_chance(g, 50) ? "sum * 0.5" : "v");
    if (three)
        random_write(g, "    store%s(t.G, m, n, exp2(min(sum, 2)))\n", random_aside(g, "adds", 0, 2) ? "_add" : "");
    write_sizes(d, multiple, turned);
    random_write(g, " },\n}\n");
    random_dots_write_others(d);
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
    if (h->blocks == 1 && d->width <= 32 && random_rare(g, "three steps along k", 8)) { /* of a wide part */
        d->depth = 48;
        d->tile = 64;
    }
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

/* What a chain has been drawn to be. */
struct chain {
    bool online, lse;                 /* a softmax with running largest and sum; their logarithm as an output */
    bool nested, second;              /* a loop around the loop; one behind it */
    bool masked, causal, range, mask; /* what counts: in any way, by the diagonal, by the loop's end, by the column */
    bool ends, until, reach;          /* by lengths that data say: of loads, of scores, of a row's scores */
    bool under;                       /* by a column that is less than the row */
    bool swizzle, batch, two;
    struct beside b;
};

static void draw_chain(struct dots *d, struct chain *c)
{
    struct random_spec *g = d->g;
    c->online = random_option(g, "online", 60);
    c->lse = c->online && random_option(g, "lse", 40);
    c->nested = random_option(g, "loop.nested", 15);
    c->second = random_option(g, "loops", 15);
    c->masked = random_option(g, "mask", 60);
    c->causal = c->masked && random_option(g, "causal", 50);
    c->range = c->causal && random_option(g, "range.causal", 60);
    c->mask = c->masked && random_option(g, "mask.loop", c->causal ? 20 : 60);
    c->swizzle = random_option(g, "swizzle", 15);
    c->batch = random_option(g, "batch", 40);
    c->two = random_option(g, "outputs", 20);
    c->ends = !c->range && !c->second && random_option(g, "range.length", 20);
    c->until = c->masked && random_option(g, "mask.data", 20);
    c->reach = c->masked && random_option(g, "mask.reach", 20);
    c->b = random_dots_beside(d);
    random_dots_how(d, 0);
    chain_tiles(d);
    if (c->ends) { /* what lies behind a limit is summed up: rows of 128 bytes come in parts */
        d->width = 64;
        d->tile = d->how[0].blocks == 2 ? 32 : d->tile;
    }
    random_dots_others(d);
    random_dots_turns(d, c->ends || c->until);
}

static void write_chain_tensors(struct dots *d, const struct chain *c)
{
    struct random_spec *g = d->g;
    random_write(g,
                 "local B, R, S = dims \"B R S\"\n\nlocal p = kernel \"p\" {\n"
                 "  axes = \"b q s d e\", tile = { q = %d, s = %d }, grid = { b = B, q = R }, arch = { sm_90a = {}, "
                 "sm_80 = {} },\n",
                 d->m, d->tile);
    random_dots_write_how(d, 0);
    random_write(g, "  Q = tensor { B, R, %d, dtype = \"%s\", axes = \"b q d\" },\n", d->depth, d->dtype);
    random_dots_swizzled(d, c->swizzle, 2 * d->depth, "K = tensor { B, S, %d, dtype = \"%s\", axes = \"b s d\"",
                         d->depth, d->dtype);
    random_write(g, "  V = tensor { B, S, %d, dtype = \"%s\", axes = \"b s e\" },\n", d->width, d->dtype);
    random_write(g, "  O = tensor { B, R, %d, dtype = \"%s\", axes = \"b q e\", out = true },\n", d->width, d->out);
    if (c->two)
        random_write(g, "  F = tensor { B, R, %d, dtype = \"fp32\", axes = \"b q e\", out = true },\n", d->width);
    if (c->second)
        random_write(g, "  P = tensor { B, R, S, dtype = \"%s\", axes = \"b q s\" },\n", d->dtype);
    if (c->reach)
        random_write(g, "  reach = tensor { B, R, dtype = \"int32\", axes = \"b q\", fill = \"integers 0 %d\" },\n",
                     2 * d->turns[d->runs - 1] * d->tile); /* some row of a tile's makes all turns of the last size */
    if (c->ends || c->until) /* three of four make all turns of the last size, in which rings wrap */
        random_write(g, "  length = tensor { B, dtype = \"int32\", fill = \"integers 0 %d\" },\n",
                     4 * d->turns[d->runs - 1] * d->tile);
    if (c->lse)
        random_write(g, "  lse = tensor { B, R, dtype = \"fp32\", axes = \"b q\", out = true },\n");
    if (c->b.columns)
        random_write(g, "  bias = tensor { %d, dtype = \"%s\", axes = \"e\" },\n", d->width, d->dtype);
    if (c->b.rows)
        random_write(g, "  along = tensor { B, R, dtype = \"fp32\", axes = \"b q\" },\n");
    if (c->b.tile)
        random_write(g, "  C = tensor { B, R, %d, dtype = \"%s\", axes = \"b q e\" },\n", d->width, d->dtype);
    if (c->b.scalar)
        random_write(g, "  scale = scalar(\"fp32\", 0.75),\n");
}

/* The loop of scores and sums. */
static void write_chain_loop(struct dots *d, const struct chain *c)
{
    struct random_spec *g = d->g;
    const char *last = c->range ? "min(S, at.q + tile.q + (S - R))" : c->ends ? "min(t.length[at.b], S)" : "S";
    open_loop(g, "s", last, c->online ? "zeros(), rows(-inf), rows(0)" : "zeros()", c->online ? "o, most, sum" : "o",
              c->nested);
    random_write(g, "      local here_s = span(s, tile.s%s)\n", c->ends ? ", t.length[at.b]" : "");
    random_write(g, "      local k, v = load(t.K, at.b, here_s, all), load(t.V, at.b, here_s, all)\n");
    random_write(g, "      local x = dot(held, k:t()):as \"x\" * %.3f\n", 1.0 / (double)d->depth);
    g->terms = 0;
    g->index = "s";
    g->row_index = "q";
    g->place = "S";
    random_term(g, true, "x");
    random_term(g, false, "0.5");
    if (!c->online || random_chance(g, 30)) {
        random_write(g, "      x = ");
        size_t from = g->length - 1;
        g->diagonal = c->causal || c->reach;
        random_value(g, 2);
        g->diagonal = false;
        random_use(g, from, "x", "");
        random_write(g, "\n");
    }
    if (c->causal)
        random_write(g, "      x = where(le(index().s, index().q + (S - R)), x, %s)\n", c->online ? "-inf" : "0");
    if (c->reach)
        random_write(g, "      x = where(lt(index().s, t.reach[index().b][index().q]), x, %s)\n",
                     c->online ? "-inf" : "0");
    if (c->until)
        random_write(g, "      x = where(lt(index().s, t.length[at.b]), x, %s)\n", c->online ? "-inf" : "0");
    if (c->mask)
        random_write(g, "      x = where(ne(index().s %% 3, 1), x, %s)\n", c->online ? "-inf" : "0");
    if (c->online)
        random_write(g,
                     "      local m = max(%s)\n"
                     "      local p, r = exp2_diff(x, m), exp2_diff(most, m)\n"
                     "      return dot(cast(p, \"%s\"), v, o * r):as \"o\", m, sum * r + row_sum(p)\n",
                     random_chance(g, 70) ? "most, row_max(x)" : "row_max(x), most", d->dtype);
    else
        random_write(g, "      return dot(cast(x, \"%s\"), v, o%s):as \"o\"\n", d->dtype,
                     random_chance(g, 30) && !random_dots_any_down(d) && !random_dots_any_smaller(d) ? " * 0.5" : "");
    random_write(g, c->nested ? "    end) end)\n" : "    end)\n");
}

/* What is made of the sums, and stored. */
static void write_chain_results(struct dots *d, const struct chain *c)
{
    struct random_spec *g = d->g;
    const char *result = c->online ? "ratio(o, sum, 0)" : "o";
    if (c->lse)
        random_write(g, "    store(t.lse, at.b, here, max(most + log2(sum), -1000))\n");
    if (c->second) {
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
    random_dots_epilogue(
        d, &c->b, result,
        (const char *const[3]){"load(t.bias, all)", "load(t.along, at.b, here):t()", "load(t.C, at.b, here, all)"});
    random_write(g, "    store(t.O, at.b, here, all, v)\n");
    if (c->two)
        random_write(g, "    store(t.F, at.b, here, all, %s)\n", random_chance(g, 50) ? "sum * 0.5" : "v");
}

static void write_chain_runs(struct dots *d, const struct chain *c)
{
    struct random_spec *g = d->g;
    random_write(g, "  end,\n  run = {");
    for (int i = 0; i < d->runs; i++) {
        bool wraps = i == d->runs - 1;
        int extent = random_dots_looped(d, i), blocks = random_dots_blocks(d, false);
        int tiles = c->under ? random_dots_tiles_under(d, extent) : blocks;
        /* More queries than keys: items without a turn between others. */
        int rows = wraps ? random_dots_extent(d, i, tiles, d->m) : 1 + random_below(g, d->m + 40);
        if (!wraps && c->range && random_chance(g, 50))
            rows = d->m + extent + 1 + random_below(g, 40);
        /* ITEMS that have turns: of each batch's but the first, which the diagonal may leave none. Where lengths say
         * how many turns, it is unlikely that none of the batches has all. */
        int items = tiles / blocks > 2 ? tiles / blocks - 1 : 1;
        int batches = c->ends || c->until ? ITEMS + 2 : (ITEMS + items - 1) / items;
        random_write(g, "%s{ B = %d, R = %d, S = %d }", i ? ", " : " ",
                     wraps      ? batches
                     : c->batch ? 2
                                : 1,
                     rows, extent);
    }
    random_write(g, " },\n}\n");
}

/* dot, arithmetic, dot into what is carried: with a running maximum or without. */
static void chain(struct dots *d)
{
    struct chain c;
    draw_chain(d, &c);
    write_chain_tensors(d, &c);
    random_write(d->g, "  program = function(t, at, tile)\n    local here = span(at.q, tile.q)\n"
                       "    local held = load(t.Q, at.b, here, all):as \"held\"\n");
    write_chain_loop(d, &c);
    c.under = d->g->under;
    write_chain_results(d, &c);
    write_chain_runs(d, &c);
    random_dots_write_others(d);
}

static void hidden_tensors(struct dots *d, const struct beside *b)
{
    struct random_spec *g = d->g;
    random_write(g, "  X = tensor { M, %d, dtype = \"%s\", axes = \"m k\" },\n", d->depth, d->dtype);
    random_dots_swizzled(d, random_has(g, "swizzle"), 2 * d->depth,
                         "W = tensor { H, %d, dtype = \"%s\", axes = \"h k\"", d->depth, d->dtype);
    random_write(g, "  U = tensor { H, %d, dtype = \"%s\", axes = \"h e\" },\n", d->width, d->dtype);
    random_write(g, "  Y = tensor { M, %d, dtype = \"%s\", axes = \"m e\", out = true },\n", d->width, d->out);
    if (random_has(g, "outputs"))
        random_write(g, "  F = tensor { M, %d, dtype = \"fp32\", axes = \"m e\", out = true },\n", d->width);
    if (random_has(g, "dot.third"))
        random_write(g, "  T = tensor { %d, %d, dtype = \"%s\" },\n", d->width, d->width, d->dtype);
    if (random_has(g, "dot.outside"))
        random_write(g,
                     "  G = tensor { M, %d, dtype = \"%s\", axes = \"m k\" },\n"
                     "  Z = tensor { %d, %d, dtype = \"%s\", axes = \"e k\" },\n",
                     d->depth, d->dtype, d->width, d->depth, d->dtype);
    if (random_has(g, "loops"))
        random_write(g, "  E = tensor { M, H, dtype = \"%s\", axes = \"m h\" },\n", d->dtype);
    if (random_has(g, "row_sum"))
        random_write(g, "  S = tensor { M, dtype = \"fp32\", axes = \"m\", out = true },\n");
    if (b->columns)
        random_write(g, "  bias = tensor { %d, dtype = \"%s\", axes = \"e\" },\n", d->width, d->dtype);
    if (b->rows)
        random_write(g, "  along = tensor { M, dtype = \"fp32\", axes = \"m\" },\n");
    if (b->tile)
        random_write(g, "  C = tensor { M, %d, dtype = \"%s\", axes = \"m e\" },\n", d->width, d->dtype);
    if (b->scalar)
        random_write(g, "  scale = scalar(\"fp32\", 0.75),\n");
}

/* A hidden layer that is never in memory, or a product whose rows are summed. */
static void hidden(struct dots *d)
{
    struct random_spec *g = d->g;
    bool reduced = random_option(g, "row_sum", 40), nested = random_option(g, "loop.nested", 15);
    bool second = random_option(g, "loops", 15);
    random_option(g, "swizzle", 15);
    bool two = random_option(g, "outputs", 20), mask;
    bool source = reduced && random_option(g, "row_sum.source", 40), alone = random_option(g, "dot.outside", 20);
    bool third = random_option(g, "dot.third", 15);
    if (random_chance(g, 30) || random_wants(g, "mask"))
        random_feature(g, "mask");
    mask = random_has(g, "mask") && random_option(g, "mask.loop", 60);
    struct beside b = random_dots_beside(d);
    random_dots_how(d, 0);
    chain_tiles(d);
    if ((alone || third) && d->width < 32)
        d->width = 32; /* its rows by four blocks */
    random_dots_others(d);
    random_dots_turns(d, false);
    random_write(
        g,
        "local M, H = dims \"M H\"\n\nlocal p = kernel \"p\" {\n"
        "  axes = \"m k h e\", tile = { m = %d, h = %d }, grid = { m = M }, arch = { sm_90a = {}, sm_80 = {} },\n",
        d->m, d->tile);
    random_dots_write_how(d, 0);
    hidden_tensors(d, &b);
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
    bool under = g->under;
    if (mask)
        random_write(g, "      z = where(ne(index().h %% 3, 1), z, 0)\n");
    if (third)
        random_write(g,
                     "      local u = dot(cast(z, \"%s\"), load(t.U, span(h, tile.h), all)):as \"o\" * 0.125\n"
                     "      return dot(cast(u, \"%s\"), load(t.T, all, all), y)",
                     d->dtype, d->dtype);
    else
        random_write(g, "      return dot(cast(z, \"%s\"), load(t.U, span(h, tile.h), all), y):as \"o\"", d->dtype);
    random_write(g, "%s\n%s",
                 source    ? ", s + row_sum(z) + row_sum(v) * 0.25"
                 : reduced ? ", s + row_sum(z)"
                           : "",
                 nested ? "    end) end)\n" : "    end)\n");
    if (second)
        random_write(g, "    y = loop(\"h2\", range(0, H, tile.h), { y }, function(h, y)\n"
                        "      return dot(load(t.E, here, span(h, tile.h)), load(t.U, span(h, tile.h), all), y)\n"
                        "    end)\n");
    if (alone)
        random_write(g, "    y = dot(load(t.G, here, all), load(t.Z, all, all):t(), y)\n");
    g->index = "e";
    g->place = "8";
    random_dots_epilogue(d, &b, "y", (const char *const[3]){"load(t.bias, all)", "t.along", "load(t.C, here, all)"});
    random_write(g, "    store(t.Y, here, all, v)\n");
    if (two)
        random_write(g, "    store(t.F, here, all, %s)\n", random_chance(g, 50) ? "sum * 0.5" : "v");
    if (reduced)
        random_write(g, "    store(t.S, here, s)\n");
    random_write(g, "  end,\n  run = {");
    for (int i = 0; i < d->runs; i++) {
        int extent = random_dots_looped(d, i), tiles = ITEMS * random_dots_blocks(d, false);
        if (under && random_dots_tiles_under(d, extent) > tiles)
            tiles = random_dots_tiles_under(d, extent);
        int rows = i == d->runs - 1 ? random_dots_extent(d, i, tiles, d->m) : 1 + random_below(g, 2 * d->m);
        random_write(g, "%s{ M = %d, H = %d }", i ? ", " : " ", rows, extent);
    }
    random_write(g, " },\n}\n");
    random_dots_write_others(d);
}

void random_dots(struct random_spec *g)
{
    static const char *const types[] = {"dot.bf16", "dot.fp16"};
    struct dots d = {.g = g};
    random_feature(g, g->family == 'P'   ? "product"
                      : g->family == 'G' ? "groups"
                      : g->family == 'H' ? "chain"
                                         : "hidden");
    d.dtype = random_choose(g, types, 2) ? "fp16" : "bf16";
    d.out = random_option(g, "out.fp32", 30) ? "fp32" : d.dtype;
    if (g->family == 'P')
        product(&d);
    else if (g->family == 'G')
        random_groups(&d);
    else if (g->family == 'H')
        chain(&d);
    else
        hidden(&d);
}
