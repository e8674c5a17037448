// The explain library's reading and telling of a call: the golden calls of a driver, lists that cannot be read, and
// arguments of every kind that a program can get wrong.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "explain/explain.h"

static const struct explain_machine hopper = {90, 1, 13000};
static _Alignas(128) uint64_t map[16];
static char report[1 << 16];

// Any of the three.
union parameters {
    struct cupti_tiled tiled;
    struct cupti_im2col im2col;
    struct cupti_im2col_wide wide;
};

// The parameters that a program gives for a call whose lists lie in *c.
static uint32_t parameters_of(const struct tw_tensormap_call *c, union parameters *p)
{
    memset(p, 0, sizeof *p);
    void *address = (void *)(uintptr_t)c->addr;
    int il = (int)c->interleave, swizzle = (int)c->swizzle, l2 = (int)c->l2, oob = (int)c->oob, dtype = (int)c->dtype;
    switch (c->func) {
    case TW_TENSORMAP_TILED:
        p->tiled = (struct cupti_tiled){map,    dtype,      c->rank, address, c->dim, c->stride,
                                        c->box, c->estride, il,      swizzle, l2,     oob};
        return 697;
    case TW_TENSORMAP_IM2COL:
        p->im2col =
            (struct cupti_im2col){map,         dtype,     c->rank,    address, c->dim,  c->stride, c->lower, c->upper,
                                  c->channels, c->pixels, c->estride, il,      swizzle, l2,        oob};
        return 698;
    default:
        p->wide = (struct cupti_im2col_wide){map,          dtype,       c->rank,     address,   c->dim,     c->stride,
                                             c->lower[0],  c->upper[0], c->channels, c->pixels, c->estride, il,
                                             (int)c->mode, swizzle,     l2,          oob};
        return 781;
    }
}

// What is told of a call that was answered with `result`: the count of rules, and the text in `report`.
static int tell(uint32_t id, const union parameters *p, int result, int warnings)
{
    struct explain_call call;
    const char *name = explain_read(id, p, &call);
    assert_non_null(name);
    memset(report, 'x', sizeof report);
    int count = explain_report(name, &call, &hopper, result, warnings, report, sizeof report);
    assert_non_null(memchr(report, 0, sizeof report));
    assert_true(result == 0 || strncmp(report, name, strlen(name)) == 0);
    return count;
}

static int holds(const char *part)
{
    return strstr(report, part) != NULL;
}

// The numbers of a member of a golden line; their count.
static unsigned numbers(const char *line, const char *name, uint64_t *out, unsigned room)
{
    char key[32];
    unsigned count = 0;
    snprintf(key, sizeof key, "\"%s\":", name);
    const char *at = strstr(line, key);
    if (!at)
        return 0;
    at += strlen(key);
    at += *at == '[';
    while (count < room && *at && *at != ']' && *at != '}') {
        char *end;
        out[count++] = *at == '-' ? (uint64_t)strtoll(at, &end, 10) : strtoull(at, &end, 10);
        if (*end != ',' || end[1] == '"')
            break;
        at = end + 1;
    }
    return count;
}

// Each golden call goes in as the driver's parameters: it is read back as it was, refused ones are told with a rule,
// and of accepted ones there is nothing to tell.
static void golden_calls(void **state)
{
    (void)state;
    FILE *golden = popen("gzip -dc tests/golden/tensormap_calls.jsonl.gz", "r");
    char line[2048];
    int calls = 0, refused = 0, warned = 0;
    assert_non_null(golden);
    while (fgets(line, sizeof line, golden)) {
        struct tw_tensormap_call c;
        struct explain_call read;
        union parameters p;
        uint64_t values[5], rc = 9;
        memset(&c, 0, sizeof c);
        c.func = strstr(line, "\"tiled\"")    ? TW_TENSORMAP_TILED
                 : strstr(line, "\"im2col\"") ? TW_TENSORMAP_IM2COL
                                              : TW_TENSORMAP_IM2COL_WIDE;
        for (int a = TMAP_NONE + 1; a < TMAP_ARG_COUNT; a++) {
            unsigned count = numbers(line, tmap_args[a].name, values, tmap_args[a].room);
            for (unsigned i = 0; i < count; i++)
                tmap_set(&c, (enum tmap_arg)a, i, values[i]);
        }
        assert_int_equal(numbers(line, "rc", &rc, 1), 1);
        uint32_t id = parameters_of(&c, &p);
        assert_non_null(explain_read(id, &p, &read));
        assert_int_equal(read.missing, 0);
        for (int a = TMAP_NONE + 1; a < TMAP_ARG_COUNT; a++)
            for (unsigned i = 0; i < tmap_entries(&c, (enum tmap_arg)a); i++)
                assert_int_equal(tmap_get(&read.call, (enum tmap_arg)a, i), tmap_get(&c, (enum tmap_arg)a, i));
        int count = tell(id, &p, (int)rc, 0);
        if (rc ? count < 1 || !holds("    TMA-") || holds("no rule known") : count != 0 || report[0])
            fail_msg("rc %d, %d rules: %s%s", (int)rc, count, line, report);
        calls++;
        refused += rc != 0;
        if (rc == 0 && tell(id, &p, 0, 1) > 0) {
            assert_true(holds("was accepted, against the documentation") && holds("    warning TMA-"));
            warned++;
        }
    }
    pclose(golden);
    assert_int_equal(calls, 30000);
    assert_true(refused > 5000 && warned > 100);
    print_message("# %d calls, %d refused, %d with warnings\n", calls, refused, warned);
}

static struct tw_tensormap_call good(void)
{
    return (struct tw_tensormap_call){
        .dtype = 9,
        .rank = 3,
        .addr = UINT64_C(0x7f0000000000),
        .dim = {256, 128, 64},
        .stride = {512, 65536},
        .box = {64, 16, 2},
        .lower = {-1},
        .upper = {-1},
        .channels = 64,
        .pixels = 64,
        .estride = {1, 1, 1},
        .swizzle = 3,
    };
}

static void not_watched(void **state)
{
    struct explain_call call;
    union parameters p = {0};
    (void)state;
    for (uint32_t id = 0; id < 1000; id++)
        if (id != 697 && id != 698 && id != 781)
            assert_null(explain_read(id, &p, &call));
}

// One list after the other is NULL, lies nowhere, or ends where memory does: it is named, and no rule speaks of what
// nobody has seen.
static void lists_that_cannot_be_read(void **state)
{
    (void)state;
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED && munmap(pages + 4096, 4096) == 0);
    for (int func = 0; func < 3; func++)
        for (int a = TMAP_NONE + 1; a < TMAP_ARG_COUNT; a++) {
            struct tw_tensormap_call c = good();
            c.func = (enum tw_tensormap_func)func;
            unsigned entries = tmap_entries(&c, (enum tmap_arg)a);
            if (!entries || tmap_args[a].entries == TMAP_ENTRIES_ONE || (func == 2 && tmap_args[a].is_signed))
                continue;
            for (int how = 0; how < 4; how++) {
                union parameters p;
                char want[64];
                uint32_t id = parameters_of(&c, &p);
                const char *was = (const char *)&c + tmap_args[a].offset;
                const void *list = how == 0 ? NULL : how == 1 ? (void *)8 : pages + 4096 - (how == 2 ? 4 : 0);
                size_t whole = entries * tmap_args[a].size;
                if (how == 3) { // up to the last byte of the page: this one can be read
                    list = memcpy(pages + 4096 - whole, was, whole);
                } else if (how == 2 && whole <= 4) {
                    continue;
                }
                // Exchange the one pointer to the list.
                unsigned found = 0;
                for (size_t i = 0; i < sizeof p / sizeof was; i++) {
                    void *one;
                    memcpy(&one, (char *)&p + i * sizeof was, sizeof one);
                    if (one == was) {
                        memcpy((char *)&p + i * sizeof was, &list, sizeof list);
                        found++;
                    }
                }
                assert_int_equal(found, 1);
                int count = tell(id, &p, 1, 0);
                snprintf(want, sizeof want, "    TMA-NULL: %s is %s", tmap_args[a].name, how == 0 ? "NULL;" : "0x");
                if (how == 3) {
                    // im2col wide is documented for later machines than this one.
                    assert_int_equal(count, func == TW_TENSORMAP_IM2COL_WIDE);
                    assert_int_equal(holds("no rule known here forbids this call (driver 13.0)"), count == 0);
                    assert_false(holds("TMA-NULL"));
                } else if (count != 1 || !holds(want)) {
                    fail_msg("%s: %s", want, report);
                }
            }
        }
    munmap(pages, 4096);

    // Another rule is broken too: it is told, and no nearest call, which nobody knows.
    struct tw_tensormap_call c = good();
    union parameters p;
    c.box[0] = 320;
    uint32_t id = parameters_of(&c, &p);
    p.tiled.dim = NULL;
    assert_int_equal(tell(id, &p, 1, 0), 3);
    assert_true(holds("TMA-NULL: dim") && holds("TMA-BOX: box[0]") && holds("TMA-SPAN: ") && !holds("nearest"));
}

// A list in memory that is a device's, as pinned memory is, can be read by the program and by no process_vm_readv; the
// kernel's page for clocks is such.
static void list_in_device_memory(void **state)
{
    (void)state;
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    uintptr_t page = 0;
    assert_non_null(maps);
    while (!page && fgets(line, sizeof line, maps))
        if (strstr(line, "[vvar]"))
            page = (uintptr_t)strtoull(line, NULL, 16);
    fclose(maps);
    if (!page)
        skip();
    struct tw_tensormap_call c = good();
    struct explain_call call;
    union parameters p;
    uint32_t id = parameters_of(&c, &p);
    p.tiled.dim = (const uint64_t *)page;
    assert_non_null(explain_read(id, &p, &call));
    assert_int_equal(call.missing, 0);
}

static void pointer_of_the_map(void **state)
{
    struct tw_tensormap_call c = good();
    union parameters p;
    (void)state;
    uint32_t id = parameters_of(&c, &p);
    p.tiled.map = NULL;
    assert_int_equal(tell(id, &p, 1, 0), 1);
    assert_true(holds("    TMA-NULL: tensorMap is NULL; pass"));
    p.tiled.map = (char *)map + 32;
    assert_int_equal(tell(id, &p, 1, 0), 1);
    assert_true(holds("    warning TMA-MAP: tensorMap is 0x"));
    assert_int_equal(tell(id, &p, 0, 0), 0);
    assert_int_equal(tell(id, &p, 0, 1), 1);
    assert_true(holds("    warning TMA-MAP: "));
    // With another reason it is none.
    p.tiled.rank = 6;
    assert_int_equal(tell(id, &p, 1, 0), 1);
    assert_true(holds("    TMA-RANK: "));
    p.tiled.rank = 3;
    p.tiled.map = (char *)map + 64;
    assert_int_equal(tell(id, &p, 0, 1), 0);
    assert_string_equal(report, "");
}

static void no_argument_is_to_blame(void **state)
{
    struct tw_tensormap_call c = good();
    union parameters p;
    (void)state;
    uint32_t id = parameters_of(&c, &p);
    assert_int_equal(tell(id, &p, 201, 0), 0);
    assert_true(holds("failed: CUDA_ERROR_INVALID_CONTEXT (201)") && holds("    no context is current"));
    assert_false(holds("no rule known"));
    assert_int_equal(tell(id, &p, 12345, 0), 0);
    assert_true(holds("failed: error 12345, compute") && holds("no rule known"));
    // Both at once.
    c.stride[0] = 200;
    assert_int_equal(tell(id, &p, 201, 0), 1);
    assert_true(holds("    no context is current") && holds("    TMA-STR16: stride[0] is 200"));
}

// A driver that refuses what the measured one takes with a warning: the warning is the reason.
static void refused_for_a_warning(void **state)
{
    struct tw_tensormap_call c = good();
    union parameters p;
    (void)state;
    c.swizzle = 0;
    c.interleave = 2;
    uint32_t id = parameters_of(&c, &p);
    assert_int_equal(tell(id, &p, 0, 0), 0);
    assert_int_equal(tell(id, &p, 1, 0), 1);
    assert_true(holds("    warning TMA-IL32-SWZ: ") && !holds("no rule known") && !holds("nearest"));
}

static void cut_text(void **state)
{
    struct tw_tensormap_call c = good();
    struct explain_call call;
    union parameters p;
    char whole[4096], cut[4096];
    (void)state;
    c.stride[0] = 7;
    c.box[0] = 999;
    uint32_t id = parameters_of(&c, &p);
    const char *name = explain_read(id, &p, &call);
    explain_report(name, &call, &hopper, 1, 1, whole, sizeof whole);
    for (size_t size = 1; size <= strlen(whole) + 1; size++) {
        memset(cut, 'x', sizeof cut);
        explain_report(name, &call, &hopper, 1, 1, cut, size);
        assert_int_equal(strlen(cut), size - 1);
        assert_memory_equal(cut, whole, size - 1);
        assert_int_equal(cut[size], 'x');
    }
}

static uint64_t next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

// Parameters that are noise, or good with some noise: every call that failed is told, and nothing crashes.
static void noise(void **state)
{
    static const uint32_t ids[] = {697, 698, 781};
    static const uint64_t edges[] = {0, 1, 2, 5, 6, 15, 16, 255, 256, 257, 1u << 31, UINT32_MAX, UINT64_MAX};
    uint64_t seed = 88172645463325252u;
    (void)state;
    for (int i = 0; i < 20000; i++) {
        struct tw_tensormap_call c = good();
        union parameters p;
        c.func = (enum tw_tensormap_func)(next(&seed) % 3);
        for (int k = (int)(next(&seed) % 4); k > 0; k--) {
            enum tmap_arg a = (enum tmap_arg)(1 + next(&seed) % (TMAP_ARG_COUNT - 1));
            uint64_t value = next(&seed) % 2 ? edges[next(&seed) % 13] : next(&seed);
            tmap_set(&c, a, (unsigned)(next(&seed) % tmap_args[a].room), value);
        }
        uint32_t id = parameters_of(&c, &p);
        for (size_t k = 0; k < sizeof p && next(&seed) % 4 == 0; k += 8) {
            uint64_t value = next(&seed) % 2 ? edges[next(&seed) % 13] : next(&seed);
            if (next(&seed) % 3 == 0)
                memcpy((char *)&p + k, &value, 8);
        }
        if (i % 5 == 0) {
            id = ids[next(&seed) % 3];
            for (size_t k = 0; k < sizeof p; k += 8) {
                uint64_t value = next(&seed) % 2 ? edges[next(&seed) % 13] : next(&seed);
                memcpy((char *)&p + k, &value, 8);
            }
        }
        int count = tell(id, &p, 1, (int)(next(&seed) % 2));
        assert_true((count > 0) == holds("TMA-"));
        assert_true((count == 0) == holds("no rule known"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_calls),
        cmocka_unit_test(not_watched),
        cmocka_unit_test(lists_that_cannot_be_read),
        cmocka_unit_test(list_in_device_memory),
        cmocka_unit_test(pointer_of_the_map),
        cmocka_unit_test(no_argument_is_to_blame),
        cmocka_unit_test(refused_for_a_warning),
        cmocka_unit_test(cut_text),
        cmocka_unit_test(noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
