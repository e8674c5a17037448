/* A CUDA world without CUDA, for tests: an NVRTC that answers with a small cubin and PTX, a driver over host memory, a
   loader that opens both, and one counter over every call of every table that makes call N fail. Not thread-safe. */
#ifndef TW_TESTS_FAKE_CUDA_H
#define TW_TESTS_FAKE_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver.h"
#include "hooks.h"
#include "nvrtc.h"

enum fake_kind {
    FAKE_MEMORY = 1,
    FAKE_FILES = 2,
    FAKE_LOADER = 4,
    FAKE_NVRTC = 8,
    FAKE_DRIVER = 16,
};

/* The made-up kernel has one parameter of so many bytes. */
enum { FAKE_PARAMETER_BYTES = 24 };

extern struct fake_state {
    unsigned failing;      /* fake_kind bits whose calls count */
    long fail_at;          /* that call fails, counted from 1; 0: none */
    long calls;            /* of those kinds, so far */
    long failed;           /* calls that were made to fail */
    int file_errno;        /* what failing file calls return, e.g. EIO */

    long memory_live;      /* allocations not yet freed */
    long files_open;       /* files and folders */
    long libraries_open;
    long programs_live;    /* of NVRTC */
    long compiles;
    long objects_live;     /* of the driver: memory, modules, streams, events, graphs, contexts */
    long launches;

    const char *log;       /* NVRTC's log, "" by default */
    int compile_result;    /* nvrtcResult of the compile */
    int version_major, version_minor;
    char options[8][64];   /* of the last compile */
    int option_count;
    struct tw_launch_config config; /* of the last launch */
    struct tw_launch_attribute attributes[4];
    unsigned char params[4096]; /* of the last launch: FAKE_PARAMETER_BYTES of its one parameter, or none */
    size_t params_bytes;
    int driver_result;     /* what cuLaunchKernelEx returns, 0 by default */
    int dynamic_shared;    /* last value set */
    int gpus;              /* 1 by default */
} fake;

/* The driver behind the fake loader. */
extern const struct tw_driver fake_driver;

/* Reset the state and fill *rt: real files and time through counting hooks, fake loader, no variables but those of
   fake_variable. */
void fake_begin(struct tw_runtime *rt);

/* The environment: name and value, kept by pointer; value NULL unsets. At most 8. */
void fake_variable(const char *name, const char *value);

/* Hand the fake NVRTC over, so that it is not looked for; *nvrtc is the caller's. */
void fake_nvrtc(struct tw_runtime *rt, struct tw_nvrtc *nvrtc);

/* A cubin with kernel "kern": 40 registers, 512 bytes of static shared memory, frame 16, stack 24, 256 threads,
   24 parameter bytes in 3 parameters, 2 barriers, 3 spill instructions, 128 bytes of code. Returns its size. */
size_t fake_cubin(unsigned char *out, size_t out_bytes);

/* True if nothing that was opened or allocated is left; prints what is. */
bool fake_is_clean(void);

#endif
