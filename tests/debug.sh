#!/bin/sh
# Debug builds (--debug): their text, that they verify, and what their waits leave when they hang. TAP on stdout.
#   usage: tests/debug.sh [PROGRAM [DEVICE]], from the top of the tree. DEVICE is emu, or cuda for a GPU of capability 9.0.
# Needs NVRTC. Of a sanitized program one kernel of each kind runs: it is the records' code that is looked at.
set -u
program=${1:-build/tilewright} device=${2:-emu}
case $program in /*) ;; *) program=$PWD/$program ;; esac
top=$PWD
case $program in *sanitized*) few=1 ;; *) few= ;; esac
cc=${CC:-cc}
work=$(mktemp -d) || exit 3
trap 'rm -rf "$work"' EXIT
log=$work/log
. tests/tap.sh
shown="$log"

# has PATTERN...: a line of the log matches each
has() {
    for pattern; do
        grep -q -- "$pattern" "$log" || { echo "no line '$pattern'" >>"$log" && return 1; }
    done
}

# refused PATTERN OPTION...: usage, and nothing is written
refused() {
    pattern=$1
    shift
    "$program" "$@" >"$log" 2>&1
    [ $? -eq 2 ] && has "$pattern" && [ ! -e "$work/none" ]
    ok $? "refused: $*"
}

# In $work, where texts have names that do not change: what is compiled of them is found in the cache by the next run.
inside() {
    (cd "$work" && "$program" "$@")
}

if ! "$program" doctor >/dev/null 2>&1; then
    echo "ok 1 - debug builds # SKIP there is no NVRTC"
    exit 0
fi

# specs/gemm.lua without the set-ups beside it.
mkdir "$work/spec" && cp specs/gemm.lua "$work/spec"
gemm=$work/spec/gemm.lua

# ---- options ---------------------------------------------------------------------------------------------------------

for command in gen build; do
    refused '--debug-timeout 5: it goes with --debug' $command "$gemm" -o "$work/none" --debug-timeout 5
    refused '--debug-timeout 0: write 1 to 3600000 mill' $command "$gemm" -o "$work/none" --debug --debug-timeout 0
    refused 'write 1 to 3600000' $command "$gemm" -o "$work/none" --debug --debug-timeout 3600001
done
refused '--debug-timeout 5: it goes with --debug' run "$gemm" --debug-timeout 5

# ---- the text --------------------------------------------------------------------------------------------------------

"$program" gen "$gemm" --kernel gemm_bf16 -o "$work/plain" >"$log" 2>&1 &&
    ! grep -rn 'debug' "$work/plain" >>"$log"
ok $? "without --debug there is nothing of it"

"$program" gen "$gemm" --kernel gemm_bf16 --debug --debug-timeout 1234 -o "$work/gen" >"$log" 2>&1
text=$work/gen/gemm_bf16.sm_90a.cu
cp "$text" "$log"
has ', debug build: waits end after 1234 ms$' 'waited > 1234 \* 1000000ull' ' tilewright_debug;$' 'asm volatile("trap;");' &&
    ! grep -q '#line' "$text" && [ "$(grep -c 'barrier_wait(.*, line);' "$text")" = 3 ]
ok $? "gen --debug: every wait tells ring, kind, stage and line; no #line"

# A debug text is the plain one with additions: each of its lines is there, in order, but for the holes of the waits.
sed '/^ *#line/d; /^\/\/ tilewright/d; /barrier_wait(/d; /_position p)$/d; /^    } while (!done/d' \
    "$work/plain/gemm_bf16.sm_90a.cu" >"$work/a"
sed '/^\/\/ tilewright/d; /barrier_wait(/d; /_position p, int line/d; /^    } while (!done/d' "$text" >"$work/b"
diff "$work/a" "$work/b" >"$work/diff"
grep '^<' "$work/diff" >"$log"
[ ! -s "$log" ] && grep -q '^>' "$work/diff"
ok $? "a debug text adds to the plain one and takes nothing away"

"$program" build "$gemm" --kernel gemm_bf16 --debug -o "$work/build" >"$log" 2>&1 &&
    has 'sm_90a .* unaligned .* nvrtc' 'sm_80 ' && ls "$work/build/gemm_bf16.sm_90a.cu" >/dev/null
ok $? "build --debug compiles for sm_90a and sm_80"

# ---- good kernels ----------------------------------------------------------------------------------------------------

# verifies OPTION...: verified, and no word of a hazard, a record or anything else
verifies() {
    "$program" run "$@" --debug --device "$device" >"$log" 2>&1 && has '^verified' && ! grep -qv '^verified' "$log"
    ok $? "verifies: $*"
}
verifies "$gemm" --kernel gemm_bf16
[ -n "$few" ] || verifies "$gemm" --kernel gemm_bf16_bias_gelu
verifies "$gemm" --kernel gemm_bf16 --arch sm_80
verifies specs/rms_norm.lua
if [ "$device" = emu ] && [ -z "$few" ]; then
    verifies "$gemm" --kernel gemm_bf16 --complete late
    verifies "$gemm" --kernel gemm_bf16_at_bt_dt --complete random --seed 7
    verifies specs/rms_norm.lua --complete late
fi

# ---- hangs -----------------------------------------------------------------------------------------------------------

"$program" gen "$gemm" --kernel gemm_bf16 --arch sm_90a --debug --debug-timeout 300 -o "$work/short" >"$log" 2>&1
text=$work/short/gemm_bf16.sm_90a.cu

# edit NAME SED: $bad is the text with one line changed
edit() {
    bad=$1.cu
    sed "$2" "$text" >"$work/$bad"
    [ "$(diff "$text" "$work/$bad" | grep -c '^>')" = 1 ] || echo "not ok - the edit '$1' changes one line"
}
line_of() { # PATTERN: the number of the last line that matches
    grep -n "$1" "$text" | tail -n 1 | cut -d : -f 1
}
# hangs NAME PATTERN...: the run fails and the records say so
hangs() {
    name=$1
    shift
    inside run "$gemm" --source "$bad" --device "$device" --inputs normal --set M=257,N=512,K=512 --sms 132 \
        >"$log" 2>&1
    [ $? -eq 1 ] && has '^FAILED gemm_bf16 sm_90a' "$@"
    ok $? "hangs: $name"
}
full=$(line_of ' ab_wait_full(ab_next);') empty=$(line_of ' ab_wait_empty(ab_fill);')

# 16 bytes more are expected than come: nobody gets past the first stage; the producers fill all four and wait.
edit bytes 's/barrier_arrive_expect(ab_full(p.stage), 49152)/barrier_arrive_expect(ab_full(p.stage), 49168)/'
hangs "wrong bytes" \
    "^debug gemm_bf16: block (0,0,0) and 7 more, warps 4-11 wait for ring ab full, stage 0, step 0, parity 0: 0 arrivals and 16 bytes are missing, after [0-9]* ms ($bad:$full)" \
    "^debug gemm_bf16: block (0,0,0) and 7 more, warp 0 wait for ring ab empty, stage 0, step 4, parity 0: 16 arrivals and 0 bytes are missing, after [0-9]* ms ($bad:$empty)" \
    '^debug gemm_bf16: 3 of the 12 warps of block (0,0,0) left no record'

# The arrival with the bytes is missing: bytes come that nobody expects.
edit expect 's/^\( *\)ab_expect(ab_fill);/\1if (ab_fill.step != 6) ab_expect(ab_fill);/'
hangs "missing arrival" 'warps 4-11 wait for ring ab full, stage 2, step 6, parity 1: 1 arrival is missing, and 49152 bytes more came'

inside run "$gemm" --source plain/gemm_bf16.sm_90a.cu --debug --device "$device" >"$log" 2>&1
[ $? -eq 1 ] && has 'plain/gemm_bf16.sm_90a.cu is no text of a debug build; make it by gen --debug$' &&
    ! grep -q '^verified' "$log"
ok $? "--debug --source of another text is refused"

# Each block releases its own stages alone: half of the arrivals come.
edit release 's/if (lane < 2)$/if (lane == (blockIdx.x \& 1))/'
hangs "missing release" "warp 0 wait for ring ab empty, stage 0, step 4, parity 0: 8 arrivals and 0 bytes are missing"

# The producer waits for stages that were never filled to be empty.
edit parity 's/p.phase ^ 1, "ab", 2,/p.phase ^ 0, "ab", 2,/'
[ -n "$few" ] || hangs "wrong parity" 'warp 0 wait for ring ab empty, stage 0, step 0, parity 0: 16 arrivals' \
    'warps 4-11 wait for ring ab full, stage 0, step 0, parity 0: 1 arrival and 0 bytes are missing'

# One warpgroup of one block skips a release: the producers of its cluster wait for four warps, all others end.
edit one_block 's/^\( \{20\}\)ab_release(ab_oldest);$/\1if (blockIdx.x != 3 || at_k_turn != 2 || warpgroup != 1) ab_release(ab_oldest);/'
hangs "one block" '^debug gemm_bf16: block (2,0,0) and 1 more, warp 0 wait for ring ab empty, at the end, stage 3, step 11, parity 1: 4 arrivals and' \
    '^debug gemm_bf16: 11 of the 12 warps of block (2,0,0)'

if [ "$device" = emu ]; then
    edit bytes 's/barrier_arrive_expect(ab_full(p.stage), 49152)/barrier_arrive_expect(ab_full(p.stage), 49168)/'
    inside run "$gemm" --source "$bad" --device emu --hazards off --complete late --inputs normal \
        --set M=257,N=512,K=512 >"$log" 2>&1
    [ $? -eq 1 ] && has 'warps 4-11 wait for ring ab full, stage 0, step 0, parity 0' '^FAILED .*hazards .*TX-BYTES'
    ok $? "hangs: without hazards, late"
fi

# ---- clocks on the emulator ------------------------------------------------------------------------------------------

# The emulator's time leaps where all that can go on is warps that look at a clock: a wait that gives up is no deadlock,
# one that only counts is.
cat >"$work/clock.cu" <<'EOF'
__device__ unsigned long long now()
{
    unsigned long long t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

__device__ unsigned done(unsigned barrier)
{
    unsigned yes;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(yes) : "r"(barrier) : "memory");
    return yes;
}

extern "C" __global__ void waits(unsigned *out, unsigned long long limit)
{
    __shared__ unsigned long long word;
    const unsigned barrier = (unsigned)__cvta_generic_to_shared(&word);
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
    __syncthreads();
    const unsigned long long began = now();
    while (!done(barrier))
        if (now() - began > limit)
            break;
    out[threadIdx.x] = 7;
}
EOF
# clocks LIMIT: the kernel that gives up after so many nanoseconds; all of its threads write 7 then
clocks() {
    inside emu clock.cu --grid 1 --block 64 --arg "buf:256,fill=zero,dump=$work/dump" --arg "u64:$1" \
        >"$log" 2>&1
}
if [ "$device" = emu ]; then
    clocks 3600000000000 && [ "$(od -An -v -tu4 "$work/dump" | tr -s ' ' '\n' | grep -c '^7$')" = 64 ]
    ok $? "emulator: a wait of an hour that gives up is no deadlock"
    clocks 18446744073709551615
    [ $? -eq 1 ] && has 'hazard DEADLOCK'
    ok $? "emulator: a wait that never gives up is one"
fi

# ---- a program that embeds the pair ------------------------------------------------------------------------------------

embed() { # FOLDER
    "$cc" -std=c99 -D_GNU_SOURCE -O1 -Wall -Wextra -Wpedantic -Wconversion -Werror -I"$1" -o "$work/use_debug" tests/embed/use_debug.c \
        "$1/gemm_bf16.c" -ldl >"$log" 2>&1
}
if [ "$device" = emu ]; then
    embed "$work/build" && "$work/use_debug" mock >"$work/out" 2>"$work/err" && cp "$work/out" "$log" &&
        cat "$work/err" >>"$log" &&
        has '^records: 0$' '^launch: 0$' '^launch: 9 cuLaunchKernelEx of gemm_bf16 failed with CUresult 719 (CUDA_ERROR_LAUNCH_FAILED: of a kernel before; the context is lost)$' \
            '^debug gemm_bf16: block (0,0,0) and 2 more, warps 4-8, 10-11 wait for ring ab full, stage 2, step 6, parity 1: 4 arrivals and 1000 bytes are missing, after' \
            '^> debug gemm_bf16: block (1,0,0) warp 0 waits for ring ab empty, stage 3, step 6, parity 1: .*after 2000 ms (gemm_bf16.sm_90a.cu:321)$' \
            '^> debug gemm_bf16: 5 of the 12 warps of block (0,0,0) left no record' '^records: 22$' \
            '^unload: 0, freed 1 times$' && [ "$(grep -c '^debug gemm_bf16: block' "$work/err")" = 2 ]
    ok $? "the emitted C: records are told by debug_report, by a failing launch and, where nobody asks, by unload"
    if command -v "${CXX:-c++}" >/dev/null 2>&1; then
        "${CXX:-c++}" -std=c++17 -Wall -Wextra -Wpedantic -Werror -x c++ -c -o "$work/pair.o" "$work/build/gemm_bf16.c" \
            >"$log" 2>&1
        ok $? "the emitted C is C++17"
    else
        count=$((count + 1))
        echo "ok $count - the emitted C is C++17 # SKIP there is no C++ compiler"
    fi
else
    # A debug pair from sources whose kernel was edited: NVRTC compiles it at load.
    "$program" gen "$gemm" --kernel gemm_bf16 --arch sm_90a --debug --debug-timeout 300 -o "$work/real" >"$log" 2>&1 &&
        embed "$work/real" && "$work/use_debug" real 512 512 512 >"$log" 2>&1 &&
        has '^synchronize: 0$' '^records: 0$' '^launch: 0' '^unload: 0$'
    ok $? "the emitted C on the driver"
    sed -i 's/barrier_arrive_expect(ab_full(p.stage), 49152)/barrier_arrive_expect(ab_full(p.stage), 49168)/' \
        "$work/real/gemm_bf16.c"
    embed "$work/real" && "$work/use_debug" real 512 512 512 >"$log" 2>&1
    has '^synchronize: 719$' '^> debug gemm_bf16: block .* wait for ring ab full, stage 0, step 0, parity 0: 0 arrivals and 16 bytes' \
        '^launch: 9 .*719'
    ok $? "the emitted C on the driver, hanging"
    cat "$log"
fi
echo "1..$count"
[ "$failed" -eq 0 ]
