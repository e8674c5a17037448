// libtilewright-explain.so: InitializeInjection, the callback, and what was told already.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "explain.h"

// Called by the driver in cuInit; 1 says that all is well, and it always is: the program goes on unchanged.
__attribute__((visibility("default"))) int InitializeInjection(void);

enum { DIFFERENT = 256, REPORT = 1 << 16 };

// What was told, and how often it came. The process has one.
static struct {
    pthread_mutex_t mutex;
    int started;
    pid_t process;
    int warnings;       // TILEWRIGHT_EXPLAIN_WARNINGS
    char log[PATH_MAX]; // TILEWRIGHT_EXPLAIN_LOG, absolute; "" for stderr
    uint64_t keys[DIFFERENT];
    unsigned long long counts[DIFFERENT], untold;
    unsigned different;
    char report[REPORT];
} state = {.mutex = PTHREAD_MUTEX_INITIALIZER};

// Writes to the log, or to stderr where there is none or it cannot be opened. A reader of stderr that has gone away
// must not end the program by SIGPIPE.
static void put(const char *text, size_t bytes)
{
    sigset_t pipe, old, pending;
    int file = -1, was_pending;
    if (state.log[0])
        file = open(state.log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    int target = file < 0 ? STDERR_FILENO : file;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigpending(&pending);
    was_pending = sigismember(&pending, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &old);
    while (bytes) {
        ssize_t done = write(target, text, bytes);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            break;
        text += done;
        bytes -= (size_t)done;
    }
    if (!was_pending)
        while (sigtimedwait(&pipe, NULL, &(struct timespec){0, 0}) < 0 && errno == EINTR)
            ;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (file >= 0)
        close(file);
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

// Asks the driver that is loaded for the current device; without a current one 9.0 is assumed.
static struct explain_machine machine(void)
{
    struct explain_machine m = {.cc = 90};
    int (*version)(int *), (*device)(int *), (*attribute)(int *, int, int);
    int number = 0, major = 0, minor = 0;
    char path[PATH_MAX];
    if (!dl_iterate_phdr(find_driver, path))
        return m;
    void *driver = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (!driver)
        return m;
    void *addresses[] = {dlsym(driver, "cuDriverGetVersion"), dlsym(driver, "cuCtxGetDevice"),
                         dlsym(driver, "cuDeviceGetAttribute")};
    memcpy(&version, &addresses[0], sizeof version);
    memcpy(&device, &addresses[1], sizeof device);
    memcpy(&attribute, &addresses[2], sizeof attribute);
    if (addresses[0] && version(&m.driver))
        m.driver = 0;
    // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
    if (addresses[1] && addresses[2] && device(&number) == 0 && attribute(&major, 75, number) == 0 &&
        attribute(&minor, 76, number) == 0) {
        m.cc = major * 10 + minor;
        m.cc_known = 1;
    }
    dlclose(driver);
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

static void tell(const char *name, const struct explain_call *call, int result)
{
    struct explain_machine m = machine();
    void *caller = explain_caller();
    uint64_t key = key_of(call, caller, result);
    size_t used = 0;

    pthread_mutex_lock(&state.mutex);
    unsigned i = 0;
    while (i < state.different && state.keys[i] != key)
        i++;
    if (i < state.different) {
        state.counts[i]++;
        goto told;
    }
    explain_append(state.report, REPORT, &used, "tilewright explain #%u: ", i + 1);
    explain_report(name, call, &m, result, state.warnings, state.report + used, REPORT - used);
    if (!state.report[used])
        goto told;
    if (i < DIFFERENT) {
        used += strlen(state.report + used);
        explain_caller_text(caller, state.report + used, REPORT - used);
        put(state.report, used + strlen(state.report + used));
        state.keys[i] = key;
        state.counts[i] = 1;
        state.different++;
    } else if (state.untold++ == 0) {
        used = 0;
        explain_append(state.report, REPORT, &used,
                       "tilewright explain: more than %d different calls; the others are counted, not told\n",
                       DIFFERENT);
        put(state.report, used);
    }
told:
    pthread_mutex_unlock(&state.mutex);
}

static void callback(void *user, int domain, uint32_t cbid, const void *data)
{
    const struct cupti_callback_data *d = data;
    struct explain_call call;
    int error = errno;
    (void)user;
    if (domain != CUPTI_DOMAIN_DRIVER_API || d->site != CUPTI_SITE_EXIT || !d->parameters || !d->result)
        return;
    int result = *(const int *)d->result;
    if (result == 0 && !state.warnings)
        return;
    const char *name = explain_read(cbid, d->parameters, &call);
    if (name)
        tell(name, &call, result);
    errno = error;
}

// How often each came, where any came more than once. A child that a fork made has told nothing.
__attribute__((destructor)) static void count_up(void)
{
    unsigned long long all = state.untold;
    size_t used = 0;
    if (!state.started || state.process != getpid())
        return;
    pthread_mutex_lock(&state.mutex);
    for (unsigned i = 0; i < state.different; i++)
        all += state.counts[i];
    if (all > state.different) {
        explain_append(state.report, REPORT, &used, "tilewright explain: %llu calls, %u different told", all,
                       state.different);
        const char *comma = ":";
        for (unsigned i = 0; i < state.different; i++)
            if (state.counts[i] > 1) {
                explain_append(state.report, REPORT, &used, "%s #%u came %llu times", comma, i + 1, state.counts[i]);
                comma = ",";
            }
        explain_append(state.report, REPORT, &used, "\n");
        put(state.report, used);
    }
    pthread_mutex_unlock(&state.mutex);
}

int InitializeInjection(void)
{
    char why[EXPLAIN_WHY], folder[PATH_MAX];
    int error = errno;
    size_t used = 0;
    pthread_mutex_lock(&state.mutex);
    int again = state.started;
    if (!again) {
        const char *warnings = getenv("TILEWRIGHT_EXPLAIN_WARNINGS"), *log = getenv("TILEWRIGHT_EXPLAIN_LOG");
        state.started = 1;
        state.process = getpid();
        state.warnings = warnings && strcmp(warnings, "1") == 0;
        // The program may change its folder later.
        if (log && log[0] && log[0] != '/' && getcwd(folder, sizeof folder))
            explain_append(state.log, sizeof state.log, &used, "%s/%s", folder, log);
        else if (log)
            explain_append(state.log, sizeof state.log, &used, "%s", log);
    }
    pthread_mutex_unlock(&state.mutex);
    if (!again && !explain_subscribe(callback, why)) {
        used = 0;
        explain_append(state.report, REPORT, &used, "tilewright explain: no call is watched: %s\n", why);
        put(state.report, used);
    }
    errno = error;
    return 1;
}
