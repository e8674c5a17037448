/* The emulator behind the driver's entry points: device->driver of an emulated device is a table of them (driver.h), so
   that what was written for the driver, an emitted NAME.c before all, runs on it unchanged.

   As with the driver, calls concern the calling thread's current device: tw_device_enter makes one current. An image is
   PTX, zero-terminated: a cubin is refused with CUDA_ERROR_NO_BINARY_FOR_GPU. Launches run where they are made, so a
   fault of a kernel is the result of its launch, and streams, events and contexts are handles that say nothing.
   Entry points that need the same address on both sides (cuMemHostAlloc) or a graph are NULL. */
#ifndef DRIVER_EMU_H
#define DRIVER_EMU_H

#include "device.h"

/* What the last call of this thread that failed has to say; "" where none did. */
const char *emu_driver_fault(void);

/* The status that this was the result of. */
int emu_driver_status(void);

/* Names for parts of shared memory in reports of this thread's launches from here on. Not copied. */
void emu_driver_name_shared(const struct tw_shared_range *range, size_t count);

/* The loaded kernel behind a CUfunction of the table's. */
struct tw_kernel *emu_driver_kernel(void *function);

/* ---- for the device ---------------------------------------------------------------------------------------------- */

struct tw_driver;
extern const struct tw_driver emu_driver_table;
int emu_driver_enter(struct tw_device *device, struct tw_error *error); /* makes it current: tw_device.enter */
void emu_driver_leave(const struct tw_device *device);                  /* before it is closed */

#endif
