/* Times by events, of ways through the layer that are interleaved round by round: a sample is some passes after each
 * other, on all GPUs at once, and the slowest GPU's time. Normal numbers, for power. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tensor_parallel.h"

enum kind { SINGLE, SERIAL, OVERLAP, PRODUCTS, COLLECTIVE };
static const char *const kind_word[] = {"single", "serial", "overlap", "products", "collective"};

enum { WAYS_MAX = 128, ROUNDS_MAX = 101 };

struct way {
    enum kind kind;
    struct plan plan;
    void *graph;
    int repeats;
    double milliseconds[ROUNDS_MAX];
    int mhz[ROUNDS_MAX];
};

struct board { /* what is measured, and where */
    const struct task *task;
    const struct layer *layer, *single; /* of rank 0: the whole layer */
    struct way *way;
    int count;
    bool graphs;
    void *from, *to; /* events */
};

static void ways_add(struct board *board, enum kind kind, int collective, int schedule, int chunks)
{
    struct way *way = &board->way[board->count];
    must(board->count == WAYS_MAX, "too many ways");
    if (board->layer->is.rows % (chunks * group.ranks))
        return;
    *way = (struct way){.kind = kind, .repeats = 1};
    way->plan = (struct plan){.products = kind != COLLECTIVE,
                              .collectives = kind != SINGLE && kind != PRODUCTS,
                              .overlapped = kind == OVERLAP,
                              .chunks = chunks,
                              .collective = (enum collective)collective,
                              .schedule = (enum schedule)schedule};
    board->count++;
}

static void ways_of(struct board *board)
{
    for (int s = 0; s < SCHEDULES; s++) {
        if (!board->task->schedule[s] || !load_kernels((enum schedule)s))
            continue;
        if (s != SPARED)
            ways_add(board, SINGLE, 0, s, 1);
        for (int chunks = 1; chunks <= 8; chunks *= 2)
            ways_add(board, PRODUCTS, 0, s, chunks);
        for (int c = 0; c < COLLECTIVES; c++) {
            if (s != SPARED)
                ways_add(board, SERIAL, c, s, 1);
            for (int chunks = 2; chunks <= 8; chunks *= 2)
                ways_add(board, OVERLAP, c, s, chunks);
        }
    }
    for (int c = 0; c < COLLECTIVES; c++)
        for (int chunks = 1; chunks <= 8; chunks *= 2)
            ways_add(board, COLLECTIVE, c, 0, chunks);
}

/* ---- Samples ----------------------------------------------------------------------------------------------------- */

static void submit(const struct board *board, const struct way *way)
{
    const struct layer *layer = way->kind == SINGLE ? board->single : board->layer;
    for (int i = 0; i < way->repeats; i++)
        if (way->graph)
            must(cuda.graph_launch(way->graph, layer_stream), "cuGraphLaunch");
        else
            layer_pass(layer, &way->plan);
}

/* The slowest rank's milliseconds of a pass, and the lowest clock; the same on all ranks. */
static double sample(const struct board *board, const struct way *way, int *mhz)
{
    struct shared *shared = group.shared;
    const bool here = way->kind != SINGLE || group.rank == 0;
    float milliseconds = 0;
    double slowest = 0;
    *mhz = 0;
    meet();
    shared->mhz[group.rank] = 0;
    if (here) {
        if (way->kind != SINGLE) /* the devices begin together, not only their hosts */
            must(nccl.all_reduce((const void *)(uintptr_t)board->layer->sum[0], (void *)(uintptr_t)board->layer->sum[1],
                                 8, NCCL_BF16, NCCL_SUM, board->layer->communicator, layer_stream),
                 "ncclAllReduce");
        must(cuda.event_record(board->from, layer_stream), "cuEventRecord");
        submit(board, way);
        must(cuda.event_record(board->to, layer_stream), "cuEventRecord");
        shared->mhz[group.rank] = clock_mhz(); /* while it runs */
        must(cuda.synchronize(layer_stream), "cuStreamSynchronize");
        must(cuda.event_milliseconds(&milliseconds, board->from, board->to), "cuEventElapsedTime");
    }
    shared->milliseconds[group.rank] = (double)milliseconds / way->repeats;
    meet();
    for (int r = 0; r < group.ranks; r++) {
        slowest = fmax(slowest, shared->milliseconds[r]);
        if (shared->mhz[r] && (!*mhz || shared->mhz[r] < *mhz))
            *mhz = shared->mhz[r];
    }
    return slowest;
}

/* All ways once, to see how many passes a sample takes; then rounds, each from another way on. */
static void take_samples(struct board *board)
{
    const double least = 4; /* milliseconds of a sample */
    int mhz;
    for (int i = 0; i < board->count; i++) {
        struct way *way = &board->way[i];
        const double once = sample(board, way, &mhz);
        way->repeats = once * 20 < least ? 20 : once < least ? (int)ceil(least / once) : 1;
    }
    for (int round = 0; round < board->task->rounds; round++)
        for (int i = 0; i < board->count; i++) {
            struct way *way = &board->way[(i + round * 7) % board->count];
            way->milliseconds[round] = sample(board, way, &way->mhz[round]);
        }
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */

static int rising(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double quantile(const struct board *board, const struct way *way, double share)
{
    double sorted[ROUNDS_MAX];
    const int n = board->task->rounds;
    for (int i = 0; i < n; i++)
        sorted[i] = way->milliseconds[i];
    qsort(sorted, (size_t)n, sizeof *sorted, rising);
    const double at = share * (n - 1);
    const int low = (int)at;
    return low + 1 < n ? sorted[low] + (at - low) * (sorted[low + 1] - sorted[low]) : sorted[low];
}

static double median(const struct board *board, const struct way *way)
{
    return quantile(board, way, 0.5);
}

/* The time of the way of this kind that goes with another's chunks, schedule and collective; 0: there is none. */
static double beside(const struct board *board, enum kind kind, const struct plan *plan)
{
    for (int i = 0; i < board->count; i++) {
        const struct plan *other = &board->way[i].plan;
        if (board->way[i].kind == kind && other->chunks == plan->chunks &&
            (kind == COLLECTIVE ? other->collective == plan->collective : other->schedule == plan->schedule))
            return median(board, &board->way[i]);
    }
    return 0;
}

/* The quickest of a kind. */
static const struct way *best(const struct board *board, enum kind kind, enum collective collective)
{
    const struct way *found = NULL;
    for (int i = 0; i < board->count; i++) {
        const struct way *way = &board->way[i];
        if (way->kind == kind && way->plan.collective == collective &&
            (!found || median(board, way) < median(board, found)))
            found = way;
    }
    return found;
}

/* Of its collective; what is longer than products and collective one after the other is below 0. */
static double hidden_share(const struct board *board, const struct way *way)
{
    const double alone = beside(board, COLLECTIVE, &way->plan);
    return alone > 0 ? (beside(board, PRODUCTS, &way->plan) + alone - median(board, way)) / alone : 0;
}

static void about(FILE *json, const struct board *board)
{
    const struct sizes *is = &board->layer->is;
    const char *most = getenv("NCCL_MAX_CTAS");
    char name[128] = "";
    int major = 0, minor = 0, driver = 0;
    must(cuda.device_name(name, sizeof name, group.device), "cuDeviceGetName");
    must(cuda.device_attribute(&major, 75, group.device) || cuda.device_attribute(&minor, 76, group.device) ||
             cuda.version(&driver),
         "cuDeviceGetAttribute");
    fprintf(json,
            "{\"kernel\": \"mlp\", \"backend\": \"tilewright\", \"arch\": \"%s\", \"run\": \"%d\", \"gpu_model\": "
            "\"%s\", \"compute_capability\": \"%d.%d\", \"driver\": \"%d.%d\", \"nccl\": %d, \"nccl_max_ctas\": %s, "
            "\"gpus\": %d, \"problem_size\": "
            "{\"M\": %lld, \"K\": %lld, \"H\": %lld, \"N\": %lld}, ",
            kernel_arch(), group.shared->run, name, major, minor, driver / 1000, driver % 1000 / 10,
            group.shared->nccl_version, most ? most : "null", group.ranks, (long long)is->rows, (long long)is->in,
            (long long)is->hidden, (long long)is->out);
}

static void write_row(FILE *json, const struct board *board, const struct way *way, double one)
{
    const struct plan *plan = &way->plan;
    const double time = median(board, way);
    static int rows;
    fprintf(json, rows++ ? ",\n " : " ");
    about(json, board);
    /* The mode names the way, so that `tilewright results` tells rows apart. */
    fprintf(json, "\"mode\": \"%s%s%s%s%s, %d %s%s\"", kind_word[way->kind], plan->products ? ", " : "",
            plan->products ? schedule_word[plan->schedule] : "", plan->collectives ? ", " : "",
            plan->collectives ? collective_word[plan->collective] : "", plan->chunks,
            plan->chunks == 1 ? "chunk" : "chunks", way->graph ? ", graph" : "");
    fprintf(json, ", \"what\": \"%s\", \"launch\": \"%s\", \"chunks\": %d", kind_word[way->kind],
            way->graph ? "graph" : "stream", plan->chunks);
    if (plan->products)
        fprintf(json, ", \"schedule\": \"%s\"", schedule_word[plan->schedule]);
    if (plan->collectives)
        fprintf(json, ", \"collective\": \"%s\"", collective_word[plan->collective]);
    fprintf(json, ", \"latency_ms\": %.5f, \"latency_low_ms\": %.5f, \"latency_high_ms\": %.5f, \"rounds\": %d", time,
            quantile(board, way, 0.25), quantile(board, way, 0.75), board->task->rounds);
    int mhz = 0;
    for (int i = 0; i < board->task->rounds; i++)
        mhz = way->mhz[i] && (!mhz || way->mhz[i] < mhz) ? way->mhz[i] : mhz;
    fprintf(json, ", \"sm_mhz\": %d", mhz);
    if (way->kind == SERIAL || way->kind == OVERLAP)
        fprintf(json, ", \"scaling\": %.4f", one / (group.ranks * time));
    if (way->kind == OVERLAP)
        fprintf(json, ", \"products_ms\": %.5f, \"collective_ms\": %.5f, \"hidden\": %.4f",
                beside(board, PRODUCTS, plan), beside(board, COLLECTIVE, plan), hidden_share(board, way));
    fprintf(json, "}");
    fflush(json);
}

static void tell(const struct board *board)
{
    const struct way *one = best(board, SINGLE, ALL_REDUCE);
    printf("  times%s: one GPU %.4f ms (%s)\n", board->graphs ? ", as graphs" : "", median(board, one),
           schedule_word[one->plan.schedule]);
    for (int c = 0; c < COLLECTIVES; c++) {
        const struct way *serial = best(board, SERIAL, (enum collective)c),
                         *overlap = best(board, OVERLAP, (enum collective)c);
        const double t1 = median(board, one);
        printf("  %s: without overlap %.4f ms (%s), scaling %.3f", collective_word[c], median(board, serial),
               schedule_word[serial->plan.schedule], t1 / (group.ranks * median(board, serial)));
        if (overlap)
            printf("; overlapped %.4f ms (%s, %d chunks), scaling %.3f; collective alone %.4f ms, products alone %.4f "
                   "ms, hidden %.2f",
                   median(board, overlap), schedule_word[overlap->plan.schedule], overlap->plan.chunks,
                   t1 / (group.ranks * median(board, overlap)), beside(board, COLLECTIVE, &overlap->plan),
                   beside(board, PRODUCTS, &overlap->plan), hidden_share(board, overlap));
        printf("\n");
    }
    fflush(stdout);
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

/* Every way as a graph; false: some rank captures one of them not. They have been run before as they are: NCCL connects
 * at its first call, which cannot be captured. */
static bool capture(struct board *board)
{
    uint64_t without = 0;
    for (int i = 0; i < board->count; i++) {
        struct way *way = &board->way[i];
        int why = 0;
        if (way->kind == SINGLE && group.rank != 0)
            continue;
        way->graph = layer_graph(way->kind == SINGLE ? board->single : board->layer, &way->plan, &why);
        if (!way->graph) {
            printf("  rank %d captures no graph: %d\n", group.rank, why);
            without++;
        }
    }
    return of_all(without) == 0;
}

void measure(const struct task *task, const struct sizes *is, void *communicator, bool graphs)
{
    struct layer layer, single;
    struct board board = {.task = task, .layer = &layer, .single = &single, .graphs = graphs};
    FILE *json = NULL;
    board.way = calloc(WAYS_MAX, sizeof *board.way);
    must(!board.way, "out of memory");
    must(cuda.event_create(&board.from, 0) || cuda.event_create(&board.to, 0), "cuEventCreate");
    layer_open(&layer, is, group.ranks, group.rank, communicator);
    layer_fill(&layer, NORMAL, group.rank * (is->hidden / group.ranks));
    if (group.rank == 0) {
        layer_open(&single, is, 1, 0, NULL);
        layer_fill(&single, NORMAL, 0);
    }
    ways_of(&board);
    for (int i = 0, mhz; i < board.count; i++)
        sample(&board, &board.way[i], &mhz);
    if (!graphs || capture(&board)) {
        take_samples(&board);
        if (group.rank == 0)
            tell(&board);
        if (group.rank == 0 && task->json) {
            json = fopen(task->json, "a");
            must(!json, task->json);
            for (int i = 0; i < board.count; i++)
                write_row(json, &board, &board.way[i], median(&board, best(&board, SINGLE, ALL_REDUCE)));
            fclose(json);
        }
    }
    for (int i = 0; i < board.count; i++)
        if (board.way[i].graph)
            must(cuda.executable_destroy(board.way[i].graph), "cuGraphExecDestroy");
    free(board.way);
    layer_close(&layer);
    if (group.rank == 0)
        layer_close(&single);
    meet();
}
