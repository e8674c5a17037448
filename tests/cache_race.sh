#!/bin/sh
# Cache under fire: 16 processes that compile one key at once all succeed and leave one entry; processes killed at
# random points, and truncated and changed entries, end in a correct run. Needs NVRTC.
#   usage: cache_race.sh PROGRAM        PROGRAM: tests/unit/runtime/cache_worker.c, built
set -u
worker=$1
folder=$(mktemp -d "${TMPDIR:-/tmp}/tw_cache_race_XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT
TILEWRIGHT_CACHE=$folder/cache
export TILEWRIGHT_CACHE
failures=0

fail() {
    echo "not ok $((failures + 2)) - $*"
    failures=$((failures + 1))
}

entries() { find "$TILEWRIGHT_CACHE" -name '*.twc' | wc -l; }
hash_of() { cut -d ' ' -f 2; }

# The bytes that are right, compiled without any cache.
right=$(TILEWRIGHT_CACHE=off "$worker" one) || {
    echo "ok 1 - 16 processes and kill -9 # SKIP there is no NVRTC"
    exit 0
}
right=$(echo "$right" | hash_of)

# 16 at once.
pids=
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
    "$worker" one >"$folder/out.$i" 2>"$folder/err.$i" &
    pids="$pids $!"
done
i=0
for pid in $pids; do
    i=$((i + 1))
    wait "$pid" || fail "process $i of 16: $(cat "$folder/err.$i")"
    [ "$(hash_of <"$folder/out.$i")" = "$right" ] || fail "process $i of 16 has other bytes"
done
[ "$(entries)" -eq 1 ] || fail "$(entries) entries where 16 processes compiled one key"
[ "$(ls "$TILEWRIGHT_CACHE" | wc -l)" -eq 1 ] || fail "leftovers: $(ls "$TILEWRIGHT_CACHE")"
[ "$(cut -d ' ' -f 1 "$folder"/out.* | grep -c miss)" -eq 1 ] || fail "more than one process compiled"

# Kill -9 after 0 to 190 ms, twenty times, then a correct run.
n=0
while [ $n -lt 20 ]; do
    rm -rf "$TILEWRIGHT_CACHE"
    "$worker" one >"$folder/killed" 2>&1 &
    pid=$!
    sleep "0.$(printf %03d $((n * 10)))"
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    out=$("$worker" one) || fail "run after a kill at $((n * 10)) ms"
    [ "$(echo "$out" | hash_of)" = "$right" ] || fail "other bytes after a kill at $((n * 10)) ms"
    case $("$worker" one) in
    hit\ $right\ *) ;;
    *) fail "no hit after a kill at $((n * 10)) ms" ;;
    esac
    n=$((n + 1))
done 2>/dev/null

# Entries cut and changed on disk.
entry=$(ls "$TILEWRIGHT_CACHE"/*.twc)
bytes=$(wc -c <"$entry")
for cut in 0 1 63 64 $((bytes / 2)) $((bytes - 1)); do
    head -c "$cut" "$entry" >"$folder/cut" && cp "$folder/cut" "$entry"
    case $("$worker" one) in
    miss\ $right\ *) ;;
    *) fail "entry cut to $cut bytes" ;;
    esac
done
for at in 3 20 40 100 $((bytes / 2)) $((bytes - 1)); do
    printf '\377\001' | dd of="$entry" bs=1 seek="$at" conv=notrunc 2>/dev/null
    case $("$worker" one) in
    miss\ $right\ *) ;;
    *) fail "entry changed at $at" ;;
    esac
done

# A folder that cannot be written.
if [ "$(id -u)" -ne 0 ]; then
    rm -rf "$TILEWRIGHT_CACHE" && mkdir "$TILEWRIGHT_CACHE" && chmod 500 "$TILEWRIGHT_CACHE"
    case $("$worker" one) in
    unstored\ $right\ *) ;;
    *) fail "read-only folder" ;;
    esac
    chmod 700 "$TILEWRIGHT_CACHE"
fi
TILEWRIGHT_CACHE=/proc/nowhere
case $("$worker" one) in
unstored\ $right\ *) ;;
*) fail "folder that cannot be made" ;;
esac

[ $failures -eq 0 ] && echo "ok 1 - 16 processes at once, kill -9, cut and changed entries, folders that cannot be written"
exit $((failures > 0))
