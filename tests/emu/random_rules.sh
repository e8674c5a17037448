#!/bin/sh
# Derivation rules that random programs come to: each statement of the derivation, counted. TAP on stdout.
#   usage: tests/emu/random_rules.sh, from the top of the tree, after
#   `ninja build/tests/emu/random/random_programs`
#   Needs gcc and gcov, no NVRTC. COUNT: programs, 2,000; nothing is compiled, so that they take a minute.
# Run whole, without COUNT, it leaves what it found in tests/bench/results/random_rules.json.
# A rule is a branch of derive/derive*.c, derive/work.c, or of pipeline/ and direct/, in gen/lower; it is hit where its
# statements were executed. Not counted: faults, which are refusals, what leads to one without a way around, and what
# only an error status leads to. What else was not executed is to stand in random_rules.list, with its reason; and what
# stands there may not be executed: with another COUNT, more or less is.
set -u
program=build/tests/emu/random/random_programs
list=tests/emu/random_rules.list
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
ok $? "their Plans are made"
sed -n '/^# not hit/,/^# features/p' "$work/out" | grep -v '^# features'

# Lines, numbered: executed, or not; those of a fault, and those before it in the same run of lines without a way
# around: an executed line, or a return, ends the run.
faulty='refuse|report[(]|return status|return [*]status|return 3|return 1;|status = 3|return -[12]|return false;|return NULL|fails = true|snprintf|_failed[(]|seen [?] 1 : 3'
: >"$work/left"
for object in $objects; do
    name=$(basename "$object" .o).c
    gcov -t -o "$work" "$object" 2>/dev/null | awk -v name="$name" -v faulty="$faulty" -v left_at="$work/left" '
        BEGIN { run = good = 0 }
        function flush(    i) {
            for (i = 0; i < run; i++)
                if (i < good) faults++
                else { left++; print name ":" at[i] ": " place[i] " " text[i] >>left_at }
            run = good = 0
        }
        /:  *0:Source:/ { on = index($0, "/" name) > 0 }
        !on { next }
        { whole = $0; sub(/^[^:]*:[^:]*:/, "", whole) }
        whole ~ /^[a-z].*[(]/ { within = whole; sub(/[(].*/, "", within); sub(/.*[ *]/, "", within); split("", times) }
        { split($0, part, ":"); hits = part[1]; gsub(/ /, "", hits); line = part[2] + 0
          own = $0; sub(/^[^:]*:[^:]*: */, "", own) }
        line == 0 { next }
        { fault = fault || own ~ faulty || (own ~ /^return/ && before ~ /^if .*status|status = 3;$/) }
        own ~ /^[^}]/ { before = own }
        hits ~ /^[0-9]/ { done++; flush() }
        { times[own]++ }
        hits ~ /^[#=]/ {
            at[run] = line
            place[run] = within (times[own] > 1 ? ":" times[own] : "")
            text[run++] = own
        }
        fault && hits !~ /^[0-9]/ { good = run }
        own ~ /[;{}] *$/ || own ~ /\/\*.*\*\/ *$/ { fault = 0 }
        END { flush(); printf "# %s: %d statements executed, %d not: %d of faults\n", name, done, left + faults, faults }'
done >"$work/files"
cat "$work/files"
awk -v out="$work/unexplained" -v stale="$work/stale" -v list="$list" '
    BEGIN {
        while ((getline row <list) > 0) {
            if (row !~ /^[a-z]/) continue
            at = index(row, "  // "); key = substr(row, 1, at - 1)
            if (key in reason) print "twice: " row >stale
            reason[key] = substr(row, at + 5)
        }
    }
    { split($0, part, ":"); text = $0; sub(/^[^:]*:[^:]*: /, "", text); key = part[1] " " text
      if (key in reason) { print "# " $0; print "#     " reason[key]; met[key] = 1 }
      else print $0 >out }
    END { for (key in reason) if (!(key in met)) print "hit or gone: " key >stale }' "$work/left"
[ ! -s "$work/unexplained" ]
ok $? "what they do not come to is explained in $list" "$work/unexplained"
[ ! -s "$work/stale" ]
ok $? "what $list explains is not come to" "$work/stale"

# The record of a whole run, as JSON.
record() {
    awk -v commit="$(git rev-parse --short HEAD)" -v unexplained="$(cat "$work/unexplained" 2>/dev/null | wc -l)" '
        { name = $2; sub(/:$/, "", name); executed = $3; not_executed = $6; faults = $8
          row[++n] = sprintf("  {\"file\": \"%s\", \"executed\": %d, \"faults\": %d, \"explained\": %d}", name, executed,
              faults, not_executed - faults)
          all += executed; told += faults; rest += not_executed - faults }
        END {
            print "{\n \"made_by\": \"tests/emu/random_rules.sh\","
            print " \"what\": \"statements of the derivation that 2,000 random programs come to; of faults, which are refusals;" \
                " and others, which tests/emu/random_rules.list explains one by one\","
            print " \"commit\": \"" commit "\",\n \"programs\": 2000,\n \"executed\": " all ",\n \"faults\": " told ","
            print " \"explained\": " rest - unexplained ",\n \"unexplained\": " unexplained ",\n \"files\": ["
            for (i = 1; i <= n; i++) print row[i] (i < n ? "," : "")
            print " ]\n}"
        }' "$work/files"
}
[ -n "${COUNT:-}" ] || record >tests/bench/results/random_rules.json
echo "1..$count"
[ "$failed" -eq 0 ]
