/* The executor's own structures.

   A kernel is lowered once (lower.c): each PTX instruction becomes one or more struct emu_op, a handler and where its
   operands lie. A warp is 32 lanes in lock step on registers stored lane by lane. The scheduler (schedule.c) runs warps
   in slices; handlers return the next operation, or NULL where the path cannot go on just now. */
#ifndef EMU_INTERNAL_H
#define EMU_INTERNAL_H

#include <stddef.h>
#include <stdint.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../hooks.h"
#include "bytes.h"
#include "emu.h"
#include "ptx.h"

#define EMU_LIKELY(x) __builtin_expect(!!(x), 1)
#define EMU_UNLIKELY(x) __builtin_expect(!!(x), 0)

enum {
    EMU_LANES = 32,
    EMU_SLOT = 128,         /* bytes of a 32-bit register; 64-bit ones take two slots, 128-bit ones four */
    EMU_BARRIERS = 16,      /* named barriers of a block */
    EMU_SLICE = 512,        /* operations that a warp runs before the next one does, unless the options say less */
    EMU_MAX_WARPS = 32,     /* of a block */
    EMU_MAX_CLUSTER = 16,   /* blocks of a cluster */
    EMU_RESERVED = 0x80,      /* offset of what CUDA keeps for cooperative groups below a block's shared memory, */
    EMU_RESERVED_BYTES = 288, /* and how much; zeros at first */
    EMU_SHARED_START = 0x400, /* offset of a block's first byte of shared memory, as on hardware */
    EMU_POISON = 0xff,      /* fresh memory: a NaN in every float type */
    EMU_LOCAL_START = 0x100 /* first valid local address */
};

/* Generic addresses: the 32-bit shared and local addresses lie in windows. Shared memory of the block of rank r starts
   at EMU_SHARED_WINDOW + r * EMU_SHARED_STRIDE. */
#define EMU_SHARED_WINDOW UINT64_C(0x100000000)
#define EMU_SHARED_STRIDE UINT64_C(0x1000000)
#define EMU_LOCAL_WINDOW UINT64_C(0x200000000)
#define EMU_PARAM_WINDOW UINT64_C(0x300000000)
#define EMU_GLOBAL_START UINT64_C(0x700000000000)

struct emu_device;
struct emu_launch;
struct emu_cluster;
struct emu_block;
struct emu_warp;
struct emu_op;
struct emu_async; /* async.h */

/* Execute op; returns the next one, or NULL after emu_stop or a switch of paths: warp->pc then says where the path
   goes on. */
typedef const struct emu_op *(*emu_handler)(struct emu_warp *warp, const struct emu_op *op);

/* One operation. d, a, b, c, e: for lanes of 32, 64 or 128 bits the byte offset in the warp's frame, or with bit 0 set in
   the module's constants; for predicates twice their number, plus 1 where negated. */
struct emu_op {
    emu_handler run;
    uint32_t d, a, b, c, e;
    uint32_t source;   /* instruction of the function, PTX_NONE: none */
    uint32_t counts;   /* PTX instructions that are executed with it: an instruction may be several operations */
    uint64_t imm;      /* address offset, flags of the handler, ... */
    const void *extra; /* struct of the handler's own */
};

/* A lowered function. */
struct emu_function {
    const struct ptx_function *ptx;
    struct emu_op *ops;
    uint32_t op_count;
    uint32_t op_room;
    uint32_t frame_bytes;  /* registers */
    uint32_t frame_preds;  /* predicates */
    uint32_t local_bytes;  /* a thread's local memory: parameter area, then .local; a multiple of 16 */
    uint32_t local_offset; /* of .local */
    uint32_t param_skip;   /* bytes of the parameter area that are not in local memory: a kernel's parameters */
    uint32_t registers;    /* estimate of what ptxas would need */
    struct emu_function *next; /* whose body is lowered after this one's */
    uint32_t position;     /* number of its first instruction among all that were lowered */
    uint32_t *touch_start; /* instruction -> first of its registers in touch; NULL: nothing here uses wgmma */
    uint32_t *touch;       /* slots of 32-bit registers, plus 1 where it writes */
    uint8_t *went;         /* by operation: enum emu_went, of all launches (coverage.h) */
};
#define EMU_FUNCTION_START UINT64_C(0x500000000)

/* Memory with an address: an allocation, or a variable of a module. */
struct emu_region {
    uint64_t base;
    uint64_t bytes;
    unsigned char *data;
    uint32_t id;       /* counts up */
    uint8_t read_only; /* .const */
    uint8_t internal;  /* belongs to a module */
    uint8_t from_kernel; /* by malloc of a kernel, and so by free */
};

/* Operands of loads, stores and everything else whose operands are a list. Offsets as in struct emu_op. */
struct emu_list {
    uint32_t count;
    uint32_t at[];
};

/* ---- Warps -------------------------------------------------------------------------------------------------------- */

/* Which way operations went that may go several ways. */
enum emu_went {
    EMU_WENT_AWAY = 1, /* a branch to its target, or what a guard, a return or a trap does, for some lane */
    EMU_WENT_ON = 2,   /* past it, for some lane */
    EMU_WENT_HERE = 4  /* to this operation by a call, a launch or a branch by index */
};

enum emu_path_state {
    EMU_PATH_FREE,
    EMU_PATH_READY,
    EMU_PATH_SPLIT,   /* waits until its children have come to their join */
    EMU_PATH_SYNC,    /* waits for lanes of its warp: bar.warp.sync, shfl.sync, ... */
    EMU_PATH_BARRIER, /* waits at a named barrier */
    EMU_PATH_CLUSTER, /* waits at the cluster's barrier */
    EMU_PATH_REGISTERS, /* setmaxnreg.inc */
    EMU_PATH_POLL     /* a poll failed: runs again when something has changed */
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
    uint32_t wait_a, wait_b;      /* what it waits for: SYNC members and lanes, BARRIER number and generation, ... */
    uint64_t wait_address;        /* POLL: of the barrier; 0: a spinning loop */
    const struct emu_op *wait_op; /* operation that waits */
};

struct emu_warp {
    /* the current path, unpacked */
    unsigned char *base[2]; /* registers of the frame; constants of the module */
    uint32_t *preds;        /* predicates of the frame */
    uint32_t mask;          /* lanes that execute */
    uint32_t current;       /* path */
    const struct emu_op *pc;
    const struct emu_function *function;

    struct emu_hazard_warp *hazard; /* NULL: off */
    uint32_t told;          /* lanes that the hazard engine believes to run together */
    struct emu_block *block;
    struct emu_launch *launch;
    struct emu_region *region; /* where the last global access was: the next one is likely there */
    unsigned char *registers;  /* all frames */
    uint32_t *predicates;
    unsigned char *local;      /* 32 lanes of local memory, interleaved by 4 bytes: word i of lane l at 128 i + 4 l */
    uint32_t register_room, predicate_room, local_room; /* bytes, words, bytes a lane */
    uint32_t index;            /* in the block */
    uint32_t exists;           /* lanes that are threads of the block */
    uint32_t alive;            /* of these, have not ended */
    uint32_t path_count, path_room, ready; /* ready: paths in state READY */
    uint32_t free_path;
    struct emu_path *paths;
    uint32_t max_registers;    /* setmaxnreg */
    const struct emu_op *moved_registers; /* the last setmaxnreg that it executed */
    uint32_t cluster_arrived;  /* lanes that have arrived at the cluster's barrier in this phase */
    uint32_t cluster_waits;    /* lanes that owe a wait */
    uint8_t done;
    uint32_t active;           /* lanes in mask, but while a handler has changed it for itself */
    uint64_t predicated_off;   /* lanes of executed instructions whose guard was false */
    uint32_t carry;            /* condition code CC.CF of the lanes */
    uint64_t random;           /* state of this warp's generator */
    uint32_t polls;            /* paths in state POLL */
    uint64_t poll_changes;     /* launch->changes when the first of them began to wait */
    uint8_t watch;             /* ran long without changing anything: backward branches look for spinning */
    uint32_t idle;             /* slices since the warp changed anything */
    uint64_t spin_hash;        /* registers when the branch at spin_op was last taken */
    const struct emu_op *spin_op;
    uint64_t spin_changes;
};

struct emu_barrier {
    uint32_t expected;    /* threads, where not implicit */
    uint32_t again;       /* threads that arrived more than once */
    uint8_t implicit;     /* expected is all threads of the block that have not ended */
    uint8_t active;       /* somebody has arrived */
    uint32_t ones;        /* bar.red: arrivals whose predicate was true */
    uint32_t zeros;       /* and false */
    uint32_t lanes[EMU_MAX_WARPS]; /* that have arrived */
};

struct emu_block {
    struct emu_launch *launch;
    struct emu_cluster *cluster;
    uint32_t rank;
    uint32_t index[3];     /* ctaid */
    uint64_t linear;
    unsigned char *shared; /* its window from offset 0 on; memory is from EMU_SHARED_START to shared_end */
    uint32_t shared_end;
    uint32_t warp_count, live_warps;
    struct emu_warp *warps;
    struct emu_barrier barriers[EMU_BARRIERS];
    uint32_t registers_free; /* of the pool that setmaxnreg.dec fills */
};

/* Blocks that share a cluster barrier and see each other's shared memory; a block of its own where there are none. */
struct emu_cluster {
    struct emu_launch *launch;
    struct emu_cluster *next; /* resident or free */
    uint32_t block_count, live_blocks;
    uint32_t phase;         /* of barrier.cluster: completions */
    uint32_t missing;       /* threads that have not arrived in this phase */
    struct emu_block *blocks;
    struct emu_bytes bytes; /* memory as this cluster sees it */
    struct emu_hazard_cluster *hazard; /* NULL: off */
    uint32_t issuer;        /* number of its first thread among those resident */
    uint64_t first;         /* number of the cluster */
    uint32_t index[3];
    unsigned char *storage; /* everything below hangs in here */
};

struct emu_constant {
    uint64_t value;
    uint32_t hash;
    uint32_t at; /* offset of the lanes, with bit 0 set; 0: a free entry */
    uint32_t wide;
};

struct emu_kernel {
    struct tw_kernel kernel;
    struct emu_module *module;
    struct emu_function *entry;
};

/* PTX text made executable; one for each load. */
struct emu_module {
    struct emu_device *device;
    struct ptx_module *ptx;
    struct emu_function **functions; /* by index of ptx->functions; NULL: not lowered */
    struct emu_region **variables;   /* .global and .const by index of ptx->variables */
    uint32_t *shared_offset;         /* .shared by index of ptx->variables; from the block's first byte */
    uint32_t shared_bytes, dynamic_offset;
    uint32_t shared_pad;             /* of dynamic_offset, bytes that a GPU would not need */
    unsigned char *constants;        /* broadcast lanes */
    uint32_t constant_bytes, constant_room;
    struct emu_constant *constant_index; /* hash table */
    uint32_t constant_slots, constant_count;
    uint32_t positions;              /* instructions of all lowered functions */
    uint8_t has_wgmma;
    uint8_t lowers;                  /* emu_lower works on the list of bodies */
    struct emu_function *bodies;     /* that are to be lowered; the last one in bodies_end */
    struct emu_function *bodies_end;
    uint8_t has_reserved; /* reads where the reserved shared memory is */
    struct emu_extra *extras;        /* memory that ops point to */
};

struct emu_extra {
    struct emu_extra *next;
    uint64_t bytes[];
};

struct emu_hazard; /* hazard.h */
struct emu_hazard_memory;
struct emu_hazard_cluster;
struct emu_hazard_warp;
struct emu_flight;

struct emu_tma_map;
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
    uint32_t clusters[3];        /* grid / cluster */
    uint64_t cluster_total, cluster_next;
    uint32_t cluster_blocks;
    uint32_t threads, warps;     /* of a block */
    uint32_t shared_bytes, dynamic_bytes;
    uint32_t max_registers;
    uint32_t sms;
    uint32_t resident_limit;     /* clusters */
    unsigned char *params;
    uint32_t params_bytes;
    struct emu_region *workspace; /* of a cooperative launch: its size, and the word on which its blocks meet */
    struct emu_cluster *resident, *spare;
    uint32_t resident_count;
    uint64_t changes;            /* counts everything that another warp could wait for */
    uint64_t instructions, lane_instructions;
    uint64_t blocks_ended;
    uint64_t random;
    struct emu_hazard *hazard;   /* NULL: off */
    struct emu_flight *flights;  /* asynchronous operations that the hazard engine knows (watch.c) */
    uint32_t flight_room, flight_free;
    unsigned char *image;        /* of a tensor copy, while its accesses are told */
    size_t image_room;
    size_t reports_before;       /* of the device, when the launch began */
    const struct tw_shared_range *ranges; /* names for parts of dynamic shared memory */
    size_t range_count;
    struct emu_async *async;
    struct emu_map_cache maps[EMU_MAPS];
    int released;                /* lanes had to go on alone at a join */
    uint32_t async_idle;         /* rounds in which clocks were the only thing that moved */
    uint32_t issuers;            /* numbers given to threads of resident clusters */
    int status;                  /* TW_OK, or what ends the launch */
    struct tw_error error;
    size_t bytes, peak_bytes;
    uint64_t time;               /* steps of the scheduler, for clocks */
    uint64_t clocks;             /* how often one was read */
    uint8_t trapped;             /* a trap ended it */
    uint64_t rounds;             /* turns in which every resident warp had its slice */
    uint32_t slice;              /* operations that a warp runs before the next one does */
    uint32_t listens;            /* bits of enum emu_event_kind that options.event is told of */
    uint32_t number;
};

struct emu_report_entry {
    struct emu_report report;
    char *key; /* what tells its place from others */
};
struct emu_reports {
    struct emu_report_entry *items;
    size_t count, room;
};

struct emu_arch {
    const char *name;
    int major, minor, sms;
    uint32_t shared_sm, shared_block, registers_sm, threads_sm, blocks_sm, cluster_max;
    int clock_khz;
    size_t l2_bytes;
};

struct emu_device {
    struct tw_device device;
    struct emu_options options;
    const struct emu_arch *arch;
    struct emu_region **regions; /* by address */
    size_t region_count, region_room;
    uint64_t next_address;
    size_t allocated;
    uint32_t next_region;
    struct emu_reports reports;
    struct emu_hazard_memory *hazard_memory; /* NULL: hazards are off */
    struct emu_statistics statistics;
    uint32_t launches;
};

/* ---- Operands ----------------------------------------------------------------------------------------------------- */

static inline void *emu_at(const struct emu_warp *warp, uint32_t offset)
{
    return warp->base[offset & 1] + (offset & ~1u);
}

/* Lanes of 32 and 64 bits, as source or destination. */
#define EMU_W(offset) ((uint32_t *)emu_at(warp, (offset)))
#define EMU_L(offset) ((uint64_t *)emu_at(warp, (offset)))

static inline uint32_t emu_pred(const struct emu_warp *warp, uint32_t operand)
{
    return warp->preds[operand >> 1] ^ (0u - (operand & 1));
}

static inline void emu_put_pred(struct emu_warp *warp, uint32_t operand, uint32_t bits)
{
    uint32_t *word = &warp->preds[operand >> 1];
    *word = (*word & ~warp->mask) | (bits & warp->mask);
}

extern const uint32_t emu_lane_bits[EMU_LANES]; /* 1 << lane */

static inline void emu_put32(struct emu_warp *warp, uint32_t offset, const uint32_t *values)
{
    uint32_t *to = EMU_W(offset);
    uint32_t mask = warp->mask;
    if (EMU_LIKELY(mask == UINT32_MAX)) {
        memcpy(to, values, EMU_SLOT);
        return;
    }
    for (int i = 0; i < EMU_LANES; i++)
        to[i] = (mask >> i & 1) ? values[i] : to[i];
}

static inline void emu_put64(struct emu_warp *warp, uint32_t offset, const uint64_t *values)
{
    uint64_t *to = EMU_L(offset);
    uint32_t mask = warp->mask;
    if (EMU_LIKELY(mask == UINT32_MAX)) {
        memcpy(to, values, 2 * EMU_SLOT);
        return;
    }
    for (int i = 0; i < EMU_LANES; i++)
        to[i] = (mask >> i & 1) ? values[i] : to[i];
}

static inline float emu_float(uint32_t bits)
{
    union { uint32_t u; float f; } v = {.u = bits};
    return v.f;
}

static inline uint32_t emu_bits(float value)
{
    union { float f; uint32_t u; } v = {.f = value};
    return v.u;
}

static inline double emu_double(uint64_t bits)
{
    union { uint64_t u; double f; } v = {.u = bits};
    return v.f;
}

static inline uint64_t emu_bits64(double value)
{
    union { double f; uint64_t u; } v = {.f = value};
    return v.u;
}

static inline unsigned emu_first(uint32_t mask) /* lowest lane; mask not 0 */
{
    return (unsigned)__builtin_ctz(mask);
}

static inline unsigned emu_count(uint32_t mask)
{
    return (unsigned)__builtin_popcount(mask);
}

static inline uint64_t emu_random(uint64_t *state) /* splitmix64 */
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* ---- Rows: which handler executes which form ---------------------------------------------------------------------- */

/* A row matches an instruction of its opcode whose first types are type0 and type1 (PTX_TYPE_NONE: any), whose
   operation, second, rounding and compare are those given (0: any), and whose mods have of mask exactly bits.
   operands: a letter for each PTX operand, destination first, into d a b c e in order:
       w l q  lanes of 32, 64, 128 bits    p  predicate    -  not used, must be absent or is ignored */
struct emu_row {
    uint16_t opcode;
    uint8_t type0, type1;
    uint8_t operation, second, rounding, compare;
    uint64_t mask, bits;
    const char *operands;
    emu_handler run;
    uint64_t imm;
};
struct emu_rows {
    const struct emu_row *rows;
    size_t count;
};
struct emu_rows emu_rows_int(void);
struct emu_rows emu_rows_bits(void);
struct emu_rows emu_rows_float(void);
struct emu_rows emu_rows_double(void);
struct emu_rows emu_rows_half(void);

/* Handlers that the lowering chooses by itself. */
extern const emu_handler emu_op_lop3, emu_op_lop3_pred, emu_op_set_word, emu_op_mov32, emu_op_mov64, emu_op_mov128,
    emu_op_mov_pred;
emu_handler emu_faster(emu_handler run); /* the same with this machine's instructions */
emu_handler emu_shift_by(emu_handler run, uint64_t *amount); /* by a constant; NULL: stay with run */
const struct emu_op *emu_setp_end(struct emu_warp *warp, const struct emu_op *op, uint32_t bits);

const struct emu_op *emu_setp_half(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_set_half(struct emu_warp *warp, const struct emu_op *op);

/* special.c */
const struct emu_op *emu_op_nop(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_special(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_special_pred(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_set_pred(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_frame_address(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_resize(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_pack(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_unpack(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_unsupported(struct emu_warp *warp, const struct emu_op *op);

/* ---- lower*.c ----------------------------------------------------------------------------------------------------- */

int emu_module_load(struct emu_device *device, const char *text, size_t length, struct emu_module **module,
                    struct tw_error *error);
void emu_module_free(struct emu_module *module);

/* The lowered function; lowers it, and what it calls, if that was not done yet. */
int emu_lower(struct emu_module *module, uint32_t function, struct emu_function **lowered, struct tw_error *error);

struct emu_function *emu_function_at(struct emu_module *module, uint64_t address); /* of an indirect call */

/* Memory that lives as long as the module; zeroed. NULL where there is none. */
void *emu_extra(struct emu_module *module, size_t bytes);

/* ---- memory.c ----------------------------------------------------------------------------------------------------- */

int emu_region_new(struct emu_device *device, uint64_t bytes, uint64_t align, struct emu_region **region,
                   struct tw_error *error);
void emu_region_free(struct emu_device *device, struct emu_region *region);
struct emu_region *emu_region_find(struct emu_device *device, uint64_t address); /* NULL: no region holds it */

/* Where bytes bytes at a generic address lie, as a cluster sees them; NULL where a part is not allocated, or for writes
   may not be written. Local memory is not found here. Own block: what an address without rank means. */
unsigned char *emu_resolve(struct emu_cluster *cluster, uint64_t address, uint64_t bytes, int write);
int emu_bytes_read(void *cluster, uint64_t address, void *to, size_t bytes);
int emu_bytes_write(void *cluster, uint64_t address, const void *from, size_t bytes);

/* The generic address of an address in a space, as the warp's block has it: shared addresses without a rank get the
   block's. */
uint64_t emu_generic(const struct emu_warp *warp, unsigned space, uint64_t address);

/* One lane's bytes at a generic address, local memory included. 1 where a part is not allocated. */
int emu_lane_read(struct emu_warp *warp, unsigned lane, uint64_t address, void *to, uint32_t bytes);
int emu_lane_write(struct emu_warp *warp, unsigned lane, uint64_t address, const void *from, uint32_t bytes);

/* Loads, stores, atomics. */
enum emu_access_kind { EMU_LOAD, EMU_STORE, EMU_ATOM, EMU_RED };
struct emu_access {
    uint8_t kind;
    uint8_t space;         /* ptx_space; NONE is generic */
    uint8_t bytes;         /* of an element: 1 2 4 8 16 */
    uint8_t count;         /* elements: .v2, .v4, .v8 */
    uint8_t wide_address;  /* the address has 64-bit lanes */
    uint8_t wide;          /* lanes of the data registers: 64 (1), 128 (2), otherwise 32 bits */
    uint8_t keep;          /* bits of a loaded value that the register has: 16, 32, 64 */
    uint8_t is_signed;     /* loads: extend by sign */
    uint8_t type;          /* ptx_type, of atomics */
    uint8_t operation;     /* ptx_modifier */
    uint8_t is_volatile;   /* .volatile, .relaxed, .acquire: another warp may be waited for */
    uint8_t semantics, scope;
    uint8_t unused;        /* elements of a load, bit by bit, whose register nothing reads: compilers widen loads */
    uint32_t data[8];      /* destination of loads and atomics, source of stores and reductions */
    uint32_t b[8], c;      /* sources of atomics; c of cas */
};
const struct emu_op *emu_op_load(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_load_param(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_store(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_atom(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_cvta(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_isspacep(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_shared_address(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_mapa(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_alloca(struct emu_warp *warp, const struct emu_op *op);

/* Addresses of the lanes of op->a (64 bits where wide) plus op->imm. */
void emu_addresses(struct emu_warp *warp, uint32_t at, int wide, uint64_t offset, uint64_t *address);

/* Atomics (atomic.c): *at = op(*at, b, c), and what stood there before into *old. 0, or 1 for no such operation.
   Sums of f32 in global memory flush subnormals, those in shared memory do not. */
int emu_atomic(unsigned operation, unsigned type, int is_global, void *at, const void *b, const void *c, void *old);

/* ---- flow.c ------------------------------------------------------------------------------------------------------- */

/* The path becomes the current one. What was current must have been saved, or must not go on. */
void emu_path_enter(struct emu_warp *warp, uint32_t path);
int emu_path_next(struct emu_warp *warp);     /* another ready path becomes the current one; 0: there is none */
uint32_t emu_path_new(struct emu_warp *warp); /* PTX_NONE: no memory; the launch then fails */

/* The current path waits at op in this state and goes on at pc. Returns NULL, for the handler to return. */
const struct emu_op *emu_wait(struct emu_warp *warp, const struct emu_op *op, const struct emu_op *pc, uint8_t state);
void emu_path_ready(struct emu_warp *warp, uint32_t path);
void emu_polls_ready(struct emu_warp *warp);

/* These lanes of the current path, not all of it, leave it for a path of their own; both execute op again. Returns NULL,
   for the handler to return. */
const struct emu_op *emu_part(struct emu_warp *warp, const struct emu_op *op, uint32_t lanes);

/* Lanes that wait at a join for others go on alone: these wait in a loop for what those do behind the join. Returns
   whether there were any. */
int emu_paths_release(struct emu_warp *warp);

/* Where a path that did not get to execute op starts again: at op, or at the guard before it. */
const struct emu_op *emu_retry(const struct emu_op *op);

/* The lanes of `members` must come to this operation together. 1: they have, and warp->mask is all of them: the handler
   restores it when it is done. 0: the path waits now, and the handler returns NULL. any: other operations that
   synchronise any will do (bar.warp.sync). */
int emu_sync(struct emu_warp *warp, const struct emu_op *op, uint32_t members, int any);

/* Lanes of the current path end; next is where the rest goes on. Returns what the handler returns. */
const struct emu_op *emu_exit_lanes(struct emu_warp *warp, const struct emu_op *next, uint32_t lanes);

/* Room for frames that end there; 0, or 1 where there is none (the launch has then failed). */
int emu_warp_room(struct emu_warp *warp, uint32_t registers, uint32_t preds, uint32_t local);

/* A conditional branch, a branch by index, a call. */
struct emu_branch {
    const struct emu_op *join; /* NULL: the return of the function */
    uint32_t count;
    const struct emu_op *target[]; /* 1 of a conditional branch */
};
struct emu_move {  /* of an argument or result: memory to memory of two frames, or between register and memory */
    uint32_t bytes;
    uint32_t from, to; /* byte offsets in local memory from the frame's start; registers as in struct emu_op */
    uint8_t from_register, to_register; /* bytes of the register slot: 4 or 8; 0: memory */
};
struct emu_call {
    const struct ptx_function *builtin; /* without body: by name */
    struct emu_function *function;      /* NULL: through register */
    const struct ptx_prototype *prototype; /* of a call through register */
    uint32_t target;                    /* lanes of the address */
    uint32_t guard;                     /* predicate; PTX_NONE: all lanes */
    uint32_t move_count;
    struct emu_module *module;
    struct emu_move moves[];            /* of the arguments, for the operation of the results: of those */
};

const struct emu_op *emu_op_guard(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_join(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_bra(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_jump(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_brx(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_call(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_call_end(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_builtin(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_ret(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_exit(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_trap(struct emu_warp *warp, const struct emu_op *op);

/* ---- schedule.c --------------------------------------------------------------------------------------------------- */

int emu_launch_run(struct emu_device *device, const struct tw_launch *launch, struct tw_error *error);

/* Something happened that another warp may wait for. */
static inline void emu_changed(struct emu_warp *warp)
{
    warp->launch->changes++;
}


/* ---- warp.c: e is always the member mask's lanes ------------------------------------------------------------------- */

const struct emu_op *emu_op_shfl(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_vote(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_match_any(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_match_all(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_redux(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_elect(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_activemask(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_bar_warp(struct emu_warp *warp, const struct emu_op *op);

/* builtin.c: functions without a body, by name: vprintf, malloc, free, __assertfail */
int emu_builtin(const char *name);

/* ---- barrier.c ---------------------------------------------------------------------------------------------------- */

void emu_barriers_check(struct emu_block *block);       /* after threads ended */
void emu_cluster_check(struct emu_cluster *cluster);
void emu_registers_check(struct emu_block *block); /* all its warps have ended: did all of them execute setmaxnreg? */
const struct emu_op *emu_op_bar(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_cluster_arrive(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_cluster_wait(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_fence(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_griddepcontrol(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_nanosleep(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_setmaxnreg(struct emu_warp *warp, const struct emu_op *op);

/* bar: a number, b count (0: all threads), imm. */
enum { EMU_BAR_WAIT = 1, EMU_BAR_POPC = 2, EMU_BAR_AND = 4, EMU_BAR_OR = 8, EMU_BAR_COUNT = 16 };

/* ---- async_glue.c: mbarriers, asynchronous copies, matrices ------------------------------------------------------- */

struct emu_async_event;
int emu_async_start(struct emu_launch *launch, struct tw_error *error); /* opens the queue */
void emu_async_report(struct emu_launch *launch, const struct emu_fault *fault, const struct emu_async_event *event);
int emu_lacks_bytes(const struct emu_warp *warp, uint64_t address); /* a barrier all of whose arrivals have come */
void emu_describe_mbarrier(const struct emu_warp *warp, const struct emu_path *path, char *out, size_t room);

/* ---- stall.c ------------------------------------------------------------------------------------------------------ */

/* No warp can go on: what each waits for, and what that is a sign of. */
struct emu_stall_cause {
    const char *name; /* of the hazard */
    struct emu_warp *warp;
    const struct emu_op *op;
    const struct emu_function *function;
    uint32_t mask;
    uint64_t address;
    char what[200];
};
enum { EMU_STALL_CAUSES = 4 };
struct emu_stall {
    struct emu_stall_cause causes[EMU_STALL_CAUSES];
    uint32_t cause_count;
    struct emu_stall_cause shown; /* where the deadlock is reported */
    char lines[2400];             /* one a wait, each behind a newline */
};
void emu_stall_find(struct emu_launch *launch, struct emu_stall *stall);
void emu_stall_report(struct emu_launch *launch, const struct emu_stall *stall); /* and the launch ends */

/* ---- report.c ----------------------------------------------------------------------------------------------------- */

/* A finding at an operation. Ends the launch where fatal is set or hazards are. Always returns NULL. */
const struct emu_op *emu_report_at(struct emu_warp *warp, const struct emu_op *op, const char *name, uint64_t address,
                                   int fatal, const char *format, ...) TW_PRINTF(6, 7);
void emu_reports_free(struct emu_device *device);

/* The same of one of the hazard engine's. The number of the report, plus 1; 0: no memory. */
struct emu_hazard_report;
size_t emu_report_found(struct emu_launch *launch, const struct emu_hazard_report *found);

/* The launch has ended: one that had findings fails by the first. */
void emu_reports_end(struct emu_launch *launch);

/* "MNEMONIC at FILE:LINE in FILE:LINE (PTX line N), block (x, y, z), warp w, lanes .." into out. */
void emu_place(const struct emu_warp *warp, const struct emu_op *op, char *out, size_t out_bytes);

/* The launch's name for what lies at an address in shared memory, "ring ab full barrier, stage 2". 0: it has none.
   stage may be NULL; -1: the range has none. */
int emu_region_name(const struct emu_launch *launch, uint64_t address, char *out, size_t room, int *stage);

/* "shared memory +N of rank R (NAME, stage S)", or the address. Returns its length. */
size_t emu_address_text(const struct emu_launch *launch, uint64_t address, char *out, size_t room);

/* The launch ends with this status; the first call counts. */
void emu_fail_launch(struct emu_launch *launch, int status, const char *format, ...) TW_PRINTF(3, 4);

#endif
