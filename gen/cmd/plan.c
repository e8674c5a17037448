/* tilewright plan: what was decided, as tables for people or JSON for programs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "common/options.h"
#include "compile/compile.h"
#include "program/program.h"

/* One array of Plans, in the order of kernels, architectures and variants. */
static int print_json(const struct compile *c)
{
    fputs("[\n", stdout);
    for (int i = 0; i < c->unit_count; i++) {
        char *text;
        size_t length;
        if (plan_print_json(&c->unit[i].plan, &text, &length) != 0) {
            fputs("tilewright plan: out of memory\n", stderr);
            return 3;
        }
        if (length && text[length - 1] == '\n')
            length--;
        fwrite(text, 1, length, stdout);
        fputs(i + 1 < c->unit_count ? ",\n" : "\n", stdout);
        free(text);
    }
    fputs("]\n", stdout);
    return 0;
}

/* The choice is a list of names: "sm_90a,sm_80". */
static bool is_chosen(const struct compile_choice *choice, const char *arch)
{
    size_t length = strlen(arch);
    for (const char *at = choice->arch; at && *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ','))
        if (strcspn(at, ",") == length && strncmp(at, arch, length) == 0)
            return true;
    return choice->arch == NULL;
}

/* The programs of the chosen kernels; those that nothing lowers are worth seeing too. */
static void print_programs(const struct compile *c, const struct compile_choice *choice)
{
    for (int i = 0; i < c->spec.kernel_count; i++) {
        const struct spec_kernel *k = &c->spec.kernel[i];
        if (!k->program || !k->sound || (choice->kernel && strcmp(choice->kernel, k->name) != 0))
            continue;
        bool own = choice->arch == NULL; /* of an architecture that has none of its own */
        for (int a = 0; choice->arch && c->tables.arch[a]; a++)
            own = own || (is_chosen(choice, c->tables.arch[a]) && spec_program(k, c->tables.arch[a]) == k->program);
        if (own)
            program_print(k->program, &c->spec, k, stdout);
        for (int a = 0; a < k->arch_program_count; a++) {
            if (!is_chosen(choice, k->arch_program[a].arch))
                continue;
            printf("\non %s, ", k->arch_program[a].arch);
            program_print(k->arch_program[a].program, &c->spec, k, stdout);
        }
        putchar('\n');
    }
}

int cmd_plan(int argc, char **argv)
{
    struct compile_choice choice = {NULL, NULL, NULL, NULL, NULL};
    bool why = false, json = false;
    const char *path;
    int operands;
    const struct option_row rows[] = {
        {"--arch", OPTION_TEXT, &choice.arch, "A,B", "these architectures alone"},
        {"--kernel", OPTION_TEXT, &choice.kernel, "K", "this kernel alone"},
        {"--variant", OPTION_TEXT, &choice.variant, "V", "this variant alone, by name or number from 0"},
        {"--why", OPTION_FLAG, &why, NULL, "each choice with its reason"},
        {"--json", OPTION_FLAG, &json, NULL, "an array of Plans, every field"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL},
    };
    int status = options_parse("plan", rows, argc, argv, &path, 1, &operands);
    if (status >= 0)
        return status;
    if (!operands)
        return options_fault("plan", "which spec?");

    struct compile c;
    status = compile_open_as(&c, "plan", path, json);
    if (status == 0)
        status = compile_units(&c, &choice);
    compile_report(&c);
    if (json)
        status = status == 0 ? print_json(&c) : compile_print_json(&c, status, NULL);
    if (!json)
        print_programs(&c, &choice);
    for (int i = 0; status == 0 && !json && i < c.unit_count; i++) {
        if (i)
            putchar('\n');
        plan_print_tables(&c.unit[i].plan, why, stdout);
    }
    compile_close(&c);
    return status;
}
