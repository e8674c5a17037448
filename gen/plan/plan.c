/* The Plan's memory: everything it points to lives in one arena and goes with it. */
#include "plan/plan.h"

#include <stdarg.h>
#include <stdlib.h>

#include "spec/arena.h"

static struct arena *arena_of(struct plan *p)
{
    if (!p->arena)
        p->arena = calloc(1, sizeof(struct arena));
    return p->arena;
}

void *plan_alloc(struct plan *p, size_t bytes)
{
    struct arena *arena = arena_of(p);
    return arena ? arena_alloc(arena, bytes) : NULL;
}

const char *plan_text(struct plan *p, const char *format, ...)
{
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    int length = vsnprintf(NULL, 0, format, list);
    char *text = length < 0 ? NULL : plan_alloc(p, (size_t)length + 1);
    if (text)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(list);
    return text;
}

void plan_free(struct plan *p)
{
    expr_free(&p->graph);
    expr_free(&p->fused);
    if (p->arena) {
        arena_free(p->arena);
        free(p->arena);
    }
    *p = (struct plan){0};
}
