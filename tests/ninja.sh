#!/bin/sh
# gen and build --ninja: a build by ninja's rules writes what the command writes, runs nothing the second time, and after
# a change what the change reaches and nothing else. TAP on stdout.
#   usage: tests/ninja.sh [PROGRAM], from the top of the tree
set -u
program=${1:-build/tilewright}
case $program in /*) ;; *) program=$PWD/$program ;; esac
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_ninja_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
LC_ALL=C
export LC_ALL
. tests/tap.sh
log=$work/log
mkdir "$work/a b"
# A copy of the program, which a test may touch; names that shells, make and ninja read in their own way; a module.
cp "$program" "$work/tilewright"
program=$work/tilewright
cd "$work/a b" || exit 3
echo 'return { scale = 2 }' >shared.lua
spec() { # SCALE KERNEL...
    scale=$1
    shift
    echo 'local R, C = dims "R C"'
    for kernel; do
        cat <<lua
kernel "$kernel" {
  x = tensor { R, C, dtype = "fp32" }, y = tensor { R, C, dtype = "fp32", out = true },
  axes = "r c", tile = { r = 1, c = 256 }, grid = { r = R },
  program = function(t, at, tile)
    loop("scale", range(0, C, tile.c), {}, function(c)
      store(t.y, span(at.r, tile.r), span(c, tile.c), load(t.x, span(at.r, tile.r), span(c, tile.c)) * $scale)
    end)
  end,
  run = { { R = 2, C = 300 } },
}
lua
    done
}
{ echo 'local shared = require "shared"' && spec shared.scale first second; } >"it is \$1.lua"
spec 3 third fourth >other.lua

# edges FILE: what a build by the rules runs, a line each.
edges() {
    timeout 300 ninja -f "$1" >"$log" 2>&1 || return 1
    sed -n 's/^\[[0-9]*\/[0-9]*\] //p' "$log" | sort | tr '\n' ' '
}

command=gen
! "$program" doctor 2>/dev/null | grep -q '^nvrtc .*path' || command=build
rules='out $2/rules: it.ninja'
"$program" $command "it is \$1.lua" -o 'out $2' --ninja "$rules" >"$log" 2>&1 && [ ! -s "$log" ] &&
    [ "$(ls 'out $2')" = "$(printf '%s\n' "${rules##*/}" "${rules##*/}.d")" ]
ok $? "$command --ninja writes rules, and nothing else" "$log"
[ "$(edges "$rules")" = 'first second ' ]
ok $? "a kernel is an edge" "$log"
"$program" $command "it is \$1.lua" -o plain >"$log" 2>&1
for file in plain/*; do cmp "$file" "out \$2/${file#plain/}" || exit 3; done >"$log" 2>&1
ok $? "what the rules write is what the command writes" "$log"
[ -z "$(edges "$rules")" ] && grep -q 'no work to do' "$log"
ok $? "the second time nothing runs" "$log"
rm 'out $2/second.sm_80.cu'
[ "$(edges "$rules")" = 'second ' ]
ok $? "a file that is gone is made again, and no other" "$log"

# Several specs in one build, of which one changes.
"$program" $command other.lua -o other --arch sm_80 --ninja other.ninja >"$log" 2>&1
printf 'subninja %s\nsubninja other.ninja\n' 'out$ $$2/rules$:$ it.ninja' >all.ninja
[ "$(edges all.ninja)" = 'first fourth second third ' ] && [ -z "$(edges all.ninja)" ]
ok $? "several specs in one build" "$log"
spec 5 third fourth >other.lua
made=$(edges all.ninja)
case $made in *first* | *second* | *it.ninja*) made=wrong ;; *'fourth '*'third '*) ;; *) made=wrong ;; esac
[ "$made" != wrong ] && grep -q '\* 5' other/third.sm_80.cu
ok $? "a spec that changes: its kernels alone" "$log"
[ -z "$(edges all.ninja)" ]
ok $? "and then nothing" "$log"
echo 'return { scale = 7 }' >shared.lua
made=$(edges "$rules")
case $made in *'first second '*) ;; *) made= ;; esac
[ -n "$made" ] && grep -q '\* 7' 'out $2/first.sm_80.cu' && [ -z "$(edges "$rules")" ]
ok $? "a module that changes" "$log"

# Another kernel: the rules are written anew before.
{ echo 'local shared = require "shared"' && spec shared.scale first second fifth; } >"it is \$1.lua"
edges "$rules" >/dev/null && [ -s 'out $2/fifth.c' ] && grep -q 'fifth' "$rules" && [ -z "$(edges "$rules")" ]
ok $? "a kernel more" "$log"
# A change that changes nothing of what is written: what depends on it is left alone.
{ cat "it is \$1.lua" && echo '-- a remark'; } >remark.lua && mv remark.lua "it is \$1.lua"
cp -p 'out $2/first.c' before.c
edges "$rules" >/dev/null && [ ! 'out $2/first.c' -nt before.c ] && [ -z "$(edges "$rules")" ]
ok $? "a remark changes no file, and is no work the second time" "$log"
touch "$program"
edges "$rules" >/dev/null && [ -z "$(edges "$rules")" ] && [ ! 'out $2/first.c' -nt before.c ]
ok $? "another program makes them again" "$log"

# What other options write is known to the rules.
"$program" gen other.lua -o python --arch sm_80 --torch --ninja python.ninja >"$log" 2>&1
[ "$(edges python.ninja)" = 'fourth third ' ] && [ -s python/third_torch.py ] && rm python/third_python.c &&
    [ "$(edges python.ninja)" = 'third ' ] && [ -s python/third_python.c ] && [ -z "$(edges python.ninja)" ]
ok $? "--torch with --ninja" "$log"

# What is refused.
"$program" $command "it is \$1.lua" -o plain --arch sm_1 --ninja no.ninja >"$log" 2>&1
[ $? -eq 2 ] && [ ! -e no.ninja ]
ok $? "an architecture that is none: no rules" "$log"
"$program" build other.lua -o plain --keep --ninja no.ninja >"$log" 2>&1
[ $? -eq 2 ] && [ ! -e no.ninja ] && grep -q -- '--keep leaves files that --ninja does not know of' "$log"
ok $? "--keep with --ninja" "$log"
sed 's/"third"/"third" broken/' other.lua >wrong.lua
"$program" $command wrong.lua -o plain --ninja no.ninja >"$log" 2>&1
[ $? -eq 1 ] && [ ! -e no.ninja ]
ok $? "a spec that is wrong: no rules" "$log"
echo "1..$count"
[ "$failed" -eq 0 ]
