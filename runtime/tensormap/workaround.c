// What drivers write wrongly into tensor maps, mended.
#include "tensormap.h"

static const struct {
    int capability, driver_version;
    unsigned bit;
    const char *text;
} rows[TW_TENSORMAP_WORKAROUND_COUNT] = {
#define WORKAROUND(ID, capability, driver_version, bit, text) {capability, driver_version, bit, text},
#include "tensormap_workarounds.def"
#undef WORKAROUND
};

unsigned tw_tensormap_work_around(uint64_t map[16], int cc, int driver_version)
{
    unsigned cleared = 0;
    for (unsigned i = 0; i < TW_TENSORMAP_WORKAROUND_COUNT; i++) {
        const uint64_t bit = UINT64_C(1) << rows[i].bit % 64;
        if (cc < rows[i].capability || driver_version > rows[i].driver_version || !(map[rows[i].bit / 64] & bit))
            continue;
        map[rows[i].bit / 64] &= ~bit;
        cleared |= 1u << i;
    }
    return cleared;
}

const char *tw_tensormap_workaround_text(enum tw_tensormap_workaround workaround)
{
    return (unsigned)workaround < TW_TENSORMAP_WORKAROUND_COUNT ? rows[workaround].text : "?";
}
