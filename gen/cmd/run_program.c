/* tilewright run-program: a whole CUDA program on the emulator, by libraries that stand in for the driver and the CUDA
 * runtime (runtime/libcuda, runtime/cudart). */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "common/options.h"
#include "common/tell.h"
#include "emu/emu.h"
#include "hooks.h"
#include "libcuda/options.h"
#include "libcuda/tally.h"

extern char **environ;

static const char help_text[] =
    "\n"
    "PROGRAM is linked with the CUDA runtime as a shared library, and holds PTX:\n"
    "  nvcc -lineinfo -cudart shared -gencode arch=compute_90,code=compute_90 program.cu -o program\n"
    "A program that calls the driver itself (-lcuda, or dlopen) needs PTX alone. Options stand before PROGRAM; what\n"
    "stands behind it is its own. Its status is passed on (128 and more: a signal), but a hazard makes it 1.\n"
    "\n"
    "Examples:\n"
    "  tilewright run-program ./program\n"
    "  tilewright run-program --complete late --hazards on ./program --size 64\n";

static const struct {
    const char *variable, *name, *argument, *doc;
} all[] = {
#define OPTION(ID, variable, option, parameter, doc) {variable, option, parameter, doc},
#include "libcuda/options.def"
#undef OPTION
};

/* Where PROGRAM stands in argv: behind the options and their arguments. argc where it is missing. */
static int program_at(int argc, char **argv)
{
    int i = 1;
    for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
        if (strcmp(argv[i], "--") == 0)
            return i + 1;
        for (int k = 0; k < CU_OPTION_COUNT; k++)
            if (strcmp(argv[i], all[k].name) == 0) {
                i++;
                break;
            }
    }
    return i < argc ? i : argc;
}

/* The folder of the libraries: beside the program as it was built, or as it was installed. */
static bool find_folder(struct tw_runtime *rt, char *folder, size_t bytes)
{
    static const char *const below[] = {"libcuda", "../lib/tilewright"};
    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        char file[4200];
        struct tw_file_info info;
        snprintf(folder, bytes, "%s/%s", rt->program_folder, below[i]);
        snprintf(file, sizeof file, "%s/libcuda.so.1", folder);
        if (rt->program_folder[0] && rt->files.stat(rt->files.self, file, &info) == 0 && info.is_regular)
            return true;
    }
    return false;
}

/* The environment of the program. */
static bool set_environment(struct tw_runtime *rt, const char *folder, const char *const value[CU_OPTION_COUNT],
                            int tally)
{
    char number[16];
    const char *before = tw_variable(rt, "LD_LIBRARY_PATH");
    char *path = tw_format(rt, "%s%s%s", folder, before ? ":" : "", before ? before : "");
    bool set = path && setenv("LD_LIBRARY_PATH", path, 1) == 0;
    tw_free(rt, path);
    snprintf(number, sizeof number, "%d", tally);
    set = set && setenv(CU_TALLY_VARIABLE, number, 1) == 0;
    for (int i = 0; i < CU_OPTION_COUNT && set; i++)
        if (value[i])
            set = setenv(all[i].variable, value[i], 1) == 0;
    return set;
}

/* Whoever ends this program means the one that it runs. */
static volatile sig_atomic_t running;
static void pass_on(int number)
{
    if (running)
        kill((pid_t)running, number);
}

/* The program's exit status, where *ended is then 0, or 128 and more for the signal *ended; -1 after a fault, which it
 * has told. */
static int run(const struct tell *tell, char **arguments, int *ended)
{
    /* A key that interrupts reaches the program by itself. */
    struct sigaction ignore = {.sa_handler = SIG_IGN}, pass = {.sa_handler = pass_on}, interrupt, quit, end, hang_up;
    pid_t child;
    int state, result = posix_spawnp(&child, arguments[0], NULL, NULL, arguments, environ);
    if (result) {
        tell_fault(tell, "cannot run %s: %s", arguments[0], strerror(result));
        return -1;
    }
    running = (sig_atomic_t)child;
    sigaction(SIGINT, &ignore, &interrupt);
    sigaction(SIGQUIT, &ignore, &quit);
    sigaction(SIGTERM, &pass, &end);
    sigaction(SIGHUP, &pass, &hang_up);
    while ((result = waitpid(child, &state, 0)) < 0 && errno == EINTR)
        continue;
    running = 0;
    sigaction(SIGINT, &interrupt, NULL);
    sigaction(SIGQUIT, &quit, NULL);
    sigaction(SIGTERM, &end, NULL);
    sigaction(SIGHUP, &hang_up, NULL);
    if (result < 0) {
        tell_fault(tell, "cannot wait for %s: %s", arguments[0], strerror(errno));
        return -1;
    }
    *ended = WIFEXITED(state) ? 0 : WTERMSIG(state);
    return *ended ? 128 + *ended : WEXITSTATUS(state);
}

static int conclude(const struct tell *tell, const struct cu_tally *tally, bool looked, int status, int ended)
{
    uint64_t launches = atomic_load(&tally->launches), hazards = atomic_load(&tally->hazards),
             failures = atomic_load(&tally->failures);
    if (!atomic_load(&tally->loaded))
        failures += atomic_load(&tally->refused);
    if (ended)
        tell_fault(tell, "the program was ended by signal %d, %s", ended, strsignal(ended));
    if (!atomic_load(&tally->devices)) {
        tell_note(tell, "the program did not come to the emulated driver");
        return status;
    }
    fprintf(stderr, "tilewright run-program: %" PRIu64 " launch%s", launches, launches == 1 ? "" : "es");
    if (failures)
        fprintf(stderr, ", %" PRIu64 " failure%s", failures, failures == 1 ? "" : "s");
    if (looked || hazards)
        fprintf(stderr, ", %" PRIu64 " hazard%s", hazards, hazards == 1 ? "" : "s");
    putc('\n', stderr);
    return hazards || failures ? 1 : status;
}

static int go(const struct tell *tell, struct tw_runtime *rt, const char *const value[CU_OPTION_COUNT], bool looked,
              char **arguments)
{
    char folder[4150];
    int status = 3, file = -1, ended = 0;
    struct cu_tally *tally = MAP_FAILED;
    if (!find_folder(rt, folder, sizeof folder)) {
        tell_fault(tell, "libcuda.so.1 of the emulator is not beside this program: it is built by ninja, and installed "
                         "by ninja install");
        return 3;
    }
    file = memfd_create("tilewright", 0);
    if (file >= 0 && ftruncate(file, sizeof *tally) == 0)
        tally = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (tally == MAP_FAILED || !set_environment(rt, folder, value, file)) {
        tell_fault(tell, "cannot share memory with the program: %s", strerror(errno));
    } else {
        fflush(stdout);
        status = run(tell, arguments, &ended);
        status = status < 0 ? 3 : conclude(tell, tally, looked, status, ended);
    }
    if (tally != MAP_FAILED)
        munmap(tally, sizeof *tally);
    if (file >= 0)
        close(file);
    return status;
}

int cmd_run_program(int argc, char **argv)
{
    const char *value[CU_OPTION_COUNT] = {NULL}, *none, *allowed;
    struct option_row rows[CU_OPTION_COUNT + 1] = {{NULL, OPTION_FLAG, NULL, NULL, NULL}};
    struct emu_options options = {.arch = NULL};
    struct tell tell;
    struct tw_runtime rt;
    struct tw_error error;
    int at = program_at(argc, argv), wrong, operands;
    for (int i = 0; i < CU_OPTION_COUNT; i++)
        rows[i] = (struct option_row){all[i].name, OPTION_TEXT, &value[i], all[i].argument, all[i].doc};
    rows[CU_OPTION_COUNT] = (struct option_row){NULL, OPTION_FLAG, NULL, NULL, NULL};
    int status = options_parse("run-program", rows, at, argv, &none, 0, &operands);
    if (status == 0)
        fputs(help_text, stdout);
    if (status >= 0)
        return status;
    if (cu_options_read(value, &options, &wrong, &allowed))
        return options_fault("run-program", "%s %s: write %s", all[wrong].name, value[wrong], allowed);
    if (at >= argc)
        return options_fault("run-program", "which program?");
    status = tell_open(&tell, "run-program", false);
    if (status != 0)
        return status;
    status = tw_runtime_init(&rt, &error);
    if (status != TW_OK)
        return tell_close(&tell, tell_status(&tell, status, &error));
    status = go(&tell, &rt, value, options.hazards != EMU_HAZARDS_OFF, argv + at);
    tw_runtime_close(&rt);
    return tell_close(&tell, status);
}
