/* A way from a spec to a Plan: one struct of data and functions, for programs and for kernels with a template.
 */
#ifndef TW_GEN_LOWER_FAMILY_H
#define TW_GEN_LOWER_FAMILY_H

#include "arch/arch.h"
#include "plan/plan.h"
#include "spec/spec.h"

struct family {
    /* Number of variants on this architecture, 1 or more. Variant 0 is preferred; each further one asks less of the
     * arguments (alignment), and is left out where it does not. At launch the first whose tensors' `align` fit is
     * taken. */
    int (*variants)(const struct spec *, const struct spec_kernel *, const struct arch *);

    /* Decides everything. Faults go to diags, each with a location and a rule; *plan is then incomplete but can be
     * freed. Returns 0, 1 faults, 3 out of memory. */
    int (*resolve)(const struct spec *, const struct spec_kernel *, const struct arch *, int variant, struct plan *plan,
                   struct diag_set *diags);
};

extern const struct family family_user;    /* kernels with a template of their own */
extern const struct family family_program; /* kernels that are programs, families' too (lower/program.c) */

const struct family *family_of(const struct spec_kernel *);

/* Resolves kernel on arch, finishes (packs parameters, places shared memory) and runs plan_check and
 * plan_check_protocol; where the Plan lacks steps, the second is emit_steps's. The one way to a Plan. `proofs`
 * may be NULL. Returns as resolve does. */
int family_plan(const struct spec *, const struct spec_kernel *, const struct arch *, int variant,
                struct plan_proofs *proofs, struct plan *plan, struct diag_set *diags);

/* Reports what the kernel's fields say of the architecture without effect (lower/effects.c). 0, 1 faults, 3. */
int family_check_effects(const struct spec_kernel *, const struct arch *, struct diag_set *diags);

/* An architecture of a kernel, and which fields its first variant's Plan heeds there. */
struct family_reads {
    const struct arch *arch;
    struct field_reads reads;
    bool known; /* it was planned; else it is, where somebody has to know */
};

/* Reports what the kernel itself says and none of its architectures heeds, and what it says of one of them that this
 * one does not; `on` holds all of them. 0, 1 faults, 3. */
int family_check_unread(const struct spec *, const struct spec_kernel *, struct family_reads *on, int count,
                        struct diag_set *diags);

/* Whether one of the kernel's architectures has what a field is about, `path` as in effects.def. */
bool family_may_read(const struct spec_kernel *, const char *path);

/* Reports that what the kernel says at loc of a field, `path` as in effects.def, is heeded nowhere; `arch` is its
 * newest architecture. name: the field as people write it. */
void family_report_unread(const struct spec_kernel *, const struct arch *, const char *path, struct diag_loc loc,
                          const char *name, struct diag_set *diags);

/* A role has no steps: they stand in the template (emit_steps). */
bool family_lacks_steps(const struct plan *);

/* ---- for families: parts of resolve that all share (lower/common.c) --------------------------------------------- */

/* Copies symbols, tensors (dims, strides, dtype, axes), scalars and the fused functions of the spec's kernel into the
 * Plan. Tensors keep the spec's numbers. Adds the symbol sm_count. 0 or 3. */
int family_copy_spec(const struct spec *, const struct spec_kernel *, struct plan *);

/* Appends to the Plan's arrays; returned pointers are valid until the next append of the kind. NULL out of memory. */
struct plan_map *family_add_map(struct plan *, int tensor, int l2_promotion); /* box, swizzle of the tensor; rank */
/* Beside the tensor's own map one of fewer places of its box along a dim. */
struct plan_map *family_add_part_map(struct plan *, int tensor, int dim, int places);
struct plan_shared *family_add_shared(struct plan *, const char *name, int bytes, int align, int count);
struct plan_ring *family_add_ring(struct plan *, const char *name, int stages, enum plan_filler);
struct plan_role *family_add_role(struct plan *, const char *name, int instances, int first_warp, int warps,
                                  int registers);
int family_add_step(struct plan *, struct plan_role *, struct plan_step);
struct plan_mma *family_add_mma(struct plan *, const char *name, const char *kind);
int family_add_value(struct plan *, const char *name, int64_t integer);
int family_add_word(struct plan *, const char *name, const char *text);
int family_add_barrier(struct plan *, const char *name, int id, int threads);
int family_reason(struct plan *, const char *field, const char *value, const char *reason, ...)
    __attribute__((format(printf, 4, 5)));

/* Adds the parameters: maps first (64-byte aligned), then pointers of tensors that plain loads or stores reach, their
 * strides (64-bit, elements, all but the innermost), dims (32-bit int where 32 bits hold every tile start, as `int`),
 * scalars. Offsets as the C struct has them. */
int family_pack_params(struct plan *);

/* Sets bytes_moved: each tensor's elements once. 0 or 3. */
int family_bytes_moved(struct plan *);

/* Gives every shared region its offset, in order, and sets launch.shared_bytes and shared_align. */
void family_place_shared(struct plan *);

#endif
