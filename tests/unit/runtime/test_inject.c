/* Compile, cache, load, launch and time, with call N of each table made to fail, for N = 1, 2, 3 ... until none is
   left. Every run ends in a status with a text, leaves nothing behind, and the next one is right. */
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "unit/check.h"
#include "device.h"
#include "fake_cuda.h"

static char root[64]; /* with a toolkit in cuda/ and the cache in cache/ */
static char cuda[80], cache[80];

static const char source[] = "extern \"C\" __global__ void kern() {}\n";
static const char *const options[] = {"-DB", "-DA"};

static int compile(struct tw_runtime *rt, struct tw_compiled *compiled, struct tw_error *error)
{
    struct tw_compile_request request;

    memset(&request, 0, sizeof request);
    request.source = source;
    request.source_bytes = sizeof source - 1;
    request.name = "/tilewright/kern.sm_90a.cu";
    request.entry = "kern";
    request.arch = "sm_90a";
    request.options = options;
    request.option_count = 2;
    request.outputs = TW_OUTPUT_CUBIN | TW_OUTPUT_PTX;
    return tw_compile_cached(rt, &request, compiled, error);
}

static int use_device(struct tw_runtime *rt, const struct tw_compiled *compiled, struct tw_error *error)
{
    struct tw_load load = {.cubin = compiled->cubin, .cubin_bytes = compiled->cubin_bytes, .entry = "kern"};
    struct tw_device *device = NULL;
    struct tw_kernel *kernel = NULL;
    struct tw_launch launch;
    unsigned char bytes[10] = {0};
    double seconds[2];
    uint64_t address = 0, params[3] = {0};
    int status;

    status = tw_device_open_cuda(rt, 0, &device, error);
    if (status == TW_OK)
        status = tw_device_load(device, &load, &kernel, error);
    if (status == TW_OK)
        status = tw_device_alloc(device, sizeof bytes, &address, error);
    if (status == TW_OK)
        status = tw_device_upload(device, address, bytes, sizeof bytes, error);
    if (status == TW_OK)
        status = tw_device_fill(device, address, 0xffffffff, sizeof bytes, error);
    memset(&launch, 0, sizeof launch);
    launch.kernel = kernel;
    launch.grid[0] = launch.grid[1] = launch.grid[2] = 1;
    launch.grid[0] = 16;
    launch.cluster[0] = 16; /* asks for all there is to ask for */
    launch.block[0] = 128;
    launch.shared_bytes = 100000;
    params[0] = address;
    launch.params = params;
    launch.params_bytes = sizeof params;
    if (status == TW_OK)
        status = tw_device_launch(device, &launch, error);
    if (status == TW_OK)
        status = tw_device_synchronize(device, error);
    if (status == TW_OK)
        status = tw_device_download(device, bytes, address, sizeof bytes, error);
    if (status == TW_OK)
        status = tw_device_time(device, &launch, 1, 1, 2, seconds, error);
    tw_device_free(device, address);
    tw_device_unload(device, kernel);
    tw_device_close(device);
    return status;
}

/* The whole way: a cold compile, a warm one, the device, and what the cache's commands do. */
static int whole_way(struct tw_runtime *rt, struct tw_error *error)
{
    struct tw_compiled compiled;
    struct tw_cache_item *items;
    struct tw_cache_swept swept;
    size_t count;
    int status, round;

    memset(&compiled, 0, sizeof compiled);
    for (round = 0; round < 2; round++) {
        tw_compiled_free(rt, &compiled);
        status = compile(rt, &compiled, error);
        if (status != TW_OK)
            goto done;
        assert_int_equal(compiled.info.registers, 40); /* TW_OK means that the bytes are right */
    }
    status = use_device(rt, &compiled, error);
    if (status != TW_OK)
        goto done;
    status = tw_cache_list(rt, cache, &items, &count, error);
    if (status != TW_OK)
        goto done;
    tw_free(rt, items);
    status = tw_cache_gc(rt, cache, 0, -1, &swept, error);

done:
    tw_compiled_free(rt, &compiled);
    return status;
}

static int command(const char *format, const char *a, const char *b)
{
    char line[256];

    snprintf(line, sizeof line, format, a, b);
    return system(line);
}

static int remove_one(const char *path, const struct stat *what, int kind, struct FTW *place)
{
    (void)what, (void)kind, (void)place;
    return remove(path);
}

/* Takes away the folder of the cache, if there is one; not by the shell, which is slow to start from valgrind. */
static void remove_cache(void)
{
    assert_true(nftw(cache, remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0 || errno == ENOENT);
}

static void begin_run(struct tw_runtime *rt)
{
    fake_begin(rt);
    fake_variable("CUDA_HOME", cuda);
    fake_variable("TILEWRIGHT_CACHE", cache);
}

/* Fail call 1, 2, 3 ... of these kinds. Returns how many there were. */
static long inject(unsigned kinds, int file_errno)
{
    struct tw_runtime rt;
    struct tw_error error;
    bool reached;
    long n;

    for (n = 1;; n++) {
        int status;

        remove_cache();
        begin_run(&rt);
        fake.failing = kinds;
        fake.fail_at = n;
        fake.file_errno = file_errno;
        error.text[0] = '\0';
        status = whole_way(&rt, &error);
        reached = fake.failed > 0;
        if (status != TW_OK && !error.text[0])
            fail_msg("call %ld: status %s without a text", n, tw_status_name(status));
        if (kinds == FAKE_MEMORY && status != TW_OK && status != TW_ERROR_MEMORY)
            fail_msg("call %ld: no memory gives %s: %s", n, tw_status_name(status), error.text);
        tw_runtime_close(&rt);
        if (!fake_is_clean())
            fail_msg("call %ld, %s: %s", n, tw_status_name(status), error.text);
        if (!reached) {
            assert_int_equal(status, TW_OK);
            print_message("each of %ld calls failed once\n", n - 1);
            return n - 1;
        }
        /* And with nothing failing, over whatever that left in the cache. */
        begin_run(&rt);
        if (whole_way(&rt, &error) != TW_OK)
            fail_msg("after call %ld: %s", n, error.text);
        tw_runtime_close(&rt);
        assert_true(fake_is_clean());
    }
}

static void memory_calls(void **state)
{
    (void)state;
    assert_true(inject(FAKE_MEMORY, 0) > 30);
}

static void file_calls(void **state)
{
    static const int errors[] = {EIO, ENOSPC, EROFS, ENOENT, EACCES, EMFILE};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof errors / sizeof *errors; i++)
        assert_true(inject(FAKE_FILES, errors[i]) > 30);
}

static void loader_calls(void **state)
{
    (void)state;
    assert_true(inject(FAKE_LOADER, 0) > 50);
}

static void nvrtc_calls(void **state)
{
    (void)state;
    assert_true(inject(FAKE_NVRTC, 0) >= 10);
}

static void driver_calls(void **state)
{
    (void)state;
    assert_true(inject(FAKE_DRIVER, 0) > 50);
}

static int begin(void **state)
{
    (void)state;
    strcpy(root, "/tmp/tw_test_inject_XXXXXX");
    if (!mkdtemp(root))
        return -1;
    snprintf(cuda, sizeof cuda, "%s/cuda", root);
    snprintf(cache, sizeof cache, "%s/cache", root);
    return command("mkdir -p %s/lib && echo x >%s/lib/libnvrtc.so.13", cuda, cuda) ||
           command("echo x >%s/lib/libnvrtc-builtins.so.13.0%s", cuda, "");
}

static int end(void **state)
{
    (void)state;
    return command("rm -rf %s%s", root, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_calls), cmocka_unit_test(file_calls),   cmocka_unit_test(loader_calls),
        cmocka_unit_test(nvrtc_calls),  cmocka_unit_test(driver_calls),
    };

    return cmocka_run_group_tests_name("inject", tests, begin, end);
}
