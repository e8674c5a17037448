/* No warp can go on: what each waits for, and what that is a sign of. */
#ifndef EMU_STALL_H
#define EMU_STALL_H

#include "machine.h"

struct emu_stall_cause {
    const char *name; /* of the hazard */
    struct emu_warp *warp;
    const struct emu_op *op;
    const struct emu_function *function;
    uint32_t mask;
    uint64_t address;
    char what[200];
};
enum { EMU_STALL_CAUSES = 4 };
struct emu_stall {
    struct emu_stall_cause causes[EMU_STALL_CAUSES];
    uint32_t cause_count;
    struct emu_stall_cause shown; /* where the deadlock is reported */
    char lines[2400];             /* one a wait, each behind a newline */
};
void emu_stall_find(struct emu_launch *launch, struct emu_stall *stall);
void emu_stall_report(struct emu_launch *launch, const struct emu_stall *stall); /* and the launch ends */

#endif
