#include "spec/fill.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct fill_word fill_words[] = {
#define FILL_WORD(word, kind, numbers, low, high, form, usage, doc) {word, kind, numbers, low, high, form, usage, doc},
#include "spec/fill_words.def"
#undef FILL_WORD
    {NULL, FILL_DRAWN, 0, 0.0, 0.0, NULL, NULL, NULL},
};

const struct fill_word *fill_word_of(const char *text)
{
    size_t length = strcspn(text, " ");
    for (const struct fill_word *row = fill_words; row->word; row++)
        if (strlen(row->word) == length && strncmp(row->word, text, length) == 0)
            return row;
    return NULL;
}

bool fill_read(const struct fill_word *row, const char *text, struct fill *fill)
{
    double value[2] = {row->low, row->high};
    text += strlen(row->word);
    for (int n = 0; n < row->numbers; n++) {
        char *end;
        value[n] = strtod(text, &end);
        if (end == text || value[n] < row->low || value[n] > row->high || (isnan(value[n]) && !isinf(row->high)))
            return false;
        text = end;
    }
    if (text[strspn(text, " ")])
        return false;
    if (row->numbers == 1)
        value[1] = value[0];
    *fill = (struct fill){row->kind, value[0], value[1]};
    if (row->kind == FILL_INTEGERS || row->kind == FILL_DOCUMENTS) {
        fill->low = ceil(fill->low);
        fill->high = floor(fill->high);
    }
    return row->numbers < 2 || fill->low <= fill->high;
}
