/* Every kernel of tests/programs: what it means, its reference by hand in Lua, and its naive twin in fp32, on its run
 * sizes, normal and integer inputs. `test_programs FILE...` takes other specs. Sizes of more than some million products
 * are evaluated whole and in parts alone: the other two take their time. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/check.h"
#include "unit/rounds.h"
#include "verify/compare.h"
#include "verify/inputs.h"
#include "emit/embed.h"
#include "program_naive.h"
#include "unit/spec/spec_samples.h"

enum { MOST_TENSORS = 16, MOST_FILES = 64, SEED = 7 };

/* One kernel on one set of sizes and inputs. */
struct trial {
    struct spec *spec;
    struct diag_set *diags;
    const struct spec_kernel *kernel;
    const int64_t *symbol;
    enum inputs_kind inputs;
    int64_t extent[MOST_TENSORS][SPEC_MAX_RANK], count[MOST_TENSORS];
    double *tensor[MOST_TENSORS], *bound[MOST_TENSORS];
    unsigned char *done[MOST_TENSORS];
    double scalar[MOST_TENSORS];
};

static const char *files[MOST_FILES];
static int file_count;
static int exact_kernels, combined_loops;

static bool adds_to(const struct spec_kernel *k, int tensor)
{
    for (int i = 0; i < k->program->op_count; i++) {
        const struct program_op *op = &k->program->op[i];
        if ((op->kind == PROGRAM_STORE_ADD || op->kind == PROGRAM_SCATTER_ADD) && op->tensor == tensor)
            return true;
    }
    return false;
}

static void reset_outputs(const struct trial *t, double *const *to)
{
    for (int i = 0; i < t->kernel->tensor_count; i++)
        for (int64_t e = 0; t->kernel->tensor[i].out && e < t->count[i]; e++)
            to[i][e] = adds_to(t->kernel, i) ? 0 : (double)NAN;
}

static double *copy_of(const double *from, int64_t count)
{
    double *to = malloc(sizeof *to * (size_t)(count + 1));
    assert_non_null(to);
    memcpy(to, from, sizeof *to * (size_t)count);
    return to;
}

static void draw(struct trial *t, int i)
{
    const struct spec_tensor *tensor = &t->kernel->tensor[i];
    struct shape shape = {.rank = tensor->rank};
    t->count[i] = 1;
    for (int d = tensor->rank - 1; d >= 0; d--) {
        assert_true(expr_eval_int(&t->kernel->shape, tensor->dim[d], t->symbol, &t->extent[i][d]));
        shape.extent[d] = t->extent[i][d];
        shape.stride[d] = t->count[i];
        t->count[i] *= t->extent[i][d];
    }
    size_t bytes = tw_dtype_bytes(tensor->dtype);
    unsigned char *element = malloc(bytes * (size_t)(t->count[i] + 1));
    t->tensor[i] = calloc((size_t)t->count[i] + 1, sizeof(double));
    t->bound[i] = calloc((size_t)t->count[i] + 1, sizeof(double));
    t->done[i] = calloc((size_t)t->count[i] + 1, 1);
    assert_true(element && t->tensor[i] && t->bound[i] && t->done[i]);
    struct inputs inputs = {.key = inputs_key(SEED, t->kernel->name, tensor->name),
                            .kind = t->inputs,
                            .scale = t->inputs == INPUTS_INTEGER ? 4 : 1,
                            .fill = tensor->fill};
    if (!tensor->out)
        inputs_write(&inputs, tensor->dtype, &shape, element);
    for (int64_t e = 0; !tensor->out && e < t->count[i]; e++)
        t->tensor[i][e] = tw_dtype_load(tensor->dtype, element + (size_t)e * bytes);
    free(element);
}

static struct program_data data_of(struct trial *t)
{
    return (struct program_data){.symbol = t->symbol,
                                 .tensor = t->tensor,
                                 .extent = (const int64_t(*)[SPEC_MAX_RANK])t->extent,
                                 .scalar = t->scalar,
                                 .bound = t->bound};
}

static void describe(const struct trial *t, const char *what, int i, int64_t e, double value)
{
    fail_msg("%s %s: %s[%lld] is %.9g, the meaning %.9g within %.3g", t->kernel->name, what, t->kernel->tensor[i].name,
             (long long)e, value, t->tensor[i][e], t->bound[i][e]);
}

static bool within(double value, double want, double bound)
{
    return isnan(want)   ? isnan(value) || bound > 0
           : isinf(want) ? value == want || bound > 0
                         : fabs(value - want) <= bound;
}

static void check_twin(struct trial *t, int seeds)
{
    double *own[MOST_TENSORS] = {0};
    struct program_data data = data_of(t);
    for (int seed = 1; seed <= seeds; seed++) {
        for (int i = 0; i < t->kernel->tensor_count; i++)
            own[i] = t->kernel->tensor[i].out ? copy_of(t->tensor[i], t->count[i]) : NULL;
        reset_outputs(t, own);
        naive_run(t->kernel->program, t->kernel, &data, NULL, own, (uint64_t)seed);
        for (int i = 0; i < t->kernel->tensor_count; i++) {
            for (int64_t e = 0; own[i] && e < t->count[i]; e++)
                if (!t->done[i][e] ? !isnan(own[i][e]) && own[i][e] != 0
                                   : !within(own[i][e], t->tensor[i][e], t->bound[i][e]))
                    describe(t, t->done[i][e] ? "twin" : "twin, not stored by the meaning", i, e, own[i][e]);
            free(own[i]);
        }
    }
}

/* Narrow casts inside a program may round what the reference does not: then norms are compared, as `run` does. */
static enum tw_dtype narrowest_cast(const struct trial *t)
{
    enum tw_dtype narrow = TW_FP32;
    for (int i = 0; i < t->kernel->graph.count; i++) {
        const struct expr_node *n = &t->kernel->graph.node[i];
        if (n->op == EXPR_CAST && compare_bound(n->dtype, 0) > compare_bound(narrow, 0))
            narrow = n->dtype;
    }
    return narrow;
}

static void check_reference(struct trial *t)
{
    double *own[MOST_TENSORS] = {0};
    enum tw_dtype narrow = narrowest_cast(t);
    for (int i = 0; i < t->kernel->tensor_count; i++)
        own[i] = copy_of(t->tensor[i], t->count[i]);
    reset_outputs(t, own);
    int status = spec_run_reference(t->spec, (int)(t->kernel - t->spec->kernel), t->symbol, own, t->diags);
    if (status)
        diag_print(t->diags, stderr);
    assert_int_equal(status, 0);
    for (int i = 0; i < t->kernel->tensor_count; i++) {
        double difference = 0, norm = 0;
        for (int64_t e = 0; t->kernel->tensor[i].out && e < t->count[i]; e++) {
            double want = t->tensor[i][e], got = own[i][e];
            if (!t->done[i][e] ? !isnan(got) && got != 0 : isnan(got) != isnan(want))
                describe(t, t->done[i][e] ? "reference" : "reference, not stored by the meaning", i, e, got);
            if (!t->done[i][e] || isnan(want))
                continue;
            bool same = within(got, want, t->bound[i][e] + 1e-12 * fabs(want));
            if (!same && (narrow == TW_FP32 || !isfinite(want) || !isfinite(got)))
                describe(t, "reference", i, e, got);
            if (isfinite(want)) {
                difference += (got - want) * (got - want);
                norm += want * want;
            }
        }
        if (difference > norm * compare_bound(narrow, 0) * compare_bound(narrow, 0) && difference > 0)
            fail_msg("%s: the reference of %s is %.3g away", t->kernel->name, t->kernel->tensor[i].name,
                     sqrt(difference / norm));
        free(own[i]);
    }
}

/* A sample, and the items in two parts, give what all of them at once give. */
static void check_parts(struct trial *t)
{
    const struct program *p = t->kernel->program;
    int64_t all = program_items(p, t->symbol), items = 0, item[3];
    for (int i = 0; i < t->kernel->tensor_count; i++)
        if (adds_to(t->kernel, i))
            return; /* evaluated whole always */
    const int64_t sampled = all < 3 ? all : 3;
    program_sample(p, t->symbol, sampled, SEED, item);
    for (int part = 0; part < 3; part++) {
        struct program_run run = {.first = part == 2 ? all / 2 : 0,
                                  .count = part == 0   ? sampled
                                           : part == 1 ? all / 2
                                                       : -1,
                                  .item = part == 0 ? item : NULL,
                                  .done = t->done};
        struct trial own = *t;
        struct program_error error;
        for (int i = 0; i < t->kernel->tensor_count; i++) {
            own.done[i] = calloc((size_t)t->count[i] + 1, 1);
            own.bound[i] = calloc((size_t)t->count[i] + 1, sizeof(double));
            assert_true(own.done[i] && own.bound[i]);
            if (t->kernel->tensor[i].out)
                own.tensor[i] = copy_of(t->tensor[i], t->count[i]);
        }
        reset_outputs(&own, own.tensor);
        struct program_data data = data_of(&own);
        run.done = own.done;
        assert_int_equal(program_evaluate(p, t->kernel, &data, &run, &items, &error), 0);
        assert_true(items == (part == 0 ? sampled : part == 1 ? all / 2 : all - all / 2));
        for (int i = 0; i < t->kernel->tensor_count; i++) {
            for (int64_t e = 0; t->kernel->tensor[i].out && e < t->count[i]; e++) {
                if (own.done[i][e] && memcmp(&own.tensor[i][e], &t->tensor[i][e], sizeof(double)) != 0 &&
                    !(isnan(own.tensor[i][e]) && isnan(t->tensor[i][e])))
                    describe(t, "part", i, e, own.tensor[i][e]);
            }
            if (t->kernel->tensor[i].out)
                free(own.tensor[i]);
            free(own.done[i]);
            free(own.bound[i]);
        }
    }
}

/* The program as it then runs comes to the same but for rounding. */
static void check_run(struct trial *t, struct program_run run, const char *how)
{
    const struct program *p = t->kernel->program;
    struct trial own = *t;
    struct program_error error;
    int64_t items;
    for (int i = 0; i < t->kernel->tensor_count; i++) {
        if (!t->kernel->tensor[i].out)
            continue;
        own.tensor[i] = copy_of(t->tensor[i], t->count[i]);
        own.bound[i] = copy_of(t->bound[i], t->count[i]);
    }
    reset_outputs(&own, own.tensor);
    struct program_data data = data_of(&own);
    run.count = -1;
    assert_int_equal(program_evaluate(p, t->kernel, &data, &run, &items, &error), 0);
    for (int i = 0; i < t->kernel->tensor_count; i++) {
        if (!t->kernel->tensor[i].out)
            continue;
        for (int64_t e = 0; e < t->count[i]; e++)
            if (t->done[i][e] && !within(own.tensor[i][e], t->tensor[i][e], t->bound[i][e] + own.bound[i][e]))
                describe(t, how, i, e, own.tensor[i][e]);
        free(own.tensor[i]);
        free(own.bound[i]);
    }
}

/* Loops in two halves, or in parts of every so many-th turn, put together by combine. Gives how many loops have one. */
static int check_combine(struct trial *t)
{
    const struct program *p = t->kernel->program;
    int loops = 0, *parts = calloc((size_t)p->op_count + 1, sizeof *parts);
    assert_non_null(parts);
    for (int i = 0; i < p->op_count; i++)
        loops += p->op[i].kind == PROGRAM_LOOP && p->op[i].combine;
    if (loops)
        check_run(t, (struct program_run){.halves = true}, "in halves");
    for (int count = 2; loops && count <= 5; count++) {
        for (int i = 0; i < p->op_count; i++)
            parts[i] = count;
        check_run(t, (struct program_run){.parts = parts}, "in parts");
    }
    free(parts);
    return loops;
}

static void run_trial(struct trial *t)
{
    struct program_error error = {{0}, ""};
    int64_t items, work = 0, stored = 0, exact = 0, endless = 0;
    for (int i = 0; i < t->kernel->tensor_count; i++)
        draw(t, i);
    for (int i = 0; i < t->kernel->scalar_count; i++)
        t->scalar[i] = t->kernel->scalar[i].value;
    reset_outputs(t, t->tensor);
    struct program_data data = data_of(t);
    struct program_run run = {.count = -1, .done = t->done, .work = &work};
    if (program_evaluate(t->kernel->program, t->kernel, &data, &run, &items, &error))
        fail_msg("%s, line %d: %s", t->kernel->name, error.loc.line, error.text);
    assert_int_equal(items, program_items(t->kernel->program, t->symbol));
    double most = 0;
    for (int i = 0; i < t->kernel->tensor_count; i++)
        for (int64_t e = 0; t->kernel->tensor[i].out && e < t->count[i]; e++) {
            if (!t->done[i][e])
                continue;
            stored++;
            exact += t->bound[i][e] == 0;
            endless += isinf(t->bound[i][e]);
            if (isfinite(t->bound[i][e]) && t->tensor[i][e] != 0 && t->bound[i][e] / fabs(t->tensor[i][e]) > most)
                most = t->bound[i][e] / fabs(t->tensor[i][e]);
        }
    print_message("# %-28s %-8s items %3lld stored %6lld exact %6lld without bound %lld, bound/value at most %.2g\n",
                  t->kernel->name, t->inputs == INPUTS_INTEGER ? "integers" : "normal", (long long)items,
                  (long long)stored, (long long)exact, (long long)endless, most);
    /* A random program may come to where a difference that rounding made decides everything. */
    assert_true(strncmp(t->kernel->name, "random_", 7) == 0 ? 10 * endless <= stored : endless == 0);
    exact_kernels += t->inputs == INPUTS_INTEGER && exact == stored;
    /* With sanitizers what is small runs through the same code: numbers are compared in the build without. What is
     * large is evaluated once. */
    const int64_t small = 1 << 18, large = TW_TESTS_SANITIZED ? small : 1 << 21;
    check_twin(t, work < small && !TW_TESTS_SANITIZED ? 3 : work < large ? 1 : 0);
    if (t->kernel->lua_reference != -2 && work < large)
        check_reference(t);
    if (!TW_TESTS_SANITIZED || work < 1 << 21) {
        check_parts(t);
        combined_loops += check_combine(t);
    }
    for (int i = 0; i < t->kernel->tensor_count; i++) {
        free(t->tensor[i]);
        free(t->bound[i]);
        free(t->done[i]);
    }
}

static void test_file(void **state)
{
    struct spec spec;
    struct diag_set diags = {0};
    struct spec_options options = sample_options; /* with the families that ship as Lua modules */
    options.library = emit_find_template;
    int status = spec_read(*state, &options, &spec, &diags), programs = 0;
    if (status)
        diag_print(&diags, stderr);
    assert_int_equal(status, 0);
    for (int k = 0; k < spec.kernel_count; k++) {
        const struct spec_kernel *kernel = &spec.kernel[k];
        if (!kernel->program)
            continue;
        programs++;
        assert_true(kernel->run_count > 0);
        /* With sanitizers each size has one kind of inputs: numbers are compared in the build without. */
        for (int r = 0; r < 2 * kernel->run_count; r++) {
            if (TW_TESTS_SANITIZED && r % 4 != 0 && r % 4 != 3)
                continue;
            struct trial t = {.spec = &spec,
                              .diags = &diags,
                              .kernel = kernel,
                              .symbol = kernel->run[r / 2].value,
                              .inputs = r % 2 ? INPUTS_INTEGER : INPUTS_NORMAL};
            run_trial(&t);
        }
    }
    assert_true(programs > 0);
    spec_free(&spec);
    diag_free(&diags);
}

/* Behind all files: arithmetic that is exact was met, as were loops that may be split. */
static void test_shown(void **state)
{
    (void)state;
    print_message("# exact on integers in %d cases, %d loops in halves\n", exact_kernels, combined_loops);
    assert_true(TW_TESTS_SANITIZED || (exact_kernels >= 20 && combined_loops >= 4));
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int main(int argc, char **argv)
{
    static struct CMUnitTest test[MOST_FILES + 1];
    DIR *folder = argc > 1 ? NULL : opendir("tests/programs");
    for (int i = 1; i < argc && file_count < MOST_FILES; i++)
        files[file_count++] = argv[i];
    for (struct dirent *e; folder && file_count < MOST_FILES && (e = readdir(folder));) {
        size_t length = strlen(e->d_name);
        char *path;
        if (length < 5 || strcmp(e->d_name + length - 4, ".lua") != 0)
            continue;
        if (asprintf(&path, "tests/programs/%s", e->d_name) > 0)
            files[file_count++] = path;
    }
    if (folder)
        closedir(folder);
    qsort(files, (size_t)file_count, sizeof *files, by_name);
    for (int i = 0; i < file_count; i++)
        test[i] =
            (struct CMUnitTest){.name = files[i], .test_func = test_file, .initial_state = (void *)(uintptr_t)files[i]};
    if (argc == 1)
        test[file_count] = (struct CMUnitTest){.name = "what was shown", .test_func = test_shown};
    int count = file_count + (argc == 1);
    int status = file_count ? _cmocka_run_group_tests("programs", test, (size_t)count, NULL, NULL) : 1;
    for (int i = 0; argc == 1 && i < file_count; i++)
        free((void *)(uintptr_t)files[i]);
    return status;
}
