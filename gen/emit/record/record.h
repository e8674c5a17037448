/* The recorder: what the emitted text does inside `//@ role`, read off the text, and the steps that it amounts to.
 *
 * OPERATIONS. A block declares beside a function what a call of it does:
 *
 *     //@ op fill tensor = t.name, count = t.tile_bytes, by = "one"
 *     __device__ __forceinline__ void ${t.name}_load(...)
 *
 * The word is an operation of plan_ops.def; the arguments are a Lua table constructor's, which effects.def lists. Lines
 * may follow each other: one call, several steps. by = "one": one thread of the role calls it, inside //@ elect;
 * else all of its threads do. Three words more:
 *     part    the function is a part of operations: blocks call it, a template's own text does not
 *     meet    all threads of the block meet in it: outside of roles alone, where every thread comes by
 *     turns   true once for each turn, the same in all threads: what //@ loop ... while calls, and nothing else
 *     advance its position goes on to the ring's next stage
 * A function of a block that calls one of these, or whose asm waits, arrives, copies or multiplies asynchronously,
 * has such a line itself; else [TEMPLATE-OP].
 *
 * TEXT. The recorder reads the expanded text of the kernel, blocks included, and knows its statements. A call of an
 * operation is a statement, or the initialiser of one, that every thread of the role comes by: nothing but //@ loop,
 * //@ when and //@ elect stands around it, and these emit the `for`, the `while` and the `if`, so that what is recorded
 * is what runs:
 *
 *     //@ role "producer"                   if (threadIdx.x < 128) {      by warps of the Plan's role; two that follow
 *     //@ elect                                 if (threadIdx.x == 0) {   each other share an else, one that has all
 *     //@ loop "tiles" while next(s, m, n)          while (next(s, m, n)) {           warps needs no if
 *     //@ loop "k" step < steps                         for (int step = 0; step < steps; ++step) {
 *     //@ when step > 0                                     if (step > 0) {
 *
 * each up to its //@ endwhen, //@ endloop, //@ endelect, //@ endrole. A loop's name is its trip count's: loops of one
 * name have one bound, a number or a `const int` that the kernel declares before its roles from arguments and blockIdx
 * alone; nothing else may write to it, nor to the counter. A condition compares sums of counters of the loops around,
 * of bounds and of numbers.
 *
 * An operation under any other control flow is an error [TEMPLATE-GUARD]: if, for, while, do, switch, goto, return,
 * `?:`, `&&`, `||`, lambdas, functions of the template's own, names that are not called. So is what hides text: the
 * preprocessor but for #pragma, lines that go on behind a backslash, raw texts, asm that synchronises.
 *
 * POSITIONS. A parameter of type NAME_position of a bulk ring, or `u32 stage` of a function that reads one, says which
 * stage. Its argument is a variable that the role declares as such, `NAME_position p = {0, 0}`, or its field `stage`;
 * operations that take it by reference, and `//@ op advance ring = ...`, move it on, and nothing else does. It must
 * stand where the steps of its ring are, in every execution that is tried. A variable that holds a stage's address
 * (`const float *x = x_tile(read)`) is not used once the stage is released; copies of it are not followed.
 *
 * STEPS. Where the Plan has steps, the operations of each role must be the same ones in the same order in every
 * execution; tried are trip counts of 0 up to past every number of a condition. A FILL of cp.async copies past the last
 * stage that is read is left out on both sides. The first difference is an error [TEMPLATE-ORDER] with role, step, ring
 * and stage, at the template's line.
 *
 * Where a role has none (a user's template), record_steps gives the steps, for plan_check_protocol to prove: a release
 * under a condition becomes a RELEASE with the count that it keeps; turns that other conditions tell apart (step > 0,
 * step + 2 < steps) are peeled off their loop, each a WHEN with the count that it asks for. What has no such words is
 * refused. The steps are compared with the text in their turn.
 */
#ifndef TW_GEN_EMIT_RECORD_RECORD_H
#define TW_GEN_EMIT_RECORD_RECORD_H

#include <stdbool.h>
#include <stddef.h>

#include "emit/template/output.h"
#include "emit/template/template.h"
#include "plan/plan.h"
#include "spec/arena.h"
#include "spec/diag.h"

/* Where in which template; line from 0. */
struct record_place {
    struct template *template;
    int line;
};

/* The arguments of `//@ op`: NULL and unset where they are not written. */
struct record_operation {
    const char *word; /* "wait_full", "part" */
    const char *ring, *tensor, *barrier;
    struct {
        bool set;
        int value;
    } count, phase, id, threads;
    bool one;
};

struct recorder;

/* `top` is the template that is expanded; directives write to output. NULL out of memory. */
struct recorder *record_open(const struct plan *plan, struct template *top, struct output *output, struct arena *arena,
                             struct diag_set *diags);

/* The directives. False: the fault was reported, or there is no memory (record_finish tells). */
bool record_op(struct recorder *r, struct record_place at, const struct record_operation *operation);
bool record_role(struct recorder *r, struct record_place at, const char *name, int column);
bool record_loop(struct recorder *r, struct record_place at, const char *name, const char *header);
bool record_when(struct recorder *r, struct record_place at, const char *condition);
bool record_elect(struct recorder *r, struct record_place at);
bool record_end(struct recorder *r, struct record_place at, enum line_kind kind); /* LINE_ENDROLE .. */

/* One text line, in order, as it is to be emitted: reads it and writes it. False as above. */
bool record_text(struct recorder *r, struct record_place at, bool continued, const char *text, size_t length);

/* Ends the text and compares every role that has steps. Returns the number of faults, -1 out of memory. */
int record_finish(struct recorder *r);

/* After record_finish without faults: gives the roles that have no steps theirs, and the Plan the barriers that blocks
 * declared. `plan` is the one that record_open was given. Returns the number of faults, -1 out of memory. */
int record_steps(struct recorder *r, struct plan *plan);

/* What plan_check_protocol found in such steps, moved from the spec's line to the template's: faults of `diags` from
 * number `first` on. Places are those of record_steps. */
void record_relocate(struct recorder *r, const struct plan *plan, struct diag_set *diags, int first);

/* After the proof of such steps: the variables that say which stage stand where the steps are. The number of faults. */
int record_positions(struct recorder *r);

#endif
