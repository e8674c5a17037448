#!/bin/sh
# What an H200 answered to the questions of tests/gpu/probes (tests/golden/probes.json), and that the emulator agrees.
# TAP on stdout. Needs NVRTC and a C compiler.   usage: tests/probes.sh [PROGRAM], from the top of the tree
# After new answers of a GPU: BLESS=1 GPU=answers.json tests/probes.sh
set -u
program=${1:-build/tilewright}
golden=tests/golden/probes.json
work=$(mktemp -d) || exit 3
trap 'rm -rf "$work"' EXIT
. tests/tap.sh
together() { # fold|agree FILE...
    how=$1
    shift
    awk -f tests/gpu/probes/answers.awk -v how="$how" "$@"
}

nvrtc=$("$program" doctor 2>/dev/null | sed -n 's/^nvrtc .*, path \([^,]*\),.*/\1/p')
if [ -z "$nvrtc" ]; then
    skip "probes on the emulator" "no NVRTC"
    echo "1..$count"
    exit 0
fi
CUDA_HOME=${nvrtc%/*/*}
export CUDA_HOME
sh tests/kept.sh "$work/probes" "${CC:-cc}" -std=gnu11 -O2 -Wall -Wextra -Wconversion -Werror tests/gpu/probes/probes.c -ldl
ok $? "the probes compile"

# Each is a way in which the emulator lets asynchronous operations happen; they have all of its answers together.
for way in eager late 'random --seed 1' 'random --seed 2'; do
    name=$(echo "$way" | tr -d ' -')
    # shellcheck disable=SC2086
    "$program" run-program --hazards on --complete $way "$work/probes" --small >"$work/$name.json" 2>"$work/err"
    # Hazards make the status 1: what is asked has some.
    [ $? -le 1 ] && [ "$(grep -c '"question"' "$work/$name.json")" -eq "$(grep -c '^CASE' tests/gpu/probes/questions.def)" ]
    ok $? "every case is asked: $way" "$work/err"
done
together fold "${GPU:-$golden}" "$work"/eager.json "$work"/late.json "$work"/random*.json >"$work/golden"
[ -z "${BLESS:-}" ] || cp "$work/golden" "$golden"
diff "$golden" "$work/golden" >"$work/diff"
ok $? "the emulator answers as $golden says" "$work/diff"
together agree "$golden" "$golden" | diff tests/gpu/probes/differ.list - >"$work/agree"
ok $? "it agrees with what the H200 answered, but for what tests/gpu/probes/differ.list says" "$work/agree"

# A golden row that is altered is seen: in what the GPU answered, in what the emulator does, and one that is gone.
seen() { # NAME SED-SCRIPT
    sed "$2" "$golden" >"$work/altered"
    ! cmp -s "$golden" "$work/altered" && {
        together agree "$golden" "$work/altered" | diff tests/gpu/probes/differ.list - >"$work/found"
        [ -s "$work/found" ] || {
            together fold "$work/altered" "$work"/eager.json "$work"/late.json "$work"/random*.json
        } | diff "$work/altered" - >"$work/found"
        [ -s "$work/found" ]
    }
    ok $? "an altered row is seen: $1" "$work/altered"
}
seen "another lane is elected" '/"elect"/s/"the lowest": [1-9][0-9]*, "the highest": 0/"the lowest": 0, "the highest": 7/'
seen "a launch that failed" '/"elect"/s/"ended": "completed"/"ended": "CUDA_ERROR_LAUNCH_FAILED"/'
seen "bytes that come early" '/bytes, expectation, arrival/s/"none": 0/"none": 1/'
seen "an answer of the emulator" '/"elect"/s/"emulator": \["the lowest"/"emulator": ["another"/'
seen "a hazard of the emulator" '/"case": "nobody"/s/"hazards": \["PROXY-FENCE"/"hazards": ["UNINIT"/'
seen "a row that is gone" '/"case": "nobody"/d'
echo "1..$count"
[ "$failed" -eq 0 ]
