/* Loops whose turns go from the last to the first. */
#include "program/derive.h"

bool derive_goes_down(struct derive *d, int loop, bool masked, int *status)
{
    (void)loop;
    (void)status;
    return masked && d->ahead >= 0;
}
