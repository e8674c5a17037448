/* Recorded launches as files: what is written is read again, what does not fit is refused, and 1,000 mutated records
   neither crash nor take memory out of proportion. tests/record.sh has the rest. */
#include "unit/check.h"
#include "unit/rounds.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fuzz/fuzz_record.c"

enum { MUTATIONS = 1000 };

static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n";

static void section(struct recorded_writer *w, enum recorded_kind kind, uint32_t item, const void *bytes, size_t count)
{
    recorded_begin(w, kind, item, count);
    for (size_t i = 0; i < count; i++) /* byte by byte: the checksum is of whole words all the same */
        recorded_put(w, (const char *)bytes + i, 1);
    recorded_end(w);
}

/* A record of an allocation of `bytes` bytes at the end. */
static void write_record(struct recorded_writer *w, size_t bytes)
{
    struct {
        struct recorded_launch launch;
        char name[2];
    } launch = {{.grid = {1, 1, 1}, .block = {32, 1, 1}, .name_bytes = 2}, "k"};
    struct recorded_memory memory = {.address = UINT64_C(0x7f0000000000), .bytes = bytes};
    static const unsigned char zeros[4096];
    section(w, RECORDED_LAUNCH, 0, &launch, sizeof launch.launch + 2);
    section(w, RECORDED_PTX, 0, ptx, sizeof ptx);
    section(w, RECORDED_PARAMETERS, 0, NULL, 0);
    recorded_begin(w, RECORDED_MEMORY, 0, sizeof memory + bytes);
    recorded_put(w, &memory, sizeof memory);
    for (size_t i = 0; i < bytes; i += sizeof zeros)
        recorded_put(w, zeros, bytes - i < sizeof zeros ? bytes - i : sizeof zeros);
    recorded_end(w);
    struct recorded_writer mark = recorded_mark(w);
    section(w, RECORDED_AFTER, 0, zeros, 24); /* and thought better of */
    recorded_back(w, &mark);
    section(w, RECORDED_AFTER, 0, NULL, 0);
}

static void path_of(char path[64])
{
    snprintf(path, 64, "/tmp/tw_record_%d.record", (int)getpid());
}

static void written_and_read(void **state)
{
    struct tw_runtime rt;
    struct tw_error error;
    struct recorded_writer w;
    struct recorded record;
    char path[64];
    (void)state;
    path_of(path);
    assert_int_equal(tw_runtime_init(&rt, &error), TW_OK);
    assert_int_equal(recorded_open(&w, path), 0);
    write_record(&w, 4099);
    assert_int_equal(recorded_finish(&w, 1), 0);
    if (recorded_read(&rt, path, &record, &error) != TW_OK)
        fail_msg("%s", error.text);
    assert_string_equal(record.entry, "k");
    assert_string_equal(record.ptx, ptx);
    assert_int_equal(record.ptx_bytes, sizeof ptx - 1);
    assert_int_equal(record.piece_count, 1);
    assert_int_equal(record.piece[0].is.bytes, 4099);
    assert_ptr_equal(record.piece[0].after, record.piece[0].before);
    assert_int_equal(record.launch.block[0], 32);
    recorded_free(&rt, &record);
    remove(path);
    /* One that is not kept leaves nothing. */
    assert_int_equal(recorded_open(&w, path), 0);
    write_record(&w, 8);
    assert_int_equal(recorded_finish(&w, 0), 0);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(recorded_open(&w, "/tmp/none/of/these"), -1);
    tw_runtime_close(&rt);
}

/* Each sentence of the reader, of a record of which one number is another and the checksum fits. */
static void refused(void **state)
{
    enum { HEAD = 16 };
    static const struct {
        int section; /* -1: the header */
        size_t offset, width;
        uint64_t value;
        const char *text;
    } cases[] = {
        {-1, 8, 4, 2, "of version 2, and this program reads version 1"},
        {-1, 12, 4, 4, "more follows behind the last section"},
        {-1, 12, 4, 6, "section 6: it is not there"},
        {-1, 12, 4, 1 << 20, "1048576 sections are more than it can hold"},
        {0, 0, 4, 9, "section 1: its kind is none of version 1"},
        {0, HEAD + offsetof(struct recorded_launch, name_bytes), 4, 7, "attributes and name do not fill the launch"},
        {0, HEAD + offsetof(struct recorded_launch, attributes), 4, 1, "attributes and name do not fill the launch"},
        {0, 0, 4, RECORDED_PTX, "the PTX is no text"},
        {1, 0, 4, RECORDED_LAUNCH, "a second launch"},
        {1, HEAD, 1, 0, "the PTX is no text"},
        {2, 4, 4, 1, "the parameters are cut off"},
        {2, 0, 4, RECORDED_NOTE, "the note is no text"},
        {2, 0, 4, RECORDED_MAP, "a tensor map of another size, or before the parameters"},
        {3, 4, 4, 1, "the memory's number is another's"},
        {3, HEAD + 8, 8, 5, "the memory has another number of bytes than it says"},
        {3, HEAD, 8, UINT64_MAX - 3, "the memory goes past the last address"},
        {3, HEAD + 16, 4, 2, "neither an allocation nor a variable with a name"},
        {3, HEAD + 16, 4, RECORDED_VARIABLE, "neither an allocation nor a variable with a name"},
        {3, 8, 8, 8, "the memory is cut off"},
        {3, 8, 8, UINT64_MAX - 6, "it goes past the end of the file"},
        {4, 4, 4, 1, "no memory of this number comes before"},
        {4, 8, 8, 8, "it goes past the end of the file"},
        {4, 0, 4, RECORDED_PARAMETERS, "a second list of parameters"},
    };
    struct tw_runtime rt;
    struct tw_error error;
    struct recorded_writer w;
    char path[64];
    (void)state;
    path_of(path);
    assert_int_equal(tw_runtime_init(&rt, &error), TW_OK);
    assert_int_equal(recorded_open(&w, path), 0);
    write_record(&w, 64);
    assert_int_equal(recorded_finish(&w, 1), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct recorded record;
        struct recorded_section s;
        unsigned char *bytes;
        size_t count, at = cases[i].section < 0 ? 0 : sizeof(struct recorded_header);
        assert_int_equal(tw_read_file(&rt, path, 0, &bytes, &count, &error), TW_OK);
        for (int k = 0; k < cases[i].section; k++) {
            memcpy(&s, bytes + at, sizeof s);
            at += sizeof s + (s.bytes + 7) / 8 * 8;
        }
        memcpy(bytes + at + cases[i].offset, &cases[i].value, cases[i].width);
        uint64_t sum = recorded_checksum(0, bytes + 32, count - 32);
        memcpy(bytes + offsetof(struct recorded_header, checksum), &sum, sizeof sum);
        int status = recorded_parse(&rt, bytes, count, &record, &error);
        if (status != TW_ERROR_INVALID || !strstr(error.text, cases[i].text))
            fail_msg("case %zu, %s: status %d, %s", i, cases[i].text, status, status ? error.text : "");
        recorded_free(&rt, &record);
    }
    remove(path);
    tw_runtime_close(&rt);
}

/* A disk that is full: no file, and no part of one. */
static void full(void **state)
{
    struct rlimit before, little = {65536, RLIM_INFINITY};
    struct recorded_writer w;
    char path[64], part[80];
    (void)state;
    path_of(path);
    snprintf(part, sizeof part, "%s.part", path);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    little.rlim_max = before.rlim_max;
    setrlimit(RLIMIT_FSIZE, &little);
    int opened = recorded_open(&w, path);
    write_record(&w, 1 << 20);
    int finished = recorded_finish(&w, 1), why = errno;
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(opened, 0);
    assert_int_equal(finished, -1);
    assert_int_equal(why, EFBIG);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(access(part, F_OK), -1);
}

/* ---- Mutations --------------------------------------------------------------------------------------------------- */

struct input {
    unsigned char *bytes;
    size_t count;
};

static uint64_t next_draw(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

static struct input seed(const char *path)
{
    struct tw_runtime rt;
    struct tw_error error;
    unsigned char *bytes;
    struct input in = {NULL, 0};
    assert_int_equal(tw_runtime_init(&rt, &error), TW_OK);
    if (tw_read_file(&rt, path, 0, &bytes, &in.count, &error) != TW_OK)
        fail_msg("%s", error.text);
    in.bytes = malloc(4 * in.count); /* two mutations may double it */
    assert_non_null(in.bytes);
    memcpy(in.bytes, bytes, in.count);
    tw_free(&rt, bytes);
    tw_runtime_close(&rt);
    return in;
}

/* The section that begins last at or before a byte. */
static size_t section_at(const struct input *in, size_t byte)
{
    struct recorded_section s;
    size_t at = sizeof(struct recorded_header), next = at;
    while (next <= byte && next + sizeof s <= in->count) {
        at = next;
        memcpy(&s, in->bytes + at, sizeof s);
        next = at + sizeof s + (s.bytes + 7) / 8 * 8;
    }
    return at;
}

/* A few changes of one kind: bytes, words of a section's head, words of its beginning, a cut, a piece twice. */
static void mutate(struct input *in, uint64_t *state)
{
    static const uint64_t odd[] = {0, 1, 7, 8, 255, UINT32_MAX, INT64_MAX, UINT64_MAX, UINT64_MAX - 7, 1 << 20};
    size_t at = section_at(in, (size_t)next_draw(state) % in->count), room = in->count - at;
    uint64_t value = odd[next_draw(state) % (sizeof odd / sizeof *odd)];
    size_t width = next_draw(state) % 2 ? 4 : 8, word = (size_t)(next_draw(state) % 32) * 4;
    switch (next_draw(state) % 6) {
    case 0:
        for (uint64_t i = 1 + next_draw(state) % 8; i; i--) {
            size_t byte = (size_t)next_draw(state) % in->count;
            in->bytes[byte] ^= (unsigned char)(1u << next_draw(state) % 8);
        }
        break;
    case 1:
        if (room >= 16 && next_draw(state) % 2)
            memcpy(in->bytes + at + 8, &value, 8);
        else if (room >= 16)
            memcpy(in->bytes + at + (next_draw(state) % 4 ? 4 : 0), &value, 4);
        break;
    case 2:
    case 3:
        if (room >= 16 + word + width)
            memcpy(in->bytes + at + 16 + word, &value, width);
        break;
    case 4:
        room = (size_t)next_draw(state) % in->count;
        in->count -= (next_draw(state) % 2 ? room / 8 : room) / 8 * 8;
        break;
    default: /* the section once more, and one more in the header */
        memmove(in->bytes + in->count, in->bytes + at, room);
        in->count += room / 8 * 8;
        in->bytes[12]++;
    }
}

static void mutated(void **state)
{
    static const char *const paths[] = {"tests/fuzz/seeds/record/cluster.record", "tests/fuzz/seeds/record/tile.record",
                                        "tests/fuzz/seeds/record/variables.record"};
    uint64_t draws = 7;
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct input in = seed(paths[i]);
        record_seen.equal = 0;
        LLVMFuzzerTestOneInput(in.bytes, in.count);
        assert_int_equal(record_seen.equal, 2);
        free(in.bytes);
    }
    memset(&record_seen, 0, sizeof record_seen);
    int all = rounds(MUTATIONS);
    for (int i = 0; i < all; i++) {
        struct input in = seed(paths[i % 3]);
        for (uint64_t times = 1 + next_draw(&draws) % 2; times && in.count > 64; times--)
            mutate(&in, &draws);
        LLVMFuzzerTestOneInput(in.bytes, in.count);
        free(in.bytes);
    }
    print_message("%d mutated records: %u refused, %u read, %u launched, %u equal\n", all, record_seen.refused,
                  record_seen.read, record_seen.launched, record_seen.equal);
    /* As they are nearly all are refused; with a checksum that fits some are read, launched, and equal or not. */
    assert_true(record_seen.refused > (unsigned)all && record_seen.read > (unsigned)all / 10);
    assert_true(record_seen.launched > record_seen.equal && record_seen.equal > 0);
}

/* Each allocation of reading fails once: it is told as such, and nothing is left. */
static void no_memory(void **state)
{
    struct input in = seed("tests/fuzz/seeds/record/tile.record");
    struct record_heap heap = {.most = 0};
    struct tw_runtime rt;
    struct tw_error error;
    int status = TW_ERROR_MEMORY, fails = 0;
    (void)state;
    assert_int_equal(tw_runtime_init(&rt, &error), TW_OK);
    struct tw_memory own = rt.memory;
    rt.memory = (struct tw_memory){&heap, record_heap_alloc, record_heap_realloc, record_heap_free};
    for (heap.most = in.count; status == TW_ERROR_MEMORY; heap.most += 8) {
        struct recorded record;
        unsigned char *bytes = tw_alloc(&rt, in.count);
        assert_non_null(bytes);
        memcpy(bytes, in.bytes, in.count);
        status = recorded_parse(&rt, bytes, in.count, &record, &error);
        fails += status == TW_ERROR_MEMORY;
        recorded_free(&rt, &record);
        assert_int_equal(heap.held, 0);
    }
    assert_int_equal(status, TW_OK);
    assert_true(fails >= 3);
    rt.memory = own;
    tw_runtime_close(&rt);
    free(in.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_and_read), cmocka_unit_test(refused),   cmocka_unit_test(full),
        cmocka_unit_test(mutated),          cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
