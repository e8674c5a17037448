#include "architecture.h"

#include <stdio.h>
#include <string.h>

const struct tw_architecture tw_architectures[] = {
#define ARCHITECTURE(name, major, minor, shared_per_sm, shared_limit, registers_per_sm, threads_per_sm, blocks_per_sm, \
                     cluster, multiprocessors, khz, l2)                                                                \
    {#name,          major,         minor,   shared_per_sm,   shared_limit, registers_per_sm,                          \
     threads_per_sm, blocks_per_sm, cluster, multiprocessors, khz,          l2},
#include "architectures.def"
#undef ARCHITECTURE
    {.name = NULL},
};

const struct tw_architecture *tw_architecture_find(const char *name)
{
    for (const struct tw_architecture *a = tw_architectures; a->name; a++)
        if (strcmp(a->name, name) == 0)
            return a;
    return NULL;
}

const char *tw_architecture_names(char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = 0;
    for (const struct tw_architecture *a = tw_architectures; a->name && used < bytes; a++) {
        const char *before = a == tw_architectures ? "" : a[1].name ? ", " : " and ";
        int more = snprintf(text + used, bytes - used, "%s%s", before, a->name);
        used += more > 0 ? (size_t)more : 0;
    }
    return text;
}

static uint32_t round_up(uint32_t value, uint32_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

uint32_t tw_resident_blocks(const struct tw_architecture *architecture, uint32_t threads, uint32_t registers,
                            uint32_t shared_bytes)
{
    uint32_t lanes = round_up(threads, TW_ARCH_WARP); /* registers are given out by warp */
    uint32_t of_block = lanes * round_up(registers, TW_ARCH_REGISTER_UNIT);
    uint32_t blocks = architecture->blocks_per_sm;
    if (lanes)
        blocks = least(blocks, architecture->threads_per_sm / lanes);
    if (of_block)
        blocks = least(blocks, architecture->registers_per_sm / of_block);
    return least(blocks,
                 architecture->shared_per_sm / (round_up(shared_bytes, TW_ARCH_SHARED_UNIT) + TW_ARCH_SHARED_RESERVED));
}
