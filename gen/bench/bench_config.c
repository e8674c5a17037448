/* Sizes from a file of configurations: {"gemm": [{"M": 4096, "N": 4096, "K": 4096, "dtype": "bf16"}, ...], ...}, by
 * kernel, or by family for the kernels that have no list of their own. */
#include <string.h>
#include <strings.h>

#include <json-c/json.h>

#include "bench/kernels.h"
#include "verify/layout.h"

enum { SYMBOLS = 256, DEPTH = 16 };

/* What frameworks call types. */
static const struct {
    const char *theirs, *ours;
} type_words[] = {
    {"bfloat16", "bf16"},        {"float16", "fp16"},         {"half", "fp16"}, {"float32", "fp32"},
    {"float8_e4m3", "fp8_e4m3"}, {"float8_e5m2", "fp8_e5m2"}, {"int8", "int8"},
};

/* Where an entry stands, for messages. */
struct place {
    const struct bench *bench;
    const char *list;
    size_t number;
};

static int fault(const struct place *at, const char *what, const char *word)
{
    compile_say(&at->bench->compile, DIAG_ERROR, "%s: %s[%zu]: %s%s", at->bench->options.config, at->list, at->number,
                what, word);
    return 1;
}

static bool has_dtype(const struct plan *p, const char *word)
{
    for (size_t i = 0; i < sizeof type_words / sizeof *type_words; i++)
        if (strcmp(word, type_words[i].theirs) == 0)
            word = type_words[i].ours;
    return p->tensor_count > 0 && strcmp(tw_dtype_name(p->tensor[0].dtype), word) == 0;
}

static int find_symbol(const struct plan *p, const char *name)
{
    for (int i = 0; i + 1 < p->symbol_count; i++)
        if (strcmp(p->symbol[i], name) == 0)
            return i;
    return -1;
}

static int append(struct bench *b, struct sizes *sizes, const int64_t *value)
{
    size_t row = sizeof *value * (size_t)sizes->width;
    int64_t *grown = tw_realloc(&b->compile.rt, sizes->value, row * (size_t)(sizes->count + 1));
    if (!grown)
        return 3;
    sizes->value = grown;
    memcpy(grown + (size_t)sizes->count++ * (size_t)sizes->width, value, row);
    return 0;
}

/* One entry, for a kernel: a row of sizes, or nothing where it is of another type. */
static int take_entry(struct bench *b, const struct place *at, const struct plan *p, struct json_object *entry,
                      struct sizes *sizes)
{
    int64_t value[SYMBOLS] = {0};
    bool used[SYMBOLS] = {false}, given[SYMBOLS] = {false};
    if (!json_object_is_type(entry, json_type_object))
        return fault(at, "an entry is an object of sizes: {\"M\": 4096, \"N\": 4096, \"K\": 4096}", "");
    json_object_object_foreach(entry, name, number)
    {
        int symbol = find_symbol(p, name);
        if (strcmp(name, "dtype") == 0 && symbol < 0) {
            if (!has_dtype(p, json_object_get_string(number)))
                return 0;
            continue;
        }
        if (symbol < 0)
            return fault(at, "the spec has no dim ", name);
        value[symbol] = json_object_get_int64(number);
        if (!json_object_is_type(number, json_type_int) || value[symbol] < 0 || value[symbol] > SPEC_MAX_EXTENT)
            return fault(at, "an extent is a whole number, which this is not: ", name);
        given[symbol] = true;
    }
    layout_symbols(p, used);
    for (int i = 0; i + 1 < p->symbol_count; i++) {
        if (used[i] && !given[i])
            return fault(at, "it gives no value to dim ", p->symbol[i]);
        value[i] = used[i] ? value[i] : -1;
    }
    return append(b, sizes, value);
}

/* The list of a kernel: that of its own name, else of its family's; NULL: there is none. *name: which. */
static struct json_object *find_list(struct json_object *file, const struct spec_kernel *kernel, const char **name)
{
    struct json_object *own = NULL;
    *name = kernel->name;
    if (json_object_object_get_ex(file, kernel->name, &own) || !kernel->family)
        return own;
    json_object_object_foreach(file, key, list)
    {
        if (strcasecmp(key, kernel->family) != 0)
            continue;
        *name = key;
        return list;
    }
    return NULL;
}

static int take_kernel(struct bench *b, struct json_object *file, struct bench_kernel *k)
{
    const struct compile_unit *unit = &b->compile.unit[k->unit[0]];
    struct place at = {.bench = b};
    struct json_object *list = find_list(file, unit->kernel, &at.list);
    int status = 0;
    k->sizes.width = unit->plan.symbol_count;
    if (!list)
        return 0;
    if (!json_object_is_type(list, json_type_array))
        return fault(&at, "a list of sizes stands here", "");
    for (; at.number < json_object_array_length(list) && status == 0; at.number++)
        status = take_entry(b, &at, &unit->plan, json_object_array_get_idx(list, at.number), &k->sizes);
    return status;
}

int bench_read_config(struct bench *b)
{
    struct compile *c = &b->compile;
    unsigned char *text;
    size_t bytes;
    struct tw_error error;
    int status = tw_read_file(&c->rt, b->options.config, 0, &text, &bytes, &error), count = 0;
    if (status != TW_OK)
        return compile_fail(c, status, &error);
    struct json_tokener *tokener = json_tokener_new_ex(DEPTH);
    struct json_object *file = tokener ? json_tokener_parse_ex(tokener, (const char *)text, (int)bytes) : NULL;
    status = 0;
    if (!json_object_is_type(file, json_type_object)) {
        compile_say(c, DIAG_ERROR, "%s: it holds no object {\"gemm\": [{\"M\": 4096, \"N\": 4096, \"K\": 4096}]}",
                    b->options.config);
        status = 1;
    }
    for (int i = 0; i < b->kernels && status == 0; i++) {
        if (b->compile.unit[b->kernel[i].unit[0]].plan.symbol_count <= SYMBOLS)
            status = take_kernel(b, file, &b->kernel[i]);
        count += b->kernel[i].sizes.count;
    }
    if (status == 0 && count == 0) {
        compile_say(c, DIAG_ERROR, "%s: it has sizes of no kernel of %s", b->options.config, b->options.spec);
        status = 1;
    }
    json_object_put(file);
    if (tokener)
        json_tokener_free(tokener);
    tw_free(&c->rt, text);
    return status;
}
