/* build/libtilewright-python.so: what the Python package tilewright calls by ctypes. Flat functions over the emulator,
 * of which a process has one, and over tensor maps. Each returns 0, or 1 with a sentence in `text`. The caller holds a
 * lock. */
#include "device.h"
#include "driver.h"
#include "emu/emu.h"
#include "hooks.h"
#include "tensor_map.h"

/* ---- the emulator ----------------------------------------------------------------------------------------------- */

/* An entry point of the driver's, as NAME_python.c takes them: "tilewright.driver". */
struct entry_point {
    const char *name;
    void (*call)(void);
};

static struct tw_runtime runtime;
static struct tw_device *device;
static struct entry_point calls[128];

int tilewright_emulator_open(const char *arch, char *text);
int tilewright_emulator_enter(char *text);
const void *tilewright_emulator_driver(void);
int tilewright_alloc(uint64_t bytes, uint64_t *address, char *text);
void tilewright_free(uint64_t address);
int tilewright_upload(uint64_t to, const void *from, uint64_t bytes, char *text);
int tilewright_download(void *to, uint64_t from, uint64_t bytes, char *text);

/* Makes the emulator current in the calling thread, and opens it first where it is not open yet. */
int tilewright_emulator_enter(char *text)
{
    struct tw_error error;
    if (!device)
        return tell(text, "the emulator is not open");
    return tw_device_enter(device, &error) ? tell(text, error.text) : 0;
}

/* arch: "sm_90a", ... Once a process. */
int tilewright_emulator_open(const char *arch, char *text)
{
    const struct emu_options options = {.arch = arch, .completion = EMU_LATE, .hazards = EMU_HAZARDS_FATAL};
    struct tw_error error;
    size_t count = 0;
    if (device)
        return tell(text, "the emulator is open already");
    if (tw_runtime_init(&runtime, &error) || tw_device_open_emu(&runtime, &options, &device, &error))
        return tell(text, error.text);
#define DRIVER_CALL(field, symbol, required, arguments)                                                                \
    if (device->driver->field)                                                                                         \
        calls[count++] = (struct entry_point){symbol, (void (*)(void))device->driver->field};
#include "driver_calls.def"
#undef DRIVER_CALL
    return tilewright_emulator_enter(text);
}

/* The table, ended by a NULL. */
const void *tilewright_emulator_driver(void)
{
    return calls;
}

int tilewright_alloc(uint64_t bytes, uint64_t *address, char *text)
{
    struct tw_error error;
    return tw_device_alloc(device, bytes, address, &error) ? tell(text, error.text) : 0;
}

void tilewright_free(uint64_t address)
{
    tw_device_free(device, address);
}

int tilewright_upload(uint64_t to, const void *from, uint64_t bytes, char *text)
{
    struct tw_error error;
    return tw_device_upload(device, to, from, bytes, &error) ? tell(text, error.text) : 0;
}

int tilewright_download(void *to, uint64_t from, uint64_t bytes, char *text)
{
    struct tw_error error;
    return tw_device_download(device, to, from, bytes, &error) ? tell(text, error.text) : 0;
}

/* ---- tensor maps ------------------------------------------------------------------------------------------------ */

int tilewright_tensor_of(const void *managed, int versioned, struct tw_tensor *tensor, char *text);
int tilewright_dtype(const char *name);
int tilewright_map(const struct tw_tensor *tensor, const struct map_words *words, uint64_t map[16], char *text);
int tilewright_map_replace(uint64_t map[16], uint64_t address, char *text);

int tilewright_tensor_of(const void *managed, int versioned, struct tw_tensor *tensor, char *text)
{
    return tensor_of(managed, versioned, tensor, text);
}

/* enum tw_dtype of a name; TW_DTYPE_COUNT: it is none. */
int tilewright_dtype(const char *name)
{
    return (int)tw_dtype_from_name(name);
}

int tilewright_map(const struct tw_tensor *tensor, const struct map_words *words, uint64_t map[16], char *text)
{
    return encode_map(tensor, words, map, text);
}

int tilewright_map_replace(uint64_t map[16], uint64_t address, char *text)
{
    return replace_address(map, address, text);
}
