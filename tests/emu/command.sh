#!/bin/sh
# tilewright emu: kernels of .cu and .ptx files, their arguments, and every kind of input that is none. TAP on stdout.
# usage: tests/emu/command.sh [PROGRAM], from the top of the tree. Needs NVRTC for the .cu files, no GPU.
set -u
program=${1:-build/tilewright}
here=tests/emu/command
work=$(mktemp -d) || exit 3
trap 'rm -rf "$work"' EXIT
. tests/tap.sh
shown="$work/out $work/err"

emu() { "$program" emu "$@" >"$work/out" 2>"$work/err"; }

# good NAME LAST-LINE OPTION...: status 0, nothing on stderr, the last line
good() {
    name=$1 last=$2
    shift 2
    emu "$@" && [ ! -s "$work/err" ] && tail -n 1 "$work/out" | grep -qx "$last"
    ok $? "$name"
}
# bad NAME STATUS PATTERN OPTION...: the status, a line of stderr that matches, no last line, nothing written
bad() {
    name=$1 status=$2 pattern=$3
    shift 3
    rm -f "$work/dump"
    emu "$@"
    [ $? -eq "$status" ] && grep -q -- "$pattern" "$work/err" && ! grep -q '^completed' "$work/out" &&
        [ ! -e "$work/dump" ]
    ok $? "$name"
}
# holds NAME TYPE NUMBER...: the dump, element by element
holds() {
    name=$1 type=$2
    shift 2
    od -A n -v -t "$type" "$work/dump" | tr -s ' \n' '\n\n' | sed '/^$/d' >"$work/have"
    printf '%s\n' "$@" >"$work/want"
    cmp -s "$work/have" "$work/want"
    ok $? "$name"
}

# ---- PTX: no compiler is needed

add="$here/add.ptx --grid 1"
dump=$work/dump
good "ptx: block from .reqntid, bare numbers" 'completed: 1 block, [1-9][0-9]* thread-instructions, 0 hazards' \
    $add --arg "buf:128,fill=iota:i32,dump=$dump" --arg 7
holds "ptx: what it wrote" d4 $(seq 7 38)
good "ptx: a negative number" 'completed: 1 block, .*' $add --block 32 --arg "buf:32*4,fill=ones,dump=$dump" --arg -1
holds "ptx: ones are bits" d4 $(for i in $(seq 32); do echo -2; done)
good "ptx: offset, K, hex" 'completed: 1 block, .*' $add \
    --arg "buf:1K/4,fill=hex:01000000,name=x,offset=128,dump=$dump" --arg i32:2
holds "ptx: only behind the offset" d4 $(for i in $(seq 32); do echo 1; done; for i in $(seq 32); do echo 3; done)
good "ptx: arch" 'completed: 1 block, .*' $add --arch sm_90 --arg buf:128,fill=zero --arg 1
good "ptx: no blocks" 'completed: 0 blocks, 0 thread-instructions, 0 hazards' "$here/add.ptx" --grid 0 --arg buf:128 \
    --arg 1
head -c 100 /dev/zero | tr '\0' '\1' >"$work/input"
good "ptx: a file shorter than the buffer" 'completed: 1 block, .*' $add --hazards off \
    --arg "buf:128,fill=file:$work/input,dump=$dump" --arg 1
holds "ptx: file: what it held, and what nobody wrote" x4 $(for i in $(seq 25); do echo 01010102; done
    for i in $(seq 7); do echo 00000000; done)

printf '%s\n' '# a comment' '' '  buf:128,fill=value:i32:5,dump='"$dump" >"$work/args"
good "args: a file before --arg" 'completed: 1 block, .*' $add --args "$work/args" --arg 3
holds "args: what it wrote" d4 $(for i in $(seq 32); do echo 8; done)

for seed in 1 1 2; do
    emu $add --arg "buf:128,fill=normal:f32:$seed,dump=$dump" --arg 0 && cat "$dump" >>"$work/normal"
done
head -c 128 "$work/normal" >"$work/a" && head -c 256 "$work/normal" | tail -c 128 >"$work/b"
tail -c 128 "$work/normal" >"$work/c"
cmp -s "$work/a" "$work/b" && ! cmp -s "$work/a" "$work/c"
ok $? "fill: normal values by seed"
emu $add --arg "buf:128,fill=integer:i32,dump=$dump" --arg 0 && od -A n -v -t d4 "$dump" | tr -s ' ' '\n' |
    awk 'NF { if ($1 < -4 || $1 > 4) bad = 1; n++; s[$1] = 1 }
         END { for (k in s) kinds++; exit bad || n != 32 || kinds < 4 }'
ok $? "fill: small integers"

good "json: one object" \
    '{"command":"emu","status":0,"diagnostics":\[\],"completed":true,"kernel":"add","device":"emu",.*"thread_instructions":[1-9][0-9]*,.*"hazards":\[\]}' $add \
    --arg buf:128,fill=zero --arg 1 --json
emu $add --arg buf:128,fill=zero --arg 1 --stats && grep -q '^registers: ' "$work/out" &&
    grep -q '^warp-instructions: [1-9][0-9]*$' "$work/out"
ok $? "stats"

emu $add --arg "buf:128,dump=$dump" --arg 1
[ $? -eq 1 ] && grep -q '^hazard UNINIT: .*PTX line 15' "$work/err" && grep -q '1 hazard$' "$work/out" && [ -s "$dump" ]
ok $? "hazard: what nothing has written; the kernel goes on, the dump is written"
bad "hazard: fatal stops, no dump" 1 '^hazard UNINIT' $add --arg "buf:128,dump=$dump" --arg 1 --hazards fatal
bad "hazard: past the end, no dump" 1 '^hazard BOUNDS: .*64 bytes' $add --arg "buf:64,fill=zero,dump=$dump" --arg 1
emu $add --arg buf:128 --arg 1 --json
[ $? -eq 1 ] && grep -q '"hazards":\[{"name":"UNINIT",.*"ptx_line":15' "$work/out" && [ "$(wc -l <"$work/out")" -eq 1 ]
ok $? "hazard: in json"
bad "limit" 1 'instruction' $add --arg buf:128,fill=zero --arg 1 --limit 5

# ---- what is no input

buf=buf:128,fill=zero,dump=$dump
bad "usage: no file" 2 'which file' --grid 1
bad "usage: two files" 2 "unexpected 'b.cu'" a.cu b.cu
bad "usage: unknown option" 2 "did you mean '--grid'" $add --grit 1
bad "usage: no grid" 2 -- '--grid is missing' "$here/add.ptx" --arg "$buf" --arg 1
bad "usage: grid" 2 '--grid 1,x: write X' "$here/add.ptx" --grid 1,x
bad "usage: grid of four" 2 '--grid 1,1,1,1: write X' "$here/add.ptx" --grid 1,1,1,1
bad "usage: block of 0" 2 '--block 0: .*1 or more' $add --block 0
bad "usage: cluster" 2 '--cluster 2x: ' $add --cluster 2x
bad "usage: shared" 2 '--shared 4Q: write a number such as' $add --shared 4Q
bad "usage: shared past 2 GiB" 2 '--shared 4G: more than' $add --shared 4G
bad "usage: stack" 2 '--stack 0: ' $add --stack 0
bad "usage: complete" 2 '--complete soon: write eager, late or random' $add --complete soon
bad "usage: hazards" 2 '--hazards maybe: write on, off' $add --hazards maybe
bad "usage: device" 2 '--device tpu: write emu, cuda' $add --device tpu
bad "usage: sms" 2 '--sms 5000: ' $add --sms 5000
bad "usage: arch" 2 '--arch sm_70: .*sm_80, sm_86' $add --arch sm_70 --arg "$buf" --arg 1

bad "file: not there" 1 'none.ptx: No such file' "$work/none.ptx" --grid 1
bad "file: neither" 1 'add.txt: neither a .cu nor a .ptx' add.txt --grid 1
bad "entry: not there" 1 '--entry sub: .* has no such kernel; it has' $add --entry sub --arg "$buf" --arg 1
bad "block: unlike .reqntid" 1 '64 threads.*reqntid wants 32' $add --block 64 --arg "$buf" --arg 1
bad "args: file not there" 1 '--args .*none: No such file' $add --args "$work/none"
printf '%s\n' '# one' 'i32:x' >"$work/args"
bad "args: file and line" 1 "args:2: error: 'i32:x': it is no integer" $add --args "$work/args"

argument() { # NAME PATTERN ARGUMENT: the second one
    bad "argument: $1" 1 "--arg 2: '.*: $2" $add --arg "$buf" --arg "$3"
}
bad "argument: too few" 1 'has 2 parameters, and 1 argument is given' $add --arg "$buf"
grep -q '^    1   u32        4 bytes$' "$work/err"
ok $? "argument: the parameters are listed"
bad "argument: too many" 1 'has 2 parameters, and 3 arguments are given' $add --arg "$buf" --arg 1 --arg 2
argument "bytes" '8 bytes, and parameter 1 of add is u32, 4 bytes' u64:7
argument "no word" 'an argument is i8 u8' x
argument "unknown type" 'an argument is i8 u8' i33:7
argument "float for an integer" 'the parameter is u32, and it is no integer' 1.5
argument "past 32 bits" 'the parameter is u32, and it does not fit' 4294967296
argument "below 32 bits" 'the parameter is u32, and it does not fit' -2147483649
argument "past i32" 'it does not fit the type' i32:2147483648
argument "negative u32" 'it does not fit the type' u32:-1
argument "no number" 'a number is missing' i32:
argument "junk behind" 'it is no number' f32:1.5x
argument "hex" 'bytes are written as pairs of hexadecimal digits' bytes:123
argument "struct without braces" 'a struct is written struct:{' struct:i32:5
argument "struct of nothing" 'a struct has a member' 'struct:{}'
argument "struct with a bare number" 'a member of a struct needs its type' 'struct:{5}'
argument "struct of other size" '8 bytes, and parameter 1' 'struct:{i32:5,i32:6}'

buffer() { # NAME PATTERN BUFFER: the first argument
    bad "buffer: $1" 1 "--arg 1: '.*$2" $add --arg "$3" --arg 1
}
buffer "bytes missing" "the buffer's bytes '': a number is missing" buf:
buffer "bytes" "the buffer's bytes '12q': write a number such as" buf:12q
buffer "parenthesis" 'a ) is missing' 'buf:4*(2+1'
buffer "negative" 'the number is negative' buf:4-5
buffer "past 64 bits" 'does not fit 64 bits' 'buf:16G*16G'
buffer "by zero" 'a division by zero' buf:4/0
buffer "more than there is" 'bytes are asked for' buf:900G
buffer "option" "'size' is no option of a buffer" buf:128,size=3
buffer "fill twice" "fill= is given twice" buf:128,fill=zero,fill=ones
buffer "name twice" "name= is given twice" buf:128,name=a,fill=zero,name=a
buffer "offset twice" "offset= is given twice" buf:128,offset=0,offset=4
buffer "dump twice" "dump= is given twice" "buf:128,dump=$dump,dump=$dump"
buffer "option without value" "'fill' is no option" buf:128,fill=
buffer "offset" 'lies behind' buf:128,offset=129
buffer "fill" 'fill=blue: write zero, poison' buf:128,fill=blue
buffer "fill type" 'fill=iota:i33: the type is none of' buf:128,fill=iota:i33
buffer "fill of odd bytes" 'no whole number of elements' buf:127,fill=ones:i32
buffer "normal integers" 'normal values are floating' buf:128,fill=normal:i32
buffer "seed" 'the seed is no number' buf:128,fill=normal:f32:x
buffer "value" 'write value:TYPE:NUMBER' buf:128,fill=value:i32
buffer "hex" 'pairs of hexadecimal digits' buf:128,fill=hex:1
buffer "long hex" 'more bytes than the buffer has' buf:1,fill=hex:0011
buffer "file not there" 'No such file' buf:128,fill=file:"$work/none"
buffer "long file" 'has 100 bytes, the buffer 4' buf:4,fill=file:"$work/input"
buffer "small for a map" 'a tensor map is 128 bytes' 'buf:64,fill=map:{}'
bad "buffer: two of a name" 1 "another buffer has the name 'x'" $add --arg buf:4,name=x --arg buf:4,name=x
bad "buffer: no such name" 1 "no buffer has this name" $add --arg ref:x --arg 1
emu $add --arg "buf:128,fill=zero,dump=/proc/none/dump" --arg 1
[ $? -eq 3 ] && grep -q 'none' "$work/err"
ok $? "dump: it cannot be written"

ptx() { # NAME PATTERN EDIT: what is no PTX
    sed "$3" "$here/add.ptx" >"$work/bad.ptx"
    bad "ptx: $1" 1 "$work/bad.ptx:$2" "$work/bad.ptx" --grid 1 --arg "$buf" --arg 1
}
ptx "unknown instruction" "16: error: unknown instruction 'frobnicate.u32'" 's/add.u32 %r3/frobnicate.u32 %r3/'
ptx "undeclared register" '16: error: .*%r9 is not declared' 's/%r3, %r1;/%r9, %r1;/'
ptx "cut short" '[0-9]*: error: .*end of the text' '/ret/,$d'
ptx "no version" '[0-9]*: error: no .version' 1d
ptx "another architecture" ' error: its .target is sm_103a' s/sm_70/sm_103a/
ptx "a stray byte" '3: error: a byte' 's/^.address_size/\x01&/'
: >"$work/bad.ptx"
bad "ptx: nothing" 1 'bad.ptx:1: error: no .version' "$work/bad.ptx" --grid 1
sed s/sm_70/sm_90a/ "$here/add.ptx" >"$work/bad.ptx"
bad "ptx: for more than --arch" 1 '--arch sm_80: the .target of .* is sm_90a' "$work/bad.ptx" --grid 1 --arch sm_80

# ---- CUDA

finish() {
    echo "1..$count"
    [ "$failed" -eq 0 ]
    exit
}
if ! "$program" doctor 2>/dev/null | grep -q '^nvrtc *version'; then
    count=$((count + 1))
    echo "ok $count - emu of .cu files # SKIP there is no NVRTC"
    finish
fi

good "cu: a vector" 'completed: 2 blocks, .* 0 hazards' "$here/vector.cu" --grid 2 --block 8 \
    --arg buf:64,fill=iota:f32 --arg buf:64,fill=ones:fp32 --arg "buf:16*4,dump=$dump" --arg 0.5 --arg 16
holds "cu: what it wrote" f4 $(for i in $(seq 0 15); do echo $i.5; done)
rm -f "$dump"
load() { # NAME MAP OPTION...: tile of 32 x 16 from (16, 8)
    name=$1 map=$2
    shift 2
    good "map: $name" 'completed: 1 block, .* 0 hazards' "$here/load.cu" --grid 1 --block 128 --arg "$map" \
        --arg buf:16K,name=A,fill=iota:u32 --arg "buf:2K,dump=$dump" --arg 16 --arg 8 "$@"
}
plain='"f":"tiled","dtype":2,"rank":2,"dim":[64,64],"stride":[256],"box":[32,16],"estride":[1,1],"interleave":0,"oob":0'
want=$(awk 'BEGIN { for (y = 8; y < 24; y++) for (x = 16; x < 48; x++) print 64 * y + x }')
load "JSON" "map:{$plain,\"swizzle\":0,\"buffer\":\"A\"}"
holds "map: a tile" u4 $want
load "words, late" 'map:buffer=A dtype=uint32 dim=64,64 box=32,16 swizzle=128B' --complete late
# swizzle 128B: 16-byte chunk c of row r lies at chunk c ^ r % 8
holds "map: a swizzled tile" u4 $(awk 'BEGIN {
    for (y = 0; y < 16; y++) for (c = 0; c < 8; c++) for (e = 0; e < 4; e++) {
    r = y % 8; k = 0; for (b = 1; b < 8; b *= 2) if (int(c / b) % 2 != int(r / b) % 2) k += b
    print 64 * (y + 8) + 16 + 4 * k + e } }')
printf '{%s,"swizzle":0,"buffer":"A","offset":256}\n' "$plain" >"$work/map.json"
load "a file, an offset" "map:@$work/map.json" --complete random --seed 3
holds "map: one row on" u4 $(awk 'BEGIN { for (y = 9; y < 25; y++) for (x = 16; x < 48; x++) print 64 * y + x }')

printf '%s\n' "map:@$work/map.json" 'buf:4' "buf:2K,dump=$dump" 16 8 'buffer:16K,name=A,fill=iota:u32' >"$work/args"
good "map: over a buffer that is no argument" 'completed: 1 block, .* 0 hazards' "$here/load.cu" --grid 1 --block 128 \
    --args "$work/args"
holds "map: the same" u4 $(awk 'BEGIN { for (y = 9; y < 25; y++) for (x = 16; x < 48; x++) print 64 * y + x }')
bad "map: --buffer that is none" 1 "--buffer 1: 'buffer:x,name=A': the buffer's bytes 'x': a number" "$here/load.cu" \
    --grid 1 --block 128 --buffer x,name=A

map() { # NAME PATTERN MAP
    bad "map: $1" 1 "--arg 1: .*$2" "$here/load.cu" --grid 1 --block 128 --arg "$3" \
        --arg buf:16K,name=A,fill=iota:u32 --arg "buf:2K,dump=$dump" --arg 0 --arg 0
}
map "rules" '\[TMA-STR16\]; .*\[TMA-SPAN\]' \
    'map:buffer=A dtype=uint32 dim=64,64 stride=200 box=64,16 swizzle=128B'
map "no such buffer" "no buffer has the name 'B'" 'map:buffer=B dtype=uint32 dim=64,64 box=32,16'
map "no address" 'neither buffer=NAME nor addr' 'map:dtype=uint32 dim=64,64 box=32,16'
map "no address in JSON" 'neither "buffer":"NAME" nor addr' "map:{$plain,\"swizzle\":0}"
map "missing field" 'rank is missing' 'map:{"f":"tiled"}'
map "no JSON" 'no JSON' 'map:{"f":'
map "unknown word" "no argument is called 'colour'" 'map:buffer=A dtype=uint32 dim=64,64 box=32,16 colour=1'
map "no file" 'No such file' "map:@$work/none"
map "not a map" '8 bytes, and parameter 0 of load is b8\[128\], 128 bytes' buf:128
bad "map: sm_80" 1 'this architecture has no tensor maps' "$here/load.cu" --arch sm_80 --grid 1 --block 128 \
    --arg 'map:buffer=A dtype=uint32 dim=64,64 box=32,16' --arg buf:16K,name=A --arg buf:2K --arg 0 --arg 0

good "struct: one parameter" 'completed: 1 block, .* 0 hazards' "$here/pack.cu" --grid 1 --block 8 \
    --arg "struct:{buf:64,fill=iota:i32,i64:2,i32:4,f32:0.5,u8:1,buf:32,dump=$dump}"
holds "struct: what it wrote" f8 0 1 2 3
bad "struct: a member is missing" 1 "32 bytes, and parameter 0 of pack is b8\[40\], 40 bytes" "$here/pack.cu" --grid 1 \
    --block 8 --arg 'struct:{buf:64,i64:2,i32:4,f32:0.5,u8:1}'
bad "struct: a bare number" 1 'the parameter is b8\[40\], not one number' "$here/pack.cu" --grid 1 --block 8 --arg 5

# A kernel of this project: its only parameter holds three tensor maps and the sizes, M = N = K = 64.
cat >"$work/first.lua" <<'END'
local M, N, K = dims "M N K"
kernel "first" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
  tile = { m = 128, n = 64, k = 64 },
  cluster = { m = 1 },
  pipeline = { stages = 3 },
}
END
"$program" gen "$work/first.lua" --arch sm_90a -o "$work/first" >"$work/out" 2>"$work/err"
ok $? "gemm: generated"
box='dtype=bf16 dim=64,64 swizzle=128B box=64'
for mode in eager late random; do
    good "gemm: one block, $mode" 'completed: 1 block, .* 0 hazards' "$work/first/first.sm_90a.cu" --grid 1 --block 384 \
        --shared 200K --complete $mode --buffer 8K,name=A,fill=value:bf16:3 --buffer 8K,name=B,fill=value:bf16:0.5 \
        --buffer "8K,name=D,dump=$dump" \
        --arg "struct:{map:(buffer=A $box,128),map:(buffer=B $box,64),map:(buffer=D $box,64),i32:64,i32:64,i32:64}"
    holds "gemm: 64 x 3 x 0.5, $mode" x2 $(awk 'BEGIN { for (i = 0; i < 4096; i++) print "42c0" }')
done

emu "$here/print.cu" --grid 1 --block 2 --arg 2
head -n 2 "$work/out" >"$work/printed"
printf 'thread 0 of 2\nthread 1 of 2\n' | cmp -s - "$work/printed"
ok $? "printf: on stdout"
good "printf: in json" '.*"output":"thread 0 of 2\\nthread 1 of 2\\n".*' "$here/print.cu" --grid 1 --block 2 \
    --arg 2 --json

good "shared: reversed" 'completed: 1 block, .* 0 hazards' "$here/shared.cu" --grid 1 --block 64 --shared 64*4 \
    --arg "buf:256,fill=iota:i32,dump=$dump"
holds "shared: what it wrote" d4 $(seq 63 -1 0)
bad "shared: none" 1 '^hazard BOUNDS: .*shared.cu:6' "$here/shared.cu" --grid 1 --block 64 --arg buf:256,fill=zero
emu "$here/shared.cu" --grid 1 --block 64 --shared 256 --arg "buf:256,fill=iota:i32" --define MISSING
[ $? -eq 1 ] && grep -q '^hazard UNORDERED-READ: .*shared.cu:10' "$work/err" &&
    grep -q '^completed: 1 block' "$work/out"
ok $? "hazard: a missing barrier, with the line"
grep -q '^  do: ' "$work/err"
ok $? "shared: a report says what to do"
emu "$here/shared.cu" --grid 1 --block 64 --shared 256 --arg "buf:256,fill=iota:i32" --define MISSING --json
[ $? -eq 1 ] && grep -q '"name":"UNORDERED-READ",.*"do":".*"line":10,.*"other":' "$work/out"
ok $? "shared: the same in json"
emu "$here/shared.cu" --grid 1 --block 64 --shared 256 --arg "buf:256,fill=iota:i32" --define MISSING --hazards off
ok $? "hazard: off"

race() { # MODE SEED
    emu "$here/race.cu" --grid 1 --block 256 --arg buf:32,fill=iota:i32 --arg "buf:32,dump=$dump" --hazards off \
        --complete "$1" --seed "$2"
}
race eager 1
holds "complete: eager" d4 0 1 2 3 4 5 6 7
race late 1
holds "complete: late" d4 -1 -1 -1 -1 -1 -1 -1 -1
for seed in 1 2 3 4 5 6; do
    race random $seed && mv "$dump" "$work/random.$seed"
    race random $seed && cmp -s "$dump" "$work/random.$seed" || echo "$seed" >>"$work/unlike"
    cksum <"$work/random.$seed" >>"$work/sums"
done
[ ! -e "$work/unlike" ] && [ "$(sort -u "$work/sums" | wc -l)" -gt 1 ]
ok $? "complete: random is the same for a seed, and another for another"
for mode in eager late random; do
    emu "$here/race.cu" --grid 1 --block 64 --arg buf:32,fill=iota:i32 --arg buf:32 --complete $mode
    [ $? -eq 1 ] && grep -q '^hazard UNORDERED-READ: .*race.cu:14' "$work/err" || echo $mode >>"$work/missed"
done
[ ! -e "$work/missed" ]
ok $? "hazard: a copy that was not waited for, whatever the mode"

good "cluster" 'completed: 4 blocks, .* 0 hazards' "$here/cluster.cu" --grid 4 --block 1 --cluster 2 \
    --arg "buf:16,dump=$dump"
holds "cluster: what it wrote" u4 100 101 100 101
bad "cluster: no multiple" 1 'no multiple of the cluster' "$here/cluster.cu" --grid 3 --block 1 --cluster 2 --arg buf:16

several="$here/several.cu --grid 1 --block 4 --define WIDTH=3"
good "entry: in a namespace" 'completed: .*' $several --entry tools::twice --arg "buf:16,fill=iota:i32,dump=$dump"
holds "entry: twice" d4 0 2 4 6
good "entry: the last of its name" 'completed: .*' $several --entry twice --arg buf:16,fill=zero
good "entry: not mangled" 'completed: .*' $several --entry plain --arg "buf:16,fill=iota:i32,dump=$dump"
holds "entry: plain, and the macro" d4 3 4 5 6
good "entry: mangled" 'completed: .*' $several --entry _Z5scaleIfEvPT_S0_ --arg buf:16,fill=zero --arg 2
bad "entry: two of a name" 1 '--entry scale: 2 kernels' $several --entry scale
grep -q '_Z5scaleIiEvPT_S0_ (scale)' "$work/err" && ! grep -q twice "$work/err"
ok $? "entry: they are listed"
bad "entry: which of four" 1 'has 4 kernels; choose by --entry' $several
bad "block: it is missing" 2 '--block is missing' "$here/print.cu" --grid 1 --arg 2

bad "cu: it does not compile" 1 "$here/several.cu(8): error: .*WIDTH" "$here/several.cu" --grid 1 --block 4
bad "cu: unknown instruction" 1 "^$here/unknown.cu:7: error: unknown instruction 'frobnicate.b32' (PTX line" \
    "$here/unknown.cu" --grid 1 --block 4 --arg buf:16,fill=zero
unknown="$here/unknown.cu --grid 1 --block 4 --arg buf:16,fill=zero"
bad "cu: an instruction out of scope" 1 'unknown.cu:5: error: .*tcgen05.shift.*not supported' $unknown \
    --define 'TCGEN="tcgen05.shift.cta_group::1.down [%0];"'
fence='TCGEN="tcgen05.fence::before_thread_sync;"'
bad "cu: an instruction of sm_100a alone" 1 'sm_90a does not have it: .*sm_100a' $unknown --define "$fence"
good "cu: sm_100a" 'completed: 1 block, [1-9][0-9]* thread-instructions, 0 hazards' $unknown --define "$fence" \
    --arch sm_100a
printf '__device__ int x;\n' >"$work/none.cu"
bad "cu: no kernel" 1 'has no kernel' "$work/none.cu" --grid 1 --block 1
printf '#include "missing.h"\n' >"$work/none.cu"
bad "cu: no such header" 1 'none.cu(1): .*missing.h' "$work/none.cu" --grid 1 --block 1

# ---- variables, NVRTC's own options, the stack

set="$here/set.cu --grid 1 --block 4"
scale='struct:{i32:1,i32:10,i32:2,i32:3}'
good "set: constant, static and pointer" 'completed: 1 block, .*' $set --arg "buf:16,dump=$dump" \
    --set "tools::scale=$scale" --set bias=5 --set table=buf:4,fill=value:i32:100
holds "set: what it wrote" d4 105 115 125 135
good "set: by the name in PTX; a float" 'completed: 1 block, .*' $set --arg "buf:16,dump=$dump" \
    --set "_ZN5tools5scaleE=$scale" --set bias=1.5e1
holds "set: what nobody set is as it was" d4 22 32 42 52
bad "set: an array is no number" 1 "--set 1: '5': the variable is b8.16., not one number" $set --arg buf:16 \
    --set tools::scale=5
bad "set: bytes" 1 "--set 1: 'i32:5': 4 bytes, and tools::scale has 16" $set --arg buf:16 --set tools::scale=i32:5
bad "set: an unknown name" 1 '--set nope: .*set.cu has no variable of this name; it has' $set --arg buf:16 --set nope=1
grep -q '^  _ZN5tools5scaleE (tools::scale)$' "$work/err" && grep -q '^  table$' "$work/err"
ok $? "set: they are listed"
bad "set: one of two" 1 '--set scale: .* has several variables of this name; write the whole one' $set --arg buf:16 \
    --set scale=1
bad "set: twice" 1 "--set 2: 'bias=2': bias is set already" $set --arg buf:16 --set bias=1 --set bias=2
bad "set: no value" 1 "--set 1: 'bias': write NAME=VALUE" $set --arg buf:16 --set bias
bad "nvrtc: without the options" 1 'options.cu(1): error: .*concept' "$here/options.cu" --grid 1 --block 4 \
    --arg "buf:16,dump=$dump"
good "nvrtc: its options" 'completed: 1 block, .*' "$here/options.cu" --grid 1 --block 4 --arg "buf:16,dump=$dump" \
    --nvrtc -std=c++20 --nvrtc=-default-device --nvrtc --use_fast_math
holds "nvrtc: what it wrote" d4 0 2 4 6
bad "nvrtc: an option that it has not" 1 'unrecognized option --frobnicate' "$here/options.cu" --grid 1 --block 4 \
    --arg buf:16 --nvrtc --frobnicate
bad "nvrtc: the architecture" 2 '--nvrtc -arch=sm_80: write --arch' "$here/options.cu" --grid 1 --block 4 --arg buf:16 \
    --nvrtc -arch=sm_80
bad "nvrtc: no option" 2 '--nvrtc fast: an option begins with -' "$here/options.cu" --grid 1 --block 4 --arg buf:16 \
    --nvrtc fast
bad "stack: too small for the kernel" 1 \
    '^hazard BOUNDS: stack overflow: a thread needs [0-9]* bytes of local memory, and may use 64: .* stack.cu:' \
    "$here/stack.cu" --grid 1 --block 32 --arg buf:512,fill=zero --arg 5 --stack 64
emu "$here/stack.cu" --grid 1 --block 32 --arg buf:512,fill=zero --arg 5 --stack 64 --json
[ $? -eq 1 ] && grep -q '"completed":false,.*"hazards":\[{"name":"BOUNDS","text":"hazard BOUNDS: stack' "$work/out"
ok $? "stack: in the object of --json"
good "stack: as much as it needs" 'completed: 1 block, .*' "$here/stack.cu" --grid 1 --block 32 \
    --arg buf:512,fill=zero --arg 5 --stack 1K

if emu "$here/half.cu" --grid 1 --block 8 --arg "buf:16,fill=iota:f16,dump=$dump" --arg f16:0.25; then
    holds "include: the toolkit's and the file's own" x2 0000 3800 3c00 3e00 4000 4100 4200 4300
    mkdir "$work/elsewhere" && sed s/__hadd/__hsub/ "$here/half_scale.h" >"$work/elsewhere/half_scale.h"
    cp "$here/half.cu" "$work/half.cu"
    good "include: --include" 'completed: .*' "$work/half.cu" --grid 1 --block 2 --include "$work/elsewhere" \
        --arg "buf:4,fill=iota:f16,dump=$dump" --arg f16:0.25
    holds "include: what it wrote" x2 0000 0000
    grid="$here/grid.cu --grid 4 --block 32 --arg buf:512,dump=$dump"
    good "cooperative: a grid meets" 'completed: 4 blocks, .*, 0 hazards' $grid --cooperative
    bad "cooperative: it does not fit" 1 'a cooperative launch of 400 blocks, .* fit at a time' "$here/grid.cu" \
        --grid 400 --block 32 --sms 1 --arg buf:51200 --cooperative
    bad "cooperative: not said" 1 'trap at ' $grid
else
    count=$((count + 1))
    grep -q 'no headers of the CUDA toolkit: .*--include DIR' "$work/err"
    if [ $? -eq 0 ]; then echo "ok $count - include # SKIP there are no headers of the CUDA toolkit"; else
        failed=$((failed + 1)) && echo "not ok $count - include"
    fi
fi
finish
