/* The device "emu": a GPU in software behind the runtime's device interface (device.h). It executes the PTX that NVRTC
   produced, warp by warp, on the calling thread. Launches run where they are made: a fault of a kernel is the status of
   the launch. */
#ifndef EMU_H
#define EMU_H

#include "device.h"

struct emu_report;
struct emu_event;

/* When asynchronous operations (cp.async, bulk and tensor copies, wgmma) read, write and signal. */
enum emu_completion {
    EMU_EAGER, /* at issue */
    EMU_LATE,  /* at the last moment that PTX allows; to a poller only when nothing else can run */
    EMU_RANDOM /* in between, as the seed says; try_wait may then fail for no reason */
};

/* What happens about hazards, the closed list of hazards.def. BOUNDS, ALIGN and DEADLOCK are found in every mode. */
enum emu_hazards {
    EMU_HAZARDS_OFF,
    EMU_HAZARDS_ON,    /* reported; the kernel goes on, and the launch fails at its end */
    EMU_HAZARDS_FATAL, /* the first one ends the launch */
    EMU_HAZARDS_STRICT /* as on; a generic read before an asynchronous refill needs the proxy fence too */
};

struct emu_options {
    const char *arch; /* "sm_80", "sm_90a", ...; NULL: sm_90a */
    enum emu_completion completion;
    enum emu_hazards hazards;
    uint64_t seed;              /* of EMU_RANDOM */
    int sm_count;               /* 0: what the architecture's model has */
    size_t memory_bytes;        /* 0: 16 GiB; memory is taken as it is allocated */
    size_t stack_bytes;         /* local memory a thread may use; 0: 512 KiB, what CUDA allows at most */
    size_t heap_bytes;          /* what malloc of kernels may hold at a time; 0: 8 MiB, as CUDA has it where the program
                                   asks for no more */
    uint64_t instruction_limit; /* of warps, a launch; 0: none */
    /* Asked again and again while a launch runs, by the thread that launched it: other than 0 ends it, and it fails.
       NULL: none is ended */
    int (*stop)(void *context);
    void *stop_context;
    /* Called for each report, once when it is first found (count 1); text is one line "hazard NAME: ..." */
    void (*report)(void *context, const struct emu_report *report);
    void *report_context;
    /* Where printf of kernels goes; NULL: stdout */
    void (*print)(void *context, const char *text, size_t bytes);
    void *print_context;
    /* Called for every event of a running kernel, in the order of execution; NULL: nobody listens */
    void (*event)(void *context, const struct emu_event *event);
    void *event_context;
    uint32_t events; /* bits of enum emu_event_kind: those that it is called for; 0: all */
    uint32_t slice; /* operations that a warp executes before the next one's turn; 0: 512, the most. With 1 all warps go
                       on together, an instruction each a step */
};

/* ---- Events ------------------------------------------------------------------------------------------------------ */

enum emu_event_kind {
#define EVENT(ID, name, what) EMU_EVENT_##ID,
#include "events.def"
#undef EVENT
    EMU_EVENT_COUNT
};
const char *emu_event_name(enum emu_event_kind kind);

enum emu_event_group { EMU_EVENT_CP_ASYNC, EMU_EVENT_BULK, EMU_EVENT_WGMMA };

/* Valid during the call. A step is a turn of the scheduler: every resident warp that can go on executes a slice; where
   none can, an asynchronous operation gets one of its moments. */
struct emu_event {
    enum emu_event_kind kind;
    int completed; /* as events.def says */
    uint64_t step;
    uint64_t block;    /* of the warp, by its linear number in the grid */
    uint32_t warp;     /* that executes, or that issued the operation */
    uint64_t at_block; /* whose shared memory address is in */
    int64_t address;   /* from the first byte of dynamic shared memory; -1: none */
    uint64_t number;   /* as events.def says */
    const char *file;  /* of the CUDA source, as long as the kernel is loaded; "" where unknown */
    uint32_t line;
    uint32_t ptx_line;
};

/* One finding of a launch: findings of one name at the same source lines (PTX line where they are unknown) are one.
   Pointers live until the reports are cleared; count and more change until the launch ends. */
struct emu_report {
    const char *name; /* "BOUNDS" */
    const char *text; /* the line, "hazard BOUNDS: ..."; of a deadlock, further ones behind it */
    const char *what; /* in words, without places */
    const char *todo; /* what to do about it */
    uint64_t count;   /* how often */
    uint64_t more;    /* findings of this name at further places: after 8 they are counted here, with the last */
    uint64_t address; /* where, if at an address */
    const char *file; /* of the CUDA source, through inlining to the innermost; "" where unknown */
    uint32_t line;
    uint32_t ptx_line;      /* of the PTX text; 0 where unknown */
    const char *other_file; /* the same of what it is in conflict with; "" and 0: nothing, or unknown */
    uint32_t other_line;
    uint32_t other_ptx_line;
    const char *region; /* of shared memory, as the launch calls it: "ring ab full barrier, stage 2"; "": none */
    int stage;          /* in there; -1: none */
    uint32_t block[3];
    uint32_t warp;
    uint8_t hazard; /* of the hazard engine */
};

/* What a device has done since it was opened. */
struct emu_statistics {
    uint64_t warp_instructions;
    uint64_t thread_instructions;
    uint64_t launches, blocks;
    uint64_t reports;  /* different ones */
    size_t peak_bytes; /* of shared memory, registers and local memory of resident blocks */
};

/* Open the device. TW_ERROR_INVALID for an unknown architecture. options may be NULL. */
int tw_device_open_emu(struct tw_runtime *rt, const struct emu_options *options, struct tw_device **device,
                       struct tw_error *error);

/* The device must be of kind "emu". */
void emu_device_statistics(const struct tw_device *device, struct emu_statistics *statistics);

/* Report number index, in the order of first finding; NULL behind the last. Valid until the next launch. */
const struct emu_report *emu_device_report(const struct tw_device *device, size_t index);

/* As many multiprocessors for the launches that follow; at least 1. */
void emu_device_set_sms(struct tw_device *device, int count);

/* When asynchronous operations happen in the launches that follow. */
void emu_device_set_completion(struct tw_device *device, enum emu_completion completion);

/* What malloc of kernels may hold in the launches that follow. */
void emu_device_set_heap(struct tw_device *device, size_t bytes);

/* Forget all reports. */
void emu_device_clear_reports(struct tw_device *device);

#endif
