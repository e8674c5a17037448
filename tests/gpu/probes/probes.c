/* Asks a GPU, or the emulator, the questions of questions.def, and prints a JSON object with a row for each case.
 *
 *     probes [--small] [QUESTION]...     from the top of the tree; tests/gpu/probes.sh builds and calls it
 *
 * --small asks fewer blocks, for the emulator (tilewright run-program), and each case in a process of its own, as the
 * hazards that are told belong to one. Without it a process asks the cases of a question until one fails or does not
 * end, which after SECONDS is killed, and another goes on behind that. Driver and NVRTC are
 * opened by dlopen. The status is 0 where every case has a row, whatever the answers; 3 without a GPU or NVRTC. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <glob.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { OUTCOMES = 8, LEAST = OUTCOMES, MOST, COUNTS, ROOM = 65536, SECONDS = 5, SMALL_SECONDS = 60 };
enum { CLUSTER_DIMENSION = 4 }; /* CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION */

/* ---- questions --------------------------------------------------------------------------------------------------- */

struct row { /* a question, or with threads 0 a case of the one above */
    const char *name, *text, *outcomes;
    unsigned threads, cluster, shared, blocks, rounds;
};

static const struct row rows[] = {
#define QUESTION(name, threads, cluster, shared, blocks, rounds, text, outcomes)                                       \
    {#name, text, outcomes, threads, cluster, shared, blocks, rounds},
#define CASE(text) {NULL, text, NULL, 0, 0, 0, 0, 0},
#include "questions.def"
#undef QUESTION
#undef CASE
};
enum { ROWS = sizeof rows / sizeof *rows };

/* ---- what is opened ---------------------------------------------------------------------------------------------- */

/* CUlaunchAttribute and CUlaunchConfig of cuda.h */
struct attribute {
    int id, pad;
    union {
        char room[64];
        unsigned cluster[3];
    } value;
};
struct config {
    unsigned grid[3], block[3], shared;
    void *stream;
    struct attribute *attributes;
    unsigned count;
};

#define DRIVER(X)                                                                                                      \
    X(cuInit, (unsigned flags))                                                                                        \
    X(cuDeviceGetName, (char *name, int room, int device))                                                             \
    X(cuDevicePrimaryCtxRetain, (void **context, int device))                                                          \
    X(cuCtxSetCurrent, (void *context))                                                                                \
    X(cuCtxSynchronize, (void))                                                                                        \
    X(cuModuleLoadData, (void **module, const void *image))                                                            \
    X(cuModuleGetFunction, (void **function, void *module, const char *name))                                          \
    X(cuFuncSetAttribute, (void *function, int attribute, int value))                                                  \
    X(cuMemAlloc_v2, (uint64_t * address, size_t bytes))                                                               \
    X(cuMemsetD32_v2, (uint64_t to, unsigned value, size_t count))                                                     \
    X(cuMemcpyDtoH_v2, (void *to, uint64_t from, size_t bytes))                                                        \
    X(cuTensorMapEncodeTiled,                                                                                          \
      (void *map, int type, unsigned rank, void *address, const uint64_t *extents, const uint64_t *strides,            \
       const unsigned *box, const unsigned *steps, int interleave, int swizzle, int promotion, int fill))              \
    X(cuLaunchKernelEx, (const struct config *config, void *function, void **arguments, void **extra))                 \
    X(cuGetErrorName, (int result, const char **name))
#define COMPILER(X)                                                                                                    \
    X(nvrtcCreateProgram,                                                                                              \
      (void **program, const char *text, const char *name, int headers, const char **contents, const char **names))    \
    X(nvrtcCompileProgram, (void *program, int count, const char **options))                                           \
    X(nvrtcGetProgramLogSize, (void *program, size_t *bytes))                                                          \
    X(nvrtcGetProgramLog, (void *program, char *log))                                                                  \
    X(nvrtcGetPTXSize, (void *program, size_t *bytes))                                                                 \
    X(nvrtcGetPTX, (void *program, char *ptx))

#define X(name, arguments) static int(*name) arguments;
DRIVER(X)
COMPILER(X)
#undef X

    static void stop(const char *what, const char *detail)
{
    fprintf(stderr, "probes: %s%s\n", what, detail);
    exit(3);
}

/* POSIX: a function's address has the representation of a void *. */
static void find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    if (!symbol)
        stop("there is no ", name);
    memcpy(function, &symbol, sizeof symbol);
}

/* The first library that a pattern leads to. NVRTC looks for its builtins by bare name: they are opened before it. */
static void *open_by(const char *folder, const char *part, const char *name)
{
    char pattern[1024];
    glob_t found;
    void *library = NULL;
    snprintf(pattern, sizeof pattern, "%s%s/%s.so*", folder, part, name);
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc && !library; i++)
            library = dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_GLOBAL);
    globfree(&found);
    return library;
}

static void open_compiler(void)
{
    static const char *const parts[] = {"/lib64", "/lib", "/targets/*/lib"};
    const char *folders[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda", "/usr/local/cuda-1*"};
    void *library = NULL;
    for (int i = 0; i < 12 && !library; i++)
        if (folders[i / 3]) {
            open_by(folders[i / 3], parts[i % 3], "libnvrtc-builtins");
            library = open_by(folders[i / 3], parts[i % 3], "libnvrtc");
        }
    for (int i = 0; i < 2 && !library; i++)
        library = dlopen(i ? "libnvrtc.so.12" : "libnvrtc.so.13", RTLD_NOW);
    if (!library)
        stop("no NVRTC: set CUDA_HOME", "");
#define X(name, arguments) find(library, #name, &name);
    COMPILER(X)
#undef X
}

static void open_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library)
        stop("no libcuda.so.1", "");
#define X(name, arguments) find(library, #name, &name);
    DRIVER(X)
#undef X
}

/* ---- a case ------------------------------------------------------------------------------------------------------ */

static size_t read_text(const char *name, char *to, size_t room)
{
    char path[256];
    snprintf(path, sizeof path, "tests/gpu/probes/%s.cu", name);
    FILE *f = fopen(path, "rb");
    if (!f)
        stop("cannot read ", path);
    size_t length = (size_t)snprintf(to, room, "#line 1 \"%s\"\n", path);
    length += fread(to + length, 1, room - length - 1, f);
    to[length] = 0;
    fclose(f);
    return length;
}

static char *compile(const char *name)
{
    static char text[1 << 17];
    static const char *options[] = {"--gpu-architecture=sm_90a", "-lineinfo"};
    size_t bytes = read_text("words", text, sizeof text / 2);
    read_text(name, text + bytes, sizeof text - bytes);
    void *program;
    if (nvrtcCreateProgram(&program, text, name, 0, NULL, NULL))
        stop("nvrtcCreateProgram failed", "");
    if (nvrtcCompileProgram(program, 2, options)) {
        nvrtcGetProgramLogSize(program, &bytes);
        char *log = calloc(1, bytes + 1);
        if (log)
            nvrtcGetProgramLog(program, log);
        stop("it does not compile:\n", log ? log : "");
    }
    nvrtcGetPTXSize(program, &bytes);
    char *ptx = calloc(1, bytes + 1);
    if (!ptx || nvrtcGetPTX(program, ptx))
        stop("no PTX of ", name);
    return ptx;
}

/* The same in a process of its own: NVRTC may open the driver, which does not work behind a fork. */
static char *compile_apart(const char *name)
{
    FILE *out = tmpfile();
    int status = 0;
    pid_t process = out ? fork() : -1;
    if (process == 0) {
        open_compiler();
        const char *ptx = compile(name);
        fwrite(ptx, 1, strlen(ptx), out);
        _exit(fflush(out) != 0);
    }
    if (process < 0 || waitpid(process, &status, 0) < 0 || status)
        exit(3); /* it has said why */
    const long bytes = fseek(out, 0, SEEK_END) ? 0 : ftell(out);
    char *ptx = calloc(1, (size_t)bytes + 1);
    rewind(out);
    if (!ptx || !bytes || fread(ptx, 1, (size_t)bytes, out) != (size_t)bytes)
        stop("no PTX of ", name);
    fclose(out);
    return ptx;
}

/* What a call gave: NULL, or the name of its error. */
static const char *said(int result)
{
    const char *name = NULL;
    if (!result)
        return NULL;
    return cuGetErrorName(result, &name) || !name ? "an error without a name" : name;
}

struct ask { /* of words.cu */
    uint32_t which, rounds, late, limit;
    uint64_t counts, memory;
};

enum { ENDED = 80 };
struct answer {
    uint32_t counts[COUNTS];
    char ended[ENDED]; /* "completed", or the error's name */
};

/* The tensor maps of outside.cu: slices of 8 rows of 32 words (rank 2: of a row). By the first index: the map begins at
 * an address that nothing is allocated at and slice 256 lies at `place`; slices lie one behind the other from `place`
 * on; the map begins there and slice 256 lies nowhere; it begins in another allocation and slice 256 lies at `place`.
 * Around `place` all is allocated. By the last: boxes of a row, of two, of two slices. */
enum { NOWHERE = 16, PLACE = 16384 + NOWHERE, PAGE = 4096, MAPS = 4, SHAPES = 3 };
enum { UINT32 = 2 /* CU_TENSOR_MAP_DATA_TYPE_UINT32 */ };
struct maps {
    _Alignas(64) unsigned char map[MAPS][4][SHAPES][128];
};

static int encode_maps(struct maps *m, uint64_t place, uint64_t elsewhere)
{
    static const unsigned steps[5] = {1, 1, 1, 1, 1};
    const uint64_t bases[MAPS] = {NOWHERE, place, place, elsewhere};
    const uint64_t slices[MAPS] = {(place - NOWHERE) / 256, 1024, place / 4096 * 16, (place - elsewhere) / 256};
    int bad = 0;
    for (unsigned i = 0; i < MAPS * 4 * SHAPES && !bad; i++) {
        const unsigned kind = i / 4 / SHAPES, rank = i / SHAPES % 4 + 2, shape = i % SHAPES;
        uint64_t extents[5] = {32, 8, 1, 1, 1}, strides[4] = {128, 1024, 1024, 1024};
        unsigned box[5] = {32, rank > 2 && shape == 1 ? 2 : 1, 1, 1, 1};
        extents[rank - 1] = kind == 1 ? 2 : 257;
        strides[rank - 2] = slices[kind];
        box[rank - 1] = shape == 2 ? 2 : box[rank - 1];
        bad = cuTensorMapEncodeTiled(m->map[kind][rank - 2][shape], UINT32, rank, (void *)(uintptr_t)bases[kind],
                                     extents, strides, box, steps, 0, 0, 0, 0);
    }
    return bad;
}

struct session { /* what the cases of a question have in common */
    const struct row *question;
    unsigned blocks, rounds, late, limit;
    void *function;
    uint64_t counts, memory;
    struct maps maps;
};

static void begin(struct session *s, const struct row *q, const char *ptx, int small)
{
    void *context, *module;
    uint64_t elsewhere;
    int bad;
    *s = (struct session){.question = q,
                          .blocks = small && q->blocks > 2 * q->cluster ? 2 * q->cluster : q->blocks,
                          .rounds = small && q->rounds > 32 ? 32 : q->rounds,
                          .late = small ? 2000 : 20000,
                          .limit = small ? 100000 : 1000000};
    if ((bad = cuInit(0)) || (bad = cuDevicePrimaryCtxRetain(&context, 0)) || (bad = cuCtxSetCurrent(context)) ||
        (bad = cuModuleLoadData(&module, ptx)) || (bad = cuModuleGetFunction(&s->function, module, "probe")) ||
        (bad = cuMemAlloc_v2(&s->counts, COUNTS * sizeof(uint32_t))) ||
        (bad = cuMemAlloc_v2(&s->memory, (size_t)s->blocks * ROOM + PAGE)) ||
        (bad = cuMemAlloc_v2(&elsewhere, (size_t)s->blocks * ROOM + PAGE)))
        stop("a call before the launch gave ", said(bad));
    if (elsewhere > s->memory) {
        const uint64_t swap = s->memory;
        s->memory = elsewhere, elsewhere = swap;
    }
    s->memory = (s->memory + PAGE - 1) / PAGE * PAGE;
    elsewhere = (elsewhere + PAGE - 1) / PAGE * PAGE;
    if ((bad = encode_maps(&s->maps, s->memory + PLACE, elsewhere + NOWHERE)))
        stop("cuTensorMapEncodeTiled gave ", said(bad));
}

static void ask_case(const struct session *s, unsigned which, struct answer *answer)
{
    const struct row *q = s->question;
    struct ask a = {which, s->rounds, s->late, s->limit, s->counts, s->memory};
    void *arguments[] = {&a, (void *)(uintptr_t)&s->maps}; /* of which the kernel takes what it has */
    struct attribute cluster = {.id = CLUSTER_DIMENSION, .value = {.cluster = {q->cluster, 1, 1}}};
    struct config config = {.grid = {s->blocks, 1, 1},
                            .block = {q->threads, 1, 1},
                            .shared = q->shared,
                            .attributes = &cluster,
                            .count = q->cluster > 1};
    int bad;
    *answer = (struct answer){.ended = "completed"};
    if ((bad = cuMemsetD32_v2(s->counts, 0, COUNTS)) ||
        (bad = cuMemsetD32_v2(s->counts + LEAST * sizeof(uint32_t), UINT32_MAX, 1)) ||
        (bad = cuMemsetD32_v2(s->memory, 0, (size_t)s->blocks * ROOM / 4)) || (bad = cuCtxSynchronize()))
        stop("a call before the launch gave ", said(bad));
    if ((bad = cuLaunchKernelEx(&config, s->function, arguments, NULL)) || (bad = cuCtxSynchronize()) ||
        (bad = cuMemcpyDtoH_v2(answer->counts, s->counts, sizeof answer->counts)))
        snprintf(answer->ended, ENDED, "%s", said(bad));
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* The hazards that the emulator told on the standard error, each once, as JSON. */
static void print_hazards(FILE *told)
{
    char line[4096], seen[1024] = "", word[64];
    int count = 0;
    while (fgets(line, sizeof line, told))
        if (sscanf(line, "hazard %60[A-Z-]:", word + 1) == 1) {
            word[0] = ' ';
            strcat(word, " ");
            if (!strstr(seen, word) && strlen(seen) + sizeof word < sizeof seen) {
                strcat(seen, word);
                printf("%s\"%.*s\"", count++ ? ", " : "", (int)strlen(word) - 2, word + 1);
            }
        }
}

static void print_row(const struct row *q, const struct row *c, const struct answer *answer, FILE *told)
{
    const uint32_t *const counts = answer->counts;
    static const char *between = "";
    const char *outcome = q->outcomes;
    printf("%s  {\"question\": \"%s\", \"case\": \"%s\", \"outcomes\": {", between, q->name, c->text);
    for (int i = 0; *outcome; i++) {
        int length = (int)strcspn(outcome, "|");
        printf("%s\"%.*s\": %u", i ? ", " : "", length, outcome, counts[i]);
        outcome += length + (outcome[length] == '|');
    }
    printf("}, ");
    if (counts[MOST])
        printf("\"ns\": [%u, %u], ", counts[LEAST], counts[MOST]);
    printf("\"ended\": \"%s\", \"hazards\": [", answer->ended);
    print_hazards(told);
    printf("]}");
    between = ",\n";
    fflush(stdout);
}

static void child(FILE *answers, FILE *told, const struct row *q, unsigned first, unsigned behind, const char *ptx,
                  int small)
{
    struct session session;
    struct answer answer;
    dup2(fileno(told), 2);
    open_driver();
    begin(&session, q, ptx, small);
    for (unsigned i = first; i < behind; i++) {
        ask_case(&session, i, &answer);
        fwrite(&answer, sizeof answer, 1, answers);
        fflush(answers);
        if (strcmp(answer.ended, "completed") != 0)
            break; /* the context is broken */
    }
    _exit(0); /* what the driver would tidy up may wait for a kernel that failed */
}

/* Waits for a process, which is killed after so many seconds. What it ended with, or NULL where it ended well. */
static const char *wait_for(pid_t process, unsigned seconds, FILE *told)
{
    int status = 0, over = 0;
    for (unsigned i = 0; !over && i < seconds * 200; i++) {
        over = waitpid(process, &status, WNOHANG) == process;
        if (!over)
            usleep(5000);
    }
    if (!over) {
        kill(process, SIGKILL);
        waitpid(process, &status, 0);
        return "did not end";
    }
    if (!WIFEXITED(status))
        return "ended by a signal";
    if (WEXITSTATUS(status) == 0)
        return NULL;
    char line[400] = "";
    rewind(told);
    while (fgets(line, sizeof line, told))
        fputs(line, stderr);
    exit(3);
}

/* Asks the cases from first up to behind, in a process. Returns the case behind the last that has a row now. */
static unsigned run_cases(const struct row *q, unsigned first, unsigned behind, const char *ptx, int small)
{
    FILE *answers = tmpfile(), *told = tmpfile();
    struct answer answer;
    if (!answers || !told)
        stop("no temporary file", "");
    fflush(stdout);
    pid_t process = fork();
    if (process == 0)
        child(answers, told, q, first, behind, ptx, small);
    const char *bad = process > 0 ? wait_for(process, small ? SMALL_SECONDS : SECONDS, told) : "did not begin";
    rewind(answers);
    while (first < behind && fread(&answer, sizeof answer, 1, answers) == 1) {
        rewind(told);
        print_row(q, q + 1 + first++, &answer, told);
    }
    if (bad && first < behind) {
        answer = (struct answer){.ended = ""};
        snprintf(answer.ended, ENDED, "%s", bad);
        print_row(q, q + 1 + first++, &answer, told);
    }
    fclose(answers);
    fclose(told);
    return first;
}

static int wanted(const char *name, char **names)
{
    for (char **n = names; *n; n++)
        if (strcmp(*n, name) == 0)
            return 1;
    return !*names;
}

int main(int argc, char **argv)
{
    const int small = argc > 1 && strcmp(argv[1], "--small") == 0;
    char **names = argv + 1 + small;
    puts("{\"rows\": [");
    fflush(stdout);
    for (int i = 0; i < ROWS; i++) {
        if (!rows[i].threads || !wanted(rows[i].name, names))
            continue;
        char *ptx = compile_apart(rows[i].name);
        unsigned cases = 0;
        while (i + 1 + (int)cases < ROWS && !rows[i + 1 + (int)cases].threads)
            cases++;
        for (unsigned c = 0; c < cases;)
            c = run_cases(&rows[i], c, small ? c + 1 : cases, ptx, small);
        free(ptx);
    }
    puts("\n]}");
    return 0;
}
