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

int arch_resident_blocks(const struct arch *arch, int threads, int registers, int shared_bytes)
{
    return (int)tw_resident_blocks(tw_architecture_find(arch->name), (uint32_t)threads, (uint32_t)registers,
                                   (uint32_t)shared_bytes);
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
