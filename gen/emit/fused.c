#include "emit/fused.h"

#include <string.h>

#include <lua5.4/lauxlib.h>

#include "emit/expr_cuda.h"

struct lane {
    const struct plan *plan;
    int number;
};

/* True where the tensor is read along its own axes. */
static bool along_axes(const struct plan *p, const struct expr_node *node)
{
    const struct plan_tensor *t = &p->tensor[node->integer];
    for (int i = 0; i < node->rank; i++) {
        const struct expr_node *index = &p->fused.node[p->fused.index[node->first_index + i]];
        if (index->op != EXPR_INDEX || !t->axis[i] || strcmp(p->axis[index->integer], t->axis[i]) != 0)
            return false;
    }
    return true;
}

static void leaf(void *context, const struct expr_node *node, const char *const *at, struct emit_text *out)
{
    const struct lane *lane = context;
    const struct plan *p = lane->plan;
    if (node->op == EXPR_ACC) {
        text_format(out, "v%d", lane->number);
    } else if (node->op == EXPR_SCALAR) {
        text_format(out, "args.%s", p->scalar[node->integer].name);
    } else if (node->op == EXPR_SYMBOL) {
        text_format(out, "(long long)args.%s", p->symbol[node->integer]);
    } else if (node->op == EXPR_INDEX) {
        const char *axis = p->axis[node->integer];
        text_format(out, lane->number && strcmp(axis, "n") == 0 ? "((long long)%s + 1)" : "(long long)%s", axis);
    } else if (along_axes(p, node)) {
        text_format(out, "%s%d", p->tensor[node->integer].name, lane->number);
    } else {
        text_format(out, "%s_at(args", p->tensor[node->integer].name);
        for (int i = 0; i < node->rank; i++)
            text_format(out, ", %s", at[i]);
        text_string(out, ")");
    }
}

static const struct plan *helper_plan(lua_State *L)
{
    return emit_helper_context(L);
}

static int node_of(const struct plan *p, const char *output)
{
    for (int i = 0; p->epilogue.set && i < p->epilogue.output_count; i++)
        if (strcmp(p->tensor[p->epilogue.output[i].tensor].name, output) == 0)
            return p->epilogue.output[i].node;
    return -1;
}

int emit_fused_text(lua_State *L)
{
    const struct plan *p = helper_plan(L);
    const char *output = luaL_checkstring(L, 1);
    struct lane lane = {p, (int)luaL_checkinteger(L, 2)};
    luaL_argcheck(L, lane.number == 0 || lane.number == 1, 2, "no lane 0 or 1");
    int root = node_of(p, output);
    luaL_argcheck(L, root >= 0, 1, "the epilogue has no such output");
    struct emit_text text = {.arena = emit_helper_arena(L)};
    const struct expr_cuda_names names = {.context = &lane, .leaf = leaf, .prefix = "e_"};
    const char *result = NULL;
    int status = expr_print_cuda(&p->fused, &root, 1, &names, &text, &result);
    if (status == 0)
        text_format(&text, "%sv%d = %s;", text.length ? "\n" : "", lane.number, result);
    if (status || text.failed)
        return luaL_error(L, "out of memory");
    lua_pushlstring(L, text.data, text.length);
    return 1;
}
