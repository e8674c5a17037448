/* A driver for tests of emitted host code: keeps what it is given, fails call N, and encodes tensor maps by the
 * runtime's encoder. One thread. */
#ifndef TW_TESTS_EMBED_MOCK_DRIVER_H
#define TW_TESTS_EMBED_MOCK_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { MOCK_FAILURE = 999, MOCK_CLUSTERS_DEFAULT = 66 };

struct mock_launch {
    uint32_t grid[3], block[3], cluster[3]; /* cluster 0: no attribute */
    uint32_t shared_bytes;
    void *stream;
    char entry[64];
    unsigned char params[1024];
};

/* Everything at its default after mock_reset. */
struct mock {
    /* what the test sets */
    int major, minor, sm_count, clusters, driver_version;
    int shared_bytes; /* most of a block */
    int fail_at; /* driver, NVRTC and memory calls are counted together, from 1; 0: none fails */
    int encoder_fails;
    int wrong_bit;   /* the encoder writes this bit of the map as 0; -1: none */
    int swapped_bit; /* the encoder exchanges this bit and the next; -1: none */
    int set_bit_85;  /* as drivers do on Blackwell */
    int has_nvrtc_log;
    int takes_ptx_only; /* as an emulated device does */
    size_t param_bytes; /* of a launch, to be kept */
    const char *gpu;    /* its name; NULL: the call fails */
    /* what it sees */
    int calls, launches, encodes;
    int modules, memory, programs; /* alive */
    int shared_set;                /* the last dynamic shared memory limit */
    char image[4][4096];           /* first bytes of the images loaded, in order */
    int images;
    struct mock_launch launch;  /* the last */
    char compile_options[1024]; /* of the last compile */
};
extern struct mock mock;

void mock_reset(void);

/* 1 where this call is to fail. */
int mock_call(void);

/* tw_tensormap_work_around, which only what is loaded later asks for. */
unsigned mock_work_around(uint64_t *map, int cc, int driver_version);

/* Behind `malloc` and `free` of the emitted code. */
void *mock_malloc(size_t bytes);
void mock_free(void *pointer);

/* The entry points, with the signatures of NAME_driver. */
int mock_version(int *version);
int mock_context_device(int *device);
int mock_device_attribute(int *value, int attribute, int device);
int mock_module_load(void **module, const void *image);
int mock_module_unload(void *module);
int mock_module_function(void **function, void *module, const char *name);
int mock_function_set(void *function, int attribute, int value);
int mock_max_active_clusters(int *clusters, void *function, const void *config);
int mock_launch(const void *config, void *function, void **arguments, void **extra);
int mock_encode_tiled(void *map, int dtype, uint32_t rank, void *address, const uint64_t *dim, const uint64_t *stride,
                      const uint32_t *box, const uint32_t *element_stride, int interleave, int swizzle, int promotion,
                      int fill);
int mock_encode_im2col(void *map, int dtype, uint32_t rank, void *address, const uint64_t *dim, const uint64_t *stride,
                       const int *lower, const int *upper, uint32_t channels, uint32_t pixels,
                       const uint32_t *element_stride, int interleave, int swizzle, int promotion, int fill);
int mock_device_name(char *name, int bytes, int device);

#ifdef __cplusplus
}
#endif

#endif
