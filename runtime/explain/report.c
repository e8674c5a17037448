#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "explain.h"

static const struct {
    int result;
    const char *name;
    enum { ARGUMENTS, EARLIER, MACHINE } blame;
    const char *advice;
} results[] = {
#define RESULT(number, name, text, blame, advice) {number, #name, blame, advice},
#include "tensormap/tensormap_results.def"
};

// Whether a finding speaks of entries that nobody could read. A bounding box is made of three lists.
static int blind(const struct explain_call *c, enum tw_tensormap_rule rule)
{
    unsigned box = 1u << TMAP_DIM | 1u << TMAP_LOWER | 1u << TMAP_UPPER;
    return c->missing & 1u << tw_tmap_rule_arg(rule) ||
           (c->missing & box && strcmp(tw_tensormap_rule_name(rule), "TMA-AREA") == 0);
}

// The call as words, with where a list lies in place of entries that could not be read.
static void append_call(const struct explain_call *c, char *text, size_t size, size_t *used)
{
    char words[1024], name[32], *rest;
    tw_tensormap_format(&c->call, words, sizeof words);
    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        int arg = TMAP_ARG_COUNT - 1;
        for (; arg > TMAP_NONE; arg--) {
            snprintf(name, sizeof name, "%s=", tmap_args[arg].name);
            if (c->missing & 1u << arg && strncmp(word, name, strlen(name)) == 0)
                break;
        }
        if (arg == TMAP_NONE)
            tw_tmap_append(text, size, used, " %s", word);
        else
            tw_tmap_append(text, size, used, " %s(at 0x%" PRIx64 ")", name, c->lists[arg]);
    }
    tw_tmap_append(text, size, used, "\n");
}

// Pointers to nowhere, which no rule of the call's values speaks of. Returns their count.
static int append_pointers(const struct explain_call *c, char *text, size_t size, size_t *used)
{
    int count = 0;
    for (int arg = TMAP_NONE + 1; arg < TMAP_ARG_COUNT; arg++) {
        unsigned entries = tmap_entries(&c->call, (enum tmap_arg)arg);
        const char *name = tmap_args[arg].name;
        if (!(c->missing & 1u << arg))
            continue;
        count++;
        tw_tmap_append(text, size, used, "    TMA-NULL: %s is ", name);
        if (c->lists[arg])
            tw_tmap_append(text, size, used, "0x%" PRIx64 ", where no memory can be read", c->lists[arg]);
        else
            tw_tmap_append(text, size, used, "NULL");
        tw_tmap_append(text, size, used, "; pass a list of %u, one %s\n", entries,
                       tmap_args[arg].entries == TMAP_ENTRIES_RANK      ? "to each dimension"
                       : tmap_args[arg].entries == TMAP_ENTRIES_STRIDES ? "to each dimension but the innermost"
                                                                        : "to each spatial dimension");
    }
    if (c->map == 0) {
        count++;
        tw_tmap_append(text, size, used,
                       "    TMA-NULL: tensorMap is NULL; pass the CUtensorMap that is to be filled\n");
    }
    return count;
}

int explain_report(const char *name, const struct explain_call *c, const struct explain_machine *machine, int result,
                   int warnings, char *text, size_t size)
{
    struct tw_tensormap_verdict verdict;
    struct tw_tensormap_call nearest;
    char line[1024];
    size_t used = 0, known = 0;
    text[0] = 0;

    while (known < sizeof results / sizeof *results && results[known].result != result)
        known++;
    tw_tmap_append(text, size, &used, "%s ", name);
    if (result == 0)
        tw_tmap_append(text, size, &used, "was accepted, against the documentation");
    else if (known < sizeof results / sizeof *results)
        tw_tmap_append(text, size, &used, "failed: %s (%d)", results[known].name, result);
    else
        tw_tmap_append(text, size, &used, "failed: error %d", result);
    tw_tmap_append(text, size, &used, ", compute capability %d.%d%s\n   ", machine->cc / 10, machine->cc % 10,
                   machine->cc_known ? "" : " assumed");
    append_call(c, text, size, &used);

    int advised = result != 0 && known < sizeof results / sizeof *results && results[known].advice[0];
    if (advised)
        tw_tmap_append(text, size, &used, "    %s%s\n",
                       results[known].blame == EARLIER ? "not this call's error: " : "", results[known].advice);
    int count = append_pointers(c, text, size, &used), refused = 0;
    tw_tensormap_check(&c->call, machine->cc, &verdict);
    for (int i = 0; i < verdict.count; i++)
        refused += !verdict.finding[i].warning && !blind(c, verdict.finding[i].rule);
    // A driver may refuse what the measured one takes: with no other reason, the warnings are the reason.
    int last_resort = result != 0 && !advised && count == 0 && refused == 0;
    for (int i = 0; i < verdict.count; i++) {
        const struct tw_tensormap_finding *finding = &verdict.finding[i];
        if (blind(c, finding->rule) || (finding->warning && !warnings && !last_resort) ||
            (!finding->warning && result == 0))
            continue;
        count++;
        tw_tensormap_message(&c->call, machine->cc, finding, line, sizeof line);
        tw_tmap_append(text, size, &used, "    %s%s: %s\n", finding->warning ? "warning " : "",
                       tw_tensormap_rule_name(finding->rule), line);
    }
    // cuda.h asks for it. Driver 580 takes any address, and cuda.bindings gives it others.
    if (c->map % 64 != 0 && (warnings || last_resort)) {
        count++;
        tw_tmap_append(text, size, &used,
                       "    warning TMA-MAP: tensorMap is 0x%" PRIx64
                       ", no multiple of 64 bytes, which cuda.h asks for; "
                       "declare it alignas(64)\n",
                       c->map);
    }
    if (result == 0) {
        if (count == 0)
            text[0] = 0;
        return count;
    }
    if (count == 0 && !advised)
        tw_tmap_append(text, size, &used,
                       "    no rule known here forbids this call (driver %d.%d): please report the two lines above to "
                       "Tilewright\n",
                       machine->driver / 1000, machine->driver % 1000 / 10);
    // Without a valid rank nobody knows how long the lists are, and none was read.
    if (refused && !c->missing && tmap_rank(&c->call) && tw_tensormap_nearest(&c->call, machine->cc, &nearest) == TW_OK)
        tw_tmap_append(text, size, &used, "    the nearest call that works:\n        %s\n",
                       tw_tensormap_format(&nearest, line, sizeof line));
    return count;
}
