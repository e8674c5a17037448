/* A template as it was read: its lines, its parameters, its holes, and the Lua text that they become. */
#ifndef TW_GEN_EMIT_TEMPLATE_TEMPLATE_H
#define TW_GEN_EMIT_TEMPLATE_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>

#include "spec/arena.h"
#include "spec/diag.h"

enum line_kind {
    LINE_TEXT,
    LINE_BLANK,
    LINE_COMMENT, /* //@ -- */
    LINE_LUA,
    LINE_PARAM,
    LINE_INCLUDE,
    LINE_OP,
    LINE_ROLE,
    LINE_ENDROLE,
    LINE_LOOP,
    LINE_ENDLOOP,
    LINE_WHEN,
    LINE_ENDWHEN,
    LINE_ELECT,
    LINE_ENDELECT
};

enum param_type { PARAM_INT, PARAM_TEXT, PARAM_BOOL, PARAM_TABLE, PARAM_TYPE_COUNT };
extern const char *const param_type_name[PARAM_TYPE_COUNT + 1]; /* NULL ends it */

enum { TEMPLATE_HELPER_PATHS = 4 };

/* a.b.c */
struct template_path {
    const char *text;  /* as written */
    const char **part; /* "a", "b", "c" */
    int parts;
    int column;        /* from 0 */
};

/* ${path} or ${helper(path, path)}. */
struct template_hole {
    int begin, end;     /* columns from 0: of the `$`, past the `}` */
    const char *helper; /* or NULL */
    struct template_path path[TEMPLATE_HELPER_PATHS];
    int path_count;
};

struct template_line {
    enum line_kind kind;
    const char *text;   /* no terminator */
    int length;         /* trailing white space left out */
    int indent;         /* leading white space */
    struct template_hole *hole;
    int hole_count;
    const char *word;   /* ROLE, LOOP: the name, holes in it; INCLUDE: the template's name; OP: the operation */
    int word_column;    /* from 0 */
    int word_end;       /* the column past it */
    int more;           /* TEXT, BLANK without holes: so many more lines of the kind follow, which its call emits too */
    int rest, rest_end; /* LOOP: what follows the name, WHEN: the condition; holes in it */
};

struct template_param {
    struct template_path path;
    enum param_type type;
    int line; /* from 0 */
    bool used;
};

struct template {
    const char *name;   /* "blocks/ring.cuh": in includes and #line */
    const char *shown;  /* in diagnostics: "templates/blocks/ring.cuh" */
    const char *text;   /* zero-terminated */
    size_t length;
    bool embedded;      /* part of the program */
    bool outermost;     /* what an expansion begins with: it sees the model */
    struct template_line *line;
    int line_count;
    struct template_param *param;
    int param_count;
    const char *lua;    /* one line for each of the template's; of a prepared one, compiled */
    size_t lua_length;
    struct template **included; /* by line, of includes: set by whoever loads them */
    int source;         /* of the sandbox, -1: not loaded */
    int diag_source;    /* of the diag_set, -1: none yet */
    int function;       /* Lua registry reference of the compiled text */
    struct template *next;
};

/* What a template may name without declaring it. */
struct template_names {
    const char *root;          /* the model's table; "" where it is not visible */
    const char *const *helper; /* ends with NULL */
    bool trusted;              /* it names nothing that is not there, and uses its parameters: not looked for */
};

/* Takes the text apart and checks what can be checked without running it: directives, holes, names that nothing
 * declares, parameters that nothing uses. Faults go to `diags`. Returns their number, or -1 out of memory. name, shown,
 * text, length are set by the caller, the rest is zero. */
int template_parse(struct template *t, const struct template_names *names, const char *kernel, struct arena *arena,
                   struct diag_set *diags);

/* The place of a line and column, both from 0 (column -1: unknown). Adds the template's source to diags. */
struct diag_loc template_loc(struct template *t, struct diag_set *diags, int line, int column);

/* Whether `a` is `b` or a table that holds it, or the other way round: tile and tile.m, tile.m and tile.m. */
bool template_paths_meet(const struct template_path *a, const struct template_path *b);

#endif
