# Measured speed as Markdown, of the files of tests/bench/results.
#   usage: sh tests/pages/speed.sh chart|gemm|attention|rows|emulator, from the top of the tree
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
    gsub(/"/, "", key)
    return key
}'

# SIZES<tab>best of cuBLASLt<tab>Tilewright, ns, as the file has them
gemm() {
    objects gemm_cublaslt | awk "$value"'
        value("kernel") == "gemm_bf16" {
            size = value("M") " x " value("N") " x " value("K")
            if (!(size in tilewright) && !(size in best)) order[++n] = size
            ns = value("latency_ns") + 0
            if (value("backend") == "tilewright") tilewright[size] = ns
            else if (!(size in best) || ns < best[size]) best[size] = ns
        }
        END { for (i = 1; i <= n; i++) print order[i] "\t" best[order[i]] "\t" tilewright[order[i]] }'
}

# WHAT<tab>beside what<tab>how many times as fast<tab>a remark
ratios() {
    gemm | awk -F '\t' '{ printf "GEMM %s\tcuBLASLt\t%.3f\n", $1, $2 / $3 }'
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
gemm)
    echo '| M x N x K | cuBLASLt, us | Tilewright, us | Tilewright, TFLOP/s | ratio |'
    echo '| --- | --- | --- | --- | --- |'
    gemm | awk -F '\t' '{ split($1, size, " x ")
        printf "| %s | %.1f | %.1f | %.0f | %.3f |\n", $1, $2 / 1e3, $3 / 1e3, 2e-3 * size[1] * size[2] * size[3] / $3,
            $2 / $3 }'
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
        last = $3 < 1.2 ? int(40 * $3 + 0.5) : 48
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
