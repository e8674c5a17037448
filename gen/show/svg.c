#include "show/svg.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/files.h"

static void append(struct svg *svg, const char *bytes, size_t count)
{
    if (svg->failed)
        return;
    if (svg->length + count + 1 > svg->room) {
        size_t room = svg->room ? svg->room : 4096;
        while (room < svg->length + count + 1)
            room *= 2;
        char *grown = tw_realloc(svg->rt, svg->text, room);
        if (!grown) {
            svg->failed = true;
            return;
        }
        svg->text = grown;
        svg->room = room;
    }
    memcpy(svg->text + svg->length, bytes, count);
    svg->length += count;
    svg->text[svg->length] = '\0';
}

static void add_list(struct svg *svg, const char *format, va_list list)
{
    char line[1024];
    int length = vsnprintf(line, sizeof line, format, list);
    if (length > 0)
        append(svg, line, (size_t)length < sizeof line ? (size_t)length : sizeof line - 1);
}

void svg_add(struct svg *svg, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    add_list(svg, format, list);
    va_end(list);
}

void svg_escape(struct svg *svg, const char *text)
{
    for (; *text; text++) {
        if (*text == '<')
            append(svg, "&lt;", 4);
        else if (*text == '>')
            append(svg, "&gt;", 4);
        else if (*text == '&')
            append(svg, "&amp;", 5);
        else if ((unsigned char)*text >= ' ' || *text == '\n')
            append(svg, text, 1);
    }
}

static void add_class(struct svg *svg)
{
    if (svg->class)
        svg_add(svg, " class=\"%s\"", svg->class);
}

void svg_begin(struct svg *svg, int width, int height, const char *title)
{
    svg_add(svg, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    svg_add(svg, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" ", width,
            height, width, height);
    svg_add(svg, "font-family=\"monospace\" font-size=\"12\">\n<title>");
    svg_escape(svg, title);
    svg_add(svg, "</title>\n");
    svg_box(svg, 0, 0, width, height, "#ffffff", NULL);
}

void svg_end(struct svg *svg)
{
    svg_add(svg, "</svg>\n");
}

void svg_box(struct svg *svg, double x, double y, double width, double height, const char *fill, const char *note)
{
    svg_add(svg, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"", x, y, width, height, fill);
    add_class(svg);
    if (!note) {
        svg_add(svg, "/>\n");
        return;
    }
    svg_add(svg, "><title>");
    svg_escape(svg, note);
    svg_add(svg, "</title></rect>\n");
}

void svg_line(struct svg *svg, double x0, double y0, double x1, double y1, const char *colour)
{
    svg_add(svg, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"", x0, y0, x1, y1, colour);
    add_class(svg);
    svg_add(svg, "/>\n");
}

void svg_text(struct svg *svg, double x, double y, int size, enum svg_anchor anchor, const char *format, ...)
{
    static const char *const word[] = {"start", "middle", "end"};
    char line[512];
    va_list list;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    svg_add(svg, "<text x=\"%.1f\" y=\"%.1f\"", x, y);
    if (size != 12)
        svg_add(svg, " font-size=\"%d\"", size);
    if (anchor != SVG_LEFT)
        svg_add(svg, " text-anchor=\"%s\"", word[anchor]);
    if (svg->ink)
        svg_add(svg, " fill=\"%s\"", svg->ink);
    add_class(svg);
    svg_add(svg, " xml:space=\"preserve\">");
    svg_escape(svg, line);
    svg_add(svg, "</text>\n");
}

int svg_write(struct svg *svg, const char *path, struct tw_error *error)
{
    struct file_set files = {.rt = svg->rt};
    if (svg->failed)
        return tw_fail(error, TW_ERROR_MEMORY, "out of memory");
    int status = files_add(&files, NULL, path, svg->text, svg->length, false, error);
    if (status == TW_OK)
        status = files_commit(&files, error);
    files_free(&files);
    return status;
}

void svg_free(struct svg *svg)
{
    tw_free(svg->rt, svg->text);
    svg->text = NULL;
    svg->length = svg->room = 0;
}
