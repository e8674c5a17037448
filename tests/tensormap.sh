#!/bin/sh
# tilewright tensormap: the 30,000 golden calls of a driver, lines that are no call, words, and the way back.
# usage: tests/tensormap.sh [PROGRAM], from the top of the tree
set -u
program=${1:-build/tilewright}
golden=tests/golden/tensormap_calls.jsonl.gz
work=$(mktemp -d) || exit 3
trap 'rm -rf "$work"' EXIT
. tests/tap.sh

# Runs a tensormap command; stdout and stderr go to $work, the result is its exit status.
tensormap() { "$program" tensormap "$@" >"$work/out" 2>"$work/err"; }

# Explains a call that is refused.
refused() {
    tensormap explain "$@"
    [ $? -eq 1 ]
}

# rules RULE...: those of the diagnostics of $work/out, in their order.
rules() {
    [ "$(grep -o '"rule":"[^"]*"' "$work/out" | sed 's/.*:"//; s/"$//' | uniq | tr '\n' ' ')" = "$* " ]
}

# The verdict and all 128 bytes of each call. The golden lines end in "rc":0,"map":"..."} or "rc":1}.
gzip -dc "$golden" >"$work/calls"
sed 's/.*\("rc":[0-9].*\)$/{\1/' "$work/calls" >"$work/want"
tensormap encode <"$work/calls"
ok $? "encode: status"
sed 's/^{"rc":1,"rules":\["TMA-.*"\],"message":".*"}$/{"rc":1}/' "$work/out" >"$work/got"
cmp -s "$work/want" "$work/got"
ok $? "encode: verdicts and bytes of the golden calls"
[ "$(wc -l <"$work/got")" -eq 30000 ]
ok $? "encode: 30000 answers"

# A map is decoded to a call that gives the map again.
grep '"rc":0' "$work/got" | sed -n '1~400s/.*"map":"\(.*\)"}/\1/p' >"$work/maps"
while read -r map; do
    tensormap decode --json "$map" && sed 's/.*"call":\(.*\),"smem_bytes.*/\1/' "$work/out" >"$work/call" &&
        tensormap encode <"$work/call" && grep -q "\"map\":\"$map\"" "$work/out" || echo "$map"
done <"$work/maps" >"$work/lost"
[ -s "$work/maps" ] && [ ! -s "$work/lost" ]
ok $? "decode: encode gives the map again"

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
ok $? "encode: status 1 after a line that is no call"
awk 'NR == 1 || NR == 31 { if ($0 !~ /^\{"rc":0,"map":"[0-9a-f]*"\}$/ || length($0) != 273) exit 1; next }
     $0 !~ /^\{"error":".+"\}$/ { exit 1 } END { if (NR != 31) exit 1 }' "$work/out"
ok $? "encode: an answer for every line"
change 's/"dim":\[64\]/"dim":[18446744073709551615]/' | tensormap encode && grep -q '"rules":\["TMA-DIM"\]' "$work/out"
ok $? "encode: 2^64 - 1 is a number"
change 's/"addr":1024/"addr":72057594037927952/' | tensormap encode && grep -q '"map":"1000000000000001' "$work/out"
ok $? "encode: integers past 2^53 keep their low bits"
change 's/"rank":1/"rank":6/;s/"dim":\[64\]/"dim":[64,1,1,1,1]/' | tensormap encode &&
    grep -q '"rules":\["TMA-RANK"\]' "$work/out"
ok $? "encode: a rank past 5"
change 's/"swizzle":0/"swizzle":4/;s/"box":\[64\]/"box":[32]/' >"$work/calls"
tensormap encode <"$work/calls" && grep -q '"rules":\["TMA-SWZ-CC"\]' "$work/out"
ok $? "encode: what compute capability 9.0 refuses"
{ cat "$work/calls" && change 's/"dtype":9/"dtype":13/' && change ''; } | tensormap encode --cc 10.0
[ $? -eq 1 ] && [ "$(sed '$d' "$work/out" | sort -u)" = \
    '{"error":"accepted on compute capability 10.0, but its bytes are not known here"}' ] &&
    sed -n 3p "$work/out" | grep -q '^{"rc":0,"map":"[0-9a-f]*"}$'
ok $? "encode: --cc, and a call whose bytes are not known"
tensormap encode </dev/null && [ ! -s "$work/out" ]
ok $? "encode: nothing in, nothing out"

# As a coprocess: the answer to a call comes before the next call.
mkfifo "$work/to" "$work/from"
"$program" tensormap encode <"$work/to" >"$work/from" &
exec 3>"$work/to" 4<"$work/from"
for addr in 1024 2048; do
    change "s/1024/$addr/" >&3
    timeout 20 head -n 1 <&4
done >"$work/out"
exec 3>&- 4<&-
wait $! && [ "$(grep -c '^{"rc":0,' "$work/out")" -eq 2 ]
ok $? "encode: line by line"
for verb in encode explain; do
    change '' | "$program" tensormap $verb >&- 2>"$work/err"
    [ $? -eq 3 ] && [ "$(wc -l <"$work/err")" -eq 1 ]
    ok $? "$verb: closed stdout"
    [ -c /dev/full ] || continue
    change '' | "$program" tensormap $verb >/dev/full 2>"$work/err"
    [ $? -eq 3 ] && [ "$(wc -l <"$work/err")" -eq 1 ]
    ok $? "$verb: full stdout"
done

# Words.
cat >"$work/want" <<'END'
f=tiled dtype=BFLOAT16 addr=0x7f0000000000 dim=100,64 stride=200 box=128,64 swizzle=128B
refused on compute capability 9.0: 2 faults
  stride[0] is 200 bytes, no multiple of 16; pad the rows to a stride of 208 [TMA-STR16]
  box[0] is 128 elements of BFLOAT16, 256 bytes, wider than the 128-byte span of swizzle 128B; write 64, or a wider swizzle [TMA-SPAN]
the nearest call that works:
  f=tiled dtype=BFLOAT16 addr=0x7f0000000000 dim=100,64 stride=208 box=64,64 swizzle=128B
END
refused dtype=bf16 dim=100,64 stride=200 box=128,64 swizzle=128B && cmp -s "$work/out" "$work/want"
ok $? "explain: words"
tensormap explain --json dtype=FLOAT16 dim=64,8 box=64,8 &&
    grep -q '^{"command":"tensormap","status":0,"diagnostics":\[\],"call":{"f":"tiled",.*},"map":"[0-9a-f]*"}$' "$work/out"
ok $? "explain: dense strides, json"
tensormap explain f=im2col dtype=6 dim=64,20,30,8 lower=-1,-1 upper=-1,-1 channels=0x40 pixels=64 swizzle=128B &&
    grep -q '^accepted' "$work/out"
ok $? "explain: im2col"
tensormap explain "$call" && grep -q '^accepted' "$work/out"
ok $? "explain: a JSON call"
tensormap explain <"$work/lines"
[ $? -eq 1 ] && [ "$(grep -c '^error: ' "$work/out")" -eq 29 ]
ok $? "explain: lines"
for words in 'dim=1' 'dtype=bf16 dim=64' 'dtype=bf17 dim=64 box=64' 'dtype=bf16 dim=64 box=64 box' \
    'dtype=bf16 dim=64 bax=64' 'dtype=bf16 dim=64 box=1,2,3,4,5,6' 'dtype=bf16 dim=-64 box=64' \
    'dtype=bf16 dim=64x box=64' 'dtype=bf16 dim= box=64' \
    'dtype=bf16 dim=99999999999999999999 box=64' 'dtype=bf16 dim=64 box=64 pixels=4' 'f=x dtype=bf16 dim=64 box=64' \
    'dtype=bf16 dim=64 box=4294967296' 'dtype=bf16 rank=2 dim=64 box=64' 'dtype=bf16 dim=64 box=64 swizzle=96B'; do
    # shellcheck disable=SC2086
    tensormap explain $words
    [ $? -eq 1 ] && [ -s "$work/err" ] && [ ! -s "$work/out" ]
    ok $? "explain: $words"
done

# What a word's fault says.
while read -r words; do
    read -r why
    # shellcheck disable=SC2086
    tensormap explain $words
    [ $? -eq 1 ] && [ "$(cat "$work/err")" = "tilewright tensormap explain: $why" ]
    ok $? "explain: $why"
done <<'END'
dtype=bf16 dim=64,64 box=64,64,64
box has 3 entries, rank 2 takes 2
dtype=bf16 dim=64,64 box=64
box has 1 entry, rank 2 takes 2
dtype=bf16 dim=64,64 stride=2,256 box=64,64
stride has 2 entries, rank 2 takes 1: the innermost dimension has none
dtype=bf16 dim=64 stride=2 box=64
stride has 1 entry, rank 1 takes 0: the innermost dimension has none
dtype=bf16 dim=1,1,1,1,1 stride=16,16,16,16,16 box=64,1,1,1,1
stride has 5 entries, rank 5 takes 4: the innermost dimension has none
dtype=bf16 rank=1 dim=64,64 box=64
dim has 2 entries, rank 1 takes 1
dtype=bf16 dim=1,2,3,4,5,6 box=64
dim has 6 entries, a call has at most 5
dtype=bf16,fp16 dim=64 box=64
dtype has 2 entries, it takes 1
f=im2col dtype=fp16 dim=64,20,30,8 lower=-1,-1,-1 upper=-1,-1 channels=64 pixels=64
lower has 3 entries, rank 4 takes 2
f=im2col_wide dtype=fp16 dim=64,20,30,8 lower=-1 upper=-1,-1 channels=64 pixels=64
upper has 2 entries, im2col_wide takes 1, the corner in W
dtype=bf16 dim=64 box=64 box=64
box is given twice
f=tiled dtype=bf16 f=im2col dim=64 box=64
f is given twice
dtype=bf16 dim=64,64 stide=128 box=64,64
no argument is called 'stide'; did you mean 'stride'?
dtype=bf16 dim=64 box=64 qqq=1
no argument is called 'qqq'; they are f, dtype, rank, addr, dim, stride, box, lower, upper, mode, channels, pixels, estride, interleave, swizzle, l2, oob
dtype=bf16 dim=64 box=64 l2=96B
l2=96B is no number and none of NONE, 64B, 128B, 256B
dtype=bf16 dim=64 box=64 swizzle=128B_ATOM32B
swizzle=128B_ATOM32B is no number and none of NONE, 32B, 64B, 128B, 128B_ATOM_32B, 128B_ATOM_32B_FLIP_8B, 128B_ATOM_64B; did you mean '128B_ATOM_32B'?
dtype=bf16 dim=64 box=64 swizzle=CU_TENSOR_MAP_INTERLEAVE_NONE
swizzle=CU_TENSOR_MAP_INTERLEAVE_NONE is no number and none of NONE, 32B, 64B, 128B, 128B_ATOM_32B, 128B_ATOM_32B_FLIP_8B, 128B_ATOM_64B
dtype=bf17 dim=64 box=64
dtype=bf17 is no number and none of UINT8, UINT16, UINT32, INT32, UINT64, INT64, FLOAT16, FLOAT32, FLOAT64, BFLOAT16, FLOAT32_FTZ, TFLOAT32, TFLOAT32_FTZ, 16U4_ALIGN8B, 16U4_ALIGN16B, 16U6_ALIGN16B; did you mean 'bf16'?
dtype=bf16 dim=0x box=64
dim=0x is no number
END

# Values by their names; numbers; strides past 2^64; refusals before warnings.
while read -r name number; do
    tensormap explain --json "dtype=$name" dim=64,64 box=16,16 && mv "$work/out" "$work/want" &&
        tensormap explain --json "dtype=$number" dim=64,64 box=16,16 && cmp -s "$work/out" "$work/want" || echo "$name"
done >"$work/lost" <<'END'
CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 9
cu_tensor_map_data_type_tfloat32_ftz 12
bfloat16 9
BF16 9
fp16 6
half 6
float16 6
f16 6
f32 7
fp32 7
float32 7
float 7
tf32 11
f64 8
fp64 8
double 8
e4m3 0
e5m2 0
fp8 0
fp8_e4m3 0
float8_e4m3fn 0
bool 0
int8 0
s8 0
u8 0
u16 1
u32 2
i32 3
s32 3
int32 3
u64 4
i64 5
010 10
0xA 10
END
[ ! -s "$work/lost" ]
ok $? "explain: names of dtypes"
tensormap explain dtype=bf16 dim=64,8,8 box=8,8,8 interleave=cu_tensor_map_interleave_32b l2=L2_PROMOTION_L2_128B \
    swizzle=CU_TENSOR_MAP_SWIZZLE_32B oob=CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA &&
    head -n 1 "$work/out" | grep -q ' interleave=32B swizzle=32B l2=128B oob=NAN$'
ok $? "explain: names of enums"
refused dtype=bf16 dim=0100,64 box=010,0x8 stride=0208 &&
    head -n 1 "$work/out" | grep -q ' dim=100,64 stride=208 box=10,8$'
ok $? "explain: a leading 0 is no octal number"
refused --json dim=4294967296,4294967296,4294967296 box=64,1,1 dtype=bf16 &&
    rules TMA-STRMAX
ok $? "explain: dense strides past 2^64"
refused --json dim=18446744073709551615,1 box=64,1 dtype=bf16 &&
    rules TMA-DIM TMA-STRMAX
ok $? "explain: a row past 2^64"
refused dtype=bf16 dim=64,8,8 box=7,8,8 interleave=32B swizzle=64B &&
    sed -n 3p "$work/out" | grep -q '\[TMA-INNER16\]$' && sed -n 4p "$work/out" | grep -q '^  warning: .*\[TMA-IL32-SWZ\]$'
ok $? "explain: refusals first"

# What people have: dumps of libraries and calls in source, from public reports (tests/tensormap/README names them), as
# text on stdin; the answer and the status stand beside each.
for text in tests/tensormap/*.txt; do
    name=${text##*/} name=${name%.txt}
    tensormap explain <"$text"
    echo "status $?" >>"$work/out"
    cat "$work/err" >>"$work/out"
    [ -z "${BLESS:-}" ] || cp "$work/out" "${text%.txt}.out"
    cmp -s "$work/out" "${text%.txt}.out"
    ok $? "explain: $name"
    # As JSON: an object a call, the same verdict.
    tensormap explain --json <"$text"
    echo "status $?" >>"$work/out"
    [ "$(grep -c '^status' "$work/out")" -eq 1 ] && [ "$(tail -n 1 "$work/out")" = "$(grep '^status' "${text%.txt}.out")" ] &&
        [ -z "$(sed '$d' "$work/out" | grep -v '^{.*}$')" ]
    ok $? "explain: $name, json"
    # What is quoted in a log, on one line.
    sed 's/$/\\n/' "$text" | tr -d '\n' >"$work/quoted"
    case $name in
    *_code) ;;
    *)
        tensormap explain <"$work/quoted"
        [ "$(grep -c '^f=\|result' "$work/out")" -eq "$(grep -c '^f=\|result' "${text%.txt}.out")" ]
        ok $? "explain: $name, quoted in a log"
        ;;
    esac
done
# The nearest call of each refused text is taken.
sed -n '/^the nearest call/{n;s/^ *//p;}' tests/tensormap/*.out | while read -r words; do
    # shellcheck disable=SC2086
    tensormap explain $words result=700 || echo "$words"
done >"$work/lost"
[ ! -s "$work/lost" ]
ok $? "explain: the nearest calls are accepted"
tensormap explain dtype=bf16 dim=64,64 box=64,64 addr=0 && grep -q '^  warning: addr is 0, .*\[TMA-NULL\]' "$work/out"
ok $? "explain: address 0 of an unknown driver"
tensormap explain dtype=bf16 dim=64,64 box=64,64 addr=0 driver=12.6 && ! grep -q TMA-NULL "$work/out"
ok $? "explain: address 0 of a newer driver"
refused --driver 12.4 dtype=bf16 dim=64,64 box=64,64 addr=0 && grep -q '^  addr is 0, .*\[TMA-NULL\]' "$work/out"
ok $? "explain: address 0 of an older driver"
tensormap explain dtype=bf16 dim=64,64 box=64,64 result=CUDA_ERROR_ILLEGAL_ADDRESS &&
    grep -q "^  the arguments are fine; result 700 .* is not this call's: an earlier kernel" "$work/out"
ok $? "explain: result 700"
refused 'cuTensorMapEncodeTiled(&m, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, p, dims, strides, box, ones, 0, 0, 0, 0)' &&
    grep -q "dim\[0\]: 'dims' is no list in the text" "$work/err"
ok $? "explain: a call whose names have no values"
head -c 20000000 /dev/zero | tensormap explain
[ $? -eq 1 ] && grep -q 'longer than 16 MiB' "$work/err"
ok $? "explain: a text without end"
for junk in '' 'cuTensorMapEncodeTiled(' 'cuTensorMapEncodeTiled()' 'x = {' 'globalDim (' 'dim dim dim' '((((((((((' \
    'cuTensorMapEncodeTiled(a,b,c,d,e,f,g,h,i,j,k,l)' 'a=a; cuTensorMapEncodeTiled(0,a,a,a,a,a,a,a,a,a,a,a)' \
    'cuTensorMapEncodeTiled(0,9,2,0,{64,64},{1/0},{64,64},{1,1},0,0,0,0)'; do
    printf 'x\n%s' "$junk" | tensormap explain
    [ $? -eq 1 ] && [ "$(wc -l <"$work/err")" -eq 1 ]
    ok $? "explain: text '$junk'"
done
# Texts that ask for much work: names that double, calls that never end.
{
    awk 'BEGIN { for (i = 0; i < 23; i++) printf "a%d = a%d + a%d;\n", i, i + 1, i + 1 }'
    echo 'a23 = 1; cuTensorMapEncodeTiled(0,9,a0,0,a,a,a,a,a,a,a,a)'
} >"$work/doubles"
awk 'BEGIN { print "x"; for (i = 0; i < 60000; i++) printf "cuTensorMapEncodeTiled(&m," }' >"$work/endless"
for text in doubles endless; do
    timeout 20 "$program" tensormap explain <"$work/$text" >"$work/out" 2>"$work/err"
    [ $? -eq 1 ] && [ "$(wc -l <"$work/err")" -eq 1 ]
    ok $? "explain: $text"
done

# Bytes.
map=$(head -n 1 "$work/maps")
tensormap decode "$map" && grep -q '^f ' "$work/out" && grep -q '^smem ' "$work/out"
ok $? "decode: a table"
mv "$work/out" "$work/want"
same() { # name digits...
    name=$1
    shift
    tensormap decode "$@" && cmp -s "$work/out" "$work/want"
    ok $? "decode: $name"
}
same "0x before the digits" "0x$map"
same "blanks between the digits" " $(echo "$map" | fold -w 60) "
# shellcheck disable=SC2046
same "a byte an argument" $(echo "$map" | fold -w 2)
# shellcheck disable=SC2046
same "0x before every byte" $(echo "$map" | fold -w 2 | sed 's/^/0x/')
# shellcheck disable=SC2046
tensormap decode $(echo "$map" | fold -w 16 | sed 's/^/0x/')
[ $? -eq 1 ] && grep -q 'before the two digits of each byte' "$work/err"
ok $? "decode: words are no bytes"

# Maps that the encoder here does not write. flip BIT: $map with this bit the other way.
flip() {
    at=$((2 * ($1 / 8)))
    byte=$(printf '%s' "$map" | tail -c +$((at + 1)) | head -c 2)
    printf '%s' "$map" | head -c "$at"
    printf '%02x' $((0x$byte ^ 1 << $1 % 8))
    printf '%s' "$map" | tail -c +$((at + 3))
}
tensormap explain --json dtype=bf16 dim=64,64 box=64,64 addr=0x1000 && map=$(sed 's/.*"map":"\(.*\)"}/\1/' "$work/out")
tensormap decode "$(flip 85)" && grep -q '^note .*bit 85, Blackwell' "$work/out" && [ ! -s "$work/err" ]
ok $? "decode: bit 85"
tensormap decode --json "$(flip 85)" && grep -q '"severity":"note","text":"bit 85, .*"dim":\[64,64\].*}$' "$work/out"
ok $? "decode: bit 85, json"
made=$(printf '%s%032d%s' "$(echo "$map" | cut -c 1-128)" 0 "$(echo "$map" | cut -c 161-)")
tensormap decode "$made" && grep -q '^note .*words 8 and 9 are 0' "$work/out" && [ ! -s "$work/err" ]
ok $? "decode: made on the device"
tensormap decode --json "$made" &&
    grep -q '"severity":"note","text":"words 8 and 9 .*,"smem_bytes":8192,"smem_align":16}$' "$work/out"
ok $? "decode: made on the device, json"
tensormap decode "$(flip 1016)"
[ $? -eq 1 ] && grep -q 'stray bits 1016$' "$work/err" && grep -q '^dim  *64 64$' "$work/out"
ok $? "decode: a stray bit"
tensormap decode --json "$(flip 512)"
[ $? -eq 1 ] && grep -q '"text":"stray bits 512",.*,"stray_bits":\[512\]}$' "$work/out"
ok $? "decode: a stray bit, json"
tensormap decode "$(flip 73)" # type code 10 becomes 14
[ $? -eq 1 ] && grep -q '^dtype .*type code 14$' "$work/out" && grep -q 'type code 14 (bits 71-74)' "$work/err" &&
    ! grep -q TMA-DT "$work/err"
ok $? "decode: a type code that no type has"
tensormap decode --json "$(flip 73)"
[ $? -eq 1 ] && grep -q '"severity":"error","text":"type code 14.*"dtype":null,.*"dim":\[64,64\].*"type_code":14,' "$work/out"
ok $? "decode: a type code that no type has, json"
map=$(flip 3) && map=$(flip 1016) && map=$(flip 85) # address 0x1008, a stray bit, a known one
tensormap decode "$map"
[ $? -eq 1 ] && grep -q '^addr  *0x1008$' "$work/out" && grep -q '^note .*bit 85' "$work/out" &&
    grep -q ': addr is 0x1008, no multiple of 16 bytes; .* \[TMA-ADDR16\]$' "$work/err" &&
    grep -q 'stray bits 1016$' "$work/err"
ok $? "decode: an address that breaks a rule"
tensormap decode --json "$map"
[ $? -eq 1 ] && rules TMA-ADDR16 && grep -q '"text":"addr is 0x1008.*"note".*"stray_bits":\[1016\]' "$work/out"
ok $? "decode: an address that breaks a rule, json"

# What is no map.
map=$(head -n 1 "$work/maps")
while read -r name why; do
    case $name in
    none) hex= ;;
    short) hex=00 ;;
    odd) hex=${map%?} ;;
    long) hex="$map 00" ;;
    letter) hex=$(echo "$map" | sed 's/..../&g/;s/.$//') ;;
    esac
    tensormap decode "$hex"
    [ $? -eq 1 ] && [ "$(cat "$work/err")" = "tilewright tensormap decode: a map is 256 hex digits, and $why" ]
    ok $? "decode: $name"
    tensormap decode --json "$hex"
    [ $? -eq 1 ] && grep -qF "\"text\":\"a map is 256 hex digits, and $why\"" "$work/out"
    ok $? "decode: $name, json"
done <<'END'
none these are 0
short these are 2
odd these are 255
long these are 258
letter character 5 is none
END

# Usage.
for words in "" frobnicate "encode --cc 9" "encode --cc" "encode --cc x.y" "encode extra" "encode --what" decode \
    "decode --cc 9.0 00"; do
    # shellcheck disable=SC2086
    tensormap $words </dev/null
    [ $? -eq 2 ] && [ -s "$work/err" ]
    ok $? "usage: '$words'"
done
tensormap --help && grep -q '^usage' "$work/out"
ok $? "help"

[ "$failed" -eq 0 ]
