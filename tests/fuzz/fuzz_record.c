/* libFuzzer target of recorded launches: whatever a file holds, no crash, no leak, no hang, and no more memory for
   reading it than a small multiple of its bytes. README.md says how to run it.

   The bytes are read as they are, and once more with a header that fits them, since a checksum stops all the rest. What
   the reader takes is replayed. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "cmd/emu/emu_replay.h"
#include "emu/emu.h"
#include "record/record.h"

enum { REPLAY_MOST = 192 << 20 }; /* bytes that a replay may hold */

struct record_heap {
    size_t held, most, peak;
    int refused; /* more was asked for than may be */
};

union record_heap_header {
    size_t bytes;
    max_align_t align;
};

static void *record_heap_realloc(void *self, void *old, size_t bytes)
{
    struct record_heap *heap = self;
    union record_heap_header *header = old ? (union record_heap_header *)old - 1 : NULL;
    size_t before = header ? header->bytes : 0;
    if (bytes > heap->most || heap->held - before > heap->most - bytes) {
        heap->refused = 1;
        return NULL;
    }
    header = realloc(header, sizeof *header + bytes);
    if (!header)
        return NULL;
    heap->held = heap->held - before + bytes;
    heap->peak = heap->held > heap->peak ? heap->held : heap->peak;
    header->bytes = bytes;
    return header + 1;
}

static void *record_heap_alloc(void *self, size_t bytes)
{
    return record_heap_realloc(self, NULL, bytes);
}

static void record_heap_free(void *self, void *pointer)
{
    struct record_heap *heap = self;
    if (!pointer)
        return;
    union record_heap_header *header = (union record_heap_header *)pointer - 1;
    heap->held -= header->bytes;
    free(header);
}

/* What came of the inputs, for the test that counts them. */
static struct {
    unsigned refused, read, launched, equal;
} record_seen;

static void replay(struct tw_runtime *rt, const struct recorded *record, const struct tell *tell)
{
    struct emu_options options = {.arch = "sm_90a",
                                  .hazards = EMU_HAZARDS_ON,
                                  .memory_bytes = 64 << 20,
                                  .stack_bytes = 4096,
                                  .instruction_limit = 20000};
    struct emu_replay r = {.rt = rt, .tell = tell, .path = "x.record", .record = *record, .dtype = TW_DTYPE_COUNT};
    struct emu_program program = {.rt = rt, .tell = tell, .path = ""};
    struct tw_device *device = NULL;
    struct tw_kernel *kernel = NULL;
    struct tw_launch launch = {.kernel = NULL};
    struct tw_error error;
    int status = emu_replay_begin(&r, &program);
    if (status == 0)
        status = tw_device_open_emu(rt, &options, &device, &error);
    if (status == 0)
        status = emu_program_choose(&program, r.record.entry);
    if (status == 0)
        status = emu_replay_place(&r, device);
    if (status == 0) {
        struct tw_load load = {
            .entry = program.entry, .name = r.path, .ptx = program.ptx, .ptx_bytes = program.ptx_bytes};
        status = tw_device_load(device, &load, &kernel, &error);
        launch.kernel = kernel;
    }
    if (status == 0)
        status = emu_replay_launch(&r, device, &program, &launch);
    if (status == 0) {
        record_seen.launched++;
        status = tw_device_launch(device, &launch, &error);
        int different = emu_replay_compare(&r, device);
        record_seen.equal += status == 0 && !different;
    }
    tw_device_unload(device, kernel);
    tw_device_close(device);
    emu_program_free(&program);
    emu_replay_free(&r);
}

static void read_and_replay(const uint8_t *data, size_t size)
{
    struct record_heap heap = {.most = 8 * size + 4096};
    struct tw_memory memory = {&heap, record_heap_alloc, record_heap_realloc, record_heap_free};
    struct tw_runtime rt;
    struct tw_error error = {""};
    struct recorded record;
    struct tell tell = {.command = "emu"};
    if (tw_runtime_init(&rt, &error) != TW_OK)
        abort();
    struct tw_memory own = rt.memory;
    rt.memory = memory;
    unsigned char *bytes = tw_alloc(&rt, size + 1);
    if (!bytes)
        abort();
    memcpy(bytes, data, size);
    int status = recorded_parse(&rt, bytes, size, &record, &error);
    if (heap.refused || (status != TW_OK && (status != TW_ERROR_INVALID || !error.text[0])))
        abort();
    if (status == TW_OK) {
        record_seen.read++;
        heap.most = REPLAY_MOST;
        tell.diagnostics = json_object_new_array();
        tell.result = json_object_new_object();
        replay(&rt, &record, &tell);
        json_object_put(tell.diagnostics);
        json_object_put(tell.result);
    } else {
        record_seen.refused++;
        recorded_free(&rt, &record);
    }
    if (heap.held)
        abort(); /* a leak, and told at once */
    rt.memory = own;
    tw_runtime_close(&rt);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct recorded_header header;
    read_and_replay(data, size);
    if (size < sizeof header || size % 8)
        return 0;
    unsigned char *copy = malloc(size);
    if (!copy)
        abort();
    memcpy(copy, data, size);
    memcpy(&header, copy, sizeof header);
    memcpy(header.magic, RECORDED_MAGIC, sizeof header.magic);
    header.version = RECORDED_VERSION;
    header.bytes = size;
    header.checksum = recorded_checksum(0, copy + sizeof header, size - sizeof header);
    memcpy(copy, &header, sizeof header);
    read_and_replay(copy, size);
    free(copy);
    return 0;
}
