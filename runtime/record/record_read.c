/* Reading a record: nothing of it is believed before it was held against the bytes that are there. */
#include <string.h>

#include "record.h"

/* A reading under way. */
struct reading {
    struct tw_runtime *rt;
    struct recorded *record;
    struct tw_error *error;
    uint32_t section; /* that is read, from 1 */
    int launches, texts, parameters, afters;
};

static int damaged(const struct reading *r, const char *why)
{
    return tw_fail(r->error, TW_ERROR_INVALID, "the record is damaged: section %u: %s", r->section, why);
}

/* A text that ends with the only zero of its bytes. */
static int is_text(const unsigned char *text, uint64_t bytes)
{
    return bytes && memchr(text, 0, (size_t)bytes) == text + bytes - 1;
}

static int read_launch(struct reading *r, const unsigned char *at, uint64_t bytes)
{
    struct recorded_launch *launch = &r->record->launch;
    if (r->launches++)
        return damaged(r, "a second launch");
    if (bytes < sizeof *launch)
        return damaged(r, "the launch is cut off");
    memcpy(launch, at, sizeof *launch);
    uint64_t names = sizeof *launch + (uint64_t)launch->attributes * RECORDED_ATTRIBUTE;
    if (bytes < names || bytes - names != launch->name_bytes || !is_text(at + names, launch->name_bytes))
        return damaged(r, "attributes and name do not fill the launch");
    r->record->entry = (const char *)at + names;
    return TW_OK;
}

static int read_ptx(struct reading *r, const unsigned char *at, uint64_t bytes)
{
    if (r->texts++)
        return damaged(r, "a second PTX");
    if (!is_text(at, bytes))
        return damaged(r, "the PTX is no text");
    r->record->ptx = (const char *)at;
    r->record->ptx_bytes = (size_t)bytes - 1;
    return TW_OK;
}

static int read_parameters(struct reading *r, uint32_t count, const unsigned char *at, uint64_t bytes)
{
    struct recorded *record = r->record;
    uint64_t list = (uint64_t)count * sizeof *record->parameter;
    if (r->parameters++)
        return damaged(r, "a second list of parameters");
    if (list > bytes || bytes - list > UINT32_MAX)
        return damaged(r, "the parameters are cut off");
    record->parameter = (const void *)at; /* sections begin at multiples of 8 bytes of an allocation */
    record->parameter_count = count;
    record->params = at + list;
    record->params_bytes = (uint32_t)(bytes - list);
    for (uint32_t i = 0; i < count; i++)
        if (record->parameter[i].offset > record->params_bytes ||
            record->parameter[i].bytes > record->params_bytes - record->parameter[i].offset)
            return damaged(r, "a parameter lies behind the last one's bytes");
    for (uint32_t i = 1; i < count; i++)
        if (record->parameter[i].offset < record->parameter[i - 1].offset + record->parameter[i - 1].bytes)
            return damaged(r, "a parameter lies where another one does");
    return TW_OK;
}

static int read_memory(struct reading *r, uint32_t item, const unsigned char *at, uint64_t bytes)
{
    struct recorded_piece *piece = &r->record->piece[r->record->piece_count];
    if (bytes < sizeof piece->is)
        return damaged(r, "the memory is cut off");
    memcpy(&piece->is, at, sizeof piece->is);
    uint64_t name = piece->is.name_bytes, begin = sizeof piece->is + (name + 7) / 8 * 8;
    if (item != r->record->piece_count)
        return damaged(r, "the memory's number is another's");
    if (begin > bytes || piece->is.bytes != bytes - begin || !piece->is.bytes)
        return damaged(r, "the memory has another number of bytes than it says");
    if (piece->is.bytes > UINT64_MAX - piece->is.address)
        return damaged(r, "the memory goes past the last address");
    if (piece->is.kind == RECORDED_VARIABLE ? !is_text(at + sizeof piece->is, name)
                                            : piece->is.kind != RECORDED_ALLOCATION || name)
        return damaged(r, "the memory is neither an allocation nor a variable with a name");
    piece->name = name ? (const char *)at + sizeof piece->is : "";
    piece->before = at + begin;
    r->record->piece_count++;
    return TW_OK;
}

static int read_after(struct reading *r, uint32_t item, const unsigned char *at, uint64_t bytes)
{
    if (item >= r->record->piece_count)
        return damaged(r, "no memory of this number comes before");
    struct recorded_piece *piece = &r->record->piece[item];
    if (piece->after || (bytes && bytes != piece->is.bytes))
        return damaged(r, piece->after ? "what it held afterwards comes twice" : "it held another number of bytes");
    piece->after = bytes ? at : piece->before;
    r->afters++;
    return TW_OK;
}

static int read_map(struct reading *r, const struct recorded_section *section)
{
    struct recorded *record = r->record;
    if (section->bytes != sizeof(struct recorded_map) || !r->parameters)
        return damaged(r, "a tensor map of another size, or before the parameters");
    if (section->item > record->params_bytes || RECORDED_MAP_BYTES > record->params_bytes - section->item)
        return damaged(r, "a tensor map lies behind the parameters");
    record->map[record->map_count++] = section;
    return TW_OK;
}

static int read_section(struct reading *r, const struct recorded_section *section)
{
    const unsigned char *at = (const unsigned char *)(section + 1);
    switch (section->kind) {
    case RECORDED_LAUNCH:
        return read_launch(r, at, section->bytes);
    case RECORDED_PTX:
        return read_ptx(r, at, section->bytes);
    case RECORDED_PARAMETERS:
        return read_parameters(r, section->item, at, section->bytes);
    case RECORDED_MAP:
        return read_map(r, section);
    case RECORDED_MEMORY:
        return read_memory(r, section->item, at, section->bytes);
    case RECORDED_AFTER:
        return read_after(r, section->item, at, section->bytes);
    case RECORDED_NOTE:
        if (!is_text(at, section->bytes))
            return damaged(r, "the note is no text");
        r->record->note[r->record->note_count++] = (const char *)at;
        return TW_OK;
    default:
        return damaged(r, "its kind is none of version 1");
    }
}

/* Lists for as many sections as there are; each takes 16 bytes of the file at least. */
static int room(struct reading *r, uint32_t sections)
{
    struct recorded *record = r->record;
    size_t pieces = 0, others = sections ? sections : 1;
    for (uint64_t at = sizeof(struct recorded_header); at + sizeof(struct recorded_section) <= record->bytes;) {
        const struct recorded_section *section = (const void *)(record->file + at);
        uint64_t left = record->bytes - at - sizeof *section;
        pieces += section->kind == RECORDED_MEMORY;
        if (section->bytes > left)
            break;
        at += sizeof *section + (section->bytes + 7) / 8 * 8;
    }
    record->piece = tw_alloc_zeroed(r->rt, (pieces ? pieces : 1) * sizeof *record->piece);
    record->map = tw_alloc_zeroed(r->rt, others * sizeof *record->map);
    record->note = tw_alloc_zeroed(r->rt, others * sizeof *record->note);
    return record->piece && record->map && record->note ? TW_OK : tw_fail(r->error, TW_ERROR_MEMORY, "out of memory");
}

static int read_sections(struct reading *r, uint32_t sections)
{
    const struct recorded *record = r->record;
    uint64_t at = sizeof(struct recorded_header);
    for (r->section = 1; r->section <= sections; r->section++) {
        if (record->bytes - at < sizeof(struct recorded_section))
            return damaged(r, "it is not there");
        const struct recorded_section *section = (const void *)(record->file + at);
        uint64_t left = record->bytes - at - sizeof *section;
        if (section->bytes > left || (section->bytes + 7) / 8 * 8 > left)
            return damaged(r, "it goes past the end of the file");
        int status = read_section(r, section);
        if (status)
            return status;
        at += sizeof *section + (section->bytes + 7) / 8 * 8;
    }
    if (at != record->bytes)
        return damaged(r, "more follows behind the last section");
    if (!r->launches || !r->texts || !r->parameters)
        return damaged(r, "the launch, its PTX or its parameters are missing");
    if (r->afters && (size_t)r->afters != record->piece_count)
        return damaged(r, "of some memory it is not said what it held afterwards");
    return TW_OK;
}

int recorded_parse(struct tw_runtime *rt, unsigned char *bytes, size_t count, struct recorded *record,
                   struct tw_error *error)
{
    struct recorded_header header = {.version = 0};
    struct reading r = {.rt = rt, .record = record, .error = error};
    memset(record, 0, sizeof *record);
    record->file = bytes;
    record->bytes = count;
    if (count < sizeof header || memcmp(bytes, RECORDED_MAGIC, sizeof header.magic) != 0)
        return tw_fail(error, TW_ERROR_INVALID,
                       "it is no recorded launch: one begins with " RECORDED_MAGIC " and has %zu bytes at least",
                       sizeof header);
    memcpy(&header, bytes, sizeof header);
    if (header.version != RECORDED_VERSION)
        return tw_fail(error, TW_ERROR_INVALID,
                       "the record is of version %u, and this program reads version %d: record the launch anew",
                       header.version, RECORDED_VERSION);
    if (header.bytes != count || count % 8)
        return tw_fail(error, TW_ERROR_INVALID, "the record has %zu bytes and says that it has %llu: it is %s", count,
                       (unsigned long long)header.bytes, header.bytes > count ? "cut off" : "damaged");
    if (recorded_checksum(0, bytes + sizeof header, count - sizeof header) != header.checksum)
        return tw_fail(error, TW_ERROR_INVALID, "the record is damaged: its checksum is another");
    if (header.sections > (count - sizeof header) / sizeof(struct recorded_section))
        return tw_fail(error, TW_ERROR_INVALID, "the record is damaged: %u sections are more than it can hold",
                       header.sections);
    int status = room(&r, header.sections);
    return status ? status : read_sections(&r, header.sections);
}

int recorded_read(struct tw_runtime *rt, const char *path, struct recorded *record, struct tw_error *error)
{
    struct tw_file_info info;
    unsigned char *bytes;
    size_t count, limit = 1;
    memset(record, 0, sizeof *record);
    if (rt->files.stat(rt->files.self, path, &info) == 0) {
        if (!info.is_regular)
            return tw_fail(error, TW_ERROR_INVALID, "it is no file with a size, as a recorded launch is");
        limit = info.bytes < SIZE_MAX ? (size_t)info.bytes + 1 : SIZE_MAX;
    }
    int status = tw_read_file(rt, path, limit, &bytes, &count, error);
    return status ? status : recorded_parse(rt, bytes, count, record, error);
}

void recorded_free(struct tw_runtime *rt, struct recorded *record)
{
    tw_free(rt, record->file);
    tw_free(rt, record->piece);
    tw_free(rt, record->map);
    tw_free(rt, record->note);
    memset(record, 0, sizeof *record);
}
