/* Programs with dots on architectures with TMA, mbarriers and wgmma: a producer warpgroup fills rings by bulk copies,
 * one to three consumer warpgroups multiply, each its own rows of the item's tiles.
 *
 * Here the machine's numbers are decided (shapes, layouts in shared memory, stages, budgets); the order of steps is the
 * derivation's (derive.h).
 */
#include <stdio.h>
#include <string.h>

#include "lower/pipeline/pipeline.h"

enum {
    WARPGROUP = 128,
    MOST_STAGES = 8,
    MOST_BUFFERS = 4,
    MOST_STREAMED = 16, /* of a swapped product: memory bounds it, and so what is on its way */
    MOST_CONSUMERS = 3,
    PRODUCER_REGISTERS = 40,
    PRODUCER_LEAST = 24,  /* where two consumers take the rest of what 384 threads begin with, 168 each */
    PRODUCER_COPIES = 56, /* where its threads copy rows, and hold their addresses */
    PRODUCER_COUNTS = 72, /* where it takes items from a counter, and rows up to numbers that data decide */
    CONSUMER_REGISTERS = 232,
    CONSUMER_BESIDE_COPIES = 224,
    CONSUMER_BESIDE_COUNTS = 216,
    CONSUMER_MOST = 240,
    CONSUMER_OF_THREE = 152,
    CONSUMER_OF_THREE_LATE = 160, /* beside a producer of PRODUCER_OF_LATE; all that 512 threads begin with */
    PRODUCER_OF_LATE = 32,
    SPARE_REGISTERS = 16,
    STAGE_BARRIERS = 16,  /* bytes of a stage's two mbarriers */
    OTHER_REGISTERS = 24, /* of a consumer beside its places: addresses, descriptors, results under way */
    ALONG_PADDING = 1024, /* at most, where tiles or results begin behind what came along in stages */
};

/* How the data of each load come. */
static void note_ways(const struct pipeline *x)
{
    for (int i = 0; i < x->program->op_count; i++) {
        const struct program_op *op = &x->program->op[i];
        const char *way = "direct";
        for (int r = 0; r < x->d.ring_count; r++)
            for (int k = 0; k < x->d.ring[r].load_count; k++)
                if (x->d.ring[r].load[k] == i)
                    way = x->d.ring[r].copied || (x->d.synchronous && !x->bulk) ? "cp_async" : "bulk";
        for (int k = 0; k < x->program->op_count; k++)
            if (x->program->op[k].kind == PROGRAM_DOT && x->d.dot[k].resident && x->d.dot[k].load[0] == i)
                way = "resident";
        if (work_is_load(op))
            program_comes(x->l, op, way);
    }
}

int pipeline_lower(const struct program_lowering *l, const char *template_name, int (*decide)(struct pipeline *))
{
    bool refused[SPEC_MAX_AXES] = {false};
    struct pipeline x = {
        .l = l, .program = l->kernel->program, .plan = l->plan, .blocks_per_sm = 1, .refused = refused};
    l->plan->variant = l->variant == 0 ? "" : "unaligned";
    l->plan->entry = plan_text(l->plan, l->variant == 0 ? "%s" : "%s__unaligned", l->kernel->name);
    if (!l->plan->entry)
        return 3;
    l->plan->template_name = template_name;
    l->plan->derived = true;
    int status = decide(&x);
    if (status == 1) {
        const struct spec_value *persistent = pipeline_field(&x, "schedule.persistent");
        plan_check_alone(l->plan, l->diags);
        status |= pipeline_check_elements(&x) | pipeline_check_dynamic(&x, !persistent->set || persistent->integer);
    }
    if (status == 0)
        note_ways(&x);
    pipeline_close(&x);
    return status;
}

const struct spec_value *pipeline_field(const struct pipeline *x, const char *path)
{
    static const struct spec_value none = {0};
    for (int i = 0; i < SPEC_FIELD_COUNT; i++)
        if (strcmp(spec_rows[i].path, path) == 0 && program_field(x->l, (enum spec_field)i)->set)
            return &x->l->fields.value[i];
    return &none;
}

int pipeline_choose(struct pipeline *x, const char *path, int fallback, const char *reason)
{
    const struct spec_value *v = pipeline_field(x, path);
    char value[40];
    int chosen = v->set ? (int)v->integer : fallback;
    snprintf(value, sizeof value, "%d", chosen);
    family_reason(x->plan, path, value, "%s", v->set ? spec_reason(v) : reason);
    return chosen;
}

/* ---- consumers and instructions ---------------------------------------------------------------------------------- */

static bool copies(const struct pipeline *x)
{
    for (int r = 0; r < x->d.ring_count; r++)
        if (x->d.ring[r].copied)
            return true;
    return false;
}

bool pipeline_warp_fills(const struct pipeline *x)
{
    return x->blocks_per_sm > 2 && !copies(x) && !pipeline_by_rows(x);
}

int pipeline_threads(const struct pipeline *x)
{
    return WARPGROUP * x->d.consumers + (pipeline_warp_fills(x) ? 32 : WARPGROUP);
}

/* Of each consumer's threads, where a block has its share of the multiprocessor's. */
static int shared_out(const struct pipeline *x)
{
    const int threads = pipeline_threads(x), share = x->l->arch->registers_per_sm / x->blocks_per_sm;
    if (pipeline_warp_fills(x))
        return share / threads / 8 * 8;
    const int each = (share / threads / 8 * 8 * (x->d.consumers + 1) - PRODUCER_REGISTERS) / x->d.consumers / 8 * 8;
    return each < CONSUMER_MOST ? each : CONSUMER_MOST;
}

static int consumer_registers(const struct pipeline *x)
{
    return x->blocks_per_sm > 1 ? shared_out(x) : x->d.consumers == 3 ? CONSUMER_OF_THREE : CONSUMER_MOST;
}

int pipeline_shared_limit(const struct pipeline *x)
{
    const struct arch *arch = x->l->arch;
    const int share = (arch->shared_per_sm / x->blocks_per_sm - arch->shared_reserved) / 128 * 128;
    return x->blocks_per_sm > 1 && share < arch->shared_limit ? share : arch->shared_limit;
}

/* Whether consumers take items in turn: MODE. 0 or 1. */
static int choose_mode(struct pipeline *x, bool *in_turn)
{
    const struct spec_value *set = pipeline_field(x, "pipeline.mode");
    const struct spec_value *consumers = pipeline_field(x, "pipeline.consumers");
    const struct spec_value *turns = pipeline_field(x, "pipeline.turns");
    const struct spec_value *persistent = pipeline_field(x, "schedule.persistent");
    *in_turn = set->set && strcmp(set->text, "items") == 0;
    if (!*in_turn)
        return 0;
    if (consumers->set && consumers->integer == 1)
        return pipeline_report(x, consumers->loc, "pipeline.consumers", "PROGRAM-ITEMS",
                               "one consumer takes all items, and mode = \"items\" is about several that take them in "
                               "turn; write consumers = 2, or mode = \"cooperative\"");
    if (turns->set && turns->integer)
        return pipeline_report(x, turns->loc, "pipeline.turns", "PROGRAM-ITEMS",
                               "consumers that take items in turn pass the tensor cores on from item to item, not from "
                               "dot to dot; write turns = false, or mode = \"cooperative\"");
    if (persistent->set && !persistent->integer)
        return pipeline_report(x, persistent->loc, "schedule.persistent", "PROGRAM-ITEMS",
                               "a block takes one item alone where persistent = false, and its consumers none in turn; "
                               "write mode = \"cooperative\", or leave persistent out");
    for (int i = 0; i < x->program->op_count; i++)
        if (x->program->op[i].kind == PROGRAM_LOOP && x->program->op[i].parts) {
            char text[300];
            snprintf(text, sizeof text,
                     "consumers meet behind a loop that blocks share, and those that take items in turn are each at an "
                     "item of its own; write mode = \"cooperative\", or %s%.40s%s",
                     x->program->op[i].stream ? "stream = false" : "split = { ",
                     x->program->op[i].stream ? "" : x->program->op[i].name, x->program->op[i].stream ? "" : " = 1 }");
            return pipeline_report(x, set->loc, "pipeline.mode", "PROGRAM-ITEMS", text);
        }
    return 0;
}

static int choose_consumers(struct pipeline *x)
{
    int rows = x->d.rows, own = pipeline_own_rows(x), fallback = rows / own;
    bool in_turn;
    int fault = choose_mode(x, &in_turn);
    while (fallback > 1 && (fallback > MOST_CONSUMERS || (rows / own) % fallback))
        fallback--;
    if (fallback == 3 && rows / own > 3)
        fallback = 2;
    fallback = in_turn ? 2 : fallback < 1 ? 1 : fallback;
    int consumers = pipeline_choose(x, "pipeline.consumers", fallback,
                                    in_turn               ? "one stores an item while the other multiplies the next"
                                    : own > PIPELINE_ROWS ? "each multiplies 128 rows, as many as an instruction has"
                                                          : "each multiplies its 64 rows or more");
    x->d.consumers = consumers;
    x->d.abreast = in_turn ? 1 : consumers;
    int unit = PIPELINE_ROWS * x->d.abreast;
    x->d.blocks = rows > unit ? rows / unit : 1; /* of what is no multiple, for what else is wrong */
    return fault | (rows % unit ? pipeline_check_rows(x, x->d.abreast) : 0);
}

/* Blocks that a multiprocessor holds at once. 0 or 1. */
static int choose_blocks(struct pipeline *x)
{
    const struct spec_value *set = pipeline_field(x, "schedule.blocks");
    if (!set->set || set->integer == 1)
        return 0;
    for (int i = 0; i < x->program->op_count; i++)
        if (x->program->op[i].kind == PROGRAM_LOOP && x->program->op[i].stream)
            return pipeline_report(x, set->loc, "schedule.blocks", "PROGRAM-STREAM",
                                   "blocks share all turns evenly, one a multiprocessor; write 1, or stream = false");
    x->blocks_per_sm = pipeline_choose(x, "schedule.blocks", 1, "");
    return 0;
}

const char *pipeline_dot_name(struct pipeline *x, int op)
{
    const char *name = x->program->op[op].name;
    int number = 0;
    for (int i = 0; i < op; i++)
        number += x->program->op[i].kind == PROGRAM_DOT;
    return name ? plan_text(x->plan, "%s", name) : plan_text(x->plan, number ? "dot%d" : "dot", number);
}

static int dot(struct pipeline *x, int op)
{
    const struct program_op *o = &x->program->op[op];
    struct derive_dot *k = &x->d.dot[op];
    enum tw_dtype dtype = o->arg[1].dtype;
    int columns = o->tile.columns, depth = o->arg[0].columns, bytes = (int)tw_dtype_bytes(dtype);
    int fault = pipeline_check_dot(x, op), status;
    if (k->slice)
        fault |= program_refuse(x->l, x->program->op[plan_number(k->slice)].loc, "PROGRAM-SLICE",
                                "the second operand of this dot begins at a row that is computed, which warps find for "
                                "themselves; write pipeline = { instruction = \"mma.sync\" }");
    const char *name = pipeline_dot_name(x, op), *kind = x->l->arch->tensor_columns ? "tcgen05" : "wgmma";
    struct plan_mma *mma = name ? family_add_mma(x->plan, name, kind) : NULL;
    if (!mma)
        return 3;
    k->mma = x->plan->mma_count - 1;
    mma->m = x->d.wide ? 2 * PIPELINE_ROWS : PIPELINE_ROWS;
    mma->n = k->columns ? k->columns : columns;
    mma->k = PIPELINE_K_BYTES / bytes;
    mma->operand[0].dtype = o->arg[0].dtype;
    mma->operand[1].dtype = dtype;
    mma->accumulator = o->tile.dtype;
    mma->blocks_m = x->d.wide ? x->d.blocks / 2 : x->d.blocks;
    mma->blocks_n = columns / mma->n;
    mma->k_steps = depth / mma->k;
    mma->operand[0].tensor = mma->operand[1].tensor = -1;
    status = pipeline_accumulator(x, op, name);
    status = status ? status : pipeline_operand_place(x, op, name);
    return status ? status : fault;
}

/* Registers of a thread that hold it as a first operand: of 16 rows of a warp's block, four for each 32 bytes of a row.
 */
static int operand_words(const struct pipeline *x, const struct program_tile *tile)
{
    return x->d.blocks * tile->columns * (int)tw_dtype_bytes(tile->dtype) / 8;
}

int pipeline_operand_place(struct pipeline *x, int op, const char *name)
{
    struct derive_dot *k = &x->d.dot[op];
    const struct program_tile *tile = &x->program->op[op].arg[0];
    if (k->load[0] >= 0 && !k->converted)
        return 0;
    k->operand = plan_add_place(x->plan, (struct plan_place){.name = plan_text(x->plan, "%s_operand", name),
                                                             .kind = PLAN_PLACE_OPERAND,
                                                             .dtype = x->program->op[op].arg[1].dtype,
                                                             .rows = x->d.rows / x->d.abreast,
                                                             .cols = tile->columns,
                                                             .registers = operand_words(x, tile),
                                                             .shared = -1});
    if (!k->operand || !k->converted || k->conversion.bits == WORK_BYTE)
        return k->operand ? 0 : 3;
    return family_add_value(x->plan, plan_text(x->plan, "half.%s_operand", name), k->conversion.bits == WORK_HIGH) ||
                   family_add_value(x->plan, plan_text(x->plan, "less.%s_operand", name), k->conversion.less)
               ? 3
               : 0;
}

int pipeline_registers_taken(const struct pipeline *x)
{
    int sum = 0;
    for (int i = 0; i < x->plan->place_count; i++)
        if (x->plan->place[i].kind != PLAN_PLACE_ROWS)
            sum += x->plan->place[i].registers;
    return sum;
}

int pipeline_resident(struct pipeline *x, int beside, int most)
{
    for (int i = 0; i < x->plan->place_count; i++) /* of numbers a row, as many as are carried */
        beside += x->plan->place[i].kind == PLAN_PLACE_ROWS ? x->plan->place[i].registers : 0;
    for (int r = 0; r < x->d.ring_count && !x->l->arch->tensor_columns; r++) {
        const struct derive_ring *ring = &x->d.ring[r];
        int op = -1, users = 0;
        for (int i = 0; i < x->program->op_count; i++)
            if (x->program->op[i].kind == PROGRAM_DOT && x->d.dot[i].load[0] == ring->load[0] &&
                x->d.dot[i].load[1] != ring->load[0] && !x->d.dot[i].transposed[0] && !x->d.dot[i].converted) {
                op = i;
                users++;
            }
        if (op < 0 || users != 1 || ring->users != 1 || ring->load_count != 1 || ring->inner < 0)
            continue;
        const struct program_op *load = &x->program->op[ring->load[0]];
        const struct spec_via *said = program_via(x->l->kernel, load);
        const char *via = said ? said->word : NULL;
        program_comes(x->l, load, "bulk"); /* it is kept from being resident */
        int words = operand_words(x, &load->tile);
        bool fits = pipeline_registers_taken(x) + words + beside <= most;
        const char *name = x->plan->tensor[load->tensor].name;
        bool chosen = via ? strcmp(via, "resident") == 0 : fits;
        family_reason(x->plan, plan_text(x->plan, "via.%s", name), chosen ? "resident" : "bulk", "%s",
                      via    ? "the spec says so"
                      : fits ? "it is read in every turn, and its registers are free"
                             : "its registers are taken");
        if (!chosen)
            continue;
        x->d.dot[op].resident = true;
        x->d.dot[op].operand = plan_add_place(x->plan, (struct plan_place){.name = plan_text(x->plan, "%s_held", name),
                                                                           .kind = PLAN_PLACE_OPERAND,
                                                                           .dtype = load->tile.dtype,
                                                                           .rows = x->d.rows / x->d.abreast,
                                                                           .cols = load->tile.columns,
                                                                           .registers = words,
                                                                           .shared = -1});
        if (!x->d.dot[op].operand)
            return 3;
    }
    return 0;
}

int pipeline_carried(struct pipeline *x)
{
    for (int i = 0; i < x->program->op_count; i++) {
        const struct program_op *o = &x->program->op[i];
        int leaf = x->d.work.op[i].leaf;
        if (o->kind != PROGRAM_PARAM || (leaf < x->d.home_count && x->d.home[leaf] > 0))
            continue;
        const bool row = o->tile.columns == 1;
        if (!row && x->program->graph->node[o->tile.node].type == EXPR_INT)
            return program_refuse(x->l, x->program->op[o->loop].loc, "PROGRAM-LOWER",
                                  "carried value %d is a tile of integers that no dot gives, and is held in fp32; "
                                  "carry sums of dots, or cast(x, \"fp32\")",
                                  o->which + 1);
        int place = plan_add_place(
            x->plan,
            (struct plan_place){.name = o->name ? plan_text(x->plan, "%s_%s", o->name, row ? "row" : "tile")
                                                : plan_text(x->plan, "carried%d", x->plan->place_count),
                                .kind = row ? PLAN_PLACE_ROWS : PLAN_PLACE_FRAGMENT,
                                .dtype = TW_FP32,
                                .rows = x->d.rows / x->d.abreast,
                                .cols = o->tile.columns,
                                .registers = row ? 2 * x->d.blocks : x->d.blocks * o->tile.columns / 2 / x->d.warps_n,
                                .shared = -1});
        if (!place || derive_home(&x->d, leaf, place))
            return 3;
        for (int k = i; k < x->program->op_count; k++)
            if (x->program->op[k].kind == PROGRAM_RESULT && x->program->op[k].loop == o->loop &&
                x->program->op[k].which == o->which && derive_home(&x->d, x->d.work.op[k].leaf, place))
                return 3;
    }
    return 0;
}

/* ---- shared memory and roles ------------------------------------------------------------------------------------- */

int pipeline_stage_bytes(const struct pipeline *x, const struct derive_ring *ring)
{
    int bytes = 0;
    for (int i = 0; i < ring->load_count; i++)
        bytes += x->plan->tensor[x->program->op[ring->load[i]].tensor].tile_bytes;
    for (int i = 0; i < x->d.along_count; i++)
        if (x->d.along[i].load < 0 && &x->d.ring[x->d.along[i].ring] == ring)
            bytes += x->plan->tensor[x->d.along[i].tensor].tile_bytes;
    return bytes;
}

/* What goes through shared memory to stores of elements: 16 rows a warp, one column of padding. */
static int rows_bytes(const struct pipeline *x)
{
    return x->columns ? 4 * x->d.consumers * 16 * (x->columns + 1) * (int)sizeof(float) : 0;
}

/* Stages of the rings that are filled in every turn, and of those that are refilled once an item: these have a second
 * one where it takes none from the others, so that the next item's tiles come while this one's are read. */
static int choose_stages(struct pipeline *x, int *stages, int *item_stages)
{
    int each = 0, once = 0, limit = pipeline_shared_limit(x);
    int chunk = (x->stored + 1023) / 1024 * 1024 * x->d.consumers, buffers = x->buffers = pipeline_buffers(x);
    int fixed = chunk * buffers + rows_bytes(x) + (x->d.along_count ? ALONG_PADDING : 0);
    for (int r = 0; r < x->d.ring_count; r++) {
        int bytes = pipeline_stage_bytes(x, &x->d.ring[r]) + STAGE_BARRIERS;
        if (x->d.ring[r].parent < 0)
            once += bytes;
        else
            each += bytes;
    }
    fixed += once + pipeline_item_bytes(x) + pipeline_part_bytes(x) + pipeline_memory_bytes(x);
    fixed += 8 * x->chunks * x->d.consumers; /* a barrier each */
    if (each && (limit - fixed) / each < 2 && x->stored && !x->chunks) {
        x->buffers = 1;
        fixed -= chunk * (buffers - 1);
    }
    while (each && (limit - fixed) / each < 2 && x->columns > 8) {
        const int taken = rows_bytes(x);
        x->columns /= 2; /* 8, 16 or 32, which divide every result's */
        fixed -= taken - rows_bytes(x);
    }
    int fit = each ? (limit - fixed) / each : 1, most = x->l->swapped ? MOST_STREAMED : MOST_STAGES;
    *stages = pipeline_choose(x, "pipeline.stages", fit > most ? most : fit, "as many as shared memory holds");
    *item_stages = limit - fixed - *stages * each >= once ? 2 : 1;
    /* Chunks of tall tiles are many, and what they wait for nothing runs under. */
    const int second = (*item_stages - 1) * once, most_buffers = x->whole ? x->d.blocks : MOST_BUFFERS;
    for (; x->by_block && x->stored && x->buffers < most_buffers && limit - fixed - *stages * each - second >= chunk;
         fixed += chunk)
        x->buffers++;
    const struct pipeline_stages all = {.stages = *stages, .fit = fit, .each = each, .beside = fixed};
    return pipeline_check_stages(x, &all);
}

static int ring_tile(struct pipeline *x, int tensor, struct plan_ring *to)
{
    char name[128];
    const struct plan_tensor *t = &x->plan->tensor[tensor];
    const int align = t->tile_bytes < 16 ? t->tile_bytes : (int)tw_swizzles[t->swizzle].align;
    to->tensor[to->tensor_count++] = tensor;
    snprintf(name, sizeof name, "%s.%s", to->name, t->name);
    return family_add_shared(x->plan, name, to->stages * t->tile_bytes, align, to->stages) ? 0 : 3;
}

int pipeline_ring_tiles(struct pipeline *x, const struct derive_ring *ring, struct plan_ring *to)
{
    int status = 0;
    for (int i = 0; i < ring->load_count && !status; i++)
        status = ring_tile(x, x->program->op[ring->load[i]].tensor, to);
    for (int i = 0; i < x->d.along_count && !status; i++)
        if (x->d.along[i].load < 0 && &x->d.ring[x->d.along[i].ring] == ring)
            status = ring_tile(x, x->d.along[i].tensor, to);
    return status;
}

static int add_ring(struct pipeline *x, struct derive_ring *ring, int stages)
{
    struct plan_ring *r =
        family_add_ring(x->plan, ring->name, stages, ring->copied ? PLAN_FILL_ARRIVE : PLAN_FILL_BULK);
    if (!r)
        return 3;
    ring->number = x->plan->ring_count - 1;
    for (int i = 0; i < ring->load_count; i++) {
        const struct program_op *load = &x->program->op[ring->load[i]];
        if (load->kind == PROGRAM_GATHER)
            family_reason(x->plan, plan_text(x->plan, "via.%s", x->plan->tensor[load->tensor].name),
                          ring->copied ? "cp_async" : "bulk", "%s",
                          ring->copied ? "the spec says so, or rows are no whole spans of 128 bytes"
                                       : "rows of whole spans come by themselves");
    }
    r->full_arrivals = ring->copied ? WARPGROUP / 32 : 1;
    r->tx_bytes = ring->copied ? 0 : pipeline_stage_bytes(x, ring);
    r->empty_arrivals = 4 * x->d.abreast * pipeline_readers(x, ring);
    return pipeline_ring_tiles(x, ring, r);
}

int pipeline_barriers(struct pipeline *x, int number)
{
    char full[128], empty[128];
    struct plan_ring *r = &x->plan->ring[number];
    const char *name = r->name;
    snprintf(full, sizeof full, "%s.full", name);
    snprintf(empty, sizeof empty, "%s.empty", name);
    r->full_shared = x->plan->shared_count;
    r->empty_shared = x->plan->shared_count + 1;
    return family_add_shared(x->plan, full, 8 * r->stages, 8, r->stages) &&
                   family_add_shared(x->plan, empty, 8 * r->stages, 8, r->stages)
               ? 0
               : 3;
}

static int results(struct pipeline *x)
{
    struct plan *p = x->plan;
    int align = 128, bytes = (x->stored + 1023) / 1024 * 1024 * x->buffers * x->d.consumers;
    for (int i = 0; i < p->tensor_count; i++)
        if (p->tensor[i].out && (int)tw_swizzles[p->tensor[i].swizzle].align > align)
            align = (int)tw_swizzles[p->tensor[i].swizzle].align;
    struct plan_ring *d = family_add_ring(p, "d", x->buffers, PLAN_FILL_THREADS);
    if (!d || !family_add_shared(p, "d", bytes, align, x->buffers * x->d.consumers))
        return 3;
    for (int i = 0; i < p->tensor_count; i++)
        if (p->tensor[i].out && p->tensor[i].access == PLAN_ACCESS_TMA)
            d->tensor[d->tensor_count++] = i;
    return family_add_barrier(p, "d_barrier", 1, WARPGROUP) ? 3 : pipeline_source_barriers(x);
}

/* Its stage is free again as soon as it has come. */
static bool is_resident(const struct pipeline *x, const struct derive_ring *ring)
{
    for (int i = 0; i < x->program->op_count; i++)
        if (x->program->op[i].kind == PROGRAM_DOT && x->d.dot[i].resident && x->d.dot[i].load[0] == ring->load[0])
            return true;
    return false;
}

/* Items come from a counter, and data say where their tiles end: what the producer holds of both is much. */
static bool counts_rows(const struct pipeline *x)
{
    bool limited = false;
    for (int i = 0; i < x->plan->tensor_count; i++)
        limited = limited || x->plan->tensor[i].run > 1 || (!x->plan->tensor[i].out && pipeline_is_limited(x, i));
    return limited && x->dynamic;
}

struct budgets {
    int producer, consumer;
};

/* Two consumers can have the most beside a producer that issues bulk copies and does nothing else. */
static struct budgets budgets(const struct pipeline *x)
{
    int consumers = x->d.consumers;
    bool copied = copies(x) || counts_rows(x),
         much = pipeline_registers_taken(x) + OTHER_REGISTERS > CONSUMER_REGISTERS - SPARE_REGISTERS;
    if (x->blocks_per_sm > 1)
        return (struct budgets){PRODUCER_REGISTERS, shared_out(x)};
    if (consumers == 3 && x->d.late && !copied && !x->dynamic &&
        pipeline_registers_taken(x) + PIPELINE_BESIDE_LATE > CONSUMER_OF_THREE)
        return (struct budgets){PRODUCER_OF_LATE, CONSUMER_OF_THREE_LATE};
    if (consumers == 3)
        return (struct budgets){copied ? PRODUCER_COPIES : PRODUCER_REGISTERS, CONSUMER_OF_THREE};
    if (much && consumers == 1)
        return (struct budgets){copied ? PRODUCER_COPIES : PRODUCER_REGISTERS, CONSUMER_MOST};
    if (much && !copied && !x->dynamic)
        return (struct budgets){PRODUCER_LEAST, CONSUMER_MOST};
    if (counts_rows(x) && pipeline_registers_taken(x) + OTHER_REGISTERS <= CONSUMER_BESIDE_COUNTS - SPARE_REGISTERS)
        return (struct budgets){PRODUCER_COUNTS, CONSUMER_BESIDE_COUNTS};
    if (copied && !much)
        return (struct budgets){PRODUCER_COPIES, CONSUMER_BESIDE_COPIES};
    return (struct budgets){PRODUCER_REGISTERS, CONSUMER_REGISTERS};
}

int pipeline_consumer_registers(const struct pipeline *x)
{
    return budgets(x).consumer;
}

/* Registers that operands of the computed dots do not need where no two of them are held as a turn begins, if those
 * make the difference: derive.h, CROWDED. 0: they do not. */
static int crowded(const struct pipeline *x)
{
    const int most = pipeline_consumer_registers(x), taken = pipeline_registers_taken(x) + OTHER_REGISTERS;
    int sum = 0, largest = 0, parent = -2;
    for (int i = 0; i < x->program->op_count; i++) {
        const struct derive_dot *dot = &x->d.dot[i];
        if (x->program->op[i].kind != PROGRAM_DOT || !dot->operand || dot->resident)
            continue;
        if (dot->converted || (parent != -2 && x->d.work.op[i].parent != parent))
            return 0;
        const int words = x->plan->place[plan_number(dot->operand)].registers;
        parent = x->d.work.op[i].parent;
        sum += words;
        largest = words > largest ? words : largest;
    }
    const bool helps = taken > most && taken - (sum - largest) <= most;
    return helps && x->l->kernel->ahead_count == 0 && x->d.abreast == x->d.consumers ? sum - largest : 0;
}

static int memory_and_roles(struct pipeline *x)
{
    struct plan *p = x->plan;
    int stages, item_stages, status = choose_stages(x, &stages, &item_stages);
    for (int r = 0; r < x->d.ring_count && !status; r++)
        status = add_ring(x, &x->d.ring[r],
                          x->d.ring[r].parent >= 0        ? stages
                          : is_resident(x, &x->d.ring[r]) ? 1
                                                          : item_stages);
    status = status ? status : pipeline_item_ring(x);
    status = status ? status : pipeline_part_ring(x);
    status = status ? status : pipeline_source_ring(x);
    if (!status && x->stored)
        status = results(x);
    status = status ? status : pipeline_part_meeting(x);
    if (!status && x->columns &&
        (!family_add_shared(p, "rows", rows_bytes(x), 16, 4 * x->d.consumers) ||
         family_add_value(p, "store_columns", x->columns)))
        status = 3;
    status = status ? status : pipeline_item_memory(x);
    for (int r = 0; r < x->d.ring_count && !status; r++)
        status = pipeline_barriers(x, x->d.ring[r].number);
    if (!status && p->item_ring)
        status = pipeline_barriers(x, plan_number(p->item_ring));
    if (!status && x->d.parts)
        status = pipeline_barriers(x, plan_number(x->d.parts));
    if (status)
        return status;
    int consumers = x->d.consumers;
    const struct spec_value *turns = pipeline_field(x, "pipeline.turns");
    bool in_turn = x->d.abreast < consumers;
    if (consumers == 1)
        program_field_idle(x->l, FIELD_TURNS);
    if (in_turn || (turns->set && turns->integer && consumers > 1)) {
        bool passes = in_turn || x->l->kernel->ahead_count > 0;
        for (int i = 0; i < x->d.work.program->op_count && !passes; i++)
            passes = x->d.work.program->op[i].kind == PROGRAM_DOT && derive_passes_on(&x->d, i);
        if (!passes)
            return program_refuse(x->l, turns->loc, "PROGRAM-TURNS",
                                  "consumers pass the tensor cores on around a dot that is issued a turn ahead, or "
                                  "whose result its own turn of a loop takes; write ahead = { NAME = { turns = 1 } }, "
                                  "or turns = false");
        if (family_add_barrier(p, "turn", 1 + consumers, 2 * WARPGROUP))
            return 3;
        p->barrier[p->barrier_count - 1].turns = true;
        x->d.turns = p->barrier_count;
    }
    const struct budgets budget = budgets(x);
    const bool warp = pipeline_warp_fills(x), even = warp || pipeline_shares_evenly(x);
    if (!family_add_role(p, "producer", 1, warp ? 4 * consumers : 0, warp ? 1 : 4, even ? 0 : budget.producer) ||
        !family_add_role(p, "consumer", consumers, warp ? 0 : 4, 4 * consumers, even ? 0 : budget.consumer))
        return 3;
    x->d.producer = &p->role[p->role_count - 2];
    x->d.producer->one_thread = true;
    x->d.consumer = &p->role[p->role_count - 1];
    x->d.registers = budget.consumer;
    x->d.crowded = crowded(x);
    status = derive_steps(&x->d);
    status = status ? status : pipeline_memory(x);
    status = status ? status : pipeline_early_operands(x);
    return status ? status : pipeline_ask(x);
}

/* ---- the Plan ---------------------------------------------------------------------------------------------------- */

int pipeline_loops(struct pipeline *x)
{
    struct plan *p = x->plan;
    x->d.loop = plan_alloc(p, sizeof *x->d.loop * (size_t)(x->program->op_count + 1));
    p->loop = plan_alloc(p, sizeof *p->loop * (size_t)(x->program->op_count + 1));
    if (!x->d.loop || !p->loop)
        return 3;
    for (int i = 0; i < x->program->op_count; i++) {
        const struct program_op *o = &x->program->op[i];
        int64_t step;
        if (o->kind != PROGRAM_LOOP)
            continue;
        if (!expr_is_int(x->program->graph, o->step, &step))
            return program_refuse(x->l, o->loc, "PROGRAM-LOWER", "the step of a loop is a constant; write a number");
        x->d.loop[i] = p->loop_count;
        const char *name = plan_text(p, "at_%s", o->name ? o->name : "loop");
        /* What says the turn, at_k_turn, is not called as an item's place is, of an axis k_turn. */
        for (int k = 0; k < x->program->axis_count && o->name; k++) {
            const char *axis = x->program->axis[k].name;
            const size_t length = strlen(o->name);
            if (x->program->axis[k].extent >= 0 && strncmp(axis, o->name, length) == 0 &&
                (!axis[length] || axis[length] == '_'))
                name = plan_text(p, "loop_%s", o->name);
        }
        for (int k = 0; k < p->loop_count && name; k++)
            if (strcmp(p->loop[k].name, name) == 0)
                name = plan_text(p, "%s%d", name, i);
        if (!name)
            return 3;
        p->loop[p->loop_count++] = (struct plan_loop){
            .name = name, .step = (int)step, .operation = plan_some(i), .parts = o->combine ? o->parts : 0};
    }
    return 0;
}

static int registers(struct pipeline *x)
{
    struct plan *p = x->plan;
    int sum = (x->d.late ? PIPELINE_BESIDE_LATE : OTHER_REGISTERS) - x->d.crowded - pipeline_registers_spared(x);
    for (int i = 0; i < p->place_count; i++)
        if (p->place[i].kind == PLAN_PLACE_ACCUMULATOR || p->place[i].kind == PLAN_PLACE_FRAGMENT ||
            p->place[i].kind == PLAN_PLACE_OPERAND || p->place[i].kind == PLAN_PLACE_LATE)
            sum += p->place[i].registers;
    p->registers_estimate = sum > x->held || x->d.in_memory ? sum : x->held;
    const struct spec_value *most = pipeline_field(x, "max_registers"), *spills = pipeline_field(x, "allow_spills");
    p->register_limit = most->set ? (int)most->integer : 0;
    p->allow_spills = spills->set && spills->integer;
    return 0;
}

bool pipeline_only_multiplies(const struct pipeline *x)
{
    bool plain = true;
    for (int i = 0; i < x->program->op_count; i++) {
        const struct derive_dot *dot = &x->d.dot[i];
        if (x->program->op[i].kind != PROGRAM_DOT)
            continue;
        plain = plain && !dot->converted;
        for (int o = 0; o < 2; o++)
            plain = plain && dot->load[o] >= 0 && x->d.work.op[dot->load[o]].parent == x->d.work.op[i].parent;
        const int sum = x->program->op[i].arg[2].node;
        plain = plain && (sum < 0 || x->program->graph->node[sum].op == EXPR_TILE);
    }
    return plain;
}

static int variants(const struct spec *spec, const struct spec_kernel *kernel, const struct arch *arch);

static int decide(struct pipeline *x)
{
    struct plan *p = x->plan;
    int status = pipeline_open(x);
    if (status)
        return status;
    const struct spec_value *poll = pipeline_field(x, "pipeline.poll");
    x->d.warps_n = 1;
    const bool asked = poll->set && strcmp(poll->text, "lane") == 0;
    x->d.lane = asked && pipeline_only_multiplies(x);
    if (asked && family_reason(x->plan, "pipeline.poll", x->d.lane ? "lane" : "warp", "%s",
                               x->d.lane ? spec_reason(poll)
                                         : "threads compute between products, and the compiler moves that past a wait "
                                           "without a branch of its own; all lanes wait"))
        return 3;
    x->d.in_memory = pipeline_stays_in_memory(x);
    status = choose_consumers(x) | choose_blocks(x);
    x->d.wide = pipeline_is_wide(x);
    pipeline_find_by_block(x, OTHER_REGISTERS, consumer_registers(x));
    for (int i = 0; i < x->program->op_count && status != 3; i++)
        if (x->program->op[i].kind == PROGRAM_DOT)
            status |= dot(x, i);
    status |= pipeline_cluster(x) | pipeline_least_stages(x) | pipeline_check_stream(x);
    status |= status == 3 ? 0 : pipeline_carried(x);
    status = status ? status : pipeline_resident(x, OTHER_REGISTERS, consumer_registers(x));
    /* Rows that bulk copies cannot bring are read in the other variant. A producer with few registers sends nothing,
     * nor does a block without a cluster: st.async is an illegal instruction there (an H200, driver 580). */
    const bool rows = x->l->variant == 0 && variants(x->l->spec, x->l->kernel, x->l->arch) > 1;
    const bool much = pipeline_registers_taken(x) + OTHER_REGISTERS > CONSUMER_REGISTERS - SPARE_REGISTERS;
    status = status ? status : derive_find_along(&x->d, rows, !much && !copies(x) && x->blocks > 1);
    status |= status == 3 ? 0 : pipeline_tensors(x);
    int stages, item_stages;
    if (status == 1)
        status |= choose_stages(x, &stages, &item_stages);
    if (status)
        return status;
    expr_free(&p->fused); /* the program's own nodes: those of the steps take their place */
    p->launch.block = pipeline_threads(x);
    p->launch.min_blocks = p->blocks_per_sm = x->blocks_per_sm;
    const struct spec_value *persistent = pipeline_field(x, "schedule.persistent");
    status = pipeline_loops(x);
    status = status ? status : pipeline_items(x, !persistent->set || persistent->integer);
    status = status ? status : pipeline_part_memory(x);
    status = status ? status : pipeline_list(x);
    status = status ? status : pipeline_visible(x);
    status = status ? status : memory_and_roles(x);
    status = status ? status : pipeline_tail(x, !persistent->set || persistent->integer);
    status = status ? status : pipeline_reuse(x, !persistent->set || persistent->integer);
    status = status ? status : pipeline_elements(x);
    status = status ? status : pipeline_polynomial(x);
    status = status ? status : registers(x);
    status = status ? status : family_bytes_moved(p);
    if (status)
        return status;
    family_place_shared(p);
    return family_pack_params(p);
}

static bool takes(const struct spec_kernel *kernel, const struct program *program, const struct arch *arch)
{
    (void)kernel;
    return arch->wgmma && program_holds(program, PROGRAM_DOT);
}

/* Bulk stores write whole 16-byte chunks of rows: where an extent that the launch brings may be no multiple of them,
 * there is a second variant, which stores elements. A constant extent is one or the other in both. */
static int variants(const struct spec *spec, const struct spec_kernel *kernel, const struct arch *arch)
{
    (void)arch;
    for (int i = 0; i < kernel->program->op_count; i++) {
        const struct program_op *o = &kernel->program->op[i];
        if (o->kind != PROGRAM_STORE || o->arg[0].columns == 1)
            continue;
        const struct spec_tensor *t = &kernel->tensor[o->tensor];
        const struct expr_node *n = &kernel->shape.node[t->dim[t->rank - 1]];
        int64_t bytes = (int64_t)tw_dtype_bytes(t->dtype), extent;
        bool whole = expr_is_int(&kernel->shape, t->dim[t->rank - 1], &extent);
        if (n->op == EXPR_SYMBOL)
            whole = spec->dim[n->integer].multiple * bytes % 16 == 0;
        if (!whole)
            return 2;
    }
    return 1;
}

static int lower(const struct program_lowering *l)
{
    return pipeline_lower_swapped(l, "program.sm_90a.cu", decide);
}

const struct program_lowerer program_lower_pipeline = {"pipeline", takes, variants, lower};
