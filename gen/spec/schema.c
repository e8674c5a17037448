/* The schema as data: merging of architectures, help, completion. */
#include "spec/spec.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const struct spec_row spec_rows[SPEC_FIELD_COUNT] = {
#define SPEC_FIELD(id, family, path, type, low, high, words, fallback, needs, doc)                                     \
    {path, family, doc, words, fallback, needs, type, low, high},
#include "spec/schema.def"
#undef SPEC_FIELD
};

static bool names(const struct spec_kernel *kernel, const char *arch)
{
    for (int i = 0; i < kernel->arch_count; i++)
        if (strcmp(kernel->arch[i].name, arch) == 0)
            return true;
    return false;
}

const char *spec_named(const struct spec_kernel *kernel, const char *arch)
{
    if (names(kernel, arch))
        return arch;
    for (const char *const *pair = kernel->arch_like; pair && *pair; pair += 2)
        if (strcmp(pair[0], arch) == 0 && names(kernel, pair[1]))
            return pair[1];
    return NULL;
}

void spec_said(const struct spec_kernel *kernel, const char *arch, struct spec_fields *out)
{
    const char *named = spec_named(kernel, arch);
    *out = kernel->fields;
    for (int i = 0; i < kernel->arch_count && named; i++)
        for (int f = 0; strcmp(kernel->arch[i].name, named) == 0 && f < SPEC_FIELD_COUNT; f++)
            if (kernel->arch[i].fields.value[f].set)
                out->value[f] = kernel->arch[i].fields.value[f];
}

void spec_merge(const struct spec_kernel *kernel, const char *arch, struct spec_fields *out)
{
    const char *named = kernel->arch_count ? spec_named(kernel, arch) : arch;
    spec_said(kernel, arch, out);
    for (int i = 0; i < kernel->choices.count && named; i++) {
        const struct spec_choice *c = &kernel->choices.choice[i];
        if (strcmp(c->arch, named) == 0 && !out->value[c->field].set)
            out->value[c->field] = c->value;
    }
}

const char *spec_reason(const struct spec_value *value)
{
    return value->why ? value->why : "the spec says so";
}

int64_t spec_field_value(const struct spec_fields *fields, enum spec_field field)
{
    const char *fallback = spec_rows[field].fallback;
    if (fields->value[field].set)
        return fields->value[field].integer;
    return strcmp(fallback, "true") == 0 ? 1 : strtoll(fallback, NULL, 10); /* "false" is 0 */
}

const struct program *spec_program(const struct spec_kernel *kernel, const char *arch)
{
    const char *named = kernel->arch_count ? spec_named(kernel, arch) : arch;
    for (int i = 0; i < kernel->arch_program_count && named; i++)
        if (strcmp(kernel->arch_program[i].arch, named) == 0)
            return kernel->arch_program[i].program;
    return kernel->program;
}

/* What is no plain field, for help and completion: name, type in LuaCATS, doc. A row here is read by read/kernel.c. */
static const struct {
    const char *name, *type, *doc;
} others[] = {
    {"family", "string", "what the kernel computes; its axes, tensors and templates come with it"},
    {"template", "string", "file beside the spec: a kernel without a family, by its own template"},
    {"like", "tilewright.handle", "kernel whose fields this one takes over; its own are put over them, field by field"},
    {"arch", "table<string, tilewright.fields>", "architectures to generate for, and what differs on each"},
    {"tune", "tilewright.fields", "values to try; a list stands for a value"},
    {"run", "table<string, integer>[]", "sizes that run verifies: small, ragged ones"},
    {"bench", "table<string, integer>[]", "sizes worth timing"},
    {"peer", "table<integer|string, string>",
     "problem of a library that bench times beside the kernel, and its tensors: { \"gemm\", a = \"A\", b = \"B\", d = "
     "\"D\" }; where data decide its rows, one product of all of them"},
    {"epilogue", "fun(acc: tilewright.value, t: table, i: table): any",
     "value of each output element; a table by tensor for several outputs"},
    {"rings", "table[]", "template: { \"x\", stages = 2 }, tensors that travel together through shared memory"},
    {"grid", "tilewright.value[]|table<string, tilewright.value>|string",
     "template: blocks in x, y, z, expressions of dims; program: extents by axis, { r = R }"},
    {"reference", "fun(t: table, n: table)", "template: writes the expected result, on plain numbers, 0-based"},
    {"program", "fun(t: table, at: table, tile: table)",
     "what one work item computes, as operations on tiles, see below; neither family nor template then"},
    {"tile", "table<string, integer>", "program: elements of each axis that one work item takes, { m = 128 }"},
    {"cluster", "table<string, integer>", "program: items along each axis that share tiles by multicast, 1 to 8"},
    {"axes", "string", "program: names of its axes, \"r c\", by which tile and cluster are written: tile = { r = 64 }"},
    {"ahead", "table<string, table>",
     "program: { s = { turns = 1, before = \"o\" } } issues operation s a turn earlier"},
    {"via", "table<string, string>",
     "program: how the data of a load come: bulk, cp_async, direct, resident; of a tensor that an epilogue takes: bulk "
     "(into the buffers that the result leaves by), direct"},
    {"direction", "table<string, string>",
     "program: { kv = \"down\" } takes the turns of loop kv from the last to the first; up; left out: chosen"},
    {"cache", "table<string, string>",
     "program: { B = \"evict_first\" }: the L2 gives up first what bulk copies bring of B, or take of a result; "
     "evict_last; prefetch: it is asked, as blocks begin, for what is read first of B; prefetch_evict_first: both"},
    {"split", "table<string, integer|table>",
     "program: { k = 2 } shares the turns of loop k among the blocks of a cluster, 2, 4 or 8; { k = { parts = 3, "
     "over = \"blocks\" } } among any, 2 to 64; 1: none"},
};

static const struct {
    const char *name, *type, *doc;
} tensor_fields[] = {
    {"dtype", "tilewright.dtype", "type of an element"},
    {"swizzle", "tilewright.swizzle", "permutation of its tile in shared memory; left out: chosen"},
    {"axes", "string", "axes of the dims, innermost last, where the order is not the family's own: \"k m\""},
    {"stride", "tilewright.value[]", "elements from one index to the next in each dim; left out: dense"},
    {"fill", "string|function",
     "what `run` fills it with: the words of a fill, \"documents 8\", or function(i, j, ..., n) of the indices "
     "alone, as several processes call it, of which "
     "`bench` and `tune` repeat whole slices behind 8,388,608 elements; left out: normal values"},
    {"out", "boolean", "the kernel writes it"},
    {"maps", "string",
     "the first dim, by axis or size, a number: each index of it has a tensor map of its own among the kernel's "
     "parameters, \"p\""},
    {"pointers", "string",
     "the first dim, by axis or size: a launch has a device array of addresses, one for each index of it, \"b\""},
    {"tile", "integer[]", "template: elements of a tile in each dim"},
};

/* The words of programs. */
static const struct {
    const char *name, *form, *doc;
} program_words[] = {
#define PROGRAM_WORD(name, function, upvalue, form, doc) {name, form, doc},
#include "spec/program_words.def"
#undef PROGRAM_WORD
};

static void print_bounds(FILE *out, const struct spec_row *row)
{
    if (row->type == 'i')
        fprintf(out, "%" PRId64 " to %" PRId64, row->low, row->high);
    else if (row->type == 'b')
        fputs("true, false", out);
    else if (row->type == 'w')
        fputs(row->words, out);
    else
        fputs("text", out);
}

/* What the family's module says at its head, in the comment that it begins with. */
static void print_family(FILE *out, const struct spec_options *options, const char *name)
{
    char file[128];
    const char *text;
    size_t length;
    snprintf(file, sizeof file, "lib/%s.lua", name);
    fprintf(out, "\nfamily = \"%s\"\n", name);
    if (!options->library || !options->library(file, &text, &length))
        return;
    for (const char *end = text + length; text < end && strncmp(text, "--", 2) == 0;) {
        size_t line = strcspn(text, "\n");
        fprintf(out, "  %.*s\n", (int)(line - 2 - (text[2] == ' ')), text + 2 + (text[2] == ' '));
        text += line + 1;
    }
}

void spec_print_help(FILE *out, const struct spec_options *options)
{
    fputs("kernel \"NAME\" {\n", out);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        fprintf(out, "  %-20s %s\n", others[i].name, others[i].doc);
    fputs("}\n\ntensor { M, K, ... }: dims in memory order, innermost last, and\n", out);
    for (size_t i = 0; i < sizeof tensor_fields / sizeof *tensor_fields; i++)
        fprintf(out, "  %-20s %s\n", tensor_fields[i].name, tensor_fields[i].doc);
    fputs("  dtypes:  ", out);
    for (int i = 0; i < TW_DTYPE_COUNT; i++)
        fprintf(out, " %s", tw_dtype_name((enum tw_dtype)i));
    fputs("\n  swizzles:", out);
    for (int i = 0; i < TW_SWIZZLE_COUNT; i++)
        fprintf(out, " %s", tw_swizzles[i].name);
    fputs("\n  fills:\n", out);
    for (const struct fill_word *f = fill_words; f->word; f++)
        fprintf(out, "    %-18s %s\n", f->form, f->doc);
    fputs("\nscalar \"fp32\", scalar(\"fp32\", 1.5): an argument, and the value that `run` passes\n"
          "dims \"M N K%8\": sizes known at launch; %8: 8 divides it\n",
          out);
    for (const char *const *f = options->library_family; f && *f; f++)
        print_family(out, options, *f);
    fputs("\nfields (family, range; what is taken where one is left out)\n", out);
    for (int i = 0; i < SPEC_FIELD_COUNT; i++) {
        const struct spec_row *row = &spec_rows[i];
        fprintf(out, "  %-20s %s%s%s%s\n  %-20s %s%s", row->path, row->doc, *row->needs ? " (" : "", row->needs,
                *row->needs ? ")" : "", "", row->family, *row->family ? ", " : "");
        print_bounds(out, row);
        fprintf(out, "; default: %s\n", row->fallback);
    }
    fputs("\narchitectures:", out);
    for (const char *const *a = options->arch; a && *a; a++)
        fprintf(out, " %s", *a);
    for (int a = 0; options->arch_dots && options->arch[a]; a++)
        fprintf(out, "\ndots of %s: %s", options->arch[a], options->arch_dots[a]);
    fputs("\n\nin a fused function: + - * / // %  & | ~ ", out);
    for (int i = 0; i < EXPR_OP_COUNT; i++)
        if (expr_ops[i].name[0] >= 'a' && expr_ops[i].name[0] <= 'z')
            fprintf(out, " %s", expr_ops[i].name);
    fputs(" clamp\n\nin a program also, on tiles (matrices of constant extents, an extent of 1 broadcasts)\n", out);
    for (size_t i = 0; i < sizeof program_words / sizeof *program_words; i++)
        fprintf(out, "  %s\n      %s\n", program_words[i].form, program_words[i].doc);
    fputs("  tile:t()\n      rows and columns change places\n"
          "  tile:as \"name\"\n      names the operation that gave the tile, for ahead and via\n",
          out);
}

static void print_words(FILE *out, const char *words)
{
    for (const char *p = words; *p;) {
        size_t n = strcspn(p, " ");
        fprintf(out, "%s'\"%.*s\"'", p == words ? "" : " | ", (int)n, p);
        p += n + (p[n] == ' ');
    }
}

static void print_type(FILE *out, const struct spec_row *row)
{
    if (row->type == 'w')
        print_words(out, row->words);
    else
        fputs(row->type == 'i' ? "integer" : row->type == 'b' ? "boolean" : "string", out);
}

/* A class for each group of fields ("tile": m, n, k). Rows of a group stand together. */
static void print_groups(FILE *out)
{
    const char *group = "";
    for (int i = 0; i < SPEC_FIELD_COUNT; i++) {
        const char *path = spec_rows[i].path, *dot = strchr(path, '.');
        size_t n = dot ? (size_t)(dot - path) + 1 : 0;
        if (!dot)
            continue;
        if (strncmp(group, path, n) != 0)
            fprintf(out, "\n---@class tilewright.%.*s\n", (int)n - 1, path);
        group = path;
        fprintf(out, "---@field %s? ", dot + 1);
        print_type(out, &spec_rows[i]);
        fprintf(out, " %s (default: %s)\n", spec_rows[i].doc, spec_rows[i].fallback);
    }
}

static void print_fields(FILE *out)
{
    const char *group = "";
    fputs("\n---@class tilewright.fields\n", out);
    for (int i = 0; i < SPEC_FIELD_COUNT; i++) {
        const char *path = spec_rows[i].path, *dot = strchr(path, '.');
        size_t n = dot ? (size_t)(dot - path) : 0;
        if (dot && strncmp(group, path, n + 1) == 0)
            continue;
        if (dot) {
            group = path;
            fprintf(out, "---@field %.*s? tilewright.%.*s\n", (int)n, path, (int)n, path);
        } else {
            fprintf(out, "---@field %s? ", path);
            print_type(out, &spec_rows[i]);
            fprintf(out, " %s (default: %s)\n", spec_rows[i].doc, spec_rows[i].fallback);
        }
    }
}

void spec_print_luacats(FILE *out, const struct spec_options *options)
{
    fputs("---@meta\n---@diagnostic disable: lowercase-global\n\n---@alias tilewright.dtype ", out);
    for (int i = 0; i < TW_DTYPE_COUNT; i++)
        fprintf(out, "%s'\"%s\"'", i ? " | " : "", tw_dtype_name((enum tw_dtype)i));
    fputs("\n---@alias tilewright.swizzle ", out);
    for (int i = 0; i < TW_SWIZZLE_COUNT; i++)
        fprintf(out, "%s'\"%s\"'", i ? " | " : "", tw_swizzles[i].name);
    fputs("\n---@alias tilewright.family ", out);
    for (const char *const *f = options->library_family; f && *f; f++)
        fprintf(out, "%s'\"%s\"'", f == options->library_family ? "" : " | ", *f);
    fputs("\n\n---@class tilewright.value: number\n---@class tilewright.handle\n---@class tilewright.tensor\n"
          "---@class tilewright.scalar\n\n---@class tilewright.tensor_fields\n---@field [integer] tilewright.value\n",
          out);
    for (size_t i = 0; i < sizeof tensor_fields / sizeof *tensor_fields; i++)
        fprintf(out, "---@field %s%s %s %s\n", tensor_fields[i].name, i ? "?" : "", tensor_fields[i].type,
                tensor_fields[i].doc);
    print_groups(out);
    print_fields(out);
    fputs("\n---@class tilewright.kernel: tilewright.fields\n", out);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        fprintf(out, "---@field %s? %s %s\n", others[i].name, i ? others[i].type : "tilewright.family", others[i].doc);
    fputs(
        "---@field [string] tilewright.tensor | tilewright.scalar\n\n"
        "---@param names string\n---@return tilewright.value ...\nfunction dims(names) end\n\n"
        "---@param fields tilewright.tensor_fields\n---@return tilewright.tensor\nfunction tensor(fields) end\n\n"
        "---@param dtype tilewright.dtype\n---@param value? number\n---@return tilewright.scalar\n"
        "function scalar(dtype, value) end\n\n"
        "---@param name string\n---@return fun(fields: tilewright.kernel): tilewright.handle\n"
        "function kernel(name) end\n\n"
        "---@class tilewright.tuned_row\n---@field mode? \"sustained\"|\"burst\"\n"
        "---@field use? tilewright.fields what differs from the kernel's own\n"
        "---@field us? number\n---@field ratio? number\n---@field [string] integer the size of a dim\n\n"
        "---@class tilewright.tuned\n---@field gpu string\n---@field arch string\n"
        "---@field [integer] tilewright.tuned_row\n\n"
        "--- SPEC.tuned.lua: set-ups of a kernel of the spec, by sizes\n"
        "---@param name string\n---@return fun(rows: tilewright.tuned)\nfunction tuned(name) end\n\n"
        "---@param low number\n---@param high number\n---@return tilewright.value\nfunction clamp(x, low, high) end\n\n"
        "---@param dtype tilewright.dtype\n---@return tilewright.value\nfunction cast(x, dtype) end\n",
        out);
    for (int i = 0; i < EXPR_OP_COUNT; i++) {
        static const char *const arguments[] = {"", "a", "a, b", "condition, yes, no"};
        if (expr_ops[i].name[0] >= 'a' && expr_ops[i].name[0] <= 'z' && i != EXPR_CAST)
            fprintf(out, "\n---@return tilewright.value\nfunction %s(%s) end\n", expr_ops[i].name,
                    arguments[expr_ops[i].arity]);
    }
    for (size_t i = 0; i < sizeof program_words / sizeof *program_words; i++) {
        const char *name = program_words[i].name, *form = program_words[i].form;
        bool function = strcmp(name, form) != 0;
        fprintf(out,
                function ? "\n--- %s: %s\n---@return any ...\nfunction %s(...) end\n"
                         : "\n--- %s: %s\n---@type any\n%s = nil\n",
                form, program_words[i].doc, name);
    }
}
