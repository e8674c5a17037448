/* The parser's own state and the seams between its files. Errors are sticky: the first one is kept, the cursor jumps to
   the end of the text, every later token is TOKEN_END, and so every loop ends; callers look at parser->status once they
   are about to use what they read. */
#ifndef PTX_PARSER_H
#define PTX_PARSER_H

#include <string.h>

#include "forms.h"

#define PTX_SCOPES 64            /* nested { } */
#define PTX_EXPRESSIONS 64       /* nested parentheses and operators in a constant expression */
#define PTX_REGISTERS (1u << 20) /* of a function */
#define PTX_ALL_REGISTERS (1u << 22)
#define PTX_OPERANDS 2048 /* of an instruction, elements of vectors included */
#define PTX_VARIABLE_BYTES (UINT64_C(1) << 36)
#define PTX_FRAME_BYTES (UINT64_C(1) << 31)

/* ---- Tokens (lex.c) ---------------------------------------------------------------------------------------------- */
enum ptx_token_kind {
    TOKEN_END,
    TOKEN_NAME,      /* identifier, with its % or $ */
    TOKEN_DIRECTIVE, /* `.name`: text without the dot */
    TOKEN_INTEGER,
    TOKEN_FLOAT,      /* value: bits; float_bits 32 (0f) or 64 (0d and decimal) */
    TOKEN_STRING,     /* text without the quotes */
    TOKEN_PUNCTUATION /* one character; `<<` `>>` `<=` ... are two tokens' worth and put together by the expressions */
};

struct ptx_token {
    uint8_t kind;
    char punctuation;
    uint8_t float_bits;
    uint8_t is_unsigned; /* integer: hexadecimal and too large for a signed one, or suffix U */
    uint8_t is_decimal;  /* float written in decimal */
    uint32_t length;
    uint32_t hash; /* TOKEN_NAME: ptx_hash of the text */
    const char *text;
    uint64_t value;
};

/* ---- Symbols ----------------------------------------------------------------------------------------------------- */
enum ptx_symbol_kind {
    SYMBOL_REGISTER, /* index: register; count: elements of a vector register (1: scalar) */
    SYMBOL_RANGE,    /* `%r<count>`: index of register 0; elements: of each */
    SYMBOL_VARIABLE,
    SYMBOL_FUNCTION,
    SYMBOL_LABEL, /* index: instruction */
    SYMBOL_PROTOTYPE,
    SYMBOL_TARGETS /* index: first of parser->targets, count */
};

struct ptx_symbol {
    const char *text; /* in the source */
    uint32_t length, hash;
    uint8_t kind;
    uint8_t elements;
    uint16_t depth;
    uint32_t index, count;
    uint32_t next; /* in the bucket, PTX_NONE ends; inner scopes first */
};

#define PTX_TEMPLATE_BUCKETS 1024
#define PTX_SYMBOL_BUCKETS 4096
#define PTX_LOCATION_BUCKETS 1024

/* An operand as it was read, before a form says what it must be. Elements of vectors lie in parser->elements. */
struct ptx_raw {
    struct ptx_operand operand;
    uint8_t bits; /* REGISTER, SPECIAL, PREDICATE: class; float immediate: 32, 64 */
    uint8_t is_float;
    uint8_t bar;     /* stood behind `|` */
    uint8_t paren;   /* VECTOR written ( ) */
    uint8_t is_name; /* a name that nothing declares yet: perhaps a label */
    struct ptx_token name;
};

struct ptx_fixup { /* an operand that waits for its label */
    uint32_t operand;
    uint32_t line;
    uint32_t length, hash;
    const char *text;
};

struct ptx_scope {
    uint32_t symbols; /* symbol_count at its start */
    uint32_t fixups;
    uint64_t param_top; /* parameter area in use at its start */
};

struct ptx_debug_string {
    const char *label;
    uint32_t length;
    uint32_t name;
    uint32_t bytes;
};
struct ptx_target {
    const char *text;
    uint32_t length, hash;
};
struct ptx_alias {
    uint32_t from, line;
    struct ptx_token to;
};

struct ptx_parser {
    struct tw_memory memory;
    struct tw_error *error;
    int status;
    const char *text, *cursor, *end;
    uint32_t line;
    struct ptx_token token;
    struct ptx_module *module;

    struct ptx_symbol *symbols;
    uint32_t symbol_count, symbol_space;
    uint32_t buckets[PTX_SYMBOL_BUCKETS];
    struct ptx_scope scopes[PTX_SCOPES];
    uint32_t depth; /* open scopes; 0: module level */

    struct ptx_function *function;
    uint32_t function_index;
    uint32_t all_registers;
    uint32_t instruction_space, operand_space, label_space, register_space;
    uint64_t param_top;
    struct ptx_fixup *fixups;
    uint32_t fixup_count, fixup_space;
    struct ptx_target *targets;
    uint32_t target_count, target_space;

    struct ptx_template *templates[PTX_TEMPLATE_BUCKETS];
    const struct ptx_form **forms; /* compiled on first use */
    uint8_t *word_table;           /* hash of a word to word + 1 */
    struct ptx_raw raw[16];
    uint32_t raw_count;
    struct ptx_raw *elements;
    uint32_t element_count, element_space;
    const char *mnemonic; /* of the instruction being read, for messages */
    uint32_t mnemonic_length;

    uint32_t location; /* of the next instruction */
    uint32_t location_buckets[PTX_LOCATION_BUCKETS];
    uint32_t *location_chain;
    uint32_t chain_space;
    uint32_t first_location; /* of the function */
    struct ptx_debug_string *strings;
    uint32_t string_count, string_space;
    struct ptx_alias *aliases;
    uint32_t alias_count, alias_space;
    uint32_t function_space, variable_space, relocation_space, prototype_space, file_space, location_space, name_space;
};

/* Why forms of an opcode that have no row are refused, or all; NULL: such a text is wrong. */
const char *ptx_reason(unsigned opcode);

/* Keep the first failure: "PTX line N: ...", and go to the end of the text. */
void ptx_error(struct ptx_parser *p, const char *format, ...) TW_PRINTF(2, 3);
void ptx_refuse(struct ptx_parser *p, const char *format, ...) TW_PRINTF(2, 3); /* TW_ERROR_UNSUPPORTED */

/* The function under way cannot be executed, and the parse goes on: ptx_function.refused. The first reason is kept. */
void ptx_refuse_function(struct ptx_parser *p, const char *format, ...) TW_PRINTF(2, 3);
void ptx_no_memory(struct ptx_parser *p);

/* Room for one more element in *array; 0 after a failure. */
int ptx_grow(struct ptx_parser *p, void *array, uint32_t count, uint32_t *space, size_t element);

/* Zeroed memory that lives as long as the module; NULL after a failure. */
void *ptx_arena(struct ptx_parser *p, size_t bytes);

/* Put text behind the module's names; its offset. */
uint32_t ptx_intern(struct ptx_parser *p, const char *text, size_t length);

/* lex.c */
void ptx_next(struct ptx_parser *p);
int ptx_is(const struct ptx_parser *p, char punctuation);
int ptx_is_directive(const struct ptx_parser *p, const char *text);
int ptx_take(struct ptx_parser *p, char punctuation); /* 1 and next token if it is that */
void ptx_expect(struct ptx_parser *p, char punctuation);
void ptx_skip_blank(struct ptx_parser *p);
int ptx_name_char(char c);
const char *ptx_token_text(const struct ptx_parser *p, char out[48]); /* for messages */

static inline uint32_t ptx_hash_step(uint32_t hash, char c)
{
    return (hash ^ (uint8_t)c) * 16777619u;
}
static inline uint32_t ptx_hash(const char *text, size_t length)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++)
        hash = ptx_hash_step(hash, text[i]);
    return hash;
}

/* parse_value.c: a constant expression. Gives integer (is_float 0) or float bits (32, 64). */
struct ptx_constant {
    uint64_t value;
    uint8_t is_float; /* 0, 32 or 64 */
    uint8_t is_unsigned;
    uint8_t is_decimal;
};
struct ptx_constant ptx_expression(struct ptx_parser *p);
uint64_t ptx_integer(struct ptx_parser *p, const char *what, uint64_t most);
/* The bits of a float constant in a type (f16, bf16, f32, f64 and bits); 0 after a failure. */
uint64_t ptx_float_bits(struct ptx_parser *p, struct ptx_constant constant, unsigned type);

/* parse_decl.c */
uint32_t ptx_declare(struct ptx_parser *p, const struct ptx_token *name, unsigned kind, uint32_t index, uint32_t count);
struct ptx_symbol *ptx_lookup(struct ptx_parser *p, const char *text, uint32_t length, uint32_t hash);
void ptx_open_scope(struct ptx_parser *p);
void ptx_close_scope(struct ptx_parser *p);
void ptx_parse_registers(struct ptx_parser *p);
void ptx_parse_variable(struct ptx_parser *p, unsigned space, unsigned linkage);
unsigned ptx_space_word(const struct ptx_token *token);
unsigned ptx_type_word(const struct ptx_token *token);
int ptx_same(const struct ptx_token *token, const char *text);
/* One formal parameter; name may be `_`. declare: make variable and symbol (in the parameter area of the function). */
void ptx_parse_parameter(struct ptx_parser *p, struct ptx_parameter *out, int declare);
/* ( list ) into an arena array. */
struct ptx_parameter *ptx_parse_parameters(struct ptx_parser *p, uint32_t *count, int declare);

/* parse_init.c */
void ptx_parse_initialiser(struct ptx_parser *p, uint32_t variable, const uint64_t *dims, uint32_t dim_count);

/* parse_code.c */
void ptx_parse_body(struct ptx_parser *p);
void ptx_parse_loc(struct ptx_parser *p);
void ptx_skip_statement(struct ptx_parser *p);

/* parse_bind.c: make an instruction of the raw operands and the templates; error where none fits. */
void ptx_bind(struct ptx_parser *p, const struct ptx_template *templates, uint32_t guard, int negated, uint32_t line);

/* forms.c */
const struct ptx_template *ptx_find_template(struct ptx_parser *p, const char *text, uint32_t length, uint32_t hash);
unsigned ptx_word(struct ptx_parser *p, const char *text, size_t length); /* 0: none */

#endif
