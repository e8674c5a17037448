/* A loaded module: PTX made executable (lower.h), its variables, and the kernels found in it. */
#ifndef EMU_PROGRAM_H
#define EMU_PROGRAM_H

#include "device.h"
#include "emu/alu/lanes.h"
#include "emu/ptx/ptx.h"

struct emu_device;
struct emu_hazard_range;

/* Which way operations went that may go several ways. */
enum emu_went {
    EMU_WENT_AWAY = 1, /* a branch to its target, or what a guard, a return or a trap does, for some lane */
    EMU_WENT_ON = 2,   /* past it, for some lane */
    EMU_WENT_HERE = 4  /* to this operation by a call, a launch or a branch by index */
};

/* A lowered function. */
struct emu_function {
    const struct ptx_function *ptx;
    struct emu_op *ops;
    uint32_t op_count;
    uint32_t op_room;
    uint32_t frame_bytes;      /* registers */
    uint32_t frame_preds;      /* predicates */
    uint32_t local_bytes;      /* a thread's local memory: parameter area, then .local; a multiple of 16 */
    uint32_t local_offset;     /* of .local */
    uint32_t param_skip;       /* bytes of the parameter area that are not in local memory: a kernel's parameters */
    uint32_t registers;        /* estimate of what ptxas would need */
    struct emu_function *next; /* whose body is lowered after this one's */
    uint32_t position;         /* number of its first instruction among all that were lowered */
    uint32_t *touch_start;     /* instruction -> first of its registers in touch; NULL: nothing here uses wgmma */
    uint32_t *touch;           /* slots of 32-bit registers, plus 1 where it writes */
    uint8_t *went;             /* by operation: enum emu_went, of all launches (coverage.h) */
};

/* Memory with an address: an allocation, or a variable of a module. */
/* An allocation, and the part of it that launches may touch: all of it, until emu_region_limit. */
struct emu_region {
    uint64_t base; /* of the part */
    uint64_t bytes;
    unsigned char *data; /* of base */
    uint64_t whole_base; /* of the allocation */
    uint64_t whole_bytes;
    unsigned char *whole;
    unsigned char *written; /* bit i % 8 of byte i / 8: a kernel has written byte i of whole; NULL: nobody asks */
    uint32_t id;            /* counts up */
    uint8_t read_only;      /* .const */
    uint8_t internal;       /* belongs to a module */
    uint8_t from_kernel;    /* by malloc of a kernel, and so by free */
    uint8_t mapped;         /* whole is the host's own memory */
};

struct emu_constant {
    uint64_t value;
    uint32_t hash;
    uint32_t at; /* offset of the lanes, with bit 0 set; 0: a free entry */
    uint32_t wide;
};

/* PTX text made executable; one for each load. */
struct emu_module {
    struct emu_device *device;
    const struct emu_module *image; /* whose ptx and variables these are, and lives longer; NULL: the module's own */
    struct ptx_module *ptx;
    struct emu_function **functions; /* by index of ptx->functions; NULL: not lowered */
    struct emu_region **variables;   /* .global and .const by index of ptx->variables */
    uint32_t
        *shared_offset; /* .shared by index of ptx->variables, from the block's first byte; PTX_NONE: not the entry's */
    uint32_t shared_bytes;               /* static ones, as a GPU has them */
    uint32_t shared_end, dynamic_offset; /* where the static ones end and the dynamic ones begin here */
    uint32_t static_pad, dynamic_pad;    /* bytes of shared_end and dynamic_offset that a GPU would not need */
    struct emu_hazard_range *gaps;       /* the pads between arrays, offsets in a block's window */
    uint32_t gap_count;
    unsigned char *constants; /* broadcast lanes */
    uint32_t constant_bytes, constant_room;
    struct emu_constant *constant_index; /* hash table */
    uint32_t constant_slots, constant_count;
    uint32_t positions; /* instructions of all lowered functions */
    uint8_t has_wgmma;
    uint8_t has_parts;           /* of warps: lanes may meet by member masks that are not all lanes' */
    uint8_t lowers;              /* emu_lower works on the list of bodies */
    struct emu_function *bodies; /* that are to be lowered; the last one in bodies_end */
    struct emu_function *bodies_end;
    uint8_t has_reserved;     /* reads where the reserved shared memory is */
    struct emu_extra *extras; /* memory that ops point to */
};

struct emu_extra {
    struct emu_extra *next;
    uint64_t bytes[];
};

struct emu_kernel {
    struct tw_kernel kernel;
    struct emu_module *module;
    struct emu_function *entry;
};

#endif
