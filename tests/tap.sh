# TAP for the tests in shell, which read this file: . tests/tap.sh, from the top of the tree. They print "1..$count" at
# their end, and fail where $failed is not 0. $shown: files that are shown where a test names none.
count=0 failed=0 shown=
# What of the emulator's completions a spec's cases run in, and, of an architecture that is not the spec's first, by
# which inputs: one of the three in turn, and one kind; FULL=1: each in all, and both.
completions=${FULL:+all} inputs=${FULL:+both}
completions=${completions:-alternate} inputs=${inputs:-normal}

ok() { # status name [file that shows what is wrong]
    count=$((count + 1))
    if [ "$1" -eq 0 ]; then echo "ok $count - $2"; else
        failed=$((failed + 1))
        echo "not ok $count - $2"
        for file in ${3:-$shown}; do
            [ ! -f "$file" ] || cut -c 1-400 "$file" | head -n 40 | sed 's/^/# /'
        done
    fi
}

skip() { # name why
    count=$((count + 1))
    echo "ok $count - $1 # SKIP $2"
}

nvcc_of() { # program; the nvcc that it finds, or nothing
    "$1" doctor 2>/dev/null | sed -n 's/^nvcc *path \([^,]*\).*/\1/p'
}
