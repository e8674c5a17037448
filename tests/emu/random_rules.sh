#!/bin/sh
# Derivation rules that random programs come to: each statement of the derivation, counted. TAP on stdout.
#   usage: tests/emu/random_rules.sh, from the top of the tree, after
#   `ninja build/tests/emu/random/random_programs`
#   Needs gcc and gcov, no NVRTC. COUNT: programs, 2,000; nothing is compiled, so that they take a minute.
# A rule is a branch of derive/derive*.c, derive/work.c, or of pipeline/ and direct/, in gen/lower; it is hit
# where its statements were executed. Not counted: faults (refusals, and what only an error status leads to).
set -u
program=build/tests/emu/random/random_programs
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_random_rules_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
. tests/tap.sh

objects=
for path in gen/lower/derive/derive*.c gen/lower/derive/work.c gen/lower/pipeline/*.c gen/lower/direct/*.c; do
    name=$(basename "$path" .c)
    compile=$(ninja -t commands "build/${path%.c}.o" | tail -n 1 |
        sed "s| -M[^ ]*||g; s| build/[^ ]*\.d||g; s| -o [^ ]*| -o $work/$name.o|; s| -O2| -O0 --coverage|")
    sh -c "$compile" || exit 3
    objects="$objects $work/$name.o"
done
link=$(ninja -t commands $program | tail -n 1 | sed "s| -o $program| --coverage -o $work/program $objects|")
sh -c "$link" || exit 3
"$work/program" --first 1 --count "${COUNT:-2000}" --plan --quiet >"$work/out" 2>&1
ok $? "their Plans are made" "$work/out"

faulty='refuse|report[(]|return 3|return 1;|status = 3|return -1|return false;|fails = true|snprintf'
for object in $objects; do
    name=$(basename "$object" .o).c
    # A statement that was not executed, unless it says or passes on a fault.
    gcov -t -o "$work" "$object" 2>/dev/null | awk -v name="$name" -v faulty="$faulty" '
        /:  *0:Source:/ { on = index($0, "/" name) > 0 }
        !on { next }
        { split($0, part, ":"); hits = part[1]; gsub(/ /, "", hits); line = part[2] + 0
          text = $0; sub(/^[^:]*:[^:]*:/, "", text) }
        line == 0 || hits == "-" { next }
        hits !~ /^#/ && hits !~ /^=/ { done++; next }
        text ~ faulty { faults++; next }
        { left++; print "# " name ":" line ":" text }
        END { printf "# %s: %d statements executed, %d not: %d of faults\n", name, done, left + faults, faults }'
done
echo "1..$count"
[ "$failed" -eq 0 ]
