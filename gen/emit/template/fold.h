/* Constants of a line's arithmetic, folded as the line is written.
 *
 * A template spells the general case, `${offset} + p.stage * ${bytes}`, and an expansion knows its numbers. What they
 * settle is settled before the compiler, or a person, reads it:
 *
 *     0 + x    x + 0    x - 0    x ^ 0    x | 0    x << 0    x >> 0    x * 1    1 * x    x / 1      x
 *     0 - x, x no product                                                                            -x
 *     x + (-8)    x * (-1)                                                                            x - 8    -x
 *     0 * x    x * 0    x % 1, where x calls nothing                                                0
 *     64 / 2    32 * 2    5 + 3    x * 2 * 4                                                        32  64  8  x * 8
 *
 * Numbers are decimal and without suffix: 0.0f and 1u stay. Every result that stands in the text fits an int, and none
 * is negative. Parentheses around what has become one operand go. Strings, comments, comparisons and lines of the
 * preprocessor stay as they are, and so does a line that is more than this understands, or has a comment within. */
#ifndef TW_GEN_EMIT_FOLD_H
#define TW_GEN_EMIT_FOLD_H

#include <stddef.h>

#include "spec/arena.h"

/* Folds one line without its end, in place: it never grows. Returns its length. */
size_t fold_line(char *line, size_t length);

/* What lines became, for when they come again, as most do in a kernel's other entry points. Zero-initialised (but for
 * the arena) is empty. Out of memory, or where another line has the place, nothing is kept. */
enum { FOLDS = 1024 };

struct folds {
    struct arena *arena;
    struct folded *line[FOLDS];
};

/* fold_line. */
size_t folds_line(struct folds *folds, char *line, size_t length);

#endif
