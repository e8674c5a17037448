/* Events of a running kernel, for whoever draws or counts them. */
#include "event.h"
#include "memory.h"
#include "watch.h"

const char *emu_event_name(enum emu_event_kind kind)
{
    static const char *const names[EMU_EVENT_COUNT] = {
#define EVENT(ID, name, what) name,
#include "emu/events.def"
#undef EVENT
    };
    return (unsigned)kind < EMU_EVENT_COUNT ? names[kind] : "?";
}

static void set_place(struct emu_event *event, const struct emu_warp *warp, const struct emu_op *op)
{
    const struct ptx_module *ptx = warp->launch->kernel->module->ptx;
    const struct ptx_function *f = warp->function->ptx;
    event->file = "";
    if (!op || op->source == PTX_NONE || op->source >= f->instruction_count)
        return;
    const struct ptx_instruction *in = &f->instructions[op->source];
    event->ptx_line = in->line;
    if (in->location != PTX_NONE) {
        event->line = ptx->locations[in->location].line;
        event->file = ptx_location_path(ptx, in->location);
    }
}

void emu_event_tell(struct emu_warp *warp, const struct emu_op *op, enum emu_event_kind kind, uint64_t address,
                    uint64_t number, int completed)
{
    const struct emu_launch *launch = warp->launch;
    const struct emu_options *options = &launch->device->options;
    if (!(launch->listens >> kind & 1))
        return;
    struct emu_event event = {.kind = kind,
                              .completed = completed,
                              .step = launch->rounds,
                              .block = warp->block->linear,
                              .warp = warp->index,
                              .at_block = warp->block->linear,
                              .address = -1,
                              .number = number};
    if (address >= EMU_SHARED_WINDOW && address < EMU_LOCAL_WINDOW) {
        uint32_t rank = emu_shared_rank(address);
        if (rank < warp->block->cluster->block_count)
            event.at_block = warp->block->cluster->blocks[rank].linear;
        event.address =
            (int64_t)(address % EMU_SHARED_STRIDE) - EMU_SHARED_START - (int64_t)launch->kernel->module->dynamic_offset;
    }
    set_place(&event, warp, op);
    options->event(options->event_context, &event);
}

void emu_event_moment(struct emu_launch *launch, struct emu_warp *warp, const struct emu_async_event *event)
{
    const struct emu_op *op = emu_watch_op(launch, event->tag);
    int store = event->kind == EMU_ASYNC_BULK_STORE || event->kind == EMU_ASYNC_BULK_REDUCE ||
                event->kind == EMU_ASYNC_TENSOR_STORE || event->kind == EMU_ASYNC_TENSOR_REDUCE;
    int matrix =
        event->kind == EMU_ASYNC_WGMMA || event->kind == EMU_ASYNC_TCGEN05_MMA || event->kind == EMU_ASYNC_TCGEN05_ST;
    if (!warp || matrix)
        return;
    if (event->moment == EMU_ASYNC_SIGNAL) {
        emu_event_tell(warp, op, EMU_EVENT_SIGNAL, event->barrier, event->bytes, event->completed);
    } else if (store && (event->moment == EMU_ASYNC_ISSUE || event->moment == EMU_ASYNC_READ)) {
        emu_event_tell(warp, op, event->moment == EMU_ASYNC_ISSUE ? EMU_EVENT_STORE : EMU_EVENT_STORE_READ,
                       event->source, event->extent, 0);
    } else if (!store && event->moment == EMU_ASYNC_WRITE && event->extent) {
        emu_event_tell(warp, op, EMU_EVENT_WRITTEN, event->destination, event->extent, 0);
    } else if (!store && event->moment == EMU_ASYNC_ISSUE && event->extent) {
        if (!event->targets)
            emu_event_tell(warp, op, EMU_EVENT_ISSUE, event->destination, event->extent, 0);
        for (unsigned rank = 0; rank < EMU_MAX_CLUSTER; rank++) /* a multicast: one for each block that receives it */
            if (event->targets >> rank & 1)
                emu_event_tell(warp, op, EMU_EVENT_ISSUE, emu_async_target(event->destination, rank), event->extent, 0);
    }
}
