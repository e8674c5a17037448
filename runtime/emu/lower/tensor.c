/* Lowering of barriers in memory, asynchronous copies and matrix instructions. */
#include "emu/async/async.h"
#include "emu/async/sparse.h"
#include "emu/async/tensor_core.h"
#include "lowering.h"

static struct emu_where where(struct emu_lowering *l, const struct ptx_operand *operand, unsigned space)
{
    struct emu_address a = emu_address(l, operand, space);
    return (struct emu_where){.at = a.at, .wide = (uint8_t)a.wide, .space = (uint8_t)space, .offset = a.offset};
}

/* ---- mbarrier ---------------------------------------------------------------------------------------------------- */

static void mbarrier(struct emu_lowering *l)
{
    const struct ptx_instruction *in = l->instruction;
    struct emu_mbarrier_op *extra = emu_lower_extra(l, sizeof *extra);
    if (!extra)
        return;
    unsigned opcode = in->opcode, address = 0;
    int arrive = opcode == PTX_OP_MBARRIER_ARRIVE || opcode == PTX_OP_MBARRIER_ARRIVE_DROP;
    int test = opcode == PTX_OP_MBARRIER_TEST_WAIT || opcode == PTX_OP_MBARRIER_TRY_WAIT;
    if (arrive || test)
        address = 1;
    extra->barrier = where(l, &l->operands[address], in->space[0]);
    extra->expect_tx = (in->mods & PTX_FLAG(EXPECT_TX)) != 0;
    extra->no_complete = (in->mods & PTX_FLAG(NO_COMPLETE)) != 0;
    extra->drop = opcode == PTX_OP_MBARRIER_ARRIVE_DROP;
    extra->parity = (in->mods & PTX_FLAG(PARITY)) != 0;
    extra->relaxed = in->semantics == PTX_MOD_RELAXED;
    const struct ptx_operand *second = in->operand_count > address + 1 ? &l->operands[address + 1] : NULL;
    uint32_t b = 0;
    if (second && second->kind != PTX_OPERAND_NONE) {
        extra->has_count = 1;
        b = emu_operand(l, second, test && !extra->parity ? 'l' : 'w');
    }
    emu_handler run = emu_op_mbarrier_tx;
    if (arrive)
        run = emu_op_mbarrier_arrive;
    else if (test)
        run = emu_op_mbarrier_test;
    else if (opcode == PTX_OP_MBARRIER_INIT)
        run = emu_op_mbarrier_init;
    else if (opcode == PTX_OP_MBARRIER_INVAL)
        run = emu_op_mbarrier_inval;
    uint32_t d = address ? emu_operand(l, &l->operands[0], test ? 'p' : 'l') : 0;
    struct emu_op *op = emu_push(l, run);
    op->d = d;
    op->b = b;
    op->c = opcode == PTX_OP_MBARRIER_COMPLETE_TX;
    op->e = opcode == PTX_OP_MBARRIER_TRY_WAIT;
    op->extra = extra;
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

static uint32_t optional(struct emu_lowering *l, unsigned operand, char letter)
{
    if (operand >= l->instruction->operand_count || l->operands[operand].kind == PTX_OPERAND_NONE)
        return PTX_NONE;
    return emu_operand(l, &l->operands[operand], letter);
}

static void size_operand(struct emu_lowering *l, struct emu_copy *copy, unsigned operand)
{
    const struct ptx_operand *o = &l->operands[operand];
    copy->bytes_lanes = PTX_NONE;
    if (o->kind == PTX_OPERAND_IMMEDIATE)
        copy->bytes = (uint32_t)o->value;
    else
        copy->bytes_lanes = emu_operand(l, o, 'w');
}

static int reduce_operation(unsigned operation)
{
    switch (operation) {
    case PTX_MOD_ADD:
        return EMU_REDUCE_ADD;
    case PTX_MOD_MIN:
        return EMU_REDUCE_MIN;
    case PTX_MOD_MAX:
        return EMU_REDUCE_MAX;
    case PTX_MOD_INC:
        return EMU_REDUCE_INC;
    case PTX_MOD_DEC:
        return EMU_REDUCE_DEC;
    case PTX_MOD_AND:
        return EMU_REDUCE_AND;
    case PTX_MOD_OR:
        return EMU_REDUCE_OR;
    case PTX_MOD_XOR:
        return EMU_REDUCE_XOR;
    default:
        return EMU_REDUCE_STORE;
    }
}

static int reduce_type(unsigned type)
{
    switch (type) {
    case PTX_B64:
        return EMU_REDUCE_B64;
    case PTX_U32:
        return EMU_REDUCE_U32;
    case PTX_S32:
        return EMU_REDUCE_S32;
    case PTX_U64:
        return EMU_REDUCE_U64;
    case PTX_S64:
        return EMU_REDUCE_S64;
    case PTX_F16:
        return EMU_REDUCE_F16;
    case PTX_BF16:
        return EMU_REDUCE_BF16;
    case PTX_F32:
        return EMU_REDUCE_F32;
    case PTX_F64:
        return EMU_REDUCE_F64;
    default:
        return EMU_REDUCE_B32;
    }
}

static void tensor(struct emu_lowering *l, struct emu_copy *copy, const struct ptx_operand *t)
{
    const struct ptx_operand *elements = &l->function->operands[t->index];
    copy->map = where(l, &elements[0], PTX_SPACE_NONE);
    copy->rank = (uint8_t)(t->count - 1);
    for (unsigned i = 0; i < copy->rank && i < 5; i++)
        copy->coordinates[i] = emu_operand(l, &elements[1 + i], 'w');
}

static void copy(struct emu_lowering *l)
{
    const struct ptx_instruction *in = l->instruction;
    struct emu_copy *c = emu_lower_extra(l, sizeof *c);
    if (!c)
        return;
    c->opcode = in->opcode;
    c->bytes_lanes = c->source_bytes = c->ignore = c->multicast = PTX_NONE;
    c->reduce = (uint8_t)reduce_operation(in->operation);
    c->reduce_type = (uint8_t)reduce_type(in->type[0]);
    c->no_increment = (in->mods & PTX_FLAG(NOINC)) != 0;
    c->mode = in->mods & PTX_FLAG(IM2COL)           ? EMU_TMA_IM2COL
              : in->mods & PTX_FLAG(IM2COL_NO_OFFS) ? EMU_TMA_IM2COL_NO_OFFS
                                                    : EMU_TMA_TILE;
    const struct ptx_operand *o = l->operands;
    int multicast = (in->mods & PTX_FLAG(MULTICAST)) != 0;
    switch (in->opcode) {
    case PTX_OP_CP_ASYNC:
        c->to = where(l, &o[0], in->space[0]);
        c->from = where(l, &o[1], in->space[1]);
        c->bytes = (uint32_t)o[2].value;
        if (in->operand_count > 3 && o[3].kind == PTX_OPERAND_PREDICATE)
            c->ignore = emu_operand(l, &o[3], 'p');
        else if (in->operand_count > 3 && o[3].kind != PTX_OPERAND_NONE)
            c->source_bytes = emu_operand(l, &o[3], 'w');
        break;
    case PTX_OP_CP_ASYNC_MBARRIER_ARRIVE:
        c->barrier = where(l, &o[0], in->space[0]);
        break;
    case PTX_OP_CP_ASYNC_BULK:
    case PTX_OP_CP_REDUCE_ASYNC_BULK:
        c->to = where(l, &o[0], in->space[0]);
        c->from = where(l, &o[1], in->space[1]);
        size_operand(l, c, 2);
        c->store = in->space[0] == PTX_SPACE_GLOBAL;
        if (!c->store)
            c->barrier = where(l, &o[3], PTX_SPACE_SHARED_CLUSTER);
        if (multicast)
            c->multicast = optional(l, 4, 'w');
        break;
    case PTX_OP_CP_ASYNC_BULK_TENSOR:
        c->store = in->space[0] == PTX_SPACE_GLOBAL;
        if (c->store) {
            tensor(l, c, &o[0]);
            c->from = where(l, &o[1], in->space[1]);
            break;
        }
        c->to = where(l, &o[0], in->space[0]);
        tensor(l, c, &o[1]);
        c->barrier = where(l, &o[2], PTX_SPACE_SHARED_CLUSTER);
        if (o[3].kind == PTX_OPERAND_VECTOR)
            for (unsigned i = 0; i < o[3].count && i < 3; i++)
                c->offsets[i] = emu_operand(l, &l->function->operands[o[3].index + i], 'w');
        else if (c->mode == EMU_TMA_IM2COL)
            c->offsets[0] = emu_operand(l, &o[3], 'w');
        if (multicast)
            c->multicast = optional(l, 4, 'w');
        break;
    case PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR:
        c->store = 1;
        tensor(l, c, &o[0]);
        c->from = where(l, &o[1], in->space[1]);
        break;
    default: /* st.async, red.async */
        c->to = where(l, &o[0], PTX_SPACE_SHARED_CLUSTER);
        if (!in->space[0])
            c->to.space = PTX_SPACE_NONE;
        c->barrier = where(l, &o[2], c->to.space);
        c->element_bytes = ptx_types[in->type[0]].bits / 8;
        c->wide = c->element_bytes == 8;
        c->elements = o[1].kind == PTX_OPERAND_VECTOR ? (uint8_t)o[1].count : 1;
        for (unsigned i = 0; i < c->elements && i < 4; i++)
            c->data[i] =
                emu_operand(l, o[1].kind == PTX_OPERAND_VECTOR ? &l->function->operands[o[1].index + i] : &o[1],
                            c->wide ? 'l' : 'w');
        break;
    }
    emu_push(l, emu_op_copy)->extra = c;
}

static void group(struct emu_lowering *l, unsigned which, int wait, int all)
{
    struct emu_op *op = emu_push(l, wait ? emu_op_wait_group : emu_op_commit);
    op->a = which;
    op->b = wait && !all ? (uint32_t)l->operands[0].value : 0;
    op->c = all != 0;
    op->d = (l->instruction->mods & PTX_FLAG(READ)) != 0;
}

/* ---- Matrices ---------------------------------------------------------------------------------------------------- */

static uint32_t *registers(struct emu_lowering *l, const struct ptx_operand *operand, uint32_t *count, char letter)
{
    const struct ptx_operand *first =
        operand->kind == PTX_OPERAND_VECTOR ? &l->function->operands[operand->index] : operand;
    *count = operand->kind == PTX_OPERAND_VECTOR ? operand->count : 1;
    uint32_t *at = emu_lower_extra(l, *count * sizeof *at);
    for (uint32_t i = 0; at && i < *count; i++)
        at[i] = emu_operand(l, &first[i], letter);
    return at;
}

static int tc_type(unsigned type)
{
    switch (type) {
    case PTX_BF16:
        return EMU_TC_BF16;
    case PTX_F16:
        return EMU_TC_F16;
    case PTX_TF32:
        return EMU_TC_TF32;
    case PTX_E4M3:
        return EMU_TC_E4M3;
    case PTX_E5M2:
        return EMU_TC_E5M2;
    case PTX_S8:
        return EMU_TC_S8;
    case PTX_U8:
        return EMU_TC_U8;
    case PTX_F64:
        return EMU_TC_F64;
    case PTX_F32:
        return EMU_TC_F32;
    case PTX_S32:
        return EMU_TC_S32;
    default:
        return -1;
    }
}

static int find_kind(struct emu_lowering *l, struct emu_matrix *m, enum emu_tc_engine engine, unsigned a, unsigned b,
                     unsigned d)
{
    const struct ptx_instruction *in = l->instruction;
    int ta = tc_type(a), tb = tc_type(b), td = tc_type(d);
    m->m = in->m;
    m->n = in->n;
    m->sparse = in->opcode == PTX_OP_WGMMA_SP;
    m->k = (uint16_t)(in->k >> m->sparse);
    m->bits_a = ptx_types[a].bits;
    m->bits_d = ptx_types[d].bits;
    m->is_f64 = a == PTX_F64;
    m->kind = ta < 0 || tb < 0 || td < 0 ? -1
                                         : emu_tc_find(engine, in->m, m->k, (enum emu_tc_type)ta, (enum emu_tc_type)tb,
                                                       (enum emu_tc_type)td, (in->mods & PTX_FLAG(SATFINITE)) != 0);
    if (m->kind < 0)
        emu_lower_fail(l, TW_ERROR_UNSUPPORTED, "the arithmetic of this shape and these types is not emulated");
    return m->kind >= 0;
}

static void mma(struct emu_lowering *l)
{
    const struct ptx_instruction *in = l->instruction;
    struct emu_matrix *m = emu_lower_extra(l, sizeof *m);
    if (!m || !find_kind(l, m, EMU_TC_MMA, in->type[1], in->type[2], in->type[0]))
        return;
    if (in->type[0] != in->type[3]) {
        emu_lower_fail(l, TW_ERROR_UNSUPPORTED, "C and D of unlike types are not emulated");
        return;
    }
    char letter = m->is_f64 ? 'l' : 'w';
    m->a = registers(l, &l->operands[1], &m->a_count, letter);
    m->b = registers(l, &l->operands[2], &m->b_count, letter);
    m->c = registers(l, &l->operands[3], &m->c_count, letter);
    m->d = registers(l, &l->operands[0], &m->d_count, letter);
    emu_push(l, emu_op_mma)->extra = m;
}

static void wmma_move(struct emu_lowering *l, char which)
{
    const struct ptx_instruction *in = l->instruction;
    struct emu_wmma *w = emu_lower_extra(l, sizeof *w);
    if (!w)
        return;
    unsigned bits = ptx_types[in->type[0]].bits;
    w->store = in->opcode == PTX_OP_WMMA_STORE_D;
    w->which = which;
    w->bits = (uint8_t)(bits == 19 ? 32 : bits);
    w->m = (uint8_t)in->m, w->n = (uint8_t)in->n, w->k = (uint8_t)in->k;
    w->by_columns = in->layout[0] == PTX_MOD_COL;
    w->line = (uint8_t)(w->by_columns ? (which == 'B' ? in->k : in->m) : (which == 'A' ? in->k : in->n));
    w->address = where(l, &l->operands[w->store ? 0 : 1], in->space[0]);
    uint32_t stride = optional(l, 2, 'w');
    w->has_stride = stride != PTX_NONE;
    w->stride = w->has_stride ? stride : 0;
    w->d = registers(l, &l->operands[w->store ? 1 : 0], &w->d_count, bits == 64 ? 'l' : 'w');
    emu_push(l, emu_op_wmma_move)->extra = w;
}

static void wmma(struct emu_lowering *l)
{
    const struct ptx_instruction *in = l->instruction;
    int halves = !in->type[2];
    unsigned a = halves ? (unsigned)PTX_F16 : in->type[1], b = halves ? (unsigned)PTX_F16 : in->type[2];
    struct emu_wmma *w = emu_lower_extra(l, sizeof *w);
    if (!w)
        return;
    unsigned bits = ptx_types[a].bits;
    w->kind = in->type[0] != in->type[halves ? 1 : 3]
                  ? -1
                  : emu_tc_find(EMU_TC_MMA, bits == 64 ? 8 : 16, a == PTX_TF32 ? 4 : in->k,
                                (enum emu_tc_type)tc_type(a), (enum emu_tc_type)tc_type(b),
                                (enum emu_tc_type)tc_type(in->type[0]), (in->mods & PTX_FLAG(SATFINITE)) != 0);
    if (w->kind < 0) {
        emu_lower_fail(l, TW_ERROR_UNSUPPORTED, "the arithmetic of this shape and these types is not emulated");
        return;
    }
    w->bits = (uint8_t)(bits == 19 ? 32 : bits);
    w->bits_d = (uint8_t)ptx_types[in->type[0]].bits;
    w->m = (uint8_t)in->m, w->n = (uint8_t)in->n, w->k = (uint8_t)in->k;
    char letter = bits == 64 ? 'l' : 'w';
    w->a = registers(l, &l->operands[1], &w->a_count, letter);
    w->b = registers(l, &l->operands[2], &w->b_count, letter);
    w->c = registers(l, &l->operands[3], &w->c_count, letter);
    w->d = registers(l, &l->operands[0], &w->d_count, letter);
    emu_push(l, emu_op_wmma)->extra = w;
}

static uint64_t constant_of(struct emu_lowering *l, unsigned operand)
{
    return operand < l->instruction->operand_count && l->operands[operand].kind == PTX_OPERAND_IMMEDIATE
               ? (uint64_t)l->operands[operand].value
               : 0;
}

/* operands: D, A (registers or descriptor), B's descriptor, of a sparse one metadata and selector, scale-d,
   imm-scale-a, imm-scale-b, imm-trans-a (of a descriptor), imm-trans-b */
static void wgmma(struct emu_lowering *l)
{
    const struct ptx_instruction *in = l->instruction;
    struct emu_matrix *m = emu_lower_extra(l, sizeof *m);
    if (!m || !find_kind(l, m, EMU_TC_WGMMA, in->type[1], in->type[2], in->type[0]))
        return;
    m->a_in_registers = l->operands[1].kind == PTX_OPERAND_VECTOR;
    if (m->a_in_registers)
        m->a = registers(l, &l->operands[1], &m->a_count, 'w');
    else
        m->a_descriptor = emu_operand(l, &l->operands[1], 'l');
    m->b_descriptor = emu_operand(l, &l->operands[2], 'l');
    unsigned next = 3;
    if (m->sparse) {
        m->metadata = emu_operand(l, &l->operands[next++], 'w');
        uint64_t selector = constant_of(l, next++);
        if (selector > emu_sparse_selectors(m->bits_a)) {
            emu_lower_fail(l, TW_ERROR_INVALID,
                           "the sparsity selector is 0 or 1 of types of 16 and 32 bits, and 0 of types of 8");
            return;
        }
        m->selector = (uint8_t)selector;
    }
    m->scale_d = emu_operand(l, &l->operands[next++], 'p');
    if (in->operand_count > next) {
        m->negate_a = (int32_t)constant_of(l, next++) == -1;
        m->negate_b = (int32_t)constant_of(l, next++) == -1;
        if (!m->a_in_registers)
            m->trans_a = constant_of(l, next++) != 0;
        m->trans_b = constant_of(l, next) != 0;
    }
    m->d = m->c = registers(l, &l->operands[0], &m->d_count, 'w');
    m->c_count = m->d_count;
    emu_push(l, emu_op_wgmma)->extra = m;
}

static void matrix_move(struct emu_lowering *l, int store)
{
    const struct ptx_instruction *in = l->instruction;
    struct emu_matrix *m = emu_lower_extra(l, sizeof *m);
    if (!m)
        return;
    if (in->m != 8 || in->n != 8) {
        emu_lower_fail(l, TW_ERROR_UNSUPPORTED, "only matrices of 8 by 8 are emulated");
        return;
    }
    m->address = where(l, &l->operands[store ? 0 : 1], in->space[0]);
    m->count = in->vector;
    m->trans = (in->mods & PTX_FLAG(TRANS)) != 0;
    m->d = registers(l, &l->operands[store ? 1 : 0], &m->d_count, 'w');
    emu_push(l, store ? emu_op_stmatrix : emu_op_ldmatrix)->extra = m;
}

/* ---- Tensor maps in memory --------------------------------------------------------------------------------------- */

static void replace(struct emu_lowering *l)
{
    const struct ptx_instruction *in = l->instruction;
    struct emu_where *map = emu_lower_extra(l, sizeof *map);
    if (!map)
        return;
    *map = where(l, &l->operands[0], in->space[0]);
    unsigned value = in->operand_count - 1u;
    int has_index = in->operand_count == 3;
    int wide = in->operation == PTX_MOD_GLOBAL_ADDRESS || in->operation == PTX_MOD_GLOBAL_STRIDE;
    uint32_t a = emu_operand(l, &l->operands[value], wide ? 'l' : 'w');
    struct emu_op *op = emu_push(l, emu_op_tensormap_replace);
    op->a = a;
    op->b = in->operation;
    op->c = has_index ? (uint32_t)l->operands[1].value : 0;
    op->e = (uint32_t)wide;
    op->extra = map;
}

static void copy_map(struct emu_lowering *l)
{
    struct emu_where *map = emu_lower_extra(l, 2 * sizeof *map);
    if (!map)
        return;
    map[0] = where(l, &l->operands[0], l->instruction->space[0]);
    map[1] = where(l, &l->operands[1], l->instruction->space[1]);
    struct emu_op *op = emu_push(l, emu_op_tensormap_copy);
    op->a = (uint32_t)l->operands[2].value;
    op->extra = map;
}

/* An operation from one register to another. */
static void unary(struct emu_lowering *l, char letter, emu_handler run)
{
    uint32_t a = emu_operand(l, &l->operands[1], letter);
    struct emu_op *op = emu_push(l, run);
    op->d = emu_register(l, &l->operands[0]);
    op->a = a;
}

/* Barriers in memory and asynchronous copies. 0: none of them. */
static int lower_copy(struct emu_lowering *l)
{
    switch (l->instruction->opcode) {
    case PTX_OP_MBARRIER_INIT:
    case PTX_OP_MBARRIER_INVAL:
    case PTX_OP_MBARRIER_EXPECT_TX:
    case PTX_OP_MBARRIER_COMPLETE_TX:
    case PTX_OP_MBARRIER_ARRIVE:
    case PTX_OP_MBARRIER_ARRIVE_DROP:
    case PTX_OP_MBARRIER_TEST_WAIT:
    case PTX_OP_MBARRIER_TRY_WAIT:
        mbarrier(l);
        return 1;
    case PTX_OP_MBARRIER_PENDING_COUNT:
        unary(l, 'l', emu_op_mbarrier_pending);
        return 1;
    case PTX_OP_CP_ASYNC:
    case PTX_OP_CP_ASYNC_MBARRIER_ARRIVE:
    case PTX_OP_CP_ASYNC_BULK:
    case PTX_OP_CP_ASYNC_BULK_TENSOR:
    case PTX_OP_CP_REDUCE_ASYNC_BULK:
    case PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR:
    case PTX_OP_ST_ASYNC:
    case PTX_OP_RED_ASYNC:
        copy(l);
        return 1;
    case PTX_OP_CP_ASYNC_COMMIT_GROUP:
        group(l, EMU_ASYNC_GROUP_CP_ASYNC, 0, 0);
        return 1;
    case PTX_OP_CP_ASYNC_WAIT_GROUP:
        group(l, EMU_ASYNC_GROUP_CP_ASYNC, 1, 0);
        return 1;
    case PTX_OP_CP_ASYNC_WAIT_ALL:
        group(l, EMU_ASYNC_GROUP_CP_ASYNC, 1, 1);
        return 1;
    case PTX_OP_CP_ASYNC_BULK_COMMIT_GROUP:
        group(l, EMU_ASYNC_GROUP_BULK, 0, 0);
        return 1;
    case PTX_OP_CP_ASYNC_BULK_WAIT_GROUP:
        group(l, EMU_ASYNC_GROUP_BULK, 1, 0);
        return 1;
    case PTX_OP_TENSORMAP_REPLACE:
        replace(l);
        return 1;
    case PTX_OP_TENSORMAP_CP_FENCEPROXY:
        copy_map(l);
        return 1;
    default:
        return 0;
    }
}

/* Matrix instructions. 0: none of them. */
static int lower_matrix(struct emu_lowering *l)
{
    switch (l->instruction->opcode) {
    case PTX_OP_WGMMA_COMMIT_GROUP:
        group(l, EMU_ASYNC_GROUP_WGMMA, 0, 0);
        return 1;
    case PTX_OP_WGMMA_WAIT_GROUP:
        group(l, EMU_ASYNC_GROUP_WGMMA, 1, 0);
        return 1;
    case PTX_OP_WGMMA_FENCE:
        emu_push(l, emu_op_fence)->a = PTX_OP_WGMMA_FENCE;
        return 1;
    case PTX_OP_WGMMA_MMA_ASYNC:
    case PTX_OP_WGMMA_SP:
        wgmma(l);
        return 1;
    case PTX_OP_MMA_SYNC:
        mma(l);
        return 1;
    case PTX_OP_WMMA_LOAD_A:
        wmma_move(l, 'A');
        return 1;
    case PTX_OP_WMMA_LOAD_B:
        wmma_move(l, 'B');
        return 1;
    case PTX_OP_WMMA_LOAD_C:
    case PTX_OP_WMMA_STORE_D:
        wmma_move(l, 'C');
        return 1;
    case PTX_OP_WMMA_MMA:
        wmma(l);
        return 1;
    case PTX_OP_LDMATRIX:
    case PTX_OP_STMATRIX:
        matrix_move(l, l->instruction->opcode == PTX_OP_STMATRIX);
        return 1;
    case PTX_OP_MOVMATRIX:
        unary(l, 'w', emu_op_movmatrix);
        return 1;
    default:
        return 0;
    }
}

int emu_lower_tensor(struct emu_lowering *l)
{
    return lower_copy(l) || lower_matrix(l) || emu_lower_tcgen05(l);
}
