// The parts of libtilewright-explain.so. The driver loads the library that CUDA_INJECTION64_PATH names when cuInit is
// called, and calls its InitializeInjection; all else follows from there (CUPTI documentation, "CUDA injection"; the
// toolkit's sample cupti_trace_injection).
#ifndef TW_EXPLAIN_H
#define TW_EXPLAIN_H

#include <stddef.h>
#include <stdint.h>

#include "tensormap/tensormap_args.h"
#include "cupti_abi.h"

// ---- read_call.c: the arguments, from where the caller has them

// One call as CUPTI shows it.
struct explain_call {
    struct tw_tensormap_call call;  // entries of missing lists are 0
    uint64_t map;                   // where the map is to be written
    uint64_t lists[TMAP_ARG_COUNT]; // where each list lies; 0 for NULL and for what is no list
    unsigned missing;               // bit 1 << TMAP_x: a list whose entries the rank asks for and nobody can read
};

// Fills *call from the parameters of a watched call; the parameters themselves must be readable, and the lists that
// they point to need not be. Returns the driver's name of the call, or NULL where the cbid is not watched.
const char *explain_read(uint32_t cbid, const void *parameters, struct explain_call *call);

// ---- report.c: what is wrong with them

struct explain_machine {
    int cc;       // compute capability, 90 for 9.0
    int cc_known; // 0: nobody could be asked, and cc is a guess
    int driver;   // CUDA version of the driver, 13000 for 13.0; 0: unknown
};

// Writes into text what there is to tell of a call that the driver answered with `result`: the header without the
// leading number, the arguments, the rules and the fix. Zero-terminated and cut at size. `warnings`: tell what the
// documentation forbids, too. Returns the count of rules named; 0 with an empty text where there is nothing to tell,
// which is so of no call that failed.
int explain_report(const char *name, const struct explain_call *call, const struct explain_machine *machine, int result,
                   int warnings, char *text, size_t size);

// ---- caller.c: where the call comes from

// The return address in the code that called the driver, NULL where the stack cannot be followed that far. To be called
// in the driver's callback. The first call of a process loads the unwinder.
void *explain_caller(void);

// Writes where that is, and the lines of Python that led there, one a line. Returns text. Takes the loader's lock, as
// explain_caller does.
const char *explain_caller_text(void *caller, char *text, size_t size);

// ---- record_calls.c

// Tells the recorder of a call, at its entry and at its end. Parameters must be there.
void explain_record(uint32_t cbid, const struct cupti_callback_data *data);

// ---- find_cupti.c

enum { EXPLAIN_WHY = 512 };

// Finds a CUPTI and subscribes the callback for the watched calls, and where `recorded` is 1 for those of recorded.def.
// Returns 1; or 0, with the reason in why
// (EXPLAIN_WHY bytes), and nothing is left subscribed then.
int explain_subscribe(cupti_callback *callback, int recorded, char *why);

#endif
