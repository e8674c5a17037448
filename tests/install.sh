#!/bin/sh
# `ninja install`: what it writes, and programs that use it: plain C with a ninja file of its own (tests/embed/c), C++17
# by CMake with two kernels (tests/embed/cpp). They run on the first GPU, else on the emulator. TAP on stdout.
#   usage: tests/install.sh [PROGRAM], from the top of the tree. Libraries and headers are those of build/.
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_install_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
LC_ALL=C
export LC_ALL
. tests/tap.sh
log=$work/log
top=$PWD
nvrtc=$("$program" doctor 2>/dev/null | sed -n 's/^nvrtc .*, path \([^,]*\),.*/\1/p')

# logged COMMAND...: its output is the log.
logged() {
    timeout 200 "$@" >"$log" 2>&1
}

# Into a package's root, and from there to where it was meant to be.
PREFIX=$work/usr DESTDIR=$work/root logged sh package/install.sh "${program%/*}" && [ ! -e "$work/usr" ] && [ ! -s "$log" ]
ok $? "install: DESTDIR stands before what is written" "$log"
! grep -rlI "$work/root" "$work/root$work/usr" >"$log" && mv "$work/root$work/usr" "$work/usr"
ok $? "and in none of the files" "$log"
(cd "$work/usr" && find . -type f ! -path './include/*' | sort) >"$work/files"
cat >"$work/wanted" <<'files'
./bin/tilewright
./lib/cmake/tilewright/tilewright-config-version.cmake
./lib/cmake/tilewright/tilewright-config.cmake
./lib/libtilewright-emu.a
./lib/libtilewright-explain.so
./lib/libtilewright.a
./lib/pkgconfig/tilewright-emu.pc
./lib/pkgconfig/tilewright.pc
./lib/tilewright/libcuda.so.1
./lib/tilewright/libcudart.so.13
./share/bash-completion/completions/tilewright
./share/doc/tilewright/LICENSE
./share/doc/tilewright/README.md
./share/fish/vendor_completions.d/tilewright.fish
./share/man/man1/tilewright.1
./share/tilewright/tilewright.lua
./share/zsh/site-functions/_tilewright
files
diff "$work/wanted" "$work/files" >"$log"
ok $? "program, libraries, pkg-config, CMake, manual page, completion, the language" "$log"
logged sh tests/kept.sh "$work/driver" "${CC:-cc}" -std=gnu11 tests/whole/driver.c -ldl &&
    [ "$("$work/usr/bin/tilewright" run-program "$work/driver" 2>"$log")" = '9.0, 0 wrong, mipmaps 801' ]
ok $? "run-program finds its libraries where they were installed" "$log"
PREFIX=usr logged sh package/install.sh "${program%/*}"
[ $? -eq 2 ] && grep -q "PREFIX 'usr' is no absolute path" "$log"
ok $? "a PREFIX that is no absolute path" "$log"

# Every command and option stands in the manual page and in each completion.
"$program" help | sed -n 's/^  tilewright \([a-z][a-z-]*\) .*/\1/p' >"$work/commands"
: >"$log"
while read -r command; do
    grep -q "^\\.SH $(echo "$command" | tr a-z A-Z)\$" "$work/usr/share/man/man1/tilewright.1" || echo "manual: $command"
    for file in bash-completion/completions/tilewright zsh/site-functions/_tilewright \
        fish/vendor_completions.d/tilewright.fish; do
        for option in $("$program" "$command" --help | sed -n 's/^  --\([a-z-]*\).*/\1/p'); do
            grep -q -e "[ '-]$option\\>" "$work/usr/share/$file" || echo "$file: $command --$option"
        done
    done
done <"$work/commands" >"$log"
[ ! -s "$log" ] && [ "$(wc -l <"$work/commands")" -ge 15 ]
ok $? "every command and option stands in manual page and completions" "$log"
if command -v groff >/dev/null 2>&1; then
    groff -man -Tutf8 -ww "$work/usr/share/man/man1/tilewright.1" >"$work/page" 2>"$log" && [ ! -s "$log" ] &&
        grep -q 'write ninja.s rules alone' "$work/page"
    ok $? "the manual page is one for groff" "$log"
else
    skip "the manual page is one for groff" "there is no groff"
fi
for shell in bash zsh fish; do
    case $shell in
    bash) file=bash-completion/completions/tilewright ;;
    zsh) file=zsh/site-functions/_tilewright ;;
    fish) file=fish/vendor_completions.d/tilewright.fish ;;
    esac
    if command -v $shell >/dev/null 2>&1; then
        logged $shell -n "$work/usr/share/$file"
        ok $? "completion: $shell reads it" "$log"
    else
        skip "completion: $shell reads it" "there is no $shell"
    fi
done
# completed WORD...: what bash offers for the last one
completed() {
    bash -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tilewright; echo "${COMPREPLY[@]}"' \
        "$work/usr/share/bash-completion/completions/tilewright" tilewright "$@"
}
if command -v bash >/dev/null 2>&1; then
    [ "$(completed doc)" = doctor ] && [ "$(completed cache ver)" = verify ] && [ "$(completed build x.lua --nin)" = --ninja ]
    ok $? "completion: commands, verbs, options in bash"
fi

# ---- programs that use it --------------------------------------------------------------------------------------------

PATH=$work/usr/bin:$PATH
export PATH
if [ -z "$nvrtc" ]; then
    skip "programs that embed kernels" "there is no NVRTC"
elif ! command -v pkg-config >/dev/null 2>&1 || ! command -v cmake >/dev/null 2>&1; then
    skip "programs that embed kernels" "there is no pkg-config or no cmake"
else
    # Emitted C looks for NVRTC there: it may be that of build/cuda.
    CUDA_HOME=${nvrtc%/*/*} PKG_CONFIG_PATH=$work/usr/lib/pkgconfig
    export CUDA_HOME PKG_CONFIG_PATH
    cp -r tests/embed/c "$work/c"
    cd "$work/c" || exit 3
    logged ninja
    ok $? "C: a ninja file of its own builds it" "$log"
    logged ./main && grep -q '^right on ' "$log"
    ok $? "C: the kernel's results" "$log"
    CUDA_VISIBLE_DEVICES= ./main driver >"$log" 2>&1
    [ $? -eq 1 ] && grep -qE '^(CUDA driver not found|no current CUDA context|CUDA driver call failed): .*[a-z]' "$log"
    ok $? "C: without a GPU a clear status" "$log"
    logged ninja && grep -q 'no work to do' "$log"
    ok $? "C: nothing is built twice" "$log"
    sed 's/load(t.x, r, k) \* t.factor/load(t.x, r, k) * t.factor + 1/' scale.lua >changed && mv changed scale.lua
    logged ninja && [ "$(grep -c '^\[' "$log")" -ge 1 ] && ! ./main >"$log" 2>&1 && grep -q 'y\[0\] is 1, not 0' "$log"
    ok $? "C: a spec that changes is built, and its results seen" "$log"
    nm -g --defined-only scale.o | awk '$3 !~ /^scale_/' >"$log"
    [ ! -s "$log" ] && nm -g --defined-only scale.o | grep -q ' T scale_launch$'
    ok $? "C: a kernel's names begin with its own" "$log"

    cp -r "$top/tests/embed/graph" "$work/graph"
    cd "$work/graph" || exit 3
    logged ninja
    ok $? "graph: a ninja file of its own builds it" "$log"
    tilewright run-program ./main >"$log" 2>&1 && [ "$(grep -c ': 0 wrong$' "$log")" -eq 7 ] &&
        grep -qx 'tilewright run-program: 12 launches, 0 hazards' "$log"
    ok $? "graph: captured, replayed, changed, switched off, updated" "$log"
    sed 's/node\[layer\], params.grid\[0\] > 0)/node[layer], 1)/' main.c >changed && mv changed main.c
    logged ninja && ! tilewright run-program ./main >"$log" 2>&1 && grep -q '^no rows: [1-9]' "$log"
    ok $? "graph: a node that is not switched off is seen" "$log"
    cd "$work/c" || exit 3

    # A device newer than what the kernel was built for, the emulated H100 or a GPU of it: PTX, or why not.
    built() { # OPTION...: main around the kernel as `build` has it for sm_80
        cp "$top/tests/embed/c/scale.lua" . &&
            logged tilewright build scale.lua -o built --arch sm_80 "$@" &&
            logged sh -c 'cc -std=c99 -Ibuilt $(pkg-config --cflags tilewright-emu) -o ahead main.c built/scale.c \
                $(pkg-config --libs tilewright-emu)'
    }
    built && logged ./ahead && grep -q '^right on ' "$log"
    ok $? "C: built ahead of time for an older device, its PTX runs" "$log"
    built --no-ptx && ! ./ahead >"$log" 2>&1 && grep -q \
        'compute capability 9.0 and [0-9]* bytes of shared .*made for sm_80 (8.0 or newer of that major' "$log"
    ok $? "C: and without PTX it says what would do" "$log"

    cp -r "$top/tests/embed/cpp" "$work/cpp"
    cd "$work" || exit 3
    logged cmake -G Ninja -S cpp -B made -Dtilewright_DIR="$work/usr/lib/cmake/tilewright" && logged cmake --build made &&
        ! grep -q 'warning:' "$log"
    ok $? "C++: CMake finds the package and builds it" "$log"
    logged made/two_kernels && grep -q '^right on ' "$log"
    ok $? "C++: the results of two kernels" "$log"
    logged cmake --build made && grep -q 'no work to do' "$log"
    ok $? "C++: nothing is built twice" "$log"
    sed 's/x \* x/x * x + x/' cpp/rows.lua >changed && mv changed cpp/rows.lua
    logged cmake --build made && grep -q 'tilewright square' "$log" && ! made/two_kernels >"$log" 2>&1 &&
        grep -q '^element 1 is ' "$log"
    ok $? "C++: a spec that changes is built, and its results seen" "$log"
    # A kernel of another version of the generator in the same program: they share no name.
    cd made || exit 3
    sed 's/made by tilewright [0-9]*/made by tilewright 999/; s/"square", [0-9]*,/"square", 999,/' \
        two_kernels.tilewright/square.c >square.c && grep -q '"square", 999,' square.c &&
        cp two_kernels.tilewright/square.h . && logged cc -std=c99 -c square.c -o square.o &&
        logged cc -std=c99 -c two_kernels.tilewright/twice.c -o twice.o && logged ld -r -o both.o square.o twice.o &&
        nm -g --defined-only both.o | awk '$3 !~ /^(square|twice)_/ { print; wrong = 1 } END { exit wrong }' >"$log"
    ok $? "two kernels of two versions of the generator in one program" "$log"
    cd "$work" || exit 3
    sed 's/SOURCE)/SOURCE KERNELS)/' cpp/CMakeLists.txt >changed && mv changed cpp/CMakeLists.txt
    ! logged cmake -G Ninja -S cpp -B made && grep -q "not understood is 'KERNELS'" "$log"
    ok $? "C++: a word that tilewright_add_kernel does not know" "$log"
    sed 's/SOURCE KERNELS)/KERNEL cube)/' cpp/CMakeLists.txt >changed && mv changed cpp/CMakeLists.txt
    ! logged cmake -G Ninja -S cpp -B made && grep -q "has no kernel 'cube'; it has twice;square" "$log"
    ok $? "C++: a kernel that the spec has not" "$log"
fi
echo "1..$count"
[ "$failed" -eq 0 ]
