/* tilewright help: the commands, one command's usage, the fields of a spec out of the schema table, the hazards that
 * the emulator reports and the fields of JSON out of theirs. */
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "common/options.h"
#include "compile/compile.h"
#include "emu/hazards.h"
#include "version.h"

static void list(void)
{
    printf("tilewright %s: Lua specs of tiles and swizzles to CUDA kernels and the C code that launches them\n\n",
           TW_VERSION);
    for (const struct command *c = command_all; c->name; c++)
        printf("  tilewright %s %s\n      %s\n", c->name, c->usage, c->doc);
    fputs("  tilewright --version\n\n"
          "Every command has --help. Diagnostics go to standard error, data to standard output.\n"
          "Exit status: 0 done and verified, 1 the input is at fault, 2 usage, 3 environment.\n",
          stdout);
}

enum { HELP_COLUMNS = 100 };

/* A paragraph, each line behind `indent` spaces; the first begins with `label`, to which the others line up. */
static void print_paragraph(int indent, const char *label, const char *text)
{
    int left = indent + (int)strlen(label), column = left;
    printf("%*s%s", indent, "", label);
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (column > left && column + 1 + length > HELP_COLUMNS) {
            printf("\n%*s", left, "");
            column = left;
        }
        column += printf("%s%.*s", column > left ? " " : "", length, text);
        text += length;
        text += strspn(text, " ");
    }
    putchar('\n');
}

static void print_hazards(void)
{
    size_t count;
    const struct emu_hazard_edge *edge = emu_hazard_edges(&count);
    print_paragraph(0, "",
                    "What the emulator reports of a kernel, whenever its asynchronous operations happen. BOUNDS, ALIGN "
                    "and DEADLOCK are found in every mode, the others with --hazards on, fatal (the first one ends the "
                    "launch) or strict (a generic read before an asynchronous refill needs the proxy fence too): run "
                    "is strict, emu is on, where nothing else is said.");
    for (int i = 0; i < EMU_HAZARD_COUNT; i++) {
        const struct emu_hazard_info *info = emu_hazard_info((enum emu_hazard_name)i);
        printf("\n%s\n", info->name);
        print_paragraph(4, "", info->what);
        print_paragraph(4, "do: ", info->todo);
    }
    putchar('\n');
    print_paragraph(0, "",
                    "What orders one access before another; two accesses to the same bytes, one of them a write, need "
                    "a chain of these between them:");
    for (size_t i = 0; i < count; i++) {
        printf("\n%s\n", edge[i].name);
        print_paragraph(4, "", edge[i].text);
    }
}

static void print_json_fields(void)
{
    static const struct {
        const char *commands, *path, *type, *doc;
    } fields[] = {
#define JSON_FIELD(commands, path, type, doc) {commands, path, type, doc},
#include "common/json_fields.def"
#undef JSON_FIELD
    };
    print_paragraph(
        0, "",
        "With --json a command prints one object on stdout, and what it would tell on stderr stands in it as "
        "diagnostics:");
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (i == 0 || strcmp(fields[i].commands, fields[i - 1].commands) != 0)
            printf("\n%s\n", *fields[i].commands ? fields[i].commands : "every command");
        printf("    %-30s %-15s %s\n", fields[i].path, fields[i].type, fields[i].doc);
    }
    putchar('\n');
    print_paragraph(0, "",
                    "tensormap explain answers each call that it finds with an object, on a line of its own. tensormap "
                    "encode and load speak JSON as their help says.");
}

int cmd_help(int argc, char **argv)
{
    bool luacats = false;
    const char *topic = NULL;
    int topics = 0;
    const struct option_row rows[] = {
        {"--luacats", OPTION_FLAG, &luacats, NULL, "the spec language as a LuaCATS file, for completion in editors"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL},
    };
    int status = options_parse("help", rows, argc, argv, &topic, 1, &topics);
    if (status >= 0)
        return status;
    if (luacats && topics && strcmp(topic, "spec") != 0)
        return options_fault("help", "--luacats goes with 'spec' alone");
    if (luacats || (topics && strcmp(topic, "spec") == 0)) {
        struct compile_tables tables;
        compile_tables_fill(&tables);
        if (luacats)
            spec_print_luacats(stdout, &tables.options);
        else
            spec_print_help(stdout, &tables.options);
        return 0;
    }
    if (!topics) {
        list();
        return 0;
    }
    if (strcmp(topic, "hazards") == 0) {
        print_hazards();
        return 0;
    }
    if (strcmp(topic, "json") == 0) {
        print_json_fields();
        return 0;
    }
    const struct command *command = command_find(topic);
    if (!command && strcmp(topic, "luacats") == 0)
        return options_fault("help", "there is no command 'luacats'; did you mean 'help --luacats'?");
    if (!command)
        return options_fault("help", "there is no command '%s'", topic);
    char name[32], option[] = "--help";
    snprintf(name, sizeof name, "%s", command->name);
    char *arguments[] = {name, option, NULL};
    return command_runner(topic)(2, arguments);
}
