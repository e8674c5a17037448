//@ -- NVRTC through dlopen, for kernels that are embedded as source; and texts in one piece for the driver.
//@ param host table
//@ local T, of = host.types, host.shared and "l->of->" or ""
/* The chunks as one text, which the caller frees. */
static int join(const char *const *chunk, char **text, struct ${T}_error *error)
{
    size_t bytes = 1, at = 0;
    for (int i = 0; chunk[i]; i++)
        bytes += strlen(chunk[i]);
    *text = (char *)malloc(bytes);
    if (!*text)
        return fail(error, ${T}_NO_MEMORY, 0, "no memory for the kernel's text");
    for (; *chunk; at += strlen(*chunk++))
        memcpy(*text + at, *chunk, strlen(*chunk) + 1);
    return ${T}_OK;
}
//@ if host.part.source then

static void close_compiler(struct loader *l)
{
    if (l->nvrtc)
        dlclose(l->nvrtc);
    if (l->builtins)
        dlclose(l->builtins);
    l->nvrtc = l->builtins = NULL;
}

/* The newest NVRTC of a folder where CUDA is, else the loader's. libnvrtc looks for its builtins by bare name when it
 * compiles, which finds them only if they are open by then. */
static int open_compiler(struct loader *l)
{
    static const char *const calls[] = { /* the members of struct loader */
        "nvrtcVersion", "nvrtcCreateProgram", "nvrtcDestroyProgram", "nvrtcCompileProgram", "nvrtcGetCUBINSize",
        "nvrtcGetPTXSize", "nvrtcGetProgramLogSize", "nvrtcGetCUBIN", "nvrtcGetPTX", "nvrtcGetProgramLog"};
    static const char *const below[] = {"lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib",
                                        "targets/aarch64-linux/lib"};
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
    const char *const roots[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    enum { newest = 199, oldest = 120, folders = sizeof below / sizeof *below }; /* versions, of 19.9 and 12.0 */
    char path[4096];
    int major = 0, minor = 0;
    for (size_t i = 0; i < folders * (sizeof roots / sizeof *roots); i++) {
        const char *root = roots[i / folders], *folder = below[i % folders];
        int v = root && strlen(root) < sizeof path - 100 ? newest : 0;
        for (; v >= oldest && !l->nvrtc; v--) {
            snprintf(path, sizeof path, "%s/%s/libnvrtc-builtins.so.%d.%d", root, folder, v / 10, v % 10);
            l->builtins = dlopen(path, RTLD_NOW | RTLD_LOCAL);
            snprintf(path, sizeof path, "%s/%s/libnvrtc.so.%d", root, folder, v / 10);
            l->nvrtc = l->builtins ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
            if (!l->nvrtc)
                close_compiler(l);
        }
    }
    for (size_t i = 0; i < sizeof names / sizeof *names && !l->nvrtc; i++)
        l->nvrtc = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!l->nvrtc)
        return fail(l->error, ${T}_NO_COMPILER, 0,
                    "NVRTC, which compiles the kernel, is not found in CUDA_HOME, CUDA_PATH, /usr/local/cuda and the "
                    "loader's folders; install CUDA 12.8 or newer, or embed compiled kernels");
    if (find_symbols(l->nvrtc, calls, sizeof calls / sizeof *calls, &l->version) || l->version(&major, &minor))
        return fail(l->error, ${T}_NO_COMPILER, 0, "NVRTC lacks an entry point");
    return major > 12 || (major == 12 && minor >= 8) ? ${T}_OK
           : fail(l->error, ${T}_NO_COMPILER, 0, "NVRTC is version %d.%d; 12.8 or newer is needed", major, minor);
}

/* Compiles a variant to a cubin, or to PTX. *code is the caller's to free, after a failure too, which tells what the
 * compiler says. */
static int compile(struct loader *l, int variant, char **code)
{
    const struct ${T}_variant *v = &${of}variants[variant];
    const char *option[32];
    char architecture[64], file[1024], *text = NULL;
    void *program = NULL;
    size_t bytes = 0;
    int status = l->nvrtc ? ${T}_OK : open_compiler(l);
    status = status ? status : join(${of}images[variant].source, &text, l->error);
    if (status)
        return status;
    snprintf(file, sizeof file, "/tilewright/%s.%s.cu", v->entry, v->arch);
    snprintf(architecture, sizeof architecture, "--gpu-architecture=%s%s", l->as_ptx ? "compute_" : "sm_", v->arch + 3);
    option[0] = architecture;
    for (int i = 0; i < ${of}option_count; i++)
        option[1 + i] = ${of}options[i];
    int result = l->create(&program, text, file, 0, NULL, NULL);
    free(text);
    if (result)
        return fail(l->error, ${T}_COMPILE, result, "nvrtcCreateProgram failed with nvrtcResult %d", result);
    result = l->compile(program, 1 + ${of}option_count, option);
    const int what = result ? a_log : l->as_ptx ? a_ptx : a_cubin;
    int unread = l->size[what](program, &bytes);
    *code = text = unread ? NULL : (char *)malloc(bytes + 1);
    if (text) {
        text[bytes] = '\0';
        unread = l->read[what](program, text);
    }
    l->destroy(&program);
    if (!result && !unread)
        return text ? ${T}_OK : fail(l->error, ${T}_NO_MEMORY, 0, "no memory for the compiled kernel");
    const int told = !unread && text && *text;
    result = result ? result : unread;
    return fail(l->error, ${T}_COMPILE, result, told ? "%s" : "NVRTC fails on %s with nvrtcResult %d", told ? text : file, result);
}
//@ end
