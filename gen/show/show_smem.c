/* The map of shared memory that a Plan has decided. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "common/options.h"
#include "show/show.h"

enum { BAR = 90, LETTERS = 26 };

/* Regions in the order of their offsets, with what lies between and behind them. */
struct piece {
    const struct plan_shared *region; /* NULL: nobody's */
    int offset, end, letter;          /* letter: of the region, from 0 */
    bool unused;                      /* behind the last byte that the block asks for */
};

static int by_offset(const void *a, const void *b)
{
    const struct plan_shared *const *p = a, *const *q = b;
    return (*p)->offset < (*q)->offset ? -1 : (*p)->offset > (*q)->offset;
}

/* Room for 2 * shared_count + 2 pieces. */
static int lay_out(const struct compile_unit *unit, const struct plan_shared **sorted, struct piece *piece)
{
    const struct plan *p = &unit->plan;
    int count = 0, at = 0;
    for (int i = 0; i < p->shared_count; i++)
        sorted[i] = &p->shared[i];
    qsort(sorted, (size_t)p->shared_count, sizeof *sorted, by_offset);
    for (int i = 0; i < p->shared_count; i++) {
        const struct plan_shared *r = sorted[i];
        if (r->offset > at)
            piece[count++] = (struct piece){NULL, at, r->offset, 0, false};
        at = r->offset + r->bytes;
        piece[count++] = (struct piece){r, r->offset, at, i, false};
    }
    if (p->launch.shared_bytes > at)
        piece[count++] = (struct piece){NULL, at, p->launch.shared_bytes, 0, false};
    if (unit->arch->shared_limit > p->launch.shared_bytes)
        piece[count++] = (struct piece){NULL, p->launch.shared_bytes, unit->arch->shared_limit, 0, true};
    return count;
}

/* The tensor that comes into the buffers of the ring before results are written there; NULL. */
static const char *source_of(const struct plan *p, int ring)
{
    for (int g = 0; g < p->ring_count; g++)
        if (p->ring[g].filler == PLAN_FILL_OWN && plan_number(p->ring[g].into) == ring)
            return p->tensor[p->ring[g].tensor[0]].name;
    return NULL;
}

/* What lives in a region, in words. */
static void describe(const struct plan *p, const struct piece *piece, char *out, size_t room)
{
    const struct plan_shared *r = piece->region;
    out[0] = '\0';
    if (!r) {
        snprintf(out, room, "%s", piece->unused ? "left of what a block may have" : "padding");
        return;
    }
    int each = r->bytes / (r->count ? r->count : 1);
    for (int g = 0; g < p->ring_count; g++) {
        const struct plan_ring *ring = &p->ring[g];
        if (ring->full_shared >= 0 && r == &p->shared[ring->full_shared])
            snprintf(out, room, "an mbarrier a %s: full after %d arrival%s and %d bytes",
                     ring->filler == PLAN_FILL_OWN ? "buffer" : "stage", ring->full_arrivals,
                     ring->full_arrivals == 1 ? "" : "s", ring->tx_bytes);
        else if (ring->empty_shared >= 0 && r == &p->shared[ring->empty_shared])
            snprintf(out, room, "an mbarrier a stage: empty after %d arrival%s", ring->empty_arrivals,
                     ring->empty_arrivals == 1 ? "" : "s");
        else if (ring->filler == PLAN_FILL_THREADS && r == plan_region(p, ring, -1))
            snprintf(out, room, "%d buffer%s of %d: results on their way to bulk stores%s%s", r->count,
                     r->count == 1 ? "" : "s", each, source_of(p, g) ? ", and first " : "",
                     source_of(p, g) ? source_of(p, g) : "");
        for (int i = 0; i < ring->tensor_count; i++) {
            const struct plan_tensor *t = &p->tensor[ring->tensor[i]];
            if (r != plan_region(p, ring, ring->tensor[i]))
                continue;
            int used =
                snprintf(out, room, "%d stage%s of %d: tile of %s,", r->count, r->count == 1 ? "" : "s", each, t->name);
            for (int d = 0; d < t->rank && used > 0 && (size_t)used < room; d++)
                used += snprintf(out + used, room - (size_t)used, d ? " x %d" : " %d", t->tile[d] ? t->tile[d] : 1);
            if (used > 0 && (size_t)used < room)
                snprintf(out + used, room - (size_t)used, " %s, swizzle %s", tw_dtype_name(t->dtype),
                         tw_swizzles[t->swizzle].name);
        }
    }
    if (!out[0] && r->count > 1)
        snprintf(out, room, "%d of %d", r->count, each);
}

static char letter_of(const struct piece *piece)
{
    return piece->region ? (char)('A' + piece->letter % LETTERS) : piece->unused ? '.' : '_';
}

/* One character for each BARth of what a block may have; stages in turn large and small, and what is smaller than a
 * character is painted last, so that everything is seen. */
static void paint(const struct piece *piece, int count, int limit, char *bar)
{
    memset(bar, ' ', BAR);
    bar[BAR] = '\0';
    for (int small = 0; small < 2; small++)
        for (int i = 0; i < count; i++) {
            int64_t from = (int64_t)piece[i].offset * BAR / limit, to = (int64_t)piece[i].end * BAR / limit;
            int stages = piece[i].region && piece[i].region->count ? piece[i].region->count : 1;
            int each = (piece[i].end - piece[i].offset) / stages;
            bool tiny = (int64_t)(piece[i].end - piece[i].offset) * BAR < limit;
            if (tiny != (small == 1))
                continue;
            if (tiny) {
                if (piece[i].region)
                    bar[from < BAR ? from : BAR - 1] = letter_of(&piece[i]);
                continue;
            }
            for (int64_t c = from; c < to && c < BAR; c++) {
                int64_t byte = c * limit / BAR + limit / BAR / 2 - piece[i].offset;
                bool odd = piece[i].region && each && byte >= 0 && byte / each % 2 == 1;
                bar[c] = (char)(letter_of(&piece[i]) + (odd ? 'a' - 'A' : 0));
            }
        }
}

static void print_stages(const struct plan *p, const struct plan_ring *ring)
{
    const struct plan_shared *column[10];
    int columns = 0;
    for (int i = 0; i < ring->tensor_count && columns < 8; i++)
        if (plan_region(p, ring, ring->tensor[i]))
            column[columns++] = plan_region(p, ring, ring->tensor[i]);
    if (ring->full_shared >= 0)
        column[columns++] = &p->shared[ring->full_shared];
    if (ring->empty_shared >= 0)
        column[columns++] = &p->shared[ring->empty_shared];
    if (!columns || ring->filler == PLAN_FILL_THREADS || ring->filler == PLAN_FILL_OWN)
        return;
    printf("\n  ring %s\n  %5s", ring->name, "stage");
    for (int i = 0; i < columns; i++)
        printf("  %10s", column[i]->name);
    putchar('\n');
    for (int s = 0; s < ring->stages; s++) {
        printf("  %5d", s);
        for (int i = 0; i < columns; i++)
            printf("  %10d", column[i]->offset + s * (column[i]->bytes / (column[i]->count ? column[i]->count : 1)));
        putchar('\n');
    }
}

static void print_head(const struct compile_unit *unit, char *out, size_t room)
{
    const struct plan *p = &unit->plan;
    snprintf(out, room, "kernel %s on %s%s%s", p->kernel, p->arch, p->variant && *p->variant ? ", variant " : "",
             p->variant ? p->variant : "");
}

static void print_map(const struct compile_unit *unit, const struct piece *piece, int count)
{
    const struct plan *p = &unit->plan;
    const struct arch *a = unit->arch;
    char head[256], what[256], bar[BAR + 1];
    print_head(unit, head, sizeof head);
    printf("%s: %d bytes of shared memory of %d that a block may have\n", head, p->launch.shared_bytes,
           a->shared_limit);
    printf("a multiprocessor has %d and keeps %d a block: there is room for %d block%s\n\n", a->shared_per_sm,
           a->shared_reserved, a->shared_per_sm / (p->launch.shared_bytes + a->shared_reserved),
           a->shared_per_sm / (p->launch.shared_bytes + a->shared_reserved) == 1 ? "" : "s");
    printf("     %-12s%8s%8s%8s%6s  holds\n", "region", "offset", "end", "bytes", "align");
    for (int i = 0; i < count; i++) {
        const struct plan_shared *r = piece[i].region;
        describe(p, &piece[i], what, sizeof what);
        printf("  %s%c%s  %-12s%8d%8d%8d", r ? show_paint(piece[i].letter) : "", letter_of(&piece[i]),
               r ? show_unpaint() : "",
               r                 ? r->name
               : piece[i].unused ? "unused"
                                 : "-",
               piece[i].offset, piece[i].end, piece[i].end - piece[i].offset);
        if (r)
            printf("%6d", r->align);
        else
            printf("%6s", "");
        printf(*what ? "  %s\n" : "\n", what);
    }
    paint(piece, count, a->shared_limit, bar);
    printf("\n  a character is %d bytes; neighbouring stages are told apart by large and small letters\n  |",
           a->shared_limit / BAR);
    for (int i = 0; i < BAR; i++) {
        int letter = bar[i] >= 'a' ? bar[i] - 'a' : bar[i] - 'A';
        bool colour = letter >= 0 && letter < LETTERS;
        printf("%s%c%s", colour ? show_paint(letter) : "", bar[i], colour ? show_unpaint() : "");
    }
    printf("|\n");
    for (int g = 0; g < p->ring_count; g++)
        print_stages(p, &p->ring[g]);
}

enum { WIDTH = 1000, LEFT = 30, BAR_TOP = 70, BAR_HEIGHT = 60, LINE_HEIGHT = 20 };

static int draw(struct compile *c, const struct compile_unit *unit, const struct piece *piece, int count,
                const char *path, struct tw_error *error)
{
    struct svg svg = {.rt = &c->rt};
    const struct plan *p = &unit->plan;
    int limit = unit->arch->shared_limit, top = BAR_TOP + BAR_HEIGHT + 60;
    char head[256], what[256], note[600];
    print_head(unit, head, sizeof head);
    svg_begin(&svg, WIDTH + 2 * LEFT, top + LINE_HEIGHT * (count + 1) + 10, head);
    svg_text(&svg, LEFT, 24, 15, SVG_LEFT, "%s: shared memory of a block", head);
    svg_text(&svg, LEFT, 46, 12, SVG_LEFT, "%d bytes of %d that a block may have", p->launch.shared_bytes, limit);
    for (int i = 0; i < count; i++) {
        const struct plan_shared *r = piece[i].region;
        int stages = r && r->count ? r->count : 1, each = (piece[i].end - piece[i].offset) / stages;
        const char *fill = r ? show_colour[piece[i].letter & 7] : piece[i].unused ? "#eeeeee" : "#999999";
        describe(p, &piece[i], what, sizeof what);
        for (int s = 0; s < stages; s++) {
            int from = piece[i].offset + s * each;
            double x = LEFT + (double)from * WIDTH / limit, width = (double)each * WIDTH / limit;
            snprintf(note, sizeof note, "%s%s%d%s: bytes %d..%d; %s", r ? r->name : "unused", stages > 1 ? "[" : " ",
                     stages > 1 ? s : each, stages > 1 ? "]" : " bytes", from, from + each - 1, what);
            svg_box(&svg, x, BAR_TOP, width < 1.5 ? 0.5 : width - 1.0, BAR_HEIGHT, fill, note);
            if (r && width > 60)
                svg_text(&svg, x + width / 2, BAR_TOP + 34, 12, SVG_MIDDLE, stages > 1 ? "%s[%d]" : "%s", r->name, s);
            else if (r && width > 24)
                svg_text(&svg, x + width / 2, BAR_TOP + 34, 12, SVG_MIDDLE, "%d", s);
        }
    }
    for (int i = 0; i <= 4; i++) {
        double x = LEFT + WIDTH * i / 4.0;
        svg_line(&svg, x, BAR_TOP + BAR_HEIGHT, x, BAR_TOP + BAR_HEIGHT + 6, "#555555");
        svg_text(&svg, x, BAR_TOP + BAR_HEIGHT + 20, 11,
                 i == 0   ? SVG_LEFT
                 : i == 4 ? SVG_RIGHT
                          : SVG_MIDDLE,
                 "%d", (int)((int64_t)limit * i / 4));
    }
    svg_text(&svg, LEFT + 24, top, 12, SVG_LEFT, "%-12s%8s%9s%9s%7s  %s", "region", "offset", "end", "bytes", "align",
             "holds");
    for (int i = 0; i < count; i++) {
        const struct plan_shared *r = piece[i].region;
        const char *fill = r ? show_colour[piece[i].letter & 7] : piece[i].unused ? "#eeeeee" : "#999999";
        char align[16] = "";
        int y = top + LINE_HEIGHT * (i + 1);
        describe(p, &piece[i], what, sizeof what);
        if (r)
            snprintf(align, sizeof align, "%d", r->align);
        svg_box(&svg, LEFT, y - 11, 14, 14, fill, NULL);
        svg_text(&svg, LEFT + 24, y, 12, SVG_LEFT, "%-12s%8d%9d%9d%7s  %s",
                 r                 ? r->name
                 : piece[i].unused ? "unused"
                                   : "padding",
                 piece[i].offset, piece[i].end, piece[i].end - piece[i].offset, align, what);
    }
    svg_end(&svg);
    int status = svg_write(&svg, path, error);
    svg_free(&svg);
    return status;
}

static int show_unit(struct compile *c, const struct compile_unit *unit, const char *path)
{
    size_t count = (size_t)unit->plan.shared_count;
    const struct plan_shared **sorted = tw_alloc(&c->rt, (count + 1) * sizeof *sorted);
    struct piece *piece = tw_alloc(&c->rt, (2 * count + 2) * sizeof *piece);
    struct tw_error error;
    int status = 3;
    if (sorted && piece) {
        int pieces = lay_out(unit, sorted, piece);
        int code = path ? draw(c, unit, piece, pieces, path, &error) : TW_OK;
        status = code == TW_OK ? 0 : compile_fail(c, code, &error);
        if (status == 0)
            print_map(unit, piece, pieces);
    }
    tw_free(&c->rt, sorted);
    tw_free(&c->rt, piece);
    return status;
}

int show_smem(int argc, char **argv)
{
    struct compile_choice choice = {.kernel = NULL};
    const char *path, *picture = NULL;
    int operands;
    const struct option_row rows[] = {
        {"--kernel", OPTION_TEXT, &choice.kernel, "K", "this kernel alone"},
        {"--arch", OPTION_TEXT, &choice.arch, "A,B", "these architectures alone"},
        {"--variant", OPTION_TEXT, &choice.variant, "V", "this variant alone, by name or number from 0"},
        {"--svg", OPTION_TEXT, &picture, "FILE", "the same as a picture, of one entry point"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL},
    };
    int status = options_parse("show", rows, argc, argv, &path, 1, &operands);
    if (status >= 0)
        return status;
    if (!operands)
        return options_fault("show", "which spec?");
    struct compile c;
    status = compile_open(&c, "show", path);
    choice.own = !choice.variant; /* set-ups are shown by name, as by plan */
    if (status == 0)
        status = compile_units(&c, &choice);
    compile_report(&c);
    if (status == 0 && picture && c.unit_count > 1)
        status = options_fault("show", "--svg draws one of %d entry points; choose by --kernel, --arch and --variant",
                               c.unit_count);
    for (int i = 0; i < c.unit_count && status == 0; i++) {
        if (i)
            putchar('\n');
        status = show_unit(&c, &c.unit[i], picture);
    }
    compile_close(&c);
    return status;
}
