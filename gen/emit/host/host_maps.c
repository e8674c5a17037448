#include "emit/host/host_maps.h"

#include <stdio.h>
#include <string.h>

#include "plan/map_windows.h"

enum { WORDS = 16 };

enum source { DIM, STRIDE };
static const struct patch {
    enum source source;
    int index, from, width, word, at;
} patches[] = {
#define PATCH(source, index, from, width, word, at) {source, index, from, width, word, at},
#include "tensormap/tensormap_patches.def"
#undef PATCH
};
enum { PATCHES = sizeof patches / sizeof *patches };

static void put_word(const struct sink *s, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, value < 10 ? "%llu" : "0x%llx", (unsigned long long)value);
    sink_text(s, key, text);
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

/* Which bits of a map depend on the tensor: runtime/tensormap/tensormap_patches.def by halves of words. */
static void write_patches(const struct sink *s)
{
    static const char *const value[] = {
        [DIM] = "map_dim(t, rank, %d) - 1", [STRIDE] = "map_stride(t, rank, %d, bytes)"};
    sink_array(s, "patch");
    for (int half = 0; half < 2 * WORDS; half++)
        for (int i = 0; i < PATCHES; i++) {
            const struct patch *p = &patches[i];
            char text[48];
            if (2 * p->word + p->at / 32 != half)
                continue;
            sink_object(s, NULL);
            sink_integer(s, "half", half);
            sink_integer(s, "above", p->index + (p->source == STRIDE));
            snprintf(text, sizeof text, value[p->source], p->index);
            sink_text(s, "value", text);
            sink_integer(s, "from", p->from);
            sink_integer(s, "at", p->at % 32);
            sink_end(s);
        }
    sink_end(s);
}

static void write_map(const struct host_map *m, const struct sink *s)
{
    sink_object(s, NULL);
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
    sink_array(s, "image");
    for (int w = 0; w < WORDS; w++)
        put_word(s, NULL, m->image[w]);
    sink_end(s);
    write_windows(m, s);
    sink_end(s);
}

void host_map_rows(const struct sink *s)
{
    write_patches(s);
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

void host_maps(const struct host_facts *f, const struct sink *s)
{
    sink_array(s, "map");
    for (int i = 0; i < f->map_count; i++)
        write_map(&f->map[i], s);
    sink_end(s);
    sink_integer(s, "map_count", f->map_count);
}
