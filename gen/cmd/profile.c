/* tilewright profile: where the time of a block goes, by stamps of the clock. */
#include "cmd/cmd.h"
#include "show/show.h"

int cmd_profile(int argc, char **argv)
{
    return show_profile(argc, argv);
}
