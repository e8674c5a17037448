# Rows of tests/gpu/probes/probes.c, one a line, put together.
#   usage: awk -f answers.awk -v how=fold GPU EMULATOR...   the rows of GPU, each with what the emulator's runs gave
#          awk -f answers.awk -v how=agree GOLDEN GPU       what a GPU answered and the emulator, by GOLDEN, would not
#          awk -f answers.awk -v how=table QUESTIONS.def GOLDEN
# An answer is an outcome that was counted, or an error that ended the launch. Of the emulator's runs the answers of all
# are taken together, and the hazards that each of them told. They agree where every answer of the GPU is one of the
# emulator's, or where each run of the emulator tells a hazard: then PTX promises nothing and the kernel is at fault.

function text(key,    part) { # of "key": "text"
    if (!match($0, "\"" key "\": \"[^\"]*\""))
        return ""
    part = substr($0, RSTART, RLENGTH)
    sub("^\"" key "\": \"", "", part)
    return substr(part, 1, length(part) - 1)
}

function list(key,    part) { # what stands between the brackets of "key": [...] or {...}
    if (!match($0, "\"" key "\": [[{][^]}]*[]}]"))
        return ""
    part = substr($0, RSTART, RLENGTH)
    sub("^\"" key "\": .", "", part)
    return substr(part, 1, length(part) - 1)
}

function answers(    part, n, i, all) { # of this row: "|a|b|"
    n = split(list("outcomes"), part, ", \"")
    all = "|"
    for (i = 1; i <= n; i++)
        if (part[i] !~ /: 0$/) {
            sub(/^"/, "", part[i])
            sub(/": [0-9]+$/, "", part[i])
            all = all part[i] "|"
        }
    return text("ended") == "completed" ? all : all text("ended") "|"
}

function join(all, more,    part, n, i) { # both, each once
    n = split(more, part, "|")
    for (i = 1; i <= n; i++)
        if (part[i] != "" && !index(all, "|" part[i] "|"))
            all = all part[i] "|"
    return all
}

function common(some, others,    part, n, i, all) {
    n = split(some, part, "|")
    all = "|"
    for (i = 1; i <= n; i++)
        if (part[i] != "" && index(others, "|" part[i] "|"))
            all = all part[i] "|"
    return all
}

function quoted(all,    part, n, i, line) { # "|a|b|" as JSON's inside of a list
    n = split(all, part, "|")
    for (i = 1; i <= n; i++)
        if (part[i] != "")
            line = line (line == "" ? "" : ", ") "\"" part[i] "\""
    return line
}

function unquoted(line) { # and back
    gsub(/", "/, "|", line)
    gsub(/"/, "|", line)
    return line == "" ? "|" : line
}

FNR == 1 { files++ }
how == "table" && files == 1 && /^QUESTION\(/ {
    question = $0
    sub(/^QUESTION\(/, "", question)
    sub(/,.*/, "", question)
}
how == "table" && files == 1 && /^QUESTION\(|^ +"/ && match($0, /"[^"]*\?"/) {
    asked[question] = substr($0, RSTART + 1, RLENGTH - 2)
}
how == "table" && files == 2 && FNR == 1 {
    print "| case | an H200, how often | the emulator | its hazards |"
    print "| --- | --- | --- | --- |"
}
!/^ *\{"question"/ { next }
{ key = text("question") ": " text("case") }

how == "fold" && files == 1 {
    row[++count] = $0
    keys[count] = key
}
how == "fold" && files > 1 {
    told = unquoted(list("hazards"))
    if (!(key in emulator)) {
        emulator[key] = "|"
        hazards[key] = told
        order[++fresh] = key
    }
    emulator[key] = join(emulator[key], answers())
    hazards[key] = common(hazards[key], told)
}

how == "agree" && files == 1 {
    emulator[key] = unquoted(list("emulator"))
    hazards[key] = unquoted(list("hazards"))
    open[key] = 1
}
how == "agree" && files > 1 {
    n = split(answers(), part, "|")
    if (!(key in emulator))
        print key ": not in the golden file"
    for (i = 1; i <= n && key in emulator; i++)
        if (part[i] != "" && !index(emulator[key], "|" part[i] "|") && hazards[key] == "|")
            print key ": the GPU says '" part[i] "', the emulator does not and tells no hazard"
    if (n < 3)
        print key ": no answer"
    delete open[key]
}

how == "table" && files > 1 {
    if (last != text("question")) {
        last = text("question")
        printf "| **%s** | | | |\n", asked[last]
    }
    n = split(list("outcomes"), part, ", \"")
    line = text("ended") == "completed" ? "" : text("ended")
    for (i = 1; i <= n; i++)
        if (part[i] !~ /: 0$/) {
            gsub(/"/, "", part[i])
            line = line (line == "" ? "" : "; ") part[i]
        }
    if (list("ns") != "") {
        split(list("ns"), part, ", ")
        line = line " (" part[1] " to " part[2] " ns)"
    }
    sees = unquoted(list("emulator"))
    gsub(/^\||\|$/, "", sees)
    gsub(/\|/, "; ", sees)
    told = unquoted(list("hazards"))
    gsub(/^\||\|$/, "", told)
    gsub(/\|/, ", ", told)
    printf "| %s | %s | %s | %s |\n", text("case"), line, sees, told
}

END {
    if (how == "fold") {
        print "{\"rows\": ["
        for (i = 1; i <= count; i++) {
            if (!(keys[i] in emulator))
                continue
            sub(/, "emulator": .*/, "", row[i])
            sub(/, "hazards": .*/, "", row[i])
            printf "%s, \"emulator\": [%s], \"hazards\": [%s]}%s\n", row[i], quoted(emulator[keys[i]]),
                quoted(hazards[keys[i]]), i < count ? "," : ""
            delete emulator[keys[i]]
        }
        print "]}"
        for (i = 1; i <= fresh; i++) # what no GPU has answered
            if (order[i] in emulator)
                print "no answer of a GPU: " order[i]
    }
    if (how == "agree")
        for (key in open)
            print key ": not asked"
}
