/* The reader of fat binaries: what it chooses, both compressions, and damage, in blocks of just their size. */
#include <lz4.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "record/fatbin.h"
#include "unit/check.h"
#include "unit/rounds.h"

enum { HEADER = 16, ENTRY = 64, PTX = 1, CUBIN = 2, PLAIN = 0, LZ4 = 0x2000, ZSTD = 0x8000, MOST = 8192 };

static void put(unsigned char *at, int bytes, uint64_t value)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (unsigned char)(value >> (8 * i));
}

struct fatbin {
    unsigned char bytes[MOST];
    size_t count;
};

static void begin(struct fatbin *f)
{
    memset(f, 0, sizeof *f);
    put(f->bytes, 4, 0xBA55ED50);
    put(f->bytes + 4, 2, 1);
    put(f->bytes + 6, 2, HEADER);
    f->count = HEADER;
}

/* An entry with these bytes, compressed as flags say. */
static void add(struct fatbin *f, unsigned kind, unsigned flags, const char *text)
{
    unsigned char *at = f->bytes + f->count, *payload = at + ENTRY;
    size_t length = strlen(text) + 1, packed = length, room = MOST - f->count - ENTRY;
    if (flags == ZSTD)
        packed = ZSTD_compress(payload, room, text, length, 3);
    else if (flags == LZ4)
        packed = (size_t)LZ4_compress_default(text, (char *)payload, (int)length, (int)room);
    else
        memcpy(payload, text, length);
    assert_true(packed > 0 && packed < room);
    size_t padded = (packed + 7) / 8 * 8;
    put(at, 2, kind);
    put(at + 2, 2, 0x101);
    put(at + 4, 4, ENTRY);
    put(at + 8, 8, padded);
    put(at + 16, 4, flags ? packed : 0);
    put(at + 40, 8, flags | 0x11);
    put(at + 56, 8, flags ? length : 0);
    f->count += ENTRY + padded;
    put(f->bytes + 8, 8, f->count - HEADER);
}

static const char *ptx_for(const char *target)
{
    static char text[512];
    snprintf(text, sizeof text,
             "//\n// words that compress, words that compress, words that compress\n//\n"
             ".version 8.0\n.target %s\n.address_size 64\n",
             target);
    return text;
}

/* The .target of the PTX that is chosen, or what is said where none is. */
static const char *chosen(const struct fatbin *f, const char *arch)
{
    static char answer[FATBIN_WHY + 32];
    char why[FATBIN_WHY];
    size_t count = 0;
    unsigned char *copy = malloc(f->count);
    memcpy(copy, f->bytes, f->count);
    assert_int_equal(cu_fatbin_bytes(copy), f->count);
    char *text = cu_fatbin_ptx(copy, f->count, arch, &count, why);
    snprintf(answer, sizeof answer, "%s", why);
    if (text) {
        assert_int_equal(strlen(text), count);
        assert_int_equal(sscanf(strstr(text, ".target"), ".target %63s", answer), 1);
        assert_string_equal(text, ptx_for(answer));
    }
    free(text);
    free(copy);
    return answer;
}

static void chooses(void **state)
{
    struct fatbin f;
    (void)state;
    for (unsigned flags = PLAIN; flags <= ZSTD; flags = flags == PLAIN ? LZ4 : flags == LZ4 ? ZSTD : ZSTD + 1) {
        begin(&f);
        add(&f, CUBIN, PLAIN, "\177ELF");
        add(&f, PTX, flags, ptx_for("sm_80"));
        assert_string_equal(chosen(&f, "sm_90a"), "sm_80");
        add(&f, PTX, flags, ptx_for("sm_90"));
        add(&f, PTX, flags, ptx_for("sm_75"));
        add(&f, PTX, flags, ptx_for("sm_100"));
        assert_string_equal(chosen(&f, "sm_90a"), "sm_90");
        assert_string_equal(chosen(&f, "sm_86"), "sm_80");
        add(&f, PTX, flags, ptx_for("sm_90a"));
        assert_string_equal(chosen(&f, "sm_90a"), "sm_90a");
        assert_string_equal(chosen(&f, "sm_90"), "sm_90");
    }
}

static void says_why(void **state)
{
    struct fatbin f;
    (void)state;
    begin(&f);
    add(&f, CUBIN, PLAIN, "\177ELF");
    assert_non_null(strstr(chosen(&f, "sm_90a"), "-gencode arch=compute_90a,code=compute_90a"));
    add(&f, PTX, ZSTD, ptx_for("sm_100a"));
    assert_string_equal(chosen(&f, "sm_90a"), "its PTX is for sm_100a, which does not run on sm_90a");
    begin(&f);
    add(&f, PTX, ZSTD, ptx_for("sm_90"));
    put(f.bytes + HEADER + 56, 8, UINT64_C(1) << 40); /* more than any PTX */
    assert_non_null(strstr(chosen(&f, "sm_90a"), "said to unpack to 1099511627776, more than 256 times as many"));
    put(f.bytes + HEADER + 56, 8, 20); /* less than it unpacks to */
    assert_string_equal(chosen(&f, "sm_90a"), "the fat binary is damaged");
    begin(&f);
    add(&f, PTX, PLAIN, ptx_for("sm_90"));
    put(f.bytes + HEADER + 8, 8, 4000); /* a payload behind the end */
    assert_string_equal(chosen(&f, "sm_90a"), "the fat binary is damaged");
}

/* PTX of 64 MB that packs to a few KB: true, and not unpacked all the same. Of 64 KB it is. */
static void no_bomb(void **state)
{
    (void)state;
    for (size_t length = (size_t)64 << 20; length >= 60000; length = length > 60000 ? 60000 : 0) {
        struct fatbin f;
        char *text = malloc(length), why[FATBIN_WHY] = "";
        size_t count = 0;
        memset(text, '\n', length);
        snprintf(text, 40, ".version 8.0\n.target sm_80\n\n");
        text[strlen(text)] = '\n';
        text[length - 1] = 0;
        begin(&f);
        add(&f, PTX, ZSTD, text);
        char *got = cu_fatbin_ptx(f.bytes, f.count, "sm_90a", &count, why);
        if (length > 60000)
            assert_true(!got && strstr(why, "are said to unpack to 67108864, more than 256 times as many"));
        else
            assert_true(got && count == length - 1);
        free(got);
        free(text);
    }
}

static size_t draw(uint64_t *random, size_t below)
{
    *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (size_t)(*random >> 33) % below;
}

/* One of the mutations of a fat binary of `bytes` bytes, in a block of just its size: turned bits, numbers of the
   headers at their edges, parts that are doubled, left out or put in place of others. *bytes becomes its size. */
static unsigned char *mutated(const struct fatbin *f, size_t *bytes, uint64_t *random)
{
    static const uint64_t edges[] = {0,         1, 63, 64, 65, 0x7fffffff, 0x80000000, 0xffffffff, UINT64_C(1) << 63,
                                     UINT64_MAX};
    unsigned char room[2 * MOST];
    size_t count = f->count;
    memcpy(room, f->bytes, count);
    for (size_t times = 1 + draw(random, 4); times; times--) {
        size_t from = draw(random, count), length = 1 + draw(random, count - from), at = draw(random, count);
        switch (draw(random, 5)) {
        case 0:
            room[at] ^= (unsigned char)(1u << draw(random, 8));
            break;
        case 1: /* of an entry's header: its sizes, flags and kind stand at multiples of 4 */
            put(room + HEADER + draw(random, 16) * 4 % (count > HEADER + 8 ? count - HEADER - 8 : 1), 8,
                edges[draw(random, 10)]);
            break;
        case 2:
            if (count + length <= sizeof room) {
                memmove(room + from + length, room + from, count - from);
                count += length;
            }
            break;
        case 3:
            if (length < count) {
                memmove(room + from, room + from + length, count - from - length);
                count -= length;
            }
            break;
        default:
            memmove(room + at, room + from, length < count - at ? length : count - at);
        }
        if (count < HEADER + 8)
            break;
    }
    unsigned char *copy = malloc(count + !count);
    memcpy(copy, room, count);
    *bytes = count;
    return copy;
}

/* A thousand mutations: nothing behind the end is read (a sanitizer would say so), and what is given is no longer than
   so many bytes can be packed into. */
static void mutations(void **state)
{
    static const unsigned kinds[] = {PLAIN, LZ4, ZSTD};
    uint64_t random = 11;
    int right = 0, wrong = 0;
    (void)state;
    for (int turn = 0; turn < rounds(1000); turn++) {
        struct fatbin f;
        char why[FATBIN_WHY] = "";
        size_t bytes, count = 0;
        begin(&f);
        add(&f, CUBIN, PLAIN, "\177ELF");
        add(&f, PTX, kinds[turn % 3], ptx_for("sm_80"));
        add(&f, PTX, kinds[(turn + 1) % 3], ptx_for("sm_90"));
        unsigned char *image = mutated(&f, &bytes, &random);
        char *text = cu_fatbin_ptx(image, bytes, "sm_90a", &count, why);
        assert_true(text ? strlen(text) <= count : *why != 0);
        assert_true(!text || count <= 65536 + 256 * bytes);
        right += text != NULL;
        wrong += text == NULL;
        free(text);
        free(image);
    }
    assert_true(right > 20 && wrong > 20);
}

/* Every cut, and a thousand changes of one or two bytes: it reads nothing behind the end, and frees what it took. */
static void survives(void **state)
{
    static const unsigned kinds[] = {PLAIN, LZ4, ZSTD};
    uint64_t random = 7;
    int right = 0, wrong = 0;
    (void)state;
    for (size_t k = 0; k < 3; k++) {
        struct fatbin f;
        begin(&f);
        add(&f, PTX, kinds[k], ptx_for("sm_80"));
        add(&f, PTX, kinds[k], ptx_for("sm_90"));
        for (size_t turn = 0; turn < f.count + 400; turn++) {
            char why[FATBIN_WHY] = "";
            size_t bytes = turn < f.count ? turn : f.count, count = 0;
            unsigned char *copy = malloc(bytes + !bytes);
            memcpy(copy, f.bytes, bytes);
            for (int i = 0; turn >= f.count && i < 1 + (int)(turn & 1); i++) {
                random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
                copy[(size_t)(random >> 33) % bytes] = (unsigned char)(random >> 24);
            }
            char *text = cu_fatbin_ptx(copy, bytes, "sm_90a", &count, why);
            assert_true(text != NULL || *why);
            right += text != NULL;
            wrong += text == NULL;
            free(text);
            free(copy);
        }
    }
    assert_true(right > 100 && wrong > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(chooses), cmocka_unit_test(says_why), cmocka_unit_test(no_bomb),
                                       cmocka_unit_test(mutations), cmocka_unit_test(survives)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
