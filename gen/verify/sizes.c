#include "verify/sizes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verify/layout.h"

enum { SYMBOLS = 256, SETS_MOST = 100000 };

/* One "NAME=VALUE/VALUE" at *text, which moves behind it and its comma. Returns the name's length, 0 at the end. */
static size_t next_item(const char **text, const char **name, const char **values, size_t *values_length)
{
    const char *at = *text;
    size_t length = strcspn(at, "=,");
    if (!*at)
        return 0;
    *name = at;
    at += length;
    if (*at == '=')
        at++;
    *values = at;
    *values_length = strcspn(at, ",");
    at += *values_length;
    *text = *at == ',' ? at + 1 : at;
    return length ? length : (size_t)-1; /* an empty name is no end */
}

static int find_dim(const struct compile *c, const char *name, size_t length)
{
    for (int i = 0; i < c->spec.dim_count; i++)
        if (strlen(c->spec.dim[i].name) == length && strncmp(c->spec.dim[i].name, name, length) == 0)
            return i;
    return -1;
}

/* Value number i of "64/128"; false past the last or where it is no number. */
static bool value_at(const char *values, size_t length, int i, int64_t *value)
{
    const char *end = values + length;
    char *stop;
    for (; i > 0; i--) {
        values = memchr(values, '/', (size_t)(end - values));
        if (!values)
            return false;
        values++;
    }
    if (values >= end || *values < '0' || *values > '9')
        return false;
    errno = 0;
    *value = strtoll(values, &stop, 10);
    return errno == 0 && (stop == end || *stop == '/');
}

static int count_values(const char *values, size_t length)
{
    int count = 1;
    for (size_t i = 0; i < length; i++)
        count += values[i] == '/';
    return count;
}

static int unknown_dim(const struct compile *c, const char *name, size_t length)
{
    char word[64];
    const char *names[SYMBOLS];
    int count = 0;
    snprintf(word, sizeof word, "%.*s", (int)(length < 60 ? length : 60), name);
    for (; count < c->spec.dim_count && count < SYMBOLS - 1; count++)
        names[count] = c->spec.dim[count].name;
    names[count] = NULL;
    const char *near = diag_suggest(word, names);
    if (near)
        return options_fault(c->command, "--set: %s has no dim '%s'; did you mean '%s'?", c->path, word, near);
    return options_fault(c->command, "--set: %s has no dim '%s'", c->path, word);
}

int sizes_check(const struct compile *c, const struct option_list *set)
{
    const char *name, *values;
    size_t length, values_length;
    for (int s = 0; s < set->count; s++) {
        const char *text = set->item[s];
        while ((length = next_item(&text, &name, &values, &values_length)) != 0) {
            if (length == (size_t)-1)
                return options_fault(c->command, "--set '%s': write NAME=NUMBER, as M=512,N=64", set->item[s]);
            if (find_dim(c, name, length) < 0)
                return unknown_dim(c, name, length);
            for (int i = 0; i < count_values(values, values_length); i++) {
                int64_t value;
                if (!value_at(values, values_length, i, &value))
                    return options_fault(c->command, "--set '%s': write NAME=NUMBER, as M=512,N=64", set->item[s]);
            }
        }
    }
    return 0;
}

static int append(struct compile *c, struct sizes *out, const int64_t *value)
{
    size_t row = sizeof *value * (size_t)out->width;
    for (int i = 0; i < out->count; i++)
        if (memcmp(out->value + (size_t)i * (size_t)out->width, value, row) == 0)
            return 0;
    if (out->count == SETS_MOST)
        return options_fault(c->command, "more than %d sets of sizes", SETS_MOST);
    if ((out->count & (out->count - 1)) == 0) {
        struct tw_runtime *rt = &c->rt;
        int64_t *grown = tw_realloc(rt, out->value, row * (size_t)(out->count ? 2 * out->count : 1));
        if (!grown)
            return 3;
        out->value = grown;
    }
    memcpy(out->value + (size_t)out->count++ * (size_t)out->width, value, row);
    return 0;
}

/* Puts the items of `text` over value, one after the other, and appends every combination. */
static int combine(struct compile *c, const char *text, const bool *used, int64_t *value, struct sizes *out)
{
    const char *name, *values;
    size_t values_length, length = next_item(&text, &name, &values, &values_length);
    if (length == 0)
        return append(c, out, value);
    int dim = find_dim(c, name, length), status = 0;
    if (!used[dim])
        return combine(c, text, used, value, out);
    int64_t before = value[dim];
    for (int i = 0; i < count_values(values, values_length) && status == 0; i++) {
        value_at(values, values_length, i, &value[dim]);
        status = combine(c, text, used, value, out);
    }
    value[dim] = before;
    return status;
}

/* What a kernel says of sizes in a field. */
struct said {
    const char *field;
    const struct spec_sizes *sizes;
    int count;
};

static int list(struct compile *c, const struct compile_unit *unit, const struct said *said,
                const struct option_list *set, struct sizes *out)
{
    const struct spec_kernel *kernel = unit->kernel;
    int width = unit->plan.symbol_count, status = 0;
    int64_t value[SYMBOLS];
    bool used[SYMBOLS];

    memset(out, 0, sizeof *out);
    out->width = width;
    if (width > SYMBOLS)
        return options_fault(c->command, "more than %d dims", SYMBOLS - 1);
    layout_symbols(&unit->plan, used);
    for (int r = 0; r < (said->count ? said->count : 1) && status == 0; r++) {
        for (int i = 0; i < width - 1; i++)
            value[i] = used[i] && said->count ? said->sizes[r].value[i] : -1;
        value[width - 1] = 0;
        if (set->count == 0)
            status = append(c, out, value);
        for (int s = 0; s < set->count && status == 0; s++)
            status = combine(c, set->item[s], used, value, out);
    }
    for (int i = 0; i < out->count && status == 0; i++)
        for (int s = 0; s < width - 1; s++)
            if (used[s] && out->value[(size_t)i * (size_t)width + (size_t)s] < 0)
                return options_fault(c->command,
                                     "kernel '%s' has no size for %s; write %s = { { %s = ... } } or --set %s=...",
                                     kernel->name, unit->plan.symbol[s], said->field, unit->plan.symbol[s],
                                     unit->plan.symbol[s]);
    return status;
}

int sizes_list(struct compile *c, const struct compile_unit *unit, const struct option_list *set, struct sizes *out)
{
    return list(c, unit, &(struct said){"run", unit->kernel->run, unit->kernel->run_count}, set, out);
}

int sizes_list_bench(struct compile *c, const struct compile_unit *unit, const struct option_list *set,
                     struct sizes *out)
{
    return list(c, unit, &(struct said){"bench", unit->kernel->bench, unit->kernel->bench_count}, set, out);
}

void sizes_free(struct compile *c, struct sizes *sizes)
{
    tw_free(&c->rt, sizes->value);
    memset(sizes, 0, sizeof *sizes);
}

void sizes_print(const struct compile_unit *unit, const int64_t *symbol, char *text, size_t size)
{
    const struct plan *p = &unit->plan;
    bool used[SYMBOLS];
    size_t length = 0;
    text[0] = '\0';
    layout_symbols(p, used);
    for (int i = 0; i + 1 < p->symbol_count; i++) {
        if (!used[i])
            continue;
        int n = snprintf(text + length, size - length, "%s%s=%lld", length ? "," : "", p->symbol[i],
                         (long long)symbol[i]);
        if (n < 0 || (size_t)n >= size - length)
            return;
        length += (size_t)n;
    }
    if (!length)
        snprintf(text, size, "-");
}
