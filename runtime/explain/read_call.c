#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "explain.h"

// Copies bytes (at most PIPE_BUF) that may not be mapped: the kernel reads them, and answers EFAULT where a load would
// end the program. Returns 0, or -1 where they cannot be read. process_vm_readv is forbidden in some sandboxes and does
// not read a device's mappings, such as memory of cudaHostAlloc; a pipe reads what a load reads.
static int copy(void *to, const void *from, size_t bytes)
{
    struct iovec here = {to, bytes}, there = {(void *)(uintptr_t)from, bytes};
    if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)bytes)
        return 0;
    int ends[2], status = -1;
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
        return -1;
    if (write(ends[1], from, bytes) == (ssize_t)bytes && read(ends[0], to, bytes) == (ssize_t)bytes)
        status = 0;
    close(ends[0]);
    close(ends[1]);
    return status;
}

// A list of the driver's arguments; its entries are as wide as those of the call.
static void read_list(struct explain_call *c, enum tmap_arg arg, const void *list)
{
    const struct tmap_arg_info *info = &tmap_args[arg];
    size_t bytes = tmap_entries(&c->call, arg) * info->size;
    char entries[sizeof c->call];
    c->lists[arg] = (uintptr_t)list;
    if (bytes == 0)
        return;
    if (!list || copy(entries, list, bytes))
        c->missing |= 1u << arg;
    else
        memcpy((char *)&c->call + info->offset, entries, bytes);
}

static void read_tiled(struct explain_call *c, const struct cupti_tiled *p)
{
    read_list(c, TMAP_BOX, p->box);
}

static void read_im2col(struct explain_call *c, const struct cupti_im2col *p)
{
    read_list(c, TMAP_LOWER, p->lower);
    read_list(c, TMAP_UPPER, p->upper);
    c->call.channels = p->channels;
    c->call.pixels = p->pixels;
}

static void read_im2col_wide(struct explain_call *c, const struct cupti_im2col_wide *p)
{
    c->call.lower[0] = p->lower;
    c->call.upper[0] = p->upper;
    c->call.mode = (uint32_t)p->mode;
    c->call.channels = p->channels;
    c->call.pixels = p->pixels;
}

const char *explain_read(uint32_t cbid, const void *parameters, struct explain_call *c)
{
    memset(c, 0, sizeof *c);
// What all three have, under the same names.
#define COMMON(FUNC, p)                                                                                                \
    c->map = (uintptr_t)(p)->map;                                                                                      \
    c->call.func = TW_TENSORMAP_##FUNC;                                                                                \
    c->call.dtype = (uint32_t)(p)->dtype;                                                                              \
    c->call.rank = (p)->rank;                                                                                          \
    c->call.addr = (uintptr_t)(p)->address;                                                                            \
    c->call.interleave = (uint32_t)(p)->interleave;                                                                    \
    c->call.swizzle = (uint32_t)(p)->swizzle;                                                                          \
    c->call.l2 = (uint32_t)(p)->l2;                                                                                    \
    c->call.oob = (uint32_t)(p)->oob;                                                                                  \
    read_list(c, TMAP_DIM, (p)->dim);                                                                                  \
    read_list(c, TMAP_STRIDE, (p)->stride);                                                                            \
    read_list(c, TMAP_ESTRIDE, (p)->estride);
#define WATCHED(FUNC, name, id, type, read)                                                                            \
    case id: {                                                                                                         \
        const type *p = parameters;                                                                                    \
        COMMON(FUNC, p)                                                                                                \
        read(c, p);                                                                                                    \
        return name;                                                                                                   \
    }
    switch (cbid) {
#include "watched.def"
    }
    return NULL;
}
