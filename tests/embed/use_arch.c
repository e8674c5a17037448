/* The emitted pair arch_test (test_host_emit.c) on a driver that says it is of one device and another: which variant
 * each gets, or the sentence that says why none. Devices have the shared memory of their architecture (CUDA
 * programming guide, "Compute capabilities"). */
#include <stdio.h>
#include <string.h>

#include "arch_test.h"
#include "mock_driver.h"
#include "use.h"

static const struct arch_test_driver table = {
    mock_version,         mock_context_device, mock_device_attribute,    mock_module_load, mock_module_unload,
    mock_module_function, mock_function_set,   mock_max_active_clusters, mock_launch,      mock_encode_tiled,
};

/* Cubins for sm_80 (163840 bytes of shared memory), sm_86 and sm_89 (98304), sm_90a (197632) and sm_120a (98384), PTX
 * of sm_89. */
static const char *devices(void)
{
    static const struct {
        int major, minor, shared_bytes;
        const char *arch, *word; /* NULL: none */
    } device[] = {
        {7, 5, 65536, NULL, ""},
        {8, 0, 166912, "sm_80", "CUBIN"},
        {8, 6, 101376, "sm_86", "CUBIN"},
        {8, 7, 166912, "sm_86", "CUBIN"},
        {8, 9, 101376, "sm_89", "CUBIN"},
        {9, 0, 232448, "sm_90a", "CUBIN"},
        {9, 0, 166912, "sm_89", "PTX"}, /* no such device: what fits, and not what is nearest */
        {10, 0, 232448, "sm_89", "PTX"},
        {12, 0, 101376, "sm_120a", "CUBIN"},
        {12, 0, 98368, "sm_89", "PTX"}, /* no such device either */
        {12, 1, 101376, "sm_89", "PTX"},
        {12, 0, 65536, NULL, ""},
        {8, 6, 65536, NULL, ""},
    };
    static const char wanted[] = "the kernel was made for sm_80 (8.0 or newer of that major version, 163840 bytes), "
                                 "sm_86 (8.6 or newer of that major version, 98304 bytes), sm_89 (8.9 or newer, 98304 "
                                 "bytes), sm_90a (9.0, 197632 bytes), sm_120a (12.0, 98384 bytes)";
    size_t i;
    for (i = 0; i < sizeof device / sizeof *device; i++) {
        struct arch_test k;
        struct arch_test_info info;
        struct arch_test_error error;
        char is[200];
        int status;
        mock_reset();
        memset(&error, 0, sizeof error);
        mock.major = device[i].major;
        mock.minor = device[i].minor;
        mock.shared_bytes = device[i].shared_bytes;
        status = arch_test_load(&k, &table, &error);
        if (!device[i].arch) {
            snprintf(is, sizeof is,
                     "the current device has compute capability %d.%d and %d bytes of shared memory for a block; ",
                     device[i].major, device[i].minor, device[i].shared_bytes);
            EXPECT(status == arch_test_UNSUPPORTED && error.status == status && mock.images == 0);
            EXPECT(strncmp(error.text, is, strlen(is)) == 0 && strcmp(error.text + strlen(is), wanted) == 0);
            continue;
        }
        EXPECT(status == 0 && mock.images == 1);
        arch_test_info(&k, &info);
        EXPECT(strcmp(info.arch, device[i].arch) == 0);
        EXPECT(strncmp(mock.image[0], device[i].word, strlen(device[i].word)) == 0);
        EXPECT(strstr(mock.image[0], device[i].arch) != NULL);
        EXPECT(arch_test_unload(&k, NULL) == 0 && mock.modules == 0);
    }
    return NULL;
}

extern const struct use_case use_cases[];
const struct use_case use_cases[] = {{"devices", devices}, {NULL, NULL}};
