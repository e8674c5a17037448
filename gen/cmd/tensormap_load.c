// tilewright tensormap load: what a tensor load writes into shared memory, by the emulator's engine.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "cmd/cmd.h"
#include "cmd/json.h"
#include "cmd/tensormap_json.h"
#include "emu/async/async.h"
#include "emu/async/mbarrier.h"
#include "hooks.h"

enum { DONE = 0, INPUT = 1, ENVIRONMENT = 3 };
enum { POISON = 0xcd, SHOWN = 3072 };

#define GLOBAL UINT64_C(0x700000000000) // of the tensor's allocation: multiple of every alignment
#define SHARED UINT64_C(0x100000000)    // of the box; the barrier follows it
#define BARRIER (SHARED + (UINT64_C(1) << 23))

// The memory of one load: an allocation with a pattern, shared memory of one box, one barrier.
struct load_memory {
    uint8_t *shared;
    size_t bytes;
    uint64_t barrier;
};

static int load_read(void *context, uint64_t address, void *to, size_t bytes)
{
    struct load_memory *m = context;
    if (address >= GLOBAL) {
        for (size_t k = 0; k < bytes; k++)
            ((uint8_t *)to)[k] = (uint8_t)((address - GLOBAL + k) * 2654435761u >> 16);
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

static int read_field(json_object *o, const char *name, size_t index, int list, int64_t least, int64_t most,
                      int64_t *value, struct tensormap_fault *fault)
{
    json_object *f;
    if (!json_object_object_get_ex(o, name, &f))
        return tensormap_fail(fault, "%s is missing", name);
    if (list && (json_object_get_type(f) != json_type_array || json_object_array_length(f) <= index))
        return tensormap_fail(fault, "%s is no list, or too short", name);
    if (list)
        f = json_object_array_get_idx(f, index);
    if (json_object_get_type(f) != json_type_int)
        return tensormap_fail(fault, "%s is no integer", name);
    *value = json_object_get_int64(f);
    if (*value < least || *value > most)
        return tensormap_fail(fault, "%s is out of range", name);
    return 0;
}

// A load that moves more bytes than the barrier expects ends its phase where the running count happens to meet the
// expectation, which on an H200 is a race among the pieces: the same load, repeated, now completes and now does not. Of
// 55 such loads that were measured, all with interleave, none completed where the expectation was no multiple of a
// pixel's 16 or 32 bytes; of the tiled ones most did from three eighths of the bytes on, and hardly any before; of the
// im2col ones, half. This is the likelier answer.
static int overrun_completes(const struct emu_tma_map *map, uint64_t expected)
{
    return map->call.func == TW_TENSORMAP_TILED && map->call.interleave && expected % map->unit == 0 &&
           8 * expected >= UINT64_C(3) * map->transaction;
}

static void print_shared(const struct load_memory *m, int completed)
{
    static const char digits[] = "0123456789abcdef";
    char hex[2 * SHOWN + 1];
    size_t bytes = m->bytes < SHOWN ? m->bytes : SHOWN;
    while (bytes && m->shared[bytes - 1] == POISON)
        bytes--;
    for (size_t i = 0; i < bytes; i++) {
        hex[2 * i] = digits[m->shared[i] >> 4];
        hex[2 * i + 1] = digits[m->shared[i] & 15];
    }
    hex[2 * bytes] = 0;
    printf("{\"completed\":%d,\"smem\":\"%s\"}\n", completed, hex);
}

// The hardware's word for it, and the engine's.
static void print_trap(const struct emu_fault *trap)
{
    fputs("{\"error\":\"an illegal instruction was encountered\",\"hazard\":", stdout);
    json_text(stdout, emu_fault_name(trap->kind));
    fputs(",\"message\":", stdout);
    json_text(stdout, trap->text);
    fputs("}\n", stdout);
}

// Issues the load and prints what came of it. 0, or the exit status.
static int perform(struct tw_runtime *rt, const struct emu_tma_request *request, uint64_t expected)
{
    const struct emu_tma_map *map = request->map;
    struct load_memory m = {.bytes = map->extent > SHOWN ? map->extent : SHOWN};
    struct emu_bytes memory = {&m, load_read, load_write};
    struct emu_async_options options = {.mode = EMU_ASYNC_EAGER};
    struct emu_async_issue issue = {.memory = &memory};
    struct emu_async *queue = NULL;
    struct emu_fault trap = {0};
    struct tw_error error;
    int status = ENVIRONMENT, completed = 0;
    m.shared = tw_alloc(rt, m.bytes);
    if (!m.shared || emu_async_open(rt, &options, &queue, &error) != TW_OK)
        goto end;
    memset(m.shared, POISON, m.bytes);
    emu_mbarrier_init(&m.barrier, 1, NULL);
    emu_mbarrier_arrive(&m.barrier, 1, (uint32_t)expected, 0, NULL, NULL, NULL);
    enum emu_fault_kind kind = emu_async_tensor_load(queue, &issue, request, 0, BARRIER, &trap);
    status = kind == EMU_FAULT_MEMORY ? ENVIRONMENT : 0;
    if (kind == EMU_FAULT_NONE || kind == EMU_FAULT_TX_BYTES) {
        emu_mbarrier_test_parity(m.barrier, 0, &completed, NULL);
        if (expected < map->transaction)
            completed = overrun_completes(map, expected);
        print_shared(&m, completed);
    } else if (kind != EMU_FAULT_MEMORY) {
        print_trap(&trap);
    }
end:
    emu_async_close(queue);
    tw_free(rt, m.shared);
    return status;
}

// One line. 0, -1 with *fault, or the exit status.
static int load_line(struct tw_runtime *rt, json_tokener *tokener, const char *line, size_t length,
                     struct tensormap_fault *fault)
{
    struct tw_tensormap_call call;
    struct tw_tensormap_verdict verdict;
    struct emu_tma_map map;
    struct emu_tma_request request = {.map = &map, .smem = SHARED};
    struct emu_fault trap = {0};
    json_object *o;
    int64_t value, expected = 0;
    uint64_t bytes[16];
    int status = tensormap_read_json(tokener, line, length, &call, &o, fault);
    if (status)
        return status;
    status = -1;
    if (read_field(o, "offset", 0, 0, 0, INT64_C(1) << 40, &value, fault) ||
        read_field(o, "expect_tx", 0, 0, 0, EMU_MBARRIER_COUNT_MOST, &expected, fault))
        goto end;
    call.addr = GLOBAL + (uint64_t)value;
    if (tw_tensormap_check(&call, 90, &verdict) != TW_OK) {
        tensormap_fail(fault, "the map is refused: %.120s",
                       verdict.count ? tw_tensormap_rule_name(verdict.finding[0].rule) : "?");
        goto end;
    }
    for (unsigned i = 0; i < call.rank; i++) {
        if (read_field(o, "coord", i, 1, INT32_MIN, INT32_MAX, &value, fault))
            goto end;
        request.coord[i] = (int32_t)value;
    }
    for (unsigned i = 0; i + 2 < call.rank && call.func == TW_TENSORMAP_IM2COL; i++) {
        if (read_field(o, "offsets", i, 1, 0, UINT16_MAX, &value, fault))
            goto end;
        request.offset[i] = (uint16_t)value;
    }
    request.rank = call.rank;
    request.mode = call.func == TW_TENSORMAP_TILED ? EMU_TMA_TILE : EMU_TMA_IM2COL;
    if (tw_tensormap_encode(&call, 90, bytes) != TW_OK) {
        tensormap_fail(fault, "the map cannot be encoded");
        goto end;
    }
    if (emu_tma_open(bytes, &map, &trap) != EMU_FAULT_NONE) {
        print_trap(&trap);
        status = 0;
        goto end;
    }
    status = perform(rt, &request, (uint64_t)expected);
end:
    json_object_put(o);
    return status;
}

int tensormap_load(json_tokener *tokener)
{
    struct tw_runtime rt;
    struct tw_error error;
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    int status = DONE;
    if (tw_runtime_init(&rt, &error) != TW_OK) {
        fprintf(stderr, "tilewright tensormap load: %s\n", error.text);
        return ENVIRONMENT;
    }
    while (status != ENVIRONMENT && (length = getline(&line, &room, stdin)) >= 0) {
        struct tensormap_fault fault;
        if (length && line[length - 1] == '\n')
            line[--length] = 0;
        int result = load_line(&rt, tokener, line, (size_t)length, &fault);
        if (result < 0) {
            fputs("{\"error\":", stdout);
            json_text(stdout, fault.text);
            fputs("}\n", stdout);
        }
        status = result > 0 ? result : result < 0 ? INPUT : status;
    }
    if (status == ENVIRONMENT || !feof(stdin)) {
        fputs("tilewright tensormap load: out of memory, or the loads cannot be read\n", stderr);
        status = ENVIRONMENT;
    }
    free(line);
    tw_runtime_close(&rt);
    return status;
}
