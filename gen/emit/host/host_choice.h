/* The choice among set-ups of a C pair: from measured sizes to a table over ranges of them.
 *
 * What was measured are points. A table of splits halves the space of sizes until all points of a part have one set-up:
 * where it halves, points of one set-up are parted from the others as well as one cut can (the least Gini impurity; of
 * equals the widest gap), half-way between two measured sizes by ratio. So each point has the set-up that was quickest
 * there, every size has one, and a launch takes some steps of a comparison each. */
#ifndef TW_GEN_EMIT_HOST_CHOICE_H
#define TW_GEN_EMIT_HOST_CHOICE_H

#include "emit/host/host_facts.h"
#include "plan/sink.h"

/* Fills f->choice and f->split from the model's `tuned`. 0 or 3. */
int host_decide_choice(struct host_facts *f);

/* Writes them as `host.tuned`, `host.choice`, `host.split`. */
void host_choice(const struct host_facts *f, const struct sink *s);

#endif
