/* Random numbers are a hash of key and element number (splitmix64's output function over its own counter), not a chain:
 * any thread can begin anywhere. */
#include "verify/inputs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/parallel.h"

const char *const inputs_fills[] = {"documents", "constant", "zeros", "ones", "integers", "iota", "normal", NULL};

enum fill { FILL_NORMAL, FILL_INTEGERS, FILL_CONSTANT, FILL_IOTA, FILL_DOCUMENTS, FILL_VALUES };

struct job {
    const struct inputs *inputs;
    enum fill fill;
    double low, high; /* integers; documents: high is their number; constant: low */
    enum tw_dtype dtype;
    size_t bytes;     /* of an element */
    const struct shape *shape;
    int64_t count;
    unsigned char *to;
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

/* Box-Muller: elements 2i and 2i + 1 share a radius and an angle. */
static double normal(uint64_t key, int64_t element)
{
    uint64_t even = (uint64_t)element & ~UINT64_C(1);
    double radius = sqrt(-2.0 * log(uniform(key, even)));
    double angle = 6.283185307179586476925 * uniform(key, even + 1);
    return radius * (element & 1 ? sin(angle) : cos(angle));
}

static double integer(const struct job *job, int64_t element)
{
    uint64_t values = (uint64_t)(job->high - job->low) + 1;
    return job->low + (double)(inputs_random(job->inputs->key, (uint64_t)element) % values);
}

/* The document of position x: how many of the row's cuts, N - 1 random places, lie at or before it. */
static double document(const struct job *job, int64_t row, int64_t x, int64_t length)
{
    int64_t number = (int64_t)job->high, before = 0;
    for (int64_t i = 0; i + 1 < number; i++) {
        uint64_t random = inputs_random(job->inputs->key, (uint64_t)(row * number + i));
        before += (int64_t)(random % (uint64_t)length) <= x;
    }
    return (double)before;
}

static void write_block(void *context, int64_t block)
{
    const struct job *job = context;
    int64_t first = block * SHAPE_BLOCK, end = first + SHAPE_BLOCK;
    int inner = job->shape->rank - 1;
    int64_t length = inner >= 0 ? job->shape->extent[inner] : 1;
    struct shape_walk walk;

    if (end > job->count)
        end = job->count;
    shape_seek(&walk, job->shape, first);
    for (int64_t i = first; i < end; i++, shape_next(&walk)) {
        double value = job->low;
        switch (job->fill) {
        case FILL_NORMAL:
            value = job->inputs->scale * normal(job->inputs->key, i);
            break;
        case FILL_INTEGERS:
            value = integer(job, i);
            break;
        case FILL_IOTA:
            value = inner >= 0 ? (double)walk.index[inner] : 0.0;
            break;
        case FILL_DOCUMENTS:
            value = document(job, i / length, i % length, length);
            break;
        case FILL_VALUES:
            value = job->inputs->values[i];
            break;
        case FILL_CONSTANT:
            break;
        }
        tw_dtype_store(job->dtype, job->to + (size_t)walk.offset * job->bytes, value);
    }
}

/* Reads up to two numbers behind the fill's word; false unless there are exactly `want`. */
static bool numbers(const char *text, int want, double value[2])
{
    text += strcspn(text, " ");
    for (int i = 0; i < want; i++) {
        char *end;
        value[i] = strtod(text, &end);
        if (end == text)
            return false;
        text = end;
    }
    return text[strspn(text, " ")] == '\0';
}

static bool begins(const char *text, const char *word)
{
    size_t length = strlen(word);
    return strncmp(text, word, length) == 0 && (text[length] == ' ' || text[length] == '\0');
}

static int understand(const char *fill, struct job *job, struct tw_error *error)
{
    double value[2] = {0.0, 0.0};
    if (begins(fill, "documents") && numbers(fill, 1, value) && value[0] >= 1.0 && value[0] <= 65536.0) {
        job->fill = FILL_DOCUMENTS;
        job->high = floor(value[0]);
    } else if (begins(fill, "constant") && numbers(fill, 1, value)) {
        job->low = value[0];
    } else if (begins(fill, "zeros") && numbers(fill, 0, value)) {
        job->low = 0.0;
    } else if (begins(fill, "ones") && numbers(fill, 0, value)) {
        job->low = 1.0;
    } else if (begins(fill, "integers") && numbers(fill, 2, value) && value[0] <= value[1] &&
               fabs(value[0]) <= 0x1p53 && fabs(value[1]) <= 0x1p53) {
        job->fill = FILL_INTEGERS;
        job->low = ceil(value[0]);
        job->high = floor(value[1]);
    } else if (begins(fill, "iota") && numbers(fill, 0, value)) {
        job->fill = FILL_IOTA;
    } else if (begins(fill, "normal") && numbers(fill, 0, value)) {
        job->fill = FILL_NORMAL;
    } else {
        return tw_fail(error, TW_ERROR_INVALID,
                       "fill '%s' is not understood; write documents N, constant X, zeros, ones, integers LOW HIGH, "
                       "iota or normal",
                       fill);
    }
    return job->high >= job->low || job->fill != FILL_INTEGERS
               ? TW_OK
               : tw_fail(error, TW_ERROR_INVALID, "fill '%s' has no integer between its bounds", fill);
}

int inputs_write(const struct inputs *inputs, enum tw_dtype dtype, const struct shape *shape, void *bytes,
                 struct tw_error *error)
{
    struct job job = {.inputs = inputs, .fill = FILL_CONSTANT, .dtype = dtype, .bytes = tw_dtype_bytes(dtype),
                      .shape = shape, .count = shape_count(shape), .to = bytes};
    enum tw_dtype_kind kind = tw_dtype_info(dtype)->kind;
    if (inputs->values) {
        job.fill = FILL_VALUES;
    } else if (inputs->fill) {
        int status = understand(inputs->fill, &job, error);
        if (status != TW_OK)
            return status;
    } else if (inputs->kind == INPUTS_INTEGER || kind != TW_KIND_FLOAT) {
        double most = inputs->scale >= 1.0 ? floor(inputs->scale) : inputs->kind == INPUTS_INTEGER ? 1.0 : 4.0;
        job.fill = FILL_INTEGERS;
        job.high = kind == TW_KIND_BOOL ? 1.0 : most < 0x1p30 ? most : 0x1p30;
        job.low = kind == TW_KIND_UINT || kind == TW_KIND_BOOL ? 0.0 : -job.high;
    } else {
        job.fill = FILL_NORMAL;
    }
    parallel_for((job.count + SHAPE_BLOCK - 1) / SHAPE_BLOCK, parallel_cores(), write_block, &job);
    return TW_OK;
}
