#include "mock_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensormap/tensormap.h"

struct mock mock;

/* Numbers and structs of cuda.h. */
enum { OUT_OF_MEMORY = 2, NO_BINARY_FOR_GPU = 209 };
enum { SM_COUNT = 16, MAJOR = 75, MINOR = 76, SHARED = 97, DYNAMIC_SHARED = 8, CLUSTER = 4 };

struct attribute {
    int id, pad;
    union {
        uint32_t cluster[3];
        uint64_t word[8];
    } value;
};

struct config {
    uint32_t grid[3], block[3];
    uint32_t shared_bytes;
    void *stream;
    const struct attribute *attributes;
    uint32_t attribute_count;
};

struct module {
    struct module *self; /* a module that was unloaded, or none at all, shows */
    char entry[64];
};

void mock_reset(void)
{
    memset(&mock, 0, sizeof mock);
    mock.major = 9;
    mock.sm_count = 132;
    mock.shared_bytes = 232448;
    mock.clusters = MOCK_CLUSTERS_DEFAULT;
    mock.driver_version = 13000;
    mock.wrong_bit = mock.swapped_bit = -1;
}

int mock_call(void)
{
    return ++mock.calls == mock.fail_at;
}

unsigned mock_work_around(uint64_t *map, int cc, int driver_version)
{
    return tw_tensormap_work_around(map, cc, driver_version);
}

void *mock_malloc(size_t bytes)
{
    void *pointer = mock_call() ? NULL : malloc(bytes);
    mock.memory += pointer != NULL;
    return pointer;
}

void mock_free(void *pointer)
{
    mock.memory -= pointer != NULL;
    free(pointer);
}

int mock_version(int *version)
{
    *version = mock.driver_version;
    return mock_call() ? MOCK_FAILURE : 0;
}

int mock_device_name(char *name, int bytes, int device)
{
    (void)device;
    if (!mock.gpu)
        return MOCK_FAILURE;
    snprintf(name, (size_t)bytes, "%s", mock.gpu);
    return 0;
}

int mock_context_device(int *device)
{
    *device = 0;
    return mock_call() ? MOCK_FAILURE : 0;
}

int mock_device_attribute(int *value, int attribute, int device)
{
    if (mock_call() || device != 0)
        return MOCK_FAILURE;
    *value = attribute == MAJOR    ? mock.major
             : attribute == MINOR  ? mock.minor
             : attribute == SHARED ? mock.shared_bytes
                                   : mock.sm_count;
    return attribute == MAJOR || attribute == MINOR || attribute == SHARED || attribute == SM_COUNT ? 0 : 1;
}

int mock_module_load(void **module, const void *image)
{
    struct module *m;
    if (mock_call() || !image)
        return MOCK_FAILURE;
    if (mock.takes_ptx_only && strncmp(image, "PTX", 3) != 0)
        return NO_BINARY_FOR_GPU;
    m = calloc(1, sizeof *m);
    if (!m)
        return OUT_OF_MEMORY;
    m->self = m;
    if (mock.images < 4)
        strncpy(mock.image[mock.images], image, sizeof mock.image[0] - 1);
    mock.images++;
    mock.modules++;
    *module = m;
    return 0;
}

int mock_module_unload(void *module)
{
    struct module *m = module;
    if (m->self != m)
        abort();
    m->self = NULL;
    free(m);
    mock.modules--;
    return mock_call() ? MOCK_FAILURE : 0;
}

int mock_module_function(void **function, void *module, const char *name)
{
    struct module *m = module;
    if (mock_call() || m->self != m)
        return MOCK_FAILURE;
    strncpy(m->entry, name, sizeof m->entry - 1);
    *function = m;
    return 0;
}

int mock_function_set(void *function, int attribute, int value)
{
    struct module *m = function;
    if (mock_call() || m->self != m || attribute != DYNAMIC_SHARED)
        return MOCK_FAILURE;
    mock.shared_set = value;
    return 0;
}

int mock_max_active_clusters(int *clusters, void *function, const void *config)
{
    const struct config *c = config;
    if (mock_call() || !function || c->attribute_count != 1)
        return MOCK_FAILURE;
    *clusters = mock.clusters;
    return 0;
}

int mock_launch(const void *config, void *function, void **arguments, void **extra)
{
    const struct config *c = config;
    struct module *m = function;
    struct mock_launch *l = &mock.launch;
    if (mock_call() || m->self != m || extra || !arguments[0] || mock.param_bytes > sizeof l->params)
        return MOCK_FAILURE;
    memset(l, 0, sizeof *l);
    memcpy(l->grid, c->grid, sizeof l->grid);
    memcpy(l->block, c->block, sizeof l->block);
    l->shared_bytes = c->shared_bytes;
    l->stream = c->stream;
    if (c->attribute_count == 1 && c->attributes[0].id == CLUSTER)
        memcpy(l->cluster, c->attributes[0].value.cluster, sizeof l->cluster);
    memcpy(l->entry, m->entry, sizeof l->entry);
    memcpy(l->params, arguments[0], mock.param_bytes);
    mock.launches++;
    return 0;
}

/* What both encode calls have in common; `call` lacks its dims. */
static int encode(struct tw_tensormap_call *call, void *map, const uint64_t *dim, const uint64_t *stride,
                  const uint32_t *element_stride)
{
    uint64_t words[16];
    uint32_t i;
    mock.encodes++;
    if (mock_call() || mock.encoder_fails || call->rank < 1 || call->rank > 5 || (uintptr_t)map % 64)
        return 1;
    for (i = 0; i < call->rank; i++) {
        call->dim[i] = dim[i];
        call->estride[i] = element_stride[i];
        if (i + 1 < call->rank)
            call->stride[i] = stride[i];
    }
    if (tw_tensormap_encode(call, 10 * mock.major + mock.minor, words) != TW_OK)
        return 1;
    if (mock.wrong_bit >= 0)
        words[mock.wrong_bit / 64] &= ~((uint64_t)1 << mock.wrong_bit % 64);
    if (mock.swapped_bit >= 0) {
        uint64_t *word = &words[mock.swapped_bit / 64], low = (uint64_t)1 << mock.swapped_bit % 64;
        *word = (*word & ~(3 * low)) | (*word & low) << 1 | (*word >> 1 & low);
    }
    if (mock.set_bit_85)
        words[1] |= (uint64_t)1 << 21;
    memcpy(map, words, sizeof words);
    return 0;
}

int mock_encode_tiled(void *map, int dtype, uint32_t rank, void *address, const uint64_t *dim, const uint64_t *stride,
                      const uint32_t *box, const uint32_t *element_stride, int interleave, int swizzle, int promotion,
                      int fill)
{
    struct tw_tensormap_call call = {
        .func = TW_TENSORMAP_TILED,
        .dtype = (uint32_t)dtype,
        .rank = rank,
        .addr = (uint64_t)(uintptr_t)address,
        .interleave = (uint32_t)interleave,
        .swizzle = (uint32_t)swizzle,
        .l2 = (uint32_t)promotion,
        .oob = (uint32_t)fill,
    };
    uint32_t i;
    for (i = 0; i < rank && i < 5; i++)
        call.box[i] = box[i];
    return encode(&call, map, dim, stride, element_stride);
}

int mock_encode_im2col(void *map, int dtype, uint32_t rank, void *address, const uint64_t *dim, const uint64_t *stride,
                       const int *lower, const int *upper, uint32_t channels, uint32_t pixels,
                       const uint32_t *element_stride, int interleave, int swizzle, int promotion, int fill)
{
    struct tw_tensormap_call call = {
        .func = TW_TENSORMAP_IM2COL,
        .dtype = (uint32_t)dtype,
        .rank = rank,
        .addr = (uint64_t)(uintptr_t)address,
        .channels = channels,
        .pixels = pixels,
        .interleave = (uint32_t)interleave,
        .swizzle = (uint32_t)swizzle,
        .l2 = (uint32_t)promotion,
        .oob = (uint32_t)fill,
    };
    uint32_t i;
    for (i = 0; i + 2 < rank && i < 3; i++) {
        call.lower[i] = lower[i];
        call.upper[i] = upper[i];
    }
    return encode(&call, map, dim, stride, element_stride);
}
