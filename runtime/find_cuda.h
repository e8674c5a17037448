/* Where NVRTC, the driver and the toolkit's programs are looked for, in this order:

     $CUDA_HOME, $CUDA_PATH                                       } each with lib, lib64 and targets/NAME/lib for
     /usr/local/cuda, /usr/local/cuda-* (newest first), /opt/cuda } libraries, bin for programs
     the loader: $LD_LIBRARY_PATH, /etc/ld.so.cache, the usual library folders; $PATH for programs
     Python: nvidia/NAME/lib and nvidia/NAME/bin in site-packages and dist-packages of $VIRTUAL_ENV,
         $CONDA_PREFIX, ~/.local, pyenv ($PYENV_ROOT), /usr/local, /usr
     build/cuda, below the program's folder and the current one: a toolkit's layout or that of pip --target */
#ifndef TW_FIND_CUDA_H
#define TW_FIND_CUDA_H

#include "hooks.h"

/* One folder to look into. */
struct tw_place {
    char *folder; /* a library folder or a bin folder, absolute, without links */
    char *where;  /* for people: "$CUDA_HOME", "/usr/local/cuda", "Python", "loader", "build/cuda" */
};

struct tw_places {
    struct tw_place *items;
    size_t count;
};

enum tw_place_kind {
    TW_PLACE_LIBRARIES,
    TW_PLACE_PROGRAMS,
    TW_PLACE_HEADERS /* include, and include/cccl, where there are lib and bin; /usr/include for the loader */
};

/* Add the folders that step number `step` (from 0) of the order above gives, those that exist, each once, to a list
   that begins zeroed; TW_ERROR_NOT_FOUND past the last step. Whoever searches stops at the first step that has what is
   wanted. The caller frees the list by tw_places_free. */
int tw_find_places(struct tw_runtime *rt, enum tw_place_kind kind, unsigned step, struct tw_places *places,
                   struct tw_error *error);
void tw_places_free(struct tw_runtime *rt, struct tw_places *places);

/* A program of the toolkit ("nvcc", "nvdisasm", "cuobjdump", "ptxas"): *path and *where are new strings that the caller
   frees. TW_ERROR_NO_TOOL where there is none. */
int tw_find_program(struct tw_runtime *rt, const char *name, char **path, char **where, struct tw_error *error);

/* The folders with the toolkit's headers: those of the first place that has cuda_fp16.h, for one -I each. The list
   begins zeroed; the caller frees it by tw_places_free. TW_ERROR_NOT_FOUND where there are none. */
int tw_find_headers(struct tw_runtime *rt, struct tw_places *places, struct tw_error *error);

/* The library libSTEM.so.X[.Y] with the highest version in a folder, where X is major unless that is 0: path
   (path_bytes of room) and its version numbers, minor -1 where the name has one only. TW_ERROR_NOT_FOUND where there is
   none. A name without a version counts as version 0. */
int tw_find_library(struct tw_runtime *rt, const char *folder, const char *stem, int major, char *path,
                    size_t path_bytes, int *found_major, int *found_minor);

/* The GNU build-id of an ELF file as hexadecimal digits, read from its note; where it has none, "hash-" and the XXH3
   128-bit hash of all its bytes. out has 72 bytes. */
int tw_build_id(struct tw_runtime *rt, const char *path, char *out, struct tw_error *error);

#endif
