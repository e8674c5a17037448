/* From ptx_opcodes.def to what a mnemonic means. Forms are compiled on first use; each distinct mnemonic of a text is
   taken apart once and kept as a template. */
#include <stdio.h>
#include <stdlib.h>

#include "parser.h"

_Static_assert((int)PTX_MOD_COUNT + (int)PTX_TYPE_COUNT <= PTX_WORD_BITS, "words fit the sets of a slot");
_Static_assert(PTX_FLAG_END <= 65, "flags fit 64 bits");

const struct ptx_type_info ptx_types[PTX_TYPE_COUNT] = {
    {"none", 0, PTX_KIND_NONE, 0},
#define TYPE(id, text, bits, kind, lanes) {text, bits, PTX_KIND_##kind, lanes},
#include "ptx_types.def"
#undef TYPE
};

const char *const ptx_modifier_texts[PTX_MOD_COUNT] = {
#define FLAG(id, text) [PTX_MOD_##id] = text,
#define MODIFIER(id, text, value) [PTX_MOD_##id] = text,
#include "ptx_modifiers.def"
#undef FLAG
#undef MODIFIER
};

static const uint8_t modifier_values[PTX_MOD_COUNT] = {
#define FLAG(id, text)
#define MODIFIER(id, text, value) [PTX_MOD_##id] = value,
#include "ptx_modifiers.def"
#undef FLAG
#undef MODIFIER
};

const char *const ptx_opcode_texts[PTX_OP_COUNT] = {
#define OPCODE(id, mnemonic, reason) mnemonic,
#define FORM(operands, modifiers)
#include "ptx_opcodes.def"
#undef OPCODE
#undef FORM
};

static const char *const reasons[PTX_OP_COUNT] = {
#define OPCODE(id, mnemonic, reason) reason,
#define FORM(operands, modifiers)
#include "ptx_opcodes.def"
#undef OPCODE
#undef FORM
};

const char *ptx_reason(unsigned opcode)
{
    return reasons[opcode];
}

/* All rows in order: a row without operands text begins an opcode. */
static const struct {
    const char *operands, *modifiers;
} rows[] = {
#define OPCODE(id, mnemonic, reason) {NULL, NULL},
#define FORM(operands, modifiers) {operands, modifiers},
#include "ptx_opcodes.def"
#undef OPCODE
#undef FORM
};
#define ROWS (sizeof rows / sizeof rows[0])

uint32_t ptx_written(const struct ptx_instruction *instruction)
{
    if (instruction->opcode == PTX_OP_CALL || instruction->opcode == PTX_OP_MOV)
        return 1;
    const char *form = rows[instruction->form].operands;
    if (!form || *form != '=')
        return 0;
    const char *second = strchr(form, ' ');
    return second && second[1] == '|' ? 3 : 1;
}

static const struct {
    const char *name, *words;
} groups[] = {
#define GROUP(name, words) {#name, words},
#define OPCODE(id, mnemonic, reason)
#define FORM(operands, modifiers)
#include "ptx_opcodes.def"
#undef OPCODE
#undef FORM
};

/* ---- Words ------------------------------------------------------------------------------------------------------- */

#define WORD_TABLE 1024 /* open addressing; three quarters free */

static const char *word_text(unsigned word)
{
    return word < PTX_MOD_COUNT ? ptx_modifier_texts[word] : ptx_types[word - PTX_MOD_COUNT].text;
}

static int build_words(struct ptx_parser *p)
{
    p->word_table = ptx_arena(p, WORD_TABLE);
    if (!p->word_table)
        return 0;
    for (unsigned word = 1; word < (unsigned)PTX_MOD_COUNT + PTX_TYPE_COUNT; word++) {
        const char *text = word_text(word);
        if (!text || word == PTX_MOD_COUNT)
            continue;
        uint32_t at = ptx_hash(text, strlen(text)) % WORD_TABLE;
        while (p->word_table[at])
            at = (at + 1) % WORD_TABLE;
        p->word_table[at] = (uint8_t)word;
    }
    return 1;
}

unsigned ptx_word(struct ptx_parser *p, const char *text, size_t length)
{
    if (!p->word_table && !build_words(p))
        return 0;
    for (uint32_t at = ptx_hash(text, length) % WORD_TABLE; p->word_table[at]; at = (at + 1) % WORD_TABLE) {
        const char *known = word_text(p->word_table[at]);
        if (strlen(known) == length && !memcmp(known, text, length))
            return p->word_table[at];
    }
    return 0;
}

/* ---- Forms ------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *text;
    uint8_t field;
} field_names[] = {
    {"type", FIELD_TYPE},     {"vec", FIELD_VECTOR},   {"space", FIELD_SPACE},  {"round", FIELD_ROUNDING},
    {"cmp", FIELD_COMPARE},   {"bool", FIELD_BOOLEAN}, {"op", FIELD_OPERATION}, {"op2", FIELD_SECOND},
    {"sem", FIELD_SEMANTICS}, {"scope", FIELD_SCOPE},  {"cache", FIELD_CACHE},  {"layout", FIELD_LAYOUT},
    {"shape", FIELD_SHAPE},
};

static int same(const char *text, size_t length, const char *name)
{
    return strlen(name) == length && !memcmp(text, name, length);
}

/* The words of `a|b|$group` into a set. */
static void add_words(struct ptx_parser *p, struct ptx_slot *slot, const char *text, size_t length)
{
    while (length) {
        size_t n = 0;
        while (n < length && text[n] != '|')
            n++;
        if (*text == '$') {
            for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
                if (same(text + 1, n - 1, groups[i].name))
                    add_words(p, slot, groups[i].words, strlen(groups[i].words));
        } else {
            unsigned word = ptx_word(p, text, n);
            slot->words[word / 64] |= UINT64_C(1) << word % 64;
        }
        n += n < length;
        text += n;
        length -= n;
    }
}

static void compile_slot(struct ptx_parser *p, struct ptx_form *form, const char *text, size_t length)
{
    if (*text == '+') {
        form->always |= UINT64_C(1) << (ptx_word(p, text + 1, length - 1) - 1);
        return;
    }
    struct ptx_slot *slot = &form->slots[form->slot_count++];
    if (text[length - 1] == '?') {
        slot->optional = 1;
        length--;
    }
    const char *equals = memchr(text, '=', length);
    if (equals) {
        for (size_t i = 0; i < sizeof field_names / sizeof field_names[0]; i++)
            if (same(text, (size_t)(equals - text), field_names[i].text))
                slot->field = field_names[i].field;
        length -= (size_t)(equals + 1 - text);
        text = equals + 1;
    }
    add_words(p, slot, text, length);
}

static void compile_pattern(struct ptx_parser *p, struct ptx_form *form, const char *text, size_t length)
{
    struct ptx_pattern *pattern = &form->patterns[form->pattern_count++];
    for (; *text == '=' || *text == '|'; text++, length--) {
        pattern->destination = 1;
        pattern->bar |= *text == '|';
        pattern->optional |= *text == '|';
    }
    const char *at = memchr(text, '@', length);
    if (at) {
        pattern->condition = (uint8_t)ptx_word(p, at + 1, length - (size_t)(at + 1 - text));
        length = (size_t)(at - text);
    }
    if (text[length - 1] == '?') {
        pattern->optional = 1;
        length--;
    }
    if (text[length - 1] == '_') {
        pattern->sink = 1;
        length--;
    }
    static const struct {
        const char *text;
        uint8_t kind, slot;
    } words[] = {
        {"b16", PATTERN_WIDTH, 16},     {"b32", PATTERN_WIDTH, 32},   {"b64", PATTERN_WIDTH, 64},
        {"ptr", PATTERN_POINTER, 0},    {"xN", PATTERN_MATRIX, 0},    {"x4", PATTERN_MATRIX, 4},
        {"pred", PATTERN_PREDICATE, 0}, {"imm", PATTERN_INTEGER, 0},  {"fimm", PATTERN_NUMBER, 0},
        {"a", PATTERN_ADDRESS, 0},      {"o", PATTERN_TEXTURE, 0},    {"t", PATTERN_TENSOR, 0},
        {"offs", PATTERN_OFFSETS, 0},   {"D", PATTERN_FRAGMENT, 'D'}, {"A", PATTERN_FRAGMENT, 'A'},
        {"B", PATTERN_FRAGMENT, 'B'},   {"C", PATTERN_FRAGMENT, 'C'}, {"label", PATTERN_LABEL, 0},
        {"mov", PATTERN_MOV, 0},        {"call", PATTERN_CALL, 0},    {"targets", PATTERN_TARGETS, 0},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (same(text, length, words[i].text)) {
            pattern->kind = words[i].kind;
            pattern->slot = words[i].slot;
            return;
        }
    pattern->kind = PATTERN_TYPED;
    pattern->slot = (uint8_t)(*text - '1');
    pattern->suffix = length > 1 ? text[1] : 0;
}

/* Each blank-separated part of text to one of the two above. */
static void each(struct ptx_parser *p, struct ptx_form *form, const char *text,
                 void (*compile)(struct ptx_parser *, struct ptx_form *, const char *, size_t))
{
    while (*text) {
        size_t n = strcspn(text, " ");
        compile(p, form, text, n);
        text += n;
        text += strspn(text, " ");
    }
}

static const struct ptx_form *get_form(struct ptx_parser *p, size_t row)
{
    if (!p->forms && !(p->forms = ptx_arena(p, ROWS * sizeof *p->forms)))
        return NULL;
    if (!p->forms[row]) {
        struct ptx_form *form = ptx_arena(p, sizeof *form);
        if (!form || (!p->word_table && !build_words(p)))
            return NULL;
        each(p, form, rows[row].modifiers, compile_slot);
        each(p, form, rows[row].operands, compile_pattern);
        p->forms[row] = form;
    }
    return p->forms[row];
}

/* ---- Mnemonics --------------------------------------------------------------------------------------------------- */

#define WORDS 24 /* of a mnemonic */

struct written { /* a mnemonic's words behind the opcode */
    const char *text[WORDS];
    uint32_t length[WORDS];
    unsigned word[WORDS]; /* 0: unknown; SHAPE */
    uint16_t m, n, k;
    unsigned count;
};
#define SHAPE UINT32_MAX

/* m64n128k16 and m8n8. */
static int read_shape(const char *text, size_t length, struct written *written)
{
    uint16_t size[3] = {0, 0, 0};
    size_t at = 0;
    for (int i = 0; i < 3 && at < length; i++) {
        if (text[at++] != "mnk"[i] || at >= length || text[at] < '1' || text[at] > '9')
            return 0;
        for (; at < length && text[at] >= '0' && text[at] <= '9'; at++) {
            if (size[i] > 1000)
                return 0;
            size[i] = (uint16_t)(size[i] * 10 + (text[at] - '0'));
        }
    }
    if (at != length || !size[1])
        return 0;
    written->m = size[0];
    written->n = size[1];
    written->k = size[2];
    return 1;
}

/* Put the words into the form's slots. -1: fits; otherwise the first word that has no place; count: a slot is empty. */
static int fit(const struct ptx_form *form, const struct written *written, struct ptx_instruction *out)
{
    unsigned filled = 0, least[FIELD_SHAPE + 1] = {0}; /* several words of one field keep their order */
    uint8_t slot_word[PTX_SLOTS] = {0};
    for (unsigned i = 0; i < written->count; i++) {
        unsigned word = written->word[i], s = 0;
        for (; s < form->slot_count; s++) {
            const struct ptx_slot *slot = &form->slots[s];
            if (filled >> s & 1 || s < least[slot->field])
                continue;
            if (word == SHAPE ? slot->field == FIELD_SHAPE : word && (slot->words[word / 64] >> word % 64 & 1))
                break;
        }
        if (s == form->slot_count)
            return (int)i;
        filled |= 1u << s;
        if (form->slots[s].field == FIELD_SPACE || form->slots[s].field == FIELD_TYPE ||
            form->slots[s].field == FIELD_LAYOUT)
            least[form->slots[s].field] = s;
        slot_word[s] = word == SHAPE ? 0 : (uint8_t)word;
    }
    out->mods = form->always;
    for (unsigned s = 0, spaces = 0, layouts = 0; s < form->slot_count; s++) {
        const struct ptx_slot *slot = &form->slots[s];
        uint8_t word = slot_word[s];
        if (!(filled >> s & 1)) {
            if (!slot->optional)
                return (int)written->count;
            continue;
        }
        switch (slot->field) {
        case FIELD_FLAG:
            out->mods |= UINT64_C(1) << (word - 1);
            break;
        case FIELD_TYPE:
            out->type[out->type_count++] = (uint8_t)(word - PTX_MOD_COUNT);
            break;
        case FIELD_VECTOR:
            out->vector = modifier_values[word];
            break;
        case FIELD_SPACE:
            out->space[spaces++] = modifier_values[word];
            break;
        case FIELD_ROUNDING:
            out->rounding = word;
            break;
        case FIELD_COMPARE:
            out->compare = word;
            break;
        case FIELD_BOOLEAN:
            out->boolean = word;
            break;
        case FIELD_OPERATION:
            out->operation = word;
            break;
        case FIELD_SECOND:
            out->second = word;
            break;
        case FIELD_SEMANTICS:
            out->semantics = word;
            break;
        case FIELD_SCOPE:
            out->scope = word;
            break;
        case FIELD_CACHE:
            if (!out->cache)
                out->cache = word;
            break;
        case FIELD_LAYOUT:
            out->layout[layouts++] = word;
            break;
        case FIELD_SHAPE:
            out->m = written->m;
            out->n = written->n;
            out->k = written->k;
            break;
        default:
            break;
        }
    }
    return -1;
}

/* The opcode whose mnemonic is the longest one that begins text; *taken: its length. */
static int find_opcode(const char *text, uint32_t length, uint32_t *taken)
{
    int found = -1;
    *taken = 0;
    for (int opcode = 0; opcode < PTX_OP_COUNT; opcode++)
        for (const char *name = ptx_opcode_texts[opcode]; *name;) {
            uint32_t n = (uint32_t)strcspn(name, "|");
            if (n <= length && n > *taken && !memcmp(text, name, n) && (n == length || text[n] == '.')) {
                found = opcode;
                *taken = n;
            }
            name += n + (name[n] == '|');
        }
    return found;
}

/* Refuse a mnemonic that fits no form: name the word that got least far. */
static void no_form(struct ptx_parser *p, const char *text, uint32_t length, const struct written *written, int bad)
{
    char mnemonic[160];
    int shown = length < 150 ? (int)length : 150;
    snprintf(mnemonic, sizeof mnemonic, "%.*s", shown, text);
    if (bad < (int)written->count && !written->word[bad])
        ptx_refuse(p, "'%s': unknown modifier .%.*s", mnemonic,
                   written->length[bad] < 60 ? (int)written->length[bad] : 60, written->text[bad]);
    else if (bad < (int)written->count)
        ptx_refuse(p, "'%s': modifier .%.*s is not supported here", mnemonic, (int)written->length[bad],
                   written->text[bad]);
    else
        ptx_refuse(p, "'%s': a modifier is missing, or the combination is not supported", mnemonic);
}

static struct ptx_template *build(struct ptx_parser *p, const char *text, uint32_t length)
{
    uint32_t taken;
    int shown = length < 150 ? (int)length : 150, opcode = find_opcode(text, length, &taken);
    if (opcode < 0) {
        ptx_refuse(p, "unknown instruction '%.*s'", shown, text);
        return NULL;
    }
    struct written written = {.count = 0};
    for (uint32_t at = taken; at < length;) {
        uint32_t start = ++at; /* behind the dot */
        while (at < length && text[at] != '.')
            at++;
        if (written.count == WORDS) {
            ptx_error(p, "'%.*s' has more than %d modifiers", shown, text, WORDS);
            return NULL;
        }
        unsigned i = written.count++;
        written.text[i] = text + start;
        written.length[i] = at - start;
        written.word[i] = ptx_word(p, text + start, at - start);
        if (!written.word[i] && read_shape(text + start, at - start, &written))
            written.word[i] = SHAPE;
    }
    size_t row = 0;
    for (int seen = -1; row < ROWS; row++)
        if (!rows[row].operands && ++seen == opcode)
            break;
    struct ptx_template *first = NULL, **last = &first;
    int bad = -1;
    for (row++; row < ROWS && rows[row].operands && !p->status; row++) {
        struct ptx_instruction instruction = {.opcode = (uint16_t)opcode, .form = (uint16_t)row, .guard = PTX_NONE};
        const struct ptx_form *form = get_form(p, row);
        if (!form)
            return NULL;
        int result = fit(form, &written, &instruction);
        if (result >= 0) {
            bad = result > bad ? result : bad;
            continue;
        }
        struct ptx_template *template = ptx_arena(p, sizeof *template);
        if (!template)
            return NULL;
        *template = (struct ptx_template){.text = text, .length = length, .instruction = instruction, .form = form};
        *last = template;
        last = &template->next;
    }
    if (!first && reasons[opcode])
        ptx_refuse_function(p, "'%.*s': %s is not supported", shown, text, reasons[opcode]);
    else if (!first)
        no_form(p, text, length, &written, bad);
    return first;
}

const struct ptx_template *ptx_find_template(struct ptx_parser *p, const char *text, uint32_t length, uint32_t hash)
{
    struct ptx_template **bucket = &p->templates[hash % PTX_TEMPLATE_BUCKETS];
    for (struct ptx_template *template = *bucket; template; template = template->chain)
        if (template->hash == hash && template->length == length && !memcmp(template->text, text, length))
            return template;
    struct ptx_template *template = build(p, text, length);
    if (template) {
        template->hash = hash;
        template->chain = *bucket;
        *bucket = template;
    }
    return p->status ? NULL : template;
}
