/* Symbols and scopes; declarations of registers, variables and parameters. */
#include "parser.h"

int ptx_grow(struct ptx_parser *p, void *array, uint32_t count, uint32_t *space, size_t element)
{
    if (count < *space)
        return 1;
    if (p->status)
        return 0;
    uint32_t wanted = *space < 16 ? 32 : *space + *space / 2 + 1;
    void *old, *now = NULL;
    memcpy(&old, array, sizeof old);
    if (wanted > *space && wanted <= UINT32_MAX / 2)
        now = p->memory.realloc(p->memory.self, old, wanted * element);
    if (!now) {
        ptx_no_memory(p);
        return 0;
    }
    memcpy(array, &now, sizeof now);
    *space = wanted;
    return 1;
}

uint32_t ptx_intern(struct ptx_parser *p, const char *text, size_t length)
{
    struct ptx_module *module = p->module;
    if (p->status)
        return 0;
    if (length + 1 > UINT32_MAX / 4 - module->name_bytes) {
        ptx_error(p, "too many names");
        return 0;
    }
    while (p->name_space < module->name_bytes + length + 1) {
        uint32_t needed = module->name_bytes + (uint32_t)length + 1;
        uint32_t wanted = p->name_space * 2 > needed ? p->name_space * 2 : needed + 256;
        char *now = p->memory.realloc(p->memory.self, module->names, wanted);
        if (!now) {
            ptx_no_memory(p);
            return 0;
        }
        module->names = now;
        p->name_space = wanted;
    }
    uint32_t at = module->name_bytes;
    memcpy(module->names + at, text, length);
    module->names[at + length] = 0;
    module->name_bytes += (uint32_t)length + 1;
    return at;
}

/* ---- Symbols ----------------------------------------------------------------------------------------------------- */

struct ptx_symbol *ptx_lookup(struct ptx_parser *p, const char *text, uint32_t length, uint32_t hash)
{
    for (uint32_t at = p->buckets[hash % PTX_SYMBOL_BUCKETS]; at != PTX_NONE; at = p->symbols[at].next) {
        struct ptx_symbol *symbol = &p->symbols[at];
        if (symbol->hash == hash && symbol->length == length && !memcmp(symbol->text, text, length))
            return symbol;
    }
    return NULL;
}

/* A second declaration of a name in one scope is an error; `_` declares nothing. Returns the symbol's number. */
uint32_t ptx_declare(struct ptx_parser *p, const struct ptx_token *name, unsigned kind, uint32_t index, uint32_t count)
{
    if (p->status || (name->length == 1 && name->text[0] == '_'))
        return PTX_NONE;
    for (uint32_t at = p->buckets[name->hash % PTX_SYMBOL_BUCKETS]; at != PTX_NONE && p->symbols[at].depth == p->depth;
         at = p->symbols[at].next) {
        struct ptx_symbol *old = &p->symbols[at];
        if (old->hash == name->hash && old->length == name->length && !memcmp(old->text, name->text, name->length)) {
            ptx_error(p, "%.*s is declared twice", name->length < 200 ? (int)name->length : 200, name->text);
            return PTX_NONE;
        }
    }
    if (!ptx_grow(p, &p->symbols, p->symbol_count, &p->symbol_space, sizeof *p->symbols))
        return PTX_NONE;
    uint32_t *bucket = &p->buckets[name->hash % PTX_SYMBOL_BUCKETS];
    p->symbols[p->symbol_count] = (struct ptx_symbol){.text = name->text,
                                                      .length = name->length,
                                                      .hash = name->hash,
                                                      .kind = (uint8_t)kind,
                                                      .elements = 1,
                                                      .depth = (uint16_t)p->depth,
                                                      .index = index,
                                                      .count = count,
                                                      .next = *bucket};
    *bucket = p->symbol_count;
    return p->symbol_count++;
}

void ptx_open_scope(struct ptx_parser *p)
{
    if (p->depth + 1 >= PTX_SCOPES) {
        ptx_error(p, "more than %d nested scopes", PTX_SCOPES);
        return;
    }
    p->scopes[++p->depth] = (struct ptx_scope){p->symbol_count, p->fixup_count, p->param_top};
}

/* Give the labels of this scope to the branches in it; the rest waits for the scope around. */
static void resolve(struct ptx_parser *p)
{
    uint32_t kept = p->scopes[p->depth].fixups;
    for (uint32_t i = kept; i < p->fixup_count; i++) {
        struct ptx_fixup *fixup = &p->fixups[i];
        struct ptx_symbol *symbol = ptx_lookup(p, fixup->text, fixup->length, fixup->hash);
        if (symbol && symbol->kind == SYMBOL_LABEL && symbol->depth == p->depth) {
            p->function->operands[fixup->operand].value = symbol->index;
        } else if (p->depth == 1) {
            p->line = fixup->line;
            ptx_error(p, "label %.*s is not defined here", fixup->length < 200 ? (int)fixup->length : 200, fixup->text);
            return;
        } else {
            p->fixups[kept++] = *fixup;
        }
    }
    p->fixup_count = kept;
}

void ptx_close_scope(struct ptx_parser *p)
{
    if (p->status || !p->depth)
        return;
    if (p->function)
        resolve(p);
    struct ptx_scope *scope = &p->scopes[p->depth];
    while (p->symbol_count > scope->symbols) {
        struct ptx_symbol *symbol = &p->symbols[--p->symbol_count];
        p->buckets[symbol->hash % PTX_SYMBOL_BUCKETS] = symbol->next;
    }
    p->param_top = scope->param_top;
    p->depth--;
}

/* ---- Words of declarations --------------------------------------------------------------------------------------- */

unsigned ptx_type_word(const struct ptx_token *token)
{
    for (unsigned type = 1; token->kind == TOKEN_DIRECTIVE && type < PTX_TYPE_COUNT; type++)
        if (ptx_same(token, ptx_types[type].text))
            return type;
    return PTX_TYPE_NONE;
}

unsigned ptx_space_word(const struct ptx_token *token)
{
    static const struct {
        const char *text;
        unsigned space;
    } words[] = {
        {"global", PTX_SPACE_GLOBAL}, {"shared", PTX_SPACE_SHARED}, {"local", PTX_SPACE_LOCAL},
        {"const", PTX_SPACE_CONST},   {"param", PTX_SPACE_PARAM},
    };
    for (size_t i = 0; token->kind == TOKEN_DIRECTIVE && i < sizeof words / sizeof words[0]; i++)
        if (ptx_same(token, words[i].text))
            return words[i].space;
    return PTX_SPACE_NONE;
}

static uint32_t parse_align(struct ptx_parser *p)
{
    ptx_next(p);
    uint64_t align = ptx_integer(p, ".align", 1u << 20);
    if (!p->status && (!align || (align & (align - 1))))
        ptx_error(p, ".align must be a power of 2");
    return p->status ? 1 : (uint32_t)align;
}

static unsigned parse_type(struct ptx_parser *p)
{
    char text[48];
    unsigned type = ptx_type_word(&p->token);
    if (!type || ptx_types[type].bits < 8)
        type = type == PTX_PRED ? type : 0;
    if (!type)
        ptx_error(p, "expected a type, found %s", ptx_token_text(p, text));
    else if (ptx_types[type].kind == PTX_KIND_OPAQUE)
        ptx_refuse(p, ".%s: references to textures, surfaces and samplers are not supported: use objects",
                   ptx_types[type].text);
    else
        ptx_next(p);
    return type;
}

static struct ptx_token parse_name(struct ptx_parser *p)
{
    char text[48];
    struct ptx_token name = p->token;
    if (name.kind != TOKEN_NAME)
        ptx_error(p, "expected a name, found %s", ptx_token_text(p, text));
    ptx_next(p);
    return name;
}

/* ---- Registers --------------------------------------------------------------------------------------------------- */

static unsigned register_bits(unsigned type)
{
    unsigned bits = ptx_types[type].bits;
    return bits == 8 ? 16 : bits;
}

/* Registers that a text may declare: some for nothing, and what so long a text can use. A short text must not ask for
   much memory: what follows a function's registers through its blocks grows with both. */
static uint32_t most_registers(const struct ptx_parser *p)
{
    uint64_t most = (1u << 14) + (uint64_t)(p->end - p->text) / 8;
    return most < PTX_ALL_REGISTERS ? (uint32_t)most : PTX_ALL_REGISTERS;
}

/* count registers of one name (times elements); the first one's number, PTX_NONE after a failure. */
static uint32_t add_registers(struct ptx_parser *p, const struct ptx_token *name, uint32_t count, unsigned elements,
                              unsigned type, int numbered)
{
    struct ptx_function *function = p->function;
    uint32_t all = count * elements, first = function->register_count; /* both limited below */
    if (count > PTX_REGISTERS || all > PTX_REGISTERS - first || all > PTX_ALL_REGISTERS - p->all_registers) {
        ptx_error(p, "more than %u registers", PTX_REGISTERS);
        return PTX_NONE;
    }
    if (all > most_registers(p) - p->all_registers) {
        ptx_error(p,
                  "more than %u registers, which are more than a text of %zu bytes can use: declare those that it has",
                  most_registers(p), (size_t)(p->end - p->text));
        return PTX_NONE;
    }
    uint32_t text = ptx_intern(p, name->text, name->length);
    while (!p->status && p->register_space < first + all)
        ptx_grow(p, &function->registers, p->register_space, &p->register_space, sizeof *function->registers);
    if (p->status)
        return PTX_NONE;
    for (uint32_t i = 0; i < all; i++)
        function->registers[first + i] =
            (struct ptx_register){.name = text,
                                  .number = numbered ? i / elements : PTX_NONE,
                                  .bits = (uint8_t)register_bits(type),
                                  .type = (uint8_t)type,
                                  .element = (uint8_t)(elements > 1 ? i % elements + 1 : 0)};
    function->register_count += all;
    p->all_registers += all;
    return first;
}

/* .reg .v2 .b32 a, %r<10>; */
void ptx_parse_registers(struct ptx_parser *p)
{
    ptx_next(p);
    unsigned elements = 1;
    if (ptx_is_directive(p, "v2") || ptx_is_directive(p, "v4")) {
        elements = (unsigned)(p->token.text[1] - '0');
        ptx_next(p);
    }
    unsigned type = parse_type(p);
    do {
        struct ptx_token name = parse_name(p);
        uint32_t count = 0;
        int numbered = ptx_take(p, '<');
        if (numbered) {
            if (p->token.kind != TOKEN_INTEGER || p->token.value > PTX_REGISTERS) /* no expression: `>` ends it */
                ptx_error(p, "the count of registers must be an integer from 0 to %u", PTX_REGISTERS);
            count = (uint32_t)p->token.value;
            ptx_next(p);
            ptx_expect(p, '>');
        }
        if (p->status)
            return;
        uint32_t first = add_registers(p, &name, numbered ? count : 1, elements, type, numbered);
        uint32_t symbol = ptx_declare(p, &name, numbered ? SYMBOL_RANGE : SYMBOL_REGISTER, first, numbered ? count : 1);
        if (symbol != PTX_NONE)
            p->symbols[symbol].elements = (uint8_t)elements;
    } while (ptx_take(p, ','));
    ptx_expect(p, ';');
}

/* ---- Variables --------------------------------------------------------------------------------------------------- */

static uint32_t add_variable(struct ptx_parser *p, const struct ptx_token *name, unsigned space, unsigned type)
{
    struct ptx_module *module = p->module;
    if (!ptx_grow(p, &module->variables, module->variable_count, &p->variable_space, sizeof *module->variables))
        return PTX_NONE;
    module->variables[module->variable_count] =
        (struct ptx_variable){.name = ptx_intern(p, name->text, name->length),
                              .function = p->depth ? p->function_index : PTX_NONE,
                              .space = (uint8_t)space,
                              .type = (uint8_t)type};
    return p->status ? PTX_NONE : module->variable_count++;
}

/* Give a variable of a function its place: align *top, and move it behind. */
static uint64_t place(struct ptx_parser *p, uint64_t *top, uint64_t bytes, uint32_t align)
{
    uint64_t at = (*top + align - 1) & ~(uint64_t)(align - 1);
    if (bytes > PTX_FRAME_BYTES || at + bytes > PTX_FRAME_BYTES) {
        ptx_error(p, "more than 2 GiB of local or parameter memory");
        return 0;
    }
    *top = at + bytes;
    return at;
}

/* [3][4]... into dims; *unsized: the first is empty. Bytes of the whole. */
static uint64_t parse_dims(struct ptx_parser *p, unsigned type, unsigned elements, uint64_t dims[8], uint32_t *count,
                           int *unsized)
{
    uint64_t bytes = ptx_types[type].bits / 8 * elements;
    *count = 0;
    *unsized = 0;
    while (ptx_take(p, '[')) {
        if (*count == 8) {
            ptx_error(p, "an array of more than 8 dimensions");
            return 0;
        }
        uint64_t dim = 0;
        if (!*count && ptx_is(p, ']'))
            *unsized = 1;
        else
            dim = ptx_integer(p, "the size of an array", PTX_VARIABLE_BYTES);
        ptx_expect(p, ']');
        dims[(*count)++] = dim;
        if (dim && bytes > PTX_VARIABLE_BYTES / dim) {
            ptx_error(p, "an array of more than %llu bytes", (unsigned long long)PTX_VARIABLE_BYTES);
            return 0;
        }
        if (*count > 1 || !*unsized)
            bytes *= dim;
    }
    return *unsized ? 0 : bytes;
}

/* .shared .align 4 .b8 x[64], y = ...; the token is the space. */
void ptx_parse_variable(struct ptx_parser *p, unsigned space, unsigned linkage)
{
    uint32_t align = 0;
    unsigned type = 0, elements = 1;
    uint32_t line = p->line;
    ptx_next(p);
    if (p->token.kind == TOKEN_PUNCTUATION && p->token.punctuation == '[') /* .const[2]: banks of old PTX */
        ptx_refuse(p, "constant banks are not supported");
    while (p->token.kind == TOKEN_DIRECTIVE && !type) {
        if (ptx_is_directive(p, "align")) {
            align = parse_align(p);
        } else if (ptx_is_directive(p, "v2") || ptx_is_directive(p, "v4")) {
            elements = (unsigned)(p->token.text[1] - '0');
            ptx_next(p);
        } else if (ptx_is_directive(p, "attribute")) {
            ptx_next(p);
            ptx_refuse(p, ".attribute (managed and unified memory) is not supported");
        } else {
            type = parse_type(p);
        }
    }
    if (!p->status && (!type || type == PTX_PRED))
        ptx_error(p, "a variable needs a type of 8 bits or more");
    if (!p->status && space == PTX_SPACE_PARAM && !p->depth)
        ptx_error(p, "a .param variable outside of a function");
    if (p->status)
        return;
    if (!align)
        align = ptx_types[type].bits / 8u * elements;
    do {
        uint64_t dims[8];
        uint32_t count;
        int unsized;
        struct ptx_token name = parse_name(p);
        uint64_t bytes = parse_dims(p, type, elements, dims, &count, &unsized);
        uint32_t index = add_variable(p, &name, space, type);
        if (p->status)
            return;
        struct ptx_variable *variable = &p->module->variables[index];
        variable->linkage = (uint8_t)linkage;
        variable->align = align;
        variable->bytes = bytes;
        variable->unsized = (uint8_t)unsized;
        if (ptx_is(p, '=')) {
            if (space != PTX_SPACE_GLOBAL && space != PTX_SPACE_CONST) {
                ptx_error(p, "only .global and .const variables have initialisers");
                return;
            }
            ptx_declare(p, &name, SYMBOL_VARIABLE, index, 0);
            if (elements > 1 && count < 8)
                dims[count++] = elements;
            ptx_next(p);
            ptx_parse_initialiser(p, index, dims, count);
        } else {
            if (unsized && linkage != PTX_LINK_EXTERN)
                ptx_error(p, "an array without a size needs .extern or an initialiser");
            /* A tentative declaration and its definition are one variable: the later one counts. */
            struct ptx_symbol *old = ptx_lookup(p, name.text, name.length, name.hash);
            if (!p->depth && old && old->kind == SYMBOL_VARIABLE &&
                p->module->variables[old->index].linkage == PTX_LINK_EXTERN)
                old->index = index;
            else
                ptx_declare(p, &name, SYMBOL_VARIABLE, index, 0);
        }
        if (p->status)
            return;
        variable = &p->module->variables[index];
        if (space == PTX_SPACE_LOCAL && p->depth) {
            variable->offset = place(p, &p->function->local_bytes, bytes, align);
            if (p->function->local_align < align)
                p->function->local_align = align;
        } else if (space == PTX_SPACE_PARAM) {
            variable->offset = place(p, &p->param_top, bytes, align);
            if (p->function->param_area_bytes < p->param_top)
                p->function->param_area_bytes = p->param_top;
        }
    } while (ptx_take(p, ','));
    if (!p->status && !ptx_is(p, ';'))
        p->line = line;
    ptx_expect(p, ';');
}

/* ---- Parameters -------------------------------------------------------------------------------------------------- */

void ptx_parse_parameter(struct ptx_parser *p, struct ptx_parameter *out, int declare)
{
    char text[48];
    *out = (struct ptx_parameter){PTX_NONE, PTX_NONE, 0, 0};
    int in_register = ptx_is_directive(p, "reg");
    if (!in_register && !ptx_is_directive(p, "param")) {
        ptx_error(p, "expected .param or .reg, found %s", ptx_token_text(p, text));
        return;
    }
    ptx_next(p);
    uint32_t align = 0;
    if (ptx_is_directive(p, "align"))
        align = parse_align(p);
    unsigned type = parse_type(p);
    if (ptx_is_directive(p, "ptr")) { /* what a pointer parameter points to: no effect */
        ptx_next(p);
        if (ptx_space_word(&p->token))
            ptx_next(p);
        if (ptx_is_directive(p, "align"))
            parse_align(p);
    }
    struct ptx_token name = parse_name(p);
    uint64_t dims[8];
    uint32_t count;
    int unsized;
    uint64_t bytes = parse_dims(p, type ? type : PTX_B32, 1, dims, &count, &unsized);
    if (!p->status && unsized)
        ptx_refuse(p, "a parameter of unknown size (variadic function) is not supported");
    if (!p->status && !in_register && type == PTX_PRED)
        ptx_error(p, "a predicate as .param");
    if (p->status)
        return;
    if (!align)
        align = type == PTX_PRED ? 1 : ptx_types[type].bits / 8u;
    out->bytes = type == PTX_PRED ? 1 : bytes;
    out->align = align;
    if (in_register) {
        if (count) {
            ptx_error(p, "an array as a register parameter");
            return;
        }
        if (declare) {
            out->reg = add_registers(p, &name, 1, 1, type, 0);
            ptx_declare(p, &name, SYMBOL_REGISTER, out->reg, 1);
        }
        return;
    }
    if (!declare)
        return;
    out->variable = add_variable(p, &name, PTX_SPACE_PARAM, type);
    if (p->status)
        return;
    struct ptx_variable *variable = &p->module->variables[out->variable];
    variable->align = align;
    variable->bytes = bytes;
    variable->offset = place(p, &p->param_top, bytes, align);
    ptx_declare(p, &name, SYMBOL_VARIABLE, out->variable, 0);
}

struct ptx_parameter *ptx_parse_parameters(struct ptx_parser *p, uint32_t *count, int declare)
{
    struct ptx_parameter *list = NULL, *out = NULL;
    uint32_t space = 0;
    *count = 0;
    ptx_expect(p, '(');
    if (!ptx_take(p, ')')) {
        do {
            if (!ptx_grow(p, &list, *count, &space, sizeof *list))
                break;
            ptx_parse_parameter(p, &list[*count], declare);
            ++*count;
        } while (ptx_take(p, ','));
        ptx_expect(p, ')');
    }
    if (*count > PTX_OPERANDS / 2)
        ptx_error(p, "more than %d parameters", PTX_OPERANDS / 2);
    if (!p->status && *count && (out = ptx_arena(p, *count * sizeof *out)))
        memcpy(out, list, *count * sizeof *out);
    p->memory.free(p->memory.self, list);
    if (p->status)
        *count = 0;
    return out;
}
