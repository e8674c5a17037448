/* What the tests of the hazard engine share: a launch of one cluster, accesses, barriers, and the comparison of what
   was reported with what was expected. */
#ifndef HAZARD_CHECK_H
#define HAZARD_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emu/hazard/matrix.h"

#define SHARED(rank, offset) (UINT64_C(0x100000000) + ((uint64_t)(rank) << 24) + (offset))
#define GLOBAL UINT64_C(0x700000000000)
#define ALL UINT32_MAX

static struct tw_runtime rt;
static struct emu_hazard *h;
static struct emu_hazard_cluster *cluster;
static struct emu_hazard_memory *memory;
static uint32_t next_position;

static inline struct emu_hazard_warp *warp_of(uint32_t rank, uint32_t warp)
{
    return emu_hazard_warp(cluster, rank, warp);
}

static inline void begin_with(struct emu_hazard_options options)
{
    struct tw_error error;
    options.memory = memory;
    assert_int_equal(emu_hazard_open(&rt, &options, &h, &error), TW_OK);
    cluster = emu_hazard_cluster_begin(h, 0);
    assert_non_null(cluster);
    next_position = 100;
}

static inline void begin(uint32_t blocks, uint32_t warps)
{
    begin_with((struct emu_hazard_options){.blocks = blocks, .threads = 32 * warps});
}

/* Ends the launch; the reports' names must be exactly these, in any order. NULL ends the list. */
static inline void end_(int line, ...)
{
    unsigned expected[EMU_HAZARD_COUNT] = {0};
    va_list names;
    va_start(names, line);
    for (const char *name; (name = va_arg(names, const char *));) {
        assert_int_not_equal(emu_hazard_find(name), EMU_HAZARD_COUNT);
        expected[emu_hazard_find(name)] = 1;
    }
    va_end(names);
    const struct emu_hazard_report *r;
    for (size_t i = 0; (r = emu_hazard_report_at(h, i)); i++) {
        if (!expected[r->name])
            fail_msg("line %d: unexpected %s: %s (positions %u, %u)", line, emu_hazard_info(r->name)->name, r->text,
                     r->position, r->other);
        expected[r->name] |= 2;
    }
    for (unsigned i = 0; i < EMU_HAZARD_COUNT; i++)
        if (expected[i] == 1)
            fail_msg("line %d: %s was not reported", line, emu_hazard_info((enum emu_hazard_name)i)->name);
    assert_int_equal(emu_hazard_status(h), TW_OK);
    emu_hazard_cluster_end(cluster);
    emu_hazard_close(h);
}
#define END(...) end_(__LINE__, __VA_ARGS__, (const char *)NULL)
#define CLEAN() end_(__LINE__, (const char *)NULL)

/* 4 bytes a lane, next to each other. */
static inline void touch(struct emu_hazard_warp *w, uint32_t lanes, uint64_t address, unsigned access)
{
    uint64_t at[32];
    for (uint32_t i = 0; i < 32; i++)
        at[i] = address + 4 * i;
    emu_hazard_generic(w, lanes, at, 0, 4, access, next_position++);
}

static inline void touch_one(struct emu_hazard_warp *w, unsigned lane, uint64_t address, uint32_t bytes,
                             unsigned access)
{
    uint64_t at[32] = {0};
    at[lane] = address;
    emu_hazard_generic(w, UINT32_C(1) << lane, at, 0, bytes, access, next_position++);
}

static inline void sync_block(uint32_t rank, uint32_t id, uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++)
        emu_hazard_bar_arrive(warp_of(rank, i), ALL, id, 32 * count, 1, 50);
    emu_hazard_bar_complete(cluster, rank, id);
}

static inline void sync_cluster(uint32_t blocks, uint32_t warps)
{
    for (uint32_t r = 0; r < blocks; r++)
        for (uint32_t i = 0; i < warps; i++)
            emu_hazard_cluster_arrive(warp_of(r, i), ALL, 0);
    for (uint32_t r = 0; r < blocks; r++)
        for (uint32_t i = 0; i < warps; i++)
            emu_hazard_cluster_wait(warp_of(r, i), ALL);
}

enum { READ = EMU_ACCESS_READ, WRITE = EMU_ACCESS_WRITE, ATOMIC = EMU_ACCESS_ATOMIC, STRONG = EMU_ACCESS_STRONG };

/* ---- Asynchronous operations ------------------------------------------------------------------------------------- */

static inline void init_barrier(uint64_t b)
{
    emu_hazard_mbarrier_init(warp_of((uint32_t)(b >> 24 & 0xff), 0), 1, b, 1);
    emu_hazard_fence(warp_of((uint32_t)(b >> 24 & 0xff), 0), 1, EMU_FENCE_MBARRIER_INIT);
}

/* An access to a register, told where the executor tells it. */
static inline void touch_register(struct emu_hazard_warp *w, uint32_t reg, int write, uint32_t position)
{
    if (reg < w->register_count && w->registers[reg])
        emu_hazard_register(w, reg, write, position);
}

static inline void one_read(struct emu_hazard_warp *w, emu_hazard_operation o, unsigned lane, uint64_t address,
                            uint32_t bytes)
{
    emu_hazard_reads(w, o, lane, &(struct emu_hazard_range){address, bytes}, 1);
}

static inline void one_write(struct emu_hazard_warp *w, emu_hazard_operation o, unsigned lane, uint64_t address,
                             uint32_t bytes, int reduce)
{
    emu_hazard_writes(w, o, lane, &(struct emu_hazard_range){address, bytes}, 1, reduce);
}

static inline emu_hazard_operation load(struct emu_hazard_warp *w, uint64_t to, uint32_t bytes, uint64_t b)
{
    emu_hazard_operation o = emu_hazard_issue(w, 1, EMU_HAZARD_SIGNAL, next_position++);
    emu_hazard_signals(w, o, b);
    one_read(w, o, 0, GLOBAL, bytes);
    one_write(w, o, 0, to, bytes, 0);
    return o;
}

static inline void copies(struct emu_hazard_warp *w, uint64_t to)
{
    emu_hazard_operation o = emu_hazard_issue(w, ALL, EMU_HAZARD_CP_ASYNC, next_position++);
    for (unsigned l = 0; l < 32; l++) {
        one_read(w, o, l, GLOBAL + 16 * l, 16);
        one_write(w, o, l, to + 16 * l, 16, 0);
    }
}

#endif
