/* Lowering of moves, comparisons that take more than a table row, conversions, memory accesses and what has no effect
   on values. */
#include "emu/alu/alu.h"
#include "emu/alu/floats.h"
#include "lowering.h"

/* ---- Moves ------------------------------------------------------------------------------------------------------- */

static void copy(struct emu_lowering *l, const struct ptx_operand *to, const struct ptx_operand *from)
{
    unsigned bits = emu_register_bits(l, to);
    uint32_t source = emu_operand(l, from, bits == 64 ? 'l' : bits == 128 ? 'q' : 'w');
    const struct emu_alu *alu = emu_alu();
    struct emu_op *op = emu_push(l, bits == 64 ? *alu->mov64 : bits == 128 ? *alu->mov128 : *alu->mov32);
    op->d = emu_register(l, to);
    op->a = source;
}

/* {a, b, ...} to one register or the reverse. imm: bits of an element; e: bits of the whole. */
static void pack(struct emu_lowering *l, const struct ptx_operand *whole, const struct ptx_operand *vector, int unpack)
{
    const struct ptx_operand *elements = &l->function->operands[vector->index];
    unsigned bits = ptx_types[l->instruction->type[0]].bits, part = bits / vector->count;
    struct emu_list *list = emu_list(l, vector->count);
    if (!list)
        return;
    for (uint32_t i = 0; i < vector->count; i++)
        list->at[i] =
            elements[i].kind == PTX_OPERAND_NONE ? EMU_SINK : emu_operand(l, &elements[i], part == 64 ? 'l' : 'w');
    uint32_t at = emu_operand(l, whole, bits == 64 ? 'l' : bits == 128 ? 'q' : 'w');
    struct emu_op *op = emu_push(l, unpack ? emu_op_unpack : emu_op_pack);
    op->d = op->a = at;
    op->imm = part;
    op->e = bits;
    op->extra = list;
}

static void mov(struct emu_lowering *l)
{
    const struct ptx_operand *to = &l->operands[0], *from = &l->operands[1];
    if (to->kind == PTX_OPERAND_VECTOR) {
        pack(l, from, to, 1);
    } else if (from->kind == PTX_OPERAND_VECTOR) {
        pack(l, to, from, 0);
    } else if (to->kind == PTX_OPERAND_PREDICATE) {
        uint32_t source = emu_operand(l, from, 'p');
        struct emu_op *op = emu_push(l, *emu_alu()->mov_pred);
        op->d = emu_operand(l, to, 'p');
        op->a = source;
    } else {
        copy(l, to, from);
    }
}

/* ---- Comparison -------------------------------------------------------------------------------------------------- */

static void setp_half(struct emu_lowering *l, unsigned type, const uint32_t at[5])
{
    struct emu_list *how = emu_list(l, 5);
    struct emu_op *op = emu_push(l, emu_alu()->setp_half);
    if (!how)
        return;
    how->at[0] = l->instruction->compare;
    how->at[1] = l->instruction->boolean;
    how->at[2] = (l->instruction->mods & PTX_FLAG(FTZ)) != 0;
    how->at[3] = ptx_types[type].kind == PTX_KIND_BFLOAT;
    how->at[4] = ptx_types[type].lanes == 2;
    op->d = at[0], op->a = at[1], op->b = at[2], op->c = at[3], op->e = at[4];
    op->extra = how;
}

static int is_half(unsigned type)
{
    return type == PTX_F16 || type == PTX_F16X2 || type == PTX_BF16 || type == PTX_BF16X2;
}

static void setp(struct emu_lowering *l)
{
    uint32_t at[5] = {0};
    for (unsigned i = 0; i < 5 && i < l->instruction->operand_count; i++)
        at[i] = emu_operand(l, &l->operands[i], i == 2 || i == 3 ? 'w' : 'p');
    setp_half(l, l->instruction->type[0], at);
}

/* What set writes for true. */
static uint32_t truth(unsigned type)
{
    switch (type) {
    case PTX_F32:
        return 0x3f800000;
    case PTX_F16:
        return 0x3c00;
    case PTX_BF16:
        return 0x3f80;
    case PTX_F16X2:
        return 0x3c003c00;
    case PTX_BF16X2:
        return 0x3f803f80;
    case PTX_U16:
    case PTX_S16:
        return 0xffff;
    default:
        return UINT32_MAX;
    }
}

/* set: a setp into temporary predicates, then words. */
static void set(struct emu_lowering *l)
{
    const struct ptx_instruction *in = l->instruction;
    unsigned to = in->type[0], from = in->type[1];
    uint32_t low = 2 * EMU_TEMP_PRED, high = 2 * (EMU_TEMP_PRED + 1);
    int pair = ptx_types[from].lanes == 2;
    l->temp_preds = 2; /* an immediate predicate takes the third */
    char letter = ptx_types[from].bits == 64 ? 'l' : 'w';
    uint32_t with = in->operand_count > 3 ? emu_operand(l, &l->operands[3], 'p') : 0;
    uint32_t at[5] = {low, pair ? high : 0, emu_operand(l, &l->operands[1], letter),
                      emu_operand(l, &l->operands[2], letter), with};
    if (is_half(from)) {
        setp_half(l, from, at);
    } else {
        struct ptx_instruction as = *in;
        as.opcode = PTX_OP_SETP;
        as.type[0] = (uint8_t)from;
        const struct emu_row *row = emu_find_row(&as);
        if (!row) {
            emu_lower_fail(l, TW_ERROR_UNSUPPORTED, "not supported by the emulator");
            return;
        }
        struct emu_op *op = emu_push(l, row->run);
        op->d = at[0], op->a = at[1], op->b = at[2], op->c = at[3], op->e = at[4];
        op->imm = in->boolean;
    }
    uint32_t d = emu_register(l, &l->operands[0]);
    uint32_t yes = truth(to);
    if (pair && ptx_types[to].bits == 32) {
        struct emu_op *op = emu_push(l, emu_alu()->set_half);
        op->d = d;
        op->a = low;
        op->b = high;
        op->imm = (yes & 0xffff) | (uint64_t)(yes & 0xffff0000) << 32;
        return;
    }
    struct emu_op *op = emu_push(l, *emu_alu()->set_word);
    op->d = d;
    op->a = low;
    op->imm = yes;
}

static void lop3(struct emu_lowering *l)
{
    const struct ptx_instruction *in = l->instruction;
    int with_pred = in->boolean != 0;
    unsigned first = with_pred ? 2 : 1;
    uint32_t at[3];
    for (unsigned i = 0; i < 3; i++)
        at[i] = emu_operand(l, &l->operands[first + i], 'w');
    struct emu_list *list = with_pred ? emu_list(l, 3) : NULL;
    uint32_t source = with_pred ? emu_operand(l, &l->operands[6], 'p') : 0;
    struct emu_op *op = emu_push(l, with_pred ? *emu_alu()->lop3_pred : *emu_alu()->lop3);
    op->d = emu_register(l, &l->operands[0]);
    op->a = at[0], op->b = at[1], op->c = at[2];
    op->imm = (uint64_t)l->operands[first + 3].value & 0xff;
    op->extra = list;
    if (list) {
        list->at[0] = emu_operand(l, &l->operands[1], 'p');
        list->at[1] = source;
        list->at[2] = in->boolean == PTX_MOD_OR;
    }
}

static void cvt(struct emu_lowering *l)
{
    const struct ptx_instruction *in = l->instruction;
    struct emu_cvt *extra = emu_lower_extra(l, sizeof *extra);
    if (!extra)
        return;
    unsigned to = emu_register_bits(l, &l->operands[0]), from = emu_register_bits(l, &l->operands[1]);
    if (!from)
        from = ptx_types[in->type[1]].bits == 64 ? 64 : 32;
    uint64_t imm;
    emu_handler run = emu_alu()->cvt_choose(in, to, from == 64 ? 64 : 32, extra, &imm);
    uint32_t at[3] = {0};
    for (unsigned i = 1; i < in->operand_count && i < 4; i++)
        at[i - 1] = emu_operand(l, &l->operands[i], from == 64 ? 'l' : 'w');
    struct emu_op *op = emu_push(l, run);
    op->d = emu_register(l, &l->operands[0]);
    op->a = at[0], op->b = at[1], op->c = at[2];
    op->imm = imm;
    op->extra = extra;
}

/* ---- Addresses --------------------------------------------------------------------------------------------------- */

static void cvta(struct emu_lowering *l)
{
    const struct ptx_instruction *in = l->instruction;
    int wide = in->type[0] == PTX_U64;
    const struct ptx_operand *from = &l->operands[1];
    /* The address of a variable is that in its own space: cvta makes it generic. */
    uint32_t a = emu_operand(l, from, wide ? 'l' : 'w');
    struct emu_op *op = emu_push(l, emu_op_cvta);
    op->d = emu_register(l, &l->operands[0]);
    op->a = a;
    op->b = in->space[0];
    op->c = (in->mods & PTX_FLAG(TO)) != 0;
    op->e = wide ? 3 : 0;
}

static void mapa(struct emu_lowering *l)
{
    const struct ptx_instruction *in = l->instruction;
    int wide = in->type[0] == PTX_U64, rank = in->opcode == PTX_OP_GETCTARANK;
    uint32_t a = emu_operand(l, &l->operands[1], wide ? 'l' : 'w');
    uint32_t b = rank ? 0 : emu_operand(l, &l->operands[2], 'w');
    struct emu_op *op = emu_push(l, emu_op_mapa);
    op->d = emu_register(l, &l->operands[0]);
    op->a = a;
    op->b = b;
    op->c = in->space[0] == PTX_SPACE_SHARED_CLUSTER;
    op->e = (wide ? 1u : 0) | (rank ? 4u : 0);
}

/* ---- Loads, stores, atomics -------------------------------------------------------------------------------------- */

static uint32_t data(struct emu_lowering *l, const struct ptx_operand *operand, int wide)
{
    return emu_operand(l, operand, wide == 2 ? 'q' : wide ? 'l' : 'w');
}

/* The widest register among an operand's elements: 0 32 bits, 1 64, 2 128. */
static int width(struct emu_lowering *l, const struct ptx_operand *operand, unsigned type)
{
    if (operand->kind == PTX_OPERAND_VECTOR) {
        for (uint32_t i = 0; i < operand->count; i++)
            if (emu_register_bits(l, &l->function->operands[operand->index + i]) == 64)
                return 1;
        return ptx_types[type].bits == 64;
    }
    unsigned bits = emu_register_bits(l, operand);
    if (!bits)
        bits = ptx_types[type].bits;
    return bits == 128 ? 2 : bits == 64;
}

static void elements(struct emu_lowering *l, const struct ptx_operand *operand, int wide, uint32_t to[8])
{
    if (operand->kind != PTX_OPERAND_VECTOR) {
        to[0] = data(l, operand, wide);
        return;
    }
    for (uint32_t i = 0; i < operand->count && i < 8; i++)
        to[i] = data(l, &l->function->operands[operand->index + i], wide);
}

/* Elements that nothing reads. */
static uint8_t unused_elements(struct emu_lowering *l, const struct ptx_operand *operand)
{
    unsigned mask = 0;
    for (uint32_t i = 0; operand->kind == PTX_OPERAND_VECTOR && i < operand->count; i++) {
        const struct ptx_operand *e = &l->function->operands[operand->index + i];
        mask |= e->kind == PTX_OPERAND_REGISTER && l->read[e->index] ? 0 : 1u << i;
    }
    return (uint8_t)mask;
}

/* Whether the instruction at hand stands in a loop that stores nothing. */
static uint8_t waits(const struct emu_lowering *l)
{
    const struct ptx_function *f = l->function;
    for (uint32_t i = l->number; i < f->instruction_count; i++) {
        const struct ptx_instruction *in = &f->instructions[i];
        if (in->opcode == PTX_OP_ST && in->space[0] != PTX_SPACE_LOCAL && in->space[0] != PTX_SPACE_PARAM)
            return 0;
        if (in->opcode != PTX_OP_BRA || (uint64_t)f->operands[in->operands].value > l->number)
            continue;
        uint64_t from = (uint64_t)f->operands[in->operands].value;
        while (from < l->number && f->instructions[from].opcode != PTX_OP_ST)
            from++;
        return from == l->number;
    }
    return 0;
}

static void memory(struct emu_lowering *l)
{
    const struct ptx_instruction *in = l->instruction;
    struct emu_access *access = emu_lower_extra(l, sizeof *access);
    if (!access)
        return;
    int is_load = in->opcode == PTX_OP_LD || in->opcode == PTX_OP_LDU;
    int has_result = is_load || in->opcode == PTX_OP_ATOM;
    const struct ptx_operand *address = &l->operands[has_result ? 1 : 0];
    const struct ptx_operand *value = &l->operands[has_result && !is_load ? 2 : is_load ? 0 : 1];
    unsigned type = in->type[0], kind = ptx_types[type].kind;
    access->kind = is_load                     ? EMU_LOAD
                   : in->opcode == PTX_OP_ST   ? EMU_STORE
                   : in->opcode == PTX_OP_ATOM ? EMU_ATOM
                                               : EMU_RED;
    access->space = in->space[0];
    access->type = (uint8_t)type;
    access->bytes = ptx_types[type].bits / 8;
    access->count = value->kind == PTX_OPERAND_VECTOR ? (uint8_t)value->count : 1;
    access->wide = (uint8_t)width(l, value, type);
    access->is_signed = kind == PTX_KIND_SIGNED;
    access->operation = in->operation;
    access->semantics = in->semantics;
    access->scope = in->scope;
    access->is_volatile =
        (in->mods & PTX_FLAG(VOLATILE)) || in->semantics == PTX_MOD_RELAXED || in->semantics == PTX_MOD_ACQUIRE;
    access->is_nc = (in->mods & PTX_FLAG(NC)) != 0;
    access->polls = is_load && (in->mods & PTX_FLAG(VOLATILE)) && waits(l);
    access->keep = 32;
    if (value->kind == PTX_OPERAND_REGISTER)
        access->keep = l->function->registers[value->index].bits;
    else if (value->kind == PTX_OPERAND_VECTOR)
        for (uint32_t i = 0; i < value->count; i++)
            if (emu_register_bits(l, &l->function->operands[value->index + i]))
                access->keep = (uint8_t)emu_register_bits(l, &l->function->operands[value->index + i]);
    /* A kernel's parameters are memory of the launch; those of calls, local memory. */
    if (in->space[0] == PTX_SPACE_PARAM) {
        const struct ptx_variable *v =
            address->kind == PTX_OPERAND_ADDRESS_VARIABLE ? &l->ptx->variables[address->index] : NULL;
        access->space = PTX_SPACE_NONE;
        if (v && l->function->is_kernel && v->offset < l->function->param_bytes && is_load &&
            v->offset + (uint64_t)address->value + (uint64_t)access->bytes * access->count <=
                l->function->param_bytes &&
            address->value >= 0 && access->wide < 2) {
            elements(l, value, access->wide, access->data);
            struct emu_op *op = emu_push(l, emu_op_load_param);
            op->imm = v->offset + (uint64_t)address->value;
            op->extra = access;
            return;
        }
        if (v && !(l->function->is_kernel && v->offset < l->function->param_bytes))
            access->space = PTX_SPACE_LOCAL;
    }
    if (is_load)
        access->unused = unused_elements(l, value);
    struct emu_address a = emu_address(l, address, in->space[0]);
    access->wide_address = (uint8_t)a.wide;
    if (is_load) {
        elements(l, value, access->wide, access->data);
    } else if (access->kind == EMU_STORE) {
        elements(l, value, access->wide, access->data);
    } else {
        elements(l, value, access->wide, access->b);
        if (access->kind == EMU_ATOM) {
            if (l->operands[0].kind == PTX_OPERAND_NONE)
                access->kind = EMU_RED;
            else
                elements(l, &l->operands[0], access->wide, access->data);
        }
        if (in->operation == PTX_MOD_CAS)
            access->c = data(l, &l->operands[3], access->wide);
    }
    struct emu_op *op = emu_push(l, is_load ? emu_op_load : access->kind == EMU_STORE ? emu_op_store : emu_op_atom);
    op->a = a.at;
    op->imm = a.offset;
    op->extra = access;
}

static void alloca_like(struct emu_lowering *l)
{
    const struct ptx_instruction *in = l->instruction;
    int restore = in->opcode == PTX_OP_STACKRESTORE, save = in->opcode == PTX_OP_STACKSAVE;
    if (!restore && emu_register_bits(l, &l->operands[0]) != 64) {
        emu_lower_fail(l, TW_ERROR_UNSUPPORTED, "only with 64-bit addresses");
        return;
    }
    uint32_t a = save ? 0 : emu_operand(l, &l->operands[restore ? 0 : 1], 'l');
    struct emu_op *op = emu_push(l, emu_op_alloca);
    op->d = restore ? EMU_SINK : emu_register(l, &l->operands[0]);
    op->a = a;
    op->b = save ? 1 : restore ? 2 : 0;
    if (!save && !restore && l->operands[2].kind == PTX_OPERAND_IMMEDIATE)
        op->imm = (uint64_t)l->operands[2].value;
}

int emu_lower_other(struct emu_lowering *l)
{
    const struct ptx_instruction *in = l->instruction;
    struct emu_op *op;
    switch (in->opcode) {
    case PTX_OP_MOV:
        mov(l);
        return 1;
    case PTX_OP_SETP:
        if (!is_half(in->type[0]))
            return 0;
        setp(l);
        return 1;
    case PTX_OP_SET:
        set(l);
        return 1;
    case PTX_OP_LOP3:
        lop3(l);
        return 1;
    case PTX_OP_CVT:
    case PTX_OP_CVT_PACK:
        cvt(l);
        return 1;
    case PTX_OP_CVTA:
        cvta(l);
        return 1;
    case PTX_OP_MAPA:
    case PTX_OP_GETCTARANK:
        mapa(l);
        return 1;
    case PTX_OP_ISSPACEP: {
        uint32_t a = emu_operand(l, &l->operands[1], 'l');
        op = emu_push(l, emu_op_isspacep);
        op->d = emu_operand(l, &l->operands[0], 'p');
        op->a = a;
        op->b = in->space[0];
        return 1;
    }
    case PTX_OP_LD:
    case PTX_OP_LDU:
    case PTX_OP_ST:
    case PTX_OP_ATOM:
    case PTX_OP_RED:
        memory(l);
        return 1;
    case PTX_OP_ALLOCA:
    case PTX_OP_STACKSAVE:
    case PTX_OP_STACKRESTORE:
        alloca_like(l);
        return 1;
    case PTX_OP_CREATEPOLICY: /* a hint: any value will do */
        op = emu_push(l, *emu_alu()->mov64);
        op->d = emu_register(l, &l->operands[0]);
        op->a = emu_constant(l, UINT64_C(0x14f0000000000000), 1);
        return 1;
    case PTX_OP_PREFETCH: /* no effect on values */
    case PTX_OP_PREFETCHU:
    case PTX_OP_APPLYPRIORITY:
    case PTX_OP_DISCARD:
    case PTX_OP_CP_ASYNC_BULK_PREFETCH:
    case PTX_OP_CP_ASYNC_BULK_PREFETCH_TENSOR:
    case PTX_OP_PMEVENT:
    case PTX_OP_BRKPT:
        emu_push(l, emu_op_nop);
        return 1;
    default:
        return 0;
    }
}
