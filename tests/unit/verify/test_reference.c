/* References by hand against the meaning of a program that rounds on its way: one that does not round is right, however
 * much cancels, and one that is wrong by as much as rounding could do is not, be it in one element. */
#include "unit/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/emu.h"
#include "verify/trial.h"

/* Numbers around 1000 are multiples of 4 in bf16, so that rounding moves them by 2 at most, and a sum of eight by 16.
 * What is off is so in element 197 of 16 x 64, row 3, column 5. */
static const char spec_text[] =
    "local R, C = dims 'R C'\n"
    "local function kind(name, value, by_hand, out)\n"
    "  kernel(name) {\n"
    "    x = tensor { R, C, dtype = 'fp32' }, y = tensor { R, C, dtype = out or 'fp32', out = true },\n"
    "    axes = 'r c', tile = { r = 4, c = 32 }, grid = { r = R, c = C },\n"
    "    program = function(t, at, tile)\n"
    "      local x = load(t.x, span(at.r, tile.r), span(at.c, tile.c))\n"
    "      store(t.y, span(at.r, tile.r), span(at.c, tile.c), value(x))\n"
    "    end,\n"
    "    reference = function(t, n)\n"
    "      for r = 0, n.R - 1 do for c = 0, n.C - 1 do t.y[r][c] = by_hand(t.x[r][c], r, c) end end\n"
    "    end,\n"
    "    run = { { R = 16, C = 64 } },\n"
    "  }\n"
    "end\n"
    "local function cancels(x) return cast(x + 1000, 'bf16') - 1000 end\n"
    "local function in_a_loop(x)\n"
    "  return loop('turns', range(0, 8, 1), { x * 0 }, function(i, sum) return sum + cancels(x) end)\n"
    "end\n"
    "local function narrow(x) return cast(x, 'bf16') end\n"
    "local function once(by) return function(x, r, c) return x + (r == 3 and c == 5 and by or 0) end end\n"
    "kind('cancels', cancels, function(x) return x end)\n"
    "kind('cancels_off', cancels, once(4.5))\n"
    "kind('loop', in_a_loop, function(x) return 8 * x end)\n"
    "kind('loop_off', in_a_loop, function(x, r, c) return 8 * x + (r == 3 and c == 5 and 36 or 0) end)\n"
    "kind('narrow', narrow, once(0))\n"
    "kind('narrow_off', narrow, once(0.05))\n"
    "kind('narrow_table', narrow, function(x) return x * 1.0005 end)\n"
    "kind('narrow_shifted', narrow, function(x) return x + 0.01 end)\n"
    "local function scaled(x) return x * 0.37 end\n"
    "kind('narrow_out', function(x) return scaled(narrow(x)) end, scaled, 'bf16')\n"
    "kind('narrow_out_off', function(x) return scaled(narrow(x)) end, function(x) return x * 0.38 end, 'bf16')\n"
    "kind('nothing_rounds', function(x) return x + 1000 end, function(x) return x + 1000 end)\n"
    "kind('nothing_rounds_off', function(x) return x + 1000 end, once(1000.001))\n";

static const struct {
    const char *kernel, *says; /* NULL: the reference is right */
} cases[] = {
    {"cancels", NULL},
    {"cancels_off", "for element 197 of y"},
    {"loop", NULL},
    {"loop_off", "for element 197 of y"},
    {"narrow", NULL},
    {"narrow_off", "for element 197 of y"},
    {"narrow_table", NULL},
    {"narrow_shifted", "away from what the program means"}, /* none too far by itself, all of them together */
    {"narrow_out", NULL},
    {"narrow_out_off", "the program means"},
    {"nothing_rounds", NULL},
    {"nothing_rounds_off", "for element 0 of y"},
};

static void references(void **state)
{
    struct compile c;
    struct tw_error error;
    char path[] = "/tmp/tw_reference_XXXXXX.lua";
    int file = mkstemps(path, 4);
    (void)state;
    assert_true(file >= 0 && write(file, spec_text, sizeof spec_text - 1) == (long)sizeof spec_text - 1);
    close(file);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct compile_choice choice = {.kernel = cases[i].kernel, .arch = "sm_90a"};
        const struct emu_options options = {.arch = "sm_90a", .sm_count = 1};
        const int64_t symbol[] = {16, 64, 1};
        struct tw_device *device;
        assert_int_equal(compile_open(&c, "test", path), 0);
        if (compile_units(&c, &choice)) {
            compile_report(&c);
            fail();
        }
        assert_int_equal(tw_device_open_emu(&c.rt, &options, &device, &error), TW_OK);
        const struct trial_request request = {
            .compile = &c, .device = device, .unit = &c.unit[0], .symbol = symbol, .inputs = INPUTS_NORMAL, .seed = 3};
        struct trial t;
        int status = trial_begin(&t, &request, &error);
        if ((status != TW_OK) != (cases[i].says != NULL) || (status != TW_OK && !strstr(error.text, cases[i].says)))
            fail_msg("%s: %d %s", cases[i].kernel, status, status != TW_OK ? error.text : "");
        trial_end(&t);
        tw_device_close(device);
        compile_close(&c);
    }
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(references)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
