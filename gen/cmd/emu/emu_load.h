/* What `tilewright emu` executes: a .cu file compiled by NVRTC, or a .ptx file as it is, and the kernel in it. */
#ifndef TW_GEN_CMD_EMU_EMU_LOAD_H
#define TW_GEN_CMD_EMU_EMU_LOAD_H

#include <stdbool.h>

#include "common/options.h"
#include "common/tell.h"
#include "emu/ptx/ptx.h"
#include "nvrtc.h"

/* Zero-initialised but for rt, tell and path is empty. */
struct emu_program {
    struct tw_runtime *rt;
    const struct tell *tell;
    const char *path;
    unsigned char *text;          /* of the file */
    size_t bytes;
    bool is_ptx;
    struct tw_compiled compiled;  /* of a .cu file: PTX, and the cubin where it was asked for */
    const char *ptx;              /* zero-terminated; text's or compiled's */
    size_t ptx_bytes;
    struct ptx_module *module;
    const struct ptx_function *kernel;
    const char *entry;            /* its name in the PTX */
};

/* Reads the file; of a .ptx parses it. All functions here tell faults and return an exit status. */
int emu_program_read(struct emu_program *program);

/* A PTX text, zero-terminated and the caller's, in place of a file's: path names it in messages. */
int emu_program_take(struct emu_program *program, const char *ptx, size_t bytes);

/* Compiles a .cu for this architecture, from tw_output bits PTX and maybe CUBIN, and parses what comes out; does
 * nothing for a .ptx. The lists may be empty; `own` are options of NVRTC as they stand. */
int emu_program_compile(struct emu_program *program, const char *arch, unsigned outputs,
                        const struct option_list *includes, const struct option_list *defines,
                        const struct option_list *own);

/* Finds the kernel: by its name in the PTX, or by the name of the C++ function ("scale", "space::scale") where one
 * kernel has it; NULL: the only one. */
int emu_program_choose(struct emu_program *program, const char *name);

/* The variable of global or constant memory of that name, as for kernels; NULL, and it is told, where there is none or
 * there are several. `where` begins the message. */
const struct ptx_variable *emu_program_variable(const struct emu_program *program, const char *name,
                                                const char *where);

/* Tells a fault of the PTX text, "PTX line N: ...", with the file's name and line, the .cu file's where there is one.
 * Other texts are told as they are. Returns the exit status of `status`. */
int emu_program_fault(const struct emu_program *program, int status, const struct tw_error *error);

void emu_program_free(struct emu_program *program);

#endif
