/* The checks of a Plan but the protocol's: does it fit the architecture, and do its numbers agree with each other.
 *
 * Rule ids: TMA-*     a tensor map breaks a rule of the runtime's table (runtime/tensormap/tensormap_rules.def)
 *           MAP       a tensor map and its tensor disagree
 *           SWIZZLE   map, shared memory and matrix operand disagree about a swizzle
 *           ARCH      the architecture is unknown or lacks what the Plan uses
 *           SMEM, SMEM-ALIGN, SMEM-OVERLAP, SMEM-SIZE   the shared-memory map
 *           REGS      register budgets        MMA-SHAPE  matrix instructions
 *           CLUSTER   clusters and multicast  THREADS    warps of the roles and the block
 *           BARRIER   named barriers          PARAMS     the parameter buffer
 *           ITEMS     blocks that take one item each, and the grid
 *           PLACE, NODE (check_places.c)      PROTOCOL-ARRIVALS, PROTOCOL-BYTES (protocol_counts.c)
 */
#include "plan/plan.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "arch/arch.h"
#include "plan/map_pointers.h"
#include "plan/map_windows.h"
#include "plan/protocol.h"
#include "tensormap/tensormap.h"

struct check {
    const struct plan *p;
    const struct arch *arch;
    struct diag_set *diags;
};

__attribute__((format(printf, 4, 5))) static void fault(const struct check *c, const char *field, const char *rule,
                                                        const char *format, ...)
{
    char text[768];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    diag_report(c->diags, DIAG_ERROR, c->p->loc, c->p->kernel, field, rule, "%s", text);
}

/* The same at the tensor's place in the spec, where that is known. */
__attribute__((format(printf, 4, 5))) static void tensor_fault(const struct check *c, const struct plan_tensor *t,
                                                               const char *rule, const char *format, ...)
{
    char text[768];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    diag_report(c->diags, DIAG_ERROR, t->loc.line > 0 ? t->loc : c->p->loc, c->p->kernel, t->name, rule, "%s", text);
}

static int64_t align_up(int64_t value, int64_t align)
{
    return (value + align - 1) / align * align;
}

static bool power_of_two(int value)
{
    return value > 0 && (value & (value - 1)) == 0;
}

static int elements(const int *extent, int rank)
{
    int product = 1;
    for (int d = 0; d < rank; d++)
        product *= extent[d] > 0 ? extent[d] : 1;
    return product;
}

/* ---- tensor maps ----------------------------------------------------------------------------------------------- */

/* The call with constants where the Plan has them. Symbols stand for values that keep every rule: the emitted host code
 * checks what a launch passes. */
static struct tw_tensormap_call representative(const struct plan *p, const struct plan_map *m)
{
    const struct plan_tensor *t = &p->tensor[m->tensor];
    int64_t bytes = (int64_t)tw_dtype_bytes(t->dtype), value;
    struct tw_tensormap_call call = {.func = TW_TENSORMAP_TILED,
                                     .dtype = (uint32_t)tw_dtype_info(t->dtype)->tensormap,
                                     .rank = (uint32_t)m->rank,
                                     .addr = 1 << 20,
                                     .swizzle = tw_swizzles[m->swizzle].tensormap,
                                     .l2 = (uint32_t)m->l2_promotion};
    for (int i = 0; i < m->rank; i++) {
        const int d = map_dim(t, i); /* the map's innermost dimension comes first, the tensor's last */
        if (d < 0) {
            call.dim[i] = map_pointer_extent(t, i);
            call.stride[i - 1] = map_pointer_stride(t, i);
            call.box[i] = call.estride[i] = 1;
            continue;
        }
        bool constant = expr_is_int(&p->graph, t->dim[d], &value) && value > 0;
        const bool spatial = t->window.dims && i > 0 && i + 1 < m->rank;
        call.dim[i] = constant ? (uint64_t)value : spatial ? MAP_IMAGE : 4096;
        call.box[i] = (uint32_t)m->box[i];
        call.estride[i] = 1;
        if (i == 0)
            continue;
        constant = expr_is_int(&p->graph, t->stride[d], &value);
        call.stride[i - 1] = constant ? (uint64_t)(value * bytes) : (uint64_t)(65536 * i);
    }
    map_windows(m, &t->window, &call);
    return call;
}

/* A constant stride of `bytes` in dim d of the tensor is no multiple of `unit` bytes: what the spec has to say instead.
 */
static void stride_fault(const struct check *c, const struct plan_tensor *t, int d, int64_t bytes, int64_t unit)
{
    int64_t size = (int64_t)tw_dtype_bytes(t->dtype), padded = align_up(bytes, unit) / size;
    if (t->rank == 2)
        tensor_fault(c, t, "TMA-STR16",
                     "its rows are %lld bytes (%lld %s) apart, no multiple of the %lld that a tensor map asks for; pad "
                     "them, write stride = { %lld, 1 }",
                     (long long)bytes, (long long)(bytes / size), tw_dtype_name(t->dtype), (long long)unit,
                     (long long)padded);
    else
        tensor_fault(
            c, t, "TMA-STR16",
            "the stride of dim %d is %lld bytes (%lld %s), no multiple of the %lld that a tensor map asks for; "
            "pad it, write %lld in stride",
            d + 1, (long long)bytes, (long long)(bytes / size), tw_dtype_name(t->dtype), (long long)unit,
            (long long)padded);
}

/* A load's offset along each spatial dim of the image reaches the last tap. */
static void check_windows(const struct check *c, const struct plan_tensor *t)
{
    const struct spec_window *w = &t->window;
    const int most = map_most_offset[w->dims - 1];
    for (int i = 0; i < w->dims; i++)
        if (window_reach(w, i) > most)
            tensor_fault(
                c, t, "TMA-OFFSET",
                "the last of %d taps, %d pixels apart, lies %d pixels behind the first along dim %d, and loads "
                "reach %d in images of %d spatial dims; write fewer taps or a smaller dilation",
                w->taps[i], w->dilation[i], window_reach(w, i), i + 2, most, w->dims);
}

static void check_map(const struct check *c, const struct plan_map *m)
{
    const struct plan *p = c->p;
    if (m->tensor < 0 || m->tensor >= p->tensor_count) {
        fault(c, m->name, "MAP", "the map is of tensor %d, but the Plan has %d tensors", m->tensor, p->tensor_count);
        return;
    }
    const struct plan_tensor *t = &p->tensor[m->tensor];
    if (!c->arch->tma)
        fault(c, t->name, "ARCH", "%s has no tensor maps; read the tensor by cp.async", c->arch->name);
    if (m->rank != map_rank(t) || m->rank < 1 || m->rank > SPEC_MAX_RANK) {
        fault(c, t->name, "MAP", "the map has rank %d, the tensor asks for %d; both 1 to %d", m->rank, map_rank(t),
              SPEC_MAX_RANK);
        return;
    }
    if (m->swizzle != t->swizzle)
        fault(c, t->name, "SWIZZLE",
              "the tile lies in shared memory with swizzle %s and the map %s writes %s; write one",
              tw_swizzles[t->swizzle].name, m->name, tw_swizzles[m->swizzle].name);
    bool own = t->map == (int)(m - p->map); /* the others are of parts, or of runs of rows by number */
    for (int i = 0; i < m->rank && map_dim(t, i) >= 0; i++) {
        const int dim = map_dim(t, i), most = t->run > 1 && plan_number(t->gathered) == dim ? t->run : t->box[dim];
        if (m->box[i] != t->box[dim] && (own || m->box[i] > most))
            fault(c, t->name, "MAP", "box extent %d of the map is %d, of the tensor %d; write one", i, m->box[i],
                  t->box[dim]);
    }
    if (!c->arch->tma)
        return;
    if (t->window.dims)
        check_windows(c, t);
    int64_t apart;
    if (t->maps && expr_is_int(&p->graph, t->stride[0], &apart) && apart * (int64_t)tw_dtype_bytes(t->dtype) % 16)
        stride_fault(c, t, 0, apart * (int64_t)tw_dtype_bytes(t->dtype), 16); /* of no map: of their addresses */
    struct tw_tensormap_call call = representative(p, m);
    struct tw_tensormap_verdict verdict;
    int cc = c->arch->major * 10 + c->arch->minor;
    tw_tensormap_check(&call, cc, &verdict);
    for (int i = 0; i < verdict.count; i++) {
        char text[TW_TENSORMAP_MESSAGE];
        const struct tw_tensormap_finding *f = &verdict.finding[i];
        if (f->rule == TW_TENSORMAP_RULE_STR16)
            stride_fault(c, t, t->rank - 2 - (int)f->entry, (int64_t)f->value, (int64_t)f->bound);
        else if (!f->warning)
            tensor_fault(c, t, tw_tensormap_rule_name(f->rule), "%s",
                         tw_tensormap_message(&call, cc, f, text, sizeof text));
    }
}

/* ---- tiles, clusters ------------------------------------------------------------------------------------------- */

static int cluster_size(const struct plan *p)
{
    int size = 1;
    for (int i = 0; i < 3; i++)
        size *= p->launch.cluster[i] > 0 ? p->launch.cluster[i] : 1;
    return size;
}

/* A tile that copies fill: what its boxes bring is what it holds. */
static void check_tile(const struct check *c, const struct plan_tensor *t)
{
    int bytes = (int)tw_dtype_bytes(t->dtype), shares = t->multicast > 1 ? t->multicast : 1;
    int blocks = cluster_size(c->p), boxes = t->boxes * (t->gathered ? t->tile[plan_number(t->gathered)] : 1);
    if (elements(t->tile, t->rank) * bytes != t->tile_bytes)
        fault(c, t->name, "SMEM-SIZE", "its tile has %d elements of %d bytes and tile_bytes is %d; write %d",
              elements(t->tile, t->rank), bytes, t->tile_bytes, elements(t->tile, t->rank) * bytes);
    if (shares > 1 && blocks % shares != 0)
        fault(c, t->name, "CLUSTER",
              "each box goes to %d blocks, which do not divide the cluster's %d; write a cluster that "
              "is a multiple",
              shares, blocks);
    bool splits = shares == 1;
    for (int d = 0; d < t->rank - 1; d++)
        splits |= t->tile[d] > 0 && t->tile[d] % shares == 0;
    if (!splits)
        fault(c, t->name, "CLUSTER",
              "%d blocks share the tile, but none of its extents is a multiple of %d; write such a "
              "tile or a smaller cluster",
              shares, shares);
    else if (t->access == PLAN_ACCESS_TMA && elements(t->box, t->rank) * bytes * boxes * shares != t->tile_bytes)
        fault(c, t->name, "MAP", "%d boxes of %d bytes from each of %d block%s bring %d bytes, but the tile holds %d",
              boxes, elements(t->box, t->rank) * bytes, shares, shares > 1 ? "s" : "",
              elements(t->box, t->rank) * bytes * boxes * shares, t->tile_bytes);
    if (t->boxes > 1 && t->box_bytes * t->boxes != t->tile_bytes)
        fault(c, t->name, "MAP", "%d columns of %d bytes are %d, but the tile holds %d; write box_bytes = %d", t->boxes,
              t->box_bytes, t->boxes * t->box_bytes, t->tile_bytes, t->tile_bytes / t->boxes);
}

static void check_cluster(const struct check *c)
{
    int size = cluster_size(c->p);
    if (size > 1 && !c->arch->clusters)
        fault(c, "cluster", "ARCH", "%s has no clusters; write cluster = { m = 1, n = 1 }", c->arch->name);
    else if (size > c->arch->max_cluster)
        fault(c, "cluster", "CLUSTER", "%d blocks in a cluster, %s takes %d; write a smaller cluster", size,
              c->arch->name, c->arch->max_cluster);
}

/* ---- shared memory --------------------------------------------------------------------------------------------- */

/* The region of a ring's tensor: "ring.tensor", or of a tensor outside rings: "tensor". */
static const struct plan_shared *region_of(const struct plan *p, const struct plan_ring *ring, const char *tensor)
{
    size_t length = strlen(ring->name);
    for (int i = 0; i < p->shared_count; i++) {
        const char *name = p->shared[i].name;
        bool whole = ring->filler == PLAN_FILL_THREADS && strcmp(name, ring->name) == 0; /* of all its tensors */
        if ((strcmp(name, tensor) == 0 && !whole) ||
            (strncmp(name, ring->name, length) == 0 && name[length] == '.' && strcmp(name + length + 1, tensor) == 0))
            return &p->shared[i];
    }
    return NULL;
}

static void check_ring_memory(const struct check *c, const struct plan_ring *ring)
{
    const struct plan *p = c->p;
    for (int i = 0; i < ring->tensor_count; i++) {
        const struct plan_tensor *t = &p->tensor[ring->tensor[i]];
        const struct plan_shared *m = region_of(p, ring, t->name);
        if (!m)
            continue;
        const bool element = t->access == PLAN_ACCESS_GLOBAL && t->tile_bytes < 16; /* that was sent */
        int align = element ? t->tile_bytes : (int)tw_swizzles[t->swizzle].align;
        int each = m->count > 0 ? m->bytes / m->count : m->bytes;
        if (m->align % align != 0 || each % align != 0)
            fault(
                c, m->name, "SMEM-ALIGN",
                "swizzle %s repeats every %d bytes, but the region is aligned to %d and its stages are %d bytes apart; "
                "write multiples of %d",
                tw_swizzles[t->swizzle].name, align, m->align, each, align);
        if (m->count != ring->stages)
            fault(c, m->name, "SMEM-SIZE", "holds %d stages, ring %s has %d; write one", m->count, ring->name,
                  ring->stages);
        if (ring->filler != PLAN_FILL_THREADS && ring->filler != PLAN_FILL_ARRIVE && each != t->tile_bytes)
            fault(c, m->name, "SMEM-SIZE", "each stage has %d bytes, the tile of %s %d; write %d", each, t->name,
                  t->tile_bytes, t->tile_bytes * m->count);
    }
    const int barriers[2] = {ring->full_shared, ring->empty_shared};
    const bool barred =
        ring->filler == PLAN_FILL_BULK || ring->filler == PLAN_FILL_ARRIVE || ring->filler == PLAN_FILL_PEERS;
    const bool own = ring->filler == PLAN_FILL_OWN;
    const int all = ring->stages * protocol_stage_sets(p, (int)(ring - p->ring));
    for (int i = 0; i < (own ? 1 : 2) && (barred || own); i++) {
        if (barriers[i] < 0 || barriers[i] >= p->shared_count) {
            fault(c, ring->name, "SMEM-SIZE", "the ring's %s barriers have no shared memory; give them 8 bytes a stage",
                  i ? "empty" : "full");
            continue;
        }
        const struct plan_shared *m = &p->shared[barriers[i]];
        if (m->bytes != 8 * all || m->count != all)
            fault(c, m->name, "SMEM-SIZE", "%d mbarriers in %d bytes, ring %s has %d stages; write %d bytes", m->count,
                  m->bytes, ring->name, all, 8 * all);
    }
}

/* Stages that would fit, the rest of the Plan being as it is; 0 where none would. */
static int stages_that_fit(const struct check *c, const struct plan_ring *ring)
{
    int64_t stage = 0;
    for (int i = 0; i < ring->tensor_count; i++)
        stage += c->p->tensor[ring->tensor[i]].tile_bytes;
    int64_t rest = c->p->launch.shared_bytes - stage * ring->stages;
    int64_t room = c->arch->shared_limit - rest;
    return stage > 0 && room > 0 ? (int)(room / stage) : 0;
}

static void check_shared(const struct check *c)
{
    const struct plan *p = c->p;
    int64_t end = 0;
    if (p->shared_count > 0 && !power_of_two(p->shared_align))
        fault(c, "shared_align", "SMEM-ALIGN", "%d is no power of two", p->shared_align);
    for (int i = 0; i < p->shared_count; i++) {
        const struct plan_shared *m = &p->shared[i];
        if (m->offset < 0 || m->bytes < 0 || m->count < 1 || !power_of_two(m->align)) {
            fault(c, m->name, "SMEM-SIZE", "offset %d, %d bytes, alignment %d and count %d are no region", m->offset,
                  m->bytes, m->align, m->count);
            continue;
        }
        if (m->offset % m->align != 0 || p->shared_align % m->align != 0)
            fault(c, m->name, "SMEM-ALIGN",
                  "offset %d from a base aligned to %d is no multiple of %d; write offset = %d, shared_align = %d",
                  m->offset, p->shared_align, m->align, (int)align_up(m->offset, m->align),
                  p->shared_align > m->align ? p->shared_align : m->align);
        for (int o = 0; o < i; o++) {
            const struct plan_shared *other = &p->shared[o];
            if (m->offset < other->offset + other->bytes && other->offset < m->offset + m->bytes)
                fault(c, m->name, "SMEM-OVERLAP", "bytes %d..%d overlap %s at %d..%d; write another offset", m->offset,
                      m->offset + m->bytes - 1, other->name, other->offset, other->offset + other->bytes - 1);
        }
        end = m->offset + m->bytes > end ? m->offset + m->bytes : end;
    }
    if (end > p->launch.shared_bytes)
        fault(c, "shared_bytes", "SMEM-SIZE",
              "the regions end at %lld, beyond the %d bytes of the launch; write at least %lld", (long long)end,
              p->launch.shared_bytes, (long long)end);
    for (int g = 0; g < p->ring_count; g++)
        check_ring_memory(c, &p->ring[g]);
    if (p->launch.shared_bytes <= c->arch->shared_limit)
        return;
    for (int g = 0; g < p->ring_count; g++) {
        int fit = stages_that_fit(c, &p->ring[g]);
        if (p->ring[g].filler == PLAN_FILL_THREADS || p->ring[g].filler == PLAN_FILL_OWN || fit < 1)
            continue;
        fault(c, "pipeline.stages", "SMEM",
              "%d stages need %d bytes of shared memory, a block on %s has %d; write %d or less", p->ring[g].stages,
              p->launch.shared_bytes, c->arch->name, c->arch->shared_limit, fit);
        return;
    }
    fault(c, "tile", "SMEM", "%d bytes of shared memory, a block on %s has %d; write a smaller tile",
          p->launch.shared_bytes, c->arch->name, c->arch->shared_limit);
}

/* ---- threads and registers ------------------------------------------------------------------------------------- */

/* The node asks for the number of multiprocessors. */
static bool asks_device(const struct plan *p, int node)
{
    const struct expr_node *n = &p->graph.node[node];
    bool asks = n->op == EXPR_SYMBOL && n->integer == p->symbol_count - 1;
    for (int i = 0; i < 3 && !asks; i++)
        asks = n->arg[i] >= 0 && asks_device(p, n->arg[i]);
    return asks;
}

static void check_threads(const struct check *c)
{
    const struct plan *p = c->p;
    int warps = 0;
    for (int i = 0; i < p->role_count; i++) {
        const struct plan_role *r = &p->role[i];
        if (r->warps < 1 || r->instances < 1 || r->warps % r->instances != 0)
            fault(c, r->name, "THREADS", "%d warps do not make %d instances alike; write a multiple", r->warps,
                  r->instances);
        for (int o = 0; o < i; o++)
            if (r->first_warp < p->role[o].first_warp + p->role[o].warps &&
                p->role[o].first_warp < r->first_warp + r->warps)
                fault(c, r->name, "THREADS", "warps %d..%d are also role %s; give each its own", r->first_warp,
                      r->first_warp + r->warps - 1, p->role[o].name);
        if (r->first_warp < 0 || (r->first_warp + r->warps) * 32 > p->launch.block)
            fault(c, r->name, "THREADS", "warps %d..%d lie outside the block of %d threads", r->first_warp,
                  r->first_warp + r->warps - 1, p->launch.block);
        warps += r->warps;
    }
    if (p->launch.block < 1 || p->launch.block > c->arch->max_threads)
        fault(c, "threads", "THREADS", "%d threads, a block on %s has at most %d; write less", p->launch.block,
              c->arch->name, c->arch->max_threads);
    else if (p->role_count > 0 && warps * 32 != p->launch.block)
        fault(c, "threads", "THREADS", "the roles have %d threads, the block %d; write block = %d", warps * 32,
              p->launch.block, warps * 32);
    for (int i = 0; i < 3 && p->launch.once; i++)
        if (asks_device(p, p->launch.grid[i]))
            fault(c, "launch.once", "ITEMS",
                  "a block takes one item, but how many there are is not all that the grid depends on; write once = "
                  "false");
    for (int i = 0; i < p->barrier_count; i++) {
        const struct plan_barrier *b = &p->barrier[i];
        if (b->id < 0 || b->id >= c->arch->named_barriers)
            fault(c, b->name, "BARRIER", "hardware barrier %d, a block has 0 to %d", b->id,
                  c->arch->named_barriers - 1);
        if (b->threads < 32 || b->threads % 32 != 0 || b->threads > p->launch.block)
            fault(c, b->name, "BARRIER", "%d threads; write a multiple of 32, at most the block's %d", b->threads,
                  p->launch.block);
    }
}

/* Registers that each thread of a kernel with budgets is launched with. */
static int first_registers(const struct check *c)
{
    const struct plan_launch *launch = &c->p->launch;
    int blocks = launch->min_blocks > 1 ? launch->min_blocks : 1,
        most = (int)align_up(c->arch->registers_per_thread, 8);
    int share = launch->block > 0 ? c->arch->registers_per_block / blocks / launch->block / 8 * 8 : most;
    return share < most ? share : most;
}

/* What the role keeps after setmaxnreg, or what the kernel is compiled for. */
static void check_registers(const struct check *c)
{
    const struct plan *p = c->p;
    int64_t sum = 0;
    int most = 0;
    bool budgets = false;
    for (int i = 0; i < p->role_count; i++) {
        const struct plan_role *r = &p->role[i];
        most = r->registers > most ? r->registers : most;
        sum += (int64_t)r->warps * 32 * r->registers;
        if (r->registers == 0)
            continue;
        budgets = true;
        if (!c->arch->setmaxnreg)
            fault(c, r->name, "ARCH", "%s has no setmaxnreg; write registers = 0", c->arch->name);
        if (r->registers < 24 || r->registers > 256 || r->registers % 8 != 0)
            fault(c, r->name, "REGS", "setmaxnreg takes multiples of 8 from 24 to 256, this is %d; write %d",
                  r->registers,
                  r->registers < 24    ? 24
                  : r->registers > 256 ? 256
                                       : r->registers / 8 * 8);
        if (r->first_warp % 4 != 0 || r->warps % 4 != 0)
            fault(c, r->name, "REGS",
                  "setmaxnreg acts on whole warpgroups, the role has warps %d..%d; write multiples of 4", r->first_warp,
                  r->first_warp + r->warps - 1);
    }
    for (int i = 0; i < p->role_count && budgets; i++)
        if (p->role[i].registers == 0)
            fault(c, p->role[i].name, "REGS",
                  "other roles move registers by setmaxnreg, so this one needs a budget; write "
                  "registers = 24 or more");
    int begin = first_registers(c);
    if (sum > (int64_t)begin * p->launch.block)
        fault(c, "registers", "REGS",
              "the roles' budgets are %lld registers, and setmaxnreg shares out what the %d threads begin with, %d "
              "each, %lld in all; write smaller budgets",
              (long long)sum, p->launch.block, begin, (long long)begin * p->launch.block);
    if (!budgets) {
        int64_t need = (int64_t)p->launch.block * (int64_t)align_up(p->registers_estimate, 8);
        most = p->register_limit;
        if (need > c->arch->registers_per_block)
            fault(c, "registers", "REGS",
                  "%d threads with about %d registers need %lld, a block has %d; write a smaller tile "
                  "or less threads",
                  p->launch.block, p->registers_estimate, (long long)need, c->arch->registers_per_block);
    }
    if (most > c->arch->registers_per_thread || most == 0)
        most = c->arch->registers_per_thread;
    if (p->registers_estimate > most && !p->allow_spills)
        fault(c, "tile", "REGS",
              "a thread needs about %d registers, its budget is %d; write a smaller tile or more consumers",
              p->registers_estimate, most);
    int resident = arch_resident_blocks(c->arch, p->launch.block, 0, p->launch.shared_bytes);
    if (p->blocks_per_sm > resident && p->launch.shared_bytes <= c->arch->shared_limit)
        fault(c, "blocks_per_sm", "SMEM",
              "%d blocks a multiprocessor, but threads and shared memory let %d in; write %d", p->blocks_per_sm,
              resident, resident);
}

/* ---- instructions ---------------------------------------------------------------------------------------------- */

static void check_shape(const struct check *c, const struct plan_mma *m)
{
    enum tw_dtype input = m->operand[0].dtype, other = m->operand[1].dtype;
    const bool mixed = input != other && !arch_multiplies(c->arch, input, other);
    if (!mixed && arch_find_mma(c->arch, m->kind, input, m->accumulator, m->m, m->n, m->k))
        return;
    const struct arch_mma *types = NULL, *kind = NULL;
    for (const struct arch_mma *row = c->arch->mma; row->kind; row++) {
        if (strcmp(row->kind, m->kind) != 0)
            continue;
        kind = kind ? kind : row;
        if (!types && row->input == input && row->accumulator == m->accumulator)
            types = row;
    }
    if (!kind)
        fault(c, m->name, "ARCH", "%s has no %s; write another instruction", c->arch->name, m->kind);
    else if (mixed)
        fault(c, m->name, "MMA-SHAPE", "%s on %s does not multiply %s with %s", m->kind, c->arch->name,
              tw_dtype_name(input), tw_dtype_name(other));
    else if (!types)
        fault(c, m->name, "MMA-SHAPE", "%s on %s does not multiply %s into %s", m->kind, c->arch->name,
              tw_dtype_name(input), tw_dtype_name(m->accumulator));
    else if (types->n_low == types->n_high)
        fault(c, m->name, "MMA-SHAPE", "%s has no shape m%dn%dk%d for %s; write m%dn%dk%d", m->kind, m->m, m->n, m->k,
              tw_dtype_name(input), types->m, types->n_low, types->k);
    else
        fault(c, m->name, "MMA-SHAPE",
              "%s has no shape m%dn%dk%d for %s; write m = %d, n a multiple of %d up to 256, k = %d", m->kind, m->m,
              m->n, m->k, tw_dtype_name(input), types->m, types->n_step, types->k);
}

static void check_mma(const struct check *c, const struct plan_mma *m)
{
    const struct plan *p = c->p;
    check_shape(c, m);
    const struct arch_mma *row = arch_find_mma(c->arch, m->kind, m->operand[0].dtype, m->accumulator, m->m, m->n, m->k);
    bool wgmma = strcmp(m->kind, "wgmma") == 0;
    for (int o = 0; o < 2; o++) {
        int tensor = m->operand[o].tensor;
        if (tensor < 0)
            continue; /* in registers */
        if (tensor >= p->tensor_count) {
            fault(c, m->name, "MMA-SHAPE", "operand %d is tensor %d, but the Plan has %d", o, tensor, p->tensor_count);
            continue;
        }
        const struct plan_tensor *t = &p->tensor[tensor];
        int span = (int)tw_swizzles[t->swizzle].span;
        if (m->operand[o].mn_major && row && !row->mn_major)
            fault(c, t->name, "MMA-SHAPE", "%s reads %s operands K-major only; write the tensor with k innermost",
                  m->kind, tw_dtype_name(m->operand[o].dtype));
        if (wgmma && span > 0 && m->operand[o].stride_bytes != 8 * span)
            fault(c, t->name, "SWIZZLE",
                  "with swizzle %s eight rows of the operand are %d bytes apart, the descriptor says %d; write "
                  "stride_bytes = "
                  "%d",
                  tw_swizzles[t->swizzle].name, 8 * span, m->operand[o].stride_bytes, 8 * span);
    }
}

/* ---- parameters ------------------------------------------------------------------------------------------------ */

static void check_params(const struct check *c)
{
    const struct plan *p = c->p;
    int64_t end = 0;
    bool arrays = false;
    for (int i = 0; i < p->param_count; i++) {
        const struct plan_param *q = &p->param[i];
        if (!power_of_two(q->align) || q->bytes < 1) {
            fault(c, q->name, "PARAMS", "%d bytes aligned to %d are no parameter", q->bytes, q->align);
            return;
        }
        if (q->offset != align_up(end, q->align))
            fault(c, q->name, "PARAMS", "offset %d, but the CUDA ABI puts it at %lld; write that", q->offset,
                  (long long)align_up(end, q->align));
        const int maps = q->kind == PLAN_PARAM_MAP ? map_count(&p->tensor[q->tensor]) : 0;
        if (maps && (q->bytes != 128 * maps || q->align % 64 != 0))
            fault(c, q->name, "PARAMS", "%s %d bytes and alignment 64, this has %d and %d",
                  maps > 1 ? "its tensor maps have" : "a tensor map has", 128 * maps, q->bytes, q->align);
        end = q->offset + q->bytes;
        arrays = arrays || maps > 1;
    }
    if (p->param_bytes < end)
        fault(c, "param_bytes", "PARAMS", "the parameters end at %lld, param_bytes is %d; write %lld", (long long)end,
              p->param_bytes, (long long)end);
    if (p->param_bytes > c->arch->parameter_limit)
        fault(c, "param_bytes", "PARAMS",
              "%d bytes of parameters, of which tensor maps are %d each, and a kernel takes %d; pass less tensors%s",
              p->param_bytes, 128, c->arch->parameter_limit,
              arrays ? ", or one map for all slices of one: no maps" : "");
}

/* ---- the check ------------------------------------------------------------------------------------------------- */

static bool rings_are_sound(const struct plan *p)
{
    struct diag_set found = {0}; /* plan_check_protocol reports them */
    bool sound = protocol_check_program(p, &found) == 0;
    diag_free(&found);
    return sound;
}

static void check_conversions(const struct check *c)
{
    const struct arch *with = NULL;
    for (int a = 0; arch_all[a]; a++)
        with = arch_all[a]->fp8 && (!with || !arch_all[a]->on_request) ? arch_all[a] : with;
    for (int i = 0; i < c->p->fused.count && with && !c->arch->fp8; i++) {
        const struct expr_node *n = &c->p->fused.node[i];
        if (n->op != EXPR_CAST || (n->dtype != TW_FP8_E4M3 && n->dtype != TW_FP8_E5M2))
            continue;
        fault(c, "cast", "ARCH", "%s has no conversion to %s; leave it out, write arch = { %s = {} }", c->arch->name,
              tw_dtype_name(n->dtype), with->name);
        return;
    }
}

void plan_check_alone(const struct plan *p, struct diag_set *diags)
{
    struct check c = {p, arch_find(p->arch), diags};
    if (!c.arch)
        return;
    check_conversions(&c);
    for (int i = 0; i < p->tensor_count && c.arch->tma; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        struct plan_map map = {.tensor = i, .rank = map_rank(t), .box = {1, 1, 1, 1, 1}};
        struct tw_tensormap_call call = representative(p, &map);
        struct tw_tensormap_verdict verdict;
        if (t->access == PLAN_ACCESS_TMA)
            tw_tensormap_check(&call, c.arch->major * 10 + c.arch->minor, &verdict);
        for (int f = 0; t->access == PLAN_ACCESS_TMA && f < verdict.count; f++)
            if (verdict.finding[f].rule == TW_TENSORMAP_RULE_STR16)
                stride_fault(&c, t, t->rank - 2 - (int)verdict.finding[f].entry, (int64_t)verdict.finding[f].value,
                             (int64_t)verdict.finding[f].bound);
    }
}

/* The records of a list lie behind the counters', and are all that lies there. */
static void check_list(const struct check *c)
{
    const struct plan *p = c->p;
    const struct plan_list *l = p->list;
    if (!l)
        return;
    if (p->workspace_bytes != PLAN_LIST_OFFSET || p->workspace <= 0)
        fault(c, "workspace_bytes", "LIST", "%lld bytes%s are no workspace of a list; write %d, and the records' words",
              (long long)p->workspace_bytes, p->workspace > 0 ? "" : " alone", PLAN_LIST_OFFSET);
    if (l->loop < 0 || l->loop >= p->loop_count)
        fault(c, "list", "LIST", "its loop is %d, the Plan has %d", l->loop, p->loop_count);
    for (int i = 0; i < l->item_count; i++)
        if (l->item[i] < 0 || l->item[i] >= p->item_count || (i && l->item[i] <= l->item[i - 1]))
            fault(c, "list", "LIST", "records are by item %d; write items of the Plan's %d, each once, rising",
                  l->item[i], p->item_count);
    for (int i = 0; i < p->value_count; i++)
        if (strcmp(p->value[i].name, "parts.record") == 0)
            fault(c, "list", "LIST", "its records lie where the parts of a loop find zeros; split it, or go by a list");
}

/* Why a box that loads a slice with an address of its own may begin outside of it, and what to write; NULL: none does.
 */
static const char *begins_outside(const struct plan *p, int tensor)
{
    const struct plan_tensor *t = &p->tensor[tensor];
    const int inner = t->rank - 1;
    const struct expr_node *dim = &p->graph.node[t->dim[inner]];
    int64_t extent = 1;
    int maps = 0;
    if (!expr_is_int(&p->graph, t->dim[inner], &extent) && dim->op == EXPR_SYMBOL && p->symbol_multiple)
        extent = p->symbol_multiple[dim->integer];
    for (int i = 0; i < p->map_count; i++)
        maps += p->map[i].tensor == tensor;
    if (plan_cluster(p) > 1)
        return "a block of a cluster may have no tile there; write a cluster of one";
    if (t->gathered || maps > 1)
        return "rows that are none come from there; write arch = { sm_90a = false }, which leaves the kernel to the "
               "copies of sm_80";
    if (t->boxes > 1 && (t->tile[inner] <= 0 || extent % t->tile[inner] != 0))
        return "a tile takes several boxes beside each other, and the rows of the last one may be shorter; write a "
               "tile of one box, 128 bytes of the innermost dim, or an extent that it divides";
    return NULL;
}

/* A tile is of one slice that has an address or a map of its own. The map of all that have addresses begins where no
 * memory is (plan/map_pointers.h), and an H200 fails a load whose box begins outside of its tensor there:
 * tests/gpu/probes, "outside". */
static void check_slices(const struct check *c)
{
    const struct plan *p = c->p;
    for (int i = 0; i < p->tensor_count; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        const char *why = t->pointers && t->map >= 0 && !t->out ? begins_outside(p, i) : NULL;
        if ((t->pointers || t->maps) && t->tile[0] > 1)
            tensor_fault(c, t, t->maps ? "MAPS" : "POINTERS", "a tile takes %d slices with %s of their own; write 1",
                         t->tile[0], t->maps ? "maps" : "addresses");
        if (why)
            tensor_fault(
                c, t, "POINTERS",
                "slices with addresses of their own are loaded through a tensor map that begins where no memory "
                "is, and a GPU fails where a box begins outside of its slice: %s",
                why);
    }
}

int plan_check(const struct plan *p, struct diag_set *diags)
{
    struct check c = {p, arch_find(p->arch), diags};
    int faults = diags->errors;
    if (!c.arch) {
        fault(&c, "arch", "ARCH", "there is no architecture '%s' here", p->arch ? p->arch : "");
        return diags->errors - faults;
    }
    for (int i = 0; i < p->map_count; i++)
        check_map(&c, &p->map[i]);
    for (int g = 0; g < p->ring_count; g++) {
        const struct plan_ring *ring = &p->ring[g];
        if ((ring->filler == PLAN_FILL_BULK || ring->filler == PLAN_FILL_OWN) && !c.arch->tma)
            fault(&c, ring->name, "ARCH", "%s has no bulk copies; fill the ring by cp.async", c.arch->name);
        if (ring->filler == PLAN_FILL_ARRIVE && !c.arch->tma)
            fault(&c, ring->name, "ARCH", "%s has no mbarriers that waits can sleep on; fill the ring by cp.async",
                  c.arch->name);
        if (ring->filler == PLAN_FILL_PEERS && !c.arch->clusters)
            fault(&c, ring->name, "ARCH", "%s has no clusters, whose blocks could fill the ring", c.arch->name);
        if (ring->filler == PLAN_FILL_CP_ASYNC && !c.arch->cp_async)
            fault(&c, ring->name, "ARCH", "%s has no cp.async", c.arch->name);
        if (ring->tensor_count < 0 || ring->tensor_count > (int)(sizeof ring->tensor / sizeof *ring->tensor)) {
            fault(&c, ring->name, "MAP", "%d tensors in one ring; write 1 to 8", ring->tensor_count);
            return diags->errors - faults; /* the rest would read beyond arrays */
        }
        for (int i = 0; i < ring->tensor_count; i++) {
            if (ring->tensor[i] < 0 || ring->tensor[i] >= p->tensor_count) {
                fault(&c, ring->name, "MAP", "tensor %d does not exist; the Plan has %d", ring->tensor[i],
                      p->tensor_count);
                return diags->errors - faults;
            }
            if (ring->filler == PLAN_FILL_BULK || ring->filler == PLAN_FILL_CP_ASYNC || ring->filler == PLAN_FILL_OWN)
                check_tile(&c, &p->tensor[ring->tensor[i]]);
        }
    }
    check_cluster(&c);
    check_shared(&c);
    check_threads(&c);
    check_registers(&c);
    for (int i = 0; i < p->mma_count; i++)
        check_mma(&c, &p->mma[i]);
    check_slices(&c);
    check_params(&c);
    check_list(&c);
    check_conversions(&c);
    plan_check_places(p, c.arch->named_barriers, diags);
    if (rings_are_sound(p))
        protocol_check_counts(p, diags);
    return diags->errors - faults;
}
