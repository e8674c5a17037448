/* A Spec: what a .lua file declares, as plain data with a location in every node.
 *
 * spec_read runs the file in the sandbox, checks every field against the schema table and traces the fused functions.
 * A Spec that was read without errors holds no unknown field, no wrong type, no value outside its row's bounds. What
 * depends on the architecture (spans, budgets, instruction shapes) is the Plan's to check.
 */
#ifndef TW_GEN_SPEC_SPEC_H
#define TW_GEN_SPEC_SPEC_H

#include "dtype.h"
#include "spec/diag.h"
#include "spec/expr.h"
#include "spec/fill.h"
#include "spec/how.h"
#include "spec/tuned.h"
#include "swizzle.h"

enum { SPEC_MAX_RANK = 5, SPEC_MAX_AXES = 12, SPEC_EXTENT_BITS = 40, SPEC_MOST_SETUPS = 48 /* of one architecture */ };
#define SPEC_MAX_EXTENT ((int64_t)1 << SPEC_EXTENT_BITS) /* of an extent, and of a stride in elements */

struct program;

/* dims "M N K%8": one symbol each. */
struct spec_dim {
    const char *name;
    int64_t multiple; /* what must divide it; 1 where nothing must */
    struct diag_loc loc;
};

struct spec_tensor {
    const char *name;    /* the field's name: A, B, D, bias */
    struct diag_loc loc; /* of the field */
    struct diag_loc dtype_loc;
    enum tw_dtype dtype;
    bool dtype_guessed; /* it stands in the place of one that has a fault */
    int rank;
    int dim[SPEC_MAX_RANK]; /* nodes of the kernel's shape graph, memory order, innermost last */
    struct diag_loc dim_loc[SPEC_MAX_RANK];
    int stride[SPEC_MAX_RANK]; /* nodes, in elements, -1: dense; the innermost is always 1 */
    int axis[SPEC_MAX_RANK];   /* position in kernel.axis of each dim, -1 where the family leaves it open */
    bool axes_given;           /* by the spec or by the family; else they were inferred from extents */
    bool axes_written;         /* by the spec */
    bool swizzle_set;
    enum tw_swizzle swizzle;
    struct diag_loc swizzle_loc;
    struct fill fill;
    int lua_fill;            /* registry reference of a `fill` that is a function, 0: none */
    bool out;                /* written by the kernel */
    bool pointers;           /* each index of its first dim lies at an address of its own */
    int maps;                /* so many indices has its first dim, each with a map of its own; 0: one is of all */
    struct diag_loc maps_loc;
    int tile[SPEC_MAX_RANK]; /* user templates: elements of a tile by dim; 0 where not given */
    bool tile_set;
    bool read;     /* a fused function, the family or a ring reads it */
    bool doubtful; /* an extent or stride stands in the place of one that has a fault */
};

struct spec_scalar {
    const char *name;
    enum tw_dtype dtype;
    struct diag_loc loc;
    double value; /* what `run` passes; spec: scalar("fp32", 1.5); default 1 */
    bool read;    /* a fused function, the family or a template reads it */
};

/* One ring of a user's template: rings = { { "x", stages = 2 } }: the tensors that travel together. */
struct spec_ring {
    int tensor[8];
    int tensor_count;
    int stages;
    struct diag_loc loc;
};

/* One set of dims of `run` or `bench`; the value of dims left out is -1. */
struct spec_sizes {
    int64_t *value; /* by dim */
    struct diag_loc loc;
};

/* tune = { tile = { n = { 128, 256 } } }: the values of one field that `tune` tries. */
struct spec_tune {
    enum spec_field field;
    struct spec_value *value;
    const char **path; /* of each: "tune.pipeline.stages[2]" */
    int count;
};

/* tile and cluster of a kernel with a program, by its own axes. */
enum spec_axis_field { SPEC_TILE, SPEC_CLUSTER };
struct spec_axis_tune { /* tune = { tile = { kv = { 64, 128 } } } */
    enum spec_axis_field field;
    int axis;
    int *value;
    struct diag_loc *loc;
    const char **path; /* of each: "tune.tile.n[1]" */
    int count;
};

/* The kernel's program with one or two values of axis_tune on an architecture. */
struct spec_tune_program {
    const char *arch;
    int tune[2], value[2]; /* positions in axis_tune and in its values; tune[1] -1: one */
    struct program *program;
    struct spec_choices choices;
};

/* arch = { sm_80 = { tile = ... } }: the same fields again, those that are set override. */
struct spec_arch {
    const char *name; /* "sm_90a" */
    struct diag_loc loc;
    struct spec_fields fields;
};

/* The kernel's program, traced with the tile and cluster that it has on an architecture. */
struct spec_arch_program {
    const char *arch; /* "sm_90a" */
    struct program *program;
};

/* The problem of a library that a kernel solves, or that is in it: peer = { "gemm", a = "A", b = "B", d = "D" } of its
 * family's module, or of the kernel. */
enum { SPEC_PEER_ROLES = 8 };
struct spec_peer {
    const char *problem; /* "gemm"; NULL: none is known */
    const char *role[SPEC_PEER_ROLES], *tensor[SPEC_PEER_ROLES]; /* "a", "A"; by the roles' names */
    int count;
    bool plain; /* of a kernel: the problem is all that it does */
};

struct spec_kernel {
    const char *name;
    struct diag_loc loc;       /* of the call kernel "NAME" */
    const char *family;        /* "gemm", or NULL */
    const char *template_path; /* user's own template, as found beside the spec, or NULL */
    struct diag_loc template_loc;
    const char *axis[SPEC_MAX_AXES]; /* the family's axes, or those that the tensors of a user's kernel name */
    int axis_count;
    struct spec_tensor *tensor;
    int tensor_count;
    struct spec_scalar *scalar;
    int scalar_count;
    struct spec_ring *ring;
    int ring_count;
    int grid[3]; /* nodes of the shape graph for user templates, -1 where not given */
    struct spec_fields fields;
    struct spec_arch *arch; /* in the order of the architecture table; none: every one the family knows */
    int arch_count;
    const char *const *arch_like; /* as in spec_options */
    struct spec_tune *tune; /* in the order of the schema */
    int tune_count;
    struct spec_axis_tune *axis_tune;
    int axis_tune_count;
    struct spec_tune_program *tune_program; /* where spec_options.tunes asks for them; of those that can be traced */
    int tune_program_count;
    bool tune_alone; /* pairs of its values are too many to be traced */
    struct spec_ahead *ahead;
    int ahead_count;
    struct spec_via *via;
    int via_count;
    struct spec_direction *direction;
    int direction_count;
    struct spec_cache *cache;
    int cache_count;
    struct spec_split *split;
    int split_count;
    struct program *program;                /* what its function `program` was traced to (program/program.h), or NULL */
    struct spec_arch_program *arch_program; /* where an architecture's differs */
    int arch_program_count;
    struct spec_choices choices; /* of its family */
    int lua_reference; /* registry reference of `reference`, or LUA_NOREF (-2) */
    struct spec_sizes *run, *bench;
    int run_count, bench_count;
    struct spec_peer peer;
    const char *meaning; /* of its family; NULL: it has none */
    struct expr_graph shape; /* dims, strides, grid: integers over the symbols */
    struct expr_graph graph; /* fused functions */
    struct spec_tuned *tuned; /* in the order of SPEC.tuned.lua */
    int tuned_count;
    struct spec_setup setup; /* of a set-up; else there is no name */
    bool sound; /* it can be planned, whatever faults other kernels and fields that count as not written have */
};

struct spec {
    const char *path;
    struct spec_dim *dim;
    int dim_count;
    struct spec_kernel *kernel;
    int kernel_count;
    struct spec_kernel *setup; /* behind the kernels in their array: kernels with the fields that they are tuned to */
    int setup_count;
    char **dependency; /* files read: the spec and what it required, in reading order */
    int dependency_count;
    void *lua;   /* lua_State kept for `reference` functions; NULL after an error */
    void *arena; /* owns every string and array above, and the sandbox (read/read.h) */
};

/* What the reader must know of a family: what its module says (read/trace_family.c). */
struct spec_family_tensor {
    const char *name;
    const char *axes; /* default order, innermost last: "m k" */
    bool required, out;
    bool shared;    /* functions may read its elements, too */
    bool any_order; /* its dims may lie in any order, not in that of `axes` alone */
    int lua_fill;   /* registry reference of what it holds where a kernel says nothing, 0: none */
};
struct spec_family {
    const char *name;
    const char *axes;                        /* "m n k" */
    const struct spec_family_tensor *tensor; /* ends with name == NULL; other tensor fields are epilogue operands */
    const char *const *scalar;               /* scalar fields that the family reads: "alpha", "beta"; NULL-terminated */
    const char *grid;                        /* axes along which items run: "m n" */
    const char *extents;                     /* those of them whose extents a kernel may say; NULL: none */
    const char *meaning; /* axes whose tile says what is computed: "kv"; NULL: none */
    struct spec_peer peer;
};

struct spec_options {
    const char *const *arch; /* names of the known architectures, NULL-terminated */
    const char *const *arch_unnamed; /* those of a kernel that names none; NULL: all */
    const char *const *arch_like; /* pairs, ended by NULL: the first has the second's fields and program in a kernel
                                     that names the second and not it; NULL: none has */
    const char *const *arch_dots; /* of each what its dots multiply, "bf16, fp16"; NULL: the reference does not say */
    /* Text of a file that ships with the program, such as "lib/gemm.lua"; NULL: there are none. */
    bool (*library)(const char *name, const char **text, size_t *length);
    const char *const *library_family; /* names of the families among them, NULL-terminated; NULL: none */
    const char *tuned;                       /* in the place of SPEC.tuned.lua; "": no set-up is read */
    bool candidates;                         /* a set-up that is wrong is no fault: it says why itself */
    bool tunes;                              /* programs are traced with the values of `tune` as well */
    size_t memory_limit;               /* bytes for Lua; 0: 64 MiB */
    int64_t instruction_limit;         /* 0: 50 million */
    void *(*alloc)(void *context, void *pointer, size_t old_size, size_t new_size); /* NULL: realloc and free */
    void *alloc_context;
};

/* Reads the file. Every fault goes to `diags`. Returns 0 where there was no error, 1 where the spec is at fault,
 * 3 out of memory. *spec is then to be freed all the same. */
int spec_read(const char *path, const struct spec_options *options, struct spec *spec, struct diag_set *diags);
void spec_free(struct spec *spec);

/* The file of the kernel, dim, tensor, ... that a location names is an index into the `diags` that spec_read was given.
 */

/* Evaluates a user kernel's `reference = function(t, n)` in the spec's own Lua on the run sizes. t.NAME is a tensor
 * with 0-based indices (t.x[r][c], reading and, for `out` tensors, writing), a scalar is its number; n.NAME a dim.
 * `data[i]` holds tensor i densely in doubles, row-major in its dims. Returns 0, or 1 with the fault in `diags`. */
int spec_run_reference(struct spec *spec, int kernel, const int64_t *dims, double *const *data, struct diag_set *diags);

/* What a tensor whose `fill` is a function(i, j, ..., n) holds: it is called for each element with its 0-based indices,
 * outermost first, and n: n.NAME is a dim, n[1], n[2], ... the tensor's extents. `to` receives its numbers, row-major
 * in the tensor's dims. Of more than `most` it is called for as many whole slices of the outermost dim as stay below
 * that, and at least one; they repeat. Of many elements processes have a part each, so that no call may build on what
 * another one left. Returns 0, or 1 with the fault in `diags`, 3 out of memory. */
int spec_run_fill(struct spec *spec, int kernel, int tensor, const int64_t *dims, int64_t most, double *to,
                  struct diag_set *diags);
enum { SPEC_FILL_TIMED = 1 << 23 }; /* `most` where a kernel is timed: some seconds of Lua */

/* The architecture whose entry in the kernel's `arch` is for this one: itself, or one that it is like; NULL: none. */
const char *spec_named(const struct spec_kernel *kernel, const char *arch);

/* What the spec says of kernel on arch: the kernel's own fields with the architecture's put over them. */
void spec_said(const struct spec_kernel *kernel, const char *arch, struct spec_fields *out);

/* The fields of kernel on arch: what the spec says, and where it says nothing what the family chose. */
void spec_merge(const struct spec_kernel *kernel, const char *arch, struct spec_fields *out);

/* The program of the kernel on arch, with its sizes there. */
const struct program *spec_program(const struct spec_kernel *kernel, const char *arch);

/* The schema, for `help spec` and completion. */
void spec_print_help(FILE *out, const struct spec_options *options);    /* every field with its doc */
void spec_print_luacats(FILE *out, const struct spec_options *options); /* completion file for lua-language-server */

#endif
