/* From a parsed module to operations: variables get their places, functions are lowered when they are first needed. */
#include <stdarg.h>
#include <stdio.h>

#include "emu/alu/alu.h"
#include "emu/exec/machine.h"
#include "emu/exec/memory.h"
#include "emu/hazard/hazard.h"
#include "lowering.h"

enum {
    MOST_LOCAL = 1 << 28,    /* bytes of a thread; a launch has a lower limit, the device's stack_bytes */
    MOST_CONSTANT = 1 << 16, /* bytes: CUDA C++ Programming Guide, technical specifications by compute capability */
    MOST_GLOBAL = 1 << 30    /* bytes that a module may declare */
};

/* ---- Memory of a module ------------------------------------------------------------------------------------------ */

void *emu_extra(struct emu_module *module, size_t bytes)
{
    struct emu_extra *extra = tw_alloc_zeroed(module->device->device.rt, sizeof *extra + bytes);
    if (!extra)
        return NULL;
    extra->next = module->extras;
    module->extras = extra;
    return extra->bytes;
}

/* Room for one constant more. The lanes move when they grow: operations hold offsets, and nothing runs while a module
   is lowered. */
static int constant_room(struct emu_module *module)
{
    struct tw_runtime *rt = module->device->device.rt;
    if (module->constant_bytes + 2 * EMU_SLOT > module->constant_room) {
        uint32_t room = module->constant_room ? 2 * module->constant_room : 64 * EMU_SLOT;
        unsigned char *constants = tw_realloc(rt, module->constants, room);
        if (!constants)
            return 1;
        module->constants = constants;
        module->constant_room = room;
    }
    if (2 * (module->constant_count + 1) > module->constant_slots) {
        uint32_t slots = module->constant_slots ? 2 * module->constant_slots : 256;
        struct emu_constant *index = tw_alloc_zeroed(rt, slots * sizeof *index);
        if (!index)
            return 1;
        for (uint32_t i = 0; i < module->constant_slots; i++) {
            const struct emu_constant *c = &module->constant_index[i];
            uint32_t at = c->hash & (slots - 1);
            while (c->at && index[at].at)
                at = (at + 1) & (slots - 1);
            if (c->at)
                index[at] = *c;
        }
        tw_free(rt, module->constant_index);
        module->constant_index = index;
        module->constant_slots = slots;
    }
    return 0;
}

/* Offset of the lanes, or PTX_NONE. */
static uint32_t constant(struct emu_module *module, uint64_t value, int wide)
{
    uint32_t hash = (uint32_t)((value ^ (value >> 29)) * UINT64_C(0x9e3779b97f4a7c15) >> 32) + (uint32_t)wide;
    if (constant_room(module))
        return PTX_NONE;
    for (uint32_t i = hash;; i++) {
        struct emu_constant *c = &module->constant_index[i & (module->constant_slots - 1)];
        if (c->at && (c->value != value || c->wide != (uint32_t)wide))
            continue;
        if (!c->at) {
            unsigned char *lanes = module->constants + module->constant_bytes;
            for (int k = 0; k < EMU_LANES; k++)
                memcpy(lanes + (wide ? 8 : 4) * k, &value, wide ? 8 : 4);
            *c = (struct emu_constant){value, hash, module->constant_bytes | 1, (uint32_t)wide};
            module->constant_bytes += wide ? 2 * EMU_SLOT : EMU_SLOT;
            module->constant_count++;
        }
        return c->at;
    }
}

uint32_t emu_constant(struct emu_lowering *l, uint64_t value, int wide)
{
    uint32_t at = constant(l->module, wide ? value : (uint32_t)value, wide);
    if (at == PTX_NONE) {
        emu_lower_fail(l, TW_ERROR_MEMORY, "no memory");
        return 1;
    }
    return at;
}

void *emu_lower_extra(struct emu_lowering *l, size_t bytes)
{
    void *memory = emu_extra(l->module, bytes);
    if (!memory)
        emu_lower_fail(l, TW_ERROR_MEMORY, "no memory");
    return memory;
}

struct emu_list *emu_list(struct emu_lowering *l, uint32_t count)
{
    struct emu_list *list = emu_lower_extra(l, sizeof *list + count * sizeof list->at[0]);
    if (list)
        list->count = count;
    return list;
}

const char *emu_lower_fail(struct emu_lowering *l, int status, const char *format, ...)
{
    if (l->status)
        return NULL;
    char text[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    l->status = status;
    if (l->instruction && status != TW_ERROR_MEMORY) {
        char print[300];
        ptx_print(l->ptx, l->function, l->instruction, print, sizeof print);
        tw_fail(l->error, status, "PTX line %u: %s: %s", l->instruction->line, print, text);
    } else {
        tw_fail(l->error, status, "%s", text);
    }
    return NULL;
}

/* ---- Operations -------------------------------------------------------------------------------------------------- */

struct emu_op *emu_push(struct emu_lowering *l, emu_handler run)
{
    struct emu_function *f = l->out;
    if (f->op_count == f->op_room) {
        uint32_t room = f->op_room ? 2 * f->op_room : 32;
        struct emu_op *ops = tw_realloc(l->module->device->device.rt, f->ops, room * sizeof *ops);
        if (!ops) {
            emu_lower_fail(l, TW_ERROR_MEMORY, "no memory");
            return f->op_count ? &f->ops[f->op_count - 1] : &l->spare;
        }
        f->ops = ops;
        f->op_room = room;
    }
    struct emu_op *op = &f->ops[f->op_count++];
    memset(op, 0, sizeof *op);
    op->run = run;
    op->source = l->number;
    return op;
}

static uint32_t temporary(struct emu_lowering *l)
{
    if (l->temps == EMU_TEMPS) {
        emu_lower_fail(l, TW_ERROR_UNSUPPORTED, "too many operands that are no registers");
        return EMU_TEMP;
    }
    return EMU_TEMP + 256 * l->temps++;
}

unsigned emu_register_bits(struct emu_lowering *l, const struct ptx_operand *operand)
{
    return operand->kind == PTX_OPERAND_REGISTER || operand->kind == PTX_OPERAND_ADDRESS
               ? l->function->registers[operand->index].bits
               : 0;
}

uint32_t emu_register(struct emu_lowering *l, const struct ptx_operand *operand)
{
    return operand->kind == PTX_OPERAND_REGISTER ? l->at[operand->index] : EMU_SINK;
}

static uint32_t special(struct emu_lowering *l, const struct ptx_operand *operand, int wide)
{
    l->module->has_reserved |= operand->index == PTX_SR_RESERVED_SMEM_OFFSET_1;
    struct emu_op *op = emu_push(l, emu_op_special);
    op->d = temporary(l);
    op->a = operand->index;
    op->e = wide ? 2 : 0;
    return op->d;
}

/* The address of a variable in its space, into a temporary or as a constant. */
static uint32_t variable(struct emu_lowering *l, const struct ptx_operand *operand, int wide)
{
    const struct ptx_variable *v = &l->ptx->variables[operand->index];
    const struct ptx_function *f = l->function;
    uint64_t value = (uint64_t)operand->value;
    switch (v->space) {
    case PTX_SPACE_SHARED: {
        uint32_t offset = v->unsized ? l->module->dynamic_offset : l->module->shared_offset[operand->index];
        struct emu_op *op = emu_push(l, emu_op_shared_address);
        op->d = temporary(l);
        op->imm = value + EMU_SHARED_START + offset;
        op->e = wide ? 2 : 0;
        return op->d;
    }
    case PTX_SPACE_LOCAL:
    case PTX_SPACE_PARAM: {
        if (v->space == PTX_SPACE_PARAM && f->is_kernel && v->offset < f->param_bytes)
            return emu_constant(l, EMU_PARAM_WINDOW + v->offset + value, wide);
        uint32_t offset = v->space == PTX_SPACE_LOCAL ? l->out->local_offset : 0u - l->out->param_skip;
        uint64_t base = v->space == PTX_SPACE_PARAM ? EMU_LOCAL_WINDOW : 0; /* parameters have generic addresses */
        struct emu_op *op = emu_push(l, emu_op_frame_address);
        op->d = temporary(l);
        op->imm = base + (uint32_t)(offset + (uint32_t)v->offset + (uint32_t)value);
        op->e = wide ? 2 : 0;
        return op->d;
    }
    default: {
        const struct emu_region *region = l->module->variables[operand->index];
        return emu_constant(l, (region ? region->base : 0) + value, wide);
    }
    }
}

uint32_t emu_operand(struct emu_lowering *l, const struct ptx_operand *operand, char letter)
{
    switch (operand->kind) {
    case PTX_OPERAND_REGISTER: {
        unsigned bits = l->function->registers[operand->index].bits;
        if ((letter == 'l') == (bits == 64) && (letter == 'q') == (bits == 128))
            return l->at[operand->index];
        uint32_t from = l->at[operand->index];
        struct emu_op *op = emu_push(l, emu_op_resize);
        op->d = temporary(l);
        op->a = from;
        op->b = bits == 64;
        return op->d;
    }
    case PTX_OPERAND_PREDICATE:
        return 2 * l->at[operand->index] + operand->negated;
    case PTX_OPERAND_IMMEDIATE:
        if (letter == 'p') {
            uint32_t pred = EMU_TEMP_PRED + l->temp_preds++ % 3;
            struct emu_op *op = emu_push(l, emu_op_set_pred);
            op->d = 2 * pred;
            op->imm = operand->value != 0;
            return 2 * pred;
        }
        return emu_constant(l, (uint64_t)operand->value, letter == 'l');
    case PTX_OPERAND_SPECIAL:
        if (letter == 'p') {
            uint32_t pred = EMU_TEMP_PRED + l->temp_preds++ % 3;
            struct emu_op *op = emu_push(l, emu_op_special_pred);
            op->d = 2 * pred;
            return 2 * pred;
        }
        return special(l, operand, letter == 'l');
    case PTX_OPERAND_VARIABLE:
        return variable(l, operand, letter == 'l');
    case PTX_OPERAND_FUNCTION:
        return emu_constant(l, EMU_FUNCTION_START + 16 * (uint64_t)operand->index, letter == 'l');
    default:
        return letter == 'p' ? 2 * EMU_SINK_PRED : EMU_SINK;
    }
}

struct emu_address emu_address(struct emu_lowering *l, const struct ptx_operand *operand, unsigned space)
{
    struct emu_address a = {.wide = 1};
    switch (operand->kind) {
    case PTX_OPERAND_ADDRESS:
        a.at = l->at[operand->index];
        a.wide = l->function->registers[operand->index].bits == 64;
        a.offset = (uint64_t)operand->value;
        break;
    case PTX_OPERAND_ADDRESS_VARIABLE: {
        struct ptx_operand value = *operand;
        value.kind = PTX_OPERAND_VARIABLE;
        value.value = 0;
        a.at = variable(l, &value, 1);
        a.offset = (uint64_t)operand->value;
        (void)space;
        break;
    }
    default:
        a.at = emu_constant(l, (uint64_t)operand->value, 1);
        break;
    }
    return a;
}

/* ---- Arithmetic by tables ---------------------------------------------------------------------------------------- */

int emu_lower_row(struct emu_lowering *l)
{
    const struct ptx_instruction *in = l->instruction;
    const struct emu_row *row = emu_find_row(in);
    if (!row)
        return 0;
    uint32_t at[5] = {0};
    size_t letters = strlen(row->operands);
    for (size_t i = 0; i < letters && i < in->operand_count; i++)
        at[i] = emu_operand(l, &l->operands[i], row->operands[i]);
    uint64_t imm = row->imm;
    emu_handler run = emu_alu()->faster(row->run);
    if (in->opcode == PTX_OP_SETP)
        imm = in->boolean;
    if ((in->opcode == PTX_OP_SHL || in->opcode == PTX_OP_SHR) && l->operands[2].kind == PTX_OPERAND_IMMEDIATE) {
        uint64_t amount = (uint32_t)l->operands[2].value;
        emu_handler by = emu_alu()->shift_by(run, &amount);
        if (by) {
            run = by;
            imm = amount;
        }
    }
    struct emu_op *op = emu_push(l, run);
    op->d = at[0], op->a = at[1], op->b = at[2], op->c = at[3], op->e = at[4];
    op->imm = imm;
    return 1;
}

/* SIMD video instructions. 0: it is none. */
static int lower_video(struct emu_lowering *l)
{
    uint64_t imm;
    emu_handler run = emu_video(l->instruction, &imm);
    if (!run)
        return 0;
    uint32_t at[3];
    for (unsigned k = 0; k < 3; k++)
        at[k] = emu_operand(l, &l->operands[k + 1], 'w');
    struct emu_op *op = emu_push(l, run);
    op->d = emu_register(l, &l->operands[0]);
    op->a = at[0], op->b = at[1], op->c = at[2];
    op->imm = imm;
    return 1;
}

/* ---- Functions --------------------------------------------------------------------------------------------------- */

uint32_t emu_branch_target(struct emu_lowering *l, struct emu_branch *branch)
{
    if (l->branch_count == l->branch_room) {
        uint32_t room = l->branch_room ? 2 * l->branch_room : 64;
        struct emu_branch **branches = tw_realloc(l->module->device->device.rt, l->branches, room * sizeof *branches);
        if (!branches) {
            emu_lower_fail(l, TW_ERROR_MEMORY, "no memory");
            return 0;
        }
        l->branches = branches;
        l->branch_room = room;
    }
    l->branches[l->branch_count++] = branch;
    return l->branch_count;
}

/* The operation that stands for the instruction whose operations begin at first: the last, or the call. */
static void count_instruction(struct emu_lowering *l, uint32_t first)
{
    struct emu_op *ops = l->out->ops;
    uint32_t at = l->out->op_count;
    if (l->status || at == first)
        return;
    while (--at > first && ops[at].run != emu_op_call && ops[at].run != emu_op_builtin)
        continue;
    if (ops[at].run != emu_op_call && ops[at].run != emu_op_builtin)
        at = l->out->op_count - 1;
    ops[at].counts = 1;
}

static void lower_instruction(struct emu_lowering *l, uint32_t number)
{
    const struct ptx_instruction *in = &l->function->instructions[number];
    l->instruction = in;
    l->number = number;
    l->operands = &l->function->operands[in->operands];
    l->temps = l->temp_preds = 0;
    l->op_of[number] = l->out->op_count;
    if (l->flow.is_join[number])
        emu_push(l, emu_op_join);
    l->guard = in->guard == PTX_NONE ? 0 : 2 * l->at[in->guard] + in->guard_negated;
    emu_undefined_before(l);
    uint32_t first = l->out->op_count;
    if (emu_lower_control(l) || l->status) {
        count_instruction(l, first);
        return;
    }
    /* A guard stands directly before what it guards, the last operation: those in front of that write temporaries. */
    uint32_t before = l->out->op_count;
    if (!emu_lower_row(l) && !l->status && !emu_lower_other(l) && !l->status && !emu_lower_warp(l) && !lower_video(l) &&
        !l->status && !emu_lower_tensor(l) && !l->status && !emu_lower_texture(l) && !l->status)
        emu_lower_fail(l, TW_ERROR_UNSUPPORTED, "not supported by the emulator");
    uint32_t after = l->out->op_count;
    count_instruction(l, first);
    if (!l->guard || l->status || after == before)
        return;
    emu_push(l, emu_op_guard);
    if (l->status)
        return;
    struct emu_op *effect = &l->out->ops[after - 1], *guard = &l->out->ops[after];
    struct emu_op swap = *effect;
    *effect = *guard;
    *guard = swap;
    effect->a = l->guard;
    effect->counts = 1;
    guard->counts = 0;
}

static void finish_branches(struct emu_lowering *l)
{
    struct emu_op *ops = l->out->ops;
    for (uint32_t i = 0; i < l->branch_count; i++) {
        struct emu_branch *branch = l->branches[i];
        for (uint32_t k = 0; k < branch->count; k++)
            branch->target[k] = ops + l->op_of[(uintptr_t)branch->target[k]];
        branch->join = branch->join ? ops + l->op_of[(uintptr_t)branch->join - 1] : NULL;
    }
    for (uint32_t i = 0; i < l->out->op_count; i++)
        if (ops[i].run == emu_op_jump)
            ops[i].extra = ops + l->op_of[ops[i].imm];
}

static int lower_body(struct emu_lowering *l)
{
    struct tw_runtime *rt = l->module->device->device.rt;
    const struct ptx_function *f = l->function;
    l->at = tw_alloc_zeroed(rt, (f->register_count + 1u) * sizeof *l->at);
    l->read = tw_alloc_zeroed(rt, f->register_count + 1u);
    l->op_of = tw_alloc_zeroed(rt, (f->instruction_count + 1u) * sizeof *l->op_of);
    if (!l->at || !l->read || !l->op_of) {
        emu_lower_fail(l, TW_ERROR_MEMORY, "no memory");
    } else if (!emu_flow_build(l) && !emu_slots(l) && !emu_undefined_find(l)) {
        emu_push(l, emu_op_nop); /* so that every operation has one before it */
        emu_undefined_begin(l);
        for (uint32_t i = 0; i < f->instruction_count && !l->status; i++)
            lower_instruction(l, i);
        l->instruction = NULL;
        l->op_of[f->instruction_count] = l->out->op_count;
        l->number = PTX_NONE;
        emu_push(l, emu_op_ret);
        if (!l->status && (l->out->went = emu_lower_extra(l, l->out->op_count)))
            finish_branches(l);
        if (!l->status && l->module->has_wgmma && l->module->device->hazard_memory)
            emu_touched(l);
    }
    emu_flow_free(l);
    tw_free(rt, l->at);
    tw_free(rt, l->read);
    tw_free(rt, l->doubt);
    tw_free(rt, l->op_of);
    tw_free(rt, l->branches);
    return l->status;
}

int emu_lower(struct emu_module *module, uint32_t function, struct emu_function **lowered, struct tw_error *error)
{
    const struct ptx_function *f = &module->ptx->functions[function];
    if (f->alias_of != PTX_NONE) {
        function = f->alias_of;
        f = &module->ptx->functions[function];
    }
    *lowered = module->functions[function];
    if (*lowered)
        return TW_OK;
    if (f->refused)
        return tw_fail(error, TW_ERROR_UNSUPPORTED, "%s", f->refused);
    struct emu_function *out = emu_extra(module, sizeof *out);
    if (!out)
        return tw_fail(error, TW_ERROR_MEMORY, "no memory");
    out->ptx = f;
    uint64_t area = f->param_area_bytes;
    if (f->is_kernel) {
        out->param_skip = (uint32_t)f->param_bytes & ~127u;
        area = f->param_area_bytes > f->param_bytes ? f->param_area_bytes - out->param_skip : 0;
    }
    uint64_t align = f->local_align > 16 ? f->local_align : 16;
    if (area + f->local_bytes > MOST_LOCAL)
        return tw_fail(error, TW_ERROR_UNSUPPORTED,
                       "function %s needs %llu bytes of local memory a thread: a GPU has %u, put large arrays into "
                       "global memory",
                       ptx_name(module->ptx, f->name), (unsigned long long)(area + f->local_bytes), 1u << 19);
    out->local_offset = (uint32_t)((area + align - 1) & ~(align - 1));
    out->local_bytes = (uint32_t)((out->local_offset + f->local_bytes + 15) & ~UINT64_C(15));
    out->position = module->positions;
    module->positions += f->instruction_count;
    *lowered = module->functions[function] = out;
    /* Bodies wait in a list: chains of calls may be longer than the stack of this program is deep. */
    *(module->bodies ? &module->bodies_end->next : &module->bodies) = out;
    module->bodies_end = out;
    if (module->lowers)
        return TW_OK;
    module->lowers = 1;
    int status = TW_OK;
    while (module->bodies && !status) {
        struct emu_lowering lowering = {.module = module,
                                        .out = module->bodies,
                                        .ptx = module->ptx,
                                        .function = module->bodies->ptx,
                                        .error = error};
        status = lower_body(&lowering);
        module->bodies = module->bodies->next;
    }
    module->lowers = 0;
    return status;
}

/* ---- Modules ----------------------------------------------------------------------------------------------------- */

/* A short text must not ask for all memory. */
static int check_sizes(const struct ptx_module *ptx, struct tw_error *error)
{
    uint64_t bytes[2] = {0, 0};
    for (uint32_t i = 0; i < ptx->variable_count; i++) {
        const struct ptx_variable *v = &ptx->variables[i];
        int is_constant = v->space == PTX_SPACE_CONST;
        if (v->space != PTX_SPACE_GLOBAL && !is_constant)
            continue;
        bytes[is_constant] += v->bytes; /* each at most PTX_VARIABLE_BYTES, and of a checked sum */
        if (bytes[0] > MOST_GLOBAL)
            return tw_fail(error, TW_ERROR_UNSUPPORTED,
                           "variable %s of %llu bytes: the variables in global memory have %llu bytes up to it, more "
                           "than %u, which the emulator lets a module declare; allocate large memory (cudaMalloc)",
                           ptx_name(ptx, v->name), (unsigned long long)v->bytes, (unsigned long long)bytes[0],
                           MOST_GLOBAL);
        if (bytes[1] > MOST_CONSTANT)
            return tw_fail(error, TW_ERROR_UNSUPPORTED,
                           "variable %s of %llu bytes: the variables in constant memory have %llu bytes up to it, more "
                           "than the %u that a GPU has; put them into global memory",
                           ptx_name(ptx, v->name), (unsigned long long)v->bytes, (unsigned long long)bytes[1],
                           MOST_CONSTANT);
    }
    return TW_OK;
}

static int place_variables(struct emu_module *module, struct tw_error *error)
{
    const struct ptx_module *ptx = module->ptx;
    int wrong = check_sizes(ptx, error);
    if (wrong)
        return wrong;
    for (uint32_t i = 0; i < ptx->variable_count; i++) {
        const struct ptx_variable *v = &ptx->variables[i];
        if (v->space != PTX_SPACE_GLOBAL && v->space != PTX_SPACE_CONST)
            continue;
        int status = emu_region_new(module->device, v->bytes, v->align, &module->variables[i], error);
        if (status)
            return status;
        memset(module->variables[i]->data, 0, v->bytes);
        if (v->initial)
            memcpy(module->variables[i]->data, v->initial, v->initial_bytes);
        if (module->device->hazard_memory)
            emu_hazard_memory_written(module->device->hazard_memory, module->variables[i]->base, v->bytes);
        module->variables[i]->internal = 1;
        module->variables[i]->read_only = v->space == PTX_SPACE_CONST;
    }
    for (uint32_t i = 0; i < ptx->variable_count; i++) {
        const struct ptx_variable *v = &ptx->variables[i];
        for (uint32_t k = 0; module->variables[i] && k < v->relocation_count; k++) {
            const struct ptx_relocation *r = &ptx->relocations[v->relocations + k];
            uint64_t value = (uint64_t)r->addend;
            if (r->function)
                value += EMU_FUNCTION_START + 16 * (uint64_t)r->index;
            else if (module->variables[r->index])
                value += module->variables[r->index]->base;
            else if (ptx->variables[r->index].space == PTX_SPACE_SHARED)
                value += EMU_SHARED_START + module->shared_offset[r->index] + (r->generic ? EMU_SHARED_WINDOW : 0);
            value >>= r->shift;
            memcpy(module->variables[i]->data + r->offset, &value, r->bytes);
        }
    }
    return TW_OK;
}

/* Functions whose address is taken may be called by it. */
static int lower_addressed(struct emu_module *module, struct tw_error *error)
{
    const struct ptx_module *ptx = module->ptx;
    struct emu_function *ignored;
    for (uint32_t i = 0; i < ptx->relocation_count; i++) {
        uint32_t index = ptx->relocations[i].index;
        if (ptx->relocations[i].function && ptx->functions[index].has_body && !ptx->functions[index].is_kernel &&
            !ptx->functions[index].refused) {
            int status = emu_lower(module, index, &ignored, error);
            if (status)
                return status;
        }
    }
    return TW_OK;
}

/* Makes a module whose ptx is there ready for its kernel. */
static int prepare(struct emu_module *module, const char *entry, struct tw_error *error)
{
    struct tw_runtime *rt = module->device->device.rt;
    const struct ptx_module *ptx = module->ptx;
    module->functions = tw_alloc_zeroed(rt, (ptx->function_count + 1u) * sizeof *module->functions);
    module->shared_offset = tw_alloc_zeroed(rt, (ptx->variable_count + 1u) * sizeof *module->shared_offset);
    if (module->image)
        module->variables = module->image->variables;
    else
        module->variables = tw_alloc_zeroed(rt, (ptx->variable_count + 1u) * sizeof *module->variables);
    if (!module->functions || !module->variables || !module->shared_offset)
        return tw_fail(error, TW_ERROR_MEMORY, "no memory");
    for (uint32_t i = 0; i < ptx->function_count; i++)
        for (uint32_t k = 0; k < ptx->functions[i].instruction_count; k++)
            module->has_wgmma |= ptx_is_wgmma(&ptx->functions[i].instructions[k]) ||
                                 ptx->functions[i].instructions[k].opcode == PTX_OP_TCGEN05_LD;
    int status = emu_place_shared(module, entry, error);
    if (!status && !module->image)
        status = place_variables(module, error);
    /* An image runs nothing itself. */
    return status || !*entry ? status : lower_addressed(module, error);
}

int emu_module_load(struct emu_device *device, const char *text, size_t length, const char *entry,
                    struct emu_module **out, struct tw_error *error)
{
    struct tw_runtime *rt = device->device.rt;
    struct emu_module *module = tw_alloc_zeroed(rt, sizeof *module);
    *out = NULL;
    if (!module)
        return tw_fail(error, TW_ERROR_MEMORY, "no memory");
    module->device = device;
    int status = ptx_parse(&rt->memory, text, length, &module->ptx, error);
    if (!status)
        status = prepare(module, entry, error);
    if (status)
        emu_module_free(module);
    else
        *out = module;
    return status;
}

int emu_module_of(const struct emu_module *image, const char *entry, struct emu_module **out, struct tw_error *error)
{
    struct emu_module *module = tw_alloc_zeroed(image->device->device.rt, sizeof *module);
    *out = NULL;
    if (!module)
        return tw_fail(error, TW_ERROR_MEMORY, "no memory");
    module->device = image->device;
    module->image = image;
    module->ptx = image->ptx;
    int status = prepare(module, entry, error);
    if (status)
        emu_module_free(module);
    else
        *out = module;
    return status;
}

void emu_module_free(struct emu_module *module)
{
    if (!module)
        return;
    struct tw_runtime *rt = module->device->device.rt;
    if (module->ptx) {
        for (uint32_t i = 0; module->functions && i < module->ptx->function_count; i++)
            if (module->functions[i])
                tw_free(rt, module->functions[i]->ops);
        for (uint32_t i = module->variables && !module->image ? module->ptx->variable_count : 0; i-- > 0;)
            emu_region_free(module->device, module->variables[i]);
    }
    while (module->extras) {
        struct emu_extra *next = module->extras->next;
        tw_free(rt, module->extras);
        module->extras = next;
    }
    tw_free(rt, module->functions);
    if (!module->image)
        tw_free(rt, module->variables);
    tw_free(rt, module->shared_offset);
    tw_free(rt, module->gaps);
    tw_free(rt, module->constant_index);
    tw_free(rt, module->constants);
    if (!module->image)
        ptx_free(module->ptx);
    tw_free(rt, module);
}
