/* What keeps a value that comes at launch from ever being taken for a Lua boolean. Lua calls no metamethod where such a
 * value meets a number in `==`, stands in `if`, `and`, `or` or `not`, or is the key of a plain table: the answer would
 * be false, true or nil once and for all. So each of these is rewritten, in every text that the sandbox compiles, into
 * the call of a function that looks at the values themselves:
 *
 *     if a == b and t[i] then       becomes       if __e(a, b, 2) and __b(__i(t, i, 6), 4) then
 *
 * (the names are longer); the number says which token of the text it was. Each token begins a line, so that the line
 * which Lua tells of a call or an error is the token where it stands. What a text in the sandbox cannot do without
 * these words it cannot do at all: there is no `load`, and functions of the library that compare or test are guarded in
 * sandbox_lib.c.
 *
 * A condition whose operand is a comparison, `not` or a literal is a plain boolean already and is left alone, as is a
 * comparison with a literal nil, which asks whether a value is there. In `p and x or y` the word `or` meets x as well;
 * there a number is chosen rightly, and only a condition is refused. */
#ifndef TW_GEN_SPEC_GUARD_H
#define TW_GEN_SPEC_GUARD_H

#include "spec/arena.h"
#include "spec/tokens.h"

/* The functions, in the order in which the compiled text takes them. */
enum guard_kind {
    GUARD_TRUTH,  /* (value, token): the value */
    GUARD_CHOICE, /* (value, token): the value, behind `and` and before `or` */
    GUARD_EQ,     /* (a, b, token) and so on: the comparison */
    GUARD_NE,
    GUARD_LT,
    GUARD_LE,
    GUARD_GT,
    GUARD_GE,
    GUARD_INDEX, /* (table, key, token): the element */
    GUARD_KEY,   /* (key, token): the key, which is assigned to */
    GUARD_BOUND, /* (value, token): the value, a bound of a numeric `for` */
    GUARD_KINDS
};

enum guard_status {
    GUARD_DONE,
    GUARD_NOT_LUA, /* the text is no Lua; the compiler says where */
    GUARD_NO_MEMORY
};

/* Which token of a text each line of its rewritten one holds. */
struct guard_lines {
    int *token; /* of line i + 1; a line within a token has that one's */
    int count;
};

/* Rewrites the text of `tokens`. The result, zero-terminated and in the arena, is a chunk that takes the functions as
 * arguments and returns the text as a function. `skip` bytes at the beginning are left out. lines: in the arena too. */
enum guard_status guard_rewrite(const struct tokens *tokens, size_t length, size_t skip, struct arena *arena,
                                const char **text, size_t *text_length, struct guard_lines *lines);

#endif
