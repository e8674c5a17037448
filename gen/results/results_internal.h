/* Inside results: what its parts share. */
#ifndef TW_GEN_RESULTS_RESULTS_INTERNAL_H
#define TW_GEN_RESULTS_RESULTS_INTERNAL_H

#include "results/results.h"
#include "show/svg.h"

/* Every row's ratio, anew. A status. */
int results_make_ratios(struct results *results, struct tw_error *error);

enum results_measure { RESULTS_LATENCY, RESULTS_THROUGHPUT, RESULTS_RATIO, RESULTS_MEASURES };
extern const char *const results_measure_name[RESULTS_MEASURES];

/* One picture of views that share GPU and mode, a panel each. False: nothing of this measure is known, or there is no
 * memory, which svg->failed tells. */
bool results_draw(struct svg *svg, const struct results_view *const *view, int count, enum results_measure measure);

void results_free_row(struct tw_runtime *rt, struct results_row *row);

#endif
