# The reference of the spec language as Markdown.
# stdin is what `tilewright help spec` prints (tests/pages/reference.sh).
function plain(text) {
    gsub(/[|*_<]/, "\\\\&", text)
    return text
}
function code(text) {
    gsub(/\|/, "\\|", text)
    return "`" text "`"
}
function table(heading, first, second, third) {
    if (heading != "")
        printf "%s### %s\n\n", begun++ ? "\n" : "", heading
    else
        print ""
    printf "| %s | %s |%s\n| --- | --- |%s\n", first, second, third ? " " third " |" : "", third ? " --- |" : ""
}
function words(line) { # name and text, which two blanks or more part
    match(line, /  +[^ ]/)
    name = substr(line, 1, RSTART - 1)
    return substr(line, RSTART + RLENGTH - 1)
}

/^kernel "NAME"/ { part = "rows"; table("Fields of a kernel", "field", "what it says"); next }
/^tensor \{/ { part = "rows"; table("Fields of a tensor", "field", "what it says"); next }
/^}/ { next }
/^  (dtypes|swizzles):/ {
    if (part == "rows")
        print ""
    part = "lists"
    name = $1
    sub(/^ *[a-z]*: */, "")
    gsub(/ /, "` `")
    printf "- %s `%s`\n", name, $0
    next
}
/^  fills:/ { part = "rows"; table("", "fill", "what `run` puts there"); next }
/^(scalar|dims) / {
    if (part != "calls")
        print "\n### Scalars and dims\n"
    part = "calls"
    at = match($0, /: /)
    printf "- `%s`: %s\n", substr($0, 1, at - 1), plain(substr($0, at + 2))
    next
}
/^family = / { part = "family"; printf "\n### Family %s\n", substr($3, 2, length($3) - 2); blank = 1; next }
part == "family" && /^  / {
    sub(/^  /, "")
    if ($0 ~ /^ *$/) { blank = 1; next }
    # Lines of their own: a formula, which stands deeper.
    if ($0 ~ /^  /) { printf "%s    %s\n", formula ? "" : "\n", $0; formula = 1; blank = 1; next }
    if (blank)
        print ""
    blank = formula = 0
    print plain($0)
    next
}
/^fields \(/ { part = "fields"; table("Further fields", "field", "what it says", "kernels, range; default"); next }
part == "fields" && /^  [a-z]/ { said = words(substr($0, 3)); next }
part == "fields" && /^    / { sub(/^ +/, ""); printf "| `%s` | %s | %s |\n", name, plain(said), plain($0); next }
/^architectures:/ {
    sub(/^[a-z]*: /, "")
    gsub(/ /, "`, `")
    printf "\nArchitectures are `%s`.\nA kernel that names none is for `sm_80`, which other GPUs of its major version run too ", $0
    print "where it fits,\nand for `sm_90a`; where `--arch` names it, for each of the others as well."
    next
}
/^dots of / { sub(/^dots/, "Dots"); sub(/:/, " multiply"); printf "%s.\n", $0; next }
/^in a fused function:/ {
    sub(/^[^:]*: */, "")
    gsub(/ +/, "` `")
    printf "\n### Words of a fused function\n\n`%s`\n", $0
    next
}
/^in a program also/ { part = "program"; table("Words of a program", "word", "what it does"); next }
part == "program" && /^  [^ ]/ { word = substr($0, 3); next }
part == "program" && /^      / { sub(/^ +/, ""); printf "| %s | %s |\n", code(word), plain($0); next }
part == "rows" && /^  [^ ]/ { said = words(substr($0, 3)); printf "| %s | %s |\n", code(name), plain(said) }
part == "rows" && /^    [^ ]/ { said = words(substr($0, 5)); printf "| %s | %s |\n", code(name), plain(said) }
