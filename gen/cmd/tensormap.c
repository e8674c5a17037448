// tilewright tensormap: bytes and verdict of tensor-map calls, and why a call is refused. tensormap_decode.c and
// tensormap_load.c have the commands of these names; tensormap_json.c and tensormap_words.c read calls.
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/tensormap/tensormap_question.h"
#include "common/json.h"

static const char usage[] =
    "usage: tilewright tensormap encode [--cc 9.0] < CALLS\n"
    "       tilewright tensormap explain [--cc 9.0] [--driver 12.4] [--json] [WORDS | '{JSON}' | TEXT] [< TEXT]\n"
    "       tilewright tensormap decode [--json] HEX...\n"
    "       tilewright tensormap load < LOADS\n"
    "\n"
    "encode   answer each call with the 128 bytes of its map, or with why the driver refuses it\n"
    "explain  say what is wrong with a call, and which call near it works\n"
    "decode   say what the 128 bytes of a map mean\n"
    "load     answer each load with the bytes that it writes into shared memory\n"
    "\n"
    "encode reads one JSON call a line and answers each with one line, at once: {\"rc\":0,\"map\":\"<256 hex\n"
    "digits>\"}, or {\"rc\":1,\"rules\":[...],\"message\":\"...\"} where the driver refuses it, or\n"
    "{\"error\":\"...\"} for a line that is no call, and for a call that is accepted but whose bytes are not known\n"
    "here, as with the swizzles, the packed types and the im2col_wide of compute capability 10.0 (status 1 at the\n"
    "end).\n"
    "explain says what is wrong with a call and which call near it works; status 1 where it is refused. Words are\n"
    "    f=tiled dtype=bf16 dim=100,64 stride=200 box=64,64 swizzle=128B result=700\n"
    "innermost dimension first; strides are bytes, one fewer than dimensions; what is left out is dense, 1 or 0.\n"
    "Values of enums are numbers or names, in any case: cuda.h's with its CU_TENSOR_MAP_SWIZZLE_ or without, and of\n"
    "dtype short ones such as bf16, half, e4m3. Numbers are decimal, or hex after 0x. result is what the driver\n"
    "answered, and driver its CUDA version (--driver, for all calls).\n"
    "Text, in an argument or on stdin, is searched for calls: a JSON call a line, what CUTLASS, TensorRT-LLM,\n"
    "FlashInfer, TileLang, DeepGEMM, Triton and ThunderKittens print when a call fails, with whatever a log has\n"
    "around it, and the call itself in C, C++ or Python, with the lines that give its names their values.\n"
    "decode says what the 128 bytes of a map mean: 256 hex digits in the order of the bytes, with 0x before them or\n"
    "not, and blanks between them or not. What drivers and devices are known to write otherwise than the encoder\n"
    "here is noted; other stray bits, a type code that no type has and broken rules are named (status 1).\n"
    "load reads one JSON load a line (a call, with offset for addr, and coord, expect_tx, and offsets for im2col)\n"
    "and answers {\"completed\":1,\"smem\":\"<hex>\"}, what the emulated hardware writes, or {\"error\":\"...\"}.\n"
    "Byte i of the tensor's allocation is (i * 2654435761 >> 16) & 0xff; shared memory held 0xcd, and is cut after\n"
    "the last byte that is something else, and at 3072 bytes.\n"
    "--cc names the compute capability whose verdict counts.\n";

enum { DONE = 0, INPUT = 1, USAGE = 2, ENVIRONMENT = 3 };

// Answers a call: DONE, or INPUT for an error.
static int encode_call(const struct tw_tensormap_call *c, const struct tensormap_options *options)
{
    struct tw_tensormap_verdict verdict;
    struct tensormap_fault fault;
    uint64_t map[16];
    char digits[257];
    int status = tw_tensormap_encode(c, options->cc, map);
    if (status == TW_OK) {
        tensormap_map_text(map, digits);
        printf("{\"rc\":0,\"map\":\"%s\"}\n", digits);
        return DONE;
    }
    if (status != TW_ERROR_INVALID) {
        tensormap_fail(&fault, "accepted on compute capability %d.%d, but its bytes are not known here",
                       options->cc / 10, options->cc % 10);
        tensormap_print_fault(&fault);
        return INPUT;
    }
    tw_tensormap_check(c, options->cc, &verdict);
    fputs("{\"rc\":1,\"rules\":", stdout);
    tensormap_print_rules(&verdict);
    fputs(",\"message\":", stdout);
    tensormap_print_messages(c, options->cc, &verdict);
    fputs("}\n", stdout);
    return DONE;
}

// Answers each line of stdin, as long as stdout takes the answers.
static int encode(const struct tensormap_options *options)
{
    struct tensormap_line line = {0};
    struct tensormap_fault fault;
    int status = DONE, read = 0;
    while (!ferror(stdout) && (read = tensormap_next_line(&line, &fault)) > 0) {
        struct tw_tensormap_call call;
        int result = INPUT;
        if (tensormap_read_json(options->tokener, line.text, line.length, &call, NULL, &fault) == 0)
            result = encode_call(&call, options);
        else
            tensormap_print_fault(&fault);
        status = result == DONE ? status : result;
    }
    free(line.text);
    if (read < 0) {
        fprintf(stderr, "tilewright tensormap: %s\n", fault.text);
        return ENVIRONMENT;
    }
    return status;
}

// "9.0" is 90; -1 where the text is no compute capability.
static int read_cc(const char *text)
{
    int major = 0, digits = 0;
    for (; *text >= '0' && *text <= '9' && digits < 3; text++, digits++)
        major = major * 10 + (*text - '0');
    if (!digits || text[0] != '.' || text[1] < '0' || text[1] > '9' || text[2])
        return -1;
    return major * 10 + (text[1] - '0');
}

static int wrong_option(const struct tensormap_options *options, const char *text, int with_usage)
{
    json_fault(options->json, "tensormap", USAGE, text);
    if (with_usage && !options->json)
        fputs(usage, stderr);
    return -1;
}

// Reads the options of a command; the other arguments are moved to its front. Returns how many they are, or -1.
static int read_options(int argc, char **argv, const char *verb, struct tensormap_options *options)
{
    int has_cc = strcmp(verb, "encode") == 0 || strcmp(verb, "explain") == 0;
    int has_driver = strcmp(verb, "explain") == 0;
    int has_json = strcmp(verb, "explain") == 0 || strcmp(verb, "decode") == 0;
    int count = 0;
    char text[512];
    for (int i = 0; has_json && i < argc; i++) // a fault of what stands before it is told so too
        options->json = options->json || strcmp(argv[i], "--json") == 0;
    for (int i = 0; i < argc; i++) {
        const char *cc = NULL, *driver = NULL;
        if (has_cc && strcmp(argv[i], "--cc") == 0 && i + 1 < argc) {
            cc = argv[++i];
        } else if (has_cc && strncmp(argv[i], "--cc=", 5) == 0) {
            cc = argv[i] + 5;
        } else if (has_driver && strcmp(argv[i], "--driver") == 0 && i + 1 < argc) {
            driver = argv[++i];
        } else if (has_driver && strncmp(argv[i], "--driver=", 9) == 0) {
            driver = argv[i] + 9;
        } else if (argv[i][0] != '-' || !argv[i][1]) {
            argv[count++] = argv[i];
        } else if (!has_json || strcmp(argv[i], "--json") != 0) {
            snprintf(text, sizeof text, "unknown or incomplete option '%s'", argv[i]);
            return wrong_option(options, text, 1);
        }
        if (cc && (options->cc = read_cc(cc)) < 0) {
            snprintf(text, sizeof text, "--cc %s is no compute capability such as 9.0", cc);
            return wrong_option(options, text, 0);
        }
        if (driver && (options->driver = tensormap_driver_version(driver)) < 0) {
            snprintf(text, sizeof text, "--driver %s is no CUDA version such as 12.4", driver);
            return wrong_option(options, text, 0);
        }
    }
    return count;
}

static int perform(const char *verb, int count, char **rest, struct tensormap_options *options)
{
    int status = USAGE;
    if (!(options->tokener = json_tokener_new())) {
        fputs("tilewright tensormap: out of memory\n", stderr);
        return ENVIRONMENT;
    }
    json_tokener_set_flags(options->tokener, JSON_TOKENER_STRICT | JSON_TOKENER_ALLOW_TRAILING_CHARS);
    setvbuf(stdout, NULL, _IOLBF, 0); // who sends a call may wait for its answer
    if (strcmp(verb, "encode") == 0 && count == 0) {
        status = encode(options);
    } else if (strcmp(verb, "explain") == 0) {
        status = tensormap_explain(count, rest, options);
    } else if (strcmp(verb, "decode") == 0 && count) {
        status = tensormap_decode(count, rest, options->json);
    } else if (strcmp(verb, "load") == 0 && count == 0) {
        status = tensormap_load(options->tokener);
    } else {
        wrong_option(options, "encode, explain, decode or load? Which call, or which map?", 1);
    }
    json_tokener_free(options->tokener);
    return status;
}

int cmd_tensormap(int argc, char **argv)
{
    struct tensormap_options options = {.cc = 90};
    const char *verb = argc > 1 ? argv[1] : "";
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(usage, stdout);
            return DONE;
        }
    int count = read_options(argc > 2 ? argc - 2 : 0, argv + 2, verb, &options);
    if (count < 0)
        return USAGE;
    int status = perform(verb, count, argv + 2, &options);
    return fflush(stdout) || ferror(stdout) ? ENVIRONMENT : status; // main says that stdout cannot be written
}
