#!/bin/sh
# The public programs of strangers.list, as far as this machine can get them, into FOLDER; and what it lacks.
#   usage: tests/strangers/get.sh FOLDER [MIRRORS [LIST]]
# A project that FOLDER has already is left as it is. MIRRORS holds git repositories as OWNER+NAME/repo (or OWNER+NAME),
# which are asked before the network; an empty one, '', is none. Of a repository without the commit that LIST
# (projects.list) names, its HEAD is taken, and that is told. Each line is `PROJECT: what came of it`. Exit status: 0
# where all is there and nvcc is found, 1 where something is lacking, 2 for a wrong call.
set -u
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-}
mirrors=${2:-}
list=${3:-$here/projects.list}
[ -n "$folder" ] && [ -r "$list" ] || { sed -n 3p "$0" >&2; exit 2; }
mkdir -p "$folder" || exit 2
command -v git >/dev/null 2>&1 || { echo "git: lacking"; exit 1; }
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_get_XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
lacking=0

# repository_of NAME COMMIT: the git directory that has it, on stdout.
repository_of() {
    for place in "$mirrors/$(echo "$1" | tr / +)/repo" "$mirrors/$(echo "$1" | tr / +)"; do
        if [ -n "$mirrors" ] && git --git-dir="$place" rev-parse -q --verify HEAD >/dev/null 2>&1; then
            echo "$place"
            return
        fi
    done
    git init -q --bare "$work/git" && timeout 300 git --git-dir="$work/git" fetch -q --depth 1 \
        "https://github.com/$1" "$2" >/dev/null 2>&1 && git --git-dir="$work/git" update-ref HEAD FETCH_HEAD &&
        echo "$work/git"
}

while read -r name repository commit paths; do
    case $name in '' | '#'*) continue ;; esac
    if [ -d "$folder/$name" ]; then
        echo "$name: there already"
        continue
    fi
    rm -rf "$work/git" "$work/tree"
    at=$(repository_of "$repository" "$commit" </dev/null)
    if [ -z "$at" ]; then
        echo "$name: lacking, neither in a mirror nor from https://github.com/$repository"
        lacking=1
        continue
    fi
    note=
    if ! git --git-dir="$at" cat-file -e "$commit^{commit}" 2>/dev/null; then
        note=", its HEAD, for it has no commit $commit"
        commit=HEAD
    fi
    mkdir "$work/tree"
    # $paths: several words, and no names of files here.
    set -f
    if git --git-dir="$at" archive "$commit" $paths >"$work/tar" 2>"$work/err" </dev/null &&
        tar x -C "$work/tree" -f "$work/tar" && mv "$work/tree" "$folder/$name"; then
        echo "$name: from $at$note"
    else
        echo "$name: lacking, $(head -1 "$work/err")"
        lacking=1
    fi
done <"$list"
nvcc=$(command -v nvcc || { [ -x /usr/local/cuda/bin/nvcc ] && echo /usr/local/cuda/bin/nvcc; })
[ -n "$nvcc" ] && echo "nvcc: $nvcc" || { echo "nvcc: lacking, of CUDA 13"; lacking=1; }
exit $lacking
