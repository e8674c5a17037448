# What pictures are held against, for tests that read this file: . tests/svg.sh, from the top of the tree. Each prints
# what is wrong.

# well_formed FILE: one root, every tag closed in order, text and attributes escaped
well_formed() {
    tr '\n' ' ' <"$1" | sed 's/</\n</g' | awk '
        function bad(why) { print why ": " $0; fault = 1; exit }
        NR == 1 { if ($0 != "") bad("text before the root"); next }
        /^<\?xml [^<>]*\?> *$/ { if (NR != 2) bad("declaration"); next }
        !/^<[^<>]*>[^<>]*$/ { bad("brackets") }
        /&/ && !/&(amp|lt|gt|quot);/ { bad("ampersand") }
        { text = $0; sub(/^<[^<>]*>/, "", text); tag = substr($0, 2, length($0) - length(text) - 2) }
        tag ~ /^\// { if (depth == 0 || open[depth] != substr(tag, 2)) bad("closes"); depth--; next }
        { name = tag; sub(/[ \/].*/, "", name); rest = tag; sub(/^[a-z]+/, "", rest); sub(/ *\/$/, "", rest)
          gsub(/ +[A-Za-z0-9:-]+="[^"<>]*"/, "", rest); if (rest !~ /^ *$/) bad("attributes") }
        tag !~ /\/$/ { if (depth == 0 && roots++) bad("a second root"); open[++depth] = name }
        END { if (!fault && (depth != 0 || roots != 1)) { print "open at the end"; fault = 1 } exit fault }
    '
}

# texts_apart FILE: no text of the picture lies on another or leaves it; a character of the font is 0.602 of its size.
texts_apart() {
    awk '
        function attribute(name) { return match($0, " " name "=\"[^\"]*") ? substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3) : "" }
        BEGIN { n = 0 }
        /^<svg/ { right = attribute("width") + 0; bottom = attribute("height") + 0 }
        /^<text/ {
            size = attribute("font-size"); size = size == "" ? 12 : size + 0
            text = $0; sub(/^<[^>]*>/, "", text); sub(/<\/text>$/, "", text); gsub(/&[a-z]*;/, "x", text)
            wide = length(text) * size * 0.602; x = attribute("x") + 0; anchor = attribute("text-anchor")
            from[n] = anchor == "end" ? x - wide : anchor == "middle" ? x - wide / 2 : x
            to[n] = from[n] + wide; low[n] = attribute("y") + 0; high[n] = low[n] - 0.72 * size; what[n] = text
            if (from[n] < 0 || to[n] > right || high[n] < 0 || low[n] > bottom) { print "outside: " text; fault = 1 }
            for (i = 0; i < n; i++)
                if (from[i] < to[n] && from[n] < to[i] && high[i] < low[n] && high[n] < low[i]) {
                    print "\"" what[i] "\" and \"" text "\""; fault = 1 }
            n++
        }
        END { if (n < 5) { print "only " n " texts"; fault = 1 } exit fault }' "$1"
}
