/* Functions that CUDA's own library brings: vprintf, malloc, free, __assertfail. Their parameters lie in the caller's
   local memory, as for any call. */
#include <stdio.h>
#include <string.h>

#include "memory.h"
#include "operations.h"
#include "report.h"

int emu_builtin(const char *name)
{
    static const char *const names[] = {"vprintf", "malloc", "free", "__assertfail"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!strcmp(names[i], name))
            return 1;
    return 0;
}

static uint64_t argument(struct emu_warp *warp, const struct emu_call *call, uint32_t index, unsigned lane)
{
    const struct emu_move *move = &call->moves[index];
    uint64_t value = 0;
    if (index >= call->move_count)
        return 0;
    if (move->from_register) {
        memcpy(&value, (unsigned char *)emu_at(warp, move->from) + lane * move->from_register, move->from_register);
    } else {
        uint64_t at = EMU_LOCAL_WINDOW + warp->paths[warp->current].local + move->from;
        emu_lane_read(warp, lane, at, &value, move->bytes < 8 ? move->bytes : 8);
    }
    return value;
}

static void result(struct emu_warp *warp, const struct emu_call *call, unsigned lane, uint64_t value, uint32_t bytes)
{
    if (call->target != PTX_NONE)
        emu_lane_write(warp, lane, EMU_LOCAL_WINDOW + warp->paths[warp->current].local + call->target, &value, bytes);
}

static void text_at(struct emu_warp *warp, unsigned lane, uint64_t address, char *out, size_t most)
{
    size_t n = 0;
    while (n + 1 < most && !emu_lane_read(warp, lane, address + n, &out[n], 1) && out[n])
        n++;
    out[n] = 0;
}

static void print(struct emu_warp *warp, const char *text, size_t bytes)
{
    const struct emu_options *options = &warp->launch->device->options;
    if (options->print)
        options->print(options->print_context, text, bytes);
    else
        fwrite(text, 1, bytes, stdout);
}

/* Up to four digits of spec[*i] on to out[n] on; returns where they end there. */
static size_t digits(const char *spec, size_t *i, char *out, size_t n)
{
    for (unsigned k = 0; spec[*i] >= '0' && spec[*i] <= '9'; k++, (*i)++)
        if (k < 4)
            out[n++] = spec[*i];
    return n;
}

/* One conversion, "%-8.3f" in spec. The buffer holds 4 bytes for int, 8 for the rest, each at a multiple of its
   size. */
static int convert(struct emu_warp *warp, unsigned lane, const char *spec, uint64_t buffer, uint64_t *at, char *out,
                   size_t room)
{
    size_t length = strlen(spec);
    char last = spec[length - 1];
    int longs = strchr(spec, 'l') || strchr(spec, 'z') || strchr(spec, 'j') || strchr(spec, 't');
    int wide = longs || strchr("fFeEgGaAps", last);
    unsigned bytes = wide ? 8 : 4;
    *at = (*at + bytes - 1) & ~(uint64_t)(bytes - 1);
    uint64_t value = 0;
    emu_lane_read(warp, lane, buffer + *at, &value, bytes);
    *at += bytes;
    /* Flags, width, precision, size, and nothing else: the host's printf sees the first three, with width and precision
       cut to four digits. */
    char plain[64] = "%";
    size_t n = 1, i = 1;
    for (; spec[i] && strchr("-+ #0", spec[i]) && n < 16; i++)
        plain[n++] = spec[i];
    n = digits(spec, &i, plain, n);
    if (spec[i] == '.') {
        int negative = spec[++i] == '-'; /* as if there were none */
        i += negative ? 1u : 0;
        plain[n] = '.';
        size_t end = digits(spec, &i, plain, n + 1);
        n = negative ? n : end;
    }
    while (spec[i] && strchr("hlzjtL", spec[i]))
        i++;
    if (i + 1 != length)
        return -1;
    char string[512];
    switch (last) {
    case 'd':
    case 'i':
        memcpy(plain + n, "lld", 4);
        return snprintf(out, room, plain, wide ? (long long)value : (long long)(int32_t)value);
    case 'u':
    case 'x':
    case 'X':
    case 'o':
        plain[n] = plain[n + 1] = 'l';
        plain[n + 2] = last;
        plain[n + 3] = 0;
        return snprintf(out, room, plain, (unsigned long long)value);
    case 'c':
        plain[n] = last;
        plain[n + 1] = 0;
        return snprintf(out, room, plain, (int)value);
    case 'p':
        plain[n] = last;
        plain[n + 1] = 0;
        return snprintf(out, room, plain, (void *)(uintptr_t)value);
    case 's':
        text_at(warp, lane, value, string, sizeof string);
        plain[n] = last;
        plain[n + 1] = 0;
        return snprintf(out, room, plain, string);
    default: {
        double number;
        memcpy(&number, &value, 8);
        plain[n] = last;
        plain[n + 1] = 0;
        return snprintf(out, room, plain, number);
    }
    }
}

/* Printf of one lane. Returns the number of arguments, as CUDA's does. */
static int format(struct emu_warp *warp, unsigned lane, uint64_t text, uint64_t buffer)
{
    char pattern[4096], out[8192];
    size_t n = 0;
    uint64_t at = 0;
    int count = 0;
    text_at(warp, lane, text, pattern, sizeof pattern);
    for (const char *p = pattern; *p && n + 1 < sizeof out;) {
        if (*p != '%') {
            out[n++] = *p++;
            continue;
        }
        if (p[1] == '%') {
            out[n++] = '%';
            p += 2;
            continue;
        }
        char spec[48];
        size_t k = 0;
        do {
            if (*p == '*') { /* width or precision from an argument */
                int32_t number = 0;
                at = (at + 3) & ~UINT64_C(3);
                emu_lane_read(warp, lane, buffer + at, &number, 4);
                at += 4;
                count++;
                k += (size_t)snprintf(spec + k, sizeof spec - k, "%d", number);
                p++;
            } else {
                spec[k++] = *p++;
            }
        } while (*p && k < 24 && !strchr("diouxXcspfFeEgGaA", spec[k - 1]));
        spec[k] = 0;
        if (!strchr("diouxXcspfFeEgGaA", spec[k - 1]))
            break;
        int written = convert(warp, lane, spec, buffer, &at, out + n, sizeof out - n);
        count++;
        if (written > 0)
            n += (size_t)written < sizeof out - n ? (size_t)written : sizeof out - n - 1;
    }
    print(warp, out, n);
    return count;
}

const struct emu_op *emu_op_builtin(struct emu_warp *warp, const struct emu_op *op)
{
    const struct emu_call *call = op->extra;
    struct emu_device *device = warp->launch->device;
    uint32_t lanes = call->guard == PTX_NONE ? warp->lanes.mask : warp->lanes.mask & emu_pred(warp, call->guard);
    const char *name = ptx_name(call->module->ptx, call->builtin->name);
    for (uint32_t m = lanes; m; m &= m - 1) {
        unsigned lane = emu_first(m);
        if (!strcmp(name, "vprintf")) {
            int count = format(warp, lane, argument(warp, call, 0, lane), argument(warp, call, 1, lane));
            result(warp, call, lane, (uint32_t)count, 4);
        } else if (!strcmp(name, "malloc")) {
            struct emu_region *region = NULL;
            uint64_t bytes = argument(warp, call, 0, lane);
            size_t heap = device->options.heap_bytes, left = heap > device->heap ? heap - device->heap : 0;
            if (bytes <= left && emu_region_new(device, bytes, 16, &region, NULL) == TW_OK) {
                region->from_kernel = 1;
                device->heap += bytes;
            }
            result(warp, call, lane, region ? region->base : 0, 8);
        } else if (!strcmp(name, "free")) {
            uint64_t address = argument(warp, call, 0, lane);
            struct emu_region *region = emu_region_find(device, address);
            if (address && (!region || region->base != address || !region->from_kernel))
                return emu_report_at(warp, op, "BOUNDS", address, 1, "free of 0x%llx, which malloc did not give",
                                     (unsigned long long)address);
            emu_region_free(device, region);
            for (struct emu_cluster *c = warp->launch->resident; c; c = c->next)
                for (uint32_t b = 0; b < c->block_count; b++)
                    for (uint32_t w = 0; w < c->blocks[b].warp_count; w++)
                        c->blocks[b].warps[w].region = NULL;
        } else {
            char text[512], file[256], function[256], where[256];
            text_at(warp, lane, argument(warp, call, 0, lane), text, sizeof text);
            text_at(warp, lane, argument(warp, call, 1, lane), file, sizeof file);
            text_at(warp, lane, argument(warp, call, 3, lane), function, sizeof function);
            emu_place(warp, op, where, sizeof where);
            emu_fail_launch(warp->launch, TW_ERROR_LAUNCH, "%s:%u: %s: assertion '%s' failed (%s)", file,
                            (unsigned)argument(warp, call, 2, lane), function, text, where);
            return NULL;
        }
    }
    return op + 1;
}
