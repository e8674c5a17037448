/* The runtime's context. Everything that can fail (memory, files, shared libraries, NVRTC, the CUDA driver) is reached
   through tables of function pointers in a struct tw_runtime that the caller owns, so that a test can make call N fail
   for every N. There are no globals: two runtimes in one process know nothing of each other. */
#ifndef TW_HOOKS_H
#define TW_HOOKS_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "status.h"

struct tw_driver;
struct tw_nvrtc;

/* Memory. The contracts of malloc, realloc and free; thread-safe. */
struct tw_memory {
    void *self;                                             /* first argument of every call */
    void *(*alloc)(void *self, size_t bytes);               /* bytes > 0 */
    void *(*realloc)(void *self, void *old, size_t bytes);  /* old may be NULL; bytes > 0 */
    void (*free)(void *self, void *pointer);                /* pointer may be NULL */
};

/* What a path names. */
struct tw_file_info {
    uint64_t bytes;
    int64_t modified;  /* seconds since the epoch */
    int is_folder;
    int is_regular;
};

/* Files. Every call returns 0 or more, or -errno; thread-safe. */
struct tw_files {
    void *self;
    int (*open)(void *self, const char *path, int flags, unsigned mode);  /* file descriptor; O_CLOEXEC is added */
    long (*read)(void *self, int file, void *bytes, size_t count);        /* bytes read, 0 at the end */
    long (*write)(void *self, int file, const void *bytes, size_t count); /* bytes written */
    int (*sync)(void *self, int file);
    int (*close)(void *self, int file);
    int (*lock)(void *self, int file);                                    /* exclusive, at once or -EWOULDBLOCK */
    int (*rename)(void *self, const char *from, const char *to);
    int (*unlink)(void *self, const char *path);
    int (*mkdir)(void *self, const char *path, unsigned mode);
    int (*stat)(void *self, const char *path, struct tw_file_info *info);
    int (*realpath)(void *self, const char *path, char *out, size_t out_bytes);
    int (*folder_open)(void *self, const char *path, void **folder);
    int (*folder_next)(void *self, void *folder, char *name, size_t name_bytes); /* 1 a name, 0 the end; not . and .. */
    void (*folder_close)(void *self, void *folder);
};

/* Shared libraries: dlopen, dlsym, dlclose; a library that was opened stays mapped. */
struct tw_loader {
    void *self;
    void *(*open)(void *self, const char *name, int global, const char **why); /* NULL, then *why says why */
    void *(*symbol)(void *self, void *library, const char *name);
    int (*path)(void *self, void *library, char *out, size_t out_bytes); /* file it came from; 0 or -errno */
    void (*close)(void *self, void *library);
};

/* The rest of the process: environment and time. */
struct tw_process {
    void *self;
    const char *(*variable)(void *self, const char *name); /* NULL where unset */
    double (*now)(void *self);                             /* seconds, monotonic */
    double (*date)(void *self);                            /* seconds since the epoch */
    void (*sleep)(void *self, double seconds);
};

/* The context. Plain data: fill it by tw_runtime_init, replace hooks before first use, and hand it to every call.
   Several threads may use one runtime at once, but not during init and close. */
struct tw_runtime {
    struct tw_memory memory;
    struct tw_files files;
    struct tw_loader loader;
    struct tw_process process;
    struct tw_nvrtc *nvrtc;         /* NULL until needed (nvrtc.h); a caller may hand one over, and then owns it */
    const struct tw_driver *driver; /* NULL until opened (driver.h); a caller may hand one over, and then owns it */
    struct tw_nvrtc *own_nvrtc;     /* what tw_runtime_close frees */
    struct tw_driver *own_driver;
    void *driver_library;
    char program_folder[4096];      /* folder of the running program, "" if unknown: build/cuda is looked for there */
    pthread_mutex_t mutex;          /* guards the lazy members above */
    int has_mutex;                  /* tw_runtime_init was called */
};

/* Fill *rt with the hooks of this process. Cannot fail but for the mutex. */
int tw_runtime_init(struct tw_runtime *rt, struct tw_error *error);

/* Close the libraries that were opened and free what is held. rt may be zeroed memory; devices and kernels made with it
   must be closed before. */
void tw_runtime_close(struct tw_runtime *rt);

/* Shorthands over rt->memory; NULL where there is no memory. Bytes 0 counts as 1. Free takes NULL. */
void *tw_alloc(struct tw_runtime *rt, size_t bytes);
void *tw_alloc_zeroed(struct tw_runtime *rt, size_t bytes);
void *tw_realloc(struct tw_runtime *rt, void *old, size_t bytes);
void tw_free(struct tw_runtime *rt, void *pointer);
char *tw_strdup(struct tw_runtime *rt, const char *text);
char *tw_format(struct tw_runtime *rt, const char *format, ...) TW_PRINTF(2, 3);

/* A variable of the environment; NULL where it is unset or empty. */
const char *tw_variable(struct tw_runtime *rt, const char *name);

/* A library's symbol into a function pointer, handed over by its own address. 0 where there is none. */
int tw_resolve(struct tw_runtime *rt, void *library, const char *name, void *function);

/* Read a whole file into memory that the caller frees; a zero byte follows the last. TW_ERROR_NOT_FOUND where there is
   none (or a part of its path is missing), TW_ERROR_FILE otherwise. limit: refuse larger files, and what has no end,
   such as a device, at that many bytes (0: TW_FILE_MOST). A pipe is read to its end, however late that comes. */
enum { TW_FILE_MOST = 1 << 30 };
int tw_read_file(struct tw_runtime *rt, const char *path, size_t limit, unsigned char **bytes, size_t *count,
                 struct tw_error *error);

/* The same of a file that nobody named, found by the program in its cache for example: what is no regular file is
   refused and not opened, so that no pipe is waited for. TW_ERROR_FILE. */
int tw_read_regular_file(struct tw_runtime *rt, const char *path, size_t limit, unsigned char **bytes, size_t *count,
                         struct tw_error *error);

/* Write all bytes, in as many calls as it takes. 0 or -errno. */
int tw_write_all(struct tw_runtime *rt, int file, const void *bytes, size_t count);

/* Read up to count bytes, in as many calls as it takes; *got says how many. 0 or -errno. */
int tw_read_all(struct tw_runtime *rt, int file, void *bytes, size_t count, size_t *got);

#endif
