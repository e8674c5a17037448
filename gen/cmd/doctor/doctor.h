/* Inside the command doctor: doctor.c reads options, doctor_report.c says what is there, doctor_tries.c tries what a
 * GPU has on it. */
#ifndef TW_GEN_CMD_DOCTOR_DOCTOR_H
#define TW_GEN_CMD_DOCTOR_DOCTOR_H

#include <stdbool.h>

#include "common/tell.h"
#include "device.h"

enum doctor_result { DOCTOR_PASSED, DOCTOR_FAILED, DOCTOR_LEFT_OUT };

enum { DOCTOR_TRIES = 4 };

/* One thing that was tried: what came of it, as a plain sentence. */
struct doctor_try {
    const char *name; /* "tiled", "im2col", "rank-1", "wgmma" */
    enum doctor_result result;
    char text[1280];
};

/* Encodes maps for the device, compares them with the driver's, loads by them and multiplies by wgmma. Kernels are
 * compiled where the runtime has an NVRTC (tw_nvrtc_open); without one, loads are left out. A device without tensor
 * maps is launched nothing on. */
void doctor_tries(struct tw_runtime *rt, struct tw_device *device, struct doctor_try tries[DOCTOR_TRIES]);

/* All of the report: on stdout, or in tell->result. device: "auto", "cuda", "cuda:N" or "emu". Exit status: 3 where
 * there is no NVRTC, where the device that was named is not there, or where it has what then fails; else 0. */
int doctor_report(struct tw_runtime *rt, const struct tell *tell, const char *device);

#endif
