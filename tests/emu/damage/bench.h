/* A kernel of a spec on the emulator, at sizes that wrap its rings, so that a text that was damaged can be run and
 * judged: in the three completion modes, against the same inputs and references for every text. What goes wrong here
 * without damage fails the test that asked (cmocka). */
#ifndef TW_TESTS_DAMAGE_BENCH_H
#define TW_TESTS_DAMAGE_BENCH_H

#include "damage_edits.h"

#include "compile/compile.h"
#include "emu/emu.h"
#include "verify/trial.h"

enum { BENCH_SETS = 4, BENCH_SYMBOLS = 8, BENCH_MODES = 3 };

/* Sizes by the spec's dims; the modes in which they run, as bits of enum emu_completion. */
struct bench_set {
    int64_t size[BENCH_SYMBOLS];
    unsigned modes;
};

/* A kernel, with rings so shallow that these sizes wrap them several times. `single`: stages of rings that have one by
 * themselves; with two the producer runs ahead into the next item, and refills what is free too early. */
struct bench_subject {
    const char *spec, *kernel, *arch; /* NULL: sm_90a */
    const char *user_folder;          /* of a template of the spec's own, NULL: it has none */
    int stages, single, sms;          /* stages 0: as the spec says */
    struct bench_set set[BENCH_SETS];
};

struct bench {
    const struct bench_subject *subject; /* NULL: not open */
    struct compile c;
    struct compile_unit unit; /* with the shallow rings */
    struct edit base;
    int shorter[EDIT_ROLES][EDIT_MOST_STEPS];
    struct tw_device *device[BENCH_MODES];
    struct trial trial[BENCH_SETS][BENCH_MODES];
};

/* What the emulator says of a text. */
enum bench_verdict { BENCH_CLEAN, BENCH_HAZARD, BENCH_WRONG, BENCH_STUCK, BENCH_NO_TEXT, BENCH_VERDICTS };
extern const char *const bench_verdict_name[BENCH_VERDICTS];

struct bench_seen {
    enum bench_verdict verdict;
    char hazard[32]; /* name of the first report, "" where there is none */
    char text[400];  /* that report, the error, or what is wrong with the result */
};

/* Opens the subject, unless it is: its Plan with shallow rings, and trials by size and mode. */
void bench_open(struct bench *b, const struct bench_subject *s, enum emu_hazards hazards);
void bench_close(struct bench *b);

/* Text of the Plan, `source` standing for the program's own template of its name (NULL: none does). Returns 0; 1 where
 * the static side refuses it: *diags has the faults. The caller frees *text. */
int bench_emit(const struct bench *b, const struct plan *plan, const struct emit_source *source, char **text,
               size_t *length, struct diag_set *diags);

/* The text as PTX, from the cache where it was compiled before. False: it does not compile, seen->verdict says so. The
 * caller frees *compiled (tw_compiled_free). */
bool bench_compile(struct bench *b, const char *text, size_t length, struct tw_compiled *compiled,
                   struct bench_seen *seen);

/* Runs PTX at every size in every mode, up to the first that is not clean. */
void bench_run(struct bench *b, const struct plan *plan, const struct tw_compiled *compiled, struct bench_seen *seen);

#endif
