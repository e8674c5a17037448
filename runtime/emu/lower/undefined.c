/* Registers that a thread reads before it has written them.

   Which registers may be undefined where is a flow of bits forward through the function: all but its parameters are so
   at its entry, what an instruction writes is defined behind it, and what arithmetic makes of something undefined is
   undefined again. Compilers move arithmetic ahead of the branch that guards it, so that alone is no fault; what
   reaches memory, an address or a branch is. Few registers are in doubt anywhere: each of these has a mask of the lanes
   that have written it (a predicate slot of the frame), and operations beside the instructions that touch it keep that
   up to date. Without hazards there are none. */
#include <string.h>

#include "lowering.h"

enum { MOST = 512 }; /* registers in doubt; where there are more, nothing is said */

enum kind {
    MAKES, /* its result is as good as its sources */
    USES,  /* what it reads counts */
    PLAIN  /* neither: its result is taken as defined */
};

static enum kind kind_of(const struct ptx_instruction *in)
{
    switch (in->opcode) {
    case PTX_OP_ST: /* arguments and variables of the stack may be left undefined */
        return in->space[0] == PTX_SPACE_PARAM || in->space[0] == PTX_SPACE_LOCAL ? PLAIN : USES;
    case PTX_OP_LD:
    case PTX_OP_LDU:
    case PTX_OP_ATOM:
    case PTX_OP_RED:
    case PTX_OP_BRA:
    case PTX_OP_BRX_IDX:
    case PTX_OP_CP_ASYNC:
    case PTX_OP_STMATRIX:
    case PTX_OP_LDMATRIX:
    case PTX_OP_TCGEN05_ST:
    case PTX_OP_TCGEN05_MMA:
        return USES;
    case PTX_OP_WGMMA_SP:
    case PTX_OP_WGMMA_MMA_ASYNC: /* scale-d = 0 reads no accumulator */
    case PTX_OP_SHFL_SYNC:
    case PTX_OP_VOTE_SYNC:
    case PTX_OP_MATCH_ANY:
    case PTX_OP_MATCH_ALL:
    case PTX_OP_REDUX_SYNC:
    case PTX_OP_ELECT_SYNC:
    case PTX_OP_CALL:
        return PLAIN;
    default:
        return ptx_written(in) ? MAKES : PLAIN;
    }
}

struct undefined {
    uint64_t *in, *now; /* bits of registers: by block, and at hand */
    uint32_t words;
    uint8_t *doubted; /* register -> it is read where it may be undefined; NULL: not asked */
    int any, guarded, makes;
};

static void source(struct emu_lowering *l, void *context, uint32_t reg, int written)
{
    struct undefined *u = context;
    (void)l, (void)written;
    if (!(u->now[reg / 64] >> reg % 64 & 1))
        return;
    u->any = 1;
    if (u->doubted)
        u->doubted[reg] = 1;
}

static void result(struct emu_lowering *l, void *context, uint32_t reg, int written)
{
    struct undefined *u = context;
    uint64_t bit = UINT64_C(1) << reg % 64;
    (void)l;
    if (!written)
        return; /* the register of an address */
    if (u->any && u->makes)
        u->now[reg / 64] |= bit;
    else if (!u->guarded)
        u->now[reg / 64] &= ~bit;
}

static void step(struct emu_lowering *l, struct undefined *u, uint32_t number)
{
    const struct ptx_instruction *in = &l->function->instructions[number];
    enum kind kind = kind_of(in);
    u->any = 0;
    u->makes = kind == MAKES;
    u->guarded = in->guard != PTX_NONE;
    if (kind != PLAIN)
        emu_each_register(l, number, source, u, 0);
    emu_each_register(l, number, result, u, 1);
}

static void block(struct emu_lowering *l, struct undefined *u, uint32_t b)
{
    memcpy(u->now, u->in + (size_t)b * u->words, u->words * sizeof *u->now);
    for (uint32_t i = l->flow.first[b]; i < l->flow.first[b + 1]; i++)
        step(l, u, i);
}

static void flow(struct emu_lowering *l, struct undefined *u)
{
    const struct ptx_function *f = l->function;
    for (uint32_t r = 0; r < f->register_count; r++)
        u->in[r / 64] |= UINT64_C(1) << r % 64;
    for (uint32_t i = 0; i < f->param_count; i++)
        if (f->params[i].reg != PTX_NONE)
            u->in[f->params[i].reg / 64] &= ~(UINT64_C(1) << f->params[i].reg % 64);
    for (int changed = 1; changed;) {
        changed = 0;
        for (uint32_t b = 0; b < l->flow.block_count; b++) {
            block(l, u, b);
            for (uint32_t e = l->flow.edge_start[b]; e < l->flow.edge_start[b + 1]; e++) {
                uint64_t *to = l->flow.edges[e] == PTX_NONE ? NULL : u->in + (size_t)l->flow.edges[e] * u->words;
                for (uint32_t w = 0; to && w < u->words; w++) {
                    changed |= (u->now[w] & ~to[w]) != 0;
                    to[w] |= u->now[w];
                }
            }
        }
    }
}

int emu_undefined_find(struct emu_lowering *l)
{
    struct tw_runtime *rt = l->module->device->device.rt;
    const struct ptx_function *f = l->function;
    struct undefined u = {.words = (f->register_count + 63) / 64};
    size_t size = (size_t)(l->flow.block_count + 1u) * u.words;
    if (!l->module->device->hazard_memory || !f->register_count || !l->flow.block_count)
        return 0;
    u.in = tw_alloc_zeroed(rt, size * sizeof *u.in);
    uint8_t *doubted = tw_alloc_zeroed(rt, f->register_count);
    l->doubt = tw_alloc_zeroed(rt, f->register_count * sizeof *l->doubt);
    if (!u.in || !doubted || !l->doubt) {
        emu_lower_fail(l, TW_ERROR_MEMORY, "no memory");
        goto done;
    }
    u.now = u.in + size - u.words;
    flow(l, &u);
    u.doubted = doubted;
    for (uint32_t b = 0; b < l->flow.block_count; b++)
        block(l, &u, b);
    uint32_t count = 0;
    for (uint32_t r = 0; r < f->register_count; r++)
        count += doubted[r];
    for (uint32_t r = 0; r < f->register_count && count <= MOST; r++)
        l->doubt[r] = doubted[r] ? l->out->frame_preds++ : 0;
    l->doubts = count <= MOST ? count : 0;
done:
    tw_free(rt, u.in);
    tw_free(rt, doubted);
    return l->status;
}

/* ---- Operations -------------------------------------------------------------------------------------------------- */

struct slots {
    uint32_t at[64];
    uint32_t count;
};

static void slot(struct emu_lowering *l, void *context, uint32_t reg, int written)
{
    struct slots *s = context;
    (void)written;
    if (l->doubt[reg] && s->count < sizeof s->at / sizeof s->at[0])
        s->at[s->count++] = l->doubt[reg];
}

static void slot_written(struct emu_lowering *l, void *context, uint32_t reg, int written)
{
    if (written)
        slot(l, context, reg, written);
}

static uint32_t slot_of(const struct emu_lowering *l, const struct ptx_operand *operand)
{
    int is_register = operand->kind == PTX_OPERAND_REGISTER || operand->kind == PTX_OPERAND_PREDICATE;
    return is_register ? l->doubt[operand->index] : 0;
}

static struct emu_undefined *push(struct emu_lowering *l, emu_handler run, const struct slots *from,
                                  const struct slots *to)
{
    uint32_t count = from->count + to->count;
    struct emu_undefined *extra = emu_lower_extra(l, sizeof *extra + count * sizeof extra->slot[0]);
    struct emu_op *op = emu_push(l, run);
    op->source = PTX_NONE;
    op->imm = l->number;
    op->extra = extra;
    if (!extra)
        return NULL;
    extra->sources = from->count;
    extra->results = to->count;
    extra->guard = l->guard;
    memcpy(extra->slot, from->at, from->count * sizeof extra->slot[0]);
    memcpy(extra->slot + from->count, to->at, to->count * sizeof extra->slot[0]);
    return extra;
}

void emu_undefined_begin(struct emu_lowering *l)
{
    struct slots none = {.count = 0};
    for (uint32_t r = 0; l->doubts && r < l->function->register_count; r++)
        if (l->doubt[r]) {
            struct slots one = {.at = {l->doubt[r]}, .count = 1};
            push(l, emu_op_undefined_begin, &none, &one);
        }
}

void emu_undefined_before(struct emu_lowering *l)
{
    enum kind kind = kind_of(l->instruction);
    struct slots from = {.count = 0}, to = {.count = 0}, none = {.count = 0};
    if (!l->doubts)
        return;
    if (kind != PLAIN)
        emu_each_register(l, l->number, slot, &from, 0);
    emu_each_register(l, l->number, slot_written, &to, 1);
    if (kind == USES && from.count)
        push(l, emu_op_undefined_look, &from, &none);
    if (!to.count)
        return;
    struct emu_undefined *extra = push(l, emu_op_undefined_pass, kind == MAKES ? &from : &none, &to);
    if (!extra || l->instruction->opcode != PTX_OP_SELP || !from.count)
        return;
    extra->select = emu_operand(l, &l->operands[3], 'p');
    for (unsigned i = 0; i < 3; i++)
        extra->choice[i] = slot_of(l, &l->operands[1 + i]);
}
