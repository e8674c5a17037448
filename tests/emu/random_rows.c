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
    bool weights, bias, ids;
    size_t value; /* where the value in hand begins */
    bool looked;  /* this turn gathers */
};

static const char *dtype(struct random_spec *g)
{
    const char *name = floats[random_below(g, 3)];
    random_feature(g, name);
    return name;
}

/* What a turn has at column c: its terms, with statements of its own before. */
static void part(struct rows *r)
{
    struct random_spec *g = r->g;
    g->terms = 0;
    int apart = random_chance(g, 15) ? 1 + random_below(g, 16) : 0;
    if (apart)
        random_feature(g, "shifted");
    random_write(g, "      local x = part(c + %d)\n", apart);
    random_term(g, true, "x");
    r->looked = r->ids && random_chance(g, 60);
    if (r->looked) {
        random_feature(g, "gather");
        random_write(g, "      local from = gather(t.table, ids, span(c, tile.c))\n");
        random_term(g, true, "from");
    }
    if (r->weights)
        random_term(g, false, "load(t.w, span(c, tile.c))");
    if (r->bias)
        random_term(g, false, "bias");
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
}

/* The range of a loop over the columns; its turns are those of C, fewer, or none. */
static void columns(struct rows *r)
{
    struct random_spec *g = r->g;
    switch (random_below(g, 6)) {
    case 0:
        random_feature(g, "range.late");
        random_write(g, "range(tile.c, C, tile.c)");
        break;
    case 1:
        random_feature(g, "range.min");
        random_write(g, "range(0, min(C, %d), tile.c)", r->tile_c * (1 + random_below(g, 3)));
        break;
    default:
        random_write(g, "range(0, C, tile.c)");
    }
}

static const char *const reductions[] = {"sum", "max", "min"};

/* A loop that reduces rows: s1, s2, ... are what it leaves. */
static void reduce(struct rows *r)
{
    struct random_spec *g = r->g;
    int values = 1 + random_below(g, 3), kind[3], number = r->loops++;
    bool inner = random_chance(g, 25), online = !inner && random_chance(g, 15);
    if (online) {
        random_feature(g, "online");
        random_feature(g, "loop.reduce");
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
        random_feature(g, kind[i] == 0 ? "row_sum" : kind[i] == 1 ? "row_max" : "row_min");
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
    random_feature(g, "loop.write");
    random_write(g, "    loop(\"w%d\", range(0, C, tile.c), {}, function(c)\n", r->loops);
    part(r);
    for (int i = 0; i < r->loops; i++)
        random_term(g, false, "s%d", i);
    random_write(g, "      store(t.y, span(at.r, tile.r), span(c, tile.c),");
    value(r, 3);
    random_write(g, ")\n");
    if (two) {
        random_feature(g, "outputs");
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
    int loops = 1 + random_below(g, 3), limit = random_below(g, 5);
    bool writes = random_chance(g, 75), two = writes && random_chance(g, 25);
    r->weights = random_chance(g, 40);
    r->bias = random_chance(g, 40);
    r->ids = random_chance(g, 25);
    g->index = "c";
    g->row_index = "r";
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
    const char *limits = "";
    if (limit == 0) {
        random_feature(g, "limit");
        limits = ", C - 3";
    } else if (limit == 1) {
        random_feature(g, "limit.item");
        limits = ", at.r + 20";
    }
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
    if (strstr(body, "t.table,"))
        random_write(g, "  table = tensor { 7, C, dtype = \"%s\" },\n", dtype(g));
    random_write(g, "%s", body);
}

/* Items of tiles: what is carried over planes, transposed, added, looked up. */
static void over_tiles(struct rows *r)
{
    struct random_spec *g = r->g;
    int kind = random_below(g, 5);
    g->index = "c";
    g->row_index = "r";
    random_write(g, "  axes = \"p r c\", tile = { r = %d, c = %d }, grid = { r = R, c = C },\n", r->tile_r, r->tile_c);
    random_write(g, "  x = tensor { P, R, C, dtype = \"%s\", axes = \"p r c\" },\n", dtype(g));
    bool turned = random_chance(g, 30), add = random_chance(g, 25), total = random_chance(g, 30), look = kind == 4;
    const char *type = add ? "fp32" : dtype(g);
    if (turned) {
        random_feature(g, "transpose");
        random_write(g, "  y = tensor { C, R, dtype = \"%s\", axes = \"c r\", out = true },\n", type);
    } else {
        random_write(g, "  y = tensor { R, C, dtype = \"%s\", axes = \"r c\", out = true },\n", type);
    }
    if (total)
        random_write(g, "  total = tensor { C, dtype = \"fp32\", axes = \"c\", out = true },\n");
    if (look) {
        random_write(g, "  ids = tensor { R, dtype = \"int32\", fill = \"integers 0 6\", axes = \"r\" },\n");
        random_write(g, "  sums = tensor { 7, C, dtype = \"fp32\", out = true },\n");
    }
    random_write(g, "  program = function(t, at, tile)\n");
    random_write(g, "    local function part(p, dr, dc)\n"
                    "      return load(t.x, p, span(at.r + dr, tile.r), span(at.c + dc, tile.c))\n    end\n");
    random_feature(g, "loop.tile");
    random_write(g, "    local acc = loop(\"p\", range(0, P), { zeros() }, function(p, acc)\n"
                    "      local x = part(p, 0, 0)\n");
    g->terms = 0;
    random_term(g, true, "x");
    random_term(g, true, "x");
    random_term(g, false, "0.5");
    if (kind == 1 || kind == 2) {
        random_feature(g, "stencil");
        random_write(g, "      local beside = part(p, %d, %d)\n", random_below(g, 3) - 1, random_below(g, 3) - 1);
        random_term(g, true, "beside");
    }
    random_write(g, "      return acc * %s + ", random_chance(g, 50) ? "0.5" : "1");
    size_t from = g->length - 1;
    random_value(g, 2);
    random_use(g, from, "x", "");
    if (kind == 1 || kind == 2)
        random_use(g, from, "beside", " * 0.5");
    random_write(g, "\n    end)\n");
    g->terms = 0;
    random_term(g, true, "acc");
    random_term(g, false, "2");
    bool middle = random_chance(g, 30), along = random_chance(g, 30);
    if (middle) {
        random_feature(g, "column_max");
        random_write(g, "    local middle = column_max(acc)\n");
        random_term(g, false, "middle");
    }
    if (along) {
        random_feature(g, "row_sum");
        random_write(g, "    local along = row_sum(acc)\n");
        random_term(g, false, "along");
    }
    random_write(g, "    local v = ");
    from = g->length - 1;
    random_value(g, 2);
    random_use(g, from, "acc", "");
    if (middle)
        random_use(g, from, "middle", "");
    if (along)
        random_use(g, from, "along", "");
    random_write(g, "\n");
    if (add)
        random_feature(g, "store_add");
    const char *store = add ? "store_add" : "store";
    if (turned)
        random_write(g, "    %s(t.y, span(at.c, tile.c), span(at.r, tile.r), v:t())\n", store);
    else
        random_write(g, "    %s(t.y, span(at.r, tile.r), span(at.c, tile.c), v)\n", store);
    if (total) {
        random_feature(g, "store_add");
        random_feature(g, "column_sum");
        random_write(g, "    store_add(t.total, span(at.c, tile.c), column_sum(v))\n");
    }
    if (look) {
        random_feature(g, "scatter_add");
        random_write(g, "    scatter_add(t.sums, load(t.ids, span(at.r, tile.r)), span(at.c, tile.c), v)\n");
    }
    random_write(g, "  end,\n");
}

/* Items of columns: sums and extremes along them. */
static void over_columns(struct rows *r)
{
    struct random_spec *g = r->g;
    int kind = random_below(g, 3);
    static const char *const first[] = {"0", "-inf", "inf"};
    g->index = "c";
    g->row_index = "r";
    random_feature(g, "loop.columns");
    random_write(g, "  axes = \"r c\", tile = { r = %d, c = %d }, grid = { c = C },\n", r->tile_r, r->tile_c);
    random_write(g, "  x = tensor { R, C, dtype = \"%s\", axes = \"r c\" },\n", dtype(g));
    random_write(g, "  sum = tensor { C, dtype = \"fp32\", axes = \"c\", out = true },\n"
                    "  best = tensor { C, dtype = \"fp32\", axes = \"c\", out = true },\n");
    random_write(g,
                 "  program = function(t, at, tile)\n"
                 "    local sum, best = loop(\"r\", range(0, R, tile.r), { columns(0), columns(%s) }, "
                 "function(r, sum, best)\n",
                 first[kind]);
    random_write(g, "      local x = load(t.x, span(r, tile.r), span(at.c, tile.c))\n      local v = ");
    g->terms = 0;
    random_term(g, true, "x");
    random_term(g, false, "0.5");
    size_t from = g->length - 1;
    random_value(g, 3);
    random_use(g, from, "x", "");
    random_feature(g, "column_sum");
    if (kind == 0)
        random_write(g, "\n      return sum + column_sum(v), best + column_sum(v * v)\n");
    else
        random_write(g, "\n      return sum + column_sum(v), %s(best, column_%s(v))\n", reductions[kind],
                     reductions[kind]);
    random_write(g, "    end)\n    store(t.sum, span(at.c, tile.c), sum)\n"
                    "    store(t.best, span(at.c, tile.c), best)\n  end,\n");
}

/* Sizes: turns of C's loops are 0, 1, 2 and many, whole and ragged. */
static void sizes(struct rows *r, bool planes)
{
    struct random_spec *g = r->g;
    int turns[] = {random_below(g, 2) ? 1 : 0, 1 + random_below(g, 3), 3 + random_below(g, 9)};
    random_write(g, "  run = {");
    for (int i = 0; i < 3; i++) {
        bool ragged = random_chance(g, 60);
        int c = turns[i] * r->tile_c, most = planes ? 3 : 12;
        if (c > 700)
            c = 700;
        if (ragged)
            random_feature(g, "ragged");
        random_feature(g, turns[i] == 0   ? "turns.0"
                          : turns[i] == 1 ? "turns.1"
                          : turns[i] < 4  ? "turns.few"
                                          : "turns.many");
        if (ragged && c > 0)
            c -= random_chance(g, 50) ? 8 % r->tile_c : random_below(g, r->tile_c);
        int rows = 1 + random_below(g, 3 * r->tile_r);
        random_write(g, "%s{ R = %d, C = %d", i ? ", " : " ", rows, c);
        if (planes)
            random_write(g, ", P = %d", i == 0 ? random_below(g, 2) : 1 + random_below(g, most));
        random_write(g, " }");
    }
    random_write(g, " },\n}\n");
}

void random_rows(struct random_spec *g)
{
    struct rows r = {.g = g};
    int kind = random_below(g, 10);
    bool planes = kind >= 6 && kind < 9;
    r.tile_r = row_tiles[random_below(g, 5)];
    r.tile_c = column_tiles[random_below(g, 6)];
    random_feature(g, kind < 6 ? "rows" : planes ? "tiles" : "columns");
    random_write(g, "local R, C%s = dims \"R C%s\"\n\nlocal p = kernel \"p\" {\n", planes ? ", P" : "",
                 planes ? " P" : "");
    if (kind < 6)
        over_rows(&r);
    else if (planes)
        over_tiles(&r);
    else
        over_columns(&r);
    sizes(&r, planes);
    /* Other tiles change the order of sums and nothing else. */
    random_write(g, "kernel \"p_how1\" { like = p, tile = { r = %d, c = %d } }\n", row_tiles[random_below(g, 5)],
                 column_tiles[random_below(g, 6)]);
}
