// A tensor-map call in words: f=tiled dtype=bf16 dim=100,64 stride=200 box=64,64 swizzle=128B.
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L // strcasecmp
#endif

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "cmd/tensormap/tensormap_values.h"
#include "spec/diag.h"

// A call under way.
struct words {
    struct tw_tensormap_call *call;
    unsigned given[TMAP_ARG_COUNT]; // entries that are written, of which the call has room for the first
    int has_func;
    struct tensormap_fault *fault;
};

static int unknown_word(const struct words *w, const char *name)
{
    const char *known[TMAP_ARG_COUNT + 1];
    char names[160];
    size_t used = 0;
    known[0] = "f";
    for (int a = TMAP_NONE + 1; a < TMAP_ARG_COUNT; a++)
        known[a] = tmap_args[a].name;
    known[TMAP_ARG_COUNT] = NULL;
    const char *near = diag_suggest(name, known);
    if (near)
        return tensormap_fail(w->fault, "no argument is called '%.80s'; did you mean '%s'?", name, near);
    for (int a = 0; a < TMAP_ARG_COUNT; a++)
        tw_tmap_append(names, sizeof names, &used, "%s%s", a ? ", " : "", known[a]);
    return tensormap_fail(w->fault, "no argument is called '%.80s'; they are %s", name, names);
}

static int read_func(struct words *w, const char *name)
{
    if (w->has_func++)
        return tensormap_fail(w->fault, "f is given twice");
    for (int f = TW_TENSORMAP_TILED; f <= TW_TENSORMAP_IM2COL_WIDE; f++)
        if (strcasecmp(tw_tmap_func_name((enum tw_tensormap_func)f), name) == 0) {
            w->call->func = (enum tw_tensormap_func)f;
            return 0;
        }
    return tensormap_fail(w->fault, "f=%.80s is none of tiled, im2col, im2col_wide", name);
}

// Reads name=value[,value...], which it cuts up.
static int read_word(struct words *w, char *word)
{
    char *value = strchr(word, '=');
    uint64_t number;
    int a = TMAP_NONE + 1;
    if (!value)
        return tensormap_fail(w->fault, "'%.80s' is no name=value", word);
    *value++ = 0;
    if (strcmp(word, "f") == 0)
        return read_func(w, value);
    while (a < TMAP_ARG_COUNT && strcmp(tmap_args[a].name, word) != 0)
        a++;
    if (a == TMAP_ARG_COUNT)
        return unknown_word(w, word);
    if (w->given[a])
        return tensormap_fail(w->fault, "%s is given twice", word);
    for (char *next; value; value = next) {
        if ((next = strchr(value, ',')))
            *next++ = 0;
        if (tensormap_read_value(value, (enum tmap_arg)a, &number, w->fault))
            return -1;
        if (w->given[a] < tmap_args[a].room)
            tmap_set(w->call, (enum tmap_arg)a, w->given[a], number);
        w->given[a]++;
    }
    return 0;
}

// The strides of a tensor without gaps. What does not fit 64 bits is 2^63, which is refused as any stride from 2^40 on.
static void dense_strides(struct tw_tensormap_call *c)
{
    const uint64_t most = UINT64_C(1) << 63;
    const struct tmap_dtype *dtype = tw_tmap_dtype(c->dtype);
    uint64_t bits = dtype ? dtype->bits : 0;
    uint64_t dense = bits && c->dim[0] > UINT64_MAX / bits ? most : c->dim[0] * bits / 8;
    for (unsigned i = 0; i < 4; i++) {
        uint64_t dim = c->dim[i + 1];
        c->stride[i] = dense;
        dense = dim && dense > UINT64_MAX / dim ? most : dense * dim;
    }
}

static int wrong_count(const struct words *w, enum tmap_arg arg, unsigned takes)
{
    const struct tmap_arg_info *a = &tmap_args[arg];
    unsigned given = w->given[arg];
    const char *plural = given == 1 ? "y" : "ies";
    if (a->entries == TMAP_ENTRIES_ONE)
        return tensormap_fail(w->fault, "%s has %u entr%s, it takes 1", a->name, given, plural);
    if (a->entries == TMAP_ENTRIES_CORNERS && w->call->func == TW_TENSORMAP_IM2COL_WIDE)
        return tensormap_fail(w->fault, "%s has %u entr%s, im2col_wide takes 1, the corner in W", a->name, given,
                              plural);
    return tensormap_fail(
        w->fault, "%s has %u entr%s, rank %" PRIu32 " takes %u%s", a->name, given, plural, w->call->rank, takes,
        a->entries == TMAP_ENTRIES_STRIDES && given == takes + 1 ? ": the innermost dimension has none" : "");
}

// Holds the count of an argument's entries against func and rank. Lists of an invalid rank, which is refused by itself,
// are held against the room for them alone.
static int check_count(const struct words *w, enum tmap_arg arg)
{
    const struct tmap_arg_info *a = &tmap_args[arg];
    const struct tw_tensormap_call *c = w->call;
    unsigned given = w->given[arg], takes = tmap_entries(c, arg);
    int required = arg == TMAP_BOX || arg == TMAP_CHANNELS || arg == TMAP_PIXELS;
    if (!given)
        return required && takes ? tensormap_fail(w->fault, "%s is missing", a->name) : 0;
    if (!(a->funcs & 1u << c->func))
        return tensormap_fail(w->fault, "%s is no argument of %s", a->name, tw_tmap_func_name(c->func));
    if ((tmap_rank(c) || a->entries == TMAP_ENTRIES_ONE) && given != takes)
        return wrong_count(w, arg, takes);
    if (given > a->room)
        return tensormap_fail(w->fault, "%s has %u entries, a call has at most %u", a->name, given, a->room);
    return 0;
}

int tensormap_read_words(int count, char **words, struct tw_tensormap_call *c, struct tensormap_fault *fault)
{
    struct words w = {.call = c, .fault = fault};
    memset(c, 0, sizeof *c);
    for (int i = 0; i < count; i++) {
        char word[512];
        if (strlen(words[i]) >= sizeof word)
            return tensormap_fail(fault, "a word is longer than %zu characters", sizeof word - 1);
        strcpy(word, words[i]);
        if (read_word(&w, word))
            return -1;
    }
    if (!w.given[TMAP_DTYPE])
        return tensormap_fail(fault, "dtype is missing");
    if (!w.given[TMAP_DIM])
        return tensormap_fail(fault, "dim is missing");
    if (!w.given[TMAP_RANK])
        c->rank = w.given[TMAP_DIM];
    if (!w.given[TMAP_ADDR])
        c->addr = UINT64_C(0x7f0000000000);
    if (!w.given[TMAP_STRIDE])
        dense_strides(c);
    for (unsigned i = 0; !w.given[TMAP_ESTRIDE] && i < 5; i++)
        c->estride[i] = 1;
    for (int a = TMAP_NONE + 1; a < TMAP_ARG_COUNT; a++)
        if (check_count(&w, (enum tmap_arg)a))
            return -1;
    return 0;
}
