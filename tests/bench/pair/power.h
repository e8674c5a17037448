/* The board's energy counter, clock and reasons of lower clocks, by NVML, which need not be there. */
#ifndef PAIR_POWER_H
#define PAIR_POWER_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

struct power {
    void *device; /* NULL: there is no NVML */
    int (*energy)(void *device, unsigned long long *millijoules);
    int (*clock)(void *device, int domain, unsigned int *mhz);
    int (*reasons)(void *device, unsigned long long *bits);
};

static inline struct power power_open(void)
{
    struct power p = {0};
    int (*init)(void) = NULL, (*find)(unsigned int, void **) = NULL;
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (!library)
        return p;
    *(void **)&init = dlsym(library, "nvmlInit_v2");
    *(void **)&find = dlsym(library, "nvmlDeviceGetHandleByIndex_v2");
    *(void **)&p.energy = dlsym(library, "nvmlDeviceGetTotalEnergyConsumption");
    *(void **)&p.clock = dlsym(library, "nvmlDeviceGetClockInfo");
    *(void **)&p.reasons = dlsym(library, "nvmlDeviceGetCurrentClocksThrottleReasons");
    if (!init || !find || !p.energy || !p.clock || !p.reasons || init() || find(0, &p.device))
        p.device = NULL;
    return p;
}

static inline double power_joules(const struct power *p)
{
    unsigned long long mj = 0;
    return p->device && p->energy(p->device, &mj) == 0 ? (double)mj * 1e-3 : 0;
}

static inline unsigned int power_clock(const struct power *p)
{
    enum { SM = 1 };
    unsigned int mhz = 0;
    return p->device && p->clock(p->device, SM, &mhz) == 0 ? mhz : 0;
}

static inline unsigned long long power_reasons(const struct power *p)
{
    unsigned long long bits = 0;
    return p->device && p->reasons(p->device, &bits) == 0 ? bits : 0;
}

#endif
