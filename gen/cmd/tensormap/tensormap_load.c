// tilewright tensormap load: what a tensor load writes into shared memory, by the emulator's engine.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "cmd/tensormap/tensormap_json.h"
#include "common/json.h"
#include "emu/addresses.h"
#include "emu/tensor_load.h"
#include "hooks.h"

enum { DONE = 0, INPUT = 1, ENVIRONMENT = 3 };
enum { SHOWN = EMU_TENSOR_LOAD_LEAST }; // bytes

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

static void print_shared(const struct emu_tensor_loaded *loaded)
{
    static const char digits[] = "0123456789abcdef";
    char hex[2 * SHOWN + 1];
    size_t bytes = SHOWN;
    while (bytes && loaded->shared[bytes - 1] == EMU_TENSOR_LOAD_POISON)
        bytes--;
    for (size_t i = 0; i < bytes; i++) {
        hex[2 * i] = digits[loaded->shared[i] >> 4];
        hex[2 * i + 1] = digits[loaded->shared[i] & 15];
    }
    hex[2 * bytes] = 0;
    printf("{\"completed\":%d,\"smem\":\"%s\"}\n", loaded->completed, hex);
}

// The hardware's word for it, and the engine's.
static void print_illegal(const struct emu_tensor_loaded *loaded)
{
    fputs("{\"error\":\"an illegal instruction was encountered\",\"hazard\":", stdout);
    json_text(stdout, loaded->hazard);
    fputs(",\"message\":", stdout);
    json_text(stdout, loaded->text);
    fputs("}\n", stdout);
}

// One line. 0, -1 with *fault, or the exit status.
static int load_line(struct tw_runtime *rt, json_tokener *tokener, const char *line, size_t length,
                     struct tensormap_fault *fault)
{
    struct tw_tensormap_call call;
    struct tw_tensormap_verdict verdict;
    struct emu_tensor_load load = {0};
    struct emu_tensor_loaded loaded;
    json_object *o;
    int64_t value, expected = 0;
    int status = tensormap_read_json(tokener, line, length, &call, &o, fault);
    if (status)
        return status;
    status = -1;
    if (read_field(o, "offset", 0, 0, 0, INT64_C(1) << 40, &value, fault) ||
        read_field(o, "expect_tx", 0, 0, 0, EMU_TENSOR_LOAD_EXPECT, &expected, fault))
        goto end;
    call.addr = EMU_GLOBAL_START + (uint64_t)value;
    if (tw_tensormap_check(&call, 90, &verdict) != TW_OK) {
        tensormap_fail(fault, "the map is refused: %.120s",
                       verdict.count ? tw_tensormap_rule_name(verdict.finding[0].rule) : "?");
        goto end;
    }
    for (unsigned i = 0; i < call.rank; i++) {
        if (read_field(o, "coord", i, 1, INT32_MIN, INT32_MAX, &value, fault))
            goto end;
        load.coord[i] = (int32_t)value;
    }
    for (unsigned i = 0; i + 2 < call.rank && call.func == TW_TENSORMAP_IM2COL; i++) {
        if (read_field(o, "offsets", i, 1, 0, UINT16_MAX, &value, fault))
            goto end;
        load.offset[i] = (uint16_t)value;
    }
    load.expected = (uint32_t)expected;
    if (tw_tensormap_encode(&call, 90, load.image) != TW_OK) {
        tensormap_fail(fault, "the map cannot be encoded");
        goto end;
    }
    status = ENVIRONMENT;
    if (emu_tensor_load(rt, &load, &loaded) != TW_OK)
        goto end;
    status = DONE;
    if (loaded.hazard)
        print_illegal(&loaded);
    else
        print_shared(&loaded);
    tw_free(rt, loaded.shared);
end:
    json_object_put(o);
    return status;
}

int tensormap_load(json_tokener *tokener)
{
    struct tw_runtime rt;
    struct tw_error error;
    struct tensormap_line line = {0};
    struct tensormap_fault why;
    int status = DONE, read = 0;
    if (tw_runtime_init(&rt, &error) != TW_OK) {
        fprintf(stderr, "tilewright tensormap load: %s\n", error.text);
        return ENVIRONMENT;
    }
    while (status != ENVIRONMENT && (read = tensormap_next_line(&line, &why)) > 0) {
        struct tensormap_fault fault;
        int result = load_line(&rt, tokener, line.text, line.length, &fault);
        if (result < 0) {
            fputs("{\"error\":", stdout);
            json_text(stdout, fault.text);
            fputs("}\n", stdout);
        }
        status = result > 0 ? result : result < 0 ? INPUT : status;
    }
    if (status == ENVIRONMENT || read < 0) {
        fprintf(stderr, "tilewright tensormap load: %s\n", read < 0 ? why.text : "out of memory");
        status = ENVIRONMENT;
    }
    free(line.text);
    tw_runtime_close(&rt);
    return status;
}
