/* Edits of the bodies of building blocks, templates/blocks, drawn by a seed: what somebody who writes a block gets
 * wrong. They are made in the template, so that one edit is in every function that the block gives, and the static side
 * reads it as it reads every template. Lines of Lua, heads of functions and structs stay as they are. */
#ifndef TW_TESTS_BLOCK_EDITS_H
#define TW_TESTS_BLOCK_EDITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLOCK_EDITS(X)                                                                                                 \
    X(REMOVED, "a statement removed")                                                                                  \
    X(CONSTANT, "a constant changed")                                                                                  \
    X(PARITY, "a parity or a swizzle's ^ changed")                                                                     \
    X(COPIED, "a statement copied elsewhere")                                                                          \
    X(SWAPPED, "two neighbours swapped")                                                                               \
    X(ARGUMENT, "an argument replaced")                                                                                \
    X(WAIT, "a wait's number changed")                                                                                 \
    X(ORDER, "a fence, wait or arrival removed")

enum block_edit_kind {
#define X(id, name) BLOCK_##id,
    BLOCK_EDITS(X)
#undef X
        BLOCK_KINDS
};

extern const char *const block_edit_name[BLOCK_KINDS];

enum { BLOCK_MOST_TEXT = 1 << 16, BLOCK_MOST_PIECE = 1200 };

/* One edit that a text has room for: the bytes from `at` on, `length` of them, become `with`; before the line that
 * begins at `line_at` a line of Lua, "" for none, says what `with` asks. */
struct block_edit {
    enum block_edit_kind kind;
    size_t at, length, line_at;
    int line; /* from 1 */
    char with[BLOCK_MOST_PIECE], lua[200];
    char function[80];                  /* in which it is, "" where the block has none */
    size_t statement, statement_length; /* that it is in; 0 of length: it is in none alone */
    bool plain;                         /* SWAPPED: both compute, and neither copies, waits or tells others anything */
    const char *harmless;               /* what is said of it where nobody sees it, or NULL */
    bool declares;                      /* that statement declares something */
};

/* Every edit of a kind that the text has room for, in order. */
void block_edits(const char *text, enum block_edit_kind kind, void (*offer)(void *context, const struct block_edit *e),
                 void *context);

/* The text with the edit made, in `out` of BLOCK_MOST_TEXT bytes; its length, 0 where it does not fit. */
size_t block_edit_make(const char *text, const struct block_edit *e, char *out);

/* The text unedited, with a trap where the edit's statement stands: whether anything comes by. 0: it is in none. */
size_t block_edit_trap(const char *text, const struct block_edit *e, char *out);

/* What was done, on one line: "- old" and "+ new" with blanks folded. */
void block_edit_tell(const char *text, const struct block_edit *e, char *out, size_t size);

#endif
