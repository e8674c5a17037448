/* Where an entry's shared variables lie. A GPU gives a kernel the shared memory of what it reaches, whatever else the
   module holds.

   Where hazards are looked for, GAP bytes that are nobody's stand between two arrays and before the dynamic ones, so
   that what runs over the end of one is found, and all alignments up to GAP are those of a GPU:

       static a | gap | static b | gap | dynamic                                        */
#include <string.h>

#include "emu/hazard/hazard.h"
#include "lowering.h"

enum {
    GAP = 1024,
    GAPS = 128 /* more arrays have none: shared memory of which hazards are known ends somewhere */
};

static uint32_t round_up(uint64_t value, uint64_t align)
{
    return (uint32_t)((value + align - 1) / align * align);
}

/* ---- What an entry reaches --------------------------------------------------------------------------------------- */

struct reach {
    const struct ptx_module *ptx;
    uint8_t *functions, *variables; /* by index: reached */
    uint32_t *list;                 /* functions that are still to be looked through */
    uint32_t count;
};

static void reach_function(struct reach *r, uint32_t index)
{
    const struct ptx_function *f = &r->ptx->functions[index];
    index = f->alias_of != PTX_NONE ? f->alias_of : index;
    if (r->functions[index])
        return;
    r->functions[index] = 1;
    r->list[r->count++] = index;
}

static void reach_operands(struct reach *r, const struct ptx_function *f)
{
    for (uint32_t i = 0; i < f->operand_count; i++) {
        const struct ptx_operand *o = &f->operands[i];
        if (o->kind == PTX_OPERAND_FUNCTION)
            reach_function(r, o->index);
        else if (o->kind == PTX_OPERAND_VARIABLE || o->kind == PTX_OPERAND_ADDRESS_VARIABLE)
            r->variables[o->index] = 1;
    }
}

/* What variables point at counts as reached: a function may be called, an array used, by its address. */
static void reach_all(struct reach *r, const char *entry)
{
    const struct ptx_function *f = ptx_find_function(r->ptx, entry);
    if (f)
        reach_function(r, (uint32_t)(f - r->ptx->functions));
    for (uint32_t i = 0; i < r->ptx->relocation_count; i++) {
        if (!r->ptx->relocations[i].function)
            r->variables[r->ptx->relocations[i].index] = 1;
        else if (!r->ptx->functions[r->ptx->relocations[i].index].is_kernel)
            reach_function(r, r->ptx->relocations[i].index);
    }
    while (r->count)
        reach_operands(r, &r->ptx->functions[r->list[--r->count]]);
}

/* ---- Places ------------------------------------------------------------------------------------------------------ */

/* Whether a variable does not fit a block's window behind the others. */
static int too_large(const struct emu_module *module, uint32_t variable, uint32_t top, struct tw_error *error)
{
    const struct ptx_variable *v = &module->ptx->variables[variable];
    if (v->bytes <= EMU_SHARED_STRIDE / 2 && top + v->align + v->bytes <= EMU_SHARED_STRIDE / 2)
        return 0;
    tw_fail(error, TW_ERROR_UNSUPPORTED, "shared variable %s of %llu bytes, with %u bytes before it, is too large",
            ptx_name(module->ptx, v->name), (unsigned long long)v->bytes, top);
    return 1;
}

/* Pads that a GPU does not have: from the end of an array to the next one, which lies at `at` on a GPU. */
static uint32_t gap(struct emu_module *module, uint32_t end, uint32_t at)
{
    if (!module->gaps || module->gap_count == GAPS)
        return 0;
    uint32_t from = end + GAP * module->gap_count, to = at + GAP * (module->gap_count + 1);
    module->gaps[module->gap_count++] = (struct emu_hazard_range){EMU_SHARED_START + from, to - from};
    return GAP;
}

static int place(struct emu_module *module, const uint8_t *reached, struct tw_error *error)
{
    const struct ptx_module *ptx = module->ptx;
    uint32_t top = 0, align = 16, end, pad = 0; /* top and end: as on a GPU */
    for (uint32_t i = 0; i < ptx->variable_count; i++) {
        const struct ptx_variable *v = &ptx->variables[i];
        module->shared_offset[i] = PTX_NONE;
        if (v->space != PTX_SPACE_SHARED || !reached[i])
            continue;
        if (v->unsized) {
            align = v->align > align ? v->align : align;
            continue;
        }
        if (too_large(module, i, top + pad, error))
            return TW_ERROR_UNSUPPORTED;
        end = top;
        top = round_up(top, v->align);
        pad += end ? gap(module, end, top) : 0;
        module->shared_offset[i] = top + pad;
        top += (uint32_t)v->bytes;
    }
    module->shared_bytes = top;
    module->shared_end = top + pad;
    module->static_pad = pad;
    end = top;
    top = round_up(top, align);
    pad += end ? gap(module, end, top) : 0;
    /* Where hazards are looked for, it is aligned to what the kernel asks for and no more: on a GPU it may be. Who asks
       for nothing (16 bytes are every array's) takes what a GPU gives. */
    if (align > 16 && module->gaps && (EMU_SHARED_START + top + pad) % (2 * align) == 0)
        pad += align;
    module->dynamic_offset = top + pad;
    module->dynamic_pad = pad;
    return TW_OK;
}

int emu_place_shared(struct emu_module *module, const char *entry, struct tw_error *error)
{
    struct tw_runtime *rt = module->device->device.rt;
    const struct ptx_module *ptx = module->ptx;
    struct reach r = {.ptx = ptx};
    int hazards = module->device->options.hazards != EMU_HAZARDS_OFF, status;
    r.functions = tw_alloc_zeroed(rt, ptx->function_count + 1u);
    r.variables = tw_alloc_zeroed(rt, ptx->variable_count + 1u);
    r.list = tw_alloc(rt, (ptx->function_count + 1u) * sizeof *r.list);
    if (hazards)
        module->gaps = tw_alloc_zeroed(rt, GAPS * sizeof *module->gaps);
    if (!r.functions || !r.variables || !r.list || (hazards && !module->gaps)) {
        status = tw_fail(error, TW_ERROR_MEMORY, "no memory");
    } else {
        reach_all(&r, entry);
        status = place(module, r.variables, error);
    }
    tw_free(rt, r.functions);
    tw_free(rt, r.variables);
    tw_free(rt, r.list);
    return status;
}
