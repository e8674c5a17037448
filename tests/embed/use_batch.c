/* The emitted pair batch_test (host_plans.c), embedded as a cubin for sm_100a, on the mock driver: formulas over sizes,
 * a map of rank 4 with a constant extent, a workspace, and the work-around for drivers up to 13.1. */
#include <stdio.h>
#include <string.h>

#include "batch_test.h"
#include "mock_driver.h"
#include "tensormap/tensormap.h"
#include "use.h"

static const struct batch_test_driver table = {
    mock_version,         mock_context_device, mock_device_attribute,    mock_module_load, mock_module_unload,
    mock_module_function, mock_function_set,   mock_max_active_clusters, mock_launch,      mock_encode_tiled,
};

static struct batch_test_args arguments(int64_t b, int64_t h, int64_t g, int64_t s)
{
    struct batch_test_args a;
    memset(&a, 0, sizeof a);
    a.X = (void *)(uintptr_t)0x7f0000001000;
    a.y = (void *)(uintptr_t)0x7f0000002004;
    a.B = b;
    a.H = h;
    a.G = g;
    a.S = s;
    a.workspace = (void *)(uintptr_t)0x7f0000003000;
    return a;
}

static void blackwell(void)
{
    mock_reset();
    mock.major = 10;
}

static const char *launches(void)
{
    struct batch_test k;
    struct batch_test_params p;
    struct batch_test_args a = arguments(3, 16, 4, 100);
    struct tw_tensormap_call c;
    uint64_t map[16];
    blackwell();
    EXPECT(batch_test_load(&k, &table, NULL) == 0 && k.state.static_images == 1);
    EXPECT(mock.image[0][0] == 'x' && mock.images == 1);
    memset(&p, 0xa5, sizeof p);
    EXPECT(batch_test_params(&k, &a, &p, NULL) == 0 && p.grid[0] == 4 && p.grid[1] == 4 && p.grid[2] == 3);
    memset(&c, 0, sizeof c);
    c.func = TW_TENSORMAP_TILED;
    c.dtype = 6;
    c.rank = 4;
    c.addr = 0x7f0000001000;
    c.dim[0] = 64;
    c.dim[1] = 100;
    c.dim[2] = 4;
    c.dim[3] = 3;
    c.stride[0] = 128;
    c.stride[1] = 12800;
    c.stride[2] = 51200;
    c.box[0] = 64;
    c.box[1] = 32;
    c.box[2] = c.box[3] = 1;
    c.estride[0] = c.estride[1] = c.estride[2] = c.estride[3] = 1;
    c.swizzle = 3;
    c.l2 = 2;
    EXPECT(tw_tensormap_encode(&c, 100, map) == 0 && memcmp(map, p.word, 128) == 0);
    EXPECT(p.word[16] == 0x7f0000002004 && p.word[17] == 3 && p.word[18] == 16 && p.word[19] == 4 && p.word[20] == 100);
    EXPECT(p.word[21] == 0x7f0000003000);
    EXPECT(batch_test_launch(&k, &a, NULL, NULL) == 0 && mock.launch.cluster[0] == 0 && mock.launch.shared_bytes == 0);
    batch_test_unload(&k, NULL);
    EXPECT(mock.modules == 0);
    mock.major = 9; /* sm_100a code runs on 10.0 alone */
    EXPECT(batch_test_load(&k, &table, NULL) == batch_test_UNSUPPORTED);
    mock.major = 10;
    mock.minor = 3;
    EXPECT(batch_test_load(&k, &table, NULL) == batch_test_UNSUPPORTED);
    return NULL;
}

static const char *guards(void)
{
    struct batch_test k;
    struct batch_test_params p;
    struct batch_test_error error;
    struct batch_test_args a = arguments(3, 16, 0, 100);
    blackwell();
    EXPECT(batch_test_load(&k, &table, NULL) == 0);
    EXPECT(batch_test_params(&k, &a, &p, &error) == batch_test_INVALID);
    EXPECT(strcmp(error.text, "the sizes make the extents of X divide by zero") == 0);
    a = arguments((int64_t)1 << 38, (int64_t)1 << 38, 1, (int64_t)1 << 38);
    EXPECT(batch_test_params(&k, &a, &p, &error) == batch_test_INVALID &&
           strstr(error.text, "overflow 64-bit arithmetic"));
    a = arguments(1, 1, 1, ((int64_t)1 << 32) + 1);
    EXPECT(batch_test_params(&k, &a, &p, &error) == batch_test_INVALID);
    EXPECT(strcmp(error.text,
                  "extent 2 of X is 4294967297, past 2^32, the most of a tensor map; split the work [TMA-DIM]") == 0);
    a = arguments(1, 70000, 1, 100);
    EXPECT(batch_test_params(&k, &a, &p, &error) == batch_test_INVALID &&
           strstr(error.text, "a grid of 4 x 70000 x 1 blocks"));
    a = arguments(1, 0, 1, 100);
    EXPECT(batch_test_launch(&k, &a, NULL, &error) == 0 && mock.launches == 0);
    batch_test_unload(&k, NULL);
    return NULL;
}

static const char *workspaces(void)
{
    struct batch_test k;
    struct batch_test_params p;
    struct batch_test_error error;
    struct batch_test_args a = arguments(3, 16, 4, 100);
    uint64_t bytes = 0;
    blackwell();
    EXPECT(batch_test_load(&k, &table, NULL) == 0);
    EXPECT(batch_test_workspace(&k, &a, &bytes, NULL) == 0 && bytes == 24);
    a.workspace = NULL;
    EXPECT(batch_test_params(&k, &a, &p, &error) == batch_test_INVALID);
    EXPECT(strcmp(error.text, "workspace is NULL; pass the device address of 24 bytes, zero before the first launch") ==
           0);
    a.workspace = (void *)(uintptr_t)0x7f0000003008;
    EXPECT(batch_test_launch(&k, &a, NULL, &error) == batch_test_INVALID && mock.launches == 0);
    EXPECT(strcmp(error.text, "workspace is 0x7f0000003008, no multiple of 16 bytes") == 0);
    a = arguments(3, 0, 4, 100);
    a.workspace = NULL; /* nothing is launched, and nothing asked for */
    EXPECT(batch_test_launch(&k, &a, NULL, &error) == 0 && mock.launches == 0);
    batch_test_unload(&k, NULL);
    return NULL;
}

static const char *works_around(void)
{
    struct batch_test k;
    struct batch_test_info info;
    struct batch_test_params p;
    struct batch_test_args a = arguments(3, 16, 4, 100);
    blackwell();
    mock.set_bit_85 = 1;
    mock.driver_version = 13010;
    EXPECT(batch_test_load(&k, &table, NULL) == 0 && k.state.static_images == 1);
    EXPECT(batch_test_params(&k, &a, &p, NULL) == 0 && (p.word[1] >> 21 & 1) == 0);
    batch_test_unload(&k, NULL);
    mock.wrong_bit = 256; /* encoded by the driver, and then repaired */
    EXPECT(batch_test_load(&k, &table, NULL) == 0 && k.state.static_images == 0);
    EXPECT(batch_test_params(&k, &a, &p, NULL) == 0 && (p.word[1] >> 21 & 1) == 0);
    batch_test_unload(&k, NULL);
    mock.wrong_bit = -1;
    mock.driver_version = 13020; /* what a repaired driver writes is right */
    EXPECT(batch_test_load(&k, &table, NULL) == 0);
    batch_test_info(&k, &info);
    EXPECT(info.static_images == 0 && strstr(info.images, "word 1"));
    EXPECT(batch_test_params(&k, &a, &p, NULL) == 0 && (p.word[1] >> 21 & 1) == 1);
    batch_test_unload(&k, NULL);
    /* the emitted rows are the library's: whatever the version, the same bits go */
    for (mock.driver_version = 12000; mock.driver_version <= 13060; mock.driver_version += 10) {
        uint64_t map[16];
        EXPECT(batch_test_load(&k, &table, NULL) == 0);
        k.state.static_images = 0; /* as if the check had failed: what the driver writes is mended */
        EXPECT(batch_test_params(&k, &a, &p, NULL) == 0);
        memcpy(map, p.word, sizeof map);
        map[1] |= (uint64_t)1 << 21; /* what the driver wrote */
        mock_work_around(map, 100, mock.driver_version);
        EXPECT(memcmp(map, p.word, sizeof map) == 0);
        batch_test_unload(&k, NULL);
    }
    EXPECT(mock.modules == 0);
    return NULL;
}

extern const struct use_case use_cases[];
const struct use_case use_cases[] = {
    {"launches", launches},         {"guards", guards}, {"workspaces", workspaces},
    {"works_around", works_around}, {NULL, NULL},
};
