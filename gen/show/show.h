/* The verbs of the command show, and what they share. argv[0] is the verb; the result is an exit status. */
#ifndef TW_GEN_SHOW_SHOW_H
#define TW_GEN_SHOW_SHOW_H

#include "compile/compile.h"
#include "show/svg.h"

/* What lies in shared memory, by the verbs' names. */
#define SHOW_VERBS(VERB)                                                                                               \
    VERB(swizzle, "SPEC --tensor A | --swizzle 128B --dtype bf16 --box 64,64",                                         \
         "where the elements of a tile lie in shared memory, and the bank conflicts of the ways to read them")         \
    VERB(smem, "SPEC", "the map of shared memory: stages, buffers, barriers, what is left")                            \
    VERB(timeline, "SPEC", "the pipeline of one block as the emulator runs it: roles and stages over steps")

#define VERB(name, usage, doc) int show_##name(int argc, char **argv);
SHOW_VERBS(VERB)
#undef VERB

/* Eight colours for the eight positions of a 16-byte chunk in the 128 bytes of all banks; also used in turn for regions
 * and rings. Dark text can be read on them. */
extern const char *const show_colour[8];

/* The same on a terminal: text before and after a coloured cell. "" where stdout is no terminal. */
const char *show_paint(int colour);
const char *show_unpaint(void);

/* The kernel of a spec where only one can be shown: it must be chosen, or be the only one. Sets choice->kernel. 0, or 2
 * told on stderr. */
int show_one_kernel(const struct compile *c, struct compile_choice *choice);

/* Picks one architecture: the newest that the kernel has. For compile_choice.pick. */
const struct arch *show_newest(const void *context, const struct arch *const *arch, int count);

/* What a launch of these sizes may take on that GPU, in the order of the units: the kernel's own variants and, behind
 * them, the set-up that the sizes choose. As many multiprocessors as the largest cluster of these has blocks: sms. */
struct show_units {
    int unit[COMPILE_LIBRARY_UNITS], count, sms;
};

/* Finds them, and compiles them with PTX and the lines of their texts. Exit status. */
int show_compile(struct compile *c, const int64_t *symbol, const char *gpu, struct show_units *units);

/* The variant of the launcher, which has those units, that takes these sizes: the set-up, else the first. Its launches
 * take it from now on. A status. */
struct launcher;
int show_choose(struct compile *c, struct launcher *launcher, const struct show_units *units, const int64_t *symbol,
                int *chosen, struct tw_error *error);

/* The command profile. */
int show_profile(int argc, char **argv);

#endif
