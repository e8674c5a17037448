/* Between the files of compile/ that emit C pairs, and plan what goes into them. */
#ifndef TW_GEN_COMPILE_COMPILE_HOST_H
#define TW_GEN_COMPILE_COMPILE_HOST_H

#include "compile/compile.h"
#include "emit/host/host.h"

/* What was measured for the set-ups among these units, which are of one kernel: for struct host_model. *tuned is from
 * the compile's runtime, the caller frees it. 0 or 3. */
int compile_tuned(struct compile *c, const int *unit, int count, struct host_tuned **tuned, int *tuned_count);

/* Set-ups of a kernel are given one workspace: the last unit, of this set-up where it was planned, held against those
 * from the first one of the kernel on; a candidate, of which few are kept, against the kernel's own. 0, or 1 (told). */
int compile_check_workspace(struct compile *c, int first, const struct spec_kernel *setup);

#endif
