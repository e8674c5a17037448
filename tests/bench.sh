#!/bin/sh
# bench SPEC from outside: options, sizes and files of rows; no GPU. What is timed, and beside what, is
# tests/emu/test_bench.c's. TAP on stdout; it compiles, and is skipped where there is no NVRTC.
#   usage: tests/bench.sh [PROGRAM], from the top of the tree
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_bench_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
CUDA_VISIBLE_DEVICES=
LC_ALL=C
export TILEWRIGHT_CACHE CUDA_VISIBLE_DEVICES LC_ALL
. tests/tap.sh
spec=tests/emu/bench.lua

bench() {
    timeout 120 "$program" bench "$@" >"$work/out" 2>"$work/err"
    status=$?
}
is() { [ "$status" -eq "$1" ]; }
says() { grep -q -e "$1" "$work/err"; }

# refused TEXT ARGUMENT...: a fault of usage.
refused() {
    text=$1
    shift
    bench "$@"
    is 2 && says "$text" && [ ! -s "$work/out" ]
    ok $? "bench $*: $text" "$work/err"
}
refused 'which spec? or --host' --json "$work/rows"
refused 'write burst, sustained or both' $spec --mode fast
refused 'write cublaslt or none' $spec --peer torch
refused 'write cuda, cuda:N or emu' $spec --device auto
refused 'does not go with --set' $spec --config "$work/c.json" --set M=8
refused 'write 1 to 1001' $spec --rounds 1002
refused "has no dim 'X'" $spec --set X=8
bench $spec --kernel plain
is 3 && says '^tilewright bench: .*; bench times on a GPU, with its driver, NVRTC and a C compiler; --device emu verifies'
ok $? "without a GPU: status 3, and what is needed" "$work/err"

bench $spec --kernel plain --device emu --json "$work/rows.json"
if is 3; then
    echo "# skipped: $(cat "$work/err")"
    echo "1..$count"
    exit $failed
fi
is 0 && grep -q '^  plain  *burst  *verified$' "$work/out" && [ "$(wc -l <"$work/rows.json")" = 2 ] &&
    grep -q '"problem_size": { "M": 136, "N": 72, "K": 64 }, "mode": "burst", "latency_ms": null' "$work/rows.json"
ok $? "--device emu: kernels are verified, rows have no times" "$work/out"
refused 'no size for K; write bench = { { K = ... } } or --set K=' tests/gpu/gemm_grid.lua --device emu \
    --kernel gemm_bf16_bf16_mk_nk_mn --set M=8,N=8
refused "has no kernel 'nothing'" $spec --kernel nothing --device emu
bench $spec --device emu --mode burst --set M=64/72,N=64,K=64
is 0 && [ "$(grep -c '^emulator of sm_90a M=' "$work/out")" = 26 ] && [ "$(grep -c verified "$work/out")" = 32 ] &&
    [ "$(grep -c '^  fused \* ' "$work/out")" = 2 ] && ! grep -q sustained "$work/out"
ok $? "kernels of one problem and size stand together" "$work/out"
bench specs/rows.lua --kernel softmax --device emu --mode burst --set R=8,C=64
is 0 && grep -q '^  softmax  *burst  *verified$' "$work/out"
ok $? "a kernel that is no problem of cuBLASLt's" "$work/out"
bench specs/rms_norm.lua --device emu --mode burst --set R=2100,C=4096
is 0 && grep -q '^  rms_norm_ring  *burst  *verified$' "$work/out" &&
    says 'note: rms_norm_ring R=2100,C=4096: too large for its reference; verified at the sizes of run'
ok $? "too much for a reference by hand: the sizes of run are verified, and it is told" "$work/err"
mkdir "$work/large"
sed 's/ \* scale;/;/' specs/rms_norm.cu >"$work/large/rms_norm.cu"
cp specs/rms_norm.lua "$work/large"
bench "$work/large/rms_norm.lua" --device emu --mode burst --set R=2100,C=4096
is 1 && says 'rms_norm_ring R=5,C=1024: wrong result, which is not timed' && ! says 'too large'
ok $? "... and a wrong result there is not timed" "$work/err"
sed '/^  run /d' specs/rms_norm.lua >"$work/large/rms_norm.lua"
bench "$work/large/rms_norm.lua" --device emu --mode burst --set R=2100,C=4096
! is 0 && says "kernel 'rms_norm_ring' has sizes of bench too large for its reference, and none of run"
ok $? "... and where there are none that is said" "$work/err"
# counts SPEC KERNEL SIZES OPERATIONS: of what masks let in, element by element.
counts() {
    bench "specs/$1.lua" --kernel "$2" --device emu --mode burst --set "$3" --json "$work/rows.json"
    is 0 && sed -n 's/.*"gflop": \([^,]*\),.*/\1/p' "$work/rows.json" |
        awk -v all="$4" '{ found += $1 * 1e9 - all < 0.5 && all - $1 * 1e9 < 0.5 } END { exit found != 1 }'
    ok $? "$2 at $3: $4 operations" "$work/rows.json"
}
counts attention attention_fwd_causal B=1,H=2,R=130,S=140 $((4 * 128 * 2 * 130 * 131 / 2))
counts attention_mods attention_fwd_window B=1,H=1,R=510,S=510 $((4 * 128 * (500 * 501 / 2 + 10 * 500)))
# Where data say how many keys a request has: none, one, and all 130, of which the last row but one sees one less.
counts attention_decode_mods attention_decode_sink B=2,R=2,S=130,G=1 $((4 * 128 * 4 * (129 + 130)))
# Sequences of 0 and of 230 rows, and 20 keys for the latter.
counts attention_varlen attention_fwd_varlen B=2,H=2,R=230,T=230,U=20 $((4 * 128 * 2 * 230 * 20))
# Eight documents of five rows, each below its diagonal; dQ takes three products.
counts attention_bwd attention_bwd_dq_documents B=2,H=1,R=40,S=40 $((6 * 128 * 2 * 8 * 15))
bench $spec --device emu --mode burst --set M=64/72,N=64,K=64 --json "$work/rows.json"
is 0 && [ "$(wc -l <"$work/rows.json")" = 32 ] && [ "$(sed 's/.*"run": //' "$work/rows.json" | sort -u | wc -l)" = 2 ]
ok $? "--json: rows of all sizes, of one run" "$work/rows.json"
mkfifo "$work/pipe"
cat "$work/pipe" >"$work/piped" &
bench $spec --device emu --mode burst --set M=64/72,N=64,K=64 --json "$work/pipe"
wait
is 0 && [ "$(grep -c '"problem_size"' "$work/piped")" = 32 ]
ok $? "--json: into a pipe each row once" "$work/out"
bench $spec --kernel plain --device emu --json "$work/rows.json/rows.json"
is 3 && says 'rows.json/rows.json cannot be written'
ok $? "--json: a file that cannot be written" "$work/err"

# configured STATUS TEXT JSON: --config with this file.
configured() {
    echo "$3" >"$work/c.json"
    bench $spec --kernel other --device emu --mode burst --config "$work/c.json"
    cat "$work/out" >>"$work/err"
    is "$1" && says "$2"
    ok $? "--config $3: $2" "$work/err"
}
configured 0 'M=64,N=72,K=80' '{"gemm": [{"M": 64, "N": 72, "K": 80}], "nsa": [{"batch": 2}]}'
configured 0 'M=64,N=72,K=80' '{"other": [{"M": 64, "N": 72, "K": 80, "dtype": "bfloat16"}]}'
configured 0 'M=64,N=72,K=80' '{"gemm": [5], "other": [{"M": 64, "N": 72, "K": 80}]}'
configured 1 'c.json: it has sizes of no kernel of' '{"gemm": [{"M": 64, "N": 72, "K": 80, "dtype": "fp16"}]}'
configured 1 'c.json: gemm\[1\]: the spec has no dim batch' \
    '{"gemm": [{"M": 8, "N": 8, "K": 8}, {"M": 8, "N": 8, "K": 8, "batch": 2}]}'
configured 1 'c.json: gemm\[0\]: it gives no value to dim K' '{"gemm": [{"M": 64, "N": 72}]}'
configured 1 'c.json: gemm\[0\]: an extent is a whole number, which this is not: M' '{"gemm": [{"M": 1.5}]}'
configured 1 'c.json: gemm\[0\]: a list of sizes stands here' '{"gemm": 5}'
configured 1 'c.json: gemm\[0\]: an entry is an object of sizes' '{"gemm": [5]}'
configured 1 'c.json: it holds no object' '[]'
configured 1 'c.json: it holds no object' '{"gemm": ['
bench $spec --device emu --config "$work/absent.json"
is 1 && says 'absent.json'
ok $? "--config: a file that is not there" "$work/err"

# What Python's libraries are measured by, on a torch whose launches take 1 ms: rows of the fields that help json lists.
if ! command -v python3 >/dev/null 2>&1; then
    echo "# not run: rows of tests/bench/measure.py; there is no python3"
else
    "$program" help json | sed -n 's/^    \[\]\.\([a-z_]*\) .*/\1/p' | sort >"$work/fields"
    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=tests/bench python3 - "$work/fields" >"$work/out" 2>&1 <<'END'
import contextlib, sys, types

now = [0.0]
def advance(seconds):
    now[0] += seconds
class Event:
    def __init__(self, enable_timing): self.at = 0.0
    def record(self): self.at = now[0]
    def synchronize(self): pass
    def elapsed_time(self, other): return (other.at - self.at) * 1e3
class CUDAGraph:
    def __init__(self): self.count = 0
    def replay(self): advance(1e-3 * self.count)
recording = []
@contextlib.contextmanager
def graph(made):
    recording.append(made)
    yield
    recording.pop()
properties = types.SimpleNamespace(name="stand-in", major=9, minor=0, L2_cache_size=50 << 20)
cuda = types.SimpleNamespace(Event=Event, CUDAGraph=CUDAGraph, graph=graph, synchronize=lambda: None,
                             get_device_properties=lambda number: properties)
sys.modules["torch"] = types.SimpleNamespace(cuda=cuda)
import measure
measure.time = types.SimpleNamespace(sleep=advance, monotonic=lambda: now[0])
measure.driver_version = lambda: "13.0"
sets = []
def launch(number):
    sets.append(number)
    if recording:
        recording[-1].count += 1
assert measure.count_sets(100 << 20) == 3 and measure.count_sets(1000 << 20) == 2
c = measure.Candidate("slow", launch, 3, compilation_time=2.0)
assert sets == [0, 0, 1, 2, 0, 0, 1], sets
measure.measure([c], ["burst", "sustained"])
rows = list(measure.rows("gemm", {"M": 1}, [c], 2e9, 1e6))
assert [r["mode"] for r in rows] == ["burst", "sustained"] and [r["rounds"] for r in rows] == [15, 5]
for r in rows:
    assert abs(r["latency_ms"] - 1) < 1e-6 and abs(r["tflops"] - 2) < 1e-6 and r["ratio"] == 1, r
    assert sorted(r) == sorted(open(sys.argv[1]).read().split()), sorted(r)
    assert r["compilation_time"] == 2.0
END
    ok $? "tests/bench/measure.py: rows as bench --json has them" "$work/out"
fi
echo "1..$count"
[ "$failed" = 0 ]
