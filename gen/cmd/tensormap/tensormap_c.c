// Calls of cuTensorMapEncode* in source code: in C and C++ as the driver has them, through wrappers of any name that
// ends so, and in Python, where the map is what comes back.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/tensormap/tensormap_c.h"

enum { MOST_ARGS = 16, BROKEN_MOST = 1000, WORK_MOST = 200000000 };

static const struct encode_call {
    const char *name;
    enum tw_tensormap_func func;
    enum tmap_arg args[MOST_ARGS]; // TMAP_NONE: the map; what is behind the last is TMAP_ARG_COUNT
    int count;
} encode_calls[] = {
    {"cuTensorMapEncodeTiled",
     TW_TENSORMAP_TILED,
     {TMAP_NONE, TMAP_DTYPE, TMAP_RANK, TMAP_ADDR, TMAP_DIM, TMAP_STRIDE, TMAP_BOX, TMAP_ESTRIDE, TMAP_INTERLEAVE,
      TMAP_SWIZZLE, TMAP_L2, TMAP_OOB},
     12},
    {"cuTensorMapEncodeIm2col",
     TW_TENSORMAP_IM2COL,
     {TMAP_NONE, TMAP_DTYPE, TMAP_RANK, TMAP_ADDR, TMAP_DIM, TMAP_STRIDE, TMAP_LOWER, TMAP_UPPER, TMAP_CHANNELS,
      TMAP_PIXELS, TMAP_ESTRIDE, TMAP_INTERLEAVE, TMAP_SWIZZLE, TMAP_L2, TMAP_OOB},
     15},
    {"cuTensorMapEncodeIm2colWide",
     TW_TENSORMAP_IM2COL_WIDE,
     {TMAP_NONE, TMAP_DTYPE, TMAP_RANK, TMAP_ADDR, TMAP_DIM, TMAP_STRIDE, TMAP_LOWER, TMAP_UPPER, TMAP_CHANNELS,
      TMAP_PIXELS, TMAP_ESTRIDE, TMAP_INTERLEAVE, TMAP_MODE, TMAP_SWIZZLE, TMAP_L2, TMAP_OOB},
     16},
};

static const struct encode_call *call_at(const struct c_token *t)
{
    for (size_t i = 0; i < sizeof encode_calls / sizeof *encode_calls; i++) {
        const int length = (int)strlen(encode_calls[i].name);
        if (t->kind == C_NAME && t->length >= length &&
            memcmp(t->text + t->length - length, encode_calls[i].name, (size_t)length) == 0)
            return &encode_calls[i];
    }
    return NULL;
}

// Where the arguments open, of name(...), wrapper(name)(...), name()(...) and wrapper(name(...)); -1: it is no call.
static int opening(const struct c_source *source, int at)
{
    const struct c_token *all = source->token;
    for (at++; c_is(&all[at], ")"); at++)
        if (!c_is(&all[at + 1], "("))
            return -1;
    if (c_is(&all[at], "(") && c_is(&all[at + 1], ")"))
        at += 2;
    return c_is(&all[at], "(") ? at : -1;
}

// Where each argument begins. Returns their count, MOST_ARGS + 1 where they are more.
static int split(const struct c_source *source, int open, int begins[MOST_ARGS + 1])
{
    const int end = c_close(source, open) - 1;
    int count = 0;
    if (open + 1 >= end)
        return 0;
    begins[count++] = open + 1;
    for (int i = open + 1; i < end; i++) {
        const struct c_token *t = &source->token[i];
        if (c_is(t, "(") || c_is(t, "[") || c_is(t, "{")) {
            i = c_close(source, i) - 1;
        } else if (c_is(t, ",")) {
            if (count > MOST_ARGS)
                return count;
            begins[count++] = i + 1;
        }
    }
    // A comma may stand behind the last one, as Python has it.
    return count > 1 && begins[count - 1] == end ? count - 1 : count;
}

// A declaration of the function: its first argument is a type and a name.
static int is_declaration(const struct c_source *source, int begin)
{
    const struct c_token *t = &source->token[begin];
    return c_is(t, "CUtensorMap") && (c_is(t + 1, "*") || t[1].kind == C_NAME);
}

static int read_arg(const struct c_source *source, int at, int before, enum tmap_arg arg, struct tensormap_question *q,
                    struct tensormap_fault *fault)
{
    struct tensormap_fault why;
    struct tw_tensormap_call *c = &q->call;
    uint64_t value;
    if (tmap_args[arg].entries == TMAP_ENTRIES_ONE ||
        (arg >= TMAP_LOWER && arg <= TMAP_UPPER && c->func == TW_TENSORMAP_IM2COL_WIDE)) {
        // A pointer's definition says nothing of where it points to when the call is made: NULL counts in the call
        // alone.
        if (c_value(source, at, arg == TMAP_ADDR ? 0 : before, arg, &value, &why) == 0) {
            tmap_set(c, arg, 0, value);
            return 0;
        }
        if (arg != TMAP_ADDR)
            return tensormap_fail(fault, "%s: %.400s", tmap_args[arg].name, why.text);
        c->addr = UINT64_C(0x7f0000000000); // nobody writes an address into source
        return 0;
    }
    const unsigned entries = tmap_entries(c, arg);
    for (unsigned i = 0; i < entries; i++) {
        if (c_entry(source, at, before, arg, (int)i, &value, &why))
            return tensormap_fail(fault, "%s[%u]: %.400s", tmap_args[arg].name, i, why.text);
        tmap_set(c, arg, i, value);
    }
    return 0;
}

static int read_call(const struct c_source *source, int at, int open, const struct encode_call *kind,
                     struct tensormap_question *q, struct tensormap_fault *fault)
{
    int begins[MOST_ARGS + 1], status = 0;
    const int count = split(source, open, begins);
    const int python = count == kind->count - 1;
    memset(q, 0, sizeof *q);
    q->call.func = kind->func;
    q->line = source->token[at].line;
    q->form = python ? "call without its map, as in Python" : "call in source code";
    if (count != kind->count && !python)
        return tensormap_fail(fault, "%s takes %d arguments, these are %d", kind->name, kind->count, count);
    // The rank says how long the lists are.
    for (int pass = 0; pass < 2; pass++)
        for (int i = 1; i < kind->count && status == 0; i++)
            if ((kind->args[i] == TMAP_RANK) == (pass == 0))
                status = read_arg(source, begins[i - python], at, kind->args[i], q, fault);
    return status;
}

int tensormap_read_c(const char *text, size_t length, struct tensormap_questions *out, int comments)
{
    struct c_source source;
    struct tensormap_question question;
    struct tensormap_fault fault;
    long work = WORK_MOST;
    int status = 0;
    if (!strstr(text, "cuTensorMapEncode"))
        return 0;
    if (c_tokens(text, length, comments, &source))
        return -1;
    source.work = &work;
    for (int i = 0; i < source.count && status == 0 && work > 0 && out->broken < BROKEN_MOST; i++) {
        const struct encode_call *kind = call_at(&source.token[i]);
        const int open = kind ? opening(&source, i) : -1;
        if (open < 0 || is_declaration(&source, open + 1))
            continue;
        if (read_call(&source, i, open, kind, &question, &fault) == 0)
            status = tensormap_ask(out, &question);
        else
            tensormap_broken(out, source.token[i].line, &fault);
    }
    free(source.token);
    return status;
}
