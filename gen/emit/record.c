#include "emit/record.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum event_kind { EVENT_CALL, EVENT_LOOP, EVENT_END, EVENT_NONE };

/* What the template has, or what the Plan orders. */
struct event {
    enum event_kind kind;
    const char *name;
    struct record_place at; /* of the template */
    int step;               /* of the Plan, from 0 */
};

struct events {
    struct event *item;
    int count;
};

struct loop {
    const char *name;
    struct record_place at;
    int braces;  /* open braces outside of it */
    int parens;
    bool opened; /* its brace was seen */
};

enum { MAX_LOOPS = 16 };

struct recorder {
    const struct plan *plan;
    struct arena *arena;
    struct diag_set *diags;
    struct events *role;  /* what each role of the Plan was seen to do */
    struct record_place *last; /* where each role ended, template NULL: never opened */
    const char **name;    /* every block function that a step calls */
    int name_count;
    int open;             /* role, -1: none */
    struct record_place opened;
    struct loop loop[MAX_LOOPS];
    int loops;
    bool loop_pending;    /* //@ loop was seen, its text line not yet */
    const char *pending;  /* a block function's name ended the line before; a call where `(` begins this one */
    struct record_place pending_at;
    bool comment;         /* inside of a block comment */
    int braces, parens;
    bool no_memory;
};

static bool report(struct recorder *r, struct record_place at, int column, const char *text)
{
    diag_report(r->diags, DIAG_ERROR, template_loc(at.template, r->diags, at.line, column), r->plan->kernel, NULL,
                "TEMPLATE-ORDER", "%s", text ? text : "out of memory");
    return false;
}

#define FAULT(r, at, column, ...) report(r, at, column, arena_format((r)->arena, __VA_ARGS__))

static void add_event(struct recorder *r, struct events *e, struct event event)
{
    struct event *grown = arena_grow(r->arena, e->item, e->count, sizeof *grown);
    if (!grown) {
        r->no_memory = true;
        return;
    }
    e->item = grown;
    e->item[e->count++] = event;
}

static bool is_loop(const struct plan_step *s)
{
    return s->op == PLAN_LOOP || s->op == PLAN_END;
}

struct recorder *record_open(const struct plan *plan, struct arena *arena, struct diag_set *diags)
{
    struct recorder *r = arena_alloc(arena, sizeof *r);
    if (!r)
        return NULL;
    *r = (struct recorder){.plan = plan, .arena = arena, .diags = diags, .open = -1};
    size_t roles = (size_t)plan->role_count + 1, steps = 1;
    for (int i = 0; i < plan->role_count; i++)
        steps += (size_t)plan->role[i].step_count;
    r->role = arena_alloc(arena, roles * sizeof *r->role);
    r->last = arena_alloc(arena, roles * sizeof *r->last);
    r->name = arena_alloc(arena, steps * sizeof *r->name);
    if (!r->role || !r->last || !r->name)
        return NULL;
    for (int i = 0; i < plan->role_count; i++) {
        for (int n = 0; n < plan->role[i].step_count; n++) {
            const struct plan_step *s = &plan->role[i].step[n];
            bool known = !s->call || is_loop(s);
            for (int k = 0; k < r->name_count && !known; k++)
                known = strcmp(r->name[k], s->call) == 0;
            if (!known)
                r->name[r->name_count++] = s->call;
        }
    }
    return r;
}

/* ---- recording ------------------------------------------------------------------------------------------------- */

bool record_role(struct recorder *r, struct record_place at, const char *name, int column)
{
    const struct plan *p = r->plan;
    if (r->open >= 0)
        return FAULT(r, at, column, "role '%s' begins inside of role '%s', which was opened in line %d; end that first",
                     name, p->role[r->open].name, r->opened.line + 1);
    for (int i = 0; i < p->role_count; i++) {
        if (strcmp(p->role[i].name, name) != 0)
            continue;
        r->open = i;
        r->opened = at;
        r->last[i] = at;
        r->braces = r->parens = 0;
        return true;
    }
    const char **known = arena_alloc(r->arena, ((size_t)p->role_count + 1) * sizeof *known);
    for (int i = 0; known && i < p->role_count; i++)
        known[i] = p->role[i].name;
    const char *near = known ? diag_suggest(name, known) : NULL;
    return FAULT(r, at, column, "the Plan has no role '%s'%s%s%s", name, near ? "; did you mean '" : "",
                 near ? near : "", near ? "'?" : "");
}

bool record_endrole(struct recorder *r, struct record_place at)
{
    if (r->open < 0)
        return FAULT(r, at, -1, "no role is open here");
    if (r->loop_pending || r->loops > 0)
        return FAULT(r, at, -1, "loop '%s' of line %d does not end in role '%s'",
                     r->loop[r->loops - 1].name, r->loop[r->loops - 1].at.line + 1, r->plan->role[r->open].name);
    r->last[r->open] = at;
    r->open = -1;
    return true;
}

bool record_loop(struct recorder *r, struct record_place at, const char *name)
{
    if (r->open < 0)
        return FAULT(r, at, -1, "loop '%s' stands in no role; open one: //@ role \"NAME\"", name);
    if (r->loop_pending || r->loops == MAX_LOOPS)
        return FAULT(r, at, -1, "loop '%s' follows loop '%s' without a line that begins one", name,
                     r->loop[r->loops - 1].name);
    r->loop[r->loops++] = (struct loop){.name = name, .at = at};
    r->loop_pending = true;
    return true;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool begins_with(const char *text, size_t length, const char *word)
{
    size_t n = strlen(word);
    return length >= n && memcmp(text, word, n) == 0 && (length == n || !is_word(text[n]));
}

/* A name that ends before `next`: recorded where it is a block function's and an open parenthesis follows. */
static void record_name(struct recorder *r, struct record_place at, const char *name, size_t length, const char *next,
                        const char *end)
{
    while (next < end && (*next == ' ' || *next == '\t'))
        next++;
    for (int i = 0; i < r->name_count; i++) {
        if (strlen(r->name[i]) != length || memcmp(r->name[i], name, length) != 0)
            continue;
        if (next == end) {
            r->pending = r->name[i];
            r->pending_at = at;
        } else if (*next == '(') {
            add_event(r, &r->role[r->open], (struct event){EVENT_CALL, r->name[i], at, -1});
        }
    }
}

/* A brace, parenthesis or semicolon: where it begins or ends the innermost loop. */
static bool record_bracket(struct recorder *r, struct record_place at, char c)
{
    struct loop *l = r->loops ? &r->loop[r->loops - 1] : NULL;
    r->parens += (c == '(') - (c == ')');
    if (l && !l->opened && r->parens == l->parens && (c == '{' || c == ';')) {
        if (c == ';')
            return FAULT(r, l->at, -1, "the body of loop '%s' has no braces; its end cannot be seen without", l->name);
        l->opened = true;
        l->braces = r->braces;
    }
    r->braces += (c == '{') - (c == '}');
    if (l && l->opened && c == '}' && r->braces == l->braces) {
        add_event(r, &r->role[r->open], (struct event){EVENT_END, l->name, at, -1});
        r->loops--;
    }
    return true;
}

bool record_text(struct recorder *r, struct record_place at, const char *text, size_t length)
{
    const char *c = text, *end = text + length;
    while (c < end && (*c == ' ' || *c == '\t'))
        c++;
    if (c == end || (!r->comment && *c == '#') || r->open < 0)
        return true;
    if (r->pending && *c == '(')
        add_event(r, &r->role[r->open], (struct event){EVENT_CALL, r->pending, r->pending_at, -1});
    r->pending = NULL;
    if (r->loop_pending && !r->comment && !begins_with(c, (size_t)(end - c), "//")) {
        struct loop *l = &r->loop[r->loops - 1];
        if (!begins_with(c, (size_t)(end - c), "for") && !begins_with(c, (size_t)(end - c), "while"))
            return FAULT(r, at, (int)(c - text),
                         "this line begins no loop; //@ loop \"%s\" stands before a for or while", l->name);
        l->parens = r->parens;
        r->loop_pending = false;
        add_event(r, &r->role[r->open], (struct event){EVENT_LOOP, l->name, at, -1});
    }
    while (c < end) {
        size_t rest = (size_t)(end - c);
        if (r->comment) {
            r->comment = !(rest >= 2 && c[0] == '*' && c[1] == '/');
            c += r->comment ? 1 : 2;
        } else if (rest >= 2 && c[0] == '/' && c[1] == '/') {
            return true;
        } else if (rest >= 2 && c[0] == '/' && c[1] == '*') {
            r->comment = true;
            c += 2;
        } else if (*c == '"' || *c == '\'') {
            char quote = *c++;
            while (c < end && *c != quote)
                c += *c == '\\' && c + 1 < end ? 2 : 1;
            c += c < end;
        } else if (is_word(*c)) {
            const char *name = c;
            while (c < end && is_word(*c))
                c++;
            if (!(name > text && (name[-1] == '.' || name[-1] == '>')) && !isdigit((unsigned char)*name))
                record_name(r, at, name, (size_t)(c - name), c, end);
        } else {
            if (strchr("(){};", *c) && !record_bracket(r, at, *c))
                return false;
            c++;
        }
    }
    return true;
}

/* ---- comparing ------------------------------------------------------------------------------------------------- */

/* The Plan's order of one role, as the template is to call it. */
static struct events ordered(struct recorder *r, const struct plan_role *role)
{
    struct events e = {0};
    const char *loop[MAX_LOOPS];
    int loops = 0;
    for (int n = 0; n < role->step_count; n++) {
        const struct plan_step *s = &role->step[n];
        const struct event *last = e.count ? &e.item[e.count - 1] : NULL;
        if (s->op == PLAN_LOOP) {
            if (loops < MAX_LOOPS)
                loop[loops] = s->call ? s->call : "";
            loops++;
            add_event(r, &e, (struct event){.kind = EVENT_LOOP, .name = s->call ? s->call : "", .step = n});
        } else if (s->op == PLAN_END) {
            loops -= loops > 0;
            const char *name = loops < MAX_LOOPS ? loop[loops] : "";
            add_event(r, &e, (struct event){.kind = EVENT_END, .name = name, .step = n});
        } else if (s->call && !(last && last->kind == EVENT_CALL && strcmp(last->name, s->call) == 0)) {
            add_event(r, &e, (struct event){.kind = EVENT_CALL, .name = s->call, .step = n});
        }
    }
    return e;
}

/* What an event is, in words. */
static const char *described(struct recorder *r, const struct event *e)
{
    switch (e->kind) {
    case EVENT_CALL:
        return arena_format(r->arena, "a call of %s", e->name);
    case EVENT_LOOP:
        return arena_format(r->arena, "the beginning of loop '%s'", e->name);
    case EVENT_END:
        return arena_format(r->arena, "the end of loop '%s'", e->name);
    case EVENT_NONE:
        break;
    }
    return "the end of the role";
}

/* Whether the step moves its role on to the ring's next stage. */
static bool advances(const struct plan *p, const struct plan_step *s, int ring)
{
    if (s->ring != ring)
        return false;
    const struct plan_ring *g = &p->ring[ring];
    bool last = g->tensor_count == 0 || s->tensor == g->tensor[g->tensor_count - 1];
    return s->op == PLAN_STORE || ((s->op == PLAN_FILL || s->op == PLAN_READ) && last);
}

/* "step 4 (fill A, ring 'ab', stage i % 4)". The stage is known where neither the step nor one that moves on the ring
 * before it stands in a loop; a RELEASE is of an older stage, which depends on its count. */
static const char *step_text(struct recorder *r, const struct plan_role *role, int step)
{
    static const char *const op[PLAN_OP_COUNT] = {
#define PLAN_OP(id, name, doc) name,
#include "plan/plan_ops.def"
#undef PLAN_OP
    };
    const struct plan *p = r->plan;
    const struct plan_step *s = &role->step[step];
    const char *tensor = s->tensor >= 0 && s->tensor < p->tensor_count ? p->tensor[s->tensor].name : NULL;
    const char *ring = "";
    if (s->ring >= 0 && s->ring < p->ring_count) {
        int depth = 0, stages = p->ring[s->ring].stages;
        int64_t taken = 0;
        bool known = stages > 0 && s->op != PLAN_RELEASE;
        for (int n = 0; n < step; n++) {
            depth += (role->step[n].op == PLAN_LOOP) - (role->step[n].op == PLAN_END);
            bool next = advances(p, &role->step[n], s->ring);
            taken += next;
            known = known && !(next && depth > 0);
        }
        for (int n = step, inner = depth; n < role->step_count && inner > 0; n++) {
            inner += (role->step[n].op == PLAN_LOOP) - (role->step[n].op == PLAN_END);
            known = known && !advances(p, &role->step[n], s->ring);
        }
        if (known)
            ring = arena_format(r->arena, ", ring '%s', stage %d", p->ring[s->ring].name, (int)(taken % stages));
        else
            ring = arena_format(r->arena, ", ring '%s', stage i %% %d", p->ring[s->ring].name, stages);
    }
    return arena_format(r->arena, "step %d (%s%s%s%s)", step + 1, op[s->op], tensor ? " " : "", tensor ? tensor : "",
                        ring ? ring : "");
}

static bool same(const struct event *a, const struct event *b)
{
    return a->kind == b->kind && (a->kind == EVENT_NONE || strcmp(a->name, b->name) == 0);
}

/* True where the role's record is what the Plan orders. */
static bool compare(struct recorder *r, int role)
{
    const struct plan_role *p = &r->plan->role[role];
    struct events order = ordered(r, p), *seen = &r->role[role];
    int i = 0;
    while (i < order.count && i < seen->count && same(&order.item[i], &seen->item[i]))
        i++;
    if (r->no_memory || (i == order.count && i == seen->count))
        return true;
    struct event none = {.kind = EVENT_NONE, .at = r->last[role]};
    const struct event *want = i < order.count ? &order.item[i] : &none;
    const struct event *have = i < seen->count ? &seen->item[i] : &none;
    const char *step = i < order.count ? step_text(r, p, want->step) : "after its last step";
    const char *wanted = described(r, want), *had = described(r, have);
    if (!step || !wanted || !had)
        r->no_memory = true;
    else
        FAULT(r, have->at, -1, "role '%s', %s: the Plan orders %s, the template has %s", p->name, step, wanted, had);
    return false;
}

int record_finish(struct recorder *r, struct template *top)
{
    const struct plan *p = r->plan;
    int faults = 0;
    if (r->open >= 0) {
        FAULT(r, r->opened, -1, "role '%s' is not closed; write //@ endrole", p->role[r->open].name);
        faults++;
    }
    for (int i = 0; i < p->role_count && !r->no_memory; i++) {
        if (r->last[i].template) {
            faults += r->open != i && !compare(r, i);
            continue;
        }
        FAULT(r, ((struct record_place){top, 0}), -1,
              "the Plan has a role '%s', which the template never opens; write //@ role \"%s\" ... //@ endrole around "
              "its program",
              p->role[i].name, p->role[i].name);
        faults++;
    }
    return r->no_memory ? -1 : faults;
}
