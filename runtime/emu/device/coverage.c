#include "emu/coverage.h"
#include "emu/exec/operations.h"

/* Of an operation. */
enum { REACHED = 1, LIVES = 2 /* the end of the function can come behind it */ };

/* Calls f(context, next) for the operations that may follow, as far as anybody can tell before it runs. */
static void each_next(const struct emu_op *op, void (*f)(void *context, const struct emu_op *next), void *context)
{
    if (op->run == emu_op_jump) {
        f(context, op->extra);
    } else if (op->run == emu_op_bra || op->run == emu_op_brx) {
        const struct emu_branch *branch = op->extra;
        for (uint32_t i = 0; i < branch->count; i++)
            f(context, branch->target[i]);
        if (op->run == emu_op_bra)
            f(context, op + 1);
    } else if (op->run == emu_op_ret || op->run == emu_op_exit || op->run == emu_op_trap) {
        if (op->a)
            f(context, op + 1);
    } else {
        f(context, op + 1);
        if (op->run == emu_op_guard)
            f(context, op + 2);
    }
}

struct walk {
    const struct emu_function *function;
    uint8_t *state;  /* by operation */
    uint32_t *stack; /* operations whose followers are still to be looked at */
    uint32_t depth;
    int lives;
};

static void reach(struct walk *w, const struct emu_op *op)
{
    uint32_t at = (uint32_t)(op - w->function->ops);
    if (w->state[at] & REACHED)
        return;
    w->state[at] |= REACHED;
    w->stack[w->depth++] = at;
}

/* Everything that was executed: from where calls, launches and indexed branches came in along the ways that were
   gone. */
static void find_reached(struct walk *w)
{
    const struct emu_function *f = w->function;
    for (uint32_t i = 0; i < f->op_count; i++)
        if (f->went[i] & EMU_WENT_HERE)
            reach(w, &f->ops[i]);
    while (w->depth) {
        const struct emu_op *op = &f->ops[w->stack[--w->depth]];
        uint8_t went = f->went[op - f->ops];
        if (op->run == emu_op_jump) {
            reach(w, op->extra);
        } else if (op->run == emu_op_bra || op->run == emu_op_ret || op->run == emu_op_exit || op->run == emu_op_trap) {
            if (op->run == emu_op_bra && went & EMU_WENT_AWAY)
                reach(w, ((const struct emu_branch *)op->extra)->target[0]);
            if (went & EMU_WENT_ON)
                reach(w, op + 1);
        } else if (op->run == emu_op_guard) {
            if (went & EMU_WENT_AWAY)
                reach(w, op + 1);
            reach(w, op + 2);
        } else if (op->run != emu_op_brx) {
            reach(w, op + 1);
        }
    }
}

static int is_fatal(const struct emu_op *op)
{
    const struct emu_call *call = op->extra;
    if (op->run == emu_op_trap)
        return !op->a;
    if (op->run == emu_op_builtin)
        return call->builtin->noreturn || strcmp(ptx_name(call->module->ptx, call->builtin->name), "__assertfail") == 0;
    return op->run == emu_op_call && call->function && call->function->ptx->noreturn;
}

static void add_life(void *context, const struct emu_op *next)
{
    struct walk *w = context;
    w->lives |= w->state[next - w->function->ops] & LIVES;
}

/* Backwards from the ends of the function, until nothing changes. */
static void find_lives(struct walk *w)
{
    const struct emu_function *f = w->function;
    for (int changed = 1; changed;) {
        changed = 0;
        for (uint32_t i = f->op_count; i-- > 0;) {
            const struct emu_op *op = &f->ops[i];
            if (w->state[i] & LIVES || is_fatal(op))
                continue;
            w->lives = op->run == emu_op_ret || op->run == emu_op_exit;
            if (!w->lives)
                each_next(op, add_life, w);
            if (w->lives) {
                w->state[i] |= LIVES;
                changed = 1;
            }
        }
    }
}

static void set_places(const struct ptx_module *ptx, uint32_t location, struct emu_covered *c)
{
    for (; location != PTX_NONE; location = ptx->locations[location].inlined_at) {
        if (!ptx->locations[location].line)
            continue;
        int at = c->place_count < EMU_COVERED_PLACES ? c->place_count++ : EMU_COVERED_PLACES - 1;
        c->place[at] = (struct emu_covered_place){ptx_location_path(ptx, location), ptx->locations[location].line};
    }
}

static void tell_function(const struct walk *w, const struct ptx_module *ptx,
                          void (*tell)(void *context, const struct emu_covered *covered), void *context)
{
    const struct emu_function *f = w->function;
    for (uint32_t i = 0; i < f->op_count; i++) {
        const struct emu_op *op = &f->ops[i];
        /* The last operation of an instruction is what it does; those before it prepare. */
        if (op->source >= f->ptx->instruction_count || (i + 1 < f->op_count && op[1].source == op->source))
            continue;
        const struct ptx_instruction *in = &f->ptx->instructions[op->source];
        const struct emu_branch *branch = op->extra;
        struct emu_covered c = {.ptx_line = in->line, .ran = w->state[i] & REACHED, .doomed = !(w->state[i] & LIVES)};
        if (op->run == emu_op_bra) {
            c.chooses = w->state[branch->target[0] - f->ops] & w->state[i + 1] & LIVES ? 1 : 0;
            c.away = (f->went[i] & EMU_WENT_AWAY) != 0;
            c.on = (f->went[i] & EMU_WENT_ON) != 0;
            c.closes = branch->target[0] <= op;
            c.repeated = c.closes && c.away;
        } else if (op->run == emu_op_jump) {
            c.closes = (const struct emu_op *)op->extra <= op;
            c.repeated = c.closes && c.ran;
        }
        set_places(ptx, in->location, &c);
        tell(context, &c);
    }
}

int emu_kernel_coverage(const struct tw_kernel *kernel, void (*tell)(void *context, const struct emu_covered *covered),
                        void *context)
{
    const struct emu_module *module = ((const struct emu_kernel *)(const void *)kernel)->module;
    struct tw_runtime *rt = kernel->device->rt;
    for (uint32_t i = 0; i < module->ptx->function_count; i++) {
        const struct emu_function *f = module->functions[i];
        if (!f || !f->op_count)
            continue;
        struct walk w = {
            .function = f,
            .state = tw_alloc_zeroed(rt, f->op_count + 2u), /* followers of the last ones */
            .stack = tw_alloc(rt, sizeof *w.stack * f->op_count),
        };
        if (w.state && w.stack) {
            find_reached(&w);
            find_lives(&w);
            tell_function(&w, module->ptx, tell, context);
        }
        tw_free(rt, w.state);
        tw_free(rt, w.stack);
        if (!w.state || !w.stack)
            return TW_ERROR_MEMORY;
    }
    return TW_OK;
}
