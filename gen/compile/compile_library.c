/* The C pair of a kernel as a shared object of this machine: what `run` launches through. Its code is not in it. */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "common/tool.h"
#include "compile/compile_host.h"
#include "version.h"

/* What is compiled: NAME.h, NAME.c, and what calls them. */
struct pair_text {
    char *header, *source, *caller;
};

static void free_text(char *text)
{
    const struct memory memory = {NULL, NULL};
    if (text)
        memory_resize(&memory, text, strlen(text) + 1, 0);
}

static int emit_texts(struct compile *c, const int *unit, int count, struct pair_text *text, struct tw_error *error)
{
    const struct emit_options options = {.generator_version = TW_GENERATOR, .shelf = c->shelf};
    struct host_image image[COMPILE_LIBRARY_UNITS];
    char code[COMPILE_LIBRARY_UNITS][COMPILE_CODE_BYTES];
    struct host_tuned *tuned;
    int tuned_count;
    /* A set-up without the kernel's own variants is all that there is. */
    const bool alone = c->unit[unit[0]].setup > 0;
    if (compile_tuned(c, unit, alone ? 1 : count, &tuned, &tuned_count))
        return tw_fail(error, TW_ERROR_MEMORY, "no memory");
    for (int i = 0; i < count; i++) {
        memset(code[i], 0, sizeof code[i]);
        snprintf(code[i], sizeof code[i], COMPILE_CODE_FORMAT, i);
        image[i] = (struct host_image){.plan = &c->unit[unit[i]].plan,
                                       .cubin = (const unsigned char *)code[i],
                                       .cubin_bytes = sizeof code[i],
                                       .ptx = code[i],
                                       .ptx_bytes = strlen(code[i]),
                                       .registers = -1,
                                       .setup = alone ? 0 : c->unit[unit[i]].setup};
    }
    const struct host_model model = {.name = c->unit[unit[0]].kernel->name,
                                     .image = image,
                                     .image_count = count,
                                     .newer = true,
                                     .tuned = tuned,
                                     .tuned_count = alone ? 0 : tuned_count};
    struct diag_set diags = {0};
    int status = emit_host(&model, &options, &text->header, &text->source, &diags);
    if (status == 0)
        status = emit_host_caller(&model, &options, &text->caller, &diags);
    tw_free(&c->rt, tuned);
    if (status == 1)
        diag_print(&diags, stderr);
    diag_free(&diags);
    if (status == 3)
        return tw_fail(error, TW_ERROR_MEMORY, "no memory");
    return status ? tw_fail(error, TW_ERROR_INVALID, "kernel '%s' has no launcher; tilewright gen says why", model.name)
                  : TW_OK;
}

/* The three texts as one, with what names them: what the library is made of. */
static char *join(struct compile *c, const struct pair_text *text)
{
    return tw_format(&c->rt, "%s\n%s\n%s", text->header, text->source, text->caller);
}

static int write_texts(struct compile *c, const char *folder, const char *name, const struct pair_text *text,
                       struct tw_error *error)
{
    const char *const bytes[] = {text->header, text->source, text->caller};
    const char *const suffix[] = {".h", ".c", "_caller.c"};
    int status = TW_OK;
    for (int i = 0; i < 3 && status == TW_OK; i++) {
        char *path = tw_format(&c->rt, "%s/%s%s", folder, name, suffix[i]);
        status = path ? tool_write_file(&c->rt, path, bytes[i], strlen(bytes[i]), error)
                      : tw_fail(error, TW_ERROR_MEMORY, "no memory");
        tw_free(&c->rt, path);
    }
    return status;
}

enum { MOST_WORDS = 8 /* of $CC: "ccache gcc" */ };

/* Nothing of it runs often: it is compiled for the time that this takes, a fifth of which goes where functions that are
 * to be inlined are copied. */
static const char *const flags[] = {"-std=c99", "-O0", "-w", "-shared", "-fPIC", "-Dalways_inline=unused"};
enum { FLAGS = sizeof flags / sizeof *flags };

/* The C compiler's first words, for a message. */
static void first_words(struct compile *c, const char *path, char *words, size_t size)
{
    struct tw_error ignored;
    unsigned char *log;
    size_t count;
    words[0] = '\0';
    if (tw_read_file(&c->rt, path, 0, &log, &count, &ignored) != TW_OK)
        return;
    snprintf(words, size, "%.*s", (int)(count < size ? count : size - 1), (const char *)log);
    tw_free(&c->rt, log);
}

static int call_compiler(struct compile *c, const char *compiler, const char *folder, const char *name,
                         struct tw_compiled *out, struct tw_error *error)
{
    char *source = tw_format(&c->rt, "%s/%s_caller.c", folder, name);
    char *library = tw_format(&c->rt, "%s/library.so", folder), *log = tw_format(&c->rt, "%s/log", folder);
    char *words = tw_strdup(&c->rt, compiler), *rest = words;
    const char *argument[MOST_WORDS + FLAGS + 5];
    int exit_status = 0, status = TW_ERROR_MEMORY, n = 0;
    if (!source || !library || !log || !words) {
        tw_fail(error, status, "no memory");
        goto done;
    }
    for (char *word; (word = strtok_r(rest, " ", &rest)) != NULL && n < MOST_WORDS;)
        argument[n++] = word;
    for (int i = 0; i < FLAGS; i++)
        argument[n++] = flags[i];
    argument[n++] = "-o";
    argument[n++] = library;
    argument[n++] = source;
    argument[n++] = "-ldl";
    argument[n] = NULL;
    status = tool_run((char *const *)(uintptr_t)argument, log, true, &exit_status, error);
    if (status == TW_ERROR_NO_TOOL || (status == TW_OK && exit_status == 127))
        status =
            tw_fail(error, TW_ERROR_NO_TOOL,
                    "%s: there is no such C compiler, and the emitted %s.c, through which kernels are launched, wants "
                    "one; install gcc, or name another by CC",
                    compiler, name);
    else if (status == TW_OK && exit_status) {
        char said[400];
        first_words(c, log, said, sizeof said);
        status = tw_fail(error, TW_ERROR_NO_TOOL, "%s does not compile the emitted %s.c: %s", compiler, name, said);
    }
    if (status == TW_OK)
        status = tw_read_file(&c->rt, library, 0, &out->cubin, &out->cubin_bytes, error);
done:
    tw_free(&c->rt, words);
    tw_free(&c->rt, source);
    tw_free(&c->rt, library);
    tw_free(&c->rt, log);
    return status;
}

static int compile_texts(struct compile *c, const char *compiler, const char *name, const struct pair_text *text,
                         struct tw_compiled *out, struct tw_error *error)
{
    char folder[TOOL_FOLDER];
    int status = tool_make_folder(&c->rt, folder, error);
    if (status == TW_OK)
        status = write_texts(c, folder, name, text, error);
    if (status == TW_OK)
        status = call_compiler(c, compiler, folder, name, out, error);
    tool_remove_folder(folder);
    return status;
}

/* Through the cache, of whose troubles nothing is said: then it is compiled. */
static int compile_cached(struct compile *c, const char *name, const struct pair_text *text, struct tw_compiled *out,
                          struct tw_error *error)
{
    struct tw_error ignored;
    struct tw_cache_key key;
    struct utsname machine = {.machine = ""}; /* a cache may be shared by several */
    char *folder = NULL, *all = join(c, text);
    const char *compiler = tw_variable(&c->rt, "CC");
    if (!all)
        return tw_fail(error, TW_ERROR_MEMORY, "no memory");
    compiler = compiler && compiler[strspn(compiler, " ")] ? compiler : "cc";
    uname(&machine);
    char *maker = tw_format(&c->rt, "%s for %s", compiler, machine.machine);
    if (!maker) {
        tw_free(&c->rt, all);
        return tw_fail(error, TW_ERROR_MEMORY, "no memory");
    }
    const struct tw_compile_request request = {.source = all,
                                               .source_bytes = strlen(all),
                                               .name = "launcher",
                                               .entry = name,
                                               .arch = "host",
                                               .options = flags,
                                               .option_count = FLAGS,
                                               .generator = TW_GENERATOR};
    int status = tw_cache_folder(&c->rt, &folder, &ignored);
    bool cached = status == TW_OK && folder && tw_cache_key(&c->rt, &request, maker, &key, &ignored) == TW_OK;
    if (!cached || tw_cache_load(&c->rt, folder, &key, out, &ignored) != TW_OK) {
        status = compile_texts(c, compiler, name, text, out, error);
        if (status == TW_OK && cached && (out->log = tw_strdup(&c->rt, "")))
            tw_cache_store(&c->rt, folder, &key, &request, maker, out, &ignored);
    } else {
        status = TW_OK;
    }
    tw_free(&c->rt, folder);
    tw_free(&c->rt, maker);
    tw_free(&c->rt, all);
    return status;
}

int compile_library(struct compile *c, const int *unit, int count, struct tw_compiled *library, struct tw_error *error)
{
    struct pair_text text = {NULL, NULL, NULL};
    memset(library, 0, sizeof *library);
    int status = emit_texts(c, unit, count, &text, error);
    if (status == TW_OK)
        status = compile_cached(c, c->unit[unit[0]].kernel->name, &text, library, error);
    free_text(text.header);
    free_text(text.source);
    free_text(text.caller);
    if (status != TW_OK)
        tw_compiled_free(&c->rt, library);
    return status;
}
