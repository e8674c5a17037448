/* What an expansion has settled is left out of the text: loops that run once, names for 0, constants that nobody
 * reads, functions that nobody calls.
 *
 *     #pragma unroll
 *     for (int block = 0; block < 1; ++block)
 *         sum[block] = part[block * 64];                      sum[0] = part[0];
 *
 * So a template says the general case once. All of it works on lines as the templates indent them: a body stands deeper
 * than its head, and a function begins at the left edge. Lines of a user's template stay as they are, unfolded (fold.h)
 * and unbroken (wrap.h) too: only the program's own keep to the forms that all this understands. */
#ifndef TW_GEN_EMIT_SETTLE_H
#define TW_GEN_EMIT_SETTLE_H

#include "emit/template/output.h"

/* `for (TYPE NAME = 0; NAME < 1; ++NAME)`, or a step as far as the end, becomes its body, with 0 for the name; braces
 * stay where the body declares what another line of the scope may declare as well, and so does a loop that the body
 * leaves by `break` or `continue`. `const int NAME = 0` goes, with 0 for the name behind it. */
void settle_loops(struct output *o);

/* A constant that nobody reads goes, where it is computed without a call; `[[maybe_unused]]` goes from others. */
void settle_constants(struct output *o);

/* Functions that nothing calls go, with the comment above them. */
void settle_functions(struct output *o);

#endif
