/* Whether the order of a loop's turns matters to what it carries. */
#ifndef TW_GEN_PROGRAM_ANY_ORDER_H
#define TW_GEN_PROGRAM_ANY_ORDER_H

#include "program/program.h"
#include "spec/arena.h"

enum any_order {
    ANY_ORDER,         /* but for rounding it does not matter */
    ANY_ORDER_CARRIED, /* *which: the carried value of which that is not known */
    ANY_ORDER_WRITES,  /* *which: the operation of the body that writes to memory */
    ANY_ORDER_NO_MEMORY
};

/* Of the LOOP. It does not matter where each carried value is
 *     the same in every turn;
 *     a running maximum m, max(m, x), or minimum;
 *     a sum, s + x;
 *     a sum kept relative to such an extreme, s * 2^(m - m') + y, with m' that of this turn and y a sum of terms in
 *     which a factor 2^(x - m') stands once, or 2^(x - (m' + c)) with a finite constant c;
 * where no x depends on what is carried, and no turn writes to memory. *which may be NULL. */
enum any_order program_any_order(const struct program *p, int loop, const struct memory *memory, int *which);

#endif
