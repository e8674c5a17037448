#!/bin/sh
# The manual page, from what the program says of itself: a section a command, with its --help.
#   usage: manual.sh PROGRAM >tilewright.1
set -eu
program=$1
commands=$("$program" help | sed -n 's/^  tilewright \([a-z][a-z-]*\) .*/\1/p')

# Text as it stands, without the meaning that roff gives to a line's first point and to backslashes.
roff() {
    sed 's/\\/\\e/g; s/-/\\-/g; s/^\([.'"'"']\)/\\\&\1/'
}

version=$("$program" --version | sed 's/^tilewright //; s/[, ].*//')
printf '.TH TILEWRIGHT 1 "" "tilewright %s"\n.SH NAME\n' "$version"
"$program" help | sed -n '1s/^tilewright [^:]*: \(.*\)/tilewright \\- \1/p'
printf '.SH SYNOPSIS\n.B tilewright\n.I COMMAND\n[...]\n.SH DESCRIPTION\n.nf\n'
"$program" help | sed '1,2d' | roff
printf '.fi\n'
for command in $commands; do
    printf '.SH %s\n.nf\n' "$(echo "$command" | tr a-z A-Z)"
    "$program" "$command" --help | roff
    printf '.fi\n'
done
printf '.SH FILES\nThe cache of compiled kernels: '
printf '%s' '$TILEWRIGHT_CACHE, $XDG_CACHE_HOME/tilewright, $HOME/.cache/tilewright.'
