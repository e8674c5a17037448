/* The emulator's front end: PTX text in, a struct ptx_module out.

   ptx_parse checks the text against the tables: every instruction is a form of ptx_opcodes.def, its modifiers are ones
   that the form takes, its operands are of the form's kinds and widths, every register, label and symbol is declared,
   and every index in the module is in range. Whoever executes a module need not check any of that again.

   Modules are plain data, read-only after the parse; indices instead of pointers between their arrays. One call of
   ptx_free gives everything back. There are no globals; different parses may run in parallel. */
#ifndef PTX_H
#define PTX_H

#include <stddef.h>
#include <stdint.h>

#include "hooks.h"
#include "ptx_names.h"

#define PTX_NONE UINT32_MAX /* no index: no guard, no owner, no location */

/* ---- Operands ---------------------------------------------------------------------------------------------------- */

/* What a struct ptx_operand is, and what its index and value mean then. */
enum ptx_operand_kind {
    PTX_OPERAND_NONE,      /* `_` (a sink or a missing vector element), or an optional operand that was left out */
    PTX_OPERAND_REGISTER,  /* index: register of the function */
    PTX_OPERAND_PREDICATE, /* index: register of class pred; negated */
    PTX_OPERAND_IMMEDIATE, /* value: the bits, integers two's complement and cut to the width of the operand's type;
                              floats (0f, 0d, 1.5) converted to the exact bits of the operand's type. For a source
                              predicate 0 or 1. Integers that must be constants (wait_group's count, scales of wgmma)
                              are not cut: value is the number */
    PTX_OPERAND_SPECIAL,   /* index: ptx_special; only as the source of mov and cvt */
    PTX_OPERAND_VECTOR,    /* index: first element in function->operands, count elements: {a, b, ...}; elements are
                              REGISTER, PREDICATE, IMMEDIATE or NONE */
    PTX_OPERAND_ADDRESS,   /* [register + value]: index: register (32 or 64 bits) */
    PTX_OPERAND_ADDRESS_VARIABLE,  /* [variable + value]: index: module->variables */
    PTX_OPERAND_ADDRESS_IMMEDIATE, /* [value] */
    PTX_OPERAND_TENSOR,            /* [map, {c0, c1, ...}]: index: first element in function->operands; element 0 is the
                                      ADDRESS* of the tensor map, count - 1 coordinates follow */
    PTX_OPERAND_VARIABLE,          /* address of a variable plus value (mov): index: module->variables */
    PTX_OPERAND_FUNCTION,          /* index: module->functions (call target, or mov of its address) */
    PTX_OPERAND_LABEL,             /* value: instruction of this function; may be instruction_count: behind the last */
    PTX_OPERAND_PROTOTYPE          /* index: module->prototypes */
};

struct ptx_operand {
    uint8_t kind;    /* ptx_operand_kind */
    uint8_t negated; /* PREDICATE: `!p` */
    uint16_t count;  /* VECTOR, TENSOR: elements */
    uint32_t index;
    int64_t value; /* immediate's bits, or byte offset */
};

/* ---- Instructions ------------------------------------------------------------------------------------------------ */

/* One instruction. Fields that its form does not have are 0 (PTX_MOD_NONE, PTX_TYPE_NONE, PTX_SPACE_NONE). The
   operands stand as the PTX writes them, destination first, in function->operands[first .. first + count); operands
   that are optional in the form and left out stand as PTX_OPERAND_NONE, so a form has one number of operands.

   `|` between two destinations (setp p|q, shfl d|p, match d|p, elect d|p) makes two operands, the second
   PTX_OPERAND_NONE where missing. A bracketed operand is an ADDRESS* or TENSOR.

   call has always four operands: VECTOR of return destinations (each VARIABLE in .param space, REGISTER, PREDICATE or
   NONE), target (FUNCTION or REGISTER), VECTOR of arguments (VARIABLE, REGISTER, PREDICATE, IMMEDIATE), PROTOTYPE or
   NONE. Counts and sizes match the function's or the prototype's.
   brx.idx has two: REGISTER, VECTOR of LABEL.

   Examples of fields: "setp.lt.and.ftz.f32": compare LT, boolean AND, mods FTZ, types {F32}.
   "ld.acquire.gpu.global.v4.u32": semantics ACQUIRE, scope GPU, space[0] GLOBAL, vector 4.
   "cvt.rn.satfinite.e4m3x2.f32": types {E4M3X2, F32}. "mul.wide.s32": operation WIDE. "shf.l.wrap.b32": operation L,
   second WRAP. "atom.shared.add.f32": operation ADD. "fence.proxy.async.shared::cta": operation ASYNC, space[0] SHARED.
   "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes": vector 2, space {SHARED_CLUSTER,
   GLOBAL}, mods TILE and COMPLETE_TX. "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16": m n k, types {F32, BF16,
   BF16}. "mma...row.col.f32.f16.f16.f32": layout {ROW, COL}, four types: d a b c. */
struct ptx_instruction {
    uint16_t opcode; /* ptx_opcode */
    uint16_t form;   /* row of ptx_opcodes.def: OPCODE and FORM rows counted together, from 0 */
    uint8_t type[4]; /* ptx_type, in written order */
    uint8_t type_count;
    uint8_t vector;   /* .v2 .v4 .v8; .x1 .x2 .x4; .1d ... .5d: the number; 0: not written */
    uint8_t space[2]; /* ptx_space; of cp.async.bulk: destination, source */
    uint8_t rounding; /* ptx_modifier from here on */
    uint8_t compare;
    uint8_t boolean;
    uint8_t operation;
    uint8_t second; /* a second operation: shf .wrap/.clamp, createpolicy's priorities */
    uint8_t semantics;
    uint8_t scope;
    uint8_t cache; /* .ca, .cg (cp.async), L1:: and L2:: hints: the first of the form's slots that is written */
    uint8_t layout[2];
    uint8_t guard_negated;
    uint16_t m, n, k; /* .mMnNkK; 0: none */
    uint16_t operand_count;
    uint32_t guard;    /* register of class pred, or PTX_NONE */
    uint32_t operands; /* first, in function->operands */
    uint64_t mods;     /* PTX_FLAG bits */
    uint32_t line;     /* line of the PTX text, from 1 */
    uint32_t location; /* module->locations, or PTX_NONE */
};

/* ---- Module ------------------------------------------------------------------------------------------------------ */

/* A position in CUDA source: .loc. Code that was inlined names the function it is from and where that was inlined, and
   so on to the outermost. */
struct ptx_location {
    uint32_t file; /* module->files */
    uint32_t line; /* 0: the compiler's own */
    uint32_t column;
    uint32_t function;   /* offset in module->names of the inlined function's name (mangled), or PTX_NONE */
    uint32_t inlined_at; /* module->locations, or PTX_NONE */
};

struct ptx_file {
    uint32_t number; /* as .file has it */
    uint32_t path;   /* offset in module->names; "" if .file is missing */
};

/* A symbol's value inside an initialiser. */
struct ptx_relocation {
    uint32_t offset;  /* in the variable */
    uint8_t bytes;    /* 1 to 8 */
    uint8_t shift;    /* with bytes 1: `0xFF00(symbol)`: the value's bits from here on; otherwise 0 */
    uint8_t generic;  /* generic(symbol): as a generic address; otherwise in the symbol's own space */
    uint8_t function; /* index is of module->functions, not variables */
    uint32_t index;
    int64_t addend;
};

enum ptx_linkage { PTX_LINK_NONE, PTX_LINK_VISIBLE, PTX_LINK_EXTERN, PTX_LINK_WEAK, PTX_LINK_COMMON };

/* A variable of a state space, at module level, in a function, or as a parameter.

   offset is given by the parser for
     .local of a function: bytes from the start of the function's local frame (function->local_bytes in all)
     .param: bytes from the start of the function's parameter area. Kernels: formal parameters first, laid out as the
       launch gives them (the area's first param_bytes bytes). Functions: return values, then formal parameters. Behind
       them stand the .param declared in bodies for calls; scopes that do not overlap may share bytes.
   and is 0 for .global, .const, .shared and module-level .local: whoever loads the module places those. */
struct ptx_variable {
    uint32_t name;     /* offset in module->names */
    uint32_t function; /* owner, or PTX_NONE at module level */
    uint8_t space;     /* ptx_space; PARAM, LOCAL, SHARED, GLOBAL, CONST */
    uint8_t type;      /* of an element */
    uint8_t linkage;
    uint8_t unsized; /* `x[]`: .extern .shared: dynamic shared memory */
    uint32_t align;  /* a power of 2; the element's size where not written */
    uint64_t bytes;  /* 0 if unsized */
    uint64_t offset;
    uint64_t initial_bytes; /* bytes given by the initialiser, <= bytes; the rest is zero */
    const uint8_t *initial; /* NULL where there is none (.global and .const are zero then) */
    uint32_t relocations;   /* first of module->relocations */
    uint32_t relocation_count;
};

struct ptx_register {
    uint32_t name;   /* offset in module->names of the prefix */
    uint32_t number; /* `%r<10>`: which one; PTX_NONE: a single name */
    uint8_t bits;    /* class: 1 (pred), 16 (also 8-bit types), 32, 64, 128 */
    uint8_t type;    /* as declared */
    uint8_t element; /* of a .v2/.v4 register: 1 for .x to 4 for .w; otherwise 0 */
};

/* A formal parameter or return value: memory, or a register (device functions only). */
struct ptx_parameter {
    uint32_t variable; /* module->variables, or PTX_NONE: */
    uint32_t reg;      /* function->registers, or PTX_NONE */
    uint64_t bytes;
    uint32_t align;
};

struct ptx_label {
    uint32_t name; /* offset in module->names */
    uint32_t instruction;
};

struct ptx_function {
    uint32_t name; /* offset in module->names */
    uint8_t is_kernel;
    uint8_t linkage;
    uint8_t has_body; /* 0: declared only (vprintf, malloc, ...): a call of it is the executor's business */
    uint8_t noreturn;
    uint32_t alias_of; /* .alias: module->functions, already followed to the end; PTX_NONE */

    struct ptx_parameter *params;
    struct ptx_parameter *returns;
    uint32_t param_count;
    uint32_t return_count;

    uint64_t param_bytes;      /* kernel: size of the formal parameters as the launch gives them */
    uint64_t param_area_bytes; /* all of the parameter area, with returns and call parameters */
    uint64_t local_bytes;      /* local frame */
    uint32_t local_align;

    struct ptx_register *registers;
    uint32_t register_count;
    struct ptx_instruction *instructions;
    uint32_t instruction_count;
    struct ptx_operand *operands;
    uint32_t operand_count;
    struct ptx_label *labels; /* in order of instruction */
    uint32_t label_count;

    uint32_t maxntid[3]; /* 0: not given, in all of these */
    uint32_t reqntid[3];
    uint32_t minnctapersm;
    uint32_t maxnreg;
    uint32_t reqnctapercluster[3];
    uint32_t maxclusterrank;
    uint8_t explicitcluster;
    uint8_t blocksareclusters;
    uint32_t line;       /* of its definition in the PTX */
    const char *refused; /* "PTX line 9: ...": an instruction that no executor has (textures), which is left out: the
                            function cannot be executed. NULL: none */
};

/* .callprototype: what an indirect call's target takes and gives. */
struct ptx_prototype {
    struct ptx_parameter *params; /* variable and reg PTX_NONE: sizes only */
    struct ptx_parameter *returns;
    uint32_t param_count;
    uint32_t return_count;
};

struct ptx_module {
    struct tw_memory memory; /* what ptx_free gives back to */
    char *names;             /* all names, zero-terminated, one behind the other */
    uint32_t name_bytes;
    uint32_t version_major, version_minor; /* .version 9.0 */
    char target[32];                       /* first word of .target: "sm_90a" */
    uint8_t is_debug;                      /* .target ..., debug: without optimisation */
    uint32_t address_size;                 /* 64 */

    struct ptx_function *functions;
    uint32_t function_count;
    struct ptx_variable *variables;
    uint32_t variable_count;
    struct ptx_relocation *relocations;
    uint32_t relocation_count;
    struct ptx_prototype *prototypes;
    uint32_t prototype_count;
    struct ptx_file *files;
    uint32_t file_count;
    struct ptx_location *locations;
    uint32_t location_count;
    void *arena; /* the parser's own: where the arrays lie */
};

/* Parse length bytes of text (no zero needed behind; a zero inside is an error). TW_OK; TW_ERROR_INVALID, or
   TW_ERROR_UNSUPPORTED for a form of an instruction that the emulator does not have, with "PTX line N: ..." in
   error->text; or TW_ERROR_MEMORY. *module is NULL but after TW_OK. No input makes it crash, loop or take memory out of
   proportion to the text, but for registers: 2^20 a function and 2^22 a module at most, 12 bytes each. Other limits: 63
   nested scopes, 2^36 bytes a variable, 2^31 bytes of a function's local or parameter memory. */
int ptx_parse(const struct tw_memory *memory, const char *text, size_t length, struct ptx_module **module,
              struct tw_error *error);

/* Free a module; NULL is allowed. */
void ptx_free(struct ptx_module *module);

/* The kernel or function of that name; NULL where there is none. An alias gives its target. */
const struct ptx_function *ptx_find_function(const struct ptx_module *module, const char *name);

/* The module-level variable of that name; NULL where there is none. */
const struct ptx_variable *ptx_find_variable(const struct ptx_module *module, const char *name);

static inline const char *ptx_name(const struct ptx_module *module, uint32_t name)
{
    return name == PTX_NONE ? "" : module->names + name;
}

/* "%r12", "p", "v.x" into out, cut to out_bytes. Returns out. */
const char *ptx_register_name(const struct ptx_module *module, const struct ptx_function *function, uint32_t reg,
                              char *out, size_t out_bytes);

/* "%tid.x", "%envreg3" into out. Returns out. */
const char *ptx_special_name(uint32_t special, char *out, size_t out_bytes);

/* Bits of a special register: 1, 32 or 64. */
unsigned ptx_special_bits(uint32_t special);

/* Path of a location's file, "" if there is none. */
const char *ptx_location_path(const struct ptx_module *module, uint32_t location);

/* Operands that an instruction writes: bit i for operand i. */
uint32_t ptx_written(const struct ptx_instruction *instruction);

/* Dense or sparse wgmma.mma_async. */
static inline int ptx_is_wgmma(const struct ptx_instruction *instruction)
{
    return instruction->opcode == PTX_OP_WGMMA_MMA_ASYNC || instruction->opcode == PTX_OP_WGMMA_SP;
}

/* The mnemonic of an instruction with its modifiers in a normal order ("ld.global.v4.u32") into out. Returns out. */
const char *ptx_mnemonic(const struct ptx_instruction *instruction, char *out, size_t out_bytes);

/* The whole instruction in normal form into out, cut to out_bytes: "@!%p1 ld.global.u32 %r1, [%rd1+4], _;": operands
   that were left out are `_`, a branch's target is `@` and the instruction's number. Returns out. */
const char *ptx_print(const struct ptx_module *module, const struct ptx_function *function,
                      const struct ptx_instruction *instruction, char *out, size_t out_bytes);

#endif
