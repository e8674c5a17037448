/* Written operands against a form: kinds and widths are checked here, constants get their bits, labels are noted. */
#include <stdio.h>

#include "parser.h"

#define WHY 200

/* ---- Checks: 1 if the operand is what the pattern asks; otherwise why[] says what is wrong. ---------------------- */

static int no(char *why, const char *text)
{
    snprintf(why, WHY, "%s", text);
    return 0;
}

static int width(const struct ptx_raw *raw, unsigned bits, int wider, char *why)
{
    if (raw->bits == bits || (wider && raw->bits > bits && raw->bits != 1))
        return 1;
    snprintf(why, WHY, "has %u bits where %u%s are needed", raw->bits, bits, wider ? " or more" : "");
    return 0;
}

static int unknown_name(const struct ptx_raw *raw, char *why)
{
    snprintf(why, WHY, "%.*s is not declared", raw->name.length < 150 ? (int)raw->name.length : 150, raw->name.text);
    return 0;
}

static int predicate(const struct ptx_raw *raw, int destination, char *why)
{
    if (raw->is_name)
        return unknown_name(raw, why);
    if (raw->operand.kind == PTX_OPERAND_PREDICATE && !(destination && raw->operand.negated))
        return 1;
    if (!destination && raw->operand.kind == PTX_OPERAND_IMMEDIATE && !raw->is_float)
        return 1;
    return no(why, "is not a predicate");
}

/* A register of that many bits, or a constant or special register as a source. */
static int value(const struct ptx_raw *raw, unsigned bits, int wider, int destination, int sink, char *why)
{
    if (raw->is_name)
        return unknown_name(raw, why);
    switch (raw->operand.kind) {
    case PTX_OPERAND_REGISTER:
        return width(raw, bits, wider, why);
    case PTX_OPERAND_IMMEDIATE:
        return destination ? no(why, "is a constant where a register is needed") : 1;
    case PTX_OPERAND_SPECIAL:
        return no(why, destination ? "cannot be written" : "is a special register: only mov and cvt read it");
    case PTX_OPERAND_NONE:
        return sink ? 1 : no(why, "must not be _");
    case PTX_OPERAND_PREDICATE:
        return no(why, "is a predicate where a value is needed");
    case PTX_OPERAND_VECTOR:
        return no(why, "is a vector where one value is needed");
    case PTX_OPERAND_VARIABLE:
    case PTX_OPERAND_FUNCTION:
        return no(why, "is an address where a value is needed (mov gives it)");
    default:
        return no(why, "is in brackets where a value is needed");
    }
}

static unsigned type_bits(unsigned type)
{
    unsigned bits = ptx_types[type].bits;
    return bits == 8 ? 16 : bits;
}

/* A float constant fits float types of 32 and 64 bits, which it is converted to, and bits of its own width. */
static int constant(const struct ptx_raw *raw, unsigned type, char *why)
{
    const struct ptx_type_info *info = &ptx_types[type];
    if (!raw->is_float)
        return (info->kind != PTX_KIND_FLOAT && info->kind != PTX_KIND_BFLOAT) ||
               no(why, "is an integer where a float is needed");
    if (info->kind == PTX_KIND_FLOAT && info->bits >= 32 && info->lanes == 1)
        return 1;
    if (info->kind == PTX_KIND_BITS && info->bits == raw->is_float)
        return 1;
    return no(why, "is a float where none is allowed");
}

static int typed(const struct ptx_raw *raw, const struct ptx_pattern *pattern, unsigned type, unsigned bits, char *why)
{
    if (type == PTX_PRED)
        return predicate(raw, pattern->destination, why);
    if (raw->operand.kind == PTX_OPERAND_IMMEDIATE && !pattern->destination && !constant(raw, type, why))
        return 0;
    int wider = pattern->suffix == '+' || pattern->suffix == 'v';
    if (raw->operand.kind == PTX_OPERAND_SPECIAL && pattern->suffix == '+' && !pattern->destination)
        return width(raw, bits, wider, why); /* cvt */
    return value(raw, bits, wider, pattern->destination, pattern->sink, why);
}

/* Type of a wmma fragment: moves name one type, products of f16 those of D and C, others all four. */
static unsigned wmma_type(const struct ptx_instruction *i, char which)
{
    if (i->opcode != PTX_OP_WMMA_MMA || which == 'D')
        return i->type[0];
    if (!i->type[2])
        return which == 'C' ? i->type[1] : (unsigned)PTX_F16;
    return i->type[which == 'A' ? 1 : which == 'B' ? 2 : 3];
}

static unsigned wmma_fragment(const struct ptx_instruction *i, char which, unsigned *bits)
{
    unsigned type = wmma_type(i, which), element = ptx_types[type].bits == 19 ? 32 : ptx_types[type].bits;
    unsigned rows = which == 'B' ? i->k : i->m, columns = which == 'A' ? i->k : i->n, count = rows * columns / 32;
    if (type == PTX_F16 && (which == 'A' || which == 'B'))
        count = 16; /* of small ones every element is there more than once */
    *bits = element == 64 ? 64 : 32;
    return element < 32 ? count * element / 32 : count;
}

static int wmma_shape(const struct ptx_instruction *i)
{
    int load_c = i->opcode == PTX_OP_WMMA_LOAD_C || i->opcode == PTX_OP_WMMA_STORE_D;
    unsigned type = wmma_type(i, 'A');
    if (type == PTX_F64)
        return i->m == 8 && i->n == 8 && i->k == 4;
    if (i->m == 16 && i->n == 16 && i->k == 8)
        return type == PTX_TF32 || (load_c && type == PTX_F32);
    return type != PTX_TF32 && i->k == 16 &&
           ((i->m == 16 && i->n == 16) || (i->m == 32 && i->n == 8) || (i->m == 8 && i->n == 32));
}

/* Registers that a lane holds of an mma or wgmma fragment, and the bits of each. */
static unsigned fragment(const struct ptx_instruction *i, char which, unsigned *bits)
{
    if (i->opcode >= PTX_OP_WMMA_LOAD_A && i->opcode <= PTX_OP_WMMA_MMA)
        return wmma_fragment(i, which, bits);
    int warpgroup = ptx_is_wgmma(i);
    unsigned m = i->m, n = i->n, k = i->k, lanes = warpgroup ? 128 : 32;
    unsigned rows = which == 'B' ? k : m, columns = which == 'A' ? k : n;
    unsigned type = i->type[which == 'D' ? 0 : which == 'A' ? 1 : which == 'B' ? 2 : 3];
    if (!warpgroup && m == 8 && n == 8 && k == 4 && i->type[1] == PTX_F16)
        rows *= 4; /* four products, one a quarter of the warp */
    unsigned element = ptx_types[type].bits == 19 ? 32 : ptx_types[type].bits;
    if (i->opcode == PTX_OP_WGMMA_SP && which == 'A')
        columns /= 2;
    *bits = element == 64 ? 64 : 32;
    return rows * columns * element / lanes / *bits;
}

/* Shapes of mma.sync by type of A. */
static int mma_shape(const struct ptx_instruction *i)
{
    static const struct {
        uint8_t type;
        uint16_t m, n, k;
    } shapes[] = {
        {PTX_F16, 8, 8, 4},    {PTX_F16, 16, 8, 8},   {PTX_F16, 16, 8, 16},  {PTX_BF16, 16, 8, 8},
        {PTX_BF16, 16, 8, 16}, {PTX_TF32, 16, 8, 4},  {PTX_TF32, 16, 8, 8},  {PTX_E4M3, 16, 8, 16},
        {PTX_E5M2, 16, 8, 16}, {PTX_E4M3, 16, 8, 32}, {PTX_E5M2, 16, 8, 32}, {PTX_F64, 8, 8, 4},
        {PTX_F64, 16, 8, 4},   {PTX_F64, 16, 8, 8},   {PTX_F64, 16, 8, 16},  {PTX_U8, 8, 8, 16},
        {PTX_S8, 8, 8, 16},    {PTX_U8, 16, 8, 16},   {PTX_S8, 16, 8, 16},   {PTX_U8, 16, 8, 32},
        {PTX_S8, 16, 8, 32},   {PTX_U4, 8, 8, 32},    {PTX_S4, 8, 8, 32},    {PTX_U4, 16, 8, 32},
        {PTX_S4, 16, 8, 32},   {PTX_U4, 16, 8, 64},   {PTX_S4, 16, 8, 64},   {PTX_B1, 8, 8, 128},
        {PTX_B1, 16, 8, 128},  {PTX_B1, 16, 8, 256},
    };
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        if (shapes[s].type == i->type[1] && shapes[s].m == i->m && shapes[s].n == i->n && shapes[s].k == i->k)
            return i->k == 4 || !i->layout[0] || (i->layout[0] == PTX_MOD_ROW && i->layout[1] == PTX_MOD_COL);
    return 0;
}

static int shape(const struct ptx_instruction *i)
{
    unsigned bits = ptx_types[i->type[1]].bits;
    switch (i->opcode) {
    case PTX_OP_LDMATRIX:
    case PTX_OP_STMATRIX:
    case PTX_OP_MOVMATRIX:
        return i->m == 8 && i->n == 8 && i->k == 0;
    case PTX_OP_MMA_SYNC:
        return mma_shape(i);
    case PTX_OP_WMMA_LOAD_A:
    case PTX_OP_WMMA_LOAD_B:
    case PTX_OP_WMMA_LOAD_C:
    case PTX_OP_WMMA_STORE_D:
    case PTX_OP_WMMA_MMA:
        return wmma_shape(i);
    case PTX_OP_WGMMA_MMA_ASYNC:
    case PTX_OP_WGMMA_SP:
        return i->m == 64 && i->n >= 8 && i->n <= 256 && i->n % 8 == 0 &&
               i->k * (bits == 19 ? 32 : bits) == (i->opcode == PTX_OP_WGMMA_SP ? 512 : 256) &&
               (i->type[0] != PTX_S32 || i->n % 16 == 0 || i->n == 8 || i->n == 24);
    default:
        return 1;
    }
}

static int elements(struct ptx_parser *p, const struct ptx_raw *raw, unsigned count, unsigned bits,
                    const struct ptx_pattern *pattern, unsigned type, char *why)
{
    if (raw->operand.kind != PTX_OPERAND_VECTOR || raw->paren) {
        if (count != 1)
            return snprintf(why, WHY, "must be a vector of %u", count), 0;
        return typed(raw, pattern, type, bits, why);
    }
    if (raw->operand.count != count) {
        snprintf(why, WHY, "has %u elements where %u are needed", raw->operand.count, count);
        return 0;
    }
    struct ptx_pattern one = *pattern;
    one.sink = (one.suffix == 'v' || one.suffix == 't') && one.destination;
    for (unsigned i = 0; i < count; i++)
        if (!typed(&p->elements[raw->operand.index + i], &one, type, bits, why))
            return 0;
    return 1;
}

static int is_address(const struct ptx_raw *raw)
{
    return raw->operand.kind == PTX_OPERAND_ADDRESS || raw->operand.kind == PTX_OPERAND_ADDRESS_VARIABLE ||
           raw->operand.kind == PTX_OPERAND_ADDRESS_IMMEDIATE;
}

/* A variable by name must lie in the space that ld, st, atom and red name. */
static int right_space(struct ptx_parser *p, const struct ptx_instruction *i, const struct ptx_raw *raw, char *why)
{
    if (raw->operand.kind != PTX_OPERAND_ADDRESS_VARIABLE || !i->space[0])
        return 1;
    unsigned space = p->module->variables[raw->operand.index].space;
    int simple = i->opcode == PTX_OP_LD || i->opcode == PTX_OP_ST || i->opcode == PTX_OP_ATOM ||
                 i->opcode == PTX_OP_RED || i->opcode == PTX_OP_LDU;
    if (!simple || space == i->space[0] || (space == PTX_SPACE_SHARED && i->space[0] == PTX_SPACE_SHARED_CLUSTER))
        return 1;
    return no(why, "is a variable of another state space");
}

/* Coordinates and gradients as tex, tld4, suld and sust write them: a vector of 3 has a fourth element that nobody
   reads (PTX ISA, "tex": "coordinate vector"). */
static unsigned coordinates(const struct ptx_instruction *i, int gradient)
{
    switch (i->operation) {
    case PTX_MOD_A_1D:
        return 1;
    case PTX_MOD_A_2D:
        return 2;
    case PTX_MOD_A1D:
        return gradient ? 1 : 2;
    case PTX_MOD_A2D:
        return gradient ? 2 : 4;
    default:
        return 4;
    }
}

/* [object, {coordinates}]: the object is in a register of 64 bits. Layers and integer coordinates are integers. */
static int texture(struct ptx_parser *p, const struct ptx_instruction *i, const struct ptx_raw *raw, char *why)
{
    unsigned count = coordinates(i, 0);
    if (raw->operand.kind != PTX_OPERAND_TENSOR)
        return no(why, "must be [object, {coordinates}]");
    const struct ptx_raw *element = &p->elements[raw->operand.index];
    if (element->operand.kind != PTX_OPERAND_ADDRESS || element->bits != 64 || element->operand.value)
        return no(why, "has no object in a register of 64 bits");
    if (raw->operand.count != count + 1) {
        snprintf(why, WHY, "has %u coordinates where %u are needed", raw->operand.count - 1u, count);
        return 0;
    }
    int layered = i->operation == PTX_MOD_A1D || i->operation == PTX_MOD_A2D;
    for (unsigned c = 1; c <= count; c++) {
        int real = i->type[1] == PTX_F32 && !(layered && c == 1);
        if (!value(&element[c], 32, 0, 0, 0, why))
            return 0;
        if (element[c].operand.kind == PTX_OPERAND_IMMEDIATE && !constant(&element[c], real ? PTX_F32 : PTX_S32, why))
            return 0;
    }
    return 1;
}

static int check(struct ptx_parser *p, const struct ptx_instruction *i, const struct ptx_pattern *pattern,
                 const struct ptx_raw *raw, char *why)
{
    unsigned type = pattern->kind == PATTERN_TYPED ? i->type[pattern->slot] : PTX_TYPE_NONE, bits = type_bits(type);
    unsigned kind = raw->operand.kind;
    switch (pattern->kind) {
    case PATTERN_TYPED:
        if (pattern->suffix == 'v' && i->vector)
            return elements(p, raw, i->vector, bits, pattern, type, why);
        if (pattern->suffix == 't' || pattern->suffix == 'g') {
            unsigned count = pattern->suffix == 'g' ? coordinates(i, 1) : i->vector ? i->vector : 1;
            return elements(p, raw, count, bits, pattern, type, why);
        }
        if (pattern->suffix == 's' && (kind == PTX_OPERAND_VARIABLE || kind == PTX_OPERAND_FUNCTION))
            return 1;
        return typed(raw, pattern, type, pattern->suffix == 'w' ? bits * 2 : bits, why);
    case PATTERN_WIDTH:
        if (kind == PTX_OPERAND_IMMEDIATE && raw->is_float)
            return no(why, "is a float where none is allowed");
        return value(raw, pattern->slot, 0, pattern->destination, pattern->sink, why);
    case PATTERN_POINTER:
        return value(raw, raw->bits == 32 ? 32 : 64, 0, 0, 0, why);
    case PATTERN_MATRIX: {
        unsigned each = i->operation == PTX_MOD_S_16X128B ? 2 : i->operation == PTX_MOD_S_16X256B ? 4 : 1;
        unsigned count = pattern->slot ? pattern->slot : i->vector * each;
        if (count > 128)
            return snprintf(why, WHY, "would have %u registers, 128 are the most", count), 0;
        return elements(p, raw, count, 32, pattern, PTX_B32, why);
    }
    case PATTERN_PREDICATE:
        if (pattern->destination && kind == PTX_OPERAND_NONE && !raw->is_name)
            return 1;
        return predicate(raw, pattern->destination, why);
    case PATTERN_INTEGER:
        return (kind == PTX_OPERAND_IMMEDIATE && !raw->is_float) || no(why, "must be an integer constant");
    case PATTERN_NUMBER:
        return kind == PTX_OPERAND_IMMEDIATE || value(raw, 32, 0, 0, 0, why);
    case PATTERN_ADDRESS:
        return is_address(raw) ? right_space(p, i, raw, why) : no(why, "must be an address in brackets");
    case PATTERN_TENSOR:
        if (kind != PTX_OPERAND_TENSOR)
            return no(why, "must be [tensor map, {coordinates}]");
        if (raw->operand.count != i->vector + 1u) {
            snprintf(why, WHY, "has %u coordinates where %u are needed", raw->operand.count - 1u, i->vector);
            return 0;
        }
        for (unsigned c = 1; c < raw->operand.count; c++)
            if (!value(&p->elements[raw->operand.index + c], 32, 0, 0, 0, why))
                return 0;
        return 1;
    case PATTERN_TEXTURE:
        return texture(p, i, raw, why);
    case PATTERN_OFFSETS:
        if (i->vector < 3)
            return no(why, "needs 3 dimensions or more");
        return elements(p, raw, i->vector - 2u, 16, pattern, PTX_B16, why);
    case PATTERN_FRAGMENT: {
        unsigned count = fragment(i, (char)pattern->slot, &bits);
        return elements(p, raw, count, bits, pattern, bits == 64 ? PTX_F64 : PTX_B32, why);
    }
    case PATTERN_LABEL:
        return raw->is_name || no(why, "must be a label");
    default:
        return 1;
    }
}

/* mov: also packs, unpacks and takes addresses. */
static int check_mov(struct ptx_parser *p, const struct ptx_instruction *i, char *why, int *which)
{
    const struct ptx_raw *to = &p->raw[0], *from = &p->raw[1];
    unsigned type = i->type[0], bits = type_bits(type);
    if (p->raw_count != 2 || from->bar)
        return no(why, "two are needed");
    for (int side = 0; side < 2; side++) {
        const struct ptx_raw *raw = &p->raw[side];
        struct ptx_pattern pattern = {.kind = PATTERN_TYPED, .destination = !side};
        *which = side + 1;
        if (raw->operand.kind == PTX_OPERAND_VECTOR && !raw->paren) {
            unsigned count = raw->operand.count, part = count ? bits / count : 0;
            if (ptx_types[type].kind == PTX_KIND_PRED || (count != 2 && count != 4) || part < 8)
                return no(why, "is a vector that does not fit the type");
            pattern.suffix = 'v';
            unsigned element = part == 8 ? PTX_B8 : part == 16 ? PTX_B16 : part == 32 ? PTX_B32 : PTX_B64;
            if (!elements(p, raw, count, part == 8 ? 16 : part, &pattern, element, why))
                return 0;
            for (unsigned e = 0; e < count; e++)
                if (p->elements[raw->operand.index + e].operand.kind == PTX_OPERAND_REGISTER &&
                    p->elements[raw->operand.index + e].bits != (part == 8 ? 16 : part))
                    return no(why, "has elements of another width");
        } else if (side && (raw->operand.kind == PTX_OPERAND_VARIABLE || raw->operand.kind == PTX_OPERAND_FUNCTION)) {
            if (bits != 64 && bits != 32)
                return no(why, "is an address: a type of 32 or 64 bits is needed");
        } else if (side && raw->operand.kind == PTX_OPERAND_SPECIAL) {
            if (!width(raw, bits, 0, why))
                return 0;
        } else if (!typed(raw, &pattern, type, bits, why)) {
            return 0;
        }
    }
    return to->operand.kind != PTX_OPERAND_VECTOR || from->operand.kind != PTX_OPERAND_VECTOR ||
           no(why, "is a vector on both sides");
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

/* Where call's parts stand in p->raw; -1: left out. */
struct call_parts {
    int returns, target, arguments, prototype;
};

static int argument(struct ptx_parser *p, const struct ptx_raw *raw, const struct ptx_parameter *formal, int returned,
                    char *why)
{
    if (raw->is_name)
        return unknown_name(raw, why);
    switch (raw->operand.kind) {
    case PTX_OPERAND_VARIABLE: {
        const struct ptx_variable *variable = &p->module->variables[raw->operand.index];
        if (variable->space != PTX_SPACE_PARAM || raw->operand.value)
            return no(why, "has an argument that is no .param variable");
        return variable->bytes == formal->bytes || no(why, "has an argument of another size than the function's");
    }
    case PTX_OPERAND_REGISTER:
        return raw->bits == formal->bytes * 8 || (raw->bits == 16 && formal->bytes == 1) ||
               no(why, "has an argument of another size than the function's");
    case PTX_OPERAND_PREDICATE:
        return formal->bytes == 1 || no(why, "has a predicate as argument");
    case PTX_OPERAND_IMMEDIATE:
        return (!returned && formal->bytes <= 8) || no(why, "has a constant where it must not stand");
    case PTX_OPERAND_NONE:
        return returned || no(why, "has an argument _");
    default:
        return no(why, "has an argument that is neither variable, register nor constant");
    }
}

static int check_call(struct ptx_parser *p, struct call_parts *parts, char *why, int *which)
{
    uint32_t at = 0;
    *parts = (struct call_parts){-1, -1, -1, -1};
    if (at < p->raw_count && p->raw[at].paren)
        parts->returns = (int)at++;
    if (at < p->raw_count && !p->raw[at].paren)
        parts->target = (int)at++;
    if (at < p->raw_count && p->raw[at].paren)
        parts->arguments = (int)at++;
    if (at < p->raw_count)
        parts->prototype = (int)at++;
    *which = 1;
    if (parts->target < 0 || at != p->raw_count)
        return no(why, "a call is `call (returns), function, (arguments), prototype`");
    const struct ptx_raw *target = &p->raw[parts->target];
    struct ptx_prototype expected;
    *which = parts->target + 1;
    struct ptx_symbol *symbol = NULL;
    if (parts->prototype >= 0) {
        const struct ptx_raw *raw = &p->raw[parts->prototype];
        symbol = raw->is_name ? ptx_lookup(p, raw->name.text, raw->name.length, raw->name.hash) : NULL;
        if (!symbol || symbol->kind != SYMBOL_PROTOTYPE)
            return no(why, "has a last operand that is no prototype");
        p->raw[parts->prototype].operand = (struct ptx_operand){.kind = PTX_OPERAND_PROTOTYPE, .index = symbol->index};
    }
    if (target->operand.kind == PTX_OPERAND_FUNCTION) {
        const struct ptx_function *function = &p->module->functions[target->operand.index];
        if (function->is_kernel)
            return no(why, "is a kernel, which cannot be called");
        expected =
            (struct ptx_prototype){function->params, function->returns, function->param_count, function->return_count};
    } else if (target->operand.kind == PTX_OPERAND_REGISTER && (target->bits == 64 || target->bits == 32)) {
        if (!symbol)
            return no(why, "is a register: a prototype must follow");
        expected = p->module->prototypes[symbol->index];
    } else {
        return target->is_name ? unknown_name(target, why) : no(why, "is no function");
    }
    for (int side = 0; side < 2; side++) {
        int index = side ? parts->arguments : parts->returns;
        uint32_t count = index >= 0 ? p->raw[index].operand.count : 0;
        uint32_t wanted = side ? expected.param_count : expected.return_count;
        if (count != wanted) {
            snprintf(why, WHY, "%s %u %s where the function has %u", side ? "takes" : "gives", count,
                     side ? "arguments" : "results", wanted);
            return 0;
        }
        for (uint32_t i = 0; i < count; i++)
            if (!argument(p, &p->elements[p->raw[index].operand.index + i],
                          side ? &expected.params[i] : &expected.returns[i], !side, why))
                return 0;
    }
    return 1;
}

/* ---- Making the instruction -------------------------------------------------------------------------------------- */

static uint32_t add_operand(struct ptx_parser *p, const struct ptx_operand *operand)
{
    struct ptx_function *function = p->function;
    if (!ptx_grow(p, &function->operands, function->operand_count, &p->operand_space, sizeof *function->operands))
        return 0;
    function->operands[function->operand_count] = *operand;
    return function->operand_count++;
}

static uint64_t cut(uint64_t bits_of, unsigned bits)
{
    return bits < 64 ? bits_of & ((UINT64_C(1) << bits) - 1) : bits_of;
}

/* A constant's bits in its type, or cut to a width (0: whole). */
static void finish(struct ptx_parser *p, struct ptx_raw *raw, unsigned type, unsigned bits)
{
    if (raw->operand.kind != PTX_OPERAND_IMMEDIATE)
        return;
    uint64_t result = (uint64_t)raw->operand.value;
    if (type == PTX_PRED)
        result = result != 0;
    else if (raw->is_float)
        result = ptx_float_bits(
            p, (struct ptx_constant){.value = result, .is_float = raw->is_float, .is_decimal = raw->bits != 0}, type);
    else if (bits)
        result = cut(result, bits);
    raw->operand.value = (int64_t)result;
}

/* Elements of a vector become contiguous operands. */
static void add_elements(struct ptx_parser *p, struct ptx_raw *raw, unsigned type, unsigned bits)
{
    uint32_t first = p->function->operand_count;
    for (uint32_t i = 0; i < raw->operand.count; i++) {
        struct ptx_raw *element = &p->elements[raw->operand.index + i];
        finish(p, element, type, bits);
        add_operand(p, &element->operand);
    }
    raw->operand.index = first;
}

static void complete(struct ptx_parser *p, const struct ptx_instruction *i, const struct ptx_pattern *pattern,
                     struct ptx_raw *raw)
{
    unsigned type = PTX_B32, bits = 32;
    switch (pattern->kind) {
    case PATTERN_TYPED:
        type = i->type[pattern->slot];
        bits = ptx_types[type].bits * (pattern->suffix == 'w' ? 2u : 1u);
        break;
    case PATTERN_WIDTH:
        bits = pattern->slot;
        break;
    case PATTERN_PREDICATE:
        type = PTX_PRED;
        break;
    case PATTERN_INTEGER:
        bits = 0;
        break;
    case PATTERN_NUMBER:
        if (raw->is_float)
            type = PTX_F32;
        break;
    case PATTERN_OFFSETS:
        bits = 16;
        break;
    case PATTERN_TEXTURE:
        type = i->type[1] == PTX_F32 ? PTX_F32 : PTX_B32;
        break;
    case PATTERN_POINTER:
        bits = 64;
        break;
    case PATTERN_FRAGMENT:
        fragment(i, (char)pattern->slot, &bits);
        type = bits == 64 ? PTX_F64 : PTX_B32;
        break;
    default:
        break;
    }
    if (raw->operand.kind == PTX_OPERAND_VECTOR || raw->operand.kind == PTX_OPERAND_TENSOR)
        add_elements(p, raw, type, bits);
    else
        finish(p, raw, type, bits);
}

static void add_fixup(struct ptx_parser *p, uint32_t operand, const char *text, uint32_t length, uint32_t hash,
                      uint32_t line)
{
    if (ptx_grow(p, &p->fixups, p->fixup_count, &p->fixup_space, sizeof *p->fixups))
        p->fixups[p->fixup_count++] = (struct ptx_fixup){operand, line, length, hash, text};
}

static void emit(struct ptx_parser *p, const struct ptx_template *template, const struct ptx_operand *operands,
                 unsigned count, uint32_t guard, int negated, uint32_t line)
{
    struct ptx_function *function = p->function;
    if (!ptx_grow(p, &function->instructions, function->instruction_count, &p->instruction_space,
                  sizeof *function->instructions))
        return;
    struct ptx_instruction *instruction = &function->instructions[function->instruction_count];
    *instruction = template->instruction;
    instruction->guard = guard;
    instruction->guard_negated = (uint8_t)negated;
    instruction->line = line;
    instruction->location = p->location;
    instruction->operands = function->operand_count;
    instruction->operand_count = (uint16_t)count;
    for (unsigned i = 0; i < count; i++)
        add_operand(p, &operands[i]);
    if (!p->status)
        function->instruction_count++;
}

static void emit_call(struct ptx_parser *p, const struct ptx_template *template, const struct call_parts *parts,
                      uint32_t guard, int negated, uint32_t line)
{
    struct ptx_operand operands[4] = {{.kind = PTX_OPERAND_VECTOR},
                                      {.kind = PTX_OPERAND_NONE},
                                      {.kind = PTX_OPERAND_VECTOR},
                                      {.kind = PTX_OPERAND_NONE}};
    int lists[2] = {parts->returns, parts->arguments};
    for (int side = 0; side < 2; side++)
        if (lists[side] >= 0) {
            struct ptx_raw *list = &p->raw[lists[side]];
            for (uint32_t e = 0; e < list->operand.count; e++) {
                struct ptx_raw *element = &p->elements[list->operand.index + e];
                finish(p, element, element->is_float == 64 && !element->bits ? PTX_F64 : PTX_F32, 0);
            }
            add_elements(p, list, PTX_B64, 0);
            operands[side * 2] = list->operand;
        }
    operands[1] = p->raw[parts->target].operand;
    if (parts->prototype >= 0)
        operands[3] = p->raw[parts->prototype].operand;
    emit(p, template, operands, 4, guard, negated, line);
}

static void bind_targets(struct ptx_parser *p, const struct ptx_template *template, uint32_t guard, int negated,
                         uint32_t line)
{
    const struct ptx_raw *list = &p->raw[1];
    char why[WHY] = "";
    struct ptx_symbol *symbol =
        p->raw_count == 2 && list->is_name ? ptx_lookup(p, list->name.text, list->name.length, list->name.hash) : NULL;
    if (!symbol || symbol->kind != SYMBOL_TARGETS || !value(&p->raw[0], 32, 0, 0, 0, why)) {
        ptx_error(p, "'brx.idx' takes a register of 32 bits and the name of a .branchtargets list");
        return;
    }
    struct ptx_operand operands[2] = {
        p->raw[0].operand,
        {.kind = PTX_OPERAND_VECTOR, .count = (uint16_t)symbol->count, .index = p->function->operand_count}};
    uint32_t first = symbol->index, count = symbol->count;
    for (uint32_t i = 0; i < count && !p->status; i++) {
        struct ptx_operand label = {.kind = PTX_OPERAND_LABEL};
        const struct ptx_target *target = &p->targets[first + i];
        add_fixup(p, add_operand(p, &label), target->text, target->length, target->hash, line);
    }
    emit(p, template, operands, 2, guard, negated, line);
}

/* Which written operand stands for each pattern: raw + 1, 0: left out. How many raws were used, or -1. */
static int assign(struct ptx_parser *p, const struct ptx_template *template, uint8_t map[PTX_PATTERNS])
{
    const struct ptx_form *form = template->form;
    uint64_t mods = template->instruction.mods;
    uint32_t at = 0, needed = 0;
    for (unsigned i = 0; i < form->pattern_count; i++) {
        const struct ptx_pattern *pattern = &form->patterns[i];
        needed += pattern->condition ? (uint32_t)(mods >> (pattern->condition - 1) & 1) : !pattern->optional;
    }
    uint32_t written = 0; /* behind a bar not counted */
    for (uint32_t i = 0; i < p->raw_count; i++)
        written += !p->raw[i].bar;
    for (unsigned i = 0; i < form->pattern_count; i++) {
        const struct ptx_pattern *pattern = &form->patterns[i];
        map[i] = 0;
        if (pattern->bar) {
            if (at < p->raw_count && p->raw[at].bar)
                map[i] = (uint8_t)++at;
            continue;
        }
        if (pattern->condition ? !(mods >> (pattern->condition - 1) & 1) : pattern->optional && written <= needed)
            continue;
        if (!pattern->condition && pattern->optional)
            written--;
        if (at >= p->raw_count || p->raw[at].bar)
            return -1;
        map[i] = (uint8_t)++at;
    }
    return at == p->raw_count ? (int)at : -1;
}

/* One value in braces, as Triton writes scalars, is the value. */
static void unwrap(struct ptx_parser *p, const struct ptx_instruction *i, const struct ptx_pattern *pattern,
                   struct ptx_raw *raw)
{
    if (pattern->kind != PATTERN_TYPED || ((pattern->suffix == 'v' || pattern->suffix == 't') && i->vector) ||
        raw->paren || raw->operand.kind != PTX_OPERAND_VECTOR || raw->operand.count != 1)
        return;
    uint8_t bar = raw->bar;
    *raw = p->elements[raw->operand.index];
    raw->bar = bar;
}

/* 1 if the operands fit the form and the instruction was made. */
static int try_form(struct ptx_parser *p, const struct ptx_template *template, uint32_t guard, int negated,
                    uint32_t line, char *why, int *which)
{
    const struct ptx_form *form = template->form;
    const struct ptx_instruction *instruction = &template->instruction;
    struct ptx_operand operands[PTX_PATTERNS] = {{0}};
    uint8_t map[PTX_PATTERNS];
    *which = 0;
    if (assign(p, template, map) < 0)
        return no(why, "");
    if (instruction->n && !shape(instruction))
        return no(why, "the shape");
    for (unsigned i = 0; i < form->pattern_count; i++) {
        if (map[i])
            unwrap(p, instruction, &form->patterns[i], &p->raw[map[i] - 1]);
        if (map[i] && !check(p, instruction, &form->patterns[i], &p->raw[map[i] - 1], why)) {
            *which = map[i];
            return 0;
        }
    }
    const struct ptx_raw *label = NULL;
    for (unsigned i = 0; i < form->pattern_count; i++) {
        if (!map[i])
            continue;
        struct ptx_raw *raw = &p->raw[map[i] - 1];
        if (form->patterns[i].kind == PATTERN_LABEL) {
            raw->operand.kind = PTX_OPERAND_LABEL;
            label = raw;
        } else {
            complete(p, instruction, &form->patterns[i], raw);
        }
        operands[i] = raw->operand;
    }
    emit(p, template, operands, form->pattern_count, guard, negated, line);
    if (label && !p->status)
        add_fixup(p, p->function->operand_count - 1, label->name.text, label->name.length, label->name.hash, line);
    return 1;
}

void ptx_bind(struct ptx_parser *p, const struct ptx_template *templates, uint32_t guard, int negated, uint32_t line)
{
    char why[WHY] = "", best[WHY] = "";
    int which = 0, furthest = -1, length = (int)p->mnemonic_length;
    unsigned special = templates->form->pattern_count ? templates->form->patterns[0].kind : 0;
    if (special == PATTERN_TARGETS) {
        bind_targets(p, templates, guard, negated, line);
        return;
    }
    if (special == PATTERN_MOV) {
        if (!check_mov(p, &templates->instruction, why, &which)) {
            ptx_error(p, "'%.*s': operand %d %s", length, p->mnemonic, which, why);
            return;
        }
        unsigned type = templates->instruction.type[0], bits = ptx_types[type].bits;
        struct ptx_operand operands[2];
        for (int side = 0; side < 2; side++) {
            struct ptx_raw *raw = &p->raw[side];
            unsigned part = raw->operand.kind == PTX_OPERAND_VECTOR ? bits / raw->operand.count : bits;
            if (raw->operand.kind == PTX_OPERAND_VECTOR)
                add_elements(p, raw, part == 8 ? PTX_B8 : part == 16 ? PTX_B16 : part == 32 ? PTX_B32 : PTX_B64, part);
            else
                finish(p, raw, type, bits);
            operands[side] = raw->operand;
        }
        emit(p, templates, operands, 2, guard, negated, line);
        return;
    }
    if (special == PATTERN_CALL) {
        struct call_parts parts;
        if (check_call(p, &parts, why, &which))
            emit_call(p, templates, &parts, guard, negated, line);
        else
            ptx_error(p, "'%.*s': operand %d %s", length, p->mnemonic, which, why);
        return;
    }
    for (const struct ptx_template *template = templates; template; template = template->next) {
        if (try_form(p, template, guard, negated, line, why, &which))
            return;
        if (which > furthest || (which == furthest && why[0])) {
            furthest = which;
            memcpy(best, why, sizeof best);
        }
    }
    const char *reason = ptx_reason(templates->instruction.opcode);
    if (furthest <= 0 && reason) /* operands more, as offsets and comparisons of tex */
        ptx_refuse_function(p, "'%.*s' with %u operands: %s is not supported", length, p->mnemonic, p->raw_count,
                            reason);
    else if (furthest > 0)
        ptx_error(p, "'%.*s': operand %d %s", length, p->mnemonic, furthest, best);
    else if (best[0])
        ptx_refuse(p, "'%.*s': %s is not supported", length, p->mnemonic, best);
    else
        ptx_error(p, "'%.*s' does not take %u operands of this kind", length, p->mnemonic, p->raw_count);
}
