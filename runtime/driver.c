#include "driver.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(struct tw_launch_attribute) == 72, "CUlaunchAttribute has 72 bytes");
_Static_assert(sizeof(struct tw_launch_config) == 56, "CUlaunchConfig has 56 bytes");

/* Beside the loader's own search: containers, NixOS and WSL keep the driver where no cache lists it. */
static const char *const driver_names[] = {
    "libcuda.so.1",
    "/usr/local/nvidia/lib64/libcuda.so.1",
    "/run/opengl-driver/lib/libcuda.so.1",
    "/usr/lib/wsl/lib/libcuda.so.1",
};

int tw_driver_check(const struct tw_driver *driver, int result, struct tw_error *error, const char *attempt, ...)
{
    const char *name = NULL, *words = NULL;
    char text[512];
    va_list args;

    if (!result)
        return TW_OK;
    va_start(args, attempt);
    vsnprintf(text, sizeof text, attempt, args);
    va_end(args);
    if (driver->error_name(result, &name) || !name)
        name = "unknown error";
    if (driver->error_string(result, &words) || !words)
        words = "no description";
    return tw_fail(error, result == TW_CUDA_OUT_OF_MEMORY ? TW_ERROR_MEMORY : TW_ERROR_DRIVER, "%s: %s (%s, %d)", text,
                   name, words, result);
}

static int open_locked(struct tw_runtime *rt, struct tw_error *error)
{
    const char *why = NULL, *first = NULL, *missing = NULL;
    char first_why[512] = "";
    struct tw_driver *driver;
    void *library = NULL;
    int status, result;
    size_t i;

    if (rt->driver)
        return TW_OK;
    driver = tw_alloc_zeroed(rt, sizeof *driver);
    if (!driver)
        return tw_fail(error, TW_ERROR_MEMORY, "no memory for the driver's table");
    for (i = 0; i < sizeof driver_names / sizeof *driver_names && !library; i++) {
        library = rt->loader.open(rt->loader.self, driver_names[i], 0, &why);
        if (!library && !first) {
            first = driver_names[i];
            snprintf(first_why, sizeof first_why, "%s", why ? why : "not found");
        }
    }
    if (!library) {
        status = tw_fail(error, TW_ERROR_NO_DRIVER, "no CUDA driver: %s", first_why);
        goto fail;
    }
#define DRIVER_CALL(field, symbol, required, arguments)                                                                \
    if (!tw_resolve(rt, library, symbol, &driver->field) && (required) && !missing)                                    \
        missing = symbol;
#include "driver_calls.def"
#undef DRIVER_CALL
    if (missing) {
        status = tw_fail(error, TW_ERROR_OLD_DRIVER, "the CUDA driver has no %s", missing);
        goto fail;
    }
    result = driver->init(0);
    status = tw_driver_check(driver, result, error, "cuInit");
    if (result == TW_CUDA_NO_DEVICE)
        status = TW_ERROR_NO_DEVICE;
    else if (status != TW_OK)
        status = TW_ERROR_NO_DRIVER;
    if (status != TW_OK)
        goto fail;
    rt->driver = rt->own_driver = driver;
    rt->driver_library = library;
    return TW_OK;

fail:
    if (library)
        rt->loader.close(rt->loader.self, library);
    tw_free(rt, driver);
    return status;
}

int tw_driver_open(struct tw_runtime *rt, struct tw_error *error)
{
    int status;

    pthread_mutex_lock(&rt->mutex);
    status = open_locked(rt, error);
    pthread_mutex_unlock(&rt->mutex);
    return status;
}

void tw_driver_close(struct tw_runtime *rt)
{
    if (!rt->own_driver)
        return;
    rt->loader.close(rt->loader.self, rt->driver_library);
    tw_free(rt, rt->own_driver);
    rt->driver = rt->own_driver = NULL;
    rt->driver_library = NULL;
}
