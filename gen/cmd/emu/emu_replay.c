/* A recorded launch on the emulator. */
#include "cmd/emu/emu_replay.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "common/dtype_names.h"
#include "common/json.h"
#include "emu/image.h"

static int fail(const struct emu_replay *r, int status, const struct tw_error *error)
{
    return tell_status(r->tell, status, error);
}

static int refuse(const struct emu_replay *r, const char *format, ...) TW_PRINTF(2, 3);
static int refuse(const struct emu_replay *r, const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    tell_file(r->tell, r->path, 0, "%s", text);
    return 1;
}

/* ---- words ------------------------------------------------------------------------------------------------------ */

/* "A:B", blocks A to B - 1; or "A", one block. */
static bool read_blocks(const char *text, uint64_t *first, uint64_t *count)
{
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    *first = strtoull(text, &end, 10);
    *count = 1;
    if (!*end)
        return *first < INT64_MAX;
    if (*end != ':' || end[1] < '0' || end[1] > '9')
        return false;
    uint64_t behind = strtoull(end + 1, &end, 10);
    *count = behind - *first;
    return !*end && behind > *first && behind < INT64_MAX;
}

static bool read_bound(const char *text, double *bound)
{
    char *end;
    *bound = text ? strtod(text, &end) : 0.0;
    return !text || (end != text && !*end && *bound >= 0.0 && *bound < HUGE_VAL);
}

int emu_replay_words(struct emu_replay *r, const struct emu_replay_words *w)
{
    r->dtype = TW_DTYPE_COUNT;
    if (w->blocks && !read_blocks(w->blocks, &r->first_block, &r->block_count))
        return options_fault("emu", "--blocks %s: write A:B for the blocks A to B - 1, or A for one", w->blocks);
    if (w->as)
        r->dtype = (enum tw_dtype)dtype_from_short_name(w->as);
    if (w->as && (r->dtype == TW_DTYPE_COUNT || tw_dtype_info(r->dtype)->kind != TW_KIND_FLOAT))
        return options_fault("emu", "--as %s: write a floating type, f32, bf16, f16, f64, ...", w->as);
    if (!read_bound(w->atol, &r->atol))
        return options_fault("emu", "--atol %s: write a number, 0 or more", w->atol);
    if (!read_bound(w->rtol, &r->rtol))
        return options_fault("emu", "--rtol %s: write a number, 0 or more", w->rtol);
    if ((w->atol || w->rtol) && !w->as)
        return options_fault("emu", "--%s: of which type? Write --as f32, or what the results are",
                             w->atol ? "atol" : "rtol");
    if (w->as && !w->atol && !w->rtol)
        return options_fault("emu", "--as %s: how far apart may elements be? Write --atol or --rtol", w->as);
    return -1;
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

int emu_replay_read(struct emu_replay *r, struct emu_program *program)
{
    struct tw_error error;
    int status = recorded_read(r->rt, r->path, &r->record, &error);
    if (status == TW_ERROR_INVALID)
        return refuse(r, "%s", error.text);
    return status == TW_OK ? emu_replay_begin(r, program) : fail(r, status, &error);
}

int emu_replay_begin(struct emu_replay *r, struct emu_program *program)
{
    struct tw_error error;
    size_t count = r->record.piece_count + 1;
    r->address = tw_alloc_zeroed(r->rt, count * sizeof *r->address);
    r->written = tw_alloc_zeroed(r->rt, count * sizeof *r->written);
    if (!r->address || !r->written) {
        tw_fail(&error, TW_ERROR_MEMORY, "out of memory");
        return fail(r, TW_ERROR_MEMORY, &error);
    }
    for (size_t i = 0; i < r->record.note_count; i++)
        tell_note(r->tell, "%s", r->record.note[i]);
    program->path = r->path;
    return emu_program_take(program, r->record.ptx, r->record.ptx_bytes);
}

/* ---- placing ---------------------------------------------------------------------------------------------------- */

int emu_replay_place(struct emu_replay *r, struct tw_device *device)
{
    struct tw_error error, why;
    for (size_t i = 0; i < r->record.piece_count; i++) {
        const struct recorded_piece *p = &r->record.piece[i];
        if (p->is.kind != RECORDED_ALLOCATION)
            continue;
        r->address[i] = p->is.address;
        int status = emu_device_place(device, p->is.address, (size_t)p->is.bytes, &why);
        if (status == TW_ERROR_INVALID) {
            status = tw_device_alloc(device, (size_t)p->is.bytes, &r->address[i], &error);
            if (status == TW_OK)
                tell_note(r->tell,
                          "memory is at 0x%" PRIx64 " here: arguments are mended, pointers in memory are not "
                          "(%s)",
                          r->address[i], why.text);
        } else if (status != TW_OK) {
            error = why;
        }
        if (status == TW_OK)
            status = tw_device_upload(device, r->address[i], p->before, (size_t)p->is.bytes, &error);
        if (status != TW_OK)
            return fail(r, status, &error);
    }
    return 0;
}

static int place_variables(struct emu_replay *r, struct tw_device *device, struct tw_kernel *kernel)
{
    struct tw_error error;
    for (size_t i = 0; i < r->record.piece_count; i++) {
        const struct recorded_piece *p = &r->record.piece[i];
        size_t bytes;
        if (p->is.kind != RECORDED_VARIABLE)
            continue;
        if (device->ops->symbol(device, kernel, p->name, &r->address[i], &bytes, &error) != TW_OK ||
            bytes != p->is.bytes)
            return refuse(r, "the record has %" PRIu64 " bytes of a variable %.80s, and its PTX no such one",
                          p->is.bytes, p->name);
        int status = tw_device_upload(device, r->address[i], p->before, bytes, &error);
        if (status != TW_OK)
            return fail(r, status, &error);
    }
    return 0;
}

/* Where what lay at an address lies here. */
static uint64_t moved(const struct emu_replay *r, uint64_t address)
{
    for (size_t i = 0; i < r->record.piece_count; i++) {
        const struct recorded_memory *m = &r->record.piece[i].is;
        if (address - m->address < m->bytes)
            return r->address[i] + (address - m->address);
    }
    return address;
}

/* Where the byte at `item` of the record's parameters lies among those of its PTX: hardware lays a parameter for a
   multiple of 64 bytes by where its bank of constants begins, so that the record may have other gaps. Negative: none.
 */
static int64_t place_of(const struct emu_replay *r, uint32_t item, uint32_t bytes)
{
    for (uint32_t i = 0; i < r->record.parameter_count; i++) {
        const struct recorded_parameter *p = &r->record.parameter[i];
        if (item >= p->offset && bytes <= p->bytes && item - p->offset <= p->bytes - bytes)
            return (int64_t)r->offsets[i] + (item - p->offset);
    }
    return -1;
}

/* The maps once more, by the calls that encoded them: a map of a newer GPU has bits that this one does not know. */
static int mend_maps(struct emu_replay *r, const struct tw_device *device, unsigned char *is_map)
{
    for (size_t i = 0; i < r->record.map_count; i++) {
        struct recorded_map map;
        uint64_t words[16];
        uint32_t item = r->record.map[i]->item;
        int64_t place = place_of(r, item, sizeof words);
        memcpy(&map, r->record.map[i] + 1, sizeof map);
        struct tw_tensormap_call call = recorded_map_call(&map);
        call.addr = moved(r, call.addr);
        if (place < 0)
            return refuse(r, "its tensor map at byte %" PRIu32 " lies in none of the parameters", item);
        if (tw_tensormap_encode(&call, 10 * device->major + device->minor, words) != TW_OK)
            return refuse(r, "its tensor map at byte %" PRIu32 " of the parameters cannot be encoded for %s", item,
                          device->arch);
        memcpy(r->params + place, words, sizeof words);
        memset(is_map + place, 1, sizeof words);
    }
    return 0;
}

/* The parameters as the PTX lays them, with addresses of here; r->offsets are set. */
static int make_params(struct emu_replay *r, const struct tw_device *device, size_t bytes)
{
    struct tw_error error;
    const struct recorded_parameter *list = r->record.parameter;
    unsigned char *is_map = tw_alloc_zeroed(r->rt, bytes + 1);
    r->params = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (!is_map || !r->params) {
        tw_free(r->rt, is_map);
        tw_fail(&error, TW_ERROR_MEMORY, "out of memory");
        return fail(r, TW_ERROR_MEMORY, &error);
    }
    memset(r->params, 0, bytes);
    for (uint32_t i = 0; i < r->record.parameter_count; i++)
        memcpy(r->params + r->offsets[i], r->record.params + list[i].offset, list[i].bytes);
    int status = mend_maps(r, device, is_map);
    for (uint32_t i = 0; i < r->record.parameter_count && status == 0; i++) {
        const size_t first = r->offsets[i], end = first + list[i].bytes;
        for (size_t at = (first + 7) / 8 * 8; at + 8 <= end && end <= bytes; at += 8) {
            uint64_t address;
            memcpy(&address, r->params + at, 8);
            address = moved(r, address);
            if (!is_map[at])
                memcpy(r->params + at, &address, 8);
        }
    }
    tw_free(r->rt, is_map);
    return status;
}

/* Offsets of the parameters by the PTX, which is to have as many and as large ones as the record; and how many bytes.
 */
static int take_offsets(struct emu_replay *r, const struct emu_program *program, const struct tw_launch *launch,
                        size_t *params_bytes)
{
    struct tw_error error;
    uint32_t offset, bytes, count = 0;
    const uint32_t all = r->record.parameter_count;
    if (all > TW_LAUNCH_OFFSETS)
        return refuse(r, "%.100s has %" PRIu32 " parameters: a launch has %d here at most", program->entry, all,
                      TW_LAUNCH_OFFSETS);
    if (!(r->offsets = tw_alloc_zeroed(r->rt, (all + 1) * sizeof *r->offsets))) {
        tw_fail(&error, TW_ERROR_MEMORY, "out of memory");
        return fail(r, TW_ERROR_MEMORY, &error);
    }
    *params_bytes = 0;
    for (; !emu_kernel_parameter(launch->kernel, count, &offset, &bytes); count++) {
        if (count >= all || r->record.parameter[count].bytes != bytes)
            break;
        r->offsets[count] = offset;
        *params_bytes = offset + bytes;
    }
    if (count != all || !emu_kernel_parameter(launch->kernel, count, &offset, &bytes))
        return refuse(r, "the parameters of %.100s are others in its PTX than in the record", program->entry);
    return 0;
}

int emu_replay_launch(struct emu_replay *r, struct tw_device *device, const struct emu_program *program,
                      struct tw_launch *launch)
{
    const struct recorded_launch *l = &r->record.launch;
    size_t bytes;
    int status = take_offsets(r, program, launch, &bytes);
    if (status == 0)
        status = place_variables(r, device, launch->kernel);
    if (status == 0)
        status = make_params(r, device, bytes);
    if (status != 0)
        return status;
    memcpy(launch->grid, l->grid, sizeof launch->grid);
    memcpy(launch->block, l->block, sizeof launch->block);
    memcpy(launch->cluster, l->cluster, sizeof launch->cluster);
    launch->shared_bytes = l->shared_bytes;
    launch->flags = l->flags & (TW_LAUNCH_COOPERATIVE | TW_LAUNCH_PROGRAMMATIC);
    launch->params = r->params;
    launch->params_bytes = bytes;
    launch->offsets = r->offsets;
    launch->offset_count = r->record.parameter_count;
    launch->first_block = r->first_block;
    launch->block_count = r->block_count;
    for (size_t i = 0; i < r->record.piece_count && r->block_count; i++)
        if (!(r->written[i] = emu_device_keep_written(device, r->address[i])))
            return refuse(r, "out of memory for what is written");
    return 0;
}

/* ---- comparing -------------------------------------------------------------------------------------------------- */

/* One piece of memory under comparison. */
struct comparison {
    const struct recorded_piece *piece;
    const unsigned char *here, *written;       /* written: NULL: all counts */
    uint64_t compared, bytes, elements, first; /* first: byte of what is wrong first */
};

static bool counts(const struct comparison *c, uint64_t byte)
{
    return !c->written || (c->written[byte / 8] >> byte % 8 & 1);
}

/* Bytes, by one and one; those that are equal in long stretches at once. */
static void compare_bytes(struct comparison *c)
{
    const unsigned char *there = c->piece->after;
    enum { STRETCH = 4096 };
    for (uint64_t at = 0; at < c->piece->is.bytes; at += STRETCH) {
        uint64_t end = c->piece->is.bytes - at < STRETCH ? c->piece->is.bytes : at + STRETCH;
        if (!c->written && memcmp(c->here + at, there + at, (size_t)(end - at)) == 0) {
            c->compared += end - at;
            continue;
        }
        for (uint64_t i = at; i < end; i++) {
            if (!counts(c, i))
                continue;
            c->compared++;
            if (c->here[i] != there[i] && c->bytes++ == 0)
                c->first = i;
        }
    }
}

static bool near(const struct emu_replay *r, double here, double there)
{
    if (isnan(here) || isnan(there))
        return isnan(here) && isnan(there);
    if (isinf(here) || isinf(there))
        return here == there;
    return fabs(here - there) <= r->atol + r->rtol * fabs(there);
}

/* Elements of --as, at its multiples from the beginning. Bytes behind the last whole one must be equal. */
static void compare_elements(const struct emu_replay *r, struct comparison *c)
{
    size_t size = (size_t)tw_dtype_bytes(r->dtype);
    const unsigned char *there = c->piece->after;
    for (uint64_t at = 0; at < c->piece->is.bytes; at += size) {
        uint64_t left = c->piece->is.bytes - at, bytes = left < size ? left : size, same = 1, any = 0;
        for (uint64_t i = at; i < at + bytes; i++) {
            any |= counts(c, i);
            same &= !counts(c, i) || c->here[i] == there[i];
        }
        if (same || !any ||
            (bytes == size && near(r, tw_dtype_load(r->dtype, c->here + at), tw_dtype_load(r->dtype, there + at))))
            continue;
        if (c->elements++ == 0)
            c->first = at;
    }
}

static void describe(const struct emu_replay *r, const struct comparison *c, uint64_t address, char *text, size_t room)
{
    const struct recorded_memory *m = &c->piece->is;
    int used = m->kind == RECORDED_VARIABLE
                   ? snprintf(text, room, "variable %.100s of %" PRIu64 " bytes: ", c->piece->name, m->bytes)
                   : snprintf(text, room, "allocation of %" PRIu64 " bytes at 0x%" PRIx64 ": ", m->bytes, address);
    if (r->dtype == TW_DTYPE_COUNT)
        snprintf(text + used, room - (size_t)used,
                 "%" PRIu64 " byte%s differ%s, first byte %" PRIu64 ": 0x%02x here, 0x%02x recorded", c->bytes,
                 c->bytes == 1 ? "" : "s", c->bytes == 1 ? "s" : "", c->first, c->here[c->first],
                 c->piece->after[c->first]);
    else
        snprintf(text + used, room - (size_t)used,
                 "%" PRIu64 " element%s of %s differ%s by too much (%" PRIu64 " bytes differ), first element %" PRIu64
                 ": %.9g here, %.9g recorded",
                 c->elements, c->elements == 1 ? "" : "s", dtype_written(r->dtype), c->elements == 1 ? "s" : "",
                 c->bytes, c->first / (uint64_t)tw_dtype_bytes(r->dtype),
                 m->bytes - c->first < (uint64_t)tw_dtype_bytes(r->dtype) ? 0.0
                                                                          : tw_dtype_load(r->dtype, c->here + c->first),
                 m->bytes - c->first < (uint64_t)tw_dtype_bytes(r->dtype)
                     ? 0.0
                     : tw_dtype_load(r->dtype, c->piece->after + c->first));
}

static void compare_piece(struct emu_replay *r, struct tw_device *device, size_t number)
{
    struct comparison c = {.piece = &r->record.piece[number], .written = r->written[number]};
    char text[512];
    c.here = emu_device_memory(device, r->address[number], (size_t)c.piece->is.bytes);
    if (!c.piece->after || !c.here)
        return;
    compare_bytes(&c);
    if (c.bytes && r->dtype != TW_DTYPE_COUNT)
        compare_elements(r, &c);
    r->compared += c.compared;
    r->bytes += c.bytes;
    r->elements += c.elements;
    if (!c.bytes || (r->dtype != TW_DTYPE_COUNT && !c.elements))
        return;
    describe(r, &c, r->address[number], text, sizeof text);
    tell_fault(r->tell, "%s", text);
}

int emu_replay_compare(struct emu_replay *r, struct tw_device *device)
{
    bool known = false;
    fflush(stdout);
    for (size_t i = 0; i < r->record.piece_count; i++) {
        known = known || r->record.piece[i].after;
        compare_piece(r, device, i);
    }
    bool wrong = r->dtype == TW_DTYPE_COUNT ? r->bytes : r->elements;
    if (r->tell->result) {
        json_add_number(r->tell->result, "compared", r->compared);
        json_add_number(r->tell->result, "different", r->bytes);
        return wrong;
    }
    if (!known)
        printf("not compared: the record says of no memory what it held after the launch\n");
    else if (!r->bytes)
        printf("compared: %" PRIu64 " bytes, all equal\n", r->compared);
    else
        printf("compared: %" PRIu64 " bytes, %" PRIu64 " differ%s\n", r->compared, r->bytes,
               wrong ? "" : ", none by too much");
    return wrong;
}

void emu_replay_free(struct emu_replay *r)
{
    free(r->params);
    tw_free(r->rt, r->offsets);
    tw_free(r->rt, r->address);
    tw_free(r->rt, r->written);
    recorded_free(r->rt, &r->record);
}
