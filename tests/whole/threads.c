/* CUDA's runtime from many threads, without nvcc: fat binaries that are registered as nvcc's host code does, and each
   used first by all threads at once. They see one module of it: the same variable at the same address. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 4, ROUNDS = 2000 };

static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                          ".visible .global .align 4 .u32 total = 5;\n"
                          ".visible .entry nothing()\n{\n    ret;\n}\n";
static const struct {
    unsigned magic, version;
    const void *fatbin, *linked;
} wrapper = {0x466243b1, 1, ptx, NULL};

static char on_host[ROUNDS]; /* whose addresses mean the variables, as nvcc's shadows do */
static int (*symbol_address)(void **address, const void *symbol);
static int (*device_synchronize)(void);
static pthread_barrier_t start;

struct thread {
    pthread_t self;
    int failures;
    void *address[ROUNDS];
};

static void *use(void *data)
{
    struct thread *thread = data;
    for (int i = 0; i < ROUNDS; i++) {
        thread->failures += device_synchronize();
        pthread_barrier_wait(&start);
        thread->failures += symbol_address(&thread->address[i], &on_host[i]);
    }
    return NULL;
}

static void *runtime;
static void find(void *function, const char *name)
{
    void *at = dlsym(runtime, name);
    memcpy(function, &at, sizeof at);
}

int main(void)
{
    static struct thread threads[COUNT];
    void **(*register_fatbin)(const void *);
    void (*register_variable)(void **, char *, const char *, const char *, int, size_t, int, int);
    int wrong = 0;
    if (!(runtime = dlopen("libcudart.so.13", RTLD_NOW))) {
        puts(dlerror());
        return 2;
    }
    find(&register_fatbin, "__cudaRegisterFatBinary");
    find(&register_variable, "__cudaRegisterVar");
    find(&symbol_address, "cudaGetSymbolAddress");
    find(&device_synchronize, "cudaDeviceSynchronize");
    for (int i = 0; i < ROUNDS; i++)
        register_variable(register_fatbin(&wrapper), &on_host[i], "total", "total", 0, 4, 0, 0);
    pthread_barrier_init(&start, NULL, COUNT);
    for (int i = 0; i < COUNT; i++)
        if (pthread_create(&threads[i].self, NULL, use, &threads[i]))
            return 2;
    for (int i = 0; i < COUNT; i++) {
        pthread_join(threads[i].self, NULL);
        wrong += threads[i].failures;
        for (int k = 0; k < ROUNDS; k++)
            wrong += !threads[i].address[k] || threads[i].address[k] != threads[0].address[k];
    }
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
