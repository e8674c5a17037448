/* A device: memory, kernels, launches and times behind one interface of two kinds, cuda (device_cuda.c) and the
   emulator, which the program hands in. One thread at a time uses a device; different devices are independent. */
#ifndef TW_DEVICE_H
#define TW_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "hooks.h"

struct tw_device;
struct tw_kernel;

/* What tw_device_load loads: cubin, PTX or both (cuda takes the cubin if there is one, the emulator the PTX); or a path
   to a file with either. Bytes are copied. */
struct tw_load {
    const void *cubin;
    size_t cubin_bytes;
    const char *ptx;   /* zero-terminated */
    size_t ptx_bytes;  /* without the zero */
    const char *path;  /* read where both are NULL: an ELF file is a cubin, the rest PTX */
    const char *entry; /* name of the kernel */
    const char *name;  /* for messages; NULL: the entry */
};

/* A loaded kernel; an implementation's struct begins with it. */
struct tw_kernel {
    struct tw_device *device;
    char entry[256];
    uint32_t registers;     /* per thread */
    uint32_t static_shared; /* bytes */
    uint32_t local_bytes;   /* per thread */
    uint32_t max_threads;   /* a block may have */
};

enum { TW_LAUNCH_OFFSETS = 1024 }; /* parameters that a kernel may have here */

enum tw_launch_flags {
    TW_LAUNCH_PROGRAMMATIC = 1, /* may start before the previous kernel of the stream has ended; it must then wait by
                                   griddepcontrol.wait */
    TW_LAUNCH_COOPERATIVE = 2   /* all blocks resident at once, or an error */
};

/* What a part of dynamic shared memory is called: the emulator's reports say so. */
struct tw_shared_range {
    const char *name;     /* "ring ab full barrier" */
    uint32_t first, bytes; /* from the first byte of dynamic shared memory */
    uint32_t stage_bytes; /* a stage's; 0: it has none */
};

/* One launch. A zero in grid launches nothing and succeeds. */
struct tw_launch {
    struct tw_kernel *kernel;
    uint32_t grid[3];       /* blocks */
    uint32_t block[3];      /* threads; 0 counts as 1 */
    uint32_t cluster[3];    /* blocks; all 0 or 1: no cluster */
    uint32_t shared_bytes;  /* dynamic */
    unsigned flags;         /* tw_launch_flags */
    const void *params;     /* the kernel's only parameter, a struct; copied by the call; 64-byte aligned if it holds
                               tensor maps */
    size_t params_bytes;    /* sizeof the struct; 0: the kernel has no parameter */
    const uint32_t *offsets; /* of a kernel with several parameters: where each begins in params, in order, laid out as
                                PTX does; NULL: there is one struct */
    size_t offset_count;    /* at most TW_LAUNCH_OFFSETS */
    const struct tw_shared_range *ranges; /* that have names; NULL: none */
    size_t range_count;
    uint64_t first_block, block_count; /* of the grid, x before y before z: these alone run, and only the emulator can;
                                          block_count 0: all */
};

/* The interface. Every int is a status. Addresses are the device's own. */
struct tw_device_ops {
    const char *kind; /* "cuda", "emu" */
    void (*close)(struct tw_device *device);
    int (*alloc)(struct tw_device *device, size_t bytes, uint64_t *address, struct tw_error *error);
    void (*free)(struct tw_device *device, uint64_t address);
    int (*limit)(struct tw_device *device, uint64_t address, size_t bytes,
                 struct tw_error *error); /* NULL: there is none */
    int (*host_alloc)(struct tw_device *device, size_t bytes, uint64_t *address, void **memory,
                      struct tw_error *error);
    void (*host_free)(struct tw_device *device, uint64_t address, void *memory);
    int (*symbol)(struct tw_device *device, struct tw_kernel *kernel, const char *name, uint64_t *address,
                  size_t *bytes, struct tw_error *error);
    int (*upload)(struct tw_device *device, uint64_t to, const void *from, size_t bytes, struct tw_error *error);
    int (*download)(struct tw_device *device, void *to, uint64_t from, size_t bytes, struct tw_error *error);
    int (*fill)(struct tw_device *device, uint64_t to, uint32_t pattern, size_t bytes, struct tw_error *error);
    int (*load)(struct tw_device *device, const struct tw_load *load, struct tw_kernel **kernel,
                struct tw_error *error);
    void (*unload)(struct tw_device *device, struct tw_kernel *kernel);
    int (*launch)(struct tw_device *device, const struct tw_launch *launch, struct tw_error *error);
    int (*synchronize)(struct tw_device *device, struct tw_error *error);
    int (*time)(struct tw_device *device, const struct tw_launch *launches, size_t count, size_t warmups,
                size_t samples, double *seconds, struct tw_error *error);
};

/* An open device; an implementation's struct begins with it. */
struct tw_device {
    const struct tw_device_ops *ops;
    struct tw_runtime *rt;
    char name[128];        /* "NVIDIA H200" */
    char arch[16];         /* what to compile for: "sm_80", "sm_90a" */
    int major, minor;      /* compute capability */
    int sm_count;
    size_t shared_optin;   /* most shared memory a block may have, in bytes */
    size_t memory_bytes;
    size_t l2_bytes;
    int clock_khz;         /* nominal; 0 where unknown */
    int driver_version;    /* 13000 is 13.0; 0 for the emulator */
    int ordinal;
    const struct tw_driver *driver; /* entry points that reach this device once tw_device_enter was called: what an
                                       emitted NAME.c is handed */
    void *stream;          /* the stream of all launches here; ordered with the legacy default stream */
    int (*enter)(struct tw_device *device, struct tw_error *error); /* NULL: nothing to do */
};

/* Open GPU number ordinal (0 is the first the driver lists) through the driver, opening that if need be.
   TW_ERROR_NO_DRIVER, TW_ERROR_NO_DEVICE where there is none. */
int tw_device_open_cuda(struct tw_runtime *rt, int ordinal, struct tw_device **device, struct tw_error *error);

/* What to compile for on compute capability major.minor: "sm_80", "sm_90a": architectures from 9.0 on are named with
   their own features. out has 16 bytes. */
void tw_arch_name(int major, int minor, char *out);

/* Make the device the calling thread's current one, so that calls through device->driver reach it. */
int tw_device_enter(struct tw_device *device, struct tw_error *error);

/* Shorthands. NULL devices and kernels, and address 0, may be closed, unloaded and freed. */
void tw_device_close(struct tw_device *device);

/* bytes 0 gives an address that can be freed. TW_ERROR_MEMORY where the device has too little. 256-byte aligned. */
int tw_device_alloc(struct tw_device *device, size_t bytes, uint64_t *address, struct tw_error *error);
void tw_device_free(struct tw_device *device, uint64_t address);

/* Of the allocation that holds these bytes, only they are a launch's to touch, where the device looks: on the emulator
   anything else of it is out of bounds from now on, on a GPU nothing changes. Copies and fills from here reach all. */
int tw_device_limit(struct tw_device *device, uint64_t address, size_t bytes, struct tw_error *error);

/* Memory that the device reaches at *address and the caller at *memory, zeroed. The caller reads what a kernel wrote
   there and fenced to the system even after that kernel failed, when the device answers nothing more. */
int tw_device_host_alloc(struct tw_device *device, size_t bytes, uint64_t *address, void **memory,
                         struct tw_error *error);
void tw_device_host_free(struct tw_device *device, uint64_t address, void *memory);

/* Copies return when the host memory may be reused, or holds the data; they are ordered after earlier launches. */
int tw_device_upload(struct tw_device *device, uint64_t to, const void *from, size_t bytes, struct tw_error *error);
int tw_device_download(struct tw_device *device, void *to, uint64_t from, size_t bytes, struct tw_error *error);

/* Repeat a 32-bit pattern, low byte first, over bytes bytes (the last may be cut); `to` is a multiple of 4. */
int tw_device_fill(struct tw_device *device, uint64_t to, uint32_t pattern, size_t bytes, struct tw_error *error);

/* *kernel is unloaded by tw_device_unload before the device is closed. */
int tw_device_load(struct tw_device *device, const struct tw_load *load, struct tw_kernel **kernel,
                   struct tw_error *error);
void tw_device_unload(struct tw_device *device, struct tw_kernel *kernel);

/* The address and size of a __device__ variable of the kernel's module. TW_ERROR_NOT_FOUND where it has none. */
int tw_device_symbol(struct tw_device *device, struct tw_kernel *kernel, const char *name, uint64_t *address,
                     size_t *bytes, struct tw_error *error);

/* Asynchronous on cuda: a fault of the kernel shows in a later call, at the latest in synchronize. */
int tw_device_launch(struct tw_device *device, const struct tw_launch *launch, struct tw_error *error);
int tw_device_synchronize(struct tw_device *device, struct tw_error *error);

/* Time a list of launches: seconds[i] is what sample i took for the whole list on the device. On cuda the list is
   launched once, captured as a graph, and replayed warmups + samples times without a wait between, each sample between
   two events: let the list take longer on the device than a replay takes on the host (about 10 us). The emulator gives
   wall time. */
int tw_device_time(struct tw_device *device, const struct tw_launch *launches, size_t count, size_t warmups,
                   size_t samples, double *seconds, struct tw_error *error);

#endif
