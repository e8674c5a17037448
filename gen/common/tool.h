/* Programs of the CUDA toolkit, run as children: nvcc, nvdisasm, cuobjdump. */
#ifndef TW_GEN_COMMON_TOOL_H
#define TW_GEN_COMMON_TOOL_H

#include <stdbool.h>

#include "nvrtc.h"

enum { TOOL_FOLDER = 256 };

/* A temporary folder, in $TMPDIR or /tmp, of the caller's own; folder is "" after a failure. TW_ERROR_FILE. */
int tool_make_folder(struct tw_runtime *rt, char folder[TOOL_FOLDER], struct tw_error *error);

/* Remove it with the files in it; "" does nothing. */
void tool_remove_folder(const char *folder);

/* Write a file, readable by the user alone. TW_ERROR_FILE. */
int tool_write_file(struct tw_runtime *rt, const char *path, const void *bytes, size_t count, struct tw_error *error);

/* Run a program, found in PATH where its name has no slash, and wait. Its stdout goes to the file `output`, stderr
 * there too where `both`, else nowhere; output NULL: both go to this program's stderr. *exit_status is 128 and more for
 * a signal. TW_ERROR_NO_TOOL where it cannot be run. */
int tool_run(char *const *arguments, const char *output, bool both, int *exit_status, struct tw_error *error);

/* Compiles by nvcc what tw_compile compiles by NVRTC: the same source, architecture and options, and the same checks of
 * ptxas' messages. Gives cubin, info, log and seconds; no PTX. TW_ERROR_NO_TOOL, TW_ERROR_COMPILE, TW_ERROR_FILE. */
int tool_nvcc(struct tw_runtime *rt, const struct tw_compile_request *request, struct tw_compiled *out,
              struct tw_error *error);

/* The cubin as SASS text, zero-terminated, which the caller frees by tw_free. TW_ERROR_NO_TOOL where neither nvdisasm
 * nor cuobjdump is found. */
int tool_disassemble(struct tw_runtime *rt, const void *cubin, size_t bytes, char **text, size_t *length,
                     struct tw_error *error);

#endif
