/* Which values plain Lua must not decide by: spec/guard.h. */
#include "read/trace.h"

enum sandbox_value trace_value_at(lua_State *L, int index)
{
    static const char *const operand[] = {TYPE_TENSORS, TYPE_INDICES, TYPE_AT, TYPE_SIZES,
                                          TYPE_SPAN,    TYPE_RANGE,   TYPE_ALL};
    struct reader *r = reader_of(L);
    const struct value *v = luaL_testudata(L, index, TYPE_EXPRESSION);
    if (v && v->epoch == 0)
        return r && r->epoch ? SANDBOX_NUMBER : SANDBOX_SIZE;
    if (v) { /* of another function than the one that runs: as little known, and refused in expressions */
        bool own = r && r->epoch == v->epoch;
        return own && reader_kernel(r)->graph.node[v->node].type != EXPR_PRED ? SANDBOX_NUMBER : SANDBOX_CONDITION;
    }
    if (luaL_testudata(L, index, TYPE_ELEMENT))
        return SANDBOX_NUMBER;
    int top = lua_gettop(L);
    bool is_operand = false;
    for (size_t i = 0; i < sizeof operand / sizeof *operand && lua_getmetatable(L, index); i++) {
        luaL_getmetatable(L, operand[i]);
        is_operand |= lua_rawequal(L, -1, -2);
        lua_settop(L, top);
    }
    return is_operand ? SANDBOX_OPERAND : SANDBOX_PLAIN;
}
