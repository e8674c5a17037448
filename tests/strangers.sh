#!/bin/sh
# tests/strangers/run.py, which runs public programs on the emulator: it is tried with programs of ours, one of them
# with a race, one that is wrong, one that fails and one that is no C++. tests/strangers/get.sh, which fetches them, is
# tried with a repository of ours. TAP on stdout.
#   usage: tests/strangers.sh [PROGRAM], from the top of the tree. Needs python3 and nvcc, git for get.sh, no GPU.
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
stranger edited 's[i] = i; __syncthreads(); x[i] = s[63 - i];'
cp "$work/all/mine/right.cu" "$work/all/mine/twice.cu"
printf '__global__ void f() {}\nint main() { f<<<1, 1>>>(); for (volatile int i = 0;; i++) {} }\n' \
    >"$work/all/mine/ends_not.cu"

# The stand-in for cuBLAS: (1 2; 3 4) (5 6; 7 8), both turned, 2 times and once what was there: 2 (23 31; 34 46) + 1.
cat >"$work/all/mine/blas.cu" <<'CUDA'
#include <cstdio>
#include <cublas_v2.h>
__global__ void ones(float *x) { x[threadIdx.x] = 1; }
int main()
{
    float a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8}, *x, alpha = 2, beta = 1, c[4]; // by rows
    cublasHandle_t handle;
    if (cublasCreate(&handle) || cudaMalloc(&x, 48) || cudaMemcpy(x, a, 16, cudaMemcpyHostToDevice)) return 9;
    if (cudaMemcpy(x + 4, b, 16, cudaMemcpyHostToDevice)) return 8;
    ones<<<1, 4>>>(x + 8);
    if (cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &alpha, x, 2, x + 4, 2, &beta, x + 8, 2)) return 7;
    if (cudaMemcpy(c, x + 8, 16, cudaMemcpyDeviceToHost)) return 6;
    printf("%g %g %g %g\n", c[0], c[1], c[2], c[3]);
}
CUDA
cat >"$work/list" <<'LIST'
# comments are no rows
mine | right.cu | -std=c++17 | | ^x is 62$ |
mine | race.cu | | | ^x is | UNINIT UNORDERED-READ: nobody waits for the other warp's half
mine | race.cu | | | ^x is |
mine | wrong.cu | | | ^x is 62$ |
mine | fails.cu | | | |
mine | broken.cu | | | |
let TURNED 63 - i => (8 + i)
mine | edited.cu | | | ^x is 9$ | | $TURNED % 64
mine | edited.cu | -DNOWHERE | | | | 64 - i => i
mine | wrong.cu | -DKNOWN | | !^x is 5$ |
mine | right.cu | -DKNOWN | | !^x is 5$ |
mine | fails.cu | -DKNOWN | | !^tilewright run-program: 1 launch, 1 failure | BOUNDS: it writes behind its allocation
mine | twice.cu | | [--sms 4] 1..2 | ^x is 62$ |
gone | a.cu | | | |
LIST
# What get.sh fetches, from a repository of ours: folders of it, an old commit, HEAD where the commit is not there.
if command -v git >/dev/null 2>&1; then
    mkdir -p "$work/made/kept" "$work/made/left" "$work/mirrors/me+made"
    committed() {
        echo "$1" >"$work/made/kept/a" && echo "$1" >"$work/made/left/b" &&
            git -C "$work/made" add . && git -C "$work/made" -c user.name=me -c user.email=me@here commit -qm "$1"
    }
    git init -q "$work/made" && committed old && old=$(git -C "$work/made" rev-parse HEAD) && committed new
    ok $? "a repository"
    mv "$work/made/.git" "$work/mirrors/me+made/repo"
    none=0000000000000000000000000000000000000000
    printf '# name, repository, commit, folders\n%s\n' "old me/made $old kept" "new me/made $none kept :(exclude)*/c" \
        "torn me/made $old gone" >"$work/projects"
    tests/strangers/get.sh "$work/got" "$work/mirrors" "$work/projects" >"$work/out" 2>&1
    status=$?
    shown=$work/out
    [ $status -eq 1 ] && [ "$(cat "$work/got/old/kept/a")" = old ] && [ "$(cat "$work/got/new/kept/a")" = new ] &&
        [ ! -e "$work/got/old/left" ] && [ ! -e "$work/got/torn" ]
    ok $? "folders of the commits that are named"
    grep -q '^old: from [^,]*$' "$work/out" && grep -q "^new: from .*, its HEAD, .* no commit $none" "$work/out" &&
        grep -q '^torn: lacking, .*gone' "$work/out" && grep -q '^nvcc: ' "$work/out"
    ok $? "told: what came of each"
    echo changed >"$work/got/old/kept/a"
    tests/strangers/get.sh "$work/got" "$work/mirrors" "$work/projects" >"$work/out" 2>&1
    grep -q '^old: there already$' "$work/out" && [ "$(cat "$work/got/old/kept/a")" = changed ]
    ok $? "what is there stays"
else
    skip "tests/strangers/get.sh" "there is no git"
fi
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
    'right *mine/edited  ' 'not compiled *mine/edited -DNOWHERE' '    nothing to edit: 64 - i$' 'right *mine/twice 1 ' \
    'right *mine/twice 2 ' 'faulty as known *mine/wrong -DKNOWN' 'not as known *mine/right -DKNOWN' \
    'faulty as known *mine/fails -DKNOWN .* BOUNDS' '13 programs: 6 right, 1 wrong, 1 failed, 0 launched nothing' \
    '.* 0 out of time, 2 not compiled, 2 faulty as known, 1 not as known; hazards in 4, known as true in 2'; do
    grep -q "^$want" "$work/out"
    ok $? "told: $want"
done
python3 tests/strangers/run.py "$work/all" --program "$program" --list "$work/list" --only mine/twice >"$work/out" 2>&1
ok $? "those that are right: status 0"
echo 'mine | ends_not.cu | | | |' >"$work/list"
TMPDIR=$work python3 tests/strangers/run.py "$work/all" --program "$program" --list "$work/list" --seconds 2 \
    >"$work/out" 2>&1
[ $? -eq 1 ] && grep -q '^time *mine/ends_not ' "$work/out" && ! pgrep -f "^$work/.*/program_0" >/dev/null
ok $? "what does not end is ended, its processes too"
if echo '#include <cublasLt.h>' | "$nvcc" -E -x cu - >/dev/null 2>&1; then
    echo 'mine | blas.cu +blas.cu | | | ^47 69 63 93$ |' >"$work/list"
    python3 tests/strangers/run.py "$work/all" --program "$program" --list "$work/list" >"$work/out" 2>&1
    ok $? "what stands in for cuBLAS"
else
    skip "what stands in for cuBLAS" "there is no cublasLt.h"
fi
echo "1..$count"
[ "$failed" -eq 0 ]
