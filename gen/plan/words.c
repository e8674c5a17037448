/* The words of a Plan's enums, as people, JSON and templates see them. */
#include "plan/plan.h"

const char *const plan_access_word[PLAN_ACCESS_COUNT] = {"tma", "cp_async", "global"};
const char *const plan_filler_word[PLAN_FILL_COUNT] = {"bulk", "cp_async", "threads", "arrive", "peers", "own"};
const char *const plan_reduction_word[PLAN_REDUCTION_COUNT] = {"", "sum", "max", "min"};

const char *const plan_op_word[PLAN_OP_COUNT] = {
#define PLAN_OP(id, name, doc) name,
#include "plan/plan_ops.def"
#undef PLAN_OP
};

const char *const plan_place_word[PLAN_PLACE_COUNT] = {
#define PLAN_PLACE(id, name, doc) name,
#include "plan/plan_places.def"
#undef PLAN_PLACE
};
