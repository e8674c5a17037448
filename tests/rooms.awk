# Reads rooms.list, then "file PATH LINES", "inside PATH PLACE include NAME", "inside PATH PLACE function NAME LINES" and
# "inside PATH PLACE columns COLUMNS" of the tree; prints "KIND TEXT" for each thing that is not as the list says. See rooms.sh.
BEGIN { prefixes = split("gen/ runtime/ tests/", prefix, " ") }

function folder(path) {
    sub(/\/[^\/]*$/, "", path)
    return path
}

function room_of(path) { return path in rooms ? path : folder(path) }

# The file that an include names: beside the one that includes it, or from a folder that the compiler is given.
# "": none.
function resolve(from, name,    path, i) {
    path = folder(from) "/" name
    while (path ~ /[^\/]+\/\.\.\//) sub(/[^\/]+\/\.\.\//, "", path)
    for (i = 0; i <= prefixes; i++) {
        if (i) path = prefix[i] name
        if (path in exists) return path
    }
    return ""
}

# Does the list make an exception of this?
function but(row) {
    if (!(row in excepted)) return 0
    used[row] = 1
    return 1
}

function included(from, place, name,    path, a, b, last) {
    path = resolve(from, name)
    place = from ":" place
    a = room_of(from)
    b = room_of(path)
    last = path
    sub(/.*\//, "", last)
    if (a != b) wanted[b, last] = 1
    if (a ~ /^tests/) return
    if (!(a in rooms)) print "arrow " place ": " a " has no row in tests/rooms.list"
    else if (path == "") print "arrow " place ": there is no " name
    else if (a == b) return
    else if (!((a, b) in may)) print "arrow " place " includes " path ": " a " may not include " b
    else if (!((b, last) in public) && !((b, "*") in public))
        print "public " place " includes " path ": it is no public file of " b
}

$1 == "room" {
    room = $2
    sub(/:$/, "", room)
    for (i = 3; i <= NF && $i != "<"; i++) public[room, $i] = 1
    for (i++; i <= NF; i++) {
        if (!($i in rooms)) print "arrow tests/rooms.list: " room " < " $i ": no row above has it"
        may[room, $i] = 1
    }
    rooms[room] = 1
}
$1 == "but" { excepted[substr($0, 5)] = 1 }
$1 == "file" {
    exists[$2] = 1
    lived[room_of($2)] = 1
    if ($2 ~ /\.[ch]$/) files[folder($2)]++
    if ($3 > 800 && $2 !~ /^tests\/golden\//) print "long " $2 " has " $3 " lines, at most 800"
    if ($2 ~ /\.h$/ && $3 > 300 && !but("header " $2)) print "header " $2 " has " $3 " lines, at most 300"
}
$1 == "inside" && $4 == "function" && $6 > 80 && !but("function " $2 " " $5) {
    print "function " $2 ":" $3 ": " $5 " has " $6 " lines, at most 80"
}
$1 == "inside" && $4 == "columns" { print "columns " $2 ":" $3 " has " $5 " columns, at most 120" }
$1 == "inside" && $4 == "include" { included($2, $3, $5) }
END {
    for (f in files)
        if (files[f] > 30 && !but("folder " f)) print "folder " f " has " files[f] " files of C, at most 30"
    for (room in rooms)
        if (!(room in lived)) print "arrow tests/rooms.list: " room " has no file"
    for (key in public)
        if (!(key in wanted) && key !~ /\*$/) {
            split(key, part, SUBSEP)
            print "but tests/rooms.list: " part[1] ": nobody else includes " part[2]
        }
    for (row in excepted)
        if (!(row in used)) print "but tests/rooms.list: but " row ": it is in order, take the row out"
}
