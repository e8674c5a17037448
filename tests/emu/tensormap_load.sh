#!/bin/sh
# tilewright tensormap load: the 2,066 golden loads of an H200, and lines that are no load.
# usage: tests/emu/tensormap_load.sh [PROGRAM], from the top of the tree
set -u
program=${1:-build/tilewright}
work=$(mktemp -d) || exit 3
trap 'rm -rf "$work"' EXIT
. tests/tap.sh

gzip -dc tests/golden/tma_loads.jsonl.gz >"$work/loads"
"$program" tensormap load <"$work/loads" >"$work/got" 2>"$work/err"
ok $? "load: status"
[ "$(wc -l <"$work/got")" -eq 2066 ]
ok $? "load: 2066 answers"

# Of each load {"completed":...,"smem":"..."} or {"error":...}.
sed 's/.*"completed":[01],"error".*/{"error"}/; s/.*\("completed":[01],"smem":"[0-9a-f]*"\).*/{\1}/' \
    "$work/loads" >"$work/want"
sed 's/^{"error":"an illegal instruction was encountered".*/{"error"}/' "$work/got" >"$work/have"

# 13 loads are races: their barrier expects fewer bytes than a box with interleave has, and completes or not as the
# running count meets the expectation; the GPU's shared memory was then copied before the rest had come. The lines are
# told apart by that, not by what comes out.
cat >"$work/races" <<'END'
336
389
444
524
668
710
756
939
957
1242
1708
1802
1975
END
without() { awk 'NR == FNR { race[$1] = 1; next } !(FNR in race)' "$work/races" "$1"; }
without "$work/want" >"$work/want.sure"
without "$work/have" >"$work/have.sure"
cmp -s "$work/want.sure" "$work/have.sure"
ok $? "load: 2053 loads give the same shared memory, completion and refusals"
# Of a race the shared memory has nothing but what the GPU wrote, or what the GPU had not written yet.
paste "$work/want" "$work/have" | awk 'NR == FNR { race[$1] = 1; next }
    FNR in race {
        split($0, side, "\t"); sub(/.*"smem":"/, "", side[1]); sub(/.*"smem":"/, "", side[2])
        for (i = 1; i + 1 < length(side[1]); i += 2) {
            byte = substr(side[1], i, 2)
            if (byte != "cd" && byte != substr(side[2], i, 2)) bad = 1
        }
    }
    END { exit bad }' "$work/races" -
ok $? "load: 13 races agree in what had come"

load='{"f":"tiled","dtype":9,"rank":2,"offset":16,"dim":[32,4],"stride":[64],"box":[8,2],"estride":[1,1]'
load=$load',"interleave":0,"swizzle":0,"oob":0,"coord":[0,3],"expect_tx":32}'
answer() { printf '%s\n' "$load" | sed "$1" | "$program" tensormap load >"$work/out" 2>&1; }
answer 's/a/a/' && grep -q '^{"completed":1,"smem":"[0-9a-f]*0\{32\}"}$' "$work/out"
ok $? "load: a row past the end is zeros"
answer 's/\[0,3\]/[4,3]/' && grep -q '"hazard":"TMA-INNER"' "$work/out"
ok $? "load: a trap says why"
answer 's/_tx":32/_tx":48/' && grep -q '^{"completed":0,' "$work/out"
ok $? "load: other bytes than expected"
for edit in 's/,"coord":\[0,3\]//' 's/\[0,3\]/[0]/' 's/\[0,3\]/[0,4294967296]/' 's/"offset":16/"offset":8/' 's/}$//' \
    's/"expect_tx":32/"expect_tx":-1/' 's/"box":\[8,2\]/"box":[4,2]/'; do
    answer "$edit"
    [ $? -eq 1 ] && grep -q '^{"error":"' "$work/out"
    ok $? "load: no load: $edit"
done
echo "1..$count"
[ "$failed" -eq 0 ]
