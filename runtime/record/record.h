/* A recorded launch as a file: what the kernel was given, and what memory held before and after it. Written where the
   launch ran (recorder.h), read by `tilewright emu --replay`.

   All numbers are little-endian. The file is a header and sections, each behind the other at a multiple of 8 bytes:

       header    0 "TWRECORD"   8 version (32 bits)   12 number of sections (32)
                16 bytes of the file (64)   24 checksum of all behind the header (64)
       section   0 kind (32)   4 item (32)   8 bytes of what follows (64)   16 what follows, zeros up to 8 bytes

       kind        item            what follows
       LAUNCH                      struct recorded_launch, its attributes (72 bytes each, CUlaunchAttribute), the
                                   kernel's name with a zero
       PTX                         the text with a zero
       PARAMETERS  how many        8 bytes each: offset and bytes (32 bits each); then the bytes of all
       MAP         offset in them  struct recorded_map: how the tensor map there was encoded
       MEMORY      its number      struct recorded_memory, a variable's name with a zero, zeros up to 8, the bytes
   before AFTER       of which        the bytes after the launch; nothing: they are those before NOTE a sentence with a
   zero: what could not be recorded

   LAUNCH, PTX and PARAMETERS come once each. A file without any AFTER is of a launch that failed. The checksum is of
   the 64-bit words, one by one: sum = (sum ^ word) * 0x9e3779b97f4a7c15, sum ^= sum >> 32, from 0. */
#ifndef RECORD_H
#define RECORD_H

#include <stdio.h>

#include "hooks.h"
#include "tensormap/tensormap.h"

#define RECORDED_MAGIC "TWRECORD"
enum { RECORDED_VERSION = 1, RECORDED_ATTRIBUTE = 72, RECORDED_MAP_BYTES = 128 };

enum recorded_kind {
    RECORDED_LAUNCH = 1,
    RECORDED_PTX,
    RECORDED_PARAMETERS,
    RECORDED_MAP,
    RECORDED_MEMORY,
    RECORDED_AFTER,
    RECORDED_NOTE
};

struct recorded_header {
    char magic[8];
    uint32_t version, sections;
    uint64_t bytes, checksum;
};

struct recorded_section {
    uint32_t kind, item;
    uint64_t bytes;
};

struct recorded_launch {
    uint32_t grid[3], block[3], cluster[3]; /* cluster: all 0 where the launch names none */
    uint32_t shared_bytes, flags;           /* tw_launch_flags */
    uint32_t cc, driver, sms;               /* 90 for 9.0; CUDA version of the driver, 13000; multiprocessors */
    uint32_t attributes, name_bytes;        /* how many; with the zero */
    uint64_t number, of_name;               /* of all launches, and of those whose name was asked for; from 1 */
};

struct recorded_parameter {
    uint32_t offset, bytes;
};

/* struct tw_tensormap_call, field by field, and the map's own bytes. */
struct recorded_map {
    uint32_t func, dtype, rank, mode, channels, pixels, interleave, swizzle, l2, oob;
    uint32_t box[5], estride[5];
    int32_t lower[3], upper[3];
    uint64_t addr, dim[5], stride[4];
    uint64_t map[16];
};
struct recorded_map recorded_map_of(const struct tw_tensormap_call *call, const void *map);
struct tw_tensormap_call recorded_map_call(const struct recorded_map *map);

enum recorded_memory_kind { RECORDED_ALLOCATION, RECORDED_VARIABLE };

struct recorded_memory {
    uint64_t address, bytes;
    uint32_t kind, name_bytes; /* of a variable's name, with the zero; an allocation has none: 0 */
};

uint64_t recorded_checksum(uint64_t sum, const void *words, size_t bytes); /* bytes: a multiple of 8 */

/* ---- Writing ----------------------------------------------------------------------------------------------------- */

/* A file that is being written. What fails is remembered: only recorded_finish tells. */
struct recorded_writer {
    FILE *file;
    char path[4096];
    struct recorded_header header;
    unsigned char pending[8]; /* bytes of the word that has begun */
    unsigned pending_count;
    int error; /* errno of what failed first; 0: nothing did */
};

/* Opens PATH.PROCESS.part, which becomes PATH when it is finished. 0, or -1 with errno. */
int recorded_open(struct recorded_writer *writer, const char *path);
/* A section whose payload is then put, in as many pieces as one likes, and ended. */
void recorded_begin(struct recorded_writer *writer, enum recorded_kind kind, uint32_t item, uint64_t bytes);
void recorded_put(struct recorded_writer *writer, const void *bytes, size_t count);
void recorded_end(struct recorded_writer *writer); /* zeros up to 8 bytes */
/* Where the next section begins, and back to there: what was written since is written over. */
struct recorded_writer recorded_mark(const struct recorded_writer *writer);
void recorded_back(struct recorded_writer *writer, const struct recorded_writer *mark);
/* Completes and renames the file; with `keep` 0 takes it away. 0, or -1 with errno, and no file is left. */
int recorded_finish(struct recorded_writer *writer, int keep);

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

/* Of one MEMORY section; pointers lie in the file's bytes. */
struct recorded_piece {
    struct recorded_memory is;
    const char *name;            /* of a variable; "" */
    const unsigned char *before; /* is.bytes of them */
    const unsigned char *after;  /* the same as before where it did not change; NULL: nobody knows */
};

/* A file that was read. Everything but the arrays lies in the file's bytes. */
struct recorded {
    unsigned char *file;
    size_t bytes;
    struct recorded_launch launch;
    const char *entry, *ptx;
    size_t ptx_bytes; /* without the zero */
    const struct recorded_parameter *parameter;
    uint32_t parameter_count, params_bytes;
    const unsigned char *params;
    struct recorded_piece *piece;
    size_t piece_count;
    const struct recorded_section **map; /* each with its struct recorded_map behind it */
    size_t map_count;
    const char **note;
    size_t note_count;
};

/* Checks a file's bytes, which are the record's from here on, whatever comes of it, and finds its way in them: after
   TW_OK every number of it is within bounds. TW_ERROR_INVALID: it is no such file, damaged or cut off, and error says
   in which way; TW_ERROR_MEMORY. No memory is taken but for lists, which are smaller than the file. */
int recorded_parse(struct tw_runtime *rt, unsigned char *bytes, size_t count, struct recorded *record,
                   struct tw_error *error);
int recorded_read(struct tw_runtime *rt, const char *path, struct recorded *record, struct tw_error *error);
void recorded_free(struct tw_runtime *rt, struct recorded *record);

#endif
