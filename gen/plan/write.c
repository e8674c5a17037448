/* One walk over a Plan, field by field, into a sink: JSON for people and programs, Lua tables for templates.
 *
 * Keys are the names of the struct's fields. Where the struct holds an index, the name of what it points to is written
 * (null where it points to nothing), so that a reader needs no table of numbers. Symbolic sizes are texts in Lua's
 * syntax. A sink may leave by longjmp: nothing here is allocated.
 */
#include "plan/plan.h"

#include <stdio.h>

static const char *const param_word[] = {"map", "pointer", "dim", "stride", "scalar", "workspace"};
static const char *const expr_word[EXPR_OP_COUNT] = {
#define EXPR_OP(id, name, arity, rule, spelling) #id,
#include "spec/expr_ops.def"
#undef EXPR_OP
};

static void begin_object(const struct sink *s, const char *key)
{
    s->object(s->context, key);
}

static void begin_array(const struct sink *s, const char *key)
{
    s->array(s->context, key);
}

static void end(const struct sink *s)
{
    s->end(s->context);
}

static void integer(const struct sink *s, const char *key, int64_t value)
{
    s->integer(s->context, key, value);
}

static void text(const struct sink *s, const char *key, const char *value)
{
    s->text(s->context, key, value);
}

static void boolean(const struct sink *s, const char *key, bool value)
{
    s->boolean(s->context, key, value);
}

static void integers(const struct sink *s, const char *key, const int *value, int count)
{
    begin_array(s, key);
    for (int i = 0; i < count; i++)
        integer(s, NULL, value[i]);
    end(s);
}

/* A symbolic size; null where the Plan holds none (-1). */
static void size(const struct plan *p, const struct sink *s, const char *key, int node)
{
    if (node < 0 || node >= p->graph.count) {
        text(s, key, NULL);
        return;
    }
    char room[1];
    size_t length = expr_print_lua(&p->graph, node, p->symbol, room, sizeof room);
    char expression[length + 1];
    expr_print_lua(&p->graph, node, p->symbol, expression, length + 1);
    text(s, key, expression);
}

static void sizes(const struct plan *p, const struct sink *s, const char *key, const int *node, int count)
{
    begin_array(s, key);
    for (int i = 0; i < count; i++)
        size(p, s, NULL, node[i]);
    end(s);
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

static void tensors(const struct plan *p, const struct sink *s)
{
    begin_array(s, "tensor");
    for (int i = 0; i < p->tensor_count; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        begin_object(s, NULL);
        text(s, "name", t->name);
        text(s, "dtype", tw_dtype_name(t->dtype));
        integer(s, "rank", t->rank);
        sizes(p, s, "dim", t->dim, t->rank);
        sizes(p, s, "stride", t->stride, t->rank);
        begin_array(s, "axis");
        for (int d = 0; d < t->rank; d++)
            text(s, NULL, t->axis[d]);
        end(s);
        boolean(s, "out", t->out);
        text(s, "access", plan_access_word[t->access]);
        integers(s, "tile", t->tile, t->rank);
        integers(s, "box", t->box, t->rank);
        integer(s, "boxes", t->boxes);
        integer(s, "box_bytes", t->box_bytes);
        if (t->gathered)
            integer(s, "gathered", t->gathered);
        integer(s, "multicast", t->multicast);
        text(s, "swizzle", tw_swizzles[t->swizzle].name);
        integer(s, "tile_bytes", t->tile_bytes);
        integer(s, "align", t->align);
        boolean(s, "whole_rows", t->whole_rows);
        text(s, "map", t->map >= 0 && t->map < p->map_count ? p->map[t->map].name : NULL);
        end(s);
    }
    end(s);
    begin_array(s, "map");
    for (int i = 0; i < p->map_count; i++) {
        const struct plan_map *m = &p->map[i];
        begin_object(s, NULL);
        text(s, "name", m->name);
        text(s, "tensor", tensor_name(p, m->tensor));
        integer(s, "rank", m->rank);
        integers(s, "box", m->box, m->rank);
        text(s, "swizzle", tw_swizzles[m->swizzle].name);
        integer(s, "l2_promotion", m->l2_promotion);
        end(s);
    }
    end(s);
}

static void parameters(const struct plan *p, const struct sink *s)
{
    begin_array(s, "scalar");
    for (int i = 0; i < p->scalar_count; i++) {
        const struct spec_scalar *c = &p->scalar[i];
        char value[40];
        snprintf(value, sizeof value, "%.17g", c->value);
        begin_object(s, NULL);
        text(s, "name", c->name);
        text(s, "dtype", tw_dtype_name(c->dtype));
        text(s, "value", value);
        end(s);
    }
    end(s);
    begin_array(s, "param");
    for (int i = 0; i < p->param_count; i++) {
        const struct plan_param *q = &p->param[i];
        bool has_tensor = q->kind != PLAN_PARAM_DIM && q->kind != PLAN_PARAM_SCALAR && q->kind != PLAN_PARAM_WORKSPACE;
        begin_object(s, NULL);
        text(s, "name", q->name);
        text(s, "kind", param_word[q->kind]);
        text(s, "type", q->type);
        text(s, "tensor", has_tensor ? tensor_name(p, q->tensor) : NULL);
        integer(s, "index", q->index);
        integer(s, "offset", q->offset);
        integer(s, "bytes", q->bytes);
        integer(s, "align", q->align);
        end(s);
    }
    end(s);
    integer(s, "param_bytes", p->param_bytes);
}

static void memory(const struct plan *p, const struct sink *s)
{
    begin_array(s, "shared");
    for (int i = 0; i < p->shared_count; i++) {
        const struct plan_shared *m = &p->shared[i];
        begin_object(s, NULL);
        text(s, "name", m->name);
        integer(s, "offset", m->offset);
        integer(s, "bytes", m->bytes);
        integer(s, "align", m->align);
        integer(s, "count", m->count);
        end(s);
    }
    end(s);
    integer(s, "shared_align", p->shared_align);
    begin_array(s, "ring");
    for (int i = 0; i < p->ring_count; i++) {
        const struct plan_ring *r = &p->ring[i];
        begin_object(s, NULL);
        text(s, "name", r->name);
        integer(s, "stages", r->stages);
        text(s, "filler", plan_filler_word[r->filler]);
        begin_array(s, "tensor");
        for (int t = 0; t < r->tensor_count && t < 8; t++)
            text(s, NULL, tensor_name(p, r->tensor[t]));
        end(s);
        integer(s, "full_arrivals", r->full_arrivals);
        integer(s, "tx_bytes", r->tx_bytes);
        integer(s, "empty_arrivals", r->empty_arrivals);
        text(s, "full_shared", shared_name(p, r->full_shared));
        text(s, "empty_shared", shared_name(p, r->empty_shared));
        end(s);
    }
    end(s);
    begin_array(s, "barrier");
    for (int i = 0; i < p->barrier_count; i++) {
        begin_object(s, NULL);
        text(s, "name", p->barrier[i].name);
        integer(s, "id", p->barrier[i].id);
        integer(s, "threads", p->barrier[i].threads);
        if (p->barrier[i].turns)
            boolean(s, "turns", true);
        end(s);
    }
    end(s);
}

static const char *place_name(const struct plan *p, int place)
{
    return place >= 0 && place < p->place_count ? p->place[place].name : NULL;
}

static void places(const struct plan *p, const struct sink *s)
{
    begin_array(s, "place");
    for (int i = 0; i < p->place_count; i++) {
        const struct plan_place *q = &p->place[i];
        begin_object(s, NULL);
        text(s, "name", q->name);
        text(s, "kind", plan_place_word[q->kind]);
        text(s, "dtype", tw_dtype_name(q->dtype));
        integer(s, "rows", q->rows);
        integer(s, "cols", q->cols);
        integer(s, "registers", q->registers);
        integer(s, "bytes", q->bytes);
        text(s, "shared", q->kind == PLAN_PLACE_SHARED ? shared_name(p, q->shared) : NULL);
        if (q->layout) {
            integer(s, "layout", plan_number(q->layout));
            integer(s, "turns", q->turns);
            boolean(s, "packed", q->packed);
            integer(s, "more", q->more);
        }
        end(s);
    }
    end(s);
}

/* What only programs have. */
static void layouts(const struct plan *p, const struct sink *s)
{
    if (p->item_count == 0)
        return;
    begin_array(s, "layout");
    for (int i = 0; i < p->layout_count; i++) {
        const struct plan_layout *l = &p->layout[i];
        begin_object(s, NULL);
        integer(s, "rows", l->rows);
        integer(s, "cols", l->cols);
        integer(s, "down", l->down);
        integer(s, "across", l->across);
        integer(s, "vector", l->vector);
        integer(s, "apart", l->apart);
        end(s);
    }
    end(s);
    if (p->item_ring)
        text(s, "item_ring", ring_name(p, plan_number(p->item_ring)));
    begin_array(s, "loop");
    for (int i = 0; i < p->loop_count; i++) {
        begin_object(s, NULL);
        text(s, "name", p->loop[i].name);
        integer(s, "from", p->loop[i].from);
        integer(s, "to", p->loop[i].to);
        integer(s, "step", p->loop[i].step);
        if (p->loop[i].first)
            integer(s, "first", plan_number(p->loop[i].first));
        end(s);
    }
    end(s);
    begin_array(s, "item");
    for (int i = 0; i < p->item_count; i++) {
        begin_object(s, NULL);
        text(s, "axis", p->axis[p->item[i].axis]);
        integer(s, "tile", p->item[i].tile);
        integer(s, "extent", p->item[i].extent);
        end(s);
    }
    end(s);
}

/* What few steps have is written where they have it. */
static void step_details(const struct plan *p, const struct sink *s, const struct plan_step *step)
{
    const struct {
        const char *key;
        int value, none;
    } number[] = {
        {"node", plan_number(step->node), -1},
        {"back", step->back, 0},
        {"ahead", step->ahead, 0},
        {"least", step->least, 0},
        {"less", step->less, 0},
        {"most", step->most, 0},
        {"share", step->share, 0},
        {"only", plan_number(step->only), -1},
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
        text(s, "place", place_name(p, plan_number(step->place)));
    if (step->place2)
        text(s, "place2", place_name(p, plan_number(step->place2)));
    if (step->window)
        text(s, "window", place_name(p, plan_number(step->window)));
    if (step->window2)
        text(s, "window2", place_name(p, plan_number(step->window2)));
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        if (number[i].value != number[i].none)
            integer(s, number[i].key, number[i].value);
    if (step->why)
        text(s, "why", step->why);
    if (step->kept)
        boolean(s, "kept", true);
    if (step->partial)
        boolean(s, "partial", true);
    if (step->once)
        boolean(s, "once", true);
    if (step->adds)
        boolean(s, "adds", true);
    if (step->reduction) {
        text(s, "reduction", plan_reduction_word[step->reduction]);
        boolean(s, "over_rows", step->over_rows);
    }
    int rank = SPEC_MAX_RANK;
    while (rank > 0 && !step->at[rank - 1])
        rank--;
    if (rank > 0) {
        begin_array(s, "at");
        for (int d = 0; d < rank; d++)
            integer(s, NULL, plan_number(step->at[d]));
        end(s);
    }
}

static void roles(const struct plan *p, const struct sink *s)
{
    begin_array(s, "role");
    for (int i = 0; i < p->role_count; i++) {
        const struct plan_role *r = &p->role[i];
        begin_object(s, NULL);
        text(s, "name", r->name);
        integer(s, "instances", r->instances);
        integer(s, "first_warp", r->first_warp);
        integer(s, "warps", r->warps);
        integer(s, "registers", r->registers);
        if (r->one_thread)
            boolean(s, "one_thread", true);
        begin_array(s, "step");
        for (int n = 0; n < r->step_count; n++) {
            const struct plan_step *step = &r->step[n];
            begin_object(s, NULL);
            text(s, "op", plan_op_word[step->op]);
            text(s, "ring", ring_name(p, plan_step_ring(step)));
            text(s, "tensor", tensor_name(p, plan_step_tensor(step)));
            integer(s, "count", step->count);
            integer(s, "phase", step->phase);
            integer(s, "arrivals", step->arrivals);
            text(s, "call", step->call);
            step_details(p, s, step);
            end(s);
        }
        end(s);
        end(s);
    }
    end(s);
}

static void instructions(const struct plan *p, const struct sink *s)
{
    begin_array(s, "mma");
    for (int i = 0; i < p->mma_count; i++) {
        const struct plan_mma *m = &p->mma[i];
        begin_object(s, NULL);
        text(s, "name", m->name);
        text(s, "kind", m->kind);
        integer(s, "m", m->m);
        integer(s, "n", m->n);
        integer(s, "k", m->k);
        text(s, "input", tw_dtype_name(m->input));
        text(s, "accumulator", tw_dtype_name(m->accumulator));
        integer(s, "blocks_m", m->blocks_m);
        integer(s, "blocks_n", m->blocks_n);
        integer(s, "k_steps", m->k_steps);
        begin_array(s, "operand");
        for (int o = 0; o < 2; o++) {
            begin_object(s, NULL);
            text(s, "tensor", tensor_name(p, m->operand[o].tensor));
            boolean(s, "mn_major", m->operand[o].mn_major);
            integer(s, "leading_bytes", m->operand[o].leading_bytes);
            integer(s, "stride_bytes", m->operand[o].stride_bytes);
            integer(s, "k_bytes", m->operand[o].k_bytes);
            integer(s, "block_bytes", m->operand[o].block_bytes);
            end(s);
        }
        end(s);
        end(s);
    }
    end(s);
    begin_array(s, "value");
    for (int i = 0; i < p->value_count; i++) {
        begin_object(s, NULL);
        text(s, "name", p->value[i].name);
        if (p->value[i].text)
            text(s, "text", p->value[i].text);
        else
            integer(s, "integer", p->value[i].integer);
        end(s);
    }
    end(s);
}

static const char *type_word(enum expr_type type)
{
    return type == EXPR_INT ? "int" : type == EXPR_REAL ? "real" : "pred";
}

/* The arithmetic, node by node: a node names earlier ones by position, counted from 0. */
static void fused(const struct plan *p, const struct sink *s)
{
    const struct expr_graph *g = &p->fused;
    begin_array(s, "fused");
    for (int i = 0; i < g->count; i++) {
        const struct expr_node *n = &g->node[i];
        begin_object(s, NULL);
        text(s, "op", expr_word[n->op]);
        text(s, "type", type_word(n->type));
        begin_array(s, "arg");
        for (int a = 0; a < 3 && n->arg[a] >= 0; a++)
            integer(s, NULL, n->arg[a]);
        end(s);
        if (n->op == EXPR_CONST_REAL) {
            char value[40];
            snprintf(value, sizeof value, "%.17g", n->real);
            text(s, "real", value);
        } else if (n->op == EXPR_CONST_INT) {
            integer(s, "integer", n->integer);
        } else if (n->op == EXPR_SYMBOL) {
            text(s, "symbol", n->integer >= 0 && n->integer < p->symbol_count ? p->symbol[n->integer] : NULL);
        } else if (n->op == EXPR_LOOP) {
            text(s, "loop", n->integer >= 0 && n->integer < p->loop_count ? p->loop[n->integer].name : NULL);
        } else if (n->op == EXPR_TILE) {
            text(s, "place", place_name(p, (int)n->integer));
        } else if (n->op == EXPR_INDEX || n->op == EXPR_AT) {
            text(s, "axis", n->integer >= 0 && n->integer < p->axis_count ? p->axis[n->integer] : NULL);
        } else if (n->op == EXPR_SCALAR) {
            text(s, "scalar", n->integer >= 0 && n->integer < p->scalar_count ? p->scalar[n->integer].name : NULL);
        } else if (n->op == EXPR_TENSOR) {
            text(s, "tensor", tensor_name(p, (int)n->integer));
            integers(s, "index", g->index + n->first_index, n->rank);
        } else if (n->op == EXPR_CAST) {
            text(s, "dtype", tw_dtype_name(n->dtype));
        }
        end(s);
    }
    end(s);
}

void plan_write(const struct plan *p, const struct sink *s)
{
    begin_object(s, NULL);
    text(s, "kernel", p->kernel);
    text(s, "entry", p->entry);
    text(s, "variant", p->variant);
    text(s, "arch", p->arch);
    text(s, "family", p->family);
    text(s, "template_name", p->template_name);
    integer(s, "line", p->loc.line);
    begin_array(s, "symbol");
    for (int i = 0; i < p->symbol_count; i++) {
        begin_object(s, NULL);
        text(s, "name", p->symbol[i]);
        integer(s, "multiple", p->symbol_multiple ? p->symbol_multiple[i] : 1);
        end(s);
    }
    end(s);
    begin_array(s, "axis");
    for (int i = 0; i < p->axis_count; i++)
        text(s, NULL, p->axis[i]);
    end(s);
    tensors(p, s);
    parameters(p, s);
    memory(p, s);
    places(p, s);
    layouts(p, s);
    roles(p, s);
    instructions(p, s);
    begin_object(s, "launch");
    sizes(p, s, "grid", p->launch.grid, 3);
    integer(s, "block", p->launch.block);
    integers(s, "cluster", p->launch.cluster, 3);
    integer(s, "shared_bytes", p->launch.shared_bytes);
    integer(s, "min_blocks", p->launch.min_blocks);
    boolean(s, "programmatic", p->launch.programmatic);
    end(s);
    integer(s, "workspace_bytes", p->workspace_bytes);
    fused(p, s);
    integer(s, "registers_estimate", p->registers_estimate);
    integer(s, "register_limit", p->register_limit);
    boolean(s, "allow_spills", p->allow_spills);
    integer(s, "blocks_per_sm", p->blocks_per_sm);
    size(p, s, "flops", p->flops);
    size(p, s, "bytes_moved", p->bytes_moved);
    begin_array(s, "reason");
    for (int i = 0; i < p->reason_count; i++) {
        begin_object(s, NULL);
        text(s, "field", p->reason[i].field);
        text(s, "value", p->reason[i].value);
        text(s, "reason", p->reason[i].reason);
        end(s);
    }
    end(s);
    end(s);
}
