/* What a cubin (a 64-bit ELF file) says about its kernels: no GPU and no second compile needed. */
#ifndef TW_CUBIN_H
#define TW_CUBIN_H

#include <stddef.h>
#include <stdint.h>

#include "status.h"

/* Of one entry point. Sizes in bytes. Sources: the attributes of sections .nv.info and .nv.info.ENTRY, and the headers
   of .text.ENTRY and .nv.shared.ENTRY. */
struct tw_cubin_info {
    uint32_t registers;         /* per thread (REGCOUNT; else the register field of .text's sh_info) */
    uint32_t static_shared;     /* declared __shared__ arrays; dynamic shared memory is asked for at launch */
    uint32_t frame;             /* stack frame per thread (FRAME_SIZE): spills and local arrays; 0 where all is in
                                   registers */
    uint32_t stack;             /* MIN_STACK_SIZE: frame plus that of called functions */
    uint32_t max_threads;       /* product of MAX_THREADS (__launch_bounds__); 0 where there is none */
    uint32_t required_threads;  /* product of REQNTID (.reqntid); 0 where there is none */
    uint32_t parameter_bytes;   /* packed parameter buffer (PARAM_CBANK) */
    uint32_t parameter_count;   /* KPARAM_INFO records */
    uint32_t barriers;          /* named barriers in use */
    uint32_t spill_instructions; /* that spill or refill registers (attribute 0x55 of CUDA 12.8 and later); a frame
                                   without any holds local arrays only */
    uint32_t code_bytes;        /* size of .text.ENTRY */
};

/* Read the entry's figures. Any bytes are safe: every offset is checked, and malformed ones give TW_ERROR_CUBIN.
   TW_ERROR_NOT_FOUND where the cubin has no such entry. Allocates nothing; thread-safe. bytes need no alignment. */
int tw_cubin_info(const void *bytes, size_t count, const char *entry, struct tw_cubin_info *info,
                  struct tw_error *error);

/* Name of entry number index (from 0, in section order), written to name; TW_ERROR_NOT_FOUND past the last. */
int tw_cubin_entry(const void *bytes, size_t count, unsigned index, char *name, size_t name_bytes,
                   struct tw_error *error);

#endif
