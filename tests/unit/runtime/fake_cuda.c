#include "fake_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fake_state fake;

static struct tw_runtime real; /* the hooks behind the counting ones */
static struct {
    const char *name, *value;
} variables[8];

bool fake_fails(unsigned kind)
{
    if (!(fake.failing & kind) || ++fake.calls != fake.fail_at)
        return false;
    fake.failed++;
    return true;
}

/* Memory. */

static void *fake_alloc(void *self, size_t bytes)
{
    void *pointer = fake_fails(FAKE_MEMORY) ? NULL : malloc(bytes);

    (void)self;
    if (pointer) {
        memset(pointer, 0xa5, bytes);
        fake.memory_live++;
    }
    return pointer;
}

static void *fake_realloc(void *self, void *old, size_t bytes)
{
    void *pointer = fake_fails(FAKE_MEMORY) ? NULL : realloc(old, bytes);

    (void)self;
    if (pointer && !old)
        fake.memory_live++;
    return pointer;
}

static void fake_free(void *self, void *pointer)
{
    (void)self;
    if (pointer)
        fake.memory_live--;
    free(pointer);
}

/* Files. */

static int fake_open(void *self, const char *path, int flags, unsigned mode)
{
    int file = fake_fails(FAKE_FILES) ? -fake.file_errno : real.files.open(self, path, flags, mode);

    if (file >= 0)
        fake.files_open++;
    return file;
}

static long fake_read(void *self, int file, void *bytes, size_t count)
{
    return fake_fails(FAKE_FILES) ? -fake.file_errno : real.files.read(self, file, bytes, count);
}

static long fake_write(void *self, int file, const void *bytes, size_t count)
{
    return fake_fails(FAKE_FILES) ? -fake.file_errno : real.files.write(self, file, bytes, count);
}

static int fake_sync(void *self, int file)
{
    (void)self;
    (void)file;
    return fake_fails(FAKE_FILES) ? -fake.file_errno : 0; /* tests need no disk */
}

/* A close that fails has closed all the same, as on Linux. */
static int fake_close(void *self, int file)
{
    bool failing = fake_fails(FAKE_FILES);
    int result = real.files.close(self, file);

    fake.files_open--;
    return failing ? -fake.file_errno : result;
}

static int fake_lock(void *self, int file)
{
    return fake_fails(FAKE_FILES) ? -fake.file_errno : real.files.lock(self, file);
}

static int fake_rename(void *self, const char *from, const char *to)
{
    return fake_fails(FAKE_FILES) ? -fake.file_errno : real.files.rename(self, from, to);
}

static int fake_unlink(void *self, const char *path)
{
    return fake_fails(FAKE_FILES) ? -fake.file_errno : real.files.unlink(self, path);
}

static int fake_mkdir(void *self, const char *path, unsigned mode)
{
    return fake_fails(FAKE_FILES) ? -fake.file_errno : real.files.mkdir(self, path, mode);
}

static int fake_stat(void *self, const char *path, struct tw_file_info *info)
{
    return fake_fails(FAKE_FILES) ? -fake.file_errno : real.files.stat(self, path, info);
}

static int fake_realpath(void *self, const char *path, char *out, size_t out_bytes)
{
    return fake_fails(FAKE_FILES) ? -fake.file_errno : real.files.realpath(self, path, out, out_bytes);
}

static int fake_folder_open(void *self, const char *path, void **folder)
{
    int result = fake_fails(FAKE_FILES) ? -fake.file_errno : real.files.folder_open(self, path, folder);

    if (!result)
        fake.files_open++;
    return result;
}

static int fake_folder_next(void *self, void *folder, char *name, size_t name_bytes)
{
    return fake_fails(FAKE_FILES) ? -fake.file_errno : real.files.folder_next(self, folder, name, name_bytes);
}

static void fake_folder_close(void *self, void *folder)
{
    fake.files_open--;
    real.files.folder_close(self, folder);
}

/* NVRTC: a program is a counter's address. */

static int program_object;

static int nvrtc_version(int *major, int *minor)
{
    *major = fake.version_major;
    *minor = fake.version_minor;
    return fake_fails(FAKE_NVRTC) ? 11 : 0;
}

static const char *nvrtc_error_string(int result)
{
    return result == 6 ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR_INTERNAL_ERROR";
}

static int nvrtc_create(void **program, const char *source, const char *name, int header_count,
                        const char *const *headers, const char *const *header_names)
{
    (void)source, (void)name, (void)header_count, (void)headers, (void)header_names;
    if (fake_fails(FAKE_NVRTC))
        return 2;
    fake.programs_live++;
    *program = &program_object;
    return 0;
}

static int nvrtc_destroy(void **program)
{
    fake.programs_live--;
    *program = NULL;
    return fake_fails(FAKE_NVRTC) ? 11 : 0;
}

static int nvrtc_compile(void *program, int option_count, const char *const *options)
{
    int i;

    (void)program;
    fake.compiles++;
    fake.option_count = option_count;
    for (i = 0; i < option_count && i < 8; i++)
        snprintf(fake.options[i], sizeof fake.options[i], "%s", options[i]);
    return fake_fails(FAKE_NVRTC) ? 11 : fake.compile_result;
}

static int nvrtc_cubin_size(void *program, size_t *bytes)
{
    unsigned char buffer[4096];

    (void)program;
    *bytes = fake_cubin(buffer, sizeof buffer);
    return fake_fails(FAKE_NVRTC) ? 11 : 0;
}

static int nvrtc_cubin(void *program, char *bytes)
{
    unsigned char buffer[4096];

    (void)program;
    memcpy(bytes, buffer, fake_cubin(buffer, sizeof buffer));
    return fake_fails(FAKE_NVRTC) ? 11 : 0;
}

static const char ptx[] = ".version 8.7\n.target sm_90a\n.visible .entry kern(\n)\n{ ret; }\n";

static int nvrtc_ptx_size(void *program, size_t *bytes)
{
    (void)program;
    *bytes = sizeof ptx;
    return fake_fails(FAKE_NVRTC) ? 11 : 0;
}

static int nvrtc_ptx(void *program, char *text)
{
    (void)program;
    memcpy(text, ptx, sizeof ptx);
    return fake_fails(FAKE_NVRTC) ? 11 : 0;
}

static int nvrtc_log_size(void *program, size_t *bytes)
{
    (void)program;
    *bytes = strlen(fake.log) + 1;
    return fake_fails(FAKE_NVRTC) ? 11 : 0;
}

static int nvrtc_log(void *program, char *text)
{
    (void)program;
    memcpy(text, fake.log, strlen(fake.log) + 1);
    return fake_fails(FAKE_NVRTC) ? 11 : 0;
}

static const struct tw_nvrtc_api nvrtc_api = {
#define NVRTC_CALL(field, symbol, result, arguments) .field = nvrtc_##field,
#include "nvrtc_calls.def"
#undef NVRTC_CALL
};

/* The fake loader. A library is a number in disguise; symbols come from the tables above. */

static int libraries[3]; /* driver, NVRTC, builtins */

static void *fake_library_open(void *self, const char *name, int global, const char **why)
{
    void *library = strstr(name, "libcuda") ? &libraries[0] : strstr(name, "builtins") ? &libraries[2] : &libraries[1];

    (void)self, (void)global;
    if (fake_fails(FAKE_LOADER)) {
        *why = "made to fail";
        return NULL;
    }
    fake.libraries_open++;
    return library;
}

static void *fake_symbol(void *self, void *library, const char *name)
{
    void *address = NULL;

    (void)self, (void)library;
    if (fake_fails(FAKE_LOADER))
        return NULL;
#define DRIVER_CALL(field, symbol, required, arguments)                                                                \
    if (!strcmp(name, symbol))                                                                                         \
        memcpy(&address, &fake_driver.field, sizeof address);
#include "driver_calls.def"
#undef DRIVER_CALL
#define NVRTC_CALL(field, symbol, result, arguments)                                                                   \
    if (!strcmp(name, symbol))                                                                                         \
        memcpy(&address, &nvrtc_api.field, sizeof address);
#include "nvrtc_calls.def"
#undef NVRTC_CALL
    return address;
}

static int fake_library_path(void *self, void *library, char *out, size_t out_bytes)
{
    (void)self, (void)library;
    snprintf(out, out_bytes, "/fake/library");
    return 0;
}

static void fake_library_close(void *self, void *library)
{
    (void)self, (void)library;
    fake.libraries_open--;
}

/* The process. */

static const char *fake_getenv(void *self, const char *name)
{
    size_t i;

    (void)self;
    for (i = 0; i < 8; i++)
        if (variables[i].name && !strcmp(variables[i].name, name))
            return variables[i].value;
    return NULL;
}

void fake_variable(const char *name, const char *value)
{
    size_t i;

    for (i = 0; i < 8; i++)
        if (!variables[i].name || !strcmp(variables[i].name, name)) {
            variables[i].name = name;
            variables[i].value = value;
            return;
        }
}

void fake_begin(struct tw_runtime *rt)
{
    static const struct tw_files files = {
        .open = fake_open, .read = fake_read, .write = fake_write, .sync = fake_sync, .close = fake_close,
        .lock = fake_lock, .rename = fake_rename, .unlink = fake_unlink, .mkdir = fake_mkdir, .stat = fake_stat,
        .realpath = fake_realpath, .folder_open = fake_folder_open, .folder_next = fake_folder_next,
        .folder_close = fake_folder_close,
    };

    memset(&fake, 0, sizeof fake);
    memset(variables, 0, sizeof variables);
    fake.file_errno = EIO;
    fake.log = "";
    fake.version_major = 13;
    fake.gpus = 1;
    tw_runtime_init(rt, NULL);
    real = *rt;
    rt->memory = (struct tw_memory){NULL, fake_alloc, fake_realloc, fake_free};
    rt->files = files;
    rt->loader = (struct tw_loader){NULL, fake_library_open, fake_symbol, fake_library_path, fake_library_close};
    rt->process.variable = fake_getenv;
}

void fake_nvrtc(struct tw_runtime *rt, struct tw_nvrtc *nvrtc)
{
    memset(nvrtc, 0, sizeof *nvrtc);
    nvrtc->api = nvrtc_api;
    snprintf(nvrtc->build_id, sizeof nvrtc->build_id, "0123456789abcdef");
    rt->nvrtc = nvrtc;
}

bool fake_is_clean(void)
{
    if (fake.memory_live || fake.files_open || fake.libraries_open || fake.programs_live || fake.objects_live) {
        printf("left: %ld allocations, %ld files, %ld libraries, %ld programs, %ld driver objects\n", fake.memory_live,
               fake.files_open, fake.libraries_open, fake.programs_live, fake.objects_live);
        return false;
    }
    return true;
}

/* The cubin. */

static void put(unsigned char *at, uint64_t value, size_t bytes)
{
    while (bytes--) {
        *at++ = (unsigned char)value;
        value >>= 8;
    }
}

size_t fake_cubin(unsigned char *out, size_t out_bytes)
{
    static const char names[] = "\0.shstrtab\0.strtab\0.symtab\0.nv.info\0.nv.info.kern\0.text.kern\0.nv.shared.kern\0"
                                ".nv.shared.reserved.0";
    static const char strings[] = "\0kern";
    static const unsigned char info[] = {
        4, 0x2f, 8, 0, 1, 0, 0, 0, 40, 0, 0, 0, /* registers of symbol 1 */
        4, 0x11, 8, 0, 1, 0, 0, 0, 16, 0, 0, 0, /* frame */
        4, 0x12, 8, 0, 1, 0, 0, 0, 24, 0, 0, 0, /* stack */
        4, 0x2f, 8, 0, 9, 0, 0, 0, 99, 0, 0, 0, /* registers of another symbol */
    };
    static const unsigned char kernel_info[] = {
        4, 0x37, 4, 0, 0x82, 0, 0, 0,                               /* unknown to the reader */
        4, 0x17, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,         /* three parameters */
        4, 0x17, 12, 0, 0, 0, 0, 0, 1, 0, 8, 0, 0, 0, 0, 0,
        4, 0x17, 12, 0, 0, 0, 0, 0, 2, 0, 16, 0, 0, 0, 0, 0,
        3, 0x19, 24, 0,
        2, 0x4c, 2, 0,                                              /* barriers */
        4, 0x05, 12, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0,         /* threads */
        4, 0x0a, 8, 0, 1, 0, 0, 0, 0x10, 2, 24, 0,                  /* parameter bytes */
        4, 0x55, 24, 0, 1, 0, 0, 0, 16, 0, 0, 0, 1, 0, 0, 0, 32, 0, 0, 0, 1, 0, 0, 0, 48, 0, 0, 0,
    };
    static const struct {
        const char *name;
        uint32_t type, link;
        const void *bytes;
        uint64_t count;
    } sections[] = {
        {"", 0, 0, NULL, 0},
        {".shstrtab", 3, 0, names, sizeof names},
        {".strtab", 3, 0, strings, sizeof strings},
        {".symtab", 2, 2, NULL, 48},
        {".nv.info", 0x70000000, 3, info, sizeof info},
        {".nv.info.kern", 0x70000000, 3, kernel_info, sizeof kernel_info},
        {".text.kern", 1, 3, NULL, 128},
        {".nv.shared.kern", 8, 0, NULL, 1024 + 512},
        {".nv.shared.reserved.0", 8, 0, NULL, 0},
    };
    enum { SECTIONS = sizeof sections / sizeof *sections };
    size_t at = 64, i, name;

    memset(out, 0, out_bytes);
    memcpy(out, "\177ELF\2\1\1", 7);
    put(out + 16, 2, 2);
    put(out + 18, 190, 2);
    put(out + 58, 64, 2);
    put(out + 60, SECTIONS, 2);
    put(out + 62, 1, 2);
    put(out + 40, 64, 8); /* the section headers follow the ELF header, then the bytes */
    at = 64 + SECTIONS * 64;
    for (i = 0; i < SECTIONS; i++) {
        unsigned char *h = out + 64 + i * 64;

        for (name = 0; strcmp(names + name, sections[i].name); name++)
            ;
        put(h, name, 4);
        put(h + 4, sections[i].type, 4);
        put(h + 24, at, 8);
        put(h + 32, sections[i].count, 8);
        put(h + 40, sections[i].link, 4);
        if (sections[i].type == 2) { /* symbols: none, and kern: a global function, an entry */
            put(out + at + 24, 1, 4);
            out[at + 28] = 0x12;
            out[at + 29] = 0x10;
        }
        if (sections[i].bytes)
            memcpy(out + at, sections[i].bytes, sections[i].count);
        if (sections[i].type != 8)
            at += sections[i].count;
    }
    return at;
}
