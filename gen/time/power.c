#include "time/power.h"

#include <string.h>

#include "driver.h"

enum { CLOCK_SM = 1, TEMPERATURE_GPU = 0, PCI_BYTES = 32 }; /* NVML_CLOCK_SM, NVML_TEMPERATURE_GPU */

static void *find_device(const struct power_calls *call, struct tw_device *device)
{
    char address[PCI_BYTES] = "";
    void *board = NULL;
    const struct tw_driver *driver = device->driver;
    int number = 0;
    if (driver->device_pci && driver->device_get(&number, device->ordinal) == 0 &&
        driver->device_pci(address, sizeof address, number) == 0 && call->by_pci(address, &board) == 0)
        return board;
    return call->by_number((unsigned)device->ordinal, &board) == 0 ? board : NULL;
}

void power_open(struct power *power, struct tw_device *device)
{
    struct tw_loader *loader = &device->rt->loader;
    const char *why;
    bool all = true;
    memset(power, 0, sizeof *power);
    power->rt = device->rt;
    power->library = loader->open(loader->self, "libnvidia-ml.so.1", 0, &why);
    if (!power->library)
        return;
#define NVML_CALL(field, symbol, arguments)                                                                            \
    all = tw_resolve(power->rt, power->library, symbol, &power->call.field) && all;
#include "time/nvml_calls.def"
#undef NVML_CALL
    if (all && power->call.init() == 0) {
        power->device = find_device(&power->call, device);
        if (power->device)
            return;
        power->call.close();
    }
    loader->close(loader->self, power->library);
    power->library = NULL;
}

void power_close(struct power *power)
{
    if (!power->library)
        return;
    power->call.close();
    power->rt->loader.close(power->rt->loader.self, power->library);
    memset(power, 0, sizeof *power);
}

double power_joules(const struct power *power)
{
    unsigned long long millijoules = 0;
    return power->device && power->call.energy(power->device, &millijoules) == 0 ? 1e-3 * (double)millijoules : 0.0;
}

double power_watts(const struct power *power)
{
    unsigned milliwatts = 0;
    return power->device && power->call.power(power->device, &milliwatts) == 0 ? 1e-3 * milliwatts : 0.0;
}

double power_clock_mhz(const struct power *power)
{
    unsigned mhz = 0;
    return power->device && power->call.clock(power->device, CLOCK_SM, &mhz) == 0 ? mhz : 0.0;
}

double power_celsius(const struct power *power)
{
    unsigned celsius = 0;
    return power->device && power->call.temperature(power->device, TEMPERATURE_GPU, &celsius) == 0 ? celsius : 0.0;
}

unsigned long long power_reasons(const struct power *power)
{
    unsigned long long bits = 0;
    return power->device && power->call.reasons(power->device, &bits) == 0 ? bits : 0;
}
