/* Conditions on coordinates as sums: what interval arithmetic over a tile asks. */
#ifndef TW_GEN_LOWER_DERIVE_LINEAR_H
#define TW_GEN_LOWER_DERIVE_LINEAR_H

#include "lower/derive/work.h"

enum { LINEAR_MOST_TERMS = 12 };

/* constant + sum of coefficient x node, nodes of the work graph, each once. */
struct linear {
    int64_t constant;
    int node[LINEAR_MOST_TERMS], count;
    int64_t coefficient[LINEAR_MOST_TERMS];
    bool fails; /* it has more terms */
};

/* The condition as l >= 0. False where it is none of the four comparisons of integers. */
bool linear_difference(const struct work *w, int condition, struct linear *l);

/* The integer as such a sum. False where it has more terms. */
bool linear_sum(const struct work *w, int node, struct linear *l);

/* Whether the condition holds in columns first..last: 1 in all, 0 in none; -1: neither, or it goes by more. */
int linear_holds_in(const struct work *w, int condition, int first, int last);

#endif
