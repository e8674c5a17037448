/* Inside the lowerings of programs with dots. To TMA, mbarriers and wgmma: lower_pipeline.c decides shapes, budgets,
 * shared memory and the order of items, pipeline_tensors.c how tiles lie and travel, pipeline_cluster.c what blocks
 * share. To mma.sync, with cp.async or TMA: lower_mma_sync.c, which takes from these what both have. The order of steps
 * is the derivation's (derive.h).
 */
#ifndef TW_GEN_LOWER_PIPELINE_PIPELINE_H
#define TW_GEN_LOWER_PIPELINE_PIPELINE_H

#include "lower/derive/derive.h"
#include "lower/family.h"

enum {
    PIPELINE_ROWS = 64,    /* of a wgmma */
    PIPELINE_K_BYTES = 32, /* of its operands along k, and of an mma.sync's */
    PIPELINE_OF_CHUNK = 32, /* registers of sums that stay in tensor memory: of a chunk of a store */
    PIPELINE_BESIDE_LATE = 16, /* registers of a consumer beside sums and late results: what ptxas takes in a turn */
};

struct pipeline {
    struct derive d;
    const struct program_lowering *l;
    const struct program *program;
    struct plan *plan;
    int stored;                   /* bytes of the largest chunk that is stored through shared memory; 0: none is */
    int columns;                  /* of a part that is stored element by element; 0: none is */
    int buffers;                  /* chunks that a consumer has under way */
    bool whole, by_block;         /* its result is one chunk; a dot is made block by block */
    int chunks;                   /* of an item of a consumer, where each has a buffer: d.source; 0: they share some */
    int held;                     /* registers of a thread, about, where the fullest chunk is stored; 0: not known */
    struct pipeline_store *store; /* by operation; behind them, of all stores together */
    int cluster[SPEC_MAX_AXES];   /* by axis: neighbouring items whose blocks make a cluster; 1: none */
    int blocks;                   /* of a cluster */
    int blocks_per_sm;            /* that a multiprocessor holds at once */
    bool dynamic;                 /* items come from a counter */
    bool *refused;                /* by axis: its tile has a fault, which is told; others of it follow from that one */

    struct program_lowering own; /* pipeline_list.c: of a program whose loop goes by a list, and as it was without */
    struct derive *plain;        /* NULL: none does */

    bool bulk;           /* lower_mma_sync.c: a producer's bulk copies fill the rings; */
    int grouped;         /* it is a warpgroup then, which keeps so many registers, the others have more; 0: it is not */
    int warps_m, stages; /* lower_mma_sync.c: warps along the rows (along the columns: d.warps_n); of rings */
    int slab, parts;     /* of a row of a warp's: registers for each 8 columns that are stored; in how many parts */
};

/* ---- pipeline_list.c: loops by a list, plan/list.h. Each returns 0, 1 or 3. */

int pipeline_open(struct pipeline *x);   /* derive_open, of the program with its loop by a list where one is to */
void pipeline_close(struct pipeline *x); /* in any case */
int pipeline_list(struct pipeline *x);   /* the Plan's list, once its loops, items and workspace are known */

/* The node's operands, and those of all below it, hold one of the kind. It is the same in all turns of other loops. */
bool pipeline_holds(const struct expr_graph *g, int node, enum expr_op op);
bool pipeline_is_of_loop(const struct expr_graph *g, int node, int loop);

/* pipeline_visible.c: what masks let in (plan/visible.h), once the Plan's loops are known. 0 or 3. */
int pipeline_visible(struct pipeline *x);

/* ---- lower_pipeline.c: parts that both lowerings have ------------------------------------------------------------ */

/* The Plan's entry and template, and what `decide` makes of the rest: 0, 1 or 3, as it returns. Where it is 1, what can
 * be told of the kernel without the rest is told. */
int pipeline_lower(const struct program_lowering *l, const char *template_name, int (*decide)(struct pipeline *));

/* The same of a block's part of the program, where the spec splits a loop (lower.h, program_split). */
int pipeline_lower_split(const struct program_lowering *l, const char *template_name, int (*decide)(struct pipeline *));

/* That of the program with rows and columns swapped, where that is said or chosen (pipeline_swap.c). */
int pipeline_lower_swapped(const struct program_lowering *l, const char *template_name,
                           int (*decide)(struct pipeline *));

/* Of a swapped program, whose items run along two axes: the order in which the operand that takes the instruction's
 * rows is read once, and why. */
const char *pipeline_streamed_order(const struct pipeline *x, const char **why);

/* The field where the spec sets it; else one that is not set. */
const struct spec_value *pipeline_field(const struct pipeline *x, const char *path);

/* The field's integer where the spec sets it, else `fallback`, recorded with the reason. */
int pipeline_choose(struct pipeline *x, const char *path, int fallback, const char *reason);

const char *pipeline_dot_name(struct pipeline *x, int op);

/* The places of a dot, once blocks and warps are chosen: its accumulator, shared by everything that is the same carried
 * sum; registers of a first operand that is computed. 0 or 3. */
int pipeline_accumulator(struct pipeline *x, int op, const char *name);
int pipeline_operand_place(struct pipeline *x, int op, const char *name);

/* Places of carried values that no dot writes: rows, and tiles that a turn computes. 0, 1, 3. */
int pipeline_carried(struct pipeline *x);

/* First operands that a whole loop reads stay in registers where these and `beside` others are at most `most`: matrix
 * instructions then read half as much shared memory, and the next item's tile comes early. 0 or 3. */
int pipeline_resident(struct pipeline *x, int beside, int most);
int pipeline_shared_limit(const struct pipeline *x); /* bytes of shared memory that a block may take */
/* A block is the consumers and a warpgroup that fills, which gives its registers to them. Where a multiprocessor holds
 * three or four blocks, what threads begin with would be too few for an instruction's operands, which setmaxnreg does
 * not change: there a warp fills, behind the consumers, and all threads keep what they begin with. */
bool pipeline_warp_fills(const struct pipeline *x);
int pipeline_threads(const struct pipeline *x); /* of a block */
void pipeline_find_by_block(struct pipeline *x, int beside, int most); /* where these and all sums are more: BY BLOCK */
int pipeline_registers_taken(const struct pipeline *x);    /* registers of a thread for the places so far */
int pipeline_consumer_registers(const struct pipeline *x); /* that a consumer's thread has, once dots are chosen */
int pipeline_stage_bytes(const struct pipeline *x, const struct derive_ring *ring);

/* The tensors of a ring of the Plan, each with its stages in shared memory. 0 or 3. */
int pipeline_ring_tiles(struct pipeline *x, const struct derive_ring *ring, struct plan_ring *to);

int pipeline_barriers(struct pipeline *x, int number); /* the ring's mbarriers, in shared memory. 0 or 3 */

/* The variable of each loop. Its range is said where the loop is walked. 0, 1, 3. */
int pipeline_loops(struct pipeline *x);

/* ---- pipeline_shapes.c: each returns 0, or 1 where it reported a fault ------------------------------------------- */

/* Of a dot: rows of its first operand, columns of its second, what both have. */
enum pipeline_extent { EXTENT_ROWS, EXTENT_COLUMNS, EXTENT_DEPTH };

/* The axis whose tile makes that extent of the dot; -1: none does. */
int pipeline_axis_of(const struct pipeline *x, int op, enum pipeline_extent extent);

/* Reports a fault of the extent, at the axis' tile where one makes it; and of a field. Both return 1. */
int pipeline_refuse(const struct pipeline *x, int op, enum pipeline_extent extent, const char *rule, const char *format,
                    ...) __attribute__((format(printf, 5, 6)));
int pipeline_report(const struct pipeline *x, struct diag_loc loc, const char *field, const char *rule,
                    const char *text);

/* Bytes of shared memory: of one stage of all rings, and of what does not grow with the stages. */
struct pipeline_stages {
    int stages, fit; /* chosen; as many as there is room for */
    int each, beside;
};

/* The axis whose tile makes the rows or columns of a load or store, as they lie in memory; -1: none does. */
int pipeline_tile_axis(const struct pipeline *x, int op, bool column);

/* A fault of that tile, at its field where an axis makes it; returns 1. */
int pipeline_refuse_tile(const struct pipeline *x, int op, bool column, const char *rule, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

int pipeline_check_rows(const struct pipeline *x, int consumers); /* that split an item */
int pipeline_check_dot(struct pipeline *x, int op);               /* once consumers and blocks are chosen */
/* 1 where the architecture's dots do not multiply what this one is of, told where the spec says the dtypes; else 0. */
int pipeline_refuse_dtypes(const struct pipeline *x, int op);
/* 1 where the loaded operand, which lies with m or n innermost, is read with k innermost alone, as is told; else 0. */
int pipeline_refuse_major(const struct pipeline *x, int op, int which);
/* 1 where threads do not read the dot's converted operand from its stage, as is told; else 0. */
int pipeline_check_converted(const struct pipeline *x, int op);
int pipeline_least_stages(const struct pipeline *x); /* a depth that the spec sets is that of a ring */
int pipeline_check_stages(const struct pipeline *x, const struct pipeline_stages *s);
int pipeline_check_slices(const struct pipeline *x, int axis, int load); /* blocks along the axis share the load */
int pipeline_check_cluster(const struct pipeline *x);
/* 1 where the tensor of the STORE or STORE_ADD is not written, or added to, in its dtype, or both are wanted; told. */
int pipeline_refuse_output(const struct pipeline *x, int op);
int pipeline_check_element(const struct pipeline *x, int tensor); /* is read by arithmetic */

/* ---- pipeline_late.c --- */

/* The STORE, of so many columns a row in chunks of `width`, goes out in the next item's turns: its place. 0, 1, 3. */
int pipeline_late(struct pipeline *x, int op, int columns, int width);

/* pipeline_stores.c: registers that a late store takes beside sums and results: of a turn, or where it is packed. */
int pipeline_beside_late(const struct pipeline *x, int op, int width);

/* lower_pipeline.c: no thread computes what a product in a loop reads or adds to: tiles come through shared memory, and
 * sums are only added to. */
bool pipeline_only_multiplies(const struct pipeline *x);

/* ---- pipeline_source.c: an operand of a result's arithmetic by bulk copies. Each returns 0, 1 or 3. */

/* Which tensor comes so, and for which STORE, once the program's arithmetic is known: d.source, d.source_of. */
int pipeline_source(struct pipeline *x);
/* Its tile, as that of the STORE's chunks of so many columns, whose tensor is laid out. */
int pipeline_source_tile(struct pipeline *x, int op);
int pipeline_source_direct(struct pipeline *x); /* where the STORE's tensor has no such chunks it does not come so */
int pipeline_source_ring(struct pipeline *x); /* the ring, right before that of the results */
int pipeline_source_barriers(struct pipeline *x); /* and its barriers, behind their buffers */
int pipeline_buffers(const struct pipeline *x); /* of results, that a consumer has at best */

/* ---- pipeline_cluster.c ------------------------------------------------------------------------------------------ */

/* Blocks that share tiles by multicast: where the spec says so; else two along the first of two axes. 0, 1. */
int pipeline_cluster(struct pipeline *x);

/* Each block loads its slice of a tile that its neighbours along an axis of the cluster share. `first`: no load of the
 * tensor was seen before. 0 or 3. */
int pipeline_share(struct pipeline *x, int load, bool first);

/* Blocks that read what a block loads into the ring. */
int pipeline_readers(const struct pipeline *x, const struct derive_ring *ring);

/* True where the node of the program depends on where items begin along the axis. */
bool pipeline_reads_axis(const struct expr_graph *g, int node, int axis);

/* True where the node needs an element of a tensor. */
bool pipeline_reads_data(const struct expr_graph *g, int node);

/* ---- pipeline_limits.c: rows that end where data say, rows by number. 0, 1, 3 ------------------------------------ */

/* The operand's spans with limits are none that the dot sums along (which are its tile's columns, or its rows), or
 * `parts`: rows of it, which then come in parts. */
int pipeline_check_limits(struct pipeline *x, int load, bool summed_columns, bool parts);
int pipeline_check_row_bytes(const struct pipeline *x, const struct program_op *load, int rows);
bool pipeline_is_limited(const struct pipeline *x, int tensor); /* it comes or is stored in parts */
bool pipeline_is_copied(const struct pipeline *x, int load);    /* by the producer's threads */
int pipeline_part_maps(struct pipeline *x); /* maps of other numbers of rows: what comes or is stored in parts */

/* ---- pipeline_runs.c: rows of a GATHER's tile, a power of two of them from a multiple of that on, whose numbers count
 * up one by one and end where rows end; 1: it is not known of any. */
int pipeline_run_of(const struct pipeline *x, int load, int rows);
bool pipeline_by_rows(const struct pipeline *x); /* all threads of the producer bring single rows by their numbers */

/* ---- pipeline_items.c -------------------------------------------------------------------------------------------- */

/* Items in order: of two axes that both have tiles, bands of rows of items, so that neighbours share both operands in
 * the L2; else the last axis fastest. persistent: plan.blocks_per_sm blocks a multiprocessor take item after item, else
 * each block takes one. 0 or 3. */
int pipeline_items(struct pipeline *x, bool persistent);
/* Whether items come from a counter, once they are in the Plan. unlike: they differ in length. 0, 1, 3. */
int pipeline_dynamic(struct pipeline *x, bool unlike, bool persistent);
int pipeline_check_dynamic(const struct pipeline *x, bool persistent); /* that they can, where the spec asks; 0, 1 */
/* Once steps are there: the last wave by halves (pipeline_tail.c), tiles that stay (pipeline_reuse.c). 0, 1, 3. */
int pipeline_tail(struct pipeline *x, bool persistent);
int pipeline_reuse(struct pipeline *x, bool persistent);
int pipeline_axis_of_rows(const struct pipeline *x); /* the item's axis that first operands alone lie along; -1 */

/* The ring that passes items on, where they come from a counter: its bytes of shared memory, and the ring itself, but
 * for its barriers, and its memory, which comes behind tiles. 0 or 3. */
int pipeline_item_bytes(const struct pipeline *x);
int pipeline_item_ring(struct pipeline *x);
int pipeline_item_memory(struct pipeline *x);

/* ---- pipeline_parts.c: a loop whose turns blocks share, nothing where there is none. Each returns 0 or 3 --------- */

int pipeline_part_bytes(const struct pipeline *x); /* of shared memory, barriers with it */
int pipeline_part_ring(struct pipeline *x);        /* by which sums come together, but for its barriers; the memory */
int pipeline_part_memory(struct pipeline *x);      /* in the workspace, of blocks of no cluster; items are known */
int pipeline_part_meeting(struct pipeline *x);     /* of consumers, behind other named barriers */
int pipeline_part_place(struct pipeline *x, int op, const char *name); /* of the RESULT: a block's columns */
int pipeline_check_stream(const struct pipeline *x); /* that blocks have shares of all turns, where asked; 0, 1 */

/* ---- pipeline_tensors.c ------------------------------------------------------------------------------------------ */

/* The tile of rows and columns in shared memory: whole columns of boxes as wide as the swizzle. most: one of them, of
 * so many columns at most; 0: all. 0, 1. */
int pipeline_layout(struct pipeline *x, const struct program_op *o, int rows, int columns, int most);
/* The tile's columns run along the innermost dim, and its rows are all rows of the spans. 0, 1. */
int pipeline_check_spans(struct pipeline *x, const struct program_op *o, int rows, int columns, bool one_span);

int pipeline_tensors(struct pipeline *x); /* tiles, boxes and maps of what is loaded and stored, operands. 0, 1, 3 */
int pipeline_maps(struct pipeline *x); /* of those that come by TMA. 0 or 3 */
/* What becomes of the tensor in the L2, where the kernel says so; asked: blocks may begin by asking for it. 0 or 3. */
int pipeline_cached(struct pipeline *x, int tensor, bool asked);
int pipeline_check_store(const struct pipeline *x, int op); /* its value has the columns of its place */
bool pipeline_by_elements(struct pipeline *x, int op); /* a STORE, however rows are aligned */

/* What steps read element by element: pairs of neighbours as one word where that can be, extents for the bounds. Once
 * the steps are there. 0, 1, 3. */
int pipeline_elements(struct pipeline *x);

/* pipeline.polynomial, where a step takes an exponential of elements. Behind the steps. Returns 0 or 3. */
int pipeline_polynomial(struct pipeline *x);
int pipeline_check_elements(const struct pipeline *x); /* that steps can read them; 0, 1, 3 */

/* ---- pipeline_operands.c, pipeline_ask.c: once the steps are there; 0 or 3 --------------------------------------- */

int pipeline_early_operands(struct pipeline *x); /* early.NAME: operands are found in the turn before */
int pipeline_ask(struct pipeline *x);            /* and asked for there */

/* ---- pipeline_memory.c: sums in tensor memory, nothing where there is none --------------------------------------- */

/* Nothing but stores reads what dots give: a chunk at a time comes into registers. */
bool pipeline_stays_in_memory(const struct pipeline *x);
/* Rows of a consumer, or more: 128, which an instruction may have then, where tiles have them and no thread computes an
 * operand; else 64. And whether a consumer has those 128. */
int pipeline_own_rows(const struct pipeline *x);
bool pipeline_is_wide(const struct pipeline *x);
/* Registers of places that hold something for a step alone, but for the most of one. Once the columns are known. */
int pipeline_registers_spared(const struct pipeline *x);
int pipeline_even_share(const struct pipeline *x); /* registers of a thread where all have as many */
bool pipeline_shares_evenly(const struct pipeline *x); /* threads keep what registers they have */
int pipeline_memory_bytes(const struct pipeline *x); /* of shared memory */
int pipeline_memory(struct pipeline *x);             /* columns, barriers; once the steps are there. 0, 1, 3 */

/* ---- pipeline_stores.c: what stores of warpgroups hold ----------------------------------------------------------- */

int pipeline_stores(struct pipeline *x); /* looks at the arithmetic of all of them, before what follows; 0 or 3 */

/* How many columns a chunk of the STORE takes: `columns`, or half of that and so on, down to `least`, until registers
 * suffice for what is held beside the sums. Notes that, and decides whether chunks are a loop. */
int pipeline_chunk(struct pipeline *x, int op, int columns, int least);
bool pipeline_chunk_fits(const struct pipeline *x, int op, int columns); /* without any of this */
/* Whether 64 rows can be a chunk; plain: without a swizzle. Notes what it holds. */
bool pipeline_whole_fits(struct pipeline *x, int op, int columns, bool plain);

/* Registers of a thread for each 8 columns of a slab: what a warp of mma.sync stores of a row, of the fullest store.
 * *whole: a slab is a whole row; else it may be a part of one. */
int pipeline_slab(const struct pipeline *x, bool *whole);

#endif
