#include "random_spec.h"

#include <stdarg.h>
#include <string.h>

static uint64_t next(struct random_spec *g)
{
    g->state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t x = g->state;
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

int random_below(struct random_spec *g, int n)
{
    return (int)(next(g) % (uint64_t)n);
}

bool random_chance(struct random_spec *g, int percent)
{
    return random_below(g, 100) < percent;
}

void random_feature(struct random_spec *g, const char *word)
{
    for (int i = 0; i < g->words; i++)
        if (strcmp(g->word[i], word) == 0)
            return;
    if (g->words < RANDOM_WORDS)
        g->word[g->words++] = word;
}

void random_write(struct random_spec *g, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsnprintf(g->text + g->length, RANDOM_TEXT - g->length, format, list);
    va_end(list);
    if (n > 0)
        g->length += (size_t)n < RANDOM_TEXT - g->length ? (size_t)n : RANDOM_TEXT - g->length - 1;
}

void random_term(struct random_spec *g, bool tile, const char *format, ...)
{
    va_list list;
    if (g->terms == RANDOM_TERMS)
        return;
    va_start(list, format);
    vsnprintf(g->term[g->terms].text, sizeof g->term[0].text, format, list);
    va_end(list);
    g->term[g->terms++].tile = tile;
}

static const char *pick_term(struct random_spec *g, bool tile)
{
    int from = random_below(g, g->terms);
    for (int i = 0; i < g->terms; i++) {
        const struct random_term *t = &g->term[(from + i) % g->terms];
        if (!tile || t->tile)
            return t->text;
    }
    return g->term[0].text;
}

static void condition(struct random_spec *g)
{
    static const char *const compare[] = {"lt", "le", "gt", "ge", "ne"};
    const char *op = compare[random_below(g, 5)];
    int kind = random_below(g, 4);
    random_feature(g, "mask");
    if (kind == 0 && g->row_index && g->index) {
        random_feature(g, "mask.rows");
        random_write(g, "%s(index().%s, index().%s + %d)", op, g->index, g->row_index, random_below(g, 21) - 4);
    } else if (kind == 1 && g->index) {
        random_feature(g, "mask.modulus");
        random_write(g, "%s(index().%s %% %d, %d)", op, g->index, 2 + random_below(g, 5), random_below(g, 3));
    } else if (kind == 2 && g->index) {
        random_feature(g, "mask.both");
        random_write(g, "lt(index().%s, %s) & ~eq(index().%s, %d)", g->index, g->place, g->index, random_below(g, 30));
    } else if (g->index) {
        random_write(g, "%s(index().%s, %s // 2 + %d)", op, g->index, g->place, random_below(g, 9) - 4);
    } else {
        random_write(g, "%s(row(), %d)", op, random_below(g, 9));
    }
}

/* Functions whose results stay small. */
static const char *const function[] = {"relu", "sigmoid", "tanh", "abs", "silu", "gelu", "gelu_tanh"};

void random_value(struct random_spec *g, int depth)
{
    int kind = depth > 0 ? random_below(g, 10) : 9;
    switch (kind) {
    case 0:
    case 1:
    case 2:
    case 3:
        random_write(g, "(");
        random_value(g, depth - 1);
        random_write(g, " %s %s)", &"+\0-\0*"[2 * random_below(g, 3)], pick_term(g, false));
        break;
    case 4: {
        const char *name = function[random_below(g, 7)];
        random_feature(g, name);
        random_write(g, "%s(", name);
        random_value(g, depth - 1);
        random_write(g, ")");
        break;
    }
    case 5: {
        const char *name = random_chance(g, 50) ? "max" : "min";
        random_feature(g, name);
        random_write(g, "%s(", name);
        random_value(g, depth - 1);
        random_write(g, ", %s)", pick_term(g, false));
        break;
    }
    case 6:
        random_write(g, "where(");
        condition(g);
        random_write(g, ", ");
        random_value(g, depth - 1);
        random_write(g, ", %s)", random_chance(g, 50) ? "0" : pick_term(g, false));
        break;
    case 7:
        random_feature(g, "cast");
        random_write(g, "cast(");
        random_value(g, depth - 1);
        random_write(g, ", \"%s\")", random_chance(g, 70) ? "bf16" : "fp16");
        break;
    case 8:
        random_feature(g, "exp");
        random_write(g, "exp2(min(");
        random_value(g, depth - 1);
        random_write(g, ", 2))");
        break;
    default:
        random_write(g, "%s", pick_term(g, true));
    }
}

void random_use(struct random_spec *g, size_t from, const char *term, const char *scale)
{
    size_t length = strlen(term);
    for (const char *at = g->text + from; (at = strstr(at, term)); at += length)
        if (strchr(" (,)\n", at[length]) && strchr(" (,", at[-1]))
            return;
    random_write(g, " + %s%s", term, scale);
}

void random_spec_write(uint64_t seed, FILE *out)
{
    struct random_spec g;
    memset(&g, 0, sizeof g);
    g.state = seed * UINT64_C(0xd1342543de82ef95) + 1;
    g.place = "C";
    if (seed % 4 == 3) {
        random_feature(&g, "dots");
        random_dots(&g);
    } else {
        random_rows(&g);
    }
    fprintf(out, "-- random program %llu:", (unsigned long long)seed);
    for (int i = 0; i < g.words; i++)
        fprintf(out, " %s", g.word[i]);
    fprintf(out, "\n%s", g.text);
}
