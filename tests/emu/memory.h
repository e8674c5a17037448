// Memory for the tests of the asynchronous engine: an allocation of global memory and the shared windows of four
// blocks, behind the callbacks of emu/async/bytes.h, bounds checked.
#ifndef TW_TESTS_EMU_MEMORY_H
#define TW_TESTS_EMU_MEMORY_H

#include <stdint.h>
#include <string.h>

#include "emu/async/bytes.h"

enum { TEST_GLOBAL_BYTES = 1 << 20, TEST_SHARED_BYTES = 1 << 17, TEST_BLOCKS = 4 };
#define TEST_GLOBAL UINT64_C(0x700000000000)
#define TEST_SHARED UINT64_C(0x100000000)

struct test_memory {
    uint8_t global[TEST_GLOBAL_BYTES];
    uint8_t shared[TEST_BLOCKS][TEST_SHARED_BYTES];
    struct emu_bytes bytes;
    uint64_t reads, writes; // calls
};

static inline uint8_t *test_at(struct test_memory *m, uint64_t address, size_t bytes)
{
    uint64_t in = address - TEST_GLOBAL, rank = (address - TEST_SHARED) >> 24, offset = address & 0xffffff;
    if (address >= TEST_GLOBAL)
        return in <= TEST_GLOBAL_BYTES && bytes <= TEST_GLOBAL_BYTES - in ? m->global + in : NULL;
    if (rank >= TEST_BLOCKS || offset > TEST_SHARED_BYTES || bytes > TEST_SHARED_BYTES - offset)
        return NULL;
    return m->shared[rank] + offset;
}

static inline int test_read(void *context, uint64_t address, void *to, size_t bytes)
{
    struct test_memory *m = context;
    const uint8_t *at = test_at(m, address, bytes);
    m->reads++;
    if (!at)
        return -1;
    memcpy(to, at, bytes);
    return 0;
}

static inline int test_write(void *context, uint64_t address, const void *from, size_t bytes)
{
    struct test_memory *m = context;
    uint8_t *at = test_at(m, address, bytes);
    m->writes++;
    if (!at)
        return -1;
    memcpy(at, from, bytes);
    return 0;
}

// Global memory gets a pattern without repetition, shared memory poison.
static inline void test_memory_init(struct test_memory *m)
{
    uint32_t value = 1;
    for (size_t i = 0; i < TEST_GLOBAL_BYTES; i++) {
        value = value * 1664525u + 1013904223u;
        m->global[i] = (uint8_t)(value >> 24);
    }
    memset(m->shared, 0xcd, sizeof m->shared);
    m->bytes = (struct emu_bytes){m, test_read, test_write};
    m->reads = m->writes = 0;
}

#endif
