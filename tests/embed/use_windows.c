/* The emitted pair windows_test (host_plans.c), whose map is one of windows, on the mock driver. */
#include <string.h>

#include "mock_driver.h"
#include "use.h"
#include "windows_test.h"

static const struct windows_test_driver table = {
    mock_version,       mock_context_device,  mock_device_attribute, mock_module_load,
    mock_module_unload, mock_module_function, mock_function_set,     mock_max_active_clusters,
    mock_launch,        mock_encode_tiled,    mock_encode_im2col,
};

static struct windows_test_args images(int64_t n, int64_t h, int64_t w)
{
    struct windows_test_args a;
    memset(&a, 0, sizeof a);
    a.X = (const void *)(uintptr_t)0x7f0000001000;
    a.y = (void *)(uintptr_t)0x7f0000200010;
    a.N = n, a.H = h, a.W = w;
    return a;
}

/* One image serves all sizes: what is patched is what the driver writes. */
static const char *patches(void)
{
    static const int64_t size[][3] = {{1, 1, 2}, {2, 5, 7}, {32, 56, 56}, {3, 2, 70001}, {1, 70000, 3}, {100000, 8, 8}};
    struct windows_test k, slow;
    unsigned i, padded;
    mock_reset();
    EXPECT(windows_test_load(&k, &table, NULL) == 0 && k.state.static_images == 1);
    slow = k;
    slow.state.static_images = 0;
    for (i = 0; i < sizeof size / sizeof *size; i++)
        for (padded = 0; padded < 2; padded++) {
            struct windows_test_args a = images(size[i][0], size[i][1], size[i][2]);
            struct windows_test_params p, q;
            a.X_stride[2] = padded ? 72 : 0;
            EXPECT(windows_test_params(&k, &a, &p, NULL) == 0 && windows_test_params(&slow, &a, &q, NULL) == 0);
            EXPECT(memcmp(p.word, q.word, sizeof p.word) == 0);
        }
    windows_test_unload(&k, NULL);
    return NULL;
}

/* A driver that writes a bit as 0 which is set: of the walk, and of what is patched. */
static const char *compares(void)
{
    /* im2col, the step along H; channels; lower corner of H; upper ones of W and H; pixels */
    static const int range[][2] = {{64, 64}, {422, 422}, {440, 445}, {456, 463}, {464, 471}, {472, 479}, {480, 484}};
    struct windows_test k;
    unsigned i;
    int bit;
    for (i = 0; i < sizeof range / sizeof *range; i++)
        for (bit = range[i][0]; bit <= range[i][1]; bit++) {
            mock_reset();
            mock.wrong_bit = bit;
            EXPECT(windows_test_load(&k, &table, NULL) == 0 && k.state.static_images == 0);
            windows_test_unload(&k, NULL);
        }
    for (bit = 0; bit < 32; bit++) { /* W, of which the walk takes 31 bits; images */
        mock_reset();
        mock.wrong_bit = 256 + 32 + bit;
        EXPECT(windows_test_load(&k, &table, NULL) == 0 && k.state.static_images == (bit == 31));
        windows_test_unload(&k, NULL);
        mock_reset();
        mock.wrong_bit = 320 + 32 + bit;
        EXPECT(windows_test_load(&k, &table, NULL) == 0 && k.state.static_images == 0);
        windows_test_unload(&k, NULL);
    }
    return NULL;
}

/* Images into which no window fits. */
static const char *refuses(void)
{
    struct windows_test k, slow;
    struct windows_test_params p;
    struct windows_test_error error;
    struct windows_test_driver old = table;
    struct windows_test_args a;
    mock_reset();
    old.encode_im2col = NULL;
    EXPECT(windows_test_load(&k, &old, &error) == windows_test_OLD_DRIVER &&
           strcmp(error.text, "the CUDA driver has no cuTensorMapEncodeIm2col") == 0);
    EXPECT(windows_test_load(&k, &table, NULL) == 0);
    slow = k;
    slow.state.static_images = 0;
    a = images(2, 0, 7);
    EXPECT(windows_test_params(&k, &a, &p, &error) == windows_test_OK); /* an empty image is as one pixel */
    a = images(1, 4, 2000000000);
    EXPECT(windows_test_params(&k, &a, &p, &error) == windows_test_OK);
    a = images(1, 4, 1);
    EXPECT(windows_test_params(&k, &a, &p, NULL) == windows_test_INVALID);
    EXPECT(windows_test_params(&k, &a, &p, &error) == windows_test_INVALID &&
           strcmp(error.text,
                  "dim 3 of X is 1 pixels; with its padding a window takes 2, and up to 2147483647 can be") == 0);
    EXPECT(windows_test_params(&slow, &a, &p, &error) == windows_test_INVALID);
    windows_test_unload(&k, NULL);
    return NULL;
}

const struct use_case use_cases[] = {{"patches", patches}, {"compares", compares}, {"refuses", refuses}, {NULL, NULL}};
