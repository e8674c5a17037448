/* A Lua 5.4 state for text that nobody has read before: specs, and the //@ lines of templates.
 *
 * What runs in it can neither reach the machine nor run or grow without bound, and gives the same result every time:
 *   - globals come from an allow list (sandbox_lib.c); reading or assigning any other name is an error that says what
 *     to write. There is no io, os, debug, load, package, coroutine, pcall, metatable access, string pattern or random
 *     number, and no address in any text.
 *   - pairs and next go in sorted order: numbers, then strings, then booleans; table.sort is stable.
 *   - memory is capped in the allocator, steps by a count hook: an instruction is a step, 64 bytes of new memory are
 *     one, and functions of the library charge what they do in proportion to their arguments (sandbox_calls.c), as
 *     guards do (sandbox_guard.c). What still takes long meets a cap on the thread's time: of text that is not guarded,
 *     which compares huge strings uncounted, 4 seconds for 50 million steps; of guarded text ten times that, which a
 *     slow machine does not meet. Without pcall nothing in the sandbox can catch the error.
 *   - chunks are text; `require` reads files below one folder.
 *
 * Host code: every Lua call that may raise an error belongs into sandbox_protect or below sandbox_call, else the
 * process aborts. Not thread-safe; sandboxes are independent of each other.
 */
#ifndef TW_GEN_SPEC_SANDBOX_H
#define TW_GEN_SPEC_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <lua5.4/lua.h>

#include "spec/arena.h"
#include "spec/diag.h"
#include "spec/guard.h"
#include "spec/tokens.h"

struct sandbox;

struct sandbox_options {
    size_t memory_limit;       /* bytes for Lua; 0: 64 MiB */
    int64_t instruction_limit; /* of one sandbox_call; 0: 50 million */
    double seconds;            /* of the thread's time, of one sandbox_call; 0: by the steps */
    const char *folder;        /* `require "x"` reads folder/x.lua or folder/lib/x.lua; NULL: there is no require */
    struct memory memory;      /* everything, Lua's memory included, is allocated by it */
    bool guarded;              /* texts are rewritten: no value of launch becomes a Lua boolean (guard.h) */
    bool own_text;             /* the program's own: its lines are not followed, no limit is told at one of them, and
                                  without an instruction_limit only what allocates memory is counted */
};

/* What a call came to. */
enum sandbox_status {
    SANDBOX_OK,
    SANDBOX_FAULT,    /* the text is at fault: syntax, run-time error, a limit, a file */
    SANDBOX_NO_MEMORY /* memory.alloc gave NULL */
};

/* Filled where the status is SANDBOX_FAULT. */
struct sandbox_error {
    int file, line, column; /* file indexes the sandbox's sources, -1 unknown; line, column: 0 unknown */
    int token;              /* which of the file's tokens runs, counted from 1; 0: not known */
    const char *rule;       /* "SANDBOX-STEPS", "SANDBOX-MEMORY", "LUA-SYNTAX", ... or NULL; static */
    char text[1024];        /* without position; cut where longer */
};

enum { SANDBOX_MAX_FILE = 1 << 20 }; /* bytes */

/* A text that was loaded. Chunks are named "@#N" to Lua, N the index, so that positions survive long paths. */
struct sandbox_source {
    const char *name;         /* as printed */
    const char *text;         /* what diagnostics show */
    struct tokens tokens;     /* of the Lua text; empty until sandbox_tokens */
    struct guard_lines lines; /* of the text that runs; none where it runs as it is written */
};

struct sandbox *sandbox_open(const struct sandbox_options *options); /* NULL out of memory */
void sandbox_close(struct sandbox *s);                               /* NULL is fine */
lua_State *sandbox_lua(struct sandbox *s);
struct sandbox *sandbox_of(lua_State *L);

/* Makes the value on top of the stack a global that the text can read but not assign, and pops it. To be called under
 * protection. */
void sandbox_set_global(struct sandbox *s, const char *name);

/* Compiles a text and leaves the function on the stack (nothing after an error). Bytecode, zero bytes and what is no
 * UTF-8 are refused. `shown` is the text for diagnostics, NULL: the same. Name and texts are copied. */
int sandbox_load(struct sandbox *s, const char *name, const char *text, size_t length, const char *shown,
                 struct sandbox_error *error);

/* The same of what lua_dump made of a text of the program's own when it was built, never of what came from a file. It
 * becomes no source: errors call it `number`, from SANDBOX_OWN on, as the text that was compiled was called. */
enum { SANDBOX_OWN = 1 << 16 };
int sandbox_load_own(struct sandbox *s, int number, const char *code, size_t length, struct sandbox_error *error);

/* Reads a file and compiles it as sandbox_load does; records it as a dependency. A missing file, a folder, a dangling
 * link, an empty file: each has its own message, with error->line 0. */
int sandbox_load_file(struct sandbox *s, const char *path, struct sandbox_error *error);

/* Until it is called with false, what runs computes many numbers: its lines are not followed, which costs more than the
 * arithmetic, and a fault of memory stands where the last thousand steps ended. All other faults stand where they are.
 */
void sandbox_compute(struct sandbox *s, bool computes);

/* lua_pcall with the limits: steps are counted from 0. */
int sandbox_call(struct sandbox *s, int arguments, int results, struct sandbox_error *error);

/* Runs f(L) with `argument` as its only argument, a light userdata. */
int sandbox_protect(struct sandbox *s, lua_CFunction f, void *argument, struct sandbox_error *error);

/* As lua_pcall inside of a call: errors of the text end here, but limits go on up. Returns 0, or 1 with *error. */
int sandbox_try(lua_State *L, int arguments, int results, struct sandbox_error *error);

/* Raises an error at the line that runs, its column that of `word` (NULL: none). Does not return. */
int sandbox_fault(lua_State *L, const char *rule, const char *word, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Column of the token `word` on a line, 0 where there is none or more than one: Lua does not tell which it is. */
int sandbox_column(struct sandbox *s, int file, int line, const char *word);

/* The same of the word that is called where `token` (sandbox_error) runs. */
int sandbox_running_column(struct sandbox *s, int file, int line, int token, const char *word);

/* That of the word's n-th call there (tokens_nth_call), for who counts calls. */
int sandbox_call_column(struct sandbox *s, int file, int line, const char *word, int n);

/* Raises the end of everything: host memory is out. */
int sandbox_no_memory(lua_State *L);

/* Counts `steps` towards the instruction limit; raises the error when it is passed. For loops in C. */
void sandbox_charge(lua_State *L, int64_t steps);
void sandbox_set_instruction_limit(struct sandbox *s, int64_t limit);

/* What a value is to a text that is traced. */
enum sandbox_value {
    SANDBOX_PLAIN,
    SANDBOX_SIZE,      /* an expression of dims, while no function is traced */
    SANDBOX_NUMBER,    /* an expression whose number comes at launch */
    SANDBOX_CONDITION, /* the same, of a condition */
    SANDBOX_OPERAND    /* what such are made of: the tensors t, the indices i, a span */
};

/* Tells which userdata and tables with a metatable are such values; without it all are plain. */
void sandbox_know_values(struct sandbox *s, enum sandbox_value (*value_at)(lua_State *L, int index));
enum sandbox_value sandbox_value_at(lua_State *L, int index);

/* Where the running text stands: the innermost Lua function at or above `level`. Returns the file index or -1. *token
 * as in sandbox_error. */
int sandbox_where(lua_State *L, int level, int *line);
int sandbox_token_where(lua_State *L, int level, int *line, int *token);

/* A line of the text that runs, which lua_Debug tells, in the text as it was written; *token as in sandbox_error. */
int sandbox_line(const struct sandbox *s, int file, int line, int *token);

/* The index that a lua_Debug.source names, or -1. */
int sandbox_source_index(const char *source);
int sandbox_source_count(const struct sandbox *s);
const struct sandbox_source *sandbox_source(const struct sandbox *s, int index);
const struct tokens *sandbox_tokens(struct sandbox *s, int index); /* scanned at first use; NULL out of memory */

/* Files read so far, in order. */
int sandbox_dependency_count(const struct sandbox *s);
const char *sandbox_dependency(const struct sandbox *s, int index);

/* A place of the sandbox as a place of `set`, the source added to it where it is new; and an error as a diagnostic. */
struct diag_loc sandbox_loc(const struct sandbox *s, struct diag_set *set, int file, int line, int column);
void sandbox_report(struct sandbox *s, struct diag_set *set, const struct sandbox_error *error, const char *kernel,
                    const char *field);

/* ---- between the sandbox's own files --------------------------------------------------------------------------- */

/* Opens the allow-listed library; leaves the table of readable globals on the stack. Under protection. */
void sandbox_open_library(lua_State *L);

/* Whether the text can be a chunk: no bytecode, no zero byte, all UTF-8, not empty. Else fills line, column, rule,
 * text. */
bool sandbox_check_text(const char *text, size_t length, struct sandbox_error *error);

/* The whole file, a zero byte behind it; to be freed with length + 1 bytes. NULL: *status and *error say why. */
char *sandbox_read(const struct memory *memory, const char *path, size_t *length, int *status,
                   struct sandbox_error *error);

/* There is a file lib/NAME.lua below the folder. */
bool sandbox_has_library(const struct sandbox *s, const char *name);

/* The global `require`. */
int sandbox_require(lua_State *L);
const char *sandbox_folder(const struct sandbox *s); /* as given, NULL: no require */

/* Pushes the functions that a rewritten text takes, GUARD_KINDS of them. */
void sandbox_push_guards(lua_State *L);

/* Puts checks and costs before functions of the library, a table on top of the stack. */
void sandbox_wrap_calls(lua_State *L, const char *library);

/* Counts the steps of comparing two values. */
void sandbox_charge_comparison(lua_State *L, int a, int b);

/* Raises an error where the argument is no plain value (with `sizes`, no expression of dims either). */
void sandbox_expect_known(lua_State *L, int index, const char *function, bool sizes);

/* Raises an error that already has its place. */
int sandbox_raise(lua_State *L, const struct sandbox_error *error);

#endif
