/* `tilewright emu --replay FILE`: a recorded launch (record/record.h) on the emulator, and what memory holds afterwards
 * beside what the recorder saw. */
#ifndef TW_GEN_CMD_EMU_EMU_REPLAY_H
#define TW_GEN_CMD_EMU_EMU_REPLAY_H

#include "cmd/emu/emu_load.h"
#include "device.h"
#include "dtype.h"
#include "record/record.h"

/* The words of the command that concern a replay, as they were written; NULL: not given. */
struct emu_replay_words {
    const char *blocks, *as, *atol, *rtol;
};

/* Zero-initialised but for rt, tell and path is empty. */
struct emu_replay {
    struct tw_runtime *rt;
    const struct tell *tell;
    const char *path;
    struct recorded record;
    uint64_t *address;             /* of each piece of memory, on the device */
    const unsigned char **written; /* of each piece, with part of the grid: what was written (image.h) */
    unsigned char *params;
    uint32_t *offsets;
    uint64_t first_block, block_count; /* 0: all */
    enum tw_dtype dtype;               /* what bytes that differ are read as; TW_DTYPE_COUNT: they must not differ */
    double atol, rtol;
    /* What was found. */
    uint64_t compared, bytes, elements; /* bytes; of them differ; elements that are too far apart */
};

/* Reads --blocks, --as, --atol and --rtol. -1, or the exit status of a wrong one, which it has told. */
int emu_replay_words(struct emu_replay *replay, const struct emu_replay_words *words);

/* Reads and checks the record, and parses its PTX as the program. All functions from here on tell faults and return an
 * exit status. */
int emu_replay_read(struct emu_replay *replay, struct emu_program *program);
int emu_replay_begin(struct emu_replay *replay, struct emu_program *program); /* the same of replay->record as it is */

/* Allocations at the addresses that they had, where that is possible; before the kernel is loaded. */
int emu_replay_place(struct emu_replay *replay, struct tw_device *device);

/* Variables, and the launch: its kernel is loaded. */
int emu_replay_launch(struct emu_replay *replay, struct tw_device *device, const struct emu_program *program,
                      struct tw_launch *launch);

/* Compares, prints what differs, and a last line where there is no --json: 1 where something differs. */
int emu_replay_compare(struct emu_replay *replay, struct tw_device *device);

void emu_replay_free(struct emu_replay *replay);

#endif
