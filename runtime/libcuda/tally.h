/* What run-program and the library in the program's processes share: memory without a name, whose file descriptor the
   environment tells. */
#ifndef LIBCUDA_TALLY_H
#define LIBCUDA_TALLY_H

#include <stdatomic.h>
#include <stdint.h>

#define CU_TALLY_VARIABLE "TILEWRIGHT_PROGRAM_TALLY"

struct cu_tally {
    _Atomic uint64_t devices; /* that were opened: processes that called cuInit */
    _Atomic uint64_t launches;
    _Atomic uint64_t failures; /* launches that a fault or a hazard ended, modules and kernels that were not loaded */
    _Atomic uint64_t loaded;   /* modules that were */
    _Atomic uint64_t refused;  /* modules that hold nothing for this device: a program may have another beside it, so
                                  they are a failure where none was loaded */
    _Atomic uint64_t hazards;  /* different ones, of each process */
};

#endif
