#include "avx2.h"
#if defined(__x86_64__)
#include "float.c"
#endif
