/* Programs without dots: the operations in their order, as steps of one role whose threads hold tiles in registers. */
#include "lower/direct/direct.h"

#include <stdio.h>
#include <string.h>

#include "lower/family.h"

static bool takes(const struct spec_kernel *kernel, const struct program *program, const struct arch *arch)
{
    (void)kernel;
    (void)arch;
    return !program_holds(program, PROGRAM_DOT);
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

static int lower_op(struct direct *d, int i)
{
    switch (d->program->op[i].kind) {
    case PROGRAM_LOAD:
        if (d->program->op[i].window.dims)
            return program_refuse(d->l, d->program->op[i].loc, "PROGRAM-LOWER",
                                  "im2col is an operand of dots, and this program has none; write load");
        program_comes(d->l, &d->program->op[i], "direct");
        return d->op[i].place ? 0 : direct_load(d, i); /* kept from an earlier loop */
    case PROGRAM_GATHER:
        program_comes(d->l, &d->program->op[i], "direct");
        return direct_load(d, i);
    case PROGRAM_STORE:
    case PROGRAM_STORE_ADD:
    case PROGRAM_SCATTER_ADD:
        return direct_store(d, i);
    case PROGRAM_REDUCE:
        return direct_reduce(d, i);
    case PROGRAM_TRANSPOSE:
        return direct_transpose(d, i);
    case PROGRAM_PICK:
        return direct_pick(d, i);
    case PROGRAM_RANK:
        return direct_rank(d, i);
    case PROGRAM_SEGMENT:
        return direct_segment(d, i);
    case PROGRAM_STAGE:
    case PROGRAM_PARAM:
    case PROGRAM_RESULT:
        return 0;
    default:
        return program_refuse(d->l, d->program->op[i].loc, "PROGRAM-LOWER",
                              "%s is not lowered in programs without dots; write it with load, gather and store",
                              program_kinds[d->program->op[i].kind].name);
    }
}

int direct_lower_body(struct direct *d, int first, int end)
{
    int status = 0;
    for (int i = first; i < end && !status; i++) {
        if (d->program->op[i].kind == PROGRAM_LOOP) {
            status = direct_lower_loop(d, i);
            i = d->program->op[i].end;
        } else {
            status = lower_op(d, i);
        }
    }
    return status;
}

/* Items along each axis, and blocks: one an item, or as many as are resident at once. */
static int decide_items(struct direct *d)
{
    struct plan *p = d->plan;
    const struct program *from = d->program;
    int blocks = expr_int(&p->graph, 1), count = 0;
    p->item = plan_alloc(p, sizeof *p->item * SPEC_MAX_AXES);
    if (!p->item || blocks < 0)
        return 3;
    for (int a = 0; a < from->axis_count && a < SPEC_MAX_AXES; a++) {
        int tile = from->axis[a].tile ? from->axis[a].tile : 1;
        if (from->axis[a].extent < 0)
            continue;
        int size = expr_int(&p->graph, tile), extent = expr_import(&p->graph, from->graph, from->axis[a].extent);
        extent = expr_from_zero(&p->graph, extent);
        int fused = direct_value(d, from->axis[a].extent);
        int tiles = size < 0 || extent < 0 || fused < 0 ? -1 : expr_ceil_div(&p->graph, extent, size);
        blocks = tiles < 0 ? -1 : expr_binary(&p->graph, EXPR_MUL, blocks, tiles);
        int each = tiles < 0 ? -1 : expr_ceil_div(&p->fused, fused, expr_int(&p->fused, tile));
        if (blocks < 0 || each < 0)
            return 3;
        p->item[count++] = (struct plan_item){.axis = a, .tile = tile, .extent = each, .counted = true};
    }
    p->item_count = count;
    p->launch.grid[0] = blocks;
    const struct spec_value *asked = program_field(d->l, FIELD_PERSISTENT);
    d->persistent = asked->set && asked->integer;
    return family_reason(p, "schedule.persistent", d->persistent ? "true" : "false", "%s",
                         asked->set ? spec_reason(asked)
                                    : "a block that begins hides the end of the block before it on the same "
                                      "multiprocessor");
}

/* All steps within a loop over the items that the block takes. */
static int lower_items(struct direct *d)
{
    struct plan_step loop = {.op = PLAN_LOOP, .ring = -1, .tensor = -1, .call = "items"};
    loop.why = "a resident block takes every item that is as many blocks behind its last";
    int status = d->persistent ? direct_add_step(d, loop) : 0;
    status = status ? status : direct_lower_body(d, 0, d->program->op_count);
    if (!status && d->persistent)
        status = direct_add_step(d, (struct plan_step){.op = PLAN_END, .ring = -1, .tensor = -1});
    return status;
}

/* Of a persistent kernel, blocks that the device holds at once. */
static int limit_grid(struct plan *p)
{
    struct expr_graph *g = &p->graph;
    int processors = expr_symbol(g, p->symbol_count - 1),
        each = expr_int(g, p->blocks_per_sm > 0 ? p->blocks_per_sm : 1);
    int resident = processors < 0 || each < 0 ? -1 : expr_binary(g, EXPR_MUL, processors, each);
    p->launch.grid[0] = resident < 0 ? -1 : expr_binary(g, EXPR_MIN, p->launch.grid[0], resident);
    return p->launch.grid[0] < 0 ? 3 : 0;
}

/* The element types that loads and stores convert: templates/blocks/convert.cuh has floats, and integers need
 * nothing. */
static bool is_moved(enum tw_dtype dtype)
{
    bool real = tw_dtype_info(dtype)->kind == TW_KIND_FLOAT;
    return !real || dtype == TW_BF16 || dtype == TW_FP16 || dtype == TW_FP32;
}

/* Rows by numbers: where constants alone say how far neighbours are apart, that is a number, and rows whose numbers
 * differ by constants have one address and offsets. Launches with other strides take the next variant. */
static void fix_strides(const struct expr_graph *g, struct plan_tensor *t, int gathered)
{
    int64_t stride = 1, extent;
    for (int d = t->rank - 1; d >= gathered && d >= t->pointers; d--) {
        int64_t given;
        if (d < t->rank - 1 && (!expr_is_int(g, t->stride[d], &given) || given != stride))
            return;
        if (d < t->rank - 1 && stride <= INT32_MAX)
            t->fixed[d] = stride;
        if (!expr_is_int(g, t->dim[d], &extent))
            return;
        stride *= extent;
    }
}

static int decide_tensors(struct direct *d)
{
    struct plan *p = d->plan;
    for (int i = 0; i < p->tensor_count; i++)
        if (!is_moved(p->tensor[i].dtype))
            return program_refuse(
                d->l, p->tensor[i].loc, "PROGRAM-LOWER",
                "tensor %s is %s, which programs without dots do not move yet; write bf16, fp16, fp32 "
                "or an integer type",
                p->tensor[i].name, tw_dtype_name(p->tensor[i].dtype));
    int moved = expr_int(&p->graph, 0);
    for (int i = 0; i < p->tensor_count; i++) {
        struct plan_tensor *t = &p->tensor[i];
        int elements = expr_int(&p->graph, (int64_t)tw_dtype_bytes(t->dtype));
        for (int r = 0; r < t->rank && elements >= 0; r++)
            elements = expr_binary(&p->graph, EXPR_MUL, elements, t->dim[r]);
        moved = elements < 0 || moved < 0 ? -1 : expr_binary(&p->graph, EXPR_ADD, moved, elements);
    }
    p->bytes_moved = moved;
    for (int i = 0; d->vector > 1 && i < d->program->op_count; i++) {
        const struct program_op *o = &d->program->op[i];
        if (o->kind == PROGRAM_GATHER)
            fix_strides(&p->graph, &p->tensor[o->tensor], o->gathered);
        bool stores = o->kind == PROGRAM_STORE || o->kind == PROGRAM_STORE_ADD || o->kind == PROGRAM_SCATTER_ADD;
        bool vectors = ((o->kind == PROGRAM_LOAD || o->kind == PROGRAM_GATHER) && o->tile.columns > 1) ||
                       (stores && o->arg[0].columns > 1);
        if (!vectors || d->op[i].aside)
            continue;
        struct plan_tensor *t = &p->tensor[o->tensor];
        t->align = d->vector * (int)tw_dtype_bytes(t->dtype);
        t->whole_rows = true;
    }
    return moved < 0 ? 3 : 0;
}

static int reasons(struct direct *d)
{
    struct plan *p = d->plan;
    char value[32];
    snprintf(value, sizeof value, "%d", d->vector);
    int status = d->l->variant == 0 && d->vector > 1
                     ? family_reason(p, "vector", value,
                                     "elements that every load and store moves at once: rows, tiles "
                                     "and coordinates are multiples of it")
                     : family_reason(p, "vector", value, "rows of any length at any address");
    snprintf(value, sizeof value, "%d", d->threads);
    status = status ? status
                    : family_reason(p, "threads", value, "each holds %d elements of a tile of %d x %d",
                                    p->layout[0].rows * p->layout[0].cols / d->threads, p->layout[0].rows,
                                    p->layout[0].cols);
    return status ? 3 : 0;
}

static int finish(struct direct *d)
{
    struct plan *p = d->plan;
    /* Tiles that stay and values live on, tiles of other bodies do not; the rest is addresses and conditions. */
    int registers = 24 + d->most_loaded;
    for (int i = 0; i < p->place_count; i++)
        registers += p->place[i].turns || !p->place[i].packed ? p->place[i].registers : 0;
    for (int i = 0; i < d->role->step_count; i++) {
        /* An element of what is there is converted where it is needed; what is loaded is held by its body. */
        const struct plan_step *s = &d->role->step[i];
        const struct plan_place *place = s->place ? &p->place[plan_number(s->place)] : NULL;
        bool body = place && (strcmp(s->call, "pick") == 0 || (d->scattered && s->op == PLAN_GLOBAL && !place->packed));
        registers -= body ? place->registers : 0;
    }
    const struct spec_value *most = program_field(d->l, FIELD_REGISTERS), *spills = program_field(d->l, FIELD_SPILLS);
    p->registers_estimate = registers;
    p->register_limit = most->set ? (int)most->integer : 0;
    p->allow_spills = spills->set && spills->integer;
    p->launch.block = d->threads;
    family_place_shared(p);
    p->blocks_per_sm =
        arch_resident_blocks(d->l->arch, d->threads, registers < 255 ? registers : 255, p->launch.shared_bytes);
    if (d->persistent && limit_grid(p))
        return 3;
    if (p->launch.shared_bytes > d->l->arch->shared_limit)
        return program_refuse(d->l, d->program->loc, "SMEM",
                              "its tiles take %d bytes of shared memory, but a block of %s has %d; write smaller tiles",
                              p->launch.shared_bytes, d->l->arch->name, d->l->arch->shared_limit);
    int limit = d->l->arch->registers_per_block / d->threads / 8 * 8;
    limit = limit < d->l->arch->registers_per_thread ? limit : d->l->arch->registers_per_thread;
    if (registers > limit)
        return program_refuse(d->l, d->program->loc, "REGS",
                              "each of %d threads would hold about %d registers, but has %d; write smaller tiles",
                              d->threads, registers, limit);
    return family_pack_params(p);
}

static int begin(struct direct *d)
{
    const struct program_lowering *l = d->l;
    struct plan *p = d->plan;
    size_t nodes = (size_t)d->program->graph->count + 1, ops = (size_t)d->program->op_count + 1;
    d->op = plan_alloc(p, sizeof *d->op * ops);
    d->kept = plan_alloc(p, sizeof *d->kept * ops);
    d->memo = plan_alloc(p, sizeof *d->memo * nodes);
    d->stamp = plan_alloc(p, sizeof *d->stamp * nodes);
    bool *reached = plan_alloc(p, nodes), *whole = plan_alloc(p, (size_t)l->spec->dim_count + 1);
    if (!d->op || !d->kept || !d->memo || !d->stamp || !reached || !whole)
        return 3;
    direct_survey(d->program, d->op, reached);
    d->whole = whole;
    d->vector = l->variant == 0 ? direct_vector(l->spec, l->kernel, d->op, whole) : 1;
    d->layout = -1;
    expr_free(&p->fused); /* rebuilt in leaves of the Plan */
    p->variant = l->variant ? "unaligned" : "";
    p->entry = l->variant ? plan_text(p, "%s__unaligned", p->kernel) : p->kernel;
    p->template_name = "program.direct.cu";
    p->derived = true;
    return p->entry ? 0 : 3;
}

static int lower(const struct program_lowering *l)
{
    struct direct d = {.l = l, .program = l->kernel->program, .plan = l->plan};
    int status = begin(&d);
    status = status ? status : direct_layouts(&d);
    if (status)
        return status;
    d.role = family_add_role(l->plan, "block", 1, 0, d.threads / 32, 0);
    status = d.role ? decide_items(&d) : 3;
    status = status ? status : decide_tensors(&d);
    for (int i = 0; i < d.program->op_count && !status; i++) /* first, as equal ranges are looked for */
        status = d.program->op[i].kind == PROGRAM_LOOP ? direct_loop_variable(&d, i) : 0;
    status = status ? status : program_goes_up(l, "no turn runs on under another, whichever is the first");
    status = status ? status : lower_items(&d);
    status = status ? status : reasons(&d);
    return status ? status : finish(&d);
}

/* Two where vectors ask for more than any address and any rows. Rows by numbers of their own want both: element by
 * element they would be many instructions. */
static int variants(const struct spec *spec, const struct spec_kernel *kernel, const struct arch *arch)
{
    (void)arch;
    const struct program *p = kernel->program;
    struct plan scratch = {0};
    struct direct_op *op = plan_alloc(&scratch, sizeof *op * ((size_t)p->op_count + 1));
    bool *reached = plan_alloc(&scratch, (size_t)p->graph->count + 1);
    bool *whole = plan_alloc(&scratch, (size_t)spec->dim_count + 1);
    int count = 1;
    if (op && reached && whole) {
        direct_survey(p, op, reached);
        count = !direct_is_scattered(p) && direct_vector(spec, kernel, op, whole) > 1 ? 2 : 1;
    }
    plan_free(&scratch);
    return count;
}

const struct program_lowerer program_lower_direct = {"direct", takes, variants, lower};
