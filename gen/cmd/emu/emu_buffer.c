/* What stands in the buffers of `tilewright emu` before the launch, and the tensor maps over them. */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/emu/emu_args.h"
#include "cmd/tensormap/tensormap_json.h"
#include "common/dtype_names.h"
#include "dtype.h"
#include "verify/inputs.h"

static int no_memory(struct tw_error *error)
{
    return tw_fail(error, TW_ERROR_MEMORY, "out of memory");
}

/* ---- a buffer's options ----------------------------------------------------------------------------------------- */

/* A fill under way. */
struct filling {
    struct emu_buffer *buffer;
    const char *text; /* as written */
    const char *rest; /* behind the colon, or NULL */
    struct tw_error *error;
};

static int fault(const struct filling *f, const char *why)
{
    return tw_fail(f->error, TW_ERROR_INVALID, "%s '%.200s': fill=%.80s: %s", f->buffer->where, f->buffer->text,
                   f->text, why);
}

static int read_nothing(const struct filling *f)
{
    f->buffer->fill = EMU_FILL_NONE;
    return TW_OK;
}

static int bytes_of(const struct filling *f, unsigned char byte)
{
    f->buffer->fill = EMU_FILL_BYTE;
    f->buffer->byte = byte;
    return TW_OK;
}

static int read_zero(const struct filling *f)
{
    return bytes_of(f, 0);
}

static int read_bits(const struct filling *f)
{
    return bytes_of(f, 0xff);
}

static int read_byte(const struct filling *f)
{
    unsigned char byte;
    size_t count;
    if (!emu_args_hex(f->rest, &byte, 1, &count) || count != 1)
        return fault(f, "a byte is two hexadecimal digits");
    return bytes_of(f, byte);
}

/* "TYPE[:X]" into dtype; *more is what stands behind the second colon, NULL where there is none. */
static int read_type(const struct filling *f, const char **more)
{
    char name[24], why[256] = "the type is none of";
    size_t length = strcspn(f->rest, ":"), used = strlen(why);
    *more = f->rest[length] ? f->rest + length + 1 : NULL;
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : 0), f->rest);
    int dtype = dtype_from_short_name(name);
    if (dtype == TW_DTYPE_COUNT) {
        for (int i = 0; i < TW_DTYPE_COUNT && used < sizeof why; i++)
            used += (size_t)snprintf(why + used, sizeof why - used, " %s", dtype_written((enum tw_dtype)i));
        return fault(f, why);
    }
    if (f->buffer->bytes % tw_dtype_bytes((enum tw_dtype)dtype))
        return fault(f, "the buffer's bytes are no whole number of elements");
    f->buffer->fill = EMU_FILL_TYPED;
    f->buffer->dtype = (enum tw_dtype)dtype;
    f->buffer->seed = 1;
    return TW_OK;
}

static int read_typed(const struct filling *f, struct fill values)
{
    const char *more;
    int status = read_type(f, &more);
    f->buffer->values = values;
    return status == TW_OK && more ? fault(f, "nothing follows the type") : status;
}

static int read_ones(const struct filling *f)
{
    return read_typed(f, (struct fill){FILL_CONSTANT, 1.0, 1.0});
}

static int read_iota(const struct filling *f)
{
    return read_typed(f, (struct fill){FILL_IOTA, 0.0, 0.0});
}

static int read_value(const struct filling *f)
{
    const char *more;
    char *end;
    int status = read_type(f, &more);
    if (status != TW_OK)
        return status;
    f->buffer->values = (struct fill){FILL_CONSTANT, more ? strtod(more, &end) : 0.0, 0.0};
    return more && end != more && !*end ? TW_OK : fault(f, "write value:TYPE:NUMBER");
}

static int read_random(const struct filling *f, struct fill values)
{
    const char *more;
    char *end;
    int status = read_type(f, &more);
    f->buffer->values = values;
    if (status != TW_OK || !more)
        return status;
    f->buffer->seed = strtoull(more, &end, 0);
    return *more < '0' || *more > '9' || *end ? fault(f, "the seed is no number") : TW_OK;
}

static int read_normal(const struct filling *f)
{
    int status = read_random(f, (struct fill){FILL_NORMAL, 0.0, 0.0});
    if (status == TW_OK && tw_dtype_info(f->buffer->dtype)->kind != TW_KIND_FLOAT)
        return fault(f, "normal values are floating; write integer:TYPE");
    return status;
}

static int read_integer(const struct filling *f)
{
    return read_random(f, (struct fill){FILL_DRAWN, 0.0, 0.0});
}

static int read_hex(const struct filling *f)
{
    size_t count;
    f->buffer->fill = EMU_FILL_HEX;
    f->buffer->rest = f->rest;
    if (!emu_args_hex(f->rest, NULL, 0, &count) || !count)
        return fault(f, "bytes are written as pairs of hexadecimal digits");
    return count > f->buffer->bytes ? fault(f, "these are more bytes than the buffer has") : TW_OK;
}

static int read_file(const struct filling *f)
{
    f->buffer->fill = EMU_FILL_FILE;
    f->buffer->rest = f->rest;
    return TW_OK;
}

static int read_map(const struct filling *f)
{
    f->buffer->fill = EMU_FILL_MAP;
    f->buffer->rest = f->rest;
    return f->buffer->bytes < 128 ? fault(f, "a tensor map is 128 bytes") : TW_OK;
}

static const struct {
    const char *word, *behind;
    int (*read)(const struct filling *f);
} fills[] = {
#define EMU_FILL(word, behind, read, doc) {word, behind, read},
#include "cmd/emu/emu_fills.def"
#undef EMU_FILL
};
enum { FILLS = sizeof fills / sizeof *fills };

static int read_fill(struct emu_buffer *buffer, const char *text, struct tw_error *error)
{
    size_t length = strcspn(text, ":"), used = 0;
    struct filling f = {buffer, text, text[length] ? text + length + 1 : NULL, error};
    char why[256] = "";
    for (int i = 0; i < FILLS; i++)
        if (strlen(fills[i].word) == length && strncmp(fills[i].word, text, length) == 0 &&
            !f.rest == !*fills[i].behind)
            return fills[i].read(&f);
    for (int i = 0; i < FILLS && used < sizeof why; i++)
        used += (size_t)snprintf(why + used, sizeof why - used, "%s%s%s",
                                 i == 0 ? "write " : i + 1 < FILLS ? ", " : " or ", fills[i].word, fills[i].behind);
    return fault(&f, why);
}

int emu_args_read_buffer(struct emu_args *args, struct emu_buffer *buffer, const char *options, uint64_t *offset,
                         struct tw_error *error)
{
    const char *fill = NULL, *why;
    bool moved = false;
    while (*options == ',') {
        size_t length = emu_args_piece(++options);
        char *option = emu_args_keep(args, options, length);
        if (!option)
            return no_memory(error);
        options += length;
        char *value = strchr(option, '=');
        if (value)
            *value++ = '\0';
        if ((strcmp(option, "fill") == 0 && fill) || (strcmp(option, "dump") == 0 && buffer->dump) ||
            (strcmp(option, "name") == 0 && *buffer->name) || (strcmp(option, "offset") == 0 && moved))
            return tw_fail(error, TW_ERROR_INVALID, "%s '%.200s': %s= is given twice", buffer->where, buffer->text,
                           option);
        moved = moved || strcmp(option, "offset") == 0;
        if (value && *value && strcmp(option, "fill") == 0)
            fill = value;
        else if (value && *value && strcmp(option, "dump") == 0)
            buffer->dump = value;
        else if (value && *value && strcmp(option, "name") == 0 && !strpbrk(value, "+ \"{}"))
            buffer->name = value;
        else if (value && strcmp(option, "offset") == 0) {
            if (!emu_read_size(value, offset, &why))
                return tw_fail(error, TW_ERROR_INVALID, "%s '%.200s': offset=%.60s: %s", buffer->where, buffer->text,
                               value, why);
        } else {
            return tw_fail(error, TW_ERROR_INVALID, "%s '%.200s': '%.60s' is no option of a buffer; write fill=, "
                           "dump=, name= or offset=, each with a value", buffer->where, buffer->text, option);
        }
    }
    return fill ? read_fill(buffer, fill, error) : TW_OK;
}

/* ---- filling ---------------------------------------------------------------------------------------------------- */

static void fill_typed(const struct emu_buffer *buffer, unsigned char *bytes)
{
    char name[32];
    int64_t size = (int64_t)tw_dtype_bytes(buffer->dtype);
    struct shape shape = {.rank = 1, .extent = {(int64_t)buffer->bytes / size}, .stride = {1}};
    snprintf(name, sizeof name, "%d", buffer->number);
    struct inputs inputs = {.key = inputs_key(buffer->seed, "emu", *buffer->name ? buffer->name : name),
                            .kind = buffer->values.kind == FILL_DRAWN ? INPUTS_INTEGER : INPUTS_NORMAL,
                            .scale = buffer->values.kind == FILL_DRAWN ? 4.0 : 1.0,
                            .fill = buffer->values};
    inputs_write(&inputs, buffer->dtype, &shape, bytes);
}

static int fill_file(struct emu_args *args, const struct emu_buffer *buffer, struct tw_device *device,
                     struct tw_error *error)
{
    unsigned char *bytes;
    size_t count;
    struct tw_file_info info;
    struct tw_error why;
    if (args->rt->files.stat(args->rt->files.self, buffer->rest, &info) == 0 && info.is_regular &&
        info.bytes > buffer->bytes)
        return tw_fail(error, TW_ERROR_INVALID, "%s '%.200s': %s has %" PRIu64 " bytes, the buffer %zu", buffer->where,
                       buffer->text, buffer->rest, info.bytes, buffer->bytes);
    int status = tw_read_file(args->rt, buffer->rest, buffer->bytes, &bytes, &count, &why);
    if (status != TW_OK)
        return tw_fail(error, status, "%s '%.200s': %s", buffer->where, buffer->text, why.text);
    status = tw_device_upload(device, buffer->address, bytes, count, error);
    tw_free(args->rt, bytes);
    return status;
}

int emu_args_fill(struct emu_args *args, const struct emu_buffer *buffer, struct tw_device *device,
                  struct tw_error *error)
{
    unsigned char *bytes;
    uint64_t map[16];
    size_t count = 0;
    int status = TW_OK;
    /* The emulator knows what nothing has written; elsewhere it gets the same bytes. */
    if (strcmp(device->ops->kind, "emu") != 0)
        status = tw_device_fill(device, buffer->address, UINT32_MAX, buffer->bytes, error);
    if (status != TW_OK || buffer->fill == EMU_FILL_NONE)
        return status;
    if (buffer->fill == EMU_FILL_FILE)
        return fill_file(args, buffer, device, error);
    if (buffer->fill == EMU_FILL_BYTE)
        return tw_device_fill(device, buffer->address, UINT32_C(0x01010101) * buffer->byte, buffer->bytes, error);
    if (buffer->fill == EMU_FILL_MAP) {
        status = emu_args_map(args, buffer->rest, buffer->where, device, map, error);
        return status == TW_OK ? tw_device_upload(device, buffer->address, map, sizeof map, error) : status;
    }
    bytes = tw_alloc(args->rt, buffer->bytes);
    if (!bytes)
        return no_memory(error);
    if (buffer->fill == EMU_FILL_HEX) {
        emu_args_hex(buffer->rest, bytes, buffer->bytes, &count);
        for (size_t i = count; i < buffer->bytes; i++)
            bytes[i] = bytes[i - count];
    } else {
        fill_typed(buffer, bytes);
    }
    status = tw_device_upload(device, buffer->address, bytes, buffer->bytes, error);
    tw_free(args->rt, bytes);
    return status;
}

/* ---- tensor maps ------------------------------------------------------------------------------------------------ */

/* A tensor map's text under way. */
struct map_text {
    struct emu_args *args;
    const char *where;
    struct tw_error *error;
};

static int map_fault(const struct map_text *m, const char *why)
{
    return tw_fail(m->error, TW_ERROR_INVALID, "%s a tensor map: %s", m->where, why);
}

/* The address that "buffer" and "offset" give. */
static int map_address(const struct map_text *m, const char *name, uint64_t offset, uint64_t *address)
{
    const struct emu_buffer *buffer = emu_args_find(m->args, name);
    if (!buffer)
        return tw_fail(m->error, TW_ERROR_INVALID, "%s a tensor map: no buffer has the name '%.80s'; a buffer is given "
                       "one by buf:BYTES,name=NAME", m->where, name);
    *address = buffer->address + offset;
    return TW_OK;
}

static int read_json(const struct map_text *m, const char *text, struct tw_tensormap_call *call)
{
    struct tensormap_fault why;
    json_object *object, *name, *offset, *addr;
    json_tokener *tokener = json_tokener_new();
    int status = TW_OK;
    if (!tokener)
        return no_memory(m->error);
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_ALLOW_TRAILING_CHARS);
    if (tensormap_read_json(tokener, text, strlen(text), call, &object, &why)) {
        json_tokener_free(tokener);
        return map_fault(m, why.text);
    }
    bool named = json_object_object_get_ex(object, "buffer", &name);
    bool moved = json_object_object_get_ex(object, "offset", &offset);
    if (named && json_object_get_type(name) != json_type_string)
        status = map_fault(m, "buffer is no string");
    else if (moved && (json_object_get_type(offset) != json_type_int || json_object_get_int64(offset) < 0))
        status = map_fault(m, "offset is no number of bytes");
    else if (named)
        status = map_address(m, json_object_get_string(name), moved ? json_object_get_uint64(offset) : 0, &call->addr);
    else if (!json_object_object_get_ex(object, "addr", &addr))
        status = map_fault(m, "it has neither \"buffer\":\"NAME\" nor addr");
    json_object_put(object);
    json_tokener_free(tokener);
    return status;
}

static int read_words(const struct map_text *m, const char *text, struct tw_tensormap_call *call)
{
    enum { WORDS = 32 };
    char *words[WORDS], *copy = emu_args_keep(m->args, text, strlen(text)), *save = NULL;
    const char *name = NULL, *why;
    struct tensormap_fault wrong;
    uint64_t offset = 0;
    int count = 0;
    bool placed = false, moved = false;
    if (!copy)
        return no_memory(m->error);
    for (char *word = strtok_r(copy, " \t\n", &save); word; word = strtok_r(NULL, " \t\n", &save)) {
        if (strncmp(word, "buffer=", 7) == 0) {
            if (name)
                return map_fault(m, "buffer= is given twice");
            name = word + 7;
        } else if (strncmp(word, "offset=", 7) == 0) {
            if (moved)
                return map_fault(m, "offset= is given twice");
            moved = true;
            if (!emu_read_size(word + 7, &offset, &why))
                return map_fault(m, why);
        } else {
            if (count == WORDS)
                return map_fault(m, "too many words");
            placed = placed || strncmp(word, "addr=", 5) == 0;
            words[count++] = word;
        }
    }
    if (!name && !placed)
        return map_fault(m, "it has neither buffer=NAME nor addr=");
    if (tensormap_read_words(count, words, call, &wrong))
        return map_fault(m, wrong.text);
    return name ? map_address(m, name, offset, &call->addr) : TW_OK;
}

/* Says which rules the call breaks. */
static int refused(const struct map_text *m, const struct tw_tensormap_call *call, int cc)
{
    struct tw_tensormap_verdict verdict;
    char text[TW_TENSORMAP_MESSAGE], all[800] = "";
    size_t used = 0;
    tw_tensormap_check(call, cc, &verdict);
    for (int i = 0; i < verdict.count && used < sizeof all; i++) {
        const struct tw_tensormap_finding *f = &verdict.finding[i];
        if (!f->warning)
            used += (size_t)snprintf(all + used, sizeof all - used, "%s%s [%s]", used ? "; " : "",
                                     tw_tensormap_message(call, cc, f, text, sizeof text),
                                     tw_tensormap_rule_name(f->rule));
    }
    return map_fault(m, used ? all : "its bytes are not known for this compute capability");
}

int emu_args_map(struct emu_args *args, const char *text, const char *where, const struct tw_device *device,
                 uint64_t map[16], struct tw_error *error)
{
    struct map_text m = {args, where, error};
    struct tw_tensormap_call call;
    int cc = device->major * 10 + device->minor, status;
    size_t length = strlen(text);
    if (*text == '@') {
        unsigned char *bytes;
        size_t count;
        struct tw_error why;
        status = tw_read_file(args->rt, text + 1, (size_t)1 << 20, &bytes, &count, &why);
        if (status != TW_OK)
            return tw_fail(error, status, "%s a tensor map: %s", where, why.text);
        text = emu_args_keep(args, (const char *)bytes, strlen((const char *)bytes));
        tw_free(args->rt, bytes);
    } else if (*text == '(' && length > 1 && text[length - 1] == ')') {
        text = emu_args_keep(args, text + 1, length - 2);
    }
    if (!text)
        return no_memory(error);
    text += strspn(text, " \t\r\n");
    if (*text == '{') {
        for (length = strlen(text); strchr(" \t\r\n", text[length - 1]);)
            length--;
        if (!(text = emu_args_keep(args, text, length)))
            return no_memory(error);
    }
    status = *text == '{' ? read_json(&m, text, &call) : read_words(&m, text, &call);
    if (status != TW_OK)
        return status;
    if (cc < 90)
        return map_fault(&m, "this architecture has no tensor maps; sm_90 and newer do");
    status = tw_tensormap_encode(&call, cc, map);
    return status == TW_OK ? TW_OK : refused(&m, &call, cc);
}
