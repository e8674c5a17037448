/* Lowering of tcgen05 (sm_100a). */
#include <string.h>

#include "emu/tensor/tensor.h"
#include "lowering.h"

/* An address in tensor memory has 32 bits; the PTX may have it as a register, plus a constant, or as a constant. */
static struct emu_tensor_where where(struct emu_lowering *l, const struct ptx_operand *operand)
{
    struct emu_address a = emu_address(l, operand, PTX_SPACE_SHARED);
    const int constant = operand->kind != PTX_OPERAND_ADDRESS && operand->kind != PTX_OPERAND_ADDRESS_VARIABLE;
    if (constant && (uint64_t)operand->value <= UINT32_MAX)
        return (struct emu_tensor_where){.at = emu_constant(l, 0, 0), .offset = (uint32_t)operand->value};
    if (a.wide)
        emu_lower_fail(l, TW_ERROR_INVALID, "an address in tensor memory has 32 bits");
    return (struct emu_tensor_where){.at = a.at, .offset = (uint32_t)a.offset};
}

static struct emu_where barrier(struct emu_lowering *l, const struct ptx_operand *operand, unsigned space)
{
    struct emu_address a = emu_address(l, operand, space);
    return (struct emu_where){.at = a.at, .wide = (uint8_t)a.wide, .space = (uint8_t)space, .offset = a.offset};
}

static void pool(struct emu_lowering *l, int alloc)
{
    struct emu_tensor_pool *extra = emu_lower_extra(l, sizeof *extra);
    if (!extra)
        return;
    if (alloc)
        extra->to = barrier(l, &l->operands[0], l->instruction->space[0]);
    else
        extra->address = emu_operand(l, &l->operands[0], 'w');
    extra->columns = emu_operand(l, &l->operands[1], 'w');
    emu_push(l, alloc ? emu_op_tensor_alloc : emu_op_tensor_dealloc)->extra = extra;
}

static uint8_t shape_of(unsigned operation)
{
    switch (operation) {
    case PTX_MOD_S_16X64B:
        return EMU_TENSOR_16X64B;
    case PTX_MOD_S_16X128B:
        return EMU_TENSOR_16X128B;
    case PTX_MOD_S_16X256B:
        return EMU_TENSOR_16X256B;
    default:
        return EMU_TENSOR_32X32B;
    }
}

static void move(struct emu_lowering *l, int store)
{
    const struct ptx_instruction *in = l->instruction;
    const struct ptx_operand *data = &l->operands[store ? 1 : 0];
    struct emu_tensor_move *extra = emu_lower_extra(l, sizeof *extra);
    int vector = data->kind == PTX_OPERAND_VECTOR;
    uint32_t count = vector ? data->count : 1;
    uint32_t *registers = emu_lower_extra(l, count * sizeof *registers);
    if (!extra || !registers)
        return;
    extra->address = where(l, &l->operands[store ? 0 : 1]);
    extra->shape = shape_of(in->operation);
    extra->pack = (in->mods & (PTX_FLAG(PACK_16B) | PTX_FLAG(UNPACK_16B))) != 0;
    extra->store = (uint8_t)store;
    extra->count = count;
    extra->registers = registers;
    for (uint32_t i = 0; i < count; i++)
        registers[i] = emu_operand(l, vector ? &l->function->operands[data->index + i] : data, 'w');
    emu_push(l, store ? emu_op_tensor_store : emu_op_tensor_load)->extra = extra;
}

static uint8_t kind_of(unsigned operation)
{
    switch (operation) {
    case PTX_MOD_KIND_TF32:
        return EMU_TCGEN05_TF32;
    case PTX_MOD_KIND_F8F6F4:
        return EMU_TCGEN05_F8F6F4;
    case PTX_MOD_KIND_I8:
        return EMU_TCGEN05_I8;
    default:
        return EMU_TCGEN05_F16;
    }
}

/* operands: [D], A's descriptor or [A], B's descriptor, instruction descriptor, perhaps {lanes that D keeps}, enable-
   input-d, perhaps scale-input-d */
static void mma(struct emu_lowering *l)
{
    const struct ptx_operand *o = l->operands;
    struct emu_tensor_mma *extra = emu_lower_extra(l, sizeof *extra);
    if (!extra)
        return;
    extra->kind = kind_of(l->instruction->operation);
    extra->d = where(l, &o[0]);
    extra->a_in_tensor = o[1].kind == PTX_OPERAND_ADDRESS || o[1].kind == PTX_OPERAND_ADDRESS_IMMEDIATE ||
                         o[1].kind == PTX_OPERAND_ADDRESS_VARIABLE;
    if (extra->a_in_tensor)
        extra->a = where(l, &o[1]);
    else
        extra->a_descriptor = emu_operand(l, &o[1], 'l');
    extra->b_descriptor = emu_operand(l, &o[2], 'l');
    extra->descriptor = emu_operand(l, &o[3], 'w');
    unsigned next = 4;
    extra->has_masks = o[next].kind == PTX_OPERAND_VECTOR;
    for (unsigned i = 0; extra->has_masks && i < 4; i++)
        extra->masks[i] = emu_operand(l, &l->function->operands[o[next].index + i], 'w');
    next += extra->has_masks;
    extra->accumulate = emu_operand(l, &o[next++], 'p');
    if (next < l->instruction->operand_count && o[next].kind != PTX_OPERAND_NONE)
        emu_lower_fail(l, TW_ERROR_UNSUPPORTED,
                       "scale-input-d is not emulated: leave it out, and scale D by tcgen05.ld and st");
    emu_push(l, emu_op_tensor_mma)->extra = extra;
}

static void commit(struct emu_lowering *l)
{
    struct emu_where *extra = emu_lower_extra(l, sizeof *extra);
    if (!extra)
        return;
    *extra = barrier(l, &l->operands[0], l->instruction->space[0]);
    emu_push(l, emu_op_tensor_commit)->extra = extra;
}

static int is_tcgen05(unsigned opcode)
{
    return opcode >= PTX_OP_TCGEN05_ALLOC && opcode <= PTX_OP_TCGEN05_MMA;
}

int emu_lower_tcgen05(struct emu_lowering *l)
{
    const struct tw_architecture *arch = l->module->device->arch;
    if (is_tcgen05(l->instruction->opcode) && strcmp(arch->name, "sm_100a") != 0) {
        emu_lower_fail(l, TW_ERROR_UNSUPPORTED,
                       "%s does not have it: of what is emulated sm_100a does (--arch sm_100a)", arch->name);
        return 1;
    }
    switch (l->instruction->opcode) {
    case PTX_OP_TCGEN05_ALLOC:
    case PTX_OP_TCGEN05_DEALLOC:
        pool(l, l->instruction->opcode == PTX_OP_TCGEN05_ALLOC);
        return 1;
    case PTX_OP_TCGEN05_RELINQUISH:
        emu_push(l, emu_op_tensor_relinquish);
        return 1;
    case PTX_OP_TCGEN05_LD:
    case PTX_OP_TCGEN05_ST:
        move(l, l->instruction->opcode == PTX_OP_TCGEN05_ST);
        return 1;
    case PTX_OP_TCGEN05_WAIT_LD:
    case PTX_OP_TCGEN05_WAIT_ST:
        emu_push(l, emu_op_tensor_wait)->a = l->instruction->opcode == PTX_OP_TCGEN05_WAIT_ST;
        return 1;
    case PTX_OP_TCGEN05_FENCE_BEFORE:
    case PTX_OP_TCGEN05_FENCE_AFTER:
        emu_push(l, emu_op_tensor_fence)->a = l->instruction->opcode == PTX_OP_TCGEN05_FENCE_AFTER;
        return 1;
    case PTX_OP_TCGEN05_COMMIT:
        commit(l);
        return 1;
    case PTX_OP_TCGEN05_MMA:
        mma(l);
        return 1;
    default:
        return 0;
    }
}
