/* A timeline as a picture to scale, and as a trace for programs that show traces. */
#include <stdio.h>
#include <string.h>

#include "show/svg.h"
#include "show/timeline.h"

enum { LEFT = 130, RIGHT = 30, TOP = 70, ROLE_HEIGHT = 34, STAGE_HEIGHT = 18, LEGEND_COLUMN = 290 };

static void note_of(const struct timeline *t, const struct timeline_span *span, char *out, size_t room)
{
    bool is_mark = timeline_is_mark(span->kind);
    const char *barrier = span->barrier >= 0 ? t->barrier[span->barrier].name : "";
    char stage[80] = "", more[120] = "", place[200] = "";
    if (span->ring >= 0)
        snprintf(stage, sizeof stage, ", %.40s[%d]", t->plan->ring[span->ring].name, span->stage);
    else if (*barrier)
        snprintf(stage, sizeof stage, ", %s", barrier);
    if (is_mark && span->count > 1)
        snprintf(more, sizeof more, ", %llu times", (unsigned long long)span->count);
    if (span->bytes)
        snprintf(more + strlen(more), sizeof more - strlen(more), ", %llu bytes", (unsigned long long)span->bytes);
    if (span->line) {
        const char *slash = strrchr(span->file, '/');
        snprintf(place, sizeof place, ", %.150s:%u", slash ? slash + 1 : span->file, span->line);
    }
    if (span->to > span->from + !is_mark)
        snprintf(out, room, "%s%s: %s %llu..%llu%s%s", timeline_kind_name(t, span->kind), stage, t->unit,
                 (unsigned long long)span->from, (unsigned long long)(span->to - !is_mark), more, place);
    else
        snprintf(out, room, "%s%s: %.*s %llu%s%s", timeline_kind_name(t, span->kind), stage, (int)strlen(t->unit) - 1,
                 t->unit, (unsigned long long)span->from, more, place);
}

/* The least of 1, 2, 5, 10, ... that gives no more than `most` parts. */
static uint64_t tick(uint64_t steps, uint64_t most)
{
    uint64_t unit = 1;
    for (int i = 0; steps / unit > most; i++)
        unit = i % 3 == 1 ? unit / 2 * 5 : unit * 2;
    return unit;
}

/* Where steps lie in the picture. */
struct scale {
    uint64_t from, to;
    double unit;
};

static double x_of(const struct scale *s, uint64_t step)
{
    uint64_t at = step < s->from ? s->from : step > s->to ? s->to : step;
    return LEFT + (double)(at - s->from) * s->unit;
}

static void draw_row(struct svg *svg, const struct timeline *t, const struct scale *s, int r, double y)
{
    const struct timeline_row *row = &t->row[r];
    bool role = r < t->role_rows;
    double height = role ? ROLE_HEIGHT / 2.0 - 2 : STAGE_HEIGHT - 3;
    char note[512];
    svg_text(svg, LEFT - 8, y + (role ? 17 : 12), 12, SVG_RIGHT, "%s", row->name);
    if (role && row->end > s->from && row->begin < s->to)
        svg_box(svg, x_of(s, row->begin), y, x_of(s, row->end) - x_of(s, row->begin), height,
                timeline_kind_all[TIMELINE_RUN].colour, NULL);
    for (int i = 0; i < row->span_count; i++) {
        const struct timeline_span *span = &row->span[i];
        bool is_mark = timeline_is_mark(span->kind);
        if (span->from >= s->to || (is_mark ? span->to < s->from : span->to <= s->from) ||
            span->kind == TIMELINE_EXPECT)
            continue;
        double x = x_of(s, span->from), width = x_of(s, span->to + is_mark) - x;
        if (is_mark && width < 2.5)
            width = 2.5;
        note_of(t, span, note, sizeof note);
        svg_box(svg, x, is_mark ? y + height + 1 : y, width, height, timeline_kind_all[span->kind].colour, note);
        if (!is_mark || span->stage < 0 || width < 9)
            continue;
        svg->ink = "#ffffff";
        svg_text(svg, x + width / 2, y + height + 12, 10, SVG_MIDDLE, "%d", span->stage);
        svg->ink = NULL;
    }
}

/* Draws nothing where svg is NULL. Returns the line below. */
static int draw_legend(struct svg *svg, const struct timeline *t, int y, int width)
{
    bool used[TIMELINE_KIND_COUNT] = {false};
    int columns = (width - LEFT) / LEGEND_COLUMN, at = 0;
    for (int r = 0; r < t->row_count; r++)
        for (int i = 0; i < t->row[r].span_count; i++)
            used[t->row[r].span[i].kind] = true;
    used[TIMELINE_RUN] = true;
    used[TIMELINE_EXPECT] = false;
    for (int k = 0; k < TIMELINE_KIND_COUNT; k++) {
        if (!used[k])
            continue;
        int x = LEFT + at % columns * LEGEND_COLUMN, line = y + at / columns * 18;
        at++;
        if (!svg)
            continue;
        svg_box(svg, x, line - 10, 12, 12, timeline_kind_all[k].colour, NULL);
        svg_text(svg, x + 18, line, 12, SVG_LEFT, "%s", timeline_kind_name(t, (enum timeline_kind)k));
    }
    return y + (at + columns - 1) / columns * 18;
}

static void draw_numbers(struct svg *svg, const struct timeline *t, int y)
{
    for (int r = 0; r < t->role_rows; r++) {
        char line[400];
        size_t used = (size_t)snprintf(line, sizeof line, "lives %llu %s",
                                       (unsigned long long)(t->row[r].end - t->row[r].begin), t->unit);
        for (int b = 0; b < t->barrier_count && used < sizeof line; b++)
            if (t->barrier[b].waited[r])
                used += (size_t)snprintf(line + used, sizeof line - used, ", waits %llu for %s",
                                         (unsigned long long)t->barrier[b].waited[r], t->barrier[b].name);
        svg_text(svg, LEFT - 8, y + 18 * r, 12, SVG_RIGHT, "%s", t->row[r].name);
        svg_text(svg, LEFT, y + 18 * r, 12, SVG_LEFT, "%s", line);
    }
    y += 18 * t->role_rows;
    for (int g = 0; g < t->plan->ring_count; g++)
        if (timeline_has_filled(t, g)) {
            svg_text(svg, LEFT - 8, y, 12, SVG_RIGHT, "ring %s", t->plan->ring[g].name);
            svg_text(svg, LEFT, y, 12, SVG_LEFT, "%.2f of %d stages are %s, on average while it is in use",
                     t->filled[g], t->plan->ring[g].stages, timeline_filled_word(t));
            y += 18;
        }
}

int timeline_draw(const struct timeline *t, uint64_t from, uint64_t to, const char *title, const char *path,
                  struct tw_error *error)
{
    struct svg svg = {.rt = t->rt};
    struct scale scale = {from, to && to < t->steps ? to : t->steps, 1.0};
    int stages = t->row_count - t->role_rows, rows = t->role_rows * ROLE_HEIGHT + 12 + stages * STAGE_HEIGHT, y = TOP;
    uint64_t steps = scale.to > from ? scale.to - from : 1;
    double plot = steps < 2000 ? 1000.0 : steps > 12000 ? 6000.0 : (double)steps / 2;
    int width = LEFT + (int)plot + RIGHT;
    scale.unit = plot / (double)steps;
    int numbers = draw_legend(NULL, t, TOP + rows + 24, width) + 16;
    svg_begin(&svg, width, numbers + 18 * (t->role_rows + t->plan->ring_count), title);
    svg_text(&svg, 20, 24, 15, SVG_LEFT, "%s", title);
    svg_text(&svg, 20, 44, 12, SVG_LEFT, "%s", t->about);
    uint64_t unit = tick(steps, (uint64_t)(plot / 80));
    for (uint64_t step = (from + unit - 1) / unit * unit; step <= scale.to; step += unit) {
        double x = x_of(&scale, step);
        svg_line(&svg, x, TOP - 4, x, TOP + rows, "#dddddd");
        svg_text(&svg, x, TOP - 8, 10, SVG_MIDDLE, "%llu", (unsigned long long)step);
    }
    for (int r = 0; r < t->row_count; r++) {
        y += r == t->role_rows ? 12 : 0;
        draw_row(&svg, t, &scale, r, y);
        y += r < t->role_rows ? ROLE_HEIGHT : STAGE_HEIGHT;
    }
    draw_legend(&svg, t, TOP + rows + 24, width);
    draw_numbers(&svg, t, numbers);
    svg_end(&svg);
    int status = svg_write(&svg, path, error);
    svg_free(&svg);
    return status;
}

/* ---- trace ----------------------------------------------------------------------------------------------------- */

/* A string of JSON: names hold no control characters. */
static void add_letters(struct svg *out, const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text >= ' ')
            svg_add(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
}

static void add_string(struct svg *out, const char *text)
{
    svg_add(out, "\"");
    add_letters(out, text);
    svg_add(out, "\"");
}

static void trace_span(struct svg *out, const struct timeline *t, int r, const struct timeline_span *span)
{
    bool is_mark = timeline_is_mark(span->kind);
    int places = t->microseconds == 1 && t->begin == 0 ? 0 : 4; /* to 0.1 ns */
    if (span->kind == TIMELINE_FREE)
        return;
    svg_add(out, ",\n{\"ph\": \"X\", \"name\": ");
    add_string(out, timeline_kind_name(t, span->kind));
    svg_add(out, ", \"ts\": %.*f, \"dur\": %.*f, \"pid\": %llu, \"tid\": %d, \"args\": {\"count\": %llu", places,
            t->begin + (double)span->from * t->microseconds, places,
            (double)(span->to - span->from + is_mark) * t->microseconds, (unsigned long long)t->block, r,
            (unsigned long long)span->count);
    if (span->ring >= 0) {
        svg_add(out, ", \"ring\": ");
        add_string(out, t->plan->ring[span->ring].name);
        svg_add(out, ", \"stage\": %d", span->stage);
    }
    if (span->barrier >= 0) {
        svg_add(out, ", \"barrier\": ");
        add_string(out, t->barrier[span->barrier].name);
    }
    if (span->bytes)
        svg_add(out, ", \"bytes\": %llu", (unsigned long long)span->bytes);
    if (span->line) {
        svg_add(out, ", \"source\": ");
        add_string(out, span->file);
        svg_add(out, ", \"line\": %u", span->line);
    }
    svg_add(out, "}}");
}

int timeline_trace(const struct timeline *timeline, int count, const char *title, const char *path,
                   struct tw_error *error)
{
    struct svg out = {.rt = timeline->rt}; /* text is text */
    for (int i = 0; i < count; i++) {
        const struct timeline *t = &timeline[i];
        svg_add(&out, i ? ",\n" : "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n");
        svg_add(&out, "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %llu, \"args\": {\"name\": ",
                (unsigned long long)t->block);
        if (count > 1) {
            svg_add(&out, "\"block %llu of ", (unsigned long long)t->block);
            add_letters(&out, title);
            svg_add(&out, "\"}}");
        } else {
            add_string(&out, title);
            svg_add(&out, "}}");
        }
        for (int r = 0; r < t->row_count; r++) {
            svg_add(&out,
                    ",\n{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": %llu, \"tid\": %d, \"args\": {\"name\": ",
                    (unsigned long long)t->block, r);
            add_string(&out, t->row[r].name);
            svg_add(&out, "}}");
            for (int s = 0; s < t->row[r].span_count; s++)
                trace_span(&out, t, r, &t->row[r].span[s]);
        }
    }
    svg_add(&out, "\n]}\n");
    int status = svg_write(&out, path, error);
    svg_free(&out);
    return status;
}
