/* Clock, power and temperature of a GPU by NVML, which need not be there. The energy counter moves ten times a second
 * or so: energies are worth something over some tenths of a second alone. */
#ifndef TW_GEN_TIME_POWER_H
#define TW_GEN_TIME_POWER_H

#include <stdbool.h>

#include "device.h"

/* NVML's functions, declared here: nvml.h is a header of the toolkit. */
struct power_calls {
#define NVML_CALL(field, symbol, arguments) int(*field) arguments;
#include "time/nvml_calls.def"
#undef NVML_CALL
};

struct power {
    struct tw_runtime *rt;
    void *library; /* NULL: there is no NVML, and everything below says 0 */
    void *device;
    struct power_calls call;
};

/* Finds the device's board by its PCI address, else by its number. Never fails: where NVML or one of its functions is
 * not there, or does not know the board, everything reads 0. */
void power_open(struct power *power, struct tw_device *device);
void power_close(struct power *power);

double power_joules(const struct power *power);    /* since the driver was loaded */
double power_watts(const struct power *power);     /* about now */
double power_clock_mhz(const struct power *power); /* of the multiprocessors */
double power_celsius(const struct power *power);
unsigned long long power_reasons(const struct power *power); /* for which the clock is lower than it might be */

#endif
