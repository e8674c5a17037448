/* Named barriers and the cluster's, beside their instructions. */
#ifndef EMU_BARRIER_H
#define EMU_BARRIER_H

#include "machine.h"

void emu_barriers_check(struct emu_block *block); /* after threads ended */
void emu_cluster_check(struct emu_cluster *cluster);
void emu_registers_check(struct emu_block *block); /* all its warps have ended: did all execute setmaxnreg, alike? */

#endif
