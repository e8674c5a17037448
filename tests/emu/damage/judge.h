/* What the proof and the emulator say of one step list, and why a list that is refused may run clean all the same. */
#ifndef TW_TESTS_DAMAGE_JUDGE_H
#define TW_TESTS_DAMAGE_JUDGE_H

#include "bench.h"
#include "damage_edits.h"

/* refused: by the proof, `rule` and `told` are its first fault. verdict, seen: of the text that the list gives. */
struct outcome {
    bool refused;
    enum bench_verdict verdict;
    char rule[64], told[400], seen[400];
};

/* The proof alone: refused, rule and told. What it proved is noted in the Plan. */
void judge_steps(struct plan *plan, struct outcome *o);

/* Both. The emulator runs every size in every mode, up to the first that is not clean. */
void judge(struct bench *b, const struct plan *plan, struct outcome *o);

/* ---- refused and clean ------------------------------------------------------------------------------------------- */

/* The proof speaks of every number of turns and of each step by what it says; the emulator of one text at some sizes.
 * Each reason is recognised by a trial of its own, never by the words of a message: what none recognises is a hole of
 * the emulator or a refusal that is wrong, until somebody shows which. */
#define CLEAN_REASONS(X)                                                                                               \
    X(NONE, "not explained", "")                                                                                       \
    X(DEPTHS, "at other depths",                                                                                       \
      "a stage is free too early, but who refills it first waits for a stage of another ring that is released behind " \
      "the last use of this one. Recognised: where this ring has one stage and the others more, or all have more, at " \
      "which the undamaged list passes and is clean, the damaged one is not clean")                                    \
    X(KEEPS, "the text keeps a stage",                                                                                 \
      "a release of the stage of the turn before was moved behind the wait for this turn's: the step frees all that "  \
      "is held, its text one, and none in the first turn, which is right there. Recognised: the list passes where "    \
      "that step keeps one stage more, which is the same text")                                                       \
    X(FENCES, "the storing thread's own fence",                                                                        \
      "the writers' fence stands behind the barrier that makes their writes known to the thread that stores, whose "   \
      "own fence orders them then. PTX takes that; what is emitted has each writer fence. Recognised: no fence is "    \
      "missing, and the list passes where each write has one right behind it")

enum clean_reason {
#define X(id, name, reason) CLEAN_##id,
    CLEAN_REASONS(X)
#undef X
        CLEAN_COUNT
};
extern const char *const clean_name[CLEAN_COUNT], *const clean_why[CLEAN_COUNT];

/* Of an edit of b's Plan that is refused and whose text is clean. */
enum clean_reason explain_clean(struct bench *b, const struct edit *damaged);

#endif
