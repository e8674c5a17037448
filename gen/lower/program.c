/* Kernels that are programs, as a family: what a program holds picks the lowering, and the lowering decides the Plan.
 * Axes, tensors and scalars are the kernel's own, so that nothing here stands for the reader to check. */
#include "lower/family.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lower/lower.h"
#include "lower/place_ops.h"

bool program_holds(const struct program *program, enum program_kind kind)
{
    for (int i = 0; i < program->op_count; i++)
        if (program->op[i].kind == kind)
            return true;
    return false;
}

int program_refuse(const struct program_lowering *l, struct diag_loc loc, const char *rule, const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    diag_report(l->diags, DIAG_ERROR, loc, l->kernel->name, "program", rule, "%s", text);
    return 1;
}

const struct spec_value *program_field(const struct program_lowering *l, enum spec_field field)
{
    field_reads_add(&l->plan->reads, FIELD_OF_SCHEMA, (int)field);
    return &l->fields.value[field];
}

void program_field_idle(const struct program_lowering *l, enum spec_field field)
{
    l->plan->reads.idle |= field_reads_bit((int)field);
}

const struct spec_via *program_via(const struct spec_kernel *kernel, const struct program_op *op)
{
    for (int i = 0; i < kernel->via_count && op->name; i++)
        if (!kernel->via[i].of_tensor && strcmp(kernel->via[i].name, op->name) == 0)
            return &kernel->via[i];
    return NULL;
}

const struct spec_via *program_via_tensor(const struct spec_kernel *kernel, int tensor)
{
    for (int i = 0; i < kernel->via_count; i++)
        if (kernel->via[i].of_tensor && strcmp(kernel->via[i].name, kernel->tensor[tensor].name) == 0)
            return &kernel->via[i];
    return NULL;
}

void program_comes(const struct program_lowering *l, const struct program_op *op, const char *word)
{
    const struct spec_via *said = program_via(l->kernel, op);
    if (said && strcmp(said->word, word) == 0)
        field_reads_add(&l->plan->reads, FIELD_VIA, (int)(said - l->kernel->via));
}

int program_goes_up(const struct program_lowering *l, const char *why)
{
    int status = 0;
    for (int i = 0; i < l->kernel->direction_count && !status; i++)
        if (l->kernel->direction[i].down)
            status = family_reason(l->plan, plan_text(l->plan, "direction.%s", l->kernel->direction[i].name), "up",
                                   "%s", why);
    return status;
}

/* ---- the choice -------------------------------------------------------------------------------------------------- */

static const struct program_lowerer *const lowerers[] = {&program_lower_pipeline, &program_lower_mma_sync,
                                                         &program_lower_copy, &program_lower_direct, NULL};

const struct arch *program_arch(const struct spec_kernel *kernel, const struct arch *arch)
{
    struct spec_fields fields;
    spec_merge(kernel, arch->name, &fields);
    return arch_with(arch, fields.value[FIELD_INSTRUCTION].set ? fields.value[FIELD_INSTRUCTION].text : NULL);
}

const struct program_lowerer *program_lowerer_of(const struct spec_kernel *kernel, const struct arch *arch)
{
    arch = program_arch(kernel, arch);
    const struct program *program = spec_program(kernel, arch->name);
    const struct program_lowerer *const *l = lowerers;
    while (l[1] && !(*l)->takes(kernel, program, arch))
        l++;
    return *l;
}

/* ---- the family -------------------------------------------------------------------------------------------------- */

/* The kernel with the program that its spec has for the architecture: `arch` may give tile and cluster of its own. */
static struct spec_kernel kernel_on(const struct spec_kernel *kernel, const struct arch *arch)
{
    struct spec_kernel own = *kernel;
    own.program = (struct program *)(uintptr_t)spec_program(kernel, arch->name);
    return own;
}

/* Every step does what the text of the architecture has a block for. */
static int check_places(const struct program_lowering *l)
{
    const struct plan *p = l->plan;
    int from, to;
    for (int r = 0; r < p->role_count && place_text_of(p) != PLACE_TEXT_NONE; r++)
        for (int i = 0; i < p->role[r].step_count; i++) {
            const struct plan_step *s = &p->role[r].step[i];
            char others[160];
            if (!place_ends(p, s, &from, &to) || place_op_of(p, s))
                continue;
            return program_refuse(l, l->kernel->program->loc, "PROGRAM-PLACE",
                                  "the derivation for %s makes a step that its text has no block for, which is "
                                  "tilewright's own fault and not the spec's: from %s into %s by '%s' (step %d of role "
                                  "%s), where there is: %s; leave out the architecture, or report the spec",
                                  l->arch->name, place_end_word[from], place_end_word[to], s->call ? s->call : "a step",
                                  i + 1, p->role[r].name, place_op_others(p, s, others, sizeof others));
        }
    return 0;
}

static int variants(const struct spec *spec, const struct spec_kernel *kernel, const struct arch *arch)
{
    const struct spec_kernel own = kernel_on(kernel, arch);
    return program_lowerer_of(kernel, arch)->variants(spec, &own, arch);
}

static int reason_tiles(const struct program_lowering *l)
{
    const struct program *p = l->kernel->program;
    int status = 0;
    for (int i = 0; i < p->axis_count && !status; i++) {
        const struct program_axis *a = &p->axis[i];
        if (a->tile)
            status =
                family_reason(l->plan, plan_text(l->plan, "tile.%s", a->name), plan_text(l->plan, "%d", a->tile), "%s",
                              !a->chosen ? "the spec says so"
                              : a->why   ? a->why
                                         : "the family's, where the spec says none");
    }
    return status;
}

static bool has_reason(const struct plan *p, const char *field)
{
    bool has = false;
    for (int i = 0; i < p->reason_count; i++)
        has |= strcmp(p->reason[i].field, field) == 0;
    return has;
}

/* What the family chose and the lowering gives no reason for: it chooses among lowerings, too. 0 or 3. */
static int reason_choices(const struct program_lowering *l)
{
    int status = 0;
    for (int f = 0; f < SPEC_FIELD_COUNT && !status; f++) {
        const struct spec_value *v = &l->fields.value[f];
        const char *path = spec_rows[f].path;
        const char *boolean = v->integer ? "true" : "false";
        if (v->why && !has_reason(l->plan, path))
            status = family_reason(l->plan, path,
                                   spec_rows[f].type == 'b' ? boolean
                                   : v->text                ? v->text
                                                            : plan_text(l->plan, "%d", (int)v->integer),
                                   "%s", v->why);
    }
    for (int i = 0; i < l->kernel->ahead_count && !status; i++) {
        const struct spec_ahead *a = &l->kernel->ahead[i];
        const char *path = plan_text(l->plan, "ahead.%s", a->name);
        if (path && a->why && !has_reason(l->plan, path))
            status = family_reason(l->plan, path, plan_text(l->plan, "%d", a->turns), "%s", a->why);
    }
    return status;
}

/* The divisors of the kernel's functions that sizes decide, on either side of a where() too: max(K, 1) is never 0. 0 or
 * 3. */
static int add_divisors(struct plan *plan)
{
    const struct expr_graph *g = &plan->fused;
    int64_t *size = plan_alloc(plan, ((size_t)plan->symbol_count + 1) * sizeof *size), value;
    plan->divisor = plan_alloc(plan, ((size_t)g->count + 1) * sizeof *plan->divisor);
    if (!size || !plan->divisor)
        return 3;
    for (int i = 0; i < plan->symbol_count; i++)
        size[i] = 1 << 20;
    for (int i = 0; i < g->count; i++) {
        const struct expr_node *n = &g->node[i];
        if (n->op != EXPR_MOD && n->op != EXPR_FLOORDIV)
            continue;
        if (expr_is_int(g, n->arg[1], &value) || !expr_eval_int(g, n->arg[1], size, &value))
            continue; /* read/operators.c sees to it that the others are never 0 */
        const int node = expr_import(&plan->graph, g, n->arg[1]);
        if (node < 0)
            return 3;
        plan->divisor[plan->divisor_count++] = node;
    }
    return 0;
}

/* Nothing leads from a slice with an address of its own to the next: a tile is of one. */
static int check_pointers(const struct program_lowering *l)
{
    int status = 0;
    for (int i = 0; i < l->kernel->program->op_count; i++) {
        const struct program_op *o = &l->kernel->program->op[i];
        const bool by_number = o->kind == PROGRAM_GATHER || o->kind == PROGRAM_SCATTER_ADD;
        if (o->tensor < 0 || !l->plan->tensor[o->tensor].pointers)
            continue;
        const char *name = l->plan->tensor[o->tensor].name;
        if (o->window.dims)
            status = program_refuse(l, o->loc, "PROGRAM-POINTERS",
                                    "slices of %s have addresses of their own, and im2col windows go from image to "
                                    "image; leave pointers out",
                                    name);
        else if (by_number && o->gathered == 0)
            status = program_refuse(l, o->loc, "PROGRAM-POINTERS",
                                    "slices of %s have addresses of their own, and a tile is of one: rows by number "
                                    "are of another dim than the first; leave pointers out, or gather along another",
                                    name);
        else if (o->at[0].length > 0)
            status = program_refuse(l, o->loc, "PROGRAM-POINTERS",
                                    "slices of %s have addresses of their own, and a tile is of one: its first "
                                    "coordinate is no span; write a place of an axis without tile, such as at.b, or "
                                    "leave pointers out",
                                    name);
    }
    return status;
}

/* A map is one of an array's by a place that lies within it, whatever is launched: behind it there is none, where one
 * of all slices would bring zeros. The program's indices count from 0 to below the extents of their axes. */
static bool is_index_of(const struct program_lowering *l, int node, int64_t count)
{
    const struct program *p = l->kernel->program;
    const struct expr_node *n = &p->graph->node[node];
    int64_t value, by;
    switch (n->op) {
    case EXPR_CONST_INT:
        return n->integer >= 0 && n->integer < count;
    case EXPR_AT: /* of an axis without a tile: its blocks count its extent */
        return p->axis[n->integer].tile <= 1 && p->axis[n->integer].cluster <= 1 && p->axis[n->integer].extent >= 0 &&
               expr_is_int(p->graph, p->axis[n->integer].extent, &value) && value <= count;
    case EXPR_FLOORDIV:
        return expr_is_int(p->graph, n->arg[1], &by) && by > 0 && count <= INT64_MAX / by &&
               is_index_of(l, n->arg[0], count * by);
    case EXPR_MOD:
        return expr_is_int(p->graph, n->arg[1], &by) && by > 0 && by <= count;
    default:
        return false;
    }
}

/* A tile is of one slice that has a map of its own. 0 or 1. */
static int check_maps(const struct program_lowering *l)
{
    int status = 0;
    for (int i = 0; i < l->kernel->program->op_count; i++) {
        const struct program_op *o = &l->kernel->program->op[i];
        const struct spec_tensor *t = o->tensor >= 0 ? &l->kernel->tensor[o->tensor] : NULL;
        const bool by_number = o->kind == PROGRAM_GATHER || o->kind == PROGRAM_SCATTER_ADD;
        if (!t || !t->maps)
            continue;
        if (o->window.dims || by_number || o->at[0].length > 0)
            status = program_refuse(l, o->loc, "PROGRAM-MAPS",
                                    "slices of %s have maps of their own, and a tile is of one: its first coordinate "
                                    "is no span, and rows have no numbers; write a place of an axis without tile, such "
                                    "as at.b, or leave maps out",
                                    t->name);
        else if (!is_index_of(l, o->at[0].start, t->maps))
            status = program_refuse(l, o->loc, "PROGRAM-MAPS",
                                    "the tile's map is one of the %d of %s by its first coordinate, which has to lie "
                                    "below that: write the place of an axis without tile and cluster, whose extent in "
                                    "grid is a number up to %d, its // or %% by a number; or leave maps out",
                                    t->maps, t->name, t->maps);
    }
    return status;
}

/* Elements that arithmetic names are read where they are unless the spec says otherwise. */
static void note_direct(const struct program_lowering *l)
{
    for (int i = 0; i < l->kernel->via_count; i++)
        if (l->kernel->via[i].of_tensor && strcmp(l->kernel->via[i].word, "direct") == 0)
            field_reads_add(&l->plan->reads, FIELD_VIA, i);
}

static int lower(const struct program_lowering *l)
{
    struct plan *plan = l->plan;
    int status = family_copy_spec(l->spec, l->kernel, plan);
    if (status)
        return status;
    plan->arch = l->arch->name;
    plan->family = l->kernel->family ? plan_text(plan, "%s", l->kernel->family) : "program";
    status = reason_tiles(l);
    if (status)
        return status;
    status = check_pointers(l) | check_maps(l);
    note_direct(l);
    status = status ? status : program_lowerer_of(l->kernel, l->arch)->lower(l);
    status = status ? status : check_places(l);
    status = status ? status : reason_choices(l);
    if (!status)
        plan->flops = program_flops(l->kernel->program, plan);
    return status ? status : add_divisors(plan);
}

static int resolve(const struct spec *spec, const struct spec_kernel *kernel, const struct arch *arch, int variant,
                   struct plan *plan, struct diag_set *diags)
{
    struct spec_kernel own = kernel_on(kernel, arch);
    struct program_lowering l = {
        .spec = spec, .kernel = &own, .arch = arch, .variant = variant, .plan = plan, .diags = diags};
    spec_merge(kernel, arch->name, &l.fields);
    if (arch->plain && program_holds(own.program, PROGRAM_DOT))
        l.arch = arch_with(arch, program_field(&l, FIELD_INSTRUCTION)->text);
    return lower(&l);
}

const struct family family_program = {
    .variants = variants,
    .resolve = resolve,
};
