#!/bin/sh
# A row added is the feature added: on a copy of the tree, a dtype, a fused function, a field and an architecture's limit
# get one row each in their table, and nothing else; the program built from it has them in help, check, emitted text and,
# where NVRTC is there, in kernels whose results equal the references. TAP on stdout.
#   usage: tests/one_row.sh, from the top of the tree
set -u
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_one_row_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
LC_ALL=C
export LC_ALL
. tests/tap.sh
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
export TILEWRIGHT_CACHE

# row TABLE LINE-BEFORE ROW: adds it behind the line that begins with that text.
row() {
    awk -v at="$2" -v row="$3" '{ print } !done && index($0, at) == 1 { print row; done = 1 }
        END { exit !done }' "$tree/$1" >"$work/table" && cp "$work/table" "$tree/$1" || echo "$1 has no line '$2'" >>"$work/told"
}

# The copy: what is built from.
tree=$work/tree
mkdir "$tree"
cp -a LICENSE configure build.ninja gen runtime specs templates "$tree"
mkdir -p "$tree/tests"
cp -a tests/unit tests/emu tests/bench tests/gpu "$tree/tests" 2>/dev/null
: >"$work/told"

row runtime/dtypes.def 'X(UINT8,' 'X(GREY8, "grey8", 8, UINT, "unsigned char", "uint8_t", 0, 1)'
row gen/spec/expr_functions.def 'FUNCTION(TANH,' \
    'FUNCTION(SOFTSIGN, "softsign", forceinline, "x / (1.0f + fabsf(x))", "x within -1 and 1.", x / (1 + fabs(x)), e + 4 * ULP * magnitude)'
row gen/spec/schema.def 'SPEC_FIELD(SPILLS,' \
    'SPEC_FIELD(AUTHOR, "", "author", '"'s'"', 0, 0, "", "nobody", "", "who answers for the kernel")'
# A limit is a number of a row that is there: sm_80 with the 82 KB of a smaller one.
grep -q '^ARCHITECTURE(sm_80, 8, 0, 164 \* 1024, 163 \* 1024,' "$tree/runtime/architectures.def" &&
    sed -i 's/^\(ARCHITECTURE(sm_80, 8, 0, 164 \* 1024\), 163 \* 1024,/\1, 82 * 1024,/' "$tree/runtime/architectures.def" ||
    echo "architectures.def has no such row" >>"$work/told"
[ ! -s "$work/told" ]
ok $? "each table takes its row" "$work/told"
# It is built in build/one_row, where objects stay from run to run: of what stands there, the files that differ are
# replaced. At first what is built already is taken, so that little is built again.
kept=build/one_row
if [ -f $kept/build/.ninja_log ]; then
    diff -rq -x build "$tree" $kept | sed -n "s|^Files $tree/\(.*\) and .* differ\$|\1|p; s|^Only in $tree\(.*\): |.\1/|p" |
        while read -r file; do
            rm -rf "${kept:?}/$file"
            cp -R "$tree/$file" "$kept/$file"
        done
    diff -rq -x build "$tree" $kept | sed -n "s|^Only in $kept\(.*\): |.\1/|p" |
        while read -r file; do rm -rf "${kept:?}/$file"; done
else
    rm -rf $kept
    mkdir -p $kept/build
    cp -a "$tree/." $kept
    cp -a build/gen build/runtime build/.ninja_log build/.ninja_deps build/*.a build/embed.* build/prepare* $kept/build \
        2>/dev/null
fi
diff -r -x build "$tree" $kept >"$work/out" 2>&1
ok $? "the copy to build in is as it should be" "$work/out"
(cd $kept && ./configure && ninja build/tilewright) >"$work/out" 2>&1
ok $? "the program is built from them" "$work/out"
program=$PWD/$kept/build/tilewright

cat >"$work/rows.lua" <<'LUA'
local R, C = dims "R C"
kernel "softened" {
  x = tensor { R, C, dtype = "grey8" }, y = tensor { R, C, dtype = "fp32", out = true },
  z = tensor { R, C, dtype = "grey8", out = true },
  axes = "r c", tile = { r = 16, c = 64 }, grid = { r = R, c = C },
  program = function(t, at, tile)
    local r, c = span(at.r, tile.r), span(at.c, tile.c)
    local x = load(t.x, r, c)
    store(t.y, r, c, softsign(x * 0.5))
    store(t.z, r, c, x)
  end,
  run = { { R = 37, C = 80 }, { R = 5, C = 33 } },
}
LUA
"$program" help spec >"$work/help" 2>&1
grep -q 'dtypes.*grey8' "$work/help" || grep -q ' grey8' "$work/help"
ok $? "help spec names the dtype" "$work/help"
grep -q ' softsign' "$work/help"
ok $? "help spec names the function" "$work/help"
grep -A 1 'author .*who answers for the kernel' "$work/help" | grep -q 'default: nobody'
ok $? "help spec has the field, its doc and its default" "$work/help"
"$program" check "$work/rows.lua" >"$work/out" 2>&1
ok $? "check takes the dtype and the function" "$work/out"
# The field is known by its row. What heeds it is a lowering's affair: until one does, a kernel that sets it is told so.
sed 's/^  axes = /  author = "somebody", axes = /' "$work/rows.lua" >"$work/field.lua"
"$program" check "$work/field.lua" >"$work/out" 2>&1
[ $? -eq 1 ] && grep -q "author: it has no effect: nothing reads it here.*FIELD-EFFECT" "$work/out" &&
    [ "$(grep -c 'error:' "$work/out")" -eq 1 ]
ok $? "check takes the field, and says that nothing heeds it yet" "$work/out"
sed 's/author = "somebody"/author = 3/' "$work/field.lua" >"$work/wrong.lua"
"$program" check "$work/wrong.lua" >"$work/out" 2>&1
[ $? -eq 1 ] && grep -q 'author' "$work/out"
ok $? "check refuses another type in the field" "$work/out"
"$program" gen "$work/rows.lua" -o "$work/gen" >"$work/out" 2>&1
ok $? "gen writes it" "$work/out"
grep -q 'float ew_softsign(float x)' "$work/gen/softened.sm_90a.cu" && grep -q 'return x / (1.0f + fabsf(x));' "$work/gen/softened.sm_90a.cu"
ok $? "the emitted text has the function" "$work/gen/softened.sm_90a.cu"
grep -q 'grey8_vector' "$work/gen/softened.sm_90a.cu" && grep -q '"grey8"' "$work/gen/softened.c"
ok $? "the emitted texts have the dtype" "$work/gen/softened.c"
if "$program" doctor >/dev/null 2>&1; then
    "$program" run "$work/rows.lua" --device emu >"$work/out" 2>&1
    ok $? "the kernels compute what the references say" "$work/out"
else
    echo "ok $((count + 1)) - the kernels compute # SKIP there is no NVRTC"
    count=$((count + 1))
fi
cat >"$work/gemm.lua" <<'LUA'
local M, N, K = dims "M N K"
kernel "fits" {
  family = "gemm", A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" }, arch = { sm_80 = {} },
}
LUA
bytes() { "$1" plan "$work/gemm.lua" --arch sm_80 --json 2>"$work/err" | grep -o '"shared_bytes": *[0-9]*' | head -n 1 | grep -o '[0-9]*$'; }
old=$(bytes build/tilewright) new=$(bytes "$program")
echo "shared memory: $old bytes before, $new after" >"$work/out"
cat "$work/err" >>"$work/out"
[ "${old:-0}" -gt 83968 ] && [ "${new:-0}" -gt 0 ] && [ "$new" -le 83968 ]
ok $? "plans are made for the limit" "$work/out"
echo "1..$count"
[ "$failed" -eq 0 ]
