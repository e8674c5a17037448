/* A parsed module: giving it back, finding things in it, and writing it as text. */
#include <stdarg.h>
#include <stdio.h>

#include "parser.h"

const char *const ptx_special_texts[PTX_SR_ENVREG] = {
#define SPECIAL(id, text, bits) text,
#include "ptx_special.def"
#undef SPECIAL
};

static const uint8_t special_bits[PTX_SR_ENVREG] = {
#define SPECIAL(id, text, bits) bits,
#include "ptx_special.def"
#undef SPECIAL
};

unsigned ptx_special_bits(uint32_t special)
{
    return special < PTX_SR_ENVREG ? special_bits[special] : 32;
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

struct chunk {
    struct chunk *next;
    size_t used, space;
    _Alignas(16) unsigned char bytes[];
};

void *ptx_arena(struct ptx_parser *p, size_t bytes)
{
    struct chunk *chunk = p->module->arena;
    bytes = (bytes + 15) & ~(size_t)15;
    if (p->status)
        return NULL;
    if (!chunk || chunk->space - chunk->used < bytes) {
        size_t space = bytes > 4096 ? bytes : chunk ? 32768 : 8192;
        chunk = p->memory.alloc(p->memory.self, sizeof *chunk + space);
        if (!chunk) {
            ptx_no_memory(p);
            return NULL;
        }
        chunk->used = 0;
        chunk->space = space;
        chunk->next = p->module->arena;
        p->module->arena = chunk;
    }
    void *out = chunk->bytes + chunk->used;
    chunk->used += bytes;
    return memset(out, 0, bytes);
}

void ptx_free(struct ptx_module *module)
{
    if (!module)
        return;
    struct tw_memory memory = module->memory;
    for (uint32_t i = 0; i < module->function_count; i++) {
        memory.free(memory.self, module->functions[i].registers);
        memory.free(memory.self, module->functions[i].instructions);
        memory.free(memory.self, module->functions[i].operands);
        memory.free(memory.self, module->functions[i].labels);
    }
    for (struct chunk *chunk = module->arena, *next; chunk; chunk = next) {
        next = chunk->next;
        memory.free(memory.self, chunk);
    }
    void *arrays[] = {module->names,      module->functions, module->variables, module->relocations,
                      module->prototypes, module->files,     module->locations, module};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        memory.free(memory.self, arrays[i]);
}

/* ---- Finding ----------------------------------------------------------------------------------------------------- */

const struct ptx_function *ptx_find_function(const struct ptx_module *module, const char *name)
{
    for (uint32_t i = 0; i < module->function_count; i++) {
        const struct ptx_function *function = &module->functions[i];
        if (!strcmp(ptx_name(module, function->name), name))
            return function->alias_of == PTX_NONE ? function : &module->functions[function->alias_of];
    }
    return NULL;
}

const struct ptx_variable *ptx_find_variable(const struct ptx_module *module, const char *name)
{
    for (uint32_t i = module->variable_count; i > 0; i--) { /* a definition stands behind its .extern */
        const struct ptx_variable *variable = &module->variables[i - 1];
        if (variable->function == PTX_NONE && !strcmp(ptx_name(module, variable->name), name))
            return variable;
    }
    return NULL;
}

const char *ptx_location_path(const struct ptx_module *module, uint32_t location)
{
    return location == PTX_NONE ? "" : ptx_name(module, module->files[module->locations[location].file].path);
}

/* ---- Text -------------------------------------------------------------------------------------------------------- */

struct text {
    char *out;
    size_t bytes, used;
};

static void put(struct text *text, const char *format, ...) TW_PRINTF(2, 3);
static void put(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    size_t room = text->used < text->bytes ? text->bytes - text->used : 0;
    int n = vsnprintf(room ? text->out + text->used : NULL, room, format, arguments);
    va_end(arguments);
    text->used += n > 0 ? (size_t)n : 0;
}

static void put_register(struct text *text, const struct ptx_module *module, const struct ptx_function *function,
                         uint32_t reg)
{
    const struct ptx_register *r = &function->registers[reg];
    put(text, "%s", ptx_name(module, r->name));
    if (r->number != PTX_NONE)
        put(text, "%u", r->number);
    if (r->element)
        put(text, ".%c", "xyzw"[r->element - 1]);
}

const char *ptx_register_name(const struct ptx_module *module, const struct ptx_function *function, uint32_t reg,
                              char *out, size_t out_bytes)
{
    struct text text = {out, out_bytes, 0};
    put_register(&text, module, function, reg);
    return out;
}

const char *ptx_special_name(uint32_t special, char *out, size_t out_bytes)
{
    if (special < PTX_SR_ENVREG)
        snprintf(out, out_bytes, "%s", ptx_special_texts[special]);
    else if (special < PTX_SR_PM)
        snprintf(out, out_bytes, "%%envreg%u", special - PTX_SR_ENVREG);
    else
        snprintf(out, out_bytes, "%%pm%u", special - PTX_SR_PM);
    return out;
}

static const char *const space_texts[PTX_SPACE_COUNT] = {
    [PTX_SPACE_GLOBAL] = "global", [PTX_SPACE_SHARED] = "shared", [PTX_SPACE_SHARED_CLUSTER] = "shared::cluster",
    [PTX_SPACE_LOCAL] = "local",   [PTX_SPACE_CONST] = "const",   [PTX_SPACE_PARAM] = "param",
};

static void put_mnemonic(struct text *text, const struct ptx_instruction *i)
{
    const char *name = ptx_opcode_texts[i->opcode];
    put(text, "%.*s", (int)strcspn(name, "|"), name);
    const uint8_t words[] = {i->compare,   i->boolean, i->operation, i->second,    i->rounding,
                             i->semantics, i->scope,   i->cache,     i->layout[0], i->layout[1]};
    if (i->n)
        put(text, ".m%un%u", i->m, i->n);
    if (i->k)
        put(text, "k%u", i->k);
    for (size_t w = 0; w < sizeof words; w++)
        if (words[w])
            put(text, ".%s", ptx_modifier_texts[words[w]]);
    for (int s = 0; s < 2; s++)
        if (i->space[s])
            put(text, ".%s", space_texts[i->space[s]]);
    for (unsigned flag = 1; flag < PTX_FLAG_END; flag++)
        if (i->mods >> (flag - 1) & 1)
            put(text, ".%s", ptx_modifier_texts[flag]);
    if (i->vector)
        put(text, i->opcode == PTX_OP_TCGEN05_LD || i->opcode == PTX_OP_TCGEN05_ST ? ".x%u" : ".v%u", i->vector);
    for (unsigned t = 0; t < i->type_count; t++)
        put(text, ".%s", ptx_types[i->type[t]].text);
}

const char *ptx_mnemonic(const struct ptx_instruction *instruction, char *out, size_t out_bytes)
{
    struct text text = {out, out_bytes, 0};
    put_mnemonic(&text, instruction);
    return out;
}

static void put_offset(struct text *text, int64_t value)
{
    if (value)
        put(text, "%+lld", (long long)value);
}

static void put_operand(struct text *text, const struct ptx_module *module, const struct ptx_function *function,
                        const struct ptx_operand *o)
{
    char special[32];
    const struct ptx_operand *elements = function->operands + o->index;
    switch (o->kind) {
    case PTX_OPERAND_PREDICATE:
    case PTX_OPERAND_REGISTER:
        put(text, "%s", o->negated ? "!" : "");
        put_register(text, module, function, o->index);
        break;
    case PTX_OPERAND_IMMEDIATE:
        put(text, "0x%llx", (unsigned long long)o->value);
        break;
    case PTX_OPERAND_SPECIAL:
        put(text, "%s%s", o->negated ? "!" : "", ptx_special_name(o->index, special, sizeof special));
        break;
    case PTX_OPERAND_VECTOR:
        put(text, "{");
        for (unsigned e = 0; e < o->count; e++) {
            put(text, "%s", e ? ", " : "");
            put_operand(text, module, function, &elements[e]);
        }
        put(text, "}");
        break;
    case PTX_OPERAND_ADDRESS:
        put(text, "[");
        put_register(text, module, function, o->index);
        put_offset(text, o->value);
        put(text, "]");
        break;
    case PTX_OPERAND_ADDRESS_VARIABLE:
        put(text, "[%s", ptx_name(module, module->variables[o->index].name));
        put_offset(text, o->value);
        put(text, "]");
        break;
    case PTX_OPERAND_ADDRESS_IMMEDIATE:
        put(text, "[0x%llx]", (unsigned long long)o->value);
        break;
    case PTX_OPERAND_TENSOR:
        put(text, "[");
        put_operand(text, module, function, &elements[0]);
        put(text, ", {");
        for (unsigned e = 1; e < o->count; e++) {
            put(text, "%s", e > 1 ? ", " : "");
            put_operand(text, module, function, &elements[e]);
        }
        put(text, "}]");
        break;
    case PTX_OPERAND_VARIABLE:
        put(text, "%s", ptx_name(module, module->variables[o->index].name));
        put_offset(text, o->value);
        break;
    case PTX_OPERAND_FUNCTION:
        put(text, "%s", ptx_name(module, module->functions[o->index].name));
        break;
    case PTX_OPERAND_LABEL:
        put(text, "@%lld", (long long)o->value);
        break;
    case PTX_OPERAND_PROTOTYPE:
        put(text, "prototype %u", o->index);
        break;
    default:
        put(text, "_");
        break;
    }
}

const char *ptx_print(const struct ptx_module *module, const struct ptx_function *function,
                      const struct ptx_instruction *instruction, char *out, size_t out_bytes)
{
    struct text text = {out, out_bytes, 0};
    if (out_bytes)
        out[0] = 0;
    if (instruction->guard != PTX_NONE) {
        put(&text, "@%s", instruction->guard_negated ? "!" : "");
        put_register(&text, module, function, instruction->guard);
        put(&text, " ");
    }
    put_mnemonic(&text, instruction);
    for (unsigned i = 0; i < instruction->operand_count; i++) {
        put(&text, "%s", i ? ", " : " ");
        put_operand(&text, module, function, &function->operands[instruction->operands + i]);
    }
    put(&text, ";");
    return out;
}
