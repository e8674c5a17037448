#!/bin/sh
# tests/bench/claims.py: claims of invented rows, held and missed; steps that are measured, resumed, failed and left out
# for want of time, with a program that is none; and that the real one knows every kernel that a step names. TAP on
# stdout; no GPU, no NVRTC.
#   usage: tests/claims.sh [PROGRAM], from the top of the tree
set -u
. tests/tap.sh
program=${1:-build/tilewright}
if ! command -v python3 >/dev/null 2>&1; then
    skip "claims" "no python3"
    echo "1..$count"
    exit 0
fi
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_claims_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
shown="$work/out $work/err"
claims() {
    python3 tests/bench/claims.py "$@" >"$work/out" 2>"$work/err"
    status=$?
}
is() { [ "$status" -eq "$1" ]; }
prints() { grep -qxF -e "$1" "$work/out"; }
said() { grep -q -e "$1" "$work/out" "$work/err"; }

# row KERNEL BACKEND MODE MS SIZES [MEMBERS]
row() {
    printf '{"kernel": "%s", "backend": "%s", "mode": "%s", "latency_ms": %s, "problem_size": {%s}%s}\n' "$@"
}
# rows: lines of rows as a JSON list.
rows() { printf '[\n' && sed '$!s/$/,/' && printf ']\n'; }
size() { printf '"M": %s, "N": %s, "K": %s' "$@"; }
attention() { printf '"B": %s, "H": %s, "R": %s, "S": %s' "$@"; }

# Two products, 1.25 and 0.8 of the peer: the mean is 1, the least 0.8, and only one of them has few rows. The first
# heuristic of a peer counts for nothing.
{
    row gemm_bf16 tilewright burst 4 "$(size 4096 4096 4096)"
    row gemm_bf16 cublaslt burst 5 "$(size 4096 4096 4096)"
    row gemm_bf16 tilewright burst 0.5 "$(size 16 4096 4096)"
    row gemm_bf16 cublaslt burst 0.4 "$(size 16 4096 4096)"
    row gemm_bf16 cublaslt_first burst 9 "$(size 16 4096 4096)"
    row gemm_bf16 tilewright sustained 2 "$(size 4096 4096 4096)"
} | rows >"$work/gemm.json"
claims table "$work/gemm.json"
is 1 && prints '| gemm_bf16, twenty shapes, mean | >= 1.03 | 1.000, missed |  |' &&
    prints '| gemm_bf16, least but 512^3 | >= 0.98 | 0.800, missed |  |' &&
    prints '| gemm_bf16, least of four large | >= 1 | 1.250 |  |' &&
    prints '| gemm_bf16, M at most 128, mean | >= 1.12 | 0.800, missed |  |' && ! said 512^3, && ! said decode
ok $? "products: means, the least, those that are picked, by mode"
claims table "$work/gemm.json" --missing
is 1 && prints '| gemm_bf16, 512^3 | >= 0.95 |  |  |'
ok $? "--missing: claims without rows"

# Attention beside the better of cuDNN and FlashAttention-3: 561 and 695 TFLOP/s are of the table's 4096, causal; a head
# size is told by its heads, and each has its own peer. The least is that with FlashAttention-3 before cuDNN.
{
    row attention_fwd_causal tilewright burst 1 "$(attention 4 16 4096 4096)"
    row attention_fwd_causal torch_cudnn burst 1.204506 "$(attention 4 16 4096 4096)"
    row attention_fwd_causal torch_cudnn burst 0.1 "$(attention 4 8 4096 4096)"
    row attention_fwd_d64 tilewright burst 1 "$(attention 32 32 512 512)"
    row attention_fwd torch_cudnn burst 1.1 "$(attention 32 32 512 512)"
    row attention_fwd torch_cudnn burst 7 "$(attention 32 16 512 512)"
} | rows >"$work/forward.json"
claims table "$work/forward.json"
is 0 && prints '| attention forward, mean | >= 0.97 | 1.049 |  |' && prints '| attention forward, least | >= 0.88 | 1.000 |  |'
ok $? "attention: the better of two peers, heads told apart"

# Of another run: its claims are of its own rows alone, and it has none where the peer is missing there.
{
    row gemm_bf16 tilewright burst 4 "$(size 4096 4096 4096)"
    row gemm_bf16 cublaslt burst 4.4 "$(size 4096 4096 4096)"
    row attention_fwd_causal tilewright burst 0.1 "$(attention 4 16 4096 4096)"
} | rows >"$work/newer.json"
claims table "$work/gemm.json" "$work/forward.json" --newer "$work/newer.json"
is 1 && prints '| gemm_bf16, M at most 128, mean | >= 1.12 | 0.800, missed |  |' &&
    prints '| gemm_bf16, twenty shapes, mean | >= 1.03 | 1.100 |  |' &&
    prints '| attention forward, mean | >= 0.97 | 1.049 |  |'
ok $? "--newer: rows of two runs are not compared"

# Rows of two files: the later counts. A time that must not be above its bound; rates of one run.
{
    row with_bias_approx tilewright burst 1.05 "$(size 4096 4096 4096)"
    row plain tilewright burst 1 "$(size 4096 4096 4096)"
    row read_rows tilewright burst 1 '"R": 1, "C": 1' ', "gbs": 4000'
    row attention_decode tilewright burst 1 '"B": 32, "R": 1, "S": 4096, "G": 8' ', "gbs": 3800'
    row attention_bwd_delta tilewright burst 1 '"B": 8, "H": 16, "R": 2048'
    row attention_bwd_dkdv tilewright burst 2 "$(attention 8 16 2048 2048)"
    row attention_bwd_dq tilewright burst 1 "$(attention 8 16 2048 2048)"
    row attention_bwd torch_cudnn burst 3 "$(attention 8 16 2048 2048)"
} | rows >"$work/one.json"
{ printf '{"rows": ' && row plain tilewright burst 1.04 "$(size 4096 4096 4096)" | rows && printf '}\n'; } >"$work/two.json"
claims table "$work/one.json" "$work/two.json"
is 1 && prints '| bias and gelu_tanh_approx, time of plain | <= 1.03 | 1.010 |  |' &&
    prints '| decode, 32 x 4096, of the read rate | >= 0.9 | 0.950 |  |' &&
    prints '| attention backward, head size 128, least | >= 0.8 | 0.750, missed |  |'
ok $? "later files count; times below a bound; rates; sums of kernels"

# A program that writes a row where it is told to, and fails for one kernel.
cat >"$work/program" <<'END'
#!/bin/sh
while [ $# -gt 0 ]; do
    [ "$1" != --json ] || json=$2
    case $* in "--kernel gemm_grouped_masked"*) echo "no such GPU" >&2; exit 3 ;; esac
    shift
done
echo '[{"kernel": "k", "backend": "tilewright", "mode": "burst", "latency_ms": 1, "problem_size": {}}]' >"$json"
END
chmod +x "$work/program"
claims measure "$work/measured" decode grouped epilogues --program "$work/program"
is 1 && said '^decode: 3 rows' && said '^grouped: 0 rows.*FAILED' && said '^epilogues: 1 rows' &&
    grep -q 'no such GPU' "$work/measured/grouped.log" && [ ! -e "$work/measured/grouped.json" ] &&
    [ -z "$(find "$work/measured" -name '*.part')" ]
ok $? "a step that fails leaves no rows, and the next one runs"
claims measure "$work/measured" decode epilogues --program "$work/program"
is 0 && [ ! -s "$work/out" ]
ok $? "rows that are there are not measured again"
claims measure "$work/measured" gemm --program "$work/program" --seconds 1
is 0 && said '^gemm: not run, it takes some' && [ ! -e "$work/measured/gemm.json" ]
ok $? "a step for which there is no time is left out"
claims measure "$work/measured" nonsense
is 1 && said 'no step is called nonsense; there are gemm,'
ok $? "an unknown step is refused"

# Kernels and sizes that steps name are there: `plan` refuses those that are not, and `bench` sizes that are none.
PYTHONPATH=tests/bench python3 - "$program" >"$work/out" 2>&1 <<'END'
import os, subprocess, sys
import claims
bad = 0
for name, (seconds, commands) in claims.STEPS.items():
    for words in commands:
        for word in words:
            bad |= word.endswith((".py", ".lua", ".json")) and not os.path.exists(word) and not print(name, word)
        if words[0] != "{program}":
            continue
        kernel = words[words.index("--kernel"):][:2] if "--kernel" in words else []
        bad |= subprocess.run([sys.argv[1], "check", words[2], *kernel], stdout=subprocess.DEVNULL).returncode
sys.exit(bad != 0)
END
ok $? "every step's files and kernels are there"
echo "1..$count"
[ "$failed" -eq 0 ]
