/* What the recorder's files share. */
#ifndef RECORDER_INTERNAL_H
#define RECORDER_INTERNAL_H

#include "record.h"
#include "recorder.h"

enum { RECORDER_WHY = 400 };

/* ---- recorder_modules.c: what is known of modules, functions and tensor maps ------------------------------------- */

/* The PTX with a kernel of this name that the function's module has: for an architecture, "sm_90a". The caller frees
   it. NULL, and why has a sentence. module may be NULL. */
char *recorder_ptx(void *module, const char *name, const char *arch, const char *folder, size_t *bytes,
                   char why[RECORDER_WHY]);

/* A function's name and module, as recorder_function was told, and whether it is a kernel. 0: nothing was told. The
   name is copied. */
int recorder_known(void *function, char *name, size_t room, void **module, int *is_kernel);

/* The call that encoded these 128 bytes: as it was watched, or as the bytes say. 0: they are no tensor map. */
int recorder_map_known(const unsigned char *map, struct tw_tensormap_call *call);

void recorder_modules_after_fork(void);

/* The next variable of global or constant memory that a PTX text declares outside of functions, from *at on: its name
   into name. 0: there is no more. */
int recorder_next_variable(const char **at, char *name, size_t room);

/* ---- recorder_ptx.c ---------------------------------------------------------------------------------------------- */

/* Whether a PTX text has a kernel of this name. */
int recorder_has_entry(const char *ptx, const char *name);

/* The text of NAME.ptx somewhere in a folder, the one whose cubin beside it has these bytes. As recorder_ptx. */
char *recorder_cached_ptx(const char *folder, const char *name, const void *cubin, size_t cubin_bytes, size_t *bytes,
                          char why[RECORDER_WHY]);

/* All of a file, a zero behind it; the caller frees it. NULL: it cannot be read. */
char *recorder_file(const char *path, size_t *bytes);

#endif
