/* Planted bugs: edits of emitted CUDA text as rows of a table (breaks.def), each with the hazard that the emulator must
 * report. */
#ifndef TW_GEN_VERIFY_RUN_BREAKS_H
#define TW_GEN_VERIFY_RUN_BREAKS_H

#include <stdio.h>

#include "hooks.h"

enum break_kind { BREAK_NONE, BREAK_REMOVE, BREAK_REPLACE };

struct break_edit {
    enum break_kind kind;
    const char *function; /* that the text stands in; "": anywhere; "kernel": the entry point */
    int at;               /* which occurrence, from 1; 0: there must be one only */
    const char *from;     /* REMOVE: how the statement begins */
    const char *to;       /* REPLACE: what comes in its place */
};

enum { BREAK_EDITS = 4 };

struct break_row {
    const char *name, *arch;
    const char *variant; /* of the entry point that is edited; "": the first */
    const char *hazard;  /* that must be among those reported */
    const char *text;    /* what is wrong, in one line */
    struct break_edit edit[BREAK_EDITS];
};

/* The table, ended by name == NULL. */
extern const struct break_row break_all[];

/* The row of this name for this architecture; NULL for arch: the name's first. NULL where there is none. */
const struct break_row *break_find(const char *name, const char *arch);

/* Applies the row's edits to a text. *out is the edited text, zero-terminated, of as many lines; freed by tw_free.
 * TW_ERROR_INVALID where an edit does not match exactly as the row tells: the error says which and why. */
int break_apply(struct tw_runtime *rt, const struct break_row *row, const char *entry, const char *text, char **out,
                struct tw_error *error);

/* Prints the lines that differ, with their numbers: "- 571: ...", "+ 571: ...". Both texts have as many lines. */
void break_print_edits(FILE *out, const char *before, const char *after);

/* Every bug: name, architecture, hazard, what is wrong. */
void break_print_list(FILE *out);

#endif
