/* The hazard engine's own structures: warps, barriers, clusters, the launch; and what its files do for each other. */
#ifndef EMU_HAZARD_ENGINE_H
#define EMU_HAZARD_ENGINE_H

#include "shadow.h"

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

struct hz_register {
    emu_hazard_operation operation; /* the last wgmma that used it; 0: none */
    uint32_t shape;                 /* 0: fragment of A */
    uint32_t fences;                /* wgmma.fences of the warp then */
    uint32_t position;
    uint32_t touched; /* position of the access that made it dirty */
    uint8_t known;
    uint8_t dirty; /* accessed by another instruction since the last wgmma.fence */
};

struct hz_warp {
    struct emu_hazard_warp face; /* first: the handle */
    struct emu_hazard_cluster *cluster;
    struct hz_clock clock; /* count is the cluster's room */
    uint32_t component, rank, index;
    uint32_t alive;   /* lanes */
    uint32_t lanes;   /* that run now */
    uint32_t synced;  /* what the warp did before this epoch is known to all of its lanes */
    uint32_t touched; /* lanes that have accessed memory since */
    uint32_t left;    /* of these, that have ended apart from the others, which know nothing of it */
    uint32_t *met;    /* [lane][other]: epoch up to which lane knows the other; NULL: none yet */
    int met_valid;
    struct hz_partial partials[HZ_PARTIALS];
    uint32_t partial_count; /* ever */
    uint32_t partial_last;  /* epoch of the last one that is not of all lanes; 0: none */
    uint32_t acquired;      /* lanes that alone have waited, and so know `clock`; 0: all know it */
    struct hz_clock behind; /* what the others know */
    struct hz_fence fences[HZ_FENCES];
    uint32_t fence_count;                  /* ever */
    struct hz_proxied proxied[HZ_PROXIED]; /* of the last fences, by their number */
    uint32_t learned;                      /* epoch at which it last learned of another cluster */
    struct hz_known known;                 /* of other clusters */
    struct hz_clock fenced[HZ_SCOPES];     /* what fences have made ready to be released by a strong write */
    struct hz_known fenced_known;
    struct hz_known seen[HZ_SCOPES]; /* what strong reads have seen and a fence will acquire */
    struct hz_look looks[HZ_LOOKS];  /* the last words that it has read strongly */
    uint32_t look_count;
    struct hz_groups groups[EMU_HAZARD_ASYNC_KINDS];
    struct hz_register *registers;
    uint32_t *known_registers;
    uint32_t known_count, known_room;
    uint32_t dirty_count;
    uint32_t wgmma_fences, wgmma_issued;
    uint32_t wgmma_epochs[HZ_WGMMA_ISSUES];           /* of the last ones issued, by number */
    struct hz_wgmma_wait wgmma_waits[HZ_WGMMA_WAITS]; /* the last ones */
    uint32_t wgmma_wait_count;                        /* ever, of those that were told something new */
    struct hz_tensor tensor;
    uint32_t cluster_phase, cluster_waited; /* barrier.cluster: phases passed; lanes that have passed this one */
    uint32_t register_moves, moved_at[2];   /* setmaxnreg: how many; epochs of the last two, by number */
    struct hz_clock inits; /* initialisations that barrier.cluster has brought: epochs of their fences, by component */
    uint32_t inits_fenced; /* epoch of the last fence.mbarrier_init; 0: none */
    uint32_t began;        /* blocks of the cluster of which it is known that they have begun */
    const struct hz_mbarrier *waited;  /* on which its last wait returned true */
    uint32_t waited_passed;            /* phases then */
    uint8_t waited_again, waited_free; /* it knew of that phase already; no phase has completed */
};

struct hz_bar {
    struct hz_clock clock;
    struct hz_clock fenced;
    struct hz_known known, fenced_known; /* of other clusters */
    uint32_t *arrived, *last;            /* [warp]: epoch of the arrival in this use and in the one before; 0: none */
    uint32_t waiting;                    /* warps */
    uint32_t threads, position;          /* of the first arrival */
    uint32_t ever;                       /* warps that came to it in any use */
    int any;
};

struct hz_mbarrier {
    uint64_t address;
    uint32_t component;
    uint32_t rank;
    int live;
    uint32_t base, phases; /* completed phases in all, and those before its init */
    uint32_t init_warp, init_epoch, init_lanes, init_position;
    struct hz_clock pending, done;
    struct hz_known known; /* of other clusters */
    uint32_t *wait_epoch;  /* [warp of the block]: of the last wait that returned true; 0: none */
    uint32_t *wait_phases; /* phases then */
    uint32_t *wait_position;
    uint32_t *poll;                    /* phases + 1 when a wait began to fail; 0: none */
    uint32_t *arrived, *arrived_lanes; /* [warp of the cluster]: phases + 1 when it last arrived; lanes in that phase */
    uint64_t signalled[8], signalled_before[8]; /* warps of the cluster whose copies signal: in this phase, the last */
    uint8_t used;                               /* something has arrived or signalled */
    uint32_t observed;                          /* phases that somebody has waited for */
    uint32_t to_come;                           /* phases that must be observed for all operations to be done */
    uint32_t to_come_position, to_come_warp;
};

struct hz_block {
    struct hz_page *pages[HZ_SHARED_PAGES];
    struct hz_bar bars[HZ_BARRIERS];
    uint32_t live_warps;
    struct hz_clock left; /* what warps did that have ended: they count as arrived at barriers of all threads */
    struct hz_known left_known;
    struct hz_known
        seen; /* what atomics of its threads have seen, and a fence would acquire: volatile reads see that */
    int ended;
    uint32_t *remote; /* [component of a warp]: epoch of its last access from another block */
    uint32_t *remote_position;
    uint64_t *remote_address;
    uint32_t *outgoing; /* [component of a barrier]: phases that free this block's memory as a source */
    uint32_t outgoing_count;
    uint32_t outgoing_position;
};

struct emu_hazard_cluster {
    struct emu_hazard *h;
    struct emu_hazard_cluster *next;
    uint64_t first;
    uint32_t serial;
    uint32_t components, room;       /* in use, and of warps' clocks */
    struct hz_warp *warps;           /* [rank * h->warps + warp] */
    struct hz_warpgroup *warpgroups; /* by block, four warps each; NULL: no wgmma yet */
    struct hz_block *blocks;
    struct hz_mbarrier **barriers;
    uint32_t barrier_count, barrier_room;
    uint32_t *barrier_slots; /* hash of address: index + 1 */
    uint32_t barrier_slot_count;
    int partials;            /* a warp has released what some of its lanes did alone, ever */
    int met;                 /* at barrier.cluster, once or more: all blocks have begun */
    struct hz_clock meet[2]; /* barrier.cluster: arrivals of even and odd phases */
    struct hz_known meet_known;
    struct hz_clock meet_inits[2]; /* initialisations that arrivals bring, relaxed ones too */
    struct hz_operation *operations;
    uint32_t operation_count, operation_room, operation_free; /* free: number + 1 */
    uint32_t collect_at;
};

/* A word of memory that strong writes released something with. */
struct hz_flag {
    uint64_t address;
    struct hz_known released[HZ_SCOPES];
    uint32_t stamp; /* nothing has changed since */
    uint8_t polled; /* somebody waits for its value in a loop */
};

struct hz_memory_page {
    uint64_t key;                 /* address / HZ_MEMORY_PAGE; UINT64_MAX: empty slot */
    uint64_t defined[64];         /* a bit a byte */
    uint64_t now[64], before[64]; /* written by launch `launch`, and by the one before it */
    uint64_t launch;
};
enum { HZ_MEMORY_PAGE = 4096 };

struct emu_hazard_memory {
    struct tw_runtime *rt;
    struct hz_memory_page **slots;
    size_t slot_count, count;
    uint64_t launch;
    int failed; /* no memory: everything counts as written from now on */
};

struct emu_hazard {
    struct tw_runtime *rt;
    struct emu_hazard_options options;
    int status;
    uint32_t warps; /* of a block */
    uint32_t next_serial;
    struct emu_hazard_cluster *clusters;
    struct hz_list *free_lists[HZ_LIST_SIZES];
    struct hz_words *free_words;
    int lists_shared; /* by chunks, ever: else each list has one owner */
    struct hz_page *free_pages;
    struct hz_page **global; /* hash of pages */
    size_t global_slots, global_count, global_most;
    struct hz_page *global_recent[HZ_RECENT]; /* looked for last, by key */
    uint32_t stamps;                          /* changes of knowledge so far */
    struct hz_flag *flags;                    /* hash by address; address 0: empty */
    size_t flag_slots, flag_count;
    struct emu_hazard_report *reports;
    size_t report_count, report_room, report_slot_count, told;
    uint64_t event;    /* accesses told so far */
    uint64_t findings; /* reported so far, known before or not */
    uint32_t *guesses; /* positions of ordinary reads that a compare-and-swap follows */
    uint32_t guess_count, guess_room;
    uint32_t *report_slots;
};

static inline struct hz_warp *hz_warp_of(struct emu_hazard_warp *warp)
{
    return (struct hz_warp *)(void *)warp;
}

static inline uint32_t hz_clock_at(const struct hz_clock *clock, uint32_t component)
{
    return component < clock->count ? clock->at[component] : 0;
}

/* These lanes published what they know. What happens behind this is not what they published. */
void hz_release(struct hz_warp *warp, uint32_t lanes);
/* Whether what these lanes of the warp (0: which ones is not known) did in that epoch was published by then. */
int hz_released(const struct hz_warp *warp, uint32_t epoch, uint32_t until, uint32_t lanes);

/* All lanes know what any of them has learned. */
static inline void hz_all_know(struct hz_warp *warp)
{
    warp->acquired = 0;
}

/* The warp learns what it itself had done up to that epoch: some of its lanes did not know of others. */
static inline void hz_know_own(struct hz_warp *warp, uint32_t epoch)
{
    if (epoch >= warp->synced && epoch)
        warp->synced = epoch + 1;
}

/* ---- engine.c */
void *hz_alloc(struct emu_hazard *h, size_t bytes); /* zeroed; NULL sets the status */
/* Room for `count` items in an array that grows by doubling; new ones are zero. 0, or 1 where there is no memory. */
int hz_grow(struct emu_hazard *h, void *array, uint32_t *room, uint32_t count, size_t item);
struct emu_hazard_cluster *hz_cluster_of(struct emu_hazard *h, uint32_t serial);
void hz_touch_remote(struct hz_warp *warp, uint64_t address, uint32_t position); /* by a thread or an arrival */
void hz_write_remote(struct hz_warp *warp, uint64_t address, uint32_t position); /* besides: has that block begun? */
uint32_t hz_full(const struct hz_warp *warp);

/* ---- clock.c */
int hz_clock_join(struct emu_hazard *h, struct hz_clock *to, const struct hz_clock *from);
void hz_clock_free(struct emu_hazard *h, struct hz_clock *clock);
void hz_known_join(struct emu_hazard *h, struct hz_known *to, const struct hz_known *from);
void hz_known_add(struct emu_hazard *h, struct hz_known *to, uint32_t key, const struct hz_clock *clock);
void hz_known_clear(struct emu_hazard *h, struct hz_known *known);
const struct hz_clock *hz_known_find(const struct hz_known *known, uint32_t key);
int hz_fenced(const struct hz_warp *writer, uint32_t epoch, uint32_t limit, uint32_t lanes, unsigned kinds);
/* writer: of the same cluster; NULL: of another one, of which the warp knows. */
int hz_fenced_behind(const struct hz_warp *warp, uint32_t lanes, const struct hz_warp *writer, uint32_t epoch,
                     unsigned kinds);
/* A strong access: releases and acquires. */
void hz_strong(struct hz_warp *warp, uint32_t lanes, uint64_t address, unsigned access);
int hz_polled(struct emu_hazard *h, uint64_t address);
void hz_flags_free(struct emu_hazard *h);

/* The warp learns what is known of other clusters. */
static inline void hz_learn(struct hz_warp *warp, const struct hz_known *known)
{
    if (known->count)
        warp->learned = warp->clock.at[warp->component];
    hz_known_join(warp->cluster->h, &warp->known, known);
}

/* ---- pages.c */
struct hz_chunk *hz_shared_chunk(struct emu_hazard_cluster *cluster, uint64_t address); /* NULL: no memory, no block */
void hz_pages_free(struct emu_hazard *h, struct hz_page **pages, uint32_t count);

/* ---- memory.c */
void hz_global_written(struct emu_hazard *h, uint64_t address, uint32_t mask); /* bytes of one chunk */
void hz_global_free(struct emu_hazard *h);

/* ---- barrier.c */
struct hz_mbarrier *hz_mbarrier_new(struct emu_hazard_cluster *cluster, uint64_t address); /* not live; or NULL */
struct hz_mbarrier *hz_mbarrier_find(struct emu_hazard_cluster *cluster, uint64_t address);
/* The barrier, if the warp may use it now; reports BARRIER-INIT otherwise, and gives it all the same where it
   exists. */
struct hz_mbarrier *hz_mbarrier_use(struct hz_warp *warp, uint32_t lanes, uint64_t address, int async,
                                    uint32_t position);
void hz_mbarrier_complete(struct emu_hazard_cluster *cluster, struct hz_mbarrier *barrier, struct hz_warp *by,
                          uint32_t position);
void hz_barriers_free(struct emu_hazard_cluster *cluster);

/* ---- wgmma.c */
void hz_wgmma_commit(struct hz_warp *warp, uint32_t lanes, uint32_t group);
void hz_wgmma_waited(struct hz_warp *warp, uint32_t limit);
/* The epoch of the warp from which on it knows that the group of its warpgroup is over; 0: it does not. */
uint32_t hz_wgmma_known(const struct hz_warp *warp, uint32_t group);
void hz_warpgroups_free(struct emu_hazard_cluster *cluster);

/* ---- async.c */
void hz_exit_groups(struct hz_warp *warp, uint32_t lanes);
/* The operation of a handle, or NULL where its place serves another one by now. */
struct hz_operation *hz_operation_of(struct emu_hazard_cluster *cluster, emu_hazard_operation handle);

/* ---- report.c */
struct hz_finding {
    enum emu_hazard_name name;
    struct hz_warp *warp; /* NULL is allowed */
    uint32_t lanes;
    uint64_t address;
    uint32_t bytes, position, other;
    uint64_t other_block;
    uint32_t other_warp;
    uint8_t held;   /* HZ_HELD_* */
    uint32_t guess; /* position of the ordinary read */
    uint64_t event; /* number of the access; 0: no access */
};
enum {
    HZ_HELD_LATE = 1, /* told behind the others */
    HZ_HELD_WEAK,     /* told if nothing else is */
    HZ_HELD_GUESS     /* an ordinary read and an atomic: told if no compare-and-swap follows the read anywhere */
};
void hz_report(struct emu_hazard *h, const struct hz_finding *finding, const char *format, ...) TW_PRINTF(3, 4);

#endif
