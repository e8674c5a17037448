#include "random_spec.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

static uint64_t scrambled(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint64_t next(struct random_spec *g)
{
    g->state += UINT64_C(0x9e3779b97f4a7c15);
    return scrambled(g->state);
}

int random_aside(struct random_spec *g, const char *what, int number, int n)
{
    uint64_t x = scrambled(g->seed + 1);
    if (g->left)
        return random_below(g, n);
    for (; *what; what++)
        x = scrambled(x + (unsigned char)*what);
    return (int)((number ? scrambled(x + (uint64_t)number) : x) % (uint64_t)n);
}

bool random_rare(struct random_spec *g, const char *what, int of)
{
    return random_aside(g, what, 0, of) == 0;
}

int random_below(struct random_spec *g, int n)
{
    uint64_t value = 0;
    if (!g->left)
        return (int)(next(g) % (uint64_t)n);
    for (int range = n - 1; range > 0 && g->left; range >>= 8, g->left--)
        value = value << 8 | *g->byte++;
    return (int)(value % (uint64_t)n);
}

void random_begin(struct random_spec *g, uint64_t seed, unsigned salt, const uint8_t *byte, size_t count)
{
    memset(g, 0, sizeof *g);
    for (size_t i = 0; i < count; i++)
        seed = scrambled(seed + byte[i]) >> 16;
    g->seed = seed;
    g->state = seed * UINT64_C(0xd1342543de82ef95) + salt;
    g->byte = byte;
    g->left = count;
    g->place = "C";
    g->at = -1;
}

bool random_chance(struct random_spec *g, int percent)
{
    return random_below(g, 100) < percent;
}

/* ---- features ---------------------------------------------------------------------------------------------------- */

static bool holds(const struct random_words *w, int number)
{
    for (int i = 0; i < w->words; i++)
        if (w->word[i] == number)
            return true;
    return false;
}

static void add(struct random_words *w, int number)
{
    assert(number >= 0);
    if (!holds(w, number) && w->words < RANDOM_WORDS)
        w->word[w->words++] = number;
}

static bool fits(const struct random_words *w, int number)
{
    for (int i = 0; i < w->words; i++)
        if (w->word[i] != number && random_apart(w->word[i], number))
            return false;
    return true;
}

void random_feature(struct random_spec *g, const char *word)
{
    add(g->at < 0 ? &g->program : &g->kernel[g->at], random_feature_number(word));
}

bool random_has(const struct random_spec *g, const char *word)
{
    int number = random_feature_number(word);
    return holds(&g->program, number) || holds(&g->kernel[g->at < 0 ? 0 : g->at], number);
}

bool random_wants(const struct random_spec *g, const char *word)
{
    return g->at <= 0 && holds(&g->wanted, random_feature_number(word));
}

bool random_allowed(const struct random_spec *g, const char *word)
{
    int number = random_feature_number(word);
    const char *families = random_features[number].families;
    return (*families == '*' || strchr(families, g->family)) && fits(&g->program, number) &&
           fits(&g->kernel[g->at < 0 ? 0 : g->at], number) && (g->at > 0 || fits(&g->wanted, number));
}

bool random_option(struct random_spec *g, const char *word, int percent)
{
    const char *needs = random_features[random_feature_number(word)].needs;
    bool drawn = random_chance(g, percent);
    bool on = random_wants(g, word) || (drawn && random_allowed(g, word) && (!*needs || random_has(g, needs)));
    if (on)
        random_feature(g, word);
    return on;
}

int random_choose(struct random_spec *g, const char *const *word, int count)
{
    int allowed[16], most = 0, number;
    for (int i = 0; i < count; i++)
        if (word[i] && random_wants(g, word[i])) {
            random_feature(g, word[i]);
            return i;
        }
    for (int i = 0; i < count && most < 16; i++)
        if (!word[i] || random_allowed(g, word[i]))
            allowed[most++] = i;
    if (!most)
        return -1;
    number = allowed[random_below(g, most)];
    if (word[number])
        random_feature(g, word[number]);
    return number;
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

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

enum condition { ROWS, MODULUS, BOTH, HALF, ROW, CONDITIONS };

static void condition(struct random_spec *g)
{
    static const char *const compare[] = {"lt", "le", "gt", "ge", "ne"};
    static const char *const word[CONDITIONS] = {
        [ROWS] = "mask.rows", [MODULUS] = "mask.modulus", [BOTH] = "mask.both"};
    const char *op = compare[random_below(g, 5)];
    int kind = random_below(g, CONDITIONS), rest;
    for (int i = 0; i < CONDITIONS; i++) /* what is wanted and not there yet first */
        if (word[i] && g->index && random_wants(g, word[i]) && !random_has(g, word[i]))
            kind = i;
    kind = g->index ? kind : ROW;
    random_feature(g, "mask");
    if (word[kind])
        random_feature(g, word[kind]);
    switch ((enum condition)kind) {
    case ROWS:
        /* Turns that it leaves out are those of no item, or of few: what is hidden has no batches. */
        op = (g->diagonal || g->family == 'N') && *op == 'g' ? "le" : op;
        g->under = g->under || *op == 'l';
        random_write(g, "%s(index().%s, index().%s + %d)", op, g->index, g->row_index, random_below(g, 21) - LEAN);
        break;
    case MODULUS:
        rest = random_below(g, 3);
        random_write(g, "%s(index().%s %% %d, %d)", op, g->index, 2 + random_below(g, 5), rest);
        break;
    case BOTH:
        random_write(g, "lt(index().%s, %s) & ~eq(index().%s, %d)", g->index, g->place, g->index, random_below(g, 30));
        break;
    case HALF:
        g->half = g->half || *op == 'l' || *op == 'g';
        random_write(g, "%s(index().%s, %s // 2 + %d)", op, g->index, g->place, random_below(g, 9) - 4);
        break;
    default:
        g->by_tile = true;
        random_write(g, "%s(row(), %d)", op, random_below(g, 9));
    }
}

/* Functions whose results stay small. */
static const char *const function[] = {"relu", "sigmoid", "tanh", "abs", "silu", "gelu", "gelu_tanh"};

enum value { SUM, FUNCTION, MINMAX, WHERE, CAST, EXP, TERM };

static enum value kind_of(struct random_spec *g, int depth)
{
    static const char *const word[] = {[FUNCTION] = "function", [MINMAX] = "minmax", [CAST] = "cast", [EXP] = "exp"};
    static const enum value drawn[] = {SUM, SUM, SUM, SUM, FUNCTION, MINMAX, WHERE, CAST, EXP, TERM};
    static const char *const masks[] = {"mask", "mask.rows", "mask.modulus", "mask.both"};
    int kind = random_below(g, 10);
    for (int i = FUNCTION; i <= EXP; i++)
        if (word[i] && random_wants(g, word[i]) && !random_has(g, word[i]))
            return (enum value)i;
    for (int i = 0; i < (g->index ? 4 : 1); i++)
        if (random_wants(g, masks[i]) && !random_has(g, masks[i]))
            return WHERE;
    return depth > 0 ? drawn[kind] : TERM;
}

void random_value(struct random_spec *g, int depth)
{
    const char *term;
    switch (kind_of(g, depth)) {
    case SUM:
        random_write(g, "(");
        random_value(g, depth - 1);
        term = pick_term(g, false);
        random_write(g, " %s %s)", &"+\0-\0*"[2 * random_below(g, 3)], term);
        break;
    case FUNCTION:
        random_feature(g, "function");
        random_write(g, "%s(", function[random_below(g, 7)]);
        random_value(g, depth - 1);
        random_write(g, ")");
        break;
    case MINMAX:
        random_feature(g, "minmax");
        random_write(g, "%s(", random_chance(g, 50) ? "max" : "min");
        random_value(g, depth - 1);
        random_write(g, ", %s)", pick_term(g, false));
        break;
    case WHERE:
        random_write(g, "where(");
        condition(g);
        random_write(g, ", ");
        random_value(g, depth - 1);
        random_write(g, ", %s)", random_chance(g, 50) ? "0" : pick_term(g, false));
        break;
    case CAST:
        random_feature(g, "cast");
        random_write(g, "cast(");
        random_value(g, depth - 1);
        random_write(g, ", \"%s\")", random_chance(g, 70) ? "bf16" : "fp16");
        break;
    case EXP:
        random_feature(g, "exp");
        random_write(g, "exp2(min(");
        random_value(g, depth - 1);
        random_write(g, ", 2))");
        break;
    case TERM:
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

/* Adds the feature and what it needs where they fit to all that is wanted so far. False: nothing was added. */
static bool want(struct random_spec *g, int one, int other, char families[8])
{
    struct random_words all = g->wanted;
    int number[2] = {one, other};
    for (int i = 0; i < 2; i++)
        for (int at = number[i]; at >= 0;
             at = *random_features[at].needs ? random_feature_number(random_features[at].needs) : -1) {
            if (!fits(&all, at))
                return false;
            add(&all, at);
        }
    int length = 0;
    char left[8];
    for (const char *c = "RTCPGHN"; *c; c++) {
        bool in = true;
        for (int i = 0; i < all.words; i++)
            in = in &&
                 (*random_features[all.word[i]].families == '*' || strchr(random_features[all.word[i]].families, *c));
        if (in)
            left[length++] = *c;
    }
    left[length] = '\0';
    if (!length)
        return false;
    memcpy(families, left, sizeof left);
    g->wanted = all;
    return true;
}

static void write_words(const struct random_words *w, const char *last, FILE *out)
{
    for (int i = 0; i < w->words; i++)
        fprintf(out, " %s", random_features[w->word[i]].name);
    fprintf(out, "%s\n", last);
}

static void write_spec(struct random_spec *g, FILE *out)
{
    static const char *const name[RANDOM_KERNELS] = {"p", "p_how1", "p_how2"};
    char families[8] = "";
    int one, other;
    for (uint64_t i = 0; i < 3; i++) { /* a pair, and further ones that go with it */
        int pair = g->left ? random_below(g, random_pairs()) : (int)((g->seed + i * 877) % (uint64_t)random_pairs());
        random_pair(pair, &one, &other);
        want(g, one, other, families);
    }
    g->family = families[random_below(g, (int)strlen(families))];
    if (strchr("PGHN", g->family))
        random_dots(g);
    else
        random_rows(g);
    fprintf(out, "-- random program %llu:", (unsigned long long)g->seed);
    write_words(&g->program, g->by_tile ? " by_tile" : "", out);
    for (int i = 0; i < RANDOM_KERNELS; i++)
        if (g->kernel[i].words) {
            fprintf(out, "-- %s:", name[i]);
            write_words(&g->kernel[i], "", out);
        }
    fprintf(out, "%s", g->text);
}

void random_spec_write(uint64_t seed, FILE *out)
{
    struct random_spec g;
    random_begin(&g, seed, 1, NULL, 0);
    write_spec(&g, out);
}

void random_spec_write_bytes(const uint8_t *byte, size_t count, FILE *out)
{
    struct random_spec g;
    random_begin(&g, 0, 1, byte, count);
    write_spec(&g, out);
}
