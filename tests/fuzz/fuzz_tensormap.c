/* libFuzzer target of tensor maps: `tilewright tensormap` on any line and any words, and the library on any struct and
   any 128 bytes. README.md says how to run it.

   The first byte says what the rest is: e x j calls a line, for encode, explain and explain --json; l loads a line; w v
   words, for explain and explain --json; d D hex digits, for decode and decode --json; s a struct; b the bytes of a
   map; t a tensor, its box and another tensor; p P a DLPack tensor, versioned and not. The second byte chooses the
   compute capability. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "tensormap/tensormap.h"
#include "tensormap/tensorview.h"

static const int tensormap_ccs[] = {90, 100, 103, 120, 80, 0, 75, 9990};

/* What must hold of any call whatever. */
static void tensormap_struct(const struct tw_tensormap_call *call, int cc)
{
    struct tw_tensormap_verdict verdict;
    struct tw_tensormap_call nearest, back;
    struct tw_tensormap_extra extra;
    uint64_t map[16];
    char text[1024], cut[40];
    int status = tw_tensormap_check(call, cc, &verdict);
    if ((status != TW_OK) != (verdict.refused != 0) || verdict.count != verdict.refused + verdict.warned ||
        verdict.count > TW_TENSORMAP_FINDINGS || tw_tensormap_check(call, cc, NULL) != status)
        abort();
    for (int i = 0; i < verdict.count; i++) {
        if (!tw_tensormap_rule_name(verdict.finding[i].rule)[0])
            abort();
        if (strlen(tw_tensormap_message(call, cc, &verdict.finding[i], text, TW_TENSORMAP_MESSAGE)) + 1 ==
            TW_TENSORMAP_MESSAGE)
            abort(); /* cut, and the header says that it never is */
        tw_tensormap_message(call, cc, &verdict.finding[i], cut, sizeof cut);
        if (strncmp(text, cut, strlen(cut)) != 0)
            abort();
    }
    tw_tensormap_format(call, text, sizeof text);
    tw_tensormap_format(call, cut, sizeof cut);
    if (tw_tensormap_nearest(call, cc, &nearest) == TW_OK && tw_tensormap_check(&nearest, cc, NULL) != TW_OK)
        abort();
    int encoded = tw_tensormap_encode(call, cc, map);
    if ((encoded == TW_ERROR_INVALID) != (status != TW_OK))
        abort();
    if (encoded != TW_OK)
        return;
    if (tw_tensormap_decode(map, &back, &extra) != TW_OK || tw_tensormap_replace_address(map, back.addr) != TW_OK ||
        back.addr != call->addr)
        abort();
    for (int i = 0; i < 16; i++)
        if (extra.unknown[i])
            abort();
}

static void tensormap_bytes(const uint8_t *data, size_t size)
{
    uint64_t map[16] = {0}, before[16];
    struct tw_tensormap_call call;
    struct tw_tensormap_extra extra;
    char text[1024];
    uint64_t addr = 0;
    memcpy(map, data, size < sizeof map ? size : sizeof map);
    memcpy(&addr, data, size < sizeof addr ? size : sizeof addr);
    memcpy(before, map, sizeof map);
    int status = tw_tensormap_decode(map, &call, &extra);
    tw_tensormap_format(&call, text, sizeof text);
    if (tw_tensormap_replace_address(map, addr) != TW_OK && memcmp(before, map, sizeof map) != 0)
        abort();
    if (status == TW_OK)
        tensormap_struct(&call, 90);
}

/* What must hold of any tensor and box, and of any tensor in the place of it. */
static void tensormap_tensor(const struct tw_tensor *tensor, const struct tw_tensor_box *box, int cc,
                             const struct tw_tensor *other)
{
    struct tw_error error;
    struct tw_tensor_map map, before;
    struct tw_tensor dense = *tensor;
    uint64_t word[16];
    if (tw_tensor_dense(&dense, &error) != TW_OK && !error.text[0])
        abort();
    int status = tw_tensor_encode(tensor, box, cc, &map, &error);
    if (status != TW_OK) {
        if (!error.text[0] || tw_tensor_map_check(&map, tensor->device, NULL, 0, &error) == TW_OK)
            abort();
        return;
    }
    if (tw_tensormap_encode(&map.call, cc, word) != TW_OK || memcmp(word, map.word, sizeof word) != 0 ||
        tw_tensor_map_check(&map, tensor->device, tensor->context, 0, &error) != TW_OK)
        abort();
    before = map;
    if (tw_tensor_map_replace(&map, other, &error) != TW_OK) {
        if (memcmp(&before, &map, sizeof map) != 0)
            abort();
        return;
    }
    if (tw_tensor_encode(other, box, cc, &before, &error) != TW_OK || memcmp(before.word, map.word, sizeof word) != 0 ||
        other->device != tensor->device || other->device_type != tensor->device_type)
        abort();
}

/* The structs of dlpack.h on a 64-bit machine: the bytes give all but the pointers to shape and strides, of which there
   are as many as TW_TENSOR_RANK and fewer bytes leave strides out. */
static void tensormap_dlpack(const uint8_t *data, size_t size, int versioned, int cc)
{
    enum { HEAD = 32, TENSOR = 48, SHAPE = 24, STRIDES = 32 };
    _Alignas(8) unsigned char managed[HEAD + TENSOR + 16] = {0};
    int64_t list[2][TW_TENSOR_RANK] = {{0}};
    struct tw_tensor tensor, other;
    struct tw_tensor_box box = {.box = {1, 8, 8, 8, 8}};
    struct tw_error error;
    const size_t head = versioned ? HEAD : 0, used = size < head + TENSOR ? size : head + TENSOR;
    memcpy(managed, data, used);
    memcpy(list, data + used, size - used < sizeof list ? size - used : sizeof list);
    const void *pointer[2] = {list[0], size - used > sizeof list[0] ? list[1] : NULL};
    memcpy(managed + head + SHAPE, pointer, sizeof pointer);
    int status = versioned ? tw_tensor_from_dlpack_versioned(managed, &tensor, &error)
                           : tw_tensor_from_dlpack(managed, &tensor, &error);
    if (status != TW_OK)
        return;
    other = tensor;
    other.address += 4096;
    tensormap_tensor(&tensor, &box, cc, &other);
}

/* Runs the command with this text as its input; its answers are thrown away. */
static void tensormap_command(int argc, const char **argv, const uint8_t *data, size_t size)
{
    FILE *in = stdin, *out = stdout, *err = stderr;
    static FILE *none;
    char *words[80];
    if (!none && !(none = fopen("/dev/null", "w")))
        abort();
    for (int i = 0; i < argc; i++)
        words[i] = (char *)(uintptr_t)argv[i];
    words[argc] = NULL;
    FILE *text = size ? fmemopen((void *)(uintptr_t)data, size, "r") : fopen("/dev/null", "r");
    if (!text)
        abort();
    stdin = text;
    stdout = stderr = none;
    int status = cmd_tensormap(argc, words);
    stdin = in;
    stdout = out;
    stderr = err;
    fclose(text);
    if (status < 0 || status > 3)
        abort();
}

/* The bytes as the library's arguments. */
static void take_bytes(int kind, const uint8_t *data, size_t size, int cc)
{
    switch (kind) {
    case 's': {
        struct tw_tensormap_call call;
        memset(&call, 0, sizeof call);
        memcpy(&call, data, size < sizeof call ? size : sizeof call);
        tensormap_struct(&call, cc);
        break;
    }
    case 'b':
        tensormap_bytes(data, size);
        break;
    case 't': {
        struct {
            struct tw_tensor tensor;
            struct tw_tensor_box box;
            struct tw_tensor other;
        } all;
        memset(&all, 0, sizeof all);
        memcpy(&all, data, size < sizeof all ? size : sizeof all);
        if (size < sizeof all) {
            all.other = all.tensor;
            all.other.address += 4096;
        }
        tensormap_tensor(&all.tensor, &all.box, cc, &all.other);
        break;
    }
    case 'p':
    case 'P':
        tensormap_dlpack(data, size, kind == 'p', cc);
        break;
    default:
        break;
    }
}

/* The bytes as a command's words or input; text: the same with a zero behind them, which is changed. */
static void take_command(int kind, char *text, const uint8_t *data, size_t size, int cc)
{
    char option[32];
    const char *words[70] = {"tensormap"};
    int count = 1;
    snprintf(option, sizeof option, "--cc=%d.%d", cc / 10, cc % 10);
    switch (kind) {
    case 'e':
    case 'l':
        words[count++] = kind == 'e' ? "encode" : "load";
        if (kind == 'e')
            words[count++] = option;
        tensormap_command(count, words, (const uint8_t *)text, size);
        break;
    case 'x':
    case 'j':
        words[count++] = "explain";
        words[count++] = option;
        if (kind == 'j')
            words[count++] = "--json";
        tensormap_command(count, words, (const uint8_t *)text, size);
        break;
    case 'd':
    case 'D':
        words[count++] = "decode";
        if (kind == 'D')
            words[count++] = "--json";
        words[count++] = text;
        tensormap_command(count, words, data, 0);
        break;
    case 'w':
    case 'v':
        words[count++] = "explain";
        words[count++] = option;
        if (kind == 'v')
            words[count++] = "--json";
        for (char *word = strtok(text, " "); word && count < 68; word = strtok(NULL, " "))
            words[count++] = word;
        tensormap_command(count, words, data, 0);
        break;
    default:
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    int cc = tensormap_ccs[data[1] % (sizeof tensormap_ccs / sizeof tensormap_ccs[0])], kind = data[0];
    data += 2;
    size -= 2;
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    take_bytes(kind, data, size, cc);
    take_command(kind, text, data, size, cc);
    free(text);
    return 0;
}
