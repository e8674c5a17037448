#!/bin/sh
# libtilewright-explain.so on a GPU: in a C++, a torch and a Triton program that plant bad maps it names the planted
# rule for every call that was refused, tells nothing else, and leaves stdout and the exit status as they are. TAP on
# stdout; SHOW=1 shows what is told.
#   usage: tests/gpu/explain.sh [LIBRARY], from the top of the tree
set -u
library=${1:-build/libtilewright-explain.so}
case $library in /*) ;; *) library=$PWD/$library ;; esac
here=tests/gpu/explain
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_explain_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
unset CUDA_INJECTION64_PATH TILEWRIGHT_EXPLAIN_LOG TILEWRIGHT_EXPLAIN_WARNINGS
. tests/tap.sh

# Triton prints addresses, which differ from run to run.
plain() { sed 's/0x[0-9a-f]*/0x/g' "$1"; }

# A command with the library and without: the same stdout, the same status, and on stderr, beside what the program
# itself writes there, one report to each line "refused RULE" of stdout, in that order, with that rule.
try() { # name command...
    name=$1
    shift
    "$@" >"$work/without" 2>"$work/err0"
    echo "status $?" >>"$work/without"
    CUDA_INJECTION64_PATH=$library "$@" >"$work/with" 2>"$work/err"
    echo "status $?" >>"$work/with"
    plain "$work/without" >"$work/want"
    plain "$work/with" | diff "$work/want" - >"$work/log"
    ok $? "$name: stdout and status are those without the library" "$work/log"
    grep -o 'refused TMA-[A-Z0-9-]*' "$work/with" | sed 's/refused //' >"$work/planted"
    awk 'FILENAME == ARGV[1] { planted[++n] = $1; next }
         /^tilewright explain #/ { if (/failed: CUDA_ERROR_INVALID_VALUE/) told[++t] = "" }
         /^    TMA-/ { told[t] = told[t] " " substr($1, 1, length($1) - 1) " " }
         END { for (i = 1; i <= n || i <= t; i++)
                   if (!index(told[i], " " planted[i] " ")) {
                       print i ": planted " planted[i] ", told" told[i]
                       bad = 1
                   }
               exit bad || n == 0 }' "$work/planted" "$work/err" >"$work/log"
    status=$?
    [ $status -eq 0 ] || cat "$work/err" >>"$work/log"
    ok $status "$name: the rule of every refused call ($(wc -l <"$work/planted") planted)" "$work/log"
    plain "$work/err" | grep -v '^tilewright explain\|^    ' >"$work/own"
    plain "$work/err0" | grep -v '^    ' | diff - "$work/own" >"$work/log"
    ok $? "$name: nothing else on stderr" "$work/log"
    [ -z "${SHOW:-}" ] || sed 's/^/# /' "$work/err"
}

if command -v nvcc >/dev/null 2>&1; then
    nvcc -std=c++17 -arch=sm_90 -o "$work/program" "$here/program.cu" -lcuda >"$work/log" 2>&1
    ok $? "C++: the program builds" "$work/log"
    try "C++" "$work/program"
    tail -n 1 "$work/err" | grep -q '^tilewright explain: 1[0-9]* calls, .* came 1000 times'
    ok $? "C++: a loop is told once and counted" "$work/err"
    grep -q '^without a context: [1-9]' "$work/with" && grep -q '^    no context is current' "$work/err"
    ok $? "C++: a call without a context" "$work/err"
    for list in 0 1 2 3 4; do
        "$work/program" null $list >"$work/without" 2>&1
        want=$?
        CUDA_INJECTION64_PATH=$library "$work/program" null $list >"$work/with" 2>"$work/err"
        status=$?
        cmp -s "$work/without" "$work/with" && [ $status -eq $want ] &&
            if grep -q refused "$work/with"; then grep -q '    TMA-NULL: ' "$work/err"; fi
        ok $? "C++: argument $list is NULL: $(cat "$work/with") status $status" "$work/err"
    done
    echo "# without the library: $("$work/program" time)"
    echo "# with the library: $(CUDA_INJECTION64_PATH=$library "$work/program" time)"
else
    skip "C++" "there is no nvcc"
fi
python=${PYTHON:-python3}
if "$python" -c 'import torch; from cuda.bindings import driver' 2>/dev/null; then
    try torch "$python" "$here/torch_program.py"
    grep -q '^    Python: File ".*torch_program.py", line [0-9]* in by_bindings' "$work/err" &&
        grep -q '^      from File ".*torch_program.py", line [0-9]* in <module>' "$work/err"
    ok $? "torch: the lines of the program" "$work/err"
else
    skip "torch" "$python has no torch, or no cuda.bindings"
fi
if "$python" -c 'import triton.tools.tensor_descriptor' 2>/dev/null; then
    TRITON_CACHE_DIR=$work/triton
    export TRITON_CACHE_DIR
    "$python" "$here/triton_program.py" >"$work/log" 2>&1 # compiles
    try Triton "$python" "$here/triton_program.py"
else
    skip "Triton" "$python has no Triton with host descriptors"
fi
echo "1..$count"
[ "$failed" -eq 0 ]
