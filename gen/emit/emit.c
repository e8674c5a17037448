#include "emit/emit.h"

#include <stdint.h>

#include "emit/fragment_reads.h"
#include "emit/fragment_text.h"
#include "emit/included_globals.h"
#include "emit/place_text.h"
#include "emit/stamps.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <lua5.4/lauxlib.h>

#include "emit/engine.h"
#include "emit/lua_sink.h"
#include "emit/shelf.h"

/* ---- faults ---------------------------------------------------------------------------------------------------- */

static void add_fault(struct engine *e, struct record_place at, int column, const char *rule, const char *text)
{
    struct diag_loc loc = {.file = -1};
    if (at.template)
        loc = template_loc(at.template, e->diags, at.line, column);
    else if (e->model->recorded)
        loc = e->model->recorded->loc;
    diag_report(e->diags, DIAG_ERROR, loc, e->model->kernel, NULL, rule, "%s", text);
    for (const struct engine_frame *f = e->frame; f && f->from.template && at.template; f = f->up)
        if (f->from.template != at.template || f->from.line != at.line)
            diag_report(e->diags, DIAG_NOTE, template_loc(f->from.template, e->diags, f->from.line, -1),
                        e->model->kernel, NULL, NULL, "'%s' is included here", f->template->name);
    e->reported = true;
}

void engine_report(struct engine *e, struct record_place at, int column, const char *rule, const char *format, ...)
{
    char text[768];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    add_fault(e, at, column, rule, text);
}

/* Leaves the expansion after a report or without memory. */
int engine_stop(lua_State *L)
{
    return luaL_error(L, "stopped");
}

int engine_stop_without_memory(lua_State *L, struct engine *e)
{
    e->no_memory = true;
    return engine_stop(L);
}

/* The column of the first name in quotes of `text` that the line holds, -1 where there is none. */
static int quoted_column(const struct template_line *l, const char *text)
{
    const char *open = text, *close;
    for (; (open = strchr(open, '\'')) && (close = strchr(open + 1, '\'')); open = close) {
        int length = (int)(close - open - 1);
        for (int i = l->indent; length > 0 && i + length <= l->length; i++) {
            bool begins = i == 0 || !(isalnum((unsigned char)l->text[i - 1]) || l->text[i - 1] == '_');
            bool ends =
                i + length == l->length || !(isalnum((unsigned char)l->text[i + length]) || l->text[i + length] == '_');
            if (begins && ends && memcmp(l->text + i, open + 1, (size_t)length) == 0)
                return i;
        }
    }
    return -1;
}

/* What Lua reports, as a diagnostic at the template's own line and column. */
static void report_lua(struct engine *e, const struct sandbox_error *error)
{
    struct record_place at = e->at;
    for (struct template *t = e->first; t && error->file >= 0; t = t->next) {
        int last = t->line_count ? t->line_count - 1 : 0, line = error->line > 0 ? error->line - 1 : 0;
        if (t->source == error->file)
            at = (struct record_place){t, line < last ? line : last};
    }
    if (at.template && e->frame && e->frame->template != at.template)
        e->frame = NULL; /* a function of another template that was passed to this one */
    char text[sizeof error->text + 32];
    const char *generated = strstr(error->text, "near '__");
    if (!generated && at.template && at.template->line[at.line].kind != LINE_LUA)
        generated = strstr(error->text, "near ';'");
    if (generated) /* a call that stands for a text line */
        snprintf(text, sizeof text, "%.*snear the text of this line", (int)(generated - error->text), error->text);
    else
        snprintf(text, sizeof text, "%s", error->text);
    int column = at.template ? quoted_column(&at.template->line[at.line], text) : -1;
    add_fault(e, at, column, error->rule ? error->rule : "LUA-RUN", text);
}

/* ---- holes ----------------------------------------------------------------------------------------------------- */

static const char *type_name(lua_State *L, int index)
{
    switch (lua_type(L, index)) {
    case LUA_TNUMBER:
        return lua_isinteger(L, index) ? "an int" : "a float";
    case LUA_TSTRING:
        return "a text";
    case LUA_TBOOLEAN:
        return "a bool";
    case LUA_TNIL:
        return "nothing";
    case LUA_TTABLE:
        return "a table";
    default:
        return "a function";
    }
}

/* The key of the model's table at index that is nearest to `word`, or NULL. */
static const char *nearest_key(lua_State *L, struct engine *e, int index, const char *word)
{
    const char *near = NULL;
    int top = lua_gettop(L);
    if (model_push_keys(L, index)) {
        lua_Integer count = (lua_Integer)lua_rawlen(L, -1);
        const char **key = arena_alloc(&e->arena, ((size_t)count + 1) * sizeof *key);
        int keys = 0;
        for (lua_Integer i = 1; key && i <= count; i++) {
            lua_rawgeti(L, top + 1, i);
            if (lua_type(L, -1) == LUA_TSTRING)
                key[keys++] = lua_tostring(L, -1);
            lua_settop(L, top + 1);
        }
        near = key ? diag_suggest(word, key) : NULL;
    }
    lua_settop(L, top);
    return near;
}

/* Reports that a part of the path is not there: what it should be in is no table, or has no such field. */
static void refuse_part(lua_State *L, struct engine *e, const struct template_path *path, int part, bool in_table)
{
    int shown = (int)strlen(path->part[0]);
    for (int i = 1; i < part; i++)
        shown += 1 + (int)strlen(path->part[i]);
    const char *name = path->part[part];
    if (!in_table) {
        engine_report(e, e->at, path->column, "TEMPLATE-TYPE", "'%.*s' is %s, it has no field '%s'", shown, path->text,
                      type_name(L, -1), name);
    } else {
        const char *near = nearest_key(L, e, lua_gettop(L) - 1, name);
        engine_report(e, e->at, path->column, "TEMPLATE-NAME", "'%.*s' has no field '%s'%s%s%s", shown, path->text,
                      name, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    engine_stop(L);
}

/* Pushes the value of the path whose root lies at index. */
static void push_path(lua_State *L, struct engine *e, const struct template_path *path, int index)
{
    luaL_checkstack(L, 8, NULL);
    lua_pushvalue(L, index);
    for (int i = 1; i < path->parts; i++) {
        bool table = lua_istable(L, -1);
        if (table) {
            lua_pushstring(L, path->part[i]);
            model_get(L, -2);
        }
        if (!table || lua_isnil(L, -1))
            refuse_part(L, e, path, i, table);
        lua_replace(L, -2);
    }
}

/* Adds the value of a hole, whose roots lie from *index on, to the line; moves *index past them. A value of several
 * lines goes on with the line's indentation. */
static void add_hole(lua_State *L, struct engine *e, const struct template_line *l, const struct template_hole *hole,
                     int *index)
{
    int top = lua_gettop(L);
    if (hole->helper) {
        lua_getglobal(L, hole->helper);
        for (int i = 0; i < hole->path_count; i++)
            push_path(L, e, &hole->path[i], (*index)++);
        lua_call(L, hole->path_count, 1);
    } else {
        push_path(L, e, &hole->path[0], (*index)++);
        if (hole->path[0].parts == 1 && lua_iscfunction(L, -1))
            lua_call(L, 0, 1);
    }
    const char *name = hole->helper ? hole->helper : hole->path[0].text;
    if (lua_isinteger(L, -1)) {
        text_integer(&e->line, lua_tointeger(L, -1));
        lua_settop(L, top);
        return;
    }
    if (lua_type(L, -1) != LUA_TSTRING) {
        const char *advice = lua_type(L, -1) == LUA_TNUMBER    ? "; write // for a whole quotient"
                             : lua_type(L, -1) == LUA_TBOOLEAN ? "; choose a text in a //@ if"
                                                               : "";
        engine_report(e, e->at, hole->begin + 2, "TEMPLATE-TYPE", "'%s' is %s, a hole takes an int or a text%s", name,
                      type_name(L, -1), advice);
        engine_stop(L);
    }
    size_t length;
    const char *text = lua_tolstring(L, -1, &length), *end = text + length;
    engine_charge(L, e, length);
    if (length > 4096) {
        text_reserve(&e->line, length + length / 8);
        e->block = *text == '"' && hole->begin == l->indent && hole->end == l->length;
    }
    for (const char *stop_at; (stop_at = memchr(text, '\n', (size_t)(end - text))); text = stop_at + 1) {
        engine_charge(L, e, e->indent.length + (size_t)l->indent);
        text_add(&e->line, text, (size_t)(stop_at - text) + 1);
        text_add(&e->line, e->indent.data, e->indent.length);
        text_add(&e->line, l->text, (size_t)l->indent);
    }
    text_add(&e->line, text, (size_t)(end - text));
    lua_settop(L, top);
}

/* ---- what the generated calls do; upvalues: the engine, the template ------------------------------------------- */

void engine_fill(lua_State *L, struct engine *e, const struct template_line *l, int from, int to)
{
    int index = 2;
    for (int h = 0; h < l->hole_count && l->hole[h].begin < to; h++) {
        if (l->hole[h].begin < from) {
            index += l->hole[h].path_count;
            continue;
        }
        text_add(&e->line, l->text + from, (size_t)(l->hole[h].begin - from));
        add_hole(L, e, l, &l->hole[h], &index);
        from = l->hole[h].end;
    }
    text_add(&e->line, l->text + from, (size_t)(to - from));
    if (e->line.failed)
        engine_stop_without_memory(L, e);
}

/* A line as it stands in the output: `at` says where it is from. False after a report or without memory. */
static bool put_line(struct engine *e, bool continued, const char *text, size_t length)
{
    if (e->recorder)
        return record_text(e->recorder, e->at, continued, text, length);
    output_line(&e->output, e->at.template, e->at.line, continued, text, length);
    return !e->output.failed;
}

/* Lines without holes. */
static int emit_plain(lua_State *L, struct engine *e, const struct template_line *l)
{
    for (const struct template_line *last = l + l->more;; l++, e->at.line++) {
        engine_charge(L, e, e->indent.length + (size_t)l->length + 1);
        if (l->kind == LINE_BLANK) {
            output_blank(&e->output);
        } else if (e->indent.length == 0) {
            if (!put_line(e, false, l->text, (size_t)l->length))
                return engine_stop_recorded(L, e);
        } else {
            e->line.length = 0;
            text_add(&e->line, e->indent.data, e->indent.length);
            text_add(&e->line, l->text, (size_t)l->length);
            if (e->line.failed || !put_line(e, false, e->line.data, e->line.length))
                return engine_stop_recorded(L, e);
        }
        if (l == last)
            return 0;
    }
}

static int emit_line(lua_State *L)
{
    const struct template_line *l;
    struct engine *e = engine_enter(L, 1u << LINE_TEXT | 1u << LINE_BLANK, &l);
    if (l->hole_count == 0)
        return emit_plain(L, e, l);
    e->line.length = 0;
    e->block = false;
    text_add(&e->line, e->indent.data, e->indent.length);
    engine_charge(L, e, e->indent.length + (size_t)l->length + 1);
    engine_fill(L, e, l, 0, l->length);
    if (e->block && !e->recorder && e->own) {
        output_block(&e->output, e->at.template, e->at.line, &e->line);
        return e->output.failed ? engine_stop_without_memory(L, e) : 0;
    }

    char *text = e->line.data, *end = text + e->line.length;
    for (bool first = true; text < end; first = false) {
        char *next = memchr(text, '\n', (size_t)(end - text)), *last = next ? next : end;
        while (last > text && (last[-1] == ' ' || last[-1] == '\t'))
            last--;
        if (last > text) {
            size_t length = (size_t)(last - text);
            if (e->at.template && e->at.template->embedded) /* a user's text says what it means */
                length = folds_line(e->folds, text, length);
            if (!put_line(e, !first, text, length))
                return engine_stop_recorded(L, e);
        } else if (!first && next) {
            output_blank(&e->output);
        }
        text = next ? next + 1 : end;
    }
    return 0;
}

static void expand(lua_State *L, struct engine *e, struct template *t, int source);

/* Compiles a template that was loaded, where that was not done before. */
static void compile(lua_State *L, struct engine *e, struct template *t)
{
    struct sandbox_error error;
    if (t->function)
        return;
    luaL_checkstack(L, 4, NULL);
    int status = engine_compile(e, t, &error);
    if (status == SANDBOX_FAULT)
        report_lua(e, &error);
    if (status != SANDBOX_OK)
        status == SANDBOX_FAULT ? engine_stop(L) : engine_stop_without_memory(L, e);
    if (!t->outermost) {
        included_globals_push(L);
        lua_setupvalue(L, -2, 1);
    }
    t->function = luaL_ref(L, LUA_REGISTRYINDEX);
}

/* Loads and compiles what a line of the program's own template includes. */
static struct template *load_included(lua_State *L, struct engine *e, const struct template_line *l)
{
    struct template *t = engine_load(e, l->word, e->at, l->word_column);
    if (!t || e->reported || e->no_memory)
        engine_stop(L);
    compile(L, e, t);
    return e->at.template->included[e->at.line] = t;
}

static int include(lua_State *L)
{
    const struct template_line *l;
    struct engine *e = engine_enter(L, 1u << LINE_INCLUDE, &l);
    struct template *included = e->at.template->included[e->at.line];
    if (!included)
        included = load_included(L, e, l);
    struct engine_frame *outer = e->frame, frame = {included, e->at, outer, outer->depth + 1};
    if (frame.depth > ENGINE_INCLUDE_DEPTH) {
        engine_report(e, e->at, -1, "TEMPLATE-LIMIT", "includes are nested more than %d deep", ENGINE_INCLUDE_DEPTH);
        return engine_stop(L);
    }
    struct engine_frame *kept = arena_alloc(&e->arena, sizeof *kept); /* outlives an error */
    if (!kept)
        return engine_stop_without_memory(L, e);
    *kept = frame;
    e->frame = kept;
    size_t length = e->indent.length;
    text_add(&e->indent, l->text, (size_t)l->indent);
    if (e->indent.failed)
        return engine_stop_without_memory(L, e);
    expand(L, e, included, 2);
    e->indent.length = length;
    e->frame = outer;
    return 0;
}

/* ---- expansion ------------------------------------------------------------------------------------------------- */

static bool has_type(lua_State *L, int index, enum param_type type)
{
    static const int lua_kind[PARAM_TYPE_COUNT] = {LUA_TNUMBER, LUA_TSTRING, LUA_TBOOLEAN, LUA_TTABLE};
    return lua_type(L, index) == lua_kind[type] && (type != PARAM_INT || lua_isinteger(L, index));
}

/* Pushes the parameters as one table by first name, taken from the table at source: the model, or the include's
 * arguments. Faults are the parameter's line in the first case, the include's in the second. */
static void bind(lua_State *L, struct engine *e, struct template *t, int source)
{
    static const char *const article[PARAM_TYPE_COUNT] = {"an int", "a text", "a bool", "a table"};
    struct record_place from = e->frame->from;
    bool fine = true;
    lua_newtable(L);
    int bound = lua_gettop(L);
    for (int i = 0; i < t->param_count; i++) {
        const struct template_param *p = &t->param[i];
        const char *missing = NULL, *near = NULL;
        lua_pushvalue(L, source);
        for (int k = 0; k < p->path.parts && !missing; k++) {
            lua_pushstring(L, p->path.part[k]);
            if (!model_get(L, -2) || lua_isnil(L, -1)) {
                missing = p->path.part[k];
                near = nearest_key(L, e, lua_gettop(L) - 1, missing);
            }
            lua_remove(L, -2);
        }
        struct record_place at = from.template ? from : (struct record_place){t, p->line};
        int column = from.template ? -1 : p->path.column;
        if (missing && from.template)
            engine_report(e, at, column, "TEMPLATE-NAME",
                          "argument '%s' of '%s' is missing; its line %d declares it as %s", p->path.text, t->name,
                          p->line + 1, article[p->type]);
        else if (missing)
            engine_report(e, at, column, "TEMPLATE-NAME", "'%s' has no '%s'%s%s%s", e->model->root, p->path.text,
                          near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
        else if (!has_type(L, -1, p->type) && from.template)
            engine_report(e, at, column, "TEMPLATE-TYPE", "argument '%s' of '%s' is %s; its line %d declares it as %s",
                          p->path.text, t->name, type_name(L, -1), p->line + 1, article[p->type]);
        else if (!has_type(L, -1, p->type))
            engine_report(e, at, column, "TEMPLATE-TYPE", "'%s' is %s, declared as %s", p->path.text, type_name(L, -1),
                          article[p->type]);
        else {
            const char *root = p->path.part[0];
            if (p->path.parts == 1) {
                lua_setfield(L, bound, root);
            } else {
                if (lua_getfield(L, bound, root) == LUA_TNIL) {
                    lua_pop(L, 1);
                    model_push_object(L, &e->arena, root);
                    lua_pushvalue(L, -1);
                    lua_setfield(L, bound, root);
                }
                lua_insert(L, -2);
                model_set_path(L, -2, p->path.text + strlen(root) + 1);
            }
            lua_settop(L, bound);
            continue;
        }
        fine = false;
        lua_settop(L, bound);
    }
    if (!fine)
        engine_stop(L);
}

/* The arguments that no parameter takes: the first in sorted order is reported. */
static void check_arguments(lua_State *L, struct engine *e, struct template *t, int arguments)
{
    const char *unknown = NULL;
    for (lua_pushnil(L); lua_next(L, arguments); lua_pop(L, 1)) {
        const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
        bool known = false;
        for (int i = 0; i < t->param_count; i++)
            known = known || strcmp(t->param[i].path.part[0], name) == 0;
        if (!known && (!unknown || strcmp(name, unknown) < 0))
            unknown = name;
    }
    if (!unknown)
        return;
    const char **candidate = arena_alloc(&e->arena, ((size_t)t->param_count + 1) * sizeof *candidate);
    if (!candidate)
        engine_stop_without_memory(L, e);
    for (int i = 0; i < t->param_count; i++)
        candidate[i] = t->param[i].path.part[0];
    const char *near = diag_suggest(unknown, candidate);
    if (!*unknown)
        engine_report(e, e->frame->from, -1, "TEMPLATE-NAME", "an argument of '%s' has no name; write name = value",
                      t->name);
    else
        engine_report(e, e->frame->from, -1, "TEMPLATE-NAME", "'%s' has no parameter '%s'%s%s%s", t->name, unknown,
                      near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    engine_stop(L);
}

/* Expands the innermost frame's template; the table at source holds what its parameters are bound to. */
static void expand(lua_State *L, struct engine *e, struct template *t, int source)
{
    static const lua_CFunction function[] = {emit_line, include, engine_flow, engine_op};
    int top = lua_gettop(L);
    luaL_checkstack(L, 24, NULL);
    if (e->frame->from.template)
        check_arguments(L, e, t, source);
    lua_rawgeti(L, LUA_REGISTRYINDEX, t->function);
    for (int i = 0; i < 4; i++) {
        lua_pushlightuserdata(L, e);
        lua_pushlightuserdata(L, t);
        lua_pushcclosure(L, function[i], 2);
    }
    bind(L, e, t, source);
    lua_call(L, 5, 0);
    lua_settop(L, top);
}

static const char arena_key; /* registry: the expansion's arena */

struct arena *emit_helper_arena(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &arena_key);
    struct arena *arena = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return arena;
}

/* Called once in a state, with the engine and the compiled templates in order of loading. */
static int prepare(lua_State *L)
{
    struct engine *e = lua_touserdata(L, 1);
    int count = lua_gettop(L), index = 2;
    luaL_checkstack(L, 24, NULL);
    lua_getupvalue(L, 2, 1);
    included_globals_open(L, e->model->root);
    included_globals_push(L);
    for (struct template *t = e->first; t && index <= count; t = t->next, index++) {
        lua_pushvalue(L, index);
        if (!t->outermost) {
            lua_pushvalue(L, count + 1);
            lua_setupvalue(L, -2, 1);
        }
        t->function = luaL_ref(L, LUA_REGISTRYINDEX);
    }
    lua_settop(L, 0);
    lua_pushlightuserdata(L, &e->arena);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &arena_key);
    engine_open_helpers(e, L);
    return 0;
}

/* Called with the engine, for each expansion. */
static int run(lua_State *L)
{
    struct engine *e = lua_touserdata(L, 1);
    lua_settop(L, 0);
    struct lua_sink walk;
    struct sink sink = lua_sink_begin(&walk, L, &e->arena, e->model->root, !e->own);
    e->model->walk(e->model->model, &sink);
    engine_set_model(e, L, 1);
    lua_pushvalue(L, 1);
    sandbox_set_global(e->sandbox, e->model->root);
    engine_open_own_helpers(e, L);
    included_globals_renew(L);
    compile(L, e, e->outermost);
    expand(L, e, e->outermost, 1);
    return 0;
}

/* Gives the Plan its steps and proves them. Returns the number of faults, -1 out of memory. */
static int derive(struct engine *e, struct plan *plan)
{
    int first = e->diags->count, before = e->diags->reported, faults = record_steps(e->recorder, plan);
    if (faults != 0)
        return faults;
    plan_check(plan, e->diags);
    if (e->diags->reported == before)
        plan_check_protocol(plan, e->diags);
    record_relocate(e->recorder, plan, e->diags, first);
    if (e->diags->reported == before)
        record_positions(e->recorder);
    return e->diags->reported - before;
}

/* Takes the outcome of a call into the engine. */
static bool went_well(struct engine *e, int status, const struct sandbox_error *error)
{
    e->no_memory = e->no_memory || (status == SANDBOX_FAULT && !e->reported && e->budget.refused);
    if (status == SANDBOX_FAULT && !e->reported && !e->no_memory)
        report_lua(e, error);
    e->no_memory = e->no_memory || status == SANDBOX_NO_MEMORY;
    return status == SANDBOX_OK;
}

/* Compiles the templates that were loaded. */
static bool compile_all(struct engine *e)
{
    struct sandbox_error error = {.file = -1};
    lua_State *L = sandbox_lua(e->sandbox);
    int count = 0, worst = SANDBOX_OK;
    for (struct template *t = e->first; t; t = t->next)
        count++;
    if (!lua_checkstack(L, count + 8))
        return !(e->no_memory = true);
    lua_pushcfunction(L, prepare);
    lua_pushlightuserdata(L, e);
    for (struct template *t = e->first; t && worst != SANDBOX_NO_MEMORY; t = t->next) {
        int status = engine_compile(e, t, &error);
        worst = status > worst ? status : worst;
        if (status == SANDBOX_FAULT) {
            e->at = (struct record_place){t, 0};
            report_lua(e, &error);
        }
    }
    e->no_memory = e->no_memory || worst == SANDBOX_NO_MEMORY;
    return worst == SANDBOX_OK && went_well(e, sandbox_call(e->sandbox, count + 1, 0, &error), &error);
}

/* Runs the templates, compiled. */
static void expand_all(struct engine *e)
{
    struct sandbox_error error = {.file = -1};
    struct engine_frame top = {.template = e->outermost};
    e->frame = &top;
    e->at = (struct record_place){e->outermost, 0};
    bool good = went_well(e, sandbox_protect(e->sandbox, run, e, &error), &error);
    e->frame = NULL;
    if (good && e->recorder) {
        int faults = record_finish(e->recorder);
        if (faults == 0 && e->model->derived)
            faults = derive(e, e->model->derived);
        e->no_memory = faults < 0;
        e->reported = faults > 0;
    }
}

/* ---- engines --------------------------------------------------------------------------------------------------- */

static bool name_helpers(struct engine *e)
{
    int count = 0, own = e->options->helper_count;
    while (emit_helpers[count].name)
        count++;
    e->helper_name = arena_alloc(&e->kept, (size_t)(count + own + 1) * sizeof *e->helper_name);
    for (int i = 0; e->helper_name && i < count; i++)
        e->helper_name[i] = emit_helpers[i].name;
    for (int i = 0; e->helper_name && i < own; i++)
        if (!(e->helper_name[count + i] = arena_text(&e->kept, e->options->helper[i].name)))
            return false;
    return e->helper_name;
}

void engine_close(struct engine *e)
{
    struct memory memory = e->memory;
    sandbox_close(e->sandbox);
    arena_free(&e->arena);
    arena_free(&e->kept);
    memory_resize(&memory, e, sizeof *e, 0);
}

/* The part of an engine that one expansion has to itself. */
static void begin(struct engine *e, const struct emit_model *model, const struct emit_options *options,
                  struct diag_set *diags)
{
    e->options = options;
    e->model = model;
    e->diags = diags;
    e->reported_before = diags->reported;
    e->recorder = NULL;
    e->frame = NULL;
    e->at = (struct record_place){0};
    e->text_bytes = 0;
    e->budget.refused = false;
    e->output = (struct output){.arena = &e->arena};
    e->indent = e->line = (struct emit_text){.arena = &e->arena};
    for (struct template *t = e->first; t; t = t->next)
        t->diag_source = -1;
}

/* Loads the template, and what it includes where it is a user's. */
static bool load_outermost(struct engine *e, const char *template_name)
{
    const char *name = arena_text(&e->kept, template_name);
    e->no_memory = e->no_memory || !name;
    e->outermost = name ? engine_load(e, name, (struct record_place){0}, -1) : NULL;
    return e->outermost && !e->no_memory && !e->reported;
}

/* Loads the templates, opens a sandbox for them and compiles them. */
static bool open(struct engine *e, const char *template_name)
{
    e->root = arena_text(&e->kept, e->model->root);
    e->folds = arena_alloc(&e->kept, sizeof *e->folds);
    if (!e->root || !e->folds || !name_helpers(e))
        return !(e->no_memory = true);
    e->folds->arena = &e->kept;
    if (!load_outermost(e, template_name))
        return false;
    enum { MOST_STEPS = 10000000 }; /* of a user's text */
    e->own = e->outermost->embedded;
    const int64_t given = e->options->instruction_limit, limit = given || e->own ? given : MOST_STEPS;
    const struct sandbox_options sandbox = {.instruction_limit = limit, .memory = e->memory, .own_text = e->own};
    if (e->model->recorded)
        e->recorder = record_open(e->model->recorded, e->first, &e->output, &e->arena, e->diags);
    e->no_memory = e->model->recorded && !e->recorder;
    if (e->no_memory || !(e->sandbox = sandbox_open(&sandbox)))
        return !(e->no_memory = true);
    return compile_all(e);
}

/* Writes the output to where the text stays, unless it becomes longer than expected. NULL out of memory. */
static char *write_output(struct engine *e, size_t *length)
{
    const size_t bytes = output_bytes(&e->output), room = bytes + bytes / 8 + 1;
    char *data = memory_resize(&e->memory, NULL, 0, room), *text = NULL;
    if (!data)
        return NULL;
    struct emit_text result = {.arena = &e->arena, .data = data, .capacity = room};
    output_write(&e->output, e->options->line_directives, &result);
    if (!result.failed && result.data == data) {
        text = memory_resize(&e->memory, data, room, result.length + 1);
        data = text ? NULL : data;
    } else if (!result.failed && (text = memory_resize(&e->memory, NULL, 0, result.length + 1)) != NULL) {
        memcpy(text, result.data, result.length);
    }
    if (text) {
        text[result.length] = '\0';
        *length = result.length;
    }
    if (data)
        memory_resize(&e->memory, data, room, 0);
    return text;
}

/* Expands what the engine has open. */
static void finish(struct engine *e, char **text, size_t *length)
{
    expand_all(e);
    if (e->no_memory || e->reported)
        return;
    *text = write_output(e, length);
    e->no_memory = !*text;
}

int emit_expand(const char *template_name, const struct emit_model *model, const struct emit_options *options,
                char **text, size_t *length, struct diag_set *diags)
{
    struct engine *e = options->shelf ? shelf_take_engine(options->shelf, model, options) : NULL;
    bool opened = e;
    *text = NULL;
    *length = 0;
    if (!e) {
        e = memory_resize(&options->memory, NULL, 0, sizeof *e);
        if (!e)
            return 3;
        *e = (struct engine){.memory = options->memory,
                             .budget = {.memory = options->memory, .most = ENGINE_MOST_MEMORY}};
        e->arena.memory = memory_within(&e->budget);
        e->kept.memory = options->memory;
        e->end = &e->first;
    }
    begin(e, model, options, diags);
    if (opened ? load_outermost(e, template_name) : open(e, template_name))
        finish(e, text, length);
    if (e->no_memory && e->budget.refused)
        engine_report_budget(e);
    e->no_memory = e->no_memory || diags->out_of_memory;
    int status = e->no_memory ? 3 : e->reported ? 1 : 0;
    arena_free(&e->arena);
    if (status || !options->shelf || !shelf_give_engine(options->shelf, e))
        engine_close(e);
    return status;
}

static void walk_plan(const void *plan, const struct sink *sink)
{
    plan_write(plan, sink);
}

/* emit_expand of a Plan; derived: roles without steps get theirs there. */
static int expand_plan(const char *template_name, const struct plan *plan, struct plan *derived,
                       const struct emit_options *options, char **text, size_t *length, struct diag_set *diags)
{
    const struct emit_model model = {.root = "plan",
                                     .walk = walk_plan,
                                     .model = plan,
                                     .kernel = plan->kernel,
                                     .recorded = plan->derived ? NULL : plan,
                                     .derived = derived};
    void *context = (void *)(uintptr_t)plan;
    struct place_context places = {.plan = plan};
    struct fragment_context fragments = {.plan = plan};
    struct stamp_context stamps = {plan, options};
    enum { OWN = 10 };
    struct emit_helper helper[EMIT_MAX_HELPERS] = {{"place_step", emit_place_step, &places},
                                                   {"place_uniform", emit_place_uniform, &places},
                                                   {"place_pairs", emit_place_pairs, &places},
                                                   {"fragment_step", emit_fragment_step, &fragments},
                                                   {"fragment_uniform", emit_fragment_uniform, &fragments},
                                                   {"fragment_item", emit_fragment_item, &fragments},
                                                   {"fragment_foretold", emit_fragment_foretold, &fragments},
                                                   {"fragment_sends_line", emit_fragment_sends_line, &fragments},
                                                   {"fragment_reads", emit_fragment_reads, context},
                                                   {"stamp", emit_stamp, &stamps}};
    struct emit_options with_helper = *options;
    int count = OWN;
    for (int i = 0; i < options->helper_count && count < EMIT_MAX_HELPERS; i++)
        helper[count++] = options->helper[i];
    with_helper.helper = helper;
    with_helper.helper_count = count;
    return emit_expand(template_name, &model, &with_helper, text, length, diags);
}

int emit_template(const char *template_name, const struct plan *plan, const struct emit_options *options, char **text,
                  size_t *length, struct diag_set *diags)
{
    return expand_plan(template_name, plan, NULL, options, text, length, diags);
}

int emit_steps(const char *template_name, struct plan *plan, const struct emit_options *options, char **text,
               size_t *length, struct diag_set *diags)
{
    return expand_plan(template_name, plan, plan, options, text, length, diags);
}
