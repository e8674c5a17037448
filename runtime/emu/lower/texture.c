/* Lowering of textures and surfaces. */
#include "emu/texture/texture_ops.h"
#include "lowering.h"

/* The object and the coordinates of [object, {coordinates}]. Levels and gradients choose a mipmap, and there is one
   level alone here: they are not looked at. */
static void place(struct emu_lowering *l, const struct ptx_operand *operand, struct emu_texture_op *how)
{
    const struct ptx_operand *element = &l->function->operands[operand->index];
    unsigned operation = l->instruction->operation;
    struct ptx_operand object = element[0];
    object.kind = PTX_OPERAND_REGISTER;
    how->layered = operation == PTX_MOD_A1D || operation == PTX_MOD_A2D;
    how->dims = operation == PTX_MOD_A_3D ? 3 : operation == PTX_MOD_A_2D || operation == PTX_MOD_A2D ? 2 : 1;
    how->object = emu_operand(l, &object, 'l');
    if (how->layered)
        how->layer = emu_operand(l, &element[1], 'w');
    for (unsigned d = 0; d < how->dims; d++)
        how->at[d] = emu_operand(l, &element[1 + how->layered + d], 'w');
}

static void data(struct emu_lowering *l, const struct ptx_operand *operand, struct emu_texture_op *how)
{
    const char letter = how->bytes == 8 ? 'l' : 'w';
    how->count = 1;
    if (operand->kind != PTX_OPERAND_VECTOR) {
        how->data[0] = emu_operand(l, operand, letter);
        return;
    }
    how->count = (uint8_t)operand->count;
    for (uint32_t i = 0; i < operand->count && i < 4; i++)
        how->data[i] = emu_operand(l, &l->function->operands[operand->index + i], letter);
}

static void fetch(struct emu_lowering *l)
{
    const struct ptx_instruction *in = l->instruction;
    struct emu_texture_op *how = emu_lower_extra(l, sizeof *how);
    if (!how)
        return;
    how->integer = in->type[1] == PTX_S32;
    if (in->opcode == PTX_OP_TLD4)
        how->gather = in->second == PTX_MOD_R ? 1 : in->second == PTX_MOD_G ? 2 : in->second == PTX_MOD_B ? 3 : 4;
    place(l, &l->operands[1], how);
    data(l, &l->operands[0], how);
    struct emu_op *op = emu_push(l, emu_op_tex);
    op->extra = how;
}

static void surface(struct emu_lowering *l, int store)
{
    const struct ptx_instruction *in = l->instruction;
    struct emu_texture_op *how = emu_lower_extra(l, sizeof *how);
    if (!how)
        return;
    how->bytes = ptx_types[in->type[0]].bits / 8;
    how->outside = in->second;
    place(l, &l->operands[store ? 0 : 1], how);
    data(l, &l->operands[store ? 1 : 0], how);
    struct emu_op *op = emu_push(l, store ? emu_op_sust : emu_op_suld);
    op->extra = how;
}

int emu_lower_texture(struct emu_lowering *l)
{
    const struct ptx_instruction *in = l->instruction;
    switch (in->opcode) {
    case PTX_OP_TEX:
    case PTX_OP_TLD4:
        fetch(l);
        return 1;
    case PTX_OP_SULD:
    case PTX_OP_SUST:
        surface(l, in->opcode == PTX_OP_SUST);
        return 1;
    case PTX_OP_TXQ:
    case PTX_OP_SUQ: {
        if (l->operands[1].kind != PTX_OPERAND_ADDRESS || emu_register_bits(l, &l->operands[0]) != 32) {
            emu_lower_fail(l, TW_ERROR_UNSUPPORTED, "only of an object in a register");
            return 1;
        }
        struct ptx_operand object = l->operands[1];
        object.kind = PTX_OPERAND_REGISTER;
        uint32_t a = emu_operand(l, &object, 'l');
        struct emu_op *op = emu_push(l, emu_op_txq);
        op->d = emu_register(l, &l->operands[0]);
        op->a = a;
        op->b = in->operation;
        op->c = in->opcode == PTX_OP_SUQ;
        return 1;
    }
    default:
        return 0;
    }
}
