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
. tests/tap.sh

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
arch { sm_103 = {}, sm_103a = {} }
schedule { order = "sideways" }
schedule { dynamic = true, persistent = false }
tune { tile = { q = { 3 } } }
tyle { m = 3 }
stages 4
threads 128
like 3
LIST

# spec A B...: a spec on $work/spec.lua with a kernel for each B that writes another field than line A: g and B is its
# name, the faults of lines A and B are its own. Line 0 is no fault.
spec() {
    awk -v lines="$*" '
    NR == 1 { count = split(lines, line, " ") }
    { name[FNR] = $1; sub(/^[^ ]+ /, ""); text[FNR] = $0 }
    END {
        print "local M, N, K = dims \"M N K\""
        fields = split("A B D bias aux tile cluster pipeline schedule arch tune tyle stages threads like epilogue run bench", order, " ")
        for (i = 2; i <= count; i++) {
            a = line[1]; b = line[i]
            if (name[a] == name[b]) continue
            split("", value)
            value["A"] = "tensor { M, K, dtype = \"bf16\" }"; value["B"] = "tensor { N, K, dtype = \"bf16\" }"
            value["D"] = "tensor { M, N, dtype = \"bf16\" }"
            value["bias"] = "tensor { N, dtype = \"fp32\", axes = \"n\" }"
            value["epilogue"] = "function(acc, t) return acc + t.bias end"
            value["tile"] = "{ m = 128, n = 128, k = 64 }"; value["run"] = "{ { M = 257, N = 256, K = 128 } }"
            value[name[a]] = text[a]
            if (b > 0) value[name[b]] = text[b]
            print "kernel \"g" b "\" {\n  family = \"gemm\","
            for (j = 1; j <= fields; j++)
                if (order[j] in value) print "  " order[j] " = " value[order[j]] ","
            print "}"
        }
    }' "$work/faults" >"$work/spec.lua"
}

# What is told, a line each: the kernel's line B, field, rule, architecture.
told() {
    timeout 60 "$program" check "$work/spec.lua" 2>&1 >/dev/null | awk '
    /^[^ ].*: error: kernel / {
        text = $0; sub(/^.*: error: kernel [^0-9]*/, "", text)
        line = text + 0; sub(/^[0-9]*[^,:]*[,:] /, "", text)
        field = text; sub(/:.*/, "", field)
        rule = $NF; arch = ""
        if (rule !~ /FIELD|ARCH/ && match(text, /sm_[0-9]+a?/)) arch = substr(text, RSTART, RLENGTH)
        print line, field, rule, arch
    }' | sort -u
}

lines=$(wc -l <"$work/faults")
: >"$work/alone"
a=1
while [ "$a" -le "$lines" ]; do
    fault=$(sed -n "${a}p" "$work/faults")
    spec "$a" 0
    told | sed "s/^0 /$a /" >"$work/told"
    [ -s "$work/told" ]
    ok $? "alone: $fault"
    cat "$work/told" >>"$work/alone"
    # Each other line's kernel stands in one spec: all faults of a spec are told, those of its other kernels too.
    # shellcheck disable=SC2046
    spec "$a" $(seq 1 $((a - 1)))
    told >"$work/told"
    grep -o '^kernel "g[0-9]*"' "$work/spec.lua" | tr -dc '0-9\n' | awk -v a="$a" '
        FILENAME == ARGV[1] { fault[FNR] = $0; next }
        { line = $1; sub(/^[0-9]+ /, "") }
        FILENAME == ARGV[2] { alone[line, ++count[line]] = $0; next }
        FILENAME == ARGV[3] { told[line, $0]; next }
        {
            for (i = 1; i <= count[a]; i++)
                if (!((line, alone[a, i]) in told)) print alone[a, i] " beside: " fault[line]
            for (i = 1; i <= count[line]; i++)
                if (!((line, alone[line, i]) in told)) print alone[line, i] " beside: " fault[line]
        }' "$work/faults" "$work/alone" "$work/told" - >"$work/missing"
    [ ! -s "$work/missing" ]
    ok $? "beside each other one: $fault" "$work/missing"
    a=$((a + 1))
done
echo "1..$count"
[ "$failed" -eq 0 ]
