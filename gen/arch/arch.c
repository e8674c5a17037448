/* The table of architectures and what follows from their numbers. */
#include "arch/arch.h"

#include <stddef.h>
#include <string.h>

const struct arch *const arch_all[] = {&arch_sm_80, &arch_sm_90a, NULL};

const struct arch *arch_find(const char *name)
{
    for (int i = 0; name && arch_all[i]; i++)
        if (strcmp(arch_all[i]->name, name) == 0)
            return arch_all[i];
    return NULL;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

int arch_resident_blocks(const struct arch *arch, int threads, int registers, int shared_bytes)
{
    /* Registers are given out by warp, 256 at a time: 8 a thread (CUDA occupancy calculator). */
    int warps = (threads + 31) / 32;
    int registers_of_block = warps * 32 * ((registers + 7) / 8 * 8);
    int shared_of_block = (shared_bytes + 127) / 128 * 128 + arch->shared_reserved;
    int blocks = arch->max_blocks_per_sm;
    if (warps > 0)
        blocks = least(blocks, arch->max_threads_per_sm / (warps * 32));
    if (registers_of_block > 0)
        blocks = least(blocks, arch->registers_per_sm / registers_of_block);
    if (shared_of_block > 0)
        blocks = least(blocks, arch->shared_per_sm / shared_of_block);
    return blocks;
}

const struct arch_mma *arch_find_mma(const struct arch *arch, const char *kind, enum tw_dtype input,
                                     enum tw_dtype accumulator, int m, int n, int k)
{
    for (const struct arch_mma *row = arch->mma; row && row->kind; row++)
        if (strcmp(row->kind, kind) == 0 && row->input == input && row->accumulator == accumulator && row->m == m &&
            row->k == k && n >= row->n_low && n <= row->n_high && (n - row->n_low) % row->n_step == 0)
            return row;
    return NULL;
}
