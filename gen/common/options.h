/* The words of commands, and the options of one: a table of rows, from which arguments are read and usage is
 * printed. */
#ifndef TW_GEN_COMMON_OPTIONS_H
#define TW_GEN_COMMON_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* One row of commands.def. */
struct command {
    const char *name, *usage, *doc;
};

/* The table, ended by name == NULL, and its row of that name, or NULL. */
extern const struct command command_all[];
const struct command *command_find(const char *name);

enum option_kind {
    OPTION_FLAG,   /* bool: set to true */
    OPTION_TEXT,   /* const char *: the last one counts */
    OPTION_NUMBER, /* uint64_t: decimal, or 0x hexadecimal */
    OPTION_LIST    /* struct option_list: may be repeated, each is kept */
};

enum { OPTION_MOST = 256 };

struct option_list {
    const char *item[OPTION_MOST];
    int count;
};

/* One option, long ("--arch") or of one letter ("-o"). */
struct option_row {
    const char *name;     /* NULL ends a table */
    enum option_kind kind;
    void *value;          /* what kind says; keeps its value where the option is not given */
    const char *argument; /* name of the argument in the usage, NULL for flags */
    const char *doc;      /* one line */
};

/* Reads argv[1..] in any order; what is no option goes to operand, at most `most` of them. "--name VALUE",
 * "--name=VALUE", "-o VALUE" and "-oVALUE" are understood; "--" ends the options. Returns -1 to go on, else the exit
 * status: 0 after --help, which prints the usage on stdout, 2 after a fault, which it prints on stderr. */
int options_parse(const char *command, const struct option_row *rows, int argc, char **argv, const char **operand,
                  int most, int *operands);

/* Prints "tilewright COMMAND: ..." and the usage line on stderr, or where the options that were read last have --json,
 * the object of `help json`; returns 2. */
int options_fault(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether it has printed the object: then there is no other one. */
bool options_answered(void);

/* True where `word` is an entry of a list that commas separate. */
bool options_listed(const char *list, const char *word);

/* Copies entry number `i` of such a list; false past the last. Longer entries are cut. */
bool options_entry(const char *list, int i, char *out, int size);

#endif
