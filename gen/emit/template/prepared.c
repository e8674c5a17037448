#include "emit/template/prepared.h"

#include <stdint.h>
#include <string.h>

/* Numbers are written seven bits at a time, the low ones first, with a high bit in each byte but the last; texts with a
 * zero behind them. All of it is of this program, and is not checked again:
 *
 *     lines, holes, names          how many there are in all
 *     each line                    kind, from the end of the one before to its first character, length, indent, more,
 *                                  holes; which of these follow: 1: word, its columns; 2: the rest's columns
 *     each of its holes            begin, length, helper ("": none), paths, each path
 *     parameters, each             path, type, line
 *     length of the code, the code
 *
 * A path is a column, a number of names, its text, and the names where they are not the text itself. */
enum { HAS_WORD = 1, HAS_REST = 2 };

/* ---- writing --------------------------------------------------------------------------------------------------- */

static void put(struct emit_text *out, size_t value)
{
    char byte[10];
    size_t bytes = 0;
    for (; value > 127; value >>= 7)
        byte[bytes++] = (char)(value | 128);
    byte[bytes++] = (char)value;
    text_add(out, byte, bytes);
}

static void put_int(struct emit_text *out, int value)
{
    put(out, (size_t)value);
}

static void put_text(struct emit_text *out, const char *text)
{
    text_add(out, text, strlen(text) + 1);
}

static void put_path(struct emit_text *out, const struct template_path *path)
{
    put_int(out, path->column);
    put_int(out, path->parts);
    put_text(out, path->text);
    for (int i = 0; i < path->parts && path->parts > 1; i++)
        put_text(out, path->part[i]);
}

static void put_line(struct emit_text *out, const struct template_line *l, size_t before)
{
    int has = (l->word ? HAS_WORD : 0) | (l->rest || l->rest_end ? HAS_REST : 0);
    put_int(out, (int)l->kind);
    put(out, before);
    put_int(out, l->length);
    put_int(out, l->indent);
    put_int(out, l->more);
    put_int(out, l->hole_count);
    put_int(out, has);
    if (has & HAS_WORD) {
        put_text(out, l->word);
        put_int(out, l->word_column);
        put_int(out, l->word_end);
    }
    if (has & HAS_REST) {
        put_int(out, l->rest);
        put_int(out, l->rest_end);
    }
    for (int h = 0; h < l->hole_count; h++) {
        const struct template_hole *hole = &l->hole[h];
        put_int(out, hole->begin);
        put_int(out, hole->end - hole->begin);
        put_text(out, hole->helper ? hole->helper : "");
        put_int(out, hole->path_count);
        for (int i = 0; i < hole->path_count; i++)
            put_path(out, &hole->path[i]);
    }
}

void prepared_write(const struct template *t, const char *code, size_t length, struct emit_text *out)
{
    int holes = 0, names = 0;
    for (int i = 0; i < t->line_count; i++)
        for (int h = 0; h < t->line[i].hole_count; h++, holes++)
            for (int k = 0; k < t->line[i].hole[h].path_count; k++)
                names += t->line[i].hole[h].path[k].parts;
    for (int i = 0; i < t->param_count; i++)
        names += t->param[i].path.parts;
    put_int(out, t->line_count);
    put_int(out, holes);
    put_int(out, names);
    const char *end = t->text;
    for (int i = 0; i < t->line_count; i++) {
        put_line(out, &t->line[i], (size_t)(t->line[i].text - end));
        end = t->line[i].text + t->line[i].length;
    }
    put_int(out, t->param_count);
    for (int i = 0; i < t->param_count; i++) {
        put_path(out, &t->param[i].path);
        put_int(out, (int)t->param[i].type);
        put_int(out, t->param[i].line);
    }
    put(out, length);
    text_add(out, code, length);
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

struct reader {
    const unsigned char *at;
    struct template_hole *hole; /* the next ones */
    const char **name;
};

static size_t get(struct reader *r)
{
    size_t value = *r->at & 127;
    for (int shift = 7; *r->at++ & 128; shift += 7)
        value |= (size_t)(*r->at & 127) << shift;
    return value;
}

static int get_int(struct reader *r)
{
    return (int)get(r);
}

static const char *get_text(struct reader *r)
{
    const char *text = (const char *)r->at;
    r->at += strlen(text) + 1;
    return text;
}

static void get_path(struct reader *r, struct template_path *path)
{
    path->column = get_int(r);
    path->parts = get_int(r);
    path->text = get_text(r);
    path->part = r->name;
    for (int i = 0; i < path->parts; i++)
        *r->name++ = path->parts > 1 ? get_text(r) : path->text;
}

static void get_line(struct reader *r, struct template_line *l, const char *end)
{
    l->kind = (enum line_kind)get_int(r);
    l->text = end + get(r);
    l->length = get_int(r);
    l->indent = get_int(r);
    l->more = get_int(r);
    l->hole_count = get_int(r);
    int has = get_int(r);
    if (has & HAS_WORD) {
        l->word = get_text(r);
        l->word_column = get_int(r);
        l->word_end = get_int(r);
    }
    if (has & HAS_REST) {
        l->rest = get_int(r);
        l->rest_end = get_int(r);
    }
    l->hole = r->hole;
    for (int h = 0; h < l->hole_count; h++) {
        struct template_hole *hole = r->hole++;
        hole->begin = get_int(r);
        hole->end = hole->begin + get_int(r);
        hole->helper = get_text(r);
        hole->helper = *hole->helper ? hole->helper : NULL;
        hole->path_count = get_int(r);
        for (int i = 0; i < hole->path_count; i++)
            get_path(r, &hole->path[i]);
    }
}

bool prepared_read(struct template *t, const unsigned char *bytes, struct arena *arena)
{
    struct reader r = {.at = bytes};
    t->line_count = get_int(&r);
    size_t holes = get(&r), names = get(&r);
    t->line = arena_alloc(arena, (size_t)t->line_count * sizeof *t->line);
    r.hole = arena_alloc(arena, holes * sizeof *r.hole);
    r.name = arena_alloc(arena, names * sizeof *r.name);
    if (!t->line || !r.hole || !r.name)
        return false;
    const char *end = t->text;
    for (int i = 0; i < t->line_count; i++) {
        get_line(&r, &t->line[i], end);
        end = t->line[i].text + t->line[i].length;
    }
    t->param_count = get_int(&r);
    t->param = arena_alloc(arena, (size_t)t->param_count * sizeof *t->param);
    if (!t->param)
        return false;
    for (int i = 0; i < t->param_count; i++) {
        get_path(&r, &t->param[i].path);
        t->param[i].type = (enum param_type)get_int(&r);
        t->param[i].line = get_int(&r);
        t->param[i].used = true;
    }
    t->lua_length = get(&r);
    t->lua = (const char *)r.at;
    return true;
}
