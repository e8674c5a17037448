#!/bin/sh
# libFuzzer's options for a target: sh tests/fuzz/options.sh TARGET FOLDER, where FOLDER has the dictionaries. Without a
# folder: the name of the target's corpus in it.
# One process starts workers: a finding is written down, and the work goes on.
set -eu
length=20000 corpus=$1 dictionary= timeout=25
case $1 in
ptx | load) length=60000 corpus=ptx dictionary=dictionary ;;
tensormap) length=4000 ;;
command) length=3000 dictionary=words ;;
record) length=60000 ;;
program) length=400 timeout=100 ;; # more is not drawn; of seconds a whole proof takes some
esac
[ $# -gt 1 ] || { echo "$corpus" && exit; }
[ -z "$dictionary" ] || echo "-dict=$2/$dictionary"
echo "-fork=1 -ignore_crashes=1 -ignore_timeouts=1 -ignore_ooms=1 -rss_limit_mb=2500 -timeout=$timeout -max_len=$length"
