#!/bin/sh
# One random program in a hundred on a GPU, against its meaning: prints the record that stands in
# tests/bench/results/random_gpu.json. The status says whether all passed.
#   usage: sh tests/gpu/random.sh [--device cuda|emu] [--programs N] [--every N] [--first SEED] [--commit WORDS]
#   from the top of the tree, with build/tests/emu/random/random_programs built. Needs a C compiler and NVRTC, nothing
#   else; of a GPU compute capability 9.0.
# Without options 20 programs, seeds 100, 200, ... 2000, on the first GPU. --device emu: the same on the emulator, each
# size with each kind of inputs in one of its completion modes.
set -u
device=cuda programs=20 every=100 first= commit=
while [ $# -gt 0 ]; do
    case $1 in
    --device) device=${2-} ;;
    --programs) programs=${2-} ;;
    --every) every=${2-} ;;
    --first) first=${2-} ;;
    --commit) commit=${2-} ;;
    *) echo "random.sh: no option $1" >&2 && exit 2 ;;
    esac
    shift 2 || exit 2
done
first=${first:-$every}
[ -n "$commit" ] || commit=$(git rev-parse --short HEAD 2>/dev/null) || commit=COMMIT
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_gpu_random_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
export TILEWRIGHT_CACHE
build/tests/emu/random/random_programs --device "$device" --first "$first" --step "$every" --count "$programs" --quiet \
    --log "$work/log" >"$work/out" 2>&1
status=$?
[ $status = 0 ] || grep '^#' "$work/out" | head -n 40 >&2
[ -s "$work/log" ] || { cat "$work/out" >&2 && exit 3; }
python3 tests/emu/random/results.py --gpu --commit "$commit" \
    --command "sh tests/gpu/random.sh --device $device --programs $programs --every $every --first $first" \
    "$work/log" || status=1
exit $status
