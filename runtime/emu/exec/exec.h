/* The executor, as the device sees it: it runs launches of lowered kernels to their end. */
#ifndef EMU_EXEC_H
#define EMU_EXEC_H

#include "machine.h"

/* Runs a launch to its end: TW_OK; TW_ERROR_INVALID where the device cannot launch it so; TW_ERROR_LAUNCH where a
   fault, a hazard or a deadlock ended or spoiled it, with the first finding as text; TW_ERROR_MEMORY. */
int emu_launch_run(struct emu_device *device, const struct tw_launch *launch, struct tw_error *error);

/* Registers of a thread: what the kernel is held to, else what its block can have, for setmaxnreg moves them. */
uint32_t emu_launch_registers(const struct tw_architecture *arch, const struct emu_function *entry, uint32_t warps);

/* Forgets the findings of all launches. */
void emu_reports_free(struct emu_device *device);

#endif
