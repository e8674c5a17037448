/* The text of arguments, and their place among a kernel's parameters. */
#include "cmd/emu/emu_args.h"
#include "common/dtype_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/files.h"
#include "dtype.h"

enum { MAP_BYTES = 128, MAP_ALIGN = 64, DEPTH = 16 };

/* ---- text ------------------------------------------------------------------------------------------------------- */

char *emu_args_keep(struct emu_args *args, const char *text, size_t length)
{
    if (args->kept_count == args->kept_room) {
        size_t room = args->kept_room ? 2 * args->kept_room : 32;
        char **grown = tw_realloc(args->rt, args->kept, room * sizeof *grown);
        if (!grown)
            return NULL;
        args->kept = grown;
        args->kept_room = room;
    }
    char *copy = tw_alloc(args->rt, length + 1);
    if (!copy)
        return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return args->kept[args->kept_count++] = copy;
}

size_t emu_args_piece(const char *text)
{
    int depth = 0;
    bool quoted = false;
    size_t i = 0;
    for (; text[i] && (quoted || depth > 0 || text[i] != ','); i++) {
        if (quoted && text[i] == '\\' && text[i + 1])
            i++;
        else if (text[i] == '"')
            quoted = !quoted;
        else if (!quoted && strchr("([{", text[i]))
            depth++;
        else if (!quoted && strchr(")]}", text[i]))
            depth--;
    }
    return i;
}

/* A size under way: where it is, and why it is none. */
struct size_text {
    const char *at, *why;
    int depth;
};

static uint64_t size_sum(struct size_text *s);

static uint64_t size_number(struct size_text *s)
{
    char *end;
    if (*s->at == '(') {
        if (++s->depth > DEPTH)
            s->why = "too many parentheses";
        s->at++;
        uint64_t inner = s->why ? 0 : size_sum(s);
        if (!s->why && *s->at != ')')
            s->why = "a ) is missing";
        s->at += *s->at == ')';
        s->depth--;
        return inner;
    }
    if (*s->at < '0' || *s->at > '9') {
        s->why = "a number is missing";
        return 0;
    }
    errno = 0;
    uint64_t value = strtoull(s->at, &end, 0);
    int shift = *end == 'K' || *end == 'k' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    s->at = end + (shift > 0);
    if (errno || (shift && value >> (64 - shift)))
        s->why = "the number does not fit 64 bits";
    return value << shift;
}

static uint64_t size_product(struct size_text *s)
{
    uint64_t value = size_number(s);
    while (!s->why && (*s->at == '*' || *s->at == '/')) {
        char sign = *s->at++;
        uint64_t by = size_number(s);
        if (sign == '/' && !by && !s->why)
            s->why = "a division by zero";
        else if (sign == '/' && !s->why)
            value /= by;
        else if (!s->why && __builtin_mul_overflow(value, by, &value))
            s->why = "the number does not fit 64 bits";
    }
    return value;
}

static uint64_t size_sum(struct size_text *s)
{
    uint64_t value = size_product(s);
    while (!s->why && (*s->at == '+' || *s->at == '-')) {
        char sign = *s->at++;
        uint64_t by = size_product(s);
        if (!s->why && (sign == '+' ? __builtin_add_overflow(value, by, &value)
                                    : __builtin_sub_overflow(value, by, &value)))
            s->why = sign == '+' ? "the number does not fit 64 bits" : "the number is negative";
    }
    return value;
}

bool emu_read_size(const char *text, uint64_t *value, const char **why)
{
    struct size_text s = {text, NULL, 0};
    *value = size_sum(&s);
    if (!s.why && *s.at)
        s.why = "write a number such as 4096, 64K or 4*(1024+16)";
    *why = s.why;
    return !s.why;
}

bool emu_args_hex(const char *digits, unsigned char *out, size_t room, size_t *count)
{
    static const char all[] = "0123456789abcdef";
    int half = -1;
    *count = 0;
    for (; *digits; digits++) {
        const char *at = memchr(all, *digits >= 'A' && *digits <= 'F' ? *digits + 32 : *digits, 16);
        if (*digits == ' ' && half < 0)
            continue;
        if (!at)
            return false;
        if (half < 0) {
            half = (int)(at - all);
            continue;
        }
        if (*count == room && out)
            return false;
        if (out)
            out[*count] = (unsigned char)(half << 4 | (int)(at - all));
        ++*count;
        half = -1;
    }
    return half < 0;
}

/* ---- numbers ---------------------------------------------------------------------------------------------------- */

/* Writes a number as the dtype; NULL, or why it is none. Integers may be given with or without sign for either. */
static const char *store_number(int dtype, const char *text, unsigned char *out)
{
    const struct tw_dtype_info *info = tw_dtype_info((enum tw_dtype)dtype);
    char *end = NULL;
    errno = 0;
    if (!*text || strchr(" \t", *text))
        return "a number is missing";
    if (info->kind == TW_KIND_FLOAT) {
        double value = strtod(text, &end);
        if (*end || end == text)
            return "it is no number";
        tw_dtype_store((enum tw_dtype)dtype, out, value);
        return NULL;
    }
    bool negative = *text == '-';
    uint64_t value = strtoull(text + negative, &end, 0);
    if (end == text + negative || text[negative] == '-' || text[negative] == '+' || *end)
        return "it is no integer";
    unsigned bits = info->bits;
    uint64_t most = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1, half = UINT64_C(1) << (bits - 1);
    if (info->kind == TW_KIND_BOOL)
        most = 1;
    if (errno || (negative ? info->kind != TW_KIND_INT || value > half
                           : info->kind == TW_KIND_INT ? value > half - 1 : value > most))
        return "it does not fit the type";
    value = negative ? 0 - value : value;
    memcpy(out, &value, bits / 8); /* the low bytes come first */
    return NULL;
}

static bool is_number(const char *text)
{
    const char *digits = text + (*text == '-' || *text == '+');
    return (*digits >= '0' && *digits <= '9') || *digits == '.' || strcmp(digits, "inf") == 0 ||
           strcmp(digits, "nan") == 0;
}

/* ---- one argument ----------------------------------------------------------------------------------------------- */

static int fault(const struct emu_value *value, struct tw_error *error, const char *why)
{
    return tw_fail(error, TW_ERROR_INVALID, "%s '%.200s': %s", value->where, value->text, why);
}

static int no_memory(struct tw_error *error)
{
    return tw_fail(error, TW_ERROR_MEMORY, "out of memory");
}

static int new_value(struct emu_args *args)
{
    if (args->value_count == args->value_room) {
        int room = args->value_room ? 2 * args->value_room : 32;
        struct emu_value *grown = tw_realloc(args->rt, args->value, (size_t)room * sizeof *grown);
        if (!grown)
            return EMU_ARGS_NONE;
        args->value = grown;
        args->value_room = room;
    }
    args->value[args->value_count] = (struct emu_value){.child = EMU_ARGS_NONE, .next = EMU_ARGS_NONE};
    return args->value_count++;
}

static int new_buffer(struct emu_args *args)
{
    if (args->buffer_count == args->buffer_room) {
        int room = args->buffer_room ? 2 * args->buffer_room : 16;
        struct emu_buffer *grown = tw_realloc(args->rt, args->buffer, (size_t)room * sizeof *grown);
        if (!grown)
            return EMU_ARGS_NONE;
        args->buffer = grown;
        args->buffer_room = room;
    }
    args->buffer[args->buffer_count] = (struct emu_buffer){.name = "", .number = args->buffer_count};
    return args->buffer_count++;
}

static int parse_value(struct emu_args *args, const char *text, const char *where, int depth, int *index,
                       struct tw_error *error);

static int parse_buffer(struct emu_args *args, struct emu_value *value, const char *rest, struct tw_error *error)
{
    size_t length = emu_args_piece(rest);
    char *size = emu_args_keep(args, rest, length);
    uint64_t bytes;
    const char *why;
    int index = new_buffer(args);
    if (!size || index < 0)
        return no_memory(error);
    struct emu_buffer *buffer = &args->buffer[index];
    buffer->where = value->where;
    buffer->text = value->text;
    value->kind = EMU_VALUE_BUFFER;
    value->buffer = index;
    value->bytes = value->align = 8;
    if (!emu_read_size(size, &bytes, &why))
        return tw_fail(error, TW_ERROR_INVALID, "%s '%.200s': the buffer's bytes '%.60s': %s", value->where,
                       value->text, size, why);
    buffer->bytes = (size_t)bytes;
    int status = emu_args_read_buffer(args, buffer, rest + length, &value->offset, error);
    if (status == TW_OK && value->offset > bytes)
        return tw_fail(error, TW_ERROR_INVALID, "%s '%.200s': offset %" PRIu64 " lies behind the buffer's %" PRIu64
                       " bytes", value->where, value->text, value->offset, bytes);
    for (int i = 0; i < index && status == TW_OK && *buffer->name; i++)
        if (strcmp(args->buffer[i].name, buffer->name) == 0)
            return tw_fail(error, TW_ERROR_INVALID, "%s '%.200s': another buffer has the name '%s' already",
                           value->where, value->text, buffer->name);
    return status;
}

static int parse_reference(struct emu_args *args, struct emu_value *value, const char *rest, struct tw_error *error)
{
    const char *plus = strchr(rest, '+'), *why = NULL;
    value->kind = EMU_VALUE_REF;
    value->bytes = value->align = 8;
    value->rest = emu_args_keep(args, rest, plus ? (size_t)(plus - rest) : strlen(rest));
    if (!value->rest)
        return no_memory(error);
    return !plus || emu_read_size(plus + 1, &value->offset, &why) ? TW_OK : fault(value, error, why);
}

/* Pieces that say how the buffer before them is filled belong to it. */
static bool continues(const char *text)
{
    static const char *const names[] = {"fill=", "dump=", "name=", "offset="};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(text, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static int parse_struct(struct emu_args *args, int index, const char *rest, int depth, struct tw_error *error)
{
    struct emu_value *value = &args->value[index];
    const char *where = value->where;
    size_t length = strlen(rest), at = 0, end = 0, align = 1;
    int last = EMU_ARGS_NONE;
    value->kind = EMU_VALUE_STRUCT;
    if (length < 2 || rest[0] != '{' || emu_args_piece(rest) != length || rest[length - 1] != '}')
        return fault(value, error, "a struct is written struct:{MEMBER,MEMBER,...}");
    if (depth >= DEPTH)
        return fault(value, error, "structs are nested too deep");
    char *list = emu_args_keep(args, rest + 1, length - 2);
    if (!list)
        return no_memory(error);
    while (*list) {
        size_t piece = emu_args_piece(list);
        while (list[piece] == ',' && strncmp(list, "buf:", 4) == 0 && continues(list + piece + 1))
            piece += 1 + emu_args_piece(list + piece + 1);
        char *member = emu_args_keep(args, list, piece);
        int child;
        if (!member)
            return no_memory(error);
        int status = parse_value(args, member, where, depth + 1, &child, error);
        if (status != TW_OK)
            return status;
        struct emu_value *v = &args->value[child];
        if (v->kind == EMU_VALUE_BARE)
            return fault(v, error, "a member of a struct needs its type: i32:5, f32:1.5");
        at = (end + v->align - 1) / v->align * v->align;
        end = at + v->bytes;
        align = v->align > align ? v->align : align;
        if (last < 0)
            args->value[index].child = child;
        else
            args->value[last].next = child;
        last = child;
        list += piece + (list[piece] == ',');
    }
    args->value[index].align = align;
    args->value[index].bytes = (end + align - 1) / align * align;
    return last >= 0 ? TW_OK : fault(&args->value[index], error, "a struct has a member at least");
}

static int parse_value(struct emu_args *args, const char *text, const char *where, int depth, int *index,
                       struct tw_error *error)
{
    size_t word = strcspn(text, ":"), count;
    char type[16] = "";
    *index = new_value(args);
    if (*index < 0)
        return no_memory(error);
    struct emu_value *value = &args->value[*index];
    value->text = text;
    value->where = where;
    value->bytes = value->align = 0;
    if (is_number(text)) {
        value->kind = EMU_VALUE_BARE;
        value->rest = text;
        return TW_OK;
    }
    if (text[word] == ':' && word < sizeof type)
        memcpy(type, text, word);
    const char *rest = text + word + 1;
    if (strcmp(type, "buf") == 0)
        return parse_buffer(args, value, rest, error);
    if (strcmp(type, "ref") == 0)
        return parse_reference(args, value, rest, error);
    if (strcmp(type, "struct") == 0)
        return parse_struct(args, *index, rest, depth, error);
    if (strcmp(type, "map") == 0) {
        value->kind = EMU_VALUE_MAP;
        value->rest = rest;
        value->bytes = MAP_BYTES;
        value->align = MAP_ALIGN;
        return TW_OK;
    }
    if (strcmp(type, "bytes") == 0) {
        value->kind = EMU_VALUE_BYTES;
        value->rest = rest;
        value->align = 1;
        if (!emu_args_hex(rest, NULL, 0, &count) || !count)
            return fault(value, error, "bytes are written as pairs of hexadecimal digits");
        value->bytes = count;
        return TW_OK;
    }
    int dtype = *type ? dtype_from_short_name(type) : TW_DTYPE_COUNT;
    if (dtype == TW_DTYPE_COUNT)
        return fault(value, error, "an argument is i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64:NUMBER, buf:BYTES, "
                                   "ref:NAME, map:CALL, bytes:HEX, struct:{...}, buffer:BYTES or a number");
    const char *why = store_number(dtype, rest, value->data);
    value->kind = EMU_VALUE_SCALAR;
    value->bytes = value->align = tw_dtype_bytes((enum tw_dtype)dtype);
    return why ? fault(value, error, why) : TW_OK;
}

int emu_args_add(struct emu_args *args, const char *text, const char *where, struct tw_error *error)
{
    char *copy = emu_args_keep(args, text, strlen(text)), *place = emu_args_keep(args, where, strlen(where));
    int index;
    if (!copy || !place)
        return no_memory(error);
    bool apart = strncmp(copy, "buffer:", 7) == 0;
    if (apart) {
        struct emu_value value = {.text = copy, .where = place};
        return parse_buffer(args, &value, copy + 7, error);
    }
    int status = parse_value(args, copy, place, 0, &index, error);
    if (status != TW_OK)
        return status;
    if (args->count++)
        args->value[args->last].next = index;
    else
        args->first = index;
    args->last = index;
    return TW_OK;
}

int emu_args_set(struct emu_args *args, const char *text, const char *where, struct tw_error *error)
{
    const char *equals = strchr(text, '=');
    char *place = emu_args_keep(args, where, strlen(where));
    char *name = emu_args_keep(args, text, equals ? (size_t)(equals - text) : 0);
    char *value = emu_args_keep(args, equals ? equals + 1 : "", equals ? strlen(equals + 1) : 0);
    struct emu_setting setting = {.name = name};
    if (!place || !name || !value)
        return no_memory(error);
    if (!*name || !*value)
        return tw_fail(error, TW_ERROR_INVALID, "%s '%.200s': write NAME=VALUE, the value as in --arg", where, text);
    for (int i = 0; i < args->setting_count; i++)
        if (strcmp(args->setting[i].name, name) == 0)
            return tw_fail(error, TW_ERROR_INVALID, "%s '%.200s': %.80s is set already", where, text, name);
    if (args->setting_count == args->setting_room) {
        int room = args->setting_room ? 2 * args->setting_room : 8;
        struct emu_setting *grown = tw_realloc(args->rt, args->setting, (size_t)room * sizeof *grown);
        if (!grown)
            return no_memory(error);
        args->setting = grown;
        args->setting_room = room;
    }
    int status = parse_value(args, value, place, 0, &setting.value, error);
    if (status == TW_OK)
        args->setting[args->setting_count++] = setting;
    return status;
}

int emu_args_read_file(struct emu_args *args, const char *path, struct tw_error *error)
{
    unsigned char *bytes;
    size_t count;
    char where[4200];
    int number = 0, status = tw_read_file(args->rt, path, (size_t)1 << 26, &bytes, &count, error);
    if (status != TW_OK)
        return status;
    if (strlen((const char *)bytes) != count)
        status = tw_fail(error, TW_ERROR_INVALID, "%s: the file holds a zero byte", path);
    for (char *line = (char *)bytes, *next; line && status == TW_OK; line = next) {
        number++;
        if ((next = strchr(line, '\n')))
            *next++ = '\0';
        line += strspn(line, " \t\r");
        size_t length = strlen(line);
        while (length && strchr(" \t\r", line[length - 1]))
            line[--length] = '\0';
        if (!length || *line == '#')
            continue;
        snprintf(where, sizeof where, "%s:%d:", path, number);
        status = emu_args_add(args, line, where, error);
    }
    tw_free(args->rt, bytes);
    return status;
}

/* ---- against the parameters ------------------------------------------------------------------------------------- */

static const struct ptx_variable *parameter(const struct ptx_module *module, const struct ptx_function *kernel,
                                            uint32_t i)
{
    return &module->variables[kernel->params[i].variable];
}

static bool is_array(const struct ptx_variable *v)
{
    return v->bytes * 8 != ptx_types[v->type].bits;
}

static void type_text(const struct ptx_variable *v, char out[40])
{
    if (is_array(v))
        snprintf(out, 40, "%s[%" PRIu64 "]", ptx_types[v->type].text, v->bytes * 8 / ptx_types[v->type].bits);
    else
        snprintf(out, 40, "%s", ptx_types[v->type].text);
}

void emu_args_print_parameters(FILE *out, const struct ptx_module *module, const struct ptx_function *kernel)
{
    fprintf(out, "  %s has %" PRIu32 " parameter%s%s\n", ptx_name(module, kernel->name), kernel->param_count,
            kernel->param_count == 1 ? "" : "s", kernel->param_count ? ":" : "");
    for (uint32_t i = 0; i < kernel->param_count; i++) {
        const struct ptx_variable *v = parameter(module, kernel, i);
        char type[40];
        type_text(v, type);
        fprintf(out, "    %-3" PRIu32 " %-10s %" PRIu64 " byte%s", i, type, v->bytes, v->bytes == 1 ? "" : "s");
        if (is_array(v))
            fprintf(out, ", alignment %" PRIu32 ": a struct or a tensor map", v->align);
        putc('\n', out);
    }
}

/* Gives a number the type of its parameter, or variable. */
static int type_bare(struct emu_value *value, const struct ptx_variable *v, const char *what, struct tw_error *error)
{
    static const struct {
        uint8_t kind, bits;
        int dtype;
    } rows[] = {
        {PTX_KIND_FLOAT, 16, TW_FP16},    {PTX_KIND_FLOAT, 32, TW_FP32},   {PTX_KIND_FLOAT, 64, TW_FP64},
        {PTX_KIND_BFLOAT, 16, TW_BF16},   {PTX_KIND_SIGNED, 8, TW_INT8},   {PTX_KIND_SIGNED, 16, TW_INT16},
        {PTX_KIND_SIGNED, 32, TW_INT32},  {PTX_KIND_SIGNED, 64, TW_INT64}, {PTX_KIND_UNSIGNED, 8, TW_UINT8},
        {PTX_KIND_UNSIGNED, 16, TW_UINT16}, {PTX_KIND_UNSIGNED, 32, TW_UINT32}, {PTX_KIND_UNSIGNED, 64, TW_UINT64},
        {PTX_KIND_BITS, 8, TW_UINT8},     {PTX_KIND_BITS, 16, TW_UINT16},  {PTX_KIND_BITS, 32, TW_UINT32},
        {PTX_KIND_BITS, 64, TW_UINT64},
    };
    const struct ptx_type_info *type = &ptx_types[v->type];
    char text[40], why[160];
    type_text(v, text);
    if (is_array(v)) {
        snprintf(why, sizeof why, "the %s is %s, not one number; write struct:{...}, bytes:HEX or map:CALL", what,
                 text);
        return fault(value, error, why);
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].kind != type->kind || rows[i].bits != type->bits)
            continue;
        int dtype = rows[i].dtype;
        /* PTX calls every integer unsigned: a sign makes it the signed one. */
        if (*value->text == '-' && (type->kind == PTX_KIND_UNSIGNED || type->kind == PTX_KIND_BITS))
            dtype = type->bits == 8 ? TW_INT8 : type->bits == 16 ? TW_INT16 : type->bits == 32 ? TW_INT32 : TW_INT64;
        const char *wrong = store_number(dtype, value->rest, value->data);
        if (wrong) {
            snprintf(why, sizeof why, "the %s is %s, and %s; write its type before a number, as f32:1.5", what, text,
                     wrong);
            return fault(value, error, why);
        }
        value->kind = EMU_VALUE_SCALAR;
        value->bytes = value->align = type->bits / 8;
        return TW_OK;
    }
    snprintf(why, sizeof why, "the %s is %s; write the number's type, as f32:1.5", what, text);
    return fault(value, error, why);
}

static int check_settings(struct emu_args *args, struct tw_error *error)
{
    for (int i = 0; i < args->setting_count; i++) {
        struct emu_value *value = &args->value[args->setting[i].value];
        const struct ptx_variable *v = args->setting[i].variable;
        int status = value->kind == EMU_VALUE_BARE ? type_bare(value, v, "variable", error) : TW_OK;
        if (status != TW_OK)
            return status;
        if (value->bytes != v->bytes)
            return tw_fail(error, TW_ERROR_INVALID, "%s '%.200s': %zu byte%s, and %.80s has %" PRIu64, value->where,
                           value->text, value->bytes, value->bytes == 1 ? "" : "s", args->setting[i].name, v->bytes);
    }
    return TW_OK;
}

int emu_args_check(struct emu_args *args, const struct ptx_module *module, const struct ptx_function *kernel,
                   struct tw_error *error)
{
    int index = args->first;
    if ((uint32_t)args->count != kernel->param_count)
        return tw_fail(error, TW_ERROR_INVALID, "kernel %s has %" PRIu32 " parameter%s, and %d argument%s given",
                       ptx_name(module, kernel->name), kernel->param_count, kernel->param_count == 1 ? "" : "s",
                       args->count, args->count == 1 ? " is" : "s are");
    for (uint32_t i = 0; i < kernel->param_count; i++, index = args->value[index].next) {
        struct emu_value *value = &args->value[index];
        const struct ptx_variable *v = parameter(module, kernel, i);
        char type[40];
        int status = value->kind == EMU_VALUE_BARE ? type_bare(value, v, "parameter", error) : TW_OK;
        if (status != TW_OK)
            return status;
        size_t bytes = value->bytes;
        if (value->kind == EMU_VALUE_STRUCT && v->align > value->align) /* alignas */
            bytes = (bytes + v->align - 1) / v->align * v->align;
        type_text(v, type);
        if (bytes != v->bytes)
            return tw_fail(error, TW_ERROR_INVALID, "%s '%.200s': %zu byte%s, and parameter %" PRIu32 " of %s is %s, %"
                           PRIu64 " byte%s", value->where, value->text, bytes, bytes == 1 ? "" : "s", i,
                           ptx_name(module, kernel->name), type, v->bytes, v->bytes == 1 ? "" : "s");
        if (value->align > v->align && value->kind != EMU_VALUE_SCALAR)
            return tw_fail(error, TW_ERROR_INVALID, "%s '%.200s': it is aligned to %zu bytes, and parameter %" PRIu32
                           " of %s to %" PRIu32 "; a tensor map is passed as const __grid_constant__ CUtensorMap",
                           value->where, value->text, value->align, i, ptx_name(module, kernel->name), v->align);
    }
    return check_settings(args, error);
}

/* ---- on a device ------------------------------------------------------------------------------------------------ */

const struct emu_buffer *emu_args_find(const struct emu_args *args, const char *name)
{
    for (int i = 0; i < args->buffer_count && *name; i++)
        if (strcmp(args->buffer[i].name, name) == 0)
            return &args->buffer[i];
    return NULL;
}

static int pack(struct emu_args *args, const struct emu_value *value, unsigned char *to, const struct tw_device *device,
                struct tw_error *error)
{
    uint64_t address, map[16];
    size_t at = 0, count;
    switch (value->kind) {
    case EMU_VALUE_BARE:
        break;
    case EMU_VALUE_SCALAR:
        memcpy(to, value->data, value->bytes);
        break;
    case EMU_VALUE_BYTES:
        emu_args_hex(value->rest, to, value->bytes, &count);
        break;
    case EMU_VALUE_BUFFER:
        address = args->buffer[value->buffer].address + value->offset;
        memcpy(to, &address, sizeof address);
        break;
    case EMU_VALUE_REF: {
        const struct emu_buffer *buffer = emu_args_find(args, value->rest);
        if (!buffer)
            return fault(value, error, "no buffer has this name; a buffer is given one by buf:BYTES,name=NAME");
        if (value->offset > buffer->bytes)
            return fault(value, error, "the offset lies behind the buffer's end");
        address = buffer->address + value->offset;
        memcpy(to, &address, sizeof address);
        break;
    }
    case EMU_VALUE_MAP: {
        int status = emu_args_map(args, value->rest, value->where, device, map, error);
        if (status != TW_OK)
            return status;
        memcpy(to, map, sizeof map);
        break;
    }
    case EMU_VALUE_STRUCT:
        for (int i = value->child; i >= 0; i = args->value[i].next) {
            const struct emu_value *v = &args->value[i];
            at = (at + v->align - 1) / v->align * v->align;
            int status = pack(args, v, to + at, device, error);
            if (status != TW_OK)
                return status;
            at += v->bytes;
        }
        break;
    }
    return TW_OK;
}

static int place_settings(struct emu_args *args, struct tw_device *device, const struct ptx_module *module,
                          struct tw_kernel *kernel, struct tw_error *error)
{
    int status = TW_OK;
    for (int i = 0; i < args->setting_count && status == TW_OK; i++) {
        const struct emu_value *value = &args->value[args->setting[i].value];
        unsigned char *bytes = tw_alloc_zeroed(args->rt, value->bytes);
        uint64_t address;
        size_t room;
        if (!bytes)
            return no_memory(error);
        status = pack(args, value, bytes, device, error);
        if (status == TW_OK)
            status = tw_device_symbol(device, kernel, ptx_name(module, args->setting[i].variable->name), &address,
                                      &room, error);
        if (status == TW_OK)
            status = tw_device_upload(device, address, bytes, value->bytes, error);
        tw_free(args->rt, bytes);
    }
    return status;
}

int emu_args_place(struct emu_args *args, struct tw_device *device, const struct ptx_module *module,
                   const struct ptx_function *kernel, struct tw_launch *launch, struct tw_error *error)
{
    int status = TW_OK, index = args->first;
    for (int i = 0; i < args->buffer_count; i++) {
        struct emu_buffer *buffer = &args->buffer[i];
        struct tw_error why;
        status = tw_device_alloc(device, buffer->bytes, &buffer->address, &why);
        if (status != TW_OK)
            return tw_fail(error, TW_ERROR_INVALID, "%s '%.200s': %s", buffer->where, buffer->text, why.text);
    }
    for (int i = 0; i < args->buffer_count && status == TW_OK; i++)
        status = emu_args_fill(args, &args->buffer[i], device, error);
    if (status != TW_OK)
        return status;
    if (kernel->param_bytes > EMU_PARAMETER_BYTES || kernel->param_count > TW_LAUNCH_OFFSETS)
        return tw_fail(error, TW_ERROR_UNSUPPORTED, "kernel %s has %" PRIu64 " bytes of parameters; a launch carries "
                       "%d", ptx_name(module, kernel->name), kernel->param_bytes, EMU_PARAMETER_BYTES);
    /* 64-byte aligned inside, so that tensor maps are. */
    args->params = tw_alloc_zeroed(args->rt, (size_t)kernel->param_bytes + MAP_ALIGN);
    args->offsets = tw_alloc_zeroed(args->rt, (kernel->param_count + 1) * sizeof *args->offsets);
    if (!args->params || !args->offsets)
        return no_memory(error);
    unsigned char *params = args->params + (MAP_ALIGN - (uintptr_t)args->params % MAP_ALIGN) % MAP_ALIGN;
    for (uint32_t i = 0; i < kernel->param_count && status == TW_OK; i++, index = args->value[index].next) {
        args->offsets[i] = (uint32_t)parameter(module, kernel, i)->offset;
        status = pack(args, &args->value[index], params + args->offsets[i], device, error);
    }
    launch->params = params;
    launch->params_bytes = (size_t)kernel->param_bytes;
    launch->offsets = args->offsets;
    launch->offset_count = kernel->param_count;
    return status == TW_OK ? place_settings(args, device, module, launch->kernel, error) : status;
}

int emu_args_dump(struct emu_args *args, struct tw_device *device, struct tw_error *error)
{
    struct file_set files = {.rt = args->rt};
    int status = TW_OK;
    for (int i = 0; i < args->buffer_count && status == TW_OK; i++) {
        const struct emu_buffer *buffer = &args->buffer[i];
        if (!buffer->dump)
            continue;
        unsigned char *bytes = tw_alloc(args->rt, buffer->bytes);
        status = bytes ? TW_OK : no_memory(error);
        if (status == TW_OK)
            status = tw_device_download(device, bytes, buffer->address, buffer->bytes, error);
        if (status == TW_OK)
            status = files_add(&files, NULL, buffer->dump, bytes, buffer->bytes, true, error);
        else
            tw_free(args->rt, bytes);
    }
    if (status == TW_OK)
        status = files_commit(&files, error);
    files_free(&files);
    return status;
}

void emu_args_free(struct emu_args *args, struct tw_device *device)
{
    for (int i = 0; i < args->buffer_count; i++)
        tw_device_free(device, args->buffer[i].address);
    for (size_t i = 0; i < args->kept_count; i++)
        tw_free(args->rt, args->kept[i]);
    tw_free(args->rt, args->kept);
    tw_free(args->rt, args->value);
    tw_free(args->rt, args->buffer);
    tw_free(args->rt, args->setting);
    tw_free(args->rt, args->params);
    tw_free(args->rt, args->offsets);
    *args = (struct emu_args){.rt = args->rt};
}
