/* The tokens of a Lua text, for what Lua itself does not tell: where in a table each field stands, and which operators
 * a function holds. */
#ifndef TW_GEN_SPEC_TOKENS_H
#define TW_GEN_SPEC_TOKENS_H

#include <stdbool.h>
#include <stddef.h>

#include "spec/arena.h"

enum token_kind { TOKEN_END, TOKEN_NAME, TOKEN_KEYWORD, TOKEN_STRING, TOKEN_NUMBER, TOKEN_OPERATOR };

struct token {
    enum token_kind kind;
    int line, column;  /* from 1; the column counts bytes */
    int start, length; /* bytes of the text */
    int match;         /* ( [ { function do if repeat: the token that closes it; -1 else or where unclosed */
};

/* Plain data; the text must outlive it. Ends with one TOKEN_END. */
struct tokens {
    const char *text;
    struct token *token;
    int count;
};

/* Scans Lua 5.4, where each token begins and ends as Lua's own lexer has it. Never fails on wrong text: what is no
 * token is skipped (Lua reports it). False: out of memory. */
bool tokens_scan(struct tokens *t, const char *text, size_t length, struct arena *arena);
bool token_is(const struct tokens *t, int index, const char *word);
bool tokens_is_string(const struct tokens *t, int index, const char *text); /* the text in quotes */

/* A place of a field: its name and its value (the same for list items). */
struct token_field {
    int key, value; /* token indices, -1 where there is none */
};

/* The table constructor of the call `function NAME {...}` (or `function(expr) {...}`) that begins or whose table begins
 * on `line`; `name` chooses among several on one line. Returns the index of its "{", or -1: no constructor stands
 * there. */
int tokens_find_call(const struct tokens *t, const char *function, const char *name, int line);

/* The token `word` on `line` that is called n-th, counted from 0 and again from the first behind the last: calls are
 * made in the order in which they end. -1: there is none. */
int tokens_nth_call(const struct tokens *t, const char *word, int line, int n);

/* The token `word` that is nearest to token `at`: this one, else the first behind it on its line or on those that its
 * brackets reach to, else the last before it on its line. -1: there is none. */
int tokens_nearest(const struct tokens *t, const char *word, int at);

/* The "{" of the constructor that a call at token `call` has as its only argument, or -1. */
int tokens_argument(const struct tokens *t, int call);

/* Follows `path`, such as "tile.k", "A[1]", "arch.sm_80.tile.n", "run[1].M", from the constructor at `open`. A value
 * that is a call with a constructor (A = tensor {...}) counts as that constructor. False: not written there. */
bool tokens_find_field(const struct tokens *t, int open, const char *path, struct token_field *field);

#endif
