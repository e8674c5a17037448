# Writes the runtime as one C file and one header, for projects that compile it with their own: every #include "FILE"
# becomes the file, a header once.
#
#   usage: awk -v out=FOLDER -v depfile=FILE -v target=NAME -v xxhash=FILE -f single.awk HEADER... -- SOURCE...
#
# At the top of the tree. FOLDER gets tilewright.h, the headers and what they include, and tilewright.c, the sources,
# which include that header and the system's alone: xxhash.h, all that the runtime wants beside libc, is put in. depfile
# says in make's words what target was made from.

# What `name`, included by `file`, is: beside it, else below runtime/.
function place(file, name,    beside, line, found) {
    beside = file
    sub(/[^\/]*$/, "", beside)
    found = (getline line <(beside name)) > 0
    close(beside name)
    return found ? beside name : "runtime/" name
}

function write(line) {
    text[to] = text[to] line "\n"
}

# xxhash.h says itself what is static of it; warnings of other people's code are not for those who compile ours.
function put_hash(    line, n, i, word) {
    n = split("-Wconversion -Wsign-conversion -Wshadow -Wpedantic -Wunused-function", word, " ")
    write("#define XXH_INLINE_ALL")
    write("#pragma GCC diagnostic push")
    for (i = 1; i <= n; i++)
        write("#pragma GCC diagnostic ignored \"" word[i] "\"")
    while ((getline line <xxhash) > 0)
        write(line)
    close(xxhash)
    write("#pragma GCC diagnostic pop")
}

# The file's lines, with what it includes in the place of each #include. What the system has stands in front.
function put(file,    line, name, found) {
    used = used " " file
    while ((getline line <file) > 0) {
        name = line
        if (sub(/^#include "/, "", name)) {
            sub(/".*/, "", name)
            found = place(file, name)
            if (found !~ /\.h$/ || !included[found]++)
                put(found)
        } else if (line ~ /^#include <xxhash\.h>/) {
            if (!hashed++)
                put_hash()
        } else if (line ~ /^#include </) {
            if (!needed[to, line]++)
                system_of[to] = system_of[to] line "\n"
        } else if (line !~ /^#define XXH_INLINE_ALL/) {
            write(line)
        }
    }
    close(file)
}

function save(first, middle, last) {
    printf "%s%s\n%s%s", first, system_of[to], middle text[to], last >to
    close(to)
}

BEGIN {
    to = out "/tilewright.h"
    for (i = 1; i < ARGC && ARGV[i] != "--"; i++)
        if (!included[ARGV[i]]++)
            put(ARGV[i])
    save("/* Tilewright's runtime, without the emulator, made by tilewright runtime: tensor maps, NVRTC, the cache of\n" \
         " * compiled kernels, the CUDA driver. Do not edit. C99 and C++17; Apache-2.0. */\n" \
         "#ifndef TILEWRIGHT_RUNTIME_H\n#define TILEWRIGHT_RUNTIME_H\n\n", \
         "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n", \
         "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n")
    to = out "/tilewright.c"
    for (i++; i < ARGC; i++)
        put(ARGV[i])
    save("/* What tilewright.h declares, made by tilewright runtime. Do not edit. C99 by gcc or clang; link with -lm, and\n" \
         " * with -ldl -pthread where libc is older than glibc 2.34. Apache-2.0; xxhash.h, which is in it, has its own\n" \
         " * licence (BSD, 2 clauses). */\n#ifndef _GNU_SOURCE\n#define _GNU_SOURCE\n#endif\n\n#include \"tilewright.h\"\n\n", "", "")
    print target ":" used " " xxhash >depfile
    exit
}
