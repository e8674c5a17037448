/* Programs of the CUDA toolkit, run as children: nvcc, nvdisasm, cuobjdump. */
#ifndef TW_GEN_CMD_TOOL_H
#define TW_GEN_CMD_TOOL_H

#include "nvrtc.h"

/* Compiles by nvcc what tw_compile compiles by NVRTC: the same source, architecture and options, and the same checks of
 * ptxas' messages. Gives cubin, info, log and seconds; no PTX. TW_ERROR_NO_TOOL, TW_ERROR_COMPILE, TW_ERROR_FILE. */
int tool_nvcc(struct tw_runtime *rt, const struct tw_compile_request *request, struct tw_compiled *out,
              struct tw_error *error);

/* The cubin as SASS text, zero-terminated, which the caller frees by tw_free. TW_ERROR_NO_TOOL where neither nvdisasm
 * nor cuobjdump is found. */
int tool_disassemble(struct tw_runtime *rt, const void *cubin, size_t bytes, char **text, size_t *length,
                     struct tw_error *error);

#endif
