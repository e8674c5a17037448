/* Operands that stay in registers for a whole loop.
 *
 * ptxas (13.0.88) takes the registers of a wgmma's first operand for dead behind the
 * instruction where that alone reads them, though the loop comes back to it, and packs another operand of the same size
 * into them: from the second turn on the first dot multiplied what the second had been given. Another reader behind the
 * loop, which ptxas cannot know to be never run, keeps them apart, and costs the loop nothing.
 */
#include "lower/derive/derive.h"

int derive_keep(struct derive *d, int loop)
{
    const struct program *p = d->work.program;
    int status = 0;
    for (int i = loop + 1; i < p->op[loop].end && !status && !d->synchronous; i++) {
        if (p->op[i].kind != PROGRAM_DOT || !d->dot[i].resident || d->work.op[i].parent != loop)
            continue;
        const struct plan_step touch = {
            .op = PLAN_TOUCH, .ring = -1, .tensor = -1, .place = d->dot[i].operand, .call = "keep"};
        status = derive_land(d, d->dot[i].operand);
        status = status ? status : derive_emit(d, d->consumer, touch);
    }
    return status;
}
