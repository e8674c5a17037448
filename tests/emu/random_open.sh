# What is known to go wrong in programs with these features together, each with a spec in tests/programs/found: random
# programs leave it out until it is mended.
open="--leave-out product+stages.1 --leave-out chain+stages.1 --leave-out hidden+stages.1 --leave-out product+loops"
