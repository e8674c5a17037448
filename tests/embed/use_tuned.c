/* The emitted pair tuned_test (test_host_emit.c) on the mock driver: which set-up a launch takes. */
#include <stdio.h>
#include <string.h>

#include "mock_driver.h"
#include "tuned_test.h"
#include "use.h"

static const struct tuned_test_driver table = {
    mock_version,       mock_context_device,  mock_device_attribute, mock_module_load,
    mock_module_unload, mock_module_function, mock_function_set,     mock_max_active_clusters,
    mock_launch,        mock_encode_tiled,    mock_device_name,
};

static const uint64_t a_at = 0x7f0012340000, b_at = 0x7f0056780040, d_at = 0x7f009abc0010, bias_at = 0x7f0011110002;

static struct tuned_test_args arguments(int64_t m, int64_t n, int64_t k)
{
    struct tuned_test_args a;
    memset(&a, 0, sizeof a);
    a.A = (void *)(uintptr_t)a_at;
    a.B = (void *)(uintptr_t)b_at;
    a.D = (void *)(uintptr_t)d_at;
    a.bias = (void *)(uintptr_t)bias_at;
    a.M = m;
    a.N = n;
    a.K = k;
    a.alpha = 0.5f;
    return a;
}

static int load(struct tuned_test *k, const char *gpu)
{
    mock_reset();
    mock.gpu = gpu;
    return tuned_test_load(k, &table, NULL);
}

enum { OWN, UNALIGNED, SETUP_1, SETUP_2, REFUSED = -1 };

static int variant(const struct tuned_test *k, int64_t m, int64_t n, int64_t inner)
{
    const struct tuned_test_args a = arguments(m, n, inner);
    struct tuned_test_params p;
    return tuned_test_params(k, &a, &p, NULL) ? REFUSED : p.variant;
}

/* Each measured size has its own, sustained before burst; between them half-way by ratio. */
static const char *measured(void)
{
    struct tuned_test k;
    EXPECT(load(&k, "Mock One") == 0 && mock.modules == 4);
    EXPECT(variant(&k, 16, 4096, 4096) == SETUP_1);
    EXPECT(variant(&k, 4096, 4096, 4096) == OWN);
    EXPECT(variant(&k, 1024, 1024, 1024) == SETUP_2);
    EXPECT(variant(&k, 16, 512, 512) == SETUP_2);
    EXPECT(variant(&k, 16, 8192, 8192) == SETUP_1 && variant(&k, 16384, 16384, 16384) == OWN);
    EXPECT(variant(&k, 1, 8, 8) == SETUP_2 && variant(&k, 900, 1200, 512) == SETUP_2);
    EXPECT(tuned_test_unload(&k, NULL) == 0 && mock.modules == 0);
    return NULL;
}

/* Every size has one, also behind what was measured and where tensors have strides; launches are that set-up's. */
static const char *total(void)
{
    struct tuned_test k;
    uint64_t draw = 1;
    EXPECT(load(&k, "Mock One") == 0);
    for (int i = 0; i < 2000; i++) {
        int64_t size[3];
        for (int d = 0; d < 3; d++) {
            draw = draw * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            size[d] = (int64_t)(1 + (draw >> 40) % (UINT64_C(1) << (draw >> 33) % 16)) * 8;
        }
        struct tuned_test_args a = arguments(size[0], size[1], size[2]);
        struct tuned_test_params dense, strided;
        EXPECT(tuned_test_params(&k, &a, &dense, NULL) == 0);
        EXPECT(dense.variant == OWN || dense.variant == SETUP_1 || dense.variant == SETUP_2);
        EXPECT(dense.threads == (dense.variant == OWN ? 384u : dense.variant == SETUP_1 ? 128u : 256u));
        a.A_stride[0] = size[2] + 8;
        EXPECT(tuned_test_params(&k, &a, &strided, NULL) == 0 && strided.variant == dense.variant);
    }
    struct tuned_test_args a = arguments(1024, 1024, 1024);
    EXPECT(tuned_test_launch(&k, &a, NULL, NULL) == 0);
    EXPECT(strcmp(mock.launch.entry, "tuned_test__cluster_m1") == 0 && mock.launch.block[0] == 256);
    return tuned_test_unload(&k, NULL) ? "unload" : NULL;
}

/* A set-up that the tensors do not fit gives way to the spec's own variants; empty sizes launch nothing. */
static const char *falls_back(void)
{
    struct tuned_test k;
    struct tuned_test_params p;
    struct tuned_test_error error = {0};
    EXPECT(load(&k, "Mock One") == 0);
    struct tuned_test_args a = arguments(16, 4096, 4096);
    a.D = (void *)(uintptr_t)(d_at + 2);
    EXPECT(tuned_test_params(&k, &a, &p, NULL) == 0 && p.variant == UNALIGNED);
    a.A = (void *)(uintptr_t)(a_at + 2);
    EXPECT(tuned_test_params(&k, &a, &p, &error) == tuned_test_INVALID && strncmp(error.text, "A is 0x", 7) == 0);
    a = arguments(0, 4096, 4096);
    EXPECT(tuned_test_launch(&k, &a, NULL, NULL) == 0 && mock.launches == 0);
    mock.encoder_fails = 1; /* maps that the driver encodes take the other way through the choice */
    k.state.static_images = 0;
    mock.encoder_fails = 0;
    EXPECT(variant(&k, 16, 4096, 4096) == SETUP_1 && mock.encodes > 0);
    return tuned_test_unload(&k, NULL) ? "unload" : NULL;
}

/* Each GPU has its own choice; one that is not known takes the first of its architecture, others have none. */
static const char *by_gpu(void)
{
    static const char *const unknown[] = {"Mock Three", NULL};
    struct tuned_test k;
    struct tuned_test_info info;
    EXPECT(load(&k, "Mock Two") == 0);
    EXPECT(variant(&k, 16, 4096, 4096) == SETUP_1 && variant(&k, 4096, 4096, 4096) == SETUP_1);
    EXPECT(tuned_test_unload(&k, NULL) == 0);
    for (int i = 0; i < 2; i++) {
        EXPECT(load(&k, unknown[i]) == 0 && variant(&k, 4096, 4096, 4096) == OWN);
        EXPECT(variant(&k, 1024, 1024, 1024) == SETUP_2 && tuned_test_unload(&k, NULL) == 0);
    }
    struct tuned_test_driver without = table;
    without.device_name = NULL;
    mock_reset();
    EXPECT(tuned_test_load(&k, &without, NULL) == 0 && variant(&k, 1024, 1024, 1024) == SETUP_2);
    tuned_test_info(&k, &info);
    EXPECT(info.variant_count == 4 && strcmp(info.variant[SETUP_1].name, "tile_m64") == 0);
    EXPECT(tuned_test_unload(&k, NULL) == 0);
    mock_reset();
    mock.gpu = "Mock One";
    mock.major = 8;
    mock.minor = 0;
    EXPECT(tuned_test_load(&k, &table, NULL) == 0 && mock.modules == 1);
    EXPECT(variant(&k, 16, 4096, 4096) == OWN && variant(&k, 1024, 1024, 1024) == OWN);
    return tuned_test_unload(&k, NULL) ? "unload" : NULL;
}

/* A set-up that asks for more shared memory than the device has is not loaded, and its sizes take the spec's own. */
static const char *small_device(void)
{
    struct tuned_test k;
    mock_reset();
    mock.gpu = "Mock One";
    mock.shared_bytes = 199000;
    EXPECT(tuned_test_load(&k, &table, NULL) == 0 && mock.modules == 3);
    EXPECT(variant(&k, 16, 4096, 4096) == SETUP_1 && variant(&k, 1024, 1024, 1024) == OWN);
    return tuned_test_unload(&k, NULL) ? "unload" : NULL;
}

/* What load_for leaves out is not compiled and not loaded; launches that would take it take the spec's own. */
static const char *some(void)
{
    const struct tuned_test_args want[] = {arguments(16, 4096, 4096), arguments(4096, 4096, 4096)};
    struct tuned_test k;
    mock_reset();
    mock.gpu = "Mock One";
    EXPECT(tuned_test_load_for(&k, &table, want, 2, NULL) == 0 && mock.modules == 3);
    EXPECT(variant(&k, 16, 4096, 4096) == SETUP_1 && variant(&k, 4096, 4096, 4096) == OWN);
    EXPECT(variant(&k, 1024, 1024, 1024) == OWN && variant(&k, 16, 512, 512) == OWN);
    struct tuned_test_args a = arguments(1024, 1024, 1024);
    struct tuned_test_params p;
    EXPECT(tuned_test_launch(&k, &a, NULL, NULL) == 0 && strcmp(mock.launch.entry, "gemm_test") == 0);
    a.D = (void *)(uintptr_t)(d_at + 2);
    EXPECT(tuned_test_params(&k, &a, &p, NULL) == 0 && p.variant == UNALIGNED);
    k.state.static_images = 0; /* by the way of maps that the driver encodes */
    EXPECT(variant(&k, 1024, 1024, 1024) == OWN && variant(&k, 16, 4096, 4096) == SETUP_1);
    EXPECT(tuned_test_unload(&k, NULL) == 0 && mock.modules == 0);
    EXPECT(tuned_test_load_for(&k, &table, want, 0, NULL) == 0 && mock.modules == 2);
    EXPECT(variant(&k, 16, 4096, 4096) == OWN && tuned_test_unload(&k, NULL) == 0);
    EXPECT(tuned_test_load_for(&k, &table, NULL, 0, NULL) == 0 && mock.modules == 2);
    EXPECT(tuned_test_unload(&k, NULL) == 0);
    mock.gpu = "Mock Two"; /* other sizes choose it there */
    EXPECT(tuned_test_load_for(&k, &table, &a, 1, NULL) == 0 && mock.modules == 3);
    EXPECT(variant(&k, 1024, 1024, 1024) == SETUP_1);
    return tuned_test_unload(&k, NULL) ? "unload" : NULL;
}

const struct use_case use_cases[] = {
    {"measured", measured}, {"total", total}, {"falls back", falls_back},
    {"by GPU", by_gpu},     {"some", some},   {"small device", small_device},
    {NULL, NULL},
};
