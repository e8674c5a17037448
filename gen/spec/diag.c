#include "spec/diag.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int diag_add_source(struct diag_set *set, const char *name, const char *text)
{
    for (int i = 0; i < set->source_count; i++) {
        struct diag_source *s = &set->source[i];
        if (strcmp(s->name, name) != 0)
            continue;
        if (!s->text && text)
            s->text = arena_text(&set->arena, text);
        return i;
    }
    struct diag_source *grown = arena_grow(&set->arena, set->source, set->source_count, sizeof *grown);
    char *copy = grown ? arena_text(&set->arena, name) : NULL;
    char *body = copy && text ? arena_text(&set->arena, text) : NULL;
    if (!copy || (text && !body)) {
        set->out_of_memory = true;
        return -1;
    }
    set->source = grown;
    set->source[set->source_count] = (struct diag_source){copy, body};
    return set->source_count++;
}

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* Terminals obey control characters; a spec is not to command them. Text stays UTF-8 only where it was. */
static void clean(char *text)
{
    for (; *text; text++)
        if (*text == '\n' || *text == '\t' || *text == '\r')
            *text = ' ';
        else if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = '?';
}

static char *keep(struct diag_set *set, const char *text)
{
    char *copy = text ? arena_text(&set->arena, text) : NULL;
    if (copy)
        clean(copy);
    else if (text)
        set->out_of_memory = true;
    return copy;
}

void diag_add_kernel(struct diag_set *set, const char *name, struct diag_loc loc)
{
    struct diag_kernel *grown = arena_grow(&set->arena, set->kernel, set->kernel_count, sizeof *grown);
    char *copy = grown ? keep(set, name) : NULL;
    if (!copy) {
        set->out_of_memory = true;
        return;
    }
    set->kernel = grown;
    set->kernel[set->kernel_count++] = (struct diag_kernel){copy, loc};
}

bool diag_note(const struct diag_set *set, int i, int next, struct diag *note)
{
    const struct diag *d = &set->item[i];
    if (next >= 0 && same(d->kernel, set->item[next].kernel))
        return false;
    for (int k = 0; d->kernel && d->loc.file >= 0 && k < set->kernel_count; k++) {
        const struct diag_loc at = set->kernel[k].loc;
        if (strcmp(set->kernel[k].name, d->kernel) != 0)
            continue;
        *note = (struct diag){.severity = DIAG_NOTE, .loc = at, .kernel = d->kernel, .text = "asked for here"};
        return at.file >= 0 && at.file != d->loc.file;
    }
    return false;
}

void diag_report(struct diag_set *set, enum diag_severity severity, struct diag_loc loc, const char *kernel,
                 const char *field, const char *rule, const char *format, ...)
{
    char text[2048];
    va_list list;
    if (set->count >= DIAG_MOST) {
        set->more++;
        set->errors += severity == DIAG_ERROR;
        set->reported += severity == DIAG_ERROR;
        return;
    }
    va_start(list, format);
    int length = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (length >= (int)sizeof text)
        memcpy(text + sizeof text - 4, "...", 4);
    clean(text);
    if (severity == DIAG_ERROR) {
        set->errors++;
        set->reported++;
    }
    for (int i = 0; i < set->count; i++) {
        const struct diag *d = &set->item[i];
        bool place = d->loc.file == loc.file && d->loc.line == loc.line && d->loc.column == loc.column;
        if (place && d->severity == severity && same(d->text, text) && same(d->field, field) && same(d->rule, rule) &&
            (loc.line > 0 || same(d->kernel, kernel))) {
            set->errors -= severity == DIAG_ERROR;
            return;
        }
    }
    struct diag *grown = arena_grow(&set->arena, set->item, set->count, sizeof *grown);
    struct diag d = {severity, loc, keep(set, kernel), keep(set, field), keep(set, text), keep(set, rule)};
    if (!grown || !d.text) {
        set->out_of_memory = true;
        return;
    }
    set->item = grown;
    set->item[set->count++] = d;
}

struct diag_mark diag_mark(const struct diag_set *set)
{
    return (struct diag_mark){set->count, set->errors, set->reported, set->more};
}

void diag_take_back(struct diag_set *set, struct diag_mark mark, const char *const *keep)
{
    const int count = set->count;
    set->count = mark.count;
    set->errors = mark.errors;
    set->reported = mark.reported;
    set->more = mark.more;
    for (int i = mark.count; i < count; i++)
        for (const char *const *rule = keep; rule && *rule; rule++)
            if (same(set->item[i].rule, *rule)) {
                set->errors += set->item[i].severity == DIAG_ERROR;
                set->reported += set->item[i].severity == DIAG_ERROR;
                set->item[set->count++] = set->item[i];
                break;
            }
}

/* ---- printing -------------------------------------------------------------------------------------------------- */

static void print_head(const struct diag_set *set, const struct diag *d, FILE *out)
{
    static const char *const word[] = {"error", "warning", "note"};
    if (d->loc.file >= 0 && d->loc.file < set->source_count) {
        fputs(set->source[d->loc.file].name, out);
        if (d->loc.line > 0)
            fprintf(out, ":%d", d->loc.line);
        fputs(": ", out);
    }
    fprintf(out, "%s: ", word[d->severity]);
    if (d->kernel)
        fprintf(out, "kernel '%s'%s", d->kernel, d->field ? ", " : ": ");
    if (d->field)
        fprintf(out, "%s: ", d->field);
    fputs(d->text, out);
    if (d->rule)
        fprintf(out, " [%s]", d->rule);
    fputc('\n', out);
}

/* The source line without its margin, and a caret under the column. Long lines show the part around it. */
static void print_line(const struct diag_set *set, const struct diag *d, FILE *out)
{
    enum { WIDTH = 160 };
    if (d->loc.file < 0 || d->loc.file >= set->source_count || d->loc.line <= 0)
        return;
    const char *line = set->source[d->loc.file].text;
    for (int n = 1; line && n < d->loc.line; n++) {
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    if (!line)
        return;
    int length = (int)strcspn(line, "\r\n"), column = d->loc.column - 1, from = 0;
    while (from < length && (line[from] == ' ' || line[from] == '\t'))
        from++;
    if (from == length)
        return;
    if (column > from + WIDTH - 20)
        from = column - WIDTH / 2;
    while (from > 0 && ((unsigned char)line[from] & 0xc0) == 0x80)
        from--;
    int to = length - from > WIDTH ? from + WIDTH : length;
    while (to > from && to < length && ((unsigned char)line[to] & 0xc0) == 0x80)
        to--;
    fputs("    ", out);
    for (int i = from; i < to; i++) {
        unsigned char c = (unsigned char)line[i];
        fputc(c == '\t' ? ' ' : c < ' ' || c == 0x7f ? '?' : c, out);
    }
    fputc('\n', out);
    if (column < from || column > length)
        return;
    fputs("    ", out);
    for (int i = from; i < column; i++)
        if (((unsigned char)line[i] & 0xc0) != 0x80)
            fputc(' ', out);
    fputs("^\n", out);
}

static void print_whole(const struct diag_set *set, const struct diag *d, FILE *out)
{
    print_head(set, d, out);
    print_line(set, d, out);
}

static int compare(const struct diag_set *set, int a, int b)
{
    const struct diag_loc *x = &set->item[a].loc, *y = &set->item[b].loc;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    if (x->column != y->column)
        return x->column < y->column ? -1 : 1;
    return a < b ? -1 : a > b;
}

void diag_print_one(const struct diag_set *set, int i, FILE *out)
{
    if (i >= 0 && i < set->count)
        print_head(set, &set->item[i], out);
}

void diag_print(const struct diag_set *set, FILE *out)
{
    /* Selection without memory: the next one in order after the last printed. Sets are small. */
    struct diag note;
    int last = -1;
    for (int printed = 0; printed < set->count; printed++) {
        int next = -1;
        for (int i = 0; i < set->count; i++)
            if ((last < 0 || compare(set, i, last) > 0) && (next < 0 || compare(set, i, next) < 0))
                next = i;
        if (last >= 0 && diag_note(set, last, next, &note))
            print_whole(set, &note, out);
        print_whole(set, &set->item[next], out);
        last = next;
    }
    if (last >= 0 && diag_note(set, last, -1, &note))
        print_whole(set, &note, out);
    if (set->more)
        fprintf(out, "and more: only the first %d diagnostics are told\n", DIAG_MOST);
    if (set->out_of_memory)
        fputs("error: out of memory\n", out);
}

void diag_free(struct diag_set *set)
{
    struct memory memory = set->arena.memory;
    arena_free(&set->arena);
    *set = (struct diag_set){.arena.memory = memory};
}

/* ---- suggestions ----------------------------------------------------------------------------------------------- */

/* Edit distance with swaps, in halves: a change of case is 1, any other change 2. */
static int distance(const char *a, const char *b)
{
    enum { MOST = 63 };
    int n = (int)strlen(a), m = (int)strlen(b), row[3][MOST + 1];
    if (n > MOST || m > MOST)
        return 1000;
    for (int j = 0; j <= m; j++)
        row[0][j] = 2 * j;
    for (int i = 1; i <= n; i++) {
        int *now = row[i % 3], *before = row[(i + 2) % 3], *older = row[(i + 1) % 3];
        now[0] = 2 * i;
        for (int j = 1; j <= m; j++) {
            bool alike = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);
            int best = before[j - 1] + (a[i - 1] == b[j - 1] ? 0 : alike ? 1 : 2);
            if (before[j] + 2 < best)
                best = before[j] + 2;
            if (now[j - 1] + 2 < best)
                best = now[j - 1] + 2;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && older[j - 2] + 2 < best)
                best = older[j - 2] + 2;
            now[j] = best;
        }
    }
    return row[n % 3][m];
}

const char *diag_suggest(const char *word, const char *const *candidate)
{
    const char *best = NULL;
    int nearest = 1000;
    for (; *candidate; candidate++) {
        size_t n = strlen(word), m = strlen(*candidate);
        int bound = 2 * (int)(n > m ? n : m) / 3;
        int d = distance(word, *candidate);
        if (n > 1 && n < m && strncmp(word, *candidate, n) == 0)
            d--; /* sm_90 is sm_90a sooner than sm_80 */
        if (d <= (bound < 1 ? 1 : bound) && d < nearest) {
            nearest = d;
            best = *candidate;
        }
    }
    return best;
}
