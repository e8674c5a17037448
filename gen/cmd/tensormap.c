// tilewright tensormap: bytes and verdict of tensor-map calls, why a call is refused, what the bytes of a map mean.
// tensormap_load.c has the load command.
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L // getline
#endif

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "cmd/cmd.h"
#include "cmd/json.h"
#include "cmd/tensormap_json.h"
#include "dtype.h"
#include "tensormap_internal.h"

static const char usage[] =
    "usage: tilewright tensormap encode [--cc 9.0] < CALLS\n"
    "       tilewright tensormap explain [--cc 9.0] [--json] [WORDS | '{JSON}'] [< CALLS]\n"
    "       tilewright tensormap decode [--json] HEX\n"
    "       tilewright tensormap load < LOADS\n"
    "\n"
    "encode   answer each call with the 128 bytes of its map, or with why the driver refuses it\n"
    "explain  say what is wrong with a call, and which call near it works\n"
    "decode   say what the 128 bytes of a map mean\n"
    "load     answer each load with the bytes that it writes into shared memory\n"
    "\n"
    "encode reads one JSON call a line and answers each with one line: {\"rc\":0,\"map\":\"<256 hex digits>\"},\n"
    "or {\"rc\":1,\"rules\":[...],\"message\":\"...\"} where the driver refuses it, or {\"error\":\"...\"} for a line\n"
    "that is no call (status 1 at the end).\n"
    "explain says what is wrong with a call and which call near it works. Words are\n"
    "    f=tiled dtype=bf16 dim=100,64 stride=200 box=64,64 swizzle=128B\n"
    "innermost dimension first; strides are bytes, and what is left out is dense, 1 or 0.\n"
    "decode says what the 128 bytes of a map, 256 hex digits, mean.\n"
    "load reads one JSON load a line (a call, with offset for addr, and coord, expect_tx, and offsets for im2col) and\n"
    "answers {\"completed\":1,\"smem\":\"<hex>\"}, what the emulated hardware writes, or {\"error\":\"...\"}. Byte i "
    "of\n"
    "the tensor's allocation is (i * 2654435761 >> 16) & 0xff; shared memory held 0xcd, and is cut after the last "
    "byte\n"
    "that is something else, and at 3072 bytes.\n"
    "--cc names the compute capability whose verdict counts.\n";

enum { DONE = 0, INPUT = 1, USAGE = 2, ENVIRONMENT = 3 };

int tensormap_fail(struct tensormap_fault *fault, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(fault->text, sizeof fault->text, format, list);
    va_end(list);
    return -1;
}

// ---- reading a call

// Whether a line holds an integer past 2^64 - 1: json-c gives 2^64 - 1 for it.
static int has_long_integer(const char *line)
{
    static const char most[] = "18446744073709551615";
    int in_string = 0;
    for (const char *p = line; *p;) {
        if (in_string && *p == '\\' && p[1]) {
            p += 2;
            continue;
        }
        in_string ^= *p == '"';
        if (in_string || *p < '0' || *p > '9') {
            p++;
            continue;
        }
        size_t digits = strspn(p, "0123456789");
        if (digits > sizeof most - 1 || (digits == sizeof most - 1 && strncmp(p, most, digits) > 0))
            return 1;
        p += digits;
    }
    return 0;
}

// Whether a value fits the type that the driver takes.
static int fits(enum tmap_arg arg, uint64_t value)
{
    if (tmap_args[arg].is_signed)
        return (int64_t)value >= INT32_MIN && (int64_t)value <= INT32_MAX;
    return tmap_args[arg].size == 8 || value <= UINT32_MAX;
}

static int read_integer(json_object *o, enum tmap_arg arg, const char *line, uint64_t *value,
                        struct tensormap_fault *fault)
{
    const char *name = tmap_args[arg].name;
    if (json_object_get_type(o) != json_type_int)
        return tensormap_fail(fault, "%s is no integer", name);
    int64_t s = json_object_get_int64(o);
    *value = s < 0 ? (uint64_t)s : json_object_get_uint64(o);
    if (s < 0 && !tmap_args[arg].is_signed)
        return tensormap_fail(fault, "%s is negative", name);
    if (!fits(arg, *value))
        return tensormap_fail(fault, "%s does not fit %s", name,
                              tmap_args[arg].is_signed ? "32 bits with sign" : "32 bits");
    if (*value == UINT64_MAX && !tmap_args[arg].is_signed && has_long_integer(line))
        return tensormap_fail(fault, "%s does not fit 64 bits", name);
    return 0;
}

static int read_argument(json_object *call, enum tmap_arg arg, const char *line, int optional,
                         struct tw_tensormap_call *c, struct tensormap_fault *fault)
{
    const struct tmap_arg_info *a = &tmap_args[arg];
    json_object *o;
    uint64_t value;
    if (!(a->funcs & 1u << c->func))
        return 0;
    if (!json_object_object_get_ex(call, a->name, &o))
        return optional ? 0 : tensormap_fail(fault, "%s is missing", a->name);
    if (a->entries == TMAP_ENTRIES_ONE) {
        if (read_integer(o, arg, line, &value, fault))
            return -1;
        tmap_set(c, arg, 0, value);
        return 0;
    }
    if (json_object_get_type(o) != json_type_array)
        return tensormap_fail(fault, "%s is no list", a->name);
    size_t length = json_object_array_length(o);
    unsigned least = tmap_entries(c, arg); // 0 where the rank is refused anyway
    if (length < least)
        return tensormap_fail(fault, "%s has %zu entries, rank %" PRIu32 " takes %u", a->name, length, c->rank, least);
    for (size_t i = 0; i < length; i++) {
        if (read_integer(json_object_array_get_idx(o, i), arg, line, &value, fault))
            return -1;
        if (i < a->room)
            tmap_set(c, arg, (unsigned)i, value);
    }
    return 0;
}

static int read_func(const char *name, struct tw_tensormap_call *c, struct tensormap_fault *fault)
{
    for (int f = TW_TENSORMAP_TILED; f <= TW_TENSORMAP_IM2COL_WIDE; f++)
        if (strcmp(tmap_func_name((enum tw_tensormap_func)f), name) == 0) {
            c->func = (enum tw_tensormap_func)f;
            return 0;
        }
    return tensormap_fail(fault, "f is none of tiled, im2col, im2col_wide");
}

int tensormap_read_json(json_tokener *tokener, const char *line, size_t length, struct tw_tensormap_call *c,
                        json_object **rest, struct tensormap_fault *fault)
{
    int status = -1;
    json_object *o, *f;
    memset(c, 0, sizeof *c);
    if (rest)
        *rest = NULL;
    if (length >= INT32_MAX)
        return tensormap_fail(fault, "the line is too long");
    json_tokener_reset(tokener);
    o = json_tokener_parse_ex(tokener, line, (int)length + 1); // the zero ends a number
    enum json_tokener_error error = json_tokener_get_error(tokener);
    if (error != json_tokener_success)
        tensormap_fail(fault, "no JSON: %s",
                       error == json_tokener_continue ? "the line ends too early" : json_tokener_error_desc(error));
    else if (json_tokener_get_parse_end(tokener) < length &&
             strspn(line + json_tokener_get_parse_end(tokener), " \t\r") < length - json_tokener_get_parse_end(tokener))
        tensormap_fail(fault, "text after the call");
    else if (json_object_get_type(o) != json_type_object)
        tensormap_fail(fault, "no JSON object");
    else if (!json_object_object_get_ex(o, "f", &f))
        tensormap_fail(fault, "f is missing");
    else if (json_object_get_type(f) != json_type_string)
        tensormap_fail(fault, "f is no string");
    else if (read_func(json_object_get_string(f), c, fault) == 0) {
        status = read_argument(o, TMAP_RANK, line, 0, c, fault); // the lists are held against it
        for (int a = TMAP_NONE + 1; a < TMAP_ARG_COUNT && status == 0; a++)
            if (a != TMAP_RANK)
                status = read_argument(o, (enum tmap_arg)a, line, rest && (a == TMAP_ADDR || a == TMAP_L2), c, fault);
    }
    if (rest && status == 0)
        *rest = o;
    else
        json_object_put(o);
    return status;
}

// Reads one value of a word: a number, decimal or 0x, or the name of an enum's value.
static int read_value(const char *text, enum tmap_arg arg, uint64_t *value, struct tensormap_fault *fault)
{
    const char *digits = text + (*text == '-');
    char *end = NULL;
    if (tmap_value_from_name(arg, text, value) == 0)
        return 0;
    enum tw_dtype dtype = arg == TMAP_DTYPE ? tw_dtype_from_name(text) : TW_DTYPE_COUNT;
    if (dtype != TW_DTYPE_COUNT && tw_dtype_info(dtype)->tensormap >= 0) {
        *value = (uint64_t)tw_dtype_info(dtype)->tensormap;
        return 0;
    }
    errno = 0;
    if (*digits >= '0' && *digits <= '9')
        *value = strtoull(digits, &end, 0);
    if (!end || *end)
        return tensormap_fail(fault, "%s=%s: no number%s", tmap_args[arg].name, text,
                              tmap_value_name(arg, 0) ? " and no name that cuda.h has for it" : "");
    if (errno || (digits != text && (!tmap_args[arg].is_signed || *value > INT32_MAX)))
        return tensormap_fail(fault, "%s=%s is out of range", tmap_args[arg].name, text);
    if (digits != text)
        *value = 0 - *value;
    return fits(arg, *value) ? 0 : tensormap_fail(fault, "%s=%s is out of range", tmap_args[arg].name, text);
}

int tensormap_read_words(int count, char **words, struct tw_tensormap_call *c, struct tensormap_fault *fault)
{
    unsigned given[TMAP_ARG_COUNT] = {0};
    memset(c, 0, sizeof *c);
    for (int w = 0; w < count; w++) {
        char word[512], *equals;
        if (strlen(words[w]) >= sizeof word)
            return tensormap_fail(fault, "a word is longer than %zu characters", sizeof word - 1);
        strcpy(word, words[w]);
        if (!(equals = strchr(word, '=')))
            return tensormap_fail(fault, "'%.80s' is no name=value", words[w]);
        *equals = 0;
        if (strcmp(word, "f") == 0) {
            if (read_func(equals + 1, c, fault))
                return -1;
            continue;
        }
        int a = TMAP_NONE + 1;
        while (a < TMAP_ARG_COUNT && strcmp(tmap_args[a].name, word) != 0)
            a++;
        if (a == TMAP_ARG_COUNT)
            return tensormap_fail(fault, "no argument is called '%.80s'", word);
        given[a] = 0;
        for (char *value = equals + 1, *next; value; value = next) {
            uint64_t number;
            if ((next = strchr(value, ',')))
                *next++ = 0;
            if (given[a] == tmap_args[a].room)
                return tensormap_fail(fault, "%s has more than %u entries", word, tmap_args[a].room);
            if (read_value(value, (enum tmap_arg)a, &number, fault))
                return -1;
            tmap_set(c, (enum tmap_arg)a, given[a]++, number);
        }
    }

    if (!given[TMAP_DTYPE])
        return tensormap_fail(fault, "dtype is missing");
    if (!given[TMAP_DIM])
        return tensormap_fail(fault, "dim is missing");
    if (!given[TMAP_RANK])
        c->rank = given[TMAP_DIM];
    if (!given[TMAP_ADDR])
        c->addr = UINT64_C(0x7f0000000000);
    const struct tmap_dtype *dtype = tmap_dtype(c->dtype);
    uint64_t dense = dtype ? c->dim[0] * dtype->bits / 8 : 0;
    for (unsigned i = 0; !given[TMAP_STRIDE] && i < 4; i++, dense *= c->dim[i])
        c->stride[i] = dense;
    for (unsigned i = 0; !given[TMAP_ESTRIDE] && i < 5; i++)
        c->estride[i] = 1;
    for (int a = TMAP_NONE + 1; a < TMAP_ARG_COUNT; a++) {
        unsigned least = tmap_entries(c, (enum tmap_arg)a);
        int optional = a == TMAP_LOWER || a == TMAP_UPPER || a == TMAP_RANK || a == TMAP_ADDR || a == TMAP_STRIDE ||
                       a == TMAP_ESTRIDE || a == TMAP_MODE || a >= TMAP_INTERLEAVE;
        if (!given[a] && least && !optional)
            return tensormap_fail(fault, "%s is missing", tmap_args[a].name);
        if (given[a] && given[a] < least)
            return tensormap_fail(fault, "%s has %u entries, rank %" PRIu32 " takes %u", tmap_args[a].name, given[a],
                                  c->rank, least);
        if (given[a] && tmap_args[a].funcs && !(tmap_args[a].funcs & 1u << c->func))
            return tensormap_fail(fault, "%s is no argument of %s", tmap_args[a].name, tmap_func_name(c->func));
    }
    return 0;
}

// ---- printing

static void print_map(const uint64_t map[16])
{
    static const char digits[] = "0123456789abcdef";
    char hex[256];
    for (int i = 0; i < 128; i++) {
        unsigned byte = (unsigned)(map[i / 8] >> i % 8 * 8) & 0xff;
        hex[2 * i] = digits[byte >> 4];
        hex[2 * i + 1] = digits[byte & 15];
    }
    fwrite(hex, 1, sizeof hex, stdout);
}

// The ids of broken rules, each once, as a JSON list.
static void print_rules(const struct tw_tensormap_verdict *verdict, int warnings)
{
    const char *comma = "";
    putchar('[');
    for (int i = 0; i < verdict->count; i++) {
        const char *name = tw_tensormap_rule_name(verdict->finding[i].rule);
        int seen = verdict->finding[i].warning != warnings;
        for (int k = 0; k < i && !seen; k++)
            seen = verdict->finding[k].warning == warnings &&
                   strcmp(tw_tensormap_rule_name(verdict->finding[k].rule), name) == 0;
        if (seen)
            continue;
        fputs(comma, stdout);
        json_text(stdout, name);
        comma = ",";
    }
    putchar(']');
}

// The messages, one a line of a JSON string.
static void print_messages(const struct tw_tensormap_call *c, int cc, const struct tw_tensormap_verdict *verdict,
                           int warnings)
{
    static const char not_encoded[] = "accepted, but its bytes are not known: nobody has measured this call's map";
    char text[8 * TW_TENSORMAP_MESSAGE], one[TW_TENSORMAP_MESSAGE];
    size_t used = 0;
    text[0] = 0;
    if (!warnings && !verdict->refused)
        strcpy(text, not_encoded);
    for (int i = 0; i < verdict->count; i++) {
        if (verdict->finding[i].warning != warnings)
            continue;
        tw_tensormap_message(c, cc, &verdict->finding[i], one, sizeof one);
        size_t length = strlen(one);
        if (used + length + 2 > sizeof text)
            break;
        if (used)
            text[used++] = '\n';
        memcpy(text + used, one, length + 1);
        used += length;
    }
    json_text(stdout, text);
}

static void print_call(const struct tw_tensormap_call *c)
{
    printf("{\"f\":\"%s\"", tmap_func_name(c->func));
    for (int a = TMAP_NONE + 1; a < TMAP_ARG_COUNT; a++) {
        enum tmap_arg arg = (enum tmap_arg)a;
        unsigned entries = tmap_entries(c, arg);
        int list = tmap_args[a].entries != TMAP_ENTRIES_ONE;
        if (!(tmap_args[a].funcs & 1u << c->func))
            continue;
        printf(",\"%s\":%s", tmap_args[a].name, list ? "[" : "");
        for (unsigned i = 0; i < entries; i++) {
            uint64_t value = tmap_get(c, arg, i);
            if (tmap_args[a].is_signed)
                printf("%s%" PRId64, i ? "," : "", (int64_t)value);
            else
                printf("%s%" PRIu64, i ? "," : "", value);
        }
        if (list)
            putchar(']');
    }
    putchar('}');
}

// ---- the commands

struct options {
    int cc;
    int json;
    json_tokener *tokener;
};

static void encode_call(const struct tw_tensormap_call *c, const struct options *options)
{
    uint64_t map[16];
    int status = tw_tensormap_encode(c, options->cc, map);
    if (status == TW_OK) {
        fputs("{\"rc\":0,\"map\":\"", stdout);
        print_map(map);
        fputs("\"}\n", stdout);
        return;
    }
    struct tw_tensormap_verdict verdict;
    tw_tensormap_check(c, options->cc, &verdict);
    printf("{\"rc\":%d,\"rules\":", status == TW_ERROR_INVALID);
    print_rules(&verdict, 0);
    fputs(",\"message\":", stdout);
    print_messages(c, options->cc, &verdict, 0);
    fputs("}\n", stdout);
}

static void explain_json(const struct tw_tensormap_call *c, const struct options *options)
{
    struct tw_tensormap_verdict verdict;
    struct tw_tensormap_call nearest;
    uint64_t map[16];
    int refused = tw_tensormap_check(c, options->cc, &verdict) != TW_OK;
    printf("{\"rc\":%d,\"rules\":", refused);
    print_rules(&verdict, 0);
    if (refused) {
        fputs(",\"message\":", stdout);
        print_messages(c, options->cc, &verdict, 0);
    }
    fputs(",\"warnings\":", stdout);
    print_rules(&verdict, 1);
    if (verdict.warned) {
        fputs(",\"warning\":", stdout);
        print_messages(c, options->cc, &verdict, 1);
    }
    if (refused && tw_tensormap_nearest(c, options->cc, &nearest) == TW_OK) {
        fputs(",\"nearest\":", stdout);
        print_call(&nearest);
    }
    if (tw_tensormap_encode(c, options->cc, map) == TW_OK) {
        fputs(",\"map\":\"", stdout);
        print_map(map);
        putchar('"');
    }
    fputs("}\n", stdout);
}

static void explain_call(const struct tw_tensormap_call *c, const struct options *options)
{
    struct tw_tensormap_verdict verdict;
    struct tw_tensormap_call nearest;
    char text[1024];
    uint64_t map[16];
    if (options->json) {
        explain_json(c, options);
        return;
    }
    tw_tensormap_check(c, options->cc, &verdict);
    printf("%s\n", tw_tensormap_format(c, text, sizeof text));
    if (verdict.refused)
        printf("refused on compute capability %d.%d: %d fault%s\n", options->cc / 10, options->cc % 10, verdict.refused,
               verdict.refused == 1 ? "" : "s");
    else
        printf("accepted on compute capability %d.%d\n", options->cc / 10, options->cc % 10);
    for (int i = 0; i < verdict.count; i++)
        printf("  %s%s [%s]\n", verdict.finding[i].warning ? "warning: " : "",
               tw_tensormap_message(c, options->cc, &verdict.finding[i], text, sizeof text),
               tw_tensormap_rule_name(verdict.finding[i].rule));
    if (verdict.refused && tw_tensormap_nearest(c, options->cc, &nearest) == TW_OK)
        printf("the nearest call that works:\n  %s\n", tw_tensormap_format(&nearest, text, sizeof text));
    else if (verdict.refused)
        printf("no call near it works\n");
    if (verdict.refused)
        return;
    if (tw_tensormap_encode(c, options->cc, map) == TW_OK) {
        fputs("  map ", stdout);
        print_map(map);
        putchar('\n');
    } else {
        printf("  its bytes are not known: nobody has measured this call's map\n");
    }
}

typedef void answer_function(const struct tw_tensormap_call *c, const struct options *options);

static void answer_fault(const struct tensormap_fault *fault, const struct options *options, int json)
{
    if (json || options->json) {
        fputs("{\"error\":", stdout);
        json_text(stdout, fault->text);
        fputs("}\n", stdout);
    } else {
        printf("error: %s\n", fault->text);
    }
}

// Answers each line of stdin.
static int answer_lines(answer_function *answer, const struct options *options, int json)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    int status = DONE;
    while ((length = getline(&line, &room, stdin)) >= 0) {
        struct tw_tensormap_call call;
        struct tensormap_fault fault;
        if (length && line[length - 1] == '\n')
            line[--length] = 0;
        if (tensormap_read_json(options->tokener, line, (size_t)length, &call, NULL, &fault) == 0) {
            answer(&call, options);
        } else {
            answer_fault(&fault, options, json);
            status = INPUT;
        }
    }
    free(line);
    if (!feof(stdin)) {
        fputs("tilewright tensormap: cannot read the calls\n", stderr);
        return ENVIRONMENT;
    }
    return status;
}

static int explain(int argc, char **argv, const struct options *options)
{
    struct tw_tensormap_call call;
    struct tensormap_fault fault;
    if (argc == 0)
        return answer_lines(explain_call, options, options->json);
    int is_json = argv[0][0] == '{' && argc == 1;
    int bad = is_json ? tensormap_read_json(options->tokener, argv[0], strlen(argv[0]), &call, NULL, &fault)
                      : tensormap_read_words(argc, argv, &call, &fault);
    if (bad) {
        if (options->json)
            answer_fault(&fault, options, 1);
        else
            fprintf(stderr, "tilewright tensormap explain: %s\n", fault.text);
        return INPUT;
    }
    explain_call(&call, options);
    return DONE;
}

static int read_map(const char *hex, uint64_t map[16])
{
    memset(map, 0, 128);
    if (strlen(hex) != 256)
        return -1;
    for (int i = 0; i < 256; i++) {
        static const char digits[] = "0123456789abcdef0123456789ABCDEF";
        const char *at = strchr(digits, hex[i]);
        if (!at)
            return -1;
        map[i / 16] |= (uint64_t)((at - digits) % 16) << (i % 16 / 2 * 8 + (i % 2 ? 0 : 4));
    }
    return 0;
}

static int decode(const char *hex, const struct options *options)
{
    uint64_t map[16];
    struct tw_tensormap_call call;
    struct tw_tensormap_extra extra;
    if (read_map(hex, map)) {
        fprintf(stderr, "tilewright tensormap decode: a map is 256 hex digits\n");
        return INPUT;
    }
    int status = tw_tensormap_decode(map, &call, &extra);
    if (options->json) {
        printf("{\"rc\":%d,\"call\":", status != TW_OK);
        print_call(&call);
        printf(",\"smem_bytes\":%" PRIu32 ",\"smem_align\":%" PRIu32 "}\n", extra.smem_bytes, extra.smem_align);
        return status == TW_OK ? DONE : INPUT;
    }
    printf("%-12s %s\n", "f", tmap_func_name(call.func));
    for (int a = TMAP_NONE + 1; a < TMAP_ARG_COUNT; a++) {
        enum tmap_arg arg = (enum tmap_arg)a;
        unsigned entries = tmap_entries(&call, arg);
        for (unsigned i = 0; i < entries; i++) {
            uint64_t value = tmap_get(&call, arg, i);
            const char *name = tmap_value_name(arg, value);
            if (i == 0)
                printf("%-12s", tmap_args[a].name);
            if (arg == TMAP_ADDR)
                printf(" 0x%" PRIx64, value);
            else if (tmap_args[a].is_signed)
                printf(" %" PRId64, (int64_t)value);
            else
                printf(" %" PRIu64, value);
            if (name)
                printf(" %s", name);
        }
        if (entries)
            putchar('\n');
    }
    printf("%-12s %" PRIu32 " bytes, at a multiple of %" PRIu32 "\n", "smem", extra.smem_bytes, extra.smem_align);
    if (status == TW_OK)
        return DONE;
    fputs("tilewright tensormap decode: no map that the driver writes", stderr);
    const char *before = ": stray bits";
    for (unsigned bit = 0; bit < 1024; bit++)
        if (extra.unknown[bit / 64] >> bit % 64 & 1) {
            fprintf(stderr, "%s %u", before, bit);
            before = "";
        }
    fputs("\n", stderr);
    return INPUT;
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

int cmd_tensormap(int argc, char **argv)
{
    struct options options = {.cc = 90};
    const char *verb = argc > 1 ? argv[1] : "";
    char *rest[64];
    int count = 0, status = USAGE, is_encode = strcmp(verb, "encode") == 0, is_explain = strcmp(verb, "explain") == 0;
    int is_decode = strcmp(verb, "decode") == 0, is_load = strcmp(verb, "load") == 0;
    if (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0) {
        fputs(usage, stdout);
        return DONE;
    }
    for (int i = 2; i < argc; i++) {
        const char *cc = NULL;
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(usage, stdout);
            return DONE;
        } else if (strcmp(argv[i], "--cc") == 0 && i + 1 < argc && !is_decode && !is_load) {
            cc = argv[++i];
        } else if (strncmp(argv[i], "--cc=", 5) == 0 && !is_decode && !is_load) {
            cc = argv[i] + 5;
        } else if (strcmp(argv[i], "--json") == 0 && !is_encode && !is_load) {
            options.json = 1;
        } else if (argv[i][0] != '-' && count < 64) {
            rest[count++] = argv[i];
        } else {
            fprintf(stderr, "tilewright tensormap: unknown or incomplete option '%s'\n%s", argv[i], usage);
            return USAGE;
        }
        if (cc && (options.cc = read_cc(cc)) < 0) {
            fprintf(stderr, "tilewright tensormap: --cc %s is no compute capability such as 9.0\n", cc);
            return USAGE;
        }
    }
    if (!(options.tokener = json_tokener_new())) {
        fputs("tilewright tensormap: out of memory\n", stderr);
        return ENVIRONMENT;
    }
    json_tokener_set_flags(options.tokener, JSON_TOKENER_STRICT | JSON_TOKENER_ALLOW_TRAILING_CHARS);
    if (is_encode && count == 0)
        status = answer_lines(encode_call, &options, 1);
    else if (is_explain)
        status = explain(count, rest, &options);
    else if (is_decode && count == 1)
        status = decode(rest[0], &options);
    else if (is_load && count == 0)
        status = tensormap_load(options.tokener);
    else
        fputs(usage, stderr);
    json_tokener_free(options.tokener);
    if (fflush(stdout) || ferror(stdout)) {
        fputs("tilewright tensormap: cannot write the answers\n", stderr);
        return ENVIRONMENT;
    }
    return status;
}
