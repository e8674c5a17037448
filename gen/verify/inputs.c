/* Random numbers are a hash of key and element number (splitmix64's output function over its own counter), not a chain:
 * any thread can begin anywhere. */
#include "verify/inputs.h"

#include <math.h>

#include "common/parallel.h"

struct job {
    const struct inputs *inputs;
    struct fill fill;
    enum tw_dtype dtype;
    size_t bytes;     /* of an element */
    const struct shape *shape;
    int64_t count;
    unsigned char *to;
};

struct pair {
    bool known;
    uint64_t even;
    double radius, angle;
};

static uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t inputs_random(uint64_t key, uint64_t counter)
{
    return mix(key + (counter + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

static uint64_t hash_text(uint64_t key, const char *text)
{
    for (; *text; text++)
        key = mix(key ^ (unsigned char)*text) + UINT64_C(0x9e3779b97f4a7c15);
    return mix(key ^ UINT64_C(0x100));
}

uint64_t inputs_key(uint64_t seed, const char *kernel, const char *tensor)
{
    return hash_text(hash_text(mix(seed + UINT64_C(0x9e3779b97f4a7c15)), kernel), tensor);
}

/* Uniform in (0, 1]: 53 bits, never 0, so that its logarithm is finite. */
static double uniform(uint64_t key, uint64_t counter)
{
    return (double)((inputs_random(key, counter) >> 11) + 1) * 0x1p-53;
}

/* Box-Muller: elements 2i and 2i + 1 share a radius and an angle, which *pair holds from the first to the second. */
static double normal(uint64_t key, int64_t element, struct pair *pair)
{
    uint64_t even = (uint64_t)element & ~UINT64_C(1);
    if (!pair->known || pair->even != even) {
        pair->radius = sqrt(-2.0 * log(uniform(key, even)));
        pair->angle = 6.283185307179586476925 * uniform(key, even + 1);
        pair->even = even;
        pair->known = true;
    }
    return pair->radius * (element & 1 ? sin(pair->angle) : cos(pair->angle));
}

static double integer(const struct job *job, int64_t element)
{
    uint64_t values = (uint64_t)(job->fill.high - job->fill.low) + 1;
    return job->fill.low + (double)(inputs_random(job->inputs->key, (uint64_t)element) % values);
}

/* The document of position x: how many of the row's cuts, N - 1 random places, lie at or before it. */
static double document(const struct job *job, int64_t row, int64_t x, int64_t length)
{
    int64_t number = (int64_t)job->fill.high, before = 0;
    for (int64_t i = 0; i + 1 < number; i++) {
        uint64_t random = inputs_random(job->inputs->key, (uint64_t)(row * number + i));
        before += (int64_t)(random % (uint64_t)length) <= x;
    }
    return (double)before;
}

static double value_of(const struct job *job, int64_t element, const struct shape_walk *walk, struct pair *pair)
{
    int inner = job->shape->rank - 1;
    int64_t length = inner >= 0 ? job->shape->extent[inner] : 1;
    if (job->inputs->values)
        return job->inputs->values[element];
    switch (job->fill.kind) {
    case FILL_NORMAL:
        return job->inputs->scale * normal(job->inputs->key, element, pair);
    case FILL_INTEGERS:
        return integer(job, element);
    case FILL_IOTA:
        return inner >= 0 ? (double)walk->index[inner] : 0.0;
    case FILL_DOCUMENTS:
        return document(job, element / length, element % length, length);
    case FILL_CONSTANT:
    case FILL_DRAWN:
        break;
    }
    return job->fill.low;
}

static void write_block(void *context, int64_t block)
{
    const struct job *job = context;
    int64_t first, end;
    struct shape_walk walk;
    struct pair pair = {0};

    end = shape_seek_block(&walk, job->shape, block, job->count, &first);
    for (int64_t i = first; i < end; i++, shape_next(&walk))
        tw_dtype_store(job->dtype, job->to + (size_t)walk.offset * job->bytes, value_of(job, i, &walk, &pair));
}

/* What a tensor holds of which nothing is said. */
static struct fill drawn(const struct inputs *inputs, enum tw_dtype_kind kind)
{
    if (inputs->kind == INPUTS_NORMAL && kind == TW_KIND_FLOAT)
        return (struct fill){FILL_NORMAL, 0.0, 0.0};
    double most = inputs->scale >= 1.0 ? floor(inputs->scale) : inputs->kind == INPUTS_INTEGER ? 1.0 : 4.0;
    double high = kind == TW_KIND_BOOL ? 1.0 : most < 0x1p30 ? most : 0x1p30;
    return (struct fill){FILL_INTEGERS, kind == TW_KIND_UINT || kind == TW_KIND_BOOL ? 0.0 : -high, high};
}

void inputs_write(const struct inputs *inputs, enum tw_dtype dtype, const struct shape *shape, void *bytes)
{
    struct job job = {.inputs = inputs, .fill = inputs->fill, .dtype = dtype, .bytes = tw_dtype_bytes(dtype),
                      .shape = shape, .count = shape_count(shape), .to = bytes};
    if (job.fill.kind == FILL_DRAWN)
        job.fill = drawn(inputs, tw_dtype_info(dtype)->kind);
    parallel_for((job.count + SHAPE_BLOCK - 1) / SHAPE_BLOCK, parallel_cores(), write_block, &job);
}
