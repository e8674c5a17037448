# The commands as Markdown: a table of what `tilewright --help` lists, and each command's own --help.
#   usage: sh tests/pages/commands.sh, from the top of the tree
set -u
program=build/tilewright
$program --help | awk '
    BEGIN { print "| command | does |"; print "| --- | --- |" }
    /^  tilewright [a-z]/ { usage = substr($0, 14); next }
    /^      / { gsub(/\|/, "\\|", usage); sub(/^ +/, ""); printf "| `%s` | %s |\n", usage, $0 }'
told() { # HEADING WORDS
    printf '\n### %s\n\n```text\n' "$1"
    shift
    $program "$@" --help
    printf '```\n'
}
$program --help | sed -n 's/^  tilewright \([a-z][a-z]*\).*/\1/p' | while read -r command; do
    told "$command" "$command"
    [ "$command" = show ] || continue
    for verb in swizzle smem timeline; do told "show $verb" show $verb; done
done
