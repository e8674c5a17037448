/* The template engine: a template and a tree of decided facts (a Plan) give a text.
 *
 * THE LANGUAGE
 *
 * A template reads as what it emits. Three things in it are the engine's: lines that begin, after white space, with
 * `//@`; holes `${...}` in the other lines, the text lines; and nothing else.
 *
 *     //@ -- The ring's functions.                    a comment, nothing is emitted
 *     //@ param ring table                            parameters, before everything else, blank lines aside
 *     //@ param ring.stages int
 *     //@ param dtype text
 *
 *     //@ for _, t in ipairs(ring.tensor) do          any Lua: each template line becomes one Lua line, so that Lua's
 *     static __device__ void ${t.name}_load(int n) {  own messages name the template's line
 *         int stage = n % ${ring.stages};
 *         //@ include "blocks/tma.cuh" tensor = t, boxes = t.boxes
 *     }
 *     //@ end
 *
 * Parameters    `//@ param PATH TYPE`, TYPE one of int, text, bool, table. In the template that is expanded, PATH is
 *               looked up in the model (`tile.m`, `launch.block`, `entry`); in an included one, in the include's
 *               arguments. It is then a Lua local of that name (`tile` a table with the field `m`). A path that is not
 *               there, a value of another type, and a parameter that no line uses are errors.
 * Holes         `${path}`: path is name or name.field.field, and its first name a parameter, a Lua local visible there
 *               or the model's table; or a helper that takes no arguments. `${helper(path, path)}`: a listed helper
 *               of such paths. No expressions. The value is an integer or a text; a boolean, table, float or nothing is
 *               an error. A text of several lines keeps the indentation of its line; a line whose holes leave nothing
 *               of it is dropped.
 * Lua           The sandbox of the specs: no io, os, load. The model is a table named by emit_model.root (`plan`),
 *               visible in the template that is expanded; an included one sees its parameters alone. Tables of the
 *               model are read-only; pairs goes in sorted order. Arrays are indexed from 1, and by name where their
 *               objects have one: plan.tensor.A.dtype, plan.ring.ab.stages; there a missing name is nil, so that
 *               `if plan.tensor.C then` asks. Elsewhere a field that does not exist is an error (`has(t, "field")`
 *               asks). A Plan's values are nested tables by their dotted names: plan.tile.m. A name that was not
 *               declared `local` is an error, read or written.
 * Include       `//@ include "NAME" a = LUA, b = LUA` expands another template here, indented by this line's own white
 *               space. The arguments are a Lua table constructor's; a line that ends in a comma goes on in the next
 *               `//@` line. An argument that no parameter of NAME takes is an error.
 * Operations    `//@ op WORD a = LUA, b = LUA` before a function of a block: what a call of it does. Arguments as for
 *               an include. record.h lists the words.
 * Roles         `//@ role "producer"` ... `//@ endrole`: the program of the Plan's role. In it the directives
 *                   //@ elect                      one thread
 *                   //@ loop "k" step < steps      a `for` of the counter `step`, from 0
 *                   //@ loop "tiles" while CALL    a `while`
 *                   //@ when step > 0              an `if`
 *               each with its //@ endelect, //@ endloop, //@ endwhen, emit what they say, and operations stand under no
 *               other control flow, so that what is recorded is what runs: what is settled afterwards
 *               (template/settle.h) leaves a user's own lines as they are. Names, bounds and conditions may have holes.
 *               A role may be opened again; what it does is appended.
 *
 * An expansion has bounds, and says so where it meets one: 10 million steps of Lua and 64 MiB of its memory, 16 MiB of
 * text, 256 MiB of memory beside, 256 parameters, files of 1 MiB, includes 16 deep.
 *
 * The output keeps indentation. Blank lines never follow each other, begin or end the text, follow `{` or precede `}`.
 * A branch that the expansion left empty (`if (...) {` without call or assignment in its condition, or `} else {`) is
 * dropped. The first lines are `${banner}`:
 *
 *     // tilewright 1: kernel gemm_bf16, entry gemm_bf16, arch sm_90a
 *     // tile.m 128, tile.n 256, tile.k 64, ...
 *     // 197632 bytes of shared memory, 384 threads, ring ab of 4 stages
 *
 * With line_directives, `#line N "/tilewright/templates/NAME"` stands before a line of code where the compiler's count
 * would differ from the template's, and nowhere else.
 *
 * HELPERS (helpers.c holds the table; `emit_helpers` lists them with a line of doc)
 *     hex(n) log2(n) ceil_div(a, b) align_up(a, b) bytes(dtype) swizzle(name) ctype(dtype) is_real(dtype) upper(s)
 *     csv(list) has(table, name) banner() functions() debug_ms() profile() copy_space()
 *     deeper() shallower()   lines from here on are indented by four blanks more, or less; called in Lua lines
 */
#ifndef TW_GEN_EMIT_EMIT_H
#define TW_GEN_EMIT_EMIT_H

#include <stdbool.h>
#include <stddef.h>

#include <lua5.4/lua.h>

#include "plan/plan.h"
#include "plan/sink.h"
#include "spec/arena.h"
#include "spec/diag.h"

struct shelf; /* emit/shelf.h */

/* A template that is no file: found before the embedded ones. Not copied. */
struct emit_source {
    const char *name, *text;
    size_t length;
};

/* A helper of the caller's, beside those of the table; it may take the place of one. Its function finds `context` by
 * emit_helper_context. */
struct emit_helper {
    const char *name;
    lua_CFunction function;
    void *context;
};

/* Helpers that a caller may add, and emit_template's own: fused.h, place_text.h. */
enum { EMIT_MAX_HELPERS = 16 };

struct emit_options {
    const char *user_folder;  /* a user's template is found beside its spec; NULL: only embedded ones */
    bool line_directives;
    int generator_version;
    const struct emit_source *source;
    int source_count;
    const struct emit_helper *helper;
    int helper_count;
    int debug_ms;              /* how long a wait of a debug build may last; 0: no debug build */
    int profile;               /* stamps that an instance of a role has room for; 0: no profile build */
    int pass, passes;          /* of profile builds that stamp a part each (emit/stamps.h); passes 0: 1 */
    int64_t instruction_limit; /* of all Lua lines of one expansion; 0: 10 million, of the program's own
                                  templates none */
    struct memory memory;      /* everything but diagnostics and the shelf is allocated by it */
    struct shelf *shelf;       /* engines of expansions before this one; NULL: all templates are read anew */
};

/* The facts that a template reads. */
struct emit_model {
    const char *root;   /* name of its table in Lua lines: "plan" */
    void (*walk)(const void *model, const struct sink *sink); /* may be left by longjmp: it holds nothing to free */
    const void *model;
    const char *kernel; /* for diagnostics, or NULL */
    const struct plan *recorded; /* roles are compared with this Plan's; NULL: the templates have no roles */
    struct plan *derived;        /* the same, or NULL: its roles without steps get those that the text has, proved */
};

/* Expands the template. *text is zero-terminated, from options->memory (length + 1 bytes, the caller frees it), NULL
 * after a failure. Returns 0; 1 where the template is at fault (in diags); 3 out of memory. Thread-safe: there is no
 * global state. */
int emit_expand(const char *template_name, const struct emit_model *model, const struct emit_options *options,
                char **text, size_t *length, struct diag_set *diags);

/* emit_expand over one Plan, as `plan`, with its roles recorded and compared. */
int emit_template(const char *template_name, const struct plan *plan, const struct emit_options *options, char **text,
                  size_t *length, struct diag_set *diags);

/* emit_template of a Plan whose roles have no steps: gives them those that the text amounts to, and proves the whole by
 * plan_check and plan_check_protocol, whose faults are told at the template's lines. */
int emit_steps(const char *template_name, struct plan *plan, const struct emit_options *options, char **text,
               size_t *length, struct diag_set *diags);

/* The context of the helper that is running, and memory for it that lives as long as the expansion. */
void *emit_helper_context(lua_State *L);
struct arena *emit_helper_arena(lua_State *L);

/* The helpers of the table, ended by name == NULL. */
struct emit_helper_doc {
    const char *name, *arguments, *doc;
    lua_CFunction function;
};
extern const struct emit_helper_doc emit_helpers[];

#endif
