//@ -- The structs of dlpack.h 1.3, a C ABI that does not change within a major version.
/* ---- DLPack ----------------------------------------------------------------------------------------------------- */

enum { dl_cpu = 1, dl_cuda = 2, dl_cuda_managed = 13 };

struct dl_tensor {
    void *data;
    int32_t device_type, device;
    int32_t rank;
    uint8_t code, bits; /* of the element type */
    uint16_t lanes;
    int64_t *shape;     /* elements */
    int64_t *stride;    /* elements; NULL: dense rows */
    uint64_t offset;    /* bytes from data to the first element */
};

/* In a capsule "dltensor"; older producers'. */
struct dl_managed {
    struct dl_tensor tensor;
    void *context;
    void (*deleter)(struct dl_managed *);
};

struct dl_version {
    uint32_t major, minor;
};

/* In a capsule "dltensor_versioned". */
struct dl_versioned {
    struct dl_version version;
    void *context;
    void (*deleter)(struct dl_versioned *);
    uint64_t flags; /* bit 0: read only; bit 1: a copy */
    struct dl_tensor tensor;
};

/* What `__dlpack_c_exchange_api__` of a type leads to, in a capsule "dlpack_exchange_api"; lives as long as the
 * process. Each function returns 0, or -1 with an exception set. */
struct dl_exchange {
    struct dl_version version;
    struct dl_exchange *previous;
    int (*allocate)(struct dl_tensor *like, struct dl_versioned **made, void *context,
                    void (*fail)(void *context, const char *kind, const char *message));
    int (*managed_of)(void *object, struct dl_versioned **taken);
    int (*object_of)(struct dl_versioned *given, void **object); /* takes it over */
    int (*view)(void *object, struct dl_tensor *borrowed);       /* or NULL; lives until the caller returns to Python */
    int (*stream)(int32_t device_type, int32_t device, void **stream);
};
