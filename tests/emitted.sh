#!/bin/sh
# What is emitted, read as a person would: no arithmetic of constants, no loop of one trip, no function that nobody
# calls, no variable that nobody reads, no asm of memory that is not volatile, no line past 120 columns.
# tests/emitted.awk has the list. The C pair: no such line, sources in few chunks. TAP on stdout.
#   usage: tests/emitted.sh [PROGRAM], from the top of the tree
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_emitted_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
LC_ALL=C
export LC_ALL
. tests/tap.sh

# read_all FOLDER AT-LEAST NAME: every .cu file in it.
read_all() {
    files=$(find "$1" -name '*.cu' | wc -l)
    find "$1" -name '*.cu' | sort | xargs awk -f tests/emitted.awk >"$work/told" 2>/dev/null
    [ ! -s "$work/told" ] && [ "$files" -ge "$2" ]
    ok $? "$3: $files files"
    sed "s|$work/made/||" "$work/told" | head -n 40 | sed 's/^/# /'
}

# The reader itself: each of these lines is told, and none of the others.
mkdir "$work/wrong"
wrong=0
while read -r line; do
    wrong=$((wrong + 1))
    printf '__device__ void f()\n{\n    %s\n}\n\nvoid g()\n{\n    f();\n}\n' "$line" >"$work/wrong/$wrong.cu"
    awk -f tests/emitted.awk "$work/wrong/$wrong.cu" 2>/dev/null | grep -q . || echo "$line" >>"$work/missed"
done <<'lines'
x = 0 + y;
x = f(y + 0);
x = y ^ 0;
x = y >> 0;
x = y * 1;
x = (y / 1) % 2;
x = 1 * y;
x = y % 1;
x = y * 0;
x = a[64 / 2];
x = y * 2 * 4;
x = y + (-8);
for (int i = 0; i < 1; ++i)
if (true)
const int unread = x;
asm("ld.global.nc.u32 %0, [%1];" : "=r"(x) : "l"(y));
x = first_argument_of_it(here, there, and, everywhere, and, nowhere, else) + 2222222222222222222222222222222222222222;
lines
[ ! -s "$work/missed" ]
ok $? "the reader tells each of $wrong lines that are not to be"
[ ! -s "$work/missed" ] || sed 's/^/# /' "$work/missed"
printf '%s\n' '__device__ int f()' '{' '    return 0;' '}' >"$work/uncalled.cu"
awk -f tests/emitted.awk "$work/uncalled.cu" 2>/dev/null | grep -q 'nobody calls: f'
ok $? "the reader tells a function that nobody calls"
printf '%s\n' 'x = 8 + 8 * stage; // 0 + 1 * 2' 'asm("add %0, 0 + 1;");' 'x = y < 0 ? 1 : 0.0f * 1.0f + 10;' \
    'x = threadIdx.x % 128 / 32 * 16;' >"$work/right.cu"
awk -f tests/emitted.awk "$work/right.cu" >"$work/told" 2>/dev/null
[ ! -s "$work/told" ]
ok $? "the reader lets others be"

# What a turn reads from tensors and no dot gives: nothing of it between the wait for the turn's products and its end.
cat >"$work/late.awk" <<'awk'
/mma_commit\(\);/ { running = 1 }
/mma_wait_0\(\);/ && running { waited = 1 }
/^            }$/ { running = waited = 0 }
waited && /_(at|along)\(args|_rows\(/ { print FILENAME ":" FNR ": " $0 }
awk
mkdir "$work/early"
for kernel in gemm_types:gemm_fp8_blocks gemm_weights:gemm_w8a16 gemm_weights:gemm_w4a16; do
    "$program" gen "specs/${kernel%:*}.lua" --kernel "${kernel#*:}" --arch sm_90a -o "$work/early" || echo failed
    awk -f "$work/late.awk" "$work/early/${kernel#*:}.sm_90a.cu"
    grep -qE '_along\(args|_rows\([a-z_]+, ab_stage' "$work/early/${kernel#*:}.sm_90a.cu" || echo "reads nothing"
done >"$work/told" 2>&1
[ ! -s "$work/told" ]
ok $? "scales of a turn are read before its products are waited for" "$work/told"
awk '/mma_wait_0\(\);/ { print; $0 = "x = scale_at(args, 0);" } { print }' "$work/early/gemm_w8a16.sm_90a.cu" >"$work/late.cu"
awk -f "$work/late.awk" "$work/late.cu" | grep -q scale_at
ok $? "and would be told if they were not"

# What is refused on an architecture has a test of its own.
"$program" check templates/bench/host.lua >"$work/told" 2>&1
ok $? "what bench --host measures is a spec" "$work/told"
for spec in specs/*.lua templates/bench/*.lua tests/programs/*.lua tests/programs/found/*.lua \
    tests/programs/spilled/*.lua tests/rows/*.lua; do
    case $spec in *.tuned.lua) continue ;; esac
    for arch in sm_90a sm_80; do
        folder=$work/made/$(echo "${spec%.lua}" | tr / _).$arch
        "$program" gen "$spec" --arch $arch -o "$folder" >/dev/null 2>&1 || [ $? -eq 1 ] || ok 1 "gen $spec, $arch"
    done
done
read_all "$work/made" 300 "what is emitted has nothing left of the general case"
long=$(find "$work/made" -name '*.[ch]' | sort | xargs awk 'length > 120 { print FILENAME ": " FNR ": " $0 }' | head -n 20)
[ -z "$long" ]
ok $? "no line of the C files passes 120 columns"
[ -z "$long" ] || echo "$long" | sed "s|$work/made/|# |"
pointers=$(find "$work/made" -name '*.c' | xargs awk '/^static const char \*const (source|ptx)_/ { on = 1; chunks = 0 }
    on && /",$/ { chunks++ } on && /^};/ { on = 0; most = chunks > most ? chunks : most } END { print most + 0 }')
[ "$pointers" -gt 0 ] && [ "$pointers" -le 40 ]
ok $? "sources are few literals: $pointers at most"
twice=$(for kernel in specs_gemm.sm_80/gemm_bf16_two_outputs \
    tests_programs_found_outputs_of_one_sum.sm_80/outputs_of_one_sum; do
    for variant in "" __unaligned; do
        grep -c 'int slab = 0' "$work/made/$kernel$variant.sm_80.cu"
    done
done | grep -vx 1)
[ -z "$twice" ]
ok $? "outputs of the same sums share a loop where they are stored from registers"
echo "1..$count"
[ "$failed" -eq 0 ]
