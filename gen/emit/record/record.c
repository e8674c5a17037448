#include "emit/record/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit/record/record_internal.h"

/* ---- faults and places ----------------------------------------------------------------------------------------- */

bool record_report(struct recorder *r, struct record_place at, int column, const char *rule, const char *text)
{
    diag_report(r->diags, DIAG_ERROR, template_loc(at.template, r->diags, at.line, column), r->plan->kernel, NULL, rule,
                "%s", text ? text : "out of memory");
    return false;
}

int record_column(struct record_place at, const char *word, int length)
{
    const struct template_line *l = &at.template->line[at.line];
    for (int i = l->indent; i + length <= l->length; i++)
        if (memcmp(l->text + i, word, (size_t)length) == 0)
            return i;
    return l->indent;
}

static int indent_of(struct record_place at)
{
    return at.template->line[at.line].indent;
}

struct recorder *record_open(const struct plan *plan, struct template *top, struct output *output, struct arena *arena,
                             struct diag_set *diags)
{
    struct recorder *r = arena_alloc(arena, sizeof *r);
    if (!r)
        return NULL;
    *r = (struct recorder){.plan = plan, .top = top, .output = output, .arena = arena, .diags = diags};
    r->open = r->declared = r->argument = -1;
    r->role = arena_alloc(arena, ((size_t)plan->role_count + 1) * sizeof *r->role);
    return r->role ? r : NULL;
}

/* ---- frames ---------------------------------------------------------------------------------------------------- */

bool record_is_flow(enum frame_kind kind)
{
    return kind >= FRAME_ROLE;
}

static struct frame *top_frame(struct recorder *r)
{
    return r->frame_count ? &r->frame[r->frame_count - 1] : NULL;
}

struct frame *record_push(struct recorder *r, struct frame frame)
{
    struct frame *grown = arena_grow(r->arena, r->frame, r->frame_count, sizeof *grown);
    if (!grown) {
        r->no_memory = true;
        return NULL;
    }
    r->frame = grown;
    r->frame[r->frame_count++] = frame;
    return top_frame(r);
}

const struct frame *record_control(const struct recorder *r)
{
    for (int i = r->frame_count - 1; i >= 0; i--)
        if (r->frame[i].kind == FRAME_CONTROL)
            return &r->frame[i];
    return NULL;
}

struct node *record_node(struct recorder *r, struct node node)
{
    struct role_record *role = &r->role[r->open];
    struct node *grown = arena_grow(r->arena, role->node, role->count, sizeof *grown);
    if (!grown) {
        r->no_memory = true;
        return NULL;
    }
    role->node = grown;
    role->node[role->count] = node;
    return &role->node[role->count++];
}

/* ---- what directives emit -------------------------------------------------------------------------------------- */

/* Writes a line of the directives', indented by four columns a level of flow. */
static void write_line(struct recorder *r, struct record_place at, const char *text)
{
    int level = 1;
    for (int i = 0; i < r->frame_count; i++)
        level += r->frame[i].emitted;
    const char *line = text ? arena_format(r->arena, "%*s%s", 4 * level, "", text) : NULL;
    if (!line) {
        r->no_memory = true;
        return;
    }
    output_line(r->output, at.template, at.line, false, line, strlen(line));
}

/* The } of the last role, where no else follows. */
static void close_role(struct recorder *r)
{
    if (!r->closing)
        return;
    r->closing = false;
    bool blank = r->output->blank;
    r->output->blank = false;
    write_line(r, r->closed, "}");
    r->output->blank = blank;
}

/* ---- directives ------------------------------------------------------------------------------------------------ */

static const char *flow_name(enum frame_kind kind)
{
    static const char *const name[] = {
        [FRAME_ROLE] = "role", [FRAME_ELECT] = "elect", [FRAME_LOOP] = "loop", [FRAME_WHEN] = "when"};
    return name[kind];
}

/* A directive stands where a statement may, under no control flow of the text's. */
static bool in_place(struct recorder *r, struct record_place at, const char *what)
{
    const struct frame *control = record_control(r);
    if (r->scanner.comment)
        return RECORD_FAULT(r, at, indent_of(at), "TEMPLATE-GUARD", "//@ %s stands in a comment; end that first", what);
    if (r->statement.count)
        return RECORD_FAULT(r, at, indent_of(at), "TEMPLATE-GUARD",
                            "//@ %s stands in the statement that begins in line %d; end that first", what,
                            r->statement.piece[0].at.line + 1);
    if (control)
        return RECORD_FAULT(r, at, indent_of(at), "TEMPLATE-GUARD",
                            "//@ %s stands under the '%s' of line %d, which the proof does not see; write //@ when or "
                            "//@ loop in its place",
                            what, control->word, control->at.line + 1);
    return true;
}

bool record_role(struct recorder *r, struct record_place at, const char *name, int column)
{
    const struct plan *p = r->plan;
    if (r->open >= 0)
        return RECORD_FAULT(r, at, column, "TEMPLATE-ORDER",
                            "role '%s' begins inside of role '%s', which was opened in line %d; end that first", name,
                            p->role[r->open].name, r->role[r->open].opened.line + 1);
    const char **known = arena_alloc(r->arena, ((size_t)p->role_count + 1) * sizeof *known);
    int role = 0;
    while (role < p->role_count && strcmp(p->role[role].name, name) != 0)
        role++;
    if (!known)
        return !(r->no_memory = true);
    for (int i = 0; i < p->role_count; i++)
        known[i] = p->role[i].name;
    const char *near = diag_suggest(name, known);
    if (role == p->role_count)
        return RECORD_FAULT(r, at, column, "TEMPLATE-ORDER", "the Plan has no role '%s'%s%s%s", name,
                            near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    if (!in_place(r, at, "role"))
        return false;
    if (!r->frame_count || top_frame(r)->kind != FRAME_KERNEL)
        return RECORD_FAULT(r, at, indent_of(at), "TEMPLATE-GUARD",
                            "role '%s' stands in no kernel; write it into the body of the __global__ function", name);
    const char *kernel = top_frame(r)->word;
    if (p->entry && (!kernel || strcmp(kernel, p->entry) != 0))
        return RECORD_FAULT(r, at, indent_of(at), "TEMPLATE-GUARD",
                            "role '%s' stands in the kernel '%s', and '%s' is launched; call that ${entry}", name,
                            kernel ? kernel : "", p->entry);
    const struct plan_role *from = &p->role[role];
    int first = 32 * from->first_warp, end = first + 32 * from->warps, threads = p->launch.block;
    bool others = r->closing, rest = others && r->chained + from->warps == threads / 32;
    const char *condition = first == 0 ? arena_format(r->arena, "if (threadIdx.x < %d) {", end)
                            : end >= threads
                                ? arena_format(r->arena, "if (threadIdx.x >= %d) {", first)
                                : arena_format(r->arena, "if (threadIdx.x >= %d && threadIdx.x < %d) {", first, end);
    bool guarded = first > 0 || end < threads;
    if (guarded && others)
        write_line(r, at, rest ? "} else {" : condition ? arena_format(r->arena, "} else %s", condition) : NULL);
    else if (guarded)
        write_line(r, at, condition);
    r->chained = (others ? r->chained : 0) + from->warps;
    r->closing = false;
    r->open = role;
    r->role[role].opened = at;
    return record_push(r, (struct frame){.kind = FRAME_ROLE, .at = at, .word = from->name, .emitted = guarded}) != NULL;
}

/* What loop, when and elect ask for. */
static bool in_role(struct recorder *r, struct record_place at, const char *what)
{
    if (r->open < 0)
        return RECORD_FAULT(r, at, -1, "TEMPLATE-ORDER", "//@ %s stands in no role; open one: //@ role \"NAME\"", what);
    return in_place(r, at, what);
}

bool record_elect(struct recorder *r, struct record_place at)
{
    if (!in_role(r, at, "elect"))
        return false;
    if (r->elected)
        return RECORD_FAULT(r, at, -1, "TEMPLATE-GUARD", "one thread was elected already; delete this line");
    const struct plan_role *role = &r->plan->role[r->open];
    int first = 32 * role->first_warp, threads = 32 * role->warps / role->instances;
    if (role->instances == 1)
        write_line(r, at, arena_format(r->arena, "if (threadIdx.x == %d) {", first));
    else
        write_line(r, at, arena_format(r->arena, "if (threadIdx.x %% %d == %d) {", threads, first % threads));
    r->elected = true;
    return record_push(r, (struct frame){.kind = FRAME_ELECT, .at = at, .emitted = true}) != NULL;
}

/* The tokens of a directive's text. Their number, -1: reported. */
static int take_apart(struct recorder *r, struct record_place at, const char *text, struct cuda_token *token, int most)
{
    struct cuda_scanner s = {0};
    int count = 0;
    cuda_line(&s, text, strlen(text));
    while (count < most && cuda_next(&s, &token[count]))
        count++;
    if (s.fault || (count == most && s.at < s.end)) {
        RECORD_FAULT(r, at, -1, "TEMPLATE-DIRECTIVE", "'%s' is too long for a directive", text);
        return -1;
    }
    return count;
}

static const char *copy(struct recorder *r, const struct cuda_token *t)
{
    const char *text = arena_copy(r->arena, t->text, (size_t)t->length);
    r->no_memory = r->no_memory || !text;
    return text;
}

/* The class of a loop; -1: reported, or no memory. */
static int find_class(struct recorder *r, struct record_place at, struct loop_class class)
{
    if (!class.name || !class.bound)
        return -1;
    class.trips = r->loop_count;
    for (int i = r->loop_count - 1; i >= 0; i--) {
        const struct loop_class *other = &r->loop[i];
        bool same = strcmp(other->bound, class.bound) == 0 && other->turns == class.turns;
        if (same)
            class.trips = other->trips;
        if (strcmp(other->name, class.name) != 0)
            continue;
        if (same)
            return i;
        RECORD_FAULT(r, at, record_column(at, class.bound, (int)strlen(class.bound)), "TEMPLATE-GUARD",
                     "loop '%s' runs to '%s' here and to '%s' elsewhere; loops of one name make equally many trips",
                     class.name, class.bound, other->bound);
        return -1;
    }
    struct loop_class *grown = arena_grow(r->arena, r->loop, r->loop_count, sizeof *grown);
    if (!grown) {
        r->no_memory = true;
        return -1;
    }
    r->loop = grown;
    r->loop[r->loop_count] = class;
    return r->loop_count++;
}

/* The bound of a counted loop. */
static bool check_bound(struct recorder *r, struct record_place at, const struct cuda_token *bound, int *number)
{
    int column = record_column(at, bound->text, bound->length);
    *number = -1;
    if (bound->kind == CUDA_NUMBER) {
        char *end;
        long value = strtol(bound->text, &end, 10);
        if (end == bound->text + bound->length && value >= 0 && value < 1 << 20) {
            *number = (int)value;
            return true;
        }
    }
    for (int i = 0; i < r->constant_count && bound->kind == CUDA_WORD; i++) {
        const struct constant *c = &r->constant[i];
        if (!cuda_is(bound, c->name))
            continue;
        if (c->differs)
            return RECORD_FAULT(r, at, column, "TEMPLATE-GUARD",
                                "'%s' is computed from '%s', which may differ between threads; compute the trip count "
                                "from args, blockIdx and constants",
                                c->name, c->differs);
        if (c->is_int)
            return true;
    }
    return RECORD_FAULT(r, at, column, "TEMPLATE-GUARD",
                        "'%.*s' is no trip count; write a number, or declare it before the roles: const int %.*s = ...",
                        bound->length, bound->text, bound->kind == CUDA_WORD ? bound->length : 5,
                        bound->kind == CUDA_WORD ? bound->text : "steps");
}

/* while CALL(...): the call's name. */
static bool check_turns(struct recorder *r, struct record_place at, const struct cuda_token *token, int count)
{
    int f = count > 3 ? record_function(r, &token[1]) : -1;
    if (f < 0 || r->function[f].kind != FUNCTION_TURNS || !cuda_is(&token[2], "(") || !cuda_is(&token[count - 1], ")"))
        return RECORD_FAULT(r, at, -1, "TEMPLATE-GUARD",
                            "a loop runs while a block's function says so that declares //@ op turns; or write "
                            "//@ loop \"NAME\" step < steps");
    int depth = 0;
    for (int i = 2; i < count; i++) {
        depth += cuda_is(&token[i], "(") - cuda_is(&token[i], ")");
        if ((depth == 0 && i < count - 1) || (i > 1 && record_function(r, &token[i]) >= 0))
            return RECORD_FAULT(r, at, -1, "TEMPLATE-GUARD", "a loop's condition is one call, no more");
    }
    return true;
}

bool record_loop(struct recorder *r, struct record_place at, const char *name, const char *header)
{
    struct cuda_token token[40];
    if (!in_role(r, at, "loop"))
        return false;
    int count = take_apart(r, at, header, token, 40);
    if (count < 0)
        return false;
    bool turns = count > 0 && cuda_is(&token[0], "while");
    struct loop_class class = {.name = name, .turns = turns, .number = -1};
    const char *counter = NULL;
    if (turns) {
        if (!check_turns(r, at, token, count))
            return false;
        class.bound = arena_format(r->arena, "%.*s", (int)(token[count - 1].text + 1 - token[1].text), token[1].text);
        write_line(r, at, arena_format(r->arena, "while (%s) {", class.bound ? class.bound : ""));
    } else {
        if (count != 3 || token[0].kind != CUDA_WORD || !cuda_is(&token[1], "<"))
            return RECORD_FAULT(r, at, -1, "TEMPLATE-DIRECTIVE",
                                "a loop counts or runs while a call is true; write //@ loop \"NAME\" step < steps");
        if (!check_bound(r, at, &token[2], &class.number))
            return false;
        counter = copy(r, &token[0]);
        class.bound = copy(r, &token[2]);
        for (int i = 0; i < r->frame_count && counter; i++)
            if (r->frame[i].counter && strcmp(r->frame[i].counter, counter) == 0)
                return RECORD_FAULT(r, at, record_column(at, counter, (int)strlen(counter)), "TEMPLATE-GUARD",
                                    "'%s' counts the loop of line %d already; give this one another name", counter,
                                    r->frame[i].at.line + 1);
        if (counter && class.bound)
            write_line(
                r, at,
                arena_format(r->arena, "for (int %s = 0; %s < %s; ++%s) {", counter, counter, class.bound, counter));
        else
            return false;
    }
    int loop = find_class(r, at, class);
    if (loop < 0)
        return false;
    struct node node = {.kind = NODE_LOOP, .at = at, .loop = loop, .counter = counter, .column = indent_of(at)};
    struct frame frame = {
        .kind = FRAME_LOOP, .at = at, .word = r->loop[loop].name, .counter = counter, .loop = loop, .emitted = true};
    return record_node(r, node) && record_push(r, frame);
}

/* One side's sum. Returns the token behind it, -1: no sum. */
static int read_sum(struct recorder *r, const struct cuda_token *token, int at, int count, struct condition *c)
{
    int sign = 1;
    for (; at < count && c->count < MOST_TERMS; at += 2) {
        struct term *t = &c->term[c->count++];
        char *end;
        *t = (struct term){.sign = sign};
        if (token[at].kind == CUDA_WORD)
            t->name = copy(r, &token[at]);
        else if (token[at].kind == CUDA_NUMBER)
            t->number = (int)strtol(token[at].text, &end, 10);
        if (!t->name && (token[at].kind != CUDA_NUMBER || end != token[at].text + token[at].length))
            return -1;
        if (at + 1 >= count || !(cuda_is(&token[at + 1], "+") || cuda_is(&token[at + 1], "-")))
            return at + 1;
        sign = cuda_is(&token[at + 1], "+") ? 1 : -1;
    }
    return -1;
}

bool record_when(struct recorder *r, struct record_place at, const char *text)
{
    static const char *const compare[] = {"<", "<=", ">", ">=", "==", "!=", NULL};
    struct cuda_token token[32];
    if (!in_role(r, at, "when"))
        return false;
    int count = take_apart(r, at, text, token, 32);
    struct condition *c = count < 0 ? NULL : arena_alloc(r->arena, sizeof *c);
    if (!c)
        return count < 0 ? false : !(r->no_memory = true);
    int behind = read_sum(r, token, 0, count, c);
    if (behind > 0 && behind < count && cuda_is_one(&token[behind], compare)) {
        c->compare = copy(r, &token[behind]);
        c->left = c->count;
        behind = read_sum(r, token, behind + 1, count, c);
    }
    if (r->no_memory)
        return false;
    if (!c->compare || behind != count)
        return RECORD_FAULT(r, at, -1, "TEMPLATE-GUARD",
                            "the proof cannot follow '%s'; a condition compares sums of counters, bounds of loops and "
                            "numbers, such as step + 2 < steps",
                            text);
    write_line(r, at, arena_format(r->arena, "if (%s) {", text));
    return record_node(r, (struct node){.kind = NODE_WHEN, .at = at, .condition = c, .column = indent_of(at)}) &&
           record_push(r, (struct frame){.kind = FRAME_WHEN, .at = at, .emitted = true});
}

bool record_end(struct recorder *r, struct record_place at, enum line_kind kind)
{
    enum frame_kind ends = kind == LINE_ENDROLE   ? FRAME_ROLE
                           : kind == LINE_ENDLOOP ? FRAME_LOOP
                           : kind == LINE_ENDWHEN ? FRAME_WHEN
                                                  : FRAME_ELECT;
    const char *name = flow_name(ends);
    struct frame *top = top_frame(r);
    bool any = false;
    for (int i = 0; i < r->frame_count; i++)
        any = any || r->frame[i].kind == ends;
    if (!any)
        return RECORD_FAULT(r, at, -1, "TEMPLATE-ORDER", "no %s is open here", name);
    if (r->scanner.comment)
        return RECORD_FAULT(r, at, -1, "TEMPLATE-GUARD", "//@ end%s stands in a comment; end that first", name);
    if (r->statement.count)
        return RECORD_FAULT(r, at, -1, "TEMPLATE-GUARD", "the statement of line %d has no end before //@ end%s",
                            r->statement.piece[0].at.line + 1, name);
    if (top->kind != ends)
        return RECORD_FAULT(r, at, -1, "TEMPLATE-ORDER", "%s%s of line %d is not ended before //@ end%s; write %s%s",
                            record_is_flow(top->kind) ? "//@ " : "the ",
                            record_is_flow(top->kind) ? flow_name(top->kind) : "{", top->at.line + 1, name,
                            record_is_flow(top->kind) ? "//@ end" : "}",
                            record_is_flow(top->kind) ? flow_name(top->kind) : "");
    struct frame frame = *top;
    r->frame_count--;
    if (ends == FRAME_ROLE) {
        r->role[r->open].closed = at;
        r->position_count = r->pointer_count = 0;
        r->open = -1;
        r->closing = frame.emitted;
        r->closed = at;
        return true;
    }
    r->elected = r->elected && ends != FRAME_ELECT;
    write_line(r, at, "}");
    if (ends == FRAME_ELECT)
        return !r->no_memory;
    return record_node(r, (struct node){.kind = ends == FRAME_LOOP ? NODE_END_LOOP : NODE_END_WHEN,
                                        .at = at,
                                        .loop = frame.loop,
                                        .column = indent_of(at)}) != NULL;
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

static bool token(struct recorder *r, const struct piece *piece)
{
    struct frame *f = top_frame(r);
    if (!f)
        return record_file_token(r, piece);
    if (f->kind != FRAME_FUNCTION && f->kind != FRAME_TYPE)
        return record_statement_token(r, *piece);
    f->braces += cuda_is(&piece->token, "{");
    if (cuda_is(&piece->token, "}") && f->braces-- == 0) {
        r->frame_count--;
        return true;
    }
    return record_other_token(r, piece);
}

/* Texts that follow each other are one to the compiler. */
static bool join_text(struct recorder *r, struct piece *piece)
{
    const struct cuda_token *t = &piece->token;
    if (t->kind != CUDA_TEXT || t->length < 2) {
        r->joined = NULL;
        return true;
    }
    r->joined = arena_format(r->arena, "%s%.*s", r->joined ? r->joined : "", t->length - 2, t->text + 1);
    piece->joined = r->joined;
    return r->joined;
}

bool record_text(struct recorder *r, struct record_place at, bool continued, const char *text, size_t length)
{
    close_role(r);
    output_line(r->output, at.template, at.line, continued, text, length);
    if (!r->plan->role_count)
        return true;
    bool own = at.template == r->top;
    struct piece piece = {.at = at};
    cuda_line(&r->scanner, text, length);
    while (cuda_next(&r->scanner, &piece.token)) {
        if (cuda_is(&piece.token, "#")) {
            const char *word = piece.token.text + 1;
            while (*word == ' ' || *word == '\t')
                word++;
            if (own && strncmp(word, "pragma", 6) != 0)
                return RECORD_FAULT(r, at, indent_of(at), "TEMPLATE-GUARD",
                                    "the proof does not see what the preprocessor does; write //@ if, //@ local and "
                                    "holes");
            return true;
        }
        if (own && cuda_is(&piece.token, "\\"))
            return RECORD_FAULT(r, at, indent_of(at), "TEMPLATE-GUARD",
                                "the proof cannot follow a \\ outside of a text; write the characters themselves");
        if (!join_text(r, &piece))
            return !(r->no_memory = true);
        const struct frame *f = top_frame(r);
        bool kept = !f || own || (f->kind != FRAME_FUNCTION && f->kind != FRAME_TYPE);
        if ((kept && !(piece.token.text = copy(r, &piece.token))) || !token(r, &piece))
            return false;
    }
    if (r->scanner.fault && own)
        return RECORD_FAULT(r, at, indent_of(at), "TEMPLATE-GUARD",
                            "the proof cannot follow %s; write it in another way", r->scanner.fault);
    return !r->no_memory;
}

/* ---- the end --------------------------------------------------------------------------------------------------- */

int record_finish(struct recorder *r)
{
    const struct plan *p = r->plan;
    int before = r->diags->reported;
    close_role(r);
    if (r->open >= 0)
        RECORD_FAULT(r, r->role[r->open].opened, -1, "TEMPLATE-ORDER", "role '%s' is not closed; write //@ endrole",
                     p->role[r->open].name);
    if (r->declared >= 0)
        RECORD_FAULT(r, r->function[r->declared].at, -1, "TEMPLATE-OP", "no function follows //@ op");
    for (int i = 0; i < p->role_count && !r->no_memory; i++)
        if (!r->role[i].opened.template)
            RECORD_FAULT(r, ((struct record_place){r->top, 0}), -1, "TEMPLATE-ORDER",
                         "the Plan has a role '%s', which the template never opens; write //@ role \"%s\" ... "
                         "//@ endrole around its program",
                         p->role[i].name, p->role[i].name);
    if (r->diags->reported == before && !r->no_memory)
        record_check(r);
    return r->no_memory ? -1 : r->diags->reported - before;
}
