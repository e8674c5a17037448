/* The machine: a device, a launch on it, and what is resident: clusters, blocks, warps and the paths that their lanes
   take. The scheduler (schedule.c) runs warps in slices; handlers return the next operation, or NULL where the path
   cannot go on just now. */
#ifndef EMU_MACHINE_H
#define EMU_MACHINE_H

#include "architecture.h"
#include "emu/addresses.h"
#include "emu/async/bytes.h"
#include "emu/emu.h"
#include "program.h"

enum {
    EMU_SLICE = 512, /* operations that a warp runs before the next one does, unless the options say less */
    EMU_MAX_WARPS = TW_ARCH_THREADS / EMU_LANES, /* of a block */
    EMU_MAX_CLUSTER = 16,                        /* blocks of a cluster */
    EMU_POISON = 0xff                            /* fresh memory: a NaN in every float type */
};

struct emu_launch;
struct emu_cluster;
struct emu_block;
struct emu_async;  /* async.h */
struct emu_hazard; /* hazard.h */
struct emu_hazard_memory;
struct emu_hazard_cluster;
struct emu_hazard_warp;
struct emu_flight;

enum emu_path_state {
    EMU_PATH_FREE,
    EMU_PATH_READY,
    EMU_PATH_SPLIT,     /* waits until its children have come to their join */
    EMU_PATH_SYNC,      /* waits for lanes of its warp: bar.warp.sync, shfl.sync, ... */
    EMU_PATH_BARRIER,   /* waits at a named barrier */
    EMU_PATH_CLUSTER,   /* waits at the cluster's barrier */
    EMU_PATH_REGISTERS, /* setmaxnreg.inc */
    EMU_PATH_WARPGROUP, /* wgmma.wait_group: other warps of its warpgroup have not committed that group */
    EMU_PATH_TENSOR,    /* tcgen05.alloc: not so many columns are free */
    EMU_PATH_POLL       /* a poll failed: runs again when something has changed */
};

/* Lanes that run together. Paths form a tree: where lanes part, the path waits and children run until they arrive at
   the join, the immediate post-dominator of the branch; so does the caller of a function until the callee returns.
   Local memory of different paths may overlap, for every lane has its own column there. */
struct emu_path {
    const struct emu_op *pc;
    const struct emu_op *join; /* operation where it ends; NULL: at the return of its function */
    const struct emu_function *function;
    uint32_t frame, preds, local; /* bytes, words, bytes: where the frame starts */
    uint32_t local_top;           /* behind the frame and what alloca took */
    uint32_t mask;                /* lanes */
    uint32_t arrived;             /* SPLIT: lanes that have come to the join */
    uint32_t children;            /* SPLIT: paths that are still on their way */
    uint32_t parent;              /* path, or PTX_NONE */
    uint32_t depth;               /* of calls */
    uint8_t state;                /* emu_path_state */
    uint8_t asks;                 /* it was suspended by a try_wait, which looks once more */
    uint32_t wait_a, wait_b;      /* what it waits for: SYNC members and lanes, BARRIER number and generation, ... */
    uint64_t wait_address;        /* POLL: of the barrier; 0: a spinning loop */
    const unsigned char *barrier; /* POLL: its word, where all lanes wait for one phase of it; else NULL */
    uint64_t barrier_word;        /* as it was then */
    uint32_t looked;              /* how often it was as it was since then */
    const struct emu_op *wait_op; /* operation that waits */
};

/* A wgmma that others of the warpgroup have still to issue: its operands may have to be looked at again then. */
struct emu_wgmma_look {
    const struct emu_op *op;
    uint64_t a, b; /* descriptors */
    uint64_t handle;
    uint32_t number; /* of the warp's, from 1 on */
    unsigned lane;
};

struct emu_warp {
    struct emu_lanes lanes; /* of the current path, unpacked; first: alu/lanes.h */
    uint32_t current;       /* path */
    const struct emu_op *pc;
    const struct emu_function *function;

    struct emu_hazard_warp *hazard; /* NULL: off */
    uint32_t told;                  /* lanes that the hazard engine believes to run together */
    struct emu_block *block;
    struct emu_launch *launch;
    struct emu_region *region; /* where the last global access was: the next one is likely there */
    unsigned char *registers;  /* all frames */
    uint32_t *predicates;
    unsigned char *local;    /* 32 lanes of local memory, interleaved by 4 bytes: word i of lane l at 128 i + 4 l */
    uint32_t *local_written; /* by word: lanes that have written some of it since it became theirs; NULL: hazards are
                                     off, or the code is not optimised and sets a bit field by reading it */
    uint32_t register_room, predicate_room, local_room; /* bytes, words, bytes a lane */
    uint32_t index;                                     /* in the block */
    uint32_t exists;                                    /* lanes that are threads of the block */
    uint32_t alive;                                     /* of these, have not ended */
    uint32_t path_count, path_room, ready;              /* ready: paths in state READY */
    uint32_t free_path;
    struct emu_path *paths;
    uint32_t max_registers;               /* setmaxnreg */
    const struct emu_op *moved_registers; /* the last setmaxnreg that it executed */
    uint32_t cluster_arrived;             /* lanes that have arrived at the cluster's barrier in this phase */
    uint32_t cluster_waits;               /* lanes that owe a wait */
    uint32_t wgmma_count;                 /* that it has executed */
    uint32_t wgmma_commits;               /* groups of them */
    uint64_t wgmma_sum;                   /* of their shapes and descriptors, in order */
    const struct emu_op *wgmma;           /* the last one */
    struct emu_wgmma_look *looks;         /* with hazards: those that other warps have still to issue */
    uint32_t look_count, look_room;
    uint8_t done;
    uint32_t active;         /* lanes in mask, but while a handler has changed it for itself */
    uint64_t predicated_off; /* lanes of executed instructions whose guard was false */
    uint64_t random;         /* state of this warp's generator */
    uint32_t polls;          /* paths in state POLL */
    uint64_t poll_changes;   /* launch->changes when the first of them began to wait, or they were last looked at */
    uint8_t watch;           /* ran long without changing anything: backward branches look for spinning */
    uint8_t looked;          /* at a clock since the last backward branch with watch set */
    uint32_t idle;           /* slices since the warp changed anything */
    uint64_t spin_hash;      /* registers when the branch at spin_op was last taken */
    const struct emu_op *spin_op;
    uint64_t spin_changes;
};

enum { EMU_WARPGROUP = 4 }; /* warps */

struct emu_barrier {
    uint32_t expected;             /* threads, where not implicit */
    uint32_t again;                /* threads that arrived more than once */
    uint8_t implicit;              /* expected is all threads of the block that have not ended */
    uint8_t active;                /* somebody has arrived */
    uint32_t ones;                 /* bar.red: arrivals whose predicate was true */
    uint32_t zeros;                /* and false */
    uint32_t lanes[EMU_MAX_WARPS]; /* that have arrived */
};

struct emu_block {
    struct emu_launch *launch;
    struct emu_cluster *cluster;
    uint32_t rank;
    uint32_t index[3]; /* ctaid */
    uint64_t linear;
    unsigned char *shared; /* its window from offset 0 on; memory is from EMU_SHARED_START to shared_end */
    uint32_t shared_end;
    uint32_t warp_count, live_warps;
    struct emu_warp *warps;
    struct emu_barrier barriers[TW_ARCH_BARRIERS];
    uint32_t registers_free; /* of the pool that setmaxnreg.dec fills */
    uint32_t tensor_columns; /* of its last tcgen05.alloc; 0: none yet */
    uint8_t tensor_relinquished;
    struct emu_warp *tensor_warp; /* that executed it, and where */
    const struct emu_op *tensor_alloc;
};

/* Blocks that share a cluster barrier and see each other's shared memory; a block of its own where there are none. */
struct emu_cluster {
    struct emu_launch *launch;
    struct emu_cluster *next; /* resident or free */
    uint32_t block_count, live_blocks;
    uint32_t phase;   /* of barrier.cluster: completions */
    uint32_t missing; /* threads that have not arrived in this phase */
    struct emu_block *blocks;
    struct emu_bytes bytes;            /* memory as this cluster sees it */
    struct emu_hazard_cluster *hazard; /* NULL: off */
    uint32_t issuer;                   /* number of its first thread among those resident */
    uint64_t first;                    /* number of the cluster */
    uint32_t index[3];
    unsigned char *storage; /* everything below hangs in here */
};

struct emu_tma_map;
struct emu_tensor_memory; /* tcgen05.h */
enum { EMU_MAPS = 16 };
struct emu_map_cache { /* a tensor map that was read before */
    uint64_t address;
    uint64_t bytes[16];
    struct emu_tma_map *map;
};

struct emu_launch {
    struct emu_device *device;
    struct emu_kernel *kernel;
    const struct emu_function *entry;
    uint32_t grid[3], block[3], cluster[3];
    uint32_t clusters[3]; /* grid / cluster */
    uint64_t cluster_total, cluster_next;
    uint32_t cluster_blocks;
    uint32_t threads, warps; /* of a block */
    uint32_t shared_bytes, dynamic_bytes;
    uint32_t shared_room; /* shared_bytes, and the pads between arrays */
    uint32_t max_registers;
    uint8_t moves_registers; /* setmaxnreg is not ignored */
    uint32_t sms;
    uint32_t resident_limit; /* clusters */
    unsigned char *params;
    uint32_t params_bytes;
    struct emu_region *workspace; /* of a cooperative launch: its size, and the word on which its blocks meet */
    struct emu_cluster *resident, *spare;
    uint32_t resident_count;
    uint64_t changes; /* counts everything that another warp could wait for */
    uint64_t instructions, lane_instructions;
    uint64_t blocks_ended;
    uint64_t random;
    struct emu_hazard *hazard;  /* NULL: off */
    struct emu_flight *flights; /* asynchronous operations that the hazard engine knows (watch.c) */
    uint32_t flight_room, flight_free;
    unsigned char *image; /* of a tensor copy, while its accesses are told */
    size_t image_room;
    size_t reports_before;                /* of the device, when the launch began */
    const struct tw_shared_range *ranges; /* names for parts of dynamic shared memory */
    size_t range_count;
    struct emu_async *async;
    struct emu_tensor_memory **tensor; /* of each multiprocessor; NULL: none yet */
    struct emu_map_cache maps[EMU_MAPS];
    int released;        /* lanes had to go on alone at a join */
    uint32_t async_idle; /* rounds in which clocks were the only thing that moved */
    uint32_t issuers;    /* numbers given to threads of resident clusters */
    int status;          /* TW_OK, or what ends the launch */
    struct tw_error error;
    size_t bytes, peak_bytes;
    uint64_t time;    /* steps of the scheduler, for clocks */
    uint64_t clocks;  /* how often one was read */
    uint8_t trapped;  /* a trap ended it */
    uint64_t rounds;  /* turns in which every resident warp had its slice */
    uint32_t slice;   /* operations that a warp runs before the next one does */
    uint32_t listens; /* bits of enum emu_event_kind that options.event is told of */
    uint32_t number;
};

struct emu_object; /* texture/texture_ops.h */
struct emu_objects {
    struct emu_object *items; /* the handle is the number + 1 */
    size_t count, room;
};

struct emu_report_entry {
    struct emu_report report;
    char *key; /* what tells its place from others */
};
struct emu_reports {
    struct emu_report_entry *items;
    size_t count, room;
};

struct emu_device {
    struct tw_device device;
    struct emu_options options;
    const struct tw_architecture *arch;
    struct emu_region **regions; /* by address */
    size_t region_count, region_room;
    uint64_t next_address;
    size_t allocated;
    size_t heap; /* of it by malloc of kernels */
    uint32_t next_region;
    struct emu_reports reports;
    struct emu_objects objects;              /* textures and surfaces */
    struct emu_hazard_memory *hazard_memory; /* NULL: hazards are off */
    struct emu_statistics statistics;
    uint32_t launches;
};

/* Something happened that another warp may wait for. */
static inline void emu_changed(struct emu_warp *warp)
{
    warp->launch->changes++;
}

#endif
