/* Control flow of a function, the joins of its branches, and which registers may share a slot. */
#include "lowering.h"

static int ends_block(const struct ptx_instruction *i)
{
    return i->opcode == PTX_OP_BRA || i->opcode == PTX_OP_BRX_IDX || i->opcode == PTX_OP_RET ||
           i->opcode == PTX_OP_EXIT || i->opcode == PTX_OP_TRAP;
}

static void *room(struct emu_lowering *l, size_t count, size_t size)
{
    void *memory = tw_alloc_zeroed(l->module->device->device.rt, (count ? count : 1) * size);
    if (!memory)
        emu_lower_fail(l, TW_ERROR_MEMORY, "no memory");
    return memory;
}

void emu_flow_free(struct emu_lowering *l)
{
    struct tw_runtime *rt = l->module->device->device.rt;
    tw_free(rt, l->flow.block_of);
    tw_free(rt, l->flow.first);
    tw_free(rt, l->flow.join);
    tw_free(rt, l->flow.edges);
    tw_free(rt, l->flow.edge_start);
    tw_free(rt, l->flow.is_join);
}

static uint32_t block_at(const struct emu_lowering *l, uint64_t instruction)
{
    return instruction < l->function->instruction_count ? l->flow.block_of[instruction] : PTX_NONE;
}

/* Successors of a block into `to` (PTX_NONE: the return); their number. */
static uint32_t successors(struct emu_lowering *l, uint32_t block, int exit_returns, uint32_t *to, uint32_t most)
{
    const struct ptx_function *f = l->function;
    const struct ptx_instruction *last = &f->instructions[l->flow.first[block + 1] - 1];
    const struct ptx_operand *operands = &f->operands[last->operands];
    uint32_t count = 0, next = block_at(l, l->flow.first[block + 1]);
    int falls = 1;
    switch (last->opcode) {
    case PTX_OP_BRA:
        to[count++] = block_at(l, (uint64_t)operands[0].value);
        falls = last->guard != PTX_NONE;
        break;
    case PTX_OP_BRX_IDX:
        for (uint32_t i = 0; i < operands[1].count && count < most; i++)
            to[count++] = block_at(l, (uint64_t)f->operands[operands[1].index + i].value);
        falls = last->guard != PTX_NONE;
        break;
    case PTX_OP_RET:
        to[count++] = PTX_NONE;
        falls = last->guard != PTX_NONE;
        break;
    case PTX_OP_EXIT:
        falls = last->guard != PTX_NONE;
        if (!falls && exit_returns)
            to[count++] = PTX_NONE;
        break;
    case PTX_OP_TRAP:
        falls = last->guard != PTX_NONE;
        break;
    default:
        break;
    }
    if (falls && count < most)
        to[count++] = next;
    return count;
}

/* Immediate post-dominators: of the blocks from which the return can be reached, by the algorithm of Cooper, Harvey and
   Kennedy on the reversed graph. */
static void post_dominators(struct emu_lowering *l, uint32_t *order, uint32_t *rank, uint32_t *stack, uint32_t *preds,
                            uint32_t *pred_start)
{
    struct emu_flow *flow = &l->flow;
    uint32_t n = flow->block_count, exit = n; /* the virtual block behind every return */
    memset(pred_start, 0, (n + 2) * sizeof *pred_start);
    for (uint32_t i = 0; i < flow->edge_start[n]; i++)
        pred_start[(flow->edges[i] == PTX_NONE ? exit : flow->edges[i]) + 1]++;
    for (uint32_t i = 0; i <= n; i++)
        pred_start[i + 1] += pred_start[i];
    for (uint32_t b = 0; b < n; b++) {
        for (uint32_t i = flow->edge_start[b]; i < flow->edge_start[b + 1]; i++) {
            uint32_t to = flow->edges[i] == PTX_NONE ? exit : flow->edges[i];
            preds[--pred_start[to + 1]] = b;
        }
    }
    /* pred_start[k + 1] is now where block k's predecessors begin */
    uint32_t total = flow->edge_start[n], count = 0, depth = 0;
    for (uint32_t i = 0; i <= n; i++)
        rank[i] = PTX_NONE;
    /* Post-order of the reversed graph from exit; rank doubles as the mark, stack holds block and position. */
    uint32_t *position = order + n + 1;
    memset(position, 0, (n + 1) * sizeof *position);
    stack[depth++] = exit;
    rank[exit] = 0;
    while (depth) {
        uint32_t b = stack[depth - 1];
        uint32_t begin = pred_start[b + 1], end = b == exit ? total : pred_start[b + 2];
        if (begin + position[b] < end) {
            uint32_t p = preds[begin + position[b]++];
            if (rank[p] == PTX_NONE) {
                rank[p] = 0;
                stack[depth++] = p;
            }
        } else {
            depth--;
            order[count] = b;
            rank[b] = count++;
        }
    }
    uint32_t *idom = stack; /* no longer needed as a stack */
    for (uint32_t i = 0; i <= n; i++)
        idom[i] = PTX_NONE;
    idom[exit] = exit;
    for (int changed = 1; changed;) {
        changed = 0;
        for (uint32_t i = count; i-- > 0;) {
            uint32_t b = order[i];
            if (b == exit)
                continue;
            uint32_t best = PTX_NONE;
            for (uint32_t e = flow->edge_start[b]; e < flow->edge_start[b + 1]; e++) {
                uint32_t s = flow->edges[e] == PTX_NONE ? exit : flow->edges[e];
                if (idom[s] == PTX_NONE)
                    continue;
                if (best == PTX_NONE) {
                    best = s;
                    continue;
                }
                uint32_t p = best, q = s;
                while (p != q) {
                    while (rank[p] < rank[q])
                        p = idom[p];
                    while (rank[q] < rank[p])
                        q = idom[q];
                }
                best = p;
            }
            if (idom[b] != best) {
                idom[b] = best;
                changed = 1;
            }
        }
    }
    for (uint32_t b = 0; b < n; b++)
        flow->join[b] = idom[b] == PTX_NONE || idom[b] == exit ? PTX_NONE : idom[b];
}

int emu_flow_build(struct emu_lowering *l)
{
    const struct ptx_function *f = l->function;
    struct emu_flow *flow = &l->flow;
    uint32_t n = f->instruction_count;
    struct tw_runtime *rt = l->module->device->device.rt;
    flow->block_of = room(l, n + 1, sizeof *flow->block_of);
    flow->is_join = room(l, n + 1, 1);
    uint8_t *leader = room(l, n + 1, 1);
    if (l->status)
        goto done;
    leader[0] = 1;
    int has_return = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct ptx_instruction *in = &f->instructions[i];
        const struct ptx_operand *operands = &f->operands[in->operands];
        has_return |= in->opcode == PTX_OP_RET;
        if (!ends_block(in))
            continue;
        leader[i + 1] = 1;
        if (in->opcode == PTX_OP_BRA)
            leader[operands[0].value] = 1;
        if (in->opcode == PTX_OP_BRX_IDX)
            for (uint32_t k = 0; k < operands[1].count; k++)
                leader[f->operands[operands[1].index + k].value] = 1;
    }
    for (uint32_t i = 0; i < n; i++) {
        flow->block_count += leader[i];
        flow->block_of[i] = flow->block_count - 1;
    }
    uint32_t blocks = flow->block_count, edges = 0;
    flow->first = room(l, blocks + 1, sizeof *flow->first);
    flow->join = room(l, blocks, sizeof *flow->join);
    flow->edge_start = room(l, blocks + 1, sizeof *flow->edge_start);
    if (l->status)
        goto done;
    for (uint32_t i = n; i-- > 0;)
        flow->first[flow->block_of[i]] = i;
    flow->first[blocks] = n;
    for (uint32_t b = 0; b < blocks; b++) {
        const struct ptx_instruction *last = &f->instructions[flow->first[b + 1] - 1];
        edges += last->opcode == PTX_OP_BRX_IDX ? f->operands[last->operands + 1].count + 1u : 2;
    }
    flow->edges = room(l, edges, sizeof *flow->edges);
    uint32_t *work = room(l, 6 * ((size_t)blocks + 2) + edges, sizeof *work);
    if (!l->status) {
        for (uint32_t b = 0; b < blocks; b++)
            flow->edge_start[b + 1] =
                flow->edge_start[b] +
                successors(l, b, !has_return, &flow->edges[flow->edge_start[b]], edges - flow->edge_start[b]);
        uint32_t s = blocks + 2;
        post_dominators(l, work, work + 2 * s, work + 3 * s, work + 5 * s, work + 4 * s);
        for (uint32_t b = 0; b < blocks; b++) {
            const struct ptx_instruction *last = &f->instructions[flow->first[b + 1] - 1];
            int parts = last->opcode == PTX_OP_BRX_IDX || (last->opcode == PTX_OP_BRA && last->guard != PTX_NONE);
            if (parts && flow->join[b] != PTX_NONE)
                flow->is_join[flow->first[flow->join[b]]] = 1;
        }
    }
    tw_free(rt, work);
done:
    tw_free(rt, leader);
    return l->status;
}

/* ---- Slots ------------------------------------------------------------------------------------------------------- */

/* Calls visit for each register of an operand. */
static void each_register(struct emu_lowering *l, const struct ptx_operand *operand, int written,
                          void (*visit)(struct emu_lowering *, void *, uint32_t, int), void *context)
{
    switch (operand->kind) {
    case PTX_OPERAND_REGISTER:
    case PTX_OPERAND_PREDICATE:
        visit(l, context, operand->index, written);
        break;
    case PTX_OPERAND_ADDRESS:
        visit(l, context, operand->index, 0);
        break;
    case PTX_OPERAND_VECTOR:
    case PTX_OPERAND_TENSOR:
        for (uint32_t i = 0; i < operand->count; i++)
            each_register(l, &l->function->operands[operand->index + i], written, visit, context);
        break;
    default:
        break;
    }
}

void emu_each_register(struct emu_lowering *l, uint32_t number,
                       void (*visit)(struct emu_lowering *, void *, uint32_t, int), void *context, int written)
{
    const struct ptx_instruction *in = &l->function->instructions[number];
    uint32_t dest = ptx_written(in);
    int both = ptx_is_wgmma(in);
    for (uint32_t i = 0; i < in->operand_count; i++) {
        int is_dest = i < 2 && (dest >> i & 1);
        if (is_dest == written || (both && i == 0))
            each_register(l, &l->function->operands[in->operands + i], written, visit, context);
    }
    if (!written && in->guard != PTX_NONE)
        visit(l, context, in->guard, 0);
}

struct spans {
    uint32_t *begin, *end;    /* register -> instructions between which it lives; begin PTX_NONE: never used */
    uint64_t *use, *def, *in; /* bits of registers, by block */
    uint32_t words;           /* of a block's bits */
    uint32_t number, block;   /* at hand */
    int kills;                /* the instruction at hand has no guard: what it writes is dead before */
};

static void stretch(struct emu_lowering *l, void *context, uint32_t reg, int written)
{
    struct spans *s = context;
    l->read[reg] |= !written;
    if (s->begin[reg] == PTX_NONE)
        s->begin[reg] = s->end[reg] = s->number;
    if (s->number > s->end[reg])
        s->end[reg] = s->number;
}

static void note(struct emu_lowering *l, void *context, uint32_t reg, int written)
{
    struct spans *s = context;
    (void)l;
    uint64_t bit = UINT64_C(1) << (reg % 64);
    uint64_t *use = s->use + (size_t)s->block * s->words, *def = s->def + (size_t)s->block * s->words;
    if (written) {
        if (s->kills)
            def[reg / 64] |= bit;
    } else if (!(def[reg / 64] & bit)) {
        use[reg / 64] |= bit;
    }
}

static void keep_always(struct emu_lowering *l, void *context, uint32_t reg, int written)
{
    struct spans *s = context;
    (void)written;
    s->begin[reg] = 0;
    s->end[reg] = l->function->instruction_count;
}

/* Registers whose value crosses the border of a block live there too. */
static int liveness(struct emu_lowering *l, struct spans *s)
{
    const struct ptx_function *f = l->function;
    struct emu_flow *flow = &l->flow;
    uint32_t blocks = flow->block_count, count = f->register_count;
    struct tw_runtime *rt = l->module->device->device.rt;
    s->words = (count + 63) / 64;
    size_t size = (size_t)blocks * s->words;
    uint64_t *bits = room(l, 3 * size + s->words, sizeof *bits);
    if (!bits)
        return l->status;
    s->use = bits;
    s->def = bits + size;
    s->in = bits + 2 * size;
    for (uint32_t b = 0; b < blocks; b++) {
        s->block = b;
        for (uint32_t i = flow->first[b]; i < flow->first[b + 1]; i++) {
            s->kills = f->instructions[i].guard == PTX_NONE;
            emu_each_register(l, i, note, s, 0);
            emu_each_register(l, i, note, s, 1);
        }
    }
    for (int changed = 1; changed;) {
        changed = 0;
        for (uint32_t b = blocks; b-- > 0;) {
            uint64_t *in = s->in + (size_t)b * s->words;
            for (uint32_t w = 0; w < s->words; w++) {
                uint64_t out = 0;
                for (uint32_t e = flow->edge_start[b]; e < flow->edge_start[b + 1]; e++)
                    if (flow->edges[e] != PTX_NONE)
                        out |= s->in[(size_t)flow->edges[e] * s->words + w];
                uint64_t now = s->use[(size_t)b * s->words + w] | (out & ~s->def[(size_t)b * s->words + w]);
                changed |= now != in[w];
                in[w] = now;
            }
        }
    }
    for (uint32_t b = 0; b < blocks; b++) {
        uint32_t first = flow->first[b], last = flow->first[b + 1] - 1;
        for (uint32_t w = 0; w < s->words; w++) {
            uint64_t in = s->in[(size_t)b * s->words + w], out = 0;
            for (uint32_t e = flow->edge_start[b]; e < flow->edge_start[b + 1]; e++)
                if (flow->edges[e] != PTX_NONE)
                    out |= s->in[(size_t)flow->edges[e] * s->words + w];
            for (uint64_t m = in; m; m &= m - 1) {
                uint32_t r = w * 64 + (uint32_t)__builtin_ctzll(m);
                if (s->begin[r] > first)
                    s->begin[r] = first;
            }
            for (uint64_t m = out; m; m &= m - 1) {
                uint32_t r = w * 64 + (uint32_t)__builtin_ctzll(m);
                if (s->end[r] < last)
                    s->end[r] = last;
            }
        }
    }
    tw_free(rt, bits);
    return l->status;
}

static unsigned slot_class(unsigned bits)
{
    return bits == 1 ? 0 : bits <= 32 ? 1 : bits == 64 ? 2 : 3;
}

/* One slot after another in the order of instructions; those whose register is dead are taken again. */
static void assign(struct emu_lowering *l, const struct spans *s, uint32_t *next_begin, uint32_t *next_end,
                   uint32_t *begins, uint32_t *ends, uint32_t *free_slots)
{
    const struct ptx_function *f = l->function;
    uint32_t n = f->instruction_count + 1, count = f->register_count;
    uint32_t top = EMU_FIRST_SLOT, preds = EMU_FIRST_PRED, live = 0, most = 0;
    static const uint32_t sizes[4] = {0, EMU_SLOT, 2 * EMU_SLOT, 4 * EMU_SLOT};
    uint32_t free_count[4] = {0};
    for (uint32_t i = 0; i < n; i++)
        begins[i] = ends[i] = PTX_NONE;
    for (uint32_t r = count; r-- > 0;) {
        if (s->begin[r] == PTX_NONE)
            continue;
        next_begin[r] = begins[s->begin[r]];
        begins[s->begin[r]] = r;
        next_end[r] = ends[s->end[r]];
        ends[s->end[r]] = r;
    }
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t r = begins[i]; r != PTX_NONE; r = next_begin[r]) {
            unsigned class = slot_class(f->registers[r].bits);
            live += class ? 1u << (class - 1) : 0;
            if (free_count[class]) {
                l->at[r] = free_slots[class * (size_t)count + --free_count[class]];
            } else if (class) {
                l->at[r] = top;
                top += sizes[class];
            } else {
                l->at[r] = preds++;
            }
        }
        most = live > most ? live : most;
        for (uint32_t r = ends[i]; r != PTX_NONE; r = next_end[r]) {
            unsigned class = slot_class(f->registers[r].bits);
            live -= class ? 1u << (class - 1) : 0;
            free_slots[class * (size_t)count + free_count[class]++] = l->at[r];
        }
    }
    l->out->frame_bytes = top;
    l->out->frame_preds = preds;
    l->out->registers = most + 8;
}

int emu_slots(struct emu_lowering *l)
{
    const struct ptx_function *f = l->function;
    struct tw_runtime *rt = l->module->device->device.rt;
    uint32_t count = f->register_count, n = f->instruction_count + 1;
    uint32_t *work = room(l, 8 * (size_t)count + 2 * (size_t)n, sizeof *work);
    if (!work)
        return l->status;
    struct spans s = {.begin = work, .end = work + count};
    for (uint32_t r = 0; r < count; r++)
        s.begin[r] = PTX_NONE;
    for (uint32_t b = 0; b < l->flow.block_count; b++) {
        s.block = b;
        for (uint32_t i = l->flow.first[b]; i < l->flow.first[b + 1]; i++) {
            s.number = i;
            emu_each_register(l, i, stretch, &s, 0);
            emu_each_register(l, i, stretch, &s, 1);
        }
    }
    if (!liveness(l, &s)) {
        /* What a wgmma works on, or a tcgen05.ld writes, stays where it is until somebody has waited: it gets a slot
           for itself. */
        for (uint32_t i = 0; i < f->instruction_count; i++) {
            const struct ptx_instruction *in = &f->instructions[i];
            if (in->opcode == PTX_OP_TCGEN05_LD)
                each_register(l, &f->operands[in->operands], 1, keep_always, &s);
            if (ptx_is_wgmma(in)) {
                each_register(l, &f->operands[in->operands], 1, keep_always, &s);
                if (f->operands[in->operands + 1].kind == PTX_OPERAND_VECTOR)
                    each_register(l, &f->operands[in->operands + 1], 0, keep_always, &s);
            }
        }
        for (uint32_t i = 0; i < f->param_count; i++) /* parameters in registers hold their value from the start */
            if (f->params[i].reg != PTX_NONE && s.begin[f->params[i].reg] != PTX_NONE)
                s.begin[f->params[i].reg] = 0;
        for (uint32_t i = 0; i < f->return_count; i++)
            if (f->returns[i].reg != PTX_NONE && s.begin[f->returns[i].reg] != PTX_NONE)
                s.end[f->returns[i].reg] = f->instruction_count;
        assign(l, &s, work + 2 * count, work + 3 * count, work + 8 * count, work + 8 * count + n, work + 4 * count);
    }
    tw_free(rt, work);
    return l->status;
}

/* ---- Registers by instruction ------------------------------------------------------------------------------------ */

struct touches {
    uint32_t *to; /* NULL: only count */
    uint32_t count;
};

static void touch(struct emu_lowering *l, void *context, uint32_t reg, int written)
{
    struct touches *t = context;
    unsigned bits = l->function->registers[reg].bits;
    if (bits != 32 && bits != 16)
        return;
    if (t->to)
        t->to[t->count] = l->at[reg] + (written ? 1 : 0);
    t->count++;
}

void emu_touched(struct emu_lowering *l)
{
    uint32_t n = l->function->instruction_count;
    uint32_t *start = emu_lower_extra(l, (n + 1u) * sizeof *start);
    struct touches t = {NULL, 0};
    for (int pass = 0; start && pass < 2; pass++) {
        t.count = 0;
        for (uint32_t i = 0; i < n; i++) {
            start[i] = t.count;
            if (ptx_is_wgmma(&l->function->instructions[i]))
                continue;
            emu_each_register(l, i, touch, &t, 0);
            emu_each_register(l, i, touch, &t, 1);
        }
        start[n] = t.count;
        if (!pass && !(t.to = emu_lower_extra(l, (t.count + 1u) * sizeof *t.to)))
            return;
    }
    l->out->touch_start = start;
    l->out->touch = t.to;
}
