/* What every family does in the same way: copy the spec's declarations into the Plan, append to its arrays, pack the
 * parameters, place shared memory, and run the checks. */
#include "lower/family.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "plan/map_pointers.h"

const struct family *family_of(const struct spec_kernel *kernel)
{
    return kernel->program ? &family_program : &family_user;
}

/* Room for one more element at the end of an array in the Plan's arena; arrays grow by doubling from 4. */
static void *append(struct plan *p, void *array, int count, size_t size)
{
    if (count && (count < 4 || (count & (count - 1))))
        return array;
    void *grown = plan_alloc(p, size * (size_t)(count ? 2 * count : 4));
    if (grown && count)
        memcpy(grown, array, size * (size_t)count);
    return grown;
}

#define APPEND(p, field)                                                                                               \
    (((p)->field = append(p, (p)->field, (p)->field##_count, sizeof *(p)->field)) ? &(p)->field[(p)->field##_count++]  \
                                                                                  : NULL)

/* ---- copying the spec -------------------------------------------------------------------------------------------- */

/* The size, or the next larger multiple. */
static int multiple_of(struct expr_graph *g, int node, int64_t unit)
{
    const int more = expr_binary(g, EXPR_ADD, node, expr_int(g, unit - 1)), by = expr_int(g, unit);
    return expr_binary(g, EXPR_MUL, expr_binary(g, EXPR_FLOORDIV, more, by), by);
}

static int copy_tensor(struct plan *p, const struct spec_kernel *k, const struct spec_tensor *from)
{
    struct plan_tensor *t = APPEND(p, tensor);
    if (!t)
        return 3;
    memset(t, 0, sizeof *t);
    t->name = plan_text(p, "%s", from->name);
    t->loc = from->loc;
    t->dtype = from->dtype;
    t->rank = from->rank;
    t->out = from->out;
    t->pointers = from->pointers;
    t->access = PLAN_ACCESS_GLOBAL;
    t->multicast = 1;
    t->boxes = 1;
    t->align = (int)tw_dtype_bytes(from->dtype);
    t->map = -1;
    t->swizzle = from->swizzle_set ? from->swizzle : TW_SWIZZLE_NONE;
    int dense = expr_int(&p->graph, 1);
    const int64_t unit = POINTERS_UNIT / (int64_t)tw_dtype_bytes(from->dtype);
    for (int i = from->rank - 1; i >= 0; i--) {
        t->dim[i] = expr_import(&p->graph, &k->shape, from->dim[i]);
        t->axis[i] = from->axis[i] >= 0 ? plan_text(p, "%s", k->axis[from->axis[i]]) : NULL;
        t->stride[i] = from->stride[i] >= 0 ? expr_import(&p->graph, &k->shape, from->stride[i]) : dense;
        if (from->pointers && i == 0) /* no launch has it: how far apart a trial puts them */
            t->stride[i] = multiple_of(&p->graph, t->stride[i], unit > 1 ? unit : 1);
        if (t->dim[i] < 0 || t->stride[i] < 0 || !t->name || (from->axis[i] >= 0 && !t->axis[i]))
            return 3;
        dense = expr_binary(&p->graph, EXPR_MUL, t->stride[i], t->dim[i]);
        if (dense < 0)
            return 3;
    }
    return 0;
}

int family_copy_spec(const struct spec *spec, const struct spec_kernel *k, struct plan *p)
{
    p->kernel = plan_text(p, "%s", k->name);
    p->loc = k->loc;
    p->family = k->family ? plan_text(p, "%s", k->family) : NULL;
    p->symbol_count = spec->dim_count + 1;
    p->symbol = plan_alloc(p, sizeof *p->symbol * (size_t)p->symbol_count);
    p->symbol_multiple = plan_alloc(p, sizeof *p->symbol_multiple * (size_t)p->symbol_count);
    if (!p->kernel || !p->symbol || !p->symbol_multiple)
        return 3;
    for (int i = 0; i < spec->dim_count; i++) {
        p->symbol[i] = plan_text(p, "%s", spec->dim[i].name);
        p->symbol_multiple[i] = spec->dim[i].multiple;
        if (!p->symbol[i])
            return 3;
    }
    p->symbol[spec->dim_count] = "sm_count";
    p->symbol_multiple[spec->dim_count] = 1;
    if (k->setup.fixed) {
        p->symbol_fixed = plan_alloc(p, sizeof *p->symbol_fixed * (size_t)p->symbol_count);
        if (!p->symbol_fixed)
            return 3;
        memcpy(p->symbol_fixed, k->setup.fixed, sizeof *p->symbol_fixed * (size_t)spec->dim_count);
        p->symbol_fixed[spec->dim_count] = -1;
    }
    p->axis_count = k->axis_count;
    for (int i = 0; i < k->axis_count; i++)
        if (!(p->axis[i] = plan_text(p, "%s", k->axis[i])))
            return 3;
    for (int i = 0; i < k->tensor_count; i++) {
        int status = copy_tensor(p, k, &k->tensor[i]);
        if (status)
            return status;
    }
    for (int i = 0; i < k->scalar_count; i++) {
        struct spec_scalar *s = APPEND(p, scalar);
        if (!s)
            return 3;
        *s = k->scalar[i];
        if (!(s->name = plan_text(p, "%s", k->scalar[i].name)))
            return 3;
    }
    p->flops = p->bytes_moved = -1;
    p->launch.cluster[0] = p->launch.cluster[1] = p->launch.cluster[2] = 1;
    p->launch.grid[0] = p->launch.grid[1] = p->launch.grid[2] = expr_int(&p->graph, 1);
    return expr_copy(&p->fused, &k->graph) ? 0 : 3;
}

/* ---- appending --------------------------------------------------------------------------------------------------- */

struct plan_map *family_add_map(struct plan *p, int tensor, int l2_promotion)
{
    struct plan_map *m = APPEND(p, map);
    if (!m)
        return NULL;
    struct plan_tensor *t = &p->tensor[tensor];
    memset(m, 0, sizeof *m);
    m->name = plan_text(p, "%s_map", t->name);
    m->tensor = tensor;
    m->rank = map_rank(t);
    for (int i = 0; i < m->rank; i++)
        m->box[i] = map_dim(t, i) < 0 ? 1 : t->box[map_dim(t, i)];
    m->swizzle = t->swizzle;
    m->l2_promotion = l2_promotion;
    t->map = p->map_count - 1;
    return m->name ? m : NULL;
}

struct plan_map *family_add_part_map(struct plan *p, int tensor, int dim, int rows)
{
    int own = p->tensor[tensor].map;
    struct plan_map *m = family_add_map(p, tensor, own >= 0 ? p->map[own].l2_promotion : 0);
    p->tensor[tensor].map = own;
    if (!m)
        return NULL;
    m->name = plan_text(p, "%s_map_%d", p->tensor[tensor].name, rows);
    m->box[p->tensor[tensor].rank - 1 - dim] = rows;
    return m->name ? m : NULL;
}

struct plan_shared *family_add_shared(struct plan *p, const char *name, int bytes, int align, int count)
{
    struct plan_shared *s = APPEND(p, shared);
    if (!s)
        return NULL;
    *s = (struct plan_shared){plan_text(p, "%s", name), 0, bytes, align, count};
    return s->name ? s : NULL;
}

struct plan_ring *family_add_ring(struct plan *p, const char *name, int stages, enum plan_filler filler)
{
    struct plan_ring *r = APPEND(p, ring);
    if (!r)
        return NULL;
    memset(r, 0, sizeof *r);
    r->name = plan_text(p, "%s", name);
    r->stages = stages;
    r->filler = filler;
    r->full_shared = r->empty_shared = -1;
    return r->name ? r : NULL;
}

struct plan_role *family_add_role(struct plan *p, const char *name, int instances, int first_warp, int warps,
                                  int registers)
{
    struct plan_role *r = APPEND(p, role);
    if (!r)
        return NULL;
    *r = (struct plan_role){.name = plan_text(p, "%s", name),
                            .instances = instances,
                            .first_warp = first_warp,
                            .warps = warps,
                            .registers = registers};
    return r->name ? r : NULL;
}

int family_add_step(struct plan *p, struct plan_role *r, struct plan_step step)
{
    r->step = append(p, r->step, r->step_count, sizeof *r->step);
    if (!r->step)
        return 3;
    r->step[r->step_count++] = step;
    return 0;
}

struct plan_mma *family_add_mma(struct plan *p, const char *name, const char *kind)
{
    struct plan_mma *m = APPEND(p, mma);
    if (!m)
        return NULL;
    memset(m, 0, sizeof *m);
    m->name = plan_text(p, "%s", name);
    m->kind = plan_text(p, "%s", kind);
    return m->name && m->kind ? m : NULL;
}

static int add_value(struct plan *p, const char *name, int64_t integer, const char *text)
{
    struct plan_value *v = APPEND(p, value);
    if (!v)
        return 3;
    *v = (struct plan_value){plan_text(p, "%s", name), integer, text ? plan_text(p, "%s", text) : NULL};
    return v->name && (!text || v->text) ? 0 : 3;
}

int family_add_value(struct plan *p, const char *name, int64_t integer)
{
    return add_value(p, name, integer, NULL);
}

int family_add_word(struct plan *p, const char *name, const char *text)
{
    return add_value(p, name, 0, text);
}

int family_add_barrier(struct plan *p, const char *name, int id, int threads)
{
    struct plan_barrier *b = APPEND(p, barrier);
    if (!b)
        return 3;
    *b = (struct plan_barrier){.name = plan_text(p, "%s", name), .id = id, .threads = threads};
    return b->name ? 0 : 3;
}

int family_reason(struct plan *p, const char *field, const char *value, const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    struct plan_reason *r = APPEND(p, reason);
    if (!r)
        return 3;
    *r = (struct plan_reason){plan_text(p, "%s", field), plan_text(p, "%s", value), plan_text(p, "%s", text)};
    return r->field && r->value && r->reason ? 0 : 3;
}

/* ---- parameters and shared memory -------------------------------------------------------------------------------- */

static int add_param(struct plan *p, enum plan_param_kind kind, const char *type, int tensor, int index, int bytes,
                     int align, const char *name)
{
    struct plan_param *q = APPEND(p, param);
    if (!q)
        return 3;
    int offset = (p->param_bytes + align - 1) / align * align;
    *q = (struct plan_param){kind, plan_text(p, "%s", name), plan_text(p, "%s", type), tensor, index, offset, bytes,
                             align};
    p->param_bytes = offset + bytes;
    return q->name && q->type ? 0 : 3;
}

static bool reads(const struct expr_graph *graph, int symbol)
{
    for (int i = 0; i < graph->count; i++)
        if (graph->node[i].op == EXPR_SYMBOL && graph->node[i].integer == symbol)
            return true;
    return false;
}

/* Threads address the tensor: there is no map of it, or an expression takes its elements beside the copies. */
static bool is_addressed(const struct plan *p, int tensor)
{
    bool element = p->tensor[tensor].map < 0 || p->tensor[tensor].prefetch;
    for (int g = 0; g < p->ring_count; g++) /* all of its elements are taken from there */
        if (p->ring[g].filler == PLAN_FILL_OWN && p->ring[g].tensor[0] == tensor)
            return false;
    for (int i = 0; i < p->fused.count && !element; i++)
        element = p->fused.node[i].op == EXPR_TENSOR && p->fused.node[i].integer == tensor;
    return element;
}

int family_pack_params(struct plan *p)
{
    char name[160], type[80];
    const struct arch *arch = arch_find(p->arch);
    int status = p->map_count && arch && arch->copies_to_block ? family_add_value(p, "copies.to_block", 1) : 0;
    p->param_bytes = 0;
    for (int i = 0; i < p->map_count && !status; i++)
        status = add_param(p, PLAN_PARAM_MAP, "tensor_map", p->map[i].tensor, i,
                           128 * map_count(&p->tensor[p->map[i].tensor]), 64, p->map[i].name);
    for (int i = 0; i < p->tensor_count && !status; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        if (!is_addressed(p, i) && !t->pointers)
            continue;
        snprintf(type, sizeof type, "%s%s *%s", t->out ? "" : "const ", tw_dtype_info(t->dtype)->cuda_type,
                 t->pointers ? "const *" : "");
        status = add_param(p, PLAN_PARAM_POINTER, type, i, -1, 8, 8, t->name);
    }
    for (int i = 0; i < p->tensor_count && !status; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        for (int d = t->pointers; d + 1 < t->rank && is_addressed(p, i) && !status; d++) {
            snprintf(name, sizeof name, "%s_stride%d", t->name, d);
            status = add_param(p, PLAN_PARAM_STRIDE, "i64", i, d, 8, 8, name);
        }
    }
    /* A dim of the spec that this kernel's formulas do not read is no argument of it; a user's template may read
     * any. */
    for (int i = 0; i + 1 < p->symbol_count && !status; i++)
        if (!p->family || reads(&p->graph, i) || reads(&p->fused, i))
            status = add_param(p, PLAN_PARAM_DIM, "int", -1, i, 4, 4, p->symbol[i]);
    for (int i = 0; i < p->scalar_count && !status; i++) {
        const char *scalar_type = tw_dtype_info(p->scalar[i].dtype)->cuda_type;
        int bytes = (int)tw_dtype_bytes(p->scalar[i].dtype);
        status = add_param(p, PLAN_PARAM_SCALAR, scalar_type, -1, i, bytes, bytes, p->scalar[i].name);
    }
    if (p->workspace_bytes > 0 && !status)
        status = add_param(p, PLAN_PARAM_WORKSPACE, "u32 *", -1, -1, 8, 8, "workspace");
    /* The struct's size is a multiple of its alignment, as sizeof is in CUDA. */
    int align = p->map_count ? 64 : 8;
    p->param_bytes = (p->param_bytes + align - 1) / align * align;
    return status;
}

void family_place_shared(struct plan *p)
{
    int at = 0;
    p->shared_align = 16;
    for (int i = 0; i < p->shared_count; i++) {
        struct plan_shared *s = &p->shared[i];
        at = (at + s->align - 1) / s->align * s->align;
        s->offset = at;
        at += s->bytes;
        if (s->align > p->shared_align)
            p->shared_align = s->align;
    }
    p->launch.shared_bytes = at;
}

/* Programmatic launch is a field of every kernel, and of no use where the architecture has none. */
static int decide_launch(const struct spec_kernel *kernel, const struct arch *arch, struct plan *p)
{
    struct spec_fields fields;
    spec_merge(kernel, arch->name, &fields);
    field_reads_add(&p->reads, FIELD_OF_SCHEMA, FIELD_ASKED);
    const struct spec_value *asked = &fields.value[FIELD_PROGRAMMATIC];
    if (arch->pdl)
        field_reads_add(&p->reads, FIELD_OF_SCHEMA, FIELD_PROGRAMMATIC);
    if (!asked->set || !asked->integer)
        return 0;
    p->launch.programmatic = arch->pdl;
    return family_reason(p, "launch.programmatic", arch->pdl ? "true" : "false",
                         arch->pdl ? "the spec says so" : "%s has no programmatic launches", arch->name);
}

bool family_lacks_steps(const struct plan *p)
{
    for (int i = 0; i < p->role_count; i++)
        if (p->role[i].step_count == 0)
            return true;
    return false;
}

/* Set-ups of a kernel lie beside each other. 0 or 3. */
static int name_setup(const struct spec_kernel *kernel, struct plan *plan)
{
    const char *behind = *plan->variant ? "_" : "";
    plan->variant = plan_text(plan, "%s%s%s", kernel->setup.name, behind, plan->variant);
    plan->entry = plan_text(plan, "%s__%s", plan->kernel, plan->variant);
    return plan->variant && plan->entry ? 0 : 3;
}

int family_plan(const struct spec *spec, const struct spec_kernel *kernel, const struct arch *arch, int variant,
                struct plan_proofs *proofs, struct plan *plan, struct diag_set *diags)
{
    int before = diags->errors;
    *plan = (struct plan){.proofs = proofs};
    int effects = variant ? 0 : family_check_effects(kernel, arch, diags);
    int status = effects == 3 ? 3 : family_of(kernel)->resolve(spec, kernel, arch, variant, plan, diags);
    if (status == 0)
        status = decide_launch(kernel, arch, plan);
    if (status == 0 && kernel->setup.name)
        status = name_setup(kernel, plan);
    if (status == 0 && diags->errors == before) {
        plan_check(plan, diags);
        if (diags->errors == before && !family_lacks_steps(plan))
            plan_check_protocol(plan, diags);
    }
    return status ? status : diags->errors > before;
}

int family_bytes_moved(struct plan *p)
{
    struct expr_graph *e = &p->graph;
    int bytes = expr_int(e, 0);
    for (int i = 0; i < p->tensor_count; i++) {
        int elements = expr_int(e, (int64_t)tw_dtype_bytes(p->tensor[i].dtype));
        for (int d = 0; d < p->tensor[i].rank; d++)
            elements = expr_binary(e, EXPR_MUL, elements, p->tensor[i].dim[d]);
        bytes = expr_binary(e, EXPR_ADD, bytes, elements);
    }
    p->bytes_moved = bytes;
    return bytes < 0 ? 3 : 0;
}
