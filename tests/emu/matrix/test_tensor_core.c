/* The emulated tensor cores against an H200's answers, the fast way of adding against the plain one, and its speed.

   tests/golden/tensor_core.bin, written by tensor_core_probe.cu; little-endian records, one a kind in the order of
   tensor_core.def, each:
       name     32 bytes; "+NAME": a chain of 64 instructions of the kind, "*NAME": 256 instructions on 64 x 64
       cases, bytes of a case's d, sampled, groups     uint32_t each
       samples  of case i < sampled the elements whose index is i % 8 modulo 8
       hashes   uint64_t a group: tcc_hash of the d of cases / groups consecutive cases
   TW_TEST_ALL=1 looks at every group instead of every eighth; with sanitizers it is every 64th. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "unit/check.h"
#include "unit/rounds.h"

#include "emu/async/tensor_core.h"
#include "emu/alu/vectors.h"
#include "tensor_core_cases.h"

#define GOLDEN "tests/golden/tensor_core.bin"

struct record {
    char name[32];
    uint32_t cases, bytes, sampled, groups;
};

static void *must_allocate(size_t bytes)
{
    void *p = malloc(bytes);
    assert_non_null(p);
    return p;
}

static enum tc_case_type case_type(enum emu_tc_type type)
{
    static const enum tc_case_type of[] = {
        [EMU_TC_BF16] = TCC_BF16, [EMU_TC_F16] = TCC_F16, [EMU_TC_TF32] = TCC_TF32, [EMU_TC_E4M3] = TCC_E4M3,
        [EMU_TC_E5M2] = TCC_E5M2, [EMU_TC_S8] = TCC_S8,   [EMU_TC_U8] = TCC_U8,     [EMU_TC_F64] = TCC_F64,
        [EMU_TC_F32] = TCC_F32,   [EMU_TC_S32] = TCC_S32,
    };
    return of[type];
}

static int kind_of(const char *name)
{
    for (int i = 0; i < EMU_TC_KINDS; i++)
        if (!strcmp(emu_tc_rows[i].name, name))
            return i;
    return -1;
}

static void compute(enum emu_tc_kind kind, uint32_t number, int plain, unsigned char *d)
{
    const struct emu_tc_row *r = &emu_tc_rows[kind];
    uint64_t a[64 * 32 / 4], b[8 * 32];
    tcc_fill((int)kind, (int)number, (int)r->m, (int)r->n, (int)r->k, case_type(r->a), case_type(r->b), case_type(r->d),
             a, b, d);
    (plain ? emu_tc_accumulate_plain : emu_tc_accumulate)(kind, r->m, r->n, a, b, d);
}

static void chain(enum emu_tc_kind kind, int number, int wide, unsigned char *d, size_t bytes)
{
    const struct emu_tc_row *r = &emu_tc_rows[kind];
    unsigned n = wide ? 64 : r->n;
    uint64_t a[64 * 32 / 8], b[64 * 32 / 8];
    memset(d, 0, bytes);
    for (int step = 0; step < (wide ? 256 : 64); step++) {
        tcc_fill_chain(number, step, (int)r->m, (int)r->k, case_type(r->a), 0, a);
        tcc_fill_chain(number, step, (int)n, (int)r->k, case_type(r->b), 1, b);
        emu_tc_accumulate(kind, r->m, n, a, b, d);
    }
}

static void test_golden(void **state)
{
    (void)state;
    struct record record;
    FILE *file = fopen(GOLDEN, "rb");
    const char *every = getenv("TW_TEST_ALL");
    unsigned long long equal = 0, chains = 0;
    const uint32_t step = TW_TESTS_SANITIZED ? 64 : 8;
    int seen = 0, wrong = 0;
    assert_non_null(file);
    while (fread(&record, sizeof record, 1, file) == 1) {
        int chained = record.name[0] == '+' || record.name[0] == '*';
        int kind = kind_of(record.name + chained);
        assert_true(kind >= 0);
        unsigned element = emu_tc_bytes(emu_tc_rows[kind].d), count = record.bytes / element;
        uint32_t group = record.cases / record.groups;
        unsigned char *d = must_allocate((size_t)record.bytes * (chained ? record.cases : group));
        unsigned long long bad = 0;
        seen += !chained;
        for (uint32_t i = 0; i < record.sampled; i++) {
            unsigned char *at = chained ? d + (size_t)i * record.bytes : d;
            if (chained)
                chain((enum emu_tc_kind)kind, (int)i, record.name[0] == '*', at, record.bytes);
            else
                compute((enum emu_tc_kind)kind, i, 0, at);
            for (uint32_t e = i % 8; e < count; e += 8) {
                uint64_t want = 0, got = 0;
                assert_int_equal(fread(&want, element, 1, file), 1);
                memcpy(&got, at + (size_t)e * element, element);
                if (want != got && bad++ < 4)
                    print_message("# %s case %u element %u: %llx, an H200 gives %llx\n", record.name, i, e,
                                  (unsigned long long)got, (unsigned long long)want);
                equal += want == got;
            }
        }
        for (uint32_t g = 0; g < record.groups; g++) {
            uint64_t want;
            assert_int_equal(fread(&want, sizeof want, 1, file), 1);
            if (!chained && !(every && *every == '1') && g % step != (uint32_t)kind % step)
                continue;
            for (uint32_t i = 0; !chained && i < group; i++)
                compute((enum emu_tc_kind)kind, g * group + i, 0, d + (size_t)i * record.bytes);
            if (tcc_hash(d, (size_t)record.bytes * group) != want) {
                bad++;
                print_message("# %s: group %u differs\n", record.name, g);
            } else {
                *(chained ? &chains : &equal) += (unsigned long long)count * group;
            }
        }
        wrong += bad != 0;
        free(d);
    }
    fclose(file);
    print_message("# %d kinds, %llu results and %llu of chains equal an H200's\n", seen, equal, chains);
    assert_int_equal(seen, EMU_TC_KINDS);
    assert_int_equal(wrong, 0);
}

/* Everything that one sum can meet, also shapes that are no instruction's, on fresh cases. */
static void test_fast_is_plain(void **state)
{
    (void)state;
    unsigned long long equal = 0;
    for (int kind = 0; kind < EMU_TC_KINDS; kind++) {
        const struct emu_tc_row *r = &emu_tc_rows[kind];
        unsigned element = emu_tc_bytes(r->d);
        uint64_t a[64 * 32 / 4], b[64 * 32 / 4], c[64 * 64];
        unsigned char d[64 * 64 * 8], e[64 * 64 * 8];
        if (r->way != EMU_TC_FUSED && r->way != EMU_TC_HALVES)
            continue;
        for (int number = 0; number < 180; number += TW_TESTS_SANITIZED ? 6 : 1) {
            unsigned m = 1 + (unsigned)number * 7 % 40, n = 1 + (unsigned)number * 11 % 61;
            size_t bytes = (size_t)m * n * element;
            tcc_fill(kind + 1000, number, (int)m, (int)n, (int)r->k, case_type(r->a), case_type(r->b), case_type(r->d),
                     a, b, c);
            memcpy(d, c, bytes);
            memcpy(e, c, bytes);
            emu_tc_accumulate((enum emu_tc_kind)kind, m, n, a, b, d);
            emu_tc_accumulate_plain((enum emu_tc_kind)kind, m, n, a, b, e);
            if (memcmp(d, e, bytes))
                print_message("# %s, case %d, %u x %u\n", r->name, number, m, n);
            assert_memory_equal(d, e, bytes);
            equal += (unsigned long long)m * n;
        }
    }
    print_message("# %llu results equal\n", equal);
}

static void test_find(void **state)
{
    (void)state;
    for (int i = 0; i < EMU_TC_KINDS; i++) {
        const struct emu_tc_row *r = &emu_tc_rows[i];
        assert_int_equal(emu_tc_find(r->engine, r->m, r->k, r->a, r->b, r->d, r->saturate), i);
        assert_true(r->k <= EMU_TC_MAX_K);
    }
    assert_int_equal(emu_tc_find(EMU_TC_WGMMA, 64, 16, EMU_TC_BF16, EMU_TC_F16, EMU_TC_F32, 0), -1);
    assert_int_equal(emu_tc_find(EMU_TC_WGMMA, 64, 16, EMU_TC_BF16, EMU_TC_BF16, EMU_TC_F16, 0), -1);
}

static void test_negate(void **state)
{
    (void)state;
    uint16_t half[3] = {0x3c00, 0x8000, 0x7c01};
    uint32_t tf32[2] = {0x3f800000, 0x80000001};
    uint8_t fp8[2] = {0x7f, 0x81}, s8[2] = {1, 2};
    emu_tc_negate(EMU_TC_F16, 3, half);
    emu_tc_negate(EMU_TC_TF32, 2, tf32);
    emu_tc_negate(EMU_TC_E4M3, 2, fp8);
    emu_tc_negate(EMU_TC_S8, 2, s8);
    assert_true(half[0] == 0xbc00 && half[1] == 0 && half[2] == 0xfc01);
    assert_true(tf32[0] == 0xbf800000 && tf32[1] == 1);
    assert_true(fp8[0] == 0xff && fp8[1] == 1 && s8[0] == 1 && s8[1] == 2);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* 512 x 512 x 512 by instructions of 64 (16 of mma.sync) x 256 (8) on the numbers of a chain. Printed, not asserted:
   the machine may be busy. */
static void test_speed(void **state)
{
    (void)state;
    static const enum emu_tc_kind kinds[] = {
        EMU_TC_WGMMA_F32_BF16,      EMU_TC_WGMMA_F32_F16,   EMU_TC_WGMMA_F16_F16,    EMU_TC_WGMMA_F32_TF32,
        EMU_TC_WGMMA_F32_E4M3_E4M3, EMU_TC_WGMMA_S32_S8_S8, EMU_TC_MMA_K16_F32_BF16, EMU_TC_MMA_K32_F32_E4M3_E4M3};
    for (size_t t = 0; t < sizeof kinds / sizeof *kinds && !TW_TESTS_SANITIZED; t++) {
        const struct emu_tc_row *r = &emu_tc_rows[kinds[t]];
        unsigned m = r->m, n = r->engine == EMU_TC_WGMMA ? 256 : 8, k = r->k;
        size_t element = emu_tc_bytes(r->a), a_tile = element * m * k, b_tile = element * n * k;
        unsigned char *a = must_allocate(512 * 512 * element), *b = must_allocate(512 * 512 * element);
        unsigned char *d = must_allocate((size_t)m * n * emu_tc_bytes(r->d));
        for (unsigned s = 0; s < 512 / k; s++) {
            tcc_fill_chain(0, (int)s, 512, (int)k, case_type(r->a), 0, a + s * 512 * k * element);
            tcc_fill_chain(0, (int)s, 512, (int)k, case_type(r->b), 1, b + s * 512 * k * element);
        }
        double start = seconds();
        for (unsigned i = 0; i < 512 / m; i++)
            for (unsigned j = 0; j < 512 / n; j++) {
                memset(d, 0, (size_t)m * n * emu_tc_bytes(r->d));
                for (unsigned s = 0; s < 512 / k; s++)
                    emu_tc_accumulate(kinds[t], m, n, a + s * 512 * k * element + i * a_tile,
                                      b + s * 512 * k * element + j * b_tile, d);
            }
        double took = seconds() - start;
        print_message("# %-24s 512^3 in %.3f s, %.0f million multiply-adds a second\n", r->name, took,
                      512.0 * 512 * 512 / took * 1e-6);
        free(a);
        free(b);
        free(d);
    }
}

/* The same with fewer of the host's vector instructions. */
static void test_narrow(void **state)
{
    for (int most = EMU_VECTORS_ANY; most < EMU_VECTORS_AVX512; most++) {
        emu_vectors_limit((enum emu_vectors)most);
        test_golden(state);
        test_fast_is_plain(state);
    }
    emu_vectors_limit(EMU_VECTORS_AVX512);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),          cmocka_unit_test(test_negate), cmocka_unit_test(test_golden),
        cmocka_unit_test(test_fast_is_plain), cmocka_unit_test(test_narrow), cmocka_unit_test(test_speed),
    };
    return cmocka_run_group_tests_name("tensor_core", tests, NULL, NULL);
}
