/* The state of one expansion, shared by emit.c and helpers.c. */
#ifndef TW_GEN_EMIT_ENGINE_H
#define TW_GEN_EMIT_ENGINE_H

#include "emit/emit.h"
#include "emit/record/record.h"
#include "emit/template/output.h"
#include "emit/template/template.h"
#include "emit/template/text.h"
#include "spec/sandbox.h"

enum { ENGINE_INCLUDE_DEPTH = 16 };

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
    struct arena arena;
    struct sandbox *sandbox;
    struct template *first, **end;     /* every template that was loaded, in order */
    const char **helper_name;          /* ended by NULL */
    struct output output;
    struct recorder *recorder;         /* NULL: no roles */
    struct engine_frame *frame;
    struct record_place at;            /* the line that runs */
    struct emit_text indent, line;     /* of the includes around; of the line that is built */
    int model_ref;                     /* the model's table in Lua's registry */
    int reported_before;               /* faults of `diags` before the expansion */
    bool reported, no_memory;
};

/* Reports at a line of a template, and where the frames around include it. */
void engine_report(struct engine *e, struct record_place at, int column, const char *rule, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Leaves the expansion: after a report, without memory, or after one of the recorder's, which may be either. */
int engine_stop(lua_State *L);
int engine_stop_without_memory(lua_State *L, struct engine *e);
int engine_stop_recorded(lua_State *L, struct engine *e);

/* The beginning of a call that a template's line became: sets `at` and gives the line. */
struct engine *engine_enter(lua_State *L, const struct template_line **line);

/* Adds the line's text between two columns to `line`, its holes filled. */
void engine_fill(lua_State *L, struct engine *e, const struct template_line *l, int from, int to);

/* Calls that `//@ op` and the directives of roles, loops and guards become (directives.c). */
int engine_op(lua_State *L);
int engine_flow(lua_State *L);

/* Makes the helpers of the table and the caller's globals. Raises Lua errors. */
void engine_open_helpers(struct engine *e, lua_State *L);

#endif
