//@ -- The launcher that the kernels of a folder share: what their headers include, and, inside, what they call.
/* tilewright_host.h: the launcher of the kernels in this folder, made by tilewright ${host.generator}. Do not edit: it is the same
 * whatever kernel wrote it.
 *
 * Programs include the kernels' own headers. External symbols begin with tilewright_${host.generator}_, so that folders of several
 * versions go into one program; a file of C takes headers of one of them. */
#ifndef TILEWRIGHT_HOST
#define TILEWRIGHT_HOST ${host.generator}

#include <stddef.h>
#include <stdint.h>

/* The same numbers as each kernel's enum. */
enum tilewright_status {
    tilewright_OK, tilewright_INVALID, tilewright_NO_DRIVER, tilewright_OLD_DRIVER, tilewright_NO_CONTEXT,
    tilewright_UNSUPPORTED, tilewright_NO_COMPILER, tilewright_COMPILE, tilewright_NO_MEMORY, tilewright_DRIVER
};

//@ include "host/public.h" host = host

#endif

#if defined(TILEWRIGHT_INSIDE) && !defined(TILEWRIGHT_IS_INSIDE)
#define TILEWRIGHT_IS_INSIDE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//@ include "host/marks.h"

/* Names for the linker. */
//@ for _, name in ipairs(host.calls) do
#define ${name} tilewright_${host.generator}_${name}
//@ end

//@ include "host/tables.h" host = host

#ifdef __cplusplus
extern "C" {
#endif

//@ include "host/calls.h" host = host

#ifdef __cplusplus
}
#endif

//@ include "host/fast.h" host = host

#endif
