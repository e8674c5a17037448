//@ -- NVRTC through dlopen, for kernels that are embedded as source; and texts in one piece for the driver.
//@ param host table
//@ local T = host.types
/* ---- load: sources and PTX --------------------------------------------------------------------------------------- */

/* The chunks as one text, which the caller frees. */
static char *join(const char *const *chunk, struct ${T}_error *error)
{
    size_t bytes = 1, at = 0;
    char *text;
    int i;
    for (i = 0; chunk[i]; i++)
        bytes += strlen(chunk[i]);
    text = (char *)malloc(bytes);
    for (i = 0; text && chunk[i]; at += strlen(chunk[i++]))
        memcpy(text + at, chunk[i], strlen(chunk[i]) + 1);
    if (!text)
        fail(error, ${T}_NO_MEMORY, 0, "no memory for the kernel's text");
    return text;
}

//@ if host.part.source then
/* NVRTC. Signatures are those of nvrtc.h of CUDA 12 and 13; a program is a void *. */
enum { a_cubin, a_ptx, a_log, texts }; /* what it gives */
struct compiler {
    void *builtins, *library;
    int (*version)(int *major, int *minor);
    int (*create)(void **program, const char *source, const char *name, int headers, const char *const *header,
                  const char *const *header_name);
    int (*destroy)(void **program);
    int (*compile)(void *program, int options, const char *const *option);
    int (*size[texts])(void *program, size_t *bytes);
    int (*read[texts])(void *program, char *bytes);
};

static void close_compiler(struct compiler *c)
{
    if (c->library)
        dlclose(c->library);
    if (c->builtins)
        dlclose(c->builtins);
    memset(c, 0, sizeof *c);
}

/* The newest NVRTC in a folder. libnvrtc looks for its builtins by bare name when it compiles, which finds them only if
 * they are open by then. */
static void open_newest(struct compiler *c, const char *root, const char *below)
{
    enum { newest = 199, oldest = 120 }; /* versions, of 19.9 and 12.0 */
    char path[4096];
    int version;
    for (version = newest; version >= oldest && !c->library && strlen(root) < sizeof path - 100; version--) {
        snprintf(path, sizeof path, "%s/%s/libnvrtc-builtins.so.%d.%d", root, below, version / 10, version % 10);
        c->builtins = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        snprintf(path, sizeof path, "%s/%s/libnvrtc.so.%d", root, below, version / 10);
        c->library = c->builtins ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
        if (!c->library)
            close_compiler(c);
    }
}

static int open_compiler(struct compiler *c, struct ${T}_error *error)
{
    static const char *const calls[] = { /* the members of struct compiler */
        "nvrtcVersion", "nvrtcCreateProgram", "nvrtcDestroyProgram", "nvrtcCompileProgram", "nvrtcGetCUBINSize",
        "nvrtcGetPTXSize", "nvrtcGetProgramLogSize", "nvrtcGetCUBIN", "nvrtcGetPTX", "nvrtcGetProgramLog"};
    static const char *const below[] = {"lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib",
                                        "targets/aarch64-linux/lib"};
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
    const char *const roots[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    int major = 0, minor = 0;
    size_t i, n;
    for (i = 0; i < sizeof roots / sizeof *roots; i++)
        for (n = 0; n < sizeof below / sizeof *below && roots[i] && !c->library; n++)
            open_newest(c, roots[i], below[n]);
    for (i = 0; i < sizeof names / sizeof *names && !c->library; i++)
        c->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!c->library)
        return fail(error, ${T}_NO_COMPILER, 0,
                    "NVRTC, which compiles the kernel, is not found in CUDA_HOME, CUDA_PATH, /usr/local/cuda and the "
                    "loader's folders; install CUDA 12.8 or newer, or embed compiled kernels");
    if (find_symbols(c->library, calls, sizeof calls / sizeof *calls, &c->version) || c->version(&major, &minor))
        return fail(error, ${T}_NO_COMPILER, 0, "NVRTC lacks an entry point");
    return major > 12 || (major == 12 && minor >= 8) ? ${T}_OK
           : fail(error, ${T}_NO_COMPILER, 0, "NVRTC is version %d.%d; 12.8 or newer is needed", major, minor);
}

/* What the compiler has made of a program, which the caller frees; *result: what it gave. NULL: there is none, or no
 * memory for it, where *result is 0. */
static char *read_text(const struct compiler *c, void *program, int which, int *result)
{
    size_t bytes = 0;
    char *text;
    *result = c->size[which](program, &bytes);
    text = *result ? NULL : (char *)malloc(bytes + 1);
    if (!text)
        return NULL;
    text[bytes] = '\0';
    *result = c->read[which](program, text);
    if (!*result)
        return text;
    free(text);
    return NULL;
}

/* Compiles to a cubin, or to PTX for a device newer than the target; *out is the caller's to free. A failure tells the
 * compiler's messages. */
static int compile(const struct compiler *c, const struct tables *of, int variant, int as_ptx, char **out, struct ${T}_error *error)
{
    const struct ${T}_variant *v = &of->variant[variant];
    const char *option[32], *dash = v->name[0] ? "_" : "";
    char architecture[64], file[1024], *text = join(of->image[variant].source, error), *log;
    void *program = NULL;
    int i, result, unread, status = ${T}_COMPILE;
    *out = NULL;
    if (!text)
        return ${T}_NO_MEMORY;
    snprintf(file, sizeof file, "/tilewright/%s.%s%s%s.cu", of->name, v->arch, dash, v->name);
    snprintf(architecture, sizeof architecture, "--gpu-architecture=%s%s", as_ptx ? "compute_" : "sm_", v->arch + 3);
    option[0] = architecture;
    for (i = 0; i < of->option_count; i++)
        option[1 + i] = of->option[i];
    result = c->create(&program, text, file, 0, NULL, NULL);
    free(text);
    if (result)
        return fail(error, status, result, "nvrtcCreateProgram failed with nvrtcResult %d", result);
    result = c->compile(program, 1 + of->option_count, option);
    if (!result)
        *out = read_text(c, program, as_ptx ? a_ptx : a_cubin, &result);
    if (*out) {
        status = ${T}_OK;
    } else if (!result) {
        status = fail(error, ${T}_NO_MEMORY, 0, "no memory for the compiled kernel");
    } else {
        const int told = (log = read_text(c, program, a_log, &unread)) != NULL && *log;
        fail(error, status, result, told ? "%s" : "NVRTC fails on %s with nvrtcResult %d", told ? log : file, result);
        free(log);
    }
    c->destroy(&program);
    return status;
}
//@ end
