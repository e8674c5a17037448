/* Programs with dots: products however operands lie, with what follows the sum; chains of dots over a loop, in the way
 * of attention and of a hidden layer; loops behind each other and in each other. For sm_90a. */
#include "random_spec.h"

static const char *const halves[] = {"bf16", "fp16"};

struct dots {
    struct random_spec *g;
    const char *dtype;
    int m, n, k, stages, consumers;
};

static void how(struct dots *d, bool first)
{
    struct random_spec *g = d->g;
    static const char *const order[] = {"grouped", "row", "column"};
    if (!first || random_chance(g, 60)) {
        d->stages = random_chance(g, 15) ? 1 : 2 + random_below(g, 4);
        random_feature(g, d->stages == 1 ? "stages.1" : "stages");
        random_write(g, "  pipeline = { stages = %d", d->stages);
        if (random_chance(g, 50)) {
            random_feature(g, "consumers");
            random_write(g, ", consumers = %d", d->m / 64 ? 1 + random_below(g, d->m / 64 > 3 ? 3 : d->m / 64) : 1);
        }
        random_write(g, " },\n");
    }
    if (random_chance(g, 40)) {
        const char *name = order[random_below(g, 3)];
        bool persistent = random_chance(g, 50);
        random_feature(g, "order");
        random_feature(g, persistent ? "persistent" : "blocks");
        random_write(g, "  schedule = { order = \"%s\", group = %d, persistent = %s },\n", name, 1 + random_below(g, 4),
                     persistent ? "true" : "false");
    }
}

static void cluster(struct dots *d)
{
    struct random_spec *g = d->g;
    static const int of[][2] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}};
    int i = random_below(g, 5);
    if (i)
        random_feature(g, "cluster");
    random_write(g, "  cluster = { m = %d, n = %d },\n", of[i][0], of[i][1]);
}

/* Turns of K's loop by the ring: none, one, one less than it has stages, as many, one more, many. */
static int turns(struct dots *d, int which)
{
    static const char *const name[] = {"turns.0",      "turns.1",        "turns.stages-1",
                                       "turns.stages", "turns.stages+1", "turns.many"};
    const int of[] = {0, 1, d->stages - 1, d->stages, d->stages + 1, 2 * d->stages + 3};
    random_feature(d->g, name[which]);
    return of[which];
}

static int extent_of(struct dots *d, int count, int tile, int step)
{
    int extent = count * tile;
    if (extent > 0 && random_chance(d->g, 50)) {
        random_feature(d->g, "ragged");
        extent -= random_chance(d->g, 60) ? step : random_below(d->g, tile);
    }
    return extent;
}

static const char *operand(struct random_spec *g, const char *tensor, const char *rows, const char *columns,
                           bool turned)
{
    static char text[2][160];
    static int at;
    (void)g;
    at = !at;
    if (turned)
        snprintf(text[at], sizeof text[at], "load(t.%s, %s, %s):t()", tensor, columns, rows);
    else
        snprintf(text[at], sizeof text[at], "load(t.%s, %s, %s)", tensor, rows, columns);
    return text[at];
}

/* One product, or two loops behind each other, or a loop in a loop, and what follows. */
static void product(struct dots *d)
{
    struct random_spec *g = d->g;
    static const int ms[] = {64, 128, 192}, ns[] = {16, 32, 64, 96, 128}, ks[] = {16, 32, 64};
    d->m = ms[random_below(g, 3)];
    d->n = ns[random_below(g, 5)];
    d->k = ks[random_below(g, 3)];
    bool at = random_chance(g, 30), bt = random_chance(g, 40), nested = random_chance(g, 20);
    bool second = !nested && random_chance(g, 25), limit = random_chance(g, 15);
    bool bias = random_chance(g, 40), c = random_chance(g, 30), row = random_chance(g, 20), two = random_chance(g, 25);
    const char *out = random_chance(g, 70) ? d->dtype : "fp32";
    random_feature(g, "product");
    if (at)
        random_feature(g, "a.turned");
    if (bt)
        random_feature(g, "b.turned");
    random_feature(g, d->dtype);
    random_write(
        g,
        "local M, N, K = dims \"M N K\"\n\nlocal p = kernel \"p\" {\n"
        "  axes = \"m n k\", tile = { m = %d, n = %d, k = %d }, grid = { m = M, n = N }, arch = { sm_90a = {} },\n",
        d->m, d->n, d->k);
    how(d, true);
    if (random_chance(g, 50))
        cluster(d);
    random_write(g, "  A = tensor { %s, dtype = \"%s\", axes = \"%s\" },\n", at ? "K, M" : "M, K", d->dtype,
                 at ? "k m" : "m k");
    random_write(g, "  B = tensor { %s, dtype = \"%s\", axes = \"%s\" },\n", bt ? "K, N" : "N, K", d->dtype,
                 bt ? "k n" : "n k");
    random_write(g, "  D = tensor { M, N, dtype = \"%s\", axes = \"m n\", out = true },\n", out);
    if (second)
        random_write(g, "  E = tensor { M, K, dtype = \"%s\", axes = \"m k\" },\n", d->dtype);
    if (bias)
        random_write(g, "  bias = tensor { N, dtype = \"%s\", axes = \"n\" },\n", d->dtype);
    if (row)
        random_write(g, "  along = tensor { M, dtype = \"fp32\", axes = \"m\" },\n");
    if (c)
        random_write(g, "  C = tensor { M, N, dtype = \"%s\", axes = \"m n\" },\n", d->dtype);
    if (two)
        random_write(g, "  F = tensor { M, N, dtype = \"%s\", axes = \"m n\", out = true },\n",
                     random_chance(g, 50) ? "fp32" : d->dtype);
    random_write(g, "  program = function(t, at, tile)\n    local m, n = span(at.m, tile.m), span(at.n, tile.n)\n");
    random_write(g, "    local function turn(k, sum)\n");
    if (limit) {
        random_feature(g, "limit");
        random_write(g, "      local along = span(k, tile.k, K - 5)\n");
    } else {
        random_write(g, "      local along = span(k, tile.k)\n");
    }
    random_write(g, "      return dot(%s, ", operand(g, "A", "m", "along", at));
    random_write(g, "%s, sum)\n    end\n", operand(g, "B", "along", "n", !bt));
    if (nested) {
        random_feature(g, "loop.nested");
        random_write(
            g, "    local sum = loop(\"o\", range(0, K, 2 * tile.k), { zeros() }, function(o, sum)\n"
               "      return loop(\"i\", range(o, min(o + 2 * tile.k, K), tile.k), { sum * 1.0 }, turn)\n    end)\n");
    } else {
        bool from = c && random_chance(g, 50);
        if (from)
            random_feature(g, "first.tile");
        random_write(g, "    local sum = loop(\"k\", range(0, K, tile.k), { %s }, turn)\n",
                     from ? "load(t.C, m, n) * 0.5" : "zeros()");
    }
    if (second) {
        random_feature(g, "loops");
        random_write(g,
                     "    sum = loop(\"k2\", range(0, K, tile.k), { sum }, function(k, sum)\n"
                     "      local along = span(k, tile.k)\n      return dot(load(t.E, m, along), %s, sum)\n    end)\n",
                     operand(g, "B", "along", "n", !bt));
    }
    g->terms = 0;
    g->index = "n";
    g->row_index = "m";
    g->place = "N";
    random_term(g, true, "sum");
    random_term(g, false, "0.5");
    random_term(g, false, "2");
    if (bias)
        random_write(g, "    local bias = load(t.bias, n)\n");
    if (bias)
        random_term(g, false, "bias");
    if (row)
        random_term(g, false, "t.along");
    if (c)
        random_write(g, "    local c = load(t.C, m, n)\n");
    if (c)
        random_term(g, true, "c");
    if (random_chance(g, 50)) {
        random_feature(g, "epilogue");
        random_write(g, "    local v = ");
        size_t from = g->length - 1;
        random_value(g, 3);
        random_use(g, from, "sum", "");
    } else {
        random_write(g, "    local v = sum");
    }
    random_write(g, "%s%s%s\n", bias ? " + bias" : "", row ? " + t.along" : "", c ? " + c" : "");
    random_write(g, "    store(t.D, m, n, v)\n");
    if (two) {
        random_feature(g, "outputs");
        random_write(g, "    store(t.F, m, n, sum * 0.5)\n");
    }
    random_write(g, "  end,\n  run = {");
    for (int i = 0; i < 2; i++) {
        int extent = extent_of(d, turns(d, i ? 2 + random_below(g, 4) : random_below(g, 3)), d->k, 8);
        random_write(g, "%s{ M = %d, N = %d, K = %d }", i ? ", " : " ", 1 + random_below(g, 2 * d->m),
                     random_chance(g, 60) ? 8 * (1 + random_below(g, d->n / 4)) : 1 + random_below(g, 2 * d->n),
                     extent);
    }
    random_write(g, " },\n}\n");
    random_write(g, "kernel \"p_how1\" { like = p,\n");
    how(d, false);
    cluster(d);
    random_write(g, "}\n");
}

/* dot, arithmetic, dot into what is carried: with a running maximum or without, ahead, in turns. */
static void chain(struct dots *d)
{
    struct random_spec *g = d->g;
    static const int ss[] = {16, 32, 64}, ds[] = {16, 32, 64};
    int depth = ds[random_below(g, 3)], width = ds[random_below(g, 3)], tile = ss[random_below(g, 3)];
    bool online = random_chance(g, 60), causal = random_chance(g, 35), lse = online && random_chance(g, 40);
    bool mask = !causal && random_chance(g, 30), ahead = random_chance(g, 50);
    d->m = random_chance(g, 70) ? 128 : 64;
    random_feature(g, "chain");
    random_feature(g, d->dtype);
    if (online)
        random_feature(g, "online");
    if (causal)
        random_feature(g, "causal");
    random_write(
        g,
        "local B, R, S = dims \"B R S\"\n\nlocal p = kernel \"p\" {\n"
        "  axes = \"b q s d e\", tile = { q = %d, s = %d }, grid = { b = B, q = R }, arch = { sm_90a = {} },\n",
        d->m, tile);
    how(d, true);
    random_write(g, "  Q = tensor { B, R, %d, dtype = \"%s\", axes = \"b q d\" },\n", depth, d->dtype);
    random_write(g, "  K = tensor { B, S, %d, dtype = \"%s\", axes = \"b s d\" },\n", depth, d->dtype);
    random_write(g, "  V = tensor { B, S, %d, dtype = \"%s\", axes = \"b s e\" },\n", width, d->dtype);
    random_write(g, "  O = tensor { B, R, %d, dtype = \"%s\", axes = \"b q e\", out = true },\n", width, d->dtype);
    if (lse)
        random_write(g, "  lse = tensor { B, R, dtype = \"fp32\", axes = \"b q\", out = true },\n");
    random_write(g, "  program = function(t, at, tile)\n    local q = load(t.Q, at.b, span(at.q, tile.q), all)\n");
    const char *last = causal && random_chance(g, 60) ? "min(S, at.q + tile.q + (S - R))" : "S";
    random_write(g, "    local o%s = loop(\"s\", range(0, %s, tile.s), { zeros()%s }, function(s, o%s)\n",
                 online ? ", most, sum" : "", last, online ? ", rows(-inf), rows(0)" : "", online ? ", most, sum" : "");
    random_write(g,
                 "      local k, v = load(t.K, at.b, span(s, tile.s), all), load(t.V, at.b, span(s, tile.s), all)\n");
    random_write(g, "      local x = dot(q, k:t()):as \"x\" * %.3f\n", 1.0 / (double)depth);
    const char *visible = causal ? "le(index().s, index().q + (S - R))" : "ne(index().s % 3, 1)";
    if (causal || mask) {
        random_feature(g, "mask");
        random_write(g, "      x = where(%s, x, %s)\n", visible, online ? "-inf" : "0");
    }
    if (online) {
        random_write(g,
                     "      local m = max(most, row_max(x))\n"
                     "      local p, r = exp2_diff(x, m), exp2_diff(most, m)\n"
                     "      return dot(cast(p, \"%s\"), v, o * r):as \"o\", m, sum * r + row_sum(p)\n",
                     d->dtype);
    } else {
        g->terms = 0;
        g->index = "s";
        g->row_index = "q";
        g->place = "S";
        random_term(g, true, "x");
        random_term(g, false, "0.5");
        random_write(g, "      local p = ");
        size_t from = g->length - 1;
        random_value(g, 2);
        random_use(g, from, "x", "");
        random_write(g, "\n      return dot(cast(p, \"%s\"), v, o%s):as \"o\"\n", d->dtype,
                     random_chance(g, 30) ? " * 0.5" : "");
    }
    random_write(g, "    end)\n");
    random_write(g, "    store(t.O, at.b, span(at.q, tile.q), all, %s)\n", online ? "ratio(o, sum, 0)" : "o");
    if (lse) {
        random_feature(g, "lse");
        random_write(g, "    store(t.lse, at.b, span(at.q, tile.q), max(most + log2(sum), -1000))\n");
    }
    random_write(g, "  end,\n  run = {");
    for (int i = 0; i < 2; i++) {
        int extent = extent_of(d, turns(d, i ? 2 + random_below(g, 4) : random_below(g, 3)), tile, 8);
        /* More queries than keys: items without a turn between others. */
        bool many = causal && random_chance(g, 50);
        int rows = many ? d->m + extent + 1 + random_below(g, 40) : 1 + random_below(g, d->m + 40);
        if (many)
            random_feature(g, "turns.some");
        random_write(g, "%s{ B = %d, R = %d, S = %d }", i ? ", " : " ", 1 + random_below(g, 2), rows, extent);
    }
    random_write(g, " },\n}\nlocal q = kernel \"p_how1\" { like = p,\n");
    if (ahead) {
        random_feature(g, "ahead");
        random_write(g, "  ahead = { x = { turns = 1, before = \"o\" } },\n");
    }
    how(d, false);
    random_write(g, "}\n");
    if (ahead && d->m == 128) {
        random_feature(g, "turns");
        random_write(g, "kernel \"p_how2\" { like = q, pipeline = { turns = true, consumers = 2 } }\n");
    }
}

/* A hidden layer that is never in memory, or a product whose rows are summed. */
static void hidden(struct dots *d)
{
    struct random_spec *g = d->g;
    static const int hs[] = {16, 32, 64}, ds[] = {16, 32, 64};
    int depth = ds[random_below(g, 3)], width = ds[random_below(g, 3)], tile = hs[random_below(g, 3)];
    bool reduced = random_chance(g, 40);
    d->m = random_chance(g, 50) ? 128 : 64;
    random_feature(g, "hidden");
    random_write(g,
                 "local M, H = dims \"M H\"\n\nlocal p = kernel \"p\" {\n"
                 "  axes = \"m k h e\", tile = { m = %d, h = %d }, grid = { m = M }, arch = { sm_90a = {} },\n",
                 d->m, tile);
    how(d, true);
    random_write(g,
                 "  X = tensor { M, %d, dtype = \"%s\", axes = \"m k\" }, W = tensor { H, %d, dtype = \"%s\", "
                 "axes = \"h k\" },\n",
                 depth, d->dtype, depth, d->dtype);
    random_write(g, "  U = tensor { H, %d, dtype = \"%s\", axes = \"h e\" },\n", width, d->dtype);
    random_write(g, "  Y = tensor { M, %d, dtype = \"%s\", axes = \"m e\", out = true },\n", width, d->dtype);
    if (reduced)
        random_write(g, "  S = tensor { M, dtype = \"fp32\", axes = \"m\", out = true },\n");
    random_write(g, "  program = function(t, at, tile)\n    local x = load(t.X, span(at.m, tile.m), all)\n");
    random_write(g, "    local y%s = loop(\"h\", range(0, H, tile.h), { zeros()%s }, function(h, y%s)\n",
                 reduced ? ", s" : "", reduced ? ", rows(0)" : "", reduced ? ", s" : "");
    random_write(g, "      local v = dot(x, load(t.W, span(h, tile.h), all):t()):as \"v\"\n      local z = ");
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
    random_write(g, "\n      return dot(cast(z, \"%s\"), load(t.U, span(h, tile.h), all), y):as \"y\"%s\n    end)\n",
                 d->dtype, reduced ? ", s + row_sum(z)" : "");
    random_write(g, "    store(t.Y, span(at.m, tile.m), all, y)\n");
    if (reduced) {
        random_feature(g, "row_sum");
        random_write(g, "    store(t.S, span(at.m, tile.m), s)\n");
    }
    random_write(g, "  end,\n  run = {");
    for (int i = 0; i < 2; i++) {
        int extent = extent_of(d, turns(d, i ? 2 + random_below(g, 4) : random_below(g, 3)), tile, 8);
        random_write(g, "%s{ M = %d, H = %d }", i ? ", " : " ", 1 + random_below(g, 2 * d->m), extent);
    }
    random_write(g, " },\n}\nkernel \"p_how1\" { like = p,\n");
    how(d, false);
    random_write(g, "}\n");
}

void random_dots(struct random_spec *g)
{
    struct dots d = {.g = g, .dtype = halves[random_below(g, 2)], .stages = 4};
    int kind = random_below(g, 10);
    if (kind < 5)
        product(&d);
    else if (kind < 8)
        chain(&d);
    else
        hidden(&d);
}
