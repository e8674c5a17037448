/* What random programs with dots share: how a kernel runs, the sizes that it runs at, and what follows a sum. */
#ifndef TW_TESTS_RANDOM_DOTS_H
#define TW_TESTS_RANDOM_DOTS_H

#include "random_spec.h"

enum {
    CHOSEN = 8, /* stages that a kernel has at most where the spec leaves them out */
    ITEMS = 5   /* items of the last size in a block: the emulator has one cluster then */
};

/* How one kernel runs. */
struct how {
    int stages, consumers, blocks; /* stages 0: left out; 64 rows of each consumer */
    int cluster_m, cluster_n;
    bool ahead, passing, sm_80;
    int via;                     /* of the first operand: 0 left out, 1 resident, 2 bulk */
    int order, items;            /* 0 left out; of `order`; 1 persistent, 2 one to a block */
    int direction;               /* of the main loop's turns: 0 left out, 1 up, 2 down */
    bool dynamic, in_turn, lane; /* in_turn: consumers take items in turn; lane: one of a warp waits */
    bool swapped;                /* the second operand takes the instruction's rows */
    bool stream;                 /* blocks have shares of all turns */
    bool tail;                   /* a last wave by halves */
    bool reuse;                  /* tiles of rows stay from item to item */
    int split;                   /* of a product's loop; 0: left out; of that many blocks of no cluster below 0 */
    int m, n, k, tile;    /* its own tile, as struct dots has the first kernel's; of others once these are known */
    int warps_m, warps_n; /* 0: left out */
    bool by_warps;        /* as on sm_80, and on sm_90a, by mma.sync too */
};

struct dots {
    struct random_spec *g;
    const char *dtype, *out;
    struct how how[RANDOM_KERNELS];
    int kernels;
    int m, n, k;        /* a product's tile; m: rows of any item */
    int tile;           /* what the loop of a chain steps by */
    int depth, width;   /* of a chain's first and second dot */
    int turns[4], runs; /* of the loop, by run size; the last is one in which rings wrap */
    char swizzled[160]; /* a tensor that dots read as the first kernel declares it, up to its swizzle; "": none */
    int span;           /* bytes of its tile's rows, at least */
};

struct beside {
    bool columns, rows, tile, scalar, epilogue;
};

/* How kernel `number` runs: 0 before the tiles are known, which then are made for it; the others once they are. */
void random_dots_how(struct dots *d, int number);
void random_dots_others(struct dots *d);
void random_dots_write_how(struct dots *d, int number);
bool random_dots_any_down(const struct dots *d);    /* of the kernels */
bool random_dots_any_smaller(const struct dots *d); /* tile of the loop: turns are others */
void random_dots_write_others(struct dots *d);

/* The declaration of a tensor that dots read, whose rows are `span` bytes of a tile: with a swizzle of 32 bytes, or
 * what is chosen; other kernels may have others. */
void random_dots_swizzled(struct dots *d, bool swizzle, int span, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Turns of the loops by run size; all: the last one wraps rings within an item. */
void random_dots_turns(struct dots *d, bool all);
int random_dots_extent(struct dots *d, int run, int count, int tile);
/* The extent of the axis that a loop with masks runs over. */
int random_dots_looped(struct dots *d, int run);
int random_dots_blocks(const struct dots *d, bool along_n);

/* So many tiles of rows, whole clusters, that the last has a row for each of `extent` columns to lie under. */
int random_dots_tiles_under(const struct dots *d, int extent);

struct beside random_dots_beside(struct dots *d);
void random_dots_tiles(struct dots *d, bool loops); /* a product's */

/* local v = a value of `sum` and what lies beside; `load`: Lua that gives it, columns, rows, tile. */
void random_dots_epilogue(struct dots *d, const struct beside *b, const char *sum, const char *const load[3]);

/* ---- random_groups.c: a product for each group, of which data say what is multiplied ----------------------------- */

void random_groups(struct dots *d);

#endif
