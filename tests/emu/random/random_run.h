/* One random program, or a spec of one's own, run in its process. What it sees are lines on a file: "hit NAME" for what
 * is counted, "why TEXT" of a refusal, "ring TEXT" of one that was not wrapped, "ran KERNEL ARCH"; where a device was
 * asked for "device NAME" and "worst ELEMENT NORM KERNEL ARCH", of a launch: the largest error of an element to its
 * bound, and of an output the norm of its errors to that of its bounds; and anything else for what is bad. */
#ifndef TW_TESTS_RANDOM_RUN_H
#define TW_TESTS_RANDOM_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct random_run {
    const char *path; /* of the spec */
    uint64_t seed;
    bool all, plan, compile, both, strict; /* as random_programs.c says */
    bool mean;          /* with plan: the meaning of small sizes is held against the twin's all the same */
    bool specs;         /* a user's spec: both architectures, and any rule of `check` may refuse it */
    const char *arch;   /* of every kernel; NULL: they share */
    const char *device; /* "cuda": the first GPU; "emu" or NULL: the emulator */
};

/* How many bad things it saw. */
int random_run(const struct random_run *run, FILE *out);

/* The words of the spec's first lines: the program's and all kernels', or those of `kernel` alone where it is none. */
void random_words(const char *spec, const char *kernel, char *words, size_t size);

#endif
