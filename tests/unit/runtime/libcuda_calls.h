/* What tests of the emulated driver have in common: a module of PTX by hand, a context, what is said. */
#ifndef TW_TESTS_LIBCUDA_CALLS_H
#define TW_TESTS_LIBCUDA_CALLS_H

#include "libcuda/internal.h"

enum { N = 64 }; /* threads of a launch */

/* scale(x, by): x[tid] *= by, and adds one to `runs`; runs_of(x): x[0] = runs; race(x): shared memory without a
   barrier. */
extern const char libcuda_ptx[];
extern struct cu_module *module; /* of that text */
extern struct cu_function *scale, *runs_of, *race;

/* Set up and tear down, with which cmocka runs a group. Everything goes back, so that a leak is the library's. */
int libcuda_opens(void **state);
int libcuda_closes(void **state);

int launch(struct cu_function *function, struct cu_stream *stream, void **arguments);

/* What is said on standard error while `run` runs. */
extern char said[8192];
int quiet(int (*run)(void));

/* A function of the host's: adds one to an int. */
void add_one(void *data);

#endif
