#!/bin/sh
# What is read has a bound and an end, and what is written replaces regular files alone: every command that writes a
# file, at a device, a pipe, a link and a link to nothing; every input, from a device, a pipe and a cache full of pipes.
# TAP on stdout. No compiler and no GPU is needed; devices are made, and tried, where this runs as root.
#   usage: tests/files.sh [PROGRAM], from the top of the tree
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_files_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
LC_ALL=C
TILEWRIGHT_CACHE=$work/cache
CUDA_VISIBLE_DEVICES=
export LC_ALL TILEWRIGHT_CACHE CUDA_VISIBLE_DEVICES
. tests/tap.sh
shown="$work/out $work/err"

# Nothing here may take long, or memory without bound.
# A sanitizer's shadow is larger than any limit of addresses: there it counts what is resident.
case $program in
*sanitized*) addresses=unlimited ASAN_OPTIONS=${ASAN_OPTIONS:-}:hard_rss_limit_mb=4000 ;;
*) addresses=4000000 ASAN_OPTIONS=${ASAN_OPTIONS:-} ;;
esac
export ASAN_OPTIONS
tilewright() {
    (ulimit -v "$addresses" && exec timeout 20 "$program" "$@") >"$work/out" 2>"$work/err"
    status=$?
}

# ---- what is written

write() { # WHAT PATH: makes the command write its file there
    case $1 in
    depfile) tilewright gen specs/gemm.lua --kernel gemm_bf16 --arch sm_90a -o "$work/made" --depfile "$2" ;;
    svg) tilewright show swizzle --swizzle 128B --dtype bf16 --box 64,64 --svg "$2" ;;
    dump) tilewright emu tests/emu/command/add.ptx --grid 1 --arg "buf:128,fill=iota:i32,dump=$2" --arg 7 ;;
    gen) tilewright gen specs/gemm.lua --kernel gemm_bf16 --arch sm_90a -o "${2%/*}" ;; # gemm_bf16.h
    esac
}
for what in depfile svg dump gen; do
    at=$work/$what
    mkdir "$at"
    name=file
    [ $what != gen ] || name=gemm_bf16.h
    write $what "$at/$name"
    [ $status -eq 0 ] && [ -s "$at/$name" ] && cp "$at/$name" "$work/bytes.$what"
    ok $? "$what: a new file"
    echo old >"$at/$name"
    write $what "$at/$name"
    [ $status -eq 0 ] && cmp -s "$at/$name" "$work/bytes.$what"
    ok $? "$what: a file that is there is replaced"

    echo old >"$work/target"
    chmod 640 "$work/target"
    ln -sf ../target "$at/$name"
    write $what "$at/$name"
    [ $status -eq 0 ] && [ -h "$at/$name" ] && [ ! -h "$work/target" ] && cmp -s "$work/target" "$work/bytes.$what"
    ok $? "$what: a link stays, the file that it leads to is written"
    rm "$work/target"
    write $what "$at/$name"
    [ $status -eq 0 ] && [ -h "$at/$name" ] && [ -f "$work/target" ] && cmp -s "$work/target" "$work/bytes.$what"
    ok $? "$what: a link to nothing: the file is made"
    rm "$work/target" "$at/$name"

    mkfifo "$at/$name"
    timeout 20 cat "$at/$name" >"$work/through" &
    write $what "$at/$name"
    wait $!
    [ $status -eq 0 ] && [ -p "$at/$name" ] && cmp -s "$work/through" "$work/bytes.$what"
    ok $? "$what: into a pipe"
    rm "$at/$name"
    mkdir "$at/$name"
    write $what "$at/$name"
    [ $status -eq 3 ] && [ -d "$at/$name" ] && grep -q 's a directory$' "$work/err"
    ok $? "$what: a folder is in the way: status 3"
    rmdir "$at/$name"
    if mknod "$at/$name" c 1 3 2>/dev/null && : >"$at/$name" 2>/dev/null; then
        write $what "$at/$name"
        [ $status -eq 0 ] && [ -c "$at/$name" ]
        ok $? "$what: a device stays one"
    else
        skip "$what: a device stays one" "no device can be made here"
    fi
    rm -f "$at/$name"
    [ -z "$(find "$at" "$work" -name '*.tmp')" ]
    ok $? "$what: no temporary file stays"
done
write svg /dev/stdout
[ $status -eq 0 ] && grep -q '</svg>' "$work/out"
ok $? "svg: /dev/stdout"

# ---- what is read

endless=/dev/zero
if [ -c $endless ]; then
    tilewright emu tests/emu/command/add.ptx --grid 1 --arg "buf:128,fill=file:$endless" --arg 7
    [ $status -ne 0 ] && [ $status -lt 4 ] && grep -q 'larger than 128 bytes' "$work/err"
    ok $? "emu fill=file: a device without end"
    tilewright emu $endless --grid 1
    [ $status -eq 1 ] && [ "$(wc -l <"$work/err")" -eq 1 ]
    ok $? "emu: a program without end"
    tilewright emu tests/emu/command/add.ptx --grid 1 --arg "map:@$endless" --arg 7
    [ $status -eq 1 ]
    ok $? "emu map:@: a map without end"
    tilewright check $endless
    [ $status -eq 1 ] && grep -q 'no regular file' "$work/err"
    ok $? "check: a spec without end"
    tilewright run specs/gemm.lua --source $endless
    [ $status -ne 0 ] && [ $status -lt 4 ] && grep -q 'larger than' "$work/err"
    ok $? "run --source: a source without end"
    for verb in encode explain load; do
        tilewright tensormap $verb <$endless
        [ $status -eq 1 ] || [ $status -eq 3 ]
        ok $? "tensormap $verb: stdin without end: status $status"
    done
    cat >"$work/own.lua" <<'LUA'
local N = dims "N"
kernel "own" { family = "user", template = "zero.cu", x = tensor { N, dtype = "fp32" } }
LUA
    ln -s $endless "$work/zero.cu"
    sed 's/"rms_norm.cu"/"zero.cu"/' specs/rms_norm.lua >"$work/own.lua"
    tilewright check "$work/own.lua"
    [ $status -eq 1 ] && grep -q "zero.cu" "$work/err"
    ok $? "a template without end"
    rm "$work/zero.cu"
    mkfifo "$work/zero.cu"
    tilewright check "$work/own.lua"
    [ $status -eq 1 ] && grep -q "zero.cu" "$work/err"
    ok $? "a template that is a pipe"
fi
mkfifo "$work/spec.lua"
tilewright check "$work/spec.lua"
[ $status -eq 1 ] && grep -q 'no regular file' "$work/err"
ok $? "check: a spec that is a pipe"
mkfifo "$work/pipe.ptx"
# shellcheck disable=SC2016
timeout 20 sh -c 'cat tests/emu/command/add.ptx >"$1"' - "$work/pipe.ptx" &
tilewright emu "$work/pipe.ptx" --grid 1 --arg buf:128,fill=zero --arg 7
wait $!
ok $status "emu: a pipe that is written into ends"

# A cache whose entries are pipes: nobody writes into them.
if "$program" doctor >/dev/null 2>&1; then
    rm -rf "$TILEWRIGHT_CACHE"
    tilewright run specs/gemm.lua --kernel gemm_fp16 --arch sm_90a --device none
    find "$TILEWRIGHT_CACHE" -name '*.tilewright' -o -type f -size +1k | while read -r entry; do
        rm "$entry"
        mkfifo "$entry"
    done
    [ -n "$(find "$TILEWRIGHT_CACHE" -type p)" ]
    ok $? "a cache with pipes for entries"
    for command in "run specs/gemm.lua --kernel gemm_fp16 --arch sm_90a --device none" \
        "build specs/gemm.lua --kernel gemm_fp16 --arch sm_90a -o $work/built" "cache list" "cache verify" "cache gc"; do
        # shellcheck disable=SC2086
        tilewright $command
        [ $status -lt 4 ]
        ok $? "$command: status $status"
    done
else
    skip "a cache with pipes for entries" "there is no NVRTC"
fi
echo "1..$count"
[ "$failed" -eq 0 ]
