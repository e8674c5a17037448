/* Loops whose turns go from the last to the first. */
#include "lower/derive/derive.h"
#include "lower/derive/derive_turns.h"

#include <string.h>

#include "lower/family.h"
#include "program/any_order.h"

/* What the kernel says of the loop; NULL: nothing. */
static const struct spec_direction *said(const struct derive *d, const char *name)
{
    const struct spec_kernel *k = d->work.l->kernel;
    for (int i = 0; i < k->direction_count; i++)
        if (name && strcmp(k->direction[i].name, name) == 0)
            return &k->direction[i];
    return NULL;
}

static int reason(struct derive *d, const char *name, bool down, const char *why)
{
    struct plan *p = d->work.l->plan;
    const char *field = plan_text(p, "direction.%s", name ? name : "loop");
    return d->dry ? 0 : !field ? 3 : family_reason(p, field, down ? "down" : "up", "%s", why);
}

bool derive_goes_down(struct derive *d, int loop, bool masked, int *status)
{
    const char *name = d->work.program->op[loop].name;
    const struct spec_direction *own = said(d, name);
    if (*status || d->synchronous)
        return false;
    if (own) {
        struct plan *p = d->work.l->plan;
        field_reads_add(&p->reads, FIELD_DIRECTION, (int)(own - d->work.l->kernel->direction));
        *status = reason(d, name, own->down, "the spec says so");
        return own->down;
    }
    masked = masked || d->work.l->listed == plan_some(loop);
    if (!masked || d->ahead < 0)
        return false;
    enum any_order order = program_any_order(d->work.program, loop, &d->work.program->graph->memory, NULL);
    if (order == ANY_ORDER_NO_MEMORY)
        *status = 3;
    else if (order == ANY_ORDER)
        *status = reason(d, name, true,
                         "each item begins with the turns that need masks, and the next turn's dot runs under them as "
                         "under any other; rounding alone changes");
    return order == ANY_ORDER;
}
