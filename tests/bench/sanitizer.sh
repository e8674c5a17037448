#!/bin/sh
# Who finds the planted bugs of `tilewright run --break`: the emulator, compute-sanitizer's memcheck, racecheck and
# synccheck, and the GPU without any tool.
#   tests/bench/sanitizer.sh plant DIRECTORY [PROGRAM]   here: the edited texts and what the emulator says of them
#   tests/bench/sanitizer.sh run DIRECTORY [PROGRAM]     where an H200 and compute-sanitizer are; kernels that hang are
#                                                        ended after seconds
#   tests/bench/sanitizer.sh json DIRECTORY              what came out, as tests/bench/results/sanitizer.json keeps it
#   tests/bench/sanitizer.sh table JSON                  as a table of Markdown
# From the top of the tree.
set -u
LC_ALL=C
export LC_ALL
action=${1:?plant, run, json or table} where=${2:?a directory} program=${3:-build/tilewright}

# The second size gives every block several tiles. Inputs are integers: a right result is an equal one.
sizes='--set M=392,N=256,K=392 --set M=2300,N=3832,K=200'

one() { # text tool seconds
    name=$(basename "$1" .cu)
    tool=
    [ "$2" = plain ] || tool="compute-sanitizer --tool $2 --print-limit 4"
    # shellcheck disable=SC2086
    timeout -k 2 "$3" $tool "$program" run specs/gemm.lua --source "$1" --device cuda --inputs integer \
        $sizes >"$where/$name.$2" 2>&1
    echo "$name $2 $?" >>"$where/index"
}

case $action in
plant)
    mkdir -p "$where" || exit 3
    "$program" run --break list >"$where/list" || exit 1
    while read -r name arch hazard text; do
        "$program" run specs/gemm.lua --break "$name" --arch "$arch" --device emu --json --keep "$where/keep" \
            >"$where/$arch.$name.emu" 2>/dev/null
        mv "$where"/keep/*."$arch".cu "$where/$arch.$name.cu" || exit 1
        rm -rf "$where/keep"
    done <"$where/list"
    "$program" gen specs/gemm.lua --kernel gemm_bf16 -o "$where/gen" >/dev/null || exit 1
    for arch in sm_90a sm_80; do mv "$where/gen/gemm_bf16.$arch.cu" "$where/$arch.unedited.cu"; done
    rm -rf "$where/gen"
    ;;
run)
    : >"$where/index"
    for text in "$where"/*.cu; do
        one "$text" plain 6
        for tool in memcheck racecheck synccheck; do
            limit=20
            if grep -q "^$(basename "$text" .cu) plain 1[23]" "$where/index"; then limit=9; fi
            one "$text" $tool $limit
        done
    done
    ;;
json)
    # The status of timeout is 124 or 137 where it had to end the program.
    { cat "$where/list" && printf 'unedited sm_90a - nothing is wrong\nunedited sm_80 - nothing is wrong\n'; } |
        while read -r name arch hazard text; do
            printf '{"bug": "%s", "arch": "%s", "what": "%s", "expected": "%s"' "$name" "$arch" "$text" "$hazard"
            [ ! -f "$where/$arch.$name.emu" ] ||
                sed -n 's/.*"why": "hazards \([^"]*\)".*/, "tilewright": "\1"/p' "$where/$arch.$name.emu" |
                head -n 1 | tr -d '\n'
            for tool in plain memcheck racecheck synccheck; do
                status=$(sed -n "s/^$arch\.$name $tool //p" "$where/index" | sed -n '$p')
                awk -v tool=$tool -v status="$status" '
                    /Race reported/ { said = "race" }
                    /^========= (Invalid|Misaligned|Illegal|Unknown|Barrier)/ && said == "" {
                        sub(/^========= /, ""); sub(/ of size.*/, ""); sub(/Barrier error detected. /, "")
                        sub(/\.$/, ""); gsub(/__/, "")
                        said = tolower($0)
                    }
                    /Program hit CUDA_ERROR_LAUNCH_FAILED/ && said == "" { said = "launch failed" }
                    /^FAILED/ && tool == "plain" && said == "" {
                        said = "wrong result"
                        if (/ was written/ && /behind|before/) said = "writes outside of D"
                        if (match($0, /CUDA_ERROR_[A-Z_]*/)) said = tolower(substr($0, RSTART + 11, RLENGTH - 11))
                    }
                    /\(C75[0-9][0-9]\)/ && tool == "plain" { said = "does not compile" }
                    /^verified/ { verified = 1 }
                    END {
                        gsub(/_/, " ", said)
                        if (said == "" && (status == 124 || status == 137)) said = "hangs"
                        if (said == "") said = tool == "plain" && verified ? "right result" : "-"
                        printf ", \"%s\": \"%s\"", tool, said
                    }' "$where/$arch.$name.$tool"
            done
            echo '}'
        done | awk 'BEGIN { print "[" } NR > 1 { print last "," } { last = $0 } END { print last; print "]" }'
    ;;
table)
    awk -F'"' '
        BEGIN {
            print "| bug | arch | Tilewright | memcheck | racecheck | synccheck | the H200 alone |"
            print "| --- | --- | --- | --- | --- | --- | --- |"
        }
        /"bug"/ {
            split("", v)
            for (i = 2; i < NF; i += 4) v[$i] = $(i + 2)
            tilewright = index(", " v["tilewright"] ",", ", " v["expected"] ",") ? v["expected"] : "-"
            printf "| %s | %s | %s | %s | %s | %s | %s |\n", v["what"], v["arch"], tilewright, v["memcheck"],
                v["racecheck"], v["synccheck"], v["plain"]
        }' "$where"
    ;;
*)
    sed -n '2,10s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
