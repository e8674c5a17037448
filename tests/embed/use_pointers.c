/* slices_plain of tests/emu/pointers.lua, as `build` leaves it, on the mock driver: what of arrays of addresses can
 * be checked on the host is, and what the kernel finds in its parameter. TAP on stdout. tests/emu/pointers.sh compiles
 * it. */
#include <stdio.h>
#include <string.h>

#include "slices_plain.h"
#include "mock_driver.h"
#include "use.h"

static const struct slices_plain_driver table = {
    mock_version,         mock_context_device, mock_device_attribute,    mock_module_load, mock_module_unload,
    mock_module_function, mock_function_set,   mock_max_active_clusters, mock_launch,      mock_encode_tiled,
};
static struct slices_plain kernel, slow;

static struct slices_plain_args batch(void)
{
    struct slices_plain_args a;
    memset(&a, 0, sizeof a);
    a.A = (const void *const *)(uintptr_t)0x7f0000001008; /* an array may begin at any multiple of 8 */
    a.W = (const void *const *)(uintptr_t)0x7f0000002000;
    a.D = (void *const *)(uintptr_t)0x7f0000003010;
    a.B = 3, a.M = 40, a.N = 48, a.K = 72;
    return a;
}

/* Whether the arguments are refused with that text, by either way to maps. */
static int refused(const struct slices_plain_args *a, const char *text)
{
    struct slices_plain_params p;
    struct slices_plain_error error, other;
    error.text[0] = other.text[0] = 0;
    if (slices_plain_params(&kernel, a, &p, &error) != slices_plain_INVALID ||
        slices_plain_params(&slow, a, &p, &other) != slices_plain_INVALID)
        return 0;
    if (strcmp(error.text, text) != 0)
        printf("# %s\n", error.text);
    return strcmp(error.text, text) == 0 && strcmp(other.text, text) == 0;
}

static const char *takes(void)
{
    struct slices_plain_args a = batch();
    struct slices_plain_params p, q;
    EXPECT(slices_plain_load(&kernel, &table, NULL) == 0 && kernel.state.static_images == 1);
    slow = kernel;
    slow.state.static_images = 0;
    EXPECT(slices_plain_params(&kernel, &a, &p, NULL) == 0 && p.variant == 0 && p.grid[0] > 0);
    EXPECT(slices_plain_params(&slow, &a, &q, NULL) == 0 && memcmp(p.word, q.word, sizeof p.word) == 0);
    EXPECT(p.word[0] == 16 && p.word[16] == 16 && p.word[32] == 16); /* where maps begin, and behind them the arrays */
    EXPECT(p.word[48] == 0x7f0000001008 && p.word[49] == 0x7f0000002000 && p.word[50] == 0x7f0000003010);
    /* K, M, units of 16 bytes and 2^35 bytes; strides of 144, 16 and 2^35 bytes, in units of 16 */
    EXPECT(p.word[4] == (39ull << 32 | 71) && p.word[5] == (((1ull << 22) - 1) << 32 | 0x7fffffff));
    EXPECT(p.word[1] >> 32 == 9 && p.word[2] == (1ull << 31 << 32 | 1) && (p.word[3] >> 32 & 0xffff) == 0);
    a.A_stride[0] = -1; /* of addresses: not looked at */
    EXPECT(slices_plain_params(&kernel, &a, &q, NULL) == 0 && memcmp(p.word, q.word, sizeof p.word) == 0);
    a.A_stride[1] = 80;
    EXPECT(slices_plain_params(&kernel, &a, &q, NULL) == 0 && q.word[1] >> 32 == 10 && q.word[17] >> 32 == 9);
    a.B = 0, a.A = NULL; /* nothing is read */
    EXPECT(slices_plain_params(&kernel, &a, &q, NULL) == 0 && q.grid[0] == 0);
    return NULL;
}

static const char *aligned(void)
{
    struct slices_plain_args a = batch();
    struct slices_plain_params p;
    a.D_align = 2; /* its results' addresses are not those of tensor stores */
    EXPECT(slices_plain_params(&kernel, &a, &p, NULL) == 0 && p.variant == 1);
    a.D_align = 24; /* multiples of 8 and no more */
    EXPECT(slices_plain_params(&kernel, &a, &p, NULL) == 0 && p.variant == 1);
    a.D_align = 32;
    EXPECT(slices_plain_params(&kernel, &a, &p, NULL) == 0 && p.variant == 0);
    a.D_align = 1;
    EXPECT(refused(&a, "D_align is 1, no multiple of 2 bytes, which the addresses of its slices must be multiples of"));
    a = batch();
    a.A_align = 8; /* no variant's copies take it */
    EXPECT(refused(&a, "A_align is 8, no multiple of 16 bytes, which the addresses of its slices must be multiples "
                       "of"));
    return NULL;
}

static const char *refuses(void)
{
    struct slices_plain_args a = batch();
    struct slices_plain_params p;
    a.W = NULL;
    EXPECT(refused(&a, "W is NULL; pass the device address of an array of the slices' addresses"));
    a = batch();
    a.D = NULL;
    EXPECT(slices_plain_launch(&kernel, &a, NULL, NULL) == slices_plain_INVALID);
    a = batch();
    a.A = (const void *const *)(uintptr_t)0x7f0000001004;
    EXPECT(refused(&a, "A is 0x7f0000001004, no multiple of 8 bytes, and so no array of addresses; pass that of the "
                       "slices' addresses on the device"));
    a.A = (const void *const *)(uintptr_t)(1ull << 57);
    EXPECT(refused(&a, "A is 0x200000000000000, at or past 2^57, so no device address [TMA-ADDR57]"));
    a = batch();
    a.A_stride[1] = 76;
    EXPECT(refused(&a, "the stride of dimension 1 of A is 76 elements of bf16, 152 bytes, no multiple of 16; pad it to "
                       "80 elements and pass that as A_stride[1] [TMA-STR16]"));
    a = batch();
    a.D_stride[1] = 40; /* rows that overlap */
    EXPECT(slices_plain_params(&kernel, &a, &p, NULL) == slices_plain_INVALID);
    EXPECT(slices_plain_unload(&kernel, NULL) == 0 && mock.modules == 0);
    return NULL;
}

int main(void)
{
    static const struct use_case cases[] = {{"takes", takes}, {"aligned", aligned}, {"refuses", refuses}};
    int i, failed = 0;
    mock_reset();
    for (i = 0; i < 3; i++) {
        const char *fault = cases[i].run();
        printf(fault ? "not ok - %s: %s\n" : "ok - %s\n", cases[i].name, fault);
        failed |= fault != NULL;
    }
    return failed;
}
