/* Programs without dots: sums and extremes along rows and columns, tiles that are carried, gathers, transpositions,
 * additions to tensors, on any architecture. */
#include <string.h>

#include "random_spec.h"

static const int row_tiles[] = {1, 2, 4, 8, 16}, column_tiles[] = {8, 16, 24, 32, 64, 128};
static const char *const floats[] = {"bf16", "fp16", "fp32"};

struct rows {
    struct random_spec *g;
    int tile_r, tile_c;
    int loops;
    bool weights, bias, ids, scalar;
    bool weighed; /* the weights were read */
    bool weigh;   /* this turn is the first that reads them */
    size_t value; /* where the value in hand begins */
    bool looked;  /* this turn gathers */
};

static const char *dtype(struct random_spec *g)
{
    int chosen = random_below(g, 3);
    for (int i = 0; i < 3; i++) /* what is wanted and not there yet first */
        if (random_wants(g, floats[i]) && !random_has(g, floats[i]))
            chosen = i;
    random_feature(g, floats[chosen]);
    return floats[chosen];
}

/* What a turn has at column c: its terms, with statements of its own before. */
static void part(struct rows *r)
{
    struct random_spec *g = r->g;
    g->terms = 0;
    int apart = random_option(g, "shifted", 15) ? 1 + random_below(g, 16) : 0;
    bool weights = r->weights && (!apart || (random_wants(g, "weights") && !r->weighed));
    random_write(g, "      local x = part(c + %d)\n", apart);
    random_term(g, true, "x");
    r->looked = r->ids && (!apart || !random_has(g, "gather")) &&
                random_option(g, "gather", random_has(g, "gather") ? 60 : 100);
    if (r->looked) {
        random_write(g, "      local from = gather(t.table, ids, span(c, tile.c))\n");
        random_term(g, true, "from");
    }
    if (weights)
        random_term(g, false, "load(t.w, span(c, tile.c))");
    r->weigh = weights && !r->weighed;
    if (apart && (weights || r->looked))
        g->index = NULL; /* of tiles at two places there is none, nor of what is made of them */
    if (r->bias)
        random_term(g, false, "bias");
    if (r->scalar)
        random_term(g, false, "t.scale");
    random_term(g, false, "%d", 1 + random_below(g, 4));
    random_term(g, false, "0.%d", 25 + 25 * random_below(g, 3));
}

/* A value of the turn's terms, which reads what the turn gathers. */
static void value(struct rows *r, int depth)
{
    size_t from = r->g->length;
    random_write(r->g, " ");
    random_value(r->g, depth);
    random_use(r->g, from, "x", "");
    if (r->looked)
        random_use(r->g, from, "from", " * 0.25");
    if (r->weigh)
        random_write(r->g, " + load(t.w, span(c, tile.c))");
    r->weighed = r->weighed || r->weigh;
    r->weigh = false;
    if (r->scalar)
        random_use(r->g, from, "t.scale", "");
}

/* The range of a loop over the columns; its turns are those of C, fewer, or none. */
static void columns(struct rows *r)
{
    struct random_spec *g = r->g;
    static const char *const word[] = {"range.late", "range.min", "range.fixed", NULL, NULL, NULL, NULL};
    int kind = random_below(g, 7);
    for (int i = 0; i < 3; i++)
        if (random_wants(g, word[i]) && !random_has(g, word[i]))
            kind = i;
    if (word[kind])
        random_feature(g, word[kind]);
    g->by_tile = g->by_tile || kind < 3;
    if (kind == 0)
        random_write(g, "range(tile.c, C, tile.c)");
    else if (kind == 1)
        random_write(g, "range(0, min(C, %d), tile.c)", r->tile_c * (1 + random_below(g, 3)));
    else if (kind == 2)
        random_write(g, "range(0, %d, tile.c)", 3 * r->tile_c);
    else
        random_write(g, "range(0, C, tile.c)");
}

static const char *const reductions[] = {"sum", "max", "min"};
static const char *const of_rows[] = {"row_sum", "row_max", "row_min"};

/* Wanted, and not there yet. */
static bool lacks(const struct random_spec *g, const char *word)
{
    return random_wants(g, word) && !random_has(g, word);
}

/* A loop that reduces rows: s1, s2, ... are what it leaves. */
static void reduce(struct rows *r)
{
    struct random_spec *g = r->g;
    int values = 1 + random_below(g, 3), kind[3], number = r->loops++;
    bool inner = random_chance(g, 25), online = random_chance(g, 15);
    if (lacks(g, "loop.nested") || lacks(g, "online"))
        inner = lacks(g, "loop.nested");
    else if (lacks(g, "loop.reduce") || lacks(g, "range.late") || lacks(g, "range.min") || lacks(g, "range.fixed"))
        inner = online = false;
    online = !inner && (online || lacks(g, "online"));
    if (online) {
        random_feature(g, "online");
        random_write(g,
                     "    local most%d, sum%d = loop(\"l%d\", range(0, C, tile.c), { rows(-inf), rows(0) }, "
                     "function(c, most, sum)\n",
                     number, number, number);
        part(r);
        random_write(g, "      local v =");
        value(r, 2);
        random_write(g, "\n      local m = max(most, row_max(v))\n"
                        "      return m, sum * exp2_diff(most, m) + row_sum(exp2_diff(v, m))\n    end)\n");
        random_write(g, "    local s%d = ratio(1, sum%d, 0) + most%d\n", number, number, number);
        return;
    }
    random_feature(g, inner ? "loop.nested" : "loop.reduce");
    if (!inner)
        for (int i = 0; i < 3; i++)
            values += lacks(g, of_rows[i]) && values < 3;
    random_write(g, "    local ");
    for (int i = 0; i < values; i++)
        random_write(g, "%ss%d_%d", i ? ", " : "", number, i);
    random_write(g, " = loop(\"l%d\", ", number);
    if (inner)
        random_write(g, "range(0, C, 2 * tile.c)");
    else
        columns(r);
    random_write(g, ", { ");
    for (int i = 0; i < values; i++) {
        kind[i] = random_below(g, 3);
        for (int k = 0; k < 3 && !inner; k++)
            if (lacks(g, of_rows[k]))
                kind[i] = k;
        if (!inner || kind[i] == 0)
            random_feature(g, of_rows[kind[i]]);
        random_write(g, "%srows(%s)", i ? ", " : "", kind[i] == 0 ? "0.0" : kind[i] == 1 ? "-inf" : "inf");
    }
    random_write(g, " }, function(%s", inner ? "o" : "c");
    for (int i = 0; i < values; i++)
        random_write(g, ", a%d", i);
    random_write(g, ")\n");
    if (inner) {
        random_write(g, "      return loop(\"i%d\", range(o, min(o + 2 * tile.c, C), tile.c), { ", number);
        for (int i = 0; i < values; i++)
            random_write(g, "%sa%d", i ? ", " : "", i);
        random_write(g, " }, function(c");
        for (int i = 0; i < values; i++)
            random_write(g, ", a%d", i);
        random_write(g, ")\n");
    }
    part(r);
    random_write(g, "      local v =");
    value(r, 2);
    random_write(g, "\n      return ");
    for (int i = 0; i < values; i++) {
        const char *name = reductions[kind[i]];
        if (kind[i] == 0)
            random_write(g, "%sa%d + row_sum(%s)", i ? ", " : "", i, i ? "v * 0.5" : "v");
        else
            random_write(g, "%s%s(a%d, row_%s(v))", i ? ", " : "", name, i, name);
    }
    random_write(g, "\n    end)%s\n", inner ? " end)" : "");
    /* Rows without an element leave infinities: taken away before anything is computed of them. */
    random_write(g, "    local s%d = ", number);
    for (int i = 0; i < values; i++)
        random_write(g, "%smax(min(s%d_%d, 100), -100)", i ? " + " : "", number, i);
    random_write(g, "\n");
}

static void write_rows(struct rows *r, bool two)
{
    struct random_spec *g = r->g;
    random_write(g, "    loop(\"w%d\", range(0, C, tile.c), {}, function(c)\n", r->loops);
    part(r);
    for (int i = 0; i < r->loops; i++)
        random_term(g, false, "s%d", i);
    random_write(g, "      store(t.y, span(at.r, tile.r), span(c, tile.c),");
    value(r, 3);
    random_write(g, ")\n");
    if (two) {
        random_write(g, "      store(t.z, span(at.r, tile.r), span(c, tile.c), ");
        random_value(g, 2);
        random_write(g, ")\n");
    }
    random_write(g, "    end)\n");
}

/* Items of whole rows: loops that reduce, then one that writes, or the reduced values alone. */
static void over_rows(struct rows *r)
{
    struct random_spec *g = r->g;
    int loops = 1 + random_below(g, 3), kinds = 0;
    bool two = random_option(g, "outputs", 20), writes = random_option(g, "loop.write", 70) || two;
    if (writes)
        random_feature(g, "loop.write");
    r->weights = random_option(g, "weights", 40);
    r->bias = random_option(g, "bias", 40);
    r->scalar = random_option(g, "scalar", 25);
    r->ids = random_chance(g, 25) || random_wants(g, "gather");
    g->index = "c";
    g->row_index = "r";
    kinds += random_wants(g, "loop.nested");
    kinds += random_wants(g, "online");
    kinds += random_wants(g, "loop.reduce");
    int ranges = random_wants(g, "range.late") + random_wants(g, "range.min") + random_wants(g, "range.fixed");
    kinds += ranges > 1 ? ranges - 1 : 0;
    loops = loops < kinds ? kinds : loops;
    if (random_wants(g, "loops") && loops < 2)
        loops = 2;
    if (loops > 1)
        random_feature(g, "loops");
    random_write(g, "  axes = \"r c\", tile = { r = %d, c = %d }, grid = { r = R },\n", r->tile_r, r->tile_c);
    random_write(g, "  x = tensor { R, C, dtype = \"%s\", axes = \"r c\" },\n", dtype(g));
    random_write(g, "  s = tensor { R, dtype = \"fp32\", axes = \"r\", out = true },\n");
    if (writes)
        random_write(g, "  y = tensor { R, C, dtype = \"%s\", axes = \"r c\", out = true },\n", dtype(g));
    if (two)
        random_write(g, "  z = tensor { R, C, dtype = \"%s\", axes = \"r c\", out = true },\n", dtype(g));
    size_t tensors = g->length;
    random_write(g, "  program = function(t, at, tile)\n");
    if (r->bias)
        random_write(g, "    local bias = load(t.b, span(at.r, tile.r)):t()\n");
    if (r->ids)
        random_write(g, "    local ids = load(t.ids, span(at.r, tile.r))\n");
    static const char *const limit[] = {"limit", "limit.item", NULL, NULL, NULL};
    static const char *const limit_of[] = {", C - 3", ", at.r + 20", "", "", ""};
    int limits_of = random_choose(g, limit, 5);
    const char *limits = limit_of[limits_of];
    g->by_tile = g->by_tile || limits_of == 1;
    random_write(g, "    local function part(c) return load(t.x, span(at.r, tile.r), span(c, tile.c%s)) end\n", limits);
    for (int i = 0; i < loops; i++)
        reduce(r);
    random_write(g, "    store(t.s, span(at.r, tile.r), s0");
    for (int i = 1; i < loops; i++)
        random_write(g, " + s%d", i);
    random_write(g, "%s)\n", r->bias ? " + bias" : "");
    if (writes)
        write_rows(r, two);
    random_write(g, "  end,\n");
    /* A tensor that nothing reads is an error: declare what was used. */
    char body[RANDOM_TEXT];
    memcpy(body, g->text + tensors, g->length - tensors + 1);
    g->length = tensors;
    if (strstr(body, "t.w,"))
        random_write(g, "  w = tensor { C, dtype = \"%s\", axes = \"c\" },\n", dtype(g));
    if (strstr(body, "t.b,"))
        random_write(g, "  b = tensor { R, dtype = \"fp32\", axes = \"r\" },\n");
    if (strstr(body, "t.ids,"))
        random_write(g, "  ids = tensor { R, dtype = \"int32\", fill = \"integers 0 6\", axes = \"r\" },\n");
    if (r->scalar)
        random_write(g, "  scale = scalar(\"fp32\", 0.75),\n");
    if (strstr(body, "t.table,"))
        random_write(g, "  table = tensor { 7, C, dtype = \"%s\" },\n", dtype(g));
    random_write(g, "%s", body);
}

/* What a kernel over tiles has been drawn to have. */
struct over_tiles {
    bool turned, add, total, look;       /* outputs: transposed, added to, sums of columns, by numbers */
    bool stencil, middle, along, scalar; /* what its values are made of */
    bool staged;
};

static void draw_over_tiles(struct random_spec *g, struct over_tiles *o)
{
    g->index = "c";
    g->row_index = "r";
    o->turned = random_option(g, "transpose", 30);
    o->add = random_option(g, "store_add", 25);
    o->total = random_option(g, "column_sum", 30);
    o->look = random_option(g, "scatter_add", 20);
    o->stencil = random_option(g, "stencil", 40);
    o->middle = random_option(g, "column_max", 30);
    o->along = random_option(g, "row_sum", 30);
    o->scalar = random_option(g, "scalar", 25);
    o->staged = random_option(g, "staged", 20);
    g->by_tile = o->middle || o->along || o->total; /* which are of an item's tile */
}

static void write_tensors_over_tiles(struct rows *r, const struct over_tiles *o)
{
    struct random_spec *g = r->g;
    random_write(g, "  axes = \"p r c\", tile = { r = %d, c = %d }, grid = { r = R, c = C },\n", r->tile_r, r->tile_c);
    random_write(g, "  x = tensor { P, R, C, dtype = \"%s\", axes = \"p r c\" },\n", dtype(g));
    const char *type = o->add ? "fp32" : dtype(g);
    if (o->turned) {
        random_write(g, "  y = tensor { C, R, dtype = \"%s\", axes = \"c r\", out = true },\n", type);
    } else {
        random_write(g, "  y = tensor { R, C, dtype = \"%s\", axes = \"r c\", out = true },\n", type);
    }
    if (o->total)
        random_write(g, "  total = tensor { C, dtype = \"fp32\", axes = \"c\", out = true },\n");
    if (o->scalar)
        random_write(g, "  scale = scalar(\"fp32\", 0.75),\n");
    if (o->look) {
        random_write(g, "  ids = tensor { R, dtype = \"int32\", fill = \"integers 0 6\", axes = \"r\" },\n");
        random_write(g, "  sums = tensor { 7, C, dtype = \"fp32\", out = true },\n");
    }
}

/* The sum over parts. */
static void write_loop_over_tiles(struct random_spec *g, const struct over_tiles *o)
{
    random_write(g, "  program = function(t, at, tile)\n");
    random_write(g, "    local function part(p, dr, dc)\n"
                    "      return load(t.x, p, span(at.r + dr, tile.r), span(at.c + dc, tile.c))\n    end\n");
    random_write(g, "    local acc = loop(\"p\", range(0, P), { zeros() }, function(p, acc)\n"
                    "      local x = part(p, 0, 0)\n");
    g->terms = 0;
    random_term(g, true, "x");
    random_term(g, true, "x");
    random_term(g, false, "0.5");
    if (o->stencil) {
        g->index = NULL; /* of tiles at two places there is none */
        int columns = random_below(g, 3) - 1, rows = random_below(g, 3) - 1;
        random_write(g, "      local beside = part(p, %d, %d)\n", rows, columns);
        random_term(g, true, "beside");
    }
    random_write(g, "      return acc * %s + ", random_chance(g, 50) ? "0.5" : "1");
    size_t from = g->length - 1;
    random_value(g, 2);
    random_use(g, from, "x", "");
    if (o->stencil)
        random_use(g, from, "beside", " * 0.5");
    random_write(g, "\n    end)\n");
}

/* What is made of it. */
static void write_value_over_tiles(struct random_spec *g, const struct over_tiles *o)
{
    g->terms = 0;
    random_term(g, true, "acc");
    random_term(g, false, "2");
    if (o->scalar)
        random_term(g, false, "t.scale");
    if (o->middle) {
        random_write(g, "    local middle = column_max(acc)\n");
        random_term(g, false, "middle");
    }
    if (o->along) {
        random_write(g, "    local along = row_sum(acc)\n");
        random_term(g, false, "along");
    }
    random_write(g, "    local v = ");
    size_t from = g->length - 1;
    random_value(g, 2);
    random_use(g, from, "acc", "");
    if (o->middle)
        random_use(g, from, "middle", "");
    if (o->along)
        random_use(g, from, "along", "");
    if (o->scalar)
        random_use(g, from, "t.scale", "");
    random_write(g, "\n");
}

static void write_stores_over_tiles(struct random_spec *g, const struct over_tiles *o)
{
    if (o->staged)
        random_write(g, "    v = stage(v)\n");
    const char *store = o->add ? "store_add" : "store";
    if (o->turned)
        random_write(g, "    %s(t.y, span(at.c, tile.c), span(at.r, tile.r), v:t())\n", store);
    else
        random_write(g, "    %s(t.y, span(at.r, tile.r), span(at.c, tile.c), v)\n", store);
    if (o->total) {
        random_write(g, "    store_add(t.total, span(at.c, tile.c), column_sum(v))\n");
    }
    if (o->look) {
        random_write(g, "    scatter_add(t.sums, load(t.ids, span(at.r, tile.r)), span(at.c, tile.c), v)\n");
    }
}

/* Items of tiles: what is carried over planes, transposed, added, looked up. */
static void over_tiles(struct rows *r)
{
    struct over_tiles o;
    draw_over_tiles(r->g, &o);
    write_tensors_over_tiles(r, &o);
    write_loop_over_tiles(r->g, &o);
    write_value_over_tiles(r->g, &o);
    write_stores_over_tiles(r->g, &o);
    random_write(r->g, "  end,\n");
}

/* Items of columns: sums and extremes along them. */
static void over_columns(struct rows *r)
{
    struct random_spec *g = r->g;
    static const char *const kinds[] = {NULL, "column_max", "column_min"};
    int kind = random_choose(g, kinds, 3);
    int other = kind && random_option(g, kinds[3 - kind], 30) ? 3 - kind : 0;
    bool scalar = random_option(g, "scalar", 25);
    static const char *const first[] = {"0", "-inf", "inf"};
    g->index = "c";
    g->row_index = "r";
    random_write(g, "  axes = \"r c\", tile = { r = %d, c = %d }, grid = { c = C },\n", r->tile_r, r->tile_c);
    random_write(g, "  x = tensor { R, C, dtype = \"%s\", axes = \"r c\" },\n", dtype(g));
    if (scalar)
        random_write(g, "  scale = scalar(\"fp32\", 0.75),\n");
    random_write(g, "  sum = tensor { C, dtype = \"fp32\", axes = \"c\", out = true },\n"
                    "  best = tensor { C, dtype = \"fp32\", axes = \"c\", out = true },\n");
    if (other)
        random_write(g, "  worst = tensor { C, dtype = \"fp32\", axes = \"c\", out = true },\n");
    random_write(g,
                 "  program = function(t, at, tile)\n"
                 "    local sum, best%s = loop(\"r\", range(0, R, tile.r), { columns(0), columns(%s)%s%s%s }, "
                 "function(r, sum, best%s)\n",
                 other ? ", worst" : "", first[kind], other ? ", columns(" : "", other ? first[other] : "",
                 other ? ")" : "", other ? ", worst" : "");
    random_write(g, "      local x = load(t.x, span(r, tile.r), span(at.c, tile.c))\n      local v = ");
    g->terms = 0;
    random_term(g, true, "x");
    random_term(g, false, "0.5");
    if (scalar)
        random_term(g, false, "t.scale");
    size_t from = g->length - 1;
    random_value(g, 3);
    random_use(g, from, "x", "");
    if (scalar)
        random_use(g, from, "t.scale", "");
    random_feature(g, "column_sum");
    if (kind == 0)
        random_write(g, "\n      return sum + column_sum(v), best + column_sum(v * v)");
    else
        random_write(g, "\n      return sum + column_sum(v), %s(best, column_%s(v))", reductions[kind],
                     reductions[kind]);
    if (other)
        random_write(g, ", %s(worst, column_%s(v))", reductions[other], reductions[other]);
    random_write(g, "\n");
    random_write(g,
                 "    end)\n    store(t.sum, span(at.c, tile.c), sum)\n"
                 "    store(t.best, span(at.c, tile.c), best)\n%s  end,\n",
                 other ? "    store(t.worst, span(at.c, tile.c), worst)\n" : "");
}

/* Sizes: turns of the loops are 0, 1, few and many, whole and ragged. A loop of tiles is over planes, one of columns
 * over rows, else over columns. */
static void sizes(struct rows *r)
{
    static const char *const name[] = {"turns.0", "turns.1", "turns.few", "turns.many"};
    struct random_spec *g = r->g;
    int of[] = {0, 1, 2 + random_below(g, 2), 4 + random_below(g, 9)}, turns[4], runs = 0;
    for (int i = 0; i < 4; i++)
        if (random_wants(g, name[i]))
            turns[runs++] = i;
    if (runs < 1)
        turns[runs++] = random_below(g, 2);
    if (runs < 2)
        turns[runs++] = 1 + random_below(g, 2);
    if (runs < 3)
        turns[runs++] = 3;
    random_write(g, "  run = {");
    for (int i = 0; i < runs; i++) {
        bool ragged = random_option(g, "ragged", 60);
        int count = of[turns[i]], planes = count, rows = 1 + random_below(g, 3 * r->tile_r);
        int columns = (1 + random_below(g, 3)) * r->tile_c;
        g->at = strcmp(name[turns[i]], "turns.few") == 0 ? -1 : 0;
        random_feature(g, name[turns[i]]);
        g->at = -1;
        if (g->family == 'R')
            columns = count * r->tile_c > 700 ? 700 : count * r->tile_c;
        if (g->family == 'C')
            rows = count * r->tile_r;
        if (ragged && columns > 0)
            columns -= random_chance(g, 50) ? 8 % r->tile_c : random_below(g, r->tile_c);
        if (g->family == 'C' && ragged && rows > 0)
            rows -= random_below(g, r->tile_r);
        random_write(g, "%s{ R = %d, C = %d", i ? ", " : " ", rows, columns);
        if (g->family == 'T')
            random_write(g, ", P = %d", planes);
        random_write(g, " }");
    }
    random_write(g, " },\n}\n");
}

/* Blocks that take items until there is none, or one each. True: the former. */
static bool how(struct rows *r, int number, bool like)
{
    struct random_spec *g = r->g;
    g->at = number;
    bool resident = random_option(g, "persistent", 25);
    g->at = -1;
    if (resident || like)
        random_write(g, "  schedule = { persistent = %s },\n", resident ? "true" : "false");
    return resident;
}

void random_rows(struct random_spec *g)
{
    struct rows r = {.g = g};
    bool planes = g->family == 'T';
    r.tile_r = random_option(g, "one.row", 20) ? 1 : row_tiles[1 + random_below(g, 4)];
    r.tile_c = column_tiles[random_below(g, 6)];
    random_feature(g, g->family == 'R' ? "rows" : planes ? "tiles" : "columns");
    random_write(g, "local R, C%s = dims \"R C%s\"\n\nlocal p = kernel \"p\" {\n", planes ? ", P" : "",
                 planes ? " P" : "");
    bool resident = how(&r, 0, false);
    if (g->family == 'R')
        over_rows(&r);
    else if (planes)
        over_tiles(&r);
    else
        over_columns(&r);
    sizes(&r);
    /* Other tiles change the order of sums and nothing else. */
    int columns = column_tiles[random_below(g, 6)];
    random_write(g, "kernel \"p_how1\" { like = p, tile = { r = %d, c = %d },\n",
                 random_has(g, "one.row") ? 1 : row_tiles[1 + random_below(g, 4)], columns);
    how(&r, 1, resident);
    random_fields_write(g, 1, false);
    random_write(g, "}\n");
}
