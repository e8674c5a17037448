/* Rows that end where data say, and rows by number: what bulk copies and stores can do of them. */
#include <string.h>

#include "lower/pipeline/pipeline.h"

/* Beyond a limit lies what copies bring all the same: rows and columns of the dot that are outside too. What a dot sums
 * must be zeros there: rows of such a tile come in parts where the limit is among them. */
int pipeline_check_limits(struct pipeline *x, int op, bool summed_columns, bool parts)
{
    const struct program_op *o = &x->program->op[op];
    const struct plan_tensor *t = &x->plan->tensor[o->tensor];
    for (int d = 0; d < t->rank; d++) {
        if (o->at[d].limit < 0 || o->at[d].column != summed_columns)
            continue;
        if (!parts || !x->d.work.op[op].summed)
            return program_refuse(x->l, o->loc, "PROGRAM-LOWER",
                                  "a dot sums along the span of %s that has a limit, and copies bring what lies "
                                  "beyond it; write span(start, length), and zeros in memory from there on",
                                  t->name);
        if (family_add_value(x->plan, plan_text(x->plan, "limited.%s", t->name), 1))
            return 3;
    }
    return 0;
}

/* Copies of single rows begin at multiples of the 128 bytes that bulk copies ask for. */
int pipeline_check_row_bytes(const struct pipeline *x, const struct program_op *o, int rows)
{
    const struct plan_tensor *t = &x->plan->tensor[o->tensor];
    if (t->box_bytes == 128 * rows)
        return 0;
    return program_refuse(x->l, o->loc, "TMA-SPAN",
                          "rows of %s come one by one, and the %d bytes of a box's row are less than the 128 that bulk "
                          "copies ask for; write a tile of multiples of %d columns, and swizzle = \"128B\"",
                          t->name, t->box_bytes / rows, 128 / (int)tw_dtype_bytes(t->dtype));
}

bool pipeline_is_limited(const struct pipeline *x, int tensor)
{
    const char *name = plan_text(x->plan, "limited.%s", x->plan->tensor[tensor].name);
    for (int i = 0; i < x->plan->value_count && name; i++)
        if (strcmp(x->plan->value[i].name, name) == 0)
            return true;
    return false;
}

bool pipeline_is_copied(const struct pipeline *x, int load)
{
    for (int r = 0; r < x->d.ring_count; r++)
        for (int i = 0; i < x->d.ring[r].load_count; i++)
            if (x->d.ring[r].load[i] == load)
                return x->d.ring[r].copied;
    return false;
}

/* Maps of 8 rows and of one, of tensors whose rows end where data say; and of a run of rows by number. */
int pipeline_part_maps(struct pipeline *x)
{
    for (int i = 0; i < x->program->op_count; i++) {
        const struct program_op *o = &x->program->op[i];
        if (!work_is_store(o) || x->d.work.op[i].beyond < 0)
            continue;
        for (int k = 0; k < x->program->op_count; k++)
            if (k != i && work_is_store(&x->program->op[k]) && x->program->op[k].tensor == o->tensor)
                return program_refuse(x->l, o->loc, "PROGRAM-LOWER",
                                      "%s, whose rows end where data say, is stored in two places; write one store",
                                      x->plan->tensor[o->tensor].name);
    }
    for (int i = 0; i < x->plan->tensor_count; i++) {
        int dim = plan_number(x->plan->tensor[i].gathered), run = x->plan->tensor[i].run;
        if (run > 1 && !family_add_part_map(x->plan, i, dim, run))
            return 3;
        dim = 0;
        if (!pipeline_is_limited(x, i))
            continue;
        for (int d = 0; d + 1 < x->plan->tensor[i].rank; d++)
            dim = x->plan->tensor[i].tile[d] > 1 ? d : dim;
        if (!family_add_part_map(x->plan, i, dim, 8) || !family_add_part_map(x->plan, i, dim, 1))
            return 3;
    }
    return 0;
}
