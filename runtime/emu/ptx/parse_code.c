/* Bodies of functions: scopes, labels, and the operands of instructions as they are written. */
#include "parser.h"

/* ---- Operands ---------------------------------------------------------------------------------------------------- */

static struct ptx_raw *new_element(struct ptx_parser *p)
{
    if (p->element_count >= PTX_OPERANDS) {
        ptx_error(p, "more than %d operands", PTX_OPERANDS);
        return NULL;
    }
    if (!ptx_grow(p, &p->elements, p->element_count, &p->element_space, sizeof *p->elements))
        return NULL;
    struct ptx_raw *raw = &p->elements[p->element_count++];
    *raw = (struct ptx_raw){0};
    return raw;
}

/* `%r41` of `%r<45>`: the register's number, or PTX_NONE; *depth of the declaration. */
static struct ptx_symbol *find_range(struct ptx_parser *p, const struct ptx_token *name, uint32_t *number)
{
    uint32_t digits = name->length;
    while (digits && name->text[digits - 1] >= '0' && name->text[digits - 1] <= '9')
        digits--;
    uint32_t count = name->length - digits;
    if (!count || count > 7 || !digits || (name->text[digits] == '0' && count > 1))
        return NULL;
    uint32_t value = 0;
    for (uint32_t i = digits; i < name->length; i++)
        value = value * 10 + (uint32_t)(name->text[i] - '0');
    struct ptx_symbol *symbol = ptx_lookup(p, name->text, digits, ptx_hash(name->text, digits));
    if (!symbol || symbol->kind != SYMBOL_RANGE || value >= symbol->count)
        return NULL;
    *number = symbol->index + value * symbol->elements;
    return symbol;
}

static void set_register(struct ptx_parser *p, struct ptx_raw *raw, uint32_t number)
{
    uint8_t bits = p->function->registers[number].bits;
    raw->operand =
        (struct ptx_operand){.kind = bits == 1 ? PTX_OPERAND_PREDICATE : PTX_OPERAND_REGISTER, .index = number};
    raw->bits = bits;
}

/* `.x` behind a name: 0 to 3, or -1. */
static int component(struct ptx_parser *p)
{
    const char *c = p->cursor;
    if (p->end - c < 2 || c[0] != '.' || (p->end - c > 2 && ptx_name_char(c[2])))
        return -1;
    switch (c[1]) {
    case 'x':
    case 'r':
        return 0;
    case 'y':
    case 'g':
        return 1;
    case 'z':
    case 'b':
        return 2;
    case 'w':
    case 'a':
        return 3;
    default:
        return -1;
    }
}

/* %tid.x, %laneid, %envreg3; the token is the name. 1 if it is one. */
static int read_special(struct ptx_parser *p, struct ptx_raw *raw, int which)
{
    char text[48];
    const struct ptx_token *token = &p->token;
    if (token->text[0] != '%' || token->length > 40)
        return 0;
    memcpy(text, token->text, token->length);
    text[token->length] = 0;
    if (which >= 0) {
        text[token->length] = '.';
        text[token->length + 1] = "xyzw"[which];
        text[token->length + 2] = 0;
    }
    uint32_t special = PTX_SR_COUNT;
    for (uint32_t i = 0; i < PTX_SR_ENVREG; i++)
        if (!strcmp(text, ptx_special_texts[i]))
            special = i;
    static const struct {
        const char *prefix;
        uint32_t first, count;
    } families[] = {{"%envreg", PTX_SR_ENVREG, 32}, {"%pm", PTX_SR_PM, 8}};
    for (unsigned f = 0; f < 2; f++) {
        size_t n = strlen(families[f].prefix);
        if (strncmp(text, families[f].prefix, n) || text[n] < '0' || text[n] > '9')
            continue;
        uint32_t number = (uint32_t)(text[n] - '0');
        if (text[n + 1] >= '0' && text[n + 1] <= '9' && !text[n + 2])
            number = number * 10 + (uint32_t)(text[n + 1] - '0');
        else if (text[n + 1])
            continue;
        if (number < families[f].count)
            special = families[f].first + number;
    }
    if (special == PTX_SR_COUNT)
        return 0;
    raw->operand = (struct ptx_operand){.kind = PTX_OPERAND_SPECIAL, .index = special};
    raw->bits = (uint8_t)ptx_special_bits(special);
    if (which >= 0)
        p->cursor += 2;
    ptx_next(p);
    return 1;
}

/* A name: register, special register, variable, function, or perhaps a label. The token is the name. */
static void read_name(struct ptx_parser *p, struct ptx_raw *raw)
{
    struct ptx_token name = p->token;
    if (name.length == 1 && name.text[0] == '_') {
        ptx_next(p);
        return; /* PTX_OPERAND_NONE */
    }
    uint32_t number = PTX_NONE;
    struct ptx_symbol *range = find_range(p, &name, &number);
    struct ptx_symbol *symbol = ptx_lookup(p, name.text, name.length, name.hash);
    int which =
        name.text[0] == '%' || (symbol && symbol->elements > 1) || (range && range->elements > 1) ? component(p) : -1;
    if (symbol && symbol->kind == SYMBOL_RANGE)
        symbol = NULL;
    if (range && (!symbol || symbol->depth < range->depth))
        symbol = range;
    else if (symbol && symbol->kind == SYMBOL_REGISTER)
        number = symbol->index;
    if (!symbol) {
        if (!read_special(p, raw, which)) {
            raw->is_name = 1;
            raw->name = name;
            ptx_next(p);
        }
        return;
    }
    switch (symbol->kind) {
    case SYMBOL_RANGE:
    case SYMBOL_REGISTER:
        if (symbol->elements > 1 && which < 0) { /* the whole vector */
            unsigned elements = symbol->elements;
            uint32_t first = p->element_count;
            for (unsigned i = 0; i < elements; i++) {
                struct ptx_raw *element = new_element(p);
                if (element)
                    set_register(p, element, number + i);
            }
            raw->operand =
                (struct ptx_operand){.kind = PTX_OPERAND_VECTOR, .count = (uint16_t)elements, .index = first};
        } else if (which >= symbol->elements) {
            ptx_error(p, "%.*s has %u elements", name.length < 200 ? (int)name.length : 200, name.text,
                      symbol->elements);
        } else {
            set_register(p, raw, number + (which > 0 ? (uint32_t)which : 0));
            if (symbol->elements > 1)
                p->cursor += 2;
        }
        break;
    case SYMBOL_VARIABLE:
        raw->operand = (struct ptx_operand){.kind = PTX_OPERAND_VARIABLE, .index = symbol->index};
        break;
    case SYMBOL_FUNCTION:
        raw->operand = (struct ptx_operand){.kind = PTX_OPERAND_FUNCTION, .index = symbol->index};
        break;
    default:
        raw->is_name = 1;
        raw->name = name;
        break;
    }
    ptx_next(p);
}

static void set_constant(struct ptx_raw *raw, struct ptx_constant constant)
{
    raw->operand = (struct ptx_operand){.kind = PTX_OPERAND_IMMEDIATE, .value = (int64_t)constant.value};
    raw->is_float = constant.is_float;
    raw->bits = constant.is_decimal; /* a float written in decimal fits every float type */
}

static int begins_constant(const struct ptx_parser *p)
{
    if (p->token.kind == TOKEN_INTEGER || p->token.kind == TOKEN_FLOAT)
        return 1;
    if (p->token.kind == TOKEN_NAME)
        return ptx_same(&p->token, "WARP_SZ");
    return p->token.kind == TOKEN_PUNCTUATION && strchr("-+~(", p->token.punctuation) != NULL;
}

/* A scalar: a constant, !p, or a name, perhaps plus a constant. */
static void read_scalar(struct ptx_parser *p, struct ptx_raw *raw)
{
    char text[48];
    *raw = (struct ptx_raw){0};
    if (begins_constant(p)) {
        set_constant(raw, ptx_expression(p));
        return;
    }
    int negated = ptx_take(p, '!');
    if (negated && begins_constant(p)) {
        struct ptx_constant constant = ptx_expression(p);
        constant.value = !constant.value;
        set_constant(raw, constant);
        return;
    }
    if (p->token.kind != TOKEN_NAME) {
        ptx_error(p, "expected an operand, found %s", ptx_token_text(p, text));
        return;
    }
    read_name(p, raw);
    if (negated && raw->operand.kind != PTX_OPERAND_PREDICATE)
        ptx_error(p, "! before an operand that is no predicate");
    raw->operand.negated = (uint8_t)negated;
    if (raw->operand.kind == PTX_OPERAND_VARIABLE && (ptx_is(p, '+') || ptx_is(p, '-')))
        raw->operand.value = (int64_t)ptx_integer(p, "an offset", UINT64_MAX);
}

/* Elements of { } or ( ), each a scalar; their place is contiguous in p->elements. */
static void read_list(struct ptx_parser *p, struct ptx_raw *raw, char close)
{
    uint32_t first = p->element_count;
    ptx_next(p);
    if (!ptx_take(p, close)) {
        do {
            struct ptx_raw one;
            read_scalar(p, &one);
            struct ptx_raw *element = new_element(p);
            if (!element)
                break;
            *element = one;
            if (one.operand.kind == PTX_OPERAND_VECTOR)
                ptx_error(p, "a vector inside a vector");
        } while (ptx_take(p, ','));
        ptx_expect(p, close);
    }
    *raw = (struct ptx_raw){
        .operand = {.kind = PTX_OPERAND_VECTOR, .index = first, .count = (uint16_t)(p->element_count - first)},
        .paren = close == ')'};
}

static uint64_t read_offset(struct ptx_parser *p)
{
    return ptx_is(p, '+') || ptx_is(p, '-') ? ptx_integer(p, "an offset", UINT64_MAX) : 0;
}

/* [register + 4], [variable], [64], [map, {c0, c1}]; the token is `[`. */
static void read_address(struct ptx_parser *p, struct ptx_raw *raw)
{
    char text[48];
    *raw = (struct ptx_raw){0};
    ptx_next(p);
    if (begins_constant(p)) {
        raw->operand.kind = PTX_OPERAND_ADDRESS_IMMEDIATE;
        raw->operand.value = (int64_t)ptx_integer(p, "an address", UINT64_MAX);
    } else if (p->token.kind == TOKEN_NAME) {
        struct ptx_token name = p->token;
        read_name(p, raw);
        if (raw->operand.kind == PTX_OPERAND_REGISTER && (raw->bits == 32 || raw->bits == 64))
            raw->operand.kind = PTX_OPERAND_ADDRESS;
        else if (raw->operand.kind == PTX_OPERAND_VARIABLE)
            raw->operand.kind = PTX_OPERAND_ADDRESS_VARIABLE;
        else if (!p->status)
            ptx_error(p, "[%.*s]: not a variable and not a register of 32 or 64 bits that is declared here",
                      name.length < 200 ? (int)name.length : 200, name.text);
        raw->operand.value = (int64_t)read_offset(p);
    } else {
        ptx_error(p, "expected an address, found %s", ptx_token_text(p, text));
    }
    if (ptx_take(p, ',')) {
        struct ptx_raw map = *raw;
        uint32_t first = p->element_count;
        struct ptx_raw *element = new_element(p);
        if (!element)
            return;
        *element = map;
        struct ptx_raw coordinates = {0};
        if (ptx_is(p, '{'))
            read_list(p, &coordinates, '}');
        else
            ptx_expect(p, '{');
        *raw = (struct ptx_raw){
            .operand = {.kind = PTX_OPERAND_TENSOR, .index = first, .count = (uint16_t)(p->element_count - first)}};
    }
    ptx_expect(p, ']');
}

static void read_operand(struct ptx_parser *p)
{
    struct ptx_raw raw = {0};
    if (p->raw_count >= sizeof p->raw / sizeof p->raw[0]) {
        ptx_error(p, "more than %zu operands", sizeof p->raw / sizeof p->raw[0]);
        return;
    }
    if (ptx_is(p, '['))
        read_address(p, &raw);
    else if (ptx_is(p, '{'))
        read_list(p, &raw, '}');
    else if (ptx_is(p, '('))
        read_list(p, &raw, ')');
    else
        read_scalar(p, &raw);
    if (!p->status)
        p->raw[p->raw_count++] = raw;
}

/* A guard's or operand's `(` begins a list only in a call; elsewhere it is an expression. */
static void read_operands(struct ptx_parser *p, int call)
{
    p->raw_count = p->element_count = 0;
    if (ptx_take(p, ';'))
        return;
    for (int bar = 0;;) {
        uint32_t at = p->raw_count;
        if (ptx_is(p, '(') && !call) {
            struct ptx_raw raw = {0};
            set_constant(&raw, ptx_expression(p));
            if (at >= sizeof p->raw / sizeof p->raw[0])
                ptx_error(p, "more than %zu operands", sizeof p->raw / sizeof p->raw[0]);
            else
                p->raw[p->raw_count++] = raw;
        } else {
            read_operand(p);
        }
        if (p->status)
            return;
        p->raw[at].bar = (uint8_t)bar;
        bar = ptx_is(p, '|');
        if (!bar && !ptx_is(p, ','))
            break;
        ptx_next(p);
    }
    ptx_expect(p, ';');
}

/* ---- Statements -------------------------------------------------------------------------------------------------- */

/* The words of a mnemonic, which may have blanks before its dots. The token is its first name. Gives text that lives as
   long as the parse. */
static const char *read_mnemonic(struct ptx_parser *p, uint32_t *length, uint32_t *hash)
{
    const char *start = p->token.text, *c = p->cursor;
    uint32_t h = p->token.hash;
    for (;; c++) {
        if (c >= p->end)
            break;
        if (!ptx_name_char(*c) && *c != '.' && !(*c == ':' && p->end - c > 1 && (c[1] == ':' || c[-1] == ':')))
            break;
        h = ptx_hash_step(h, *c);
    }
    p->cursor = c;
    *length = (uint32_t)(c - start);
    *hash = h;
    ptx_next(p);
    if (p->token.kind != TOKEN_DIRECTIVE)
        return start;
    char joined[256];
    uint32_t n = *length;
    if (n >= sizeof joined) {
        ptx_error(p, "a mnemonic of more than %zu bytes", sizeof joined);
        return start;
    }
    memcpy(joined, start, n);
    while (p->token.kind == TOKEN_DIRECTIVE) {
        c = p->token.text;
        joined[n++] = '.';
        while (c < p->end && n < sizeof joined && (ptx_name_char(*c) || *c == ':' || *c == '.'))
            joined[n++] = *c++;
        if (n >= sizeof joined - 1) {
            ptx_error(p, "a mnemonic of more than %zu bytes", sizeof joined);
            return start;
        }
        p->cursor = c;
        ptx_next(p);
    }
    char *kept = ptx_arena(p, n);
    if (!kept)
        return start;
    memcpy(kept, joined, n);
    *length = n;
    *hash = ptx_hash(kept, n);
    return kept;
}

static void read_instruction(struct ptx_parser *p, uint32_t guard, int negated)
{
    uint32_t line = p->line, length, hash;
    char text[48];
    if (p->token.kind != TOKEN_NAME) {
        ptx_error(p, "expected an instruction, found %s", ptx_token_text(p, text));
        return;
    }
    const char *mnemonic = read_mnemonic(p, &length, &hash);
    if (p->status)
        return;
    uint32_t after = p->line;
    p->line = line;
    p->mnemonic = mnemonic;
    p->mnemonic_length = length < 150 ? length : 150;
    const struct ptx_template *template = ptx_find_template(p, mnemonic, length, hash);
    p->line = after;
    if (!template && !p->status)
        ptx_skip_statement(p); /* the function was refused */
    if (!template)
        return;
    read_operands(p, template->instruction.opcode == PTX_OP_CALL);
    if (p->status)
        return;
    after = p->line;
    p->line = line;
    ptx_bind(p, template, guard, negated, line);
    p->line = after;
}

static void add_label(struct ptx_parser *p, const struct ptx_token *name)
{
    struct ptx_function *function = p->function;
    ptx_declare(p, name, SYMBOL_LABEL, function->instruction_count, 0);
    if (ptx_grow(p, &function->labels, function->label_count, &p->label_space, sizeof *function->labels))
        function->labels[function->label_count++] =
            (struct ptx_label){ptx_intern(p, name->text, name->length), function->instruction_count};
}

/* name: .branchtargets L0, L1; and .calltargets f, g; */
static void read_targets(struct ptx_parser *p, const struct ptx_token *name)
{
    uint32_t first = p->target_count;
    do {
        ptx_next(p);
        if (p->token.kind != TOKEN_NAME) {
            char text[48];
            ptx_error(p, "expected a label, found %s", ptx_token_text(p, text));
            return;
        }
        if (!ptx_grow(p, &p->targets, p->target_count, &p->target_space, sizeof *p->targets))
            return;
        p->targets[p->target_count++] = (struct ptx_target){p->token.text, p->token.length, p->token.hash};
        ptx_next(p);
    } while (ptx_is(p, ','));
    ptx_expect(p, ';');
    if (p->target_count - first > PTX_OPERANDS)
        ptx_error(p, "more than %d branch targets", PTX_OPERANDS);
    ptx_declare(p, name, SYMBOL_TARGETS, first, p->target_count - first);
}

/* name: .callprototype (.param .b32 _) _ (.param .b32 _); */
static void read_prototype(struct ptx_parser *p, const struct ptx_token *name)
{
    struct ptx_module *module = p->module;
    struct ptx_prototype prototype = {0};
    ptx_next(p);
    if (ptx_is(p, '('))
        prototype.returns = ptx_parse_parameters(p, &prototype.return_count, 0);
    if (p->token.kind == TOKEN_NAME)
        ptx_next(p);
    if (ptx_is(p, '('))
        prototype.params = ptx_parse_parameters(p, &prototype.param_count, 0);
    if (ptx_is_directive(p, "noreturn"))
        ptx_next(p);
    ptx_expect(p, ';');
    ptx_declare(p, name, SYMBOL_PROTOTYPE, module->prototype_count, 0);
    if (ptx_grow(p, &module->prototypes, module->prototype_count, &p->prototype_space, sizeof *module->prototypes))
        module->prototypes[module->prototype_count++] = prototype;
}

/* name: of .calltargets is a prototype of its first function. */
static void read_call_targets(struct ptx_parser *p, const struct ptx_token *name)
{
    struct ptx_module *module = p->module;
    struct ptx_symbol *symbol = NULL;
    do {
        ptx_next(p);
        struct ptx_symbol *one =
            p->token.kind == TOKEN_NAME ? ptx_lookup(p, p->token.text, p->token.length, p->token.hash) : NULL;
        if (!one || one->kind != SYMBOL_FUNCTION) {
            char text[48];
            ptx_error(p, "%s in .calltargets is no function", ptx_token_text(p, text));
            return;
        }
        symbol = symbol ? symbol : one;
        ptx_next(p);
    } while (ptx_is(p, ','));
    ptx_expect(p, ';');
    struct ptx_function *function = &module->functions[symbol->index];
    struct ptx_prototype prototype = {function->params, function->returns, function->param_count,
                                      function->return_count};
    ptx_declare(p, name, SYMBOL_PROTOTYPE, module->prototype_count, 0);
    if (ptx_grow(p, &module->prototypes, module->prototype_count, &p->prototype_space, sizeof *module->prototypes))
        module->prototypes[module->prototype_count++] = prototype;
}

void ptx_skip_statement(struct ptx_parser *p)
{
    while (p->token.kind != TOKEN_END && !ptx_is(p, ';'))
        ptx_next(p);
    ptx_expect(p, ';');
}

static void directive(struct ptx_parser *p)
{
    char text[48];
    unsigned space = ptx_space_word(&p->token);
    if (ptx_is_directive(p, "loc"))
        ptx_parse_loc(p);
    else if (ptx_is_directive(p, "reg"))
        ptx_parse_registers(p);
    else if (space)
        ptx_parse_variable(p, space, PTX_LINK_NONE);
    else if (ptx_is_directive(p, "pragma"))
        ptx_skip_statement(p);
    else
        ptx_error(p, "unexpected directive %s in a function", ptx_token_text(p, text));
}

/* @p, @!p: the guard's register, PTX_NONE after a failure. */
static uint32_t read_guard(struct ptx_parser *p, int *negated)
{
    char text[48];
    struct ptx_raw raw = {0};
    ptx_next(p);
    *negated = ptx_take(p, '!');
    ptx_token_text(p, text);
    p->raw_count = p->element_count = 0;
    if (p->token.kind == TOKEN_NAME)
        read_name(p, &raw);
    if (raw.operand.kind != PTX_OPERAND_PREDICATE) {
        ptx_error(p, "guard %s is no predicate that is declared here", text);
        return PTX_NONE;
    }
    return raw.operand.index;
}

/* From behind the function's `{` to its `}`. */
void ptx_parse_body(struct ptx_parser *p)
{
    uint32_t outer = p->depth;
    while (!p->status) {
        if (p->token.kind == TOKEN_NAME) {
            const char *c = p->cursor;
            struct ptx_token name = p->token;
            while (c < p->end && (*c == ' ' || *c == '\t'))
                c++;
            if (c < p->end && *c == ':' && !(p->end - c > 1 && c[1] == ':')) {
                ptx_next(p);
                ptx_next(p);
                if (ptx_is_directive(p, "branchtargets"))
                    read_targets(p, &name);
                else if (ptx_is_directive(p, "callprototype"))
                    read_prototype(p, &name);
                else if (ptx_is_directive(p, "calltargets"))
                    read_call_targets(p, &name);
                else
                    add_label(p, &name);
            } else {
                read_instruction(p, PTX_NONE, 0);
            }
        } else if (p->token.kind == TOKEN_DIRECTIVE) {
            directive(p);
        } else if (ptx_is(p, '@')) {
            int negated;
            uint32_t guard = read_guard(p, &negated);
            read_instruction(p, guard, negated);
        } else if (ptx_take(p, '{')) {
            ptx_open_scope(p);
        } else if (ptx_is(p, '}')) {
            if (p->depth == outer) {
                ptx_next(p);
                return;
            }
            ptx_close_scope(p);
            ptx_next(p);
        } else if (!ptx_take(p, ';')) {
            char text[48];
            ptx_error(p, "unexpected %s in a function", ptx_token_text(p, text));
        }
    }
}
