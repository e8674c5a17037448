/* Two launches of a kernel of chained.lua (-DKERNEL=its name) in one stream: the second reads what the first wrote.
 * Numbers are of no matter here; what orders the launches is, and the emulator tells of what does not. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define JOINED(a, b) a##b
#define NAMED(a, b) JOINED(a, b)
#define OF(name) NAMED(KERNEL, name)

enum { ROWS = 128, COLUMNS = 64 };

static void *entry(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (!found)
        printf("no %s\n", name);
    return found;
}

int main(void)
{
    static uint16_t zeros[ROWS * COLUMNS];
    static struct KERNEL kernel;
    struct OF(_error) error;
    struct OF(_args) args;
    uint64_t place[3];
    void *context, *library = dlopen("libcuda.so.1", RTLD_NOW);
    int (*init)(unsigned), (*create)(void **, unsigned, int), (*allocate)(uint64_t *, size_t);
    int (*copy)(uint64_t, const void *, size_t), (*finish)(void);
    if (!library)
        return 1;
    *(void **)&init = entry(library, "cuInit");
    *(void **)&create = entry(library, "cuCtxCreate_v2");
    *(void **)&allocate = entry(library, "cuMemAlloc_v2");
    *(void **)&copy = entry(library, "cuMemcpyHtoD_v2");
    *(void **)&finish = entry(library, "cuCtxSynchronize");
    if (!init || !create || !allocate || !copy || !finish || init(0) || create(&context, 0, 0))
        return 1;
    for (int i = 0; i < 3; i++)
        if (allocate(&place[i], sizeof zeros) || copy(place[i], zeros, sizeof zeros))
            return 1;
    if (OF(_load)(&kernel, NULL, &error)) {
        printf("%s\n", error.text);
        return 1;
    }
    for (int i = 0; i < 2; i++) {
        memset(&args, 0, sizeof args);
        args.A = (void *)(uintptr_t)place[i];
        args.B = (void *)(uintptr_t)place[2];
        args.D = (void *)(uintptr_t)place[1 - i];
        args.M = ROWS;
        if (OF(_launch)(&kernel, &args, NULL, &error)) {
            printf("%s\n", error.text);
            return 1;
        }
    }
    return finish() != 0;
}
