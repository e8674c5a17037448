// Calls out of what libraries print when cuTensorMapEncode* fails. A line may have anything before and behind a key
// with its value, as logs have; a dump is what stands between one key and the next of the same name.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/tensormap/tensormap_question.h"
#include "cmd/tensormap/tensormap_values.h"

enum { ENTRIES = 5, LEAST_KEYS = 4, SILENT_LINES = 24 };

enum form {
#define FORM(ID, name, result_before, l2) FORM_##ID,
#define KEY(FORM, spelling, field, shape)
#define MARK(text)
#include "cmd/tensormap/tensormap_dumps.def"
    FORM_COUNT
};

enum field {
    FIELD_NONE,
#define ARG(ID, name, member, bytes, funcs, entries, is_signed) FIELD_##ID,
#include "tensormap/tensormap_args.def"
    FIELD_MAP,
    FIELD_ALL_STRIDES,     // bytes, the element's first
    FIELD_ELEMENT_STRIDES, // elements
    FIELD_SWIZZLE_BYTES,   // 0, 32, 64 or 128
    FIELD_BYTES,           // of an element
    FIELD_COUNT
};

enum shape { SHAPE_NUMBER, SHAPE_LIST, SHAPE_ROW, SHAPE_POINTED };

static const struct {
    const char *name;
    int result_before;
    uint32_t l2;
} forms[FORM_COUNT] = {
#define FORM(ID, name, result_before, l2) {name, result_before, l2},
#define KEY(FORM, spelling, field, shape)
#define MARK(text)
#include "cmd/tensormap/tensormap_dumps.def"
};

static const struct key {
    enum form form;
    const char *spelling;
    enum field field;
    enum shape shape;
} keys[] = {
#define FORM(ID, name, result_before, l2)
#define KEY(FORM, spelling, field, shape) {FORM_##FORM, spelling, FIELD_##field, SHAPE_##shape},
#define MARK(text)
#include "cmd/tensormap/tensormap_dumps.def"
};

enum { KEYS = sizeof keys / sizeof *keys };

static const char *const marks[] = {
#define FORM(ID, name, result_before, l2)
#define KEY(FORM, spelling, field, shape)
#define MARK(text) text,
#include "cmd/tensormap/tensormap_dumps.def"
};

static const struct {
    int number;
    const char *name, *text;
} results[] = {
#define RESULT(number, name, text, blame, advice) {number, #name, text},
#include "tensormap/tensormap_results.def"
};

// A dump that is being read, and what is told of the one that comes.
struct dump {
    struct tensormap_questions *out;
    enum form form;
    int line, silent, keys;
    uint64_t value[FIELD_COUNT][ENTRIES];
    unsigned count[FIELD_COUNT]; // 0: not there
    int result, coming;          // of this dump; of the next one
    int ragged, ragged_keys;     // line of the first key whose value cannot be read, 0: none; how many there are
    struct tensormap_fault why;
    int lost; // out of memory
};

int tensormap_result_of(const char *text)
{
    text += strspn(text, " \t:.");
    // What kind of a map it was, "(tile): ", where no result stands in the brackets.
    const size_t kind = *text == '(' ? strcspn(text, ")") : 0;
    if (kind && text[kind] && strspn(text + kind + 1, " \t") < strspn(text + kind + 1, " \t:"))
        text += kind + 1;
    text += strspn(text, " \t:.(");
    static const char *const before[] = {"due to ", "with ", "error ", "code ", "result "};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        if (strncmp(text, before[i], strlen(before[i])) == 0)
            text += strlen(before[i]);
    if (*text >= '0' && *text <= '9') {
        char *end;
        long number = strtol(text, &end, 10);
        return number > 0 && number < 10000 && strcspn(end, " \t\r\n(,;.\"'\\") == 0 ? (int)number : 0;
    }
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        if (strncmp(text, results[i].name, strlen(results[i].name)) == 0 ||
            strncmp(text, results[i].text, strlen(results[i].text)) == 0)
            return results[i].number;
    return 0;
}

// ---- a dump becomes a call

static unsigned given(const struct dump *d, enum field field)
{
    return d->count[field];
}

static void note(struct tensormap_question *q, const char *text)
{
    size_t used = strlen(q->note);
    snprintf(q->note + used, sizeof q->note - used, "%s%s", used ? "; " : "", text);
}

static void take_rank(const struct dump *d, struct tensormap_question *q)
{
    char text[80];
    if (given(d, FIELD_RANK)) {
        q->call.rank = (uint32_t)d->value[FIELD_RANK][0];
        return;
    }
    q->call.rank = d->count[FIELD_DIM];
    // CUTLASS prints five entries whatever the rank is, with strides of 0 behind the last.
    while (d->count[FIELD_ALL_STRIDES] >= q->call.rank && q->call.rank > 1 &&
           d->value[FIELD_ALL_STRIDES][q->call.rank - 1] == 0)
        q->call.rank--;
    if (d->form == FORM_CUTE) {
        snprintf(text, sizeof text, "dim is not there, taken as %" PRIu32 " by the strides", q->call.rank);
        note(q, text);
    }
}

static void take_dtype(const struct dump *d, struct tensormap_question *q)
{
    static const struct {
        uint64_t bytes;
        uint32_t dtype;
        const char *name;
    } likely[] = {{1, 0, "UINT8"}, {2, 9, "BFLOAT16"}, {4, 7, "FLOAT32"}, {8, 8, "FLOAT64"}};
    char text[120];
    if (given(d, FIELD_DTYPE)) {
        q->call.dtype = (uint32_t)d->value[FIELD_DTYPE][0];
        return;
    }
    uint64_t bytes = given(d, FIELD_BYTES)         ? d->value[FIELD_BYTES][0]
                     : given(d, FIELD_ALL_STRIDES) ? d->value[FIELD_ALL_STRIDES][0]
                                                   : 0;
    for (size_t i = 0; i < sizeof likely / sizeof *likely; i++)
        if (likely[i].bytes == bytes || (i == 1 && !bytes)) {
            q->call.dtype = likely[i].dtype;
            snprintf(text, sizeof text, "the data type is not there, taken as %s%s", likely[i].name,
                     bytes ? " by the bytes of an element" : "");
            note(q, text);
        }
}

static void take_strides(const struct dump *d, struct tensormap_question *q)
{
    for (unsigned i = 0; i < 4 && i < tmap_entries(&q->call, TMAP_STRIDE); i++) {
        if (i < d->count[FIELD_STRIDE])
            q->call.stride[i] = d->value[FIELD_STRIDE][i];
        else if (i + 1 < d->count[FIELD_ALL_STRIDES])
            q->call.stride[i] = d->value[FIELD_ALL_STRIDES][i + 1];
        else if (i < d->count[FIELD_ELEMENT_STRIDES] && given(d, FIELD_BYTES))
            q->call.stride[i] = d->value[FIELD_ELEMENT_STRIDES][i] * d->value[FIELD_BYTES][0];
    }
}

static uint32_t swizzle_of(uint64_t bytes)
{
    return bytes == 128 ? 3 : bytes == 64 ? 2 : bytes == 32 ? 1 : bytes <= 16 ? 0 : (uint32_t)bytes;
}

// Entries that the rank asks for and that are not there, so that nobody would answer for a 0 that nobody passed.
static int holds_together(const struct dump *d, const struct tw_tensormap_call *c, struct tensormap_fault *fault)
{
    const unsigned rank = tmap_rank(c);
    const unsigned strides = d->count[FIELD_STRIDE]            ? d->count[FIELD_STRIDE] + 1
                             : d->count[FIELD_ELEMENT_STRIDES] ? d->count[FIELD_ELEMENT_STRIDES] + 1
                                                               : d->count[FIELD_ALL_STRIDES];
    const unsigned box = c->func == TW_TENSORMAP_TILED ? d->count[FIELD_BOX] : rank;
    if (rank && (d->count[FIELD_DIM] < rank || (rank > 1 && strides < rank) || box < rank))
        return tensormap_fail(fault, "the dump is of rank %u and a list of it has fewer entries", rank);
    return 0;
}

static int make_call(const struct dump *d, struct tensormap_question *q, struct tensormap_fault *fault)
{
    struct tw_tensormap_call *c = &q->call;
    memset(q, 0, sizeof *q);
    if (given(d, FIELD_CHANNELS) && given(d, FIELD_PIXELS))
        c->func = TW_TENSORMAP_IM2COL;
    take_rank(d, q);
    take_dtype(d, q);
    take_strides(d, q);
    c->l2 = forms[d->form].l2;
    if (!given(d, FIELD_ADDR))
        c->addr = UINT64_C(0x7f0000000000);
    for (unsigned i = 0; i < ENTRIES; i++)
        c->estride[i] = 1;
    for (int a = TMAP_NONE + 1; a < TMAP_ARG_COUNT; a++) {
        // The enumerators of fields and arguments are made from one table. Behind the entries that the rank asks for
        // some libraries print what lies there.
        const unsigned most = tmap_entries(c, (enum tmap_arg)a);
        if (a == TMAP_RANK || a == TMAP_DTYPE || a == TMAP_STRIDE)
            continue;
        for (unsigned i = 0; i < d->count[a] && i < most; i++)
            tmap_set(c, (enum tmap_arg)a, i, d->value[a][i]);
    }
    if (given(d, FIELD_SWIZZLE_BYTES))
        c->swizzle = swizzle_of(d->value[FIELD_SWIZZLE_BYTES][0]);
    if (given(d, FIELD_MAP))
        q->map = d->value[FIELD_MAP][0];
    q->result = d->result;
    q->line = d->line;
    q->form = forms[d->form].name;
    return holds_together(d, c, fault);
}

static void finish(struct dump *d)
{
    struct tensormap_question question;
    struct tensormap_fault fault;
    const int box = given(d, FIELD_BOX) || (given(d, FIELD_CHANNELS) && given(d, FIELD_PIXELS));
    if (!d->result) {
        d->result = d->coming;
        d->coming = 0;
    }
    if (d->keys >= LEAST_KEYS && given(d, FIELD_DIM) && box) {
        if (make_call(d, &question, &fault))
            tensormap_broken(d->out, d->line, &fault);
        else if (tensormap_ask(d->out, &question))
            d->lost = 1;
    } else if (d->ragged && d->keys + d->ragged_keys >= LEAST_KEYS) {
        tensormap_broken(d->out, d->ragged, &d->why);
    }
    memset(d->count, 0, sizeof d->count);
    d->keys = d->silent = d->result = d->ragged = d->ragged_keys = 0;
}

// ---- lines

static int is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Reads a number as an argument's type takes it; *p is moved behind it. -1: there is none.
static int read_number(const char **p, const char *end, uint64_t *value)
{
    char digits[40];
    size_t length = 0;
    char *rest;
    while (*p + length < end && length < sizeof digits - 1 && (is_word((*p)[length]) || (length == 0 && **p == '-'))) {
        digits[length] = (*p)[length];
        length++;
    }
    digits[length] = 0;
    const char *first = digits + (*digits == '-');
    if (*first < '0' || *first > '9')
        return -1;
    *value = strtoull(first, &rest, first[0] == '0' && (first[1] | 32) == 'x' ? 16 : 10);
    if (*rest)
        return -1;
    if (first != digits)
        *value = 0 - *value;
    *p += length;
    return 0;
}

static void skip(const char **p, const char *end, const char *set)
{
    while (*p < end && strchr(set, **p))
        ++*p;
}

// The value behind a key. Returns its count of entries, 0 where there is none; *p is moved behind it.
static unsigned read_value(enum shape shape, const char **p, const char *end, uint64_t value[ENTRIES])
{
    const char *at = *p;
    unsigned count = 0;
    skip(&at, end, " \t");
    if (shape == SHAPE_POINTED && read_number(&at, end, value) == 0)
        skip(&at, end, " \t");
    if (shape == SHAPE_LIST || shape == SHAPE_POINTED) {
        if (at == end || (*at != '(' && *at != '['))
            return 0;
        const char close = *at++ == '(' ? ')' : ']';
        for (skip(&at, end, " \t"); at < end && *at != close; skip(&at, end, " \t")) {
            if (count == ENTRIES || read_number(&at, end, &value[count]))
                return 0;
            count++;
            skip(&at, end, " \t");
            if (at < end && *at == ',')
                at++;
            else if (at == end || *at != close)
                return 0;
        }
        *p = at < end ? at + 1 : at;
        return at < end ? count : 0;
    }
    while (count < (shape == SHAPE_ROW ? ENTRIES : 1) && read_number(&at, end, &value[count]) == 0) {
        count++;
        *p = at;
        skip(&at, end, " \t");
    }
    // A number that text is glued to is none.
    return count && (*p == end || strchr(" \t\r,;)]\"'\\", **p)) ? count : 0;
}

static const struct key *key_at(const char *line, const char *p, const char *end)
{
    const struct key *found = NULL;
    size_t longest = 0;
    if (p > line && (is_word(p[-1]) || p[-1] == '.'))
        return NULL;
    for (size_t i = 0; i < KEYS; i++) {
        size_t length = strlen(keys[i].spelling);
        if (length <= longest || (size_t)(end - p) < length || memcmp(p, keys[i].spelling, length) != 0)
            continue;
        // "format" is not the beginning of "formats", nor, with a colon, of another library's key.
        if (is_word(keys[i].spelling[length - 1]) && p + length < end && p[length] != ' ' && p[length] != '\t')
            continue;
        found = &keys[i];
        longest = length;
    }
    return found;
}

static void take_key(struct dump *d, const struct key *key, int line, const uint64_t *value, unsigned count)
{
    if (d->keys && (d->form != key->form || given(d, key->field)))
        finish(d);
    if (!d->keys)
        d->line = line;
    d->form = key->form;
    d->keys++;
    d->silent = 0;
    d->count[key->field] = count;
    memcpy(d->value[key->field], value, count * sizeof *value);
}

// The value of a key cannot be read: words of prose, or a dump that other output has cut up.
static void take_ragged(struct dump *d, const struct key *key, int line, const char *p, const char *end)
{
    skip(&p, end, " \t");
    const int pointer = end - p > 2 && p[0] == '0' && p[1] == 'x';
    if ((key->shape != SHAPE_LIST && key->shape != SHAPE_POINTED) || d->ragged_keys++)
        return;
    d->ragged = line;
    if (pointer)
        tensormap_fail(
            &d->why,
            "%s is printed as the address of a list, without its entries; give the C call with its lists, or "
            "run the program under libtilewright-explain.so, which reads them",
            key->spelling);
    else
        tensormap_fail(&d->why,
                       "behind %s stands '%.*s', which is no list: lines of several processes or threads are mixed up; "
                       "give the output of one",
                       key->spelling, (int)(end - p > 40 ? 40 : end - p), p);
}

static void read_result(struct dump *d, const char *line, const char *end, int number)
{
    char text[160];
    for (size_t m = 0; m < sizeof marks / sizeof *marks; m++)
        for (const char *p = line; (size_t)(end - p) >= strlen(marks[m]); p++) {
            if (memcmp(p, marks[m], strlen(marks[m])) != 0)
                continue;
            p += strlen(marks[m]);
            snprintf(text, sizeof text, "%.*s", (int)(end - p > 150 ? 150 : end - p), p);
            int result = tensormap_result_of(text);
            // Behind a dump that is whole the line belongs to it, but where the library prints the line first.
            if (d->keys >= LEAST_KEYS && given(d, FIELD_DIM) && !forms[d->form].result_before && !d->result) {
                d->result = result ? result : 1;
                finish(d);
            } else {
                if (d->keys)
                    finish(d);
                d->coming = result ? result : 1;
                if (!d->out->result) {
                    d->out->result = d->coming;
                    d->out->result_line = number;
                }
            }
            return;
        }
}

static void read_line(struct dump *d, const char *line, const char *end, int number)
{
    int keys_before = d->keys;
    uint64_t value[ENTRIES];
    read_result(d, line, end, number);
    for (const char *p = line; p < end;) {
        const struct key *key = key_at(line, p, end);
        if (!key) {
            p++;
            continue;
        }
        const char *behind = p + strlen(key->spelling);
        unsigned count = read_value(key->shape, &behind, end, value);
        if (count)
            take_key(d, key, number, value, count);
        else
            take_ragged(d, key, number, behind, end);
        p = count ? behind : p + strlen(key->spelling);
    }
    if (d->keys == keys_before && d->keys && ++d->silent > SILENT_LINES)
        finish(d);
}

int tensormap_read_dumps(const char *text, size_t length, struct tensormap_questions *out)
{
    struct dump d = {.out = out};
    int number = 1;
    const char *end = text + length;
    for (const char *line = text; line < end;) {
        // A log that quotes a message writes its line ends as \n.
        const char *stop = line;
        while (stop < end && *stop != '\n' && !(stop + 1 < end && stop[0] == '\\' && stop[1] == 'n'))
            stop++;
        read_line(&d, line, stop, number);
        if (stop < end && *stop == '\n')
            number++;
        line = stop < end ? stop + (*stop == '\n' ? 1 : 2) : stop;
    }
    finish(&d);
    return d.lost ? -1 : 0;
}
