/* Which launches are recorded, and their records. */
#include "recorder.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "architecture.h"
#include "device.h"
#include "recorder_internal.h"

enum {
    NAME = 4096,     /* bytes of a kernel's name */
    CHUNK = 1 << 20, /* bytes that are copied at once */
    DEFAULT_MIB = 1024,
    PARAMETERS = 4096, /* most of a kernel */
    PARAMETER_BYTES = 32764
};

/* What the environment says, and how far the program has come. */
static struct {
    pthread_mutex_t mutex;
    int on;
    struct recorder_driver driver;
    void (*say)(const char *text);
    char folder[PATH_MAX];
    const char *kernel, *launches, *ptx; /* of the environment */
    uint64_t most;                       /* bytes before a launch */
    uint64_t number, of_name;
} state = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* The recorder calls the driver in this thread: what comes of it is nobody's launch. */
static _Thread_local int inside;

/* A piece of memory that a record holds. */
struct piece {
    struct recorded_memory is;
    uint64_t sum;    /* of the words that it held before */
    char name[1024]; /* of a variable; "" */
};

struct recording {
    struct recorded_writer writer;
    struct piece *piece;
    size_t count, room;
    uint64_t bytes;  /* of all pieces */
    size_t left_out; /* variables that the driver does not give */
    unsigned char *chunk;
    uint64_t number, of_name;
    char name[NAME];
};

/* Around what the recorder does. Another stream may be captured meanwhile, and copies and waits of this thread must not
   break that: CUDA Driver API, cuThreadExchangeStreamCaptureMode, allows them in the relaxed mode. */
static int go_inside(void)
{
    int mode = 2; /* CU_STREAM_CAPTURE_MODE_RELAXED */
    inside = 1;
    if (state.driver.exchange)
        state.driver.exchange(&mode);
    return mode;
}

static void go_outside(int mode)
{
    if (state.driver.exchange)
        state.driver.exchange(&mode);
    inside = 0;
}

static void say(const char *format, ...) TW_PRINTF(1, 2);
static void say(const char *format, ...)
{
    char text[2 * NAME];
    va_list list;
    int used = snprintf(text, sizeof text, "tilewright record: ");
    va_start(list, format);
    vsnprintf(text + used, sizeof text - (size_t)used, format, list);
    va_end(list);
    state.say(text);
}

static int not_recorded(const struct recording *r, const char *format, ...) TW_PRINTF(2, 3);
static int not_recorded(const struct recording *r, const char *format, ...)
{
    char why[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(why, sizeof why, format, list);
    va_end(list);
    say("launch %llu of %s is not recorded: %s", (unsigned long long)r->number, r->name, why);
    return -1;
}

/* ---- The choice -------------------------------------------------------------------------------------------------- */

/* Whether a list of numbers has one; -1: it is none. */
static int has_number(const char *list, uint64_t number)
{
    int has = 0;
    if (strcmp(list, "all") == 0)
        return 1;
    for (const char *at = list;; at++) {
        char *end;
        unsigned long long value = *at >= '1' && *at <= '9' ? strtoull(at, &end, 10) : 0;
        if (!value || (*end && *end != ','))
            return -1;
        has |= value == number;
        at = end;
        if (!*at)
            return has;
    }
}

static int matches(const char *name)
{
    if (!state.kernel)
        return 1;
    return strpbrk(state.kernel, "*?[") ? fnmatch(state.kernel, name, 0) == 0 : strstr(name, state.kernel) != NULL;
}

static const char *variable(const char *name)
{
    const char *text = getenv(name);
    return text && *text ? text : NULL;
}

/* The program may change its environment later. */
static const char *kept(const char *name)
{
    const char *text = variable(name);
    return text ? strdup(text) : NULL;
}

int recorder_start(const struct recorder_driver *driver, void (*tell)(const char *text))
{
    const char *folder = variable("TILEWRIGHT_RECORD"), *memory = variable("TILEWRIGHT_RECORD_MEMORY");
    char *end = NULL, here[PATH_MAX] = "";
    unsigned long long mib = memory && *memory >= '0' && *memory <= '9' ? strtoull(memory, &end, 10) : DEFAULT_MIB;
    if (!folder)
        return 0;
    state.say = tell;
    state.driver = *driver;
    state.kernel = kept("TILEWRIGHT_RECORD_KERNEL");
    state.ptx = kept("TILEWRIGHT_RECORD_PTX");
    state.launches = kept("TILEWRIGHT_RECORD_LAUNCH");
    if (!state.launches)
        state.launches = "1";
    if (memory && (!end || *end || !mib || mib > 1 << 20)) {
        say("nothing is recorded: TILEWRIGHT_RECORD_MEMORY=%s: write 1 to 1048576 MiB", memory);
        return 0;
    }
    if (has_number(state.launches, 1) < 0) {
        say("nothing is recorded: TILEWRIGHT_RECORD_LAUNCH=%s: write numbers from 1 with commas between, or all",
            state.launches);
        return 0;
    }
#define DRIVER(member, symbol, required, arguments)                                                                    \
    if (required && !driver->member) {                                                                                 \
        say("nothing is recorded: the driver has no " #symbol ": one of CUDA 12.4 or later is needed");                \
        return 0;                                                                                                      \
    }
#include "recorder_driver.def"
#undef DRIVER
    /* The program may change its folder later. */
    if (folder[0] != '/' && !getcwd(here, sizeof here))
        here[0] = '\0';
    if (snprintf(state.folder, sizeof state.folder, "%s%s%s", here, here[0] ? "/" : "", folder) >=
            (int)sizeof state.folder ||
        (mkdir(state.folder, 0777) && errno != EEXIST)) {
        say("nothing is recorded: TILEWRIGHT_RECORD=%s: the folder cannot be made: %s", folder, strerror(errno));
        return 0;
    }
    state.most = (uint64_t)mib << 20;
    state.on = 1;
    return 1;
}

int recorder_is_on(void)
{
    return state.on && !inside;
}

/* Counts a launch; whether it is one of those that were asked for. */
static int chosen(struct recording *r)
{
    pthread_mutex_lock(&state.mutex);
    int named = matches(r->name);
    r->number = ++state.number;
    r->of_name = named ? ++state.of_name : 0;
    pthread_mutex_unlock(&state.mutex);
    return named && has_number(state.launches, r->of_name) == 1;
}

void recorder_after_fork(void)
{
    state.mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    recorder_modules_after_fork();
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

static int add_piece(struct recording *r, const struct piece *piece)
{
    for (size_t i = 0; i < r->count; i++)
        if (piece->is.address < r->piece[i].is.address + r->piece[i].is.bytes &&
            r->piece[i].is.address < piece->is.address + piece->is.bytes)
            return 0; /* it is there already, or a variable of it */
    if (r->count == r->room) {
        size_t room = r->room ? 2 * r->room : 16;
        struct piece *grown = realloc(r->piece, room * sizeof *grown);
        if (!grown)
            return not_recorded(r, "out of memory");
        r->piece = grown;
        r->room = room;
    }
    r->piece[r->count++] = *piece;
    r->bytes += piece->is.bytes;
    return 0;
}

/* The allocation that an address lies in, if it lies in one. */
static int add_pointee(struct recording *r, uint64_t address)
{
    enum { RANGE_START = 11, RANGE_SIZE = 12 }; /* CU_POINTER_ATTRIBUTE_RANGE_... */
    struct piece piece = {.is.kind = RECORDED_ALLOCATION};
    size_t bytes = 0;
    if (address < 4096)
        return 0;
    /* Pinned memory of the host's has no range of the first kind. */
    if (state.driver.range(&piece.is.address, &bytes, address) &&
        (state.driver.pointer(&piece.is.address, RANGE_START, address) ||
         state.driver.pointer(&bytes, RANGE_SIZE, address)))
        return 0;
    piece.is.bytes = bytes;
    if (!bytes || address - piece.is.address >= bytes)
        return 0;
    return add_piece(r, &piece);
}

static int add_variables(struct recording *r, const char *ptx, void *function)
{
    void *module = NULL;
    struct piece piece = {.is.kind = RECORDED_VARIABLE};
    const int hidden = state.driver.module_of(&module, function);
    while (recorder_next_variable(&ptx, piece.name, sizeof piece.name)) {
        size_t bytes = 0;
        if (hidden || state.driver.global(&piece.is.address, &bytes, module, piece.name) || !bytes) {
            r->left_out++;
            continue;
        }
        piece.is.bytes = bytes;
        piece.is.name_bytes = (uint32_t)strlen(piece.name) + 1;
        if (add_piece(r, &piece))
            return -1;
    }
    return 0;
}

/* Puts an allocation's bytes as they are now; the sum of its words, for comparison. 0, or -1: they cannot be read. */
static int put_memory(struct recording *r, const struct piece *piece, uint64_t *sum)
{
    *sum = 0;
    for (uint64_t done = 0; done < piece->is.bytes;) {
        size_t bytes = piece->is.bytes - done < CHUNK ? (size_t)(piece->is.bytes - done) : CHUNK;
        memset(r->chunk + bytes / 8 * 8, 0, 8);
        if (state.driver.copy((uint64_t)(uintptr_t)r->chunk, piece->is.address + done, bytes))
            return -1;
        recorded_put(&r->writer, r->chunk, bytes);
        *sum = recorded_checksum(*sum, r->chunk, (bytes + 7) / 8 * 8);
        done += bytes;
    }
    return 0;
}

/* ---- Before ------------------------------------------------------------------------------------------------------ */

/* The arguments, as the kernel's parameters lie. */
struct arguments {
    struct recorded_parameter list[PARAMETERS];
    uint32_t count, bytes;
    unsigned char at[PARAMETER_BYTES + 64];
    uint32_t map[PARAMETER_BYTES / 64]; /* where tensor maps lie */
    struct tw_tensormap_call call[PARAMETER_BYTES / 64];
    uint32_t map_count;
};

/* `extra` of a launch: CU_LAUNCH_PARAM_END, _BUFFER_POINTER, _BUFFER_SIZE. */
static int take_buffer(struct arguments *a, void **extra)
{
    const void *buffer = NULL;
    size_t bytes = 0;
    for (; extra && extra[0]; extra += 2) {
        if ((uintptr_t)extra[0] == 1)
            buffer = extra[1];
        else if ((uintptr_t)extra[0] == 2)
            memcpy(&bytes, extra[1], sizeof bytes);
        else
            return -1;
    }
    if (a->bytes && !buffer)
        return -1;
    if (buffer)
        memcpy(a->at, buffer, bytes < a->bytes ? bytes : a->bytes);
    return 0;
}

static int take_arguments(struct recording *r, struct arguments *a, const struct recorder_launch *launch,
                          void *function)
{
    size_t offset, bytes;
    while (a->count < PARAMETERS && !state.driver.parameter(function, a->count, &offset, &bytes)) {
        if (offset > PARAMETER_BYTES || bytes > PARAMETER_BYTES - offset)
            return not_recorded(r, "its parameters have more than %d bytes", PARAMETER_BYTES);
        a->list[a->count++] = (struct recorded_parameter){(uint32_t)offset, (uint32_t)bytes};
        a->bytes = (uint32_t)(offset + bytes);
    }
    for (uint32_t i = 0; launch->arguments && i < a->count; i++)
        memcpy(a->at + a->list[i].offset, launch->arguments[i], a->list[i].bytes);
    if (!launch->arguments && take_buffer(a, launch->extra))
        return not_recorded(r, "it gives no arguments, or in a way that is not known");
    return 0;
}

/* Tensor maps among the arguments, then the memory that they and all other words point into. A map lies at a multiple
   of 64 bytes from where its parameter begins; from where the first one begins it need not: on an H200 the constants
   that parameters are begin 16 bytes behind such a multiple. */
static int follow_arguments(struct recording *r, struct arguments *a)
{
    for (uint32_t i = 0; i < a->count; i++) {
        uint32_t at = (a->list[i].offset + 7) / 8 * 8, end = a->list[i].offset + a->list[i].bytes;
        while (at + 8 <= end) {
            uint64_t address;
            struct tw_tensormap_call *call = &a->call[a->map_count];
            uint32_t step = 8;
            memcpy(&address, a->at + at, 8);
            if ((at - a->list[i].offset) % 64 == 0 && at + RECORDED_MAP_BYTES <= end &&
                recorder_map_known(a->at + at, call)) {
                a->map[a->map_count++] = at;
                address = call->addr;
                step = RECORDED_MAP_BYTES;
            }
            if (add_pointee(r, address))
                return -1;
            at += step;
        }
    }
    return 0;
}

/* cc and sms of the current device, and the driver's version; as an architecture's name into arch. */
static void describe_machine(struct recorded_launch *l, char *arch, size_t room)
{
    enum { MAJOR = 75, MINOR = 76, SMS = 16 }; /* CU_DEVICE_ATTRIBUTE_... */
    int device, major = 9, minor = 0, sms = 0, version = 0;
    const struct recorder_driver *d = &state.driver;
    if (d->device && d->attribute && d->device(&device) == 0) {
        d->attribute(&major, MAJOR, device);
        d->attribute(&minor, MINOR, device);
        d->attribute(&sms, SMS, device);
    }
    if (d->version)
        d->version(&version);
    l->cc = (uint32_t)(10 * major + minor);
    l->driver = (uint32_t)version;
    l->sms = (uint32_t)sms;
    snprintf(arch, room, "sm_%u%s", l->cc, l->cc >= 90 ? "a" : "");
}

static void put_section(struct recorded_writer *w, enum recorded_kind kind, uint32_t item, const void *bytes,
                        size_t count)
{
    recorded_begin(w, kind, item, count);
    recorded_put(w, bytes, count);
    recorded_end(w);
}

static void put_launch(struct recording *r, const struct recorded_launch *l, const struct recorder_launch *launch)
{
    size_t attributes = (size_t)l->attributes * RECORDED_ATTRIBUTE;
    recorded_begin(&r->writer, RECORDED_LAUNCH, 0, sizeof *l + attributes + l->name_bytes);
    recorded_put(&r->writer, l, sizeof *l);
    recorded_put(&r->writer, launch->attributes, attributes);
    recorded_put(&r->writer, r->name, l->name_bytes);
    recorded_end(&r->writer);
}

static void put_arguments(struct recording *r, const struct arguments *a)
{
    size_t list = a->count * sizeof *a->list;
    recorded_begin(&r->writer, RECORDED_PARAMETERS, a->count, list + a->bytes);
    recorded_put(&r->writer, a->list, list);
    recorded_put(&r->writer, a->at, a->bytes);
    recorded_end(&r->writer);
    for (uint32_t i = 0; i < a->map_count; i++) {
        struct recorded_map map = recorded_map_of(&a->call[i], a->at + a->map[i]);
        put_section(&r->writer, RECORDED_MAP, a->map[i], &map, sizeof map);
    }
}

static int put_pieces(struct recording *r)
{
    static const unsigned char zeros[8];
    for (size_t i = 0; i < r->count; i++) {
        struct piece *p = &r->piece[i];
        size_t pad = (8 - p->is.name_bytes % 8) % 8;
        recorded_begin(&r->writer, RECORDED_MEMORY, (uint32_t)i, sizeof p->is + p->is.name_bytes + pad + p->is.bytes);
        recorded_put(&r->writer, &p->is, sizeof p->is);
        recorded_put(&r->writer, p->name, p->is.name_bytes);
        recorded_put(&r->writer, zeros, pad);
        if (put_memory(r, p, &p->sum))
            return not_recorded(r, "the %llu bytes at 0x%llx cannot be read", (unsigned long long)p->is.bytes,
                                (unsigned long long)p->is.address);
        recorded_end(&r->writer);
    }
    return 0;
}

/* FOLDER/NAME.NUMBER.record, of the name what a file's may have. */
static void choose_path(const struct recording *r, char *path, size_t room)
{
    char name[100];
    snprintf(name, sizeof name, "%.90s", r->name);
    for (char *at = name; *at; at++)
        if (*at == '/' || (unsigned char)*at <= ' ')
            *at = '_';
    snprintf(path, room, "%.3900s/%s.%llu.record", state.folder, name, (unsigned long long)r->number);
    if (access(path, F_OK) == 0) /* of another process, or of a run before */
        snprintf(path, room, "%.3900s/%s.%llu.%ld.record", state.folder, name, (unsigned long long)r->number,
                 (long)getpid());
}

static int write_before(struct recording *r, const struct recorder_launch *launch, const char *ptx, size_t ptx_bytes,
                        const struct arguments *a, struct recorded_launch *l)
{
    char path[PATH_MAX];
    memcpy(l->grid, launch->grid, sizeof l->grid);
    memcpy(l->block, launch->block, sizeof l->block);
    memcpy(l->cluster, launch->cluster, sizeof l->cluster);
    l->shared_bytes = launch->shared_bytes;
    l->flags = launch->flags;
    l->attributes = launch->attributes ? launch->attribute_count : 0;
    l->name_bytes = (uint32_t)strlen(r->name) + 1;
    l->number = r->number;
    l->of_name = r->of_name;
    choose_path(r, path, sizeof path);
    if (recorded_open(&r->writer, path))
        return not_recorded(r, "%s: %s", path, strerror(errno));
    put_launch(r, l, launch);
    put_section(&r->writer, RECORDED_PTX, 0, ptx, ptx_bytes + 1);
    put_arguments(r, a);
    return 0;
}

static void free_recording(struct recording *r)
{
    if (r->writer.file)
        recorded_finish(&r->writer, 0);
    free(r->chunk);
    free(r->piece);
    free(r);
}

/* A function of the current context, where a launch has named a library's kernel. */
static void *as_function(void *function, int is_kernel)
{
    void *own = NULL;
    return is_kernel && state.driver.function_of && !state.driver.function_of(&own, function) ? own : function;
}

static int before(struct recording *r, const struct recorder_launch *launch, void *module, int is_kernel,
                  struct arguments *a)
{
    char why[RECORDER_WHY], arch[16];
    struct recorded_launch l = {.flags = 0};
    size_t bytes = 0;
    int capturing = 0, result = -1;
    if (state.driver.capturing(launch->stream, &capturing) == 0 && capturing)
        return not_recorded(r, "it is captured into a graph; record it where it is launched by itself");
    int status = state.driver.synchronize();
    if (status)
        return not_recorded(r, "what came before it failed (%d)", status);
    void *function = as_function(launch->function, is_kernel);
    describe_machine(&l, arch, sizeof arch);
    char *ptx = recorder_ptx(module, r->name, arch, state.ptx, &bytes, why);
    if (!ptx)
        return not_recorded(r, "%s", why);
    r->chunk = malloc(CHUNK + 8);
    if (!r->chunk) {
        not_recorded(r, "out of memory");
        goto done;
    }
    if (take_arguments(r, a, launch, function) || add_variables(r, ptx, function) || follow_arguments(r, a))
        goto done;
    if (r->bytes > state.most) {
        not_recorded(r,
                     "its arguments and variables lead to %llu bytes of memory, more than %llu MiB: set "
                     "TILEWRIGHT_RECORD_MEMORY",
                     (unsigned long long)r->bytes, (unsigned long long)(state.most >> 20));
        goto done;
    }
    if (!write_before(r, launch, ptx, bytes, a, &l) && !put_pieces(r))
        result = 0;
done:
    free(ptx);
    return result;
}

struct recording *recorder_before(const struct recorder_launch *launch)
{
    void *module = NULL;
    int is_kernel = 0, error = errno;
    if (!recorder_is_on())
        return NULL;
    struct recording *r = calloc(1, sizeof *r);
    struct arguments *a = NULL;
    if (!r)
        return NULL;
    inside = 1;
    if (!recorder_known(launch->function, r->name, sizeof r->name, &module, &is_kernel))
        snprintf(r->name, sizeof r->name, "%s", launch->name ? launch->name : "?");
    int go = chosen(r) && (a = calloc(1, sizeof *a));
    if (go) {
        int mode = go_inside();
        go = before(r, launch, module, is_kernel, a) == 0;
        go_outside(mode);
    }
    free(a);
    inside = 0;
    errno = error;
    if (go)
        return r;
    free_recording(r);
    return NULL;
}

/* ---- After ------------------------------------------------------------------------------------------------------- */

/* What the memory holds now. Where it cannot be read, nothing of it is in the record. */
static int put_after(struct recording *r)
{
    for (size_t i = 0; i < r->count; i++) {
        struct recorded_writer mark = recorded_mark(&r->writer);
        const struct piece *p = &r->piece[i];
        uint64_t sum;
        recorded_begin(&r->writer, RECORDED_AFTER, (uint32_t)i, p->is.bytes);
        if (put_memory(r, p, &sum))
            return -1;
        recorded_end(&r->writer);
        if (sum != p->sum)
            continue;
        recorded_back(&r->writer, &mark);
        put_section(&r->writer, RECORDED_AFTER, (uint32_t)i, NULL, 0);
    }
    return 0;
}

static void finish(struct recording *r, int result)
{
    struct recorded_writer mark = recorded_mark(&r->writer);
    size_t variables = 0;
    if (!result)
        result = state.driver.synchronize();
    if (!result && put_after(r)) {
        result = -1;
        recorded_back(&r->writer, &mark);
    }
    if (result) {
        char note[128];
        int length =
            snprintf(note, sizeof note, "the launch failed (%d): what memory held after it is not known", result);
        put_section(&r->writer, RECORDED_NOTE, 0, note, (size_t)length + 1);
    }
    for (size_t i = 0; i < r->count; i++)
        variables += r->piece[i].is.kind == RECORDED_VARIABLE;
    char path[sizeof r->writer.path];
    memcpy(path, r->writer.path, sizeof path);
    if (recorded_finish(&r->writer, 1)) {
        not_recorded(r, "%s: %s", path, strerror(errno));
        return;
    }
    say("launch %llu, of %s, is in %s: %zu allocation%s and %zu variable%s, %llu bytes%s",
        (unsigned long long)r->number, r->name, path, r->count - variables, r->count - variables == 1 ? "" : "s",
        variables, variables == 1 ? "" : "s", (unsigned long long)r->bytes, result ? "; it failed" : "");
    if (r->left_out)
        say("launch %llu, of %s: %zu of its module's variables cannot be read, and begin in a replay as the PTX says",
            (unsigned long long)r->number, r->name, r->left_out);
}

void recorder_after(struct recording *r, int result)
{
    int error = errno;
    if (!r)
        return;
    int mode = go_inside();
    finish(r, result);
    go_outside(mode);
    free_recording(r);
    errno = error;
}
