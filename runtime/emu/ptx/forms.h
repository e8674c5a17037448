/* Forms: the rows of ptx_opcodes.def, read; and mnemonics that were seen. */
#ifndef PTX_FORMS_H
#define PTX_FORMS_H

#include "ptx.h"

enum ptx_field {
    FIELD_FLAG,
    FIELD_TYPE,
    FIELD_VECTOR,
    FIELD_SPACE,
    FIELD_ROUNDING,
    FIELD_COMPARE,
    FIELD_BOOLEAN,
    FIELD_OPERATION,
    FIELD_SECOND,
    FIELD_SEMANTICS,
    FIELD_SCOPE,
    FIELD_CACHE,
    FIELD_LAYOUT,
    FIELD_SHAPE
};

enum ptx_pattern_kind {
    PATTERN_TYPED,
    PATTERN_WIDTH,
    PATTERN_POINTER,
    PATTERN_MATRIX,
    PATTERN_PREDICATE,
    PATTERN_INTEGER,
    PATTERN_NUMBER,
    PATTERN_ADDRESS,
    PATTERN_TENSOR,
    PATTERN_TEXTURE,
    PATTERN_OFFSETS,
    PATTERN_FRAGMENT,
    PATTERN_LABEL,
    PATTERN_MOV,
    PATTERN_CALL,
    PATTERN_TARGETS
};

struct ptx_pattern {
    uint8_t kind;
    uint8_t slot; /* TYPED: which type, from 0; WIDTH: bits; MATRIX: how many, or 0; FRAGMENT: 'D', 'A', 'B', 'C' */
    char suffix;  /* TYPED: '+', 'w', 'v', 't', 'g', 's' or 0 */
    uint8_t destination;
    uint8_t sink; /* `_` allowed */
    uint8_t bar;  /* written behind `|` */
    uint8_t optional;
    uint8_t condition; /* flag that must be written, or 0 */
};

#define PTX_SLOTS 16
#define PTX_PATTERNS 10
#define PTX_WORD_BITS 256 /* words: modifiers, then types from PTX_MOD_COUNT on */

struct ptx_slot {
    uint8_t field;
    uint8_t optional;
    uint64_t words[PTX_WORD_BITS / 64];
};

struct ptx_form {
    uint16_t slot_count, pattern_count;
    uint64_t always; /* flags that are set unwritten */
    struct ptx_slot slots[PTX_SLOTS];
    struct ptx_pattern patterns[PTX_PATTERNS];
};

/* A mnemonic that was seen: what its modifiers mean. Forms whose modifiers fit too follow by next. */
struct ptx_template {
    const char *text;
    uint32_t length, hash;
    struct ptx_instruction instruction;
    const struct ptx_form *form;
    struct ptx_template *next;  /* another form of the same mnemonic */
    struct ptx_template *chain; /* in the bucket */
};

#endif
