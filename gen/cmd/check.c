/* tilewright check: every fault of a spec, over all kernels, architectures and variants, in one run. Nothing is
 * written. */
#include <stdio.h>

#include <json-c/json.h>

#include "cmd/cmd.h"
#include "common/options.h"
#include "compile/compile.h"

static void report(const struct compile *c)
{
    int kernels = 0, setups = 0;
    const struct spec_kernel *last = NULL;
    for (int i = 0; i < c->unit_count; i++) {
        kernels += c->unit[i].kernel != last;
        last = c->unit[i].kernel;
        setups += c->unit[i].setup > 0;
    }
    printf("ok: %d kernel%s, %d entry point%s", kernels, kernels == 1 ? "" : "s", c->unit_count,
           c->unit_count == 1 ? "" : "s");
    for (int a = 0; arch_all[a]; a++) {
        int units = 0;
        for (int i = 0; i < c->unit_count; i++)
            units += c->unit[i].arch == arch_all[a];
        if (units)
            printf(", %d for %s", units, arch_all[a]->name);
    }
    if (setups)
        printf("; %d %s set-up%s", setups, setups == 1 ? "is a" : "are", setups == 1 ? "" : "s");
    putchar('\n');
}

static int report_json(const struct compile *c, int status)
{
    json_object *entries = json_object_new_array(), *more = json_object_new_object();
    for (int i = 0; status == 0 && entries && i < c->unit_count; i++) {
        json_object *o = json_object_new_object();
        json_object_object_add(o, "kernel", json_object_new_string(c->unit[i].kernel->name));
        json_object_object_add(o, "entry", json_object_new_string(c->unit[i].plan.entry));
        json_object_object_add(o, "arch", json_object_new_string(c->unit[i].arch->name));
        json_object_object_add(o, "variant", json_object_new_string(c->unit[i].plan.variant));
        json_object_array_add(entries, o);
    }
    json_object_object_add(more, "entries", entries);
    status = compile_print_json(c, status, more);
    json_object_put(more);
    return status;
}

int cmd_check(int argc, char **argv)
{
    struct compile_choice choice = {.kernel = NULL};
    const char *path;
    bool json = false;
    int operands;
    const struct option_row rows[] = {
        {"--arch", OPTION_TEXT, &choice.arch, "A,B", "these architectures alone"},
        {"--kernel", OPTION_TEXT, &choice.kernel, "K", "this kernel alone"},
        {"--json", OPTION_FLAG, &json, NULL, "faults and entry points as JSON: help json"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL},
    };
    int status = options_parse("check", rows, argc, argv, &path, 1, &operands);
    if (status >= 0)
        return status;
    if (!operands)
        return options_fault("check", "which spec?");

    struct compile c;
    status = compile_open_as(&c, "check", path, json);
    if (status == 0)
        status = compile_units(&c, &choice);
    if (status < 2) {
        const int tunes = compile_check_tunes(&c, &choice);
        status = tunes > status ? tunes : status;
    }
    compile_report(&c);
    if (json)
        status = report_json(&c, status);
    else if (status == 0)
        report(&c);
    compile_close(&c);
    return status;
}
