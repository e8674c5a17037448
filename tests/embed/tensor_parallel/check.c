/* Results of every way through the layer against those of one GPU, into outputs that were NaN. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tensor_parallel.h"

enum { POISON = 0xffff };

static void poison(const struct layer *layer)
{
    const struct sizes *is = &layer->is;
    const size_t outs = (size_t)(is->rows * is->out), ins = (size_t)(is->rows * is->in);
    must(cuda.fill(layer->out, POISON, outs), "cuMemsetD16");
    must(cuda.fill(layer->hidden, POISON, (size_t)(is->rows * is->hidden / layer->ranks)), "cuMemsetD16");
    for (int i = 0; i < 2 && layer->communicator; i++) {
        must(cuda.fill(layer->sum[i], POISON, outs), "cuMemsetD16");
        must(cuda.fill(layer->rows[i], POISON, ins), "cuMemsetD16");
    }
    must(cuda.context_synchronize(), "cuCtxSynchronize");
}

/* One pass into poisoned outputs, and its result. false: of some rank there is no such graph. */
static bool pass_once(const struct layer *layer, const struct plan *plan, bool as_graph, uint16_t *result)
{
    void *graph = NULL;
    int why = 0;
    if (as_graph) {
        graph = layer_graph(layer, plan, &why);
        if (of_all(graph == NULL) > 0) {
            if (graph)
                must(cuda.executable_destroy(graph), "cuGraphExecDestroy");
            return false;
        }
    }
    poison(layer);
    if (group.ranks > 1 && layer->communicator)
        meet();
    if (as_graph)
        must(cuda.graph_launch(graph, layer_stream), "cuGraphLaunch");
    else
        layer_pass(layer, plan);
    must(cuda.synchronize(layer_stream), "cuStreamSynchronize");
    must(cuda.download(result, layer->out, (size_t)(layer->is.rows * layer->is.out) * sizeof *result), "cuMemcpyDtoH");
    must(cuda.context_synchronize(), "cuCtxSynchronize");
    if (graph)
        must(cuda.executable_destroy(graph), "cuGraphExecDestroy");
    return true;
}

/* Elements of the result that are not as the reference, or further from it than its bound; of rows that are another
 * rank's, those that were written. *share: of the bound that the largest difference is.
 *
 * The bound, where there are summands P[r] of N ranks with the sum of magnitudes S: each is rounded to bf16 once
 * (2^-9 P[r]), so is each of their N - 1 sums, and the single GPU's result, which are S at most: (N + 1) 2^-9 S. S
 * itself is a sum of bf16, and so within 2^-6 of itself. What fp32 sums in another order differ by is a small part of a
 * rounding of the largest result, 2^-9 times it, which is added. */
static uint64_t compare(const struct layer *layer, const struct plan *plan, const uint16_t *result,
                        const uint16_t *reference, const uint16_t *magnitudes, double *share)
{
    const double unit = 0x1p-9, n = layer->ranks + 1;
    double largest = 0;
    uint64_t wrong = 0;
    for (int64_t i = 0; magnitudes && i < layer->is.rows * layer->is.out; i++)
        largest = fmax(largest, fabs((double)bf16_value(reference[i])));
    *share = 0;
    for (int64_t row = 0; row < layer->is.rows; row++) {
        const bool own = layer_owns(layer, plan, row);
        for (int64_t i = row * layer->is.out; i < (row + 1) * layer->is.out; i++) {
            const double difference = fabs((double)bf16_value(result[i]) - (double)bf16_value(reference[i]));
            const double bound =
                magnitudes ? n * unit * (1 + 0x1p-6) * (double)bf16_value(magnitudes[i]) + unit * largest : 0;
            if (!own)
                wrong += result[i] != POISON;
            else if (!(difference <= bound))
                wrong++;
            else if (bound > 0)
                *share = fmax(*share, difference / bound);
        }
    }
    return wrong;
}

/* Sum over ranks; on all of them. */
uint64_t of_all(uint64_t wrong)
{
    atomic_fetch_add(&group.shared->wrong, wrong);
    meet();
    const uint64_t sum = atomic_load(&group.shared->wrong);
    meet();
    if (group.rank == 0)
        atomic_store(&group.shared->wrong, 0);
    meet();
    return sum;
}

/* ---- The single GPU ---------------------------------------------------------------------------------------------- */

/* Rank 0's: to the shared reference, and, of whole numbers, against their definition. */
static uint64_t single(const struct task *task, const struct sizes *is, enum numbers numbers)
{
    const struct plan plan = {.products = true, .chunks = 1, .schedule = STATIC};
    const int64_t elements = is->rows * is->out, step = elements > 10000 ? elements / 1999 : 1;
    struct layer layer;
    uint64_t wrong = 0;
    layer_open(&layer, is, 1, 0, NULL);
    layer_fill(&layer, numbers, 0);
    pass_once(&layer, &plan, false, task->reference);
    layer_close(&layer);
    for (int64_t i = 0; i < elements && numbers == WHOLE; i += step)
        wrong += bf16_value(task->reference[i]) != (float)whole_result(is, i / is->out, i % is->out);
    if (numbers == WHOLE)
        printf("  one GPU, whole numbers, by their definition: %llu wrong\n", (unsigned long long)wrong);
    return wrong;
}

/* The sum over ranks of magnitudes of what they are to add. */
static void sum_magnitudes(const struct layer *layer, uint16_t *magnitudes)
{
    const struct plan plan = {.products = true, .chunks = 1, .schedule = STATIC};
    const int64_t elements = layer->is.rows * layer->is.out;
    pass_once(layer, &plan, false, magnitudes);
    for (int64_t i = 0; i < elements; i++)
        magnitudes[i] &= 0x7fff;
    must(cuda.upload(layer->sum[0], magnitudes, (size_t)elements * sizeof *magnitudes), "cuMemcpyHtoD");
    must(cuda.context_synchronize(), "cuCtxSynchronize");
    must(nccl.all_reduce((const void *)(uintptr_t)layer->sum[0], (void *)(uintptr_t)layer->out, (size_t)elements,
                         NCCL_BF16, NCCL_SUM, layer->communicator, layer_stream),
         "ncclAllReduce");
    must(cuda.synchronize(layer_stream), "cuStreamSynchronize");
    must(cuda.download(magnitudes, layer->out, (size_t)elements * sizeof *magnitudes), "cuMemcpyDtoH");
}

/* ---- Ways through the layer -------------------------------------------------------------------------------------- */

static uint64_t one_way(const struct task *task, const struct layer *layer, const struct plan *plan, bool as_graph,
                        uint16_t *result, const uint16_t *magnitudes)
{
    struct shared *shared = group.shared;
    const bool done = pass_once(layer, plan, as_graph, result);
    uint64_t wrong = 0;
    double share = 0;
    if (done)
        wrong = compare(layer, plan, result, task->reference, magnitudes, &shared->share[group.rank]);
    wrong = of_all(wrong);
    for (int r = 0; r < group.ranks && done; r++)
        share = fmax(share, shared->share[r]);
    if (group.rank == 0 && done) {
        printf("  %s numbers, %s, %s, %d %s%s%s: %llu wrong", magnitudes ? "normal" : "whole",
               collective_word[plan->collective], schedule_word[plan->schedule], plan->chunks,
               plan->chunks == 1 ? "chunk" : "chunks", plan->overlapped ? ", overlapped" : "",
               as_graph ? ", graph" : "", (unsigned long long)wrong);
        if (magnitudes)
            printf(", at most %.2f of the bound", share);
        printf("\n");
    } else if (group.rank == 0)
        printf("  graphs are not captured here\n");
    meet();
    return wrong;
}

/* Whether so many chunks of these sizes have a share of rows for each rank. */
static bool divides(const struct sizes *is, int chunks)
{
    return is->rows % (chunks * group.ranks) == 0;
}

static uint64_t all_ways(const struct task *task, const struct layer *layer, const uint16_t *magnitudes)
{
    uint16_t *result = malloc((size_t)(layer->is.rows * layer->is.out) * sizeof *result);
    uint64_t wrong = 0;
    must(!result, "out of memory");
    for (int c = 0; c < COLLECTIVES; c++)
        for (int s = 0; s < SCHEDULES; s++) {
            if (!task->schedule[s] || !load_kernels((enum schedule)s))
                continue;
            for (int chunks = 1; chunks <= 4; chunks *= 4) {
                const struct plan plan = {.products = true,
                                          .collectives = true,
                                          .overlapped = chunks > 1,
                                          .chunks = chunks,
                                          .collective = (enum collective)c,
                                          .schedule = (enum schedule)s};
                if (!divides(&layer->is, chunks))
                    continue;
                wrong += one_way(task, layer, &plan, false, result, magnitudes);
                if (task->graphs && chunks > 1 && !magnitudes)
                    wrong += one_way(task, layer, &plan, true, result, magnitudes);
            }
        }
    free(result);
    return wrong;
}

uint64_t check(const struct task *task, const struct sizes *is, void *communicator)
{
    uint16_t *magnitudes = malloc((size_t)(is->rows * is->out) * sizeof *magnitudes);
    struct layer layer;
    uint64_t wrong = 0;
    must(!magnitudes, "out of memory");
    layer_open(&layer, is, group.ranks, group.rank, communicator);
    for (int numbers = WHOLE; numbers <= NORMAL; numbers++) {
        layer_fill(&layer, (enum numbers)numbers, group.rank * (is->hidden / group.ranks));
        uint64_t reference_wrong = group.rank == 0 ? single(task, is, (enum numbers)numbers) : 0;
        wrong += of_all(reference_wrong);
        if (numbers == NORMAL)
            sum_magnitudes(&layer, magnitudes);
        wrong += all_ways(task, &layer, numbers == NORMAL ? magnitudes : NULL);
    }
    layer_close(&layer);
    free(magnitudes);
    return wrong;
}

void check_plants(const struct task *task, const struct sizes *is, void *communicator)
{
    uint16_t *result = malloc((size_t)(is->rows * is->out) * sizeof *result);
    struct layer layer;
    must(!result, "out of memory");
    layer_open(&layer, is, group.ranks, group.rank, communicator);
    if (group.rank == 0)
        single(task, is, WHOLE);
    meet();
    for (int plant = NOTHING; plant < PLANTS; plant++) {
        const struct plan plan = {.products = true,
                                  .collectives = true,
                                  .overlapped = true,
                                  .chunks = 4,
                                  .collective = plant == NO_ROWS ? SEQUENCE : ALL_REDUCE,
                                  .plant = (enum plant)plant};
        const bool shifted = plant == SLICE && group.rank == group.ranks - 1;
        double share;
        layer_fill(&layer, WHOLE, group.rank * (is->hidden / group.ranks) + shifted);
        pass_once(&layer, &plan, false, result);
        const uint64_t wrong = of_all(compare(&layer, &plan, result, task->reference, NULL, &share));
        if (group.rank == 0)
            printf("planted %s: %llu wrong\n", plant_word[plant], (unsigned long long)wrong);
        must(group.rank == 0 && plant == SLICE && wrong == 0, "a slice that begins too late is not seen");
        must(group.rank == 0 && plant == NOTHING && wrong != 0, "wrong");
    }
    layer_close(&layer);
    free(result);
}
