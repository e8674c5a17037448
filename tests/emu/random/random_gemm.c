/* Random specs of the family gemm, as users write them: types, orders of dims, tiles, clusters, strides, sizes that are
 * symbols or constants, odd names, several outputs, epilogues of every function. Whatever stands in them, `check`
 * refuses it or both architectures compute what it means. */
#include <string.h>

#include "random_spec.h"

enum { OPERANDS = 4, OUTPUTS = 2 };

struct operand {
    char name[16];
    const char *dtype;
    int form; /* of forms */
};

struct gemm {
    struct random_spec *g;
    char dim[3][24];    /* the word of an extent: a symbol's name or a number */
    char symbol[3][16]; /* of dims: "" for a constant */
    int constant[3];    /* what it is */
    char used[24][16];  /* names */
    int names;
    struct operand operand[OPERANDS];
    int operands;
    char output[OUTPUTS][16];
    int outputs;
    char scalar[16]; /* "": none */
    bool upright;    /* the next matrices lie as their axes are named */
    int depth;
};

static bool chance(const struct gemm *s, int percent)
{
    return random_chance(s->g, percent);
}

static int below(const struct gemm *s, int n)
{
    return random_below(s->g, n);
}

#define PICK(s, list) (list)[below(s, (int)(sizeof(list) / sizeof *(list)))]

/* A name that the spec has not: of those that people give, and those that an emitted text might have itself. */
static void name(struct gemm *s, char out[16], bool dim)
{
    static const char *const plain[] = {"bias", "R", "scale", "x", "y", "residual", "gate", "w", "Aux", "Zero", "aa"};
    static const char *const odd[] = {"e_",     "e0",    "v",      "i",      "at",    "row",   "column", "lane",
                                      "sum",    "held",  "ab",     "ab_A",   "half",  "pair",  "mma",    "dot",
                                      "copies", "items", "value",  "inside", "s",     "p1",    "c0",     "t8_0",
                                      "next",   "both",  "needed", "first",  "stage", "turn",  "f",      "r",
                                      "a",      "b",     "d",      "n",      "warp",  "block", "number", "tma"};
    static const char *const dims[] = {"M", "N",  "K",     "rows",  "m",  "n", "k",
                                       "S", "T_", "Width", "batch", "E0", "P", "items_"};
    bool taken;
    do {
        const char *chosen = dim ? PICK(s, dims) : chance(s, 60) ? PICK(s, plain) : PICK(s, odd);
        snprintf(out, 16, "%s", chosen);
        taken = false;
        for (int i = 0; i < s->names; i++)
            taken = taken || strcmp(s->used[i], out) == 0;
    } while (taken);
    snprintf(s->used[s->names++], 16, "%s", out);
}

/* ---- arithmetic ----------------------------------------------------------------------------------------------------
 */

/* Two values of a kind, between texts. */
static void two(struct gemm *s, int depth, void (*value)(struct gemm *s, int depth), const char *before,
                const char *between, const char *after)
{
    random_write(s->g, "%s", before);
    value(s, depth - 1);
    random_write(s->g, "%s", between);
    value(s, depth - 1);
    random_write(s->g, "%s", after);
}

/* An index or what is made of indices. */
static void whole(struct gemm *s, int depth)
{
    struct random_spec *g = s->g;
    static const char *const op[] = {"+", "-", "*"};
    int by;
    switch (depth > 0 ? below(s, 8) : below(s, 3)) {
    case 0:
        random_write(g, "i.m");
        break;
    case 1:
        random_write(g, "i.n");
        break;
    case 2:
        random_write(g, "%d", below(s, 40) - 8);
        break;
    case 3:
        random_write(g, "(");
        whole(s, depth - 1);
        by = 1 + below(s, 20);
        random_write(g, " %s %d)", chance(s, 50) ? "//" : "%", by);
        break;
    case 4:
        random_write(g, "(");
        whole(s, depth - 1);
        random_write(g, chance(s, 50) ? " // max(" : " %% max(");
        whole(s, depth - 1);
        random_write(g, ", 1))");
        break;
    case 5:
        two(s, depth, whole, chance(s, 50) ? "min(" : "max(", ", ", ")");
        break;
    case 6:
        random_write(g, chance(s, 50) ? "abs(" : "-(");
        whole(s, depth - 1);
        random_write(g, ")");
        break;
    default:
        random_write(g, "(");
        whole(s, depth - 1);
        random_write(g, " %s ", PICK(s, op));
        whole(s, depth - 1);
        random_write(g, ")");
    }
}

static void real(struct gemm *s, int depth);

static void condition(struct gemm *s, int depth)
{
    static const char *const compare[] = {"lt", "le", "gt", "ge", "eq", "ne"};
    struct random_spec *g = s->g;
    int kind = depth > 0 ? below(s, 5) : below(s, 2);
    if (kind == 4) {
        random_write(g, "(~");
        condition(s, depth - 1);
        random_write(g, " %c ", chance(s, 50) ? '&' : '|');
        condition(s, depth - 1);
        random_write(g, ")");
        return;
    }
    random_write(g, "%s(", PICK(s, compare));
    for (int i = 0; i < 2; i++) {
        if (kind % 2)
            real(s, depth - 1);
        else
            whole(s, depth - 1);
        random_write(g, i ? ")" : ", ");
    }
}

/* t.NAME, with indices where it has no axes. */
static void element(struct gemm *s, int number)
{
    struct operand *o = &s->operand[number];
    if (o->form == 4)
        random_write(s->g, "t.%s[%s %% 7]", o->name, chance(s, 50) ? "i.m" : "i.n");
    else
        random_write(s->g, "t.%s", o->name);
}

/* Functions of one value; those of large or negative values are given small ones, for infinity shows nothing. */
static void call(struct gemm *s, int depth)
{
    static const char *const words[] = {
#define FUNCTION(id, name, call, cuda, doc, reference, bound) name,
#include "spec/expr_functions.def"
#undef FUNCTION
        "abs", "exp2", "log2", "cast", "clamp"};
    const char *word = PICK(s, words);
    static const char *const types[] = {"bf16", "fp16", "fp32", "tf32", "fp8_e4m3", "fp8_e5m2"};
    bool grows = strncmp(word, "exp", 3) == 0, positive = strncmp(word, "log", 3) == 0 || strstr(word, "sqrt");
    positive = positive && chance(s, 80);
    random_write(s->g, "%s(%s", word, grows ? "min(" : positive ? "abs(" : "");
    real(s, depth - 1);
    random_write(s->g, "%s", grows ? ", 3)" : positive ? ")" : "");
    if (strcmp(word, "cast") == 0)
        random_write(s->g, ", \"%s\"", types[chance(s, 85) ? below(s, 4) : below(s, 6)]);
    if (strcmp(word, "clamp") == 0)
        random_write(s->g, ", -1.5, %d", 1 + below(s, 4));
    random_write(s->g, ")");
}

static void real(struct gemm *s, int depth)
{
    struct random_spec *g = s->g;
    static const char *const op[] = {"+", "+", "-", "*"};
    int tenths;
    switch (depth > 0 ? below(s, 12) : below(s, 5)) {
    case 0:
    case 1:
        random_write(g, "acc");
        break;
    case 2:
        if (s->operands)
            element(s, below(s, s->operands));
        else
            random_write(g, "acc");
        break;
    case 3:
        tenths = below(s, 10);
        random_write(g, "%d.%d", below(s, 4), tenths);
        break;
    case 4:
        if (*s->scalar)
            random_write(g, "t.%s", s->scalar);
        else
            random_write(g, "0.25");
        break;
    case 5:
    case 6:
        call(s, depth);
        break;
    case 7:
        random_write(g, "%s(", chance(s, 50) ? "select" : "where");
        condition(s, depth - 1);
        two(s, depth, real, ", ", ", ", ")");
        break;
    case 8:
        two(s, depth, real, chance(s, 50) ? "min(" : "max(", ", ", ")");
        break;
    case 9:
        two(s, depth, real, "(", " / (1.5 + abs(", ")))");
        break;
    case 10:
        random_write(g, "(");
        real(s, depth - 1);
        random_write(g, " + 0.125 * (");
        whole(s, depth - 1);
        random_write(g, " %% 16))");
        break;
    default:
        random_write(g, "(");
        real(s, depth - 1);
        random_write(g, " %s ", PICK(s, op));
        real(s, depth - 1);
        random_write(g, ")");
    }
}

/* One value that names every operand. */
static void result(struct gemm *s, bool all)
{
    random_write(s->g, "acc * %d.5 + ", below(s, 2));
    real(s, s->depth);
    for (int i = 0; all && i < s->operands; i++) {
        random_write(s->g, " + 0.5 * ");
        element(s, i);
    }
    if (all && *s->scalar)
        random_write(s->g, " - t.%s", s->scalar);
}

/* ---- tensors -------------------------------------------------------------------------------------------------------
 */

enum { AXIS_M, AXIS_N, AXIS_K };

/* NAME = tensor { ... } of two axes, in either order. */
static void matrix(struct gemm *s, const char *word, int one, int other, const char *dtype, const char *more,
                   int strides)
{
    static const char axis[] = "mnk";
    bool turned = chance(s, 30) && !s->upright;
    int first = turned ? other : one, second = turned ? one : other;
    random_write(s->g, "  %s = tensor { %s, %s, axes = \"%c %c\", dtype = \"%s\"%s", word, s->dim[first],
                 s->dim[second], axis[first], axis[second], dtype, more);
    if (chance(s, strides))
        random_write(s->g, ", stride = { %s + %d, 1 }", s->dim[second], 8 * below(s, 3));
    random_write(s->g, " },\n");
}

static void add_operands(struct gemm *s)
{
    static const char *const types[] = {"bf16", "fp16", "fp32", "fp32", "int8", "int32", "uint8", "int16"};
    int count = below(s, OPERANDS);
    for (int i = 0; i < count; i++) {
        struct operand *o = &s->operand[s->operands++];
        name(s, o->name, false);
        o->dtype = PICK(s, types);
        o->form = below(s, 5);
        switch (o->form) {
        case 0:
        case 1:
            matrix(s, o->name, AXIS_M, AXIS_N, o->dtype, "", 20);
            break;
        case 2:
        case 3:
            random_write(s->g, "  %s = tensor { %s, axes = \"%c\", dtype = \"%s\" },\n", o->name, s->dim[o->form - 2],
                         "mn"[o->form - 2], o -> dtype);
            break;
        default:
            random_write(s->g, "  %s = tensor { 7, dtype = \"%s\" },\n", o->name, o->dtype);
        }
    }
}

/* Types that lie with k innermost alone, drawn aside. */
static void other_types(struct gemm *s, const char **a, const char **b, const char **out)
{
    static const char *const bytes[] = {"fp8_e4m3", "fp8_e5m2", "int8", "uint8"};
    int kind = random_aside(s->g, "types", 0, 12);
    if (kind > 2)
        return;
    *a = kind == 2 ? "tf32" : bytes[2 * kind + random_aside(s->g, "types", 1, 2)];
    *b = kind == 2 ? "tf32" : bytes[2 * kind + random_aside(s->g, "types", 2, 2)];
    if (kind == 1 && random_aside(s->g, "types", 3, 2))
        *out = "int32";
    s->upright = random_aside(s->g, "types", 4, 8) > 0;
}

static void add_tensors(struct gemm *s)
{
    static const char *const wide[] = {"bf16", "bf16", "fp16", "fp32"}, *const swizzles[] = {"NONE", "32B", "64B",
                                                                                             "128B"};
    const char *in = chance(s, 70) ? "bf16" : "fp16", *left = in, *right = in, *out = NULL;
    char more[40] = "";
    if (chance(s, 15))
        snprintf(more, sizeof more, ", swizzle = \"%s\"", PICK(s, swizzles));
    other_types(s, &left, &right, &out);
    matrix(s, "A", AXIS_M, AXIS_K, left, more, 15);
    matrix(s, "B", AXIS_N, AXIS_K, right, "", 15);
    s->upright = false;
    const char *written = PICK(s, wide);
    more[0] = '\0';
    if (random_aside(s->g, "D's swizzle", 0, 6) == 0)
        snprintf(more, sizeof more, ", swizzle = \"%s\"", swizzles[random_aside(s->g, "D's swizzle", 1, 4)]);
    matrix(s, "D", AXIS_M, AXIS_N, out ? out : written, more, 15);
    if (chance(s, 25)) {
        matrix(s, "C", AXIS_M, AXIS_N, PICK(s, wide), "", 15);
        if (chance(s, 60))
            random_write(s->g, "  beta = scalar(\"fp32\", %s),\n", chance(s, 30) ? "0" : "-0.5");
    }
    if (chance(s, 25))
        random_write(s->g, "  alpha = scalar(\"fp32\", 1.25),\n");
    for (int i = below(s, 10) < 3 ? 1 + below(s, OUTPUTS) : 0; i > 0; i--) {
        name(s, s->output[s->outputs], false);
        matrix(s, s->output[s->outputs++], AXIS_M, AXIS_N, PICK(s, wide), ", out = true", 10);
    }
}

static void add_epilogue(struct gemm *s)
{
    bool table = s->outputs > 0;
    if (!table && chance(s, 25))
        return;
    add_operands(s);
    if (chance(s, 30)) {
        name(s, s->scalar, false);
        random_write(s->g, "  %s = scalar(\"%s\", 0.75),\n", s->scalar, "fp32");
    }
    s->depth = 1 + below(s, 4);
    random_write(s->g, "  epilogue = function(acc, t, i)\n    return %s", table ? "{ D = " : "");
    result(s, true);
    for (int i = 0; i < s->outputs; i++) {
        random_write(s->g, ", %s = ", s->output[i]);
        result(s, false);
    }
    random_write(s->g, "%s\n  end,\n", table ? " }" : "");
}

/* ---- how it runs ---------------------------------------------------------------------------------------------------
 */

static void add_how(struct gemm *s)
{
    static const int ms[] = {64, 64, 64, 128, 128, 128, 192, 256, 48}, ks[] = {16, 32, 64, 64, 48, 128};
    static const char *const orders[] = {"grouped", "row", "column"};
    struct random_spec *g = s->g;
    bool tile_m = chance(s, 50), tile_n = chance(s, 50), tile_k = chance(s, 40);
    if (tile_m || tile_n || tile_k) {
        random_write(g, "  tile = { ");
        if (tile_m)
            random_write(g, "m = %d, ", PICK(s, ms));
        if (tile_n)
            random_write(g, "n = %d, ", chance(s, 60) ? 16 * (1 + below(s, 16)) : 8 * (1 + below(s, 32)));
        if (tile_k)
            random_write(g, "k = %d ", PICK(s, ks));
        random_write(g, "},\n");
    }
    if (chance(s, 30))
        random_write(g, "  pipeline = { stages = %d },\n", 2 + below(s, 5));
    static const char *const stores[] = {"whole", "chunks", "late"};
    const int store = random_aside(g, "store", 0, 6);
    const bool late = store == 2; /* under the next item's products */
    const int split = late ? -1 : random_aside(g, "split", 0, 6);
    const bool stream = split == 2;
    const bool halves = !stream && random_aside(g, "tail", 0, 5) == 0;
    const bool stays = !stream && split > 1 && random_aside(g, "reuse", 0, 3) == 0;
    if (chance(s, 30)) {
        const char *persistent = chance(s, 70) || stream || late || halves || stays ? "true" : "false";
        random_write(g, "  schedule = { order = \"%s\", persistent = %s, ", PICK(s, orders), persistent);
    } else {
        random_write(g, "  schedule = { ");
    }
    random_write(g, "%s%s },\n",
                 stream   ? "stream = true"
                 : halves ? "tail = \"halves\", "
                          : "",
                 stays ? "reuse = \"rows\"" : "");
    if (split == 0) /* where columns are so many times 8, and no axis is in the way */
        random_write(g, "  split = { k = %d },\n", 2 << random_aside(g, "split", 1, 3));
    else if (split == 1)
        random_write(g, "  split = { k = { parts = %d, over = \"blocks\" } },\n", 2 + random_aside(g, "split", 2, 4));
    random_write(g, "  arch = { sm_90a = {");
    if (chance(s, 35)) {
        int n = 1 + below(s, 2);
        random_write(g, " cluster = { m = %d, n = %d },", 1 + below(s, 2), n);
    }
    int consumers = chance(s, 20) ? 1 + below(s, 3) : 0;
    if (consumers || store < 3) {
        random_write(g, " pipeline = {");
        if (consumers)
            random_write(g, " consumers = %d,", consumers);
        if (store < 3)
            random_write(g, " store = \"%s\",", stores[store]);
        random_write(g, " },");
    }
    random_write(g, " }, sm_80 = {");
    if (chance(s, 20)) {
        int n = 1 << below(s, 3);
        random_write(g, " pipeline = { warps_m = %d, warps_n = %d },", 1 << below(s, 3), n);
    }
    random_write(g, " } },\n");
}

/* Small sizes, ragged; every dim of 1 once in a while. */
static void add_sizes(struct gemm *s)
{
    static const int most[] = {150, 150, 200};
    int runs = 2;
    random_write(s->g, "  run = {");
    for (int r = 0; r < runs; r++) {
        random_write(s->g, "%s{", r ? ", " : " ");
        for (int a = 0, count = 0; a < 3; a++) {
            int extent = chance(s, 15) ? 1 + below(s, 3) : 1 + below(s, most[a]);
            extent = chance(s, 50) ? (extent + 7) / 8 * 8 : extent;
            if (*s->symbol[a])
                random_write(s->g, "%s %s = %d", count++ ? "," : "", s->symbol[a],
                             a == AXIS_K && chance(s, 5) ? 0 : extent);
        }
        random_write(s->g, " }");
    }
    random_write(s->g, " },\n");
}

static void add_dims(struct gemm *s)
{
    struct random_spec *g = s->g;
    int symbols = 0;
    char list[80] = "";
    for (int a = 0; a < 3; a++)
        if (chance(s, 25)) {
            snprintf(s->dim[a], sizeof s->dim[a], "%d", chance(s, 50) ? 8 * (1 + below(s, 20)) : 1 + below(s, 140));
        } else {
            name(s, s->symbol[a], true);
            memcpy(s->dim[a], s->symbol[a], sizeof s->symbol[a]);
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", symbols++ ? " " : "", s->symbol[a]);
        }
    if (!symbols) {
        name(s, s->symbol[AXIS_M], true);
        memcpy(s->dim[AXIS_M], s->symbol[AXIS_M], sizeof s->symbol[AXIS_M]);
        snprintf(list, sizeof list, "%s", s->symbol[AXIS_M]);
    }
    random_write(g, "local ");
    for (const char *c = list; *c; c++)
        random_write(g, "%s%c", *c == ' ' ? "," : "", *c);
    random_write(g, " = dims \"%s\"\n\n", list);
}

static void write_spec(struct random_spec *g, FILE *out)
{
    static const char *const reserved[] = {"A", "B", "C", "D", "alpha", "beta", "acc", "t"};
    struct gemm s = {.g = g};
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        snprintf(s.used[s.names++], 16, "%s", reserved[i]);
    add_dims(&s);
    random_write(g, "kernel \"p\" {\n  family = \"gemm\",\n");
    add_tensors(&s);
    add_epilogue(&s);
    add_how(&s);
    add_sizes(&s);
    random_write(g, "}\n");
    fprintf(out, "-- random gemm %llu:\n%s", (unsigned long long)g->seed, g->text);
}

void random_gemm_write(uint64_t seed, FILE *out)
{
    struct random_spec g;
    random_begin(&g, seed, 7, NULL, 0);
    write_spec(&g, out);
}

void random_gemm_write_bytes(const uint8_t *byte, size_t count, FILE *out)
{
    struct random_spec g;
    random_begin(&g, 0, 7, byte, count);
    write_spec(&g, out);
}
