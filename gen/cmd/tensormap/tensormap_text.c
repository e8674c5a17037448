// The calls of a text that people have: dumps of libraries, and calls in source code.
#include <stdlib.h>
#include <string.h>

#include "cmd/tensormap/tensormap_question.h"

enum { QUESTIONS = 1024 }; // different calls of one text; more are noted as broken

int tensormap_ask(struct tensormap_questions *out, const struct tensormap_question *question)
{
    struct tensormap_fault fault;
    for (int i = 0; i < out->count; i++) {
        struct tensormap_question *old = &out->item[i];
        struct tw_tensormap_call call = question->call;
        // Another tensor of the same kind; of an address its alignment counts, and whether there is one.
        if (call.addr && old->call.addr && (call.addr ^ old->call.addr) % 32 == 0)
            call.addr = old->call.addr;
        if (memcmp(&old->call, &call, sizeof call) == 0 && old->result == question->result &&
            (old->map % 64 != 0) == (question->map % 64 != 0) && old->form == question->form) {
            old->times++;
            return 0;
        }
    }
    if (out->count == QUESTIONS) {
        tensormap_fail(&fault, "more than %d different calls; the rest is not looked at", QUESTIONS);
        tensormap_broken(out, question->line, &fault);
        return 0;
    }
    if (out->count == out->capacity) {
        int capacity = out->capacity ? 2 * out->capacity : 16;
        struct tensormap_question *grown = realloc(out->item, (size_t)capacity * sizeof *grown);
        if (!grown)
            return -1;
        out->item = grown;
        out->capacity = capacity;
    }
    out->item[out->count] = *question;
    out->item[out->count++].times = 1;
    return 0;
}

void tensormap_broken(struct tensormap_questions *out, int line, const struct tensormap_fault *why)
{
    if (out->broken++ == 0) {
        out->broken_line = line;
        out->why = *why;
    }
}

void tensormap_free_questions(struct tensormap_questions *questions)
{
    free(questions->item);
    memset(questions, 0, sizeof *questions);
}

static int by_line(const void *a, const void *b)
{
    return ((const struct tensormap_question *)a)->line - ((const struct tensormap_question *)b)->line;
}

// The end of a terminal's escape sequence, "ESC [ 31 m"; p where none begins.
static const char *behind_escape(const char *p)
{
    const char *end = p;
    if (p[0] == '\033' && p[1] == '[')
        for (end += 2; (*end >= '0' && *end <= '9') || *end == ';'; end++)
            ;
    return end > p && *end ? end + 1 : p;
}

// Characters as a page's source spells them, and colours of a terminal left out, in place. Returns the length that is
// left.
static size_t unescape(char *text, size_t length)
{
    static const struct {
        const char *name;
        char character;
    } entities[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&#39;", '\''}};
    size_t to = 0;
    for (size_t from = 0; from < length;) {
        size_t taken = (size_t)(behind_escape(text + from) - (text + from));
        if (taken > 0) {
            from += taken;
            continue;
        }
        taken = 1;
        text[to] = text[from];
        for (size_t i = 0; text[from] == '&' && i < sizeof entities / sizeof *entities; i++)
            if (strncmp(text + from, entities[i].name, strlen(entities[i].name)) == 0) {
                text[to] = entities[i].character;
                taken = strlen(entities[i].name);
            }
        from += taken;
        to++;
    }
    text[to] = 0;
    return to;
}

int tensormap_read_text(char *text, size_t length, struct tensormap_questions *out, struct tensormap_fault *fault)
{
    for (size_t i = 0; i < length; i++)
        if (!text[i])
            text[i] = ' ';
    length = unescape(text, length);
    if (tensormap_read_dumps(text, length, out) || tensormap_read_c(text, length, out, 0))
        return tensormap_fail(fault, "out of memory");
    // Source that lost its line ends stands behind the first //.
    if (!out->count && !out->result && !out->broken && tensormap_read_c(text, length, out, 1))
        return tensormap_fail(fault, "out of memory");
    if (!out->count && out->result)
        return 0;
    if (out->count) {
        qsort(out->item, (size_t)out->count, sizeof *out->item, by_line);
        return 0;
    }
    if (out->broken)
        return tensormap_fail(fault, "line %d: %.480s", out->broken_line, out->why.text);
    return tensormap_fail(fault, "no call found in the text; a call is name=value words, JSON, the call in C, or what "
                                 "CUTLASS, TensorRT-LLM, FlashInfer, TileLang, DeepGEMM, Triton or ThunderKittens "
                                 "print when it fails");
}
