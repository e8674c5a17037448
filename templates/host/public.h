//@ -- What a program sees of every kernel alike.
//@ param host table
//@ local T = host.types
/* Details of a failure. The caller's; every function takes NULL for it. Written only on failure. */
struct ${T}_error {
    int status;        /* enum ${T}_status */
    int driver_result; /* CUresult or nvrtcResult, 0 where none was at fault */
    char text[1000];   /* one sentence, or the compiler's first messages; zero-terminated */
};

/* The driver's entry points, for a caller that has them already (or stands in for the driver). Signatures are those of
 * cuda.h with handles as void *, enums as int and structs as void *. The functions must stay callable until unload. */
struct ${T}_driver {
    int (*version)(int *version);                                                /* cuDriverGetVersion */
    int (*context_device)(int *device);                                          /* cuCtxGetDevice */
    int (*device_attribute)(int *value, int attribute, int device);              /* cuDeviceGetAttribute */
    int (*module_load)(void **module, const void *image);                        /* cuModuleLoadData */
    int (*module_unload)(void *module);                                          /* cuModuleUnload */
    int (*module_function)(void **function, void *module, const char *name);     /* cuModuleGetFunction */
    int (*function_set)(void *function, int attribute, int value);               /* cuFuncSetAttribute */
    /* cuOccupancyMaxActiveClusters, or NULL */
    int (*max_active_clusters)(int *clusters, void *function, const void *config);
    int (*launch)(const void *config, void *function, void **arguments, void **extra); /* cuLaunchKernelEx */
    int (*encode_tiled)(void *map, int dtype, uint32_t rank, void *address, const uint64_t *dim,
                        const uint64_t *stride, const uint32_t *box, const uint32_t *element_stride, int interleave,
                        int swizzle, int promotion, int fill); /* cuTensorMapEncodeTiled; NULL where no map is used */
//@ if host.part.debug then
    int (*module_global)(uint64_t *address, size_t *bytes, void *module, const char *name); /* cuModuleGetGlobal_v2 */
    int (*copy_to_device)(uint64_t to, const void *from, size_t bytes);                     /* cuMemcpyHtoD_v2 */
    int (*host_alloc)(void **memory, size_t bytes, unsigned flags);                         /* cuMemHostAlloc */
    int (*host_free)(void *memory);                                                         /* cuMemFreeHost */
//@ end
//@ if host.part.tuned then
    int (*device_name)(char *name, int bytes, int device); /* cuDeviceGetName, or NULL: any GPU's set-ups will do */
//@ end
//@ if host.part.windows then
    int (*encode_im2col)(void *map, int dtype, uint32_t rank, void *address, const uint64_t *dim,
                         const uint64_t *stride, const int *lower, const int *upper, uint32_t channels,
                         uint32_t pixels, const uint32_t *element_stride, int interleave, int swizzle, int promotion,
                         int fill); /* cuTensorMapEncodeIm2col; NULL where no map is used */
//@ end
};

/* What can be known of a variant without a device. */
struct ${T}_variant {
    const char *name;       /* "" or, for example, "unaligned" */
    const char *entry;      /* the kernel's symbol */
    const char *arch;       /* "sm_90a" */
    uint32_t threads;       /* of a block */
    uint32_t shared_bytes;  /* dynamic shared memory of a block */
    uint32_t cluster[3];    /* blocks */
    int programmatic;       /* 1: its launches may begin before the kernel before them in the stream has ended */
    uint32_t param_bytes;
    int32_t registers;      /* of a thread; -1: not known before it is compiled */
};

/* A tensor of the arguments. */
struct ${T}_tensor {
    const char *name;
    const char *dtype;      /* "bf16" */
    const char *shape;      /* in the sizes of the arguments, innermost last */
    uint32_t element_bytes;
    uint32_t rank;
    uint32_t align;         /* bytes that address and strides must be multiples of */
    uint32_t best_align;    /* the same for variant 0 */
    int out;                /* 1: written */
};

/* What is loaded of a kernel; its fields belong to the functions. Every launch reads the first ones. */
struct ${T}_state {
    struct ${T}_driver driver;
    int target;         /* architecture in use; 0: nothing is loaded */
    int static_images;  /* tensor maps are copied and patched, not encoded by the driver */
//@ if host.part.tuned then
    int32_t choice;     /* where the choice among set-ups begins: that of this GPU */
//@ end
    void *(*copy)(void *to, const void *from, size_t bytes); /* of a launch; memcpy, or what this machine does faster */
    void *library;      /* libcuda, where load opened it */
    int capability;     /* of the device: 90 for 9.0 */
    int driver_version; /* 13000 for 13.0 */
    char images[200];   /* why they are not static, where they are not */
//@ if host.part.debug then
    void *debug;        /* what waits left behind, in memory of the host's that the device writes */
//@ end
};

/* And of a variant. */
struct ${T}_slot {
    void *function, *module;
//@ if host.part.lists then
    void *list;       /* the kernel that finds which turns there are; NULL: none */
//@ end
    int32_t resident; /* multiprocessors that a persistent grid is made for */
};
