/* Diagnostics: file:line, the kernel and field, the fault, what to write, a rule id, the source line and a caret.
 * Errors are collected, not thrown: one run shows all faults of a spec. */
#ifndef TW_GEN_SPEC_DIAG_H
#define TW_GEN_SPEC_DIAG_H

#include <stdbool.h>
#include <stdio.h>

#include "spec/arena.h"

/* A place in a source. file indexes diag_set.source; line and column count from 1, 0 is unknown. */
struct diag_loc {
    int file, line, column;
};

enum diag_severity { DIAG_ERROR, DIAG_WARNING, DIAG_NOTE };

struct diag {
    enum diag_severity severity;
    struct diag_loc loc;
    char *kernel; /* NULL where the fault is no kernel's */
    char *field;  /* path such as "tile.k" or "A.dims[2]", or NULL */
    char *text;   /* the fault and, after "; ", what to write */
    char *rule;   /* id such as "TMA-SPAN", or NULL */
};

struct diag_source {
    char *name; /* as printed */
    char *text; /* whole source, zero-terminated; may be NULL */
};

/* Where a kernel is written. */
struct diag_kernel {
    char *name;
    struct diag_loc loc;
};

enum { DIAG_MOST = 500 };

/* Zero-initialised (but for arena.memory) is empty. Owns its strings. */
struct diag_set {
    struct diag *item;
    int count, capacity;
    struct diag_source *source;
    int source_count;
    struct diag_kernel *kernel;
    int kernel_count;
    int errors;
    int reported; /* errors with those that were added before: equal before and after a piece of work without a fault */
    int more;     /* that came after DIAG_MOST others, and are counted only */
    bool out_of_memory; /* something was lost: whoever reads the set reports status 3 */
    struct arena arena;
};

/* Copies both. The same name gives the same index again, and its text where it had none. Returns -1 out of memory. */
int diag_add_source(struct diag_set *set, const char *name, const char *text);

/* A fault of this kernel that lies in another file, a family's say, is told with the kernel's place behind it. */
void diag_add_kernel(struct diag_set *set, const char *name, struct diag_loc loc);

/* The note that stands behind fault i, with its place, where fault `next` is told after it (-1: none is). false: there
 * is none; behind a run of faults of one kernel it stands once. */
bool diag_note(const struct diag_set *set, int i, int next, struct diag *note);

/* Adds one diagnostic; kernel, field and rule may be NULL. An equal one at the same place is added once: a fault that
 * kernels share (a loop, `like`) is told of the first of them. */
void diag_report(struct diag_set *set, enum diag_severity severity, struct diag_loc loc, const char *kernel,
                 const char *field, const char *rule, const char *format, ...) __attribute__((format(printf, 7, 8)));

/* What is reported behind a mark can be taken back: of a piece of work whose faults follow from others. Those of the
 * rules `keep` (NULL-terminated; NULL: none) stay. */
struct diag_mark {
    int count, errors, reported, more;
};
struct diag_mark diag_mark(const struct diag_set *set);
void diag_take_back(struct diag_set *set, struct diag_mark mark, const char *const *keep);

/* Prints all in source order:
 *   specs/gemm.lua:12: error: kernel 'gemm_bf16', tile.k: 96 bf16 are 192 bytes, ...; write 64 or 128 [TMA-SPAN]
 *       tile     = { m = 128, n = 256, k = 96 },
 *                                          ^
 */
void diag_print(const struct diag_set *set, FILE *out);
void diag_free(struct diag_set *set);

/* As diag_print, one text without source lines; "" where i is out of range. For tests and --json. */
void diag_print_one(const struct diag_set *set, int i, FILE *out);

/* The entry of `candidate` (NULL-terminated) nearest to `word` by edit distance, or NULL where none is near: at most a
 * third of the longer word's letters differ. Swapped neighbours count as one change, case as a half. The first of
 * equals. */
const char *diag_suggest(const char *word, const char *const *candidate);

#endif
