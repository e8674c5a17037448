#include "verify/run/run_lines.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "emu/coverage.h"

enum {
    BUCKETS = 1024,
    STRAIGHT_MOST = 64,
    ROUND_BRANCHES = 2 /* of a loop's line: into the loop, and back; with more of them a round is several of the text */
};

/* A line of the text that instructions are from. */
struct line {
    const char *file;
    uint32_t number;
    int next; /* in its bucket, -1: the last */
    struct line_text text;
    bool ran;
    bool moved;    /* it ran, but none of its instructions did: what they say of lines in it is not of the text */
    bool left;     /* it is to be named: it did not run, and what it stands in did */
    int branches;  /* conditional ones of its own, but those with a doomed way */
    bool away, on; /* such a branch was taken, was not */
    bool closes, repeated;
};

struct lines {
    struct tw_runtime *rt;
    struct line *line;
    int count, room, bucket[BUCKETS];
    bool failed;
};

static struct line *find(struct lines *all, const struct emu_covered_place *place)
{
    int *bucket = &all->bucket[place->line % BUCKETS];
    for (int i = *bucket; i >= 0; i = all->line[i].next)
        if (all->line[i].number == place->line && strcmp(all->line[i].file, place->file) == 0)
            return &all->line[i];
    if (all->count == all->room) {
        int room = all->room ? 2 * all->room : 256;
        struct line *grown = tw_realloc(all->rt, all->line, sizeof *grown * (size_t)room);
        if (!grown) {
            all->failed = true;
            return NULL;
        }
        all->line = grown;
        all->room = room;
    }
    struct line *made = &all->line[all->count];
    *made = (struct line){.file = place->file, .number = place->line, .next = *bucket};
    *bucket = all->count++;
    return made;
}

/* ---- from instructions to lines ---------------------------------------------------------------------------------- */

static void gather(void *context, const struct emu_covered *c)
{
    struct lines *all = context;
    for (int i = 0; i < c->place_count; i++) {
        struct line *line = find(all, &c->place[i]);
        if (!line)
            return;
        line->ran = line->ran || c->ran;
        if (i == 0 && c->chooses) {
            line->branches++;
            line->away = line->away || c->away;
            line->on = line->on || c->on;
        }
        if (i == c->place_count - 1 && c->closes) {
            line->closes = true;
            line->repeated = line->repeated || c->repeated;
        }
    }
}

static void blame(void *context, const struct emu_covered *c)
{
    struct lines *all = context;
    if (c->ran || c->doomed)
        return;
    for (int i = c->place_count - 1; i >= 0; i--) {
        struct line *line = find(all, &c->place[i]);
        if (!line || line->moved)
            return;
        if (line->ran)
            continue;
        line->left = true;
        return;
    }
}

/* ---- the text ---------------------------------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* A #line directive: the number of the next line, and its file. False where it is none. */
static bool read_directive(struct line_text text, uint32_t *number, struct line_text *file)
{
    static const char word[] = "#line ";
    if (text.length <= sizeof word || memcmp(text.begin, word, sizeof word - 1) != 0)
        return false;
    char *end;
    *number = (uint32_t)strtoul(text.begin + sizeof word - 1, &end, 10);
    const char *quote = memchr(end, '"', (size_t)(text.begin + text.length - end));
    if (quote)
        *file = (struct line_text){quote + 1, (size_t)(text.begin + text.length - quote - 2)};
    return true;
}

static bool is_file(const struct line *line, struct line_text file)
{
    /* What stands before the first directive is of the text itself, which goes by the name that the compiler was told.
     */
    return !file.begin || (strlen(line->file) == file.length && memcmp(line->file, file.begin, file.length) == 0);
}

/* Whether the line begins with this word, behind a closing brace or an else. */
static bool begins(struct line_text text, const char *word)
{
    static const char *const before[] = {"} ", "else "};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        if (text.length > strlen(before[i]) && memcmp(text.begin, before[i], strlen(before[i])) == 0) {
            text.begin += strlen(before[i]);
            text.length -= strlen(before[i]);
        }
    size_t length = strlen(word);
    return text.length > length && memcmp(text.begin, word, length) == 0 && strchr(" ({", text.begin[length]);
}

/* What a line is to the statements before it that have the same indentation. */
enum line_place {
    LINE_NOTHING, /* no statement */
    LINE_SAME,    /* a whole statement, executed where they are, and what follows it too */
    LINE_LAST,    /* begins one that is executed where they are, and may go elsewhere */
    LINE_ELSE     /* something else */
};

static enum line_place place_of(struct line_text text)
{
    static const char *const last[] = {"if", "for", "while", "do", "switch", "return", "goto", "break", "continue"};
    static const char *const other[] = {"else", "case", "default"};
    size_t word = 0, length = text.length;
    if (!length || *text.begin == '#' || (length > 1 && memcmp(text.begin, "//", 2) == 0))
        return LINE_NOTHING;
    while (word < text.length && text.begin[word] >= 'a' && text.begin[word] <= 'z')
        word++;
    for (size_t i = 0; i < sizeof last / sizeof *last; i++)
        if (word == strlen(last[i]) && memcmp(text.begin, last[i], word) == 0)
            return LINE_LAST;
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (word == strlen(other[i]) && memcmp(text.begin, other[i], word) == 0)
            return LINE_ELSE;
    for (size_t i = 0; i + 1 < text.length && length == text.length; i++)
        if (memcmp(text.begin + i, "//", 2) == 0)
            length = i;
    while (length && text.begin[length - 1] == ' ')
        length--;
    return length && text.begin[length - 1] == ';' && !strchr("{}", *text.begin) ? LINE_SAME : LINE_ELSE;
}

/* Statements that follow each other without a branch: those of one run have all run, or none. The compiler may have
 * left instructions to some of them only where they are not executed. */
struct straight {
    int line[STRAIGHT_MOST], count;
    size_t indent;
};

static void end_straight(struct lines *all, struct straight *run)
{
    bool ran = false;
    for (int i = 0; i < run->count; i++)
        ran = ran || all->line[run->line[i]].ran;
    for (int i = 0; i < run->count; i++) {
        struct line *line = &all->line[run->line[i]];
        line->moved = ran && !line->ran;
        line->ran = ran;
    }
    run->count = 0;
}

/* Finds the texts of the lines. */
static void add_text(struct lines *all, const char *source)
{
    uint32_t number = 1, next;
    struct line_text file = {NULL, 0};
    struct straight run = {.count = 0};
    for (const char *at = source; *at; number++) {
        size_t length = strcspn(at, "\n"), indent = strspn(at, " \t");
        indent = indent < length ? indent : length;
        struct line_text text = {at + indent, length - indent};
        at += length + (at[length] == '\n');
        while (text.length && strchr(" \t\r", text.begin[text.length - 1]))
            text.length--;
        if (read_directive(text, &next, &file)) {
            number = next - 1;
            continue;
        }
        enum line_place place = place_of(text);
        if (place == LINE_NOTHING)
            continue;
        if (place == LINE_ELSE || indent != run.indent || run.count == STRAIGHT_MOST)
            end_straight(all, &run);
        run.indent = indent;
        for (int i = all->bucket[number % BUCKETS]; i >= 0; i = all->line[i].next)
            if (all->line[i].number == number && !all->line[i].text.begin && is_file(&all->line[i], file)) {
                all->line[i].text = text;
                if (place != LINE_ELSE && run.count < STRAIGHT_MOST)
                    run.line[run.count++] = i;
            }
        if (place == LINE_LAST)
            end_straight(all, &run);
    }
    end_straight(all, &run);
}

/* ---- verdicts ---------------------------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    int file = strcmp(x->file, y->file);
    return file ? file : (x->number > y->number) - (x->number < y->number);
}

/* Whether line number i, in order, is followed by one that did not run: its body. */
static bool has_left_body(const struct lines *all, int i)
{
    return i + 1 < all->count && all->line[i + 1].left && strcmp(all->line[i].file, all->line[i + 1].file) == 0 &&
           all->line[i + 1].number == all->line[i].number + 1;
}

static void judge(const struct lines *all, struct line_verdict *verdict, int *count)
{
    int n = 0;
    bool open = false; /* the last verdict is of lines that may go on */
    for (int i = 0; i < all->count; i++) {
        const struct line *line = &all->line[i];
        struct line_verdict made = {LINE_LEFT, base_name(line->file), line->number, line->number, line->text};
        bool is_if = line->branches == 1 && line->away != line->on && begins(line->text, "if");
        bool is_loop = line->closes && !line->repeated && line->branches <= ROUND_BRANCHES &&
                       (begins(line->text, "for") || begins(line->text, "while") || begins(line->text, "do"));
        if (!line->text.begin)
            continue; /* of a text that is not at hand */
        if (line->left && open && verdict[n - 1].file == made.file && line->number <= verdict[n - 1].last + 2) {
            verdict[n - 1].last = line->number;
            continue;
        }
        open = line->left;
        if (!line->left && (!line->ran || has_left_body(all, i) || (!is_if && !is_loop)))
            continue;
        made.kind = line->left ? LINE_LEFT : is_loop ? LINE_LOOP : LINE_IF;
        verdict[n++] = made;
    }
    *count = n;
}

int lines_judge(struct tw_runtime *rt, const struct tw_kernel *kernel, const char *source,
                struct line_verdict **verdict, int *count)
{
    struct lines all = {.rt = rt};
    memset(all.bucket, 0xff, sizeof all.bucket);
    *verdict = NULL;
    int status = emu_kernel_coverage(kernel, gather, &all);
    if (status == TW_OK && !all.failed) {
        add_text(&all, source);
        status = emu_kernel_coverage(kernel, blame, &all);
    }
    if (status == TW_OK && all.failed)
        status = TW_ERROR_MEMORY;
    if (status == TW_OK && !(*verdict = tw_alloc(rt, sizeof **verdict * (size_t)(all.count + 1))))
        status = TW_ERROR_MEMORY;
    if (status == TW_OK) {
        qsort(all.line, (size_t)all.count, sizeof *all.line, by_place);
        judge(&all, *verdict, count);
    }
    tw_free(rt, all.line);
    return status;
}
