/* One walk over a Plan, field by field, into a sink: JSON for people and programs, Lua tables for templates.
 *
 * Keys are the names of the struct's fields. Where the struct holds an index, the name of what it points to is written
 * (null where it points to nothing), so that a reader needs no table of numbers. Symbolic sizes are texts in Lua's
 * syntax. A sink may leave by longjmp: nothing here is allocated.
 */
#include "plan/plan.h"
#include "plan/visible.h"

#include <stdio.h>

static const char *const param_word[] = {"map", "pointer", "dim", "stride", "scalar", "workspace"};
static const char *const expr_word[EXPR_OP_COUNT] = {
#define EXPR_OP(id, name, arity, rule, spelling) #id,
#include "spec/expr_ops.def"
#undef EXPR_OP
};

static void integers(const struct sink *s, const char *key, const int *value, int count)
{
    sink_array(s, key);
    for (int i = 0; i < count; i++)
        sink_integer(s, NULL, value[i]);
    sink_end(s);
}

/* A symbolic size; null where the Plan holds none (-1). */
static void size(const struct plan *p, const struct sink *s, const char *key, int node)
{
    if (node < 0 || node >= p->graph.count) {
        sink_text(s, key, NULL);
        return;
    }
    char room[1];
    size_t length = expr_print_lua(&p->graph, node, p->symbol, room, sizeof room);
    char expression[length + 1];
    expr_print_lua(&p->graph, node, p->symbol, expression, length + 1);
    sink_text(s, key, expression);
}

static void sizes(const struct plan *p, const struct sink *s, const char *key, const int *node, int count)
{
    sink_array(s, key);
    for (int i = 0; i < count; i++)
        size(p, s, NULL, node[i]);
    sink_end(s);
}

static const char *tensor_name(const struct plan *p, int tensor)
{
    return tensor >= 0 && tensor < p->tensor_count ? p->tensor[tensor].name : NULL;
}

static const char *ring_name(const struct plan *p, int ring)
{
    return ring >= 0 && ring < p->ring_count ? p->ring[ring].name : NULL;
}

static const char *shared_name(const struct plan *p, int shared)
{
    return shared >= 0 && shared < p->shared_count ? p->shared[shared].name : NULL;
}

static void window(const struct sink *s, const struct spec_window *w)
{
    sink_object(s, "window");
    integers(s, "taps", w->taps, w->dims);
    integers(s, "step", w->step, w->dims);
    integers(s, "dilation", w->dilation, w->dims);
    integers(s, "before", w->before, w->dims);
    integers(s, "after", w->after, w->dims);
    sink_end(s);
}

static void fixed_strides(const struct plan_tensor *t, const struct sink *s)
{
    bool any = false;
    for (int d = 0; d < t->rank; d++)
        any = any || t->fixed[d];
    if (!any)
        return;
    sink_array(s, "fixed");
    for (int d = 0; d < t->rank; d++)
        sink_integer(s, NULL, t->fixed[d]);
    sink_end(s);
}

static void tensors(const struct plan *p, const struct sink *s)
{
    sink_array(s, "tensor");
    for (int i = 0; i < p->tensor_count; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        sink_object(s, NULL);
        sink_text(s, "name", t->name);
        sink_text(s, "dtype", tw_dtype_name(t->dtype));
        sink_integer(s, "rank", t->rank);
        sizes(p, s, "dim", t->dim, t->rank);
        sizes(p, s, "stride", t->stride, t->rank);
        fixed_strides(t, s);
        sink_array(s, "axis");
        for (int d = 0; d < t->rank; d++)
            sink_text(s, NULL, t->axis[d]);
        sink_end(s);
        sink_boolean(s, "out", t->out);
        if (t->pointers)
            sink_boolean(s, "pointers", true);
        if (t->maps)
            sink_integer(s, "maps", t->maps);
        sink_text(s, "access", plan_access_word[t->access]);
        integers(s, "tile", t->tile, t->rank);
        integers(s, "box", t->box, t->rank);
        sink_integer(s, "boxes", t->boxes);
        sink_integer(s, "box_bytes", t->box_bytes);
        if (t->gathered)
            sink_integer(s, "gathered", t->gathered);
        if (t->run > 1)
            sink_integer(s, "run", t->run);
        if (t->window.dims)
            window(s, &t->window);
        sink_integer(s, "multicast", t->multicast);
        if (t->cache)
            sink_text(s, "cache", t->cache);
        if (t->prefetch)
            sink_boolean(s, "prefetch", true);
        sink_text(s, "swizzle", tw_swizzles[t->swizzle].name);
        sink_integer(s, "tile_bytes", t->tile_bytes);
        sink_integer(s, "align", t->align);
        sink_boolean(s, "whole_rows", t->whole_rows);
        sink_text(s, "map", t->map >= 0 && t->map < p->map_count ? p->map[t->map].name : NULL);
        sink_end(s);
    }
    sink_end(s);
    sink_array(s, "map");
    for (int i = 0; i < p->map_count; i++) {
        const struct plan_map *m = &p->map[i];
        sink_object(s, NULL);
        sink_text(s, "name", m->name);
        sink_text(s, "tensor", tensor_name(p, m->tensor));
        sink_integer(s, "rank", m->rank);
        integers(s, "box", m->box, m->rank);
        sink_text(s, "swizzle", tw_swizzles[m->swizzle].name);
        sink_integer(s, "l2_promotion", m->l2_promotion);
        sink_end(s);
    }
    sink_end(s);
}

static void parameters(const struct plan *p, const struct sink *s)
{
    sink_array(s, "scalar");
    for (int i = 0; i < p->scalar_count; i++) {
        const struct spec_scalar *c = &p->scalar[i];
        char value[40];
        snprintf(value, sizeof value, "%.17g", c->value);
        sink_object(s, NULL);
        sink_text(s, "name", c->name);
        sink_text(s, "dtype", tw_dtype_name(c->dtype));
        sink_text(s, "value", value);
        sink_end(s);
    }
    sink_end(s);
    sink_array(s, "param");
    for (int i = 0; i < p->param_count; i++) {
        const struct plan_param *q = &p->param[i];
        bool has_tensor = q->kind != PLAN_PARAM_DIM && q->kind != PLAN_PARAM_SCALAR && q->kind != PLAN_PARAM_WORKSPACE;
        sink_object(s, NULL);
        sink_text(s, "name", q->name);
        sink_text(s, "kind", param_word[q->kind]);
        sink_text(s, "type", q->type);
        sink_text(s, "tensor", has_tensor ? tensor_name(p, q->tensor) : NULL);
        sink_integer(s, "index", q->index);
        sink_integer(s, "offset", q->offset);
        sink_integer(s, "bytes", q->bytes);
        sink_integer(s, "align", q->align);
        if (q->kind == PLAN_PARAM_MAP && p->tensor[q->tensor].maps)
            sink_integer(s, "maps", p->tensor[q->tensor].maps);
        sink_end(s);
    }
    sink_end(s);
    sink_integer(s, "param_bytes", p->param_bytes);
}

static void memory(const struct plan *p, const struct sink *s)
{
    sink_array(s, "shared");
    for (int i = 0; i < p->shared_count; i++) {
        const struct plan_shared *m = &p->shared[i];
        sink_object(s, NULL);
        sink_text(s, "name", m->name);
        sink_integer(s, "offset", m->offset);
        sink_integer(s, "bytes", m->bytes);
        sink_integer(s, "align", m->align);
        sink_integer(s, "count", m->count);
        sink_end(s);
    }
    sink_end(s);
    sink_integer(s, "shared_align", p->shared_align);
    sink_array(s, "ring");
    for (int i = 0; i < p->ring_count; i++) {
        const struct plan_ring *r = &p->ring[i];
        sink_object(s, NULL);
        sink_text(s, "name", r->name);
        sink_integer(s, "stages", r->stages);
        sink_text(s, "filler", plan_filler_word[r->filler]);
        sink_array(s, "tensor");
        for (int t = 0; t < r->tensor_count && t < 8; t++)
            sink_text(s, NULL, tensor_name(p, r->tensor[t]));
        sink_end(s);
        sink_integer(s, "full_arrivals", r->full_arrivals);
        sink_integer(s, "tx_bytes", r->tx_bytes);
        sink_integer(s, "empty_arrivals", r->empty_arrivals);
        if (r->peers)
            sink_integer(s, "peers", r->peers);
        if (r->into)
            sink_text(s, "into", p->ring[plan_number(r->into)].name);
        sink_text(s, "full_shared", shared_name(p, r->full_shared));
        sink_text(s, "empty_shared", shared_name(p, r->empty_shared));
        sink_end(s);
    }
    sink_end(s);
    sink_array(s, "barrier");
    for (int i = 0; i < p->barrier_count; i++) {
        sink_object(s, NULL);
        sink_text(s, "name", p->barrier[i].name);
        sink_integer(s, "id", p->barrier[i].id);
        sink_integer(s, "threads", p->barrier[i].threads);
        if (p->barrier[i].turns)
            sink_boolean(s, "turns", true);
        sink_end(s);
    }
    sink_end(s);
}

static const char *place_name(const struct plan *p, int place)
{
    return place >= 0 && place < p->place_count ? p->place[place].name : NULL;
}

static void places(const struct plan *p, const struct sink *s)
{
    sink_array(s, "place");
    for (int i = 0; i < p->place_count; i++) {
        const struct plan_place *q = &p->place[i];
        sink_object(s, NULL);
        sink_text(s, "name", q->name);
        sink_text(s, "kind", plan_place_word[q->kind]);
        sink_text(s, "dtype", tw_dtype_name(q->dtype));
        sink_integer(s, "rows", q->rows);
        sink_integer(s, "cols", q->cols);
        sink_integer(s, "registers", q->registers);
        sink_integer(s, "bytes", q->bytes);
        sink_text(s, "shared", q->kind == PLAN_PLACE_SHARED ? shared_name(p, q->shared) : NULL);
        if (q->block)
            sink_boolean(s, "block", true);
        if (q->layout) {
            sink_integer(s, "layout", plan_number(q->layout));
            sink_integer(s, "turns", q->turns);
            sink_boolean(s, "packed", q->packed);
            if (q->narrow)
                sink_boolean(s, "narrow", q->narrow);
            sink_integer(s, "more", q->more);
        }
        sink_end(s);
    }
    sink_end(s);
}

/* What only programs have. */
static void layouts(const struct plan *p, const struct sink *s)
{
    if (p->item_count == 0)
        return;
    sink_array(s, "layout");
    for (int i = 0; i < p->layout_count; i++) {
        const struct plan_layout *l = &p->layout[i];
        sink_object(s, NULL);
        sink_integer(s, "rows", l->rows);
        sink_integer(s, "cols", l->cols);
        sink_integer(s, "down", l->down);
        sink_integer(s, "across", l->across);
        sink_integer(s, "vector", l->vector);
        sink_integer(s, "apart", l->apart);
        if (l->alike)
            sink_integer(s, "alike", l->alike);
        sink_end(s);
    }
    sink_end(s);
    if (p->item_ring)
        sink_text(s, "item_ring", ring_name(p, plan_number(p->item_ring)));
    sink_array(s, "loop");
    for (int i = 0; i < p->loop_count; i++) {
        sink_object(s, NULL);
        sink_text(s, "name", p->loop[i].name);
        sink_integer(s, "from", p->loop[i].from);
        sink_integer(s, "to", p->loop[i].to);
        sink_integer(s, "step", p->loop[i].step);
        if (p->loop[i].first)
            sink_integer(s, "first", plan_number(p->loop[i].first));
        if (p->loop[i].parts)
            sink_integer(s, "parts", p->loop[i].parts);
        sink_end(s);
    }
    sink_end(s);
    sink_array(s, "item");
    for (int i = 0; i < p->item_count; i++) {
        sink_object(s, NULL);
        sink_text(s, "axis", p->axis[p->item[i].axis]);
        sink_integer(s, "tile", p->item[i].tile);
        sink_integer(s, "extent", p->item[i].extent);
        if (p->item[i].filled)
            sink_integer(s, "filled", plan_number(p->item[i].filled));
        if (p->item[i].filled && p->item[i].along >= 0)
            sink_text(s, "along", p->axis[p->item[i].along]);
        if (p->item[i].share)
            sink_boolean(s, "share", true);
        sink_end(s);
    }
    sink_end(s);
}

/* What few steps have is written where they have it. */
static void step_details(const struct plan *p, const struct sink *s, const struct plan_step *step)
{
    const struct {
        const char *key;
        int value, none;
    } number[] = {
        {"node", plan_number(step->node), -1},
        {"node2", plan_number(step->node2), -1},
        {"back", step->back, 0},
        {"ahead", step->ahead, 0},
        {"least", step->least, 0},
        {"less", step->less, 0},
        {"most", step->most, 0},
        {"part", step->part, 0},
        {"block", plan_number(step->block), -1},
        {"share", step->share, 0},
        {"reuse", step->reuse, 0},
        {"only", step->only == PLAN_NEXT ? -1 : plan_number(step->only), -1},
        {"layout", plan_number(step->layout), -1},
        {"rows", step->rows, 0},
        {"cols", step->cols, 0},
        {"shift", step->shift, 0},
        {"more", step->more, 0},
        {"skip", step->skip, 0},
        {"skip2", step->skip2, 0},
        {"loop", plan_number(step->loop), -1},
        {"inside", plan_number(step->inside), -1},
        {"first", plan_number(step->first), -1},
        {"end", plan_number(step->end), -1},
    };
    if (step->place)
        sink_text(s, "place", place_name(p, plan_number(step->place)));
    if (step->place2)
        sink_text(s, "place2", place_name(p, plan_number(step->place2)));
    if (step->window)
        sink_text(s, "window", place_name(p, plan_number(step->window)));
    if (step->window2)
        sink_text(s, "window2", place_name(p, plan_number(step->window2)));
    if (step->to)
        sink_text(s, "to", tensor_name(p, plan_number(step->to)));
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        if (number[i].value != number[i].none)
            sink_integer(s, number[i].key, number[i].value);
    if (step->why)
        sink_text(s, "why", step->why);
    if (step->kept)
        sink_boolean(s, "kept", true);
    if (step->partial)
        sink_boolean(s, "partial", true);
    if (step->only == PLAN_NEXT)
        sink_boolean(s, "next", true);
    if (step->once)
        sink_boolean(s, "once", true);
    if (step->adds)
        sink_boolean(s, "adds", true);
    if (step->reduction) {
        sink_text(s, "reduction", plan_reduction_word[step->reduction]);
        sink_boolean(s, "over_rows", step->over_rows);
    }
    int rank = SPEC_MAX_RANK;
    while (rank > 0 && !step->at[rank - 1])
        rank--;
    if (rank > 0) {
        sink_array(s, "at");
        for (int d = 0; d < rank; d++)
            sink_integer(s, NULL, plan_number(step->at[d]));
        sink_end(s);
    }
}

static void roles(const struct plan *p, const struct sink *s)
{
    sink_array(s, "role");
    for (int i = 0; i < p->role_count; i++) {
        const struct plan_role *r = &p->role[i];
        sink_object(s, NULL);
        sink_text(s, "name", r->name);
        sink_integer(s, "instances", r->instances);
        if (r->resting)
            sink_integer(s, "resting", r->resting);
        sink_integer(s, "first_warp", r->first_warp);
        sink_integer(s, "warps", r->warps);
        sink_integer(s, "registers", r->registers);
        if (r->one_thread)
            sink_boolean(s, "one_thread", true);
        sink_array(s, "step");
        for (int n = 0; n < r->step_count; n++) {
            const struct plan_step *step = &r->step[n];
            sink_object(s, NULL);
            sink_text(s, "op", plan_op_word[step->op]);
            sink_text(s, "ring", ring_name(p, plan_step_ring(step)));
            sink_text(s, "tensor", tensor_name(p, plan_step_tensor(step)));
            sink_integer(s, "count", step->count);
            sink_integer(s, "phase", step->phase);
            sink_integer(s, "arrivals", step->arrivals);
            sink_text(s, "call", step->call);
            step_details(p, s, step);
            sink_end(s);
        }
        sink_end(s);
        sink_end(s);
    }
    sink_end(s);
}

static void instructions(const struct plan *p, const struct sink *s)
{
    sink_array(s, "mma");
    for (int i = 0; i < p->mma_count; i++) {
        const struct plan_mma *m = &p->mma[i];
        sink_object(s, NULL);
        sink_text(s, "name", m->name);
        sink_text(s, "kind", m->kind);
        sink_integer(s, "m", m->m);
        sink_integer(s, "n", m->n);
        sink_integer(s, "k", m->k);
        sink_text(s, "accumulator", tw_dtype_name(m->accumulator));
        sink_integer(s, "blocks_m", m->blocks_m);
        sink_integer(s, "blocks_n", m->blocks_n);
        sink_integer(s, "k_steps", m->k_steps);
        sink_array(s, "operand");
        for (int o = 0; o < 2; o++) {
            sink_object(s, NULL);
            sink_text(s, "tensor", tensor_name(p, m->operand[o].tensor));
            sink_text(s, "dtype", tw_dtype_name(m->operand[o].dtype));
            sink_boolean(s, "mn_major", m->operand[o].mn_major);
            sink_integer(s, "leading_bytes", m->operand[o].leading_bytes);
            sink_integer(s, "stride_bytes", m->operand[o].stride_bytes);
            sink_integer(s, "k_bytes", m->operand[o].k_bytes);
            sink_integer(s, "block_bytes", m->operand[o].block_bytes);
            sink_end(s);
        }
        sink_end(s);
        sink_end(s);
    }
    sink_end(s);
    sink_array(s, "value");
    for (int i = 0; i < p->value_count; i++) {
        sink_object(s, NULL);
        sink_text(s, "name", p->value[i].name);
        if (p->value[i].text)
            sink_text(s, "text", p->value[i].text);
        else
            sink_integer(s, "integer", p->value[i].integer);
        sink_end(s);
    }
    sink_end(s);
}

static const char *type_word(enum expr_type type)
{
    return type == EXPR_INT ? "int" : type == EXPR_REAL ? "real" : "pred";
}

/* The arithmetic, node by node: a node names earlier ones by position, counted from 0. */
static void nodes(const struct plan *p, const struct expr_graph *g, const char *key, const struct sink *s)
{
    sink_array(s, key);
    for (int i = 0; i < g->count; i++) {
        const struct expr_node *n = &g->node[i];
        sink_object(s, NULL);
        sink_text(s, "op", expr_word[n->op]);
        sink_text(s, "type", type_word(n->type));
        sink_array(s, "arg");
        for (int a = 0; a < 3 && n->arg[a] >= 0; a++)
            sink_integer(s, NULL, n->arg[a]);
        sink_end(s);
        if (n->op == EXPR_CONST_REAL) {
            char value[40];
            snprintf(value, sizeof value, "%.17g", n->real);
            sink_text(s, "real", value);
        } else if (n->op == EXPR_CONST_INT) {
            sink_integer(s, "integer", n->integer);
        } else if (n->op == EXPR_SYMBOL) {
            sink_text(s, "symbol", n->integer >= 0 && n->integer < p->symbol_count ? p->symbol[n->integer] : NULL);
        } else if (n->op == EXPR_LOOP) {
            sink_text(s, "loop", n->integer >= 0 && n->integer < p->loop_count ? p->loop[n->integer].name : NULL);
        } else if (n->op == EXPR_TILE) {
            sink_text(s, "place", place_name(p, (int)n->integer));
        } else if (n->op == EXPR_INDEX) {
            static const char *const of[] = {
                [PLAN_INDEX_COLUMN] = "column", [PLAN_INDEX_ROW] = "row", [PLAN_INDEX_WARP] = "warp"};
            sink_text(s, "of", n->integer >= 0 && n->integer <= PLAN_INDEX_WARP ? of[n->integer] : NULL);
        } else if (n->op == EXPR_AT) {
            sink_text(s, "axis", n->integer >= 0 && n->integer < p->axis_count ? p->axis[n->integer] : NULL);
        } else if (n->op == EXPR_SCALAR) {
            const bool known = n->integer >= 0 && n->integer < p->scalar_count;
            const struct spec_scalar *c = known ? &p->scalar[n->integer] : NULL;
            sink_text(s, "scalar", c ? c->name : NULL);
            sink_text(s, "dtype", c ? tw_dtype_name(c->dtype) : NULL);
        } else if (n->op == EXPR_TENSOR) {
            sink_text(s, "tensor", tensor_name(p, (int)n->integer));
            integers(s, "index", g->index + n->first_index, n->rank);
        } else if (n->op == EXPR_CAST) {
            sink_text(s, "dtype", tw_dtype_name(n->dtype));
        }
        sink_end(s);
    }
    sink_end(s);
}

static void list(const struct plan *p, const struct sink *s)
{
    const struct plan_list *l = p->list;
    sink_object(s, "list");
    sink_text(s, "loop", p->loop[l->loop].name);
    sink_integer(s, "step", p->loop[l->loop].step);
    sink_array(s, "axis");
    for (int i = 0; i < l->item_count; i++)
        sink_text(s, NULL, p->axis[p->item[l->item[i]].axis]);
    sink_end(s);
    sink_integer(s, "from", l->from);
    sink_integer(s, "turns", l->turns);
    sink_integer(s, "words", l->words);
    size(p, s, "records", l->records);
    sink_integer(s, "possible", l->possible);
    sink_integer(s, "certain", l->certain);
    sink_integer(s, "head", PLAN_LIST_HEAD);
    sink_integer(s, "offset", PLAN_LIST_OFFSET);
    sink_integer(s, "threads", PLAN_LIST_THREADS);
    sink_array(s, "read");
    for (int i = 0; i < l->read_count; i++) {
        sink_object(s, NULL);
        sink_integer(s, "element", l->read[i].element);
        sink_integer(s, "inside", l->read[i].inside);
        sink_integer(s, "count", l->read[i].count);
        sink_boolean(s, "by_turn", l->read[i].by_turn);
        sink_end(s);
    }
    sink_end(s);
    sink_end(s);
}

static void visible(const struct plan *p, const struct sink *s)
{
    const struct plan_visible *v = p->visible;
    sink_object(s, "visible");
    sink_array(s, "loop");
    for (int i = 0; i < v->count; i++) {
        const struct plan_visible_loop *l = &v->loop[i];
        sink_object(s, NULL);
        sink_text(s, "loop", p->loop[l->loop].name);
        sink_integer(s, "from", l->from);
        sink_integer(s, "to", l->to);
        sink_integer(s, "rows", l->rows);
        sink_integer(s, "columns", l->columns);
        sink_integer(s, "counts", l->counts);
        sink_integer(s, "each", l->each);
        if (l->flops >= 0)
            size(p, s, "flops", l->flops);
        sink_end(s);
    }
    sink_end(s);
    sink_boolean(s, "all", v->all);
    nodes(p, &v->graph, "node", s);
    sink_end(s);
}

void plan_write(const struct plan *p, const struct sink *s)
{
    sink_object(s, NULL);
    sink_text(s, "kernel", p->kernel);
    sink_text(s, "entry", p->entry);
    sink_text(s, "variant", p->variant);
    sink_text(s, "arch", p->arch);
    sink_text(s, "family", p->family);
    sink_text(s, "template_name", p->template_name);
    sink_integer(s, "line", p->loc.line);
    sink_array(s, "symbol");
    for (int i = 0; i < p->symbol_count; i++) {
        sink_object(s, NULL);
        sink_text(s, "name", p->symbol[i]);
        sink_integer(s, "multiple", p->symbol_multiple ? p->symbol_multiple[i] : 1);
        if (p->symbol_fixed && p->symbol_fixed[i] >= 0)
            sink_integer(s, "fixed", p->symbol_fixed[i]);
        sink_end(s);
    }
    sink_end(s);
    sink_array(s, "axis");
    for (int i = 0; i < p->axis_count; i++)
        sink_text(s, NULL, p->axis[i]);
    sink_end(s);
    tensors(p, s);
    parameters(p, s);
    memory(p, s);
    places(p, s);
    layouts(p, s);
    roles(p, s);
    if (p->proof.runs) {
        sink_object(s, "proof");
        sink_integer(s, "threads", p->proof.threads);
        sink_integer(s, "runs", p->proof.runs);
        sink_integer(s, "turns", p->proof.turns);
        sink_integer(s, "steps", p->proof.steps);
        sink_end(s);
    }
    instructions(p, s);
    sink_object(s, "launch");
    sizes(p, s, "grid", p->launch.grid, 3);
    sink_integer(s, "block", p->launch.block);
    integers(s, "cluster", p->launch.cluster, 3);
    sink_integer(s, "shared_bytes", p->launch.shared_bytes);
    sink_integer(s, "min_blocks", p->launch.min_blocks);
    if (p->launch.once)
        sink_boolean(s, "once", true);
    sink_boolean(s, "programmatic", p->launch.programmatic);
    sink_end(s);
    sink_integer(s, "workspace_bytes", p->workspace_bytes);
    if (p->workspace)
        sizes(p, s, "workspace", (const int[]){plan_number(p->workspace)}, 1);
    if (p->list)
        list(p, s);
    nodes(p, &p->fused, "fused", s);
    sink_integer(s, "registers_estimate", p->registers_estimate);
    sink_integer(s, "register_limit", p->register_limit);
    sink_boolean(s, "allow_spills", p->allow_spills);
    sink_integer(s, "blocks_per_sm", p->blocks_per_sm);
    size(p, s, "flops", p->flops);
    if (p->visible)
        visible(p, s);
    size(p, s, "bytes_moved", p->bytes_moved);
    if (p->boxes)
        size(p, s, "boxes", plan_number(p->boxes));
    sink_array(s, "reason");
    for (int i = 0; i < p->reason_count; i++) {
        sink_object(s, NULL);
        sink_text(s, "field", p->reason[i].field);
        sink_text(s, "value", p->reason[i].value);
        sink_text(s, "reason", p->reason[i].reason);
        sink_end(s);
    }
    sink_end(s);
    sink_end(s);
}
