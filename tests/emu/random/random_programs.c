/* Random programs (random_spec.h) against their meaning: each on the emulator in three completion modes with hazards
 * fatal, within the meaning's bounds, and against the naive twin in fp32. A spec's kernels differ in how they run
 * alone: the meanings of all are within the bounds of the first one's.
 *
 *   random_programs [--specs] [--first SEED] [--step N] [--count N] [--seconds S] [--all] [--plan|--mean]
 *                   [--compile|--both] [--strict] [--keep DIR] [--quiet] [--stop] [--arch A] [--device emu|cuda]
 *                   [--log FILE] [--only A+B] [--leave-out A+B]... [FILE...]
 *   random_programs --replay LOG
 *   random_programs --print SEED
 *
 * --specs: specs of the family gemm (random_gemm.c) in the place of programs: whatever rule `check` has may refuse
 * them, nothing behind it. FILE...: these specs in the place of random ones. --leave-out A+B: no programs that have all
 * of these features; --only A+B: none that lack one; --count is of those that are left. --all: every kernel on every
 * architecture in every mode; else each kernel on one, each size with each kind of inputs in one mode, and of all
 * kernels but the first one variant. --plan: nothing is compiled; --mean: nor is it, but small sizes are evaluated, and
 * their meaning is held against the twin. --compile: cubins are made, and nothing runs; what ptxas says of them that
 * `build` refuses is a failure. --both: that, and the PTX of the same compilation runs. --strict: what is refused by
 * rule is a failure. --keep DIR: specs that fail are kept there. --seconds: no new program after that time. --step N:
 * every Nth seed. --device cuda: the first GPU runs them, each size with both kinds of inputs, and there is no twin.
 * --stop: none after a failure. --log: what was seen is appended there; --replay counts it again, of several runs in
 * one file as of one.
 *
 * Each program runs in a process of its own: one that crashes or hangs is a failure of that program. What a lowering
 * refuses by rule is counted; a Plan that the proof refuses is a failure. TAP on stdout, and what was covered as
 * comments behind it. A spec whose first line is "-- refused by RULE: ..." is fine where that rule refuses it. Meanings
 * of a FILE's kernels are compared where its first line is "-- one meaning: ...".
 *
 * Tables: which fields of how a kernel runs other kernels than the first changed, and which rows of place_ops.def were
 * steps of a kernel that ran (random_tables.h).
 *
 * Rings: each is to be wrapped twice by one block, over all sizes: its first stage is filled a third time, all others
 * twice. A ring that is filled once an item cannot be, in a kernel whose blocks have one item each. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "random_run.h"
#include "random_spec.h"
#include "random_tables.h"
#include "unit/check.h"

/* ---- asserts of what tests share, without cmocka's library, which a machine with a GPU may lack ------------------ */

void print_error(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
}

void _fail(const char *file, const int line)
{
    print_error("%s:%d: failed\n", file, line);
    abort(); /* of the program's own process */
}

void _assert_true(const LargestIntegralType result, const char *expression, const char *file, const int line)
{
    if (result)
        return;
    print_error("%s\n", expression);
    _fail(file, line);
}

enum { NAMES = 1024, SECONDS_EACH = 300, FEATURES = 128 };

struct options {
    uint64_t first, step;
    int count;
    double seconds;
    bool all, quiet, stop, plan, mean, compile, both, strict, specs;
    const char *only;        /* features that each program has, "a+b" */
    const char *without[16]; /* features that are not to meet, "a+b" */
    int withouts;
    const char *arch;   /* of every kernel; NULL: they share */
    const char *device; /* NULL: the emulator */
    const char *keep, *log, *replay;
};

/* How often each thing was met, by name. */
struct tally {
    char name[NAMES][200];
    int count[NAMES];
    int names;
};

static int *tally_of(struct tally *t, const char *name)
{
    for (int i = 0; i < t->names; i++)
        if (strcmp(t->name[i], name) == 0)
            return &t->count[i];
    if (t->names == NAMES)
        return &t->count[NAMES - 1];
    snprintf(t->name[t->names], sizeof t->name[0], "%s", name);
    return &t->count[t->names++];
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

struct all {
    struct options o;
    struct tally tally, refused, unwrapped;
    int count[FEATURES], pair[FEATURES][FEATURES]; /* kernels that ran and have the feature, both */
    int programs, failed;
    FILE *log; /* NULL: none */
    char scratch[256];
};

static double clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Runs it in a process of its own, whose lines go to a file. Returns its wait status. */
static int in_process(const struct options *o, const char *path, uint64_t seed, const char *lines, const char *errors)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct random_run run = {.path = path,
                                 .seed = seed,
                                 .all = o->all,
                                 .plan = o->plan,
                                 .mean = o->mean,
                                 .compile = o->compile,
                                 .both = o->both,
                                 .strict = o->strict,
                                 .specs = o->specs,
                                 .arch = o->arch,
                                 .device = o->device};
        FILE *out = fopen(lines, "w");
        if (!out || !freopen(errors, "w", stderr))
            _exit(3);
        alarm(SECONDS_EACH);
        setvbuf(out, NULL, _IOLBF, 0);
        int bad = random_run(&run, out);
        fclose(out);
        exit(bad ? 1 : 0);
    }
    int status = -1;
    if (child > 0)
        waitpid(child, &status, 0);
    return status;
}

/* A kernel that ran, with its architecture. */
static void take_words(struct all *a, const char *spec, const char *kernel, const char *arch)
{
    char words[4096];
    int number[RANDOM_WORDS], count = 0;
    random_words(spec, kernel, words, sizeof words);
    for (char *rest, *word = strtok_r(words, " ", &rest); word && count < RANDOM_WORDS;
         word = strtok_r(NULL, " ", &rest)) {
        int at = random_feature_number(word);
        if (at >= 0 && (random_feature_number(arch) < 0 || !random_apart(at, random_feature_number(arch))))
            number[count++] = at;
    }
    if (count && count < RANDOM_WORDS && random_feature_number(arch) >= 0)
        number[count++] = random_feature_number(arch);
    for (int i = 0; i < count; i++) {
        a->count[number[i]]++;
        for (int k = 0; k < count; k++)
            a->pair[number[i]][number[k]]++;
    }
}

/* Whether the words hold all of the list, "a+b". */
static bool has_all(const char *words, const char *list)
{
    char copy[256], padded[80];
    snprintf(copy, sizeof copy, "%s", list);
    for (char *rest, *word = strtok_r(copy, "+", &rest); word; word = strtok_r(NULL, "+", &rest)) {
        snprintf(padded, sizeof padded, " %s ", word);
        if (!strstr(words, padded))
            return false;
    }
    return true;
}

/* Whether the features in the spec's first lines are not wanted. */
static bool is_left_out(const struct options *o, const char *spec)
{
    char words[4096];
    bool out = false;
    random_words(spec, NULL, words, sizeof words);
    for (int i = 0; i < o->withouts && !out; i++)
        out = has_all(words, o->without[i]);
    return out || (o->only && !has_all(words, o->only));
}

static void copy_file(const char *from, const char *folder, const char *name)
{
    char path[512];
    FILE *in = fopen(from, "r"), *out;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    out = fopen(path, "w");
    for (int ch; in && out && (ch = getc(in)) != EOF;)
        putc(ch, out);
    if (in)
        fclose(in);
    if (out)
        fclose(out);
}

/* A line that a program's process wrote: counts what it says. True: it is bad news, to be printed. */
static bool take_line(struct all *a, char *line, const char *path, const char *title)
{
    char kernel[64], arch[32];
    line[strcspn(line, "\n")] = '\0';
    if (a->log)
        fprintf(a->log, "%s\n", line);
    if (sscanf(line, "ran %63s %31s", kernel, arch) == 2)
        take_words(a, path, kernel, arch);
    else if (strncmp(line, "ring ", 5) == 0)
        printf("# %s: %s\n", title, line);
    else if (strncmp(line, "device ", 7) == 0 || strncmp(line, "worst ", 6) == 0)
        return false; /* for who reads the log */
    else if (strncmp(line, "hit ", 4) == 0)
        ++*tally_of(&a->tally, line + 4);
    else if (strncmp(line, "why ", 4) == 0)
        ++*tally_of(&a->refused, line + 4);
    else
        return true;
    return false;
}

static void one(struct all *a, const char *path, uint64_t seed, const char *title)
{
    char lines[320], errors[320], line[4096];
    snprintf(lines, sizeof lines, "%s/lines", a->scratch);
    snprintf(errors, sizeof errors, "%s/errors", a->scratch);
    int status = in_process(&a->o, path, seed, lines, errors), shown = 0;
    bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    a->programs++;
    a->failed += !good;
    if (!a->o.quiet)
        printf("%sok %d - %s\n", good ? "" : "not ", a->programs, title);
    else if (!good)
        printf("# %s failed:\n", title);
    if (WIFSIGNALED(status))
        printf("# ended by signal %d (%s)\n", WTERMSIG(status), WTERMSIG(status) == SIGALRM ? "time" : "crash");
    if (a->log)
        fprintf(a->log, "program %llu %d\n", (unsigned long long)seed, good);
    FILE *f = fopen(lines, "r");
    while (f && fgets(line, sizeof line, f))
        if (take_line(a, line, path, title) && !good && shown++ < 6)
            printf("# %s\n", line);
    if (f)
        fclose(f);
    if (a->log)
        fflush(a->log);
    f = good ? NULL : fopen(errors, "r");
    for (shown = 0; f && shown < 12 && fgets(line, sizeof line, f); shown++)
        printf("#   %s", line);
    if (f)
        fclose(f);
    if (!good && a->o.keep) {
        char name[64];
        snprintf(name, sizeof name, "random_%llu.lua", (unsigned long long)seed);
        copy_file(path, a->o.keep, name);
    }
    fflush(stdout);
}

static bool write_spec(const char *path, uint64_t seed, bool spec)
{
    FILE *f = fopen(path, "w");
    if (f)
        (spec ? random_gemm_write : random_spec_write)(seed, f);
    return f && fclose(f) == 0;
}

/* Counts what a log says in the place of running its programs. */
static void replay(struct all *a, const char *log, const char *path)
{
    char title[64] = "", line[4096];
    unsigned long long seed;
    int good;
    FILE *f = fopen(log, "r");
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "program %llu %d", &seed, &good) != 2) {
            if (take_line(a, line, path, title))
                printf("# %s\n", line);
            continue;
        }
        snprintf(title, sizeof title, "random program %llu", seed);
        a->programs++;
        a->failed += !good;
        if (!good)
            printf("# %s failed:\n", title);
        if (!write_spec(path, seed, a->o.specs))
            break;
    }
    if (f)
        fclose(f);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void print_tally(const char *title, const struct tally *t)
{
    char(*line)[224] = calloc((size_t)t->names + 1, sizeof *line);
    if (!line)
        return;
    for (int i = 0; i < t->names; i++)
        snprintf(line[i], sizeof line[0], "%s %d", t->name[i], t->count[i]);
    qsort(line, (size_t)t->names, sizeof *line, by_name);
    printf("# %s\n", title);
    for (int i = 0; i < t->names; i++)
        printf("#   %s\n", line[i]);
    free(line);
}

/* What no program had, of the closed lists. */
static void print_holes(struct all *a)
{
    static const char *const closed[] = {
#define PLAN_OP(id, name, doc) "step." name,
#include "plan/plan_ops.def"
#undef PLAN_OP
#define PLAN_PLACE(id, name, doc) "place." name,
#include "plan/plan_places.def"
#undef PLAN_PLACE
#define PROGRAM_OP(id, name, arguments, doc) "operation." name,
#include "program/program_ops.def"
#undef PROGRAM_OP
    };
    printf("# not hit:");
    for (size_t i = 0; i < sizeof closed / sizeof *closed; i++)
        if (closed[i][strlen(closed[i]) - 1] != '.' && *tally_of(&a->tally, closed[i]) == 0)
            printf(" %s", closed[i]);
    printf("\n");
}

static int hits(void *all, const char *name)
{
    const struct tally *t = &((struct all *)all)->tally;
    for (int i = 0; i < t->names; i++)
        if (strcmp(t->name[i], name) == 0)
            return t->count[i];
    return 0;
}

/* Features and their pairs: those that can meet, whether they did, and why others cannot. */
static void print_pairs(const struct all *a)
{
    static struct tally reasons;
    int possible = 0, met = 0, all = 0;
    printf("# features of kernels that ran:");
    for (int i = 0; i < random_feature_count; i++)
        printf(" %s %d", random_features[i].name, a->count[i]);
    printf("\n# pairs that never met:");
    for (int i = 0; i < random_feature_count; i++)
        for (int k = i + 1; k < random_feature_count; k++, all++) {
            const char *reason = random_apart(i, k);
            char text[200];
            bool group = false;
            for (int f = 0; reason && f < random_feature_count; f++)
                group = group || strcmp(random_features[f].group, reason) == 0;
            if (reason && strcmp(reason, "family") == 0)
                snprintf(text, sizeof text, "no family of programs has both, or a program has one family");
            else
                snprintf(text, sizeof text, "%s%s", group ? "a kernel has one: " : "", reason ? reason : "");
            possible += !reason;
            met += !reason && a->pair[i][k] > 0;
            if (reason)
                ++*tally_of(&reasons, text);
            else if (!a->pair[i][k] && a->programs >= 500)
                printf(" %s+%s", random_features[i].name, random_features[k].name);
        }
    printf("%s\n# pairs that cannot meet: %d of %d\n", a->programs >= 500 ? "" : " (listed from 500 programs on)",
           all - possible, all);
    for (int i = 0; i < reasons.names; i++)
        printf("#   %d: %s\n", reasons.count[i], reasons.name[i]);
    printf("# %d of %d pairs of features met\n", met, possible);
}

/* An option that stands alone. */
static bool take_flag(struct options *o, const char *word)
{
    if (strcmp(word, "--all") == 0)
        o->all = true;
    else if (strcmp(word, "--plan") == 0)
        o->plan = true;
    else if (strcmp(word, "--mean") == 0)
        o->plan = o->mean = true;
    else if (strcmp(word, "--compile") == 0)
        o->compile = true;
    else if (strcmp(word, "--both") == 0)
        o->compile = o->both = true;
    else if (strcmp(word, "--strict") == 0)
        o->strict = true;
    else if (strcmp(word, "--stop") == 0)
        o->stop = true;
    else if (strcmp(word, "--specs") == 0)
        o->specs = true;
    else if (strcmp(word, "--quiet") == 0)
        o->quiet = true;
    else
        return false;
    return true;
}

/* An option with a value. */
static bool take_value(struct options *o, const char *word, const char *value)
{
    if (strcmp(word, "--first") == 0)
        o->first = strtoull(value, NULL, 10);
    else if (strcmp(word, "--step") == 0 && atoi(value) > 0)
        o->step = strtoull(value, NULL, 10);
    else if (strcmp(word, "--device") == 0 && (strcmp(value, "emu") == 0 || strcmp(value, "cuda") == 0))
        o->device = value;
    else if (strcmp(word, "--count") == 0)
        o->count = atoi(value);
    else if (strcmp(word, "--seconds") == 0)
        o->seconds = atof(value);
    else if (strcmp(word, "--only") == 0)
        o->only = value;
    else if (strcmp(word, "--leave-out") == 0 && o->withouts < 16)
        o->without[o->withouts++] = value;
    else if (strcmp(word, "--keep") == 0)
        o->keep = value;
    else if (strcmp(word, "--arch") == 0)
        o->arch = value;
    else if (strcmp(word, "--log") == 0)
        o->log = value;
    else if (strcmp(word, "--replay") == 0)
        o->replay = value;
    else
        return false;
    return true;
}

/* Programs by their seeds. Returns how many were left out, or -1: a file could not be written. */
static int all_seeds(struct all *a, double start)
{
    char path[320], title[256];
    int left_out = 0;
    uint64_t seed = a->o.first;
    for (; a->programs < a->o.count && !(a->o.stop && a->failed); seed += a->o.step) {
        if (a->o.seconds > 0 && clock_now() - start > a->o.seconds)
            break;
        snprintf(path, sizeof path, "%s/random.lua", a->scratch);
        if (!write_spec(path, seed, a->o.specs))
            return -1;
        snprintf(title, sizeof title, "random program %llu", (unsigned long long)seed);
        if (is_left_out(&a->o, path)) {
            left_out++;
            continue;
        }
        one(a, path, seed, title);
    }
    return left_out;
}

static void remove_scratch(const struct all *a)
{
    char path[320];
    static const char *const left[] = {"random.lua", "lines", "errors"};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        snprintf(path, sizeof path, "%s/%s", a->scratch, left[i]);
        unlink(path);
    }
    rmdir(a->scratch);
}

static void print_all(struct all *a, int left_out)
{
    print_holes(a);
    random_tables_print(hits, a, a->programs);
    print_pairs(a);
    print_tally("what was hit", &a->tally);
    print_tally("refused", &a->refused);
    if (a->o.quiet)
        printf("%sok 1 - random programs\n", a->failed ? "not " : "");
    printf("# %d kernels lowered\n", *tally_of(&a->tally, "arch.sm_90a") + *tally_of(&a->tally, "arch.sm_80"));
    printf("# %d programs, %d failed, %d left out\n1..%d\n", a->programs, a->failed, left_out,
           a->o.quiet ? 1 : a->programs);
}

int main(int argc, char **argv)
{
    static struct all a = {.o = {.first = 1, .step = 1, .count = 100}};
    char path[320];
    double start = clock_now();
    int at = 1, left_out = 0;
    for (; at < argc && strncmp(argv[at], "--", 2) == 0; at++) {
        const char *word = argv[at], *value = at + 1 < argc ? argv[at + 1] : "";
        if (take_flag(&a.o, word))
            continue;
        at++;
        if (strcmp(word, "--print") == 0)
            return (a.o.specs ? random_gemm_write : random_spec_write)(strtoull(value, NULL, 10), stdout), 0;
        if (!take_value(&a.o, word, value))
            return fprintf(stderr, "random_programs: no option %s\n", word), 2;
    }
    if (a.o.keep)
        mkdir(a.o.keep, 0777);
    snprintf(a.scratch, sizeof a.scratch, "%s/tw_random_XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    if (!mkdtemp(a.scratch))
        return 3;
    if (a.o.log && !(a.log = fopen(a.o.log, "a")))
        return 3;
    snprintf(path, sizeof path, "%s/random.lua", a.scratch);
    if (a.o.replay)
        replay(&a, a.o.replay, path);
    for (int i = at; i < argc; i++)
        one(&a, argv[i], (uint64_t)i, argv[i]);
    if (at == argc && !a.o.replay && (left_out = all_seeds(&a, start)) < 0)
        return 3;
    remove_scratch(&a);
    print_all(&a, left_out);
    return a.failed ? 1 : 0;
}
