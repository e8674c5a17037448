/* Reads what lua_dump writes, and looks for an instruction that makes a Lua boolean, or a key, of a value at which no
 * guard has looked (spec/guard.h). The proof of the rewriting: whatever the text was, its code holds none. */
#ifndef TW_TESTS_LUA_CODE_H
#define TW_TESTS_LUA_CODE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lua5.4/lauxlib.h>

/* Opcodes of Lua 5.4 that matter, by number: lopcodes.h. */
enum {
    CODE_LOADI = 1,
    CODE_LOADNIL = 8,
    CODE_GETUPVAL = 9,
    CODE_GETTABLE = 12,
    CODE_NOT = 51,
    CODE_EQ = 57,
    CODE_EQK = 60,
    CODE_GEI = 65,
    CODE_TEST = 66,
    CODE_TESTSET = 67,
    CODE_CALL = 68,
    CODE_COUNT = 83
};

struct lua_code {
    unsigned char *data;
    size_t length, at;
    bool broken;
    char fault[160]; /* "" : none */
};

static inline int lua_code_add(lua_State *L, const void *bytes, size_t length, void *context)
{
    struct lua_code *c = context;
    (void)L;
    unsigned char *grown = realloc(c->data, c->length + length + 1);
    if (!grown)
        return 1;
    c->data = grown;
    memcpy(c->data + c->length, bytes, length);
    c->length += length;
    return 0;
}

static inline const unsigned char *lua_code_take(struct lua_code *c, size_t count)
{
    if (c->length - c->at < count) {
        c->broken = true;
        return c->data;
    }
    c->at += count;
    return c->data + c->at - count;
}

static inline size_t lua_code_number(struct lua_code *c)
{
    size_t n = 0;
    for (;;) {
        unsigned char b = *lua_code_take(c, 1);
        n = n << 7 | (b & 0x7f);
        if (b & 0x80 || c->broken)
            return n;
    }
}

static inline const char *lua_code_text(struct lua_code *c, size_t *length)
{
    size_t size = lua_code_number(c);
    *length = size ? size - 1 : 0;
    return (const char *)lua_code_take(c, *length);
}

struct lua_code_function {
    uint32_t *code;
    int count, constants, upvalues;
    bool *nil;   /* by constant */
    bool *guard; /* by upvalue */
};

/* The instruction puts a literal into register `r`. */
static inline bool lua_code_is_literal(uint32_t instruction, uint32_t r)
{
    uint32_t op = instruction & 0x7f;
    return op >= CODE_LOADI && op <= CODE_LOADNIL && (instruction >> 7 & 0xff) == r;
}

/* The value in register `r` before instruction `at` is a literal or what a guard gave: its call stands right before. */
static inline bool lua_code_guarded(const struct lua_code_function *f, int at, uint32_t r)
{
    if (at > 0 && (lua_code_is_literal(f->code[at - 1], r) ||
                   ((f->code[at - 1] & 0x7f) == CODE_NOT && (f->code[at - 1] >> 7 & 0xff) == r)))
        return true; /* or what `not` gave */
    if (at == 0 || (f->code[at - 1] & 0x7f) != CODE_CALL || (f->code[at - 1] >> 7 & 0xff) != r)
        return false;
    for (int i = at - 2; i >= 0; i--)
        if ((f->code[i] & 0x7f) == CODE_GETUPVAL && (f->code[i] >> 7 & 0xff) == r) {
            uint32_t upvalue = f->code[i] >> 16 & 0xff;
            return upvalue < (uint32_t)f->upvalues && f->guard[upvalue];
        }
    return false;
}

static inline void lua_code_look(struct lua_code *c, const struct lua_code_function *f, size_t line)
{
    for (int i = 0; i < f->count && !*c->fault; i++) {
        uint32_t op = f->code[i] & 0x7f, a = f->code[i] >> 7 & 0xff, b = f->code[i] >> 16 & 0xff, k = f->code[i] >> 24;
        bool bad = false;
        if (op >= CODE_EQ && op <= CODE_GEI)
            bad = !(op == CODE_EQK && b < (uint32_t)f->constants && f->nil[b]) && /* nil */
                  !(i > 0 && (f->code[i - 1] & 0x7f) == CODE_LOADNIL && lua_code_is_literal(f->code[i - 1], a));
        else if (op == CODE_TEST)
            bad = !lua_code_guarded(f, i, a);
        else if (op == CODE_TESTSET || op == CODE_NOT)
            bad = !lua_code_guarded(f, i, b);
        else if (op == CODE_GETTABLE) /* the key is a literal */
            bad = i == 0 || !lua_code_is_literal(f->code[i - 1], k);
        if (bad)
            snprintf(c->fault, sizeof c->fault, "function of line %zu, instruction %d: opcode %u", line, i, op);
    }
}

/* guarded: the function stands in the one that takes the guards. */
static inline void lua_code_read(struct lua_code *c, bool guarded)
{
    struct lua_code_function f = {0};
    size_t length, line;
    lua_code_text(c, &length);
    line = lua_code_number(c);
    lua_code_number(c);
    lua_code_take(c, 3);
    f.count = (int)lua_code_number(c);
    const unsigned char *code = lua_code_take(c, 4 * (size_t)f.count);
    if (c->broken)
        return;
    f.code = calloc((size_t)f.count + 1, sizeof *f.code);
    memcpy(f.code, code, 4 * (size_t)f.count);
    f.constants = (int)lua_code_number(c);
    f.nil = calloc((size_t)f.constants + 1, sizeof *f.nil);
    for (int i = 0; i < f.constants && !c->broken; i++) {
        unsigned char type = *lua_code_take(c, 1);
        f.nil[i] = type == 0;
        if (type == 0x13 || type == 0x03)
            lua_code_take(c, 8);
        else if (type == 0x04 || type == 0x14)
            lua_code_text(c, &length);
    }
    f.upvalues = (int)lua_code_number(c);
    f.guard = calloc((size_t)f.upvalues + 1, sizeof *f.guard);
    lua_code_take(c, 3 * (size_t)f.upvalues);
    int functions = (int)lua_code_number(c);
    for (int i = 0; i < functions && !c->broken; i++)
        lua_code_read(c, true);
    lua_code_take(c, lua_code_number(c)); /* lines */
    for (size_t i = lua_code_number(c); i > 0 && !c->broken; i--) {
        lua_code_number(c);
        lua_code_number(c);
    }
    for (size_t i = lua_code_number(c); i > 0 && !c->broken; i--) {
        lua_code_text(c, &length);
        lua_code_number(c);
        lua_code_number(c);
    }
    size_t names = lua_code_number(c);
    for (size_t i = 0; i < names && !c->broken; i++) {
        const char *name = lua_code_text(c, &length);
        f.guard[i] = length > 4 && memcmp(name, "__tw", 4) == 0;
    }
    if (guarded && !c->broken)
        lua_code_look(c, &f, line);
    free(f.code);
    free(f.nil);
    free(f.guard);
}

/* Looks at the function on top of the stack, which takes the guards; false: *c says where it makes a boolean unseen.
 * The caller frees c->data. */
static inline bool lua_code_is_guarded(lua_State *L, struct lua_code *c)
{
    enum { HEADER = 4 + 1 + 1 + 6 + 3 + 8 + 8 };
    *c = (struct lua_code){0};
    if (lua_dump(L, lua_code_add, c, 0) != 0 || c->length < HEADER + 1) {
        snprintf(c->fault, sizeof c->fault, "lua_dump failed");
        return false;
    }
    c->at = HEADER + 1; /* and the number of upvalues */
    lua_code_read(c, false);
    if (c->broken || c->at != c->length)
        snprintf(c->fault, sizeof c->fault, "the dump is of another form: %zu of %zu bytes", c->at, c->length);
    return !*c->fault;
}

#endif
