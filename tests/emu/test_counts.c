/* What the emulator says it has executed: PTX instructions times the lanes that executed them, whatever the operations
   that it makes of them; memory that does not grow with the grid; how often a warp polls a barrier. */
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

/* ---- polls ------------------------------------------------------------------------------------------------------- */

/* Both kernels: the first thread makes a barrier of one arrival, and zeros; from lane 32 on they wait. */
#define POLL_BEGIN(name)                                                                                               \
    ".visible .entry " name "(.param .u64 p)\n"                                                                        \
    "{\n"                                                                                                              \
    "  .reg .pred %p<4>;\n"                                                                                            \
    "  .reg .b32 %r<8>;\n"                                                                                             \
    "  .reg .b64 %rd<2>;\n"                                                                                            \
    "  .shared .align 8 .b64 bar;\n"                                                                                   \
    "  .shared .align 4 .b32 word;\n"                                                                                  \
    "  .shared .align 4 .b32 reply;\n"                                                                                 \
    "  ld.param.u64 %rd1, [p];\n"                                                                                      \
    "  mov.u32 %r1, %tid.x;\n"                                                                                         \
    "  mov.u32 %r2, bar;\n"                                                                                            \
    "  mov.u32 %r3, 0;\n"                                                                                              \
    "  setp.ne.u32 %p1, %r1, 0;\n"                                                                                     \
    "  @%p1 bra READY;\n"                                                                                              \
    "  mbarrier.init.shared::cta.b64 [%r2], 1;\n"                                                                      \
    "  st.shared.u32 [word], %r3;\n"                                                                                   \
    "  st.shared.u32 [reply], %r3;\n"                                                                                  \
    "READY:\n"                                                                                                         \
    "  bar.sync 0;\n"                                                                                                  \
    "  setp.ge.u32 %p2, %r1, 32;\n"                                                                                    \
    "  @%p2 bra WAIT;\n"

static const char polls[] = ".version 8.0\n"
                            ".target sm_90a\n"
                            ".address_size 64\n"
    /* One warp writes for a long time before it arrives; the other counts how often it was told that it must wait. */
    POLL_BEGIN("counted") "WRITE:\n"
                          "  st.shared.u32 [word], %r3;\n"
                          "  add.u32 %r3, %r3, 1;\n"
                          "  setp.lt.u32 %p2, %r3, 20000;\n"
                          "  @%p2 bra WRITE;\n"
                          "  @%p1 bra END;\n"
                          "  mbarrier.arrive.shared::cta.b64 _, [%r2];\n"
                          "  bra END;\n"
                          "WAIT:\n"
                          "  add.u32 %r3, %r3, 1;\n"
                          "  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r2], 0;\n"
                          "  @!%p3 bra WAIT;\n"
                          "  st.global.u32 [%rd1], %r3;\n"
                          "END:\n"
                          "  ret;\n"
                          "}\n"
    /* One waits for the barrier or a word, whichever comes: only the word does, and an answer is waited for. */
    POLL_BEGIN("either") "  mov.u32 %r3, 1;\n"
                         "  st.volatile.shared.u32 [word], %r3;\n"
                         "ANSWER:\n"
                         "  ld.volatile.shared.u32 %r4, [reply];\n"
                         "  setp.eq.u32 %p2, %r4, 0;\n"
                         "  @%p2 bra ANSWER;\n"
                         "  st.global.u32 [%rd1], %r4;\n"
                         "  bra END;\n"
                         "WAIT:\n"
                         "  mbarrier.test_wait.parity.shared::cta.b64 %p3, [%r2], 0;\n"
                         "  @%p3 bra DONE;\n"
                         "  ld.volatile.shared.u32 %r4, [word];\n"
                         "  setp.eq.u32 %p2, %r4, 0;\n"
                         "  @%p2 bra WAIT;\n"
                         "DONE:\n"
                         "  mov.u32 %r4, 7;\n"
                         "  st.volatile.shared.u32 [reply], %r4;\n"
                         "END:\n"
                         "  ret;\n"
                         "}\n";

/* What the kernel leaves in its word. */
static uint32_t left_by(const char *entry)
{
    struct lab lab;
    uint32_t word = 0;
    lab_open(&lab, "sm_90a");
    uint64_t p = lab_alloc(&lab, &word, sizeof word);
    struct tw_kernel *kernel = lab_load_ptx(&lab, polls, entry);
    lab_launch(&lab, kernel, 1, 64, 0, 1, &p, sizeof p);
    lab_read(&lab, &word, p, sizeof word);
    tw_device_unload(lab.device, kernel);
    lab_close(&lab);
    return word;
}

/* Who waits for a barrier does not run whenever anything is written anywhere, which is 150 times here. */
static void polls_of_a_barrier(void **state)
{
    (void)state;
    uint32_t count = left_by("counted");
    assert_true(count > 1);
    assert_true(count < 25);
}

static void polls_of_two_things(void **state)
{
    (void)state;
    assert_int_equal(left_by("either"), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(instructions), cmocka_unit_test(resident_memory),
                                       cmocka_unit_test(polls_of_a_barrier), cmocka_unit_test(polls_of_two_things)};
    return cmocka_run_group_tests_name("emu counts", tests, NULL, NULL);
}
