# Reads emitted CUDA files as a person would and tells what is left of the general case: FILE:LINE: what: the line.
# One line of each kind a file. Comments and strings are not arithmetic.

function tell(what, number, line) {
    if (told[FILENAME, what]++) return
    print FILENAME ":" number ": " what ": " line
}

# The line without what is in quotes and behind slashes.
function bare(line) {
    gsub(/\\./, "", line)
    gsub(/"[^"]*"/, "\"\"", line)
    sub(/\/\/.*/, "", line)
    return line
}

function arithmetic(line) {
    if (line ~ /[^a-zA-Z0-9_.)\]] ?0 [+*\/%^|&] / || line ~ /(return|\() 0 [-+*\/%^|&] /) tell("0 at the left", FNR, $0)
    if (line ~ / [-+^|] 0([^0-9.xa-zA-Z]|$)/) tell("0 at the right", FNR, $0)
    if (line ~ / (<<|>>) 0([^0-9.xa-zA-Z]|$)/) tell("a shift by 0", FNR, $0)
    if (line ~ / [*\/] 1([^0-9.a-zA-Z]|$)/) tell("1 at the right", FNR, $0)
    if (line ~ /[^a-zA-Z0-9_.] ?1 \* /) tell("1 at the left", FNR, $0)
    if (line ~ / \* 0([^0-9.xa-zA-Z]|$)/) tell("a product with 0", FNR, $0)
    if (line ~ / % 1([^0-9.a-zA-Z]|$)/) tell("a remainder of 1", FNR, $0)
    if (line ~ /([(\[{]|, |= |return )[0-9]+ [*\/%] [0-9]+([^0-9.xa-zA-Z]|$)/ ||
        line ~ /([(\[{]|, |= |return )[0-9]+ [-+] [0-9]+([^0-9.xa-zA-Z ]| [^*\/%]|$)/) tell("a constant in parts", FNR, $0)
    if (line ~ / \* [0-9]+ \* [0-9]+([^0-9.xa-zA-Z]|$)/) tell("a constant in parts", FNR, $0)
    if (line ~ / [-+*] \(-[0-9]+\)/ && line !~ /\* \(-([2-9]|1[0-9])/) tell("a sign in parentheses", FNR, $0)
    if (line ~ /(if|while) \((0|1|true|false)\)/) tell("a condition that is known", FNR, $0)
}

# A loop of one trip has a reason where its body leaves it. `loops` of them are open, the innermost last.
function one_trip(line,  depth) {
    match(line, /^ */)
    depth = RLENGTH
    while (loops && line != "" && depth <= at[loops]) {
        if (!left[loops]) tell("a loop of one trip", begun[loops], head[loops])
        loops--
    }
    if (line ~ /(^|[^a-zA-Z0-9_])(break|continue);/ && loops) left[loops] = 1
    if (line !~ /for \([a-zA-Z0-9_ ]* = 0; [a-z_A-Z0-9]* < 1;/) return
    at[++loops] = depth
    left[loops] = 0
    begun[loops] = FNR
    head[loops] = $0
}

# What the function declared and never named again. A second name on a line of declarations counts as well.
function end_function(  name) {
    for (name in declared) if (words[name] < 2) tell("a variable that nobody reads", declared[name], name)
    delete declared
    delete words
}

function declare(line,  rest, name) {
    if (line ~ /maybe_unused/ || line !~ /^ +(const )?(int|u32|u64|i64|float|float2|bool|long long|u16) \*?(const )?[a-z_A-Z]/)
        return
    rest = line
    sub(/^ +(const )?(long long|[a-z0-9]+) \*?(const )?/, "", rest)
    while (match(rest, /^[a-zA-Z_][a-zA-Z_0-9]*/)) {
        name = substr(rest, 1, RLENGTH)
        declared[name] = FNR
        if (!match(rest, /, [a-zA-Z_][a-zA-Z_0-9]*( =|;|,|\[)/)) return
        rest = substr(rest, RSTART + 2)
    }
}

FNR == 1 { delete declared; delete words; loops = 0 }

{
    all[FILENAME] = 1
    line = bare($0)
    # A compiler moves such an asm in front of the condition that it stands under: it reads outside of a tensor.
    if ($0 ~ /(^|[^a-z_])asm *\("(ld|st|red|atom|cp|mbarrier|bar|fence)[a-z]*[.]/) tell("an asm of memory that is not volatile", FNR, $0)
    if (length($0) > 120) tell("a line of " length($0) " columns", FNR, substr($0, 1, 80) "...")
    if (line !~ /^ *#/) {
        one_trip(line)
        arithmetic(line)
    }
    if (line ~ /^__device__ /) {
        name = line
        sub(/\(.*/, "", name)
        sub(/.* \*?/, "", name)
        defined[FILENAME, name] = FNR
    }
    if (line ~ /^struct /) in_struct = 1
    if (line == "};") {
        in_struct = 0
        delete words
    } else if (line == "}") {
        if (last == "{") tell("an empty function", FNR - 1, $0)
        end_function()
    } else {
        rest = line
        while (match(rest, /[a-zA-Z_][a-zA-Z_0-9]*/)) {
            word = substr(rest, RSTART, RLENGTH)
            words[word]++
            named[FILENAME, word]++
            rest = substr(rest, RSTART + RLENGTH)
        }
        if (line ~ /^ / && !in_struct) declare(line)
    }
    last = line
}

END {
    for (key in defined) {
        split(key, part, SUBSEP)
        if (named[part[1], part[2]] < 2) print part[1] ":" defined[key] ": a function that nobody calls: " part[2]
    }
    for (file in all) count++
    print count + 0 " files were read" >"/dev/stderr"
}
