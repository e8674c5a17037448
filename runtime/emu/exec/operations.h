/* The operations that the lowering puts together: their handlers, and what each carries as its extra. Arithmetic is in
   alu.h, what is asynchronous in async_ops.h. */
#ifndef EMU_OPERATIONS_H
#define EMU_OPERATIONS_H

#include "program.h"

/* ---- Special registers, addresses in the frame, registers of unlike widths (special.c) --------------------------- */

const struct emu_op *emu_op_nop(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_special(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_special_pred(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_set_pred(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_frame_address(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_resize(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_pack(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_unpack(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_unsupported(struct emu_warp *warp, const struct emu_op *op);

/* ---- Registers that may be undefined (undefined.c) --------------------------------------------------------------- */

/* Lanes that have written a register, in predicate slots. imm of the operations: the instruction that they are for. */
struct emu_undefined {
    uint32_t sources, results; /* slots: first the sources', then the results' */
    uint32_t guard;            /* of the instruction: predicate operand; 0: none */
    uint32_t select; /* selp: its predicate operand, or 0; choice: slots of a, b and that, 0 where there are none */
    uint32_t choice[3];
    uint32_t slot[];
};
const struct emu_op *emu_op_undefined_begin(struct emu_warp *warp, const struct emu_op *op); /* nothing is written */
const struct emu_op *emu_op_undefined_pass(struct emu_warp *warp, const struct emu_op *op); /* results are as sources */
const struct emu_op *emu_op_undefined_look(struct emu_warp *warp, const struct emu_op *op); /* sources count */

/* ---- Loads, stores, atomics, addresses (memory.c, address.c) ----------------------------------------------------- */

enum emu_access_kind { EMU_LOAD, EMU_STORE, EMU_ATOM, EMU_RED };
struct emu_access {
    uint8_t kind;
    uint8_t space;        /* ptx_space; NONE is generic */
    uint8_t bytes;        /* of an element: 1 2 4 8 16 */
    uint8_t count;        /* elements: .v2, .v4, .v8 */
    uint8_t wide_address; /* the address has 64-bit lanes */
    uint8_t wide;         /* lanes of the data registers: 64 (1), 128 (2), otherwise 32 bits */
    uint8_t keep;         /* bits of a loaded value that the register has: 16, 32, 64 */
    uint8_t is_signed;    /* loads: extend by sign */
    uint8_t type;         /* ptx_type, of atomics */
    uint8_t operation;    /* ptx_modifier */
    uint8_t is_volatile;  /* .volatile, .relaxed, .acquire: another warp may be waited for */
    uint8_t polls;        /* a volatile load in a loop that stores nothing */
    uint8_t is_nc;        /* ld.global.nc */
    uint8_t semantics, scope;
    uint8_t unused;   /* elements of a load, bit by bit, whose register nothing reads: compilers widen loads */
    uint32_t data[8]; /* destination of loads and atomics, source of stores and reductions */
    uint32_t b[8], c; /* sources of atomics; c of cas */
};
const struct emu_op *emu_op_load(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_load_param(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_store(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_atom(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_cvta(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_isspacep(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_shared_address(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_mapa(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_alloca(struct emu_warp *warp, const struct emu_op *op);

/* ---- Control (flow.c, builtin.c) --------------------------------------------------------------------------------- */

/* A conditional branch, a branch by index, a call. */
struct emu_branch {
    const struct emu_op *join; /* NULL: the return of the function */
    uint32_t count;
    const struct emu_op *target[]; /* 1 of a conditional branch */
};
struct emu_move { /* of an argument or result: memory to memory of two frames, or between register and memory */
    uint32_t bytes;
    uint32_t from, to; /* byte offsets in local memory from the frame's start; registers as in struct emu_op */
    uint8_t from_register, to_register; /* bytes of the register slot: 4 or 8; 0: memory */
};
struct emu_call {
    const struct ptx_function *builtin;    /* without body: by name */
    struct emu_function *function;         /* NULL: through register */
    const struct ptx_prototype *prototype; /* of a call through register */
    uint32_t target;                       /* lanes of the address */
    uint32_t guard;                        /* predicate; PTX_NONE: all lanes */
    uint32_t move_count;
    struct emu_module *module;
    struct emu_move moves[]; /* of the arguments, for the operation of the results: of those */
};

const struct emu_op *emu_op_guard(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_join(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_bra(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_jump(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_brx(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_call(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_call_end(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_builtin(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_ret(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_exit(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_trap(struct emu_warp *warp, const struct emu_op *op);

/* Functions without a body, by name: vprintf, malloc, free, __assertfail. Is this one that there is? */
int emu_builtin(const char *name);

/* ---- Warps (warp.c): e is always the member mask's lanes --------------------------------------------------------- */

const struct emu_op *emu_op_shfl(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_vote(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_match_any(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_match_all(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_redux(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_elect(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_activemask(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_bar_warp(struct emu_warp *warp, const struct emu_op *op);

/* ---- Barriers, fences, registers (barrier.c) --------------------------------------------------------------------- */

const struct emu_op *emu_op_bar(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_cluster_arrive(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_cluster_wait(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_fence(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_griddepcontrol(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_nanosleep(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_setmaxnreg(struct emu_warp *warp, const struct emu_op *op);

/* bar: a number, b count (0: all threads), imm. */
enum { EMU_BAR_WAIT = 1, EMU_BAR_POPC = 2, EMU_BAR_AND = 4, EMU_BAR_OR = 8, EMU_BAR_COUNT = 16 };

#endif
