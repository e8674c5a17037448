/* A layer of an MLP on several GPUs, a process for each: out = gelu(x up^T + b) down^T + c. Every GPU has a slice of
 * hidden's columns, that is rows of `up` and columns of `down`, so its product is one of the summands of out, which
 * NCCL adds. x is cut into chunks of rows: while a chunk's sum is under way on the stream of collectives, the next
 * chunk's products run on the stream of kernels.
 *
 *   main.c     arguments, the order of things          layer.c    the chunks, the streams, the events
 *   group.c    the processes and what they share       numbers.c  inputs, and what their results must be
 *   driver.c   libcuda, NCCL, NVML, by dlopen          check.c    results
 *   kernels.c  the emitted kernels                     measure.c  times
 */
#ifndef TENSOR_PARALLEL_H
#define TENSOR_PARALLEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- driver.c: the entry points that are used, with handles as void * and enums as int -------------------------- */

#define CUDA_CALLS                                                                                                     \
    CALL(init, cuInit, (unsigned flags))                                                                               \
    CALL(version, cuDriverGetVersion, (int *version))                                                                  \
    CALL(device_count, cuDeviceGetCount, (int *count))                                                                 \
    CALL(device_name, cuDeviceGetName, (char *name, int bytes, int device))                                            \
    CALL(device_address, cuDeviceGetPCIBusId, (char *text, int bytes, int device))                                     \
    CALL(device_attribute, cuDeviceGetAttribute, (int *value, int attribute, int device))                              \
    CALL(context_retain, cuDevicePrimaryCtxRetain, (void **context, int device))                                       \
    CALL(context_set, cuCtxSetCurrent, (void *context))                                                                \
    CALL(context_device, cuCtxGetDevice, (int *device))                                                                \
    CALL(context_synchronize, cuCtxSynchronize, (void))                                                                \
    CALL(module_load, cuModuleLoadData, (void **module, const void *image))                                            \
    CALL(module_unload, cuModuleUnload, (void *module))                                                                \
    CALL(module_function, cuModuleGetFunction, (void **function, void *module, const char *name))                      \
    CALL(function_set, cuFuncSetAttribute, (void *function, int attribute, int value))                                 \
    CALL(max_active_clusters, cuOccupancyMaxActiveClusters, (int *clusters, void *function, const void *config))       \
    CALL(launch, cuLaunchKernelEx, (const void *config, void *function, void **arguments, void **extra))               \
    CALL(encode_tiled, cuTensorMapEncodeTiled,                                                                         \
         (void *map, int dtype, uint32_t rank, void *address, const uint64_t *dim, const uint64_t *stride,             \
          const uint32_t *box, const uint32_t *element_stride, int interleave, int swizzle, int promotion, int fill))  \
    CALL(allocate, cuMemAlloc_v2, (uint64_t * address, size_t bytes))                                                  \
    CALL(release, cuMemFree_v2, (uint64_t address))                                                                    \
    CALL(upload, cuMemcpyHtoD_v2, (uint64_t to, const void *from, size_t bytes))                                       \
    CALL(download, cuMemcpyDtoH_v2, (void *to, uint64_t from, size_t bytes))                                           \
    CALL(fill, cuMemsetD16_v2, (uint64_t address, unsigned short value, size_t count))                                 \
    CALL(priorities, cuCtxGetStreamPriorityRange, (int *least, int *greatest))                                         \
    CALL(stream_create, cuStreamCreateWithPriority, (void **stream, unsigned flags, int priority))                     \
    CALL(synchronize, cuStreamSynchronize, (void *stream))                                                             \
    CALL(stream_wait, cuStreamWaitEvent, (void *stream, void *event, unsigned flags))                                  \
    CALL(event_create, cuEventCreate, (void **event, unsigned flags))                                                  \
    CALL(event_record, cuEventRecord, (void *event, void *stream))                                                     \
    CALL(event_milliseconds, cuEventElapsedTime, (float *milliseconds, void *from, void *to))                          \
    CALL(capture_begin, cuStreamBeginCapture_v2, (void *stream, int mode))                                             \
    CALL(capture_end, cuStreamEndCapture, (void *stream, void **graph))                                                \
    CALL(instantiate, cuGraphInstantiateWithFlags, (void **executable, void *graph, unsigned long long flags))         \
    CALL(graph_launch, cuGraphLaunch, (void *executable, void *stream))                                                \
    CALL(executable_destroy, cuGraphExecDestroy, (void *executable))                                                   \
    CALL(graph_destroy, cuGraphDestroy, (void *graph))

struct nccl_id { /* ncclUniqueId of nccl.h, which goes by value */
    char bytes[128];
};

enum { NCCL_BF16 = 9, NCCL_SUM = 0 }; /* of ncclDataType_t and ncclRedOp_t */

#define NCCL_CALLS                                                                                                     \
    CALL(version, ncclGetVersion, (int *version))                                                                      \
    CALL(unique, ncclGetUniqueId, (struct nccl_id * id))                                                               \
    CALL(init, ncclCommInitRank, (void **communicator, int ranks, struct nccl_id id, int rank))                        \
    CALL(destroy, ncclCommDestroy, (void *communicator))                                                               \
    CALL(all_reduce, ncclAllReduce,                                                                                    \
         (const void *from, void *to, size_t count, int type, int operation, void *communicator, void *stream))        \
    CALL(reduce_scatter, ncclReduceScatter,                                                                            \
         (const void *from, void *to, size_t count, int type, int operation, void *communicator, void *stream))        \
    CALL(all_gather, ncclAllGather,                                                                                    \
         (const void *from, void *to, size_t count, int type, void *communicator, void *stream))

#define CALL(name, entry, arguments) int(*name) arguments;
extern struct cuda_calls {
    CUDA_CALLS
} cuda;
extern struct nccl_calls {
    NCCL_CALLS
} nccl;
#undef CALL

void open_cuda(void);
void open_nccl(const char *file);

/* The clock of the multiprocessors by NVML, in MHz; 0: there is none. */
void open_clock(const char *pci_address);
int clock_mhz(void);

/* ---- group.c: processes ------------------------------------------------------------------------------------------ */

enum { RANKS_MAX = 16 };

/* Memory that all processes see. */
struct shared {
    struct nccl_id id;
    atomic_uint arrived, phase;
    _Atomic uint64_t wrong;         /* elements, of all ranks */
    double milliseconds[RANKS_MAX]; /* of one measurement */
    double share[RANKS_MAX];        /* of the bound that the largest difference is */
    int mhz[RANKS_MAX];
    int nccl_version;
    int run; /* a number of this run */
};

/* This process's place among them. */
extern struct group {
    int rank, ranks, device;
    struct shared *shared;
    int *failure; /* while a pass is captured: where the first failure goes, which then ends nothing */
} group;

/* Forks a process a rank, each of which runs `work` with `group` set; 0 where all of them ended with 0. At the first
 * that does not, or after `seconds`, the others are killed. ranks 0: as many as there are GPUs. */
int run_group(int ranks, double seconds, int (*work)(void *context), void *context);

/* Waits until all ranks have come here. */
void meet(void);

/* Ends this process, and with it the group, where result is not 0; but see group.failure. */
void must(int result, const char *what);

/* The sum over all ranks, which have to come here. */
uint64_t of_all(uint64_t count);

/* Memory of zeros that all ranks share, made before they are forked. */
void *shared_memory(size_t bytes);

/* ---- kernels.c --------------------------------------------------------------------------------------------------- */

/* How a product's tiles are shared out among multiprocessors. SPARED: as STATIC, on fewer, so that a collective finds
 * room at once. */
enum schedule { STATIC, SPARED, DYNAMIC, SCHEDULES };
extern const char *const schedule_word[SCHEDULES];

struct product {
    uint64_t a, b, d, bias; /* device addresses: bf16 [m, k], [n, k], [m, n], fp32 [n] */
    int64_t m, n, k;
};

/* Loads the kernels of a schedule, once; false: there is no such schedule here. */
bool load_kernels(enum schedule schedule);
/* Of those that are loaded: "sm_90a". */
const char *kernel_arch(void);
/* In the stream; is_up: with gelu. */
void multiply(enum schedule schedule, bool is_up, const struct product *product, void *stream);

/* ---- layer.c ----------------------------------------------------------------------------------------------------- */

struct sizes {
    int64_t rows, in, hidden, out; /* x [rows, in], up [hidden, in], down [out, hidden], out [rows, out] */
};

/* ALL_REDUCE: every rank has all of x, and gets all of out. SEQUENCE: a rank has its share of each chunk's rows of
 * both; rows are gathered before the products, and sums scattered behind them. */
enum collective { ALL_REDUCE, SEQUENCE, COLLECTIVES };
extern const char *const collective_word[COLLECTIVES];

/* Bugs to plant. */
enum plant {
    NOTHING,
    SLICE,     /* the last rank's slice of `up` begins one row too late */
    NO_RESULT, /* a sum does not wait for its product */
    NO_ROOM,   /* a product does not wait until the sum of the one before the last has read its place */
    NO_ROWS,   /* a product does not wait for the rows that it reads */
    NO_END,    /* the last sum is not waited for */
    PLANTS
};
extern const char *const plant_word[PLANTS];

/* One way through the layer. */
struct plan {
    bool products, collectives; /* what of it is done */
    bool overlapped;            /* two streams; else one */
    int chunks;
    enum collective collective;
    enum schedule schedule;
    enum plant plant;
};

/* A rank's tensors on its device. */
struct layer {
    struct sizes is;
    int ranks, rank;
    uint64_t x, up, up_bias, down, down_bias; /* of `up` and `down` this rank's slice */
    uint64_t hidden;                          /* of one chunk */
    uint64_t sum[2], rows[2];                 /* of two chunks: this rank's summands; rows that were gathered */
    uint64_t out;                             /* [rows, out]; in SEQUENCE the rank's rows of it are written */
    void *communicator;                       /* NULL: this rank is alone */
};

void layer_open(struct layer *layer, const struct sizes *is, int ranks, int rank, void *communicator);
void layer_close(struct layer *layer);

/* Streams and events of the process; `layer_stream` is the one that a pass begins and ends in. */
void open_streams(void);
extern void *layer_stream;

/* Submits one pass. Without collectives the products' results go to `out`. */
void layer_pass(const struct layer *layer, const struct plan *plan);

/* The pass as a graph to launch; NULL: the driver or NCCL does not capture it, and *why is the CUresult. */
void *layer_graph(const struct layer *layer, const struct plan *plan, int *why);

/* Of SEQUENCE, with so many chunks: is the row of `out` the rank's? */
bool layer_owns(const struct layer *layer, const struct plan *plan, int64_t row);

/* ---- numbers.c --------------------------------------------------------------------------------------------------- */

/* WHOLE: small whole numbers, of which every sum is exact in bf16, whatever its order. NORMAL: normally distributed,
 * of about 1 on each level. */
enum numbers { WHOLE, NORMAL };

float bf16_value(uint16_t bits);
uint16_t bf16_of(float value);

/* Fills x, and columns `first` to `first + hidden / ranks` of what has hidden's. */
void layer_fill(const struct layer *layer, enum numbers numbers, int64_t first);

/* out[row, column] of WHOLE, from the definition alone. */
int whole_result(const struct sizes *is, int64_t row, int64_t column);

/* ---- check.c, measure.c ------------------------------------------------------------------------------------------ */

struct task {
    struct sizes is[8];
    int count;                /* of sizes */
    int ranks;                /* 0: as many as there are GPUs */
    int rounds;               /* of measurements; 0: none */
    bool schedule[SCHEDULES]; /* that are asked for */
    bool plants;              /* bugs are planted */
    bool checks;              /* results are compared */
    bool graphs;
    double seconds;
    const char *nccl, *json;
    uint16_t *reference; /* shared: the result of a single GPU */
};

/* Results of all ways through the layer against the single GPU's, of all sizes; how many elements are wrong. */
uint64_t check(const struct task *task, const struct sizes *is, void *communicator);
/* Every planted bug, with how many elements it makes wrong. */
void check_plants(const struct task *task, const struct sizes *is, void *communicator);

/* Times; rows of JSON by rank 0. */
void measure(const struct task *task, const struct sizes *is, void *communicator, bool graphs);

#endif
