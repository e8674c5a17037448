/* From PTX to operations: a module is parsed and its variables are placed; a kernel and what it calls are lowered once,
   when it is first asked for. */
#ifndef EMU_LOWER_H
#define EMU_LOWER_H

#include "emu/exec/program.h"

/* entry: the kernel that it is loaded for: only what that one reaches has shared memory. "": none; it is an image for
   others. */
int emu_module_load(struct emu_device *device, const char *text, size_t length, const char *entry,
                    struct emu_module **module, struct tw_error *error);

/* A module for one kernel of an image, with the image's variables for its own. The image is freed after it. */
int emu_module_of(const struct emu_module *image, const char *entry, struct emu_module **module,
                  struct tw_error *error);
void emu_module_free(struct emu_module *module);

/* The kernel of that name, whose module it becomes: tw_device_unload frees both. The module is freed where this fails.
   */
int emu_kernel_open(struct emu_module *module, const char *entry, struct tw_kernel **kernel, struct tw_error *error);

/* The lowered function; lowers it, and what it calls, if that was not done yet. */
int emu_lower(struct emu_module *module, uint32_t function, struct emu_function **lowered, struct tw_error *error);

#endif
