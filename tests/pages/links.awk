# Links of the pages, and the headings that they may lead to. Two passes in one: all pages are read first.
# A fault is a line "PAGE:LINE: what". A link leads to a file or folder by its path from the page's folder, which the
# caller looks for (lines "file PAGE:LINE PATH"), and behind # to a heading by the name that Markdown gives it: in small
# letters, blanks as hyphens, without other signs; -1, -2 behind those that a page has before.
#   usage: awk -f tests/pages/links.awk PAGE...
FNR == 1 { inside = 0; split("", seen) }
/^```/ { inside = !inside }
inside { next }
/^#+ / {
    name = tolower($0)
    sub(/^#+ +/, "", name)
    gsub(/[^a-z0-9 _-]/, "", name)
    gsub(/ /, "-", name)
    heading[FILENAME "#" name (seen[name] ? "-" seen[name] : "")] = 1
    seen[name]++
}
{
    line = $0
    gsub(/`[^`]*`/, "", line)
    while (match(line, /\]\([^()]*\)/)) {
        from[++links] = FILENAME ":" FNR
        page[links] = FILENAME
        to[links] = substr(line, RSTART + 2, RLENGTH - 3)
        line = substr(line, RSTART + RLENGTH)
    }
}

# a/b/../c is a/c; ./ goes.
function plain(path,    part, n, i, out, depth) {
    n = split(path, part, "/")
    depth = 0
    for (i = 1; i <= n; i++) {
        if (part[i] == "" || part[i] == ".")
            continue
        if (part[i] == ".." && depth)
            depth--
        else
            out[++depth] = part[i]
    }
    path = depth ? out[1] : "."
    for (i = 2; i <= depth; i++)
        path = path "/" out[i]
    return path
}

END {
    for (i = 1; i <= links; i++) {
        if (to[i] ~ /^[a-z]+:/) {
            print from[i] ": a link that leads out of the tree: " to[i]
            continue
        }
        path = name = to[i]
        sub(/#.*/, "", path)
        folder = page[i]
        if (!sub(/\/[^\/]*$/, "", folder))
            folder = "."
        path = path == "" ? page[i] : plain(folder "/" path)
        if (name !~ /#/) {
            print "file " from[i] " " path
            continue
        }
        sub(/[^#]*#/, "", name)
        if (path !~ /\.md$/)
            path = plain(path "/README.md")
        if (!((path "#" name) in heading))
            print from[i] ": no heading #" name " in " path
    }
}
