# Replays of launches of Triton's kernels that an H200 made, for tests that have read tests/tap.sh: results equal, hazards
# watched. Whole numbers, and sums of one order, are equal to the bit; exp2, division and the order of a tensor core's
# sums leave the rest a last bit or two.
kinds="add softmax norm product boxes attention"

# The hazards that some have are true, by the PTX documents. Triton 3.5 leaves out two things: fence.proxy.async between
# cp.async and the wgmma that reads what it wrote, and a fence between a barrier's initialisation and the first copy that
# completes on it.
replay_of() { # kind record
    within= known='^$'
    case $1 in
    softmax) within="--as f32 --atol 1e-7 --rtol 1e-5" ;;
    norm) within="--as f16 --atol 2e-3 --rtol 2e-3" ;;
    attention) within="--as bf16 --atol 1e-2 --rtol 1e-2" known='^hazard PROXY-FENCE: .*wgmma.* the other is cp.async' ;;
    boxes) known='^hazard BARRIER-INIT: the barrier is used by a copy' ;;
    esac
    # shellcheck disable=SC2086 # options
    "$program" emu --replay "$2" $within >"$work/out" 2>"$work/err"
    grep -q '^compared: .*\(, all equal\|, none by too much\)$' "$work/out" &&
        ! cat "$work/out" "$work/err" | grep '^hazard' | grep -v "$known" &&
        { [ "$known" = '^$' ] || grep -q '^completed: .* [1-9] hazards*$' "$work/out"; }
    ok $? "$1 of Triton: replayed, $(grep '^compared' "$work/out")"
}
