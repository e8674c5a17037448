#!/bin/sh
# tilewright run-program: whole CUDA programs on the emulator. TAP on stdout.
# usage: tests/whole.sh [PROGRAM], from the top of the tree. Needs a C compiler, and for CUDA's runtime nvcc; no GPU.
set -u
program=${1:-build/tilewright}
work=$(mktemp -d) || exit 3
trap 'rm -rf "$work"' EXIT
. tests/tap.sh
shown="$work/out $work/err"

run() { # OPTION... PROGRAM ARGUMENT...; its status
    "$program" run-program "$@" >"$work/out" 2>"$work/err"
}
# says NAME STATUS OUT ERR OPTION...: the status, all of stdout, and a line of stderr that matches
says() {
    name=$1 status=$2 out=$3 err=$4
    shift 4
    run "$@"
    [ $? -eq "$status" ] && [ "$(cat "$work/out")" = "$out" ] && grep -q -- "$err" "$work/err"
    ok $? "$name"
}

# ---- the driver, of a C program

sh tests/kept.sh "$work/driver" "${CC:-cc}" -std=gnu11 -Wall -Wextra tests/whole/driver.c -ldl
ok $? "driver: a C program compiles"
says "driver: it runs, and what is missing says its name" 0 '9.0, 0 wrong, mipmaps 801' \
    'tilewright: cuMipmappedArrayCreate: the emulated driver has no such entry point' "$work/driver"
grep -qx 'tilewright run-program: 1 launch, 0 hazards' "$work/err"
ok $? "driver: its launch was checked"
says "driver: another architecture" 0 '8.6, 0 wrong, mipmaps 801' '1 launch$' --arch sm_86 --hazards off "$work/driver"
says "driver: the program's own status" 5 '9.0, 0 wrong, mipmaps 801' '1 launch, 0 hazards' -- "$work/driver" 5
says "driver: a signal" 139 '' 'the program was ended by signal 11' "$work/driver" abort
says "driver: an image that is refused, and another that loads" 0 '9.0, 0 wrong, mipmaps 801' '1 launch, 0 hazards' \
    "$work/driver" refused
says "driver: an image that is refused, and no other" 1 '' '1 failure' "$work/driver" refused-alone
sh tests/kept.sh "$work/threads" "${CC:-cc}" -std=gnu11 -Wall -Wextra tests/whole/threads.c -ldl -pthread
ok $? "threads: a C program compiles"
says "threads: those that load one fat binary see one module" 0 '0 wrong' '0 launches' "$work/threads"
says "a program without CUDA" 0 'word --arch x' 'did not come to the emulated driver' echo word --arch x
says "a status of a program that no signal ended" 255 '' 'did not come to the emulated driver' sh -c 'exit 255'
! grep -q 'ended by' "$work/err"
ok $? "and none is told"
says "no such program" 3 '' 'cannot run ./none' ./none
for words in '--hazards sometimes x:off, on, fatal or strict' '--sms 0 x:1 to 1024' '--arch sm_12 x:an architecture' \
    '--memory 1T x:1 to 1024' '--seed -1 x:a number' '--complete now x:eager, late or random' ':which program?' \
    '--speed x:unknown option'; do
    # shellcheck disable=SC2086
    says "usage: ${words%%:*}" 2 '' "${words#*:}" ${words%%:*}
done
TILEWRIGHT_PROGRAM_SMS=none LD_LIBRARY_PATH=$(dirname "$program")/libcuda "$work/driver" >"$work/out" 2>"$work/err"
[ $? -eq 1 ] && grep -q 'cuInit: TILEWRIGHT_PROGRAM_SMS=none: write 1 to 1024' "$work/err"
ok $? "driver: by hand, with a wrong variable"

# ---- launches that may start while the one before still runs

for kernel in chained_products chained_warps chained_rows; do
    "$program" gen tests/whole/chained.lua --kernel "$kernel" -o "$work/$kernel" >"$work/out" 2>"$work/err"
    ok $? "$kernel: its launcher"
    cp -r "$work/$kernel" "$work/broken"
    sed 's/griddepcontrol.wait;//' "$work/$kernel/$kernel.c" >"$work/broken/$kernel.c"
    for folder in "$kernel" broken; do
        sh tests/kept.sh "$work/chained_$folder" "${CC:-cc}" -std=gnu11 "-DKERNEL=$kernel" \
            -include "$work/$folder/$kernel.h" tests/whole/chained.c "$work/$folder/$kernel.c" -ldl >"$work/err" 2>&1
        ok $? "$kernel, $folder: a C program compiles"
    done
    says "$kernel: the second launch waits for the first" 0 '' '2 launches, 0 hazards' --hazards on "$work/chained_$kernel"
    says "$kernel: and is seen where it does not" 1 '' 'without griddepcontrol.wait' --hazards on "$work/chained_broken"
    rm -rf "$work/broken"
done

# ---- CUDA's runtime

nvcc=$(nvcc_of "$program")
# compiles OUT FILE ARGUMENT...
compiles() {
    made=$work/$1 source=$2
    shift 2
    "$nvcc" -lineinfo "$@" -o "$made" "$source" >"$work/nvcc" 2>&1
}
ptx='-gencode arch=compute_90,code=compute_90'
# shellcheck disable=SC2086
[ -z "$nvcc" ] || compiles right tests/whole/right.cu -cudart shared $ptx || nvcc=
if [ -z "$nvcc" ]; then
    skip "runtime: whole programs" "no nvcc that compiles"
    echo "1..$count"
    exit $((failed != 0))
fi
says "runtime: every part is right" 0 "$(for part in vectors streams memory symbols clusters cooperative graphs; do
    echo "right $part"
done
echo 'from the device: 31'
echo 'right limits')" 'run-program: 20 launches, 0 hazards' "$work/right"
says "runtime: late completion, strict" 0 'right clusters' '2 launches, 0 hazards' --complete late --hazards strict \
    "$work/right" clusters

# shellcheck disable=SC2086
compiles wrong tests/whole/wrong.cu -cudart shared $ptx
ok $? "wrong: compiles" "$work/nvcc"
line() { sed -n "/$1/=" tests/whole/wrong.cu; }
failed_as() { printf '%s\n%s\n%s' "$1" "$1" cudaSuccess; }
says "wrong: a race" 1 "$(failed_as cudaErrorLaunchFailure)" "wrong.cu:$(line 'the race')" "$work/wrong" race
grep -q '^  in kernel _Z7reversePi, launch 1 of the program$' "$work/err" &&
    grep -qx 'tilewright run-program: 1 launch, 1 failure, 1 hazard' "$work/err"
ok $? "wrong: which launch"
says "wrong: a race that is told, and goes on" 1 "$(failed_as cudaSuccess)" '^hazard UNORDERED-READ: ' --hazards on \
    "$work/wrong" race
says "wrong: a race that nobody looks for" 0 "$(failed_as cudaSuccess)" '1 launch$' --hazards off "$work/wrong" race
says "wrong: out of bounds" 1 "$(failed_as cudaErrorIllegalAddress)" \
    "^hazard BOUNDS: .* 256 bytes behind .*wrong.cu:$(line 'the bounds')" "$work/wrong" bounds
says "wrong: an assertion" 1 "$(failed_as cudaErrorAssert)" "wrong.cu:$(line 'assert(')" "$work/wrong" assert
says "wrong: nothing is" 0 "$(failed_as cudaSuccess)" '1 launch, 0 hazards' "$work/wrong"

# ---- textures and surfaces

# shellcheck disable=SC2086
compiles texture tests/whole/texture.cu -cudart shared $ptx
ok $? "texture: compiles" "$work/nvcc"
says "texture: every part is right" 0 "$(for part in image modes formats memory volume layers surfaces others; do
    echo "right $part"
done)" 'run-program: 38 launches, 0 hazards' "$work/texture"
says "texture: strict" 0 'right surfaces' '5 launches, 0 hazards' --hazards strict "$work/texture" surfaces
# shellcheck disable=SC2086
compiles texture_wrong tests/whole/texture_wrong.cu -cudart shared $ptx
ok $? "texture, wrong: compiles" "$work/nvcc"
at() { sed -n "/\/\/ $1:/=" tests/whole/texture_wrong.cu; }
while read -r word error line text; do
    says "texture, wrong: $word" 1 "$error" "$text.* texture_wrong.cu:$(at "$line")" "$work/texture_wrong" "$word"
done <<END
written cudaErrorLaunchFailure written ^hazard UNORDERED-READ: .* tex.1d.v4.f32.s32
surface cudaErrorLaunchFailure surface ^hazard UNORDERED-READ: .* suld.b.1d
behind cudaErrorIllegalAddress behind ^hazard BOUNDS: 4 bytes at x 256 (in bytes), y 0, z 0 of a surface of 64 x 1 x 1
askew cudaErrorMisalignedAddress askew ^hazard ALIGN: access of 4 bytes to a surface at x 1
alike cudaErrorLaunchFailure alike ^hazard UNORDERED-WRITE: lanes of one store
fresh cudaErrorLaunchFailure fetch ^hazard UNINIT:
none cudaErrorIllegalAddress fetch ^hazard BOUNDS: no texture object has the handle 0x0:
kind cudaErrorIllegalAddress fetch ^hazard BOUNDS: no texture object has the handle 0x2, which is a surface's
line cudaErrorIllegalAddress fetch ^hazard BOUNDS: a texture of linear memory takes integer coordinates
layer cudaErrorIllegalAddress layer ^hazard BOUNDS: a texture of 64 x 1 x 1 texels is accessed with 1 dimension and a
destroyed cudaErrorIllegalAddress fetch ^hazard BOUNDS: no texture object has the handle 0x1: it was destroyed
freed cudaErrorIllegalAddress fetch ^hazard BOUNDS: the memory of texture object 0x1 was freed
END
says "texture, wrong: nothing is" 0 cudaSuccess '4 launches, 0 hazards' "$work/texture_wrong"
cube="'tex.cube.v4.f32.f32': this form of tex (textures) is not supported"
says "texture: a kernel that is refused" 1 cudaErrorNotSupported "kernel _Z4cubeyPf: PTX line [0-9]*: $cube" \
    "$work/texture_wrong" cube
says "texture: one that calls such a function through a pointer" 1 cudaErrorNotSupported \
    "cuLaunchKernel: PTX line [0-9]*: $cube" "$work/texture_wrong" pointer

# What cannot run says how it could.
if compiles machine tests/whole/wrong.cu -cudart shared -gencode arch=compute_90,code=sm_90; then
    says "machine code alone" 1 "$(failed_as cudaSuccess)" 'compile with nvcc -gencode arch=compute_90a,code=compute_90a' \
        "$work/machine"
else
    skip "machine code alone" "no ptxas"
fi
# shellcheck disable=SC2086
compiles static tests/whole/wrong.cu $ptx && run "$work/static"
grep -q 'link it with nvcc -cudart shared' "$work/err"
ok $? "a runtime of its own"
"$program" emu tests/whole/right.cu --grid 1 --block 1 >"$work/out" 2>"$work/err"
[ $? -eq 1 ] && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -q '^tests/whole/right.cu:[0-9]*: error: host code .*run-program' \
    "$work/err"
ok $? "emu: host code is told in one line"

echo "1..$count"
exit $((failed != 0))
