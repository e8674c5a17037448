/* How random programs with dots run: warpgroups, rings, order, the turns of loops; and what follows a sum. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "random_dots.h"

/* ---- how a kernel runs ------------------------------------------------------------------------------------------- */

static bool has_chain(const struct dots *d)
{
    return strchr("HN", d->g->family) != NULL;
}

/* Of 64 rows: so many for each of the consumers, which all fit. */
static void share_rows(struct dots *d, struct how *h)
{
    static const char *const word[] = {"consumers.1", "consumers.2", "consumers.3"};
    struct random_spec *g = d->g;
    const char *fits[3];
    int count = 0, of[3];
    for (int c = 1; c <= 3; c++)
        if (h->m % (64 * c) == 0 && h->m / 64 / c <= 2) {
            of[count] = c;
            fits[count++] = word[c - 1];
        }
    h->consumers = of[random_choose(g, fits, count)];
    h->blocks = h->m / 64 / h->consumers;
    if (h->blocks == 2)
        random_feature(g, "blocks.2");
}

/* Of one other kernel in three, on sm_80 in two, the first one's tile, halved along some axes: turns and items that
 * there are of it wrap the rings of a smaller one all the more. */
static void draw_tile(struct dots *d, int number)
{
    struct random_spec *g = d->g;
    struct how *h = &d->how[number];
    bool listed = random_has(g, "range.list") || random_has(g, "rows.numbered"); /* whole blocks of k */
    h->m = d->m;
    h->n = d->n;
    h->k = d->k;
    h->tile = d->tile;
    if (number == 0 || random_aside(g, "tile", number, h->sm_80 ? 2 : 3))
        return;
    if (h->m % 128 == 0 && random_aside(g, "tile.m", number, 2))
        h->m /= 2;
    if (h->n % 32 == 0 && random_aside(g, "tile.n", number, 2))
        h->n /= 2;
    if (h->k % 32 == 0 && !listed && random_aside(g, "tile.k", number, 2))
        h->k /= 2;
    if (h->tile % 32 == 0 && random_aside(g, "tile.tile", number, 2))
        h->tile /= 2;
}

/* Warps of mma.sync, of whole instructions, that hold their parts of the sums in registers. Only one has whole rows
 * where they are reduced or an operand is computed. */
static void draw_warps(struct dots *d, int number)
{
    enum { SUMS = 4096 /* of a warp: 128 registers of a thread */ };
    static const int of[][2] = {{1, 1}, {2, 1}, {3, 1}, {4, 1}, {6, 1}, {8, 1}, {1, 2}, {2, 2}, {4, 2}, {1, 4}, {2, 4}};
    struct random_spec *g = d->g;
    struct how *h = &d->how[number];
    bool whole = has_chain(d) || random_has(g, "beside.rows");
    int columns = has_chain(d) ? h->tile + d->width : h->n, fits[sizeof of / sizeof *of], count = 0;
    for (int i = 0; i < (int)(sizeof of / sizeof *of); i++)
        if (h->m % (16 * of[i][0]) == 0 && (of[i][1] == 1 || (!whole && columns % (16 * of[i][1]) == 0)) &&
            h->m / of[i][0] * (columns / of[i][1]) <= SUMS)
            fits[count++] = i;
    if (!count || random_aside(g, "warps", number, 2))
        return;
    int chosen = fits[random_aside(g, "warps of", number, count)];
    h->warps_m = of[chosen][0];
    h->warps_n = of[chosen][1];
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
    int slices = has_chain(d) ? h->tile : random_has(g, "b.turned") ? h->k : h->n;
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
        if (chosen == 1 && !has_chain(d) && (g->family == 'G' || random_chance(g, 50))) {
            h->cluster_m = 1;
            h->cluster_n = 2;
        }
    } else if (!first || random_chance(g, 50)) {
        h->cluster_m = h->cluster_n = 1;
    }
    h->via = !has_chain(d) ? 0 : first || !like->via ? random_choose(g, via, 3) : random_choose(g, via + 1, 2) + 1;
}

/* Of a product the second operand takes the instruction's rows: of columns in 64s, of fewer rows. Drawn aside, so that
 * what else a seed gives stays. */
static void draw_swapped(struct dots *d, int number)
{
    static const int rows[] = {8, 24, 56, 104, 16, 32, 64, 128};
    struct random_spec *g = d->g;
    struct how *h = &d->how[number];
    const int columns = d->n < 64 ? 64 : d->n / 64 * 64, most = d->n < 64 ? d->m / 2 : d->m; /* no fewer items */
    if (d->n < 32 || random_has(g, "a.bytes") || random_aside(g, "swap", number, 3) == 0)
        return;
    h->swapped = true;
    h->n = columns;
    h->m = g->family == 'P' ? rows[random_aside(g, "swapped rows", number, 8)]
                            : rows[4 + random_aside(g, "swapped rows", number, 4)];
    if (random_has(g, "a.turned")) /* a span of its swizzle */
        h->m = 64;
    while (h->m > most)
        h->m = h->m / 16 * 8;
    h->consumers = 1 + random_aside(g, "swapped consumers", number, 3);
    while (columns / 64 % h->consumers || columns / 64 / h->consumers > 2)
        h->consumers = h->consumers % 3 + 1;
    h->blocks = columns / 64 / h->consumers;
    if (h->cluster_n > 1 && h->m % 16) /* they share slices of 8 rows */
        h->cluster_n = 1;
}

/* What kernel `number` has beside the program: 0 before the tiles are known, which then are made for it. Others begin
 * with what kernel 0 says, as `like` gives it to them. */
void random_dots_how(struct dots *d, int number)
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
    h->sm_80 = random_wants(g, "sm_80") ||
               (!first && !random_wants(g, "sm_90a") && random_chance(g, 25) && random_allowed(g, "sm_80"));
    random_feature(g, h->sm_80 ? "sm_80" : "sm_90a");
    chosen = random_choose(g, first || !like->stages ? stages : stages + 1, first || !like->stages ? 5 : 4);
    h->stages = first || !like->stages ? (chosen ? chosen + 1 : 0) : chosen + 2;
    chosen = random_choose(g, first || !like->order ? orders : orders + 1, first || !like->order ? 4 : 3);
    h->order = first || !like->order ? chosen : chosen + 1;
    chosen = random_choose(g, first || !like->items ? items : items + 1, first || !like->items ? 3 : 2);
    h->items = first || !like->items ? chosen : chosen + 1;
    h->ahead = h->passing = h->dynamic = h->swapped = h->stream = false;
    h->cluster_m = h->cluster_n = h->via = h->direction = h->split = 0;
    h->blocks = 1;
    h->warps_m = h->warps_n = 0;
    h->consumers = first ? 1 + random_below(g, 2) : like->consumers;
    draw_tile(d, number);
    if (!first && h->m / 64 % h->consumers) /* wgmma has the kernel too */
        h->consumers = 1;
    if (h->sm_80 && first)
        d->m = 64 * h->consumers;
    if (h->sm_80 && !first)
        draw_warps(d, number);
    h->by_warps = h->sm_80 && !first && random_aside(g, "by warps", number, 2) == 0;
    if (!h->sm_80) {
        draw_warpgroups(d, number);
        if (!first && !has_chain(d))
            draw_swapped(d, number);
        h->dynamic = random_option(g, "dynamic", 15);
        if (h->dynamic) /* what is left out may be chosen otherwise */
            h->cluster_m = h->cluster_n = 1;
    }
    h->in_turn = !h->sm_80 && h->consumers > 1 && h->items != 2 && !h->dynamic && !h->passing &&
                 (random_wants(g, "items.in.turn") ||
                  (random_allowed(g, "items.in.turn") && random_aside(g, "in turn", number, 3) == 0));
    if (h->in_turn)
        random_feature(g, "items.in.turn");
    h->lane = !h->sm_80 && random_aside(g, "poll", number, 3) == 0;
    h->tail = !h->sm_80 && h->consumers == 2 && h->items != 2 && !h->dynamic && !h->in_turn && !h->passing &&
              random_aside(g, "tail", number, 3) == 0;
    h->reuse = !h->sm_80 && h->items != 2 && !h->dynamic && !has_chain(d) && random_aside(g, "reuse", number, 3) == 0;
    g->at = -1;
}

/* A name for the loop of most turns: the inner one of two. */
static const char *main_loop(const struct random_spec *g)
{
    return g->family == 'H' ? "s" : g->family == 'N' ? "h" : random_has(g, "loop.nested") ? "i" : "k";
}

bool random_dots_any_down(const struct dots *d)
{
    for (int i = 0; i < d->kernels; i++)
        if (d->how[i].direction == 2)
            return true;
    return false;
}

bool random_dots_any_smaller(const struct dots *d)
{
    for (int i = 1; i < d->kernels; i++)
        if ((has_chain(d) ? d->how[i].tile < d->tile : d->how[i].k < d->k))
            return true;
    return false;
}

void random_dots_write_how(struct dots *d, int number)
{
    struct random_spec *g = d->g;
    const struct how *h = &d->how[number];
    static const char *const order[] = {"", "grouped", "row", "column"};
    static const char *const copies[] = {"resident", "cp_async", "bulk"};
    const char *rows = g->family == 'H' ? "q" : "m";
    random_write(g, "  pipeline = { ");
    if (h->stages)
        random_write(g, "stages = %d, ", h->stages);
    if (h->warps_m)
        random_write(g, "warps_m = %d, warps_n = %d, ", h->warps_m, h->warps_n);
    if (!h->by_warps && (h->in_turn || (number && d->how[0].in_turn)))
        random_write(g, "mode = \"%s\", ", h->in_turn ? "items" : "cooperative");
    if (!h->sm_80 && (h->lane || (number && d->how[0].lane)))
        random_write(g, "poll = \"%s\", ", h->lane ? "lane" : "warp");
    if (number && has_chain(d) && random_has(g, "online") && random_aside(g, "polynomial", number, 2))
        random_write(g, "polynomial = %d, ", 2 + random_aside(g, "one of so many", number, 7));
    if (!h->by_warps)
        random_write(g, "consumers = %d%s%s ", h->consumers, h->swapped ? ", swap = true" : "",
                     h->passing                    ? ", turns = true"
                     : number && d->how[0].passing ? ", turns = false"
                                                   : "");
    random_write(g, "},\n");
    const char *dynamic = h->dynamic ? "true" : number && d->how[0].dynamic && !h->by_warps ? "false" : NULL;
    const bool halves = !h->sm_80 && (h->tail || (number && d->how[0].tail));
    const bool stays = !h->sm_80 && (h->reuse || (number && d->how[0].reuse));
    if (h->order || h->items || dynamic || h->stream || halves || stays) {
        random_write(g, "  schedule = { ");
        if (halves)
            random_write(g, "tail = \"%s\", ", h->tail ? "halves" : "whole");
        if (stays)
            random_write(g, "reuse = \"%s\", ", h->reuse ? "rows" : "none");
        if (h->stream)
            random_write(g, "stream = true, ");
        if (dynamic)
            random_write(g, "dynamic = %s, ", dynamic);
        int group = h->order ? 1 + random_below(g, 4) : 0;
        bool curve = h->order == 1 && random_aside(g, "curve", number, 3) == 0; /* squares of 2, 4 or 8 a side */
        group = curve ? 2 << group / 2 : group;
        if (h->order)
            random_write(g, "order = \"%s\", ", curve ? "hilbert" : order[h->order]);
        if (h->order == 1)
            random_write(g, "group = %d, ", group);
        if (h->items)
            random_write(g, "persistent = %s ", h->items == 1 ? "true" : "false");
        random_write(g, "},\n");
    }
    if (h->cluster_m && has_chain(d))
        random_write(g, "  cluster = { %s = %d },\n", rows, h->cluster_m);
    else if (h->cluster_m)
        random_write(g, "  cluster = { m = %d, n = %d },\n", h->cluster_m, h->cluster_n);
    if (h->ahead && !(number && d->how[0].ahead))
        random_write(g, "  ahead = { x = { turns = 1%s } },\n", g->state % 3 ? ", before = \"o\"" : "");
    if (h->split > 0)
        random_write(g, "  split = { k = %d },\n", h->split);
    else if (h->split)
        random_write(g, "  split = { k = { parts = %d, over = \"blocks\" } },\n", -h->split);
    if (h->direction)
        random_write(g, "  direction = { %s = \"%s\" },\n", main_loop(g), h->direction == 2 ? "down" : "up");
    if (h->via)
        random_write(g, "  via = { held = \"%s\" },\n", h->via == 1 ? "resident" : "bulk");
    else if (number && h->sm_80 && has_chain(d) && random_aside(g, "via", number, 2))
        random_write(g, "  via = { held = \"%s\" },\n", copies[random_aside(g, "via of", number, 3)]);
}

/* Drawn aside: of a product in one loop, from zeros on; over a cluster where its columns are divided by the parts, and
 * where there are no more than 8 blocks. */
static void draw_split(struct dots *d, int number)
{
    struct random_spec *g = d->g;
    struct how *h = &d->how[number];
    bool plain = g->family == 'P' && !h->in_turn && random_aside(g, "carried", 0, 6) < 4 && !random_has(g, "loops") &&
                 !random_has(g, "loop.nested") && !random_has(g, "first.tile") && !random_has(g, "turn.scaled");
    int blocks = h->cluster_m ? h->cluster_m * h->cluster_n : 1, parts = 2 << random_aside(g, "split of", number, 3);
    int kind = random_aside(g, "split", number, 3);
    while (parts * blocks > 8 || h->n % (8 * parts))
        parts /= 2;
    const bool shares = !h->sm_80 && !h->dynamic && h->items != 2;
    if (plain && !h->sm_80 && !h->dynamic && parts > 1 && kind == 1)
        h->split = parts;
    else if (plain && shares && (kind == 0 || random_aside(g, "stream", number, 4)))
        h->stream = true;
    else if (plain && kind > 0)
        h->split = -2 - random_aside(g, "blocks of a split", number, 3);
    h->tail = h->tail && !h->stream && h->split == 0;
    h->reuse = h->reuse && !h->stream && h->split == 0;
}

/* Kernels that differ in how they run alone. */
void random_dots_others(struct dots *d)
{
    d->kernels = random_chance(d->g, 30) ? 3 : 2;
    for (int i = 1; i < d->kernels; i++) {
        random_dots_how(d, i);
        draw_split(d, i);
    }
}

/* The axes of its tile that are not the first kernel's. */
static void write_tile(struct dots *d, const struct how *h)
{
    const char *rows = d->g->family == 'H' ? "q" : "m", *columns = d->g->family == 'H' ? "s" : "h", *between = "";
    const struct {
        const char *axis;
        int own, first;
    } extent[] = {{rows, h->m, d->m}, {"n", h->n, d->n}, {"k", h->k, d->k}, {columns, h->tile, d->tile}};
    for (int i = 0; i < 4; i++)
        if (extent[i].own != extent[i].first) {
            random_write(d->g, "%s%s = %d", *between ? between : "  tile = { ", extent[i].axis, extent[i].own);
            between = ", ";
        }
    random_write(d->g, *between ? " },\n" : "");
}

void random_dots_swizzled(struct dots *d, bool swizzle, int span, const char *format, ...)
{
    va_list list;
    size_t length = sizeof "  " - 1;
    memcpy(d->swizzled, "  ", length);
    va_start(list, format);
    vsnprintf(d->swizzled + length, sizeof d->swizzled - length, format, list);
    va_end(list);
    d->span = span;
    random_write(d->g, "%s%s },\n", d->swizzled, swizzle ? ", swizzle = \"32B\"" : "");
}

/* Another swizzle of a tensor that dots read: one whose span its rows are multiples of. */
static void write_swizzle(struct dots *d, int number)
{
    static const char *const swizzle[] = {"32B", "64B", "128B"};
    int span = d->g->family == 'P' && d->span == 2 * d->k ? 2 * d->how[number].k : d->span;
    if (random_has(d->g, "a.bytes"))
        span = d->how[number].k;
    int fits = span % 128 == 0 ? 3 : span % 64 == 0 ? 2 : 1;
    if (*d->swizzled && span % 32 == 0 && random_aside(d->g, "swizzle", number, 4) == 0)
        random_write(d->g, "%s, swizzle = \"%s\" },\n", d->swizzled,
                     swizzle[random_aside(d->g, "swizzle of", number, fits)]);
}

/* Rows by their numbers come the other way: by bulk copies, of whole spans alone, or by threads. */
static void write_rows_via(struct dots *d, int number)
{
    if (!random_has(d->g, "rows.numbered") || random_aside(d->g, "rows", number, 2))
        return;
    bool copied = random_has(d->g, "rows.copied");
    if (!copied || d->k % 64 == 0)
        random_write(d->g, "  via = { rows = \"%s\" },\n", copied ? "bulk" : "cp_async");
}

/* What becomes of operands in the L2. */
static void write_cache(struct dots *d, int number)
{
    static const char *const form[] = {"B = \"evict_first\"", "A = \"evict_last\"",
                                       "A = \"evict_last\", B = \"evict_first\""};
    if (d->g->family == 'P' && random_aside(d->g, "cache", number, 3) == 0)
        random_write(d->g, "  cache = { %s },\n", form[random_aside(d->g, "cache of", number, 3)]);
}

void random_dots_write_others(struct dots *d)
{
    for (int i = 1; i < d->kernels; i++) {
        random_write(d->g, "kernel \"p_how%d\" { like = p,\n", i);
        random_dots_write_how(d, i);
        write_tile(d, &d->how[i]);
        if (d->how[i].by_warps)
            random_write(d->g, "  arch = { sm_90a = { pipeline = { instruction = \"mma.sync\" } } },\n");
        else if (d->how[i].m % 16) /* of an mma.sync */
            random_write(d->g, "  arch = { sm_80 = { tile = { m = 16 } } },\n");
        write_swizzle(d, i);
        write_rows_via(d, i);
        write_cache(d, i);
        random_fields_write(d->g, i, !d->how[i].by_warps);
        random_write(d->g, "}\n");
    }
}

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

static int most_stages(const struct dots *d)
{
    int most = 0;
    for (int i = 0; i < d->kernels; i++) {
        int stages = d->how[i].stages ? d->how[i].stages : d->how[i].swapped ? 2 * CHOSEN : CHOSEN;
        most = stages > most ? stages : most;
    }
    return most;
}

/* Turns of the loops: none, one, one less than the ring has stages, as many, one more, many; and in the last size as
 * many as wrap rings: within an item where a kernel's blocks have one each, else over ITEMS of them. */
void random_dots_turns(struct dots *d, bool all)
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
    bool one_item = all;
    for (int i = 0; i < d->kernels; i++)
        one_item = one_item || d->how[i].items == 2 || d->how[i].sm_80;
    int parts = 1; /* of a split loop's turns each block has one in so many */
    for (int i = 0; i < d->kernels; i++)
        parts = abs(d->how[i].split) > parts ? abs(d->how[i].split) : parts;
    d->turns[d->runs++] = parts * (one_item ? 2 * most_stages(d) + 1 : 2 * most_stages(d) / ITEMS + 2);
    for (int i = 0; i < d->kernels; i++) {
        g->at = i;
        for (int r = 0; r < d->runs; r++) {
            int s = d->how[i].stages, turns = d->turns[r];
            if (i > 0 && turns > 0 && (d->how[i].k < d->k || d->how[i].tile < d->tile)) {
                if (2 * turns - 1 > (s ? s : CHOSEN) + 1) /* of smaller tiles twice as many, or one less */
                    random_feature(g, "turns.many");
                continue;
            }
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
int random_dots_extent(struct dots *d, int run, int count, int tile)
{
    struct random_spec *g = d->g;
    int extent = count * tile;
    bool whole = run == d->runs - 1 || random_has(g, "multiple");
    if (extent > 0 && random_option(g, "ragged", 50))
        extent -= whole || random_chance(g, 60) ? 8 : random_below(g, tile);
    return extent;
}

/* As long as the loop's turns; in the last size twice that and one where a condition keeps half of it: rings wrap all
 * the same. */
int random_dots_looped(struct dots *d, int run)
{
    int turns = d->turns[run];
    return random_dots_extent(d, run, run == d->runs - 1 && d->g->half ? 2 * turns + 1 : turns, d->tile);
}

int random_dots_blocks(const struct dots *d, bool along_n)
{
    int most = 1;
    for (int i = 0; i < d->kernels; i++) {
        int blocks = along_n ? d->how[i].cluster_n : d->how[i].cluster_m;
        most = blocks > most ? blocks : most;
    }
    return most;
}

int random_dots_tiles_under(const struct dots *d, int extent)
{
    enum { RAGGED = 8 /* rows that the last tile may lack */ };
    int blocks = random_dots_blocks(d, false), rows = extent + LEAN + 1 + RAGGED;
    int tiles = (rows + d->m - 1) / d->m;
    return (tiles + blocks - 1) / blocks * blocks;
}

/* ---- what follows the sum ---------------------------------------------------------------------------------------- */

struct beside random_dots_beside(struct dots *d)
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
void random_dots_epilogue(struct dots *d, const struct beside *b, const char *sum, const char *const load[3])
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

/* ---- tiles ------------------------------------------------------------------------------------------------------- */

/* Tiles that fit registers and shared memory: of two loads of a turn and five stages, or eight. */
void random_dots_tiles(struct dots *d, bool loops)
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
