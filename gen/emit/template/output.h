/* The emitted lines before they become one text: blank lines, empty branches, #line. */
#ifndef TW_GEN_EMIT_TEMPLATE_OUTPUT_H
#define TW_GEN_EMIT_TEMPLATE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emit/template/template.h"
#include "emit/template/text.h"
#include "spec/arena.h"

struct output_line {
    const char *text;
    size_t length;
    size_t indent;  /* blanks before its first character */
    uint64_t words; /* a bit for each word outside of strings; 0: nobody has asked yet */
    const struct template *template;
    int line;       /* of the template, from 0 */
    bool continued; /* a further line of a hole's text: the same template line */
    bool blank;     /* a blank line stands before it */
    bool dropped;
    bool block;     /* many lines, which stay as they are */
    bool quotes;    /* of lines with `words`: there is a quotation mark or the beginning of a comment in it */
};

/* Zero-initialised but for `arena` is empty. */
struct output {
    struct arena *arena;
    struct output_line *line;
    int count, capacity;
    bool blank;  /* a blank line is due */
    bool failed; /* out of memory */
};

/* The bit of a word among those of a line: without it, the word is not in the line. Of an empty word, all. */
uint64_t output_word(const char *word, size_t length);
uint64_t output_words(struct output_line *line);

void output_blank(struct output *o);
/* Copies the line's text; it is not empty and has no white space at its end. */
void output_line(struct output *o, const struct template *t, int line, bool continued, const char *text, size_t length);
/* Takes over the text, many lines of literals, as they are to stand in the output. */
void output_block(struct output *o, const struct template *t, int line, struct emit_text *text);
/* Bytes that suffice for what output_write adds for nearly all outputs, before it is called. */
size_t output_bytes(const struct output *o);
void output_write(struct output *o, bool line_directives, struct emit_text *result);

#endif
