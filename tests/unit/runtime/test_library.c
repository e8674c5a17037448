/* libtilewright.a by itself: its public headers, in a folder of their own, compile as C and as C++ with all warnings,
 * each alone, and a program that includes them links with the archive and libc. Runs in the repository's folder. */
#include "unit/check.h"
#include "unit/shell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/tilewright_library_XXXXXX";
static char archive[512];

/* Those of the program that links are those of the archive. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZE "-fsanitize=address,undefined"
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZE "-fsanitize=address,undefined"
#endif
#endif
#ifndef SANITIZE
#define SANITIZE ""
#endif

#define WARNINGS "-Wall -Wextra -Wpedantic -Wconversion -Werror"

static const struct {
    const char *program, *arguments;
} compilers[] = {
    {"gcc", "-std=c11"},
    {"g++", "-std=c++11 -x c++"},
    {"g++", "-std=c++17 -x c++"},
    {"clang", "-std=c11"},
    {"clang++", "-std=c++17 -x c++"},
};
enum { COMPILERS = sizeof compilers / sizeof *compilers };

static int shell(const char *format, ...) __attribute__((format(printf, 1, 2)));

static int shell(const char *format, ...)
{
    char command[SHELL_ROOM];
    va_list list;
    va_start(list, format);
    int status = shell_list(command, format, list);
    va_end(list);
    return status;
}

static int lacks(const char *program)
{
    return shell("command -v %s >%s/which", program, folder);
}

/* The headers, and the tables that they include, are all that a user has. */
static void test_headers(void **state)
{
    static const char *const headers[] = {"tensormap/tensormap.h", "tensormap/tensorview.h", "dtype.h", "status.h"};
    (void)state;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        for (int c = 0; c < COMPILERS; c++) {
            if (lacks(compilers[c].program))
                continue;
            const char *language = strstr(compilers[c].arguments, "-x") ? "" : "-x c";
            if (shell("echo '#include \"%s\"' | %s %s %s " WARNINGS " -fsyntax-only -I%s/include -", headers[i],
                      compilers[c].program, compilers[c].arguments, language, folder))
                fail_msg("%s does not compile alone with %s %s", headers[i], compilers[c].program,
                         compilers[c].arguments);
        }
}

static void test_program(void **state)
{
    int ran = 0;
    (void)state;
    for (int c = 0; c < COMPILERS; c++) {
        if (lacks(compilers[c].program) || (SANITIZE[0] && compilers[c].program[0] == 'c')) {
            print_message("not run: %s\n", compilers[c].program);
            continue;
        }
        if (shell("%s %s " WARNINGS " -I%s/include tests/embed/library.c -x none %s %s -lm -o %s/library",
                  compilers[c].program, compilers[c].arguments, folder, archive, SANITIZE, folder))
            fail_msg("tests/embed/library.c does not build with %s %s", compilers[c].program, compilers[c].arguments);
        if (shell("%s/library", folder))
            fail_msg("tests/embed/library.c, built with %s %s", compilers[c].program, compilers[c].arguments);
        ran++;
    }
    assert_true(ran > 0);
}

/* Without the archive: the few files that the README names. */
static void test_sources(void **state)
{
    (void)state;
    if (shell("cc -std=c11 " WARNINGS " -Iruntime tests/embed/library.c runtime/tensormap/*.c "
              "runtime/dtype.c runtime/status.c -lm -o %s/library && %s/library",
              folder, folder))
        fail_msg("tests/embed/library.c does not build or run with the sources of the library");
}

static int set_up(void **state)
{
    char *end;
    (void)state;
    /* This program is in tests/unit of whichever build, beside the archive. */
    ssize_t length = readlink("/proc/self/exe", archive, sizeof archive - 64);
    if (length < 0 || !mkdtemp(folder))
        return 1;
    archive[length] = 0;
    end = strstr(archive, "/tests/unit/");
    if (!end)
        return 1;
    strcpy(end, "/libtilewright.a");
    return shell("mkdir -p %s/include/tensormap && "
                 "cp runtime/dtype.h runtime/status.h runtime/dtypes.def runtime/status.def %s/include && "
                 "cd runtime/tensormap && cp tensormap.h tensorview.h tensormap_rules.def tensormap_workarounds.def "
                 "%s/include/tensormap",
                 folder, folder, folder);
}

static int tear_down(void **state)
{
    (void)state;
    return shell("rm -r %s", folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_program),
        cmocka_unit_test(test_sources),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
