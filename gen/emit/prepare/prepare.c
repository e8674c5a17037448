/* A program of the build: takes the program's own templates apart and compiles them, so that no run of it has to.
 *
 *     usage: prepare OUT.bin OUT.S
 *
 * OUT.bin is, for each row of emit_embedded, the offset of its prepared.h bytes as four bytes of this machine, 0 for
 * what is no template; then those bytes. OUT.S gives them the name emit_prepared. Whether a template names what there
 * is, the tests look at. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <lua5.4/lauxlib.h>

#include "emit/embed.h"
#include "emit/template/prepared.h"
#include "spec/sandbox.h"

static int add_code(lua_State *L, const void *bytes, size_t length, void *context)
{
    struct emit_text *code = context;
    (void)L;
    text_add(code, bytes, length);
    return code->failed;
}

/* Adds the template of a row. False: told on stderr. */
static bool add(lua_State *L, int row, struct arena *arena, struct emit_text *out)
{
    static const char *const no_helper[] = {NULL};
    static const struct template_names names = {"", no_helper, true};
    const struct emit_embedded *from = &emit_embedded[row];
    struct template t = {.name = from->name,
                         .shown = from->name,
                         .text = from->begin,
                         .length = (size_t)(from->end - from->begin),
                         .embedded = true};
    struct diag_set diags = {0};
    int faults = template_parse(&t, &names, NULL, arena, &diags);
    diag_print(&diags, stderr);
    diag_free(&diags);
    if (faults)
        return false;
    char source[32];
    snprintf(source, sizeof source, "@#%d", SANDBOX_OWN + row);
    struct emit_text code = {.arena = arena};
    if (luaL_loadbufferx(L, t.lua, t.lua_length, source, "t") != LUA_OK) {
        fprintf(stderr, "%s: %s\n", from->name, lua_tostring(L, -1));
        return false;
    }
    lua_dump(L, add_code, &code, 0);
    lua_settop(L, 0);
    prepared_write(&t, code.data, code.length, out);
    return true;
}

static bool write_file(const char *path, const char *data, size_t length)
{
    FILE *file = fopen(path, "wb");
    bool good = file && fwrite(data, 1, length, file) == length;
    good = file && fclose(file) == 0 && good;
    if (!good)
        fprintf(stderr, "prepare: cannot write %s\n", path);
    return good;
}

int main(int argc, char **argv)
{
    struct arena arena = {.block = NULL};
    struct emit_text out = {.arena = &arena}, text = {.arena = &arena};
    lua_State *L = luaL_newstate();
    uint32_t rows = 0;
    bool good = L && argc == 3;
    while (emit_embedded[rows].name)
        rows++;
    uint32_t *offset = arena_alloc(&arena, rows * sizeof *offset);
    for (uint32_t i = 0; i < rows && good && offset; i++) {
        const char *name = emit_embedded[i].name;
        if (strncmp(name, "lib/", 4) == 0 || strncmp(name, "bench/", 6) == 0)
            continue;
        offset[i] = (uint32_t)(rows * sizeof *offset + out.length);
        good = add(L, (int)i, &arena, &out);
    }
    if (good && offset) {
        text_add(&text, (const char *)offset, rows * sizeof *offset);
        text_add(&text, out.data, out.length);
        good = !out.failed && !text.failed && write_file(argv[1], text.data, text.length);
        text.length = 0;
        text_format(&text,
                    ".section .rodata\n.balign 4\n.globl emit_prepared\n.type emit_prepared, %%object\nemit_prepared:\n"
                    ".incbin \"%s\"\n.size emit_prepared, . - emit_prepared\n"
                    ".section .note.GNU-stack,\"\",%%progbits\n",
                    argv[1]);
        good = good && !text.failed && write_file(argv[2], text.data, text.length);
    }
    if (L)
        lua_close(L);
    arena_free(&arena);
    return good && offset ? 0 : 1;
}
