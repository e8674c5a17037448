/* Arguments, and the order of things: results first, then times, then times as graphs, then planted bugs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor_parallel.h"

static const char usage[] = "usage: tensor_parallel [OPTION]...\n"
                            "  --ranks N                   processes, of a GPU each; else as many as there are GPUs\n"
                            "  --sizes ROWS,IN,HIDDEN,OUT  of the layer; up to 8 of them\n"
                            "  --schedules NAME,...        of static, spared, dynamic; else all of them\n"
                            "  --rounds N                  of measurements, up to 101; 0: none\n"
                            "  --no-check                  results are not compared\n"
                            "  --no-graphs                 passes are not captured\n"
                            "  --plants                    bugs are planted too, and what they make wrong is told\n"
                            "  --nccl FILE                 else libnccl.so.2\n"
                            "  --json FILE                 rows of measurements\n"
                            "  --seconds S                 after which all processes are killed; 100\n";

static void refuse(const char *what)
{
    fprintf(stderr, "tensor_parallel: %s\n%s", what, usage);
    exit(2);
}

static int number(const char *text)
{
    char *end;
    const long value = strtol(text, &end, 10);
    if (end == text || *end || value < 0 || value > 1000)
        refuse("--ranks and --rounds are numbers");
    return (int)value;
}

static void read_sizes(struct task *task, const char *text)
{
    long long n[4];
    char more;
    if (task->count == 8 || sscanf(text, "%lld,%lld,%lld,%lld%c", &n[0], &n[1], &n[2], &n[3], &more) != 4)
        refuse("--sizes are four numbers, and up to 8 of them");
    for (int i = 0; i < 4; i++)
        if (n[i] < 64 || n[i] % 8 || n[i] > 1 << 20)
            refuse("sizes are 64 to 1048576, multiples of 8");
    task->is[task->count++] = (struct sizes){n[0], n[1], n[2], n[3]};
}

static void read_schedules(struct task *task, const char *text)
{
    for (int s = 0; s < SCHEDULES; s++)
        task->schedule[s] = false;
    for (size_t length; length = strcspn(text, ","), length > 0; text += length + (text[length] == ',')) {
        int s = 0;
        while (s < SCHEDULES && (strlen(schedule_word[s]) != length || strncmp(text, schedule_word[s], length) != 0))
            s++;
        if (s == SCHEDULES)
            refuse("--schedules are of static, spared, dynamic");
        task->schedule[s] = true;
    }
    task->schedule[STATIC] = true; /* which the reference is made with */
}

static void read_arguments(struct task *task, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *option = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(option, "--plants") == 0)
            task->plants = true;
        else if (strcmp(option, "--no-check") == 0)
            task->checks = false;
        else if (strcmp(option, "--no-graphs") == 0)
            task->graphs = false;
        else if (strcmp(option, "--help") == 0) {
            fputs(usage, stdout);
            exit(0);
        } else if (i++, strcmp(option, "--ranks") == 0)
            task->ranks = number(value);
        else if (strcmp(option, "--sizes") == 0)
            read_sizes(task, value);
        else if (strcmp(option, "--schedules") == 0)
            read_schedules(task, value);
        else if (strcmp(option, "--rounds") == 0)
            task->rounds = number(value);
        else if (strcmp(option, "--seconds") == 0)
            task->seconds = atof(value);
        else if (strcmp(option, "--nccl") == 0)
            task->nccl = value;
        else if (strcmp(option, "--json") == 0)
            task->json = value;
        else
            refuse(option);
    }
    if (!task->count)
        read_sizes(task, "1024,4096,14336,4096");
    if (task->rounds < 0 || task->rounds > 101)
        refuse("--rounds is 0 to 101");
}

/* Of each rank. */
static int work(void *context)
{
    const struct task *task = context;
    void *communicator, *primary;
    char address[64] = "";
    uint64_t wrong = 0;
    int devices;
    setvbuf(stdout, NULL, _IOLBF, 0); /* what was said is there, whatever ends the process */
    open_cuda();
    must(cuda.device_count(&devices) || devices < 1, "cuDeviceGetCount");
    group.device = group.rank % devices;
    must(cuda.context_retain(&primary, group.device), "cuDevicePrimaryCtxRetain");
    must(cuda.context_set(primary), "cuCtxSetCurrent");
    must(cuda.device_address(address, sizeof address, group.device), "cuDeviceGetPCIBusId");
    open_clock(address);
    open_nccl(task->nccl);
    if (group.rank == 0) {
        must(nccl.version(&group.shared->nccl_version), "ncclGetVersion");
        must(nccl.unique(&group.shared->id), "ncclGetUniqueId");
        printf("%d ranks, NCCL %d\n", group.ranks, group.shared->nccl_version);
    }
    meet();
    must(nccl.init(&communicator, group.ranks, group.shared->id, group.rank), "ncclCommInitRank");
    open_streams();
    load_kernels(STATIC);
    for (int i = 0; i < task->count; i++) {
        const struct sizes *is = &task->is[i];
        must(is->hidden % group.ranks || is->hidden / group.ranks % 8 || is->rows % group.ranks,
             "ranks have no equal shares of rows, or of hidden in multiples of 8");
        if (group.rank == 0)
            printf("%lld x %lld x %lld x %lld\n", (long long)is->rows, (long long)is->in, (long long)is->hidden,
                   (long long)is->out);
        if (task->checks)
            wrong += check(task, is, communicator);
        if (task->rounds)
            measure(task, is, communicator, false);
    }
    for (int i = 0; i < task->count && task->rounds && task->graphs; i++)
        measure(task, &task->is[i], communicator, true);
    if (task->plants)
        check_plants(task, &task->is[0], communicator);
    if (group.rank == 0 && task->checks)
        printf("%s: %llu wrong\n", wrong ? "not equal" : "equal", (unsigned long long)wrong);
    must(nccl.destroy(communicator), "ncclCommDestroy");
    return wrong != 0;
}

/* The rows that a rank appends stand in a list of a file that says what they are. */
static void write_frame(const struct task *task, const char *text, const char *mode)
{
    FILE *json = task->json ? fopen(task->json, mode) : NULL;
    if (json) {
        fputs(text, json);
        fclose(json);
    }
}

int main(int argc, char **argv)
{
    struct task task = {.checks = true, .graphs = true, .seconds = 100, .schedule = {true, true, true}};
    size_t most = 0;
    read_arguments(&task, argc, argv);
    for (int i = 0; i < task.count; i++) {
        const size_t elements = (size_t)(task.is[i].rows * task.is[i].out);
        most = elements > most ? elements : most;
    }
    task.reference = shared_memory(most * sizeof *task.reference);
    write_frame(
        &task,
        "{\n\"made_by\": \"tests/gpu/tensor_parallel.sh\",\n\"what\": \"an MLP, gelu(x up^T + b) down^T + c, "
        "x [M, K], hidden H, out [M, N], split over hidden among GPUs (tests/embed/tensor_parallel). Medians of "
        "interleaved samples, quartiles beside them; scaling: best time on one GPU / (GPUs x time); hidden: "
        "(products + collective - overlapped) / collective, of as many chunks alone\",\n\"rows\": [\n",
        "w");
    const int status = run_group(task.ranks, task.seconds, work, &task);
    write_frame(&task, "\n]\n}\n", "a");
    return status;
}
