/* libFuzzer target of command lines: the whole program, its main included, on any words. README.md says how to run it.

   The first line is the words behind "tilewright", between blanks; a byte 1 in a word is a blank of it. What follows is
   the file `given`, which is the command's standard input too. The words may name that and the files of
   command_files.h, all in a folder of its own: beyond that folder no file is opened, made or removed, but for
   /dev/null, /dev/zero and /dev/full, no process is started and no library is opened. NVRTC is a stand-in whose every
   compilation fails. Linked with --wrap of tw_runtime_init and posix_spawnp. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#define main tilewright_main
#include "main.c"
#undef main

#include "fuzz/command_files.h"
#include "hooks.h"
#include "nvrtc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __real_tw_runtime_init(struct tw_runtime *rt, struct tw_error *error);
int __wrap_tw_runtime_init(struct tw_runtime *rt, struct tw_error *error);
int __wrap_posix_spawnp(pid_t *child, const char *file, const void *actions, const void *attributes,
                        char *const *arguments, char *const *environment);

enum { COMMAND_WORDS = 48, COMMAND_MOST_BYTES = 256 << 20 };

static char command_folder[64]; /* its path; "": not made yet */

/* ---- what the runtime may do ------------------------------------------------------------------------------------- */

static struct tw_files command_real;
static _Atomic size_t command_bytes; /* that the runtime holds */

/* Whether the path stays in the folder: none leads up, none to elsewhere. There are no links in it. */
static bool command_inside(const char *path)
{
    size_t length = strlen(command_folder);
    for (const char *at = path; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL)
        if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || !at[2]))
            return false;
    return path[0] != '/' || (strncmp(path, command_folder, length) == 0 && (path[length] == '/' || !path[length]));
}

static bool command_device(const char *path)
{
    return strcmp(path, "/dev/null") == 0 || strcmp(path, "/dev/zero") == 0 || strcmp(path, "/dev/full") == 0;
}

static int command_open(void *self, const char *path, int flags, unsigned mode)
{
    if (!command_inside(path) && !command_device(path))
        return flags & O_CREAT ? -EACCES : -ENOENT;
    return command_real.open(self, path, flags, mode);
}

static int command_sync(void *self, int file)
{
    (void)self;
    (void)file;
    return 0;
}

static int command_rename(void *self, const char *from, const char *to)
{
    return command_inside(from) && command_inside(to) ? command_real.rename(self, from, to) : -EACCES;
}

static int command_unlink(void *self, const char *path)
{
    return command_inside(path) ? command_real.unlink(self, path) : -EACCES;
}

static int command_mkdir(void *self, const char *path, unsigned mode)
{
    return command_inside(path) ? command_real.mkdir(self, path, mode) : -EACCES;
}

static int command_stat(void *self, const char *path, struct tw_file_info *info)
{
    return command_inside(path) || command_device(path) ? command_real.stat(self, path, info) : -ENOENT;
}

static int command_realpath(void *self, const char *path, char *out, size_t out_bytes)
{
    return command_inside(path) || command_device(path) ? command_real.realpath(self, path, out, out_bytes) : -ENOENT;
}

static int command_folder_open(void *self, const char *path, void **folder)
{
    return command_inside(path) ? command_real.folder_open(self, path, folder) : -ENOENT;
}

static void *command_no_library(void *self, const char *name, int global, const char **why)
{
    (void)self;
    (void)name;
    (void)global;
    *why = "there is none here";
    return NULL;
}

static const char *command_variable(void *self, const char *name)
{
    static const char *const names[] = {"TMPDIR", "HOME", "TILEWRIGHT_CACHE"};
    static const char *const values[] = {"tmp", ".", "cache"};
    (void)self;
    for (int i = 0; i < 3; i++)
        if (strcmp(name, names[i]) == 0)
            return values[i];
    return NULL;
}

static void command_sleep(void *self, double seconds)
{
    (void)self;
    (void)seconds;
}

/* Memory, of which there is not much. */
static bool command_has(size_t bytes)
{
    return bytes <= COMMAND_MOST_BYTES && atomic_load(&command_bytes) + bytes <= COMMAND_MOST_BYTES;
}

static void command_count(void *pointer)
{
    atomic_fetch_add(&command_bytes, malloc_usable_size(pointer));
}

static void *command_alloc(void *self, size_t bytes)
{
    void *pointer = command_has(bytes) ? malloc(bytes) : NULL;
    (void)self;
    command_count(pointer);
    return pointer;
}

static void *command_realloc(void *self, void *old, size_t bytes)
{
    size_t before = malloc_usable_size(old);
    void *pointer = command_has(bytes) ? realloc(old, bytes) : NULL;
    (void)self;
    if (pointer) {
        atomic_fetch_sub(&command_bytes, before);
        command_count(pointer);
    }
    return pointer;
}

static void command_free(void *self, void *pointer)
{
    (void)self;
    atomic_fetch_sub(&command_bytes, malloc_usable_size(pointer));
    free(pointer);
}

/* ---- an NVRTC that compiles nothing ------------------------------------------------------------------------------ */

static const char command_log[] = "kernel.cu(1): error: this compiler compiles nothing\n\n1 error detected\n";

static int command_version(int *major, int *minor)
{
    *major = TW_NVRTC_MAJOR;
    *minor = TW_NVRTC_MINOR;
    return 0;
}

static const char *command_error_string(int result)
{
    (void)result;
    return "NVRTC_ERROR_COMPILATION";
}

static int command_create(void **program, const char *source, const char *name, int count, const char *const *headers,
                          const char *const *header_names)
{
    (void)name;
    (void)count;
    (void)headers;
    (void)header_names;
    *program = (void *)(uintptr_t)source;
    return 0;
}

static int command_destroy(void **program)
{
    *program = NULL;
    return 0;
}

static int command_compile(void *program, int count, const char *const *options)
{
    (void)program;
    (void)count;
    (void)options;
    return 6;
}

static int command_no_size(void *program, size_t *bytes)
{
    (void)program;
    *bytes = 0;
    return 6;
}

static int command_no_bytes(void *program, char *bytes)
{
    (void)program;
    (void)bytes;
    return 6;
}

static int command_log_size(void *program, size_t *bytes)
{
    (void)program;
    *bytes = sizeof command_log;
    return 0;
}

static int command_log_text(void *program, char *text)
{
    (void)program;
    memcpy(text, command_log, sizeof command_log);
    return 0;
}

static struct tw_nvrtc command_nvrtc = {
    .api = {.version = command_version,
            .error_string = command_error_string,
            .create = command_create,
            .destroy = command_destroy,
            .compile = command_compile,
            .cubin_size = command_no_size,
            .cubin = command_no_bytes,
            .ptx_size = command_no_size,
            .ptx = command_no_bytes,
            .log_size = command_log_size,
            .log = command_log_text},
    .opened = 1,
    .major = TW_NVRTC_MAJOR,
    .minor = TW_NVRTC_MINOR,
    .build_id = "0123456789abcdef",
    .where = "a stand-in",
};

int __wrap_tw_runtime_init(struct tw_runtime *rt, struct tw_error *error)
{
    int status = __real_tw_runtime_init(rt, error);
    if (status != TW_OK || !command_folder[0])
        return status;
    command_real = rt->files;
    rt->files.open = command_open;
    rt->files.sync = command_sync;
    rt->files.rename = command_rename;
    rt->files.unlink = command_unlink;
    rt->files.mkdir = command_mkdir;
    rt->files.stat = command_stat;
    rt->files.realpath = command_realpath;
    rt->files.folder_open = command_folder_open;
    rt->loader.open = command_no_library;
    rt->process.variable = command_variable;
    rt->process.sleep = command_sleep;
    rt->memory.alloc = command_alloc;
    rt->memory.realloc = command_realloc;
    rt->memory.free = command_free;
    rt->program_folder[0] = '\0';
    rt->nvrtc = &command_nvrtc;
    return TW_OK;
}

int __wrap_posix_spawnp(pid_t *child, const char *file, const void *actions, const void *attributes,
                        char *const *arguments, char *const *environment)
{
    (void)child;
    (void)file;
    (void)actions;
    (void)attributes;
    (void)arguments;
    (void)environment;
    return ENOENT;
}

/* ---- the folder -------------------------------------------------------------------------------------------------- */

static struct stat command_made[COMMAND_FILES]; /* as each file was written */

static void command_write(const char *path, const void *bytes, size_t count)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, count, f) != count || fclose(f) != 0)
        abort();
}

static int command_file_of(const char *path)
{
    for (int i = 0; i < COMMAND_FILES; i++)
        if (strcmp(path, command_files[i].name) == 0)
            return i;
    return -1;
}

/* Removes what was not there before, and writes again what was changed. */
static void command_tidy(const char *folder)
{
    DIR *list = opendir(folder);
    char path[512];
    struct stat now;
    for (struct dirent *entry; list && (entry = readdir(list));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (strcmp(folder, ".") == 0)
            snprintf(path, sizeof path, "%s", entry->d_name);
        else
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (lstat(path, &now) == 0 && S_ISDIR(now.st_mode)) {
            command_tidy(path);
            rmdir(path);
        } else if (command_file_of(path) < 0) {
            unlink(path);
        }
    }
    if (list)
        closedir(list);
}

static void command_restore(void)
{
    struct stat now;
    command_tidy(".");
    if ((mkdir("tmp", 0777) != 0 && errno != EEXIST) || (mkdir("cache", 0777) != 0 && errno != EEXIST))
        abort();
    for (int i = 0; i < COMMAND_FILES; i++) {
        const struct stat *made = &command_made[i];
        if (stat(command_files[i].name, &now) == 0 && now.st_ino == made->st_ino && now.st_size == made->st_size &&
            memcmp(&now.st_mtim, &made->st_mtim, sizeof now.st_mtim) == 0)
            continue;
        unlink(command_files[i].name);
        command_write(command_files[i].name, command_files[i].text, strlen(command_files[i].text));
        if (stat(command_files[i].name, &command_made[i]) != 0)
            abort();
    }
}

static void command_remove_folder(void)
{
    if (chdir(command_folder) != 0)
        return;
    command_tidy(".");
    for (int i = 0; i < COMMAND_FILES; i++)
        unlink(command_files[i].name);
    rmdir(command_folder);
}

static void command_make_folder(void)
{
    struct stat memory;
    snprintf(command_folder, sizeof command_folder, "%s/tilewright_fuzz_XXXXXX",
             stat("/dev/shm", &memory) == 0 && access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(command_folder))
        abort();
    atexit(command_remove_folder);
}

/* ---- a command --------------------------------------------------------------------------------------------------- */

/* The words of a line, which is changed. An emulated kernel is stopped soon, whatever they say: the last --limit
   counts. */
static int command_words(char *line, char **words)
{
    static char name[] = "tilewright", limit[] = "--limit=20000", one[] = "--sms=2";
    int count = 0, end = 0;
    char *rest = line;
    words[count++] = name;
    for (char *word; count < COMMAND_WORDS - 3 && (word = strtok_r(rest, " ", &rest));) {
        for (char *c = word; *c; c++)
            *c = *c == 1 ? ' ' : *c;
        if (!end && strcmp(word, "--") == 0)
            end = count;
        words[count++] = word;
    }
    if (count > 1 && strcmp(words[1], "emu") == 0) {
        end = end ? end : count;
        memmove(words + end + 2, words + end, sizeof *words * (size_t)(count - end));
        words[end] = limit;
        words[end + 1] = one;
        count += 2;
    }
    words[count] = NULL;
    return count;
}

/* What no user is to read, but for one who wrote it. */
static void command_judge(int status, const char *said, size_t said_bytes, const uint8_t *data, size_t size)
{
    static const char *const underneath[] = {"internal error", "attempt to ", "bad argument #"};
    bool bad = status < 0 || status > 3 || (status && !said_bytes);
    for (size_t i = 0; i < sizeof underneath / sizeof *underneath; i++) {
        size_t length = strlen(underneath[i]) - 1;
        bad = bad || (memmem(said, said_bytes, underneath[i], length) && !memmem(data, size, underneath[i], length));
    }
    if (!bad)
        return;
    fprintf(stderr, "status %d: %.*s\n", status, (int)said_bytes, said);
    abort();
}

/* Returns its exit status. */
static int command_run_words(int argc, char **argv, const uint8_t *given, size_t given_bytes, char **said,
                             size_t *said_bytes)
{
    FILE *in = stdin, *out = stdout, *err = stderr;
    FILE *text = given_bytes ? fmemopen((void *)(uintptr_t)given, given_bytes, "r") : fopen("/dev/null", "r");
    FILE *kept = open_memstream(said, said_bytes);
    if (!text || !kept)
        abort();
    stdin = text;
    stdout = stderr = kept;
    int status = tilewright_main(argc, argv);
    stdin = in;
    stdout = out;
    stderr = err;
    fclose(text);
    fclose(kept);
    return status;
}

/* The command line in the folder, which is as it was made; *said is the caller's to free. Returns its exit status. */
static int command_answer(const uint8_t *data, size_t size, char **said, size_t *said_bytes)
{
    const uint8_t *end = memchr(data, '\n', size), *given = end ? end + 1 : data + size;
    size_t length = end ? (size_t)(end - data) : size, given_bytes = (size_t)(data + size - given);
    char *words[COMMAND_WORDS], *line = malloc(length + 1);
    int before = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!line || before < 0)
        abort();
    memcpy(line, data, length);
    line[length] = '\0';
    if (!command_folder[0])
        command_make_folder();
    if (chdir(command_folder) != 0)
        abort();
    command_restore();
    command_write("given", given, given_bytes);
    command_write("given.cu", given, given_bytes);
    int count = command_words(line, words);
    int status = command_run_words(count, words, given, given_bytes, said, said_bytes);
    if (fchdir(before) != 0)
        abort();
    close(before);
    free(line);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *said = NULL;
    size_t said_bytes = 0;
    int status = command_answer(data, size, &said, &said_bytes);
    command_judge(status, said, said_bytes, data, size);
    free(said);
    return 0;
}
