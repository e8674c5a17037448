/* Between the files of the spec reader: read.c (the run, names, like), kernel.c (a kernel's fields), fields.c (the
 * schema), tensors.c (tensors and scalars), operators.c (operators of expressions), trace.c (fused functions),
 * reference.c, tuned.c (SPEC.tuned.lua); and program/trace*.c, which trace a program with the same expressions.
 *
 * Everything here runs under protection: a Lua error, a memory error included, leaves through longjmp. So whatever is
 * allocated hangs on the spec's arena or on a graph of the spec from the moment on that it exists. */
#ifndef TW_GEN_READ_READ_H
#define TW_GEN_READ_READ_H

#include "program/program.h"
#include "spec/sandbox.h"
#include "spec/spec.h"

#include <lua5.4/lauxlib.h>

enum { MOST_DIMS = 64 }; /* of a spec */

/* What spec.arena points to. */
struct spec_store {
    struct memory_budget budget; /* of all that the spec makes */
    struct arena arena;
    struct sandbox *sandbox;
};

/* A call `kernel "NAME" {...}`: where it stands and its table in the tokens. */
struct site {
    int file, line;
    int open; /* token index of "{", -1: the table was made elsewhere */
};

/* Which site wrote a field: of a kernel with `like`, fields come from several. The longest path that begins a field's
 * path counts. */
struct place {
    const char *path;
    struct site site;
};

/* A kernel while its spec is read; index as in spec.kernel. */
struct draft {
    int table;          /* registry reference of its fields, those of `like` merged in */
    struct site site;   /* of its own call */
    struct site origin; /* of fields that no place names: its own, or those of the `like` at the bottom */
    struct place *place;
    int place_count;
    int likes;    /* how many kernels stand behind it by `like` */
    int fields;   /* of a family that is a module: registry reference of the fields with the module's */
    const char *ahead_why; /* the family chose `ahead`, for that reason; NULL: the kernel says it, or it has none */
    const char *via_why; /* the same of `via` */
    const char *cache_why; /* and of `cache` */
    bool how_read; /* they have been read, with what the family chose for the kernel's own tile */
    int reported;  /* faults before it was read, and those that stand aside */
    bool doubtful; /* faults of tensors, of which the trace may make others: what it tells is not passed on */
    bool unplanned; /* its program could not be traced */
    bool bare;     /* the program is traced without the functions that the kernel gives: one has a fault */
};

struct trace_module; /* a family that is a module: read/trace_family.c */

struct reader {
    const struct spec_options *options;
    struct spec *spec;
    struct diag_set *diags;
    struct sandbox *sandbox;
    struct arena *arena;
    lua_State *L;
    struct expr_graph shape; /* expressions of dims before they belong to a kernel */
    struct draft *draft;
    int now;   /* the kernel that is read */
    int epoch; /* number of the traced function that runs, 0: none; values of another one are refused */
    int epochs;
    struct trace_module *module;
    struct site made; /* where the last tensor was made, and how many were made there in a row */
    int made_count;
    struct trace *program; /* the program that is traced (read/trace.h), or NULL */
    const char *fused;     /* the kernel's function that a family's program calls now (its field), or NULL */
    unsigned fused_axes;   /* those along which its value runs, as bits */
    struct value *fused_index; /* by axis, the index that the family gives it; node -1: its tiles'; NULL: all theirs */
    bool tuned;            /* SPEC.tuned.lua is read */
    bool returned;         /* the traced function has returned: faults from there on are those of its result */
    struct name {          /* names that kernel "NAME" was called with and that got no table yet */
        const char *text;
        struct site site;
        bool used;
    } * name;
    int name_count;
};

/* ---- read.c ---------------------------------------------------------------------------------------------------- */

struct reader *reader_of(lua_State *L);                   /* NULL once the spec is read */
void reader_check(struct reader *r, const void *pointer); /* raises the end where memory is out (NULL) */
struct spec_kernel *reader_kernel(struct reader *r);

/* What a fault points at: the field's name or its value. */
enum point { AT_KEY, AT_VALUE };

/* The place of a field of the current kernel; the nearest enclosing place that is known. */
struct diag_loc reader_locate(struct reader *r, const char *path, enum point point);
struct diag_loc reader_call_loc(struct reader *r); /* of the call `kernel "NAME"` */
void reader_fault(struct reader *r, const char *path, enum point point, const char *rule, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Faults told between the two stand aside: what they are about counts as not written, and the rest of the kernel is
 * read, traced and planned, so that one run tells of all that is wrong. doubtful: the trace may stumble over it. */
int reader_aside(const struct reader *r);
void reader_aside_end(struct reader *r, int before, bool doubtful);

/* "; did you mean 'x'?" or "", in memory of the arena. */
const char *reader_suggest(struct reader *r, const char *word, const char *const *candidate);
const char *reader_list(struct reader *r, const char *const *word, const char *last); /* "a, b or c" */

/* What a value is, in words: "the text 'x'", "a tensor". */
const char *describe(struct reader *r, int index);

/* The keys of the table at `index` in order, integers first. */
struct key {
    const char *name; /* NULL: a position */
    lua_Integer position;
};
struct key *sorted_keys(struct reader *r, int index, int *count);
bool is_identifier(const char *text); /* and no keyword of C or C++ */
bool is_taken(const char *text);      /* the libraries, CUDA or the emitted text use the name (names.def) */

/* Reads a set-up of kernel `base`: the kernel with what it has on the architecture and, over that, the fields of the
 * table at `use`, which stands at `site`; row: where faults of the whole are told. Its position in spec.kernel. */
int read_setup(struct reader *r, int base, const char *arch, int use, struct site site, struct diag_loc row);

/* ---- tuned.c --------------------------------------------------------------------------------------------------- */

/* tuned "NAME" {...}, the word of SPEC.tuned.lua. */
int tuned_named(lua_State *L);


/* ---- fields.c -------------------------------------------------------------------------------------------------- */

/* Reads key of the table at `table` (absolute) where the schema has such a field or group of fields. prefix is "" or
 * "arch.sm_80.". lists: `tune`, where a list of values stands for a value; they go to the kernel's tune. False: the
 * schema knows no such key. */
bool read_field(struct reader *r, int table, const char *key, const char *prefix, struct spec_fields *out, bool lists);

/* Where a field was found that stands somewhere else. */
enum field_place { IN_KERNEL, IN_ARCH, IN_TABLE, IN_TENSOR };

/* Where a field of exactly that name stands instead, "; write pipeline = { stages = 4 }" with the value on top of the
 * stack; "" where none does. */
const char *field_elsewhere(struct reader *r, const char *name, enum field_place where);

/* The first words of the rows that the current kernel can have, NULL-terminated. */
const char **field_names(struct reader *r);

/* An integer that is exact, of Lua's integers and floats. */
bool exact_integer(lua_State *L, int index, int64_t *value);

/* ---- tensors.c ------------------------------------------------------------------------------------------------- */

/* Userdata of tensor {...} and scalar(...). The tensor's table is its user value. */
struct tensor_value {
    struct site site;
    int nth; /* of those that were made on its line before */
};
struct scalar_value {
    struct site site;
    enum tw_dtype dtype;
    double value;
};
int make_tensor(lua_State *L);
int make_scalar(lua_State *L);

/* Reads the tensor or scalar on top of the stack as field `name` of the current kernel. */
void read_tensor(struct reader *r, const char *name);
void read_scalar(struct reader *r, const char *name);

/* After all tensors: axes of the family, extents that must agree, required tensors. */
void check_tensors(struct reader *r);

/* Axes of "m n k", each a string; returns their number. */
int split_words(struct reader *r, const char *text, const char **word, int most);

/* ---- axes.c ---------------------------------------------------------------------------------------------------- */

/* Of a family's tensors whose axes the spec does not write: the order in which they agree with all extents. Where there
 * is another one, too, the spec is at fault and told what to write. */
void infer_family_axes(struct reader *r, const struct spec_family *family);

/* Raises the fault of a tensor without axes that is to broadcast: which axes would fit, by `extent` of each axis, nodes
 * of the kernel's graph, -1 where the function does not run along it. */
int refuse_broadcast(struct reader *r, const struct spec_tensor *t, const int *extent);

/* ---- layout.c -------------------------------------------------------------------------------------------------- */

/* After sizes: strides that are negative, or that let a tensor that is written overlap itself, in every launch or in
 * sizes that the spec lists. */
void check_layouts(struct reader *r);

/* ---- kernel.c -------------------------------------------------------------------------------------------------- */

/* Reads the fields of the current kernel from the table at `table`. */
void read_kernel(struct reader *r, int table);

extern const char *const kernel_words[]; /* fields of a kernel that are no rows of the schema; NULL-terminated */
extern const char *const tensor_words[]; /* fields of a tensor; NULL-terminated */

/* The symbols that a kernel's shapes use: used[dim]. */
void used_dims(const struct spec_kernel *k, bool *used);

/* ---- trace.c, operators.c -------------------------------------------------------------------------------------- */

/* An expression: of dims (epoch 0, reader.shape) or of the function that is traced (kernel.graph). In a program it has
 * the shape of a tile beside the node; tile.node is unused. */
struct value {
    int node, epoch;
    int body; /* programs: the loop body that it needs, by the number that the body got when it was entered; 0: none */
    struct program_tile tile;
};

/* t.R, t.R[i.m]: a tensor of the kernel that still takes indices. Without any it broadcasts along its axes. */
struct element {
    int tensor, count, epoch;
    int index[SPEC_MAX_RANK];
    struct value at; /* programs: what its indices so far make together */
};

struct expr_graph *graph_of(struct reader *r); /* what values that are made now belong to */
int made(struct reader *r, int node);          /* a node that was just made, or the error why it could not be */
bool is_symbolic(lua_State *L, int index);
const char *type_word(enum expr_type type);           /* "a condition" */
struct value value_at(struct reader *r, int index);   /* the number, expression or tensor at `index` */
struct value plain_value(struct reader *r, int node); /* of one element */
void push_value(struct reader *r, const struct value *v);
void push_node(struct reader *r, int node); /* plain_value */

/* What operator `name` gave on the operands. */
void push_result(struct reader *r, const char *name, int node, const struct value *operand, int count);

enum sandbox_value trace_value_at(lua_State *L, int index); /* trace_lua.c; for sandbox_know_values */
void open_expressions(struct reader *r); /* metatables and the functions of expressions as globals */
void open_operands(struct reader *r);    /* the part of it that is trace.c's */
void push_symbol(struct reader *r, int dim);

/* The value at `index` as a whole number or an expression of dims, in the kernel's shape graph. -1 and *what says what
 * it is instead. */
int shape_node(struct reader *r, int index, const char **what);

/* ---- read/trace_family.c ------------------------------------------------------------------------------------- */

/* The family that lib/NAME.lua describes, read at first use; NULL: there is no such file. */
const struct spec_family *read_module(struct reader *r, const char *name);
const struct spec_family *module_family(const struct reader *r, const char *name); /* of those read */
const char *module_function(const struct reader *r, const char *family); /* the first that a kernel may give; NULL */
bool module_has_constant(struct reader *r, const char *name); /* of the kernel's family */
void module_constant(struct reader *r, const char *name); /* checks the kernel's, on top of the stack */
bool module_has_function(const struct reader *r, const char *family, const char *name);

/* Pushes the table of the kernel's fields with the module's program, axes, grid and fields under them; its index. */
int apply_module(struct reader *r, int table);

/* What problem of a library the kernel is, as its family's module says; its fields stand in the table at `table`. */
void module_peer(struct reader *r, int table);

/* ---- read/peer.c ----------------------------------------------------------------------------------------------- */

/* The same of a kernel without a family, by its field. */
void peer_field(struct reader *r, int table);

/* ---- read/trace.c -------------------------------------------------------------------------------------------- */

/* Reads axes, tile, grid and program of the current kernel from its table, and traces the program. */
void read_program(struct reader *r, int table);

/* Reads `axes` and `tile`, which tensors and other fields need first. */
void read_program_axes(struct reader *r, int table);

extern const char *const axis_field_names[];
bool is_axis_field(const char *name); /* tile or cluster, which a program has by its own axes */

/* Raises an error where the value belongs to a body that is over. */
void program_check_body(struct reader *r, const struct value *v);

/* The tile and body of `result` from those of the operands; raises an error where they do not fit. */
void program_merge(struct reader *r, const char *name, const struct value *operand, int count, struct value *result);

void trace_open_words(struct reader *r); /* makes the words of programs globals */
enum tw_dtype program_dtype(struct reader *r, int node); /* what the node's values are exact in */
int program_method(lua_State *L);                        /* value.as, value.t */

/* Names for metatables. */
#define TYPE_EXPRESSION "expression"
#define TYPE_ELEMENT "tensor element"
#define TYPE_TENSORS "tensors of the kernel"
#define TYPE_INDICES "indices of the kernel"
#define TYPE_TENSOR "tensor"
#define TYPE_SCALAR "scalar"
#define TYPE_KERNEL "kernel"

#endif
