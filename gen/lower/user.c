/* Kernels with a template of their own: the spec says what a family would. Tensors in `rings` travel by bulk tensor
 * copies through stages of shared memory, filled by one thread and read by the other warps; all other tensors are plain
 * pointers. The roles have no steps here: they are those of the template's text. */
#include "lower/family.h"

#include <stdio.h>
#include <string.h>

enum {
    MOST_BOX = 256,      /* elements of a tensor map's box along one dim */
    MOST_TILE = 1 << 20, /* bytes, more than any block has */
    TILE_TEXT = 12 * SPEC_MAX_RANK
};

static int variants(const struct spec *spec, const struct spec_kernel *kernel, const struct arch *arch)
{
    (void)spec;
    (void)arch;
    return kernel ? 1 : 0;
}

/* A tile as the spec writes it: { 1, 64 }. */
static const char *tile_text(const int *tile, int rank, char *text)
{
    int at = 0;
    for (int d = 0; d < rank; d++)
        at += snprintf(text + at, (size_t)(TILE_TEXT - at), d ? ", %d" : "{ %d", tile[d]);
    snprintf(text + at, (size_t)(TILE_TEXT - at), " }");
    return text;
}

/* Boxes and shared memory of a tile that a ring carries: rows of boxes of at most 256 elements along each dim, or as
 * wide as the swizzle's span. */
static int ring_tensor(const struct spec_kernel *kernel, int number, struct plan *p, struct diag_set *diags)
{
    const struct spec_tensor *from = &kernel->tensor[number];
    struct plan_tensor *t = &p->tensor[number];
    int size = (int)tw_dtype_bytes(t->dtype), inner = t->rank - 1, tile[SPEC_MAX_RANK], status = 0;
    bool tiled = t->rank >= 2 && from->tile_set;
    for (int d = 0; d < t->rank; d++) {
        tile[d] = from->tile[d];
        tiled = tiled && tile[d] > 0;
    }
    if (!tiled) {
        diag_report(diags, DIAG_ERROR, from->loc, kernel->name, t->name, "RING-TILE",
                    "a tensor in a ring has two dims or more and a tile; write tile = { rows, columns }");
        return 1;
    }
    int span = t->swizzle != TW_SWIZZLE_NONE ? (int)tw_swizzles[t->swizzle].span : 0;
    int unit = (span ? span : 16) / size, columns = tile[inner];
    int64_t rows = 1;
    char text[TILE_TEXT], better[TILE_TEXT];
    for (int d = 0; d < inner; d++) {
        rows *= tile[d] < MOST_BOX ? tile[d] : MOST_BOX;
        if (tile[d] <= MOST_BOX)
            continue;
        tile[d] = MOST_BOX;
        diag_report(diags, DIAG_ERROR, from->loc, kernel->name, t->name, "TMA-BOX",
                    "tile = %s has %d %s, and a box takes up to %d; write tile = %s",
                    tile_text(from->tile, t->rank, text), from->tile[d], t->rank == 2 ? "rows" : "in one dim", MOST_BOX,
                    tile_text(tile, t->rank, better));
        status = 1;
    }
    if (columns % unit) {
        tile[inner] = (columns + unit - 1) / unit * unit;
        diag_report(diags, DIAG_ERROR, from->loc, kernel->name, t->name, "TMA-SPAN",
                    "%d columns of %s are %d bytes, no multiple of the %d %s; write tile = %s", columns,
                    tw_dtype_name(t->dtype), columns * size, unit * size,
                    span ? "that the swizzle spans" : "that a box is made of", tile_text(tile, t->rank, better));
        status = 1;
    }
    if (!status && rows * columns * size > MOST_TILE) {
        diag_report(diags, DIAG_ERROR, from->loc, kernel->name, t->name, "SMEM",
                    "tile = %s are %lld bytes, more than a block's shared memory; write a smaller tile",
                    tile_text(tile, t->rank, text), (long long)(rows * columns * size));
        status = 1;
    }
    if (status)
        return status;
    int width = span ? unit : columns < MOST_BOX ? columns : MOST_BOX / unit * unit;
    while (columns % width)
        width -= unit;
    field_reads_add(&p->reads, FIELD_SWIZZLE, number);
    field_reads_add(&p->reads, FIELD_MAPS, number);
    t->access = PLAN_ACCESS_TMA;
    t->maps = from->maps;
    t->align = 16;
    for (int d = 0; d < t->rank; d++)
        t->tile[d] = t->box[d] = tile[d];
    t->box[inner] = width;
    t->boxes = columns / width;
    t->box_bytes = (int)rows * width * size;
    t->tile_bytes = t->boxes * t->box_bytes;
    return 0;
}

static int add_ring(const struct spec_ring *from, int readers, struct plan *p)
{
    char name[96];
    const char *first = p->tensor[from->tensor[0]].name;
    int bytes = 0;
    struct plan_ring *r = family_add_ring(p, first, from->stages, PLAN_FILL_BULK);
    if (!r)
        return 3;
    r->tensor_count = from->tensor_count;
    r->full_arrivals = 1;
    r->empty_arrivals = readers;
    for (int i = 0; i < from->tensor_count; i++) {
        const struct plan_tensor *t = &p->tensor[from->tensor[i]];
        r->tensor[i] = from->tensor[i];
        bytes += t->tile_bytes;
        snprintf(name, sizeof name, "%s.%s", first, t->name);
        if (!family_add_shared(p, name, from->stages * t->tile_bytes, (int)tw_swizzles[t->swizzle].align, from->stages))
            return 3;
    }
    r->tx_bytes = bytes;
    static const char *const side[] = {"full", "empty"};
    int *shared[] = {&r->full_shared, &r->empty_shared};
    for (int i = 0; i < 2; i++) {
        *shared[i] = p->shared_count;
        snprintf(name, sizeof name, "%s.%s", first, side[i]);
        if (!family_add_shared(p, name, 8 * from->stages, 8, from->stages))
            return 3;
    }
    return 0;
}

/* One warp fills all rings, the others read them. What they do, step by step, is read off the template. */
static int add_roles(const struct spec_kernel *kernel, int threads, struct plan *p)
{
    int warps = threads / 32 - 1, status = 0;
    if (!family_add_role(p, "producer", 1, 0, 1, 0) || !family_add_role(p, "consumer", warps, 1, warps, 0))
        return 3;
    for (int i = 0; i < kernel->ring_count && !status; i++)
        status = add_ring(&kernel->ring[i], warps, p);
    return status;
}

/* Rings too deep for the block, or too much shared memory of the template's own. The ring that takes most is told. */
static int check_shared(const struct spec_kernel *kernel, const struct arch *arch, const struct spec_fields *fields,
                        const struct plan *p, struct diag_set *diags)
{
    int bytes = p->launch.shared_bytes, fullest = -1, most = 0;
    if (bytes <= arch->shared_limit)
        return 0;
    for (int i = 0; i < p->ring_count; i++)
        if (p->ring[i].stages * p->ring[i].tx_bytes > most) {
            most = p->ring[i].stages * p->ring[i].tx_bytes;
            fullest = i;
        }
    int stage = fullest < 0 ? 0 : p->ring[fullest].tx_bytes + 16; /* with its two mbarriers */
    int fits = fullest < 0 ? 0 : p->ring[fullest].stages - (bytes - arch->shared_limit + stage - 1) / stage;
    if (fits > 0) {
        diag_report(
            diags, DIAG_ERROR, kernel->ring[fullest].loc, kernel->name, "rings", "SMEM",
            "%d stages of %d bytes and %d bytes beside them are %d bytes of shared memory, but a block of %s has "
            "%d; write stages = %d",
            p->ring[fullest].stages, p->ring[fullest].tx_bytes, bytes - most, bytes, arch->name, arch->shared_limit,
            fits);
        return 1;
    }
    const struct spec_value *own = &fields->value[FIELD_SHARED];
    diag_report(diags, DIAG_ERROR, own->set ? own->loc : kernel->loc, kernel->name, own->set ? "shared" : "rings",
                "SMEM", "%d bytes of shared memory, but a block of %s has %d; write %s", bytes, arch->name,
                arch->shared_limit, own->set ? "less, or smaller tiles in rings" : "smaller tiles in rings");
    return 1;
}

static int resolve(const struct spec *spec, const struct spec_kernel *kernel, const struct arch *arch, int variant,
                   struct plan *p, struct diag_set *diags)
{
    (void)variant;
    struct spec_fields fields;
    spec_merge(kernel, arch->name, &fields);
    int status = family_copy_spec(spec, kernel, p);
    if (status)
        return status;
    p->arch = arch->name;
    p->variant = "";
    p->entry = p->kernel;
    const char *slash = kernel->template_path ? strrchr(kernel->template_path, '/') : NULL;
    p->template_name = plan_text(p, "%s", slash ? slash + 1 : kernel->template_path ? kernel->template_path : "");
    static const enum spec_field read[] = {FIELD_THREADS, FIELD_SPILLS, FIELD_REGISTERS, FIELD_SHARED, FIELD_PROMOTION};
    for (size_t i = 0; i < sizeof read / sizeof *read; i++)
        field_reads_add(&p->reads, FIELD_OF_SCHEMA, (int)read[i]);
    p->reads.idle |= kernel->ring_count ? 0 : field_reads_bit(FIELD_PROMOTION); /* no maps */
    int threads = (int)spec_field_value(&fields, FIELD_THREADS);
    p->launch.block = threads;
    p->allow_spills = spec_field_value(&fields, FIELD_SPILLS) != 0;
    p->register_limit = (int)spec_field_value(&fields, FIELD_REGISTERS);
    p->blocks_per_sm = 1;
    for (int i = 0; i < 3; i++)
        if (kernel->grid[i] >= 0 && (p->launch.grid[i] = expr_import(&p->graph, &kernel->shape, kernel->grid[i])) < 0)
            return 3;
    if (kernel->ring_count && !arch->tma) {
        diag_report(diags, DIAG_ERROR, kernel->ring[0].loc, kernel->name, "rings", "ARCH-TMA",
                    "%s has no tensor copies to fill a ring; write arch = { sm_90a = {} }", arch->name);
        return 1;
    }
    if (threads % 32 || (kernel->ring_count && threads < 64)) {
        const struct spec_value *v = &fields.value[FIELD_THREADS];
        diag_report(diags, DIAG_ERROR, v->set ? v->loc : kernel->loc, kernel->name, "threads", "THREADS",
                    "%d threads are no whole warps, of which a ring needs one to fill it and one to read it; write %d",
                    threads, threads < 64 ? 64 : (threads + 31) / 32 * 32);
        return 1;
    }
    for (int i = 0; i < kernel->ring_count; i++)
        for (int t = 0; t < kernel->ring[i].tensor_count; t++)
            status |= ring_tensor(kernel, kernel->ring[i].tensor[t], p, diags);
    if (status)
        return status;
    const struct spec_value *l2 = &fields.value[FIELD_PROMOTION];
    family_reason(p, "l2_promotion", l2->set ? l2->text : "128B", l2->set ? "the spec says so" : "the usual line");
    for (int i = 0; i < kernel->ring_count; i++)
        for (int t = 0; t < kernel->ring[i].tensor_count; t++)
            if (!family_add_map(p, kernel->ring[i].tensor[t], l2->set ? (int)l2->integer : 2))
                return 3;
    if (kernel->ring_count && (status = add_roles(kernel, threads, p)) != 0)
        return status;
    int shared = (int)spec_field_value(&fields, FIELD_SHARED);
    if (shared && !family_add_shared(p, "own", shared, 16, 1))
        return 3;
    for (int i = 0; i < p->tensor_count; i++) {
        char name[80];
        for (int d = 0; d < p->tensor[i].rank; d++) {
            snprintf(name, sizeof name, "tile.%s.%d", p->tensor[i].name, d);
            if (kernel->tensor[i].tile_set && family_add_value(p, name, kernel->tensor[i].tile[d]))
                return 3;
        }
    }
    family_place_shared(p);
    return check_shared(kernel, arch, &fields, p, diags) ? 1 : family_pack_params(p);
}

const struct family family_user = {
    .variants = variants,
    .resolve = resolve,
};
