#include "emit/template/template.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit/template/text.h"
#include "spec/tokens.h"

const char *const param_type_name[PARAM_TYPE_COUNT + 1] = {"int", "text", "bool", "table", NULL};

/* Lua text before the first line: the functions that the generated calls name. Templates cannot use `__` names. */
static const char prefix[] = "local __e,__i,__f,__o,__p=... ";

enum { MOST_PARAMS = 256, MOST_FAULTS = 100 };

struct parser {
    struct template *t;
    const struct template_names *names;
    const char *kernel;
    struct arena *arena;
    struct diag_set *diags;
    struct emit_text lua;
    int faults;
    bool no_memory;
    bool body;                   /* a text or Lua line was seen: no more parameters */
    bool unread;                 /* a hole could not be read: what it uses is unknown */
    struct template_line *plain; /* first of the lines without holes that end above, or NULL */
    bool open_arguments;         /* an include's line ended in a comma */
    int include_line;
};

struct diag_loc template_loc(struct template *t, struct diag_set *diags, int line, int column)
{
    if (t->diag_source < 0)
        t->diag_source = diag_add_source(diags, t->shown, t->text);
    return (struct diag_loc){t->diag_source, line + 1, column + 1};
}

static void fault(struct parser *p, int line, int column, const char *rule, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

static void fault(struct parser *p, int line, int column, const char *rule, const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    diag_report(p->diags, DIAG_ERROR, template_loc(p->t, p->diags, line, column), p->kernel, NULL, rule, "%s", text);
    p->faults++;
}

bool template_paths_meet(const struct template_path *a, const struct template_path *b)
{
    int parts = a->parts < b->parts ? a->parts : b->parts;
    for (int i = 0; i < parts; i++)
        if (strcmp(a->part[i], b->part[i]) != 0)
            return false;
    return true;
}

/* ---- scanning one line ----------------------------------------------------------------------------------------- */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

static int skip_space(const struct template_line *l, int at)
{
    while (at < l->length && is_space(l->text[at]))
        at++;
    return at;
}

/* The end of the name at `at`, `at` itself where there is none. */
static int skip_name(const struct template_line *l, int at)
{
    if (at >= l->length || isdigit((unsigned char)l->text[at]))
        return at;
    while (at < l->length && is_word(l->text[at]))
        at++;
    return at;
}

static bool is_keyword(const char *word)
{
    static const char *const keyword[] = {"and",      "break",  "do",   "else", "elseif", "end",   "false", "for",
                                          "function", "goto",   "if",   "in",   "local",  "nil",   "not",   "or",
                                          "repeat",   "return", "then", "true", "until",  "while", NULL};
    for (int i = 0; keyword[i]; i++)
        if (strcmp(keyword[i], word) == 0)
            return true;
    return false;
}

/* Reads a.b.c at *at. False: there is none, or its first name cannot be a variable. */
static bool scan_path(struct parser *p, const struct template_line *l, int *at, struct template_path *path)
{
    int begin = *at;
    *path = (struct template_path){.column = begin};
    for (;;) {
        int end = skip_name(l, *at);
        if (end == *at)
            return false;
        const char **part = arena_grow(p->arena, path->part, path->parts, sizeof *part);
        char *name = arena_copy(p->arena, l->text + *at, (size_t)(end - *at));
        if (!part || !name) {
            p->no_memory = true;
            return false;
        }
        path->part = part;
        path->part[path->parts++] = name;
        *at = end;
        if (end >= l->length || l->text[end] != '.')
            break;
        *at = end + 1;
    }
    path->text = arena_copy(p->arena, l->text + begin, (size_t)(*at - begin));
    if (!path->text)
        p->no_memory = true;
    return path->text && !is_keyword(path->part[0]) && strncmp(path->part[0], "__", 2) != 0;
}

static bool is_helper(const struct parser *p, const char *name)
{
    for (int i = 0; p->names->helper[i]; i++)
        if (strcmp(p->names->helper[i], name) == 0)
            return true;
    return false;
}

/* Reads the hole whose `$` stands at *at and moves past it. */
static bool scan_hole(struct parser *p, const struct template_line *l, int *at, struct template_hole *hole)
{
    *hole = (struct template_hole){.begin = *at};
    int i = skip_space(l, *at + 2);
    if (!scan_path(p, l, &i, &hole->path[0]))
        return false;
    i = skip_space(l, i);
    if (i < l->length && l->text[i] == '(') {
        if (hole->path[0].parts != 1)
            return false;
        hole->helper = hole->path[0].part[0];
        do {
            i = skip_space(l, i + 1);
            if (hole->path_count == TEMPLATE_HELPER_PATHS || !scan_path(p, l, &i, &hole->path[hole->path_count]))
                return false;
            hole->path_count++;
            i = skip_space(l, i);
        } while (i < l->length && l->text[i] == ',');
        if (i >= l->length || l->text[i] != ')')
            return false;
        i = skip_space(l, i + 1);
    } else {
        hole->path_count = 1;
    }
    if (i >= l->length || l->text[i] != '}')
        return false;
    *at = hole->end = i + 1;
    return true;
}

/* The end of the Lua code of a line: where its `--` comment begins. */
static int lua_code_end(const struct template_line *l, int at)
{
    char quote = 0;
    for (; at < l->length; at++) {
        char c = l->text[at];
        if (quote) {
            if (c == '\\')
                at++;
            else if (c == quote)
                quote = 0;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == '-' && at + 1 < l->length && l->text[at + 1] == '-') {
            break;
        }
    }
    int end = at < l->length ? at : l->length;
    while (end > 0 && is_space(l->text[end - 1]))
        end--;
    return end;
}

/* ---- lines ----------------------------------------------------------------------------------------------------- */

/* Reads the holes between two columns and adds the call of a generated function with their first names. */
static void parse_holes(struct parser *p, struct template_line *l, int line, int from, int to, const char *function)
{
    for (int at = from; at + 1 < to;) {
        if (l->text[at] != '$' || l->text[at + 1] != '{') {
            at++;
            continue;
        }
        struct template_hole hole;
        int begin = at;
        if (!scan_hole(p, l, &at, &hole) || at > to) {
            if (!p->no_memory)
                fault(p, line, begin, "TEMPLATE-HOLE",
                      "this is no hole; write ${name}, ${name.field} or ${helper(name)}, and compute in a //@ line");
            p->unread = true;
            return;
        }
        if (hole.helper && !p->names->trusted && !is_helper(p, hole.helper)) {
            const char *near = diag_suggest(hole.helper, p->names->helper);
            fault(p, line, begin + 2, "TEMPLATE-NAME", "'%s' is no helper%s%s%s", hole.helper,
                  near ? "; did you mean '" : "; call your own functions in a //@ line", near ? near : "",
                  near ? "'?" : "");
        }
        struct template_hole *grown = arena_grow(p->arena, l->hole, l->hole_count, sizeof *grown);
        if (!grown) {
            p->no_memory = true;
            return;
        }
        l->hole = grown;
        l->hole[l->hole_count++] = hole;
    }
    if (l->hole_count == 0 && p->plain) { /* the call for the lines above does it */
        p->plain->more++;
        return;
    }
    p->plain = l->hole_count == 0 && (l->kind == LINE_TEXT || l->kind == LINE_BLANK) ? l : NULL;
    text_add(&p->lua, ";", 1); /* no Lua line can go on with a text line */
    text_string(&p->lua, function);
    text_add(&p->lua, "(", 1);
    text_integer(&p->lua, line);
    for (int h = 0; h < l->hole_count; h++)
        for (int i = 0; i < l->hole[h].path_count; i++) {
            text_add(&p->lua, ",", 1);
            text_string(&p->lua, l->hole[h].path[i].part[0]);
        }
    text_add(&p->lua, ")", 1);
}

static void parse_param(struct parser *p, struct template_line *l, int line, int at)
{
    struct template_param param = {.line = line};
    at = skip_space(l, at);
    int begin = at;
    if (!scan_path(p, l, &at, &param.path)) {
        if (!p->no_memory)
            fault(p, line, begin, "TEMPLATE-PARAM", "a parameter has a name; write //@ param NAME TYPE");
        return;
    }
    begin = skip_space(l, at);
    at = skip_name(l, begin);
    char word[16] = "";
    if (at - begin < (int)sizeof word)
        memcpy(word, l->text + begin, (size_t)(at - begin));
    while (param.type < PARAM_TYPE_COUNT && strcmp(param_type_name[param.type], word) != 0)
        param.type++;
    if (param.type == PARAM_TYPE_COUNT || begin == at || skip_space(l, at) < lua_code_end(l, at)) {
        fault(p, line, begin, "TEMPLATE-PARAM", "'%s' needs a type; write int, text, bool or table", param.path.text);
        return;
    }
    if (p->t->param_count == MOST_PARAMS) {
        fault(p, line, begin, "TEMPLATE-LIMIT", "a template takes at most %d parameters; put them into tables",
              MOST_PARAMS);
        return;
    }
    if (p->body)
        fault(p, line, l->indent, "TEMPLATE-PARAM", "parameter '%s' stands below other lines; move it to the top",
              param.path.text);
    const char *root = param.path.part[0];
    if (is_helper(p, root) || strcmp(root, p->names->root) == 0)
        fault(p, line, param.path.column, "TEMPLATE-PARAM", "'%s' is taken; give the parameter another name", root);
    bool bound = false;
    for (int i = 0; i < p->t->param_count; i++) {
        const struct template_path *other = &p->t->param[i].path;
        if (strcmp(other->text, param.path.text) == 0)
            fault(p, line, param.path.column, "TEMPLATE-PARAM", "parameter '%s' was declared in line %d",
                  param.path.text, p->t->param[i].line + 1);
        bound = bound || strcmp(other->part[0], root) == 0;
    }
    if (!bound)
        text_format(&p->lua, "local %s=__p.%s", root, root);
    struct template_param *grown = arena_grow(p->arena, p->t->param, p->t->param_count, sizeof *grown);
    if (!grown) {
        p->no_memory = true;
        return;
    }
    p->t->param = grown;
    p->t->param[p->t->param_count++] = param;
}

/* Reads `"name"` at *at into l->word. */
static bool scan_quoted(struct parser *p, struct template_line *l, int line, int *at, const char *what)
{
    int begin = skip_space(l, *at), end = begin + 1;
    while (end < l->length && l->text[end] != '"' && l->text[end] != '\\')
        end++;
    if (begin >= l->length || l->text[begin] != '"' || end >= l->length || l->text[end] != '"' || end == begin + 1) {
        fault(p, line, begin, "TEMPLATE-DIRECTIVE", "a name in quotes is missing; write //@ %s", what);
        return false;
    }
    l->word = arena_copy(p->arena, l->text + begin + 1, (size_t)(end - begin - 1));
    l->word_column = begin + 1;
    l->word_end = end;
    *at = end + 1;
    if (!l->word)
        p->no_memory = true;
    return l->word;
}

/* The arguments of an include from column `at` on, `})` where they end in this line. */
static void add_arguments(struct parser *p, const struct template_line *l, int line, int at)
{
    int end = lua_code_end(l, at);
    if (end > at)
        text_add(&p->lua, l->text + at, (size_t)(end - at));
    p->open_arguments = end > at && l->text[end - 1] == ',';
    p->include_line = p->open_arguments ? line : p->include_line;
    if (!p->open_arguments)
        text_string(&p->lua, "})");
}

/* `//@ op WORD name = LUA, ...` from behind the `op` on. */
static void parse_op(struct parser *p, struct template_line *l, int line, int at)
{
    l->kind = LINE_OP;
    l->word_column = skip_space(l, at);
    l->word_end = skip_name(l, l->word_column);
    l->word = arena_copy(p->arena, l->text + l->word_column, (size_t)(l->word_end - l->word_column));
    if (!l->word) {
        p->no_memory = true;
        return;
    }
    if (!*l->word)
        fault(p, line, l->word_column, "TEMPLATE-DIRECTIVE", "an operation is missing; write //@ op WORD name = ...");
    text_format(&p->lua, ";__o(%d,{", line);
    add_arguments(p, l, line, l->word_end);
}

static bool flow_kind(const char *word, int length, enum line_kind *kind)
{
    static const char *const name[] = {
        [LINE_ROLE] = "role", [LINE_ENDROLE] = "endrole", [LINE_LOOP] = "loop",   [LINE_ENDLOOP] = "endloop",
        [LINE_WHEN] = "when", [LINE_ENDWHEN] = "endwhen", [LINE_ELECT] = "elect", [LINE_ENDELECT] = "endelect"};
    for (*kind = LINE_ROLE; *kind <= LINE_ENDELECT; (*kind)++)
        if ((size_t)length == strlen(name[*kind]) && memcmp(word, name[*kind], (size_t)length) == 0)
            return true;
    return false;
}

/* Roles, loops, guards, from behind their word on. */
static void parse_flow(struct parser *p, struct template_line *l, int line, int at)
{
    bool named = l->kind == LINE_ROLE || l->kind == LINE_LOOP;
    bool text = l->kind == LINE_LOOP || l->kind == LINE_WHEN;
    const char *what = l->kind == LINE_ROLE ? "role \"NAME\"" : "loop \"NAME\" step < steps";
    if (named && !scan_quoted(p, l, line, &at, what))
        return;
    l->rest = skip_space(l, at);
    l->rest_end = lua_code_end(l, l->rest);
    if (text && l->rest >= l->rest_end)
        fault(p, line, l->rest, "TEMPLATE-DIRECTIVE",
              l->kind == LINE_LOOP ? "a loop needs its counter and its bound; write //@ loop \"NAME\" step < steps"
                                   : "a condition is missing; write //@ when step > 0");
    else if (!text && l->rest < l->rest_end)
        fault(p, line, l->rest, "TEMPLATE-DIRECTIVE", "nothing follows %s%.*s", named ? "the name of a " : "//@ ",
              named ? 4 : at - l->indent - 4, named ? "role" : l->text + l->indent + 4);
    int from = named ? l->word_column : l->rest, to = text ? l->rest_end : named ? l->word_end : l->rest;
    parse_holes(p, l, line, from, to, "__f");
}

/* A line that begins with //@, whose code begins at column `at`. */
static void parse_directive(struct parser *p, struct template_line *l, int line, int at)
{
    int code = skip_space(l, at), end = skip_name(l, code), length = end - code;
    const char *word = l->text + code;
#define IS(w) (length == (int)sizeof(w) - 1 && memcmp(word, w, sizeof(w) - 1) == 0)
    if (p->open_arguments) { /* keeps its columns */
        l->kind = LINE_LUA;
        text_add(&p->lua, l->text, (size_t)l->indent);
        text_add(&p->lua, "   ", 3);
        add_arguments(p, l, line, at);
        return;
    }
    if (code >= l->length || (l->length - code >= 2 && word[0] == '-' && word[1] == '-')) {
        l->kind = LINE_COMMENT;
        return;
    }
    if (IS("param")) {
        l->kind = LINE_PARAM;
        parse_param(p, l, line, end);
        return;
    }
    p->body = true;
    if (IS("include")) {
        l->kind = LINE_INCLUDE;
        if (!scan_quoted(p, l, line, &end, "include \"NAME\" a = ..."))
            return;
        text_format(&p->lua, ";__i(%d,{", line);
        add_arguments(p, l, line, end);
    } else if (IS("op")) {
        parse_op(p, l, line, end);
    } else if (flow_kind(word, length, &l->kind)) {
        parse_flow(p, l, line, end);
    } else { /* Lua, its columns kept */
        l->kind = LINE_LUA;
        text_add(&p->lua, l->text, (size_t)l->indent);
        text_add(&p->lua, "   ", 3);
        text_add(&p->lua, l->text + at, (size_t)(l->length - at));
    }
#undef IS
}

static void parse_line(struct parser *p, struct template_line *l, int line)
{
    while (l->indent < l->length && is_space(l->text[l->indent]))
        l->indent++;
    bool directive = l->length - l->indent >= 3 && memcmp(l->text + l->indent, "//@", 3) == 0;
    if (p->open_arguments && !directive) {
        fault(p, p->include_line, -1, "TEMPLATE-DIRECTIVE",
              "the arguments end in a comma, and no //@ line follows that goes on");
        p->open_arguments = false;
    }
    if (directive) {
        p->plain = NULL;
        parse_directive(p, l, line, l->indent + 3);
    } else {
        l->kind = l->length == 0 ? LINE_BLANK : LINE_TEXT;
        p->body = p->body || l->length > 0;
        parse_holes(p, l, line, 0, l->length, "__e");
    }
}

/* ---- names ----------------------------------------------------------------------------------------------------- */

/* Names that may be locals, sorted once they are all there. */
struct names {
    const char **name;
    int count;
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Marks parameters that the Lua lines use, and collects every name that those lines hold: it may be a local. */
static void scan_lua_names(struct parser *p, struct names *locals)
{
    struct template *t = p->t;
    struct tokens tokens = {0};
    if (!tokens_scan(&tokens, t->lua, t->lua_length, p->arena)) {
        p->no_memory = true;
        return;
    }
    for (int i = 0; i < tokens.count; i++) {
        const struct token *token = &tokens.token[i];
        if (token->kind != TOKEN_NAME || token->line < 1 || token->line > t->line_count)
            continue;
        enum line_kind kind = t->line[token->line - 1].kind;
        bool field = i > 0 && (token_is(&tokens, i - 1, ".") || token_is(&tokens, i - 1, ":"));
        const char *name = t->lua + token->start;
        if ((kind != LINE_LUA && kind != LINE_INCLUDE && kind != LINE_OP) || field || strncmp(name, "__", 2) == 0)
            continue;
        int parts = 1;
        while (i + 2 * parts < tokens.count && token_is(&tokens, i + 2 * parts - 1, ".") &&
               tokens.token[i + 2 * parts].kind == TOKEN_NAME)
            parts++;
        const char **grown = arena_grow(p->arena, locals->name, locals->count, sizeof *grown);
        char *copy = arena_copy(p->arena, name, (size_t)token->length);
        if (!grown || !copy) {
            p->no_memory = true;
            return;
        }
        locals->name = grown;
        locals->name[locals->count++] = copy;
        if (parts == 1 && i + 1 < tokens.count && token_is(&tokens, i + 1, "="))
            continue; /* a field of a constructor, an argument, a new local */
        for (int k = 0; k < t->param_count; k++) {
            const struct template_path *path = &t->param[k].path;
            bool meets = true;
            for (int j = 0; j < parts && j < path->parts && meets; j++) {
                const struct token *part = &tokens.token[i + 2 * j];
                meets = (size_t)part->length == strlen(path->part[j]) &&
                        memcmp(t->lua + part->start, path->part[j], (size_t)part->length) == 0;
            }
            t->param[k].used = t->param[k].used || meets;
        }
    }
}

/* The name that a misspelt hole may mean, or NULL. */
static const char *suggest_name(struct parser *p, const char *word)
{
    int helpers = 0;
    while (p->names->helper[helpers])
        helpers++;
    const char **candidate = arena_alloc(p->arena, sizeof *candidate * (size_t)(p->t->param_count + helpers + 1));
    if (!candidate)
        return NULL;
    for (int i = 0; i < p->t->param_count; i++)
        candidate[i] = p->t->param[i].path.text;
    memcpy(candidate + p->t->param_count, p->names->helper, sizeof *candidate * (size_t)helpers);
    return diag_suggest(word, candidate);
}

static void check_hole_path(struct parser *p, const struct template_path *path, int line, const struct names *locals)
{
    const char *root = path->part[0];
    bool known = is_helper(p, root) || strcmp(root, p->names->root) == 0;
    for (int i = 0; i < p->t->param_count; i++)
        if (template_paths_meet(&p->t->param[i].path, path))
            known = p->t->param[i].used = true;
    if (known || (locals->count && bsearch(&root, locals->name, (size_t)locals->count, sizeof root, compare_names)))
        return;
    const char *near = suggest_name(p, path->text);
    fault(p, line, path->column, "TEMPLATE-NAME", "nothing is called '%s'; %s%s%s", path->text,
          near ? "did you mean '" : "declare it at the top: //@ param ", near ? near : path->text,
          near ? "'?" : " TYPE");
}

static void check_names(struct parser *p)
{
    struct template *t = p->t;
    struct names locals = {0};
    scan_lua_names(p, &locals);
    if (locals.count)
        qsort(locals.name, (size_t)locals.count, sizeof *locals.name, compare_names);
    for (int line = 0; line < t->line_count && !p->no_memory && p->faults < MOST_FAULTS; line++)
        for (int h = 0; h < t->line[line].hole_count; h++)
            for (int i = 0; i < t->line[line].hole[h].path_count; i++)
                check_hole_path(p, &t->line[line].hole[h].path[i], line, &locals);
    for (int i = 0; i < t->param_count; i++)
        if (!t->param[i].used && !p->unread)
            fault(p, t->param[i].line, t->param[i].path.column, "TEMPLATE-UNUSED",
                  "no line uses parameter '%s'; delete it", t->param[i].path.text);
}

int template_parse(struct template *t, const struct template_names *names, const char *kernel, struct arena *arena,
                   struct diag_set *diags)
{
    struct parser p = {.t = t, .names = names, .kernel = kernel, .arena = arena, .diags = diags};
    p.lua.arena = arena;
    t->source = t->diag_source = -1;
    size_t lines = 1;
    for (const char *c = t->text; (c = memchr(c, '\n', (size_t)(t->text + t->length - c))); c++)
        lines++;
    t->line = arena_alloc(arena, sizeof *t->line * lines);
    if (!t->line)
        return -1;
    text_string(&p.lua, prefix);
    const char *at = t->text, *end = t->text + t->length;
    while (at < end && !p.no_memory && p.faults < MOST_FAULTS) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const char *next = stop ? stop + 1 : end;
        stop = stop ? stop : end;
        while (stop > at && (is_space(stop[-1]) || stop[-1] == '\r'))
            stop--;
        struct template_line *l = &t->line[t->line_count];
        l->text = at;
        l->length = (int)(stop - at);
        parse_line(&p, l, t->line_count++);
        text_add(&p.lua, "\n", 1);
        at = next;
    }
    if (p.open_arguments)
        fault(&p, p.include_line, -1, "TEMPLATE-DIRECTIVE",
              "the arguments end in a comma, and no //@ line follows that goes on");
    if (p.lua.failed)
        p.no_memory = true;
    if (p.no_memory)
        return -1;
    t->lua = p.lua.data;
    t->lua_length = p.lua.length;
    if (!names->trusted && p.faults < MOST_FAULTS)
        check_names(&p);
    return p.no_memory ? -1 : p.faults;
}
