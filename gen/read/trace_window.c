/* im2col(t.X, pixels, tap, ..., channels, windows): a tile whose rows are windows of an image. */
#include "read/trace.h"

#include <string.h>

enum { MOST_PIXELS = 1 << 15 };

static const char form[] = "im2col(t.X, span(pixel, length), tap, ..., span(c, length), { taps = { 3, 3 } })";

/* A whole number of the windows' table at the top of the stack, which is popped. */
static int number(struct trace *t, const char *field, int least)
{
    int64_t value;
    if (!exact_integer(t->r->L, -1, &value) || value < least || value > MOST_PIXELS)
        sandbox_fault(t->r->L, "PROGRAM-WINDOW", "im2col", "%s is a whole number from %d to %d, this is %s", field,
                      least, MOST_PIXELS, describe(t->r, -1));
    lua_pop(t->r->L, 1);
    return (int)value;
}

/* A field of the table: one number for all spatial dims, or a list of one for each, which for padding may be a list of
 * what stands before and after. */
static void read_field_of(struct trace *t, int table, const char *field, int dims, int least, int *to, int *after)
{
    lua_State *L = t->r->L;
    const int type = lua_getfield(L, table, field), at = lua_gettop(L);
    for (int i = 0; i < dims; i++) {
        if (type == LUA_TNIL) {
            to[i] = after ? 0 : 1;
        } else if (type != LUA_TTABLE) {
            lua_pushvalue(L, at);
            to[i] = number(t, field, least);
        } else if (lua_rawlen(L, at) != (lua_Unsigned)dims) {
            sandbox_fault(L, "PROGRAM-WINDOW", "im2col",
                          "%s has %d entries, and the image has %d spatial dims; write one number for each, or one for "
                          "all",
                          field, (int)lua_rawlen(L, at), dims);
        } else if (lua_rawgeti(L, at, i + 1) == LUA_TTABLE && after && lua_rawlen(L, -1) == 2) {
            lua_rawgeti(L, -1, 2);
            after[i] = number(t, field, least);
            lua_rawgeti(L, -1, 1);
            to[i] = number(t, field, least);
            lua_pop(L, 1);
            continue;
        } else {
            to[i] = number(t, field, least);
        }
        if (after)
            after[i] = to[i];
    }
    lua_settop(L, at - 1);
}

static struct spec_window read_windows(struct trace *t, int table, int dims)
{
    static const char *const known[] = {"dilation", "padding", "stride", "taps", NULL};
    struct spec_window w = {.dims = dims};
    int count;
    if (!lua_istable(t->r->L, table))
        sandbox_fault(t->r->L, "PROGRAM-WINDOW", "im2col", "im2col ends with the windows, this is %s; write %s",
                      describe(t->r, table), form);
    struct key *key = sorted_keys(t->r, table, &count);
    bool taps = false;
    for (int i = 0; i < count; i++) {
        bool hit = false;
        for (int n = 0; key[i].name && known[n]; n++)
            hit |= strcmp(known[n], key[i].name) == 0;
        if (!hit)
            sandbox_fault(t->r->L, "PROGRAM-WINDOW", "im2col", "windows have no %s; they have %s",
                          key[i].name ? key[i].name : "item at a position", reader_list(t->r, known, " and "));
        taps |= strcmp(key[i].name, "taps") == 0;
    }
    if (!taps)
        sandbox_fault(t->r->L, "PROGRAM-WINDOW", "im2col",
                      "windows have taps, so many along each spatial dim; write %s", form);
    read_field_of(t, table, "taps", dims, 1, w.taps, NULL);
    read_field_of(t, table, "stride", dims, 1, w.step, NULL);
    read_field_of(t, table, "dilation", dims, 1, w.dilation, NULL);
    read_field_of(t, table, "padding", dims, 0, w.before, w.after);
    return w;
}

int trace_im2col(lua_State *L)
{
    struct trace *t = trace_of(L, "im2col");
    struct trace_access a = trace_read_access(t, "im2col", 1, 1, false);
    const struct spec_tensor *tensor = trace_read(t, a.tensor, "im2col");
    const int last = tensor->rank - 1, dims = tensor->rank - 2;
    bool fits = dims >= 1 && dims <= WINDOW_DIMS && a.span[0] && a.at[0].limit < 0 && a.span[last];
    for (int d = 1; d < last; d++)
        fits = fits && !a.span[d];
    if (!fits)
        sandbox_fault(L, "PROGRAM-WINDOW", "im2col",
                      "im2col takes images n, h, w, c (or of 1 or 3 spatial dims): a span of pixels of the result, a "
                      "tap of each spatial dim, a span of channels; write %s",
                      form);
    struct program_op op = trace_op(PROGRAM_LOAD);
    op.window = read_windows(t, lua_gettop(L), dims);
    trace_lay_out(t, "im2col", &a, 0);
    a.tile.valid_row = -1; /* what is outside of the images is 0 */
    for (int d = 0; d < last; d++)
        if (tensor->axis[d] >= 0)
            a.tile.index[tensor->axis[d]] = -1;
    op.tensor = a.tensor;
    memcpy(op.at, a.at, sizeof op.at);
    op.tile = a.tile;
    op.tile.dtype = tensor->dtype;
    struct value v = trace_result(t, trace_append(t, &op, "im2col"));
    push_value(t->r, &v);
    return 1;
}
