//@ -- The kernels themselves, as arrays: sources and PTX in chunks that any compiler takes as a literal, cubins as
//@ -- bytes.
//@ param host table
//@ local NAME = host.name
/* ---- the kernels ----------------------------------------------------------------------------------------------- */
//@ for _, i in ipairs(host.image) do
//@     if i.source_chunks > 0 then

/* ${i.entry} for ${i.arch}: CUDA, compiled by load. */
static const char *const source_${i.id}[] = {
    ${i.source}
};
//@     end
//@     if i.cubin_bytes > 0 then

/* ${i.entry} for ${i.arch}: a cubin. */
static const union {
    unsigned char bytes[${i.cubin_bytes}];
    uint64_t align;
} cubin_${i.id} = {{
//@         for _, line in ipairs(i.cubin) do
    ${line}
//@         end
}};
//@     end
//@     if i.ptx_chunks > 0 then

/* ${i.entry} for ${i.arch}: PTX, for devices newer than that. */
static const char *const ptx_${i.id}[] = {
    ${i.ptx}
};
//@     end
//@ end

/* One kernel's code; what is missing is NULL. */
struct image {
    const void *cubin;
    const char *const *source, *const *ptx; /* in chunks, one after the other */
    int source_chunks, ptx_chunks;
    const char *file;                       /* what the compiler's messages call the source */
    int blocks_per_sm;                      /* that run at once on a multiprocessor */
};

static const struct image images[] = {
//@ for _, i in ipairs(host.image) do
    {${i.cubin_name}, ${i.source_name}, ${i.ptx_name}, ${i.source_chunks}, ${i.ptx_chunks}, "/tilewright/${NAME}.${i.id}.cu", ${i.blocks_per_sm}},
//@ end
};

static const struct ${NAME}_variant variants[] = {
//@ for _, i in ipairs(host.image) do
//@     local programmatic = i.programmatic and 1 or 0
    {"${i.variant}", "${i.entry}", "${i.arch}", ${i.threads}u, ${i.shared_bytes}u, {${i.cluster.x}u, ${i.cluster.y}u, ${i.cluster.z}u}, ${programmatic}, ${i.param_bytes}u, ${i.registers}},
//@ end
};

static const struct ${NAME}_tensor tensors[] = {
//@ for _, t in ipairs(host.tensor) do
    {"${t.name}", "${t.dtype}", "${t.shape}", ${t.bytes}u, ${t.rank}u, ${t.align}u, ${t.best_align}u, ${t.out}},
//@ end
};

/* An architecture: the variants that were made for it, and the devices that take them. */
struct target {
    const char *arch;
    int major, minor;
    int exact;        /* runs on that compute capability alone */
    int newer;        /* its PTX may run on later ones */
    int first, count; /* of variants */
    int shared_bytes; /* of a block, that its variants want; a set-up that wants more is not loaded */
//@ if host.has_source then
    const char *binary, *text; /* NVRTC's options for a cubin and for PTX */
//@ end
};

static const struct target targets[] = {
//@ for _, t in ipairs(host.target) do
//@     if host.has_source then
    {"${t.arch}", ${t.major}, ${t.minor}, ${t.exact}, ${t.newer}, ${t.first}, ${t.count}, ${t.shared_bytes}, "--gpu-architecture=${t.arch}", "--gpu-architecture=${t.virtual}"},
//@     else
    {"${t.arch}", ${t.major}, ${t.minor}, ${t.exact}, ${t.newer}, ${t.first}, ${t.count}, ${t.shared_bytes}},
//@     end
//@ end
};
enum { target_count = sizeof targets / sizeof *targets };
