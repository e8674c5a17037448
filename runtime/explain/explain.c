// libtilewright-explain.so: InitializeInjection, the callback, and what was told already.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "explain.h"
#include "record/recorder.h"

// Called by the driver in cuInit; 1 says that all is well, and it always is: the program goes on unchanged.
__attribute__((visibility("default"))) int InitializeInjection(void);

enum {
    DIFFERENT = 256,
    REPORT = 1 << 16,
    PLACE = 6144,    // bytes of the lines on the caller
    PATIENCE = 1000, // milliseconds that a file which takes nothing is waited for
};

// What was told, and how often it came. The process has one. Nobody calls the loader with the mutex held: a library's
// constructor, which runs under the loader's lock, may make a call that fails.
static struct {
    pthread_mutex_t mutex; // error-checking: a signal handler that comes while put waits gets an error, no deadlock
    int started;
    pid_t process;
    int warnings;       // TILEWRIGHT_EXPLAIN_WARNINGS
    int no_stderr;      // stderr was closed at the start: what has its number later is another file
    int stuck;          // the last report found a file that took nothing
    char log[PATH_MAX]; // TILEWRIGHT_EXPLAIN_LOG, absolute; "" for stderr
    uint64_t keys[DIFFERENT];
    unsigned long long counts[DIFFERENT], untold;
    unsigned different;
    char report[REPORT];
} state = {.mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP};

// What the library changes in a thread while it works there: a signal handler, or a cancellation, could leave the mutex
// locked for ever.
struct guard {
    sigset_t signals; // the program's mask
    int cancel, error;
};

static void hold(struct guard *guard)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    sigset_t all;
    guard->error = errno;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&all, faults[i]);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &guard->cancel);
    pthread_sigmask(SIG_BLOCK, &all, &guard->signals);
}

static void release(const struct guard *guard)
{
    pthread_sigmask(SIG_SETMASK, &guard->signals, NULL);
    pthread_setcancelstate(guard->cancel, NULL);
    errno = guard->error;
}

static int64_t milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// Writes all of a text, or what the file takes: a blocking one is waited for as a write does, a non-blocking one for
// PATIENCE, and no more once that was in vain. While it waits, the signals of the program's `mask` may come.
static void write_all(int file, const char *text, size_t bytes, const sigset_t *mask)
{
    int flags = fcntl(file, F_GETFL), patient = flags < 0 || !(flags & O_NONBLOCK);
    int64_t end = milliseconds() + (state.stuck ? 0 : PATIENCE);
    while (bytes) {
        struct pollfd ready = {file, POLLOUT, 0};
        int64_t left = end - milliseconds();
        left = left < 0 ? 0 : left;
        struct timespec time = {(time_t)(left / 1000), (long)(left % 1000) * 1000000};
        int count = ppoll(&ready, 1, patient ? NULL : &time, mask);
        if (count < 0 && errno == EINTR)
            continue;
        // As much as a pipe that is ready takes at once.
        ssize_t done = count == 0 ? 0 : write(file, text, bytes < PIPE_BUF ? bytes : PIPE_BUF);
        if (done > 0) {
            text += done;
            bytes -= (size_t)done;
            state.stuck = 0;
        } else if (done < 0 && errno == EAGAIN && left > 0) {
            patient = 0; // somebody else made it non-blocking
            poll(NULL, 0, 1);
        } else if (done == 0 || errno != EINTR) {
            state.stuck = count == 0 || (done < 0 && errno == EAGAIN);
            break;
        }
    }
}

// Whether descriptor 2 is the program's stderr. Where the program has closed that, the next file that is opened gets
// the number; libraries open theirs to be closed by exec, as no stderr is.
static int has_stderr(void)
{
    int flags = fcntl(STDERR_FILENO, F_GETFD);
    return !state.no_stderr && flags >= 0 && !(flags & FD_CLOEXEC);
}

// Writes to the log, or to stderr where there is none or it cannot be opened. Neither a reader that has gone away nor a
// limit on a file's size may end the program by a signal. Called with the mutex and with signals held.
static void put(const char *text, size_t bytes, const struct guard *guard)
{
    static const int deadly[] = {SIGPIPE, SIGXFSZ};
    sigset_t ours, pending, mask = guard->signals;
    int file = -1;
    sigemptyset(&ours);
    sigpending(&pending);
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++) {
        sigaddset(&mask, deadly[i]);
        if (!sigismember(&pending, deadly[i]))
            sigaddset(&ours, deadly[i]);
    }
    // Non-blocking, for a named pipe without a reader.
    if (state.log[0])
        file = open(state.log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644);
    if (file >= 0 || has_stderr())
        write_all(file >= 0 ? file : STDERR_FILENO, text, bytes, &mask);
    if (file >= 0)
        close(file);
    while (sigtimedwait(&ours, NULL, &(struct timespec){0, 0}) > 0 || errno == EINTR)
        ;
}

static int find_driver(struct dl_phdr_info *info, size_t bytes, void *user)
{
    (void)bytes;
    const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    if (!slash || strncmp(slash, "/libcuda.so", 11) != 0)
        return 0;
    snprintf(user, PATH_MAX, "%s", info->dlpi_name);
    return 1;
}

// The functions of the driver that is loaded, NULL for those not found. They are looked for once: after a fork the lock
// of dl_iterate_phdr may be another thread's for ever.
static struct {
    int (*version)(int *), (*device)(int *), (*attribute)(int *, int, int);
    struct recorder_driver recorded;
} driver;

static void use_driver(void)
{
    char path[PATH_MAX];
    void *library = dl_iterate_phdr(find_driver, path) ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (!library)
        return;
    void *addresses[] = {dlsym(library, "cuDriverGetVersion"), dlsym(library, "cuCtxGetDevice"),
                         dlsym(library, "cuDeviceGetAttribute")};
    memcpy(&driver.version, &addresses[0], sizeof driver.version);
    memcpy(&driver.device, &addresses[1], sizeof driver.device);
    memcpy(&driver.attribute, &addresses[2], sizeof driver.attribute);
#define DRIVER(member, symbol, required, arguments)                                                                    \
    addresses[0] = dlsym(library, #symbol);                                                                            \
    memcpy(&driver.recorded.member, &addresses[0], sizeof driver.recorded.member);
#include "record/recorder_driver.def"
#undef DRIVER
}

// Asks the driver for the current device; without a current one 9.0 is assumed.
static struct explain_machine machine(void)
{
    struct explain_machine m = {.cc = 90};
    int number = 0, major = 0, minor = 0;
    if (driver.version && driver.version(&m.driver))
        m.driver = 0;
    // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
    if (driver.device && driver.attribute && driver.device(&number) == 0 && driver.attribute(&major, 75, number) == 0 &&
        driver.attribute(&minor, 76, number) == 0) {
        m.cc = major * 10 + minor;
        m.cc_known = 1;
    }
    return m;
}

static uint64_t hash(uint64_t h, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        h = (h ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
    return h;
}

// What makes a call different from those told: its arguments, its caller, its result. Of addresses only what a rule may
// ask: a loop that maps one new tensor after the other is told once.
static uint64_t key_of(const struct explain_call *call, void *caller, int result)
{
    struct explain_call c = *call;
    unsigned align = c.call.interleave == 2 || c.call.dtype > 13 ? 31 : 15;
    c.call.addr = (c.call.addr & align) | (c.call.addr >> 57 << 57) | (c.call.addr ? 0 : 32);
    c.map = (c.map & 63) | (c.map ? 0 : 64);
    memset(c.lists, 0, sizeof c.lists);
    uint64_t h = hash(UINT64_C(0xcbf29ce484222325), &c, sizeof c);
    h = hash(h, &caller, sizeof caller);
    return hash(h, &result, sizeof result);
}

// Counts a call that was told already, or that is one too many: 1. Else 0.
static int counted(uint64_t key)
{
    for (unsigned i = 0; i < state.different; i++)
        if (state.keys[i] == key) {
            state.counts[i]++;
            return 1;
        }
    if (state.untold == 0)
        return 0;
    state.untold++;
    return 1;
}

static void tell(const char *name, const struct explain_call *call, int result, const struct guard *guard)
{
    struct explain_machine m = machine();
    void *caller = explain_caller();
    uint64_t key = key_of(call, caller, result);
    size_t used = 0;
    char place[PLACE];

    if (result == 0 && explain_report(name, call, &m, result, state.warnings, place, sizeof place) == 0)
        return;
    if (pthread_mutex_lock(&state.mutex))
        return;
    int known = counted(key);
    pthread_mutex_unlock(&state.mutex);
    if (known)
        return;
    explain_caller_text(caller, place, sizeof place);
    dlerror(); // what was not found is no error of the program's
    // Another thread may have told it meanwhile.
    if (pthread_mutex_lock(&state.mutex))
        return;
    unsigned i = state.different;
    if (counted(key))
        goto told;
    if (i < DIFFERENT) {
        tw_tmap_append(state.report, REPORT, &used, "tilewright explain #%u: ", i + 1);
        explain_report(name, call, &m, result, state.warnings, state.report + used, REPORT - used);
        used += strlen(state.report + used);
        tw_tmap_append(state.report, REPORT, &used, "%s", place);
        state.keys[i] = key;
        state.counts[i] = 1;
        state.different++;
    } else {
        state.untold++;
        tw_tmap_append(state.report, REPORT, &used,
                       "tilewright explain: more than %d different calls; the others are counted, not told\n",
                       DIFFERENT);
    }
    put(state.report, used, guard);
told:
    pthread_mutex_unlock(&state.mutex);
}

static void callback(void *user, int domain, uint32_t cbid, const void *data)
{
    const struct cupti_callback_data *d = data;
    struct explain_call call;
    struct guard guard;
    (void)user;
    if (domain == CUPTI_DOMAIN_DRIVER_API && d->parameters && recorder_is_on()) {
        hold(&guard);
        explain_record(cbid, d);
        release(&guard);
    }
    if (domain != CUPTI_DOMAIN_DRIVER_API || d->site != CUPTI_SITE_EXIT || !d->parameters || !d->result)
        return;
    int result = *(const int *)d->result;
    if (result == 0 && !state.warnings)
        return;
    hold(&guard);
    const char *name = explain_read(cbid, d->parameters, &call);
    if (name)
        tell(name, &call, result, &guard);
    release(&guard);
}

// How often each came, where any came more than once. A child that a fork made has told nothing. A thread that waits in
// a write must not keep the program from its end.
__attribute__((destructor)) static void count_up(void)
{
    struct guard guard;
    struct timespec end;
    size_t used = 0;
    if (!state.started || state.process != getpid())
        return;
    hold(&guard);
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += PATIENCE / 1000;
    if (pthread_mutex_timedlock(&state.mutex, &end))
        goto done;
    unsigned long long all = state.untold;
    for (unsigned i = 0; i < state.different; i++)
        all += state.counts[i];
    if (all > state.different) {
        tw_tmap_append(state.report, REPORT, &used, "tilewright explain: %llu calls, %u different told", all,
                       state.different);
        const char *comma = ":";
        for (unsigned i = 0; i < state.different; i++)
            if (state.counts[i] > 1) {
                tw_tmap_append(state.report, REPORT, &used, "%s #%u came %llu times", comma, i + 1, state.counts[i]);
                comma = ",";
            }
        tw_tmap_append(state.report, REPORT, &used, "\n");
        put(state.report, used, &guard);
    }
    pthread_mutex_unlock(&state.mutex);
done:
    release(&guard);
}

// Another thread of the parent may have had the mutex; it is none of the child's.
static void after_fork(void)
{
    state.mutex = (pthread_mutex_t)PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    recorder_after_fork();
}

// Reads the environment; the first time, 1.
static int start(void)
{
    char folder[PATH_MAX];
    size_t used = 0;
    const char *warnings = getenv("TILEWRIGHT_EXPLAIN_WARNINGS"), *log = getenv("TILEWRIGHT_EXPLAIN_LOG");
    if (state.started)
        return 0;
    state.started = 1;
    state.process = getpid();
    state.warnings = warnings && strcmp(warnings, "1") == 0;
    state.no_stderr = fcntl(STDERR_FILENO, F_GETFD) < 0;
    // The program may change its folder later.
    if (log && log[0] && log[0] != '/' && getcwd(folder, sizeof folder))
        tw_tmap_append(state.log, sizeof state.log, &used, "%s/%s", folder, log);
    else if (log)
        tw_tmap_append(state.log, sizeof state.log, &used, "%s", log);
    return 1;
}

// A line of the recorder's.
static void say(const char *text)
{
    struct guard guard;
    size_t used = 0;
    hold(&guard);
    if (pthread_mutex_lock(&state.mutex) == 0) {
        tw_tmap_append(state.report, REPORT, &used, "%s\n", text);
        put(state.report, used, &guard);
        pthread_mutex_unlock(&state.mutex);
    }
    release(&guard);
}

int InitializeInjection(void)
{
    char why[EXPLAIN_WHY];
    struct guard guard;
    Dl_info own;
    int error = errno, first = 0;
    hold(&guard);
    if (pthread_mutex_lock(&state.mutex) == 0) {
        first = start();
        pthread_mutex_unlock(&state.mutex);
    }
    release(&guard);
    if (first) {
        // CUPTI keeps the callback, whoever closes this library.
        if (dladdr(&state, &own) && own.dli_fname)
            dlopen(own.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
        pthread_atfork(NULL, NULL, after_fork);
        explain_caller();
        use_driver();
    }
    if (first && !explain_subscribe(callback, recorder_start(&driver.recorded, say), why)) {
        size_t used = 0;
        hold(&guard);
        if (pthread_mutex_lock(&state.mutex) == 0) {
            tw_tmap_append(state.report, REPORT, &used, "tilewright explain: no call is watched: %s\n", why);
            put(state.report, used, &guard);
            pthread_mutex_unlock(&state.mutex);
        }
        release(&guard);
    }
    dlerror();
    errno = error;
    return 1;
}
