/* The naive twin of a program's meaning: element by element, recursively, in fp32, sums in random order, products and
 * sums fused at random. What a lowering may compute, so every result must lie within the meaning's bounds; and where
 * arithmetic is exact, the same numbers. */
#ifndef TW_TESTS_PROGRAM_NAIVE_H
#define TW_TESTS_PROGRAM_NAIVE_H

#include "unit/check.h"

#include "program/program.h"

/* The value as an element of the type holds it. */
double naive_element(enum tw_dtype dtype, double value);

/* All items, in order. out[i] receives output i. down: by operation, loops from the last turn to the first; NULL. */
void naive_run(const struct program *p, const struct spec_kernel *kernel, const struct program_data *data,
               const bool *down, double *const *out, uint64_t seed);

/* The last item and of the others each `every`th, the first of which the seed says: of a program whose items store what
 * no other one does. Elements of items left out stay as they are. */
void naive_run_some(const struct program *p, const struct spec_kernel *kernel, const struct program_data *data,
                    const bool *down, double *const *out, uint64_t seed, int every);

#endif
