/* Debug builds: their options, and what `run` does with the records of their waits (templates/blocks/debug.cuh). */
#ifndef TW_GEN_VERIFY_DEBUG_H
#define TW_GEN_VERIFY_DEBUG_H

#include <stdbool.h>
#include <stdint.h>

#include "device.h"

enum { DEBUG_DEFAULT_MS = 2000, DEBUG_MOST_MS = 3600000 };
#define DEBUG_NOT_GIVEN UINT64_MAX /* --debug-timeout */

/* Words of the commands' tables of options. */
#define DEBUG_DOC "waits on an mbarrier end after a time: a record of each is left, then a trap"
#define DEBUG_TIMEOUT_DOC "how long a wait of a debug build may last, in milliseconds; 2000"

/* What --debug and --debug-timeout mean: *ms is how long a wait may last, 0: no debug build. Returns -1 to
 * go on, or the exit status of a fault that was told. */
int debug_options(const char *command, bool debug, uint64_t timeout, int *ms);

/* The records of a loaded kernel. Zeroed, it has none. */
struct debug_log {
    struct tw_device *device;
    const char *entry;
    char file[512];  /* the kernel's text, for messages */
    uint64_t state;  /* address of the kernel's variable */
    uint64_t address;
    void *memory;    /* the records, at `address` for the device */
};

/* Gives the kernel of a module (CUmodule) memory for its records. TW_ERROR_NOT_FOUND where it is no debug build, or
 * waits on no mbarrier. */
int debug_log_open(struct debug_log *log, struct tw_device *device, void *module, const char *entry, const char *file,
                   struct tw_error *error);

/* Tells what its waits left, on stderr, also after the kernel failed; a device that still answers begins anew. Returns
 * the number of warps that left a record. */
int debug_log_take(struct debug_log *log);

void debug_log_close(struct debug_log *log);

#endif
