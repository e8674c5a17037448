# The pages and what they say: for the tests in shell that hold them against the program. They read tests/tap.sh first,
# and set $top, the tree, and $work, a folder of their own.
#
# Every fenced block is checked. The line before it may say how:
#   (nothing)                 `$ command` lines, each with its output (stdout and stderr) below it; `...` stands for any
#                             text of a line and, alone on a line, for any lines. Status 0, unless `$ echo $?` follows.
#   <!-- needs NVRTC -->      the same, where there is NVRTC
#   <!-- file: PATH -->       the text of a file that later blocks use
#   <!-- from: PATH -->       lines that stand in this file, one after the other
#   <!-- not run: REASON -->  none of this
# and what a script makes stands between <!-- made by: COMMAND --> and <!-- made -->.

# What is printed is the same everywhere: no language, no kernels of earlier runs, no GPU.
LC_ALL=C
TILEWRIGHT_CACHE=$work/cache
CUDA_VISIBLE_DEVICES=
export LC_ALL TILEWRIGHT_CACHE CUDA_VISIBLE_DEVICES

# pages: every page of the tree, README.md first.
pages() {
    (cd "$top" && find . \( -path './.*' -o -path ./build \) -prune -o -name README.md -print | sed 's|^\./||' |
        LC_ALL=C sort | awk '{ print (/\// ? 1 : 0), $0 }' | sort -s -k 1,1n | cut -d ' ' -f 2-)
}

# fresh_tree FOLDER PROGRAM: a tree like this one in a new folder, whose build folder is its own.
fresh_tree() {
    mkdir -p "$1/build"
    for entry in "$top"/*; do
        [ "${entry##*/}" = build ] || ln -s "$entry" "$1/${entry##*/}"
    done
    for entry in "$2" "${2%/*}"/*.a "${2%/*}"/*.so; do
        [ ! -e "$entry" ] || ln -s "$entry" "$1/build/${entry##*/}"
    done
    [ "${2##*/}" = tilewright ] || ln -s "$2" "$1/build/tilewright"
}

# commands PAGE LINE TEXT: runs the commands of a block in one shell in $tree, and compares each output.
commands() {
    parts=$work/parts
    rm -rf "$parts"
    mkdir "$parts"
    awk -v parts="$parts" '
        /^\$ / || more {
            if (!more) {
                want = parts "/" ++n ".want"
                printf "" > want
                sub(/^\$ /, "")
            }
            print > (parts "/" n ".command")
            more = /\\$/
            next
        }
        n { print > want }
        !n { exit 1 }
    ' "$3" || { ok 1 "$1:$2: a block that begins with no command"; return; }
    n=1
    while [ -f "$parts/$n.command" ]; do
        next=$parts/$((n + 1)).command
        printf '{\n%s\n} >"%s/%d.got" 2>&1 </dev/null\n' "$(cat "$parts/$n.command")" "$parts" "$n"
        if ! [ -f "$next" ] || [ "$(cat "$next")" != "echo \$?" ]; then
            printf 'status=$?; [ $status = 0 ] || echo "status $status" >"%s/%d.status"\n' "$parts" "$n"
        fi
        n=$((n + 1))
    done >"$parts/script"
    (cd "$tree" && sh "$parts/script")
    n=1 at=$(($2 + 1))
    while [ -f "$parts/$n.command" ]; do
        lines=$(wc -l <"$parts/$n.command")
        awk -v page="$1" -v first=$((at + lines)) -f "$top/tests/pages/match.awk" "$parts/$n.want" "$parts/$n.got" \
            >"$parts/$n.wrong" && [ ! -s "$parts/$n.status" ]
        status=$?
        [ ! -s "$parts/$n.status" ] || cat "$parts/$n.status" >>"$parts/$n.wrong"
        ok $status "$1:$at: $(head -n 1 "$parts/$n.command")" "$parts/$n.wrong"
        at=$((at + lines + $(wc -l <"$parts/$n.want")))
        n=$((n + 1))
    done
}

# block PAGE LINE NOTE TEXT: what its note says, in $tree; $nvrtc is yes where there is NVRTC.
block() {
    case $3 in
    "not run: "?*) ;;
    "file: "*)
        path=$tree/${3#file: }
        mkdir -p "${path%/*}" && cp "$4" "$path"
        ok $? "$1:$2: $3"
        ;;
    "from: "*)
        awk 'FILENAME == ARGV[1] { want[++wants] = $0; next }
             { line[++lines] = $0 }
             END {
                 for (at = 0; at + wants <= lines; at++) {
                     for (i = 1; i <= wants && line[at + i] == want[i]; i++);
                     if (i > wants) exit 0
                 }
                 exit 1
             }' "$4" "$top/${3#from: }"
        ok $? "$1:$2: its lines stand in ${3#from: }" "$4"
        ;;
    "needs NVRTC")
        if [ "$nvrtc" = yes ]; then commands "$1" "$2" "$4"; else skip "$1:$2" "no NVRTC"; fi
        ;;
    "") commands "$1" "$2" "$4" ;;
    *) ok 1 "$1:$2: no such note: $3" ;;
    esac
}

# page_blocks PAGE: its blocks to $work/blocks, and the list of them (blocks.awk) to $work/list.
page_blocks() {
    rm -rf "$work/blocks"
    mkdir "$work/blocks"
    awk -v folder="$work/blocks" -f "$top/tests/pages/blocks.awk" "$top/$1" >"$work/list"
}
