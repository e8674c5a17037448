/* The calls that lines become: how each begins; `//@ op`, roles, loops and guards: what their lines say, handed to the
 * recorder. */
#include <string.h>

#include <lua5.4/lauxlib.h>

#include "emit/engine.h"

/* The roots of the holes that a line's call hands over, or one table. */
static int argument_count(const struct template_line *l)
{
    int roots = 0;
    for (int h = 0; h < l->hole_count; h++)
        roots += l->hole[h].path_count;
    return l->kind == LINE_INCLUDE || l->kind == LINE_OP ? 1 : roots;
}

struct engine *engine_enter(lua_State *L, unsigned kinds, const struct template_line **line)
{
    struct engine *e = lua_touserdata(L, lua_upvalueindex(1));
    struct template *t = lua_touserdata(L, lua_upvalueindex(2));
    lua_Integer number = lua_isinteger(L, 1) ? lua_tointeger(L, 1) : -1;
    const struct template_line *l = number >= 0 && number < t->line_count ? &t->line[number] : NULL;
    bool table = l && (l->kind == LINE_INCLUDE || l->kind == LINE_OP);
    /* A template can get at the functions that its lines call; what they are given is looked at. */
    if (!l || !(kinds >> l->kind & 1) || lua_gettop(L) != 1 + argument_count(l) || (table && !lua_istable(L, 2)))
        luaL_error(L, "this is a function of the engine, which lines of the template call; a //@ line cannot");
    e->at = (struct record_place){t, (int)number};
    *line = l;
    return e;
}

int engine_stop_recorded(lua_State *L, struct engine *e)
{
    if (e->diags->reported == e->reported_before)
        return engine_stop_without_memory(L, e);
    e->reported = true;
    return engine_stop(L);
}

/* The line's text between two columns, holes filled. */
static const char *filled(lua_State *L, struct engine *e, const struct template_line *l, int from, int to)
{
    e->line.length = 0;
    engine_fill(L, e, l, from, to);
    const char *text = arena_copy(&e->arena, e->line.length ? e->line.data : "", e->line.length);
    if (!text)
        engine_stop_without_memory(L, e);
    return text;
}

int engine_flow(lua_State *L)
{
    const struct template_line *l;
    unsigned kinds = 0;
    for (enum line_kind kind = LINE_ROLE; kind <= LINE_ENDELECT; kind++)
        kinds |= 1u << kind;
    struct engine *e = engine_enter(L, kinds, &l);
    if (!e->recorder) {
        engine_report(e, e->at, -1, "TEMPLATE-ORDER", "there are no roles here; a Plan has them");
        return engine_stop(L);
    }
    const char *name = l->word ? filled(L, e, l, l->word_column, l->word_end) : "";
    const char *rest = l->rest_end > l->rest ? filled(L, e, l, l->rest, l->rest_end) : "";
    bool fine = l->kind == LINE_ROLE    ? record_role(e->recorder, e->at, name, l->word_column)
                : l->kind == LINE_LOOP  ? record_loop(e->recorder, e->at, name, rest)
                : l->kind == LINE_WHEN  ? record_when(e->recorder, e->at, rest)
                : l->kind == LINE_ELECT ? record_elect(e->recorder, e->at)
                                        : record_end(e->recorder, e->at, l->kind);
    return fine ? 0 : engine_stop_recorded(L, e);
}

/* The column of an argument's name. */
static int column_of(const struct template_line *l, const char *name)
{
    int length = (int)strlen(name);
    for (int i = l->word_end; i + length <= l->length; i++)
        if (memcmp(l->text + i, name, (size_t)length) == 0)
            return i;
    return l->word_column;
}

int engine_op(lua_State *L)
{
    const struct template_line *l;
    struct engine *e = engine_enter(L, 1u << LINE_OP, &l);
    if (!e->recorder)
        return 0;
    struct record_operation o = {.word = l->word};
    const char *by = NULL;
    const struct {
        const char *name, **text;
        bool *set;
        int *number;
    } field[] = {
        {"ring", &o.ring, NULL, NULL},
        {"tensor", &o.tensor, NULL, NULL},
        {"barrier", &o.barrier, NULL, NULL},
        {"by", &by, NULL, NULL},
        {"count", NULL, &o.count.set, &o.count.value},
        {"phase", NULL, &o.phase.set, &o.phase.value},
        {"id", NULL, &o.id.set, &o.id.value},
        {"threads", NULL, &o.threads.set, &o.threads.value},
    };
    enum { FIELDS = sizeof field / sizeof *field };
    int taken = 0, given = 0;
    for (int i = 0; i < FIELDS; i++) {
        lua_getfield(L, 2, field[i].name);
        bool number = lua_isinteger(L, -1) && lua_tointeger(L, -1) >= 0 && lua_tointeger(L, -1) <= 1 << 30;
        taken += !lua_isnil(L, -1);
        if (!lua_isnil(L, -1) && !(field[i].text ? lua_type(L, -1) == LUA_TSTRING : number)) {
            engine_report(e, e->at, column_of(l, field[i].name), "TEMPLATE-OP", "%s is %s", field[i].name,
                          field[i].text ? "a name; write a text" : "an int of 0 or more");
            return engine_stop(L);
        }
        if (field[i].text && !lua_isnil(L, -1) && !(*field[i].text = arena_text(&e->arena, lua_tostring(L, -1))))
            return engine_stop_without_memory(L, e);
        if (field[i].number && !lua_isnil(L, -1)) {
            *field[i].set = true;
            *field[i].number = (int)lua_tointeger(L, -1);
        }
        lua_pop(L, 1);
    }
    for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1))
        given++;
    if (given != taken) {
        engine_report(
            e, e->at, l->word_column, "TEMPLATE-OP",
            "//@ op takes ring, tensor, barrier, count, phase, id, threads and by, and something else is here");
        return engine_stop(L);
    }
    o.one = by && strcmp(by, "one") == 0;
    if (by && !o.one) {
        engine_report(e, e->at, column_of(l, "by"), "TEMPLATE-OP", "by = \"one\", or nothing where all threads call");
        return engine_stop(L);
    }
    return record_op(e->recorder, e->at, &o) ? 0 : engine_stop_recorded(L, e);
}
