/* Lowerings: a program becomes a Plan of one architecture.
 *
 * family.c picks one by what the program holds. Each decides everything that struct family's resolve has to: tensors'
 * access and alignment, places, shared memory, roles and steps, parameters and launch; family_plan then checks it and
 * proves the steps. What a lowering cannot do it refuses with a location, the rule PROGRAM-LOWER or a more exact one,
 * and what to write.
 */
#ifndef TW_GEN_LOWER_LOWER_H
#define TW_GEN_LOWER_LOWER_H

#include "arch/arch.h"
#include "plan/plan.h"
#include "program/program.h"
#include "spec/diag.h"
#include "spec/spec.h"

/* What a lowering is given. `plan` holds the copied spec already: symbols, tensors with the spec's numbers, scalars,
 * and `fused`, a copy of the program's graph with the program's node numbers, which a lowering may replace. */
struct program_lowering {
    const struct spec *spec;
    const struct spec_kernel *kernel; /* kernel->program is set */
    const struct arch *arch;
    struct spec_fields fields; /* the kernel's own, with the architecture's over them */
    int variant;
    int listed;         /* plan_some(LOOP of the program) whose turns come from a list (plan/list.h); 0: none */
    unsigned list_axes; /* on whose places it depends, as bits */
    bool swapped;       /* kernel->program is the kernel's with rows and columns of its tiles swapped */
    struct plan *plan;
    struct diag_set *diags;
};

/* One way to lower: picked where `takes` holds, the first row of the table in family.c that does. */
struct program_lowerer {
    const char *name; /* "direct": effects.def */
    bool (*takes)(const struct spec_kernel *, const struct program *, const struct arch *);
    int (*variants)(const struct spec *, const struct spec_kernel *, const struct arch *); /* as struct family's */
    int (*lower)(const struct program_lowering *); /* 0, 1 faults, 3 out of memory */
};

/* The architecture as the kernel uses it: without wgmma where pipeline.instruction says so. */
const struct arch *program_arch(const struct spec_kernel *, const struct arch *);

/* The lowering for the kernel's program. The last takes every one. */
const struct program_lowerer *program_lowerer_of(const struct spec_kernel *, const struct arch *);

/* Loads and stores alone, and `via` says "bulk": tiles go from maps to maps through a ring (copy/lower_copy.c). */
extern const struct program_lowerer program_lower_copy;

/* No dots: one role of threads that hold tiles in registers, a vector of neighbouring columns each
 * (lower_direct.c). */
extern const struct program_lowerer program_lower_direct;

/* Dots on architectures with wgmma: a producer that fills rings, consumers that multiply (lower_pipeline.c). */
extern const struct program_lowerer program_lower_pipeline;

/* Dots on others: threads that fill rings by cp.async and multiply by mma.sync (lower_mma_sync.c). */
extern const struct program_lowerer program_lower_mma_sync;

/* Operations of the program's dots, a node of plan.graph; -1: it has none, or data decides how many. */
int program_loop_flops(const struct program *p, struct plan *plan, int loop); /* of one loop */
int program_flops(const struct program *p, struct plan *plan);

/* The row's value, which the lowering heeds; and one that it reads and that decides nothing in this program. */
const struct spec_value *program_field(const struct program_lowering *, enum spec_field field);
void program_field_idle(const struct program_lowering *, enum spec_field field);

/* The entry of `via` for the operation, and what says how its data come: the entry is heeded where they come so.
 * NULL: nothing is said. */
const struct spec_via *program_via(const struct spec_kernel *, const struct program_op *);
/* That of a tensor whose elements arithmetic names; NULL: the spec says nothing of it. */
const struct spec_via *program_via_tensor(const struct spec_kernel *, int tensor);
void program_comes(const struct program_lowering *, const struct program_op *, const char *word);

/* The kernel's program as one of the blocks has it that share a loop's turns, where the kernel asks for that, by split
 * or as a stream, and the architecture has clusters: in the Plan's memory, over `graph`, which is empty before and the
 * caller's to free. The kernel gets an axis more, or two. 0, 1, 3. */
int program_split(const struct program_lowering *, struct spec_kernel *own, struct expr_graph *graph);

/* True where the program holds an operation of that kind. */
bool program_holds(const struct program *, enum program_kind kind);

/* Reports that the operation cannot be lowered as the text says; returns 1. */
int program_refuse(const struct program_lowering *, struct diag_loc loc, const char *rule, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The lowering takes turns in their order alone, for that reason: the Plan says so where the kernel asks for another. 0
 * or 3. */
int program_goes_up(const struct program_lowering *, const char *why);

#endif
