/* The emitted code of bench/host.lua as `tilewright bench --host` runs it: loops around NAME_params and NAME_launch,
 * and around the driver's launch with the very same arguments, prepared. Compiled with case_000.c, case_001.c and
 * case_001_programmatic.c into one library. */
#include "case_000.h"
#include "case_001.h"
#include "case_001_programmatic.h"

#include <string.h>

/* CUlaunchAttribute, CUlaunchConfig */
struct attribute {
    int id, pad;
    union {
        uint32_t flag;
        uint64_t word[8];
    } value;
};

struct config {
    uint32_t grid[3], block[3];
    uint32_t shared_bytes;
    void *stream;
    const struct attribute *attributes;
    uint32_t attribute_count;
};

static struct case_000 k0;
static struct case_000_args a0;
static struct case_000_params p0 __attribute__((aligned(64)));
static struct case_001 k1;
static struct case_001_args a1, a1_strided;
static struct case_001_params p1 __attribute__((aligned(64)));
static struct case_001_programmatic k2;
static struct case_001_programmatic_args a2;
static struct attribute programmatic = {6, 0, {1}};
static struct config config[2];

/* Loads all; tensors are 512 x 512 fp16, a, b and d their device addresses. 0, or a status with its text. */
int host_open(const void *a, const void *b, void *d, const char **text)
{
    static struct case_000_error e0;
    static struct case_001_error e1;
    static struct case_001_programmatic_error e2;
    int status;
    a0.A = a1.A = a2.A = a;
    a0.B = a1.B = a2.B = b;
    a0.D = a1.D = a2.D = d;
    a1.M = a1.N = a1.K = a2.M = a2.N = a2.K = 512;
    a1_strided = a1;
    a1_strided.A_stride[0] = a1_strided.B_stride[0] = a1_strided.D_stride[0] = 520;
    *text = e0.text;
    if ((status = case_000_load(&k0, NULL, &e0)) != 0 || (status = case_000_params(&k0, &a0, &p0, &e0)) != 0)
        return status;
    *text = e1.text;
    if ((status = case_001_load(&k1, NULL, &e1)) != 0 || (status = case_001_params(&k1, &a1, &p1, &e1)) != 0)
        return status;
    *text = e2.text;
    if ((status = case_001_programmatic_load(&k2, NULL, &e2)) != 0)
        return status;
    config[0].grid[0] = p1.grid[0];
    config[0].grid[1] = p1.grid[1];
    config[0].grid[2] = p1.grid[2];
    config[0].block[0] = p1.threads;
    config[0].block[1] = config[0].block[2] = 1;
    config[0].shared_bytes = p1.shared_bytes;
    config[1] = config[0];
    config[1].attributes = &programmatic;
    config[1].attribute_count = 1;
    *text = "";
    return k0.static_images && k1.static_images && k2.static_images ? 0 : -1;
}

void host_close(void)
{
    case_000_unload(&k0, NULL);
    case_001_unload(&k1, NULL);
    case_001_programmatic_unload(&k2, NULL);
}

/* The kernel of case 001 with its arguments, for graphs: function, parameter, grid, threads, shared bytes. */
void host_prepared(void **function, void **parameter, uint32_t grid[3], uint32_t *threads, uint32_t *shared_bytes)
{
    *function = p1.function;
    *parameter = p1.word;
    memcpy(grid, p1.grid, sizeof p1.grid);
    *threads = p1.threads;
    *shared_bytes = p1.shared_bytes;
}

/* Each does its thing `count` times and returns 0, or the first failure. The barriers keep the compiler from moving
 * work out of the loops. */
#define REPEAT(call)                            \
    do {                                        \
        for (; count > 0; count--) {            \
            int status_ = (call);               \
            __asm__ volatile("" ::: "memory"); \
            if (status_)                        \
                return status_;                 \
        }                                       \
        return 0;                               \
    } while (0)

int host_params_000(long count)
{
    REPEAT(case_000_params(&k0, &a0, &p0, NULL));
}

int host_params_001(long count)
{
    REPEAT(case_001_params(&k1, &a1, &p1, NULL));
}

int host_params_001_strided(long count)
{
    static struct case_001_params p __attribute__((aligned(64)));
    REPEAT(case_001_params(&k1, &a1_strided, &p, NULL));
}

int host_launch(void *stream, long count)
{
    REPEAT(case_001_launch(&k1, &a1, stream, NULL));
}

int host_launch_programmatic(void *stream, long count)
{
    REPEAT(case_001_programmatic_launch(&k2, &a2, stream, NULL));
}

int host_bare(void *stream, long count)
{
    void *arguments[1];
    arguments[0] = p1.word;
    config[0].stream = stream;
    REPEAT(k1.driver.launch(&config[0], p1.function, arguments, NULL));
}

int host_bare_programmatic(void *stream, long count)
{
    void *arguments[1];
    arguments[0] = p1.word;
    config[1].stream = stream;
    REPEAT(k2.driver.launch(&config[1], k2.function[0], arguments, NULL));
}
