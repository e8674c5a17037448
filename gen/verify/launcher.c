#include "verify/launcher.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver.h"
#include "dtype.h"
#include "emu/driver_emu.h"
#include "verify/layout.h"

enum { LAUNCHER_TENSORS = 64, LAUNCHER_SCALARS = 64, SCALAR_BYTES = 8, PAIR_INVALID = 1 };

/* struct NAME_driver of templates/host/kernel.h, as its module_load and module_function are handed over here. */
struct entry_points {
    int (*version)(int *version);
    int (*context_device)(int *device);
    int (*device_attribute)(int *value, int attribute, int device);
    int (*module_load)(void **module, const void *image);
    int (*module_unload)(void *module);
    int (*module_function)(void **function, void *module, const char *name);
    int (*function_set)(void *function, int attribute, int value);
    int (*max_active_clusters)(int *clusters, void *function, const struct tw_launch_config *config);
    int (*launch)(const struct tw_launch_config *config, void *function, void **arguments, void **extra);
    int (*encode_tiled)(void *map, int type, uint32_t rank, void *address, const uint64_t *extents,
                        const uint64_t *strides, const uint32_t *box, const uint32_t *element_strides, int interleave,
                        int swizzle, int promotion, int fill);
    void (*more[2])(void); /* device_name of a pair with set-ups, then encode_im2col of one with windows */
};

/* Of templates/host/caller.c. */
struct caller_arguments {
    const uint64_t *address, *align;
    const int64_t *const *stride;
    const int64_t *symbol;
    const void *const *scalar;
    uint64_t workspace;
    void *stream;
};

struct caller_outcome {
    int status, driver_result, variant;
    uint32_t grid[3];
    uint64_t workspace;
    char text[1000];
};

struct caller {
    size_t (*bytes)(void);
    int (*load)(void *kernel, const void *entry_points, struct caller_outcome *outcome);
    int (*unload)(void *kernel, struct caller_outcome *outcome);
    int (*workspace)(const void *kernel, const struct caller_arguments *arguments, struct caller_outcome *outcome);
    int (*ask)(const void *kernel, const struct caller_arguments *arguments, struct caller_outcome *outcome);
    int (*launch)(const void *kernel, const struct caller_arguments *arguments, struct caller_outcome *outcome);
    int32_t (*choose)(void *kernel, int32_t choice); /* NULL: there are no set-ups */
};

struct launcher {
    struct compile *compile;
    int unit[COMPILE_LIBRARY_UNITS];
    int count;
    int file;      /* the library's, in memory: open as long as it is loaded, so that its name is nobody else's */
    void *library;
    struct caller call;
    void *kernel;  /* struct NAME */
    int32_t choice; /* of set-ups, by the sizes */
    bool loaded, ptx;
    struct tw_device *device;
    void *module[COMPILE_LIBRARY_UNITS], *function[COMPILE_LIBRARY_UNITS];
    struct layout_shared shared; /* of the last launch */
};

static bool is_emulated(const struct tw_device *device)
{
    return device->driver == &emu_driver_table;
}

bool launcher_runs_on(const struct arch *arch, const struct tw_device *device)
{
    if (strspn(arch->name + 3, "0123456789") != strlen(arch->name + 3))
        return arch->major == device->major && arch->minor == device->minor;
    return arch->major < device->major || (arch->major == device->major && arch->minor <= device->minor);
}

bool launcher_needs_ptx(const struct arch *arch, const struct tw_device *device)
{
    return is_emulated(device) || arch->major != device->major;
}

const struct compile_unit *launcher_unit(const struct launcher *l, int variant)
{
    return &l->compile->unit[l->unit[variant]];
}

static const struct plan *plan_of(const struct launcher *l, int variant)
{
    return &launcher_unit(l, variant)->plan;
}

/* ---- the library ------------------------------------------------------------------------------------------------- */

/* POSIX: a function's address has the representation of a void *. */
static bool find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

static int open_library(struct launcher *l, const struct tw_compiled *library, struct tw_error *error)
{
    char path[64];
    l->file = memfd_create("tilewright-launcher", MFD_CLOEXEC);
    if (l->file < 0 || tw_write_all(&l->compile->rt, l->file, library->cubin, library->cubin_bytes) != 0)
        return tw_fail(error, TW_ERROR_FILE, "cannot keep the launcher in memory");
    snprintf(path, sizeof path, "/proc/self/fd/%d", l->file);
    l->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!l->library)
        return tw_fail(error, TW_ERROR_FILE, "the compiled launcher does not load: %s", dlerror());
    if (!find(l->library, "caller_bytes", &l->call.bytes) ||
        !find(l->library, "caller_load", &l->call.load) || !find(l->library, "caller_unload", &l->call.unload) ||
        !find(l->library, "caller_workspace", &l->call.workspace) || !find(l->library, "caller_ask", &l->call.ask) ||
        !find(l->library, "caller_launch", &l->call.launch))
        return tw_fail(error, TW_ERROR_FILE, "the compiled launcher lacks one of its functions");
    find(l->library, "caller_choose", &l->call.choose);
    return TW_OK;
}

int launcher_open(struct launcher **out, struct compile *c, const int *unit, int count, struct tw_error *error)
{
    struct tw_compiled library;
    struct launcher *l = tw_alloc_zeroed(&c->rt, sizeof *l);
    *out = l;
    if (!l)
        return tw_fail(error, TW_ERROR_MEMORY, "no memory");
    l->compile = c;
    l->count = count;
    l->file = -1;
    memcpy(l->unit, unit, sizeof *unit * (size_t)count);
    int status = compile_library(c, unit, count, &library, error);
    if (status == TW_OK)
        status = open_library(l, &library, error);
    tw_compiled_free(&c->rt, &library);
    if (status == TW_OK && !(l->kernel = tw_alloc_zeroed(&c->rt, l->call.bytes())))
        status = tw_fail(error, TW_ERROR_MEMORY, "no memory");
    return status;
}

void launcher_close(struct launcher *l)
{
    if (!l)
        return;
    launcher_unload(l);
    if (l->library)
        dlclose(l->library);
    if (l->file >= 0)
        close(l->file);
    tw_free(&l->compile->rt, l->kernel);
    tw_free(&l->compile->rt, l);
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

/* The pair that is being loaded on this thread: its entry points have no context. */
static _Thread_local struct launcher *loading;
static _Thread_local int loading_variant;

static int load_code(void **module, const void *image)
{
    struct launcher *l = loading;
    int variant;
    if (sscanf(image, COMPILE_CODE_FORMAT, &variant) != 1 || variant < 0 || variant >= l->count)
        return TW_CUDA_NO_BINARY_FOR_GPU;
    const struct tw_compiled *code = &launcher_unit(l, variant)->compiled[COMPILE_NVRTC];
    const void *bytes = l->ptx || !code->cubin ? (const void *)code->ptx : (const void *)code->cubin;
    int result = bytes ? l->device->driver->module_load(module, bytes) : TW_CUDA_NO_BINARY_FOR_GPU;
    loading_variant = variant;
    l->module[variant] = result ? NULL : *module;
    return result;
}

static int get_function(void **function, void *module, const char *name)
{
    struct launcher *l = loading;
    int result = l->device->driver->module_function(function, module, name);
    l->function[loading_variant] = result ? NULL : *function;
    return result;
}

/* What the pair says became of a call, in the emulator's words where it knows better. */
static int fail(const struct launcher *l, const struct caller_outcome *outcome, struct tw_error *error)
{
    if (outcome->status == PAIR_INVALID)
        return tw_fail(error, TW_ERROR_INVALID, "%s", outcome->text);
    if (outcome->driver_result && is_emulated(l->device) && emu_driver_status() != TW_OK)
        return tw_fail(error, emu_driver_status(), "%s", emu_driver_fault());
    return tw_fail(error, TW_ERROR_DRIVER, "%s", outcome->text);
}

int launcher_load(struct launcher *l, struct tw_device *device, bool ptx, struct tw_error *error)
{
    struct caller_outcome outcome = {0};
    const struct tw_driver *driver = device->driver;
    launcher_unload(l);
    l->device = device;
    l->ptx = ptx;
    struct entry_points table = {
        .version = driver->version,
        .context_device = driver->context_device,
        .device_attribute = driver->device_attribute,
        .module_load = load_code,
        .module_unload = driver->module_unload,
        .module_function = get_function,
        .function_set = driver->function_set,
        .max_active_clusters = driver->max_active_clusters,
        .launch = driver->launch,
        .encode_tiled = driver->encode_tiled,
    };
    int more = 0;
    if (l->call.choose)
        table.more[more++] = (void (*)(void))driver->device_name;
    table.more[more] = (void (*)(void))driver->encode_im2col;
    int status = tw_device_enter(device, error);
    if (status != TW_OK)
        return status;
    loading = l;
    l->call.load(l->kernel, &table, &outcome);
    loading = NULL;
    l->loaded = outcome.status == 0;
    if (l->loaded && l->call.choose) {
        l->choice = l->call.choose(l->kernel, -1);
        l->call.choose(l->kernel, l->choice);
    }
    return l->loaded ? TW_OK : fail(l, &outcome, error);
}

void launcher_unload(struct launcher *l)
{
    struct caller_outcome outcome;
    struct tw_error ignored;
    if (l->loaded && tw_device_enter(l->device, &ignored) == TW_OK)
        l->call.unload(l->kernel, &outcome);
    l->loaded = false;
}

/* The number of the variant's set-up in the pair, which counts those that it has for the architecture. */
static int setup_in_pair(const struct launcher *l, int variant)
{
    const struct compile_unit *of = launcher_unit(l, variant);
    int number = 0;
    for (int v = 0; v <= variant && of->setup > 0; v++)
        number += launcher_unit(l, v)->setup > 0 && launcher_unit(l, v)->arch == of->arch;
    return number;
}

void launcher_force(struct launcher *l, int variant)
{
    if (l->loaded && l->call.choose)
        l->call.choose(l->kernel, variant < 0 ? l->choice : ~setup_in_pair(l, variant));
}

void *launcher_module(const struct launcher *l, int variant)
{
    return l->module[variant];
}

struct tw_kernel *launcher_kernel(const struct launcher *l, int variant)
{
    return l->function[variant] && is_emulated(l->device) ? emu_driver_kernel(l->function[variant]) : NULL;
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

/* The arguments as the pair's caller takes them. */
struct packed {
    const int64_t *stride[LAUNCHER_TENSORS];
    unsigned char scalar[LAUNCHER_SCALARS][SCALAR_BYTES];
    const void *scalar_bytes[LAUNCHER_SCALARS];
    struct caller_arguments arguments;
};

static int pack(const struct launcher *l, const struct launcher_arguments *a, struct packed *packed,
                struct tw_error *error)
{
    const struct plan *p = plan_of(l, 0);
    if (p->tensor_count > LAUNCHER_TENSORS || p->scalar_count > LAUNCHER_SCALARS)
        return tw_fail(error, TW_ERROR_UNSUPPORTED, "more than %d tensors or %d scalars", LAUNCHER_TENSORS,
                       LAUNCHER_SCALARS);
    for (int i = 0; i < p->tensor_count; i++)
        packed->stride[i] = a->strides ? a->shape[i].stride : NULL;
    for (int i = 0; i < p->scalar_count; i++) {
        packed->scalar_bytes[i] = packed->scalar[i];
        tw_dtype_store(p->scalar[i].dtype, packed->scalar[i], a->scalar ? a->scalar[i] : 0.0);
    }
    packed->arguments = (struct caller_arguments){.address = a->address,
                                                  .align = a->align,
                                                  .stride = packed->stride,
                                                  .symbol = a->symbol,
                                                  .scalar = packed->scalar_bytes,
                                                  .workspace = a->workspace,
                                                  .stream = l->device->stream};
    return tw_device_enter(l->device, error);
}

int launcher_workspace(struct launcher *l, const int64_t *symbol, uint64_t *bytes, struct tw_error *error)
{
    const uint64_t address[LAUNCHER_TENSORS] = {0};
    const struct launcher_arguments arguments = {.symbol = symbol, .address = address};
    struct packed packed;
    struct caller_outcome outcome = {0};
    int status = pack(l, &arguments, &packed, error);
    if (status == TW_OK && l->call.workspace(l->kernel, &packed.arguments, &outcome))
        status = fail(l, &outcome, error);
    *bytes = status == TW_OK ? outcome.workspace : 0;
    return status;
}

int launcher_ask(struct launcher *l, const struct launcher_arguments *a, struct launcher_answer *answer,
                 struct tw_error *error)
{
    enum { ANYWHERE = 4096 };
    struct packed packed;
    struct caller_outcome outcome = {0};
    int status = pack(l, a, &packed, error);
    if (status != TW_OK)
        return status;
    if (!packed.arguments.workspace)
        packed.arguments.workspace = ANYWHERE;
    if (l->call.ask(l->kernel, &packed.arguments, &outcome))
        return fail(l, &outcome, error);
    *answer = (struct launcher_answer){.variant = outcome.variant};
    memcpy(answer->grid, outcome.grid, sizeof answer->grid);
    return TW_OK;
}

int launcher_launch(struct launcher *l, const struct launcher_arguments *a, struct tw_error *error)
{
    struct packed packed;
    struct caller_outcome outcome = {0};
    struct launcher_answer answer;
    int status = launcher_ask(l, a, &answer, error);
    if (status == TW_OK)
        status = pack(l, a, &packed, error);
    if (status != TW_OK)
        return status;
    if (is_emulated(l->device)) {
        layout_shared(plan_of(l, answer.variant), &l->shared);
        emu_driver_name_shared(l->shared.range, l->shared.count);
    }
    l->call.launch(l->kernel, &packed.arguments, &outcome);
    emu_driver_name_shared(NULL, 0);
    return outcome.status ? fail(l, &outcome, error) : TW_OK;
}
