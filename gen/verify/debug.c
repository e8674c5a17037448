#include "verify/debug.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "driver.h"
#include "emu/barrier_word.h"

#include "../../templates/host/debug.h"

static const struct debug_layout debug_emulator = {
    EMU_BARRIER_PENDING_AT, EMU_BARRIER_COUNT_BITS, 0, EMU_BARRIER_TX_AT, EMU_BARRIER_TX_BITS, 0,
};

int debug_options(const char *command, bool debug, uint64_t timeout, int *ms)
{
    *ms = 0;
    if (timeout != DEBUG_NOT_GIVEN && !debug)
        return options_fault(command, "--debug-timeout %" PRIu64 ": it goes with --debug", timeout);
    if (timeout != DEBUG_NOT_GIVEN && (timeout < 1 || timeout > DEBUG_MOST_MS))
        return options_fault(command, "--debug-timeout %" PRIu64 ": write 1 to %d milliseconds", timeout,
                             DEBUG_MOST_MS);
    if (debug)
        *ms = timeout != DEBUG_NOT_GIVEN ? (int)timeout : DEBUG_DEFAULT_MS;
    return -1;
}

static bool is_emulated(const struct debug_log *log)
{
    return strcmp(log->device->ops->kind, "emu") == 0;
}

/* Empties the log and tells the kernel where it is. */
static int begin(struct debug_log *log, struct tw_error *error)
{
    const struct debug_state state = {.record = log->address, .room = debug_room, .hardware = !is_emulated(log)};
    memset(log->memory, 0, debug_room * sizeof(struct debug_record));
    return tw_device_upload(log->device, log->state, &state, sizeof state, error);
}

int debug_log_open(struct debug_log *log, struct tw_device *device, void *module, const char *entry, const char *file,
                   struct tw_error *error)
{
    size_t bytes, wanted = sizeof(struct debug_state);
    memset(log, 0, sizeof *log);
    int result = device->driver->module_global(&log->state, &bytes, module, "tilewright_debug"), status;
    if (result == TW_CUDA_NOT_FOUND)
        return tw_fail(error, TW_ERROR_NOT_FOUND, "%s waits on no mbarrier", entry);
    status = tw_driver_check(device->driver, result, error, "looking up tilewright_debug of %s", entry);
    if (status != TW_OK)
        return status;
    if (bytes != wanted)
        return tw_fail(error, TW_ERROR_INVALID, "%s: tilewright_debug has %zu bytes, not %zu; generate the text again",
                       file, bytes, wanted);
    status = tw_device_host_alloc(device, debug_room * sizeof(struct debug_record), &log->address, &log->memory, error);
    if (status != TW_OK)
        return status;
    log->device = device;
    log->entry = entry;
    snprintf(log->file, sizeof log->file, "%s", file);
    status = begin(log, error);
    if (status != TW_OK)
        debug_log_close(log);
    return status;
}

static void print(void *context, const char *line)
{
    fprintf(context, "%s\n", line);
}

int debug_log_take(struct debug_log *log)
{
    struct tw_error ignored;
    if (!log->memory)
        return 0;
    const struct debug_layout *layout = is_emulated(log) ? &debug_emulator : &debug_hardware;
    int count = debug_tell(log->memory, log->entry, log->file, layout, print, stderr);
    if (count)
        begin(log, &ignored); /* a GPU whose kernel failed refuses, and launches nothing more */
    return count;
}

void debug_log_close(struct debug_log *log)
{
    tw_device_host_free(log->device, log->address, log->memory);
    memset(log, 0, sizeof *log);
}
