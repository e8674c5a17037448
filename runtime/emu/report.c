/* Findings: one line each, counted where they come again. */
#include "emu_internal.h"

static const struct ptx_instruction *source_of(const struct emu_warp *warp, const struct emu_op *op)
{
    const struct ptx_function *f = warp->function->ptx;
    return op && op->source != PTX_NONE && op->source < f->instruction_count ? &f->instructions[op->source] : NULL;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* "MNEMONIC at FILE:LINE in FILE:LINE (PTX line N)" */
static size_t instruction_text(const struct ptx_module *ptx, const struct ptx_instruction *in, char *out, size_t room)
{
    char text[96];
    ptx_mnemonic(in, text, sizeof text);
    size_t n = (size_t)snprintf(out, room, "%s", text);
    for (uint32_t l = in->location, first = 1; l != PTX_NONE && n < room / 2; first = 0) {
        const struct ptx_location *location = &ptx->locations[l];
        if (location->line)
            n += (size_t)snprintf(out + n, room - n, "%s%s:%u", first ? " at " : " in ",
                                  base_name(ptx_location_path(ptx, l)), location->line);
        l = location->inlined_at;
    }
    if (n < room)
        n += (size_t)snprintf(out + n, room - n, " (PTX line %u)", in->line);
    return n < room ? n : room - 1;
}

void emu_place(const struct emu_warp *warp, const struct emu_op *op, char *out, size_t out_bytes)
{
    const struct ptx_instruction *in = source_of(warp, op);
    const struct emu_block *block = warp->block;
    size_t n = in ? instruction_text(warp->launch->kernel->module->ptx, in, out, out_bytes) : 0;
    n += (size_t)snprintf(out + n, out_bytes - n, "%sblock (%u, %u, %u), warp %u", n ? ", " : "", block->index[0],
                          block->index[1], block->index[2], warp->index);
    if (warp->mask && warp->mask != warp->exists && n < out_bytes)
        snprintf(out + n, out_bytes - n, ", lanes 0x%x", warp->mask);
}

static void set_source(struct emu_report *report, const struct ptx_module *ptx, const struct ptx_instruction *in)
{
    report->ptx_line = in->line;
    if (in->location != PTX_NONE) {
        report->line = ptx->locations[in->location].line;
        report->file = ptx_location_path(ptx, in->location);
    }
}

void emu_place_number(struct emu_launch *launch, uint32_t position, uint64_t block, uint32_t warp, char *out,
                      size_t out_bytes, struct emu_report *report)
{
    const struct emu_module *module = launch->kernel->module;
    const struct ptx_instruction *in = NULL;
    for (uint32_t i = 0; i < module->ptx->function_count; i++) {
        const struct emu_function *f = module->functions[i];
        if (f && position >= f->position && position - f->position < f->ptx->instruction_count)
            in = &f->ptx->instructions[position - f->position];
    }
    uint32_t index[3], rank = (uint32_t)(block % launch->cluster_blocks);
    uint64_t cluster = block / launch->cluster_blocks;
    for (int i = 0; i < 3; i++) {
        index[i] = (uint32_t)(cluster % launch->clusters[i]) * launch->cluster[i] + rank % launch->cluster[i];
        cluster /= launch->clusters[i];
        rank /= launch->cluster[i];
    }
    size_t n = in ? instruction_text(module->ptx, in, out, out_bytes) : 0;
    snprintf(out + n, out_bytes - n, "%sblock (%u, %u, %u), warp %u", n ? ", " : "", index[0], index[1], index[2], warp);
    if (!report)
        return;
    memcpy(report->block, index, sizeof index);
    if (in)
        set_source(report, module->ptx, in);
}

void emu_fail_launch(struct emu_launch *launch, int status, const char *format, ...)
{
    if (launch->status)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(launch->error.text, sizeof launch->error.text, format, arguments);
    va_end(arguments);
    launch->status = status;
}

void emu_report_add(struct emu_device *device, const struct emu_report *report)
{
    struct emu_reports *reports = &device->reports;
    struct tw_runtime *rt = device->device.rt;
    for (size_t i = 0; i < reports->count; i++) {
        struct emu_report *have = &reports->items[i];
        if (!strcmp(have->name, report->name) && have->ptx_line == report->ptx_line && have->line == report->line) {
            have->count++;
            return;
        }
    }
    if (reports->count == reports->room) {
        size_t room = reports->room ? 2 * reports->room : 16;
        struct emu_report *items = tw_realloc(rt, reports->items, room * sizeof *items);
        if (!items)
            return;
        reports->items = items;
        reports->room = room;
    }
    struct emu_report *to = &reports->items[reports->count];
    *to = *report;
    char *text = tw_strdup(rt, report->text);
    char *file = tw_strdup(rt, report->file ? report->file : "");
    if (!text || !file) {
        tw_free(rt, text);
        tw_free(rt, file);
        return;
    }
    to->text = text;
    to->file = file;
    to->count = 1;
    reports->count++;
    device->statistics.reports = reports->count;
    if (device->options.report)
        device->options.report(device->options.report_context, to);
}

void emu_reports_free(struct emu_device *device)
{
    for (size_t i = 0; i < device->reports.count; i++) {
        /* the texts are this file's own copies */
        tw_free(device->device.rt, (char *)(uintptr_t)device->reports.items[i].text);
        tw_free(device->device.rt, (char *)(uintptr_t)device->reports.items[i].file);
    }
    tw_free(device->device.rt, device->reports.items);
    memset(&device->reports, 0, sizeof device->reports);
}

const struct emu_op *emu_report_at(struct emu_warp *warp, const struct emu_op *op, const char *name, uint64_t address,
                                   int fatal, const char *format, ...)
{
    struct emu_launch *launch = warp->launch;
    const struct ptx_module *ptx = launch->kernel->module->ptx;
    const struct ptx_instruction *in = source_of(warp, op);
    char what[400], where[400], text[900];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    emu_place(warp, op, where, sizeof where);
    snprintf(text, sizeof text, "hazard %s: %s: %s", name, what, where);
    struct emu_report report = {.name = name, .text = text, .address = address, .warp = warp->index};
    memcpy(report.block, warp->block->index, sizeof report.block);
    if (in)
        set_source(&report, ptx, in);
    emu_report_add(launch->device, &report);
    if (fatal || launch->device->options.hazards == EMU_HAZARDS_FATAL)
        emu_fail_launch(launch, TW_ERROR_LAUNCH, "%s", text);
    return NULL;
}
