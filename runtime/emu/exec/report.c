/* Findings: one line each, counted where they come again. */
#include <stdarg.h>
#include <stdio.h>

#include "report.h"
#include "emu/hazard/hazard.h"
#include "exec.h"
#include "memory.h"

enum { MOST_OF_A_NAME = 8 }; /* reports of one name in a launch; further places are counted with the last of them */

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

static size_t append(char *out, size_t room, size_t n, const char *format, ...) TW_PRINTF(4, 5);
static size_t append(char *out, size_t room, size_t n, const char *format, ...)
{
    if (n >= room)
        return n;
    va_list arguments;
    va_start(arguments, format);
    int more = vsnprintf(out + n, room - n, format, arguments);
    va_end(arguments);
    n += more > 0 ? (size_t)more : 0;
    return n < room ? n : room - 1;
}

/* "MNEMONIC at FILE:LINE in FILE:LINE", through all that was inlined. */
static size_t instruction_text(const struct ptx_module *ptx, const struct ptx_instruction *in, char *out, size_t room)
{
    char text[96];
    ptx_mnemonic(in, text, sizeof text);
    size_t n = append(out, room, 0, "%s", text);
    for (uint32_t l = in->location, first = 1; l != PTX_NONE && n < room / 2; first = 0) {
        const struct ptx_location *location = &ptx->locations[l];
        if (location->line)
            n = append(out, room, n, "%s%s:%u", first ? " at " : " in ", base_name(ptx_location_path(ptx, l)),
                       location->line);
        l = location->inlined_at;
    }
    return n;
}

static size_t place_text(const struct ptx_module *ptx, const struct ptx_instruction *in, const uint32_t block[3],
                         uint32_t warp, char *out, size_t room)
{
    size_t n = 0;
    if (in) {
        n = instruction_text(ptx, in, out, room);
        n = append(out, room, n, " (PTX line %u), ", in->line);
    }
    return append(out, room, n, "block (%u, %u, %u), warp %u", block[0], block[1], block[2], warp);
}

void emu_place(const struct emu_warp *warp, const struct emu_op *op, char *out, size_t out_bytes)
{
    size_t n = place_text(warp->launch->kernel->module->ptx, source_of(warp, op), warp->block->index, warp->index, out,
                          out_bytes);
    if (warp->lanes.mask && warp->lanes.mask != warp->exists)
        append(out, out_bytes, n, ", lanes 0x%x", warp->lanes.mask);
}

int emu_region_name(const struct emu_launch *launch, uint64_t address, char *out, size_t room, int *stage)
{
    *out = 0;
    if (address < EMU_SHARED_WINDOW || address >= EMU_LOCAL_WINDOW || emu_is_tensor(address))
        return 0;
    uint64_t at = address % EMU_SHARED_STRIDE - EMU_SHARED_START - launch->kernel->module->dynamic_offset;
    for (size_t i = 0; i < launch->range_count; i++) {
        const struct tw_shared_range *r = &launch->ranges[i];
        if (at - r->first >= r->bytes)
            continue;
        int one = r->stage_bytes && r->stage_bytes < r->bytes ? (int)((at - r->first) / r->stage_bytes) : -1;
        if (stage)
            *stage = one;
        if (one >= 0)
            snprintf(out, room, "%s, stage %d", r->name, one);
        else
            snprintf(out, room, "%s", r->name);
        return 1;
    }
    return 0;
}

/* The static array in which an offset lies, or behind whose end. */
static size_t static_text(const struct emu_module *module, uint64_t offset, char *out, size_t room, size_t n)
{
    const struct ptx_module *ptx = module->ptx;
    const struct ptx_variable *at = NULL;
    uint64_t from = 0;
    for (uint32_t i = 0; i < ptx->variable_count; i++) {
        const struct ptx_variable *v = &ptx->variables[i];
        uint32_t first = module->shared_offset[i];
        if (v->space != PTX_SPACE_SHARED || v->unsized || first == PTX_NONE || first > offset || (at && first < from))
            continue;
        at = v;
        from = first;
    }
    if (!at || offset >= module->dynamic_offset)
        return n;
    uint64_t in = offset - from;
    return append(out, room, n, in < at->bytes ? " (%s + %llu)" : " (%s + %llu, of %llu bytes)",
                  ptx_name(ptx, at->name), (unsigned long long)in, (unsigned long long)at->bytes);
}

size_t emu_address_text(const struct emu_launch *launch, uint64_t address, char *out, size_t room)
{
    char name[120];
    if (address < EMU_SHARED_WINDOW || address >= EMU_LOCAL_WINDOW)
        return append(out, room, 0, "address 0x%llx", (unsigned long long)address);
    if (emu_is_tensor(address)) {
        uint64_t at = address % EMU_SHARED_STRIDE - EMU_TENSOR_OFFSET;
        return append(out, room, 0, "tensor memory lane %u, column %u of rank %u", (unsigned)(at % 512 / 4),
                      (unsigned)(at / 512), emu_shared_rank(address));
    }
    uint64_t offset = address % EMU_SHARED_STRIDE;
    size_t n =
        append(out, room, 0, "shared memory %c%llu of rank %u", offset < EMU_SHARED_START ? '-' : '+',
               (unsigned long long)(offset < EMU_SHARED_START ? EMU_SHARED_START - offset : offset - EMU_SHARED_START),
               emu_shared_rank(address));
    if (emu_region_name(launch, address, name, sizeof name, NULL))
        return append(out, room, n, " (%s)", name);
    return static_text(launch->kernel->module, offset - EMU_SHARED_START, out, room, n);
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

/* ---- The list ---------------------------------------------------------------------------------------------------- */

static const char *todo_of(const char *name)
{
    const struct emu_hazard_info *info = emu_hazard_info(emu_hazard_find(name));
    return info ? info->todo : "";
}

static void entry_free(struct tw_runtime *rt, struct emu_report_entry *e)
{
    /* the texts are this file's own copies */
    tw_free(rt, (char *)(uintptr_t)e->report.text);
    tw_free(rt, (char *)(uintptr_t)e->report.what);
    tw_free(rt, (char *)(uintptr_t)e->report.file);
    tw_free(rt, (char *)(uintptr_t)e->report.other_file);
    tw_free(rt, (char *)(uintptr_t)e->report.region);
    tw_free(rt, e->key);
}

static struct emu_report_entry *entry_new(struct emu_device *device)
{
    struct emu_reports *reports = &device->reports;
    if (reports->count == reports->room) {
        size_t room = reports->room ? 2 * reports->room : 16;
        struct emu_report_entry *items = tw_realloc(device->device.rt, reports->items, room * sizeof *items);
        if (!items)
            return NULL;
        reports->items = items;
        reports->room = room;
    }
    struct emu_report_entry *e = &reports->items[reports->count];
    memset(e, 0, sizeof *e);
    return e;
}

static int same_place(const struct emu_report_entry *e, const struct emu_report *report, const char *key)
{
    return !strcmp(e->report.name, report->name) && !strcmp(e->key, key);
}

/* text: the line; key: where, to be told from other places of the same name. Its number plus 1; 0: no report of its
   own. */
static size_t report_add(struct emu_launch *launch, const struct emu_report *report, const char *text, const char *key)
{
    struct emu_device *device = launch->device;
    struct tw_runtime *rt = device->device.rt;
    struct emu_reports *reports = &device->reports;
    size_t alike = 0, last = 0;
    for (size_t i = launch->reports_before; i < reports->count; i++) {
        if (same_place(&reports->items[i], report, key)) {
            reports->items[i].report.count++;
            return i + 1;
        }
        if (!strcmp(reports->items[i].report.name, report->name)) {
            alike++;
            last = i;
        }
    }
    if (alike >= MOST_OF_A_NAME) {
        reports->items[last].report.more++;
        return 0;
    }
    struct emu_report_entry *e = entry_new(device);
    if (!e)
        return 0;
    e->report = *report;
    e->report.todo = todo_of(report->name);
    e->report.count = 1;
    e->report.what = tw_strdup(rt, report->what);
    e->report.file = tw_strdup(rt, report->file ? report->file : "");
    e->report.other_file = tw_strdup(rt, report->other_file ? report->other_file : "");
    e->report.region = tw_strdup(rt, report->region ? report->region : "");
    e->report.text = tw_strdup(rt, text);
    e->key = tw_strdup(rt, key);
    if (!e->report.what || !e->report.file || !e->report.other_file || !e->report.region || !e->report.text ||
        !e->key) {
        entry_free(rt, e);
        return 0;
    }
    reports->count++;
    device->statistics.reports = reports->count;
    if (device->options.report)
        device->options.report(device->options.report_context, &e->report);
    return reports->count;
}

void emu_reports_end(struct emu_launch *launch)
{
    const struct emu_reports *reports = &launch->device->reports;
    if (reports->count == launch->reports_before ||
        (launch->status ? launch->status != TW_ERROR_LAUNCH : launch->device->options.hazards == EMU_HAZARDS_OFF))
        return;
    /* The first finding is the news; what a fault of the launch said is among the reports, too. */
    launch->status = TW_OK;
    emu_fail_launch(launch, TW_ERROR_LAUNCH, "%s%s", reports->items[launch->reports_before].report.text,
                    reports->count > launch->reports_before + 1 ? " (and more)" : "");
}

void emu_reports_free(struct emu_device *device)
{
    for (size_t i = 0; i < device->reports.count; i++)
        entry_free(device->device.rt, &device->reports.items[i]);
    tw_free(device->device.rt, device->reports.items);
    memset(&device->reports, 0, sizeof device->reports);
}

/* ---- Findings ---------------------------------------------------------------------------------------------------- */

static void set_source(struct emu_report *report, const struct ptx_module *ptx, const struct ptx_instruction *in)
{
    if (!in)
        return;
    report->ptx_line = in->line;
    if (in->location != PTX_NONE) {
        report->line = ptx->locations[in->location].line;
        report->file = ptx_location_path(ptx, in->location);
    }
}

static void set_region(struct emu_report *report, const struct emu_launch *launch, char *name, size_t room)
{
    report->stage = -1;
    emu_region_name(launch, report->address, name, room, &report->stage);
    report->region = name;
}

/* What places are told apart by: the source lines, or the PTX line where none are known. */
static size_t key_of(const struct ptx_module *ptx, const struct ptx_instruction *in, char *out, size_t room)
{
    *out = 0;
    if (!in)
        return 0;
    if (in->location == PTX_NONE || !ptx->locations[in->location].line)
        return append(out, room, 0, "%u", in->line);
    return instruction_text(ptx, in, out, room);
}

/* The instruction of a number (emu_function.position). */
static const struct ptx_instruction *instruction_at(const struct emu_module *module, uint32_t position)
{
    for (uint32_t i = 0; i < module->ptx->function_count; i++) {
        const struct emu_function *f = module->functions[i];
        if (f && position >= f->position && position - f->position < f->ptx->instruction_count)
            return &f->ptx->instructions[position - f->position];
    }
    return NULL;
}

static void block_index(const struct emu_launch *launch, uint64_t block, uint32_t index[3])
{
    uint32_t rank = (uint32_t)(block % launch->cluster_blocks);
    uint64_t cluster = block / launch->cluster_blocks;
    for (int i = 0; i < 3; i++) {
        index[i] = (uint32_t)(cluster % launch->clusters[i]) * launch->cluster[i] + rank % launch->cluster[i];
        cluster /= launch->clusters[i];
        rank /= launch->cluster[i];
    }
}

/* Whether an instruction comes from CUDA's own cuda::barrier. */
static int is_cuda_barrier(const struct ptx_module *ptx, const struct ptx_instruction *in)
{
    for (uint32_t l = in ? in->location : PTX_NONE; l != PTX_NONE; l = ptx->locations[l].inlined_at) {
        const char *path = ptx_location_path(ptx, l);
        if (strstr(path, "cuda/__barrier/") || strstr(path, "cuda/std/__barrier/") || strstr(path, "cuda/barrier") ||
            strstr(path, "cuda/std/barrier"))
            return 1;
    }
    return 0;
}

size_t emu_report_found(struct emu_launch *launch, const struct emu_hazard_report *found)
{
    const struct emu_module *module = launch->kernel->module;
    const struct emu_hazard_info *info = emu_hazard_info(found->name);
    const struct ptx_instruction *in = instruction_at(module, found->position);
    const struct ptx_instruction *other_in =
        found->other == EMU_HAZARD_NOWHERE ? NULL : instruction_at(module, found->other);
    struct emu_report report = {
        .name = info->name, .what = found->text, .address = found->address, .warp = found->warp, .hazard = 1};
    char head[1600], key[800], region[120], what[600];
    uint32_t other_block[3];
    if (found->name == EMU_HAZARD_BARRIER_INIT && found->other != EMU_HAZARD_NOWHERE &&
        is_cuda_barrier(module->ptx, other_in)) {
        snprintf(what, sizeof what,
                 "%s; it is a cuda::barrier, whose init makes no such fence: let the thread that calls init execute "
                 "fence.proxy.async.shared::cta behind it, before the block meets",
                 found->text);
        report.what = what;
    }
    block_index(launch, found->block, report.block);
    set_source(&report, module->ptx, in);
    set_region(&report, launch, region, sizeof region);
    size_t n = append(head, sizeof head, 0, "hazard %s: %s: ", info->name, report.what);
    n += place_text(module->ptx, in, report.block, found->warp, head + n, sizeof head - n);
    n = append(head, sizeof head, n, ", lanes 0x%x", found->lanes);
    if (found->address) {
        n = append(head, sizeof head, n, ", ");
        n += emu_address_text(launch, found->address, head + n, sizeof head - n);
    }
    if (found->other != EMU_HAZARD_NOWHERE) {
        struct emu_report other = {.file = NULL};
        set_source(&other, module->ptx, other_in);
        report.other_file = other.file;
        report.other_line = other.line;
        report.other_ptx_line = other.ptx_line;
        block_index(launch, found->other_block, other_block);
        n = append(head, sizeof head, n, "; the other is ");
        place_text(module->ptx, other_in, other_block, found->other_warp, head + n, sizeof head - n);
    }
    size_t k = key_of(module->ptx, in, key, sizeof key / 2);
    k = append(key, sizeof key, k, "|");
    key_of(module->ptx, other_in, key + k, sizeof key - k);
    size_t number = report_add(launch, &report, head, key);
    if (launch->device->options.hazards == EMU_HAZARDS_FATAL)
        emu_fail_launch(launch, TW_ERROR_LAUNCH, "%s", head);
    return number;
}

const struct emu_op *emu_report_at(struct emu_warp *warp, const struct emu_op *op, const char *name, uint64_t address,
                                   int fatal, const char *format, ...)
{
    struct emu_launch *launch = warp->launch;
    const struct ptx_module *ptx = launch->kernel->module->ptx;
    const struct ptx_instruction *in = source_of(warp, op);
    char what[2600], head[3200], key[400], region[120];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    if (launch->status && launch->device->options.hazards == EMU_HAZARDS_FATAL)
        return NULL; /* the first has ended the launch */
    if (fatal && launch->hazard)
        emu_hazard_settle(launch->hazard);
    struct emu_report report = {.name = name, .what = what, .address = address, .warp = warp->index};
    memcpy(report.block, warp->block->index, sizeof report.block);
    set_source(&report, ptx, in);
    set_region(&report, launch, region, sizeof region);
    size_t n = append(head, sizeof head, 0, "hazard %s: ", name), lines = strcspn(what, "\n");
    n = append(head, sizeof head, n, "%.*s: ", (int)lines, what);
    emu_place(warp, op, head + n, sizeof head - n);
    n += strlen(head + n);
    if (address >= EMU_SHARED_WINDOW && address < EMU_LOCAL_WINDOW) {
        n = append(head, sizeof head, n, ", ");
        n += emu_address_text(launch, address, head + n, sizeof head - n);
    }
    append(head, sizeof head, n, "%s", what + lines);
    key_of(ptx, in, key, sizeof key);
    report_add(launch, &report, head, key);
    if (fatal || launch->device->options.hazards == EMU_HAZARDS_FATAL)
        emu_fail_launch(launch, TW_ERROR_LAUNCH, "%s", head);
    return NULL;
}
