#!/bin/sh
# Planted bugs: what the emulator says of kernels that are wrong. TAP on stdout.
#   usage: tests/emu/breaks.sh [PROGRAM], from the top of the tree. Needs NVRTC, no GPU. FULL=1: in more modes.
#
# All at sizes of specs/gemm.lua: the first three, which leave nothing of the kernels' own variants out.
# 1. Every bug of gen/verify/run/breaks.def is reported under its own name, whenever asynchronous operations happen.
# 2. Each synchronising statement of the emitted GEMM, taken out alone, is reported: none is there for nothing. The
#    statements are found in the text (statements.awk below), by the instructions that they are made of.
# 3. The kernels as they are emitted report nothing.
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_breaks_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
export TILEWRIGHT_CACHE program work
. tests/tap.sh

if ! "$program" doctor >/dev/null 2>&1; then
    echo "ok 1 - planted bugs # SKIP there is no NVRTC"
    exit 0
fi

# all: eager, late and random, each of which is to find the bug.
modes='all:1 random:2'
if [ "${FULL:-0}" = 1 ]; then
    modes='all:1 random:2 random:3'
    take_modes=$modes
else
    take_modes='random:1'
fi
# The spec's own sizes, which leave nothing out.
options='--inputs normal'

# One run: job.sh FILE ARGUMENT...; its output goes to FILE, its status to FILE.status. In the folder of the texts: what
# NVRTC makes of a text is kept by its content and its name.
case $program in /*) ;; *) program=$PWD/$program ;; esac
mkdir "$work/spec"
spec=$work/spec/gemm.lua # without the set-ups beside it
sed 's/, { M = 41, N = 48, K = 520 }//' specs/gemm.lua >"$spec"
cmp -s specs/gemm.lua "$spec" && ok 1 "the sizes of specs/gemm.lua"
export spec
cat >"$work/job.sh" <<'JOB'
cd "$work" || exit 1
file=$1
shift
"$program" run "$spec" --device emu "$@" >"$file" 2>&1
echo $? >"$file.status"
JOB

# ---- the statements of a text that synchronise
# A function that is made of such instructions alone is a building block: each of its calls is a statement, and what
# stands in it is only where it is more than one. try_wait is a loop of its function, whose calls are taken out.
cat >"$work/statements.awk" <<'AWK'
function synchronises(text) {
    return text ~ /mbarrier\.(init|arrive|expect_tx|inval|try_wait|test_wait)|[" ]bar(rier)?\.(sync|arrive|red|cluster)/ ||
        text ~ /fence\.|wgmma\.(fence|commit_group|wait_group)|cp\.async\.(bulk\.)?(commit|wait)_(group|all)/ ||
        text ~ /setmaxnreg|__sync(threads|warp)|tcgen05\.(fence|commit|wait|alloc|dealloc)/
}
function works(text) {
    return text ~ /wgmma\.mma_async|tcgen05\.(mma|ld|st)|cp\.async\.(bulk\.(tensor|shared|global)|c[ga]\.)|(st|ld)matrix|mma\.sync/ ||
        text ~ /prefetch|[" ](ld|st|red|atom)\.|\[[^]%]*\] *=/
}
# Number of the line in which the statement that begins on line `from` ends: brackets are closed, then a semicolon.
function end_of(from,    i, text, quoted, depth, n, c, k) {
    for (i = from; i <= lines; i++) {
        text = line[i]
        if (text ~ /^#line/)
            continue
        n = length(text)
        quoted = 0
        for (k = 1; k <= n; k++) {
            c = substr(text, k, 1)
            if (quoted && c == "\\") k++
            else if (c == "\"") quoted = !quoted
            else if (!quoted && c == "(") depth++
            else if (!quoted && c == ")") depth--
            else if (!quoted && c == ";" && depth == 0) return i
        }
    }
    return 0
}
function statement(from, to,    i, text) {
    for (i = from; i <= to; i++)
        text = text line[i] "\n"
    return text
}
{ line[++lines] = $0 }
/^[a-zA-Z_].*\(/ && !/;$/ {
    head = $0
    gsub(/__(launch_bounds|align)__\([^)]*\)/, "", head)
    if (match(head, /[A-Za-z_0-9]+\(/)) name = substr(head, RSTART, RLENGTH - 1)
}
/^\{/ { inside = name }
inside != "" { of[NR] = inside; body[inside] = body[inside] $0 "\n" }
/^}/ { inside = "" }
END {
    for (f in body) {
        sync[f] = synchronises(body[f])
        work[f] = works(body[f])
        statements[f] = gsub(/;[ \t]*\n/, ";\n", body[f])
    }
    do {
        changed = 0
        for (f in body) for (g in body)
            if (g != f && body[f] ~ ("(^|[^A-Za-z_0-9])" g "\\(")) {
                if (sync[g] && !sync[f]) { sync[f] = 1; changed = 1 }
                if (work[g] && !work[f]) { work[f] = 1; changed = 1 }
            }
    } while (changed)
    for (i = 1; i <= lines; i++) {
        f = of[i]
        if (f == "" || line[i] !~ /^ +[a-zA-Z_0-9]+(\(| volatile\()/)
            continue
        match(line[i], /[A-Za-z_0-9]+/)
        word = substr(line[i], RSTART, RLENGTH)
        last = end_of(i)
        text = statement(i, last)
        if (word == "asm" || word ~ /^__sync/) {
            if (!synchronises(text) || text ~ /(try|test)_wait/ || (sync[f] && !work[f] && statements[f] == 1))
                continue
        } else if (!(word in body) || !sync[word] || work[word] || (f == word))
            continue
        else if (sync[f] && !work[f] && statements[f] == 1)
            continue
        sub(/^ +/, "", text)
        sub(/\n.*/, "", text)
        print i, last, text
    }
}
AWK

# ---- all runs, two at once
"$program" run --break list >"$work/list" || ok 1 "run --break list" "$work/list"
"$program" gen "$spec" --kernel gemm_bf16 --arch sm_80,sm_90a,sm_100a,sm_120a -o "$work/text" >/dev/null || ok 1 "gen"
: >"$work/jobs"
while read -r name arch hazard text; do
    for mode in $modes; do
        echo "$work/planted.$name.$arch.$mode --break $name --arch $arch --complete ${mode%:*} --seed ${mode#*:}"
    done
done <"$work/list" >>"$work/jobs"
entries='gemm_bf16.sm_90a gemm_bf16__unaligned.sm_90a gemm_bf16.sm_80 gemm_bf16__unaligned.sm_80 gemm_bf16.sm_100a
gemm_bf16__unaligned.sm_100a gemm_bf16.sm_120a'
for entry in $entries; do
    text=$work/text/$entry.cu
    awk -f "$work/statements.awk" "$text" >"$work/statements.$entry"
    while read -r first last statement; do
        awk -v first="$first" -v last="$last" '
            NR == first { match($0, /^ */); print substr($0, 1, RLENGTH) ";"; next }
            NR > first && NR <= last { print ""; next }
            { print }' "$text" >"$work/without.$first.$entry.cu"
        for mode in $take_modes; do
            echo "$work/without.$first.$entry.$mode --source without.$first.$entry.cu $options" \
                "--complete ${mode%:*} --seed ${mode#*:}"
        done
    done <"$work/statements.$entry" >>"$work/jobs"
    for mode in $modes; do
        echo "$work/sound.$entry.$mode --source text/$entry.cu $options --complete ${mode%:*} --seed ${mode#*:}"
    done >>"$work/jobs"
done
# A result that is wrong in some completions alone: each by itself, all of them, and one in turn.
sed 's/^\( *\)d_wait();$/\1;/' "$work/text/gemm_bf16.sm_90a.cu" >"$work/late.cu"
for mode in eager late all alternate; do
    echo "$work/late.$mode --source late.cu --hazards off --inputs integer --set M=264,N=512,K=136 --complete $mode"
done >>"$work/jobs"
xargs -P 2 -L 1 sh "$work/job.sh" <"$work/jobs"

# ---- what they say
while read -r name arch hazard text; do
    : >"$work/wrong"
    for mode in $modes; do
        out=$work/planted.$name.$arch.$mode
        grep -q "^found $name as $hazard\$" "$out" && [ "$(cat "$out.status")" = 0 ] || {
            echo "--complete ${mode%:*} --seed ${mode#*:}:" && grep -v '^  do:' "$out"
        } >>"$work/wrong"
    done
    [ ! -s "$work/wrong" ]
    ok $? "$name on $arch is found as $hazard" "$work/wrong"
done <"$work/list"

for entry in $entries; do
    # A short list would mean that the text is no longer understood.
    case $entry in *__unaligned.sm_80) least=1 ;; *.sm_80) least=4 ;; *.sm_120a) least=8 ;; *) least=20 ;; esac
    [ "$(wc -l <"$work/statements.$entry")" -ge $least ]
    ok $? "the synchronising statements of $entry.cu are seen" "$work/statements.$entry"
    while read -r first last statement; do
        : >"$work/wrong"
        for mode in $take_modes; do
            out=$work/without.$first.$entry.$mode
            grep -q '^FAILED .*: hazards [A-Z]' "$out" && [ "$(cat "$out.status")" = 1 ] || {
                echo "--complete ${mode%:*} --seed ${mode#*:}:" && cat "$out"
            } >>"$work/wrong"
        done
        [ ! -s "$work/wrong" ]
        ok $? "$entry.cu:$first without '$statement' is reported" "$work/wrong"
    done <"$work/statements.$entry"
    for mode in $modes; do
        out=$work/sound.$entry.$mode
        [ "$(cat "$out.status")" = 0 ] && grep -q '^verified ' "$out" && ! grep -q hazard "$out"
        ok $? "$entry.cu reports nothing, $mode" "$out"
    done
done
[ "$(cat "$work/late.eager.status")" = 0 ] && [ "$(cat "$work/late.late.status")" = 1 ]
ok $? "without hazards a missing wait for a store is seen late alone" "$work/late.late"
[ "$(cat "$work/late.all.status")" = 1 ] && grep -q '^FAILED gemm_bf16 .* (--complete late)$' "$work/late.all"
ok $? "--complete all says in which completion a result is wrong" "$work/late.all"
# The case is the first, of integers, which are the second kind of inputs: it has the second completion.
[ "$(cat "$work/late.alternate.status")" = 1 ] && \
    grep -q '^FAILED gemm_bf16 .* (--complete late)$' "$work/late.alternate"
ok $? "--complete alternate says so too" "$work/late.alternate"
echo "1..$count"
[ "$failed" -eq 0 ]
