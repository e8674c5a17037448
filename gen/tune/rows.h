/* SPEC.tuned.lua as a text. */
#ifndef TW_GEN_TUNE_ROWS_H
#define TW_GEN_TUNE_ROWS_H

#include "compile/compile.h"
#include "spec/arena.h"
#include "spec/spec.h"
#include "spec/tuned.h"

/* A row of a kernel, whether it stands in the file or is new. */
struct tune_row {
    int kernel; /* position in spec.kernel */
    struct spec_tuned tuned;
};

struct tune_rows {
    struct tune_row *row;
    int count;
};

/* The rows that the spec was read with. 0 or 3. */
int tune_rows_of(const struct spec *spec, struct tune_rows *rows, struct arena *arena);

/* Adds the row; it takes the place of one of the same kernel, GPU, architecture, sizes and mode. 0 or 3. */
int tune_rows_put(const struct spec *spec, struct tune_rows *rows, struct tune_row row, struct arena *arena);

/* The whole file: by kernel as the spec has them, GPU, architecture, then by sizes and mode, a row a line. Reading it
 * gives the same rows, and those the same text. NULL: out of memory. */
char *tune_rows_text(const struct spec *spec, struct tune_rows *rows, struct arena *arena);

/* Writes SPEC.tuned.lua of the compile's spec, all of it or nothing. Exit status. */
int tune_rows_write(struct compile *c, struct tune_rows *rows, struct arena *arena);

#endif
