/* What `tensormap explain` answers: calls, with what came of them, out of words, JSON, or text that people have: what a
   library printed when the call failed, or the C call itself. */
#ifndef TW_GEN_CMD_TENSORMAP_TENSORMAP_QUESTION_H
#define TW_GEN_CMD_TENSORMAP_TENSORMAP_QUESTION_H

#include <stddef.h>
#include <stdint.h>

#include "cmd/tensormap/tensormap_json.h"

enum { TENSORMAP_TEXT_MOST = TENSORMAP_LINE_MOST + 4096 }; /* bytes of text that is read for calls */

/* One call. Zero-initialised but for the call is one of which nothing else is known. */
struct tensormap_question {
    struct tw_tensormap_call call;
    int result;       /* what the driver answered: a CUresult, 0 where it is not told */
    int driver;       /* as cuDriverGetVersion counts, 12040 for 12.4; 0: not told */
    uint64_t map;     /* where the map was to be written; 0: not told */
    int line;         /* of the text, from 1; 0: not from a text */
    int times;        /* how often the same call stands in the text */
    const char *form; /* what kind of text, "CUTLASS dump"; NULL: not from a text */
    char note[320];   /* what the text leaves out and what was taken for it; "" */
};

/* The calls of a text, each once, in the order in which they come. Zero-initialised is empty. */
struct tensormap_questions {
    struct tensormap_question *item;
    int count, capacity;
    int result, result_line; /* the first result that is told without a call; 0: none */
    int broken;      /* pieces that look like a call and cannot be read */
    int broken_line; /* the first of them, and why */
    struct tensormap_fault why;
};

/* Find the calls in a zero-terminated text of this length, which is changed. Returns 0, or -1 and the reason where
   there is none. Free the questions either way. */
int tensormap_read_text(char *text, size_t length, struct tensormap_questions *out, struct tensormap_fault *fault);
void tensormap_free_questions(struct tensormap_questions *questions);

/* Add a call, or count one that is there already but for the addresses of tensor and map. 0, or -1 out of memory. */
int tensormap_ask(struct tensormap_questions *out, const struct tensormap_question *question);

/* Note that a piece of the text cannot be read. */
void tensormap_broken(struct tensormap_questions *out, int line, const struct tensormap_fault *why);

/* Dumps of libraries; calls in C, C++ and Python, with `comments` also behind a //. 0, or -1 out of memory. */
int tensormap_read_dumps(const char *text, size_t length, struct tensormap_questions *out);
int tensormap_read_c(const char *text, size_t length, struct tensormap_questions *out, int comments);

/* The number of a CUresult that a text begins with: its number, its name, or what cuGetErrorString says. 0: none. */
int tensormap_result_of(const char *text);

/* "12.4" is 12040; -1 where the text is no version. */
int tensormap_driver_version(const char *text);

/* Say what is wrong with the calls of the words, of the text, or of stdin. Exit status. */
struct tensormap_options {
    int cc;
    int json;
    int driver; /* as in a question */
    json_tokener *tokener;
};
int tensormap_explain(int argc, char **argv, const struct tensormap_options *options);

#endif
