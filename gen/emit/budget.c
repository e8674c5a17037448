/* What an expansion may give and take: steps and memory of Lua are the sandbox's, this is the rest. */
#include "emit/engine.h"

void engine_charge(lua_State *L, struct engine *e, size_t bytes)
{
    enum { BYTES_PER_STEP = 16 };
    sandbox_charge(L, 1 + (int64_t)(bytes / BYTES_PER_STEP));
    e->text_bytes += bytes;
    if (e->text_bytes <= ENGINE_MOST_TEXT)
        return;
    engine_report(
        e, e->at, -1, "TEMPLATE-LIMIT",
        "the template gives more than %d MiB of text, the most that there may be; is there a loop without end?",
        ENGINE_MOST_TEXT >> 20);
    engine_stop(L);
}

void engine_report_budget(struct engine *e)
{
    engine_report(
        e, e->at, -1, "TEMPLATE-LIMIT",
        "this expansion takes more than %d MiB of memory, the most that there may be; is there a loop without "
        "end?",
        ENGINE_MOST_MEMORY >> 20);
    e->no_memory = false;
}
