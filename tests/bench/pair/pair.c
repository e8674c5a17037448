/* Emitted GEMM kernels beside each other and beside cuBLASLt, in one process.
 *
 *     pair [--sustained SECONDS] [--rounds N] [--sustained-rounds N] [--alone] CANDIDATE.so... -- M N K... > rows.json
 *
 * Each candidate is one emitted kernel behind candidate.c. The first is the base: it is measured twice under two names
 * (A/A), and the distance of the two is the noise of the run. Random normal inputs in sets that rotate through more
 * than the L2; graph replays. Burst: candidates interleaved in random order, median of the rounds. Sustained: each
 * candidate alone for SECONDS, the last half timed, random order, median of five rounds; where NVML is there, with the
 * clock and the energy of a launch, means over all rounds. D of each candidate is compared with the base's, bit for bit
 * and by relative Frobenius distance, after poisoning. cuBLASLt is the best of its heuristics by burst; --alone leaves
 * it out. Rows are JSON on stdout, a table goes to stderr.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <time.h>

#include "../peer.h"
#include "power.h"

enum { CANDIDATES = 12, HEURISTICS = 24, OTHERS = 2, MOST_ROUNDS = 64 };

typedef int launch_function(const void *a, const void *b, void *d, void *const *other, int64_t m, int64_t n, int64_t k,
                            void *stream);

struct candidate {
    char name[100];
    launch_function *launch; /* NULL: cuBLASLt */
    cudaGraphExec_t graph;
    double burst[MOST_ROUNDS], sustained[MOST_ROUNDS], distance;
    double joules, launches, mhz, samples; /* of all timed halves */
    unsigned long long reasons;            /* of lower clocks, NVML's bits */
    int64_t different;
};

struct bench {
    struct candidate candidate[CANDIDATES];
    int candidates, rounds, sustained_rounds;
    double seconds;
    struct power power;
    bool alone;
    struct peer p;
    void *other[OTHERS];
    int best; /* of cuBLASLt's heuristics */
};

static int start(struct bench *t, struct candidate *c, int set)
{
    if (c->launch)
        return c->launch(t->p.a[set], t->p.b[set], t->p.d[set], t->other, t->p.m, t->p.n, t->p.k, t->p.stream);
    return peer_start(&t->p, t->best, set);
}

static cudaGraphExec_t record(struct bench *t, struct candidate *c)
{
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    if (start(t, c, 0))
        return NULL;
    CHECK(cudaStreamSynchronize(t->p.stream));
    CHECK(cudaStreamBeginCapture(t->p.stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < t->p.replays; i++)
        CHECK(start(t, c, i % t->p.sets));
    CHECK(cudaStreamEndCapture(t->p.stream, &graph));
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    return executable;
}

/* Starts it so many times between the two events. */
static void start_replay(struct bench *t, cudaGraphExec_t graph, int times)
{
    CHECK(cudaEventRecord(t->p.begin, t->p.stream));
    for (int i = 0; i < times; i++)
        CHECK(cudaGraphLaunch(graph, t->p.stream));
    CHECK(cudaEventRecord(t->p.end, t->p.stream));
}

/* Nanoseconds of one launch. */
static double end_replay(struct bench *t, int times)
{
    float ms;
    CHECK(cudaEventSynchronize(t->p.end));
    CHECK(cudaEventElapsedTime(&ms, t->p.begin, t->p.end));
    return (double)ms * 1e6 / t->p.replays / times;
}

static double replay(struct bench *t, cudaGraphExec_t graph, int times)
{
    start_replay(t, graph, times);
    return end_replay(t, times);
}

static void shuffle(int *order, int count)
{
    for (int i = 0; i < count; i++)
        order[i] = i;
    for (int i = count - 1; i > 0; i--) {
        int j = (int)(peer_uniform() * (i + 1)), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

static void set_up(struct bench *t)
{
    peer_set_up(&t->p, HEURISTICS);
    for (int i = 0; i < OTHERS; i++) {
        CHECK(cudaMalloc(&t->other[i], (size_t)(t->p.m * t->p.n) * 2));
        peer_fill(t->other[i], (size_t)(t->p.m * t->p.n));
    }
}

static void tear_down(struct bench *t)
{
    peer_tear_down(&t->p);
    for (int i = 0; i < OTHERS; i++)
        CHECK(cudaFree(t->other[i]));
}

/* D of set 0 as the candidate leaves it in poisoned memory. */
static void result(struct bench *t, struct candidate *c, uint16_t *d)
{
    size_t bytes = (size_t)(t->p.m * t->p.n) * 2;
    CHECK(cudaMemset(t->p.d[0], 0xff, bytes));
    CHECK(start(t, c, 0));
    CHECK(cudaStreamSynchronize(t->p.stream));
    CHECK(cudaMemcpy(d, t->p.d[0], bytes, cudaMemcpyDeviceToHost));
}

static void compare(struct bench *t)
{
    size_t count = (size_t)(t->p.m * t->p.n);
    uint16_t *base = malloc(count * 2), *other = malloc(count * 2);
    result(t, &t->candidate[0], base);
    for (int i = 1; i < t->candidates; i++) {
        struct candidate *c = &t->candidate[i];
        double error = 0, norm = 0;
        c->different = 0;
        result(t, c, other);
        for (size_t e = 0; e < count; e++) {
            uint32_t x = (uint32_t)other[e] << 16, y = (uint32_t)base[e] << 16;
            float a, b;
            memcpy(&a, &x, 4);
            memcpy(&b, &y, 4);
            c->different += x != y;
            error += ((double)a - b) * ((double)a - b);
            norm += (double)b * b;
        }
        c->distance = sqrt(error / norm); /* NaN where poison is left */
    }
    free(base);
    free(other);
}

static void choose_heuristic(struct bench *t, struct candidate *c)
{
    double least = 1e30;
    int best = 0;
    for (t->best = 0; t->best < t->p.heuristics; t->best++) {
        cudaGraphExec_t graph = record(t, c);
        if (!graph)
            continue;
        replay(t, graph, 1);
        double ns = replay(t, graph, 1);
        if (ns < least) {
            least = ns;
            best = t->best;
        }
        CHECK(cudaGraphExecDestroy(graph));
    }
    t->best = best;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Nanoseconds of one launch in the last half of `seconds` of nothing else. */
static double sustain(struct bench *t, struct candidate *c)
{
    double begin = now(), one = replay(t, c->graph, 1) * t->p.replays * 1e-9;
    int chunk = (int)(t->seconds / 8 / one) + 1;
    while (now() - begin < t->seconds / 2)
        replay(t, c->graph, chunk);
    int rest = (int)(t->seconds / 2 / one) + 1;
    double joules = power_joules(&t->power);
    start_replay(t, c->graph, rest);
    for (double from = now(), step = t->seconds / 12, next = from + step; t->power.device && now() < from + 5 * step;)
        if (now() >= next) {
            c->mhz += power_clock(&t->power);
            c->reasons |= power_reasons(&t->power);
            c->samples++;
            next += step;
        }
    double ns = end_replay(t, rest);
    c->joules += power_joules(&t->power) - joules;
    c->launches += (double)rest * t->p.replays;
    return ns;
}

static void print_row(const struct bench *t, const struct candidate *c, const char *mode, double *ns, int count,
                      long run)
{
    static int rows;
    qsort(ns, (size_t)count, sizeof *ns, peer_by_value);
    printf("%s{\"kernel\": \"gemm\", \"backend\": \"%s\", \"mode\": \"%s\", \"problem_size\": {\"M\": %lld, \"N\": "
           "%lld, \"K\": "
           "%lld}, \"latency_ns\": %.0f, \"latency_min_ns\": %.0f, \"latency_max_ns\": %.0f, \"different\": %lld, "
           "\"distance\": %.3g, \"run\": %ld",
           rows++ ? ",\n " : "[", c->name, mode, (long long)t->p.m, (long long)t->p.n, (long long)t->p.k, ns[count / 2],
           ns[0], ns[count - 1], (long long)c->different, isnan(c->distance) ? -1.0 : c->distance, run);
    if (strcmp(mode, "sustained") == 0 && c->samples > 0)
        printf(", \"energy_mj\": %.4f, \"clock_mhz\": %.0f, \"clock_reasons\": %llu", c->joules / c->launches * 1e3,
               c->mhz / c->samples, c->reasons);
    printf("}");
}

static void measure(struct bench *t, long run)
{
    int order[CANDIDATES];
    set_up(t);
    if (!t->alone)
        choose_heuristic(t, &t->candidate[t->candidates - 1]);
    compare(t);
    for (int i = 0; i < t->candidates; i++) {
        t->candidate[i].graph = record(t, &t->candidate[i]);
        if (!t->candidate[i].graph) {
            fprintf(stderr, "%s does not launch\n", t->candidate[i].name);
            exit(1);
        }
    }
    for (int round = -1; round < t->rounds; round++) {
        shuffle(order, t->candidates);
        for (int i = 0; i < t->candidates; i++) {
            struct candidate *c = &t->candidate[order[i]];
            double ns = replay(t, c->graph, 1);
            if (round >= 0)
                c->burst[round] = ns;
        }
    }
    for (int i = 0; i < t->candidates; i++) {
        struct candidate *c = &t->candidate[i];
        c->joules = c->launches = c->mhz = c->samples = 0;
        c->reasons = 0;
    }
    for (int round = 0; round < t->sustained_rounds && t->seconds > 0; round++) {
        shuffle(order, t->candidates);
        for (int i = 0; i < t->candidates; i++)
            t->candidate[order[i]].sustained[round] = sustain(t, &t->candidate[order[i]]);
    }
    fprintf(stderr, "%6lld x %6lld x %6lld\n", (long long)t->p.m, (long long)t->p.n, (long long)t->p.k);
    for (int i = 0; i < t->candidates; i++) {
        struct candidate *c = &t->candidate[i];
        struct candidate *base = &t->candidate[0];
        print_row(t, c, "burst", c->burst, t->rounds, run);
        if (t->seconds > 0)
            print_row(t, c, "sustained", c->sustained, t->sustained_rounds, run);
        fprintf(stderr, "    %-32s burst %10.2f us (%.4f)", c->name, c->burst[t->rounds / 2] / 1e3,
                base->burst[t->rounds / 2] / c->burst[t->rounds / 2]);
        if (t->seconds > 0)
            fprintf(stderr, "  sustained %10.2f us (%.4f)", c->sustained[t->sustained_rounds / 2] / 1e3,
                    base->sustained[t->sustained_rounds / 2] / c->sustained[t->sustained_rounds / 2]);
        if (t->seconds > 0 && c->samples > 0)
            fprintf(stderr, "  %.3f mJ %.0f MHz reasons %llx", c->joules / c->launches * 1e3, c->mhz / c->samples,
                    c->reasons);
        fprintf(stderr, "  different %lld distance %.2e\n", (long long)c->different, c->distance);
        CHECK(cudaGraphExecDestroy(c->graph));
    }
    tear_down(t);
}

static void add(struct bench *t, const char *name, launch_function *launch)
{
    struct candidate *c = &t->candidate[t->candidates++];
    snprintf(c->name, sizeof c->name, "%s", name);
    c->launch = launch;
}

static void open_candidate(struct bench *t, const char *path)
{
    char text[1000] = "", name[80];
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    int (*load)(char *) = NULL;
    launch_function *launch = NULL;
    *(void **)&load = dlsym(library, "candidate_load");
    *(void **)&launch = dlsym(library, "candidate_launch");
    if (!load || !launch || load(text)) {
        fprintf(stderr, "%s: %s\n", path, text);
        exit(1);
    }
    const char *slash = strrchr(path, '/');
    snprintf(name, sizeof name, "%s", slash ? slash + 1 : path);
    if (strrchr(name, '.'))
        *strrchr(name, '.') = 0;
    add(t, name, launch);
    if (t->candidates == 1) {
        char again[90];
        snprintf(again, sizeof again, "%s (again)", name);
        add(t, again, launch);
    }
}

static int at_least_one(int rounds)
{
    return rounds < 1 ? 1 : rounds > MOST_ROUNDS ? MOST_ROUNDS : rounds;
}

int main(int argc, char **argv)
{
    static struct bench test;
    struct bench *t = &test;
    int at = 1;
    t->rounds = 15;
    t->sustained_rounds = 5;
    t->power = power_open();
    peer_open(&t->p);
    for (; at < argc && strcmp(argv[at], "--") != 0; at++) {
        if (strcmp(argv[at], "--sustained") == 0 && at + 1 < argc)
            t->seconds = atof(argv[++at]);
        else if (strcmp(argv[at], "--rounds") == 0 && at + 1 < argc)
            t->rounds = atoi(argv[++at]);
        else if (strcmp(argv[at], "--sustained-rounds") == 0 && at + 1 < argc)
            t->sustained_rounds = atoi(argv[++at]);
        else if (strcmp(argv[at], "--alone") == 0)
            t->alone = true;
        else if (t->candidates < CANDIDATES - 2)
            open_candidate(t, argv[at]);
    }
    t->rounds = at_least_one(t->rounds);
    t->sustained_rounds = at_least_one(t->sustained_rounds);
    if (t->candidates == 0 || (argc - at - 1) % 3 || argc - at < 4) {
        fprintf(stderr,
                "usage: pair [--sustained SECONDS] [--rounds N] [--sustained-rounds N] [--alone] CANDIDATE.so... -- "
                "M N K [M N K]...\n");
        return 2;
    }
    if (!t->alone)
        add(t, "cublaslt", NULL);
    long run = (long)time(NULL);
    for (at++; at + 2 < argc; at += 3) {
        t->p.m = atoll(argv[at]);
        t->p.n = atoll(argv[at + 1]);
        t->p.k = atoll(argv[at + 2]);
        measure(t, run);
    }
    printf("]\n");
    return 0;
}
