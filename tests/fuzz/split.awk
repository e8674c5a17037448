# PTX of NVRTC into one file a kernel: FOLDER/PREFIX.NUMBER.ptx with everything but the other kernels, without the lines
# that only name source lines. Each gets a "//fuzz" line (fuzz_load.c) with a seed and a mode of its own. Variables:
# folder, prefix.
function hex(most) { return substr("0123456789abcdef", 1 + int(most * rand()), 1) }
BEGIN {
    kernels = 0
    srand(length(prefix))
}
/^[ \t]*\.(loc|file)[ \t]/ || /^[ \t]*\/\// || /^[ \t]*$/ { next }
/^\.section/ { section = 1 }
section { if (/^[ \t]*}/) section = 0; next }
/\.entry/ { kernel = ++kernels }
kernel { own[kernel] = own[kernel] $0 "\n" }
!kernel { shared[kernels] = shared[kernels] $0 "\n" } # what stands between kernels belongs to all of them
{
    depth += gsub(/{/, "&") - gsub(/}/, "&")
    if (body && !depth)
        kernel = 0
    body = depth > 0
}
END {
    for (k = 1; k <= kernels; k++) {
        file = folder "/" prefix "." k ".ptx"
        printf "//fuzz %s%s0000%s%s%s000%s\n", hex(16), 1234 + k, hex(8), 8 * hex(2), hex(2), hex(16) > file
        for (s = 0; s <= kernels; s++) {
            printf "%s", shared[s] > file
            if (s + 1 == k)
                printf "%s", own[k] > file
        }
        close(file)
    }
}
