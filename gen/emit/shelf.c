#include "emit/shelf.h"

#include <pthread.h>
#include <string.h>

#include "emit/engine.h"

struct entry {
    struct template_names names; /* as it was parsed with */
    struct template template;
    const char *code; /* compiled; or NULL */
    size_t code_length;
    struct entry *next;
};

struct shelf {
    struct memory memory;
    pthread_mutex_t lock; /* around the arena and the lists; entries do not change */
    struct arena arena;
    struct entry *first;
    int entries;
    struct engine *engine; /* those that nobody uses */
};

struct shelf *shelf_open(const struct memory *memory)
{
    struct shelf *s = memory_resize(memory, NULL, 0, sizeof *s);
    if (!s)
        return NULL;
    *s = (struct shelf){.memory = *memory, .arena = {.memory = *memory}};
    if (pthread_mutex_init(&s->lock, NULL) != 0)
        return memory_resize(memory, s, sizeof *s, 0);
    return s;
}

void shelf_close(struct shelf *s)
{
    if (!s)
        return;
    struct memory memory = s->memory;
    while (s->engine) {
        struct engine *next = s->engine->next;
        engine_close(s->engine);
        s->engine = next;
    }
    pthread_mutex_destroy(&s->lock);
    arena_free(&s->arena);
    memory_resize(&memory, s, sizeof *s, 0);
}

static bool same_names(const struct template_names *a, const struct template_names *b)
{
    int i = 0;
    while (a->helper[i] && b->helper[i] && strcmp(a->helper[i], b->helper[i]) == 0)
        i++;
    return !a->helper[i] && !b->helper[i] && strcmp(a->root, b->root) == 0;
}

static struct entry *find(const struct shelf *s, const struct template *t, const struct template_names *names)
{
    for (struct entry *e = s->first; e; e = e->next)
        if (e->template.text == t->text && same_names(&e->names, names))
            return e;
    return NULL;
}

/* The entry of a template without faults; NULL: it has some, or there is no memory. */
static struct entry *add(struct shelf *s, const struct template *t, const struct template_names *names)
{
    struct arena *arena = &s->arena;
    struct entry *e = arena_alloc(arena, sizeof *e);
    int count = 0;
    while (names->helper[count])
        count++;
    const char **helper = arena_alloc(arena, ((size_t)count + 1) * sizeof *helper);
    if (!e || !helper)
        return NULL;
    e->names = (struct template_names){arena_text(arena, names->root), helper, true};
    e->template = (struct template){.name = arena_text(arena, t->name),
                                    .shown = arena_text(arena, t->shown),
                                    .text = t->text,
                                    .length = t->length,
                                    .embedded = true};
    bool good = e->names.root && e->template.name && e->template.shown;
    for (int i = 0; i < count && good; i++)
        good = (helper[i] = arena_text(arena, names->helper[i])) != NULL;
    struct diag_set diags = {0};
    good = good && template_parse(&e->template, &e->names, NULL, arena, &diags) == 0 && diags.count == 0;
    diag_free(&diags);
    if (!good)
        return NULL;
    e->template.source = SANDBOX_OWN + s->entries++;
    e->next = s->first;
    return s->first = e;
}

int shelf_parse(struct shelf *s, struct template *t, const struct template_names *names)
{
    pthread_mutex_lock(&s->lock);
    struct entry *e = find(s, t, names);
    if (!e)
        e = add(s, t, names);
    pthread_mutex_unlock(&s->lock);
    if (!e)
        return 0;
    struct template mine = e->template;
    mine.name = t->name;
    mine.shown = t->shown;
    mine.diag_source = -1;
    mine.next = t->next;
    *t = mine;
    return 1;
}

/* The entry that t was filled from. */
static struct entry *entry_of(const struct shelf *s, const struct template *t)
{
    struct entry *e = s->first;
    while (e && e->template.source != t->source)
        e = e->next;
    return e;
}

const char *shelf_code(struct shelf *s, const struct template *t, size_t *length)
{
    pthread_mutex_lock(&s->lock);
    const struct entry *e = entry_of(s, t);
    const char *code = e ? e->code : NULL;
    *length = code ? e->code_length : 0;
    pthread_mutex_unlock(&s->lock);
    return code;
}

void shelf_keep(struct shelf *s, const struct template *t, const char *code, size_t length)
{
    pthread_mutex_lock(&s->lock);
    struct entry *e = entry_of(s, t);
    if (e && !e->code) {
        e->code = arena_copy(&s->arena, code, length);
        e->code_length = length;
    }
    pthread_mutex_unlock(&s->lock);
}

static bool same_memory(const struct memory *a, const struct memory *b)
{
    return a->alloc == b->alloc && a->context == b->context;
}

/* The engine's helpers are those of the table, then the caller's. */
static bool has_helpers(const struct engine *e, const struct emit_options *options)
{
    int own = 0, i = 0;
    while (emit_helpers[own].name)
        own++;
    for (; i < options->helper_count && e->helper_name[own + i]; i++)
        if (strcmp(e->helper_name[own + i], options->helper[i].name) != 0)
            return false;
    return i == options->helper_count && !e->helper_name[own + i];
}

/* What an expansion with such options has seen, one with others of these may see. */
static bool is_plain(const struct shelf *s, const struct emit_options *options)
{
    return options->source_count == 0 && options->instruction_limit == 0 && same_memory(&s->memory, &options->memory);
}

struct engine *shelf_take_engine(struct shelf *s, const char *template_name, const struct emit_model *model,
                                 const struct emit_options *options)
{
    struct engine *e = NULL;
    if (!is_plain(s, options) || model->recorded)
        return NULL;
    pthread_mutex_lock(&s->lock);
    for (struct engine **at = &s->engine; *at && !e; at = &(*at)->next)
        if (strcmp((*at)->first->name, template_name) == 0 && strcmp((*at)->root, model->root) == 0 &&
            has_helpers(*at, options)) {
            e = *at;
            *at = e->next;
            break;
        }
    pthread_mutex_unlock(&s->lock);
    return e;
}

bool shelf_give_engine(struct shelf *s, struct engine *e)
{
    if (!is_plain(s, e->options) || e->model->recorded || !e->first->embedded)
        return false;
    pthread_mutex_lock(&s->lock);
    e->next = s->engine;
    s->engine = e;
    pthread_mutex_unlock(&s->lock);
    return true;
}
