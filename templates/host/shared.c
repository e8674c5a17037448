//@ -- The functions of the launcher that the kernels of a folder share.
/* tilewright_host.c: the launcher of the kernels in this folder, made by tilewright ${host.generator}. Do not edit: it is the same
 * whatever kernel wrote it. C99 and C++17; needs libc and, at run time, the CUDA driver. */
#define TILEWRIGHT_INSIDE
#include "tilewright_host.h"

#if TILEWRIGHT_HOST != ${host.generator}
#error "tilewright_host.h is of another version than tilewright_host.c: generate all kernels of the folder again"
#endif

//@ include "host/failures.c" host = host

//@ include "host/driver.c" host = host

//@ include "host/nvrtc.c" host = host

//@ include "host/maps.c" host = host

//@ include "host/load.c" host = host

//@ include "host/check.c" host = host
