/* What the files of the library share: the objects behind the handles, work, the state, the lock. */
#ifndef LIBCUDA_INTERNAL_H
#define LIBCUDA_INTERNAL_H

#include "emu/emu.h"
#include "emu/image.h"
#include "emu/texture.h"
#include "libcuda.h"

/* One that was destroyed stays, so that a handle, and the stack of any thread, tells so. */
struct cu_context {
    struct cu_context *next;
    int destroyed;
    int retained; /* how often; 0: a primary context that is not active */
    unsigned flags;
};

struct cu_stream {
    struct cu_stream *next;
    unsigned flags;
    int priority;
    uint64_t number;
    struct cu_graph *capture; /* what is submitted goes there; NULL: it runs */
    uint64_t capturing;       /* number of that capture; 0: none */
    int captures;             /* it began that capture, and ends it */
    int made_graph;           /* which made the graph */
};

struct cu_event {
    unsigned flags;
    int recorded;
    double seconds;     /* when */
    uint64_t capturing; /* number of the capture it was recorded in, which may have ended; 0: none */
};

/* One kernel of a module; CUfunction and CUkernel are the same here. */
struct cu_function {
    struct cu_function *next;
    struct cu_module *module;
    struct tw_kernel *kernel; /* NULL: not loaded yet */
    char *name;
    int dynamic_shared; /* that was allowed; -1: nothing was said */
    int nonportable, carveout;
};

/* A module; CUmodule and CUlibrary are the same here. */
struct cu_module {
    struct cu_module *next;
    struct emu_image *image;
    struct cu_function *functions;
};

struct cu_array {
    struct cu_array *next;
    struct cu_array_3d is;
    size_t rows, slices;      /* at least 1 of each; layers are slices */
    struct emu_texels texels; /* where they lie and what one is: cu_array_texels has the extents, too */
};

/* ---- Work -------------------------------------------------------------------------------------------------------- */

struct cu_side {      /* of a copy */
    uint64_t address; /* the host's or the device's */
    int on_device;    /* the call says that it is the device's */
    size_t x, y, z;   /* where it begins, x in bytes */
    size_t pitch, height;
    const struct cu_array *array; /* NULL: memory. Not looked at once the copy was checked */
};

struct cu_copy {
    struct cu_side from, to;
    size_t width, height, depth; /* width in bytes */
};

struct cu_fill {
    uint64_t address;
    size_t pitch;
    uint32_t value, bytes; /* of an element: 1, 2 or 4 */
    size_t width, height;  /* elements, rows */
};

struct cu_launch {
    struct cu_function *function;
    uint32_t grid[3], block[3], cluster[3];
    uint32_t shared_bytes;
    unsigned flags; /* tw_launch_flags */
    unsigned char *params;
    size_t params_bytes;
};

enum cu_kind { CU_KERNEL, CU_COPY, CU_FILL, CU_HOST, CU_CHILD, CU_EMPTY, CU_RECORD = 7 }; /* CUgraphNodeType */

/* What a stream is given, and what a node of a graph holds. */
struct cu_work {
    enum cu_kind kind;
    union {
        struct cu_launch launch;
        struct cu_copy copy;
        struct cu_fill fill;
        struct cu_host_call host;
        struct cu_graph *child;
        struct cu_event *event;
    } of;
};

struct cu_node {
    struct cu_node *next;
    struct cu_graph *graph;
    struct cu_work work;
    struct cu_node **needs; /* nodes that go before it */
    size_t need_count;
    int done;     /* while an order is looked for */
    int disabled; /* of an instantiated graph: as an empty node */
};

struct cu_graph {
    struct cu_node *nodes;          /* in the order in which they were added */
    struct cu_node *last;           /* that a capture added */
    const struct cu_graph *made_of; /* of an instantiated one: whose nodes name its own */
};

/* ---- The library ------------------------------------------------------------------------------------------------- */

struct cu_library {
    struct tw_runtime rt;
    struct tw_device *device;             /* NULL: cuInit was not called */
    struct cu_context primary, *contexts; /* the latter: all that were created */
    struct cu_stream *streams, legacy, per_thread;
    uint64_t numbers;  /* given to streams and captures */
    int broken;        /* result of the launch that broke the context; 0: none did */
    int hazards_go_on; /* a launch that ended in spite of hazards has succeeded */
};
extern struct cu_library cu;

/* A call under way, and what an entry point does first. ENTER asks for a context, ENTER_ANY for cuInit, ENTER_FIRST for
   nothing; each returns from the entry point where that is missing. The lock is given back where the function ends. */
struct cu_call {
    const char *name;
    struct cu_call *outer; /* of the same thread: from a function that the call before calls */
};
enum cu_need { CU_NEEDS_NOTHING, CU_NEEDS_INIT, CU_NEEDS_CONTEXT };
int cu_enter(struct cu_call *call, enum cu_need need);
void cu_leave(struct cu_call *call);
/* Around functions of the program's, which may wait for threads that call the driver: the lock is given back, however
   often the thread has it, and taken again. What the calls under way look at may change meanwhile. */
struct cu_call *cu_let_go(void);
void cu_go_on(struct cu_call *held);
#define ENTER_WITH(entry, need)                                                                                        \
    struct cu_call call __attribute__((cleanup(cu_leave))) = {.name = #entry};                                         \
    int refused = cu_enter(&call, need);                                                                               \
    if (refused)                                                                                                       \
    return refused
#define ENTER(entry) ENTER_WITH(entry, CU_NEEDS_CONTEXT)
#define ENTER_ANY(entry) ENTER_WITH(entry, CU_NEEDS_INIT)
#define ENTER_FIRST(entry) ENTER_WITH(entry, CU_NEEDS_NOTHING)

/* Says on standard error what is wrong with the call under way, and gives the result back. */
int cu_refuse(int result, const char *format, ...) TW_PRINTF(2, 3);

/* The result of a status of the emulator's; where it is none of success the error is said as by cu_refuse. */
int cu_result(int status, const struct tw_error *error);

/* ---- report.c: what the environment says, and what is found ------------------------------------------------------ */

/* Options of the device, and where findings are told. CUresult. */
int cu_options(struct emu_options *options);

/* A kernel begins to run; NULL: it has ended. A launch has failed, or could not be: run-program's status is 1. */
void cu_tell_launch(const char *name);
void cu_tell_failure(void);
void cu_tell_module(int result); /* a module was loaded, or was not: for the tally */

/* ---- record.c: asks the environment whether launches are recorded ------------------------------------------------ */
void cu_record_start(void);

/* ---- Work -------------------------------------------------------------------------------------------------------- */

/* Runs work, or adds it to what the stream captures, as a copy. CUresult. */
int cu_submit(struct cu_stream *handle, const struct cu_work *work);
int cu_run(const struct cu_work *work);
int cu_run_copy(const struct cu_copy *copy);
int cu_run_fill(const struct cu_fill *fill);
int cu_run_launch(const struct cu_launch *launch);
int cu_run_graph(const struct cu_graph *graph);

/* Dynamic shared memory that a kernel may have without asking, less its static bytes. */
enum { CU_WITHOUT_OPT_IN = 48 * 1024 };

/* Refuses what a GPU would, and the emulator would take, of a launch that was packed. CUresult. */
int cu_launch_check(const struct cu_launch *launch);

/* Room for parameters, zeros, aligned for tensor maps among them. NULL: no memory. */
unsigned char *cu_launch_room(size_t bytes);

/* Lays the arguments of launch->function out in launch->params, which cu_work_free frees. CUresult. */
int cu_launch_pack(struct cu_launch *launch, void **arguments, void **extra);

/* The stream of a handle: NULL and 1 are the legacy stream, 2 that of the thread. */
struct cu_stream *cu_stream_of(struct cu_stream *handle);

/* Ends captures into a graph that goes. */
void cu_capture_end_into(const struct cu_graph *graph);

/* Of a copy of the work owned by a node: deep, and freed. CUresult. */
int cu_work_copy(struct cu_work *to, const struct cu_work *from);
void cu_work_free(struct cu_work *work);

/* A new node behind the given ones. NULL: no memory. */
struct cu_node *cu_graph_add(struct cu_graph *graph, struct cu_node *const *needs, size_t count,
                             const struct cu_work *work);
struct cu_graph *cu_graph_new(void);
void cu_graph_free(struct cu_graph *graph);

/* ---- Modules ----------------------------------------------------------------------------------------------------- */

/* An image as the driver takes them: PTX, a fat binary, or the wrapper around one that nvcc emits. CUresult. */
int cu_module_load(struct cu_module **module, const void *image);

/* The kernel behind a function, loaded now if it was not yet. CUresult. */
int cu_function_load(struct cu_function *function);

/* The current context of the calling thread, which another thread may have destroyed; NULL: none. */
struct cu_context *cu_context_current(void);

/* ---- Arrays ------------------------------------------------------------------------------------------------------ */

/* Whether it was made here and not destroyed. */
int cu_array_known(const struct cu_array *array);
struct emu_texels cu_array_texels(const struct cu_array *array);

/* Kind, bits and channels of a CUarray_format. CUresult. */
int cu_texel_of(int format, unsigned channels, struct emu_texels *texels);

/* A side of a copy that is an array, but for x, y, z; and whether all of the copy lies in it, width in bytes (of other
   sides it does). CUresult. */
int cu_array_side(const struct cu_array *array, struct cu_side *side);
int cu_array_holds(const struct cu_side *side, size_t width, size_t height, size_t depth);

/* Copies of both dimensions, as nodes of graphs take them. */
int cu_copy_of_3d(const struct cu_copy_3d *call, struct cu_copy *copy);

#endif
