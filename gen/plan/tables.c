/* A Plan as tables, for people. */
#include "plan/plan.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

static const char *const promotion_word[] = {"none", "64B", "128B", "256B"};

/* Cells of a table, printed with columns as wide as their widest cell once all are there. */
enum { CELLS = 1024, COLUMNS = 10, TEXT = 24576 };
struct table {
    FILE *out;
    int columns, cells;
    const char *cell[CELLS];
    char text[TEXT]; /* where the cells lie */
    size_t used;
};

static void flush(struct table *t)
{
    int width[COLUMNS] = {0};
    for (int i = 0; i < t->cells; i++) {
        int length = (int)strlen(t->cell[i]);
        width[i % t->columns] = length > width[i % t->columns] ? length : width[i % t->columns];
    }
    for (int i = 0; i < t->cells; i++) {
        int last = i; /* nothing is padded behind the row's last filled cell */
        while (last % t->columns < t->columns - 1 && last + 1 < t->cells)
            last++;
        while (last > i && t->cell[last][0] == 0)
            last--;
        bool ends = last == i;
        if (i % t->columns == 0)
            fputs("  ", t->out);
        if (ends) {
            fprintf(t->out, "%s\n", t->cell[i]);
            i += t->columns - 1 - i % t->columns;
        } else {
            fprintf(t->out, "%-*s  ", width[i % t->columns], t->cell[i]);
        }
    }
    t->cells = 0;
    t->used = 0;
}

__attribute__((format(printf, 2, 3))) static void cell(struct table *t, const char *format, ...)
{
    if (t->cells % t->columns == 0 && (t->cells + t->columns > CELLS || t->used + TEXT / 4 > TEXT))
        flush(t); /* a very long table goes on with columns of its own width */
    char *at = t->text + t->used;
    size_t room = TEXT - t->used;
    va_list list;
    va_start(list, format);
    int length = vsnprintf(at, room, format, list);
    va_end(list);
    size_t used = length < 0 ? 0 : (size_t)length < room ? (size_t)length + 1 : room;
    t->used += used;
    t->cell[t->cells++] = used ? at : "";
}

static void title(struct table *t, const char *name, int columns, ...)
{
    fprintf(t->out, "\n%s\n", name);
    t->columns = columns;
    va_list list;
    va_start(list, columns);
    for (int i = 0; i < columns; i++)
        cell(t, "%s", va_arg(list, const char *));
    va_end(list);
}

static const char *tensor_name(const struct plan *p, int tensor)
{
    return tensor >= 0 && tensor < p->tensor_count ? p->tensor[tensor].name : "";
}

static void size_text(const struct plan *p, int node, char *out, size_t room)
{
    if (node < 0 || node >= p->graph.count)
        snprintf(out, room, "-");
    else
        expr_print_lua(&p->graph, node, p->symbol, out, room);
}

/* "a x b" of integers, zero shown as "-". */
static const char *extents(const int *value, int count, char *out, size_t room)
{
    size_t used = 0;
    out[0] = 0;
    for (int i = 0; i < count && used < room; i++) {
        int length = value[i] ? snprintf(out + used, room - used, "%s%d", i ? " x " : "", value[i])
                              : snprintf(out + used, room - used, "%s-", i ? " x " : "");
        used += length < 0 ? 0 : (size_t)length;
    }
    return out;
}

static const char *sizes(const struct plan *p, const int *node, int count, char *out, size_t room)
{
    size_t used = 0;
    out[0] = 0;
    for (int i = 0; i < count && used + 4 < room; i++) {
        if (i)
            used += (size_t)snprintf(out + used, room - used, ", ");
        size_text(p, node[i], out + used, room - used);
        used += strlen(out + used);
    }
    return out;
}

static void print_head(const struct plan *p, FILE *out)
{
    char one[512], other[64];
    fprintf(out, "kernel %s on %s", p->kernel, p->arch);
    if (p->variant && p->variant[0])
        fprintf(out, ", variant %s", p->variant);
    fprintf(out, "\n  entry %s, template %s%s%s\n", p->entry, p->template_name, p->family ? ", family " : "",
            p->family ? p->family : "");
    fprintf(out, "  launch: grid (%s), block %d, cluster (%s)", sizes(p, p->launch.grid, 3, one, sizeof one),
            p->launch.block, extents(p->launch.cluster, 3, other, sizeof other));
    fprintf(out, ", %d bytes of shared memory%s", p->launch.shared_bytes,
            p->launch.programmatic ? ", programmatic" : "");
    if (p->workspace_bytes)
        fprintf(out, ", %" PRId64, p->workspace_bytes);
    if (p->workspace)
        fprintf(out, " + %s", sizes(p, (const int[]){plan_number(p->workspace)}, 1, one, sizeof one));
    if (p->workspace_bytes)
        fprintf(out, " bytes of workspace");
    if (p->list) {
        char text[256];
        fprintf(out, "\n  before: %s_list, grid %s, block %d, finds the turns of %s", p->entry,
                sizes(p, &p->list->records, 1, text, sizeof text), PLAN_LIST_THREADS, p->loop[p->list->loop].name);
    }
    /* A user's template says nothing of registers and work: they are known once it is compiled and run. */
    if (p->registers_estimate)
        fprintf(out, "\n  registers: about %d a thread", p->registers_estimate);
    else
        fprintf(out, "\n  registers: known once it is compiled");
    if (p->register_limit)
        fprintf(out, ", at most %d", p->register_limit);
    fprintf(out, "%s", p->allow_spills ? ", spills allowed" : "");
    if (p->registers_estimate)
        fprintf(out, "; %d block%s a multiprocessor", p->blocks_per_sm, p->blocks_per_sm == 1 ? "" : "s");
    fprintf(out, "\n");
    if (p->flops >= 0 && p->bytes_moved >= 0) {
        size_text(p, p->flops, one, sizeof one);
        fprintf(out, "  work: %s operations", one);
        size_text(p, p->bytes_moved, one, sizeof one);
        fprintf(out, ", %s bytes\n", one);
    }
}

static void print_tensors(const struct plan *p, struct table *t)
{
    char dims[512], strides[512], tile[64], box[64];
    title(t, "tensors", 9, "name", "dtype", "extents", "strides", "access", "tile", "bytes", "swizzle", "needs");
    for (int i = 0; i < p->tensor_count; i++) {
        const struct plan_tensor *q = &p->tensor[i];
        bool tiled = q->tile_bytes > 0;
        cell(t, "%s%s", q->name, q->out ? " (out)" : "");
        cell(t, "%s", tw_dtype_name(q->dtype));
        cell(t, "%s", sizes(p, q->dim, q->rank, dims, sizeof dims));
        cell(t, "%s%s", q->pointers ? "pointers, " : "",
             sizes(p, q->stride + q->pointers, q->rank - q->pointers, strides, sizeof strides));
        cell(t, "%s", plan_access_word[q->access]);
        cell(t, "%s", tiled ? extents(q->tile, q->rank, tile, sizeof tile) : "");
        if (tiled)
            cell(t, "%d", q->tile_bytes);
        else
            cell(t, "%s", "");
        cell(t, "%s", tiled ? tw_swizzles[q->swizzle].name : "");
        cell(t, "%d-byte %s", q->align, q->whole_rows ? "rows and extents" : "rows");
    }
    flush(t);
    if (p->map_count > 0) {
        title(t, "tensor maps (boxes in memory order, innermost last)", 7, "name", "tensor", "box", "boxes a tile",
              "multicast", "swizzle", "L2");
        for (int i = 0; i < p->map_count; i++) {
            const struct plan_map *m = &p->map[i];
            int reversed[SPEC_MAX_RANK] = {0};
            for (int d = 0; d < m->rank && d < SPEC_MAX_RANK; d++)
                reversed[d] = m->box[m->rank - 1 - d];
            bool known = m->tensor >= 0 && m->tensor < p->tensor_count;
            if (known && p->tensor[m->tensor].maps)
                cell(t, "%s[%d]", m->name, p->tensor[m->tensor].maps);
            else
                cell(t, "%s", m->name);
            cell(t, "%s%s", tensor_name(p, m->tensor), known && p->tensor[m->tensor].window.dims ? ", windows" : "");
            cell(t, "%s", extents(reversed, m->rank, box, sizeof box));
            cell(t, "%d", known ? p->tensor[m->tensor].boxes : 0);
            cell(t, "%d", known ? p->tensor[m->tensor].multicast : 0);
            cell(t, "%s", tw_swizzles[m->swizzle].name);
            cell(t, "%s", m->l2_promotion >= 0 && m->l2_promotion < 4 ? promotion_word[m->l2_promotion] : "?");
        }
        flush(t);
    }
}

static void print_memory(const struct plan *p, struct table *t)
{
    if (p->shared_count > 0) {
        title(t, "shared memory", 5, "name", "offset", "bytes", "alignment", "count");
        for (int i = 0; i < p->shared_count; i++) {
            const struct plan_shared *m = &p->shared[i];
            cell(t, "%s", m->name);
            cell(t, "%d", m->offset);
            cell(t, "%d", m->bytes);
            cell(t, "%d", m->align);
            cell(t, "%d", m->count);
        }
        flush(t);
    }
    if (p->ring_count > 0) {
        title(t, "rings", 7, "name", "stages", "filler", "tensors", "full arrivals", "bytes a stage", "empty arrivals");
        for (int i = 0; i < p->ring_count; i++) {
            const struct plan_ring *r = &p->ring[i];
            char tensors[160] = "";
            for (int n = 0; n < r->tensor_count && n < 8; n++) {
                size_t used = strlen(tensors);
                snprintf(tensors + used, sizeof tensors - used, "%s%s", n ? " " : "", tensor_name(p, r->tensor[n]));
            }
            bool bulk = r->filler == PLAN_FILL_BULK || r->filler == PLAN_FILL_PEERS || r->filler == PLAN_FILL_OWN;
            cell(t, "%s", r->name);
            cell(t, "%d", r->stages);
            cell(t, "%s", plan_filler_word[r->filler]);
            cell(t, "%s", tensors);
            cell(t, bulk ? "%d" : "%.0d", bulk ? r->full_arrivals : 0);
            cell(t, bulk ? "%d" : "%.0d", bulk ? r->tx_bytes : 0);
            cell(t, bulk ? "%d" : "%.0d", bulk ? r->empty_arrivals : 0);
        }
        flush(t);
    }
    if (p->barrier_count > 0) {
        title(t, "named barriers", 3, "name", "hardware", "threads");
        for (int i = 0; i < p->barrier_count; i++) {
            cell(t, "%s", p->barrier[i].name);
            cell(t, "%d", p->barrier[i].id);
            cell(t, "%d", p->barrier[i].threads);
        }
        flush(t);
    }
}

static void print_places(const struct plan *p, struct table *t)
{
    if (p->place_count == 0)
        return;
    title(t, "places of an executor", 6, "name", "where", "dtype", "shape", "registers a thread", "bytes");
    for (int i = 0; i < p->place_count; i++) {
        const struct plan_place *q = &p->place[i];
        cell(t, "%s", q->name);
        cell(t, "%s", plan_place_word[q->kind]);
        cell(t, "%s", tw_dtype_name(q->dtype));
        cell(t, "%d x %d", q->rows, q->cols);
        cell(t, "%.0d", q->registers);
        cell(t, "%.0d", q->bytes);
    }
    flush(t);
}

static const char *place_name(const struct plan *p, int place)
{
    return place >= 0 && place < p->place_count ? p->place[place].name : "";
}

/* Of a FILL or EXPECT, with what the item before may have left. */
static void print_bytes(struct table *t, const struct plan_step *s)
{
    const bool part = s->op == PLAN_EXPECT && s->reuse < s->count;
    cell(t, !s->reuse ? "%d bytes" : part ? "%d bytes, %d reused" : "%d bytes, or reused", s->count, s->reuse);
}

/* The last column: what the step's numbers say. */
static void print_numbers(const struct plan *p, struct table *t, const struct plan_step *s)
{
    const char *place = place_name(p, plan_number(s->place));
    const char *place2 = place_name(p, plan_number(s->window ? s->window : s->place2));
    switch (s->op) {
    case PLAN_WAIT_FULL:
    case PLAN_WAIT_EMPTY:
        cell(t, "phase %d", s->phase);
        break;
    case PLAN_BARRIER:
    case PLAN_BARRIER_ARRIVE: {
        char only[32] = "";
        if (s->only == PLAN_NEXT)
            snprintf(only, sizeof only, ", who is next alone");
        else if (s->only)
            snprintf(only, sizeof only, ", instance %d alone", plan_number(s->only));
        if (s->count >= 0 && s->count < p->barrier_count)
            cell(t, "%s%s", p->barrier[s->count].name, only);
        else
            cell(t, "%d%s", s->count, only);
        break;
    }
    case PLAN_RELEASE:
        cell(t, "keep %d, %d arrival%s", s->count, s->arrivals > 0 ? s->arrivals : 1, s->arrivals > 1 ? "s" : "");
        break;
    case PLAN_ARRIVE:
        cell(t, "%d arrival%s", s->arrivals > 0 ? s->arrivals : 1, s->arrivals > 1 ? "s" : "");
        break;
    case PLAN_FILL:
    case PLAN_EXPECT:
        print_bytes(t, s);
        break;
    case PLAN_MMA_WAIT:
    case PLAN_CP_WAIT:
    case PLAN_STORE_WAIT:
        cell(t, "at most %d", s->count);
        break;
    case PLAN_MMA:
        cell(t, "%s%s%s%s", place, place2[0] ? " from " : "", place2,
             s->at[0] ? ", by rows from a computed one on" : "");
        break;
    case PLAN_TOUCH:
    case PLAN_SCRATCH_WRITE:
    case PLAN_SCRATCH_READ:
        cell(t, "%s%s%s%s%s%s", s->op == PLAN_SCRATCH_WRITE ? "" : plan_reduction_word[s->reduction],
             !s->reduction || s->op == PLAN_SCRATCH_WRITE ? ""
             : s->op == PLAN_TOUCH                        ? " into "
                                                          : " of ",
             place, place2[0] ? (s->op == PLAN_SCRATCH_READ ? " into " : " from ") : "", place2,
             s->op == PLAN_SCRATCH_READ && s->count ? ", asynchronously" : "");
        break;
    case PLAN_GLOBAL: {
        char shift[48] = "";
        if (s->shift)
            snprintf(shift, sizeof shift, ", begins %d within a vector", s->shift);
        else if (s->more)
            snprintf(shift, sizeof shift, ", %d row%s more a thread", s->more, s->more > 1 ? "s" : "");
        cell(t, "%s%s%s%s", place, shift, s->once ? ", once" : "", s->adds ? "adds" : "");
        break;
    }
    case PLAN_WHEN:
        cell(t, s->place ? "if held in %s%.0d" : "if above %s%d", place, s->count);
        break;
    case PLAN_LOOP: {
        char less[32] = "", share[40] = "", count[16] = "";
        if (s->count)
            snprintf(count, sizeof count, "%d", s->count);
        if (s->less)
            snprintf(less, sizeof less, "%sless %d", s->count ? " " : "", s->less);
        if (s->share)
            snprintf(share, sizeof share, "%severy %d. turn", s->count || s->less ? ", " : "", s->share);
        cell(t, "%s%s%s%s%s%s", count, s->kept ? ", kept" : "", less, share, s->place ? "held in " : "", place);
        break;
    }
    case PLAN_READ:
        cell(t, s->back ? "%.0d, back %d" : "%.0d", s->count, s->back);
        break;
    default:
        cell(t, "%.0d", s->count);
        break;
    }
}

static void print_roles(const struct plan *p, struct table *t)
{
    for (int i = 0; i < p->role_count; i++) {
        const struct plan_role *r = &p->role[i];
        bool why = false;
        for (int n = 0; n < r->step_count; n++)
            why = why || r->step[n].why;
        char name[200], budget[48] = "";
        int depth = 0;
        if (r->registers)
            snprintf(budget, sizeof budget, ", %d registers a thread", r->registers);
        snprintf(name, sizeof name, "role %s: %d instance%s, warps %d..%d%s", r->name, r->instances,
                 r->instances == 1 ? "" : "s", r->first_warp, r->first_warp + r->warps - 1, budget);
        title(t, name, why ? 7 : 6, "step", "call", "does", "ring", "tensor", "count", "why");
        for (int n = 0; n < r->step_count; n++) {
            const struct plan_step *s = &r->step[n];
            depth -= s->op == PLAN_END && depth > 0;
            cell(t, "%d", n + 1);
            cell(t, "%*s%s", 2 * depth, "", s->call ? s->call : "");
            cell(t, "%s", plan_op_word[s->op]);
            int ring = plan_step_ring(s);
            cell(t, "%s", ring >= 0 && ring < p->ring_count ? p->ring[ring].name : "");
            cell(t, "%s", tensor_name(p, plan_step_tensor(s)));
            print_numbers(p, t, s);
            if (why)
                cell(t, "%s", s->why ? s->why : "");
            depth += s->op == PLAN_LOOP || s->op == PLAN_WHEN;
        }
        flush(t);
    }
}

static void print_instructions(const struct plan *p, struct table *t)
{
    if (p->mma_count == 0)
        return;
    title(t, "instructions", 6, "name", "kind", "shape", "types", "tiles an executor", "k steps a stage");
    for (int i = 0; i < p->mma_count; i++) {
        const struct plan_mma *m = &p->mma[i];
        cell(t, "%s", m->name);
        cell(t, "%s", m->kind);
        cell(t, "m%dn%dk%d", m->m, m->n, m->k);
        if (m->operand[0].dtype == m->operand[1].dtype)
            cell(t, "%s to %s", tw_dtype_name(m->operand[0].dtype), tw_dtype_name(m->accumulator));
        else
            cell(t, "%s by %s to %s", tw_dtype_name(m->operand[0].dtype), tw_dtype_name(m->operand[1].dtype),
                 tw_dtype_name(m->accumulator));
        cell(t, "%d x %d", m->blocks_m, m->blocks_n);
        cell(t, "%d", m->k_steps);
    }
    flush(t);
    title(t, "operands", 7, "instruction", "tensor", "major", "leading bytes", "stride bytes", "k bytes",
          "block bytes");
    for (int i = 0; i < p->mma_count; i++)
        for (int o = 0; o < 2; o++) {
            const struct plan_mma *m = &p->mma[i];
            cell(t, "%s", m->name);
            cell(t, "%s", tensor_name(p, m->operand[o].tensor));
            cell(t, "%s", m->operand[o].mn_major ? (o ? "n" : "m") : "k");
            cell(t, "%d", m->operand[o].leading_bytes);
            cell(t, "%d", m->operand[o].stride_bytes);
            cell(t, "%d", m->operand[o].k_bytes);
            cell(t, "%d", m->operand[o].block_bytes);
        }
    flush(t);
}

static void print_params(const struct plan *p, struct table *t)
{
    char name[64];
    snprintf(name, sizeof name, "parameters: %d bytes", p->param_bytes);
    title(t, name, 5, "name", "type", "offset", "bytes", "alignment");
    for (int i = 0; i < p->param_count; i++) {
        const struct plan_param *q = &p->param[i];
        cell(t, "%s", q->name);
        cell(t, "%s", q->type);
        cell(t, "%d", q->offset);
        cell(t, "%d", q->bytes);
        cell(t, "%d", q->align);
    }
    flush(t);
    if (p->value_count == 0)
        return;
    title(t, "values", 2, "name", "value");
    for (int i = 0; i < p->value_count; i++) {
        cell(t, "%s", p->value[i].name);
        if (p->value[i].text)
            cell(t, "%s", p->value[i].text);
        else
            cell(t, "%" PRId64, p->value[i].integer);
    }
    flush(t);
}

static void print_proof(const struct plan *p, FILE *out)
{
    const struct plan_proof *proof = &p->proof;
    if (proof->runs)
        fprintf(
            out,
            "\nproof: no deadlock, no overwrite, no early read, no wrong phase in %d %s of %d %s, each for all that do "
            "the same; loops turn 0 to %d times; %lld steps\n",
            proof->runs, proof->runs == 1 ? "run" : "runs", proof->threads, proof->threads == 1 ? "thread" : "threads",
            proof->turns, (long long)proof->steps);
}

void plan_print_tables(const struct plan *p, bool why, FILE *out)
{
    struct table t = {.out = out};
    print_head(p, out);
    print_tensors(p, &t);
    print_memory(p, &t);
    print_places(p, &t);
    print_roles(p, &t);
    print_proof(p, out);
    print_instructions(p, &t);
    print_params(p, &t);
    if (!why || p->reason_count == 0)
        return;
    title(&t, "why", 3, "field", "value", "reason");
    for (int i = 0; i < p->reason_count; i++) {
        cell(&t, "%s", p->reason[i].field);
        cell(&t, "%s", p->reason[i].value ? p->reason[i].value : "");
        cell(&t, "%s", p->reason[i].reason ? p->reason[i].reason : "");
    }
    flush(&t);
}
