/* Programs with dots on architectures that multiply by mma.sync, each warp its own part of the tiles; results go
 * straight from registers to global memory. With tensor maps one more warp, the producer, fills rings by bulk copies;
 * without, or where these cannot bring the tiles, every thread fills them by cp.async and multiplies.
 *
 * Variant 0 copies 16 bytes at a time and asks the tensors that dots read for rows that begin at multiples of 16 bytes;
 * variant 1, "unaligned", reads their elements one by one and asks for nothing. Results and what arithmetic reads are
 * reached element by element in both.
 */
#include <stdio.h>
#include <string.h>

#include "lower/pipeline/pipeline_mma_sync.h"

static int add_ring(struct pipeline *x, struct derive_ring *ring)
{
    int stages = ring->parent >= 0 && ring->inner < 0 ? x->stages : 1;
    struct plan_ring *r = family_add_ring(x->plan, ring->name, stages, x->bulk ? PLAN_FILL_BULK : PLAN_FILL_CP_ASYNC);
    if (!r)
        return 3;
    ring->number = x->plan->ring_count - 1;
    if (x->bulk) {
        r->full_arrivals = 1;
        r->tx_bytes = pipeline_stage_bytes(x, ring);
        r->empty_arrivals = x->warps_m * x->d.warps_n;
    }
    return pipeline_ring_tiles(x, ring, r);
}

/* Of each loop the variable of its prologue, which fills the first stages. */
static int prologues(struct pipeline *x)
{
    struct plan *p = x->plan;
    int loops = p->loop_count;
    struct plan_loop *all = plan_alloc(p, sizeof *all * (size_t)(2 * loops + 1));
    x->d.first = plan_alloc(p, sizeof *x->d.first * (size_t)(x->program->op_count + 1));
    if (!all || !x->d.first)
        return 3;
    if (loops)
        memcpy(all, p->loop, sizeof *all * (size_t)loops);
    p->loop = all;
    for (int i = 0; i < x->program->op_count; i++) {
        if (x->program->op[i].kind != PROGRAM_LOOP)
            continue;
        const struct plan_loop *own = &p->loop[x->d.loop[i]];
        x->d.first[i] = p->loop_count;
        p->loop[p->loop_count] = (struct plan_loop){.name = plan_text(p, "first_%s", own->name), .step = own->step};
        if (!p->loop[p->loop_count++].name)
            return 3;
    }
    return 0;
}

/* `ahead`, `turns` and `direction` are about instructions that run on while threads compute, clusters about tiles that
 * blocks share. */
static int what_means_nothing(struct pipeline *x)
{
    const struct spec_value *turns = pipeline_field(x, "pipeline.turns");
    int status = 0;
    program_field_idle(x->l, FIELD_TURNS);
    program_field_idle(x->l, FIELD_DYNAMIC);
    for (int i = 0; i < x->program->axis_count && !status; i++)
        if (x->program->axis[i].cluster > 1)
            status = family_reason(x->plan, plan_text(x->plan, "cluster.%s", x->program->axis[i].name), "1",
                                   "%s has no clusters", x->l->arch->name);
    for (int i = 0; i < x->l->kernel->ahead_count && !status; i++)
        status = family_reason(x->plan, plan_text(x->plan, "ahead.%s", x->l->kernel->ahead[i].name), "0",
                               "an mma.sync is done when it is issued: nothing runs on meanwhile");
    if (!status && turns->set && turns->integer)
        status = family_reason(x->plan, "pipeline.turns", "false", "all warps of %s share one role", x->l->arch->name);
    return status ? status : program_goes_up(x->l, "no turn runs on under another, whichever is the first");
}

static int roles(struct pipeline *x)
{
    struct plan *p = x->plan;
    int warps = x->warps_m * x->d.warps_n, status = 0;
    for (int r = 0; r < x->d.ring_count && !status; r++)
        status = add_ring(x, &x->d.ring[r]);
    for (int r = 0; r < x->d.ring_count && !status && x->bulk; r++)
        status = pipeline_barriers(x, x->d.ring[r].number);
    x->d.meeting = x->d.part_meeting = p->barrier_count;
    const bool meets = !x->bulk || x->d.part_tile;
    if (status || (meets && family_add_barrier(p, "block", x->bulk, 32 * warps)))
        return 3;
    if (!x->bulk) {
        if (!family_add_role(p, "block", 1, 0, warps, 0))
            return 3;
    } else {
        if (!family_add_role(p, "producer", 1, warps, x->grouped ? 4 : 1, x->grouped) ||
            !family_add_role(p, "consumer", 1, 0, warps, x->grouped ? x->d.registers : 0))
            return 3;
        x->d.producer = &p->role[p->role_count - 2];
        x->d.producer->one_thread = true;
    }
    x->d.consumer = &p->role[p->role_count - 1];
    return derive_steps(&x->d);
}

/* Of each store beyond the first, for which a block's share of registers has room. */
enum {
    STORE_REGISTERS = 16,
    SPARE_REGISTERS = 16, /* of a thread that multiplies, beyond the estimate */
};

/* Where a thread's share does not suffice, the producer is a warpgroup and keeps as many registers as the others leave:
 * what a copy of data's own places takes is not known. Returns what a thread of theirs has then; 0: it is none. */
static int group(struct pipeline *x, int warps, int share, int needed)
{
    int producer = share;
    while (producer > MMA_SYNC_PRODUCER && mma_sync_registers_moved(x, warps, producer) < needed + SPARE_REGISTERS)
        producer -= 8;
    const int moved = mma_sync_registers_moved(x, warps, producer);
    x->grouped = moved > share && needed > share ? producer : 0;
    return moved;
}

/* Of each thread, where a multiprocessor holds so many blocks: a quarter of its registers is for a quarter of its
 * warps. */
static int shared_out(const struct pipeline *x, int blocks)
{
    const int warps = blocks * (x->warps_m * x->d.warps_n + x->bulk);
    return x->l->arch->registers_per_sm / (128 * ((warps + 3) / 4)) / 8 * 8;
}

static int register_limit(const struct pipeline *x)
{
    const struct spec_value *asked = pipeline_field(x, "schedule.blocks");
    const int most = mma_sync_register_limit(x), share = asked->set ? shared_out(x, (int)asked->integer) : most;
    return share < most ? share : most;
}

static int launch(struct pipeline *x)
{
    struct plan *p = x->plan;
    const struct arch *arch = x->l->arch;
    const int warps = x->warps_m * x->d.warps_n, threads = mma_sync_register_threads(x, warps);
    int shared = 0;
    for (int r = 0; r < x->d.ring_count; r++)
        shared += pipeline_stage_bytes(x, &x->d.ring[r]) *
                  (x->d.ring[r].parent >= 0 && x->d.ring[r].inner < 0 ? x->stages : 1);
    int registers = mma_sync_registers_at_ease(x);
    int blocks = arch_resident_blocks(arch, threads, registers, shared);
    int needed = mma_sync_registers_at_most(x, mma_sync_register_limit(x)), stores = 0;
    for (int i = 0; i < x->program->op_count; i++)
        stores += work_is_store(&x->program->op[i]);
    needed += stores > 1 ? STORE_REGISTERS * (stores - 1) : 0;
    while (blocks > 1 && needed > arch->registers_per_sm / (threads * blocks) / 8 * 8)
        blocks--;
    const struct spec_value *asked = pipeline_field(x, "schedule.blocks");
    p->blocks_per_sm = blocks < 1 ? 1 : blocks;
    if (asked->set) { /* of which the variant for rows that begin anywhere, with more stages, may hold fewer; and copies
                         by threads, of which a family that chose did not know */
        const int fit = arch_resident_blocks(arch, threads, 0, shared);
        const bool less = fit >= 1 && fit < asked->integer && (x->l->variant || asked->why);
        p->blocks_per_sm = less ? fit : (int)asked->integer;
        if (family_reason(p, "schedule.blocks", plan_text(p, "%d", p->blocks_per_sm), "%s",
                          less ? "as many as shared memory holds" : spec_reason(asked)))
            return 3;
    }
    const struct spec_value *most = pipeline_field(x, "max_registers"), *spills = pipeline_field(x, "allow_spills");
    int share = arch->registers_per_sm / (threads * p->blocks_per_sm) / 8 * 8;
    if (asked->set)
        share = shared_out(x, p->blocks_per_sm);
    const int moved = p->blocks_per_sm == 1 ? group(x, warps, share, needed) : 0;
    p->launch.block = mma_sync_threads(x, warps);
    p->launch.min_blocks = p->blocks_per_sm;
    p->register_limit = most->set                            ? (int)most->integer
                        : x->grouped                         ? 0
                        : share < arch->registers_per_thread ? share
                                                             : arch->registers_per_thread;
    x->d.registers = x->grouped ? moved : p->register_limit;
    p->allow_spills = spills->set && spills->integer;
    return family_add_value(p, "pipeline.warps_m", x->warps_m) || family_add_value(p, "pipeline.warps_n", x->d.warps_n)
               ? 3
               : 0;
}

/* Items a block takes: one, unless the spec says more. */
static int items(struct pipeline *x)
{
    const struct spec_value *persistent = pipeline_field(x, "schedule.persistent");
    bool several = persistent->set && persistent->integer;
    int status = family_reason(x->plan, "schedule.persistent", several ? "true" : "false", "%s",
                               persistent->set ? spec_reason(persistent)
                                               : "a block that begins hides the end of the block before it on the same "
                                                 "multiprocessor");
    x->plan->launch.once = !several && !x->bulk;
    return status ? status : pipeline_items(x, several);
}

static int decide(struct pipeline *x)
{
    struct plan *p = x->plan;
    int status = pipeline_open(x);
    x->d.consumers = x->d.abreast = x->d.warps_n = x->blocks = x->parts = 1;
    x->d.synchronous = true;
    for (int i = 0; i < SPEC_MAX_AXES; i++)
        x->cluster[i] = 1;
    if (status)
        return status;
    const char *no_bulk = x->l->arch->tma ? mma_sync_no_bulk(x) : NULL;
    x->bulk = x->l->arch->tma && !no_bulk;
    if (no_bulk && family_reason(p, "rings", "cp_async", "%s", no_bulk))
        return 3;
    status = mma_sync_warps(x);
    for (int i = 0; i < x->program->op_count && status != 3; i++)
        if (x->program->op[i].kind == PROGRAM_DOT)
            status |= mma_sync_dot(x, i);
    status |= pipeline_least_stages(x);
    status |= status == 3 ? 0 : pipeline_carried(x);
    status = status ? status
                    : pipeline_resident(x, mma_sync_registers(x, 0) - pipeline_registers_taken(x), register_limit(x));
    status |= status == 3 ? 0 : mma_sync_tensors(x);
    status |= status == 3 ? 0 : mma_sync_stages(x);
    status = status ? status : mma_sync_check_registers(x);
    if (status)
        return status;
    expr_free(&p->fused); /* the program's own nodes: those of the steps take their place */
    status = pipeline_loops(x);
    status = status || x->bulk ? status : prologues(x);
    status = status ? status : launch(x);
    status = status ? status : items(x);
    status = status ? status : pipeline_part_memory(x);
    status = status ? status : pipeline_list(x);
    status = status ? status : pipeline_visible(x);
    status = status ? status : what_means_nothing(x);
    status = status ? status : roles(x);
    status = status ? status : pipeline_elements(x);
    status = status ? status : pipeline_polynomial(x);
    status = status ? status : family_bytes_moved(p);
    if (status)
        return status;
    p->registers_estimate = mma_sync_registers(x, register_limit(x));
    family_place_shared(p);
    return family_pack_params(p);
}

static bool takes(const struct spec_kernel *kernel, const struct program *program, const struct arch *arch)
{
    (void)kernel;
    return !arch->wgmma && program_holds(program, PROGRAM_DOT);
}

static int variants(const struct spec *spec, const struct spec_kernel *kernel, const struct arch *arch)
{
    (void)spec;
    (void)kernel;
    (void)arch;
    return 2;
}

static int lower(const struct program_lowering *l)
{
    return pipeline_lower_split(l, "program.mma_sync.cu", decide);
}

const struct program_lowerer program_lower_mma_sync = {"mma_sync", takes, variants, lower};
