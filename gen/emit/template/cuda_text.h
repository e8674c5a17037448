/* The tokens of emitted CUDA, line by line: what the recorder reads. */
#ifndef TW_GEN_EMIT_TEMPLATE_CUDA_TEXT_H
#define TW_GEN_EMIT_TEMPLATE_CUDA_TEXT_H

#include <stdbool.h>
#include <stddef.h>

enum cuda_kind { CUDA_WORD, CUDA_NUMBER, CUDA_TEXT, CUDA_SIGN }; /* TEXT: a string or character, quotes included */

/* Points into the line. */
struct cuda_token {
    enum cuda_kind kind;
    const char *text;
    int length;
};

/* Zero-initialised stands before the first line. Only comments go on from line to line. */
struct cuda_scanner {
    bool comment; /* inside of a block comment */
    const char *at, *end;
    const char *fault; /* what in this line the scanner cannot follow, in words; NULL: nothing */
};

/* Begins a line. */
void cuda_line(struct cuda_scanner *s, const char *text, size_t length);

/* The next token of the line. False: its end, or a fault. A line that begins with # gives the sign # and no more. */
bool cuda_next(struct cuda_scanner *s, struct cuda_token *token);

bool cuda_is(const struct cuda_token *token, const char *text);

/* Whether the word is one of a list that NULL ends. */
bool cuda_is_one(const struct cuda_token *token, const char *const *list);

#endif
