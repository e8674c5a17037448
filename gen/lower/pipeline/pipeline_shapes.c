/* What shapes wgmma, registers and clusters allow. A fault of a tile that the kernel chose points at its field. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lower/pipeline/pipeline.h"

enum {
    WARPGROUP = 128,
    MOST_COLUMNS = 256,
    MOST_CONSUMERS = 3,
    BUDGET = 232, /* registers of a consumer beside one other */
    BUDGET_OF_THREE = 152,
    /* Of a consumer beside its sums: addresses, descriptors, results under way, which bulk stores have fewer of. */
    OTHER_REGISTERS = 40,
    OTHER_OF_BULK = 32,
    MMA_REGISTERS = 26, /* of a wgmma beside its accumulators, as ptxas counts (C7602) */
};

/* ---- where a fault lies ------------------------------------------------------------------------------------------ */

int pipeline_tile_axis(const struct pipeline *x, int op, bool column)
{
    const struct program_op *o = &x->program->op[op];
    for (int d = 0; d < x->plan->tensor[o->tensor].rank; d++) {
        int axis = x->l->kernel->tensor[o->tensor].axis[d];
        if (o->at[d].length > 1 && o->at[d].column == column && axis >= 0 && axis < x->program->axis_count &&
            x->program->axis[axis].tile == o->at[d].length)
            return axis;
    }
    return -1;
}

int pipeline_axis_of(const struct pipeline *x, int op, enum pipeline_extent extent)
{
    const struct derive_dot *dot = &x->d.dot[op];
    int which = extent == EXTENT_COLUMNS, load = dot->load[which];
    return load < 0 ? -1 : pipeline_tile_axis(x, load, (extent != EXTENT_ROWS) != dot->transposed[which]);
}

int pipeline_report(const struct pipeline *x, struct diag_loc loc, const char *field, const char *rule,
                    const char *text)
{
    diag_report(x->l->diags, DIAG_ERROR, loc.line ? loc : x->l->kernel->loc, x->l->kernel->name, field, rule, "%s",
                text);
    return 1;
}

int pipeline_refuse_tile(const struct pipeline *x, int op, bool column, const char *rule, const char *format, ...)
{
    const struct program_op *o = &x->program->op[op];
    char text[512], field[80];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    int axis = pipeline_tile_axis(x, op, column);
    if (axis < 0)
        return pipeline_report(x, o->loc, "program", rule, text);
    if (x->refused[axis])
        return 1;
    x->refused[axis] = true;
    snprintf(field, sizeof field, "tile.%s", x->program->axis[axis].name);
    return pipeline_report(x, x->program->axis[axis].tile_loc, field, rule, text);
}

int pipeline_refuse(const struct pipeline *x, int op, enum pipeline_extent extent, const char *rule, const char *format,
                    ...)
{
    char text[512], field[80];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    int axis = pipeline_axis_of(x, op, extent);
    if (axis < 0)
        return pipeline_report(x, x->program->op[op].loc, "program", rule, text);
    if (x->refused[axis])
        return 1;
    x->refused[axis] = true;
    snprintf(field, sizeof field, "tile.%s", x->program->axis[axis].name);
    return pipeline_report(x, x->program->axis[axis].tile_loc, field, rule, text);
}

/* "tile.n", or what the extent is called where no tile makes it. */
static const char *extent_name(const struct pipeline *x, int op, enum pipeline_extent extent, char text[80])
{
    static const char *const name[] = {"rows", "columns", "depth"};
    int axis = pipeline_axis_of(x, op, extent);
    if (axis >= 0)
        snprintf(text, 80, "tile.%s", x->program->axis[axis].name);
    else
        snprintf(text, 80, "%s", name[extent]);
    return text;
}

/* ---- rows and columns -------------------------------------------------------------------------------------------- */

int pipeline_check_rows(const struct pipeline *x, int consumers)
{
    int rows = x->d.rows, unit = PIPELINE_ROWS * consumers, low = rows / unit * unit, op = 0;
    if (rows % unit == 0)
        return 0;
    while (x->program->op[op].kind != PROGRAM_DOT)
        op++;
    char nearest[80];
    if (low == 0)
        snprintf(nearest, sizeof nearest, "%d", low + unit);
    else
        snprintf(nearest, sizeof nearest, "%d or %d", low, low + unit);
    if (rows % PIPELINE_ROWS == 0 && rows / PIPELINE_ROWS <= MOST_CONSUMERS && consumers == x->d.consumers)
        snprintf(nearest + strlen(nearest), sizeof nearest - strlen(nearest), ", or pipeline.consumers = %d",
                 rows / PIPELINE_ROWS);
    return pipeline_refuse(x, op, EXTENT_ROWS, "WGMMA-SHAPE",
                           "wgmma computes 64 rows%s, so that %d consumer%s a multiple of %d, not %d; write %s",
                           x->l->swapped ? " (by pipeline.swap of its second operand)" : "", consumers,
                           consumers == 1 ? " takes" : "s share", unit, rows, nearest);
}

/* What every thread has before setmaxnreg; ptxas holds one instruction's operands against it. */
static int first_registers(const struct pipeline *x)
{
    const int blocks = x->blocks_per_sm; /* which share what a multiprocessor has, as much as one block may have */
    int share = x->l->arch->registers_per_block / blocks / pipeline_threads(x) / 8 * 8;
    return share < x->l->arch->registers_per_thread ? share : x->l->arch->registers_per_thread;
}

/* Tiles come and results leave by bulk copies that end where their tensors do: no thread has places of its own. */
static bool is_bulk(struct pipeline *x)
{
    bool bulk = true;
    for (int i = 0; i < x->program->op_count; i++) {
        const struct program_op *o = &x->program->op[i];
        if (work_is_store(o) && o->arg[0].columns > 1)
            bulk = bulk && !pipeline_by_elements(x, i);
        for (int k = 0; k < 2 && o->kind == PROGRAM_DOT; k++) {
            const int load = x->d.dot[i].load[k];
            bulk = bulk && load >= 0 && x->program->op[load].kind == PROGRAM_LOAD && !pipeline_is_copied(x, load) &&
                   !pipeline_is_limited(x, x->program->op[load].tensor);
        }
        /* Boxes of 8 columns, where they are innermost: an address each. */
        bulk = bulk && (o->kind != PROGRAM_DOT || x->d.dot[i].transposed[1]);
    }
    return bulk;
}

static int check_registers(struct pipeline *x, int op)
{
    int columns = x->program->op[op].tile.columns, blocks = x->d.blocks, consumers = x->d.consumers;
    int budget = consumers == 3 ? BUDGET_OF_THREE : BUDGET, sums = (budget - OTHER_REGISTERS) / blocks;
    int one = first_registers(x) - MMA_REGISTERS, fits = 2 * (sums < one ? sums : one) / 8 * 8;
    char name[80];
    const bool bulk = blocks > 1 && consumers < 3 && blocks * columns / 2 + OTHER_OF_BULK <= budget && is_bulk(x);
    if (columns <= fits || x->d.in_memory || (bulk && x->l->variant == 0 && columns / 2 <= one))
        return 0;
    extent_name(x, op, EXTENT_COLUMNS, name);
    if (blocks * columns / 2 + OTHER_REGISTERS <= budget)
        return pipeline_refuse(
            x, op, EXTENT_COLUMNS, "REGS",
            "on %s a wgmma of %d columns takes %d registers of a thread, and the %d threads of a block with "
            "%d consumers begin with %d each; write %s = %d or fewer consumers",
            x->l->arch->name, columns, columns / 2 + MMA_REGISTERS, pipeline_threads(x), consumers, first_registers(x),
            name, fits);
    return pipeline_refuse(
        x, op, EXTENT_COLUMNS, "REGS",
        "on %s %d x %d of %s for each consumer are %d registers a thread, and with %d for addresses and the "
        "epilogue%s, more than the %d that %d consumer%s can have; write %s = %d%s%s",
        x->l->arch->name, blocks * PIPELINE_ROWS, columns, tw_dtype_name(x->program->op[op].tile.dtype),
        blocks * columns / 2, OTHER_REGISTERS, bulk ? " of results whose rows have any alignment" : "", budget,
        consumers, consumers == 1 ? "" : "s", name, fits,
        blocks > 1 ? " or fewer rows" : ", or 128 rows and pipeline.consumers = 2", /* one block of rows fits two */
        bulk ? ", or the extent along these rows as a constant or by dims \"N%8\", so that they are whole 16 bytes"
             : "");
}

/* The tensor that a dot's operand was loaded or gathered from, turned, sliced or not; -1: it is computed. */
static int loaded_from(const struct pipeline *x, const struct program_tile *operand)
{
    const struct program *p = x->program;
    while (p->graph->node[operand->node].op == EXPR_TILE) {
        const struct program_op *o = &p->op[p->graph->node[operand->node].integer];
        if (work_is_load(o))
            return o->tensor;
        if (o->kind != PROGRAM_TRANSPOSE && o->kind != PROGRAM_SLICE)
            break;
        operand = &o->arg[0];
    }
    return -1;
}

static int refuse_computed(const struct pipeline *x, int op)
{
    const struct program_op *o = &x->program->op[op];
    const struct arch_mma *row = arch_dot(x->l->arch, o->arg[0].dtype);
    if (x->d.dot[op].load[0] >= 0 || (row && row->computed != ARCH_COMPUTED_NONE))
        return 0;
    return program_refuse(x->l, o->loc, "DTYPE",
                          "an operand that is computed stays in registers, in which a %s does not lie as results do; "
                          "write cast(x, \"bf16\"), and the other operand in bf16",
                          tw_dtype_name(o->arg[0].dtype));
}

int pipeline_refuse_major(const struct pipeline *x, int op, int which)
{
    const struct program_op *o = &x->program->op[op];
    const struct arch_mma *row = arch_dot(x->l->arch, o->arg[which].dtype);
    const int tensor = loaded_from(x, &o->arg[which]);
    if (!row || row->mn_major || tensor < 0)
        return 0;
    const struct spec_tensor *t = &x->l->kernel->tensor[tensor];
    const struct derive_dot *dot = &x->d.dot[op];
    const int axis =
        dot->load[which] < 0 ? -1 : pipeline_tile_axis(x, dot->load[which], (which == 0) != dot->transposed[which]);
    char text[300];
    snprintf(text, sizeof text,
             "%s reads %s with k innermost alone, and %s lies the other way; write its dims with the one of %s last",
             row->kind, tw_dtype_name(o->arg[which].dtype), t->name, axis < 0 ? "k" : x->program->axis[axis].name);
    return pipeline_report(x, t->loc, t->name, "MMA-MAJOR", text);
}

int pipeline_check_converted(const struct pipeline *x, int op)
{
    const struct derive_dot *k = &x->d.dot[op];
    const struct program_op *load = &x->program->op[k->load[0]];
    const struct spec_tensor *t = &x->l->kernel->tensor[load->tensor];
    char text[300];
    /* Bytes outside of the tensor come as 0. */
    if (k->conversion.less && (x->program->op[op].arg[0].valid_column >= 0 || load->kind == PROGRAM_GATHER))
        return program_refuse(x->l, load->loc, "PROGRAM-LOWER",
                              "columns of this tile of %s may lie outside of it, where bytes are 0 and what is made of "
                              "them is not; write the bytes of a turn as its last dim, and load all of them",
                              t->name);
    if (!k->transposed[0])
        return 0;
    snprintf(text, sizeof text,
             "%s is converted in registers, into which its tile is read with k innermost alone, and it lies the other "
             "way; write its dims with the one of k last",
             t->name);
    return pipeline_report(x, t->loc, t->name, "MMA-MAJOR", text);
}

int pipeline_refuse_dtypes(const struct pipeline *x, int op)
{
    const struct program_op *o = &x->program->op[op];
    const struct arch *arch = x->l->arch;
    char types[80], field[140];
    int told = 0;
    if (arch_multiplies(arch, o->arg[0].dtype, o->arg[1].dtype))
        return refuse_computed(x, op);
    arch_multiplied(arch, " or ", types, sizeof types);
    const struct arch *whole = arch_find(arch->name);
    const char *otherwise = whole && arch_multiplies(whole, o->arg[0].dtype, o->arg[1].dtype)
                                ? ", or take pipeline.instruction out: wgmma multiplies these"
                                : "";
    for (int i = 0; i < 2; i++) { /* where the spec says it: what each holds */
        const int from = loaded_from(x, &o->arg[i]);
        const struct spec_tensor *t = from < 0 ? NULL : &x->l->kernel->tensor[from];
        if (!t || !t->dtype_loc.line || arch_dot(arch, o->arg[i].dtype))
            continue;
        snprintf(field, sizeof field, "%.120s.dtype", t->name);
        diag_report(x->l->diags, DIAG_ERROR, t->dtype_loc, x->l->kernel->name, field, "DTYPE",
                    "dots multiply %s, not %s; write one of them, of both operands the same%s", types,
                    tw_dtype_name(o->arg[i].dtype), otherwise);
        told = 1;
    }
    return told ||
           program_refuse(x->l, o->loc, "DTYPE", "%s and %s are not multiplied on %s; write %s for both%s",
                          tw_dtype_name(o->arg[0].dtype), tw_dtype_name(o->arg[1].dtype), arch->name, types, otherwise);
}

int pipeline_check_dot(struct pipeline *x, int op)
{
    const struct program_op *o = &x->program->op[op];
    enum tw_dtype dtype = o->arg[1].dtype;
    int columns = o->tile.columns, depth = o->arg[0].columns, bytes = (int)tw_dtype_bytes(dtype), status = 0;
    if (pipeline_refuse_dtypes(x, op))
        return 1;
    const bool whole = o->tile.dtype == TW_INT32;
    const int unit = whole && columns > 24 ? 16 : 8;
    const char *shape = whole ? "of integers wgmma computes 8, 16, 24 or a multiple of 16 columns"
                              : "wgmma computes a multiple of 8 columns";
    if (columns > MOST_COLUMNS)
        status |=
            pipeline_refuse(x, op, EXTENT_COLUMNS, "WGMMA-SHAPE", "%s up to 256, not %d; write 256", shape, columns);
    else if (columns % unit)
        status |=
            pipeline_refuse(x, op, EXTENT_COLUMNS, "WGMMA-SHAPE", "%s up to 256, not %d; write %d or %d", shape,
                            columns, whole && columns < 32 ? 24 : columns / unit * unit, columns / unit * unit + unit);
    if (depth * bytes % PIPELINE_K_BYTES)
        status |= pipeline_refuse(x, op, EXTENT_DEPTH, "WGMMA-SHAPE",
                                  "wgmma takes %d %s along k at a time, and %d is no multiple; write %d",
                                  PIPELINE_K_BYTES / bytes, tw_dtype_name(dtype), depth,
                                  (depth * bytes / PIPELINE_K_BYTES + 1) * PIPELINE_K_BYTES / bytes);
    return status ? status : check_registers(x, op);
}

/* ---- stages ------------------------------------------------------------------------------------------------------ */

int pipeline_least_stages(const struct pipeline *x)
{
    const struct spec_value *set = pipeline_field(x, "pipeline.stages");
    bool every_turn = false;
    for (int r = 0; r < x->d.ring_count; r++)
        every_turn = every_turn || x->d.ring[r].parent >= 0;
    /* Beside other blocks of the multiprocessor one will do: they compute while it is filled. The variant for rows that
     * begin anywhere, whose threads fill what they read, takes two then, as any does where a family chose one. */
    if (!every_turn || !set->set || set->why || set->integer >= 2 || x->blocks_per_sm > 1 || x->bulk ||
        (x->l->variant && x->l->arch->tma))
        return 0;
    return pipeline_report(x, set->loc, "pipeline.stages", "STAGES",
                           "one stage is read while the next is filled; write 2 or more");
}

/* "(A 16384, B 32768)": what a stage holds, and "and 32768 bytes beside them" where there are any. */
static void name_bytes(const struct pipeline *x, const struct pipeline_stages *s, char held[200], char beside[60])
{
    size_t length = 0;
    held[0] = beside[0] = '\0';
    for (int r = 0; r < x->d.ring_count; r++)
        for (int i = 0; i < x->d.ring[r].load_count && x->d.ring[r].parent >= 0 && length < 120; i++) {
            const struct plan_tensor *t = &x->plan->tensor[x->program->op[x->d.ring[r].load[i]].tensor];
            length += (size_t)snprintf(held + length, 200 - length, "%s%.40s %d", length ? ", " : " (", t->name,
                                       t->tile_bytes);
        }
    if (length)
        snprintf(held + length, 200 - length, ")");
    if (s->beside)
        snprintf(beside, 60, " and %d bytes beside them", s->beside);
}

/* Stages are asked for where no turn's tiles take memory: there is no such turn, or its tiles have no shape, as was
 * told. */
static int without_turns(const struct pipeline *x, struct diag_loc loc)
{
    for (int r = 0; r < x->d.ring_count; r++)
        if (x->d.ring[r].parent >= 0 && !pipeline_stage_bytes(x, &x->d.ring[r]))
            return 1;
    return pipeline_report(x, loc, "pipeline.stages", "FIELD-EFFECT",
                           "no turn of a loop loads a tile before it is its turn; take it out");
}

int pipeline_check_stages(const struct pipeline *x, const struct pipeline_stages *s)
{
    const struct spec_value *asked = pipeline_field(x, "pipeline.stages");
    char text[400], held[200], beside[60];
    name_bytes(x, s, held, beside);
    if (s->stages >= 1 && s->stages <= s->fit && (s->fit >= 2 || !s->each || x->blocks_per_sm > 1))
        return 0;
    bool refused = false;
    for (int i = 0; i < x->program->axis_count; i++)
        refused |= x->refused[i];
    if (refused && s->fit < 2) /* it follows from the tile */
        return 1;
    if (!s->each)
        return without_turns(x, asked->loc);
    if (s->fit >= 2) {
        snprintf(text, sizeof text,
                 "%d stages of %d bytes%s%s are %d bytes of shared memory, but a block of %s has %d; write %d",
                 s->stages, s->each, held, beside, s->stages * s->each + s->beside, x->l->arch->name,
                 pipeline_shared_limit(x), s->fit);
        return pipeline_report(x, asked->loc, "pipeline.stages", "SMEM", text);
    }
    int op = 0, limit = pipeline_shared_limit(x);
    while (op + 1 < x->program->op_count && (x->program->op[op].kind != PROGRAM_DOT || x->d.work.op[op].parent < 0))
        op++;
    char name[80];
    int axis = pipeline_axis_of(x, op, EXTENT_DEPTH), depth = axis >= 0 ? x->program->axis[axis].tile : 0,
        fewer = depth;
    while (fewer > 16 && (int64_t)s->each * fewer / depth * 2 > limit - s->beside)
        fewer /= 2;
    if (axis >= 0 && fewer >= 16)
        return pipeline_refuse(x, op, EXTENT_DEPTH, "SMEM",
                               "two stages of %d bytes%s%s are more than the %d bytes of shared memory of a block of "
                               "%s; write %s = %d or a "
                               "smaller tile",
                               s->each, held, beside, limit, x->l->arch->name, extent_name(x, op, EXTENT_DEPTH, name),
                               fewer);
    return pipeline_refuse(
        x, op, EXTENT_COLUMNS, "SMEM",
        "two stages of %d bytes%s%s are more than the %d bytes of shared memory of a block of %s; write smaller tiles",
        s->each, held, beside, limit, x->l->arch->name);
}

/* ---- clusters ---------------------------------------------------------------------------------------------------- */

int pipeline_check_slices(const struct pipeline *x, int axis, int load)
{
    const struct program_axis *a = &x->program->axis[axis];
    const struct program_op *o = &x->program->op[load];
    int blocks = a->cluster, unit = 8 * blocks, rows = o->tile.rows, fewer = blocks;
    char text[400], field[80];
    if (rows % unit == 0)
        return 0;
    while (fewer > 1 && rows % (8 * fewer))
        fewer--;
    snprintf(field, sizeof field, "cluster.%s", a->name);
    int rows_axis = pipeline_tile_axis(x, load, false);
    char name[80] = "", nearest[100];
    snprintf(nearest, sizeof nearest, "a tile of %d rows", (rows + unit - 1) / unit * unit);
    if (rows_axis >= 0) {
        snprintf(name, sizeof name, " (tile.%s)", x->program->axis[rows_axis].name);
        snprintf(nearest, sizeof nearest, "tile.%s = %d", x->program->axis[rows_axis].name,
                 (rows + unit - 1) / unit * unit);
    }
    snprintf(text, sizeof text,
             "%d blocks load %s's tile of %d rows%s in slices of whole groups of 8 rows, and %d is no multiple of %d; "
             "write %d, or %s",
             blocks, x->plan->tensor[o->tensor].name, rows, name, rows, unit, fewer, nearest);
    return pipeline_report(x, a->cluster_loc, field, "CLUSTER-SLICE", text);
}

int pipeline_check_cluster(const struct pipeline *x)
{
    int most = x->l->arch->max_cluster, widest = 0, fits = 1;
    char text[400], field[80];
    if (x->blocks <= most)
        return 0;
    for (int i = 0; i < x->program->axis_count; i++)
        widest = x->cluster[i] > x->cluster[widest] ? i : widest;
    while (2 * fits * (x->blocks / x->cluster[widest]) <= most)
        fits *= 2;
    snprintf(field, sizeof field, "cluster.%s", x->program->axis[widest].name);
    for (int i = 0; i < x->program->op_count; i++) /* an axis of parts is nobody's to name */
        if (x->program->op[i].kind == PROGRAM_LOOP && x->program->op[i].parts && x->program->op[i].part_axis == widest)
            snprintf(field, sizeof field, "split.%s", x->program->op[i].name);
    char product[64] = "";
    for (int i = 0; i < x->program->axis_count; i++)
        if (x->cluster[i] > 1)
            snprintf(product + strlen(product), sizeof product - strlen(product), "%s%d", *product ? " x " : "",
                     x->cluster[i]);
    snprintf(text, sizeof text, "%s blocks are %d, more than the %d of a cluster on %s; write %d", product, x->blocks,
             most, x->l->arch->name, fits);
    return pipeline_report(x, x->program->axis[widest].cluster_loc, field, "CLUSTER-SIZE", text);
}

/* ---- elements ---------------------------------------------------------------------------------------------------- */

int pipeline_refuse_output(const struct pipeline *x, int op)
{
    const struct program_op *o = &x->program->op[op];
    enum tw_dtype dtype = x->plan->tensor[o->tensor].dtype;
    if (o->kind == PROGRAM_STORE_ADD && dtype != TW_FP32)
        return program_refuse(x->l, o->loc, "PROGRAM-LOWER",
                              "elements are added in fp32 alone; write dtype = \"fp32\"");
    for (int i = 0; i < op; i++)
        if (work_is_store(&x->program->op[i]) && x->program->op[i].tensor == o->tensor &&
            x->program->op[i].kind != o->kind)
            return program_refuse(x->l, o->loc, "PROGRAM-LOWER",
                                  "%s is stored and added to by one kernel; write one of them",
                                  x->plan->tensor[o->tensor].name);
    if (dtype == TW_BF16 || dtype == TW_FP16 || dtype == TW_FP32 || dtype == TW_INT32)
        return 0;
    return program_refuse(x->l, o->loc, "DTYPE", "%s results are not written; write bf16, fp16, fp32 or int32",
                          tw_dtype_name(dtype));
}

int pipeline_check_element(const struct pipeline *x, int tensor)
{
    const struct plan_tensor *t = &x->plan->tensor[tensor];
    char text[200];
    bool whole = tw_dtype_info(t->dtype)->kind == TW_KIND_INT || tw_dtype_info(t->dtype)->kind == TW_KIND_UINT;
    if (t->dtype == TW_BF16 || t->dtype == TW_FP16 || t->dtype == TW_FP32 || whole)
        return 0;
    snprintf(text, sizeof text, "arithmetic beside dots reads no %s; write bf16, fp16, fp32 or integers",
             tw_dtype_name(t->dtype));
    return pipeline_report(x, t->loc, t->name, "DTYPE", text);
}
