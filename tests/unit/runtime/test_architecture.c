/* The table of architectures, and that plans are checked against the same numbers as the emulator models. */
#include <string.h>

#include "unit/check.h"

#include "arch/arch.h"
#include "architecture.h"

static void rows_are_found(void **state)
{
    (void)state;
    char names[160];
    assert_null(tw_architecture_find("sm_70"));
    for (const struct tw_architecture *a = tw_architectures; a->name; a++) {
        assert_ptr_equal(tw_architecture_find(a->name), a);
        assert_non_null(strstr(tw_architecture_names(names, sizeof names), a->name));
        assert_true(a == tw_architectures || a->major * 10 + a->minor >= a[-1].major * 10 + a[-1].minor);
    }
    assert_string_equal(tw_architecture_names(names, sizeof names),
                        "sm_80, sm_86, sm_89, sm_90, sm_90a, sm_100a and sm_120a");
    assert_string_equal(tw_architecture_names(names, 9), "sm_80, s");
}

/* What a plan may ask for is what the emulator's device has. */
static void plans_and_devices_agree(void **state)
{
    (void)state;
    for (int i = 0; arch_all[i]; i++) {
        const struct arch *arch = arch_all[i];
        const struct tw_architecture *a = tw_architecture_find(arch->name);
        assert_non_null(a);
        assert_int_equal(arch->major * 10 + arch->minor, a->major * 10 + a->minor);
        assert_int_equal(arch->shared_limit, a->shared_limit);
        assert_int_equal(arch->registers_per_sm, a->registers_per_sm);
        /* sm_120a has them, and its lowering takes none. */
        assert_int_equal(arch->clusters, a->cluster > 1 && strcmp(a->name, "sm_120a") != 0);
        assert_true(arch->max_cluster <= (int)a->cluster && arch->max_cluster <= TW_ARCH_PORTABLE_CLUSTER);
    }
}

/* Against cudaOccupancyMaxActiveBlocksPerMultiprocessor's rules (the CUDA occupancy calculator). */
static void blocks_fit(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t threads, registers, shared, blocks;
    } cases[] = {
        {"sm_90a", 128, 0, 0, 16},         /* threads: 2048 / 128 */
        {"sm_90a", 32, 0, 0, 32},          /* blocks */
        {"sm_90a", 384, 168, 0, 1},        /* registers: 65536 / (384 * 168) */
        {"sm_90a", 128, 255, 0, 2},        /* 255 are given out as 256 */
        {"sm_90a", 128, 0, 113 * 1024, 2}, /* shared memory: 114 KiB each with what is reserved */
        {"sm_90a", 128, 0, 113 * 1024 + 1, 1},
        {"sm_90a", 33, 0, 0, 32}, /* as 64 threads */
        {"sm_86", 512, 0, 0, 3},
        {"sm_80", 1024, 128, 0, 0}, /* does not fit */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(tw_resident_blocks(tw_architecture_find(cases[i].name), cases[i].threads, cases[i].registers,
                                            cases[i].shared),
                         cases[i].blocks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_found),
        cmocka_unit_test(plans_and_devices_agree),
        cmocka_unit_test(blocks_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
