//@ -- What is known of a kernel, as rows that load and check walk.
//@ param host table
//@ local T = host.types
//@ if host.shared then
/* ---- tables ---------------------------------------------------------------------------------------------------- */
//@ else
/* ---- the kernel ------------------------------------------------------------------------------------------------- */
//@ end

struct tensor { /* as one call has it: extents and strides in elements, in memory order, the innermost last */
    uint64_t address;
//@ if host.part.pointers then
    uint64_t align; /* 0, or of slices with addresses of their own what these divide by */
//@ end
//@ if host.part.arrays then
    const void *const *slice; /* of one whose slices may have maps: where each of them lies, or NULL: at the stride */
//@ end
    int64_t dim[${host.rank}], stride[${host.rank}];
//@ if host.part.maps then
    int empty; /* as check_tensors finds it: an extent is 0 */
//@ end
};
//@ if host.part.operands then
struct operand { /* what a tensor asks of every launch, beside its ${T}_tensor; dimensions as bits */
    int may_be_null;
    unsigned signs, large; /* extents that sizes may make negative, or more than a tensor map takes */
//@     if host.part.pointers then
    int pointers;          /* the address is that of an array: of each slice's along dimension 0 */
//@     end
//@     if host.part.arrays then
    int maps;              /* so many slices along dimension 0 may have maps of their own; 0: it has one */
//@     end
};
//@ end
struct rule { /* what the variant of a target that asks least asks of a tensor; by target, then by tensor */
    uint32_t align; /* of address, pitches and, with whole_rows, of the rows; bytes */
    int whole_rows, map;
//@ if host.part.fixed then
    int64_t fixed[${host.rank}]; /* strides that the kernel is made for; 0: any */
//@ end
};
//@ if host.part.maps then
//@     if host.part.windows then
/* The constant arguments of a cuTensorMapEncodeTiled, or of a cuTensorMapEncodeIm2col where there are windows, and what
 * they come to; innermost first. */
struct map {
//@     else
struct map { /* the constant arguments of a cuTensorMapEncodeTiled, innermost first, and what they come to */
//@     end
    const char *name;
    unsigned targets;              /* bit i: targets[i] has it */
    int dtype, swizzle, promotion; /* as in cuda.h */
    uint32_t rank, element_bytes, box[5];
    uint64_t dim[5], image[16];    /* an extent of 0: not constant */
//@     if host.part.windows then
    uint32_t windows;              /* spatial dims; 0: tiled */
    int lower[3], upper[3];        /* corners of the walk over an image: from its first pixel, and from its last */
    uint32_t step[5];              /* elements from one that is loaded to the next */
//@     end
};
//@ end
struct image { /* a variant's code, what is missing is NULL; and how it is launched */
//@ if host.part.cubin then
    const void *cubin;
//@ end
//@ if host.part.text then
//@     local texts = host.part.source and "source" or "ptx"
//@     if host.part.source and host.part.ptx then texts = "source, *const *ptx" end
    const char *const *${texts}; /* in chunks, NULL behind the last */
//@ end
    int blocks_per_sm, shape; /* how many run at once on a multiprocessor; those of a shape have the same parameter */
//@ if host.part.tuned then
    int setup;                /* 0: one of the spec's own */
//@ end
//@ if host.part.lists then
    int lists;                /* 1: ENTRY_list finds which turns there are */
//@ end
};
struct target { /* an architecture: the variants that were made for it, and the devices that take them */
    const char *arch;
    int major, minor, exact, newer; /* exact: runs on that compute capability alone; newer: its PTX may on later ones */
    int first, own, count;          /* of variants: those of the spec's own stand before set-ups */
    int shared_bytes; /* of a block, that its own variants want; a set-up that wants more is not loaded */
};
//@ if host.part.tuned then
/* Which set-up sizes take: one (by number) below `from` goes on at the first of `next`, others at the second; ~n is
 * set-up n. */
struct split {
    int64_t from;
    int32_t size, next[2];
};
struct choice { /* where a GPU's choice begins; another model takes the first of its architecture */
    const char *gpu;
    int32_t target, begin;
};
struct wanted { /* which set-ups are loaded: all (takes NULL), or those that launches of these arguments take */
    int (*takes)(const struct ${T}_state *k, const void *args, int count, int setup);
    const void *args;
    int count;
};
//@ end
//@ if host.shared then
struct tables { /* the arrays of a kernel */
    const char *name;
    const struct ${T}_tensor *tensors;
    const struct operand *operands;
    const struct rule *rules; /* by target, then by tensor */
    const struct map *maps;
    const struct target *targets;
    const struct image *images; /* by variant */
    const struct ${T}_variant *variants;
    const char *const *options; /* of NVRTC, beside the architecture */
    const struct choice *choices;
    int slot_count; /* variants of the architecture that has most */
    int tensor_count, target_count, map_count, option_count, choice_count;
};
//@ end
