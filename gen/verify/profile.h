/* The stamps of a profile build (templates/blocks/profile.cuh): what the clock said behind each step of each instance
 * of a role, in the first block of a grid and its middle one. */
#ifndef TW_GEN_VERIFY_PROFILE_H
#define TW_GEN_VERIFY_PROFILE_H

#include <stdbool.h>

#include "device.h"
#include "plan/plan.h"

enum { PROFILE_STAMPS = 32768, PROFILE_LEAST = 16, PROFILE_MOST = 1 << 20, PROFILE_BLOCKS = 2 };
enum { PROFILE_PASSES = 16, PROFILE_STEPS = 1024 }; /* of one kernel; of a role, where there are several passes */

struct profile_stamp {
    uint64_t clock; /* since the block's beginning */
    int step;       /* of the role, from 0 on */
};

struct profile_instance {
    int role, instance;
    struct profile_stamp *stamp;
    size_t count;
    bool full;               /* there was no room for more */
    uint64_t began, ended;   /* clocks since the block's beginning */
    uint64_t began_ns, ended_ns;
};

struct profile_block {
    uint64_t number;
    uint32_t multiprocessor;
    struct profile_instance *instance; /* by role, in the Plan's order */
    uint64_t clocks;                   /* to the end of its last instance */
    double nanoseconds;                /* a clock takes; 0 where that is not known */
    uint64_t began_ns;                 /* of the device's clock */
};

struct profile {
    struct tw_runtime *rt;
    const struct plan *plan;
    int instances;
    struct profile_block block[PROFILE_BLOCKS];
    int blocks;    /* 1 where the grid has but one */
    uint32_t grid; /* blocks */
    bool timed;    /* by a GPU's clock; the emulator's counts instructions of warps */
};

/* Where a loaded profile build (CUmodule) stamps. TW_ERROR_NOT_FOUND where it is none. */
struct profile_memory {
    uint64_t address;
    size_t bytes;
};
int profile_find(struct tw_device *device, void *module, const struct plan *plan, int room,
                 struct profile_memory *memory, struct tw_error *error);

/* Before a launch. */
int profile_clear(struct tw_device *device, const struct profile_memory *memory, struct tw_error *error);

/* What a launch has left; profile_free is due after any result. TW_ERROR_DAMAGED for stamps that no
 * such kernel leaves. */
int profile_take(struct profile *profile, struct tw_runtime *rt, struct tw_device *device,
                 const struct profile_memory *memory, const struct plan *plan, struct tw_error *error);
void profile_free(struct profile *profile);

/* Adds to what the first of several passes has left (emit/stamps.h) the stamps of pass[1] and those behind it, between
 * anchors at the clocks that they would have in the first. TW_ERROR_INVALID, and `to` as it was in part, where launches
 * were not alike. */
int profile_merge(struct profile *to, struct profile *const *pass, int passes, struct tw_error *error);

/* What follows from the clocks of all instances: beginnings and ends of the blocks. For profile_take and tests. */
void profile_settle(struct profile *profile);

#endif
