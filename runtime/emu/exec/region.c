/* Allocations with bounds: a list in the order of addresses. */
#include "emu/async/tcgen05.h"
#include "emu/hazard/hazard.h"
#include "flow.h"
#include "memory.h"
#include "report.h"

#define MOST_ADDRESS (UINT64_C(1) << 57) /* as tensor maps have them */
enum { GAP = 4096 };                     /* unallocated bytes between regions: what runs over the end of one is found */

/* Room for one region more in the list. */
static int region_room(struct emu_device *device, struct tw_error *error)
{
    if (device->region_count < device->region_room)
        return TW_OK;
    size_t room = device->region_room ? 2 * device->region_room : 64;
    struct emu_region **regions = tw_realloc(device->device.rt, device->regions, room * sizeof *regions);
    if (!regions)
        return tw_fail(error, TW_ERROR_MEMORY, "no memory");
    device->regions = regions;
    device->region_room = room;
    return TW_OK;
}

/* A region of these bytes goes to its place in the list, which is sorted and has room. */
static void insert(struct emu_device *device, struct emu_region *r, uint64_t base, uint64_t bytes)
{
    size_t at = device->region_count++;
    for (; at && device->regions[at - 1]->whole_base > base; at--)
        device->regions[at] = device->regions[at - 1];
    device->regions[at] = r;
    r->base = r->whole_base = base;
    r->bytes = r->whole_bytes = bytes;
    r->whole = r->data;
    r->id = device->next_region++;
    if (device->hazard_memory)
        emu_hazard_memory_fresh(device->hazard_memory, base, bytes);
}

/* Out of the list. */
static void remove_region(struct emu_device *device, const struct emu_region *region)
{
    for (size_t i = device->region_count; i-- > 0;) { /* the youngest go first */
        if (device->regions[i] != region)
            continue;
        memmove(&device->regions[i], &device->regions[i + 1], (device->region_count - i - 1) * sizeof *device->regions);
        device->region_count--;
        break;
    }
}

/* An address of the device's own. */
static uint64_t next_base(struct emu_device *device, uint64_t bytes, uint64_t align)
{
    uint64_t base;
    align = align < 512 ? 512 : align;
    for (;;) {
        base = (device->next_address + align - 1) & ~(align - 1);
        device->next_address = base + bytes + GAP;
        /* Memory of the host's may be mapped where this device has come to. */
        size_t i = device->region_count;
        while (i && device->regions[i - 1]->whole_base >= base + bytes + GAP)
            i--;
        if (!i || device->regions[i - 1]->whole_base + device->regions[i - 1]->whole_bytes <= base)
            return base;
    }
}

int emu_region_new(struct emu_device *device, uint64_t bytes, uint64_t align, struct emu_region **region,
                   struct tw_error *error)
{
    struct tw_runtime *rt = device->device.rt;
    *region = NULL;
    if (bytes > device->device.memory_bytes - device->allocated)
        return tw_fail(error, TW_ERROR_MEMORY, "emulated memory: %llu bytes are asked for, %llu are free",
                       (unsigned long long)bytes,
                       (unsigned long long)(device->device.memory_bytes - device->allocated));
    int status = region_room(device, error);
    if (status)
        return status;
    struct emu_region *r = tw_alloc_zeroed(rt, sizeof *r);
    if (!r || !(r->data = tw_alloc(rt, bytes ? bytes : 1))) {
        tw_free(rt, r);
        return tw_fail(error, TW_ERROR_MEMORY, "no memory for %llu bytes", (unsigned long long)bytes);
    }
    memset(r->data, EMU_POISON, bytes ? bytes : 1);
    insert(device, r, next_base(device, bytes, align), bytes);
    device->allocated += bytes;
    *region = r;
    return TW_OK;
}

/* Whether nothing lies in these bytes. Others may lie right beside them: no gap is asked for. */
static int is_free(const struct emu_device *device, uint64_t base, uint64_t bytes)
{
    for (size_t i = 0; i < device->region_count; i++) {
        const struct emu_region *r = device->regions[i];
        if (r->whole_base < base + bytes && base < r->whole_base + r->whole_bytes)
            return 0;
    }
    return 1;
}

int emu_region_place(struct emu_device *device, uint64_t base, uint64_t bytes, struct emu_region **region,
                     struct tw_error *error)
{
    *region = NULL;
    if (base < EMU_MAPPED_START || !bytes || base >= MOST_ADDRESS || bytes > MOST_ADDRESS - base)
        return tw_fail(error, TW_ERROR_INVALID, "%llu bytes at 0x%llx are no global memory here: it is from 0x%llx on",
                       (unsigned long long)bytes, (unsigned long long)base, (unsigned long long)EMU_MAPPED_START);
    if (!is_free(device, base, bytes))
        return tw_fail(error, TW_ERROR_INVALID, "%llu bytes at 0x%llx: something else lies there",
                       (unsigned long long)bytes, (unsigned long long)base);
    uint64_t next = device->next_address;
    int status = emu_region_new(device, bytes, 1, region, error);
    if (status)
        return status;
    struct emu_region *r = *region;
    device->next_address = next;
    remove_region(device, r);
    insert(device, r, base, bytes);
    return TW_OK;
}

int emu_region_map(struct emu_device *device, void *memory, uint64_t bytes, struct emu_region **region,
                   struct tw_error *error)
{
    uint64_t base = (uint64_t)(uintptr_t)memory;
    *region = NULL;
    int status = region_room(device, error);
    if (status)
        return status;
    struct emu_region *r = tw_alloc_zeroed(device->device.rt, sizeof *r);
    if (!r)
        return tw_fail(error, TW_ERROR_MEMORY, "no memory");
    r->data = memory;
    r->mapped = 1;
    for (size_t i = 0; i < device->region_count; i++)
        if (device->regions[i]->whole_base < base + bytes &&
            base < device->regions[i]->whole_base + device->regions[i]->whole_bytes)
            base = 0;
    insert(device, r, base < EMU_MAPPED_START ? next_base(device, bytes, 1) : base, bytes);
    if (device->hazard_memory)
        emu_hazard_memory_written(device->hazard_memory, r->base, bytes);
    *region = r;
    return TW_OK;
}

void emu_region_free(struct emu_device *device, struct emu_region *region)
{
    if (!region)
        return;
    remove_region(device, region);
    tw_free(device->device.rt, region->written);
    if (device->hazard_memory)
        emu_hazard_memory_fresh(device->hazard_memory, region->whole_base, region->whole_bytes);
    if (region->from_kernel)
        device->heap -= region->whole_bytes;
    if (!region->mapped) {
        device->allocated -= region->whole_bytes;
        tw_free(device->device.rt, region->whole);
    }
    tw_free(device->device.rt, region);
}

struct emu_region *emu_region_allocated(struct emu_device *device, uint64_t address)
{
    size_t low = 0, high = device->region_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct emu_region *r = device->regions[middle];
        if (address < r->whole_base)
            high = middle;
        else if (address - r->whole_base >= r->whole_bytes && address != r->whole_base)
            low = middle + 1;
        else
            return r;
    }
    return NULL;
}

struct emu_region *emu_region_find(struct emu_device *device, uint64_t address)
{
    struct emu_region *r = emu_region_allocated(device, address);
    return r && address >= r->base && address - r->base < r->bytes ? r : NULL;
}

int emu_region_limit(struct emu_region *region, uint64_t address, uint64_t bytes)
{
    if (address < region->whole_base || address - region->whole_base > region->whole_bytes ||
        bytes > region->whole_bytes - (address - region->whole_base))
        return 1;
    region->base = address;
    region->bytes = bytes;
    region->data = region->whole + (address - region->whole_base);
    return 0;
}

/* ---- Tensor memory ----------------------------------------------------------------------------------------------- */

struct emu_tensor_memory *emu_tensor_of(struct emu_block *block)
{
    struct emu_launch *launch = block->launch;
    struct tw_runtime *rt = launch->device->device.rt;
    if (!launch->tensor)
        launch->tensor = tw_alloc_zeroed(rt, launch->sms * sizeof *launch->tensor);
    struct emu_tensor_memory **memory = launch->tensor ? &launch->tensor[block->linear % launch->sms] : NULL;
    if (memory && !*memory)
        *memory = tw_alloc_zeroed(rt, sizeof **memory);
    if (!memory || !*memory) {
        emu_fail_launch(launch, TW_ERROR_MEMORY, "no memory for a multiprocessor's tensor memory");
        return NULL;
    }
    return *memory;
}

void emu_tensor_ready(struct emu_launch *launch)
{
    launch->changes++;
    for (struct emu_cluster *c = launch->resident; c; c = c->next)
        for (uint32_t n = 0; n < c->block_count * launch->warps; n++) {
            struct emu_warp *warp = &c->blocks[n / launch->warps].warps[n % launch->warps];
            for (uint32_t i = 0; !warp->done && i < warp->path_count; i++)
                if (warp->paths[i].state == EMU_PATH_TENSOR)
                    emu_path_ready(warp, i);
        }
}
