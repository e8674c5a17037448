/* Expression graphs: the one form of symbolic arithmetic.
 *
 * Shapes, strides, grid formulas (64-bit integers over the dims) and fused functions such as `epilogue` (values over
 * the accumulator, tensors, scalars and indices) are nodes of one graph. The graph is plain data: nodes refer to
 * earlier nodes by index, so walking them in order is an evaluation order and printing is deterministic.
 */
#ifndef TW_GEN_SPEC_EXPR_H
#define TW_GEN_SPEC_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dtype.h"
#include "spec/arena.h"

/* Every operator: see expr_ops.def for arity, operand rule, result rule and spelling. */
enum expr_op {
#define EXPR_OP(id, name, arity, rule, spelling) EXPR_##id,
#include "spec/expr_ops.def"
#undef EXPR_OP
    EXPR_OP_COUNT
};

/* What a node evaluates to. Index arithmetic is int64, values are fp32, conditions are predicates. */
enum expr_type { EXPR_INT, EXPR_REAL, EXPR_PRED };

struct expr_node {
    enum expr_op op;
    enum expr_type type;
    int arg[3];          /* operands: indices of earlier nodes; -1 where the operator has fewer */
    int64_t integer;     /* EXPR_CONST_INT: the value; EXPR_SYMBOL: index into the spec's dims;
                          * EXPR_TENSOR, EXPR_SCALAR: index into the kernel's tensors or scalars;
                          * EXPR_INDEX, EXPR_AT: position of the axis in the kernel's axes;
                          * EXPR_LOOP, EXPR_TILE: the operation of a program (program/program.h);
                          * EXPR_BOUND: of a Plan's list of turns (plan/list.h), which EXPR_LISTED reads */
    double real;         /* EXPR_CONST_REAL: the value */
    enum tw_dtype dtype; /* EXPR_CAST: the dtype that the value is rounded to */
    int first_index;     /* EXPR_TENSOR: first of `rank` nodes in expr_graph.index that address the element */
    int rank;            /* EXPR_TENSOR: number of index nodes */
    bool natural;        /* an integer that cannot be negative, symbols and indices being none; set by expr_add */
};

/* What one row of expr_ops.def says. */
enum expr_rule {
    EXPR_LEAF,
    EXPR_ARITH,
    EXPR_INTS,
    EXPR_REALS,
    EXPR_COMPARE,
    EXPR_LOGIC,
    EXPR_SELECTION,
    EXPR_ROUND,
    EXPR_WHOLES
};
struct expr_op_info {
    const char *name, *spelling;
    int arity;
    enum expr_rule rule;
};
extern const struct expr_op_info expr_ops[EXPR_OP_COUNT];

/* More nodes than that are refused: a loop that builds a graph without end meets this bound. */
enum { EXPR_MAX_NODES = 1 << 16 };

/* Owns its nodes. Zero-initialised (but for `memory`) is empty. Plain assignment does not copy: see expr_copy. */
struct expr_graph {
    struct expr_node *node;
    int count, capacity;
    int *index; /* index nodes of EXPR_TENSOR, `rank` each */
    int index_count, index_capacity;
    int *hash; /* open addressing over the nodes, -1 is free; capacity 2 x `capacity` */
    struct memory memory;
};

/* Appends a node, folding constants and identities and sharing equal nodes. The type of an operator's node is computed,
 * that of a leaf is the caller's. Returns its index, or -1: out of memory, too many nodes, or operands of a wrong type
 * (expr_result_type says so before). Integer operands of a REAL result are converted by whoever prints it; constants
 * are converted here. Folding never hides an overflow or a division by zero: such nodes stay. */
int expr_add(struct expr_graph *g, const struct expr_node *node);

/* The type that `op` gives on these operands; false where it takes no such operands. */
bool expr_result_type(const struct expr_graph *g, enum expr_op op, const int arg[3], enum expr_type *type);
int expr_int(struct expr_graph *g, int64_t value);
int expr_real(struct expr_graph *g, double value);
int expr_symbol(struct expr_graph *g, int dim);
int expr_leaf(struct expr_graph *g, enum expr_op op, enum expr_type type, int64_t integer); /* INDEX, ACC, SCALAR */
int expr_tensor(struct expr_graph *g, int tensor, enum expr_type type, int rank, const int *index); /* an element */
int expr_unary(struct expr_graph *g, enum expr_op op, int a);
int expr_binary(struct expr_graph *g, enum expr_op op, int a, int b);
int expr_select(struct expr_graph *g, int condition, int yes, int no);
int expr_cast(struct expr_graph *g, int a, enum tw_dtype dtype);
int expr_from_zero(struct expr_graph *g, int node);    /* it, or 0 where it is below; -1 is passed on */
int expr_ceil_div(struct expr_graph *g, int a, int b); /* (a + b - 1) // b for a >= 0, b > 0 */
void expr_free(struct expr_graph *g);                  /* keeps `memory` */

/* to = from, node by node; to's memory hook stays, what it held is freed. False out of memory. */
bool expr_copy(struct expr_graph *to, const struct expr_graph *from);

/* Adds node of another graph, with all that it needs. Returns its index in `to`, or -1 as expr_add. */
int expr_import(struct expr_graph *to, const struct expr_graph *from, int node);

/* True where the node is an integer constant; *value receives it. */
bool expr_is_int(const struct expr_graph *g, int node, int64_t *value);

/* The largest number that divides both; the other one where one is 0. */
int64_t expr_common_divisor(int64_t a, int64_t b);

/* A number that divides the INT whatever the launch: 0 where it is 0, 1 where nothing is known. leaf: of an AT or a
 * LOOP; NULL: nothing is known of these. */
typedef int64_t expr_divisor_of(const void *context, const struct expr_node *leaf);
int64_t expr_divisor(const struct expr_graph *g, int node, expr_divisor_of *leaf, const void *context);

/* Whether a node of two operands is 0 or more for the reason that those are, a and b. */
bool expr_stays_natural(const struct expr_node *n, bool a, bool b);

/* The node's `natural`: floor division and remainder of such operands are C's own. */
bool expr_is_natural(const struct expr_graph *g, int node);

/* Integer evaluation. `symbol[i]` is the value of dim i. Returns false on overflow, division by zero, or a node that is
 * no integer arithmetic. Floor semantics for // and %, as in Lua. */
bool expr_eval_int(const struct expr_graph *g, int node, const int64_t *symbol, int64_t *value);

/* Between which numbers a whole number lies, whatever is launched: dims are 1 or more, indices 0 or more, elements of
 * tensors anything. EXPR_LEAST and EXPR_MOST where no bound is known. */
#define EXPR_MOST ((int64_t)1 << 62)
#define EXPR_LEAST (-EXPR_MOST)
void expr_range(const struct expr_graph *g, int node, int64_t *low, int64_t *high);

/* How far from 0 a value is at most where it is a number, but for rounding; infinity where no bound is known. */
double expr_magnitude(const struct expr_graph *g, int node);

/* One operator on plain numbers, as the references compute it: the value functions (rows of expr_functions.def), in
 * double. */
double expr_apply(enum expr_op op, double value);

/* One integer operator, with wrap-around; a quotient by 0 is 0. */
int64_t expr_apply_int(enum expr_op op, int64_t a, int64_t b);

/* EXPR_WHOLE: the greatest whole number that is not above the value, within 32 bits; 0 of NaN. */
int64_t expr_whole(double value);

/* Value evaluation in double precision for references. The callbacks give tensor elements and scalars; of a select only
 * the chosen side is evaluated. Integer nodes compute in int64 with wrap-around. Out of memory gives NaN. */
struct expr_env {
    void *context;
    const int64_t *symbol; /* by dim */
    const int64_t *index;  /* by axis: of INDEX, and of AT */
    double acc;            /* EXPR_ACC */
    double (*tensor)(void *context, int tensor, int rank, const int64_t *at);
    double (*scalar)(void *context, int scalar);
};
double expr_eval(const struct expr_graph *g, int node, const struct expr_env *env);

/* Writes an integer expression in C syntax (int64_t operands) or in Lua syntax (for people) into `out`, at most `size`
 * bytes with the final zero; symbols by `name[i]`. Returns the length that was needed. Text that would pass
 * EXPR_MAX_TEXT is cut, and the length is then more than that. In C, // and % of operands that may be negative, min and
 * max name their operands several times. */
enum { EXPR_MAX_TEXT = 1 << 16 };
size_t expr_print_c(const struct expr_graph *g, int node, const char *const *name, char *out, size_t size);
size_t expr_print_lua(const struct expr_graph *g, int node, const char *const *name, char *out, size_t size);

/* Any expression in Lua syntax, its leaves by these names; what has none is printed by its number. */
struct expr_names {
    const char *const *dim, *const *tensor, *const *scalar, *const *axis;
    const char *const *operation; /* of a program: LOOP and TILE */
    const char *const *shared;    /* by node: its name wherever it is an operand, NULL: none; or no array at all */
};
size_t expr_print_named(const struct expr_graph *g, int node, const struct expr_names *names, char *out, size_t size);

#endif
