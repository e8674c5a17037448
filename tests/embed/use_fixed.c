/* The emitted pair fixed_test (host_plans.c), whose tensors have constant strides, on the mock driver. It is compiled
 * with its images as they are, and, with PLANTED, with one wrong bit in one of them. */
#include <string.h>

#include "fixed_test.h"
#include "mock_driver.h"
#include "use.h"

static const struct fixed_test_driver table = {
    mock_version,         mock_context_device, mock_device_attribute,    mock_module_load, mock_module_unload,
    mock_module_function, mock_function_set,   mock_max_active_clusters, mock_launch,      mock_encode_tiled,
};

/* Whether the images are kept only where they give what the driver gives. */
static const char *images_agree(void)
{
    static const int64_t strides[][3] = {{0, 0, 0}, {1032, 0, 0}, {1032, 2112, 264}, {0, 2112, 264}, {1024, 2048, 256}};
    static const int64_t rows[] = {1, 2, 33, 4096};
    struct fixed_test k, slow;
    unsigned i, n;
    mock_reset();
    EXPECT(fixed_test_load(&k, &table, NULL) == 0);
#ifndef PLANTED
    EXPECT(k.state.static_images == 1);
#endif
    slow = k;
    slow.state.static_images = 0;
    for (i = 0; i < sizeof strides / sizeof *strides; i++)
        for (n = 0; n < sizeof rows / sizeof *rows; n++) {
            struct fixed_test_args a;
            struct fixed_test_params p, q;
            memset(&a, 0, sizeof a);
            a.X = (const void *)(uintptr_t)0x7f0000001000;
            a.Y = (void *)(uintptr_t)0x7f0000200010;
            a.M = rows[n];
            a.X_stride[0] = strides[i][0];
            a.Y_stride[0] = strides[i][1];
            a.Y_stride[1] = strides[i][2];
            EXPECT(fixed_test_params(&k, &a, &p, NULL) == 0 && fixed_test_params(&slow, &a, &q, NULL) == 0);
            EXPECT(memcmp(p.word, q.word, sizeof p.word) == 0);
        }
    fixed_test_unload(&k, NULL);
    return NULL;
}

#ifndef PLANTED
/* The driver's table may lie in the struct that is loaded. */
static const char *loads_itself(void)
{
    struct fixed_test k;
    mock_reset();
    memset(&k, 0, sizeof k);
    k.state.driver = table;
    EXPECT(fixed_test_load(&k, &k.state.driver, NULL) == 0 && k.state.static_images == 1);
    EXPECT(fixed_test_unload(&k, NULL) == 0);
    return NULL;
}

static const char *overlaps(void)
{
    struct fixed_test k;
    struct fixed_test_args a;
    struct fixed_test_params p;
    struct fixed_test_error error;
    mock_reset();
    EXPECT(fixed_test_load(&k, &table, NULL) == 0);
    memset(&a, 0, sizeof a);
    a.X = (const void *)(uintptr_t)0x7f0000001000;
    a.Y = (void *)(uintptr_t)0x7f0000200010;
    a.M = 64;
    a.X_stride[0] = 8; /* windows that overlap are read as they are */
    EXPECT(fixed_test_params(&k, &a, &p, &error) == 0);
    a.Y_stride[0] = 248;
    EXPECT(fixed_test_params(&k, &a, &p, &error) == fixed_test_INVALID);
    EXPECT(strcmp(error.text,
                  "Y_stride[0] is 248 elements, and the tensor, which is written, would overlap itself: its "
                  "rows have 256; write 256 or more") == 0);
    a.Y_stride[0] = 256;
    EXPECT(fixed_test_params(&k, &a, &p, &error) == 0);
    a.Y_stride[1] = 248;
    EXPECT(fixed_test_params(&k, &a, &p, &error) == fixed_test_INVALID && strstr(error.text, "Y_stride[1] is 248"));
    fixed_test_unload(&k, NULL);
    return NULL;
}
#endif

const struct use_case use_cases[] = {
    {"images agree", images_agree},
#ifndef PLANTED
    {"loads itself", loads_itself},
    {"overlaps", overlaps},
#endif
    {NULL, NULL},
};
