# The fenced blocks of a page: FOLDER/N.text holds block N, and stdout has a line for each,
#     N<tab>LINE<tab>SECTION<tab>NOTE
# LINE is that of the fence, SECTION the last heading before it, NOTE what the comment in the line before it says. What
# stands between <!-- made by: COMMAND --> and <!-- made --> has no blocks: it is compared as a whole.
#   usage: awk -v folder=FOLDER -f tests/pages/blocks.awk PAGE
/^```/ && !inside {
    inside = 1
    if (!made) {
        text = folder "/" ++n ".text"
        printf "" > text
        printf "%d\t%d\t%s\t%s\n", n, NR, section, note
    }
    next
}
/^```/ { inside = 0; note = ""; if (!made) close(text); next }
inside { if (!made) print > text; next }
/^<!-- made by: .* -->$/ { made = 1; next }
/^<!-- made -->$/ { made = 0; next }
/^<!-- .* -->$/ { note = substr($0, 6, length($0) - 9); next }
/^#+ / { section = $0; sub(/^#+ /, "", section) }
/[^ ]/ { note = "" }
