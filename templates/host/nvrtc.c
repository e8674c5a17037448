//@ -- NVRTC through dlopen, for kernels that are embedded as source; and texts in one piece for the driver.
//@ param host table
//@ local NAME = host.name
/* ---- load: sources and PTX --------------------------------------------------------------------------------------- */

/* The chunks as one text, which the caller frees. */
static char *join(const char *const *chunk, int count)
{
    size_t bytes = 1;
    char *text, *end;
    int i;
    for (i = 0; i < count; i++)
        bytes += strlen(chunk[i]);
    text = (char *)malloc(bytes);
    if (!text)
        return NULL;
    end = text;
    for (i = 0; i < count; i++) {
        size_t length = strlen(chunk[i]);
        memcpy(end, chunk[i], length);
        end += length;
    }
    *end = '\0';
    return text;
}

//@ if host.has_source then
/* ---- load: the compiler ------------------------------------------------------------------------------------------ */

/* NVRTC. Signatures are those of nvrtc.h of CUDA 12 and 13; a program is a void *. */
struct compiler {
    void *builtins, *library;
    int (*version)(int *major, int *minor);
    int (*create)(void **program, const char *source, const char *name, int headers, const char *const *header,
                  const char *const *header_name);
    int (*destroy)(void **program);
    int (*compile)(void *program, int options, const char *const *option);
    int (*cubin_size)(void *program, size_t *bytes);
    int (*cubin)(void *program, char *bytes);
    int (*ptx_size)(void *program, size_t *bytes);
    int (*ptx)(void *program, char *text);
    int (*log_size)(void *program, size_t *bytes);
    int (*log)(void *program, char *text);
};

static void close_compiler(struct compiler *c)
{
    if (c->library)
        dlclose(c->library);
    if (c->builtins)
        dlclose(c->builtins);
    memset(c, 0, sizeof *c);
}

static int is_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file)
        fclose(file);
    return file != NULL;
}

/* The newest NVRTC in a folder. libnvrtc looks for its builtins by bare name when it compiles, which finds them only if
 * they are open by then. */
static void open_in(struct compiler *c, const char *root, const char *below)
{
    enum { newest = 19, oldest = 12 };
    char path[4096];
    int major, minor, length;
    for (major = newest; major >= oldest && !c->library; major--) {
        for (minor = 9; minor >= 0 && !c->builtins; minor--) {
            length = snprintf(path, sizeof path, "%s/%s/libnvrtc-builtins.so.%d.%d", root, below, major, minor);
            if (length > 0 && (size_t)length < sizeof path && is_file(path))
                c->builtins = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        }
        if (!c->builtins)
            continue;
        length = snprintf(path, sizeof path, "%s/%s/libnvrtc.so.%d", root, below, major);
        if (length > 0 && (size_t)length < sizeof path)
            c->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!c->library)
            close_compiler(c);
    }
}

static int open_compiler(struct compiler *c, struct ${NAME}_error *error)
{
    static const char *const below[] = {"lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib",
                                        "targets/aarch64-linux/lib"};
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
    const char *roots[3];
    int major = 0, minor = 0;
    size_t i, n;
    roots[0] = getenv("CUDA_HOME");
    roots[1] = getenv("CUDA_PATH");
    roots[2] = "/usr/local/cuda";
    memset(c, 0, sizeof *c);
    for (i = 0; i < sizeof roots / sizeof *roots; i++)
        for (n = 0; n < sizeof below / sizeof *below && roots[i] && !c->library; n++)
            open_in(c, roots[i], below[n]);
    for (i = 0; i < sizeof names / sizeof *names && !c->library; i++)
        c->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!c->library)
        return fail(error, ${NAME}_NO_COMPILER, 0,
                    "NVRTC, which compiles the kernel, is not found in CUDA_HOME, CUDA_PATH, /usr/local/cuda and the "
                    "loader's folders; install CUDA 12.8 or newer, or embed compiled kernels");
    if (!find_symbol(c->library, "nvrtcVersion", &c->version) ||
        !find_symbol(c->library, "nvrtcCreateProgram", &c->create) ||
        !find_symbol(c->library, "nvrtcDestroyProgram", &c->destroy) ||
        !find_symbol(c->library, "nvrtcCompileProgram", &c->compile) ||
        !find_symbol(c->library, "nvrtcGetCUBINSize", &c->cubin_size) ||
        !find_symbol(c->library, "nvrtcGetCUBIN", &c->cubin) ||
        !find_symbol(c->library, "nvrtcGetPTXSize", &c->ptx_size) ||
        !find_symbol(c->library, "nvrtcGetPTX", &c->ptx) ||
        !find_symbol(c->library, "nvrtcGetProgramLogSize", &c->log_size) ||
        !find_symbol(c->library, "nvrtcGetProgramLog", &c->log) || c->version(&major, &minor))
        return fail(error, ${NAME}_NO_COMPILER, 0, "NVRTC lacks an entry point");
    if (major < 12 || (major == 12 && minor < 8))
        return fail(error, ${NAME}_NO_COMPILER, 0, "NVRTC is version %d.%d; 12.8 or newer is needed", major, minor);
    return ${NAME}_OK;
}

/* The compiler's messages as the detail of a failure. */
static int compile_fault(const struct compiler *c, void *program, int result, const char *file,
                         struct ${NAME}_error *error)
{
    size_t bytes = 0;
    char *log = NULL;
    int status;
    if (c->log_size(program, &bytes) == 0 && bytes > 1)
        log = (char *)malloc(bytes + 1);
    if (log && c->log(program, log) == 0) {
        log[bytes] = '\0';
        status = fail(error, ${NAME}_COMPILE, result, "%s", log);
    } else {
        status = fail(error, ${NAME}_COMPILE, result, "NVRTC fails on %s with nvrtcResult %d", file, result);
    }
    free(log);
    return status;
}

/* Compile to a cubin, or to PTX for a device newer than the target; *out is the caller's to free. */
static int compile(const struct compiler *c, const struct image *image, const char *architecture, int as_ptx,
                   char **out, struct ${NAME}_error *error)
{
    const char *options[] = {
        architecture,
//@     for _, option in ipairs(host.option) do
        ${option},
//@     end
    };
    void *program = NULL;
    size_t bytes = 0;
    int result, status = ${NAME}_OK;
    char *text = join(image->source, image->source_chunks);
    *out = NULL;
    if (!text)
        return fail(error, ${NAME}_NO_MEMORY, 0, "no memory for the kernel's source");
    result = c->create(&program, text, image->file, 0, NULL, NULL);
    free(text);
    if (result)
        return fail(error, ${NAME}_COMPILE, result, "nvrtcCreateProgram failed with nvrtcResult %d", result);
    result = c->compile(program, (int)(sizeof options / sizeof *options), options);
    if (!result)
        result = as_ptx ? c->ptx_size(program, &bytes) : c->cubin_size(program, &bytes);
    if (result) {
        status = compile_fault(c, program, result, image->file, error);
        goto done;
    }
    *out = (char *)malloc(bytes + 1);
    if (!*out) {
        status = fail(error, ${NAME}_NO_MEMORY, 0, "no memory for the compiled kernel");
        goto done;
    }
    (*out)[bytes] = '\0';
    result = as_ptx ? c->ptx(program, *out) : c->cubin(program, *out);
    if (result) {
        status = compile_fault(c, program, result, image->file, error);
        free(*out);
        *out = NULL;
    }
done:
    c->destroy(&program);
    return status;
}
//@ end
