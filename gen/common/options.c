#include "common/options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "spec/diag.h"

const struct command command_all[] = {
#define COMMAND(name, usage, doc) {#name, usage, doc},
#define COMMAND_AS(name, word, usage, doc) {word, usage, doc},
#include "common/commands.def"
#undef COMMAND
#undef COMMAND_AS
    {NULL, NULL, NULL},
};

const struct command *command_find(const char *name)
{
    for (const struct command *c = command_all; c->name; c++)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}

static void usage(const char *name, FILE *out)
{
    const struct command *command = command_find(name);
    fprintf(out, "usage: tilewright %s %s\n", name, command ? command->usage : "");
}

static void help(const char *name, const struct option_row *rows)
{
    const struct command *command = command_find(name);
    usage(name, stdout);
    if (command)
        printf("  %s\n", command->doc);
    for (; rows->name; rows++) {
        char left[64];
        snprintf(left, sizeof left, "%s%s%s", rows->name, rows->argument ? " " : "",
                 rows->argument ? rows->argument : "");
        printf("  %-26s %s\n", left, rows->doc);
    }
}

/* Whether the command line that is read asks for JSON, wherever in it: a fault of what stands before is told so too. */
static bool as_json, answered;

static bool asks_for_json(const struct option_row *rows, int argc, char **argv)
{
    bool is_flag = false;
    for (; rows->name; rows++)
        is_flag = is_flag || (rows->kind == OPTION_FLAG && strcmp(rows->name, "--json") == 0);
    for (int i = 1; is_flag && i < argc; i++)
        if (strcmp(argv[i], "--json") == 0)
            return true;
    return false;
}

bool options_answered(void)
{
    return answered;
}

int options_fault(const char *command, const char *format, ...)
{
    char text[4096];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    json_fault(as_json, command, 2, text);
    answered = as_json;
    if (!as_json)
        usage(command, stderr);
    return 2;
}

/* Stores one value; 0, or what is wrong with it. */
static const char *store(const struct option_row *row, const char *text)
{
    switch (row->kind) {
    case OPTION_FLAG:
        *(bool *)row->value = true;
        return NULL;
    case OPTION_TEXT:
        *(const char **)row->value = text;
        return NULL;
    case OPTION_NUMBER: {
        char *end;
        errno = 0;
        unsigned long long number = strtoull(text, &end, 0);
        if (*text < '0' || *text > '9' || *end || errno)
            return "a number without a sign is wanted";
        *(uint64_t *)row->value = number;
        return NULL;
    }
    case OPTION_LIST: {
        struct option_list *list = row->value;
        if (list->count == OPTION_MOST)
            return "given too often";
        list->item[list->count++] = text;
        return NULL;
    }
    }
    return NULL;
}

static int unknown(const char *command, const struct option_row *rows, const char *argument)
{
    const char *names[OPTION_MOST];
    char word[64];
    int count = 0;
    for (; rows->name && count < OPTION_MOST - 2; rows++)
        names[count++] = rows->name;
    names[count++] = "--help";
    names[count] = NULL;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(argument, "="), argument);
    const char *near = diag_suggest(word, names);
    if (near)
        return options_fault(command, "unknown option '%s'; did you mean '%s'?", word, near);
    return options_fault(command, "unknown option '%s'", word);
}

/* The row that an argument names; *value is what stands behind '=' (or behind the letter), NULL where nothing does. */
static const struct option_row *find(const struct option_row *rows, const char *argument, const char **value)
{
    size_t length = argument[1] == '-' ? strcspn(argument, "=") : 2;
    for (; rows->name; rows++) {
        if (strlen(rows->name) != length || strncmp(rows->name, argument, length) != 0)
            continue;
        if (argument[1] == '-')
            *value = argument[length] ? argument + length + 1 : NULL;
        else
            *value = argument[2] ? argument + 2 : NULL;
        return rows;
    }
    return NULL;
}

int options_parse(const char *command, const struct option_row *rows, int argc, char **argv, const char **operand,
                  int most, int *operands)
{
    bool ended = false;
    *operands = 0;
    as_json = asks_for_json(rows, argc, argv);
    answered = false;
    for (int i = 1; i < argc; i++) {
        const char *argument = argv[i], *value = NULL;
        if (ended || argument[0] != '-' || !argument[1]) {
            if (*operands == most)
                return options_fault(command, "unexpected '%s'", argument);
            operand[(*operands)++] = argument;
            continue;
        }
        if (strcmp(argument, "--") == 0) {
            ended = true;
            continue;
        }
        if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) {
            help(command, rows);
            return 0;
        }
        const struct option_row *row = find(rows, argument, &value);
        if (!row)
            return unknown(command, rows, argument);
        if (row->kind == OPTION_FLAG && value)
            return options_fault(command, "%s takes no value", row->name);
        if (row->kind != OPTION_FLAG && !value) {
            if (i + 1 == argc)
                return options_fault(command, "%s wants %s", row->name, row->argument);
            value = argv[++i];
        }
        const char *wrong = store(row, value);
        if (wrong)
            return options_fault(command, "%s %s: %s", row->name, value, wrong);
    }
    return -1;
}

bool options_entry(const char *list, int i, char *out, int size)
{
    while (i-- > 0) {
        list += strcspn(list, ",");
        if (!*list)
            return false;
        list++;
    }
    snprintf(out, (size_t)size, "%.*s", (int)strcspn(list, ","), list);
    return true;
}

bool options_listed(const char *list, const char *word)
{
    char entry[128];
    for (int i = 0; options_entry(list, i, entry, sizeof entry); i++)
        if (strcmp(entry, word) == 0)
            return true;
    return false;
}
