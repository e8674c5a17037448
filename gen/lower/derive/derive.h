/* The derivation: a program with dots becomes the steps of a producer and of consumers.
 *
 * The program is walked once, in its order, and both roles' steps are appended on the way, so that what one waits for
 * the other does at the same place of the same loops.
 *
 * RINGS. A load that a dot reads from shared memory travels by bulk copies; rows by number by one each, or by threads
 * of the producer, 16 bytes each, which then arrive. Loads of one body that the same dots read and that travel alike
 * share a ring; the consumers take a stage where its first dot is issued (for dots in an inner loop: before it), the
 * producer fills it there.
 *
 * ALONG. What a turn takes of a tensor for arithmetic, a number for each row of the item or one for all, comes in the
 * stage of the tiles that its dots read (derive_along.c).
 *
 * RESIDENT OPERANDS. A first operand that is loaded outside of the dot's loop goes into registers where there is room;
 * its stage is released at once, behind a fence: the next bulk copy would overtake what threads have read.
 * A first operand that is a cast of a load goes there right before its dot, behind which a fence stands.
 *
 * PLACES. Expressions have none, but for those that are carried, that are operands, or that several operations take:
 * these are computed once, where the first of them stands; into the registers of the accumulator that they are computed
 * from where nobody needs that any more. What a turn reads of tensors and no dot gives is read early: derive_early.c.
 *
 * WAITS. Each dot is a group of its own. Before the first touch of registers that a group writes or reads stands a wait
 * with the number of groups that were issued behind it. A group that nobody waited for during the turn behind its own
 * is waited for at that turn's end. A stage is released behind the wait that covers its last dot. What is in flight
 * where a turn begins must be what is in flight where it ends: a turn is walked before, to find that.
 *
 * CROWDED. Where registers do not hold the computed operands of all dots of a turn beside everything else, the turn
 * ends behind the wait for all of its groups but the newest, and the next one waits for that behind its first dot: its
 * others then run beside no operand. Each was computed from accumulators that are free by then, so that within the turn
 * they take the room of those.
 *
 * BY BLOCK. Where a turn adds a dot's product to a sum that it carries on, and registers do not hold the product of all
 * of a consumer's rows beside that sum, blocks of 64 rows are multiplied one after the other, each into the same
 * registers, and added when it is done. The products of other consumers run meanwhile. Of 64 rows alone the halves of
 * the columns are such blocks. What is added of one is built for its columns: a choice of scales that meet in the
 * middle is known.
 *
 * OVERLAP. An operand may be computed from several dots of its turn. Functions of the first are computed behind its
 * wait, while the last runs, into a place of their own. Stages that this wait frees are released behind them: the
 * compiler moves arithmetic behind the next wait where no branch stands in between, and a release is one.
 *
 * LANES. Four lanes hold a row. A carried sum that nothing in the loop reads is kept lane by lane, and added up behind
 * it.
 *
 * LOOKING AHEAD. `ahead` moves a dot of the next turn before another dot of this one. The loop in the text then begins
 * there: before it stand the first turn's dot and the rest of its beginning, behind it the last turn's end. So nothing
 * is in flight where the text loops, which ptxas asks for where a group's result is read. Where only a loop's last
 * turns need masks, these few begin and end by themselves: one loop around the peeled ones makes them, and the loop
 * that looks ahead stands inside of it. So masks, and what is behind them, stand in the text once.
 *
 * Where its masks leave turns out, the last of each item need masks. They are the first where the order of turns does
 * not matter (any_order.h): one stands in front of the loop that looks ahead, more are runs by themselves, or of fp8
 * turns of that loop, which has a branch around masks. Upwards they have a loop of their own that looks ahead, too. The
 * text counts turns from 0 up either way. A window has masks at both ends: those of its first keys have such a branch.
 *
 * IDLE TURNS, in which a mask lets nothing in and which change nothing that is carried on, are left out
 * (derive_idle.c).
 *
 * ITEMS come in a fixed order, or from a counter: then the producer passes each on (derive_items.c).
 *
 * WITHOUT A PRODUCER every thread fills. A ring of a loop is filled stages - 1 turns ahead: a prologue fills that many
 * stages, and each turn one more, right behind the barrier which shows that nobody reads it any more. That barrier
 * stands behind the wait for this turn's own copies, so that it tells of both. Each fill of a ring is a group, an empty
 * one where no turn is left to fill for; between a group and its wait lie those of stages - 1 turns. A tile that is
 * loaded outside of the loop that reads it has one stage, and a barrier of its own before it is filled. Dots are done
 * when they are issued, so that nothing is looked ahead to.
 *
 * TURNS. Consumers that take turns issue the next turn's dot and the one that it stands before together: each waits for
 * the one before it, and passes the tensor cores on behind the second.
 */
#ifndef TW_GEN_LOWER_DERIVE_DERIVE_H
#define TW_GEN_LOWER_DERIVE_DERIVE_H

#include "lower/derive/work.h"

enum {
    DERIVE_MAX_RINGS = 8,
    DERIVE_MAX_ALONG = 4,
    DERIVE_MAX_FLIGHTS = 16,
    DERIVE_MAX_HELD = 32,
    DERIVE_MAX_MASKS = 16,
};

/* Loads that travel together. */
struct derive_ring {
    const char *name;
    int load[8], load_count; /* operations */
    bool copied;             /* by threads */
    int parent;              /* the LOOP around them; -1: once an item */
    int users;               /* dots that read it */
    int inner;               /* the LOOP of `parent` in which they stand; -1: they stand beside the loads */
    int number;              /* of plan.ring */
};

/* What comes along in a ring: numbers of a LOAD, one for each row, or one or two elements that all rows take. */
struct derive_along {
    int load; /* -1: elements */
    int ring, tensor;
    int node[2];  /* of the work graph: what arithmetic takes; -1: there is but one */
    int place[2]; /* plan_some(place) into which a turn's are read */
};

struct derive_dot {
    int load[2];        /* operand's LOAD; -1: computed */
    int slice;          /* plan_some(SLICE): the second operand is rows of its LOAD, from a computed one on */
    bool transposed[2]; /* A stored k m, B stored n k: as seen from the loaded tile */
    int mma;            /* of plan.mma */
    int place;          /* plan_some: its accumulator */
    int operand;        /* plan_some: registers of A, where it is computed, resident or converted; 0: none */
    bool resident;      /* A is loaded outside of the dot's loop, and stays in registers */
    bool converted;     /* A becomes the dot's dtype in registers */
    struct work_conversion conversion;
    int by_block, columns; /* BY BLOCK: blocks, 0 where there are none; columns of each, 0 where they are of rows */
};

/* A stage that the consumers hold. */
struct derive_held {
    int ring;
    int uses;  /* dots that will still read it */
    int group; /* newest that reads it; -1: none yet */
    bool old;  /* taken in the turn before */
};

struct derive_flight {
    int dot, group; /* dot -1: an empty group; its number */
    bool old;       /* issued in the turn before */
};

struct derive {
    struct work work;
    struct derive_ring ring[DERIVE_MAX_RINGS];
    struct derive_along along[DERIVE_MAX_ALONG];
    int ring_count, along_count;
    struct derive_dot *dot; /* by operation */
    int *loop;              /* by operation: of plan.loop */
    int rows;               /* of an item's tiles: the rows of every dot */
    int blocks;             /* of 64 rows, of one consumer; wide: an instruction has two, and a store's chunk */
    int consumers, abreast; /* of them those that split an item's rows: all, or 1 where they take items in turn */
    int warps_n;            /* warps side by side along the columns; 1 where rows are reduced */
    bool synchronous, in_memory, wide; /* dots are done when issued; sums stay in tensor memory: stores take them */
    bool copies; /* without a producer: rings are filled by cp.async, in groups; else by loads and stores */
    int *first;  /* without a producer, by operation: of plan.loop, the prologue of a LOOP */
    int meeting; /* without a producer: of plan.barrier, where all threads meet */
    bool *once;  /* by operation: a STORE whose chunks are a loop, though its arithmetic is short; NULL: none */
    int *late;   /* by operation: plan_some(place) of a STORE that derive_late.c sends; NULL: none is late */
    int source, source_of, source_ring; /* plan_some(tensor), the STORE, of plan.ring: derive_reads.c; 0: none */
    int registers, stored; /* of a thread that computes; of them what the arithmetic of stores takes, unrolled */
    int crowded;           /* registers of computed operands that are never all in use: see CROWDED; 0: they may be */
    bool lane;             /* one lane of a warp waits for a stage, and the others for it */
    int turns;             /* plan_some(barrier) by which consumers pass the tensor cores on; 0: they do not */
    int parts, part_meeting, part_tile; /* plan_some(ring); or of plan.barrier and plan_some(node): derive_parts.c */
    int part_count, part_turns;         /* plan_some(node), of a stream: turns of the part, whose first is part_tile */

    /* while it walks */
    struct plan_role *producer, *consumer; /* producer: NULL where the consumers fill */
    bool dry;                              /* no steps are written */
    int ahead, before;     /* the dot that is moved into the turn before, and the one that it stands before; -1: none */
    int ahead_shift;       /* from one turn's loop variable to the next's */
    int shift;             /* of the turn that is walked beyond the loop's variable */
    int column, columns;   /* the first of those for which a value is built, and how many; 0, 0: all */
    unsigned ahead_rings;  /* rings that it alone reads, as bits */
    int *home, home_count; /* by node of the work graph: plan_some(place) that it has whenever it has one */
    int *owner, owner_count; /* by place: node whose value is there; -1: nobody's */
    bool *shared;            /* by node: several operations take it */
    bool *part;              /* by node: of those what is computed while another dot of the turn runs (find_parts) */
    bool later;              /* stages are released behind the arithmetic that comes next: OVERLAP */
    int shared_count;
    struct {
        int op, root;
    } * use; /* what each operation takes, in order */
    int use_count;
    struct derive_flight flight[DERIVE_MAX_FLIGHTS];
    int flights, groups; /* in flight; issued so far */
    struct derive_held held[DERIVE_MAX_HELD];
    int helds;
    bool *inside;         /* by node: a condition that holds in the turns that derive_turns_inside counts */
    bool unmasked, apart; /* such turns are walked; what masks choose of is made in front of a branch */
    bool *behind_low, unmasked_low, cut_low; /* the same of what holds behind the first turns: derive_inside.low, cut */
    bool placing;  /* conditions on places in memory stand as they are: they are not asked of a thread's own columns */
    int cut;       /* plan_some(node): above 0 where the turn that is walked needs masks; 0: it has them always */
    bool *partial; /* by operation: a REDUCE whose lanes add up behind its loop, the PARAM that it is added to */
    bool *done;    /* by operation: made before its place in this turn */
    int around;    /* the LOOP that is walked */
    struct derive_early *early; /* what loops read early (derive_early.h) */
    int due;                    /* plan_some(LOOP) whose turn has still to make what it reads early; 0: none */
    unsigned taken;             /* rings taken in this body, as bits */
    bool alone;                 /* turns that need masks begin and end by themselves */
    bool behind;                /* a loop within another has looked ahead by now, or has changed a sum early */
    unsigned read;              /* rings whose stage was read into registers, and not given back yet, as bits */
};

/* Rings, dots and shared nodes of the program; nothing is decided yet about the machine. 0, 1, 3. derive_close in any
 * case. */
int derive_open(struct derive *d, const struct program_lowering *l);
void derive_close(struct derive *d);

/* The steps, once places of dots, rings and matrix instructions are in the Plan, and the roles `producer` and
 * `consumer` are set. 0, 1, 3. */
int derive_steps(struct derive *d);

/* The dot's product is a part of one sum that its turn carries on, and nothing else takes it, or the sum as it was: a
 * block of the sum's rows may be there before the next one's are multiplied. plan_some(number of the carried value); 0:
 * it is not so. */
int derive_summed_by(const struct derive *d, int op);

/* Operations that take a node in which the leaf is. */
int derive_uses_of(const struct derive *d, int leaf);

/* ---- derive_zero.c: each returns 0, 1 or 3 if nothing else is said. */

/* The dot adds to a multiple of what it carried on, which nothing else takes, and began from zero. */
bool derive_starts_from_zero(const struct derive *d, int op);

/* The dot's result is taken in its own turn of a loop, so that consumers with turns pass the tensor cores on around it:
 * one computes on what it got while the next one's dot runs. Without turns two that began in step would stay so. */
bool derive_passes_on(const struct derive *d, int op);

/* ---- derive_fill.c: rings without a producer. Each returns 0, 1 or 3. */

int derive_fill_outer(struct derive *d, int loop);    /* fills what the loop's dots read and is loaded outside of it */
int derive_fill_prologue(struct derive *d, int loop); /* and the first stages of the loop's own rings */
int derive_take_outer(struct derive *d, int loop);    /* what derive_fill_outer began to fill has come */
int derive_take_filled(struct derive *d, int ring);   /* a stage of a ring whose dots stand beside its loads */

/* derive_parts.c: bytes of a value that a loop carries in a part of the workspace: of a tile its sums in fp32; of rows
 * each thread's. */
int derive_part_bytes(const struct derive *d, const struct program_op *result);

/* ---- derive_rings.c. 0, 1 or 3. */
int derive_ring_of(const struct derive *d, int load); /* -1: none */

/* derive_along.c. Finds what comes along, once rings are found and before these are in the Plan: rows, which bulk
 * copies bring, and `elements`, which the producer's thread does. Rows become loads of their ring; all get places. 0 or
 * 3. */
int derive_find_along(struct derive *d, bool rows, bool elements);

/* The node is what comes along, or needs it. */
bool derive_comes_along(struct derive *d, int node);

/* The producer's steps for the elements of a stage, behind those of its tiles. 0, 1, 3. */
int derive_send_along(struct derive *d, int ring, int shift);

/* A turn of the loop: those of its stage into their places, behind the wait for it: of stages that are taken in front
 * of the turn's first dot, and the others; behind them the fence. Each returns 0, 1, 3. */
int derive_read_before(struct derive *d, int op);
int derive_read_along(struct derive *d, int loop);

/* The producer fills the ring's next stage, `shift` further in the loop around, and the consumers wait for it. */
int derive_take(struct derive *d, int ring, int shift);

/* So for the rings that dots of an inner loop read; stages of resident operands go back behind the next wait where that
 * is `later`. */
int derive_take_for(struct derive *d, int loop, bool later);

/* Behind a loop: what keeps the registers of its resident operands. 0, 1, 3. */
int derive_keep(struct derive *d, int loop);

/* ---- derive_idle.c */

/* The loop's masks let the more turns in the farther an item begins along the axis; those of a window, which moves
 * along, do not. */
bool derive_masks_grow(struct derive *d, int loop, int axis, int *status);

/* ---- derive_pass.c: the parts of the walk that arithmetic is made of. Each returns 0, 1 or 3 if nothing is said. */

int derive_emit(struct derive *d, struct plan_role *role, struct plan_step step);
int derive_refuse(struct derive *d, int op, const char *text); /* at the operation's place; 1 */

/* The value of a node of the work graph lives in that place (plan_some) whenever it lives in one. */
int derive_home(struct derive *d, int node, int place);
int derive_home_of(const struct derive *d, int node); /* 0: it has none */
/* It is there now, and nothing else is. */
int derive_own(struct derive *d, int place, int node);
int derive_place_of(const struct derive *d, int node); /* plan_some(place) where the value is now; 0: nowhere */

/* True where `root`, as far as it is not in places yet, needs the value `what` other than through `via`. 0 or 3 in
 * *status. */
bool derive_needs(struct derive *d, int root, int what, int via, int *status);

/* A new home for a node: rows (columns 1), or a fragment. plan_some(place), 0 out of memory. */
int derive_new_place(struct derive *d, int node, const char *name, int columns);

/* plan_some(node of plan.fused) for a node of the work graph, said in what is in places now; `shift` is added to the
 * variable of the loop around. 0: *status says why. */
int derive_built(struct derive *d, int op, int node, int shift, int *status);

/* Waits for the flight at `index` and all before it, and releases the stages that this frees. */
int derive_wait(struct derive *d, int index);
int derive_release(struct derive *d);
int derive_release_late(struct derive *d);    /* what was left for later */
int derive_give_back(struct derive *d);       /* stages that were read into registers */
int derive_land(struct derive *d, int place); /* waits until nothing in flight writes or reads the registers */

/* A step of arithmetic (TOUCH with a place and a node) behind the waits for what it reads and writes. Of another step
 * these alone are made, with touches of what it reads. */
int derive_pass(struct derive *d, struct plan_step step);
int derive_evaluate(struct derive *d, int op, int node, int place); /* computes the node into the place */
int derive_prepare(struct derive *d, int op, int root);             /* computes what is shared below the root */

#endif
