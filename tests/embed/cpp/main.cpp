// Two kernels in a C++ program, on the first GPU, else on the emulator: twice, then square, in one buffer each.
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

extern "C" {
#include "device.h"
#include "driver.h"
#include "emu/emu.h"
}
#include "square.h"
#include "twice.h"

namespace {

void check(int status, const char *text)
{
    if (status)
        throw std::runtime_error(text);
}

// Both have the same entry points under names of their own.
template <class Table> Table table_of(const tw_driver *driver)
{
    Table table{};
    table.version = driver->version;
    table.context_device = driver->context_device;
    table.device_attribute = driver->device_attribute;
    table.module_load = driver->module_load;
    table.module_unload = driver->module_unload;
    table.module_function = driver->module_function;
    table.function_set = driver->function_set;
    table.launch = reinterpret_cast<int (*)(const void *, void *, void **, void **)>(driver->launch);
    return table;
}

template <class Arguments> Arguments arguments(std::uint64_t from, std::uint64_t to, int rows, int columns)
{
    Arguments args{};
    args.x = reinterpret_cast<const void *>(from);
    args.y = reinterpret_cast<void *>(to);
    args.R = rows;
    args.C = columns;
    return args;
}

void run(tw_device *gpu)
{
    constexpr int rows = 4, columns = 777;
    std::vector<float> values(rows * columns), result(values.size());
    const std::size_t bytes = values.size() * sizeof(float);
    tw_error error;
    std::uint64_t buffer[3];
    for (std::size_t i = 0; i < values.size(); i++)
        values[i] = static_cast<float>(i % 1000);
    for (std::uint64_t &address : buffer)
        check(tw_device_alloc(gpu, bytes, &address, &error), error.text);
    check(tw_device_upload(gpu, buffer[0], values.data(), bytes, &error), error.text);

    struct twice first;
    struct square second;
    twice_error why;
    square_error why_second;
    const auto table = table_of<twice_driver>(gpu->driver);
    const auto table_second = table_of<square_driver>(gpu->driver);
    check(twice_load(&first, &table, &why), why.text);
    check(square_load(&second, &table_second, &why_second), why_second.text);
    const auto args = arguments<twice_args>(buffer[0], buffer[1], rows, columns);
    const auto args_second = arguments<square_args>(buffer[1], buffer[2], rows, columns);
    check(twice_launch(&first, &args, gpu->stream, &why), why.text);
    check(square_launch(&second, &args_second, gpu->stream, &why_second), why_second.text);
    check(tw_device_download(gpu, result.data(), buffer[2], bytes, &error), error.text);
    for (std::size_t i = 0; i < values.size(); i++)
        if (result[i] != 4 * values[i] * values[i])
            throw std::runtime_error("element " + std::to_string(i) + " is " + std::to_string(result[i]));
    twice_unload(&first, nullptr);
    square_unload(&second, nullptr);
}

} // namespace

int main()
{
    tw_runtime runtime;
    tw_device *gpu = nullptr;
    tw_error error;
    try {
        check(tw_runtime_init(&runtime, &error), error.text);
        if (tw_device_open_cuda(&runtime, 0, &gpu, &error))
            check(tw_device_open_emu(&runtime, nullptr, &gpu, &error), error.text);
        check(tw_device_enter(gpu, &error), error.text);
        run(gpu);
        std::printf("right on %s\n", gpu->name);
    } catch (const std::exception &e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
    tw_device_close(gpu);
    tw_runtime_close(&runtime);
    return 0;
}
