#!/bin/sh
# embed.sh FOLDER LIBRARY OUT.S [OUT.d OBJECT]: an assembler file that holds every file below FOLDER, those below
# LIBRARY under lib/, and the table emit_embedded of embed.h, sorted by name. OUT.d says, in make's words, that OBJECT
# depends on those files and their folders.
# .incbin takes the paths as given: assemble in the folder in which this ran.
set -eu
LC_ALL=C
export LC_ALL
folder=${1%/} library=${2%/} out=$3
names=$( { (cd "$folder" && find . -type f ! -name '.*' ! -name '*.md') | sed 's|^\./||'
    (cd "$library" && find . -type f ! -name '.*' ! -name '*.md') | sed 's|^\./|lib/|'; } | sort)
case $names in *[!A-Za-z0-9_./+"
"-]*) echo "embed.sh: a name below $folder has a character that is no letter, digit or one of _./+-" >&2; exit 1 ;; esac

# The file of an embedded name.
file_of() {
    case $1 in lib/*) echo "$library/${1#lib/}" ;; *) echo "$folder/$1" ;; esac
}

{
    echo '.section .rodata'
    n=0
    for name in $names; do
        printf '.Lname%d: .asciz "%s"\n.Lbegin%d: .incbin "%s"\n.Lend%d: .byte 0\n' \
            $n "$name" $n "$(file_of "$name")" $n
        n=$((n + 1))
    done
    echo '.section .data.rel.ro,"aw"'
    echo '.balign 8'
    echo '.globl emit_embedded'
    echo '.type emit_embedded, %object'
    echo 'emit_embedded:'
    i=0
    while [ $i -lt $n ]; do
        echo ".quad .Lname$i, .Lbegin$i, .Lend$i"
        i=$((i + 1))
    done
    echo '.quad 0, 0, 0'
    echo '.size emit_embedded, . - emit_embedded'
    echo '.section .note.GNU-stack,"",%progbits'
} > "$out"

if [ $# -ge 5 ]; then
    { printf '%s:' "$5"; for name in $names; do printf ' %s' "$(file_of "$name")"; done
        printf ' %s' $(find "$folder" "$library" -type d); echo; } > "$4"
fi
