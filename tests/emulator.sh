#!/bin/sh
# The kernels of the specs on the emulator, against the reference: a selection of layouts, types and epilogues, on both
# architectures, with asynchronous operations that happen at once, as late as they may, or at random. TAP on stdout.
#   usage: tests/emulator.sh [PROGRAM], from the top of the tree. Needs NVRTC, no GPU.
set -u
program=${1:-build/tilewright}
log=$(mktemp) || exit 3
trap 'rm -f "$log"' EXIT
count=0 failed=0

ok() { # status name
    count=$((count + 1))
    if [ "$1" -eq 0 ]; then echo "ok $count - $2"; else
        failed=$((failed + 1))
        echo "not ok $count - $2"
        grep -v '^verified' "$log" | head -n 20 | sed 's/^/# /'
    fi
}

# run SPEC OPTION...: status 0, and every line that tells of a case says verified
run() {
    "$program" run "$@" --device emu >"$log" 2>&1 && grep -q '^verified' "$log" && ! grep -qv '^verified' "$log"
    ok $? "$*"
}

if ! "$program" doctor >/dev/null 2>&1; then
    echo "ok 1 - kernels on the emulator # SKIP there is no NVRTC"
    exit 0
fi
for arch in sm_90a sm_80; do
    run specs/gemm.lua --arch $arch --kernel gemm_bf16 --complete eager
    run specs/gemm.lua --arch $arch --kernel gemm_bf16 --complete late
    run specs/gemm.lua --arch $arch --kernel gemm_bf16_at_bt_dt --complete random --seed 2
    run specs/gemm.lua --arch $arch --kernel gemm_fp16_to_fp32 --complete late
    run specs/gemm.lua --arch $arch --kernel gemm_bf16_scaled --complete random --seed 3
    run specs/gemm.lua --arch $arch --kernel gemm_bf16_bias_gelu --complete late
    run specs/gemm.lua --arch $arch --kernel gemm_bf16_two_outputs --complete random --seed 4
done
run specs/rms_norm.lua --complete late
run specs/rms_norm.lua --complete random --seed 5
for kernel in three_consumers cluster_2x2 cluster_1x4 no_swizzle narrow; do
    run tests/gpu/corners.lua --kernel $kernel --complete random --seed 6 --set M=200,N=208,K=96
done
echo "1..$count"
[ "$failed" -eq 0 ]
