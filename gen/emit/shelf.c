#include "emit/shelf.h"

#include <pthread.h>
#include <string.h>

#include "emit/engine.h"

struct shelf {
    struct memory memory;
    pthread_mutex_t lock;  /* around the list */
    struct engine *engine; /* those that nobody uses */
};

struct shelf *shelf_open(const struct memory *memory)
{
    struct shelf *s = memory_resize(memory, NULL, 0, sizeof *s);
    if (!s)
        return NULL;
    *s = (struct shelf){.memory = *memory};
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
    memory_resize(&memory, s, sizeof *s, 0);
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

struct engine *shelf_take_engine(struct shelf *s, const struct emit_model *model, const struct emit_options *options)
{
    struct engine *e = NULL;
    if (!is_plain(s, options) || model->recorded)
        return NULL;
    pthread_mutex_lock(&s->lock);
    for (struct engine **at = &s->engine; *at && !e; at = &(*at)->next)
        if (strcmp((*at)->root, model->root) == 0 && has_helpers(*at, options)) {
            e = *at;
            *at = e->next;
            break;
        }
    pthread_mutex_unlock(&s->lock);
    return e;
}

bool shelf_give_engine(struct shelf *s, struct engine *e)
{
    if (!is_plain(s, e->options) || e->model->recorded || !e->own)
        return false;
    pthread_mutex_lock(&s->lock);
    e->next = s->engine;
    s->engine = e;
    pthread_mutex_unlock(&s->lock);
    return true;
}
