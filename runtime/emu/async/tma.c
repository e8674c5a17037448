// Address generation of the tensor memory accelerator; tma.h says what an image is. The rules marked [H200] hold for
// all of the 2,066 measured loads of tests/golden/tma_loads.jsonl.gz.
//
// A box is rows of units. Without interleave a unit is an element; with interleave 16B or 32B a unit is the 16 or 32
// bytes of one channel slice of a pixel, and the dimensions mean something else [H200]:
//
//                   interleave NONE                          interleave 16B, 32B
//     dim 0         elements of a row, `element` bytes       pixels along W, 16 or 32 bytes each
//     dim 1..r-3    any                                      pixels along H, D
//     dim r-2       any                                      channel slices: a box has one of them, whatever it says
//     dim r-1       any (im2col: N)                          N
//     im2col walks  dims 1..r-2, each pixel `channels` wide  dims 0..r-3, each pixel one unit; `channels` is not read
//     element stride of dim 0 is ignored                     is obeyed
//     rows in shared memory are a span apart                 are packed
#include "tma.h"

#include <string.h>

#include "swizzle.h"
#include "tensormap/tensormap_args.h"

enum { ROW_BYTES_MOST = 256 * 32 };

static int is_im2col(const struct emu_tma_map *m)
{
    return m->call.func == TW_TENSORMAP_IM2COL;
}

enum emu_fault_kind emu_tma_open(const uint64_t bytes[16], struct emu_tma_map *map, struct emu_fault *fault)
{
    struct tw_tensormap_extra extra;
    uint64_t stray = 0;
    memset(map, 0, sizeof *map);
    int status = tw_tensormap_decode(bytes, &map->call, &extra);
    // Words 8 and on are the driver's notes, which tensormap.replace does not keep up to date.
    for (int i = 0; i < 8; i++)
        stray |= extra.unknown[i];
    struct tw_tensormap_call *c = &map->call;
    const struct tmap_dtype *dtype = tw_tmap_dtype(c->dtype);
    if (!dtype || dtype->bits < 8 || !tmap_rank(c) || (status != TW_OK && (stray || tw_tensormap_check(c, 90, NULL))))
        return emu_fail(fault, EMU_FAULT_ILLEGAL, 0, "the 128 bytes of the tensor map are none that can be encoded");

    unsigned r = c->rank;
    map->element = dtype->bits / 8;
    map->unit = c->interleave ? 16 * c->interleave : map->element;
    map->span = tw_swizzles[c->swizzle].span;
    if (!c->interleave)
        c->estride[0] = 1;
    if (is_im2col(map)) {
        map->loaded[0] = c->interleave ? 1 : c->channels;
        map->rows = c->pixels;
    } else {
        map->rows = 1;
        for (unsigned i = 0; i < r; i++) {
            map->loaded[i] = (c->box[i] + c->estride[i] - 1) / c->estride[i];
            if (c->interleave && i == r - 2)
                map->loaded[i] = 1;
            if (i && map->rows < UINT32_C(1) << 24)
                map->rows *= map->loaded[i];
        }
    }
    map->inner = map->loaded[0] * map->unit;
    map->pitch = map->span && !c->interleave ? map->span : map->inner;
    uint64_t extent = (uint64_t)map->rows * map->pitch;
    if (map->span)
        extent = (extent + map->span - 1) / map->span * map->span;
    if (extent > UINT32_C(1) << 28)
        return emu_fail(fault, EMU_FAULT_ILLEGAL, 0, "the tensor map's box is larger than any shared memory");
    map->extent = (uint32_t)extent;
    // [H200] out-of-bounds parts included
    map->transaction = map->rows * map->inner;
    return EMU_FAULT_NONE;
}

// Where spatial dimension i of an im2col map is among the dimensions.
static unsigned spatial(const struct emu_tma_map *m, unsigned i)
{
    return m->call.interleave ? i : i + 1;
}

enum emu_fault_kind emu_tma_check(const struct emu_tma_request *request, int is_store, struct emu_fault *fault)
{
    const struct emu_tma_map *m = request->map;
    const struct tw_tensormap_call *c = &m->call;
    if (request->rank != c->rank)
        return emu_fail(fault, EMU_FAULT_ILLEGAL, request->smem, "the instruction is .%ud, the tensor map has rank %u",
                        request->rank, c->rank);
    enum emu_tma_mode im2col = is_store ? EMU_TMA_IM2COL_NO_OFFS : EMU_TMA_IM2COL;
    if (request->mode != (is_im2col(m) ? im2col : EMU_TMA_TILE))
        return emu_fail(fault, EMU_FAULT_ILLEGAL, request->smem,
                        "the instruction's mode is not that of the tensor map");
    if (request->smem % 128)
        return emu_fail(fault, EMU_FAULT_ALIGN, request->smem,
                        "the box's address in shared memory, 0x%llx, is no multiple of 128 bytes",
                        (unsigned long long)request->smem);
    // [H200] traps, tile and im2col alike, not with interleave
    if (!c->interleave && (int64_t)request->coord[0] * m->element % 16)
        return emu_fail(fault, EMU_FAULT_TMA_INNER, request->smem,
                        "innermost coordinate %d times %u bytes is no multiple of 16 bytes", request->coord[0],
                        m->element);
    // [H200] traps: a store may hang over the far end of the tensor, not over the near one
    for (unsigned i = 0; is_store && i < c->rank; i++)
        if (request->coord[i] < 0)
            return emu_fail(fault, EMU_FAULT_ILLEGAL, request->smem,
                            "coordinate %u of a tensor store is %d, and stores take none below 0", i,
                            request->coord[i]);
    // [H200] traps: an im2col walk starts inside of its bounding box
    for (unsigned i = 0; is_im2col(m) && i + 2 < c->rank; i++) {
        unsigned d = spatial(m, i);
        int64_t last = (int64_t)c->dim[d] - 1 + c->upper[i];
        if (request->coord[d] < c->lower[i] || request->coord[d] > last)
            return emu_fail(fault, EMU_FAULT_ILLEGAL, request->smem,
                            "coordinate %d of dimension %u is outside of the map's bounding box, %d to %lld",
                            request->coord[d], d, c->lower[i], (long long)last);
    }
    return EMU_FAULT_NONE;
}

// ---- the walk over rows

// The coordinates of a row's first unit. The walk is in the order of the image.
struct walk {
    const struct emu_tma_request *request;
    int64_t at[5];
    int64_t pixel[5]; // im2col: `at` without the offsets
    uint32_t index[5];
};

static void walk_start(struct walk *w, const struct emu_tma_request *request)
{
    const struct tw_tensormap_call *c = &request->map->call;
    memset(w, 0, sizeof *w);
    w->request = request;
    for (unsigned i = 0; i < c->rank; i++)
        w->at[i] = w->pixel[i] = request->coord[i];
    if (request->mode == EMU_TMA_IM2COL)
        for (unsigned i = 0; i + 2 < c->rank; i++)
            w->at[spatial(request->map, i)] += request->offset[i];
}

// [H200] im2col: pixels step by the element strides; past the upper corner a dimension goes back to its lower corner
// and the next one steps, N by its own element stride.
static void walk_pixel(struct walk *w)
{
    const struct emu_tma_map *m = w->request->map;
    const struct tw_tensormap_call *c = &m->call;
    unsigned i = 0, r = c->rank;
    for (; i + 2 < r; i++) {
        unsigned d = spatial(m, i);
        w->pixel[d] += c->estride[d];
        if (w->pixel[d] <= (int64_t)c->dim[d] - 1 + c->upper[i])
            break;
        w->pixel[d] = c->lower[i];
    }
    if (i + 2 == r)
        w->pixel[r - 1] += c->estride[r - 1];
    for (unsigned d = 0; d < r; d++)
        w->at[d] = w->pixel[d];
    if (w->request->mode == EMU_TMA_IM2COL)
        for (unsigned k = 0; k + 2 < r; k++)
            w->at[spatial(m, k)] += w->request->offset[k];
}

static void walk_next(struct walk *w)
{
    const struct emu_tma_map *m = w->request->map;
    if (is_im2col(m)) {
        walk_pixel(w);
        return;
    }
    for (unsigned i = 1; i < m->call.rank; i++) {
        if (++w->index[i] < m->loaded[i]) {
            w->at[i] += m->call.estride[i];
            return;
        }
        w->index[i] = 0;
        w->at[i] = w->request->coord[i];
    }
}

// A row's part inside of the tensor: units first..end-1, and the global address of unit `first`. Empty: first == end.
struct inside {
    uint32_t first, end;
    uint64_t address;
};

static struct inside walk_inside(const struct walk *w)
{
    const struct emu_tma_map *m = w->request->map;
    const struct tw_tensormap_call *c = &m->call;
    struct inside in = {0};
    uint64_t address = c->addr;
    for (unsigned i = 1; i < c->rank; i++) {
        if (w->at[i] < 0 || (uint64_t)w->at[i] >= c->dim[i])
            return in;
        address += (uint64_t)w->at[i] * c->stride[i - 1];
    }
    int64_t step = c->estride[0], x = w->at[0], units = m->loaded[0];
    int64_t first = x >= 0 ? 0 : (-x + step - 1) / step;
    int64_t end = ((int64_t)c->dim[0] - x + step - 1) / step;
    end = end > units ? units : end;
    if (first >= end)
        return in;
    in.first = (uint32_t)first;
    in.end = (uint32_t)end;
    in.address = address + (uint64_t)(x + first * step) * m->unit;
    return in;
}

// ---- image

// Offset in the image of the byte at `at` before the swizzle. A swizzle moves bytes inside of lines of 128 bytes, and
// the box begins at one.
static uint32_t placed(const struct emu_tma_request *request, uint32_t at)
{
    uint32_t base = (uint32_t)request->smem & 0x3ff, mask = tw_swizzles[request->map->call.swizzle].mask;
    return at ^ ((base + at) >> 3 & mask);
}

// Moves a row between the image and a buffer.
static void move_row(const struct emu_tma_request *request, uint32_t at, uint8_t *image, uint8_t *row, int to_image)
{
    const struct emu_tma_map *m = request->map;
    if (m->call.swizzle == 0 && to_image)
        memcpy(image + at, row, m->inner);
    else if (m->call.swizzle == 0)
        memcpy(row, image + at, m->inner);
    else
        for (uint32_t k = 0; k < m->inner;) {
            uint32_t chunk = 16 - (at + k) % 16;
            chunk = chunk < m->inner - k ? chunk : m->inner - k;
            uint8_t *there = image + placed(request, at + k);
            if (to_image)
                memcpy(there, row + k, chunk);
            else
                memcpy(row + k, there, chunk);
            k += chunk;
        }
}

int emu_tma_pieces(const struct emu_tma_request *request, int (*piece)(void *context, struct emu_tma_piece piece),
                   void *context)
{
    const struct emu_tma_map *m = request->map;
    uint32_t bytes = m->rows * m->inner;
    if (m->inner == m->pitch && (!m->span || bytes % m->span == 0))
        return piece(context, (struct emu_tma_piece){0, bytes});
    // Chunks of 16 bytes are permuted within rows of a span: mark them, row by row, and join neighbours.
    struct emu_tma_piece last = {0, 0};
    uint32_t line = m->span; // a span has data in up to 8 chunks
    for (uint32_t at = 0; at < m->extent; at += line) {
        uint32_t used[8] = {0}; // bytes in each chunk
        for (uint32_t k = 0; k < line; k += 16) {
            uint32_t byte = at + k, end = m->inner == m->pitch ? bytes : at + m->inner;
            if (byte < end)
                used[(placed(request, byte) - at) / 16 & 7] = end - byte < 16 ? end - byte : 16;
        }
        for (uint32_t k = 0; k < line / 16; k++) {
            uint32_t start = at + 16 * k;
            if (!used[k])
                continue;
            if (last.bytes && last.at + last.bytes == start) {
                last.bytes += used[k];
                continue;
            }
            int status = last.bytes ? piece(context, last) : 0;
            if (status)
                return status;
            last = (struct emu_tma_piece){start, used[k]};
        }
    }
    return last.bytes ? piece(context, last) : 0;
}

int emu_tma_stored(const struct emu_tma_request *request, int (*piece)(void *context, struct emu_tma_piece piece),
                   void *context)
{
    const struct emu_tma_map *m = request->map;
    struct walk w;
    int parts = 0, status = 0;
    walk_start(&w, request);
    for (uint32_t r = 0; r < m->rows && !parts; r++, walk_next(&w)) {
        struct inside in = walk_inside(&w);
        parts = in.first || in.end * m->unit != m->inner;
    }
    if (!parts)
        return emu_tma_pieces(request, piece, context);
    walk_start(&w, request);
    for (uint32_t r = 0; r < m->rows && !status; r++, walk_next(&w)) {
        struct inside in = walk_inside(&w);
        uint32_t at = r * m->pitch + in.first * m->unit, end = r * m->pitch + in.end * m->unit;
        for (uint32_t next; at < end && !status; at = next) {
            next = m->span ? (at | 15) + 1 : end;
            next = next < end ? next : end;
            status = piece(context, (struct emu_tma_piece){m->span ? placed(request, at) : at, next - at});
        }
    }
    return status;
}

// ---- loads

static uint32_t load32(const void *at)
{
    uint32_t value;
    memcpy(&value, at, 4);
    return value;
}

// [H200] TFLOAT32 loads round to nearest even, subnormals too; every NaN becomes 0x7fffe000. The _FTZ types flush
// nothing on a load.
static void round_tf32(uint8_t *bytes, uint32_t count)
{
    for (uint32_t k = 0; k + 4 <= count; k += 4) {
        uint32_t value = load32(bytes + k), magnitude = value & 0x7fffffff;
        if (magnitude > 0x7f800000)
            value = 0x7fffe000;
        else if (magnitude < 0x7f800000)
            value = (value + 0xfff + (value >> 13 & 1)) & 0xffffe000;
        memcpy(bytes + k, &value, 4);
    }
}

// [H200] zeros, or 0x7ff7 in every 16 bits, whatever the type's size
static void fill(const struct emu_tma_map *m, uint8_t *bytes, uint32_t count)
{
    if (m->call.oob == 0) {
        memset(bytes, 0, count);
        return;
    }
    for (uint32_t k = 0; k + 2 <= count; k += 2) {
        bytes[k] = 0xf7;
        bytes[k + 1] = 0x7f;
    }
}

// Whether the box begins outside of the tensor.
static int begins_outside(const struct emu_tma_request *request)
{
    const struct tw_tensormap_call *c = &request->map->call;
    for (unsigned i = 0; i < c->rank; i++)
        if (request->coord[i] < 0 || (uint64_t)request->coord[i] >= c->dim[i])
            return 1;
    return 0;
}

enum emu_fault_kind emu_tma_read_global(const struct emu_tma_request *request, const struct emu_bytes *memory,
                                        uint8_t *image, struct emu_fault *fault)
{
    const struct emu_tma_map *m = request->map;
    const struct tmap_dtype *dtype = tw_tmap_dtype(m->call.dtype);
    uint8_t row[ROW_BYTES_MOST];
    struct walk w;
    // [H200] such a box touches the map's address, whether or not any of it lies there (tests/gpu/probes)
    if (!is_im2col(m) && begins_outside(request) && memory->read(memory->context, m->call.addr, row, 0))
        return emu_fail(fault, EMU_FAULT_BOUNDS, m->call.addr,
                        "a tensor load whose box begins outside of its map touches the map's address 0x%llx, which is "
                        "not allocated",
                        (unsigned long long)m->call.addr);
    if (m->inner != m->pitch || m->extent != m->rows * m->inner)
        memset(image, 0, m->extent);
    walk_start(&w, request);
    for (uint32_t r = 0; r < m->rows; r++, walk_next(&w)) {
        struct inside in = walk_inside(&w);
        uint32_t first = in.first * m->unit, end = in.end * m->unit;
        uint32_t piece = m->call.estride[0] == 1 ? end - first : m->unit;
        uint64_t step = (uint64_t)m->call.estride[0] * piece, address = in.address;
        fill(m, row, first);
        fill(m, row + end, m->inner - end);
        for (uint32_t k = first; k < end; k += piece, address += step)
            if (memory->read(memory->context, address, row + k, piece))
                return emu_fail(fault, EMU_FAULT_BOUNDS, address,
                                "a tensor load reads %u bytes at 0x%llx, which is not allocated", piece,
                                (unsigned long long)address);
        if (dtype->tf32)
            round_tf32(row + first, end - first);
        move_row(request, r * m->pitch, image, row, 1);
    }
    return EMU_FAULT_NONE;
}

// Moves the pieces between an image and shared memory.
struct transfer {
    const struct emu_bytes *memory;
    uint64_t smem;
    uint8_t *into;       // reading
    const uint8_t *from; // writing
    uint64_t failed;
};

static int transfer_piece(void *context, struct emu_tma_piece piece)
{
    struct transfer *t = context;
    uint64_t address = t->smem + piece.at;
    const struct emu_bytes *memory = t->memory;
    int status = t->into ? memory->read(memory->context, address, t->into + piece.at, piece.bytes)
                         : memory->write(memory->context, address, t->from + piece.at, piece.bytes);
    t->failed = address;
    return status;
}

enum emu_fault_kind emu_tma_write_shared(const struct emu_tma_request *request, const struct emu_bytes *memory,
                                         uint64_t smem, const uint8_t *image, struct emu_fault *fault)
{
    struct transfer t = {.memory = memory, .smem = smem, .from = image};
    if (emu_tma_pieces(request, transfer_piece, &t))
        return emu_fail(fault, EMU_FAULT_BOUNDS, t.failed,
                        "a tensor load writes to 0x%llx, past the end of shared memory", (unsigned long long)t.failed);
    return EMU_FAULT_NONE;
}

enum emu_fault_kind emu_tma_read_shared(const struct emu_tma_request *request, const struct emu_bytes *memory,
                                        uint8_t *image, struct emu_fault *fault)
{
    struct transfer t = {.memory = memory, .smem = request->smem, .into = image};
    if (emu_tma_pieces(request, transfer_piece, &t))
        return emu_fail(fault, EMU_FAULT_BOUNDS, t.failed, "a tensor store reads 0x%llx, past the end of shared memory",
                        (unsigned long long)t.failed);
    return EMU_FAULT_NONE;
}

// ---- stores

// The type of a reduction, by CUtensorMapDataType. -1: none.
static int reduce_type(enum emu_reduce op, uint32_t dtype)
{
    static const int8_t types[13] = {[0] = -1,
                                     [1] = -1,
                                     [2] = EMU_REDUCE_U32,
                                     [3] = EMU_REDUCE_S32,
                                     [4] = EMU_REDUCE_U64,
                                     [5] = EMU_REDUCE_S64,
                                     [6] = EMU_REDUCE_F16,
                                     [7] = EMU_REDUCE_F32,
                                     [8] = EMU_REDUCE_F64,
                                     [9] = EMU_REDUCE_BF16,
                                     [10] = EMU_REDUCE_F32_FTZ,
                                     [11] = EMU_REDUCE_F32,
                                     [12] = EMU_REDUCE_F32_FTZ};
    int type = dtype < 13 ? types[dtype] : -1;
    int bits = op == EMU_REDUCE_AND || op == EMU_REDUCE_OR || op == EMU_REDUCE_XOR;
    if (bits && type >= 0)
        type = emu_reduce_bytes((enum emu_reduce_type)type) == 4   ? EMU_REDUCE_B32
               : emu_reduce_bytes((enum emu_reduce_type)type) == 8 ? EMU_REDUCE_B64
                                                                   : -1;
    return type >= 0 && emu_reduce_valid(op, (enum emu_reduce_type)type) ? type : -1;
}

// One run of units of a row.
static enum emu_fault_kind put(const struct emu_bytes *memory, enum emu_reduce op, int type, uint64_t address,
                               const uint8_t *bytes, uint32_t count, struct emu_fault *fault)
{
    uint8_t old[ROW_BYTES_MOST];
    int failed;
    if (op == EMU_REDUCE_STORE) {
        failed = memory->write(memory->context, address, bytes, count);
    } else {
        failed = memory->read(memory->context, address, old, count);
        if (!failed) {
            emu_reduce_apply(op, (enum emu_reduce_type)type, old, bytes,
                             count / emu_reduce_bytes((enum emu_reduce_type)type));
            failed = memory->write(memory->context, address, old, count);
        }
    }
    if (failed)
        return emu_fail(fault, EMU_FAULT_BOUNDS, address,
                        "a tensor store writes %u bytes at 0x%llx, which is not allocated", count,
                        (unsigned long long)address);
    return EMU_FAULT_NONE;
}

enum emu_fault_kind emu_tma_write_global(const struct emu_tma_request *request, enum emu_reduce op,
                                         const struct emu_bytes *memory, const uint8_t *image, uint64_t *chunk_tail,
                                         struct emu_fault *fault)
{
    const struct emu_tma_map *m = request->map;
    uint8_t row[ROW_BYTES_MOST];
    uint64_t tail = 0;
    struct walk w;
    int type = op == EMU_REDUCE_STORE ? EMU_REDUCE_B32 : reduce_type(op, m->call.dtype);
    if (chunk_tail)
        *chunk_tail = 0;
    if (type < 0)
        return emu_fail(fault, EMU_FAULT_ILLEGAL, request->smem, "the tensor map's type has no such reduction");
    walk_start(&w, request);
    for (uint32_t r = 0; r < m->rows; r++, walk_next(&w)) {
        struct inside in = walk_inside(&w);
        if (in.first == in.end)
            continue;
        // move_row only reads the image here
        move_row(request, r * m->pitch, (uint8_t *)(uintptr_t)image, row, 0);
        uint32_t first = in.first * m->unit, end = in.end * m->unit;
        uint32_t piece = m->call.estride[0] == 1 ? end - first : m->unit;
        uint64_t step = (uint64_t)m->call.estride[0] * piece, address = in.address;
        for (uint32_t k = first; k < end; k += piece, address += step) {
            enum emu_fault_kind kind = put(memory, op, type, address, row + k, piece, fault);
            if (kind != EMU_FAULT_NONE)
                return kind;
        }
        // [H200] the 16-byte chunk in which the row ends is written, or reduced, as a whole
        uint64_t past = in.address + (end - first);
        uint32_t rest = (uint32_t)(16 - past % 16) % 16;
        if (m->call.interleave || !rest || end + rest > m->inner)
            continue;
        // What follows the tensor may not be allocated: then nothing is overwritten.
        put(memory, op, type, past, row + end, rest, NULL);
        tail = tail ? tail : past;
    }
    if (chunk_tail)
        *chunk_tail = tail;
    return EMU_FAULT_NONE;
}
