/* The emitted pair gemm_test (host_plans.c) on the mock driver. */
#include <stdio.h>
#include <string.h>

#include "gemm_test.h"
#include "mock_driver.h"
#include "tensormap/tensormap.h"
#include "use.h"

static const struct gemm_test_driver table = {
    mock_version,         mock_context_device, mock_device_attribute,    mock_module_load, mock_module_unload,
    mock_module_function, mock_function_set,   mock_max_active_clusters, mock_launch,      mock_encode_tiled,
};

static const uint64_t a_at = 0x7f0012340000, b_at = 0x7f0056780040, d_at = 0x7f009abc0010, bias_at = 0x7f0011110002;

static void *pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

static struct gemm_test_args arguments(int64_t m, int64_t n, int64_t k)
{
    struct gemm_test_args a;
    memset(&a, 0, sizeof a);
    a.A = pointer(a_at);
    a.B = pointer(b_at);
    a.D = pointer(d_at);
    a.bias = pointer(bias_at);
    a.M = m;
    a.N = n;
    a.K = k;
    a.alpha = 0.5f;
    return a;
}

/* A rank-2 bf16 map as the runtime encodes it, into bytes of a parameter buffer's size. */
static int encode(uint64_t address, uint64_t inner, uint64_t outer, uint64_t pitch, uint32_t box_inner,
                  uint32_t box_outer, uint64_t map[16])
{
    struct tw_tensormap_call c;
    memset(&c, 0, sizeof c);
    c.func = TW_TENSORMAP_TILED;
    c.dtype = 9;
    c.rank = 2;
    c.addr = address;
    c.dim[0] = inner;
    c.dim[1] = outer;
    c.stride[0] = pitch;
    c.box[0] = box_inner;
    c.box[1] = box_outer;
    c.estride[0] = c.estride[1] = 1;
    c.swizzle = 3;
    c.l2 = 2;
    return tw_tensormap_encode(&c, 90, map);
}

static const char *loads(void)
{
    struct gemm_test k;
    struct gemm_test_info info;
    struct gemm_test_error error;
    mock_reset();
    memset(&error, 0, sizeof error);
    EXPECT(gemm_test_load(&k, &table, &error) == 0);
    gemm_test_info(&k, &info);
    EXPECT(strcmp(info.name, "gemm_test") == 0 && strcmp(info.arch, "sm_90a") == 0);
    EXPECT(info.capability == 90 && info.driver_version == 13000 && info.variant_count == 2 && info.tensor_count == 4);
    EXPECT(info.static_images == 1 && info.images[0] == 0);
    EXPECT(strcmp(info.variant[1].name, "unaligned") == 0 && info.variant[0].threads == 384);
    EXPECT(info.variant[0].cluster[0] == 2 && info.variant[0].shared_bytes == 197632);
    EXPECT(strcmp(info.tensor[2].shape, "M, N") == 0 && info.tensor[2].out == 1 && info.tensor[2].best_align == 16);
    EXPECT(mock.modules == 2 && mock.memory == 0 && mock.programs == 0 && mock.shared_set == 197632);
    EXPECT(strncmp(mock.image[0], "CUBIN // gemm_test of sm_90a", 28) == 0);
    EXPECT(strstr(mock.image[0], "\"quoted\\\" ?\?= \t\xc3\xa4\"") != NULL);
    EXPECT(strstr(mock.compile_options, "--gpu-architecture=sm_90a --std=c++17") != NULL);
    EXPECT(gemm_test_unload(&k, &error) == 0 && mock.modules == 0);
    EXPECT(gemm_test_unload(&k, &error) == 0);
    EXPECT(strcmp(gemm_test_strerror(gemm_test_COMPILE), "compilation failed") == 0 && gemm_test_strerror(77)[0] != 0);
    return NULL;
}

/* Most launches take a short way through NAME_params; with the driver's encoder in the place of images, none does. */
static const char *ways_agree(void)
{
    static const int64_t sizes[] = {0, 1, 2, 8, 63, 64, 257, 4096, 2147482624, 2147482625, -1, INT64_MIN, INT64_MAX};
    static const int64_t strides[] = {0, 0, 0, 1, 8, 80, 4096, (int64_t)1 << 38, (int64_t)1 << 39, -8, INT64_MAX};
    static const uintptr_t addresses[] = {0, 0, 0, 0, 2, 1, 8, (uintptr_t)1 << 57, (uintptr_t)1 << 63,
                                          UINTPTR_MAX - 15};
    enum { size_count = sizeof sizes / sizeof *sizes, stride_count = sizeof strides / sizeof *strides,
           address_count = sizeof addresses / sizeof *addresses };
    struct gemm_test k, slow;
    uint64_t random = 1;
    int i, d, accepted = 0, refused = 0;
    mock_reset();
    EXPECT(gemm_test_load(&k, &table, NULL) == 0);
    slow = k;
    slow.state.static_images = 0;
    for (i = 0; i < 20000; i++) {
        struct gemm_test_args a = arguments(64, 64, 64);
        struct gemm_test_params p, q;
        struct gemm_test_error e, f;
        unsigned pick[12];
        int status;
        for (d = 0; d < 12; d++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            pick[d] = (unsigned)(random >> 40);
        }
        a.M = sizes[pick[0] % (pick[9] % 3 ? 8 : size_count)];
        a.N = sizes[pick[1] % (pick[9] % 3 ? 8 : size_count)];
        a.K = sizes[pick[2] % (pick[9] % 3 ? 8 : size_count)];
        a.A_stride[0] = strides[pick[3] % stride_count];
        a.B_stride[0] = strides[pick[10] % 2 ? 0 : pick[4] % stride_count];
        a.D_stride[0] = strides[pick[10] % 2 ? 0 : pick[5] % stride_count];
        a.A = (const void *)((uintptr_t)a.A + addresses[pick[6] % address_count]);
        a.D = (void *)((uintptr_t)a.D + addresses[pick[7] % 4 ? 0 : pick[8] % address_count]);
        if (pick[11] % 50 == 0)
            a.B = NULL;
        memset(&p, 0x5a, sizeof p);
        memset(&q, 0x5a, sizeof q);
        memset(&e, 0, sizeof e);
        memset(&f, 0, sizeof f);
        status = gemm_test_params(&k, &a, &p, &e);
        EXPECT(status == gemm_test_params(&slow, &a, &q, &f));
        EXPECT(strcmp(e.text, f.text) == 0);
        EXPECT(status != 0 || memcmp(&p, &q, sizeof p) == 0);
        accepted += status == 0;
        refused += status != 0;
    }
    EXPECT(accepted > 2000 && refused > 2000);
    EXPECT(gemm_test_unload(&k, NULL) == 0);
    return NULL;
}

static const char *launches(void)
{
    struct gemm_test k;
    struct gemm_test_params p;
    struct gemm_test_args a = arguments(257, 512, 192);
    uint64_t map[16];
    int32_t dims[3];
    int stream;
    float alpha;
    mock_reset();
    mock.param_bytes = 448;
    EXPECT(gemm_test_load(&k, &table, NULL) == 0);
    mock.encodes = 0;
    memset(&p, 0xa5, sizeof p);
    EXPECT(gemm_test_params(&k, &a, &p, NULL) == 0 && p.variant == 0 && p.bytes == 448 && mock.encodes == 0);
    EXPECT(encode(a_at, 192, 257, 384, 64, 128, map) == 0 && memcmp(p.word, map, 128) == 0);
    EXPECT(encode(b_at, 192, 512, 384, 64, 128, map) == 0 && memcmp(p.word + 16, map, 128) == 0);
    EXPECT(encode(d_at, 512, 257, 1024, 64, 64, map) == 0 && memcmp(p.word + 32, map, 128) == 0);
    EXPECT(p.word[48] == bias_at);
    memcpy(dims, p.word + 49, sizeof dims);
    memcpy(&alpha, (char *)p.word + 404, sizeof alpha);
    EXPECT(dims[0] == 257 && dims[1] == 512 && dims[2] == 192 && alpha == 0.5f);
    EXPECT(p.word[51] == 0 && p.word[55] == 0);
    EXPECT(p.grid[0] == 8 && p.grid[1] == 1 && p.grid[2] == 1); /* 2 x 2 clusters of 2 */
    EXPECT(p.function == k.slot[0].function && p.threads == 384 && p.cluster[0] == 2 && p.shared_bytes == 197632);

    EXPECT(gemm_test_launch(&k, &a, &stream, NULL) == 0 && mock.launches == 1 && mock.launch.stream == &stream);
    EXPECT(memcmp(mock.launch.params, p.word, 448) == 0);
    EXPECT(mock.launch.grid[0] == 8 && mock.launch.block[0] == 384 && mock.launch.block[1] == 1);
    EXPECT(mock.launch.cluster[0] == 2 && mock.launch.cluster[1] == 1 && mock.launch.shared_bytes == 197632);
    EXPECT(strcmp(mock.launch.entry, "gemm_test") == 0);

    a = arguments(100000, 100000, 64);
    EXPECT(gemm_test_params(&k, &a, &p, NULL) == 0 && p.grid[0] == 132);
    a = arguments(100, 256, 64); /* padded rows */
    a.A_stride[0] = 80;
    a.D_stride[0] = 1 << 20;
    EXPECT(gemm_test_params(&k, &a, &p, NULL) == 0 && p.variant == 0);
    EXPECT(encode(a_at, 64, 100, 160, 64, 128, map) == 0 && memcmp(p.word, map, 128) == 0);
    EXPECT(encode(d_at, 256, 100, 2 << 20, 64, 64, map) == 0 && memcmp(p.word + 32, map, 128) == 0);
    a = arguments(1, 256, 64); /* the stride of one row does not matter */
    a.A_stride[0] = -3;
    EXPECT(gemm_test_params(&k, &a, &p, NULL) == 0 && p.variant == 0);
    EXPECT(encode(a_at, 64, 1, 16, 64, 128, map) == 0 && memcmp(p.word, map, 128) == 0);
    a = arguments((int64_t)1 << 30, 8, 1 << 10); /* past 2^31 elements, stride bits past 2^36 */
    a.A_stride[0] = ((int64_t)1 << 38) + 8;
    EXPECT(gemm_test_params(&k, &a, &p, NULL) == 0 && p.variant == 0);
    EXPECT(encode(a_at, 1 << 10, (uint64_t)1 << 30, ((uint64_t)1 << 39) + 16, 64, 128, map) == 0);
    EXPECT(memcmp(p.word, map, 128) == 0);
    gemm_test_unload(&k, NULL);

    mock.clusters = 60; /* fewer clusters than multiprocessors are resident */
    EXPECT(gemm_test_load(&k, &table, NULL) == 0);
    a = arguments(100000, 100000, 64);
    EXPECT(gemm_test_params(&k, &a, &p, NULL) == 0 && p.grid[0] == 120);
    gemm_test_unload(&k, NULL);
    EXPECT(mock.modules == 0);
    return NULL;
}

static const char *chooses_variants(void)
{
    struct gemm_test k;
    struct gemm_test_params p;
    struct gemm_test_args a = arguments(17, 257, 64);
    int64_t stride;
    mock_reset();
    EXPECT(gemm_test_load(&k, &table, NULL) == 0);
    EXPECT(gemm_test_params(&k, &a, &p, NULL) == 0 && p.variant == 1 && p.function == k.slot[1].function);
    EXPECT(p.word[32] == d_at && p.word[33] == bias_at);
    memcpy(&stride, p.word + 34, sizeof stride);
    EXPECT(stride == 257);
    a.D_stride[0] = 264; /* rows start at multiples of 16 bytes, but bulk stores would write the padding */
    EXPECT(gemm_test_launch(&k, &a, NULL, NULL) == 0 && strcmp(mock.launch.entry, "gemm_test__unaligned") == 0);
    a = arguments(17, 256, 64);
    a.D = pointer(d_at + 2);
    EXPECT(gemm_test_params(&k, &a, &p, NULL) == 0 && p.variant == 1);
    gemm_test_unload(&k, NULL);
    return NULL;
}

static const char *chooses_architectures(void)
{
    static const struct {
        int major, minor;
        const char *arch, *word;
    } device[] = {{9, 0, "sm_90a", "CUBIN"},
                  {8, 0, "sm_80", "CUBIN"},
                  {8, 9, "sm_80", "CUBIN"},
                  {10, 0, "sm_80", "PTX"},
                  {12, 1, "sm_80", "PTX"}};
    struct gemm_test k;
    struct gemm_test_info info;
    struct gemm_test_error error;
    struct gemm_test_args a = arguments(100, 100, 104);
    size_t i;
    for (i = 0; i < sizeof device / sizeof *device; i++) {
        mock_reset();
        mock.major = device[i].major;
        mock.minor = device[i].minor;
        EXPECT(gemm_test_load(&k, &table, &error) == 0);
        gemm_test_info(&k, &info);
        EXPECT(strcmp(info.arch, device[i].arch) == 0 &&
               strncmp(mock.image[0], device[i].word, strlen(device[i].word)) == 0);
        EXPECT(gemm_test_launch(&k, &a, NULL, &error) == 0 && mock.launches == 1);
        EXPECT(mock.launch.cluster[0] == (mock.major == 9 ? 2u : 0u));
        EXPECT(info.static_images == (mock.major == 9));
        gemm_test_unload(&k, NULL);
    }
    mock_reset();
    mock.major = 7;
    mock.minor = 5;
    EXPECT(gemm_test_load(&k, &table, &error) == gemm_test_UNSUPPORTED && strstr(error.text, "7.5") &&
           strstr(error.text, "sm_90a (9.0, 197632 bytes), sm_80 (8.0 or newer, 98304 bytes)"));
    EXPECT(gemm_test_params(&k, &a, NULL, &error) == gemm_test_INVALID && strstr(error.text, "not loaded"));
    return NULL;
}

/* A driver that refuses binaries gets PTX of every variant; and where none of it can be had, says so. */
static const char *takes_ptx_only(void)
{
    enum { no_binary_for_gpu = 209 };
    struct gemm_test k;
    struct gemm_test_info info;
    struct gemm_test_error error;
    struct gemm_test_args a = arguments(100, 100, 104);
    int calls, status, n;
    mock_reset();
    mock.takes_ptx_only = 1;
    EXPECT(gemm_test_load(&k, &table, &error) == 0);
    gemm_test_info(&k, &info);
    EXPECT(strcmp(info.arch, "sm_90a") == 0 && strstr(mock.compile_options, "compute_90a"));
    EXPECT(mock.images == info.variant_count && strncmp(mock.image[1], "PTX", 3) == 0);
    EXPECT(gemm_test_launch(&k, &a, NULL, NULL) == 0 && mock.launches == 1);
    EXPECT(gemm_test_unload(&k, NULL) == 0 && mock.modules == 0 && mock.memory == 0 && mock.programs == 0);
    calls = mock.calls;
    for (n = 1; n < calls; n++) {
        mock_reset();
        mock.takes_ptx_only = 1;
        mock.fail_at = n;
        status = gemm_test_load(&k, &table, &error);
        EXPECT(status == 0 || (error.status == status && error.driver_result != no_binary_for_gpu));
        mock.fail_at = 0;
        EXPECT(gemm_test_unload(&k, NULL) == 0 && mock.modules == 0 && mock.memory == 0 && mock.programs == 0);
    }
    return NULL;
}

static int refused(const struct gemm_test *k, const struct gemm_test_args *a, const char *text)
{
    struct gemm_test_params p;
    struct gemm_test_error error;
    memset(&error, 0, sizeof error);
    if (gemm_test_params(k, a, &p, &error) != gemm_test_INVALID || error.status != gemm_test_INVALID ||
        strcmp(error.text, text) != 0) {
        fprintf(stderr, "got  %s\nwant %s\n", error.text, text);
        return 0;
    }
    return gemm_test_params(k, a, &p, NULL) == gemm_test_INVALID;
}

static const char *refuses(void)
{
    struct gemm_test k;
    struct gemm_test_args a;
    struct gemm_test_driver lacking = table;
    mock_reset();
    EXPECT(gemm_test_load(&k, &table, NULL) == 0);
    a = arguments(100, 256, 100);
    EXPECT(refused(&k, &a, "K is 100, no multiple of 8; pad it to 104"));
    a = arguments(-1, 0, 64);
    EXPECT(refused(&k, &a, "M is -1, which is no size; write 0 or more"));
    a = arguments(100, 2147482625, 64);
    EXPECT(refused(&k, &a, "N is 2147482625, past 2147482624, the most that the kernel counts to; split the work"));
    a = arguments(100, 256, 64);
    a.A = NULL;
    EXPECT(refused(&k, &a, "A is NULL; pass the tensor's device address"));
    a.A = pointer(a_at + 8);
    EXPECT(refused(&k, &a,
                   "A is 0x7f0012340008, no multiple of 16 bytes; move the tensor's start, to 0x7f0012340000 for "
                   "example [TMA-ADDR16]"));
    a.A = pointer((uint64_t)1 << 57);
    EXPECT(refused(&k, &a, "A is 0x200000000000000, at or past 2^57, so no device address [TMA-ADDR57]"));
    a = arguments(100, 256, 64);
    a.B_stride[0] = 1001;
    EXPECT(refused(&k, &a,
                   "the stride of dimension 0 of B is 1001 elements of bf16, 2002 bytes, no multiple of 16; pad it to "
                   "1008 elements and pass that as B_stride[0] [TMA-STR16]"));
    a.B_stride[0] = (int64_t)1 << 39;
    EXPECT(refused(&k, &a,
                   "B_stride[0] is 549755813888 elements of 2 bytes; strides are 0 or more and below 2^40 bytes, "
                   "549755813888 elements [TMA-STRMAX]"));
    a.B_stride[0] = -64;
    EXPECT(refused(&k, &a,
                   "B_stride[0] is -64 elements of 2 bytes; strides are 0 or more and below 2^40 bytes, 549755813888 "
                   "elements [TMA-STRMAX]"));
    a = arguments(100, 257, 64);
    a.D = pointer(d_at + 1);
    EXPECT(refused(&k, &a,
                   "D is 0x7f009abc0011, no multiple of 2 bytes; move the tensor's start, to 0x7f009abc0010 for "
                   "example [ALIGN]"));
    EXPECT(mock.launches == 0);
    gemm_test_unload(&k, NULL);
    lacking.launch = NULL;
    EXPECT(gemm_test_load(&k, &lacking, NULL) == gemm_test_INVALID);
    lacking = table;
    lacking.encode_tiled = NULL;
    EXPECT(gemm_test_load(&k, &lacking, NULL) == gemm_test_OLD_DRIVER && mock.modules == 0);
    return NULL;
}

static const char *empty_extents(void)
{
    struct gemm_test k;
    struct gemm_test_params p;
    struct gemm_test_args a = arguments(0, 256, 64);
    uint64_t map[16], bytes = 1;
    mock_reset();
    mock.param_bytes = 448;
    EXPECT(gemm_test_load(&k, &table, NULL) == 0);
    a.A = a.D = NULL;
    EXPECT(gemm_test_launch(&k, &a, NULL, NULL) == 0 && mock.launches == 0);
    a = arguments(100, 0, 64);
    a.A = NULL; /* nothing is computed: nothing of it matters */
    EXPECT(gemm_test_launch(&k, &a, NULL, NULL) == 0 && mock.launches == 0);
    EXPECT(gemm_test_params(&k, &a, &p, NULL) == 0 && p.grid[0] == 0 && p.grid[1] == 0);
    a = arguments(100, 256, 0);
    a.A = a.B = NULL; /* K = 0: the epilogue of 0 is computed */
    EXPECT(gemm_test_launch(&k, &a, NULL, NULL) == 0 && mock.launches == 1 && mock.launch.grid[0] == 2);
    EXPECT(encode(d_at & ~(uint64_t)127, 1, 100, 0, 64, 128, map) == 0 && memcmp(mock.launch.params, map, 128) == 0);
    EXPECT(gemm_test_workspace(&k, &a, &bytes, NULL) == 0 && bytes == 0);
    a.bias = NULL; /* passed on: the kernel may read none of it */
    EXPECT(gemm_test_launch(&k, &a, NULL, NULL) == 0 && mock.launches == 2);
    gemm_test_unload(&k, NULL);
    return NULL;
}

static const char *fails_cleanly(void)
{
    struct gemm_test k;
    struct gemm_test_error error;
    struct gemm_test_args a = arguments(100, 256, 64);
    int n, faults = 0, softened = 0, last = 0;
    for (n = 1; !last; n++) {
        int status;
        mock_reset();
        mock.fail_at = n;
        memset(&error, 0, sizeof error);
        status = gemm_test_load(&k, &table, &error);
        if (!status)
            status = gemm_test_launch(&k, &a, NULL, &error);
        last = mock.calls < n;
        if (status) {
            EXPECT(error.status == status && error.text[0] != 0 && status != gemm_test_INVALID);
            faults++;
        } else {
            EXPECT(mock.launches == 1);
            softened += !last;
        }
        mock.fail_at = 0;
        EXPECT(gemm_test_unload(&k, NULL) == 0);
        EXPECT(mock.modules == 0 && mock.memory == 0 && mock.programs == 0);
    }
    /* 6 calls before the modules, the version of NVRTC, 2 variants of 4 calls to compile and 3 to load, 1 launch; and 2
     * allocations a variant, where they can be made to fail */
    EXPECT(faults == 22 || faults == 26);
    /* the number of clusters of 2 variants, and the encoder where the images of 3 maps are compared by 64 tensors each:
     * work goes on without */
    EXPECT(softened == 2 + 3 * 64);
    mock_reset();
    EXPECT(gemm_test_load(&k, &table, NULL) == 0);
    mock.fail_at = mock.calls + 1;
    EXPECT(gemm_test_unload(&k, &error) == gemm_test_DRIVER && strstr(error.text, "cuModuleUnload") &&
           mock.modules == 0);
    return NULL;
}

static const char *falls_back(void)
{
    static const struct {
        int first, last;
    } patched[] = {{4, 56}, {96, 127}, {224, 227}, {256, 319}};
    struct gemm_test k;
    struct gemm_test_info info;
    struct gemm_test_params p;
    struct gemm_test_error error;
    struct gemm_test_args a = arguments(100, 256, 64);
    uint64_t map[16];
    size_t i, n;
    int bit;
    for (n = 0; n < sizeof patched / sizeof *patched; n++)
        for (bit = patched[n].first; bit <= patched[n].last; bit++) {
            mock_reset();
            mock.wrong_bit = bit;
            EXPECT(gemm_test_load(&k, &table, NULL) == 0);
            gemm_test_info(&k, &info);
            EXPECT(info.static_images == 0 && strstr(info.images, "A_map: in call"));
            for (i = 0; i < 3; i++) { /* each time, with what the arguments are then */
                a.A = pointer(a_at + 4096 * (2 - i));
                mock.encodes = 0;
                EXPECT(gemm_test_params(&k, &a, &p, NULL) == 0 && mock.encodes == 3);
                EXPECT(p.word[0] == (((uint64_t)(uintptr_t)a.A) & (bit < 64 ? ~((uint64_t)1 << bit) : UINT64_MAX)));
            }
            EXPECT(encode(a_at, 64, 100, 128, 64, 128, map) == 0);
            map[bit / 64] &= ~((uint64_t)1 << bit % 64);
            EXPECT(memcmp(map, p.word, 128) == 0);
            gemm_test_unload(&k, NULL);
        }
    for (i = 0; i < sizeof patched / sizeof *patched; i++)
        for (bit = patched[i].first; bit < patched[i].last; bit++) {
            mock_reset();
            mock.swapped_bit = bit;
            EXPECT(gemm_test_load(&k, &table, NULL) == 0 && k.state.static_images == 0);
            gemm_test_unload(&k, NULL);
        }
    mock_reset();
    mock.wrong_bit = 71 + 3; /* the element type: constant, but wrong all the same */
    EXPECT(gemm_test_load(&k, &table, NULL) == 0 && k.state.static_images == 0);
    gemm_test_unload(&k, NULL);
    mock_reset();
    mock.encoder_fails = 1;
    EXPECT(gemm_test_load(&k, &table, NULL) == 0);
    gemm_test_info(&k, &info);
    EXPECT(info.static_images == 0 &&
           strstr(info.images, "in call 1 of the check, cuTensorMapEncodeTiled of A_map failed"));
    EXPECT(gemm_test_params(&k, &a, &p, &error) == gemm_test_DRIVER && error.driver_result == 1);
    EXPECT(strstr(error.text, "cuTensorMapEncodeTiled of A_map"));
    gemm_test_unload(&k, NULL);
    EXPECT(mock.modules == 0);
    return NULL;
}

/* What NAME_params gives for a graph's node is what NAME_launch hands to the driver, with images and without; a launch
 * is one call of the driver beside the encoder's, so that a capture may hold it, and allocates nothing. */
static const char *graph_nodes(void)
{
    static const int64_t columns[] = {256, 257, 512}; /* of both variants */
    struct gemm_test k;
    struct gemm_test_params p;
    int by_driver, i, calls, memory;
    for (by_driver = 0; by_driver < 2; by_driver++) {
        mock_reset();
        mock.wrong_bit = by_driver ? 256 : -1;
        EXPECT(gemm_test_load(&k, &table, NULL) == 0 && k.state.static_images == !by_driver);
        mock.wrong_bit = -1;
        for (i = 0; i < 3; i++) {
            struct gemm_test_args a = arguments(100 + i, columns[i], 64);
            int maps = i == 1 ? 2 : 3;
            a.A = pointer(a_at + 1024 * (uint64_t)i);
            calls = mock.calls;
            memory = mock.memory;
            memset(&p, 0, sizeof p);
            EXPECT(gemm_test_params(&k, &a, &p, NULL) == 0 && mock.calls - calls == (by_driver ? maps : 0));
            calls = mock.calls;
            mock.param_bytes = p.bytes;
            EXPECT(gemm_test_launch(&k, &a, NULL, NULL) == 0);
            EXPECT(mock.calls - calls == 1 + (by_driver ? maps : 0) && mock.memory == memory);
            EXPECT(memcmp(mock.launch.params, p.word, p.bytes) == 0);
            EXPECT(memcmp(mock.launch.grid, p.grid, sizeof p.grid) == 0 && mock.launch.block[0] == p.threads);
            EXPECT(mock.launch.shared_bytes == p.shared_bytes && mock.launch.cluster[0] == p.cluster[0]);
            EXPECT(mock.launch.cluster[1] == p.cluster[1] && mock.launch.cluster[2] == p.cluster[2]);
            EXPECT(p.function == k.slot[i == 1].function && p.variant == (i == 1));
            EXPECT(p.word[0] == a_at + 1024 * (uint64_t)i);
        }
        gemm_test_unload(&k, NULL);
    }
    return NULL;
}

/* The mock stands in as libcuda.so.1 by then. */
static const char *opens_driver(void)
{
    struct gemm_test k;
    struct gemm_test_args a = arguments(100, 256, 64);
    mock_reset();
    EXPECT(gemm_test_load(&k, NULL, NULL) == 0 && k.state.library != NULL);
    EXPECT(gemm_test_launch(&k, &a, NULL, NULL) == 0 && mock.launches == 1);
    gemm_test_unload(&k, NULL);
    EXPECT(mock.modules == 0);
    return NULL;
}

extern const struct use_case use_cases[];
const struct use_case use_cases[] = {
    {"loads", loads},
    {"ways_agree", ways_agree}, {"launches", launches},
    {"chooses_variants", chooses_variants},
    {"chooses_architectures", chooses_architectures},
    {"takes_ptx_only", takes_ptx_only},
    {"refuses", refuses},
    {"empty_extents", empty_extents},
    {"fails_cleanly", fails_cleanly},
    {"falls_back", falls_back},
    {"graph_nodes", graph_nodes},
    {"opens_driver", opens_driver},
    {NULL, NULL},
};
