/* The search: at each size a brief look at what the model leaves, then at variations of the quickest, then the
 * finalists for as long as their mode asks. What the journal has is not measured again.
 *
 * Where the run may take so long alone, each kernel has an equal part of what is left, each phase a part of that, and
 * each size of a phase as much of what is left of it as those behind it: what a compile takes longer, measuring takes
 * less. Fewer set-ups are compiled where there are more than half of a phase would go into. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/parallel.h"
#include "tune/journal.h"
#include "tune/rows.h"
#include "tune/tune.h"

enum {
    VARIED = 3,
    FINALISTS = 4,
    ROUNDS = 2,
    FEWEST = 4,
    MOST_VARIED = 512
}; /* of the quickest: how many are varied, how many are measured
             for long; how often they are varied; set-ups of a size at least,
             and variations at most */

/* Where the looks, each round of variations and the finals end, of the time that a kernel has; of a run's what is left
 * to a new process, which measures again. */
static const double looks_end = 0.3, variations_end[ROUNDS] = {0.5, 0.65}, again_part = 0.15;
/* A variant of a plain product, on a processor: until there is a compile of this run to go by. */
static const double nvrtc_seconds = 0.35;

struct search {
    const struct tune_options *options;
    const struct tune_clock *clock;
    struct arena arena;
    struct journal journal;
    struct tune_rows rows;
    double started, mark; /* mark: when the kernel before ended, by compile_clock */
    double begun, end;    /* of the kernel at hand; end: INFINITY where there is no limit */
    double unit_seconds;  /* that a compile takes by each of its set-ups */
    double spent[TUNE_PARTS];
    int left_out;           /* sizes that time did not allow */
    int64_t measured, kept; /* times that were measured, and taken from the journal */
};

/* What is measured at one of the sizes. */
struct phase {
    const char *name; /* in the journal: "look", "vary", "burst", "sustained" */
    bool burst, brief;
};

double tune_now(const struct tune_clock *clock)
{
    return clock->now ? clock->now(clock->context) : compile_clock();
}

static bool is_late(const struct search *s)
{
    return tune_now(s->clock) >= s->end;
}

/* Of the kernel's time, when the part of it is over. */
static double end_of(const struct search *s, double part)
{
    return isinf(s->end) ? s->end : s->begun + part * (s->end - s->begun);
}

/* What one of so many sizes has until then; 0: there is no limit. */
static double seconds_of(const struct search *s, double end, int sizes)
{
    return isinf(end) ? 0.0 : fmax((end - tune_now(s->clock)) / sizes, 1e-6);
}

/* How many set-ups of each size may be compiled until then. */
static int most_of(const struct search *s, double end, int sizes, int most)
{
    if (isinf(end) || s->unit_seconds <= 0)
        return most;
    const double each = 0.5 * (end - tune_now(s->clock)) / s->unit_seconds / sizes;
    return each >= most ? most : each <= FEWEST ? FEWEST : (int)each;
}

/* The kernel's part of what is left. */
static void begin_kernel(struct search *s, const struct tune_kernel *k)
{
    const double again = s->options->dry ? 0.0 : again_part, whole = (double)s->options->seconds;
    s->begun = tune_now(s->clock);
    const double left = s->started + (1.0 - again) * whole - s->begun;
    s->end = whole > 0 ? s->begun + fmax(left, 0.0) / k->left : INFINITY;
    if (s->unit_seconds <= 0 && !s->clock->no_code)
        s->unit_seconds = nvrtc_seconds / parallel_cores();
}

void tune_print_spent(double began, const double *spent)
{
    static const char *const words[TUNE_PARTS] = {
#define TUNE_PART(name, words) words,
        TUNE_PARTS_DO(TUNE_PART)
#undef TUNE_PART
    };
    printf("took %.1f s", compile_clock() - began);
    for (int i = 0; i < TUNE_PARTS; i++)
        printf("%s %s %.1f", i ? "," : ":", words[i], spent[i]);
    putchar('\n');
}

static void spend(struct search *s, enum tune_part part, double since)
{
    s->spent[part] += compile_clock() - since;
}

/* Compiles what is wanted of the set. Exit status. */
static int compile_set(struct search *s, struct tune_set *set)
{
    const double since = compile_clock(), began = tune_now(s->clock);
    int count = 0;
    const int status = tune_set_compile(set, s->clock);
    for (int i = 0; i < set->compile.unit_count; i++)
        count += set->compile.unit[i].wanted;
    if (count && !s->clock->no_code) /* what the cache has takes nothing, and says nothing of the others */
        s->unit_seconds = fmax((tune_now(s->clock) - began) / count, 0.5 * nvrtc_seconds / parallel_cores());
    spend(s, TUNE_COMPILE, since);
    return status;
}

static const char *sizes_text(const struct tune_kernel *k, const int64_t *symbol, char *text, size_t size)
{
    sizes_print(&k->set.compile.unit[k->set.candidate[0].unit], symbol, text, size);
    return text;
}

/* ---- times ----------------------------------------------------------------------------------------------------------
 */

/* What a candidate of set takes at sizes: "sustained<tab>gemm<tab>sm_90a<tab>NVIDIA H200<tab>M=1<tab>tile = ..." */
static const char *key_of(struct search *s, const struct tune_kernel *k, const struct phase *phase, const char *sizes,
                          const char *use)
{
    return arena_format(&s->arena, "%s\t%s\t%s\t%s\t%s\t%s", phase->name, k->kernel->name, k->arch->name, s->clock->gpu,
                        sizes, use);
}

/* A candidate and its time. */
struct timed {
    int candidate; /* of the set */
    double ns;
};

/* Measures those of `timed` that the journal has not. seconds: see struct tune_job. Exit status. */
static int measure(struct search *s, struct tune_kernel *k, struct tune_set *set, const struct phase *phase,
                   double seconds, const int64_t *symbol, struct timed *timed, int count)
{
    struct tw_error error;
    char sizes[256];
    const size_t room = (size_t)count + 1;
    int *unit = arena_alloc(&s->arena, sizeof *unit * room), *of = arena_alloc(&s->arena, sizeof *of * room), more = 0;
    const char **key = arena_alloc(&s->arena, sizeof *key * room);
    double *ns = arena_alloc(&s->arena, sizeof *ns * room);
    if (!unit || !of || !key || !ns)
        return 3;
    sizes_text(k, symbol, sizes, sizeof sizes);
    for (int i = 0; i < count; i++) {
        const struct tune_candidate *c = &set->candidate[timed[i].candidate];
        if (!(key[i] = key_of(s, k, phase, sizes, c->use)))
            return 3;
        const struct journal_entry *known = journal_find(&s->journal, key[i]);
        timed[i].ns = known ? known->ns : 0.0;
        s->kept += known != NULL;
        if (known)
            continue;
        unit[more] = c->unit;
        of[more++] = i;
    }
    progress_show("%s %s: %s, %d set-ups", k->kernel->name, sizes, phase->name, count);
    const struct tune_job job = {&set->compile, unit, more, symbol, phase->burst, phase->brief, seconds, s->spent};
    int status = more ? s->clock->measure(s->clock->context, &job, ns, &error) : TW_OK;
    progress_clear();
    for (int i = 0; i < more && status == TW_OK; i++) {
        timed[of[i]].ns = ns[i];
        if (ns[i] < 0) /* there was no time for it */
            continue;
        s->measured++;
        status = journal_add(&s->journal, key[of[i]], ns[i], &error);
    }
    journal_sync(&s->journal);
    return status == TW_OK ? 0 : compile_fail(&set->compile, status, &error);
}

/* Quickest first; those that cannot be launched last, and they are cut off. Returns how many are left. */
static int sort(struct timed *timed, int count)
{
    for (int i = 1; i < count; i++)
        for (int n = i; n > 0; n--) {
            const struct timed a = timed[n - 1], b = timed[n];
            if (b.ns <= 0 || (a.ns > 0 && a.ns <= b.ns))
                break;
            timed[n - 1] = b;
            timed[n] = a;
        }
    while (count > 0 && timed[count - 1].ns <= 0)
        count--;
    return count;
}

/* ---- one kernel
 * ------------------------------------------------------------------------------------------------------ */

/* One of the sizes, from phase to phase. */
struct at_sizes {
    const int64_t *symbol;
    struct timed *look;
    int looks;
    const char *best[FINALISTS]; /* texts of the quickest so far */
    int bests;
    struct {
        const char *use; /* text: one of the quickest, the kernel's own, a variation of one */
        bool memory;     /* see struct tune_field */
    } varied[MOST_VARIED];
    int variations;
    struct timed *vary;
    int varies;
};

/* The texts of the quickest, which outlive the set. */
static int keep_best(struct search *s, struct at_sizes *at, const struct tune_set *set, const struct timed *timed,
                     int count)
{
    at->bests = 0;
    for (int n = 0; n < count && n < FINALISTS; n++)
        if (!(at->best[at->bests++] = arena_text(&s->arena, set->candidate[timed[n].candidate].use)))
            return 3;
    return 0;
}

/* The model's choice at all sizes, compiled at once. */
static int look(struct search *s, struct tune_kernel *k, struct at_sizes *at)
{
    static const struct phase phase = {"look", true, true};
    struct tune_rank *rank = arena_alloc(&s->arena, sizeof *rank * ((size_t)k->set.count + 1));
    const double end = end_of(s, looks_end);
    const int most = most_of(s, end, k->sizes.count, TUNE_MEASURED);
    int status = rank ? 0 : 3;
    for (int i = 0; i < k->sizes.count && !status; i++) {
        int all;
        at[i].symbol = k->sizes.value + (size_t)i * (size_t)k->sizes.width;
        at[i].looks = tune_rank(&k->set, at[i].symbol, &k->device, most, rank, &all);
        at[i].look = arena_alloc(&s->arena, sizeof *at[i].look * ((size_t)at[i].looks + 1));
        status = at[i].look ? 0 : 3;
        for (int n = 0; n < at[i].looks && !status; n++) {
            at[i].look[n] = (struct timed){rank[n].candidate, 0.0};
            tune_want(&k->set, rank[n].candidate);
        }
    }
    if (!status)
        status = compile_set(s, &k->set);
    for (int i = 0; i < k->sizes.count && !status && !is_late(s); i++) {
        int left = 0;
        for (int n = 0; n < at[i].looks; n++)
            if (k->set.candidate[at[i].look[n].candidate].unit >= 0)
                at[i].look[left++] = at[i].look[n];
        const double seconds = seconds_of(s, end, k->sizes.count - i);
        status = measure(s, k, &k->set, &phase, seconds, at[i].symbol, at[i].look, left);
        at[i].looks = sort(at[i].look, left);
        status = status ? status : keep_best(s, &at[i], &k->set, at[i].look, at[i].looks);
    }
    return status;
}

static bool add_variation(struct at_sizes *at, const char *use, bool memory)
{
    if (!use)
        return false;
    for (int i = 0; i < at->variations; i++)
        if (strcmp(at->varied[i].use, use) == 0)
            return true;
    if (at->variations < MOST_VARIED) {
        at->varied[at->variations].use = use;
        at->varied[at->variations++].memory = memory;
    }
    return true;
}

/* The quickest and the kernel's own; where there is time for them, of the quickest those that differ in one field. */
static int vary_texts(struct search *s, struct tune_kernel *k, struct at_sizes *at, bool late)
{
    const struct tune_fields *both[2] = {&k->alone, &k->together};
    at->variations = 0;
    bool fine = add_variation(at, "", false);
    for (int n = 0; n < at->bests && fine; n++)
        fine = add_variation(at, at->best[n], false);
    for (int n = 0; n < at->bests && n < VARIED && !late; n++)
        for (int b = 0; b < 2; b++)
            for (int i = 0; i < both[b]->count; i++) {
                const struct tune_field *f = &both[b]->field[i];
                for (int v = 0; v < f->count && fine; v++)
                    fine = add_variation(at, tune_with(at->best[n], f->path, f->value[v], &s->arena), f->memory);
            }
    return fine ? 0 : 3;
}

/* All variations of all sizes as a set, "" first. */
static int open_variations(struct search *s, struct tune_kernel *k, struct at_sizes *at, struct tune_set *set)
{
    const char **use = arena_alloc(&s->arena, sizeof *use * (size_t)(MOST_VARIED * k->sizes.count + 1));
    int count = 0;
    if (!use)
        return 3;
    use[count++] = "";
    for (int i = 0; i < k->sizes.count; i++)
        for (int n = 0; n < at[i].variations; n++) {
            bool known = false;
            for (int m = 0; m < count && !known; m++)
                known = strcmp(use[m], at[i].varied[n].use) == 0;
            if (!known)
                use[count++] = at[i].varied[n].use;
        }
    return tune_set_open(set, s->options, k->kernel, k->arch, use, count, &s->arena);
}

static int find_use(const struct tune_set *set, const char *use)
{
    for (int i = 0; i < set->count; i++)
        if (strcmp(set->candidate[i].use, use) == 0 || strcmp(set->candidate[i].text, use) == 0)
            return i;
    return -1;
}

/* The candidates of the set that are this size's variations, each once, and at most so many: variations of the quicker
 * ones come first. */
static int wanted_variations(struct search *s, const struct tune_kernel *k, struct at_sizes *at, struct tune_set *set,
                             int most)
{
    const double slower = 1.6; /* than the best of the variations, by the model */
    double least = 0.0;
    at->varies = 0;
    at->vary = arena_alloc(&s->arena, sizeof *at->vary * ((size_t)at->variations + 1));
    if (!at->vary)
        return 3;
    for (int n = 0; n < at->variations; n++) {
        const int found = find_use(set, at->varied[n].use);
        bool known = found < 0 || set->candidate[found].unit < 0;
        for (int m = 0; m < at->varies && !known; m++)
            known = set->candidate[at->vary[m].candidate].unit == set->candidate[found].unit;
        if (known)
            continue;
        const struct plan *plan = &set->compile.unit[set->candidate[found].unit].plan;
        const struct model_time time = model_time(plan, at->symbol, &k->device);
        const double us = time.us;
        if (at->varied[n].memory && (time.limit == MODEL_TENSOR || time.limit == MODEL_SHARED))
            continue;
        least = us > 0 && (least <= 0 || us < least) ? us : least;
        at->vary[at->varies++] = (struct timed){found, us};
    }
    int left = 0;
    for (int n = 0; n < at->varies; n++)
        if (!*set->candidate[at->vary[n].candidate].use || at->vary[n].ns <= slower * least)
            at->vary[left++] = at->vary[n];
    at->varies = left < most ? left : most;
    return 0;
}

static int vary(struct search *s, struct tune_kernel *k, struct at_sizes *at, struct tune_set *set, double end)
{
    static const struct phase phase = {"look", true, true};
    const int most = most_of(s, end, k->sizes.count, MOST_VARIED);
    int status = 0;
    for (int i = 0; i < k->sizes.count && !status; i++) {
        status = wanted_variations(s, k, &at[i], set, most);
        for (int n = 0; n < at[i].varies; n++)
            tune_want(set, at[i].vary[n].candidate);
    }
    if (!status)
        status = compile_set(s, set);
    for (int i = 0; i < k->sizes.count && !status; i++) {
        int left = 0;
        for (int n = 0; n < at[i].varies && !is_late(s); n++)
            if (set->candidate[at[i].vary[n].candidate].unit >= 0)
                at[i].vary[left++] = at[i].vary[n];
        const double seconds = seconds_of(s, end, k->sizes.count - i);
        status = measure(s, k, set, &phase, seconds, at[i].symbol, at[i].vary, left);
        at[i].varies = sort(at[i].vary, left);
        status = status ? status : keep_best(s, &at[i], set, at[i].vary, at[i].varies);
    }
    return status;
}

/* The finalists in the mode that is asked for: the quickest is a row. The kernel's own set-up wins where it is as good
 * as that. */
static int final(struct search *s, struct tune_kernel *k, struct at_sizes *at, struct tune_set *set, double seconds)
{
    const double as_good = 1.005;
    const struct phase phase = {s->options->burst ? "burst" : "sustained", s->options->burst, false};
    struct timed last[FINALISTS + 1];
    int count = 0, own = find_use(set, "");
    for (int n = 0; n < at->varies && count < FINALISTS; n++)
        last[count++] = at->vary[n];
    for (int n = 0; n < count; n++)
        own = last[n].candidate == own ? -1 : own;
    if (own >= 0 && set->candidate[own].unit >= 0)
        last[count++] = (struct timed){own, 0.0};
    int status = measure(s, k, set, &phase, seconds, at->symbol, last, count);
    count = status ? 0 : sort(last, count);
    char sizes[256];
    sizes_text(k, at->symbol, sizes, sizeof sizes);
    if (!count && !status)
        compile_say(k->compile, DIAG_NOTE, "no set-up takes %s %s, which the kernel's other variants are for",
                    k->kernel->name, sizes);
    if (!count)
        return status;
    int best = 0;
    for (int n = 1; n < count; n++)
        if (!*set->candidate[last[n].candidate].use && last[n].ns <= as_good * last[0].ns)
            best = n;
    const struct spec *spec = &k->compile->spec;
    struct tune_row row = {.kernel = (int)(k->kernel - spec->kernel)};
    row.tuned = (struct spec_tuned){.gpu = s->clock->gpu,
                                    .arch = k->arch->name,
                                    .value = arena_alloc(&s->arena, sizeof(int64_t) * ((size_t)spec->dim_count + 1)),
                                    .burst = s->options->burst,
                                    .use = set->candidate[last[best].candidate].use,
                                    .setup = -1,
                                    .exact = -1,
                                    .us = last[best].ns / 1e3};
    if (!row.tuned.value)
        return 3;
    memcpy(row.tuned.value, at->symbol, sizeof(int64_t) * (size_t)spec->dim_count);
    printf("tuned %s %s %s: %.2f us, %s\n", k->kernel->name, k->arch->name, sizes, row.tuned.us,
           *row.tuned.use ? row.tuned.use : "the spec's own");
    fflush(stdout);
    return tune_rows_put(spec, &s->rows, row, &s->arena);
}

static void leave(struct search *s, const struct tune_set *set)
{
    if (s->clock->leave)
        s->clock->leave(s->clock->context, &set->compile);
}

/* Rounds of variations, as many as there is time for; *set is that of the last one. The first one is made in any case,
 * as finals are of its set. */
static int vary_rounds(struct search *s, struct tune_kernel *k, struct at_sizes *at, struct tune_set *set)
{
    int status = 0;
    for (int round = 0; round < ROUNDS && !status; round++) {
        const double end = end_of(s, variations_end[round]), since = compile_clock();
        const bool late = tune_now(s->clock) >= end;
        if (late && round)
            break;
        leave(s, set);
        tune_set_close(set);
        for (int i = 0; i < k->sizes.count && !status; i++)
            status = vary_texts(s, k, &at[i], late);
        if (!status)
            status = open_variations(s, k, at, set);
        spend(s, TUNE_READ, since);
        if (!status)
            status = vary(s, k, at, set, end);
    }
    return status;
}

static int tune_one(void *context, struct tune_kernel *k)
{
    struct search *s = context;
    struct tune_set set = {.open = false};
    struct at_sizes *at = arena_alloc(&s->arena, sizeof *at * ((size_t)k->sizes.count + 1));
    spend(s, TUNE_READ, s->mark);
    begin_kernel(s, k);
    int status = at ? look(s, k, at) : 3;
    leave(s, &k->set);
    if (!status)
        status = vary_rounds(s, k, at, &set);
    for (int i = 0; i < k->sizes.count && !status; i++) {
        if (is_late(s) || !at[i].varies)
            s->left_out++;
        else
            status = final(s, k, &at[i], &set, seconds_of(s, s->end, k->sizes.count - i));
    }
    leave(s, &set);
    tune_set_close(&set);
    s->mark = compile_clock();
    return status;
}

/* ---- all of it ------------------------------------------------------------------------------------------------------
 */

/* What the spec's text is: journals of another one do not hold. */
static uint64_t fingerprint(struct tw_runtime *rt, const struct spec *spec)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (int i = 0; i < spec->dependency_count; i++) {
        unsigned char *bytes;
        size_t count;
        struct tw_error ignored;
        const char *name = spec->dependency[i];
        const size_t length = strlen(name);
        if (length > 10 && strcmp(name + length - 10, ".tuned.lua") == 0)
            continue;
        if (tw_read_file(rt, name, 0, &bytes, &count, &ignored) != TW_OK)
            continue;
        for (size_t n = 0; n < count; n++)
            hash = (hash ^ bytes[n]) * UINT64_C(1099511628211);
        tw_free(rt, bytes);
    }
    return hash;
}

int tune_run(const struct tune_options *o, const struct tune_clock *clock)
{
    struct search s = {.options = o, .clock = clock, .started = tune_now(clock), .journal.file = -1};
    struct compile c;
    struct tw_error error;
    const double began = s.mark = compile_clock();
    int status = compile_open(&c, "tune", o->spec);
    compile_report(&c);
    char *path = spec_tuned_path(&s.arena, o->spec),
         *journal = path ? arena_format(&s.arena, o->dry ? "%s.dry" : "%s.journal", path) : NULL;
    if (status == 0 && !journal)
        status = 3;
    if (status == 0) {
        const int opened = journal_open(&s.journal, &c.rt, journal, fingerprint(&c.rt, &c.spec), o->resume, &error);
        status = opened == TW_OK ? tune_rows_of(&c.spec, &s.rows, &s.arena) : compile_fail(&c, opened, &error);
    }
    if (status == 0)
        status = tune_each(o, tune_one, &s);
    if (status == 0 && !o->dry)
        status = tune_rows_write(&c, &s.rows, &s.arena);
    if (status == 0 && !o->dry)
        printf("%s: %d rows; %lld times measured, %lld from the journal\n", path, s.rows.count, (long long)s.measured,
               (long long)s.kept);
    if (status == 0)
        tune_print_spent(began, s.spent);
    if (status == 0 && s.left_out)
        compile_say(&c, DIAG_WARNING, "%d sizes were not tuned within --time; --resume goes on where this ended",
                    s.left_out);
    journal_close(&s.journal, status == 0 && !s.left_out);
    compile_close(&c);
    arena_free(&s.arena);
    return status;
}
