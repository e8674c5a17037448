/* The sizes of a run: the spec's own, with what --set puts over them. */
#ifndef TW_GEN_VERIFY_SIZES_H
#define TW_GEN_VERIFY_SIZES_H

#include "common/options.h"
#include "compile/compile.h"

/* Values of all symbols, one row a set; sm_count, the last symbol, is 0. */
struct sizes {
    int64_t *value;
    int count, width;
};

/* Checks the texts of --set ("M=512,N=64/128"; "/" separates values that are all tried) against the spec's dims. 0, or
 * 2 with the fault on stderr. */
int sizes_check(const struct compile *c, const struct option_list *set);

/* The sets of one kernel: for each of the spec's run sizes and each --set, every combination of values, no two alike in
 * the symbols that the kernel uses. Symbols that it does not use are -1. Exit status: 2 (on stderr) where a symbol has
 * no value. */
int sizes_list(struct compile *c, const struct compile_unit *unit, const struct option_list *set,
               struct sizes *out);

/* The same of its `bench` sizes. */
int sizes_list_bench(struct compile *c, const struct compile_unit *unit, const struct option_list *set,
                     struct sizes *out);
void sizes_free(struct compile *c, struct sizes *sizes);

/* "M=257,N=512,K=192": the symbols that the kernel uses. Cut at size. */
void sizes_print(const struct compile_unit *unit, const int64_t *symbol, char *text, size_t size);

#endif
