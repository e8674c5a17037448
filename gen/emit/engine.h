/* The state of one expansion, shared by emit.c, load.c, directives.c, shelf.c and helpers.c. */
#ifndef TW_GEN_EMIT_ENGINE_H
#define TW_GEN_EMIT_ENGINE_H

#include "emit/emit.h"
#include "emit/record/record.h"
#include "emit/template/fold.h"
#include "emit/template/output.h"
#include "emit/template/template.h"
#include "emit/template/text.h"
#include "spec/sandbox.h"

enum {
    ENGINE_INCLUDE_DEPTH = 16,
    ENGINE_INDENT = 256,           /* columns */
    ENGINE_MOST_TEXT = 16 << 20,   /* bytes of what an expansion gives */
    ENGINE_MOST_MEMORY = 256 << 20 /* bytes of its arena */
};

/* A template that is being expanded, and where the one around it includes it. */
struct engine_frame {
    struct template *template;
    struct record_place from; /* template NULL: the first */
    struct engine_frame *up;
    int depth;
};

struct engine {
    const struct emit_options *options;
    const struct emit_model *model;
    struct diag_set *diags;
    struct memory_budget budget; /* what it may allocate beside Lua, which has its own limit */
    struct arena arena; /* of this expansion, within the budget */
    size_t text_bytes;  /* given so far */
    struct output output;
    struct recorder *recorder; /* NULL: no roles */
    struct engine_frame *frame;
    struct record_place at;            /* the line that runs */
    struct emit_text indent, line;     /* of the includes around; of the line that is built */
    bool block;                        /* `line` is many lines of literals, done as they are */
    int reported_before;               /* faults of `diags` before the expansion */
    bool reported, no_memory;

    /* What expansions may have one after the other (shelf.h). */
    struct memory memory;
    struct arena kept; /* of templates and names */
    struct sandbox *sandbox;
    struct template *first, **end;     /* every template that was loaded, in order */
    struct template *outermost;        /* the one that is expanded */
    const char **helper_name;          /* ended by NULL */
    struct folds *folds;               /* lines that were folded */
    const char *root;                  /* name of the model's table */
    bool own;                          /* it has expanded nothing but templates of the program */
    int model_ref;                     /* that table in Lua's registry; 0: none yet */
    struct engine *next;               /* on the shelf */
};

/* Reports at a line of a template, and where the frames around include it. */
void engine_report(struct engine *e, struct record_place at, int column, const char *rule, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Leaves the expansion: after a report, without memory, or after one of the recorder's, which may be either. */
int engine_stop(lua_State *L);
int engine_stop_without_memory(lua_State *L, struct engine *e);
int engine_stop_recorded(lua_State *L, struct engine *e);

/* The beginning of a call that a template's line became: sets `at` and gives the line, which is of one of `kinds`
 * (bits). Raises an error where the arguments are not those of such a call. */
struct engine *engine_enter(lua_State *L, unsigned kinds, const struct template_line **line);

/* Tells that the budget is out, and not memory (budget.c). */
void engine_report_budget(struct engine *e);

/* Counts bytes that a template makes towards the limits of steps and of text. */
void engine_charge(lua_State *L, struct engine *e, size_t bytes);

/* Adds the line's text between two columns to `line`, its holes filled. */
void engine_fill(lua_State *L, struct engine *e, const struct template_line *l, int from, int to);

/* Calls that `//@ op` and the directives of roles, loops and guards become (directives.c). */
int engine_op(lua_State *L);
int engine_flow(lua_State *L);

/* Makes the helpers of the table globals, once in a state, and the caller's, for each expansion. Raise Lua errors. */
void engine_open_helpers(struct engine *e, lua_State *L);
void engine_open_own_helpers(struct engine *e, lua_State *L);

/* Keeps the model's table, which lies at index, for helpers. */
void engine_set_model(struct engine *e, lua_State *L, int index);

/* Reads a template and what it includes, once each; from is the include's line. NULL: reported, or out of memory. */
struct template *engine_load(struct engine *e, const char *name, struct record_place from, int column);

/* Compiles a template's text, where that is still to be done. A status of sandbox_load; the function is left on Lua's
 * stack. */
int engine_compile(struct engine *e, struct template *t, struct sandbox_error *error);

void engine_close(struct engine *e);

#endif
