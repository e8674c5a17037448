#include <dlfcn.h>
#include <execinfo.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "explain.h"

enum { DEPTH = 64, PYTHON_LINES = 16 };

// The file that an address lies in, without its folder; "" where it lies in none.
static const char *file_of(void *address)
{
    Dl_info info;
    if (!dladdr(address, &info) || !info.dli_fname)
        return "";
    const char *slash = strrchr(info.dli_fname, '/');
    return slash ? slash + 1 : info.dli_fname;
}

static int is_driver(const char *file)
{
    return strncmp(file, "libcuda.so", 10) == 0;
}

static int is_cupti(const char *file)
{
    return strncmp(file, "libcupti.so", 11) == 0;
}

// The stack, innermost first. The caller's own frames may lie below frames of the driver again: a thread of the
// driver's that calls a host function.
//
//   this library, CUPTI, what CUPTI puts between      whatever their names: the driver called them
//   libcuda, and CUPTI where it wraps the call        the first run
//   the caller                                        the first frame past that run; code without a file, too
//
// The stack is not followed further than it must: past the caller it may be a coroutine's, with no proper end.
void *explain_caller(void)
{
    void *frames[DEPTH];
    int full = 1;
    for (int most = DEPTH / 4; most <= DEPTH && full; most *= 2) {
        int depth = backtrace(frames, most), i = 0;
        full = depth == most;
        while (i < depth && !is_driver(file_of(frames[i])))
            i++;
        while (i < depth && (is_driver(file_of(frames[i])) || is_cupti(file_of(frames[i]))))
            i++;
        if (i < depth)
            return frames[i];
    }
    return NULL;
}

// The thread's Python frames, as the interpreter's crash handler prints them: without the interpreter's lock, which
// the caller may or may not hold. Nothing where there is no Python, or one that does not show these functions.
static void append_python(char *text, size_t size, size_t *used)
{
    void *(*state)(void), (*dump)(int, void *);
    void *state_address = dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
    void *dump_address = dlsym(RTLD_DEFAULT, "_Py_DumpTraceback");
    char lines[4096], *rest;
    memcpy(&state, &state_address, sizeof state_address);
    memcpy(&dump, &dump_address, sizeof dump_address);
    if (!state_address || !dump_address)
        return;
    void *thread = state();
    int file = thread ? memfd_create("tilewright-explain", MFD_CLOEXEC) : -1;
    if (file < 0)
        return;
    dump(file, thread);
    ssize_t got = pread(file, lines, sizeof lines - 1, 0);
    close(file);
    lines[got < 0 ? 0 : got] = 0;
    int count = 0;
    for (char *line = strtok_r(lines, "\n", &rest); line && count < PYTHON_LINES; line = strtok_r(NULL, "\n", &rest))
        if (strncmp(line, "  File ", 7) == 0)
            tw_tmap_append(text, size, used, "    %s%s\n", count++ ? "  from " : "Python: ", line + 2);
}

const char *explain_caller_text(void *caller, char *text, size_t size)
{
    size_t used = 0;
    Dl_info info;
    text[0] = 0;
    if (caller && dladdr(caller, &info) && info.dli_fname) {
        tw_tmap_append(text, size, &used, "    called from %s+0x%" PRIxPTR, info.dli_fname,
                       (uintptr_t)caller - (uintptr_t)info.dli_fbase);
        if (info.dli_sname)
            tw_tmap_append(text, size, &used, " (%s)", info.dli_sname);
        tw_tmap_append(text, size, &used, "\n");
    }
    append_python(text, size, &used);
    return text;
}
