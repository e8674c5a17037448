/* A program over tilewright.c and tilewright.h alone (tests/single.sh).
 *   maps      a line for each call: what encode answers, and the call as `tilewright tensormap encode` reads it
 *   compile   a kernel through the cache */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tilewright.h"

static void list(const char *name, const uint32_t *value, uint32_t count)
{
    uint32_t i;
    printf(",\"%s\":[", name);
    for (i = 0; i < count; i++)
        printf("%s%" PRIu32, i ? "," : "", value[i]);
    printf("]");
}

static void answer(const struct tw_tensormap_call *c)
{
    uint64_t map[16];
    uint32_t i, n, rc = tw_tensormap_encode(c, 90, map) != TW_OK;
    const unsigned char *byte = (const unsigned char *)map;
    printf("%d:", (int)rc);
    for (n = 0; !rc && n < sizeof map; n++)
        printf("%02x", byte[n]);
    printf(" {\"f\":\"%s\",\"dtype\":%" PRIu32 ",\"rank\":%" PRIu32 ",\"addr\":%" PRIu64 ",\"dim\":[",
           c->func == TW_TENSORMAP_IM2COL ? "im2col" : "tiled", c->dtype, c->rank, c->addr);
    for (i = 0; i < c->rank; i++)
        printf("%s%" PRIu64, i ? "," : "", c->dim[i]);
    printf("],\"stride\":[");
    for (i = 0; i + 1 < c->rank; i++)
        printf("%s%" PRIu64, i ? "," : "", c->stride[i]);
    printf("]");
    list("estride", c->estride, c->rank);
    if (c->func == TW_TENSORMAP_IM2COL) {
        printf(",\"lower\":[%d,%d],\"upper\":[%d,%d],\"channels\":%" PRIu32 ",\"pixels\":%" PRIu32, (int)c->lower[0],
               (int)c->lower[1], (int)c->upper[0], (int)c->upper[1], c->channels, c->pixels);
    } else {
        list("box", c->box, c->rank);
    }
    printf(",\"interleave\":0,\"swizzle\":%" PRIu32 ",\"l2\":%" PRIu32 ",\"oob\":%" PRIu32 "}\n", c->swizzle, c->l2,
           c->oob);
}

static int maps(void)
{
    struct tw_tensormap_call c;
    uint32_t rank, i;
    for (rank = 1; rank <= 5; rank++) { /* bf16, 64 x 8 x ... of a tensor twice as large each way */
        uint64_t bytes = 2;
        memset(&c, 0, sizeof c);
        c.func = TW_TENSORMAP_TILED;
        c.dtype = (uint32_t)tw_dtype_info(TW_BF16)->tensormap;
        c.rank = rank;
        c.addr = UINT64_C(0x7f0000000000) + 1024 * rank;
        for (i = 0; i < rank; i++) {
            c.box[i] = i ? 8 : 64;
            c.dim[i] = 2 * c.box[i] + 8 * i;
            c.estride[i] = 1;
            bytes *= c.dim[i];
            if (i + 1 < rank)
                c.stride[i] = bytes;
        }
        c.swizzle = rank < 4 ? 3 : 0;
        c.box[rank - 1] = rank < 4 ? c.box[rank - 1] : 1;
        c.l2 = 2;
        answer(&c);
        c.addr += 8; /* refused: no multiple of 16 */
        answer(&c);
    }
    memset(&c, 0, sizeof c);
    c.func = TW_TENSORMAP_IM2COL;
    c.dtype = (uint32_t)tw_dtype_info(TW_FP16)->tensormap;
    c.rank = 4;
    c.addr = UINT64_C(0x7f0000000000);
    c.channels = 64;
    c.pixels = 128;
    c.lower[0] = c.lower[1] = -1;
    c.upper[0] = c.upper[1] = -1;
    for (i = 0; i < 4; i++) {
        c.dim[i] = i == 3 ? 2 : 64;
        c.estride[i] = 1;
        if (i < 3)
            c.stride[i] = UINT64_C(128) << (6 * i);
    }
    c.swizzle = 3;
    answer(&c);
    return 0;
}

static int compile(void)
{
    static const char source[] = "extern \"C\" __global__ void add(float *x) { x[threadIdx.x] += 1.0f; }\n";
    struct tw_compile_request request;
    struct tw_compiled compiled;
    struct tw_runtime rt;
    struct tw_error error;
    int status;
    memset(&request, 0, sizeof request);
    memset(&compiled, 0, sizeof compiled);
    request.source = source;
    request.source_bytes = sizeof source - 1;
    request.name = "/single/add.cu";
    request.entry = "add";
    request.arch = "sm_90a";
    status = tw_runtime_init(&rt, &error);
    if (status == TW_OK) {
        status = tw_compile_cached(&rt, &request, &compiled, &error);
        if (status == TW_OK)
            printf("%s, %d registers\n", compiled.cache == TW_CACHE_HIT ? "from the cache" : "compiled",
                   (int)compiled.info.registers);
        tw_compiled_free(&rt, &compiled);
        tw_runtime_close(&rt);
    }
    if (status != TW_OK)
        fprintf(stderr, "%s\n", error.text);
    return status;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "maps") == 0)
        return maps();
    return argc == 2 && strcmp(argv[1], "compile") == 0 ? compile() : 2;
}
