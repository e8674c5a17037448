#!/bin/sh
# The runtime as one file: what `tilewright runtime` writes compiles without a warning, defines nothing but tw_ names,
# and answers what the program answers. TAP on stdout.
#   usage: tests/single.sh [PROGRAM], from the top of the tree
set -u
program=${1:-build/tilewright}
case $program in /*) ;; *) program=$PWD/$program ;; esac
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_single_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
LC_ALL=C
export LC_ALL
. tests/tap.sh
log=$work/log
kept=$PWD/tests/kept.sh
calls=$PWD/tests/embed/single.c

"$program" runtime -o "$work/made" >"$log" 2>&1 && [ "$(ls "$work/made")" = "$(printf 'tilewright.c\ntilewright.h')" ]
ok $? "two files" "$log"
cp -p "$work/made/tilewright.c" "$work/first.c"
"$program" runtime -o "$work/made" >"$log" 2>&1 && [ ! "$work/made/tilewright.c" -nt "$work/first.c" ]
ok $? "written again only where they change" "$log"
# It needs no file of this tree, and no library's header.
! grep -n '^#include "' "$work/made/tilewright.h" "$work/made/tilewright.c" | grep -v '#include "tilewright.h"' >"$log" &&
    ! grep -n '^#include <xxhash' "$work/made/tilewright.c" >>"$log"
ok $? "they include each other and the system's headers" "$log"
cd "$work/made" || exit 3
strict='-Wall -Wextra -Wpedantic -Wconversion -Werror'
printf '#include "tilewright.h"\nint main() { return tw_tensormap_rule_name(TW_TENSORMAP_RULE_ADDR16) ? 0 : 1; }\n' >use.cpp
for pair in gcc:g++ clang:clang++; do
    cc=${pair%:*}
    if ! command -v "${pair#*:}" >/dev/null 2>&1; then
        skip "$cc" "there is no ${pair#*:}"
        continue
    fi
    # shellcheck disable=SC2086
    sh "$kept" "$cc.o" "$cc" -std=c99 -O1 $strict -Wshadow -c tilewright.c >"$log" 2>&1
    ok $? "$cc, C99, without a warning" "$log"
    # shellcheck disable=SC2086
    "${pair#*:}" -std=c++17 $strict -o use use.cpp "$cc.o" -lm -ldl -pthread >"$log" 2>&1 && ./use
    ok $? "its header in C++17, linked, by ${pair#*:}" "$log"
done
object=$(ls gcc.o clang.o 2>/dev/null | head -n 1)
nm -g --defined-only "$object" >names
awk 'NF == 3 && $3 !~ /^tw_/' names >"$log"
[ ! -s "$log" ] && grep -q ' T tw_tensormap_encode$' names
ok $? "it defines tw_ names alone" "$log"

# Maps of every kind, refused ones among them, as the program encodes them.
"${CC:-cc}" -std=c99 -Wall -Wextra -Werror -I. -o encode "$calls" "$object" -lm -ldl -pthread >"$log" 2>&1
ok $? "a program of its own" "$log"
./encode maps >said 2>"$log" && [ "$(wc -l <said)" -ge 8 ]
ok $? "it encodes tensor maps" "$log"
cut -d ' ' -f 2- said | "$program" tensormap encode >answers 2>"$log"
awk '{ rc = /"rc":0/ ? 0 : 1; map = ""; if (match($0, /"map":"[0-9a-f]*/)) map = substr($0, RSTART + 7, RLENGTH - 7)
       print rc ":" map }' answers >wanted
cut -d ' ' -f 1 said | diff - wanted >"$log" && grep -q '^0:.*[1-9a-f]' wanted && grep -q '^1:' wanted
ok $? "bytes and verdicts are those of tensormap encode" "$log"
sed '1s|[0-9a-f]\{9\}|&1|' said | cut -d ' ' -f 1 | diff - wanted >/dev/null
[ $? -eq 1 ]
ok $? "and other bytes would be told"

# A kernel through NVRTC and the cache, twice.
if "$program" doctor 2>/dev/null | grep -q '^nvrtc .*path'; then
    CUDA_HOME=$("$program" doctor 2>/dev/null | sed -n 's/^nvrtc .*, path \([^,]*\),.*/\1/p')
    CUDA_HOME=${CUDA_HOME%/*/*}
    export CUDA_HOME
    TILEWRIGHT_CACHE=$work/cache ./encode compile >"$log" 2>&1 && grep -q '^compiled, ' "$log"
    ok $? "it compiles a kernel" "$log"
    TILEWRIGHT_CACHE=$work/cache ./encode compile >"$log" 2>&1 && grep -q '^from the cache, ' "$log"
    ok $? "and finds it in the cache" "$log"
else
    skip "a kernel through NVRTC" "there is no NVRTC"
fi
cd - >/dev/null || exit 3
"$program" runtime >"$log" 2>&1
[ $? -eq 2 ] && grep -q 'write into which folder? -o DIR' "$log"
ok $? "a folder is wanted" "$log"
echo "1..$count"
[ "$failed" -eq 0 ]
