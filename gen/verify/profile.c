#include "verify/profile.h"

#include <string.h>

#include "driver.h"

/* Stamps of an instance that are none, but of itself. */
enum { BEGAN_NS, BEGAN, ENDED_NS, ENDED, PLACE, BLOCK, HEADER };

/* A stamp as templates/blocks/profile.cuh writes it. */
struct written {
    uint64_t clock, step; /* in the header a number, and what is never written */
};

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
    size_t wanted = (size_t)count_instances(plan) * PROFILE_BLOCKS * (size_t)room * sizeof(struct written);
    int result = device->driver->module_global(&memory->address, &memory->bytes, module, "tilewright_profile");
    if (result == TW_CUDA_NOT_FOUND)
        return tw_fail(error, TW_ERROR_NOT_FOUND, "%s stamps nothing", plan->entry);
    int status = tw_driver_check(device->driver, result, error, "looking up tilewright_profile of %s", plan->entry);
    if (status == TW_OK && memory->bytes != wanted)
        return tw_fail(error, TW_ERROR_INVALID, "%s: tilewright_profile has %zu bytes, not %zu", plan->entry,
                       memory->bytes, wanted);
    return status;
}

int profile_clear(struct tw_device *device, const struct profile_memory *memory, struct tw_error *error)
{
    return tw_device_fill(device, memory->address, 0, memory->bytes, error);
}

/* The stamps of one instance: stamp i of it is at word[i * apart]. Its clocks count from its beginning. A status. */
static int read_instance(const struct profile *profile, struct profile_instance *in, const struct written *word,
                         size_t apart, size_t room, struct tw_error *error)
{
    const struct plan_role *role = &profile->plan->role[in->role];
    in->count = word[PLACE * apart].clock >> 32;
    if (!word[ENDED_NS * apart].clock || in->count + HEADER > room)
        return tw_fail(error, TW_ERROR_DAMAGED, "%s: instance %d of role %s has left no stamps", profile->plan->entry,
                       in->instance, role->name);
    in->full = in->count + HEADER == room;
    in->began_ns = word[BEGAN_NS * apart].clock;
    in->ended_ns = word[ENDED_NS * apart].clock;
    in->began = 0;
    in->ended = word[ENDED * apart].clock - word[BEGAN * apart].clock;
    in->stamp = tw_alloc(profile->rt, (in->count + 1) * sizeof *in->stamp);
    if (!in->stamp)
        return tw_fail(error, TW_ERROR_MEMORY, "out of memory");
    for (size_t i = 0; i < in->count; i++) {
        const struct written stamp = word[(HEADER + i) * apart];
        const uint64_t clock = stamp.clock - word[BEGAN * apart].clock;
        uint64_t before = i ? in->stamp[i - 1].clock : in->began;
        if (stamp.step < 1 || stamp.step > (uint64_t)role->step_count || clock < before || clock > in->ended)
            return tw_fail(error, TW_ERROR_DAMAGED, "%s: stamp %zu of role %s is of step %llu at clock %llu",
                           profile->plan->entry, i, role->name, (unsigned long long)stamp.step,
                           (unsigned long long)clock);
        in->stamp[i] = (struct profile_stamp){clock, (int)stamp.step - 1};
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
            b->began_ns = in->began_ns < b->began_ns ? in->began_ns : b->began_ns;
            if (in->full || in->ended_ns <= in->began_ns)
                continue;
            clocks += (double)(in->ended - in->began);
            ns += (double)(in->ended_ns - in->began_ns);
        }
        b->nanoseconds = clocks > 0 && profile->timed ? ns / clocks : 0;
    }
}

static int read_block(struct profile *profile, int n, const struct written *word, size_t room, struct tw_error *error)
{
    struct profile_block *b = &profile->block[n];
    size_t apart = (size_t)profile->instances * PROFILE_BLOCKS;
    int at = 0, status = TW_OK;
    uint64_t *began = tw_alloc_zeroed(profile->rt, sizeof *began * (size_t)(profile->instances + 1));
    b->instance = tw_alloc_zeroed(profile->rt, sizeof *b->instance * (size_t)(profile->instances + 1));
    if (!began || !b->instance)
        status = tw_fail(error, TW_ERROR_MEMORY, "out of memory");
    for (int r = 0; r < profile->plan->role_count; r++)
        for (int i = 0; i < profile->plan->role[r].instances && status == TW_OK; i++, at++) {
            const struct written *own = word + n * profile->instances + at;
            b->instance[at].role = r;
            b->instance[at].instance = i;
            began[at] = own[BEGAN * apart].clock;
            b->number = own[BLOCK * apart].clock >> 32;
            b->multiprocessor = (uint32_t)own[PLACE * apart].clock - 1;
            status = read_instance(profile, &b->instance[at], own, apart, room, error);
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
    size_t room = memory->bytes / sizeof(struct written) / PROFILE_BLOCKS / (size_t)profile->instances;
    struct written *word = tw_alloc(rt, memory->bytes);
    int status = word ? tw_device_download(device, word, memory->address, memory->bytes, error)
                      : tw_fail(error, TW_ERROR_MEMORY, "out of memory");
    profile->grid = status == TW_OK ? (uint32_t)word[BLOCK * PROFILE_BLOCKS * (size_t)profile->instances].clock : 0;
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
