#include "verify/compare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/parallel.h"

/* Rounding of results in 16 bits and below sets the bound; in fp32 the order of the sums does. */
static const double norm_bounds[TW_DTYPE_COUNT] = {
    [TW_BF16] = 3e-3, [TW_FP16] = 5e-4,     [TW_FP32] = 1e-5,     [TW_FP64] = 1e-5,
    [TW_TF32] = 5e-4, [TW_FP8_E4M3] = 5e-2, [TW_FP8_E5M2] = 1e-1,
};

double compare_bound(enum tw_dtype dtype, double rounding)
{
    static const double slack = 1.05; /* near a tie, fp32 sums may round to the other neighbour, which is as far away */
    double bound = norm_bounds[dtype];
    return bound > 0.0 && slack * rounding > bound ? slack * rounding : bound;
}

/* Sums over one block of elements. */
struct part {
    double difference, norm;  /* of squares */
    double rounding;          /* of squares, of the rounded reference */
    int64_t different, first; /* first: -1 where none differs */
    double farthest;          /* distance of element `worst` */
    int64_t worst;            /* -1 where none differs at all */
};

struct job {
    const struct compare *compare;
    int64_t count;
    struct part *part;
};

/* What the reference would be as an element of the dtype. */
static double rounded(enum tw_dtype dtype, double value)
{
    unsigned char element[8];
    tw_dtype_store(dtype, element, value);
    return tw_dtype_load(dtype, element);
}

static bool equal(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static void compare_block(void *context, int64_t block)
{
    const struct job *job = context;
    const struct compare *c = job->compare;
    size_t bytes = tw_dtype_bytes(c->dtype);
    int64_t first, end;
    struct part part = {.first = -1, .worst = -1};
    struct shape_walk walk;

    end = shape_seek_block(&walk, c->shape, block, job->count, &first);
    for (int64_t i = first; i < end; i++, shape_next(&walk)) {
        double value = tw_dtype_load(c->dtype, c->bytes + (size_t)walk.offset * bytes);
        double reference = c->reference[i], want = rounded(c->dtype, reference);
        if (!equal(value, want)) {
            part.different++;
            if (part.first < 0)
                part.first = i;
        }
        double distance = 0.0;
        if (isfinite(want)) {
            distance = isfinite(value) ? fabs(value - reference) : (double)INFINITY;
            part.norm += reference * reference;
            part.rounding += (want - reference) * (want - reference);
        } else if (!equal(value, want)) {
            distance = (double)INFINITY;
        }
        part.difference += distance * distance;
        if (distance > part.farthest) {
            part.farthest = distance;
            part.worst = i;
        }
    }
    job->part[block] = part;
}

static bool is_poison(const unsigned char *element, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (element[i] != COMPARE_POISON)
            return false;
    return true;
}

/* "D[3,17" of the element, whose bytes are at *at. Returns the length. */
static size_t name_element(const struct compare *c, int64_t element, char text[256], const unsigned char **at)
{
    struct shape_walk walk;
    shape_seek(&walk, c->shape, element);
    size_t length = (size_t)snprintf(text, 128, "%.64s[", c->name);
    for (int d = 0; d < c->shape->rank; d++)
        length += (size_t)snprintf(text + length, 256 - length, "%s%lld", d ? "," : "", (long long)walk.index[d]);
    *at = c->bytes + (size_t)walk.offset * tw_dtype_bytes(c->dtype);
    return length;
}

static void describe(const struct compare *c, int64_t element, char text[256])
{
    const unsigned char *at;
    size_t length = name_element(c, element, text, &at);
    double value = tw_dtype_load(c->dtype, at), want = rounded(c->dtype, c->reference[element]);
    if (is_poison(at, tw_dtype_bytes(c->dtype)))
        snprintf(text + length, 256 - length, "] was not written, the reference is %.9g", want);
    else
        snprintf(text + length, 256 - length, "] is %.9g, the reference %.9g", value, want);
}

int compare_values(struct tw_runtime *rt, const struct compare *compare, struct compare_result *result,
                   struct tw_error *error)
{
    struct job job = {compare, shape_count(compare->shape), NULL};
    int64_t blocks = (job.count + SHAPE_BLOCK - 1) / SHAPE_BLOCK, first = -1, worst = -1;
    double difference = 0.0, norm = 0.0, rounding = 0.0, farthest = 0.0;

    memset(result, 0, sizeof *result);
    if (job.count == 0)
        return TW_OK;
    job.part = tw_alloc(rt, (size_t)blocks * sizeof *job.part);
    if (!job.part)
        return tw_fail(error, TW_ERROR_MEMORY, "out of memory");
    parallel_for(blocks, parallel_cores(), compare_block, &job);
    for (int64_t i = 0; i < blocks; i++) {
        difference += job.part[i].difference;
        norm += job.part[i].norm;
        rounding += job.part[i].rounding;
        result->different += job.part[i].different;
        if (first < 0)
            first = job.part[i].first;
        if (job.part[i].farthest > farthest) {
            farthest = job.part[i].farthest;
            worst = job.part[i].worst;
        }
    }
    tw_free(rt, job.part);
    if (difference > 0.0)
        result->error = norm > 0.0 ? sqrt(difference / norm) : (double)INFINITY;
    result->rounding = norm > 0.0 ? sqrt(rounding / norm) : 0.0;
    if (first >= 0)
        describe(compare, first, result->first);
    if (worst >= 0)
        describe(compare, worst, result->worst);
    return TW_OK;
}

/* ---- element by element ------------------------------------------------------------------------------------------ */

struct bounded_part {
    double difference, norm, bounds; /* of squares */
    int64_t done, unbounded, nan;
    int64_t beyond, worst; /* worst: -1 where none is beyond */
    double farthest;       /* of `worst`, in bounds */
    bool exact;
};

struct bounded_job {
    const struct compare *compare;
    const struct compare_bounds *bounds;
    int64_t count;
    struct bounded_part *part;
};

/* How many bounds the value is away from the reference: more than 1 is too far. */
static double distance_in_bounds(double value, double want, double bound)
{
    if (isinf(bound) || equal(value, want))
        return 0;
    double distance = fabs(value - want);
    if (distance <= bound)
        return 0.5;
    return bound > 0 && !isnan(distance) ? distance / bound : (double)INFINITY;
}

static void compare_bounded_block(void *context, int64_t block)
{
    const struct bounded_job *job = context;
    const struct compare *c = job->compare;
    const struct compare_bounds *b = job->bounds;
    size_t bytes = tw_dtype_bytes(c->dtype);
    bool floating = tw_dtype_info(c->dtype)->kind == TW_KIND_FLOAT;
    int64_t first, end;
    struct bounded_part part = {.worst = -1, .exact = true};
    struct shape_walk walk;

    end = shape_seek_block(&walk, c->shape, block, job->count, &first);
    for (int64_t i = first; i < end; i++, shape_next(&walk)) {
        const unsigned char *at = c->bytes + (size_t)walk.offset * bytes;
        double value = tw_dtype_load(c->dtype, at), want = c->reference[i], away;
        double nearest = rounded(c->dtype, want), bound = b->bound[i];
        bool exact = isnan(want) ? !isinf(bound) : bound <= fabs(nearest - want);
        if (b->done[i]) {
            /* Nothing but the rounding to the dtype is in the bound: of a tie one neighbour is right. */
            if (exact && b->integers) {
                want = nearest;
                bound = 0;
            }
            away = floating && is_poison(at, bytes) ? (double)INFINITY : distance_in_bounds(value, want, bound);
            part.exact = part.exact && exact;
            part.done++;
            part.unbounded += isinf(bound) != 0;
            part.nan += isinf(bound) && isnan(value) && !isnan(want);
            if (isfinite(value) && isfinite(want) && isfinite(bound)) {
                part.difference += (value - want) * (value - want);
                part.norm += want * want;
                part.bounds += bound * bound;
            }
        } else {
            bool untouched = b->begins_at_zero ? value == 0 : is_poison(at, bytes);
            away = untouched || !b->all ? 0 : (double)INFINITY;
        }
        if (away > 1) {
            part.beyond++;
            if (away > part.farthest) {
                part.farthest = away;
                part.worst = i;
            }
        }
    }
    job->part[block] = part;
}

/* Behind an element of integers whose reference its type does not hold: what that one holds. */
static void describe_range(const struct compare *c, double reference, char *text, size_t room)
{
    const struct tw_dtype_info *type = tw_dtype_info(c->dtype);
    double most = ldexp(1.0, (int)type->bits - (type->kind == TW_KIND_INT)) - 1.0;
    double least = type->kind == TW_KIND_INT ? -most - 1.0 : 0.0;
    if (type->kind != TW_KIND_FLOAT && type->kind != TW_KIND_BOOL && (reference > most || reference < least))
        snprintf(text, room, "; %s holds %.17g to %.17g", type->name, least, most);
}

static void describe_bounded(const struct compare *c, const struct compare_bounds *b, int64_t element, char text[256])
{
    const unsigned char *at;
    size_t length = name_element(c, element, text, &at), bytes = tw_dtype_bytes(c->dtype);
    double value = tw_dtype_load(c->dtype, at);
    if (!b->done[element])
        snprintf(text + length, 256 - length, "] is %.9g, and the program writes nothing there", value);
    else if (is_poison(at, bytes))
        snprintf(text + length, 256 - length, "] was not written, the reference is %.9g", c->reference[element]);
    else
        snprintf(text + length, 256 - length, "] is %.9g, the reference %.9g, its bound %.3g", value,
                 c->reference[element], b->bound[element]);
    length = strlen(text);
    describe_range(c, c->reference[element], text + length, 256 - length);
}

int compare_bounded(struct tw_runtime *rt, const struct compare *compare, const struct compare_bounds *bounds,
                    struct compare_bounded *result, struct tw_error *error)
{
    struct bounded_job job = {compare, bounds, shape_count(compare->shape), NULL};
    int64_t blocks = (job.count + SHAPE_BLOCK - 1) / SHAPE_BLOCK, worst = -1;
    double difference = 0.0, norm = 0.0, sum = 0.0, farthest = 0.0;

    *result = (struct compare_bounded){.exact = true};
    if (job.count == 0)
        return TW_OK;
    job.part = tw_alloc(rt, (size_t)blocks * sizeof *job.part);
    if (!job.part)
        return tw_fail(error, TW_ERROR_MEMORY, "out of memory");
    parallel_for(blocks, parallel_cores(), compare_bounded_block, &job);
    for (int64_t i = 0; i < blocks; i++) {
        difference += job.part[i].difference;
        norm += job.part[i].norm;
        sum += job.part[i].bounds;
        result->beyond += job.part[i].beyond;
        result->done += job.part[i].done;
        result->unbounded += job.part[i].unbounded;
        result->nan += job.part[i].nan;
        result->exact = result->exact && job.part[i].exact;
        if (job.part[i].farthest > farthest) {
            farthest = job.part[i].farthest;
            worst = job.part[i].worst;
        }
    }
    tw_free(rt, job.part);
    result->error = difference > 0.0 ? (norm > 0.0 ? sqrt(difference / norm) : (double)INFINITY) : 0.0;
    result->bound = sum > 0.0 ? (norm > 0.0 ? sqrt(sum / norm) : (double)INFINITY) : 0.0;
    if (worst >= 0)
        describe_bounded(compare, bounds, worst, result->worst);
    return TW_OK;
}

struct erase {
    enum tw_dtype dtype;
    const struct shape *shape;
    int64_t count;
    unsigned char *to;
};

static void erase_block(void *context, int64_t block)
{
    const struct erase *job = context;
    size_t bytes = tw_dtype_bytes(job->dtype);
    int64_t first, end;
    struct shape_walk walk;
    end = shape_seek_block(&walk, job->shape, block, job->count, &first);
    for (int64_t i = first; i < end; i++, shape_next(&walk))
        memset(job->to + (size_t)walk.offset * bytes, COMPARE_POISON, bytes);
}

bool compare_untouched(const char *name, enum tw_dtype dtype, const struct shape *shape, unsigned char *buffer,
                       size_t begin, size_t count, char text[256])
{
    struct erase job = {dtype, shape, shape_count(shape), buffer + begin};
    text[0] = '\0';
    parallel_for((job.count + SHAPE_BLOCK - 1) / SHAPE_BLOCK, parallel_cores(), erase_block, &job);
    /* All bytes are equal where the first is right and each equals its neighbour. */
    if (count == 0 || (buffer[0] == COMPARE_POISON && memcmp(buffer, buffer + 1, count - 1) == 0))
        return true;
    size_t at = 0;
    while (buffer[at] == COMPARE_POISON)
        at++;
    long long offset = (long long)at - (long long)begin,
              span = (long long)(shape_span(shape)) * (long long)tw_dtype_bytes(dtype);
    if (offset < 0)
        snprintf(text, 256, "%.64s: byte %lld before the tensor was written", name, -offset);
    else if (offset >= span)
        snprintf(text, 256, "%.64s: byte %lld behind the tensor was written", name, offset - span);
    else
        snprintf(text, 256, "%.64s: padding at byte %lld of the tensor was written", name, offset);
    return false;
}

/* ---- two results ------------------------------------------------------------------------------------------------- */

struct pair_job {
    const struct compare_pair *pair;
    int64_t count;
    double *apart, *norm; /* of squares, by block */
};

static void pair_block(void *context, int64_t block)
{
    const struct pair_job *job = context;
    const struct compare_pair *p = job->pair;
    const size_t bytes = tw_dtype_bytes(p->dtype);
    struct shape_walk walk;
    int64_t first, end = shape_seek_block(&walk, p->shape, block, job->count, &first);
    for (int64_t i = first; i < end; i++, shape_next(&walk)) {
        const double x = tw_dtype_load(p->dtype, p->one + (size_t)walk.offset * bytes);
        const double y = tw_dtype_load(p->dtype, p->other + (size_t)walk.offset * bytes);
        const bool same = x == y || (p->numbers_alone && isnan(x) && isnan(y));
        job->apart[block] += same ? 0.0 : (x - y) * (x - y);
        job->norm[block] += isfinite(y) ? y * y : 0.0;
    }
}

int compare_apart(struct tw_runtime *rt, const struct compare_pair *pair, double *relative, struct tw_error *error)
{
    struct pair_job job = {.pair = pair, .count = shape_count(pair->shape)};
    const int64_t blocks = (job.count + SHAPE_BLOCK - 1) / SHAPE_BLOCK;
    double apart = 0.0, norm = 0.0;
    job.apart = tw_alloc_zeroed(rt, sizeof *job.apart * (size_t)(blocks + 1));
    job.norm = tw_alloc_zeroed(rt, sizeof *job.norm * (size_t)(blocks + 1));
    const bool fine = job.apart && job.norm;
    if (fine)
        parallel_for(blocks, parallel_cores(), pair_block, &job);
    for (int64_t i = 0; i < blocks && fine; i++) {
        apart += job.apart[i];
        norm += job.norm[i];
    }
    *relative = apart == 0.0 ? 0.0 : sqrt(apart / norm);
    tw_free(rt, job.apart);
    tw_free(rt, job.norm);
    return fine ? TW_OK : tw_fail(error, TW_ERROR_MEMORY, "out of memory");
}
