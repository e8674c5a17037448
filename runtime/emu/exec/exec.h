/* The executor, as the device sees it: it runs launches of lowered kernels to their end. */
#ifndef EMU_EXEC_H
#define EMU_EXEC_H

#include "machine.h"

int emu_launch_run(struct emu_device *device, const struct tw_launch *launch, struct tw_error *error);

void emu_reports_free(struct emu_device *device);

#endif
