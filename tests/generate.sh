#!/bin/sh
# What the program makes: the same bytes in every process and folder, nothing of the machine in them, nothing spilled,
# in the time that the design gives. Goldens of emitted files are read as reviews. TAP on stdout.
#   usage: tests/generate.sh [PROGRAM], from the top of the tree. BLESS=1 rewrites the goldens.
# Of a sanitized program no time is judged, and few kernels are compiled. What compiles is skipped where there is no
# NVRTC; no GPU is used.
set -u
program=${1:-build/tilewright}
case $program in /*) ;; *) program=$PWD/$program ;; esac
case $program in *sanitized*) sanitized=1 ;; *) sanitized= ;; esac
top=$PWD
golden=$top/tests/golden
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_generate_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
CUDA_VISIBLE_DEVICES=
LC_ALL=C
export CUDA_VISIBLE_DEVICES LC_ALL
shared_cache=${TILEWRIGHT_CACHE:-$work/cache}
. tests/tap.sh
shown="$work/out $work/err"

end() {
    echo "1..$count"
    [ "$failed" -eq 0 ]
    exit
}

# In a folder, with a cache: runs the program; stdout and stderr go to $work, the exit status to $status.
tilewright() { # folder cache arguments...
    folder=$1 cache=$2
    shift 2
    (cd "$folder" && TILEWRIGHT_CACHE=$cache "$program" "$@") >"$work/out" 2>"$work/err"
    status=$?
}

# What `gen` may take, in instructions of the processor, which depend neither on what else runs nor on how fast a machine
# is: half as much again as 9 million for a process and what it reads, 2 million for the C pair of each kernel, 200 for
# each byte of sources and Plans, 12,000 for each node of a Plan's arithmetic, which a spec's text has said in Lua, and
# 280 for each step of a proof, of which equal ones are made once. The specs take 0.8 to 1.4 of that without the half,
# and a program that does twice as much is beyond it. And no kernel takes more than 180 million, about 15 ms, proofs and
# all.
allowed() { # folder kernels
    find "$1" -name '*.plan.json' -exec awk '
        /^  "proof": [{]/ { inside = 1; proof = "" }
        inside && /"steps"/ { steps = $2 + 0 }
        inside { proof = proof $2 }
        inside && /^  }/ { inside = 0; if (!(proof in seen)) sum += steps; seen[proof] = 1 }
        /^  "fused": \[/ { fused = 1 }
        fused && /^      "op"/ { nodes++ }
        fused && /^  \]/ { fused = 0 }
        END { print 280 * sum + 12000 * nodes }' {} + >"$work/counted_steps"
    find "$1" \( -name '*.cu' -o -name '*.plan.json' \) -exec cat {} + | wc -c |
        awk -v most="$(($2 * 180000000))" -v pairs="$(($2 * 2000000))" 'NR == FNR { steps += $1; next }
            { all = 1.5 * (9e6 + pairs + 200 * $1 + steps); printf "%.0f\n", all < most ? all : most }' \
            "$work/counted_steps" -
}
instructions() { # argument...
    TILEWRIGHT_CACHE=off valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null "$program" "$@" 2>&1 |
        sed -n 's/.* I *refs: *//p' | tr -d ,
}

# The least of several: what disturbs only adds.
least() { sort -n | head -n 1; }

# Whether $1 is below $2. Decimals.
below() { awk -v value="$1" -v bound="$2" 'BEGIN { exit !(value != "" && value < bound) }'; }

# The same of time, which what else runs on a shared machine may stretch: about that much, three times at most.
about() { below "$1" "$(awk "BEGIN { print 3 * $2 }")"; }

# The numbers of one key in a JSON report, one a line.
numbers() { tr ',{}' '\n\n\n' <"$1" | sed -n "s/.*\"$2\": *\([0-9.]*\)\$/\1/p"; }

# ---- every shipped spec ------------------------------------------------------------------------------------------

mkdir "$work/elsewhere" && cp -r "$top/specs" "$work/elsewhere/copied"
# What is about one kernel's own variants has specs/gemm.lua without the set-ups beside it.
mkdir "$work/plain" "$work/elsewhere/plain"
cp specs/gemm.lua "$work/plain"
cp specs/gemm.lua "$work/elsewhere/plain"
plain=$work/plain/gemm.lua

for path in "$top"/specs/*.lua; do
    spec=${path##*/}
    case $spec in *.tuned.lua) continue ;; esac
    tilewright "$top" off check "specs/$spec"
    [ "$status" -eq 0 ] && [ ! -s "$work/err" ] && grep -q '^ok: ' "$work/out"
    ok $? "check specs/$spec"

    tilewright "$top" off gen "specs/$spec" -o "$work/first/$spec"
    [ "$status" -eq 0 ] && [ ! -s "$work/err" ] && [ ! -s "$work/out" ]
    ok $? "gen specs/$spec"
    entries=$(find "$work/first/$spec" -name '*.cu' | wc -l)
    if [ -z "$sanitized" ]; then
        if command -v valgrind >/dev/null; then
            takes=$(instructions gen "specs/$spec" -o "$work/counted/$spec")
            may=$(allowed "$work/first/$spec" "$(find "$work/first/$spec" -name '*.h' | wc -l)")
            echo "# $spec: $takes instructions, $may allowed"
            below "$takes" "$may"
            ok $? "gen specs/$spec: what it takes goes with what it makes"
        else
            skip "gen specs/$spec: what it takes" "no valgrind"
        fi
    fi

    tilewright "$top" off plan "specs/$spec"
    awk '/^  step  call / { why = index($0, "  why") }
        /^$/ { why = 0 }
        why && / (wait_empty|wait_full|mma_wait|cp_wait|store_wait|drain|barrier|fence_async|mma_fence|release) / {
            waits++
            if (length($0) < why + 10) { print; bare = 1 }
        }
        # Threads that never meet wait for nothing: of each entry point the proof is of one. Steps of a template of
        # its own are read off its text, and have no reasons.
        /^  entry .*, template / && !/, template program\./ { own++ }
        /^proof: / { proofs++ }
        /^proof: .* of 1 thread, / { alone++ }
        END { exit bare || (!waits && alone + own != proofs) }
    ' "$work/out" >"$work/bare"
    is_bare=$?
    cp "$work/bare" "$work/out"
    ok $is_bare "plan specs/$spec: each wait has its reason"

    tilewright "$work/elsewhere/copied" off gen "$spec" -o ../second/"$spec"
    diff -r "$work/first/$spec" "$work/elsewhere/second/$spec" >"$work/out" 2>&1
    ok $? "gen specs/$spec: the same bytes in two processes, folders and outputs"

    find "$work/first/$spec" -name '*.cu' | sed 's/\.cu$/.plan.json/' | xargs ls >"$work/out" 2>&1
    ok $? "gen specs/$spec: a Plan beside each source"

    grep -rnF -e "$top" -e "$work" -e '/home/' -e '/root/' -e '/tmp/' -e "$(date +%Y-%m-%d)" -e "$(date '+%b %e %Y')" \
        -e "$(uname -n)" "$work/first/$spec" >"$work/out"
    [ $? -eq 1 ]
    ok $? "gen specs/$spec: no path, date or host"

    tilewright "$top" off plan "specs/$spec" --json
    if command -v python3 >/dev/null; then
        [ "$status" -eq 0 ] && python3 -c '
import glob, json, sys
plans = json.load(open(sys.argv[1]))["plans"]
assert len(plans) == int(sys.argv[2]), (len(plans), sys.argv[2])
for path in glob.glob(sys.argv[3] + "/*.plan.json"):
    alone = json.load(open(path))
    assert alone in plans, path' "$work/out" "$entries" "$work/first/$spec" 2>"$work/err"
        ok $? "plan specs/$spec --json: JSON, of every entry point, as gen writes it"
    else
        skip "plan specs/$spec --json" "no python3"
    fi
done
for arch in sm_80 sm_90a; do
    tilewright "$top" off gen specs/gemm.lua --arch $arch -o "$work/$arch"
    [ "$status" -eq 0 ] && [ "$(find "$work/$arch" -name "*.$arch.cu" | wc -l)" -gt 0 ] &&
        [ -z "$(find "$work/$arch" -name '*.cu' ! -name "*.$arch.cu")" ] && [ ! -s "$work/err" ]
    ok $? "gen specs/gemm.lua --arch $arch"
done

# ---- goldens -----------------------------------------------------------------------------------------------------

# Goldens leave out what tells a reviewer nothing: the numbers of #line, which change with every comment of a template,
# and the sources that NAME.c carries as text, which are goldens of their own.
for_review() { sed -e 's/^#line [0-9]* /#line /' -e '/^static const char \*const source_.*{$/,/^};$/{//!d;}' "$1"; }

tilewright "$top" off gen "$plain" -o "$work/plain/made"
sed -n '/^\/\* ---- choose/,/^\/\* ---- what every launch/{/---- what every launch/!p;}' "$work/first/gemm.lua/gemm_bf16.c" >"$work/plain/made/gemm_bf16_choice.c"
for name in gemm_bf16.sm_90a.cu gemm_bf16.sm_80.cu gemm_bf16__unaligned.sm_90a.cu gemm_bf16_bias_gelu.sm_90a.cu \
    gemm_bf16.c gemm_bf16.h gemm_bf16_choice.c rms_norm.sm_90a.cu transpose.sm_80.cu stencil.sm_90a.cu; do
    made=$work/plain/made
    [ -f "$made/$name" ] || made=$work/first/rows.lua
    for_review "$made/$name" >"$work/golden"
    if [ "${BLESS:-}" = 1 ] && ! cmp -s "$golden/$name" "$work/golden"; then
        cp "$work/golden" "$golden/$name" && echo "# blessed tests/golden/$name"
    fi
    diff -u "$golden/$name" "$work/golden" >"$work/out" 2>"$work/err"
    ok $? "tests/golden/$name"
done

# ---- cubins ------------------------------------------------------------------------------------------------------

tilewright "$top" "$shared_cache" doctor
if [ "$status" -ne 0 ]; then
    skip "cubins" "no NVRTC"
    end
fi
nvcc=$(sed -n 's/^nvcc *path \([^,]*\).*/\1/p' "$work/out")

# One kernel by each architecture's template, and a template of a user's. A sanitized program compiles each once: its
# second folder has what the first one's build left in the cache.
second=$work/cold2
[ -z "$sanitized" ] || second=$work/cold1
times >"$work/before"
tilewright "$top" "$work/cold1" build "$plain" --kernel gemm_bf16 -o "$work/built/one" --keep --json
times >"$work/after"
[ "$status" -eq 0 ] && [ ! -s "$work/err" ]
ok $? "build gemm_bf16"
tilewright "$work/elsewhere/plain" "$second" build gemm.lua --kernel gemm_bf16 -o ../built --keep --json
[ "$status" -eq 0 ] && diff -r "$work/built/one" "$work/elsewhere/built" >"$work/out" 2>&1 &&
    [ "$(find "$work/built/one" -name '*.cubin' | wc -l)" -eq 4 ]
ok $? "build gemm_bf16: the same cubins from two cold caches in two folders"
tilewright "$top" "$work/cold1" build specs/rms_norm.lua -o "$work/built/two" --keep
[ "$status" -eq 0 ]
ok $? "build rms_norm"
tilewright "$work/elsewhere/copied" "$second" build rms_norm.lua -o ../built_too --keep
[ "$status" -eq 0 ] && diff -r "$work/built/two" "$work/elsewhere/built_too" >"$work/out" 2>&1
ok $? "build rms_norm: the same cubin from two cold caches in two folders"

# Of the cold build the processors' time, which others that run beside it stretch little; its four variants are all.
if [ -z "$sanitized" ]; then
    each=$(awk 'NR % 2 == 0 { split($1, t, "[ms]"); sum[++n] = 60 * t[1] + t[2] }
                END { printf "%.3f", (sum[2] - sum[1]) / 4 }' "$work/before" "$work/after")
    echo "# $each s of user time a variant, process and files included"
    about "$each" 0.35
    ok $? "nvrtc takes about 0.35 s a variant"
fi

# ---- a warm cache ------------------------------------------------------------------------------------------------

# What was built is what is run.
for _ in 1 2; do
    tilewright "$top" "$work/cold1" run "$plain" --kernel gemm_bf16 --device none --json
done
cp "$work/out" "$work/run.json"
[ "$status" -eq 0 ] && ! grep -q '"cache": "miss"' "$work/out" && grep -q '"cache": "hit"' "$work/out" &&
    [ "$(numbers "$work/out" compile_nvrtc)" = 0.000000 ] && [ "$(numbers "$work/out" compile_open_nvrtc)" = 0.000000 ]
ok $? "run with a warm cache: NVRTC is not even opened"
echo "# run with a warm cache, ms: $(for phase in read plan emit compile to_loaded_without_device; do
    echo "$phase $(numbers "$work/run.json" $phase),"
done | tr '\n' ' ')"
if [ -z "$sanitized" ]; then
    # By the clock, so the least of several, until one is below: what else runs on the machine only adds.
    loaded=$(for _ in 1 2 3 4 5 6 7 8; do
        tilewright "$top" "$work/cold1" run "$plain" --kernel gemm_bf16 --device none --json
        numbers "$work/out" to_loaded_without_device | tee "$work/round"
        ! about "$(cat "$work/round")" 20 || break
    done | least)
    echo "# the least of as many as eight: $loaded ms"
    about "$loaded" 20
    ok $? "run with a warm cache: about 20 ms to a loaded module"
fi
tilewright "$top" "$work/cold1" build "$plain" --kernel gemm_bf16 -o "$work/built/warm" --keep
[ "$status" -eq 0 ] && [ "$(grep -c ' cached$' "$work/out")" -eq 4 ]
ok $? "build with a warm cache: every variant is cached"

# ---- nvcc, spills ------------------------------------------------------------------------------------------------

# Entry point, architecture, variant and registers of a table of `build`; and what is not 0 of its spills and frames.
registers() { awk -v with="$2" 'NR > 1 && $4 == with { print $1, $2, $3, $5 }' "$1"; }
spilling() { awk 'NR > 1 && ($7 != 0 || $8 != 0)' "$1"; }

# What nvcc makes is kept with what NVRTC makes; a sanitized program runs it each time, for one architecture.
if [ -n "$nvcc" ]; then
    arch=sm_80,sm_90a cache=$shared_cache
    [ -z "$sanitized" ] || arch=sm_80 cache=$work/cold1
    tilewright "$top" "$cache" build "$plain" --kernel gemm_bf16 --arch $arch --with nvrtc,nvcc -o "$work/nvcc"
    built=$status
    registers "$work/out" nvrtc >"$work/by_nvrtc"
    registers "$work/out" nvcc >"$work/by_nvcc"
    # nvcc compiles nothing without a C++ compiler of the host.
    echo '__global__ void k() {}' >"$work/probe.cu"
    [ "$built" -eq 0 ] || "$nvcc" -cubin -arch=sm_80 -o "$work/probe.cubin" "$work/probe.cu" >/dev/null 2>&1 || nvcc=
fi
if [ -n "$nvcc" ]; then
    [ "$built" -eq 0 ] && [ -s "$work/by_nvcc" ] && cmp -s "$work/by_nvrtc" "$work/by_nvcc"
    ok $? "build --with nvcc: the registers that nvrtc gives"
else
    skip "build --with nvcc" "no nvcc that compiles"
fi
# Every variant of every spec: tests/spills.sh.
if [ -n "$sanitized" ]; then
    tilewright "$top" "$work/cold1" build "$plain" --kernel gemm_bf16 -o "$work/all/gemm" --keep
    [ "$status" -eq 0 ] && [ -z "$(spilling "$work/out")" ]
    ok $? "gemm_bf16: no spills, no local memory"
fi
end
