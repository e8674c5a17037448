#!/bin/sh
# tilewright tensormap: the 30,000 golden calls of a driver, lines that are no call, words, and the way back.
# usage: tests/tensormap.sh [PROGRAM], from the top of the tree
set -u
program=${1:-build/tilewright}
golden=tests/golden/tensormap_calls.jsonl.gz
work=$(mktemp -d) || exit 3
trap 'rm -rf "$work"' EXIT
count=0 failed=0

ok() { # name status
    count=$((count + 1))
    if [ "$2" -eq 0 ]; then echo "ok $count - $1"; else failed=$((failed + 1)) && echo "not ok $count - $1"; fi
}

# Runs a tensormap command; stdout and stderr go to $work, the result is its exit status.
tensormap() { "$program" tensormap "$@" >"$work/out" 2>"$work/err"; }

# The verdict and all 128 bytes of each call. The golden lines end in "rc":0,"map":"..."} or "rc":1}.
gzip -dc "$golden" >"$work/calls"
sed 's/.*\("rc":[0-9].*\)$/{\1/' "$work/calls" >"$work/want"
tensormap encode <"$work/calls"
ok "encode: status" $?
sed 's/^{"rc":1,"rules":\["TMA-.*"\],"message":".*"}$/{"rc":1}/' "$work/out" >"$work/got"
cmp -s "$work/want" "$work/got"
ok "encode: verdicts and bytes of the golden calls" $?
[ "$(wc -l <"$work/got")" -eq 30000 ]
ok "encode: 30000 answers" $?

# A map is decoded to a call that gives the map again.
grep '"rc":0' "$work/got" | sed -n '1~400s/.*"map":"\(.*\)"}/\1/p' >"$work/maps"
while read -r map; do
    tensormap decode --json "$map" && sed 's/.*"call":\(.*\),"smem_bytes.*/\1/' "$work/out" >"$work/call" &&
        tensormap encode <"$work/call" && grep -q "\"map\":\"$map\"" "$work/out" || echo "$map"
done <"$work/maps" >"$work/lost"
[ -s "$work/maps" ] && [ ! -s "$work/lost" ]
ok "decode: encode gives the map again" $?

# What is no call is answered by an error each, and status 1 at the end; the lines around it are answered as ever.
call='{"f":"tiled","dtype":9,"rank":1,"addr":1024,"dim":[64],"stride":[],"box":[64],"estride":[1]'
call=$call',"interleave":0,"swizzle":0,"l2":0,"oob":0}'
change() { printf '%s\n' "$call" | sed "$1"; }
{
    printf '%s\n' "$call"
    echo
    echo '{}'
    echo '[]'
    echo '17'
    echo 'null'
    echo '"tiled"'
    echo '{"f":"tiled"'
    printf '%s x\n' "$call"
    printf '%s%s\n' "$call" "$call"
    printf '\377\376\n'
    printf '{"f":"tiled\0"}\n'
    change 's/tiled/titled/'
    change 's/"tiled"/7/'
    change 's/,"oob":0//'
    change 's/"dim":\[64\]/"dim":64/'
    change 's/"dim":\[64\]/"dim":[]/'
    change 's/"dim":\[64\]/"dim":[64.0]/'
    change 's/"dim":\[64\]/"dim":[6e1]/'
    change 's/"dim":\[64\]/"dim":["64"]/'
    change 's/"dim":\[64\]/"dim":[null]/'
    change 's/"dim":\[64\]/"dim":[-64]/'
    change 's/"dim":\[64\]/"dim":[18446744073709551616]/'
    change 's/"dim":\[64\]/"dim":[99999999999999999999999]/'
    change 's/"box":\[64\]/"box":[4294967296]/'
    change 's/"rank":1/"rank":true/'
    change 's/"rank":1/"rank":2/'
    change 's/"swizzle":0/"swizzle":"NONE"/'
    change 's/"addr":1024/"addr":-1/'
    awk 'BEGIN { for (i = 0; i < 100; i++) printf "["; print "" }'
    printf '%s' "$call"
} >"$work/lines"
tensormap encode <"$work/lines"
[ $? -eq 1 ]
ok "encode: status 1 after a line that is no call" $?
awk 'NR == 1 || NR == 31 { if ($0 !~ /^\{"rc":0,"map":"[0-9a-f]*"\}$/ || length($0) != 273) exit 1; next }
     $0 !~ /^\{"error":".+"\}$/ { exit 1 } END { if (NR != 31) exit 1 }' "$work/out"
ok "encode: an answer for every line" $?
change 's/"dim":\[64\]/"dim":[18446744073709551615]/' | tensormap encode && grep -q '"rules":\["TMA-DIM"\]' "$work/out"
ok "encode: 2^64 - 1 is a number" $?
change 's/"addr":1024/"addr":72057594037927952/' | tensormap encode && grep -q '"map":"1000000000000001' "$work/out"
ok "encode: integers past 2^53 keep their low bits" $?
change 's/"rank":1/"rank":6/;s/"dim":\[64\]/"dim":[64,1,1,1,1]/' | tensormap encode &&
    grep -q '"rules":\["TMA-RANK"\]' "$work/out"
ok "encode: a rank past 5" $?
change 's/"swizzle":0/"swizzle":4/;s/"box":\[64\]/"box":[32]/' >"$work/calls"
tensormap encode --cc 10.0 <"$work/calls" && grep -q '^{"rc":0,"rules":\[\],"message":"accepted, but' "$work/out"
ok "encode: --cc" $?
tensormap encode </dev/null && [ ! -s "$work/out" ]
ok "encode: nothing in, nothing out" $?

# Words.
cat >"$work/want" <<'END'
f=tiled dtype=BFLOAT16 addr=0x7f0000000000 dim=100,64 stride=200 box=128,64 swizzle=128B
refused on compute capability 9.0: 2 faults
  stride[0] is 200 bytes, no multiple of 16; pad the rows to a stride of 208 [TMA-STR16]
  box[0] is 128 elements of BFLOAT16, 256 bytes, wider than the 128-byte span of swizzle 128B; write 64, or a wider swizzle [TMA-SPAN]
the nearest call that works:
  f=tiled dtype=BFLOAT16 addr=0x7f0000000000 dim=100,64 stride=208 box=64,64 swizzle=128B
END
tensormap explain dtype=bf16 dim=100,64 stride=200 box=128,64 swizzle=128B && cmp -s "$work/out" "$work/want"
ok "explain: words" $?
tensormap explain --json dtype=FLOAT16 dim=64,8 box=64,8 &&
    grep -q '^{"rc":0,"rules":\[\],"warnings":\[\],"map":' "$work/out"
ok "explain: dense strides, json" $?
tensormap explain f=im2col dtype=6 dim=64,20,30,8 lower=-1,-1 upper=-1,-1 channels=0x40 pixels=64 swizzle=128B &&
    grep -q '^accepted' "$work/out"
ok "explain: im2col" $?
tensormap explain "$call" && grep -q '^accepted' "$work/out"
ok "explain: a JSON call" $?
tensormap explain <"$work/lines"
[ $? -eq 1 ] && [ "$(grep -c '^error: ' "$work/out")" -eq 29 ]
ok "explain: lines" $?
for words in 'dim=1' 'dtype=bf16 dim=64' 'dtype=bf17 dim=64 box=64' 'dtype=bf16 dim=64 box=64 box' \
    'dtype=bf16 dim=64 bax=64' 'dtype=bf16 dim=64 box=1,2,3,4,5,6' 'dtype=bf16 dim=-64 box=64' \
    'dtype=bf16 dim=64x box=64' 'dtype=bf16 dim= box=64' \
    'dtype=bf16 dim=99999999999999999999 box=64' 'dtype=bf16 dim=64 box=64 pixels=4' 'f=x dtype=bf16 dim=64 box=64' \
    'dtype=bf16 dim=64 box=4294967296' 'dtype=bf16 rank=2 dim=64 box=64' 'dtype=bf16 dim=64 box=64 swizzle=96B'; do
    # shellcheck disable=SC2086
    tensormap explain $words
    [ $? -eq 1 ] && [ -s "$work/err" ] && [ ! -s "$work/out" ]
    ok "explain: $words" $?
done

# Bytes.
map=$(head -n 1 "$work/maps")
tensormap decode "$map" && grep -q '^f ' "$work/out" && grep -q '^smem ' "$work/out"
ok "decode: a table" $?
tensormap decode "$(echo "$map" | sed 's/.$/1/')"
[ $? -eq 1 ] && grep -q 'stray bits 1016' "$work/err"
ok "decode: a stray bit" $?
for hex in "" 00 "${map}00" "$(echo "$map" | tr 0 g)"; do
    tensormap decode "$hex"
    [ $? -eq 1 ]
    ok "decode: '$hex'" $?
done

# Usage.
for words in "" frobnicate "encode --cc 9" "encode --cc" "encode --cc x.y" "encode extra" "encode --what" decode \
    "decode 00 00"; do
    # shellcheck disable=SC2086
    tensormap $words </dev/null
    [ $? -eq 2 ] && [ -s "$work/err" ]
    ok "usage: '$words'" $?
done
tensormap --help && grep -q '^usage' "$work/out"
ok "help" $?

[ "$failed" -eq 0 ]
