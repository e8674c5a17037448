#include "bench/kernels.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/files.h"
#include "common/parallel.h"
#include "emu/emu.h"
#include "verify/layout.h"

/* What is compiled for the emulator where nobody asks. */
static const char default_arch[] = "sm_90a";

/* Blocks of any cluster fit. */
enum { EMULATED_SMS = 16 };

static bool wants_emulator(const struct bench *b)
{
    return strcmp(b->options.device, "emu") == 0;
}

static int no_memory(const struct bench *b)
{
    struct tw_error error;
    return compile_fail(&b->compile, tw_fail(&error, TW_ERROR_MEMORY, "out of memory"), &error);
}

static int open_device(struct bench *b)
{
    const char *name = b->options.device;
    const struct emu_options emulator = {.arch = b->options.arch ? b->options.arch : default_arch,
                                         .hazards = EMU_HAZARDS_FATAL,
                                         .seed = 1,
                                         .sm_count = EMULATED_SMS};
    struct tw_error error;
    int ordinal = strncmp(name, "cuda:", 5) == 0 ? atoi(name + 5) : 0;
    int status = wants_emulator(b) ? tw_device_open_emu(&b->compile.rt, &emulator, &b->device, &error)
                                   : tw_device_open_cuda(&b->compile.rt, ordinal, &b->device, &error);
    if (status == TW_OK)
        return 0;
    b->device = NULL;
    compile_say(&b->compile, DIAG_ERROR,
                "%s; bench times on a GPU, with its driver, NVRTC and a C compiler; --device emu verifies the same "
                "kernels and sizes without times",
                error.text);
    return 3;
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

static const struct arch *pick(const void *context, const struct arch *const *arch, int count)
{
    const struct bench *b = context;
    if (b->options.arch)
        return arch[0];
    for (int i = count - 1; i >= 0; i--)
        if (launcher_runs_on(arch[i], b->device))
            return arch[i];
    return arch[count - 1];
}

static int compile_all(struct bench *b)
{
    struct compile *c = &b->compile;
    const struct compile_choice choice = {
        .kernel = b->options.kernel, .arch = b->options.arch, .pick = pick, .context = b};
    int status = compile_units(c, &choice);
    for (int i = 0; i < c->unit_count; i++) {
        struct compile_unit *unit = &c->unit[i];
        unit->wanted = launcher_runs_on(unit->arch, b->device);
        unit->outputs = launcher_needs_ptx(unit->arch, b->device) ? TW_OUTPUT_PTX : TW_OUTPUT_CUBIN;
    }
    return status ? status : compile_cubins(c, COMPILE_NVRTC);
}

/* The variants of each kernel that the device runs. */
static int list_kernels(struct bench *b)
{
    struct compile *c = &b->compile;
    b->kernel = tw_alloc_zeroed(&c->rt, sizeof *b->kernel * (size_t)(c->unit_count + 1));
    if (!b->kernel)
        return no_memory(b);
    const struct compile_unit *before = NULL;
    int left_out = 0;
    for (int i = 0; i < c->unit_count; i++) {
        const struct compile_unit *unit = &c->unit[i];
        left_out += !unit->wanted;
        if (!unit->wanted)
            continue;
        if (!before || before->kernel != unit->kernel || before->arch != unit->arch)
            b->kernels++;
        struct bench_kernel *k = &b->kernel[b->kernels - 1];
        if (k->count < COMPILE_LIBRARY_UNITS)
            k->unit[k->count++] = i;
        before = unit;
    }
    if (left_out)
        compile_say(c, b->kernels ? DIAG_NOTE : DIAG_ERROR, "%s cannot run %d of the entry points", b->device->name,
                    left_out);
    return b->kernels ? 0 : 3;
}

static void open_launcher(void *context, int64_t i)
{
    struct bench *b = context;
    struct bench_kernel *k = &b->kernel[i];
    k->status = launcher_open(&k->launcher, &b->compile, k->unit, k->count, &k->error);
}

static int load_kernels(struct bench *b)
{
    struct compile *c = &b->compile;
    parallel_for(b->kernels, parallel_cores(), open_launcher, b);
    for (int i = 0; i < b->kernels; i++) {
        struct bench_kernel *k = &b->kernel[i];
        if (k->status == TW_OK)
            k->status = launcher_load(k->launcher, b->device, launcher_needs_ptx(c->unit[k->unit[0]].arch, b->device),
                                      &k->error);
        if (k->status != TW_OK)
            return compile_fail(c, k->status, &k->error);
    }
    return 0;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static bool same_matrix(const struct cublaslt_matrix *a, const struct cublaslt_matrix *b)
{
    return a->dtype == b->dtype && a->turned == b->turned && a->stride == b->stride && a->batch == b->batch;
}

static bool same_tensors(const struct plan *a, const struct shape *of_a, const struct plan *b, const struct shape *of_b)
{
    if (a->tensor_count != b->tensor_count)
        return false;
    for (int i = 0; i < a->tensor_count; i++) {
        const struct plan_tensor *x = &a->tensor[i], *y = &b->tensor[i];
        if (strcmp(x->name, y->name) != 0 || x->dtype != y->dtype || x->rank != y->rank || x->out != y->out)
            return false;
        for (int d = 0; d < x->rank; d++)
            if (of_a[i].extent[d] != of_b[i].extent[d] || of_a[i].stride[d] != of_b[i].stride[d])
                return false;
    }
    return true;
}

/* Whether kernels on their sizes are one problem: their peer's where both have one, else that of their tensors. */
static bool same_problem(const struct compile *c, const struct bench_part *a, const struct bench_part *b)
{
    const struct compile_unit *x = &c->unit[a->kernel->unit[0]], *y = &c->unit[b->kernel->unit[0]];
    struct cublaslt_gemm p, q;
    int tensor[3];
    bool one = bench_gemm(x, a->shape, -1, &p, tensor), other = bench_gemm(y, b->shape, -1, &q, tensor);
    if (one && other)
        return p.m == q.m && p.n == q.n && p.k == q.k && p.batch == q.batch && same_matrix(&p.a, &q.a) &&
               same_matrix(&p.b, &q.b) && same_matrix(&p.d, &q.d);
    return one == other && same_tensors(&x->plan, a->shape, &y->plan, b->shape);
}

static struct bench_group *find_group(struct bench *b, const struct bench_part *part)
{
    struct tw_runtime *rt = &b->compile.rt;
    for (int i = 0; i < b->groups; i++)
        if (same_problem(&b->compile, &b->group[i].part[0], part))
            return &b->group[i];
    struct bench_group *grown = tw_realloc(rt, b->group, sizeof *grown * (size_t)(b->groups + 1));
    if (!grown)
        return NULL;
    b->group = grown;
    grown[b->groups] = (struct bench_group){.bench = b};
    return &grown[b->groups++];
}

/* Puts a kernel on one set of sizes into its group. Exit status. */
static int add_part(struct bench *b, struct bench_kernel *kernel, int64_t *symbol)
{
    struct tw_runtime *rt = &b->compile.rt;
    const struct plan *p = &b->compile.unit[kernel->unit[0]].plan;
    struct bench_part part = {.kernel = kernel, .symbol = symbol};
    struct tw_error error;
    symbol[p->symbol_count - 1] = b->device->sm_count;
    if (p->tensor_count > BENCH_TENSORS)
        return compile_fail(
            &b->compile,
            tw_fail(&error, TW_ERROR_UNSUPPORTED, "kernel '%s' has over %d tensors", p->kernel, BENCH_TENSORS), &error);
    part.shape = tw_alloc_zeroed(rt, sizeof *part.shape * (size_t)(p->tensor_count + 1));
    if (!part.shape)
        return no_memory(b);
    for (int i = 0; i < p->tensor_count; i++) {
        int status = layout_shape(p, i, symbol, &part.shape[i], &error);
        if (status != TW_OK) {
            tw_free(rt, part.shape);
            return compile_fail(&b->compile, status, &error);
        }
    }
    struct bench_group *g = find_group(b, &part);
    struct bench_part *grown = g ? tw_realloc(rt, g->part, sizeof *grown * (size_t)(g->count + 1)) : NULL;
    if (!grown) {
        tw_free(rt, part.shape);
        return no_memory(b);
    }
    g->part = grown;
    grown[g->count++] = part;
    return 0;
}

static int make_groups(struct bench *b)
{
    int status = b->options.config ? bench_read_config(b) : 0;
    for (int i = 0; i < b->kernels && status == 0; i++) {
        struct bench_kernel *k = &b->kernel[i];
        if (!b->options.config)
            status = sizes_list_bench(&b->compile, &b->compile.unit[k->unit[0]], &b->options.set, &k->sizes);
        for (int s = 0; s < k->sizes.count && status == 0; s++)
            status = add_part(b, k, k->sizes.value + (size_t)s * (size_t)k->sizes.width);
    }
    return status;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static int open_peer(struct bench *b)
{
    struct tw_error error;
    if (b->options.peer == BENCH_PEER_NONE || bench_is_emulated(b))
        return 0;
    int status = cublaslt_open(&b->lt, b->device, &error);
    b->has_lt = status == TW_OK;
    if (status == TW_OK)
        return 0;
    if (b->options.peer == BENCH_PEER_CUBLASLT)
        return compile_fail(&b->compile, status, &error);
    compile_say(&b->compile, DIAG_WARNING, "there is no peer: %s", error.text);
    return 0;
}

/* The rows there are, in the place of those that the file had. */
static int write_rows(struct bench *b)
{
    struct file_set files = {.rt = &b->compile.rt};
    struct tw_error error;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    int status = out ? bench_write_json(b, out) : 3;
    if (out && fclose(out) != 0)
        status = 3;
    if (status == 0 &&
        (files_add(&files, NULL, b->options.json, text, bytes, false, &error) || files_commit(&files, &error)))
        status = 3;
    files_free(&files);
    free(text);
    if (status)
        compile_say(&b->compile, DIAG_ERROR, "%s cannot be written", b->options.json);
    return status;
}

/* Whether what the file holds can be replaced: a pipe or a device gets all rows at once, at the end. */
static bool is_replaced(const char *path)
{
    struct stat is;
    return stat(path, &is) != 0 || S_ISREG(is.st_mode);
}

int bench_begin(struct bench *b)
{
    struct compile *c = &b->compile;
    int status = compile_open(c, "bench", b->options.spec);
    if (status == 0)
        status = sizes_check(c, &b->options.set);
    if (status == 0)
        status = open_device(b);
    if (status == 0)
        status = compile_all(b);
    if (status == 0)
        status = list_kernels(b);
    if (status == 0)
        status = load_kernels(b);
    if (status == 0)
        status = make_groups(b);
    compile_report(c);
    return status;
}

int bench_all(struct bench *b)
{
    int status = open_peer(b);
    if (status)
        return status;
    power_open(&b->power, b->device);
    for (int i = 0; i < b->groups && status <= 1; i++) {
        int one = bench_group_run(&b->group[i]);
        if (one <= 1 && b->options.json && i + 1 < b->groups && is_replaced(b->options.json)) {
            int written = write_rows(b); /* what is measured is not lost where the run is interrupted */
            one = written > one ? written : one;
        }
        status = one > status ? one : status;
    }
    compile_report(&b->compile);
    bench_print_end(b);
    if (b->options.json) {
        int written = write_rows(b);
        status = written > status ? written : status;
    }
    return status;
}

void bench_end(struct bench *b)
{
    struct tw_runtime *rt = &b->compile.rt;
    for (int i = 0; i < b->groups; i++) {
        for (int p = 0; p < b->group[i].count; p++)
            tw_free(rt, b->group[i].part[p].shape);
        tw_free(rt, b->group[i].part);
    }
    tw_free(rt, b->group);
    for (int i = 0; i < b->kernels; i++) {
        launcher_close(b->kernel[i].launcher);
        sizes_free(&b->compile, &b->kernel[i].sizes);
    }
    tw_free(rt, b->kernel);
    bench_free_rows(b);
    cublaslt_close(&b->lt);
    power_close(&b->power);
    tw_device_close(b->device);
    compile_close(&b->compile);
}
