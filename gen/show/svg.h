/* A picture as SVG text: plain shapes with their colours, one font, no script, nothing from outside. */
#ifndef TW_GEN_SHOW_SVG_H
#define TW_GEN_SHOW_SVG_H

#include <stdbool.h>
#include <stddef.h>

#include "hooks.h"

/* Zero-initialised but for rt is empty. Where memory runs out `failed` is set and the rest does nothing. */
struct svg {
    struct tw_runtime *rt;
    char *text;
    size_t length, room;
    bool failed;
    const char *ink;   /* colour of the texts that follow; NULL: black */
    const char *class; /* of the shapes that follow, by which a style sheet finds them; NULL: none */
};

enum svg_anchor { SVG_LEFT, SVG_MIDDLE, SVG_RIGHT };

/* Text as it stands, without escapes. */
void svg_add(struct svg *svg, const char *format, ...) TW_PRINTF(2, 3);

/* Text between tags: of XML's own characters their names, control characters but a line's end left out. */
void svg_escape(struct svg *svg, const char *text);

/* On white, a box of the class that is set. */
void svg_begin(struct svg *svg, int width, int height, const char *title);
void svg_end(struct svg *svg);

/* A box; fill is a colour. With a note, which pointers show (its text is escaped here), or NULL. */
void svg_box(struct svg *svg, double x, double y, double width, double height, const char *fill, const char *note);
void svg_line(struct svg *svg, double x0, double y0, double x1, double y1, const char *colour);

/* One line of text whose baseline is at y; size in pixels. */
void svg_text(struct svg *svg, double x, double y, int size, enum svg_anchor anchor, const char *format, ...)
    TW_PRINTF(6, 7);

/* Writes what svg_end closed to a file, whole or not at all. A status. */
int svg_write(struct svg *svg, const char *path, struct tw_error *error);
void svg_free(struct svg *svg);

#endif
