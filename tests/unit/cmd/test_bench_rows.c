/* bench --json without a GPU: rows as a measurement leaves them, against the fields that `help json` lists. */
#include "unit/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <json-c/json.h>

#include "cmd/bench/bench.h"

static struct tw_device device = {
    .name = "NVIDIA \"H200\"", .arch = "sm_90a", .major = 9, .minor = 0, .driver_version = 13020};
static struct bench_row row[] = {
    {"descriptors", "case_000", "driver", "3 maps of 512x512 fp16", "cuTensorMapEncodeTiled", 64, 101, 101, 142.5, 140,
     150.25, 0, 1},
    {"descriptors", "case_000", "emitted", "3 maps of 512x512 fp16", "maps alone", 64, 7, 101, 6.25, 6, 7, -136.25, 0},
};

/* What the function prints; to be freed. */
static char *printed(void (*print)(const struct bench_host *))
{
    struct bench_host host = {.device = &device, .row = row, .count = 2, .rounds = 101};
    char *text = calloc(1, 8192);
    FILE *file = tmpfile();
    assert_non_null(text);
    assert_non_null(file);
    fflush(stdout);
    int out = dup(1);
    dup2(fileno(file), 1);
    print(&host);
    fflush(stdout);
    dup2(out, 1);
    close(out);
    rewind(file);
    assert_true(fread(text, 1, 8191, file) > 0);
    fclose(file);
    return text;
}

static void print_json(const struct bench_host *host)
{
    assert_int_equal(bench_print_json(host), 0);
}

static const char *const field[] = {
#define JSON_FIELD(commands, path, type, doc) commands, path, type,
#include "common/json_fields.def"
#undef JSON_FIELD
};

/* Rows have the fields that are listed for them, of these types, and no others. */
static void check_fields(struct json_object *one)
{
    size_t listed = 0, count = sizeof field / sizeof *field;
    for (size_t i = 0; i < count; i += 3) {
        struct json_object *value = NULL;
        if (strcmp(field[i], "bench") != 0 || strncmp(field[i + 1], "rows[].", 7) != 0)
            continue;
        listed++;
        assert_true(json_object_object_get_ex(one, field[i + 1] + 7, &value));
        enum json_type type = json_object_get_type(value);
        if (strcmp(field[i + 2], "text") == 0)
            assert_int_equal(type, json_type_string);
        else
            assert_true(type == json_type_int || type == json_type_double);
    }
    assert_int_equal(json_object_object_length(one), (int)listed);
}

static void json_has_the_fields_that_are_listed(void **state)
{
    (void)state;
    char *text = printed(print_json);
    struct json_object *o = json_tokener_parse(text), *rows = NULL, *value = NULL, *run[2] = {NULL, NULL};
    assert_non_null(o);
    assert_true(json_object_object_get_ex(o, "rows", &rows));
    assert_int_equal(json_object_array_length(rows), 2);
    for (size_t i = 0; i < 2; i++) {
        struct json_object *one = json_object_array_get_idx(rows, i);
        check_fields(one);
        json_object_object_get_ex(one, "latency_ns", &value);
        assert_true(json_object_get_double(value) == row[i].median);
        json_object_object_get_ex(one, "over_first_ns", &value);
        assert_true(json_object_get_double(value) == row[i].over);
        json_object_object_get_ex(one, "rounds", &value);
        assert_int_equal(json_object_get_int(value), row[i].rounds);
        json_object_object_get_ex(one, "gpu_model", &value);
        assert_string_equal(json_object_get_string(value), device.name);
        json_object_object_get_ex(one, "driver", &value);
        assert_string_equal(json_object_get_string(value), "13.2");
        json_object_object_get_ex(one, "run", &run[i]);
    }
    assert_string_equal(json_object_get_string(run[0]), json_object_get_string(run[1]));
    json_object_put(o);
    free(text);
}

static void table_says_what_was_measured(void **state)
{
    (void)state;
    char *text = printed(bench_print_table);
    assert_non_null(strstr(text, "NVIDIA \"H200\", driver 13.2, 101 rounds"));
    assert_non_null(strstr(text, "3 maps of 512x512 fp16: maps alone"));
    assert_non_null(strstr(text, "22.8x")); /* 142.5 / 6.25 */
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_has_the_fields_that_are_listed),
        cmocka_unit_test(table_says_what_was_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
