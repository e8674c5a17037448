# The hazards as Markdown, of what `tilewright help hazards` prints: a heading each, what it is, and what
# to do about it; then what orders one access before another.
#   usage: sh tests/pages/hazards.sh, from the top of the tree
build/tilewright help hazards | awk '
    { gsub(/[*_<]/, "\\\\&") }
    /^[A-Z-]+$/ { printf "%s### %s\n", begun ? "\n" : "", $0; begun = 1; fresh = 1; next }
    /^What orders/ { print "\n### Order\n"; order = 1 }
    !begun { print; next }
    /^$/ { said = 0; next }
    order && /^[^ ]/ && !/^(What orders|chain of)/ { printf "\n- **%s**:", $0; fresh = 0; open = 1; next }
    order && /^    / { sub(/^ +/, ""); printf "%s%s", open ? " " : "\n  ", $0; open = 0; next }
    order { print; next }
    /^    do: / { sub(/^    do: /, ""); printf "\n*Do:* %s\n", $0; next }
    { sub(/^ +/, ""); if (fresh) print ""; fresh = 0; print }
    END { print "" }' | cat -s
