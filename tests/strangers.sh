#!/bin/sh
# tests/strangers/run.py, which runs public programs on the emulator: it is tried with programs of ours, one of them with
# a race, one that is wrong, one that fails and one that is no C++. TAP on stdout.
#   usage: tests/strangers.sh [PROGRAM], from the top of the tree. Needs python3 and nvcc, no GPU.
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_strangers_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
. tests/tap.sh

# stranger NAME LINE...: a program whose kernel has these lines, for x of 64 threads, and which says what x[1] is.
stranger() {
    name=$1
    shift
    {
        printf '#include <cstdio>\n__global__ void f(int *x)\n{\n    __shared__ int s[64];\n    int i = threadIdx.x;\n'
        printf '    %s\n' "$@"
        printf '}\nint main()\n{\n    int *x, y;\n    if (cudaMalloc(&x, 256)) return 9;\n    f<<<1, 64>>>(x);\n'
        printf '    if (cudaMemcpy(&y, x + 1, 4, cudaMemcpyDeviceToHost)) return 7;\n    printf("x is %%d\\n", y);\n}\n'
    } >"$work/all/mine/$name.cu"
}
mkdir -p "$work/all/mine"
stranger right 's[i] = i; __syncthreads(); x[i] = s[63 - i];'
stranger race 's[i] = i; x[i] = s[63 - i];'
stranger wrong 'x[i] = 5;'
stranger fails 'x[i + 4096] = i;'
stranger broken 'x[i] = j;'
cat >"$work/list" <<'LIST'
# comments are no rows
mine | right.cu | -std=c++17 | | ^x is 62$ |
mine | race.cu | | | ^x is | UNINIT UNORDERED-READ: nobody waits for the other warp's half
mine | race.cu | | | ^x is |
mine | wrong.cu | | | ^x is 62$ |
mine | fails.cu | | | |
mine | broken.cu | | | |
gone | a.cu | | | |
LIST
if ! command -v python3 >/dev/null 2>&1; then
    skip "public programs" "there is no python3"
    echo "1..$count"
    exit 0
fi
nvcc=$(nvcc_of "$program")
if [ -z "$nvcc" ] || ! "$nvcc" -cudart shared -gencode arch=compute_90a,code=compute_90a -o "$work/right" \
    "$work/all/mine/right.cu" >"$work/out" 2>&1; then
    skip "public programs" "no nvcc that compiles"
    echo "1..$count"
    exit 0
fi
python3 tests/strangers/run.py "$work/all" --program "$program" --list "$work/list" --json "$work/json" \
    >"$work/out" 2>"$work/err"
status=$?
shown="$work/out $work/err"
[ $status -eq 1 ]
ok $? "some are not as they should be"
# outcome NAME OUTCOME REST: the next line of NAME
for want in 'right *mine/right .* 1 launches  0 hazards' 'right *mine/race .* 1 launches  [1-9][0-9]* hazards [A-Z]' \
    'wrong *mine/wrong ' 'failed *mine/fails ' 'not compiled *mine/broken ' '    UNINIT UNORDERED-READ: nobody waits' \
    '    .*broken.cu.*error.*"j"' 'gone is not there' \
    '6 programs: 3 right, 1 wrong, 1 failed, 0 launched nothing, 0 out of time, 1 not compiled; hazards in 3, known as true in 1'; do
    grep -q "^$want" "$work/out"
    ok $? "told: $want"
done
python3 tests/strangers/run.py "$work/all" --program "$program" --list "$work/list" --only mine/right >"$work/out" 2>&1
ok $? "those that are right: status 0"
echo "1..$count"
[ "$failed" -eq 0 ]
