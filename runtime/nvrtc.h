/* NVRTC, NVIDIA's run-time compiler, through dlopen; no CUDA header. Signatures and result codes are those of nvrtc.h
   of CUDA 12.8 to 13; they are a stable C ABI. */
#ifndef TW_NVRTC_H
#define TW_NVRTC_H

#include <stddef.h>

#include "cubin.h"
#include "hooks.h"

/* The oldest NVRTC that knows every architecture and option in use. */
#define TW_NVRTC_MAJOR 12
#define TW_NVRTC_MINOR 8

/* NVRTC's entry points; a program is an opaque pointer, results are ints and 0 is success. */
struct tw_nvrtc_api {
#define NVRTC_CALL(field, symbol, result, arguments) result(*field) arguments;
#include "nvrtc_calls.def"
#undef NVRTC_CALL
};

/* An NVRTC. A caller may fill one by hand (api, version, build_id) and hand it over in tw_runtime.nvrtc before first
   use; otherwise it is found and opened when needed. */
struct tw_nvrtc {
    struct tw_nvrtc_api api; /* all NULL until opened */
    int opened;
    int major, minor;
    char build_id[72];       /* hexadecimal: GNU build-id of the library's file, or "hash-" and a hash of its bytes */
    char path[4096];         /* libnvrtc.so.N; "" if handed over */
    char builtins[4096];     /* libnvrtc-builtins.so.X.Y */
    char where[256];         /* where it was found: "$CUDA_HOME (/opt/cuda)", "/usr/local/cuda", "Python ..." */
    void *library;
    void *builtins_library;
};

/* Find NVRTC and read its version and build-id from files, without opening it (130 ms). Sets rt->nvrtc; does nothing
   if that is set. TW_ERROR_NO_NVRTC names the places that were looked at, TW_ERROR_OLD_NVRTC version and path.
   Thread-safe. */
int tw_nvrtc_find(struct tw_runtime *rt, struct tw_error *error);

/* Find and open: first libnvrtc-builtins by its full path, then libnvrtc, which looks for it by bare name only.
   Thread-safe; compiles may then run in parallel. */
int tw_nvrtc_open(struct tw_runtime *rt, struct tw_error *error);

/* Close and free what tw_nvrtc_find made. Called by tw_runtime_close. */
void tw_nvrtc_close(struct tw_runtime *rt);

/* What a compile gives. */
enum tw_output {
    TW_OUTPUT_CUBIN = 1, /* --gpu-architecture=sm_XX */
    TW_OUTPUT_PTX = 2    /* --gpu-architecture=compute_XX; alone it needs no ptxas */
};

/* One compile. Nothing is kept after the call. */
struct tw_compile_request {
    const char *source;         /* CUDA C++ text; no byte 0 inside, none needed behind it */
    size_t source_bytes;
    const char *name;           /* virtual absolute file name, "/tilewright/NAME.ARCH.cu": messages carry it */
    const char *entry;          /* an extern "C" __global__ function; checked to be in the cubin. "": nothing is
                                   checked, and info stays zero */
    const char *arch;           /* "sm_90a": always that of the device that will run it */
    const char *const *options; /* each one whole argument ("--use_fast_math", "-DX=1"); order does not matter but
                                   among those that begin with -I: they are sorted. The architecture is added here,
                                   and C++17 unless a standard is named */
    size_t option_count;
    const char *const *allow;   /* codes of ptxas messages that are not errors here: "C7508", ...; "all" */
    size_t allow_count;
    unsigned outputs;           /* tw_output bits; 0 means TW_OUTPUT_CUBIN */
    unsigned generator;         /* generator version, part of the cache key */
    const char *const *header_names; /* headers given as text, found before those in folders: "stdint.h". No part of the
                                        cache's key: they are for tw_compile, or are what the generator version says */
    const char *const *header_texts;
    size_t header_count;
};

/* How tw_compile_cached got the result. */
enum tw_cache_outcome {
    TW_CACHE_NONE = 0, /* not asked, or there is no cache folder */
    TW_CACHE_HIT,
    TW_CACHE_MISS,     /* compiled and stored (or another process stored the same entry first) */
    TW_CACHE_UNSTORED  /* compiled; the entry could not be written, note says why */
};

/* The result of a compile. Zero it before the call and free it by tw_compiled_free after it, failed or not: a failed
   compile leaves the log. */
struct tw_compiled {
    unsigned char *cubin;
    size_t cubin_bytes;
    char *ptx;                  /* zero-terminated */
    size_t ptx_bytes;           /* without the zero */
    char *log;                  /* NVRTC's messages, "" if none; never NULL after success */
    struct tw_cubin_info info;  /* of the entry, read from the cubin; zero without a cubin */
    double seconds;             /* time spent in NVRTC; 0 after a hit */
    int cache;                  /* tw_cache_outcome */
    char note[256];             /* why an entry was not read or not stored; "" if all went well */
    double find_seconds;        /* finding NVRTC and its build-id */
    double lookup_seconds;      /* key, and reading the entry */
    double open_seconds;        /* opening NVRTC; 0 if it was open */
    double wait_seconds;        /* waiting for another process that compiles the same key */
    double store_seconds;       /* writing the entry */
};

/* Compile now, without a cache. TW_ERROR_COMPILE: error->text has the first messages, out->log all. Messages of
   ptxas_messages.def are errors unless allowed. The same request and NVRTC give the same bytes. Thread-safe. */
int tw_compile(struct tw_runtime *rt, const struct tw_compile_request *request, struct tw_compiled *out,
               struct tw_error *error);

/* Free the members and zero *out. */
void tw_compiled_free(struct tw_runtime *rt, struct tw_compiled *out);

/* The request's options, sorted by strcmp: a new array (of the caller's strings) that the caller frees; NULL without
   memory. */
const char **tw_sorted_options(struct tw_runtime *rt, const struct tw_compile_request *request);

/* The next message of ptxas_messages.def in a log, from *cursor on (start with the log; NULL ends). Gives the code
   ("C7519"), whether it is an error, and the line it stands in. Returns 1, or 0 at the end. */
struct tw_message {
    char code[16]; /* "" where ptxas gave none */
    int is_error;
    const char *line; /* in the log, not terminated */
    size_t line_bytes;
};
int tw_next_message(const char **cursor, struct tw_message *message);

#endif
