/* The device cuda over a driver that keeps its memory on the host. */
#include "device.h"

#include <string.h>

#include "unit/check.h"
#include "fake_cuda.h"

static struct tw_runtime rt;
static struct tw_error error;
static struct tw_device *device;
static struct tw_kernel *kernel;

static int begin(void **state)
{
    static unsigned char cubin[4096];
    struct tw_load load = {.cubin = cubin, .entry = "kern"};

    (void)state;
    fake_begin(&rt);
    load.cubin_bytes = fake_cubin(cubin, sizeof cubin);
    return tw_device_open_cuda(&rt, 0, &device, &error) || tw_device_load(device, &load, &kernel, &error);
}

static int end(void **state)
{
    (void)state;
    tw_device_unload(device, kernel);
    tw_device_close(device);
    tw_runtime_close(&rt);
    return fake_is_clean() ? 0 : -1;
}

static void properties(void **state)
{
    char arch[16];

    (void)state;
    assert_string_equal(device->ops->kind, "cuda");
    assert_string_equal(device->name, "Fake GPU");
    assert_string_equal(device->arch, "sm_90a");
    assert_int_equal(device->sm_count, 132);
    assert_int_equal(device->shared_optin, 232448);
    assert_int_equal(device->driver_version, 13000);
    assert_ptr_not_equal(device->driver->launch, NULL);
    assert_null(device->driver->encode_tiled); /* optional, missing here */
    assert_int_equal(kernel->registers, 40);
    assert_int_equal(kernel->max_threads, 256);
    tw_arch_name(8, 0, arch);
    assert_string_equal(arch, "sm_80");
    tw_arch_name(8, 9, arch);
    assert_string_equal(arch, "sm_89");
    tw_arch_name(10, 0, arch);
    assert_string_equal(arch, "sm_100a");
    tw_arch_name(12, 0, arch);
    assert_string_equal(arch, "sm_120a");
}

static void host_memory(void **state)
{
    unsigned char *bytes;
    void *host;
    uint64_t address;
    size_t size;

    (void)state;
    assert_int_equal(tw_device_host_alloc(device, 1000, &address, &host, &error), TW_OK);
    assert_int_equal(address, (uint64_t)(uintptr_t)host); /* unified addresses */
    bytes = host;
    for (int i = 0; i < 1000; i++)
        assert_int_equal(bytes[i], 0);
    tw_device_host_free(device, address, host);
    tw_device_host_free(device, 0, NULL);
    assert_int_equal(tw_device_host_alloc(device, (size_t)1 << 31, &address, &host, &error), TW_ERROR_MEMORY);
    assert_null(host);
    assert_non_null(strstr(error.text, "2147483648 bytes of the host's memory for Fake GPU"));
    assert_int_equal(tw_device_symbol(device, kernel, "tilewright_debug", &address, &size, &error),
                     TW_ERROR_NOT_FOUND);
    assert_string_equal(error.text, "kernel kern has no variable 'tilewright_debug'");
}

static void memory(void **state)
{
    unsigned char bytes[16], got[16];
    uint64_t address;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 17);
    assert_int_equal(tw_device_alloc(device, sizeof bytes, &address, &error), TW_OK);
    assert_int_equal(tw_device_upload(device, address, bytes, sizeof bytes, &error), TW_OK);
    assert_int_equal(tw_device_download(device, got, address, sizeof got, &error), TW_OK);
    assert_memory_equal(bytes, got, sizeof got);
    assert_int_equal(tw_device_fill(device, address, 0x04030201, 11, &error), TW_OK);
    assert_int_equal(tw_device_download(device, got, address, sizeof got, &error), TW_OK);
    assert_memory_equal(got, "\1\2\3\4\1\2\3\4\1\2\3", 11);
    assert_int_equal(got[11], bytes[11]);
    assert_int_equal(tw_device_fill(device, address + 2, 0, 4, &error), TW_ERROR_INVALID);
    assert_int_equal(tw_device_upload(device, 0, NULL, 0, &error), TW_OK);
    tw_device_free(device, address);
    assert_int_equal(tw_device_alloc(device, 0, &address, &error), TW_OK);
    tw_device_free(device, address);
    tw_device_free(device, 0);
    assert_int_equal(tw_device_alloc(device, (size_t)1 << 40, &address, &error), TW_ERROR_MEMORY);
    assert_string_equal(error.text, "allocating 1099511627776 bytes on Fake GPU: CUDA_ERROR_OUT_OF_MEMORY (out of "
                        "memory, 2)");
    assert_int_equal(address, 0);
}

static struct tw_launch plain_launch(void)
{
    struct tw_launch launch;

    memset(&launch, 0, sizeof launch);
    launch.kernel = kernel;
    launch.grid[0] = 8;
    launch.grid[1] = launch.grid[2] = 1;
    launch.block[0] = 128;
    return launch;
}

static void launch_plain(void **state)
{
    struct tw_launch launch = plain_launch();
    uint64_t params[3] = {1, 2, 3};

    (void)state;
    launch.params = params;
    launch.params_bytes = sizeof params;
    assert_int_equal(tw_device_launch(device, &launch, &error), TW_OK);
    assert_int_equal(fake.config.grid[0], 8);
    assert_int_equal(fake.config.block[0], 128);
    assert_int_equal(fake.config.block[2], 1);
    assert_int_equal(fake.config.attribute_count, 0);
    assert_ptr_equal(fake.config.stream, device->stream);
    assert_int_equal(fake.params_bytes, sizeof params);
    assert_memory_equal(fake.params, params, sizeof params);
    assert_int_equal(fake.dynamic_shared, 0);
    launch.params_bytes = 0;
    assert_int_equal(tw_device_launch(device, &launch, &error), TW_OK);
    assert_int_equal(fake.params_bytes, 0);
    assert_int_equal(tw_device_synchronize(device, &error), TW_OK);
}

static void *several[4];

static int note_arguments(const struct tw_launch_config *config, void *function, void **arguments, void **extra)
{
    (void)config, (void)function, (void)extra;
    memcpy(several, arguments, 3 * sizeof *arguments);
    return 0;
}

static void launch_several_parameters(void **state)
{
    struct tw_launch launch = plain_launch();
    const struct tw_driver *before = device->driver;
    struct tw_driver driver = *before;
    unsigned char params[40];
    uint32_t offsets[3] = {0, 8, 32};

    (void)state;
    driver.launch = note_arguments;
    device->driver = &driver;
    launch.params = params;
    launch.params_bytes = sizeof params;
    launch.offsets = offsets;
    launch.offset_count = 3;
    assert_int_equal(tw_device_launch(device, &launch, &error), TW_OK);
    for (int i = 0; i < 3; i++)
        assert_ptr_equal(several[i], params + offsets[i]);
    launch.offset_count = TW_LAUNCH_OFFSETS + 1;
    assert_int_equal(tw_device_launch(device, &launch, &error), TW_ERROR_INVALID);
    device->driver = before;
}

static void launch_with_attributes(void **state)
{
    struct tw_launch launch = plain_launch();

    (void)state;
    launch.cluster[0] = 2;
    launch.shared_bytes = 200000;
    launch.flags = TW_LAUNCH_PROGRAMMATIC;
    assert_int_equal(tw_device_launch(device, &launch, &error), TW_OK);
    assert_int_equal(fake.config.attribute_count, 2);
    assert_int_equal(fake.attributes[0].id, TW_CUDA_LAUNCH_CLUSTER);
    assert_int_equal(fake.attributes[0].value.cluster[0], 2);
    assert_int_equal(fake.attributes[0].value.cluster[1], 1);
    assert_int_equal(fake.attributes[1].id, TW_CUDA_LAUNCH_PROGRAMMATIC);
    assert_int_equal(fake.attributes[1].value.flag, 1);
    assert_int_equal(fake.config.shared_bytes, 200000);
    assert_int_equal(fake.dynamic_shared, 200000);
    launch.cluster[0] = 1;
    launch.flags = TW_LAUNCH_COOPERATIVE;
    assert_int_equal(tw_device_launch(device, &launch, &error), TW_OK);
    assert_int_equal(fake.config.attribute_count, 1);
    assert_int_equal(fake.attributes[0].id, TW_CUDA_LAUNCH_COOPERATIVE);
    assert_int_equal(fake.attributes[0].value.flag, 1);
    assert_int_equal(fake.attributes[0].value.cluster[1], 0);
}

static void launches_that_are_refused(void **state)
{
    struct tw_launch launch = plain_launch();

    (void)state;
    launch.grid[1] = 0;
    assert_int_equal(tw_device_launch(device, &launch, &error), TW_OK);
    launch = plain_launch();
    launch.block[0] = 257;
    assert_int_equal(tw_device_launch(device, &launch, &error), TW_ERROR_INVALID);
    launch.block[0] = 0x10000;
    launch.block[1] = 0x10000;
    assert_int_equal(tw_device_launch(device, &launch, &error), TW_ERROR_INVALID);
    launch = plain_launch();
    launch.cluster[0] = 3;
    assert_int_equal(tw_device_launch(device, &launch, &error), TW_ERROR_INVALID);
    launch = plain_launch();
    launch.shared_bytes = 232448 - 511; /* 512 are static */
    assert_int_equal(tw_device_launch(device, &launch, &error), TW_ERROR_UNSUPPORTED);
    assert_int_equal(fake.launches, 0);
    launch = plain_launch();
    fake.driver_result = 719;
    assert_int_equal(tw_device_launch(device, &launch, &error), TW_ERROR_DRIVER);
    assert_string_equal(error.text, "launching kernel kern: grid 8 x 1 x 1, block 128 x 1 x 1, cluster of 1, 0 bytes "
                        "of shared memory: CUDA_ERROR_UNKNOWN (unknown error, 719)");
}

static void timing(void **state)
{
    struct tw_launch launches[3];
    double seconds[5] = {0};
    size_t i;

    (void)state;
    for (i = 0; i < 3; i++)
        launches[i] = plain_launch();
    assert_int_equal(tw_device_time(device, launches, 3, 2, 5, seconds, &error), TW_OK);
    for (i = 0; i < 5; i++)
        assert_true(seconds[i] > 0.00049 && seconds[i] < 0.00051);
    assert_int_equal(fake.launches, 6); /* once plainly, once captured */
}

static void kernels_that_are_refused(void **state)
{
    struct tw_load load = {.ptx = ".entry other()", .entry = "other"};
    struct tw_kernel *other;

    (void)state;
    assert_int_equal(tw_device_load(device, &load, &other, &error), TW_ERROR_DRIVER);
    assert_null(other);
    load.entry = NULL;
    assert_int_equal(tw_device_load(device, &load, &other, &error), TW_ERROR_INVALID);
    load.entry = "kern";
    load.ptx = NULL;
    load.path = "/tmp/tw_no_such_file.cubin";
    assert_int_equal(tw_device_load(device, &load, &other, &error), TW_ERROR_NOT_FOUND);
}

static void no_such_gpu(void **state)
{
    struct tw_device *other;

    (void)state;
    assert_int_equal(tw_device_open_cuda(&rt, 1, &other, &error), TW_ERROR_NO_DEVICE);
    assert_int_equal(tw_device_open_cuda(&rt, -1, &other, &error), TW_ERROR_NO_DEVICE);
    assert_null(other);
}

static void no_driver(void **state)
{
    struct tw_device *other;
    struct tw_runtime bare;

    (void)state;
    fake_begin(&bare);
    fake.failing = FAKE_LOADER;
    fake.fail_at = 20; /* one of the symbols */
    assert_int_equal(tw_device_open_cuda(&bare, 0, &other, &error), TW_ERROR_OLD_DRIVER);
    assert_int_equal(strncmp(error.text, "the CUDA driver has no cu", 25), 0);
    tw_runtime_close(&bare);
    assert_true(fake_is_clean());
}

#define DEVICE_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(properties),
        DEVICE_TEST(host_memory),
        DEVICE_TEST(memory),
        DEVICE_TEST(launch_plain),
        DEVICE_TEST(launch_several_parameters),
        DEVICE_TEST(launch_with_attributes),
        DEVICE_TEST(launches_that_are_refused),
        DEVICE_TEST(timing),
        DEVICE_TEST(kernels_that_are_refused),
        DEVICE_TEST(no_such_gpu),
        cmocka_unit_test(no_driver),
    };

    return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}
