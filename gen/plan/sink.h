/* Where printed structures go: one walk over a Plan serves JSON for people and programs and Lua tables for
 * templates. */
#ifndef TW_GEN_PLAN_SINK_H
#define TW_GEN_PLAN_SINK_H

#include <stdbool.h>
#include <stdint.h>

/* Calls come nested and in order. key is NULL inside an array. */
struct sink {
    void *context;
    void (*object)(void *context, const char *key); /* begins an object */
    void (*array)(void *context, const char *key);  /* begins an array */
    void (*end)(void *context);                     /* ends the innermost of the two */
    void (*integer)(void *context, const char *key, int64_t value);
    void (*text)(void *context, const char *key, const char *value); /* NULL prints null */
    void (*boolean)(void *context, const char *key, bool value);
};

/* The same calls, shorter. */
static inline void sink_object(const struct sink *s, const char *key)
{
    s->object(s->context, key);
}

static inline void sink_array(const struct sink *s, const char *key)
{
    s->array(s->context, key);
}

static inline void sink_end(const struct sink *s)
{
    s->end(s->context);
}

static inline void sink_integer(const struct sink *s, const char *key, int64_t value)
{
    s->integer(s->context, key, value);
}

static inline void sink_text(const struct sink *s, const char *key, const char *value)
{
    s->text(s->context, key, value);
}

static inline void sink_boolean(const struct sink *s, const char *key, bool value)
{
    s->boolean(s->context, key, value);
}

#endif
