/* The tensor-map encoder against the driver's own, on random calls: verdict and 128 bytes. TAP on stdout.
     usage: tensormap_driver [CALLS [SEED]]
   Each call begins as one that is accepted; then up to four of its arguments are drawn anew, from the edges of the
   rules or from anywhere, so that most calls lie on one side of some edge or the other. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "driver.h"
#include "tensormap/tensormap_args.h"
#include "tensormap/tensormap_driver.h"

static uint64_t seed;

static uint64_t draw(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed * UINT64_C(0x2545f4914f6cdd1d);
}

static uint64_t below(uint64_t bound)
{
    return (draw() >> 11) % bound;
}

/* From least to most, all magnitudes alike. */
static uint64_t magnitude(uint64_t least, uint64_t most)
{
    uint64_t cap = draw() >> below(64);
    return least + cap % (most - least + 1);
}

static struct tw_tensormap_call accepted(void)
{
    struct tw_tensormap_call c = {.func = (enum tw_tensormap_func)below(3)};
    const int tiled = c.func == TW_TENSORMAP_TILED;
    c.dtype = (uint32_t)below(13);
    c.rank = (uint32_t)(tiled ? 1 + below(5) : 3 + below(3));
    c.interleave = (uint32_t)(below(3) || c.rank < 3 ? 0 : below(3));
    c.swizzle = (uint32_t)below(4);
    c.l2 = (uint32_t)below(4);
    c.mode = (uint32_t)below(2);
    c.addr = UINT64_C(0x7f0000000000) + (draw() & 0xffffffe0);
    const struct tmap_dtype *dtype = tw_tmap_dtype(c.dtype);
    c.oob = dtype->is_float ? (uint32_t)below(2) : 0;
    uint64_t pitch = dtype->bits / 8;
    for (unsigned i = 0; i < c.rank; i++) {
        c.dim[i] = magnitude(1, i < 2 ? 1 << 16 : 1 << 9);
        pitch = (pitch * c.dim[i] + 31) / 32 * 32;
        if (i + 1 < c.rank)
            c.stride[i] = pitch % (UINT64_C(1) << 40);
        c.estride[i] = (uint32_t)(below(4) ? 1 : 1 + below(8));
        c.box[i] = (uint32_t)magnitude(1, i < 3 ? 64 : 8);
    }
    uint32_t step = 128 / dtype->bits, span = c.swizzle ? 256u << c.swizzle : 1024;
    if (span > 256 * dtype->bits)
        span = 256 * dtype->bits;
    uint32_t inner = step * (uint32_t)(1 + below(span / 128 ? span / 128 : 1));
    c.box[0] = inner;
    c.channels = inner;
    c.pixels = (uint32_t)magnitude(1, 256);
    if (below(8) == 0) { /* about as large as shared memory: an SM's, 228 KiB */
        uint64_t rest = (uint64_t)inner * dtype->bits / 8;
        for (unsigned i = 2; i < c.rank; i++)
            rest *= c.box[i] = (uint32_t)(1 + below(5));
        c.box[1] = (uint32_t)(228 * 1024 / rest + below(3) - 1);
        c.pixels = (uint32_t)(228 * 1024 / ((uint64_t)inner * dtype->bits / 8) + below(3) - 1);
    } else if (below(16) == 0) { /* products past 32 bits, and those that are 0 there */
        for (unsigned i = 0; i < c.rank; i++)
            c.box[i] = 1u << (4 + below(5));
    }
    for (unsigned i = 0; i < 3; i++) {
        c.lower[i] = -(int32_t)below(4);
        c.upper[i] = (int32_t)below(4);
    }
    return c;
}

static uint64_t edge(void)
{
    static const uint64_t edges[] = {0,  1,  2,   3,   4,   5,   7,   8,   9,    15,   16,   17,    24,    31,   32,
                                     48, 64, 127, 128, 255, 256, 257, 512, 1023, 1024, 1025, 32767, 32768, 32769};
    if (below(2))
        return edges[below(sizeof edges / sizeof *edges)];
    return (UINT64_C(1) << below(64)) + below(3) - 1;
}

static void spoil(struct tw_tensormap_call *c)
{
    enum tmap_arg arg = (enum tmap_arg)(1 + below(TMAP_ARG_COUNT - 1));
    unsigned entry = (unsigned)below(tmap_args[arg].room);
    uint64_t value = tmap_get(c, arg, entry);
    if (arg == TMAP_RANK) /* the driver reads as many entries as it is told of, and here are five */
        value = below(6);
    else if (tmap_args[arg].is_signed)
        value = below(2) ? edge() : UINT64_C(0) - edge();
    else
        switch (below(6)) {
        case 0:
            value = edge();
            break;
        case 1:
            value = magnitude(0, UINT64_MAX - 1);
            break;
        case 2:
            value += below(33) - 16;
            break;
        case 3:
            value = below(18);
            break;
        case 4: /* where 32-bit arithmetic ends */
            value = (UINT64_C(1) << (31 + below(2))) + below(17) - 8;
            break;
        default:
            value = 16 * magnitude(0, UINT64_C(1) << 37);
            break;
        }
    tmap_set(c, arg, entry, value);
}

int main(int argc, char **argv)
{
    const uint64_t calls = argc > 1 ? strtoull(argv[1], NULL, 10) : 4000000;
    const uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    struct tw_runtime rt = {0};
    struct tw_error error = {0};
    struct tw_device *device = NULL;
    uint64_t done = 0, taken = 0, wrong = 0;
    seed = first * UINT64_C(0x9e3779b97f4a7c15) | 1;
    int status = tw_runtime_init(&rt, &error);
    if (status == TW_OK)
        status = tw_device_open_cuda(&rt, 0, &device, &error);
    if (status == TW_OK)
        status = tw_device_enter(device, &error);
    if (status != TW_OK) {
        fprintf(stderr, "tensormap_driver: %s\n", error.text);
        tw_runtime_close(&rt);
        return 3;
    }
    const int cc = 10 * device->major + device->minor;
    for (; done < calls; done++) {
        struct tw_tensormap_call c = accepted();
        uint64_t ours[16] = {0};
        _Alignas(64) uint64_t theirs[16] = {0};
        char text[512];
        for (uint64_t times = below(5); times; times--)
            spoil(&c);
        const int answer = tw_driver_encode(rt.driver, &c, theirs), verdict = tw_tensormap_encode(&c, cc, ours);
        taken += answer == 0;
        if ((answer == 0) == (verdict == TW_OK) && (answer || !memcmp(ours, theirs, sizeof ours)))
            continue;
        if (wrong++ >= 20)
            continue;
        printf("# driver %d, here %d: %s\n", answer, verdict, tw_tensormap_format(&c, text, sizeof text));
        for (int i = 0; i < 16 && !answer && verdict == TW_OK; i++)
            if (ours[i] != theirs[i])
                printf("#   word %d: driver %016" PRIx64 ", here %016" PRIx64 "\n", i, theirs[i], ours[i]);
    }
    printf("# %" PRIu64 " calls from seed %" PRIu64 ", %" PRIu64 " of them accepted by the driver, %" PRIu64
           " different\n%s 1 - tensor maps as the driver encodes them\n1..1\n",
           done, first, taken, wrong, wrong || taken < calls / 10 ? "not ok" : "ok");
    tw_device_close(device);
    tw_runtime_close(&rt);
    return wrong || taken < calls / 10;
}
