/* Inside profile: what a block's stamps amount to. show_profile.c runs the kernel, timeline_stamps.c draws,
 * profile_table.c counts. */
#ifndef TW_GEN_SHOW_PROFILE_H
#define TW_GEN_SHOW_PROFILE_H

#include "show/timeline.h"
#include "verify/profile.h"

/* Rows of one of the profile's blocks. A status; timeline_free is due after any result. */
int timeline_of_stamps(struct timeline *timeline, const struct profile *profile, int block, struct tw_error *error);

/* Clocks of a block in which tensor cores were idle, by what for. */
enum profile_idle {
    PROFILE_BEFORE,   /* the first product */
    PROFILE_LOADS,    /* waits for a full stage, or for its own copies into one */
    PROFILE_SLOW,     /* products that take longer than rated */
    PROFILE_LOOP,     /* what else stands in the loops around products: arithmetic, barriers, turns */
    PROFILE_EPILOGUE, /* what stands between them: stores and their arithmetic */
    PROFILE_AFTER,    /* the last product: the last epilogue, drains */
    PROFILE_IDLES
};

struct profile_tensor {
    bool any; /* the kernel has matrix instructions, and stamps of them */
    double busy; /* as rated; of the emulator, which has no rates, clocks with products in flight */
    double idle[PROFILE_IDLES];
};

/* Where several instances are idle for different things at once, each has its part of the time. A status. */
int profile_tensor(const struct profile *profile, int block, struct profile_tensor *tensor, struct tw_error *error);

/* Both blocks' tensor cores and rings, by timelines in the order of the blocks, and one block's steps. A status. */
int profile_print(const struct profile *profile, const struct timeline *timeline, int block, struct tw_error *error);

#endif
