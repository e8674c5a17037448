/* Recording launches: which ones, what their modules hold, and the record (record.h) of those that were chosen. Two use
   it: libtilewright-explain.so, which CUPTI tells of the driver's calls, and the emulated driver (runtime/libcuda).

   What the environment says:
     TILEWRIGHT_RECORD          the folder that records go to; without it nothing is recorded
     TILEWRIGHT_RECORD_KERNEL   names of kernels: a pattern of the shell's with *, ? or [, else a part of the name
     TILEWRIGHT_RECORD_LAUNCH   numbers among the launches of such a name, from 1: "1", "2,5", "all"; 1
     TILEWRIGHT_RECORD_MEMORY   MiB of memory that a record may hold before the launch; 1024
     TILEWRIGHT_RECORD_PTX      a folder in which NAME.ptx of a kernel is looked for, as Triton's cache has it

   All functions may be called from any thread, and from within calls of the driver; they call the driver themselves,
   and what comes of that is not recorded. */
#ifndef RECORDER_H
#define RECORDER_H

#include <stddef.h>
#include <stdint.h>

#include "tensormap/tensormap.h"

struct recorder_driver {
#define DRIVER(member, symbol, required, arguments) int(*member) arguments;
#include "recorder_driver.def"
#undef DRIVER
};

/* Whether the environment asks for records; a wrong variable is told. `say` gets each sentence, without a newline. The
   table is copied; members that are missing are NULL. To be called once, before all others. */
int recorder_start(const struct recorder_driver *driver, void (*say)(const char *text));
/* In the child, after fork: what another thread of the parent had locked is nobody's. */
void recorder_after_fork(void);

/* 1 where it was started and records: what else is here does nothing otherwise. */
int recorder_is_on(void);

/* A module or library was loaded from an image: PTX, a fat binary, the wrapper around one, or a cubin; or from a file.
   Images of a library of the process are looked at where they lie, others are copied. */
void recorder_module(void *module, const void *image);
void recorder_module_file(void *module, const char *path);
void recorder_module_same(void *module, void *as); /* one of the images of another handle */
void recorder_module_gone(void *module);

/* A function or kernel was got. is_kernel: a CUkernel, of a library. */
void recorder_function(void *function, void *module, const char *name, int is_kernel);
void recorder_function_same(void *function, void *kernel);

/* A tensor map was encoded. */
void recorder_map(const void *map, const struct tw_tensormap_call *call);

/* A launch that is about to be made. Arguments as cuLaunchKernel has them. */
struct recorder_launch {
    void *function;
    const char *name; /* NULL: recorder_function said it */
    uint32_t grid[3], block[3], cluster[3];
    uint32_t shared_bytes, flags; /* tw_launch_flags */
    void *stream;
    void **arguments, **extra;
    const void *attributes; /* CUlaunchAttribute */
    uint32_t attribute_count;
};
struct recording;

/* NULL: it is not recorded; why is told where it was to be. Else recorder_after ends it with the launch's result. */
struct recording *recorder_before(const struct recorder_launch *launch);
void recorder_after(struct recording *recording, int result);

#endif
