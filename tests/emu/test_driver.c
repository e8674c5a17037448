/* The emulator behind the driver's entry points: memory, modules, launches with several parameters, and how each kind
   of failure comes back. What an emitted NAME.c does with them, `run` shows. */
#include "unit/check.h"

#include <string.h>

#include "driver.h"
#include "emu/driver_emu.h"
#include "emu/emu.h"
#include "nvrtc.h"
#include "tensormap/tensormap.h"

static struct tw_runtime rt;
static struct tw_device *device;
static const struct tw_driver *driver;
static struct tw_error error;

/* words[thread] = value + add[0] of the module's variable; where value is 0, a store that nobody's memory has. */
static const char ptx[] = ".version 8.0\n.target sm_90a\n.address_size 64\n"
                          ".visible .global .align 4 .u32 add = 5;\n"
                          ".visible .entry store(.param .u64 words, .param .u32 value)\n{\n"
                          ".reg .b64 %rd<5>;\n.reg .b32 %r<5>;\n.reg .pred %p;\n"
                          "ld.param.u64 %rd1, [words];\nld.param.u32 %r1, [value];\n"
                          "setp.eq.u32 %p, %r1, 0;\n@%p mov.u64 %rd1, 0;\n"
                          "ld.global.u32 %r2, [add];\nadd.u32 %r1, %r1, %r2;\n"
                          "mov.u32 %r3, %tid.x;\nmul.wide.u32 %rd2, %r3, 4;\nadd.u64 %rd1, %rd1, %rd2;\n"
                          "st.global.u32 [%rd1], %r1;\nret;\n}\n";

static int open_device(void **state)
{
    (void)state;
    if (tw_runtime_init(&rt, &error) != TW_OK || tw_device_open_emu(&rt, NULL, &device, &error) != TW_OK)
        return -1;
    driver = device->driver;
    return tw_device_enter(device, &error);
}

static int close_device(void **state)
{
    (void)state;
    tw_device_close(device);
    tw_runtime_close(&rt);
    return 0;
}

static void memory(void **state)
{
    uint64_t address;
    uint32_t word[4] = {1, 2, 3, 4}, back[4];
    (void)state;
    assert_int_equal(driver->memory_alloc(&address, sizeof word), 0);
    assert_int_equal(driver->copy_to_device(address, word, sizeof word), 0);
    assert_int_equal(driver->fill_32(address, 9, 1), 0);
    assert_int_equal(driver->fill_8(address + 12, 7, 4), 0);
    assert_int_equal(driver->copy_from_device(back, address, sizeof back), 0);
    assert_int_equal(back[0], 9);
    assert_int_equal(back[1], 2);
    assert_int_equal(back[3], 0x07070707);
    assert_int_equal(driver->memory_free(address), 0);
    assert_int_equal(driver->copy_from_device(back, address, sizeof back), 1);
    assert_non_null(strstr(emu_driver_fault(), "not all allocated"));
}

static void modules(void **state)
{
    void *module, *function, *again;
    uint64_t address;
    size_t bytes;
    int value;
    (void)state;
    assert_int_equal(driver->module_load(&module, "\177ELF and so on"), TW_CUDA_NO_BINARY_FOR_GPU);
    assert_non_null(strstr(emu_driver_fault(), "PTX, not cubins"));
    assert_int_equal(driver->module_load(&module, ptx), 0);
    assert_int_equal(driver->module_function(&function, module, "nobody"), TW_CUDA_NOT_FOUND);
    assert_int_equal(driver->module_function(&function, module, "store"), 0);
    assert_int_equal(driver->module_function(&again, module, "store"), 0);
    assert_ptr_equal(function, again);
    assert_int_equal(driver->module_global(&address, &bytes, module, "add"), 0);
    assert_int_equal(bytes, 4);
    assert_int_equal(driver->copy_from_device(&value, address, 4), 0);
    assert_int_equal(value, 5);
    assert_int_equal(driver->function_set(function, TW_CUDA_FUNCTION_DYNAMIC_SHARED, 200000), 0);
    assert_int_equal(driver->function_set(function, TW_CUDA_FUNCTION_DYNAMIC_SHARED, 300000), 1);
    assert_int_equal(driver->function_get(&value, TW_CUDA_FUNCTION_MAX_THREADS, function), 0);
    assert_int_equal(value, 1024);
    assert_int_equal(driver->module_unload(module), 0);
}

static void launches(void **state)
{
    void *module, *function;
    uint64_t words;
    uint32_t value = 37, back[32];
    void *arguments[] = {&words, &value};
    (void)state;
    assert_int_equal(driver->memory_alloc(&words, sizeof back), 0);
    assert_int_equal(driver->module_load(&module, ptx), 0);
    assert_int_equal(driver->module_function(&function, module, "store"), 0);
    struct tw_launch_attribute attribute = {.id = TW_CUDA_LAUNCH_PROGRAMMATIC, .value = {.flag = 1}};
    struct tw_launch_config config = {.grid = {1, 1, 1}, .block = {32, 1, 1}, .attributes = &attribute,
                                      .attribute_count = 1};
    assert_int_equal(driver->launch(&config, function, arguments, NULL), 0);
    assert_int_equal(driver->copy_from_device(back, words, sizeof back), 0);
    for (int i = 0; i < 32; i++)
        assert_int_equal(back[i], 42);
    value = 1;
    assert_int_equal(driver->launch_plain(function, 1, 1, 1, 2, 1, 1, 0, NULL, arguments, NULL), 0);
    assert_int_equal(driver->copy_from_device(back, words, sizeof back), 0);
    assert_int_equal(back[1], 6);
    assert_int_equal(back[2], 42);
    value = 0;
    assert_int_not_equal(driver->launch(&config, function, arguments, NULL), 0);
    assert_int_equal(emu_driver_status(), TW_ERROR_LAUNCH);
    assert_non_null(strstr(emu_driver_fault(), "BOUNDS"));
    attribute.id = 77;
    assert_int_equal(driver->launch(&config, function, arguments, NULL), 801);
    assert_int_equal(driver->module_unload(module), 0);
    assert_int_equal(driver->memory_free(words), 0);
}

static void maps(void **state)
{
    const uint64_t extent[] = {64, 100}, stride[] = {128};
    const uint32_t box[] = {64, 32}, step[] = {1, 1};
    uint64_t map[16], want[16];
    (void)state;
    const struct tw_tensormap_call call = {.func = TW_TENSORMAP_TILED, .dtype = 9, .rank = 2, .addr = 0x10000,
                                           .dim = {64, 100}, .stride = {128}, .box = {64, 32}, .estride = {1, 1},
                                           .swizzle = 3, .l2 = 2};
    assert_int_equal(driver->encode_tiled(map, 9, 2, (void *)(uintptr_t)0x10000, extent, stride, box, step, 0, 3, 2, 0),
                     0);
    assert_int_equal(tw_tensormap_encode(&call, 90, want), TW_OK);
    assert_memory_equal(map, want, sizeof map);
    assert_int_equal(driver->encode_tiled(map, 9, 2, (void *)(uintptr_t)0x10001, extent, stride, box, step, 0, 3, 2, 0),
                     1);
}

static void without_a_device(void **state)
{
    int value;
    uint64_t address;
    void *module;
    (void)state;
    assert_int_equal(driver->device_attribute(&value, TW_CUDA_MAJOR, 0), 0);
    assert_int_equal(value, 9);
    assert_int_equal(driver->context_set(NULL), 0);
    assert_int_equal(driver->context_device(&value), 201);
    assert_int_equal(driver->memory_alloc(&address, 4), 201);
    assert_int_equal(driver->module_load(&module, ptx), 201);
    assert_int_equal(tw_device_enter(device, &error), TW_OK);
    assert_int_equal(driver->context_device(&value), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory), cmocka_unit_test(modules), cmocka_unit_test(launches),
        cmocka_unit_test(maps),   cmocka_unit_test(without_a_device),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
