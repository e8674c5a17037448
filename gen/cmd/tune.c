/* tilewright tune: the set-ups of a spec's kernels that are the quickest, into SPEC.tuned.lua. */
#include "tune/tune.h"

#include <string.h>

#include "cmd/cmd.h"

int cmd_tune(int argc, char **argv)
{
    struct tune_options o = {.spec = NULL};
    int operands;
    const struct option_row rows[] = {
        {"--kernel", OPTION_TEXT, &o.kernel, "K", "this kernel alone; by default those that have a `tune`"},
        {"--arch", OPTION_TEXT, &o.arch, "A", "this architecture; by default each kernel's newest"},
        {"--set", OPTION_LIST, &o.set, "M=512,N=1/64",
         "in the place of the spec's bench sizes; / separates several; repeatable"},
        {"--list", OPTION_FLAG, &o.list, NULL, "what there is to try and what the model says of it; needs no GPU"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL},
    };
    int status = options_parse("tune", rows, argc, argv, &o.spec, 1, &operands);
    if (status >= 0)
        return status;
    if (!operands)
        return options_fault("tune", "which spec?");
    return tune_list(&o, stdout);
}
