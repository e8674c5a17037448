/* Templates on their way into an expansion: found, read, taken apart, compiled. Where expansions share a shelf, those
 * of the program were so when it was built. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "emit/embed.h"
#include "emit/engine.h"
#include "emit/template/prepared.h"

enum { MAX_TEMPLATE_BYTES = 1 << 20 };

/* Reads a user's template. NULL: reported, or out of memory. */
static const char *read_file(struct engine *e, const char *path, size_t *length)
{
    const struct record_place nowhere = {0};
    struct stat status;
    char *text = NULL;
    /* Opening a pipe would wait for who writes into it. */
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
        engine_report(e, nowhere, -1, "TEMPLATE-FILE", "template '%s' is no file", path);
        return NULL;
    }
    FILE *file = fopen(path, "rb");
    if (!file) {
        engine_report(e, nowhere, -1, "TEMPLATE-FILE", "template '%s' cannot be read: %s", path, strerror(errno));
        return NULL;
    }
    if (fstat(fileno(file), &status) != 0 || !S_ISREG(status.st_mode)) {
        engine_report(e, nowhere, -1, "TEMPLATE-FILE", "template '%s' is no file", path);
    } else if (status.st_size > MAX_TEMPLATE_BYTES) {
        engine_report(e, nowhere, -1, "TEMPLATE-FILE", "template '%s' has more than %d bytes", path,
                      MAX_TEMPLATE_BYTES);
    } else if (!(text = arena_alloc(&e->kept, (size_t)status.st_size + 1))) {
        e->no_memory = true;
    } else {
        *length = fread(text, 1, (size_t)status.st_size, file);
        if (ferror(file) || memchr(text, 0, *length)) {
            engine_report(e, nowhere, -1, "TEMPLATE-FILE", "template '%s' %s", path,
                          ferror(file) ? "cannot be read" : "holds a zero byte; it is no text");
            text = NULL;
        }
    }
    fclose(file);
    return text;
}

static bool leaves_folder(const char *name)
{
    for (const char *part = name; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL)
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == 0))
            return true;
    return name[0] == '/';
}

/* Finds the text: the caller's sources, embedded templates, and for the first template the user's folder. */
static bool find_text(struct engine *e, struct template *t, struct record_place from, int column)
{
    const struct emit_options *o = e->options;
    t->shown = t->name;
    for (int i = 0; i < o->source_count; i++) {
        if (strcmp(o->source[i].name, t->name) == 0) {
            t->length = o->source[i].length;
            t->text = arena_copy(&e->kept, o->source[i].text, t->length);
            e->no_memory = e->no_memory || !t->text;
            return t->text;
        }
    }
    if (emit_find_template(t->name, &t->text, &t->length)) {
        t->shown = arena_format(&e->kept, "templates/%s", t->name);
        t->embedded = true;
        e->no_memory = e->no_memory || !t->shown;
        return t->shown;
    }
    if (from.template || !o->user_folder) {
        engine_report(e, from, column, "TEMPLATE-FILE", "there is no template '%s'", t->name);
        return false;
    }
    if (leaves_folder(t->name)) {
        engine_report(e, from, column, "TEMPLATE-FILE", "template '%s' is outside of the spec's folder", t->name);
        return false;
    }
    t->shown = o->user_folder[0] ? arena_format(&e->kept, "%s/%s", o->user_folder, t->name) : t->name;
    if (!t->shown) {
        e->no_memory = true;
        return false;
    }
    t->text = read_file(e, t->shown, &t->length);
    return t->text;
}

struct template *engine_load(struct engine *e, const char *name, struct record_place from, int column)
{
    for (struct template *t = e->first; t; t = t->next)
        if (t->outermost == !from.template && strcmp(t->name, name) == 0)
            return t;
    struct template *t = arena_alloc(&e->kept, sizeof *t);
    if (!t) {
        e->no_memory = true;
        return NULL;
    }
    t->name = name;
    t->outermost = !from.template;
    t->source = t->diag_source = -1;
    if (!find_text(e, t, from, column))
        return NULL;
    *e->end = t;
    e->end = &t->next;
    const int row = t->embedded && e->options->shelf ? emit_find_row(t->name) : -1;
    if (row >= 0 && emit_prepared[row]) {
        t->source = SANDBOX_OWN + row;
        e->no_memory = !prepared_read(t, (const unsigned char *)emit_prepared + emit_prepared[row], &e->kept);
    } else {
        const struct template_names names = {from.template ? "" : e->model->root, e->helper_name, false};
        int faults = template_parse(t, &names, e->model->kernel, &e->kept, e->diags);
        e->no_memory = e->no_memory || faults < 0;
        e->reported = e->reported || faults > 0;
    }
    t->included = arena_alloc(&e->kept, (size_t)t->line_count * sizeof *t->included);
    e->no_memory = e->no_memory || !t->included;
    /* What the program's own templates include is loaded where an expansion comes to it. */
    for (int i = 0; i < t->line_count && !e->no_memory && t->source < SANDBOX_OWN; i++)
        if (t->line[i].kind == LINE_INCLUDE && t->line[i].word)
            t->included[i] = engine_load(e, t->line[i].word, (struct record_place){t, i}, t->line[i].word_column);
    return t;
}

int engine_compile(struct engine *e, struct template *t, struct sandbox_error *error)
{
    if (t->source >= SANDBOX_OWN)
        return sandbox_load_own(e->sandbox, t->source, t->lua, t->lua_length, error);
    int status = sandbox_load(e->sandbox, t->shown, t->lua, t->lua_length, t->text, error);
    t->source = sandbox_source_count(e->sandbox) - 1;
    return status;
}
