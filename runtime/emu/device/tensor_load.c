#include "emu/tensor_load.h"

#include <stdio.h>
#include <string.h>

#include "emu/addresses.h"
#include "emu/async/async.h"
#include "emu/async/mbarrier.h"

#define SHARED EMU_SHARED_WINDOW /* of the box; the barrier follows it */
#define BARRIER (SHARED + EMU_SHARED_STRIDE / 2)

_Static_assert((int)EMU_TENSOR_LOAD_EXPECT == (int)EMU_MBARRIER_COUNT_MOST, "what a barrier can expect");

/* The memory of one load: an allocation with a pattern, shared memory of one box, one barrier. */
struct load_memory {
    unsigned char *shared;
    size_t bytes;
    uint64_t barrier;
};

static int load_read(void *context, uint64_t address, void *to, size_t bytes)
{
    struct load_memory *m = context;
    if (address >= EMU_GLOBAL_START) {
        for (size_t k = 0; k < bytes; k++)
            ((uint8_t *)to)[k] = (uint8_t)((address - EMU_GLOBAL_START + k) * 2654435761u >> 16);
        return 0;
    }
    if (address != BARRIER || bytes != 8)
        return -1;
    memcpy(to, &m->barrier, 8);
    return 0;
}

static int load_write(void *context, uint64_t address, const void *from, size_t bytes)
{
    struct load_memory *m = context;
    if (address == BARRIER && bytes == 8) {
        memcpy(&m->barrier, from, 8);
        return 0;
    }
    if (address < SHARED || address - SHARED > m->bytes || bytes > m->bytes - (address - SHARED))
        return -1;
    memcpy(m->shared + (address - SHARED), from, bytes);
    return 0;
}

/* A load that moves more bytes than the barrier expects ends its phase where the running count happens to meet the
   expectation, which on an H200 is a race among the pieces: the same load, repeated, now completes and now does not. Of
   55 such loads that were measured, all with interleave, none completed where the expectation was no multiple of a
   pixel's 16 or 32 bytes; of the tiled ones most did from three eighths of the bytes on, and hardly any before; of the
   im2col ones, half. This is the likelier answer. */
static int overrun_completes(const struct emu_tma_map *map, uint64_t expected)
{
    return map->call.func == TW_TENSORMAP_TILED && map->call.interleave && expected % map->unit == 0 &&
           8 * expected >= UINT64_C(3) * map->transaction;
}

static void illegal(struct emu_tensor_loaded *loaded, const struct emu_fault *fault)
{
    loaded->hazard = emu_fault_name(fault->kind);
    snprintf(loaded->text, sizeof loaded->text, "%s", fault->text);
}

/* Issues the load on memory that is there. */
static enum emu_fault_kind perform(struct tw_runtime *rt, const struct emu_tma_request *request, uint32_t expected,
                                   struct load_memory *m, int *completed, struct emu_fault *fault)
{
    const struct emu_tma_map *map = request->map;
    struct emu_bytes memory = {m, load_read, load_write};
    struct emu_async_options options = {.mode = EMU_ASYNC_EAGER};
    struct emu_async_issue issue = {.memory = &memory};
    struct emu_async *queue = NULL;
    struct tw_error error;
    if (emu_async_open(rt, &options, &queue, &error) != TW_OK)
        return EMU_FAULT_MEMORY;
    emu_mbarrier_init(&m->barrier, 1, NULL);
    emu_mbarrier_arrive(&m->barrier, 1, expected, 0, NULL, NULL, NULL);
    enum emu_fault_kind kind = emu_async_tensor_load(queue, &issue, request, 0, BARRIER, fault);
    if (kind == EMU_FAULT_NONE || kind == EMU_FAULT_TX_BYTES) {
        kind = EMU_FAULT_NONE;
        emu_mbarrier_test_parity(m->barrier, 0, completed, NULL);
        if (expected < map->transaction)
            *completed = overrun_completes(map, expected);
    }
    emu_async_close(queue);
    return kind;
}

int emu_tensor_load(struct tw_runtime *rt, const struct emu_tensor_load *load, struct emu_tensor_loaded *loaded)
{
    struct emu_fault fault = {0};
    struct emu_tma_map map;
    memset(loaded, 0, sizeof *loaded);
    if (emu_tma_open(load->image, &map, &fault) != EMU_FAULT_NONE) {
        illegal(loaded, &fault);
        return TW_OK;
    }
    struct emu_tma_request request = {.map = &map, .smem = SHARED, .rank = map.call.rank};
    request.mode = map.call.func == TW_TENSORMAP_TILED ? EMU_TMA_TILE : EMU_TMA_IM2COL;
    memcpy(request.coord, load->coord, sizeof load->coord);
    memcpy(request.offset, load->offset, sizeof load->offset);

    struct load_memory m = {.bytes = map.extent > EMU_TENSOR_LOAD_LEAST ? map.extent : EMU_TENSOR_LOAD_LEAST};
    m.shared = tw_alloc(rt, m.bytes);
    if (!m.shared)
        return TW_ERROR_MEMORY;
    memset(m.shared, EMU_TENSOR_LOAD_POISON, m.bytes);
    enum emu_fault_kind kind = perform(rt, &request, load->expected, &m, &loaded->completed, &fault);
    if (kind != EMU_FAULT_NONE) {
        tw_free(rt, m.shared);
        if (kind != EMU_FAULT_MEMORY)
            illegal(loaded, &fault);
        return kind == EMU_FAULT_MEMORY ? TW_ERROR_MEMORY : TW_OK;
    }
    loaded->shared = m.shared;
    loaded->bytes = m.bytes;
    return TW_OK;
}
