/* Textures and surfaces: fetches against values worked out by hand from "Texture Fetching" of the CUDA C++ programming
   guide, and the instructions in forms that nvcc's own wrappers do not write. Whole programs are in tests/whole. */
#include <math.h>

#include "execute.h"
#include "emu/texture.h"
#include "emu/texture/sample.h"

static uint32_t bits(float x)
{
    uint32_t b;
    memcpy(&b, &x, 4);
    return b;
}

static float real(uint32_t b)
{
    float x;
    memcpy(&x, &b, 4);
    return x;
}

/* ---- Sampling ---------------------------------------------------------------------------------------------------- */

static const float row[] = {10, 20, 30, 40};

/* Channel 0 of a fetch of these texels. */
static uint32_t sample(const struct emu_texture *texture, const void *texels, unsigned dims, float x, float y, float z)
{
    const struct emu_fetch fetch = {.dims = dims, .f = {x, y, z}};
    struct emu_taps taps;
    uint32_t value[EMU_TAPS] = {0};
    emu_sample_taps(texture, &fetch, &taps);
    for (unsigned i = 0; i < taps.count; i++)
        value[i] = taps.at[i].inside ? emu_sample_channel(texture, (const unsigned char *)texels + taps.at[i].offset, 0)
                                     : emu_sample_border(texture, 0);
    return emu_sample_combine(&taps, value);
}

static struct emu_texture floats(uint32_t width, uint32_t height, uint32_t depth)
{
    return (struct emu_texture){.texels = {.pitch = 4 * width,
                                           .slice = 4 * width * height,
                                           .width = width,
                                           .height = height,
                                           .depth = depth,
                                           .kind = EMU_TEXEL_FLOAT,
                                           .bits = 32,
                                           .channels = 1}};
}

static void addressing(void **state)
{
    (void)state;
    static const struct {
        int mode, normalized, linear;
        float x, result;
    } cases[] = {
        {EMU_CLAMP, 0, 0, 1.5f, 20},
        {EMU_CLAMP, 0, 0, 2.999f, 30},
        {EMU_CLAMP, 0, 0, -3, 10},
        {EMU_CLAMP, 0, 0, 1e30f, 40},
        {EMU_WRAP, 0, 0, 5, 40}, /* in texels wrap and mirror clamp */
        {EMU_MIRROR, 0, 0, -2, 10},
        {EMU_BORDER, 0, 0, 4, 100},
        {EMU_BORDER, 0, 0, -0.001f, 100},
        {EMU_CLAMP, 1, 0, 0.3f, 20},   /* 1.2 */
        {EMU_WRAP, 1, 0, 1.3f, 20},    /* fraction 0.3 */
        {EMU_WRAP, 1, 0, -0.3f, 30},   /* 0.7: 2.8 */
        {EMU_MIRROR, 1, 0, 1.3f, 30},  /* 1 - 0.3: 2.8 */
        {EMU_MIRROR, 1, 0, -0.3f, 20}, /* floor is -1: 1 - 0.7 */
        {EMU_MIRROR, 1, 0, 2.3f, 20},
        {EMU_BORDER, 1, 0, 1.01f, 100},
        {EMU_CLAMP, 0, 1, 1, 15},               /* x_B 0.5 */
        {EMU_CLAMP, 0, 1, 0.3f, 10},            /* both are texel 0 */
        {EMU_CLAMP, 0, 1, 2.1f, 26.015625f},    /* x_B 1.6: 0.6 is 154 of 256 */
        {EMU_CLAMP, 0, 1, 1.4999f, 20},         /* 255.97 of 256 is 1 */
        {EMU_CLAMP, 0, 1, 1.497f, 19.9609375f}, /* 255.2 is 255 */
        {EMU_WRAP, 1, 1, 0.05f, 19.0234375f},   /* x_B -0.3: texels 3 and 0, 0.7 is 179 of 256 */
        {EMU_WRAP, 1, 1, 1.05f, 19.0234375f},
        {EMU_WRAP, 1, 1, 0.95f, 30.9765625f}, /* x_B 3.3: texels 3 and 0, 0.3 is 77 of 256 */
        {EMU_BORDER, 0, 1, 4, 70},            /* half of the border behind the end */
        {EMU_MIRROR, 1, 1, -0.05f, 10},       /* as 0.05: texels 0 and 0 */
        {EMU_MIRROR, 1, 1, 1.1f, 40},         /* 0.9: x_B 3.1, texels 3 and 3 */
        {EMU_BORDER, 0, 1, 0.25f, 32.5f},     /* a quarter of the border */
        {EMU_BORDER, 0, 1, -0.5f, 100},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct emu_texture texture = floats(4, 0, 0);
        texture.addressing[0] = (uint8_t)cases[i].mode;
        texture.normalized = (uint8_t)cases[i].normalized;
        texture.linear = (uint8_t)cases[i].linear;
        texture.border[0] = 100;
        float got = real(sample(&texture, row, 1, cases[i].x, 0, 0));
        if (got != cases[i].result)
            fail_msg("case %zu: x %g gives %.9g and not %.9g", i, cases[i].x, got, cases[i].result);
    }
}

static void dimensions(void **state)
{
    (void)state;
    static const float cube[] = {0, 1, 2, 3, 4, 5, 6, 7};
    struct emu_texture flat = floats(2, 2, 0), deep = floats(2, 2, 2);
    flat.linear = deep.linear = 1;
    flat.addressing[0] = flat.addressing[1] = EMU_CLAMP;
    memcpy(deep.addressing, (uint8_t[]){EMU_CLAMP, EMU_CLAMP, EMU_CLAMP}, 3);
    /* alpha 0.25, beta 0.5: the plane x + 2 y */
    assert_int_equal(sample(&flat, cube, 2, 0.75f, 1, 0), bits(1.25f));
    /* gamma 0.75: x + 2 y + 4 z */
    assert_int_equal(sample(&deep, cube, 3, 0.75f, 1, 1.25f), bits(4.25f));
    /* A texel of weight 0 is not looked at: a NaN beside x = 0.5 does no harm. */
    const float beside[] = {7, NAN, 8, NAN};
    assert_int_equal(sample(&flat, beside, 2, 0.5f, 0.5f, 0), bits(7));
    assert_int_equal(sample(&flat, beside, 2, 0.5f, 1, 0), bits(7.5f));
    assert_true(isnan(real(sample(&flat, beside, 2, 0.6f, 0.5f, 0))));
    /* Integer coordinates are of texels, whatever the filter and the kind of coordinates. */
    struct emu_taps taps;
    const struct emu_fetch whole = {.dims = 2, .integer = 1, .x = {1, 0}};
    const struct emu_fetch before = {.dims = 2, .integer = 1, .x = {-1, 0}};
    flat.normalized = 1;
    flat.addressing[0] = EMU_WRAP;
    emu_sample_taps(&flat, &whole, &taps);
    assert_int_equal(taps.count, 1);
    assert_int_equal(taps.at[0].offset, 4);
    emu_sample_taps(&flat, &before, &taps);
    assert_int_equal(taps.at[0].offset, 0);
}

static void formats(void **state)
{
    (void)state;
    static const struct {
        int kind, bits, as_float;
        uint32_t raw, result;
    } cases[] = {
        {EMU_TEXEL_UNSIGNED, 8, 0, 0xff, 255},
        {EMU_TEXEL_SIGNED, 8, 0, 0xff, 0xffffffff},
        {EMU_TEXEL_SIGNED, 16, 0, 0x8000, 0xffff8000},
        {EMU_TEXEL_UNSIGNED, 32, 0, 0xfffffffe, 0xfffffffe},
        {EMU_TEXEL_UNSIGNED, 8, 1, 0xff, 0x3f800000},
        {EMU_TEXEL_UNSIGNED, 8, 1, 51, 0x3e4ccccd}, /* 0.2 */
        {EMU_TEXEL_SIGNED, 8, 1, 0x80, 0xbf800000}, /* -128 and -127 are -1 */
        {EMU_TEXEL_SIGNED, 8, 1, 0x81, 0xbf800000},
        {EMU_TEXEL_SIGNED, 8, 1, 0x7f, 0x3f800000},
        {EMU_TEXEL_UNSIGNED, 16, 1, 0xffff, 0x3f800000},
        {EMU_TEXEL_SIGNED, 16, 1, 0x8000, 0xbf800000},
        {EMU_TEXEL_FLOAT, 16, 0, 0x3c01, 0x3f802000},
        {EMU_TEXEL_FLOAT, 16, 0, 0x0001, 0x33800000},
        {EMU_TEXEL_FLOAT, 32, 0, 0x00000001, 0x00000001},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct emu_texture texture = {
            .texels = {.width = 1, .kind = (uint8_t)cases[i].kind, .bits = (uint8_t)cases[i].bits, .channels = 1},
            .as_float = (uint8_t)cases[i].as_float};
        assert_int_equal(sample(&texture, &cases[i].raw, 1, 0.5f, 0, 0), cases[i].result);
    }
}

/* ---- Instructions ------------------------------------------------------------------------------------------------ */

#define HEAD                                                                                                           \
    ".version 8.0\n.target sm_80\n.address_size 64\n"                                                                  \
    ".visible .entry k(.param .u64 o, .param .u64 t, .param .u64 s)\n"                                                 \
    "{ .reg .b64 d<9>; .reg .b32 r<32>; .reg .f32 f<32>; .reg .pred p<3>; .reg .b16 h<4>;\n"                           \
    "ld.param.u64 d0,[o]; ld.param.u64 d1,[t]; ld.param.u64 d2,[s]; mov.u32 r0,%tid.x; cvt.rn.f32.s32 f0,r0;\n"        \
    "mul.wide.u32 d3,r0,16; add.s64 d3,d0,d3;\n"
#define TAIL "st.global.v4.b32 [d3],{r4,r5,r6,r7}; ret; }\n"

struct arguments {
    uint64_t o, t, s;
};

/* 32 lanes; what each stored. */
static int run(struct lab *lab, const char *ptx, uint64_t t, uint64_t s, uint32_t out[32][4], struct tw_error *error)
{
    struct arguments p = {lab_alloc(lab, NULL, 32 * 16), t, s};
    struct tw_kernel *kernel = lab_load_ptx(lab, ptx, "k");
    int status = lab_try(lab, kernel, 1, 32, 0, 1, &p, sizeof p, error);
    lab_read(lab, out, p.o, 32 * 16);
    tw_device_unload(lab->device, kernel);
    tw_device_free(lab->device, p.o);
    return status;
}

static uint64_t texture_of(struct lab *lab, const struct emu_texture *texture)
{
    uint64_t object = 0;
    struct tw_error error;
    if (emu_device_texture(lab->device, texture, &object, &error))
        fail_msg("%s", error.text);
    return object;
}

/* 8 x 4 texels of two channels: channel 0 is x + 8 y, channel 1 that and 100. */
static uint64_t grid_memory(struct lab *lab)
{
    float texels[4][8][2];
    for (int i = 0; i < 32; i++) {
        texels[i / 8][i % 8][0] = (float)i;
        texels[i / 8][i % 8][1] = (float)i + 100;
    }
    return lab_alloc(lab, texels, sizeof texels);
}

static struct emu_texture grid(uint64_t address, uint32_t height, uint32_t layers)
{
    return (struct emu_texture){.texels = {.address = address,
                                           .pitch = 64,
                                           .slice = 64,
                                           .width = 8,
                                           .height = height,
                                           .layers = layers,
                                           .kind = EMU_TEXEL_FLOAT,
                                           .bits = 32,
                                           .channels = 2},
                                .addressing = {EMU_CLAMP, EMU_CLAMP, EMU_CLAMP}};
}

static void open_strict(struct lab *lab)
{
    const struct emu_options options = {.hazards = EMU_HAZARDS_STRICT};
    lab_open_with(lab, "sm_80", &options);
}

static void instructions(void **state)
{
    (void)state;
    struct lab lab;
    struct tw_error error = {""};
    uint32_t o[32][4];
    open_strict(&lab);
    uint64_t memory = grid_memory(&lab);
    const struct emu_texture flat = grid(memory, 4, 0), lines = grid(memory, 0, 4);
    uint64_t tex = texture_of(&lab, &flat), layered = texture_of(&lab, &lines), line;
    struct emu_texture linear = {.texels = {.address = memory,
                                            .pitch = 256,
                                            .slice = 256,
                                            .width = 64,
                                            .kind = EMU_TEXEL_UNSIGNED,
                                            .bits = 32,
                                            .channels = 1},
                                 .line = 1};
    line = texture_of(&lab, &linear);

    /* Integer coordinates, a sink, a guard: the lanes that do not execute keep what they had, and their handle, which
       is none, is not looked at. */
    assert_int_equal(run(&lab,
                         HEAD "mov.b32 r4,7; mov.b32 r5,7; mov.b32 r6,7; mov.b32 r7,7; setp.lt.u32 p0,r0,8;\n"
                              "selp.b64 d4,d1,999,p0; @p0 tex.2d.v4.f32.s32 {r4,_,r6,r7},[d4,{r0,2}];\n" TAIL,
                         tex, 0, o, &error),
                     TW_OK);
    for (uint32_t i = 0; i < 32; i++) {
        assert_int_equal(o[i][0], i < 8 ? bits((float)(i + 16)) : 7);
        assert_int_equal(o[i][1], 7);
        assert_int_equal(o[i][2], i < 8 ? 0 : 7);
    }
    /* Layers are clamped to those that there are; levels and gradients choose among one level. */
    assert_int_equal(run(&lab,
                         HEAD "shr.u32 r1,r0,2; tex.a1d.v4.f32.f32 {r4,r8,r9,r10},[d2,{r1,0f40200000}];\n"
                              "tex.level.2d.v4.f32.f32 {r5,r8,r9,r10},[d1,{f0,0f3f800000}],0f40a00000;\n"
                              "tex.grad.2d.v4.f32.f32 {r8,r6,r9,r10},[d1,{f0,0f3f800000}],{f0,f0},{f0,f0};\n"
                              "txq.width.b32 r7,[d1];\n" TAIL,
                         tex, layered, o, &error),
                     TW_OK);
    for (uint32_t i = 0; i < 32; i++) {
        uint32_t layer = i / 4 < 4 ? i / 4 : 3, x = i < 8 ? i : 7;
        assert_int_equal(o[i][0], bits((float)(layer * 8 + 2)));
        assert_int_equal(o[i][1], bits((float)(x + 8)));
        assert_int_equal(o[i][2], bits((float)(x + 108)));
        assert_int_equal(o[i][3], 8);
    }
    /* tld4 of channel 1 at (2.49805, 1): x_B is 2 in 8 bits, y_B 0.5. Linear memory behind its end is 0. */
    assert_int_equal(
        run(&lab, HEAD "tld4.g.2d.v4.f32.f32 {r4,r5,r6,r7},[d1,{0f401FE00D,0f3f800000}];\n" TAIL, tex, 0, o, &error),
        TW_OK);
    const float four[] = {110, 111, 103, 102};
    for (int c = 0; c < 4; c++)
        assert_int_equal(o[0][c], bits(four[c]));
    assert_int_equal(run(&lab,
                         HEAD "add.s32 r1,r0,40; tex.1d.v4.u32.s32 {r4,r5,r6,r7},[d1,{r1}];\n"
                              "sub.s32 r1,r0,8; tex.1d.v4.s32.s32 {r5,r8,r9,r10},[d1,{r1}];\n" TAIL,
                         line, 0, o, &error),
                     TW_OK);
    for (uint32_t i = 0; i < 32; i++) {
        uint32_t high = i + 40 < 64 ? bits((float)((i + 40) / 2 + ((i + 40) % 2 ? 100 : 0))) : 0;
        uint32_t low = i >= 8 ? bits((float)((i - 8) / 2 + ((i - 8) % 2 ? 100 : 0))) : 0;
        assert_int_equal(o[i][0], high);
        assert_int_equal(o[i][1], low);
    }
    lab_close(&lab);
}

/* Elements of every width, vectors, and what lies outside. */
static void surfaces(void **state)
{
    (void)state;
    struct lab lab;
    struct tw_error error = {""};
    uint32_t o[32][4];
    uint64_t surface;
    open_strict(&lab);
    const struct emu_texels texels = {.address = lab_alloc(&lab, NULL, 4 * 512),
                                      .pitch = 512,
                                      .slice = 2048,
                                      .width = 32,
                                      .height = 4,
                                      .kind = EMU_TEXEL_UNSIGNED,
                                      .bits = 32,
                                      .channels = 4};
    assert_int_equal(emu_device_surface(lab.device, &texels, &surface, &error), TW_OK);
    assert_int_equal(run(&lab,
                         HEAD
                         "shl.b32 r1,r0,4; add.s32 r2,r1,8; mov.b32 r8,r0; cvt.u16.u32 h0,r0; mov.b64 d5,{r0,r1};\n"
                         "sust.b.2d.v4.b32.trap [d2,{r1,0}],{r8,r1,r8,r1};\n"
                         "sust.b.2d.v2.b64.trap [d2,{r1,1}],{d5,d5};\n"
                         "sust.b.2d.v4.b16.trap [d2,{r1,2}],{h0,h0,h0,h0}; sust.b.2d.b8.trap [d2,{r2,2}],{h0};\n"
                         "sust.b.2d.b32.zero [d2,{r1,4}],{r8}; sust.b.2d.b32.zero [d2,{-4,0}],{r8};\n"
                         "mov.b32 r4,0; mov.b32 r5,0; suq.height.b32 r6,[d2]; mov.b32 r7,0;\n" TAIL,
                         0, surface, o, &error),
                     TW_OK);
    assert_int_equal(o[5][2], 4);
    uint32_t back[4][32][4];
    lab_read(&lab, back, texels.address, sizeof back);
    for (uint32_t i = 0; i < 32; i++) {
        const uint32_t pair[] = {i, 16 * i, i, 16 * i};
        assert_memory_equal(back[0][i], pair, 16);
        assert_memory_equal(back[1][i], pair, 16);
        assert_int_equal(back[2][i][0], i | i << 16);
        assert_int_equal(back[2][i][2] & 0xff, i);
    }
    assert_int_equal(run(&lab,
                         HEAD "shl.b32 r1,r0,4; add.s32 r2,r1,-64; suld.b.2d.b32.clamp {r4},[d2,{r2,-1}];\n"
                              "suld.b.2d.v2.b64.trap {d5,d6},[d2,{r1,1}]; mov.b64 {r8,r5},d6;\n"
                              "suld.b.2d.b8.trap {h1},[d2,{r1,2}]; cvt.u32.u16 r6,h1;\n"
                              "suld.b.2d.b32.zero {r7},[d2,{r2,0}];\n" TAIL,
                         0, surface, o, &error),
                     TW_OK);
    for (uint32_t i = 0; i < 32; i++) {
        assert_int_equal(o[i][0], i < 4 ? 0 : i - 4);
        assert_int_equal(o[i][1], 16 * i);
        assert_int_equal(o[i][2], i);
        assert_int_equal(o[i][3], i < 4 ? 0 : i - 4);
    }
    lab_close(&lab);
}

/* ---- What is reported, and what is refused ----------------------------------------------------------------------- */

static void expect(struct lab *lab, const char *ptx, uint64_t t, uint64_t s, const char *words)
{
    struct tw_error error = {""};
    uint32_t o[32][4];
    int status = run(lab, ptx, t, s, o, &error);
    if (words ? status == TW_OK || !strstr(error.text, words) : status != TW_OK)
        fail_msg("expected '%s', found '%s'", words ? words : "", error.text);
}

static void hazards(void **state)
{
    (void)state;
    struct lab lab;
    open_strict(&lab);
    uint64_t memory = grid_memory(&lab), surface, other;
    const struct emu_texture flat = grid(memory, 4, 0);
    uint64_t tex = texture_of(&lab, &flat);
    struct tw_error error;
    assert_int_equal(emu_device_surface(lab.device, &flat.texels, &surface, &error), TW_OK);
    /* d2 is the texels' memory: lane i writes texel i of row 0, and fetches one of row y. */
#define WRITES_AND_FETCHES(y)                                                                                          \
    HEAD "and.b32 r1,r0,7; mul.wide.u32 d4,r1,8; add.s64 d4,d2,d4; st.volatile.global.f32 [d4],0f3f800000;\n"          \
         "bar.sync 0; tex.2d.v4.f32.s32 {r4,r5,r6,r7},[d1,{r1," y "}];\n" TAIL
    expect(&lab, WRITES_AND_FETCHES("1"), tex, memory, NULL);
    expect(&lab, WRITES_AND_FETCHES("0"), tex, memory, "UNORDERED-READ");
    expect(&lab, HEAD "tex.2d.v4.f32.s32 {r4,r5,r6,r7},[d1,{r0,0}];\n" TAIL, tex, 0, NULL); /* the launch after it */
#define STORES_AND_LOADS(y)                                                                                            \
    HEAD "shl.b32 r1,r0,2; and.b32 r1,r1,63; setp.lt.u32 p0,r0,16; @p0 sust.b.2d.b32.trap [d1,{r1,0}],{r0};\n"         \
         "bar.sync 0; suld.b.2d.b32.trap {r4},[d1,{r1," y "}]; mov.b32 r5,0; mov.b32 r6,0; mov.b32 r7,0;\n" TAIL
    expect(&lab, STORES_AND_LOADS("1"), surface, 0, NULL);
    expect(&lab, STORES_AND_LOADS("0"), surface, 0, "UNORDERED-READ");
    expect(&lab, HEAD "tex.2d.v4.f32.s32 {r4,r5,r6,r7},[d1,{r0,0}];\n" TAIL, 0, 0, "no texture object has the handle");
    expect(&lab, HEAD "tex.3d.v4.f32.s32 {r4,r5,r6,r7},[d1,{r0,0,0,0}];\n" TAIL, tex, 0, NULL); /* of depth 1 */
    expect(&lab, HEAD "tex.1d.v4.f32.s32 {r4,r5,r6,r7},[d1,{r0}];\n" TAIL, tex, 0, "is accessed with 1 dimension");
    assert_int_equal(emu_device_texture_free(lab.device, surface), 1);
    assert_int_equal(emu_device_texture_free(lab.device, tex), 0);
    assert_int_equal(emu_device_texture_free(lab.device, tex), 1);
    expect(&lab, HEAD "tex.2d.v4.f32.s32 {r4,r5,r6,r7},[d1,{r0,0}];\n" TAIL, tex, 0, "it was destroyed");
    other = texture_of(&lab, &flat);
    tw_device_free(lab.device, memory);
    expect(&lab, HEAD "tex.2d.v4.f32.s32 {r4,r5,r6,r7},[d1,{r0,0}];\n" TAIL, other, 0, "was freed");
    lab_close(&lab);
}

/* What goes together with nothing is refused when the object is made. */
static void objects(void **state)
{
    (void)state;
    struct lab lab;
    struct tw_error error;
    uint64_t object;
    open_strict(&lab);
    uint64_t memory = grid_memory(&lab);
    static const struct {
        int kind, bits, channels, linear, as_float, height;
        const char *words;
    } cases[] = {
        {EMU_TEXEL_FLOAT, 32, 2, 1, 0, 4, NULL},
        {EMU_TEXEL_FLOAT, 32, 2, 1, 0, 5, "not all allocated"},
        {EMU_TEXEL_FLOAT, 32, 3, 1, 0, 4, "1, 2 or 4 channels"},
        {EMU_TEXEL_FLOAT, 8, 1, 0, 0, 4, "floats of 16 or 32"},
        {EMU_TEXEL_SIGNED, 16, 4, 1, 1, 4, NULL},
        {EMU_TEXEL_SIGNED, 16, 4, 1, 0, 4, "linear filter of integers"},
        {EMU_TEXEL_SIGNED, 32, 2, 0, 1, 4, "only integers of 8 and 16 bits"},
    };
    /* Rows so far apart that their bytes do not fit 64 bits. */
    struct emu_texture apart = grid(memory, 5, 0);
    apart.texels.pitch = UINT64_C(1) << 62;
    assert_int_equal(emu_device_texture(lab.device, &apart, &object, &error), TW_ERROR_INVALID);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct emu_texture texture = grid(memory, (uint32_t)cases[i].height, 0);
        texture.texels.kind = (uint8_t)cases[i].kind;
        texture.texels.bits = (uint8_t)cases[i].bits;
        texture.texels.channels = (uint8_t)cases[i].channels;
        texture.linear = (uint8_t)cases[i].linear;
        texture.as_float = (uint8_t)cases[i].as_float;
        int status = emu_device_texture(lab.device, &texture, &object, &error);
        if (cases[i].words ? status == TW_OK || !strstr(error.text, cases[i].words) : status != TW_OK)
            fail_msg("case %zu: %s", i, status ? error.text : "nothing was refused");
    }
    lab_close(&lab);
}

/* A function with a form that is not supported: its kernel does not load, others of the module run, and so do those
   that could call it through a pointer, up to that call. */
static void refused(void **state)
{
    (void)state;
    static const char ptx[] =
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".func (.param .b32 y) cube(.param .b64 t) { .reg .f32 f<5>; .reg .b64 d; ld.param.b64 d,[t];\n"
        "tex.cube.v4.f32.f32 {f0,f1,f2,f3},[d,{f4,f4,f4,f4}]; st.param.f32 [y],f0; ret; }\n"
        ".func (.param .b32 y) seven(.param .b64 t) { st.param.b32 [y],7; ret; }\n"
        ".global .align 8 .u64 table[2] = {seven, cube};\n"
        ".visible .entry k(.param .u64 o, .param .u64 t, .param .u64 s)\n"
        "{ .reg .b64 d<5>; .reg .b32 r<3>; ld.param.u64 d0,[o]; ld.param.u64 d1,[s]; shl.b64 d1,d1,3;\n"
        "mov.u64 d2,table; add.s64 d2,d2,d1; ld.global.u64 d3,[d2];\n"
        "{ .param .b64 a; .param .b32 b; st.param.b64 [a],d0;\n"
        "prototype: .callprototype (.param .b32 _) _ (.param .b64 _);\n"
        "call (b), d3, (a), prototype; ld.param.b32 r0,[b]; }\n"
        "st.global.b32 [d0],r0; ret; }\n"
        ".visible .entry direct(.param .u64 o)\n"
        "{ .reg .b64 d; .reg .b32 r; ld.param.u64 d,[o]; { .param .b64 a; .param .b32 b; st.param.b64 [a],d;\n"
        "call (b), cube, (a); ld.param.b32 r,[b]; } st.global.b32 [d],r; ret; }\n";
    struct lab lab;
    struct tw_error error = {""};
    struct tw_kernel *kernel;
    uint32_t o[32][4];
    lab_open(&lab, "sm_80");
    const struct tw_load load = {.ptx = ptx, .ptx_bytes = strlen(ptx), .entry = "direct"};
    assert_int_equal(tw_device_load(lab.device, &load, &kernel, &error), TW_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "'tex.cube.v4.f32.f32': this form of tex (textures) is not supported"));
    assert_int_equal(run(&lab, ptx, 0, 0, o, &error), TW_OK);
    assert_int_equal(o[0][0], 7);
    assert_int_equal(run(&lab, ptx, 0, 1, o, &error), TW_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "'tex.cube.v4.f32.f32': this form of tex (textures) is not supported"));
    assert_int_equal(run(&lab, ptx, 0, 0, o, &error), TW_OK); /* and nothing of it stays */
    lab_close(&lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addressing),   cmocka_unit_test(dimensions), cmocka_unit_test(formats),
        cmocka_unit_test(instructions), cmocka_unit_test(surfaces),   cmocka_unit_test(hazards),
        cmocka_unit_test(objects),      cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
