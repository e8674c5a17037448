/* Inside the lowering of programs that store tiles as they were loaded (lower_copy.c). */
#ifndef TW_GEN_LOWER_COPY_COPY_H
#define TW_GEN_LOWER_COPY_COPY_H

#include "lower/family.h"
#include "lower/lower.h"

enum {
    COPY_MOST_BOX = 256,   /* elements of a tensor map's box along one dim */
    COPY_MOST_HELD = 8192, /* elements of a tile in registers */
    COPY_MOST_TILES = 8,   /* of a stage */
    COPY_MOST_STAGES = 16, /* as the field pipeline.stages has them */
    COPY_BARRIERS = 16,    /* bytes of a stage's two mbarriers */
    COPY_PADDING = 1024,   /* at most, where a tensor's stages begin behind another's */
    COPY_THREADS = 64,     /* a producer's warp and a consumer's */
    COPY_REGISTERS = 40,   /* of a thread, about: coordinates and addresses */
};

struct copy {
    const struct program_lowering *l;
    const struct program *program;
    struct plan *plan;
    int load[COPY_MOST_TILES], loads; /* operations */
    int cluster_axis, blocks;         /* of the program; -1 and 1: there are no clusters */
    bool shared;                      /* blocks of a cluster load slices for each other */
    int items;                        /* node of plan.graph: how many */
    int depth;                        /* groups of stores that are under way */
};

#endif
