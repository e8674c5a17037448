/* Where the sandbox's texts come from: files, checked before Lua sees them, and `require`. */
#include "spec/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lua5.4/lauxlib.h>

static bool fault(struct sandbox_error *error, const char *rule, const char *text)
{
    error->rule = rule;
    snprintf(error->text, sizeof error->text, "%s", text);
    return false;
}

/* Length of the UTF-8 character at p, 0 where it is none (RFC 3629: no surrogates, no overlong forms). */
static size_t utf8_length(const unsigned char *p, size_t left)
{
    unsigned char low = 0x80, high = 0xbf;
    size_t n;
    if (p[0] < 0x80)
        return 1;
    if (p[0] >= 0xc2 && p[0] <= 0xdf)
        n = 2;
    else if ((p[0] & 0xf0) == 0xe0)
        n = 3;
    else if (p[0] >= 0xf0 && p[0] <= 0xf4)
        n = 4;
    else
        return 0;
    if (left < n)
        return 0;
    low = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : low;
    high = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : high;
    if (p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

bool sandbox_check_text(const char *text, size_t length, struct sandbox_error *error)
{
    const unsigned char *p = (const unsigned char *)text;
    if (length == 0)
        return fault(error, "FILE-EMPTY", "the file is empty; a spec declares at least one kernel");
    if (p[0] == 0x1b)
        return fault(error, "FILE-BYTECODE", "this is Lua bytecode; a spec is Lua text");
    int line = 1;
    size_t begin = 0;
    for (size_t i = 0, n; i < length; i += n) {
        n = utf8_length(p + i, length - i);
        if (n == 0 || p[i] == 0) {
            error->line = line;
            error->column = (int)(i - begin) + 1;
            snprintf(error->text, sizeof error->text,
                     n ? "column %d holds a zero byte; a spec is text"
                       : "column %d holds byte 0x%02x, which is no UTF-8; "
                         "save the file as UTF-8",
                     error->column, p[i]);
            error->rule = "FILE-UTF8";
            return false;
        }
        if (p[i] == '\r' && (i + 1 == length || p[i + 1] != '\n')) { /* Lua would count a line that no editor shows */
            error->line = line;
            error->column = (int)(i - begin) + 1;
            snprintf(error->text, sizeof error->text,
                     "column %d holds a carriage return without a newline; save the file with lines that end in "
                     "newlines",
                     error->column);
            error->rule = "FILE-LINES";
            return false;
        }
        if (p[i] == '\n') {
            line++;
            begin = i + 1;
        }
    }
    return true;
}

/* Why `path` cannot be opened, `code` being errno. */
static void explain(const char *path, int code, struct sandbox_error *error)
{
    struct stat info;
    char target[512];
    ssize_t n = -1;
    if (code == ENOENT && lstat(path, &info) == 0 && S_ISLNK(info.st_mode))
        n = readlink(path, target, sizeof target - 1);
    if (n >= 0) {
        target[n] = 0;
        snprintf(error->text, sizeof error->text, "this is a link to '%s', which does not exist", target);
        error->rule = "FILE-LINK";
    } else if (code == ENOENT || code == ENOTDIR) {
        fault(error, "FILE-MISSING", "there is no such file");
    } else {
        snprintf(error->text, sizeof error->text, "the file cannot be read: %s", strerror(code));
        error->rule = "FILE-READ";
    }
}

char *sandbox_read(const struct memory *memory, const char *path, size_t *length, int *status,
                   struct sandbox_error *error)
{
    struct stat info;
    *status = SANDBOX_FAULT;
    if (stat(path, &info) != 0) {
        explain(path, errno, error);
        return NULL;
    }
    if (S_ISDIR(info.st_mode)) {
        fault(error, "FILE-FOLDER", "this is a folder; name a .lua file in it");
        return NULL;
    }
    if (!S_ISREG(info.st_mode)) {
        fault(error, "FILE-KIND", "this is no regular file; a spec is a file");
        return NULL;
    }
    if (info.st_size > SANDBOX_MAX_FILE) {
        snprintf(error->text, sizeof error->text, "the file has %lld bytes, more than the %d that a spec may have",
                 (long long)info.st_size, SANDBOX_MAX_FILE);
        error->rule = "FILE-SIZE";
        return NULL;
    }
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        explain(path, errno, error);
        return NULL;
    }
    size_t size = (size_t)info.st_size, got = 0;
    char *text = memory_resize(memory, NULL, 0, size + 1);
    if (!text) {
        close(file);
        *status = SANDBOX_NO_MEMORY;
        return NULL;
    }
    ssize_t n = 1;
    while (got < size && (n = read(file, text + got, size - got)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        got += (size_t)n;
    }
    if (n < 0)
        explain(path, errno, error);
    else if (got < size)
        fault(error, "FILE-READ", "the file became shorter while it was read");
    close(file);
    if (got < size) {
        memory_resize(memory, text, size + 1, 0);
        return NULL;
    }
    text[size] = 0;
    *length = size;
    *status = SANDBOX_OK;
    return text;
}

/* ---- require --------------------------------------------------------------------------------------------------- */

/* Writes the path of module `name` below `folder`; a.b is a/b. False: too long. */
static bool module_path(char *path, size_t size, const char *folder, const char *between, const char *name)
{
    size_t used = strlen(name);
    if (used > 4 && strcmp(name + used - 4, ".lua") == 0)
        used -= 4;
    const char *slash = strcmp(folder, "/") == 0 ? "" : "/";
    bool here = strcmp(folder, ".") == 0;
    int n = snprintf(path, size, "%s%s%s%.*s", here ? "" : folder, here ? "" : slash, between, (int)used, name);
    if (n < 0 || (size_t)n + 5 > size)
        return false;
    for (char *p = path + n - used; *p; p++)
        if (*p == '.')
            *p = '/';
    strcpy(path + n, ".lua");
    return true;
}

/* True where the file, all links followed, lies below the folder. */
static bool below(const char *path, const char *folder)
{
    char file[PATH_MAX], root[PATH_MAX];
    if (!realpath(path, file))
        return true; /* no file there: reading it says why */
    if (!realpath(folder, root))
        return false;
    size_t n = strlen(root);
    return strncmp(file, root, n) == 0 && (file[n] == '/' || n == 1);
}

static bool exists(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0;
}

bool sandbox_has_library(const struct sandbox *s, const char *name)
{
    char path[PATH_MAX];
    const char *folder = sandbox_folder(s);
    return folder && module_path(path, sizeof path, folder, "lib/", name) && exists(path);
}

/* require(name): the module's value, once per module. The registry's table "modules" holds what was read; false while a
 * module is being read. */
int sandbox_require(lua_State *L)
{
    struct sandbox *s = sandbox_of(L);
    char path[PATH_MAX], library[PATH_MAX];
    size_t length;
    const char *name = luaL_checklstring(L, 1, &length), *folder = sandbox_folder(s);
    if (length == 0 || strlen(name) != length || name[0] == '/' || name[0] == '.' || name[0] == '~' ||
        strstr(name, "..") || strchr(name, '\\') || strstr(name, "//"))
        return sandbox_fault(L, "REQUIRE", "require",
                             "require '%s' leaves the spec's folder; name a file in it or in its lib", name);
    if (!module_path(path, sizeof path, folder, "", name) ||
        !module_path(library, sizeof library, folder, "lib/", name))
        return sandbox_fault(L, "REQUIRE", "require", "require: the name is too long");
    const char *found = exists(path) ? path : library;
    if (!exists(found))
        return sandbox_fault(L, "REQUIRE", "require", "require '%s': there is neither %s nor %s", name, path, library);
    if (!below(found, folder))
        return sandbox_fault(L, "REQUIRE", "require", "require '%s': %s is a link that leaves the spec's folder", name,
                             found);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, "modules");
    int modules = lua_gettop(L);
    if (lua_getfield(L, modules, found) == LUA_TBOOLEAN && !lua_toboolean(L, -1))
        return sandbox_fault(L, "REQUIRE", "require", "require '%s': %s requires itself", name, found);
    if (!lua_isnil(L, -1))
        return 1;
    struct sandbox_error error;
    int status = sandbox_load_file(s, found, &error);
    if (status == SANDBOX_NO_MEMORY)
        return sandbox_no_memory(L);
    if (status != SANDBOX_OK && error.line == 0)
        return sandbox_fault(L, "REQUIRE", "require", "require '%s': %s: %s", name, found, error.text);
    if (status != SANDBOX_OK)
        return sandbox_raise(L, &error);
    lua_pushboolean(L, 0);
    lua_setfield(L, modules, found);
    lua_call(L, 0, 1);
    if (lua_isnil(L, -1)) {
        lua_pop(L, 1);
        lua_pushboolean(L, 1);
    }
    lua_pushvalue(L, -1);
    lua_setfield(L, modules, found);
    return 1;
}
