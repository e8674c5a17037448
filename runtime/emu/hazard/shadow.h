/* What the hazard engine remembers: clocks, the shadow of memory, operations, fences and waits of warps.

   Components of a cluster's clocks:  0          the previous kernel (griddepcontrol.wait)
                                      1 ...      warps, block by block
                                      behind     mbarriers: their epoch is the number of phases that have completed;
                                                 threads that issue tcgen05.mma: the number of commits that are over
   A warp's own epoch counts its releases; what is labelled e happened before the release that publishes e. Everything
   that a warp knows of another is one number: all that the other did up to that epoch. */
#ifndef EMU_HAZARD_SHADOW_H
#define EMU_HAZARD_SHADOW_H

#include <string.h>

#include "emu/addresses.h"
#include "hazard.h"

enum {
    HZ_LANES = 32,
    HZ_BARRIERS = 16, /* named ones of a block */
    HZ_COMPONENT_BITS = 12,
    HZ_COMPONENTS = 1 << HZ_COMPONENT_BITS,
    HZ_SERIALS = 1 << (32 - HZ_COMPONENT_BITS),
    HZ_PAGE = 1024,         /* bytes of memory that a page of shadow covers */
    HZ_CHUNK = 16,          /* bytes of memory of one chunk */
    HZ_SHARED_PAGES = 768,  /* of a block's shared memory, and behind EMU_TENSOR_OFFSET of its tensor memory */
    HZ_RECENT = 256,        /* pages of global memory that are found at once */
    HZ_FENCES = 64,         /* proxy fences of a warp that are remembered one by one */
    HZ_READERS_SHARED = 64, /* read records of a chunk */
    HZ_READERS_GLOBAL = 2,
    HZ_LANES_TOLD = 4,       /* reads of a chunk by lanes of one warp that are told apart */
    HZ_CLUSTERS_KNOWN = 256, /* other clusters of which one knowledge is exact */
    HZ_SCOPES = 3            /* cta, cluster, gpu */
};

static inline int hz_is_shared(uint64_t address)
{
    return address >> 32 == 1;
}

static inline uint32_t hz_rank(uint64_t address)
{
    return (uint32_t)(address >> 24) & 0xff;
}

/* ---- Clocks ------------------------------------------------------------------------------------------------------ */

/* Epochs of the components of one cluster; those behind the last are 0. */
struct hz_clock {
    uint32_t *at;
    uint32_t count;
};

/* Knowledge of clusters: one entry each, by key. In a warp: of other clusters, key = serial. In a flag: of those that
   released, key = serial << 4 | rank of the block. Beyond HZ_CLUSTERS_KNOWN entries the rest is collapsed to "all
   clusters before this serial", which forgives too much, and accuses nobody. */
struct hz_known_entry {
    uint32_t key;
    uint32_t stamp; /* of its last change, by the launch's count of such changes */
    struct hz_clock clock;
};
struct hz_known {
    struct hz_known_entry *entries; /* ascending by key */
    uint32_t count, room;
    uint32_t all_before; /* serial */
};

/* ---- Shadow ------------------------------------------------------------------------------------------------------ */

enum {
    HZ_ASYNC = 1, /* epoch is the number of the operation */
    HZ_STRONG = 2,
    HZ_SCOPE = 4, /* two bits */
    HZ_WRITE = 16,
    HZ_REDUCE = 32,
    HZ_NC = 64,
    HZ_VOLATILE = 128
};

/* Which lane touched which byte of a chunk: low 5 bits a lane, high 3 bits how it goes on from byte 0 of the chunk. */
enum {
    HZ_ONE_LANE = 0,
    HZ_LANE_BYTE = 1, /* + log2 of the bytes of a lane: 1, 2, 3, 4 */
    HZ_MIXED = 7,
    HZ_TOGETHER = HZ_MIXED << 5 | 1 /* each byte by several lanes of one instruction */
};

/* One access to some bytes of a chunk. */
struct hz_record {
    uint32_t who; /* serial of the cluster << 12 | component */
    uint32_t epoch;
    uint32_t position;
    uint16_t mask; /* bytes of the chunk; 0: no record */
    uint8_t lane;
    uint8_t flags;
};

/* 16 bytes of memory: mostly one writer and one reader; more of either hang in the list. Shared memory of which threads
   access words apart is remembered by words: then nothing else in the chunk counts. */
struct hz_chunk {
    struct hz_record write, read;
    union {
        struct hz_list *more; /* NULL: no more */
        struct hz_words *words;
    };
    uint16_t written; /* bytes that ever were */
    uint16_t marked;  /* shared: bytes of live mbarriers; global: bytes noted as written by this launch */
    uint16_t split;   /* by words */
    uint8_t full;     /* the list has as many reads as are kept, and no write: a read need not look through it */
    uint8_t splits;   /* how often it came to be by words: HZ_SPLITS at most, from where on it stays so */
};

enum { HZ_SPLITS = 2 };

/* A chunk by its words: each as a chunk of which no other bytes are told. */
struct hz_words {
    union {
        struct hz_chunk at[HZ_CHUNK / 4];
        struct hz_words *next; /* of the free ones */
    };
};

/* Records, the youngest last. Several chunks may have one list: it is changed by a sole owner alone. */
struct hz_list {
    uint16_t count, size; /* records; there is room for hz_list_room(size) */
    uint32_t owners;      /* chunks, and answers that are kept; 0: free */
    union {
        uint32_t readers;     /* by the low bits of their components: who else has no read here */
        struct hz_list *next; /* of the free ones */
    };
    struct hz_record at[];
};
enum { HZ_LIST_SIZES = 7 };

static inline uint32_t hz_reader(uint32_t who)
{
    return UINT32_C(1) << (who & 31);
}

static inline uint32_t hz_list_room(unsigned size)
{
    return (UINT32_C(4) << size) - 1;
}

struct hz_list *hz_list_new(struct emu_hazard *h, unsigned size);          /* of no records, one owner; or NULL */
struct hz_list *hz_list_share(struct emu_hazard *h, struct hz_list *list); /* has one more owner; NULL is allowed */
void hz_list_leave(struct emu_hazard *h, struct hz_list *list);            /* one less; NULL is allowed */
/* The chunk's list becomes its own where others have it too, so that it can be changed. 1: no memory. */
int hz_list_own(struct emu_hazard *h, struct hz_chunk *k);
/* Of the chunk's own list: records that hold nothing go; one more comes, for the caller to fill (NULL: no memory). */
void hz_list_sweep(struct emu_hazard *h, struct hz_chunk *k);
struct hz_record *hz_list_push(struct emu_hazard *h, struct hz_chunk *k);
void hz_lists_free(struct emu_hazard *h);

/* ---- words.c */
int hz_words_split(struct emu_hazard *h, struct hz_chunk *k); /* 1: no memory */
/* One that is not by words stays. A list holds 255 records: of four words of more, the last reads are forgotten. */
void hz_words_join(struct emu_hazard *h, struct hz_chunk *k);
void hz_words_leave(struct emu_hazard *h, struct hz_chunk *k); /* the words are free, their lists are nobody's yet */
void hz_words_free(struct emu_hazard *h);

/* What an access made of a chunk. */
struct hz_answer {
    struct hz_chunk before, after;
    uint32_t mask; /* bytes accessed; 0: no answer */
};
enum { HZ_ANSWERS = 2 };
struct hz_alike {
    struct hz_answer answers[HZ_ANSWERS];
    unsigned last;
};

static inline uint32_t hz_serial_of(uint32_t who)
{
    return who >> HZ_COMPONENT_BITS;
}

static inline uint32_t hz_component_of(uint32_t who)
{
    return who & (HZ_COMPONENTS - 1);
}

struct hz_page {
    struct hz_chunk chunks[HZ_PAGE / HZ_CHUNK];
    uint64_t key;         /* global: address / HZ_PAGE */
    struct hz_page *next; /* free ones */
};

/* ---- Operations -------------------------------------------------------------------------------------------------- */

struct hz_operation {
    uint32_t issuer; /* component; 0: free */
    uint32_t epoch;  /* of the issuer, at issue */
    uint32_t lanes;
    uint32_t read_waited, write_waited; /* lanes that have waited */
    uint32_t read_done, write_done;     /* epoch of the issuer at which all had; 0: not yet */
    uint32_t group;                     /* of its thread's groups */
    uint32_t barrier;                   /* component; 0: none */
    uint32_t phase;                     /* of the barrier, that its signal belongs to */
    uint32_t next;                      /* the same operation's part for another target; or free list */
    uint32_t position;
    uint32_t block;              /* of the barrier: rank */
    uint32_t wgmma, wgmma_first; /* numbers of the last and first one in it, of its warp, from 1 on; 0: another kind */
    uint32_t shape;              /* of tcgen05.mma: of D, and where it lies; 0: none */
    uint32_t commits, commit;    /* of tcgen05.commit: component of its thread's commits, and its number among them */
    uint16_t generation;         /* of the table's entry */
    uint8_t kind;                /* emu_hazard_async */
    uint8_t reads_shared;
    uint8_t layout; /* 1 + 16-byte units of the swizzle's span + 16 x line of 128 bytes that counts as the first of its
                       pattern; 0: unknown */
    uint8_t marked; /* during collection */
    uint8_t doubtful; /* a wgmma: what was said of its operands may change until all warps have issued it */
};

/* Operations of a warp that a group counts. */
struct hz_groups {
    uint32_t *pending; /* operations that are not done */
    uint32_t count, room;
    uint32_t unread;              /* the first of them that may still read */
    uint32_t committed[HZ_LANES]; /* groups of each lane */
    uint32_t open;                /* operation that further instructions of the same group join; its number + 1 */
    uint32_t open_epoch;          /* of the warp, at which they do */
};

/* ---- Of warps ---------------------------------------------------------------------------------------------------- */

struct hz_fence {
    uint32_t epoch;
    uint32_t lanes;
    uint8_t kinds; /* bits of HZ_FENCE_* */
};
enum { HZ_FENCE_SHARED = 1, HZ_FENCE_GLOBAL = 2, HZ_FENCE_INIT = 4 };

/* What a warp knew when it executed one of its last proxy fences: it stands behind the edges that brought that. */
struct hz_proxied {
    struct hz_clock clock;
    uint32_t synced; /* what the warp itself had done before that epoch, all of its lanes knew */
};
enum { HZ_PROXIED = 4 };

/* Releases by some lanes of a warp only, while others had accessed memory that these lanes did not know of. */
struct hz_partial {
    uint32_t first, last; /* epochs */
    uint32_t lanes;       /* whose accesses are released; UINT32_MAX: all */
    uint32_t synced;      /* what the warp did before is released, too */
};
enum { HZ_PARTIALS = 16 };

/* A word that was read strongly, in a way, and what there was to see then: who polls does so again and again. */
struct hz_look {
    uint64_t address;
    uint32_t stamp, way;
};
enum { HZ_LOOKS = 4 };

/* wgmma.wait_group passed: groups below limit are over, for the whole warpgroup; at that epoch of the warp. */
struct hz_wgmma_wait {
    uint32_t limit, epoch;
};
enum { HZ_WGMMA_WAITS = 32, HZ_WGMMA_GROUPS = 8, HZ_WGMMA_ISSUES = 32 };

enum { HZ_TENSOR_FENCES = 32 };

/* What a warp did that orders tcgen05 operations. */
struct hz_tensor {
    uint32_t fences[HZ_TENSOR_FENCES]; /* epochs that ended with tcgen05.fence::before_thread_sync: the last ones */
    uint32_t fence_count;              /* ever */
    struct hz_clock clock;             /* what it knew at its last tcgen05.fence::after_thread_sync */
};

/* What the warps of a warpgroup knew when they committed their last groups of wgmmas, by number of the group. */
struct hz_warpgroup {
    struct hz_clock committed[HZ_WGMMA_GROUPS];
    struct hz_known known; /* of other clusters, at any of them */
};

#endif
