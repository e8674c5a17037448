#include <string.h>

#include "unit/check.h"
#include "status.h"

static void names_and_texts(void **state)
{
    int i, k;

    (void)state;
    assert_int_equal(TW_OK, 0);
    assert_string_equal(tw_status_name(TW_OK), "TW_OK");
    assert_string_equal(tw_status_name(TW_ERROR_FILE), "TW_ERROR_FILE");
    assert_string_equal(tw_status_text(TW_ERROR_FILE), "file operation failed");
    for (i = 0; i < TW_STATUS_COUNT; i++) {
        assert_true(tw_status_text(i)[0] != '\0');
        assert_in_range(tw_status_exit(i), i ? 1 : 0, i ? 3 : 0);
        assert_int_not_equal(tw_status_exit(i), 2);
        for (k = 0; k < i; k++)
            assert_string_not_equal(tw_status_name(i), tw_status_name(k));
    }
}

static void unknown_numbers(void **state)
{
    (void)state;
    assert_string_equal(tw_status_name(-1), "TW_ERROR_UNKNOWN");
    assert_string_equal(tw_status_name(TW_STATUS_COUNT), "TW_ERROR_UNKNOWN");
    assert_string_equal(tw_status_text(1 << 30), "unknown status");
    assert_int_equal(tw_status_exit(-5), 1);
}

static void fail_writes_the_detail(void **state)
{
    struct tw_error error;
    char longer[3000];

    (void)state;
    assert_int_equal(tw_fail(&error, TW_ERROR_INVALID, "tile.%s is %d", "k", 96), TW_ERROR_INVALID);
    assert_string_equal(error.text, "tile.k is 96");
    assert_int_equal(tw_fail(NULL, TW_ERROR_MEMORY, "nobody listens"), TW_ERROR_MEMORY);
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(tw_fail(&error, TW_ERROR_FILE, "%s", longer), TW_ERROR_FILE);
    assert_int_equal(strlen(error.text), sizeof error.text - 1);
    assert_string_equal(error.text + sizeof error.text - 5, "x...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_texts),
        cmocka_unit_test(unknown_numbers),
        cmocka_unit_test(fail_writes_the_detail),
    };

    return cmocka_run_group_tests_name("status", tests, NULL, NULL);
}
