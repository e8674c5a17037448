/* tilewright plan: what was decided, as tables for people or JSON for programs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>
#include <json-c/printbuf.h>

#include "cmd/cmd.h"
#include "common/options.h"
#include "compile/compile.h"
#include "spec/tuned.h"
#include "program/program.h"

/* A Plan's text, as it is. */
static int write_plan(json_object *o, struct printbuf *out, int level, int flags)
{
    const char *text = json_object_get_userdata(o);
    (void)level;
    (void)flags;
    return printbuf_memappend(out, text, (int)strlen(text));
}

static void free_plan(json_object *o, void *text)
{
    (void)o;
    free(text);
}

/* The Plans, in the order of kernels, architectures and variants. NULL where there is no memory. */
static json_object *plans_of(const struct compile *c)
{
    json_object *list = json_object_new_array(), *plan = NULL;
    for (int i = 0; list && i < c->unit_count; i++) {
        char *text = NULL;
        size_t length = 0;
        if (plan_print_json(&c->unit[i].plan, &text, &length) != 0 || !(plan = json_object_new_object())) {
            free(text);
            json_object_put(list);
            return NULL;
        }
        if (length && text[length - 1] == '\n')
            text[length - 1] = '\0';
        json_object_set_serializer(plan, write_plan, text, free_plan);
        json_object_array_add(list, plan);
    }
    return list;
}

static int print_json(const struct compile *c, int status)
{
    json_object *more = json_object_new_object(), *plans = status == 0 && more ? plans_of(c) : NULL;
    if (status == 0 && !plans) {
        struct tw_error error;
        status = compile_fail(c, tw_fail(&error, TW_ERROR_MEMORY, "out of memory"), &error);
    }
    if (plans)
        json_object_object_add(more, "plans", plans);
    status = compile_print_json(c, status, more);
    json_object_put(more);
    return status;
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

/* What SPEC.tuned.lua has for the chosen kernels. */
static void print_rows(const struct compile *c, const struct compile_choice *choice)
{
    for (int i = 0; i < c->spec.kernel_count; i++) {
        const struct spec_kernel *k = &c->spec.kernel[i];
        if (choice->kernel && strcmp(choice->kernel, k->name) != 0)
            continue;
        for (int n = 0; n < k->tuned_count; n++) {
            const struct spec_tuned *row = &k->tuned[n];
            if (!is_chosen(choice, row->arch))
                continue;
            printf("tuned %s on %s, %s, %s:", k->name, row->arch, row->gpu, row->burst ? "burst" : "sustained");
            for (int d = 0; d < c->spec.dim_count; d++)
                if (row->value[d] >= 0)
                    printf(" %s=%lld", c->spec.dim[d].name, (long long)row->value[d]);
            const int which = row->exact >= 0 ? row->exact : row->setup;
            const char *setup = which >= 0 ? c->spec.setup[which].setup.name : "";
            printf(": %s%s\n", *setup ? "--variant " : "the spec's own", setup);
        }
    }
}

int cmd_plan(int argc, char **argv)
{
    struct compile_choice choice = {.kernel = NULL};
    bool why = false, json = false;
    const char *path;
    int operands;
    const struct option_row rows[] = {
        {"--arch", OPTION_TEXT, &choice.arch, "A,B", "these architectures alone"},
        {"--kernel", OPTION_TEXT, &choice.kernel, "K", "this kernel alone"},
        {"--variant", OPTION_TEXT, &choice.variant, "V", "this variant alone, by name or number from 0"},
        {"--why", OPTION_FLAG, &why, NULL, "each choice with its reason"},
        {"--json", OPTION_FLAG, &json, NULL, "the Plans, every field: help json"},
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
        status = print_json(&c, status);
    if (!json)
        print_programs(&c, &choice);
    if (status == 0 && !json)
        print_rows(&c, &choice);
    bool first = true;
    for (int i = 0; status == 0 && !json && i < c.unit_count; i++) {
        if (c.unit[i].setup && !choice.variant) /* named above */
            continue;
        if (!first)
            putchar('\n');
        first = false;
        plan_print_tables(&c.unit[i].plan, why, stdout);
    }
    compile_close(&c);
    return status;
}
