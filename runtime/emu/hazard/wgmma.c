/* wgmma and its registers.

   A register that a wgmma has used is known from then on, and the executor tells what else happens to it:

       wgmma ----> in flight --wait_group--> free --touched--> dirty --wgmma.fence--> free
                      |                                          |
                      +-- touched: REG-IN-FLIGHT                 +-- wgmma: WGMMA-FENCE  */
#include "engine.h"
#include "matrix.h"

static int in_flight(const struct hz_warp *w, const struct hz_register *r)
{
    const struct hz_operation *o = hz_operation_of(w->cluster, r->operation);
    return o && !o->write_done;
}

static int register_room(struct hz_warp *w, uint32_t reg)
{
    struct emu_hazard *h = w->cluster->h;
    if (reg >= w->face.register_count) {
        uint32_t room = (reg + 64) & ~63u, old = w->face.register_count;
        if (hz_grow(h, &w->registers, &old, room, sizeof *w->registers))
            return 1;
        uint32_t count = w->face.register_count, written = count;
        if (hz_grow(h, &w->face.registers, &count, old, 1) ||
            hz_grow(h, &w->face.written, &written, old, sizeof *w->face.written))
            return 1;
        w->face.register_count = old < count ? old : count;
    }
    return 0;
}

/* Makes the register known. 1: no memory. */
static int register_know(struct hz_warp *w, uint32_t reg)
{
    struct emu_hazard *h = w->cluster->h;
    if (register_room(w, reg))
        return 1;
    if (w->registers[reg].known)
        return 0;
    if (hz_grow(h, &w->known_registers, &w->known_room, w->known_count + 1, sizeof *w->known_registers))
        return 1;
    w->known_registers[w->known_count++] = reg;
    w->registers[reg] = (struct hz_register){.known = 1, .touched = EMU_HAZARD_NOWHERE};
    w->face.watched = 1;
    return 0;
}

static void finding(struct hz_warp *w, enum emu_hazard_name name, uint32_t position, uint32_t other, const char *text)
{
    struct hz_finding f = {.name = name,
                           .warp = w,
                           .lanes = w->lanes,
                           .position = position,
                           .other = other,
                           .other_block = w->cluster->first + w->rank,
                           .other_warp = w->index};
    hz_report(w->cluster->h, &f, "%s", text);
}

static void use(struct hz_warp *w, uint32_t reg, emu_hazard_operation operation, uint32_t shape, uint32_t position)
{
    if (register_know(w, reg))
        return;
    struct hz_register *r = &w->registers[reg];
    if (in_flight(w, r)) {
        if (r->shape != shape)
            finding(w, EMU_HAZARD_REG_IN_FLIGHT, position, r->position,
                    shape ? "accumulator of a wgmma that another wgmma, of another shape, still uses"
                          : "fragment of A in registers that another wgmma still writes");
    } else if (!w->wgmma_fences) {
        finding(w, EMU_HAZARD_WGMMA_FENCE, position, EMU_HAZARD_NOWHERE, "wgmma without a wgmma.fence before it");
    } else if (r->dirty) {
        finding(w, EMU_HAZARD_WGMMA_FENCE, position, r->touched,
                "wgmma uses a register that was accessed since the last wgmma.fence");
    } else if (w->face.written[reg] == w->wgmma_fences + 1) {
        finding(w, EMU_HAZARD_WGMMA_FENCE, position, EMU_HAZARD_NOWHERE,
                "wgmma uses a register that was computed since the last wgmma.fence");
    } else if (r->operation && r->shape != shape && r->fences == w->wgmma_fences) {
        finding(w, EMU_HAZARD_WGMMA_FENCE, position, r->position,
                "wgmma uses a register of a wgmma of another shape, without wgmma.fence between");
    }
    if (r->dirty)
        w->dirty_count--;
    *r = (struct hz_register){.operation = operation,
                              .shape = shape,
                              .fences = w->wgmma_fences,
                              .position = position,
                              .touched = EMU_HAZARD_NOWHERE,
                              .known = 1};
    w->face.registers[reg] = 1;
}

emu_hazard_operation emu_hazard_wgmma_issue(struct emu_hazard_warp *warp, const struct emu_hazard_wgmma *wgmma,
                                            uint32_t position)
{
    struct hz_warp *w = hz_warp_of(warp);
    emu_hazard_operation operation = emu_hazard_issue(warp, w->alive, EMU_HAZARD_WGMMA, position);
    if (!operation)
        return 0;
    struct hz_operation *o = hz_operation_of(w->cluster, operation);
    w->wgmma_epochs[w->wgmma_issued++ % HZ_WGMMA_ISSUES] = w->clock.at[w->component];
    w->groups[EMU_HAZARD_WGMMA].open_epoch = ++w->clock.at[w->component]; /* what it does behind it is told apart */
    o->wgmma = w->wgmma_issued;
    o->wgmma_first = o->wgmma_first ? o->wgmma_first : o->wgmma;
    for (uint32_t i = 0; i < wgmma->fragment_count; i++)
        use(w, wgmma->fragments[i], operation, 0, position);
    for (uint32_t i = 0; i < wgmma->accumulator_count; i++)
        use(w, wgmma->accumulators[i], operation, wgmma->shape, position);
    return operation;
}

int emu_hazard_wgmma_doubtful(struct emu_hazard_warp *warp, emu_hazard_operation operation)
{
    const struct hz_operation *o = hz_operation_of(hz_warp_of(warp)->cluster, operation);
    return o && o->doubtful;
}

/* A shape that no wgmma has: the register is what a tcgen05.ld writes. */
enum { LOADED = INT32_MAX };

void emu_hazard_tensor_loads(struct emu_hazard_warp *warp, emu_hazard_operation operation, const uint32_t *registers,
                             uint32_t count, uint32_t position)
{
    struct hz_warp *w = hz_warp_of(warp);
    for (uint32_t i = 0; i < count && w->cluster->h->options.strict; i++) {
        if (register_know(w, registers[i]))
            return;
        w->registers[registers[i]] = (struct hz_register){
            .operation = operation, .shape = LOADED, .position = position, .touched = EMU_HAZARD_NOWHERE, .known = 1};
        w->face.registers[registers[i]] = 1;
    }
}

/* PTX ISA 9.7.16.6.4.5: who reads what a tcgen05.ld writes does wait for it; but not for its accesses to memory, and
   tcgen05.wait::ld is what every kernel has there. */
static void loaded(struct hz_warp *w, const struct hz_register *r, int write, uint32_t position)
{
    finding(w, EMU_HAZARD_REG_IN_FLIGHT, position, r->position,
            write ? "write of a register of a tcgen05.ld that no tcgen05.wait::ld has covered"
                  : "read of a register of a tcgen05.ld that no tcgen05.wait::ld has covered");
}

void emu_hazard_written(struct emu_hazard_warp *warp, uint32_t reg, uint32_t by)
{
    struct hz_warp *w = hz_warp_of(warp);
    if (register_room(w, by == EMU_HAZARD_NOWHERE || by < reg ? reg : by))
        return;
    w->face.written[reg] = by == EMU_HAZARD_NOWHERE ? w->wgmma_fences + 1 : w->face.written[by];
}

void emu_hazard_wgmma_fence(struct emu_hazard_warp *warp)
{
    struct hz_warp *w = hz_warp_of(warp);
    w->wgmma_fences++;
    w->face.watched = 1;
    for (uint32_t i = 0; w->dirty_count && i < w->known_count; i++) {
        struct hz_register *r = &w->registers[w->known_registers[i]];
        if (r->dirty) {
            r->dirty = 0;
            w->dirty_count--;
            w->face.registers[w->known_registers[i]] = 1;
        }
    }
}

void emu_hazard_register(struct emu_hazard_warp *warp, uint32_t reg, int write, uint32_t position)
{
    struct hz_warp *w = hz_warp_of(warp);
    if (reg >= w->face.register_count || !w->registers[reg].known)
        return;
    struct hz_register *r = &w->registers[reg];
    if (r->shape == LOADED) {
        w->face.registers[reg] = in_flight(w, r) ? 1 : 0;
        if (w->face.registers[reg])
            loaded(w, r, write, position);
        return;
    }
    if (in_flight(w, r)) {
        if (r->shape)
            finding(w, EMU_HAZARD_REG_IN_FLIGHT, position, r->position,
                    write ? "write of an accumulator of a wgmma that no wait_group has covered"
                          : "read of an accumulator of a wgmma that no wait_group has covered");
        else
            finding(w, EMU_HAZARD_REG_IN_FLIGHT, position, r->position,
                    write ? "write of a fragment of A of a wgmma that no wait_group has covered"
                          : "read of a fragment of A of a wgmma that no wait_group has covered");
    }
    if (!r->dirty) {
        r->dirty = 1;
        w->dirty_count++;
        r->touched = position;
    }
    w->face.registers[reg] = in_flight(w, r) ? 1 : 0;
}

/* ---- Groups ------------------------------------------------------------------------------------------------------ */

/* A group is one operation of the warpgroup. Whoever has waited for it knows that all four warps have committed it, and
   so what they did before; and that none of them reads its operands any more. */
static struct hz_warpgroup *warpgroup_of(const struct hz_warp *w)
{
    struct emu_hazard_cluster *c = w->cluster;
    uint32_t each = (c->h->warps + 3) / 4;
    if (!c->warpgroups)
        c->warpgroups = hz_alloc(c->h, c->h->options.blocks * each * sizeof *c->warpgroups);
    return c->warpgroups ? &c->warpgroups[w->rank * each + w->index / 4] : NULL;
}

void hz_wgmma_commit(struct hz_warp *w, uint32_t lanes, uint32_t group)
{
    struct emu_hazard *h = w->cluster->h;
    struct hz_warpgroup *g = warpgroup_of(w);
    if (h->status || !g)
        return;
    hz_clock_join(h, &g->committed[group % HZ_WGMMA_GROUPS], &w->clock);
    hz_known_join(h, &g->known, &w->known);
    hz_release(w, lanes);
}

void hz_wgmma_waited(struct hz_warp *w, uint32_t limit)
{
    struct emu_hazard *h = w->cluster->h;
    const struct hz_wgmma_wait *last = &w->wgmma_waits[(w->wgmma_wait_count - 1) % HZ_WGMMA_WAITS];
    uint32_t from = w->wgmma_wait_count ? last->limit : 0;
    const struct hz_warpgroup *g = from < limit ? warpgroup_of(w) : NULL;
    if (h->status || !g)
        return;
    if (limit - from > HZ_WGMMA_GROUPS)
        from = limit - HZ_WGMMA_GROUPS;
    for (; from < limit; from++) {
        const struct hz_clock *clock = &g->committed[from % HZ_WGMMA_GROUPS];
        hz_clock_join(h, &w->clock, clock);
        if (w->acquired)
            hz_clock_join(h, &w->behind, clock);
    }
    hz_known_join(h, &w->known, &g->known);
    w->wgmma_waits[w->wgmma_wait_count++ % HZ_WGMMA_WAITS] = (struct hz_wgmma_wait){limit, w->clock.at[w->component]};
}

uint32_t hz_wgmma_known(const struct hz_warp *w, uint32_t group)
{
    uint32_t kept = w->wgmma_wait_count < HZ_WGMMA_WAITS ? w->wgmma_wait_count : HZ_WGMMA_WAITS, epoch = 0;
    for (uint32_t i = 1; i <= kept; i++) {
        const struct hz_wgmma_wait *wait = &w->wgmma_waits[(w->wgmma_wait_count - i) % HZ_WGMMA_WAITS];
        if (wait->limit <= group)
            break;
        epoch = wait->epoch;
    }
    return epoch;
}

void hz_warpgroups_free(struct emu_hazard_cluster *c)
{
    uint32_t count = c->warpgroups ? c->h->options.blocks * ((c->h->warps + 3) / 4) : 0;
    for (uint32_t i = 0; i < count; i++) {
        for (int k = 0; k < HZ_WGMMA_GROUPS; k++)
            hz_clock_free(c->h, &c->warpgroups[i].committed[k]);
        hz_known_clear(c->h, &c->warpgroups[i].known);
    }
    tw_free(c->h->rt, c->warpgroups);
}
