#include "cmd/emu/emu_load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "find_cuda.h"
#include "version.h"

static int no_memory(const struct emu_program *program)
{
    tell_fault(program->tell, "out of memory");
    return 3;
}

/* ---- faults of PTX ---------------------------------------------------------------------------------------------- */

/* What the last .loc at or before a line of the PTX says: file number and line, 0 where there is none. */
static void last_location(const char *ptx, unsigned long line, unsigned *file, unsigned *source_line)
{
    *file = *source_line = 0;
    for (unsigned long i = 1; *ptx && i <= line; i++) {
        unsigned f, l;
        const char *word = ptx + strspn(ptx, " \t");
        if (strncmp(word, ".loc", 4) == 0 && sscanf(word + 4, " %9u %9u", &f, &l) == 2) {
            *file = f;
            *source_line = l;
        } else if (*word == '}') { /* a function's end */
            *file = *source_line = 0;
        }
        ptx += strcspn(ptx, "\n");
        ptx += *ptx == '\n';
    }
}

/* The path of .file number n: `.file 1 "PATH"`. */
static bool file_path(const char *ptx, unsigned number, char *out, size_t room)
{
    for (; *ptx; ptx += strcspn(ptx, "\n"), ptx += *ptx == '\n') {
        unsigned n;
        const char *word = ptx + strspn(ptx, " \t"), *quote;
        if (strncmp(word, ".file", 5) != 0 || sscanf(word + 5, " %9u", &n) != 1 || n != number)
            continue;
        quote = word + strcspn(word, "\"\n");
        if (*quote == '"' && snprintf(out, room, "%.*s", (int)strcspn(quote + 1, "\"\n"), quote + 1) < (int)room)
            return true;
    }
    return false;
}

static bool ends(const char *path, const char *suffix)
{
    size_t length = strlen(path), n = strlen(suffix);
    return length > n && strcmp(path + length - n, suffix) == 0;
}

int emu_program_fault(const struct emu_program *program, int status, const struct tw_error *error)
{
    static const char prefix[] = "PTX line ";
    const char *text = error->text, *rest;
    char *end, path[4096];
    unsigned file, line;
    if (strncmp(text, prefix, sizeof prefix - 1) != 0)
        return tell_status(program->tell, status, error);
    unsigned long number = strtoul(text + sizeof prefix - 1, &end, 10);
    rest = end + strspn(end, ": ");
    if (program->is_ptx) {
        tell_file(program->tell, program->path, number, "%s", rest);
        return tw_status_exit(status);
    }
    last_location(program->ptx, number, &file, &line);
    const bool known = line && file_path(program->ptx, file, path, sizeof path);
    tell_file(program->tell, !known || ends(path, program->path) ? program->path : path, known ? line : 0,
              "%s (PTX line %lu)", rest, number);
    return tw_status_exit(status);
}

static int parse(struct emu_program *program)
{
    struct tw_error error;
    int status = ptx_parse(&program->rt->memory, program->ptx, program->ptx_bytes, &program->module, &error);
    return status == TW_OK ? 0 : emu_program_fault(program, status, &error);
}

int emu_program_read(struct emu_program *program)
{
    struct tw_error error;
    program->is_ptx = ends(program->path, ".ptx");
    if (!program->is_ptx && !ends(program->path, ".cu")) {
        tell_fault(program->tell, "%s: neither a .cu nor a .ptx file", program->path);
        return 1;
    }
    int status = tw_read_file(program->rt, program->path, (size_t)1 << 28, &program->text, &program->bytes, &error);
    if (status != TW_OK)
        return tell_status(program->tell, status, &error);
    if (!program->is_ptx)
        return 0;
    program->ptx = (const char *)program->text;
    program->ptx_bytes = program->bytes;
    return parse(program);
}

int emu_program_take(struct emu_program *program, const char *ptx, size_t bytes)
{
    program->is_ptx = true;
    program->ptx = ptx;
    program->ptx_bytes = bytes;
    return parse(program);
}

/* ---- compiling -------------------------------------------------------------------------------------------------- */

/* What the compiler said; what would command a terminal becomes '?'. */
static void tell_log(const struct tell *tell, char *log)
{
    for (char *c = log; c && *c; c++)
        if (((unsigned char)*c < ' ' && *c != '\n' && *c != '\t') || *c == 0x7f)
            *c = '?';
    if (log)
        tell_lines(tell, log);
}

/* Of a whole program NVRTC refuses main and every call of the runtime, in a hundred lines. Says so in one, and returns
 * true, where that is what the log is about. */
static bool tell_host_code(const struct emu_program *program)
{
    const char *log = program->compiled.log, *host = strstr(log, "host functions are not allowed");
    const char *call = strstr(log, "identifier \"cuda");
    if (!host || !call)
        return false;
    while (host > log && host[-1] != '\n')
        host--;
    host = strchr(host, '(');
    tell_file(program->tell, program->path, host ? strtoul(host + 1, NULL, 10) : 0,
              "host code stands beside the kernels [COMPILE]; run the whole program: nvcc -lineinfo -cudart shared "
              "-gencode arch=compute_90,code=compute_90 %s -o program && tilewright run-program ./program; or leave it "
              "out where __CUDACC_RTC__ is defined, as it is here",
              program->path);
    return true;
}

/* Whether the text has an #include: then more than its bytes decides what comes out, and the cache cannot know. */
static bool has_include(const char *text)
{
    while ((text = strchr(text, '#'))) {
        text += 1 + strspn(text + 1, " \t");
        if (strncmp(text, "include", 7) == 0)
            return true;
    }
    return false;
}

/* The options of one compile, each a string of its own. */
struct option_set {
    struct tw_runtime *rt;
    char **item;
    size_t count;
    bool failed;
};

static void add_option(struct option_set *set, const char *option, const char *value, size_t length)
{
    char **grown = tw_realloc(set->rt, set->item, (set->count + 1) * sizeof *grown);
    char *text = grown ? tw_format(set->rt, "%s%.*s", option, (int)length, value) : NULL;
    if (grown)
        set->item = grown;
    if (text)
        set->item[set->count++] = text;
    else
        set->failed = true;
}

static void free_options(struct option_set *set)
{
    while (set->count)
        tw_free(set->rt, set->item[--set->count]);
    tw_free(set->rt, set->item);
}

/* The user's folders first, then the file's own, then the toolkit's. */
static void add_includes(struct option_set *set, const char *path, const struct option_list *includes,
                         const struct tw_places *headers)
{
    const char *slash = strrchr(path, '/');
    for (int i = 0; i < includes->count; i++)
        add_option(set, "-I", includes->item[i], strlen(includes->item[i]));
    add_option(set, "-I", slash ? path : ".", slash && slash > path ? (size_t)(slash - path) : 1);
    for (size_t i = 0; i < headers->count; i++)
        add_option(set, "-I", headers->items[i].folder, strlen(headers->items[i].folder));
}

int emu_program_compile(struct emu_program *program, const char *arch, unsigned outputs,
                        const struct option_list *includes, const struct option_list *defines,
                        const struct option_list *own)
{
    static const char *const all[] = {"all"};
    static const char *const names[] = {
#define HEADER(name, text) name,
#include "cmd/emu/emu_headers.def"
#undef HEADER
    };
    static const char *const texts[] = {
#define HEADER(name, text) text,
#include "cmd/emu/emu_headers.def"
#undef HEADER
    };
    struct tw_runtime *rt = program->rt;
    struct tw_places headers = {NULL, 0};
    struct tw_error error, no_headers = {""};
    struct option_set set = {.rt = rt};
    int status = TW_OK;
    if (program->is_ptx)
        return 0;
    bool included = has_include((const char *)program->text);
    if (included && tw_find_headers(rt, &headers, &no_headers) == TW_ERROR_MEMORY)
        return no_memory(program);
    add_option(&set, "-lineinfo", "", 0);
    add_option(&set, "--device-int128", "", 0); /* as nvcc has it */
    for (int i = 0; i < defines->count; i++)
        add_option(&set, "-D", defines->item[i], strlen(defines->item[i]));
    for (int i = 0; i < own->count; i++)
        add_option(&set, "", own->item[i], strlen(own->item[i]));
    if (included || includes->count)
        add_includes(&set, program->path, includes, &headers);
    struct tw_compile_request request = {
        .source = (const char *)program->text,
        .source_bytes = program->bytes,
        .name = program->path,
        .entry = "",
        .arch = arch,
        .options = (const char *const *)set.item,
        .option_count = set.count,
        .allow = all,
        .allow_count = 1,
        .outputs = outputs | TW_OUTPUT_PTX,
        .generator = TW_GENERATOR,
        .header_names = names,
        .header_texts = texts,
        .header_count = included ? sizeof names / sizeof *names : 0,
    };
    if (set.failed)
        status = tw_fail(&error, TW_ERROR_MEMORY, "out of memory");
    else if (included || includes->count)
        status = tw_compile(rt, &request, &program->compiled, &error);
    else
        status = tw_compile_cached(rt, &request, &program->compiled, &error);
    free_options(&set);
    tw_places_free(rt, &headers);
    bool said = program->compiled.log && *program->compiled.log;
    if (status != TW_OK && (status != TW_ERROR_COMPILE || !said))
        return tell_status(program->tell, status, &error);
    if (status != TW_OK && tell_host_code(program))
        return 1;
    if (status != TW_OK)
        tell_file(program->tell, program->path, 0, "the compiler refuses it [COMPILE]");
    tell_log(program->tell, program->compiled.log);
    if (status != TW_OK && included && *no_headers.text && strstr(program->compiled.log, "cannot open source file"))
        tell_note(program->tell,
                  "%s; name the folder that has the header by --include DIR, or "
                  "`python3 -m pip install --target build/cuda nvidia-cuda-runtime nvidia-cuda-cccl`",
                  no_headers.text);
    if (status != TW_OK)
        return 1;
    program->ptx = program->compiled.ptx;
    program->ptx_bytes = program->compiled.ptx_bytes;
    return parse(program);
}

/* ---- the kernel ------------------------------------------------------------------------------------------------- */

/* The function's name in a mangled one (Itanium C++ ABI): "space::scale" of _ZN5space5scaleEPf, "scale" of
 * _ZL5scaleIfEvPT_. A name that is not mangled is itself. Template arguments of enclosing classes end it early. */
static void plain_name(const char *name, char *out, size_t room)
{
    size_t used = 0;
    const char *at = name + 2;
    snprintf(out, room, "%s", name);
    if (strncmp(name, "_Z", 2) != 0)
        return;
    bool nested = *at == 'N';
    at += nested;
    while (*at == 'L' || (nested && (*at == 'K' || *at == 'V' || *at == 'r')))
        at++;
    while (*at >= '0' && *at <= '9') {
        char *end;
        unsigned long length = strtoul(at, &end, 10);
        if (!length || length > strlen(end))
            break;
        if (length != 12 || strncmp(end, "_GLOBAL__N_1", 12) != 0) {
            int n = snprintf(out + used, room - used, "%s%.*s", used ? "::" : "", (int)length, end);
            if (n < 0 || (size_t)n >= room - used)
                return;
            used += (size_t)n;
        }
        at = end + length;
        if (!nested)
            break;
    }
}

static const char *last_part(const char *plain)
{
    const char *colons = plain;
    for (const char *at = plain; (at = strstr(at, "::")); colons = at)
        at += 2;
    return colons;
}

/* A line of a list: the name, and the C++ one where it is another. */
static void list_name(const struct emu_program *program, const char *name, const char *plain)
{
    const bool mangled = strcmp(plain, name) != 0;
    char *line =
        tw_format(program->rt, "  %s%s%s%s", name, mangled ? " (" : "", mangled ? plain : "", mangled ? ")" : "");
    if (line)
        tell_lines(program->tell, line);
    tw_free(program->rt, line);
}

static void list_kernels(const struct emu_program *program, const char *only)
{
    const struct ptx_module *m = program->module;
    for (uint32_t i = 0; i < m->function_count; i++) {
        const char *name = ptx_name(m, m->functions[i].name);
        char plain[512];
        plain_name(name, plain, sizeof plain);
        if (!m->functions[i].is_kernel || !m->functions[i].has_body ||
            (only && strcmp(plain, only) != 0 && strcmp(last_part(plain), only) != 0))
            continue;
        list_name(program, name, plain);
    }
}

int emu_program_choose(struct emu_program *program, const char *name)
{
    const struct ptx_module *m = program->module;
    const struct ptx_function *found = NULL;
    int kernels = 0, matches = 0;
    for (uint32_t i = 0; i < m->function_count; i++) {
        const struct ptx_function *f = &m->functions[i];
        char plain[512];
        if (!f->is_kernel || !f->has_body)
            continue;
        kernels++;
        if (name && strcmp(ptx_name(m, f->name), name) == 0) {
            found = f;
            matches = 1;
            break;
        }
        plain_name(ptx_name(m, f->name), plain, sizeof plain);
        if (!name || strcmp(plain, name) == 0 || strcmp(last_part(plain), name) == 0) {
            found = f;
            matches++;
        }
    }
    if (matches == 1) {
        program->kernel = found;
        program->entry = ptx_name(m, found->name);
        return 0;
    }
    if (!kernels)
        tell_fault(program->tell, "%s has no kernel: write %s before one", program->path,
                   program->is_ptx ? ".visible .entry" : "extern \"C\" __global__");
    else if (!name)
        tell_fault(program->tell, "%s has %d kernels; choose by --entry", program->path, kernels);
    else if (matches)
        tell_fault(program->tell, "--entry %s: %d kernels of %s have this name; write the whole one", name, matches,
                   program->path);
    else
        tell_fault(program->tell, "--entry %s: %s has no such kernel; it has", name, program->path);
    if (kernels)
        list_kernels(program, matches && name ? name : NULL);
    return 1;
}

static bool is_setable(const struct ptx_variable *v)
{
    return v->function == PTX_NONE && (v->space == PTX_SPACE_GLOBAL || v->space == PTX_SPACE_CONST);
}

const struct ptx_variable *emu_program_variable(const struct emu_program *program, const char *name, const char *where)
{
    const struct ptx_module *m = program->module;
    const struct ptx_variable *found = NULL;
    int matches = 0;
    for (uint32_t i = 0; i < m->variable_count; i++) {
        const struct ptx_variable *v = &m->variables[i];
        char plain[512];
        if (!is_setable(v))
            continue;
        if (strcmp(ptx_name(m, v->name), name) == 0)
            return v;
        plain_name(ptx_name(m, v->name), plain, sizeof plain);
        if (strcmp(plain, name) == 0 || strcmp(last_part(plain), name) == 0) {
            found = v;
            matches++;
        }
    }
    if (matches == 1)
        return found;
    tell_fault(program->tell, "%s %s: %s has %s of this name%s", where, name, program->path,
               matches ? "several variables" : "no variable", matches ? "; write the whole one" : "; it has");
    for (uint32_t i = 0; i < m->variable_count; i++) {
        const char *own = ptx_name(m, m->variables[i].name);
        char plain[512];
        plain_name(own, plain, sizeof plain);
        if (is_setable(&m->variables[i]) &&
            (!matches || strcmp(plain, name) == 0 || strcmp(last_part(plain), name) == 0))
            list_name(program, own, plain);
    }
    return NULL;
}

void emu_program_free(struct emu_program *program)
{
    ptx_free(program->module);
    tw_compiled_free(program->rt, &program->compiled);
    tw_free(program->rt, program->text);
    program->module = NULL;
    program->text = NULL;
}
