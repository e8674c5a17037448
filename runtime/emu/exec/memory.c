/* The loads and stores of warps, and addresses as they see them.

   A warp's access finds the place of each lane first and moves the data then. Lanes that touch neighbouring words, or
   all the same one, are moved at once. */
#include "memory.h"
#include "emu/alu/alu.h"
#include "event.h"
#include "flow.h"
#include "operations.h"
#include "watch.h"

/* ---- Addresses --------------------------------------------------------------------------------------------------- */

static unsigned char *resolve_shared(struct emu_cluster *cluster, uint64_t address, uint64_t bytes)
{
    uint64_t rank = (address - EMU_SHARED_WINDOW) / EMU_SHARED_STRIDE;
    uint64_t offset = (address - EMU_SHARED_WINDOW) % EMU_SHARED_STRIDE;
    if (rank >= cluster->block_count)
        return NULL;
    struct emu_block *block = &cluster->blocks[rank];
    if (offset - EMU_RESERVED < EMU_RESERVED_BYTES && bytes <= EMU_RESERVED_BYTES - (offset - EMU_RESERVED))
        return block->shared + offset;
    if (offset < EMU_SHARED_START || bytes > block->shared_end || offset > block->shared_end - bytes)
        return NULL;
    return block->shared + offset;
}

static __attribute__((noinline, cold)) void note_global(struct emu_region *r, uint64_t address, uint64_t bytes)
{
    for (uint64_t i = address - r->whole_base; bytes--; i++)
        r->written[i / 8] |= (unsigned char)(1u << i % 8);
}

static unsigned char *resolve_global(struct emu_launch *launch, uint64_t address, uint64_t bytes, int write,
                                     struct emu_region **last)
{
    struct emu_region *r = *last;
    if (!r || address - r->base >= r->bytes)
        r = emu_region_find(launch->device, address);
    if (!r || bytes > r->bytes - (address - r->base) || (write && r->read_only))
        return NULL;
    *last = r;
    if (EMU_UNLIKELY(write == EMU_WRITES && r->written))
        note_global(r, address, bytes);
    return r->data + (address - r->base);
}

unsigned char *emu_resolve(struct emu_cluster *cluster, uint64_t address, uint64_t bytes, int write)
{
    struct emu_launch *launch = cluster->launch;
    if (address >= EMU_MAPPED_START) {
        struct emu_region *last = NULL;
        return resolve_global(launch, address, bytes, write, &last);
    }
    if (address >= EMU_SHARED_WINDOW && address < EMU_LOCAL_WINDOW)
        return resolve_shared(cluster, address, bytes);
    if (address >= EMU_PARAM_WINDOW && !write) {
        uint64_t offset = address - EMU_PARAM_WINDOW;
        if (offset < launch->params_bytes && bytes <= launch->params_bytes - offset)
            return launch->params + offset;
    }
    return NULL;
}

int emu_bytes_read(void *cluster, uint64_t address, void *to, size_t bytes)
{
    const unsigned char *from = emu_resolve(cluster, address, bytes, 0);
    if (!from)
        return 1;
    memcpy(to, from, bytes);
    return 0;
}

int emu_bytes_write(void *cluster, uint64_t address, const void *from, size_t bytes)
{
    unsigned char *to = emu_resolve(cluster, address, bytes, 1);
    if (!to)
        return 1;
    memcpy(to, from, bytes);
    ((struct emu_cluster *)cluster)->launch->changes++;
    return 0;
}

static int local_move(struct emu_warp *warp, unsigned lane, uint64_t address, void *bytes, uint32_t count, int write)
{
    uint64_t offset = address - EMU_LOCAL_WINDOW;
    if (offset < EMU_LOCAL_START || offset >= warp->local_room || count > warp->local_room - offset)
        return 1;
    unsigned char *at = bytes;
    if (!((offset | count) & 3)) {
        unsigned char *word = warp->local + offset / 4 * EMU_SLOT + lane * 4;
        for (uint32_t i = 0; i < count; i += 4, word += EMU_SLOT) {
            if (write)
                memcpy(word, at + i, 4);
            else
                memcpy(at + i, word, 4);
        }
        return 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        unsigned char *byte = warp->local + (offset + i) / 4 * EMU_SLOT + lane * 4 + (offset + i) % 4;
        if (write)
            *byte = at[i];
        else
            at[i] = *byte;
    }
    return 0;
}

static inline void note_written(struct emu_warp *warp, unsigned lane, uint64_t address, uint32_t bytes)
{
    uint64_t offset = address - EMU_LOCAL_WINDOW;
    for (uint64_t word = offset / 4; word <= (offset + bytes - 1) / 4 && word < warp->local_room / 4; word++)
        warp->local_written[word] |= UINT32_C(1) << lane;
}

int emu_lane_read(struct emu_warp *warp, unsigned lane, uint64_t address, void *to, uint32_t bytes)
{
    if (emu_is_local(address))
        return local_move(warp, lane, address, to, bytes, 0);
    const unsigned char *from = emu_resolve(warp->block->cluster, address, bytes, 0);
    if (!from)
        return 1;
    memcpy(to, from, bytes);
    return 0;
}

int emu_lane_write(struct emu_warp *warp, unsigned lane, uint64_t address, const void *from, uint32_t bytes)
{
    if (emu_is_local(address)) {
        unsigned char copy[64];
        memcpy(copy, from, bytes < sizeof copy ? bytes : sizeof copy);
        if (warp->local_written)
            note_written(warp, lane, address, bytes);
        return local_move(warp, lane, address, copy, bytes, 1);
    }
    unsigned char *to = emu_resolve(warp->block->cluster, address, bytes, 1);
    if (!to)
        return 1;
    memcpy(to, from, bytes);
    return 0;
}

/* ---- Finding the lanes' places ----------------------------------------------------------------------------------- */

static const struct emu_op *misaligned(struct emu_warp *warp, const struct emu_op *op, uint64_t address, uint64_t bytes)
{
    return emu_report_at(warp, op, "ALIGN", address, 1, "access of %llu bytes at 0x%llx", (unsigned long long)bytes,
                         (unsigned long long)address);
}

/* The generic addresses of the access, and whether all lanes that execute are in one window. */
static void generic_addresses(struct emu_warp *warp, const struct emu_op *op, const struct emu_access *access,
                              uint64_t *address)
{
    emu_addresses(warp, op->a, access->wide_address, op->imm, address);
    if (access->space == PTX_SPACE_SHARED) {
        uint64_t own = EMU_SHARED_WINDOW + warp->block->rank * EMU_SHARED_STRIDE;
        uint64_t rank = warp->block->rank;
        for (int i = 0; i < EMU_LANES; i++) {
            uint64_t a = address[i];
            address[i] =
                a < EMU_SHARED_STRIDE || a / EMU_SHARED_STRIDE == rank ? own + (a & (EMU_SHARED_STRIDE - 1)) : 0;
        }
    } else if (access->space == PTX_SPACE_SHARED_CLUSTER) {
        for (int i = 0; i < EMU_LANES; i++)
            address[i] = (address[i] & UINT32_MAX) + EMU_SHARED_WINDOW;
    } else if (access->space == PTX_SPACE_LOCAL) {
        for (int i = 0; i < EMU_LANES; i++)
            address[i] = (address[i] & UINT32_MAX) + EMU_LOCAL_WINDOW;
    }
}

/* Host addresses of the lanes that execute. NULL in place[lane] means local memory. Returns 0, or 1 after a report. */
static int places(struct emu_warp *warp, const struct emu_op *op, const uint64_t *address, uint32_t bytes,
                  uint32_t align, int write, unsigned char **place)
{
    uint64_t bits = 0;
    struct emu_launch *launch = warp->launch;
    struct emu_cluster *cluster = warp->block->cluster;
    for (uint32_t m = warp->lanes.mask; m; m &= m - 1) {
        unsigned lane = emu_first(m);
        uint64_t a = address[lane];
        bits |= a;
        unsigned char *p;
        if (a >= EMU_MAPPED_START) {
            p = resolve_global(launch, a, bytes, write, &warp->region);
        } else if (emu_is_local(a)) {
            place[lane] = NULL;
            continue;
        } else {
            p = emu_resolve(cluster, a, bytes, write);
        }
        if (EMU_UNLIKELY(!p)) {
            emu_out_of_bounds(warp, op, a, bytes, write);
            return 1;
        }
        place[lane] = p;
    }
    if (EMU_UNLIKELY(bits & (align - 1))) {
        for (uint32_t m = warp->lanes.mask; m; m &= m - 1) {
            if (address[emu_first(m)] & (align - 1)) {
                misaligned(warp, op, address[emu_first(m)], align);
                return 1;
            }
        }
    }
    return 0;
}

/* Full warps whose lanes touch consecutive elements, or all the same one: the place of lane 0. stride: bytes from lane
   to lane. NULL where the access is not like that, or not in bounds. */
static unsigned char *together(struct emu_warp *warp, const uint64_t *address, uint32_t bytes, uint32_t align,
                               int write, uint32_t *stride)
{
    if (warp->lanes.mask != UINT32_MAX)
        return NULL;
    uint64_t first = address[0], step = address[1] - first, bad = 0;
    if ((step != bytes && step != 0) || (first & (align - 1)))
        return NULL;
    for (uint32_t i = 0; i < EMU_LANES; i++)
        bad |= address[i] ^ (first + i * step);
    if (bad)
        return NULL;
    *stride = (uint32_t)step;
    uint64_t whole = bytes + step * (EMU_LANES - 1);
    if (first >= EMU_MAPPED_START)
        return resolve_global(warp->launch, first, whole, write, &warp->region);
    if (emu_is_local(first))
        return NULL;
    return emu_resolve(warp->block->cluster, first, whole, write);
}

/* ---- Loads ------------------------------------------------------------------------------------------------------- */

static inline uint64_t extended(uint64_t x, unsigned bytes, int is_signed)
{
    unsigned away = 64 - 8 * bytes;
    return is_signed ? (uint64_t)((int64_t)(x << away) >> away) : x;
}

static inline uint64_t fetch(const unsigned char *from, unsigned bytes)
{
    uint64_t x8;
    uint32_t x4;
    uint16_t x2;
    switch (bytes) {
    case 1:
        return *from;
    case 2:
        memcpy(&x2, from, 2);
        return x2;
    case 4:
        memcpy(&x4, from, 4);
        return x4;
    default:
        memcpy(&x8, from, 8);
        return x8;
    }
}

/* Values of one element of all lanes to its register. */
static void put_loaded(struct emu_warp *warp, const struct emu_access *access, uint32_t at, const uint64_t *x)
{
    if (access->wide) {
        uint64_t r[EMU_LANES];
        for (int i = 0; i < EMU_LANES; i++)
            r[i] = extended(x[i], access->bytes, access->is_signed);
        emu_put64(warp, at, r);
        return;
    }
    uint32_t r[EMU_LANES], keep = access->keep == 16 ? 0xffff : UINT32_MAX;
    if (access->bytes == 4) {
        for (int i = 0; i < EMU_LANES; i++)
            r[i] = (uint32_t)x[i];
    } else {
        for (int i = 0; i < EMU_LANES; i++)
            r[i] = (uint32_t)extended(x[i], access->bytes, access->is_signed) & keep;
    }
    emu_put32(warp, at, r);
}

static void load_128(struct emu_warp *warp, uint32_t at, unsigned char *const *place)
{
    unsigned char *to = emu_at(warp, at);
    for (uint32_t m = warp->lanes.mask; m; m &= m - 1)
        memcpy(to + emu_first(m) * 16, place[emu_first(m)], 16);
}

/* Whether a lane has written any of its local memory there. No more is asked: padding is copied, too. */
static inline uint32_t has_written(const struct emu_warp *warp, unsigned lane, uint64_t offset, uint32_t bytes)
{
    uint32_t any = warp->local_written[offset / 4];
    for (uint64_t word = offset / 4 + 1; word <= (offset + bytes - 1) / 4; word++)
        any |= warp->local_written[word];
    return any >> lane & 1;
}

static __attribute__((noinline, cold)) void tell_unwritten(struct emu_warp *warp, const struct emu_op *op,
                                                           uint64_t address, uint32_t lanes)
{
    emu_report_at(warp, op, "UNINIT", address, 0, "lanes 0x%x read local memory that they have not written", lanes);
}

static __attribute__((noinline)) void look_written(struct emu_warp *warp, const struct emu_op *op,
                                                   const uint64_t *address, uint32_t bytes, uint32_t lanes)
{
    uint32_t unwritten = 0;
    if (lanes == UINT32_MAX && bytes == 4) {
        for (unsigned i = 0; i < EMU_LANES; i++)
            unwritten |= ~warp->local_written[(uint32_t)address[i] / 4] & emu_lane_bits[i];
        lanes = 0;
    }
    for (uint32_t m = lanes; m; m &= m - 1)
        unwritten |= (1u ^ has_written(warp, emu_first(m), address[emu_first(m)] - EMU_LOCAL_WINDOW, bytes))
                     << emu_first(m);
    if (unwritten)
        tell_unwritten(warp, op, address[emu_first(unwritten)], unwritten);
}

static const struct emu_op *load_apart(struct emu_warp *warp, const struct emu_op *op, const struct emu_access *access,
                                       const uint64_t *address, uint32_t bytes)
{
    unsigned char *place[EMU_LANES];
    unsigned char local[EMU_LANES][32];
    uint32_t in_local = 0;
    if (places(warp, op, address, bytes, bytes, 0, place))
        return NULL;
    for (uint32_t m = warp->lanes.mask; m; m &= m - 1) {
        unsigned lane = emu_first(m);
        if (place[lane])
            continue;
        if (local_move(warp, lane, address[lane], local[lane], bytes, 0))
            return emu_out_of_bounds(warp, op, address[lane], bytes, 0);
        place[lane] = local[lane];
        in_local |= 1u << lane;
    }
    if (EMU_UNLIKELY(warp->local_written != NULL) && in_local)
        look_written(warp, op, address, bytes, in_local);
    if (access->wide == 2) {
        load_128(warp, access->data[0], place);
        return op + 1;
    }
    for (uint32_t e = 0; e < access->count; e++) {
        uint64_t x[EMU_LANES];
        if (warp->lanes.mask == UINT32_MAX && access->bytes == 4) {
            for (int i = 0; i < EMU_LANES; i++)
                x[i] = fetch(place[i] + 4 * e, 4);
        } else {
            memset(x, 0, sizeof x);
            for (uint32_t m = warp->lanes.mask; m; m &= m - 1)
                x[emu_first(m)] = fetch(place[emu_first(m)] + access->bytes * e, access->bytes);
        }
        put_loaded(warp, access, access->data[e], x);
    }
    return op + 1;
}

/* A load of local memory at the same address in all lanes is a move of registers. */
static const struct emu_op *load_frame(struct emu_warp *warp, const struct emu_op *op, const struct emu_access *access,
                                       const uint64_t *address)
{
    uint32_t bytes = (uint32_t)access->bytes * access->count;
    uint64_t first = address[emu_first(warp->lanes.mask)], bad = 0;
    for (uint32_t m = warp->lanes.mask; m; m &= m - 1)
        bad |= address[emu_first(m)] ^ first;
    uint64_t offset = first - EMU_LOCAL_WINDOW;
    if (bad || access->wide > 1 || access->bytes < 4 || first & (bytes - 1) || offset < EMU_LOCAL_START ||
        offset >= warp->local_room || bytes > warp->local_room - offset)
        return load_apart(warp, op, access, address, bytes);
    uint32_t unwritten = warp->local_written ? warp->lanes.mask : 0;
    for (uint64_t word = offset / 4; unwritten && word < (offset + bytes) / 4; word++)
        unwritten &= ~warp->local_written[word];
    if (EMU_UNLIKELY(unwritten))
        tell_unwritten(warp, op, address[emu_first(unwritten)], unwritten);
    const uint32_t *words = (const uint32_t *)(const void *)(warp->local + offset / 4 * EMU_SLOT);
    for (uint32_t e = 0; e < access->count; e++, words += EMU_LANES * (access->bytes / 4)) {
        if (access->bytes == 4 && !access->wide) {
            emu_put32(warp, access->data[e], words);
            continue;
        }
        uint64_t x[EMU_LANES];
        for (int i = 0; i < EMU_LANES; i++)
            x[i] = words[i] | (access->bytes == 8 ? (uint64_t)words[EMU_LANES + i] << 32 : 0);
        put_loaded(warp, access, access->data[e], x);
    }
    return op + 1;
}

/* A load whose lanes are together. */
static void load_together(struct emu_warp *warp, const struct emu_access *access, const unsigned char *from,
                          uint32_t stride)
{
    if (access->bytes == 4 && !access->wide && access->count == 1 && stride == 4) {
        memcpy(EMU_W(access->data[0]), from, EMU_SLOT);
        return;
    }
    for (uint32_t e = 0; e < access->count; e++, from += access->bytes) {
        uint64_t x[EMU_LANES];
        if (access->bytes == 4 && !access->wide) {
            uint32_t r[EMU_LANES], one = (uint32_t)fetch(from, 4);
            for (int i = 0; !stride && i < EMU_LANES; i++)
                r[i] = one;
            for (uint32_t i = 0; stride && i < EMU_LANES; i++)
                r[i] = (uint32_t)fetch(from + i * stride, 4);
            emu_put32(warp, access->data[e], r);
            continue;
        }
        if (!stride) {
            uint64_t one = fetch(from, access->bytes);
            for (int i = 0; i < EMU_LANES; i++)
                x[i] = one;
        } else if (access->bytes == 4) {
            for (uint32_t i = 0; i < EMU_LANES; i++)
                x[i] = fetch(from + i * stride, 4);
        } else {
            for (uint32_t i = 0; i < EMU_LANES; i++)
                x[i] = fetch(from + i * stride, access->bytes);
        }
        put_loaded(warp, access, access->data[e], x);
    }
}

/* An access that names no other block's shared memory by its form; most are in the block's own. */
static inline int is_own(const struct emu_access *access)
{
    return access->space == PTX_SPACE_SHARED && access->wide < 2;
}

/* Offsets of 64 bits from a register and a constant: their low halves. Returns what stands above of any of these lanes.
 */
static uint64_t wide_places(const uint64_t *restrict a, uint64_t by, uint32_t lanes, uint32_t *restrict offset)
{
    uint64_t above = 0, all = 0;
    for (int i = 0; i < EMU_LANES; i++) {
        offset[i] = (uint32_t)(a[i] + by);
        all |= a[i] + by;
    }
    for (uint32_t m = lanes == UINT32_MAX ? 0 : lanes; m; m &= m - 1)
        above |= a[emu_first(m)] + by;
    return (lanes == UINT32_MAX ? all : above) >> 32;
}

/* Where in their block's shared memory the lanes are that execute; the others count as at the first one's place. 1: one
   of them is not in it, or not aligned, which the way of all memories says. */
static int own_places(const struct emu_warp *warp, const struct emu_op *op, uint32_t bytes, uint32_t *restrict offset)
{
    const struct emu_block *block = warp->block;
    const struct emu_access *access = op->extra;
    uint32_t lanes = warp->lanes.mask, by = (uint32_t)op->imm, above = 0, low = 0;
    if (access->wide_address) {
        if (wide_places(EMU_L(op->a), op->imm, lanes, offset))
            return 1;
    } else {
        const uint32_t *a = EMU_W(op->a);
        for (int i = 0; i < EMU_LANES; i++)
            offset[i] = a[i] + by;
    }
    uint32_t first = offset[emu_first(lanes)], window = first & ~(uint32_t)(EMU_SHARED_STRIDE - 1);
    if ((window && window != block->rank * EMU_SHARED_STRIDE) || block->shared_end < EMU_SHARED_START + bytes)
        return 1;
    uint32_t most = block->shared_end - bytes;
    if (lanes != UINT32_MAX)
        for (int i = 0; i < EMU_LANES; i++)
            offset[i] = emu_lane_bits[i] & lanes ? offset[i] : first;
    if (window)
        for (int i = 0; i < EMU_LANES; i++)
            offset[i] -= window;
    for (int i = 0; i < EMU_LANES; i++) { /* bit 31: behind the end, or before the start */
        above |= (most - offset[i]) | (offset[i] - EMU_SHARED_START);
        low |= offset[i];
    }
    return above >> 31 || (low & (bytes - 1));
}

/* Bytes from lane to lane, where that is none or an element. 1: it is neither. */
static int own_stride(const uint32_t *offset, uint32_t bytes, uint32_t *stride)
{
    uint32_t step = offset[1] - offset[0], bad = 0;
    if (step != 0 && step != bytes)
        return 1;
    for (uint32_t i = 0; i < EMU_LANES; i++)
        bad |= offset[i] ^ (offset[0] + i * step);
    *stride = step;
    return bad != 0;
}

static inline void own_fetch(const unsigned char *from, const uint32_t *offset, unsigned bytes, uint64_t *x)
{
    for (int i = 0; i < EMU_LANES; i++)
        x[i] = fetch(from + offset[i], bytes);
}

/* The stride of the lanes. */
static uint32_t load_own(struct emu_warp *warp, const struct emu_access *access, const uint32_t *offset)
{
    const unsigned char *from = warp->block->shared;
    uint32_t stride;
    if (!own_stride(offset, (uint32_t)access->bytes * access->count, &stride)) {
        load_together(warp, access, from + offset[0], stride);
        return stride;
    }
    for (uint32_t e = 0; e < access->count; e++, from += access->bytes) {
        uint64_t x[EMU_LANES];
        uint32_t r[EMU_LANES];
        if (access->bytes == 4 && !access->wide) {
            for (int i = 0; i < EMU_LANES; i++)
                memcpy(&r[i], from + offset[i], 4);
            emu_put32(warp, access->data[e], r);
            continue;
        }
        if (access->bytes == 8)
            own_fetch(from, offset, 8, x);
        else
            own_fetch(from, offset, access->bytes, x);
        put_loaded(warp, access, access->data[e], x);
    }
    return EMU_NO_STRIDE;
}

const struct emu_op *emu_op_load(struct emu_warp *warp, const struct emu_op *op)
{
    const struct emu_access *access = op->extra;
    uint64_t address[EMU_LANES];
    uint32_t bytes = (uint32_t)access->bytes * access->count, stride, offset[EMU_LANES];
    if (is_own(access) && !own_places(warp, op, bytes, offset)) {
        stride = load_own(warp, access, offset);
        if (EMU_UNLIKELY(warp->hazard != NULL))
            emu_watch_shared(warp, op, access, offset, stride, 0);
        return op + 1;
    }
    generic_addresses(warp, op, access, address);
    if (access->space == PTX_SPACE_LOCAL)
        return load_frame(warp, op, access, address);
    const unsigned char *from = access->wide == 2 ? NULL : together(warp, address, bytes, bytes, 0, &stride);
    if (from)
        load_together(warp, access, from, stride);
    else if (!load_apart(warp, op, access, address, bytes))
        return NULL;
    if (EMU_UNLIKELY(warp->hazard != NULL))
        emu_watch_access(warp, op, access, address, from ? stride : EMU_NO_STRIDE, 0);
    return op + 1;
}

/* A kernel's parameter at a constant offset: imm. */
const struct emu_op *emu_op_load_param(struct emu_warp *warp, const struct emu_op *op)
{
    const struct emu_access *access = op->extra;
    const unsigned char *from = warp->launch->params + op->imm;
    for (uint32_t e = 0; e < access->count; e++, from += access->bytes) {
        uint64_t x[EMU_LANES], one = fetch(from, access->bytes);
        for (int i = 0; i < EMU_LANES; i++)
            x[i] = one;
        put_loaded(warp, access, access->data[e], x);
    }
    return op + 1;
}

/* ---- Stores ------------------------------------------------------------------------------------------------------ */

static inline void set(unsigned char *to, uint64_t x, unsigned bytes)
{
    uint32_t x4 = (uint32_t)x;
    uint16_t x2 = (uint16_t)x;
    switch (bytes) {
    case 1:
        *to = (unsigned char)x;
        return;
    case 2:
        memcpy(to, &x2, 2);
        return;
    case 4:
        memcpy(to, &x4, 4);
        return;
    default:
        memcpy(to, &x, 8);
        return;
    }
}

static void tell_put(struct emu_warp *warp, const struct emu_op *op, uint64_t address)
{
    if (address >= EMU_SHARED_WINDOW && address < EMU_LOCAL_WINDOW)
        emu_event_tell(warp, op, EMU_EVENT_PUT, address, 0, 0);
}

/* What lanes store to local memory. */
static __attribute__((noinline)) const struct emu_op *store_frame(struct emu_warp *warp, const struct emu_op *op,
                                                                  const uint64_t *address, unsigned char local[][32],
                                                                  uint32_t bytes, uint32_t lanes)
{
    for (uint32_t m = lanes; m; m &= m - 1)
        if (local_move(warp, emu_first(m), address[emu_first(m)], local[emu_first(m)], bytes, 1))
            return emu_out_of_bounds(warp, op, address[emu_first(m)], bytes, 1);
    if (!warp->local_written)
        return op + 1;
    if (lanes == UINT32_MAX && bytes == 4)
        for (unsigned i = 0; i < EMU_LANES; i++)
            warp->local_written[(uint32_t)address[i] / 4] |= emu_lane_bits[i];
    else
        for (uint32_t m = lanes; m; m &= m - 1)
            note_written(warp, emu_first(m), address[emu_first(m)], bytes);
    return op + 1;
}

/* Lanes whose element of a store, in memory, is that of x. */
static uint32_t own_alike(const struct emu_access *access, const unsigned char *at, const uint32_t *offset,
                          const unsigned char *x)
{
    uint32_t alike = 0;
    if (access->bytes == 4 && !access->wide) {
        uint32_t now[EMU_LANES];
        for (int i = 0; i < EMU_LANES; i++)
            memcpy(&now[i], at + offset[i], 4);
        for (int i = 0; i < EMU_LANES; i++)
            alike |= now[i] == ((const uint32_t *)(const void *)x)[i] ? emu_lane_bits[i] : 0;
        return alike;
    }
    for (int i = 0; i < EMU_LANES; i++)
        alike |= emu_alike_lane(at + offset[i], x + (access->wide ? 8 : 4) * i, access->bytes) ? emu_lane_bits[i] : 0;
    return alike;
}

/* Where a lane's bytes were written over it is the last writer that left them as they were, or did not. */
static __attribute__((noinline, cold)) uint32_t as_the_last(const uint32_t *offset, uint32_t lanes, uint32_t kept,
                                                            uint32_t alike)
{
    for (uint32_t lost = lanes & ~kept; lost; lost &= lost - 1) {
        unsigned lane = emu_first(lost), last = lane;
        for (uint32_t m = lanes; m; m ^= 1u << emu_last(m))
            last = offset[emu_last(m)] == offset[lane] ? emu_last(m) : last;
        alike = (alike & ~emu_lane_bits[lane]) | (alike >> last & 1) << lane;
    }
    return alike;
}

static void store_own(struct emu_warp *warp, const struct emu_op *op, const struct emu_access *access,
                      const uint32_t *offset)
{
    uint32_t lanes = warp->lanes.mask, alike = warp->hazard ? lanes : 0, kept = alike, stride = EMU_NO_STRIDE;
    unsigned char *to = warp->block->shared;
    if (own_stride(offset, (uint32_t)access->bytes * access->count, &stride))
        stride = EMU_NO_STRIDE;
    int apart = !stride || stride == EMU_NO_STRIDE;
    for (uint32_t e = 0; alike && e < access->count; e++)
        alike &= own_alike(access, to + access->bytes * e, offset, emu_at(warp, access->data[e]));
    /* From the highest lane on, as below. */
    for (uint32_t e = 0; e < access->count; e++) {
        const unsigned char *from = emu_at(warp, access->data[e]);
        unsigned char *at = to + access->bytes * e;
        const uint32_t *x = (const uint32_t *)(const void *)from;
        if (lanes == UINT32_MAX && access->bytes == 4 && !access->wide)
            for (int i = EMU_LANES - 1; i >= 0; i--)
                memcpy(at + offset[i], &x[i], 4);
        else if (access->wide)
            for (uint32_t m = lanes; m; m ^= 1u << emu_last(m))
                set(at + offset[emu_last(m)], ((const uint64_t *)(const void *)from)[emu_last(m)], access->bytes);
        else
            for (uint32_t m = lanes; m; m ^= 1u << emu_last(m))
                set(at + offset[emu_last(m)], x[emu_last(m)], access->bytes);
    }
    if (!warp->hazard)
        return;
    for (uint32_t e = 0; apart && e < access->count; e++) /* else no two lanes write the same bytes */
        kept &= own_alike(access, to + access->bytes * e, offset, emu_at(warp, access->data[e]));
    if (EMU_UNLIKELY(kept != lanes))
        alike = as_the_last(offset, lanes, kept, alike);
    emu_watch_shared(warp, op, access, offset, stride, alike);
    if (EMU_UNLIKELY(kept != lanes))
        emu_watch_lost(warp, op, access, emu_generic(warp, PTX_SPACE_SHARED, offset[emu_first(lanes & ~kept)]),
                       lanes & ~kept);
}

/* Lanes that do not find there what they have stored. */
static uint32_t lost_lanes(struct emu_warp *warp, const struct emu_access *access, unsigned char *const *place)
{
    uint32_t lost = 0, slot = access->wide == 2 ? 16 : access->wide ? 8 : 4;
    for (uint32_t m = warp->lanes.mask; m; m &= m - 1)
        for (uint32_t e = 0; e < access->count; e++)
            if (!emu_alike_lane(place[emu_first(m)] + access->bytes * e,
                                (const unsigned char *)emu_at(warp, access->data[e]) + slot * emu_first(m),
                                access->bytes))
                lost |= m & (0u - m);
    return lost;
}

const struct emu_op *emu_op_store(struct emu_warp *warp, const struct emu_op *op)
{
    const struct emu_access *access = op->extra;
    uint64_t address[EMU_LANES];
    uint32_t bytes = (uint32_t)access->bytes * access->count, stride, offset[EMU_LANES];
    int listens = EMU_UNLIKELY(warp->launch->listens >> EMU_EVENT_PUT & 1) != 0;
    if (access->space != PTX_SPACE_LOCAL)
        warp->launch->changes++;
    if (is_own(access) && !listens && !own_places(warp, op, bytes, offset)) {
        store_own(warp, op, access, offset);
        return op + 1;
    }
    generic_addresses(warp, op, access, address);
    if (listens)
        tell_put(warp, op, address[emu_first(warp->lanes.mask)]);
    unsigned char *to = together(warp, address, bytes, bytes, 1, &stride);
    uint32_t same = 0;
    if (to && access->bytes == 4 && !access->wide && stride == bytes && (!warp->hazard || access->count == 1)) {
        for (uint32_t e = 0; e < access->count; e++) {
            const uint32_t *x = EMU_W(access->data[e]);
            if (access->count == 1) {
                for (int i = 0; warp->hazard && i < EMU_LANES; i++)
                    same |= memcmp(to + 4 * i, &x[i], 4) ? 0 : emu_lane_bits[i];
                memcpy(to, x, EMU_SLOT);
                break;
            }
            for (uint32_t i = 0; i < EMU_LANES; i++)
                memcpy(to + i * stride + 4 * e, &x[i], 4);
        }
        if (EMU_UNLIKELY(warp->hazard != NULL))
            emu_watch_access(warp, op, access, address, stride, same);
        return op + 1;
    }
    unsigned char *place[EMU_LANES];
    unsigned char local[EMU_LANES][32];
    if (places(warp, op, address, bytes, bytes, 1, place))
        return NULL;
    uint32_t in_frame = 0;
    for (uint32_t m = warp->lanes.mask; m; m &= m - 1) {
        if (!place[emu_first(m)]) {
            place[emu_first(m)] = local[emu_first(m)];
            in_frame |= m & (0u - m);
        }
    }
    unsigned char before[EMU_LANES][32];
    for (uint32_t m = warp->hazard ? warp->lanes.mask : 0; m; m &= m - 1)
        emu_copy_lane(before[emu_first(m)], place[emu_first(m)], bytes);
    /* From the highest lane on: of the words for one place an H200 keeps the lowest lane's (of 16 bytes, any). */
    for (uint32_t e = 0; e < access->count; e++) {
        const unsigned char *from = emu_at(warp, access->data[e]);
        const uint64_t *wide = (const uint64_t *)(const void *)from;
        const uint32_t *x = (const uint32_t *)(const void *)from;
        for (uint32_t m = warp->lanes.mask, lane; m; m ^= 1u << lane) {
            lane = emu_last(m);
            if (access->wide == 2)
                memcpy(place[lane], from + 16 * lane, 16);
            else
                set(place[lane] + access->bytes * e, access->wide ? wide[lane] : x[lane], access->bytes);
        }
    }
    if (EMU_UNLIKELY(warp->hazard != NULL)) {
        for (uint32_t m = warp->lanes.mask; m; m &= m - 1)
            same |= emu_alike_lane(before[emu_first(m)], place[emu_first(m)], bytes) ? m & (0u - m) : 0;
        emu_watch_access(warp, op, access, address, to ? stride : EMU_NO_STRIDE, same);
        uint32_t lost = !to || !stride ? lost_lanes(warp, access, place) : 0; /* else no two write the same bytes */
        if (EMU_UNLIKELY(lost))
            emu_watch_lost(warp, op, access, address[emu_first(lost)], lost);
    }
    return in_frame ? store_frame(warp, op, address, local, bytes, in_frame) : op + 1;
}

/* ---- Atomics ----------------------------------------------------------------------------------------------------- */

const struct emu_op *emu_op_atom(struct emu_warp *warp, const struct emu_op *op)
{
    const struct emu_access *access = op->extra;
    uint64_t address[EMU_LANES];
    unsigned char *place[EMU_LANES];
    uint32_t bytes = (uint32_t)access->bytes * access->count;
    generic_addresses(warp, op, access, address);
    if (places(warp, op, address, bytes, bytes, 1, place))
        return NULL;
    int changed = 0; /* an exchange of equal values, as in a loop that waits for a lock, changes nothing */
    if (EMU_UNLIKELY(warp->hazard != NULL))
        emu_watch_access(warp, op, access, address, EMU_NO_STRIDE, 0);
    uint32_t lane_bytes = access->wide == 2 ? 16 : access->wide ? 8 : 4;
    for (uint32_t m = warp->lanes.mask; m; m &= m - 1) {
        unsigned lane = emu_first(m);
        unsigned char local[32], *at = place[lane] ? place[lane] : local;
        if (!place[lane] && local_move(warp, lane, address[lane], local, bytes, 0))
            return emu_out_of_bounds(warp, op, address[lane], bytes, 1);
        for (uint32_t e = 0; e < access->count; e++) {
            unsigned char *old = (unsigned char *)emu_at(warp, access->data[e]) + lane_bytes * lane;
            const unsigned char *b = (const unsigned char *)emu_at(warp, access->b[e]) + lane_bytes * lane;
            const unsigned char *c = (const unsigned char *)emu_at(warp, access->c) + lane_bytes * lane;
            unsigned char b_copy[16], c_copy[16], before[16] = {0};
            memcpy(b_copy, b, lane_bytes);
            memcpy(c_copy, c, lane_bytes);
            int is_global = address[lane] < EMU_SHARED_WINDOW || address[lane] >= EMU_LOCAL_WINDOW;
            if (emu_atomic(access->operation, access->type, is_global, at + access->bytes * e, b_copy, c_copy, before))
                return emu_report_at(warp, op, "ILLEGAL", address[lane], 1, "no such atomic operation");
            changed |= memcmp(before, at + access->bytes * e, access->bytes);
            if (access->kind == EMU_ATOM)
                memcpy(old, before, lane_bytes);
        }
        if (!place[lane])
            local_move(warp, lane, address[lane], local, bytes, 1);
    }
    warp->launch->changes += changed != 0;
    return op + 1;
}
