#!/bin/sh
# A C or C++ compiler whose results stay from run to run in $TILEWRIGHT_CACHE, by content: what the preprocessor makes
# of the sources, the objects beside them, the arguments and the compiler's version. A result is kept where the compiler
# ended well without a word, so a warning is seen each time.
#   usage: sh tests/kept.sh OUT COMPILER ARGUMENT...   ARGUMENT: without -o OUT
# OUT is what it makes, or "-" where it makes nothing (-fsyntax-only). Without $TILEWRIGHT_CACHE it just compiles.
set -u
out=$1
shift
as="-o $out"
[ "$out" != - ] || as=
folder=${TILEWRIGHT_CACHE:-off}
text=
[ "$folder" = off ] || text=$("$@" -E -P 2>/dev/null) || folder=off
if [ "$folder" = off ]; then
    # shellcheck disable=SC2086
    exec "$@" $as
fi
key=$({
    "$1" --version
    printf '%s\n' "$text"
    for word; do
        case $word in
        -I*) ;; # what it leads to is in the text
        *.o) cat "$word" ;;
        *.c) ;;
        *) printf '%s\n' "$word" ;;
        esac
    done
} | sha256sum | cut -c 1-40)
folder=$folder/cc
kept=$folder/$key
if [ -f "$kept" ]; then
    touch "$kept"
    [ "$out" = - ] || cp "$kept" "$out"
    exit
fi
mkdir -p "$folder"
# shellcheck disable=SC2086
"$@" $as 2>"$kept.$$.said"
status=$?
cat "$kept.$$.said" >&2
if [ $status = 0 ] && [ ! -s "$kept.$$.said" ]; then
    if [ "$out" = - ]; then : >"$kept.$$"; else cp "$out" "$kept.$$"; fi
    mv "$kept.$$" "$kept"
fi
rm -f "$kept.$$.said"
exit $status
