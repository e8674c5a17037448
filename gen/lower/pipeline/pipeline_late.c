/* Results that go out in the next item's turns: pipeline.store = "late". What they ask of a kernel, and of registers:
 * beside the sums of one item a thread holds the results of the one before. */
#include <stdio.h>

#include "lower/pipeline/pipeline.h"

static int refuse(const struct pipeline *x, const char *text)
{
    return program_refuse(x->l, pipeline_field(x, "pipeline.store")->loc, "PROGRAM-STORE", "%s", text);
}

/* Loops right in the item that have dots in them; *others: dots elsewhere. */
static int loops_of_dots(const struct pipeline *x, int *others)
{
    int loops = 0, last = -1;
    *others = 0;
    for (int i = 0; i < x->program->op_count; i++) {
        const int loop = x->d.work.op[i].parent;
        if (x->program->op[i].kind != PROGRAM_DOT)
            continue;
        *others += loop < 0 || x->d.work.op[loop].parent >= 0;
        loops += loop != last;
        last = loop;
    }
    return loops;
}

/* What keeps results from going out late, and what to write; NULL: nothing. */
static const char *against(const struct pipeline *x, int op)
{
    const struct spec_value *persistent = pipeline_field(x, "schedule.persistent");
    int others, loops = loops_of_dots(x, &others);
    if (persistent->set && !persistent->integer)
        return "results go out late under the products of the block's next item, and where persistent = false it has "
               "none; write store = \"chunks\", or leave persistent out";
    if (x->d.abreast < x->d.consumers)
        return "consumers that take items in turn store one while another multiplies already; write store = "
               "\"chunks\", or mode = \"cooperative\"";
    for (int i = 0; i < x->program->op_count; i++)
        if (x->program->op[i].kind == PROGRAM_LOOP && x->program->op[i].parts)
            return "results go out late in the turns of the block's next item, and behind a loop that blocks share "
                   "they meet first; write store = \"chunks\", or take split, or stream, out";
    if (loops != 1 || others)
        return "results go out late in the turns of an item's one loop with dots, and this item has several, or dots "
               "beside it; write store = \"chunks\"";
    if (x->l->kernel->ahead_count || !pipeline_only_multiplies(x))
        return "results go out late while products run, and in this loop threads compute between them, or a dot is "
               "issued ahead; write store = \"chunks\"";
    if (x->d.work.op[op].beyond >= 0)
        return "the result's rows end where data say, and such results do not go out late; write store = \"chunks\"";
    return x->d.work.op[op].parent >= 0 ? "a result that is stored in a loop does not go out late; write store = "
                                          "\"chunks\""
                                        : NULL;
}

int pipeline_late(struct pipeline *x, int op, int columns, int width)
{
    struct plan *p = x->plan;
    const struct plan_tensor *t = &p->tensor[x->program->op[op].tensor];
    const char *why = against(x, op);
    if (why)
        return refuse(x, why);
    if (!x->d.late)
        x->d.late = plan_alloc(p, sizeof *x->d.late * ((size_t)x->program->op_count + 1));
    const int words = x->d.blocks * columns * (int)tw_dtype_bytes(t->dtype) / 8;
    const struct plan_place place = {.name = plan_text(p, "%s_late", t->name),
                                     .kind = PLAN_PLACE_LATE,
                                     .dtype = t->dtype,
                                     .rows = x->d.rows / x->d.abreast,
                                     .cols = columns,
                                     .registers = words,
                                     .shared = -1};
    if (!x->d.late || !place.name || !(x->d.late[op] = plan_add_place(p, place)))
        return 3;
    const int most = pipeline_consumer_registers(x), beside = pipeline_beside_late(x, op, width);
    const int all = pipeline_registers_taken(x);
    int late = 0;
    for (int i = 0; i < p->place_count; i++)
        late += p->place[i].kind == PLAN_PLACE_LATE ? p->place[i].registers : 0;
    x->held = all + beside > x->held ? all + beside : x->held;
    if (all + beside <= most)
        return 0;
    char text[400];
    snprintf(text, sizeof text,
             "a thread holds %d registers of sums, %d of the results that go out late and about %d beside them, and "
             "has %d; write store = \"chunks\", or a smaller tile",
             all - late, late, beside, most);
    return refuse(x, text);
}
