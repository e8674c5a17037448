/* Edits of the bodies of building blocks, scored by who sees them: the static side, which reads the text that is
 * emitted; the compiler; the emulator, under `strict` and in three completion modes, by a hazard, a deadlock or a wrong
 * result. What nobody sees must be without meaning: the compiler makes the same instructions of it, or, of two
 * statements that only compute, the same ones in another order; nothing comes by at these sizes (a trap in its place is
 * not met); or block_edits.list says what it is, gaps of the emulator among them.
 *
 *     test_blocks [EDITS [SEED [SUBJECT [FILE.json]]]], from the top of the tree
 *
 * With arguments, of which SUBJECT is a part of a kernel's name ("": all), each edit is printed, and a table.
 */
#include "unit/check.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "block_edits.h"
#include "result_file.h"

#include "emit/embed.h"
#include "unit/rounds.h"

enum { EDITS = TW_TESTS_SANITIZED ? 4 : 10, MOST_EDITS = 4096 };

/* GEMM by wgmma with a cluster and by mma.sync, attention, a row program with a ring and one without. The first sizes
 * wrap every ring and are ragged; the second have loops of one turn, where a stage is refilled after nothing but its
 * own release. */
static const struct bench_subject subjects[] = {
    {.spec = "tests/programs/pipeline_gemm.lua",
     .kernel = "gemm_program",
     .stages = 2,
     .single = 1,
     .sms = 2,
     .set = {{{136, 200, 232}, 7}, {{136, 200, 24}, 2}}},
    {.spec = "tests/programs/pipeline_gemm.lua",
     .kernel = "gemm_program_epilogue",
     .arch = "sm_80",
     .sms = 1,
     .set = {{{136, 200, 440}, 7}, {{136, 200, 40}, 2}}},
    {.spec = "tests/programs/pipeline_attention.lua",
     .kernel = "attention_full_ahead",
     .stages = 3,
     .single = 1,
     .sms = 1,
     .set = {{{1, 2, 140, 330}, 7}, {{1, 2, 140, 64}, 2}}},
    {.spec = "specs/rms_norm.lua",
     .kernel = "rms_norm_ring",
     .user_folder = "specs",
     .sms = 1,
     .set = {{{3, 3080}, 7}, {{3, 520}, 2}}},
    {.spec = "specs/rows.lua", .kernel = "softmax", .sms = 1, .set = {{{5, 9000}, 7}, {{5, 1000}, 2}}},
};
enum { SUBJECTS = sizeof subjects / sizeof *subjects, MOST_BLOCKS = 64 };

/* A kernel, its blocks and what they make of it as they are. */
struct subject {
    struct bench bench;
    const char *block[MOST_BLOCKS]; /* names of those that its text is made of */
    int block_count;
    char *text;
    char *ptx;
    size_t length, ptx_length;
};
static struct subject opened[SUBJECTS];

#define SCORES(X)                                                                                                      \
    X(REFUSED, "refused")                                                                                              \
    X(NO_TEXT, "no code")                                                                                              \
    X(HAZARD, "hazard")                                                                                                \
    X(STUCK, "stuck")                                                                                                  \
    X(WRONG, "wrong")                                                                                                  \
    X(SAME, "same code")                                                                                               \
    X(ORDER, "reordered")                                                                                              \
    X(UNMET, "not met")                                                                                                \
    X(LISTED, "explained")                                                                                             \
    X(UNSEEN, "unseen")
enum score {
#define X(id, name) SCORE_##id,
    SCORES(X)
#undef X
        SCORE_COUNT
};
static const char *const score_name[] = {
#define X(id, name) name,
    SCORES(X)
#undef X
};

/* What became of one edit. */
struct outcome {
    enum score score;
    struct block_edit edit;
    const char *kernel, *block;
    char what[1000], told[400], hazard[32], reason[200];
};

/* ---- one text ---------------------------------------------------------------------------------------------------- */

static char edited[BLOCK_MOST_TEXT];

enum emitted { EMITTED, EMITTED_REFUSED, EMITTED_NO_EDIT };

/* The kernel's text with this text of a block. What the static side says of its operations refuses it; other faults
 * are those of the edit itself, which is none then (a hole that is no number). */
static enum emitted emit_with(struct subject *s, const char *block, size_t length, char **text, size_t *text_length,
                              struct outcome *o)
{
    static const char *const rules[] = {"TEMPLATE-OP", "TEMPLATE-ORDER", "TEMPLATE-GUARD"};
    const struct emit_source source = {.name = block, .text = edited, .length = length};
    struct diag_set diags = {0};
    enum emitted result = EMITTED;
    if (bench_emit(&s->bench, &s->bench.unit.plan, &source, text, text_length, &diags)) {
        result = EMITTED_NO_EDIT;
        for (size_t i = 0; diags.count && i < sizeof rules / sizeof *rules; i++)
            if (strcmp(diags.item[0].rule, rules[i]) == 0)
                result = EMITTED_REFUSED;
        snprintf(o->told, sizeof o->told, "%s", diags.count ? diags.item[0].text : "");
        snprintf(o->hazard, sizeof o->hazard, "%s", diags.count ? diags.item[0].rule : "");
    }
    diag_free(&diags);
    return result;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Lines of PTX, sorted, without the numbers of registers and labels; *copy holds them. Their number. */
static int sorted_lines(const char *ptx, size_t bytes, char **copy, char ***line)
{
    int count = 0;
    char *out = *copy = malloc(bytes + 1);
    *line = malloc((bytes + 1) * sizeof **line);
    assert_true(*copy && *line);
    for (size_t i = 0; i < bytes; i++) {
        if (i == 0 || ptx[i - 1] == '\n')
            (*line)[count++] = out;
        bool numbered = ptx[i] == '%' || ptx[i] == '$';
        *out++ = ptx[i] == '\n' ? 0 : ptx[i];
        while (numbered && i + 1 < bytes && (isalnum((unsigned char)ptx[i + 1]) || ptx[i + 1] == '_'))
            i++;
    }
    *out = 0;
    qsort(*line, (size_t)count, sizeof **line, by_text);
    return count;
}

/* Whether both are the same instructions, in whatever order. */
static bool is_reordered(const struct subject *s, const struct tw_compiled *compiled)
{
    char *copy[2], **line[2];
    int count[2] = {sorted_lines(s->ptx, s->ptx_length, &copy[0], &line[0]),
                    sorted_lines(compiled->ptx, compiled->ptx_bytes, &copy[1], &line[1])};
    bool same = count[0] == count[1];
    for (int i = 0; same && i < count[0]; i++)
        same = strcmp(line[0][i], line[1][i]) == 0;
    for (int i = 0; i < 2; i++) {
        free(copy[i]);
        free(line[i]);
    }
    return same;
}

/* What is known of an edit that nobody sees: the first row of the list that speaks of it, or what its kind says. BLOCK
 * (*: any) | PART OF WHAT WAS DONE | REASON. */
static bool is_explained(struct outcome *o)
{
    FILE *list = fopen("tests/emu/damage/block_edits.list", "r");
    char line[400], block[80], part[200], reason[200];
    bool found = false;
    assert_non_null(list);
    while (!found && fgets(line, sizeof line, list))
        if (line[0] != '#' && sscanf(line, "%79[^|]| %199[^|]| %199[^\n]", block, part, reason) == 3) {
            block[strcspn(block, " ")] = 0;
            for (size_t n = strlen(part); n > 0 && part[n - 1] == ' '; n--)
                part[n - 1] = 0;
            found = (block[0] == '*' || strcmp(block, o->block + strlen("blocks/")) == 0) && strstr(o->what, part);
            snprintf(o->reason, sizeof o->reason, "%s", found ? reason : "");
        }
    fclose(list);
    if (!found && o->edit.harmless)
        snprintf(o->reason, sizeof o->reason, "%s", o->edit.harmless);
    return found || o->edit.harmless;
}

/* Whether a trap where the edit is is met. Where one cannot stand, it counts as met. */
static bool is_met(struct subject *s, const struct emit_embedded *block, const struct outcome *o)
{
    struct outcome unused = {0};
    struct tw_compiled compiled = {0};
    struct bench_seen seen = {.verdict = BENCH_NO_TEXT};
    char *text = NULL;
    size_t length = block_edit_trap(block->begin, &o->edit, edited), text_length = 0;
    if (length > 0 && emit_with(s, block->name, length, &text, &text_length, &unused) == EMITTED &&
        bench_compile(&s->bench, text, text_length, &compiled, &seen))
        bench_run(&s->bench, &s->bench.unit.plan, &compiled, &seen);
    tw_compiled_free(&s->bench.c.rt, &compiled);
    free(text);
    return seen.verdict != BENCH_CLEAN;
}

/* Scores a text that was emitted. */
static void score_text(struct subject *s, const struct emit_embedded *block, const char *text, size_t length,
                       struct outcome *o)
{
    struct tw_compiled compiled = {0};
    struct bench_seen seen = {.verdict = BENCH_NO_TEXT};
    static const enum score score[] = {[BENCH_HAZARD] = SCORE_HAZARD,
                                       [BENCH_WRONG] = SCORE_WRONG,
                                       [BENCH_STUCK] = SCORE_STUCK,
                                       [BENCH_NO_TEXT] = SCORE_NO_TEXT};
    bool same = false;
    if (bench_compile(&s->bench, text, length, &compiled, &seen)) {
        same = compiled.ptx_bytes == s->ptx_length && memcmp(compiled.ptx, s->ptx, s->ptx_length) == 0;
        if (same)
            seen.verdict = BENCH_CLEAN;
        else
            bench_run(&s->bench, &s->bench.unit.plan, &compiled, &seen);
    }
    snprintf(o->told, sizeof o->told, "%s", seen.text);
    snprintf(o->hazard, sizeof o->hazard, "%s", seen.hazard);
    if (seen.verdict != BENCH_CLEAN)
        o->score = score[seen.verdict];
    else if (same)
        o->score = SCORE_SAME;
    else if (o->edit.plain && is_reordered(s, &compiled))
        o->score = SCORE_ORDER;
    else if (!is_met(s, block, o))
        o->score = SCORE_UNMET;
    else
        o->score = is_explained(o) ? SCORE_LISTED : SCORE_UNSEEN;
    tw_compiled_free(&s->bench.c.rt, &compiled);
}

/* Makes the edit and scores it. False: it is none, as the kernel's text has no place for it. */
static bool score_edit(struct subject *s, const struct emit_embedded *block, struct outcome *o)
{
    struct outcome unused = {0};
    char *text = NULL, *before = NULL;
    size_t length = 0, before_length = 0, n = (size_t)(block->end - block->begin);
    /* A text that is not the program's own is written out a little differently. */
    memcpy(edited, block->begin, n + 1);
    assert_int_equal(emit_with(s, block->name, n, &before, &before_length, &unused), EMITTED);
    n = block_edit_make(block->begin, &o->edit, edited);
    enum emitted e = n ? emit_with(s, block->name, n, &text, &length, o) : EMITTED_NO_EDIT;
    if (e == EMITTED && length == before_length && memcmp(text, before, length) == 0)
        e = EMITTED_NO_EDIT;
    if (e == EMITTED)
        score_text(s, block, text, length, o);
    else
        o->score = SCORE_REFUSED;
    free(text);
    free(before);
    return e != EMITTED_NO_EDIT;
}

/* ---- subjects ---------------------------------------------------------------------------------------------------- */

static const struct emit_embedded *block_named(const char *name)
{
    int row = emit_find_row(name);
    assert_true(row >= 0);
    return &emit_embedded[row];
}

static bool may_be_edited(const struct emit_embedded *e)
{
    /* steps.cuh prints the steps themselves, whose damage is test_damage.c's. */
    return strncmp(e->name, "blocks/", 7) == 0 && strcmp(e->name, "blocks/steps.cuh") != 0 &&
           e->end - e->begin < BLOCK_MOST_TEXT / 2;
}

/* Opens the subject: it must be clean as it is, and its blocks are those that it cannot be emitted without. */
static struct subject *open_subject(int which)
{
    struct subject *s = &opened[which];
    struct tw_compiled compiled = {0};
    struct bench_seen seen = {0};
    struct diag_set diags = {0};
    if (s->bench.subject)
        return s;
    bench_open(&s->bench, &subjects[which], EMU_HAZARDS_STRICT);
    const struct plan *plan = &s->bench.unit.plan;
    if (bench_emit(&s->bench, plan, NULL, &s->text, &s->length, &diags))
        fail_msg("%s: %s", plan->entry, diags.item[0].text);
    if (!bench_compile(&s->bench, s->text, s->length, &compiled, &seen))
        fail_msg("%s: %s", plan->entry, seen.text);
    bench_run(&s->bench, plan, &compiled, &seen);
    if (seen.verdict != BENCH_CLEAN)
        fail_msg("%s as it is: %s: %s", plan->entry, bench_verdict_name[seen.verdict], seen.text);
    s->ptx_length = compiled.ptx_bytes;
    s->ptx = malloc(s->ptx_length);
    assert_non_null(s->ptx);
    memcpy(s->ptx, compiled.ptx, s->ptx_length);
    tw_compiled_free(&s->bench.c.rt, &compiled);
    for (const struct emit_embedded *e = emit_embedded; e->name; e++) {
        static const char broken[] = "//@ include \"nothing\"\n";
        const struct emit_source source = {.name = e->name, .text = broken, .length = sizeof broken - 1};
        char *text = NULL;
        size_t length = 0;
        if (may_be_edited(e) && s->block_count < MOST_BLOCKS &&
            bench_emit(&s->bench, plan, &source, &text, &length, &diags))
            s->block[s->block_count++] = e->name;
        free(text);
    }
    diag_free(&diags);
    return s;
}

static int close_all(void **state)
{
    (void)state;
    for (int i = 0; i < SUBJECTS; i++) {
        bench_close(&opened[i].bench);
        free(opened[i].text);
        free(opened[i].ptx);
    }
    return 0;
}

/* ---- many edits -------------------------------------------------------------------------------------------------- */

struct draw {
    uint64_t *seed;
    int places;
    const char *block; /* that is read */
    struct block_edit edit;
    const char *edit_block;
};

static int drawn(uint64_t *seed, int below)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (int)((*seed >> 33) % (uint64_t)below);
}

/* Each place is kept in the place of those before it with the same chance. */
static void keep_one(void *context, const struct block_edit *e)
{
    struct draw *d = context;
    if (drawn(d->seed, ++d->places) == 0) {
        d->edit = *e;
        d->edit_block = d->block;
    }
}

struct round {
    const char *subject; /* a part of its name, "": all */
    uint64_t seed, first_seed;
    bool prints;
    int made[BLOCK_KINDS][SCORE_COUNT];
    struct outcome *outcome;
    int count;
};

static void print_outcome(const struct outcome *o)
{
    printf("# %s: %s, %s:%d %s\n#     %s\n#     %s %.200s\n", score_name[o->score], o->kernel, o->block, o->edit.line,
           block_edit_name[o->edit.kind], o->what, o->hazard, o->reason[0] ? o->reason : o->told);
    fflush(stdout);
}

static bool was_made(const struct round *r, const struct outcome *o)
{
    for (int i = 0; i < r->count; i++) {
        const struct outcome *made = &r->outcome[i];
        if (made->kernel == o->kernel && made->edit.line == o->edit.line && strcmp(made->what, o->what) == 0)
            return true;
    }
    return false;
}

/* One edit of the kind on some subject that has one, and that was not made before. False: none was found. */
static bool edit_one(struct round *r, enum block_edit_kind kind)
{
    struct outcome *o = &r->outcome[r->count];
    for (int attempt = 0; attempt < 60; attempt++) {
        int which = drawn(&r->seed, SUBJECTS);
        if (!strstr(subjects[which].kernel, r->subject))
            continue;
        struct subject *s = open_subject(which);
        static struct draw d;
        d = (struct draw){.seed = &r->seed};
        for (int i = 0; i < s->block_count; i++) {
            d.block = s->block[i];
            block_edits(block_named(d.block)->begin, kind, keep_one, &d);
        }
        if (d.places == 0)
            continue;
        *o = (struct outcome){.edit = d.edit, .kernel = s->bench.subject->kernel, .block = d.edit_block};
        const struct emit_embedded *block = block_named(d.edit_block);
        block_edit_tell(block->begin, &o->edit, o->what, sizeof o->what);
        if (was_made(r, o) || !score_edit(s, block, o))
            continue;
        r->made[kind][o->score]++;
        r->count++;
        if (r->prints)
            print_outcome(o);
        return true;
    }
    return false;
}

static void print_table(const struct round *r)
{
    printf("# %-38s", "");
    for (int v = 0; v < SCORE_COUNT; v++)
        printf("%10s", score_name[v]);
    printf("\n");
    for (int k = 0; k <= BLOCK_KINDS; k++) {
        printf("# %-38s", k < BLOCK_KINDS ? block_edit_name[k] : "all");
        for (int v = 0; v < SCORE_COUNT; v++) {
            int sum = 0;
            for (int each = 0; each < BLOCK_KINDS; each++)
                sum += k == BLOCK_KINDS || k == each ? r->made[each][v] : 0;
            printf("%10d", sum);
        }
        printf("\n");
    }
}

static int scored(const struct round *r, enum score score)
{
    int sum = 0;
    for (int k = 0; k < BLOCK_KINDS; k++)
        sum += r->made[k][score];
    return sum;
}

/* ---- the record of a run ----------------------------------------------------------------------------------------- */

/* By score: the edits that nobody saw, or that were refused, each with why. */
static struct json_object *edits_of(const struct round *r, enum score score)
{
    struct json_object *list = json_object_new_array();
    for (int i = 0; i < r->count; i++) {
        const struct outcome *o = &r->outcome[i];
        char place[120];
        if (o->score != score)
            continue;
        struct json_object *one = json_object_new_object();
        snprintf(place, sizeof place, "%s:%d", o->block, o->edit.line);
        result_text(one, "kernel", o->kernel);
        result_text(one, "place", place);
        result_text(one, "kind", block_edit_name[o->edit.kind]);
        result_text(one, "edit", o->what);
        if (o->reason[0] || score == SCORE_REFUSED)
            result_text(one, "why", o->reason[0] ? o->reason : o->told);
        json_object_array_add(list, one);
    }
    return list;
}

static struct json_object *counts_of(const struct round *r)
{
    struct json_object *counts = json_object_new_object();
    for (int k = 0; k < BLOCK_KINDS; k++) {
        struct json_object *row = json_object_new_object();
        for (int v = 0; v < SCORE_COUNT; v++)
            result_number(row, score_name[v], r->made[k][v]);
        json_object_object_add(counts, block_edit_name[k], row);
    }
    return counts;
}

static struct json_object *hazards_of(const struct round *r)
{
    struct json_object *names = json_object_new_object(), *before;
    for (int i = 0; i < r->count; i++) {
        const char *name = r->outcome[i].hazard;
        if ((r->outcome[i].score != SCORE_HAZARD && r->outcome[i].score != SCORE_STUCK))
            continue;
        name = name[0] ? name : "launch fails";
        int64_t n = json_object_object_get_ex(names, name, &before) ? json_object_get_int64(before) : 0;
        result_number(names, name, n + 1);
    }
    return names;
}

static void record(const struct round *r, const char *path)
{
    char command[200];
    snprintf(command, sizeof command, "build/tests/emu/damage/test_blocks %d %llu '%s' %s", r->count,
             (unsigned long long)r->first_seed, r->subject, path);
    struct json_object *all = result_begin("tests/emu/damage/test_blocks.c",
                                           "random edits of the bodies of templates/blocks, on the emulator, hazards "
                                           "strict, in three completion modes",
                                           command);
    struct json_object *kernels = json_object_new_array();
    result_number(all, "seed", (int64_t)r->first_seed);
    for (int i = 0; i < SUBJECTS; i++) {
        char name[120];
        snprintf(name, sizeof name, "%s %s", subjects[i].kernel, subjects[i].arch ? subjects[i].arch : "sm_90a");
        json_object_array_add(kernels, json_object_new_string(name));
    }
    json_object_object_add(all, "kernels", kernels);
    result_number(all, "edits", r->count);
    json_object_object_add(all, "counts", counts_of(r));
    json_object_object_add(all, "hazards", hazards_of(r));
    json_object_object_add(all, "refused", edits_of(r, SCORE_REFUSED));
    struct json_object *unseen = json_object_new_object();
    json_object_object_add(unseen, "the compiler makes the same instructions", edits_of(r, SCORE_SAME));
    json_object_object_add(unseen, "statements that only compute, the same instructions in another order",
                           edits_of(r, SCORE_ORDER));
    json_object_object_add(unseen, "nothing comes by at these sizes", edits_of(r, SCORE_UNMET));
    json_object_object_add(unseen, "explained one by one", edits_of(r, SCORE_LISTED));
    json_object_object_add(unseen, "not explained", edits_of(r, SCORE_UNSEEN));
    json_object_object_add(all, "seen by nobody", unseen);
    result_end(all, path);
}

/* ---- edits whose scores are known ----------------------------------------------------------------------------------
 */

/* A kernel, a block, an edit by what it tells, and who sees it. */
static const struct planted {
    const char *kernel, *block;
    enum block_edit_kind kind;
    const char *what;
    enum score score;
} planted[] = {
    {"rms_norm_ring", "blocks/reduce.cuh", BLOCK_REMOVED, "- sum += partial[i]; + ;", SCORE_WRONG},
    {"rms_norm_ring", "blocks/ring.cuh", BLOCK_PARITY, "- p.phase ^= 1; + p.phase ^= 0;", SCORE_STUCK},
    {"rms_norm_ring", "blocks/ring.cuh", BLOCK_ORDER, "- __syncwarp(); + ;", SCORE_HAZARD},
    {"rms_norm_ring", "blocks/ring.cuh", BLOCK_SWAPPED, "- p.stage = 0; p.phase ^= 1; + ", SCORE_SAME},
    {"rms_norm_ring", "blocks/ring.cuh", BLOCK_CONSTANT, "- p.stage = 0; + p.stage = 1;", SCORE_LISTED},
    {"rms_norm_ring", "blocks/mbarrier.cuh", BLOCK_COPIED, "::: \"memory\"); asm volatile(\"mbarrier.arrive.shared",
     SCORE_REFUSED},
    {"gemm_program_epilogue", "blocks/copies.cuh", BLOCK_WAIT, "edited = step.count + 1", SCORE_HAZARD},
    {"gemm_program_epilogue", "blocks/mma_sync_dot.cuh", BLOCK_ARGUMENT, "+ ${name}_rows(f.a, warp, warp, step);",
     SCORE_HAZARD},
};

/* Finds edit number `skip` of those that tell so. */
struct wanted_edit {
    const char *text, *what;
    int skip;
    struct block_edit edit;
    bool found;
};

static void keep_wanted(void *context, const struct block_edit *e)
{
    struct wanted_edit *w = context;
    char what[1000];
    if (w->found)
        return;
    block_edit_tell(w->text, e, what, sizeof what);
    w->found = strstr(what, w->what) && w->skip-- == 0;
    if (w->found)
        w->edit = *e;
}

/* The first such edit that is one of this kernel: others are in what another kind of ring is given. */
static void score_planted(const struct planted *p, struct outcome *o)
{
    const struct emit_embedded *block = block_named(p->block);
    static struct wanted_edit w;
    int which = 0;
    while (strcmp(subjects[which].kernel, p->kernel) != 0)
        which++;
    for (int skip = 0; o->what[0] == 0; skip++) {
        w = (struct wanted_edit){.text = block->begin, .what = p->what, .skip = skip};
        block_edits(block->begin, p->kind, keep_wanted, &w);
        if (!w.found)
            fail_msg("%s has no edit '%s'", p->block, p->what);
        *o = (struct outcome){.edit = w.edit, .kernel = p->kernel, .block = p->block};
        block_edit_tell(block->begin, &o->edit, o->what, sizeof o->what);
        if (!score_edit(open_subject(which), block, o))
            o->what[0] = 0;
    }
}

/* Under the sanitizers one mode at one size may show another fault than the first of all modes. */
static bool agree(enum score one, enum score other)
{
    return one == other || (TW_TESTS_SANITIZED && one >= SCORE_HAZARD && one <= SCORE_WRONG && other >= SCORE_HAZARD &&
                            other <= SCORE_WRONG);
}

static void known_edits_are_scored(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof planted / sizeof *planted; i++) {
        const struct planted *p = &planted[i];
        static struct outcome o;
        if (TW_TESTS_SANITIZED && strcmp(p->kernel, planted[0].kernel) != 0)
            continue;
        o = (struct outcome){.what = ""};
        score_planted(p, &o);
        if (!agree(o.score, p->score)) {
            print_outcome(&o);
            fail_msg("%s: %s: %s, not %s", p->block, p->what, score_name[o.score], score_name[p->score]);
        }
    }
}

static struct round asked = {.subject = "", .prints = true};
static int wanted = EDITS;
static const char *path;

static void block_edits_are_seen(void **state)
{
    static struct outcome outcomes[MOST_EDITS];
    (void)state;
    asked.outcome = outcomes;
    asked.first_seed = asked.seed;
    bool spent[BLOCK_KINDS] = {false};
    for (int i = 0, none = 0; asked.count < wanted && none < BLOCK_KINDS; i++) {
        enum block_edit_kind kind = (enum block_edit_kind)(i % BLOCK_KINDS);
        spent[kind] = spent[kind] || !edit_one(&asked, kind);
        none = spent[kind] ? none + 1 : 0;
    }
    print_table(&asked);
    if (path)
        record(&asked, path);
    if (!TW_TESTS_SANITIZED && scored(&asked, SCORE_UNSEEN) > 0) /* one mode may not show it */
        fail_msg("%d edits that nobody sees; block_edits.list says of such why they do no harm",
                 scored(&asked, SCORE_UNSEEN));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(known_edits_are_scored),
                                       cmocka_unit_test(block_edits_are_seen)};
    const struct CMUnitTest one[] = {cmocka_unit_test(block_edits_are_seen)};
    wanted = argc > 1 ? atoi(argv[1]) : EDITS;
    asked.seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 7;
    asked.subject = argc > 3 ? argv[3] : "";
    path = argc > 4 ? argv[4] : NULL;
    return argc > 1 ? cmocka_run_group_tests(one, NULL, close_all) : cmocka_run_group_tests(tests, NULL, close_all);
}
