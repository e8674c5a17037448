/* The rows of SPEC.tuned.lua as a C pair takes them: by architecture and GPU. */
#include <string.h>

#include "compile/compile_host.h"

/* The number of a row's set-up (of spec.setup, -1: the kernel's own) in the pair of these units, which counts those
 * that it has for the architecture; -1: it is not among them. */
static int setup_of(const struct compile *c, const int *unit, int count, const char *arch, int setup)
{
    int number = 0;
    for (int i = 0; i < count; i++) {
        const struct compile_unit *u = &c->unit[unit[i]];
        const struct spec_kernel *as = setup < 0 ? u->kernel : &c->spec.setup[setup];
        if (strcmp(u->arch->name, arch) != 0)
            continue;
        number += u->setup > 0;
        if (u->as == as)
            return u->setup > 0 ? number : 0;
    }
    return -1;
}

/* Adds the rows of the GPU on the architecture. */
static void add_gpu(const struct compile *c, const int *unit, int count, const char *arch, const char *gpu,
                    struct host_tuned *tuned, int *tuned_count)
{
    const struct spec_kernel *k = c->unit[unit[0]].kernel;
    for (int i = 0; i < k->tuned_count; i++) {
        const struct spec_tuned *row = &k->tuned[i];
        const bool here = strcmp(row->arch, arch) == 0 && strcmp(row->gpu, gpu) == 0;
        const int setup = here ? setup_of(c, unit, count, arch, row->setup) : -1;
        const int exact = setup >= 0 && row->exact >= 0 ? setup_of(c, unit, count, arch, row->exact) : 0;
        if (setup >= 0)
            tuned[(*tuned_count)++] = (struct host_tuned){row->arch, row->gpu, row->value, setup, exact > 0 ? exact : 0,
                                                          row->use, row->burst, row->us, row->ratio};
    }
}

/* Whether a row before this one is of its architecture and GPU. */
static bool is_told(const struct spec_kernel *k, int row)
{
    for (int i = 0; i < row; i++)
        if (strcmp(k->tuned[i].arch, k->tuned[row].arch) == 0 && strcmp(k->tuned[i].gpu, k->tuned[row].gpu) == 0)
            return true;
    return false;
}

int compile_check_workspace(struct compile *c, int first, const struct spec_kernel *setup)
{
    const int last = c->unit_count - 1, end = c->tables.options.candidates && last > first ? first + 1 : last;
    const struct plan *p = &c->unit[last].plan, *other = p;
    for (int i = first; i < end && c->unit[last].as == setup; i++)
        if (c->unit[i].planned && !plan_share_workspace(&c->unit[i].plan, p))
            other = &c->unit[i].plan;
    if (other != p)
        diag_report(&c->diags, DIAG_ERROR, setup->loc, setup->name, NULL, "TUNED-WORKSPACE",
                    "%s goes by a list of turns, whose records lie where %s, split over blocks, has to find zeros, and "
                    "both are given one workspace; take this set-up out, or make it a kernel of its own",
                    p->list ? "it" : other->entry, p->list ? other->entry : "it");
    return other != p;
}

int compile_tuned(struct compile *c, const int *unit, int count, struct host_tuned **tuned, int *tuned_count)
{
    const struct spec_kernel *k = c->unit[unit[0]].kernel;
    bool setups = false;
    *tuned = NULL;
    *tuned_count = 0;
    for (int i = 0; i < count; i++)
        setups = setups || c->unit[unit[i]].setup > 0;
    if (!setups)
        return 0;
    *tuned = tw_alloc_zeroed(&c->rt, sizeof **tuned * ((size_t)k->tuned_count + 1));
    if (!*tuned)
        return 3;
    for (int i = 0; i < count; i++) {
        const struct compile_unit *u = &c->unit[unit[i]];
        if (i > 0 && c->unit[unit[i - 1]].arch == u->arch)
            continue;
        for (int row = 0; row < k->tuned_count; row++)
            if (strcmp(k->tuned[row].arch, u->arch->name) == 0 && !is_told(k, row))
                add_gpu(c, unit, count, u->arch->name, k->tuned[row].gpu, *tuned, tuned_count);
    }
    return 0;
}

int compile_chosen(struct compile *c, const int64_t *symbol, const char *gpu)
{
    struct host_tuned *tuned = NULL;
    int count = 0, chosen = -2, number = -1;
    int *all = tw_alloc(&c->rt, sizeof *all * ((size_t)c->unit_count + 1));
    for (int i = 0; all && i < c->unit_count; i++)
        all[i] = i;
    if (all && compile_tuned(c, all, c->unit_count, &tuned, &count) == 0) {
        const struct host_image image = {.plan = &c->unit[0].plan};
        const struct host_model model = {.image = &image, .image_count = 1, .tuned = tuned, .tuned_count = count};
        number = host_setup_of(&model, c->unit[0].arch->name, gpu, symbol);
        chosen = number < 0 ? -2 : -1;
    }
    for (int i = 0; i < c->unit_count && number > 0; i++) {
        number -= c->unit[i].setup > 0;
        chosen = number == 0 ? i : chosen;
    }
    tw_free(&c->rt, tuned);
    tw_free(&c->rt, all);
    return chosen;
}
