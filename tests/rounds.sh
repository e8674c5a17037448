#!/bin/sh
# All faults of a spec in one run. Each line below plants one fault in a spec that has none; of every two that can stand
# beside each other, `check` must tell what it tells of each alone (kernel, field, rule and architecture: numbers may
# differ). What follows from another fault is not planted here. TAP on stdout.
#   usage: tests/rounds.sh [PROGRAM], from the top of the tree
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_rounds_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
LC_ALL=C
export LC_ALL

# FIELD TEXT: the field that is written so; fields that the spec below has are replaced, others added.
cat >"$work/faults" <<'LIST'
tile { m = 100, n = 128, k = 64 }
tile { m = 128, n = 100, k = 64 }
tile { m = 128, n = 128, k = 64, q = 4 }
cluster { m = 4, n = 4 }
pipeline { stages = 1 }
pipeline { stages = 40 }
pipeline { consumers = 3 }
A tensor { M, K, dtype = "bf16", stride = { 100, 1 } }
A tensor { M, K, dtype = "bf17" }
A tensor { M, K, dtype = "bf16", swizzle = "256B" }
B tensor { N, K, dtype = "bf16", stride = { 100, 1 } }
A tensor { M, dtype = "bf16" }
A tensor { M, K, dtype = "bf16", axes = "m" }
B tensor { N, K, dtype = "int8" }
B tensor { N, K, 4, dtype = "bf16" }
B tensor { dtype = "bf16" }
D tensor { M, N, dtype = "bf16", align = 3 }
bias tensor { N, dtype = "fp32", axes = "n", fill = "ones and zeros" }
aux tensor { M, N, dtype = "bf16", axes = "m q" }
epilogue function(acc, t) if acc > 0 then return acc end return t.bias end
epilogue function(acc, t) return acc + t.bais end
run { { M = -1, N = 2, K = 3 } }
bench { { M = 1, N = 1, K = 1, Q = 1 } }
arch { sm_80 = { cluster = { m = 2 } }, sm_90a = {} }
arch { sm_80 = {}, sm_90a = { tile = { n = 260 } } }
arch { sm_75 = {}, sm_80 = {}, sm_90a = {} }
arch { sm_75 = {} }
arch { sm_120 = {}, sm_100a = {} }
schedule { order = "sideways" }
schedule { dynamic = true, persistent = false }
tune { tile = { q = { 3 } } }
tyle { m = 3 }
stages 4
threads 128
like 3
LIST

# Writes the spec with the faults of lines a and b to $work/spec.lua; status 1: they write the same field.
spec() { # a b
    awk -v a="$1" -v b="$2" '
    FNR == a || FNR == b {
        name = $1; sub(/^[^ ]+ /, "")
        if (name in own) exit 1
        own[name] = $0
    }
    END {
        value["A"] = "tensor { M, K, dtype = \"bf16\" }"; value["B"] = "tensor { N, K, dtype = \"bf16\" }"
        value["D"] = "tensor { M, N, dtype = \"bf16\" }"; value["bias"] = "tensor { N, dtype = \"fp32\", axes = \"n\" }"
        value["epilogue"] = "function(acc, t) return acc + t.bias end"
        value["tile"] = "{ m = 128, n = 128, k = 64 }"; value["run"] = "{ { M = 257, N = 256, K = 128 } }"
        for (name in own) value[name] = own[name]
        print "local M, N, K = dims \"M N K\"\nkernel \"g\" {\n  family = \"gemm\","
        count = split("A B D bias aux tile cluster pipeline schedule arch tune tyle stages threads like epilogue run bench", order, " ")
        for (i = 1; i <= count; i++)
            if (order[i] in value) print "  " order[i] " = " value[order[i]] ","
        print "}"
    }' "$work/faults" >"$work/spec.lua"
}

# What is told, a line each: field, rule, architecture.
told() {
    timeout 60 "$program" check "$work/spec.lua" 2>&1 >/dev/null | awk '
    /^[^ ].*: error: kernel / {
        text = $0; sub(/^.*: error: kernel [^,:]*[,:] /, "", text)
        field = text; sub(/:.*/, "", field)
        rule = $NF; arch = ""
        if (rule !~ /FIELD|ARCH/ && match(text, /sm_[0-9]+a?/)) arch = substr(text, RSTART, RLENGTH)
        print field, rule, arch
    }' | sort -u
}

count=$(wc -l <"$work/faults") test=0 failed=0
a=1
while [ "$a" -le "$count" ]; do
    test=$((test + 1))
    spec "$a" 0
    told >"$work/told.$a"
    if [ -s "$work/told.$a" ]; then
        echo "ok $test - alone: $(sed -n "${a}p" "$work/faults")"
    else
        failed=$((failed + 1))
        echo "not ok $test - alone: $(sed -n "${a}p" "$work/faults")"
    fi
    b=1 missing=0
    : >"$work/missing"
    while [ "$b" -lt "$a" ]; do
        if spec "$a" "$b"; then
            told >"$work/told"
            sort -u "$work/told.$a" "$work/told.$b" | comm -23 - "$work/told" | sed "s|\$| beside: $(sed -n "${b}p" "$work/faults" | tr '|&' '..')|" >>"$work/missing"
        fi
        b=$((b + 1))
    done
    test=$((test + 1))
    if [ -s "$work/missing" ]; then
        failed=$((failed + 1))
        echo "not ok $test - beside each other one: $(sed -n "${a}p" "$work/faults")"
        sed 's/^/# not told: /' "$work/missing"
    else
        echo "ok $test - beside each other one: $(sed -n "${a}p" "$work/faults")"
    fi
    a=$((a + 1))
done
echo "1..$test"
[ "$failed" -eq 0 ]
