/* Fused functions as CUDA: the statements that compute nodes of an expression graph, for one lane.
 *
 *     float v0 = acc + bias0;
 *     float v1 = ew_gelu(v0);                    result: "v1"
 *
 * Operators are spelled as expr_ops.def says; the functions ew_NAME are those of templates/blocks/math.cuh. Values are
 * `float`, index arithmetic is `long long`, conditions are `bool`; an int among reals is converted by a cast. Constants
 * are the floats next to the graph's doubles, written so that they read back exactly.
 */
#ifndef TW_GEN_EMIT_EXPR_CUDA_H
#define TW_GEN_EMIT_EXPR_CUDA_H

#include <stdbool.h>

#include "emit/template/text.h"
#include "spec/expr.h"

/* How the caller spells what the graph takes from outside. */
struct expr_cuda_names {
    void *context;
    /* Adds the text of a leaf (ACC, TENSOR, SCALAR, INDEX, SYMBOL): a name or another expression that needs no
     * parentheses, of type float where node->type is EXPR_REAL and long long where it is EXPR_INT. `at` are the texts
     * of a TENSOR's index nodes. A TENSOR whose text is no plain name is read once, into a statement of its own; the
     * others stand where they are used. */
    void (*leaf)(void *context, const struct expr_node *node, const char *const *at, struct emit_text *out);
    const char *prefix; /* statements declare PREFIX0, PREFIX1, ...; "v" */
    /* For expr_print_cuda_levels; NULL in the other. The level at which a leaf can first be read, and whether an
     * integer node fits 32 bits: its statement is then an int. */
    int (*level)(void *context, const struct expr_node *node);
    bool (*narrow)(void *context, int node);
    /* For TENSOR nodes, or NULL. whole: the leaf's text names no index, and none is printed for it. guard: a condition,
     * a node, under which alone the element is read, and else 0, which a whole leaf's text sees to; negative: none. */
    bool (*whole)(void *context, int node);
    int (*guard)(void *context, int node);
    /* Integers, or NULL: the name of a variable that has the node's value, an int; NULL where there is none. */
    const char *(*known)(void *context, int node);
    /* For expr_print_cuda_levels: of so many elements, by `pair` and `lane`, one takes EXP2_DIFF by a polynomial; 0:
     * none does. */
    int polynomial;
};

/* Adds the statements that compute the nodes root[0 .. count - 1], one to a line without a last line feed, each node
 * once and only those that a root needs. result[i] receives the text of root[i]'s value, in out's arena. Returns 0, or
 * 3 out of memory. */
int expr_print_cuda(const struct expr_graph *g, const int *root, int count, const struct expr_cuda_names *names,
                    struct emit_text *out, const char **result);

/* The same for the bodies of nested loops: a statement stands at the outermost level where its operands can be read.
 * out[l], l < levels, receives those of level l, numbered on through all levels; at[i] the level of root[i], 0 where it
 * is a constant. All texts share an arena. */
struct expr_cuda_levels {
    struct emit_text *out;
    int levels;
    int *at;
};
int expr_print_cuda_levels(const struct expr_graph *g, const int *root, int count, const struct expr_cuda_names *names,
                           const struct expr_cuda_levels *levels, const char **result);

/* The exact text of a float constant: 0.5f, (-1e-30f), __int_as_float(0x7f800000). Nearest float to the value. */
void expr_cuda_real(double value, struct emit_text *out);

#endif
