//@ -- What load works on, and the driver's entry points.
//@ param host table
//@ local T = host.types
/* ---- load ------------------------------------------------------------------------------------------------------ */

//@ if host.part.source then
enum { a_cubin, a_ptx, a_log, texts }; /* what NVRTC gives */
//@ end
struct loader { /* what load works on */
    struct ${T}_state *k;
//@ if host.part.debug then
    struct ${T}_slot *slots;
//@ end
//@ if host.shared then
    const struct tables *of;
//@ end
//@ if host.part.tuned then
    const struct wanted *wanted;
//@ end
    struct ${T}_error *error;
    const struct target *target;
    int device, major, minor, sm_count, shared_bytes; /* the current one; bytes that a block can opt in to */
//@ if host.part.text then
    int as_ptx; /* for a device newer than the target, and one that takes no binaries at all, an emulated one */
//@ end
//@ if host.part.source then
    void *builtins, *nvrtc; /* NVRTC, whose calls follow as in nvrtc.h of CUDA 12 and 13; a program is a void * */
    int (*version)(int *major, int *minor);
    int (*create)(void **program, const char *source, const char *name, int headers, const char *const *header,
                  const char *const *header_name);
    int (*destroy)(void **program);
    int (*compile)(void *program, int options, const char *const *option);
    int (*size[texts])(void *program, size_t *bytes);
    int (*read[texts])(void *program, char *bytes);
//@ end
};

/* Functions by name, into pointers that lie one behind the other; library NULL: they are there. Returns the first name
 * that is missing, or NULL; one behind a `?` may be. POSIX: a function's address is as a void *. */
static const char *find_symbols(void *library, const char *const *name, size_t count, void *functions)
{
    for (size_t i = 0; i < count; i++) {
        unsigned char *place = (unsigned char *)functions + i * sizeof(void *);
        void *symbol = library ? dlsym(library, name[i] + (*name[i] == '?')) : NULL;
        if (library)
            memcpy(place, &symbol, sizeof symbol);
        memcpy(&symbol, place, sizeof symbol);
        if (!symbol && *name[i] != '?')
            return name[i];
    }
    return NULL;
}

/* Opens the driver, or takes the caller's table. Beside the loader's own search: containers, NixOS and WSL keep the
 * driver where no cache lists it. */
static int open_driver(struct loader *l, const struct ${T}_driver *driver)
{
    static const char *const calls[] = { /* the members of ${T}_driver */
        "cuDriverGetVersion", "cuCtxGetDevice", "cuDeviceGetAttribute", "cuModuleLoadData", "cuModuleUnload",
        "cuModuleGetFunction", "cuFuncSetAttribute", "?cuOccupancyMaxActiveClusters", "cuLaunchKernelEx",
//@ local more = { '"?cuTensorMapEncodeTiled"' }
//@ if host.part.debug then
//@     for _, name in ipairs { "cuModuleGetGlobal_v2", "cuMemcpyHtoD_v2", "cuMemHostAlloc", "cuMemFreeHost" } do
//@         more[#more + 1] = '"' .. name .. '"'
//@     end
//@ end
//@ if host.part.tuned then more[#more + 1] = '"?cuDeviceGetName"' end
//@ if host.part.windows then more[#more + 1] = '"?cuTensorMapEncodeIm2col"' end
//@ local list = csv(more)
        ${list}};
    static const char *const files[] = {"libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1",
                                        "/run/opengl-driver/lib/libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"};
    struct ${T}_state *k = l->k;
    if (driver)
        k->driver = *driver;
    for (size_t i = 0; i < sizeof files / sizeof *files && !k->library && !driver; i++)
        k->library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
    if (!k->library && !driver)
        return fail(l->error, ${T}_NO_DRIVER, 0, "no CUDA driver: the loader finds no libcuda.so.1");
    const char *missing = find_symbols(k->library, calls, sizeof calls / sizeof *calls, &k->driver);
    if (missing && driver)
        return fail(l->error, ${T}_INVALID, 0, "the driver's table lacks an entry point, %s; only max_active_clusters "
                    "may be NULL, and encoders where no tensor map is used", missing);
    return missing ? fail(l->error, ${T}_OLD_DRIVER, 0, "the CUDA driver has no %s", missing) : ${T}_OK;
}
