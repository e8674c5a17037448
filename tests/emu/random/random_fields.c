/* Fields of how a kernel runs that ask nothing of its tiles: drawn aside, so that what else a seed gives stays. */
#include "random_spec.h"

void random_fields_write(struct random_spec *g, int number, bool maps)
{
    static const char *const promotion[] = {"none", "64B", "256B"};
    if (maps && random_aside(g, "l2_promotion", number, 2))
        random_write(g, "  l2_promotion = \"%s\",\n", promotion[random_aside(g, "promotion", number, 3)]);
    if (random_aside(g, "programmatic", number, 3) == 0)
        random_write(g, "  launch = { programmatic = true },\n");
    if (random_aside(g, "registers", number, 4) == 0)
        random_write(g, "  max_registers = 255,\n");
    if (random_aside(g, "spills", number, 4) == 0)
        random_write(g, "  allow_spills = true,\n");
}
