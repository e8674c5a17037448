/* Registers of what dots sum. */
#include "lower/pipeline/pipeline.h"

enum {
    COLUMN_UNIT = 8, /* of a wgmma, and rows of a tile after which its swizzle begins again */
    LEAST_HALF = 64, /* columns: of fewer an instruction is held by shared memory, of which it reads all its rows */
    SPAN = 128,      /* bytes, the widest of a tile */
};

int pipeline_accumulator(struct pipeline *x, int op, const char *name)
{
    const struct program_op *o = &x->program->op[op];
    const bool apart = x->d.dot[op].by_block;
    const int held = apart ? 1 : x->d.blocks; /* blocks of rows, of a consumer */
    const int columns = x->d.dot[op].columns ? x->d.dot[op].columns : o->tile.columns;
    int loop = x->d.work.op[op].parent, sums = held * columns / x->d.warps_n;
    int place = plan_add_place(x->plan, (struct plan_place){.name = plan_text(x->plan, "%s_sum", name),
                                                            .kind = PLAN_PLACE_ACCUMULATOR,
                                                            .dtype = o->tile.dtype,
                                                            .rows = x->d.rows / x->d.abreast / x->d.blocks * held,
                                                            .cols = columns,
                                                            .block = apart,
                                                            .registers = x->d.in_memory ? PIPELINE_OF_CHUNK : sums / 2,
                                                            .shared = -1});
    if (!place)
        return 3;
    x->d.dot[op].place = place;
    int node = x->d.work.op[op].leaf, status = derive_home(&x->d, node, place);
    /* What a loop carries on as it is, and what it gives to the loop around. */
    while (loop >= 0 && node >= 0 && !status) {
        int which = x->program->op[loop].carried - 1, result = -1;
        while (which >= 0 && x->d.work.op[x->program->op[loop].end].value[which] != node)
            which--;
        for (int k = 0; k < x->program->op_count && which >= 0 && !status; k++) {
            const struct program_op *other = &x->program->op[k];
            if ((other->kind != PROGRAM_PARAM && other->kind != PROGRAM_RESULT) || other->loop != loop ||
                other->which != which)
                continue;
            bool parts = other->kind == PROGRAM_RESULT && x->program->op[loop].parts && !x->program->op[loop].by_last;
            status = parts ? pipeline_part_place(x, k, name) : derive_home(&x->d, x->d.work.op[k].leaf, place);
            result = other->kind == PROGRAM_RESULT ? x->d.work.op[k].leaf : result;
        }
        node = result;
        loop = x->d.work.op[loop].parent;
    }
    return status;
}

/* Columns of one of two blocks of them, as the dot is made block by block; 0: it is not. Each is one of the
 * instruction's shapes, begins where the swizzle does, and lies, where columns are innermost, in whole spans. */
static int half_of_columns(const struct pipeline *x, int op)
{
    const int columns = x->program->op[op].tile.columns, half = columns / 2;
    const struct program_op *load = &x->program->op[x->d.dot[op].load[1]];
    const bool spans = x->d.dot[op].transposed[1] || half * (int)tw_dtype_bytes(load->tile.dtype) % SPAN == 0;
    const struct arch_mma *row = arch_dot(x->l->arch, load->tile.dtype);
    const bool whole = columns % (2 * COLUMN_UNIT) == 0 && half >= LEAST_HALF && spans && row;
    return whole && arch_find_mma(x->l->arch, row->kind, row->input, row->accumulator, row->m, half, row->k) ? half : 0;
}

void pipeline_find_by_block(struct pipeline *x, int beside, int most)
{
    int taken = beside;
    for (int i = 0; i < x->program->op_count; i++) {
        const int sums = x->d.blocks * x->program->op[i].tile.columns / 2;
        if (x->program->op[i].kind == PROGRAM_DOT)
            taken += derive_summed_by(&x->d, i) ? 2 * sums : sums;
    }
    const bool crowded = !x->l->arch->tensor_columns && taken > most;
    for (int i = 0; i < x->program->op_count && crowded; i++) {
        struct derive_dot *dot = &x->d.dot[i];
        if (x->program->op[i].kind != PROGRAM_DOT || dot->load[0] < 0 || dot->converted ||
            x->l->kernel->ahead_count > 0 || !derive_summed_by(&x->d, i))
            continue;
        dot->columns = x->d.blocks == 1 ? half_of_columns(x, i) : 0;
        dot->by_block = x->d.blocks > 1 ? x->d.blocks : dot->columns ? 2 : 0;
        x->by_block = x->by_block || dot->by_block;
        if (dot->columns)
            family_reason(x->plan, plan_text(x->plan, "columns.%s", pipeline_dot_name(x, i)), "by block",
                          "registers do not hold the product of %d columns beside their sum: of each %d it is added "
                          "before the next are multiplied",
                          2 * dot->columns, dot->columns);
        else if (dot->by_block)
            family_reason(x->plan, plan_text(x->plan, "rows.%s", pipeline_dot_name(x, i)), "by block",
                          "registers do not hold the product of %d rows beside their sum: of each 64 it is added "
                          "before the next are multiplied",
                          x->d.blocks * PIPELINE_ROWS);
    }
}
