#include "show/show.h"

#include <stdio.h>
#include <unistd.h>

#include "verify/trial.h"

const char *const show_colour[8] = {"#f6c6c6", "#fbdcb8", "#f6efb0", "#cfe8c0",
                                    "#bfe6df", "#bfdcf5", "#d3cdf2", "#efcbe4"};

const char *show_paint(int colour)
{
    static const char *const code[8] = {"\033[30;48;5;217m", "\033[30;48;5;223m", "\033[30;48;5;229m",
                                        "\033[30;48;5;193m", "\033[30;48;5;158m", "\033[30;48;5;153m",
                                        "\033[30;48;5;189m", "\033[30;48;5;225m"};
    return isatty(STDOUT_FILENO) ? code[colour & 7] : "";
}

const char *show_unpaint(void)
{
    return isatty(STDOUT_FILENO) ? "\033[0m" : "";
}

int show_one_kernel(const struct compile *c, struct compile_choice *choice)
{
    if (choice->kernel)
        return 0;
    if (c->spec.kernel_count == 1) {
        choice->kernel = c->spec.kernel[0].name;
        return 0;
    }
    fprintf(stderr, "tilewright %s: %s has %d kernels; write --kernel and one of", c->command, c->path,
            c->spec.kernel_count);
    for (int i = 0; i < c->spec.kernel_count; i++)
        fprintf(stderr, "%s %s", i ? "," : "", c->spec.kernel[i].name);
    putc('\n', stderr);
    return 2;
}

const struct arch *show_newest(const void *context, const struct arch *const *arch, int count)
{
    (void)context;
    return arch[count - 1];
}

int show_compile(struct compile *c, const int64_t *symbol, const char *gpu, struct show_units *units)
{
    const int chosen = compile_chosen(c, symbol, gpu);
    if (chosen == -2)
        return 3;
    units->count = units->sms = 0;
    for (int i = 0; i < c->unit_count && units->count < COMPILE_LIBRARY_UNITS; i++) {
        struct compile_unit *unit = &c->unit[i];
        const int *cluster = unit->plan.launch.cluster, blocks = cluster[0] * cluster[1] * cluster[2];
        if (unit->setup && i != chosen && c->unit_count > 1)
            continue;
        unit->wanted = true;
        unit->outputs = TW_OUTPUT_CUBIN | TW_OUTPUT_PTX;
        unit->line_info = true;
        units->unit[units->count++] = i;
        units->sms = blocks > units->sms ? blocks : units->sms;
    }
    return compile_cubins(c, COMPILE_NVRTC);
}

int show_choose(struct compile *c, struct launcher *launcher, const struct show_units *units, const int64_t *symbol,
                int *chosen, struct tw_error *error)
{
    const int last = units->count - 1;
    int status = TW_ERROR_INVALID;
    *chosen = last;
    if (last > 0 && c->unit[units->unit[last]].setup)
        status = trial_fits(c, launcher, last, symbol, false, error);
    for (int v = 0; v < units->count && status != TW_OK && status != TW_ERROR_MEMORY; v++) {
        *chosen = v;
        status = trial_fits(c, launcher, v, symbol, false, error);
    }
    return status;
}
