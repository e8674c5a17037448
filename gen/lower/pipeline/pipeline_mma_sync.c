/* What shapes mma.sync, its warps and their registers allow, and how tiles lie that cp.async copies. */
#include <stdio.h>
#include <string.h>

#include "lower/pipeline/pipeline_mma_sync.h"

enum {
    MAX_WARPS_CHOSEN = 8,   /* with more, warps share too little of what they read from shared memory */
    MAX_STAGES_CHOSEN = 4,  /* deeper rings hide nothing more: three stages in flight cover the latency of memory */
    ELEMENT_REGISTERS = 40, /* of fills element by element: addresses and what is on its way */
    OTHER_REGISTERS = 40,   /* addresses, extents, strides, counters; 26 to 47 in what the compiler makes of it */
    TURNED_REGISTERS = 8,   /* more of them where ldmatrix turns the second operand */
    SPLIT_REGISTERS = 36, /* or, where a warp's columns of it begin within a swizzle's span: then the lane's address is
                             no sum of a first one and a constant, and the compiler keeps one for each read */
    TURNED_ROWS = 24,     /* where it turns the first, */
    ODD_REGISTERS = 20,   /* and reads an odd number of blocks of the second: the last one's address is its own */
    SLAB_REGISTERS = 24,  /* left where a store takes rows in parts: all reads of a slab are under way together */
    MANY_COPIES = 13,     /* by a thread, of a stage; each more has an address, of */
    COPY_REGISTERS = 4,
    UNEVEN_REGISTERS = 5, /* of every copy where a row's number of steps along k is no power of two: its place under the
                             swizzle is not the sum of a thread's first one and a constant; */
    MOST_MOVED = 240,     /* registers of a thread by setmaxnreg */
    STAGE_BARRIERS = 16,  /* bytes of a stage's two mbarriers */
    MOST_BOX = 256,       /* elements of a tensor map's box along one dim */
    MOST_STEPS = 4000,    /* nodes looked at */
    UNEVEN_TENSOR = 4,    /* and what a store reads has its address kept across the loop, where parts leave none over */
};

static int first_dot(const struct pipeline *x)
{
    int op = 0;
    while (x->program->op[op].kind != PROGRAM_DOT)
        op++;
    return op;
}

/* ---- warps ------------------------------------------------------------------------------------------------------- */

/* A warp has whole rows: they are reduced, carried along, or an operand is computed from what a dot gave. Or dots are
 * of several widths, whose parts would not lie side by side. */
static bool needs_whole_rows(const struct pipeline *x)
{
    int columns = x->program->op[first_dot(x)].tile.columns;
    for (int i = 0; i < x->program->op_count; i++) {
        const struct program_op *o = &x->program->op[i];
        if (o->kind == PROGRAM_REDUCE || (o->kind == PROGRAM_PARAM && o->tile.columns == 1) ||
            (o->kind == PROGRAM_DOT && (x->d.dot[i].load[0] < 0 || o->tile.columns != columns)))
            return true;
    }
    return false;
}

static int set_or(const struct pipeline *x, const char *path, int fallback)
{
    const struct spec_value *v = pipeline_field(x, path);
    return v->set ? (int)v->integer : fallback;
}

/* The most warps up to `most` whose parts are whole instructions; of equal counts the one whose warps read the least of
 * both operands from shared memory. What the spec sets stays. */
static void pick_warps(const struct pipeline *x, int rows, int columns, int *warps_m, int *warps_n)
{
    int set_m = set_or(x, "pipeline.warps_m", 0), set_n = set_or(x, "pipeline.warps_n", 0);
    int most = rows * columns >= 128 * 128 ? MAX_WARPS_CHOSEN : MAX_WARPS_CHOSEN / 2;
    bool whole = needs_whole_rows(x);
    int results = 0;
    for (int i = 0; i < x->program->op_count; i++)
        results += work_is_store(&x->program->op[i]);
    if (whole || results > 1) /* a thread holds more than sums */
        most = MAX_WARPS_CHOSEN;
    *warps_m = set_m ? set_m : 1;
    *warps_n = set_n ? set_n : 1;
    for (int m = 1; m <= most; m++)
        for (int n = 1; m * n <= most && (n == 1 || !whole); n++) {
            if (rows % (m * MMA_SYNC_M) || columns % (n * MMA_SYNC_N) || (set_m && m != set_m) || (set_n && n != set_n))
                continue;
            int reads = rows / m + columns / n, best = rows / *warps_m + columns / *warps_n;
            if (m * n > *warps_m * *warps_n || (m * n == *warps_m * *warps_n && reads < best)) {
                *warps_m = m;
                *warps_n = n;
            }
        }
}

/* A warp count that the spec sets must divide the tile into whole instructions. */
static int check_warps(const struct pipeline *x, const char *path, int extent, int unit, enum pipeline_extent which)
{
    const struct spec_value *v = pipeline_field(x, path);
    if (!v->set || extent % ((int)v->integer * unit) == 0)
        return 0;
    int warps = (int)v->integer, step = warps * unit, axis = pipeline_axis_of(x, first_dot(x), which);
    const char *name = axis >= 0 ? x->program->axis[axis].name : which == EXTENT_ROWS ? "rows" : "columns";
    char text[300];
    while (extent % (warps * unit))
        warps--;
    snprintf(text, sizeof text,
             "%d warps take %d elements along %s at a time, which do not divide %s%s = %d; write %d, or %s%s = %d",
             (int)v->integer, step, name, axis >= 0 ? "tile." : "", name, extent, warps, axis >= 0 ? "tile." : "", name,
             (extent / step + 1) * step);
    return pipeline_report(x, v->loc, path, "MMA-WARPS", text);
}

int mma_sync_warps(struct pipeline *x)
{
    int rows = x->d.rows, op = first_dot(x), columns = x->program->op[op].tile.columns;
    x->warps_m = x->d.warps_n = 1; /* for what else is wrong */
    x->d.blocks = rows < MMA_SYNC_M ? 1 : rows / MMA_SYNC_M;
    const struct spec_value *n = pipeline_field(x, "pipeline.warps_n");
    char why[120];
    if (rows % MMA_SYNC_M)
        return pipeline_refuse(x, op, EXTENT_ROWS, "MMA-SHAPE",
                               rows < MMA_SYNC_M ? "%d is no multiple of the %d rows of an mma.sync; write %d"
                                                 : "%d is no multiple of the %d rows of an mma.sync; write %d or %d",
                               rows, MMA_SYNC_M, rows < MMA_SYNC_M ? MMA_SYNC_M : rows / MMA_SYNC_M * MMA_SYNC_M,
                               (rows / MMA_SYNC_M + 1) * MMA_SYNC_M);
    if (columns % MMA_SYNC_N)
        return 0; /* mma_sync_dot says so */
    if (n->set && n->integer > 1 && needs_whole_rows(x))
        return pipeline_report(x, n->loc, "pipeline.warps_n", "MMA-WARPS",
                               "a warp has whole rows where they are reduced, where an operand is computed, and where "
                               "dots are of several widths; write 1");
    if (check_warps(x, "pipeline.warps_m", rows, MMA_SYNC_M, EXTENT_ROWS) |
        check_warps(x, "pipeline.warps_n", columns, MMA_SYNC_N, EXTENT_COLUMNS))
        return 1;
    int warps_m, warps_n;
    pick_warps(x, rows, columns, &warps_m, &warps_n);
    snprintf(why, sizeof why, "%d x %d warps have parts of %d x %d", warps_m, warps_n, rows / warps_m,
             columns / warps_n);
    x->warps_m = pipeline_choose(x, "pipeline.warps_m", warps_m, why);
    x->d.warps_n = pipeline_choose(x, "pipeline.warps_n", warps_n, why);
    x->d.blocks = rows / x->warps_m / MMA_SYNC_M;
    int threads = mma_sync_threads(x, x->warps_m * x->d.warps_n);
    if (threads <= x->l->arch->max_threads)
        return 0;
    char text[200];
    const struct spec_value *m = pipeline_field(x, "pipeline.warps_m");
    snprintf(text, sizeof text, "%d x %d warps are %d threads, and %s has %d in a block; write %d", x->warps_m,
             x->d.warps_n, threads, x->l->arch->name, x->l->arch->max_threads,
             (x->l->arch->max_threads / 32 - x->bulk) / x->d.warps_n);
    return pipeline_report(x, m->loc, "pipeline.warps_m", "THREADS", text);
}

/* ---- dots -------------------------------------------------------------------------------------------------------- */

static int check_multiple(const struct pipeline *x, int op, enum pipeline_extent which, int extent, int unit,
                          const char *what)
{
    int low = extent / unit * unit;
    if (low == extent)
        return 0;
    if (low == 0)
        return pipeline_refuse(x, op, which, "MMA-SHAPE", "%d is no multiple of the %d %s of an mma.sync; write %d",
                               extent, unit, what, unit);
    return pipeline_refuse(x, op, which, "MMA-SHAPE", "%d is no multiple of the %d %s of an mma.sync; write %d or %d",
                           extent, unit, what, low, low + unit);
}

/* Wide parts of few rows read the second operand two blocks at a time, not a whole step: registers are dear. */
static bool by_pairs(int m_blocks, int n_blocks)
{
    return m_blocks <= 2 && n_blocks >= 8 && n_blocks % 2 == 0;
}

/* The node is the same in all rows of each so many. */
static bool same_in_rows(const struct expr_graph *g, int node, int rows, int *steps)
{
    const struct expr_node *n = &g->node[node];
    int64_t by;
    if (n->op == EXPR_ROW || ++*steps > MOST_STEPS)
        return false;
    if (n->op == EXPR_FLOORDIV && g->node[n->arg[0]].op == EXPR_ROW && expr_is_int(g, n->arg[1], &by))
        return by > 0 && by % rows == 0;
    bool same = true;
    for (int i = 0; i < 3 && same; i++)
        same = n->arg[i] < 0 || same_in_rows(g, n->arg[i], rows, steps);
    for (int i = 0; n->op == EXPR_TENSOR && i < n->rank && same; i++)
        same = same_in_rows(g, g->index[n->first_index + i], rows, steps);
    return same;
}

/* Lanes of a warp read one run of rows together. */
static int check_slice(struct pipeline *x, int op)
{
    const int slice = x->d.dot[op].slice, rows = x->d.blocks * MMA_SYNC_M;
    const struct program_op *load = slice ? &x->program->op[x->d.dot[op].load[1]] : NULL;
    int steps = 0;
    for (int d = 0; slice && d < x->plan->tensor[load->tensor].rank; d++)
        if (load->at[d].column && load->at[d].limit >= 0)
            return program_refuse(x->l, load->loc, "PROGRAM-SLICE",
                                  "columns of a tile of which slices are taken end where the tensor does; write "
                                  "span(start, length)");
    if (!slice || same_in_rows(&x->d.work.graph, x->d.work.op[plan_number(slice)].from, rows, &steps))
        return 0;
    return program_refuse(x->l, x->program->op[plan_number(slice)].loc, "PROGRAM-SLICE",
                          "a warp multiplies %d rows of the first operand with one run of this slice's, and the first "
                          "row may differ among them; write it by row() // %d, or pipeline.warps_m for fewer rows a "
                          "warp",
                          rows, rows);
}

int mma_sync_dot(struct pipeline *x, int op)
{
    const struct program_op *o = &x->program->op[op];
    enum tw_dtype dtype = o->arg[1].dtype;
    int columns = o->tile.columns, depth = o->arg[0].columns, k = PIPELINE_K_BYTES / (int)tw_dtype_bytes(dtype);
    int fault = pipeline_refuse_dtypes(x, op) | check_slice(x, op);
    fault |= check_multiple(x, op, EXTENT_COLUMNS, columns, MMA_SYNC_N, "columns");
    fault |= check_multiple(x, op, EXTENT_DEPTH, depth, k, "elements along k");
    const char *name = pipeline_dot_name(x, op);
    struct plan_mma *mma = name ? family_add_mma(x->plan, name, "mma.sync") : NULL;
    if (!mma)
        return 3;
    x->d.dot[op].mma = x->plan->mma_count - 1;
    mma->m = MMA_SYNC_M;
    mma->n = MMA_SYNC_N;
    mma->k = k;
    mma->operand[0].dtype = o->arg[0].dtype;
    mma->operand[1].dtype = dtype;
    mma->accumulator = o->tile.dtype;
    mma->blocks_m = x->d.blocks;
    mma->blocks_n = columns / x->d.warps_n / MMA_SYNC_N;
    mma->k_steps = depth / k;
    mma->operand[0].tensor = mma->operand[1].tensor = -1;
    if (family_add_value(x->plan, plan_text(x->plan, "by_pairs.%s", name), by_pairs(mma->blocks_m, mma->blocks_n)))
        return 3;
    int status = pipeline_accumulator(x, op, name);
    status = status ? status : pipeline_operand_place(x, op, name);
    return status ? status : fault;
}

/* ---- registers --------------------------------------------------------------------------------------------------- */

/* A block's registers are given out to four warps at a time (the CUDA occupancy calculator: warp allocation
 * granularity): beside eight warps a producer's takes those of four. */
int mma_sync_register_threads(const struct pipeline *x, int warps)
{
    return x->bulk ? (warps + 1 + 3) / 4 * 128 : 32 * warps;
}

int mma_sync_registers_moved(const struct pipeline *x, int warps, int producer)
{
    const int all = warps + 4, begin = x->l->arch->registers_per_block / (32 * all) / 8 * 8;
    const int each = (begin * all - 4 * producer) / warps / 8 * 8;
    if (!x->bulk || !x->l->arch->setmaxnreg || warps % 4 || 32 * all > x->l->arch->max_threads)
        return 0;
    return each < MOST_MOVED ? each : MOST_MOVED;
}

static int limit_of(const struct pipeline *x, int warps)
{
    const struct arch *arch = x->l->arch;
    const int share = arch->registers_per_block / mma_sync_register_threads(x, warps) / 8 * 8;
    const int own = share < arch->registers_per_thread ? share : arch->registers_per_thread;
    const int moved = mma_sync_registers_moved(x, warps, MMA_SYNC_PRODUCER);
    return moved > own ? moved : own;
}

int mma_sync_register_limit(const struct pipeline *x)
{
    return limit_of(x, x->warps_m * x->d.warps_n);
}

/* Operands that are not in registers already, of the dot that holds most: two steps along k, or one. */
static int fragments(const struct pipeline *x, int steps)
{
    int most = 0;
    for (int i = 0; i < x->plan->mma_count; i++) {
        const struct plan_mma *mma = &x->plan->mma[i];
        int rows = mma->operand[0].tensor >= 0 ? mma->blocks_m * 4 : 0;
        int one = by_pairs(mma->blocks_m, mma->blocks_n) ? 2 * rows + 8 : steps * (rows + mma->blocks_n * 2);
        most = one > most ? one : most;
    }
    return most;
}

/* What places hold at once: a computed operand takes the registers that it is computed from. */
static int held(const struct pipeline *x)
{
    int sum = pipeline_registers_taken(x);
    for (int i = 0; i < x->program->op_count; i++)
        if (x->program->op[i].kind == PROGRAM_DOT && x->d.dot[i].load[0] < 0 && x->d.dot[i].operand)
            sum -= x->plan->place[plan_number(x->d.dot[i].operand)].registers;
    return sum;
}

/* What a store of one dot's sums takes beside them. */
static int stored(const struct pipeline *x)
{
    return x->slab * x->plan->mma[0].blocks_n / x->parts;
}

/* In the fewest parts for which registers suffice. */
static int slabs(struct pipeline *x)
{
    int blocks = x->plan->mma[0].blocks_n, limit = mma_sync_register_limit(x), status = pipeline_stores(x);
    bool whole;
    x->parts = 1;
    if (status)
        return status;
    x->slab = pipeline_slab(x, &whole);
    int natural = held(x) + OTHER_REGISTERS + stored(x);
    while (held(x) + OTHER_REGISTERS + stored(x) + SLAB_REGISTERS > limit && x->parts < blocks && !whole)
        do
            x->parts++;
        while (blocks % x->parts);
    if (x->parts == 1)
        return 0;
    char value[40];
    snprintf(value, sizeof value, "%d", x->parts);
    if (family_add_value(x->plan, "store_parts", x->parts))
        return 3;
    return family_reason(x->plan, "stores.parts", value,
                         "with a warp's whole rows the arithmetic would hold about %d registers, and a thread has %d",
                         natural, limit);
}

int mma_sync_registers(const struct pipeline *x, int limit)
{
    int own = held(x) + OTHER_REGISTERS, beside = stored(x), one = fragments(x, 1), two = fragments(x, 2);
    one = (one + two) / 2 > beside ? (one + two) / 2
                                   : beside; /* of the second step the compiler leaves a part for later */
    return own + two <= limit && own + beside <= limit ? own + (two > beside ? two : beside) : own + one;
}

/* What a part of n_blocks of a warp asks for beside sums and operands, and beyond OTHER_REGISTERS, where the second
 * operand's rows lie in spans of `chunks` times 16 bytes, a thread makes so many copies a stage, and the kernel has so
 * many tensors beside operands and result. */
static int turned(const struct plan_mma *mma, int n_blocks, int warps_n, int chunks, int copies, int beside)
{
    bool rows = mma->operand[0].tensor >= 0 && mma->operand[0].mn_major;
    bool columns = mma->operand[1].tensor >= 0 && mma->operand[1].mn_major;
    bool splits = warps_n == 1 || n_blocks % chunks == 0 || (n_blocks & (n_blocks - 1)) == 0;
    int sum = copies > MANY_COPIES ? COPY_REGISTERS * (copies - MANY_COPIES) : 0;
    if ((mma->k_steps & (mma->k_steps - 1)) && by_pairs(mma->blocks_m, n_blocks)) {
        int majors = (mma->operand[0].tensor >= 0 && !rows) + (mma->operand[1].tensor >= 0 && !columns);
        int uneven = UNEVEN_REGISTERS * copies * majors / 2 + UNEVEN_TENSOR * beside;
        sum = uneven > sum ? uneven : sum;
    }
    sum += columns ? splits ? TURNED_REGISTERS : SPLIT_REGISTERS : 0;
    return sum + (rows ? TURNED_ROWS + (n_blocks % 2 && n_blocks > 8 ? ODD_REGISTERS : 0) : 0);
}

/* Tensors beside a dot's operands and its result. */
static int tensors_beside(const struct pipeline *x)
{
    return x->plan->tensor_count > 3 ? x->plan->tensor_count - 3 : 0;
}

/* Copies of 16 bytes by each of so many threads, for the only dot's tiles where the second has `columns`. */
static int copies(const struct pipeline *x, int columns, int threads)
{
    const struct plan_mma *mma = &x->plan->mma[0];
    int64_t bytes = 0;
    for (int o = 0; o < 2 && x->plan->mma_count == 1 && !x->bulk; o++)
        if (mma->operand[o].tensor >= 0) {
            int64_t tile = x->plan->tensor[mma->operand[o].tensor].tile_bytes;
            bytes += o ? tile * columns / (mma->blocks_n * MMA_SYNC_N * x->d.warps_n) : tile;
        }
    return (int)((bytes + 16 * threads - 1) / (16 * threads));
}

int mma_sync_registers_at_most(const struct pipeline *x, int limit)
{
    int one = fragments(x, 1), two = fragments(x, 2), most = 0, all = mma_sync_registers(x, limit);
    /* Where registers do not hold two steps of an odd number of blocks, three quarters of the second are read ahead. */
    bool odd = x->plan->mma_count == 1 && x->plan->mma[0].blocks_n % 2;
    if (odd && held(x) + OTHER_REGISTERS + two > limit && (one + 3 * two) / 4 > stored(x))
        all = held(x) + OTHER_REGISTERS + (one + 3 * two) / 4;
    for (int i = 0; i < x->plan->mma_count; i++) {
        const struct plan_mma *mma = &x->plan->mma[i];
        int chunks = mma->operand[1].k_bytes / mma->k / 16;
        int each = copies(x, mma->blocks_n * MMA_SYNC_N * x->d.warps_n, 32 * x->warps_m * x->d.warps_n);
        int more = turned(mma, mma->blocks_n, x->d.warps_n, chunks > 0 ? chunks : 1, each, tensors_beside(x));
        most = more > most ? more : most;
    }
    return all + most;
}

/* The widest tile of as many rows whose sums fit, of a program with one dot; 0: none, or it is not known. */
static int columns_that_fit(const struct pipeline *x, int op)
{
    int rows = x->d.rows;
    if (x->plan->mma_count > 1 || x->plan->place_count > 1)
        return 0;
    int beside = stored(x) / x->plan->mma[0].blocks_n; /* of each block of columns */
    for (int n = x->program->op[op].tile.columns - MMA_SYNC_N; n > 0; n -= MMA_SYNC_N) {
        int warps_m, warps_n;
        pick_warps(x, rows, n, &warps_m, &warps_n);
        int m_blocks = rows / warps_m / MMA_SYNC_M, n_blocks = n / warps_n / MMA_SYNC_N;
        int limit = limit_of(x, warps_m * warps_n);
        int step = m_blocks * 4 + n_blocks * 2, ahead = n_blocks % 2 ? 3 * step / 4 : step / 2;
        int part = by_pairs(m_blocks, n_blocks) ? 2 * 4 * m_blocks + 8 : step + ahead;
        int stores = beside * n_blocks,
            needed = m_blocks * n_blocks * 4 + OTHER_REGISTERS + (part > stores ? part : stores);
        int chunks = n % 64 == 0 ? 8 : n % 32 == 0 ? 4 : n % 16 == 0 ? 2 : 1;
        needed += turned(&x->plan->mma[0], n_blocks, warps_n, chunks, copies(x, n, 32 * warps_m * warps_n),
                         tensors_beside(x));
        if (n % (warps_n * MMA_SYNC_N) == 0 && needed <= limit)
            return n;
    }
    return 0;
}

int mma_sync_registers_at_ease(const struct pipeline *x)
{
    int most = 0;
    for (int i = 0; i < x->plan->mma_count; i++) {
        const struct plan_mma *mma = &x->plan->mma[i];
        int one = (mma->operand[0].tensor >= 0 ? mma->blocks_m * 4 : 0) + mma->blocks_n * 2;
        most = one > most ? one : most;
    }
    int other = OTHER_REGISTERS + (x->l->variant == 1 ? ELEMENT_REGISTERS : 0);
    int all = pipeline_registers_taken(x) + 2 * most + other, limit = mma_sync_register_limit(x);
    return all < limit ? all : limit;
}

/* Fewer warps leave each thread more registers, up to what one can have, and give it more to hold. Writes what of both
 * counts, one of them changed, leaves enough: "pipeline.warps_m = 2"; false: nothing does. */
static bool warps_that_fit(const struct pipeline *x, char *text, size_t size)
{
    const struct arch *arch = x->l->arch;
    const int warps[2] = {x->warps_m, x->d.warps_n}, each = held(x) + fragments(x, 1);
    const char *const name[2] = {"pipeline.warps_m", "pipeline.warps_n"};
    int best = 0;
    for (int which = 0; which < 2; which++)
        for (int n = warps[which] - 1; n > 0; n--) {
            const int all = n * warps[1 - which], limit = arch->registers_per_block / (32 * all) / 8 * 8;
            const int most = limit < arch->registers_per_thread ? limit : arch->registers_per_thread;
            if (warps[which] % n || each * (warps[which] / n) + OTHER_REGISTERS > most || all <= best)
                continue;
            best = all;
            snprintf(text, size, "%s = %d", name[which], n);
        }
    return best > 0;
}

int mma_sync_check_registers(struct pipeline *x)
{
    const struct arch *arch = x->l->arch;
    int status = slabs(x), limit = mma_sync_register_limit(x), registers = mma_sync_registers_at_most(x, limit);
    int op = first_dot(x), taken = held(x), threads = 32 * x->warps_m * x->d.warps_n;
    const struct spec_value *m = pipeline_field(x, "pipeline.warps_m");
    char text[300];
    if (status || registers <= limit)
        return status;
    char fewer[60];
    if (taken < limit / 2 && warps_that_fit(x, fewer, sizeof fewer)) {
        snprintf(text, sizeof text,
                 "on %s %d x %d warps leave each of %d threads %d registers, and about %d are needed; write %s",
                 arch->name, x->warps_m, x->d.warps_n, threads, limit, registers, fewer);
        return pipeline_report(x, m->loc, "pipeline.warps_m", "REGS", text);
    }
    int fits = columns_that_fit(x, op), axis = pipeline_axis_of(x, op, EXTENT_COLUMNS);
    const char *more = threads < 32 * MAX_WARPS_CHOSEN ? " or more warps" : "";
    if (fits && axis >= 0)
        snprintf(text, sizeof text, "tile.%s = %d%s", x->program->axis[axis].name, fits, more);
    else
        snprintf(text, sizeof text, "a smaller tile%s", more);
    return pipeline_refuse(x, op, EXTENT_COLUMNS, "REGS",
                           "on %s each of %d threads holds %d registers of tiles of %d rows and needs about %d in all, "
                           "but has %d; write %s",
                           arch->name, threads, taken, x->d.rows, registers, limit, text);
}

/* ---- tiles ------------------------------------------------------------------------------------------------------- */

/* The integer is a multiple of `unit` whatever the arguments are. */
static bool is_multiple(const struct pipeline *x, int node, int unit)
{
    const struct expr_graph *g = x->program->graph;
    const struct expr_node *n = &g->node[node];
    int64_t value;
    if (expr_is_int(g, node, &value))
        return value % unit == 0;
    switch (n->op) {
    case EXPR_AT:
        return x->program->axis[n->integer].tile % unit == 0 && x->program->axis[n->integer].tile > 0;
    case EXPR_SYMBOL:
        return x->plan->symbol_multiple[n->integer] % unit == 0;
    case EXPR_LOOP:
        return is_multiple(x, x->program->op[n->integer].from, unit) &&
               is_multiple(x, x->program->op[n->integer].step, unit);
    case EXPR_ADD:
    case EXPR_SUB:
        return is_multiple(x, n->arg[0], unit) && is_multiple(x, n->arg[1], unit);
    case EXPR_MUL:
        return is_multiple(x, n->arg[0], unit) || is_multiple(x, n->arg[1], unit);
    default:
        return false;
    }
}

/* Windows, and rows by number, come 16 bytes at a time. 0, or 1 where constants say that they cannot, as is told. */
static int check_chunks(const struct pipeline *x, const struct program_op *o)
{
    const struct plan_tensor *t = &x->plan->tensor[o->tensor];
    const int elements = 16 / (int)tw_dtype_bytes(t->dtype);
    int64_t stride;
    bool whole = is_multiple(x, o->at[t->rank - 1].start, elements);
    for (int d = 0; d + 1 < t->rank; d++)
        whole = whole && (!expr_is_int(&x->plan->graph, t->stride[d], &stride) || stride % elements == 0);
    return whole ? 0
                 : program_refuse(x->l, o->loc, "PROGRAM-LOWER",
                                  "rows of %s, and %s of them, begin at multiples of 16 bytes on %s, %d %s; pad them "
                                  "to such a number",
                                  t->name, o->window.dims ? "channels that im2col takes" : "columns that gather takes",
                                  x->l->arch->name, elements, tw_dtype_name(t->dtype));
}

static int operand(struct pipeline *x, int op, int which)
{
    const struct derive_dot *k = &x->d.dot[op];
    const struct program_op *o = &x->program->op[k->load[which]];
    struct plan_mma *mma = &x->plan->mma[k->mma];
    struct plan_tensor *t = &x->plan->tensor[o->tensor];
    const struct plan_tensor before = *t;
    int rows = o->tile.rows, columns = o->tile.columns, size = (int)tw_dtype_bytes(t->dtype);
    if (t->out)
        return program_refuse(x->l, o->loc, "PROGRAM-LOWER", "%s is written by this kernel too; read another tensor",
                              t->name);
    int spans = 0; /* of rows: where there is one, a limit is a number of them */
    for (int d = 0; d < t->rank; d++)
        spans += o->at[d].length > 1 && !o->at[d].column;
    /* Of a tile of which slices are read all that is not there is zero, whichever way a dot sums. */
    const bool columns_summed = (which == 0) != k->transposed[which];
    int status = pipeline_check_limits(x, k->load[which], which == 1 && k->slice ? false : columns_summed, spans == 1);
    status = status ? status : pipeline_check_spans(x, o, rows, columns, false);
    status = status ? status : pipeline_layout(x, o, rows, columns, 0);
    if (status)
        return status;
    /* Of a tile that begins within 16 bytes, or may, elements are read one by one. */
    const bool chunks = o->window.dims || o->kind == PROGRAM_GATHER;
    bool aligned = (x->l->variant == 0 || chunks) && is_multiple(x, o->at[t->rank - 1].start, 16 / size) &&
                   (!before.tile_bytes || before.access == PLAN_ACCESS_CP_ASYNC);
    if (chunks && check_chunks(x, o))
        return 1;
    if (!x->bulk) {
        t->access = aligned ? PLAN_ACCESS_CP_ASYNC : PLAN_ACCESS_GLOBAL;
        t->align = aligned ? 16 : size;
        if (pipeline_cached(x, o->tensor, !t->pointers))
            return 3;
    } else if (pipeline_cached(x, o->tensor, false) ||
               (!before.tile_bytes && pipeline_share(x, k->load[which], true))) {
        return 3;
    }
    t->multicast = 1;
    if (before.tile_bytes &&
        (memcmp(before.tile, t->tile, sizeof before.tile) != 0 ||
         memcmp(&before.window, &t->window, sizeof before.window) != 0 || before.gathered != t->gathered))
        return program_refuse(x->l, o->loc, "PROGRAM-LOWER", "%s is loaded in tiles of two shapes; write one", t->name);
    if (which == 0 && k->converted)
        return pipeline_check_converted(x, op);
    if (which == 0 && k->resident)
        return 0;
    /* A: rows m, columns k as it lies. B: rows k, columns n, so that as it lies its columns are n. */
    bool across = which == 0 ? k->transposed[0] : !k->transposed[1];
    if (across && pipeline_refuse_major(x, op, which))
        return 1;
    int row_bytes = t->box_bytes / rows, unit = which ? MMA_SYNC_N : MMA_SYNC_M;
    mma->operand[which].tensor = o->tensor;
    mma->operand[which].mn_major = across;
    mma->operand[which].k_bytes = (across ? row_bytes : size) * mma->k;
    mma->operand[which].block_bytes = (across ? size : row_bytes) * unit;
    return 0;
}

static int output(struct pipeline *x, int op)
{
    const struct program_op *o = &x->program->op[op];
    struct plan_tensor *t = &x->plan->tensor[o->tensor];
    bool turned;
    int rows = 0;
    const struct program_tile *tile = work_stored(&x->d.work, o, &turned);
    t->out = true;
    t->access = PLAN_ACCESS_GLOBAL;
    t->swizzle = TW_SWIZZLE_NONE;
    for (int d = 0; d < t->rank; d++)
        rows += o->at[d].length > 1 && !o->at[d].column;
    if (rows > 1 && turned)
        return program_refuse(x->l, o->loc, "PROGRAM-LOWER",
                              "rows that run along several dims are not stored turned; store one span of rows");
    if (tile->columns == 1)
        return 0;
    for (int d = 0; d < t->rank; d++)
        t->tile[d] = o->at[d].length > 0 ? o->at[d].length : 1;
    if (pipeline_refuse_output(x, op))
        return 1;
    return family_add_value(x->plan, plan_text(x->plan, "turned.%s", t->name), turned);
}

int mma_sync_tensors(struct pipeline *x)
{
    int status = 0;
    for (int i = 0; i < x->program->op_count; i++) {
        int found = 0; /* a tile of both operands is told of once */
        for (int o = 0; o < 2 && !found && x->program->op[i].kind == PROGRAM_DOT; o++)
            found = x->d.dot[i].load[o] >= 0 ? operand(x, i, o) : 0;
        status |= found;
        if (work_is_store(&x->program->op[i]))
            status |= output(x, i) | pipeline_check_store(x, i);
    }
    for (int i = 0; i < x->plan->tensor_count; i++)
        x->d.copies = x->d.copies || x->plan->tensor[i].access == PLAN_ACCESS_CP_ASYNC;
    return status || !x->bulk ? status : pipeline_maps(x);
}

/* ---- bulk copies ------------------------------------------------------------------------------------------------- */

/* A constant stride of the tensor's that is no multiple of the 16 bytes that maps ask for. */
static bool has_odd_stride(const struct pipeline *x, const struct plan_tensor *t)
{
    const int elements = 16 / (int)tw_dtype_bytes(t->dtype);
    int64_t stride;
    for (int d = 0; d + 1 < t->rank; d++)
        if (expr_is_int(&x->plan->graph, t->stride[d], &stride) && stride % elements)
            return true;
    return false;
}

const char *mma_sync_no_bulk(const struct pipeline *x)
{
    if (x->l->variant != 0)
        return "rows begin anywhere";
    for (int r = 0; r < x->d.ring_count; r++)
        for (int i = 0; i < x->d.ring[r].load_count; i++) {
            const struct program_op *o = &x->program->op[x->d.ring[r].load[i]];
            const struct spec_via *said = program_via(x->l->kernel, o);
            if (said && strcmp(said->word, "cp_async") == 0)
                return said->why ? said->why : "the spec says so";
            if (o->window.dims)
                return "windows of images are gathered by threads";
            if (o->kind == PROGRAM_GATHER)
                return "rows by number are gathered by threads";
            if (has_odd_stride(x, &x->plan->tensor[o->tensor]))
                return "a constant row is no multiple of 16 bytes";
            for (int d = 0; d < x->plan->tensor[o->tensor].rank; d++) {
                if (o->at[d].limit >= 0 && x->d.work.op[x->d.ring[r].load[i]].summed)
                    return "rows end where data say";
                if (!o->at[d].column && o->at[d].length > MOST_BOX)
                    return "rows of a tile are more than a map's box takes";
            }
        }
    return NULL;
}

/* ---- stages ------------------------------------------------------------------------------------------------------ */

int mma_sync_stages(struct pipeline *x)
{
    int each = 0, once = 0, limit = x->l->arch->shared_limit;
    char why[120];
    for (int r = 0; r < x->d.ring_count; r++) {
        int bytes = pipeline_stage_bytes(x, &x->d.ring[r]) + (x->bulk ? STAGE_BARRIERS : 0);
        bool ahead = x->d.ring[r].parent >= 0 && x->d.ring[r].inner < 0;
        each += ahead ? bytes : 0;
        once += ahead ? 0 : bytes;
    }
    int fit = each ? (limit - once) / each : 1, chosen = fit < MAX_STAGES_CHOSEN ? fit : MAX_STAGES_CHOSEN;
    snprintf(why, sizeof why, "stages of %d bytes: as many as %s holds, at most %d", each, x->l->arch->name,
             MAX_STAGES_CHOSEN);
    const struct spec_value *said = pipeline_field(x, "pipeline.stages");
    if (!x->bulk && each && said->set && said->integer < 2) {
        x->stages = 2;
        if (family_reason(x->plan, "pipeline.stages", "2", "threads copy into one stage while they read another"))
            return 3;
    } else {
        x->stages = pipeline_choose(x, "pipeline.stages", each && chosen < 2 ? 2 : chosen, why);
    }
    const struct pipeline_stages all = {.stages = x->stages, .fit = fit, .each = each, .beside = once};
    return pipeline_check_stages(x, &all);
}
