// A library whose constructor makes a call that fails; it runs under the loader's lock.
#include "fake.h"

__attribute__((constructor)) static void start(void)
{
    static uint64_t map[16];
    fake_answer(1);
    cuTensorMapEncodeTiled(map, 9, 9, map, 0, 0, 0, 0, 0, 0, 0, 0);
}
