/* Inside the lowering of programs with dots to TMA, mbarriers and wgmma: lower_pipeline.c decides shapes, budgets,
 * shared memory and the order of items, pipeline_tensors.c how tiles lie and travel, pipeline_cluster.c what blocks
 * share. The order of steps is the derivation's (derive.h).
 */
#ifndef TW_GEN_PROGRAM_PIPELINE_H
#define TW_GEN_PROGRAM_PIPELINE_H

#include "family/family.h"
#include "program/derive.h"

enum {
    PIPELINE_ROWS = 64,    /* of a wgmma */
    PIPELINE_K_BYTES = 32, /* of its operands along k */
};

struct pipeline {
    struct derive d;
    const struct program_lowering *l;
    const struct program *program;
    struct plan *plan;
    int stored;                 /* bytes of the largest chunk that is stored through shared memory; 0: none is */
    int columns;                /* of a part that is stored element by element; 0: none is */
    int buffers;                /* chunks that a consumer has under way */
    int cluster[SPEC_MAX_AXES]; /* by axis: neighbouring items whose blocks make a cluster; 1: none */
    int blocks;                 /* of a cluster */
};

/* The field where the spec sets it; else one that is not set. */
const struct spec_value *pipeline_field(const struct pipeline *x, const char *path);

/* ---- pipeline_shapes.c: each returns 0, or 1 where it reported a fault ------------------------------------------- */

/* Bytes of shared memory: of one stage of all rings, and of what does not grow with the stages. */
struct pipeline_stages {
    int stages, fit; /* chosen; as many as there is room for */
    int each, beside;
};

int pipeline_check_rows(const struct pipeline *x, int consumers);
int pipeline_check_dot(const struct pipeline *x, int op); /* once consumers and blocks are chosen */
int pipeline_check_stages(const struct pipeline *x, const struct pipeline_stages *s);
int pipeline_check_slices(const struct pipeline *x, int axis, int load); /* blocks along the axis share the load */
int pipeline_check_cluster(const struct pipeline *x);
int pipeline_check_element(const struct pipeline *x, int tensor); /* is read by arithmetic */

/* ---- pipeline_cluster.c ------------------------------------------------------------------------------------------ */

/* Blocks that share tiles by multicast: where the spec says so; else two along the first of two axes with tiles. 0, 1.
 */
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

/* ---- pipeline_tensors.c ------------------------------------------------------------------------------------------ */

/* Tiles and boxes of what is loaded for dots and stored, operands of the instructions, tensor maps. 0, 1, 3. */
int pipeline_tensors(struct pipeline *x);

/* What steps read element by element: pairs of neighbours as one word where that can be, extents for the bounds. Once
 * the steps are there. 0, 1, 3. */
int pipeline_elements(struct pipeline *x);

#endif
