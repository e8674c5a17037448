/* What kernels of random programs came to of the house's closed tables: every field of how a kernel runs (schema.def
 * and those that are no plain fields) as each lowering reads it, and every row of place_ops.def. What none came to is a
 * hole, but for random_uncovered.def. */
#ifndef TW_TESTS_RANDOM_TABLES_H
#define TW_TESTS_RANDOM_TABLES_H

#include <stdio.h>

#include "compile/compile.h"

/* "hit row.NAME" for each row that a step of the Plan is. */
void random_tables_rows(const struct compile_unit *unit, FILE *out);

/* Of a kernel that ran: "hit read.FIELD LOWERING" for each field that its lowering heeds, and "hit changed.FIELD
 * LOWERING" where it says otherwise than the spec's first kernel. */
void random_tables_fields(const struct compile_unit *unit, const struct spec_kernel *first, FILE *out);

/* How often it was hit. */
typedef int random_hits(void *context, const char *name);

/* Comments: the holes of a run of so many programs, a line each kind, and what random_uncovered.def says of others.
 * Fields from 100 programs on, by lowering from 500 on, and then rows. */
void random_tables_print(random_hits *hits, void *context, int programs);

#endif
