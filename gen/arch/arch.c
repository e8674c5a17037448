/* The table of architectures and what follows from their numbers. */
#include "arch/arch.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

const struct arch *const arch_all[] = {&arch_sm_80, &arch_sm_86, &arch_sm_89, &arch_sm_90a,
                                       &arch_sm_100a, &arch_sm_120a, NULL};

const struct arch *arch_find(const char *name)
{
    for (int i = 0; name && arch_all[i]; i++)
        if (strcmp(arch_all[i]->name, name) == 0)
            return arch_all[i];
    return NULL;
}

const struct arch *arch_with(const struct arch *arch, const char *instruction)
{
    return arch->plain && instruction && strcmp(instruction, "mma.sync") == 0 ? arch->plain : arch;
}

int arch_resident_blocks(const struct arch *arch, int threads, int registers, int shared_bytes)
{
    return (int)tw_resident_blocks(tw_architecture_find(arch->name), (uint32_t)threads, (uint32_t)registers,
                                   (uint32_t)shared_bytes);
}

const struct arch_mma *arch_dot(const struct arch *arch, enum tw_dtype dtype)
{
    for (const struct arch_mma *row = arch->mma; row && row->kind; row++)
        if (row->input == dtype && (row->accumulator == TW_FP32 || row->accumulator == TW_INT32))
            return row;
    return NULL;
}

bool arch_multiplies(const struct arch *arch, enum tw_dtype a, enum tw_dtype b)
{
    const struct arch_mma *rows[2] = {arch_dot(arch, a), arch_dot(arch, b)};
    if (!rows[0] || !rows[1])
        return false;
    return a == b || (tw_dtype_bytes(a) == 1 && tw_dtype_bytes(b) == 1 && rows[0]->accumulator == rows[1]->accumulator);
}

const char *arch_multiplied(const struct arch *arch, const char *last, char *text, size_t room)
{
    size_t used = 0;
    int left = 0;
    *text = 0;
    for (int dtype = 0; dtype < TW_DTYPE_COUNT; dtype++)
        left += arch_dot(arch, (enum tw_dtype)dtype) != NULL;
    for (int dtype = 0; dtype < TW_DTYPE_COUNT && used < room; dtype++)
        if (arch_dot(arch, (enum tw_dtype)dtype))
            used += (size_t)snprintf(text + used, room - used, "%s%s", tw_dtype_name((enum tw_dtype)dtype),
                                     --left > 1  ? ", "
                                     : left == 1 ? last
                                                 : "");
    return text;
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
