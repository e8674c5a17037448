/* Which axis each dim of a tensor is, where the spec does not say: what extents decide is inferred, what they leave
 * open is asked, for two dims of one constant extent can be exchanged without a word, and the product is another one.
 */
#include "read/read.h"

#include <string.h>

enum { MOST_OPEN = 16, MOST_STEPS = 20000 };

/* A family's tensor that may lie in any order, whose axes the spec does not write: `own` are they in the family's
 * order. */
struct open_tensor {
    struct spec_tensor *t;
    int own[SPEC_MAX_RANK];
};

struct inference {
    const struct spec_kernel *k;
    struct open_tensor open[MOST_OPEN];
    int count, steps;
    int pinned; /* the tensor that has pin, -1: none */
    int pin[SPEC_MAX_RANK];
    int found[MOST_OPEN][SPEC_MAX_RANK]; /* axes by dim */
};

static const struct spec_family_tensor *row_of(const struct spec_family *f, const char *name)
{
    for (const struct spec_family_tensor *row = f->tensor; row && row->name; row++)
        if (strcmp(row->name, name) == 0)
            return row;
    return NULL;
}

/* The next order of `count` numbers, false behind the last. */
static bool next_order(int *order, int count)
{
    int i = count - 2, j = count - 1;
    while (i >= 0 && order[i] > order[i + 1])
        i--;
    if (i < 0)
        return false;
    while (order[j] < order[i])
        j--;
    int kept = order[i];
    order[i] = order[j];
    order[j] = kept;
    for (int a = i + 1, b = count - 1; a < b; a++, b--) {
        kept = order[a];
        order[a] = order[b];
        order[b] = kept;
    }
    return true;
}

/* Gives the tensor's dims those axes, in `extent` too; false where an axis has another extent already. */
static bool take(const struct spec_tensor *t, const int *axis, int *extent)
{
    for (int d = 0; d < t->rank; d++) {
        if (axis[d] < 0)
            continue;
        if (extent[axis[d]] >= 0 && extent[axis[d]] != t->dim[d])
            return false;
        extent[axis[d]] = t->dim[d];
    }
    return true;
}

/* Axes for tensor `i` and those behind it, such that each axis has one extent: the first in the families' order. */
static bool solve(struct inference *f, int i, const int *extent)
{
    if (i == f->count)
        return true;
    const struct open_tensor *o = &f->open[i];
    int order[SPEC_MAX_RANK], axis[SPEC_MAX_RANK], next[SPEC_MAX_AXES];
    for (int d = 0; d < o->t->rank; d++)
        order[d] = d;
    do {
        if (f->steps++ > MOST_STEPS)
            return false;
        for (int d = 0; d < o->t->rank; d++)
            axis[d] = o->own[order[d]];
        if (f->pinned == i && memcmp(axis, f->pin, (size_t)o->t->rank * sizeof *axis) != 0)
            continue;
        memcpy(next, extent, sizeof next);
        if (take(o->t, axis, next) && solve(f, i + 1, next)) {
            memcpy(f->found[i], axis, sizeof axis);
            return true;
        }
    } while (next_order(order, o->t->rank));
    return false;
}

/* Whether both orders are one layout: they exchange dims of one element alone. */
static bool is_same(const struct inference *f, const struct spec_tensor *t, const int *one, const int *other)
{
    for (int d = 0; d < t->rank; d++) {
        int64_t value = 0;
        bool single = expr_is_int(&f->k->shape, t->dim[d], &value) && value == 1;
        if (one[d] != other[d] && !single)
            return false;
    }
    return true;
}

static const char *axes_text(struct reader *r, const int *axis, int count)
{
    const struct spec_kernel *k = reader_kernel(r);
    const char *text = "";
    for (int d = 0; d < count; d++) {
        text = arena_format(r->arena, "%s%s%s", text, d ? " " : "", k->axis[axis[d]]);
        reader_check(r, text);
    }
    return text;
}

/* Asks for the axes of tensor i where another order of them is possible, too. */
static void ask(struct reader *r, struct inference *f, int i, const int *extent, const int *chosen)
{
    const struct open_tensor *o = &f->open[i];
    int order[SPEC_MAX_RANK];
    for (int d = 0; d < o->t->rank; d++)
        order[d] = d;
    while (next_order(order, o->t->rank)) {
        f->pinned = i;
        f->steps = 0;
        for (int d = 0; d < o->t->rank; d++)
            f->pin[d] = o->own[order[d]];
        if (is_same(f, o->t, f->pin, chosen) || !solve(f, 0, extent))
            continue;
        reader_fault(
            r, o->t->name, AT_VALUE, "TENSOR-AXES",
            "dims of equal extents do not say which axis each is; write axes = \"%s\", or axes = \"%s\" where %s "
            "is innermost",
            axes_text(r, chosen, o->t->rank), axes_text(r, f->pin, o->t->rank),
            reader_kernel(r)->axis[f->pin[o->t->rank - 1]]);
        return;
    }
}

void infer_family_axes(struct reader *r, const struct spec_family *family)
{
    struct spec_kernel *k = reader_kernel(r);
    struct inference f = {.k = k, .pinned = -1};
    int extent[SPEC_MAX_AXES], chosen[MOST_OPEN][SPEC_MAX_RANK];
    for (int a = 0; a < SPEC_MAX_AXES; a++)
        extent[a] = -1;
    for (int i = 0; i < k->tensor_count; i++) {
        struct spec_tensor *t = &k->tensor[i];
        bool whole = t->rank > 0;
        for (int d = 0; d < t->rank; d++)
            whole &= t->axis[d] >= 0;
        const struct spec_family_tensor *row = row_of(family, t->name);
        if (whole && row && row->any_order && !t->axes_written && f.count < MOST_OPEN) {
            f.open[f.count].t = t;
            memcpy(f.open[f.count++].own, t->axis, sizeof t->axis);
        } else if (!take(t, t->axis, extent)) {
            return; /* check_tensors tells it */
        }
    }
    if (!solve(&f, 0, extent))
        return;
    memcpy(chosen, f.found, sizeof chosen);
    for (int i = 0; i < f.count; i++)
        ask(r, &f, i, extent, chosen[i]);
    for (int i = 0; i < f.count; i++)
        memcpy(f.open[i].t->axis, chosen[i], (size_t)f.open[i].t->rank * sizeof(int));
}

/* ---- what to write for a tensor that is to broadcast ------------------------------------------------------------- */

struct offer {
    struct reader *r;
    const struct spec_tensor *t;
    const int *extent; /* by axis, nodes of the kernel's graph, -1: it is no axis of the function */
    const char *text;
    int count;
};

/* Adds every way to give dims from d on an axis of their extent each. */
static void offer_axes(struct offer *o, int d, int *axis)
{
    if (d == o->t->rank) {
        o->text =
            arena_format(o->r->arena, "%s%saxes = \"%s\"", o->text, o->count ? " or " : "", axes_text(o->r, axis, d));
        reader_check(o->r, o->text);
        o->count++;
        return;
    }
    struct spec_kernel *k = reader_kernel(o->r);
    int node = made(o->r, expr_import(&k->graph, &k->shape, o->t->dim[d]));
    for (int a = 0; a < k->axis_count && o->count < 4; a++) {
        bool free = true;
        for (int e = 0; e < d; e++)
            free &= axis[e] != a;
        axis[d] = a;
        if (free && o->extent[a] == node)
            offer_axes(o, d + 1, axis);
    }
}

/* "[i.m]": an index for each dim, of axes along which the function runs. */
static const char *indices(struct reader *r, const struct spec_tensor *t, const int *extent)
{
    const struct spec_kernel *k = reader_kernel(r);
    const char *text = "";
    for (int d = 0, a = -1; d < t->rank; d++) {
        for (int next = 1; next <= k->axis_count; next++)
            if (extent[(a + next) % k->axis_count] >= 0) {
                a = (a + next) % k->axis_count;
                break;
            }
        text = arena_format(r->arena, "%s[i.%s]", text, a >= 0 ? k->axis[a] : "AXIS");
        reader_check(r, text);
    }
    return text;
}

int refuse_broadcast(struct reader *r, const struct spec_tensor *t, const int *extent)
{
    int axis[SPEC_MAX_RANK];
    struct offer o = {r, t, extent, "", 0};
    offer_axes(&o, 0, axis);
    if (o.count == 0)
        return luaL_error(r->L, "t.%s has no axes to broadcast along, and no axis has its extents; index it, as t.%s%s",
                          t->name, t->name, indices(r, t, extent));
    if (o.count == 1)
        return luaL_error(r->L, "t.%s has no axes to broadcast along; write %s in its tensor, or index it", t->name,
                          o.text);
    return luaL_error(
        r->L,
        "t.%s has no axes to broadcast along, and equal extents do not say which; write %s in its tensor, or "
        "index it",
        t->name, o.text);
}
