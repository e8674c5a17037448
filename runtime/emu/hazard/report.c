/* The tables of hazards and edges, and the list of reports. */
#include <stdarg.h>
#include <stdio.h>

#include "engine.h"

static const struct emu_hazard_info hazard_table[] = {
#define HAZARD(ID, name, what, todo) {name, what, todo},
#define EDGE(name, text)
#include "emu/hazards.def"
#undef HAZARD
#undef EDGE
};

static const struct emu_hazard_edge edge_table[] = {
#define HAZARD(ID, name, what, todo)
#define EDGE(name, text) {name, text},
#include "emu/hazards.def"
#undef HAZARD
#undef EDGE
};

const struct emu_hazard_info *emu_hazard_info(enum emu_hazard_name name)
{
    return (unsigned)name < EMU_HAZARD_COUNT ? &hazard_table[name] : NULL;
}

enum emu_hazard_name emu_hazard_find(const char *name)
{
    for (unsigned i = 0; i < EMU_HAZARD_COUNT; i++)
        if (strcmp(hazard_table[i].name, name) == 0)
            return (enum emu_hazard_name)i;
    return EMU_HAZARD_COUNT;
}

const struct emu_hazard_edge *emu_hazard_edges(size_t *count)
{
    *count = sizeof edge_table / sizeof edge_table[0];
    return edge_table;
}

static size_t report_hash(enum emu_hazard_name name, uint32_t position, uint32_t other)
{
    uint64_t x = ((uint64_t)position << 32 | other) * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)name;
    x ^= x >> 29;
    return (size_t)(x * UINT64_C(0xbf58476d1ce4e5b9) >> 20);
}

static int report_rehash(struct emu_hazard *h)
{
    size_t count = h->report_slot_count ? 2 * h->report_slot_count : 64;
    uint32_t *slots = hz_alloc(h, count * sizeof *slots);
    if (!slots)
        return 1;
    for (size_t i = 0; i < h->report_count; i++) {
        const struct emu_hazard_report *r = &h->reports[i];
        size_t at = report_hash(r->name, r->position, r->other) & (count - 1);
        while (slots[at])
            at = (at + 1) & (count - 1);
        slots[at] = (uint32_t)i + 1;
    }
    tw_free(h->rt, h->report_slots);
    h->report_slots = slots;
    h->report_slot_count = count;
    return 0;
}

static void tell(struct emu_hazard *h, struct emu_hazard_report *r)
{
    r->held = 0;
    h->told++;
    if (h->options.report)
        h->options.report(h->options.context, r);
}

void emu_hazard_settle(struct emu_hazard *h)
{
    int nothing = !h->told;
    for (size_t i = 0; i < h->report_count; i++) {
        struct emu_hazard_report *r = &h->reports[i];
        int due = r->held == HZ_HELD_LATE || (r->held == HZ_HELD_WEAK && nothing);
        if (r->held == HZ_HELD_GUESS) {
            due = 1;
            for (uint32_t g = 0; g < h->guess_count; g++)
                due &= h->guesses[g] != r->guess;
        }
        if (due)
            tell(h, r);
    }
}

static void report_add(struct emu_hazard *h, const struct hz_finding *f, const char *format, va_list values)
{
    if (h->status || (h->options.first_only && h->told))
        return;
    if (2 * (h->report_count + 1) > h->report_slot_count && report_rehash(h))
        return;
    size_t at = report_hash(f->name, f->position, f->other) & (h->report_slot_count - 1);
    for (; h->report_slots[at]; at = (at + 1) & (h->report_slot_count - 1)) {
        struct emu_hazard_report *r = &h->reports[h->report_slots[at] - 1];
        if (r->name == f->name && r->position == f->position && r->other == f->other) {
            r->count += !f->event || r->event != f->event;
            r->event = f->event;
            return;
        }
    }
    uint32_t room = (uint32_t)h->report_room;
    if (hz_grow(h, &h->reports, &room, (uint32_t)h->report_count + 1, sizeof *h->reports))
        return;
    h->report_room = room;
    struct emu_hazard_report *r = &h->reports[h->report_count++];
    h->report_slots[at] = (uint32_t)h->report_count;
    *r = (struct emu_hazard_report){.name = f->name,
                                    .count = 1,
                                    .event = f->event,
                                    .address = f->address,
                                    .bytes = f->bytes,
                                    .position = f->position,
                                    .other = f->other,
                                    .other_block = f->other_block,
                                    .other_warp = f->other_warp,
                                    .lanes = f->lanes};
    if (f->warp) {
        r->block = f->warp->cluster->first + f->warp->rank;
        r->warp = f->warp->index;
    }
    vsnprintf(r->text, sizeof r->text, format, values);
    r->guess = f->guess;
    if (f->held == HZ_HELD_GUESS || (f->held && !h->options.first_only))
        r->held = f->held;
    else
        tell(h, r);
}

void hz_report(struct emu_hazard *h, const struct hz_finding *finding, const char *format, ...)
{
    va_list values;
    h->findings++;
    va_start(values, format);
    report_add(h, finding, format, values);
    va_end(values);
}

void emu_hazard_found(struct emu_hazard *hazard, struct emu_hazard_warp *warp, enum emu_hazard_name name,
                      uint32_t lanes, uint64_t address, uint32_t position, const char *format, ...)
{
    struct hz_finding finding = {.name = name,
                                 .warp = warp ? hz_warp_of(warp) : NULL,
                                 .lanes = lanes,
                                 .address = address,
                                 .position = position,
                                 .other = EMU_HAZARD_NOWHERE};
    va_list values;
    va_start(values, format);
    report_add(hazard, &finding, format, values);
    va_end(values);
}

struct emu_hazard_report *emu_hazard_report_at(const struct emu_hazard *hazard, size_t index)
{
    return index < hazard->report_count ? &hazard->reports[index] : NULL;
}
