/* libcuda, NCCL and NVML, which are opened here and not linked. */
#include <dlfcn.h>
#include <stdio.h>

#include "tensor_parallel.h"

struct cuda_calls cuda;
struct nccl_calls nccl;

static void *opened(const char *file)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    must(!library, dlerror());
    return library;
}

void open_cuda(void)
{
    void *library = opened("libcuda.so.1");
#define CALL(name, entry, arguments)                                                                                   \
    *(void **)&cuda.name = dlsym(library, #entry);                                                                     \
    must(!cuda.name, #entry " is not in libcuda.so.1");
    CUDA_CALLS
#undef CALL
    must(cuda.init(0), "cuInit");
}

void open_nccl(const char *file)
{
    void *library = opened(file ? file : "libnccl.so.2");
#define CALL(name, entry, arguments)                                                                                   \
    *(void **)&nccl.name = dlsym(library, #entry);                                                                     \
    must(!nccl.name, #entry " is not in NCCL");
    NCCL_CALLS
#undef CALL
}

/* ---- NVML -------------------------------------------------------------------------------------------------------- */

static void *board;
static int (*clock_info)(void *device, int domain, unsigned *mhz);

void open_clock(const char *pci_address)
{
    int (*init)(void), (*by_address)(const char *address, void **device);
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
    *(void **)&init = dlsym(library, "nvmlInit_v2");
    *(void **)&by_address = dlsym(library, "nvmlDeviceGetHandleByPciBusId_v2");
    *(void **)&clock_info = dlsym(library, "nvmlDeviceGetClockInfo");
    if (!init || !by_address || !clock_info || init() || by_address(pci_address, &board))
        board = NULL;
}

int clock_mhz(void)
{
    enum { multiprocessors = 1 }; /* NVML_CLOCK_SM */
    unsigned mhz = 0;
    return board && clock_info(board, multiprocessors, &mhz) == 0 ? (int)mhz : 0;
}
