/* One pass through the layer, chunk by chunk of rows, in two streams that events order:
 *
 *   kernels      up 0  down 0 | up 1  down 1 | up 2   down 2 | ...
 *   collectives               | sum 0        | sum 1         | sum 2 ...
 *
 * Summands, and rows that were gathered, lie in two places in turn. So a product waits until the sum of two chunks
 * before has read its place. Rows wait for nothing: they are gathered behind that sum, which waited for the product
 * that read their place. */
#include <stdlib.h>

#include "tensor_parallel.h"

const char *const collective_word[COLLECTIVES] = {"all_reduce", "sequence"};
const char *const plant_word[PLANTS] = {"nothing", "slice", "no_result", "no_room", "no_rows", "no_end"};

void *layer_stream;
static void *collective_stream;
/* Recorded behind: what was there before the pass; a product; the sum that read it; rows that were gathered; the last
 * collective. */
static void *begun, *result[2], *room[2], *rows[2], *ended;

void open_streams(void)
{
    enum { not_blocking = 1, untimed = 2 };
    void **events[] = {&begun, &result[0], &result[1], &room[0], &room[1], &rows[0], &rows[1], &ended};
    int least, greatest;
    must(cuda.priorities(&least, &greatest), "cuCtxGetStreamPriorityRange");
    /* Blocks of a collective are few, and go first. */
    must(cuda.stream_create(&layer_stream, not_blocking, least), "cuStreamCreateWithPriority");
    must(cuda.stream_create(&collective_stream, not_blocking, greatest), "cuStreamCreateWithPriority");
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        must(cuda.event_create(events[i], untimed), "cuEventCreate");
}

/* ---- A rank's tensors -------------------------------------------------------------------------------------------- */

static uint64_t allocated(int64_t bytes)
{
    uint64_t address;
    must(cuda.allocate(&address, (size_t)bytes), "cuMemAlloc");
    return address;
}

void layer_open(struct layer *layer, const struct sizes *is, int ranks, int rank, void *communicator)
{
    const int64_t shard = is->hidden / ranks;
    *layer = (struct layer){.is = *is, .ranks = ranks, .rank = rank, .communicator = communicator};
    layer->x = allocated(is->rows * is->in * 2);
    layer->up = allocated(shard * is->in * 2);
    layer->up_bias = allocated(shard * 4);
    layer->down = allocated(is->out * shard * 2);
    layer->down_bias = allocated(is->out * 4);
    layer->hidden = allocated(is->rows * shard * 2);
    layer->out = allocated(is->rows * is->out * 2);
    for (int i = 0; i < 2 && communicator; i++) {
        layer->sum[i] = allocated(is->rows * is->out * 2);
        layer->rows[i] = allocated(is->rows * is->in * 2);
    }
}

void layer_close(struct layer *layer)
{
    const uint64_t all[] = {layer->x,   layer->up,     layer->up_bias, layer->down,    layer->down_bias, layer->hidden,
                            layer->out, layer->sum[0], layer->sum[1],  layer->rows[0], layer->rows[1]};
    must(cuda.context_synchronize(), "cuCtxSynchronize");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i])
            must(cuda.release(all[i]), "cuMemFree");
}

bool layer_owns(const struct layer *layer, const struct plan *plan, int64_t row)
{
    const int64_t chunk = layer->is.rows / plan->chunks;
    return !plan->collectives || plan->collective == ALL_REDUCE || row % chunk / (chunk / layer->ranks) == layer->rank;
}

/* ---- A pass ------------------------------------------------------------------------------------------------------ */

struct pass {
    const struct layer *layer;
    const struct plan *plan;
    void *kernels, *collectives; /* streams */
    int64_t rows, own;           /* of a chunk; of them a rank's in SEQUENCE */
};

/* Where there is one stream, it is the order. */
static void record(const struct pass *pass, void *event, void *stream)
{
    if (pass->kernels != pass->collectives)
        must(cuda.event_record(event, stream), "cuEventRecord");
}

static void await(const struct pass *pass, void *stream, void *event, enum plant without)
{
    if (pass->kernels != pass->collectives && pass->plan->plant != without)
        must(cuda.stream_wait(stream, event, 0), "cuStreamWaitEvent");
}

static void *at(uint64_t base, int64_t elements)
{
    return (void *)(uintptr_t)(base + (uint64_t)elements * 2);
}

static bool gathers(const struct pass *pass)
{
    return pass->plan->collectives && pass->plan->collective == SEQUENCE;
}

/* The rank's rows of a chunk to all ranks. */
static void gather(const struct pass *pass, int chunk)
{
    const struct layer *l = pass->layer;
    const int place = chunk % 2;
    must(nccl.all_gather(at(l->x, (chunk * pass->rows + l->rank * pass->own) * l->is.in), at(l->rows[place], 0),
                         (size_t)(pass->own * l->is.in), NCCL_BF16, l->communicator, pass->collectives),
         "ncclAllGather");
    record(pass, rows[place], pass->collectives);
}

static void products(const struct pass *pass, int chunk)
{
    const struct layer *l = pass->layer;
    const int64_t shard = l->is.hidden / l->ranks, first = chunk * pass->rows;
    const int place = chunk % 2;
    struct product up = {0, l->up, l->hidden, l->up_bias, pass->rows, shard, l->is.in};
    struct product down = {l->hidden, l->down, 0, l->down_bias, pass->rows, l->is.out, shard};
    up.a = gathers(pass) ? l->rows[place] : l->x + (uint64_t)(first * l->is.in) * 2;
    down.d = pass->plan->collectives ? l->sum[place] : l->out + (uint64_t)(first * l->is.out) * 2;
    if (gathers(pass))
        await(pass, pass->kernels, rows[place], NO_ROWS);
    multiply(pass->plan->schedule, true, &up, pass->kernels);
    if (pass->plan->collectives && chunk >= 2)
        await(pass, pass->kernels, room[place], NO_ROOM);
    multiply(pass->plan->schedule, false, &down, pass->kernels);
    record(pass, result[place], pass->kernels);
}

/* All ranks' summands of a chunk to `out`. */
static void add(const struct pass *pass, int chunk)
{
    const struct layer *l = pass->layer;
    const int64_t first = chunk * pass->rows * l->is.out;
    const int place = chunk % 2;
    const void *from = at(l->sum[place], 0);
    await(pass, pass->collectives, result[place], NO_RESULT);
    if (pass->plan->collective == ALL_REDUCE)
        must(nccl.all_reduce(from, at(l->out, first), (size_t)(pass->rows * l->is.out), NCCL_BF16, NCCL_SUM,
                             l->communicator, pass->collectives),
             "ncclAllReduce");
    else
        must(nccl.reduce_scatter(from, at(l->out, first + l->rank * pass->own * l->is.out),
                                 (size_t)(pass->own * l->is.out), NCCL_BF16, NCCL_SUM, l->communicator,
                                 pass->collectives),
             "ncclReduceScatter");
    record(pass, room[place], pass->collectives);
}

void layer_pass(const struct layer *layer, const struct plan *plan)
{
    const struct pass pass = {
        .layer = layer,
        .plan = plan,
        .kernels = layer_stream,
        .collectives = plan->overlapped ? collective_stream : layer_stream,
        .rows = layer->is.rows / plan->chunks,
        .own = layer->is.rows / plan->chunks / layer->ranks,
    };
    record(&pass, begun, pass.kernels);
    await(&pass, pass.collectives, begun, PLANTS);
    if (gathers(&pass))
        gather(&pass, 0);
    for (int chunk = 0; chunk < plan->chunks; chunk++) {
        /* The next chunk's rows go before this one's sum, or they would wait for its product. */
        if (gathers(&pass) && chunk + 1 < plan->chunks)
            gather(&pass, chunk + 1);
        if (plan->products)
            products(&pass, chunk);
        if (plan->collectives)
            add(&pass, chunk);
    }
    record(&pass, ended, pass.collectives);
    await(&pass, pass.kernels, ended, NO_END);
}

void *layer_graph(const struct layer *layer, const struct plan *plan, int *why)
{
    enum { relaxed = 2 }; /* NCCL may allocate meanwhile */
    void *graph = NULL, *executable = NULL;
    int failed = 0;
    *why = cuda.capture_begin(layer_stream, relaxed);
    if (*why)
        return NULL;
    group.failure = &failed; /* what cannot be captured is told, and the capture ended */
    layer_pass(layer, plan);
    group.failure = NULL;
    *why = cuda.capture_end(layer_stream, &graph);
    *why = failed ? failed : *why;
    if (!*why)
        *why = cuda.instantiate(&executable, graph, 0);
    if (graph)
        cuda.graph_destroy(graph);
    return *why ? NULL : executable;
}
