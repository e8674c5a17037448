/* The PTX parser: samples against goldens, NVRTC's output for them and for emitted kernels, one instruction at a time
   against ptxas's verdict, messages, constants, and memory that ends. BLESS=1 rewrites the goldens; with an NVRTC also
   the samples. Runs in the repository's folder. */
#include "unit/check.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "emu/ptx/ptx.h"
#include "nvrtc.h"

#include "ptx_dump.h"

static struct tw_runtime rt;

static const char *const samples[] = {"reduce", "scan", "atomics", "calls", "division",
                                      "half",   "flow", "cluster", "matrix"};
#define SAMPLES (sizeof samples / sizeof samples[0])

static char *read_text(const char *path, size_t *bytes)
{
    unsigned char *text;
    struct tw_error error;
    if (tw_read_file(&rt, path, 0, &text, bytes, &error) != TW_OK)
        fail_msg("%s", error.text);
    return (char *)text;
}

static void write_text(const char *path, const char *text, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static struct ptx_module *parse(const char *text, size_t bytes, const char *name)
{
    struct ptx_module *module;
    struct tw_error error;
    if (ptx_parse(&rt.memory, text, bytes, &module, &error) != TW_OK)
        fail_msg("%s: %s", name, error.text);
    const char *wrong = check_module(module);
    if (wrong)
        fail_msg("%s: %s out of range", name, wrong);
    return module;
}

/* NULL where there is no NVRTC. */
static char *compile(const char *path, const char *arch, size_t *bytes)
{
    char name[256], entry[256]; /* the entry is the file's name up to the first dot */
    const char *file = strrchr(path, '/') + 1, *options[] = {"-lineinfo"};
    struct tw_compiled out = {0};
    struct tw_error error;
    size_t source_bytes;
    if (tw_nvrtc_open(&rt, &error) != TW_OK)
        return NULL;
    char *source = read_text(path, &source_bytes);
    snprintf(name, sizeof name, "/tilewright/%s", file);
    snprintf(entry, sizeof entry, "%.*s", (int)strcspn(file, "."), file);
    struct tw_compile_request request = {.source = source,
                                         .source_bytes = source_bytes,
                                         .name = name,
                                         .entry = entry,
                                         .arch = arch,
                                         .options = options,
                                         .option_count = 1,
                                         .outputs = TW_OUTPUT_PTX};
    if (tw_compile(&rt, &request, &out, &error) != TW_OK)
        fail_msg("%s: %s", path, error.text);
    char *text = strdup(out.ptx);
    *bytes = out.ptx_bytes;
    tw_compiled_free(&rt, &out);
    tw_free(&rt, source);
    return text;
}

static void test_samples(void **state)
{
    (void)state;
    int bless = getenv("BLESS") != NULL;
    for (size_t i = 0; i < SAMPLES; i++) {
        char path[256], golden[256];
        size_t bytes, dump_bytes, golden_bytes;
        char *dump;
        snprintf(path, sizeof path, "tests/emu/ptx/%s.cu", samples[i]);
        char *text = bless ? compile(path, "sm_90a", &bytes) : NULL;
        snprintf(path, sizeof path, "tests/emu/ptx/%s.ptx", samples[i]);
        if (text)
            write_text(path, text, bytes);
        free(text);
        text = read_text(path, &bytes);
        struct ptx_module *module = parse(text, bytes, path);
        FILE *out = open_memstream(&dump, &dump_bytes);
        dump_module(out, module, 1);
        fclose(out);
        snprintf(golden, sizeof golden, "tests/emu/ptx/%s.dump", samples[i]);
        if (bless)
            write_text(golden, dump, dump_bytes);
        char *expected = read_text(golden, &golden_bytes);
        if (golden_bytes != dump_bytes || memcmp(expected, dump, dump_bytes)) {
            size_t at = 0, line = 1;
            for (; at < golden_bytes && at < dump_bytes && expected[at] == dump[at]; at++)
                line += dump[at] == '\n';
            fail_msg("%s differs in line %zu (BLESS=1 rewrites it)", golden, line);
        }
        ptx_free(module);
        tw_free(&rt, text);
        tw_free(&rt, expected);
        free(dump);
    }
}

/* The samples by this machine's NVRTC, whatever its version. */
static void test_nvrtc(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        char path[256];
        size_t bytes;
        snprintf(path, sizeof path, "tests/emu/ptx/%s.cu", samples[i]);
        char *text = compile(path, "sm_90a", &bytes);
        if (!text) {
            print_message("no NVRTC: not compiled here\n");
            return;
        }
        struct ptx_module *module = parse(text, bytes, path);
        assert_non_null(ptx_find_function(module, samples[i]));
        ptx_free(module);
        free(text);
    }
}

/* Every kernel of specs/, or with TILEWRIGHT_TEST_ALL unset each ninth of them, on every architecture. */
static void test_emitted(void **state)
{
    (void)state;
    char folder[] = "/tmp/tilewright_ptx_XXXXXX", command[256];
    struct tw_error error;
    struct dirent **names = NULL;
    if (access("build/tilewright", X_OK) || tw_nvrtc_open(&rt, &error) != TW_OK) {
        print_message("no NVRTC or no build/tilewright: nothing emitted here\n");
        return;
    }
    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof command,
             "for s in gemm rms_norm; do build/tilewright gen specs/$s.lua -o %s; done > /dev/null 2>&1", folder);
    assert_int_equal(system(command), 0);
    int count = scandir(folder, &names, NULL, alphasort), step = getenv("TILEWRIGHT_TEST_ALL") ? 1 : 9, seen = 0;
    assert_true(count > 0);
    for (int i = 0; i < count; i++) {
        char path[600];
        size_t bytes, length = strlen(names[i]->d_name);
        snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
        if (length > 3 && !strcmp(names[i]->d_name + length - 3, ".cu") && seen++ % step == 0) {
            char *text = compile(path, strstr(path, "sm_90a") ? "sm_90a" : "sm_80", &bytes);
            struct ptx_module *module = parse(text, bytes, path);
            unsigned instructions = 0;
            for (uint32_t f = 0; f < module->function_count; f++)
                instructions += module->functions[f].is_kernel ? module->functions[f].instruction_count : 0;
            assert_true(instructions > 20);
            ptx_free(module);
            free(text);
        }
        free(names[i]);
    }
    free(names);
    assert_true(seen >= 9);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
}

/* ---- Tables ---- */

static const struct {
    const char *operands, *modifiers;
} forms[] = {
#define OPCODE(id, mnemonic, reason) {"", ""},
#define FORM(operands, modifiers) {operands, modifiers},
#include "emu/ptx/ptx_opcodes.def"
#undef OPCODE
#undef FORM
};

static const struct {
    const char *name, *words;
} groups[] = {
#define GROUP(name, words) {#name, words},
#define OPCODE(id, mnemonic, reason)
#define FORM(operands, modifiers)
#include "emu/ptx/ptx_opcodes.def"
#undef OPCODE
#undef FORM
};

/* Every word of a|b|$group is in ptx_types.def (kind 't'), a FLAG row ('f') or any row ('m') of ptx_modifiers.def. */
static void check_words(const char *words, size_t length, char kind)
{
    for (size_t n; length; words += n, length -= n) {
        char word[64];
        int known = 0;
        n = strcspn(words, "|");
        n = n < length ? n : length;
        assert_true(n > 0 && n < sizeof word);
        memcpy(word, words, n);
        word[n] = 0;
        for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++)
            if (word[0] == '$' && !strcmp(word + 1, groups[g].name)) {
                check_words(groups[g].words, strlen(groups[g].words), kind);
                known = 1;
            }
        for (int t = 1; kind == 't' && t < PTX_TYPE_COUNT; t++)
            known |= !strcmp(word, ptx_types[t].text);
        for (int m = 1; kind != 't' && m < (kind == 'f' ? (int)PTX_FLAG_END : (int)PTX_MOD_COUNT); m++)
            known |= ptx_modifier_texts[m] && !strcmp(word, ptx_modifier_texts[m]);
        if (!known)
            fail_msg("no row for word '%s' of ptx_opcodes.def", word);
        n += n < length;
    }
}

static void test_tables(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        int slots = 0, patterns = 0;
        for (const char *slot = forms[i].modifiers; *slot; slots++) {
            size_t length = strcspn(slot, " "), all = length;
            const char *equals = memchr(slot, '=', length), *words = equals ? equals + 1 : slot + (*slot == '+');
            length -= (size_t)(words - slot);
            length -= length && words[length - 1] == '?';
            if (!equals || strncmp(slot, "shape", 5) != 0)
                check_words(words, length, !equals ? 'f' : !strncmp(slot, "type", 4) ? 't' : 'm');
            slot += all;
            slot += strspn(slot, " ");
        }
        for (const char *pattern = forms[i].operands; *pattern; patterns++) {
            size_t length = strcspn(pattern, " ");
            const char *at = memchr(pattern, '@', length);
            if (at)
                check_words(at + 1, length - (size_t)(at + 1 - pattern), 'f');
            pattern += length;
            pattern += strspn(pattern, " ");
        }
        assert_true(slots <= 16 && patterns <= 10);
    }
}

/* ---- Single instructions ---- */

static const char before[] =
    ".version 9.0\n.target sm_90a\n.address_size 64\n"
    ".extern .shared .align 16 .b8 dyn[];\n.global .align 8 .b8 gv[64];\n.shared .align 8 .b64 bar;\n"
    ".func (.param .b32 r) foo (.param .b32 a) { .reg .b32 x; ld.param.b32 x,[a]; st.param.b32 [r], x; ret; }\n"
    ".visible .entry k(.param .u64 kp, .param .align 64 .b8 tm[128]) {\n"
    ".reg .pred p<8>; .reg .b16 h<16>; .reg .b32 r<64>; .reg .b64 d<32>; .reg .f32 f<64>; .reg .f64 g<16>; "
    ".reg .b128 q<4>; .reg .b8 bb<4>;\n.local .align 8 .b8 loc[32];\n";
static const char after[] = "\nret;\n}\n";

/* Line 11 of a function with registers of all kinds. *module may be NULL: only the status is asked for. */
static int parse_one(const char *instruction, struct ptx_module **module, struct tw_error *error)
{
    char text[4096];
    struct ptx_module *made;
    int n = snprintf(text, sizeof text, "%s%s%s", before, instruction, after);
    assert_true(n > 0 && (size_t)n < sizeof text);
    int status = ptx_parse(&rt.memory, text, (size_t)n, &made, error);
    if (status == TW_OK)
        assert_null(check_module(made));
    for (uint32_t i = 0; status == TW_OK && i < made->function_count; i++)
        if (made->functions[i].refused)
            status = tw_fail(error, TW_ERROR_UNSUPPORTED, "%s", made->functions[i].refused);
    if (module)
        *module = made;
    else
        ptx_free(made);
    return status;
}

static void test_verdicts(void **state)
{
    (void)state;
    size_t bytes;
    char *text = read_text("tests/golden/ptx_verdicts.txt", &bytes), *line = text;
    int count = 0, wrong = 0;
    for (char *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = 0;
        if (*line == '#')
            continue;
        struct tw_error error = {""};
        int status = parse_one(line + 2, NULL, &error), taken = status == TW_OK;
        if (taken != (*line == '+' || *line == '>')) {
            print_message("%s: %s\n", line, taken ? "taken" : error.text);
            wrong++;
        }
        if (!taken)
            assert_true(!strncmp(error.text, "PTX line 1", 10));
        count++;
    }
    tw_free(&rt, text);
    assert_int_equal(wrong, 0);
    assert_true(count > 1000);
}

static void test_messages(void **state)
{
    (void)state;
    static const struct {
        const char *instruction, *message;
    } cases[] = {
        {"frob.u32 r0,r1;", "PTX line 11: unknown instruction 'frob.u32'"},
        {"add.frob.u32 r0,r1,r2;", "PTX line 11: 'add.frob.u32': unknown modifier .frob"},
        {"add.wide.u32 r0,r1,r2;", "PTX line 11: 'add.wide.u32': modifier .wide is not supported here"},
        {"mul.s32 r0,r1,r2;", "PTX line 11: 'mul.s32': a modifier is missing, or the combination is not supported"},
        {"add.u32 r0,d1,r2;", "PTX line 11: 'add.u32': operand 2 has 64 bits where 32 are needed"},
        {"add.u32 r0,r1;", "PTX line 11: 'add.u32' does not take 2 operands of this kind"},
        {"add.u32 5,r1,r2;", "PTX line 11: 'add.u32': operand 1 is a constant where a register is needed"},
        {"add.u32 r0,r1,x9;", "PTX line 11: 'add.u32': operand 3 x9 is not declared"},
        {"add.u32 r0,r1,p0;", "PTX line 11: 'add.u32': operand 3 is a predicate where a value is needed"},
        {"add.u32 r0,r1,r64;", "PTX line 11: 'add.u32': operand 3 r64 is not declared"},
        {"add.u32 r0,r1,%tid.x;", "PTX line 11: 'add.u32': operand 3 is a special register: only mov and cvt read it"},
        {"add.u32 r0,r1,0f3f800000;", "PTX line 11: 'add.u32': operand 3 is a float where none is allowed"},
        {"add.f32 f0,f1,1;", "PTX line 11: 'add.f32': operand 3 is an integer where a float is needed"},
        {"ld.global.u32 r0,r1;", "PTX line 11: 'ld.global.u32': operand 2 must be an address in brackets"},
        {"ld.global.u32 r0,[nowhere];",
         "PTX line 11: [nowhere]: not a variable and not a register of 32 or 64 bits that is declared here"},
        {"ld.shared.u32 r0,[gv];", "PTX line 11: 'ld.shared.u32': operand 2 is a variable of another state space"},
        {"ld.global.v4.u32 {r0,r1},[d0];",
         "PTX line 11: 'ld.global.v4.u32': operand 1 has 2 elements where 4 are needed"},
        {"bra nowhere;", "PTX line 11: label nowhere is not defined here"},
        {"{ L: }\n bra L;", "PTX line 12: label L is not defined here"},
        {"L: L: ret;", "PTX line 11: L is declared twice"},
        {".reg .b32 r<4>;", "PTX line 11: r is declared twice"},
        {"@r0 ret;", "PTX line 11: guard 'r0' is no predicate that is declared here"},
        {"call foo,(r0);", "PTX line 11: 'call': operand 1 gives 0 results where the function has 1"},
        {"call (r0),k,(r0);", "PTX line 11: 'call': operand 2 is a kernel, which cannot be called"},
        {"call (r0),d0,(r0);", "PTX line 11: 'call': operand 2 is a register: a prototype must follow"},
        {"tex.cube.v4.f32.f32 {f0,f1,f2,f3},[d0,{f0,f1,f2,f3}];",
         "PTX line 11: 'tex.cube.v4.f32.f32': this form of tex (textures) is not supported"},
        {"tex.2d.v4.f32.f32 {f0,f1,f2,f3},[d0,{f0,f1}],{r0,r1};",
         "PTX line 11: 'tex.2d.v4.f32.f32' with 3 operands: this form of tex (textures) is not supported"},
        {"tex.2d.v4.f32.f32 {f0,f1,f2,f3},[d0,{f0}];",
         "PTX line 11: 'tex.2d.v4.f32.f32': operand 2 has 1 coordinates where 2 are needed"},
        {"tex.2d.v4.f32.f32 {f0,f1,f2,f3},[d0,{f0,2}];",
         "PTX line 11: 'tex.2d.v4.f32.f32': operand 2 is an integer where a float is needed"},
        {"tex.2d.v4.f32.f32 {f0,f1,f2,f3},[r0,{f0,f1}];",
         "PTX line 11: 'tex.2d.v4.f32.f32': operand 2 has no object in a register of 64 bits"},
        {"tex.1d.v4.f32.f32 {f0,f1},[d0,{f0}];",
         "PTX line 11: 'tex.1d.v4.f32.f32': operand 1 has 2 elements where 4 are needed"},
        {"suld.b.a2dms.b32.trap {r0},[d0,{r0,r1}];",
         "PTX line 11: 'suld.b.a2dms.b32.trap': this form of suld (surfaces) is not supported"},
        {"sust.b.2d.v2.b16.trap [d0,{r0,r1}],{h0,r0};",
         "PTX line 11: 'sust.b.2d.v2.b16.trap': operand 2 has 32 bits where 16 are needed"},
        {"sust.p.2d.b32.trap [d0,{r0,r1}],{r0};",
         "PTX line 11: 'sust.p.2d.b32.trap': sust.p (formatted stores to surfaces) is not supported"},
        {"multimem.red.add.u32 [d0],r0;", "PTX line 11: 'multimem.red.add.u32': multimem is not supported"},
        {"mma.sync.aligned.m16n8k2.row.col.f32.f16.f16.f32 {f0,f1,f2,f3},{r0},{r1},{f0,f1,f2,f3};",
         "PTX line 11: 'mma.sync.aligned.m16n8k2.row.col.f32.f16.f16.f32': the shape is not supported"},
        {"wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {f0,f1},d0,d1,p0,1,1,0,0;",
         "PTX line 11: 'wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16': operand 1 has 2 elements where 8 are "
         "needed"},
        {"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [r0],[d0,{r1}],[r2];",
         "PTX line 11: 'cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes': operand 2 has 1 "
         "coordinates where 2 are needed"},
        {"add.u32 r0,r1,1/0;", "PTX line 11: division by zero in a constant expression"},
        {"add.u32 r0,r1,0f12;", "PTX line 11: a float constant needs 8 hexadecimal digits"},
        {"add.u32 r0,r1,99999999999999999999;", "PTX line 11: an integer of more than 64 bits"},
        {"add.u32 r0,r1,r2", "PTX line 12: expected ';', found 'ret'"},
        {"/* no end", "PTX line 11: a comment that does not end"},
        {".frob 4;", "PTX line 11: unexpected directive '.frob' in a function"},
        {"\x01", "PTX line 11: a byte 0x01 outside of a string or comment"},
        {".reg .b32 z<2000000>;", "PTX line 11: the count of registers must be an integer from 0 to 1048576"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tw_error error = {""};
        assert_int_not_equal(parse_one(cases[i].instruction, NULL, &error), TW_OK);
        assert_string_equal(error.text, cases[i].message);
    }
}

static void test_module_messages(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } modules[] = {
        {"", "PTX line 1: no .version: this is not PTX"},
        {".version 8.0\n", "PTX line 2: no .target: this is not PTX"},
        {"#include <x>\n", "PTX line 1: unexpected '#' outside of a function"},
        {".version 8.0\n.target sm_80\n.address_size 32\n", "PTX line 4: .address_size 32 is not supported: 64 is"},
        {".version 8.0 .target sm_80 .global .texref t;",
         "PTX line 1: .texref: references to textures, surfaces and samplers are not supported: use objects"},
        {".version 8.0 .target sm_80 .entry k() { {", "PTX line 1: unexpected the end of the text in a function"},
        {".version 8.0 .target sm_80 .global .b8 x[2] = {1, 2, 3};",
         "PTX line 1: an initialiser longer than its variable"},
        {".version 8.0 .target sm_80 .global .b64 x = y;",
         "PTX line 1: 'y' in an initialiser is neither a variable nor a function"},
        {".version 8.0 .target sm_80 .global .b8 x[1] = {256/0};",
         "PTX line 1: division by zero in a constant expression"},
        {".version 8.0 .target sm_80 .func f(); .alias f, f;", "PTX line 1: the target of .alias is no function"},
        {".version 8.0 .target sm_80 .global .b8 f; .func f();", "PTX line 1: f is declared twice"},
    };
    for (size_t i = 0; i < sizeof modules / sizeof modules[0]; i++) {
        struct tw_error error = {""};
        struct ptx_module *module;
        assert_int_not_equal(ptx_parse(&rt.memory, modules[i].text, strlen(modules[i].text), &module, &error), TW_OK);
        assert_null(module);
        assert_string_equal(error.text, modules[i].message);
    }
}

static void test_constants(void **state)
{
    (void)state;
    static const struct {
        const char *instruction;
        uint64_t bits; /* of the last operand */
    } cases[] = {
        {"mov.b32 r0,-1;", 0xffffffff},
        {"mov.u32 r0,5000000000;", 0x2a05f200},
        {"mov.b16 h0,70000;", 70000 & 0xffff},
        {"mov.u64 d0,0xFFFFFFFFFFFFFFFF;", UINT64_MAX},
        {"mov.s64 d0,-9223372036854775808;", UINT64_C(1) << 63},
        {"mov.b32 r0,017;", 15},
        {"mov.b32 r0,0b1011;", 11},
        {"mov.b32 r0,0x1fU;", 31},
        {"mov.b32 r0,(3*4+2)<<2;", 56},
        {"mov.b32 r0,-7/2;", 0xfffffffd},
        {"mov.b32 r0,-7>>1;", 0xfffffffc},
        {"mov.b32 r0,7 % 4;", 3},
        {"mov.b32 r0,5>3?1:2;", 1},
        {"mov.b32 r0,5<=3||!1;", 0},
        {"mov.b32 r0,6&3|8^1;", 11},
        {"mov.b32 r0,~0&0xff;", 255},
        {"mov.b32 r0,(.u64)-1>>60;", 15},
        {"mov.b32 r0,(.s64)-1>>60;", 0xffffffff},
        {"mov.b32 r0,WARP_SZ*2;", 64},
        {"mov.b32 r0,0f3F800000;", 0x3f800000},
        {"mov.f32 f0,0f7fc00123;", 0x7fc00123},
        {"mov.f32 f0,1.5;", 0x3fc00000},
        {"mov.f32 f0,-1.5;", 0xbfc00000},
        {"mov.f32 f0,1e-3;", 0x3a83126f},
        {"mov.f32 f0,-0f00000000;", 0x80000000},
        {"mov.f32 f0,0d3FF8000000000000;", 0x3fc00000},
        {"mov.f64 g0,0f3fc00000;", UINT64_C(0x3ff8000000000000)},
        {"mov.f64 g0,0d7ff8000000000001;", UINT64_C(0x7ff8000000000001)},
        {"mov.f64 g0,0.1;", UINT64_C(0x3fb999999999999a)},
        {"mov.b64 d0,0d3ff0000000000000;", UINT64_C(0x3ff0000000000000)},
        {"mov.pred p0,4;", 1},
        {"shl.b64 d0,d1,-1;", 0xffffffff},
        {"wgmma.wait_group.sync.aligned 7;", 7},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tw_error error = {""};
        struct ptx_module *module;
        if (parse_one(cases[i].instruction, &module, &error) != TW_OK)
            fail_msg("%s: %s", cases[i].instruction, error.text);
        const struct ptx_function *k = ptx_find_function(module, "k");
        const struct ptx_operand *last =
            &k->operands[k->instructions[0].operands + k->instructions[0].operand_count - 1u];
        assert_int_equal(last->kind, PTX_OPERAND_IMMEDIATE);
        if ((uint64_t)last->value != cases[i].bits)
            fail_msg("%s: 0x%llx", cases[i].instruction, (unsigned long long)last->value);
        ptx_free(module);
    }
}

/* What a reader of a module relies on, field by field. */
static void test_fields(void **state)
{
    (void)state;
    static const char text[] =
        ".version 8.7\n.target sm_90a, debug\n.address_size 64\n"
        ".visible .const .align 16 .f32 c[2][3] = {{1.0, 0f40000000}, {3.0}};\n"
        ".global .u64 p[2] = {generic(c)+4, f}; .global .b8 m[4] = {0xFF(c), 0xFF00(c), 1, -1};\n"
        ".extern .shared .align 1024 .b8 dynamic[];\n"
        ".func (.reg .b32 out) f (.reg .b64 in);\n"
        ".weak .func (.reg .b32 out) f (.reg .b64 in) { cvt.u32.u64 out, in; ret; }\n"
        ".func (.param .b64 out) g (.param .b32 a, .param .align 8 .b8 s[12]) { ret; }\n"
        ".alias h, g;\n"
        ".visible .entry k(.param .u64 .ptr .global .align 8 a, .param .align 64 .b8 b[128], .param .u8 c)\n"
        ".maxntid 128, 2\n.reqntid 64\n.minnctapersm 3\n.maxnreg 99\n.reqnctapercluster 2, 1, 1\n.explicitcluster\n"
        "{ .local .align 16 .b8 depot[40]; .local .b16 more; .shared .b32 s[8]; .reg .v2 .b32 v<2>;\n"
        ".loc 2 5 7, function_name $n+2, inlined_at 1 9 3\n"
        "{ .param .b32 x; { .param .b64 y; } .param .b64 z; }\n mov.b32 v1.y, %envreg31; bra E; E: }\n"
        ".file 1 \"/a.cu\"\n.file 2 \"b.h\", 12, 34\n"
        ".section .debug_str { $n: .b8 95, 90, 97\n.b8 98, 0\n}\n.section .debug_info { .b32 1 { } }\n";
    static const char forward[] = ".func (.param .b64 out) h (.param .b32 a, .param .align 8 .b8 s[12]);\n.alias h";
    char whole[4096];
    const char *at = strstr(text, ".alias h");
    snprintf(whole, sizeof whole, "%.*s%s%s", (int)(at - text), text, forward, at + 8);
    char *swap = strstr(whole, ".global .u64 p"); /* p needs f, which is declared below: move the declaration up */
    assert_non_null(swap);
    char moved[4096];
    snprintf(moved, sizeof moved, "%.*s.func (.reg .b32 out) f (.reg .b64 in); %s", (int)(swap - whole), whole, swap);
    struct ptx_module *m = parse(moved, strlen(moved), "fields");
    assert_int_equal(m->version_major, 8);
    assert_int_equal(m->version_minor, 7);
    assert_string_equal(m->target, "sm_90a");
    const struct ptx_variable *c = ptx_find_variable(m, "c"), *p = ptx_find_variable(m, "p"),
                              *mask = ptx_find_variable(m, "m"), *dynamic = ptx_find_variable(m, "dynamic");
    static const uint32_t floats[6] = {0x3f800000, 0x40000000, 0, 0x40400000, 0, 0};
    assert_int_equal(c->bytes, 24);
    assert_int_equal(c->align, 16);
    assert_int_equal(c->initial_bytes, 16);
    assert_memory_equal(c->initial, floats, 16);
    assert_int_equal(p->relocation_count, 2);
    assert_true(m->relocations[p->relocations].generic && m->relocations[p->relocations].addend == 4);
    assert_true(m->relocations[p->relocations + 1].function && m->relocations[p->relocations + 1].offset == 8);
    assert_int_equal(mask->relocation_count, 2);
    assert_int_equal(m->relocations[mask->relocations + 1].shift, 8);
    assert_int_equal(mask->initial[3], 255);
    assert_true(dynamic->unsized && dynamic->bytes == 0 && dynamic->align == 1024);
    const struct ptx_function *f = ptx_find_function(m, "f"), *g = ptx_find_function(m, "g"),
                              *k = ptx_find_function(m, "k");
    assert_true(f->has_body && f->linkage == PTX_LINK_WEAK && f->params[0].reg != PTX_NONE && f->params[0].bytes == 8);
    assert_ptr_equal(ptx_find_function(m, "h"), g);
    assert_int_equal(m->variables[g->params[0].variable].offset, 8); /* behind the return value */
    assert_int_equal(m->variables[g->params[1].variable].offset, 16);
    assert_int_equal(g->param_area_bytes, 28);
    assert_int_equal(k->param_count, 3);
    assert_int_equal(m->variables[k->params[1].variable].offset, 64);
    assert_int_equal(k->param_bytes, 193);
    assert_int_equal(k->param_area_bytes, 208); /* x at 196, y at 200, and z where y was */
    assert_int_equal(k->local_bytes, 42);
    assert_int_equal(k->local_align, 16);
    assert_int_equal(k->maxntid[1], 2);
    assert_int_equal(k->reqntid[0], 64);
    assert_int_equal(k->minnctapersm, 3);
    assert_int_equal(k->maxnreg, 99);
    assert_int_equal(k->reqnctapercluster[0], 2);
    assert_true(k->explicitcluster);
    assert_int_equal(k->register_count, 4);
    const struct ptx_instruction *mov = &k->instructions[0], *bra = &k->instructions[1];
    char name[32];
    ptx_register_name(m, k, k->operands[mov->operands].index, name, sizeof name);
    assert_string_equal(name, "v1.y");
    assert_int_equal(k->operands[mov->operands + 1].index, PTX_SR_ENVREG + 31);
    assert_int_equal(k->operands[bra->operands].value, 2);
    const struct ptx_location *l = &m->locations[mov->location];
    assert_string_equal(ptx_location_path(m, mov->location), "b.h");
    assert_int_equal(l->line, 5);
    assert_string_equal(ptx_name(m, l->function), "ab");
    assert_string_equal(ptx_location_path(m, l->inlined_at), "/a.cu");
    assert_int_equal(m->locations[l->inlined_at].line, 9);
    ptx_free(m);
}

/* ---- Memory and time ---- */

struct counter {
    long left; /* calls until one fails */
    long live;
};

static void *counted_realloc(void *self, void *old, size_t bytes)
{
    struct counter *counter = self;
    if (counter->left-- == 0)
        return NULL;
    counter->live += !old;
    return realloc(old, bytes);
}

static void *counted_alloc(void *self, size_t bytes)
{
    return counted_realloc(self, NULL, bytes);
}

static void counted_free(void *self, void *pointer)
{
    struct counter *counter = self;
    counter->live -= pointer != NULL;
    free(pointer);
}

static void test_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        char path[256];
        size_t bytes;
        snprintf(path, sizeof path, "tests/emu/ptx/%s.ptx", samples[i]);
        char *text = read_text(path, &bytes);
        int status = TW_ERROR_MEMORY;
        long failures = 0;
        for (; status != TW_OK && failures < 10000; failures++) {
            struct counter counter = {failures, 0};
            struct tw_memory memory = {&counter, counted_alloc, counted_realloc, counted_free};
            struct tw_error error;
            struct ptx_module *module;
            status = ptx_parse(&memory, text, bytes, &module, &error);
            if (status != TW_OK) {
                assert_int_equal(status, TW_ERROR_MEMORY);
                assert_null(module);
                assert_true(!strncmp(error.text, "out of memory", 13));
            }
            ptx_free(module);
            assert_int_equal(counter.live, 0);
        }
        assert_int_equal(status, TW_OK);
        assert_true(failures > 20);
        tw_free(&rt, text);
    }
}

/* Cut and damaged text: every prefix of a sample, and each byte of one changed. */
static void test_damage(void **state)
{
    (void)state;
    size_t bytes;
    char *text = read_text("tests/emu/ptx/calls.ptx", &bytes);
    for (size_t i = 0; i < bytes; i++) {
        struct ptx_module *module;
        struct tw_error error;
        size_t length = i % 2 ? i : bytes;
        char *copy = malloc(length ? length : 1), old = text[i];
        assert_non_null(copy);
        text[i] = "{};.,%:0(x[\"\0@"[i % 15];
        memcpy(copy, text, length);
        text[i] = old;
        if (ptx_parse(&rt.memory, copy, length, &module, &error) == TW_OK) {
            assert_null(check_module(module));
            ptx_free(module);
        } else {
            assert_null(module);
        }
        free(copy);
    }
    tw_free(&rt, text);
}

/* A module of 200 copies of one kernel: what counts is text, not the tables that are made once. */
static void test_speed(void **state)
{
    (void)state;
    size_t bytes, copied = 0;
    char *text = read_text("tests/emu/ptx/division.ptx", &bytes);
    char *body = strstr(text, ".visible .entry division("), *end = strstr(text, "\n}");
    assert_true(body && end);
    char *whole = malloc(bytes * 200 + 20000);
    assert_non_null(whole);
    int n = (int)(end + 3 - body), skipped = (int)strlen(".visible .entry division");
    copied = (size_t)sprintf(whole, "%.*s", (int)(body - text), text);
    for (int i = 0; i < 200; i++)
        copied += (size_t)sprintf(whole + copied, ".entry k%d%.*s\n", i, n - skipped, body + skipped);
    double best = 1e9;
    for (int round = 0; round < 5; round++) {
        clock_t start = clock();
        ptx_free(parse(whole, copied, "copies"));
        double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
        best = seconds < best ? seconds : best;
    }
    double rate = (double)copied / best / 1e6;
    print_message("%.0f MB/s\n", rate);
#if !defined(__SANITIZE_ADDRESS__) && defined(__OPTIMIZE__)
    assert_true(rate > 30);
#endif
    free(whole);
    tw_free(&rt, text);
}

static int set_up(void **state)
{
    (void)state;
    return tw_runtime_init(&rt, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    tw_runtime_close(&rt);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),    cmocka_unit_test(test_samples),  cmocka_unit_test(test_nvrtc),
        cmocka_unit_test(test_emitted),   cmocka_unit_test(test_verdicts), cmocka_unit_test(test_messages),
        cmocka_unit_test(test_module_messages),
        cmocka_unit_test(test_constants), cmocka_unit_test(test_fields),   cmocka_unit_test(test_memory),
        cmocka_unit_test(test_damage),    cmocka_unit_test(test_speed),
    };
    return cmocka_run_group_tests_name("ptx", tests, set_up, tear_down);
}
