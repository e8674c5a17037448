#include "emit/host/host_maps.h"

#include <stdio.h>
#include <string.h>

#include "plan/map_windows.h"

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
    sink_text(s, key, text);
}

static bool is_patched(const struct host_map *m, const struct patch *p)
{
    if (p->source == STRIDE)
        return p->index + 1 < m->map->rank;
    return p->index < m->map->rank && !m->constant[p->index];
}

/* What cuTensorMapEncodeIm2col takes in the place of a box, innermost first; of a tiled map dims is 0. */
static void write_windows(const struct host_map *m, const struct sink *s)
{
    struct tw_tensormap_call call = {.estride = {1, 1, 1, 1, 1}};
    const struct spec_window *w = &m->tensor->window;
    map_windows(m->map, w, &call);
    sink_integer(s, "window_dims", w->dims);
    sink_integer(s, "channels", call.channels);
    sink_integer(s, "pixels", call.pixels);
    sink_array(s, "lower");
    for (int i = 0; i < WINDOW_DIMS; i++)
        sink_integer(s, NULL, call.lower[i]);
    sink_end(s);
    sink_array(s, "upper");
    for (int i = 0; i < WINDOW_DIMS; i++)
        sink_integer(s, NULL, call.upper[i]);
    sink_end(s);
    sink_array(s, "step");
    for (int i = 0; i < SPEC_MAX_RANK; i++)
        sink_integer(s, NULL, call.estride[i]);
    sink_end(s);
}

/* The words that launches write. */
static void write_patches(const struct host_map *m, const struct sink *s)
{
    bool sized = false, strided = false;
    sink_array(s, "patch");
    for (int word = 0; word < WORDS; word++) {
        bool open = false;
        for (int i = 0; i < PATCHES; i++) {
            const struct patch *p = &patches[i];
            if (p->word != word || !is_patched(m, p))
                continue;
            if (!open) {
                sink_object(s, NULL);
                sink_integer(s, "word", word);
                sink_boolean(s, "strided", p->source == STRIDE);
                if (m->image[word])
                    put_word(s, "constant", m->image[word]);
                else
                    sink_text(s, "constant", "");
                sink_array(s, "part");
                open = true;
            }
            sink_object(s, NULL);
            sink_text(s, "source", p->source == STRIDE ? "stride" : "dim");
            sink_integer(s, "index", p->index);
            sink_integer(s, "from", p->from);
            sink_integer(s, "at", p->at);
            sink_boolean(s, "low", p->at + 32 < 64 && p->width == 32);
            sink_end(s);
            strided = strided || p->source == STRIDE;
            sized = sized || p->source == DIM;
        }
        if (open) {
            sink_end(s);
            sink_end(s);
        }
    }
    sink_end(s);
    sink_boolean(s, "sized", sized);
    sink_boolean(s, "strided", strided);
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
    sink_object(s, NULL);
    sink_text(s, "id", m->id);
    sink_text(s, "name", m->map->name);
    sink_text(s, "tensor", m->tensor->name);
    sink_integer(s, "rank", m->map->rank);
    sink_integer(s, "dtype", tw_dtype_info(m->tensor->dtype)->tensormap);
    sink_text(s, "dtype_name", tw_dtype_name(m->tensor->dtype));
    sink_integer(s, "element_bytes", (int64_t)tw_dtype_bytes(m->tensor->dtype));
    sink_integer(s, "swizzle", tw_swizzles[m->map->swizzle].tensormap);
    sink_text(s, "swizzle_name", tw_swizzles[m->map->swizzle].name);
    sink_integer(s, "promotion", m->map->l2_promotion);
    sink_integer(s, "targets", m->targets);
    sink_array(s, "box");
    for (int d = 0; d < m->map->rank; d++)
        sink_integer(s, NULL, m->map->box[d]);
    sink_end(s);
    sink_array(s, "dim");
    for (int d = 0; d < m->map->rank; d++)
        sink_integer(s, NULL, (int64_t)m->constant[d]);
    sink_end(s);
    sink_array(s, "dense");
    for (int d = 0; d + 1 < m->map->rank || d == 0; d++)
        sink_integer(s, NULL, (int64_t)stride[d]);
    sink_end(s);
    sink_array(s, "image");
    for (int w = 0; w < WORDS; w++)
        put_word(s, NULL, image[w]);
    sink_end(s);
    sink_boolean(s, "in_image", in_image);
    write_windows(m, s);
    write_patches(m, s);
    sink_end(s);
}

void host_maps(const struct host_facts *f, const struct sink *s)
{
    bool strides = false, windows = false;
    sink_array(s, "map");
    for (int i = 0; i < f->map_count; i++) {
        write_map(&f->map[i], s);
        strides = strides || f->map[i].map->rank > 1;
        windows = windows || f->map[i].tensor->window.dims > 0;
    }
    sink_end(s);
    sink_integer(s, "map_count", f->map_count);
    sink_boolean(s, "map_strides", strides);
    sink_boolean(s, "windows", windows);
    sink_array(s, "workaround");
#define WORKAROUND(ID, since, until, number, what)                                                                     \
    sink_object(s, NULL);                                                                                              \
    sink_integer(s, "capability", since);                                                                              \
    sink_integer(s, "driver_version", until);                                                                          \
    sink_integer(s, "word", (number) / 64);                                                                            \
    sink_integer(s, "bit", (number) % 64);                                                                             \
    sink_text(s, "text", what);                                                                                        \
    sink_end(s);
#include "tensormap/tensormap_workarounds.def"
#undef WORKAROUND
    sink_end(s);
}
