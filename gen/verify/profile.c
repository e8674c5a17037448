#include "verify/profile.h"

#include <string.h>

#include "driver.h"

/* Words of an instance, as templates/blocks/profile.cuh writes them: stamps, 0 where there is none, and 7 numbers. */
enum { BEGAN, ENDED, LEFT, BEGAN_NS, ENDED_NS, PLACE, BLOCK, NUMBERS, STEP_BIT = 52 };

static int count_instances(const struct plan *plan)
{
    int count = 0;
    for (int i = 0; i < plan->role_count; i++)
        count += plan->role[i].instances;
    return count;
}

int profile_find(struct tw_device *device, void *module, const struct plan *plan, int room,
                 struct profile_memory *memory, struct tw_error *error)
{
    size_t wanted = (size_t)count_instances(plan) * PROFILE_BLOCKS * (size_t)room * sizeof(uint64_t);
    int result = device->driver->module_global(&memory->address, &memory->bytes, module, "tilewright_profile");
    if (result == TW_CUDA_NOT_FOUND)
        return tw_fail(error, TW_ERROR_NOT_FOUND, "%s stamps nothing", plan->entry);
    int status = tw_driver_check(device->driver, result, error, "looking up tilewright_profile of %s", plan->entry);
    if (status == TW_OK && memory->bytes != wanted)
        return tw_fail(error, TW_ERROR_INVALID, "%s: tilewright_profile has %zu bytes, not %zu", plan->entry,
                       memory->bytes, wanted);
    if (status == TW_OK && memory->address >> 32 != (memory->address + memory->bytes - 1) >> 32)
        return tw_fail(error, TW_ERROR_INVALID,
                       "%s: tilewright_profile crosses 4 GB, and a stamp counts 32 bits of its "
                       "address; write a smaller --stamps",
                       plan->entry);
    return status;
}

int profile_clear(struct tw_device *device, const struct profile_memory *memory, struct tw_error *error)
{
    return tw_device_fill(device, memory->address, 0, memory->bytes, error);
}

/* The stamps of one instance, from its words. Its clocks count from its beginning; with the clock at that
 * taken away, a stamp's number of the step is what stands above 52 bits. A status. */
static int read_instance(const struct profile *profile, struct profile_instance *in, const uint64_t *word, size_t room,
                         struct tw_error *error)
{
    const struct plan_role *role = &profile->plan->role[in->role];
    const uint64_t *number = word + room - NUMBERS;
    const int64_t places = (int64_t)(room - NUMBERS), left = (int64_t)number[LEFT] / 8, made = places - left;
    if (!number[ENDED] || (int64_t)number[LEFT] % 8 || made < 0)
        return tw_fail(error, TW_ERROR_DAMAGED, "%s: instance %d of role %s has left no stamps", profile->plan->entry,
                       in->instance, role->name);
    const size_t words = (size_t)(left > 0 ? made : places);
    in->full = left <= 0;
    in->began_ns = number[BEGAN_NS];
    in->ended_ns = number[ENDED_NS];
    in->began = 0;
    in->ended = number[ENDED] - number[BEGAN];
    in->stamp = tw_alloc(profile->rt, (words + 1) * sizeof *in->stamp);
    if (!in->stamp)
        return tw_fail(error, TW_ERROR_MEMORY, "out of memory");
    in->count = 0;
    for (size_t w = 0; w < words; w++) {
        if (!word[w])
            continue;
        const size_t i = in->count;
        const uint64_t stamp = word[w] - number[BEGAN], step = stamp >> STEP_BIT;
        const uint64_t clock = stamp & (((uint64_t)1 << STEP_BIT) - 1);
        const uint64_t before = i ? in->stamp[i - 1].clock : in->began;
        if (step < 1 || step > (uint64_t)role->step_count || clock < before || clock > in->ended)
            return tw_fail(error, TW_ERROR_DAMAGED, "%s: stamp %zu of role %s is of step %llu at clock %llu",
                           profile->plan->entry, i, role->name, (unsigned long long)step, (unsigned long long)clock);
        in->stamp[in->count++] = (struct profile_stamp){clock, (int)step - 1};
    }
    return TW_OK;
}

/* Clocks count from the block's beginning on, which is that of its first instance. began: the clocks of all. */
static void settle_block(struct profile *profile, struct profile_block *b, const uint64_t *began)
{
    uint64_t first = began[0];
    for (int i = 1; i < profile->instances; i++)
        first = began[i] < first ? began[i] : first;
    for (int i = 0; i < profile->instances; i++) {
        struct profile_instance *in = &b->instance[i];
        in->began = began[i] - first;
        in->ended += in->began;
        for (size_t k = 0; k < in->count; k++)
            in->stamp[k].clock += in->began;
    }
}

void profile_settle(struct profile *profile)
{
    for (int n = 0; n < profile->blocks; n++) {
        struct profile_block *b = &profile->block[n];
        double clocks = 0, ns = 0;
        b->clocks = 0;
        b->began_ns = UINT64_MAX;
        for (int i = 0; i < profile->instances; i++) {
            const struct profile_instance *in = &b->instance[i];
            b->clocks = in->ended > b->clocks ? in->ended : b->clocks;
            b->began_ns = in->began_ns && in->began_ns < b->began_ns ? in->began_ns : b->began_ns;
            if (in->full || in->ended_ns <= in->began_ns)
                continue;
            clocks += (double)(in->ended - in->began);
            ns += (double)(in->ended_ns - in->began_ns);
        }
        b->nanoseconds = clocks > 0 && profile->timed ? ns / clocks : 0;
    }
}

static int read_block(struct profile *profile, int n, const uint64_t *word, size_t room, struct tw_error *error)
{
    struct profile_block *b = &profile->block[n];
    int at = 0, status = TW_OK;
    uint64_t *began = tw_alloc_zeroed(profile->rt, sizeof *began * (size_t)(profile->instances + 1));
    b->instance = tw_alloc_zeroed(profile->rt, sizeof *b->instance * (size_t)(profile->instances + 1));
    if (!began || !b->instance)
        status = tw_fail(error, TW_ERROR_MEMORY, "out of memory");
    for (int r = 0; r < profile->plan->role_count; r++)
        for (int i = 0; i < profile->plan->role[r].instances && status == TW_OK; i++, at++) {
            const uint64_t *own = word + (size_t)(n * profile->instances + at) * room;
            b->instance[at].role = r;
            b->instance[at].instance = i;
            began[at] = own[room - NUMBERS + BEGAN];
            b->number = own[room - NUMBERS + BLOCK] >> 32; /* the last instance's */
            b->multiprocessor = (uint32_t)own[room - NUMBERS + PLACE] - 1;
            status = read_instance(profile, &b->instance[at], own, room, error);
        }
    if (status == TW_OK)
        settle_block(profile, b, began);
    tw_free(profile->rt, began);
    return status;
}

int profile_take(struct profile *profile, struct tw_runtime *rt, struct tw_device *device,
                 const struct profile_memory *memory, const struct plan *plan, struct tw_error *error)
{
    *profile = (struct profile){.rt = rt, .plan = plan, .instances = count_instances(plan)};
    profile->timed = strcmp(device->ops->kind, "emu") != 0;
    size_t room = memory->bytes / sizeof(uint64_t) / PROFILE_BLOCKS / (size_t)profile->instances;
    uint64_t *word = tw_alloc(rt, memory->bytes);
    int status = word ? tw_device_download(device, word, memory->address, memory->bytes, error)
                      : tw_fail(error, TW_ERROR_MEMORY, "out of memory");
    profile->grid = status == TW_OK ? (uint32_t)word[(size_t)profile->instances * room - NUMBERS + BLOCK] : 0;
    for (int n = 0; n < (profile->grid > 1 ? 2 : 1) && status == TW_OK; n++) {
        profile->blocks = n + 1;
        status = read_block(profile, n, word, room, error);
    }
    tw_free(rt, word);
    if (status == TW_OK)
        profile_settle(profile);
    return status;
}

void profile_free(struct profile *profile)
{
    for (int n = 0; n < profile->blocks; n++) {
        for (int i = 0; profile->block[n].instance && i < profile->instances; i++)
            tw_free(profile->rt, profile->block[n].instance[i].stamp);
        tw_free(profile->rt, profile->block[n].instance);
    }
    profile->blocks = 0;
}
