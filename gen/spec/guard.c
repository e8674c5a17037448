#include "spec/guard.h"

#include <stdio.h>
#include <string.h>

enum { MOST_LEVELS = 220 }; /* Lua's own parser takes 200 */

/* What an expression is, as far as a test of it is concerned. */
enum node_kind {
    NODE_PLAIN,   /* its value may be anything */
    NODE_LITERAL, /* its value is none of launch */
    NODE_NIL,
    NODE_PAREN,  /* left is what stands inside */
    NODE_UNARY,  /* left is the operand */
    NODE_BINARY, /* arithmetic, concatenation */
    NODE_NOT,
    NODE_AND,
    NODE_OR,
    NODE_COMPARE
};

struct node {
    enum node_kind kind;
    int first, last; /* tokens */
    int word;        /* the operator */
    int left, right; /* nodes */
    enum guard_kind guard;
    bool call; /* what it ends in, which may stand alone as a statement */
};

/* A call that is put around tokens. */
struct edit {
    enum guard_kind guard;
    int token; /* what it reports */
    int next;  /* edit at the same token, -1 */
};

struct parser {
    const struct tokens *t;
    struct arena *arena;
    int at, level;
    bool failed, no_memory;
    struct node *node;
    int node_count, node_room;
    struct edit *edit;
    int edit_count, edit_room;
    int *opens;  /* by token: the edit that begins before it, outermost first; -1 */
    int *closes; /* by token: the edit that ends behind it, innermost first; -1 */
    int *closes_last;
    const char **put; /* by token: what stands in its place; NULL: itself */
};

/* ---- tokens ---------------------------------------------------------------------------------------------------- */

static bool here(const struct parser *p, const char *word)
{
    return token_is(p->t, p->at, word);
}

static bool at_name(const struct parser *p)
{
    return p->t->token[p->at].kind == TOKEN_NAME;
}

static bool at_end(const struct parser *p)
{
    return p->t->token[p->at].kind == TOKEN_END;
}

static void step(struct parser *p)
{
    if (!at_end(p))
        p->at++;
}

static bool take(struct parser *p, const char *word)
{
    if (!here(p, word))
        return false;
    step(p);
    return true;
}

static void expect(struct parser *p, const char *word)
{
    p->failed |= !take(p, word);
}

static void expect_name(struct parser *p)
{
    p->failed |= !at_name(p);
    step(p);
}

static bool stopped(const struct parser *p)
{
    return p->failed || p->no_memory;
}

/* ---- edits ----------------------------------------------------------------------------------------------------- */

/* Room for one more of `count` items, doubled when it is full. */
static void *room(struct parser *p, void *items, int count, int *capacity, size_t size)
{
    if (count < *capacity)
        return items;
    int more = *capacity ? 2 * *capacity : 64;
    void *grown = arena_alloc(p->arena, (size_t)more * size);
    if (!grown) {
        p->no_memory = true;
        return NULL;
    }
    if (count)
        memcpy(grown, items, (size_t)count * size);
    *capacity = more;
    return grown;
}

/* Both kinds of lists are made from inside out: what comes later stands around what came before. */
static void wrap(struct parser *p, enum guard_kind guard, int first, int last, int token)
{
    for (int end = 0; end < 2; end++) {
        struct edit *grown = room(p, p->edit, p->edit_count, &p->edit_room, sizeof *grown);
        if (!grown)
            return;
        p->edit = grown;
        int own = p->edit_count++;
        p->edit[own] = (struct edit){guard, token, -1};
        if (end == 0) {
            p->edit[own].next = p->opens[first];
            p->opens[first] = own;
        } else {
            if (p->closes[last] < 0)
                p->closes[last] = own;
            else
                p->edit[p->closes_last[last]].next = own;
            p->closes_last[last] = own;
        }
    }
}

/* ---- tests ----------------------------------------------------------------------------------------------------- */

enum mode {
    MODE_VALUE, /* nobody tests it */
    MODE_TEST,
    MODE_CHOICE, /* x of `p and x or y` */
    MODE_BEFORE_OR
};

/* Puts the guards into the expression. `word` is the token that tests it. */
static void guard(struct parser *p, int index, enum mode mode, int word)
{
    if (index < 0 || stopped(p))
        return;
    const struct node n = p->node[index];
    enum mode left = MODE_VALUE, right = MODE_VALUE;
    bool own = false; /* tested where it stands, not in its parts */
    switch (n.kind) {
    case NODE_LITERAL:
    case NODE_NIL:
        return;
    case NODE_PAREN:
        guard(p, n.left, mode == MODE_VALUE ? MODE_VALUE : MODE_TEST, word);
        return;
    case NODE_AND:
        left = MODE_TEST;
        right = mode == MODE_TEST ? MODE_TEST : mode == MODE_VALUE ? MODE_VALUE : MODE_CHOICE;
        break;
    case NODE_OR:
        left = mode == MODE_TEST ? MODE_TEST : MODE_BEFORE_OR;
        right = mode;
        break;
    case NODE_NOT:
        guard(p, n.left, MODE_TEST, n.word);
        return;
    default:
        own = n.kind != NODE_COMPARE;
        break;
    }
    bool decides = n.kind == NODE_AND || n.kind == NODE_OR;
    guard(p, n.left, left, decides ? n.word : word);
    guard(p, n.right, right, word);
    if (n.kind == NODE_COMPARE &&
        (n.guard > GUARD_NE || (p->node[n.left].kind != NODE_NIL && p->node[n.right].kind != NODE_NIL))) {
        p->put[n.word] = ",";
        wrap(p, n.guard, n.first, n.last, n.word);
    }
    if (own && mode != MODE_VALUE)
        wrap(p, mode == MODE_CHOICE ? GUARD_CHOICE : GUARD_TRUTH, n.first, n.last, word);
}

/* ---- expressions ----------------------------------------------------------------------------------------------- */

static int add_node(struct parser *p, struct node n)
{
    struct node *grown = room(p, p->node, p->node_count, &p->node_room, sizeof *grown);
    if (!grown)
        return -1;
    p->node = grown;
    p->node[p->node_count] = n;
    return p->node_count++;
}

static int expression(struct parser *p, int limit);
static void block(struct parser *p);

/* A whole expression, its guards put. */
static void whole(struct parser *p, enum mode mode, int word)
{
    guard(p, expression(p, 0), mode, word);
}

static void list(struct parser *p)
{
    do
        whole(p, MODE_VALUE, -1);
    while (!stopped(p) && take(p, ","));
}

/* From `(` or, behind a name, from the parameters on. */
static void function_body(struct parser *p)
{
    expect(p, "(");
    while (!stopped(p) && !here(p, ")")) {
        if (!take(p, "..."))
            expect_name(p);
        if (!take(p, ","))
            break;
    }
    expect(p, ")");
    block(p);
    expect(p, "end");
}

static void table(struct parser *p)
{
    expect(p, "{");
    while (!stopped(p) && !here(p, "}")) {
        if (here(p, "[")) {
            int open = p->at;
            step(p);
            int key = expression(p, 0);
            guard(p, key, MODE_VALUE, -1);
            if (key >= 0 && p->node[key].kind != NODE_LITERAL)
                wrap(p, GUARD_KEY, p->node[key].first, p->node[key].last, open);
            expect(p, "]");
            expect(p, "=");
        } else if (at_name(p) && token_is(p->t, p->at + 1, "=")) {
            step(p);
            step(p);
        }
        whole(p, MODE_VALUE, -1);
        if (!take(p, ",") && !take(p, ";"))
            break;
    }
    expect(p, "}");
}

/* True: there were arguments. */
static bool arguments(struct parser *p)
{
    if (p->t->token[p->at].kind == TOKEN_STRING)
        step(p);
    else if (here(p, "{"))
        table(p);
    else if (take(p, "(")) {
        if (!here(p, ")"))
            list(p);
        expect(p, ")");
    } else
        return false;
    return true;
}

/* The key between the brackets at `open` and `close` becomes an argument, unless it is assigned to. */
static void guard_index(struct parser *p, int first, int open, int close, bool assigned)
{
    if (close < 0)
        return;
    if (assigned) {
        wrap(p, GUARD_KEY, open + 1, close - 1, open);
        return;
    }
    p->put[open] = ",";
    p->put[close] = "";
    wrap(p, GUARD_INDEX, first, close, open);
}

/* A name or a parenthesis and what follows it. `*open`, `*close`: brackets that end it, whose guard is not put yet; -1.
 */
static int suffixed(struct parser *p, int *open, int *close)
{
    struct node n = {.kind = NODE_PLAIN, .first = p->at, .left = -1, .right = -1};
    *open = *close = -1;
    bool alone = true;
    if (take(p, "(")) {
        n.left = expression(p, 0);
        expect(p, ")");
    } else {
        expect_name(p);
    }
    while (!stopped(p)) {
        bool dot = here(p, "."), colon = here(p, ":"), bracket = here(p, "[");
        bool call = here(p, "(") || here(p, "{") || p->t->token[p->at].kind == TOKEN_STRING;
        if (!dot && !colon && !bracket && !call)
            break;
        if (alone && n.left >= 0)
            guard(p, n.left, MODE_VALUE, -1);
        alone = false;
        guard_index(p, n.first, *open, *close, false);
        *open = *close = -1;
        if (dot || colon) {
            step(p);
            expect_name(p);
        }
        if (colon && !arguments(p))
            p->failed = true;
        if (call)
            arguments(p);
        n.call = colon || call;
        if (!bracket)
            continue;
        int at = p->at;
        step(p);
        int key = expression(p, 0);
        guard(p, key, MODE_VALUE, -1);
        if (key >= 0 && p->node[key].kind != NODE_LITERAL) {
            *open = at;
            *close = p->at;
        }
        expect(p, "]");
    }
    n.last = p->at - 1;
    if (alone && n.left >= 0)
        n.kind = NODE_PAREN;
    else
        n.left = -1;
    return add_node(p, n);
}

static int simple(struct parser *p)
{
    const struct token *k = &p->t->token[p->at];
    struct node n = {.kind = NODE_LITERAL, .first = p->at, .last = p->at, .left = -1, .right = -1};
    if (k->kind == TOKEN_NUMBER || k->kind == TOKEN_STRING || here(p, "true") || here(p, "false")) {
        step(p);
    } else if (here(p, "nil")) {
        n.kind = NODE_NIL;
        step(p);
    } else if (here(p, "...") || here(p, "{") || here(p, "function")) {
        n.kind = NODE_PLAIN;
        if (here(p, "{"))
            table(p);
        else if (take(p, "function"))
            function_body(p);
        else
            step(p);
    } else if (at_name(p) || here(p, "(")) {
        int open, close;
        int index = suffixed(p, &open, &close);
        guard_index(p, n.first, open, close, false);
        return index;
    } else {
        p->failed = true;
    }
    n.last = p->at - 1;
    return add_node(p, n);
}

static const struct {
    const char *word;
    int left, right; /* precedence, as in Lua's lparser.c */
    enum node_kind kind;
    enum guard_kind guard;
} operators[] = {
    {"or", 1, 1, NODE_OR, GUARD_TRUTH},       {"and", 2, 2, NODE_AND, GUARD_TRUTH},
    {"<", 3, 3, NODE_COMPARE, GUARD_LT},      {">", 3, 3, NODE_COMPARE, GUARD_GT},
    {"<=", 3, 3, NODE_COMPARE, GUARD_LE},     {">=", 3, 3, NODE_COMPARE, GUARD_GE},
    {"~=", 3, 3, NODE_COMPARE, GUARD_NE},     {"==", 3, 3, NODE_COMPARE, GUARD_EQ},
    {"|", 4, 4, NODE_BINARY, GUARD_TRUTH},    {"~", 5, 5, NODE_BINARY, GUARD_TRUTH},
    {"&", 6, 6, NODE_BINARY, GUARD_TRUTH},    {"<<", 7, 7, NODE_BINARY, GUARD_TRUTH},
    {">>", 7, 7, NODE_BINARY, GUARD_TRUTH},   {"..", 9, 8, NODE_BINARY, GUARD_TRUTH},
    {"+", 10, 10, NODE_BINARY, GUARD_TRUTH},  {"-", 10, 10, NODE_BINARY, GUARD_TRUTH},
    {"*", 11, 11, NODE_BINARY, GUARD_TRUTH},  {"/", 11, 11, NODE_BINARY, GUARD_TRUTH},
    {"//", 11, 11, NODE_BINARY, GUARD_TRUTH}, {"%", 11, 11, NODE_BINARY, GUARD_TRUTH},
    {"^", 14, 13, NODE_BINARY, GUARD_TRUTH},
};

enum { OPERATORS = sizeof operators / sizeof *operators, UNARY = 12 };

static int operator_here(const struct parser *p)
{
    const struct token *k = &p->t->token[p->at];
    if (k->kind != TOKEN_OPERATOR && k->kind != TOKEN_KEYWORD)
        return -1;
    for (int i = 0; i < OPERATORS; i++)
        if (here(p, operators[i].word))
            return i;
    return -1;
}

/* An expression of operators that bind more tightly than `limit`; its node, without guards of its own; -1. */
static int expression(struct parser *p, int limit)
{
    int left = -1, first = p->at, op;
    if (++p->level > MOST_LEVELS)
        p->failed = true;
    if (stopped(p))
        return -1;
    if (here(p, "not") || here(p, "-") || here(p, "#") || here(p, "~")) {
        struct node n = {here(p, "not") ? NODE_NOT : NODE_UNARY, first, 0, p->at, -1, -1, GUARD_TRUTH, false};
        step(p);
        n.left = expression(p, UNARY);
        n.last = p->at - 1;
        left = add_node(p, n);
    } else {
        left = simple(p);
    }
    while (!stopped(p) && (op = operator_here(p)) >= 0 && operators[op].left > limit) {
        struct node n = {operators[op].kind, first, 0, p->at, left, -1, operators[op].guard, false};
        step(p);
        n.right = expression(p, operators[op].right);
        n.last = p->at - 1;
        left = add_node(p, n);
    }
    p->level--;
    return stopped(p) ? -1 : left;
}

/* ---- statements ------------------------------------------------------------------------------------------------ */

static void local_statement(struct parser *p)
{
    if (take(p, "function")) {
        expect_name(p);
        function_body(p);
        return;
    }
    do {
        expect_name(p);
        if (take(p, "<")) {
            expect_name(p);
            expect(p, ">");
        }
    } while (!stopped(p) && take(p, ","));
    if (take(p, "="))
        list(p);
}

static void for_statement(struct parser *p, int word)
{
    expect_name(p);
    if (take(p, "=")) {
        do {
            int bound = expression(p, 0);
            guard(p, bound, MODE_VALUE, -1);
            if (bound >= 0 && p->node[bound].kind != NODE_LITERAL)
                wrap(p, GUARD_BOUND, p->node[bound].first, p->node[bound].last, word);
        } while (!stopped(p) && take(p, ","));
    } else {
        while (!stopped(p) && take(p, ","))
            expect_name(p);
        expect(p, "in");
        list(p);
    }
    expect(p, "do");
    block(p);
    expect(p, "end");
}

static void if_statement(struct parser *p, int word)
{
    for (;;) {
        whole(p, MODE_TEST, word);
        expect(p, "then");
        block(p);
        word = p->at;
        if (stopped(p) || !take(p, "elseif"))
            break;
    }
    if (take(p, "else"))
        block(p);
    expect(p, "end");
}

/* A call, which nothing is assigned to, or an assignment. An element alone is neither, and its guard would be a call.
 */
static void expression_statement(struct parser *p)
{
    int open, close, first = p->at;
    bool several = false;
    do {
        first = p->at;
        int target = suffixed(p, &open, &close);
        several |= here(p, ",");
        bool assigned = several || here(p, "=");
        if (target >= 0)
            p->failed |= p->node[target].kind == NODE_PAREN || p->node[target].call == assigned;
        if (!stopped(p))
            guard_index(p, first, open, close, assigned);
    } while (!stopped(p) && take(p, ","));
    if (take(p, "="))
        list(p);
    else
        p->failed |= several;
}

static void statement(struct parser *p)
{
    int word = p->at;
    if (take(p, ";") || take(p, "break"))
        return;
    if (take(p, "if")) {
        if_statement(p, word);
    } else if (take(p, "while")) {
        whole(p, MODE_TEST, word);
        expect(p, "do");
        block(p);
        expect(p, "end");
    } else if (take(p, "do")) {
        block(p);
        expect(p, "end");
    } else if (take(p, "for")) {
        for_statement(p, word);
    } else if (take(p, "repeat")) {
        block(p);
        word = p->at;
        expect(p, "until");
        whole(p, MODE_TEST, word);
    } else if (take(p, "function")) {
        expect_name(p);
        while (!stopped(p) && (take(p, ".") || take(p, ":")))
            expect_name(p);
        function_body(p);
    } else if (take(p, "local")) {
        local_statement(p);
    } else if (take(p, "::")) {
        expect_name(p);
        expect(p, "::");
    } else if (take(p, "goto")) {
        expect_name(p);
    } else if (take(p, "return")) {
        if (!here(p, ";") && !here(p, "end") && !here(p, "else") && !here(p, "elseif") && !here(p, "until") &&
            !at_end(p))
            list(p);
        take(p, ";");
    } else {
        expression_statement(p);
    }
}

static void block(struct parser *p)
{
    if (++p->level > MOST_LEVELS)
        p->failed = true;
    while (!stopped(p) && !at_end(p) && !here(p, "end") && !here(p, "else") && !here(p, "elseif") && !here(p, "until"))
        statement(p);
    p->level--;
}

/* ---- text ------------------------------------------------------------------------------------------------------ */

struct writer {
    char *text; /* NULL: only counts */
    size_t length;
    size_t *start; /* where each token begins; NULL: nobody asks */
};

static void put(struct writer *w, const char *data, size_t length)
{
    if (w->text && length)
        memcpy(w->text + w->length, data, length);
    w->length += length;
}

/* Begin of the functions' names, which occurs nowhere in the text: it can neither call nor hide them. */
static void choose_name(const struct tokens *t, size_t length, char name[32])
{
    long number = 0;
    const char *end = t->text + length;
    for (const char *at = t->text; (at = memchr(at, '_', (size_t)(end - at))); at++) {
        if (end - at < 5 || memcmp(at, "__tw", 4) != 0)
            continue;
        long used = 0;
        for (const char *digit = at + 4; *digit >= '0' && *digit <= '9' && used < 100000000; digit++)
            used = 10 * used + (*digit - '0');
        number = used >= number && used < 100000000 ? used + 1 : number;
    }
    snprintf(name, 32, "__tw%ld", number);
}

static void put_text(const struct parser *p, struct writer *w, size_t length, size_t skip, const char *name)
{
    const struct tokens *t = p->t;
    char word[64];
    put(w, "local ", 6);
    for (int i = 0; i < GUARD_KINDS; i++)
        put(w, word, (size_t)snprintf(word, sizeof word, "%s%s%c", i ? "," : "", name, 'a' + i));
    put(w, "=... return function(...) ", 26);
    size_t at = skip;
    for (int i = 0; i < t->count; i++) {
        const struct token *k = &t->token[i];
        size_t start = (size_t)k->start, end = start + (size_t)k->length;
        put(w, t->text + at, start - at);
        put(w, "\n", 1);
        if (w->start)
            w->start[i] = w->length;
        for (int e = p->opens[i]; e >= 0; e = p->edit[e].next)
            put(w, word, (size_t)snprintf(word, sizeof word, " %s%c(", name, 'a' + (int)p->edit[e].guard));
        if (p->put[i])
            put(w, p->put[i], strlen(p->put[i]));
        else
            put(w, t->text + start, end - start);
        for (int e = p->closes[i]; e >= 0; e = p->edit[e].next)
            put(w, word, (size_t)snprintf(word, sizeof word, ",%d)", p->edit[e].token));
        at = end;
    }
    put(w, t->text + at, length - at);
    put(w, "\nend", 5); /* and the zero */
}

/* Lua takes two different characters of a line's end for one end. */
static size_t line_end(const char *p)
{
    if (*p != '\n' && *p != '\r')
        return 0;
    return (p[1] == '\n' || p[1] == '\r') && p[1] != p[0] ? 2 : 1;
}

static bool find_lines(const struct writer *w, int count, struct arena *arena, struct guard_lines *lines)
{
    int ends = 0, token = -1;
    for (size_t i = 0; i < w->length; i += line_end(w->text + i) ? line_end(w->text + i) : 1)
        ends += line_end(w->text + i) > 0;
    *lines = (struct guard_lines){arena_alloc(arena, ((size_t)ends + 1) * sizeof *lines->token), 0};
    if (!lines->token)
        return false;
    lines->token[lines->count++] = 0;
    for (size_t i = 0; i < w->length;) {
        const size_t end = line_end(w->text + i);
        i += end ? end : 1;
        if (!end)
            continue;
        while (token + 1 < count && w->start[token + 1] <= i)
            token++;
        lines->token[lines->count++] = token < 0 ? 0 : token;
    }
    return true;
}

enum guard_status guard_rewrite(const struct tokens *tokens, size_t length, size_t skip, struct arena *arena,
                                const char **text, size_t *text_length, struct guard_lines *lines)
{
    size_t count = (size_t)tokens->count;
    struct parser p = {.t = tokens, .arena = arena};
    p.opens = arena_alloc(arena, 3 * count * sizeof *p.opens);
    p.put = arena_alloc(arena, count * sizeof *p.put);
    if (!p.opens || !p.put)
        return GUARD_NO_MEMORY;
    p.closes = p.opens + count;
    p.closes_last = p.closes + count;
    memset(p.opens, -1, 3 * count * sizeof *p.opens);
    block(&p);
    p.failed |= !at_end(&p);
    if (stopped(&p))
        return p.no_memory ? GUARD_NO_MEMORY : GUARD_NOT_LUA;
    char name[32];
    choose_name(tokens, length, name);
    struct writer size = {NULL, 0, NULL}, out = {NULL, 0, arena_alloc(arena, count * sizeof *out.start)};
    put_text(&p, &size, length, skip, name);
    out.text = arena_room(arena, size.length);
    if (!out.text || !out.start)
        return GUARD_NO_MEMORY;
    put_text(&p, &out, length, skip, name);
    if (!find_lines(&out, tokens->count, arena, lines))
        return GUARD_NO_MEMORY;
    *text = out.text;
    *text_length = out.length - 1;
    return GUARD_DONE;
}
