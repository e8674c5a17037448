#include "emit/template/shelf.h"

#include <pthread.h>
#include <string.h>

/* The text as one source of a sandbox, whose number is in what Lua reports. */
struct code {
    int source;
    const char *bytes;
    size_t length;
    struct code *next;
};

struct entry {
    struct template_names names; /* as it was parsed with */
    struct template template;
    struct code *code;
    struct entry *next;
};

struct shelf {
    struct memory memory;
    pthread_mutex_t lock; /* around the arena and the lists; entries do not change */
    struct arena arena;
    struct entry *first;
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
    e->names = (struct template_names){arena_text(arena, names->root), helper};
    e->template = (struct template){.name = arena_text(arena, t->name),
                                    .shown = arena_text(arena, t->shown),
                                    .text = t->text,
                                    .length = t->length,
                                    .embedded = true};
    bool good = e->names.root && e->template.name && e->template.shown;
    for (int i = 0; i < count && good; i++)
        good = (helper[i] = arena_text(arena, names->helper[i])) != NULL;
    struct diag_set diags = {0};
    good = good && template_parse(&e->template, names, NULL, arena, &diags) == 0 && diags.count == 0;
    diag_free(&diags);
    if (!good)
        return NULL;
    e->next = s->first;
    return s->first = e;
}

int shelf_parse(struct shelf *s, struct template *t, const struct template_names *names, struct arena *arena)
{
    pthread_mutex_lock(&s->lock);
    struct entry *e = find(s, t, names);
    if (!e)
        e = add(s, t, names);
    pthread_mutex_unlock(&s->lock);
    if (!e)
        return 0;
    size_t bytes = (size_t)e->template.line_count * sizeof *t->line;
    struct template_line *line = arena_alloc(arena, bytes + 1);
    if (!line)
        return -1;
    if (bytes)
        memcpy(line, e->template.line, bytes);
    struct template mine = e->template;
    mine.name = t->name;
    mine.shown = t->shown;
    mine.source = mine.diag_source = -1;
    mine.line = line;
    mine.next = t->next;
    *t = mine;
    return 1;
}

/* The entry that t was filled from: they share the Lua text. */
static struct entry *entry_of(const struct shelf *s, const struct template *t)
{
    for (struct entry *e = s->first; e; e = e->next)
        if (e->template.lua == t->lua)
            return e;
    return NULL;
}

static const struct code *code_of(const struct entry *e, int source)
{
    for (const struct code *c = e ? e->code : NULL; c; c = c->next)
        if (c->source == source)
            return c;
    return NULL;
}

const char *shelf_code(struct shelf *s, const struct template *t, int source, size_t *length)
{
    pthread_mutex_lock(&s->lock);
    const struct code *c = code_of(entry_of(s, t), source);
    pthread_mutex_unlock(&s->lock);
    *length = c ? c->length : 0;
    return c ? c->bytes : NULL;
}

void shelf_keep(struct shelf *s, const struct template *t, int source, const char *bytes, size_t length)
{
    pthread_mutex_lock(&s->lock);
    struct entry *e = entry_of(s, t);
    struct code *c = e && !code_of(e, source) ? arena_alloc(&s->arena, sizeof *c) : NULL;
    char *copy = c ? arena_copy(&s->arena, bytes, length) : NULL;
    if (copy) {
        *c = (struct code){source, copy, length, e->code};
        e->code = c;
    }
    pthread_mutex_unlock(&s->lock);
}
