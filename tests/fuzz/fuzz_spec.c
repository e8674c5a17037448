/* libFuzzer target of specs: any text as a Lua spec, what stands behind a line `--tuned` as its SPEC.tuned.lua, through
   the sandbox with its limits on memory and instructions. The code made of it makes no boolean of a value at which no
   guard has looked. README.md says how to run it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emit/embed.h"
#include "program/program.h"
#include "spec/diag.h"
#include "spec/guard.h"
#include "spec/sandbox.h"
#include "spec/spec.h"
#include "unit/spec/lua_code.h"

static const char *const spec_arches[] = {"sm_80", "sm_90a", NULL};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What the rewriting takes Lua takes, and the other way round but for nesting; and its code is guarded. */
static void look_at_code(const uint8_t *data, size_t size)
{
    struct arena arena = {{NULL, NULL}, NULL};
    struct tokens tokens;
    struct sandbox_error error;
    struct lua_code code = {0};
    const char *guarded;
    struct guard_lines lines;
    size_t length;
    char *text = malloc(size + 1);
    lua_State *L = luaL_newstate();
    if (!text || !L)
        abort();
    memcpy(text, data, size);
    text[size] = 0;
    if (sandbox_check_text(text, size, &error) && tokens_scan(&tokens, text, size, &arena)) {
        enum guard_status status = guard_rewrite(&tokens, size, 0, &arena, &guarded, &length, &lines);
        bool plain = luaL_loadbufferx(L, text, size, "@plain", "t") == LUA_OK;
        bool nested = !plain && strcmp(lua_tostring(L, -1), "C stack overflow") == 0; /* no place */
        bool made = status == GUARD_DONE && luaL_loadbufferx(L, guarded, length, "@guarded", "t") == LUA_OK;
        if (made && !plain && !nested)
            abort();
        if (made && !lua_code_is_guarded(L, &code)) {
            fprintf(stderr, "%s\n", code.fault);
            abort();
        }
        free(code.data);
    }
    lua_close(L);
    arena_free(&arena);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct spec_options options = {
        .arch = spec_arches, .library = emit_find_template, .memory_limit = 8 << 20, .instruction_limit = 100000};
    struct spec spec;
    struct diag_set diags = {0};
    char path[64], *printed = NULL;
    look_at_code(data, size);
    static const char mark[] = "\n--tuned\n";
    const uint8_t *tuned = memmem(data, size, mark, sizeof mark - 1);
    char *setups = tuned ? strndup((const char *)tuned + 1, size - (size_t)(tuned - data) - 1) : strdup("");
    if (!setups)
        abort();
    options.tuned = setups;
    size = tuned ? (size_t)(tuned - data) + 1 : size;
    size_t printed_bytes = 0;
    int file = memfd_create("spec.lua", 0);
    if (file < 0 || write(file, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    int status = spec_read(path, &options, &spec, &diags);
    if (status != 0 && status != 1 && status != 3)
        abort();
    if (status == 1 && !diags.errors)
        abort();
    for (int k = 0; status == 0 && k < spec.kernel_count; k++)
        for (int a = 0; a < 2; a++) {
            struct spec_fields merged;
            spec_merge(&spec.kernel[k], spec_arches[a], &merged);
        }
    FILE *out = open_memstream(&printed, &printed_bytes);
    if (!out)
        abort();
    for (int k = 0; status == 0 && k < spec.kernel_count + spec.setup_count; k++)
        if (spec.kernel[k].program)
            program_print(spec.kernel[k].program, &spec, &spec.kernel[k], out);
    diag_print(&diags, out);
    fclose(out);
    if (status == 1 && !printed_bytes)
        abort();
    free(printed);
    free(setups);
    spec_free(&spec);
    diag_free(&diags);
    close(file);
    return 0;
}
