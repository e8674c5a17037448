/* The cache, with real files in a temporary folder and a compiler that costs nothing. */
#include "cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit/check.h"
#include "unit/rounds.h"
#include "fake_cuda.h"

static char folder[64];
static struct tw_runtime rt;
static struct tw_nvrtc nvrtc;
static struct tw_compile_request request;
static struct tw_error error;

static const char source[] = "extern \"C\" __global__ void kern() {}\n";

/* A runtime over an empty cache folder. */
static int begin(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/tw_test_cache_XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    fake_begin(&rt);
    fake_nvrtc(&rt, &nvrtc);
    fake_variable("TILEWRIGHT_CACHE", folder);
    memset(&request, 0, sizeof request);
    request.source = source;
    request.source_bytes = sizeof source - 1;
    request.name = "/tilewright/kern.sm_90a.cu";
    request.entry = "kern";
    request.arch = "sm_90a";
    request.outputs = TW_OUTPUT_CUBIN | TW_OUTPUT_PTX;
    return 0;
}

static void remove_folder(void)
{
    char command[256];

    snprintf(command, sizeof command, "chmod -R u+w %s && rm -rf %s", folder, folder);
    if (system(command))
        print_message("%s was left\n", folder);
}

static int end(void **state)
{
    (void)state;
    tw_runtime_close(&rt);
    remove_folder();
    return fake_is_clean() ? 0 : -1;
}

/* Files in the folder whose names end in suffix. */
static int count_files(const char *suffix)
{
    struct tw_runtime plain;
    char name[256];
    void *handle;
    int n = 0;

    tw_runtime_init(&plain, NULL);
    if (!plain.files.folder_open(NULL, folder, &handle)) {
        while (plain.files.folder_next(NULL, handle, name, sizeof name) > 0)
            n += strlen(name) >= strlen(suffix) && !strcmp(name + strlen(name) - strlen(suffix), suffix);
        plain.files.folder_close(NULL, handle);
    }
    tw_runtime_close(&plain);
    return n;
}

/* Compile and check the bytes, whatever the cache did. */
static int compile(void)
{
    unsigned char expected[4096];
    size_t count = fake_cubin(expected, sizeof expected);
    struct tw_compiled compiled;
    int outcome;

    memset(&compiled, 0, sizeof compiled);
    if (tw_compile_cached(&rt, &request, &compiled, &error) != TW_OK)
        fail_msg("%s", error.text);
    assert_int_equal(compiled.cubin_bytes, count);
    assert_memory_equal(compiled.cubin, expected, count);
    assert_non_null(strstr(compiled.ptx, ".entry kern"));
    assert_int_equal(compiled.ptx_bytes, strlen(compiled.ptx));
    assert_int_equal(compiled.info.registers, 40);
    assert_int_equal(compiled.info.spill_instructions, 3);
    assert_string_equal(compiled.log, fake.log);
    outcome = compiled.cache;
    assert_int_equal(outcome == TW_CACHE_UNSTORED, compiled.note[0] && outcome != TW_CACHE_MISS);
    tw_compiled_free(&rt, &compiled);
    return outcome;
}

static void entry_path(char *path, size_t bytes)
{
    struct tw_cache_key key;

    assert_int_equal(tw_cache_key(&rt, &request, nvrtc.build_id, &key, &error), TW_OK);
    snprintf(path, bytes, "%s/%s.twc", folder, key.hex);
}

static size_t read_bytes(const char *path, unsigned char *bytes, size_t room)
{
    FILE *file = fopen(path, "rb");
    size_t n;

    assert_non_null(file);
    n = fread(bytes, 1, room, file);
    fclose(file);
    return n;
}

static void write_bytes(const char *path, const unsigned char *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    fclose(file);
}

static void miss_then_hit(void **state)
{
    (void)state;
    fake.log = "ptxas info : (C7519) warpgroup.arrive is injected in around line 7\n";
    assert_int_equal(compile(), TW_CACHE_MISS);
    assert_int_equal(compile(), TW_CACHE_HIT);
    assert_int_equal(fake.compiles, 1);
    assert_int_equal(count_files(".twc"), 1);
    assert_int_equal(count_files(""), 1);
}

static void hit_opens_no_nvrtc(void **state)
{
    (void)state;
    assert_int_equal(compile(), TW_CACHE_MISS);
    nvrtc.opened = 0;
    assert_int_equal(compile(), TW_CACHE_HIT);
    assert_int_equal(nvrtc.opened, 0);
}

/* Who wants one of both is served by an entry of both, as by its own, but not where the compiler said something. */
static void both_serve_each(void **state)
{
    static const unsigned asked[] = {TW_OUTPUT_PTX, TW_OUTPUT_CUBIN, 0};
    struct tw_compiled compiled;

    (void)state;
    for (int said = 0; said < 2; said++) {
        fake.log = said ? "kern.cu(1): warning: nothing is done\n" : "";
        request.options = said ? (const char *const[]){"-DSAID"} : NULL;
        request.option_count = (size_t)said;
        request.outputs = TW_OUTPUT_CUBIN | TW_OUTPUT_PTX;
        assert_int_equal(compile(), TW_CACHE_MISS);
        for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
            const bool ptx = asked[i] == TW_OUTPUT_PTX;
            memset(&compiled, 0, sizeof compiled);
            request.outputs = asked[i];
            assert_int_equal(tw_compile_cached(&rt, &request, &compiled, &error), TW_OK);
            assert_int_equal(compiled.cache, said && asked[i] ? TW_CACHE_MISS : TW_CACHE_HIT);
            assert_int_equal(compiled.ptx != NULL, ptx);
            assert_int_equal(compiled.cubin != NULL, !ptx);
            assert_int_equal(compiled.info.registers, ptx ? 0 : 40);
            assert_int_equal(compiled.ptx_bytes, ptx ? strlen(compiled.ptx) : 0);
            assert_int_equal(compiled.cubin_bytes > 0, !ptx);
            assert_string_equal(compiled.log, fake.log);
            tw_compiled_free(&rt, &compiled);
        }
    }
    assert_int_equal(fake.compiles, 4);
    assert_int_equal(count_files(".twc"), 4);
}

static void key_is(bool same, const struct tw_compile_request *other, const char *build_id)
{
    struct tw_cache_key a, b;

    assert_int_equal(tw_cache_key(&rt, &request, "build", &a, &error), TW_OK);
    assert_int_equal(tw_cache_key(&rt, other, build_id, &b, &error), TW_OK);
    assert_int_equal(strlen(a.hex), 32);
    assert_int_equal(!strcmp(a.hex, b.hex), same);
}

static void key_covers_everything(void **state)
{
    static const char *const ab[] = {"-Da", "-Db"}, *const ba[] = {"-Db", "-Da"}, *const joined[] = {"-Da-Db"};
    struct tw_compile_request r = request;

    (void)state;
    key_is(true, &r, "build");
    key_is(false, &r, "other");
    r.source_bytes--, key_is(false, &r, "build"), r = request;
    r.name = "/tilewright/other.cu", key_is(false, &r, "build"), r = request;
    r.entry = "ker", key_is(false, &r, "build"), r = request;
    r.arch = "sm_90", key_is(false, &r, "build"), r = request;
    r.outputs = TW_OUTPUT_PTX, key_is(false, &r, "build"), r = request;
    r.generator = 2, key_is(false, &r, "build"), r = request;
    r.allow = ab, r.allow_count = 1, key_is(false, &r, "build"), r = request;
    r.options = ab, r.option_count = 1, key_is(false, &r, "build"), r = request;
    request.options = ab;
    request.option_count = 2;
    r.options = ba, r.option_count = 2, key_is(true, &r, "build"); /* order does not matter */
    r.options = joined, r.option_count = 1, key_is(false, &r, "build");
}

static void options_go_sorted(void **state)
{
    static const char *const options[] = {"-Db", "--std=c++20", "-Da"};

    (void)state;
    request.options = options;
    request.option_count = 3;
    compile();
    assert_int_equal(fake.option_count, 4);
    assert_string_equal(fake.options[0], "--gpu-architecture=sm_90a");
    assert_string_equal(fake.options[1], "--std=c++20");
    assert_string_equal(fake.options[2], "-Da");
    assert_string_equal(fake.options[3], "-Db");
}

static void truncated_at_every_length(void **state)
{
    unsigned char bytes[8192];
    char path[128];
    const size_t step = under_valgrind() ? 7 : 1;
    size_t count, cut;

    (void)state;
    compile();
    entry_path(path, sizeof path);
    count = read_bytes(path, bytes, sizeof bytes);
    for (cut = 0; cut < count; cut += cut < 64 ? 1 : step) {
        write_bytes(path, bytes, cut);
        assert_int_equal(compile(), TW_CACHE_MISS);
    }
    bytes[count] = 0;
    write_bytes(path, bytes, count + 1); /* longer counts as damaged too */
    assert_int_equal(compile(), TW_CACHE_MISS);
    assert_int_equal(compile(), TW_CACHE_HIT); /* and was replaced */
    assert_int_equal(count_files(""), 1);
}

static void flipped_at_every_byte(void **state)
{
    unsigned char bytes[8192];
    char path[128];
    const size_t step = under_valgrind() ? 7 : 1;
    size_t count, i;

    (void)state;
    compile();
    entry_path(path, sizeof path);
    count = read_bytes(path, bytes, sizeof bytes);
    for (i = 0; i < count; i += i < 64 ? 1 : step) {
        bytes[i] ^= (unsigned char)(1u << i % 8);
        write_bytes(path, bytes, count);
        assert_int_equal(compile(), TW_CACHE_MISS);
        bytes[i] ^= (unsigned char)(1u << i % 8);
    }
    assert_int_equal(compile(), TW_CACHE_HIT);
}

static void entry_of_another_key(void **state)
{
    char from[128], to[128];

    (void)state;
    compile();
    entry_path(from, sizeof from);
    request.generator++;
    entry_path(to, sizeof to);
    assert_int_equal(rename(from, to), 0);
    assert_int_equal(compile(), TW_CACHE_MISS);
}

/* Hooks that fail one kind of call with one error. */

static struct tw_files files;
static int injected;

static int open_fails(void *self, const char *path, int flags, unsigned mode)
{
    return flags & O_CREAT ? injected : files.open(self, path, flags, mode);
}

static int open_temporary_fails(void *self, const char *path, int flags, unsigned mode)
{
    return flags & O_EXCL ? injected : files.open(self, path, flags, mode);
}

static int read_open_fails(void *self, const char *path, int flags, unsigned mode)
{
    return flags & O_CREAT ? files.open(self, path, flags, mode) : injected;
}

static long write_fails(void *self, int file, const void *bytes, size_t count)
{
    (void)self, (void)file, (void)bytes, (void)count;
    return injected;
}

static long write_fails_later(void *self, int file, const void *bytes, size_t count)
{
    return count > 100 ? files.write(self, file, bytes, 100) : injected;
}

static long write_one(void *self, int file, const void *bytes, size_t count)
{
    return files.write(self, file, bytes, count ? 1 : 0);
}

static int sync_fails(void *self, int file)
{
    (void)self, (void)file;
    return injected;
}

static int close_fails(void *self, int file)
{
    files.close(self, file);
    return injected;
}

static int lock_fails(void *self, int file)
{
    (void)self, (void)file;
    return injected;
}

static int rename_fails(void *self, const char *from, const char *to)
{
    (void)self, (void)from, (void)to;
    return injected;
}

static int mkdir_fails(void *self, const char *path, unsigned mode)
{
    (void)self, (void)path, (void)mode;
    return injected;
}

static void errors_leave_it_uncached(void **state)
{
    static const int errors[] = {-EROFS, -ENOSPC, -ENOENT, -EACCES, -EIO, -EDQUOT};
    struct tw_files broken[6];
    size_t e, k;

    (void)state;
    files = rt.files;
    for (k = 0; k < 6; k++)
        broken[k] = files;
    broken[0].open = open_fails;
    broken[1].open = open_temporary_fails;
    broken[2].write = write_fails;
    broken[3].write = write_fails_later;
    broken[4].sync = sync_fails;
    broken[5].rename = rename_fails;
    for (e = 0; e < sizeof errors / sizeof *errors; e++)
        for (k = 0; k < 6; k++) {
            injected = errors[e];
            rt.files = broken[k];
            assert_int_equal(compile(), TW_CACHE_UNSTORED);
            assert_int_equal(count_files(""), 0); /* nothing half done stays */
        }
    rt.files = files;
    assert_int_equal(compile(), TW_CACHE_MISS);
}

static void folder_that_cannot_be_made(void **state)
{
    char deeper[128];

    (void)state;
    snprintf(deeper, sizeof deeper, "%s/a/b", folder);
    fake_variable("TILEWRIGHT_CACHE", deeper);
    files = rt.files;
    rt.files.mkdir = mkdir_fails;
    injected = -EROFS;
    assert_int_equal(compile(), TW_CACHE_UNSTORED);
    rt.files = files;
    assert_int_equal(compile(), TW_CACHE_MISS);
    assert_int_equal(compile(), TW_CACHE_HIT);
}

static void unreadable_entry_is_a_miss(void **state)
{
    (void)state;
    compile();
    files = rt.files;
    rt.files.open = read_open_fails;
    injected = -EACCES;
    assert_int_equal(compile(), TW_CACHE_MISS);
    rt.files = files;
    assert_int_equal(compile(), TW_CACHE_HIT);
}

static void lost_races_are_success(void **state)
{
    (void)state;
    files = rt.files;
    rt.files.rename = rename_fails; /* the folder is gone, or another's entry stands there and may not be replaced */
    injected = -EEXIST;
    assert_int_equal(compile(), TW_CACHE_UNSTORED);
    injected = -ESTALE;
    assert_int_equal(compile(), TW_CACHE_UNSTORED);
    rt.files = files;
    rt.files.close = close_fails;
    injected = -EDQUOT;
    assert_int_equal(compile(), TW_CACHE_UNSTORED);
    rt.files = files;
}

static int rename_after_another(void *self, const char *from, const char *to)
{
    unsigned char bytes[8192];
    size_t count = read_bytes(from, bytes, sizeof bytes);

    write_bytes(to, bytes, count); /* another process was quicker */
    return files.rename(self, from, to);
}

static void another_was_quicker(void **state)
{
    (void)state;
    files = rt.files;
    rt.files.rename = rename_after_another;
    assert_int_equal(compile(), TW_CACHE_MISS);
    rt.files = files;
    assert_int_equal(compile(), TW_CACHE_HIT);
    assert_int_equal(count_files(""), 1);
}

static void short_writes(void **state)
{
    (void)state;
    files = rt.files;
    rt.files.write = write_one;
    assert_int_equal(compile(), TW_CACHE_MISS);
    rt.files = files;
    assert_int_equal(compile(), TW_CACHE_HIT);
}

/* A clock that only sleeping moves. */

static double clock_now;

static double fake_now(void *self)
{
    (void)self;
    return clock_now;
}

static void fake_sleep(void *self, double seconds)
{
    (void)self;
    clock_now += seconds;
}

static void lock_times_out(void **state)
{
    (void)state;
    files = rt.files;
    rt.files.lock = lock_fails;
    injected = -EWOULDBLOCK;
    rt.process.now = fake_now;
    rt.process.sleep = fake_sleep;
    clock_now = 1000;
    assert_int_equal(compile(), TW_CACHE_MISS);
    assert_true(clock_now > 1029 && clock_now < 1032);
    rt.files = files;
}

static void locks_that_do_not_work(void **state)
{
    (void)state;
    files = rt.files;
    rt.files.lock = lock_fails;
    injected = -ENOLCK;
    assert_int_equal(compile(), TW_CACHE_MISS);
    rt.files = files;
    assert_int_equal(compile(), TW_CACHE_HIT);
}

static int lock_while_stored(void *self, int file)
{
    struct tw_compiled compiled;
    struct tw_cache_key key;
    unsigned char cubin[4096];
    char log[1] = "", ptx[] = ".entry kern(";

    (void)self, (void)file;
    memset(&compiled, 0, sizeof compiled);
    compiled.cubin = cubin;
    compiled.cubin_bytes = fake_cubin(cubin, sizeof cubin);
    compiled.ptx = ptx;
    compiled.ptx_bytes = strlen(ptx);
    compiled.log = log;
    tw_cubin_info(cubin, compiled.cubin_bytes, "kern", &compiled.info, &error);
    rt.files = files;
    assert_int_equal(tw_cache_key(&rt, &request, nvrtc.build_id, &key, &error), TW_OK);
    assert_int_equal(tw_cache_store(&rt, folder, &key, &request, nvrtc.build_id, &compiled, &error), TW_OK);
    return -EWOULDBLOCK;
}

static void who_waits_finds_the_entry(void **state)
{
    (void)state;
    files = rt.files;
    rt.files.lock = lock_while_stored;
    assert_int_equal(compile(), TW_CACHE_HIT);
    assert_int_equal(fake.compiles, 0);
}

static void folder_from_the_environment(void **state)
{
    static const struct {
        const char *own, *xdg, *home, *expected;
    } rows[] = {
        {"/c", "/x", "/h", "/c"},
        {NULL, "/x", "/h", "/x/tilewright"},
        {NULL, NULL, "/h", "/h/.cache/tilewright"},
        {NULL, "x", "/h", "/h/.cache/tilewright"},
        {"", "", "", NULL},
        {"off", "/x", "/h", NULL},
        {NULL, NULL, NULL, NULL},
    };
    char *got;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        fake_variable("TILEWRIGHT_CACHE", rows[i].own);
        fake_variable("XDG_CACHE_HOME", rows[i].xdg);
        fake_variable("HOME", rows[i].home);
        assert_int_equal(tw_cache_folder(&rt, &got, &error), TW_OK);
        if (rows[i].expected)
            assert_string_equal(got, rows[i].expected);
        else
            assert_null(got);
        tw_free(&rt, got);
    }
    assert_int_equal(compile(), TW_CACHE_NONE);
}

static void failed_compiles_are_not_stored(void **state)
{
    struct tw_compiled compiled;

    (void)state;
    memset(&compiled, 0, sizeof compiled);
    fake.compile_result = 6;
    fake.log = "warning: so so\n/tilewright/kern.sm_90a.cu(1): error: no\n";
    assert_int_equal(tw_compile_cached(&rt, &request, &compiled, &error), TW_ERROR_COMPILE);
    assert_string_equal(error.text, "/tilewright/kern.sm_90a.cu(1): error: no\n");
    assert_string_equal(compiled.log, fake.log);
    tw_compiled_free(&rt, &compiled);
    assert_int_equal(count_files(""), 0);
}

static void list_verify_and_gc(void **state)
{
    static char sources[5][64];
    unsigned char bytes[8192];
    struct tw_cache_item *items;
    struct tw_cache_swept swept;
    char paths[5][128], path[160];
    struct timespec times[2] = {{0, 0}, {0, 0}};
    size_t count, size, i;
    uint64_t one;

    (void)state;
    for (i = 0; i < 5; i++) {
        snprintf(sources[i], sizeof sources[i], "// %zu\n", i);
        request.source = sources[i];
        request.source_bytes = strlen(sources[i]);
        assert_int_equal(compile(), TW_CACHE_MISS);
        entry_path(paths[i], sizeof paths[i]);
        times[1].tv_sec = times[0].tv_sec = 1000000 + (long)i; /* 1970, the first the oldest */
        assert_int_equal(utimensat(AT_FDCWD, paths[i], times, 0), 0);
    }
    size = read_bytes(paths[2], bytes, sizeof bytes);
    bytes[size / 2] ^= 1;
    write_bytes(paths[2], bytes, size);
    times[1].tv_sec = times[0].tv_sec = 1000002;
    assert_int_equal(utimensat(AT_FDCWD, paths[2], times, 0), 0);
    snprintf(path, sizeof path, "%s/README", folder);
    write_bytes(path, bytes, 1); /* not ours: stays */
    snprintf(path, sizeof path, "%s/%032d.1-2.tmp", folder, 0);
    write_bytes(path, bytes, 1);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    snprintf(path, sizeof path, "%s/%032d.1-3.tmp", folder, 0);
    write_bytes(path, bytes, 1); /* new: its writer may be alive */

    assert_int_equal(tw_cache_list(&rt, folder, &items, &count, &error), TW_OK);
    assert_int_equal(count, 5);
    one = items[0].bytes;
    for (i = 0; i < count; i++) {
        assert_true(!i || strcmp(items[i - 1].key.hex, items[i].key.hex) < 0);
        if (!strcmp(items[i].path, paths[2])) {
            assert_int_equal(items[i].status, TW_ERROR_DAMAGED);
            assert_string_equal(items[i].why, "wrong checksum");
        } else {
            assert_int_equal(items[i].status, TW_OK);
            assert_string_equal(items[i].entry, "kern");
            assert_string_equal(items[i].arch, "sm_90a");
            assert_string_equal(items[i].build_id, nvrtc.build_id);
            assert_int_equal(items[i].registers, 40);
        }
    }
    tw_free(&rt, items);

    assert_int_equal(tw_cache_gc(&rt, folder, 2 * one + 10, -1, &swept, &error), TW_OK);
    assert_int_equal(swept.removed, 3); /* the damaged one and the two oldest */
    assert_int_equal(swept.kept, 2);
    assert_int_equal(swept.kept_bytes, 2 * one);
    assert_int_equal(swept.leftovers, 1);
    assert_int_equal(access(paths[0], F_OK), -1);
    assert_int_equal(access(paths[3], F_OK), 0);
    assert_int_equal(access(paths[4], F_OK), 0);
    assert_int_equal(count_files(".tmp"), 1);
    assert_int_equal(tw_cache_gc(&rt, folder, UINT64_MAX, 86400, &swept, &error), TW_OK);
    assert_int_equal(swept.removed, 2);
    assert_int_equal(count_files("README"), 1);
    assert_int_equal(tw_cache_list(&rt, "/tmp/tw_no_such_folder", &items, &count, &error), TW_OK);
    assert_int_equal(count, 0);
}

#define CACHE_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CACHE_TEST(miss_then_hit),
        CACHE_TEST(hit_opens_no_nvrtc),
        CACHE_TEST(both_serve_each),
        CACHE_TEST(key_covers_everything),
        CACHE_TEST(options_go_sorted),
        CACHE_TEST(truncated_at_every_length),
        CACHE_TEST(flipped_at_every_byte),
        CACHE_TEST(entry_of_another_key),
        CACHE_TEST(errors_leave_it_uncached),
        CACHE_TEST(folder_that_cannot_be_made),
        CACHE_TEST(unreadable_entry_is_a_miss),
        CACHE_TEST(lost_races_are_success),
        CACHE_TEST(another_was_quicker),
        CACHE_TEST(short_writes),
        CACHE_TEST(lock_times_out),
        CACHE_TEST(locks_that_do_not_work),
        CACHE_TEST(who_waits_finds_the_entry),
        CACHE_TEST(folder_from_the_environment),
        CACHE_TEST(failed_compiles_are_not_stored),
        CACHE_TEST(list_verify_and_gc),
    };

    return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
