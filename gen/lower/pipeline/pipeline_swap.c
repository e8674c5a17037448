/* Which operand of dots takes the rows of the instruction, of which it has 64: the first, or by pipeline.swap the
 * second, whose instruction then is as wide as the first has rows. To the rest of the lowering that is another program,
 * of the same meaning (program/swap.h). */
#include "lower/pipeline/pipeline.h"
#include "program/swap.h"

static const struct program_op *operation_of(const struct program *p, int node)
{
    const struct expr_node *n = node >= 0 ? &p->graph->node[node] : NULL;
    return n && n->op == EXPR_TILE ? &p->op[n->integer] : NULL;
}

static bool is_loaded(const struct program *p, const struct program_tile *operand)
{
    const struct program_op *o = operation_of(p, operand->node);
    if (o && o->kind == PROGRAM_TRANSPOSE)
        o = operation_of(p, o->arg[0].node);
    return o && work_is_load(o);
}

/* What keeps the operation from being swapped, and what to write; NULL: nothing. */
static const char *against(const struct program *p, const struct program_op *o)
{
    if (o->kind == PROGRAM_DOT && !is_loaded(p, &o->arg[0]))
        return "the first operand of this dot is computed, and by pipeline.swap it is the second, which wgmma reads "
               "from "
               "shared memory; take pipeline.swap out, or load the tile";
    if (o->kind == PROGRAM_REDUCE && !o->over_rows)
        return "rows that this reduces lie across the threads of all warps by pipeline.swap; take that out, or reduce "
               "columns";
    if (work_is_store(o) && o->arg[0].columns == 1 && o->arg[0].rows > 1)
        return "one number of each row is stored, and by pipeline.swap rows lie across the threads of all warps; take "
               "that out, or store a tile";
    return NULL;
}

/* No tile of a dot has the rows of one instruction, and each has them among its columns. */
static bool is_chosen(const struct program *p)
{
    bool fits = true;
    for (int i = 0; i < p->op_count; i++) {
        const struct program_tile *tile = &p->op[i].tile;
        if (p->op[i].kind == PROGRAM_DOT)
            fits = fits && tile->rows < PIPELINE_ROWS && tile->rows % 8 == 0 && tile->columns % PIPELINE_ROWS == 0;
        fits = fits && !against(p, &p->op[i]);
    }
    return fits;
}

/* 0: as the program stands; 1 a fault; 3; -1: swapped. */
static int choose(const struct program_lowering *l)
{
    const struct program *p = l->kernel->program;
    const struct spec_value *said = program_field(l, FIELD_SWAP);
    const bool swap = said->set ? said->integer != 0 : is_chosen(p);
    if (!swap && !said->set)
        return 0;
    int status = family_reason(l->plan, "pipeline.swap", swap ? "true" : "false", "%s",
                               said->set ? spec_reason(said)
                                         : "tiles have fewer than the 64 rows of a wgmma, and columns for them");
    for (int i = 0; i < p->op_count && swap && status != 3; i++) {
        const char *text = against(p, &p->op[i]);
        if (!text)
            continue;
        status = program_refuse(l, p->op[i].loc, "PROGRAM-SWAP", "%s", text);
    }
    return status ? status : swap ? -1 : 0;
}

const char *pipeline_streamed_order(const struct pipeline *x, const char **why)
{
    int first = 0, dot = 0;
    *why = "items that read the same tile of the second operand follow each other, and there are few of them";
    while (x->program->axis[first].extent < 0)
        first++;
    while (x->program->op[dot].kind != PROGRAM_DOT)
        dot++;
    const struct program_op *load = x->d.dot[dot].load[0] >= 0 ? &x->program->op[x->d.dot[dot].load[0]] : NULL;
    for (int d = 0; load && d < x->plan->tensor[load->tensor].rank; d++)
        if (pipeline_reads_axis(x->program->graph, load->at[d].start, first))
            return "row";
    return "column";
}

/* Loops by the operations of the program as written, which others know. */
static void loops_as_written(struct plan *p, const struct program_swapped *swapped)
{
    for (int i = 0; i < p->loop_count; i++)
        if (p->loop[i].operation)
            p->loop[i].operation = plan_some(swapped->written[plan_number(p->loop[i].operation)]);
}

/* What the operands say stands before what is split: blocks share columns of what then is computed. */
int pipeline_lower_split(const struct program_lowering *l, const char *template_name, int (*decide)(struct pipeline *))
{
    struct spec_kernel kernel = *l->kernel;
    struct expr_graph graph = {.memory = l->kernel->graph.memory};
    struct program_lowering own = *l;
    int status = program_split(l, &kernel, &graph);
    own.kernel = &kernel;
    for (int i = l->kernel->axis_count; i < kernel.axis_count && !status; i++)
        l->plan->axis[l->plan->axis_count++] = kernel.axis[i];
    status = status ? status : pipeline_lower(&own, template_name, decide);
    expr_free(&graph);
    return status;
}

int pipeline_lower_swapped(const struct program_lowering *l, const char *template_name,
                           int (*decide)(struct pipeline *))
{
    int status = choose(l);
    if (status >= 0)
        return status ? status : pipeline_lower_split(l, template_name, decide);
    struct program_swapped swapped;
    struct program_swap_fault fault;
    struct spec_kernel kernel = *l->kernel;
    struct program_lowering own = *l;
    const struct memory memory = {0};
    status = program_swap(l->kernel->program, l->plan->arena, &memory, &swapped, &fault);
    if (status == 1)
        status = program_refuse(l, l->kernel->program->op[fault.op].loc, "PROGRAM-SWAP",
                                "what this gives %s; take pipeline.swap out", fault.text);
    kernel.program = &swapped.program;
    own.kernel = &kernel;
    own.swapped = true;
    status = status ? status : pipeline_lower_split(&own, template_name, decide);
    loops_as_written(l->plan, &swapped);
    program_swap_free(&swapped);
    return status;
}
