/* What the parts of the lowering share: a function on its way from instructions to operations. */
#ifndef EMU_LOWERING_H
#define EMU_LOWERING_H

#include "emu/exec/async_ops.h"
#include "emu/exec/machine.h"
#include "emu/exec/operations.h"
#include "lower.h"

/* Slots at the start of every frame: what nobody reads, and what one instruction needs for itself. */
enum {
    EMU_SINK = 0,
    EMU_TEMPS = 8,  /* of 256 bytes each, behind the sink */
    EMU_TEMP = 512, /* the sink has 512 bytes: 128-bit lanes */
    EMU_FIRST_SLOT = EMU_TEMP + EMU_TEMPS * 256,
    EMU_SINK_PRED = 0,
    EMU_TEMP_PRED = 1, /* three of them */
    EMU_FIRST_PRED = 4
};

struct emu_flow { /* of a function: control flow (cfg.c) */
    uint32_t block_count;
    uint32_t *block_of;   /* instruction -> block */
    uint32_t *first;      /* block -> instruction; one entry more: the end */
    uint32_t *successors; /* block -> two blocks at most, or PTX_NONE; the rest of a brx's in more */
    uint32_t *join;       /* block -> block that is its immediate post-dominator, PTX_NONE: the return */
    uint32_t *edges;      /* all edges, by block */
    uint32_t *edge_start; /* block -> first edge; one entry more */
    uint8_t *is_join;     /* instruction -> a branch joins here */
};

struct emu_lowering {
    struct emu_module *module;
    struct emu_function *out;
    const struct ptx_module *ptx;
    const struct ptx_function *function;
    const struct ptx_instruction *instruction; /* the one that is being lowered */
    const struct ptx_operand *operands;        /* its operands */
    uint32_t number;                           /* its number */
    struct emu_flow flow;
    uint32_t *at;                 /* register -> offset of its slot, or number of its predicate */
    uint8_t *read;                /* register -> some instruction reads it */
    uint32_t *doubt;              /* register -> predicate slot of the lanes that have written it; 0: none; or NULL */
    uint32_t doubts;              /* registers that have one */
    uint32_t *op_of;              /* instruction -> its first operation */
    struct emu_branch **branches; /* whose targets are still instructions, as numbers */
    uint32_t branch_count, branch_room;
    unsigned temps, temp_preds; /* in use */
    uint32_t guard;             /* predicate operand; 0: none */
    struct tw_error *error;
    int status;          /* TW_OK, or what went wrong */
    struct emu_op spare; /* what is written where there is no memory */
};

/* cfg.c */
int emu_flow_build(struct emu_lowering *l);
void emu_flow_free(struct emu_lowering *l);
int emu_slots(struct emu_lowering *l); /* fills at, and the frame's sizes */

/* Calls visit for each register that an instruction reads, or writes. */
void emu_each_register(struct emu_lowering *l, uint32_t number,
                       void (*visit)(struct emu_lowering *, void *context, uint32_t reg, int written), void *context,
                       int written);

/* undefined.c: registers that may be read before they are written, and the operations that watch these: at the
   function's begin, and before the instruction at hand. */
int emu_undefined_find(struct emu_lowering *l);
void emu_undefined_begin(struct emu_lowering *l);
void emu_undefined_before(struct emu_lowering *l);

/* Fills the function's touch: which 32-bit registers each instruction accesses. */
void emu_touched(struct emu_lowering *l);

/* lower.c */

/* Memory that lives as long as the module; zeroed. NULL where there is none. */
void *emu_extra(struct emu_module *module, size_t bytes);

/* One operation more; never NULL. It is zero but for run and source. */
struct emu_op *emu_push(struct emu_lowering *l, emu_handler run);
const char *emu_lower_fail(struct emu_lowering *l, int status, const char *format, ...) TW_PRINTF(3, 4);
uint32_t emu_constant(struct emu_lowering *l, uint64_t value, int wide); /* offset of lanes that hold it */

/* Where operand i lies, as lanes of the width of the letter (w l q p); a source that is no register, or one of another
   width, is brought into a temporary by an operation in front. */
uint32_t emu_operand(struct emu_lowering *l, const struct ptx_operand *operand, char letter);
uint32_t emu_register(struct emu_lowering *l, const struct ptx_operand *operand);      /* as it is; NONE: the sink */
unsigned emu_register_bits(struct emu_lowering *l, const struct ptx_operand *operand); /* 0: no register */

/* An address operand: lanes, whether they have 64 bits, and the offset to add. */
struct emu_address {
    uint32_t at;
    int wide;
    uint64_t offset;
};
struct emu_address emu_address(struct emu_lowering *l, const struct ptx_operand *operand, unsigned space);

/* A list in the module's memory. NULL after emu_lower_fail. */
struct emu_list *emu_list(struct emu_lowering *l, uint32_t count);
void *emu_lower_extra(struct emu_lowering *l, size_t bytes);

/* Lower one instruction: by the tables of arithmetic, by ops.c and control.c (moves, memory, control, warps), by
   tensor.c (barriers in memory, asynchronous copies, matrices), by tcgen05.c. 0: not theirs. */
int emu_lower_row(struct emu_lowering *l);
int emu_lower_other(struct emu_lowering *l);
int emu_lower_control(struct emu_lowering *l); /* looks at the guard itself */
int emu_lower_warp(struct emu_lowering *l);
int emu_lower_tensor(struct emu_lowering *l);
int emu_lower_texture(struct emu_lowering *l); /* texture.c */
int emu_lower_tcgen05(struct emu_lowering *l);

/* shared.c: fills the module's shared_offset and what stands beside it. */
int emu_place_shared(struct emu_module *module, const char *entry, struct tw_error *error);

uint32_t emu_branch_target(struct emu_lowering *l, struct emu_branch *branch);

#endif
