# The commands as Markdown.
#   usage: sh tests/pages/commands.sh table|each, from the top of the tree
# table: what `tilewright --help` lists; each: what every command's --help prints.
set -u
program=build/tilewright
told() { # HEADING WORDS
    printf '%s### %s\n\n```text\n' "$gap" "$1"
    shift
    $program "$@" --help
    printf '```\n'
    gap='
'
}
case ${1:-} in
table)
    $program --help | awk '
        BEGIN { print "| command | does |"; print "| --- | --- |" }
        /^  tilewright [a-z]/ { usage = substr($0, 14); next }
        /^      / { gsub(/\|/, "\\|", usage); sub(/^ +/, ""); printf "| `%s` | %s |\n", usage, $0 }'
    ;;
each)
    gap=
    for command in $($program --help | sed -n 's/^  tilewright \([a-z][a-z-]*\).*/\1/p'); do
        told "$command" "$command"
        case $command in
        show) verbs='swizzle smem timeline' ;;
        results) verbs='merge plot table' ;;
        *) verbs= ;;
        esac
        for verb in $verbs; do told "$command $verb" "$command" "$verb"; done
    done
    ;;
*)
    sed -n '2s/^# *//p' "$0"
    exit 2
    ;;
esac
