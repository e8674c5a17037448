/* The container, as far as what is documented by public projects (ZLUDA, cuda_ioctl_sniffer) and by nvcc 11.0 to 13.0's
   output goes. All numbers are little-endian.

       header   0 magic 0xBA55ED50   4 version 1   6 bytes of the header   8 bytes of all entries (64 bits)
       entry    0 kind: 1 PTX, 2 cubin   4 bytes of its header   8 bytes of its payload (64 bits)
               16 bytes of it that are compressed   28 architecture: 90   40 flags (64 bits)
               56 bytes when unpacked (64 bits)
*/
#include "fatbin.h"

#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "architecture.h"

enum {
    HEADER = 16,
    ENTRY = 64,
    KIND_PTX = 1,
    FLAG_LZ4 = 0x2000,  /* nvcc before 12.8 */
    FLAG_ZSTD = 0x8000, /* from 12.8 on */
    MOST = 1 << 28,     /* bytes of PTX */
    /* A payload of so many bytes unpacks to so many times as many at most, and some more for nothing. PTX packs to a
       tenth; LZ4 knows no more than 255. A short file must not ask for much memory. */
    MOST_TIMES = 256,
    MOST_FOR_NOTHING = 1 << 16
};

static uint64_t number(const unsigned char *at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

int cu_image_begins(const void *image, uint32_t magic)
{
    const unsigned char *at = image;
    int same = 0;
    while (same < 4 && at[same] == (unsigned char)(magic >> (8 * same)))
        same++;
    return same == 4;
}

size_t cu_fatbin_bytes(const void *image)
{
    const unsigned char *at = image;
    if (!cu_image_begins(image, FATBIN_MAGIC))
        return 0;
    return (size_t)(number(at + 6, 2) + number(at + 8, 8));
}

struct entry {
    unsigned kind;
    uint64_t flags, unpacked;
    const unsigned char *payload;
    size_t bytes; /* of the payload, compressed or not */
};

/* The entry at *offset, which goes to the next one. 1: there is no more; -1: it is damaged. */
static int next(const unsigned char *fatbin, size_t bytes, size_t *offset, struct entry *entry)
{
    const unsigned char *at = fatbin + *offset;
    size_t left = bytes - *offset;
    if (left < ENTRY)
        return 1;
    uint64_t header = number(at + 4, 4), payload = number(at + 8, 8), packed = number(at + 16, 4);
    if (header < ENTRY || header > left || payload > left - header)
        return -1;
    entry->kind = (unsigned)number(at, 2);
    entry->flags = number(at + 40, 8);
    entry->unpacked = number(at + 56, 8);
    entry->payload = at + header;
    entry->bytes = (size_t)(packed && packed <= payload ? packed : payload);
    *offset += (size_t)(header + payload);
    return 0;
}

static int is_packed(const struct entry *entry)
{
    return (entry->flags & (FLAG_LZ4 | FLAG_ZSTD)) != 0;
}

/* It says that it unpacks to more than it can. */
static int unlikely(const struct entry *entry)
{
    return is_packed(entry) &&
           (entry->unpacked > MOST || entry->unpacked > MOST_FOR_NOTHING + (uint64_t)MOST_TIMES * entry->bytes);
}

/* A zero goes behind the text. NULL: damaged, or no memory. */
static char *unpack(const struct entry *entry, size_t *count)
{
    int packed = is_packed(entry);
    uint64_t room = packed ? entry->unpacked : entry->bytes;
    char *text = room <= MOST && !unlikely(entry) ? malloc((size_t)room + 1) : NULL;
    if (!text)
        return NULL;
    *count = (size_t)room;
    if (!packed) {
        memcpy(text, entry->payload, *count);
    } else if (entry->flags & FLAG_ZSTD) {
        *count = ZSTD_decompress(text, (size_t)room, entry->payload, entry->bytes);
        if (ZSTD_isError(*count))
            *count = 0;
    } else {
        int got = LZ4_decompress_safe((const char *)entry->payload, text, (int)entry->bytes, (int)room);
        *count = got > 0 ? (size_t)got : 0;
    }
    while (*count && !text[*count - 1])
        --*count;
    text[*count] = '\0';
    if (*count)
        return text;
    free(text);
    return NULL;
}

/* How well PTX for .target fits: 0 not at all, the more the later. */
static int fit(const char *ptx, const char *arch, char target[32])
{
    struct tw_architecture_name wanted, own;
    const char *at = strstr(ptx, ".target");
    *target = '\0';
    if (!at || sscanf(at, ".target %31[a-z0-9_]", target) != 1)
        return 0;
    if (strcmp(target, arch) == 0)
        return INT32_MAX;
    if (tw_architecture_parse(target, &wanted) || tw_architecture_parse(arch, &own))
        return 0;
    return !wanted.suffix && wanted.number <= own.number ? wanted.number : 0;
}

char *cu_fatbin_ptx(const void *fatbin, size_t bytes, const char *arch, size_t *count, char why[FATBIN_WHY])
{
    const unsigned char *from = fatbin;
    size_t offset = bytes >= HEADER ? (size_t)number(from + 6, 2) : 0;
    struct entry entry = {0};
    char *best = NULL, other[32] = "";
    int best_fit = 0, status = bytes < HEADER || offset < HEADER || offset > bytes ? -1 : 0;
    while (!status && !(status = next(from, bytes, &offset, &entry))) {
        char target[32];
        size_t length = 0;
        if (entry.kind != KIND_PTX)
            continue;
        char *text = unpack(&entry, &length);
        int fits = text ? fit(text, arch, target) : 0;
        if (!text) {
            status = -1;
            break;
        }
        if (!fits)
            snprintf(other, sizeof other, "%s", target);
        if (fits <= best_fit) {
            free(text);
            continue;
        }
        free(best);
        best = text;
        best_fit = fits;
        *count = length;
    }
    if (best)
        return best;
    if (status < 0 && entry.kind == KIND_PTX && unlikely(&entry))
        snprintf(
            why, FATBIN_WHY,
            "the fat binary is damaged: %zu bytes of packed PTX are said to unpack to %llu, more than %d times as many",
            entry.bytes, (unsigned long long)entry.unpacked, MOST_TIMES);
    else if (status < 0)
        snprintf(why, FATBIN_WHY, "the fat binary is damaged");
    else if (*other)
        snprintf(why, FATBIN_WHY, "its PTX is for %s, which does not run on %s", other, arch);
    else
        snprintf(why, FATBIN_WHY,
                 "it holds machine code and no PTX, which is what the emulator executes; compile with nvcc -gencode "
                 "arch=compute_%s,code=compute_%s",
                 arch + 3, arch + 3);
    return NULL;
}
