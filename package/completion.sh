#!/bin/sh
# Completion of commands and options, from what the program says of itself.
#   usage: completion.sh PROGRAM bash|zsh|fish
set -eu
program=$1 shell=$2
commands=$("$program" help | sed -n 's/^  tilewright \([a-z][a-z-]*\) .*/\1/p')

# options COMMAND: OPTION<tab>ARGUMENT<tab>WORDS a line; ARGUMENT may be empty. Verbs of a command are among its own.
options() {
    {
        "$program" "$1" --help
        for verb in $(verbs "$1"); do "$program" "$1" "$verb" --help 2>/dev/null || true; done
    } | awk '/^  -/ { option = $1; text = substr($0, 3 + length(option)); argument = ""
        if (text ~ /^ [^ ]/) { argument = text; sub(/^ /, "", argument); sub(/ .*/, "", argument)
            text = substr(text, 2 + length(argument)) }
        sub(/^ +/, "", text)
        if (!told[option]++) printf "%s\t%s\t%s\n", option, argument, text }'
    printf '%s\t\t%s\n' --help 'list the options'
}

# The words that a command begins with: of "cache path|list|verify|gc ..." four.
verbs() {
    "$program" "$1" --help | sed -n "1s/^usage: tilewright $1 \\([a-z][a-z|]*\\) .*/\\1/p" | grep '|' | tr '|' ' '
}

says() { # COMMAND: its line of help
    "$program" help | awk -v c="$1" '$1 == "tilewright" && $2 == c { getline; sub(/^ +/, ""); print; exit }'
}

quoted() {
    sed "s/'/'\\\\''/g"
}

case $shell in
bash)
    echo '_tilewright()'
    echo '{'
    echo '    local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} words='
    echo '    if [ "$COMP_CWORD" -eq 1 ]; then'
    printf "        words='%s --version'\n" "$(echo $commands)"
    echo '    else'
    echo '        case $command in'
    for command in $commands; do
        words=$(echo $(verbs "$command") $(options "$command" | cut -f 1))
        printf "        %s) words='%s' ;;\n" "$command" "$words"
    done
    echo '        esac'
    echo '    fi'
    echo '    COMPREPLY=($(compgen -W "$words" -- "$word"))'
    echo '    case $COMP_CWORD$word in'
    echo '    1* | *-*) ;;'
    echo '    *) COMPREPLY+=($(compgen -f -- "$word")) ;;'
    echo '    esac'
    echo '}'
    echo 'complete -o filenames -F _tilewright tilewright'
    ;;
zsh)
    echo '#compdef tilewright'
    echo 'local -a commands'
    echo 'if (( CURRENT == 2 )); then'
    echo '    commands=('
    for command in $commands; do
        printf "        '%s:%s'\n" "$command" "$(says "$command" | sed 's/:/\\:/g' | quoted)"
    done
    echo '    )'
    echo '    _describe command commands'
    echo '    return'
    echo 'fi'
    echo 'case $words[2] in'
    for command in $commands; do
        printf '%s)\n    _arguments' "$command"
        options "$command" | awk -F '\t' -v q="'" '{
            gsub(q, q "\\" q q); gsub(/\]/, "\\]"); gsub(/\[/, "\\["); gsub(/:/, "\\:")
            printf " \\\n        %s%s[%s]%s%s", q, $1, $3, $2 == "" ? "" : ":" $2 ":_files", q }'
        printf " \\\\\n        '*:file:_files'\n    ;;\n"
    done
    echo 'esac'
    ;;
fish)
    for command in $commands; do
        printf "complete -c tilewright -n __fish_use_subcommand -f -a %s -d '%s'\n" "$command" \
            "$(says "$command" | quoted)"
        for verb in $(verbs "$command"); do
            printf "complete -c tilewright -n '__fish_seen_subcommand_from %s' -a %s\n" "$command" "$verb"
        done
        options "$command" | awk -F '\t' -v c="$command" -v q="'" '{
            name = $1; sub(/^-+/, "", name); gsub(/\\/, "\\\\", $3); gsub(q, "\\" q, $3)
            printf "complete -c tilewright -n %s__fish_seen_subcommand_from %s%s %s %s%s -d %s%s%s\n", q, c, q,
                $1 ~ /^--/ ? "-l" : "-s", name, $2 == "" ? "" : " -r", q, $3, q }'
    done
    ;;
*)
    echo "completion.sh: bash, zsh or fish, not '$shell'" >&2
    exit 2
    ;;
esac
