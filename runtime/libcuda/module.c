/* Modules and libraries, which are the same here, and their kernels and variables. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "record/fatbin.h"
#include "record/recorder.h"

/* What nvcc emits around a fat binary (fatBinaryCtl.h). */
struct wrapper {
    uint32_t magic, version;
    const void *fatbin;
    const void *const *linked; /* version 2: fat binaries that were linked to this one; ends with NULL */
};
#define WRAPPER_MAGIC UINT32_C(0x466243b1)
#define ELF_MAGIC UINT32_C(0x464c457f)

static struct cu_module *all_modules;

/* ---- Loading ----------------------------------------------------------------------------------------------------- */

static int load_ptx(struct cu_module **out, const char *ptx, size_t bytes)
{
    struct tw_error error;
    struct cu_module *module = calloc(1, sizeof *module);
    if (!module)
        return CUDA_ERROR_OUT_OF_MEMORY;
    int status = emu_image_load(cu.device, ptx, bytes, &module->image, &error);
    if (status) {
        free(module);
        return status == TW_ERROR_MEMORY ? cu_result(status, &error)
                                         : cu_refuse(CUDA_ERROR_INVALID_PTX, "%s", error.text);
    }
    module->next = all_modules;
    all_modules = module;
    *out = module;
    recorder_module(module, ptx);
    return CUDA_SUCCESS;
}

static int load_fatbin(struct cu_module **module, const void *fatbin)
{
    char why[FATBIN_WHY];
    size_t bytes = 0;
    char *ptx = cu_fatbin_ptx(fatbin, cu_fatbin_bytes(fatbin), cu.device->arch, &bytes, why);
    if (!ptx)
        return cu_refuse(CUDA_ERROR_NO_BINARY_FOR_GPU, "%s", why);
    int result = load_ptx(module, ptx, bytes);
    free(ptx);
    return result;
}

/* What was linked on the device (nvcc -rdc=true) is machine code: what holds PTX is one of the files that it was made
 * of. NULL: several do, and PTX is not linked here. */
static const void *unwrap(const void *image)
{
    struct wrapper wrapper;
    const void *with_ptx = NULL;
    memcpy(&wrapper, image, sizeof wrapper);
    if (wrapper.version != 2 || !wrapper.linked || !wrapper.linked[0])
        return wrapper.fatbin;
    for (size_t i = 0; wrapper.linked[i]; i++) {
        char why[FATBIN_WHY], *ptx;
        size_t bytes;
        if (!cu_fatbin_bytes(wrapper.linked[i]) ||
            !(ptx = cu_fatbin_ptx(wrapper.linked[i], cu_fatbin_bytes(wrapper.linked[i]), cu.device->arch, &bytes, why)))
            continue;
        free(ptx);
        if (with_ptx)
            return NULL;
        with_ptx = wrapper.linked[i];
    }
    return with_ptx ? with_ptx : wrapper.fatbin;
}

static int load_image(struct cu_module **module, const void *image)
{
    if (cu_image_begins(image, WRAPPER_MAGIC) && !(image = unwrap(image)))
        return cu_refuse(CUDA_ERROR_NO_BINARY_FOR_GPU,
                         "several files were linked on the device (nvcc -rdc=true), which "
                         "gives machine code; let one file include the others");
    if (cu_fatbin_bytes(image))
        return load_fatbin(module, image);
    if (cu_image_begins(image, ELF_MAGIC))
        return cu_refuse(CUDA_ERROR_NO_BINARY_FOR_GPU, "a cubin is machine code: the emulator executes PTX");
    return load_ptx(module, image, strlen(image));
}

int cu_module_load(struct cu_module **module, const void *image)
{
    if (!module || !image)
        return CUDA_ERROR_INVALID_VALUE;
    int result = load_image(module, image);
    cu_tell_module(result);
    return result;
}

/* A wrapper has pointers, which those of a file are not. */
static int load_file(struct cu_module **module, const char *path)
{
    enum { HEADER = 16 }; /* bytes of a fat binary that say how many it has */
    if (!path)
        return CUDA_ERROR_INVALID_VALUE;
    unsigned char *bytes;
    size_t count;
    struct tw_error error;
    int status = tw_read_file(&cu.rt, path, 0, &bytes, &count, &error);
    if (status)
        return cu_refuse(CUDA_ERROR_FILE_NOT_FOUND, "%s", error.text);
    int result, is_fatbin = cu_image_begins(bytes, FATBIN_MAGIC);
    if (cu_image_begins(bytes, WRAPPER_MAGIC))
        result = cu_refuse(CUDA_ERROR_INVALID_IMAGE, "%s: neither PTX nor a fat binary (nvcc -fatbin)", path);
    else if (is_fatbin && (count < HEADER || cu_fatbin_bytes(bytes) > count))
        result = cu_refuse(CUDA_ERROR_INVALID_IMAGE, "%s: the fat binary is cut off", path);
    else
        result = cu_module_load(module, bytes);
    tw_free(&cu.rt, bytes);
    return result;
}

static int unload(struct cu_module *module)
{
    struct cu_module **at = &all_modules;
    while (*at && *at != module)
        at = &(*at)->next;
    if (!*at)
        return CUDA_ERROR_INVALID_HANDLE;
    *at = module->next;
    recorder_module_gone(module);
    while (module->functions) {
        struct cu_function *f = module->functions;
        module->functions = f->next;
        tw_device_unload(cu.device, f->kernel);
        free(f->name);
        free(f);
    }
    emu_image_unload(module->image);
    free(module);
    return CUDA_SUCCESS;
}

int cuModuleLoad(struct cu_module **module, const char *path)
{
    ENTER(cuModuleLoad);
    return load_file(module, path);
}

int cuModuleLoadData(struct cu_module **module, const void *image)
{
    ENTER(cuModuleLoadData);
    return cu_module_load(module, image);
}

/* Options are those of a compiler and linker that are not there; a log is empty. */
int cuModuleLoadDataEx(struct cu_module **module, const void *image, unsigned count, int *options, void **values)
{
    ENTER(cuModuleLoadDataEx);
    enum { INFO_LOG = 3, ERROR_LOG = 5 };
    for (unsigned i = 0; i < count; i++)
        if ((options[i] == INFO_LOG || options[i] == ERROR_LOG) && values[i])
            *(char *)values[i] = '\0';
    return cu_module_load(module, image);
}

int cuModuleLoadFatBinary(struct cu_module **module, const void *image)
{
    ENTER(cuModuleLoadFatBinary);
    return cu_module_load(module, image);
}

int cuModuleUnload(struct cu_module *module)
{
    ENTER(cuModuleUnload);
    return unload(module);
}

int cuModuleGetLoadingMode(int *mode)
{
    ENTER_FIRST(cuModuleGetLoadingMode);
    *mode = 2; /* CU_MODULE_LAZY_LOADING */
    return CUDA_SUCCESS;
}

int cuLibraryLoadData(struct cu_module **library, const void *image, int *options, void **values, unsigned count,
                      int *more, void **more_values, unsigned more_count)
{
    ENTER_ANY(cuLibraryLoadData);
    (void)options, (void)values, (void)count, (void)more, (void)more_values, (void)more_count;
    return cu_module_load(library, image);
}

int cuLibraryLoadFromFile(struct cu_module **library, const char *path, int *options, void **values, unsigned count,
                          int *more, void **more_values, unsigned more_count)
{
    ENTER_ANY(cuLibraryLoadFromFile);
    (void)options, (void)values, (void)count, (void)more, (void)more_values, (void)more_count;
    return load_file(library, path);
}

int cuLibraryUnload(struct cu_module *library)
{
    ENTER_ANY(cuLibraryUnload);
    return unload(library);
}

int cuLibraryGetModule(struct cu_module **module, struct cu_module *library)
{
    ENTER_ANY(cuLibraryGetModule);
    *module = library;
    return CUDA_SUCCESS;
}

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */

static int find_function(struct cu_function **out, struct cu_module *module, const char *name)
{
    const char *known;
    if (!module || !name)
        return CUDA_ERROR_INVALID_HANDLE;
    for (struct cu_function *f = module->functions; f; f = f->next)
        if (strcmp(f->name, name) == 0) {
            *out = f;
            return CUDA_SUCCESS;
        }
    for (size_t i = 0; (known = emu_image_kernel_name(module->image, i)); i++)
        if (strcmp(known, name) == 0)
            break;
    if (!known)
        return CUDA_ERROR_NOT_FOUND;
    struct cu_function *made = calloc(1, sizeof *made);
    if (!made || !(made->name = strdup(name))) {
        free(made);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->module = module;
    made->dynamic_shared = -1;
    made->next = module->functions;
    module->functions = made;
    recorder_function(made, module, name, 0);
    *out = made;
    return CUDA_SUCCESS;
}

int cu_function_load(struct cu_function *function)
{
    struct tw_error error;
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    if (function->kernel)
        return CUDA_SUCCESS;
    int status = emu_image_kernel(function->module->image, function->name, &function->kernel, &error);
    if (status)
        cu_tell_failure();
    return status ? cu_refuse(status == TW_ERROR_MEMORY        ? CUDA_ERROR_OUT_OF_MEMORY
                              : status == TW_ERROR_UNSUPPORTED ? CUDA_ERROR_NOT_SUPPORTED
                                                               : CUDA_ERROR_INVALID_PTX,
                              "kernel %s: %s", function->name, error.text)
                  : CUDA_SUCCESS;
}

static int count_functions(unsigned *count, const struct cu_module *module)
{
    if (!module)
        return CUDA_ERROR_INVALID_HANDLE;
    for (*count = 0; emu_image_kernel_name(module->image, *count); ++*count)
        continue;
    return CUDA_SUCCESS;
}

static int list_functions(struct cu_function **functions, unsigned count, struct cu_module *module)
{
    const char *name;
    int result = module ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    for (unsigned i = 0; i < count && !result && (name = emu_image_kernel_name(module->image, i)); i++)
        result = find_function(&functions[i], module, name);
    return result;
}

int cuModuleGetFunction(struct cu_function **function, struct cu_module *module, const char *name)
{
    ENTER(cuModuleGetFunction);
    return find_function(function, module, name);
}

int cuModuleGetFunctionCount(unsigned *count, struct cu_module *module)
{
    ENTER(cuModuleGetFunctionCount);
    return count_functions(count, module);
}

int cuModuleEnumerateFunctions(struct cu_function **functions, unsigned count, struct cu_module *module)
{
    ENTER(cuModuleEnumerateFunctions);
    return list_functions(functions, count, module);
}

int cuLibraryGetKernel(struct cu_function **kernel, struct cu_module *library, const char *name)
{
    ENTER_ANY(cuLibraryGetKernel);
    return find_function(kernel, library, name);
}

int cuLibraryGetKernelCount(unsigned *count, struct cu_module *library)
{
    ENTER_ANY(cuLibraryGetKernelCount);
    return count_functions(count, library);
}

int cuLibraryEnumerateKernels(struct cu_function **kernels, unsigned count, struct cu_module *library)
{
    ENTER_ANY(cuLibraryEnumerateKernels);
    return list_functions(kernels, count, library);
}

int cuKernelGetFunction(struct cu_function **function, struct cu_function *kernel)
{
    ENTER(cuKernelGetFunction);
    *function = kernel;
    return kernel ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

int cuKernelGetLibrary(struct cu_module **library, struct cu_function *kernel)
{
    ENTER_ANY(cuKernelGetLibrary);
    if (!kernel)
        return CUDA_ERROR_INVALID_HANDLE;
    *library = kernel->module;
    return CUDA_SUCCESS;
}

int cuKernelGetName(const char **name, struct cu_function *kernel)
{
    ENTER_ANY(cuKernelGetName);
    if (!kernel)
        return CUDA_ERROR_INVALID_HANDLE;
    *name = kernel->name;
    return CUDA_SUCCESS;
}

int cuFuncGetModule(struct cu_module **module, struct cu_function *function)
{
    ENTER(cuFuncGetModule);
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    *module = function->module;
    return CUDA_SUCCESS;
}

int cuFuncGetName(const char **name, struct cu_function *function)
{
    return cuKernelGetName(name, function);
}

int cuFuncIsLoaded(int *state, struct cu_function *function)
{
    ENTER(cuFuncIsLoaded);
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    *state = function->kernel != NULL;
    return CUDA_SUCCESS;
}

int cuFuncIsKnown(const struct cu_function *function)
{
    ENTER_FIRST(cuFuncIsKnown);
    for (const struct cu_module *m = all_modules; m; m = m->next)
        for (const struct cu_function *f = m->functions; f; f = f->next)
            if (f == function)
                return 1;
    return 0;
}

int cuFuncLoad(struct cu_function *function)
{
    ENTER(cuFuncLoad);
    return cu_function_load(function);
}

int cuKernelGetParamInfo(struct cu_function *kernel, size_t index, size_t *offset, size_t *bytes)
{
    ENTER_ANY(cuKernelGetParamInfo);
    uint32_t at, count;
    int result = cu_function_load(kernel);
    if (result)
        return result;
    if (emu_kernel_parameter(kernel->kernel, index, &at, &count))
        return CUDA_ERROR_INVALID_VALUE;
    *offset = at;
    if (bytes)
        *bytes = count;
    return CUDA_SUCCESS;
}

int cuFuncGetParamInfo(struct cu_function *function, size_t index, size_t *offset, size_t *bytes)
{
    return cuKernelGetParamInfo(function, index, offset, bytes);
}

/* ---- Variables --------------------------------------------------------------------------------------------------- */

static int find_variable(uint64_t *address, size_t *bytes, struct cu_module *module, const char *name)
{
    uint64_t at;
    size_t count;
    if (!module || emu_image_symbol(module->image, name, &at, &count, NULL))
        return CUDA_ERROR_NOT_FOUND;
    if (address)
        *address = at;
    if (bytes)
        *bytes = count;
    return CUDA_SUCCESS;
}

int cuModuleGetGlobal_v2(uint64_t *address, size_t *bytes, struct cu_module *module, const char *name)
{
    ENTER(cuModuleGetGlobal_v2);
    return find_variable(address, bytes, module, name);
}

int cuLibraryGetGlobal(uint64_t *address, size_t *bytes, struct cu_module *library, const char *name)
{
    ENTER(cuLibraryGetGlobal);
    return find_variable(address, bytes, library, name);
}

/* __managed__ variables are pointers that the host fills: they need memory that both have. */
int cuLibraryGetManaged(uint64_t *address, size_t *bytes, struct cu_module *library, const char *name)
{
    ENTER(cuLibraryGetManaged);
    (void)address, (void)bytes, (void)library;
    return cu_refuse(CUDA_ERROR_NOT_SUPPORTED, "__managed__ variable %s: use cudaMallocManaged", name);
}
