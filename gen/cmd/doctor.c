/* tilewright doctor: what of the CUDA world is here, and what a GPU answers to tries. */
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/doctor/doctor.h"
#include "common/options.h"

static bool is_device(const char *name)
{
    char *end;
    if (strncmp(name, "cuda:", 5) == 0 && name[5] >= '0' && name[5] <= '9')
        return strtol(name + 5, &end, 10) < 1024 && *end == '\0';
    return strcmp(name, "auto") == 0 || strcmp(name, "cuda") == 0 || strcmp(name, "emu") == 0;
}

int cmd_doctor(int argc, char **argv)
{
    bool json = false;
    const char *device = "auto";
    const struct option_row rows[] = {
        {"--device", OPTION_TEXT, &device, "auto|cuda[:N]|emu",
         "what tensor maps and wgmma are tried on; auto: the first GPU, where there is one"},
        {"--json", OPTION_FLAG, &json, NULL, "the same facts as JSON: help json"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL},
    };
    struct tw_runtime rt;
    struct tw_error error;
    struct tell tell;
    const char *none;
    int status, operands;

    status = options_parse("doctor", rows, argc, argv, &none, 0, &operands);
    if (status >= 0)
        return status;
    if (!is_device(device))
        return options_fault("doctor", "--device %s: auto, cuda, cuda:N or emu", device);
    status = tell_open(&tell, "doctor", json);
    if (status != 0)
        return status;
    status = tw_runtime_init(&rt, &error);
    if (status != TW_OK)
        return tell_close(&tell, tell_status(&tell, status, &error));
    status = doctor_report(&rt, &tell, device);
    tw_runtime_close(&rt);
    return tell_close(&tell, status);
}
