# TAP for the tests in shell, which read this file: . tests/tap.sh, from the top of the tree. They print "1..$count" at
# their end, and fail where $failed is not 0.
count=0 failed=0

ok() { # status name [file that shows what is wrong]
    count=$((count + 1))
    if [ "$1" -eq 0 ]; then echo "ok $count - $2"; else
        failed=$((failed + 1))
        echo "not ok $count - $2"
        [ $# -lt 3 ] || cut -c 1-400 "$3" | head -n 40 | sed 's/^/# /'
    fi
}
