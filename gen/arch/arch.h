/* An architecture: what its blocks, shared memory and instructions allow. One struct of data in one file each
 * (sm_80.c, sm_90a.c), one row in arch.c. What the emulator shares stands in runtime/architecture.h and
 * its table, and nothing else in the program knows an architecture's numbers.
 *
 * Sources: CUDA programming guide, "Compute capabilities" (sizes); PTX ISA 9.1, 9.7.14 mma.sync and 9.7.15 wgmma
 * (shapes), 9.7.19.5 setmaxnreg. All of it is constant data: any thread may read it.
 */
#ifndef TW_GEN_ARCH_ARCH_H
#define TW_GEN_ARCH_ARCH_H

#include <stdbool.h>

#include "architecture.h"
#include "dtype.h"

/* Limits that the emulator has too: arch_limit_sm_80_shared_limit. */
enum arch_limit {
#define ARCHITECTURE(name, major, minor, shared_per_sm, shared_limit, registers_per_sm, threads_per_sm, blocks_per_sm, \
                     cluster, multiprocessors, khz, l2)                                                                \
    arch_limit_##name##_major = major, arch_limit_##name##_minor = minor,                                              \
    arch_limit_##name##_shared_per_sm = shared_per_sm, arch_limit_##name##_shared_limit = shared_limit,                \
    arch_limit_##name##_registers_per_sm = registers_per_sm, arch_limit_##name##_threads_per_sm = threads_per_sm,      \
    arch_limit_##name##_blocks_per_sm = blocks_per_sm, arch_limit_##name##_l2 = l2,                                    \
    arch_limit_##name##_cluster = cluster < TW_ARCH_PORTABLE_CLUSTER ? cluster : TW_ARCH_PORTABLE_CLUSTER,
#include "architectures.def"
#undef ARCHITECTURE
};

/* The fields of struct arch that stand in architecture.h and architectures.def. */
#define ARCH_LIMITS(name)                                                                                              \
    .major = arch_limit_##name##_major, .minor = arch_limit_##name##_minor,                                            \
    .shared_per_sm = arch_limit_##name##_shared_per_sm, .shared_limit = arch_limit_##name##_shared_limit,              \
    .registers_per_sm = arch_limit_##name##_registers_per_sm,                                                          \
    .registers_per_block = arch_limit_##name##_registers_per_sm,                                                       \
    .max_threads_per_sm = arch_limit_##name##_threads_per_sm, .max_blocks_per_sm = arch_limit_##name##_blocks_per_sm,  \
    .l2_bytes = arch_limit_##name##_l2, .max_cluster = arch_limit_##name##_cluster,                                    \
    .shared_reserved = TW_ARCH_SHARED_RESERVED, .registers_per_thread = TW_ARCH_REGISTERS_PER_THREAD,                  \
    .max_threads = TW_ARCH_THREADS, .parameter_limit = TW_ARCH_PARAMETER_BYTES, .named_barriers = TW_ARCH_BARRIERS

/* How results in registers become the first operand of the next product. A thread holds two neighbours of each 8
 * columns of a row, and of an operand of 16 bits just those. */
enum arch_computed {
    ARCH_COMPUTED_NONE,      /* they do not */
    ARCH_COMPUTED_PLAIN,     /* packed where they are */
    ARCH_COMPUTED_EXCHANGED, /* of 8 bits four neighbours of 16 make a word: the four lanes of a row exchange them */
};

/* One shape of a matrix instruction: m x n x k with n = n_low, n_low + n_step, ... n_high. */
struct arch_mma {
    const char *kind; /* "wgmma", "tcgen05" or "mma.sync", as in plan_mma.kind */
    enum tw_dtype input, accumulator;
    int m, n_low, n_high, n_step, k;
    bool mn_major; /* operands in shared memory may be MN-major */
    enum arch_computed computed;
};

/* What mma.sync multiplies since sm_80. */
#define ARCH_MMA_SYNC                                                                                                  \
    {"mma.sync", TW_BF16, TW_FP32, 16, 8, 8, 8, 16, true, ARCH_COMPUTED_PLAIN},                                        \
        {"mma.sync", TW_FP16, TW_FP32, 16, 8, 8, 8, 16, true, ARCH_COMPUTED_PLAIN},                                    \
        {"mma.sync", TW_FP16, TW_FP16, 16, 8, 8, 8, 16, true, ARCH_COMPUTED_PLAIN},                                    \
        {"mma.sync", TW_TF32, TW_FP32, 16, 8, 8, 8, 8, false, ARCH_COMPUTED_NONE},                                     \
        {"mma.sync", TW_INT8, TW_INT32, 16, 8, 8, 8, 32, false, ARCH_COMPUTED_NONE},                                   \
    {                                                                                                                  \
        "mma.sync", TW_UINT8, TW_INT32, 16, 8, 8, 8, 32, false, ARCH_COMPUTED_NONE                                     \
    }

struct arch {
    const char *name; /* "sm_90a" */
    int major, minor; /* compute capability */
    bool tma, wgmma, clusters, setmaxnreg, cp_async, ldmatrix, stmatrix, pdl;
    int tensor_columns;   /* of tensor memory, of a multiprocessor: what wgmma is elsewhere is tcgen05; 0: none */
    bool fp8;             /* conversions to and from fp8 */
    bool copies_to_block; /* bulk copies say shared::cta: of one to shared::cluster ptxas makes a call */
    bool on_request;      /* a kernel that does not name it is for it where --arch does: an older one's serves its
                             devices */
    const char *like;     /* of such a one: whose fields in the kernel are its own then */
    int shared_limit;     /* bytes of dynamic shared memory that a block can opt in to */
    int shared_per_sm;    /* bytes of shared memory of a multiprocessor */
    int shared_reserved;  /* bytes of it that the system takes for each resident block */
    int registers_per_sm; /* 32-bit registers */
    int registers_per_block;
    int registers_per_thread; /* most that one thread can have */
    int max_threads;          /* of a block */
    int max_threads_per_sm, max_blocks_per_sm;
    int l2_bytes;               /* of the smallest device's L2 */
    int max_cluster;            /* blocks of a cluster that need no opt-in; 1: no clusters */
    int parameter_limit;        /* bytes of kernel parameters */
    int named_barriers;         /* hardware barriers of a block, number 0 included */
    int tensor_flops;           /* of a multiprocessor's tensor cores in a clock: dense, 16-bit operands, as rated;
                                   other operands by their bytes */
    const struct arch_mma *mma; /* ends with kind == NULL */
    const struct arch *plain;   /* the same GPU for kernels that leave wgmma alone; NULL: it has none */
};

/* Every architecture, oldest first; ends with NULL. */
extern const struct arch *const arch_all[];
extern const struct arch arch_sm_80, arch_sm_86, arch_sm_89, arch_sm_90a, arch_sm_100a, arch_sm_120a;

/* The architecture of that name, or NULL. */
const struct arch *arch_find(const char *name);

/* As a kernel sees the architecture that says, of what multiplies, `instruction`; NULL: nothing. */
const struct arch *arch_with(const struct arch *arch, const char *instruction);

/* Blocks of that many threads, registers a thread and bytes of dynamic shared memory that one multiprocessor holds. */
int arch_resident_blocks(const struct arch *arch, int threads, int registers, int shared_bytes);

/* What the dots of programs multiply elements of the dtype with, and sum them in fp32 or int32: the first such row, the
 * architecture's own instruction; NULL: none. */
const struct arch_mma *arch_dot(const struct arch *arch, enum tw_dtype dtype);

/* Whether one instruction has both: two of one dtype, or two of 8 bits that are summed alike. */
bool arch_multiplies(const struct arch *arch, enum tw_dtype a, enum tw_dtype b);

/* All dtypes with an arch_dot: "bf16, fp16 or tf32" with " or " before the last. Returns text. */
const char *arch_multiplied(const struct arch *arch, const char *last, char *text, size_t room);

/* The row that fits the instruction, or NULL. */
const struct arch_mma *arch_find_mma(const struct arch *arch, const char *kind, enum tw_dtype input,
                                     enum tw_dtype accumulator, int m, int n, int k);

#endif
