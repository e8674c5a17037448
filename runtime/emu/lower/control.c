/* Lowering of branches, calls, warp-wide operations, barriers and fences. */
#include "lowering.h"

static struct emu_branch *branch(struct emu_lowering *l, uint32_t count)
{
    struct emu_branch *b = emu_lower_extra(l, sizeof *b + count * sizeof b->target[0]);
    if (!b)
        return NULL;
    b->count = count;
    uint32_t join = l->flow.join[l->flow.block_of[l->number]];
    /* numbers of instructions, until all have their operations */
    b->join = join == PTX_NONE ? NULL : (const struct emu_op *)(uintptr_t)(l->flow.first[join] + 1u);
    emu_branch_target(l, b);
    return b;
}

static void jump(struct emu_lowering *l)
{
    uint32_t target = (uint32_t)l->operands[0].value;
    if (!l->guard) {
        emu_push(l, emu_op_jump)->imm = target;
        return;
    }
    struct emu_branch *b = branch(l, 1);
    if (!b)
        return;
    b->target[0] = (const struct emu_op *)(uintptr_t)target;
    struct emu_op *op = emu_push(l, emu_op_bra);
    op->a = l->guard;
    op->extra = b;
}

static void indexed(struct emu_lowering *l)
{
    if (l->guard) {
        emu_lower_fail(l, TW_ERROR_UNSUPPORTED, "not supported under a predicate");
        return;
    }
    uint32_t index = emu_operand(l, &l->operands[0], 'w');
    struct emu_branch *b = branch(l, l->operands[1].count);
    if (!b)
        return;
    for (uint32_t i = 0; i < b->count; i++) {
        uint64_t target = (uint64_t)l->function->operands[l->operands[1].index + i].value;
        b->target[i] = (const struct emu_op *)(uintptr_t)target;
    }
    struct emu_op *op = emu_push(l, emu_op_brx);
    op->a = index;
    op->extra = b;
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

/* Where the caller's .param variable lies in its local memory. */
static uint32_t own_offset(struct emu_lowering *l, const struct ptx_operand *operand)
{
    return (uint32_t)l->ptx->variables[operand->index].offset - l->out->param_skip;
}

/* One argument or result. formal: of the callee; NULL for an indirect call, and then offset says where it lies. */
static void move(struct emu_lowering *l, struct emu_move *m, const struct ptx_operand *actual, uint32_t offset,
                 uint64_t bytes, int argument)
{
    m->bytes = (uint32_t)bytes;
    uint32_t *mine = argument ? &m->from : &m->to, *theirs = argument ? &m->to : &m->from;
    uint8_t *width = argument ? &m->from_register : &m->to_register;
    *theirs = offset;
    if (actual->kind == PTX_OPERAND_VARIABLE) {
        const struct ptx_variable *v = &l->ptx->variables[actual->index];
        if (l->function->is_kernel && v->offset < l->function->param_bytes)
            emu_lower_fail(l, TW_ERROR_UNSUPPORTED, "a kernel's own parameter as an argument is not supported");
        *mine = own_offset(l, actual);
        return;
    }
    if (actual->kind == PTX_OPERAND_PREDICATE) {
        emu_lower_fail(l, TW_ERROR_UNSUPPORTED, "a predicate as an argument is not supported");
        return;
    }
    unsigned bits = actual->kind == PTX_OPERAND_REGISTER ? emu_register_bits(l, actual) : bytes > 4 ? 64u : 32u;
    *mine = argument ? emu_operand(l, actual, bits == 64 ? 'l' : 'w') : emu_register(l, actual);
    *width = bits == 64 ? 8 : 4;
}

static uint64_t align_up(uint64_t value, uint64_t align)
{
    return align ? (value + align - 1) / align * align : value;
}

/* What a call knows of its callee: the function, or the prototype of one that a register names. */
struct callee {
    const struct ptx_function *function; /* NULL: through a register */
    const struct ptx_prototype *prototype;
    const struct ptx_parameter *params, *returns;
};

static struct callee callee_of(const struct emu_lowering *l)
{
    const struct ptx_operand *target = &l->operands[1];
    if (target->kind != PTX_OPERAND_FUNCTION) {
        const struct ptx_prototype *prototype = &l->ptx->prototypes[l->operands[3].index];
        return (struct callee){.prototype = prototype, .params = prototype->params, .returns = prototype->returns};
    }
    const struct ptx_function *f = &l->ptx->functions[target->index];
    if (f->alias_of != PTX_NONE)
        f = &l->ptx->functions[f->alias_of];
    return (struct callee){.function = f, .params = f->params, .returns = f->returns};
}

/* Arguments or results, which lie in the callee's parameter area from `at` on, each at a multiple of its alignment.
   Returns where the next ones lie. */
static uint64_t moves(struct emu_lowering *l, const struct callee *callee, const struct ptx_operand *list,
                      const struct ptx_parameter *formal, uint64_t at, int argument, struct emu_move *to)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const struct ptx_parameter *p = &formal[i];
        if (p->variable != PTX_NONE && callee->function)
            at = l->ptx->variables[p->variable].offset;
        else
            at = align_up(at, p->align);
        move(l, &to[i], &l->function->operands[list->index + i], (uint32_t)at, p->bytes, argument);
        at += p->bytes;
    }
    return at;
}

/* The callee that the call names. 0, or 1 after a failure. */
static int set_function(struct emu_lowering *l, const struct ptx_function *callee, struct emu_call *in)
{
    if (!callee->has_body) {
        in->builtin = callee;
        if (emu_builtin(ptx_name(l->ptx, callee->name)))
            return 0;
        const char *name = ptx_name(l->ptx, callee->name);
        int is_cuda = strncmp(name, "cuda", 4) == 0;
        emu_lower_fail(
            l, TW_ERROR_UNSUPPORTED, "function %s has no body%s", name,
            is_cuda ? ": launches and conditions of graphs by kernels are not emulated; let the host decide and launch"
                    : "");
        return 1;
    }
    for (uint32_t i = 0; i < callee->param_count + callee->return_count; i++) {
        const struct ptx_parameter *p =
            i < callee->param_count ? &callee->params[i] : &callee->returns[i - callee->param_count];
        if (p->variable != PTX_NONE)
            continue;
        emu_lower_fail(l, TW_ERROR_UNSUPPORTED, "parameters of functions in registers are not supported");
        return 1;
    }
    int status = emu_lower(l->module, (uint32_t)(callee - l->ptx->functions), &in->function, l->error);
    if (status)
        l->status = status;
    return status != TW_OK;
}

/* A callee in a register: any function whose address is taken may be meant. 0, or 1 after a failure. */
static int set_register(struct emu_lowering *l, struct emu_call *in)
{
    in->target = emu_operand(l, &l->operands[1], 'l');
    for (uint32_t i = 0; i < l->function->operand_count; i++) {
        const struct ptx_operand *o = &l->function->operands[i];
        struct emu_function *ignored;
        if (o->kind != PTX_OPERAND_FUNCTION || !l->ptx->functions[o->index].has_body ||
            l->ptx->functions[o->index].is_kernel)
            continue;
        int status = emu_lower(l->module, o->index, &ignored, l->error);
        if (status) {
            l->status = status;
            return 1;
        }
    }
    return 0;
}

static void call(struct emu_lowering *l)
{
    const struct ptx_operand *returns = &l->operands[0], *arguments = &l->operands[2];
    struct callee callee = callee_of(l);
    struct emu_call *in = emu_lower_extra(l, sizeof *in + arguments->count * sizeof in->moves[0]);
    struct emu_call *out = emu_lower_extra(l, sizeof *out + returns->count * sizeof out->moves[0]);
    if (!in || !out)
        return;
    in->module = out->module = l->module;
    in->prototype = callee.prototype;
    in->guard = out->guard = l->guard ? l->guard : PTX_NONE;
    in->move_count = arguments->count;
    out->move_count = returns->count;
    /* The callee's parameter area: results, then parameters. */
    uint64_t at = moves(l, &callee, returns, callee.returns, 0, 0, out->moves);
    moves(l, &callee, arguments, callee.params, at, 1, in->moves);
    if (callee.function ? set_function(l, callee.function, in) : set_register(l, in))
        return;
    emu_push(l, in->builtin ? emu_op_builtin : emu_op_call)->extra = in;
    if (!in->builtin) {
        emu_push(l, emu_op_call_end)->extra = out;
    } else if (returns->count) {
        /* A built-in leaves its result where the first result's variable lies. */
        in->target = out->moves[0].to;
    } else {
        in->target = PTX_NONE;
    }
    if (callee.function && callee.function->noreturn && callee.function->has_body)
        emu_push(l, emu_op_exit);
}

/* ---- Warps ------------------------------------------------------------------------------------------------------- */

/* The member mask: of a whole warp, where it is written so. */
static uint32_t members_of(struct emu_lowering *l, const struct ptx_operand *o)
{
    l->module->has_parts |= o->kind != PTX_OPERAND_IMMEDIATE || (uint32_t)o->value != UINT32_MAX;
    return emu_operand(l, o, 'w');
}

static void shfl(struct emu_lowering *l)
{
    struct emu_list *list = emu_list(l, 3);
    uint32_t a = emu_operand(l, &l->operands[2], 'w'), b = emu_operand(l, &l->operands[3], 'w');
    uint32_t c = emu_operand(l, &l->operands[4], 'w'), members = members_of(l, &l->operands[5]);
    struct emu_op *op = emu_push(l, emu_op_shfl);
    if (!list)
        return;
    list->at[0] = emu_operand(l, &l->operands[1], 'p');
    list->at[1] = l->instruction->operation;
    op->d = emu_register(l, &l->operands[0]);
    op->a = a, op->b = b, op->c = c, op->e = members;
    op->extra = list;
}

/* d, a, members in e; b the second destination; imm the operation. */
static void warp_wide(struct emu_lowering *l, emu_handler run, char to, char from, unsigned second, unsigned source,
                      unsigned members)
{
    uint32_t a = source ? emu_operand(l, &l->operands[source], from) : 0;
    uint32_t e = members ? members_of(l, &l->operands[members]) : 0;
    struct emu_op *op = emu_push(l, run);
    op->d = emu_operand(l, &l->operands[0], to);
    op->a = a;
    op->b = second ? emu_operand(l, &l->operands[second], 'p') : 0;
    op->e = e;
    op->c = from == 'l' ? 64 : l->instruction->type[0] == PTX_S32;
    op->imm = l->instruction->operation;
}

static void barrier(struct emu_lowering *l)
{
    const struct ptx_instruction *in = l->instruction;
    int red = in->opcode == PTX_OP_BAR_RED || in->opcode == PTX_OP_BARRIER_RED;
    int arrive = in->opcode == PTX_OP_BAR_ARRIVE || in->opcode == PTX_OP_BARRIER_ARRIVE;
    unsigned first = red ? 1 : 0;
    int has_count = l->operands[first + 1].kind != PTX_OPERAND_NONE;
    uint32_t number = emu_operand(l, &l->operands[first], 'w');
    uint32_t count = has_count ? emu_operand(l, &l->operands[first + 1], 'w') : 0;
    uint32_t pred = red ? emu_operand(l, &l->operands[3], 'p') : 0;
    struct emu_op *op = emu_push(l, emu_op_bar);
    op->a = number;
    op->b = count;
    op->c = pred;
    op->imm = (arrive ? 0 : EMU_BAR_WAIT) | (has_count ? EMU_BAR_COUNT : 0);
    if (red) {
        op->imm |= in->operation == PTX_MOD_POPC  ? EMU_BAR_POPC
                   : in->operation == PTX_MOD_AND ? EMU_BAR_AND
                                                  : EMU_BAR_OR;
        if (in->mods & PTX_FLAG(POPC))
            op->imm = (op->imm & ~(uint64_t)(EMU_BAR_AND | EMU_BAR_OR)) | EMU_BAR_POPC;
        op->d = op->imm & EMU_BAR_POPC ? emu_register(l, &l->operands[0]) : emu_operand(l, &l->operands[0], 'p');
    }
    op->e = (in->mods & PTX_FLAG(ALIGNED)) != 0;
}

int emu_lower_control(struct emu_lowering *l)
{
    const struct ptx_instruction *in = l->instruction;
    switch (in->opcode) {
    case PTX_OP_BRA:
        jump(l);
        return 1;
    case PTX_OP_BRX_IDX:
        indexed(l);
        return 1;
    case PTX_OP_CALL:
        call(l);
        return 1;
    case PTX_OP_RET:
        emu_push(l, emu_op_ret)->a = l->guard;
        return 1;
    case PTX_OP_EXIT:
        emu_push(l, emu_op_exit)->a = l->guard;
        return 1;
    case PTX_OP_TRAP:
        emu_push(l, emu_op_trap)->a = l->guard;
        return 1;
    default:
        return 0;
    }
}

int emu_lower_warp(struct emu_lowering *l)
{
    const struct ptx_instruction *in = l->instruction;
    struct emu_op *op;
    switch (in->opcode) {
    case PTX_OP_SHFL_SYNC:
        shfl(l);
        return 1;
    case PTX_OP_VOTE_SYNC:
        warp_wide(l, emu_op_vote, in->operation == PTX_MOD_BALLOT ? 'w' : 'p', 'p', 0, 1, 2);
        return 1;
    case PTX_OP_MATCH_ANY:
        warp_wide(l, emu_op_match_any, 'w', in->type[0] == PTX_B64 ? 'l' : 'w', 0, 1, 2);
        return 1;
    case PTX_OP_MATCH_ALL:
        warp_wide(l, emu_op_match_all, 'w', in->type[0] == PTX_B64 ? 'l' : 'w', 1, 2, 3);
        return 1;
    case PTX_OP_REDUX_SYNC:
        warp_wide(l, emu_op_redux, 'w', 'w', 0, 1, 2);
        return 1;
    case PTX_OP_ELECT_SYNC:
        warp_wide(l, emu_op_elect, 'w', 'w', 1, 0, 2);
        return 1;
    case PTX_OP_ACTIVEMASK:
        op = emu_push(l, emu_op_activemask);
        op->d = emu_register(l, &l->operands[0]);
        return 1;
    case PTX_OP_BAR_WARP_SYNC: {
        uint32_t members = members_of(l, &l->operands[0]);
        emu_push(l, emu_op_bar_warp)->e = members;
        return 1;
    }
    case PTX_OP_BAR_SYNC:
    case PTX_OP_BAR_ARRIVE:
    case PTX_OP_BAR_RED:
    case PTX_OP_BARRIER_SYNC:
    case PTX_OP_BARRIER_ARRIVE:
    case PTX_OP_BARRIER_RED:
        barrier(l);
        return 1;
    case PTX_OP_BARRIER_CLUSTER_ARRIVE:
        op = emu_push(l, emu_op_cluster_arrive);
        op->a = in->semantics == PTX_MOD_RELAXED;
        op->e = (in->mods & PTX_FLAG(ALIGNED)) != 0;
        return 1;
    case PTX_OP_BARRIER_CLUSTER_WAIT:
        op = emu_push(l, emu_op_cluster_wait);
        op->e = (in->mods & PTX_FLAG(ALIGNED)) != 0;
        return 1;
    case PTX_OP_SETMAXNREG:
        if (l->operands[0].value < 24 || l->operands[0].value > 256 || l->operands[0].value % 8)
            emu_lower_fail(l, TW_ERROR_INVALID, "a count of registers is 24 to 256, a multiple of 8");
        op = emu_push(l, emu_op_setmaxnreg);
        op->a = (uint32_t)l->operands[0].value;
        op->b = in->operation == PTX_MOD_INC;
        return 1;
    case PTX_OP_MEMBAR:
    case PTX_OP_FENCE:
    case PTX_OP_FENCE_MBARRIER_INIT:
    case PTX_OP_FENCE_PROXY:
        op = emu_push(l, emu_op_fence);
        op->a = in->opcode;
        op->b = in->scope;
        op->c = in->operation;
        op->d = in->space[0];
        return 1;
    case PTX_OP_GRIDDEPCONTROL:
        emu_push(l, emu_op_griddepcontrol)->a = in->operation == PTX_MOD_WAIT;
        return 1;
    case PTX_OP_NANOSLEEP:
        emu_push(l, emu_op_nanosleep);
        return 1;
    default:
        return 0;
    }
}
