/* Which steps of a profile build carry a stamp of the clock (templates/blocks/profile.cuh), and in which of several
 * builds, passes, of which each stamps a part so that none costs much.
 *
 * Anchors are stamped in every pass: in the body of each loop the first step that is always stamped, so that between
 * two anchors no loop begins another turn, and steps are made in the order of the text, those before a loop's anchor
 * last. The other steps of each body are cut into as many runs as there are passes. Of a body that has no such step all
 * stamps are anchors. verify/profile_passes.c puts passes together by their anchors.
 */
#ifndef TW_GEN_EMIT_STAMPS_H
#define TW_GEN_EMIT_STAMPS_H

#include "emit/emit.h"
#include "plan/plan.h"

enum stamp {
    STAMP_NONE,
    STAMP_BEHIND, /* behind the step */
    STAMP_BESIDE  /* within the condition that leaves the step out in some turns */
};

/* Of steps as templates/blocks/steps.cuh emits them. Fences and commits take no time; a loop's stands in its body, of
 * items and of a store's chunks, whose arithmetic comes first. */
enum stamp stamp_of(const struct plan *p, const struct plan_role *role, int step);

/* The pass that stamps this step, which is stamped; -1: each does. */
int stamp_pass(const struct plan *p, const struct plan_role *role, int step, int passes);

/* Passes that stamp something each: at least 1, and 1 where items come as they are asked for (two launches take other
 * ones), or where the template is not made of steps.cuh's steps. */
int stamp_passes(const struct plan *p);

/* Steps that are stamped one behind the other, with no loop and no condition that holds several of them between, have
 * words beside each other: a frame, which the first of them begins. That one is made wherever the others are; those
 * with a condition of their own before it have frames of one word. */
struct stamp_frame {
    int slot, slots;
};

/* The place of a step that this pass stamps. */
struct stamp_frame stamp_frame_of(const struct plan *p, const struct plan_role *role, int step, int pass, int passes);

/* stamp(ROLE, i) in templates: where this build stamps step i of the role, from 1: "behind" it, "beside" it within its
 * own condition, or ""; and what profile_mark of templates/blocks/profile.cuh is told then: "4, 0, 3". */
struct stamp_context {
    const struct plan *plan;
    const struct emit_options *options;
};
int emit_stamp(lua_State *L);

#endif
