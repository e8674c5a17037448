#!/bin/sh
# One test of tests/run: its output goes to a log, a line about it to stdout when it ends, with what failed below it (of
# a long log what is about that, and its end), and its numbers to FOLDER/counts: passed, failed, not run, seconds, seconds of the processors, name.
#   usage: tests/job.sh FOLDER "NAME<tab>COMMAND", from the top of the tree. COMMAND is a line of shell that prints TAP.
set -u
tab=$(printf '\t')
name=${2%%"$tab"*}
log=$1/$(echo "$name" | tr '/ ' '__').log
before=$(date +%s%N)
CMOCKA_MESSAGE_OUTPUT=TAP sh -c "${2#*"$tab"}" >"$log" 2>&1 </dev/null
status=$?
after=$(date +%s%N)
# The second line of `times` is of the processes that have ended, and of theirs.
times >"$log.times"
cpu=$(awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, t, "[ms]"); sum += 60 * t[1] + t[2] } printf "%.1f", sum }' \
    "$log.times")
wall=$(awk "BEGIN { printf \"%.1f\", ($after - $before) / 1e9 }")

# What a log that is too long to be shown says of what failed: what stands right before a "not ok" and behind it, and
# what says itself that it is an error.
about_failures() {
    awk '{ line[NR] = $0; tap = /^(not )?ok / }
        /^not ok / && !/# *SKIP/ { for (i = from > NR - 8 ? from : NR - 8; i <= NR; i++) shown[i] = 1; behind = 13 }
        /error:|ERROR|--- |[Aa]ssert/ { shown[NR] = 1 }
        tap { from = NR + 1 }
        tap && !/^not/ { behind = 0 }
        behind-- > 0 { shown[NR] = 1 }
        END {
            for (i = 1; i <= NR && count < 80; i++)
                if (i in shown) {
                    if (i > last + 1) print "..."
                    print line[i]
                    last = i
                    count++
                }
            print "... and the last lines:"
        }' "$1"
}

# TAP tells a test that was not run as "ok N # SKIP", cmocka's skip() as "not ok N # SKIP".
skipped=$(grep -cE '^(not )?ok .*# *SKIP' "$log")
passed=$(($(grep -c '^ok ' "$log") + $(grep -cE '^not ok .*# *SKIP' "$log") - skipped))
failed=$(grep -E '^not ok ' "$log" | grep -cv '# *SKIP')
if [ $status != 0 ] && [ "$failed" = 0 ]; then
    failed=1
    echo "not ok $name: exit status $status" >>"$log"
fi
if [ $((passed + failed + skipped)) = 0 ]; then
    failed=1
    echo "not ok $name: no test was run" >>"$log"
fi
{
    printf '%-40s %7.1f s %7.1f s of the processors %5d passed, %d failed%s\n' "$name" "$wall" "$cpu" $passed \
        "$failed" "$([ "$skipped" = 0 ] || echo ", $skipped not run")"
    [ "$failed" = 0 ] || [ "$(wc -l <"$log")" -le 60 ] || about_failures "$log"
    [ "$failed" = 0 ] || tail -n 60 "$log"
    grep -E '^(not )?ok .*# *SKIP' "$log" | sed -E 's/^(not )?ok [0-9]* *-* */    not run: /'
} >"$log.line"
# In one write each: others write beside this one.
cat "$log.line"
echo "$passed $failed $skipped $wall $cpu $name" >>"$1/counts"
