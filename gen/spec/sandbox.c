#include "spec/sandbox.h"
#include "spec/sandbox_words.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <lua5.4/lauxlib.h>

#include "spec/guard.h"
#include "spec/pool.h"

enum refusal { REFUSED_NOT, REFUSED_LIMIT, REFUSED_STEPS, REFUSED_TIME, REFUSED_HOOK };

/* The hook is called every so many instructions; more often once there is a text so large that one instruction on it
 * takes long. */
enum { HOOK_STEPS = 1000, HOOK_STEPS_LARGE = 10, LARGE_TEXT = 1 << 16, BYTES_PER_STEP = 64 };

struct sandbox {
    lua_State *L;
    struct arena arena; /* sources, dependencies, tokens */
    struct pool pool;   /* everything of Lua's */
    size_t memory_limit, memory_used;
    enum refusal refusal; /* why the allocator last said no */
    int64_t steps, step_limit;
    int hook_steps;         /* 0: there is no hook */
    bool computes;          /* sandbox_compute */
    bool own_text, counted; /* counted: the caller gave a limit of steps */
    double seconds;         /* that a call may take; 0: by the steps */
    double deadline;        /* seconds of this thread's time */
    int file, line, token;  /* of the line that runs: what a memory error, which has no place, is told of */
    int depth;              /* of protected calls */
    bool fatal;             /* a limit was met: nothing below the outermost call may go on */
    bool placed;            /* `error` below holds the place already */
    int status;
    struct sandbox_error error;
    const char *folder;
    struct sandbox_source *source;
    int source_count;
    const char **dependency;
    int dependency_count;
    bool guarded;
    enum sandbox_value (*value_at)(lua_State *L, int index);
};

struct sandbox *sandbox_of(lua_State *L)
{
    struct sandbox *s;
    memcpy(&s, lua_getextraspace(L), sizeof s);
    return s;
}

/* ---- limits ---------------------------------------------------------------------------------------------------- */

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void hook(lua_State *L, lua_Debug *ar);

/* From the allocator too: lua_sethook is safe at any time. */
static void use_hook(struct sandbox *s, int steps)
{
    bool counts = !s->own_text || s->counted;
    if (!s->L || !counts || s->hook_steps == steps)
        return;
    s->hook_steps = steps;
    lua_sethook(s->L, hook, LUA_MASKCOUNT | (s->own_text || s->computes ? 0 : LUA_MASKLINE), steps);
}

void sandbox_compute(struct sandbox *s, bool computes)
{
    const int steps = s->hook_steps;
    s->computes = computes;
    s->hook_steps = 0;
    use_hook(s, steps);
}

/* Lua's allocator. For a new block Lua gives a type in old_size. */
static void *allocate(void *context, void *pointer, size_t old_size, size_t new_size)
{
    struct sandbox *s = context;
    size_t old = pointer ? old_size : 0;
    if (new_size == 0) {
        if (pointer)
            pool_resize(&s->pool, pointer, old, 0);
        s->memory_used -= old;
        return NULL;
    }
    if (new_size > old) {
        s->steps += (int64_t)((new_size - old) / BYTES_PER_STEP);
        if (s->memory_used - old + new_size > s->memory_limit) {
            s->refusal = REFUSED_LIMIT;
            return NULL;
        }
        if (s->steps > s->step_limit) {
            s->refusal = REFUSED_STEPS;
            return NULL;
        }
    }
    void *moved = pool_resize(&s->pool, pointer, old, new_size);
    if (moved && !pointer && old_size == LUA_TSTRING && new_size > LARGE_TEXT)
        use_hook(s, HOOK_STEPS_LARGE);
    if (moved)
        s->memory_used += new_size - old;
    else
        s->refusal = REFUSED_HOOK;
    return moved;
}

/* What no text needs that stays within its steps, even on a slow machine. Where comparisons are steps too, as they are
 * in guarded text, hardly any comes so far: there it may be a machine that is watched by valgrind. */
static double seconds_allowed(const struct sandbox *s)
{
    if (s->seconds > 0)
        return s->seconds;
    double allowed = 4 * ((double)s->step_limit / 50e6);
    allowed = allowed < 2 ? 2 : allowed;
    return s->guarded ? 10 * allowed : allowed;
}

static void set_error(struct sandbox *s, int file, int line, const char *rule, const char *text)
{
    s->error = (struct sandbox_error){.file = file, .line = line, .token = s->token, .rule = rule};
    int length = snprintf(s->error.text, sizeof s->error.text, "%s", text);
    if (length >= (int)sizeof s->error.text)
        memcpy(s->error.text + sizeof s->error.text - 4, "...", 4);
}

/* Fills the error of a limit that was met at the line that runs. */
static void set_fatal(struct sandbox *s, enum refusal why)
{
    char text[160];
    s->fatal = s->placed = true;
    s->status = why == REFUSED_HOOK ? SANDBOX_NO_MEMORY : SANDBOX_FAULT;
    if (why == REFUSED_STEPS)
        snprintf(text, sizeof text, "this runs more than %lld steps, the sandbox's limit; is there a loop without end?",
                 (long long)s->step_limit);
    else if (why == REFUSED_TIME)
        snprintf(text, sizeof text,
                 "this takes more than %g seconds of a processor, the sandbox's limit; is there a loop "
                 "without end?",
                 seconds_allowed(s));
    else
        snprintf(text, sizeof text,
                 "this takes more than %g MiB of memory, the sandbox's limit; a spec declares "
                 "kernels, data stay outside",
                 (double)s->memory_limit / (1 << 20));
    set_error(s, s->file, s->line, why == REFUSED_STEPS || why == REFUSED_TIME ? "SANDBOX-STEPS" : "SANDBOX-MEMORY",
              text);
}

static void stop_steps(lua_State *L, enum refusal why)
{
    struct sandbox *s = sandbox_of(L);
    s->file = sandbox_token_where(L, 0, &s->line, &s->token);
    set_fatal(s, why);
    lua_pushboolean(L, 0);
    lua_error(L);
}

static void hook(lua_State *L, lua_Debug *ar)
{
    struct sandbox *s = sandbox_of(L);
    switch (ar->event) {
    case LUA_HOOKLINE:
        lua_getinfo(L, "S", ar);
        s->file = sandbox_source_index(ar->source);
        s->line = sandbox_line(s, s->file, ar->currentline, &s->token);
        break;
    case LUA_HOOKCOUNT:
        s->steps += s->hook_steps;
        if (s->computes)
            s->file = sandbox_token_where(L, 0, &s->line, &s->token);
        if (s->steps > s->step_limit || seconds() > s->deadline)
            stop_steps(L, s->steps > s->step_limit ? REFUSED_STEPS : REFUSED_TIME);
        break;
    default:
        break;
    }
}

void sandbox_know_values(struct sandbox *s, enum sandbox_value (*value_at)(lua_State *L, int index))
{
    s->value_at = value_at;
}

enum sandbox_value sandbox_value_at(lua_State *L, int index)
{
    const struct sandbox *s = sandbox_of(L);
    return s->value_at ? s->value_at(L, index) : SANDBOX_PLAIN;
}

void sandbox_charge(lua_State *L, int64_t steps)
{
    struct sandbox *s = sandbox_of(L);
    if (__builtin_add_overflow(s->steps, steps, &s->steps) || s->steps > INT64_MAX / 2)
        s->steps = INT64_MAX / 2; /* what memory adds behind that is counted too */
    if (s->steps > s->step_limit)
        stop_steps(L, REFUSED_STEPS);
}

static void restart_limits(struct sandbox *s)
{
    s->steps = 0;
    s->deadline = seconds() + seconds_allowed(s);
    s->fatal = s->placed = false;
    s->refusal = REFUSED_NOT;
}

void sandbox_set_instruction_limit(struct sandbox *s, int64_t limit)
{
    s->step_limit = limit;
}

int sandbox_line(const struct sandbox *s, int file, int line, int *token)
{
    const struct sandbox_source *source = sandbox_source(s, file);
    *token = 0;
    if (!source || !source->lines.count || line < 1)
        return line;
    const int at = source->lines.token[line <= source->lines.count ? line - 1 : source->lines.count - 1];
    *token = at + 1;
    return source->tokens.token[at].line;
}

/* ---- errors ---------------------------------------------------------------------------------------------------- */

int sandbox_source_index(const char *source)
{
    if (source[0] != '@' || source[1] != '#')
        return -1;
    int index = 0; /* asked for at each line that runs */
    for (const char *c = source + 2; *c >= '0' && *c <= '9'; c++)
        index = 10 * index + (*c - '0');
    return index;
}

int sandbox_token_where(lua_State *L, int level, int *line, int *token)
{
    lua_Debug ar;
    for (; lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "Sl", &ar);
        if (ar.currentline > 0) {
            const int file = sandbox_source_index(ar.source);
            *line = sandbox_line(sandbox_of(L), file, ar.currentline, token);
            return file;
        }
    }
    *line = *token = 0;
    return -1;
}

int sandbox_where(lua_State *L, int level, int *line)
{
    int token;
    return sandbox_token_where(L, level, line, &token);
}

/* "#3:12: text" is a text at line 12 of source 3. */
static const char *split_place(const char *text, int *file, int *line)
{
    char *end;
    if (text[0] != '#')
        return text;
    long f = strtol(text + 1, &end, 10);
    if (*end != ':')
        return text;
    long l = strtol(end + 1, &end, 10);
    if (*end != ':')
        return text;
    *file = (int)f;
    *line = (int)l;
    return end[1] == ' ' ? end + 2 : end + 1;
}

/* Runs where the error was raised, while the stack still tells where. */
static int handler(lua_State *L)
{
    struct sandbox *s = sandbox_of(L);
    if (s->placed)
        return 1;
    int line = 0, file = sandbox_token_where(L, 1, &line, &s->token), told = -1, told_line;
    const char *text = "error() takes a text that says what is wrong";
    char words[512];
    if (lua_type(L, 1) == LUA_TSTRING)
        text = sandbox_words(split_place(lua_tostring(L, 1), &told, &told_line), words, sizeof words);
    if (told >= 0) {
        file = told;
        line = sandbox_line(s, file, told_line, &s->token);
    }
    set_error(s, file, line, "LUA-RUN", *text ? text : "error was called without a message; write what is wrong");
    s->status = SANDBOX_FAULT;
    s->placed = true;
    return 1;
}

int sandbox_raise(lua_State *L, const struct sandbox_error *error)
{
    struct sandbox *s = sandbox_of(L);
    s->error = *error;
    s->status = SANDBOX_FAULT;
    s->placed = true;
    lua_pushboolean(L, 0);
    return lua_error(L);
}

int sandbox_column(struct sandbox *s, int file, int line, const char *word)
{
    const struct tokens *t = sandbox_tokens(s, file);
    int column = 0, count = 0;
    for (int i = 0; t && i < t->count && t->token[i].line <= line; i++)
        if (t->token[i].line == line && token_is(t, i, word)) {
            column = t->token[i].column;
            count++;
        }
    return count == 1 ? column : 0;
}

int sandbox_running_column(struct sandbox *s, int file, int line, int token, const char *word)
{
    const struct tokens *t = token > 0 ? sandbox_tokens(s, file) : NULL;
    const int at = t ? tokens_nearest(t, word, token - 1) : -1;
    return at >= 0 && t->token[at].line == line ? t->token[at].column : sandbox_column(s, file, line, word);
}

int sandbox_call_column(struct sandbox *s, int file, int line, const char *word, int n)
{
    const struct tokens *t = sandbox_tokens(s, file);
    int call = t ? tokens_nth_call(t, word, line, n) : -1;
    return call < 0 ? 0 : t->token[call].column;
}

int sandbox_fault(lua_State *L, const char *rule, const char *word, const char *format, ...)
{
    struct sandbox_error error = {.rule = rule};
    va_list list;
    va_start(list, format);
    vsnprintf(error.text, sizeof error.text, format, list);
    va_end(list);
    error.file = sandbox_token_where(L, 1, &error.line, &error.token);
    error.column = word ? sandbox_running_column(sandbox_of(L), error.file, error.line, error.token, word) : 0;
    return sandbox_raise(L, &error);
}

int sandbox_no_memory(lua_State *L)
{
    set_fatal(sandbox_of(L), REFUSED_HOOK);
    lua_pushboolean(L, 0);
    return lua_error(L);
}

static int call(struct sandbox *s, int arguments, int results, struct sandbox_error *error)
{
    lua_State *L = s->L;
    int base = lua_gettop(L) - arguments;
    s->placed = false;
    if (!lua_checkstack(L, 2 + (results > 0 ? results : 0))) {
        lua_settop(L, base - 1);
        return SANDBOX_NO_MEMORY;
    }
    lua_pushcfunction(L, handler);
    lua_insert(L, base);
    s->depth++;
    int code = lua_pcall(L, arguments, results, base);
    s->depth--;
    lua_remove(L, base);
    if (code == LUA_OK)
        return SANDBOX_OK;
    lua_pop(L, 1);
    if (code == LUA_ERRMEM && !s->fatal)
        set_fatal(s, s->refusal);
    else if (!s->placed) {
        set_error(s, s->file, s->line, "LUA-RUN", "calls are nested too deep; is there a function that calls itself?");
        s->status = SANDBOX_FAULT;
    }
    s->placed = false;
    if (error)
        *error = s->error;
    return s->status;
}

int sandbox_call(struct sandbox *s, int arguments, int results, struct sandbox_error *error)
{
    restart_limits(s);
    return call(s, arguments, results, error);
}

int sandbox_protect(struct sandbox *s, lua_CFunction f, void *argument, struct sandbox_error *error)
{
    if (!lua_checkstack(s->L, 2))
        return SANDBOX_NO_MEMORY;
    lua_pushcfunction(s->L, f);
    lua_pushlightuserdata(s->L, argument);
    return sandbox_call(s, 1, 0, error);
}

int sandbox_try(lua_State *L, int arguments, int results, struct sandbox_error *error)
{
    struct sandbox *s = sandbox_of(L);
    int status = call(s, arguments, results, error);
    if (!s->fatal)
        return status;
    s->placed = true;
    lua_pushboolean(L, 0);
    return lua_error(L);
}

/* ---- the state ------------------------------------------------------------------------------------------------- */

static int open_state(lua_State *L)
{
    sandbox_open_library(L);
    return 0;
}

struct sandbox *sandbox_open(const struct sandbox_options *options)
{
    struct sandbox *s = memory_resize(&options->memory, NULL, 0, sizeof *s);
    if (!s)
        return NULL;
    *s = (struct sandbox){.arena.memory = options->memory, .pool.memory = options->memory, .file = -1};
    s->memory_limit = options->memory_limit ? options->memory_limit : (size_t)64 << 20;
    s->step_limit = options->instruction_limit ? options->instruction_limit : 50000000;
    s->seconds = options->seconds;
    s->own_text = options->own_text;
    s->guarded = options->guarded;
    s->counted = options->instruction_limit > 0;
    s->folder = options->folder ? arena_text(&s->arena, options->folder) : NULL;
    s->L = options->folder && !s->folder ? NULL : lua_newstate(allocate, s);
    if (!s->L) {
        sandbox_close(s);
        return NULL;
    }
    memcpy(lua_getextraspace(s->L), &s, sizeof s);
    if (sandbox_protect(s, open_state, NULL, NULL) != SANDBOX_OK) {
        sandbox_close(s);
        return NULL;
    }
    use_hook(s, HOOK_STEPS);
    if (s->own_text) /* an expansion leaves little: collected at ten times what was in use */
        lua_gc(s->L, LUA_GCINC, 1000, 0, 0);
    return s;
}

void sandbox_close(struct sandbox *s)
{
    if (!s)
        return;
    /* Nothing in the state has a finaliser: it ends with its memory. */
    struct memory memory = s->arena.memory;
    pool_close(&s->pool);
    arena_free(&s->arena);
    memory_resize(&memory, s, sizeof *s, 0);
}

lua_State *sandbox_lua(struct sandbox *s)
{
    return s->L;
}

const char *sandbox_folder(const struct sandbox *s)
{
    return s->folder;
}

/* ---- sources --------------------------------------------------------------------------------------------------- */

/* Returns the index, or -1 out of memory. */
static int add_source(struct sandbox *s, const char *name, const char *text)
{
    struct sandbox_source *grown = arena_grow(&s->arena, s->source, s->source_count, sizeof *grown);
    if (!grown)
        return -1;
    s->source = grown;
    struct sandbox_source *source = &s->source[s->source_count];
    *source = (struct sandbox_source){.name = arena_text(&s->arena, name)};
    source->text = text ? arena_text(&s->arena, text) : NULL;
    return source->name && (!text || source->text) ? s->source_count++ : -1;
}

struct chunk {
    const char *text;
    size_t length;
    int file;
    bool compiled; /* what lua_dump made, not text */
    bool guarded;  /* takes the guards and returns the function of the text */
    int result;
};

/* Leaves the compiled function, or the syntax error's text, as the second value; the first says which. */
static int compile(lua_State *L)
{
    struct chunk *c = lua_touserdata(L, 1);
    const char *name = lua_pushfstring(L, "@#%d", c->file);
    c->result = luaL_loadbufferx(L, c->text, c->length, name, c->compiled ? "b" : "t");
    if (c->result == LUA_OK && c->guarded) {
        sandbox_push_guards(L);
        lua_call(L, GUARD_KINDS, 1);
    }
    return 1;
}

/* The line with the deepest bracket; 0 where none is deep. */
static int deepest_line(struct sandbox *s, int file)
{
    const struct tokens *t = sandbox_tokens(s, file);
    int depth = 0, most = 20, line = 0;
    for (int i = 0; t && i < t->count; i++) {
        if (token_is(t, i, "(") || token_is(t, i, "{") || token_is(t, i, "["))
            depth++;
        else if (token_is(t, i, ")") || token_is(t, i, "}") || token_is(t, i, "]"))
            depth--;
        if (depth > most) {
            most = depth;
            line = t->token[i].line;
        }
    }
    return line;
}

/* Lua's limits name the function that breaks them: "(function at line 12)". */
static void place_in_text(const struct sandbox *s, int file, char *text, size_t room)
{
    static const char before[] = "function at line ";
    char rest[256], *at = strstr(text, before), *end;
    int token;
    if (!at)
        return;
    at += sizeof before - 1;
    const long line = strtol(at, &end, 10);
    snprintf(rest, sizeof rest, "%s", end);
    snprintf(at, room - (size_t)(at - text), "%d%s", sandbox_line(s, file, (int)line, &token), rest);
}

/* Lua's "near <eof>" and quoted tokens stay; its place goes. */
static int syntax_error(struct sandbox *s, int source, struct sandbox_error *error)
{
    int file = -1, line = 0;
    const char *text = lua_tostring(s->L, -1);
    text = split_place(text ? text : "?", &file, &line);
    line = sandbox_line(s, file, line, &s->token);
    if (file < 0) { /* Lua's parser gives its own limits no place */
        file = source;
        line = deepest_line(s, file);
        s->token = 0;
        if (strcmp(text, "C stack overflow") == 0)
            text = "expressions or blocks are nested too deep; Lua takes about 200 levels";
    }
    char words[512];
    set_error(s, file, line, "LUA-SYNTAX", sandbox_words(text, words, sizeof words));
    place_in_text(s, file, s->error.text, sizeof s->error.text);
    const char *near = strstr(text, "near '");
    char word[64];
    if (near && snprintf(word, sizeof word, "%s", near + 6) < (int)sizeof word && *word) {
        word[strlen(word) - 1] = 0; /* the closing quote */
        s->error.column = sandbox_column(s, file, line, word);
    }
    *error = s->error;
    lua_pop(s->L, 1);
    return SANDBOX_FAULT;
}

/* Leaves the function of the chunk on the stack. */
static int load(struct sandbox *s, struct chunk *c, struct sandbox_error *error)
{
    *error = (struct sandbox_error){.file = c->file};
    if (s->depth == 0)
        restart_limits(s);
    if (!lua_checkstack(s->L, 2))
        return SANDBOX_NO_MEMORY;
    s->file = c->file;
    s->line = s->token = 0;
    lua_pushcfunction(s->L, compile);
    lua_pushlightuserdata(s->L, c);
    int status = call(s, 1, 1, error);
    if (status != SANDBOX_OK)
        return status;
    if (c->result == LUA_ERRMEM) {
        lua_pop(s->L, 1);
        set_fatal(s, s->refusal);
        s->placed = false;
        *error = s->error;
        return s->status;
    }
    return c->result == LUA_OK ? SANDBOX_OK : syntax_error(s, c->file, error);
}

/* Compiles the text with its guards. What is wrong with it Lua says of the text as it was written. */
static int load_guarded(struct sandbox *s, const struct chunk *plain, size_t skip, struct sandbox_error *error)
{
    struct arena scratch = {.memory = s->arena.memory};
    const struct tokens *t = sandbox_tokens(s, plain->file);
    struct chunk guarded = {.file = plain->file, .guarded = true}, c = *plain;
    struct guard_lines lines = {0}, *kept = &s->source[plain->file].lines;
    enum guard_status rewritten =
        t ? guard_rewrite(t, skip + plain->length, skip, &scratch, &guarded.text, &guarded.length, &lines)
          : GUARD_NO_MEMORY;
    if (rewritten == GUARD_DONE) {
        *kept = (struct guard_lines){arena_alloc(&s->arena, (size_t)lines.count * sizeof *lines.token), lines.count};
        if (kept->token)
            memcpy(kept->token, lines.token, (size_t)lines.count * sizeof *lines.token);
        else
            rewritten = GUARD_NO_MEMORY;
    }
    int status = rewritten == GUARD_DONE ? load(s, &guarded, error) : SANDBOX_FAULT;
    arena_free(&scratch);
    if (rewritten == GUARD_NO_MEMORY)
        return SANDBOX_NO_MEMORY;
    if (status != SANDBOX_FAULT || s->fatal)
        return status;
    *kept = (struct guard_lines){0};
    struct sandbox_error first = *error;
    status = load(s, &c, error);
    if (status != SANDBOX_OK)
        return status;
    lua_pop(s->L, 1);
    *error = first;
    if (rewritten == GUARD_NOT_LUA) {
        set_error(s, plain->file, deepest_line(s, plain->file), "LUA-SYNTAX",
                  "expressions or blocks are nested too deep; Lua takes about 200 levels");
        *error = s->error;
    }
    return SANDBOX_FAULT;
}

int sandbox_load(struct sandbox *s, const char *name, const char *text, size_t length, const char *shown,
                 struct sandbox_error *error)
{
    *error = (struct sandbox_error){.file = -1};
    bool good = sandbox_check_text(text, length, error);
    int file = add_source(s, name, good ? shown ? shown : text : NULL);
    error->file = file;
    if (file < 0)
        return SANDBOX_NO_MEMORY;
    if (!good)
        return SANDBOX_FAULT;
    size_t skip = length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* a byte order mark */
    struct chunk c = {.text = text + skip, .length = length - skip, .file = file};
    return s->guarded && !shown ? load_guarded(s, &c, skip, error) : load(s, &c, error);
}

int sandbox_load_own(struct sandbox *s, int number, const char *code, size_t length, struct sandbox_error *error)
{
    struct chunk c = {.text = code, .length = length, .file = number, .compiled = true};
    return load(s, &c, error);
}

int sandbox_load_file(struct sandbox *s, const char *path, struct sandbox_error *error)
{
    size_t length = 0;
    int status = SANDBOX_OK;
    *error = (struct sandbox_error){.file = -1};
    char *text = sandbox_read(&s->arena.memory, path, &length, &status, error);
    if (!text) {
        error->file = status == SANDBOX_FAULT ? add_source(s, path, NULL) : -1;
        return error->file < 0 ? SANDBOX_NO_MEMORY : status;
    }
    const char **grown = arena_grow(&s->arena, s->dependency, s->dependency_count, sizeof *grown);
    status = SANDBOX_NO_MEMORY;
    if (grown) {
        s->dependency = grown;
        s->dependency[s->dependency_count] = arena_text(&s->arena, path);
        if (s->dependency[s->dependency_count]) {
            s->dependency_count++;
            status = sandbox_load(s, path, text, length, NULL, error);
        }
    }
    memory_resize(&s->arena.memory, text, length + 1, 0);
    return status;
}

int sandbox_source_count(const struct sandbox *s)
{
    return s->source_count;
}

const struct sandbox_source *sandbox_source(const struct sandbox *s, int index)
{
    return index >= 0 && index < s->source_count ? &s->source[index] : NULL;
}

const struct tokens *sandbox_tokens(struct sandbox *s, int index)
{
    if (index < 0 || index >= s->source_count || !s->source[index].text)
        return NULL;
    struct sandbox_source *source = &s->source[index];
    if (!source->tokens.token && !tokens_scan(&source->tokens, source->text, strlen(source->text), &s->arena)) {
        source->tokens = (struct tokens){0};
        return NULL;
    }
    return &source->tokens;
}

int sandbox_dependency_count(const struct sandbox *s)
{
    return s->dependency_count;
}

const char *sandbox_dependency(const struct sandbox *s, int index)
{
    return s->dependency[index];
}

struct diag_loc sandbox_loc(const struct sandbox *s, struct diag_set *set, int file, int line, int column)
{
    struct diag_loc loc = {-1, 0, 0};
    const struct sandbox_source *source = sandbox_source(s, file);
    if (source) {
        loc.file = diag_add_source(set, source->name, source->text);
        loc.line = line;
        loc.column = column;
    }
    return loc;
}

/* A token with which something ends that began on a line before. */
static bool is_closing(const struct tokens *t, int i)
{
    static const char *const closing[] = {")", "]", "}", ",", ";", "end", ":", "."};
    bool closes = false;
    for (size_t k = 0; k < sizeof closing / sizeof *closing; k++)
        closes |= token_is(t, i, closing[k]);
    return closes;
}

/* Where on its line an error of Lua's is, which knows lines only: at the one token that the text begins with ("gelu
 * takes 1 argument") or quotes ("global 'x'"), the one nearest to where it runs, else there, or at the line's first
 * that closes nothing. */
static int guess_column(struct sandbox *s, const struct sandbox_error *error)
{
    char word[64];
    size_t n = strcspn(error->text, " :"), from = 0;
    for (size_t i = 0; i < n; i++)
        if (error->text[i] == '.')
            from = i + 1; /* string.rep */
    int length = snprintf(word, sizeof word, "%.*s", (int)(n - from), error->text + from);
    int column =
        length < (int)sizeof word ? sandbox_running_column(s, error->file, error->line, error->token, word) : 0;
    for (const char *p = strchr(error->text, '\''); p && column == 0; p = strchr(p + 1, '\'')) {
        length = snprintf(word, sizeof word, "%.*s", (int)strcspn(p + 1, "'"), p + 1);
        column =
            length < (int)sizeof word ? sandbox_running_column(s, error->file, error->line, error->token, word) : 0;
    }
    const struct tokens *t = sandbox_tokens(s, error->file);
    int first = 0;
    if (t && column == 0 && error->token > 0 && !is_closing(t, error->token - 1))
        column = t->token[error->token - 1].column;
    for (int i = 0; t && column == 0 && i < t->count && t->token[i].line <= error->line; i++) {
        if (t->token[i].line != error->line || t->token[i].kind == TOKEN_END)
            continue;
        first = first ? first : t->token[i].column;
        column = is_closing(t, i) ? 0 : t->token[i].column;
    }
    return column ? column : first;
}

void sandbox_report(struct sandbox *s, struct diag_set *set, const struct sandbox_error *error, const char *kernel,
                    const char *field)
{
    int column = error->column || error->line == 0 ? error->column : guess_column(s, error);
    struct diag_loc loc = sandbox_loc(s, set, error->file, error->line, column);
    diag_report(set, DIAG_ERROR, loc, kernel, field, error->rule, "%s", error->text);
}
