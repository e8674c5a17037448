#!/bin/sh
# The program from outside: usage, exit statuses, what goes to which stream, files all or none, equal bytes. TAP on
# stdout. What compiles is skipped where there is no NVRTC; no GPU is used.
#   usage: tests/cli.sh [PROGRAM], from the top of the tree
set -u
program=${1:-build/tilewright}
case $program in /*) ;; *) program=$PWD/$program ;; esac
top=$PWD
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_cli_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
# What is compiled here is found there by the next run; what asks for a cache that is empty has one of its own.
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
CUDA_VISIBLE_DEVICES=
export TILEWRIGHT_CACHE CUDA_VISIBLE_DEVICES
. tests/tap.sh
shown="$work/out $work/err"

# Runs the program; stdout and stderr go to $work, the exit status to $status.
tilewright() {
    "$program" "$@" >"$work/out" 2>"$work/err"
    status=$?
}

is() { [ "$status" -eq "$1" ]; }
says() { grep -q -e "$1" "$work/err"; }
prints() { grep -q -e "$1" "$work/out"; }
silent() { [ ! -s "$work/$1" ]; }

cat >"$work/good.lua" <<'LUA'
local M, N, K = dims "M N K"
kernel "small" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
  run = { { M = 17, N = 40, K = 64 } },
}
kernel "old" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
  arch = { sm_80 = {} },
  run = { { M = 17, N = 40, K = 64 } },
}
LUA
cat >"$work/bad.lua" <<'LUA'
local M, N, K = dims "M N K"
kernel "fine" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
}
kernel "wrong" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf17" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
  tyle = { m = 128 },
}
LUA

# ---- usage
tilewright
is 2 && silent out && says usage
ok $? "no command: status 2"
tilewright chek x.lua
is 2 && silent out && says "did you mean 'check'?"
ok $? "unknown command: status 2 and a suggestion"
tilewright --version
is 0 && silent err && prints '^tilewright [0-9.]*, generator [0-9]*$'
ok $? "--version"
tilewright help
is 0 && silent err && prints 'tilewright check SPEC'
ok $? "help"
tilewright help spec
is 0 && silent err && prints '^  tile  ' && prints 'pipeline.stages' && prints 'family = "gemm"'
ok $? "help spec"
for module in specs/lib/*.lua; do
    ! grep -q '^return {' "$module" || prints "family = \"$(basename "$module" .lua)\"" || echo "$module"
done >"$work/families"
[ ! -s "$work/families" ]
ok $? "help spec: every family" "$work/families"
tilewright help --luacats
is 0 && silent err && prints '@class'
ok $? "help --luacats"
tilewright help hazards
is 0 && silent err && prints '^UNORDERED-READ$' && prints '^DEADLOCK$' && prints '^    do: ' &&
    prints '^barrier.cluster$' && ! grep -q '.\{101\}' "$work/out"
ok $? "help hazards: names, what to do and edges, at 100 columns"
tilewright help nothing
is 2 && silent out
ok $? "help of an unknown command: status 2"
tilewright help luacats
is 2 && silent out && says "did you mean 'help --luacats'?"
ok $? "help luacats: status 2 and a suggestion"
tilewright cache --help
is 0 && prints '^path  ' && prints '^list  ' && prints '^verify  ' && prints '^gc  '
ok $? "cache --help: what each subcommand does"
tilewright cache path
! prints '^gc  '
ok $? "cache path prints the path alone"
tilewright tensormap --help
is 0 && prints '^encode  ' && prints '^explain  ' && prints '^decode  ' && prints '^load  '
ok $? "tensormap --help: what each subcommand does"
for command in check plan gen build run tensormap cache doctor help; do
    tilewright "$command" --help
    is 0 && silent err && prints usage
    ok $? "$command --help"
done
for command in check plan run; do
    tilewright "$command"
    is 2 && silent out && says 'which spec'
    ok $? "$command without a spec: status 2"
done
tilewright gen "$work/good.lua"
is 2 && silent out && says '-o DIR'
ok $? "gen without -o: status 2"
tilewright check --arhc sm_80 "$work/good.lua"
is 2 && silent out && says "did you mean '--arch'?"
ok $? "unknown option: status 2 and a suggestion"
tilewright check "$work/good.lua" --arch
is 2 && says '--arch wants A,B'
ok $? "an option without its value: status 2"
tilewright check "$work/good.lua" "$work/good.lua"
is 2 && says unexpected
ok $? "two specs: status 2"
tilewright check "$work/good.lua" --kernel smal
is 2 && says "did you mean 'small'?"
ok $? "unknown kernel: status 2 and a suggestion"
tilewright run "$work/good.lua" --set "Q=5"
is 2 && says "no dim 'Q'"
ok $? "--set of an unknown dim: status 2"
tilewright run "$work/good.lua" --set M=x
is 2 && says "NAME=NUMBER"
ok $? "--set of no number: status 2"
tilewright run "$work/good.lua" --device tpu
is 2 && says "auto, cuda"
ok $? "an unknown device: status 2"
tilewright run "$work/good.lua" --seed -1
is 2
ok $? "a negative seed: status 2"
tilewright run "$work/good.lua" --sms 2000
is 2 && silent out && says 'at most 1024'
ok $? "too many multiprocessors: status 2"
tilewright run "$work/good.lua" --hazards yes
is 2 && silent out && says 'write on, off, fatal or strict'
ok $? "unknown --hazards: status 2"
tilewright run "$work/good.lua" --complete never
is 2 && silent out && says 'write eager, late, random, all or alternate'
ok $? "unknown --complete: status 2"
tilewright run --break list
is 0 && silent err && prints '^no_wait_full  *sm_90a  *UNORDERED-READ  ' && prints '^no_cp_wait  *sm_80 '
ok $? "run --break list"
tilewright run "$work/good.lua" --break no_wait_ful
is 2 && silent out && says "did you mean 'no_wait_full'?"
ok $? "an unknown bug: status 2 and a suggestion"
tilewright run "$work/good.lua" --break no_wait_full --arch sm_80
is 2 && silent out && says 'no such bug for sm_80'
ok $? "a bug of another architecture: status 2"
tilewright run "$work/good.lua" --break no_wait_full --device cuda
is 2 && silent out && says 'only the emulator'
ok $? "--break on a GPU: status 2"
tilewright run "$work/good.lua" --break no_wait_full --source x.cu
is 2 && silent out && says 'does not go with --source'
ok $? "--break with --source: status 2"
tilewright run "$work/good.lua" --break no_wait_full --hazards off
is 2 && silent out && says 'nothing would be reported'
ok $? "--break without hazards: status 2"
tilewright run "$top/specs/rms_norm.lua" --break no_wait_full
is 1 && silent out && says "no_wait_full cannot be planted into rms_norm_ring: 'ab_wait_full(ab_next);' stands 0 times"
ok $? "a bug that does not fit the text: status 1, and why"
tilewright build "$work/good.lua" -o "$work/none" --with gcc
is 2 && says "no compiler 'gcc'"
ok $? "an unknown compiler: status 2"

# ---- check
tilewright check "$work/good.lua"
is 0 && silent err && prints '^ok: 2 kernels'
ok $? "check of a sound spec: ok on stdout"
tilewright check "$top/specs/gemm.lua"
is 0 && silent err && prints '^ok: '
ok $? "check specs/gemm.lua"
tilewright check "$work/bad.lua"
is 1 && silent out && says bf17 && says tyle
ok $? "check of a wrong spec: status 1, all faults at once"
tilewright check "$work/missing.lua"
is 1 && silent out && ! silent err
ok $? "check of a missing file: status 1"
tilewright plan ''
is 1 && silent out && says "^tilewright plan: '': "
ok $? "an empty name of a spec: status 1, the name in quotes"

# ---- architectures
tilewright check "$work/good.lua" --arch sm_90a
is 0 && says "note: sm_90a is left out for kernel 'old'"
ok $? "an architecture that one kernel lacks is a note"
tilewright check "$work/good.lua" --kernel old --arch sm_90a
is 1 && says "no kernel of .* has architecture 'sm_90a'"
ok $? "an architecture that no kernel has: status 1"
tilewright check "$work/good.lua" --arch sm_9a
is 2 && silent out && says "no architecture 'sm_9a'; did you mean 'sm_90a'?"
ok $? "an architecture that nobody knows: status 2 and a suggestion"
tilewright check "$work/good.lua" --arch sm_90a,turing
is 2 && silent out && says "no architecture 'turing'; known are sm_80, "
ok $? "an architecture that is like none: status 2 and those there are"
for wanted in sm_101a:10.1 sm_121a:12.1 sm_103:10.3; do
    tilewright check "$work/good.lua" --arch "${wanted%:*}"
    is 2 && silent out && says "no architecture '${wanted%:*}'; known are sm_80, .*; a ${wanted#*:} takes PTX"
    ok $? "an architecture that others have, ${wanted%:*}: those there are, and what runs on it"
done
tilewright check "$work/good.lua" --arch sm_90
is 2 && says "no architecture 'sm_90'; did you mean 'sm_90a'?"
ok $? "the same devices by another letter"
tilewright check "$work/good.lua" --arch sm_75
is 2 && says "no architecture 'sm_75'; known are sm_80, [^;]*\$"
ok $? "an architecture too old"
for list in "" sm_90a, ,sm_90a sm_80,,sm_90a; do
    tilewright check "$work/good.lua" --arch "$list"
    is 2 && silent out && says "^tilewright check: --arch '$list' has an empty entry"
    ok $? "--arch '$list': status 2"
done
tilewright run "$work/good.lua" --arch sm_80,sm_90a
is 2 && silent out && says "run takes one architecture"
ok $? "run of two architectures: status 2"
tilewright run "$work/good.lua" --arch ""
is 2 && silent out && says "empty entry"
ok $? "run --arch '': status 2"

# ---- plan
tilewright plan "$work/good.lua" --kernel small --arch sm_90a --variant 0
is 0 && silent err && prints 'kernel small on sm_90a'
ok $? "plan: tables"
tilewright plan "$work/good.lua" --kernel small --variant unaligned --why
is 0 && silent err && prints unaligned
ok $? "plan of a variant by name, --why"
# Both architectures' kernels, and the second kernel's, whose steps were proved with the first's.
tilewright plan "$work/good.lua"
is 0 && [ "$(grep -c '^kernel ' "$work/out")" -eq "$(grep -cE \
    '^proof: .* in [1-9][0-9]* runs of [1-9][0-9]* threads.* turn 0 to ([6-9]|1[0-9]) times; [1-9][0-9]{3,} steps$' "$work/out")" ]
ok $? "plan: the size of each proof"
tilewright plan "$work/good.lua" --variant nothing
is 2 && says "no variant"
ok $? "plan of an unknown variant: status 2"
tilewright plan "$work/good.lua" --json
if command -v python3 >/dev/null; then
    is 0 && silent err && python3 -c '
import json, sys
plans = json.load(open(sys.argv[1]))["plans"]
assert [p["kernel"] for p in plans if p["arch"] == "sm_80" and p["variant"] == ""] == ["small", "old"], plans
assert all(p["param_bytes"] > 0 for p in plans)
assert all(p["proof"]["threads"] > 1 and p["proof"]["steps"] > 1000 for p in plans)' "$work/out"
    ok $? "plan --json is JSON, a Plan for each entry point"
else
    skip "plan --json" "no python3"
fi

# ---- gen
tilewright gen "$work/bad.lua" -o "$work/bad"
is 1 && silent out && [ ! -e "$work/bad" ]
ok $? "gen of a wrong spec writes nothing, no folder either"
tilewright gen "$work/good.lua" -o "$work/one/deep" --depfile "$work/one/deep/gen.d"
is 0 && silent err && silent out
ok $? "gen: silent"
for file in small.c small.h small.sm_90a.cu small.sm_90a.plan.json small__unaligned.sm_80.cu old.c old.sm_80.cu; do
    [ -s "$work/one/deep/$file" ]
    ok $? "gen wrote $file"
done
[ ! -e "$work/one/deep/old.sm_90a.cu" ]
ok $? "gen wrote no file for an architecture that the kernel lacks"
grep -q "small.sm_90a.cu .*: .*good.lua" "$work/one/deep/gen.d"
ok $? "gen --depfile"
[ -z "$(find "$work/one" -name '*.tmp')" ]
ok $? "gen leaves no temporary file"
mkdir "$work/elsewhere" && cp "$work/good.lua" "$work/elsewhere"
(cd "$work/elsewhere" && "$program" gen good.lua -o two) >"$work/out" 2>"$work/err"
rm -f "$work/one/deep/gen.d"
diff -r "$work/one/deep" "$work/elsewhere/two" >"$work/out" 2>&1
ok $? "gen in two processes and two folders gives the same bytes"
grep -rq -e "$work" -e "$top" -e "$(hostname)" "$work/one/deep"
[ $? -eq 1 ]
ok $? "generated files name neither folder nor host"
touch -d '2001-01-01' "$work"/one/deep/*
tilewright gen "$work/good.lua" -o "$work/one/deep"
is 0 && [ -z "$(find "$work/one/deep" -newermt '2002-01-01' -type f)" ]
ok $? "gen leaves files alone that have their bytes"
echo "a file" >"$work/afile"
tilewright gen "$work/good.lua" -o "$work/afile"
is 3 && [ "$(cat "$work/afile")" = "a file" ]
ok $? "gen into a file: status 3"
if [ "$(id -u)" -ne 0 ]; then
    mkdir "$work/readonly" && chmod 555 "$work/readonly"
    tilewright gen "$work/good.lua" -o "$work/readonly"
    is 3 && [ -z "$(ls "$work/readonly")" ]
    ok $? "gen into a folder that cannot be written: status 3, nothing there"
fi
tilewright gen "$work/good.lua" -o "$work/full" --kernel small
is 0 && "$program" help >/dev/full 2>"$work/err"
[ $? -eq 3 ]
ok $? "a full disk under stdout is no success"

# ---- build and run
tilewright doctor
if ! is 0; then
    skip "build and run" "no NVRTC"
    echo "1..$count"
    [ "$failed" -eq 0 ]
    exit
fi
TILEWRIGHT_CACHE=$work/cold "$program" build "$work/good.lua" --kernel small -o "$work/built" --keep \
    >"$work/out" 2>"$work/err"
status=$?
is 0 && silent err && prints '^kernel .*registers' && prints '^small .*sm_90a .*unaligned'
ok $? "build: a table of every variant"
for file in small.c small.sm_90a.ptx small.sm_90a.cubin small__unaligned.sm_80.cubin small.sm_80.plan.json; do
    [ -s "$work/built/$file" ]
    ok $? "build --keep wrote $file"
done
TILEWRIGHT_CACHE=$work/cold "$program" build "$work/good.lua" --kernel small -o "$work/again" --keep \
    >"$work/out" 2>"$work/err"
status=$?
is 0 && prints cached && diff -r "$work/built" "$work/again" >/dev/null
ok $? "build again: from the cache, the same bytes"
TILEWRIGHT_CACHE=off "$program" build "$work/good.lua" --kernel small --arch sm_90a -o "$work/fresh" --keep --json \
    >"$work/out" 2>"$work/err"
status=$?
is 0 && cmp -s "$work/built/small.sm_90a.cubin" "$work/fresh/small.sm_90a.cubin"
ok $? "build without a cache: the same cubin"
if command -v python3 >/dev/null; then
    python3 -c '
import json, sys
report = json.load(open(sys.argv[1]))
assert [k["variant"] for k in report["kernels"]] == ["", "unaligned"], report
assert all(k["registers"] > 0 and not k["cached"] for k in report["kernels"])' "$work/out"
    ok $? "build --json is JSON"
fi
tilewright build "$work/bad.lua" -o "$work/bad"
is 1 && silent out && [ ! -e "$work/bad" ]
ok $? "build of a wrong spec writes nothing"
tilewright run "$work/good.lua" --arch sm_90a --kernel small
is 0 && prints '^verified small sm_90a emu M=17,N=40,K=64 error ' && prints '^verified small__unaligned sm_90a emu ' &&
    [ "$(tail -n 1 "$work/out")" = 'verified 2 cases of 1 kernel on emulator of sm_90a' ] &&
    says '^tilewright run: no GPU (..*): running on the emulator$' &&
    [ "$(grep -cv '^tilewright run: note: small[_a-z]* sm_90a: .*\[RUN-COVERAGE\]$' "$work/err")" -eq 1 ]
ok $? "run without a GPU: on the emulator, which one line says; the last line counts the cases"
cat >"$work/halves.lua" <<'END'
local R, C = dims "R C"
local sums = kernel "sums" {
  x = tensor { R, C, dtype = "bf16" }, y = tensor { R, dtype = "fp32", out = true },
  axes = "r c", tile = { r = 8, c = 64 }, grid = { r = R },
  program = function(t, at, tile)
    local sum = loop("c", range(0, C, tile.c), { rows(0) }, function(c, sum)
      return sum + row_sum(load(t.x, span(at.r, tile.r), span(c, tile.c)))
    end, { combine = function(a, b) return { a[1] + b[1] } end })
    store(t.y, span(at.r, tile.r), sum)
  end,
  run = { { R = 9, C = 300 } },
}
END
sed 's/a\[1\] + b\[1\]/a[1] * b[1]/' "$work/halves.lua" >"$work/product.lua"
tilewright run "$work/halves.lua" --device emu
is 0 && prints '^verified 1 case of 1 kernel on '
ok $? "run: two halves of a loop's turns come to what all do"
tilewright run "$work/product.lua" --device emu
is 1 && says "kernel 'sums', line 6: combine of loop 'c' is not what its turns come to: element 0 of y is "
ok $? "run: a combine that is wrong is told of"
cat >"$work/rounded.lua" <<'END'
local R, C = dims "R C"
local sums = kernel "sums" {
  x = tensor { R, C, dtype = "bf16" }, y = tensor { R, dtype = "fp32", out = true },
  axes = "r c", tile = { r = 8, c = 64 }, grid = { r = R },
  program = function(t, at, tile)
    local sum, most = loop("c", range(0, C, tile.c), { rows(0), rows(-inf) }, function(c, sum, most)
      local x = load(t.x, span(at.r, tile.r), span(c, tile.c))
      local m = max(row_max(x), most)
      return sum * exp2_diff(most, m) + row_sum(cast(exp2_diff(x, m), "bf16")), m
    end, { combine = function(a, b)
      local m = max(a[2], b[2])
      return { a[1] * exp2_diff(a[2], m) + b[1] * exp2_diff(b[2], m), m }
    end })
    store(t.y, span(at.r, tile.r), sum + most)
  end,
  run = { { R = 9, C = 300 } },
}
END
tilewright run "$work/rounded.lua" --device emu
is 0 && prints '^verified 1 case of 1 kernel on '
ok $? "run: two halves round other powers than all turns do"
sed 's/b\[1\] \* exp2_diff(b\[2\], m)/b[1]/' "$work/rounded.lua" >"$work/unscaled.lua"
tilewright run "$work/unscaled.lua" --device emu
is 1 && says "kernel 'sums', line 6: combine of loop 'c' is not what its turns come to: element "
ok $? "run: what is more than that is told of"
tilewright gen "$top/tests/errors/effect_sm_80.lua" --kernel acts --arch sm_80 -o "$work/acts"
is 0 && [ -e "$work/acts/acts.c" ]
ok $? "gen: a field that an architecture heeds which is not asked for"
tilewright gen "$top/tests/errors/effect_sm_80.lua" --kernel alone --arch sm_80 -o "$work/alone"
is 1 && says "kernel 'alone', l2_promotion: it has no effect: .* \[FIELD-EFFECT\]$" && [ ! -e "$work/alone" ]
ok $? "gen: a field that none heeds"
tilewright run "$work/good.lua" --arch sm_90a --kernel small --device none
is 0 && silent err && prints '^compiled small sm_90a registers [0-9]* shared [0-9]* spills 0 frame 0$' &&
    prints '^compiled small__unaligned sm_90a' &&
    prints '^compiled 2 entry points; nothing was executed: --device none$'
ok $? "run --device none: registers, shared memory and spills"
tilewright run "$work/good.lua" --device cuda
is 3 && silent out && ! silent err
ok $? "run --device cuda without a GPU: status 3"
TILEWRIGHT_CACHE=off CC="env cc" "$program" run specs/rms_norm.lua --device emu >"$work/out" 2>"$work/err"
status=$?
is 0 && prints '^verified 2 cases'
ok $? "CC may have words behind the compiler's name"
TILEWRIGHT_CACHE=off CC=$work/nobody "$program" run specs/rms_norm.lua --device emu >"$work/out" 2>"$work/err"
status=$?
is 3 && says "there is no such C compiler" && says "install gcc, or name another by CC"
ok $? "run without a C compiler for the launcher: status 3"
tilewright run "$work/good.lua" --kernel small --json --keep "$work/kept"
is 0 && [ -s "$work/kept/small.sm_90a.cu" ] && [ -s "$work/kept/small.sm_90a.ptx" ]
ok $? "run --keep"
if command -v python3 >/dev/null; then
    python3 -c '
import json, sys
report = json.load(open(sys.argv[1]))
assert report["status"] == 0 and report["device"]["kind"] == "emu" and len(report["kernels"]) == 2, report
for case in report["cases"]:
    assert case["passed"] and case["device"] == "emu" and case["hazards"] == [], case
    assert case["completion"] == "eager" and case["seed"] == 1, case
assert {"read", "plan", "emit", "compile", "load", "to_loaded_without_device"} <= set(report["phases_ms"])' "$work/out"
    ok $? "run --json is JSON, with phases"
fi
cp "$work/kept/small.sm_90a.cu" "$work/mine.cu"
# run good.lua --source mine.cu in their folder: a text is found in the cache by its name as well.
sourced() {
    (cd "$work" && "$program" run good.lua --source mine.cu "$@") >"$work/out" 2>"$work/err"
    status=$?
}
sourced
is 0 && prints '^verified small sm_90a emu ' && prints '^verified 1 case '
ok $? "run --source runs the kernel that its first line names, alone"
sourced --kernel small --arch sm_90a
is 0 && prints '^verified small sm_90a emu '
ok $? "run --source with the kernel and the architecture that its first line names"
sourced --kernel old
is 2 && silent out && says "names kernel 'small'"
ok $? "run --source with another --kernel: status 2"
sourced --arch sm_80
is 2 && silent out && says "names sm_90a"
ok $? "run --source with another --arch: status 2"
grep -v '^ *ab_wait_full(ab_next);$' "$work/kept/small.sm_90a.cu" >"$work/mine.cu"
line=$(grep -n '^ *mma_dot(dot_sum' "$work/mine.cu")
line=${line%%:*}
for mode in eager late random all; do
    sourced --complete $mode --seed 3
    is 1 && prints '^FAILED small sm_90a emu M=17,N=40,K=64: hazards .*UNORDERED-READ' &&
        says "^hazard UNORDERED-READ: .*mine.cu:$line .*block (0, 0, 0), warp " &&
        [ "$(tail -n 1 "$work/out")" = 'FAILED 1 of 1 case of 1 kernel on emulator of sm_90a' ] &&
        [ "$(grep -c '^  do: Wait for the write before the read' "$work/err")" -eq 1 ] &&
        [ -z "$(grep '^hazard' "$work/err" | sort | uniq -d)" ]
    ok $? "a missing wait, $mode: hazards with their lines, each once, what to do, status 1"
done
sourced --hazards fatal
is 1 && [ "$(grep -c '^hazard' "$work/err")" -le 2 ] && says '^hazard UNORDERED-READ'
ok $? "--hazards fatal ends each launch at the first"
sourced --device emu --json --complete random --seed 3
if command -v python3 >/dev/null; then
    is 1 && silent err && python3 -c '
import json, sys
case = json.load(open(sys.argv[1]))["cases"][0]
assert not case["passed"] and case["completion"] == "random" and case["seed"] == 3, case
found = [h for h in case["hazards"] if h["name"] == "UNORDERED-READ"]
assert found, case
for h in found:
    assert h["text"].startswith("hazard UNORDERED-READ: ") and h["file"].endswith("mine.cu"), h
    assert h["line"] > 0 and h["count"] > 0 and len(h["block"]) == 3 and h["warp"] >= 0, h' "$work/out"
    ok $? "run --json has the hazards of each case"
else
    skip "run --json has the hazards of each case" "no python3"
fi
tilewright run "$top/tests/gpu/corners.lua" --kernel cluster_1x4 --device emu --sms 2
is 2 && silent out && says 'a cluster of cluster_1x4 has 4 blocks'
ok $? "a cluster larger than the emulated GPU: status 2"
tilewright run "$top/specs/gemm.lua" --break no_wait_full
is 0 && prints '^- [0-9]*:  *ab_wait_full(ab_next);$' && prints '^+ [0-9]*:  *;$' && prints '^expected: UNORDERED-READ$' &&
    [ "$(tail -n 1 "$work/out")" = 'found no_wait_full as UNORDERED-READ' ] && says '^hazard UNORDERED-READ: '
ok $? "run --break: the edit, the hazard that is expected and what the emulator says"
{ cat "$work/kept/small.sm_90a.cu"; printf '#line 7 "elsewhere.cu"\nnonsense;\n'; } >"$work/mine.cu"
line=$(wc -l <"$work/mine.cu")
(cd "$work" && "$program" run good.lua --device emu --source mine.cu) >"$work/out" 2>"$work/err"
status=$?
is 1 && silent out && [ "$(sed 1q "$work/err")" = "mine.cu: error: the compiler refuses it [COMPILE]" ] &&
    says "^mine.cu($line): error: " && says '^  nonsense;$' && ! says good.lua && ! says elsewhere
ok $? "run --source of a text that does not compile: status 1, its own lines"
{ sed 1q "$work/kept/small.sm_90a.cu"; echo '#line'; } >"$work/mine.cu"
tilewright run "$work/good.lua" --source "$work/mine.cu"
is 1 && silent out && says "^$work/mine.cu: error: no kernel 'small': "
ok $? "run --source of a text without the kernel: status 1"
sed 's/arch sm_90a/arch sm_9z/' "$work/kept/small.sm_90a.cu" >"$work/mine.cu"
tilewright run "$work/good.lua" --source "$work/mine.cu"
is 1 && silent out && says "mine.cu:1: there is no architecture 'sm_9z'"
ok $? "run --source for an architecture that nobody knows: status 1"
cat >"$work/fill.lua" <<'END'
local R, C = dims "R C"
local base = kernel "filled" {
  x = tensor { R, C, dtype = "fp32", fill = function(i, j, n) return 10 * i + j + 1000 * n.R + 10000 * n[2] end },
  y = tensor { R, C, dtype = "fp32", out = true },
  axes = "r c", tile = { r = 4, c = 32 }, grid = { r = R, c = C },
  program = function(t, at, tile)
    store(t.y, span(at.r, tile.r), span(at.c, tile.c), load(t.x, span(at.r, tile.r), span(at.c, tile.c)) * 2)
  end,
  run = { { R = 5, C = 9 } },
  reference = function(t, n)
    for r = 0, n.R - 1 do for c = 0, n.C - 1 do t.y[r][c] = 2 * (10 * r + c + 5000 + 90000) end end
  end,
}
kernel "text" { like = base, x = tensor { R, C, dtype = "fp32", fill = function() return "7" end } }
kernel "unknown" { like = base, x = tensor { R, C, dtype = "fp32", fill = function(i, j, n) return n.Q end } }
END
tilewright run "$work/fill.lua" --device emu --kernel filled
is 0 && prints '^verified filled__unaligned sm_90a emu R=5,C=9 error 0 '
ok $? "a fill that is a function: its numbers are what the kernel reads"
tilewright run "$work/fill.lua" --device emu --kernel text
is 1 && says "fill.lua:14: error: kernel 'text', x.fill: it returns a number for each element, this is a string "
ok $? "a fill that returns no number: its line"
tilewright run "$work/fill.lua" --device emu --kernel unknown
is 1 && says "fill.lua:15: error: kernel 'unknown', x.fill: there is no n.Q "
ok $? "a fill that fails: its line"
cat >"$work/bounds.lua" <<'END'
local R, C = dims "R C"
local base = kernel "none" {
  x = tensor { R, C, dtype = "fp32", fill = "iota" }, y = tensor { R, C, dtype = "fp32", out = true },
  axes = "r c", tile = { r = 4, c = 32 }, grid = { r = R, c = C },
  program = function(t, at, tile)
    local x = load(t.x, span(at.r, tile.r), span(at.c, tile.c))
    store(t.y, span(at.r, tile.r), span(at.c, tile.c), exp(exp(x + 10)))
  end,
  run = { { R = 4, C = 32 } },
}
kernel "some" { like = base, program = function(t, at, tile)
  local x = load(t.x, span(at.r, tile.r), span(at.c, tile.c))
  store(t.y, span(at.r, tile.r), span(at.c, tile.c), exp(exp(x)))
end }
kernel "lost" { like = base, program = function(t, at, tile) -- of a number that rounding makes negative or not
  local x = load(t.x, span(at.r, tile.r), span(at.c, tile.c))
  store(t.y, span(at.r, tile.r), span(at.c, tile.c), log((x * 0.1 + 1e6) - 1e6 - x * 0.1 + 1e-9))
end }
END
tilewright run "$work/bounds.lua" --device emu --kernel none
is 0 && prints '^verified none .*(nothing is shown: none of 128 elements has a finite bound)' &&
    prints '^verified 2 cases of 1 kernel on .*; 2 of them show nothing$'
ok $? "results that could be anything: the case's line and the last say that nothing is shown"
tilewright run "$work/bounds.lua" --device emu --kernel some
is 0 && prints '^verified some .* ([1-9][0-9]* of 128 elements have no finite bound)' && ! prints 'nothing'
ok $? "some results that could be anything: how many"
tilewright run "$work/bounds.lua" --device emu --kernel lost
is 0 && prints '^verified lost .*elements have no finite bound, and [1-9][0-9]* of these are NaN where the reference is a number)'
ok $? "results that are no numbers where anything is within bounds: how many"
mkdir "$work/own"
cp "$top/specs/rms_norm.lua" "$work/own"
{ cat "$top/specs/rms_norm.cu"; echo 'nonsense;'; } >"$work/own/rms_norm.cu"
line=$(wc -l <"$work/own/rms_norm.cu")
tilewright run "$work/own/rms_norm.lua"
is 1 && silent out && says '^.*/rms_norm.lua:[0-9]*: error: .* does not compile by nvrtc \[COMPILE\]$' &&
    says "^  $work/own/rms_norm.cu($line): error: " && says '^    nonsense;$' && ! says /tilewright/templates/rms_norm
ok $? "a template of one's own that does not compile: its path and line, the compiler's lines"
echo 'void f();' >"$work/mine.cu"
tilewright run "$work/good.lua" --source "$work/mine.cu"
is 1 && says 'first line'
ok $? "run --source without the first line: status 1"
# Many cases: a summary in the place of their lines, but of those that fail; all of them with --verbose.
cat >"$work/many.lua" <<'END'
local R, C = dims "R C"
local sizes = {}
for r = 1, 12 do sizes[r] = { R = r, C = 32 } end
local base = kernel "many" {
  x = tensor { R, C, dtype = "fp32" }, y = tensor { R, C, dtype = "fp32", out = true },
  axes = "r c", tile = { r = 4, c = 32 }, grid = { r = R, c = C },
  program = function(t, at, tile)
    store(t.y, span(at.r, tile.r), span(at.c, tile.c), load(t.x, span(at.r, tile.r), span(at.c, tile.c)) * 2)
  end,
  run = sizes,
}
kernel "wrong" {
  like = base, reference = function(t, n) for r = 0, n.R - 1 do for c = 0, n.C - 1 do
    t.y[r][c] = (n.R == 7 and 3 or 2) * t.x[r][c]
  end end end,
}
END
tilewright run "$work/many.lua" --device emu --arch sm_90a --kernel many
is 0 && ! prints '^verified many' && prints '^kernels  *1$' && prints '^variants  *[12] of 2 entry points ran$' &&
    prints '^cases  *[12][0-9] passed, 0 failed; --verbose' && prints '^seconds  *[0-9.]*: ' &&
    prints '^worst  *error [0-9.e-]*, bound [0-9.e-]*: many' && [ "$(wc -l <"$work/out")" -le 10 ] &&
    tail -n 1 "$work/out" | grep -q '^verified [12][0-9] cases of 1 kernel on emulator of sm_90a$'
ok $? "run: many cases are a summary of ten lines"
tilewright run "$work/many.lua" --device emu --arch sm_90a --kernel many --verbose
is 0 && [ "$(grep -c '^verified many' "$work/out")" -ge 12 ] && ! prints '^cases '
ok $? "run --verbose: a line a case"
tilewright run "$work/many.lua" --device emu --arch sm_90a --kernel wrong
is 1 && prints '^FAILED wrong.* R=7,C=32:' && ! prints '^verified wrong' && prints '^cases .*[1-9] failed'
ok $? "run: of many cases those that fail have their lines"
sed 's/for r = 1, 12/for r = 1, 4000/' "$work/many.lua" >"$work/endless.lua"
tilewright run "$work/endless.lua" --device emu --arch sm_90a --kernel many --limit 1
[ $status -lt 2 ] && prints '^limit  *1 s: [1-9][0-9]* more of the sets of sizes were not run$'
ok $? "run --limit: no case begins after it"
tilewright run "$work/endless.lua" --device emu --arch sm_90a --kernel many --limit 1 --json
[ $status -lt 2 ] && silent err && tr -d '\n' <"$work/out" |
    grep -Eq '"limit": { *"seconds": 1, *"broken_off": (null|"[^"]*"), *"not_run": [1-9][0-9]* *}'
ok $? "run --limit --json: what was not run"
cat >"$work/long.lua" <<'END'
local M, N, K = dims "M N K"
kernel "lasting" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
  run = { { M = 128, N = 256, K = 64 }, { M = 2048, N = 2048, K = 4096 }, { M = 64, N = 64, K = 64 } },
}
END
tilewright build "$work/long.lua" -o "$work" >/dev/null 2>&1
before=$(date +%s)
tilewright run "$work/long.lua" --device emu --arch sm_90a --limit 3
after=$(date +%s)
[ $status -lt 2 ] && prints '^limit  *3 s: lasting M=2048,N=2048,K=4096 was broken off$' &&
    prints '^limit  *3 s: 1 more of the sets of sizes were not run$' && ! prints '^FAILED' && [ $((after - before)) -lt 30 ]
ok $? "run --limit: the emulator breaks off a case under way"
echo "1..$count"
[ "$failed" -eq 0 ]
