/* The helper fused_text(output, lane): the fused function of one output tensor as CUDA statements, for templates.
 *
 * In the statements the accumulator of lane 0 is v0, of lane 1 v1; both are assigned at the end. Lane l stands for
 * column n + l of row m. A tensor that is read along its own axes is NAME0 or NAME1, which the template has loaded;
 * any other element is NAME_at(args, index, ...). Scalars are args.NAME, dims (long long)args.NAME.
 */
#ifndef TW_GEN_EMIT_FUSED_H
#define TW_GEN_EMIT_FUSED_H

#include "emit/emit.h"

/* Its emit_helper.context is the struct plan. */
int emit_fused_text(lua_State *L);

#endif
