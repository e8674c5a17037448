/* The way through the house that commands share: spec, Plans, CUDA texts, cubins. One struct holds everything; its
 * functions are called in the order of this header, as far as the command needs. */
#ifndef TW_GEN_COMPILE_COMPILE_H
#define TW_GEN_COMPILE_COMPILE_H

#include <stdbool.h>
#include <stdio.h>

#include "cache.h"
#include "common/files.h"
#include "emit/emit.h"
#include "lower/family.h"

struct json_object;

enum { COMPILE_FAMILIES = 64, COMPILE_ARCHITECTURES = 16 };

/* What the spec's reader wants to know of families and architectures. */
struct compile_tables {
    const char *arch[COMPILE_ARCHITECTURES + 1];
    const char *arch_unnamed[COMPILE_ARCHITECTURES + 1];
    const char *arch_like[2 * COMPILE_ARCHITECTURES + 1];
    char dots[COMPILE_ARCHITECTURES][80]; /* what their dots multiply */
    const char *arch_dots[COMPILE_ARCHITECTURES + 1];
    const char *library[COMPILE_FAMILIES + 1]; /* families that ship as modules */
    char library_text[COMPILE_FAMILIES][64];
    struct spec_options options; /* points into this struct: it must not move */
};
void compile_tables_fill(struct compile_tables *tables);

/* Which kernels, architectures and variants; NULL: all. */
struct compile_choice {
    const char *kernel;  /* one name */
    const char *arch;    /* "sm_90a,sm_80" */
    const char *variant; /* its name ("", "unaligned") or its number */
    bool own;            /* no set-up; they are planned all the same, so that their faults are told */
    /* The one architecture of this kernel that is wanted, of `count` that it has, oldest first. NULL: all of them. */
    const struct arch *(*pick)(const void *context, const struct arch *const *arch, int count);
    const void *context;
};

/* Where a cubin came from, or is to come from. */
enum compile_with { COMPILE_NVRTC, COMPILE_NVCC, COMPILE_WITH_COUNT };
extern const char *const compile_with_word[COMPILE_WITH_COUNT];

/* One entry point: a kernel on an architecture in a variant, or in a set-up that it is tuned to. */
struct compile_unit {
    const struct spec_kernel *kernel;
    const struct spec_kernel *as;  /* what is planned: the kernel itself or one of its set-ups (spec.setup) */
    int setup;                     /* among those of the kernel on the architecture; 0: the kernel itself */
    const struct family *family;
    const struct arch *arch;
    int variant;                   /* of family.variants; set-ups have the first alone */
    struct plan plan;
    bool planned, emitted;         /* without faults */
    char *why;                     /* of a candidate that cannot be planned: its first fault; else NULL */
    char *source;                  /* CUDA text */
    const char *source_path;       /* the user's file that the text is from, or NULL where it was emitted */
    size_t source_bytes;
    bool wanted;                   /* compile_cubins compiles it */
    unsigned outputs;              /* tw_output bits */
    bool newer;                    /* NAME.c gets its PTX too, for devices newer than the architecture */
    bool line_info;                /* the PTX says which source lines its instructions come from */
    struct tw_compiled compiled[COMPILE_WITH_COUNT];
    int status[COMPILE_WITH_COUNT];
    struct tw_error error[COMPILE_WITH_COUNT];
};

/* Seconds of wall time by phase. */
struct compile_phases {
    double read, plan, emit, compile;         /* compile: of the whole stage, with everything below in it */
    double find, lookup, open, nvrtc, wait, store; /* sums over units, which run beside each other */
};

struct compile {
    struct json_object *faults; /* what was told, where the command prints JSON; NULL: text on stderr */
    const char *command;                      /* for messages */
    const char *path;
    struct tw_runtime rt;
    struct compile_tables tables;
    struct spec spec;
    struct diag_set diags;
    struct compile_unit *unit;                /* by kernel, architecture, variant */
    int unit_count;
    int left_out;                             /* set-ups that were planned and are no units: compile_choice.own */
    struct compile_phases phases;
    struct shelf *shelf;                      /* templates that several units expand; NULL: none are kept */
    struct plan_proofs *proofs;               /* of its Plans; NULL: none are kept */
    int debug_ms;                             /* how long a wait of a debug build may last; 0: no debug build. Set
                                                 between compile_open and compile_units */
    int profile;                              /* stamps that an instance of a role has room for; 0: no profile build.
                                                 Set then, too, and so are */
    int pass, passes;                         /* which of several it is, as struct emit_options has them, and */
    unsigned python;                          /* compile_outputs writes NAME_python.c and NAME.pyi, too: COMPILE_PYTHON,
                                                 and with COMPILE_TORCH NAME_torch.py and .cpp */
    bool share;                               /* its kernels share a launcher: compile_outputs writes SHARED_LAUNCHER.h
                                                 and .c as well */
    double started;                           /* clock at compile_open */
    const char *source_folder;                /* of the spec */
    char *folder;                             /* its memory */
};

/* compile.python, and options that set it */
enum { COMPILE_PYTHON = 1, COMPILE_TORCH = 2 };
#define PYTHON_DOC "NAME_python.c, a module of Python, and NAME.pyi, its types, too"
#define TORCH_DOC "with them NAME_torch.py, an operator of PyTorch, and NAME_torch.cpp: its tensors in place"
static inline unsigned compile_python(bool python, bool torch)
{
    return torch ? COMPILE_PYTHON | COMPILE_TORCH : python ? COMPILE_PYTHON : 0;
}

/* compile.share */
#define SHARED_LAUNCHER "tilewright_host"
#define SHARED_DOC "a launcher that all kernels in DIR share: " SHARED_LAUNCHER ".c, " SHARED_LAUNCHER ".h"
#define SHARED_DEBUG "a debug build has a launcher of its own; leave --debug or --shared out"

/* Seconds on a clock that only runs forward. */
double compile_clock(void);

/* Begins with the runtime and reads the spec. Returns an exit status; after any, compile_close is due. Faults are in
 * c->diags or, those of the environment, already told. json: what is told is kept as objects, for the command to print,
 * in the place of text on stderr. */
int compile_open_as(struct compile *c, const char *command, const char *path, bool json);
int compile_open(struct compile *c, const char *command, const char *path); /* text */

/* The same with these set-ups in the place of SPEC.tuned.lua, "" none; candidates: one that is wrong is no fault, it
 * says why (spec_setup.why, compile_unit.why). */
int compile_open_tuned(struct compile *c, const char *command, const char *path, bool json, const char *tuned,
                       bool candidates);

/* The architectures of a kernel that this program has templates for, oldest first; returns their number. asked: names
 * as --arch has them, or NULL: a kernel is for those too that are on request and are like one that it is for. */
int compile_architectures(const struct spec_kernel *kernel, const char *asked,
                          const struct arch *out[COMPILE_ARCHITECTURES]);

/* Plans and emits every unit of the choice, beside each other's faults. Exit status: 0; 1 faults in c->diags, or an
 * architecture that no chosen kernel has; 2 for a kernel or variant that is not there or an architecture that is none,
 * told on stderr; 3. An architecture that only some kernels lack is a note on stderr. */
int compile_units(struct compile *c, const struct compile_choice *choice);

/* Plans every kernel of the choice with the values of its `tune` (compile_tune.c), where compile_open's command is
 * check: what no plan can take goes to c->diags. Exit status. */
int compile_check_tunes(struct compile *c, const struct compile_choice *choice);

/* Compiles every `wanted` unit through the cache, as many at once as there are processors, and checks what came out
 * against its Plan. Faults go to c->diags; those of the environment to stderr, and so does what the compiler says of a
 * text that it refuses, after what c->diags held. Exit status. */
int compile_cubins(struct compile *c, enum compile_with with);

/* Bytes of shared memory of a block, static and dynamic, once it is compiled. */
long compile_shared(const struct compile_unit *unit, enum compile_with with);

/* Adds ENTRY.ARCH.ptx, .cubin and .sass of a compiled unit, SASS where a disassembler is found. */
int compile_keep(struct compile *c, const struct compile_unit *unit, enum compile_with with, const char *folder,
                 struct file_set *files, struct tw_error *error);

/* Adds ENTRY.ARCH.cu and ENTRY.ARCH.plan.json of every unit, and NAME.c and NAME.h of every kernel: with the cubins of
 * `with`, or with the sources where that is COMPILE_WITH_COUNT. Exit status; faults in c->diags or on stderr. */
int compile_outputs(struct compile *c, enum compile_with with, const char *folder, struct file_set *files);

/* The emitted C pair of these units (variants of one kernel on one architecture) and templates/host/caller.c, compiled
 * by the machine's C compiler ($CC, else cc) through the cache: library->cubin is a shared object. Instead of code it
 * holds a name for each unit, COMPILE_CODE_FORMAT with its place in the list, as cubin and as PTX, which whoever loads
 * it puts the code in the place of. Thread-safe. TW_ERROR_NO_TOOL where there is no compiler. */
enum { COMPILE_LIBRARY_UNITS = SPEC_MOST_SETUPS + 8, COMPILE_CODE_BYTES = 24 };
#define COMPILE_CODE_FORMAT "unit %d"
int compile_library(struct compile *c, const int *unit, int count, struct tw_compiled *library, struct tw_error *error);

/* All units being of one kernel on one architecture: the number of the one whose set-up a launch of these sizes takes
 * on that GPU ("": one without rows of its own), by the table that NAME.c has; -1: one of the kernel's own variants.
 * -2: out of memory. */
int compile_chosen(struct compile *c, const int64_t *symbol, const char *gpu);

void compile_close(struct compile *c);

/* ---- telling (compile_report.c): text on stderr, or objects where the command prints JSON ----------------------- */

/* Tells the diagnostics that came since the last call. */
void compile_report(struct compile *c);

/* Tells a sentence: "tilewright COMMAND: TEXT", a note with "note: " before it. */
void compile_say(const struct compile *c, enum diag_severity severity, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Tells why the environment does not do it; returns the exit status of `status`. */
int compile_fail(const struct compile *c, int status, const struct tw_error *error);

/* From now on objects; compile_open does it. 0 or 3. */
int compile_as_json(struct compile *c);
void compile_free_faults(struct compile *c);

/* Prints all that was told on stdout, with what `more` has beside it (NULL: nothing): {"command":, "spec":, "status":,
 * "diagnostics":, ...}. Nothing where options_fault did. Returns the status. `help json` describes
 * it. */
int compile_print_json(const struct compile *c, int status, struct json_object *more);

#endif
