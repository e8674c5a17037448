//@ -- The source of a kernel's C pair. `host` is what gen/emit/host/host.c decided; the pieces follow in the order of
//@ -- use: load, check, patch, launch.
//@ include "host/story.h" host = host, file = ".c"

#include "${host.name}.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
//@ if host.has_text or host.debug then
#include <stdlib.h>
//@ end
#include <string.h>

//@ include "host/order.c" host = host

//@ include "host/images.c" host = host

//@ include "host/driver.c" host = host

//@ if host.has_text then
//@ include "host/nvrtc.c" host = host

//@ end
//@ if host.debug then
//@ include "host/debug.h"

//@ end
//@ include "host/load.c" host = host

//@ include "host/arguments.c" host = host

//@ if host.map_count > 0 then
//@ include "host/maps.c" host = host

//@ end
//@ if host.tuned then
//@ include "host/choice.c" host = host

//@ end
//@ include "host/params.c" host = host

//@ include "host/launch.c" host = host
