/* The emitted kernels: one interface over their types, which differ by name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "down.h"
#include "down_dynamic.h"
#include "tensor_parallel.h"
#include "up.h"
#include "up_dynamic.h"

const char *const schedule_word[SCHEDULES] = {"static", "spared", "dynamic"};

/* A multiprocessor attribute that is smaller by so many: persistent grids leave them to others. */
enum { COUNT = 16, SPARED_BLOCKS = 16, FEWEST = 64 };
static int spared;

static int attribute(int *value, int number, int device)
{
    const int result = cuda.device_attribute(value, number, device);
    if (!result && number == COUNT)
        *value -= spared;
    return result;
}

static void say(const char *kernel, const char *text)
{
    fprintf(stderr, "rank %d: %s: %s\n", group.rank, kernel, text);
    must(1, kernel);
}

static uint64_t workspace_for(uint64_t bytes)
{
    uint64_t address = 0;
    if (bytes) {
        must(cuda.allocate(&address, (bytes + 1) / 2 * 2), "cuMemAlloc");
        must(cuda.fill(address, 0, (bytes + 1) / 2), "cuMemsetD16");
    }
    return address;
}

/* NAME_open(kernel) and NAME_run(kernel, product, stream). WITH is done with the arguments of a launch. */
#define KERNEL(name, WITH)                                                                                             \
    static void name##_open(struct name *kernel)                                                                       \
    {                                                                                                                  \
        struct name##_error error;                                                                                     \
        struct name##_driver driver;                                                                                   \
        memset(&driver, 0, sizeof driver);                                                                             \
        driver.version = cuda.version;                                                                                 \
        driver.context_device = cuda.context_device;                                                                   \
        driver.device_attribute = attribute;                                                                           \
        driver.module_load = cuda.module_load;                                                                         \
        driver.module_unload = cuda.module_unload;                                                                     \
        driver.module_function = cuda.module_function;                                                                 \
        driver.function_set = cuda.function_set;                                                                       \
        driver.max_active_clusters = cuda.max_active_clusters;                                                         \
        driver.launch = cuda.launch;                                                                                   \
        driver.encode_tiled = cuda.encode_tiled;                                                                       \
        if (name##_load(kernel, &driver, &error))                                                                      \
            say(#name, error.text);                                                                                    \
    }                                                                                                                  \
    static void name##_run(const struct name *kernel, const struct product *p, void *stream)                           \
    {                                                                                                                  \
        struct name##_error error;                                                                                     \
        struct name##_args args;                                                                                       \
        memset(&args, 0, sizeof args);                                                                                 \
        args.A = (const void *)(uintptr_t)p->a;                                                                        \
        args.B = (const void *)(uintptr_t)p->b;                                                                        \
        args.D = (void *)(uintptr_t)p->d;                                                                              \
        args.bias = (const void *)(uintptr_t)p->bias;                                                                  \
        args.M = p->m;                                                                                                 \
        args.N = p->n;                                                                                                 \
        args.K = p->k;                                                                                                 \
        WITH(name)                                                                                                     \
        if (name##_launch(kernel, &args, stream, &error))                                                              \
            say(#name, error.text);                                                                                    \
    }

/* A workspace is zeroed once, and is of one launch at a time: all products run in one stream. */
#define WORKSPACE(name)                                                                                                \
    static uint64_t workspace, room;                                                                                   \
    uint64_t bytes;                                                                                                    \
    if (name##_workspace(kernel, &args, &bytes, &error))                                                               \
        say(#name, error.text);                                                                                        \
    if (bytes > room)                                                                                                  \
        workspace = workspace_for(room = bytes);                                                                       \
    args.workspace = (void *)(uintptr_t)workspace;
#define NO_WORKSPACE(name)

KERNEL(up, NO_WORKSPACE)
KERNEL(down, NO_WORKSPACE)
KERNEL(up_dynamic, WORKSPACE)
KERNEL(down_dynamic, WORKSPACE)

static struct up up_kernel[2]; /* STATIC and SPARED */
static struct down down_kernel[2];
static struct up_dynamic up_dynamic_kernel;
static struct down_dynamic down_dynamic_kernel;

const char *kernel_arch(void)
{
    struct up_info info;
    up_info(&up_kernel[STATIC], &info);
    return info.arch;
}

bool load_kernels(enum schedule schedule)
{
    static bool loaded[SCHEDULES];
    int multiprocessors;
    must(cuda.device_attribute(&multiprocessors, COUNT, group.device), "cuDeviceGetAttribute");
    if (loaded[schedule])
        return true;
    if (schedule == SPARED && multiprocessors < FEWEST)
        return false;
    spared = schedule == SPARED ? SPARED_BLOCKS : 0;
    if (schedule == DYNAMIC) {
        up_dynamic_open(&up_dynamic_kernel);
        down_dynamic_open(&down_dynamic_kernel);
    } else {
        up_open(&up_kernel[schedule]);
        down_open(&down_kernel[schedule]);
    }
    spared = 0;
    loaded[schedule] = true;
    return true;
}

void multiply(enum schedule schedule, bool is_up, const struct product *product, void *stream)
{
    if (schedule == DYNAMIC && is_up)
        up_dynamic_run(&up_dynamic_kernel, product, stream);
    else if (schedule == DYNAMIC)
        down_dynamic_run(&down_dynamic_kernel, product, stream);
    else if (is_up)
        up_run(&up_kernel[schedule], product, stream);
    else
        down_run(&down_kernel[schedule], product, stream);
}
