#include "cmd/depends.h"

#include <string.h>
#include <unistd.h>

/* A text that grows; NULL after a failure for memory, which `failed` keeps. */
struct words {
    struct tw_runtime *rt;
    char *text;
    size_t length, room;
    bool failed;
};

static void put_bytes(struct words *w, const char *bytes, size_t count)
{
    if (w->failed)
        return;
    if (w->room - w->length <= count) {
        size_t room = 2 * (w->length + count) + 256;
        char *grown = tw_realloc(w->rt, w->text, room);
        if (!grown) {
            tw_free(w->rt, w->text);
            *w = (struct words){.rt = w->rt, .failed = true};
            return;
        }
        w->text = grown;
        w->room = room;
    }
    memcpy(w->text + w->length, bytes, count);
    w->length += count;
    w->text[w->length] = '\0';
}

static void put(struct words *w, const char *text)
{
    put_bytes(w, text, strlen(text));
}

/* A word of a makefile: spaces and what make reads are escaped. */
static void put_make(struct words *w, const char *word)
{
    for (; *word; word++) {
        if (*word == ' ' || *word == '#' || *word == ':' || *word == '\\')
            put(w, "\\");
        else if (*word == '$')
            put(w, "$");
        put_bytes(w, word, 1);
    }
}

/* The text as a value of ninja's, or with `path` as a path among others. */
static void put_ninja(struct words *w, const char *text, bool path)
{
    for (; *text; text++) {
        if (*text == '$' || (path && (*text == ' ' || *text == ':')))
            put(w, "$");
        put_bytes(w, text, 1);
    }
}

/* A word of a shell's command in a value of ninja's. */
static void put_shell(struct words *w, const char *word)
{
    static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./,=+:@%-";
    const bool plain = *word && strspn(word, safe) == strlen(word);
    if (!plain)
        put(w, "'");
    for (; *word; word++) {
        if (*word == '\'')
            put(w, "'\\''");
        else if (*word == '$')
            put(w, "$$");
        else
            put_bytes(w, word, 1);
    }
    if (!plain)
        put(w, "'");
}

/* The text, or NULL; the caller's. */
static int take(struct words *w, const char *path, struct file_set *files, struct tw_error *error)
{
    if (w->failed)
        return tw_fail(error, TW_ERROR_MEMORY, "out of memory");
    return files_add(files, NULL, path, w->text, w->length, true, error);
}

/* The files that the units were made from: those that the spec read, and users' templates. */
static void put_sources(struct words *w, const struct compile *c)
{
    const char *before = "";
    for (int i = 0; i < c->spec.dependency_count; i++, before = " ") {
        put(w, before);
        put_make(w, c->spec.dependency[i]);
    }
    for (int i = 0; i < c->spec.kernel_count; i++) {
        const char *name = c->spec.kernel[i].template_path;
        bool known = !name;
        for (int k = 0; k < c->spec.dependency_count && !known; k++)
            known = strcmp(c->spec.dependency[k], name) == 0;
        for (int k = 0; k < i && !known; k++)
            known = c->spec.kernel[k].template_path && strcmp(c->spec.kernel[k].template_path, name) == 0;
        if (known)
            continue;
        put(w, before);
        put_make(w, name);
        before = " ";
    }
    put(w, "\n");
}

int depends_file(struct compile *c, const char *path, struct file_set *files, struct tw_error *error)
{
    struct words w = {.rt = &c->rt};
    const char *before = "";
    for (size_t i = 0; i < files->count; i++) {
        const char *name = strrchr(files->entry[i].path, '/');
        if (name && strncmp(name + 1, SHARED_LAUNCHER ".", sizeof SHARED_LAUNCHER) == 0)
            continue;
        put(&w, before);
        put_make(&w, files->entry[i].path);
        before = " ";
    }
    put(&w, ": ");
    put_sources(&w, c);
    return take(&w, path, files, error);
}

/* This command with its options, but for --ninja where it is to be left out. */
static void put_command(struct words *w, const char *program, int argc, char **argv, bool rules)
{
    put(w, "    command = ");
    put_shell(w, program);
    put(w, " ");
    put_shell(w, argv[0]);
    if (!rules)
        put(w, " --kernel $kernel --depfile $depfile_word");
    for (int i = 1; i < argc; i++) {
        const bool whole = strcmp(argv[i], "--ninja") == 0;
        if (!rules && (whole || strncmp(argv[i], "--ninja=", 8) == 0)) {
            i += whole;
            continue;
        }
        put(w, " ");
        put_shell(w, argv[i]);
    }
    put(w, "\n");
}

static void put_output(struct words *w, const char *folder, const char *name, const char *suffix)
{
    put(w, " $\n    ");
    put_ninja(w, folder, true);
    put(w, "/");
    put_ninja(w, name, true);
    put(w, suffix);
}

/* The edge of a kernel, whose units begin at `first`, in the order in which compile_outputs has its files. Returns the
 * unit behind them. */
static int put_edge(struct words *w, const struct compile *c, int first, const char *folder, const char *program)
{
    const struct spec_kernel *kernel = c->unit[first].kernel;
    int i = first;
    put(w, "build");
    for (; i < c->unit_count && c->unit[i].kernel == kernel; i++) {
        put_output(w, folder, c->unit[i].plan.entry, ".");
        put(w, c->unit[i].arch->name);
        put(w, ".cu");
        put_output(w, folder, c->unit[i].plan.entry, ".");
        put(w, c->unit[i].arch->name);
        put(w, ".plan.json");
    }
    put_output(w, folder, kernel->name, ".h");
    put_output(w, folder, kernel->name, ".c");
    if (c->python)
        put_output(w, folder, kernel->name, "_python.c");
    if (c->python)
        put_output(w, folder, kernel->name, ".pyi");
    if (c->python & COMPILE_TORCH) {
        put_output(w, folder, kernel->name, "_torch.py");
        put_output(w, folder, kernel->name, "_torch.cpp");
    }
    if (c->share && first == 0) { /* whichever kernel's edge runs, it writes them; ninja knows them as the first's */
        put(w, " | $\n    ");
        put_ninja(w, folder, true);
        put(w, "/" SHARED_LAUNCHER ".c");
        put_output(w, folder, SHARED_LAUNCHER, ".h");
    }
    put(w, ": tilewright ");
    put_ninja(w, c->path, true);
    put(w, " | ");
    put_ninja(w, program, true);
    put(w, "\n    kernel = ");
    put(w, kernel->name);
    put(w, "\n    depfile = ");
    put_ninja(w, folder, false);
    put(w, "/");
    put(w, kernel->name);
    put(w, ".d\n    depfile_word = ");
    put_shell(w, folder);
    put(w, "/");
    put(w, kernel->name);
    put(w, ".d\n");
    return i;
}

int depends_ninja(struct compile *c, const char *path, const char *folder, int argc, char **argv,
                  struct file_set *files, struct tw_error *error)
{
    char program[4096];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    struct words w = {.rt = &c->rt}, d = {.rt = &c->rt};
    if (length <= 0)
        return tw_fail(error, TW_ERROR_FILE, "the program does not know where it lies: /proc/self/exe cannot be read");
    program[length] = '\0';
    for (int i = 0; i < argc; i++)
        if (strchr(argv[i], '\n'))
            return tw_fail(error, TW_ERROR_INVALID, "a name with a line's end cannot stand in a file of ninja");
    put(&w, "# Made by tilewright, an edge a kernel: ninja -f THIS, or subninja THIS, from where it was made.\n"
            "ninja_required_version = 1.10\nbuilddir = ");
    put_ninja(&w, folder, false);
    put(&w, "\n\nrule tilewright\n");
    put_command(&w, program, argc, argv, false);
    put(&w, "    depfile = $depfile\n    restat = 1\n    description = $kernel\n\nrule tilewright_rules\n");
    put_command(&w, program, argc, argv, true);
    put(&w, "    depfile = $out.d\n    restat = 1\n    generator = 1\n    description = $out\n\nbuild ");
    put_ninja(&w, path, true);
    put(&w, ": tilewright_rules ");
    put_ninja(&w, c->path, true);
    put(&w, " | ");
    put_ninja(&w, program, true);
    put(&w, "\n");
    for (int i = 0; i < c->unit_count;) {
        put(&w, "\n");
        i = put_edge(&w, c, i, folder, program);
    }
    put_make(&d, path);
    put(&d, ": ");
    put_sources(&d, c);
    int status = take(&w, path, files, error);
    char *name = status == TW_OK ? tw_format(&c->rt, "%s.d", path) : NULL;
    if (status == TW_OK && !name)
        status = tw_fail(error, TW_ERROR_MEMORY, "out of memory");
    if (status == TW_OK)
        status = take(&d, name, files, error);
    else
        tw_free(&c->rt, d.text);
    tw_free(&c->rt, name);
    return status;
}
