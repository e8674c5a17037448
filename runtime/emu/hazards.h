/* The closed list of hazards: hazards.def, and the edges that order accesses. Constant data; any thread may read it. */
#ifndef EMU_HAZARDS_H
#define EMU_HAZARDS_H

#include <stddef.h>

enum emu_hazard_name {
#define HAZARD(ID, name, what, todo) EMU_HAZARD_##ID,
#define EDGE(name, text)
#include "hazards.def"
#undef HAZARD
#undef EDGE
    EMU_HAZARD_COUNT
};

struct emu_hazard_info {
    const char *name; /* "UNORDERED-READ" */
    const char *what; /* in which case it is reported */
    const char *todo; /* what to do about it */
};
const struct emu_hazard_info *emu_hazard_info(enum emu_hazard_name name);

/* The number of that name; EMU_HAZARD_COUNT where there is none. */
enum emu_hazard_name emu_hazard_find(const char *name);

struct emu_hazard_edge {
    const char *name;
    const char *text;
};
const struct emu_hazard_edge *emu_hazard_edges(size_t *count);

#endif
