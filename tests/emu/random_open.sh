# What is known to go wrong, each with a spec in tests/programs/found. Sourced by random.sh and random_breaks.sh.
# open: features that random programs do not have together until that is mended; open_specs: the specs, which fail today
# (random.sh says so where one no longer does).
open="--leave-out dots+stages.1 --leave-out loop.columns"
open_specs="one_stage nested_zeros online_one_row"
