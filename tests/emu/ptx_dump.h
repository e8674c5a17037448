/* A parsed module as text for goldens, and a check of every index in it. Include after ptx.h. */
#ifndef TESTS_PTX_DUMP_H
#define TESTS_PTX_DUMP_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is wrong with an operand's or instruction's indices; NULL where nothing is. */
static inline const char *check_operand(const struct ptx_module *m, const struct ptx_function *f,
                                        const struct ptx_operand *o, int nested)
{
    switch (o->kind) {
    case PTX_OPERAND_NONE:
    case PTX_OPERAND_IMMEDIATE:
    case PTX_OPERAND_ADDRESS_IMMEDIATE:
        return NULL;
    case PTX_OPERAND_REGISTER:
    case PTX_OPERAND_ADDRESS:
        return o->index < f->register_count && f->registers[o->index].bits > 1 ? NULL : "register";
    case PTX_OPERAND_PREDICATE:
        return o->index < f->register_count && f->registers[o->index].bits == 1 ? NULL : "predicate";
    case PTX_OPERAND_SPECIAL:
        return o->index < PTX_SR_COUNT ? NULL : "special register";
    case PTX_OPERAND_VARIABLE:
    case PTX_OPERAND_ADDRESS_VARIABLE:
        return o->index < m->variable_count ? NULL : "variable";
    case PTX_OPERAND_FUNCTION:
        return o->index < m->function_count ? NULL : "function";
    case PTX_OPERAND_LABEL:
        return o->value >= 0 && o->value <= (int64_t)f->instruction_count ? NULL : "label";
    case PTX_OPERAND_PROTOTYPE:
        return o->index < m->prototype_count ? NULL : "prototype";
    case PTX_OPERAND_VECTOR:
    case PTX_OPERAND_TENSOR:
        if (nested || o->index > f->operand_count || o->count > f->operand_count - o->index)
            return "vector";
        for (unsigned i = 0; i < o->count; i++) {
            const char *wrong = check_operand(m, f, &f->operands[o->index + i], 1);
            if (wrong)
                return wrong;
        }
        return NULL;
    default:
        return "operand kind";
    }
}

static inline const char *check_module(const struct ptx_module *m)
{
    for (uint32_t i = 0; i < m->function_count; i++) {
        const struct ptx_function *f = &m->functions[i];
        if (f->name >= m->name_bytes || (f->alias_of != PTX_NONE && f->alias_of >= m->function_count))
            return "function";
        for (uint32_t p = 0; p < f->param_count + f->return_count; p++) {
            const struct ptx_parameter *one = p < f->param_count ? &f->params[p] : &f->returns[p - f->param_count];
            if ((one->variable != PTX_NONE && one->variable >= m->variable_count) ||
                (one->reg != PTX_NONE && one->reg >= f->register_count))
                return "parameter";
        }
        for (uint32_t r = 0; r < f->register_count; r++)
            if (f->registers[r].name >= m->name_bytes)
                return "register's name";
        for (uint32_t l = 0; l < f->label_count; l++)
            if (f->labels[l].name >= m->name_bytes || f->labels[l].instruction > f->instruction_count)
                return "label";
        for (uint32_t k = 0; k < f->instruction_count; k++) {
            const struct ptx_instruction *x = &f->instructions[k];
            if (x->opcode >= PTX_OP_COUNT || (x->location != PTX_NONE && x->location >= m->location_count))
                return "instruction";
            if (x->guard != PTX_NONE && (x->guard >= f->register_count || f->registers[x->guard].bits != 1))
                return "guard";
            if (x->operands > f->operand_count || x->operand_count > f->operand_count - x->operands)
                return "operands";
            for (unsigned o = 0; o < x->operand_count; o++) {
                const char *wrong = check_operand(m, f, &f->operands[x->operands + o], 0);
                if (wrong)
                    return wrong;
            }
        }
    }
    for (uint32_t i = 0; i < m->variable_count; i++) {
        const struct ptx_variable *v = &m->variables[i];
        if (v->name >= m->name_bytes || (v->function != PTX_NONE && v->function >= m->function_count) || !v->align ||
            (v->align & (v->align - 1)) || v->initial_bytes > v->bytes || v->type >= PTX_TYPE_COUNT)
            return "variable";
        if (v->space == PTX_SPACE_LOCAL && v->function != PTX_NONE &&
            v->offset + v->bytes > m->functions[v->function].local_bytes)
            return "local variable";
        for (uint32_t r = 0; r < v->relocation_count; r++) {
            const struct ptx_relocation *x = &m->relocations[v->relocations + r];
            if (v->relocations + r >= m->relocation_count || x->offset + (uint64_t)x->bytes > v->bytes ||
                x->index >= (x->function ? m->function_count : m->variable_count))
                return "relocation";
        }
    }
    for (uint32_t i = 0; i < m->location_count; i++) {
        const struct ptx_location *l = &m->locations[i];
        if (l->file >= m->file_count || (l->function != PTX_NONE && l->function >= m->name_bytes) ||
            (l->inlined_at != PTX_NONE && l->inlined_at >= i)) /* smaller: no circle */
            return "location";
    }
    return NULL;
}

static inline void dump_location(FILE *out, const struct ptx_module *m, uint32_t location)
{
    for (; location != PTX_NONE; location = m->locations[location].inlined_at) {
        const struct ptx_location *l = &m->locations[location];
        const char *path = ptx_location_path(m, location), *slash = strrchr(path, '/');
        fprintf(out, " %s:%u:%u", slash ? slash + 1 : path, l->line, l->column);
        if (l->function != PTX_NONE)
            fprintf(out, " in %s", ptx_name(m, l->function));
        if (l->inlined_at != PTX_NONE)
            fprintf(out, ", inlined at");
    }
}

/* instructions 0: heads and counts only. */
static inline void dump_module(FILE *out, const struct ptx_module *m, int instructions)
{
    char text[8192];
    fprintf(out, "ptx %u.%u %s\n", m->version_major, m->version_minor, m->target);
    for (uint32_t i = 0; i < m->variable_count; i++) {
        const struct ptx_variable *v = &m->variables[i];
        if (v->function != PTX_NONE && v->space == PTX_SPACE_PARAM)
            continue;
        fprintf(out, "variable %s space %u .%s align %u bytes %llu%s linkage %u", ptx_name(m, v->name), v->space,
                ptx_types[v->type].text, v->align, (unsigned long long)v->bytes, v->unsized ? " unsized" : "",
                v->linkage);
        if (v->initial_bytes)
            fprintf(out, " = ");
        for (uint64_t b = 0; b < v->initial_bytes && b < 64; b++)
            fprintf(out, "%02x", v->initial[b]);
        for (uint32_t r = 0; r < v->relocation_count; r++) {
            const struct ptx_relocation *x = &m->relocations[v->relocations + r];
            fprintf(out, " [%u,%u] %s%s%+lld>>%u", x->offset, x->bytes, x->generic ? "generic " : "",
                    ptx_name(m, x->function ? m->functions[x->index].name : m->variables[x->index].name),
                    (long long)x->addend, x->shift);
        }
        fprintf(out, "\n");
    }
    for (uint32_t i = 0; i < m->function_count; i++) {
        const struct ptx_function *f = &m->functions[i];
        fprintf(out, "%s %s linkage %u%s params %u (%llu bytes) returns %u area %llu local %llu registers %u",
                f->is_kernel ? "kernel" : "function", ptx_name(m, f->name), f->linkage, f->has_body ? "" : " no body",
                f->param_count, (unsigned long long)f->param_bytes, f->return_count,
                (unsigned long long)f->param_area_bytes, (unsigned long long)f->local_bytes, f->register_count);
        if (f->alias_of != PTX_NONE)
            fprintf(out, " alias of %s", ptx_name(m, m->functions[f->alias_of].name));
        if (f->maxntid[0] || f->reqntid[0] || f->minnctapersm || f->reqnctapercluster[0])
            fprintf(out, " maxntid %u,%u,%u reqntid %u,%u,%u minnctapersm %u cluster %u,%u,%u", f->maxntid[0],
                    f->maxntid[1], f->maxntid[2], f->reqntid[0], f->reqntid[1], f->reqntid[2], f->minnctapersm,
                    f->reqnctapercluster[0], f->reqnctapercluster[1], f->reqnctapercluster[2]);
        fprintf(out, " instructions %u labels %u\n", f->instruction_count, f->label_count);
        uint32_t location = PTX_NONE, label = 0;
        for (uint32_t k = 0; instructions && k <= f->instruction_count; k++) {
            for (; label < f->label_count && f->labels[label].instruction == k; label++)
                fprintf(out, "  %s:\n", ptx_name(m, f->labels[label].name));
            if (k == f->instruction_count)
                break;
            fprintf(out, "%5u %s", k, ptx_print(m, f, &f->instructions[k], text, sizeof text));
            if (f->instructions[k].location != location) {
                location = f->instructions[k].location;
                fprintf(out, "   //");
                dump_location(out, m, location);
            }
            fprintf(out, "\n");
        }
    }
}

#endif
