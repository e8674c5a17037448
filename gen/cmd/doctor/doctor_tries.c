/* What a GPU has, tried on it: tensor maps of three kinds, encoded here and by the driver and used for a load, and a
 * product by wgmma. The kernels stand in templates/doctor/tries.cu. */
#include "cmd/doctor/doctor.h"

#include <stdalign.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"
#include "emit/embed.h"
#include "nvrtc.h"
#include "tensormap/tensormap.h"
#include "tensormap/tensormap_driver.h"

enum { SOURCE_ELEMENTS = 2080, OUT_BYTES = 2048, MAPS = 3, PRODUCT = MAPS };
enum { UINT16 = 1, SWIZZLE_128B = 3, L2_128B = 2 };

struct parameters {
    uint64_t map[16];
    uint64_t out;
    uint64_t pad[7]; /* a struct of such an alignment */
};

/* ---- what should come -------------------------------------------------------------------------------------------- */

/* Element number i of every tensor here. */
static uint32_t source(long i)
{
    return (uint32_t)i + 1;
}

/* 100 x 20 elements, in rows of 104. Columns 64 to 127 and rows 15 to 22; chunks of 16 bytes change places. */
static uint32_t tiled(int i)
{
    int row = i / 64, chunk = i % 64 / 8 ^ row % 8, column = 64 + chunk * 8 + i % 8;
    row += 15;
    return column < 100 && row < 20 ? source(104 * row + column) : 0;
}

/* 2 images of 5 x 6 pixels with 8 channels. Corners run from -1 over 6 columns and 5 rows of each image; the weight
 * stands 2 columns and 1 row from the corner. */
static uint32_t im2col(int i)
{
    int pixel = i / 8, column = pixel % 6 + 1, row = pixel / 6 % 5, image = pixel / 30;
    return column < 6 ? source(((image * 5 + row) * 6 + column) * 8 + i % 8) : 0;
}

/* 1000 elements. */
static uint32_t rank_1(int i)
{
    return 896 + i < 1000 ? source(896 + i) : 0;
}

/* The bits of the product's element in fp32. */
static uint32_t product(int i)
{
    float sum = 0;
    uint32_t bits;
    for (int k = 0; k < 16; k++)
        sum += (float)(((i / 8 * 3 + k * 5) % 7 - 3) * ((i % 8 * 2 + k) % 5 - 2));
    memcpy(&bits, &sum, sizeof bits);
    return bits;
}

static const struct attempt {
    const char *name, *entry, *encoder, *passed;
    uint32_t (*expected)(int element);
    int elements, bytes; /* of the result; bytes of one */
    struct tw_tensormap_call call;
} attempts[DOCTOR_TRIES] = {
    {"tiled",
     "load_tiled",
     "cuTensorMapEncodeTiled",
     "a box of 64 x 8 elements in swizzle 128B came as it should, with zeros outside of the tensor",
     tiled,
     512,
     2,
     {.func = TW_TENSORMAP_TILED,
      .dtype = UINT16,
      .rank = 2,
      .dim = {100, 20},
      .stride = {208},
      .box = {64, 8},
      .estride = {1, 1},
      .swizzle = SWIZZLE_128B,
      .l2 = L2_128B}},
    {"im2col",
     "load_im2col",
     "cuTensorMapEncodeIm2col",
     "32 pixels under a filter came as they should, with zeros outside of the image",
     im2col,
     256,
     2,
     {.func = TW_TENSORMAP_IM2COL,
      .dtype = UINT16,
      .rank = 4,
      .dim = {8, 6, 5, 2},
      .stride = {16, 96, 480},
      .lower = {-1, -1},
      .upper = {-1, -1},
      .channels = 8,
      .pixels = 32,
      .estride = {1, 1, 1, 1},
      .l2 = L2_128B}},
    {"rank-1",
     "load_rank_1",
     "cuTensorMapEncodeTiled",
     "256 elements came as they should, with zeros outside of the tensor",
     rank_1,
     256,
     2,
     {.func = TW_TENSORMAP_TILED,
      .dtype = UINT16,
      .rank = 1,
      .dim = {1000},
      .box = {256},
      .estride = {1},
      .l2 = L2_128B}},
    {"wgmma", "multiply", NULL, "the product of 64 x 8 x 16 elements is exact", product, 512, 4, {.rank = 0}},
};

/* ---- one try ----------------------------------------------------------------------------------------------------- */

struct trial {
    struct tw_runtime *rt;
    struct tw_device *device;
    struct tw_compiled compiled;
    char uncompiled[1024]; /* why there are no kernels; "": there are */
    bool broken;           /* and there should be */
    uint64_t source, out;  /* device memory */
};

static enum doctor_result say(struct doctor_try *t, enum doctor_result result, const char *text)
{
    t->result = result;
    snprintf(t->text, sizeof t->text, "%s", text);
    return result;
}

/* The map by the encoder here, held against the driver's. */
static enum doctor_result encode(struct trial *x, const struct attempt *a, struct doctor_try *t, uint64_t map[16])
{
    struct tw_tensormap_call call = a->call;
    alignas(64) uint64_t theirs[16] = {0};
    struct tw_error error;
    int cc = 10 * x->device->major + x->device->minor;
    call.addr = x->source;
    if (tw_tensormap_encode(&call, cc, map) != TW_OK) {
        snprintf(t->text, sizeof t->text, "the encoder here has no map for compute capability %d.%d", x->device->major,
                 x->device->minor);
        return t->result = DOCTOR_FAILED;
    }
    if (tw_device_enter(x->device, &error) != TW_OK)
        return say(t, DOCTOR_FAILED, error.text);
    int result = tw_driver_encode(x->device->driver, &call, theirs);
    if (result < 0) {
        snprintf(t->text, sizeof t->text, "the driver has no %s, which came with CUDA 12.0; install a newer driver",
                 a->encoder);
        return t->result = DOCTOR_FAILED;
    }
    if (tw_driver_check(x->device->driver, result, &error, "%s refuses a map that the encoder here makes",
                        a->encoder) != TW_OK)
        return say(t, DOCTOR_FAILED, error.text);
    tw_tensormap_work_around(theirs, cc, x->device->driver_version);
    for (int i = 0; i < 16; i++)
        if (theirs[i] != map[i]) {
            snprintf(
                t->text, sizeof t->text,
                "%s writes 0x%016llx as word %d of the map, and the encoder here 0x%016llx; emitted code sees that "
                "when it is loaded, and encodes by the driver",
                a->encoder, (unsigned long long)theirs[i], i, (unsigned long long)map[i]);
            return t->result = DOCTOR_FAILED;
        }
    return DOCTOR_PASSED;
}

/* What the kernel left in the device's memory. */
static enum doctor_result compare(struct trial *x, const struct attempt *a, struct doctor_try *t)
{
    unsigned char got[OUT_BYTES];
    struct tw_error error;
    if (tw_device_download(x->device, got, x->out, sizeof got, &error) != TW_OK)
        return say(t, DOCTOR_FAILED, error.text);
    for (int i = 0; i < a->elements; i++) {
        uint32_t value = 0, expected = a->expected(i);
        memcpy(&value, got + i * a->bytes, (size_t)a->bytes);
        if (value == expected)
            continue;
        snprintf(t->text, sizeof t->text, "ran, but element %d of what came is 0x%x and not 0x%x", i, (unsigned)value,
                 (unsigned)expected);
        return t->result = DOCTOR_FAILED;
    }
    return DOCTOR_PASSED;
}

static enum doctor_result launch(struct trial *x, const struct attempt *a, struct doctor_try *t, const uint64_t map[16])
{
    alignas(64) struct parameters parameters = {.out = x->out};
    const struct tw_compiled *c = &x->compiled;
    struct tw_load load = {
        .cubin = c->cubin, .cubin_bytes = c->cubin_bytes, .ptx = c->ptx, .ptx_bytes = c->ptx_bytes, .entry = a->entry};
    struct tw_launch one = {
        .grid = {1, 1, 1}, .block = {128, 1, 1}, .params = &parameters, .params_bytes = sizeof parameters};
    struct tw_error error;
    memcpy(parameters.map, map, sizeof parameters.map);
    int status = tw_device_fill(x->device, x->out, 0xdeadbeef, OUT_BYTES, &error);
    status = status == TW_OK ? tw_device_load(x->device, &load, &one.kernel, &error) : status;
    status = status == TW_OK ? tw_device_launch(x->device, &one, &error) : status;
    status = status == TW_OK ? tw_device_synchronize(x->device, &error) : status;
    tw_device_unload(x->device, one.kernel);
    return status == TW_OK ? compare(x, a, t) : say(t, DOCTOR_FAILED, error.text);
}

static void try_one(struct trial *x, const struct attempt *a, struct doctor_try *t)
{
    alignas(64) uint64_t map[16] = {0};
    const bool mapped = a->call.rank > 0;
    if (mapped && encode(x, a, t, map) != DOCTOR_PASSED)
        return;
    /* The emulator's driver is this very encoder. */
    const bool compared = mapped && strcmp(x->device->ops->kind, "emu") != 0;
    const char *same = compared ? "the map is the driver's, byte for byte; " : "";
    if (x->uncompiled[0]) {
        snprintf(t->text, sizeof t->text, "%snot run: %s", same, x->uncompiled);
        t->result = x->broken ? DOCTOR_FAILED : DOCTOR_LEFT_OUT;
    } else if (launch(x, a, t, map) == DOCTOR_PASSED) {
        snprintf(t->text, sizeof t->text, "%s%s", same, a->passed);
        t->result = DOCTOR_PASSED;
    }
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

/* A device of another compute capability lacks what is tried. */
static void leave_out(const struct tw_device *device, int number, struct doctor_try *t)
{
    t->result = DOCTOR_LEFT_OUT;
    snprintf(t->text, sizeof t->text, "not tried: %s has compute capability %d.%d, and %s", device->name, device->major,
             device->minor, number == PRODUCT ? "wgmma is of 9.0 alone" : "tensor maps come with 9.0");
}

/* Compiles the kernels, all in one. */
static void open_trial(struct trial *x)
{
    const char *text;
    struct tw_error error;
    const bool emulated = strcmp(x->device->ops->kind, "emu") == 0;
    struct tw_compile_request request = {.name = "/tilewright/tries.cu",
                                         .entry = "load_tiled",
                                         .arch = x->device->arch,
                                         .outputs = emulated ? TW_OUTPUT_PTX : TW_OUTPUT_CUBIN};
    if (!x->rt->nvrtc || !x->rt->nvrtc->opened) {
        snprintf(x->uncompiled, sizeof x->uncompiled, "there is no NVRTC to compile a kernel");
        return;
    }
    emit_find_template("doctor/tries.cu", &text, &request.source_bytes);
    request.source = text;
    x->broken = tw_compile(x->rt, &request, &x->compiled, &error) != TW_OK;
    if (x->broken)
        snprintf(x->uncompiled, sizeof x->uncompiled, "%s", error.text);
}

void doctor_tries(struct tw_runtime *rt, struct tw_device *device, struct doctor_try tries[DOCTOR_TRIES])
{
    struct trial x = {.rt = rt, .device = device};
    struct tw_error error;
    uint16_t elements[SOURCE_ELEMENTS];
    int status = TW_OK;
    for (int i = 0; i < DOCTOR_TRIES; i++)
        tries[i] = (struct doctor_try){.name = attempts[i].name, .result = DOCTOR_LEFT_OUT};
    for (int i = 0; i < SOURCE_ELEMENTS; i++)
        elements[i] = (uint16_t)source(i);
    if (device->major >= 9) {
        status = tw_device_alloc(device, sizeof elements, &x.source, &error);
        status = status == TW_OK ? tw_device_alloc(device, OUT_BYTES, &x.out, &error) : status;
        status = status == TW_OK ? tw_device_upload(device, x.source, elements, sizeof elements, &error) : status;
        if (status == TW_OK)
            open_trial(&x);
    }
    for (int i = 0; i < DOCTOR_TRIES; i++) {
        if (i == PRODUCT ? device->major != 9 : device->major < 9)
            leave_out(device, i, &tries[i]);
        else if (status != TW_OK)
            say(&tries[i], DOCTOR_FAILED, error.text);
        else
            try_one(&x, &attempts[i], &tries[i]);
    }
    tw_compiled_free(rt, &x.compiled);
    tw_device_free(device, x.out);
    tw_device_free(device, x.source);
}
