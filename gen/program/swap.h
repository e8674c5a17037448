/* A program with rows and columns of its tiles swapped. */
#ifndef TW_GEN_PROGRAM_SWAP_H
#define TW_GEN_PROGRAM_SWAP_H

#include "program/program.h"
#include "spec/arena.h"

struct program_swapped {
    struct program program; /* its graph: `graph` */
    struct expr_graph graph;
    int *written; /* by operation: the one of the program as written; -1: a TRANSPOSE that has come in between */
};

/* What operation `op` lacks to be swapped. */
struct program_swap_fault {
    int op;
    const char *text;
};

/* The program of the same meaning in which each tile is the transpose of what it was: dot(a, b) is dot(b^T, a^T), what
 * ran along rows runs along columns, rows are reduced where columns were. What reaches memory stays as it was: a LOAD
 * is the same tile with a TRANSPOSE behind it, a STORE has one before it, and two of them in a row are none.
 *
 * Arrays come from the arena, the graph's memory from *memory; program_swap_free in any case. 0; 1 where an operation
 * cannot be swapped, in *fault; 3 out of memory. */
int program_swap(const struct program *from, struct arena *arena, const struct memory *memory,
                 struct program_swapped *to, struct program_swap_fault *fault);
void program_swap_free(struct program_swapped *to);

#endif
