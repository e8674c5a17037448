/* Programs as a derivation would make them, for the tests of the protocol check: each a few choices, and the steps that
 * follow from them. */
#ifndef TW_TESTS_UNIT_PROTOCOL_PROGRAMS_H
#define TW_TESTS_UNIT_PROTOCOL_PROGRAMS_H

#include "plan_samples.h"

enum { K, V, Q, BYTES = 64, WARPS = 4 };

#define STEP(role, ...) program_step(role, (struct plan_step){__VA_ARGS__})

/* ---- attention --------------------------------------------------------------------------------------------------- */

struct attention {
    int k_stages, v_stages, q_stages; /* q_stages 0: Q is not loaded through a ring */
    int consumers;
    bool ahead;        /* the product of the next turn is issued before the second one of this turn */
    bool masked;       /* a second loop */
    bool tiles;        /* persistent */
    bool turns;        /* consumers pass the tensor cores on */
    bool guarded;      /* nothing of an item is done where its loops are empty, but that Q is taken and given back */
    int heads;         /* a loop between tiles and kv: 0 none, else it is there */
    bool filled_ahead; /* the producer, too, issues K a turn ahead */
    bool known;        /* no loop is ever empty: nothing is guarded */
    int o_buffers;     /* the result goes through so many buffers and bulk stores; 0: it does not */
};

/* One producer, two rings, or three, and consumers. */
bool program_attention(struct plan *p, struct attention a);

/* ---- others ------------------------------------------------------------------------------------------------------ */

struct together {
    int stages; /* 2 or more */
    int consumers;
    bool producers; /* a role for each tensor */
    bool tiles;
};

/* K and V share a ring; the first product is a turn ahead, so that V is read of the stage before the newest. */
bool program_together(struct plan *p, struct together a);

/* Two roles that hand work to each other at named barriers: each arrives at one and meets at the other. */
bool program_handoff(struct plan *p, int roles, bool first_waits);

struct readers {
    int stages;
    int keep;    /* groups of reads in flight, and stages for them */
    int readers; /* roles */
    bool again;  /* the second reads each stage in two groups */
};

/* A ring whose newest stages are kept for groups in flight, read by one role or two. */
bool program_readers(struct plan *p, struct readers a);

struct norm {
    int stages, columns; /* stages that a row takes */
    int instances;
    bool by_warps; /* each warp releases what it read */
};

/* Rows that threads read at once, reduce through scratch and read again. */
bool program_norm(struct plan *p, struct norm a);

struct convert {
    int stages, b_stages;
    int converters, consumers;
    bool by_warps, arrive_by_warps; /* each warp releases what it read, and arrives for what it wrote */
};

/* A role that reads one ring and fills another, which a third multiplies. */
bool program_convert(struct plan *p, struct convert a);

/* An operand that the consumer itself writes into shared scratch for its matrix instruction. */
bool program_through_scratch(struct plan *p, int stages, bool by_warps);

struct in_turn {
    int stages, consumers;
    bool turns;      /* passed on; without them one of the consumers may see the parity of an older turn */
    bool skip_first; /* stages of others are skipped at the head of the turn */
    bool awaited;    /* the turn that is passed on behind the last item is waited for by who would be next */
};

/* Consumers take items in turn; each skips the stages of the others'. */
bool program_in_turn(struct plan *p, struct in_turn a);

struct parts {
    int stages; /* sums of an item */
    bool tiles;
    bool loads; /* the sums are of what a producer loads */
};

/* Two blocks of a cluster that send each other their parts of sums. */
bool program_parts(struct plan *p, struct parts a);

struct late {
    int stages; /* of what is multiplied, 2 or more */
    int consumers;
    int chunks, buffers; /* of a result */
    bool behind; /* what is left goes out behind the last products' wait, and not under them */
    int part;    /* chunks go out within the first 1 / part of the turns; 0: one a turn */
};

/* Results go out in the next item's turns, chunk by chunk. */
bool program_late(struct plan *p, struct late a);

struct source {
    int consumers;
    int buffers;  /* of a result, each of a chunk */
    bool doubled; /* an item has twice as many chunks, and its second half is asked for behind the first */
};

/* What comes into the buffers that results leave by, chunk by chunk. */
bool program_source(struct plan *p, struct source a);

struct copied {
    int stages;   /* of k and v, 2 or more */
    int queries;  /* q: 0 there is none, 1 it is read once into registers, 2 in every turn */
    bool tiles;   /* items, one after another */
    bool masked;  /* the loop has two bodies */
    bool at_once; /* plain loads and stores fill: no groups */
};

/* All threads fill the rings of attention by cp.async and multiply by mma.sync. */
bool program_copied(struct plan *p, struct copied a);

#endif
