/* Between the files of compile/ that emit C pairs. */
#ifndef TW_GEN_COMPILE_COMPILE_HOST_H
#define TW_GEN_COMPILE_COMPILE_HOST_H

#include "compile/compile.h"
#include "emit/host/host.h"

/* What was measured for the set-ups among these units, which are of one kernel: for struct host_model. *tuned is from
 * the compile's runtime, the caller frees it. 0 or 3. */
int compile_tuned(struct compile *c, const int *unit, int count, struct host_tuned **tuned, int *tuned_count);

#endif
