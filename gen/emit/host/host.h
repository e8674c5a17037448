/* The C pair of a kernel: NAME.h and NAME.c, which load and launch every variant of it on every architecture.
 *
 * What is emitted is C99 and C++17 that needs libc and the driver alone; templates/host/kernel.h is its contract. Here
 * is decided what the templates spell: which bits of a tensor map are constant, what a launch must check, how formulas
 * over the sizes are kept from overflow, how the parameter buffer is laid out.
 */
#ifndef TW_GEN_EMIT_HOST_HOST_H
#define TW_GEN_EMIT_HOST_HOST_H

#include <stdbool.h>
#include <stddef.h>

#include "emit/emit.h"
#include "plan/plan.h"
#include "spec/diag.h"

/* The code of one Plan. A source is compiled by the emitted code at load, a cubin is loaded as it is; where both are
 * given, the source serves newer devices alone. */
struct host_image {
    const struct plan *plan;
    const char *source; /* CUDA text, or NULL */
    size_t source_bytes;
    const unsigned char *cubin; /* for plan->arch, or NULL */
    size_t cubin_bytes;
    const char *ptx; /* for devices newer than plan->arch, or NULL */
    size_t ptx_bytes;
    int registers; /* of a thread, as the cubin has it; -1: not compiled yet */
    int setup;     /* 0: the spec's own; else one that sizes choose, counted from 1 on each architecture */
};

/* What was measured: at these sizes that set-up was the quickest. */
struct host_tuned {
    const char *arch, *gpu;
    const int64_t *size; /* by symbol of the Plan; -1: the kernel has it not */
    int setup;           /* as struct host_image has it */
    int exact;           /* the same for these sizes alone; 0: there is none */
    const char *use;     /* in words */
    bool burst;          /* measured in short bursts: counts where nothing sustained is said of the sizes */
    double us, ratio;    /* 0: not known */
};

struct host_model {
    const char *name; /* of the kernel: every external symbol begins with it */
    const struct host_image
        *image; /* by architecture; of each, its variants in order of preference, then its set-ups by number */
    int image_count;
    bool newer;                /* what is made for an architecture without a suffix may run on newer ones, as PTX */
    const char *const *option; /* of NVRTC beside the architecture, for sources */
    int option_count;
    const struct host_tuned *tuned; /* by GPU of an architecture: rows of one stand together */
    int tuned_count;                /* 0: there are no set-ups */
    bool shared;       /* the launcher is in tilewright_host.h and .c, which emit_host_shared writes */
    const bool *added; /* by tensor of the Plan: the kernel adds to what it holds; NULL: to none. For Python alone */
};

/* Whether every launch that `other` takes is one that `plan` takes as well: behind it in order of preference, `other`
 * is never chosen. Both are of one kernel and one architecture. */
bool host_covers(const struct plan *plan, const struct plan *other);

/* The set-up that a launch of these sizes (by symbol of the Plan) takes on a GPU of the architecture, as the files have
 * it; 0: the spec's own. -1: out of memory. */
int host_setup_of(const struct host_model *model, const char *arch, const char *gpu, const int64_t *symbol);

/* Writes both files as texts. They are from options->memory, zero-terminated, the caller frees them (length + 1 bytes);
 * both are NULL after a failure. Returns 0; 1 where the model cannot be emitted, with the reasons in diags: a name that
 * is a word of C or C++, Plans that do not belong together; 3 out of memory. The same model gives the same texts.
 * Thread-safe. */
int emit_host(const struct host_model *model, const struct emit_options *options, char **header, char **source,
              struct diag_set *diags);

/* Writes tilewright_host.h and tilewright_host.c, the launcher that kernels of one folder share: the same texts
 * whatever the kernels, of one generator version; as emit_host does. */
int emit_host_shared(const struct emit_options *options, char **header, char **source, struct diag_set *diags);

/* Writes the text through which `tilewright run` calls the pair (templates/host/caller.c); as emit_host does. */
int emit_host_caller(const struct host_model *model, const struct emit_options *options, char **caller,
                     struct diag_set *diags);

/* The pair as a module of Python: NAME_python.c, NAME.pyi, NAME_torch.py and NAME_torch.cpp (templates/python). */
struct host_python_texts {
    char *module, *stub, *torch, *in_place;
};

/* Writes them, those of PyTorch where they are asked for, else NULL; as emit_host does. Beside its reasons to refuse a
 * model: PYTHON-NAME and, for PyTorch, PYTHON-TORCH. */
int emit_host_python(const struct host_model *model, const struct emit_options *options, bool torch,
                     struct host_python_texts *out, struct diag_set *diags);

#endif
