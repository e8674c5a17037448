/* The arithmetic of a program, made ready for a lowering: one graph of its own in which
 *   - indices are coordinates: INDEX leaves are replaced by what the tile that is consumed says of the axis;
 *   - edges are arithmetic: what an operation takes outside of a tile's valid box stands there as a select;
 *   - a reduction to the largest or smallest takes its operand without positive constant factors, which are applied
 *     behind it: rounding is monotone, so that max(c x) is c max(x) to the bit.
 * Leaves that remain: constants, SYMBOL, SCALAR, ROW, COLUMN, AT, LOOP, elements of tensors that are read directly, and
 * TILE(op) for what operations give.
 */
#ifndef TW_GEN_LOWER_DERIVE_WORK_H
#define TW_GEN_LOWER_DERIVE_WORK_H

#include "lower/lower.h"

/* A node's dependence on the element in hand, as bits. */
enum work_scope { WORK_UNIFORM = 0, WORK_ROW = 1, WORK_COLUMN = 2 };

struct work_op {
    int arg[3]; /* operands as nodes of the work graph; -1: none, or a tile that has no arithmetic (a ring's). */
    int *value; /* LOOP: first values, END: those carried on */
    int at[SPEC_MAX_RANK]; /* LOAD, GATHER, STORE: first coordinates; numbers of rows in their place */
    int end;               /* LOAD: rows of its tile up to the limit of its one span of rows that has one; -1 */
    bool summed;           /* LOAD: dots sum its rows, up to that end (derive.c) */
    int element;           /* LOAD: the element of its tensor that arithmetic takes; -1: takes none, -2: several */
    int *combine;          /* the last RESULT of a LOOP with parts and a combine: what it makes of two parts */
    int from, to;          /* LOOP; SLICE: from, its first row */
    int low, until;        /* LOOP by a list: its turns from number low on, and up to `until`, need no masks; -1 */
    int inside;            /* STORE: the elements that are written; RESULT of a LOOP with parts and a combine: its rows;
                              -1: all */
    int beyond;            /* STORE: the part of it that the extents of what is written do not tell; -1: nothing */
    int leaf;              /* TILE(op); -1: gives nothing */
    int result;            /* what stands for it in other operations' operands: the leaf, or what is applied to it */
    int parent;            /* the LOOP around it; -1 */
};

struct work {
    const struct program_lowering *l;
    const struct program *program;
    struct expr_graph graph;
    struct work_op *op;   /* by operation */
    unsigned char *scope; /* by node, as far as it was asked for */
    int scope_count, scope_room;
};

/* 0, 1 a fault (what cannot be lowered), 3 out of memory. close in any case. */
int work_open(struct work *w, const struct program_lowering *l);
void work_close(struct work *w);

/* Bits of work_scope. A tile of one row does not depend on the row; without memory it is said to depend on all. */
int work_scope(struct work *w, int node);

/* What of a byte becomes an operand's element: all of it, or x % 16 - less, or x // 16 - less. */
enum work_bits { WORK_BYTE, WORK_LOW, WORK_HIGH };
struct work_conversion {
    enum work_bits bits;
    int less; /* 0 to 15 */
};

/* The LOAD of bytes that an operand of a DOT is converted from, to 16 bits, transposed or not; -1. */
int work_converted(const struct work *w, const struct program_tile *operand, bool *transposed,
                   struct work_conversion *how);

/* The operation that has the name; -1: none has, or it is NULL. */
int work_named(const struct work *w, const char *name);

bool work_is_load(const struct program_op *op);  /* LOAD or GATHER */
bool work_is_store(const struct program_op *op); /* STORE or STORE_ADD */

/* The LOAD or GATHER that an operand of a DOT is a plain view of, or a slice of one, and whether it is transposed; -1:
 * it is computed. */
int work_view(const struct work *w, const struct program_tile *operand, bool *transposed);

/* The condition under which a GATHER's rows are there, and their number is that node's second operand; -1: always. */
int work_ending(const struct work *w, int gather);

/* What remains of a STORE's `inside` without the conditions that its places are within the tensor; -1: nothing. Its
 * first coordinates are known. *status 3: out of memory. */
int work_beyond(struct work *w, int store, int *status);

/* True where the condition holds for the rows up to one that is the same for the whole item, and asks nothing else. */
bool work_ends_rows(struct work *w, int condition);

/* Where the element in hand lies in the span of dim d of a LOAD or STORE, in a graph; turned: rows and columns have
 * changed places. Rows run along several spans as numbers do through digits, along the last one fastest. */
int work_within(const struct work *w, struct expr_graph *g, const struct program_op *o, int d, bool turned);

/* The tile that a STORE writes, as the dots have it; *turned: its columns are the rows of what is written. */
const struct program_tile *work_stored(const struct work *w, const struct program_op *store, bool *turned);

#endif
