/* PTX on the device emu whose kernels have their variables in common, as a module of the driver's has them, and memory
   of the host's that kernels reach at its own address. What emulates the driver for whole programs (runtime/libcuda) is
   made of these beside device.h. One thread at a time uses a device. */
#ifndef EMU_IMAGE_H
#define EMU_IMAGE_H

#include "device.h"

struct emu_image;

/* Parses PTX and places its variables; the text is not kept. TW_ERROR_INVALID, TW_ERROR_UNSUPPORTED: error says at
   which line of it. */
int emu_image_load(struct tw_device *device, const char *ptx, size_t bytes, struct emu_image **image,
                   struct tw_error *error);

/* NULL is allowed. Its kernels were unloaded before. */
void emu_image_unload(struct emu_image *image);

/* The kernel of that name, which tw_device_unload takes back before the image goes. TW_ERROR_NOT_FOUND. */
int emu_image_kernel(struct emu_image *image, const char *name, struct tw_kernel **kernel, struct tw_error *error);

/* The name of kernel number index, in the order of the text; NULL behind the last. */
const char *emu_image_kernel_name(const struct emu_image *image, size_t index);

/* Address and size of a .global or .const variable of that name. TW_ERROR_NOT_FOUND, and error may be NULL. */
int emu_image_symbol(const struct emu_image *image, const char *name, uint64_t *address, size_t *bytes,
                     struct tw_error *error);

/* Parameter number index of a kernel, as a launch lays it out; 1 behind the last. */
int emu_kernel_parameter(const struct tw_kernel *kernel, size_t index, uint32_t *offset, uint32_t *bytes);

/* Blocks of so many threads that fit a multiprocessor at a time. 0: none does, or they are no block. */
uint32_t emu_kernel_occupancy(const struct tw_kernel *kernel, uint32_t threads, size_t dynamic_shared);

/* Memory of the caller's that kernels reach, too: at its own address where that is free for it, else at one of the
   device's. It is unmapped, by tw_device_free of that address, before it goes. */
int emu_device_map(struct tw_device *device, void *memory, size_t bytes, uint64_t *address, struct tw_error *error);

/* An allocation at an address of the caller's, where there is global memory (addresses.h) and nothing else lies.
   TW_ERROR_INVALID, TW_ERROR_MEMORY. tw_device_free takes it back. */
int emu_device_place(struct tw_device *device, uint64_t address, size_t bytes, struct tw_error *error);

/* From here on it is kept which bytes of an allocation kernels write: bit i % 8 of byte i / 8, for byte i from the
   allocation's first. NULL: no memory, or nothing begins there. Lives as long as the allocation. */
const unsigned char *emu_device_keep_written(struct tw_device *device, uint64_t address);

/* Where bytes bytes of an allocation lie in this process; NULL where they are not all of one. To be read and written
   between launches; what was written is told by emu_device_written. */
void *emu_device_memory(struct tw_device *device, uint64_t address, size_t bytes);
void emu_device_written(struct tw_device *device, uint64_t address, size_t bytes);

/* Bytes of the device's memory that are allocated. */
size_t emu_device_allocated(const struct tw_device *device);

/* The allocation that holds an address; 1: none does. */
int emu_device_range(struct tw_device *device, uint64_t address, uint64_t *base, size_t *bytes);

#endif
