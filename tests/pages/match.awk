# Expected lines (first file) against actual ones (second file): `...` stands for any text of a line and, alone on a
# line, for any lines. Of what differs the first is told, with its line of the page.
#   usage: awk -v page=PAGE -v first=LINE -f tests/pages/match.awk WANT GOT
function line_matches(want, got,    part, parts, i, at) {
    if (!index(want, "..."))
        return want == got
    parts = split(want, part, /\.\.\./)
    if (substr(got, 1, length(part[1])) != part[1])
        return 0
    got = substr(got, length(part[1]) + 1)
    for (i = 2; i < parts; i++) {
        at = index(got, part[i])
        if (part[i] != "" && !at)
            return 0
        if (part[i] != "")
            got = substr(got, at + length(part[i]))
    }
    at = length(got) - length(part[parts])
    return at >= 0 && substr(got, at + 1) == part[parts]
}
function matches(i, j) {
    for (; i <= wants; i++) {
        if (i > furthest)
            furthest = i
        if (want[i] == "...") {
            for (; j <= gots; j++)
                if (matches(i + 1, j))
                    return 1
            return matches(i + 1, j)
        }
        if (j > gots || !line_matches(want[i], got[j++]))
            return 0
    }
    furthest = wants + 1
    return j > gots
}
FILENAME == ARGV[1] { want[++wants] = $0; next }
{ got[++gots] = $0 }
END {
    if (matches(1, 1))
        exit 0
    print page ":" first + furthest - 1 ": " \
        (furthest > wants ? "the output goes on" : "not in the output: " want[furthest])
    for (i = 1; i <= gots && i <= 100; i++)
        print "> " got[i]
    exit 1
}
