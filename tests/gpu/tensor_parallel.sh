#!/bin/sh
# A layer of an MLP split over all GPUs of this machine (tests/embed/tensor_parallel): its results against one GPU's, a
# planted bug, and times, of every way through it. Needs 2, 4, 8 or 16 GPUs ($SIZES for others), NCCL (of the system or
# of Python's package nvidia-nccl), NVRTC and a C compiler; less than two minutes.
#   usage: sh tests/gpu/tensor_parallel.sh OUT [PROGRAM], from the top of the tree
# OUT: a folder; tensor_parallel.json, times with 8 and 16 blocks for NCCL, log.txt, and what NCCL says of the machine.
# $NCCL is its library; $SIZES, $SCHEDULES, $ROUNDS, $RANKS and $CTAS (blocks for NCCL, a run each) are what is run,
# $RUN is a command in front of it, $VERB is gen for build, $PATIENCE makes its limits of time so many times as long.
set -u
out=${1:?usage: sh tests/gpu/tensor_parallel.sh OUT [PROGRAM]}
program=${2:-build/tilewright}
here=tests/embed/tensor_parallel
mkdir -p "$out" || exit 3
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_parallel_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
log=$out/log.txt
: >"$log"

if [ -z "${NCCL:-}" ]; then
    NCCL=$(python3 -c '
import glob, os, sys
found = [f for p in sys.path if p for f in glob.glob(os.path.join(p, "nvidia", "*", "lib", "libnccl.so.2"))]
print(found[0] if found else "libnccl.so.2")' 2>>"$log") || NCCL=libnccl.so.2
fi
# Multicast by NVLink adds nothing between two GPUs, and on machines that share a switch it is others' as well.
NCCL_NVLS_ENABLE=0 NCCL_DEBUG=${NCCL_DEBUG:-INFO} NCCL_DEBUG_SUBSYS=${NCCL_DEBUG_SUBSYS:-INIT,GRAPH}
NCCL_DEBUG_FILE=$out/nccl.%p.txt
export NCCL_NVLS_ENABLE NCCL_DEBUG NCCL_DEBUG_SUBSYS NCCL_DEBUG_FILE

# Cubins; else text, which NVRTC compiles when it is loaded.
{
    "$program" "${VERB:-build}" "$here/mlp.lua" --arch sm_90a -o "$work/kernel" ||
        "$program" gen "$here/mlp.lua" --arch sm_90a -o "$work/kernel"
} >>"$log" 2>&1 || {
    cat "$log" >&2
    exit 1
}
sources=
for part in main group driver kernels layer numbers check measure; do sources="$sources $here/$part.c"; done
for kernel in up down up_dynamic down_dynamic; do sources="$sources $work/kernel/$kernel.c"; done
# shellcheck disable=SC2086
${CC:-cc} -std=c11 -D_GNU_SOURCE -O2 "-I$work/kernel" "-I$here" $sources -o "$work/tensor_parallel" -ldl -lm \
    >>"$log" 2>&1 || {
    cat "$log" >&2
    exit 1
}
{
    echo "NCCL: $NCCL"
    nvidia-smi topo -m
    nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,power.limit --format=csv
} >>"$log" 2>&1

# ran FILE SECONDS OPTION...: the program, and what it says, here and into the log.
ran() {
    file=$1 seconds=$2 told=$(wc -l <"$log")
    shift 2
    # shellcheck disable=SC2086
    ${RUN:-} "$work/tensor_parallel" ${RANKS:+--ranks $RANKS} --nccl "$NCCL" --rounds "${ROUNDS:-21}" \
        ${SCHEDULES:+--schedules $SCHEDULES} --json "$out/$file" --seconds $((seconds * ${PATIENCE:-1})) "$@" >>"$log" 2>&1
    status=$?
    tail -n "+$((told + 1))" "$log"
    return $status
}
sizes= last=
for size in ${SIZES:-1024,4096,14336,4096 8192,8192,28672,8192}; do sizes="$sizes --sizes $size" last=$size; done
failed=0
# shellcheck disable=SC2086
ran tensor_parallel.json 75 $sizes --plants || failed=1
# Fewer blocks of a collective leave more multiprocessors to the products.
for ctas in ${CTAS-8 16}; do
    NCCL_MAX_CTAS=$ctas NCCL_MIN_CTAS=1
    export NCCL_MAX_CTAS NCCL_MIN_CTAS
    ran "tensor_parallel_$ctas.json" 20 --sizes "$last" --no-check --no-graphs || failed=1
done
[ $failed -eq 0 ] && echo "tensor_parallel: passed" | tee -a "$log"
exit $failed
