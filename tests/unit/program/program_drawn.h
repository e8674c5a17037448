/* Programs of all operations, drawn by a seed, for tests of the meaning. */
#ifndef TW_TESTS_PROGRAM_DRAWN_H
#define TW_TESTS_PROGRAM_DRAWN_H

#include "unit/program/program_samples.h"

/* Begins the sample with a drawn program; finish is due. */
void random_program(struct sample *s, uint64_t seed);

#endif
