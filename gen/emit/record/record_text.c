/* What stands in the text beside directives: statements of kernels, and names and asm that synchronise elsewhere. */
#include <string.h>

#include "emit/record/record_internal.h"

/* asm of these does what only operations may do. */
static const char *const synchronises[] = {"mbarrier.arrive",
                                           "mbarrier.try_wait",
                                           "mbarrier.test_wait",
                                           "mbarrier.expect",
                                           "mbarrier.complete",
                                           "cp.async",
                                           "cp.reduce.async",
                                           "wgmma.",
                                           "bar.sync",
                                           "bar.arrive",
                                           "bar.red",
                                           "barrier.sync",
                                           "barrier.arrive",
                                           "barrier.red",
                                           "barrier.cta",
                                           "barrier.cluster",
                                           "fence.proxy",
                                           NULL};
/* And of these lets threads leave the way that the text shows. */
static const char *const leaves[] = {"exit;", "ret;", "bra ", "brx.", "trap;", NULL};

/* Words that begin control flow. */
static const char *const controls[] = {"if",   "else",    "for", "while", "do", "switch",
                                       "case", "default", "try", "catch", NULL};
/* In a statement with an operation: it may then be left out, made twice, or not made at all. */
static const char *const conditional[] = {"?",      "&&",        "||",       "and",      "or",
                                          ":",      "sizeof",    "decltype", "noexcept", "alignof",
                                          "static", "constexpr", "typeid",   "requires", NULL};
static const char *const meetings[] = {"__syncthreads",
                                       "__syncthreads_count",
                                       "__syncthreads_and",
                                       "__syncthreads_or",
                                       "__barrier_sync",
                                       "__barrier_sync_count",
                                       NULL};
static const char *const ways_out[] = {
    "return",  "goto", "throw", "co_return", "co_yield", "__trap", "assert", "__builtin_trap", "__builtin_unreachable",
    "longjmp", NULL};
static const char *const assigns[] = {
    "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--", NULL};

/* The first of the list that the text, with those before it, holds. */
static const char *held(const struct piece *piece, const char *const *list)
{
    for (; piece->joined && *list; list++)
        if (strstr(piece->joined, *list))
            return *list;
    return NULL;
}

/* ---- outside of kernels ---------------------------------------------------------------------------------------- */

/* Remembers a word of the template's own: a block that comes later may make it an operation. */
static bool remember(struct recorder *r, const struct cuda_token *t)
{
    for (int i = 0; i < r->word_count; i++)
        if (cuda_is(t, r->word[i]))
            return true;
    const char **grown = arena_grow(r->arena, r->word, r->word_count, sizeof *grown);
    if (!grown)
        return !(r->no_memory = true);
    r->word = grown;
    r->word[r->word_count++] = t->text;
    return true;
}

bool record_other_token(struct recorder *r, const struct piece *piece)
{
    const struct frame *f = r->frame_count ? &r->frame[r->frame_count - 1] : NULL;
    bool own = piece->at.template == r->top;
    int called = record_function(r, &piece->token);
    const char *does = held(piece, synchronises);
    if (f && f->function >= 0)
        return true;
    if (called >= 0 && own)
        return RECORD_FAULT(r, piece->at, record_piece_column(piece), "TEMPLATE-GUARD",
                            "'%s' is an operation, and the proof does not see who calls it here; call it in a role",
                            r->function[called].name);
    if (called >= 0 && f && f->kind == FRAME_FUNCTION)
        return RECORD_FAULT(r, piece->at, record_piece_column(piece), "TEMPLATE-OP",
                            "this function calls '%s', an operation; write //@ op above it, with its effect",
                            r->function[called].name);
    if (own && !does)
        does = held(piece, leaves);
    if (does && own)
        return RECORD_FAULT(r, piece->at, record_piece_column(piece), "TEMPLATE-GUARD",
                            "asm with %s is an operation that the proof does not see; call a block's function", does);
    if (does)
        return RECORD_FAULT(r, piece->at, record_piece_column(piece), "TEMPLATE-OP",
                            "asm with %s is an operation; write //@ op above this function, with its effect", does);
    return !own || piece->token.kind != CUDA_WORD || remember(r, &piece->token);
}

/* ---- constants and counters ------------------------------------------------------------------------------------ */

/* What in these tokens may differ between the threads of a block, NULL: nothing. */
static const char *differs(const struct recorder *r, const struct piece *piece, int from, int to)
{
    static const char *const plain[] = {"args",  "blockIdx", "gridDim", "blockDim", "int",         "unsigned", "long",
                                        "i64",   "u64",      "u32",     "u16",      "min",         "max",      "sizeof",
                                        "short", "char",     "const",   "size_t",   "static_cast", NULL};
    for (int i = from; i < to; i++) {
        const struct cuda_token *t = &piece[i].token;
        bool field = i > from && cuda_is(&piece[i - 1].token, ".");
        if (t->kind == CUDA_TEXT || cuda_is_one(t, assigns))
            return t->text;
        if (t->kind != CUDA_WORD || field || cuda_is_one(t, plain))
            continue;
        int c = r->constant_count - 1;
        while (c >= 0 && !cuda_is(t, r->constant[c].name))
            c--;
        if (c < 0)
            return t->text;
        if (r->constant[c].differs)
            return r->constant[c].differs;
    }
    return NULL;
}

static bool add_constant(struct recorder *r, struct constant c)
{
    struct constant *grown = arena_grow(r->arena, r->constant, r->constant_count, sizeof *grown);
    if (!grown)
        return !(r->no_memory = true);
    r->constant = grown;
    r->constant[r->constant_count++] = c;
    return true;
}

/* `const TYPE a = ..., b = ...` of the kernel's body. */
static bool read_constants(struct recorder *r, const struct statement *s)
{
    const struct piece *p = s->piece;
    if (s->count < 4 || !cuda_is(&p[0].token, "const"))
        return true;
    bool is_int = cuda_is(&p[1].token, "int") && cuda_is(&p[3].token, "=");
    for (int i = 1, depth = 0, begin = 0; i <= s->count; i++) {
        const struct cuda_token *t = i < s->count ? &p[i].token : NULL;
        bool ends = !t || (depth == 0 && cuda_is(t, ","));
        if (begin && ends) {
            const char *name = p[begin].token.text;
            if (!add_constant(r, (struct constant){name, is_int, differs(r, p, begin + 2, i)}))
                return false;
            begin = 0;
        }
        if (!t)
            break;
        depth += cuda_is(t, "(") + cuda_is(t, "[") + cuda_is(t, "{");
        depth -= cuda_is(t, ")") + cuda_is(t, "]") + cuda_is(t, "}");
        if (!begin && depth == 0 && t->kind == CUDA_WORD && i + 1 < s->count && cuda_is(&p[i + 1].token, "="))
            begin = i;
    }
    return true;
}

/* The counter of a loop around, or a constant, of that name. */
static const char *guarded_name(const struct recorder *r, const struct cuda_token *t, bool *counter)
{
    *counter = true;
    for (int i = 0; t->kind == CUDA_WORD && i < r->frame_count; i++)
        if (r->frame[i].counter && cuda_is(t, r->frame[i].counter))
            return r->frame[i].counter;
    *counter = false;
    for (int i = 0; t->kind == CUDA_WORD && i < r->constant_count; i++)
        if (r->constant[i].is_int && cuda_is(t, r->constant[i].name))
            return r->constant[i].name;
    return NULL;
}

/* Nothing declares or writes to what counts trips. */
static bool leaves_counts_alone(struct recorder *r, const struct statement *s, int i)
{
    static const char *const before[] = {"return", "else", "do", "case", "and", "or", "not", NULL};
    bool counter;
    const struct piece *p = s->piece;
    const char *name = guarded_name(r, &p[i].token, &counter);
    if (!name || (i > 0 && (cuda_is(&p[i - 1].token, ".") || cuda_is(&p[i - 1].token, "->"))))
        return true;
    const struct cuda_token *last = i > 0 ? &p[i - 1].token : NULL, *next = i + 1 < s->count ? &p[i + 1].token : NULL;
    const struct cuda_token *older = i > 1 ? &p[i - 2].token : NULL;
    bool declares = (last && last->kind == CUDA_WORD && !cuda_is_one(last, before)) || (next && cuda_is(next, "{")) ||
                    (last && !next && s->nested == 0 && cuda_is(last, ","));
    bool writes = (next && cuda_is_one(next, assigns)) || (last && (cuda_is(last, "++") || cuda_is(last, "--")));
    bool address = last && cuda_is(last, "&") &&
                   (!older || (older->kind == CUDA_SIGN && !cuda_is(older, ")") && !cuda_is(older, "]")));
    if (!declares && !writes && !address)
        return true;
    return RECORD_FAULT(r, p[i].at, record_piece_column(&p[i]), "TEMPLATE-GUARD",
                        counter ? "'%s' counts the loop around; leave it alone, and give other variables another name"
                                : "'%s' may be a loop's trip count; give this variable another name",
                        name);
}

/* ---- positions in rings ---------------------------------------------------------------------------------------- */

static const char *position_of(const struct recorder *r, const struct cuda_token *t)
{
    for (int i = 0; t->kind == CUDA_WORD && i < r->position_count; i++)
        if (cuda_is(t, r->position[i]))
            return r->position[i];
    return NULL;
}

/* The ring whose position type the word is, -1: none. */
static int position_type(const struct recorder *r, const struct cuda_token *t)
{
    for (int i = 0; t->kind == CUDA_WORD && i < r->plan->ring_count; i++) {
        int length = (int)strlen(r->plan->ring[i].name);
        if (r->plan->ring[i].filler == PLAN_FILL_BULK && t->length == length + 9 &&
            memcmp(t->text, r->plan->ring[i].name, (size_t)length) == 0 &&
            memcmp(t->text + length, "_position", 9) == 0)
            return i;
    }
    return -1;
}

/* `x_position a = {0, 0}, b = {0, 0}`: each begins at the first stage. */
static bool read_positions(struct recorder *r, const struct statement *s)
{
    static const char *const zero[] = {"=", "{", "0", ",", "0", "}"};
    const struct piece *p = s->piece;
    int type = 0;
    while (type < s->count && position_type(r, &p[type].token) < 0)
        type++;
    if (type == s->count)
        return true;
    bool fine = type == 0 && r->open >= 0 && s->count % 8 == 0;
    for (int i = 1; i < s->count && fine; i += 8) {
        fine = p[i].token.kind == CUDA_WORD && (i == 1 || cuda_is(&p[i - 1].token, ","));
        for (int k = 0; k < 6 && fine; k++)
            fine = cuda_is(&p[i + 1 + k].token, zero[k]);
        const char **grown = fine ? arena_grow(r->arena, r->position, r->position_count, sizeof *grown) : NULL;
        if (fine && !grown)
            return !(r->no_memory = true);
        if (!fine)
            break;
        r->position = grown;
        r->position[r->position_count++] = p[i].token.text;
        if (!record_node(r, (struct node){.kind = NODE_POSITION,
                                          .at = p[i].at,
                                          .column = record_piece_column(&p[i]),
                                          .position = p[i].token.text}))
            return false;
    }
    return fine || RECORD_FAULT(r, p[type].at, record_piece_column(&p[type]), "TEMPLATE-GUARD",
                                "a position begins at the ring's first stage, in the role that uses it; write %s NAME "
                                "= {0, 0}",
                                p[type].token.text);
}

/* The variable of a call's position. False: reported. */
static bool find_argument(struct recorder *r, const struct statement *s, int call, const struct function *f,
                          const char **variable)
{
    int depth = 0, argument = 0, first = -1, end = -1;
    *variable = NULL;
    r->argument = -1;
    if (f->position < 0)
        return true;
    for (int i = call + 1; i < s->count && end < 0; i++) {
        const struct cuda_token *t = &s->piece[i].token;
        bool opens = cuda_is(t, "(") || cuda_is(t, "[") || cuda_is(t, "{");
        bool closes = cuda_is(t, ")") || cuda_is(t, "]") || cuda_is(t, "}");
        depth += opens;
        if (depth == 1 && argument == f->position && first < 0)
            first = cuda_is(t, "(") || cuda_is(t, ",") ? i + 1 : i;
        depth -= closes;
        if ((depth == 0 && closes) || (depth == 1 && cuda_is(t, ",")))
            end = argument++ == f->position ? i : -1;
    }
    if (first >= 0 && first < s->count)
        *variable = position_of(r, &s->piece[first].token);
    bool whole = end == first + 1 || (end == first + 3 && !f->moves && cuda_is(&s->piece[first + 2].token, "stage"));
    if (!*variable || !whole)
        return RECORD_FAULT(r, s->piece[call].at, record_piece_column(&s->piece[call]), "TEMPLATE-GUARD",
                            "argument %d of '%s' says which stage; write a variable that the role declares as a "
                            "position, and nothing else",
                            f->position + 1, f->name);
    r->argument = first;
    return true;
}

/* ---- addresses of stages --------------------------------------------------------------------------------------- */

/* `const float *x = x_tile(read)`: x, or NULL where the call's value goes nowhere by a name. */
static bool bind_pointer(struct recorder *r, const struct statement *s, int call, const char **pointer)
{
    const struct function *f =
        record_function(r, &s->piece[call].token) >= 0 ? &r->function[record_function(r, &s->piece[call].token)] : NULL;
    *pointer = NULL;
    if (!f || !f->step_count || f->step[0].op != PLAN_READ || f->step[0].count)
        return true;
    for (int i = 1; i < call && !*pointer; i++)
        if (cuda_is(&s->piece[i].token, "=") && s->piece[i - 1].token.kind == CUDA_WORD)
            *pointer = s->piece[i - 1].token.text;
    for (int i = 0; i < r->pointer_count && *pointer; i++)
        if (strcmp(r->pointer[i], *pointer) == 0)
            return true;
    const char **grown = *pointer ? arena_grow(r->arena, r->pointer, r->pointer_count, sizeof *grown) : NULL;
    if (*pointer && !grown)
        return !(r->no_memory = true);
    if (*pointer) {
        r->pointer = grown;
        r->pointer[r->pointer_count++] = *pointer;
    }
    return true;
}

/* The statement uses addresses of stages, apart from the one that it finds. */
static bool note_uses(struct recorder *r, const struct statement *s)
{
    for (int p = 0; p < r->pointer_count; p++)
        for (int i = 0; i < s->count; i++) {
            bool found = i + 1 < s->count && cuda_is(&s->piece[i + 1].token, "=");
            bool field = i > 0 && (cuda_is(&s->piece[i - 1].token, ".") || cuda_is(&s->piece[i - 1].token, "->"));
            if (found || field || !cuda_is(&s->piece[i].token, r->pointer[p]))
                continue;
            if (!record_node(r, (struct node){.kind = NODE_USE,
                                              .at = s->piece[i].at,
                                              .column = record_piece_column(&s->piece[i]),
                                              .pointer = r->pointer[p]}))
                return false;
            break;
        }
    return true;
}

/* Positions are read, and moved by operations alone. */
static bool leaves_position_alone(struct recorder *r, const struct statement *s, int i)
{
    const struct piece *p = s->piece;
    const char *name = position_of(r, &p[i].token);
    bool field = i + 2 < s->count && cuda_is(&p[i + 1].token, ".");
    if (!name || i == r->argument ||
        (field && !(i + 3 < s->count && cuda_is_one(&p[i + 3].token, assigns)) &&
         !(i > 0 &&
           (cuda_is(&p[i - 1].token, "++") || cuda_is(&p[i - 1].token, "--") || cuda_is(&p[i - 1].token, "&")))))
        return true;
    return RECORD_FAULT(r, p[i].at, record_piece_column(&p[i]), "TEMPLATE-GUARD",
                        "'%s' is a position in a ring, and the proof does not see what becomes of it here; operations "
                        "and advance alone move it",
                        name);
}

/* ---- statements ------------------------------------------------------------------------------------------------ */

/* A use of an operation at piece i: every thread of the role comes by once. */
static bool check_operation(struct recorder *r, const struct statement *s, int i, int function)
{
    const struct function *f = &r->function[function];
    const struct piece *at = &s->piece[i];
    const struct frame *control = record_control(r);
    const char *name = f->name;
    int braces = 0;
    if (i + 1 >= s->count || !cuda_is(&s->piece[i + 1].token, "("))
        return RECORD_FAULT(r, at->at, record_piece_column(at), "TEMPLATE-GUARD",
                            "'%s' is an operation and is not called here; write the call itself", name);
    if (f->kind == FUNCTION_PART)
        return RECORD_FAULT(r, at->at, record_piece_column(at), "TEMPLATE-GUARD",
                            "'%s' is a part of operations, and the proof does not see it; call an operation", name);
    if (f->kind == FUNCTION_TURNS)
        return RECORD_FAULT(r, at->at, record_piece_column(at), "TEMPLATE-GUARD",
                            "'%s' begins a loop's turn; write //@ loop \"NAME\" while %s(...)", name, name);
    if ((f->kind == FUNCTION_STEPS || f->kind == FUNCTION_ADVANCE) && r->open < 0)
        return RECORD_FAULT(r, at->at, record_piece_column(at), "TEMPLATE-GUARD",
                            "'%s' is an operation and stands in no role; write it between //@ role and //@ endrole",
                            name);
    if (control)
        return RECORD_FAULT(r, at->at, record_piece_column(at), "TEMPLATE-GUARD",
                            "'%s' is called under the '%s' of line %d, which the proof does not see; write //@ when "
                            "CONDITION, //@ loop or //@ elect in its place",
                            name, control->word, control->at.line + 1);
    for (int k = 0; k < s->count; k++) {
        const struct cuda_token *t = &s->piece[k].token;
        braces += cuda_is(t, "{");
        if (k < i && cuda_is_one(t, controls))
            return RECORD_FAULT(
                r, at->at, record_piece_column(at), "TEMPLATE-GUARD",
                "'%s' is called under the '%s' of line %d, which the proof does not see; write //@ when "
                "CONDITION, //@ loop or //@ elect in its place",
                name, t->text, s->piece[k].at.line + 1);
        if (cuda_is_one(t, conditional))
            return RECORD_FAULT(
                r, at->at, record_piece_column(at), "TEMPLATE-GUARD",
                "'%s' stands in an expression with '%s', which may leave it out; call it in a statement "
                "of its own, under //@ when where it has a condition",
                name, t->text);
        if (k != i && record_function(r, t) >= 0)
            return RECORD_FAULT(r, at->at, record_piece_column(at), "TEMPLATE-GUARD",
                                "'%s' and '%s' stand in one statement, whose order is open; write two", name, t->text);
    }
    if (braces)
        return RECORD_FAULT(r, at->at, record_piece_column(at), "TEMPLATE-GUARD",
                            "'%s' is called between the braces of an expression, and the proof does not see when; call "
                            "it in a statement of its own",
                            name);
    return true;
}

static bool record_call(struct recorder *r, const struct statement *s, int i, int function)
{
    const struct function *f = &r->function[function];
    const struct piece *at = &s->piece[i];
    if (!check_operation(r, s, i, function))
        return false;
    if (f->kind == FUNCTION_MEET)
        return r->open < 0 || RECORD_FAULT(r, at->at, record_piece_column(at), "TEMPLATE-GUARD",
                                           "all threads meet in '%s', and a role has some of them; write it outside of "
                                           "roles",
                                           f->name);
    const char *position, *pointer;
    if (!find_argument(r, s, i, f, &position) || !bind_pointer(r, s, i, &pointer))
        return false;
    struct node node = {.kind = NODE_CALL,
                        .at = at->at,
                        .column = record_piece_column(at),
                        .function = function,
                        .position = position,
                        .pointer = pointer,
                        .elected = r->elected};
    if (f->kind == FUNCTION_ADVANCE)
        return record_node(r, node) != NULL;
    if (f->one && !r->elected)
        return RECORD_FAULT(r, at->at, record_piece_column(at), "TEMPLATE-GUARD",
                            "one thread calls '%s', and here all of role '%s' do; write //@ elect ... //@ endelect "
                            "around it",
                            f->name, r->plan->role[r->open].name);
    if (!f->one && r->elected)
        return RECORD_FAULT(r, at->at, record_piece_column(at), "TEMPLATE-GUARD",
                            "all threads of role '%s' call '%s', and here one does; write it behind //@ endelect",
                            r->plan->role[r->open].name, f->name);
    return record_node(r, node) != NULL;
}

/* break and continue leave loops of the text alone. */
static bool leaves_no_loop(struct recorder *r, const struct statement *s, int i)
{
    const struct piece *at = &s->piece[i];
    bool leaves_switch = cuda_is(&at->token, "break");
    for (int k = 0; k < i; k++)
        if (cuda_is(&s->piece[k].token, "for") || cuda_is(&s->piece[k].token, "while") ||
            cuda_is(&s->piece[k].token, "do") || (leaves_switch && cuda_is(&s->piece[k].token, "switch")))
            return true;
    for (int f = r->frame_count - 1; f >= 0 && !record_is_flow(r->frame[f].kind); f--)
        if (r->frame[f].repeats || (leaves_switch && r->frame[f].chooses))
            return true;
    return RECORD_FAULT(r, at->at, record_piece_column(at), "TEMPLATE-GUARD",
                        "'%s' leaves a loop of //@ loop, and the proof does not see when; write the rest of the turn "
                        "under //@ when",
                        at->token.text);
}

/* All that one statement, or what stands before the { of one, holds. */
static bool check_statement(struct recorder *r, const struct statement *s)
{
    const struct frame *control = record_control(r);
    r->argument = -1;
    for (int i = 0; i < s->count; i++) {
        const struct piece *at = &s->piece[i];
        const struct cuda_token *t = &at->token;
        bool field = i > 0 && (cuda_is(&s->piece[i - 1].token, ".") || cuda_is(&s->piece[i - 1].token, "->"));
        int function = field ? -1 : record_function(r, t);
        const char *does = held(at, synchronises);
        if (function >= 0 && !record_call(r, s, i, function))
            return false;
        if ((does || (does = held(at, leaves))) && at->at.template == r->top)
            return RECORD_FAULT(r, at->at, record_piece_column(at), "TEMPLATE-GUARD",
                                "asm with %s is an operation that the proof does not see; call a block's function",
                                does);
        if (t->kind != CUDA_WORD || field)
            continue;
        if (cuda_is_one(t, ways_out))
            return RECORD_FAULT(r, at->at, record_piece_column(at), "TEMPLATE-GUARD",
                                "'%s' in a kernel leaves operations out, and the proof does not see when; write the "
                                "rest under //@ when, or the value into a function of its own",
                                t->text);
        if ((cuda_is(t, "break") || cuda_is(t, "continue")) && r->open >= 0 && !leaves_no_loop(r, s, i))
            return false;
        if (cuda_is_one(t, meetings) && (r->open >= 0 || control || cuda_is_one(&s->piece[0].token, controls)))
            return RECORD_FAULT(
                r, at->at, record_piece_column(at), "TEMPLATE-GUARD",
                "all threads of the block meet in '%s', and here some of them come by; write it outside "
                "of roles and of any control flow",
                t->text);
        if (cuda_is(t, "threadIdx") && !(i + 1 < s->count && cuda_is(&s->piece[i + 1].token, ".")))
            return RECORD_FAULT(r, at->at, record_piece_column(at), "TEMPLATE-GUARD",
                                "roles are told by threadIdx; write threadIdx.x, and give variables another name");
        if (!leaves_counts_alone(r, s, i) || !leaves_position_alone(r, s, i))
            return false;
    }
    return true;
}

static bool end_statement(struct recorder *r)
{
    struct statement *s = &r->statement;
    const struct frame *around = &r->frame[r->frame_count - 1];
    bool fine = !s->count || (check_statement(r, s) && (r->open < 0 || note_uses(r, s)) && read_positions(r, s) &&
                              (around->kind != FRAME_KERNEL || read_constants(r, s)));
    s->count = s->nested = 0;
    return fine;
}

static bool open_frame(struct recorder *r, struct frame frame)
{
    struct frame *grown = arena_grow(r->arena, r->frame, r->frame_count, sizeof *grown);
    if (!grown)
        return !(r->no_memory = true);
    r->frame = grown;
    r->frame[r->frame_count++] = frame;
    return true;
}

/* A { outside of parentheses. False in *inside: it belongs to the statement, as an initialiser does. */
static bool open_brace(struct recorder *r, struct record_place at, bool *inside)
{
    struct statement *s = &r->statement;
    struct frame frame = {.kind = FRAME_BARE, .at = at};
    *inside = false;
    if (!s->count)
        return open_frame(r, frame);
    const struct cuda_token *last = &s->piece[s->count - 1].token;
    const struct piece *control = NULL;
    for (int i = 0; i < s->count; i++)
        if (cuda_is_one(&s->piece[i].token, controls)) {
            control = &s->piece[i];
            frame.repeats = frame.repeats || cuda_is(last = &control->token, "for") || cuda_is(last, "while") ||
                            cuda_is(last, "do");
            frame.chooses = frame.chooses || cuda_is(&control->token, "switch");
        }
    last = &s->piece[s->count - 1].token;
    bool ends = cuda_is(last, ")") || cuda_is(last, "else") || cuda_is(last, "do") || cuda_is(last, "try");
    if (!control || !ends) {
        *inside = true;
        return true;
    }
    frame.kind = FRAME_CONTROL;
    frame.word = control->token.text;
    frame.at = control->at;
    return end_statement(r) && open_frame(r, frame);
}

bool record_statement_token(struct recorder *r, struct piece piece)
{
    struct statement *s = &r->statement;
    const struct cuda_token *t = &piece.token;
    bool opens = cuda_is(t, "(") || cuda_is(t, "[") || cuda_is(t, "{");
    bool closes = cuda_is(t, ")") || cuda_is(t, "]") || cuda_is(t, "}");
    bool inside = true;
    if (s->nested == 0 && cuda_is(t, "{") && !open_brace(r, piece.at, &inside))
        return false;
    if (!inside)
        return true;
    if (s->nested == 0 && cuda_is(t, ";"))
        return end_statement(r);
    if (s->nested == 0 && cuda_is(t, "}")) {
        struct frame *f = &r->frame[r->frame_count - 1];
        if (!end_statement(r))
            return false;
        if (record_is_flow(f->kind))
            return RECORD_FAULT(r, piece.at, record_piece_column(&piece), "TEMPLATE-GUARD",
                                "this } has no { behind the directive of line %d; end that first, by its //@ end...",
                                f->at.line + 1);
        if (f->kind == FRAME_KERNEL)
            r->constant_count = 0;
        r->frame_count--;
        return true;
    }
    s->nested += opens;
    s->nested -= closes;
    struct piece *grown = arena_grow(r->arena, s->piece, s->count, sizeof *grown);
    if (!grown)
        return !(r->no_memory = true);
    s->piece = grown;
    s->piece[s->count++] = piece;
    return true;
}
