/* A model of how long a launch takes, from the Plan alone: for the order in which set-ups are tried.
 *
 * The steps of the roles say what an item costs: bytes that are copied, products, each as often as the loops around
 * them turn; of loops that data end, as lists do, the most that they can. A turn takes the longest of: the tensor
 * cores; what they read of shared memory; the L2's bytes, rows of bulk copies as 128 at least; the latency of a copy by
 * the stages that are in flight. An item takes its turns, the first copy where nothing hides it,
 * and its stores. The launch takes as many items one after the other as the fullest multiprocessor has (waves), at
 * least what the device's memory takes for all bytes, and what every launch takes. Where blocks have shares of all
 * turns waves are full, and what they pass on of items that are cut counts beside.
 *
 * What it does not know: power, and with it the clock under load; how well the L2 keeps what is read again. */
#ifndef TW_GEN_TUNE_MODEL_H
#define TW_GEN_TUNE_MODEL_H

#include <stdint.h>

#include "plan/plan.h"

/* The device; of a GPU at hand, or of architectures.def. */
struct model_device {
    int sms;
    double hz;
};

enum model_limit { MODEL_TENSOR, MODEL_SHARED, MODEL_L2, MODEL_LATENCY, MODEL_MEMORY, MODEL_LAUNCH, MODEL_LIMITS };
extern const char *const model_limit_word[MODEL_LIMITS];

struct model_time {
    double us; /* below 0: it is not known */
    int64_t items;
    double waves;           /* items of the fullest multiprocessor; of the last one that is not full: less */
    enum model_limit limit; /* of what takes longest */
};

/* The device of the architecture as architectures.def has it. */
struct model_device model_device_of(const char *arch);

/* symbol: by plan.symbol. */
struct model_time model_time(const struct plan *plan, const int64_t *symbol, const struct model_device *device);

#endif
