/* tile_copy_192 of specs/tile_copy.lua, as `build` leaves it, on the mock driver: 96 slices of a tensor with a map
 * each, at a stride or anywhere, and what of them is refused. TAP on stdout. tests/emu/copies.sh compiles it. */
#include <stdio.h>
#include <string.h>

#include "tile_copy_192.h"
#include "mock_driver.h"
#include "use.h"

enum { SLICES = 96, MAP_WORDS = 16 };

static const struct tile_copy_192_driver table = {
    mock_version,         mock_context_device, mock_device_attribute,    mock_module_load, mock_module_unload,
    mock_module_function, mock_function_set,   mock_max_active_clusters, mock_launch,      mock_encode_tiled,
};
static struct tile_copy_192 kernel, slow;
static const void *from[SLICES];
static void *to[SLICES];

static void *address(uint64_t at)
{
    return (void *)(uintptr_t)at;
}

/* Slices of 70 rows of 72 elements; `anywhere` has them last to first, further apart. */
static struct tile_copy_192_args slabs(int anywhere)
{
    struct tile_copy_192_args a;
    int i;
    memset(&a, 0, sizeof a);
    a.X = address(0x7f0000000000), a.Y = address(0x7f1000000000);
    a.H = 70, a.W = 72;
    for (i = 0; i < SLICES; i++) {
        from[i] = address(0x7f2000000000 - 0x100000 * (uint64_t)i);
        to[i] = address(0x7f3000000000 - 0x200000 * (uint64_t)i);
    }
    if (anywhere) {
        a.X = a.Y = NULL;
        a.X_slices = from, a.Y_slices = to;
    }
    return a;
}

static int same(const struct tile_copy_192_args *a, struct tile_copy_192_params *p)
{
    struct tile_copy_192_params q;
    return tile_copy_192_params(&kernel, a, p, NULL) == 0 && tile_copy_192_params(&slow, a, &q, NULL) == 0 &&
           p->variant == q.variant && memcmp(p->word, q.word, sizeof q.word) == 0;
}

static int refused(const struct tile_copy_192_args *a, const char *text)
{
    struct tile_copy_192_params p;
    struct tile_copy_192_error error, other;
    error.text[0] = other.text[0] = 0;
    if (tile_copy_192_params(&kernel, a, &p, &error) != tile_copy_192_INVALID ||
        tile_copy_192_params(&slow, a, &p, &other) != tile_copy_192_INVALID)
        return 0;
    if (strcmp(error.text, text) != 0)
        printf("# %s\n", error.text);
    return strcmp(error.text, text) == 0 && strcmp(other.text, text) == 0;
}

static const char *at_a_stride(void)
{
    struct tile_copy_192_args a = slabs(0);
    struct tile_copy_192_params p;
    int i;
    EXPECT(tile_copy_192_load(&kernel, &table, NULL) == 0 && kernel.state.static_images == 1);
    slow = kernel;
    slow.state.static_images = 0;
    EXPECT(same(&a, &p) && p.variant == 0 && p.grid[0] == SLICES * 2 * 2);
    for (i = 0; i < 2 * SLICES; i++) {
        const uint64_t *map = p.word + MAP_WORDS * i, base = i < SLICES ? 0x7f0000000000 : 0x7f1000000000;
        EXPECT(map[0] == base + (uint64_t)(i % SLICES) * 70 * 72 * 2);
        EXPECT(map[4] == (69ull << 32 | 71) && map[1] >> 32 == 9); /* rows of 144 bytes, in units of 16 */
    }
    a.X_stride[0] = 8000, a.X_stride[1] = 80;
    EXPECT(same(&a, &p) && p.word[MAP_WORDS * 95] == 0x7f0000000000 + 95 * 16000 && p.word[1] >> 32 == 10);
    a.X_stride[0] = 8004; /* no slice but the first begins at a multiple of 16 bytes: threads copy */
    EXPECT(same(&a, &p) && p.variant == 1);
    a = slabs(0);
    a.H = 0, a.X = NULL;
    EXPECT(same(&a, &p) && p.grid[0] == 0);
    return NULL;
}

static const char *anywhere(void)
{
    struct tile_copy_192_args a = slabs(1), b = slabs(0);
    struct tile_copy_192_params p, q;
    int i, w;
    EXPECT(same(&a, &p) && p.variant == 0 && same(&b, &q));
    for (i = 0; i < SLICES; i++) {
        EXPECT(p.word[MAP_WORDS * i] == (uint64_t)(uintptr_t)from[i]);
        EXPECT(p.word[MAP_WORDS * (SLICES + i)] == (uint64_t)(uintptr_t)to[i]);
    }
    for (w = 0; w < 2 * SLICES * MAP_WORDS; w++)
        EXPECT(w % MAP_WORDS == 0 || p.word[w] == q.word[w]);
    a.X_stride[0] = -3, a.X = address(1); /* not looked at */
    EXPECT(same(&a, &q) && memcmp(p.word, q.word, sizeof p.word) == 0);
    a.Y_slices = NULL, a.Y = address(0x7f1000000000); /* one alone */
    EXPECT(same(&a, &p) && p.word[MAP_WORDS * 5] == 0x7f1fffb00000 &&
           p.word[MAP_WORDS * 97] == 0x7f1000000000 + 70 * 72 * 2);
    a = slabs(1);
    a.H = 0, from[3] = NULL; /* nothing is read */
    EXPECT(same(&a, &p) && p.grid[0] == 0);
    return NULL;
}

static const char *refuses(void)
{
    struct tile_copy_192_args a = slabs(1);
    from[7] = NULL;
    EXPECT(refused(&a, "X_slices[7] is NULL; pass the slice's device address"));
    a = slabs(1);
    to[95] = address(0x7f3000000008);
    EXPECT(refused(&a, "Y_slices[95] is 0x7f3000000008, no multiple of 16 bytes; move the slice's start, to "
                       "0x7f3000000000 for example [TMA-ADDR16]"));
    a = slabs(1);
    from[0] = address(1ull << 57);
    EXPECT(refused(&a, "X_slices[0] is 0x200000000000000, at or past 2^57, so no device address [TMA-ADDR57]"));
    a = slabs(1);
    a.W = 35; /* rows of 70 bytes, which threads copy, at a stride */
    EXPECT(refused(&a,
                   "X_slices: slices that lie anywhere take a tensor map each, and no variant for this GPU that has "
                   "them takes the arguments: it asks for addresses, strides and rows of whole 16 bytes"));
    a = slabs(0);
    a.X = NULL;
    EXPECT(refused(&a, "X is NULL; pass the tensor's device address"));
    EXPECT(tile_copy_192_unload(&kernel, NULL) == 0 && mock.modules == 0);
    return NULL;
}

static const char *old_driver(void)
{
    struct tile_copy_192_error error;
    mock.driver_version = 12000;
    EXPECT(tile_copy_192_load(&kernel, &table, &error) == tile_copy_192_OLD_DRIVER && mock.modules == 0);
    EXPECT(strcmp(error.text, "tile_copy_192 has 24640 bytes of parameters, and drivers before that of CUDA 12.1 take "
                              "4096") == 0);
    mock.driver_version = 12010;
    EXPECT(tile_copy_192_load(&kernel, &table, &error) == 0 && tile_copy_192_unload(&kernel, NULL) == 0);
    return NULL;
}

int main(void)
{
    static const struct use_case cases[] = {
        {"at a stride", at_a_stride}, {"anywhere", anywhere}, {"refuses", refuses}, {"old driver", old_driver}};
    int i, failed = 0;
    mock_reset();
    for (i = 0; i < 4; i++) {
        const char *fault = cases[i].run();
        printf(fault ? "not ok - %s: %s\n" : "ok - %s\n", cases[i].name, fault);
        failed |= fault != NULL;
    }
    return failed;
}
