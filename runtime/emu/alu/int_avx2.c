#include "avx2.h"
#if defined(__x86_64__)
#include "int.c"
#endif
