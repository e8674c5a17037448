// Tensor-map calls, maps and verdicts in JSON.
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/tensormap/tensormap_json.h"
#include "cmd/tensormap/tensormap_values.h"
#include "common/json.h"
#include "tensormap/tensormap_args.h"

int tensormap_fail(struct tensormap_fault *fault, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(fault->text, sizeof fault->text, format, list);
    va_end(list);
    return -1;
}

// ---- reading

int tensormap_next_line(struct tensormap_line *line, struct tensormap_fault *fault)
{
    int c;
    line->length = 0;
    line->newline = 0;
    while ((c = getchar()) != EOF && c != '\n') {
        if (line->length == TENSORMAP_LINE_MOST)
            return tensormap_fail(fault, "a line is longer than %d MiB", TENSORMAP_LINE_MOST >> 20);
        if (line->length + 2 > line->room) {
            size_t room = line->room ? 2 * line->room : 4096;
            char *grown = realloc(line->text, room);
            if (!grown)
                return tensormap_fail(fault, "out of memory");
            line->text = grown;
            line->room = room;
        }
        line->text[line->length++] = (char)c;
    }
    if (c == EOF && ferror(stdin))
        return tensormap_fail(fault, "cannot read the calls");
    if (c == EOF && !line->length)
        return 0;
    if (!line->room && !(line->text = malloc(line->room = 4096)))
        return tensormap_fail(fault, "out of memory");
    line->newline = c == '\n';
    line->text[line->length] = 0;
    return 1;
}

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
    if (!tensormap_fits(arg, *value))
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
        if (strcmp(tw_tmap_func_name((enum tw_tensormap_func)f), name) == 0) {
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

// ---- printing

void tensormap_map_text(const uint64_t map[16], char text[257])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 128; i++) {
        unsigned byte = (unsigned)(map[i / 8] >> i % 8 * 8) & 0xff;
        text[2 * i] = digits[byte >> 4];
        text[2 * i + 1] = digits[byte & 15];
    }
    text[256] = 0;
}

void tensormap_print_rules(const struct tw_tensormap_verdict *verdict)
{
    const char *comma = "";
    putchar('[');
    for (int i = 0; i < verdict->count; i++) {
        const char *name = tw_tensormap_rule_name(verdict->finding[i].rule);
        int seen = verdict->finding[i].warning;
        for (int k = 0; k < i && !seen; k++)
            seen = !verdict->finding[k].warning && strcmp(tw_tensormap_rule_name(verdict->finding[k].rule), name) == 0;
        if (seen)
            continue;
        fputs(comma, stdout);
        json_text(stdout, name);
        comma = ",";
    }
    putchar(']');
}

void tensormap_print_messages(const struct tw_tensormap_call *c, int cc, const struct tw_tensormap_verdict *verdict)
{
    char text[8 * TW_TENSORMAP_MESSAGE], one[TW_TENSORMAP_MESSAGE];
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < verdict->count; i++) {
        if (verdict->finding[i].warning)
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

json_object *tensormap_call_object(const struct tw_tensormap_call *c)
{
    json_object *o = json_object_new_object();
    json_add_text(o, "f", tw_tmap_func_name(c->func));
    for (int a = TMAP_NONE + 1; o && a < TMAP_ARG_COUNT; a++) {
        enum tmap_arg arg = (enum tmap_arg)a;
        const int one = tmap_args[a].entries == TMAP_ENTRIES_ONE;
        json_object *list = one ? NULL : json_object_new_array();
        if (!(tmap_args[a].funcs & 1u << c->func)) {
            json_object_put(list);
            continue;
        }
        for (unsigned i = 0; i < tmap_entries(c, arg); i++) {
            const uint64_t value = tmap_get(c, arg, i);
            json_object *number =
                tmap_args[a].is_signed ? json_object_new_int64((int64_t)value) : json_object_new_uint64(value);
            if (arg == TMAP_DTYPE && !tw_tmap_value_name(arg, value)) {
                json_object_put(number);
                number = NULL;
            }
            if (list)
                json_object_array_add(list, number);
            else
                json_object_object_add(o, tmap_args[a].name, number);
        }
        if (list)
            json_object_object_add(o, tmap_args[a].name, list);
    }
    return o;
}

void tensormap_add_findings(json_object *diagnostics, const struct tw_tensormap_call *c, int cc,
                            const struct tw_tensormap_verdict *verdict, int line)
{
    char text[TW_TENSORMAP_MESSAGE];
    for (int warning = 0; warning < 2; warning++)
        for (int i = 0; i < verdict->count; i++)
            if (verdict->finding[i].warning == warning)
                json_add_diagnostic(diagnostics,
                                    &(struct json_diagnostic){
                                        .severity = warning ? "warning" : "error",
                                        .text = tw_tensormap_message(c, cc, &verdict->finding[i], text, sizeof text),
                                        .rule = tw_tensormap_rule_name(verdict->finding[i].rule),
                                        .line = line});
}

void tensormap_print_fault(const struct tensormap_fault *fault)
{
    fputs("{\"error\":", stdout);
    json_text(stdout, fault->text);
    fputs("}\n", stdout);
}
