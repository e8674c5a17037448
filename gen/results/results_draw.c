/* A picture of results: problems as rows, one lane a back end, so that no label meets another. Marks tell back ends
 * apart by shape and colour; the colours can be read on white and on black, what is neither is turned by the page's
 * style sheet. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "results/results_internal.h"

enum {
    CHAR = 8, /* pixels of a character of 12, rounded up */
    PLOT = 640,
    RIGHT = 96,
    LANE = 14,
    BETWEEN = 8, /* rows */
    TOP = 64,
    AXIS = 20,
    TICKS_MOST = 24
};

static const char style[] =
    "<style>@media (prefers-color-scheme: dark) { .page { fill: #0d1117 } .ink { fill: #e6edf3 } "
    ".dim { fill: #9aa4ae } .band { fill: #161b22 } .grid { stroke: #30363d } "
    ".axis { stroke: #9aa4ae } }</style>\n";
static const char ink[] = "#1f2328", dim[] = "#59636e", band[] = "#f4f6f8", grid[] = "#d8dee4", line_ink[] = "#59636e";
static const char *const own_colour[] = {"#d1495b", "#e5702a", "#b5529b"};
static const char *const peer_colour[] = {"#3b82c4", "#2a9d6f", "#b08a1e", "#8467c9", "#7d8590", "#17a2a2"};

/* From values to pixels. */
struct axis {
    double low, high, from;
    bool logarithmic;
    double tick[TICKS_MOST];
    int ticks;
};

static double x_of(const struct axis *a, double value)
{
    double part = a->logarithmic ? log(value / a->low) / log(a->high / a->low) : (value - a->low) / (a->high - a->low);
    return a->from + PLOT * part;
}

static void add_tick(struct axis *a, double value)
{
    if (a->ticks < TICKS_MOST && value >= a->low * (1 - 1e-9) && value <= a->high * (1 + 1e-9))
        a->tick[a->ticks++] = value;
}

/* 1, 2 and 5 of each decade, or where these are many its beginning alone; else round steps. */
static void find_ticks(struct axis *a)
{
    double decades = log10(a->high / (a->low > 0 ? a->low : 1e-9));
    a->ticks = 0;
    if (a->logarithmic) {
        for (int d = (int)floor(log10(a->low)); d <= (int)ceil(log10(a->high)); d++)
            for (int m = 1; m <= (decades > 5 ? 1 : 5); m += m == 1 ? 1 : 3)
                add_tick(a, m * pow(10, d));
        return;
    }
    double step = pow(10, floor(log10((a->high - a->low) / 6)));
    while ((a->high - a->low) / step > 10)
        step *= (a->high - a->low) / step > 20 ? 5 : 2;
    for (double i = ceil(a->low / step - 1e-9); i * step <= a->high * (1 + 1e-9); i++)
        add_tick(a, i * step + 0.0); /* no -0 */
}

/* What is drawn of a row: a value and its spread, least and most 0 where that is not told. False: nothing. */
struct value {
    double at, least, most;
};

struct panel {
    const struct results_view *view;
    enum results_measure measure;
    bool micro, bytes; /* latencies in us, throughput in GB/s */
    int lanes;         /* of a row */
    struct axis axis;
    double y; /* of its first row */
};

static bool value_of(const struct panel *p, const struct results_cell *cell, struct value *v)
{
    const struct results_row *row = cell->row;
    *v = (struct value){0, 0, 0};
    if (!row)
        return false;
    switch (p->measure) {
    case RESULTS_LATENCY: {
        double scale = p->micro ? 1e3 : 1;
        *v = (struct value){row->latency * scale, row->least * scale, row->most * scale};
        break;
    }
    case RESULTS_THROUGHPUT: /* the least time is the most throughput */
        v->at = p->bytes ? row->gbs : row->tflops;
        v->least = row->most > 0 ? v->at * row->latency / row->most : 0;
        v->most = row->least > 0 ? v->at * row->latency / row->least : 0;
        break;
    case RESULTS_RATIO:
    case RESULTS_MEASURES:
        v->at = cell->apart ? 0 : row->ratio;
        break;
    }
    return v->at > 0;
}

/* The scale of a panel; false where there is nothing on it. */
static bool make_axis(struct panel *p)
{
    double low = 0, high = 0;
    bool ratio = p->measure == RESULTS_RATIO;
    for (int l = 0; l < p->view->lines; l++)
        for (int c = 0; c < p->view->columns; c++) {
            struct value v;
            if (!value_of(p, &p->view->line[l].cell[c], &v))
                continue;
            double least = v.least > 0 ? v.least : v.at, most = v.most > 0 ? v.most : v.at;
            low = low == 0 || least < low ? least : low;
            high = most > high ? most : high;
        }
    if (high == 0)
        return false;
    if (ratio) {
        low = fmin(low, 0.95) - 0.01;
        high = fmax(high, 1.05) + 0.01;
    }
    p->axis.logarithmic = high / low > (ratio ? 4 : 12);
    p->axis.low = p->axis.logarithmic ? low / 1.1 : ratio ? low : 0;
    p->axis.high = ratio ? high : p->axis.logarithmic ? high * 1.1 : high * 1.03;
    find_ticks(&p->axis);
    return true;
}

/* Bytes tell more than operations where a kernel has few of these for each byte. */
static bool counts_bytes(const struct results_view *v)
{
    enum { OPERATIONS_A_BYTE = 16 };
    bool few = true, bytes = false;
    for (int l = 0; l < v->lines; l++)
        for (int c = 0; c < v->columns; c++) {
            const struct results_row *row = v->line[l].cell[c].row;
            bytes = bytes || (row && row->gbs > 0);
            few =
                few && !(row && row->tflops > 0 && (row->gbs <= 0 || row->tflops * 1e3 > OPERATIONS_A_BYTE * row->gbs));
        }
    return bytes && few;
}

static bool make_panel(struct panel *p, const struct results_view *view, enum results_measure measure)
{
    *p = (struct panel){.view = view, .measure = measure, .micro = true};
    int own = 0;
    for (int c = 0; c < view->columns; c++) {
        own += view->column[c].ours;
        for (int l = 0; l < view->lines; l++)
            p->micro = p->micro && (!view->line[l].cell[c].row || view->line[l].cell[c].row->latency < 10);
    }
    p->bytes = counts_bytes(view);
    p->lanes = measure == RESULTS_RATIO ? own : view->columns;
    return p->lanes > 0 && make_axis(p);
}

static const char *colour_of(const struct results_view *v, int column)
{
    int before = 0;
    for (int c = 0; c < column; c++)
        before += v->column[c].ours == v->column[column].ours;
    return v->column[column].ours ? own_colour[before % 3] : peer_colour[before % 6];
}

/* Circles are this program's; peers have a shape each. Hollow: of another run. */
static void draw_mark(struct svg *svg, const struct results_view *v, int column, double x, double y, bool hollow,
                      const char *note)
{
    static const char *const shape[] = {"M%.1f %.1fm-4 -4h8v8h-8z", "M%.1f %.1fm0 -5l5 5l-5 5l-5 -5z",
                                        "M%.1f %.1fm0 -5l5 9h-10z", "M%.1f %.1fm0 5l5 -9h-10z",
                                        "M%.1f %.1fm-2 -5h4v3h3v4h-3v3h-4v-3h-3v-4h3z"};
    const char *colour = colour_of(v, column);
    char path[120];
    int peer = column, own = v->column[column].ours;
    const char *format = own ? "M%.1f %.1fm-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z" : shape[peer % 5];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(path, sizeof path, format, x, y);
#pragma GCC diagnostic pop
    svg_add(svg, "<path d=\"%s\" fill=\"%s\" stroke=\"%s\"", path, hollow ? "none" : colour, colour);
    if (!note) {
        svg_add(svg, "/>\n");
        return;
    }
    svg_add(svg, "><title>");
    svg_escape(svg, note);
    svg_add(svg, "</title></path>\n");
}

static void draw_text(struct svg *svg, double x, double y, int size, enum svg_anchor anchor, bool strong,
                      const char *text)
{
    svg->ink = strong ? ink : dim;
    svg->class = strong ? "ink" : "dim";
    svg_text(svg, x, y, size, anchor, "%s", text);
    svg->ink = svg->class = NULL;
}

static void draw_line(struct svg *svg, double x0, double y0, double x1, double y1, bool strong)
{
    svg->class = strong ? "axis" : "grid";
    svg_line(svg, x0, y0, x1, y1, strong ? line_ink : grid);
    svg->class = NULL;
}

static int row_height(const struct panel *p)
{
    return p->lanes * LANE + BETWEEN;
}

/* Lines and their numbers, above and below the rows. */
static void draw_axis(struct svg *svg, const struct panel *p)
{
    const struct axis *a = &p->axis;
    double bottom = p->y + row_height(p) * p->view->lines, last = -1e9;
    for (int i = 0; i < a->ticks; i++) {
        char text[32];
        double x = x_of(a, a->tick[i]);
        bool one = p->measure == RESULTS_RATIO && fabs(a->tick[i] - 1) < 1e-9;
        if (!one)
            draw_line(svg, x, p->y, x, bottom, false);
        int length = snprintf(text, sizeof text, "%.6g", a->tick[i]);
        if (x - last < (length + 1) * CHAR)
            continue;
        last = x;
        draw_text(svg, x, p->y - 6, 11, SVG_MIDDLE, false, text);
        draw_text(svg, x, bottom + 14, 11, SVG_MIDDLE, false, text);
    }
    if (p->measure == RESULTS_RATIO)
        draw_line(svg, x_of(a, 1), p->y - 3, x_of(a, 1), bottom + 3, true);
}

static void put_value(char *out, size_t size, const struct panel *p, double value)
{
    snprintf(out, size, "%.*f",
             p->measure == RESULTS_RATIO || value < 10 ? 3
             : value < 100                             ? 2
             : value < 1000                            ? 1
                                                       : 0,
             value);
}

static const char *unit_of(const struct panel *p)
{
    return p->measure == RESULTS_RATIO        ? ""
           : p->measure == RESULTS_THROUGHPUT ? (p->bytes ? " GB/s" : " TFLOP/s")
                                              : (p->micro ? " us" : " ms");
}

static void draw_spread(struct svg *svg, const struct panel *p, const struct value *v, const char *colour, double y)
{
    if (v->least <= 0 || v->most <= 0)
        return;
    double x0 = x_of(&p->axis, v->least), x1 = x_of(&p->axis, v->most);
    svg_line(svg, x0, y, x1, y, colour);
    svg_line(svg, x0, y - 3, x0, y + 3, colour);
    svg_line(svg, x1, y - 3, x1, y + 3, colour);
}

/* One back end on one problem. */
static void draw_cell(struct svg *svg, const struct panel *p, const char *label, int line, int column, double y)
{
    const struct results_view *view = p->view;
    const struct results_cell *cell = &view->line[line].cell[column];
    bool ratio = p->measure == RESULTS_RATIO, own = view->column[column].ours;
    char text[64], note[900];
    struct value v;
    if (!value_of(p, cell, &v))
        return;
    double x = x_of(&p->axis, v.at);
    const char *colour = colour_of(view, column);
    put_value(text, sizeof text, p, v.at);
    snprintf(note, sizeof note, "%s, %s: %s%s%s", view->column[column].name, label, text, unit_of(p),
             cell->apart ? ", measured in another run" : "");
    if (ratio && own) {
        double one = x_of(&p->axis, 1);
        svg_box(svg, fmin(one, x), y - 3, fabs(x - one), 6, colour, NULL);
        draw_text(svg, p->axis.from + PLOT + 60, y + 4, 12, SVG_RIGHT, true, text);
    } else if (!ratio) {
        double end = v.most > 0 ? x_of(&p->axis, v.most) : x;
        draw_spread(svg, p, &v, colour, y);
        draw_text(svg, fmax(end, x + 4) + 6, y + 4, 10, SVG_LEFT, own, text);
    }
    draw_mark(svg, view, column, x, y, cell->apart || (ratio && !own), note);
}

/* False: no memory. */
static bool draw_rows(struct svg *svg, const struct panel *p)
{
    const struct results_view *v = p->view;
    for (int l = 0; l < v->lines; l++) {
        double y = p->y + row_height(p) * l;
        char *label = results_label(v, &v->line[l]);
        if (!label)
            return false;
        svg->class = "band";
        if (l % 2 == 0)
            svg_box(svg, 12, y, p->axis.from + PLOT + RIGHT - 24, row_height(p), band, NULL);
        svg->class = NULL;
        draw_text(svg, p->axis.from - 14, y + row_height(p) / 2.0 + 4, 12, SVG_RIGHT, true, label);
        tw_free(v->rt, label);
    }
    draw_axis(svg, p);
    for (int l = 0; l < v->lines; l++) {
        char *label = results_label(v, &v->line[l]);
        int own = 0;
        if (!label)
            return false;
        for (int c = 0; c < v->columns; c++) {
            int lane = p->measure != RESULTS_RATIO ? c : v->column[c].ours ? own++ : 0;
            draw_cell(svg, p, label, l, c, p->y + row_height(p) * l + BETWEEN / 2.0 + LANE * (lane + 0.5));
        }
        tw_free(v->rt, label);
    }
    return true;
}

/* Where nothing is drawn (svg NULL) it measures. Returns the height. */
static int draw_legend(struct svg *svg, const struct panel *p, double y)
{
    const struct results_view *v = p->view;
    double x = 20, right = p->axis.from + PLOT + RIGHT;
    int height = 20;
    for (int c = 0; c < v->columns; c++) {
        char text[340];
        struct results_summary s = results_sum_up(v, c);
        int length = snprintf(text, sizeof text, "%s", v->column[c].name);
        if (p->measure == RESULTS_RATIO && v->column[c].ours && s.count)
            length += snprintf(text + length, sizeof text - (size_t)length, ": geometric mean %.3f, least %.3f, of %d",
                               s.mean, s.least, s.count);
        double wide = 24 + length * CHAR + 16;
        if (x + wide > right && x > 20) {
            x = 20;
            height += 20;
        }
        if (svg) {
            draw_mark(svg, v, c, x + 8, y + height - 10, p->measure == RESULTS_RATIO && !v->column[c].ours, NULL);
            draw_text(svg, x + 20, y + height - 6, 12, SVG_LEFT, true, text);
        }
        x += wide;
    }
    return height;
}

static bool has_apart(const struct results_view *v)
{
    for (int l = 0; l < v->lines; l++)
        for (int c = 0; c < v->columns; c++)
            if (v->line[l].cell[c].row && v->line[l].cell[c].apart)
                return true;
    return false;
}

/* The same twice: first it measures. Returns the height; 0: no memory. */
static int draw_panel(struct svg *svg, struct panel *p, double y)
{
    const struct results_view *v = p->view;
    char text[600];
    snprintf(text, sizeof text, "%s (%s)%s%s%s%s%s%s", v->kernel, v->arch, v->names ? ", " : "",
             v->names ? v->names : "", *unit_of(p) ? ";" : "", unit_of(p), p->axis.logarithmic ? ", logarithmic" : "",
             p->measure != RESULTS_RATIO && has_apart(v) ? "; hollow: measured in another run" : "");
    if (svg)
        draw_text(svg, 20, y + 16, 14, SVG_LEFT, true, text);
    int height = 24 + draw_legend(svg, p, y + 24) + AXIS;
    p->y = y + height;
    if (svg && !draw_rows(svg, p))
        return 0;
    return height + row_height(p) * v->lines + AXIS + 20;
}

static void put_title(const struct panel *p, char *title, size_t size, char *more, size_t room)
{
    static const char *const word[] = {"Latency", "Throughput", "Ratio to the best peer"};
    static const char *const better[] = {"less is better", "more is better", "above 1 is faster"};
    snprintf(title, size, "%s, %s, %s", word[p->measure], p->view->gpu, p->view->mode);
    if (p->measure == RESULTS_RATIO)
        snprintf(more, room, "the best peer's latency divided by this one's, in one run; %s", better[p->measure]);
    else
        snprintf(more, room, "medians; whiskers from the least to the most; %s", better[p->measure]);
}

/* Characters of the longest label. */
static size_t label_length(const struct results_view *v)
{
    size_t most = 12;
    for (int l = 0; l < v->lines; l++) {
        const struct results_row *row = v->line[l].first;
        size_t length = strlen(v->names || !*row->names ? row->values : row->size);
        most = length > most ? length : most;
    }
    return most;
}

bool results_draw(struct svg *svg, const struct results_view *const *view, int count, enum results_measure measure)
{
    struct panel *panel = tw_alloc(svg->rt, sizeof *panel * (size_t)count);
    char title[700], more[200];
    size_t longest = 0;
    int panels = 0, height = TOP;
    if (!panel) {
        svg->failed = true;
        return false;
    }
    for (int i = 0; i < count; i++)
        if (make_panel(&panel[panels], view[i], measure)) {
            size_t length = label_length(view[i]);
            longest = length > longest ? length : longest;
            panels++;
        }
    for (int i = 0; i < panels; i++) {
        panel[i].axis.from = 34 + (double)longest * 7.25;
        height += draw_panel(NULL, &panel[i], 0);
    }
    if (panels) {
        put_title(&panel[0], title, sizeof title, more, sizeof more);
        svg->class = "page";
        svg_begin(svg, (int)panel[0].axis.from + PLOT + RIGHT, height, title);
        svg->class = NULL;
        svg_add(svg, "%s", style);
        draw_text(svg, 20, 28, 16, SVG_LEFT, true, title);
        draw_text(svg, 20, 48, 12, SVG_LEFT, false, more);
    }
    double y = TOP;
    for (int i = 0; i < panels; i++) {
        int drawn = draw_panel(svg, &panel[i], y);
        svg->failed = svg->failed || !drawn;
        y += drawn;
    }
    if (panels)
        svg_end(svg);
    tw_free(svg->rt, panel);
    return panels > 0;
}
