/* Calls in C, C++ and Python source: tokens, and the values of expressions over names that the source defines. */
#ifndef TW_GEN_CMD_TENSORMAP_TENSORMAP_C_H
#define TW_GEN_CMD_TENSORMAP_TENSORMAP_C_H

#include <stdint.h>

#include "cmd/tensormap/tensormap_question.h"
#include "tensormap/tensormap_args.h"

enum c_token_kind { C_END, C_NAME, C_NUMBER, C_MARK };

struct c_token {
    enum c_token_kind kind;
    const char *text; /* in the source */
    int length, line;
};

struct c_source {
    struct c_token *token; /* ended by C_END */
    int count;
    long *work; /* tokens that may still be looked at on the way to values: a text can be made to ask for many */
};

/* 0, or -1 out of memory; `work` is the caller's. Comments and strings are no tokens; with
   `comments` what stands behind a // is. free(source->token). */
int c_tokens(const char *text, size_t length, int comments, struct c_source *source);

int c_is(const struct c_token *token, const char *text);

/* The token behind a list of arguments or an index: `open` is its first mark, "(", "[" or "{". The end where it is
   never closed. */
int c_close(const struct c_source *source, int open);

/* The value of the expression that begins at token `at`; names mean what the last definition before token `before`
   says, and enumerators what they are of this argument. 0, or -1 and the reason. */
int c_value(const struct c_source *source, int at, int before, enum tmap_arg arg, uint64_t *value,
            struct tensormap_fault *fault);

/* The same of entry `entry` of a list: a name, with .data(), + 1 or &name[1], or a list in place. */
int c_entry(const struct c_source *source, int at, int before, enum tmap_arg arg, int entry, uint64_t *value,
            struct tensormap_fault *fault);

#endif
