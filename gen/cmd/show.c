/* tilewright show: pictures of what is decided, in the terminal and as SVG. */
#include "cmd/show.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/options.h"

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

const struct plan_shared *show_region(const struct plan *p, const struct plan_ring *ring, int tensor)
{
    char name[256];
    snprintf(name, sizeof name, "%s%s%s", ring->name, tensor < 0 ? "" : ".", tensor < 0 ? "" : p->tensor[tensor].name);
    for (int i = 0; i < p->shared_count; i++)
        if (strcmp(p->shared[i].name, name) == 0)
            return &p->shared[i];
    return NULL;
}

static void help(void)
{
    const struct command *command = command_find("show");
    printf("usage: tilewright show %s\n  %s\n", command->usage, command->doc);
#define VERB(name, usage, doc) printf("  show %s %s\n      %s\n", #name, usage, doc);
    SHOW_VERBS(VERB)
#undef VERB
    fputs("  'tilewright show VERB --help' lists its options\n", stdout);
}

int cmd_show(int argc, char **argv)
{
    static const char *const names[] = {
#define VERB(name, usage, doc) #name,
        SHOW_VERBS(VERB)
#undef VERB
            NULL};
    static int (*const run[])(int, char **) = {
#define VERB(name, usage, doc) show_##name,
        SHOW_VERBS(VERB)
#undef VERB
    };
    if (argc < 2)
        return options_fault("show", "what? write swizzle, smem or timeline");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        help();
        return 0;
    }
    for (int i = 0; names[i]; i++)
        if (strcmp(argv[1], names[i]) == 0)
            return run[i](argc - 1, argv + 1);
    const char *near = diag_suggest(argv[1], names);
    if (near)
        return options_fault("show", "'%s' cannot be shown; did you mean '%s'?", argv[1], near);
    return options_fault("show", "'%s' cannot be shown; write swizzle, smem or timeline", argv[1]);
}
