# Measured speed as Markdown, of the files of tests/bench/results.
#   usage: sh tests/pages/speed.sh chart|claims|gemm|types|attention|rows|emulator, from the top of the tree
set -u
results=tests/bench/results

# objects FILE: the objects of its list of rows, one a line.
objects() { tr -d '\n' <"$results/$1.json" | sed 's/^.*"rows": *\[//; s/} *, *{/}\n{/g'; }

# What awk needs of such a line: the value of a key, without quotes; "" where there is none.
value='function value(key) {
    if (!match($0, "\"" key "\": *[^,}]*"))
        return ""
    key = substr($0, RSTART, RLENGTH)
    sub(/^"[^"]*": */, "", key)
    gsub(/"| +$/, "", key)
    return key
}'

# SIZES<tab>MODE<tab>best of cuBLASLt<tab>Tilewright, ms: of gemm_bf16, sizes in the order of the file
gemm() {
    objects h200 | awk "$value"'
        value("kernel") == "gemm_bf16" {
            size = value("M") " x " value("N") " x " value("K")
            if (!seen[size]++) order[++n] = size
            at = size "\t" value("mode")
            ms = value("latency_ms") + 0
            if (value("backend") == "tilewright") tilewright[at] = ms
            else if (!(at in best) || ms < best[at]) best[at] = ms
        }
        END {
            split("burst sustained", mode, " ")
            for (i = 1; i <= n; i++) for (m = 1; m <= 2; m++) {
                at = order[i] "\t" mode[m]
                if (at in best && at in tilewright) print at "\t" best[at] "\t" tilewright[at]
            }
        }'
}

# WHAT<tab>beside what<tab>how many times as fast<tab>a remark
ratios() {
    # The smallest and the largest, short and long ones, the least of all, and the mean of all.
    gemm | awk -F '\t' '
        BEGIN {
            chosen = "16 x 4096 x 4096,128 x 7168 x 2048,4096 x 4096 x 4096,"
            chosen = chosen "4096 x 7168 x 2048,16384 x 8192 x 8192,"
        }
        $2 == "burst" {
            ratio = $3 / $4
            sum += log(ratio)
            n++
            if (!least || ratio < least) { least = ratio; at = $1 }
            if (index("," chosen, "," $1 ",")) row[$1] = ratio
        }
        END {
            row[at] = least
            chosen = index("," chosen, "," at ",") ? chosen : chosen at ","
            for (count = split(chosen, name, ","); ++i < count;)
                printf "GEMM %s\tcuBLASLt\t%.5f%s\n", name[i], row[name[i]], name[i] == at ? "\tthe least of " n : ""
            printf "GEMM, mean of %d sizes\tcuBLASLt\t%.5f\n", n, exp(sum / n)
        }'
    objects attention_derived | awk "$value"'
        value("mode") == "burst" && (value("s") == 2048 || value("s") == 16384) {
            printf "attention %s, %d\tcuDNN\t%.3f\n", value("causal") == "true" ? "causal" : "full", value("s"),
                value("derived") / value("cudnn")
        }'
    objects rows | awk "$value"'
        value("ratio") != "" {
            ratio = value("ratio") + 0
            if (!slow || ratio < slow) { slow = ratio; slowest = value("kernel") }
            if (ratio > fast) { fast = ratio; fastest = value("kernel") }
        }
        END {
            printf "slowest row program\tcopy\t%.3f\tof %s\n", slow, slowest
            printf "fastest row program\tcopy\t%.3f\tof %s\n", fast, fastest
        }'
}

case ${1:-} in
claims)
    PYTHONDONTWRITEBYTECODE=1 python3 tests/bench/claims.py table "$results/h200.json" \
        --newer "$results/h200_programs.json" || [ $? -eq 1 ]
    ;;
gemm)
    echo '| M x N x K | burst: cuBLASLt, us | Tilewright, us, TFLOP/s | ratio | sustained: cuBLASLt, us |' \
        'Tilewright, us, TFLOP/s | ratio |'
    echo '| --- | --- | --- | --- | --- | --- | --- |'
    gemm | awk -F '\t' '
        {
            split($1, size, " x ")
            ratio = $3 / $4
            line[$1] = line[$1] sprintf(" %.1f | %.1f, %.0f | %.3f |", 1e3 * $3, 1e3 * $4,
                2e-9 * size[1] * size[2] * size[3] / $4, ratio)
            if (!seen[$1]++) order[++n] = $1
            sum[$2] += log(ratio)
            count[$2]++
            if (!($2 in least) || ratio < least[$2]) least[$2] = ratio
        }
        END {
            for (i = 1; i <= n; i++) print "| " order[i] " |" line[order[i]]
            printf "| geometric mean, least | | | %.3f, %.3f | | | %.3f, %.3f |\n", exp(sum["burst"] / count["burst"]),
                least["burst"], exp(sum["sustained"] / count["sustained"]), least["sustained"]
        }'
    ;;
types)
    echo '| kernel | sizes | burst: cuBLASLt, us | Tilewright, us | ratio | sustained: ratio |'
    echo '| --- | --- | --- | --- | --- | --- |'
    objects h200 | awk "$value"'
        value("kernel") ~ /^gemm_(fp8|grouped)/ {
            group = value("E") == "" ? "" : value("E") " groups, "
            at = value("kernel") "\t" group value("M") " x " value("N") " x " value("K")
            if (!seen[at]++) order[++n] = at
            ms = value("latency_ms") + 0
            key = at SUBSEP value("mode")
            if (value("backend") == "tilewright") ours[key] = ms
            else if (!(key in best) || ms < best[key]) best[key] = ms
        }
        END {
            for (i = 1; i <= n; i++) {
                split(order[i], name, "\t")
                burst = order[i] SUBSEP "burst"
                if (!(burst in best)) # block scales: beside the product with one scale
                    best[burst] = best["gemm_fp8\t" name[2] SUBSEP "burst"]
                under = order[i] SUBSEP "sustained"
                printf "| `%s` | %s | %.1f | %.1f | %.3f | %s |\n", name[1], name[2], 1e3 * best[burst],
                    1e3 * ours[burst], best[burst] / ours[burst],
                    under in ours ? sprintf("%.3f", best[under] / ours[under]) : ""
            }
        }'
    ;;
attention)
    echo '| sequence | full: TFLOP/s, to cuDNN, by hand | sustained | causal: TFLOP/s, to cuDNN, by hand | sustained |'
    echo '| --- | --- | --- | --- | --- |'
    objects attention_derived | awk "$value"'
        value("s") != "" {
            if (!(value("s") in row)) order[++n] = value("s")
            ours = value("derived")
            ratios = sprintf("%.2f, %.2f", ours / value("cudnn"), ours / value("control"))
            cell = value("mode") == "burst" ? sprintf("%.0f, %s", ours, ratios) : ratios
            row[value("s")] = row[value("s")] " | " cell
        }
        END { for (i = 1; i <= n; i++) printf "| %d%s |\n", order[i], row[order[i]] }'
    ;;
rows)
    echo '| kernel | rows x columns | GB/s | copy, GB/s | ratio |'
    echo '| --- | --- | --- | --- | --- |'
    objects rows | awk "$value"'
        value("ratio") != "" {
            printf "| `%s` | %d x %d | %d | %d | %.2f |\n", value("kernel"), value("rows"), value("columns"),
                value("gb_s"), value("copy_gb_s"), value("ratio")
        }'
    ;;
emulator)
    echo '| kernel | M/s | with hazards | ms | with hazards |'
    echo '| --- | --- | --- | --- | --- |'
    objects emu_speed | awk "$value"'
        value("thread_instructions_per_s") != "" {
            printf "| %s | %.0f | %.0f |", value("kernel"), value("thread_instructions_per_s") / 1e6,
                value("hazards_thread_instructions_per_s") / 1e6
            if (value("seconds") != "")
                printf " %.1f | %.1f |\n", value("seconds") * 1e3, value("hazards_seconds") * 1e3
            else
                print " | |"
        }'
    ;;
chart)
    # A bar is 40 signs where the speeds are equal, which the | marks.
    echo '```text'
    printf '%-26s%-10s0%39s\n' '' 'beside' 'as fast'
    ratios | awk -F '\t' '{
        bar = ""
        last = $3 < 1.175 ? int(40 * $3 + 0.5) : 47
        for (i = 1; i <= 40 || i <= last; i++) bar = bar (i == 40 ? "|" : i <= last ? "=" : " ")
        printf "%-26s%-10s%-48s%.2f%s\n", $1, $2, bar, $3, $4 == "" ? "" : ", " $4
    }'
    echo '```'
    ;;
*)
    sed -n '2s/^# *//p' "$0"
    exit 2
    ;;
esac
