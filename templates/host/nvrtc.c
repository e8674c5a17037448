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
    if (!text) {
        fail(error, ${T}_NO_MEMORY, 0, "no memory for the kernel's text");
        return NULL;
    }
    for (i = 0; chunk[i]; at += strlen(chunk[i++]))
        memcpy(text + at, chunk[i], strlen(chunk[i]));
    text[at] = '\0';
    return text;
}

//@ if host.part.source then
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

/* The library of that name in a folder; `minor` below 0: its name has none. */
static void *open_in(const char *root, const char *below, const char *name, int major, int minor)
{
    char path[4096], number[16];
    snprintf(number, sizeof number, minor < 0 ? "%d" : "%d.%d", major, minor);
    if (snprintf(path, sizeof path, "%s/%s/%s.so.%s", root, below, name, number) >= (int)sizeof path)
        return NULL;
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* The newest NVRTC in a folder. libnvrtc looks for its builtins by bare name when it compiles, which finds them only if
 * they are open by then. */
static void open_newest(struct compiler *c, const char *root, const char *below)
{
    enum { newest = 19, oldest = 12 };
    int major, minor;
    for (major = newest; major >= oldest && !c->library; major--) {
        for (minor = 9; minor >= 0 && !c->builtins; minor--)
            c->builtins = open_in(root, below, "libnvrtc-builtins", major, minor);
        if (c->builtins)
            c->library = open_in(root, below, "libnvrtc", major, -1);
        if (!c->library)
            close_compiler(c);
    }
}

static int open_compiler(struct compiler *c, struct ${T}_error *error)
{
    static const struct entry calls[] = { /* the members of struct compiler */
        {"nvrtcVersion", 0}, {"nvrtcCreateProgram", 0}, {"nvrtcDestroyProgram", 0}, {"nvrtcCompileProgram", 0},
        {"nvrtcGetCUBINSize", 0}, {"nvrtcGetCUBIN", 0}, {"nvrtcGetPTXSize", 0}, {"nvrtcGetPTX", 0},
        {"nvrtcGetProgramLogSize", 0}, {"nvrtcGetProgramLog", 0}};
    static const char *const below[] = {"lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib",
                                        "targets/aarch64-linux/lib"};
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
    const char *roots[3];
    const size_t count = sizeof calls / sizeof *calls;
    int major = 0, minor = 0;
    size_t i, n;
    roots[0] = getenv("CUDA_HOME");
    roots[1] = getenv("CUDA_PATH");
    roots[2] = "/usr/local/cuda";
    for (i = 0; i < sizeof roots / sizeof *roots; i++)
        for (n = 0; n < sizeof below / sizeof *below && roots[i] && !c->library; n++)
            open_newest(c, roots[i], below[n]);
    for (i = 0; i < sizeof names / sizeof *names && !c->library; i++)
        c->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!c->library)
        return fail(error, ${T}_NO_COMPILER, 0,
                    "NVRTC, which compiles the kernel, is not found in CUDA_HOME, CUDA_PATH, /usr/local/cuda and the "
                    "loader's folders; install CUDA 12.8 or newer, or embed compiled kernels");
    find_symbols(c->library, calls, count, &c->version);
    if (missing_symbol(calls, count, &c->version) || c->version(&major, &minor))
        return fail(error, ${T}_NO_COMPILER, 0, "NVRTC lacks an entry point");
    if (major < 12 || (major == 12 && minor < 8))
        return fail(error, ${T}_NO_COMPILER, 0, "NVRTC is version %d.%d; 12.8 or newer is needed", major, minor);
    return ${T}_OK;
}

/* The compiler's messages as the detail of a failure. */
static int compile_fault(const struct compiler *c, void *program, int result, const char *file,
                         struct ${T}_error *error)
{
    size_t bytes = 0;
    char *log = c->log_size(program, &bytes) == 0 && bytes > 1 ? (char *)malloc(bytes + 1) : NULL;
    int told = log && c->log(program, log) == 0;
    if (told)
        log[bytes] = '\0';
    fail(error, ${T}_COMPILE, result, told ? "%s" : "NVRTC fails on %s with nvrtcResult %d", told ? log : file,
         result);
    free(log);
    return ${T}_COMPILE;
}

/* Compiles to a cubin, or to PTX for a device newer than the target; *out is the caller's to free. */
static int compile(const struct compiler *c, const struct tables *of, int variant, int as_ptx, char **out,
                   struct ${T}_error *error)
{
    const struct ${T}_variant *v = &of->variant[variant];
    const char *option[32], *dash = v->name[0] ? "_" : "";
    char architecture[64], file[1024];
    void *program = NULL;
    size_t bytes = 0;
    int i, result;
    char *text = join(of->image[variant].source, error);
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
        return fail(error, ${T}_COMPILE, result, "nvrtcCreateProgram failed with nvrtcResult %d", result);
    result = c->compile(program, 1 + of->option_count, option);
    if (!result)
        result = as_ptx ? c->ptx_size(program, &bytes) : c->cubin_size(program, &bytes);
    if (!result && (*out = (char *)malloc(bytes + 1)) == NULL) {
        c->destroy(&program);
        return fail(error, ${T}_NO_MEMORY, 0, "no memory for the compiled kernel");
    }
    if (!result)
        result = as_ptx ? c->ptx(program, *out) : c->cubin(program, *out);
    if (result) {
        compile_fault(c, program, result, file, error);
        free(*out);
        *out = NULL;
    } else {
        (*out)[bytes] = '\0';
    }
    c->destroy(&program);
    return result ? ${T}_COMPILE : ${T}_OK;
}
//@ end
