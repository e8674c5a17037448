/* tune --list: what there is to try, without a GPU. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tune/tune.h"

static int compare_ranks(const void *a, const void *b)
{
    const struct tune_rank *x = a, *y = b;
    if (x->time.us < y->time.us || x->time.us > y->time.us)
        return x->time.us < y->time.us ? -1 : 1;
    return x->candidate - y->candidate;
}

/* Of those taken, how many cut the work as this one does: the model says little of what they differ in. */
static int alike(const struct tune_rank *rank, int taken, const struct tune_rank *one)
{
    int count = 0;
    for (int i = 0; i < taken; i++)
        count += rank[i].time.items == one->time.items;
    return count;
}

/* Moves rank i to place `to` before it; the others keep their order. */
static void take(struct tune_rank *rank, int i, int to)
{
    const struct tune_rank one = rank[i];
    memmove(&rank[to + 1], &rank[to], sizeof *rank * (size_t)(i - to));
    rank[to] = one;
}

int tune_rank(const struct tune_set *set, const int64_t *symbol, const struct model_device *device, int most,
              struct tune_rank *rank, int *all)
{
    const double slower = 3.0; /* than the first: beyond what the model is wrong by */
    int count = 0, left = 0;
    for (int i = 0; i < set->count; i++) {
        const struct tune_candidate *c = &set->candidate[i];
        if (c->unit < 0)
            continue;
        rank[count] = (struct tune_rank){i, model_time(&set->compile.unit[c->unit].plan, symbol, device)};
        count += rank[count].time.us >= 0;
    }
    qsort(rank, (size_t)count, sizeof *rank, compare_ranks);
    *all = count;
    for (int i = 0; i < count && left < most && rank[i].time.us <= slower * rank[0].time.us; i++)
        if (alike(rank, left, &rank[i]) < TUNE_ALIKE)
            take(rank, i, left++);
    /* The kernel's own set-up is tried always. */
    for (int i = left; i < count; i++)
        if (rank[i].candidate == 0) {
            take(rank, i, left++);
            break;
        }
    return left;
}

/* ---- kernels ------------------------------------------------------------------------------------------------------
 */

static bool is_wanted(const struct tune_options *o, const struct spec_kernel *k)
{
    if (o->kernel)
        return strcmp(o->kernel, k->name) == 0;
    return k->axis_tune_count + k->tune_count > 0;
}

/* The architecture that is asked for, or the kernel's newest; NULL: it has it not. */
static const struct arch *arch_of(const struct tune_options *o, const struct spec_kernel *k)
{
    const struct arch *arch[COMPILE_ARCHITECTURES], *found = NULL;
    const int count = compile_architectures(k, o->arch, arch);
    for (int i = 0; i < count; i++)
        if (!o->arch || strcmp(o->arch, arch[i]->name) == 0)
            found = arch[i];
    return found;
}

static int open_kernel(struct tune_kernel *k)
{
    int count = 0;
    int status = tune_fields(k->compile, k->kernel, k->arch, &k->arena, &k->together, &k->alone);
    const char **use = status ? NULL : tune_product(&k->together, &k->arena, &count, &k->left_out);
    status = status ? status : use ? 0 : 3;
    if (!status)
        status = tune_set_open(&k->set, k->options, k->kernel, k->arch, use, count, &k->arena);
    if (!status && k->set.candidate[0].unit < 0) {
        compile_say(k->compile, DIAG_ERROR, "kernel '%s' itself cannot be planned: %s", k->kernel->name,
                    k->set.candidate[0].why);
        status = 1;
    }
    if (!status)
        status = sizes_list_bench(&k->set.compile, &k->set.compile.unit[k->set.candidate[0].unit], &k->options->set,
                                  &k->sizes);
    for (int i = 0; i < k->sizes.count && !status; i++)
        k->sizes.value[(size_t)(i + 1) * (size_t)k->sizes.width - 1] = k->device.sms;
    return status;
}

static int count_wanted(const struct tune_options *o, const struct spec *spec)
{
    int count = 0;
    for (int i = 0; i < spec->kernel_count; i++)
        count += is_wanted(o, &spec->kernel[i]) && arch_of(o, &spec->kernel[i]);
    return count;
}

int tune_each(const struct tune_options *o, int (*one)(void *context, struct tune_kernel *k), void *context)
{
    struct compile c;
    int status = compile_open(&c, "tune", o->spec), tuned = 0;
    compile_report(&c);
    if (status == 0 && o->set.count)
        status = sizes_check(&c, &o->set);
    const int wanted = status == 0 ? count_wanted(o, &c.spec) : 0;
    for (int i = 0; i < c.spec.kernel_count && status == 0; i++) {
        struct tune_kernel *k = tw_alloc_zeroed(&c.rt, sizeof *k);
        if (!k) {
            status = 3;
            break;
        }
        k->options = o;
        k->compile = &c;
        k->kernel = &c.spec.kernel[i];
        k->arch = is_wanted(o, k->kernel) ? arch_of(o, k->kernel) : NULL;
        if (k->arch) {
            k->left = wanted - tuned;
            k->device = o->device.sms ? o->device : model_device_of(k->arch->name);
            status = open_kernel(k);
            if (status == 0)
                status = one(context, k);
            tuned++;
        }
        sizes_free(&k->set.compile, &k->sizes);
        tune_set_close(&k->set);
        arena_free(&k->arena);
        tw_free(&c.rt, k);
    }
    if (status == 0 && !tuned) {
        compile_say(&c, DIAG_ERROR,
                    o->kernel ? "%s has no kernel '%s'%s%s" : "no kernel of %s has a `tune`; name one by --kernel",
                    o->spec, o->kernel, o->arch ? " for " : "", o->arch ? o->arch : "");
        status = o->kernel ? 2 : 1;
    }
    compile_close(&c);
    return status;
}

/* ---- --list ---------------------------------------------------------------------------------------------------------
 */

static void print_fields(const struct tune_fields *f, const char *title, FILE *out)
{
    fprintf(out, "  %s:", title);
    for (int i = 0; i < f->count; i++) {
        fprintf(out, "%s %s", i ? ";" : "", f->field[i].path);
        for (int n = 0; n < f->field[i].count; n++)
            fprintf(out, "%s%s", n ? ", " : " ", f->field[i].value[n]);
        if (f->field[i].offered)
            fputs(f->field[i].count ? " (offered)" : " (as it is)", out);
    }
    fputc('\n', out);
}

/* Whether two sentences say the same of other numbers. */
static bool is_same(const char *a, const char *b)
{
    while (*a || *b) {
        a += strspn(a, "0123456789");
        b += strspn(b, "0123456789");
        if (*a != *b)
            return false;
        a += *a != 0;
        b += *b != 0;
    }
    return true;
}

/* Why candidates are none: each reason once, with how many it is of and the first of them. */
static void print_reasons(const struct tune_set *set, FILE *out)
{
    for (int i = 0; i < set->count; i++) {
        const struct tune_candidate *c = &set->candidate[i];
        int same = 0;
        bool told = false;
        for (int n = 0; c->why && n < set->count; n++) {
            const bool alike = set->candidate[n].why && is_same(set->candidate[n].why, c->why);
            told = told || (alike && n < i);
            same += alike;
        }
        if (c->why && !told)
            fprintf(out, "  %4d cannot be planned: %s\n       first: %s\n", same, c->why, c->use);
    }
}

static int list_one(void *context, struct tune_kernel *k)
{
    FILE *out = context;
    struct tune_rank *rank = arena_alloc(&k->arena, sizeof *rank * ((size_t)k->set.count + 1));
    int planned = 0;
    if (!rank)
        return 3;
    for (int i = 0; i < k->set.count; i++)
        planned += k->set.candidate[i].unit >= 0;
    fprintf(out, "kernel %s on %s, %d multiprocessors at %.0f MHz: %d set-ups, of which %d can be planned\n",
            k->kernel->name, k->arch->name, k->device.sms, k->device.hz / 1e6, k->set.count, planned);
    print_fields(&k->together, "together", out);
    print_fields(&k->alone, "alone, on the quickest", out);
    if (k->left_out)
        fprintf(out, "  fields of which nothing else is tried, as the product has over %d set-ups: %d\n",
                TUNE_MOST_CANDIDATES, k->left_out);
    print_reasons(&k->set, out);
    for (int i = 0; i < k->sizes.count; i++) {
        const int64_t *symbol = k->sizes.value + (size_t)i * (size_t)k->sizes.width;
        char sizes[256];
        int all, left = tune_rank(&k->set, symbol, &k->device, TUNE_MEASURED, rank, &all);
        sizes_print(&k->set.compile.unit[k->set.candidate[0].unit], symbol, sizes, sizeof sizes);
        fprintf(out, "\n%s %s: the model leaves %d of %d to be measured\n", k->kernel->name, sizes, left, all);
        fprintf(out, "  %10s %9s %7s  %-13s  set-up\n", "predicted", "items", "waves", "limit");
        for (int n = 0; n < left; n++) {
            const char *use = k->set.candidate[rank[n].candidate].use;
            const double waves = rank[n].time.waves;
            fprintf(out, "  %7.2f us %9lld %7.*f  %-13s  %s\n", rank[n].time.us, (long long)rank[n].time.items,
                    waves == floor(waves) ? 0 : 2, waves, model_limit_word[rank[n].time.limit],
                    *use ? use : "the spec's own");
        }
    }
    return 0;
}

int tune_list(const struct tune_options *options, FILE *out)
{
    return tune_each(options, list_one, out);
}
