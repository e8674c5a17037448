/* Initialisers of .global and .const variables. */
#include "parser.h"

/* An initialiser as it is read: bytes grow, the type's size is one element. */
struct initial {
    uint32_t variable;
    unsigned type, size;
    const uint64_t *dims;
    uint32_t dim_count;
    uint64_t at;   /* bytes; the next element */
    uint64_t most; /* bytes */
    uint8_t *bytes;
    uint64_t space;
    uint64_t used; /* behind the last byte given */
};

static int reserve(struct ptx_parser *p, struct initial *initial, uint64_t upto)
{
    if (upto > initial->most) {
        ptx_error(p, "an initialiser longer than its variable");
        return 0;
    }
    if (upto > (1u << 20) + 64 * (uint64_t)(p->end - p->text)) { /* few braces must not ask for much memory */
        ptx_error(p, "an initialiser that leaves out too much");
        return 0;
    }
    if (upto > initial->space) {
        uint64_t wanted = upto < 32 ? 64 : upto * 2;
        uint8_t *now = p->memory.realloc(p->memory.self, initial->bytes, (size_t)wanted);
        if (!now) {
            ptx_no_memory(p);
            return 0;
        }
        memset(now + initial->space, 0, (size_t)(wanted - initial->space));
        initial->bytes = now;
        initial->space = wanted;
    }
    return 1;
}

static void put(struct ptx_parser *p, struct initial *initial, uint64_t value)
{
    if (!reserve(p, initial, initial->at + initial->size))
        return;
    for (unsigned i = 0; i < initial->size; i++)
        initial->bytes[initial->at + i] = (uint8_t)(i < 8 ? value >> 8 * i : 0);
    initial->at += initial->size;
    if (initial->used < initial->at)
        initial->used = initial->at;
}

/* symbol, symbol + 4, generic(symbol) + 4, 0xFF00(symbol) */
static void symbol_value(struct ptx_parser *p, struct initial *initial, uint64_t mask)
{
    int generic = ptx_same(&p->token, "generic"), inner = generic || mask;
    if (generic)
        ptx_next(p);
    if (inner)
        ptx_expect(p, '(');
    if (!generic && mask && p->token.kind == TOKEN_NAME && ptx_same(&p->token, "generic")) { /* 0xFF(generic(x)) */
        generic = 2;
        ptx_next(p);
        ptx_expect(p, '(');
    }
    struct ptx_symbol *symbol =
        p->token.kind == TOKEN_NAME ? ptx_lookup(p, p->token.text, p->token.length, p->token.hash) : NULL;
    char text[48];
    if (!symbol || (symbol->kind != SYMBOL_VARIABLE && symbol->kind != SYMBOL_FUNCTION)) {
        ptx_error(p, "%s in an initialiser is neither a variable nor a function", ptx_token_text(p, text));
        return;
    }
    struct ptx_relocation relocation = {.index = symbol->index,
                                        .function = symbol->kind == SYMBOL_FUNCTION,
                                        .generic = generic != 0,
                                        .bytes = (uint8_t)initial->size};
    ptx_next(p);
    if (generic == 2)
        ptx_expect(p, ')');
    if (ptx_is(p, '+') || ptx_is(p, '-'))
        relocation.addend = (int64_t)ptx_integer(p, "an offset", UINT64_MAX);
    if (inner)
        ptx_expect(p, ')');
    if (ptx_is(p, '+') || ptx_is(p, '-'))
        relocation.addend = (int64_t)((uint64_t)relocation.addend + ptx_integer(p, "an offset", UINT64_MAX));
    if (mask) {
        while (!(mask & 255) && relocation.shift < 56) {
            mask >>= 8;
            relocation.shift = (uint8_t)(relocation.shift + 8);
        }
        if (mask != 255 || initial->size != 1)
            ptx_error(p, "the mask of a symbol must be one whole byte, of an element of one byte");
    } else if (initial->size != 4 && initial->size != 8) {
        ptx_error(p, "an address in an element of %u bytes", initial->size);
    }
    if (p->status)
        return;
    struct ptx_module *module = p->module;
    if (!ptx_grow(p, &module->relocations, module->relocation_count, &p->relocation_space, sizeof *module->relocations))
        return;
    if (initial->at > UINT32_MAX) {
        ptx_error(p, "an address behind 4 GiB of a variable");
        return;
    }
    relocation.offset = (uint32_t)initial->at;
    module->relocations[module->relocation_count++] = relocation;
    module->variables[initial->variable].relocation_count++;
    put(p, initial, 0);
}

static void element(struct ptx_parser *p, struct initial *initial)
{
    if (p->token.kind == TOKEN_NAME && !ptx_same(&p->token, "WARP_SZ")) {
        symbol_value(p, initial, 0);
        return;
    }
    struct ptx_constant constant = ptx_expression(p);
    if (!constant.is_float && ptx_is(p, '(')) {
        symbol_value(p, initial, constant.value);
        return;
    }
    const struct ptx_type_info *info = &ptx_types[initial->type];
    if (p->status)
        return;
    if (constant.is_float)
        put(p, initial, ptx_float_bits(p, constant, initial->type));
    else if (info->kind == PTX_KIND_FLOAT && initial->size >= 4 && constant.value == 0)
        put(p, initial, 0);
    else if (info->kind == PTX_KIND_FLOAT && initial->size >= 4)
        ptx_error(p, "an integer where .%s is expected", info->text);
    else
        put(p, initial, constant.value);
}

/* { ... } of one dimension: what is left out is zero. */
static void list(struct ptx_parser *p, struct initial *initial, uint32_t dim)
{
    uint64_t row = initial->size, start = initial->at;
    for (uint32_t i = dim + 1; i < initial->dim_count; i++)
        row *= initial->dims[i]; /* at most the variable's bytes */
    uint64_t most = dim || initial->dims[0] ? row * initial->dims[dim] : initial->most;
    if (!ptx_take(p, '}')) {
        do {
            if (ptx_is(p, '{')) {
                if (dim + 1 >= initial->dim_count) {
                    ptx_error(p, "more braces than the array has dimensions");
                    return;
                }
                uint64_t at = initial->at;
                ptx_next(p);
                list(p, initial, dim + 1);
                initial->at = at + row;
            } else {
                element(p, initial);
            }
            if (!p->status && initial->at - start > most)
                ptx_error(p, "an initialiser longer than its variable");
        } while (ptx_take(p, ','));
        ptx_expect(p, '}');
    }
}

void ptx_parse_initialiser(struct ptx_parser *p, uint32_t variable, const uint64_t *dims, uint32_t dim_count)
{
    struct ptx_variable *v = &p->module->variables[variable];
    struct initial initial = {.variable = variable,
                              .type = v->type,
                              .size = ptx_types[v->type].bits / 8u,
                              .dims = dims,
                              .dim_count = dim_count,
                              .most = v->unsized ? PTX_VARIABLE_BYTES : v->bytes};
    v->relocations = p->module->relocation_count;
    if (dim_count) {
        ptx_expect(p, '{');
        list(p, &initial, 0);
    } else {
        element(p, &initial);
    }
    v = &p->module->variables[variable];
    if (!p->status && v->unsized) {
        v->bytes = initial.at;
        v->unsized = 0;
    }
    uint8_t *kept = NULL;
    if (!p->status && initial.used && (kept = ptx_arena(p, (size_t)initial.used))) {
        memcpy(kept, initial.bytes, (size_t)initial.used);
        v->initial = kept;
        v->initial_bytes = initial.used;
    }
    p->memory.free(p->memory.self, initial.bytes);
}
