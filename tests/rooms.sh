# The house in order: no include goes back or past a room's public files; files, headers, functions, folders and lines
# are of a size that a person can read. The rooms stand in rooms.list.
#
#   usage: sh tests/rooms.sh [TREE]
. tests/tap.sh
tree=${1:-.}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# read_tree: what rooms.awk wants to know of the tree in the current folder. A function begins with { alone on a line.
read_tree() {
    find runtime gen tests templates/host -name '*.[ch]' -o -name '*.def' | LC_ALL=C sort >"$out/files"
    xargs wc -l <"$out/files" | awk '$2 != "total" { print "file", $2, $1 }'
    grep -E '^(runtime|gen|tests)/' "$out/files" | xargs awk '
        FNR == 1 { start = 0 }
        /^[ \t]*#[ \t]*include[ \t]+"/ { split($0, part, "\""); print "inside", FILENAME, FNR, "include", part[2] }
        /^{$/ { start = FNR; name = head }
        /^}/ && start { print "inside", FILENAME, start, "function", name, FNR - start - 1; start = 0 }
        !start && /^[A-Za-z_].*\(/ { head = $0; sub(/\(.*/, "", head); sub(/.*[ *]/, "", head) }'
    # A row of a table is one line; a template's line with a hole is measured where it is emitted; PTX that was captured,
    # specs that tests go wrong by and goldens are data; set-ups that `tune` writes are a row a line.
    find runtime gen templates specs -name '*.[ch]' -o -name '*.def' -o -name '*.cu' -o -name '*.cuh' -o -name '*.lua' \
        -o -name '*.sh' >"$out/lines"
    find tests -name '*.[ch]' -o -name '*.def' >>"$out/lines"
    xargs awk 'length > 120 && !(FILENAME ~ /\.def$/ && /^[A-Z_]+\(/) && FILENAME !~ /tuned\.lua$/ && !(FILENAME ~ /^templates/ && /\$\{/) {
        print "inside", FILENAME, FNR, "columns", length }' bootstrap configure <"$out/lines"
}

(cd "$tree" && read_tree) >"$out/tree"
sed -e :a -e '$!N;s/\n  */ /;ta' -e 'P;D' tests/rooms.list >"$out/list"
awk -f tests/rooms.awk "$out/list" "$out/tree" | LC_ALL=C sort >"$out/faults"

# rule KIND NAME: are there faults of the kind?
rule() {
    sed -n "s/^$1 //p" "$out/faults" >"$out/$1"
    [ ! -s "$out/$1" ]
    ok $? "$2" "$out/$1"
}
rule arrow "no include goes back"
rule public "no include goes past a room's public files"
rule folder "no folder has over 30 files of C"
rule header "no header has over 300 lines"
rule function "no function has over 80 lines"
rule long "no file has over 800 lines"
rule columns "no line has over 120 columns"
rule but "nothing is allowed that nobody needs"

# Each rule, broken once, is found.
cat "$out/tree" - >"$out/broken" <<'END'
file gen/common/long.h 301
file gen/emit/own.h 1
file gen/common/far.c 801
inside gen/spec/expr.c 1 include cmd/cmd.h
inside gen/compile/compile.c 2 include emit/own.h
inside gen/spec/expr.c 3 function far_too_long 81
inside gen/spec/expr.c 4 columns 121
END
i=0
while [ $((i += 1)) -le 31 ]; do echo "file gen/arch/$i.c 1"; done >>"$out/broken"
{
    cat "$out/list"
    echo 'but function gen/main.c main'
} | awk -f tests/rooms.awk - "$out/broken" | LC_ALL=C sort >"$out/found"
LC_ALL=C comm -13 "$out/faults" "$out/found" | cut -d ' ' -f 1-3 >"$out/new"
cat >"$out/expected" <<'END'
arrow gen/spec/expr.c:1 includes
but tests/rooms.list: but
columns gen/spec/expr.c:4 has
folder gen/arch has
function gen/spec/expr.c:3: far_too_long
header gen/common/long.h has
long gen/common/far.c has
public gen/compile/compile.c:2 includes
END
cmp -s "$out/new" "$out/expected"
ok $? "each rule finds what breaks it" "$out/new"
echo "1..$count"
[ "$failed" = 0 ]
