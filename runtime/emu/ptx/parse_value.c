/* Constant expressions: C's operators on 64-bit integers, unary plus and minus also on floats. */
#include "parser.h"

static struct ptx_constant ternary(struct ptx_parser *p, unsigned depth);

static double as_double(struct ptx_constant constant)
{
    double wide;
    float narrow;
    if (constant.is_float == 64) {
        memcpy(&wide, &constant.value, sizeof wide);
        return wide;
    }
    uint32_t bits = (uint32_t)constant.value;
    memcpy(&narrow, &bits, sizeof narrow);
    return (double)narrow;
}

static struct ptx_constant primary(struct ptx_parser *p, unsigned depth)
{
    struct ptx_constant out = {0};
    char text[48];
    if (depth > PTX_EXPRESSIONS) {
        ptx_error(p, "a constant expression nested too deeply");
        return out;
    }
    if (p->token.kind == TOKEN_INTEGER || p->token.kind == TOKEN_FLOAT) {
        out.value = p->token.value;
        out.is_float = p->token.kind == TOKEN_FLOAT ? p->token.float_bits : 0;
        out.is_decimal = p->token.is_decimal;
        out.is_unsigned = p->token.is_unsigned;
        ptx_next(p);
        return out;
    }
    if (p->token.kind == TOKEN_NAME && ptx_same(&p->token, "WARP_SZ")) {
        ptx_next(p);
        out.value = 32;
        return out;
    }
    if (ptx_take(p, '(')) {
        int is_unsigned = ptx_is_directive(p, "u64");
        if (is_unsigned || ptx_is_directive(p, "s64")) {
            ptx_next(p);
            ptx_expect(p, ')');
            out = primary(p, depth + 1);
            if (out.is_float)
                ptx_error(p, "a cast of a float in a constant expression");
            out.is_unsigned = (uint8_t)is_unsigned;
            return out;
        }
        out = ternary(p, depth + 1);
        ptx_expect(p, ')');
        return out;
    }
    char operator= p->token.kind == TOKEN_PUNCTUATION ? p->token.punctuation : 0;
    if (operator&& strchr("+-~!", operator)) {
        ptx_next(p);
        out = primary(p, depth + 1);
        if (out.is_float && (operator== '~' || operator== '!'))
            ptx_error(p, "operator %c on a float", operator);
        else if (operator== '-')
            out.value = out.is_float ? out.value ^ UINT64_C(1) << (out.is_float - 1) : 0 - out.value;
        else if (operator== '~')
            out.value = ~out.value;
        else if (operator== '!')
            out.value = !out.value;
        return out;
    }
    ptx_error(p, "expected a constant, found %s", ptx_token_text(p, text));
    return out;
}

/* Operators of two operands with their precedence; two-character ones have a second. */
static const struct {
    char text[3];
    int precedence;
} operators[] = {
    {"*", 10}, {"/", 10}, {"%", 10}, {"+", 9},  {"-", 9},  {"<<", 8}, {">>", 8}, {"<=", 7}, {">=", 7},
    {"<", 7},  {">", 7},  {"==", 6}, {"!=", 6}, {"&&", 2}, {"||", 1}, {"&", 5},  {"^", 4},  {"|", 3},
};

/* The operator at the token, -1 if there is none. The cursor stands behind the token's one character. `%` begins names,
   so the lexer gives `%` only where no name follows. */
static int operator_here(const struct ptx_parser *p)
{
    if (p->token.kind == TOKEN_NAME && p->token.length == 1 && p->token.text[0] == '%')
        return 2;
    if (p->token.kind != TOKEN_PUNCTUATION)
        return -1;
    char one = p->token.punctuation, two = p->cursor < p->end ? *p->cursor : 0;
    for (int i = 0; i < (int)(sizeof operators / sizeof operators[0]); i++)
        if (operators[i].text[0] == one && (!operators[i].text[1] || operators[i].text[1] == two))
            return i;
    return -1;
}

static uint64_t apply(struct ptx_parser *p, const char *text, uint64_t a, uint64_t b, int is_unsigned)
{
    int64_t sa = (int64_t)a, sb = (int64_t)b;
    switch (text[0]) {
    case '*':
        return a * b;
    case '+':
        return a + b;
    case '-':
        return a - b;
    case '/':
    case '%':
        if (!b) {
            ptx_error(p, "division by zero in a constant expression");
            return 0;
        }
        if (is_unsigned)
            return text[0] == '/' ? a / b : a % b;
        if (sb == -1)
            return text[0] == '/' ? 0 - a : 0;
        return (uint64_t)(text[0] == '/' ? sa / sb : sa % sb);
    case '<':
        if (text[1] == '<')
            return b < 64 ? a << b : 0;
        if (text[1] == '=')
            return is_unsigned ? a <= b : sa <= sb;
        return is_unsigned ? a < b : sa < sb;
    case '>':
        if (text[1] == '>') {
            uint64_t sign = !is_unsigned && sa < 0 ? UINT64_MAX : 0;
            return b == 0 ? a : b < 64 ? a >> b | (sign & ~(UINT64_MAX >> b)) : sign;
        }
        if (text[1] == '=')
            return is_unsigned ? a >= b : sa >= sb;
        return is_unsigned ? a > b : sa > sb;
    case '=':
        return a == b;
    case '!':
        return a != b;
    case '&':
        return text[1] ? a && b : (a & b);
    case '^':
        return a ^ b;
    default:
        return text[1] ? a || b : (a | b);
    }
}

static struct ptx_constant binary(struct ptx_parser *p, int least, unsigned depth)
{
    struct ptx_constant left = primary(p, depth + 1);
    if (depth > PTX_EXPRESSIONS) {
        ptx_error(p, "a constant expression nested too deeply");
        return left;
    }
    for (int which; !p->status && (which = operator_here(p)) >= 0 && operators[which].precedence >= least;) {
        if (operators[which].text[1])
            p->cursor++;
        ptx_next(p);
        struct ptx_constant right = binary(p, operators[which].precedence + 1, depth + 1);
        if (left.is_float || right.is_float) {
            ptx_error(p, "operator %s on floats in a constant expression", operators[which].text);
            break;
        }
        left.is_unsigned |= right.is_unsigned;
        left.value = apply(p, operators[which].text, left.value, right.value, left.is_unsigned);
    }
    return left;
}

static struct ptx_constant ternary(struct ptx_parser *p, unsigned depth)
{
    struct ptx_constant condition = binary(p, 1, depth + 1);
    if (p->status || !ptx_is(p, '?'))
        return condition;
    ptx_next(p);
    struct ptx_constant yes = ternary(p, depth + 1);
    ptx_expect(p, ':');
    struct ptx_constant no = ternary(p, depth + 1);
    if (condition.is_float)
        ptx_error(p, "a float as a condition in a constant expression");
    return condition.value ? yes : no;
}

struct ptx_constant ptx_expression(struct ptx_parser *p)
{
    return ternary(p, 0);
}

uint64_t ptx_integer(struct ptx_parser *p, const char *what, uint64_t most)
{
    struct ptx_constant constant = ptx_expression(p);
    if (!p->status && (constant.is_float || constant.value > most))
        ptx_error(p, "%s must be an integer from 0 to %llu", what, (unsigned long long)most);
    return p->status ? 0 : constant.value;
}

/* Round a double to a format with exponent_bits and mantissa bits, to nearest even, with subnormals and infinity. */
static uint64_t narrow_float(double value, unsigned exponent_bits, unsigned mantissa)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint64_t sign = bits >> 63 << (exponent_bits + mantissa);
    int64_t exponent = (int64_t)(bits >> 52 & 2047) - 1023;
    uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    uint64_t top = (UINT64_C(1) << exponent_bits) - 1;
    if (exponent == 1024)
        return sign | top << mantissa | (fraction ? UINT64_C(1) << (mantissa - 1) | fraction >> (52 - mantissa) : 0);
    if (exponent == -1023)
        return sign;
    int64_t bias = (int64_t)(top >> 1);
    fraction |= UINT64_C(1) << 52;
    int64_t drop = 52 - (int64_t)mantissa;
    if (exponent < 1 - bias)
        drop += 1 - bias - exponent;
    if (drop > 54)
        return sign;
    uint64_t kept = fraction >> drop, rest = fraction & ((UINT64_C(1) << drop) - 1);
    uint64_t half = UINT64_C(1) << (drop - 1);
    kept += rest > half || (rest == half && (kept & 1));
    uint64_t result = exponent < 1 - bias ? kept : ((uint64_t)(exponent + bias - 1) << mantissa) + kept;
    return sign | (result >> mantissa >= top ? top << mantissa : result);
}

uint64_t ptx_float_bits(struct ptx_parser *p, struct ptx_constant constant, unsigned type)
{
    const struct ptx_type_info *info = &ptx_types[type];
    uint64_t bits;
    switch (type) {
    case PTX_F64: {
        double wide = as_double(constant);
        memcpy(&bits, &wide, sizeof bits);
        return bits;
    }
    case PTX_F32: {
        if (constant.is_float == 32)
            return constant.value; /* a NaN's bits stay */
        float narrow = (float)as_double(constant);
        uint32_t word;
        memcpy(&word, &narrow, sizeof word);
        return word;
    }
    case PTX_F16:
        return narrow_float(as_double(constant), 5, 10);
    case PTX_BF16:
        return narrow_float(as_double(constant), 8, 7);
    default:
        break;
    }
    if (info->kind == PTX_KIND_BITS && info->bits == constant.is_float)
        return constant.value;
    if (info->kind == PTX_KIND_BITS && info->bits == 32 && constant.is_decimal)
        return ptx_float_bits(p, constant, PTX_F32);
    ptx_error(p, "a float constant where .%s is expected", info->text);
    return 0;
}
