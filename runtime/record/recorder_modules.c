/* What is known of modules, functions and tensor maps: lists that calls of the driver fill. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fatbin.h"
#include "recorder_internal.h"

/* What nvcc emits around a fat binary (fatBinaryCtl.h). */
struct wrapper {
    uint32_t magic, version;
    const void *fatbin, *linked;
};
#define WRAPPER_MAGIC UINT32_C(0x466243b1)
#define ELF_MAGIC UINT32_C(0x464c457f)

enum { MAPS = 4096, MOST_IMAGE = 1 << 30 };

/* An image, of one handle or of several. */
struct image {
    const void *bytes;
    size_t count;
    int own, users;
};

struct module {
    struct module *next;
    void *handle;
    struct image *image;
};

struct function {
    struct function *next;
    void *handle, *module;
    int is_kernel;
    char name[];
};

static struct {
    pthread_mutex_t mutex;
    struct module *modules;
    struct function *functions;
    struct {
        unsigned char bytes[RECORDED_MAP_BYTES];
        struct tw_tensormap_call call;
    } * map; /* MAPS of them, the newest in turn */
    unsigned map_count;
} known = {.mutex = PTHREAD_MUTEX_INITIALIZER};

void recorder_modules_after_fork(void)
{
    known.mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

/* ---- Images ------------------------------------------------------------------------------------------------------ */

static uint64_t number(const unsigned char *at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

/* Bytes of a cubin, up to the end of its last table (ELF64: e_phoff, e_shoff, e_phentsize, e_phnum, e_shentsize,
   e_shnum). */
static size_t elf_bytes(const void *image)
{
    const unsigned char *at = image;
    uint64_t programs = number(at + 32, 8) + number(at + 54, 2) * number(at + 56, 2);
    uint64_t sections = number(at + 40, 8) + number(at + 58, 2) * number(at + 60, 2);
    uint64_t bytes = programs > sections ? programs : sections;
    return bytes < MOST_IMAGE ? (size_t)bytes : 0;
}

/* Where the image itself lies and how many bytes it has; 0: it is nothing that is known. */
static size_t measure(const void **image)
{
    if (cu_image_begins(*image, WRAPPER_MAGIC)) {
        struct wrapper wrapper;
        memcpy(&wrapper, *image, sizeof wrapper);
        *image = wrapper.fatbin;
    }
    if (!*image)
        return 0;
    if (cu_fatbin_bytes(*image))
        return cu_fatbin_bytes(*image) < MOST_IMAGE ? cu_fatbin_bytes(*image) : 0;
    if (cu_image_begins(*image, ELF_MAGIC))
        return elf_bytes(*image);
    const char *text = *image;
    return *text == '/' || *text == '.' || *text == '\n' || *text == ' ' || *text == '\t' || *text == '\r'
               ? strlen(text) + 1
               : 0;
}

static void drop(struct image *image)
{
    if (--image->users)
        return;
    if (image->own)
        free((void *)(uintptr_t)image->bytes);
    free(image);
}

static void add_module(void *handle, struct image *image)
{
    struct module *m = calloc(1, sizeof *m);
    if (m) {
        *m = (struct module){known.modules, handle, image};
        image->users++;
        known.modules = m;
    }
}

static void add_image(void *handle, const void *bytes, size_t count, int own)
{
    struct image *image = calloc(1, sizeof *image);
    if (!image) {
        if (own)
            free((void *)(uintptr_t)bytes);
        return;
    }
    *image = (struct image){bytes, count, own, 1};
    pthread_mutex_lock(&known.mutex);
    add_module(handle, image);
    drop(image);
    pthread_mutex_unlock(&known.mutex);
}

void recorder_module(void *module, const void *image)
{
    Dl_info info;
    size_t bytes = recorder_is_on() && image ? measure(&image) : 0;
    if (!bytes)
        return;
    int stays = dladdr(image, &info) != 0;
    void *copy = stays ? NULL : malloc(bytes);
    if (copy)
        memcpy(copy, image, bytes);
    if (copy || stays)
        add_image(module, copy ? copy : image, bytes, copy != NULL);
}

void recorder_module_file(void *module, const char *path)
{
    size_t bytes = 0;
    char *text = recorder_is_on() && path ? recorder_file(path, &bytes) : NULL;
    const void *image = text;
    /* No pointers of a file are followed, and no number of it is believed past its end. */
    if (text && bytes >= 64 && !cu_image_begins(text, WRAPPER_MAGIC) && measure(&image) <= bytes + 1)
        add_image(module, text, measure(&image), 1);
    else
        free(text);
}

void recorder_module_same(void *module, void *as)
{
    if (!recorder_is_on() || module == as)
        return;
    pthread_mutex_lock(&known.mutex);
    for (struct module *m = known.modules; m; m = m->next)
        if (m->handle == as) {
            add_module(module, m->image);
            break;
        }
    pthread_mutex_unlock(&known.mutex);
}

void recorder_module_gone(void *module)
{
    if (!recorder_is_on())
        return;
    pthread_mutex_lock(&known.mutex);
    for (struct module **at = &known.modules; *at;) {
        struct module *m = *at;
        if (m->handle != module) {
            at = &m->next;
            continue;
        }
        *at = m->next;
        drop(m->image);
        free(m);
    }
    for (struct function **at = &known.functions; *at;) {
        struct function *f = *at;
        if (f->module != module) {
            at = &f->next;
            continue;
        }
        *at = f->next;
        free(f);
    }
    pthread_mutex_unlock(&known.mutex);
}

/* ---- PTX --------------------------------------------------------------------------------------------------------- */

/* A copy of an image's PTX where it has the kernel. *cubin: it is machine code. */
static char *ptx_of(const struct image *image, const char *name, const char *arch, size_t *bytes, int *cubin)
{
    char why[FATBIN_WHY], *text = NULL;
    *cubin = cu_image_begins(image->bytes, ELF_MAGIC);
    if (cu_fatbin_bytes(image->bytes)) {
        text = cu_fatbin_ptx(image->bytes, image->count, arch, bytes, why);
        *cubin = !text;
    } else if (!*cubin && recorder_has_entry(image->bytes, name)) {
        *bytes = image->count - 1;
        text = malloc(image->count);
        if (text)
            memcpy(text, image->bytes, image->count);
    }
    if (text && recorder_has_entry(text, name))
        return text;
    free(text);
    return NULL;
}

char *recorder_ptx(void *module, const char *name, const char *arch, const char *folder, size_t *bytes,
                   char why[RECORDER_WHY])
{
    char *text = NULL;
    int cubin = 0, is_cubin, at_all = 0;
    struct image *machine = NULL;
    pthread_mutex_lock(&known.mutex);
    for (int all = 0; all < 2 && !text && !at_all; all++) /* the function's module, or where nobody saw it any */
        for (struct module *m = known.modules; m && !text; m = m->next) {
            if (!all != (m->handle == module))
                continue;
            text = ptx_of(m->image, name, arch, bytes, &is_cubin);
            at_all |= !all;
            if (!all && is_cubin) {
                cubin = 1;
                machine = m->image;
            }
        }
    if (machine)
        machine->users++;
    pthread_mutex_unlock(&known.mutex);
    snprintf(why, RECORDER_WHY, "%s",
             at_all ? "its module has no PTX with this kernel" : "nobody saw its module being loaded");
    if (cubin)
        snprintf(why, RECORDER_WHY,
                 "its module is machine code, and only PTX can be replayed: compile with nvcc "
                 "-gencode arch=compute_%s,code=compute_%s, or name the folder that has NAME.ptx (Triton's cache, "
                 "~/.triton/cache) by TILEWRIGHT_RECORD_PTX",
                 arch + 3, arch + 3);
    if (!text && folder && folder[0])
        text = recorder_cached_ptx(folder, name, machine ? machine->bytes : NULL, machine ? machine->count : 0, bytes,
                                   why);
    pthread_mutex_lock(&known.mutex);
    if (machine)
        drop(machine);
    pthread_mutex_unlock(&known.mutex);
    return text;
}

/* ---- Functions and maps ------------------------------------------------------------------------------------------ */

static struct function *find(void *handle)
{
    struct function *f = known.functions;
    while (f && f->handle != handle)
        f = f->next;
    return f;
}

static void add_function(void *handle, void *module, const char *name, int is_kernel)
{
    struct function *f = find(handle);
    if (f && f->module == module && strcmp(f->name, name) == 0)
        return;
    size_t bytes = strlen(name) + 1;
    f = malloc(sizeof *f + bytes);
    if (!f)
        return;
    *f = (struct function){.next = known.functions, .handle = handle, .module = module, .is_kernel = is_kernel};
    memcpy(f->name, name, bytes);
    known.functions = f;
}

void recorder_function(void *function, void *module, const char *name, int is_kernel)
{
    if (!recorder_is_on() || !name)
        return;
    pthread_mutex_lock(&known.mutex);
    add_function(function, module, name, is_kernel);
    pthread_mutex_unlock(&known.mutex);
}

void recorder_function_same(void *function, void *kernel)
{
    if (!recorder_is_on() || function == kernel)
        return;
    pthread_mutex_lock(&known.mutex);
    const struct function *f = find(kernel);
    if (f)
        add_function(function, f->module, f->name, 0);
    pthread_mutex_unlock(&known.mutex);
}

int recorder_known(void *function, char *name, size_t room, void **module, int *is_kernel)
{
    pthread_mutex_lock(&known.mutex);
    const struct function *f = find(function);
    if (f) {
        snprintf(name, room, "%s", f->name);
        *module = f->module;
        *is_kernel = f->is_kernel;
    }
    pthread_mutex_unlock(&known.mutex);
    return f != NULL;
}

void recorder_map(const void *map, const struct tw_tensormap_call *call)
{
    if (!recorder_is_on())
        return;
    pthread_mutex_lock(&known.mutex);
    if (!known.map)
        known.map = calloc(MAPS, sizeof *known.map);
    if (known.map) {
        unsigned at = known.map_count++ % MAPS;
        memcpy(known.map[at].bytes, map, RECORDED_MAP_BYTES);
        known.map[at].call = *call;
    }
    pthread_mutex_unlock(&known.mutex);
}

int recorder_map_known(const unsigned char *map, struct tw_tensormap_call *call)
{
    uint64_t words[RECORDED_MAP_BYTES / 8];
    int found = 0;
    pthread_mutex_lock(&known.mutex);
    for (unsigned i = 0; i < MAPS && i < known.map_count && !found; i++) {
        unsigned at = (known.map_count - 1 - i) % MAPS;
        found = memcmp(known.map[at].bytes, map, RECORDED_MAP_BYTES) == 0;
        if (found)
            *call = known.map[at].call;
    }
    pthread_mutex_unlock(&known.mutex);
    memcpy(words, map, sizeof words);
    return found || (tw_tensormap_decode(words, call, NULL) == TW_OK && call->addr);
}
