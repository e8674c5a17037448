// tilewright tensormap decode: what the bytes of a map mean, and where no encoder here would write them, why.
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cmd/tensormap/tensormap_json.h"
#include "cmd/tensormap/tensormap_values.h"
#include "common/json.h"

enum { DONE = 0, INPUT = 1 };
enum { DIGITS = 256, MAP_BITS = 1024, NAMED_BITS = 16, CC = 90 };

static const char made_on_device[] =
    "words 8 and 9 are 0, as in maps that are made on the device: the driver notes the box's shared memory there";

// What a map says, what is remarkable in it, and what is wrong with it.
struct meaning {
    struct tw_tensormap_call call;
    struct tw_tensormap_extra extra; // unknown: stray bits alone
    unsigned workarounds;            // rows of tensormap_workarounds.def whose bit is set
    int device_made;                 // words 8 and 9 are 0
    int wrong;                       // no map that the driver writes, the remarkable apart
    int type_code, tf32;             // bits 71-74 and bit 80 where no type has them; else type_code is -1
    struct tw_tensormap_verdict verdict;
};

// ---- reading

static int read_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

// Reads digits without blanks, of which `*count` came before.
static int read_group(const char *text, size_t length, uint64_t map[16], size_t *count, struct tensormap_fault *fault)
{
    if (length >= 2 && text[0] == '0' && (text[1] | 32) == 'x') {
        text += 2;
        length -= 2;
        // With 0x before more of them they are words, whose bytes stand in the other order.
        if (*count && length != 2)
            return tensormap_fail(fault, "0x stands before the first digit, or before the two digits of each byte");
    }
    for (size_t i = 0; i < length; i++, ++*count) {
        int digit = read_digit(text[i]);
        if (digit < 0)
            return tensormap_fail(fault, "a map is %d hex digits, and character %zu is none", DIGITS, *count + 1);
        if (*count < DIGITS)
            map[*count / 16] |= (uint64_t)digit << (*count % 16 / 2 * 8 + (*count % 2 ? 0 : 4));
    }
    return 0;
}

static int read_map(int texts, char **text, uint64_t map[16], struct tensormap_fault *fault)
{
    static const char blanks[] = " \t\r\n";
    size_t count = 0;
    memset(map, 0, 128);
    for (int i = 0; i < texts; i++)
        for (const char *p = text[i] + strspn(text[i], blanks); *p; p += strspn(p, blanks)) {
            size_t length = strcspn(p, blanks);
            if (read_group(p, length, map, &count, fault))
                return -1;
            p += length;
        }
    if (count != DIGITS)
        return tensormap_fail(fault, "a map is %d hex digits, and these are %zu", DIGITS, count);
    return 0;
}

// ---- understanding

// Finds the bits that a driver or a device writes where the encoder here writes others, and replaces them.
static void recognize(uint64_t map[16], struct meaning *m)
{
    // The address has rules of its own: without it, the bits that no call sets are known though it breaks one.
    uint64_t rest[16];
    m->workarounds = tw_tensormap_work_around(map, INT_MAX, 0);
    memcpy(rest, map, sizeof rest);
    rest[0] = 0;
    tw_tensormap_decode(rest, &m->call, &m->extra);
    m->device_made = !map[8] && !map[9];
    for (int i = 8; i < 10 && m->device_made; i++) {
        map[i] = m->extra.unknown[i];
        m->extra.unknown[i] = 0;
    }
}

static void understand(const uint64_t bytes[16], struct meaning *m)
{
    uint64_t map[16];
    struct tw_tensormap_extra extra;
    memset(m, 0, sizeof *m);
    m->type_code = -1;
    if (tw_tensormap_decode(bytes, &m->call, &m->extra) == TW_OK)
        return;
    memcpy(map, bytes, sizeof map);
    recognize(map, m);
    m->wrong = tw_tensormap_decode(map, &m->call, &extra) != TW_OK;
    m->extra.smem_bytes = extra.smem_bytes;
    m->extra.smem_align = extra.smem_align;
    if (!tw_tmap_dtype(m->call.dtype)) {
        m->type_code = (int)(map[1] >> 7 & 15);
        m->tf32 = (int)(map[1] >> 16 & 1);
    }
    tw_tensormap_check(&m->call, CC, &m->verdict);
}

static int is_stray(const struct meaning *m, unsigned bit)
{
    return (int)(m->extra.unknown[bit / 64] >> bit % 64 & 1);
}

// Writes why the bytes are no map, a reason a line, each with its end.
static void write_reasons(const struct meaning *m, char *text, size_t size)
{
    char one[TW_TENSORMAP_MESSAGE];
    size_t used = 0;
    unsigned stray = 0;
    text[0] = 0;
    if (m->type_code >= 0)
        tw_tmap_append(text, size, &used, "type code %d (bits 71-74) with bit 80 %s is that of no data type\n",
                       m->type_code, m->tf32 ? "set" : "clear");
    for (int i = 0; i < m->verdict.count; i++) {
        const struct tw_tensormap_finding *f = &m->verdict.finding[i];
        if (!f->warning && !(m->type_code >= 0 && f->rule == TW_TENSORMAP_RULE_DT))
            tw_tmap_append(text, size, &used, "%s [%s]\n", tw_tensormap_message(&m->call, CC, f, one, sizeof one),
                           tw_tensormap_rule_name(f->rule));
    }
    for (unsigned bit = 0; bit < MAP_BITS; bit++)
        if (is_stray(m, bit) && ++stray <= NAMED_BITS)
            tw_tmap_append(text, size, &used, "%s %u", stray == 1 ? "stray bits" : "", bit);
    if (stray > NAMED_BITS)
        tw_tmap_append(text, size, &used, " and %u more", stray - NAMED_BITS);
    if (stray)
        tw_tmap_append(text, size, &used, "\n");
}

// ---- printing

static void print_value(enum tmap_arg arg, uint64_t value)
{
    const char *name = tw_tmap_value_name(arg, value);
    if (arg == TMAP_ADDR)
        printf(" 0x%" PRIx64, value);
    else if (tmap_args[arg].is_signed)
        printf(" %" PRId64, (int64_t)value);
    else
        printf(" %" PRIu64, value);
    if (name)
        printf(" %s", name);
}

static void print_fields(const struct meaning *m)
{
    printf("%-12s %s\n", "f", tw_tmap_func_name(m->call.func));
    for (int a = TMAP_NONE + 1; a < TMAP_ARG_COUNT; a++) {
        enum tmap_arg arg = (enum tmap_arg)a;
        unsigned entries = tmap_entries(&m->call, arg);
        if (!entries)
            continue;
        printf("%-12s", tmap_args[a].name);
        if (arg == TMAP_DTYPE && m->type_code >= 0)
            printf(" unknown, type code %d", m->type_code);
        else
            for (unsigned i = 0; i < entries; i++)
                print_value(arg, tmap_get(&m->call, arg, i));
        putchar('\n');
    }
    printf("%-12s %" PRIu32 " bytes, at a multiple of %" PRIu32 "\n", "smem", m->extra.smem_bytes, m->extra.smem_align);
    for (unsigned i = 0; i < TW_TENSORMAP_WORKAROUND_COUNT; i++)
        if (m->workarounds >> i & 1)
            printf("%-12s the driver's, to be cleared: %s\n", "note",
                   tw_tensormap_workaround_text((enum tw_tensormap_workaround)i));
    if (m->device_made)
        printf("%-12s %s\n", "note", made_on_device);
}

static void print_reasons(char *reasons)
{
    for (char *line = reasons, *end; (end = strchr(line, '\n')); line = end + 1)
        fprintf(stderr, "tilewright tensormap decode: no map that the driver writes: %.*s\n", (int)(end - line), line);
}

static json_object *stray_bits(const struct meaning *m)
{
    json_object *list = json_object_new_array();
    for (int bit = 0; list && bit < MAP_BITS; bit++)
        if (is_stray(m, (unsigned)bit))
            json_object_array_add(list, json_object_new_int(bit));
    return list;
}

static void add_note(json_object *list, const char *text)
{
    json_add_diagnostic(list, &(struct json_diagnostic){.severity = "note", .text = text});
}

// What is wrong, a diagnostic a reason, and what is remarkable.
static json_object *diagnostics_of(const struct meaning *m, char *reasons)
{
    json_object *list = json_object_new_array();
    for (char *line = reasons, *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = 0;
        json_add_told(list, &(struct json_diagnostic){.severity = "error", .text = line});
    }
    for (unsigned i = 0; i < TW_TENSORMAP_WORKAROUND_COUNT; i++)
        if (m->workarounds >> i & 1)
            add_note(list, tw_tensormap_workaround_text((enum tw_tensormap_workaround)i));
    if (m->device_made)
        add_note(list, made_on_device);
    return list;
}

// reasons: as write_reasons writes them.
static void print_json(const struct meaning *m, char *reasons)
{
    json_object *diagnostics = diagnostics_of(m, reasons), *result = json_object_new_object();
    if (result) {
        json_object_object_add(result, "call", tensormap_call_object(&m->call));
        json_add_number(result, "smem_bytes", m->extra.smem_bytes);
        json_add_number(result, "smem_align", m->extra.smem_align);
        if (m->wrong && m->type_code >= 0)
            json_add_number(result, "type_code", (uint64_t)m->type_code);
        if (m->wrong)
            json_object_object_add(result, "stray_bits", stray_bits(m));
    }
    json_print(&(struct json_answer){
        .command = "tensormap", .status = m->wrong ? INPUT : DONE, .diagnostics = diagnostics, .result = result});
    json_object_put(diagnostics);
    json_object_put(result);
}

int tensormap_decode(int count, char **texts, int json)
{
    uint64_t map[16];
    struct meaning m;
    struct tensormap_fault fault;
    char reasons[32 * TW_TENSORMAP_MESSAGE] = "";
    if (read_map(count, texts, map, &fault))
        return json_fault(json, json ? "tensormap" : "tensormap decode", INPUT, fault.text);
    understand(map, &m);
    if (m.wrong)
        write_reasons(&m, reasons, sizeof reasons);
    if (json) {
        print_json(&m, reasons);
    } else {
        print_fields(&m);
        print_reasons(reasons);
    }
    return m.wrong ? INPUT : DONE;
}
