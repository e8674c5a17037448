/* What the emulator says it has executed: PTX instructions times the lanes that executed them, whatever the operations
   that it makes of them; and memory that does not grow with the grid. */
#include "execute.h"

static const char ptx[] =
    ".version 8.0\n"
    ".target sm_90a\n"
    ".address_size 64\n"
    ".visible .entry k(.param .u64 p)\n"
    "{\n"
    "  .reg .pred %p<2>;\n"
    "  .reg .b32 %r<4>;\n"
    "  mov.u32 %r1, %tid.x;\n"
    "  add.s32 %r2, %r1, 5;\n"
    "  setp.lt.s32 %p1, %r1, 10;\n"
    "  @%p1 add.s32 %r2, %r2, 1;\n" /* 10 lanes of the first warp */
    "  @%p1 bra L;\n"               /* every lane decides */
    "  add.s32 %r3, %r2, 1;\n"      /* the other 22 */
    "  mul.lo.s32 %r3, %r3, %r1;\n"
    "L:\n"
    "  xor.b32 %r3, %r2, %r1;\n" /* all again */
    "  ret;\n"
    "}\n";

static void instructions(void **state)
{
    struct lab lab;
    struct emu_statistics statistics;
    uint64_t p = 0;
    (void)state;
    lab_open(&lab, "sm_90a");
    struct tw_kernel *kernel = lab_load_ptx(&lab, ptx, "k");
    lab_launch(&lab, kernel, 3, 64, 0, 1, &p, sizeof p);
    emu_device_statistics(lab.device, &statistics);
    assert_int_equal(statistics.warp_instructions, 3 * 2 * 9);
    assert_int_equal(statistics.thread_instructions,
                     3 * (32 * 3 + 10 + 32 + 22 * 2 + 32 * 2) + 3 * (32 * 3 + 32 + 32 * 2 + 32 * 2));
    assert_int_equal(statistics.blocks, 3);
    tw_device_unload(lab.device, kernel);
    lab_close(&lab);
}

static size_t peak(unsigned grid)
{
    struct lab lab;
    struct emu_statistics statistics;
    uint64_t p = 0;
    lab_open(&lab, "sm_90a");
    struct tw_kernel *kernel = lab_load_ptx(&lab, ptx, "k");
    lab_launch(&lab, kernel, grid, 64, 4096, 1, &p, sizeof p);
    emu_device_statistics(lab.device, &statistics);
    assert_int_equal(statistics.blocks, grid);
    tw_device_unload(lab.device, kernel);
    lab_close(&lab);
    return statistics.peak_bytes;
}

static void resident_memory(void **state)
{
    (void)state;
    assert_true(peak(100) > 4096);
    assert_int_equal(peak(100), peak(50000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(instructions), cmocka_unit_test(resident_memory)};
    return cmocka_run_group_tests_name("emu counts", tests, NULL, NULL);
}
