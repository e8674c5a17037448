#include "emit/host/host_maps.h"

#include <stdio.h>
#include <string.h>

enum { WORDS = 16 };

/* Bits of a map that depend on the tensor: runtime/tensormap/tensormap_patches.def. */
enum source { DIM, STRIDE };
struct patch {
    enum source source;
    int index, from, width, word, at;
};
static const struct patch patches[] = {
#define PATCH(source, index, from, width, word, at) {source, index, from, width, word, at},
#include "tensormap/tensormap_patches.def"
#undef PATCH
};
enum { PATCHES = sizeof patches / sizeof *patches };

/* The strides in bytes of a dense tensor, innermost first; false where one is no constant. */
static bool constant_strides(const struct host_map *m, uint64_t stride[SPEC_MAX_RANK])
{
    const struct plan_tensor *t = m->tensor;
    bool all = t->rank > 1;
    for (int i = 0; i + 1 < t->rank; i++) {
        int64_t elements = 0;
        all = all && expr_is_int(&m->plan->graph, t->stride[t->rank - 2 - i], &elements) && elements >= 0;
        stride[i] = (uint64_t)elements * tw_dtype_bytes(t->dtype);
    }
    if (!all)
        memset(stride, 0, SPEC_MAX_RANK * sizeof *stride);
    return all;
}

static void put_word(const struct sink *s, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "0x%016llx", (unsigned long long)value);
    s->text(s->context, key, text);
}

static bool is_patched(const struct host_map *m, const struct patch *p)
{
    if (p->source == STRIDE)
        return p->index + 1 < m->map->rank;
    return p->index < m->map->rank && !m->constant[p->index];
}

/* The words that launches write. */
static void write_patches(const struct host_map *m, const struct sink *s)
{
    bool sized = false, strided = false;
    s->array(s->context, "patch");
    for (int word = 0; word < WORDS; word++) {
        bool open = false;
        for (int i = 0; i < PATCHES; i++) {
            const struct patch *p = &patches[i];
            if (p->word != word || !is_patched(m, p))
                continue;
            if (!open) {
                s->object(s->context, NULL);
                s->integer(s->context, "word", word);
                s->boolean(s->context, "strided", p->source == STRIDE);
                if (m->image[word])
                    put_word(s, "constant", m->image[word]);
                else
                    s->text(s->context, "constant", "");
                s->array(s->context, "part");
                open = true;
            }
            s->object(s->context, NULL);
            s->text(s->context, "source", p->source == STRIDE ? "stride" : "dim");
            s->integer(s->context, "index", p->index);
            s->integer(s->context, "from", p->from);
            s->integer(s->context, "at", p->at);
            s->boolean(s->context, "low", p->at + 32 < 64 && p->width == 32);
            s->end(s->context);
            strided = strided || p->source == STRIDE;
            sized = sized || p->source == DIM;
        }
        if (open) {
            s->end(s->context);
            s->end(s->context);
        }
    }
    s->end(s->context);
    s->boolean(s->context, "sized", sized);
    s->boolean(s->context, "strided", strided);
}

static void write_map(const struct host_map *m, const struct sink *s)
{
    uint64_t image[WORDS], stride[SPEC_MAX_RANK] = {0};
    bool in_image = constant_strides(m, stride);
    memcpy(image, m->image, sizeof image);
    for (int i = 0; i < PATCHES && in_image; i++) {
        const struct patch *p = &patches[i];
        if (p->source == STRIDE && p->index + 1 < m->map->rank)
            image[p->word] |= (stride[p->index] >> p->from & (UINT64_MAX >> (64 - p->width))) << p->at;
    }
    s->object(s->context, NULL);
    s->text(s->context, "id", m->id);
    s->text(s->context, "name", m->map->name);
    s->text(s->context, "tensor", m->tensor->name);
    s->integer(s->context, "rank", m->map->rank);
    s->integer(s->context, "dtype", tw_dtype_info(m->tensor->dtype)->tensormap);
    s->text(s->context, "dtype_name", tw_dtype_name(m->tensor->dtype));
    s->integer(s->context, "element_bytes", (int64_t)tw_dtype_bytes(m->tensor->dtype));
    s->integer(s->context, "swizzle", tw_swizzles[m->map->swizzle].tensormap);
    s->text(s->context, "swizzle_name", tw_swizzles[m->map->swizzle].name);
    s->integer(s->context, "promotion", m->map->l2_promotion);
    s->integer(s->context, "targets", m->targets);
    s->array(s->context, "box");
    for (int d = 0; d < m->map->rank; d++)
        s->integer(s->context, NULL, m->map->box[d]);
    s->end(s->context);
    s->array(s->context, "dim");
    for (int d = 0; d < m->map->rank; d++)
        s->integer(s->context, NULL, (int64_t)m->constant[d]);
    s->end(s->context);
    s->array(s->context, "dense");
    for (int d = 0; d + 1 < m->map->rank || d == 0; d++)
        s->integer(s->context, NULL, (int64_t)stride[d]);
    s->end(s->context);
    s->array(s->context, "image");
    for (int w = 0; w < WORDS; w++)
        put_word(s, NULL, image[w]);
    s->end(s->context);
    s->boolean(s->context, "in_image", in_image);
    write_patches(m, s);
    s->end(s->context);
}

void host_maps(const struct host_facts *f, const struct sink *s)
{
    bool strides = false;
    s->array(s->context, "map");
    for (int i = 0; i < f->map_count; i++) {
        write_map(&f->map[i], s);
        strides = strides || f->map[i].map->rank > 1;
    }
    s->end(s->context);
    s->integer(s->context, "map_count", f->map_count);
    s->boolean(s->context, "map_strides", strides);
    s->array(s->context, "workaround");
#define WORKAROUND(ID, since, until, number, what)                                                                     \
    s->object(s->context, NULL);                                                                                       \
    s->integer(s->context, "capability", since);                                                                       \
    s->integer(s->context, "driver_version", until);                                                                   \
    s->integer(s->context, "word", (number) / 64);                                                                     \
    s->integer(s->context, "bit", (number) % 64);                                                                      \
    s->text(s->context, "text", what);                                                                                 \
    s->end(s->context);
#include "tensormap/tensormap_workarounds.def"
#undef WORKAROUND
    s->end(s->context);
}
