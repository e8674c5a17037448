/* What a tensor holds when a kernel is tried: the words of `fill` in a spec (fill_words.def), parsed. */
#ifndef TW_GEN_SPEC_FILL_H
#define TW_GEN_SPEC_FILL_H

#include <stdbool.h>
#include <stddef.h>

enum fill_kind {
    FILL_DRAWN,    /* nothing is said: random values, as a run chooses them */
    FILL_NORMAL,
    FILL_INTEGERS, /* whole numbers from low to high */
    FILL_CONSTANT, /* low */
    FILL_IOTA,
    FILL_DOCUMENTS /* high of them */
};

struct fill {
    enum fill_kind kind;
    double low, high;
};

struct fill_word {
    const char *word;
    enum fill_kind kind;
    int numbers;
    double low, high;
    const char *form, *usage, *doc;
};

enum {
    FILL_WORD_COUNT = 0
#define FILL_WORD(word, kind, numbers, low, high, form, usage, doc) +1
#include "spec/fill_words.def"
#undef FILL_WORD
};

/* The rows of fill_words.def; behind the last one, one whose word is NULL. */
extern const struct fill_word fill_words[];

/* The row whose word `text` begins with; NULL where there is none. */
const struct fill_word *fill_word_of(const char *text);

/* Reads "documents 8". False where `row`, the text's, does not take what stands behind its word. */
bool fill_read(const struct fill_word *row, const char *text, struct fill *fill);

#endif
