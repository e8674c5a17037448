/* What the sizes of a `run` leave out, entry point by entry point, over all its cases on the emulator. On a GPU nothing
 * can be seen, and nothing is said; nor of an entry point with a case that failed, nor of debug builds, whose waits
 * have code for what does not happen.
 *
 * rings     A stage is covered where one block fills it twice: its second fill is the first that a missing wait or
 *           release can spoil. A fill is a completed phase of the stage's full barrier; where the ring has none, a
 *           copy or store to an address of the stage to which one went before. Nothing is said of a ring that blocks
 *           fill once because each takes one item.
 *
 * variants  An entry point that no size launches. Not told for sizes of --set.
 *
 * code      By the lines of the emitted text, the operations of the Plan being calls there:
 *           - a line with instructions none of which was executed. Of lines inside of each other by inlining the
 *             outermost such line is named. Statements that follow each other without a branch, a line each, were all
 *             executed where one of them was: the compiler moves instructions between them.
 *           - a line that begins with `if` and has one conditional branch, which always went the same way. Its body on
 *             the line behind it is named instead where that did not run. Not told of one that asks whether a turn is
 *             the first, of a loop whose turns stand in several loops of the text: the tiles may decide which has it.
 *           - a line that begins with `for`, `while` or `do`, in the kernel itself, whose branches back were never
 *             taken: no second round. Of loops that the compiler has unrolled nothing is said; nor of a loop of the
 *             Plan over tiles where the grid has a block for each (it does not depend on sm_count).
 *           What only a trap or a failed assertion follows does not count, nor a direction that leads there. What the
 *           compiler turned into arithmetic (selects, copies of a branch, hoisted code) cannot be seen: it says too
 *           little then, and does not guess. */
#ifndef TW_GEN_VERIFY_RUN_RUN_COVERAGE_H
#define TW_GEN_VERIFY_RUN_RUN_COVERAGE_H

#include <stdbool.h>
#include <stdint.h>

struct emu_event;
struct run;

enum left_kind { LEFT_VARIANT, LEFT_RING, LEFT_LINES, LEFT_IF, LEFT_LOOP };

/* One thing that was left out. */
struct run_left {
    int unit; /* of compile.unit */
    enum left_kind kind;
    char *what;  /* in words, places and names included: "ring ab unwrapped (3 of 4 stages filled)" */
    char *write; /* what would cover it, or NULL where no number is known: "K >= 449" */
    char *file;  /* of code: base name of the text; else NULL */
    uint32_t line, last;
};

struct coverage_unit; /* of an entry point */
struct ring_block;    /* of a resident block */

struct run_coverage {
    struct coverage_unit *unit; /* by compile.unit; NULL: nothing is gathered */
    struct ring_block *block;
    int current; /* the unit that runs, -1: none, or another kernel */
    struct run_left *left;
    int left_count, left_room;
};

/* The kinds of events that run_coverage_event wants, as bits, for emu_options.events. */
uint32_t run_coverage_events(void);

/* The emulator's listener; context: struct run. */
void run_coverage_event(void *context, const struct emu_event *event);

/* Once the emulator has loaded its kernels. Exit status. */
int run_coverage_open(struct run *run);

/* Around a launch of that unit. */
void run_coverage_begin(struct run *run, int unit);
void run_coverage_end(struct run *run, bool launched);

/* After all cases, while the kernels are loaded: fills left, and notes it on stderr, a line an entry point. Exit
 * status. */
int run_coverage_report(struct run *run);

/* left, put to the end of a list of JSON, which may be NULL. */
struct json_object;
void run_coverage_json(const struct run *run, struct json_object *list);

void run_coverage_close(struct run *run);

#endif
