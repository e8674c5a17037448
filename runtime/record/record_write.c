/* Writing a record, section by section. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "record.h"

uint64_t recorded_checksum(uint64_t sum, const void *words, size_t bytes)
{
    const unsigned char *at = words;
    for (size_t i = 0; i + 8 <= bytes; i += 8) {
        uint64_t word;
        memcpy(&word, at + i, 8);
        sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 32;
    }
    return sum;
}

struct recorded_map recorded_map_of(const struct tw_tensormap_call *call, const void *map)
{
    struct recorded_map m = {.func = (uint32_t)call->func,
                             .dtype = call->dtype,
                             .rank = call->rank,
                             .mode = call->mode,
                             .channels = call->channels,
                             .pixels = call->pixels,
                             .interleave = call->interleave,
                             .swizzle = call->swizzle,
                             .l2 = call->l2,
                             .oob = call->oob,
                             .addr = call->addr};
    memcpy(m.box, call->box, sizeof m.box);
    memcpy(m.estride, call->estride, sizeof m.estride);
    memcpy(m.lower, call->lower, sizeof m.lower);
    memcpy(m.upper, call->upper, sizeof m.upper);
    memcpy(m.dim, call->dim, sizeof m.dim);
    memcpy(m.stride, call->stride, sizeof m.stride);
    memcpy(m.map, map, sizeof m.map);
    return m;
}

struct tw_tensormap_call recorded_map_call(const struct recorded_map *m)
{
    struct tw_tensormap_call call = {.func = (enum tw_tensormap_func)m->func,
                                     .dtype = m->dtype,
                                     .rank = m->rank,
                                     .mode = m->mode,
                                     .channels = m->channels,
                                     .pixels = m->pixels,
                                     .interleave = m->interleave,
                                     .swizzle = m->swizzle,
                                     .l2 = m->l2,
                                     .oob = m->oob,
                                     .addr = m->addr};
    memcpy(call.box, m->box, sizeof m->box);
    memcpy(call.estride, m->estride, sizeof m->estride);
    memcpy(call.lower, m->lower, sizeof m->lower);
    memcpy(call.upper, m->upper, sizeof m->upper);
    memcpy(call.dim, m->dim, sizeof m->dim);
    memcpy(call.stride, m->stride, sizeof m->stride);
    return call;
}

static void write_all(struct recorded_writer *w, const void *bytes, size_t count)
{
    if (!w->error && count && fwrite(bytes, 1, count, w->file) != count)
        w->error = errno ? errno : EIO;
}

/* Of this process, as others may write into the folder. */
static void part_path(const struct recorded_writer *w, char *path, size_t room)
{
    snprintf(path, room, "%s.%ld.part", w->path, (long)getpid());
}

int recorded_open(struct recorded_writer *w, const char *path)
{
    char part[sizeof w->path + 32];
    memset(w, 0, sizeof *w);
    if ((size_t)snprintf(w->path, sizeof w->path, "%s", path) >= sizeof w->path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    part_path(w, part, sizeof part);
    w->file = fopen(part, "wbe");
    if (!w->file)
        return -1;
    memcpy(w->header.magic, RECORDED_MAGIC, sizeof w->header.magic);
    w->header.version = RECORDED_VERSION;
    w->header.bytes = sizeof w->header;
    write_all(w, &w->header, sizeof w->header);
    return 0;
}

/* The checksum is of whole words, wherever a piece ends. */
void recorded_put(struct recorded_writer *w, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    write_all(w, bytes, count);
    w->header.bytes += count;
    while (count && w->pending_count) {
        w->pending[w->pending_count++] = *at++;
        count--;
        if (w->pending_count == 8) {
            w->header.checksum = recorded_checksum(w->header.checksum, w->pending, 8);
            w->pending_count = 0;
        }
    }
    w->header.checksum = recorded_checksum(w->header.checksum, at, count / 8 * 8);
    for (size_t i = count / 8 * 8; i < count; i++)
        w->pending[w->pending_count++] = at[i];
}

void recorded_begin(struct recorded_writer *w, enum recorded_kind kind, uint32_t item, uint64_t bytes)
{
    struct recorded_section section = {(uint32_t)kind, item, bytes};
    recorded_put(w, &section, sizeof section);
    w->header.sections++;
}

void recorded_end(struct recorded_writer *w)
{
    static const unsigned char zeros[8];
    if (w->header.bytes % 8)
        recorded_put(w, zeros, 8 - w->header.bytes % 8);
}

struct recorded_writer recorded_mark(const struct recorded_writer *w)
{
    return *w;
}

void recorded_back(struct recorded_writer *w, const struct recorded_writer *mark)
{
    int error = w->error;
    *w = *mark;
    w->error = error;
    if (!w->error && fseeko(w->file, (off_t)w->header.bytes, SEEK_SET))
        w->error = errno;
}

int recorded_finish(struct recorded_writer *w, int keep)
{
    char part[sizeof w->path + 32];
    part_path(w, part, sizeof part);
    if (keep && !w->error &&
        (fflush(w->file) || ftruncate(fileno(w->file), (off_t)w->header.bytes) || fseeko(w->file, 0, SEEK_SET)))
        w->error = errno;
    if (keep)
        write_all(w, &w->header, sizeof w->header);
    if (fclose(w->file) && !w->error)
        w->error = errno;
    w->file = NULL;
    if (keep && !w->error && rename(part, w->path))
        w->error = errno;
    if (keep && !w->error)
        return 0;
    remove(part);
    errno = w->error;
    return w->error ? -1 : 0;
}
